#!/usr/bin/env bash
# What every command of `lab` prints and returns, on good and bad input:  lab_commands.sh LAB, in the repository's root.
# It works in a copy of the course. Machines are faked (fake_tools/README.md), so it runs the same with a GPU and CUDA
# or without; what cannot be faked here is skipped with a sentence. Exits 1 if a check fails.
# shellcheck disable=SC2016
set -u
if (($# != 1)) || [[ ! -x $1 || ! -d harness/tests/fake_tools ]]; then
    echo "usage: $0 LAB, the built program, in the repository's root" >&2
    exit 2
fi
lab=$(realpath -- "$1")
temporary=$(mktemp -d) || exit 2
trap 'rm -rf -- "$temporary"' EXIT
course=$temporary/course
mkdir "$course"
cp -R lab common harness docs README.md ch*/ "$course" || exit 2
chmod -R u+w "$course"
cd "$course" || exit 2
unset NO_COLOR LAB_WATCH CDPATH
export TERM=xterm-256color LC_ALL=C.UTF-8
readonly plain_path=/usr/bin:/bin escape=$'\e'
readonly recorded=ch05_streams/evidence/h200
readonly exercise=ch05_streams/exercises/1_vector_add_pipeline answer=work/ch05_streams/1_vector_add_pipeline/answer.cu
passed=0 failed=0 skipped=0 topic='' command='' status=0 out='' err=''

# ---- what a check is

# Runs lab. Leaves `status`, `out`, `err`, and `command` for messages.
try() {
    command="lab $*"
    timeout 60 "$lab" "$@" </dev/null >"$temporary/out" 2>"$temporary/err"
    status=$?
    out=$(<"$temporary/out") err=$(<"$temporary/err")
}

check() { # what should be, then a command that succeeds if it is so
    if "${@:2}"; then
        ((++passed))
        return
    fi
    ((++failed))
    printf 'FAILED  %s: `%s`: %s\n' "$topic" "$command" "$1"
    printf '        exit code %s\n        stdout: %s\n        stderr: %s\n' "$status" \
        "$(head -c 600 <<<"${out//"$escape"/<ESC>}")" "$(tail -c 600 <<<"${err//"$escape"/<ESC>}")"
}
skip() { # sentence
    ((++skipped))
    printf 'skipped %s: %s\n' "$topic" "$1"
}

contains() { [[ $1 == *"$2"* ]]; }
lacks() { [[ $1 != *"$2"* ]]; }
exits() { check "exit code $1" test "$status" -eq "$1"; }
prints() { check "prints '$1'" contains "$out" "$1"; }
prints_no() { check "does not print '$1'" lacks "$out" "$1"; }
says() { check "says '$1' on stderr" contains "$err" "$1"; }
is_file() { check "there is a file $1" test -f "$1"; }
count() { # text, lines of a text that contain it
    grep -cF -- "$1" <<<"$2"
}

# Waits until a command succeeds, for a generous while.
eventually() {
    local i
    for ((i = 0; i < 400; ++i)); do
        if "$@" 2>/dev/null; then return; fi
        sleep 0.05
    done
    return 1
}

# ---- machines

# Makes a folder of fake tools; `on` puts it in front of PATH, and nothing of this machine's own CUDA behind it.
machine() { # name, tools; TOOL=MODE sets how a tool behaves
    local tool
    mkdir -p "$temporary/$1"
    for tool in "${@:2}"; do
        cp "harness/tests/fake_tools/${tool%%=*}" "$temporary/$1/"
        if [[ $tool == *=* ]]; then echo "${tool#*=}" >"$temporary/$1/${tool%%=*}.mode"; fi
    done
}
on() { PATH=$temporary/$1:$plain_path; }
mode() { # machine, tool, mode, or `works`
    if [[ $3 == works ]]; then rm -f "$temporary/$1/$2.mode"; else echo "$3" >"$temporary/$1/$2.mode"; fi
}

# Runs a command with file systems of its own, which it may mount over.
with_own_mounts() {
    local own=(unshare --mount)
    if ((EUID != 0)); then own=(unshare --map-root-user --mount); fi
    "${own[@]}" "$@"
}
can_mount() {
    mkdir -p "$temporary/mount"
    with_own_mounts mount -t tmpfs none "$temporary/mount" 2>/dev/null
}

# As `try`, but the tools that PATH does not have are not found either: lab also looks where NVIDIA's packages put
# them, so these folders are covered. False, and nothing is run, where that cannot be done.
try_without() { # tools, comma-separated; then the words of lab
    local places=() place tool
    for tool in ${1//,/ }; do
        if command -v "$tool" >/dev/null; then return 1; fi
    done
    for place in /usr/local/cuda* /opt/nvidia; do
        if [[ -d $place && ! -L $place ]]; then places+=("$place"); fi
    done
    shift
    if ((${#places[@]} == 0)); then
        try "$@"
        return 0
    fi
    if ! can_mount; then return 1; fi
    command="lab $*"
    timeout 60 "$BASH" -c "$(declare -f with_own_mounts); with_own_mounts \"\$@\"" "$BASH" "$BASH" -c '
        while [[ $1 != -- ]]; do mount -t tmpfs none "$1" || exit 99; shift; done
        shift; exec "$@"' "$BASH" "${places[@]}" -- "$lab" "$@" \
        </dev/null >"$temporary/out" 2>"$temporary/err"
    status=$?
    out=$(<"$temporary/out") err=$(<"$temporary/err")
}

# ---- wrong usage, names

help_and_usage() {
    topic='help and usage'
    local name commands
    try --help
    exits 0
    commands=$(sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p' <<<"$out")
    check 'lists the commands' test "$(wc -l <<<"$commands")" -ge 15
    for name in $commands; do
        try "$name" --help
        exits 0
        prints "$name"
        try "$name" --no-such-option
        exits 2
        says "./lab $name --help"
        check "./lab help explains $name" contains "$(./lab help)" "  $name"
    done
    try
    exits 2
    try runn
    exits 2
    says "did you mean run?"
    try qqqqqqqq
    exits 2
    says "there is no command 'qqqqqqqq'. "
    try run
    exits 2
    says 'NAME is required'
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
    for name in ch05/vector_add_pipeline ch05/1 5/1_vector_add_pipeline; do
        try hint "$name"
        exits 0
    done
    for name in 'run ch55' 'quiz ch55' 'start ch55/1'; do
        # shellcheck disable=SC2086
        try $name
        exits 2
        says 'did you mean ch05?'
    done
    for name in run start reset hint check watch; do
        try "$name" ch05/vector_ad_pipeline
        exits 2
        says 'did you mean vector_add_pipeline?'
    done
    try start ch05
    exits 2
    says 'ch05/vector_add_pipeline'
    try run "${escape}[31mch05"
    exits 2
    check 'lets no escape code through' lacks "$err" "$escape"
    rm -rf work
}

list_and_report() {
    topic='list and report'
    local name
    try list
    exits 0
    for name in ch05 ch05/vector_add_pipeline ch05/more_is_not_faster 'not started'; do prints "$name"; done
    try report
    exits 0
    prints '0 of 6 passed'
    prints 'more_is_not_faster'
    check 'looking makes no folder work' test ! -e work
}

# ---- recorded evidence

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
    for name in record verify 'nsys ch05/buggy' 'ncu ch05/buggy' 'sanitize ch05/fixed'; do
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
    if ! command -v script >/dev/null; then
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
    for text in 'span, first GPU work to last' 'idle: nothing runs' single_thread_sum 'host to device' cudaLaunchKernel; do
        prints "$text"
    done
    try analyze "$recorded/fixed.sqlite" --range normalise
    exits 0
    prints "range 'normalise'"
    prints 'the host spent'
    try analyze "$recorded/fixed.sqlite" --range normalize
    exits 2
    says "'normalise', 'warm-up'"
    try analyze harness/tests/samples/nsys_2025.3_fixed.sqlite
    exits 0
    prints_no 'recorded ·'
    if try_without nsys analyze "$recorded/fixed.nsys-rep"; then
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
    try timeline "$recorded/fixed.sqlite"
    exits 0
    prints 'stream 16'
    try timeline "$recorded/fixed.sqlite" --range normalise --svg "$temporary/new/a.svg" --chrome "$temporary/new/a.json"
    exits 0
    prints "$temporary/new/a.svg"
    check 'the SVG is whole' contains "$(tail -n 1 "$temporary/new/a.svg")" '</svg>'
    check 'the trace is whole' contains "$(tail -c 4 "$temporary/new/a.json")" '}'
    check 'the trace is of the range' lacks "$(<"$temporary/new/a.json")" '"warm-up"'
    try timeline "$recorded/fixed.sqlite" --chrome "$temporary/new/b.json"
    check 'the whole trace has every range' contains "$(<"$temporary/new/b.json")" '"warm-up"'
    check 'nothing is left beside them' test "$(find "$temporary/new" -type f | wc -l)" -eq 3
    try timeline "$recorded/fixed.sqlite" --svg /dev/null/a.svg
    check 'a place that cannot be written to fails' test "$status" -ne 0
    says /dev/null/a.svg
}

docs() {
    topic='docs'
    local page=ch05_streams/planted.md text
    try docs --check
    exits 0
    printf '# Planted\n\n<!-- measured: pair -->\nold numbers\n<!-- /measured -->\n\n<!-- diff: buggy.cu fixed.cu -->\n%s\n' \
        '<!-- /diff -->' >"$page"
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
    check 'takes the old numbers out' lacks "$text" 'old numbers'
    try docs --check
    exits 0
    sed -i 's/404/405/' "$page"
    try docs --check
    exits 1
    prints "$page"
    printf 'one\n\n<!-- output: lab list -->\nno end\n' >"$page"
    try docs --check
    exits 2
    says "$page:3: the block is not closed"
    printf '<!-- measured: exercise no_such -->\n<!-- /measured -->\n' >"$page"
    try docs
    exits 2
    says "$page"
    rm "$page"
}

# ---- the learner's way through an exercise

start_without_gpu() {
    topic='start, reset, hint, check, no GPU'
    local i
    try check ch05/1
    exits 2
    says './lab start ch05/vector_add_pipeline'
    try start ch05/1
    exits 0
    prints "edit   $answer"
    prints "read   $exercise/README.md"
    is_file "$answer"
    check 'the build line names the copy' grep -q '^// build: .* answer.cu -o answer' "$answer"
    check 'the rest is the starter' test "$(grep -v '^// \(build\|look\):' "$answer")" = \
        "$(grep -v '^// \(build\|look\):' "$exercise/starter.cu")"
    echo '// mine' >>"$answer"
    try start ch05/1
    exits 0
    prints './lab reset'
    check 'a second start keeps the answer' grep -q '^// mine' "$answer"
    try reset ch05/1
    exits 0
    prints "$answer.1"
    check 'reset keeps the answer beside it' grep -q '^// mine' "$answer.1"
    check 'reset puts the starter back' test "$(grep -c '^// mine' "$answer")" -eq 0
    echo '// mine, too' >>"$answer"
    try reset ch05/1
    check 'a second reset keeps the first answer' grep -q '^// mine$' "$answer.1"
    is_file "$answer.2"
    for i in 1 2 3; do
        try hint ch05/1
        exits 0
        prints "hint $i of 3"
    done
    prints "$exercise/solution.cu"
    try hint ch05/1
    prints 'hint 3 of 3'
    try report
    prints 'vector_add_pipeline  started'

    try check ch05/1
    exits 77
    prints 'it compiles'
    prints 'It was not run: there is no NVIDIA GPU here'
    prints 'streams that carry work: >= 2'
    prints './lab quiz ch05 works here'
    prints_no 'passed'
    echo '#error not finished' >>"$answer"
    try check ch05/1
    exits 1
    prints 'does not compile'
    prints 'error: #error directive'
    prints 'not yet'
    on no_nvcc
    if try_without nvcc check ch05/1; then
        exits 77
        prints 'not compiled'
        prints 'nvcc, the CUDA compiler, is not here'
    else
        skip 'nvcc is here and cannot be hidden'
    fi
    on no_gpu
    rm -rf work
}

# An answer's text as the pages of `lab` show it, so that no number stands here.
quiz() {
    topic='quiz'
    local streams kernel waits hidden answers=$temporary/answers
    local hidden_look='Set the Memory row above the Kernels row'
    try quiz ch05
    prints '13 unanswered'
    prints 'recorded · NVIDIA H200'
    prints '--answers'
    try analyze "$recorded/buggy.sqlite" --range normalise
    streams=$(awk '/^  stream /{ inside = 1 } /^  CUDA call/{ inside = 0 } inside && $2 > 0 && $1 + 0 > 0' <<<"$out" | wc -l)
    kernel=$(awk '/^  kernel /{ getline; getline; print $1 }' <<<"$out")
    kernel=$(awk -v kernel="$kernel" '/id = "dominant_kernel"/{ inside = 1 }
        inside && /^choices/ { split($0, name, "\""); for (i = 2; name[i] != kernel; i += 2); print i / 2; exit }' \
        ch05_streams/chapter.toml)
    try analyze "$recorded/fixed.sqlite" --range normalise
    waits=$(awk '/Synchronize/{ sum += $2 } END { print sum }' <<<"$out")
    try run ch05 --recorded
    hidden=$(awk '/copy-up time hidden/{ print $7 }' <<<"$out")
    printf '# mine\nstreams_with_kernels = %s streams\n\ndominant_kernel = %s  # by letter\nhost_blocks=%s\nhidden_copies = %s\n' \
        "$streams" "$(tr 123 abc <<<"$kernel")" "$waits" "$hidden" >"$answers"
    try quiz ch05 --answers "$answers"
    exits 1
    prints '4 right, 0 wrong, 9 unanswered'
    try report
    prints '4 of 13'

    printf 'streams_with_kernels = 9\ndominant_kernel = %s\nhidden_copies = 0.01\n' \
        "$(tr 123 cab <<<"$kernel")" >"$answers"
    try quiz ch05 --answers "$answers"
    exits 1
    prints '0 right, 3 wrong, 10 unanswered'
    prints "$hidden_look"
    prints_no "${hidden%??}"
    try report
    prints '1 of 13'
    on_quiz_line() {
        printf '\n%s\n' "$1" >"$answers"
        try quiz ch05 --answers "$answers"
        exits 2
        says "$answers:2"
        check 'grades nothing of such a file' test -z "$out"
    }
    on_quiz_line 'no equals sign'
    on_quiz_line 'no_such_question = 4'
    says 'streams_with_kernels'
    on_quiz_line 'streams_with_kernels = four'
    on_quiz_line 'streams_with_kernels = 4 potatoes'
    on_quiz_line 'streams_with_kernels ='
    on_quiz_line 'dominant_kernel = z'
    on_quiz_line 'dominant_kernel = 9'
    try quiz ch05 --answers "$temporary/no_such_file"
    exits 2
    says no_such_file
    if command -v script >/dev/null; then
        command='lab quiz ch05, typed'
        out=$(printf '9\n%s\n\n' "$streams" | timeout 60 script -qec "$lab quiz ch05" /dev/null)
        check 'a wrong answer says where to look, then asks again' contains "$out" 'Open the CUDA HW row'
        check 'and takes the right one' contains "$out" 'right'
        check 'counts it as right' contains "$out" '1 right, 0 wrong'
    fi
    rm -rf work
}

progress() {
    topic='progress'
    mkdir -p work
    local id=ch05_streams/vector_add_pipeline
    printf '2026-01-01T00:00:02Z passed %s\n2026-01-01T00:00:03Z pass' "$id" >work/progress.txt
    try report
    exits 0
    prints 'vector_add_pipeline  passed'
    try hint ch05/2
    exits 0
    try report
    prints 'vector_add_pipeline  passed'
    check 'the cut line costs itself alone' contains "$out" '1 of 6 passed'
    check 'the next line is whole' grep -q '^2026-01-01T00:00:03Z pass$' work/progress.txt
    check 'a hint is noted' test "$(grep -c ' hint ch05_streams/pageable_async$' work/progress.txt)" -eq 1

    printf '2026-01-01T00:00:09Z right ch05_streams:host_blocks\n2026-01-01T00:00:01Z started ch05_streams/priority\n' \
        >"$temporary/laptop"
    printf '2026-01-01T00:00:05Z wrong ch05_streams:host_blocks\n2026-01-01T00:00:06Z failed ch05_streams/priority\n' \
        >"$temporary/desktop"
    cat "$temporary/laptop" "$temporary/desktop" >work/progress.txt
    try report
    prints '1 of 13'
    prints 'priority             tried'
    printf '\0\377 garbage\n\n%s\n' "a b c d e f" >>work/progress.txt
    try report
    exits 0
    prints '1 of 13'
    rm -rf work
}

# ---- watch

watches() { # how often the answer was looked at so far
    [[ $(count 'save it to check again' "$(<"$temporary/watch")") -ge $1 ]]
}

watch_once() { # method
    timeout 60 "$lab" watch ch05/1 </dev/null >"$temporary/watch" 2>&1 &
    local watcher=$!
    command="lab watch ch05/1, by $1"
    check 'checks at once' eventually watches 1
    check 'names the method' contains "$(<"$temporary/watch")" "($1)"
    check 'makes the answer where there is none' test -f "$answer"
    echo '// saved' >>"$answer"
    check 'checks again on save' eventually watches 2
    { cat "$answer" && echo '// renamed over'; } >"$answer.new"
    mv "$answer.new" "$answer"
    check 'checks again where an editor renames' eventually watches 3
    echo '#error here' >>"$answer"
    check 'goes on after an answer that does not compile' eventually watches 4
    cp "$exercise/solution.cu" "$answer"
    wait "$watcher"
    status=$?
    out=$(<"$temporary/watch")
    check 'ends with 0 once the answer passes' test "$status" -eq 0
    prints "passed  $answer"
    check 'checked five times' test "$(count 'save it to check again' "$out")" -eq 4
    rm -rf work
}

watch() {
    topic='watch'
    on whole
    watch_once inotify
    export LAB_WATCH=polling
    watch_once polling
    unset LAB_WATCH
    on no_gpu
    timeout 60 "$lab" watch ch05/1 </dev/null >"$temporary/watch" 2>&1 &
    local watcher=$!
    command='lab watch ch05/1, no GPU'
    check 'goes on where nothing can be run' eventually watches 1
    kill "$watcher"
    wait "$watcher" 2>/dev/null
    check 'says what would be graded' contains "$(<"$temporary/watch")" 'streams that carry work: >= 2'
    rm -rf work
}

# ---- bad input

bad_reports() {
    topic='bad reports'
    local bad=$temporary/bad.sqlite of=$recorded/fixed.sqlite verb size
    refused() { # exit code, what it says; for every command that takes a report
        for verb in analyze timeline; do
            try "$verb" "$bad"
            exits "$1"
            says "$2"
            check 'it is no mistake of lab' lacks "$err" 'mistake in lab'
        done
    }
    # Names of the same length keep the database whole.
    altered() { sed "$1" "$of" >"$bad"; }
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
        exit 0' "$BASH" "$lab" "$temporary/small" "$recorded" >"$temporary/out" 2>"$temporary/err"
    status=$?
    out=$(<"$temporary/out") err=$(<"$temporary/err")
    exits 0
    says 'No space left on device'
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

# ---- a GPU, faked

run_live() {
    topic='run, live'
    on whole
    rm -rf build
    try run ch05
    exits 0
    prints 'live · NVIDIA H200'
    prints 'report   build/live/ch05_streams/fixed.nsys-rep'
    prints_no '(there is'
    says 'nsys profile --trace=cuda,nvtx'
    says "-o build/programs/ch05_streams/buggy"
    try run ch05 --recorded
    exits 0
    prints 'recorded · NVIDIA H200'
    check 'runs no tool' test -z "$err"
    try run ch05/missing_event --live
    exits 0
    local broken
    for broken in killed silent corrupt garbled; do
        mode whole nsys "$broken"
        try run ch05 --live
        exits 1
        says 'of ch05_streams/buggy.cu'
        check 'shows no number of an older run' test -z "$out"
    done
    mode whole nsys works
    echo '// fake: exit 77' >>ch05_streams/buggy.cu
    rm -rf build
    try run ch05 --live
    exits 77
    says 'ch05_streams/buggy.cu'
    sed -i '$d' ch05_streams/buggy.cu
    rm -rf build
    on no_gpu
}

check_live() {
    topic='check, live'
    on whole
    local name
    try start ch05/1
    try check ch05/1
    exits 1
    prints "$answer  live · NVIDIA H200"
    prints 'streams that carry work: expected >= 2, found 1'
    check 'one hint, no more' test "$(count 'hint 1 of 3' "$out") $(count ' of 3:' "$out")" = '1 1'
    prints "not yet  $answer"
    prints 'report   build/live/'
    prints './lab hint ch05/vector_add_pipeline'
    try hint ch05/1
    try hint ch05/1
    try check ch05/1
    prints 'hint 2 of 3'
    cp "$exercise/solution.cu" "$answer"
    try check ch05/1
    exits 0
    prints_no '✗'
    prints "passed  $answer"
    prints 'next     ./lab start ch05/pageable_async'
    try report
    prints '1 of 6 passed'
    check 'counts the checks' grep -Eq 'vector_add_pipeline +passed +3 +2' <<<"$out"
    cp harness/tests/wrong/ch05_streams/1_vector_add_pipeline/lost_tail.cu "$answer"
    try check ch05/1
    exits 1
    prints 'exit code of the program, which checks its own answer: expected == 0, found 1'
    try report
    check 'an exercise stays passed' contains "$out" '1 of 6 passed'
    for name in killed silent corrupt garbled; do
        mode whole nsys "$name"
        try check ch05/1
        exits 1
        says 'nsys made no'
        check 'the tool is to blame, not the learner' lacks "$out$err" 'not yet'
    done
    mode whole nsys works
    mode whole nvcc killed
    echo '// changed' >>"$answer"
    echo 'int changed;' >>"$answer"
    try check ch05/1
    exits 1
    says 'nvcc did not finish'
    mode whole nvcc works
    cp "$exercise/solution.cu" "$answer"
    cp "$temporary/whole/nvidia-smi" "$temporary/whole/nvcc" "$temporary/no_nsys/"
    on no_nsys
    if try_without nsys check ch05/1; then
        exits 77
        prints '✓ pass'
        prints 'nsys did not run on this program'
        check 'nothing else is called passed' test "$(count '✓ pass' "$out")" -eq 1
        prints 'that is no pass'
        cp harness/tests/wrong/ch05_streams/1_vector_add_pipeline/lost_tail.cu "$answer"
        try_without nsys check ch05/1
        exits 1
    else
        skip 'nsys is here and cannot be hidden'
    fi
    on no_gpu
    rm -rf work
}

record() {
    topic='record'
    on whole
    local before broken all=$temporary/all
    sums() { find ch05_streams harness/tests/wrong -path '*/evidence/*' -type f -exec sha256sum {} + | sort; }
    try record --stale
    exits 0
    prints 'nothing to record'
    before=$(sums)
    for broken in killed silent corrupt garbled; do
        mode whole nsys "$broken"
        try record ch05
        exits 1
        says 'of ch05_streams/fixed.cu'
        prints '0 recorded'
        check 'the old evidence is as it was' test "$(sums)" = "$before"
    done
    mode whole nsys works
    # The fake nsys hands out the evidence itself, so that is what is recorded anew.
    try record ch05/1
    exits 0
    prints "recorded $recorded/vector_add_pipeline.solution.sqlite"
    prints '5 recorded, 0 failed'
    try run ch05/1 --recorded
    exits 0
    cp "$recorded/fixed.sqlite" "$all"
    sed -i 's/fixed.sqlite/kept.sqlite/' "$temporary/whole/nvcc"
    echo 'constexpr int kNewlyAdded = 1;' >>ch05_streams/fixed.cu
    try record --stale
    exits 0
    prints "recorded $recorded/fixed.sqlite"
    prints '1 recorded, 0 failed'
    try run ch05 --recorded
    exits 0
    sed -i '$d' ch05_streams/fixed.cu
    cp "$all" "$recorded/fixed.sqlite"
    check 'nothing is left beside the evidence' test -z "$(find ch05_streams -name '*.part' -o -name '*.lock')"
    on no_gpu
}

verify() {
    topic='verify'
    on whole
    try verify ch05
    exits 0
    prints 'live · NVIDIA H200'
    prints ' 0 failed, 0 not run'
    prints 'ch05_streams/fixed.cu racecheck'
    prints 'lost_tail.cu is rejected for answer'
    prints_no '✗'
    check 'says what passed, line by line' test "$(count '✓ pass' "$out")" -ge 80
    mode whole compute-sanitizer errors
    try verify ch05
    exits 1
    prints '✗ fail  ch05_streams/fixed.cu memcheck: 1 errors, the first: Invalid __global__ write'
    mode whole compute-sanitizer works
    mode whole nsys corrupt
    try verify ch05
    exits 1
    prints '✗ fail  ch05_streams: nsys made no usable report'
    prints '✓ pass  ch05_streams/exercises/1_vector_add_pipeline/solution.cu memcheck'
    mode whole nsys works
    cp "$temporary"/whole/{nvidia-smi,nvcc,nsys} "$temporary/no_sanitizer/"
    on no_sanitizer
    if try_without compute-sanitizer verify ch05; then
        prints '- not run  ch05_streams/fixed.cu memcheck: compute-sanitizer is not here'
        check 'what was not run is not passed' grep -Eq '^[0-9]+ passed, 0 failed, 28 not run' <<<"$out"
    else
        skip 'compute-sanitizer is here and cannot be hidden'
    fi
    on no_gpu
}

tools() {
    topic='nsys, ncu, sanitize'
    on whole
    local folder=$temporary/own
    try nsys ch05/buggy
    exits 0
    says 'nsys profile'
    prints 'report   build/reports/buggy.nsys-rep'
    prints './lab analyze build/reports/buggy.nsys-rep'
    try analyze build/reports/buggy.nsys-rep
    exits 0
    try sanitize ch05/fixed --tool racecheck
    exits 0
    says 'compute-sanitizer --tool racecheck'
    says '--count 1000003'
    prints 'RACECHECK SUMMARY: 0 hazards'
    mode whole compute-sanitizer errors
    try sanitize ch05/1/solution
    exits 1
    prints 'Invalid __global__ write'
    mode whole compute-sanitizer works
    try ncu ch05/fixed
    exits 0
    says '--set basic'
    try nsys ch05/no_such_side
    exits 2
    says 'buggy and fixed'
    try nsys nothing
    exits 2
    try nsys "$folder/missing.cu"
    exits 2
    says 'there is no file'
    mkdir "$folder"
    printf 'int main() {}\n' >"$folder/mine.cu"
    echo 'a file of mine' >"$folder/mine"
    cp "$recorded/fixed.sqlite" "$folder/mine.sqlite"
    try nsys "$folder/mine.cu"
    exits 0
    check 'builds nothing beside a file of your own' test "$(<"$folder/mine") $(find "$folder" -type f | wc -l)" = 'a file of mine 3'
    on no_gpu
}

doctor() {
    topic='doctor'
    on whole
    try doctor
    prints '✓ works      gpu                NVIDIA H200, driver 580.159.04'
    prints '✓ works      compute-sanitizer'
    local broken tool
    for broken in nvcc=broken nsys=killed nsys=silent nsys=corrupt nsys=garbled ncu=denied compute-sanitizer=blind \
        compute-sanitizer=errors nvidia-smi=broken; do
        tool=${broken%%=*}
        mode whole "$tool" "${broken#*=}"
        rm -rf build
        try doctor
        exits 1
        check "$broken is said to be broken, and what to do" grep -A4 "✗ broken     ${tool/nvidia-smi/gpu} " <<<"$out" -q
        check "$broken: says what to do" contains "$(sed -n "/✗ broken     ${tool/nvidia-smi/gpu} /,/to do/p" <<<"$out")" 'to do: '
        check 'closes the chapters that need it' test -z "$(
            [[ $tool != n[vs]* ]] || grep 'ch05  open live' <<<"$out"
        )"
        mode whole "$tool" works
    done
    mkdir -p "$temporary/nothing"
    on nothing
    if try_without nvcc,nsys,ncu,compute-sanitizer,nvidia-smi doctor; then
        exits 0
        check 'five tools are not here' test "$(count '- not here' "$out")" -eq 5
        check 'each with what to do' test "$(count 'to do: ' "$out")" -eq 5
        prints 'ch05  on recorded evidence; for live runs it lacks gpu, nsys, nvcc'
    else
        skip 'a CUDA tool is here and cannot be hidden'
    fi
    on no_gpu
}

machine no_gpu nvidia-smi=broken nvcc
machine no_nvcc nvidia-smi=broken
machine whole nvidia-smi nvcc nsys ncu compute-sanitizer
mkdir "$temporary/no_nsys" "$temporary/no_sanitizer"
on no_gpu
for part in help_and_usage names list_and_report run_recorded run_without_gpu colour analyze timeline docs \
    start_without_gpu quiz progress watch bad_reports bad_evidence full_disk two_at_once run_live check_live record \
    verify tools doctor; do
    "$part"
done
printf '%d passed, %d failed' "$passed" "$failed"
if ((skipped)); then printf ', %d skipped' "$skipped"; fi
printf '\n'
((failed == 0))
