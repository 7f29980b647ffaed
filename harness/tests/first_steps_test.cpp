#include "evidence/first_steps.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/files.h"
#include "evidence/evidence.h"

namespace lab::first_steps_test {

namespace {

constexpr int64_t kMs = 1'000'000;

/// One GPU, one process, one thread.
struct Story {
    Trace trace;
    Story() {
        trace.names = {"add",           "cudaLaunchKernel",      "cudaMemcpyAsync",
                       "cudaHostAlloc", "cudaDeviceSynchronize", "cudaEventQuery"};
    }

    int64_t call(int64_t start_ns, int64_t end_ns, int64_t name, int64_t result = 0) {
        trace.api_calls.push_back({start_ns, end_ns, std::ssize(trace.api_calls) + 1, 1, 1, name, result});
        return std::ssize(trace.api_calls) - 1;
    }
    void kernel(int64_t called_ns, int64_t start_ns, int64_t end_ns, int64_t stream = 7) {
        const int64_t at = call(called_ns, called_ns + 5000, 1);
        trace.kernels.push_back({start_ns, end_ns, stream, 0, at + 1, 1, at, 0});
    }
    void copy(int64_t start_ns, int64_t end_ns, Direction direction, const char* host_memory = "pinned",
              int64_t stream = 7, int64_t bytes = 50'000'000) {
        const int64_t at = call(start_ns - 10'000, start_ns - 5000, 2);
        const bool up = direction == Direction::host_to_device;
        trace.copies.push_back({start_ns, end_ns, stream, 0, at + 1, 1, at, bytes, direction,
                                up ? host_memory : "device", up ? "device" : host_memory});
    }

    [[nodiscard]] std::vector<FirstStep> steps() const {
        return first_steps(trace, analyse(trace), "r.sqlite");
    }
};

std::vector<std::string> rules_of(const std::vector<FirstStep>& steps) {
    std::vector<std::string> rules;
    for (const FirstStep& step : steps) rules.push_back(step.rule);
    return rules;
}

using Rules = std::vector<std::string>;

/// Of a recorded program of a case, whichever GPU recorded it.
std::vector<FirstStep> steps_of_evidence(const char* folder, const std::string& program,
                                         const std::string& range) {
    std::string file;
    for (const auto& gpu : fs::directory_iterator(fs::path(LAB_SOURCE_FOLDER) / folder / "evidence"))
        if (fs::exists(gpu.path() / (program + ".sqlite")))
            file = (gpu.path() / (program + ".sqlite")).string();
    const Evidence evidence = Evidence::open(file);
    const auto of = range.empty() ? std::nullopt : std::optional(range);
    return first_steps(evidence.trace(), analyse(evidence.trace(), of), file);
}

}  // namespace

TEST_CASE("first steps: the faulty program of a case is told its fault, and the fixed one is not") {
    struct Row {
        const char *folder, *faulty, *right, *range, *rule;
    };
    for (const Row& row : {
             Row{"ch01_tools", "buggy", "fixed", "solve", "round_trips"},
             {"ch02_nsys", "buggy", "fixed", "", "pageable"},
             {"ch05_streams", "buggy", "fixed", "normalise", "no_overlap"},
             {"ch06_graphs", "buggy", "fixed", "step", "launch_bound"},
             {"ch01_tools/exercises/1_silent_failure", "starter", "solution", "", "failed_calls"},
             {"ch01_tools/exercises/2_too_many_switches", "starter", "solution", "discharge", "waits"},
             {"ch02_nsys/exercises/1_one_thread_sum", "starter", "solution", "sum", "kernel"},
             {"ch02_nsys/exercises/3_learning_layer", "starter", "solution", "train", "idle"},
             {"ch02_nsys/exercises/4_revalued_curves", "starter", "solution", "rounds", "gpu_gaps"},
             {"ch05_streams/exercises/2_pageable_async", "starter", "solution", "cool", "pageable"},
             {"ch06_graphs/exercises/2_recapture", "starter", "solution", "with graphs", "waits"},
             {"ch06_graphs/exercises/3_film", "starter", "solution", "", "failed_calls"},
         }) {
        CAPTURE(row.folder);
        const auto says = [&](const char* program) {
            const auto rules = rules_of(steps_of_evidence(row.folder, program, row.range));
            return std::find(rules.begin(), rules.end(), row.rule) != rules.end();
        };
        CHECK(says(row.faulty));
        CHECK_FALSE(says(row.right));
    }
    // What nsys does not see of chapters 3 and 7 is a kernel's: it sends to ncu. Of chapter 4 it sees
    // nothing.
    for (const char* program : {"buggy", "fixed"}) {
        CHECK(rules_of(steps_of_evidence("ch03_ncu", program, "large")) == Rules{"kernel"});
        CHECK(rules_of(steps_of_evidence("ch07_roofline", program, "layers")) == Rules{"kernel"});
        CHECK(steps_of_evidence("ch04_sanitizer", program, "").empty());
    }
    CHECK(
        steps_of_evidence("ch05_streams/exercises/1_vector_add_pipeline", "starter", "pipeline")[0].text.find(
            "both directions can run at once") != std::string::npos);
    // Its kernels are many, and the host is far ahead all the same.
    CHECK(rules_of(steps_of_evidence("ch06_graphs/exercises/1_capture_attention", "starter", "answer"))[0] ==
          "gpu_gaps");
    CHECK(steps_of_evidence("ch06_graphs/exercises/2_recapture", "starter", "with graphs")[1].text.find(
              "cudaGraphInstantiate (59 calls") != std::string::npos);
    // The first launch of `forecast` has one block.
    CHECK(steps_of_evidence("ch05_streams/exercises/5_ferries", "solution", "")
              .back()
              .text.ends_with("ncu -k forecast --launch-skip 1 -c 1 --set full PROGRAM"));
    CHECK(steps_of_evidence("ch05_streams/exercises/8_mill_and_bakery", "starter", "day")[0].text.ends_with(
        "The next work was queued: look what it waits for."));
}

TEST_CASE("first steps: at most three on any recording, each once, in the order of the rules, with a number" *
          doctest::test_suite("whole course")) {
    const std::vector<std::string>& order = first_step_rules();
    std::set<std::string> seen;
    int recordings = 0;
    for (const auto& entry : fs::recursive_directory_iterator(LAB_SOURCE_FOLDER)) {
        const std::string path = entry.path().string();
        if (path.find("/evidence/") == path.npos || !path.ends_with(".sqlite") ||
            path.find("/ch") == path.npos)
            continue;
        const Evidence evidence = Evidence::open(entry.path());
        if (!evidence.has_trace()) continue;
        ++recordings;
        const std::vector<FirstStep> steps = first_steps(evidence.trace(), analyse(evidence.trace()), path);
        CAPTURE(path);
        CHECK(steps.size() <= 3);
        auto last = order.begin();
        const auto is_short = [](const FirstStep& s) {
            return s.rule == "launch_bound" || s.rule == "waits" || s.rule == "gpu_gaps";
        };
        for (const FirstStep& step : steps) {
            // Of long gaps and short ones, those come first that take more time.
            if (step.rule == "idle" && last != order.begin() && &step != steps.data() &&
                is_short(*(&step - 1))) {
                CHECK(*(&step - 1)->share > *step.share);
                seen.insert(step.rule);
                continue;
            }
            const auto at = std::find(last, order.end(), step.rule);
            REQUIRE(at != order.end());
            last = std::next(at);
            seen.insert(step.rule);
            CHECK(step.text.find_first_of("0123456789") != std::string::npos);
            CHECK(step.share.has_value() == (step.rule != "failed_calls"));
            if (step.share) CHECK((*step.share >= 0.0999 && *step.share <= 1.0));
        }
    }
    CHECK(recordings > 180);
    CHECK(seen.size() == order.size() - 1);  // a trace holds no page faults
}

TEST_CASE("first steps: page faults of the GPU, which are told beside the trace") {
    const fs::path folder =
        fs::path(LAB_SOURCE_FOLDER) / "ch02_nsys/exercises/8_weir/evidence/h100-80gb-hbm3";
    const Evidence evidence = Evidence::open(folder / "starter.sqlite");
    const Analysis analysis = analyse(evidence.trace(), "river");
    const auto steps = [&](int64_t ns, bool are_known = false, bool has_some = false) {
        return first_steps(evidence.trace(), analysis, "x", {ns, are_known, has_some});
    };
    CHECK(rules_of(steps(analysis.span_ns / 5))[0] == "page_faults");
    CHECK(rules_of(steps(analysis.span_ns / 20))[0] == "idle");
    CHECK(steps(analysis.span_ns / 5)[0].text.ends_with(
        "nsys says which host functions fetch the pages back: --cuda-um-cpu-page-faults=true."));
    CHECK(steps(analysis.span_ns / 5, true)[0].text.ends_with(
        "The host fetches none of the pages back meanwhile."));
    CHECK(steps(analysis.span_ns / 5, true, true)[0].text.ends_with(
        "The table 'CPU page faults in' says which host functions fetch the pages back."));
}

TEST_CASE("first steps: one long gap is said to be one, with where the host is and how to look at it") {
    Story story;
    story.kernel(0, 10'000, 10 * kMs);
    story.call(11 * kMs, 19 * kMs, 3);
    story.kernel(20 * kMs, 20 * kMs + 10'000, 30 * kMs);
    const auto steps = story.steps();
    REQUIRE(rules_of(steps) == Rules{"idle", "kernel"});
    CHECK(steps[0].text ==
          "The GPU is idle for 10 of 30 ms: 10 ms of it are one gap, between add and add. For 8 ms of the "
          "gap the host is in cudaHostAlloc (1 call). Allocate before the work begins. Look: ./lab timeline "
          "r.sqlite --from 7.988ms --to 22.002ms");
    CHECK(*steps[0].share == doctest::Approx(10.01 / 29.99));
    CHECK(steps[1].text ==
          "add runs for 20 of 30 ms: 2 times, 9.99 ms each. See why: ncu -k add -c 1 --set full PROGRAM");
}

TEST_CASE("first steps: where no call was recorded, none is blamed, and neither is the host") {
    Story story;
    for (int64_t i = 0; i < 100; ++i) {
        story.kernel(0, i * 100'000, i * 100'000 + 20'000);
        story.trace.kernels.back().call = -1;
    }
    story.trace.api_calls.clear();
    REQUIRE(rules_of(story.steps()) == Rules{"idle"});
    CHECK(story.steps()[0].text ==
          "The GPU is idle for 7.92 of 9.92 ms. Record CUDA's calls, too, to see what the host does "
          "meanwhile.");
}

TEST_CASE("first steps: copies and kernels that could overlap, pageable memory, and the bus") {
    const auto program = [](const char* memory, int64_t streams, int64_t late_ns) {
        Story story;
        for (int64_t i = 0; i < 4; ++i) {
            const int64_t at = i * 10 * kMs, stream = 7 + i % streams;
            story.copy(at, at + 5 * kMs, Direction::host_to_device, memory, stream);
            story.kernel(at, at + 5 * kMs - late_ns, at + 10 * kMs, stream);
        }
        return story.steps();
    };
    const auto one = program("pinned", 1, 0);
    REQUIRE(rules_of(one) == Rules{"no_overlap", "bus", "kernel"});
    CHECK(one[0].text ==
          "All work is in one stream: kernels run for 20 of 40 ms, copies for 20 ms, and both at once for 0 "
          "ns. If the work can be cut into parts, give each part a stream: copies hidden behind kernels save "
          "up to 20 ms.");
    CHECK(one[1].text ==
          "Copies hold the bus for 20 of 40 ms: 200 MB, H2D at 10 GB/s. Move less, or keep it on the GPU.");
    CHECK(program("pinned", 2, 0)[0].text.starts_with("2 streams carry work in turn"));
    CHECK(rules_of(program("pinned", 2, 4 * kMs)) ==
          Rules{"streams_in_turn", "bus", "kernel"});  // most copies overlap
    const auto pageable = program("pageable", 1, 0);
    REQUIRE(rules_of(pageable) == Rules{"pageable", "kernel"});
    CHECK(pageable[0].text ==
          "Pageable memory: 200 MB take 20 of 40 ms, H2D at 10 GB/s. 4 of 4 copies are calls of "
          "cudaMemcpyAsync all the same. Pinned memory (cudaMallocHost) is faster, and can be copied while "
          "kernels run. But pinning can take longer than a copy: it pays for what is copied often.");
    Story once;
    once.copy(0, 5 * kMs, Direction::host_to_device, "pageable");
    CHECK(once.steps()[0].text.find("1 copy of 1 is a call of cudaMemcpyAsync all the same.") !=
          std::string::npos);
}

TEST_CASE("first steps: what to do about time in a call depends on the call") {
    // Of a gap in which the host is in this call. A graph's kernels: as nodes, or all as one.
    const auto advice = [](const std::string& call, bool is_queued = false, const char* graph = nullptr,
                           bool is_one = true, int64_t pageable_bytes = 0,
                           Direction direction = Direction::host_to_device) {
        Story story;
        story.trace.names.push_back(call);
        if (graph) story.trace.names[0] = graph;
        const int64_t name = std::ssize(story.trace.names) - 1;
        story.kernel(0, 10'000, 10 * kMs);
        if (graph) story.trace.api_calls[0].name = name;
        if (is_queued) story.kernel(6000, 20 * kMs, 30 * kMs);
        story.call(11 * kMs, is_one ? 19 * kMs : 15 * kMs, name);
        if (!is_one) story.call(15 * kMs, 19 * kMs, name);
        if (!is_queued) story.kernel(19 * kMs, 20 * kMs, 30 * kMs);
        if (pageable_bytes > 0) {
            story.copy(21 * kMs, 22 * kMs, direction, "pageable", 7, pageable_bytes);
            story.trace.api_calls.back().name = name;
        }
        const std::string text = story.steps().at(0).text;
        const std::size_t begin = text.find("). ") + 3;
        return text.substr(begin, text.find(" Look: ") - begin);
    };
    CHECK(advice("cudaDeviceSynchronize") == "Queue more work before the host waits.");
    CHECK(advice("cudaDeviceSynchronize", true) == "The next work was queued: look what it waits for.");
    CHECK(advice("cudaLaunchKernel").starts_with("A kernel's code is loaded when it is first used"));
    CHECK(advice("cudaGraphLaunch").starts_with("A graph is uploaded at its first launch"));
    CHECK(advice("cudaGraphLaunch", false, kGraphAsAWhole, false) == "Put more work into each graph.");
    CHECK(advice("cudaGraphLaunch", false, "add", false) ==
          "Put more work into each graph. nsys slows the call down, as it records each node: look again with "
          "--cuda-graph-trace=graph:host-only.");
    CHECK(advice("cudaMemcpy").starts_with("The host waits in it: take cudaMemcpyAsync"));
    CHECK(advice("cudaMemcpy3DAsync", false, nullptr, true, 1'000'000) ==
          "Copy from or to pinned memory, and copy more at once.");
    CHECK(advice("cudaMemcpy3DAsync", false, nullptr, true, 1000) == "Copy more at once.");
    CHECK(advice("cudaMemcpy3DAsync", false, nullptr, true, 4, Direction::device_to_host) ==
          "Copy from or to pinned memory, and copy more at once.");
    CHECK(advice("cudaMemcpy3DAsync") == "Copy more at once.");
    CHECK(advice("cudaMemcpyPeer") == "It waits for all other work of both GPUs: its Async form does not.");
    for (const char* call : {"cudaMemset", "cudaMemsetAsync", "cudaMemcpyPeerAsync"})
        CHECK(advice(call) == "Do more in one call.");
    CHECK(advice("cudaDeviceEnablePeerAccess") == "Look whether it is needed there.");
}

TEST_CASE("first steps: what is said of long gaps leaves out short ones that have a sentence") {
    const auto program = [](int64_t long_ns) {
        Story story;
        for (int64_t i = 0; i < 100; ++i)
            story.kernel(i * 20'000 + 10'000, i * 20'000 + 15'000, i * 20'000 + 20'000);
        const int64_t end_ns = 100 * 20'000 + long_ns;
        story.call(100 * 20'000, end_ns, 3);
        story.kernel(end_ns, end_ns + 10'000, end_ns + 20'000);
        return story.steps();
    };
    const auto more = program(5 * kMs);
    REQUIRE(rules_of(more) == Rules{"idle", "launch_bound"});
    CHECK(
        more[0].text.starts_with("The GPU is idle for 5.01 of 7 ms in gaps of 100 µs or more: 5.01 ms of it "
                                 "are one gap, between add and add. For 5 ms of the gap the host is in "
                                 "cudaHostAlloc (1 call)."));
    CHECK(more[1].text.starts_with("The GPU is idle for 1.49 of 7 ms in 99 short gaps"));
    const auto less = program(kMs / 5 * 6);
    REQUIRE(rules_of(less) == Rules{"launch_bound", "idle"});
    CHECK(less[1].text ==
          "The GPU is idle for 1.21 of 3.21 ms in gaps of 100 µs or more. For 1.2 ms of all idle time, short "
          "gaps included, the host is in cudaHostAlloc (1 call). Allocate before the work begins.");
}

TEST_CASE("first steps: a kernel of few blocks is told so, and not sent to ncu") {
    Story story;
    story.kernel(0, 10'000, 10 * kMs);
    story.trace.gpus = {{0, "a GPU", 132}};
    const auto with_blocks = [&](int64_t blocks) {
        story.trace.launch_sizes = {{{blocks, 1, 1}, {256, 1, 1}}};
        story.trace.kernels[0].size = 0;
        return story.steps().back().text;
    };
    CHECK(with_blocks(16).ends_with(
        "It has 16 blocks for 132 SMs: give it more, or let other kernels run beside it."));
    CHECK(with_blocks(67).ends_with("PROGRAM"));
}

TEST_CASE("first steps: ncu is sent to a run that takes long, past the launches before it") {
    const auto last = [](const Story& story) { return story.steps().back().text; };
    Story story;
    story.kernel(0, 10'000, 20'000);
    for (int64_t i = 0; i < 2; ++i) story.kernel(10'000 + i * kMs, 20'000 + i * 5 * kMs, (i + 1) * 5 * kMs);
    CHECK(last(story) ==
          "add runs for 9.97 of 9.99 ms: 3 times, 4.98 ms (median). See why: ncu -k add --launch-skip 1 -c 1 "
          "--set full PROGRAM");
    story.trace.api_calls[1].thread = 2;  // which launches first?
    CHECK(last(story).ends_with("ncu -k add -c 1 --set full PROGRAM"));
    story.trace.api_calls[1].thread = 1;
    story.trace.names[1] = "cudaGraphLaunch";
    CHECK(last(story).ends_with("ncu -k add -c 1 --set full PROGRAM"));
    story.trace.names[1] = "cudaLaunchKernel";
    // Launches before the range count, if some in it are to be skipped.
    story.trace.ranges.push_back({500'000, 2 * kMs, 1, 1, false, "solve", "", 0});
    const auto in_range = [&] {
        return first_steps(story.trace, analyse(story.trace, "solve"), "r.sqlite").back().text;
    };
    CHECK(in_range().ends_with("ncu -k add -c 1 --set full --nvtx --nvtx-include solve/ PROGRAM"));
    story.trace.kernels[1].end_ns = 30'000;
    story.trace.ranges[0].start_ns = 0;
    story.trace.api_calls[0].start_ns = 0;
    CHECK(in_range().ends_with("ncu -k add --launch-skip 2 -c 1 --set full PROGRAM"));
}

TEST_CASE("first steps: a kernel's runs are a product only if that is what they take") {
    const auto program = [](int64_t short_ns, int64_t long_ns) {
        Story story;
        int64_t at_ns = 10'000;
        for (int64_t i = 0; i < 100; ++i) {
            const int64_t end_ns = at_ns + (i == 50 ? long_ns : short_ns);
            story.kernel(i, at_ns, end_ns);
            at_ns = end_ns;
        }
        return story.steps().back().text;
    };
    CHECK(program(20'000, 22'000).starts_with("add runs for 2 of 2 ms: 100 times, 20 µs each. See why"));
    CHECK(program(20'000, 70 * kMs)
              .starts_with("add runs for 72 of 72 ms: 100 times, 20 µs (median) and at most 70 ms. "
                           "See why: ncu -k add --launch-skip 50 "));
    // Most of the time is in long runs, or it isn't.
    CHECK(program(2000, 70 * kMs).find("See why") != std::string::npos);
    CHECK(program(2000, 6000)
              .ends_with("Give each run more work, fuse it with others, or let launches overlap."));
}

TEST_CASE("first steps: short kernels wait for launches, or for a host that waits") {
    const auto program = [](bool waits) {
        Story story;
        for (int64_t i = 0; i < 200; ++i) {
            const int64_t at = i * 20'000;
            story.kernel(at, at + 6000, at + 8000);
            if (waits) story.call(at + 6000, at + 12'000, 4);
        }
        return story.steps();
    };
    REQUIRE(rules_of(program(false)) == Rules{"launch_bound"});
    CHECK(program(false)[0].text ==
          "The GPU is idle for 3.58 of 3.98 ms in 199 short gaps before the next launch: 200 kernels of 2 µs "
          "(median), and a launch call takes 5 µs; for 2.59 ms of all idle time the host is in no CUDA call. "
          "Launch less: fuse kernels, or put them into a CUDA graph.");
    REQUIRE(rules_of(program(true)) == Rules{"waits"});
    CHECK(program(true)[0].text.find("199 short gaps after the host has waited for it, mostly in "
                                     "cudaDeviceSynchronize.") != std::string::npos);
}

TEST_CASE("first steps: a failed call comes first; a query that is not ready has not failed") {
    Story story;
    story.kernel(0, 10'000, 10 * kMs);
    story.call(11 * kMs, 11 * kMs + 100, 5, 600);
    CHECK(rules_of(story.steps()) == Rules{"kernel"});
    story.call(12 * kMs, 12 * kMs + 100, 1, 9);
    story.call(13 * kMs, 13 * kMs + 100, 4, 700);
    REQUIRE(rules_of(story.steps()) == Rules{"failed_calls", "kernel"});
    CHECK(
        story.steps()[0].text.starts_with("cudaLaunchKernel failed once, with code 9 (invalid "
                                          "configuration); 1 other call failed after it. Check "
                                          "what it returns"));
}

TEST_CASE(
    "first steps: a fault of a kernel is looked for in kernels; a graph that cannot be updated is none") {
    Story story;
    story.kernel(0, 10'000, 10 * kMs);
    story.trace.names[5] = "cudaGraphExecUpdate";
    story.call(11 * kMs, 11 * kMs + 100, 5, 910);
    CHECK(rules_of(story.steps()) == Rules{"kernel"});
    story.call(12 * kMs, 12 * kMs + 100, 4, 700);
    CHECK(story.steps()[0].text ==
          "cudaDeviceSynchronize failed once, with code 700 (illegal address). A kernel launched before it "
          "is at "
          "fault: ./lab sanitize PROGRAM finds out which.");
}

TEST_CASE("first steps: nothing is said of a program that keeps its GPU busy, and of an empty trace") {
    Story story;
    for (int64_t i = 0; i < 30; ++i) {
        story.trace.names.push_back(fmt::format("kernel_{}", i));
        story.kernel(i * kMs, i * kMs + 10'000, (i + 1) * kMs);
        story.trace.kernels.back().name = std::ssize(story.trace.names) - 1;
    }
    CHECK(story.steps().empty());
    CHECK(Story().steps().empty());
}

TEST_CASE("first steps: a wait for other GPUs is nothing for ncu") {
    Story story;
    story.kernel(0, 1 * kMs, 6 * kMs);
    story.kernel(0, 6 * kMs, 10 * kMs);
    REQUIRE(rules_of(story.steps()) == Rules{"kernel"});
    story.trace.names.emplace_back("ncclDevKernel_AllReduce");
    story.trace.kernels[0].name = std::ssize(story.trace.names) - 1;
    CHECK(story.steps().empty());
    story.trace.kernels[0].end_ns = 5 * kMs, story.trace.kernels[1].start_ns = 5 * kMs;
    REQUIRE(rules_of(story.steps()) == Rules{"kernel"});
    CHECK(story.steps()[0].text.starts_with("add runs for 5 of 9 ms"));
}

}  // namespace lab::first_steps_test
