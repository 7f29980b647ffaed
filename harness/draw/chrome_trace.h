// A capture in the Chrome trace-event format, which https://ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <ostream>

#include "evidence/trace.h"

namespace lab {

/// A process for each GPU with a thread a stream, and one for each host process with its CUDA calls and NVTX
/// ranges; an arrow leads from each call to the GPU work it launched. Time 0 is the first event. What a
/// format of nested boxes cannot hold, such as kernels of one stream that overlap, goes to a further thread.
void write_chrome_trace(const Trace& trace, std::ostream& out);

}  // namespace lab
