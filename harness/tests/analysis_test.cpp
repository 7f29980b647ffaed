#include "evidence/analysis.h"

#include <doctest/doctest.h>

#include <set>

#include "core/error.h"
#include "evidence/launches.h"
#include "random_trace.h"

using namespace lab;

namespace {

constexpr int64_t kEnd = kTicks + 64;  ///< ticks; no work of a random trace ends later

/// What analyse() should say, found by looking at every tick and every piece of work. Times in ns.
struct Oracle {
    int64_t span = 0, busy = 0, compute = 0, copy_only = 0, idle = 0, concurrent = 0;
    int64_t h2d = 0, d2h = 0, h2d_hidden = 0, d2h_hidden = 0;
    IdleByCause causes;
};

struct Piece {
    int64_t start_ns, end_ns, process, correlation;
};

class Watcher {
  public:
    Watcher(const Trace& trace, int64_t device) : trace_(trace), device_(device) {
        for (const Kernel& k : trace.kernels)
            if (k.device == device) pieces_.push_back({k.start_ns, k.end_ns, k.process, k.correlation});
        for (const Copy& c : trace.copies)
            if (c.device == device) pieces_.push_back({c.start_ns, c.end_ns, c.process, c.correlation});
    }

    /// `in_span` says which ticks count, for the ticks at which nothing runs.
    template <class InSpan>
    Oracle watch(const InSpan& in_span) const {
        Oracle sum;
        for (int64_t t = 0; t < kEnd; ++t) {
            const int64_t kernels = running(trace_.kernels, t, [](const Kernel&) { return true; });
            const int64_t copies = running(trace_.copies, t, [](const Copy&) { return true; });
            const auto going = [&](Direction d) {
                return running(trace_.copies, t, [&](const Copy& c) { return c.direction == d; }) > 0;
            };
            const bool up = going(Direction::host_to_device), down = going(Direction::device_to_host);
            const bool busy = kernels + copies > 0;
            sum.compute += kernels > 0;
            sum.copy_only += kernels == 0 && copies > 0;
            sum.busy += busy;
            sum.concurrent += kernels > 1;
            sum.h2d += up, sum.d2h += down;
            sum.h2d_hidden += up && kernels > 0, sum.d2h_hidden += down && kernels > 0;
            sum.span += in_span(t);
            if (busy) CHECK(in_span(t));
            if (in_span(t) && !busy) ++sum.idle, ++cause_of_gap_at(t * kTick_ns, sum.causes);
        }
        for (int64_t* ticks : {&sum.span, &sum.busy, &sum.compute, &sum.copy_only, &sum.idle, &sum.concurrent,
                               &sum.h2d, &sum.d2h, &sum.h2d_hidden, &sum.d2h_hidden, &sum.causes.host_wait_ns,
                               &sum.causes.kernel_wait_ns, &sum.causes.other_ns})
            *ticks *= kTick_ns;
        return sum;
    }

    /// From the first tick at which something runs to the last.
    [[nodiscard]] Oracle watch_all() const {
        int64_t first = kEnd, last = -1;
        for (const Piece& p : pieces_)
            if (p.start_ns < p.end_ns)
                first = std::min(first, p.start_ns / kTick_ns),
                last = std::max(last, p.end_ns / kTick_ns - 1);
        return watch([&](int64_t t) { return t >= first && t <= last; });
    }

  private:
    template <class Work, class Wanted>
    int64_t running(const std::vector<Work>& all, int64_t t, const Wanted& wanted) const {
        return std::count_if(all.begin(), all.end(), [&](const Work& w) {
            return w.device == device_ && w.start_ns <= t * kTick_ns && t * kTick_ns < w.end_ns && wanted(w);
        });
    }

    int64_t& cause_of_gap_at(int64_t now, IdleByCause& causes) const {
        int64_t end_before = 0;
        const Piece* next = nullptr;
        for (const Piece& p : pieces_) {
            if (p.start_ns <= now) end_before = std::max(end_before, p.end_ns);
            if (p.start_ns > now && (!next || p.start_ns < next->start_ns)) next = &p;
        }
        REQUIRE(next);
        for (const ApiCall& call : trace_.api_calls)
            if (call.process == next->process && call.correlation == next->correlation &&
                call.start_ns > end_before)
                return causes.host_wait_ns;
        return next->start_ns - end_before < 30'000 ? causes.kernel_wait_ns : causes.other_ns;
    }

    const Trace& trace_;
    int64_t device_;
    std::vector<Piece> pieces_;
};

void require_equal(const Analysis& a, const Oracle& oracle) {
    REQUIRE(a.span_ns == oracle.span);
    REQUIRE(a.gpu_busy_ns == oracle.busy);
    REQUIRE(a.compute_ns == oracle.compute);
    REQUIRE(a.copy_only_ns == oracle.copy_only);
    REQUIRE(a.gpu_idle_ns == oracle.idle);
    REQUIRE(a.concurrent_ns == oracle.concurrent);
    REQUIRE(a.h2d_ns == oracle.h2d);
    REQUIRE(a.d2h_ns == oracle.d2h);
    REQUIRE(a.h2d_hidden_ns == oracle.h2d_hidden);
    REQUIRE(a.d2h_hidden_ns == oracle.d2h_hidden);
    REQUIRE(a.idle.host_wait_ns == oracle.causes.host_wait_ns);
    REQUIRE(a.idle.kernel_wait_ns == oracle.causes.kernel_wait_ns);
    REQUIRE(a.idle.other_ns == oracle.causes.other_ns);
    REQUIRE(a.compute_ns + a.copy_only_ns + a.gpu_idle_ns == a.span_ns);
    REQUIRE(a.idle.host_wait_ns + a.idle.kernel_wait_ns + a.idle.other_ns == a.gpu_idle_ns);
}

/// The GPU that a person would choose: most kernel time, then most copies, then the lowest number.
int64_t busiest(const Trace& trace) {
    std::set<int64_t> devices;
    for (const Kernel& k : trace.kernels) devices.insert(k.device);
    for (const Copy& c : trace.copies) devices.insert(c.device);
    int64_t best = 0;
    std::pair<int64_t, int64_t> most{-1, -1};
    for (const int64_t device : devices) {
        std::pair<int64_t, int64_t> load;
        for (const Kernel& k : trace.kernels) load.first += k.device == device ? k.end_ns - k.start_ns : 0;
        for (const Copy& c : trace.copies) load.second += c.device == device;
        if (load > most) most = load, best = device;
    }
    return best;
}

/// Does a range of this name launch non-empty work that covers the tick, or lie around it, on this GPU?
bool in_window(const Trace& trace, const std::string& name, int64_t device, int64_t t) {
    const RangePart selected = select_range(trace, name);
    const auto windows = selected.windows.find(device);
    return windows != selected.windows.end() &&
           std::any_of(windows->second.begin(), windows->second.end(),
                       [&](const Interval& w) { return w.begin <= t * kTick_ns && t * kTick_ns < w.end; });
}

/// One GPU, one process. Each piece of work has the call that launched it, at the time given.
struct Story {
    Trace trace;
    Story() { trace.names = {"add", "scale", "cudaLaunchKernel", "cudaMemcpyAsync"}; }

    void kernel(int64_t called, int64_t start, int64_t end, int64_t stream = 7, int64_t name = 0,
                int64_t device = 0) {
        const int64_t id = call(called, 2);
        trace.kernels.push_back({start, end, stream, device, id, 1, id - 1, name});
    }
    void copy(int64_t called, int64_t start, int64_t end, Direction direction, int64_t stream = 7,
              int64_t bytes = 100, int64_t device = 0) {
        const int64_t id = call(called, 3);
        trace.copies.push_back(
            {start, end, stream, device, id, 1, id - 1, bytes, direction, "pinned", "device"});
    }
    int64_t call(int64_t start, int64_t name, int64_t result = 0) {
        const auto correlation = static_cast<int64_t>(trace.api_calls.size()) + 1;
        trace.api_calls.push_back({start, start + 1, correlation, 1, 1, name, result});
        return correlation;
    }
};

double value(const Trace& trace, const std::string& name,
             const std::optional<std::string>& range = std::nullopt) {
    const auto found = metric(analyse(trace, range), name);
    REQUIRE(found);
    return *found;
}

}  // namespace

TEST_CASE("analysis: metrics by the names that findings use") {
    Story story;
    story.copy(0, 0, 2'000'000, Direction::host_to_device, 1);
    story.kernel(0, 1'000'000, 3'000'000, 2);
    story.kernel(0, 2'500'000, 5'000'000, 3);
    story.copy(0, 7'000'000, 8'000'000, Direction::device_to_host, 1);
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
        CHECK(value(story.trace, name) == expected);
    }
    CHECK_FALSE(metric(analyse(story.trace), "range_ms"));
    CHECK(metric_names().size() == 11);
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

TEST_CASE("analysis: nothing at all") {
    const Analysis a = analyse(Trace{});
    CHECK(a.span_ns == 0);
    CHECK(a.devices.empty());
    for (const char* name :
         {"gpu_busy_share", "h2d_hidden_share", "d2h_hidden_share", "kernel_concurrency", "range_ms"})
        CHECK_FALSE(metric(a, name));
    CHECK(*metric(a, "span_ms") == 0);
    CHECK(*metric(a, "gpu_idle_ms") == 0);
    CHECK_THROWS_AS((void)analyse(Trace{}, "a"), Error);
}

TEST_CASE("analysis: of several GPUs, the one with the most kernel time") {
    Story story;
    story.kernel(0, 0, 10, 7, 0, 0);
    story.kernel(0, 0, 30, 7, 0, 2);
    for (int i = 0; i < 100; ++i) story.copy(0, i, i + 1, Direction::host_to_device, 7, 100, 1);
    const Analysis a = analyse(story.trace);
    CHECK(a.device == 2);
    CHECK(a.devices == std::vector<int64_t>{0, 1, 2});
    CHECK(a.compute_ns == 30);
    CHECK(a.copy_only_ns == 0);
    CHECK(a.streams.size() == 1);
}

TEST_CASE("analysis: tables by stream, kernel, copy and call") {
    Story story;
    story.kernel(0, 0, 10, 1, 0);
    story.kernel(1, 5, 25, 1, 0);
    story.kernel(2, 30, 60, 2, 0);
    story.kernel(3, 60, 65, 2, 1);
    story.copy(4, 70, 80, Direction::host_to_device, 1, 500);
    story.copy(5, 75, 95, Direction::host_to_device, 1, 300);
    story.copy(6, 95, 99, Direction::device_to_host, 3, 900);
    story.call(7, 3, 2);
    const Analysis a = analyse(story.trace);

    REQUIRE(a.streams.size() == 3);
    CHECK(a.streams[0].stream == 1);
    CHECK(a.streams[0].kernels == 2);
    CHECK(a.streams[0].kernel_ns == 25);
    CHECK(a.streams[0].copies == 2);
    CHECK(a.streams[0].copy_ns == 25);
    CHECK(a.streams[2].kernels == 0);

    REQUIRE(a.kernels.size() == 2);
    CHECK(a.kernels[0].name == "add");
    CHECK(a.kernels[0].count == 3);
    CHECK(a.kernels[0].total_ns == 60);
    CHECK(a.kernels[0].min_ns == 10);
    CHECK(a.kernels[0].median_ns == 20);
    CHECK(a.kernels[0].max_ns == 30);
    CHECK(a.kernels[1].name == "scale");

    REQUIRE(a.copies.size() == 2);
    CHECK(a.copies[0].direction == Direction::device_to_host);
    CHECK(a.copies[1].count == 2);
    CHECK(a.copies[1].bytes == 800);
    CHECK(a.copies[1].ns == 30);

    REQUIRE(a.api.size() == 2);
    CHECK(a.api[0].name == "cudaLaunchKernel");
    CHECK(a.api[0].count == 4);
    CHECK(a.api[1].failed == 1);
}

TEST_CASE("analysis: kernels of one name by launch size, and calls by what they returned") {
    Story story;
    story.trace.launch_sizes = {{{4, 3, 2}, {32, 8, 1}}, {{1, 1, 1}, {64, 1, 1}}};
    story.kernel(0, 0, 10, 1, 0);
    story.kernel(1, 10, 30, 1, 0);
    story.kernel(2, 30, 70, 1, 0);
    story.kernel(3, 70, 75, 1, 0);
    story.kernel(4, 75, 76, 1, 1);
    for (const std::size_t large : {0U, 1U}) story.trace.kernels[large].size = 0;
    story.trace.kernels[2].size = 1;
    for (const int64_t result : {9, 0, 700, 700}) story.call(10 + result, 1, result);
    const Analysis a = analyse(story.trace);

    REQUIRE(a.kernels.size() == 2);
    const KernelUse& k = a.kernels[0];
    CHECK(k.count == 4);
    CHECK(k.total_ns == 75);
    CHECK(k.min_ns == 5);
    CHECK(k.median_ns == 15);
    CHECK(k.max_ns == 40);
    REQUIRE(k.sizes.size() == 2);  // the fourth run's is not known
    CHECK(k.sizes[0].size == story.trace.launch_sizes[1]);
    CHECK(k.sizes[0].times.total_ns == 40);
    CHECK(k.sizes[1].size == story.trace.launch_sizes[0]);
    CHECK(k.sizes[1].times.count == 2);
    CHECK(k.sizes[1].times.median_ns == 15);
    CHECK(a.kernels[1].sizes.empty());
    const auto failing =
        std::find_if(a.api.begin(), a.api.end(), [](const ApiUse& u) { return u.failed > 0; });
    REQUIRE(failing != a.api.end());
    CHECK(failing->failures == std::map<int64_t, int64_t>{{9, 1}, {700, 2}});
}

TEST_CASE("analysis: an unknown metric is an error that lists the known ones") {
    CHECK_THROWS_WITH_AS((void)metric(Analysis{}, "busy"), doctest::Contains("gpu_busy_share"), Error);
}

TEST_CASE("analysis: a range narrows everything, and knows how long the host was in it") {
    Story story;
    story.kernel(0, 0, 1'000'000, 1);
    story.kernel(10, 2'000'000, 3'000'000, 2);
    story.copy(11, 2'500'000, 4'000'000, Direction::host_to_device, 3);
    story.kernel(20, 9'000'000, 9'500'000, 4);
    story.trace.ranges = {{10, 20, 1, 1, false, "middle", ""}};
    const Analysis a = analyse(story.trace, "middle");
    CHECK(a.range == "middle");
    CHECK(a.range_ns == 10);
    CHECK(value(story.trace, "range_ms", "middle") == 1e-5);
    CHECK(a.span_ns == 2'000'000);
    CHECK(a.compute_ns == 1'000'000);
    CHECK(a.h2d_hidden_ns == 500'000);
    CHECK(a.streams.size() == 2);
    CHECK(a.api.size() == 2);
}

TEST_CASE("analysis: what lies between two ranges of a name is no idle time") {
    Story story;
    story.kernel(10, 100, 110);
    story.kernel(11, 115, 120);
    story.kernel(30, 900, 910);
    story.trace.ranges = {{10, 20, 1, 1, false, "step", ""}, {30, 40, 1, 1, false, "step", ""}};
    const Analysis a = analyse(story.trace, "step");
    CHECK(a.span_ns == 30);
    CHECK(a.gpu_idle_ns == 5);
    CHECK(a.idle.kernel_wait_ns == 5);
    CHECK(a.range_ns == 20);
}

TEST_CASE("analysis agrees with watching every tick") {
    RandomTrace random(17);
    for (int round = 0; round < 700; ++round) {
        const Trace trace = random.make();
        const Analysis a = analyse(trace);
        CAPTURE(round);
        REQUIRE(a.device == busiest(trace));
        require_equal(a, Watcher(trace, a.device).watch_all());
    }
}

TEST_CASE("analysis of a range agrees with watching every tick of its windows") {
    RandomTrace random(19);
    int ranges = 0;
    for (int round = 0; round < 500; ++round) {
        const Trace trace = random.make();
        for (const char* name : {"a", "b"}) {
            if (std::none_of(trace.ranges.begin(), trace.ranges.end(),
                             [&](const Range& r) { return r.name == name; }))
                continue;
            ++ranges;
            const Analysis a = analyse(trace, name);
            const RangePart selected = select_range(trace, name);
            CAPTURE(round);
            REQUIRE(a.device == busiest(selected.trace));
            std::vector<bool> inside;
            for (int64_t t = 0; t < kEnd; ++t) inside.push_back(in_window(trace, name, a.device, t));
            require_equal(a, Watcher(selected.trace, a.device).watch([&](int64_t t) {
                return inside[static_cast<std::size_t>(t)];
            }));
        }
    }
    CHECK(ranges > 300);
}
