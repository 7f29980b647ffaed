#!/usr/bin/env bash
# shellcheck disable=SC2016
# Input that cannot be used, and a full disk:  lab_bad_input.sh LAB  (shell_checks.sh says how these tests work).
parts=(ch05_streams docs/verification.json)
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"
keep_one_exercise

bad_reports() {
    topic='bad reports'
    local bad=$temporary/bad.sqlite sample=harness/tests/samples/nsys_2025.3_fixed.sqlite verb size
    refused() { # what it says; for every command that takes a report
        for verb in analyze timeline; do
            expect 2 "$verb" "$bad"
            says "$1"
            check 'it is no mistake of lab' lacks "$err" 'mistake in lab'
        done
        expect 2 compare "$sample" "$bad"
        says "$1"
    }
    # Names of the same length keep the database whole, if none lies across two of its pages.
    altered() { sed "$1" "$sample" >"$bad"; }
    for size in 100 20000; do
        head -c "$size" "$recorded/fixed.sqlite" >"$bad"
        refused "$bad"
    done
    echo 'no database' >"$bad"
    refused 'is not an SQLite file'
    head -c 3000 harness/tests/samples/kineto_made.json >"$bad"
    refused 'is cut short: its JSON ends at byte'
    gzip -c harness/tests/samples/kineto_made.json | head -c 900 >"$bad"
    refused 'is cut short: its gzip data end at byte'
    echo '{"schemaVersion": 1}' >"$bad"
    refused 'is JSON, but no trace'
    expect 2 ncu-details harness/tests/samples/kineto_made.json
    says 'kineto_made.json holds no sections of ncu'
    rm "$bad"
    refused 'there is no file'
    altered 's/StringIds/StringIdz/g'
    refused 'no export of nsys (it has no table StringIds)'
    altered 's/correlationId/correlationIx/g'
    refused 'has no column correlationId'
    altered "s/single_thread_sum/${escape}[31m${escape}]0;x\x07ngle_s/g; s/normalise/${escape}[5malise/g"
    for verb in analyze timeline; do
        expect 0 "$verb" "$bad"
        check 'lets no escape code through' lacks "$out$err" "$escape"
    done
    expect 0 compare "$sample" "$bad"
    check 'lets no escape code through' lacks "$out$err" "$escape"
}

# A mistake in a case's files is an error with the file, the line and what is wrong.
bad_cases() {
    topic='bad cases'
    local toml=$exercise/case.toml patch=$exercise/wrong/lost_tail.patch copy=$temporary/exercise
    cp -R "$exercise" "$copy"
    refused() { # file, what else the error says
        try verify --recorded
        check 'fails' test "$status" -eq 1 -o "$status" -eq 2
        check "says '$1:LINE: ... $2'" grep -Eq "$1:[0-9]+: .*$2" <<<"$out$err"
        rm -r "$exercise"
        cp -R "$copy" "$exercise"
    }
    try verify --recorded
    check 'nothing fails yet' test "$status" -eq 0 -o "$status" -eq 77 # with drafts
    sed -i 's/^minutes = .*/&\nminuets = 20/' "$toml"
    refused "$toml" minuets
    sed -i '0,/FROM kernels/s//FROM kernels WHERE steam = 1/' "$toml"
    refused "$toml" 'no such column: steam'
    sed -i 's/^range = "pipeline"/range = "pipelin"/' "$toml"
    refused "$toml" "no NVTX range 'pipelin'"
    sed -i 's/^starter_fails = \["streams_used"/starter_fails = ["stream_used"/' "$toml"
    refused "$toml" stream_used
    sed -i 's/^fails: answer/fails: anwser/' "$patch"
    refused "$patch" anwser
    sed -i 's/^--- solution/--- starter/' "$patch"
    refused "$patch" 'does not apply'
    rm "$exercise"/wrong/*.patch
    refused "$toml" 'wrong answers'
    cp -R "$exercise" ch05_streams/exercises/1_another
    refused 'ch05_streams/exercises/1_[a-z_]*/case.toml' '1_(another|vector_add_pipeline)'
}

bad_evidence() {
    topic='stale and damaged evidence'
    local source=ch05_streams/fixed.cu kept=$temporary/kept.sqlite
    cp "$source" "$temporary/fixed.cu"
    printf '\n// a comment, and    room\n' >>"$source"
    expect 0 run ch05
    echo 'constexpr int kNewlyAdded = 1;' >>"$source"
    expect 0 run ch05 --recorded
    prints 'stale: the program has changed since'
    try quiz ch05
    prints 'stale: the program has changed since'
    expect 77 verify --recorded
    prints "$recorded/fixed.sqlite is stale"
    CI=true expect 1 verify --recorded
    cp "$temporary/fixed.cu" "$source"
    cp "$recorded/fixed.sqlite" "$kept"
    head -c 20000 "$kept" >"$recorded/fixed.sqlite"
    expect 2 run ch05
    says "$recorded/fixed.sqlite"
    rm "$recorded/fixed.sqlite"
    expect 77 run ch05
    says './lab record'
}

# Pictures replace files, and nothing else: as root, a device would be lost.
outputs() {
    topic='where pictures go'
    local mine=$temporary/mine.sqlite sample=harness/tests/samples/nsys_2025.3_fixed.sqlite option
    cp "$sample" "$mine"
    ln -s mine.sqlite "$temporary/link"
    for option in --svg --html --chrome; do
        expect 2 timeline "$mine" "$option" "$temporary/link"
        says 'are one file'
        check 'the report is as it was' cmp -s "$sample" "$mine"
    done
    expect 2 timeline "$mine" --svg "$temporary/both" --chrome "$temporary/both"
    says 'are one file'
    expect 2 timeline "$sample" "$mine" --html "$mine"
    says 'are one file'
    expect 0 timeline "$mine" --svg /dev/stdout
    check 'prints the picture, and nothing else' test "${out:0:4} ${out: -6}" = '<svg </svg>'
    command='lab timeline --chrome to a pipe'
    catch "$BASH" -c '"$1" timeline "$2" --chrome >(cat)' "$BASH" "$lab" "$mine"
    exits 0
    check 'the pipe gets the trace' contains "$out" traceEvents
    mkfifo "$temporary/pipe"
    expect 2 analyze "$temporary/pipe"
    says 'a device or a pipe'
    echo more >"$mine-wal"
    expect 0 analyze "$mine"
    says 'are left out'
    mv "$mine" "$temporary/${escape}[31m.sqlite"
    for option in analyze timeline; do
        expect 0 "$option" "$temporary/${escape}[31m.sqlite"
        check 'lets no escape code through' lacks "$out$err" "$escape"
        expect 2 "$option" "$temporary/${escape}[31m.none"
        check 'lets no escape code through' lacks "$out$err" "$escape"
    done
}

full_disk() {
    topic='a full disk'
    local to words
    for to in '>/dev/full' '>&-'; do
        if [[ $to == '>/dev/full' && ! -e /dev/full ]]; then continue; fi
        for words in list 'list --json' 'report --json --name Ada' "analyze $recorded/fixed.sqlite --json"; do
            command="lab $words $to"
            catch "$BASH" -c "\"\$1\" $words $to" "$BASH" "$lab"
            exits 1
            says 'could not be written'
        done
    done
    command='lab list, without any stream'
    catch "$BASH" -c '"$1" list <&- >&- 2>&-' "$BASH" "$lab"
    exits 1
    if ! can_mount; then
        skip 'mounting a small file system is not allowed here'
        return
    fi
    # 64 KiB for evidence that is larger.
    command='lab record ch05/1, onto a full disk'
    mkdir -p "$temporary/whole/runs"
    cp -R --parents "$exercise" "$temporary/whole/runs"
    on whole
    catch with_own_mounts "$BASH" -c '
        mount -t tmpfs -o size=64k none "$2" && echo old >"$2/solution.sqlite" || exit 99
        dd if=/dev/zero of="$2/filler" 2>/dev/null
        "$1" record ch05/1
        status=$?
        [[ $(ls -R "$2") == *:?answers?filler?solution.sqlite*/answers: && $(<"$2/solution.sqlite") == old ]] || exit 98
        exit $status' "$BASH" "$lab" "$exercise/evidence/h200"
    exits 1
    check 'says why the evidence was not recorded' grep -q 'solution.sqlite.*No space left on device' <<<"$err"
}

run_parts bad_reports bad_cases bad_evidence outputs full_disk
