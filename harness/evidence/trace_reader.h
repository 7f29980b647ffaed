// Reads an export into plain rows.
#pragma once

#include "evidence/database.h"
#include "evidence/trace.h"

namespace lab {

/// Everything the export holds, through views that create_views() has made. Records that end before they
/// start, as a damaged export may hold, are an Error.
[[nodiscard]] Trace read_trace(const Database& database);

}  // namespace lab
