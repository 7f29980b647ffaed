#!/usr/bin/env python3
"""How `lab analyze` grows with a report: a synthetic nsys export of N kernels and N API calls, or a synthetic trace of
torch.profiler with N operators on top, analysed at N/4, N/2 and N. The last column stays the same where growth is
linear.

    harness/bench/analyze.py [KERNELS [LAB [sqlite | json | json.gz]]]

1,000,000 kernels, build/bin/lab and sqlite if not given.
"""
import gzip
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

STREAMS, THREADS, KERNEL_NAMES = 8, 2, 400
KERNELS_PER_COPY, KERNELS_PER_RANGE, KERNELS_PER_PAUSE = 50, 10, 1000
STEP_NS, PAUSE_NS = 5000, 60_000
PROCESS = (1 << 48) + (4711 << 24)

# Tables and columns as nsys 2025.3 writes them, those that the views read.
SCHEMA = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.3');
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEM_KIND VALUES (1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'),
    (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device');
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'),
    (2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host');
CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (59, 'NvtxPushPopRange', NULL);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'a GPU that does not exist');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,
    gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
    copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, contextId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
    globalTid INTEGER, textId INTEGER, domainId INTEGER);
"""


def write_export(path, kernels):
    """Launches in turn on two threads and eight streams, a copy now and then, a range around every ten."""
    calls, runs, copies, ranges = [], [], [], []
    for i in range(kernels):
        at = i * STEP_NS + i // KERNELS_PER_PAUSE * PAUSE_NS
        began, took = at + 8000 + i % 7 * 300, 2000 + i % 11 * 900
        stream, thread = 13 + i % STREAMS, PROCESS + 1 + i % THREADS
        copied, up = i % KERNELS_PER_COPY == 0, i // KERNELS_PER_COPY % 2 == 0
        calls.append((at, at + 2500, thread, i, 2 if copied else 1))
        if copied:
            copies.append((began, began + took, stream, i, PROCESS, 1 if up else 2, 1 if up else 2, 2 if up else 1))
        shift = took if copied else 0
        runs.append((began + shift, began + took + shift, stream, i, PROCESS, 100 + i * KERNEL_NAMES // kernels))
        if i % KERNELS_PER_RANGE == 0:
            ranges.append((at, at + KERNELS_PER_RANGE * STEP_NS, thread))
    database = sqlite3.connect(path)
    database.executescript(SCHEMA)
    names = [(1, "cudaLaunchKernel_v7000"), (2, "cudaMemcpyAsync_v3020"), (3, "time step")]
    names += [(100 + i, f"kernel_{i}") for i in range(KERNEL_NAMES)]
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", names)
    database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, 0)", calls)
    database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, ?, ?, ?, ?6, ?6, 128, 1, 1, 256, 1, 1)", runs)
    database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, ?, ?, ?, 1000000, ?, ?, ?, 1)", copies)
    database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, ?, 3, 0)", ranges)
    database.commit()
    database.close()


def write_kineto(path, kernels):
    """The same, as Kineto has it: an operator, a call, a kernel and the two ends of an arrow for each."""
    with gzip.open(path, "wt", compresslevel=4) if path.endswith(".gz") else open(path, "w") as out:
        out.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a GPU that does not exist"}],\n')
        out.write('"displayTimeUnit": "ms", "baseTimeNanoseconds": 1711964646000000000, "traceEvents": [\n')
        for i in range(kernels):
            at = 4458676524670000 + i * STEP_NS + i // KERNELS_PER_PAUSE * PAUSE_NS
            began, took, stream = at + 8000 + i % 7 * 300, 2000 + i % 11 * 900, 7 + i % STREAMS
            name = f"void at::native::kernel_{i % KERNEL_NAMES}<4, at::native::Functor<float>, std::array<char*, 3ul> >(int)"
            thread = f'"pid": 4711, "tid": {4711 + i % THREADS}, "ts": '
            if i % KERNELS_PER_RANGE == 0:
                out.write(f'{{"ph": "X", "cat": "user_annotation", "name": "time step", {thread}{at / 1000:.3f}, '
                          f'"dur": {KERNELS_PER_RANGE * STEP_NS / 1000}, "args": {{"External id": {i}, "Ev Idx": {i}}}}},\n')
            out.write(f'{{"ph": "X", "cat": "cpu_op", "name": "aten::add", {thread}{at / 1000:.3f}, "dur": 3.5, '
                      f'"args": {{"External id": {i}, "Record function id": 0, "Ev Idx": {i}}}}},\n'
                      f'{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", {thread}{at / 1000:.3f}, "dur": 2.5, '
                      f'"args": {{"External id": {i}, "cbid": 211, "correlation": {i + 1}}}}},\n'
                      f'{{"ph": "s", "id": {i + 1}, {thread}{at / 1000:.3f}, "cat": "ac2g", "name": "ac2g"}},\n'
                      f'{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": {stream}, '
                      f'"ts": {began / 1000:.3f}, "dur": {took / 1000}, "args": {{"External id": {i}, "queued": 0, '
                      f'"device": 0, "context": 1, "stream": {stream}, "correlation": {i + 1}, "registers per thread": 32, '
                      f'"shared memory": 0, "blocks per SM": 0.969697, "warps per SM": 7.757576, "grid": [128, 1, 1], '
                      f'"block": [256, 1, 1], "est. achieved occupancy %": 12}}}},\n'
                      f'{{"ph": "f", "id": {i + 1}, "pid": 0, "tid": {stream}, "ts": {began / 1000:.3f}, '
                      f'"cat": "ac2g", "name": "ac2g", "bp": "e"}},\n')
        out.write('{"ph": "M", "name": "process_name", "pid": 4711, "args": {"name": "python"}}]}\n')


def analyse(lab, path):
    """Wall time in s and the peak memory of the process in MB."""
    began = time.monotonic()
    child = subprocess.Popen([lab, "analyze", path, "--json"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{lab} analyze {path} --json failed")
    return time.monotonic() - began, used.ru_maxrss * 1024 / 1e6


def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    lab = sys.argv[2] if len(sys.argv) > 2 else "build/bin/lab"
    form = sys.argv[3] if len(sys.argv) > 3 else "sqlite"
    print(f"{'kernels':>10}  {'file MB':>8}  {'wall s':>7}  {'peak MB':>8}  {'µs per kernel':>13}")
    with tempfile.TemporaryDirectory() as folder:
        for kernels in (most // 4, most // 2, most):
            path = os.path.join(folder, f"{kernels}.{form}")
            # In a process of its own: the peak of a child counts what this one holds when it starts.
            writer = multiprocessing.Process(target=write_export if form == "sqlite" else write_kineto, args=(path, kernels))
            writer.start()
            writer.join()
            seconds, peak = min(analyse(lab, path) for _ in range(3))
            print(f"{kernels:>10}  {os.path.getsize(path) / 1e6:>8.1f}  {seconds:>7.2f}  {peak:>8.0f}  {seconds * 1e6 / kernels:>12.3f}")
            os.remove(path)


if __name__ == "__main__":
    main()
