# Applies a slow function to an array with Numba, in three ways. The third has streams, and they gain little.
#
# look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o buggy \
#             python3 ch05_streams/python/numba/buggy.py
import sys

import numpy
import nvtx
from numba import cuda

COUNT, PARTS, THREADS = 32_000_000, 4, 256
LENGTH = COUNT // PARTS
ROUNDS, RATE, ONE = 3000, numpy.float32(1e-3), numpy.float32(1)


@cuda.jit
def grow(x, y, rounds):
    """Lets each number grow towards 1."""
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]
        for _ in range(rounds):
            value += RATE * (ONE - value * value)
        y[i] = value


def blocks(count):
    """So many blocks that each number has a thread."""
    return (count + THREADS - 1) // THREADS


@nvtx.annotate("NumPy arrays")
def with_numpy_arrays(x, y):
    """No copy in the source: Numba copies both arrays to the GPU, and both back."""
    grow[blocks(COUNT), THREADS](x, y, ROUNDS)


@nvtx.annotate("device arrays")
def with_device_arrays(x, y):
    """One array to the GPU, the other one back."""
    device_x, device_y = cuda.to_device(x), cuda.device_array_like(x)
    grow[blocks(COUNT), THREADS](device_x, device_y, ROUNDS)
    device_y.copy_to_host(y)


@nvtx.annotate("streams")
def with_streams(x, y, device_x, device_y):
    """Queues H2D copy, kernel and D2H copy of each part in a stream of its own, and waits for all of them."""
    for part, stream in enumerate([cuda.stream() for _ in range(PARTS)]):
        piece = slice(part * LENGTH, (part + 1) * LENGTH)
        device_x[piece].copy_to_device(x[piece], stream=stream)
        grow[blocks(LENGTH), THREADS](device_x[piece], device_y[piece], ROUNDS)
        device_y[piece].copy_to_host(y[piece], stream=stream)
    cuda.synchronize()


def pinned(x):
    """A copy of the array in pinned memory, from and to which copies may overlap."""
    copy = cuda.pinned_array(x.shape, dtype=x.dtype)
    copy[:] = x
    return copy


def main():
    x = numpy.random.default_rng(5).random(COUNT, dtype=numpy.float32)
    expected = x[::1000].astype(numpy.float64)  # one number of a thousand, in double precision
    for _ in range(ROUNDS):
        expected += 1e-3 * (1 - expected * expected)
    pinned_x, pinned_y = pinned(x), pinned(numpy.zeros_like(x))
    device_x, device_y = cuda.device_array_like(x), cuda.device_array_like(x)
    with nvtx.annotate("warm-up"):  # compiles the kernel
        grow[1, THREADS](device_x, device_y, 1)
        cuda.synchronize()

    y, also_y = numpy.zeros_like(x), numpy.zeros_like(x)
    with_numpy_arrays(x, y)
    with_device_arrays(x, also_y)
    with_streams(pinned_x, pinned_y, device_x, device_y)

    for name, found in {"NumPy arrays": y, "device arrays": also_y, "streams": pinned_y}.items():
        wrong = numpy.count_nonzero(~(abs(found[::1000] - expected) <= 1e-4))
        print(f"{name}: last expected {expected[-1]:.6f}, found {found[::1000][-1]:.6f}; {wrong} wrong")
        if wrong:
            sys.exit("the function was not applied to every part")


main()
