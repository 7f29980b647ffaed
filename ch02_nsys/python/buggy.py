# Divides two arrays by their sums on the GPU, one after the other. The timeline doesn't say what belongs to which.
#
# look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o buggy \
#             python3 ch02_nsys/python/buggy.py
import sys

import cupy
import numpy

COUNT = 50_000_000


def normalise(x, device_x):
    """Divides the host array `x` by its sum, on the GPU."""
    device_x.set(x)
    device_x /= device_x.sum()
    device_x.get(out=x)


def main():
    random = numpy.random.default_rng(2)
    first, second = (random.random(COUNT, dtype=numpy.float32) for _ in range(2))
    expected = [x / x.sum(dtype=numpy.float64) for x in (first, second)]
    device_x = cupy.empty(COUNT, dtype=numpy.float32)

    normalise(first, device_x)
    normalise(second, device_x)

    for x, right in zip((first, second), expected):
        wrong = numpy.count_nonzero(~(abs(x - right) <= 1e-4 * right))
        print(f"sum afterwards: expected 1, found {x.sum(dtype=numpy.float64):.6f}; {wrong} of {COUNT} numbers wrong")
        if wrong:
            sys.exit("the array is not divided by its sum")


main()
