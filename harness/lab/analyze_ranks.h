// lab analyze RANK0 RANK1 ...: the recordings of a distributed job's processes, side by side.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence/processes.h"
#include "lab/report_file.h"

namespace lab {

/// Prints them, and returns the exit code. "" of a range or of a device stands for none.
int analyze_ranks(const std::vector<std::string>& files, const std::string& range, const std::string& device,
                  bool json);

/// An Error names two that are one file, which can't be the recordings of two ranks.
void check_each_once(const std::vector<std::string>& files);

/// What is needed of one rank's recording; errors are those of process_use.
[[nodiscard]] ProcessUse process_of(const std::string& file, const ReportFile& report,
                                    const std::optional<std::string>& range,
                                    const std::optional<int64_t>& device);

/// "not aligned: there is no time at which ...", a sentence; "" if clocks are.
[[nodiscard]] std::string not_aligned_sentence(const Processes& all);

}  // namespace lab
