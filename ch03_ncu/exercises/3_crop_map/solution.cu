// Maps which crop grows where. A camera on a drone sends an image with many channels per pixel. Channels that
// are too noisy in the dark are left out. What is left of a pixel is its spectrum, and the crop of a pixel is
// the one of a library whose spectrum is the nearest to it. The map goes out column by column.
//
// Put right: the records of a warp's pixels begin in 32 different banks of shared memory.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    ncu --launch-skip 4 --launch-count 4 --set full --import-source yes -f -o solution ./solution
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 128;    // of a block: one per pixel
constexpr int kTile = 32;        // pixels along an edge of a tile of the map
constexpr int kRowsAtOnce = 8;   // rows of a tile that a block moves at once
constexpr int kCrops = 12;       // in the library
constexpr int kDarkFrames = 16;  // taken before the flight with the lens covered
constexpr unsigned kSeed = 57;

/// Takes the channels that are kept out of each pixel: [pixel][channel] becomes [pixel][band].
__global__ void select(const uint16_t* image, const int* kept, float* values, int pixels, int channels,
                       int bands) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels * bands) return;
    const int pixel = i / bands, band = i % bands;
    values[i] = image[size_t(pixel) * channels + kept[band]];
}

/// Takes the haze away, which is the lowest value of a spectrum. A pixel's record is its spectrum and behind
/// it the sum of it.
__global__ void level(const float* values, float* records, int pixels, int bands, int record) {
    extern __shared__ float tile[];
    __shared__ float lowest[kThreads], sum[kThreads];
    const int first = blockIdx.x * kThreads, here = min(kThreads, pixels - first);
    for (int i = threadIdx.x; i < here * bands; i += kThreads) tile[i] = values[size_t(first) * bands + i];
    __syncthreads();
    if (threadIdx.x < here) {
        float low = INFINITY, total = 0;
        for (int band = 0; band < bands; ++band) {
            const float value = tile[threadIdx.x * bands + band];
            low = fminf(low, value);
            total += value;
        }
        lowest[threadIdx.x] = low;
        sum[threadIdx.x] = total - bands * low;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < here * record; i += kThreads) {
        const int pixel = i / record, band = i % record;
        records[size_t(first) * record + i] =
            band < bands ? tile[pixel * bands + band] - lowest[pixel] : sum[pixel];
    }
}

/// Finds the crop whose spectrum is the nearest. Two spectra are at least as far apart as their sums are.
__global__ void match(const float* records, const float* library, int* crops, int pixels, int bands,
                      int record) {
    extern __shared__ float tile[];
    const int first = blockIdx.x * kThreads, here = min(kThreads, pixels - first);
    for (int i = threadIdx.x; i < here * record; i += kThreads) tile[i] = records[size_t(first) * record + i];
    __syncthreads();
    if (threadIdx.x >= here) return;
    const float* const spectrum = tile + threadIdx.x * record;
    float nearest = INFINITY;
    int found = 0;
    for (int crop = 0; crop < kCrops; ++crop) {
        const float* const reference = library + crop * record;
        if (fabsf(spectrum[bands] - reference[bands]) >= nearest) continue;
        float distance = 0;
        for (int band = 0; band < bands && distance < nearest; ++band)
            distance += fabsf(spectrum[band] - reference[band]);
        if (distance < nearest) {
            nearest = distance;
            found = crop;
        }
    }
    crops[first + threadIdx.x] = found;
}

/// Turns the map, [y][x] into [x][y], and counts the pixels of each crop.
__global__ void chart(const int* crops, int* map, int* area, int width, int height) {
    __shared__ int tile[kTile][kTile], counted[kCrops];
    const int thread = threadIdx.y * kTile + threadIdx.x;
    if (thread < kCrops) counted[thread] = 0;
    __syncthreads();
    const int x = blockIdx.x * kTile + threadIdx.x, y_out = blockIdx.y * kTile + threadIdx.x;
    for (int row = threadIdx.y; row < kTile; row += kRowsAtOnce) {
        const int y = blockIdx.y * kTile + row;
        if (x >= width || y >= height) continue;
        tile[row][threadIdx.x] = crops[y * width + x];
        atomicAdd(&counted[tile[row][threadIdx.x]], 1);
    }
    __syncthreads();
    for (int row = threadIdx.y; row < kTile; row += kRowsAtOnce) {
        const int x_out = blockIdx.x * kTile + row;
        if (x_out < width && y_out < height) map[x_out * height + y_out] = tile[threadIdx.x][row];
    }
    if (thread < kCrops) atomicAdd(&area[thread], counted[thread]);
}

/// The channels whose values in the dark vary little enough.
std::vector<int> quiet_channels(int channels, std::mt19937& random) {
    std::vector<int> kept;
    for (int channel = 0; channel < channels; ++channel) {
        const int amplitude = 2 + static_cast<int>(random() % 24);
        int sum = 0, squares = 0;
        for (int frame = 0; frame < kDarkFrames; ++frame) {
            const int dark = static_cast<int>(random() % amplitude);
            sum += dark;
            squares += dark * dark;
        }
        if (kDarkFrames * squares - sum * sum < 25 * kDarkFrames * kDarkFrames) kept.push_back(channel);
    }
    if (kept.empty()) kept.push_back(0);
    return kept;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Maps which crop grows where.");
    const int width = options.integer("--width", 640, 1, 4096, "pixels of a row of the image");
    const int height = options.integer("--height", 411, 1, 4096, "rows of the image");
    const int channels = options.integer("--channels", 80, 1, 88, "channels of the camera");
    options.done();
    const int pixels = width * height;

    std::mt19937 random(kSeed);
    const std::vector<int> kept = quiet_channels(channels, random);
    const int bands = static_cast<int>(kept.size());
    // An odd length: neighbors in a warp read at this distance, and 32 of them must be in 32 banks.
    const int record = (bands + 1) | 1;
    require_gpu(size_t(pixels) * (channels * 2 + (bands + record + 2) * 4));

    // What the camera would see of each crop, and from it the library.
    std::vector<int> seen(size_t(kCrops) * channels);
    for (int& value : seen) value = 200 + static_cast<int>(random() % 3000);
    std::vector<float> library(size_t(kCrops) * record);
    for (int crop = 0; crop < kCrops; ++crop) {
        const auto value = [&](int band) { return seen[crop * channels + kept[band]]; };
        int lowest = value(0), sum = 0;
        for (int band = 0; band < bands; ++band) lowest = std::min(lowest, value(band));
        for (int band = 0; band < bands; ++band) {
            library[crop * record + band] = static_cast<float>(value(band) - lowest);
            sum += value(band) - lowest;
        }
        for (int i = bands; i < record; ++i) library[crop * record + i] = static_cast<float>(sum);
    }

    // Fields of one crop each, as the farmers have divided the land, below more or less haze.
    const int field_width = 64 + static_cast<int>(random() % 64), field_height = 8 + random() % 24;
    const int fields_a_row = width / field_width + 1;
    std::vector<int> planted(size_t(fields_a_row) * (height / field_height + 1));
    for (int& crop : planted) crop = static_cast<int>(random() % kCrops);
    std::vector<int> expected(pixels);
    std::vector<uint16_t> image(size_t(pixels) * channels);
    for (int pixel = 0; pixel < pixels; ++pixel) {
        const int x = pixel % width, y = pixel / width;
        expected[pixel] = planted[size_t(y / field_height) * fields_a_row + x / field_width];
        const int haze = static_cast<int>(random() % 500);
        uint32_t noise = random() | 1;
        for (int channel = 0; channel < channels; ++channel) {
            noise = noise * 1664525 + 1013904223;
            const int value = seen[expected[pixel] * channels + channel] + haze + (noise >> 30);
            image[size_t(pixel) * channels + channel] = static_cast<uint16_t>(value);
        }
    }

    const auto device_image = device_array<uint16_t>(image.size());
    const auto device_kept = device_array<int>(bands);
    const auto device_library = device_array<float>(library.size());
    const auto values = device_array<float>(size_t(pixels) * bands);
    const auto records = device_array<float>(size_t(pixels) * record);
    const auto crops = device_array<int>(pixels), map = device_array<int>(pixels);
    const auto area = device_array<int>(kCrops);
    const auto upload = [](auto& device, const auto& host) {
        CUDA_CHECK(
            cudaMemcpy(device.get(), host.data(), host.size() * sizeof(host[0]), cudaMemcpyHostToDevice));
    };
    upload(device_image, image);
    upload(device_kept, kept);
    upload(device_library, library);

    const auto run = [&](const char* name) {
        CUDA_CHECK(cudaMemset(map.get(), 0xFF, pixels * sizeof(int)));
        CUDA_CHECK(cudaMemset(area.get(), 0, kCrops * sizeof(int)));
        CUDA_CHECK(cudaDeviceSynchronize());
        const nvtx3::scoped_range range{name};
        const int blocks = (pixels + kThreads - 1) / kThreads;
        select<<<(pixels * bands + 255) / 256, 256>>>(device_image.get(), device_kept.get(), values.get(),
                                                      pixels, channels, bands);
        CUDA_CHECK(cudaGetLastError());
        level<<<blocks, kThreads, kThreads * bands * sizeof(float)>>>(values.get(), records.get(), pixels,
                                                                      bands, record);
        CUDA_CHECK(cudaGetLastError());
        match<<<blocks, kThreads, kThreads * record * sizeof(float)>>>(records.get(), device_library.get(),
                                                                       crops.get(), pixels, bands, record);
        CUDA_CHECK(cudaGetLastError());
        chart<<<dim3((width + kTile - 1) / kTile, (height + kTile - 1) / kTile), dim3(kTile, kRowsAtOnce)>>>(
            crops.get(), map.get(), area.get(), width, height);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    run("warm-up");
    run("survey");

    std::vector<int> found(pixels), counted(kCrops), planted_area(kCrops);
    CUDA_CHECK(cudaMemcpy(found.data(), map.get(), pixels * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(counted.data(), area.get(), kCrops * sizeof(int), cudaMemcpyDeviceToHost));
    int wrong = 0, shown = 0;
    const auto place = [&](int pixel) { return pixel % width * height + pixel / width; };
    for (int pixel = 0; pixel < pixels; ++pixel) {
        ++planted_area[expected[pixel]];
        if (found[place(pixel)] != expected[pixel] && wrong++ == 0) shown = pixel;
    }
    for (int crop = 0; crop < kCrops; ++crop) wrong += counted[crop] != planted_area[crop];
    std::printf("%d of %d channels kept\n", bands, channels);
    std::printf("pixel %d: expected crop %d, found %d; %d pixels or areas of %d wrong\n", shown,
                expected[shown], found[place(shown)], wrong, pixels);
    return wrong == 0 ? 0 : 1;
}
