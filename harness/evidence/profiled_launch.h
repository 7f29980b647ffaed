// What ncu's pages Details and Source show of a kernel launch. Values are in base units: bytes, ns, Hz.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "evidence/evidence.h"

namespace lab {

/// A section of the page Details: its id, as --section and the rules call it, and its name on the page.
struct NcuSection {
    const char* id;
    const char* name;
};

/// The sections that the course records, in the page's order.
inline constexpr std::array kNcuSections{
    NcuSection{"SpeedOfLight", "GPU Speed Of Light Throughput"},
    NcuSection{"SpeedOfLight_RooflineChart", "GPU Speed Of Light Roofline Chart"},
    NcuSection{"ComputeWorkloadAnalysis", "Compute Workload Analysis"},
    NcuSection{"MemoryWorkloadAnalysis", "Memory Workload Analysis"},
    NcuSection{"MemoryWorkloadAnalysis_Tables", "Memory Workload Analysis Tables"},
    NcuSection{"SchedulerStats", "Scheduler Statistics"},
    NcuSection{"WarpStateStats", "Warp State Statistics"},
    NcuSection{"InstructionStats", "Instruction Statistics"},
    NcuSection{"LaunchStats", "Launch Statistics"},
    NcuSection{"Occupancy", "Occupancy"},
    NcuSection{"SourceCounters", "Source Counters"}};

/// The section with this id or name; null if the course records none such.
[[nodiscard]] const NcuSection* section_called(const std::string& id_or_name);

struct SectionMetric {
    std::string section;                     ///< by its name
    std::string table;                       ///< of the section's body; "" for the metrics at its head
    std::string metric, unit = {}, value{};  ///< a number or a text, as ncu prints it
};

/// What a rule says about the launch.
struct Rule {
    std::string section, name;
    std::string kind;  ///< OPT: advice, INF: a remark, WRN: a warning
    std::string text;
    std::string speedup_kind = {};       ///< "global", of the whole kernel, or "local"
    std::optional<double> speedup = {};  ///< estimated, in percent
};

/// The counters of a line that evidence keeps, by their columns in NCU_SOURCE and NCU_SASS. Instructions are
/// counted once a warp, thread_instructions for each thread whose predicate was true. Sectors are those that
/// global accesses ask of L2, wavefronts the turns that accesses to shared memory take; the ideal ones would
/// do for their bytes.
inline constexpr std::array kSourceCounters{
    "samples", "not_issued_samples", "instructions", "thread_instructions",
    "sectors", "ideal_sectors",      "wavefronts",   "ideal_wavefronts"};

/// A source line, with the sums of its instructions; or an instruction, with the line that it is from.
struct SourceRow {
    std::string file;  ///< without its folder
    int64_t line = 0;
    int64_t address = 0;  ///< of an instruction, from the kernel's first one that is listed
    std::string text;
    std::array<int64_t, kSourceCounters.size()> counts{};  ///< in the order of kSourceCounters
    std::string stalls = {};  ///< three reasons with the most samples: "long_sb 371, wait 2"
};

struct ProfiledLaunch {
    int64_t launch = 0;  ///< ncu's number in the report with the pages; NCU_METRICS are of another report
    std::string kernel, grid = {}, block = {};  ///< "(62500, 1, 1)"
    std::vector<SectionMetric> metrics = {};
    std::vector<Rule> rules = {};
    std::vector<SourceRow> lines = {}, instructions = {};
};

/// The launches whose pages are recorded; none if they are not.
[[nodiscard]] std::vector<ProfiledLaunch> profiled_launches_in(const Evidence& evidence);

}  // namespace lab
