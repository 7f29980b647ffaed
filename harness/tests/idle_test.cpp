#include "evidence/idle.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "evidence/analysis.h"
#include "random_trace.h"

namespace lab::idle_test {

namespace {

/// The gaps of a GPU between its first and its last work.
Intervals gaps_of(const Trace& trace, int64_t device) {
    Intervals busy;
    for (const Kernel& k : trace.kernels)
        if (k.device == device) busy.push_back({k.start_ns, k.end_ns});
    for (const Copy& c : trace.copies)
        if (c.device == device) busy.push_back({c.start_ns, c.end_ns});
    busy = merge(std::move(busy));
    return busy.empty() ? Intervals{} : subtract({{busy.front().begin, busy.back().end}}, busy);
}

/// By function, when the host was in its calls; "" stands for all functions. Calls within calls do not count.
std::map<std::string, Intervals> times_in_calls(const Trace& trace, int64_t device) {
    std::map<std::string, Intervals> times;
    for (const ApiCall& call : trace.api_calls) {
        const auto uses = [&](const auto& all) {
            return std::any_of(all.begin(), all.end(), [&](const auto& work) {
                return work.device == device && work.process == call.process;
            });
        };
        bool is_inner = false;
        for (const ApiCall* other = trace.api_calls.data(); other != &call; ++other)
            is_inner = is_inner || (other->process == call.process && other->thread == call.thread &&
                                    other->end_ns > call.start_ns);
        if (is_inner || (!uses(trace.kernels) && !uses(trace.copies))) continue;
        for (const std::string& name : {trace.name_of(call.name), std::string()})
            times[name].push_back({call.start_ns, call.end_ns});
    }
    for (auto& [name, intervals] : times) intervals = merge(std::move(intervals));
    return times;
}

struct Story {
    Trace trace;
    Story() { trace.names = {"add", "cudaLaunchKernel", "cudaStreamSynchronize", "cudaMalloc", "poll"}; }

    void kernel(int64_t called_ns, int64_t start_ns, int64_t end_ns) {
        const int64_t call = std::ssize(trace.api_calls);
        trace.api_calls.push_back({called_ns, called_ns + 5, call + 1, 1, 1, 1});
        trace.kernels.push_back({start_ns, end_ns, 7, 0, call + 1, 1, call, 0});
    }
    void call(int64_t start_ns, int64_t end_ns, int64_t name, int64_t thread = 1) {
        trace.api_calls.push_back({start_ns, end_ns, 0, 1, thread, name});
    }
};

}  // namespace

TEST_CASE("idle: the host's time in each call is that of interval algebra, for the whole and for each gap") {
    RandomTrace random(7);
    std::mt19937 longer(11);
    int compared = 0;
    for (int round = 0; round < 300; ++round) {
        Trace trace = random.make();
        // Calls on one stack: what begins later in a call ends in it, too.
        for (ApiCall& call : trace.api_calls) call.end_ns += static_cast<int64_t>(longer() % 12) * kTick_ns;
        for (ApiCall& call : trace.api_calls)
            for (ApiCall& inner : trace.api_calls)
                if (inner.process == call.process && inner.thread == call.thread &&
                    inner.start_ns >= call.start_ns && inner.start_ns < call.end_ns)
                    inner.end_ns = std::min(inner.end_ns, call.end_ns);
        for (ApiCall& call : trace.api_calls) call.name = static_cast<int64_t>(longer() % 2) + 3;
        const Analysis a = analyse(trace);
        const Intervals gaps = gaps_of(trace, a.device);
        CAPTURE(round);
        REQUIRE(total(gaps) == a.gpu_idle_ns);
        std::map<std::string, Intervals> expected = times_in_calls(trace, a.device);
        int64_t sum_ns = 0;
        for (const HostTime& call : a.idle_by_call) {
            REQUIRE(call.ns == total(intersect(expected[call.name], gaps)));
            sum_ns += call.ns;
            ++compared;
        }
        for (const auto& [name, times] : expected)
            if (!name.empty()) sum_ns -= total(intersect(times, gaps));
        REQUIRE(sum_ns == 0);
        REQUIRE(a.idle_no_call_ns == total(subtract(gaps, expected[""])));
        REQUIRE(a.gaps.size() <= 5);
        REQUIRE(a.gaps.size() >=
                std::min<std::size_t>(5, gaps.size()));  // work that takes no time parts a gap
        for (const Gap& gap : a.gaps) {
            const Intervals one{{gap.start_ns, gap.start_ns + gap.ns}};
            REQUIRE(intersect(one, gaps) == one);
            REQUIRE(gap.no_call_ns == total(subtract(one, expected[""])));
            for (const HostTime& call : gap.calls)
                REQUIRE(call.ns == total(intersect(expected[call.name], one)));
        }
        const auto& [after, during, launching] = a.short_gaps;
        int64_t long_ns = 0;
        for (const Gap& gap : a.gaps) long_ns += gap.ns < kShortGap_ns ? 0 : gap.ns;
        REQUIRE(after.ns + during.ns + launching.ns + long_ns == a.gpu_idle_ns);
    }
    CHECK(compared > 200);
}

TEST_CASE("idle: a gap says between what it lies, why, and what the host does in it") {
    Story story;
    story.kernel(0, 10, 100);
    story.call(20, 300, 2);      // waits for the kernel, and longer
    story.call(310, 350, 3);     // on the same thread
    story.call(200, 320, 3, 2);  // on another one, in part at the same time
    story.kernel(390, 400, 500);
    story.trace.copies = {{900, 950, 7, 0, 0, 1, -1, 8, Direction::device_to_host, "device", "pinned"}};
    story.trace.os_calls = {{120, 200, 1, 1, 4}, {130, 240, 1, 9, 4}};  // the other thread makes no CUDA call
    std::stable_sort(story.trace.api_calls.begin(), story.trace.api_calls.end(),
                     [](auto& x, auto& y) { return x.start_ns < y.start_ns; });
    story.trace.kernels[1].call = 4;
    const Analysis a = analyse(story.trace);
    REQUIRE(a.gaps.size() == 2);
    CHECK(a.first_work_ns == 10);
    const Gap &last = a.gaps[0], &first = a.gaps[1];
    CHECK(std::tuple(last.start_ns, last.ns, last.before, last.after, last.cause) ==
          std::tuple(500, 400, "add", "D2H copy", "kernel_wait"));
    CHECK(last.no_call_ns == 400);
    CHECK(std::tuple(first.start_ns, first.ns, first.before, first.after, first.cause) ==
          std::tuple(100, 300, "add", "add", "host_wait"));
    REQUIRE(first.calls.size() == 3);
    CHECK(std::tuple(first.calls[0].name, first.calls[0].ns) == std::tuple("cudaStreamSynchronize", 200));
    CHECK(std::tuple(first.calls[1].name, first.calls[1].ns, first.calls[1].count,
                     first.calls[1].longest_ns) == std::tuple("cudaMalloc", 150, 2, 120));
    CHECK(first.no_call_ns == 300 - 200 - 50 - 5);
    REQUIRE(first.os_calls.size() == 1);
    CHECK(std::tuple(first.os_calls[0].name, first.os_calls[0].ns) == std::tuple("poll", 80));
}

TEST_CASE("idle: short gaps are told apart by whether the host waits") {
    Story story;
    story.kernel(0, 10, 100);
    story.call(20, 130, 2);  // ends in the first gap
    story.kernel(140, 150, 200);
    story.kernel(145, 230, 260);          // launched in time
    story.call(160, 250, 2);              // throughout the second gap
    story.kernel(270, 290, 300);          // neither
    story.kernel(300, 400'000, 400'010);  // no short gap
    const auto& [after, during, launching] = analyse(story.trace).short_gaps;
    CHECK(std::pair(after.count, after.ns) == std::pair<int64_t, int64_t>(1, 50));
    CHECK(std::pair(during.count, during.ns) == std::pair<int64_t, int64_t>(1, 30));
    CHECK(std::pair(launching.count, launching.ns) == std::pair<int64_t, int64_t>(1, 30));
}

}  // namespace lab::idle_test
