"""Divides an array by its sum with CuPy: from pageable host memory, then from pinned host memory.

look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -o cupy python3 ch02_nsys/python/cupy_version.py
"""
import cupy
import cupyx
import numpy
from cupyx.profiler import time_range

COUNT = 25_000_000


def normalise(name, x, device_x):
    """Divides host array `x` by its sum, on the GPU, in NVTX ranges."""
    with time_range(name):
        with time_range("H2D"):
            device_x.set(x)
        with time_range("kernels"):  # over on the host before the GPU is done
            device_x /= device_x.sum()
        with time_range("D2H"):  # waits for the kernels, then copies
            device_x.get(out=x)


pageable = numpy.random.default_rng(2).random(COUNT, dtype=numpy.float32)
pinned = cupyx.empty_pinned(COUNT, dtype=numpy.float32)
pinned[:] = pageable
expected = pageable / pageable.sum(dtype=numpy.float64)
device_x = cupy.empty(COUNT, dtype=numpy.float32)

normalise("warm-up", pageable.copy(), device_x)  # the first call compiles and loads the kernels
normalise("pageable", pageable, device_x)
normalise("pinned", pinned, device_x)
for name, x in ("pageable", pageable), ("pinned", pinned):
    assert numpy.allclose(x, expected, rtol=1e-4, atol=0), f"{name}: wrong answer"
    print(f"{name}: sum afterwards expected 1, found {x.sum(dtype=numpy.float64):.6f}")
