// Works on the beginnings of takes: a session has three tracks, and each track is a tape on which takes lie
// one after the other. First the peak of each track is found. Then the room's track is gated, the music is
// ducked and the voice is softened, in the first four samples of each take.
//
// Symptom: it has worked for many sessions. Today's ends with `misaligned address`.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    compute-sanitizer --tool memcheck ./starter
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kTracks = 3, kRoom = 0, kMusic = 1, kVoice = 2;
constexpr int kLanes = 4, kThreads = 256, kBlocks = 8;  // a float4 has four samples
constexpr float kQuiet = 0.4F;
constexpr unsigned kSeed = 3628;

/// A take begins at sample `begin` of its track's tape.
struct Take {
    int begin, length;
    float gain;
    int id;
};

/// Four numbers of a take with one load: begin, length, gain and id.
__device__ Take take_at(const Take* takes, int i) {
    const int4 four = reinterpret_cast<const int4*>(takes)[i];
    return {four.x, four.y, __int_as_float(four.z), four.w};
}

/// Samples are at most 1, so as integers their magnitudes have the same order. `count` is a multiple of 4.
__global__ void find_peak(const float* tape, int count, int* peak) {
    float most = 0;
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < count / kLanes; i += kBlocks * kThreads) {
        const float4 four = reinterpret_cast<const float4*>(tape)[i];
        most = fmaxf(most, fmaxf(fmaxf(fabsf(four.x), fabsf(four.y)), fmaxf(fabsf(four.z), fabsf(four.w))));
    }
    atomicMax(peak, __float_as_int(most));
}

__global__ void gate(float* tape, const Take* takes, float peak) {
    const Take take = take_at(takes, threadIdx.x);
    float4 four = *reinterpret_cast<const float4*>(tape + take.begin);
    const float most = fmaxf(fmaxf(fabsf(four.x), fabsf(four.y)), fmaxf(fabsf(four.z), fabsf(four.w)));
    if (most < kQuiet * peak) four = make_float4(0, 0, 0, 0);
    *reinterpret_cast<float4*>(tape + take.begin) = four;
}

__global__ void duck(float* tape, const Take* takes, float peak) {
    const Take take = take_at(takes, threadIdx.x);
    float4 four = *reinterpret_cast<const float4*>(tape + take.begin);
    const float gain = take.gain * peak;
    four.x *= gain, four.y *= gain, four.z *= gain, four.w *= gain;
    *reinterpret_cast<float4*>(tape + take.begin) = four;
}

__global__ void soften(float* tape, const Take* takes, float peak) {
    const Take take = take_at(takes, threadIdx.x);
    float4 four = *reinterpret_cast<const float4*>(tape + take.begin);
    four.x *= 0.2F * peak, four.y *= 0.4F * peak, four.z *= 0.6F * peak, four.w *= 0.8F * peak;
    *reinterpret_cast<float4*>(tape + take.begin) = four;
}

/// The same on the host, for the first four samples of a take.
void work_on(int track, float* first, const Take& take, float peak) {
    float most = 0;
    for (int k = 0; k < kLanes; ++k) most = std::max(most, std::fabs(first[k]));
    for (int k = 0; k < kLanes; ++k) {
        if (track == kRoom && most < kQuiet * peak) first[k] = 0;
        if (track == kMusic) first[k] *= take.gain * peak;
        if (track == kVoice) first[k] *= (0.2F * static_cast<float>(k + 1)) * peak;
    }
}

/// Takes have whole blocks of four samples, as they come from the recorder. Here and there one has been cut
/// since.
std::vector<Take> new_takes(int count, std::mt19937& random) {
    std::vector<Take> takes(count);
    int begin = 0;
    for (int i = 0; i < count; ++i) {
        int length = kLanes * static_cast<int>(50 + random() % 200);
        if (random() % 48 == 0) length -= static_cast<int>(random() % kLanes);
        takes[i] = {begin, length, static_cast<float>(random() % 100) / 100, i};
        begin += length;
    }
    return takes;
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Works on the beginnings of the takes of three tracks.");
    const int count = static_cast<int>(options.integer("--takes", 32, 1, 1024, "takes of a track"));
    options.done();
    require_gpu(size_t{kTracks} * count * (1000 * sizeof(float) + sizeof(Take)));

    std::mt19937 random(kSeed);
    std::vector<Take> takes[kTracks];
    std::vector<float> before[kTracks], after[kTracks];
    size_t samples = 0;
    for (auto& of_track : takes) {
        of_track = new_takes(count, random);
        samples += of_track.back().begin + of_track.back().length;
    }
    std::printf("samples of %d takes: %zu\n", kTracks * count, samples);

    decltype(device_array<float>(0)) tapes[kTracks];
    decltype(device_array<Take>(0)) device_takes[kTracks];
    const auto peaks = device_array<int>(kTracks);
    CUDA_CHECK(cudaMemset(peaks.get(), 0, kTracks * sizeof(int)));
    float peak[kTracks];
    for (int track = 0; track < kTracks; ++track) {
        const int used = takes[track].back().begin + takes[track].back().length;
        before[track].resize((used + kLanes - 1) / kLanes * kLanes);  // silence at the end of the tape
        for (int i = 0; i < used; ++i) before[track][i] = static_cast<float>(random() % 20001) / 10000 - 1;
        const size_t bytes = before[track].size() * sizeof(float);
        tapes[track] = device_array<float>(before[track].size());
        device_takes[track] = device_array<Take>(count);
        CUDA_CHECK(cudaMemcpy(tapes[track].get(), before[track].data(), bytes, cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaMemcpy(device_takes[track].get(), takes[track].data(), count * sizeof(Take),
                              cudaMemcpyHostToDevice));
        find_peak<<<kBlocks, kThreads>>>(tapes[track].get(), static_cast<int>(before[track].size()),
                                         &peaks[track]);
        CUDA_CHECK(cudaGetLastError());
    }
    CUDA_CHECK(cudaMemcpy(peak, peaks.get(), sizeof(peak), cudaMemcpyDeviceToHost));
    {
        nvtx3::scoped_range range{"session"};
        gate<<<1, count>>>(tapes[kRoom].get(), device_takes[kRoom].get(), peak[kRoom]);
        CUDA_CHECK(cudaGetLastError());
        duck<<<1, count>>>(tapes[kMusic].get(), device_takes[kMusic].get(), peak[kMusic]);
        CUDA_CHECK(cudaGetLastError());
        soften<<<1, count>>>(tapes[kVoice].get(), device_takes[kVoice].get(), peak[kVoice]);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    size_t wrong = 0;
    for (int track = 0; track < kTracks; ++track) {
        after[track].resize(before[track].size());
        CUDA_CHECK(cudaMemcpy(after[track].data(), tapes[track].get(), after[track].size() * sizeof(float),
                              cudaMemcpyDeviceToHost));
        float most = 0;
        for (const float sample : before[track]) most = std::max(most, std::fabs(sample));
        for (const Take& take : takes[track]) work_on(track, &before[track][take.begin], take, most);
        for (size_t i = 0; i < before[track].size(); ++i)
            if (!(std::fabs(after[track][i] - before[track][i]) <= 1e-6F) && ++wrong == 1)
                std::printf("track %d, sample %zu: expected %.6f, found %.6f\n", track, i, before[track][i],
                            after[track][i]);
    }
    std::printf("wrong samples: expected 0, found %zu\n", wrong);
    return wrong == 0 ? 0 : 1;
}
