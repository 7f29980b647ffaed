// Works on a session of three tracks: the room, the music and the voice. A track is a tape on which takes lie
// one after the other, without what the editor has cut off them. The tape is smoothed where something was
// cut. Then the room is gated, the music is ducked, and the voice's takes begin softly.
//
// Right: four samples of the voice are loaded and stored at once where they begin at a multiple of 16 bytes,
// and one by one where cuts have moved a take.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    compute-sanitizer --tool memcheck ./solution
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kTracks = 3, kRoom = 0, kMusic = 1, kVoice = 2;
constexpr int kWarp = 32, kThreads = 256, kBlocks = 8;
constexpr int kLanes = 4;    // a float4 has four samples
constexpr int kTile = 1024;  // samples of a take that `gate` looks at in shared memory
constexpr int kHold = 4;     // samples for which a gate stays open ahead of a loud one
constexpr int kScene = 768;  // samples of a scene of the script
constexpr int kReel = 2048;  // a tape has room for a multiple of so many samples
constexpr float kQuiet = 0.4F;
constexpr unsigned kSeed = 2611;

/// A take begins at sample `begin` of its track's tape.
struct Take {
    int begin, length;
    float gain;
};

struct Track {
    std::vector<Take> takes;
    std::vector<int> joints;      // samples in front of which something was cut
    std::vector<float> loudness;  // at the beginning of each scene, by the script
    std::vector<float> samples;   // of all takes
    std::vector<float> outro;     // comes behind the last take
};

/// Takes come from the recorder in blocks of four samples. The editor cuts some, at the head or at the tail.
Track new_track(int count, std::mt19937& random) {
    const int grid = 1 << random() % 7;  // in samples: what is cut is a multiple of it
    const auto new_sample = [&] { return static_cast<float>(random() % 20001) / 10000 - 1; };
    Track track;
    int end = 0;
    for (int i = 0; i < count; ++i) {
        const int recorded = kLanes * static_cast<int>(50 + random() % 209);
        const int cut = random() % 6 == 0 ? grid * static_cast<int>(1 + random() % 3) : 0;
        const int length = recorded - cut;
        if (cut > 0) track.joints.push_back(random() % 2 == 0 ? end : end + length);
        track.takes.push_back({end, length, static_cast<float>(random() % 100) / 100});
        end += length;
    }
    track.loudness.resize(end / kScene + 1);
    for (float& loudness : track.loudness) loudness = static_cast<float>(random() % 100) / 100;
    track.samples.resize(end);
    std::generate(track.samples.begin(), track.samples.end(), new_sample);
    track.outro.resize(kWarp + random() % 320);
    std::generate(track.outro.begin(), track.outro.end(), new_sample);
    return track;
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

/// A sample around a joint becomes the mean of itself and its neighbors. One warp, one joint after the other.
__global__ void mend(float* tape, const int* joints, int count) {
    for (int i = 0; i < count; ++i) {
        float* const sample = tape + joints[i] - kWarp / 2 + threadIdx.x;
        const float own = *sample;
        const float before = __shfl_up_sync(0xFFFFFFFF, own, 1);
        const float behind = __shfl_down_sync(0xFFFFFFFF, own, 1);
        if (threadIdx.x > 0 && threadIdx.x < kWarp - 1) *sample = (before + own + behind) / 3;
        __syncwarp();  // windows may overlap
    }
}

/// Silences each sample of a take that's quiet, if the next ones are, too. One block per take.
__global__ void gate(float* tape, const Take* takes, float peak) {
    __shared__ float tile[kTile];
    const Take take = takes[blockIdx.x];
    for (int i = threadIdx.x; i < take.length; i += kThreads) tile[i] = tape[take.begin + i];
    __syncthreads();
    for (int i = threadIdx.x; i < take.length; i += kThreads) {
        float most = 0;
        for (int k = i; k < min(i + kHold, take.length); ++k) most = fmaxf(most, fabsf(tile[k]));
        if (most < kQuiet * peak) tape[take.begin + i] = 0;
    }
}

/// Makes a take as loud as the script wants it where the take begins, between two scenes. One block per take.
__global__ void duck(float* tape, const Take* takes, const float* loudness, float peak) {
    const Take take = takes[blockIdx.x];
    const int scene = take.begin / kScene;
    const float part = static_cast<float>(take.begin % kScene) / kScene;
    const float wanted = (1 - part) * loudness[scene] + part * loudness[scene + 1];
    for (int i = threadIdx.x; i < take.length; i += kThreads)
        tape[take.begin + i] *= take.gain * peak * wanted;
}

/// A float4 may begin only at a multiple of its size.
__device__ bool may_be_wide(const float* first) {
    return reinterpret_cast<size_t>(first) % sizeof(float4) == 0;
}
__device__ float4 load(const float* first) {
    if (may_be_wide(first)) return *reinterpret_cast<const float4*>(first);
    return make_float4(first[0], first[1], first[2], first[3]);
}
__device__ void store(float* first, float4 four) {
    if (may_be_wide(first))
        *reinterpret_cast<float4*>(first) = four;
    else
        first[0] = four.x, first[1] = four.y, first[2] = four.z, first[3] = four.w;
}

/// Turns up the first four samples of a take step by step. One thread per take.
__global__ void soften(float* tape, const Take* takes, float peak) {
    const Take take = takes[threadIdx.x];
    float4 four = load(tape + take.begin);
    four.x *= 0.2F * peak, four.y *= 0.4F * peak, four.z *= 0.6F * peak, four.w *= 0.8F * peak;
    store(tape + take.begin, four);
}

/// A sample outside of the tape is silent.
void mend_on_host(std::vector<float>& tape, int joint) {
    const int begin = joint - kWarp / 2, end = begin + kWarp, size = static_cast<int>(tape.size());
    const std::vector<float> before = tape;
    const auto at = [&](int i) { return i >= 0 && i < size ? before[i] : 0; };
    for (int i = std::max(begin + 1, 0); i < std::min(end - 1, size); ++i)
        tape[i] = (at(i - 1) + at(i) + at(i + 1)) / 3;
}

/// The last scene stays as loud as it begins.
std::vector<float> work_on_host(int index, const Track& track) {
    float peak = 0;
    for (const float sample : track.samples) peak = std::max(peak, std::fabs(sample));
    std::vector<float> tape = track.samples;
    tape.insert(tape.end(), track.outro.begin(), track.outro.end());
    for (const int joint : track.joints) mend_on_host(tape, joint);
    for (const Take& take : track.takes) {
        float* const first = &tape[take.begin];
        const size_t scene = take.begin / kScene, next = std::min(scene + 1, track.loudness.size() - 1);
        const float part = static_cast<float>(take.begin % kScene) / kScene;
        const float wanted = (1 - part) * track.loudness[scene] + part * track.loudness[next];
        for (int i = 0; i < take.length; ++i) {
            float most = 0;
            for (int k = i; k < std::min(i + kHold, take.length); ++k)
                most = std::max(most, std::fabs(first[k]));
            if (index == kRoom && most < kQuiet * peak) first[i] = 0;
            if (index == kMusic) first[i] *= take.gain * peak * wanted;
            if (index == kVoice && i < kLanes) first[i] *= 0.2F * static_cast<float>(i + 1) * peak;
        }
    }
    return tape;
}

int round_up(int count, int multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

template <class T>
std::unique_ptr<T[], DeviceFree> on_device(const std::vector<T>& numbers) {
    auto array = device_array<T>(numbers.size());
    CUDA_CHECK(cudaMemcpy(array.get(), numbers.data(), numbers.size() * sizeof(T), cudaMemcpyHostToDevice));
    return array;
}

/// A tape on the GPU. Behind what is recorded it's silent.
class Tape {
  public:
    [[nodiscard]] float* samples() const { return samples_.get(); }

    void append(const std::vector<float>& more) {
        const int count = static_cast<int>(more.size());
        if (used_ + count > room_) grow(round_up(used_ + count, kReel));
        CUDA_CHECK(cudaMemcpy(&samples_[used_], more.data(), count * sizeof(float), cudaMemcpyHostToDevice));
        used_ += count;
    }

  private:
    void grow(int room) {
        auto longer = device_array<float>(room);
        CUDA_CHECK(cudaMemset(longer.get(), 0, room * sizeof(float)));
        CUDA_CHECK(cudaMemcpy(longer.get(), samples_.get(), used_ * sizeof(float), cudaMemcpyDeviceToDevice));
        samples_ = std::move(longer);
        room_ = room;
    }

    std::unique_ptr<float[], DeviceFree> samples_;
    int used_ = 0, room_ = 0;
};

/// What kernels need of a track.
struct Work {
    float* tape;
    std::unique_ptr<Take[], DeviceFree> takes;
    std::unique_ptr<int[], DeviceFree> joints;
    std::unique_ptr<float[], DeviceFree> loudness;
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Works on the takes of three tracks.");
    const int count = static_cast<int>(options.integer("--takes", 32, 1, 1024, "takes of a track"));
    options.done();
    require_gpu(size_t{kTracks} * count * (2048 * sizeof(float) + sizeof(Take)));

    std::mt19937 random(kSeed);
    Track tracks[kTracks];
    size_t samples = 0;
    for (Track& track : tracks) {
        track = new_track(count, random);
        samples += track.samples.size();
    }
    std::printf("samples of %d takes: %zu\n", kTracks * count, samples);

    Tape tapes[kTracks];
    Work work[kTracks];
    const auto peaks = on_device(std::vector<int>(kTracks));
    float peak[kTracks];
    for (int i = 0; i < kTracks; ++i) {
        const Track& track = tracks[i];
        tapes[i].append(track.samples);
        work[i] = {tapes[i].samples(), on_device(track.takes), on_device(track.joints),
                   on_device(track.loudness)};
        find_peak<<<kBlocks, kThreads>>>(work[i].tape, round_up(track.samples.size(), kLanes), &peaks[i]);
        CUDA_CHECK(cudaGetLastError());
    }
    CUDA_CHECK(cudaMemcpy(peak, peaks.get(), sizeof(peak), cudaMemcpyDeviceToHost));
    for (int i = 0; i < kTracks; ++i) tapes[i].append(tracks[i].outro);
    {
        nvtx3::scoped_range range{"session"};
        for (int i = 0; i < kTracks; ++i) {
            mend<<<1, kWarp>>>(work[i].tape, work[i].joints.get(), static_cast<int>(tracks[i].joints.size()));
            CUDA_CHECK(cudaGetLastError());
        }
        const Work &room = work[kRoom], &music = work[kMusic], &voice = work[kVoice];
        gate<<<count, kThreads>>>(room.tape, room.takes.get(), peak[kRoom]);
        CUDA_CHECK(cudaGetLastError());
        duck<<<count, kThreads>>>(music.tape, music.takes.get(), music.loudness.get(), peak[kMusic]);
        CUDA_CHECK(cudaGetLastError());
        soften<<<1, count>>>(voice.tape, voice.takes.get(), peak[kVoice]);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    size_t wrong = 0;
    for (int i = 0; i < kTracks; ++i) {
        const std::vector<float> expected = work_on_host(i, tracks[i]);
        std::vector<float> found(expected.size());
        CUDA_CHECK(cudaMemcpy(found.data(), tapes[i].samples(), found.size() * sizeof(float),
                              cudaMemcpyDeviceToHost));
        for (size_t k = 0; k < found.size(); ++k)
            if (!(std::fabs(found[k] - expected[k]) <= 1e-6F) && ++wrong == 1)
                std::printf("track %d, sample %zu: expected %.6f, found %.6f\n", i, k, expected[k], found[k]);
    }
    std::printf("wrong samples: expected 0, found %zu\n", wrong);
    return wrong == 0 ? 0 : 1;
}
