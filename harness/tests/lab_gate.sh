#!/usr/bin/env bash
# shellcheck disable=SC2016
# `lab gate` on programs whose figures are planted:  lab_gate.sh LAB  (shell_checks.sh says how these tests work).
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

programs=$temporary/programs
mkdir "$programs"

# Makes a program of the lines of stdin. `run` counts its runs from 1.
program() { # name
    {
        printf '#!/bin/sh\ncounter=%q\n' "$programs/$1.runs"
        echo 'run=$(($(cat "$counter" 2>/dev/null || echo 0) + 1)); echo $run >"$counter"'
        cat
    } >"$programs/$1"
    chmod +x "$programs/$1"
}

# Makes a program that prints a time: a base, and a scatter that looks random but is the same each time it is made.
timed() { # name, µs, scatter in per mille either way
    rm -f "$programs/$1.runs"
    program "$1" <<END
noise=\$((run * run * 7919 % 1009 % (2 * $3 + 1) - $3))
us=\$(($2 + $2 * noise / 1000))
printf 'device 0\nkernel %d.%03d ms\n' \$((us / 1000)) \$((us % 1000))
END
}
timed base 40000 10
timed same 40000 12
timed slow 44000 12
timed quick 36000 12
program wild <<<'if [ $((run % 2)) -eq 0 ]; then echo kernel 32 ms; else echo kernel 48 ms; fi'
readonly kernel=('--figure' 'kernel ([0-9.]+) ms' --seed 7)

gate() { try gate "$programs/$1" "$programs/$2" "${kernel[@]}" "${@:3}"; }

verdicts() {
    topic='gate, verdicts'
    gate base slow
    exits 1
    prints '✗ slower  B takes '
    prints 'B / A  1.0989'
    prints '95.7 % confidence'
    prints '30 pairs · order by --seed 7'
    says "\$ $programs/base"
    says "\$ $programs/slow"
    gate base same
    exits 0
    prints '✓ no difference seen'
    prints 'within 5 %'
    gate base quick
    exits 0
    prints '✓ faster'
    gate base wild
    exits 1
    prints '? inconclusive'
    prints 'next     --pairs '
    gate base slow --threshold 30%
    exits 0
    prints '✓ no difference seen'
    gate base slow --threshold 0.3 --pairs 6
    exits 0
    prints '6 pairs'
    check 'every program is run, warm-up included' test "$(<"$programs/quick.runs")" -eq 32
}

wall_time() {
    topic='gate, wall time'
    program short <<<'sleep 0.02'
    program long <<<'sleep 0.4'
    try gate "$programs/short" "$programs/long" --pairs 6
    exits 1
    prints '✗ slower'
    prints 'wall time of the process'
    prints ' ms'
    check 'a drawn seed is printed' grep -q -- '--seed [0-9]' <<<"$out"
    try gate "$programs/long" "$programs/short" --pairs 6
    exits 0
    prints '✓ faster'
}

json() {
    topic='gate --json'
    local first
    gate base slow --json
    exits 1
    prints '"verdict": "slower"'
    prints '"seed": 7'
    prints '"unit": null'
    check 'every pair is there' test "$(count '"first":' "$out")" -eq 30
    check 'in both orders' test "$(count '"first": "B"' "$out")" -ge 5
    first=$(grep first <<<"$out")
    gate base slow --json
    check 'the seed gives the same order again' test "$(grep first <<<"$out")" == "$first"
    gate base slow --json --seed 8
    check 'another gives another' test "$(grep first <<<"$out")" != "$first"
    gate base same --json
    exits 0
    prints '"verdict": "no difference seen"'
    gate base wild --json
    exits 1
    prints '"verdict": "inconclusive"'
}

arguments() {
    topic='gate, arguments and names'
    program echoing <<<'echo "kernel $#.5 ms of $2"; [ "$2" = "two words" ]'
    gate echoing echoing --pairs 6 -- --size 'two words'
    exits 0
    prints '2.5'
    says "--size 'two words'"
    cp "$programs/echoing" here
    try gate here here --pairs 6 -- --size 'two words'
    says '$ ./here'
    rm here
    try gate true true --pairs 6
    says '$ true'
    check 'PATH is looked in' test "$status" -le 1
    program loud <<<'echo "kernel 3 ms" >&2'
    gate loud loud --pairs 6
    exits 0
}

failures() {
    topic='gate, programs that fail'
    refused() { # exit code, what it says, then the programs
        gate "${@:3}"
        exits "$1"
        says "$2"
        check 'shows no number' test -z "$out"
    }
    program wrong <<<'echo "kernel 3 ms"; echo "sum: expected 5, found 4" >&2; exit 1'
    refused 2 "B ($programs/wrong) failed: exit code 1, \"sum: expected 5, found 4\"" base wrong
    refused 2 "A ($programs/wrong) failed" wrong base
    program at_times <<<'echo "kernel 3 ms"; [ $run -ne 9 ]'
    refused 2 "B ($programs/at_times) failed: exit code 1" base at_times
    check 'it ends with the run that failed' test "$(<"$programs/at_times.runs")" -eq 9
    program crashing <<<'kill -SEGV $$'
    refused 2 'failed: killed by signal 11' base crashing
    program no_gpu <<<'echo "no CUDA device"; exit 77'
    refused 77 'could not run here: exit code 77, "no CUDA device"' base no_gpu
    program mute <<<'echo "kernel done"'
    refused 2 "nothing in the output of B ($programs/mute) matches 'kernel ([0-9.]+) ms'" base mute
    program zero <<<'echo "kernel 0.00 ms"'
    refused 2 'only figures above 0 can be compared' base zero
    program dotted <<<'echo "kernel 1.2.3 ms"'
    refused 2 "'1.2.3'" base dotted
    program escaping <<<'printf "\033[31mred\007"; exit 4'
    refused 2 'red' base escaping
    check 'lets no escape code through' lacks "$err" "$escape"
    refused 2 'there is no program' base missing
    : >"$programs/no_program"
    refused 2 'no program that can be started' base no_program
    refused 2 'there is no program' base ''
}

options() {
    topic='gate, options'
    local bad
    for bad in 5 0 -3 ten 6.5 1e2 100000; do
        gate base same --pairs="$bad"
        exits 2
        says "--pairs $bad: give a whole number from 6"
    done
    for bad in 5 0 0% 5%% -5% % abc nan inf 101%; do
        gate base same --threshold="$bad"
        exits 2
        says "--threshold $bad: give a share"
    done
    for bad in 1.5 x -1 99999999999999999999; do
        try gate "$programs/base" "$programs/same" --seed="$bad"
        exits 2
        says "--seed $bad: give a whole number"
    done
    try gate "$programs/base" "$programs/same" --figure 'kernel ([0-9.]+ ms'
    exits 2
    says 'is no regular expression'
    try gate "$programs/base" "$programs/same" --figure 'kernel [0-9.]+ ms'
    exits 2
    says 'has no group'
    try gate "$programs/base" "$programs/same" --figure 'kernel (\d+) ms'
    exits 2
    says 'write [0-9]'
    try gate "$programs/base"
    exits 2
    says 'B is required'
}

run_parts verdicts wall_time json arguments failures options
