// What a user names: a report, opened for questions (an .sqlite as it is, an .nsys-rep through nsys), or a
// program of the course.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/files.h"
#include "course/course.h"
#include "evidence/evidence.h"
#include "tools/recorder.h"

namespace lab {

/// What the help of a command says of its argument FILE, and of its option --range.
inline constexpr const char* kReportText = "an .nsys-rep, or the .sqlite that nsys exports from it";
inline constexpr const char* kRangeText = "only the work launched in NVTX ranges of this name";

/// An opened report. What was made to open it goes with it.
struct ReportFile {
    std::unique_ptr<TemporaryFolder> scratch;
    Evidence evidence;
    std::string label;  ///< the source label of the course's own evidence; "" of another report
};

/// Opens a report; an Error says why it cannot be used, as where it holds no trace and `needs_trace`. An
/// .nsys-rep is exported to a temporary folder: nsys would silently take an old .sqlite beside it.
[[nodiscard]] ReportFile open_report(const std::string& file, const Announce& announce, bool needs_trace);

/// No picture takes the place of a report, or of another picture: an Error names the two. "" stands for none.
void check_outputs(const std::vector<fs::path>& reports, const std::vector<fs::path>& pictures);

/// "not recorded: CPU samples, GPU metrics (docs/nsys.md: how to)", as a line; "" if a trace has it all.
[[nodiscard]] std::string not_recorded_line(const Trace& trace);

/// A program by "ch05/buggy", "ch05/vector_add_pipeline/starter" or "ch07/ceilings", a companion. An Error
/// names the programs that there are if the name is of no program.
[[nodiscard]] Program program_of_course(const Course& course, const std::string& name);

/// A sentence that names the command which shows what was recorded of the program, behind a blank; "" if
/// nothing was.
[[nodiscard]] std::string recorded_of(const Course& course, const Program& program);

}  // namespace lab
