// A trace of torch.profiler as tables of an nsys export, so that the same questions can be put to it.
#pragma once

#include "evidence/database.h"
#include "evidence/trace.h"

namespace lab {

/// Adds the trace's kernels, copies, calls, annotations and operators to a database without any of these
/// tables. Times count from the first record. What Kineto doesn't say, such as what a call returned, is NULL.
void write_kineto_tables(const Database& database, const Trace& trace);

}  // namespace lab
