// Which rows and boxes a picture has.
#include "draw/timeline.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "tests/draw_traces.h"

using namespace lab;
using namespace lab::test;

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
    return trace;
}

const TimelineRow* find_row(const Timeline& timeline, const std::string& name) {
    for (const TimelineRow& row : timeline.rows)
        if (row.name == name) return &row;
    return nullptr;
}

std::vector<std::string> names_of(const Timeline& timeline) {
    std::vector<std::string> names;
    for (const TimelineRow& row : timeline.rows) names.push_back(row.name);
    return names;
}

}  // namespace

TEST_CASE("A range narrows the timeline to the work launched in it") {
    const Timeline timeline = build_timeline(trace_with_range(), {"title", "label", "work"});
    CHECK(timeline.begin_ns == 100);  // the range begins before its work
    CHECK(timeline.end_ns == 400);    // and its work ends after it
    CHECK(names_of(timeline) == std::vector<std::string>{"NVTX main thread", "main thread waits", "stream 7",
                                                         "stream 8", "copy engine host to device",
                                                         "copy engine device to host"});
    const TimelineRow* const stream = find_row(timeline, "stream 7");
    REQUIRE(stream->boxes.size() == 2);
    CHECK(stream->boxes[0].kind == Box::Kind::copy_h2d);
    CHECK(stream->boxes[0].begin_ns == 120);
    CHECK(stream->boxes[1].name == "inside");
    CHECK(stream->boxes[1].end_ns == 200);
    CHECK(find_row(timeline, "copy engine device to host")->boxes.empty());
    const TimelineRow* const waits = find_row(timeline, "main thread waits");
    REQUIRE(waits->boxes.size() == 1);
    CHECK(waits->boxes[0].name == "cudaStreamSynchronize");
    CHECK(waits->boxes[0].kind == Box::Kind::api_sync);
}

TEST_CASE("Ranges inside the chosen one are shown in lanes of their own") {
    const Timeline timeline = build_timeline(trace_with_range(), {"", "", "work"});
    const TimelineRow& nvtx = timeline.rows.front();
    REQUIRE(nvtx.boxes.size() == 2);
    CHECK(nvtx.lanes == 2);
    CHECK(nvtx.boxes[0].name == "work");
    CHECK(nvtx.boxes[0].lane == 0);
    CHECK(nvtx.boxes[1].name == "nested");
    CHECK(nvtx.boxes[1].lane == 1);
}

TEST_CASE("A range that crosses threads counts the calls of all of them") {
    Trace trace = trace_with_range();
    trace.ranges[0].crosses_threads = true;
    const Timeline timeline = build_timeline(trace, {"", "", "work"});
    CHECK(find_row(timeline, "stream 7")->boxes.size() == 3);
    CHECK(timeline.rows.front().name == "NVTX across threads");
}

TEST_CASE("Idle is the time in which nothing runs, whoever launched it") {
    const Timeline timeline = build_timeline(trace_with_range(), {"", "", "work"});
    CHECK(timeline.idle == Intervals{{100, 120}, {200, 210}});
    Trace trace = trace_with_range();
    add_copy(trace, Direction::device_to_device, 195, 208, 9);  // launched outside the range
    CHECK(build_timeline(trace, {"", "", "work"}).idle == Intervals{{100, 120}, {208, 210}});
    add_kernel(trace, "elsewhere", 90, 105, 9).correlation = 77;
    CHECK(build_timeline(trace, {"", "", "work"}).idle == Intervals{{105, 120}, {208, 210}});
}

TEST_CASE("Without a range everything is shown") {
    const Timeline timeline = build_timeline(trace_with_range(), {});
    CHECK(timeline.begin_ns == 10);
    CHECK(timeline.end_ns == 420);
    CHECK(names_of(timeline) ==
          std::vector<std::string>{"NVTX main thread of 4711", "main thread of 4711 waits",
                                   "stream 7 of 4711", "stream 8 of 4711", "stream 7 of 4712",
                                   "copy engine host to device", "copy engine device to host"});
}

TEST_CASE("A range that no one made is an error that names those there are") {
    CHECK_THROWS_WITH_AS((void)build_timeline(trace_with_range(), {"", "", "wrok"}),
                         doctest::Contains("work"), Error);
}

TEST_CASE("A range in which nothing is launched is shown alone") {
    Trace trace;
    add_kernel(trace, "k", 0, 10, 7);
    add_range(trace, "empty", 100, 200);
    const Timeline timeline = build_timeline(trace, {"", "", "empty"});
    CHECK(timeline.rows.size() == 1);
    CHECK(timeline.idle == Intervals{{100, 200}});
}

TEST_CASE("Calls that wait for a moment each are shown if together they wait for long") {
    Trace trace;
    add_kernel(trace, "step", 0, 100 * kMs, 7);
    for (int64_t i = 0; i < 40; ++i) {
        add_call(trace, "cudaMemcpy", i * 2 * kMs, i * 2 * kMs + kMs / 2, 5000 + i);  // 20 % in all
        add_call(trace, "cudaMemGetInfo", i * 2 * kMs + kMs, i * 2 * kMs + kMs + 1000, 6000 + i);
        add_call(trace, "cudaLaunchKernel", i * 2 * kMs + kMs, i * 2 * kMs + 2 * kMs, 7000 + i);
    }
    const Timeline timeline = build_timeline(trace, {"many", "", std::nullopt});
    const TimelineRow* const waits = find_row(timeline, "main thread waits");
    REQUIRE(waits);
    CHECK(waits->boxes.size() == 40);
    for (const Box& box : waits->boxes) CHECK(box.name == "cudaMemcpy");
}

TEST_CASE("An empty capture has no rows") {
    const Timeline timeline = build_timeline({}, {});
    CHECK(timeline.span_ns() == 0);
    CHECK(timeline.rows.empty());
    CHECK(timeline.idle.empty());
}

TEST_CASE("Boxes of a stream that overlap get lanes") {
    Trace trace;
    add_kernel(trace, "a", 0, 100, 7);
    add_kernel(trace, "b", 50, 150, 7);
    add_kernel(trace, "c", 100, 200, 7);  // begins as a ends, so its lane is free
    const Timeline timeline = build_timeline(trace, {});
    REQUIRE(timeline.rows.size() == 1);
    CHECK(timeline.rows[0].lanes == 2);
    CHECK(timeline.rows[0].boxes[0].lane == 0);
    CHECK(timeline.rows[0].boxes[1].lane == 1);
    CHECK(timeline.rows[0].boxes[2].lane == 0);
}

TEST_CASE("Colour indices go to the kernels by time") {
    Trace trace;
    add_kernel(trace, "short", 0, 10, 7);
    add_kernel(trace, "long", 10, 40, 7);
    add_kernel(trace, "often", 40, 60, 7);
    add_kernel(trace, "often", 60, 80, 7);
    const std::vector<Box> boxes = build_timeline(trace, {}).rows[0].boxes;
    CHECK(boxes[0].colour_index == 2);
    CHECK(boxes[1].colour_index == 1);
    CHECK(boxes[2].colour_index == 0);
    CHECK(boxes[3].colour_index == 0);
}

TEST_CASE("Copies say what they moved and how fast; sets and copies on the device have no engine row") {
    Trace trace;
    add_copy(trace, Direction::host_to_device, 5 * kMs, 7 * kMs, 13);
    add_copy(trace, Direction::set, 8 * kMs, 9 * kMs, 13);
    add_copy(trace, Direction::device_to_device, 9 * kMs, 10 * kMs, 13);
    const Timeline timeline = build_timeline(trace, {});
    REQUIRE(timeline.rows.size() == 3);
    CHECK(timeline.rows[0].boxes.size() == 3);
    CHECK(timeline.rows[0].boxes[0].name == "100 MB");
    CHECK(timeline.rows[0].boxes[0].hover ==
          "copy host to device (pinned to device) 100 MB, stream 13: 2 ms at 0 ns, 50 GB/s");
    CHECK(timeline.rows[0].boxes[1].kind == Box::Kind::set);
    CHECK(timeline.rows[0].boxes[2].kind == Box::Kind::copy_other);
    CHECK(timeline.rows[1].boxes.size() == 1);
    CHECK(timeline.rows[2].boxes.empty());

    trace.copies.erase(trace.copies.begin());
    CHECK(build_timeline(trace, {}).rows.size() == 1);
}

TEST_CASE("Streams of several GPUs are told apart") {
    Trace trace;
    add_kernel(trace, "k", 0, 10, 7);
    add_kernel(trace, "k", 0, 10, 7).device = 1;
    CHECK(names_of(build_timeline(trace, {})) ==
          std::vector<std::string>{"GPU 0 stream 7", "GPU 1 stream 7"});
}

TEST_CASE("Threads packed as nsys packs them are named by their numbers") {
    Trace trace;
    constexpr int64_t kPacked = (int64_t{9} << 48) | (int64_t{674} << 24);
    trace.ranges.push_back({0, 10, kPacked, kPacked | 674, false, "main", ""});
    trace.ranges.push_back({0, 10, kPacked, kPacked | 680, false, "worker", ""});
    CHECK(names_of(build_timeline(trace, {})) ==
          std::vector<std::string>{"NVTX main thread", "NVTX thread 680"});
}

TEST_CASE(
    "a copy call that takes long holds up the host; a launch that takes long does not, nor a short call") {
    Trace trace;
    trace.names = {"work", "cudaMemcpyAsync", "cudaLaunchKernel", "cudaEventRecord"};
    trace.kernels = {{0, 1000, 7, 0, 2, 1, 0}};
    trace.api_calls = {{0, 300, 1, 1, 10, 1, 0}, {300, 600, 2, 1, 10, 2, 0}, {600, 605, 3, 1, 10, 3, 0}};
    const Timeline timeline = build_timeline(trace, {"", "", std::nullopt});
    const TimelineRow* waits = nullptr;
    for (const TimelineRow& row : timeline.rows)
        if (row.name.ends_with("waits")) waits = &row;
    REQUIRE(waits);
    REQUIRE(waits->boxes.size() == 1);
    CHECK(waits->boxes[0].name == "cudaMemcpyAsync");
}
