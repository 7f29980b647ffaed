# Trains a network that sorts photographs of grain into ten qualities. The photographs are made up.
#
# A batch is gathered into pinned memory, and copied at once.
#
# look:   python3 ch07_roofline/exercises/8_grain_sorter/solution.py --trace solution.json.gz
import argparse
import copy
import math
import random
import sys
import time

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
SEED = 5377
RATE, BETAS, EPSILON, DECAY, MOST_NORM = 1e-3, (0.9, 0.999), 1e-8, 0.5, 0.5


class Harvest:
    """What is drawn for a harvest."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.cameras = 2 ** draw.randrange(6)  # that took the photographs
        self.crate = 2 ** draw.randrange(2, 8)  # photographs that lie together in memory
        self.rates = 2 ** draw.randrange(4)  # different learning rates of layers
        self.lorry = 2 ** draw.randrange(6)  # steps until others may use the GPU
        self.line = 2 ** draw.randrange(6)  # steps between two lines of the log
        self.darks = [draw.uniform(0, 2) for _ in range(self.cameras)]  # what a camera sees of nothing
        self.gains = [draw.uniform(0.5, 2) for _ in range(self.cameras)]  # by which it is multiplied

    def rate(self, layer):
        """The learning rate of a layer, as a part of RATE."""
        return 1 - 0.05 * (layer % self.rates)


class Photographs:
    """All photographs and their qualities, in host memory. Each epoch has its crates in an order of its own."""

    def __init__(self, harvest):
        draw = torch.Generator().manual_seed(1)
        self.quality = torch.randint(QUALITIES, (COUNT,), generator=draw)
        self.camera = torch.randint(harvest.cameras, (COUNT,), generator=draw)
        typical = torch.randn(QUALITIES, PIXELS, generator=draw)
        light = torch.randn(COUNT, PIXELS, generator=draw).add_(typical[self.quality], alpha=0.1)
        taken = light / torch.tensor(harvest.gains)[self.camera, None] + torch.tensor(harvest.darks)[self.camera, None]
        self.crates = taken.view(-1, harvest.crate, PIXELS).pin_memory()

    def shuffle(self, epoch):
        self.order = torch.randperm(len(self.crates), generator=torch.Generator().manual_seed(epoch))
        self.labels, self.cameras = (each.view(len(self.crates), -1)[self.order].flatten().pin_memory()
                                     for each in (self.quality, self.camera))

    def batch(self, number):
        """Pixels, cameras and labels of the epoch's batch `number`, on the GPU."""
        count = len(self.crates) // BATCHES
        crates = self.order[number * count:][:count]
        gathered = torch.empty(count, *self.crates.shape[1:], pin_memory=True)  # so that all crates are one copy
        torch.index_select(self.crates, 0, crates, out=gathered)
        pixels = gathered.view(BATCH, PIXELS).to("cuda", non_blocking=True)
        part = slice(number * BATCH, (number + 1) * BATCH)
        return pixels, *(each[part].to("cuda", non_blocking=True) for each in (self.cameras, self.labels))


def calibrate(pixels, cameras, harvest):
    """Photographs as if one camera had taken them all."""
    for camera, (dark, gain) in enumerate(zip(harvest.darks, harvest.gains)):
        own = cameras == camera
        pixels[own] = (pixels[own] - dark) * gain


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


def layer_of(name):
    """Which layer has the parameter of this name: a block is three modules."""
    return int(name.split(".")[0]) // 3


def make_optimizer(model, harvest):
    """Matrices decay. Biases, and the scales and shifts of batch normalisation, do not. Layers have own rates."""
    parameters = {}
    for name, p in model.named_parameters():
        parameters.setdefault((RATE * harvest.rate(layer_of(name)), DECAY if p.ndim > 1 else 0.0), []).append(p)
    groups = [{"params": own, "lr": lr, "weight_decay": decay} for (lr, decay), own in parameters.items()]
    return torch.optim.AdamW(groups, betas=BETAS, eps=EPSILON)


class Log:
    """A line every so many steps, with their mean loss."""

    def __init__(self, line):
        self.line, self.means = line, []
        self.total = torch.zeros((), device="cuda")

    def add(self, step, loss):
        self.total += loss
        if step % self.line == self.line - 1:
            self.means.append(self.total.item() / self.line)
            self.total.zero_()
            print(f"step {step}: mean loss {self.means[-1]:.4f}")


def train(model, photographs, harvest, profiler):
    """Trains the model and returns its log. Each step is one of the profiler's, if there is one."""
    optimizer = make_optimizer(model, harvest)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    log = Log(harvest.line)
    for step in range(STEPS):
        if step == BATCHES:  # the first epoch fills caches
            torch.cuda.synchronize()
            begin = time.perf_counter()
        with record_function("load"):
            if step % BATCHES == 0:
                photographs.shuffle(step // BATCHES)
            pixels, cameras, labels = photographs.batch(step % BATCHES)
        with record_function("calibrate"):
            calibrate(pixels, cameras, harvest)
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
        with record_function("hand over"):
            if step % harvest.lorry == harvest.lorry - 1:
                torch.cuda.empty_cache()  # until the next lorry is here, others get the memory
        if profiler:
            profiler.step()
    torch.cuda.synchronize()
    print(f"{1e3 * (time.perf_counter() - begin) / (STEPS - BATCHES):.2f} ms per step")
    return log


def expected(model, photographs, harvest):
    """The loss of each step and the trained model, by the formulas and in double precision."""
    model = copy.deepcopy(model).double()
    parameters, rates = zip(*[(p, RATE * harvest.rate(layer_of(name))) for name, p in model.named_parameters()])
    darks, gains = (torch.tensor(each).double()[:, None] for each in (harvest.darks, harvest.gains))
    pixels = photographs.crates.view(COUNT, PIXELS)
    means, squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    losses = []
    for step in range(STEPS):
        order = torch.randperm(len(photographs.crates), generator=torch.Generator().manual_seed(step // BATCHES))
        rows = torch.arange(COUNT).view(len(order), -1)[order].flatten()[step % BATCHES * BATCH:][:BATCH]
        camera = photographs.camera[rows]
        light = (pixels[rows].double() - darks[camera]) * gains[camera]
        loss = nn.functional.cross_entropy(model(light.to("cuda")), photographs.quality[rows].to("cuda"))
        gradients = torch.autograd.grad(loss, parameters)
        losses.append(loss.item())
        norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
        with torch.no_grad():
            for p, own_rate, gradient, mean, square in zip(parameters, rates, gradients, means, squares):
                gradient = gradient * min(1.0, MOST_NORM / norm)
                mean.lerp_(gradient, 1 - BETAS[0])
                square.lerp_(gradient * gradient, 1 - BETAS[1])
                here = own_rate * rate(step)
                p *= 1 - here * (DECAY if p.ndim > 1 else 0.0)
                unbiased = [m / (1 - beta ** (step + 1)) for m, beta in zip((mean, square), BETAS)]
                p -= here * unbiased[0] / (unbiased[1].sqrt() + EPSILON)
    return losses, model


def mean_scale(model):
    return torch.cat([m.weight for m in model if isinstance(m, nn.BatchNorm1d)]).mean().item()


def is_right(log, model, losses, expected_model):
    """Is the log that of these losses, within 3 %, and the model the expected one? Prints both."""
    scale, expected_scale = mean_scale(model), mean_scale(expected_model)
    print(f"mean scale of batch normalisation: expected {expected_scale:.4f}, found {scale:.4f}")
    own = [sum(losses[i:i + log.line]) / log.line for i in range(0, STEPS, log.line)]
    wrong = [i for i, (found, mean) in enumerate(zip(log.means, own)) if not abs(found - mean) <= 0.03 * mean]
    print(f"expected {len(own)} lines in the log, found {len(log.means)}, of which {len(wrong)} are wrong")
    for i in wrong[:3]:
        print(f"line {i + 1}: expected a mean loss of {own[i]:.4f}, found {log.means[i]:.4f}")
    return len(log.means) == len(own) and not wrong and abs(scale - expected_scale) < 0.002


def main():
    parser = argparse.ArgumentParser(description="Trains a network that sorts photographs of grain.")
    parser.add_argument("--trace", metavar="FILE", help="profile four steps, and write them to FILE, *.json.gz")
    parser.add_argument("--seed", type=int, default=SEED, help="the harvest (%(default)s)")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("there is no GPU that PyTorch can use", file=sys.stderr)
        return 77
    torch.set_num_threads(1)  # of the host, so that none waits for another
    harvest, model = Harvest(arguments.seed), make_model()
    photographs = Photographs(harvest)
    losses, expected_model = expected(model, photographs, harvest)  # also warms up
    if arguments.trace:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, with_stack=True,
                     schedule=schedule(wait=12, warmup=1, active=4, repeat=1),
                     on_trace_ready=lambda p: p.export_chrome_trace(arguments.trace)) as profiler:
            log = train(model, photographs, harvest, profiler)
    else:
        log = train(model, photographs, harvest, None)
    return 0 if is_right(log, model, losses, expected_model) else 1


if __name__ == "__main__":
    sys.exit(main())
