// NVTX ranges by NVTX's C++ API: `nvtx3::scoped_range range{"load"}`, and with a colour
// `nvtx3::scoped_range range{"load", nvtx3::rgb{0, 114, 178}}`. Toolkits before 12.9 bring only its C API:
// there, the class and the colour that the course uses stand in, with the same names and meaning. Include it
// behind CUB, which may bring a copy of the C++ API.
#pragma once

#if __has_include(<nvtx3/nvtx3.hpp>)
#include <nvtx3/nvtx3.hpp>
#elif !defined(NVTX3_CPP_DEFINITIONS_V1_0)
#include <nvtx3/nvToolsExt.h>

#include <string>

namespace nvtx3 {

struct rgb {
    unsigned char red, green, blue;
};

/// A range on this thread, from here to the end of the scope.
class scoped_range {
  public:
    explicit scoped_range(const char* name) { nvtxRangePushA(name); }
    explicit scoped_range(const std::string& name) : scoped_range(name.c_str()) {}
    scoped_range(const char* name, rgb colour) {
        nvtxEventAttributes_t attributes{};
        attributes.version = NVTX_VERSION;
        attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        attributes.colorType = NVTX_COLOR_ARGB;
        attributes.color = 0xFF000000u | colour.red << 16 | colour.green << 8 | colour.blue;
        attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
        attributes.message.ascii = name;
        nvtxRangePushEx(&attributes);
    }
    scoped_range(const scoped_range&) = delete;
    scoped_range& operator=(const scoped_range&) = delete;
    ~scoped_range() { nvtxRangePop(); }
};

}  // namespace nvtx3
#endif
