#!/usr/bin/env bash
# shellcheck disable=SC2016
# A learner's way through an exercise (start, check, hint, watch, quiz), and what is noted of it:  lab_learner.sh LAB
# (shell_checks.sh says how these tests work).
parts=(ch05_streams)
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

start_without_gpu() {
    topic='start, reset, hint, check, no GPU'
    local i
    expect 2 check ch05/1
    says './lab start ch05/vector_add_pipeline'
    expect 0 start ch05/1
    prints "edit   $answer"
    prints "read   $exercise/README.md"
    check 'the build line names the copy' grep -q '^// build: .* answer.cu -o answer' "$answer"
    check 'the rest is the starter' test "$(grep -v '^// \(build\|look\):' "$answer")" = \
        "$(grep -v '^// \(build\|look\):' "$exercise/starter.cu")"
    sed -i 's|^// look:.*|&\n//          -o starter ./starter|' "$exercise/starter.cu"
    expect 0 reset ch05/1
    check 'so does the rest of a command' grep -q '^//          -o answer ./answer$' "$answer"
    rm "$answer.1"
    echo '// mine' >>"$answer"
    expect 0 start ch05/1
    prints './lab reset'
    check 'a second start keeps the answer' grep -q '^// mine' "$answer"
    expect 0 reset ch05/1
    check 'reset keeps the answer beside it' grep -q '^// mine' "$answer.1"
    check 'reset puts the starter back' test "$(grep -c '^// mine' "$answer")" -eq 0
    mv "$exercise/starter.cu" "$temporary/starter"
    expect 2 reset ch05/1
    is_file "$answer"
    mv "$temporary/starter" "$exercise/starter.cu"
    check 'a reset that fails keeps nothing twice' test ! -e "$answer.2"
    try run ch05/1 --recorded
    prints 'next     ./lab check ch05/vector_add_pipeline'
    prints 'This is the starter alone.'
    prints_no 'data moved, each array once'
    expect 0 run ch05/1 --recorded --solution
    prints 'data moved, each array once'
    expect 2 run ch05/1 --recorded --json
    says 'would tell the diagnosis'
    expect 0 next
    prints './lab check ch05/vector_add_pipeline'
    for i in 1 2 3; do
        expect 0 hint ch05/1
        prints "hint $i of 3"
    done
    prints "$exercise/solution.cu"

    expect 77 check ch05/1
    prints 'It was not run: there is no NVIDIA GPU here'
    prints 'it is still the starter'
    prints 'streams that carry work: >= 2'
    prints "./lab analyze $exercise/evidence/h200/starter.sqlite shows what the tools said about the starter"
    prints_no 'passed'
    echo '#error not finished' >>"$answer"
    expect 1 check ch05/1
    prints 'does not compile'
    prints 'error: #error directive'
    cp "$exercise/solution.cu" "$answer"
    expect 77 check ch05/1
    prints_no 'still the starter'
    try report
    check 'a check that could not run is noted' grep -Eq 'vector_add_pipeline +ungraded +2 +3$' <<<"$out"
    try list
    prints 'next     ./lab look ch05'
    on no_nvcc
    if try_without nvcc check ch05/1; then
        exits 77
        prints 'nvcc, the CUDA compiler, is not here'
    else
        skip 'nvcc is here and cannot be hidden'
    fi
}

check_live() {
    topic='check, live'
    on whole
    local name
    try start ch05/1
    expect 1 check ch05/1
    prints "not yet  $answer: it is still the starter"
    check 'the row fails' grep -Eq 'streams that carry work +>= 2 +1 .*fail' <<<"$out"
    check 'one hint, no more' test "$(count 'hint 1 of 3' "$out") $(count ' of 3:' "$out")" = '1 1'
    cp "$exercise/solution.cu" "$answer"
    expect 0 check ch05/1
    prints_no '✗'
    prints "passed  $answer"
    prints 'next     ./lab start ch05/pageable_async'
    try report
    prints "1 of $exercises_of_ch05 passed"
    patch -s -o "$answer" "$exercise/solution.cu" "$exercise/wrong/lost_tail.patch"
    expect 1 check ch05/1
    prints 'the program ended with exit code 1; the last that it printed:'
    try report
    check 'an exercise stays passed' contains "$out" "1 of $exercises_of_ch05 passed"
    try run ch05/1 --recorded
    prints 'next     ./lab start ch05/pageable_async'
    echo '// not built yet' >>"$answer"
    echo 'int more;' >>"$answer"
    mode whole nvcc full
    expect 2 check ch05/1
    says 'which is no fault of'
    check 'a full disk is not noted as a failed check' lacks "$(<work/progress.txt)" 'does-not-compile'
    mode whole nvcc works
    for name in killed silent corrupt garbled; do
        mode whole nsys "$name"
        expect 1 check ch05/1
        says 'nsys could not look at'
        check 'the tool is to blame, not the learner' lacks "$out$err" 'not yet'
    done
    cp "$exercise/solution.cu" "$answer"
    on no_nsys
    if try_without nsys check ch05/1; then
        exits 77
        check 'only the exit code is called passed' test "$(count '✓ pass' "$out")" -eq 1
        prints 'that is no pass'
    else
        skip 'nsys is here and cannot be hidden'
    fi
}

watches() { # how often the answer was looked at so far
    [[ $(count 'save it to check again' "$(<"$temporary/watch")") -ge $1 ]]
}

watch() {
    topic='watch'
    on whole
    : >"$temporary/watch"
    timeout 60 "$lab" watch ch05/1 </dev/null >"$temporary/watch" 2>&1 &
    local watcher=$!
    command='lab watch ch05/1'
    check 'checks at once' eventually watches 1
    check 'makes the answer where there is none' test -f "$answer"
    echo 'int changed;' >>"$answer"
    check 'checks again on save' eventually watches 2
    echo '#error here' >>"$answer"
    check 'goes on after an answer that does not compile' eventually watches 3
    cp "$exercise/solution.cu" "$answer.new"
    mv "$answer.new" "$answer" # as some editors save
    wait "$watcher"
    status=$? out=$(<"$temporary/watch")
    check 'ends with 0 once the answer passes' test "$status" -eq 0
    prints "passed  $answer"
}

# What is typed into a terminal, then the words of lab.
type_into() {
    command="lab ${*:2}, typed"
    out=$(printf '%b' "$1" | timeout 60 script -qec "$lab ${*:2}" /dev/null)
    status=$?
}

typed_quiz() { # uses what `quiz` found
    type_into "x\\n$longest\\n\\n" quiz ch05
    check 'a wrong answer says where to look, then asks again' contains "$out" 'Sort by the longest call'
    check 'takes the right one, and says what it is' contains "$out" ": $longest in this recording"
    check 'and why' contains "$out" 'A table sorted by total time'
    prints '1 right, 0 wrong'
    type_into 'q\n' quiz ch05
    exits 1
    check 'does not ask what is right' lacks "$out" 'longest_call ·'
    type_into '?\nx\n\nq\n' quiz ch05 --all
    check '--all asks what is right' contains "$out" 'longest_call ·'
    check '? says where to look' contains "$out" 'Sort by the longest call'
    try report
    check 'what was right stays right' contains "$out" "1 of $questions"
    rm -rf work
    type_into 'x\ny\nq\n' quiz ch05
    check 'two wrong answers bring another question' contains "$out" 'longest_call_of_one_stream ·'
    type_into 'q\n' quiz ch05
    check 'and that stays' lacks "$out" 'longest_call ·'
    check 'under the question that it stands for' contains "$out" 'asked now in another way'
}

# The right one of several answers to a question, so that no answer stands here.
right_answer() {
    local guess
    for guess in "${@:2}"; do
        rm -rf work
        if contains "$(printf '%s = %s\n' "$1" "$guess" | "$lab" quiz ch05 --answers - 2>&1)" '1 right'; then
            printf '%s' "$guess"
            rm -rf work
            return
        fi
    done
}

quiz() {
    topic='quiz'
    local longest slow letter answers=$temporary/answers questions line
    questions=$(($(grep -c '^\[\[quiz\]\]' ch05_streams/chapter.toml) - $(grep -c '^instead_of' ch05_streams/chapter.toml)))
    longest=$(right_answer longest_call cudaLaunchKernel cudaMalloc cudaMemcpyAsync)
    slow=$(right_answer slow_launches 1 2 3 4 5 6 7 8 10 11 12)
    letter=$(right_answer longest_in_a_stream a b c d e f g h)
    check 'each question has one right answer' test -n "$longest" -a -n "$slow" -a -n "$letter"
    expect 1 quiz ch05
    prints 'The questions are only listed, since this is no terminal'
    prints 'slow_launches · ch05_streams/evidence/h200/fixed.eight.sqlite · unit: launches'
    prints 'recorded · NVIDIA H200'
    printf '# mine\nslow_launches = %s launches\n\nlongest_in_a_stream=%s # by run\n' "$slow" "$letter" >"$answers"
    expect 1 quiz ch05 --answers "$answers"
    prints "2 right, 0 wrong, $((questions - 2)) unanswered"
    prints "right: $slow launches in this recording"
    command='lab quiz ch05 --answers -'
    out=$("$lab" quiz ch05 --answers - <"$answers" 2>&1)
    prints "2 right, 0 wrong, $((questions - 2)) unanswered"
    rm -rf work
    printf 'slow_launches = 9\nlongest_call = x\n' >"$answers"
    expect 1 quiz ch05 --answers "$answers"
    prints "0 right, 2 wrong, $((questions - 2)) unanswered"
    prints 'Sort by the longest call'
    check 'tells no answer' lacks "$out" ": $slow launches"
    try report
    prints "0 of $questions"
    expect 1 quiz ch05 --answers "$answers"
    expect 1 quiz ch05
    prints 'longest_call_of_one_stream ·'
    check 'two wrong answers bring another question' lacks "$out" 'longest_call ·'
    printf 'longest_call = %s\n' "$longest" >"$answers"
    expect 2 quiz ch05 --answers "$answers"
    says "question 'longest_call' is not asked now"
    for line in 'no equals sign' 'no_such_question = 4' 'slow_launches = four' 'longest_in_a_stream = z'; do
        printf '\n%s\n' "$line" >"$answers"
        expect 2 quiz ch05 --answers "$answers"
        says "$answers:2"
    done
    rm -rf work
    printf '\xef\xbb\xbfslow_launches = %s\nno\nno_such = 4\nslow_launches = 4\n' "$slow" >"$answers"
    expect 2 quiz ch05 --answers "$answers"
    prints '1 right, 0 wrong'
    says "$answers:2"
    says "$answers:3: there is no question 'no_such'"
    says "$answers:4: 'slow_launches' is answered above already"
    rm -rf work
    printf 'stream_rows = 1 stream\n' >"$answers"
    expect 1 look ch05 --answers "$answers"
    prints 'right: 1 stream in this recording'
    prints 'Stream 13 Kernels'
    check 'the fixed program is not there' lacks "$out" 'fixed'
    sed -i 's/^headline/look_ms = 5\n&/' ch05_streams/chapter.toml
    try look ch05 --answers "$answers"
    prints 'buggy, the beginning of range normalise: 5 ms'
    prints 'all      ./lab timeline ch05_streams/evidence/h200/buggy.sqlite --range normalise'
    sed -i '/^look_ms/d' ch05_streams/chapter.toml
    rm -rf work
    if has_terminal; then typed_quiz; else skip 'no `script` to make a terminal with'; fi
}

progress() {
    topic='progress'
    local id=ch05_streams
    mkdir work
    printf '2026-01-01T00:00:02Z passed %s\n2026-01-01T00:00:03Z pass' $id/vector_add_pipeline >work/progress.txt
    expect 0 hint ch05/2
    check 'the cut line is left as it is' grep -q '^2026-01-01T00:00:03Z pass$' work/progress.txt
    check 'a hint is noted' test "$(grep -c " hint $id/pageable_async$" work/progress.txt)" -eq 1
    expect 0 report
    prints "1 of $exercises_of_ch05 passed"
}

run_parts start_without_gpu check_live watch quiz progress
