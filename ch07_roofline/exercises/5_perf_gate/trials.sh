#!/usr/bin/env bash
# How often is `lab gate` wrong on this machine?  trials.sh [TRIALS [PAIRS]]
# Runs it TRIALS times (20) on a program beside itself, which should raise no alarm, and TRIALS times on the program
# beside one with 10 % more to do, which should; each time with PAIRS pairs of runs (9, of which one wild pair on either
# side does no harm). With 4 runs as a warm-up, a trial starts CUDA 22 times: a few minutes in all.
# Exits 1 for more than one alarm in twenty on A/A, or for fewer than 19 in twenty on A/B; 77 without a GPU.
set -euo pipefail
readonly trials=${1:-20} pairs=${2:-9}
cd "$(dirname -- "$(realpath -- "$0")")/../../.."
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT

# The time that it prints is proportional to the steps.
mapfile -t flags <common/nvcc.flags
nvcc "${flags[@]}" -arch=native ch05_streams/exercises/5_ferries/starter.cu -o "$folder/work"
for program in a:10000 same:10000 slow:11000; do
    printf '#!/bin/sh\nexec %q --steps %s\n' "$folder/work" "${program#*:}" >"$folder/${program%%:*}"
    chmod +x "$folder/${program%%:*}"
done

# Runs the gate on A and another program; sets `slower`, the number of trials in which it said so.
count_alarms() { # what to call it, the other program
    local trial verdict said status
    declare -A verdicts=()
    for ((trial = 1; trial <= trials; ++trial)); do
        status=0
        said=$(./lab gate "$folder/a" "$folder/$2" --pairs "$pairs" --figure 'ferries: ([0-9.]+) ms' --json \
            2>"$folder/errors") || status=$?
        if [[ $said != *'"verdict"'* ]]; then
            cat "$folder/errors" >&2
            exit "$status"
        fi
        verdict=$(sed -n 's/.*"verdict": "\([^"]*\)".*/\1/p' <<<"$said")
        verdicts[$verdict]=$((${verdicts[$verdict]:-0} + 1))
    done
    slower=${verdicts[slower]:-0}
    printf '%s, %d trials of %d pairs: %d slower, %d faster, %d no difference seen, %d inconclusive\n' "$1" "$trials" \
        "$pairs" "$slower" "${verdicts[faster]:-0}" "${verdicts[no difference seen]:-0}" "${verdicts[inconclusive]:-0}"
}

count_alarms 'A/A' same
alarms=$slower
count_alarms 'A/B, B 10 % slower' slow
((20 * alarms <= trials && 20 * slower >= 19 * trials))
