# Trains a network that sorts photographs of grain into ten qualities. The photographs are made up.
#
# It learns well, and the log is right. But the GPU idles for most of the training, and its operator says that a faster
# one didn't help.
#
# look:   python3 ch07_roofline/exercises/8_grain_sorter/starter.py --trace starter.json.gz
import argparse
import copy
import math
import sys

try:
    import torch
    from torch import nn
    from torch.profiler import ProfilerActivity, profile, record_function, schedule
except ImportError:
    print("PyTorch is not here: pip install torch", file=sys.stderr)
    sys.exit(77)

PIXELS, WIDTH, BLOCKS, QUALITIES = 1024, 512, 8, 10
BATCH, BATCHES, EPOCHS = 1024, 8, 4  # photographs a step, steps an epoch
COUNT, STEPS = BATCH * BATCHES, BATCHES * EPOCHS
RATE, BETAS, EPSILON, DECAY, MOST_NORM = 1e-3, (0.9, 0.999), 1e-8, 0.5, 0.5


class Photographs:
    """All photographs and their qualities, in host memory. Each epoch has them in an order of its own."""

    def __init__(self):
        draw = torch.Generator().manual_seed(1)
        self.quality = torch.randint(QUALITIES, (COUNT,), generator=draw)
        typical = torch.randn(QUALITIES, PIXELS, generator=draw)
        self.pixels = torch.randn(COUNT, PIXELS, generator=draw).add_(typical[self.quality], alpha=0.1).pin_memory()
        self.begins = torch.arange(0, COUNT, BATCH)

    def shuffle(self, epoch):
        self.order = torch.randperm(COUNT, generator=torch.Generator().manual_seed(epoch))
        self.labels = self.quality[self.order].pin_memory()

    def batch(self, number):
        """Pixels and labels of the epoch's batch `number`, on the GPU."""
        first = self.begins[number].item()
        part = slice(first, first + BATCH)
        pixels = self.pixels[self.order[part]]
        return pixels.to("cuda", non_blocking=True), self.labels[part].to("cuda", non_blocking=True)


def make_model():
    torch.manual_seed(2)
    layers, width = [], PIXELS
    for _ in range(BLOCKS):
        layers += [nn.Linear(width, WIDTH, bias=False), nn.BatchNorm1d(WIDTH), nn.ReLU()]
        width = WIDTH
    return nn.Sequential(*layers, nn.Linear(width, QUALITIES)).to("cuda")


def rate(step):
    """The learning rate, as a part of RATE: it rises for an epoch, and falls again."""
    return min((step + 1) / BATCHES, 0.5 + 0.5 * math.cos(math.pi * step / STEPS))


def make_optimizer(model):
    """Matrices decay. Biases, and the scales and shifts of batch normalisation, do not."""
    groups = [{"params": [p], "weight_decay": DECAY if p.ndim > 1 else 0.0} for p in model.parameters()]
    return torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON)


class Log:
    """Of each epoch the mean loss, the largest loss of a step, and that step."""

    def __init__(self):
        self.epochs = []
        self.begin()

    def begin(self):
        self.total = torch.zeros((), device="cuda")
        self.worst, self.worst_step = torch.zeros((), device="cuda"), -1

    def add(self, step, loss):
        self.total += loss
        if loss > self.worst:
            self.worst, self.worst_step = loss, step

    def close(self):
        self.epochs.append((self.total.item() / BATCHES, self.worst.item(), self.worst_step))
        print("epoch {}: mean loss {:.4f}, worst {:.4f} in step {}".format(len(self.epochs), *self.epochs[-1]))
        self.begin()


def train(model, photographs, profiler):
    """Trains the model and returns its log. Each step is one of the profiler's, if there is one."""
    optimizer = make_optimizer(model)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    log = Log()
    for step in range(STEPS):
        with record_function("load"):
            if step % BATCHES == 0:
                photographs.shuffle(step // BATCHES)
            pixels, labels = photographs.batch(step % BATCHES)
        with record_function("forward"):
            loss = nn.functional.cross_entropy(model(pixels), labels)
        with record_function("backward"):
            optimizer.zero_grad()
            loss.backward()
        with record_function("clip"):
            nn.utils.clip_grad_norm_(model.parameters(), MOST_NORM)
        with record_function("update"):
            optimizer.step()
            scheduler.step()
        with record_function("log"):
            log.add(step, loss.detach())
            if step % BATCHES == BATCHES - 1:
                log.close()
        if profiler:
            profiler.step()
    torch.cuda.synchronize()
    return log


def expected(model, photographs):
    """The loss of each step and the trained model, by the formulas and in double precision."""
    model = copy.deepcopy(model).double()
    parameters = list(model.parameters())
    means, squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    losses = []
    for step in range(STEPS):
        order = torch.randperm(COUNT, generator=torch.Generator().manual_seed(step // BATCHES))
        rows = order[step % BATCHES * BATCH:][:BATCH]
        loss = nn.functional.cross_entropy(model(photographs.pixels[rows].to("cuda").double()),
                                           photographs.quality[rows].to("cuda"))
        gradients = torch.autograd.grad(loss, parameters)
        losses.append(loss.item())
        norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
        with torch.no_grad():
            for p, gradient, mean, square in zip(parameters, gradients, means, squares):
                gradient = gradient * min(1.0, MOST_NORM / norm)
                mean.lerp_(gradient, 1 - BETAS[0])
                square.lerp_(gradient * gradient, 1 - BETAS[1])
                here = RATE * rate(step)
                p *= 1 - here * (DECAY if p.ndim > 1 else 0.0)
                unbiased = [m / (1 - beta ** (step + 1)) for m, beta in zip((mean, square), BETAS)]
                p -= here * unbiased[0] / (unbiased[1].sqrt() + EPSILON)
    return losses, model


def mean_scale(model):
    return torch.cat([m.weight for m in model if isinstance(m, nn.BatchNorm1d)]).mean().item()


def is_right(log, model, losses, expected_model):
    """Is the log that of these losses, within 3 %, and the model the expected one? Prints both."""
    scale, expected_scale = mean_scale(model), mean_scale(expected_model)
    right = len(log.epochs) == EPOCHS and abs(scale - expected_scale) < 0.002
    print(f"mean scale of batch normalisation: expected {expected_scale:.4f}, found {scale:.4f}")
    for epoch, (mean, worst, step) in enumerate(log.epochs):
        own = losses[epoch * BATCHES:][:BATCHES]
        right_ones = (sum(own) / BATCHES, max(own), own[step % BATCHES] if step // BATCHES == epoch else math.nan)
        close = all(abs(f - e) <= 0.03 * e for f, e in zip((mean, worst, worst), right_ones))
        right = right and close
        print(f"epoch {epoch + 1}: expected mean {right_ones[0]:.4f} and worst {right_ones[1]:.4f}, "
              f"found {mean:.4f} and {worst:.4f} in step {step}: {'right' if close else 'wrong'}")
    return right


def main():
    parser = argparse.ArgumentParser(description="Trains a network that sorts photographs of grain.")
    parser.add_argument("--trace", metavar="FILE", help="profile four steps, and write them to FILE, *.json.gz")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("there is no GPU that PyTorch can use", file=sys.stderr)
        return 77
    photographs, model = Photographs(), make_model()
    losses, expected_model = expected(model, photographs)  # also warms up
    if arguments.trace:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, with_stack=True,
                     schedule=schedule(wait=12, warmup=1, active=4, repeat=1),
                     on_trace_ready=lambda p: p.export_chrome_trace(arguments.trace)) as profiler:
            log = train(model, photographs, profiler)
    else:
        log = train(model, photographs, None)
    return 0 if is_right(log, model, losses, expected_model) else 1


if __name__ == "__main__":
    sys.exit(main())
