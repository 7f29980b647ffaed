# Adds two arrays of random numbers on the GPU. They are float32 from the beginning.
#
# look:   ncu --nvtx --nvtx-include "add/" --set full -f -o fixed python3 ch03_ncu/python/fixed.py
import sys

import cupy
import numpy
from cupyx.profiler import time_range

COUNT = 32_000_000
RANDOM = numpy.random.default_rng(3)


def numbers():
    """Random numbers from 0 to 1."""
    return RANDOM.random(COUNT, dtype=numpy.float32)


def main():
    a, b = numbers(), numbers()
    device_a, device_b = cupy.asarray(a), cupy.asarray(b)
    with time_range("warm-up"):  # compiles the kernel, and takes memory from CUDA
        device_a + device_b
        cupy.cuda.Device().synchronize()
    with time_range("add"):
        device_c = device_a + device_b
        cupy.cuda.Device().synchronize()
    c = device_c.get()
    wrong = numpy.count_nonzero(~(abs(c - (a.astype(numpy.float64) + b)) <= 1e-6))
    print(f"last sum: expected {a[-1] + b[-1]:.6f}, found {c[-1]:.6f}; {wrong} of {COUNT} sums wrong")
    if wrong:
        sys.exit("these are not the sums")


main()
