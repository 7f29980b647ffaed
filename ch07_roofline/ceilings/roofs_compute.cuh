// The roofs of what computes: fused multiply-adds, and GEMMs on tensor cores.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "ch07_roofline/ceilings/roofs_measure.cuh"

constexpr int kPairs = 4, kReplayed = 16,
              kPauseMs = 50;  // a rest in which a GPU at its power limit recovers, at least most of the way

/// Per SM and clock: results of FP32 and FP64 fused multiply-adds (CUDA C++ Programming Guide, "Arithmetic
/// Instructions"), and dense ones on tensor cores (architecture whitepapers of the A100 and the H100; on 7.5,
/// 8.6 and 8.9 they differ between products, and of later ones this table does not know).
struct FmaRates {
    double fp32 = NAN, fp64 = NAN, tf32 = NAN, fp16 = NAN, fp8 = NAN;  // BF16 is as fast as FP16
};
inline FmaRates fma_rates() {
    switch (compute_capability()) {
        case 75:
            return {64, 2};
        case 80:
            return {64, 32, 512, 1024};
        case 86:
        case 87:
        case 89:
        case 120:
        case 121:
            return {128, 2};
        case 90:
            return {128, 64, 1024, 2048, 4096};
        case 100:
            return {128, 64};
        default:
            return {};
    }
}

/// FLOP/s of all SMs at this clock.
inline double flop_rate(double fma_per_clock, double clock_Hz) {
    return fma_per_clock * 2 * sm_count() * clock_Hz;
}

/// A number from -1 to 1 of this place.
template <class T>
__host__ __device__ T number_at(size_t i) {
    return T(static_cast<int>(random_at(i))) * T(0x1p-31);
}

/// Pairs of numbers, four a thread, which a step turns: x += c y, then y -= c x. They go round an ellipse for
/// |c| < 2, so what is multiplied and added is random, and another number each time. (The multiplier is the
/// same for all threads: with three registers to read, an FMA waits for the register file now and then.)
template <class T>
__host__ __device__ T turned(size_t thread, T c, T minus_c, int steps) {
    T x[kPairs], y[kPairs], sum = 0;
    for (int j = 0; j < kPairs; ++j) {
        x[j] = number_at<T>(2 * (thread * kPairs + j));
        y[j] = number_at<T>(2 * (thread * kPairs + j) + 1);
    }
#ifdef __CUDA_ARCH__
#pragma unroll 16
#endif
    for (int step = 0; step < steps; ++step) {
        for (int j = 0; j < kPairs; ++j) x[j] = fma(c, y[j], x[j]);
        for (int j = 0; j < kPairs; ++j) y[j] = fma(minus_c, x[j], y[j]);
    }
    for (int j = 0; j < kPairs; ++j) sum += x[j] + y[j];
    return sum;
}
template <class T>
__global__ void fma_pairs(T* sums, T c, T minus_c, int steps) {
    const unsigned i = blockIdx.x * kThreads + threadIdx.x;
    sums[i] = turned(i, c, minus_c, steps);
}

/// FLOP/s of fused multiply-adds. `microseconds` is what one launch would take at the theoretical rate. The
/// host turns the pairs of some threads as well: it must get the same numbers, to the last bit.
template <class T>
Roof fma_roof(const std::string& name, double fma_per_clock, int microseconds, int soak_ms, int repeats) {
    const unsigned blocks = blocks_that_fit(fma_pairs<T>), threads = blocks * kThreads;
    const double theoretical = flop_rate(fma_per_clock, highest_clock());
    // Where theory is silent, a guess: only the length of a launch hangs on it.
    const double rate = flop_rate(std::isnan(fma_per_clock) ? 2 : fma_per_clock,
                                  std::isnan(highest_clock()) ? 1.5e9 : highest_clock());
    const double flop_a_step = 2.0 * 2 * kPairs * threads;
    const int steps = 16 * std::max(1, static_cast<int>(microseconds * 1e-6 * rate / flop_a_step / 16));
    const double flop = flop_a_step * steps;
    const T c = static_cast<T>(1 + 0x1p-33 * random_at(1) + 0x1p-65 * random_at(2));  // from 1 to 1.5
    const auto sums = device_array<T>(threads);
    const auto work = [&] {
        fma_pairs<T><<<blocks, kThreads>>>(sums.get(), c, -c, steps);
        CUDA_CHECK(cudaGetLastError());
    };
    const Measured taken = measure(name, {repeats, soak_ms}, work);
    CUDA_CHECK(cudaMemset(sums.get(), 0xFF, threads * sizeof(T)));  // not a number
    {
        nvtx3::scoped_range counted{"counted"};
        work();
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    std::vector<T> found(threads);
    CUDA_CHECK(cudaMemcpy(found.data(), sums.get(), threads * sizeof(T), cudaMemcpyDeviceToHost));
    require_right(name, std::none_of(found.begin(), found.end(), [](T x) { return std::isnan(x); }));
    for (size_t i = 0; i < threads; i += threads / kReplayed)
        require_right(name, found[i] == turned(i, c, -c, steps));
    return {name,
            "FLOP/s",
            flop / taken.seconds,
            theoretical,
            flop,
            std::to_string(kPairs) + " pairs a thread, " + repeats_shown(taken, flop, "FLOP/s"),
            taken.clock_Hz};
}

/// Counts the wrong ones of 1,024 elements of a product, drawn at random. The tolerance leaves room for the
/// rounding of factors and sums; a product of other numbers misses by four times as much, and more.
template <class In, class Out>
__global__ void count_wrong_products(const In* a, const In* b, const Out* d, int n, int depth,
                                     bool a_transposed, unsigned* wrong) {
    const unsigned sample = blockIdx.x * kThreads + threadIdx.x;
    const size_t row = random_at(2 * sample) % n, column = random_at(2 * sample + 1) % n;
    double sum = 0, size = 0;
    for (int k = 0; k < depth; ++k) {
        const In factor = a_transposed ? a[row * depth + k] : a[size_t{1} * k * n + row];
        const double product = static_cast<double>(float(factor)) * float(b[column * depth + k]);
        sum += product;
        size += fabs(product);
    }
    if (!(fabs(float(d[column * n + row]) - sum) <= size / 256)) atomicAdd(wrong, 1u);
}

inline void check_lt(cublasStatus_t status, const char* call, int line) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, line, call, cublasLtGetStatusString(status));
    std::exit(1);
}
#define LT_CHECK(call) check_lt((call), #call, __LINE__)

/// A kind of product: what tensor cores multiply, what they hand out, and how they add up.
struct TensorKind {
    cudaDataType_t in, out;
    cublasComputeType_t compute;
    int least_capability;
    bool fast_sums = false;      ///< FP8: sums stay in the tensor cores, with fewer bits
    bool short_numbers = false;  ///< factors with few bits, of which fewer change
};

/// A product as cuBLASLt takes it, by one of its algorithms: n x depth by depth x n numbers, column by
/// column. Those of A lie transposed (T), so that both lie along the sum, which every kind can read; or not
/// (N).
struct Product {
    int n, depth;
    bool a_transposed;
    cublasLtMatmulDescOpaque_t what;
    cublasLtMatrixLayoutOpaque_t a, b, d;
    cublasLtMatmulAlgo_t algorithm;
    double seconds = INFINITY;
    int tried = 0;  ///< algorithms of this shape

    Product(const TensorKind& kind, int n, int depth, bool a_transposed)
        : n(n), depth(depth), a_transposed(a_transposed) {
        const cublasOperation_t operation = a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
        const int8_t fast = kind.fast_sums;
        LT_CHECK(cublasLtMatmulDescInit(&what, kind.compute, CUDA_R_32F));
        LT_CHECK(
            cublasLtMatmulDescSetAttribute(&what, CUBLASLT_MATMUL_DESC_TRANSA, &operation, sizeof operation));
        LT_CHECK(cublasLtMatmulDescSetAttribute(&what, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
        LT_CHECK(a_transposed ? cublasLtMatrixLayoutInit(&a, kind.in, depth, n, depth)
                              : cublasLtMatrixLayoutInit(&a, kind.in, n, depth, n));
        LT_CHECK(cublasLtMatrixLayoutInit(&b, kind.in, depth, n, depth));
        LT_CHECK(cublasLtMatrixLayoutInit(&d, kind.out, n, n, n));
    }
    /// By arithmetic, since no instruction counter sees what tensor cores add up.
    [[nodiscard]] double flop() const { return 2.0 * n * n * depth; }
    [[nodiscard]] std::string shape() const {
        return std::to_string(n) + " x " + std::to_string(n) + " x " + std::to_string(depth) +
               (a_transposed ? " TN" : " NN");
    }
};

/// The sizes of what is measured, and how thoroughly.
struct TensorOptions {
    int n, offers, soak_ms, repeats;
};

/// FLOP/s of a product by cuBLASLt: of the fastest of four shapes, and of the algorithms that are offered for
/// each. The best of each shape goes into the final, where all begin warm. The winner gives two roofs: what
/// it reaches in short batches, before which the GPU rests, and what it sustains. Prints a line for each
/// shape in the final.
template <class In, class Out>
void tensor_roofs(const std::string& name, const TensorKind& kind, double fma_per_clock,
                  const TensorOptions& options, std::vector<Roof>& roofs) {
    Roof roof{name, "FLOP/s", NAN, NAN, NAN, "not on this GPU"}, sustained = roof;
    sustained.name += ", sustained";
    if (compute_capability() < kind.least_capability) {
        roofs.insert(roofs.end(), {roof, sustained});
        return;
    }
    roof.theoretical = sustained.theoretical = flop_rate(fma_per_clock, highest_clock());
    roof.how = sustained.how = "cuBLASLt offers nothing";
    const int n = options.n;
    const size_t count = size_t{1} * n * n, workspace_bytes = 32 << 20;
    const auto a = device_array<In>(count), b = device_array<In>(count);
    const auto d = device_array<Out>(count);
    const auto workspace = device_array<char>(workspace_bytes);
    const unsigned blocks = 32 * sm_count();
    const auto fill_some = kind.short_numbers ? fill_short<In> : fill<In>;
    fill_some<<<blocks, kThreads>>>(a.get(), count, 0);
    CUDA_CHECK(cudaGetLastError());
    fill_some<<<blocks, kThreads>>>(b.get(), count, count);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemset(d.get(), 0xFF, count * sizeof(Out)));
    cublasLtHandle_t lt = nullptr;
    cublasLtMatmulPreferenceOpaque_t wanted;
    LT_CHECK(cublasLtCreate(&lt));
    LT_CHECK(cublasLtMatmulPreferenceInit(&wanted));
    LT_CHECK(cublasLtMatmulPreferenceSetAttribute(&wanted, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &workspace_bytes, sizeof workspace_bytes));
    const auto multiply = [&](Product& p) {
        const float one = 1, zero = 0;
        return cublasLtMatmul(lt, &p.what, &one, a.get(), &p.a, b.get(), &p.b, &zero, d.get(), &p.d, d.get(),
                              &p.d, &p.algorithm, workspace.get(), workspace_bytes, nullptr);
    };
    const auto taken_by = [&](Product& p, const std::string& range, const Conditions& conditions) {
        return measure(range, conditions, [&] { LT_CHECK(multiply(p)); });
    };

    std::vector<Product> finalists;
    for (const int depth : {n, std::max(16, n / 128 * 16)})
        for (const bool a_transposed : {true, false}) {
            Product product(kind, n, depth, a_transposed), fastest = product;
            std::vector<cublasLtMatmulHeuristicResult_t> offered(options.offers);
            int found = 0;
            if (cublasLtMatmulAlgoGetHeuristic(lt, &product.what, &product.a, &product.b, &product.d,
                                               &product.d, &wanted, options.offers, offered.data(),
                                               &found) != CUBLAS_STATUS_SUCCESS)
                continue;
            for (int i = 0; i < found; ++i) {
                product.algorithm = offered[i].algo;
                if (offered[i].state != CUBLAS_STATUS_SUCCESS || multiply(product) != CUBLAS_STATUS_SUCCESS) {
                    (void)cudaGetLastError();  // an offer that does not run is none
                    continue;
                }
                ++product.tried;
                product.seconds = taken_by(product, "trial", {1}).seconds;
                if (product.seconds < fastest.seconds) fastest = product;
                if (product.tried * fastest.seconds > 0.1) break;  // no long search on a slow GPU
            }
            fastest.tried = product.tried;
            if (fastest.tried > 0) finalists.push_back(fastest);
        }

    if (!finalists.empty()) {
        int tried = 0;
        const Product* best = nullptr;
        for (Product& p : finalists) {
            const Measured taken = taken_by(p, "final", {std::min(options.repeats, 3), options.soak_ms / 3});
            p.seconds = taken.seconds;
            tried += p.tried;
            if (best == nullptr || p.flop() / p.seconds > best->flop() / best->seconds) best = &p;
            std::printf("%s, %s, the fastest of %d algorithms: %s\n", name.c_str(), p.shape().c_str(),
                        p.tried, repeats_shown(taken, p.flop(), "FLOP/s").c_str());
        }
        Product winner = *best;
        const auto measured_as = [&](Roof& row, const Conditions& conditions, const std::string& how) {
            const Measured taken = taken_by(winner, row.name, conditions);
            row.work = winner.flop(), row.measured = row.work / taken.seconds, row.clock_Hz = taken.clock_Hz;
            row.how = how + ", " + repeats_shown(taken, row.work, "FLOP/s");
        };
        const int pause_ms = std::min(options.soak_ms, kPauseMs);
        measured_as(roof, {options.repeats, 0, pause_ms},
                    winner.shape() + (kind.fast_sums ? ", fast accumulation" : "") + ", the fastest of " +
                        std::to_string(tried) + " algorithms in " + std::to_string(finalists.size()) +
                        " shapes");
        measured_as(sustained, {options.repeats, options.soak_ms},
                    "the same after " + std::to_string(options.soak_ms) + " ms of it");
        CUDA_CHECK(cudaMemset(d.get(), 0xFF, count * sizeof(Out)));  // not a number
        LT_CHECK(multiply(winner));
        Sums sums;
        require_right(name, sums.of([&](unsigned* wrong) {
            count_wrong_products<<<1024 / kThreads, kThreads>>>(a.get(), b.get(), d.get(), n, winner.depth,
                                                                winner.a_transposed, wrong);
            CUDA_CHECK(cudaGetLastError());
        }) == 0);
    }
    LT_CHECK(cublasLtDestroy(lt));
    roofs.insert(roofs.end(), {roof, sustained});
}
