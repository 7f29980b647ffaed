# Water flows round a ring of pipe, one cell a tick, and takes on some of the warmth outside. The GPU is mostly idle.
#
# look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node -f true -o buggy \
#             python3 ch06_graphs/python/buggy.py
import sys
import time

import torch
from torch.cuda import nvtx

TICKS, CELLS, EXCHANGE = 500, 1003, 1e-3  # ticks of a step, cells of the ring, of the difference to the outside
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 2


def flow(water, outside):
    """All ticks of a step: the water of each cell moves on to the next, and meets the temperature outside it."""
    for _ in range(TICKS):
        water = torch.lerp(torch.roll(water, 1), outside, EXCHANGE)
    return water


def make_step(water, outside):
    """A function that makes a step: it changes `water` in place."""
    return lambda: water.copy_(flow(water, outside))


def measured_ms(step):
    """Makes all steps, waits after each as if to look whether all is well, and returns what each took."""
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        with nvtx.range("step"):
            step()
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def main():
    first, outside = torch.rand((2, CELLS), generator=torch.Generator().manual_seed(6)).unbind()
    water, device_outside = first.cuda(), outside.cuda()
    step = make_step(water, device_outside)
    with nvtx.range("warm-up"):
        step()
        water.copy_(first)
        torch.cuda.synchronize()
    times = measured_ms(step)
    print(f"median step {sorted(times)[len(times) // 2]:.3f} ms, of {len(times)}")

    expected = first.double()
    for _ in range(STEPS):
        expected = flow(expected, outside.double())
    wrong = (~((water.cpu() - expected).abs() <= 1e-4)).sum().item()
    print(f"cell 0: expected {expected[0].item():.6f}, found {water[0].item():.6f}; {wrong} of {CELLS} cells wrong")
    if wrong:
        sys.exit("the water is not where it should be")


main()
