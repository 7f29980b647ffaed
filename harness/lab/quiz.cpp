// lab look, lab quiz, lab diagnose: questions whose answers are read off what the tools saw, and graded by
// query, with a GPU or without.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/files.h"
#include "core/terminal.h"
#include "core/text.h"
#include "course/case_evidence.h"
#include "course/quiz.h"
#include "lab/command.h"
#include "lab/learner.h"
#include "lab/run.h"
#include "tools/machine.h"

namespace lab {

namespace {

enum class Result { right, wrong, unanswered, not_here };  ///< not_here: the run is still to be made
constexpr std::array kResultNames{"right", "wrong", "unanswered", "not_here"};

struct Graded {
    const Question* question;
    Result result;
    std::string label = {};  ///< where the evidence that decided is from
};

/// What is asked: before a chapter's explanation, in its quiz, or of an exercise.
struct Questionnaire {
    Question::Purpose purpose;
    const Chapter& chapter;
    const Case* exercise;  ///< null unless it is diagnosed

    [[nodiscard]] const std::vector<Question>& questions() const {
        if (purpose == Question::diagnosis) return exercise->diagnosis;
        return purpose == Question::look_first ? chapter.look : chapter.quiz;
    }
    [[nodiscard]] std::string command() const {
        if (exercise) return fmt::format("./lab diagnose {}/{}", chapter.short_id, exercise->argument());
        return (purpose == Question::look_first ? "./lab look " : "./lab quiz ") + chapter.short_id;
    }
};

constexpr int kMostTries = 2;  ///< a third would be a guess

/// `file` decides; `label`: where it is from, unless that stands above the question before.
void print_question(const Question& question, std::size_t number, const std::string& file,
                    const std::string& label) {
    const std::string asked = fmt::format("{} {}", bold(fmt::format("{}.", number)), question.asks);
    const std::string unit = unit_asked(question);
    const std::string about =
        fmt::format("{} · {}{}", question.id, file, unit.empty() ? "" : " · unit: " + unit);
    fmt::print("\n{}\n   {}\n", paragraph(asked, 3), dim(paragraph(about, 3)));
    if (!label.empty()) fmt::print("   {}\n", dim(paragraph(label, 3)));
    for (std::size_t i = 0; i < question.choices.size(); ++i)
        fmt::print("   {}) {}\n", static_cast<char>('a' + i), paragraph(question.choices[i], 6));
}

/// Prints where to look for the answer, in the GUI and with commands.
void print_where_to_look(const Course& course, const Question& question, const QuizEvidence& evidence,
                         const std::string& before = "") {
    fmt::print("   {}\n", paragraph(before + question.look, 3));
    const std::string file = course.shown(evidence.path);
    const std::string range = question.query.range ? fmt::format(" --range '{}'", *question.query.range) : "";
    const bool timed = question.query.needs.trace && evidence.evidence.has_trace();
    if (timed) fmt::print("     ./lab timeline {}{} --html page.html\n", file, range);
    if (question.query.needs.details)
        fmt::print("     ./lab ncu-details {}\n", file);
    else
        fmt::print("     ./lab analyze {}{}\n", file, timed ? range : "");
}

/// Prints the result of an answer: if it is right, the number in full, which the answer may only be near to;
/// else where to look, and never the number.
void print_result(const Course& course, const Question& question, const QuizEvidence& evidence,
                  Result result) {
    if (result == Result::wrong) {
        print_where_to_look(course, question, evidence, red("not so.") + " ");
    } else if (!question.choices.empty()) {
        fmt::print("   {}\n", green("right"));
    } else {
        fmt::print("   {}: {} in {}\n", green("right"), right_words(question, evidence.evidence),
                   evidence.live ? "your live run" : "this recording");
    }
    if (result == Result::right && !question.why.empty()) fmt::print("   {}\n", paragraph(question.why, 3));
}

/// Reads a file of answers to these questions. What cannot be read is added to `faults`, with its line.
Answers read_answers(const std::string& path, const std::vector<Question>& questions,
                     std::vector<std::string>& faults) {
    const auto accept = [&](const std::string& id, const std::string& answer) {
        const auto question =
            std::find_if(questions.begin(), questions.end(), [&](const Question& q) { return q.id == id; });
        if (question == questions.end()) throw Error(fmt::format("there is no question '{}'", printable(id)));
        if (!question->wants_text && !answer.empty()) (void)parse_answer(*question, answer);
    };
    return read_answer_lines(path, accept, faults);
}

/// Asks for one line: empty to pass the question; nothing to end the quiz.
std::optional<std::string> ask_line(const Question& question) {
    const std::string unit = unit_asked(question);
    const char* const kind = question.wants_text ? "name" : question.choices.empty() ? "number" : "letter";
    fmt::print("   {}{}: ", kind, unit.empty() ? "" : " (" + unit + ")");
    std::fflush(stdout);
    std::string line;
    const bool ended = !std::getline(std::cin, line);
    if (ended) fmt::print("\n");  // Ctrl-D leaves the cursor behind the question
    const std::string answer = trim(line);
    return ended || answer == "q" || answer == "Q" ? std::nullopt : std::optional(answer);
}

Result grade(const Question& question, const QuizEvidence& evidence, const std::string& text) {
    return is_right(question, evidence.evidence, text) ? Result::right : Result::wrong;
}

using Note = std::function<void(Result)>;

/// Asks until the answer is right, the tries are used up, or an empty line passes on, and notes each result.
/// False if the learner leaves.
bool ask_until_right(const Course& course, const Question& question, const QuizEvidence& evidence,
                     const Note& note) {
    for (int tries = 0;;) {
        const std::optional<std::string> text = ask_line(question);
        if (!text || text->empty()) return text.has_value();
        if (*text == "?") {
            print_where_to_look(course, question, evidence);
            continue;
        }
        try {
            const Result result = grade(question, evidence, *text);
            note(result);
            print_result(course, question, evidence, result);
            if (result == Result::right) return true;
        } catch (const Error& problem) {
            if (problem.exit_code != kBadInput) throw;
            fmt::print("   {}\n", problem.what());
            continue;
        }
        if (++tries == kMostTries) return true;
        fmt::print("   (one more try, or an empty line to go on)\n");
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

/// The result of a question's last answer, or its sibling's, as progress notes it.
Result last_result(const Progress& progress, const Questionnaire& asked, const Question& question) {
    const std::optional<Step> last = last_answer(progress, asked.chapter, asked.questions(), question);
    if (!last) return Result::unanswered;
    return last == Step::right ? Result::right : Result::wrong;
}

void print_how_to_answer(std::size_t questions, std::ptrdiff_t right_already) {
    fmt::print("{}\n",
               paragraph("Read the answers off what the tools saw: a timeline, a counter, a report. "
                         "A number may be off by as much as one can misread it. ? says where to look, "
                         "as does a wrong answer; an empty line passes a question; q or Ctrl-D ends."));
    if (right_already > 0)
        fmt::print("\nanswered right already: {} of {} (--all asks them again)\n", right_already, questions);
}

struct QuizOptions {
    std::string of, answers;  ///< a chapter, or an exercise to be diagnosed
    bool json = false, all = false;
};

/// Goes through the questions: asks on a terminal, grades a file of answers, or lists them.
class Round {
  public:
    Round(const Course& course, const Questionnaire& asked, const Answers* answers,
          const QuizOptions& options)
        : course_(course),
          asked_(asked),
          answers_(answers),
          options_(options),
          progress_(progress_of(course)) {}

    std::vector<Graded> go() {
        for (const Question& q : asked_.questions())
            if (q.instead_of.empty())
                all_.push_back({&q, is_asking_ ? last_result(progress_, asked_, q) : Result::unanswered});
        const auto is_done = [&](const Graded& g) { return is_right_before(*g.question); };
        if (is_asking_) print_how_to_answer(all_.size(), std::count_if(all_.begin(), all_.end(), is_done));
        for (std::size_t i = 0; i < all_.size() && !has_left_; ++i) {
            const Question& first = *all_[i].question;
            if (is_right_before(first)) {
                all_[i].result = Result::right;
                // A diagnosis goes from one answer to the next.
                if (asked_.exercise) print_passed_over(first, i + 1, "answered right already");
                continue;
            }
            const Question& now = now_asked(first);
            if (&now != &first) print_passed_over(first, i + 1, "asked now in another way");
            go_through(all_[i], now, i + 1);
            if (const Question& next = now_asked(first); &next != &now && !has_left_)
                go_through(all_[i], next, i + 1);
            if (is_asking_ && all_[i].result == Result::wrong && !has_left_)
                fmt::print("   (it stays open: {} asks it again)\n", asked_.command());
        }
        return all_;
    }

    /// The questions that were answered and not asked.
    [[nodiscard]] std::vector<std::string> left_over() const {
        std::vector<std::string> ids;
        for (const auto& [id, answer] : answers_ ? *answers_ : Answers())
            if (!asked_ids_.count(id)) ids.push_back(id);
        return ids;
    }

  private:
    void print_passed_over(const Question& question, std::size_t number, const char* why) const {
        if (options_.json) return;
        fmt::print("\n{}\n", dim(paragraph(fmt::format("{}. {} ({})", number, question.asks, why), 3)));
    }

    /// Was it answered right before, so that it is passed over? Not if a file of answers has it, or if the
    /// questions are only listed.
    [[nodiscard]] bool is_right_before(const Question& question) const {
        const bool is_answered_now = answers_ ? answers_->count(question.id) > 0 : !is_asking_;
        return !options_.all && !is_answered_now && last_result(progress_, asked_, question) == Result::right;
    }

    /// The question, or its sibling once two answers to it were wrong.
    const Question& now_asked(const Question& question) const {
        const std::string subject = question_subject(asked_.chapter, question);
        const bool is_open = progress_.last_answer(subject) == Step::wrong;
        const Question* const sibling = sibling_of(asked_.questions(), question);
        const bool is_tried = is_open && progress_.wrong_answers(subject) >= kMostTries;
        return sibling && is_tried ? *sibling : question;
    }

    void go_through(Graded& graded, const Question& question, std::size_t number) {
        asked_ids_.insert(question.id);
        const std::optional<QuizEvidence> evidence = evidence_if_here(course_, asked_.chapter, question);
        if (!evidence) {
            graded.result = Result::not_here;
            return;
        }
        graded.question = &question;
        graded.label = evidence->label;
        const bool is_new = evidence->label != label_;
        if (!options_.json)
            print_question(question, number, course_.shown(evidence->path), is_new ? evidence->label : "");
        if (!options_.json && is_new && asked_.exercise && !evidence->live &&
            missing_for_live(*asked_.exercise).empty())
            fmt::print(
                "   {}\n",
                dim(paragraph(
                    fmt::format("To be asked about a run of your own, record it first: ./lab run {}/{}",
                                asked_.chapter.short_id, asked_.exercise->argument()),
                    3)));
        label_ = evidence->label;
        const Note note = [&](Result result) {
            graded.result = result;
            progress_.add_answer(result == Result::right, question_subject(asked_.chapter, question));
        };
        if (is_asking_) {
            has_left_ = !ask_until_right(course_, question, *evidence, note);
        } else if (answers_ && answers_->count(question.id) > 0) {
            note(grade(question, *evidence, answers_->at(question.id)));
            if (!options_.json) print_result(course_, question, *evidence, graded.result);
        }
    }

    const Course& course_;
    const Questionnaire& asked_;
    const Answers* const answers_;  ///< null without a file of them
    const QuizOptions& options_;
    const Progress progress_;
    const bool is_asking_ = !answers_ && !options_.json && is_interactive();
    bool has_left_ = false;
    std::string label_;  ///< where the evidence of the question before is from
    std::vector<Graded> all_;
    std::set<std::string> asked_ids_;
};

std::ptrdiff_t count(const std::vector<Graded>& all, Result result) {
    return std::count_if(all.begin(), all.end(), [&](const Graded& g) { return g.result == result; });
}

nlohmann::ordered_json to_json(const Questionnaire& asked, const std::vector<Graded>& graded) {
    nlohmann::ordered_json all{{"chapter", asked.chapter.id}};
    if (asked.exercise) all["exercise"] = asked.exercise->name;
    for (std::size_t i = 0; i < kResultNames.size(); ++i)
        all[kResultNames[i]] = count(graded, static_cast<Result>(i));
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

/// Is an answer wrong or missing, and was it never right?
bool is_any_open(const Progress& progress, const Questionnaire& asked, const std::vector<Graded>& graded) {
    return std::any_of(graded.begin(), graded.end(), [&](const Graded& g) {
        return (g.result == Result::wrong || g.result == Result::unanswered) &&
               last_result(progress, asked, *g.question) != Result::right;
    });
}

/// The command to go on with. `open`: some answers are wrong or missing.
std::string next_step_after(const Course& course, const Questionnaire& asked, bool open) {
    if (open) return asked.command() + " asks those that are not right yet";
    const Chapter& chapter = asked.chapter;
    const Progress progress = progress_of(course);
    if (asked.exercise && !gpu() && !is_reviewed(progress, *asked.exercise)) {
        const std::string name = chapter.short_id + "/" + asked.exercise->argument();
        const bool is_compiled = !asked.exercise->programs[0].is_python();
        return fmt::format(
            "repair your copy{1}. Then ./lab review {0} asks which recorded answer you'd merge, and {2} says "
            "what it was",
            name, is_compiled ? ": without a GPU, ./lab check " + name + " compiles it" : "",
            unbroken((asked.exercise->folder / "after.md").string()));
    }
    if (asked.exercise) {
        const Done done = progress.exercise(asked.exercise->subjects());
        if (gpu() && done.started && done.checks == 0)
            return fmt::format("./lab check {}/{} once you have repaired your copy", chapter.short_id,
                               asked.exercise->argument());
        return next_step(progress, chapter, *asked.exercise);
    }
    if (asked.purpose == Question::look_first)
        return fmt::format("{}/README.md goes on with the cause, then ./lab run {}", chapter.id,
                           chapter.short_id);
    return next_in_course(course.chapters(), progress);
}

/// Prints how many answers came to which result, and what to do next.
void print_end(const Course& course, const Questionnaire& asked, const std::string& answers_file,
               const std::vector<Graded>& graded) {
    const auto not_here = count(graded, Result::not_here);
    if (not_here > 0)
        fmt::print("\n{}\n",
                   paragraph(fmt::format("{} of {} questions are about runs that nobody has recorded "
                                         "yet; ./lab run {} makes them on a machine with a GPU",
                                         not_here, graded.size(), asked.chapter.short_id)));
    if (not_here == std::ssize(graded)) return;
    if (answers_file.empty() && !is_interactive()) {
        fmt::print(
            "\n{}\n",
            paragraph(fmt::format(
                "The questions are only listed, since this is no terminal. To answer: {} in a "
                "terminal, or --answers FILE (- is standard input) with lines 'question = answer', for "
                "example '{} = ...'",
                asked.command(), asked.questions()[0].id)));
        return;
    }
    fmt::print("\n{} right, {} wrong, {} unanswered\nnext     {}\n", count(graded, Result::right),
               count(graded, Result::wrong), count(graded, Result::unanswered),
               paragraph(next_step_after(course, asked, is_any_open(progress_of(course), asked, graded)), 9));
}

/// The draw of an exercise whose answers these are, if they are not those of the learner's own; 0 if there is
/// none.
int draw_answered(const Course& course, const Questionnaire& asked, const Answers& answers) {
    const Case* const exercise = asked.chapter.exercise(asked.exercise->name);
    for (int draw = 1; const Case* const other = exercise->drawn(draw); ++draw) {
        const auto is_right_there = [&](const Question& q) {
            const auto given = answers.find(q.id);
            if (given == answers.end()) return false;
            const auto evidence = evidence_if_here(course, asked.chapter, q);
            return evidence && is_right(q, evidence->evidence, given->second);
        };
        if (draw != asked.exercise->draw &&
            std::all_of(other->diagnosis.begin(), other->diagnosis.end(), is_right_there))
            return draw;
    }
    return 0;
}

/// An answer that was repaired before its diagnosis was complete has passed now.
void note_passed(const Course& course, const Questionnaire& asked) {
    const Progress progress = progress_of(course);
    if (progress.exercise(asked.exercise->subjects()).repaired &&
        is_diagnosed(progress, asked.chapter, *asked.exercise))
        progress.add(Step::passed, asked.exercise->id);
}

int ask(const QuizOptions& options, Question::Purpose purpose) {
    const Course course = Course::find();
    const Course::Chosen chosen = choose_own(course, options.of);
    const bool is_diagnosis = purpose == Question::diagnosis;
    if (!is_diagnosis && chosen.part)
        throw Error(fmt::format(
            "these questions are a chapter's: ./lab {} {}. ./lab run {} shows the "
            "exercise's starter alone",
            purpose == Question::look_first ? "look" : "quiz", chosen.chapter.short_id, options.of));
    const Questionnaire asked{purpose, chosen.chapter, is_diagnosis ? chosen.part : nullptr};
    if (is_diagnosis) require_exercise(chosen, options.of);
    if (is_diagnosis && asked.exercise->diagnosis.empty())
        throw Error(fmt::format(
            "{0} asks for no diagnosis: ./lab start {0} begins its repair, ./lab check {0} grades it",
            options.of));
    if (asked.questions().empty()) throw Error(fmt::format("{} has no questions", chosen.chapter.short_id));
    std::optional<Answers> answers;
    std::vector<std::string> faults;
    if (!options.answers.empty()) answers = read_answers(options.answers, asked.questions(), faults);
    if (purpose == Question::look_first && !options.json) print_first_program(course, chosen.chapter);
    Round round(course, asked, answers ? &*answers : nullptr, options);
    const std::vector<Graded> graded = round.go();
    for (const std::string& id : round.left_over())
        faults.push_back(
            fmt::format("question '{}' is not asked now: {} lists those that are", id, asked.command()));
    if (is_diagnosis) note_passed(course, asked);
    if (is_diagnosis && answers && asked.exercise->draw > 0 && count(graded, Result::wrong) > 0)
        if (const int other = draw_answered(course, asked, *answers))
            faults.push_back(fmt::format("these are the answers to draw {}, and yours is {}", other,
                                         asked.exercise->draw));
    if (options.json)
        print_json(to_json(asked, graded));
    else
        print_end(course, asked, options.answers, graded);
    if (!faults.empty()) throw Error("not graded:\n" + join(faults, "\n"));
    if (count(graded, Result::wrong) + count(graded, Result::unanswered) > 0) return kFindingFailed;
    return count(graded, Result::not_here) > 0 ? kNothingCouldRun : kFine;
}

void add_questions(Session& session, Question::Purpose purpose, const char* name, const char* what) {
    const auto options = std::make_shared<QuizOptions>();
    Subcommand command(
        session, name, what,
        "On a terminal ? says where to look, an empty line passes a question, and q or Ctrl-D ends. After "
        "two wrong answers to a question another one takes its place, if there is one. A file of answers has "
        "lines 'question = answer': a number with or without its unit, a share as 0.5 or 50%, percent as "
        "2 or 2%, a choice by its letter, a name. What stands behind a # is a comment.\n"
        "Exit codes: 1 an answer is wrong or a question open, 77 only questions without a recorded run are "
        "left.",
        [options, purpose] { return ask(*options, purpose); });
    const bool is_diagnosis = purpose == Question::diagnosis;
    command.argument(is_diagnosis ? "EXERCISE" : "CHAPTER", options->of,
                     is_diagnosis ? kExerciseText : "a chapter (ch05)");
    command.option("--answers", "FILE", options->answers,
                   "grades the answers in this file, or with - those on standard input");
    command.flag("--all", options->all, "asks also what you have answered right already");
    command.flag("--json", options->json, "prints the questions and results as JSON");
}

}  // namespace

void add_look(Session& session) {
    add_questions(session, Question::look_first, "look", "the faulty program alone, and what you see there");
}

void add_quiz(Session& session) {
    add_questions(session, Question::quiz, "quiz", "questions on what the tools saw, graded by query");
}

void add_diagnose(Session& session) {
    add_questions(session, Question::diagnosis, "diagnose",
                  "what is wrong in an exercise: questions, graded");
}

}  // namespace lab
