// Sorts the letters of a day, batch by batch. `find_district` looks a letter's postcode up in the list of
// districts, `weigh` counts letters by weight, and `load` gives each to the van of its district. While a
// batch is sorted, the next one is copied to the GPU.
//
// Symptom: most days end well. This one ends early, with an error, and on a shorter one there's none.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. solution.cu -o solution    (in this folder)
// look:    CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 CUDA_COREDUMP_FILE=day.nvcudmp ./solution
//          cuda-gdb -batch -ex 'target cudacore day.nvcudmp' -ex 'info cuda kernels' -ex bt
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256, kBatch = 1 << 18, kQuarter = 16;  // letters of a batch; batches between counts
constexpr int kSlots = 2;                                       // batches that the GPU has room for
constexpr unsigned kDistricts = 1000, kVans = 40;               // van kVans takes what goes abroad
constexpr unsigned kFirst = 256, kEnd = 0xF8000000;             // postcodes of all districts: from, up to
constexpr unsigned kMostGrams = 2000, kClassGrams = 50, kClasses = kMostGrams / kClassGrams;
constexpr unsigned kListed = 1 << 15;  // letters that a van's list has room for; then it begins anew

/// A thread a letter. Of the districts, the last that begins at the postcode or before it; where none does,
/// the last of all, which stands for abroad.
__global__ void find_district(const unsigned* postcodes, const unsigned* first_of, unsigned* districts) {
    const unsigned i = blockIdx.x * kThreads + threadIdx.x;
    unsigned low = 0, high = kDistricts + 1;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (first_of[middle] <= postcodes[i])
            low = middle + 1;
        else
            high = middle;
    }
    districts[i] = low > 0 ? low - 1 : kDistricts;
}

/// One thread per letter. Each block counts for itself before it adds to the counts of the day.
__global__ void weigh(const unsigned* grams, unsigned* classes) {
    __shared__ unsigned of_block[kClasses];
    for (unsigned c = threadIdx.x; c < kClasses; c += kThreads) of_block[c] = 0;
    __syncthreads();
    atomicAdd(&of_block[grams[blockIdx.x * kThreads + threadIdx.x] / kClassGrams], 1U);
    __syncthreads();
    for (unsigned c = threadIdx.x; c < kClasses; c += kThreads) atomicAdd(&classes[c], of_block[c]);
}

/// One thread per letter: onto the list of its van, with its weight.
__global__ void load(const unsigned* districts, const unsigned* grams, const unsigned* van_of,
                     unsigned* counts, unsigned* loads, unsigned* lists) {
    const unsigned i = blockIdx.x * kThreads + threadIdx.x;
    const unsigned van = van_of[districts[i]];
    const unsigned place = atomicAdd(&counts[van], 1U) % kListed;
    lists[van * kListed + place] = i;
    atomicAdd(&loads[van], grams[i]);
}

/// What the office keeps for its districts, on both sides.
struct Districts {
    std::vector<unsigned> first_of, van_of;

    explicit Districts(std::mt19937& random) : first_of(kDistricts + 1), van_of(kDistricts + 1, kVans) {
        for (unsigned& first : first_of) first = kFirst + static_cast<unsigned>(random()) % (kEnd - kFirst);
        first_of.front() = kFirst, first_of.back() = kEnd;
        std::sort(first_of.begin(), first_of.end());
        for (unsigned d = 0; d < kDistricts; ++d) van_of[d] = static_cast<unsigned>(random()) % kVans;
    }

    /// The van of a postcode, as a reference.
    [[nodiscard]] unsigned van_for(unsigned postcode) const {
        if (postcode < kFirst || postcode >= kEnd) return kVans;
        return van_of[std::upper_bound(first_of.begin(), first_of.end(), postcode) - first_of.begin() - 1];
    }
};

std::unique_ptr<unsigned[], DeviceFree> on_gpu(const std::vector<unsigned>& numbers) {
    auto copied = device_array<unsigned>(numbers.size());
    CUDA_CHECK(
        cudaMemcpy(copied.get(), numbers.data(), numbers.size() * sizeof(unsigned), cudaMemcpyHostToDevice));
    return copied;
}

/// Room for a batch, and events: its letters are there; it has been sorted.
struct Slot {
    std::unique_ptr<unsigned[], DeviceFree> postcodes = device_array<unsigned>(kBatch),
                                            grams = device_array<unsigned>(kBatch),
                                            districts = device_array<unsigned>(kBatch);
    Event come = make_event(cudaEventDisableTiming), sorted = make_event(cudaEventDisableTiming);
};

class Office {
  public:
    explicit Office(const Districts& districts)
        : first_of_(on_gpu(districts.first_of)), van_of_(on_gpu(districts.van_of)) {}

    /// Takes a batch in. The host doesn't wait.
    void sort(const unsigned* postcodes, const unsigned* grams) {
        Slot& slot = slots_[batches_++ % kSlots];
        constexpr size_t kBytes = kBatch * sizeof(unsigned);
        CUDA_CHECK(cudaStreamWaitEvent(mail_.get(), slot.sorted.get()));
        CUDA_CHECK(
            cudaMemcpyAsync(slot.postcodes.get(), postcodes, kBytes, cudaMemcpyHostToDevice, mail_.get()));
        CUDA_CHECK(cudaMemcpyAsync(slot.grams.get(), grams, kBytes, cudaMemcpyHostToDevice, mail_.get()));
        CUDA_CHECK(cudaEventRecord(slot.come.get(), mail_.get()));

        CUDA_CHECK(cudaStreamWaitEvent(sorting_.get(), slot.come.get()));
        find_district<<<kBatch / kThreads, kThreads, 0, sorting_.get()>>>(
            slot.postcodes.get(), first_of_.get(), slot.districts.get());
        CUDA_CHECK(cudaGetLastError());
        weigh<<<kBatch / kThreads, kThreads, 0, sorting_.get()>>>(slot.grams.get(), classes_.get());
        CUDA_CHECK(cudaGetLastError());
        load<<<kBatch / kThreads, kThreads, 0, sorting_.get()>>>(
            slot.districts.get(), slot.grams.get(), van_of_.get(), counts_.get(), loads_.get(), lists_.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(slot.sorted.get(), sorting_.get()));
    }

    /// Letters by weight, letters by van and grams by van, so far.
    [[nodiscard]] std::vector<unsigned> count() const {
        CUDA_CHECK(cudaStreamSynchronize(sorting_.get()));
        std::vector<unsigned> all(kClasses + 2 * (kVans + 1));
        unsigned* to = all.data();
        for (const auto& [from, length] :
             {std::pair{classes_.get(), kClasses}, std::pair{counts_.get(), kVans + 1},
              std::pair{loads_.get(), kVans + 1}}) {
            CUDA_CHECK(cudaMemcpy(to, from, length * sizeof(unsigned), cudaMemcpyDeviceToHost));
            to += length;
        }
        return all;
    }

  private:
    std::unique_ptr<unsigned[], DeviceFree> first_of_, van_of_,
        classes_ = on_gpu(std::vector<unsigned>(kClasses)),
        counts_ = on_gpu(std::vector<unsigned>(kVans + 1)), loads_ = on_gpu(std::vector<unsigned>(kVans + 1)),
        lists_ = device_array<unsigned>((kVans + 1) * kListed);
    Slot slots_[kSlots];
    Stream mail_ = make_stream(cudaStreamNonBlocking), sorting_ = make_stream(cudaStreamNonBlocking);
    int batches_ = 0;
};

int main(int argc, char** argv) {
    Options options(argc, argv, "Sorts the letters of a day by districts and vans.");
    const int batches =
        static_cast<int>(options.integer("--batches", 64, 1, 256, "batches of 262,144 letters"));
    options.done();
    require_gpu(size_t{kSlots * 3 + 1} * kBatch * sizeof(unsigned));

    std::mt19937 random(1874);
    const Districts districts(random);
    const size_t letters = size_t{kBatch} * batches;
    const auto postcodes = pinned_array<unsigned>(letters), grams = pinned_array<unsigned>(letters);
    for (size_t i = 0; i < letters; ++i) {
        postcodes[i] = static_cast<unsigned>(random());
        grams[i] = postcodes[i] * 2654435761U / 4096 % kMostGrams;
    }
    Office office(districts);
    std::vector<unsigned> found;
    {
        nvtx3::scoped_range range{"day"};
        for (int batch = 0; batch < batches; ++batch) {
            office.sort(&postcodes[size_t{kBatch} * batch], &grams[size_t{kBatch} * batch]);
            if ((batch + 1) % kQuarter != 0 && batch + 1 != batches) continue;
            found = office.count();
            std::printf("%d batches are sorted\n", batch + 1);
        }
    }

    std::vector<unsigned> expected(found.size());
    for (size_t i = 0; i < letters; ++i) {
        const unsigned van = districts.van_for(postcodes[i]);
        ++expected[grams[i] / kClassGrams];
        ++expected[kClasses + van];
        expected[kClasses + kVans + 1 + van] += grams[i];
    }
    size_t wrong = 0;
    for (size_t i = 0; i < found.size(); ++i) wrong += found[i] != expected[i];
    std::printf("abroad: expected %u letters, found %u\n", expected[kClasses + kVans],
                found[kClasses + kVans]);
    std::printf("wrong counts: expected 0, found %zu of %zu\n", wrong, found.size());
    return wrong == 0 ? 0 : 1;
}
