// Two observatories, each on a GPU of its own, improve one catalogue of stars, of which both keep a copy.
// Every night each works out corrections, zone by zone from the last to the first. Those of both are added up
// and applied to both copies, before the next night begins.
//
// Right: no group is around a region, so that a zone is added up as soon as both have worked it out, while
// they work on the next.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution -lnccl
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o solution ./solution
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/gpus.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kSites = 2, kThreads = 256, kPlates = 8;
constexpr int kOldestNccl = 22000;  // 2.20, the first that was built for CUDA 12.4

/// Ends the program if a call of NCCL fails.
void check_nccl(ncclResult_t status, const char* call, int line) {
    if (status == ncclSuccess) return;
    std::fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, line, call, ncclGetErrorString(status));
    std::exit(1);
}
#define NCCL_CHECK(call) check_nccl((call), #call, __LINE__)

struct CommDestroy {
    void operator()(ncclComm_t comm) const noexcept { (void)ncclCommDestroy(comm); }
};
using Comm = std::unique_ptr<ncclComm, CommDestroy>;

/// `steps` steps of x = 1664525 x + 1013904223, modulo 2^32.
__host__ __device__ unsigned mixed(unsigned x, int steps) {
    for (int step = 0; step < steps; ++step) x = 1664525 * x + 1013904223;
    return x;
}

__host__ __device__ unsigned known_at_first(size_t star) {
    return static_cast<unsigned>(star) * 2654435761u;
}

__global__ void look_up(unsigned* catalogue, size_t stars) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i < stars) catalogue[i] = known_at_first(i);
}

/// Photographic plates: the steps that each needs for a star. A site has some of tonight's.
struct Plates {
    int count;
    unsigned number[kPlates];
    int steps[kPlates];
    void add(unsigned its_number, int its_steps) {
        number[count] = its_number;
        steps[count++] = its_steps;
    }
};

/// What these plates tell of a star.
__host__ __device__ unsigned told(const Plates& plates, unsigned star) {
    unsigned correction = 0;
    for (int plate = 0; plate < plates.count; ++plate)
        correction += mixed(star + plates.number[plate], plates.steps[plate]);
    return correction;
}

/// What a site makes of a zone tonight.
__global__ void work_out(const unsigned* catalogue, unsigned* corrections, size_t stars,
                         const __grid_constant__ Plates plates) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i < stars) corrections[i] = told(plates, catalogue[i]);
}

__global__ void apply(unsigned* catalogue, const unsigned* corrections, size_t stars) {
    const size_t i = blockIdx.x * size_t{kThreads} + threadIdx.x;
    if (i < stars) catalogue[i] += corrections[i];
}

/// The survey, as it's drawn: plates from some number on are exposed for longer.
struct Survey {
    int zones, of_region, regions_a_log, longer_from, longer;
};

Survey survey_of(std::mt19937& random) {
    const int zones = 16 << random() % 5, of_region = 1 << random() % 8, regions_a_log = 1 << random() % 10;
    const int longer_from = static_cast<int>(random() % (kPlates + 1));
    return {zones, std::min(zones, of_region), regions_a_log, longer_from, 1 << random() % 5};
}

/// The catalogue as it is cut: zones of the same number of stars, and regions of the same number of zones.
struct Zones {
    int count, of_region;
    size_t stars;  // of a zone
    [[nodiscard]] size_t all() const { return count * stars; }
    [[nodiscard]] static unsigned blocks(size_t stars) {
        return static_cast<unsigned>((stars + kThreads - 1) / kThreads);
    }
};

/// An observatory: its GPU, and a stream for working out and one for adding up.
struct Site {
    int device;
    Comm comm;
    Plates plates;
    Stream working, adding;
    std::unique_ptr<unsigned[], DeviceFree> catalogue, corrections;
    std::vector<Event> worked_out;  // of each zone
    Event added_up;

    Site(int its_device, ncclComm_t its_comm, const Plates& its_plates, const Zones& zones)
        : device(its_device), comm(its_comm), plates(its_plates) {
        CUDA_CHECK(cudaSetDevice(device));
        int low = 0, high = 0;
        CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
        working = make_stream(cudaStreamNonBlocking, low);
        adding = make_stream(cudaStreamNonBlocking, high);
        catalogue = device_array<unsigned>(zones.all());
        corrections = device_array<unsigned>(zones.all());
        for (int zone = 0; zone < zones.count; ++zone)
            worked_out.push_back(make_event(cudaEventDisableTiming));
        added_up = make_event(cudaEventDisableTiming);
        look_up<<<Zones::blocks(zones.all()), kThreads, 0, working.get()>>>(catalogue.get(), zones.all());
        CUDA_CHECK(cudaGetLastError());
    }

    /// Works out a zone, and marks where that is done.
    void work_out_zone(int zone, const Zones& zones) {
        CUDA_CHECK(cudaSetDevice(device));
        work_out<<<Zones::blocks(zones.stars), kThreads, 0, working.get()>>>(
            &catalogue[zone * zones.stars], &corrections[zone * zones.stars], zones.stars, plates);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(worked_out[zone].get(), working.get()));
    }

    /// A number for the log: the sum of a zone's first star.
    [[nodiscard]] unsigned first_sum_of(int zone, const Zones& zones) const {
        unsigned sum = 0;
        CUDA_CHECK(cudaSetDevice(device));
        CUDA_CHECK(cudaMemcpyAsync(&sum, &corrections[zone * zones.stars], sizeof(sum),
                                   cudaMemcpyDeviceToHost, adding.get()));
        CUDA_CHECK(cudaStreamSynchronize(adding.get()));
        return sum;
    }

    /// Applies the sums of all zones, when the last is there.
    void apply_sums(const Zones& zones) {
        CUDA_CHECK(cudaSetDevice(device));
        CUDA_CHECK(cudaEventRecord(added_up.get(), adding.get()));
        CUDA_CHECK(cudaStreamWaitEvent(working.get(), added_up.get()));
        apply<<<Zones::blocks(zones.all()), kThreads, 0, working.get()>>>(catalogue.get(), corrections.get(),
                                                                          zones.all());
        CUDA_CHECK(cudaGetLastError());
    }
};

/// Adds up what all sites have worked out for a zone. The sum stands at each of them in its place.
void add_up(std::vector<Site>& sites, int zone, const Zones& zones) {
    // One thread speaks for both GPUs. Without a group a call for the first would wait for the second's.
    NCCL_CHECK(ncclGroupStart());
    for (Site& site : sites) {
        unsigned* const its = &site.corrections[zone * zones.stars];
        CUDA_CHECK(cudaSetDevice(site.device));
        CUDA_CHECK(cudaStreamWaitEvent(site.adding.get(), site.worked_out[zone].get()));
        NCCL_CHECK(
            ncclAllReduce(its, its, zones.stars, ncclUint32, ncclSum, site.comm.get(), site.adding.get()));
    }
    NCCL_CHECK(ncclGroupEnd());
}

/// Goes through the sky once. Some regions' first stars go into the log.
void observe(std::vector<Site>& sites, const Zones& zones, int regions_a_log, std::vector<unsigned>& log) {
    for (int region = zones.count / zones.of_region - 1; region >= 0; --region) {
        const int first = region * zones.of_region;
        for (int zone = first + zones.of_region - 1; zone >= first; --zone) {
            for (Site& site : sites) site.work_out_zone(zone, zones);
            add_up(sites, zone, zones);
        }
        if (region % regions_a_log == 0) log.push_back(sites[0].first_sum_of(first, zones));
    }
    for (Site& site : sites) site.apply_sums(zones);
    for (Site& site : sites) {  // the night is over
        CUDA_CHECK(cudaSetDevice(site.device));
        CUDA_CHECK(cudaStreamSynchronize(site.working.get()));
    }
}

/// Refuses a library that is older than what the course is tried with.
void require_nccl() {
    int version = 0;
    NCCL_CHECK(ncclGetVersion(&version));
    if (version >= kOldestNccl) return;
    std::fprintf(stderr, "no suitable NCCL: %d.%d is here, and 2.20 or later is needed\n", version / 10000,
                 version / 100 % 100);
    std::exit(77);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Improves a catalogue of stars on two GPUs.");
    const auto stars =
        static_cast<size_t>(options.integer("--stars", 201'326'592, 256, 402'653'184, "of the catalogue"));
    const int steps =
        static_cast<int>(options.integer("--steps", 96, 1, 100'000, "for a star on a short plate"));
    const int nights =
        static_cast<int>(options.integer("--nights", 3, 1, 100, "nights, behind one to warm up"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 2686, 0, 1'000'000, "of the survey"));
    options.done();
    require_two_gpus();
    require_nccl();
    std::mt19937 random(seed);
    const Survey survey = survey_of(random);
    const Zones zones{survey.zones, survey.of_region, stars / survey.zones};
    for (int device = kSites - 1; device >= 0; --device) {
        CUDA_CHECK(cudaSetDevice(device));
        require_gpu(2 * zones.all() * sizeof(unsigned));
    }
    // The first half of the plates is taken at one site, the second at the other.
    Plates all{}, of_site[kSites] = {};
    for (int plate = 0; plate < kPlates; ++plate) {
        const int its_steps = steps * (plate < survey.longer_from ? 1 : survey.longer);
        all.add(plate, its_steps);
        of_site[plate * kSites / kPlates].add(plate, its_steps);
    }
    // All-reduce by multicast needs a switch between the GPUs and its services. Two GPUs gain little by it.
    ::setenv("NCCL_NVLS_ENABLE", "0", 0);
    ncclComm_t comms[kSites];
    NCCL_CHECK(ncclCommInitAll(comms, kSites, nullptr));
    std::vector<Site> sites;
    for (int device = 0; device < kSites; ++device)
        sites.emplace_back(device, comms[device], of_site[device], zones);
    std::vector<unsigned> log;
    {
        nvtx3::scoped_range range{"warm-up"};
        observe(sites, zones, survey.regions_a_log, log);
    }

    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"survey"};
        for (int night = 0; night < nights; ++night) observe(sites, zones, survey.regions_a_log, log);
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    // A night makes of each star x: x + told(all, x), which is times * x + plus.
    const unsigned plus = told(all, 0), times = 1 + told(all, 1) - plus;
    size_t wrong = 0;
    std::vector<unsigned> found(zones.all());
    for (const Site& site : sites) {
        CUDA_CHECK(cudaMemcpy(found.data(), site.catalogue.get(), zones.all() * sizeof(unsigned),
                              cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < found.size(); ++i) {
            unsigned expected = known_at_first(i);
            for (int night = 0; night < nights + 1; ++night) expected = times * expected + plus;
            if (found[i] != expected && ++wrong == 1)
                std::printf("star %zu of site %d: expected %u, found %u\n", i, site.device, expected,
                            found[i]);
        }
    }
    std::vector<unsigned> expected_log;
    for (int night = 0; night < nights + 1; ++night)
        for (int region = zones.count / zones.of_region - 1; region >= 0; --region) {
            if (region % survey.regions_a_log != 0) continue;
            unsigned star = known_at_first(region * zones.of_region * zones.stars);
            for (int before = 0; before < night; ++before) star = times * star + plus;
            expected_log.push_back(told(all, star));
        }
    const bool log_right = log == expected_log;
    std::printf("%d zones of %zu stars: %.2f ms a night, %zu numbers in the log\n", zones.count, zones.stars,
                elapsed.count() / nights, log.size());
    std::printf("wrong entries: expected 0, found %zu of %zu; the log is %s\n", wrong, kSites * zones.all(),
                log_right ? "right" : "wrong");
    return wrong == 0 && log_right ? 0 : 1;
}
