// Busy, hidden and concurrent time are compared with SQL in nsys_recipes_test, counts in one_engine_test.
#include "evidence/analysis.h"

#include <doctest/doctest.h>

#include "core/error.h"

namespace lab::analysis_test {

namespace {

/// One GPU, one process. Each kernel has the call that launched it, at the time given.
struct Story {
    Trace trace;
    Story() { trace.names = {"add", "cudaLaunchKernel", "ncclDevKernel_AllReduce"}; }

    void kernel(int64_t called_ns, int64_t start_ns, int64_t end_ns, int64_t device = 0) {
        const int64_t call = std::ssize(trace.api_calls);
        trace.api_calls.push_back({called_ns, called_ns + 1, call + 1, 1, 1, 1});
        trace.kernels.push_back({start_ns, end_ns, 7, device, call + 1, 1, call, 0});
    }
    void copy(int64_t start_ns, int64_t end_ns, Direction direction) {
        trace.copies.push_back({start_ns, end_ns, 7, 0, 0, 1, -1, 100, direction, "", ""});
    }
};

}  // namespace

TEST_CASE("analysis: a kernel of NCCL, or a copy between GPUs, is communication and no compute") {
    Story story;
    story.kernel(0, 100, 200);
    story.kernel(0, 150, 300);
    story.trace.kernels.back().name = 2;
    story.copy(280, 320, Direction::device_to_device);
    story.trace.copies.back().between_gpus = true;
    story.copy(310, 350, Direction::host_to_device);
    story.kernel(0, 400, 500);
    const Analysis a = analyse(story.trace);
    CHECK(a.compute_ns == 200);
    CHECK(a.communication_ns == 170);
    CHECK(a.communication_hidden_ns == 50);
    CHECK(a.exposed_ns() == 120);
    CHECK(a.copy_only_ns == 30);  // from 320 on: until then a copy between GPUs runs, too
    CHECK(a.gpu_idle_ns == 50);
    CHECK(a.span_ns == 400);
    CHECK(a.communication_bytes == 100);
    CHECK(a.concurrent_ns == 0);
    CHECK(a.h2d_hidden_ns == 0);
    REQUIRE(a.copies.size() == 2);
    CHECK(a.copies[0].between_gpus != a.copies[1].between_gpus);
}

TEST_CASE("analysis: of a GPU that is asked for, and of all of them") {
    Story story;
    story.kernel(0, 100, 200);
    story.kernel(0, 150, 160, 3);
    story.trace.kernels.back().name = 2;
    story.copy(155, 170, Direction::host_to_device);
    story.trace.copies.back().device = 3;
    story.trace.gpus = {{3, "NVIDIA H200"}};
    story.trace.ranges = {{0, 1, 1, 1, false, "step", ""}};
    CHECK(analyse(story.trace).device == 0);
    const Analysis a = analyse(story.trace, std::nullopt, 3);
    CHECK((a.device == 3 && a.span_ns == 20 && a.compute_ns == 0 && a.communication_ns == 10));
    CHECK((a.copy_only_ns == 10 && a.gpu_idle_ns == 0 && a.kernels.size() == 1));
    REQUIRE(a.devices.size() == 2);
    CHECK((a.devices[0].device == 0 && a.devices[0].compute_ns == 100 && a.devices[0].name.empty()));
    CHECK((a.devices[1].device == 3 && a.devices[1].span_ns == 20 && a.devices[1].name == "NVIDIA H200"));
    CHECK_THROWS_WITH_AS((void)analyse(story.trace, std::nullopt, 1), "GPU 1 did no work; these did: 0, 3",
                         Error);
    CHECK_THROWS_WITH_AS((void)analyse(story.trace, "step", 5),
                         "GPU 5 did no work in range 'step'; these did: 0, 3", Error);
    story.kernel(0, 200, 900, 3);
    story.trace.kernels.back().name = 2;
    CHECK(analyse(story.trace).device == 0);  // the other one waits in NCCL
}

TEST_CASE("analysis: metrics by the names that findings use, and medians") {
    Story story;
    const Trace& trace = story.trace;
    story.copy(0, 2'000'000, Direction::host_to_device);
    story.kernel(900'000, 1'000'000, 3'000'000);
    story.kernel(2'400'000, 2'500'000, 5'000'000);
    story.copy(7'000'000, 8'000'000, Direction::device_to_host);
    story.trace.ranges = {{900'000, 1'900'000, 1, 1, false, "first", ""}};
    for (const auto& [name, expected] : {std::pair{"span_ms", 8.0},
                                         {"gpu_busy_ms", 6.0},
                                         {"gpu_idle_ms", 2.0},
                                         {"gpu_busy_share", 0.75},
                                         {"compute_ms", 4.0},
                                         {"compute_share", 0.5},
                                         {"copy_only_ms", 2.0},
                                         {"h2d_hidden_share", 0.5},
                                         {"d2h_hidden_share", 0.0},
                                         {"kernel_concurrency", 0.125}}) {
        CAPTURE(name);
        CHECK(metric(analyse(trace), name) == expected);
    }
    CHECK_FALSE(metric(analyse(trace), "range_ms"));
    CHECK(metric(analyse(trace, "first"), "range_ms") == 1.0);
    CHECK_FALSE(metric(analyse(trace, "first"), "h2d_hidden_share"));
    CHECK(metric_names().size() == 11);
    CHECK_THROWS_WITH_AS((void)metric(Analysis{}, "busy"), doctest::Contains("gpu_busy_share"), Error);
    CHECK(analyse(trace).kernels[0].median_ns == 2'250'000);
    story.kernel(0, 10'000'000, 10'000'001);
    CHECK(analyse(trace).kernels[0].median_ns == 2'000'000);
    CHECK(metric(analyse(Trace{}), "span_ms") == 0.0);
    CHECK_FALSE(metric(analyse(Trace{}), "gpu_busy_share"));
}

TEST_CASE("analysis: why the GPU was idle") {
    Story story;
    story.kernel(0, 0, 100'000);
    story.kernel(150'000, 160'000, 200'000);  // launched after the one before had ended
    story.kernel(0, 229'999, 250'000);        // launched in time, and soon after
    story.kernel(0, 280'000, 300'000);        // launched in time, yet 30 µs later
    story.kernel(300'000, 310'000, 320'000);  // launched at the very end of the one before: not after it
    const Analysis a = analyse(story.trace);
    CHECK(a.idle.host_wait_ns == 60'000);
    CHECK(a.idle.kernel_wait_ns == 29'999 + 10'000);
    CHECK(a.idle.other_ns == 30'000);
}

TEST_CASE("analysis: what lies between two ranges of a name, and another GPU's work, is no idle time") {
    Story story;
    story.kernel(10, 100, 110);
    story.kernel(11, 115, 120);
    story.kernel(12, 500, 507, 1);
    story.kernel(30, 900, 910);
    story.trace.ranges = {{10, 20, 1, 1, false, "step", ""}, {30, 40, 1, 1, false, "step", ""}};
    const Analysis a = analyse(story.trace, "step");
    CHECK(a.device == 0);
    REQUIRE(a.devices.size() == 2);
    CHECK((a.devices[0].device == 0 && a.devices[1].device == 1));
    CHECK(a.span_ns == 30);
    CHECK(a.gpu_idle_ns == 5);
    CHECK(a.idle.kernel_wait_ns == 5);
    CHECK(a.range_ns == 20);
}

}  // namespace lab::analysis_test
