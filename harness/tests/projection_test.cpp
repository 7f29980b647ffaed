#include "evidence/projection.h"

#include <doctest/doctest.h>

#include <chrono>

#include "core/error.h"
#include "core/files.h"
#include "draw/timeline.h"
#include "evidence/analysis.h"
#include "evidence/evidence.h"
#include "evidence/schema.h"
#include "random_trace.h"

using namespace lab;

namespace {

/// By looking at every piece of work and every call for each range.
std::optional<Interval> looked_at_one_by_one(const Trace& trace, const Range& range) {
    std::optional<Interval> found;
    const auto widen = [&](const auto& all) {
        for (const auto& work : all)
            for (const ApiCall& call : trace.api_calls) {
                const bool launched_it = call.process == work.process && call.correlation == work.correlation;
                const bool inside = call.process == range.process && call.start_ns >= range.start_ns &&
                                    call.start_ns < range.end_ns &&
                                    (range.crosses_threads || call.thread == range.thread);
                if (!launched_it || !inside) continue;
                if (!found) found = {work.start_ns, work.end_ns};
                found = {std::min(found->begin, work.start_ns), std::max(found->end, work.end_ns)};
            }
    };
    widen(trace.kernels);
    widen(trace.copies);
    return found;
}

}  // namespace

TEST_CASE("projection: as a search through everything finds it") {
    int some = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
        const Trace trace = RandomTrace(seed).make();
        const Projection projection(trace);
        for (const Range& range : trace.ranges) {
            const auto expected = looked_at_one_by_one(trace, range);
            const auto found = projection.of(range);
            REQUIRE(found.has_value() == expected.has_value());
            if (!found) continue;
            ++some;
            REQUIRE(found->begin == expected->begin);
            REQUIRE(found->end == expected->end);
        }
    }
    CHECK(some > 100);
}

TEST_CASE("projection: on real evidence it agrees with the view `ranges`") {
    const Evidence fixed = Evidence::open(fs::path(LAB_SAMPLES) / "nsys_2025.3_fixed.sqlite");
    project_ranges(fixed.database());
    const Projection projection(fixed.trace());
    int compared = 0;
    for (const Range& range : fixed.trace().ranges) {
        Statement row =
            fixed.database().prepare("SELECT gpu_start, gpu_end FROM ranges WHERE start = ?1 AND name = ?2");
        REQUIRE(row.bind(1, range.start_ns).bind(2, range.name).next());
        const auto found = projection.of(range);
        REQUIRE(found.has_value() == !row.is_null(0));
        if (!found) continue;
        ++compared;
        CHECK(found->begin == row.integer(0));
        CHECK(found->end == row.integer(1));
    }
    CHECK(compared > 0);
}

TEST_CASE("projection: ranges are summed up by name and domain") {
    Trace trace;
    trace.names = {"k", "cudaLaunchKernel"};
    const auto launch = [&](int64_t called, int64_t start, int64_t end) {
        const auto id = static_cast<int64_t>(trace.kernels.size()) + 1;
        trace.api_calls.push_back({called, called + 1, id, 1, 1, 1, 0});
        trace.kernels.push_back({start, end, 7, 0, id, 1, 0});
    };
    launch(10, 100, 130), launch(20, 130, 150), launch(60, 200, 207);
    trace.ranges = {{0, 30, 1, 1, false, "sum", "CCCL"},
                    {50, 70, 1, 1, false, "sum", "CCCL"},
                    {0, 80, 1, 1, false, "whole", ""},
                    {90, 95, 1, 1, false, "sum", ""}};
    const std::vector<RangeUse> all = range_use(trace, std::nullopt);
    REQUIRE(all.size() == 3);
    CHECK(all[0].name == "whole");
    CHECK(all[0].gpu_ns == 107);
    CHECK(all[1].domain == "CCCL");
    CHECK(all[1].count == 2);
    CHECK(all[1].host_ns == 50);
    CHECK(all[1].gpu_ns == 57);  // 50 and 7
    CHECK(all[2].gpu_ns == 0);
    const std::vector<RangeUse> inside = range_use(trace, "whole");
    REQUIRE(inside.size() == 2);
    CHECK(inside[1].count == 2);
    CHECK_THROWS_AS((void)range_use(trace, "nowhere"), Error);
}

TEST_CASE("projection: a timeline shows it only when asked") {
    const Evidence fixed = Evidence::open(fs::path(LAB_SAMPLES) / "nsys_2025.3_fixed.sqlite");
    const auto row_of = [&](bool projected) {
        const Timeline timeline = build_timeline(fixed.trace(), {"fixed", "", "normalise", projected});
        const auto at = std::find_if(timeline.rows.begin(), timeline.rows.end(),
                                     [](const TimelineRow& r) { return r.name == "NVTX on the GPU"; });
        return at == timeline.rows.end() ? std::optional<TimelineRow>() : *at;
    };
    CHECK_FALSE(row_of(false));
    const auto row = row_of(true);
    REQUIRE(row);
    REQUIRE_FALSE(row->boxes.empty());
    CHECK(row->boxes[0].name == "normalise");
    CHECK(row->boxes[0].hover.find("normalise on the GPU: ") == 0);
}

TEST_CASE("ranges within as many ranges are found in the time that it takes to read them") {
    Trace trace;
    constexpr int64_t kSteps = 200'000;
    for (int64_t i = 0; i < kSteps; ++i) {
        Range step;
        step.start_ns = i * 10, step.end_ns = step.start_ns + 8, step.name = "step";
        Range part = step;
        part.start_ns += i % 2 * 7, part.end_ns = part.start_ns + 1, part.name = "part";
        trace.ranges.push_back(step);
        trace.ranges.push_back(part);
    }
    Range outside;
    outside.start_ns = kSteps * 10 - 1, outside.end_ns = outside.start_ns + 1, outside.name = "part";
    trace.ranges.push_back(outside);
    const auto began = std::chrono::steady_clock::now();
    const std::vector<RangeUse> uses = range_use(trace, "step");
    REQUIRE(uses.size() == 2);
    for (const RangeUse& use : uses) CHECK(use.count == kSteps);
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));  // each with each: minutes
}
