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

}  // namespace

TEST_CASE("analysis: metrics by the names that findings use, and medians") {
    Trace trace;
    trace.names = {"add", "cudaLaunchKernel"};
    const auto kernel = [&](int64_t start_ns, int64_t end_ns, int64_t stream) {
        const int64_t call = std::ssize(trace.api_calls);
        trace.api_calls.push_back({start_ns - 100, start_ns, call + 1, 1, 1, 1});
        trace.kernels.push_back({start_ns, end_ns, stream, 0, call + 1, 1, call, 0});
    };
    const auto copy = [&](int64_t start_ns, int64_t end_ns, Direction direction) {
        trace.copies.push_back({start_ns, end_ns, 7, 0, 0, 1, -1, 100, direction, "", ""});
    };
    copy(0, 2'000'000, Direction::host_to_device);
    kernel(1'000'000, 3'000'000, 1), kernel(2'500'000, 5'000'000, 2);
    copy(7'000'000, 8'000'000, Direction::device_to_host);
    trace.ranges = {{900'000, 1'900'000, 1, 1, false, "first", ""}};
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
        CHECK(metric(analyse(trace), name) == expected);
    }
    CHECK_FALSE(metric(analyse(trace), "range_ms"));
    CHECK(metric(analyse(trace, "first"), "range_ms") == 1.0);
    CHECK_FALSE(metric(analyse(trace, "first"), "h2d_hidden_share"));
    CHECK(metric_names().size() == 11);
    CHECK_THROWS_WITH_AS((void)metric(Analysis{}, "busy"), doctest::Contains("gpu_busy_share"), Error);
    CHECK(analyse(trace).kernels[0].median_ns == 2'250'000);
    kernel(10'000'000, 10'000'001, 1);
    CHECK(analyse(trace).kernels[0].median_ns == 2'000'000);
    CHECK(metric(analyse(Trace{}), "span_ms") == 0.0);
    CHECK_FALSE(metric(analyse(Trace{}), "gpu_busy_share"));
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
