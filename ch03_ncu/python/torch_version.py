"""Adds two tensors with PyTorch: one that NumPy made in float64, which promotes the sum, then both in float32.

look:   ncu --nvtx --nvtx-include "promoted/" --nvtx-include "float32/" \
            --metrics smsp__sass_thread_inst_executed_op_fp64_pred_on.sum,dram__bytes.sum \
            python3 ch03_ncu/python/torch_version.py
"""
import numpy
import torch
from torch.cuda.nvtx import range as nvtx_range

COUNT = 16_000_000


def add(name, a, b):
    """Adds two device tensors in an NVTX range, and checks the sums on the host."""
    with nvtx_range(name):
        c = a + b
        torch.cuda.synchronize()
    assert torch.allclose(c.cpu().double(), a.cpu().double() + b.cpu().double(), rtol=1e-6), f"{name}: wrong sums"
    print(f"{name}: {a.dtype} + {b.dtype} is {c.dtype}")


a = torch.rand(COUNT, generator=torch.Generator().manual_seed(3)).cuda()  # torch's default is float32
from_numpy = torch.from_numpy(numpy.random.default_rng(3).random(COUNT)).cuda()  # NumPy's is float64

add("warm-up", a, from_numpy)  # the first call loads the kernels
add("warm-up", a, from_numpy.float())
add("promoted", a, from_numpy)
add("float32", a, from_numpy.float())
