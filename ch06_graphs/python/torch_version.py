"""Applies a chain of small operations with PyTorch: launched one by one, then replayed as one CUDA graph.

look:   nsys profile --trace=cuda,nvtx --cuda-graph-trace=graph:host-only --force-overwrite=true -o torch_graph \
            python3 ch06_graphs/python/torch_version.py
"""
import time

import torch
from torch.cuda.nvtx import range as nvtx_range

TICKS, STEPS, CELLS = 500, 10, 1003
KEEP = 0.999


def ticks(water, outside):
    """All ticks of a step: the water moves on by a cell, and takes on some of what is outside."""
    for _ in range(TICKS):
        water = torch.roll(water, 1) * KEEP + outside * (1 - KEEP)
    return water


def measured(name, step):
    """Makes all steps in an NVTX range, and prints the time of one."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    with nvtx_range(name):
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
    print(f"{name}: {(time.perf_counter() - start) / STEPS * 1e3:.3f} ms a step")


generator = torch.Generator().manual_seed(6)
first = torch.rand(CELLS, generator=generator).cuda()
outside = torch.rand(CELLS, generator=generator).cuda()
water = first.clone()  # the graph reads and writes this tensor, always


def step():
    water.copy_(ticks(water, outside))


# Capture wants a warm-up in a stream that is not the default one.
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    step()
torch.cuda.current_stream().wait_stream(side)

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()

water.copy_(first)
measured("without graph", step)
plain = water.clone()
water.copy_(first)
graph.replay()  # the first launch uploads the graph
water.copy_(first)
measured("with graph", graph.replay)
assert torch.equal(plain, water), "the graph computes something else"
