#include "evidence/critical_path.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "evidence/communication.h"
#include "evidence/evidence.h"
#include "evidence/launches.h"
#include "random_trace.h"

namespace lab::critical_path_test {

namespace {

/// A program of one thread on one GPU that runs by rules of its own, so that it can be run again with other
/// kernels. Its work starts at the latest of: 3 µs after its call began; 1 µs after the work before it on its
/// stream, after an event that the stream waits for, and after what the default stream orders. A wait takes
/// 2 µs, or until 1 µs after the work.
class Program {
  public:
    enum What { kernel, copy, record, stream_wait, stream_sync, device_sync, host };
    struct Step {
        What what;
        int64_t stream, ns;     ///< of work, or of host code
        std::size_t name;       ///< of a kernel
        std::size_t event = 0;  ///< that is waited for: of so manieth record
    };
    static constexpr int64_t kProcess = 1 << 24, kThread = kProcess + 1, kDefault = 7;

    explicit Program(unsigned seed) {
        std::mt19937 random(seed);
        const auto up_to = [&](int64_t end) {
            return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
        };
        const int64_t streams = up_to(4) + 1;
        std::size_t records = 0;
        for (int64_t i = 0; i < 60; ++i) {
            const int64_t draw = up_to(20), stream = up_to(streams) + kDefault;
            const int64_t ns = up_to(3) == 0 ? up_to(60'000) + 1 : up_to(6000) + 1;
            if (draw < 10)
                steps_.push_back({kernel, stream, ns, static_cast<std::size_t>(up_to(3))});
            else if (draw < 12)
                steps_.push_back({copy, stream, ns, 0});
            else if (draw < 14 && i > 0)
                steps_.push_back({record, 0, 0, 0}), ++records;
            else if (draw < 16 && records > 0)
                steps_.push_back({stream_wait, stream, 0, 0, static_cast<std::size_t>(up_to(records)) + 1});
            else if (draw == 16)
                steps_.push_back({stream_sync, stream, 0, 0});
            else if (draw == 17)
                steps_.push_back({device_sync, 0, 0, 0});
            else
                steps_.push_back({host, 0, ns, 0});
        }
        steps_.insert(steps_.begin() + 3, {kernel, kDefault, 5000, 0});
        for (int64_t s = 0; s < streams; ++s)
            if (s == 0 ? up_to(2) == 0 : up_to(2) == 0)
                tables_.kinds[{kProcess, kDefault + s}] =
                    s == 0 ? StreamTables::legacy_default : StreamTables::non_blocking;
    }

    /// Runs it; kernels of the name `free` take no time. The steps from the 11th to the 40th are a range, and
    /// with `of_range` only these kernels are free.
    Trace run(int64_t free = -1, bool of_range = false) {
        Trace trace;
        trace.names = {"k0",
                       "k1",
                       "k2",
                       "cudaLaunchKernel",
                       "cudaMemcpyAsync",
                       "cudaEventRecord",
                       "cudaStreamWaitEvent",
                       "cudaStreamSynchronize",
                       "cudaDeviceSynchronize"};
        std::map<int64_t, int64_t> last_end;                // by stream
        std::map<int64_t, std::vector<int64_t>> waits_for;  // by stream
        std::vector<int64_t> events;
        int64_t now = 1000, used = -1;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const Step& step = steps_[i];
            if (i == 10) trace.ranges.push_back({now, 0, kProcess, kThread, false, "part", "", 1});
            if (i == 40) trace.ranges[0].end_ns = now;
            if (step.what == host) {
                now += step.ns;
                continue;
            }
            const int64_t number = std::ssize(trace.api_calls);
            ApiCall call{now, now + 1500, number + 1, kProcess, kThread, 3 + step.what, 0};
            now += 200;  // host code after each call
            const auto after = [&](int64_t end_ns, int64_t delay_ns, int64_t& time_ns) {
                time_ns = std::max(time_ns, end_ns + delay_ns);
            };
            if (step.what == kernel || step.what == copy) {
                int64_t start = call.start_ns + 3000;
                for (const auto& [stream, end_ns] : last_end)
                    if (stream == step.stream || orders(stream, step.stream)) after(end_ns, 1000, start);
                for (const int64_t event : waits_for[step.stream]) after(event, 1000, start);
                waits_for[step.stream].clear();
                const bool is_free = step.what == kernel && static_cast<int64_t>(step.name) == free &&
                                     (!of_range || (i >= 10 && i < 40));
                const int64_t end = last_end[step.stream] = start + (is_free ? 0 : step.ns);
                if (step.what == kernel)
                    trace.kernels.push_back({start, end, step.stream, 0, number + 1, kProcess, number,
                                             static_cast<int64_t>(step.name)});
                else
                    trace.copies.push_back({start, end, step.stream, 0, number + 1, kProcess, number, 1,
                                            Direction::device_to_device, "device", "device"});
                used = step.stream;
            }
            if (step.what == record) events.push_back(last_end.count(used) > 0 ? last_end[used] : 0);
            if (step.what == stream_wait) {
                waits_for[step.stream].push_back(events[step.event - 1]);
                used = step.stream;
            }
            if (step.what == stream_wait || step.what == stream_sync)
                tables_.waits[{kProcess, number + 1}] = {step.stream, static_cast<int64_t>(step.event)};
            if (step.what == stream_sync || step.what == device_sync) call.end_ns = call.start_ns + 2000;
            for (const auto& [stream, end_ns] : last_end)
                if (step.what == device_sync || (step.what == stream_sync && stream == step.stream))
                    after(end_ns, 1000, call.end_ns);
            trace.api_calls.push_back(call);
            now += call.end_ns - call.start_ns;
        }
        const auto by_start = [](const auto& x, const auto& y) { return x.start_ns < y.start_ns; };
        std::stable_sort(trace.kernels.begin(), trace.kernels.end(), by_start);
        std::stable_sort(trace.copies.begin(), trace.copies.end(), by_start);
        return trace;
    }

    [[nodiscard]] const StreamTables& tables() const { return tables_; }

    /// First work to last, or from the start of the range to the end of its work and itself.
    static int64_t total_ns(const Trace& trace, bool of_range) {
        int64_t start = INT64_MAX, end = INT64_MIN;
        if (of_range) start = trace.ranges[0].start_ns, end = trace.ranges[0].end_ns;
        const auto add = [&](const auto& all) {
            for (const auto& one : all) {
                const int64_t called = trace.api_calls[static_cast<std::size_t>(one.call)].start_ns;
                if (of_range && (called < trace.ranges[0].start_ns || called >= trace.ranges[0].end_ns))
                    continue;
                if (!of_range) start = std::min(start, one.start_ns);
                end = std::max(end, one.end_ns);
            }
        };
        add(trace.kernels), add(trace.copies);
        return end - start;
    }

  private:
    /// Does the default stream put work of one of these streams after that of the other?
    [[nodiscard]] bool orders(int64_t x, int64_t y) const {
        const auto is = [&](int64_t stream, StreamTables::Kind kind) {
            const auto found = tables_.kinds.find({kProcess, stream});
            return found != tables_.kinds.end() && found->second == kind;
        };
        return x != y && (is(x, StreamTables::legacy_default) || is(y, StreamTables::legacy_default)) &&
               !is(x, StreamTables::non_blocking) && !is(y, StreamTables::non_blocking);
    }

    std::vector<Step> steps_;
    StreamTables tables_;
};

void check_links(const CriticalPath& path) {
    int64_t sum = 0;
    for (const int64_t ns : path.by_kind) sum += ns;
    CHECK(sum == path.total_ns);
    for (std::size_t i = 1; i < path.links.size(); ++i)
        CHECK(path.links[i - 1].end_ns == path.links[i].start_ns);
}

std::vector<std::string> shown(const Trace& trace, const CriticalPath& path) {
    std::vector<std::string> rows;
    for (const PathLink& link : path.links)
        rows.push_back(fmt::format("{} {} {}-{}", to_string(link.kind), name_of(trace, link), link.start_ns,
                                   link.end_ns));
    return rows;
}

}  // namespace

TEST_CASE("critical path: host code, a launch, kernels and copies of two streams, and a wait") {
    Trace trace;
    trace.names = {"slow", "quick", "cudaLaunchKernel", "cudaStreamSynchronize"};
    trace.api_calls = {{1000, 2000, 1, 1, 5, 2, 0},
                       {2500, 3500, 2, 1, 5, 2, 0},
                       {4000, 5000, 3, 1, 5, 2, 0},
                       {5000, 60'000, 4, 1, 5, 3, 0}};
    trace.kernels = {{6000, 26'000, 7, 0, 1, 1, 0, 0}, {7000, 12'000, 8, 0, 2, 1, 1, 1}};
    trace.copies = {{27'000, 57'000, 7, 0, 3, 1, 2, 100, Direction::device_to_host, "device", "pinned"}};
    trace.ranges = {{500, 61'000, 1, 5, false, "all", "", 1}};
    const Dependencies all(trace, {}, "all");
    const CriticalPath path = all.path();
    CHECK(shown(trace, path) ==
          std::vector<std::string>{"host  500-1000", "launch slow 1000-6000", "compute slow 6000-26000",
                                   "gap D2H copy 26000-27000", "copy D2H copy 27000-57000",
                                   "wait cudaStreamSynchronize 57000-60000", "host  60000-61000"});
    CHECK(path.total_ns == 60'500);
    CHECK(path.threads == 1);
    check_links(path);
    const std::vector<FreeKernel> free = all.free_kernels(path);
    REQUIRE(free.size() == 1);
    CHECK(free[0].name == 0);
    CHECK(free[0].on_path_ns == 20'000);
    CHECK(free[0].gain_ns == 18'500);  // then the copy starts 4.5 µs after its call, as no work starts sooner
    CHECK(free[0].total_ns == 42'000);
    CHECK(all.total_ns([](const Kernel& k) { return k.end_ns - k.start_ns; }) == path.total_ns);
    CHECK(Dependencies(trace, {}, std::nullopt).path().total_ns == 51'000);
    CHECK_THROWS_WITH_AS(Dependencies(trace, {}, "none"),
                         "the capture has no NVTX range 'none'; it has 'all'", Error);
    CHECK_THROWS_AS(Dependencies({}, {}, std::nullopt), Error);
}

TEST_CASE("critical path: what a kernel would gain is what its program gains when it runs without it") {
    int gains = 0, by_less_than_its_time = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        Program program(seed);
        const Trace trace = program.run();
        for (const bool of_range : {false, true}) {
            CAPTURE(of_range);
            const auto range = of_range ? std::optional<std::string>("part") : std::nullopt;
            const Dependencies dependencies(trace, program.tables(), range);
            const CriticalPath path = dependencies.path();
            check_links(path);
            CHECK(path.total_ns == Program::total_ns(trace, of_range));
            CHECK(dependencies.total_ns([](const Kernel& k) { return k.end_ns - k.start_ns; }) ==
                  path.total_ns);
            for (const FreeKernel& free : dependencies.free_kernels(path)) {
                CHECK(free.gain_ns >= 0);
                CHECK(free.gain_ns <= free.on_path_ns);
                by_less_than_its_time += free.gain_ns < free.on_path_ns;
                ++gains;
                CHECK(free.total_ns == Program::total_ns(program.run(free.name, of_range), of_range));
            }
        }
    }
    CHECK(gains > 400);
    CHECK(by_less_than_its_time > 100);
}

TEST_CASE("critical path: copies of one direction take turns, and a kernel may wait for room") {
    Trace trace;
    trace.names = {"full", "late", "cudaLaunchKernel", "cudaMemcpyAsync"};
    trace.api_calls = {{0, 100, 1, 1, 5, 2, 0},
                       {200, 300, 2, 1, 5, 2, 0},
                       {400, 500, 3, 1, 5, 3, 0},
                       {600, 700, 4, 1, 5, 3, 0}};
    trace.kernels = {{3000, 50'000, 8, 0, 1, 1, 0, 0}, {52'000, 60'000, 9, 0, 2, 1, 1, 1}};
    const auto copy = [](int64_t start_ns, int64_t end_ns, int64_t call) {
        return Copy{start_ns, end_ns,  9 + call, 0, call + 1, 1, call, 1, Direction::host_to_device,
                    "pinned", "device"};
    };
    trace.copies = {copy(61'000, 91'000, 2), copy(92'000, 122'000, 3)};
    const CriticalPath path = Dependencies(trace, {}, std::nullopt).path();
    CHECK(shown(trace, path) ==
          std::vector<std::string>{"compute full 3000-50000", "gap late 50000-52000",
                                   "compute late 52000-60000", "gap H2D copy 60000-61000",
                                   "copy H2D copy 61000-91000", "gap H2D copy 91000-92000",
                                   "copy H2D copy 92000-122000"});
}

TEST_CASE("critical path: what follows a graph waits for each of its branches") {
    Trace trace;
    trace.names = {"long", "short", "cudaGraphLaunch", "cudaStreamSynchronize", "cudaLaunchKernel"};
    trace.api_calls = {{0, 1000, 1, 1, 5, 2, 0},
                       {1000, 62'000, 2, 1, 5, 3, 0},
                       {63'000, 64'000, 3, 1, 5, 2, 0},
                       {64'000, 65'000, 4, 1, 5, 4, 0}};
    StreamTables tables;
    tables.waits[{1, 2}] = {13, 0};
    trace.kernels = {{4000, 14'000, 13, 0, 1, 1, 0, 1},
                     {15'000, 60'000, 19, 0, 1, 1, 0, 0},
                     {66'000, 76'000, 13, 0, 3, 1, 2, 1},
                     {77'000, 120'000, 19, 0, 3, 1, 2, 0},
                     {122'000, 123'000, 13, 0, 4, 1, 3, 1}};
    SUBCASE("on streams of which one is the program's") {}
    SUBCASE("on streams of the driver's") {
        for (Kernel& k : trace.kernels)
            if (k.correlation != 4 && k.stream == 13) k.stream = 20;
    }
    const Dependencies all(trace, tables, std::nullopt);
    CHECK(shown(trace, all.path()) ==
          std::vector<std::string>{
              "compute short 4000-14000", "gap long 14000-15000", "compute long 15000-60000",
              "wait cudaStreamSynchronize 60000-62000", "host  62000-63000", "launch short 63000-66000",
              "compute short 66000-76000", "gap long 76000-77000", "compute long 77000-120000",
              "gap short 120000-122000", "compute short 122000-123000"});
    CHECK(all.total_ns([](const Kernel& k) { return k.end_ns - k.start_ns; }) == 119'000);
}

TEST_CASE("critical path: a graph was not launched on a stream that is at work meanwhile") {
    Trace trace;
    trace.names = {"long", "node", "cudaLaunchKernel", "cudaGraphLaunch", "cudaStreamSynchronize"};
    trace.api_calls = {{0, 1000, 1, 1, 5, 2, 0},
                       {1000, 2000, 2, 1, 5, 3, 0},
                       {2000, 102'000, 3, 1, 5, 4, 0},
                       {102'000, 103'000, 4, 1, 5, 2, 0}};
    StreamTables tables;
    tables.waits[{1, 3}] = {13, 0};
    trace.kernels = {{4000, 100'000, 13, 0, 1, 1, 0, 0},
                     {6000, 50'000, 20, 0, 2, 1, 1, 1},
                     {105'000, 106'000, 13, 0, 4, 1, 3, 1}};
    CHECK(shown(trace, Dependencies(trace, tables, std::nullopt).path())[0] == "compute long 4000-100000");
}

TEST_CASE("critical path: a kernel that starts early waits for the one before it inside") {
    Trace trace;
    trace.names = {"first", "second", "cudaLaunchKernel"};
    trace.api_calls = {{0, 1000, 1, 1, 5, 2, 0}, {1000, 2000, 2, 1, 5, 2, 0}, {2000, 3000, 3, 1, 5, 2, 0}};
    trace.kernels = {{4000, 14'000, 7, 0, 1, 1, 0, 0}, {5000, 20'000, 7, 0, 2, 1, 1, 1}};
    const Dependencies all(trace, {}, std::nullopt);
    CHECK(shown(trace, all.path()) ==
          std::vector<std::string>{"compute first 4000-14000", "compute second 14000-20000"});
    const auto without = [&](int64_t name) {
        return all.total_ns([&](const Kernel& k) { return k.name == name ? 0 : k.end_ns - k.start_ns; });
    };
    CHECK(without(0) == 7000);  // it starts 1 µs later all the same
    CHECK(without(1) == 10'000);
}

TEST_CASE("critical path: any trace has one, of the length of its work or of its ranges") {
    for (unsigned seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        const Trace trace = RandomTrace(seed).make();
        for (const char* name : {"", "a", "b"}) {
            CAPTURE(name);
            if ((trace.kernels.empty() && trace.copies.empty()) || (*name && !has_range(trace, name)))
                continue;
            const Dependencies all(trace, {}, *name ? std::optional<std::string>(name) : std::nullopt);
            const CriticalPath path = all.path();
            CHECK(all.total_ns([](const Kernel& k) { return k.end_ns - k.start_ns; }) == path.total_ns);
            if (!*name) check_links(path);
        }
    }
}

namespace {

/// Two recordings of a program that differ in how long its kernels take, and in no launch.
struct Faster {
    const char *title, *folder, *slow, *fast, *range;
};

/// Kernels of the range in the order of their launches.
std::vector<Kernel> launched_in(const Trace& trace, const char* range) {
    std::vector<Kernel> kernels = select_range(trace, range).trace.kernels;
    std::sort(kernels.begin(), kernels.end(),
              [](const Kernel& x, const Kernel& y) { return x.correlation < y.correlation; });
    return kernels;
}

/// What the slow one would take with the kernels of the fast one, beside what that one took: a row of
/// docs/analyze.md. Kernels that communicate keep their times.
std::string row_of(const Faster& f) {
    const std::filesystem::path folder = std::filesystem::path(LAB_SOURCE_FOLDER) / f.folder;
    const auto slow = Evidence::open(folder / (std::string(f.slow) + ".sqlite"));
    const auto fast = Evidence::open(folder / (std::string(f.fast) + ".sqlite"));
    const std::vector<Kernel> before = launched_in(slow.trace(), f.range),
                              after = launched_in(fast.trace(), f.range);
    REQUIRE(before.size() == after.size());
    const std::vector<bool> communicates = communication_names(slow.trace());
    std::map<int64_t, int64_t> new_ns;  // by correlation
    int64_t less_ns = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (communicates[static_cast<std::size_t>(before[i].name)]) continue;
        new_ns[before[i].correlation] = after[i].end_ns - after[i].start_ns;
        less_ns += before[i].end_ns - before[i].start_ns - new_ns[before[i].correlation];
    }
    const Dependencies of_slow(slow.trace(), StreamTables::of(slow.database()), f.range);
    const Dependencies of_fast(fast.trace(), StreamTables::of(fast.database()), f.range);
    const int64_t slow_ns = of_slow.path().total_ns, fast_ns = of_fast.path().total_ns;
    const int64_t foretold_ns = of_slow.total_ns([&](const Kernel& k) {
        const auto found = new_ns.find(k.correlation);
        return found == new_ns.end() ? k.end_ns - k.start_ns : found->second;
    });
    const auto error = [&](int64_t gain_ns) {  // %, without a negative zero
        return std::round(1000 *
                          (static_cast<double>(gain_ns) / static_cast<double>(slow_ns - fast_ns) - 1)) /
                   10 +
               0.0;
    };
    return fmt::format("| {} | {} | {} | {} | {:+.1f} % | {:+.1f} % |", f.title, format_ns(slow_ns),
                       format_ns(foretold_ns), format_ns(fast_ns), error(slow_ns - foretold_ns),
                       error(less_ns));
}

}  // namespace

TEST_CASE("critical path: how well it foretold what faster kernels gained is as docs/analyze.md says" *
          doctest::test_suite("whole course")) {
    const std::string page = read_file(std::filesystem::path(LAB_SOURCE_FOLDER) / "docs/analyze.md");
    for (const Faster& faster : std::vector<Faster>{
             {"chapter 5, on two GPUs", "docs/two_gpus", "smaller_grid", "starter", "survey"},
             {"chapter 2", "ch02_nsys/exercises/7_class_sums/evidence/h200", "starter.draw1",
              "solution.draw1", "train"},
             {"chapter 1", "ch01_tools/exercises/3_scaling_analysis/evidence/h100-80gb-hbm3", "starter",
              "solution", "ship grid"},
             {"sleeping_tensor_cores", "ch02_nsys/exercises/2_sleeping_tensor_cores/evidence/h200", "starter",
              "solution", "step"},
             {"pair of chapter 3", "ch03_ncu/evidence/h200", "buggy", "fixed", "large"},
             {"chapter 3", "ch03_ncu/exercises/3_crop_map/evidence/h100-80gb-hbm3", "starter", "solution",
              "survey"},
             {"chapter 3, another", "ch03_ncu/exercises/4_fleet/evidence/h100-80gb-hbm3", "starter",
              "solution", "evening"},
             {"chapter 3, a third", "ch03_ncu/exercises/8_lighthouse/evidence/h100-80gb-hbm3", "starter",
              "solution", "night"},
             {"chapter 6", "ch06_graphs/exercises/6_ring_main/evidence/h100-80gb-hbm3", "starter", "solution",
              "day"},
             {"chapter 7", "ch07_roofline/exercises/3_three_formats/evidence/h100-80gb-hbm3", "starter",
              "solution", "decode"},
             {"chapter 7, another", "ch07_roofline/exercises/7_spectra/evidence/h100-80gb-hbm3",
              "starter.draw3", "solution.draw3", "night"},
             {"chapter 3, a fourth", "ch03_ncu/exercises/5_product/evidence/h100-80gb-hbm3", "starter",
              "solution", "multiply"},
             {"one_thread_sum", "ch02_nsys/exercises/1_one_thread_sum/evidence/h200", "starter", "solution",
              "sum"},
             {"the same, a wrong answer", "ch02_nsys/exercises/1_one_thread_sum/evidence/h200",
              "answers/one_of_two_blocks", "solution", "sum"},
             {"the same, another one", "ch02_nsys/exercises/1_one_thread_sum/evidence/h200",
              "answers/one_of_a_block", "solution", "sum"},
         }) {
        const std::string row = row_of(faster);
        CAPTURE(row);
        CHECK(page.find(row) != std::string::npos);
    }
}

}  // namespace lab::critical_path_test
