# Adds a tenth of an array to another one on the GPU. All arrays are float32, and so is the arithmetic.
#
# look:   ncu --nvtx --nvtx-include "add/" --set full -f -o fixed python3 ch03_ncu/python/numba/fixed.py
import sys

import numpy
import nvtx
from numba import cuda

COUNT, THREADS = 32_000_000, 256
BLOCKS = (COUNT + THREADS - 1) // THREADS
SCALE = numpy.float32(0.1)  # a Python float is a double


@cuda.jit
def add_scaled(a, b, c):
    """c = a + b / 10, one element a thread."""
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i] * SCALE


def main():
    random = numpy.random.default_rng(3)
    a, b = (random.random(COUNT, dtype=numpy.float32) for _ in range(2))
    device_a, device_b = cuda.to_device(a), cuda.to_device(b)
    device_c = cuda.device_array_like(device_a)
    with nvtx.annotate("warm-up"):  # compiles the kernel
        add_scaled[BLOCKS, THREADS](device_a, device_b, device_c)
        cuda.synchronize()
    with nvtx.annotate("add"):
        add_scaled[BLOCKS, THREADS](device_a, device_b, device_c)
        cuda.synchronize()
    c = device_c.copy_to_host()
    expected = a + 0.1 * b.astype(numpy.float64)
    wrong = numpy.count_nonzero(~(abs(c - expected) <= 1e-6))
    print(f"last sum: expected {expected[-1]:.6f}, found {c[-1]:.6f}; {wrong} of {COUNT} sums wrong")
    if wrong:
        sys.exit("these are not the sums")


main()
