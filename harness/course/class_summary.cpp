#include "course/class_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <map>

#include "core/text.h"
#include "course/chapter.h"

namespace lab {

namespace {

bool is_at_hand(const ExerciseReport& e) {
    return e.state == "started" || e.state == "tried" || e.state == "ungraded";
}

/// A name without case and spaces.
std::string plain(const std::string& name) {
    std::string letters;
    for (const char c : name)
        if (c != ' ') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return letters;
}

std::time_t seconds_of(const std::string& text) {
    std::tm utc{};
    if (!::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc)) return 0;
    return ::timegm(&utc);
}

LearnerRow row_of(const LearnerReport& report) {
    LearnerRow row{.learner = report.learner, .last = report.last};
    std::string latest;
    for (const ChapterReport& chapter : report.chapters) {
        row.right += chapter.right;
        row.questions += chapter.questions;
        for (const ExerciseReport& e : chapter.exercises) {
            ++row.exercises;
            row.passed += e.state == "passed";
            if (!is_at_hand(e) || (!row.at.empty() && e.last <= latest)) continue;
            latest = e.last;
            row.at = short_chapter_id(chapter.id) + "/" + e.name;
            row.checks = e.checks, row.hints = e.hints, row.failed = e.failed;
        }
    }
    return row;
}

std::string csv_field(const std::string& text) {
    const bool formula = !text.empty() && std::string("=+-@").find(text[0]) != std::string::npos;
    const std::string safe = formula ? "'" + text : text;
    if (safe.find_first_of(",\"\n") == std::string::npos) return safe;
    std::string quoted = "\"";
    for (const char c : safe) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

}  // namespace

bool same_learner(const std::string& a, const std::string& b) {
    return plain(a) == plain(b);
}

std::vector<LearnerRow> learner_rows(const std::vector<LearnerReport>& reports) {
    std::vector<LearnerRow> rows;
    for (const LearnerReport& report : reports) rows.push_back(row_of(report));
    std::sort(rows.begin(), rows.end(), [](const LearnerRow& a, const LearnerRow& b) {
        if (a.at.empty() != b.at.empty()) return b.at.empty();
        if (!a.at.empty() && a.checks != b.checks) return a.checks > b.checks;
        return plain(a.learner) < plain(b.learner);
    });
    return rows;
}

std::vector<ExerciseRow> exercise_rows(const std::vector<LearnerReport>& reports) {
    struct Tally {
        ExerciseRow row;
        std::map<std::string, int> failed;
    };
    std::map<std::pair<std::string, std::size_t>, Tally> tallies;  // by chapter and place in it
    std::map<std::string, std::pair<std::string, std::size_t>> places;
    for (const LearnerReport& report : reports)
        for (const ChapterReport& chapter : report.chapters)
            for (std::size_t i = 0; i < chapter.exercises.size(); ++i) {
                const ExerciseReport& e = chapter.exercises[i];
                const std::string name = short_chapter_id(chapter.id) + "/" + e.name;
                // Two versions of the course may count its exercises differently; the first one seen decides.
                auto place = places.try_emplace(name, chapter.id, i).first->second;
                while (tallies.count(place) && tallies[place].row.exercise != name) ++place.second;
                places[name] = place;
                Tally& tally = tallies[place];
                tally.row.exercise = name;
                tally.row.passed += e.state == "passed";
                tally.row.begun += is_at_hand(e);
                tally.row.untouched += e.state == "not started";
                if (is_at_hand(e))
                    for (const std::string& finding : e.failed) ++tally.failed[finding];
            }
    std::vector<ExerciseRow> rows;
    for (auto& [place, tally] : tallies) {
        if (tally.row.passed + tally.row.begun == 0) continue;
        for (const auto& [finding, learners] : tally.failed)
            if (learners > tally.row.fails_for)
                tally.row.fails_most = finding, tally.row.fails_for = learners;
        rows.push_back(tally.row);
    }
    return rows;
}

bool is_time(const std::string& text) {
    std::tm utc{};
    const char* const end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text.size() == 20 && end && *end == '\0';
}

int hours_between(const std::string& then, const std::string& now) {
    return static_cast<int>(std::max<std::time_t>(0, seconds_of(now) - seconds_of(then)) / 3600);
}

std::string time_since(const std::string& then, const std::string& now) {
    if (then.empty()) return "never";
    const int hours = hours_between(then, now);
    if (hours < 1) return "under 1 h";
    return hours < 48 ? fmt::format("{} h", hours) : fmt::format("{} days", hours / 24);
}

std::string class_csv(const std::vector<LearnerRow>& rows, const std::string& now) {
    std::string text =
        "learner,passed,exercises,at,failed,checks,hints,quiz_right,quiz_questions,"
        "last_activity,idle_hours\n";
    for (const LearnerRow& r : rows)
        text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(r.learner), r.passed, r.exercises,
                            csv_field(r.at), csv_field(join(r.failed, " ")), r.checks, r.hints, r.right,
                            r.questions, r.last,
                            r.last.empty() ? "" : std::to_string(hours_between(r.last, now)));
    return text;
}

}  // namespace lab
