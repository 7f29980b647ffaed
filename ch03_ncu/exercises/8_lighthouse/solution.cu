// How a lighthouse looks from above on a foggy night. Banks of fog drift through a box of cells and thicken
// them. In each sweep of its lamps, photons set out, walk from cell to cell, and are turned and weakened by
// droplets; what is left of their energy falls on a picture, which fades from sweep to sweep. Each night has
// its own weather, lamps and dice.
//
// Right: the dice bring along the inverse of their prime, so that no thread divides.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256;
constexpr int kSide = 32;  // cells along an edge of the box
constexpr int kCells = kSide * kSide * kSide, kPixels = kSide * kSide;
constexpr unsigned kSeed = 10'355;

struct Photon {
    uint32_t state;  // of its random numbers
    int x, y, z;     // the cell where it is
    int heading;     // 0 to 5: along x and back, along y and back, along z and back
    int energy, met, sweep;
};

struct Bank {
    int x, y, z, reach;  // the reach is squared
};

/// The droplets of all cells, as arrays on the host or on the device.
struct Droplets {
    const uint8_t* turns;   // the heading of what comes out of a droplet
    const uint8_t* rounds;  // that light takes inside of it
};

/// How random numbers follow each other: the next one is a multiple of the last, modulo a prime.
struct Dice {
    uint64_t factor, prime;
    uint64_t inverse = UINT64_MAX / prime;  // of the prime, times 2^64
};
constexpr Dice kDice[] = {{75, 65'537}, {171, 30'269}, {48'271, 2'147'483'647}, {279'470'273, 4'294'967'291}};

/// What one night differs in from others.
struct Night {
    Dice dice;
    int lamps;     // of the lighthouse, in a row
    int steps;     // of a photon
    int banks;     // of fog
    int reach;     // of a bank, squared, at most
    int calm;      // sweeps between two gusts of wind
    int droplets;  // of different kinds in a cell
    int rounds;    // that light takes in a large droplet
};

Night night_of(std::mt19937& random) {
    return {kDice[random() % 4], 1 << random() % 4, 8 << random() % 4,  128 << random() % 6,
            32 << random() % 4,  1 << random() % 4, 2 << random() % 12, 2 << random() % 7};
}

__host__ __device__ uint32_t after(uint32_t state, Dice dice) {
    const uint64_t product = state * dice.factor;
    const auto quotient = static_cast<uint64_t>(static_cast<unsigned __int128>(product) * dice.inverse >> 64);
    const uint64_t rest = product - quotient * dice.prime;  // the quotient may be one too small
    return static_cast<uint32_t>(rest < dice.prime ? rest : rest - dice.prime);
}

__host__ __device__ int cell_of(int x, int y, int z) {
    return (z * kSide + y) * kSide + x;
}

/// How many banks of fog reach a cell, up to a limit. They have drifted along x.
__host__ __device__ uint8_t thickness(int cell, const Bank* banks, int count, int drift) {
    const int x = (cell + drift) % kSide, y = cell / kSide % kSide, z = cell / kPixels;
    int sum = 0;
    for (int i = 0; i < count; ++i) {
        const int dx = banks[i].x - x, dy = banks[i].y - y, dz = banks[i].z - z;
        sum += dx * dx + dy * dy + dz * dz < banks[i].reach;
    }
    return static_cast<uint8_t>(sum < 200 ? sum : 200);
}

__global__ void fog(const Bank* banks, int count, int drift, uint8_t* thick) {
    const int cell = blockIdx.x * kThreads + threadIdx.x;
    if (cell < kCells) thick[cell] = thickness(cell, banks, count, drift);
}

/// Photon i of a sweep, before its first step.
__host__ __device__ Photon at_the_lamp(int i, int sweep, Night night) {
    uint32_t mixed = (sweep * 1'000'003u + i) * 2'654'435'761u;
    mixed ^= mixed >> 15;
    Photon photon{};
    photon.state = mixed % static_cast<uint32_t>(night.dice.prime - 1) + 1;
    photon.x = (kSide - night.lamps) / 2 + i % night.lamps;
    photon.y = photon.z = kSide / 2;
    photon.heading = i / night.lamps % 6;
    photon.energy = 1024;
    photon.sweep = sweep;
    return photon;
}

__global__ void emit(Photon* photons, int count, int sweep, Night night) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) photons[i] = at_the_lamp(i, sweep, night);
}

/// Where a step along an axis leads. What leaves the box comes back on its other side.
__host__ __device__ int stepped(int at, int by) {
    return (at + by) & (kSide - 1);
}

/// A photon after its steps. In each it draws whether it meets a droplet, and which one of its cell. A round
/// in the droplet takes some energy, as long as there is any.
__host__ __device__ Photon walked(Photon photon, const uint8_t* thick, Droplets droplets, Night night) {
    for (int step = 0; step < night.steps; ++step) {
        const int cell = cell_of(photon.x, photon.y, photon.z);
        photon.state = after(photon.state, night.dice);
        if ((photon.state & 255) < thick[cell]) {
            photon.state = after(photon.state, night.dice);
            const int met = cell * night.droplets + static_cast<int>(photon.state & (night.droplets - 1));
            photon.heading = droplets.turns[met];
            for (int round = droplets.rounds[met]; round > 0 && photon.energy > 0; --round)
                photon.energy -= (photon.energy + 127) >> 7;
            ++photon.met;
        }
        const int along = photon.heading % 2 == 0 ? 1 : -1;
        photon.x = stepped(photon.x, photon.heading / 2 == 0 ? along : 0);
        photon.y = stepped(photon.y, photon.heading / 2 == 1 ? along : 0);
        photon.z = stepped(photon.z, photon.heading / 2 == 2 ? along : 0);
    }
    return photon;
}

__global__ void walk(Photon* photons, int count, const uint8_t* thick, Droplets droplets, Night night) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) photons[i] = walked(photons[i], thick, droplets, night);
}

/// Adds the energy of each photon to the pixel below it.
__global__ void gather(const Photon* photons, int count, unsigned* picture) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < count) atomicAdd(&picture[photons[i].y * kSide + photons[i].x], photons[i].energy);
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
    const int sweeps = options.integer("--sweeps", 8, 1, 1000, "sweeps of the lamps in a night");
    std::mt19937 random(options.integer("--seed", kSeed, 0, 1'000'000, "of the night"));
    Night night = night_of(random);
    night.banks = options.integer("--banks", night.banks, 1, 100'000, "banks of fog");
    options.done();
    const size_t droplets = size_t{kCells} * night.droplets;
    require_gpu(count * sizeof(Photon) + 2 * droplets + (16 << 20));

    std::vector<Bank> banks(night.banks);
    for (Bank& bank : banks) {
        const auto drawn = [&](int below) { return static_cast<int>(random() % below); };
        bank = {drawn(kSide), drawn(kSide), drawn(kSide), 1 + drawn(night.reach)};
    }
    std::vector<uint8_t> turns(droplets), rounds(droplets);
    for (size_t i = 0; i < droplets; ++i) {
        turns[i] = static_cast<uint8_t>(random() % 6);
        rounds[i] = static_cast<uint8_t>(random() % 16 == 0 ? night.rounds : 1);  // some are large
    }
    const auto device_banks = device_array<Bank>(night.banks);
    const auto device_turns = device_array<uint8_t>(droplets),
               device_rounds = device_array<uint8_t>(droplets);
    CUDA_CHECK(
        cudaMemcpy(device_banks.get(), banks.data(), night.banks * sizeof(Bank), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_turns.get(), turns.data(), droplets, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_rounds.get(), rounds.data(), droplets, cudaMemcpyHostToDevice));
    const auto thick = device_array<uint8_t>(kCells), film = device_array<uint8_t>(kPixels);
    const auto photons = device_array<Photon>(count);
    const auto picture = device_array<unsigned>(kPixels);

    const auto pass = [&](const char* name, int sweeps_of_it) {
        CUDA_CHECK(cudaMemset(picture.get(), 0, kPixels * sizeof(unsigned)));
        CUDA_CHECK(cudaMemset(film.get(), 0xFF, kPixels));
        CUDA_CHECK(cudaDeviceSynchronize());
        const nvtx3::scoped_range range{name};
        for (int sweep = 0; sweep < sweeps_of_it; ++sweep) {
            if (sweep % night.calm == 0) {
                fog<<<blocks_for(kCells), kThreads>>>(device_banks.get(), night.banks, sweep, thick.get());
                CUDA_CHECK(cudaGetLastError());
            }
            emit<<<blocks_for(count), kThreads>>>(photons.get(), count, sweep, night);
            CUDA_CHECK(cudaGetLastError());
            walk<<<blocks_for(count), kThreads>>>(photons.get(), count, thick.get(),
                                                  {device_turns.get(), device_rounds.get()}, night);
            CUDA_CHECK(cudaGetLastError());
            gather<<<blocks_for(count), kThreads>>>(photons.get(), count, picture.get());
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
    std::vector<unsigned> expected(kPixels), found(kPixels);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        for (int cell = 0; cell < kCells && sweep % night.calm == 0; ++cell)
            expected_thick[cell] = thickness(cell, banks.data(), night.banks, sweep);
        for (int i = 0; i < count; ++i) {
            const Photon photon = walked(at_the_lamp(i, sweep, night), expected_thick.data(),
                                         {turns.data(), rounds.data()}, night);
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
    std::printf(
        "%d sweeps of %d steps; the pixel in the middle: expected %u, found %u; %d of %d pixels wrong\n",
        sweeps, night.steps, expected[middle], found[middle], wrong, kPixels);
    return wrong == 0 ? 0 : 1;
}
