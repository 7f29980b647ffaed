// What may be called while a stream is captured? Makes each call once in each of four captures, and prints
// the outcome: the number of an error, which invalidates the capture; `node`, a part of the graph; or
// `at once`, run now and missing from the graph.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I. ch06_graphs/captured/captured.cu -o captured
// look:    ./captured
#include <cstdio>
#include <string>
#include <vector>

#include "common/graph_compat.cuh"
#include "common/options.hpp"

__global__ void touch(char* bytes) {
    bytes[0] = 1;
}

/// A stream under capture, another one that isn't, and what the calls need.
struct Scene {
    size_t bytes;
    Stream captured, other = make_stream(cudaStreamNonBlocking);
    Event inside = make_event(cudaEventDisableTiming), outside = make_event(cudaEventDisableTiming);
    std::vector<char> on_host = std::vector<char>(bytes);
    std::unique_ptr<char[], DeviceFree> there = device_array<char>(bytes), spare = device_array<char>(bytes),
                                        made = nullptr;
    std::unique_ptr<char[], PinnedFree> made_host = nullptr;
};

struct Call {
    const char* name;
    cudaError_t (*make)(Scene&);
};

template <class T>
cudaError_t kept(std::unique_ptr<char[], T>& owner, cudaError_t status, void* allocated) {
    if (status == cudaSuccess) owner.reset(static_cast<char*>(allocated));
    return status;
}

cudaError_t launch(Scene& s, cudaStream_t stream) {
    char* there = s.there.get();
    void* arguments[] = {&there};
    return cudaLaunchKernel(reinterpret_cast<const void*>(touch), dim3(1), dim3(1), arguments, 0, stream);
}

const std::vector<Call> kCalls{
    {"copy_in_stream",
     [](Scene& s) {
         return cudaMemcpyAsync(s.there.get(), s.on_host.data(), s.bytes, cudaMemcpyHostToDevice,
                                s.captured.get());
     }},
    {"wait_for_stream", [](Scene& s) { return cudaStreamSynchronize(s.captured.get()); }},
    {"query_stream", [](Scene& s) { return cudaStreamQuery(s.captured.get()); }},
    {"wait_for_device", [](Scene&) { return cudaDeviceSynchronize(); }},
    {"wait_for_captured_event",
     [](Scene& s) {
         const cudaError_t recorded = cudaEventRecord(s.inside.get(), s.captured.get());
         return recorded == cudaSuccess ? cudaEventSynchronize(s.inside.get()) : recorded;
     }},
    {"wait_for_other_stream", [](Scene& s) { return cudaStreamSynchronize(s.other.get()); }},
    {"query_other_stream", [](Scene& s) { return cudaStreamQuery(s.other.get()); }},
    {"cudaMallocAsync_in_other_stream",
     [](Scene& s) {
         void* p = nullptr;
         const cudaError_t status = cudaMallocAsync(&p, s.bytes, s.other.get());
         return status == cudaSuccess ? cudaFreeAsync(p, s.other.get()) : status;
     }},
    {"cudaMalloc",
     [](Scene& s) {
         void* p = nullptr;
         const cudaError_t status = cudaMalloc(&p, s.bytes);
         return kept(s.made, status, p);
     }},
    {"cudaFree",
     [](Scene& s) {
         const cudaError_t status = cudaFree(s.spare.get());
         if (status == cudaSuccess) (void)s.spare.release();
         return status;
     }},
    {"cudaMallocHost",
     [](Scene& s) {
         void* p = nullptr;
         const cudaError_t status = cudaMallocHost(&p, s.bytes);
         return kept(s.made_host, status, p);
     }},
    {"cudaMemcpy",
     [](Scene& s) { return cudaMemcpy(s.there.get(), s.on_host.data(), s.bytes, cudaMemcpyHostToDevice); }},
    {"cudaMemset", [](Scene& s) { return cudaMemset(s.there.get(), 0, s.bytes); }},
    {"launch_in_legacy_stream", [](Scene& s) { return launch(s, cudaStreamLegacy); }},
    {"launch_in_other_stream", [](Scene& s) { return launch(s, s.other.get()); }},
    {"wait_for_outside_event",
     [](Scene& s) { return cudaStreamWaitEvent(s.captured.get(), s.outside.get(), cudaEventWaitDefault); }},
    {"wait_with_WaitExternal",
     [](Scene& s) { return cudaStreamWaitEvent(s.captured.get(), s.outside.get(), cudaEventWaitExternal); }},
    {"record_with_RecordExternal",
     [](Scene& s) {
         return cudaEventRecordWithFlags(s.inside.get(), s.captured.get(), cudaEventRecordExternal);
     }},
};

/// The outcome of a call in a capture of this mode, of a stream with these flags.
std::string outcome(const Call& call, cudaStreamCaptureMode mode, unsigned flags, size_t bytes) {
    Scene scene{bytes, make_stream(flags)};
    CUDA_CHECK(cudaEventRecord(scene.outside.get(), scene.other.get()));
    CUDA_CHECK(cudaDeviceSynchronize());
    cudaGraph_t recorded = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(scene.captured.get(), mode));
    touch<<<1, 1, 0, scene.captured.get()>>>(scene.there.get());
    CUDA_CHECK(cudaGetLastError());
    const cudaError_t status = call.make(scene),
                      ended = cudaStreamEndCapture(scene.captured.get(), &recorded);
    const Graph graph(recorded);
    (void)cudaGetLastError();  // errors are what this program is about
    CUDA_CHECK(cudaDeviceSynchronize());
    if (status != cudaSuccess || ended != cudaSuccess)
        return std::to_string(status != cudaSuccess ? status : ended);
    size_t nodes = 0;
    CUDA_CHECK(cudaGraphGetNodes(graph.get(), nullptr, &nodes));
    return nodes > 1 ? "node" : "at once";
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Tries which calls may be made while a stream is captured.");
    const auto bytes = static_cast<size_t>(
        options.integer("--bytes", 4096, 1, 1'000'000'000, "bytes of copies and allocations"));
    options.done();
    require_gpu(3 * bytes);
    std::printf(
        "thread-local capture of a non-blocking stream, of a blocking one; relaxed capture of each\n");
    for (const Call& call : kCalls) {
        std::string outcomes;
        for (const cudaStreamCaptureMode mode :
             {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed})
            for (const unsigned flags : {cudaStreamNonBlocking, cudaStreamDefault})
                outcomes += (outcomes.empty() ? "" : ", ") + outcome(call, mode, flags, bytes);
        std::printf("%s: %s\n", call.name, outcomes.c_str());
    }
    return 0;
}
