// A course of one chapter in a temporary folder, and runs of its programs that a test makes up.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "core/files.h"
#include "course/course.h"
#include "evidence/evidence.h"
#include "hand_made_export.h"
#include "tools/evidence_writer.h"

namespace lab {

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// The error that a step ends with; "" if it does not.
template <class Step>
std::string fault_of(const Step& step) {
    try {
        (void)step();
    } catch (const Error& problem) {
        return problem.what();
    }
    return "";
}

/// What a run of a program did: its kernels run one after the other within an NVTX range.
struct MadeRun {
    int kernels = 1, streams = 1, exit_code = 0;
    std::string printed = "";
    bool whole = true;  ///< nsys dropped no record
};

inline void write_run(const MadeRun& made, const fs::path& path, Provenance provenance = {},
                      bool traced = true) {
    const TemporaryFolder folder;
    const fs::path exported = folder.path() / "export.sqlite";
    if (traced) {
        HandMadeExport trace(exported);
        trace.add(HandMadeExport::RangeRow{.start = 0, .end = 1000, .name = "work"});
        trace.add(HandMadeExport::CallRow{.start = 1, .end = 2, .correlation = 0});
        for (int i = 0; i < made.kernels; ++i)
            trace.launch(10 + 2 * i, {100 + 20 * i, 110 + 20 * i, i + 1, 7 + i % made.streams});
        if (!made.whole) trace.add_diagnostic("5 events were dropped.");
    }
    RunRecord run;
    if (traced) run.nsys = NsysRun{"", exported, ""};
    run.exit_code = made.exit_code, run.out = made.printed;
    run.provenance = std::move(provenance);
    run.provenance["gpu"] = "NVIDIA H200", run.provenance["date"] = "2026-11-20T05:24:41Z";
    write_evidence(run, path);
}

constexpr const char* kMadeChapter = R"(title = "Streams"
question = "What runs at once?"
minutes = 75
objectives = ["one", "two"]
headline = "streams"

[[quiz]]
id = "how_many"
asks = "How many kernels?"
look = "At the rows."
case = "cut"
side = "solution"
sql = "SELECT COUNT(*) FROM kernels"
)";

constexpr const char* kMadePair = R"(range = "work"
arguments = ["--count", "5"]
check_arguments = ["--count", "2"]

[[recording]]
name = "once"
says = "each kernel once"
arguments = ["--repetitions", "1"]

[[finding]]
id = "streams"
says = "streams that carry kernels"
sql = "SELECT COUNT(DISTINCT stream) FROM kernels"
buggy = "== 1"
fixed = "== 2"

[shown]
span = { says = "span", unit = "ms", metric = "span_ms" }
once = { says = "printed", recording = "once", sql = "SELECT stdout FROM PROGRAM" }
)";

constexpr const char* kMadeExercise = R"(title = "Cut it up"
minutes = 15
objective = "Cut the work up."
hints = ["think", "look"]
starter_fails = ["kernels"]

[[finding]]
id = "kernels"
says = "kernels"
sql = "SELECT COUNT(*) FROM kernels"
starter = "== 1"
solution = "> 1"
)";

/// The pair ch01_made and its exercise `cut`. Sources stay within a line, so that a patch is short.
class MadeCourse {
  public:
    MadeCourse() {
        write("lab", "");
        write("common/nvcc.flags", "-std=c++17\n\n  -lineinfo  \n");
        write("ch01_made/chapter.toml", kMadeChapter);
        write("ch01_made/case.toml", kMadePair);
        write("ch01_made/buggy.cu", "int kernels = 1;\n");
        write("ch01_made/fixed.cu", "int kernels = 2;\n");
        write(kExercise + "/case.toml", kMadeExercise);
        write(kExercise + "/starter.cu", "int kernels = 1;\n");
        write(kExercise + "/solution.cu", "int kernels = 2;\n");
        write_patch("lost", "kernels", 0);
        write_patch("wrong_sum", "answer", 3);
    }

    void write(const fs::path& file, const std::string& text) const { write_file(root() / file, text); }

    /// A wrong answer that makes of the starter a program of so many kernels.
    void write_patch(const std::string& name, const std::string& fails, int kernels) const {
        write(kExercise + "/wrong/" + name + ".patch",
              fmt::format("fails: {}\nwhy: It is\nwrong.\n--- starter.cu\n+++ {}.cu\n@@ -1 +1 @@\n-int "
                          "kernels = 1;\n+int kernels = {};\n",
                          fails, name, kernels));
    }

    /// Replaces a text in a file, which must hold it.
    void replace(const fs::path& file, const std::string& from, const std::string& to) const {
        std::string text = read_file(root() / file);
        const std::size_t at = text.find(from);
        REQUIRE(at != std::string::npos);
        write(file, text.replace(at, from.size(), to));
    }

    /// Records a program in all its recordings, from its source as it is now.
    void record(const Program& program, const MadeRun& run) const {
        for (const Program& each : all_recordings(program)) {
            Provenance provenance{{"recording", recording_text(each)}};
            add_fingerprint(course, each, "", provenance);
            write_run(run, root() / each.evidence_folder / "h200" / each.evidence_name(), provenance,
                      each.traced);
        }
    }

    /// Records every program so that every claim of the chapter holds.
    void record_all() const {
        const Chapter chapter = read();
        const Case& cut = chapter.exercises[0];
        record(chapter.pair.programs[0], {.kernels = 4, .printed = "1 ms"});
        record(chapter.pair.programs[1], {.kernels = 4, .streams = 2, .printed = "1 ms"});
        record(cut.programs[0], {.kernels = 1});
        record(cut.programs[1], {.kernels = 2});
        record(cut.wrong[0].program, {.kernels = 0});
        record(cut.wrong[1].program, {.kernels = 3, .exit_code = 1});
    }

    [[nodiscard]] const fs::path& root() const { return folder_.path(); }
    [[nodiscard]] Chapter read() const { return read_chapter(root(), "ch01_made"); }

    inline static const std::string kExercise = "ch01_made/exercises/1_cut";

  private:
    TemporaryFolder folder_;

  public:
    Course course{folder_.path()};
};

}  // namespace lab
