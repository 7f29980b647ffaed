// Reads what cuda-gdb prints of a GPU core dump, which the driver writes when a kernel faults.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lab {

/// The fault that ended a program, as the GPU noted it.
struct CoreDump {
    std::string exception;  ///< "Warp Illegal Address"
    std::string function;   ///< the kernel, as nsys has it; empty if unknown
    std::string file;       ///< file name without folders; empty without line information
    int64_t line = 0;       ///< of the instruction that faulted, or of the frame if that is unknown; else 0
    int64_t grid = 0;       ///< the driver's number of the launch
    std::array<int64_t, 3> block{}, thread{};  ///< first thread of the warp that faulted: x, y, z
    std::string text = {};                     ///< as printed
};

/// An Error if the text names no exception or no block: the dump is not whole, or not of a fault.
[[nodiscard]] CoreDump parse_core_dump(std::string_view text);

}  // namespace lab
