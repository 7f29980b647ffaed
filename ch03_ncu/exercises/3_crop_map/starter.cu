// Maps which crop grows where. A camera on a drone sends an image with many channels per pixel. Channels that
// are too noisy in the dark are left out. What is left of a pixel is its spectrum, and the crop of a pixel is
// the one of a library whose spectrum is the nearest to it. The map goes out column by column, and says of
// each pixel how many around it have the same crop.
//
// Symptom: the images of a flight come in faster than this maps them.
// Task: find what costs the time, and repair it. The map stays as it is.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    ncu --launch-skip 4 --launch-count 4 --set full --import-source yes -f -o starter ./starter
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 128;    // of a block: one per pixel
constexpr int kTile = 32;        // pixels along an edge of a tile of the map
constexpr int kRowsAtOnce = 8;   // rows of a tile that a block moves at once
constexpr int kDarkFrames = 16;  // taken before the flight with the lens covered
constexpr unsigned kSeed = 302;

/// The order in which a camera sends the values of an image.
enum Order { kPixelByPixel, kRowByRow, kChannelByChannel };

/// What a flight is like.
struct Flight {
    int channels;  // of the camera
    Order order;   // of the values in an image
    int window;    // neighboring bands whose mean tells the haze
    int crops;     // in the library
    int field;     // pixels along an edge of a field
    int around;    // pixels that the map looks around a pixel, each way
};

Flight flight_of(std::mt19937& random) {
    const auto draw = [&random](int count) { return static_cast<int>(random() % count); };
    const int channels = 40 + draw(150);
    const auto order = static_cast<Order>(draw(3));
    const int window = 3 + 2 * draw(7);
    const int crops = 4 << draw(4), field = 1 << draw(8), around = 1 << draw(5);
    return {channels, order, window, crops, field, around};
}

/// How many values lie between neighboring rows, pixels and channels of an image.
struct Distances {
    int rows, pixels, channels;
};

Distances distances_in(Order order, int width, int height, int channels) {
    if (order == kPixelByPixel) return {width * channels, channels, 1};
    if (order == kRowByRow) return {width * channels, 1, width};
    return {width, 1, width * height};
}

/// Takes the channels that are kept out of each pixel: what becomes of the image is [pixel][band].
__global__ void select(const uint16_t* image, Distances between, const int* kept, float* values, int pixels,
                       int width, int bands) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels * bands) return;
    const int pixel = i / bands, band = i % bands, y = pixel / width, x = pixel % width;
    values[i] = image[y * between.rows + x * between.pixels + kept[band] * between.channels];
}

/// Takes the haze away, which is the lowest mean of a window of bands. A pixel's record is its spectrum and
/// behind it the sum of it.
__global__ void level(const float* values, float* records, int pixels, int bands, int window, int record) {
    extern __shared__ float tile[];
    __shared__ float haze[kThreads], sum[kThreads];
    const int first = blockIdx.x * kThreads, here = min(kThreads, pixels - first);
    for (int i = threadIdx.x; i < here * bands; i += kThreads) tile[i] = values[size_t(first) * bands + i];
    __syncthreads();
    if (threadIdx.x < here) {
        const float* const spectrum = tile + threadIdx.x * bands;
        float lowest = INFINITY, total = 0;
        for (int band = 0; band < bands; ++band) total += spectrum[band];
        for (int band = 0; band + window <= bands; ++band) {
            float in_window = 0;
            for (int i = 0; i < window; ++i) in_window += spectrum[band + i];
            lowest = fminf(lowest, in_window / window);
        }
        haze[threadIdx.x] = lowest;
        sum[threadIdx.x] = total - bands * lowest;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < here * record; i += kThreads) {
        const int pixel = i / record, band = i % record;
        records[size_t(first) * record + i] =
            band < bands ? tile[pixel * bands + band] - haze[pixel] : sum[pixel];
    }
}

/// Finds the crop whose spectrum is the nearest. Two spectra are at least as far apart as their sums are.
__global__ void match(const float* records, const float* library, int* crops, int pixels, int bands,
                      int record, int known) {
    extern __shared__ float tile[];
    const int first = blockIdx.x * kThreads, here = min(kThreads, pixels - first);
    for (int i = threadIdx.x; i < here * record; i += kThreads) tile[i] = records[size_t(first) * record + i];
    __syncthreads();
    if (threadIdx.x >= here) return;
    const float* const spectrum = tile + threadIdx.x * record;
    float nearest = INFINITY;
    int found = 0;
    for (int crop = 0; crop < known; ++crop) {
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

/// Turns the map, [y][x] into [x][y]; counts the pixels of each crop, and around each pixel those that are
/// alike.
__global__ void chart(const int* crops, int* map, int* alike, int* area, int width, int height, int around,
                      int known) {
    extern __shared__ int part[];  // of the map: a tile, and what is around it
    const int edge = kTile + 2 * around, thread = threadIdx.y * kTile + threadIdx.x;
    int* const counted = part + edge * edge;
    for (int crop = thread; crop < known; crop += kTile * kRowsAtOnce) counted[crop] = 0;
    for (int i = thread; i < edge * edge; i += kTile * kRowsAtOnce) {
        const int x = blockIdx.x * kTile - around + i % edge, y = blockIdx.y * kTile - around + i / edge;
        const bool outside = x < 0 || y < 0 || x >= width || y >= height;
        part[i] = outside ? -1 : crops[y * width + x];
    }
    __syncthreads();
    const int y = blockIdx.y * kTile + threadIdx.x;
    for (int column = threadIdx.y; column < kTile; column += kRowsAtOnce) {
        const int x = blockIdx.x * kTile + column;
        if (x >= width || y >= height) continue;
        const int* const corner = part + threadIdx.x * edge + column;
        const int crop = corner[around * edge + around];
        int as_many = -1;  // the pixel itself doesn't count
        for (int down = 0; down <= 2 * around; ++down)
            for (int right = 0; right <= 2 * around; ++right) as_many += corner[down * edge + right] == crop;
        map[x * height + y] = crop;
        alike[x * height + y] = as_many;
        atomicAdd(&counted[crop], 1);
    }
    __syncthreads();
    for (int crop = thread; crop < known; crop += kTile * kRowsAtOnce) atomicAdd(&area[crop], counted[crop]);
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

/// The record of each crop: `seen` is what a camera sees of it, without haze.
std::vector<float> library_of(const std::vector<int>& seen, const Flight& flight,
                              const std::vector<int>& kept, int record) {
    const int bands = static_cast<int>(kept.size());
    std::vector<float> library(size_t(flight.crops) * record);
    for (int crop = 0; crop < flight.crops; ++crop) {
        float* const spectrum = &library[size_t(crop) * record];
        for (int band = 0; band < bands; ++band)
            spectrum[band] = static_cast<float>(seen[crop * flight.channels + kept[band]]);
        float lowest = INFINITY, sum = 0;
        for (const float* first = spectrum; first + flight.window <= spectrum + bands; ++first)
            lowest = std::min(lowest, std::accumulate(first, first + flight.window, 0.0f) / flight.window);
        for (int band = 0; band < bands; ++band) sum += spectrum[band] -= lowest;
        spectrum[bands] = sum;
    }
    return library;
}

/// How many pixels around a pixel have the same crop.
int expected_alike(const std::vector<int>& crops, int x, int y, int width, int height, int around) {
    int alike = -1;
    for (int j = std::max(0, y - around); j <= std::min(height - 1, y + around); ++j)
        for (int i = std::max(0, x - around); i <= std::min(width - 1, x + around); ++i)
            alike += crops[j * width + i] == crops[y * width + x];
    return alike;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Maps which crop grows where.");
    const int width = options.integer("--width", 640, 1, 2048, "pixels of a row of the image");
    const int height = options.integer("--height", 411, 1, 2048, "rows of the image");
    const auto seed = static_cast<unsigned>(options.integer("--seed", kSeed, 0, 1'000'000, "of the flight"));
    options.done();
    const int pixels = width * height;

    std::mt19937 random(seed);
    const Flight flight = flight_of(random);
    const std::vector<int> kept = quiet_channels(flight.channels, random);
    const int bands = static_cast<int>(kept.size());
    const int record = bands + 1;
    require_gpu(size_t(pixels) * (flight.channels * 2 + (bands + record + 3) * 4));

    std::vector<int> seen(size_t(flight.crops) * flight.channels);
    for (int& value : seen) value = 200 + static_cast<int>(random() % 3000);
    const std::vector<float> library = library_of(seen, flight, kept, record);

    // Fields of one crop each, as the farmers have divided the land, below more or less haze.
    const int fields_a_row = width / flight.field + 1;
    std::vector<int> planted(size_t(fields_a_row) * (height / flight.field + 1));
    for (int& crop : planted) crop = static_cast<int>(random() % flight.crops);
    std::vector<int> expected(pixels);
    std::vector<uint16_t> image(size_t(pixels) * flight.channels);
    const Distances between = distances_in(flight.order, width, height, flight.channels);
    for (int pixel = 0; pixel < pixels; ++pixel) {
        const int x = pixel % width, y = pixel / width;
        expected[pixel] = planted[size_t(y / flight.field) * fields_a_row + x / flight.field];
        const int haze = static_cast<int>(random() % 500);
        uint32_t noise = random() | 1;
        for (int channel = 0; channel < flight.channels; ++channel) {
            noise = noise * 1664525 + 1013904223;
            const int value = seen[expected[pixel] * flight.channels + channel] + haze + (noise >> 30);
            image[y * between.rows + x * between.pixels + channel * between.channels] =
                static_cast<uint16_t>(value);
        }
    }

    const auto device_image = device_array<uint16_t>(image.size());
    const auto device_kept = device_array<int>(bands);
    const auto device_library = device_array<float>(library.size());
    const auto values = device_array<float>(size_t(pixels) * bands);
    const auto records = device_array<float>(size_t(pixels) * record);
    const auto crops = device_array<int>(pixels), map = device_array<int>(pixels);
    const auto alike = device_array<int>(pixels), area = device_array<int>(flight.crops);
    const auto upload = [](auto& device, const auto& host) {
        CUDA_CHECK(
            cudaMemcpy(device.get(), host.data(), host.size() * sizeof(host[0]), cudaMemcpyHostToDevice));
    };
    upload(device_image, image);
    upload(device_kept, kept);
    upload(device_library, library);

    const int blocks = (pixels + kThreads - 1) / kThreads, edge = kTile + 2 * flight.around;
    const dim3 tiles((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
    const int of_level = kThreads * bands * sizeof(float), of_match = kThreads * record * sizeof(float),
              of_chart = (edge * edge + flight.crops) * sizeof(int);  // bytes of shared memory
    CUDA_CHECK(cudaFuncSetAttribute(level, cudaFuncAttributeMaxDynamicSharedMemorySize, of_level));
    CUDA_CHECK(cudaFuncSetAttribute(match, cudaFuncAttributeMaxDynamicSharedMemorySize, of_match));
    const auto run = [&](const char* name) {
        CUDA_CHECK(cudaMemset(map.get(), 0xFF, pixels * sizeof(int)));
        CUDA_CHECK(cudaMemset(alike.get(), 0xFF, pixels * sizeof(int)));
        CUDA_CHECK(cudaMemset(area.get(), 0, flight.crops * sizeof(int)));
        CUDA_CHECK(cudaDeviceSynchronize());
        const nvtx3::scoped_range range{name};
        select<<<(pixels * bands + 255) / 256, 256>>>(device_image.get(), between, device_kept.get(),
                                                      values.get(), pixels, width, bands);
        CUDA_CHECK(cudaGetLastError());
        level<<<blocks, kThreads, of_level>>>(values.get(), records.get(), pixels, bands, flight.window,
                                              record);
        CUDA_CHECK(cudaGetLastError());
        match<<<blocks, kThreads, of_match>>>(records.get(), device_library.get(), crops.get(), pixels, bands,
                                              record, flight.crops);
        CUDA_CHECK(cudaGetLastError());
        chart<<<tiles, dim3(kTile, kRowsAtOnce), of_chart>>>(crops.get(), map.get(), alike.get(), area.get(),
                                                             width, height, flight.around, flight.crops);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    run("warm-up");
    run("survey");

    std::vector<int> found(pixels), found_alike(pixels), area_found(flight.crops), area_planted(flight.crops);
    CUDA_CHECK(cudaMemcpy(found.data(), map.get(), pixels * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(found_alike.data(), alike.get(), pixels * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(area_found.data(), area.get(), flight.crops * sizeof(int), cudaMemcpyDeviceToHost));
    int wrong = 0, shown = 0;
    const auto place = [&](int pixel) { return pixel % width * height + pixel / width; };
    for (int pixel = 0; pixel < pixels; ++pixel) {
        ++area_planted[expected[pixel]];
        const int as_many =
            expected_alike(expected, pixel % width, pixel / width, width, height, flight.around);
        const bool right = found[place(pixel)] == expected[pixel] && found_alike[place(pixel)] == as_many;
        if (!right && wrong++ == 0) shown = pixel;
    }
    for (int crop = 0; crop < flight.crops; ++crop) wrong += area_found[crop] != area_planted[crop];
    std::printf("%d of %d channels kept\n", bands, flight.channels);
    std::printf("pixel %d: expected crop %d, found %d; %d pixels or areas of %d wrong\n", shown,
                expected[shown], found[place(shown)], wrong, pixels);
    return wrong == 0 ? 0 : 1;
}
