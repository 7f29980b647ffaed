// A report that the user names, opened for questions: an .sqlite as it is, an .nsys-rep through nsys.
#pragma once

#include <memory>
#include <string>

#include "core/files.h"
#include "evidence/evidence.h"
#include "tools/recorder.h"

namespace lab {

/// What the help of a command says of its argument FILE, and of its option --range.
inline constexpr const char* kReportText = "an .nsys-rep, or the .sqlite that nsys exports from it";
inline constexpr const char* kRangeText = "only the work launched in NVTX ranges of this name";

/// What a command asks of a report.
enum class Holds { a_trace, anything };

/// An opened report. What was made to open it goes with it.
class ReportFile {
  public:
    /// An .nsys-rep is exported to a temporary folder: nsys would silently take an old .sqlite beside it. An
    /// Error says why the file is of no use.
    ReportFile(const std::string& file, const Announce& announce, Holds holds = Holds::a_trace);

    /// Opened; with a trace, unless anything will do.
    [[nodiscard]] const Evidence& evidence() const { return *evidence_; }

    /// Where the numbers are from: "recorded · ..." with the course, "live · ..." here; "" of a report that
    /// is not the course's own.
    [[nodiscard]] const std::string& label() const { return label_; }

  private:
    TemporaryFolder scratch_;
    std::unique_ptr<Evidence> evidence_;
    std::string label_;
};

}  // namespace lab
