// lab list: what there is to learn, and how long it takes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/table.h"
#include "lab/command.h"
#include "lab/learner.h"
#include "tools/machine.h"

namespace lab {

namespace {

/// Whether the chapter runs live here, by looking for what it needs; ./lab doctor tries it out.
std::string open_here(const Chapter& chapter) {
    if (!nvidia_smi()) return chapter.pair.draft ? "a draft: needs a GPU" : "on recorded evidence";
    std::vector<std::string> lacks;
    if (!nvcc()) lacks.emplace_back("nvcc");
    for (const std::string& need : tools_for(chapter.pair.needs()))
        if (!(need == "nsys" ? nsys() : need == "ncu" ? ncu() : compute_sanitizer())) lacks.push_back(need);
    if (!lacks.empty()) return "on recorded evidence: no " + lacks.back();
    return chapter.pair.draft ? "open live; a draft" : "open live";
}

/// What open_here() says, for a narrow column.
std::string in_short(const std::string& here) {
    constexpr std::string_view kRecorded = "on recorded evidence";
    return here.starts_with(kRecorded) ? "recorded" + here.substr(kRecorded.size()) : here;
}

std::string state_of_own(const Progress& progress, const Chapter& chapter, const Case& exercise) {
    return learner_state(progress, chapter, begun_draw(progress, exercise));
}

/// "not started", and behind it what most machines lack, or that it may be left out: "not started, 2 GPUs".
std::string state_and_needs(const Progress& progress, const Chapter& chapter, const Case& exercise) {
    std::string state = state_of_own(progress, chapter, exercise);
    if (exercise.gpus > 1) state += fmt::format(", {} GPUs", exercise.gpus);
    return state + (exercise.optional ? ", optional" : "");
}

nlohmann::ordered_json to_json(const Chapter& chapter, const Progress& progress) {
    nlohmann::ordered_json json{{"chapter", chapter.id},
                                {"title", chapter.title},
                                {"minutes", chapter.minutes},
                                {"needs", tools_for(chapter.pair.needs())},
                                {"draft", chapter.pair.draft},
                                {"here", open_here(chapter)},
                                {"exercises", nlohmann::ordered_json::array()}};
    for (const Case& e : chapter.exercises)
        json["exercises"].push_back({{"name", e.name},
                                     {"title", e.title},
                                     {"kind", to_string(e.exercise_kind)},
                                     {"minutes", e.minutes},
                                     {"gpus", e.gpus},
                                     {"optional", e.optional},
                                     {"state", state_of_own(progress, chapter, e)}});
    return json;
}

int list(bool json, bool names) {
    const Course course = Course::find();
    const std::vector<Chapter> chapters = course.chapters();
    if (chapters.empty()) throw Error("there is no chapter here: no folder ch*/ holds a chapter.toml");
    const Progress progress = progress_of(course);
    nlohmann::ordered_json all;
    Table table({"", "title", "kind", "minutes", "state"},
                {Align::left, Align::left, Align::left, Align::right, Align::left});
    for (const Chapter& chapter : chapters) {
        all.push_back(to_json(chapter, progress));
        if (names) fmt::print("{}\n", chapter.short_id);
        table.add({chapter.short_id, chapter.title, "", std::to_string(chapter.minutes),
                   in_short(open_here(chapter))});
        for (const Case& e : chapter.exercises) {
            const std::string name = chapter.short_id + "/" + e.name;
            if (names) fmt::print("{}\n", name);
            table.add({"  " + name, e.title, to_string(e.exercise_kind), std::to_string(e.minutes),
                       state_and_needs(progress, chapter, e)});
        }
    }
    if (json) print_json(all);
    if (json || names) return kFine;
    fmt::print("{}\n", table.text());
    fmt::print("next     {}\n", next_in_course(chapters, progress));
    return kFine;
}

int next() {
    const Course course = Course::find();
    fmt::print("{}\n", next_in_course(course.chapters(), progress_of(course)));
    return kFine;
}

}  // namespace

void add_list(Session& session) {
    const auto json = std::make_shared<bool>(false), names = std::make_shared<bool>(false);
    Subcommand command(session, "list", "chapters and exercises, and what you have done",
                       "A chapter is open live where a GPU and the tools that it needs are found; ./lab "
                       "doctor tries them. An exercise is diagnosed if all questions of ./lab diagnose are "
                       "answered right, and ungraded if it compiles and could not be run.",
                       [json, names] { return list(*json, *names); });
    command.flag("--json", *json, "prints the list as JSON");
    command.flag("--names", *names, "prints only the names that commands take, one a line");
    command.exclude("--json", "--names");
    Subcommand(
        session, "next", "what to do now: one command",
        "The exercise that you have begun, else the first open step of the chapter that you were in last and "
        "of those behind it, else what you passed over before.",
        [] { return next(); });
}

}  // namespace lab
