// Reads what `cuobjdump -res-usage -sass` prints of a program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

/// The machine code of a kernel, with the device functions that it calls.
struct KernelCode {
    std::string kernel;  ///< as nsys has it
    int64_t registers = 0, stack_bytes = 0, shared_bytes = 0, local_bytes = 0;
    std::map<std::string, int64_t> instructions;  ///< how many, by opcode with its modifiers
};

struct MachineCode {
    std::string arch;  ///< "sm_90"
    std::vector<KernelCode> kernels;
};

/// Lines that it does not know are passed over. An Error if there is no machine code, or if a kernel is not
/// whole: nothing may be called absent then.
[[nodiscard]] MachineCode parse_machine_code(std::string_view text);

}  // namespace lab
