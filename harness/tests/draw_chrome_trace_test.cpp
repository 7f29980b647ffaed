// The Chrome trace, read back as JSON.
#include "draw/chrome_trace.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/draw_traces.h"

using namespace lab;
using namespace lab::test;
using nlohmann::json;

namespace {

std::string text_of(const Trace& trace) {
    std::ostringstream out;
    write_chrome_trace(trace, out);
    return out.str();
}

std::vector<json> events_of(const Trace& trace, const std::string& phase) {
    std::vector<json> found;
    const json parsed = json::parse(text_of(trace));
    for (const json& event : parsed.at("traceEvents"))
        if (event.at("ph") == phase) found.push_back(event);
    return found;
}

json only(const std::vector<json>& events, const std::string& name) {
    std::vector<json> found;
    for (const json& event : events)
        if (event.at("name") == name) found.push_back(event);
    REQUIRE(found.size() == 1);
    return found.front();
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

TEST_CASE("Every record becomes an event") {
    const std::vector<json> events = events_of(sample(), "X");
    CHECK(events.size() == 5);
    const json copy = only(events, "copy host to device");
    CHECK(copy.at("cat") == "copy");
    CHECK(copy.at("args").at("bytes") == 100'000'000);
    CHECK(copy.at("args").at("from") == "pinned");
    CHECK(copy.at("args").at("to") == "device");
    CHECK(only(events, "cudaLaunchKernel").at("args").at("result") == 0);
    CHECK(only(events, "work").at("pid") == copy.at("pid"));
    CHECK(only(events, "work").at("tid") == copy.at("tid"));
    CHECK(only(events, "work").at("pid") != only(events, "phase").at("pid"));
    CHECK(only(events, "phase").at("tid") == only(events, "cudaLaunchKernel").at("tid"));
}

TEST_CASE("Times are microseconds from the first event, to the nanosecond") {
    const std::string text = text_of(sample());
    CHECK(text.find("\"name\":\"work\"") != text.npos);
    CHECK(text.find("\"ts\":102.501,\"dur\":132.066") != text.npos);
    CHECK(text.find("\"ts\":0.000,\"dur\":300.000") != text.npos);
}

TEST_CASE("Arrows lead from the launching call to the work, within the process") {
    Trace trace = sample();
    Kernel& other = add_kernel(trace, "of_another_process", 1'300'000, 1'310'000, 13);
    other.correlation = 1;
    other.process = kProcess + 1;
    const std::vector<json> starts = events_of(trace, "s"), ends = events_of(trace, "f");
    REQUIRE(starts.size() == 2);
    REQUIRE(ends.size() == 2);
    std::map<int, json> start_of;
    for (const json& start : starts) start_of[start.at("id").get<int>()] = start;
    REQUIRE(start_of.size() == 2);
    const std::vector<json> boxes = events_of(trace, "X");
    for (const json& end : ends) {
        const json& start = start_of.at(end.at("id").get<int>());
        const bool is_kernel = end.at("ts") == only(boxes, "work").at("ts");
        const json call = only(boxes, is_kernel ? "cudaLaunchKernel" : "cudaMemcpyAsync");
        CHECK(start.at("ts") == call.at("ts"));
        CHECK(start.at("tid") == call.at("tid"));
        CHECK(end.at("bp") == "e");
    }
}

TEST_CASE("Processes and threads have names") {
    std::set<std::string> names;
    for (const json& event : events_of(sample(), "M"))
        if (event.at("args").contains("name")) names.insert(event.at("args").at("name"));
    CHECK(names ==
          std::set<std::string>{"host process 4711", "main thread", "GPU 0: NVIDIA H200", "stream 13"});
}

TEST_CASE("Boxes of one thread never cross") {
    Trace trace;
    add_kernel(trace, "a", 0, 100, 7);
    add_kernel(trace, "b", 50, 150, 7);  // overlaps on its stream
    add_kernel(trace, "c", 60, 80, 7);   // inside, which is no nesting for kernels
    add_range(trace, "outer", 0, 100);
    add_range(trace, "inner", 10, 20);
    add_range(trace, "crossing", 50, 150).domain = "another library";
    const std::vector<json> events = events_of(trace, "X");
    std::set<int> kernel_threads;
    for (const char* name : {"a", "b", "c"}) kernel_threads.insert(only(events, name).at("tid").get<int>());
    CHECK(kernel_threads.size() == 3);
    CHECK(only(events, "outer").at("tid") == only(events, "inner").at("tid"));
    CHECK(only(events, "outer").at("tid") != only(events, "crossing").at("tid"));
}

TEST_CASE("Any bytes in names give valid JSON") {
    Trace trace;
    add_kernel(trace, "quote\" back\\slash\x01\n", 0, 10, 7);
    add_kernel(trace, "broken \xff\xc3(", 10, 20, 7);
    add_range(trace, "\xed\xa0\x80 range", 0, 20).domain = "\"";
    trace.gpus.push_back({0, "GPU \"\xfe"});
    const std::vector<json> events = events_of(trace, "X");
    CHECK(events.size() == 3);
    (void)only(events, "quote\" back\\slash\x01\n");
    (void)only(events, "broken \xef\xbf\xbd\xef\xbf\xbd(");
}

TEST_CASE("An empty capture is a valid trace, and output is the same every time") {
    CHECK(json::parse(text_of({})).at("traceEvents").empty());
    CHECK(text_of(sample()) == text_of(sample()));
}

TEST_CASE("A stream with a locale of its own gets the same bytes") {
    struct Grouping : std::numpunct<char> {
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
    };
    std::ostringstream out;
    out.imbue(std::locale(out.getloc(), new Grouping));
    write_chrome_trace(sample(), out);
    CHECK(out.str() == text_of(sample()));
}
