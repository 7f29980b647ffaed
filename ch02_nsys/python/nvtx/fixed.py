# A walk through CuPy: random numbers, a sort, a dot product, a matrix product. Its phases have names on the
# timeline. With the word `tf32`, products are computed in TF32.
#
# look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o fixed \
#             python3 ch02_nsys/python/nvtx/fixed.py
import os
import sys

if "tf32" in sys.argv:
    os.environ["CUPY_TF32"] = "1"  # CuPy reads it at its first product

import cupy
import numpy
import nvtx

COUNT, SIDE, STEPS = 10_000_000, 4096, 2


def phase(name, color, category):
    """A range of this walk's own domain, by which tools can choose. It is over when its kernels are queued."""
    return nvtx.annotate(name, color=color, domain="walk", category=category)


@phase("random", "blue", "data")  # a decorator: each call is a range
def draw(random):
    """Numbers from 0 to 1: a vector and a matrix of them."""
    return random.random(COUNT, dtype=numpy.float32), random.random((SIDE, SIDE), dtype=numpy.float32)


@nvtx.annotate("walk", domain="walk")
def walk(random):
    """Everything, one after the other. The GPU is waited for at the end."""
    x, matrix = draw(random)
    with phase("sort", "orange", "data"):
        ordered = cupy.sort(x)
    with phase("dot product", "green", "algebra"):
        square = cupy.dot(x, x)
    with phase("matrix product", "red", "algebra"):
        product = matrix @ matrix
    cupy.cuda.Device().synchronize()
    return x, matrix, ordered, square, product


def main():
    random = cupy.random.default_rng(2)
    for _ in range(STEPS):  # in the first one, CuPy loads kernels and takes memory from CUDA
        found = walk(random)

    x, matrix, ordered, square, product = (each.get().astype(numpy.float64) for each in found)
    row = matrix[0] @ matrix
    print(f"dot product: expected {x @ x:.1f}, found {square:.1f}")
    print(f"first of the matrix: expected {row[0]:.2f}, found {product[0, 0]:.2f}")
    if not numpy.array_equal(ordered, numpy.sort(x)):
        sys.exit("the numbers are not in order")
    if abs(square - x @ x) > 1e-3 * square or (abs(product[0] - row) > 1e-3 * row).any():
        sys.exit("the products are wrong")


main()
