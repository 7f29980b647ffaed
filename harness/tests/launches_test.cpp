// Which work belongs to a range: on random traces, as a search through everything finds it.
#include "evidence/launches.h"

#include <doctest/doctest.h>

#include <tuple>

#include <set>

#include "core/error.h"
#include "random_trace.h"

namespace lab::launches_test {

namespace {

/// One process, one thread; a call at `called` launches a kernel that runs from `start` to `end`.
void launch(Trace& trace, int64_t called, int64_t start, int64_t end, int64_t device = 0) {
    const std::int64_t id = std::ssize(trace.kernels) + 1;
    trace.api_calls.push_back({called, called + 1, id, 1, 1});
    trace.kernels.push_back({start, end, 7, device, id, 1, id - 1});
}

Range range(int64_t start, int64_t end, const std::string& name) {
    return {start, end, 1, 1, false, name, ""};
}

bool is_inside(const Range& range, const ApiCall& call) {
    return range.process == call.process && (range.crosses_threads || range.thread == call.thread) &&
           call.start_ns >= range.start_ns && call.start_ns < range.end_ns;
}

using Keys = std::set<std::pair<int64_t, int64_t>>;

template <class Record>
Keys keys_of(const std::vector<Record>& records) {
    Keys keys;
    for (const Record& r : records) keys.insert({r.process, r.correlation});
    return keys;
}

/// Process and correlation of the work that the calls launched.
template <class Record>
Keys launched_by(const std::vector<Record>& all, const std::vector<ApiCall>& calls) {
    Keys keys;
    for (const Record& work : all)
        for (const ApiCall& call : calls)
            if (call.process == work.process && call.correlation == work.correlation)
                keys.insert({work.process, work.correlation});
    return keys;
}

std::optional<Interval> hull_of(const Trace& trace, const std::vector<ApiCall>& calls) {
    std::optional<Interval> hull;
    const auto widen = [&](const auto& all, const Keys& wanted) {
        for (const auto& work : all) {
            if (!wanted.count({work.process, work.correlation})) continue;
            if (!hull) hull = {work.start_ns, work.end_ns};
            hull = {std::min(hull->begin, work.start_ns), std::max(hull->end, work.end_ns)};
        }
    };
    widen(trace.kernels, launched_by(trace.kernels, calls));
    widen(trace.copies, launched_by(trace.copies, calls));
    return hull;
}

}  // namespace

TEST_CASE("launches: ranges of random traces hold what a search through every call finds") {
    RandomTrace random(13);
    int selections = 0, with_work = 0;
    for (int round = 0; round < 1000; ++round) {
        const Trace trace = random.make();
        const Launches launches(trace);
        CAPTURE(round);
        for (const Range& one : trace.ranges) {
            std::vector<ApiCall> calls;
            for (const ApiCall& call : trace.api_calls)
                if (is_inside(one, call)) calls.push_back(call);
            const auto expected = hull_of(trace, calls);
            REQUIRE(launches.gpu_time_of(one) == expected);
            with_work += expected.has_value();
        }
        std::set<std::string> names;
        for (const Range& one : trace.ranges) names.insert(one.name);
        for (const std::string& name : names) {
            std::vector<ApiCall> calls;
            for (const ApiCall& call : trace.api_calls)
                if (std::any_of(trace.ranges.begin(), trace.ranges.end(),
                                [&](const Range& r) { return r.name == name && is_inside(r, call); }))
                    calls.push_back(call);
            ++selections;
            const RangePart part = select_range(trace, name);
            REQUIRE(part.trace.api_calls.size() == calls.size());
            REQUIRE(keys_of(part.trace.api_calls) == keys_of(calls));
            REQUIRE(keys_of(part.trace.kernels) == launched_by(trace.kernels, calls));
            REQUIRE(keys_of(part.trace.copies) == launched_by(trace.copies, calls));
            for (const Kernel& k : part.trace.kernels) {
                const ApiCall& call = part.trace.api_calls[static_cast<std::size_t>(k.call)];
                REQUIRE(call.correlation == k.correlation);
                REQUIRE(call.process == k.process);
                if (k.start_ns < k.end_ns)
                    REQUIRE(total(intersect({{k.start_ns, k.end_ns}}, part.windows.at(k.device))) ==
                            k.end_ns - k.start_ns);
            }
        }
    }
    CHECK(selections > 300);
    CHECK(with_work > 300);
}

TEST_CASE("launches: each range of a name has its own window on each GPU") {
    Trace trace;
    launch(trace, 10, 100, 110);
    launch(trace, 12, 50, 50);  // takes no time: it is kept, and widens no window
    launch(trace, 15, 120, 130);
    launch(trace, 19, 500, 510, 1);
    launch(trace, 30, 200, 210);
    trace.ranges = {range(10, 20, "step"), range(20, 30, "other"), range(30, 40, "step"),
                    range(50, 60, "step")};
    const RangePart part = select_range(trace, "step");
    CHECK(part.trace.kernels.size() == 5);
    CHECK(part.windows == WindowsOfGpu{{0, {{100, 130}, {200, 210}}}, {1, {{500, 510}}}});
    CHECK(part.host == Intervals{{10, 20}, {30, 40}, {50, 60}});
    CHECK(part.trace.ranges.size() == 3);
    CHECK(select_range(trace, "other").windows.empty());
    CHECK_THROWS_WITH_AS((void)select_range(trace, "two"), doctest::Contains("it has 'step', 'other'"),
                         Error);
    CHECK_THROWS_WITH_AS((void)select_range({}, "a"), doctest::Contains("it has none at all"), Error);
}

TEST_CASE("launches: ranges are summed by name and domain") {
    Trace trace;
    launch(trace, 10, 100, 130), launch(trace, 20, 130, 150), launch(trace, 60, 200, 207);
    trace.ranges = {{0, 30, 1, 1, false, "sum", "CCCL"},
                    {0, 80, 1, 1, false, "whole", ""},
                    {50, 70, 1, 1, false, "sum", "CCCL"},
                    {90, 95, 1, 1, false, "sum", ""}};
    const std::vector<RangeUse> all = range_use(trace, std::nullopt);
    REQUIRE(all.size() == 3);
    CHECK(all[0].name == "whole");
    CHECK(all[0].gpu_ns == 107);
    CHECK(all[1].domain == "CCCL");
    CHECK(all[1].count == 2);
    CHECK(all[1].host_ns == 50);
    CHECK(all[1].gpu_ns == 57);  // 50 and 7
    CHECK(std::tuple(all[1].host.min_ns, all[1].host.median_ns, all[1].host.max_ns) ==
          std::tuple(20, 25, 30));
    CHECK(std::tuple(all[1].gpu.count, all[1].gpu.min_ns, all[1].gpu.max_ns) == std::tuple(2, 7, 50));
    CHECK(all[1].slowest_start_ns == 0);
    CHECK(all[2].gpu_ns == 0);
    CHECK(range_use(trace, "whole").size() == 2);
    CHECK_THROWS_AS((void)range_use(trace, "nowhere"), Error);
}

}  // namespace lab::launches_test
