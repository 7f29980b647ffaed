// The Chrome trace, read back as JSON.
#include "draw/chrome_trace.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/draw_traces.h"

namespace lab::draw_chrome_trace_test {

using namespace test;
using nlohmann::json;

namespace {

/// The events of one phase: X for boxes, s and f for the ends of arrows, M for names.
json events_of(Trace trace, const std::string& phase) {
    link_to_calls(trace);
    std::ostringstream out;
    write_chrome_trace(trace, out);
    const json written = json::parse(out.str());
    json found = json::array();
    for (const json& event : written.at("traceEvents"))
        if (event.at("ph") == phase) found.push_back(event);
    return found;
}

json only(const json& events, const std::string& name) {
    json found = json::array();
    for (const json& event : events)
        if (event.at("name") == name) found.push_back(event);
    REQUIRE(found.size() == 1);
    return found[0];
}

Trace sample() {
    Trace trace;
    add_call(trace, "cudaMemcpyAsync", 1'000'000, 1'002'000, 1000);
    add_call(trace, "cudaLaunchKernel", 1'003'001, 1'004'000, 1);
    add_copy(trace, Direction::host_to_device, 1'002'500, 1'102'500, 13);
    add_kernel(trace, "work", 1'102'501, 1'234'567, 13);
    add_range(trace, "phase", 1'000'000, 1'300'000);
    trace.gpus.push_back({0, "NVIDIA H200"});
    return trace;
}

}  // namespace

TEST_CASE("Every record becomes an event, in microseconds from the first and on a named track") {
    const json events = events_of(sample(), "X");
    CHECK(events.size() == 5);
    const json copy = only(events, "Memcpy HtoD (Pinned -> Device)"), kernel = only(events, "work");
    CHECK(copy.at("args").at("bytes") == 100'000'000);
    CHECK((copy.at("cat") == "gpu_memcpy" && kernel.at("cat") == "kernel"));
    CHECK((kernel.at("args").at("device") == 0 && kernel.at("args").at("stream") == 13));
    CHECK(kernel.at("args").at("correlation") == 1);
    CHECK(only(events, "phase").at("cat") == "user_annotation");
    CHECK(only(events, "cudaLaunchKernel").at("cat") == "cuda_runtime");
    CHECK(kernel.at("ts") == 102.501);
    CHECK(kernel.at("dur") == 132.066);
    CHECK(kernel.at("pid") == copy.at("pid"));
    CHECK(kernel.at("tid") == copy.at("tid"));
    CHECK(kernel.at("pid") != only(events, "phase").at("pid"));
    CHECK(only(events, "cudaLaunchKernel").at("tid") == only(events, "phase").at("tid"));
    CHECK(only(events, "cudaLaunchKernel").at("args").at("result") == 0);
    std::set<std::string> names;
    for (const json& event : events_of(sample(), "M")) names.insert(event.at("args").value("name", ""));
    CHECK(names ==
          std::set<std::string>{"", "host process 4711", "main thread", "GPU 0: NVIDIA H200", "stream 13"});
    CHECK(events_of({}, "X").empty());
}

TEST_CASE("Arrows lead from the launching call to the work, within the process") {
    Trace trace = sample();
    Kernel& other = add_kernel(trace, "of_another_process", 1'300'000, 1'310'000, 13);
    other.correlation = 1;
    other.process = kProcess + 1;
    const json boxes = events_of(trace, "X"), tails = events_of(trace, "s"), heads = events_of(trace, "f");
    REQUIRE(tails.size() == 2);
    REQUIRE(heads.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        const bool is_kernel = heads[i].at("ts") == only(boxes, "work").at("ts");
        CHECK(heads[i].at("id") == tails[i].at("id"));
        CHECK(tails[i].at("ts") == only(boxes, is_kernel ? "cudaLaunchKernel" : "cudaMemcpyAsync").at("ts"));
    }
}

TEST_CASE("Boxes of one thread never cross") {
    Trace trace;
    add_kernel(trace, "a", 0, 100, 7);
    add_kernel(trace, "inside", 60, 80, 7);  // on one stream this is no nesting
    add_range(trace, "outer", 0, 100);
    add_range(trace, "inner", 10, 20);
    add_range(trace, "crossing", 50, 150);
    const json events = events_of(trace, "X");
    CHECK(only(events, "a").at("tid") != only(events, "inside").at("tid"));
    CHECK(only(events, "outer").at("tid") == only(events, "inner").at("tid"));
    CHECK(only(events, "outer").at("tid") != only(events, "crossing").at("tid"));
}

TEST_CASE("Any bytes in names give valid JSON") {
    Trace trace;
    add_kernel(trace, "quote\" back\\slash\x01\n", 0, 10, 7);
    add_range(trace, "broken \xff\xc3(", 0, 20).domain = "\"\xed\xa0\x80";
    const json events = events_of(trace, "X");
    (void)only(events, "quote\" back\\slash\x01\n");
    (void)only(events, "broken \xef\xbf\xbd\xef\xbf\xbd(");
}

TEST_CASE("A trace for which there is no memory is an error, not half a file") {
    struct Full : std::streambuf {
        int_type overflow(int_type) override { throw std::bad_alloc(); }
    } full;
    std::ostream out(&full);
    CHECK_THROWS_AS(write_chrome_trace(sample(), out), std::bad_alloc);
}

TEST_CASE("A name cannot steer the terminal that the trace is written to") {
    Trace trace = sample();
    trace.names.back() = "\u009b31m\u202e";
    std::ostringstream out;
    write_chrome_trace(trace, out);
    for (const char c : out.str()) CHECK((c == '\n' || (c >= ' ' && c <= '~')));
}

}  // namespace lab::draw_chrome_trace_test
