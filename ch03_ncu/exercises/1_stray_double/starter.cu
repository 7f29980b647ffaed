// Follows many springs with drag, each by one thread, in small steps of time: all of it in float.
//
// Symptom: ncu counts double-precision instructions.
// Task: find the line that they come from, in the source view, and make the whole kernel compute in float.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    ncu --section SourceCounters --section SpeedOfLight --import-source yes -f -o starter ./starter
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr float kStep = 0.01f;   // seconds
constexpr float kStiffness = 2;  // per second squared

struct Spring {
    float position, velocity;
};

// TODO(learner): one line of this kernel computes in double precision.
__global__ void follow(Spring* springs, size_t count, int steps) {
    const size_t i = size_t(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= count) return;
    Spring s = springs[i];
    for (int step = 0; step < steps; ++step) {
        const float pull = -kStiffness * s.position;
        const float drag = s.velocity * 0.1;
        s.velocity += (pull - drag) * kStep;
        s.position += s.velocity * kStep;
    }
    springs[i] = s;
}

/// The same in double precision, on the host. A spring is linear, so the end follows from two springs: one
/// that starts at 1 and rests, and one that starts at 0 with velocity 1.
struct Oracle {
    double position[2] = {1, 0}, velocity[2] = {0, 1};
    explicit Oracle(int steps) {
        for (int k = 0; k < 2; ++k)
            for (int step = 0; step < steps; ++step) {
                velocity[k] += (-double{kStiffness} * position[k] - 0.1 * velocity[k]) * double{kStep};
                position[k] += velocity[k] * double{kStep};
            }
    }
    /// The larger of the errors of position and velocity.
    [[nodiscard]] double error_of(const Spring& start, const Spring& end) const {
        const auto at_end = [&](const double* of) { return start.position * of[0] + start.velocity * of[1]; };
        return std::fmax(std::fabs(end.position - at_end(position)),
                         std::fabs(end.velocity - at_end(velocity)));
    }
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Follows springs with drag from random beginnings.");
    const size_t count = options.integer("--count", 1'000'003, 1, 100'000'000, "springs");
    const int steps = options.integer("--steps", 200, 1, 10'000, "steps of time");
    options.done();
    require_gpu(count * sizeof(Spring));

    std::vector<Spring> starts(count), ends(count);
    std::mt19937 random(33);
    const auto draw = [&] { return static_cast<float>((random() >> 8) + 1) / (1 << 24); };
    for (Spring& s : starts) s = {draw(), draw()};
    const auto springs = device_array<Spring>(count);
    const size_t bytes = count * sizeof(Spring);
    CUDA_CHECK(cudaMemcpy(springs.get(), starts.data(), bytes, cudaMemcpyHostToDevice));
    const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);

    {
        nvtx3::scoped_range range{"warm-up"};
        follow<<<blocks, kThreads>>>(springs.get(), count, 0);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    {
        nvtx3::scoped_range range{"follow"};
        follow<<<blocks, kThreads>>>(springs.get(), count, steps);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    CUDA_CHECK(cudaMemcpy(ends.data(), springs.get(), bytes, cudaMemcpyDeviceToHost));

    const Oracle oracle(steps);
    size_t wrong = 0, worst = 0;
    const auto error = [&](size_t i) { return oracle.error_of(starts[i], ends[i]); };
    for (size_t i = 0; i < count; ++i) {
        wrong += !(error(i) <= 1e-4);
        if (!(error(i) <= error(worst))) worst = i;
    }
    std::printf("largest error, of spring %zu: expected up to 0.0001, found %.7f; %zu of %zu springs wrong\n",
                worst, error(worst), wrong, count);
    return wrong == 0 ? 0 : 1;
}
