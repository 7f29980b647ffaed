#!/usr/bin/env bash
# shellcheck disable=SC2016
# What `lab doctor` says of tools that fail, in each known way and on each platform: the reason, the fix, the exit
# code:  lab_doctor.sh LAB  (shell_checks.sh says how these tests work).
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

# A folder that stands for /, so that the platform and what is installed are the test's and not this machine's.
export LAB_TEST_ROOT=$temporary/root LAB_DOCTOR_LIMIT_S=2
unset "${!SLURM_@}" "${!KAGGLE_@}" "${!COLAB_@}" KUBERNETES_SERVICE_HOST container PBS_JOBID LSB_JOBID
cp harness/tests/samples/doctor_probe.sqlite harness/doctor/probe.sqlite
cp harness/doctor/probe.cu "$temporary/probe.cu"

platform() { # bare, container, wsl2
    rm -rf "$LAB_TEST_ROOT"
    mkdir -p "$LAB_TEST_ROOT/proc"
    echo 'Linux version 6.1.0-28-amd64 (debian-kernel@lists.debian.org)' >"$LAB_TEST_ROOT/proc/version"
    case $1 in
        container) touch "$LAB_TEST_ROOT/.dockerenv" ;;
        wsl2) echo 'Linux version 6.6.87.2-microsoft-standard-WSL2' >"$LAB_TEST_ROOT/proc/version" ;;
    esac
}

# What is printed about one tool.
about() { sed -n "/^  .* $1  /,/ more: /p" <<<"$out"; }

# What the rest of PATH holds cannot be hidden.
hidden() { # tools
    local tool
    for tool in "$@"; do
        if command -v "$tool" >/dev/null; then
            skip "$tool is here and cannot be hidden"
            return 1
        fi
    done
}

# A tool in a mode, on a platform: what is printed of it must hold each of the texts.
expect_broken() { # platform, tool, mode, texts
    local tool=${2/nvidia-smi/gpu} said text
    platform "$1"
    mode whole "$2" "$3"
    try doctor
    command+=" ($1, $2: $3)"
    exits 1
    said=$(about "$tool")
    check 'is said to be broken' contains "$said" "✗ broken     $tool "
    for text in "${@:4}" 'to do: ' 'unaffected: ' 'docs/setup.md#'; do
        check "says '$text'" contains "$said" "$text"
    done
    prints 'do what the first'
    mode whole "$2" works
}

healthy() {
    topic='all is well'
    on whole
    platform bare
    try doctor
    exits 0
    prints 'this is Linux on its own machine'
    prints '✓ works      gpu                NVIDIA H200, driver 580.159.04'
    prints '✓ works      nvcc               13.0, built the probe, and its kernel gave the right answer'
    prints "✓ works      nsys               2025.3.1, recorded the probe"
    prints "read kernel count_up and NVTX range 'doctor' back"
    prints '✓ works      ncu                2025.3.1, read a counter of the GPU: count_up took 42 cycles'
    prints '✓ works      compute-sanitizer  2025.3.1, passed the probe, and found the bug planted in it'
    prints 'ch05  open live'
    prints 'next     ./lab run ch01'
    prints_no 'to do: '
    says '$ nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader'
    says '$ nsys profile --trace=cuda,nvtx'
    says '-o build/doctor/probe.nsys-rep build/programs/harness/doctor/probe'
    says '$ nsys export --type sqlite'
    says '$ ncu --clock-control none'
    says '$ compute-sanitizer --tool memcheck'
    says 'harness/doctor/probe --fault'
    is_file build/doctor/probe.nsys-rep
    try doctor
    exits 0
    says 'is up to date: nvcc does not run again'
    prints 'found the probe built, and its kernel gave the right answer'
    # The lines that are shown work when they are copied.
    command='the lines that lab doctor shows'
    grep '^\$ ' <<<"$err" | cut -c 3- >"$temporary/lines"
    out=$(sh "$temporary/lines" 2>&1)
    check 'each line can be copied' test "$(count 'not found' "$out")" -eq 0
    check 'and finds the bug' contains "$out" 'Invalid __global__ write'
    echo 4 >"$LAB_TEST_ROOT/proc/level"
    mkdir -p "$LAB_TEST_ROOT/proc/sys/kernel"
    mv "$LAB_TEST_ROOT/proc/level" "$LAB_TEST_ROOT/proc/sys/kernel/perf_event_paranoid"
    try doctor
    exits 0
    prints 'remark  perf_event_paranoid is 4, so nsys samples no CPU here; this course samples none'
}

driver() {
    topic='the driver'
    on whole
    expect_broken bare nvidia-smi broken "the driver's kernel module does not answer" 'sudo modprobe nvidia'
    expect_broken container nvidia-smi broken 'nvidia-smi must work on the host first' 'install no driver inside it'
    expect_broken wsl2 nvidia-smi broken 'in Windows, then wsl --shutdown'
    expect_broken bare nvidia-smi denied "may not open the GPU's device files" 'usermod -aG'
    expect_broken container nvidia-smi denied '--security-opt=label=disable' '#the-device-files-may-not-be-opened'
    expect_broken container nvidia-smi none 'reports no GPU' 'start the container with --gpus all'
    prints 'ch05  on recorded evidence; for live runs it lacks gpu'
    rm -rf build
    printf '// fake: exit 77\n// fake: says no suitable GPU: %s\n' \
        'CUDA driver version is insufficient for CUDA runtime version' >>harness/doctor/probe.cu
    mode whole nvidia-smi old
    local where
    for where in bare container; do
        platform "$where"
        try doctor
        exits 1
        prints '✗ broken     nvcc               driver 535.104.05 is too old for CUDA 13.0, which needs 580 or later'
        prints '#the-driver-is-older-than-the-toolkit'
        prints '- not tried  nsys               it is here, and can be tried only on a program that runs on a GPU'
        if [[ $where == bare ]]; then
            prints 'install driver 580 or later and reboot'
        else
            prints "update the host's driver to 580 or later; or use an image of an older CUDA"
        fi
    done
    mode whole nvidia-smi works
    cp "$temporary/probe.cu" harness/doctor/probe.cu
    rm -rf build
}

compiler() {
    topic='nvcc'
    on whole
    rm -rf build
    expect_broken bare nvcc broken 'does not support the host compiler' 'NVCC_PREPEND_FLAGS' \
        '#nvcc-refuses-the-host-compiler'
    expect_broken container nvcc old 'CUDA 11.8 is older than 12.4' 'use an image of CUDA 12.4 or later'
    expect_broken bare nvcc old 'install a toolkit from' '#a-tool-is-too-old'
}

profiler() {
    topic='nsys'
    on whole
    expect_broken bare nsys unfinished 'its importer was not found' '.qdstrm' 'install cuda-nsight-systems-13-0'
    expect_broken bare nsys libdw 'lacks the library libdw.so.1' 'sudo apt-get install libdw1'
    expect_broken container nsys libdw 'apt-get install libdw1, as root in the container' '#nsys-makes-no-report'
    expect_broken bare nsys idle 'ended as if all were well, and made no report'
    expect_broken container nsys old 'nsys 2023.3.3 is older than 2023.4' 'apt-get install cuda-nsight-systems-13-0'
    expect_broken bare nsys old "the distribution's nsight-systems is older"
    expect_broken bare nsys hangs 'nsys did not end within 2 s' 'nsys sessions list' '#a-tool-hangs'
    expect_broken container nsys garbled 'is not an SQLite file'
    cp harness/tests/samples/nsys_2025.3_fixed.sqlite harness/doctor/probe.sqlite
    expect_broken bare nsys works 'without the kernel that ran: 0 runs of count_up' '#the-trace-has-no-kernels'
    cp harness/tests/samples/doctor_probe.sqlite harness/doctor/probe.sqlite
}

# One tool is missing, the others work: no failure, and what to install.
missing() {
    topic='a tool is missing'
    on no_nsys
    hidden nsys ncu compute-sanitizer || return
    platform bare
    try doctor
    exits 0
    check 'says what is missing' contains "$(about nsys)" '- not here   nsys               no nsys in PATH'
    check 'and how to install it' contains "$(about nsys)" 'sudo apt-get install cuda-nsight-systems-13-0'
    check 'the same for ncu' contains "$(about ncu)" 'sudo apt-get install cuda-toolkit'
    prints 'ch05  on recorded evidence; for live runs it lacks nsys'
    platform container
    try doctor
    exits 0
    check 'in a container otherwise' contains "$(about nsys)" 'apt-get update && apt-get install cuda-nsight-systems'
    check 'nor the sanitizer' contains "$(about compute-sanitizer)" 'apt-get install cuda-sanitizer-13-0'
}

# An nsys in no other place than Nsight Compute's package, and its importer, which lacks a library.
profiler_of_another_package() {
    topic="nsys, only inside ncu's package"
    on no_nsys
    hidden nsys || return
    cp harness/tests/fake_tools/{ncu,compute-sanitizer} "$temporary/no_nsys/"
    local host=$temporary/root/opt/nvidia/nsight-compute/2025.3.1/host
    platform container
    mkdir -p "$host/target-linux-x64" "$host/linux-desktop-glibc_2_11_3-x64"
    cp harness/tests/fake_tools/nsys "$host/target-linux-x64/"
    try doctor
    exits 0
    prints "; this nsys is the one inside Nsight Compute's package"
    prints 'nsight-compute/2025.3.1/host/target-linux-x64/nsys'
    printf '#!/bin/sh\necho "$0: error while loading shared libraries: %s" >&2\nexit 127\n' \
        'libdw.so.1: cannot open shared object file: No such file or directory' \
        >"$host/linux-desktop-glibc_2_11_3-x64/QdstrmImporter"
    chmod +x "$host/linux-desktop-glibc_2_11_3-x64/QdstrmImporter"
    echo unfinished >"$host/target-linux-x64/nsys.mode"
    try doctor
    exits 1
    says 'QdstrmImporter --version'
    prints '✗ broken     nsys               nsys recorded, but its importer lacks the library libdw.so.1'
    prints 'to do:       apt-get install libdw1'
    rm "$temporary/no_nsys/"{ncu,compute-sanitizer}
}

counters() {
    topic='ncu'
    on whole
    expect_broken bare ncu denied 'ERR_NVGPUCTRPERM' 'NVreg_RestrictProfilingToAdminUsers=0' '#err_nvgpuctrperm'
    expect_broken container ncu denied '--cap-add=SYS_ADMIN' 'being root inside is not enough'
    expect_broken wsl2 ncu denied 'NVIDIA Control Panel'
    prints 'under WSL2 nsys samples no GPU metrics'
    COLAB_RELEASE_TAG=release expect_broken container ncu denied 'nothing: the provider decides'
    prints 'this is a cloud notebook (Google Colab)'
    SLURM_JOB_ID=7 expect_broken bare ncu denied 'ask the administrators'
    expect_broken bare ncu busy "something else holds the GPU's counters" 'dcgmi profile --pause, measure'
    expect_broken container ncu busy 'on the host: dcgmi profile --pause' '#a-driver-resource-was-unavailable'
    expect_broken bare ncu locked 'another user, or root, made it' 'TMPDIR=~/tmp ./lab doctor'
    expect_broken container ncu idle '"No kernels were profiled"' '#ncu-profiles-no-kernel'
    expect_broken bare ncu idle 'unset CUDA_INJECTION64_PATH'
    expect_broken bare ncu old 'ncu 2023.3.1 is older than 2024.1'
    expect_broken bare ncu hangs 'ncu did not end within 2 s'
    expect_broken bare ncu broken '==ERROR== Failed to prepare the kernel' 'run the last command above by hand'
    expect_broken bare ncu noexec "$TMPDIR is mounted noexec, and ncu loads libraries from there" 'TMPDIR=~/tmp'
    check 'the other tools are tried all the same' contains "$out" '✓ works      compute-sanitizer'
}

sanitizer() {
    topic='compute-sanitizer'
    on whole
    expect_broken bare compute-sanitizer blind 'missed a planted write behind an array' 'same toolkit as nvcc'
    expect_broken container compute-sanitizer errors 'finds errors in a program that has none: 1, the first: Invalid' \
        'use an image of a later CUDA'
    expect_broken bare compute-sanitizer unreached 'never reached the program' '/usr/local/cuda/bin/compute-sanitizer'
    expect_broken wsl2 compute-sanitizer unreached 'EnableInterface'
    expect_broken wsl2 compute-sanitizer unsupported 'EnableInterface to 1' '#compute-sanitizer-is-blocked'
    expect_broken container compute-sanitizer unsupported 'use an image of a CUDA that knows this GPU'
    expect_broken bare compute-sanitizer silent 'ended without its summary line'
    expect_broken container compute-sanitizer old 'compute-sanitizer 2023.3.1 is older than 2024.1'
    expect_broken bare compute-sanitizer hangs 'compute-sanitizer did not end within 2 s'
    prints 'ch05  open live'
}

# A temporary folder that is really mounted noexec, and a failure that says nothing of it.
noexec_folder() {
    topic='noexec'
    if ! can_mount; then
        skip 'nothing can be mounted here'
        return
    fi
    on whole
    platform bare
    mode whole ncu broken
    mkdir -p "$temporary/noexec"
    command='lab doctor, TMPDIR noexec'
    with_own_mounts "$BASH" -c 'mount -t tmpfs -o noexec none "$1" && TMPDIR=$1 exec "$2" doctor' "$BASH" \
        "$temporary/noexec" "$lab" </dev/null >"$temporary/out" 2>"$temporary/err"
    status=$?
    out=$(<"$temporary/out") err=$(<"$temporary/err")
    exits 1
    prints "$temporary/noexec is mounted noexec, and ncu loads libraries from there"
    mode whole ncu works
}

nothing_here() {
    topic='no GPU, no tools'
    on nothing
    hidden nvidia-smi nvcc nsys ncu compute-sanitizer || return
    local where
    for where in bare container; do
        platform "$where"
        try doctor
        exits 0
        check 'five tools are not here' test "$(count '- not here' "$out")" -eq 5
        check 'each with what to do' test "$(count 'to do: ' "$out")" -eq 5
        prints 'ch05  on recorded evidence; for live runs it lacks gpu, nsys, nvcc'
        prints 'next     ./lab run ch01'
        check 'runs nothing' test -z "$err"
        if [[ $where == bare ]]; then
            prints 'nothing, to follow the course on recorded evidence'
            prints 'sudo apt-get install cuda-toolkit'
        else
            prints 'start the container with --gpus all'
            prints "use an image that has the toolkit: devel"
        fi
    done
    command='lab doctor, five times'
    local began=$EPOCHREALTIME i
    for i in 1 2 3 4 5; do "$lab" doctor >/dev/null; done
    check "takes under 100 ms where there is nothing to run, $i times" \
        test $(((${EPOCHREALTIME/./} - ${began/./}) / 5000)) -lt 100
    # A login node has nvidia-smi at times, and no GPU.
    printf '#!/bin/sh\nexit 0\n' >"$temporary/no_gpu/sbatch"
    chmod +x "$temporary/no_gpu/sbatch"
    on no_gpu
    platform bare
    try doctor
    exits 0
    prints "this is a cluster's login node (Slurm)"
    prints '- not here   gpu                this is a login node, which has no GPU to use'
    prints 'srun --gres=gpu:1 --pty ./lab doctor'
    prints '✓ works      nvcc               13.0, '
    rm "$temporary/no_gpu/sbatch"
}

as_json() {
    topic='--json'
    on whole
    platform container
    mode whole ncu denied
    try doctor --json
    exits 1
    local key
    for key in name state version path found reason remedy still_works; do
        check "each check has a $key" test "$(count "\"$key\": " "$out")" -ge 5
    done
    prints '"state": "broken"'
    prints '"reason": "it may not read the GPU'"'"'s counters (ERR_NVGPUCTRPERM)"'
    prints '"kind": "container"'
    says '$ ncu '
    mode whole ncu works
}

run_parts healthy missing driver compiler profiler profiler_of_another_package counters sanitizer noexec_folder \
    nothing_here as_json
