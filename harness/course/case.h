// A case: one program, or two side by side, and what is asked of them. It is a folder with a case.toml:
//
//   ch05_streams/                          the pair: buggy.cu and fixed.cu
//   ch05_streams/exercises/4_seismometers/   an exercise: starter.cu and solution.cu, and wrong/*.patch
//   ch07_roofline/ceilings/                a single program: ceilings.cu
//   ch05_streams/python/                   the pair once more in Python: buggy.py and fixed.py
//   ch05_streams/python/numba/             one more pair in Python
//
// docs/contributing.md lists the keys of case.toml.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/expectation.h"
#include "evidence/question.h"
#include "tools/program.h"

namespace lab {

/// The programs of a case by index: buggy and fixed, or starter and solution. A single program is the first.
inline constexpr std::size_t kFaulty = 0, kRight = 1;

/// In place of an expectation of the right program: the finding is about the faulty one alone.
inline constexpr const char* kAny = "any";

/// What is expected of one program's value divided by the other's, both recorded on the same machine.
struct Ratio {
    std::size_t divisor = kFaulty;
    Expectation expected;
};

/// One claim about the programs of a case, or a number that is only shown.
struct Finding {
    std::string id, says, unit;
    std::string recording;  ///< "" for the plain one
    Query query;
    std::array<std::optional<Expectation>, 2> expect;  ///< of the case's programs, if it asserts something
    std::optional<Ratio> ratio;                        ///< in place of the two expectations
    double margin = 0;                                 ///< relative; above 0 for a ratio of measured times
    bool key = false;                                  ///< one of the few rows to look at first
    bool may_be_missing = false;                       ///< it is shown, and may have no value
    bool draft = false;      ///< its recording is a draft: until that is made, nothing is judged by it
    bool may_fail = false;   ///< it is about a program that may have failed in its recording
    std::vector<int> draws;  ///< of an unknown exercise: whose starter shows it; all if none is named
    std::string where;       ///< "ch05_streams/case.toml:12"

    /// Does it demand anything, or is it only shown?
    [[nodiscard]] bool asserted() const { return asserts(0) || asserts(1); }

    /// Does it demand anything of this program?
    [[nodiscard]] bool asserts(std::size_t side) const {
        return expect[side].has_value() || ratio.has_value();
    }
};

/// Points of a roofline. A row of the query is a point: name, FLOP, bytes and seconds.
struct PointQuery {
    std::size_t side = 0;            ///< which of the case's programs
    std::string bandwidth, compute;  ///< names of the roofs that limit the points
    Query query;
    std::string where;
};

/// A committed answer to an exercise, a patch of its starter or its solution.
struct Answer {
    Program program;
    std::vector<std::string> fails;  ///< findings that reject it; none if it is right and must be accepted
    std::string why;                 ///< it is wrong, or how it differs from the solution
};

enum class CaseKind { pair, exercise, single, python };

/// guided: the starter marks the place. find: nothing does, and the diagnosis is asked. unknown: the fault is
/// drawn as well.
enum class ExerciseKind { guided, find, unknown };
[[nodiscard]] const char* to_string(ExerciseKind kind);

/// A question whose right answer is computed from evidence: a number, one of some choices, or a name as the
/// tools write it.
struct Question {
    /// look: about the slow program, before anything is explained. diagnosis: of an exercise.
    enum Purpose { quiz, look_first, diagnosis };

    Purpose purpose = quiz;
    std::string id, asks, look;  ///< `look`: where to find the answer, shown after a wrong one
    std::string why;             ///< a sentence that is shown after the right answer
    std::string instead_of;      ///< asked after two wrong answers to the question with this id; "" if not
    std::string about;           ///< the case whose evidence answers it; "" for the pair
    std::size_t side = 0;        ///< which of the case's programs
    std::string recording;       ///< "" for the plain one
    Query query;
    std::string unit;
    double tolerance = 0;              ///< relative, for a number
    bool wants_text = false;           ///< a name: of a kernel, a call, a line
    std::vector<std::string> choices;  ///< if not empty, the answer is the number (from 1) of a choice
    std::string where;                 ///< "ch05_streams/chapter.toml:12"
};

struct Case {
    CaseKind kind = CaseKind::pair;
    std::string id;    ///< "ch05_streams", "ch05_streams/seismometers" or "ch07_roofline/ceilings"
    std::string name;  ///< "seismometers", "python/numba"; the pair's is the chapter's: "ch05_streams"
    int number = 0;    ///< of an exercise
    int draw = 0;      ///< of an unknown exercise, from 1; its id is then "ch05_streams/frames:1"
    std::vector<std::string> formerly;  ///< earlier names of an exercise, which commands and progress know
    std::filesystem::path folder;
    std::filesystem::path page;  ///< of a single case: the page that it's a part of
    std::string title;
    bool draft = false;                ///< some of it has not been recorded on a GPU yet
    bool optional = false;             ///< no command says to do it next
    int gpus = 1;                      ///< that its programs need
    std::optional<std::string> range;  ///< the NVTX range that pictures show; the whole capture if none
    std::string range_where;           ///< "ch05_streams/case.toml:1"
    std::string with;                  ///< common table expressions of all its queries: "name AS (...)"
    std::vector<Program> programs;     ///< the faulty one and the right one; of a single case, one
    std::vector<Finding> findings;     ///< the program's own answer first, what is shown last
    std::vector<std::string>
        first_reports;  ///< tools of compute-sanitizer that must report the first program
    std::vector<PointQuery> points;
    std::vector<std::string> bandwidths, computes;  ///< the roofs that this program measures, for rooflines

    // Of an exercise:
    ExerciseKind exercise_kind = ExerciseKind::guided;
    int minutes = 0;
    std::string objective;
    std::vector<std::string> hints;          ///< each says more than the one before
    std::vector<std::string> starter_fails;  ///< the findings that the untouched starter fails
    std::vector<Question> diagnosis;         ///< about the starter, to be answered besides the repair
    std::vector<Answer> wrong, right;
    std::vector<Case> further_draws;  ///< the same source with other arguments, and so another fault

    /// Its name as commands take it behind the chapter: "seismometers", or "frames:2" of a draw.
    [[nodiscard]] std::string argument() const;

    /// What progress calls the exercise: its id, and the ids that its earlier names made.
    [[nodiscard]] std::vector<std::string> subjects() const;

    /// The exercise by its draw, from 1; null if there is no such draw.
    [[nodiscard]] const Case* drawn(int number) const;

    /// The tools that its findings need.
    [[nodiscard]] Needs needs() const;

    /// Is any of ncu's pages asked about an answer? Else they are recorded of the case's own programs alone.
    [[nodiscard]] bool asks_details_of_answers() const;

    /// By id; null if there is none.
    [[nodiscard]] const Finding* finding(const std::string& finding_id) const;

    /// What a finding says, with the name of a further recording: "kernels (recording nvtx)".
    [[nodiscard]] std::string said_by(const Finding& finding) const;

    /// "fixed / buggy >= 4", for a finding with a ratio.
    [[nodiscard]] std::string text_of(const Ratio& ratio) const;

    /// Does a finding compare the two programs?
    [[nodiscard]] bool compares() const;

    /// Its programs and wrong answers.
    [[nodiscard]] std::vector<Program> all_programs() const;
};

/// The tools of a live run for these needs: "nsys", "ncu", "compute-sanitizer".
[[nodiscard]] std::vector<std::string> tools_for(const Needs& needs);

/// Reads a folder's case.toml, nvcc.flags and wrong/*.patch. `chapter` is the chapter's folder and id. Errors
/// name file and line.
[[nodiscard]] Case read_case(const std::filesystem::path& root, const std::string& chapter,
                             const std::filesystem::path& folder);

class TomlReader;

/// Reads `sql` or `metric`, and `range`. Without a range the case's own is taken, and "" is the whole
/// capture. An Error says why a question cannot be asked.
[[nodiscard]] Query read_query(TomlReader& toml, const Case& of, const std::string& recording);

/// Reads `side`: which of the case's programs.
[[nodiscard]] std::size_t read_side(TomlReader& toml, const Case& of);

/// Reads a question about a case. One of the quiz says which of two programs it is about; the others are
/// about the first.
[[nodiscard]] Question read_question(TomlReader& toml, const Case& about, Question::Purpose purpose);

/// Adds `question`, unless its id is taken already.
void add_question(std::vector<Question>& all, Question question, const TomlReader& toml);

}  // namespace lab
