"""The pair of this chapter in CuPy.   look: compute-sanitizer --tool memcheck python cupy_version.py [fixed]"""
import sys
import cupy as cp
import numpy as np

# CuPy gives out pieces of large allocations, and memcheck knows only the large ones. Without the pool every
# array is an allocation of its own.
cp.cuda.set_allocator(None)

COUNT, SHIFT, THREADS = 100, 2, 32
GUARDS = {"buggy": "i < count", "fixed": f"i + {SHIFT} < count"}
SOURCE = """
extern "C" __global__ void shift(const float* x, float* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (GUARD) out[i] = x[i + SHIFT];
}
""".replace("SHIFT", str(SHIFT))

name = sys.argv[1] if len(sys.argv) > 1 else "buggy"
if name not in GUARDS:
    sys.exit(f"'{name}' is neither buggy nor fixed")
shift = cp.RawKernel(SOURCE.replace("GUARD", GUARDS[name]), "shift", options=("-lineinfo",))

x = np.random.default_rng(4).random(COUNT, dtype=np.float32)
device_x, device_out = cp.asarray(x), cp.empty(COUNT, dtype=cp.float32)
shift(((COUNT + THREADS - 1) // THREADS,), (THREADS,), (device_x, device_out, np.int32(COUNT)))
out = device_out[: COUNT - SHIFT].get()  # waits for the kernel

wrong = int((out != x[SHIFT:]).sum())
print(f"{name}: last result: expected {x[-1]:.6f}, found {out[-1]:.6f}; {wrong} of {out.size} results wrong")
sys.exit(wrong != 0)
