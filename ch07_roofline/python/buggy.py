# A layer of a neural network, max(0, x w' + bias), ten times in a row. It takes longer than its GEMM.
#
# look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o buggy \
#             python3 ch07_roofline/python/buggy.py
import sys

import torch
from torch.cuda import nvtx

ROWS, COLUMNS, DEPTH, LAYERS = 8192, 8192, 1024, 10


def layer(x, w, bias):
    """The layer, as it stands in the book."""
    return torch.relu(x @ w.T + bias)


def multiples(*shape, limit):
    """Multiples of 1/64 from -limit to limit. Sums of their products are exact, in TF32 as well."""
    return torch.randint(-64 * limit, 64 * limit + 1, shape).to("cuda", torch.float32) / 64


def main():
    torch.set_float32_matmul_precision("high")  # TF32 for products
    torch.manual_seed(7)
    x, w = multiples(ROWS, DEPTH, limit=1), multiples(COLUMNS, DEPTH, limit=1)
    bias = multiples(COLUMNS, limit=8)
    with nvtx.range("warm-up"):  # loads the kernels, and takes memory from CUDA
        layer(x, w, bias)
        torch.cuda.synchronize()
    with nvtx.range("layers"):
        for _ in range(LAYERS):
            d = layer(x, w, bias)
        torch.cuda.synchronize()

    expected = torch.relu(x.double() @ w.double().T + bias.double())
    wrong = (d != expected).sum().item()
    print(f"last: expected {expected[-1, -1].item():.6f}, found {d[-1, -1].item():.6f}; {wrong} of {d.numel()} wrong")
    if wrong:
        sys.exit("this is not what the layer makes of its input")


main()
