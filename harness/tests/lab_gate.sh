#!/usr/bin/env bash
# shellcheck disable=SC2016
# `lab gate` on programs that print planted figures:  lab_gate.sh LAB  (shell_checks.sh says how these tests work).
parts=(ch05_streams/chapter.toml)
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

programs=$temporary/programs
mkdir "$programs"

# Makes a program of a line of shell, in which `run` counts its runs from 1.
program() { # name, line
    printf '#!/bin/sh\nrun=$(($(cat "$0.runs" 2>/dev/null || echo 0) + 1)); echo $run >"$0.runs"\n%s\n' "$2" \
        >"$programs/$1"
    chmod +x "$programs/$1"
}

gate() { try gate "$programs/$1" "$programs/$2" --figure 'kernel ([0-9.]+) ms' "${@:3}"; }

# Programs that print a time which scatters by 1 % or so, the same each time they are made.
for timed in base:40000 same:40000 slow:44000 quick:36000; do
    program "${timed%:*}" "us=\$((${timed#*:} + run * run * 7919 % 1009)); echo device 0; \
printf 'kernel %d.%03d ms\n' \$((us / 1000)) \$((us % 1000))"
done
program wild 'if [ $((run % 2)) -eq 0 ]; then echo kernel 32 ms; else echo kernel 48 ms; fi'

verdicts() {
    topic='gate, verdicts'
    gate base slow
    exits 1
    prints '✗ slower  at a threshold of 5 %'
    prints 'B / A  1.09'
    says "\$ $programs/slow"
    gate base same
    exits 0
    prints '✓ no difference seen'
    gate base quick
    exits 0
    prints '✓ faster'
    gate base wild
    exits 1
    prints '? inconclusive'
    gate base slow --threshold 30 --pairs 6
    exits 0
    prints '6 pairs'
    gate base slow --json
    exits 1
    prints '"verdict": "slower"'
    program here 'echo "kernel $#.5 ms" >&2; [ "$2" = "two words" ]'
    gate here here --pairs 6 -- --size 'two words'
    exits 0
    prints '2.5'
    says "\$ $programs/here --size 'two words'"
}

refusals() {
    topic='gate, what it refuses'
    refused() { # exit code, what it says, then the programs
        gate "${@:3}"
        exits "$1"
        says "$2"
        check 'shows no number' test -z "$out"
    }
    program wrong 'echo "kernel 3 ms"; echo "sum: expected 5, found 4" >&2; exit 1'
    refused 2 "B ($programs/wrong) failed: exit code 1. Nothing is compared." base wrong
    program at_times 'echo "kernel 3 ms"; [ $run -ne 9 ]'
    refused 2 "A ($programs/at_times) failed" at_times base
    program no_gpu 'echo "no CUDA device"; exit 77'
    refused 77 'no CUDA device' base no_gpu
    program mute 'echo nothing'
    refused 2 "nothing in the output of B ($programs/mute) matches 'kernel ([0-9.]+) ms'" base mute
    refused 2 'is no program that can be started' base missing
    refused 2 'Value 5 not in range 6 to 1000' base same --pairs=5
    expect 2 gate "$programs/base" "$programs/same" --figure '([0-9.]+ ms'
    says 'is no regular expression'
}

run_parts verdicts refusals
