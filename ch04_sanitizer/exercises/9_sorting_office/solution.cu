// Sorts the letters of a day, batch by batch. `find_district` looks a letter's postcode up in the list of
// districts, `weigh` finds its class, and `load` puts it onto the list of its district's van and adds its
// postage to what the van carries. While a batch is sorted, the next one is copied to the GPU.
//
// Right: a postcode before the first district goes abroad, as one behind the last does.
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

constexpr int kThreads = 256, kBatch = 1 << 18, kQuarter = 16;  // letters of a batch; batches of a quarter
constexpr int kSlots = 2;                                       // batches that the GPU has room for
constexpr unsigned kDistricts = 1000, kCustomers = 8;           // the last 8 districts are a customer's each
constexpr unsigned kVans = 40, kShelf = kVans, kLists = kVans + 1;  // what no van takes is put on a shelf
constexpr unsigned kNone = 0xFFFFFFFF;                              // where a district has no van
constexpr unsigned kFirst = 256, kEnd = 0xF8000000;                 // postcodes of all districts: from, up to
constexpr unsigned kMostGrams = 2000, kClasses = 11;                // a class ends at twice its first weight
constexpr unsigned kListed = 1 << 18;  // letters that a list has room for; when it's full, it begins anew

/// What a day's mail is like: one letter in so many, on average.
struct Day {
    unsigned foreign;  // has a postcode before the first district
    unsigned light;    // weighs less than half a gram, which the scales show as 0
    unsigned fetched;  // is for a customer, who fetches his mail
    unsigned mailing;  // is the first of a mailing, kListed letters to one postcode
};

Day day_of(std::mt19937& random) {
    const auto average = [&random] { return 1U << (22 + random() % 8); };
    return {average(), average(), average(), average()};
}

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

/// A thread a letter. Class 0 has letters of one gram, class 1 those of two and three, and so on.
__global__ void weigh(const unsigned* grams, unsigned* classes) {
    const unsigned i = blockIdx.x * kThreads + threadIdx.x;
    classes[i] = 31 - __clz(grams[i]);
}

/// One thread per letter: onto the list of its van, which is filled from its end, with its postage.
__global__ void load(const unsigned* districts, const unsigned* classes, const unsigned* van_of,
                     const unsigned* postage_of, unsigned* free_places, unsigned* const* list_of,
                     unsigned* postage) {
    const unsigned i = blockIdx.x * kThreads + threadIdx.x;
    const unsigned van = van_of[districts[i]];
    unsigned* const list = list_of[van];
    const unsigned place = atomicSub(&free_places[van], 1U) - 1;
    list[place] = i;
    atomicAdd(&postage[van], postage_of[classes[i]]);
}

/// What the office keeps for its districts, on both sides.
struct Districts {
    std::vector<unsigned> first_of, van_of;

    /// The districts of customers are the last ones, and have one postcode each.
    explicit Districts(std::mt19937& random) : first_of(kDistricts + 1), van_of(kDistricts + 1, kNone) {
        for (unsigned& first : first_of)
            first = kFirst + static_cast<unsigned>(random()) % (kEnd - kCustomers - kFirst);
        std::sort(first_of.begin(), first_of.end());
        first_of.front() = kFirst;
        for (unsigned c = 0; c <= kCustomers; ++c) first_of[kDistricts - c] = kEnd - c;
        for (unsigned d = 0; d < kDistricts - kCustomers; ++d)
            van_of[d] = static_cast<unsigned>(random()) % kVans;
        van_of[kDistricts] = kShelf;
    }

    /// The list of a postcode, as a reference.
    [[nodiscard]] unsigned list_for(unsigned postcode) const {
        if (postcode < kFirst || postcode >= kEnd - kCustomers) return kShelf;
        return van_of[std::upper_bound(first_of.begin(), first_of.end(), postcode) - first_of.begin() - 1];
    }
};

/// The class of a letter, as a reference: nothing is lighter than the lightest class.
unsigned class_of(unsigned grams) {
    unsigned of = 0;
    while (grams >> (of + 1) > 0) ++of;
    return of;
}

template <class T>
std::unique_ptr<T[], DeviceFree> on_gpu(const std::vector<T>& values) {
    auto copied = device_array<T>(values.size());
    CUDA_CHECK(cudaMemcpy(copied.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return copied;
}

/// Where each list begins.
std::vector<unsigned*> beginnings(unsigned* lists) {
    std::vector<unsigned*> all(kLists);
    for (unsigned list = 0; list < kLists; ++list) all[list] = &lists[size_t{list} * kListed];
    return all;
}

/// Room for a batch, and events: its letters are there; it has been sorted.
struct Slot {
    std::unique_ptr<unsigned[], DeviceFree> postcodes = device_array<unsigned>(kBatch),
                                            grams = device_array<unsigned>(kBatch),
                                            districts = device_array<unsigned>(kBatch),
                                            classes = device_array<unsigned>(kBatch);
    Event come = make_event(cudaEventDisableTiming), sorted = make_event(cudaEventDisableTiming);
};

class Office {
  public:
    Office(const Districts& districts, const std::vector<unsigned>& postage_of)
        : first_of_(on_gpu(districts.first_of)),
          van_of_(on_gpu(districts.van_of)),
          postage_of_(on_gpu(postage_of)) {
        CUDA_CHECK(cudaDeviceSynchronize());  // the tables are there before a stream needs them
    }

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
        weigh<<<kBatch / kThreads, kThreads, 0, sorting_.get()>>>(slot.grams.get(), slot.classes.get());
        CUDA_CHECK(cudaGetLastError());
        load<<<kBatch / kThreads, kThreads, 0, sorting_.get()>>>(
            slot.districts.get(), slot.classes.get(), van_of_.get(), postage_of_.get(), free_places_.get(),
            list_of_.get(), postage_.get());
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(slot.sorted.get(), sorting_.get()));
    }

    /// A quarter of the day ends: the vans leave, and the lists are empty again.
    void send_vans() {
        CUDA_CHECK(cudaStreamSynchronize(sorting_.get()));
        std::vector<unsigned> free_places(kLists);
        constexpr size_t kBytes = kLists * sizeof(unsigned);
        CUDA_CHECK(cudaMemcpy(free_places.data(), free_places_.get(), kBytes, cudaMemcpyDeviceToHost));
        for (unsigned list = 0; list < kLists; ++list) letters_[list] += kListed - free_places[list];
        CUDA_CHECK(cudaMemcpyAsync(free_places_.get(), all_free_.data(), kBytes, cudaMemcpyHostToDevice,
                                   sorting_.get()));
    }

    /// Letters by list and postage by list, of all quarters that have ended.
    [[nodiscard]] std::vector<unsigned> counts() const {
        std::vector<unsigned> all = letters_;
        all.resize(2 * kLists);
        CUDA_CHECK(
            cudaMemcpy(&all[kLists], postage_.get(), kLists * sizeof(unsigned), cudaMemcpyDeviceToHost));
        return all;
    }

  private:
    const std::vector<unsigned> all_free_ = std::vector<unsigned>(kLists, kListed);  // outlives its copies
    std::vector<unsigned> letters_ = std::vector<unsigned>(kLists);
    std::unique_ptr<unsigned[], DeviceFree> first_of_, van_of_, postage_of_,
        free_places_ = on_gpu(all_free_), postage_ = on_gpu(std::vector<unsigned>(kLists)),
        lists_ = device_array<unsigned>(kLists * kListed);
    std::unique_ptr<unsigned*[], DeviceFree> list_of_ = on_gpu(beginnings(lists_.get()));
    Slot slots_[kSlots];
    Stream mail_ = make_stream(cudaStreamNonBlocking), sorting_ = make_stream(cudaStreamNonBlocking);
    int batches_ = 0;
};

/// A day's letters are drawn one by one, so a shorter day is the beginning of a longer one.
void write_letters(const Day& day, size_t letters, unsigned* postcodes, unsigned* grams,
                   std::mt19937& random) {
    const auto one_in = [&random](unsigned average) { return random() % average == 0; };
    unsigned mailed = 0, addressed = 0;  // letters that are left of a mailing, and their postcode
    for (size_t i = 0; i < letters; ++i) {
        unsigned postcode = std::max(static_cast<unsigned>(random()), kFirst);
        if (one_in(day.foreign)) postcode = static_cast<unsigned>(random()) % kFirst;
        if (one_in(day.fetched)) postcode = kEnd - 1 - static_cast<unsigned>(random()) % kCustomers;
        if (one_in(day.mailing)) mailed = kListed, addressed = postcode;
        postcodes[i] = mailed > 0 ? addressed : postcode;
        if (mailed > 0) --mailed;
        grams[i] = one_in(day.light) ? 0 : 1 + static_cast<unsigned>(random()) % kMostGrams;
    }
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Sorts the letters of a day by districts and vans.");
    const int batches =
        static_cast<int>(options.integer("--batches", 64, 1, 256, "batches of 262,144 letters"));
    const auto seed = static_cast<unsigned>(options.integer("--seed", 2064, 0, 1'000'000, "of the day"));
    options.done();
    require_gpu((size_t{kSlots * 4} * kBatch + kLists * kListed) * sizeof(unsigned));

    std::mt19937 random(seed);
    const Day day = day_of(random);
    const Districts districts(random);
    const size_t letters = size_t{kBatch} * batches;
    const auto postcodes = pinned_array<unsigned>(letters), grams = pinned_array<unsigned>(letters);
    write_letters(day, letters, postcodes.get(), grams.get(), random);
    std::vector<unsigned> postage_of(kClasses);
    for (unsigned c = 0; c < kClasses; ++c) postage_of[c] = 70 + 45 * c;

    Office office(districts, postage_of);
    {
        nvtx3::scoped_range range{"day"};
        for (int batch = 0; batch < batches; ++batch) {
            office.sort(&postcodes[size_t{kBatch} * batch], &grams[size_t{kBatch} * batch]);
            if ((batch + 1) % kQuarter != 0 && batch + 1 != batches) continue;
            office.send_vans();
            std::printf("%d batches are sorted\n", batch + 1);
        }
    }

    const std::vector<unsigned> found = office.counts();
    std::vector<unsigned> expected(found.size());
    for (size_t i = 0; i < letters; ++i) {
        const unsigned list = districts.list_for(postcodes[i]);
        ++expected[list];
        expected[kLists + list] += postage_of[class_of(grams[i])];
    }
    size_t wrong = 0;
    for (size_t i = 0; i < found.size(); ++i) wrong += found[i] != expected[i];
    std::printf("on the shelf: expected %u letters, found %u\n", expected[kShelf], found[kShelf]);
    std::printf("wrong counts: expected 0, found %zu of %zu\n", wrong, found.size());
    return wrong == 0 ? 0 : 1;
}
