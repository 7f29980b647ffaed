# Lets a heated plate even out by Jacobi steps on the GPU, until a step changes little. Takes longer than it should.
#
# look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o buggy \
#             python3 ch01_tools/python/buggy.py
import math
import sys

import torch
from torch.cuda import nvtx

SIDE, STEPS, HEIGHT = 4000, 40, 50.0  # points on a side, steps that the tolerance asks for, degrees
WAVES = 128, 157  # half-waves across and down the plate
ANGLES = [math.pi * waves / (SIDE - 1) for waves in WAVES]
FACTOR = sum(math.cos(angle) for angle in ANGLES) / 2  # what a step does to the height of such waves


@nvtx.range("step")
def step(plate):
    """Each inner point becomes the mean of its four neighbours; the edge stays at 0 degrees."""
    new = torch.zeros_like(plate)
    new[1:-1, 1:-1] = 0.25 * (plate[1:-1, :-2] + plate[1:-1, 2:] + plate[:-2, 1:-1] + plate[2:, 1:-1])
    return new


def change(new, plate):
    """What a step has changed, in degrees: the root of the mean square over the plate."""
    return (new - plate).square().mean().sqrt().item()


def solve(plate, tolerance):
    """Makes steps until one changes less than `tolerance`. Returns the plate and the number of steps."""
    made, residual = 0, math.inf
    while residual > tolerance and made < 2 * STEPS:
        new = step(plate.cuda()).cpu()
        made += 1
        residual = change(new, plate)
        plate = new
    return plate, made


def plate_after(steps):
    """The plate after that many steps, without making them, in double precision."""
    across, down = (torch.sin(angle * torch.arange(SIDE, dtype=torch.float64)) for angle in ANGLES)
    return HEIGHT * FACTOR**steps * torch.outer(down, across)


def main():
    with nvtx.range("warm-up"):  # loads the kernels, and takes memory from CUDA
        plate = torch.zeros((SIDE, SIDE), device="cuda")
        change(step(plate), plate)
    # Half-way between the last step that is needed and the one before it.
    tolerance = HEIGHT * FACTOR ** (STEPS - 1.5) * (1 - FACTOR) / 2
    plate = plate_after(0).float()
    with nvtx.range("solve"):
        plate, made = solve(plate, tolerance)
    wrong = (~((plate.cpu() - plate_after(STEPS)).abs() <= 1e-3)).sum().item()
    print(f"steps: expected {STEPS}, found {made}; {wrong} of {SIDE * SIDE} points wrong")
    if wrong or made != STEPS:
        sys.exit("the plate is not what the steps make of it")


main()
