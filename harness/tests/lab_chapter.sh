#!/usr/bin/env bash
# shellcheck disable=SC2016
# A whole chapter, from the first look to what the instructor sees, with every command of lab:  lab_chapter.sh LAB. CI
# runs it a second time on a lab that is built with sanitizers. The tools are faked (shell_checks.sh says how these
# tests work).
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=print_stacktrace=1

# A command of the walk: the exit code that it should end with, then its words.
step() {
    try "${@:2}"
    exits "$1"
    check 'no sanitizer complains' lacks "$err" 'Sanitizer'
    check 'nothing undefined' lacks "$err" 'runtime error'
}

look() {
    topic='looking around'
    step 0 help
    step 0 help check
    step 0 list
    step 0 list --json
    step 0 list --names
    step 0 run ch05 --recorded
    step 0 run ch05 --recorded --json
    step 0 analyze "$recorded/buggy.sqlite"
    step 0 analyze "$recorded/fixed.sqlite" --range normalise --json
    step 0 timeline "$recorded/fixed.sqlite"
    step 0 timeline "$recorded/buggy.sqlite" --svg "$temporary/a.svg" --chrome "$temporary/a.json"
    step 0 docs --check
    step 2 run ch55
    step 2 analyze no_such_file.sqlite
    on nothing
    step 0 doctor
    on no_gpu
}

exercises() {
    topic='the exercises'
    on whole
    step 0 run ch05
    step 0 nsys ch05/fixed
    step 0 ncu ch05/fixed
    step 0 sanitize ch05/fixed --tool racecheck
    local folder name to
    for folder in ch05_streams/exercises/*_*; do
        name=${folder##*/[0-9]_} to=work/ch05_streams/${folder##*/}/answer.cu
        step 0 start "ch05/$name"
        step 1 check "ch05/$name"
        step 0 hint "ch05/$name"
        cp "$folder/solution.cu" "$to"
        step 0 check "ch05/$name"
    done
    step 0 reset ch05/1
    cp "$exercise/solution.cu" "$answer"
    step 0 watch ch05/1
    on no_gpu
}

afterwards() {
    topic='the quiz, and what is handed in'
    local answers=$temporary/answers handed_in=$temporary/handed-in
    mkdir "$handed_in"
    step 1 quiz ch05
    printf 'streams_with_kernels = 9\nhost_blocks = 1 %%\n' >"$answers"
    step 2 quiz ch05 --answers "$answers"
    printf 'streams_with_kernels = 9\nhidden_copies = 1 %%\n' >"$answers"
    step 1 quiz ch05 --answers "$answers" --json
    step 0 report
    prints '6 of 6 passed'
    step 0 report --json --name 'One of the class'
    printf '%s' "$out" >"$handed_in/one.json"
    head -c 300 "$handed_in/one.json" >"$handed_in/cut.json"
    step 0 class "$handed_in"
    says 'cut.json is not counted'
    step 0 class "$handed_in" --csv
}

maintainers() {
    topic='for maintainers'
    on whole
    step 0 record ch05/1
    step 0 record --stale
    step 0 verify ch05
    printf '#!/bin/sh\necho 5 ms\n' >"$temporary/program"
    chmod +x "$temporary/program"
    step 0 gate "$temporary/program" "$temporary/program" --figure '([0-9]+) ms' --pairs 6 --json
    on no_gpu
}

run_parts look exercises afterwards maintainers
