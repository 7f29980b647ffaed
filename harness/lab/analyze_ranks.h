// lab analyze RANK0 RANK1 ...: the recordings of a distributed job's processes, side by side.
#pragma once

#include <string>
#include <vector>

namespace lab {

/// Prints them, and returns the exit code. "" of a range or of a device stands for none.
int analyze_ranks(const std::vector<std::string>& files, const std::string& range, const std::string& device,
                  bool json);

}  // namespace lab
