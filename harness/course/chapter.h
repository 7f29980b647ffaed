// chapter.toml, the one place for the facts of a chapter, as plain structs.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/expectation.h"

namespace lab {

/// A way to record a program, beside the plain one: its own evidence file.
struct Recording {
    std::string name, says;  ///< as findings call it ("" for the plain one), and what it is for
    std::vector<std::string> nsys_options = {};  ///< for `nsys profile`, after the course's own
    std::vector<std::string> arguments = {};     ///< for the program, which then also runs by itself
};

/// A program and how it is built and run. Paths are relative to the repository's root.
struct Program {
    std::string name;  ///< "buggy", "fixed", "starter", "solution", or a wrong answer's file name
    std::filesystem::path source;
    std::filesystem::path evidence_folder;     ///< holds a folder for each kind of GPU, such as h200
    std::string evidence_name;                 ///< file name of the recorded run in it
    std::vector<std::string> flags;            ///< for nvcc, beside the course's own
    bool library = false;                      ///< its file holds a library too, which it opens at run time
    std::vector<std::string> arguments;        ///< for every recording; the lesson's sizes are the defaults
    std::vector<std::string> check_arguments;  ///< smaller sizes for compute-sanitizer, which slows kernels
    std::vector<std::string> sanitizers;       ///< of kSanitizerTools, those that findings need
    std::vector<std::string> ncu_metrics;      ///< metrics that findings need
    std::vector<std::string> ncu_options;      ///< for ncu, beside them: which kernels, which sections
    std::vector<std::string> gpu_metrics;      ///< what nsys samples on the GPU; a metric's name begins so
    bool traced = true;                        ///< nsys records it
    Recording recording;                       ///< how this one is recorded
    std::vector<Recording> further;            ///< more recordings of the same binary

    /// This program as a further recording makes it: with its options, in an evidence file of its own.
    /// Without words for nsys it is only run, with other arguments.
    [[nodiscard]] Program recorded_as(const Recording& other) const;

    /// The further recording of this name; nullptr if there is none.
    [[nodiscard]] const Recording* recording_called(const std::string& other) const;

    /// What it is run with: its arguments, and behind them those of its recording.
    [[nodiscard]] std::vector<std::string> run_arguments() const;
};

/// The program and its further recordings, as programs to record.
[[nodiscard]] std::vector<Program> all_recordings(const Program& program);

/// structure holds on every GPU; ratio compares with a margin; time is shown only.
enum class FindingKind { structure, ratio, time };

/// What is expected of one program's value, divided by the other's, when both were recorded in one go.
struct Quotient {
    std::size_t over = 0;  ///< which side's value is the divisor
    Expectation expected;
};

/// One claim about both programs of a case.
struct Finding {
    std::string id, says, unit;
    FindingKind kind = FindingKind::structure;
    std::string recording;                             ///< the recording it is asked of; "" for the plain one
    std::optional<std::string> range;                  ///< the NVTX range that the question is narrowed to
    std::string sql, metric;                           ///< exactly one of them is not empty
    std::array<std::optional<Expectation>, 2> expect;  ///< for the case's two programs; none for a time
    std::optional<Quotient> quotient;                  ///< in place of the two expectations
    double margin = 0;                                 ///< relative, for a ratio

    /// Does it demand anything? A time is only shown.
    [[nodiscard]] bool asserted() const { return expect[0].has_value() || quotient.has_value(); }
};

/// A buggy-then-fixed pair or a starter and its solution: two programs under the same questions.
struct Case {
    std::string id;  ///< "ch05_streams" or "ch05_streams/vector_add_pipeline"
    std::string title;
    std::optional<std::string> range;  ///< the NVTX range that pictures show; the whole capture if none
    std::vector<std::string> needs;  ///< tools without which nothing can be said live: kTools of chapter.cpp
    std::array<Program, 2> programs;
    std::vector<Finding> findings;
    /// Tools of compute-sanitizer that report something about the first program, since its fault is the
    /// lesson, although no finding asks them. The others find nothing, unless findings ask some.
    std::vector<std::string> first_reports;

    /// What a finding says, and of which recording if not of the plain one: "kernels (recording `nvtx`)".
    [[nodiscard]] std::string said_by(const Finding& finding) const;

    /// What the further recordings are for that findings are asked of, as "nvtx: the range steady".
    [[nodiscard]] std::vector<std::string> recordings_in_use() const;

    /// "fixed / buggy >= 4", for a finding with a quotient.
    [[nodiscard]] std::string text_of(const Quotient& quotient) const;
};

/// A program beside the pair, with questions of its own: one that measures the roofs, for example.
struct Companion {
    Program program;
    std::string says;  ///< what it is for
    std::vector<std::string> needs;
    std::vector<Finding> findings;  ///< what both sides expect is the same
    /// Names in its view `roofs` of those that a roofline shows, the first one the one it is about.
    std::vector<std::string> bandwidths, computes;
};

/// Points of the chapter's roofline: a query whose rows are name, FLOP, bytes and seconds of one.
struct PointQuery {
    std::string exercise;                    ///< whose evidence; "" for the pair
    std::size_t side = 0;                    ///< which of the case's two programs
    std::size_t bandwidth = 0, compute = 0;  ///< the companion's roofs that the points are held against
    std::optional<std::string> range;
    std::string sql;
};

/// A starter to put right, and its solution.
struct Exercise {
    int number = 0;
    std::string name;  ///< without its number: "vector_add_pipeline"
    std::filesystem::path folder;
    int minutes = 0;
    std::string objective;
    std::vector<std::string> hints;          ///< in rising order
    std::vector<std::string> starter_fails;  ///< the stated reason: findings that the untouched starter fails
    Case programs;
};

/// A question whose right answer is computed from evidence.
struct Question {
    std::string id, asks, look;  ///< `look`: where on the timeline to find it, shown after a wrong answer
    std::string exercise;        ///< whose evidence; "" for the pair, or for a companion
    std::string companion;       ///< whose evidence, if it is a companion's
    std::size_t side = 0;        ///< which of the case's two programs
    std::string recording;       ///< the recording it is asked of; "" for the plain one
    std::optional<std::string> range;
    std::string sql, metric;
    std::string unit;
    double tolerance = 0;              ///< relative, for a number
    std::vector<std::string> choices;  ///< if not empty, the answer is the number (from 1) of a choice
};

/// "ch05" of "ch05_streams".
[[nodiscard]] std::string short_chapter_id(const std::string& id);

/// All of a chapter.toml.
struct Chapter {
    std::string id;        ///< the folder: "ch05_streams"
    std::string short_id;  ///< "ch05"
    std::filesystem::path folder;
    std::string title, question;
    int minutes = 0;
    bool draft = false;  ///< not all of it has been recorded on a GPU, so what it says is not proven yet
    std::vector<std::string> objectives, needs;
    std::string headline;  ///< the finding of the pair that the course's table of chapters shows; "" if none
    Case pair;
    std::vector<Companion> companions;
    std::vector<Exercise> exercises;
    std::vector<PointQuery> points;
    std::vector<Question> quiz;

    /// By name; null if there is none.
    [[nodiscard]] const Exercise* exercise(const std::string& name) const;
    [[nodiscard]] const Companion* companion(const std::string& name) const;

    /// The companion that measures roofs; null if there is none.
    [[nodiscard]] const Companion* measures_roofs() const;

    /// The minutes of all exercises together.
    [[nodiscard]] int exercise_minutes() const;

    /// The program whose evidence a question of the quiz, or a point of the roofline, is about.
    [[nodiscard]] Program program_of(const Question& asked) const;
    [[nodiscard]] const Program& program_of(const PointQuery& points) const;
};

/// A committed answer to an exercise that must be rejected.
struct WrongAnswer {
    std::string exercise, why;
    std::vector<std::string> fails;  ///< findings that reject it
    Program program;
};

/// Reads a chapter's folder. Errors name file, line and key; a key that nobody reads is one of them.
[[nodiscard]] Chapter read_chapter(const std::filesystem::path& root, const std::string& folder);

/// The chapter's wrong answers from harness/tests/wrong/<chapter>/wrong.toml.
[[nodiscard]] std::vector<WrongAnswer> read_wrong_answers(const std::filesystem::path& root,
                                                          const Chapter& chapter);

}  // namespace lab
