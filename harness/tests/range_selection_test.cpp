#include "evidence/range_selection.h"

#include <doctest/doctest.h>

#include <set>

#include "core/error.h"
#include "random_trace.h"

using namespace lab;

namespace {

/// One process, one thread; a call at `called` launches a kernel that runs from `start` to `end`.
void launch(Trace& trace, int64_t called, int64_t start, int64_t end, int64_t device = 0) {
    const auto id = static_cast<int64_t>(trace.kernels.size()) + 1;
    trace.api_calls.push_back({called, called + 1, id, 1, 1, 0, 0});
    trace.kernels.push_back({start, end, 7, device, id, 1, 0});
}

Range range(int64_t start, int64_t end, const std::string& name) {
    return {start, end, 1, 1, false, name, ""};
}

/// The oracle: is the call inside a range of this name?
bool is_inside(const Trace& trace, const std::string& name, const ApiCall& call) {
    return std::any_of(trace.ranges.begin(), trace.ranges.end(), [&](const Range& r) {
        return r.name == name && r.process == call.process &&
               (r.crosses_threads || r.thread == call.thread) && call.start_ns >= r.start_ns &&
               call.start_ns < r.end_ns;
    });
}

using Keys = std::set<std::pair<int64_t, int64_t>>;

template <class Record>
Keys keys_of(const std::vector<Record>& records) {
    Keys keys;
    for (const Record& r : records) keys.insert({r.process, r.correlation});
    return keys;
}

/// Pairs in `all` that are among the calls.
template <class Record>
Keys launched_by(const std::vector<Record>& all, const Keys& calls) {
    Keys keys;
    for (const auto& key : keys_of(all))
        if (calls.count(key)) keys.insert(key);
    return keys;
}

}  // namespace

TEST_CASE("a range selects what was launched inside it, however much later it ran") {
    Trace trace;
    launch(trace, 9, 100, 110);
    launch(trace, 10, 200, 210);
    launch(trace, 19, 300, 320);
    launch(trace, 20, 400, 410);
    trace.ranges = {range(10, 20, "mine")};
    const RangeSelection selected = select_range(trace, "mine");
    REQUIRE(selected.trace.kernels.size() == 2);
    CHECK(selected.trace.kernels[0].start_ns == 200);
    CHECK(selected.trace.api_calls.size() == 2);
    CHECK(selected.windows == std::map<int64_t, Intervals>{{0, {{200, 320}}}});
    CHECK(selected.host == Intervals{{10, 20}});
}

TEST_CASE("each range of the name has its own window; what lies between them is in none") {
    Trace trace;
    launch(trace, 10, 100, 110);
    launch(trace, 15, 120, 130);
    launch(trace, 30, 200, 210);
    trace.ranges = {range(10, 20, "step"), range(30, 40, "step"), range(50, 60, "step"),
                    range(20, 30, "other")};
    const RangeSelection selected = select_range(trace, "step");
    CHECK(selected.windows.at(0) == Intervals{{100, 130}, {200, 210}});
    CHECK(selected.host == Intervals{{10, 20}, {30, 40}, {50, 60}});
    CHECK(selected.trace.ranges.size() == 3);
}

TEST_CASE("each GPU has its own windows") {
    Trace trace;
    launch(trace, 10, 100, 110, 0);
    launch(trace, 11, 500, 510, 1);
    trace.ranges = {range(10, 20, "both")};
    const RangeSelection selected = select_range(trace, "both");
    CHECK(selected.windows.at(0) == Intervals{{100, 110}});
    CHECK(selected.windows.at(1) == Intervals{{500, 510}});
}

TEST_CASE("work that takes no time is kept but widens no window") {
    Trace trace;
    launch(trace, 10, 50, 50);
    launch(trace, 11, 100, 110);
    launch(trace, 12, 150, 150);
    trace.ranges = {range(10, 20, "a")};
    const RangeSelection selected = select_range(trace, "a");
    CHECK(selected.trace.kernels.size() == 3);
    CHECK(selected.windows.at(0) == Intervals{{100, 110}});
}

TEST_CASE("a range that launched nothing has no window") {
    Trace trace;
    launch(trace, 10, 100, 110);
    trace.ranges = {range(20, 30, "idle"), range(5, 5, "empty")};
    CHECK(select_range(trace, "idle").windows.empty());
    CHECK(select_range(trace, "idle").trace.kernels.empty());
    CHECK(select_range(trace, "empty").host.empty());
}

TEST_CASE("an unknown range is an error that lists the known ones") {
    Trace trace;
    CHECK_THROWS_WITH_AS((void)select_range(trace, "a"), doctest::Contains("it has none at all"), Error);
    trace.ranges = {range(0, 1, "one"), range(1, 2, "two\x1b"), range(2, 3, "one")};
    CHECK_THROWS_WITH_AS((void)select_range(trace, "three"), doctest::Contains("it has 'one', 'two'"), Error);
}

TEST_CASE("selections agree with asking every call about every range") {
    RandomTrace random(13);
    int selections = 0;
    for (int round = 0; round < 1500; ++round) {
        const Trace trace = random.make();
        for (const char* name : {"a", "b"}) {
            if (std::none_of(trace.ranges.begin(), trace.ranges.end(),
                             [&](const Range& r) { return r.name == name; }))
                continue;
            ++selections;
            const RangeSelection selected = select_range(trace, name);
            std::vector<ApiCall> calls;
            for (const ApiCall& call : trace.api_calls)
                if (is_inside(trace, name, call)) calls.push_back(call);
            CAPTURE(round);
            REQUIRE(keys_of(selected.trace.api_calls) == keys_of(calls));
            REQUIRE(selected.trace.api_calls.size() == calls.size());
            REQUIRE(keys_of(selected.trace.kernels) == launched_by(trace.kernels, keys_of(calls)));
            REQUIRE(keys_of(selected.trace.copies) == launched_by(trace.copies, keys_of(calls)));
            REQUIRE(
                std::is_sorted(selected.trace.api_calls.begin(), selected.trace.api_calls.end(),
                               [](const ApiCall& x, const ApiCall& y) { return x.start_ns < y.start_ns; }));
            for (const Kernel& k : selected.trace.kernels)
                if (k.start_ns < k.end_ns)
                    REQUIRE(total(intersect({{k.start_ns, k.end_ns}}, selected.windows.at(k.device))) ==
                            k.end_ns - k.start_ns);
        }
    }
    CHECK(selections > 500);
}
