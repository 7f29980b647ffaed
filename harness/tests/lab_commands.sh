#!/usr/bin/env bash
# shellcheck disable=SC2016
# What the commands of `lab` print and return on a machine without a GPU:  lab_commands.sh LAB  (shell_checks.sh says
# how these tests work).
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

help_and_usage() {
    topic='help and usage'
    local name commands
    try --help
    exits 0
    commands=$(sed -n 's/^  \([a-z]\+\) .*/\1/p' <<<"$out")
    check 'lists the commands' test "$(wc -l <<<"$commands")" -ge 15
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
    says "did you mean run?"
    try qqqqqqqq
    exits 2
    says "there is no command 'qqqqqqqq'. "
    for name in run start check quiz hint; do
        try "$name"
        exits 2
        says "./lab $name needs a"
        says '  ch05  Is anything really concurrent?'
        says './lab list names their exercises'
    done
    try analyze
    exits 2
    says 'FILE is required'
    try run ch05 --live --recorded
    exits 2
    try sanitize ch05/fixed --tool nocheck
    exits 2
    says 'racecheck'
    try list surplus
    exits 2
    says 'surplus'
}

names() {
    topic='names of chapters and exercises'
    local name
    for name in ch05 5 05 ch05_streams; do
        try run "$name" --recorded
        exits 0
    done
    for name in ch05/vector_add_pipeline ch05/1 5/1_vector_add_pipeline "$answer" "${answer%/answer.cu}"; do
        try hint "$name"
        exits 0
    done
    for name in 'run ch55' 'quiz ch55' 'start ch55/1'; do
        # shellcheck disable=SC2086
        try $name
        exits 2
        says 'did you mean ch05?'
    done
    for name in ch99 ch077; do # two digits from any there is, or too many
        try run "$name"
        exits 2
        says "there is no chapter '$name'; there are: ch01"
    done
    for name in 'check vector_add_pipeline' 'start vector_add_pipelin' 'nsys vector_add_pipeline/starter'; do
        # shellcheck disable=SC2086
        try $name
        exits 2
        says 'did you mean ch05/vector_add_pipeline?'
    done
    for name in ch05/vector_add_pipeline ch05/1 vector_add_pipeline; do
        try quiz "$name"
        exits 2
        says "ch05/vector_add_pipeline is an exercise; its questions are in its chapter's quiz: ./lab quiz ch05"
    done
    try quiz vector_add_pipelin
    exits 2
    says 'did you mean ch05/vector_add_pipeline?'
    try quiz ch05/ # as a shell completes a folder
    exits 1
    prints 'streams_with_kernels'
    for name in ./x ../x build/x /nonexist/x ch05_streams.txt; do
        mkdir -p build
        try nsys "$name"
        exits 2
        says "$name"
        says 'a .cu file or a program that is built'
    done
    try sanitize README.md
    exits 2
    says 'README.md is no program'
    for name in run start reset hint check watch; do
        try "$name" ch05/vector_ad_pipeline
        exits 2
        says 'did you mean vector_add_pipeline?'
    done
    try start ch05
    exits 2
    says 'ch05/vector_add_pipeline'
    try run ch05/buggy
    exits 2
    says './lab run ch05 shows it beside fixed'
    try analyze ch05/buggy
    exits 2
    says "./lab analyze $recorded/buggy.sqlite"
    try gate ch05/buggy ch05/fixed
    exits 2
    says 'build/programs/ch05_streams/fixed'
    cd ch05_streams || exit 2
    try timeline "$recorded/buggy.sqlite"
    exits 2
    says 'from here it is evidence/h200/buggy.sqlite'
    cd "$course" || exit 2
    try analyze "$recorded/none.sqlite"
    exits 2
    check 'is no draft' lacks "$err" draft
    try run "${escape}[31mch05"
    exits 2
    check 'lets no escape code through' lacks "$err" "$escape"
    rm -rf work
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
    says "lab: there is no course around $alone/lab. Call the lab of your clone, or link to it: ln -s CLONE/lab"
    check 'and no more' test "$(wc -l <<<"$err")" -eq 1
}

list_and_report() {
    topic='list and report'
    local name
    try list
    exits 0
    for name in ch05 ch05/vector_add_pipeline ch05/more_is_not_faster 'not started'; do prints "$name"; done
    prints 'start with  ./lab run ch01'
    try list --names
    exits 0
    for name in ch05 ch05/missing_event; do check "$name is a line" grep -qx "$name" <<<"$out"; done
    try report
    exits 0
    prints '0 of 6 passed'
    prints 'more_is_not_faster'
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
    done < <(awk '/^\[\[/ { inside = $0 == "[[finding]]" } inside && /^says = / { print }' ch05_streams/chapter.toml |
        cut -d '"' -f 2)
    for text in 'buggy: ' 'fixed: ' 'stream 13' 'GPU idle' 'next     ch05_streams/README.md'; do prints "$text"; done
    check 'every finding has its verdict' test "$(count '✓ pass' "$out")" -ge 6
    prints_no '✗'
    is_file build/figures/ch05_streams.svg
    check 'the picture is whole' contains "$(tail -n 1 build/figures/ch05_streams.svg)" '</svg>'
    for name in ch05_streams/exercises/*_*; do
        try run "ch05/${name##*/}" --recorded
        exits 0
        prints 'starter: '
        prints 'solution: '
        prints "next     ./lab start ch05/${name##*/[0-9]_}"
    done
}

run_shows_what_tools_said() {
    topic='run, what the tools said'
    local name
    try run ch04 --recorded
    exits 0
    prints 'memcheck says 2 times:'
    prints '========= Invalid __global__ read of size 4 bytes'
    prints 'in buggy.cu:22'
    prints '… and 2 more that differ: API cudaErrorLaunchFailure, Leak'
    prints 'fixed  memcheck, racecheck, initcheck, synccheck report nothing'
    prints 'no finding is about time; ./lab timeline ch04_sanitizer/evidence/h200/buggy.sqlite draws it'
    prints_no 'GPU idle'
    prints_no 'picture '
    try run ch04 --recorded --json
    check 'JSON has the reports' test "$(grep -c '"tool": "memcheck"' <<<"$out")" -eq 3
    try run ch04/leak --recorded
    prints 'Host Frame: answer_request(Request const&)'
    prints 'GPU idle' # two of its findings ask nsys
    try run ch03 --recorded
    prints 'report   ch03_ncu/evidence/h200/buggy.ncu-rep  (ncu-ui opens it)'
    prints 'report   ch03_ncu/evidence/h200/fixed.nsys-rep  (nsys-ui opens it)'
    prints './lab analyze ch03_ncu/evidence/h200/buggy.sqlite  (every counter of ncu)'
    prints 'GPU idle'
    try run ch03/strided_access --recorded
    prints_no 'GPU idle'
    prints_no 'check report'
    for name in ch05 ch01/silent_failure; do
        try run "$name" --recorded
        prints_no 'check report'
        prints_no 'further  ./lab'
    done
}

run_without_gpu() {
    topic='run, no GPU'
    try run ch05
    exits 0
    prints 'there is no NVIDIA GPU here, so this is recorded evidence'
    try run ch05 --live
    exits 77
    says 'no NVIDIA GPU'
    says './lab doctor'
    check 'shows no number' test -z "$out"
    cp /bin/true "$temporary/built"
    try nsys "$temporary/built"
    exits 77
    says 'no NVIDIA GPU'
    try verify
    says './lab doctor says what to do'
    check 'has no recording of a program of your own' lacks "$err" 'lab analyze'
    for name in record verify 'nsys ch05/buggy' 'ncu ch05/buggy' 'sanitize ch05/fixed'; do
        # shellcheck disable=SC2086
        try $name
        exits 77
        says 'no NVIDIA GPU'
    done
    says "./lab analyze $recorded/fixed.sqlite"
    try nsys ch01/silent_failure/starter
    exits 77
    says './lab analyze ch01_tools/evidence/h200/silent_failure.starter.sqlite'
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
    prints 'recorded · NVIDIA H200'
    for text in 'span, first GPU work' 'idle: nothing runs' single_thread_sum 'host to device' cudaLaunchKernel; do
        prints "$text"
    done
    prints 'the program by itself ended with exit code 0'
    prints_no 'counter of ncu'
    try analyze ch02_nsys/evidence/h200/one_thread_sum.solution.sqlite --range sum
    exits 0
    check 'shows launch sizes' grep -Eq '^  sum_of_partials +1 +256 +50 ' <<<"$out"
    try analyze ch06_graphs/evidence/h200/graph_cache.solution.sqlite --range serve
    exits 0
    check 'splits kernels of one name by launch size' grep -Eq '^  layer +[0-9]+ sizes +3072 ' <<<"$out"
    check 'with their dimensions' grep -Eq '^ +32 x 16 +256 +1536 ' <<<"$out"
    try analyze ch06_graphs/evidence/h200/graph_cache.starter.sqlite --range serve
    exits 0
    prints '  20 more sizes; --json shows all'
    try analyze ch01_tools/evidence/h200/silent_failure.starter.sqlite --range interest
    exits 0
    prints 'cudaLaunchKernel returned 1 once'
    try analyze "$recorded/fixed.sqlite" --range normalise
    exits 0
    prints "range 'normalise'"
    prints_no 'returned'
    prints 'the host spent'
    prints_no 'exit code'
    try analyze ch03_ncu/evidence/h200/strided_access.starter.sqlite
    exits 0
    prints 'launch 1  to_fahrenheit'
    check 'a row for each counter' test "$(count ' sector' "$out")" -eq 6
    check 'with its value' grep -q ' l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum  *4000037 sector$' <<<"$out"
    prints 'docs/metrics.md'
    try analyze ch03_ncu/evidence/h200/strided_access.starter.sqlite --range convert
    prints 'it is shown without --range'
    prints_no 'counter of ncu'
    try analyze ch04_sanitizer/evidence/h200/buggy.sqlite
    exits 0
    prints '========= Leaked 400 bytes'
    prints 'racecheck, initcheck, synccheck report nothing'
    try analyze ch07_roofline/evidence/h200/ceilings.sqlite
    exits 0
    prints 'no trace of nsys'
    prints 'launch 2  triad_all'
    try timeline ch07_roofline/evidence/h200/ceilings.sqlite
    exits 2
    says './lab analyze ch07_roofline/evidence/h200/ceilings.sqlite'
    try analyze ch03_ncu/evidence/h200/buggy.ncu-rep
    exits 2
    says 'ncu --import ch03_ncu/evidence/h200/buggy.ncu-rep --page details'
    try analyze "$recorded/fixed.sqlite" --range normalize
    exits 2
    says "'warm-up', 'normalise'"
    try analyze harness/tests/samples/nsys_2025.3_fixed.sqlite
    exits 0
    prints_no 'recorded ·'
    if try_without nsys analyze "$recorded/fixed.nsys-rep"; then
        exits 77
        says "exported already: ./lab analyze $recorded/fixed.sqlite"
        cp "$recorded/fixed.nsys-rep" "$temporary/alone.nsys-rep"
        try_without nsys timeline "$temporary/alone.nsys-rep"
        exits 77
        says 'nsys, which is not here'
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
    on no_gpu
}

timeline() {
    topic='timeline'
    local name option
    try timeline "$recorded/fixed.sqlite"
    exits 0
    prints 'stream 16'
    mkdir "$temporary/new"
    try timeline "$recorded/fixed.sqlite" --range normalise \
        --svg "$temporary/new/a.svg" --chrome "$temporary/new/a.json"
    exits 0
    prints "$temporary/new/a.svg"
    check 'the SVG is whole' contains "$(tail -n 1 "$temporary/new/a.svg")" '</svg>'
    check 'the trace is whole' contains "$(tail -c 4 "$temporary/new/a.json")" '}'
    check 'the trace is of the range' lacks "$(<"$temporary/new/a.json")" '"warm-up"'
    try timeline "$recorded/fixed.sqlite" --chrome "$temporary/new/b.json"
    check 'the whole trace has every range' contains "$(<"$temporary/new/b.json")" '"warm-up"'
    check 'nothing is left beside them' test "$(find "$temporary/new" -type f | wc -l)" -eq 3
    for name in /dev/null/a.svg "$temporary/not-there/a.svg"; do
        for option in --svg --chrome; do
            try timeline "$recorded/fixed.sqlite" "$option" "$name"
            exits 2
            says "there is no folder ${name%/*}"
        done
    done
    check 'no folder is made' test ! -e "$temporary/not-there"

    try timeline "$recorded/fixed.sqlite" --range normalise --from 2ms --to 5000us
    exits 0
    prints 'fixed.sqlite, from 2 ms to 5 ms: 3 ms'
    prints '2 ms'
    try timeline "$recorded/fixed.sqlite" --range normalise --from 2ms --to 5ms \
        --svg "$temporary/new/part.svg" --chrome "$temporary/new/part.json"
    exits 0
    check 'the SVG is of the part' grep -q '>fixed.sqlite, from 2 ms to 5 ms<' "$temporary/new/part.svg"
    check 'the trace is of the part' test "$(grep -c '"cat":"kernel"' "$temporary/new/part.json")" -lt \
        "$(grep -c '"cat":"kernel"' "$temporary/new/a.json")"
    check 'and not empty' grep -q '"cat":"copy"' "$temporary/new/part.json"
    for name in '--from 5' '--from 5min' '--to -5ms' '--from ms' '--to nans' '--from 1e99s' '--from 3ms --to 3ms' \
        '--from 4ms --to 3ms' '--from 1h' '--from 100s'; do
        # shellcheck disable=SC2086
        try timeline "$recorded/fixed.sqlite" $name
        exits 2
        check 'nothing is drawn' test -z "$out"
        check 'says what is wrong' grep -Eq 'give a time from 0 on|there is no time|the whole picture is' <<<"$err"
    done
}

docs() {
    topic='docs'
    local page=ch05_streams/planted.md text
    printf '# Planted\n\n<!-- measured: pair -->\nold numbers\n<!-- /measured -->\n' >"$page"
    printf '\n<!-- diff: buggy.cu fixed.cu -->\n<!-- /diff -->\n<!-- chapters: -->\n<!-- /chapters -->\n' >>"$page"
    try docs --check
    exits 1
    prints "$page is not up to date"
    check 'check changes nothing' grep -q 'old numbers' "$page"
    try docs
    exits 0
    prints "$page written"
    text=$(<"$page")
    check 'fills in the findings' contains "$text" 'streams that carry kernels'
    check 'says where they are from' contains "$text" 'recorded · NVIDIA H200'
    check 'shows what differs' contains "$text" '+++ fixed.cu'
    check 'shows a chapter small' contains "$text" '<img src="timeline.svg" width="220"'
    check 'or in words of the sanitizer' contains "$text" '`Invalid __global__ read of size 4 bytes`'
    check 'takes the old numbers out' lacks "$text" 'old numbers'
    try docs --check
    exits 0
    sed -i 's/404/405/' "$page"
    try docs --check
    exits 1
    prints "$page"
    printf 'one\n\n<!-- status: -->\nno end\n' >"$page"
    try docs --check
    exits 2
    says "$page:3: the block is not closed"
    printf '<!-- measured: exercise no_such -->\n<!-- /measured -->\n' >"$page"
    try docs
    exits 2
    says "$page"
    rm "$page"
}

quotes() {
    topic='numbers in the text'
    local page=ch05_streams/planted.md elsewhere=docs/planted.md
    # As recorded, the kernels of buggy are in 1 stream, and those of fixed in 4.
    printf '%s\n' 'from 7<!--buggy.streams_used--> to 9.00<!--fixed.streams_used--> streams' \
        '| 1<!--5*(buggy.streams_used+fixed.streams_used)/2-->, 0,000.0<!--fixed.streams_used*250000--> |' \
        'not `1<!--buggy.no_such-->`, nor <!-- a comment -->' '```' '1<!--buggy.no_such-->' '```' \
        '9<!--priority.solution.answer-->, 9<!--ch07.ceilings.tensor_how[1]-->' >"$page"
    printf '9<!--ch05.fixed.streams_used-->' >"$elsewhere"
    try docs --check
    exits 1
    prints "$page is not up to date"
    prints "$elsewhere is not up to date"
    try docs
    exits 0
    check 'the page has what was measured' diff "$page" - <<'EXPECTED'
from 1<!--buggy.streams_used--> to 4.00<!--fixed.streams_used--> streams
| 12<!--5*(buggy.streams_used+fixed.streams_used)/2-->, 1,000,000.0<!--fixed.streams_used*250000--> |
not `1<!--buggy.no_such-->`, nor <!-- a comment -->
```
1<!--buggy.no_such-->
```
0<!--priority.solution.answer-->, 8192<!--ch07.ceilings.tensor_how[1]-->
EXPECTED
    check 'a page beside the chapters, too' test "$(<"$elsewhere")" = '4<!--ch05.fixed.streams_used-->'
    rm "$elsewhere"
    printf 'first\n4<!--fixed.stream_used-->\n' >"$page"
    try docs --check
    exits 2
    says "$page:2: ch05_streams/fixed.cu has no finding 'stream_used'; did you mean streams_used?"
    rm "$page"
}

drafts() {
    topic='a draft'
    local page=ch09_draft/README.md
    cp README.md docs/verification.md "$temporary/"
    cp -R ch05_streams ch09_draft
    rm -r ch09_draft/evidence ch09_draft/*.svg
    sed -i '1i draft = true' ch09_draft/chapter.toml
    on nothing
    try list
    exits 0
    prints 'a draft: needs a GPU'
    prints "start with  ./lab run $(printf '%s\n' ch*/ | grep -v draft | head -n 1 | cut -d _ -f 1)"
    on no_gpu
    try doctor
    prints 'ch09  a draft, not recorded yet; for live runs it lacks'
    try run ch09
    exits 77
    says 'no run of ch09_draft/buggy.cu is recorded'
    try quiz ch09
    exits 77
    prints '13 of 13 questions are about runs that nobody has recorded yet'
    prints './lab run ch09/missing_event'
    try analyze ch09_draft/evidence/h200/fixed.sqlite
    exits 2
    says 'A chapter that is a draft has not been recorded yet'
    try check ch09/1
    exits 2
    try docs
    exits 0
    check 'its numbers are said to be missing' contains "$(<"$page")" 'Not recorded on a GPU yet'
    check 'and none are made up' lacks "$(<"$page")" 'recorded · NVIDIA'
    check 'the table of chapters says so' contains "$(<README.md)" '(a draft)'
    try docs --check
    exits 0
    sed -i 1d ch09_draft/chapter.toml
    try docs --check
    check 'what is no draft needs its evidence' test "$status" -ne 0
    rm -r ch09_draft
    mv "$temporary/README.md" .
    mv "$temporary/verification.md" docs/
}

figures() {
    topic='figures'
    local page=ch05_streams/planted.md
    figure() { printf '<!-- figure: %s -->\n<!-- /figure -->\n' "$1" >>"$page"; }
    figure 'pair fixed range=normalise file=planted.svg'
    figure 'exercise priority'
    try docs
    exits 0
    check 'one program, zoomed' contains "$(<"$page")" '![Timeline of fixed, range normalise: '
    check 'shows the ranges on the GPU' grep -q 'NVTX on the GPU' ch05_streams/planted.svg
    is_file ch05_streams/exercises/5_priority/timeline.svg
    check 'two programs on one scale do not' sh -c '! grep -q "NVTX on the GPU" ch05_streams/timeline.svg'
    figure 'pair buggy file=planted.svg'
    try docs
    exits 2
    says 'a second figure is drawn into planted.svg'
    : >"$page"
    figure 'pair fixed zoom=5'
    try docs
    exits 2
    says "'zoom=5' says nothing about a figure"
    : >"$page"
    figure 'pair fixed range=nowhere'
    try docs
    exits 2
    says "no NVTX range 'nowhere'"
    rm "$page" ch05_streams/planted.svg ch05_streams/exercises/5_priority/timeline.svg
}

run_parts help_and_usage names front_door list_and_report run_recorded run_shows_what_tools_said run_without_gpu colour analyze \
    timeline docs quotes drafts figures
