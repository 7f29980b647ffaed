// A capture in the Chrome trace-event format, which https://ui.perfetto.dev and chrome://tracing open, in the
// words of Kineto, so that what reads traces of torch.profiler reads it: Holistic Trace Analysis, for one,
// and lab.
#pragma once

#include <ostream>

#include "evidence/trace.h"

namespace lab {

/// A process for each GPU with a thread a stream, and one for each host process with its CUDA calls and NVTX
/// ranges; an arrow leads from each call to the GPU work it launched. Time 0 is the first event. What a
/// format of nested boxes cannot hold, such as kernels of one stream that overlap, goes to a further thread.
/// read_kineto_trace() gives the same analysis of it, if one process made the calls: Kineto has no words for
/// what a call returned, for a range's domain and for ranges across threads, so the args result, domain and
/// crosses_threads are our own.
void write_chrome_trace(const Trace& trace, std::ostream& out);

}  // namespace lab
