// What a user names: a report, opened for questions (an .sqlite and the JSON of torch.profiler as they are,
// an .nsys-rep through nsys), or a program of the course.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "course/course.h"
#include "evidence/evidence.h"

namespace lab {

/// What the help of a command says of its argument FILE, and of its option --range.
inline constexpr const char* kReportText =
    "an .nsys-rep, the .sqlite that nsys exports from it, or the .json or .json.gz of torch.profiler";
inline constexpr const char* kRangeText =
    "only the work launched in NVTX ranges, or PyTorch's annotations, of this name";

inline constexpr const char* kDeviceText = "only this GPU, by its number in the report";

/// The GPU that --device names; nothing for "". An Error says what is expected if it is no number.
[[nodiscard]] std::optional<int64_t> gpu_number(const std::string& text);

/// An opened report. What was made to open it goes with it.
struct ReportFile {
    std::unique_ptr<TemporaryFolder> scratch;
    std::optional<Evidence> evidence;  ///< an export of nsys, or evidence of the course
    std::optional<Trace> kineto;       ///< or what torch.profiler wrote: one of the two is there
    std::string label;  ///< the source label of the course's own evidence; "" of another report

    [[nodiscard]] bool has_trace() const { return kineto || evidence->has_trace(); }
    [[nodiscard]] const Trace& trace() const { return kineto ? *kineto : evidence->trace(); }
};

/// An Error if there is no such file, which names the nearest one beside it, or if it is a folder.
void check_file(const std::string& file);

/// The .sqlite with what was recorded of the same run, if it lies beside `report`; else "".
[[nodiscard]] std::string exported_beside(const fs::path& report);

/// Opens a report; an Error says why it cannot be used, as where it holds no trace and `needs_trace`. What
/// torch.profiler wrote is known by what it begins with, whatever its name. An .nsys-rep is exported to a
/// temporary folder: nsys would silently take an old .sqlite beside it.
[[nodiscard]] ReportFile open_report(const std::string& file, bool needs_trace);

/// No picture takes the place of a report, or of another picture: an Error names the two. "" stands for none.
void check_outputs(const std::vector<fs::path>& reports, const std::vector<fs::path>& pictures);

/// "not recorded: CPU samples, GPU metrics (docs/nsys.md: how to)", as a line; "" if a trace has it all. Of
/// a trace of torch.profiler it says what such a file never holds.
[[nodiscard]] std::string not_recorded_line(const Trace& trace);

/// A sentence that the tool slowed parts of graphs down, as it recorded each node; "" if it did not.
[[nodiscard]] std::string slower_graphs(const Trace& trace);

/// A program by "ch05/buggy", "ch05/vector_add_pipeline/starter" or "ch07/ceilings", a companion. An Error
/// names the programs that there are if the name is of no program.
[[nodiscard]] Program program_of_course(const Course& course, const std::string& name);

/// A sentence that names the command which shows what was recorded of the program, behind a blank; "" if
/// nothing was.
[[nodiscard]] std::string recorded_of(const Course& course, const Program& program);

}  // namespace lab
