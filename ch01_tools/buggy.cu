// Lets the temperatures of a plate even out: in a Jacobi step, every point takes the mean of its four
// neighbors. The program goes on until a step changes the plate by less than a tolerance.
//
// Symptom: every step runs on the GPU and the answer is right, but the GPU is almost idle.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. ch01_tools/buggy.cu -o buggy
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o buggy ./buggy
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

/// One thread per point. The edge of the plate stays at 0 degrees.
__global__ void jacobi_step(const float* plate, float* next, int side) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < 1 || row < 1 || column >= side - 1 || row >= side - 1) return;
    const size_t i = size_t{1} * row * side + column;
    next[i] = 0.25f * (plate[i - 1] + plate[i + 1] + plate[i - side] + plate[i + side]);
}

/// Adds up the squares of a step's changes. It isn't inlined, so it keeps its name in samples of the CPU.
[[gnu::noinline]] double add_changes(const std::vector<float>& plate, const std::vector<float>& next) {
    double sum = 0;
    for (size_t i = 0; i < plate.size(); ++i)
        sum += (double{next[i]} - plate[i]) * (double{next[i]} - plate[i]);
    return sum;
}

/// A pattern of waves. A Jacobi step multiplies it by one factor, and doesn't change it in any other way.
struct Mode {
    double height, factor;             // height after n steps: height * factor^n
    std::vector<double> across, down;  // a sine for every column, and one for every row
};

Mode make_mode(int half_waves_across, int half_waves_down, double height, int side) {
    const double h = std::acos(-1.0) / (side - 1), a = h * half_waves_across, d = h * half_waves_down;
    Mode mode{height, (std::cos(a) + std::cos(d)) / 2, {}, {}};
    for (int i = 0; i < side; ++i) mode.across.push_back(std::sin(a * i));
    for (int i = 0; i < side; ++i) mode.down.push_back(std::sin(d * i));
    return mode;
}

/// One row of the plate after that many steps, by formula.
std::vector<double> row_after(int steps, const std::vector<Mode>& modes, int row) {
    std::vector<double> degrees(modes[0].across.size());
    for (const Mode& m : modes) {
        const double height = m.height * std::pow(m.factor, steps) * m.down[row];
        for (size_t i = 0; i < degrees.size(); ++i) degrees[i] += height * m.across[i];
    }
    return degrees;
}

/// The change in the last of that many steps, in degrees: the root of the mean square over the plate.
double residual_after(double steps, const std::vector<Mode>& modes, int side) {
    double sum = 0;
    for (const Mode& m : modes) sum += std::pow(m.height * std::pow(m.factor, steps - 1) * (1 - m.factor), 2);
    return std::sqrt(sum) / 2 * (side - 1) / side;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Lets a heated plate even out by Jacobi steps, until a step changes little.");
    const int side = options.integer("--side", 4000, 16, 16'000, "points on a side");
    const int steps = options.integer("--steps", 40, 1, 200, "steps that the tolerance asks for");
    const int check_every = options.integer("--check-every", 1, 1, 1000, "steps from check to check");
    options.done();
    const size_t points = size_t{1} * side * side, bytes = points * sizeof(float);
    require_gpu(2 * bytes);

    std::mt19937 random(1);
    std::vector<Mode> modes;
    for (int i = 0, waves = side / 32 + 1; i < 3; ++i)
        modes.push_back(make_mode(waves + i, waves + random() % waves, 10 + random() % 1000 / 50.0, side));
    std::vector<float> plate;
    for (int row = 0; row < side; ++row)
        for (const double t : row_after(0, modes, row)) plate.push_back(static_cast<float>(t));
    // Half-way between the last step that's needed and the one before it.
    const double tolerance = residual_after(steps - 0.5, modes, side);
    const int expected_steps = (steps + check_every - 1) / check_every * check_every;

    std::vector<float> next(points);
    auto device_plate = device_array<float>(points), device_next = device_array<float>(points);
    CUDA_CHECK(cudaMemset(device_next.get(), 0, bytes));
    const dim3 block(32, 8), grid((side + block.x - 1) / block.x, (side + block.y - 1) / block.y);
    {
        nvtx3::scoped_range range{"warm-up"};
        jacobi_step<<<1, block>>>(device_plate.get(), device_next.get(), 0);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    int made = 0;
    double residual = INFINITY;
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"solve"};
        while (residual > tolerance && made < 2 * expected_steps) {
            CUDA_CHECK(cudaMemcpy(device_plate.get(), plate.data(), bytes, cudaMemcpyHostToDevice));
            jacobi_step<<<grid, block>>>(device_plate.get(), device_next.get(), side);
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaMemcpy(next.data(), device_next.get(), bytes, cudaMemcpyDeviceToHost));
            if (++made % check_every == 0) residual = std::sqrt(add_changes(plate, next) / points);
            plate.swap(next);
        }
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    size_t wrong = 0;
    for (int row = 0; row < side; ++row) {
        const std::vector<double> expected = row_after(expected_steps, modes, row);
        for (int i = 0; i < side; ++i)
            wrong += !(std::fabs(plate[size_t{1} * row * side + i] - expected[i]) <= 1e-3);
    }
    std::printf("%d x %d points, %.2f ms; steps: expected %d, found %d\n", side, side, elapsed.count(),
                expected_steps, made);
    std::printf("residual: expected %.6f degrees, found %.6f; %zu of %zu points wrong\n",
                residual_after(expected_steps, modes, side), residual, wrong, points);
    return wrong == 0 && made == expected_steps ? 0 : 1;
}
