// What every reader of traces does with the records that it has read.
#pragma once

#include <filesystem>
#include <string>

#include "evidence/trace.h"

namespace lab {

/// Puts the records in time order, and refuses what no capture holds: times that run backwards or span more
/// than 73 years, copies of fewer than 0 bytes, more GPUs than a node has. The Error says
/// "`file` is damaged: why. `remedy`".
void check_and_sort(Trace& trace, const std::filesystem::path& file, const std::string& remedy);

}  // namespace lab
