#!/usr/bin/env bash
# shellcheck disable=SC2016
# What `lab doctor` says of tools that work, fail in many ways, or are missing: the reason, the fix, the exit code:
# lab_doctor.sh LAB  (shell_checks.sh says how these tests work; doctor_test.cpp has the other platforms).
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

# Whatever this machine is, it says that it is a container.
unset "${!SLURM_@}" "${!KAGGLE_@}" "${!COLAB_@}" PBS_JOBID LSB_JOBID
export container=podman
cp harness/tests/samples/doctor_probe.sqlite harness/doctor/probe.sqlite
cp harness/doctor/probe.cu "$temporary/probe.cu"

# What is printed about one tool.
about() { sed -n "/^  .* $1  /,/ more: /p" <<<"$out"; }

# A tool in a mode: what is printed of it must hold each of the texts.
expect_broken() { # tool, mode, texts
    local tool=${1/nvidia-smi/gpu} said text
    mode whole "$1" "$2"
    try doctor
    command+=" ($1: $2)"
    exits 1
    said=$(about "$tool")
    check 'is said to be broken' contains "$said" "✗ broken     $tool "
    for text in "${@:3}" 'to do: ' 'unaffected: ' 'docs/setup.md#'; do
        check "says '$text'" contains "$said" "$text"
    done
    prints 'do what the first'
    mode whole "$1" works
}

healthy() {
    topic='all is well'
    on whole
    try doctor
    exits 0
    prints '✓ works      gpu                NVIDIA H200, driver 580.159.04'
    prints '✓ works      nvcc               13.0, built the probe, and its kernel gave the right answer'
    prints "✓ works      nsys               2025.3.1, recorded the probe"
    prints "read kernel count_up and NVTX range 'doctor' back"
    prints '✓ works      ncu                2025.3.1, read a counter of the GPU: count_up took 42 cycles'
    prints '✓ works      compute-sanitizer  2025.3.1, passed the probe, and found the bug planted in it'
    prints '✓ works      cpu-samples        nsys recorded the probe with samples and context switches'
    prints '✓ works      gpu-metrics        nsys recorded the probe with counters of the GPU over time'
    prints 'ch05  open live'
    prints 'next     ./lab look ch01'
    prints_no 'to do: '
    is_file build/doctor/probe.nsys-rep
    # The lines that are shown work when they are copied.
    command='the lines that lab doctor shows'
    grep '^\$ ' <<<"$err" | cut -c 3- >"$temporary/lines"
    out=$(sh "$temporary/lines" 2>&1)
    check 'each line can be copied' test "$(count 'not found' "$out")" -eq 0
    check 'and finds the bug' contains "$out" 'Invalid __global__ write'
    try doctor
    exits 0
    prints 'found the probe built, and its kernel gave the right answer'
}

driver_and_compiler() {
    topic='the driver and nvcc'
    on whole
    expect_broken nvidia-smi broken "the driver's kernel module does not answer" 'install no driver inside it'
    expect_broken nvidia-smi denied '--security-opt=label=disable' '#the-device-files-may-not-be-opened'
    expect_broken nvidia-smi none 'reports no GPU' 'start the container with `--gpus all`'
    prints 'ch05  on recorded evidence; for live runs it lacks gpu'
    rm -rf build
    expect_broken nvcc broken 'does not support the host compiler' 'NVCC_PREPEND_FLAGS'
    expect_broken nvcc old 'nvcc 11.8 is older than 12.4' 'use an image of a later CUDA' '#a-tool-is-too-old'
    printf '// fake: exit 77\n// fake: says no suitable GPU: %s\n' \
        'CUDA driver version is insufficient for CUDA runtime version' >>harness/doctor/probe.cu
    mode whole nvidia-smi old
    expect_broken nvcc works 'driver 535.104.05 is too old for CUDA 13.0, which needs 580 or later'
    prints '- not tried  nsys               it is here, and can be tried only on a program that runs on a GPU'
    mode whole nvidia-smi works
    cp "$temporary/probe.cu" harness/doctor/probe.cu
    rm -rf build
}

profiler() {
    topic='nsys'
    on whole
    expect_broken nsys unfinished 'its importer, or a library of that, was not found' '.qdstrm' 'install cuda-nsight-systems-13-0'
    expect_broken nsys libdw 'lacks the library libdw.so.1' 'apt-get install libdw1`, as root in the container'
    expect_broken nsys idle 'ended as if all were well, and made no report'
    expect_broken nsys old 'nsys 2023.3.3 is older than 2023.4' 'apt-get install cuda-nsight-systems-13-0'
    expect_broken nsys garbled 'is not an SQLite file'
    cp harness/tests/samples/nsys_2025.3_fixed.sqlite harness/doctor/probe.sqlite
    expect_broken nsys works 'without the kernel that ran: 0 runs of count_up' '#the-trace-has-no-kernels'
    cp harness/tests/samples/doctor_probe.sqlite harness/doctor/probe.sqlite
}

not_permitted() {
    topic='what nsys may not record'
    on whole
    mode whole nsys denied
    try doctor
    exits 0
    check 'nsys itself works' contains "$out" '✓ works      nsys'
    check 'CPU samples: what to set' contains "$(about cpu-samples)" 'kernel.perf_event_paranoid=2'
    check 'GPU metrics: what to set' contains "$(about gpu-metrics)" '--cap-add=SYS_ADMIN'
    check 'both are denied' test "$(count '- denied' "$out")" -eq 2
    prints 'ch05  open live'
    mode whole nsys works
}

counters_and_sanitizer() {
    topic='ncu and compute-sanitizer'
    on whole
    expect_broken ncu denied 'ERR_NVGPUCTRPERM' '--cap-add=SYS_ADMIN' '#err_nvgpuctrperm'
    COLAB_RELEASE_TAG=release expect_broken ncu denied 'nothing: the provider decides'
    prints 'this is a cloud notebook (Google Colab)'
    SLURM_JOB_ID=7 expect_broken ncu denied 'ask the administrators'
    expect_broken ncu busy 'on the host: `dcgmi profile --pause`' '#a-driver-resource-was-unavailable'
    expect_broken ncu locked 'another user, or root, made it' 'TMPDIR=~/tmp ./lab doctor'
    expect_broken ncu idle '"No kernels were profiled"' '#ncu-profiles-no-kernel'
    expect_broken ncu broken '==ERROR== Failed to prepare the kernel' 'run the last command above by hand'
    expect_broken ncu noexec "$TMPDIR is mounted noexec, and ncu loads libraries from there" 'TMPDIR=/root/tmp'
    check 'the other tools are tried all the same' contains "$out" '✓ works      compute-sanitizer'
    expect_broken compute-sanitizer blind 'missed a planted write behind an array' 'same toolkit as nvcc'
    expect_broken compute-sanitizer errors 'finds errors in a program that has none: 1, the first: Invalid'
    expect_broken compute-sanitizer unreached 'never reached the program' 'use runc'
    expect_broken compute-sanitizer unsupported 'use an image of a CUDA that knows this GPU'
    expect_broken compute-sanitizer silent 'ended without its summary line'
    prints 'ch05  open live'
}

missing() {
    topic='tools are missing'
    on nothing
    if ! try_without nvcc,nsys,ncu,compute-sanitizer,nvidia-smi doctor; then
        skip 'a CUDA tool is here and cannot be hidden'
        return
    fi
    exits 0
    check 'five tools are not here' test "$(count '- not here' "$out")" -eq 5
    check 'each with what to do' test "$(count 'to do: ' "$out")" -eq 5
    check 'nsys from its package' contains "$(about nsys)" 'apt-get install cuda-nsight-systems-13-0'
    prints 'start the container with `--gpus all`'
    prints 'ch05  on recorded evidence; for live runs it lacks gpu, nsys, nvcc'
    prints 'next     ./lab look ch01'
    check 'runs nothing' test -z "$err"
    COLUMNS=80 try doctor
    check 'fits 80 columns, but for commands' test -z "$(grep -v '`' <<<"$out" | grep -E '.{81}')"
}

as_json() {
    topic='--json'
    on whole
    mode whole ncu denied
    try doctor --json
    exits 1
    prints '"state": "broken"'
    prints '"failure": "counters_denied"'
    prints '"kind": "container"'
    mode whole ncu works
}

run_parts healthy driver_and_compiler profiler not_permitted counters_and_sanitizer missing as_json
