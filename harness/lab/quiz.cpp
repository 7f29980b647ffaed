// lab quiz CH: questions whose answers are read off what the tools saw, and graded by query, with a GPU or
// without.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/quiz.h"
#include "evidence/tool_output.h"
#include "lab/command.h"
#include "lab/learner.h"

namespace lab {

namespace {

/// not_here: the run that it is about has not been made, here or by anybody.
enum class Result { right, wrong, unanswered, not_here };

struct Graded {
    const Question* question;
    Result result;
    std::string label;            ///< whose evidence decided
    bool right_at_first = false;  ///< without a wrong answer before
};

const char* to_string(Result result) {
    switch (result) {
        case Result::right:
            return "right";
        case Result::wrong:
            return "wrong";
        case Result::not_here:
            return "not_here";
        case Result::unanswered:
            break;
    }
    return "unanswered";
}

void print_question(const Chapter& chapter, const Question& question, std::size_t number,
                    const std::string& label) {
    fmt::print(
        "\n{} {}\n   {}\n", bold(fmt::format("{}.", number)), paragraph(question.asks, 3),
        dim(fmt::format("{} · {} · {}", question.id, chapter.program_of(question).source.string(), label)));
    for (std::size_t i = 0; i < question.choices.size(); ++i)
        fmt::print("   {}) {}\n", static_cast<char>('a' + i), paragraph(question.choices[i], 6));
}

/// Metrics that ncu counted in this run and that the question is put to.
std::string metrics_asked(const Question& question, const Evidence& evidence) {
    std::vector<std::string> metrics;
    for (const Counter& counter : counters_in(evidence))
        if (question.sql.find("'" + counter.metric + "'") != std::string::npos &&
            std::find(metrics.begin(), metrics.end(), counter.metric) == metrics.end())
            metrics.push_back(counter.metric);
    return join(metrics, ", ");
}

/// The commands that show without the GUI what a question is about.
void print_commands(const Question& question, const std::string& file, const Evidence& evidence) {
    const std::string range = question.range ? fmt::format(" --range '{}'", *question.range) : "";
    const Asked asked = asked_by(question);
    if (asked.trace && evidence.has_trace())
        fmt::print("     ./lab timeline {}{}\n     ./lab analyze {}{}\n", file, range, file, range);
    else
        fmt::print("     ./lab analyze {}\n", file);
    const std::string metrics = asked.counters ? metrics_asked(question, evidence) : "";
    if (!metrics.empty()) fmt::print("     {}\n", paragraph("its counters of ncu: " + metrics, 5));
}

/// Where to look, in the GUI's words and with the commands that show it without the GUI. Never the number.
void print_look(const Course& course, const Question& question, const QuizEvidence& evidence) {
    fmt::print("   {} {}\n", red("not so."), paragraph(question.look, 3));
    print_commands(question, course.shown(evidence.path), evidence.evidence);
}

constexpr const char* kStandardInput = "-";

/// "id = answer" lines; empty lines and # comments are passed over, and a question without an answer is
/// unanswered. An Error names the line that is none.
std::map<std::string, std::string> read_answers(const std::string& path, const Chapter& chapter) {
    const bool typed = path == kStandardInput;
    const std::string file = typed ? "standard input" : path;
    const std::string text =
        typed ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : read_file(path);
    std::map<std::string, std::string> answers;
    std::vector<std::string> ids;
    for (const Question& q : chapter.quiz) ids.push_back(q.id);
    const std::vector<std::string> lines = split(text, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string line = trim(lines[i].substr(0, lines[i].find('#')));
        if (line.empty()) continue;
        const std::size_t equals = line.find('=');
        const std::string id = trim(line.substr(0, equals));
        if (equals == std::string::npos)
            throw Error(fmt::format("{}:{}: a line is 'question = answer'", file, i + 1));
        if (std::find(ids.begin(), ids.end(), id) == ids.end())
            throw Error(fmt::format("{}:{}: there is no question '{}'; there are {}", file, i + 1,
                                    printable(id), join(ids, ", ")));
        answers[id] = trim(line.substr(equals + 1));
        if (answers[id].empty()) {
            answers.erase(id);
            continue;
        }
        const auto question = std::find(ids.begin(), ids.end(), id) - ids.begin();
        try {
            (void)parse_answer(chapter.quiz[static_cast<std::size_t>(question)], answers[id]);
        } catch (const Error& problem) {
            throw Error(fmt::format("{}:{}: {}: {}", file, i + 1, id, problem.what()));
        }
    }
    return answers;
}

/// The answer that is typed: empty to pass the question; nothing, to end the quiz.
std::optional<std::string> ask(const Question& question) {
    const std::string unit =
        question.unit.empty() || question.unit == "share" ? "" : " (" + question.unit + ")";
    fmt::print("   {}{}: ", question.choices.empty() ? "number" : "letter", unit);
    std::fflush(stdout);
    std::string line;
    const bool ended = !std::getline(std::cin, line);
    if (ended) fmt::print("\n");  // Ctrl-D leaves the cursor behind the question
    const std::string answer = trim(line);
    return ended || answer == "q" || answer == "Q" ? std::nullopt : std::optional(answer);
}

Result grade_one(const Question& question, const QuizEvidence& evidence, const std::string& text) {
    const double right = right_answer(question, evidence.evidence);
    return is_right(question, parse_answer(question, text), right) ? Result::right : Result::wrong;
}

/// The number in full, which the answer may have been near to, and whose it is.
void print_right(const Question& question, const QuizEvidence& evidence) {
    if (!question.choices.empty()) return fmt::print("   {}\n", green("right"));
    const Measured measured{right_answer(question, evidence.evidence), "", true};
    fmt::print("   {}: {} in {}\n", green("right"), measured.text_in(question.unit),
               evidence.live ? "your live run" : "this recording");
}

/// Asks until the answer is right or an empty line passes on: a wrong answer says where to look, never the
/// number. `goes_on` is set to false if the learner leaves.
void ask_until_right(const Course& course, const QuizEvidence& evidence, Graded& graded, bool& goes_on) {
    const Question& question = *graded.question;
    for (;;) {
        const std::optional<std::string> text = ask(question);
        goes_on = text.has_value();
        if (!text || text->empty()) return;
        const bool first = graded.result == Result::unanswered;
        try {
            graded.result = grade_one(question, evidence, *text);
        } catch (const Error& problem) {
            if (problem.exit_code != kBadInput) throw;
            fmt::print("   {}\n", problem.what());
            continue;
        }
        if (graded.result == Result::right) {
            graded.right_at_first = first;
            return print_right(question, evidence);
        }
        print_look(course, question, evidence);
        fmt::print("   (try again, or an empty line to go on)\n");
    }
}

/// The evidence that a question is about; nothing if the run is still to be made.
std::optional<QuizEvidence> evidence_if_here(const Course& course, const Chapter& chapter,
                                             const Question& question) {
    try {
        return quiz_evidence(course, chapter, question);
    } catch (const Error& problem) {
        if (problem.exit_code != kNothingCouldRun) throw;
        return std::nullopt;
    }
}

/// What makes the runs that unanswerable questions are about: one command a case.
void print_not_here(const Chapter& chapter, const std::vector<Graded>& graded) {
    std::vector<std::string> runs;
    std::size_t count = 0;
    for (const Graded& g : graded) {
        if (g.result != Result::not_here) continue;
        ++count;
        const std::string& exercise = g.question->exercise;
        const std::string run =
            fmt::format("./lab run {}{}", chapter.short_id, exercise.empty() ? "" : "/" + exercise);
        if (std::find(runs.begin(), runs.end(), run) == runs.end()) runs.push_back(run);
    }
    if (count == 0) return;
    fmt::print("\n{}\n",
               paragraph(fmt::format("{} of {} questions are about runs that nobody has recorded yet. On a "
                                     "machine with a GPU, these make them:",
                                     count, graded.size())));
    for (const std::string& run : runs) fmt::print("  {}\n", run);
}

/// What progress knows of a question.
Result known_of(const Course& course, const Chapter& chapter, const Question& question) {
    const std::optional<Step> last = progress_of(course).last_answer(question_subject(chapter, question));
    if (!last) return Result::unanswered;
    return last == Step::right ? Result::right : Result::wrong;
}

/// `right_already`: questions that are not asked again.
void print_how_to_answer(std::size_t questions, std::size_t right_already) {
    if (right_already == questions) {
        fmt::print("all {} are answered right already (--all asks them again)\n", questions);
        return;
    }
    fmt::print("{}\n", paragraph("Read the answers off what the tools saw: a timeline, a counter, a report; "
                                 "a wrong answer is told where. A number may be off by as much as "
                                 "one can misread it; an empty line passes a question, q or Ctrl-D ends "
                                 "the quiz."));
    if (right_already > 0)
        fmt::print("\n{}\n",
                   paragraph(fmt::format("{} of {} {} answered right already; it goes on with those "
                                         "that are not (--all asks all)",
                                         right_already, questions, right_already == 1 ? "is" : "are")));
}

/// Asks on a terminal, grades `answers` if there are some, else lists. `again`: asks as well what was
/// answered right before.
std::vector<Graded> ask_all(const Course& course, const Chapter& chapter,
                            const std::map<std::string, std::string>* answers, bool quiet, bool again) {
    std::vector<Graded> graded;
    const bool asking = !answers && !quiet && is_interactive();
    const auto is_done = [&](const Question& q) {
        return asking && !again && known_of(course, chapter, q) == Result::right;
    };
    if (asking)
        print_how_to_answer(chapter.quiz.size(), static_cast<std::size_t>(std::count_if(
                                                     chapter.quiz.begin(), chapter.quiz.end(), is_done)));
    bool goes_on = true;
    for (std::size_t i = 0; i < chapter.quiz.size(); ++i) {
        const Question& question = chapter.quiz[i];
        if (is_done(question)) {
            graded.push_back({&question, Result::right, "", true});
            continue;
        }
        const std::optional<QuizEvidence> found = evidence_if_here(course, chapter, question);
        if (!found) {
            graded.push_back({&question, Result::not_here, ""});
            continue;
        }
        const QuizEvidence& evidence = *found;
        if (!quiet && goes_on) print_question(chapter, question, i + 1, evidence.label);
        graded.push_back({&question, Result::unanswered, evidence.label});
        Graded& one = graded.back();
        if (asking) {
            if (goes_on) ask_until_right(course, evidence, one, goes_on);
        } else if (answers && answers->count(question.id)) {
            one.result = grade_one(question, evidence, answers->at(question.id));
            one.right_at_first = one.result == Result::right;
            if (!quiet && one.right_at_first) print_right(question, evidence);
            if (!quiet && !one.right_at_first) print_look(course, question, evidence);
        }
        if (one.result != Result::unanswered)
            progress_of(course).add(one.result == Result::right ? Step::right : Step::wrong,
                                    question_subject(chapter, question));
        else if (asking) {
            one.result = known_of(course, chapter, question);
            one.right_at_first = true;
        }
    }
    return graded;
}

/// How many questions came to each result.
struct Counts {
    std::ptrdiff_t right = 0, wrong = 0, open = 0, not_here = 0;
    std::ptrdiff_t right_later = 0;  ///< of the right ones, those after a wrong answer
};

Counts counts_of(const std::vector<Graded>& graded) {
    const auto count = [&](Result result) {
        return std::count_if(graded.begin(), graded.end(),
                             [&](const Graded& g) { return g.result == result; });
    };
    const auto later = std::count_if(graded.begin(), graded.end(), [](const Graded& g) {
        return g.result == Result::right && !g.right_at_first;
    });
    return {count(Result::right), count(Result::wrong), count(Result::unanswered), count(Result::not_here),
            later};
}

/// "7 right (2 after a wrong answer), 0 wrong, 1 unanswered"
void print_counts(const Counts& counts) {
    const std::string after =
        counts.right_later == 0 ? "" : fmt::format(" ({} after a wrong answer)", counts.right_later);
    fmt::print("\n{} right{}, {} wrong, {} unanswered\n", counts.right, after, counts.wrong, counts.open);
}

nlohmann::ordered_json to_json(const Chapter& chapter, const std::vector<Graded>& graded,
                               const Counts& counts) {
    nlohmann::ordered_json all{{"chapter", chapter.id},
                               {"right", counts.right},
                               {"wrong", counts.wrong},
                               {"unanswered", counts.open},
                               {"not_here", counts.not_here}};
    all["questions"] = nlohmann::ordered_json::array();
    for (const Graded& g : graded) {
        nlohmann::ordered_json item{{"id", g.question->id},     {"asks", g.question->asks},
                                    {"unit", g.question->unit}, {"choices", g.question->choices},
                                    {"source", g.label},        {"result", to_string(g.result)}};
        if (g.result == Result::wrong) item["look"] = g.question->look;
        all["questions"].push_back(item);
    }
    return all;
}

/// What to do after a quiz in which something was answered.
std::string next_step(const Course& course, const Chapter& chapter, const std::string& answers_file,
                      const Counts& counts) {
    const bool all_right = counts.wrong + counts.open == 0;
    if (!all_right && answers_file.empty())
        return fmt::format("./lab quiz {} asks those that are not right yet", chapter.short_id);
    if (!all_right) {
        const std::string file = answers_file == kStandardInput ? "the answers" : answers_file;
        const std::string what = counts.wrong > 0
                                     ? "correct " + file
                                     : fmt::format("add the {} that {} unanswered to {}", counts.open,
                                                   counts.open == 1 ? "is" : "are", file);
        return fmt::format("{}, then ./lab quiz {} --answers {}", what, chapter.short_id,
                           shell_line({answers_file}));
    }
    const Progress progress = progress_of(course);
    for (const Exercise& e : chapter.exercises)
        if (const Done done = progress.exercise(e.programs.id); !done.passed && !done.ungraded)
            return fmt::format("./lab start {}/{}", chapter.short_id, e.name);
    const std::vector<std::string> ids = course.chapter_ids();
    const auto next = std::find(ids.begin(), ids.end(), chapter.id) + 1;
    return next == ids.end() ? "./lab report" : fmt::format("./lab run {}", course.chapter(*next).short_id);
}

/// The chapter by name; an Error if the name is an exercise's, which says where its questions are.
Chapter chapter_asked(const Course& course, const std::string& name) {
    const auto is_exercise = [](const std::string& exercise, const std::string& chapter) {
        return Error(fmt::format("{} is an exercise; its questions are in its chapter's quiz: ./lab quiz {}",
                                 exercise, chapter));
    };
    if (name.find('/') != std::string::npos) {
        const Course::Chosen chosen = course.choose(name);
        if (chosen.exercise) throw is_exercise(short_name(chosen), chosen.chapter.short_id);
        return chosen.chapter;
    }
    try {
        return course.chapter(name);
    } catch (const Error&) {
        const std::string near = course.meant_by(name);
        const std::size_t slash = near.find('/');
        if (slash != std::string::npos && near.substr(slash + 1) == name)
            throw is_exercise(near, near.substr(0, slash));
        throw;
    }
}

int quiz(const std::string& name, const std::string& answers_file, bool json, bool all) {
    const Course course = Course::find();
    const Chapter chapter = chapter_asked(course, name);
    if (chapter.quiz.empty()) throw Error(fmt::format("{} has no quiz", chapter.short_id));
    std::optional<std::map<std::string, std::string>> answers;
    if (!answers_file.empty()) answers = read_answers(answers_file, chapter);
    const std::vector<Graded> graded = ask_all(course, chapter, answers ? &*answers : nullptr, json, all);
    const Counts counts = counts_of(graded);
    if (json) {
        print_json(to_json(chapter, graded, counts));
    } else {
        const bool some_here = counts.not_here < std::ssize(graded);
        const bool only_listed = !answers && !is_interactive();
        if (some_here && !only_listed) print_counts(counts);
        print_not_here(chapter, graded);
        if (some_here && !only_listed)
            fmt::print("next     {}\n", next_step(course, chapter, answers_file, counts));
        if (some_here && only_listed)
            fmt::print("\n{}\n",
                       paragraph(fmt::format(
                           "The questions are only listed, since this is no terminal. To answer: "
                           "./lab quiz {} in a terminal, or --answers FILE (- is standard input) with lines "
                           "'question = answer', for example '{} = ...'",
                           chapter.short_id, chapter.quiz[0].id)));
    }
    if (counts.wrong + counts.open > 0) return kFindingFailed;
    return counts.not_here > 0 ? kNothingCouldRun : kFine;
}

}  // namespace

void add_quiz(Session& session) {
    struct Options {
        std::string chapter, answers;
        bool json = false, all = false;
    };
    const auto options = std::make_shared<Options>();
    Subcommand command(
        session,
        {.name = "quiz",
         .summary = "questions on what the tools saw, graded by query",
         .does =
             "Asks what the evidence answers: your own runs where you have made them, else recorded "
             "ones. On a terminal it asks until an answer is right, and says after a wrong one where to "
             "look, with the command that shows it; an empty line passes a question, q or Ctrl-D ends the "
             "quiz. A number may be off by as much as one can misread it. The next time it asks those that "
             "are not right yet, and the sum at its end counts the others too. If you answer a question "
             "again, the last answer counts.\n\n"
             "Not on a terminal it lists the questions. With --answers it grades all of a file: a line "
             "each, 'question = answer'; a number with or without its unit, a share as 0.5 or 50%, a choice "
             "by its letter; empty lines and what follows # are passed over, and a question without an "
             "answer is unanswered.",
         .exits = {{"0", "every question is answered, and right"},
                   {"1", "an answer is wrong, or a question is open"},
                   bad_usage(),
                   nothing_could_run("questions are left whose runs nobody has recorded yet")},
         .reads = {{"ch*/chapter.toml", "the questions"},
                   {"build/live/, ch*/evidence/", "the runs that they are about"},
                   {"work/progress.txt", "what you have answered right already"}},
         .writes = {{"work/progress.txt", "which answers were right, and which wrong"}},
         .examples = {{"./lab quiz ch05", "asks, on a terminal"},
                      {"./lab quiz ch05 --answers answers.txt --json", "grades a file, for a script"}},
         .see_also = {"analyze", "timeline", "report"}},
        [options] { return quiz(options->chapter, options->answers, options->json, options->all); });
    command.option({.name = "CHAPTER", .text = "a chapter (ch05)", .takes = Takes::chapter, .required = true},
                   options->chapter);
    command.option({.name = "--answers",
                    .text = "grades the answers in this file, or with - those on standard input: lines "
                            "'question = answer'",
                    .value = "FILE",
                    .otherwise = "they are typed",
                    .takes = Takes::file},
                   options->answers);
    command.flag("--all", options->all, "asks also what you have answered right already");
    command.flag("--json", options->json, "prints the questions and results as JSON");
}

}  // namespace lab
