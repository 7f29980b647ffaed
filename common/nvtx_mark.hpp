// An instant with a number, by NVTX's C++ API: `nvtx3::mark("ready", category, nvtx3::payload{batch})`, with
// a `nvtx3::named_category category{1, "loader"}`. For toolkits before 12.9 it stands in as common/nvtx.hpp
// does.
#pragma once

#include <cstdint>

#include "common/nvtx.hpp"

#if !__has_include(<nvtx3/nvtx3.hpp>) && !defined(NVTX3_CPP_DEFINITIONS_V1_0)
namespace nvtx3 {

struct payload {
    uint64_t value;
};

struct named_category {
    uint32_t id;
    named_category(uint32_t number, const char* name) : id(number) { nvtxNameCategoryA(number, name); }
};

inline void mark(const char* name, const named_category& category, payload number) {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.category = category.id;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    attributes.payload.ullValue = number.value;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxMarkEx(&attributes);
}

}  // namespace nvtx3
#endif
