// A report that the user names, opened for questions: an .sqlite as it is, an .nsys-rep through nsys.
#pragma once

#include <memory>
#include <string>

#include "core/files.h"
#include "course/recorder.h"
#include "evidence/evidence.h"

namespace lab {

class ReportFile {
  public:
    /// The export of an .nsys-rep is made in a temporary folder: nsys would silently take an old .sqlite
    /// beside it.
    ReportFile(const std::string& file, const Announce& announce);

    [[nodiscard]] const Evidence& evidence() const { return *evidence_; }

  private:
    TemporaryFolder scratch_;
    std::unique_ptr<Evidence> evidence_;
};

}  // namespace lab
