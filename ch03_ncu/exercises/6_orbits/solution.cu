// Finds where planets and comets stand on their orbits, for a catalog that lists them as surveys discovered
// them. Kepler's equation M = E - e sin E is solved for E. Orbits of planets are nearly round (e < 0.2), and
// E = M + e sin E, applied again and again, closes in on the answer. Those of comets are long (e up to 0.9),
// and take Newton's method. Three sums come on top: the kicks that a body gets from the giant planet, one in
// each turn; the planet's steady pull, in powers of how near the body is; and the push of the heat that
// leaves its facets.
//
// Right: a warp gets bodies with as many turns since the epoch, so its lanes leave the kicks at the same
// turn. Among these the order stays the catalog's, in which bodies of one belt and one kind come together.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    ncu -k regex:solve --launch-count 1 --set full --import-source yes -f -o solution ./solution
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
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
constexpr float kGiantStep = 2.4f;  // radians that the giant planet goes on in a turn of a body
constexpr float kSmallest = 1e-6f;  // power that still counts, squared
constexpr float kKick = 0.002f, kPull = 0.05f, kPush = 0.01f, kLag = 0.5f;  // radians
constexpr double kTolerance = 1e-4;                                         // of the angle E, in radians
constexpr unsigned kSeed = 52539;

struct Body {
    float eccentricity, mean_anomaly;  // e, and M in radians, 0 to 2 pi
    float nearness;                    // to the giant planet, 0 to 1
    int16_t turns;                     // around the sun, since the epoch
    int16_t facets;                    // of the model of its shape
};

/// One thread per body.
__global__ void solve(const Body* bodies, const int* order, float* angles, int count) {
    const int thread = blockIdx.x * kThreads + threadIdx.x;
    if (thread >= count) return;
    const int i = order[thread];
    const Body body = bodies[i];
    const float e = body.eccentricity, m = body.mean_anomaly;
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

    float kicks = 0;
#pragma unroll 1
    for (float turn = 0; turn < body.turns; ++turn) {
        const float giant = m + kGiantStep * turn, away = 1 + e * __cosf(giant);
        kicks += __fdividef(__sinf(giant), away);
    }

    const float x = body.nearness * __cosf(m), y = body.nearness * __sinf(m);
    float re = x, im = y, pull = 0;  // the power, as a complex number
#pragma unroll 1
    for (float k = 1; re * re + im * im > kSmallest; ++k) {
        pull += __fdividef(im, k * k);
        const float next = re * x - im * y;
        im = re * y + im * x;
        re = next;
    }

    const float between = __fdividef(kTwoPi, body.facets);
    float push = 0;
#pragma unroll 1
    for (float facet = 0; facet < body.facets; ++facet) {
        const float toward = m + between * facet, warmth = __cosf(toward);
        if (warmth > 0) push += warmth * __sinf(toward + kLag);
    }
    angles[i] = angle + kKick * kicks + kPull * pull + kPush * between * push;
}

/// How many bodies in a row have the same of something: it's drawn once.
int draw_row(std::mt19937& random) {
    return 1 << random() % 12;
}

/// A number that each body has, and how it goes along the catalog.
struct Column {
    explicit Column(std::mt19937& random) : in_a_row(draw_row(random)), most(16 << random() % 5) {}

    int in_a_row, most;
    int16_t number = 0;  // of the bodies that are being discovered
};

/// The bodies, one after the other, as they were discovered. A survey looks for planets or for comets, in one
/// belt for a while. Turns are counted from an epoch, and campaigns make models of the shapes.
class Discoveries {
  public:
    Body next() {
        if (found_ % survey_ == 0) comets_ = random_() % 2 == 0;
        for (Column* const column : {&turns_, &powers_, &facets_})
            if (found_ % column->in_a_row == 0) column->number = few_have_many(column->most);
        ++found_;
        const float eccentricity = comets_ ? kLongOrbit + 0.4f * uniform() : 0.2f * uniform();
        const float mean_anomaly = kTwoPi * uniform();
        const float nearness = powers_.number / (powers_.number + 7.0f);  // about so many powers matter
        return {eccentricity, mean_anomaly, nearness, turns_.number, facets_.number};
    }

  private:
    float uniform() { return static_cast<float>(random_() >> 8) / (1 << 24); }

    /// 4 for half of all, 8 for a quarter, 16 for an eighth ...
    int16_t few_have_many(int most) {
        int number = 4;
        while (number < most && random_() % 2 == 0) number *= 2;
        return static_cast<int16_t>(number);
    }

    std::mt19937 random_{kSeed};
    int survey_ = draw_row(random_);  // bodies of one kind
    Column turns_{random_}, powers_{random_}, facets_{random_};
    int found_ = 0;  // bodies so far
    bool comets_ = false;
};

/// What kicks, pull and push add to a body's angle, in double precision.
double expected_sums(const Body& body) {
    const double m = body.mean_anomaly;
    double kicks = 0, pull = 0, push = 0;
    for (int turn = 0; turn < body.turns; ++turn) {
        const double giant = m + double{kGiantStep} * turn;
        kicks += std::sin(giant) / (1 + body.eccentricity * std::cos(giant));
    }
    const std::complex<double> base = std::polar(double{body.nearness}, m);
    std::complex<double> power = base;
    for (double k = 1; std::norm(power) > kSmallest; ++k, power *= base) pull += power.imag() / (k * k);
    const double between = 2 * M_PI / body.facets;
    for (int facet = 0; facet < body.facets; ++facet) {
        const double toward = m + between * facet;
        push += std::fmax(0, std::cos(toward)) * std::sin(toward + double{kLag});
    }
    return kKick * kicks + kPull * pull + kPush * between * push;
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
    std::stable_sort(order.begin(), order.end(),
                     [&](int i, int j) { return bodies[i].turns < bodies[j].turns; });

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
        const double angle = angles[i] - expected_sums(body);
        const double found = angle - body.eccentricity * std::sin(angle);
        const double error = std::fabs(std::remainder(found - body.mean_anomaly, 2 * M_PI));
        const bool right = error <= kTolerance * (1 - body.eccentricity);
        if (i == 0 || (!right && wrong == 0))
            shown = i, shown_expected = body.mean_anomaly, shown_found = found;
        wrong += !right;
    }
    std::printf("body %d: E - e sin E expected %.5f, found %.5f; %d of %d bodies wrong\n", shown,
                shown_expected, shown_found, wrong, count);
    return wrong == 0 ? 0 : 1;
}
