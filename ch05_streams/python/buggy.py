# Applies a slow function to an array in four parts, each in a stream of its own. The streams gain nothing.
#
# look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o buggy \
#             python3 ch05_streams/python/buggy.py
import sys

import cupy
import cupyx
import numpy
from cupyx.profiler import time_range

COUNT, PARTS, ROUNDS = 32_000_000, 4, 3000

GROW = cupy.ElementwiseKernel(
    "float32 x, int32 rounds", "float32 y", "y = x; for (int i = 0; i < rounds; ++i) y += 1e-3f * (1 - y * y);", "grow"
)


def make_streams():
    """A stream for each part."""
    return [cupy.cuda.Stream(non_blocking=True)] * PARTS


def grow_parts(x, y, device_x, device_y):
    """Queues H2D copy, kernel and D2H copy of each part, and waits for all of them."""
    length = COUNT // PARTS
    for part, stream in enumerate(make_streams()):
        piece = slice(part * length, (part + 1) * length)
        with stream:
            device_x[piece].set(x[piece], stream=stream)
            GROW(device_x[piece], ROUNDS, device_y[piece])
            device_y[piece].get(stream=stream, out=y[piece], blocking=False)
    cupy.cuda.Device().synchronize()


def main():
    x, y = (cupyx.empty_pinned(COUNT, dtype=numpy.float32) for _ in range(2))  # pinned: copies may overlap
    x[:] = numpy.random.default_rng(5).random(COUNT, dtype=numpy.float32)
    y[:] = 0
    device_x, device_y = (cupy.zeros(COUNT, dtype=numpy.float32) for _ in range(2))
    with time_range("warm-up"):  # compiles the kernel
        GROW(device_x[:1000], ROUNDS, device_y[:1000])
        cupy.cuda.Device().synchronize()
    with time_range("parts"):
        grow_parts(x, y, device_x, device_y)

    expected = x[::1000].astype(numpy.float64)  # one number of a thousand, in double precision
    for _ in range(ROUNDS):
        expected += 1e-3 * (1 - expected * expected)
    wrong = numpy.count_nonzero(~(abs(y[::1000] - expected) <= 1e-4))
    print(f"last: expected {expected[-1]:.6f}, found {y[::1000][-1]:.6f}; {wrong} of {expected.size} numbers wrong")
    if wrong:
        sys.exit("the function was not applied to every part")


main()
