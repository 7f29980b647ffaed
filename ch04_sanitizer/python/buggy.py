# Shifts an array by two places with its own kernel: out[i] = x[i + 2]. The answer is right.
#
# look:   compute-sanitizer --tool memcheck python3 ch04_sanitizer/python/buggy.py
import sys

import cupy
import numpy

COUNT, SHIFT, THREADS = 100, 2, 32

# There are two results fewer than elements. Kernels are compiled at run time, so ask for line information here.
SHIFT_KERNEL = cupy.RawKernel(
    r"""
extern "C" __global__ void shift(const float* x, float* out, int count, int places) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = x[i + places];
}
""",
    "shift",
    options=("-lineinfo",),
)


def main():
    # CuPy's pool rounds each array up to 512 bytes, so memcheck takes the bytes behind these 400 for the array's own.
    # Without the pool an allocation is as large as its array.
    cupy.cuda.set_allocator(None)
    x = numpy.random.default_rng(4).random(COUNT, dtype=numpy.float32)
    device_x, device_out = cupy.empty(COUNT, dtype=numpy.float32), cupy.empty(COUNT, dtype=numpy.float32)
    device_x.set(x)
    blocks = (COUNT + THREADS - 1) // THREADS
    SHIFT_KERNEL((blocks,), (THREADS,), (device_x, device_out, numpy.int32(COUNT), numpy.int32(SHIFT)))
    out = device_out[: COUNT - SHIFT].get()  # waits for the kernel
    wrong = numpy.count_nonzero(out != x[SHIFT:])
    print(f"last result: expected {x[-1]:.6f}, found {out[-1]:.6f}; {wrong} of {out.size} results wrong")
    if wrong:
        sys.exit("the array is not shifted")


main()
