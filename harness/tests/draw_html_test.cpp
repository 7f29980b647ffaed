// The data of the HTML timeline, read back as JSON, and the page around it. timeline_page.py looks at it in a
// browser.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "draw/palette.h"
#include "draw/timeline.h"
#include "tests/draw_traces.h"

namespace lab::draw_html_test {

using namespace test;
using nlohmann::json;

namespace {

constexpr std::string_view kDataBegin = "<script type=\"application/json\" id=\"data\">";

std::string_view data_text(std::string_view page) {
    const std::size_t begin = page.find(kDataBegin) + kDataBegin.size();
    return page.substr(begin, page.find("</script>", begin) - begin);
}

json data_of(Trace trace, const TimelineOptions& options = {}) {
    link_to_calls(trace);
    return json::parse(data_text(timeline_html({build_timeline(trace, options)})));
}

/// A row by the end of its name.
json row_of(const json& data, const std::string& name, std::size_t program = 0) {
    for (const json& row : data.at("programs").at(program).at("rows"))
        if (row.at("name").get<std::string>().ends_with(name)) return row;
    FAIL("no row " << name);
    return {};
}

json text_of(const json& data, const json& row, const char* column) {
    return data.at("texts").at(row.at(column).get<std::size_t>());
}

/// A copy, two kernels, their calls, a wait, and a range around what launched the second kernel.
Trace sample() {
    Trace trace;
    add_call(trace, "cudaMemcpyAsync", 1000, 1200, 1000);
    add_call(trace, "cudaLaunchKernel", 2000, 2100, 1);
    add_call(trace, "cudaLaunchKernel", 3000, 3050, 2);
    add_call(trace, "cudaStreamSynchronize", 3100, 9000, 77).result = 4;
    add_copy(trace, Direction::host_to_device, 1500, 2500, 13);
    add_kernel(trace, "short", 2600, 2700, 13);
    add_kernel(trace, "long", 4000, 8000, 13).size = 0;
    add_range(trace, "solve", 2900, 3100);
    trace.launch_sizes.push_back({{128, 2, 1}, {256, 1, 1}});
    trace.gpus.push_back({0, "NVIDIA H200"});
    return trace;
}

}  // namespace

TEST_CASE("Rows have Nsight Systems' names and order, and every call is in one") {
    const json data = data_of(sample());
    std::vector<std::string> names;
    for (const json& row : data.at("programs").at(0).at("rows"))
        names.push_back(row.at("group").get<std::string>() + ": " + row.at("name").get<std::string>());
    CHECK(names == std::vector<std::string>{"CUDA HW (NVIDIA H200): Stream 13 Kernels",
                                            "CUDA HW (NVIDIA H200): Stream 13 Memory",
                                            "CUDA HW (NVIDIA H200): NVTX", "CUDA HW (NVIDIA H200): GPU idle",
                                            "CPU, main thread: NVTX", "CPU, main thread: CUDA API"});
    CHECK(row_of(data, "CUDA API").at("begin").size() == 4);
}

TEST_CASE("Times count from the left edge, and what all events of a row share is written once") {
    const json data = data_of(sample());
    const json kernels = row_of(data, "Kernels");  // the window begins with the copy, at 1500
    CHECK(kernels.at("begin") == json{1100, 1400});
    CHECK(kernels.at("ns") == json{100, 4000});
    CHECK(kernels.at("lane") == 0);
    CHECK(row_of(data, "CUDA API").at("begin") == json{-500, 1000, 1000, 100});
    CHECK(data.at("programs").at(0).at("view") == json{0, 6500});
}

TEST_CASE("Work has the id of its call, ranges the same id on both sides, and notes say the rest") {
    const json data = data_of(sample());
    const json kernels = row_of(data, "Kernels"), copies = row_of(data, "Memory"),
               calls = row_of(data, "API");
    CHECK(kernels.at("id") == json{1, 2});
    CHECK(calls.at("id") == json{1000, 1, 2, 77});
    CHECK(copies.at("bytes") == 100'000'000);
    CHECK(text_of(data, copies, "text") == "copy host to device");
    CHECK(text_of(data, copies, "note") == "memory pinned to device");
    CHECK(data.at("texts").at(kernels.at("note").at(1).get<std::size_t>()) ==
          "grid <<<128, 2, 1>>>, block <<<256, 1, 1>>>");
    CHECK(kernels.at("note").at(0) == -1);
    CHECK(data.at("texts").at(calls.at("note").at(3).get<std::size_t>()) == "returned error 4");
    const json on_gpu = data.at("programs").at(0).at("rows").at(2),
               on_cpu = data.at("programs").at(0).at("rows").at(4);
    CHECK(on_gpu.at("kind") == "projected");
    CHECK(on_cpu.at("kind") == "nvtx");
    CHECK(on_gpu.at("id") == on_cpu.at("id"));
    CHECK(on_gpu.at("ns") == 4000);
    CHECK(on_cpu.at("thread") == calls.at("thread"));
}

TEST_CASE("A range says where the page begins and hides nothing, and kernels look as in the SVG") {
    Trace trace = sample();
    link_to_calls(trace);
    const Timeline timeline = build_timeline(trace, {"title", "label", "solve"});
    const json data = json::parse(data_text(timeline_html({timeline})));
    CHECK(data.at("programs").at(0).at("view") == json{0, 5100});  // from 2900 to the end of its kernel
    const json kernels = row_of(data, "Kernels");
    CHECK(kernels.at("begin") == json{-300, 1400});
    const auto paint = [&](std::size_t kernel) { return Paint(kernels.at("paint").at(kernel).get<int>()); };
    CHECK(paint(0) != paint(1));  // although the SVG has no kernel but the long one
    CHECK(data.at("looks").at(static_cast<std::size_t>(paint(1))).at(0) == look_of(paint(1)).fill);
    CHECK(timeline_svg({timeline}).find(look_of(paint(1)).fill) != std::string::npos);
}

TEST_CASE("Start/end ranges, several processes and GPUs have rows of their own") {
    Trace trace = sample();
    trace.ranges[0].crosses_threads = true;
    Kernel& other = add_kernel(trace, "elsewhere", 4000, 4100, 7);
    other.process = kProcess + 1, other.device = 1;
    const json data = data_of(trace);
    CHECK(row_of(data, "Stream 7 of 4712 Kernels").at("group") == "CUDA HW (GPU 1)");
    CHECK(row_of(data, "Stream 13 of 4711 Kernels").at("group") == "CUDA HW (GPU 0, NVIDIA H200)");
    CHECK(row_of(data, "idle").at("group") == "CUDA HW, all GPUs");
    bool across = false;
    for (const json& row : data.at("programs").at(0).at("rows"))
        across = across || (row.at("group") == "Across threads of 4711" && row.at("thread") == 0);
    CHECK(across);
}

TEST_CASE("Names from strangers end no element and reach the page as text") {
    const std::string attack = "</script><img src=x onerror=alert(1)><!--";
    Trace trace;
    add_kernel(trace, attack, 0, 100, 7);
    add_kernel(trace, "\xe2\x80\xaegnp\xff\x01", 200, 300, 7);
    add_range(trace, attack, 0, 300);
    link_to_calls(trace);
    Timeline timeline = build_timeline(trace, {attack, attack, std::nullopt});
    timeline.curves.push_back({attack, attack, {{0, 1.0}}});
    const std::string page = timeline_html({timeline});
    CHECK(count_of(page, "</script>") == 3);
    CHECK(count_of(page, "<img") == 0);
    CHECK(count_of(page, "\xe2\x80\xae") == 0);
    const std::string_view data = data_text(page);
    CHECK(data.find('<') == data.npos);
    const json texts = json::parse(data).at("texts");
    CHECK(std::find(texts.begin(), texts.end(), json(attack)) != texts.end());
    CHECK(std::find(texts.begin(), texts.end(), json("gnp\xef\xbf\xbd")) != texts.end());
}

TEST_CASE("Two programs share texts and paints, and each has its own zero and curves") {
    Trace first = sample(), second = sample();
    for (Kernel& kernel : second.kernels) kernel.start_ns += 1'000'000, kernel.end_ns += 1'000'000;
    std::vector<Timeline> timelines =
        build_timelines({{&first, {"a", "", std::nullopt}}, {&second, {"b", "", std::nullopt}}});
    timelines[1].curves.push_back({"SMs Active", "%", {{1500, 10}, {2500, NAN}, {3500, 12.5}}});
    const json data = json::parse(data_text(timeline_html(timelines)));
    CHECK(row_of(data, "Kernels", 0).at("text") == row_of(data, "Kernels", 1).at("text"));
    CHECK(row_of(data, "Kernels", 0).at("paint") == row_of(data, "Kernels", 1).at("paint"));
    CHECK(data.at("programs").at(0).at("curves").empty());
    const json curve = data.at("programs").at(1).at("curves").at(0);
    CHECK(curve.at("unit") == "%");
    CHECK(curve.at("points") == json{0, 10, 2000, 12.5});
}

TEST_CASE("A capture of nothing has a page, and a large one a small page") {
    CHECK(data_of({}).at("programs").at(0).at("rows").empty());
    Trace trace;
    for (int i = 0; i < 100'000; ++i) {
        add_kernel(trace, i % 2 ? "a" : "b", i * 5000, i * 5000 + 2000 + i % 700, 7 + i % 3);
        trace.api_calls.push_back({i * 5000, i * 5000 + 1000 + i % 300, i + 1, kProcess, kThread, 0});
    }
    link_to_calls(trace);
    const std::string page = timeline_html({build_timeline(trace, {})});
    CHECK(page.size() < 200'000 * 25 + 120'000);
}

}  // namespace lab::draw_html_test
