# Divides an array by its sum with Numba, in three ways. Optional: this one isn't recorded.
#
# needs:  numba, nvtx, and a NumPy that Numba knows: 2.4 for Numba 0.68
# look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o numba \
#             python3 ch02_nsys/python/numba_version.py
import sys

import numpy
import nvtx
from numba import cuda

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000_000
BLOCKS, THREADS = 1280, 256


@cuda.reduce
def add(a, b):
    return a + b


@cuda.jit
def divide(x, divisor):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        x[i] /= divisor


@nvtx.annotate("NumPy arrays")
def with_numpy(x):
    """Two calls and no copy in the source: each of them copies the array by itself."""
    divide[BLOCKS, THREADS](x, numpy.float32(add(x)))


@nvtx.annotate("device arrays")
def with_device_arrays(x):
    """One H2D copy and one D2H copy. They are as fast as the array's memory allows: pageable or pinned."""
    device_x = cuda.to_device(x)
    divide[BLOCKS, THREADS](device_x, numpy.float32(add(device_x)))
    device_x.copy_to_host(x)


def main():
    numbers = numpy.random.default_rng(2).random(COUNT, dtype=numpy.float32)
    expected = numbers / numbers.sum(dtype=numpy.float64)
    pinned = cuda.pinned_array(COUNT, dtype=numpy.float32)
    pinned[:] = numbers
    with nvtx.annotate("warm-up"):  # the first call of a kernel compiles it
        with_device_arrays(numbers[:1000].copy())
    ways = {"pageable, NumPy": with_numpy, "pageable, device": with_device_arrays, "pinned, device": with_device_arrays}
    for name, normalise in ways.items():
        x = pinned if name.startswith("pinned") else numbers.copy()
        with nvtx.annotate(name):
            normalise(x)
        wrong = numpy.count_nonzero(~(abs(x - expected) <= 1e-4 * expected))
        print(f"{name}: {wrong} of {COUNT} numbers wrong")
        if wrong:
            sys.exit("the array is not divided by its sum")


main()
