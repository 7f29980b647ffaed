// Finds where planets and comets stand on their orbits, for a catalog that lists them as surveys discovered
// them. Kepler's equation M = E - e sin E is solved for E. Orbits of planets are nearly round (e < 0.2), and
// E = M + e sin E, applied again and again, closes in on the answer. Those of comets are long (e up to 0.9),
// and take Newton's method. What the giant planet pulls comes on top: a sum of powers of how near a body is.
//
// Symptom: a million bodies take far longer than their arithmetic should.
// Task: find what costs the time, and repair it by the order in which the kernel gets the bodies. The kernel
// stays as it is, answers stay where the catalog has them, and no body is computed twice.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    ncu -k regex:solve --launch-count 1 --set full --import-source yes -f -o starter ./starter
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr float kLongOrbit = 0.5f;  // from here on a body counts as a comet
constexpr float kTwoPi = 6.2831853f;
constexpr float kPlanetStep = 1e-5f, kCometStep = 3e-4f;  // radians: a smaller step is the last
constexpr float kSmallest = 1e-10f;                       // power that still counts, squared
constexpr float kPull = 0.05f;
constexpr double kTolerance = 1e-4;  // of the angle E, in radians
constexpr unsigned kSeed = 6;

struct Body {
    float eccentricity, mean_anomaly;  // e, and M in radians since the epoch: some turns
    float nearness;                    // to the giant planet, 0 to 1
};

/// One thread per body.
__global__ void solve(const Body* bodies, const int* order, float* angles, int count) {
    const int thread = blockIdx.x * kThreads + threadIdx.x;
    if (thread >= count) return;
    const int i = order[thread];
    const float e = bodies[i].eccentricity, nearness = bodies[i].nearness;
    float m = bodies[i].mean_anomaly;
#pragma unroll 1
    while (m >= kTwoPi) m -= kTwoPi;
    float angle = m, step;
    if (e < kLongOrbit) {
#pragma unroll 1
        do {
            step = m + e * __sinf(angle) - angle;
            angle += step;
        } while (fabsf(step) > kPlanetStep);
    } else {
        angle = kTwoPi / 2;  // from here Newton's method finds the answer, whatever e and M are
#pragma unroll 1
        do {
            step = __fdividef(m + e * __sinf(angle) - angle, 1 - e * __cosf(angle));
            angle += step;
        } while (fabsf(step) > kCometStep);
    }
    const float x = nearness * __cosf(m), y = nearness * __sinf(m);
    float re = x, im = y, pull = 0;  // the power, as a complex number
#pragma unroll 1
    for (float k = 1; re * re + im * im > kSmallest; ++k) {
        pull += __fdividef(im, k * k);
        const float next = re * x - im * y;
        im = re * y + im * x;
        re = next;
    }
    angles[i] = angle + kPull * pull;
}

/// The bodies, one after the other, as they were discovered. A survey looks for planets or for comets.
class Discoveries {
  public:
    Body next() {
        if (left_-- == 0) {
            left_ = 300 + static_cast<int>(random_() % 900);
            comets_ = random_() % 2 == 0;
        }
        const float eccentricity = comets_ ? kLongOrbit + 0.4f * uniform() : 0.2f * uniform();
        const float mean_anomaly = 4 * kTwoPi * uniform();
        return {eccentricity, mean_anomaly, 0.05f + 0.9f * uniform()};
    }

  private:
    float uniform() { return static_cast<float>(random_() >> 8) / (1 << 24); }

    std::mt19937 random_{kSeed};
    int left_ = 0;  // bodies that the survey will still find
    bool comets_ = false;
};

/// The giant planet's pull on a body, in double precision.
double expected_pull(const Body& body) {
    const std::complex<double> base =
        std::polar(double{body.nearness}, std::fmod(double{body.mean_anomaly}, 2 * M_PI));
    std::complex<double> power = base;
    double pull = 0;
    for (double k = 1; std::norm(power) > kSmallest; ++k, power *= base) pull += power.imag() / (k * k);
    return kPull * pull;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Finds where the planets and comets of a catalogue stand on their orbits.");
    const int count = options.integer("--count", 1'000'003, 1, 50'000'000, "bodies in the catalogue");
    options.done();
    require_gpu(count * (sizeof(Body) + sizeof(int) + sizeof(float)));

    Discoveries discoveries;
    std::vector<Body> bodies(count);  // the catalog
    for (Body& body : bodies) body = discoveries.next();
    std::vector<int> order(count);  // thread t solves body order[t]
    std::iota(order.begin(), order.end(), 0);

    const auto device_bodies = device_array<Body>(count);
    const auto device_order = device_array<int>(count);
    const auto device_angles = device_array<float>(count);
    CUDA_CHECK(cudaMemcpy(device_bodies.get(), bodies.data(), count * sizeof(Body), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_order.get(), order.data(), count * sizeof(int), cudaMemcpyHostToDevice));

    const auto run = [&](const char* name) {
        const nvtx3::scoped_range range{name};
        const int blocks = (count + kThreads - 1) / kThreads;
        solve<<<blocks, kThreads>>>(device_bodies.get(), device_order.get(), device_angles.get(), count);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    run("warm-up");
    CUDA_CHECK(cudaMemset(device_angles.get(), 0xFF, count * sizeof(float)));  // not a number
    run("solve");
    std::vector<float> angles(count);
    CUDA_CHECK(cudaMemcpy(angles.data(), device_angles.get(), count * sizeof(float), cudaMemcpyDeviceToHost));

    // The bodies are discovered once more: answers are where the catalog has them. E - e sin E grows by at
    // least 1 - e a radian, so what is left over bounds the error of E.
    Discoveries again;
    int wrong = 0, shown = 0;
    double shown_expected = 0, shown_found = 0;
    for (int i = 0; i < count; ++i) {
        const Body body = again.next();
        const double angle = angles[i] - expected_pull(body);
        const double found = angle - body.eccentricity * std::sin(angle);
        const double error = std::fabs(std::remainder(found - body.mean_anomaly, 2 * M_PI));
        const bool right = error <= kTolerance * (1 - body.eccentricity);
        if (i == 0 || (!right && wrong == 0))
            shown = i, shown_expected = std::fmod(body.mean_anomaly, 2 * M_PI), shown_found = found;
        wrong += !right;
    }
    std::printf("body %d: E - e sin E expected %.5f, found %.5f; %d of %d bodies wrong\n", shown,
                shown_expected, shown_found, wrong, count);
    return wrong == 0 ? 0 : 1;
}
