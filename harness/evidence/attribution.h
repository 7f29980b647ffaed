// The launch of graph work that names none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "evidence/database.h"

namespace lab {

/// Work in the body of a conditional node, and in graphs that the GPU launched itself, carries no correlation
/// id. It belongs to the only graph launch that can have been on its way: one made before the work began, and
/// not yet waited for (by a wait for the whole GPU) by then. With two candidates, or with several contexts,
/// nothing is certain and the work belongs to none.
class GraphAttribution {
  public:
    /// Reads the calls of an export through its view `all_api_calls`.
    explicit GraphAttribution(const Database& database);

    /// The correlation id of the launch of work that began at `start_ns`; 0 if it is not certain.
    [[nodiscard]] int64_t launch_of(int64_t process, int64_t start_ns) const;

  private:
    struct Launch {
        int64_t start_ns, end_ns, correlation;
        int64_t latest_end_ns;  ///< of this launch and those before it
    };
    struct Wait {
        int64_t end_ns;
        int64_t done_before_ns;  ///< launches that ended by then are done once this wait has ended
    };
    struct Process {
        std::vector<Launch> launches;  ///< by start
        std::vector<Wait> waits;       ///< by end
    };
    std::map<int64_t, Process> processes_;
    bool one_context_ = true;
};

}  // namespace lab
