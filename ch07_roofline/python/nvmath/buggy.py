# A layer of a neural network, max(0, x w' + bias), ten times in a row. It takes longer than its GEMM.
#
# look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o buggy \
#             python3 ch07_roofline/python/nvmath/buggy.py
import os
import sys

os.environ["CUPY_TF32"] = "1"  # CuPy reads it at its first product

import cupy
import numpy
from cupyx.profiler import time_range

ROWS, COLUMNS, DEPTH, LAYERS = 8192, 8192, 1024, 10
RANDOM = numpy.random.default_rng(7)


def make_layer(x, w, bias):
    """A function that computes the layer, as it stands in the book."""
    return lambda: cupy.maximum(x @ w.T + bias, 0)


def multiples(*shape, limit):
    """Multiples of 1/64 from -limit to limit. Sums of their products are exact, in TF32 as well."""
    return cupy.asarray(RANDOM.integers(-64 * limit, 64 * limit, shape, endpoint=True).astype(numpy.float32) / 64)


def main():
    x, w = multiples(ROWS, DEPTH, limit=1), multiples(COLUMNS, DEPTH, limit=1)
    bias = multiples(COLUMNS, limit=8)
    layer = make_layer(x, w, bias)
    with time_range("warm-up"):  # loads the kernels, and takes memory from CUDA
        layer()
        cupy.cuda.Device().synchronize()
    with time_range("layers"):
        for _ in range(LAYERS):
            d = layer()
        cupy.cuda.Device().synchronize()

    expected = cupy.maximum(x.astype(numpy.float64) @ w.T.astype(numpy.float64) + bias, 0)
    wrong = int(cupy.count_nonzero(d != expected))
    print(f"last: expected {float(expected[-1, -1]):.6f}, found {float(d[-1, -1]):.6f}; {wrong} of {d.size} wrong")
    if wrong:
        sys.exit("this is not what the layer makes of its input")


main()
