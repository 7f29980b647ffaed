"""A step of data-parallel work on N GPUs, from what two of them were recorded to need, held against two and four.
docs/scale.md quotes it."""
import math
import pathlib
import sqlite3

HERE = pathlib.Path(__file__).parent
TWO = HERE / "two_gpus"  # two H200
FOUR = HERE / "four_gpus"  # four H200: the kernels alone
PARTS, STEPS = 24, 3
# Assumed, not measured: a node of 8 GPUs, 50 GB/s a GPU between nodes, 5 us for a message there, 1 % of jitter.
NODE, BETWEEN_NODES_GB_S, MESSAGE_US, JITTER = 8, 50, 5, 0.01
PART_BYTES = 8_388_608 * 4


def mean_us(folder, program, kernel):
    """Mean duration of a kernel in the range `survey`."""
    with sqlite3.connect(folder / f"{program}.sqlite") as recording:
        return recording.execute(
            "SELECT AVG(k.end - k.start) / 1e3 FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName "
            "WHERE s.value LIKE ? AND k.start > (SELECT start FROM NVTX_EVENTS WHERE text = 'survey')",
            (kernel,)).fetchone()[0]


def measured_ms(folder, program, gpus):
    """From the first `work_out` of a step to its last sum, mean over steps and GPUs."""
    with sqlite3.connect(folder / f"{program}.sqlite") as recording:
        rows = recording.execute(
            "SELECT k.deviceId, k.start, k.end, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k "
            "JOIN StringIds s ON s.id = k.shortName "
            "WHERE k.start > (SELECT start FROM NVTX_EVENTS WHERE text = 'survey') ORDER BY k.start").fetchall()
    total = 0
    for device in range(gpus):
        work = [row for row in rows if row[0] == device and row[3] == "work_out"]
        sums = [row for row in rows if row[0] == device and row[3].startswith("nccl")]
        for step in range(STEPS):
            first = work[step * PARTS][1]
            last = max(end for _, start, end, _ in sums
                       if first < start < (work[(step + 1) * PARTS][1] if step + 1 < STEPS else math.inf))
            total += last - first
    return total / (gpus * STEPS) / 1e6


def overlapped_ms(work_us, sum_us):
    """Each part's sum begins when the part is worked out and the sum before it is done."""
    worked = summed = 0.0
    for _ in range(PARTS):
        worked += work_us
        summed = max(worked, summed) + sum_us
    return summed / 1e3


def sum_on(gpus, sum_us):
    """A ring within a node, whose bytes grow by 2 (N - 1) / N; nodes pass on what each GPU of a node has its share of."""
    inside = min(gpus, NODE)
    time = sum_us * 2 * (inside - 1) / inside
    nodes = gpus / inside
    if nodes > 1:
        time += 2 * (nodes - 1) / nodes * PART_BYTES / inside / BETWEEN_NODES_GB_S / 1e3 + 2 * math.log2(nodes) * MESSAGE_US
    return time


def main():
    work, apart = mean_us(TWO, "starter", "work_out"), mean_us(TWO, "one_stream", "nccl%")
    together = mean_us(TWO, "starter", "nccl%")
    print(f"two GPUs, each alone: a part {work:.1f} us, its sum {apart:.1f} us, all {PARTS} sums in one {together:.0f} us")
    print(f"four GPUs:            a part {mean_us(FOUR, 'starter', 'work_out'):.1f} us, "
          f"its sum {mean_us(FOUR, 'one_stream', 'nccl%'):.1f} us (model {sum_on(4, apart):.1f}), "
          f"all in one {mean_us(FOUR, 'starter', 'nccl%'):.0f} us (model {sum_on(4, together):.0f})")
    for gpus, folder in ((2, TWO), (4, FOUR)):
        for name, program, model in (("in turn", "starter", (PARTS * work + sum_on(gpus, together)) / 1e3),
                                     ("overlapped", "solution", overlapped_ms(work, sum_on(gpus, apart)))):
            found = measured_ms(folder, program, gpus)
            print(f"{gpus} GPUs, {name:10}  model {model:.2f} ms, recorded {found:.2f} ms: {100 * (model / found - 1):+.0f} %")
    print("  GPUs  a sum  a step  not hidden  slowest of all")
    for gpus in (2, 4, 8, 64, 1024, 10_000):
        each = sum_on(gpus, apart)
        step = overlapped_ms(work, each)
        slowest = overlapped_ms(work * (1 + JITTER * math.sqrt(2 * math.log(gpus))), each)
        print(f"{gpus:6}  {each:3.0f} us  {step:.2f} ms     {100 * (1 - PARTS * work / 1e3 / step):3.0f} %      {slowest:.2f} ms"
              f"{'' if gpus <= 4 else '  extrapolated'}")


if __name__ == "__main__":
    main()
