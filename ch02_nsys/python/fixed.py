# Divides two arrays by their sums on the GPU, one after the other. Its phases have names, and its memory is pinned.
#
# look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o fixed \
#             python3 ch02_nsys/python/fixed.py
import sys

import cupy
import cupyx
import numpy
from cupyx.profiler import time_range

COUNT = 50_000_000


def normalise(x, device_x):
    """Divides the host array `x` by its sum, on the GPU."""
    with time_range("H2D"):
        device_x.set(x)
    with time_range("kernels"):  # over on the host before the GPU is done
        device_x /= device_x.sum()
    with time_range("D2H"):  # waits for the kernels, then copies
        device_x.get(out=x)


def pinned(x):
    """A copy of the array in pinned memory."""
    copy = cupyx.empty_like_pinned(x)
    copy[:] = x
    return copy


def main():
    random = numpy.random.default_rng(2)
    first, second = (pinned(random.random(COUNT, dtype=numpy.float32)) for _ in range(2))
    expected = [x / x.sum(dtype=numpy.float64) for x in (first, second)]
    device_x = cupy.empty(COUNT, dtype=numpy.float32)

    with time_range("warm-up"):  # compiles and loads the kernels
        normalise(first, device_x)
    with time_range("normalise"):
        normalise(second, device_x)

    for x, right in zip((first, second), expected):
        wrong = numpy.count_nonzero(~(abs(x - right) <= 1e-4 * right))
        print(f"sum afterwards: expected 1, found {x.sum(dtype=numpy.float64):.6f}; {wrong} of {COUNT} numbers wrong")
        if wrong:
            sys.exit("the array is not divided by its sum")


main()
