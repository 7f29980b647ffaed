#include "course/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/terminal.h"
#include "core/text.h"

namespace lab {

namespace {

/// In the order of the enum.
constexpr const char* kSteps[] = {"started", "failed", "passed", "ungraded",
                                  "hint",    "right",  "wrong",  "repaired"};

bool is_check(Step step) {
    return step == Step::failed || step == Step::passed || step == Step::repaired || step == Step::ungraded;
}

std::optional<Step> step_from(const std::string& word) {
    const auto at = std::find(std::begin(kSteps), std::end(kSteps), word);
    if (at == std::end(kSteps)) return std::nullopt;
    return static_cast<Step>(at - std::begin(kSteps));
}

/// As utc_now() writes it.
bool is_time(const std::string& word) {
    std::tm time{};
    const char* const end = ::strptime(word.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
    return end && !*end && word.size() == utc_now().size();
}

}  // namespace

const char* state_of(const Done& done) {
    if (done.passed) return "passed";
    if (done.repaired) return "repaired";
    if (done.ungraded) return "ungraded";
    if (done.checks > 0) return "tried";
    return done.started ? "started" : "not started";
}

void Progress::add(Step step, const std::string& subject, const std::vector<std::string>& failed) const {
    fs::create_directories(file_.parent_path());
    std::string line = fmt::format("{} {} {}{}{}\n", utc_now(), kSteps[static_cast<std::size_t>(step)],
                                   subject, failed.empty() ? "" : " ", join(failed, ","));
    // A crash or an editor may have left the last line without its end: begin a new one.
    const std::string before = fs::is_regular_file(file_) ? read_file(file_) : "";
    if (!before.empty() && before.back() != '\n') line.insert(0, "\n");
    std::ofstream file(file_, std::ios::app);
    file << line << std::flush;
    if (!file) throw Error(fmt::format("cannot write {}: {}", file_.string(), std::strerror(errno)));
}

void Progress::add_answer(bool is_right, const std::string& subject) const {
    if (is_right || last_answer(subject) != Step::right) add(is_right ? Step::right : Step::wrong, subject);
}

std::vector<Progress::Line> Progress::lines() const {
    std::vector<Line> lines;
    for (const std::string& text : split(fs::is_regular_file(file_) ? read_file(file_) : "", '\n')) {
        const std::vector<std::string> words = split(trim(text), ' ');
        const auto step = words.size() < 3 ? std::nullopt : step_from(words[1]);
        if (!step || words.size() > (step == Step::failed ? 4 : 3)) continue;
        if (!is_time(words[0])) {
            static std::set<std::string> said;
            if (said.insert(text).second)
                say(fmt::format("{}: this line has no time like {}, so it does not count: {}", file_.string(),
                                utc_now(), text));
            continue;
        }
        const auto failed = words.size() > 3 ? split(words[3], ',') : std::vector<std::string>{};
        lines.push_back({words[0], words[2], *step, failed});
    }
    return lines;
}

Done Progress::exercise(const std::vector<std::string>& subjects) const {
    Done done;
    int number = 0;
    for (const Line& line : lines()) {
        ++number;
        if (std::find(subjects.begin(), subjects.end(), line.subject) == subjects.end()) continue;
        done.line = number;
        done.started = done.started || line.step == Step::started;
        done.passed = done.passed || line.step == Step::passed;
        done.hints += line.step == Step::hint;
        done.last = line.time;
        if (!is_check(line.step)) continue;
        ++done.checks;
        done.ungraded = line.step == Step::ungraded;
        done.repaired = line.step == Step::repaired;
        done.failed = line.failed;
    }
    return done;
}

std::string Progress::last_activity() const {
    const std::vector<Line> all = lines();
    return all.empty() ? "" : all.back().time;
}

std::string Progress::last_subject() const {
    const std::vector<Line> all = lines();
    return all.empty() ? "" : all.back().subject;
}

int Progress::wrong_answers(const std::string& subject) const {
    const std::vector<Line> all = lines();
    return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const Line& line) {
        return line.subject == subject && line.step == Step::wrong;
    }));
}

std::optional<Step> Progress::last_answer(const std::string& subject) const {
    std::optional<Step> last;
    for (const Line& line : lines())
        if (line.subject == subject && (line.step == Step::right || line.step == Step::wrong))
            last = line.step;
    return last;
}

}  // namespace lab
