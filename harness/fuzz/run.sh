#!/usr/bin/env bash
# run.sh BUILD SECONDS [TARGET ...]: runs the fuzzers of a build with clang (cmake --preset sanitize), each for SECONDS,
# two at once where there are two cores. They start from the corpus and from the samples of the tests. What is new goes
# to BUILD/fuzz/TARGET, an input that breaks a reader to BUILD/fuzz/TARGET-broken/, and then this fails and names it.
# LAB_FUZZ_SEED=N tries the same inputs as any other run with that N, as far as both get; without it, each run tries
# others.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.."
build=${1:?usage: run.sh BUILD SECONDS [TARGET ...]} seconds=${2:?usage: run.sh BUILD SECONDS [TARGET ...]}
shift 2
targets=("$@")
if ((${#targets[@]} == 0)); then
    targets=(nsys_file nsys_tables kineto_trace ncu_csv ncu_pages sanitizer_output core_dump learner_report)
fi

run_one() { # target
    local target=$1 longest=8192 found=$build/fuzz/$1 broken=$build/fuzz/$1-broken log=$build/fuzz/$1.log
    local seeds=("harness/fuzz/corpus/$target") dictionary=()
    mkdir -p "$found" "$broken"
    case $target in
        nsys_file) longest=110000 seeds+=(harness/tests/samples) ;;
        nsys_tables) longest=4096 ;;
        kineto_trace) seeds+=(harness/tests/samples) ;;
        ncu_csv | ncu_pages | sanitizer_output) longest=16384 seeds+=(harness/tests/samples) ;;
    esac
    if [[ -e harness/fuzz/dictionaries/$target.dict ]]; then
        dictionary=("-dict=harness/fuzz/dictionaries/$target.dict")
    fi
    # A reader takes no second for an input this small, and no gigabyte. Where memory came from is told in two frames,
    # which makes a third more executions.
    local fuzzer=("$build/bin/fuzz_$target" -max_total_time="$seconds" -max_len="$longest" -timeout=10 -rss_limit_mb=1024
        -seed="${LAB_FUZZ_SEED:-0}" -print_final_stats=1 -artifact_prefix="$broken/" "${dictionary[@]}" "$found"
        "${seeds[@]}")
    if ! ASAN_OPTIONS=malloc_context_size=2 UBSAN_OPTIONS=print_stacktrace=1 "${fuzzer[@]}" >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "$target: an input breaks the reader. Again: $build/bin/fuzz_$target $broken/FILE"
        return 1
    fi
    printf '%-17s %s executions, coverage %s edges, slowest unit %s s\n' "$target" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
        "$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | cut -d' ' -f2)" \
        "$(sed -n 's/^stat::slowest_unit_time_sec: *//p' "$log")"
}

mkdir -p "$build/fuzz"
failed=0 running=0
for target in "${targets[@]}"; do
    run_one "$target" &
    running=$((running + 1))
    if ((running >= $(nproc))); then
        wait -n || failed=1
        running=$((running - 1))
    fi
done
while ((running > 0)); do
    wait -n || failed=1
    running=$((running - 1))
done
exit "$failed"
