"""Trains on batches that PyTorch's DataLoader decodes, with 0, 2, 4 and 8 workers, and with 4 and a longer queue.

Most batches are light, and one in sixteen is heavy. With how many workers is the GPU idle, and for how long?

    python3 ch02_nsys/python/loader_workers.py
    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o loader \\
        python3 ch02_nsys/python/loader_workers.py
    ./lab analyze loader.nsys-rep --range '4 workers x 2'
"""

import os
import sys
import time

try:
    import numpy
    import torch
except ImportError as missing:
    sys.exit(f"This needs NumPy and PyTorch: {missing}. docs/setup.md says how to install them.")

BATCHES, COUNT = 64, 1 << 17  # numbers in a batch
LIGHT_MS, HEAVY_MS, STEP_MS = 8, 100, 6  # to decode a batch on the CPU; a step on the GPU
FIRST_HEAVY = 11


def decode(rounds, seed):
    numbers = numpy.arange(seed, seed + COUNT, dtype=numpy.uint32)
    for _ in range(rounds):
        numbers *= numpy.uint32(1664525)
        numbers += numpy.uint32(1013904223)
    return numbers


def rounds_per_ms():
    """How many rounds of decode() take a millisecond: a fast round of ten."""

    def ms(rounds):
        start = time.perf_counter()
        decode(rounds, 0)
        return (time.perf_counter() - start) * 1e3

    return 50 / min(ms(50) for _ in range(10))


class Encoded(torch.utils.data.Dataset):
    """Batches that are decoded when they are asked for."""

    def __init__(self, rate):
        self.rate = rate

    def __len__(self):
        return BATCHES

    def __getitem__(self, batch):
        ms = HEAVY_MS if batch % 16 == FIRST_HEAVY else LIGHT_MS
        # Halves of their 32 bits, which fit into a float exactly.
        return torch.from_numpy((decode(round(ms * self.rate), batch) >> 16).astype(numpy.float32))


def make_step():
    """A step of about STEP_MS on the GPU, whatever GPU that is."""
    matrix = torch.rand(2048, 2048, device="cuda") / 1024  # keeps the size of what it multiplies
    products = 1

    def step(numbers):
        state = numbers.view(64, 2048)
        for _ in range(products):
            state = state @ matrix
        return state.sum()

    def ms():
        numbers = torch.zeros(COUNT, device="cuda")
        step(numbers)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        step(numbers)
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end)

    products = 100
    products = max(1, round(100 * STEP_MS / min(ms() for _ in range(3))))
    return step


def train(loader, step, name):
    """Milliseconds from the first batch's arrival to the end of the last step, and the sum of all steps."""
    batches = iter(loader)
    batch = next(batches)
    torch.cuda.nvtx.range_push(name)
    start = time.perf_counter()
    total = torch.zeros((), device="cuda", dtype=torch.float64)
    while batch is not None:
        total += step(batch.to("cuda", non_blocking=True))
        torch.cuda.synchronize()  # as a step does that logs its loss
        batch = next(batches, None)
    ms = (time.perf_counter() - start) * 1e3
    torch.cuda.nvtx.range_pop()
    return ms, total.item()


def main():
    if not torch.cuda.is_available():
        print("no suitable GPU: PyTorch finds none")
        return 77
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {len(os.sched_getaffinity(0))} CPU cores")
    data, step = Encoded(rounds_per_ms()), make_step()
    sums = set()
    for workers, prefetch in ((0, None), (2, 2), (4, 2), (8, 2), (4, 8)):
        loader = torch.utils.data.DataLoader(
            data, batch_size=None, num_workers=workers, prefetch_factor=prefetch, pin_memory=True
        )
        name = f"{workers} workers" + (f" x {prefetch}" if prefetch else "")
        ms, total = train(loader, step, name)
        sums.add(total)
        print(f"{name}: {ms:.0f} ms")
    print(f"different sums of {BATCHES} steps: expected 1, found {len(sums)}")
    return 0 if len(sums) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
