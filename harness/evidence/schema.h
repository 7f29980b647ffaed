// The tables of evidence, and short names for what an nsys export holds: `kernels`, `copies`, `ranges`, ...
// as TEMP views over NVIDIA's tables.
//
// An export leaves out the tables of what it did not see, and tables and columns come and go between versions
// of its schema. The views hide both. Times are ns on the clock of the capture. Columns:
//
//   kernels         start end duration stream device context correlation process name full_name
//                   grid_x grid_y grid_z block_x block_y block_z
//                   registers static_shared_bytes dynamic_shared_bytes graph_node in_conditional_node
//
//   copies          start end duration stream device correlation process bytes direction from_kind to_kind
//                   graph_node between_gpus
//
//   sets            start end duration stream device correlation process bytes value to_kind
//
//   api_calls       start end duration process thread correlation name result
//
//   syncs           start end duration process thread name
//                   (host calls that block until the GPU is done)
//
//   ranges          id start end duration process thread name domain crosses_threads category value
//                   gpu_start gpu_end
//                   (gpu_*: first start and last end of the GPU work that was launched inside the range;
//                   value: its payload)
//
//   marks           time process thread name domain category value
//                   (points in time that the program marked by NVTX)
//
//   graph_launches  start end duration process thread correlation
//
//   graph_runs      start end duration stream device correlation process graph
//                   (runs of graphs as a whole, where nsys recorded no kernels of graphs:
//                   --cuda-graph-trace=graph)
//
//   gpu_metrics     time device name unit value
//                   (samples of the GPU's counters: "SMs Active" in "%", the mean up to the next sample)
//
//   operators       start end duration process thread name
//                   (of PyTorch, such as aten::item, where torch.profiler recorded the program)
//
//   os_calls        start end duration process thread thread_name name result nesting
//                   (calls of the OS runtime libraries; nesting is above 0 for one made by another)
//
//   migrations      start end duration device process bytes direction address
//                   (pages of managed memory that moved; these are no copies)
//
//   cpu_page_faults time process address function
//   gpu_page_faults start end duration process device address faults
//                   (of managed memory: --cuda-um-cpu-page-faults=true, --cuda-um-gpu-page-faults=true)
//
//   cpu_samples     sample time process thread thread_name cpu function module
//                   (where a thread was: the innermost function, or 'unresolved', and the file it is in)
//
//   cpu_frames      sample depth function module
//                   (the call stacks of the samples; depth 0 is the innermost function)
//
//   context_switches  start end duration process thread thread_name cpu state
//                   (from one switch of a thread to its next; it is 'running', 'ready', which is stopped to
//                   let others run, or 'blocked')
//
// Those of GPU work and of CUDA calls can be narrowed to what was launched in the NVTX ranges of one name
// (capture.h); `gpu_metrics` to when this work ran; migrations, page faults, os_calls, cpu_samples and marks
// to when the host was in such a range, on any thread. `correlation` leads from GPU work to the call that
// launched it; work of conditional graph bodies carries that of its graph's launch, where it is certain.
//
// Two tables of ours are about the machine code, whether it ran or not. A template has rows for each
// instance:
//
//   CODE_RESOURCES     kernel registers stack_bytes shared_bytes local_bytes
//                      (stack: a thread's arrays and spilled registers, which lie in local memory)
//
//   CODE_INSTRUCTIONS  kernel opcode count
//                      (how often SASS has the opcode, with its modifiers: LDG.E.128, DFMA)
//
// One is about the GPU core dump that a program leaves whose kernel faults, as cuda-gdb reads it:
//
//   CORE_DUMPS         exception function file line source grid block_x block_y block_z
//                      thread_x thread_y thread_z text
//                      (the warp that faulted, by its first thread; grid: the driver's number of the launch)
//
// Two views are about what the program printed:
//
//   printed_json    json
//                   (the first line that begins with {" ; no row if there is none)
//
//   roofs           name unit measured theoretical work how clock tera giga micro
//                   (of {"roofs": [{"name": ..., ...}, ...]}; a value that is null there, or missing, is
//                   NULL; tera, giga, micro: `measured` in 10^12, 10^9, 10^-6, or 'not on this GPU')
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "evidence/database.h"

namespace lab {

/// SQL condition on a row of DIAGNOSTIC_EVENT: does it say that something is missing from the capture?
inline constexpr const char* kSaysLoss =
    "text LIKE '%dropped%' OR text LIKE '% lost%' OR text LIKE '%not all %events%' OR text LIKE "
    "'%incomplete%' OR text LIKE '%overflow%'";

/// A table of an nsys export that questions may be put to. Evidence keeps these columns, of the rows for
/// which `where` holds; the rest of an export describes the machine, down to serial numbers, and not the
/// program.
struct ExportTable {
    const char* name;
    const char* columns;   ///< that every version has, with a space between them
    const char* optional;  ///< that may be missing
    const char* where = "1";
    bool is_needed = true;  ///< is a file unusable whose table lacks a column? Else the table counts as empty
};
[[nodiscard]] const std::vector<ExportTable>& export_tables();

/// Views of what nsys records only if it is asked to, and the table that each is made of.
inline constexpr std::array<std::pair<const char*, const char*>, 4> kFurtherViews{
    {{"os_calls", "OSRT_API"},
     {"cpu_samples", "COMPOSITE_EVENTS"},
     {"context_switches", "SCHED_EVENTS"},
     {"gpu_metrics", "GPU_METRICS"}}};

/// SQL for the last part of the path `value`.
inline constexpr const char* kFileName = "replace(value, rtrim(value, replace(value, '/', '')), '')";

/// All columns, the optional ones last.
[[nodiscard]] std::vector<std::string> columns_of(const ExportTable& table);

/// A table of an evidence file that nsys does not write.
struct OwnTable {
    const char* name;
    const char* columns;   ///< as CREATE TABLE takes them
    bool if_used = false;  ///< only in files that have rows for it
};
[[nodiscard]] const std::vector<OwnTable>& own_tables();

/// Makes the views of what the program printed, and an empty TEMP table for each own table that the file does
/// not have, so that every question can be asked of every file.
void create_output_views(const Database& database);

/// Makes the views on an opened export. An Error names what makes the file unusable: no export at all, a
/// schema of another major version, nothing of CUDA in it, or the column that is missing.
/// The views call functions that Capture defines. What the file lacks has no rows, or is NULL.
void create_views(const Database& database);

/// Sentences on why this capture may be incomplete: lost or dropped records, no CUDA call seen. Nothing may
/// be called absent while there are any.
[[nodiscard]] std::vector<std::string> capture_problems(const Database& database);

}  // namespace lab
