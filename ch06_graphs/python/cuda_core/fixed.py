# Water flows round a ring of pipe, one cell a tick, and takes on some of the warmth outside. A step is one launch.
#
# look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true -o fixed \
#             python3 ch06_graphs/python/cuda_core/fixed.py
import sys
import time

import cupy
import numpy
import nvtx
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

TICKS, CELLS, EXCHANGE = 500, 1003, 1e-3  # ticks of a step, cells of the ring, of the difference to the outside
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
THREADS = 256

TICK = """
extern "C" __global__ void tick(const float* water, const float* outside, float* next, int cells, float exchange) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells) return;
    const float before = water[i == 0 ? cells - 1 : i - 1];
    next[i] = before + exchange * (outside[i] - before);
}
"""


def compiled(device):
    """The kernel, for this GPU."""
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    return Program(TICK, code_type="c++", options=options).compile("cubin").get_kernel("tick")


def flow(queue, kernel, water, outside, other):
    """All ticks of a step, two at a time: the water goes from one array to the other, and back."""
    config = LaunchConfig(grid=(CELLS + THREADS - 1) // THREADS, block=THREADS)
    facts = numpy.int32(CELLS), numpy.float32(EXCHANGE)  # a kernel takes the types as they are
    for _ in range(TICKS // 2):
        launch(queue, config, kernel, water.data.ptr, outside.data.ptr, other.data.ptr, *facts)
        launch(queue, config, kernel, other.data.ptr, outside.data.ptr, water.data.ptr, *facts)


def make_step(stream, *arguments):
    """Captures a step in a graph, and returns the function that launches it."""
    builder = stream.create_graph_builder()
    builder.begin_building()
    flow(builder, *arguments)
    graph = builder.end_building().complete()
    graph.upload(stream)
    return lambda: graph.launch(stream)


def measured_ms(step, stream):
    """Makes all steps, waits after each as if to look whether all is well, and returns what each took."""
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        with nvtx.annotate("step"):
            step()
            stream.sync()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def flow_on_host(water, outside):
    """The same in double precision, by NumPy."""
    for _ in range(TICKS):
        before = numpy.roll(water, 1)
        water = before + EXCHANGE * (outside - before)
    return water


def main():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    first, outside = numpy.random.default_rng(6).random((2, CELLS), dtype=numpy.float32)
    water, device_outside, other = cupy.asarray(first), cupy.asarray(outside), cupy.empty_like(first)
    step = make_step(stream, compiled(device), water, device_outside, other)
    with nvtx.annotate("warm-up"):
        step()
        stream.sync()
    water.set(first)
    device.sync()  # the stream does not wait for CuPy's
    times = measured_ms(step, stream)
    print(f"median step {sorted(times)[len(times) // 2]:.3f} ms, of {len(times)}")

    expected = first.astype(numpy.float64)
    for _ in range(STEPS):
        expected = flow_on_host(expected, outside.astype(numpy.float64))
    wrong = numpy.count_nonzero(~(abs(water.get() - expected) <= 1e-4))
    print(f"cell 0: expected {expected[0]:.6f}, found {float(water[0]):.6f}; {wrong} of {CELLS} cells wrong")
    if wrong:
        sys.exit("the water is not where it should be")


main()
