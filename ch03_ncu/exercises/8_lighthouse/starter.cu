// How a lighthouse looks from above on a foggy night. Banks of fog drift through a box of cells and thicken
// them. In each sweep of the lamp, photons set out, walk from cell to cell, and are turned and weakened by
// droplets; what is left of their energy falls on a picture, which fades from sweep to sweep.
//
// Symptom: the picture is right, and the night takes far longer than it should.
// Task: find what costs the time, and repair it. The picture and all photons stay as they are.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr int kSide = 40;  // cells along an edge of the box
constexpr int kCells = kSide * kSide * kSide, kPixels = kSide * kSide;
constexpr int kLamps = 8;     // of the lighthouse, in a row
constexpr int kSteps = 16;    // of a photon, no more than the lamps are away from the walls
constexpr int kBlocks = 256;  // that share the photons when they reach the picture

struct Photon {
    uint32_t state;  // of its random numbers
    int x, y, z;     // the cell where it is
    int heading;     // 0 to 5: along x and back, along y and back, along z and back
    int energy, met, sweep;
};

struct Bank {
    int x, y, z, reach;  // the reach is squared
};

/// How random numbers follow each other: the next one is a multiple of the last, modulo a prime.
struct Dice {
    uint64_t factor, prime;
};

__host__ __device__ uint32_t after(uint32_t state, Dice dice) {
    return static_cast<uint32_t>(state * dice.factor % dice.prime);
}

__host__ __device__ int cell_of(int x, int y, int z) {
    return (z * kSide + y) * kSide + x;
}

/// How many banks of fog reach a cell, up to a limit.
__host__ __device__ uint8_t thickness(int cell, const Bank* banks, int count) {
    const int x = cell % kSide, y = cell / kSide % kSide, z = cell / kPixels;
    int sum = 0;
    for (int i = 0; i < count; ++i) {
        const int dx = banks[i].x - x, dy = banks[i].y - y, dz = banks[i].z - z;
        sum += dx * dx + dy * dy + dz * dz < banks[i].reach;
    }
    return static_cast<uint8_t>(sum < 200 ? sum : 200);
}

__global__ void fog(const Bank* banks, int count, uint8_t* thick) {
    const int cell = blockIdx.x * kThreads + threadIdx.x;
    if (cell < kCells) thick[cell] = thickness(cell, banks, count);
}

/// Photon i of a sweep, before its first step.
__host__ __device__ Photon at_the_lamp(int i, int sweep) {
    uint32_t mixed = (sweep * 1'000'003u + i) * 2'654'435'761u;
    mixed ^= mixed >> 15;
    Photon photon{};
    photon.state = mixed % 2'147'483'646u + 1;
    photon.x = kSide / 2 - kLamps / 2 + i % kLamps;
    photon.y = photon.z = kSide / 2;
    photon.heading = i / kLamps % 6;
    photon.energy = 1024;
    photon.sweep = sweep;
    return photon;
}

__global__ void emit(Photon* photons, int count, int sweep) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) photons[i] = at_the_lamp(i, sweep);
}

/// A photon after its steps. In each it draws whether it meets a droplet, what it loses there, and where it
/// goes.
__host__ __device__ Photon walked(Photon photon, const uint8_t* thick, Dice dice) {
    for (int step = 0; step < kSteps; ++step) {
        const uint32_t chance = after(photon.state, dice), loss = after(chance, dice);
        const uint32_t turn = photon.state = after(loss, dice);
        if ((chance & 255) < thick[cell_of(photon.x, photon.y, photon.z)]) {
            photon.energy -= photon.energy >> (3 + (loss & 1));
            photon.heading = static_cast<int>(turn % 6);
            ++photon.met;
        }
        const int along = photon.heading % 2 == 0 ? 1 : -1;
        photon.x += photon.heading / 2 == 0 ? along : 0;
        photon.y += photon.heading / 2 == 1 ? along : 0;
        photon.z += photon.heading / 2 == 2 ? along : 0;
    }
    return photon;
}

__global__ void walk(Photon* photons, int count, const uint8_t* thick, Dice dice) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) photons[i] = walked(photons[i], thick, dice);
}

/// Adds the energy of all photons to the pixels below them.
__global__ void gather(const Photon* photons, int count, unsigned* picture) {
    __shared__ unsigned of_block[kPixels];
    for (int pixel = threadIdx.x; pixel < kPixels; pixel += kThreads) of_block[pixel] = 0;
    __syncthreads();
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < count; i += kBlocks * kThreads)
        atomicAdd(&of_block[photons[i].y * kSide + photons[i].x], photons[i].energy);
    __syncthreads();
    for (int pixel = threadIdx.x; pixel < kPixels; pixel += kThreads)
        if (of_block[pixel] != 0) atomicAdd(&picture[pixel], of_block[pixel]);
}

/// What is left of a pixel when the next sweep begins.
__host__ __device__ unsigned faded(unsigned pixel) {
    return pixel - pixel / 8;
}

__global__ void fade(unsigned* picture) {
    const int pixel = blockIdx.x * kThreads + threadIdx.x;
    if (pixel < kPixels) picture[pixel] = faded(picture[pixel]);
}

/// A pixel as it is shown: the darker it is, the more a step of light counts.
__host__ __device__ uint8_t shown(unsigned pixel) {
    int bits = 0;
    while (bits < 32 && pixel >> bits != 0) ++bits;
    return static_cast<uint8_t>(8 * bits - (bits > 3 ? 7 - (pixel >> (bits - 4) & 7) : 0));
}

__global__ void expose(const unsigned* picture, uint8_t* film) {
    const int pixel = blockIdx.x * kThreads + threadIdx.x;
    if (pixel < kPixels) film[pixel] = shown(picture[pixel]);
}

int blocks_for(int items) {
    return (items + kThreads - 1) / kThreads;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Follows the light of a lighthouse through fog.");
    const int count = options.integer("--photons", 262'147, 1, 1 << 22, "photons of a sweep");
    const int sweeps = options.integer("--sweeps", 16, 1, 1000, "sweeps of the lamp in a night");
    const int bank_count = options.integer("--banks", 3000, 1, 100'000, "banks of fog");
    options.done();
    require_gpu(count * sizeof(Photon) + (16 << 20));

    const Dice dice{48'271, 2'147'483'647};
    std::mt19937 random(2);
    std::vector<Bank> banks(bank_count);
    for (Bank& bank : banks) {
        const auto drawn = [&] { return static_cast<int>(random() % kSide); };
        bank = {drawn(), drawn(), drawn(), 1 + static_cast<int>(random() % 100)};
    }
    const auto device_banks = device_array<Bank>(bank_count);
    CUDA_CHECK(
        cudaMemcpy(device_banks.get(), banks.data(), bank_count * sizeof(Bank), cudaMemcpyHostToDevice));
    const auto thick = device_array<uint8_t>(kCells), film = device_array<uint8_t>(kPixels);
    const auto photons = device_array<Photon>(count);
    const auto picture = device_array<unsigned>(kPixels);

    const auto pass = [&](const char* name, int sweeps_of_it) {
        CUDA_CHECK(cudaMemset(picture.get(), 0, kPixels * sizeof(unsigned)));
        CUDA_CHECK(cudaMemset(film.get(), 0xFF, kPixels));
        CUDA_CHECK(cudaDeviceSynchronize());
        const nvtx3::scoped_range range{name};
        fog<<<blocks_for(kCells), kThreads>>>(device_banks.get(), bank_count, thick.get());
        CUDA_CHECK(cudaGetLastError());
        for (int sweep = 0; sweep < sweeps_of_it; ++sweep) {
            emit<<<blocks_for(count), kThreads>>>(photons.get(), count, sweep);
            CUDA_CHECK(cudaGetLastError());
            walk<<<blocks_for(count), kThreads>>>(photons.get(), count, thick.get(), dice);
            CUDA_CHECK(cudaGetLastError());
            gather<<<kBlocks, kThreads>>>(photons.get(), count, picture.get());
            CUDA_CHECK(cudaGetLastError());
            fade<<<blocks_for(kPixels), kThreads>>>(picture.get());
            CUDA_CHECK(cudaGetLastError());
        }
        expose<<<blocks_for(kPixels), kThreads>>>(picture.get(), film.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    pass("warm-up", 1);
    pass("night", sweeps);

    std::vector<uint8_t> expected_thick(kCells);
    for (int cell = 0; cell < kCells; ++cell)
        expected_thick[cell] = thickness(cell, banks.data(), bank_count);
    std::vector<unsigned> expected(kPixels), found(kPixels);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        for (int i = 0; i < count; ++i) {
            const Photon photon = walked(at_the_lamp(i, sweep), expected_thick.data(), dice);
            expected[photon.y * kSide + photon.x] += photon.energy;
        }
        for (unsigned& pixel : expected) pixel = faded(pixel);
    }
    std::vector<uint8_t> on_film(kPixels);
    CUDA_CHECK(cudaMemcpy(found.data(), picture.get(), kPixels * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(on_film.data(), film.get(), kPixels, cudaMemcpyDeviceToHost));
    const int middle = kPixels / 2 + kSide / 2;
    int wrong = 0;
    for (int pixel = 0; pixel < kPixels; ++pixel)
        wrong += found[pixel] != expected[pixel] || on_film[pixel] != shown(expected[pixel]);
    std::printf("the pixel in the middle: expected %u, found %u; %d of %d pixels wrong\n", expected[middle],
                found[middle], wrong, kPixels);
    return wrong == 0 ? 0 : 1;
}
