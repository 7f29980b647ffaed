#include "evidence/attribution.h"

#include <algorithm>

namespace lab {

GraphAttribution::GraphAttribution(const Database& database) {
    Statement contexts =
        database.prepare("SELECT COUNT(*) FROM (SELECT DISTINCT device, context FROM all_kernels)");
    one_context_ = contexts.next() && contexts.integer(0) <= 1;
    Statement launch = database.prepare(
        "SELECT process, start, end, correlation FROM all_api_calls "
        "WHERE name IN ('cudaGraphLaunch', 'cuGraphLaunch') ORDER BY start");
    while (launch.next()) {
        std::vector<Launch>& launches = processes_[launch.integer(0)].launches;
        const int64_t end_ns = launch.integer(2);
        const int64_t latest_ns = launches.empty() ? end_ns : std::max(launches.back().latest_end_ns, end_ns);
        launches.push_back({launch.integer(1), end_ns, launch.integer(3), latest_ns});
    }
    Statement wait = database.prepare(
        "SELECT process, start, end FROM all_api_calls WHERE result = 0 "
        "AND name IN ('cudaDeviceSynchronize', 'cuCtxSynchronize') ORDER BY end");
    while (wait.next()) {
        std::vector<Wait>& waits = processes_[wait.integer(0)].waits;
        const int64_t start_ns = wait.integer(1);
        waits.push_back(
            {wait.integer(2), waits.empty() ? start_ns : std::max(waits.back().done_before_ns, start_ns)});
    }
}

int64_t GraphAttribution::launch_of(int64_t process, int64_t start_ns) const {
    const auto known = processes_.find(process);
    if (!one_context_ || known == processes_.end()) return 0;
    const auto& [launches, waits] = known->second;
    const auto wait = std::upper_bound(waits.begin(), waits.end(), start_ns,
                                       [](int64_t at, const Wait& w) { return at < w.end_ns; });
    const int64_t done_ns = wait == waits.begin() ? INT64_MIN : std::prev(wait)->done_before_ns;
    auto at = std::lower_bound(launches.begin(), launches.end(), start_ns,
                               [](const Launch& l, int64_t before) { return l.start_ns < before; });
    int64_t found = 0;
    while (at != launches.begin() && std::prev(at)->latest_end_ns > done_ns) {
        --at;
        if (at->end_ns <= done_ns) continue;
        if (found) return 0;
        found = at->correlation;
    }
    return found;
}

}  // namespace lab
