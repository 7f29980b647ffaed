// A small performance gate. 20 times it compares a program with itself (A/A), which should raise no alarm,
// and 20 times with a copy that has 10 % more to do (A/B), which should. The machine is noisy, like a CI
// machine. Then it does the same 1,000 times each with modelled times: how often is the gate wrong? What the
// machine is like, and how its team has set the gate, is drawn.
//
// Right: the runs are made in pairs, and a coin decides each time which one goes first. So a machine's habits
// can't keep step with one of the programs.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr unsigned kMultiplier = 1664525, kIncrement = 1013904223;
constexpr int kThreads = 32;

/// What both programs do: a chain of multiplications, each of which waits for the one before. Thread i begins
/// at i; the threads' last numbers are added up.
__device__ void work(int steps, unsigned* sum) {
    unsigned x = threadIdx.x;
    for (int i = 0; i < steps; ++i) x = kMultiplier * x + kIncrement;
    for (int lanes = 16; lanes > 0; lanes /= 2) x += __shfl_xor_sync(0xFFFFFFFF, x, lanes);
    if (threadIdx.x == 0) *sum = x;
}
__global__ void run_a(int steps, unsigned* sum) {
    work(steps, sum);
}
__global__ void run_b(int steps, unsigned* sum) {
    work(steps, sum);
}

/// The oracle: all steps as a single one, by squaring.
unsigned expected_sum(int steps) {
    unsigned multiplier = kMultiplier, increment = kIncrement, all_multiplier = 1, all_increment = 0, sum = 0;
    for (; steps > 0; steps /= 2) {
        if (steps % 2) {
            all_increment = multiplier * all_increment + increment;
            all_multiplier *= multiplier;
        }
        increment = multiplier * increment + increment;
        multiplier *= multiplier;
    }
    for (unsigned i = 0; i < kThreads; ++i) sum += all_multiplier * i + all_increment;
    return sum;
}

/// A habit of a machine: the first half of each `period` runs takes longer. It began `phase` runs ago.
struct Rhythm {
    int period, phase;
    double longer;
};

/// What a machine is like. Shares are of a run's usual time.
struct Machine {
    double drift;   // by which the last run of a trial takes longer than the first
    int cold_runs;  // at the start of a trial
    double cold;    // by which these take longer
    Rhythm rhythms[2];
    double hit;     // share of the runs that others hit, each by 30 to 100 %
    double jitter;  // mean of an exponential distribution
};

/// How a team has set its gate.
struct Settings {
    size_t block;     // runs of a program, before it's the other one's turn
    size_t left_out;  // runs at the start of a trial that don't count, while the machine warms up
    size_t dropped;   // of each program, the slowest runs, which don't count either
};

std::pair<Machine, Settings> draw(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto between = [&](int least, int most) {
        return least + static_cast<int>(random() % (most - least + 1));
    };
    Machine machine{};
    machine.drift = between(0, 30) / 100.0;
    machine.cold_runs = between(0, 16);
    machine.cold = between(10, 50) / 100.0;
    for (Rhythm& rhythm : machine.rhythms) {
        constexpr int kPeriods[] = {2, 4, 6, 12};
        const int period = kPeriods[between(0, 3)], phase = between(0, period - 1);
        rhythm = {period, phase, between(0, 12) / 100.0};
    }
    machine.hit = between(0, 20) / 100.0;
    machine.jitter = between(2, 80) / 1000.0;
    constexpr size_t kBlocks[] = {1, 2, 3, 5, 6, 10, 15, 30};
    Settings settings{};
    settings.block = kBlocks[between(0, 7)];
    settings.left_out = 2 * size_t(between(0, 8));
    settings.dropped = size_t(between(0, 8));
    return {machine, settings};
}

/// By which factor each run of a trial takes longer, whichever program it is.
std::vector<double> noise_of(const Machine& machine, size_t runs, uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto uniform = [&] { return static_cast<double>((random() >> 12) + 1) * 0x1p-52; };
    std::vector<double> factors(runs);
    for (size_t i = 0; i < runs; ++i) {
        double factor = 1 + machine.drift * static_cast<double>(i) / static_cast<double>(runs);
        if (i < size_t(machine.cold_runs)) factor *= 1 + machine.cold;
        for (const Rhythm& rhythm : machine.rhythms)
            if ((i + rhythm.phase) % rhythm.period < size_t(rhythm.period) / 2) factor *= 1 + rhythm.longer;
        if (uniform() < machine.hit) factor *= 1.3 + 0.7 * uniform();
        factors[i] = factor * (1 - machine.jitter * std::log(uniform()));
    }
    return factors;
}

enum class Verdict { slower, faster, no_difference, inconclusive };
constexpr const char* kNames[] = {"slower", "faster", "no difference", "inconclusive"};

/// The order of the runs, as a word of A and B: `pairs` of each. For each pair, a coin decides which goes
/// first.
std::string plan(size_t pairs, const Settings&, uint64_t seed) {
    std::mt19937_64 coin(seed);
    std::string order;
    for (size_t i = 0; i < pairs; ++i) order += coin() >> 63 ? "BA" : "AB";
    return order;
}

/// The mean of all but the slowest runs, so that a few that others hit don't count.
double usual_ms(std::vector<double> times_ms, size_t dropped) {
    std::sort(times_ms.begin(), times_ms.end());
    times_ms.resize(times_ms.size() - dropped);
    return std::accumulate(times_ms.begin(), times_ms.end(), 0.0) / static_cast<double>(times_ms.size());
}

/// Is B slower than A? By the times of their runs, each in the order in which they were made.
Verdict judge(const std::vector<double>& a_ms, const std::vector<double>& b_ms, const Settings& settings) {
    const double ratio = usual_ms(b_ms, settings.dropped) / usual_ms(a_ms, settings.dropped);
    return ratio > 1.05 ? Verdict::slower : ratio < 1 / 1.05 ? Verdict::faster : Verdict::no_difference;
}

/// Runs A and B in the given order, and compares their results with the reference.
class Bench {
  public:
    Bench(size_t runs, int steps) : sums_(device_array<unsigned>(runs)), steps_(steps) {
        for (size_t i = 0; i <= runs; ++i) events_.push_back(make_event());
    }

    /// The runs' times: run i takes `factors[i]` times as long as usual, B's runs `slowdown` times that.
    std::vector<double> times_ms(const std::string& order, const std::vector<double>& factors,
                                 double slowdown) {
        std::vector<double> times;
        std::vector<int> steps;
        std::vector<unsigned> sums(order.size());
        CUDA_CHECK(cudaEventRecord(events_[0].get()));
        for (size_t i = 0; i < order.size(); ++i) {
            steps.push_back(static_cast<int>(steps_ * factors[i] * (order[i] == 'B' ? slowdown : 1)));
            if (order[i] == 'A') {
                run_a<<<1, kThreads>>>(steps[i], &sums_[i]);
                CUDA_CHECK(cudaGetLastError());
            } else {
                run_b<<<1, kThreads>>>(steps[i], &sums_[i]);
                CUDA_CHECK(cudaGetLastError());
            }
            CUDA_CHECK(cudaEventRecord(events_[i + 1].get()));
        }
        CUDA_CHECK(
            cudaMemcpy(sums.data(), sums_.get(), sums.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < order.size(); ++i) {
            float ms = 0;
            CUDA_CHECK(cudaEventElapsedTime(&ms, events_[i].get(), events_[i + 1].get()));
            times.push_back(ms);
            wrong += sums[i] != expected_sum(steps[i]);
        }
        return times;
    }

    size_t wrong = 0;  ///< runs whose sum was not as expected

  private:
    std::unique_ptr<unsigned[], DeviceFree> sums_;
    std::vector<Event> events_;
    int steps_;
};

/// The verdict on a trial: the runs' times are those of `times_ms`, in the order of `plan`. Ends the program
/// if that isn't an order of as many A as B.
template <class Times>
Verdict verdict_on(size_t pairs, const Settings& settings, uint64_t seed, Times times_ms) {
    const std::string order = plan(pairs, settings, seed);
    if (order.size() != 2 * pairs || size_t(std::count(order.begin(), order.end(), 'A')) != pairs) {
        std::fprintf(stderr, "the order of the runs, %s, must have %zu A and as many B\n", order.c_str(),
                     pairs);
        std::exit(1);
    }
    const std::vector<double> times = times_ms(order);
    std::vector<double> a, b;
    for (size_t i = settings.left_out; i < order.size(); ++i) (order[i] == 'A' ? a : b).push_back(times[i]);
    return judge(a, b, settings);
}

/// In how many of `trials` the gate says that B is slower, if times are those of the noise model alone.
int modelled_alarms(const Machine& machine, const Settings& settings, int trials, size_t pairs,
                    double slowdown, uint64_t seed) {
    int alarms = 0;
    for (int trial = 0; trial < trials; ++trial) {
        const Verdict verdict = verdict_on(pairs, settings, seed + 2 * trial, [&](const std::string& order) {
            std::vector<double> times = noise_of(machine, 2 * pairs, seed + 2 * trial + 1);
            for (size_t i = 0; i < order.size(); ++i) times[i] *= order[i] == 'B' ? slowdown : 1;
            return times;
        });
        alarms += verdict == Verdict::slower;
    }
    return alarms;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Compares a program with itself and with a slower one, on a noisy machine.");
    const int trials = options.integer("--trials", 20, 1, 1000, "comparisons of each kind");
    const size_t pairs = options.integer("--pairs", 30, 30, 1000, "runs of each program in a comparison");
    const int steps = options.integer("--steps", 100'000, 1, 10'000'000, "work of a run");
    const int percent =
        options.integer("--slowdown", 10, 0, 100, "what B has to do beyond A's work, in percent");
    const int noise = options.integer("--noise", 100, 0, 100, "how much of the noise to add, in percent");
    const int modelled =
        options.integer("--modelled", 1000, 1, 100'000, "comparisons of each kind without runs");
    const auto seed = static_cast<uint64_t>(
        options.integer("--seed", 2'281'898, 0, 10'000'000, "of the machine and its gate"));
    options.done();
    require_gpu(2 * pairs * sizeof(unsigned));

    const auto [machine, settings] = draw(seed);
    Bench bench(2 * pairs, steps);
    {
        nvtx3::scoped_range range{"warm-up"};
        const std::string both(2 * pairs, 'A');
        (void)bench.times_ms(both, std::vector<double>(2 * pairs, 1), 1);
    }
    std::map<std::string, std::map<Verdict, int>> verdicts;
    {
        nvtx3::scoped_range range{"trials"};
        for (int trial = 0; trial < 2 * trials; ++trial) {
            const char* const kind = trial < trials ? "A/A" : "A/B";
            nvtx3::scoped_range of_kind{kind};
            std::vector<double> factors = noise_of(machine, 2 * pairs, 100 + trial);
            for (double& factor : factors) factor = 1 + (factor - 1) * noise / 100;
            const Verdict verdict = verdict_on(pairs, settings, 500 + trial, [&](const std::string& order) {
                return bench.times_ms(order, factors, trial < trials ? 1 : 1 + percent / 100.0);
            });
            nvtx3::scoped_range says{kNames[static_cast<int>(verdict)]};
            ++verdicts[kind][verdict];
        }
    }
    std::printf("gate: blocks of %zu, %zu first runs left out, the %zu slowest of each program dropped\n",
                settings.block, settings.left_out, settings.dropped);
    for (auto& [kind, count] : verdicts)
        std::printf("%s: %d of %d slower, %d faster, %d no difference, %d inconclusive\n", kind.c_str(),
                    count[Verdict::slower], trials, count[Verdict::faster], count[Verdict::no_difference],
                    count[Verdict::inconclusive]);
    // The same for a program to read: alarms if B is A, and if B has 10 % more to do.
    std::printf(
        R"({"block": %zu, "left_out": %zu, "dropped": %zu, "modelled": %d, "alarms": %d, "caught": %d})"
        "\n",
        settings.block, settings.left_out, settings.dropped, modelled,
        modelled_alarms(machine, settings, modelled, pairs, 1, 1'000'000),
        modelled_alarms(machine, settings, modelled, pairs, 1 + percent / 100.0, 2'000'000));
    std::printf("expected every run's sum, found %zu wrong\n", bench.wrong);
    return bench.wrong == 0 ? 0 : 1;
}
