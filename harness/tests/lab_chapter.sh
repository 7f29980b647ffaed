#!/usr/bin/env bash
# shellcheck disable=SC2016
# A whole chapter, from the first look to what the instructor sees, with every command of lab:  lab_chapter.sh LAB. CI
# runs it a second time on a lab that is built with sanitizers. The tools are faked (shell_checks.sh says how these
# tests work).
parts=(ch05_streams README.md)
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

walk() {
    topic='looking around'
    step 0 help check
    step 0 list --json
    step 0 run ch05 --recorded
    step 0 run ch05 --recorded --json
    step 0 analyze "$recorded/buggy.sqlite"
    step 0 analyze "$recorded/fixed.sqlite" --range normalise --json
    step 0 timeline "$recorded/fixed.sqlite"
    step 0 timeline "$recorded/buggy.sqlite" --svg "$temporary/a.svg" --chrome "$temporary/a.json"
    step 2 run ch55
    step 2 analyze no_such_file.sqlite
    on nothing
    step 0 doctor

    topic='the exercises'
    on whole
    step 0 run ch05
    step 0 nsys ch05/fixed
    step 0 ncu ch05/fixed
    step 0 sanitize ch05/fixed --tool racecheck
    local folder name
    for folder in ch05_streams/exercises/*_*; do
        name=ch05/${folder##*/[0-9]_}
        step 0 start "$name"
        step 1 check "$name"
        step 0 hint "$name"
        cp "$folder/solution.cu" "work/ch05_streams/${folder##*/}/answer.cu"
        step 0 check "$name"
    done
    step 0 reset ch05/1
    cp "$exercise/solution.cu" "$answer"
    step 0 watch ch05/1

    topic='the quiz, and what is handed in'
    step 1 quiz ch05
    printf 'streams_with_kernels = 9\nhost_blocks = 1 %%\n' >"$temporary/answers"
    step 2 quiz ch05 --answers "$temporary/answers"
    printf 'streams_with_kernels = 9\nhidden_copies = 1 %%\n' >"$temporary/answers"
    step 1 quiz ch05 --answers "$temporary/answers" --json
    step 0 report
    prints '6 of 6 passed'
    mkdir "$temporary/handed-in"
    step 0 report --json --name 'One of the class'
    printf '%s' "$out" >"$temporary/handed-in/one.json"
    head -c 300 "$temporary/handed-in/one.json" >"$temporary/handed-in/cut.json"
    step 0 class "$temporary/handed-in" --csv
    says 'cut.json is not counted'

    topic='for maintainers'
    step 0 record ch05/1
    step 0 record --stale
    step 0 verify ch05
    step 0 docs
    step 0 docs --check
    printf '#!/bin/sh\necho 5 ms\n' >"$temporary/program"
    chmod +x "$temporary/program"
    step 0 gate "$temporary/program" "$temporary/program" --figure '([0-9]+) ms' --pairs 6 --json
}

run_parts walk
