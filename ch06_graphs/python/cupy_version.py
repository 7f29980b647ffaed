"""Applies a chain of small kernels with CuPy: launched one by one, then launched as one CUDA graph.

look:   nsys profile --trace=cuda,nvtx --cuda-graph-trace=graph:host-only --force-overwrite=true -o cupy_graph \
            python3 ch06_graphs/python/cupy_version.py
"""
import time

import cupy
from cupyx.profiler import time_range

TICKS, STEPS, CELLS = 500, 10, 1003  # an even number of ticks: a step ends where it began

flow = cupy.RawKernel(
    r"""
extern "C" __global__ void flow(const float* water, float* next, const float* outside, int cells) {
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    const float came = water[cell == 0 ? cells - 1 : cell - 1];
    next[cell] = came + 0.001f * (outside[cell] - came);
}
""",
    "flow",
)

random = cupy.random.default_rng(6)
first = random.random(CELLS, dtype=cupy.float32)
outside = random.random(CELLS, dtype=cupy.float32)
water, other = first.copy(), cupy.empty_like(first)  # allocated before the capture, and used by it
stream = cupy.cuda.Stream(non_blocking=True)


def step():
    """Queues all ticks of a step, from one array to the other and back."""
    for tick in range(TICKS):
        source, target = (water, other) if tick % 2 == 0 else (other, water)
        flow(((CELLS + 255) // 256,), (256,), (source, target, outside, cupy.int32(CELLS)))


def measured(name, make_step):
    """Makes all steps from the same start in an NVTX range, prints the time of one, and returns the water."""
    with stream:
        water[:] = first
        stream.synchronize()
        start = time.perf_counter()
        with time_range(name):
            for _ in range(STEPS):
                make_step()
            stream.synchronize()
        print(f"{name}: {(time.perf_counter() - start) / STEPS * 1e3:.3f} ms a step")
        result = water.copy()
        stream.synchronize()
        return result


cupy.cuda.Device().synchronize()
with stream:
    step()  # compiles and loads the kernel
    stream.synchronize()
    stream.begin_capture()
    step()
    graph = stream.end_capture()

plain = measured("without graph", step)
graph.upload(stream)
replayed = measured("with graph", lambda: graph.launch(stream))
assert cupy.array_equal(plain, replayed), "the graph computes something else"
