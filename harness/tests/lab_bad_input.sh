#!/usr/bin/env bash
# shellcheck disable=SC2016
# Input that cannot be used, two `lab` at once, and a disk that is full:  lab_bad_input.sh LAB  (shell_checks.sh says
# how these tests work).
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

bad_reports() {
    topic='bad reports'
    local bad=$temporary/bad.sqlite of=$recorded/fixed.sqlite sample=harness/tests/samples/nsys_2025.3_fixed.sqlite verb size
    refused() { # exit code, what it says; for every command that takes a report
        for verb in analyze timeline; do
            try "$verb" "$bad"
            exits "$1"
            says "$2"
            check 'it is no mistake of lab' lacks "$err" 'mistake in lab'
        done
    }
    # Names of the same length keep the database whole, if none lies across two of its pages.
    altered() { sed "$1" "$sample" >"$bad"; }
    size=$(stat -c %s "$of")
    for size in 100 1024 $((size / 2)) $((size - 1)); do
        head -c "$size" "$of" >"$bad"
        refused 2 "$bad"
    done
    echo 'no database' >"$bad"
    refused 2 'is not an SQLite file'
    : >"$bad"
    refused 2 'is empty'
    rm "$bad"
    refused 2 'there is no file'
    mkdir "$bad"
    refused 2 'is not a file'
    rmdir "$bad"
    altered 's/StringIds/StringIdz/g'
    refused 2 'no export of nsys'
    altered 's/KIND_KERNEL/KIND_KERNEX/g; s/KIND_RUNTIME/KIND_RUNTIMX/g'
    refused 2 'holds nothing of CUDA'
    altered 's/correlationId/correlationIx/g'
    refused 2 'has no column correlationId'
    altered 's/ENUM_NSYS_EVENT_TYPE/ENUM_NSYS_EVENT_TYPO/g'
    refused 2 'ENUM_NSYS_EVENT_TYPE is missing'

    altered 's/KIND_MEMCPY/KIND_MEMCPX/g; s/NVTX_EVENTS/NVTX_EVENTZ/g'
    try analyze "$bad"
    exits 0
    prints single_thread_sum
    prints_no 'host to device  pinned'
    try analyze "$bad" --range normalise
    exits 2
    says 'it has none at all'
    altered "s/single_thread_sum/${escape}[31m${escape}]0;x\x07ngle_s/g; s/normalise/${escape}[5malise/g"
    for verb in analyze timeline 'analyze --json' 'analyze --range nothing'; do
        # shellcheck disable=SC2086
        try $verb "$bad"
        check 'lets no escape code through' lacks "$out$err" "$escape"
        check 'lets no bell through' lacks "$out$err" $'\a'
    done
    try timeline "$bad" --svg "$temporary/escape.svg" --chrome "$temporary/escape.json"
    exits 0
    check 'puts no escape code into files' test "$(cat "$temporary"/escape.* | grep -c "$escape")" -eq 0
}

bad_evidence() {
    topic='stale and damaged evidence'
    local source=ch05_streams/fixed.cu kept=$temporary/kept
    cp "$source" "$kept"
    printf '\n// a comment, and    room\n' >>"$source"
    try run ch05
    exits 0
    echo 'constexpr int kNewlyAdded = 1;' >>"$source"
    for name in 'run ch05' 'run ch05 --recorded' 'quiz ch05'; do
        # shellcheck disable=SC2086
        try $name
        exits 1
        says "$recorded/fixed.sqlite is stale"
        says './lab record --stale'
    done
    cp "$kept" "$source"
    cp "$recorded/fixed.sqlite" "$kept"
    head -c 20000 "$kept" >"$recorded/fixed.sqlite"
    try run ch05
    exits 2
    says "$recorded/fixed.sqlite"
    rm "$recorded/fixed.sqlite"
    try run ch05
    exits 77
    says './lab record'
    cp "$kept" "$recorded/fixed.sqlite"
    try run ch05
    exits 0
}

full_disk() {
    topic='a full disk'
    if [[ -e /dev/full ]]; then
        command='lab list >/dev/full'
        "$lab" list >/dev/full 2>"$temporary/err"
        status=$?
        out='' err=$(<"$temporary/err")
        exits 1
        says 'could not be written'
    fi
    if ! can_mount; then
        skip 'mounting a small file system is not allowed here'
        return
    fi
    # 64 KiB for a picture of an old one, and for evidence that is larger.
    command='lab timeline --svg and lab record, onto a full disk'
    mkdir -p "$temporary/whole/runs/ch05_streams"
    cp -R ch05_streams/evidence "$temporary/whole/runs/ch05_streams/"
    rm -rf build
    PATH=$temporary/whole:$PATH with_own_mounts "$BASH" -c '
        lab=$1 here=$2 old=$3
        mkdir "$here" && mount -t tmpfs -o size=64k none "$here" || exit 99
        echo old >"$here/a.svg"
        "$lab" timeline ch05_streams/evidence/h200/fixed.sqlite --svg "$here/a.svg" || exit 98
        echo old >"$here/a.svg"
        dd if=/dev/zero of="$here/filler" 2>/dev/null
        "$lab" timeline ch05_streams/evidence/h200/fixed.sqlite --svg "$here/a.svg" && exit 97
        [[ $(<"$here/a.svg") == old ]] || exit 96
        [[ $(ls "$here") == a.svg$'"'\n'"'filler ]] || exit 95
        rm "$here/filler"
        mount --bind "$here" "$old" && echo old >"$old/fixed.sqlite" || exit 94
        "$lab" record ch05 --stale && exit 93
        [[ $(<"$old/fixed.sqlite") == old ]] || exit 92
        [[ $(ls "$old") != *.part* ]] || exit 91
        exit 0' "$BASH" "$lab" "$temporary/small" "$recorded" >"$temporary/out" 2>"$temporary/err"
    status=$?
    out=$(<"$temporary/out") err=$(<"$temporary/err")
    exits 0
    says 'a.svg'
    check 'says why the evidence was not recorded' grep -q 'fixed.sqlite.*No space left on device' <<<"$err"
    rm -rf "$temporary/whole/runs" build
}

two_at_once() {
    topic='two lab at once'
    on whole
    mode whole nvcc slow
    rm -rf build "$temporary/whole/nvcc.count"
    "$lab" run ch05 --live --json </dev/null >"$temporary/first" 2>"$temporary/first.err" &
    local first=$!
    try run ch05 --live --json
    exits 0
    wait "$first"
    status=$?
    out=$(<"$temporary/first") err=$(<"$temporary/first.err")
    exits 0
    check 'each program is built once' test "$(wc -l <"$temporary/whole/nvcc.count")" -eq 2
    mode whole nvcc works
    on no_gpu
}

run_parts bad_reports bad_evidence full_disk two_at_once
