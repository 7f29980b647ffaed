#include "evidence/trace.h"

#include <doctest/doctest.h>

#include <tuple>

#include "core/error.h"
#include "evidence/analysis.h"
#include "evidence/launches.h"
#include "hand_made_export.h"
#include "random_trace.h"

namespace lab::trace_test {

namespace {

using Made = HandMadeExport;

template <class Fill>
Trace read_back(const Fill& fill) {
    return MadeCapture(fill).capture.trace();
}

/// The calls that kernels of one loop body, which name no call, are given to; they start at these times, and
/// `fill` adds the calls. 0 is none.
template <class Fill>
std::vector<int64_t> calls_of_loop_bodies(const std::vector<int64_t>& starts, const Fill& fill) {
    const Trace trace = read_back([&](Made& made) {
        for (const int64_t start : starts) made.add(Made::KernelRow{start, start + 5, 0, 16});
        made.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = 25769803777");
        fill(made);
    });
    std::vector<int64_t> calls;
    for (const Kernel& k : trace.kernels)
        if (k.stream == 16) calls.push_back(k.correlation);
    CHECK(trace.kernels_of_unknown_launch == std::count(calls.begin(), calls.end(), 0));
    return calls;
}

using Calls = std::vector<int64_t>;

}  // namespace

TEST_CASE("reader: every field of every record") {
    const Trace trace = read_back([](Made& made) {
        made.add(Made::KernelRow{10, 20, 3, 7, 1, 2, "add"});
        made.add(Made::CopyRow{30, 40, 4, "DTOH", "DEVICE", "PAGEABLE", 8, 1, 2, 500});
        made.add(Made::SetRow{20, 25, 5, 9, 1, 2, 64});
        made.add(Made::GraphRow{50, 70, 6, 9, 1, 2});
        made.add(Made::CallRow{1, 2, 3, "cudaLaunchKernel_v7000", 2, 6, 98});
        made.add_domain(4, "library", 2);
        made.add(Made::RangeRow{0, 9, "phase", 2, 6, 4});
        made.execute(
            "CREATE TABLE TARGET_INFO_GPU (id, name); INSERT INTO TARGET_INFO_GPU VALUES (1, 'H200')");
    });
    REQUIRE(trace.kernels.size() == 2);
    const Kernel &k = trace.kernels[0], &graph = trace.kernels[1];
    CHECK(std::tuple(k.start_ns, k.end_ns, k.stream, k.device, k.correlation, k.call, k.size) ==
          std::tuple(10, 20, 7, 1, 3, 0, 0));
    CHECK(k.process == Made::global_process(2));
    CHECK(trace.name_of(k.name) == "add");
    CHECK(trace.launch_sizes == std::vector<LaunchSize>{{{2, 1, 1}, {256, 1, 1}}});
    CHECK(trace.name_of(graph.name) == "CUDA graph as a whole");
    CHECK(std::tuple(graph.start_ns, graph.end_ns, graph.stream, graph.size) == std::tuple(50, 70, 9, -1));

    REQUIRE(trace.copies.size() == 2);
    const Copy &set = trace.copies[0], &copy = trace.copies[1];
    CHECK(std::tuple(set.direction, set.bytes, set.from, set.to) ==
          std::tuple(Direction::set, 64, "", "device"));
    CHECK(std::tuple(copy.direction, copy.bytes, copy.from, copy.to, copy.call) ==
          std::tuple(Direction::device_to_host, 500, "device", "pageable", -1));

    REQUIRE(trace.api_calls.size() == 1);
    CHECK(trace.name_of(trace.api_calls[0].name) == "cudaLaunchKernel");
    CHECK(trace.api_calls[0].thread == Made::global_thread(2, 6));
    CHECK(trace.api_calls[0].result == 98);
    REQUIRE(trace.ranges.size() == 1);
    const Range& range = trace.ranges[0];
    CHECK(std::tuple(range.name, range.domain, range.crosses_threads) ==
          std::tuple("phase", "library", false));
    CHECK(trace.gpus[0].name == "H200");
}

TEST_CASE("reader: each name and each launch size is there once; an impossible size is not known") {
    const Trace trace = read_back([](Made& made) {
        int64_t at = 0;
        for (const int64_t grid_x : {int64_t{5}, int64_t{7}, int64_t{5}, int64_t{0}, int64_t{1} << 40}) {
            made.add(Made::CallRow{at, at + 1, at, at % 2 ? "cuLaunch_v7000" : "cuLaunch_ptsz_v7000"});
            made.add(Made::KernelRow{.start = at, .end = at + 1, .correlation = at, .grid_x = grid_x});
            ++at;
        }
    });
    CHECK(trace.names == std::vector<std::string>{"cuLaunch", "add"});
    REQUIRE(trace.launch_sizes.size() == 2);
    std::vector<int64_t> sizes;
    for (const Kernel& k : trace.kernels) sizes.push_back(k.size);
    CHECK(sizes == std::vector<int64_t>{0, 1, 0, -1, -1});
    const Trace older = read_back([](Made& made) {
        made.add(Made::KernelRow{10, 20, 3});
        for (const char* column : {"gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"})
            made.execute(fmt::format("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN {}", column));
        made.execute("DELETE FROM StringIds");
    });
    CHECK(older.kernels[0].size == -1);
    CHECK(older.name_of(older.kernels[0].name).empty());
}

TEST_CASE("reader: a kernel of a loop's body belongs to the only launch that can have been on its way") {
    CHECK(calls_of_loop_bodies({130, 160, 330}, [](Made& made) {
              made.add(Made::CallRow{100, 110, 1, "cudaGraphLaunch_v10000"});
              made.add(Made::CallRow{120, 200, 2, "cudaDeviceSynchronize_v3020"});
              made.add(Made::CallRow{300, 310, 3, "cudaGraphLaunch_v10000"});
          }) == Calls{1, 1, 3});
}

TEST_CASE("reader: where two launches may be on their way, a kernel of a loop's body is given to none") {
    CHECK(calls_of_loop_bodies({130, 330, 530}, [](Made& made) {
              made.add(Made::CallRow{100, 110, 1, "cudaGraphLaunch_v10000"});
              made.add(Made::CallRow{200, 210, 2, "cudaStreamSynchronize_v3020"});  // of one stream
              made.add(Made::CallRow{300, 310, 3, "cudaGraphLaunch_v10000"});
              // The wait began before the second launch was made.
              made.add(Made::CallRow{305, 500, 4, "cudaDeviceSynchronize_v3020", 1, 2});
              made.add(Made::CallRow{510, 520, 5, "cudaGraphLaunch_v10000"});
          }) == Calls{1, 0, 0});
    for (const int64_t result : {0, 700}) {  // a wait that failed waited for nothing
        CHECK(calls_of_loop_bodies({330}, [&](Made& made) {
                  made.add(Made::CallRow{100, 110, 1, "cudaGraphLaunch_v10000"});
                  made.add(Made::CallRow{120, 200, 2, "cuCtxSynchronize", 1, 1, result});
                  made.add(Made::CallRow{300, 310, 3, "cudaGraphLaunch_v10000"});
              }) == Calls{result == 0 ? 3 : 0});
    }
    CHECK(calls_of_loop_bodies({130}, [](Made& made) {  // launched by another process
              made.add(Made::CallRow{100, 110, 1, "cudaGraphLaunch_v10000", 2});
          }) == Calls{0});
    CHECK(calls_of_loop_bodies({130}, [](Made& made) {  // a second GPU has a context of its own
              made.add(Made::KernelRow{10, 20, 9, 7, 1});
              made.add(Made::CallRow{100, 110, 1, "cudaGraphLaunch_v10000"});
          }) == Calls{0});
}

TEST_CASE("reader: a trace that goes through a file comes back in time order, with the same analysis") {
    RandomTrace random(29);
    for (int round = 0; round < 40; ++round) {
        const Trace trace = random.make();
        if (trace.kernels.empty() && trace.api_calls.empty()) continue;
        Trace shuffled = trace;
        std::reverse(shuffled.kernels.begin(), shuffled.kernels.end());
        std::reverse(shuffled.copies.begin(), shuffled.copies.end());
        const Trace back = read_back([&](Made& made) { fill_from(shuffled, made); });
        CAPTURE(round);
        REQUIRE(back.kernels.size() == trace.kernels.size());
        REQUIRE(back.copies.size() == trace.copies.size());
        REQUIRE(back.api_calls.size() == trace.api_calls.size());
        for (std::size_t i = 0; i < trace.kernels.size(); ++i)
            REQUIRE(back.kernels[i].start_ns == trace.kernels[i].start_ns);
        std::vector<std::optional<std::string>> ranges{std::nullopt};
        for (const Range& range : trace.ranges) ranges.push_back(range.name);
        for (const auto& range : ranges)
            for (const std::string& name : metric_names())
                REQUIRE(metric(analyse(back, range), name) == metric(analyse(trace, range), name));
    }
}

TEST_CASE("reader: times and sizes that no capture has are damage, and are said") {
    const auto refused = [](const char* why, const auto&... row) {
        CHECK_THROWS_WITH_AS((void)read_back([&](Made& made) {
                                 made.launch(0, {10, 20, 1});
                                 (made.add(row), ...);
                             }),
                             doctest::Contains(why), Error);
    };
    refused("a kernel ends before it starts", Made::KernelRow{20, 19, 2});
    refused("a copy ends before it starts", Made::SetRow{20, 19, 2});
    refused("a CUDA call ends before it starts", Made::CallRow{20, 19, 2});
    refused("a range ends before it starts", Made::RangeRow{20, 19, "a"});
    refused("its kernel records span more than 73 years", Made::KernelRow{INT64_MIN, INT64_MAX, 1});
    refused("its CUDA call records span more than 73 years", Made::CallRow{0, int64_t{1} << 62, 1});
    const Made::CopyRow years{0, int64_t{1} << 60, 2};
    refused("its copy records span more than 73 years", years, years, years);
    refused("fewer than 0 bytes", Made::SetRow{.start = 0, .end = 1, .correlation = 1, .bytes = -1});
    const Made::SetRow exabytes{.start = 0, .end = 1, .correlation = 1, .bytes = int64_t{1} << 61};
    refused("exabytes", exabytes, exabytes);
    // Times of the day in ns since 1970, which some versions of nsys export, are near enough.
    constexpr int64_t kNow = 1'795'000'000'000'000'000;
    CHECK(read_back([](Made& made) { made.add(Made::KernelRow{kNow, kNow + 500, 1}); }).kernels.size() == 1);
}

TEST_CASE("reader: a file that names a GPU in each row is refused") {
    CHECK_THROWS_WITH_AS(
        read_back([](Made& made) {
            for (int i = 0; i < 300; ++i)
                made.add(Made::KernelRow{.start = i, .end = i + 1, .correlation = 1, .device = i});
        }),
        doctest::Contains("300 GPUs"), Error);
}

TEST_CASE("reader: a file that holds ranges in ranges without end is refused" *
          doctest::test_suite("large input")) {
    Trace deep;
    for (int64_t i = 0; i < 40'000; ++i) {
        deep.api_calls.push_back({.start_ns = i, .end_ns = i + 1, .correlation = i});
        deep.kernels.push_back({.start_ns = i, .end_ns = i + 1, .correlation = i});
        deep.ranges.push_back({.start_ns = 0, .end_ns = 50'000, .name = "", .domain = ""});
    }
    link_to_calls(deep);
    CHECK_THROWS_WITH_AS((void)range_use(deep, std::nullopt), doctest::Contains("overlap too often"), Error);
}

}  // namespace lab::trace_test
