// Which rows and boxes a picture has.
#include "draw/timeline.h"

#include <doctest/doctest.h>

#include <set>

#include "core/error.h"
#include "tests/draw_traces.h"

namespace lab::draw_timeline_test {

using namespace test;

namespace {

/// A range in which two kernels and a copy are launched; the rest is from elsewhere, and looks the same.
Trace trace_with_range() {
    Trace trace;
    add_kernel(trace, "before", 10, 90, 7).correlation = 1;
    add_kernel(trace, "inside", 150, 200, 7).correlation = 2;
    add_kernel(trace, "inside", 210, 400, 8).correlation = 3;  // ends after its range
    add_kernel(trace, "other_thread", 220, 230, 7).correlation = 4;
    Kernel& other = add_kernel(trace, "other_process", 240, 250, 7);
    other.correlation = 2;
    other.process = kProcess + 1;
    add_copy(trace, Direction::host_to_device, 120, 150, 7).correlation = 5;
    add_call(trace, "cudaLaunchKernel", 5, 8, 1);
    add_call(trace, "cudaMemcpyAsync", 100, 104, 5);
    add_call(trace, "cudaLaunchKernel", 105, 107, 2);
    add_call(trace, "cudaLaunchKernel", 108, 109, 3);
    add_call(trace, "cudaLaunchKernel", 110, 112, 4).thread = kThread + 1;
    add_call(trace, "cudaStreamSynchronize", 113, 190, 6);
    add_call(trace, "cudaDeviceSynchronize", 300, 410, 7);
    add_range(trace, "work", 100, 300);
    add_range(trace, "nested", 104, 200);
    add_range(trace, "later", 300, 420);
    trace.gpus.push_back({0, "NVIDIA H200"});
    return trace;
}

const TimelineRow* find_row(const Timeline& timeline, const std::string& name) {
    for (const TimelineRow& row : timeline.rows)
        if (row.name == name) return &row;
    return nullptr;
}

std::vector<std::string> names_of(const Timeline& timeline) {
    std::vector<std::string> names;
    for (const TimelineRow& row : timeline.rows) names.push_back(row.group + ": " + row.name);
    return names;
}

}  // namespace

TEST_CASE("A range narrows the timeline to the work launched in it") {
    const Timeline timeline = timeline_of(trace_with_range(), {"title", "label", "work"});
    CHECK(timeline.begin_ns == 100);  // the range begins before its work
    CHECK(timeline.end_ns == 400);    // and its work ends after it
    CHECK(names_of(timeline) == std::vector<std::string>{"CUDA HW (NVIDIA H200): Stream 7 Kernels",
                                                         "CUDA HW (NVIDIA H200): Stream 7 Memory",
                                                         "CUDA HW (NVIDIA H200): Stream 8 Kernels",
                                                         "CPU, main thread: NVTX",
                                                         "CPU, main thread: CUDA API"});
    const TimelineRow *const kernels = find_row(timeline, "Stream 7 Kernels"), *const memory = find_row(
                                                                                   timeline,
                                                                                   "Stream 7 Memory");
    REQUIRE(memory->boxes.size() == 1);
    CHECK(memory->boxes[0].paint == Paint::to_device);
    CHECK(memory->boxes[0].begin_ns == 120);
    REQUIRE(kernels->boxes.size() == 1);
    CHECK(kernels->boxes[0].name == "inside");
    CHECK(kernels->boxes[0].end_ns == 200);
    const TimelineRow* const calls = find_row(timeline, "CUDA API");
    REQUIRE(calls->boxes.size() == 4);
    CHECK(calls->boxes[2].paint == Paint::call);
    CHECK(calls->boxes[3].name == "cudaStreamSynchronize");
    CHECK(calls->boxes[3].paint == Paint::wait);
}

TEST_CASE("Ranges have lanes of their own inside the chosen one, which may cross threads") {
    Trace trace = trace_with_range();
    const Timeline whole = timeline_of(trace, {"", "", "work"});
    const TimelineRow& nvtx = *find_row(whole, "NVTX");
    REQUIRE(nvtx.boxes.size() == 2);
    CHECK(nvtx.lanes == 2);
    CHECK(nvtx.boxes[1].name == "nested");
    CHECK(nvtx.boxes[1].lane == 1);
    trace.ranges[0].crosses_threads = true;
    const Timeline timeline = timeline_of(trace, {"", "", "work"});
    CHECK(find_row(timeline, "Stream 7 Kernels")->boxes.size() == 2);
    CHECK(names_of(timeline).at(3) == "Across threads: NVTX");
}

TEST_CASE("Idle is the time in which nothing runs, whoever launched it") {
    const Timeline timeline = timeline_of(trace_with_range(), {"", "", "work"});
    CHECK(timeline.idle == Intervals{{100, 120}, {200, 210}});
    Trace trace = trace_with_range();
    add_copy(trace, Direction::device_to_device, 195, 208, 9);  // launched outside the range
    CHECK(timeline_of(trace, {"", "", "work"}).idle == Intervals{{100, 120}, {208, 210}});
    add_kernel(trace, "elsewhere", 90, 105, 9).correlation = 77;
    CHECK(timeline_of(trace, {"", "", "work"}).idle == Intervals{{105, 120}, {208, 210}});
}

TEST_CASE("Without a range everything is shown") {
    const Timeline timeline = timeline_of(trace_with_range());
    CHECK(timeline.begin_ns == 10);
    CHECK(timeline.end_ns == 420);
    CHECK(names_of(timeline) == std::vector<std::string>{"CUDA HW (NVIDIA H200): Stream 7 of 4711 Kernels",
                                                         "CUDA HW (NVIDIA H200): Stream 7 of 4711 Memory",
                                                         "CUDA HW (NVIDIA H200): Stream 8 of 4711 Kernels",
                                                         "CUDA HW (NVIDIA H200): Stream 7 of 4712 Kernels",
                                                         "CPU, main thread of 4711: NVTX",
                                                         "CPU, main thread of 4711: CUDA API",
                                                         "CPU, thread 4712 of 4711: CUDA API"});
}

TEST_CASE("A range without work is shown alone, and an unknown one is an error that names those there are") {
    Trace trace;
    add_kernel(trace, "k", 0, 10, 7);
    add_range(trace, "empty", 100, 200);
    const Timeline timeline = timeline_of(trace, {"", "", "empty"});
    CHECK(timeline.rows.size() == 1);
    CHECK(timeline.idle == Intervals{{100, 200}});
    CHECK(timeline_of({}).rows.empty());
    CHECK_THROWS_WITH_AS((void)timeline_of(trace_with_range(), {"", "", "wrok"}), doctest::Contains("work"),
                         Error);
}

TEST_CASE("Only calls in which the host really waits for the GPU are waits") {
    struct Case {
        const char* call;
        std::optional<Direction> copy;
        const char *from, *to;
        int64_t copy_begin_ns;  ///< the call lasts from 100 to 1100
        bool waits;
    };
    const Direction up = Direction::host_to_device, down = Direction::device_to_host,
                    on = Direction::device_to_device, set = Direction::set;
    const Case cases[] = {
        {"cudaDeviceSynchronize", {}, "", "", 0, true},
        {"cuEventSynchronize", {}, "", "", 0, true},
        {"cudaMemcpy", down, "device", "pageable", 500, true},
        {"cudaMemcpy2D", up, "pinned", "device", 500, true},
        {"cudaMemcpy", up, "pageable", "device", 1200, false},  // small: only staged in the call
        {"cudaMemcpy", on, "device", "device", 500, false},     // documented not to wait
        {"cudaMemcpyAsync", down, "device", "pageable", 500, true},
        {"cudaMemcpyAsync", down, "device", "pinned", 500, false},
        {"cudaMemset", set, "", "device", 500, false},
        {"cudaMemset", set, "", "pinned", 500, true},
        {"cudaMemsetAsync", set, "", "pinned", 500, false},
        {"cudaGraphLaunch", up, "pinned", "device", 500, false},  // its first node is a copy
        {"cuLibraryLoadData", {}, "", "", 0, false},
        {"cudaMalloc", {}, "", "", 0, false},
        {"cudaLaunchKernel", {}, "", "", 0, false},
        {"cudaStreamWaitEvent", {}, "", "", 0, false},
    };
    for (const Case& c : cases) {
        INFO(c.call << " " << c.to);
        Trace trace;
        add_kernel(trace, "step", 0, 2000, 7);
        if (c.copy) {
            Copy& copy = add_copy(trace, *c.copy, c.copy_begin_ns, c.copy_begin_ns + 100, 7);
            copy.correlation = 42, copy.from = c.from, copy.to = c.to;
        }
        add_call(trace, c.call, 100, 1100, 42);
        const Timeline timeline = timeline_of(trace);
        CHECK(find_row(timeline, "CUDA API")->boxes.at(0).paint == (c.waits ? Paint::wait : Paint::call));
    }
}

TEST_CASE("A part of the picture holds what lies in it, cut at its edges") {
    Trace trace;
    for (int64_t i = 0; i < 4; ++i) add_kernel(trace, "k", 100 + 100 * i, 180 + 100 * i, 7);
    add_kernel(trace, "early", 100, 120, 8);
    add_range(trace, "before", 100, 150);
    add_range(trace, "across", 150, 400);
    TimelineOptions options;
    options.from_ns = 150, options.to_ns = 250;
    const Timeline timeline = timeline_of(trace, options);
    CHECK(timeline.begin_ns == 250);  // 150 after the first kernel
    CHECK(timeline.end_ns == 350);
    CHECK(timeline.idle == Intervals{{280, 300}});
    const TimelineRow& nvtx = *find_row(timeline, "NVTX");
    REQUIRE(nvtx.boxes.size() == 1);
    CHECK(nvtx.boxes[0].begin_ns == 250);
    CHECK(nvtx.boxes[0].end_ns == 350);
    CHECK(nvtx.boxes[0].hover == "across 250 ns at 50 ns");  // all of it
    const TimelineRow* const stream = find_row(timeline, "Stream 7 Kernels");
    REQUIRE(stream->boxes.size() == 2);
    CHECK(stream->boxes[0].end_ns == 280);
    CHECK(stream->boxes[1].end_ns == 350);
    // A stream that is silent here is seen to be.
    CHECK(find_row(timeline, "Stream 8 Kernels")->boxes.empty());
    options.to_ns = 10'000;
    CHECK(timeline_of(trace, options).end_ns == 480);
}

TEST_CASE("With a range a part counts from its beginning; one without time, or behind the end, is an error") {
    TimelineOptions options;
    options.range = "work";
    options.from_ns = 60;
    const Timeline timeline = timeline_of(trace_with_range(), options);
    CHECK(timeline.begin_ns == 160);
    CHECK(timeline.origin_ns == 100);
    CHECK(timeline.end_ns == 400);
    options.from_ns = 300;
    CHECK_THROWS_WITH_AS((void)timeline_of(trace_with_range(), options), doctest::Contains("300 ns long"),
                         Error);
    options.from_ns = 20, options.to_ns = 20;
    CHECK_THROWS_WITH_AS((void)timeline_of(trace_with_range(), options),
                         doctest::Contains("nothing is left from"), Error);
}

TEST_CASE("A kernel's paint follows from its name, and no two share one while another is free") {
    Trace all, part;
    for (int i = 0; i < 6; ++i) add_kernel(all, "kernel_" + std::to_string(i), 10 * i, 10 * i + 9, 7);
    add_range(all, "late", 50, 59);
    const std::vector<Box> boxes = timeline_of(all).rows[0].boxes;
    std::set<Paint> paints;
    for (const Box& box : boxes) paints.insert(box.paint);
    CHECK(paints.size() == 6);
    CHECK(paints.count(Paint::other_kernels) == 0);
    // The same in a part of the capture, and beside a program that is not drawn.
    TimelineOptions options;
    options.from_ns = 45;
    CHECK(timeline_of(all, options).rows[0].boxes.back().paint == boxes.back().paint);
    add_kernel(part, "kernel_5", 0, 1000, 7);
    const std::vector<Timeline> beside = build_timelines({{&part, {}}}, {&all});
    CHECK(beside.size() == 1);
    CHECK(beside[0].rows[0].boxes[0].paint == boxes.back().paint);
    CHECK(build_timelines({{&part, {}}, {&all, {}}})[0].rows[0].boxes[0].paint == boxes.back().paint);
}

TEST_CASE("Where kernels outnumber paints, those with most time in the picture have them") {
    Trace trace;
    for (int i = 0; i < 12; ++i)
        add_kernel(trace, "kernel_" + std::to_string(i), 100 * i, 100 * i + 20 - i, 7);
    const Timeline whole = timeline_of(trace);
    for (const Box& box : whole.rows[0].boxes)
        CHECK((box.paint == Paint::other_kernels) == (box.begin_ns >= 600));
    TimelineOptions options;
    options.from_ns = 1000;
    const Timeline late = timeline_of(trace, options);
    for (const Box& box : late.rows[0].boxes) CHECK(box.paint != Paint::other_kernels);
    CHECK(whole.kernel_paints.size() == 12);
}

TEST_CASE("Copies say what they moved and how fast") {
    Trace trace;
    add_copy(trace, Direction::host_to_device, 5 * kMs, 7 * kMs, 13);
    add_copy(trace, Direction::set, 8 * kMs, 9 * kMs, 13);
    add_copy(trace, Direction::device_to_device, 9 * kMs, 10 * kMs, 13);
    const Timeline timeline = timeline_of(trace);
    REQUIRE(timeline.rows.size() == 1);
    REQUIRE(timeline.rows[0].boxes.size() == 3);
    CHECK(timeline.rows[0].boxes[0].name == "100 MB");
    CHECK(timeline.rows[0].boxes[0].hover ==
          "copy host to device (pinned to device) 100 MB, stream 13: 2 ms at 0 ns, 50 GB/s");
    CHECK(timeline.rows[0].boxes[1].paint == Paint::memory_set);
    CHECK(timeline.rows[0].boxes[2].paint == Paint::other_copy);
}

TEST_CASE("What communicates between GPUs looks like no kernel that computes, and is in the legend") {
    Trace trace;
    add_kernel(trace, "gemm", 0, 40, 7);
    add_kernel(trace, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 40, 100, 7);
    add_copy(trace, Direction::device_to_device, 0, 100, 8).between_gpus = true;
    add_copy(trace, Direction::device_to_device, 100, 200, 8);
    const Timeline timeline = timeline_of(trace);
    REQUIRE(timeline.rows.size() == 2);
    const std::vector<Box>& kernels = timeline.rows[0].boxes;
    CHECK(is_kernel(kernels.at(0).paint));
    CHECK(kernels.at(1).paint == Paint::communication);
    const std::vector<Box>& copies = timeline.rows[1].boxes;
    CHECK(copies.at(0).paint == Paint::communication);
    CHECK(copies.at(0).hover.starts_with("copy GPU to GPU (pinned to device) 100 MB"));
    CHECK(copies.at(1).paint == Paint::other_copy);
    for (const std::string& picture : {timeline_svg({timeline}), timeline_terminal({timeline}, 80, false)})
        CHECK(picture.find("communication between GPUs") != std::string::npos);
    CHECK(timeline.kernel_paints.at("ncclDevKernel_AllReduce_Sum_f32_RING_LL") == Paint::communication);
}

TEST_CASE("Timelines that say when their clocks began show the same time, and a part of it is one of both") {
    Trace first, second, nothing;
    add_kernel(first, "k", 100, 200, 7);
    add_kernel(second, "k", 1050, 1300, 7);
    TimelineOptions late, early;
    late.epoch_ns = 5000, early.epoch_ns = 4000;
    const std::vector<Timeline> both = build_timelines({{&first, late}, {&second, early}, {&nothing, early}});
    CHECK((both[0].begin_ns == 50 && both[0].end_ns == 300));
    CHECK((both[1].begin_ns == 1050 && both[1].end_ns == 1300));
    CHECK(both[0].idle == Intervals{{50, 100}, {200, 300}});
    CHECK(both[2].span_ns() == 0);
    late.from_ns = early.from_ns = 60;
    const std::vector<Timeline> part = build_timelines({{&first, late}, {&second, early}});
    CHECK((part[0].begin_ns == 110 && part[1].begin_ns == 1110));
    early.epoch_ns.reset();
    const std::vector<Timeline> apart = build_timelines({{&first, late}, {&second, early}});
    CHECK((apart[0].begin_ns == 160 && apart[1].begin_ns == 1110));
}

TEST_CASE("A picture of very many streams ends with how many more there are") {
    Trace trace;
    for (int stream = 0; stream < 300; ++stream) add_kernel(trace, "k", stream, stream + 1, stream);
    const Timeline timeline = timeline_of(trace);
    CHECK(timeline.rows.size() == 201);
    CHECK(timeline.rows.back().name == "and 100 more rows");
    CHECK(timeline_terminal({timeline}, 80, false).find("and 100 more rows") != std::string::npos);
    CHECK(xml_problem(timeline_svg({timeline})).empty());
}

TEST_CASE("Kernels without name and duration are drawn") {
    Trace trace;
    add_kernel(trace, "", 5, 5, 7);
    add_kernel(trace, "\x1b", 6, 6, 7);
    const Timeline timeline = timeline_of(trace);
    CHECK(timeline.rows.at(0).boxes.at(0).name == "(no name)");
    CHECK(timeline_svg({timeline}).find("(no name)") != std::string::npos);
    CHECK(timeline_terminal({timeline}, 80, true).find("(no name)") != std::string::npos);
}

TEST_CASE("Streams of several GPUs are told apart, and threads are named by the numbers that nsys packs") {
    Trace trace;
    add_kernel(trace, "k", 0, 10, 7);
    add_kernel(trace, "k", 0, 10, 7).device = 1;
    CHECK(names_of(timeline_of(trace)) ==
          std::vector<std::string>{"CUDA HW (GPU 0): Stream 7 Kernels", "CUDA HW (GPU 1): Stream 7 Kernels"});
    Trace packed;
    constexpr int64_t kPacked = (int64_t{9} << 48) | (int64_t{674} << 24);
    packed.ranges.push_back({0, 10, kPacked, kPacked | 674, false, "main", ""});
    packed.ranges.push_back({0, 10, kPacked, kPacked | 680, false, "worker", ""});
    CHECK(names_of(timeline_of(packed)) ==
          std::vector<std::string>{"CPU, main thread: NVTX", "CPU, thread 680: NVTX"});
}

}  // namespace lab::draw_timeline_test
