#include "course/course.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/text.h"

namespace lab {

namespace {

bool is_root(const fs::path& folder) {
    return fs::exists(folder / "common/nvcc.flags") && fs::exists(folder / "lab");
}

/// What a course's flags say is run. On a shared disk, anybody may have put one above the current folder.
bool is_trusted(const fs::path& folder) {
    struct stat found {};
    return ::stat(folder.c_str(), &found) == 0 && (found.st_uid == ::geteuid() || found.st_uid == 0) &&
           (found.st_mode & S_IWOTH) == 0;
}

/// "ch05" for "5", "05", "ch5" and "ch05"; "" for what is no number.
std::string chapter_by_number(const std::string& name) {
    const std::string digits = name.starts_with("ch") ? name.substr(2) : name;
    const bool is_number = !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? fmt::format("ch{:0>2}", digits) : "";
}

/// A case's name in the path of its answer, as an editor or the shell's completion gives it:
/// work/ch05_streams/1_x/answer.cu.
std::string name_in_path(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (path.starts_with("work/")) path.erase(0, 5);
    if (path.ends_with("/answer.cu")) path.erase(path.rfind('/'));
    return path;
}

/// "ch05/frames", the only exercise whose name is near to this one; "" if there is none, or several.
std::string exercise_near(const std::vector<Chapter>& chapters, const std::string& name) {
    std::vector<std::string> names, paths;
    for (const Chapter& chapter : chapters)
        for (const Case& exercise : chapter.exercises) {
            names.push_back(exercise.name);
            paths.push_back(chapter.short_id + "/" + exercise.name);
        }
    const auto near = std::find(names.begin(), names.end(), nearest(name, names));
    const bool is_one = near != names.end() && std::count(near, names.end(), *near) == 1;
    return is_one ? paths[static_cast<std::size_t>(near - names.begin())] : "";
}

}  // namespace

Course Course::find() {
    if (const char* front_door = std::getenv("LAB_ROOT"); front_door && is_root(front_door))
        return Course(fs::canonical(front_door));
    std::error_code deleted;
    for (fs::path folder = fs::current_path(deleted); !folder.empty(); folder = folder.parent_path()) {
        if (is_root(folder) && is_trusted(folder)) return Course(folder);
        if (folder == folder.root_path()) break;
    }
    if (is_root(LAB_SOURCE_FOLDER)) return Course(LAB_SOURCE_FOLDER);
    throw Error("this is not inside the course's repository. Change into it, then try again.");
}

std::vector<std::string> Course::chapter_ids() const {
    std::vector<std::string> ids;
    for (const auto& entry : fs::directory_iterator(root())) {
        const std::string name = entry.path().filename().string();
        const bool is_chapter = name.starts_with("ch") && name.find_first_of("0123456789") == 2;
        if (is_chapter && fs::exists(entry.path() / "chapter.toml")) ids.push_back(name);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

std::vector<Chapter> Course::chapters() const {
    const std::vector<std::string> ids = chapter_ids();
    std::vector<Chapter> all(ids.size());
    for_each_in_parallel(ids.size(), [&](std::size_t i) { all[i] = read_chapter(root(), ids[i]); });
    return all;
}

Chapter Course::chapter(const std::string& name) const {
    std::vector<std::string> short_ids;
    for (const std::string& id : chapter_ids()) {
        short_ids.push_back(short_chapter_id(id));
        if (name == id || chapter_by_number(name) == short_ids.back()) return read_chapter(root(), id);
    }
    std::string meant;
    try {
        meant = exercise_near(chapters(), name);
    } catch (const Error&) {  // of a chapter that cannot be read, which is not what was asked for
    }
    throw Error(
        fmt::format("there is no chapter '{}'; {}", printable(name),
                    meant.empty() ? "there are: " + join(short_ids, ", ") : "did you mean " + meant + "?"));
}

Course::Chosen Course::choose(const std::string& name_or_path) const {
    const std::string name = name_in_path(name_or_path);
    const std::size_t slash = name.find('/');
    Chosen chosen{chapter(name.substr(0, slash)), nullptr};
    if (slash == std::string::npos) return chosen;
    const std::string wanted = name.substr(slash + 1);
    chosen.part = chosen.chapter.single(wanted);
    if (!chosen.part) chosen.part = chosen.chapter.exercise(wanted);
    chosen.names_draw = wanted.find(':') != std::string::npos;
    if (chosen.part) return chosen;
    std::vector<std::string> names;
    for (const Case& e : chosen.chapter.exercises)
        names.push_back(e.draw ? fmt::format("{} (draws :1 to :{})", e.name, e.further_draws.size() + 1)
                               : e.name);
    throw Error(fmt::format("{} has no exercise '{}'; it has: {}", chosen.chapter.short_id, printable(wanted),
                            join(names, ", ")));
}

std::vector<const Case*> Course::Chosen::draws() const {
    std::vector<const Case*> all{part};
    if (!names_draw)
        for (const Case& draw : part->further_draws) all.push_back(&draw);
    return all;
}

std::vector<Program> all_programs(const Chapter& chapter) {
    std::vector<Program> all;
    for (const Case* each : chapter.cases())
        for (Program& program : each->all_programs()) all.push_back(std::move(program));
    return all;
}

}  // namespace lab
