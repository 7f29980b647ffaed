// Short names for what an nsys export holds: `kernels`, `copies`, `ranges`, ... as TEMP views over NVIDIA's
// tables.
//
// An export leaves out the tables of what it did not see, and tables and columns come and go between versions
// of its schema. The views hide both. Times are ns on the clock of the capture. Columns:
//
//   kernels         start end duration stream device context correlation process name full_name
//                   grid_x grid_y grid_z block_x block_y block_z
//                   registers static_shared_bytes dynamic_shared_bytes graph_node
//
//   copies          start end duration stream device correlation process bytes direction from_kind to_kind
//                   graph_node
//
//   sets            start end duration stream device correlation process bytes value to_kind
//
//   api_calls       start end duration process thread correlation name result
//
//   syncs           start end duration process thread name
//                   (host calls that block until the GPU is done)
//
//   ranges          id start end duration process thread name domain crosses_threads gpu_start gpu_end
//                   (gpu_*: first start and last end of the GPU work that was launched inside the range)
//
//   graph_launches  start end duration process thread correlation
//
//   graph_runs      start end duration stream device correlation process graph
//                   (runs of graphs as a whole, where nsys recorded no kernels of graphs:
//                   --cuda-graph-trace=graph)
//
//   gpu_metrics     time device name value
//                   (samples of the GPU's counters; a rate such as "Tensor Active [Throughput %]" in percent)
#pragma once

#include <optional>
#include <string>

#include "evidence/database.h"

namespace lab {

/// Makes the views on an opened export. An Error names what makes the file unusable: no export at all, a
/// schema of another major version, nothing of CUDA in it, or the column that is missing.
void create_views(const Database& database);

/// Finds the GPU work of every range. `ranges` needs this before its first question; it is a step of its own
/// because it takes long on a large capture, and most questions are not about ranges.
void project_ranges(const Database& database);

/// Narrows every view but `ranges` to what was launched inside the NVTX ranges of this name, and samples to
/// the time of that work. An Error lists the ranges there are if none has this name.
void narrow_views(const Database& database, const std::string& range);

/// Undoes narrow_views.
void widen_views(const Database& database);

/// The views, narrowed to the ranges of this name for as long as this lives, whatever happens to a query
/// meanwhile; as they are if there is none.
class NarrowedViews {
  public:
    NarrowedViews(const Database& database, const std::optional<std::string>& range);
    NarrowedViews(const NarrowedViews&) = delete;
    NarrowedViews& operator=(const NarrowedViews&) = delete;
    ~NarrowedViews();

  private:
    const Database& database_;
    bool narrowed_;
};

/// SQL condition on a row of DIAGNOSTIC_EVENT: does it say that something is missing from the capture?
inline constexpr const char* kSaysLoss =
    "text LIKE '%dropped%' OR text LIKE '% lost%' OR text LIKE '%not all %events%' OR text LIKE "
    "'%incomplete%' OR "
    "text LIKE '%overflow%'";

/// Sentences on why this capture may be incomplete: lost or dropped records, no CUDA call seen. Nothing may
/// be called absent while there are any.
[[nodiscard]] std::vector<std::string> capture_problems(const Database& database);

}  // namespace lab
