// Sorts the parcels of a depot, hour by hour through a night shift. Lorries bring parcels, which are routed
// to chutes and booked there; chutes that are too full pass parcels on, and each parcel gets a label.
//
// Symptom: a shift takes longer than it has to, and each depot has another reason.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

#include "common/check.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kThreads = 256, kBookBlocks = 32;
constexpr int kWords = 16;  // of a label
constexpr int kRouteSteps = 8192, kReadSteps = 256, kFeeSteps = 128;
constexpr int kMostRounds = 4096;

// ---- the depot and its night ------------------------------------------------------------------------------

struct Lorry {
    int first, parcels;  // where its parcels lie among those of the hour
    unsigned key;
};

struct Hour {
    int parcels, most;  // of all lorries together, and of the fullest
    unsigned chutes;    // that are open
    std::vector<Lorry> lorries;
    std::vector<int> smudged;  // parcels whose code has to be read again
};

struct Depot {
    std::vector<Hour> hours;
    int look_every;  // rounds from one look at the chutes to the next
    int spare;       // label sheets that are kept when they are out of use
};

Depot draw_depot(std::mt19937& random, int hours, int parcels) {
    Depot depot;
    const int lorries = 1 << (1 + random() % 7), smudges = 1 << random() % 10;
    const unsigned chutes = parcels / 64 * (3 + random() % 14);
    depot.look_every = 1 << random() % 6;
    depot.spare = static_cast<int>(random() % 8) / 2;
    for (int h = 0; h < hours; ++h) {
        Hour hour{};
        for (int i = 0; i < lorries; ++i) {
            const int load = parcels / lorries, brought = load - static_cast<int>(random() % (load / 4 + 1));
            hour.lorries.push_back({hour.parcels, brought, static_cast<unsigned>(random()) | 1});
            hour.parcels += brought;
            hour.most = std::max(hour.most, brought);
        }
        hour.chutes = chutes - static_cast<unsigned>(random()) % (chutes / 4);
        for (int i = 0; i < hour.parcels; ++i)
            if (static_cast<int>(random() % 1024) < smudges) hour.smudged.push_back(i);
        depot.hours.push_back(hour);
    }
    return depot;
}

// ---- what is done to a parcel -----------------------------------------------------------------------------

/// `steps` steps of x = 5 x + key, modulo 2^32.
__host__ __device__ unsigned mix(unsigned x, unsigned key, int steps) {
    for (int step = 0; step < steps; ++step) x = 5 * x + key;
    return x;
}

/// Where a parcel goes by what its lorry's key makes of its code. All express parcels share the first chute.
__host__ __device__ unsigned chute_for(unsigned code, unsigned mixed, unsigned chutes) {
    return code % 128 == 0 ? 0 : mixed / 16 % chutes;
}

/// Parcels that a chute holds.
__host__ __device__ unsigned room_of(int parcels, unsigned chutes) {
    return parcels / chutes + 3;
}

__host__ __device__ unsigned word_of(unsigned code, unsigned chute, unsigned fees, unsigned level,
                                     unsigned word) {
    return (code ^ word) * (2 * chute + 1) + fees + level * word;
}

struct Account {
    unsigned parcels, fees;
};

/// One row of blocks for each lorry, from `lorries` on.
__global__ void route(const Lorry* lorries, const unsigned* codes, unsigned chutes, unsigned* chute_of) {
    const Lorry lorry = lorries[blockIdx.y];
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < lorry.parcels)
        chute_of[lorry.first + i] =
            chute_for(codes[lorry.first + i], mix(codes[lorry.first + i], lorry.key, kRouteSteps), chutes);
}

/// Books each parcel to its chute. A block keeps the accounts of its own parcels in shared memory.
__global__ void book(const unsigned* codes, const unsigned* chute_of, int parcels, unsigned chutes,
                     Account* accounts) {
    extern __shared__ Account own[];
    for (unsigned chute = threadIdx.x; chute < chutes; chute += kThreads) own[chute] = {0, 0};
    __syncthreads();
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < parcels; i += kBookBlocks * kThreads) {
        atomicAdd(&own[chute_of[i]].parcels, 1);
        atomicAdd(&own[chute_of[i]].fees, mix(codes[i], 9, kFeeSteps));
    }
    __syncthreads();
    for (unsigned chute = threadIdx.x; chute < chutes; chute += kThreads) {
        if (own[chute].parcels == 0) continue;
        atomicAdd(&accounts[chute].parcels, own[chute].parcels);
        atomicAdd(&accounts[chute].fees, own[chute].fees);
    }
}

/// One round: each chute passes on to the next what is too much for it. Counts those that had too much.
__global__ void settle(const Account* accounts, Account* next, unsigned chutes, unsigned room,
                       int* too_full) {
    const unsigned chute = blockIdx.x * kThreads + threadIdx.x;
    if (chute >= chutes) return;
    const unsigned before = accounts[chute == 0 ? chutes - 1 : chute - 1].parcels,
                   its = accounts[chute].parcels;
    next[chute] = {min(its, room) + (before > room ? before - room : 0), accounts[chute].fees};
    if (its > room) atomicAdd(too_full, 1);
}

__global__ void label(const unsigned* codes, const unsigned* chute_of, const Account* accounts, int parcels,
                      unsigned* labels) {
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < parcels * kWords; i += gridDim.x * kThreads) {
        const unsigned chute = chute_of[i / kWords];
        labels[i] =
            word_of(codes[i / kWords], chute, accounts[chute].fees, accounts[chute].parcels, i % kWords);
    }
}

int blocks_for(int threads) {
    return (threads + kThreads - 1) / kThreads;
}

// ---- label sheets -----------------------------------------------------------------------------------------

using Sheet = std::unique_ptr<unsigned[], PinnedFree>;

/// Sheets of labels, for the labels of an hour each. A few that are out of use are kept for later.
class Sheets {
  public:
    Sheets(size_t words, int spare) : words_(words), spare_(spare) {}

    [[nodiscard]] Sheet take() {
        if (kept_.empty()) return pinned_array<unsigned>(words_);
        Sheet sheet = std::move(kept_.back());
        kept_.pop_back();
        return sheet;
    }

    void give_back(Sheet sheet) {
        if (static_cast<int>(kept_.size()) < spare_) kept_.push_back(std::move(sheet));
    }

  private:
    size_t words_;
    int spare_;
    std::vector<Sheet> kept_;
};

/// What is kept of an hour's labels.
unsigned sum_of(const unsigned* labels, size_t words) {
    unsigned sum = 0;
    for (size_t i = 0; i < words; ++i) sum += labels[i] ^ static_cast<unsigned>(i);
    return sum;
}

// ---- the shift --------------------------------------------------------------------------------------------

class Shift {
  public:
    Shift(const Depot& depot, int parcels, unsigned chutes)
        : look_every_(depot.look_every),
          sheets_(size_t(kWords) * parcels, depot.spare),
          codes_(device_array<unsigned>(parcels)),
          chute_of_(device_array<unsigned>(parcels)),
          labels_(device_array<unsigned>(size_t(kWords) * parcels)),
          lorries_(device_array<Lorry>(parcels)),
          accounts_(device_array<Account>(chutes)),
          next_(device_array<Account>(chutes)),
          too_full_(device_array<int>(kMostRounds)) {}

    /// Queues the work for an hour, and files the labels of the hour before.
    void work(const Hour& hour, unsigned* codes) {
        bring(hour, codes);
        route_all(hour);
        if (!book_all(hour)) book_by_host(hour, codes);
        settle_all(hour);
        print(hour);
    }

    /// Files what is still under way.
    void finish() {
        for (Print& print : prints_) file(print);
    }

    [[nodiscard]] const std::vector<unsigned>& sums() const { return sums_; }

  private:
    /// The labels of an hour, on their way to the host.
    struct Print {
        Sheet sheet;
        size_t words = 0;
        Event done = make_event(cudaEventDisableTiming);
    };

    void bring(const Hour& hour, unsigned* codes) {
        const nvtx3::scoped_range range{"bring"};
        for (const int i : hour.smudged) codes[i] = mix(codes[i], 7, kReadSteps);
        CUDA_CHECK(cudaMemcpyAsync(codes_.get(), codes, hour.parcels * sizeof(unsigned),
                                   cudaMemcpyHostToDevice, stream_.get()));
        CUDA_CHECK(cudaMemcpyAsync(lorries_.get(), hour.lorries.data(), hour.lorries.size() * sizeof(Lorry),
                                   cudaMemcpyHostToDevice, stream_.get()));
    }

    void route_all(const Hour& hour) {
        const nvtx3::scoped_range range{"route"};
        for (size_t i = 0; i < hour.lorries.size(); ++i) {
            route<<<blocks_for(hour.lorries[i].parcels), kThreads, 0, stream_.get()>>>(
                &lorries_[i], codes_.get(), hour.chutes, chute_of_.get());
            CUDA_CHECK(cudaGetLastError());
        }
    }

    [[nodiscard]] bool book_all(const Hour& hour) {
        const nvtx3::scoped_range range{"book"};
        CUDA_CHECK(cudaMemsetAsync(accounts_.get(), 0, hour.chutes * sizeof(Account), stream_.get()));
        book<<<kBookBlocks, kThreads, hour.chutes * sizeof(Account), stream_.get()>>>(
            codes_.get(), chute_of_.get(), hour.parcels, hour.chutes, accounts_.get());
        return cudaGetLastError() == cudaSuccess;
    }

    void book_by_host(const Hour& hour, const unsigned* codes) {
        std::vector<unsigned> chute_of(hour.parcels);
        CUDA_CHECK(cudaMemcpyAsync(chute_of.data(), chute_of_.get(), hour.parcels * sizeof(unsigned),
                                   cudaMemcpyDeviceToHost, stream_.get()));
        CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
        booked_.assign(hour.chutes, Account{});
        for (int i = 0; i < hour.parcels; ++i) {
            ++booked_[chute_of[i]].parcels;
            booked_[chute_of[i]].fees += mix(codes[i], 9, kFeeSteps);
        }
        CUDA_CHECK(cudaMemcpyAsync(accounts_.get(), booked_.data(), hour.chutes * sizeof(Account),
                                   cudaMemcpyHostToDevice, stream_.get()));
    }

    /// Round after round until no chute is too full. A round that has nothing left to do changes nothing.
    void settle_all(const Hour& hour) {
        const nvtx3::scoped_range range{"settle"};
        const unsigned room = room_of(hour.parcels, hour.chutes);
        CUDA_CHECK(cudaMemsetAsync(too_full_.get(), 0, kMostRounds * sizeof(int), stream_.get()));
        int left = 1;
        for (int round = 0; left > 0 && round < kMostRounds; ++round) {
            settle<<<blocks_for(hour.chutes), kThreads, 0, stream_.get()>>>(
                accounts_.get(), next_.get(), hour.chutes, room, &too_full_[round]);
            CUDA_CHECK(cudaGetLastError());
            std::swap(accounts_, next_);
            if (round % look_every_ != look_every_ - 1) continue;
            CUDA_CHECK(cudaMemcpyAsync(&left, &too_full_[round], sizeof(int), cudaMemcpyDeviceToHost,
                                       stream_.get()));
            CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
        }
    }

    void print(const Hour& hour) {
        const nvtx3::scoped_range range{"print"};
        label<<<4 * kBookBlocks, kThreads, 0, stream_.get()>>>(codes_.get(), chute_of_.get(), accounts_.get(),
                                                               hour.parcels, labels_.get());
        CUDA_CHECK(cudaGetLastError());
        Print& print = prints_[hours_++ % 2];
        print.sheet = sheets_.take();
        print.words = size_t(kWords) * hour.parcels;
        CUDA_CHECK(cudaMemcpyAsync(print.sheet.get(), labels_.get(), print.words * sizeof(unsigned),
                                   cudaMemcpyDeviceToHost, stream_.get()));
        CUDA_CHECK(cudaEventRecord(print.done.get(), stream_.get()));
        file(prints_[hours_ % 2]);  // of the hour before
    }

    void file(Print& print) {
        if (!print.sheet) return;
        CUDA_CHECK(cudaEventSynchronize(print.done.get()));
        sums_.push_back(sum_of(print.sheet.get(), print.words));
        sheets_.give_back(std::move(print.sheet));
    }

    int look_every_;
    Sheets sheets_;
    Stream stream_ = make_stream(cudaStreamNonBlocking);
    std::unique_ptr<unsigned[], DeviceFree> codes_, chute_of_, labels_;
    std::unique_ptr<Lorry[], DeviceFree> lorries_;
    std::unique_ptr<Account[], DeviceFree> accounts_, next_;
    std::unique_ptr<int[], DeviceFree> too_full_;
    Print prints_[2];
    int hours_ = 0;
    std::vector<unsigned> sums_;
    std::vector<Account> booked_;  // of the hour: it has to outlive its copy
};

// ---- the oracle ------------------------------------------------------------------------------------------

/// All steps of `mix` as one, by squaring.
unsigned mixed(unsigned x, unsigned key, int steps) {
    unsigned factor = 1, keys = 0, power = 5, sum = 1;
    for (int left = steps; left > 0; left /= 2) {
        if (left % 2) keys = keys * power + sum, factor *= power;
        sum += sum * power, power *= power;
    }
    return factor * x + keys * key;
}

/// What is to be kept of an hour's labels.
unsigned expected_sum(const Hour& hour, const unsigned* brought) {
    std::vector<unsigned> codes(brought, brought + hour.parcels), chute_of(hour.parcels);
    for (const int i : hour.smudged) codes[i] = mixed(codes[i], 7, kReadSteps);
    std::vector<Account> accounts(hour.chutes), next(hour.chutes);
    for (const Lorry& lorry : hour.lorries)
        for (int i = lorry.first; i < lorry.first + lorry.parcels; ++i) {
            chute_of[i] = chute_for(codes[i], mixed(codes[i], lorry.key, kRouteSteps), hour.chutes);
            ++accounts[chute_of[i]].parcels;
            accounts[chute_of[i]].fees += mixed(codes[i], 9, kFeeSteps);
        }
    const unsigned room = room_of(hour.parcels, hour.chutes);
    const auto fits = [&](const Account& account) { return account.parcels <= room; };
    while (!std::all_of(accounts.begin(), accounts.end(), fits)) {
        for (unsigned chute = 0; chute < hour.chutes; ++chute) {
            const unsigned before = accounts[chute == 0 ? hour.chutes - 1 : chute - 1].parcels;
            next[chute] = {std::min(accounts[chute].parcels, room) + (before > room ? before - room : 0),
                           accounts[chute].fees};
        }
        std::swap(accounts, next);
    }
    std::vector<unsigned> labels;
    for (int i = 0; i < hour.parcels; ++i)
        for (unsigned word = 0; word < kWords; ++word) {
            const Account& account = accounts[chute_of[i]];
            labels.push_back(word_of(codes[i], chute_of[i], account.fees, account.parcels, word));
        }
    return sum_of(labels.data(), labels.size());
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Sorts the parcels of a depot through a night shift.");
    const auto seed = static_cast<unsigned>(options.integer("--seed", 1910, 0, 1'000'000, "of the depot"));
    const auto hours = static_cast<int>(options.integer("--hours", 8, 1, 48, "hours of the shift"));
    const auto parcels =
        static_cast<int>(options.integer("--parcels", 32'768, 1024, 32'768, "parcels in an hour, at most"));
    options.done();
    require_gpu(size_t(parcels) * (kWords + 8) * sizeof(unsigned));

    std::mt19937 random(seed);
    const Depot depot = draw_depot(random, hours, parcels);
    const auto codes = pinned_array<unsigned>(size_t(hours + 1) * parcels);  // the last are for the warm-up
    std::vector<unsigned> expected;
    unsigned most_chutes = 0;
    for (int h = 0; h < hours; ++h) {
        unsigned* const its_codes = &codes[size_t(h) * parcels];
        for (int i = 0; i < parcels; ++i) its_codes[i] = static_cast<unsigned>(random());
        expected.push_back(expected_sum(depot.hours[h], its_codes));
        most_chutes = std::max(most_chutes, depot.hours[h].chutes);
    }
    std::copy_n(codes.get(), parcels, &codes[size_t(hours) * parcels]);

    Shift shift(depot, parcels, most_chutes);
    {
        nvtx3::scoped_range range{"warm-up"};
        shift.work(depot.hours[0], &codes[size_t(hours) * parcels]);
        shift.finish();
    }
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"shift"};
        for (int h = 0; h < hours; ++h) shift.work(depot.hours[h], &codes[size_t(h) * parcels]);
        shift.finish();
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    int wrong = 0, all = 0;
    for (int h = 0; h < hours; ++h) {
        all += depot.hours[h].parcels;
        const size_t place = h + 1;  // behind the warm-up
        const unsigned found = place < shift.sums().size() ? shift.sums()[place] : 0;
        if (found != expected[h] && ++wrong == 1)
            std::printf("hour %d: expected the sum %u, found %u\n", h, expected[h], found);
    }
    std::printf("%d parcels in %d hours: %.2f ms\n", all, hours, elapsed.count());
    std::printf("wrong hours: expected 0, found %d of %d\n", wrong, hours);
    return wrong == 0 ? 0 : 1;
}
