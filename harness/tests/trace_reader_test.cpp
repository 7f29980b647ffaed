#include "evidence/trace_reader.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "evidence/analysis.h"
#include "evidence/schema.h"
#include "hand_made_export.h"
#include "random_trace.h"

using namespace lab;

namespace {

using Made = HandMadeExport;

template <class Fill>
Trace read_back(const Fill& fill) {
    const TemporaryFolder folder;
    {
        HandMadeExport made(folder.path() / "export.sqlite");
        fill(made);
    }
    const Database database = Database::open_untrusted(folder.path() / "export.sqlite");
    create_views(database);
    return read_trace(database);
}

}  // namespace

TEST_CASE("reader: every field of every record") {
    const Trace trace = read_back([](Made& made) {
        made.add(Made::KernelRow{10, 20, 3, 7, 1, 2, "add"});
        made.add(Made::CopyRow{30, 40, 4, "DTOH", "DEVICE", "PAGEABLE", 8, 1, 2, 500});
        made.add(Made::SetRow{20, 25, 5, 9, 1, 2, 64});
        made.add(Made::CallRow{1, 2, 3, "cudaLaunchKernel_v7000", 2, 6, 98});
        made.add_domain(4, "library", 2);
        made.add(Made::RangeRow{0, 9, "phase", 2, 6, 4});
    });
    REQUIRE(trace.kernels.size() == 1);
    const Kernel& k = trace.kernels[0];
    CHECK(k.start_ns == 10);
    CHECK(k.end_ns == 20);
    CHECK(k.stream == 7);
    CHECK(k.device == 1);
    CHECK(k.correlation == 3);
    CHECK(k.process == Made::global_process(2));
    CHECK(trace.name_of(k.name) == "add");
    REQUIRE(k.size == 0);
    CHECK(trace.launch_sizes[0] == LaunchSize{{2, 1, 1}, {256, 1, 1}});

    REQUIRE(trace.copies.size() == 2);
    CHECK(trace.copies[0].direction == Direction::set);
    CHECK(trace.copies[0].bytes == 64);
    CHECK(trace.copies[0].from.empty());
    CHECK(trace.copies[1].direction == Direction::device_to_host);
    CHECK(trace.copies[1].from == "device");
    CHECK(trace.copies[1].to == "pageable");
    CHECK(trace.copies[1].bytes == 500);
    CHECK(trace.copies[1].stream == 8);

    REQUIRE(trace.api_calls.size() == 1);
    CHECK(trace.name_of(trace.api_calls[0].name) == "cudaLaunchKernel");
    CHECK(trace.api_calls[0].process == Made::global_process(2));
    CHECK(trace.api_calls[0].thread == Made::global_thread(2, 6));
    CHECK(trace.api_calls[0].result == 98);

    REQUIRE(trace.ranges.size() == 1);
    CHECK(trace.ranges[0].name == "phase");
    CHECK(trace.ranges[0].domain == "library");
    CHECK(trace.ranges[0].thread == Made::global_thread(2, 6));
    CHECK_FALSE(trace.ranges[0].crosses_threads);
}

TEST_CASE("reader: each launch size is there once, and one that no kernel can have is none") {
    const Trace trace = read_back([](Made& made) {
        made.add(Made::KernelRow{.start = 0, .end = 1, .correlation = 1, .grid_x = 5});
        made.add(Made::KernelRow{.start = 1, .end = 2, .correlation = 2, .grid_x = 7});
        made.add(Made::KernelRow{.start = 2, .end = 3, .correlation = 3, .name = "mul", .grid_x = 5});
        made.add(Made::KernelRow{.start = 3, .end = 4, .correlation = 4, .grid_x = 0});
        made.add(Made::KernelRow{.start = 4, .end = 5, .correlation = 5, .grid_x = int64_t{1} << 40});
    });
    REQUIRE(trace.launch_sizes.size() == 2);
    std::vector<int64_t> sizes;
    for (const Kernel& k : trace.kernels) sizes.push_back(k.size);
    CHECK(sizes == std::vector<int64_t>{0, 1, 0, -1, -1});
}

TEST_CASE("reader: an export without launch sizes is read all the same") {
    const Trace trace = read_back([](Made& made) {
        made.add(Made::KernelRow{10, 20, 3});
        for (const char* column : {"gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"})
            made.execute(fmt::format("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN {}", column));
    });
    REQUIRE(trace.kernels.size() == 1);
    CHECK(trace.kernels[0].size == -1);
    CHECK(trace.launch_sizes.empty());
}

TEST_CASE("reader: a graph recorded as a whole is GPU work like a kernel") {
    const Trace trace = read_back([](Made& made) {
        made.add(Made::KernelRow{40, 50, 2});
        made.add(Made::GraphRow{10, 30, 1, 9, 1, 2});
    });
    REQUIRE(trace.kernels.size() == 2);
    const Kernel& graph = trace.kernels[0];
    CHECK(graph.start_ns == 10);
    CHECK(graph.end_ns == 30);
    CHECK(graph.stream == 9);
    CHECK(graph.device == 1);
    CHECK(graph.correlation == 1);
    CHECK(graph.process == Made::global_process(2));
    CHECK(trace.name_of(graph.name) == "CUDA graph as a whole");
    CHECK(trace.name_of(trace.kernels[1].name) == "add");
}

namespace {

/// Kernels of one loop body, which name no call, at these times; `fill` adds the calls.
template <class Fill>
Trace loop_bodies(const std::vector<int64_t>& at, const Fill& fill) {
    return read_back([&](Made& made) {
        for (const int64_t start : at) made.add(Made::KernelRow{start, start + 5, 0, 16});
        made.execute(
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = 25769803777 WHERE correlationId = 0");
        fill(made);
    });
}

std::vector<int64_t> correlations(const Trace& trace) {
    std::vector<int64_t> all;
    for (const Kernel& k : trace.kernels) all.push_back(k.correlation);
    return all;
}

}  // namespace

TEST_CASE("reader: a kernel of a loop's body belongs to the only launch that can have been on its way") {
    const Trace trace = loop_bodies({130, 160, 330}, [](Made& made) {
        made.add(Made::CallRow{100, 110, 1, "cudaGraphLaunch_v10000"});
        made.add(Made::CallRow{120, 200, 2, "cudaDeviceSynchronize_v3020"});
        made.add(Made::CallRow{300, 310, 3, "cudaGraphLaunch_v10000"});
    });
    CHECK(correlations(trace) == std::vector<int64_t>{1, 1, 3});
    CHECK(trace.kernels_of_unknown_launch == 0);
}

TEST_CASE("reader: where two launches may be on their way, a kernel of a loop's body is given to none") {
    const Trace trace = loop_bodies({130, 330, 530}, [](Made& made) {
        made.add(Made::CallRow{100, 110, 1, "cudaGraphLaunch_v10000"});
        made.add(Made::CallRow{200, 210, 2, "cudaStreamSynchronize_v3020"});  // of which stream is not said
        made.add(Made::CallRow{300, 310, 3, "cudaGraphLaunch_v10000"});
        made.add(
            Made::CallRow{305, 500, 4, "cudaDeviceSynchronize_v3020", 1, 2});  // began before it was made
        made.add(Made::CallRow{510, 520, 5, "cudaGraphLaunch_v10000"});
    });
    CHECK(correlations(trace) == std::vector<int64_t>{1, 0, 0});
    CHECK(trace.kernels_of_unknown_launch == 2);
}

TEST_CASE("reader: a failed wait, another process, and a second context make nothing certain") {
    const auto first_of_two = [](const char* wait, int64_t result) {
        return loop_bodies({330}, [&](Made& made) {
            made.add(Made::CallRow{100, 110, 1, "cudaGraphLaunch_v10000"});
            made.add(Made::CallRow{120, 200, 2, wait, 1, 1, result});
            made.add(Made::CallRow{300, 310, 3, "cudaGraphLaunch_v10000"});
        });
    };
    CHECK(first_of_two("cudaDeviceSynchronize_v3020", 0).kernels_of_unknown_launch == 0);
    CHECK(first_of_two("cudaDeviceSynchronize_v3020", 700).kernels_of_unknown_launch == 1);
    const Trace other = loop_bodies({130}, [](Made& made) {
        made.add(Made::CallRow{100, 110, 1, "cudaGraphLaunch_v10000", 2});
    });
    CHECK(other.kernels_of_unknown_launch == 1);
    const Trace two_gpus = loop_bodies({130}, [](Made& made) {
        made.add(Made::KernelRow{10, 20, 9, 7, 1});
        made.add(Made::CallRow{100, 110, 1, "cudaGraphLaunch_v10000"});
    });
    CHECK(two_gpus.kernels_of_unknown_launch == 1);
}

TEST_CASE("reader: the recorded loop's kernels are those that the program counts") {
    const fs::path file =
        fs::path(LAB_SOURCE_FOLDER) / "ch06_graphs/evidence/h200/decode_until_eos.solution.sqlite";
    const Database database = Database::open_untrusted(file);
    create_views(database);
    const Trace trace = read_trace(database);
    CHECK(trace.kernels_of_unknown_launch == 0);
    const Analysis analysis = analyse(trace, "one launch");
    int64_t kernels = 0;
    for (const StreamUse& stream : analysis.streams) kernels += stream.kernels;
    CHECK(kernels == 7 * 244);  // of a step, and steps
}

TEST_CASE("reader: records come in time order, whatever the order of the file") {
    const Trace trace = read_back([](Made& made) {
        for (const int64_t start : {30, 10, 20}) {
            made.launch(start, {start, start + 5, start});
            made.add(Made::CopyRow{start, start + 5, start});
            made.add(Made::RangeRow{start, start + 5, "a"});
        }
        made.add(Made::SetRow{15, 16, 4});
    });
    const auto in_order = [](const auto& all) {
        return std::is_sorted(all.begin(), all.end(),
                              [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    };
    CHECK(in_order(trace.kernels));
    CHECK(in_order(trace.copies));
    CHECK(in_order(trace.api_calls));
    CHECK(in_order(trace.ranges));
    CHECK(trace.copies[1].direction == Direction::set);
}

TEST_CASE("reader: the real sample") {
    const Database database = Database::open_untrusted(fs::path(LAB_SAMPLES) / "nsys_2025.3_fixed.sqlite");
    create_views(database);
    const Trace trace = read_trace(database);
    CHECK(trace.kernels.size() == 407);
    CHECK(trace.copies.size() == 12);
    CHECK(trace.api_calls.size() == 849);
    CHECK(trace.ranges.size() == 2);
    REQUIRE(trace.gpus.size() == 1);
    CHECK(trace.gpus[0].name == "NVIDIA H200");
    const Analysis a = analyse(trace, "normalise");
    CHECK(a.compute_ns + a.copy_only_ns + a.gpu_idle_ns == a.span_ns);
    CHECK(a.idle.host_wait_ns + a.idle.kernel_wait_ns + a.idle.other_ns == a.gpu_idle_ns);
    CHECK(*a.kernel_concurrency() > 0.15);
    CHECK(a.streams.size() == 4);
    CHECK(a.kernels.size() == 3);
}

TEST_CASE("reader: a record that ends before it starts is damage, and is said") {
    const auto damaged = [](const auto& row, const char* what) {
        CHECK_THROWS_WITH_AS((void)read_back([&](Made& made) {
                                 made.launch(0, {10, 20, 1});
                                 made.add(row);
                             }),
                             doctest::Contains(what), Error);
    };
    damaged(Made::KernelRow{20, 19, 2}, "a kernel ends before it starts");
    damaged(Made::CopyRow{20, 19, 2}, "a copy ends before it starts");
    damaged(Made::SetRow{20, 19, 2}, "ends before it starts");
    damaged(Made::CallRow{20, 19, 2}, "a CUDA call ends before it starts");
    damaged(Made::RangeRow{20, 19, "a"}, "a range ends before it starts");
    CHECK_NOTHROW((void)read_back([](Made& made) { made.launch(0, {20, 20, 1}); }));
}

TEST_CASE("reader: a name that the file does not have is empty") {
    const Trace trace = read_back([](Made& made) {
        made.launch(0, {10, 20, 1});
        made.execute("DELETE FROM StringIds");
    });
    CHECK(trace.name_of(trace.kernels[0].name).empty());
    CHECK(trace.name_of(trace.api_calls[0].name).empty());
}

TEST_CASE("reader: each name is there once") {
    const Trace trace = read_back([](Made& made) {
        for (int64_t i = 0; i < 6; ++i)
            made.add(
                Made::CallRow{i, i + 1, i, i % 2 ? "cudaLaunchKernel_v7000" : "cudaLaunchKernel_ptsz_v7000"});
        made.add(Made::KernelRow{10, 20, 1});
        made.add(Made::KernelRow{20, 30, 2, 7, 0, 2});
    });
    CHECK(trace.names == std::vector<std::string>{"cudaLaunchKernel", "add"});
}

TEST_CASE("reader: a trace that goes through a file comes back with the same analysis") {
    RandomTrace random(29);
    for (int round = 0; round < 40; ++round) {
        const Trace trace = random.make();
        if (trace.kernels.empty() && trace.api_calls.empty()) continue;
        const Trace back = read_back([&](Made& made) { fill_from(trace, made); });
        CAPTURE(round);
        REQUIRE(back.kernels.size() == trace.kernels.size());
        REQUIRE(back.copies.size() == trace.copies.size());
        REQUIRE(back.api_calls.size() == trace.api_calls.size());
        std::vector<std::optional<std::string>> ranges{std::nullopt};
        for (const Range& range : trace.ranges) ranges.push_back(range.name);
        for (const auto& range : ranges)
            for (const std::string& name : metric_names())
                REQUIRE(metric(analyse(back, range), name) == metric(analyse(trace, range), name));
    }
}

TEST_CASE("reader: times and sizes whose sums would leave 64 bits are no capture's") {
    const auto refused = [](const char* why, const auto& fill) {
        CHECK_THROWS_WITH_AS((void)read_back(fill), doctest::Contains(why), Error);
    };
    refused("a kernel is more than 73 years from", [](Made& made) {
        made.add(Made::KernelRow{INT64_MIN, INT64_MAX, 1});
    });
    refused("a CUDA call is more than 73 years from", [](Made& made) {
        made.add(Made::CallRow{0, int64_t{1} << 62, 1});
    });
    refused("all its copy records together last more than 73 years", [](Made& made) {
        made.add(Made::KernelRow{0, 1, 9});
        for (int i = 0; i < 3; ++i) made.add(Made::CopyRow{0, int64_t{1} << 60, i});
    });
    refused("fewer than 0 bytes", [](Made& made) {
        made.add(Made::KernelRow{0, 1, 9});
        made.add(Made::CopyRow{0, 1, 1, "HTOD", "PINNED", "DEVICE", 7, 0, 1, -1});
    });
    refused("exabytes", [](Made& made) {
        made.add(Made::KernelRow{0, 1, 9});
        for (int i = 0; i < 2; ++i)
            made.add(Made::CopyRow{0, 1, i, "HTOD", "PINNED", "DEVICE", 7, 0, 1, int64_t{1} << 61});
    });
    // Times of the day in ns since 1970, which some versions of nsys export, are near enough.
    const Trace trace = read_back([](Made& made) {
        made.add(Made::KernelRow{1'795'000'000'000'000'000, 1'795'000'000'000'000'500, 1});
    });
    CHECK(trace.kernels[0].end_ns - trace.kernels[0].start_ns == 500);
}
