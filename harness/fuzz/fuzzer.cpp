// What libFuzzer calls: one program a target, which LAB_FUZZ_TARGET names.
#include <cstddef>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, std::size_t size) {
    lab::fuzz::LAB_FUZZ_TARGET({reinterpret_cast<const char*>(bytes), size});
    return 0;
}
