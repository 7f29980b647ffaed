// How much energy does a layer take, in three kernels and in one? Each runs for seconds, over and over, and
// NVML's counter of the GPU's energy is read meanwhile.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. ch07_roofline/joules/joules.cu -o joules -lcublasLt
#include <cublasLt.h>
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "common/check.cuh"
#include "common/options.hpp"

using Clock = std::chrono::steady_clock;
constexpr int kThreads = 256, kTogether = 50;  // layers between two waits
constexpr size_t kWorkspaceBytes = 32 << 20;

void check_lt(cublasStatus_t status, const char* call, int line) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, line, call, cublasLtGetStatusString(status));
    std::exit(1);
}
#define LT_CHECK(call) check_lt((call), #call, __LINE__)

__global__ void add_bias(float* d, size_t count, int columns, const float* bias) {
    const size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i < count) d[i] += bias[i % columns];
}
__global__ void relu(float* d, size_t count) {
    const size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i < count) d[i] = fmaxf(d[i], 0);
}
__global__ void count_unequal(const float* a, const float* b, size_t count, unsigned long long* unequal) {
    const size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i < count && a[i] != b[i]) atomicAdd(unequal, 1ull);
}

/// NVML's counter, which goes up some ten times a second. NVML comes with the driver, its header with few
/// toolkits: so it's opened here, with the three functions that are needed.
class EnergyCounter {
  public:
    EnergyCounter() {
        char bus[32] = "";
        CUDA_CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
        void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        if (!library) return;
        const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
        const auto find = reinterpret_cast<int (*)(const char*, void**)>(
            dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
        read_ = reinterpret_cast<int (*)(void*, unsigned long long*)>(
            dlsym(library, "nvmlDeviceGetTotalEnergyConsumption"));
        unsigned long long mJ = 0;
        works_ = init && find && read_ && init() == 0 && find(bus, &device_) == 0 && read_(device_, &mJ) == 0;
    }
    [[nodiscard]] bool works() const { return works_; }
    [[nodiscard]] double joules() const {
        unsigned long long mJ = 0;
        if (read_(device_, &mJ) != 0) std::fprintf(stderr, "NVML's energy counter can't be read anymore\n");
        return static_cast<double>(mJ) / 1000;
    }

  private:
    void* device_ = nullptr;
    int (*read_)(void*, unsigned long long*) = nullptr;
    bool works_ = false;
};

/// D = max(0, A B + bias), as in the chapter's pair, by cuBLASLt's first suggestion.
class Layer {
  public:
    Layer(int rows, int columns, int depth, const float* a, const float* b, const float* bias, float* d,
          bool fused)
        : columns_(columns),
          count_(size_t{1} * rows * columns),
          a_(a),
          b_(b),
          bias_(bias),
          d_(d),
          fused_(fused) {
        LT_CHECK(cublasLtCreate(&lt_));
        LT_CHECK(cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F));
        LT_CHECK(cublasLtMatrixLayoutCreate(&a_layout_, CUDA_R_32F, depth, rows, depth));
        LT_CHECK(cublasLtMatrixLayoutCreate(&b_layout_, CUDA_R_32F, depth, columns, depth));
        LT_CHECK(cublasLtMatrixLayoutCreate(&d_layout_, CUDA_R_32F, columns, rows, columns));
        set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
        if (!fused_) return;
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_BIAS);
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_);
    }
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;
    ~Layer() {
        for (const auto layout : {a_layout_, b_layout_, d_layout_})
            LT_CHECK(cublasLtMatrixLayoutDestroy(layout));
        LT_CHECK(cublasLtMatmulDescDestroy(product_));
        LT_CHECK(cublasLtDestroy(lt_));
    }
    void run() {
        const float one = 1, zero = 0;
        LT_CHECK(cublasLtMatmul(lt_, product_, &one, b_, b_layout_, a_, a_layout_, &zero, d_, d_layout_, d_,
                                d_layout_, nullptr, workspace_.get(), kWorkspaceBytes, nullptr));
        if (fused_) return;
        const auto blocks = static_cast<unsigned>((count_ + kThreads - 1) / kThreads);
        add_bias<<<blocks, kThreads>>>(d_, count_, columns_, bias_);
        CUDA_CHECK(cudaGetLastError());
        relu<<<blocks, kThreads>>>(d_, count_);
        CUDA_CHECK(cudaGetLastError());
    }

  private:
    template <class Value>
    void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
        LT_CHECK(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof value));
    }
    const int columns_;
    const size_t count_;
    const float *a_, *b_, *bias_;
    float* d_;
    const bool fused_;
    cublasLtHandle_t lt_ = nullptr;
    cublasLtMatmulDesc_t product_ = nullptr;
    cublasLtMatrixLayout_t a_layout_ = nullptr, b_layout_ = nullptr, d_layout_ = nullptr;
    std::unique_ptr<char[], DeviceFree> workspace_ = device_array<char>(kWorkspaceBytes);
};

/// Reads the counter all the time, in a thread of its own: a call of it may take milliseconds, in which the
/// GPU should not have to wait.
class Meter {
  public:
    explicit Meter(const EnergyCounter& counter)
        : reader_([this, &counter] {
              double last = counter.joules();
              while (!ends_) {
                  const double joules = counter.joules();
                  if (joules != last) moves_.push_back({Clock::now(), joules});
                  last = joules;
              }
          }) {}
    /// Ends the reading. The power from the first to the last move of the counter, or 0 without two of them.
    [[nodiscard]] double watts() {
        ends_ = true;
        reader_.join();
        if (moves_.size() < 2) return 0;
        const std::chrono::duration<double> span = moves_.back().time - moves_.front().time;
        return (moves_.back().joules - moves_.front().joules) / span.count();
    }
    [[nodiscard]] size_t moves() const { return moves_.size(); }

  private:
    struct Move {
        Clock::time_point time;
        double joules;
    };
    std::vector<Move> moves_;
    std::atomic<bool> ends_ = false;
    std::thread reader_;  // the last: it uses the others
};

/// Runs the layer for so many seconds. Returns the time of one.
double run_for(double seconds, Layer& layer) {
    const auto started = Clock::now();
    std::chrono::duration<double> elapsed{};
    int layers = 0;
    do {
        for (int i = 0; i < kTogether; ++i) layer.run();
        CUDA_CHECK(cudaDeviceSynchronize());
        layers += kTogether;
        elapsed = Clock::now() - started;
    } while (elapsed.count() < seconds);
    return elapsed.count() / layers;
}

/// Prints what the layer takes, in `name` kernels.
void measure(const char* name, Layer& layer, const EnergyCounter& counter, double seconds) {
    (void)run_for(seconds / 4, layer);  // heats up, and the clock settles
    Meter meter(counter);
    const double s = run_for(seconds, layer), watts = meter.watts();
    if (watts > 0)
        std::printf("a layer in %s: %s_ms %.4f, %s_J %.4f, %s_W %.0f; the counter moved %zu times\n", name,
                    name, 1e3 * s, name, watts * s, name, watts, meter.moves());
    else
        std::printf("a layer in %s: the counter did not move\n", name);
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Measures time and energy of a layer in three kernels and in one.");
    const int rows = static_cast<int>(options.integer("--rows", 8192, 1, 32'768, "rows and columns of D"));
    const int depth = static_cast<int>(options.integer("--depth", 1024, 1, 4000, "columns of A, rows of B"));
    const auto seconds = static_cast<double>(options.integer("--seconds", 3, 0, 600, "seconds of each kind"));
    options.done();
    const size_t in = size_t{1} * rows * depth, count = size_t{1} * rows * rows;
    require_gpu((2 * in + 2 * count) * sizeof(float) + (128 << 20));
    const EnergyCounter counter;
    if (!counter.works()) {
        std::fprintf(stderr, "no suitable GPU: NVML has no energy counter of it\n");
        return 77;
    }

    std::mt19937 random(7);
    const auto numbers = [&](size_t size) {  // multiples of 1/64, so that every sum is exact
        std::vector<float> host(size);
        for (float& x : host) x = static_cast<float>(static_cast<int>(random() % 129) - 64) / 64;
        auto device = device_array<float>(size);
        CUDA_CHECK(cudaMemcpy(device.get(), host.data(), size * sizeof(float), cudaMemcpyHostToDevice));
        return device;
    };
    const auto a = numbers(in), b = numbers(in), bias = numbers(rows), d_three = device_array<float>(count),
               d_one = device_array<float>(count);
    const auto unequal = device_array<unsigned long long>(1);
    CUDA_CHECK(cudaMemset(unequal.get(), 0, sizeof(unsigned long long)));
    CUDA_CHECK(cudaMemset(d_three.get(), 0xFF, count * sizeof(float)));
    Layer three(rows, rows, depth, a.get(), b.get(), bias.get(), d_three.get(), false);
    Layer one(rows, rows, depth, a.get(), b.get(), bias.get(), d_one.get(), true);
    three.run();
    one.run();
    count_unequal<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads>>>(
        d_three.get(), d_one.get(), count, unequal.get());
    CUDA_CHECK(cudaGetLastError());
    unsigned long long found = 0;
    CUDA_CHECK(cudaMemcpy(&found, unequal.get(), sizeof found, cudaMemcpyDeviceToHost));

    measure("three", three, counter, seconds);
    measure("one", one, counter, seconds);
    std::printf("numbers that differ: expected 0, found %llu of %zu\n", found, count);
    return found == 0 ? 0 : 1;
}
