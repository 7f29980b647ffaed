"""Adds two arrays with CuPy: with the default type, which is float64, then in float32.

look:   ncu --nvtx --nvtx-include "float64/" --nvtx-include "float32/" \
            --metrics smsp__sass_thread_inst_executed_op_fp64_pred_on.sum,dram__bytes.sum \
            python3 ch03_ncu/python/cupy_version.py
"""
import cupy
import numpy
from cupyx.profiler import time_range

COUNT = 16_000_000


def add(name, a, b):
    """Adds two device arrays in an NVTX range, and checks the sums on the host."""
    with time_range(name):
        c = a + b
        cupy.cuda.Device().synchronize()
    host_a, host_b = cupy.asnumpy(a), cupy.asnumpy(b)
    assert numpy.allclose(cupy.asnumpy(c), host_a.astype(numpy.float64) + host_b, rtol=1e-6), f"{name}: wrong sums"
    print(f"{name}: numbers of type {c.dtype}, {3 * c.nbytes / 1e6:.0f} MB to move")


random = cupy.random.default_rng(3)
a64, b64 = random.random(COUNT), random.random(COUNT)  # no dtype is float64
a32, b32 = a64.astype(cupy.float32), b64.astype(cupy.float32)

add("warm-up", a64, b64)  # the first call of each type compiles its kernel
add("warm-up", a32, b32)
add("float64", a64, b64)
add("float32", a32, b32)
