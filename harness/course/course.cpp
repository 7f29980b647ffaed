#include "course/course.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "evidence/fingerprint.h"

namespace lab {

namespace {

bool is_root(const fs::path& folder) {
    return fs::exists(folder / "common/nvcc.flags") && fs::exists(folder / "lab");
}

/// "ch05_streams" does, "checks" does not.
bool begins_as_chapter(const std::string& folder) {
    return folder.size() > 2 && folder.rfind("ch", 0) == 0 &&
           std::isdigit(static_cast<unsigned char>(folder[2]));
}

/// The chapter whose number differs from this one's in a single digit, if there is just one: ch99 means none.
std::string one_digit_away(const std::string& short_id, const std::vector<std::string>& ids) {
    std::string found;
    for (const std::string& id : ids) {
        const std::string other = short_chapter_id(id);
        if (other.size() != short_id.size()) continue;
        int different = 0;
        for (std::size_t i = 0; i < other.size(); ++i) different += other[i] != short_id[i];
        if (different != 1) continue;
        if (!found.empty()) return "";
        found = other;
    }
    return found;
}

/// The folders of GPUs below an evidence folder: the order in which to look for a recorded run.
std::vector<fs::path> gpu_folders(const fs::path& evidence) {
    std::vector<fs::path> folders;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(evidence, ignored))
        if (entry.is_directory()) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    return folders;
}

/// The recorded run to show of a program; nothing if there is none.
std::optional<fs::path> recorded_run(const fs::path& root, const Program& program) {
    for (const fs::path& folder : gpu_folders(root / program.evidence_folder))
        if (fs::exists(folder / program.evidence_name)) return folder / program.evidence_name;
    return std::nullopt;
}

}  // namespace

Course Course::find() {
    for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
        if (is_root(folder)) return Course(folder);
        if (folder == folder.root_path()) break;
    }
    if (const char* front_door = std::getenv("LAB_ROOT"); front_door && is_root(front_door))
        return Course(fs::canonical(front_door));
    if (is_root(LAB_SOURCE_FOLDER)) return Course(LAB_SOURCE_FOLDER);
    throw Error("this is not inside the course's repository. Change into it, then try again.");
}

fs::path Course::build_folder() const {
    const char* chosen = std::getenv("LAB_BUILD");
    return root_ / (chosen && *chosen ? chosen : "build");
}

std::vector<std::string> Course::chapter_ids() const {
    std::vector<std::string> ids;
    for (const auto& entry : fs::directory_iterator(root_)) {
        const std::string name = entry.path().filename().string();
        if (begins_as_chapter(name) && fs::exists(entry.path() / "chapter.toml")) ids.push_back(name);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

std::vector<Chapter> Course::chapters() const {
    std::vector<Chapter> all;
    for (const std::string& id : chapter_ids()) all.push_back(read_chapter(root_, id));
    return all;
}

Chapter Course::chapter(const std::string& name) const {
    const std::vector<std::string> ids = chapter_ids();
    std::vector<std::string> short_ids;
    for (const std::string& id : ids) {
        const std::string short_id = short_chapter_id(id);
        const bool by_number =
            !name.empty() && name.size() <= 2 &&
            std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); }) &&
            short_id == fmt::format("ch{:02}", std::stoi(name));
        if (name == id || name == short_id || by_number ||
            (name.size() == 3 && name.rfind("ch", 0) == 0 && "ch0" + name.substr(2) == short_id))
            return read_chapter(root_, id);
        short_ids.push_back(short_id);
    }
    const std::string near = meant_by(name);
    throw Error(fmt::format("there is no chapter '{}'{}; there are: {}", printable(name),
                            near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                            join(short_ids, ", ")));
}

std::string Course::meant_by(const std::string& name) const {
    std::vector<std::string> names = chapter_ids();
    if (begins_as_chapter(name) && name.find_first_not_of("0123456789", 2) == std::string::npos)
        return one_digit_away(name, names);
    for (std::size_t i = 0, n = names.size(); i < n; ++i) names.push_back(short_chapter_id(names[i]));
    std::map<std::string, std::string> exercises;  // "capstone" -> "ch07/capstone"
    std::vector<std::string> exercise_names;
    try {
        for (const Chapter& chapter : chapters())
            for (const Exercise& e : chapter.exercises) {
                exercises.emplace(e.name, chapter.short_id + "/" + e.name);
                exercise_names.push_back(e.name);
            }
    } catch (const Error&) {  // of a chapter that is not asked for
    }
    if (const auto at = exercises.find(name); at != exercises.end()) return at->second;
    const std::string near = nearest(name, names);
    if (!near.empty()) return near;
    const std::string exercise = nearest(name, exercise_names);
    return exercise.empty() ? "" : exercises.at(exercise);
}

Course::Chosen Course::choose(const std::string& asked) const {
    // An answer's own path, as an editor or the shell's completion gives it: work/ch05_streams/1_x/answer.cu
    std::string name = asked;
    while (name.size() > 1 && name.back() == '/') name.pop_back();  // as a shell completes a folder
    if (name.rfind("work/", 0) == 0) {
        name.erase(0, 5);
        if (const std::size_t file = name.rfind("/answer.cu"); file != std::string::npos) name.erase(file);
    }
    const std::size_t slash = name.find('/');
    Chosen chosen{chapter(name.substr(0, slash)), nullptr};
    if (slash == std::string::npos) return chosen;
    const std::string wanted = name.substr(slash + 1);
    std::vector<std::string> names;
    for (const Exercise& e : chosen.chapter.exercises) {
        if (wanted == e.name || wanted == std::to_string(e.number) ||
            wanted == fmt::format("{}_{}", e.number, e.name))
            chosen.exercise = &e;
        names.push_back(e.name);
    }
    if (chosen.exercise) return chosen;
    const auto& pair = chosen.chapter.pair.programs;
    for (std::size_t side = 0; side < 2; ++side)
        if (wanted == pair[side].name)
            throw Error(
                fmt::format("{}/{} is no exercise, but a program of the chapter: ./lab run {} shows it "
                            "beside {}",
                            chosen.chapter.short_id, wanted, chosen.chapter.short_id, pair[1 - side].name));
    const std::string near = nearest(wanted, names);
    throw Error(fmt::format("{} has no exercise '{}'{}; it has: {}", chosen.chapter.short_id,
                            printable(wanted), near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                            names.empty() ? "none" : join(names, ", ")));
}

bool Course::has_evidence_of(const Program& program) const {
    return recorded_run(root_, program).has_value();
}

fs::path Course::evidence_of(const Program& program) const {
    if (const auto run = recorded_run(root_, program)) return *run;
    throw Error(
        fmt::format("no run of {} is recorded below {}. On a machine with a GPU and nsys: ./lab record",
                    program.source.string(), program.evidence_folder.string()),
        kNothingCouldRun);
}

std::vector<std::string> Course::common_flags() const {
    std::vector<std::string> flags;
    for (const std::string& line : split(read_file(root_ / "common/nvcc.flags"), '\n'))
        if (!trim(line).empty()) flags.push_back(trim(line));
    return flags;
}

std::string Course::fingerprint_of(const Program& program) const {
    const std::string flags =
        join(common_flags(), " ") + " " + join(program.flags, " ") + " -- " + join(program.arguments, " ");
    // What further tools were asked for is part of the evidence too.
    const std::string tools =
        program.sanitizers.empty() && program.ncu_metrics.empty()
            ? ""
            : " -- " + join(program.sanitizers, " ") + " " + join(program.check_arguments, " ") + " " +
                  join(program.ncu_metrics, " ") + (program.ncu_options.empty() ? "" : " -- ") +
                  join(program.ncu_options, " ");
    return fingerprint(root_ / program.source, root_, flags + tools + (program.library ? " -- library" : ""));
}

std::map<std::string, std::string> Course::sources_of(const Program& program) const {
    std::map<std::string, std::string> texts;
    for (const auto& entry : fs::directory_iterator(root_ / "common"))
        if (entry.is_regular_file()) texts[entry.path().filename().string()] = read_file(entry.path());
    texts[program.source.filename().string()] = read_file(root_ / program.source);
    return texts;
}

std::string Course::shown(const fs::path& path) const {
    const fs::path relative = path.lexically_relative(root_);
    return relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

std::vector<Program> all_programs(const Course& course, const Chapter& chapter) {
    std::vector<Program> all(chapter.pair.programs.begin(), chapter.pair.programs.end());
    for (const Companion& c : chapter.companions) all.push_back(c.program);
    for (const Exercise& e : chapter.exercises)
        all.insert(all.end(), e.programs.programs.begin(), e.programs.programs.end());
    for (const WrongAnswer& wrong : read_wrong_answers(course.root(), chapter)) all.push_back(wrong.program);
    return all;
}

std::string gpu_folder(const std::string& gpu_name) {
    std::vector<std::string> words;
    for (std::string word : split(gpu_name, ' ')) {
        std::transform(word.begin(), word.end(), word.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        std::erase_if(word, [](unsigned char c) { return !std::isalnum(c); });
        if (!word.empty() && word != "nvidia" && word != "geforce" && word != "tesla") words.push_back(word);
    }
    return words.empty() ? "gpu" : join(words, "-");
}

}  // namespace lab
