// A program of the course, and how it is built and recorded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lab {

/// A further way to record a program, with an evidence file of its own.
struct Recording {
    std::string name, says;  ///< as findings call it ("" for the plain one), and what it is for
    std::vector<std::string> nsys_options = {};  ///< for `nsys profile`, after the course's own
    std::vector<std::string> arguments = {};     ///< for the program, which then also runs by itself
    std::vector<std::string> gpu_metrics = {};   ///< what nsys samples: metrics whose names begin so
    bool draft = false;                          ///< it may be missing: it has not been made on a GPU yet

    /// Does nsys run, or is the program only run with other arguments?
    [[nodiscard]] bool traces() const { return !nsys_options.empty() || !gpu_metrics.empty(); }
};

/// Paths are relative to the repository's root.
struct Program {
    std::string name;            ///< "buggy", "fixed", "starter", "solution", or a wrong answer's name
    std::filesystem::path file;  ///< what a person edits: a .cu, a .py, or the .patch of a wrong answer
    std::filesystem::path base;  ///< the .cu that the patch changes; empty without a patch
    std::filesystem::path evidence_folder;  ///< holds a folder for each kind of GPU, such as h200
    std::vector<std::string> libraries;     ///< of Python, that a .py imports: "cupy"; none for CUDA C++
    std::vector<std::string> flags;         ///< for nvcc, beside the course's own: nvcc.flags of its folder
    std::vector<std::string> arguments;     ///< for every recording; the lesson's sizes are the defaults
    std::vector<std::string> check_arguments;  ///< smaller sizes for compute-sanitizer, which slows kernels
    std::vector<std::string> sanitizers;       ///< the tools of compute-sanitizer that findings need
    std::vector<std::string> ncu_metrics;      ///< metrics that findings need
    std::vector<std::string> ncu_options;      ///< for ncu, beside them: which kernels, which sections
    std::vector<std::string> ncu_details;  ///< for ncu: whose sections and source lines are recorded; or none
    std::vector<std::string>
        outputs;         ///< shown on pages: "nsys stats OPTIONS", "nsys analyze …", "memcheck" …
    bool traced = true;  ///< nsys records it, or it does so itself
    bool profiles_itself = false;  ///< torch.profiler in it writes its trace to the file behind --trace
    bool code = false;             ///< findings ask for its machine code
    bool dump = false;             ///< findings ask for the GPU core dump that it leaves
    int draw = 0;                  ///< of an exercise whose fault is drawn, from 1; 0 for every other program
    Recording recording;           ///< how this one is recorded
    std::vector<Recording> further;  ///< more recordings of the same binary

    [[nodiscard]] bool is_python() const { return !libraries.empty(); }

    /// Its file, with ":2" for a draw: one program is recorded once for each.
    [[nodiscard]] std::string id() const;

    /// ".sqlite", ".once.sqlite" for a further recording, ".draw2.sqlite" for a draw.
    [[nodiscard]] std::string evidence_extension() const;

    /// "buggy.sqlite", or "buggy.once.sqlite" for a further recording. Other answers than the solution are in
    /// a folder "answers": their names would tell what to look for to whoever looks for the starter's.
    [[nodiscard]] std::string evidence_name() const {
        return (base.empty() ? "" : "answers/") + name + evidence_extension();
    }

    /// This program as a further recording makes it: with its options behind the plain recording's, with
    /// metrics of its own, and in an evidence file of its own.
    [[nodiscard]] Program recorded_as(const Recording& other) const;

    /// The further recording of this name; nullptr if there is none.
    [[nodiscard]] const Recording* recording_called(const std::string& other) const;

    /// The program's arguments, followed by those of its recording.
    [[nodiscard]] std::vector<std::string> run_arguments() const;
};

/// The program and its further recordings, as programs to record.
[[nodiscard]] std::vector<Program> all_recordings(const Program& program);

}  // namespace lab
