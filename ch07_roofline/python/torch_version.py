"""A layer, max(0, x w' + bias), with PyTorch: as three operations, with the bias in the product, and compiled.

look:   nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --force-overwrite=true -o torch \
            python3 ch07_roofline/python/torch_version.py
"""
import torch
from torch.cuda.nvtx import range as nvtx_range

ROWS, COLUMNS, DEPTH, LAYERS = 8192, 8192, 1024, 10

torch.set_float32_matmul_precision("high")  # TF32 for products


def eager(x, w, bias):
    return torch.relu(x @ w.T + bias)


def linear(x, w, bias):
    return torch.relu(torch.nn.functional.linear(x, w, bias))


def whole_multiples(*shape, limit):
    """Multiples of 1/64 from -limit to limit: sums of their products are exact, so answers can be compared."""
    return torch.randint(-64 * limit, 64 * limit + 1, shape).to("cuda", torch.float32) / 64


torch.manual_seed(7)
x = whole_multiples(ROWS, DEPTH, limit=1)
w = whole_multiples(COLUMNS, DEPTH, limit=1)
bias = whole_multiples(COLUMNS, limit=8)
expected = torch.relu(x.double() @ w.double().T + bias.double())

layers = {"eager": eager, "linear": linear, "compiled": torch.compile(eager, mode="max-autotune-no-cudagraphs")}
for name, layer in layers.items():
    with nvtx_range("warm-up"):  # loads kernels; compiles and times candidates
        layer(x, w, bias)
        torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with nvtx_range(name):
        start.record()
        for _ in range(LAYERS):
            d = layer(x, w, bias)
        end.record()
        torch.cuda.synchronize()
    assert torch.equal(d.double(), expected), f"{name}: wrong numbers"
    print(f"{name}: {start.elapsed_time(end) / LAYERS:.3f} ms a layer")
