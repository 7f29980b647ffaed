// Finds where planets and comets stand on their orbits: Kepler's equation M = E - e sin E, solved for E. The
// orbits of planets are nearly round (e < 0.2), and E = M + e sin E, applied again and again, closes in on
// the answer. Those of comets are long (e up to 0.9), and take Newton's method. The catalogue lists both as
// they were discovered, in no order.
//
// Symptom: a warp has 32 lanes, and an instruction of this kernel does work for about 16 of them.
// Task: give the kernel the bodies in an order in which the lanes of a warp do the same. The kernel stays as
// it is, answers stay where the catalogue has them, and no body is computed twice.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    ncu -k regex:solve --launch-count 1 --section WarpStateStats --section SourceCounters ./starter
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256, kPlanetSteps = 60, kCometSteps = 40;
constexpr float kLongOrbit = 0.5f;  // from here on a body counts as a comet
constexpr float kTwoPi = 6.2831853f;
constexpr double kTolerance = 1e-4;  // of the angle E, in radians
constexpr unsigned kSeed = 6;

struct Body {
    float eccentricity, mean_anomaly;  // e, and M in radians
};

/// One thread a body. The steps of a path are always the same number, and the sine is the hardware's own,
/// which has no slower way for large angles: lanes on one path never wait for each other.
__global__ void solve(const Body* bodies, const int* order, float* anomaly, int count) {
    const int thread = blockIdx.x * kThreads + threadIdx.x;
    if (thread >= count) return;
    const int i = order[thread];
    const float e = bodies[i].eccentricity, m = bodies[i].mean_anomaly;
    float angle = m;
    if (e < kLongOrbit) {
#pragma unroll 1
        for (int step = 0; step < kPlanetSteps; ++step) angle = m + e * __sinf(angle);
    } else {
        angle = kTwoPi / 2;  // from here Newton's method finds the answer, whatever e and M are
#pragma unroll 1
        for (int step = 0; step < kCometSteps; ++step)
            angle -= __fdividef(angle - e * __sinf(angle) - m, 1 - e * __cosf(angle));
    }
    anomaly[i] = angle;
}

/// The body that was discovered next.
Body next_body(std::mt19937& random) {
    const auto uniform = [&] { return static_cast<float>(random() >> 8) / (1 << 24); };
    const bool comet = uniform() < 0.5f;
    const float eccentricity = comet ? kLongOrbit + 0.4f * uniform() : 0.2f * uniform();
    return {eccentricity, kTwoPi * uniform()};
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Solves Kepler's equation for a catalogue of planets and comets.");
    const int count = options.integer("--count", 1'000'003, 1, 50'000'000, "bodies in the catalogue");
    options.done();
    require_gpu(count * (sizeof(Body) + sizeof(int) + sizeof(float)));

    std::mt19937 random(kSeed);
    std::vector<Body> bodies(count);  // the catalogue
    for (Body& body : bodies) body = next_body(random);
    std::vector<int> order(count);  // thread t solves body order[t]
    std::iota(order.begin(), order.end(), 0);
    // TODO(learner): choose another order.

    const auto device_bodies = device_array<Body>(count);
    const auto device_order = device_array<int>(count);
    const auto device_anomaly = device_array<float>(count);
    CUDA_CHECK(cudaMemcpy(device_bodies.get(), bodies.data(), count * sizeof(Body), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_order.get(), order.data(), count * sizeof(int), cudaMemcpyHostToDevice));

    const auto run = [&](const char* name) {
        const nvtx3::scoped_range range{name};
        const int blocks = (count + kThreads - 1) / kThreads;
        solve<<<blocks, kThreads>>>(device_bodies.get(), device_order.get(), device_anomaly.get(), count);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    run("warm-up");
    CUDA_CHECK(cudaMemset(device_anomaly.get(), 0xFF, count * sizeof(float)));  // not a number
    run("solve");
    std::vector<float> anomaly(count);
    CUDA_CHECK(
        cudaMemcpy(anomaly.data(), device_anomaly.get(), count * sizeof(float), cudaMemcpyDeviceToHost));

    // The bodies are drawn once more: answers are where the catalogue has them. E - e sin E grows by at least
    // 1 - e a radian, so what is left over bounds the error of E.
    random.seed(kSeed);
    int wrong = 0, shown = 0;
    double shown_expected = 0, shown_found = 0;
    for (int i = 0; i < count; ++i) {
        const Body body = next_body(random);
        const double found = anomaly[i] - body.eccentricity * std::sin(double{anomaly[i]});
        const double error = std::fabs(found - body.mean_anomaly) / (1 - body.eccentricity);
        const bool right = error <= kTolerance;
        if (i == 0 || (!right && wrong == 0))
            shown = i, shown_expected = body.mean_anomaly, shown_found = found;
        wrong += !right;
    }
    std::printf("body %d: E - e sin E expected %.5f, found %.5f; %d of %d bodies wrong\n", shown,
                shown_expected, shown_found, wrong, count);
    return wrong == 0 ? 0 : 1;
}
