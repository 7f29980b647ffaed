#include "evidence/trace_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"

namespace lab {

namespace {

struct Damaged {
    const std::filesystem::path& file;
    const std::string& remedy;

    [[noreturn]] void operator()(const std::string& why) const {
        throw Error(fmt::format("{} is damaged: {}. {}", file.string(), why, remedy));
    }
};

/// Refuses times that no capture has: those that run backwards, and those so far apart that sums over them
/// could leave 64 bits.
template <class Record>
void check_and_sort(std::vector<Record>& records, const Damaged& damaged, const char* what) {
    constexpr int64_t kFarthest_ns = int64_t{1} << 61;  // 73 years
    double total_ns = 0;                                // in a double, which does not overflow
    for (const Record& r : records) {
        if (r.end_ns < r.start_ns) damaged(fmt::format("a {} ends before it starts", what));
        total_ns += static_cast<double>(r.end_ns) - static_cast<double>(r.start_ns);
        if (r.start_ns < -kFarthest_ns || r.end_ns > kFarthest_ns || total_ns > kFarthest_ns)
            damaged(fmt::format("its {} records span more than 73 years", what));
    }
    const auto by_start = [](const Record& a, const Record& b) { return a.start_ns < b.start_ns; };
    if (!std::is_sorted(records.begin(), records.end(), by_start))
        std::stable_sort(records.begin(), records.end(), by_start);
}

void check_bytes(const std::vector<Copy>& copies, const Damaged& damaged) {
    double bytes = 0;
    for (const Copy& copy : copies) {
        bytes += static_cast<double>(copy.bytes);
        if (copy.bytes < 0 || bytes > 4e18)
            damaged("its copies move fewer than 0 bytes or more than 4 exabytes");
    }
}

void check_gpus(const Trace& trace, const Damaged& damaged) {
    constexpr std::size_t kMost = 256;  // a node has 16; some is counted for each GPU and each range
    std::set<int64_t> devices;
    for (const Kernel& kernel : trace.kernels) devices.insert(kernel.device);
    for (const Copy& copy : trace.copies) devices.insert(copy.device);
    if (devices.size() > kMost) damaged(fmt::format("it has {} GPUs", devices.size()));
}

}  // namespace

void check_and_sort(Trace& trace, const std::filesystem::path& file, const std::string& remedy) {
    const Damaged damaged{file, remedy};
    check_and_sort(trace.kernels, damaged, "kernel");
    check_and_sort(trace.copies, damaged, "copy");
    check_and_sort(trace.api_calls, damaged, "CUDA call");
    check_and_sort(trace.ranges, damaged, "range");
    check_and_sort(trace.operators, damaged, "operator");
    check_and_sort(trace.os_calls, damaged, "call of the OS");
    check_and_sort(trace.thread_states, damaged, "context switch");
    check_bytes(trace.copies, damaged);
    check_gpus(trace, damaged);
}

}  // namespace lab
