// NVTX ranges by NVTX's C++ API. Toolkits before 12.9 bring only its C API: there, the one class that the
// course uses stands in, with the same name and meaning.
#pragma once

#if __has_include(<nvtx3/nvtx3.hpp>)
#include <nvtx3/nvtx3.hpp>
#elif !defined(NVTX3_CPP_DEFINITIONS_V1_0)  // CUB may have brought a copy of that API
#include <nvtx3/nvToolsExt.h>

#include <string>

namespace nvtx3 {

/// A range on this thread, from here to the end of the scope.
class scoped_range {
  public:
    explicit scoped_range(const char* name) { nvtxRangePushA(name); }
    explicit scoped_range(const std::string& name) : scoped_range(name.c_str()) {}
    scoped_range(const scoped_range&) = delete;
    scoped_range& operator=(const scoped_range&) = delete;
    ~scoped_range() { nvtxRangePop(); }
};

}  // namespace nvtx3
#endif
