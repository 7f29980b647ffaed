// lab quiz CH: questions whose answers are read off what the tools saw, and graded by query, with a GPU or
// without.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/quiz.h"
#include "evidence/tool_results.h"
#include "lab/command.h"
#include "lab/learner.h"

namespace lab {

namespace {

/// not_here: the run that it is about has not been made, here or by anybody.
enum class Result { right, wrong, unanswered, not_here };
constexpr std::array kResultNames{"right", "wrong", "unanswered", "not_here"};

struct Graded {
    const Question* question;
    Result result;
    std::string label = {};       ///< whose evidence decided
    bool right_at_first = false;  ///< without a wrong answer before
};

void print_question(const Chapter& chapter, const Question& question, std::size_t number,
                    const std::string& label) {
    fmt::print(
        "\n{} {}\n   {}\n", bold(fmt::format("{}.", number)), paragraph(question.asks, 3),
        dim(fmt::format("{} · {} · {}", question.id, chapter.program_of(question).file.string(), label)));
    for (std::size_t i = 0; i < question.choices.size(); ++i)
        fmt::print("   {}) {}\n", static_cast<char>('a' + i), paragraph(question.choices[i], 6));
}

/// Metrics that ncu counted in this run and that the question is put to.
std::string metrics_asked(const Question& question, const Evidence& evidence) {
    std::vector<std::string> metrics;
    for (const Counter& counter : counters_in(evidence))
        if (question.query.sql.find("'" + counter.metric + "'") != std::string::npos &&
            std::find(metrics.begin(), metrics.end(), counter.metric) == metrics.end())
            metrics.push_back(counter.metric);
    return join(metrics, ", ");
}

/// The commands that show without the GUI what a question is about.
void print_commands(const Question& question, const std::string& file, const Evidence& evidence) {
    const std::string range = question.query.range ? fmt::format(" --range '{}'", *question.query.range) : "";
    const Needs& needs = question.query.needs;
    if (needs.trace && evidence.has_trace())
        fmt::print("     ./lab timeline {}{}\n     ./lab analyze {}{}\n", file, range, file, range);
    else
        fmt::print("     ./lab analyze {}\n", file);
    const std::string metrics = needs.counters ? metrics_asked(question, evidence) : "";
    if (!metrics.empty()) fmt::print("     {}\n", paragraph("its counters of ncu: " + metrics, 5));
}

/// Where to look, in the GUI's words and with the commands that show it without the GUI. Never the number.
void print_look(const Course& course, const Question& question, const QuizEvidence& evidence) {
    fmt::print("   {} {}\n", red("not so."), paragraph(question.look, 3));
    print_commands(question, course.shown(evidence.path), evidence.evidence);
}

constexpr const char* kStandardInput = "-";

using Answers = std::map<std::string, std::string>;  ///< by the question's id

/// "id = answer" lines, by id; empty lines, # comments and questions without an answer are passed over. An
/// Error names the line that is none.
Answers read_answers(const std::string& path, const Chapter& chapter) {
    const bool typed = path == kStandardInput;
    const std::string text =
        typed ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : read_file(path);
    Answers answers;
    const std::vector<std::string> lines = split(text, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string line = trim(lines[i].substr(0, lines[i].find('#')));
        if (line.empty()) continue;
        const std::size_t equals = line.find('=');
        const std::string id = trim(line.substr(0, equals));
        const auto question = std::find_if(chapter.quiz.begin(), chapter.quiz.end(),
                                           [&](const Question& q) { return q.id == id; });
        try {
            if (equals == std::string::npos) throw Error("a line is 'question = answer'");
            if (question == chapter.quiz.end())
                throw Error(fmt::format("there is no question '{}'", printable(id)));
            const std::string answer = trim(line.substr(equals + 1));
            if (answer.empty()) continue;
            (void)parse_answer(*question, answer);
            answers[id] = answer;
        } catch (const Error& problem) {
            throw Error(fmt::format("{}:{}: {}", typed ? "standard input" : path, i + 1, problem.what()));
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

/// Grades the answer in `answers`, if there is one, and prints what comes of it unless `quiet`.
void grade_answer_in(const Answers& answers, const Course& course, const QuizEvidence& evidence, bool quiet,
                     Graded& graded) {
    const auto answer = answers.find(graded.question->id);
    if (answer == answers.end()) return;
    graded.result = grade_one(*graded.question, evidence, answer->second);
    graded.right_at_first = graded.result == Result::right;
    if (quiet) return;
    if (graded.right_at_first)
        print_right(*graded.question, evidence);
    else
        print_look(course, *graded.question, evidence);
}

/// Asks on a terminal, grades `answers` if there are some, else lists. `again`: asks as well what was
/// answered right before.
std::vector<Graded> ask_all(const Course& course, const Chapter& chapter, const Answers* answers, bool quiet,
                            bool again) {
    std::vector<Graded> all;
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
        Graded& graded = all.emplace_back(Graded{&question, Result::right});
        graded.right_at_first = is_done(question);
        if (graded.right_at_first) continue;
        const std::optional<QuizEvidence> evidence = evidence_if_here(course, chapter, question);
        graded.result = evidence ? Result::unanswered : Result::not_here;
        if (!evidence) continue;
        graded.label = evidence->label;
        if (!quiet && goes_on) print_question(chapter, question, i + 1, evidence->label);
        if (asking && goes_on) ask_until_right(course, *evidence, graded, goes_on);
        if (answers) grade_answer_in(*answers, course, *evidence, quiet, graded);
        if (graded.result != Result::unanswered)
            progress_of(course).add(graded.result == Result::right ? Step::right : Step::wrong,
                                    question_subject(chapter, question));
        else if (asking)
            graded.result = known_of(course, chapter, question), graded.right_at_first = true;
    }
    return all;
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
        nlohmann::ordered_json item{
            {"id", g.question->id},     {"asks", g.question->asks},
            {"unit", g.question->unit}, {"choices", g.question->choices},
            {"source", g.label},        {"result", kResultNames[static_cast<std::size_t>(g.result)]}};
        if (g.result == Result::wrong) item["look"] = g.question->look;
        all["questions"].push_back(item);
    }
    return all;
}

/// What to do after a quiz in which something was answered.
std::string next_step(const Course& course, const Chapter& chapter, const std::string& answers_file,
                      const Counts& counts) {
    if (counts.wrong + counts.open > 0)
        return answers_file.empty()
                   ? fmt::format("./lab quiz {} asks those that are not right yet", chapter.short_id)
                   : fmt::format("correct the answers, then ./lab quiz {} --answers {}", chapter.short_id,
                                 shell_line({answers_file}));
    const Progress progress = progress_of(course);
    for (const Case& e : chapter.exercises)
        if (const Done done = progress.exercise(e.id); !done.passed && !done.ungraded)
            return fmt::format("./lab start {}/{}", chapter.short_id, e.name);
    const std::vector<std::string> ids = course.chapter_ids();
    const auto next = std::find(ids.begin(), ids.end(), chapter.id) + 1;
    return next == ids.end() ? "./lab report" : fmt::format("./lab run {}", course.chapter(*next).short_id);
}

/// The chapter by name. An exercise has no quiz of its own, and the Error says where its questions are.
Chapter chapter_asked(const Course& course, const std::string& name) {
    const bool is_case = name.find('/') != std::string::npos;
    const std::string whole = is_case ? name : course.meant_by(name);
    if (is_case || whole.ends_with("/" + name)) {
        const Course::Chosen chosen = course.choose(whole);
        throw Error(fmt::format("{} is an exercise; its questions are in its chapter's quiz: ./lab quiz {}",
                                short_name(chosen), chosen.chapter.short_id));
    }
    return course.chapter(name);
}

/// Prints what came of it, and what to do next.
void print_end(const Course& course, const Chapter& chapter, const std::string& answers_file,
               const Counts& counts) {
    if (counts.not_here > 0)
        fmt::print("\n{}\n",
                   paragraph(fmt::format("{} of {} questions are about runs that nobody has recorded "
                                         "yet; ./lab run {} makes them on a machine with a GPU",
                                         counts.not_here, chapter.quiz.size(), chapter.short_id)));
    if (counts.not_here == std::ssize(chapter.quiz)) return;
    if (answers_file.empty() && !is_interactive()) {
        fmt::print(
            "\n{}\n",
            paragraph(fmt::format(
                "The questions are only listed, since this is no terminal. To answer: ./lab quiz {} in "
                "a terminal, or --answers FILE (- is standard input) with lines 'question = answer', "
                "for example '{} = ...'",
                chapter.short_id, chapter.quiz[0].id)));
        return;
    }
    print_counts(counts);
    fmt::print("next     {}\n", next_step(course, chapter, answers_file, counts));
}

int quiz(const std::string& name, const std::string& answers_file, bool json, bool all) {
    const Course course = Course::find();
    const Chapter chapter = chapter_asked(course, name);
    if (chapter.quiz.empty()) throw Error(fmt::format("{} has no quiz", chapter.short_id));
    std::optional<Answers> answers;
    if (!answers_file.empty()) answers = read_answers(answers_file, chapter);
    const std::vector<Graded> graded = ask_all(course, chapter, answers ? &*answers : nullptr, json, all);
    const Counts counts = counts_of(graded);
    if (json)
        print_json(to_json(chapter, graded, counts));
    else
        print_end(course, chapter, answers_file, counts);
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
        session, "quiz", "questions on what the tools saw, graded by query",
        "On a terminal an empty line passes a question, and q or Ctrl-D ends the quiz. A file of answers has "
        "lines 'question = answer': a number with or without its unit, a share as 0.5 or 50%, a choice by "
        "its letter; # begins a comment.\n"
        "Exit codes: 1 an answer is wrong or a question open, 77 only questions without a recorded run are "
        "left.",
        [options] { return quiz(options->chapter, options->answers, options->json, options->all); });
    command.argument("CHAPTER", options->chapter, "a chapter (ch05)");
    command.option("--answers", "FILE", options->answers,
                   "grades the answers in this file, or with - those on standard input");
    command.flag("--all", options->all, "asks also what you have answered right already");
    command.flag("--json", options->json, "prints the questions and results as JSON");
}

}  // namespace lab
