#!/usr/bin/env bash
# shellcheck disable=SC2016
# What the commands of `lab` print and return on a machine without a GPU:  lab_commands.sh LAB  (shell_checks.sh says
# how these tests work).
parts=(ch0{4_sanitizer,5_streams} README.md)
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

help_and_usage() {
    topic='help and usage'
    local name commands
    commands=$("$lab" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p')
    check 'lists the commands' test "$(wc -w <<<"$commands")" -ge 15
    for name in $commands; do
        try "$name" --no-such-option
        exits 2
        says "./lab $name --help"
        check "./lab help lists $name" contains "$(./lab help)" "  $name"
    done
    try
    exits 2
    try runn
    exits 2
    says 'did you mean run?'
    for name in run start check quiz hint; do
        try "$name"
        exits 2
        says "./lab $name needs a"
        says '  ch05  Is anything really concurrent?'
    done
    try run ch05 --live --recorded
    exits 2
}

names() {
    topic='names of chapters and exercises'
    local name
    for name in ch05 5 ch05_streams ch05/; do
        try run "$name" --recorded
        exits 0
    done
    for name in ch05/vector_add_pipeline ch05/1 5/1_vector_add_pipeline "$answer" "${answer%/answer.cu}"; do
        try hint "$name"
        exits 0
    done
    refused() { # words of lab, what it says
        # shellcheck disable=SC2086
        try $1
        exits 2
        says "$2"
    }
    refused 'run ch55' "there is no chapter 'ch55'; there are: ch04, ch05"
    refused 'check vector_add_pipeline' 'did you mean ch05/vector_add_pipeline?'
    refused 'start ch05/vector_ad_pipeline' 'did you mean vector_add_pipeline?'
    refused 'quiz ch05/1' "its questions are in its chapter's quiz: ./lab quiz ch05"
    refused 'analyze ch05/buggy' "./lab analyze $recorded/buggy.sqlite"
    refused 'nsys ./x' 'a .cu file or a program that is built'
    refused "run ${escape}[31mch05" 'ch05'
    check 'lets no escape code through' lacks "$err" "$escape"
}

front_door() {
    topic='./lab, copied'
    local alone=$temporary/alone
    mkdir "$alone"
    cp lab "$alone/"
    command="$alone/lab list"
    out=$("$alone/lab" list 2>"$temporary/err")
    status=$? err=$(<"$temporary/err")
    exits 2
    check 'one sentence' test "$err" = \
        "lab: there is no course around $alone/lab. Call the lab of your clone, or link to it: ln -s CLONE/lab"
}

list_and_report() {
    topic='list and report'
    local name
    try list
    exits 0
    for name in ch05 ch05/vector_add_pipeline 'not started' 'start with  ./lab run ch04'; do prints "$name"; done
    try report
    exits 0
    prints '0 of 6 passed'
    check 'looking makes no folder work' test ! -e work
}

run_recorded() {
    topic='run, recorded'
    local text name
    try run ch05 --recorded
    exits 0
    prints 'recorded · NVIDIA H200'
    while IFS= read -r text; do
        prints "$text"
    done < <(awk '/^\[/ { inside = $0 == "[[finding]]" } inside && /^says = / { print }' ch05_streams/case.toml |
        cut -d '"' -f 2)
    for text in 'buggy: ' 'fixed: ' 'stream 13' 'GPU idle' 'next     ch05_streams/README.md'; do prints "$text"; done
    prints_no '✗'
    check 'the picture is whole' contains "$(tail -n 1 build/figures/ch05_streams.svg)" '</svg>'
    for name in ch05_streams/exercises/*_*; do
        try run "ch05/${name##*/}" --recorded
        exits 0
        prints "next     ./lab start ch05/${name##*/[0-9]_}"
    done
    try run ch04 --recorded
    exits 0
    prints '========= Invalid __global__ read of size 4 bytes'
    prints 'fixed  memcheck, racecheck, initcheck, synccheck report nothing'
}

run_without_gpu() {
    topic='run, no GPU'
    local name
    try run ch05
    exits 0
    prints 'there is no NVIDIA GPU here, so this is recorded evidence'
    try run ch05 --live
    exits 77
    says './lab doctor'
    check 'shows no number' test -z "$out"
    for name in record verify 'nsys ch05/buggy' 'ncu ch05/buggy' 'sanitize ch05/fixed' 'nsys /bin/true'; do
        # shellcheck disable=SC2086
        try $name
        exits 77
        says 'no NVIDIA GPU'
    done
}

colour() {
    topic='colour'
    try run ch05 --recorded
    check 'is off where stdout is no terminal' lacks "$out$err" "$escape"
    if ! has_terminal; then
        skip 'no `script` to make a terminal with'
        return
    fi
    on_terminal() { out=$(script -qec "$* $lab run ch05 --recorded" /dev/null </dev/null); }
    command='lab run ch05 --recorded, on a terminal'
    on_terminal env
    check 'is on' contains "$out" "${escape}[32m"
    on_terminal env NO_COLOR=1
    check 'is off with NO_COLOR' lacks "$out" "$escape"
    on_terminal env TERM=dumb
    check 'is off on a dumb terminal' lacks "$out" "$escape"
}

analyze() {
    topic='analyze'
    local text
    try analyze "$recorded/fixed.sqlite"
    exits 0
    for text in 'recorded · NVIDIA H200' single_thread_sum 'host to device' cudaLaunchKernel; do prints "$text"; done
    try analyze "$recorded/fixed.sqlite" --range normalise
    exits 0
    prints "range 'normalise'"
    try analyze "$recorded/fixed.sqlite" --range normalize
    exits 2
    says "'warm-up', 'normalise'"
    try analyze ch04_sanitizer/evidence/h200/buggy.sqlite
    exits 0
    prints '========= Leaked 400 bytes'
    try analyze harness/tests/samples/nsys_2025.3_fixed.sqlite
    exits 0
    prints_no 'recorded ·'
    if try_without nsys analyze "$recorded/fixed.nsys-rep"; then
        exits 77
        says "exported already: ./lab analyze $recorded/fixed.sqlite"
    else
        skip 'nsys is here and cannot be hidden'
    fi
    on whole
    printf '%s' "$course/$recorded/fixed.sqlite" >"$temporary/own.nsys-rep"
    printf 'an old export that must not be read' >"$temporary/own.sqlite"
    try analyze "$temporary/own.nsys-rep"
    exits 0
    prints single_thread_sum
    says 'nsys export --type sqlite'
}

timeline() {
    topic='timeline'
    local name new=$temporary/new
    try timeline "$recorded/fixed.sqlite"
    exits 0
    prints 'stream 16'
    mkdir "$new"
    try timeline "$recorded/fixed.sqlite" --range normalise --svg "$new/a.svg" --chrome "$new/a.json"
    exits 0
    check 'the SVG is whole' contains "$(tail -n 1 "$new/a.svg")" '</svg>'
    check 'the trace is of the range' lacks "$(<"$new/a.json")" '"warm-up"'
    try timeline "$recorded/fixed.sqlite" --range normalise --from 2ms --to 5000us \
        --svg "$new/b.svg" --chrome "$new/b.json"
    exits 0
    check 'the SVG is of the part' grep -q '>fixed.sqlite, from 2 ms to 5 ms<' "$new/b.svg"
    check 'nothing is left beside them' test "$(find "$new" -type f | wc -l)" -eq 4
    try timeline "$recorded/fixed.sqlite" --svg "$temporary/not-there/a.svg"
    exits 2
    says "there is no folder $temporary/not-there"
    for name in '--from 5' '--to -5ms' '--from 1e99s' '--from 4ms --to 3ms' '--from 100s'; do
        # shellcheck disable=SC2086
        try timeline "$recorded/fixed.sqlite" $name
        exits 2
        check 'nothing is drawn' test -z "$out"
    done
}

docs() {
    topic='docs'
    local page=ch05_streams/planted.md text
    try docs
    exits 0
    printf '%s\n' '<!-- measured: pair -->' 'old numbers' '<!-- /measured -->' '<!-- diff: buggy.cu fixed.cu -->' \
        '<!-- /diff -->' '<!-- figure: pair fixed range=normalise file=planted.svg -->' '<!-- /figure -->' \
        'from 7<!--buggy.streams_used--> to 9.00<!--fixed.streams_used--> streams' >"$page"
    try docs --check
    exits 1
    prints "$page is not up to date"
    check 'check changes nothing' grep -q 'old numbers' "$page"
    try docs
    exits 0
    text=$(<"$page")
    check 'takes the old numbers out' lacks "$text" 'old numbers'
    check 'fills in the findings' contains "$text" 'streams that carry kernels'
    check 'shows what differs' contains "$text" '+++ fixed.cu'
    check 'draws the figure' contains "$text" '![Timeline of fixed, range normalise: '
    check 'puts numbers into the text' contains "$text" \
        'from 1<!--buggy.streams_used--> to 4.00<!--fixed.streams_used--> streams'
    is_file ch05_streams/planted.svg
    try docs --check
    exits 0
    printf 'one\n\n<!-- status: -->\nno end\n' >"$page"
    try docs --check
    exits 2
    says "$page:3: the block is not closed"
    printf 'first\n4<!--fixed.stream_used-->\n' >"$page"
    try docs --check
    exits 2
    says "$page:2: "
    says "no finding 'stream_used'; did you mean streams_used?"
}

draft() {
    topic='a draft'
    local folder=ch05_streams/exercises/7_draft
    cp -R ch05_streams/exercises/4_missing_event $folder
    rm -r $folder/evidence
    try verify --recorded
    exits 1
    sed -i '1i draft = true' $folder/case.toml
    try verify ch05 --recorded
    exits 77
    prints ' 0 failed, '
    prints 'is not recorded yet, as its case is a draft'
    try run ch05/draft
    exits 77
    says "no run of $folder/starter.cu is recorded"
}

run_parts help_and_usage names front_door list_and_report run_recorded run_without_gpu colour analyze timeline docs \
    draft
