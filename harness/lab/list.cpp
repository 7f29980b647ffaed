// lab list: what there is to learn, and how long it takes.
#include <fmt/format.h>

#include "core/table.h"
#include "core/terminal.h"
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

/// The exercise that was last worked on and is not passed, as commands take its name; "" if there is none.
std::string last_begun(const std::vector<Chapter>& chapters, const Progress& progress) {
    std::string name, when;
    for (const Chapter& chapter : chapters)
        for (const Case& e : chapter.exercises) {
            const Done done = progress.exercise(e.id);
            const bool begun = done.started || done.checks > 0;
            if (!begun || done.passed || done.last < when) continue;
            name = chapter.short_id + "/" + e.name;
            when = done.last;
        }
    return name;
}

int list_names() {
    for (const Chapter& chapter : Course::find().chapters()) {
        fmt::print("{}\n", chapter.short_id);
        for (const Case& e : chapter.exercises) fmt::print("{}/{}\n", chapter.short_id, e.name);
    }
    return kFine;
}

int list() {
    const Course course = Course::find();
    const std::vector<Chapter> chapters = course.chapters();
    if (chapters.empty()) throw Error("there is no chapter here: no folder ch*/ holds a chapter.toml");
    const Progress progress = progress_of(course);
    Table table({"", "title", "minutes", "state"}, {Align::left, Align::left, Align::right, Align::left});
    for (const Chapter& chapter : chapters) {
        table.add({chapter.short_id, chapter.title, std::to_string(chapter.minutes), open_here(chapter)});
        for (const Case& e : chapter.exercises)
            table.add({fmt::format("  {}/{}", chapter.short_id, e.name), e.title, std::to_string(e.minutes),
                       state_of(progress.exercise(e.id))});
    }
    fmt::print("{}\n", table.text(2, table_columns()));
    if (const std::string begun = last_begun(chapters, progress); !begun.empty())
        fmt::print("go on with  ./lab check {}\n", begun);
    else
        fmt::print("start with  ./lab run {}\n", first_to_start(chapters).short_id);
    return kFine;
}

}  // namespace

void add_list(Session& session) {
    const auto names = std::make_shared<bool>(false);
    Subcommand command(session, "list", "chapters and exercises, and what you have done",
                       "A chapter is open live where a GPU and the tools that it needs are found; ./lab "
                       "doctor tries them. An exercise is ungraded if it compiles and could not be run.",
                       [names] { return *names ? list_names() : list(); });
    command.flag("--names", *names, "prints only the names that commands take, one a line");
}

}  // namespace lab
