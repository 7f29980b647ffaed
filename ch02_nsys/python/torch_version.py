"""Divides an array by its sum with PyTorch: from pageable host memory, then from pinned host memory.

look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -o torch python3 ch02_nsys/python/torch_version.py
"""
import torch
from torch.cuda.nvtx import range as nvtx_range

COUNT = 25_000_000


def normalise(name, x, device_x):
    """Divides host tensor `x` by its sum, on the GPU, in NVTX ranges."""
    with nvtx_range(name):
        with nvtx_range("H2D"):
            device_x.copy_(x)
        with nvtx_range("kernels"):  # over on the host before the GPU is done
            device_x /= device_x.sum()
        with nvtx_range("D2H"):  # waits for the kernels, then copies
            x.copy_(device_x)


pageable = torch.rand(COUNT, generator=torch.Generator().manual_seed(2))
pinned = pageable.pin_memory()  # a copy of it, in pinned memory
expected = pageable / pageable.sum(dtype=torch.float64)
device_x = torch.empty(COUNT, device="cuda")

normalise("warm-up", pageable.clone(), device_x)  # the first call loads the kernels
normalise("pageable", pageable, device_x)
normalise("pinned", pinned, device_x)
for name, x in ("pageable", pageable), ("pinned", pinned):
    assert torch.allclose(x, expected.to(x.dtype), rtol=1e-4, atol=0), f"{name}: wrong answer"
    print(f"{name}: sum afterwards expected 1, found {x.sum(dtype=torch.float64).item():.6f}")
