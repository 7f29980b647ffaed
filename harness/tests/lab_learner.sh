#!/usr/bin/env bash
# shellcheck disable=SC2016
# A learner's way through an exercise (start, check, hint, watch, quiz), and what is noted of it:  lab_learner.sh LAB
# (shell_checks.sh says how these tests work).
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

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
    prints 'vector_add_pipeline    started'

    try check ch05/1
    exits 77
    prints 'it compiles'
    prints 'It was not run: there is no NVIDIA GPU here'
    prints 'streams that carry work: >= 2'
    prints './lab quiz ch05 works here'
    prints './lab analyze ch05_streams/evidence/h200/vector_add_pipeline.starter.sqlite shows more of the starter: '
    prints 'more of the starter: where its time went'
    prints 'it is still the starter'
    prints_no 'diff -u'
    prints_no 'passed'
    try report
    check 'the starter is no answer to grade' grep -Eq 'vector_add_pipeline +started +0 +3$' <<<"$out"
    echo 'int changed;' >>"$answer"
    try check ch05/1
    exits 77
    try report
    check 'a check that could not run is noted' grep -Eq 'vector_add_pipeline +ungraded +1 +3$' <<<"$out"
    try list
    check 'and listed' grep -Eq 'ch05/vector_add_pipeline .* ungraded$' <<<"$out"
    prints 'go on with  ./lab check ch05/vector_add_pipeline'
    prints_no 'start with'
    echo '#error not finished' >>"$answer"
    try check ch05/1
    exits 1
    prints 'does not compile'
    prints 'error: #error directive'
    prints 'not yet'
    try report
    prints 'does-not-compile'
    : >"$answer"
    try check ch05/1
    exits 1
    prints "undefined reference to \`main'"
    prints 'collect2: error: ld returned 1 exit status'
    cp "$exercise/solution.cu" "$answer"
    try check ch05/1
    exits 77
    prints_no 'still the starter'
    prints "diff -u $answer $exercise/solution.cu compares it with a solution"
    try report
    check 'what compiles again has failed by nothing' grep -Eq 'vector_add_pipeline +ungraded +4 +3$' <<<"$out"
    on no_nvcc
    if try_without nvcc check ch05/1; then
        exits 77
        prints 'not compiled'
        prints 'nvcc, the CUDA compiler, is not here'
    else
        skip 'nvcc is here and cannot be hidden'
    fi
    on no_gpu
    try start ch03/stray_double
    try check ch03/stray_double
    prints './lab run ch03/stray_double shows the starter beside the solution'
    prints 'stray_double.starter.sqlite shows more of the starter: what ncu counted'
    try start ch04/shared_race
    try check ch04/shared_race
    prints 'shared_race.starter.sqlite shows more of the starter: what compute-sanitizer said'
    rm -rf work
}

check_live() {
    topic='check, live'
    on whole
    local name
    try start ch05/1
    try check ch05/1
    exits 1
    prints "not yet  $answer: it is still the starter"
    prints "$answer  live · NVIDIA H200"
    check 'the row fails' grep -Eq 'streams that carry work +>= 2 +1 .*fail' <<<"$out"
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
    prints 'the program ended with exit code 1; the last that it printed:'
    prints 'a fake program, built from work/'
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
    echo '// saved' >>"$answer"
    check 'checks again on save' eventually watches 2
    { cat "$answer" && echo '// renamed over'; } >"$answer.new"
    mv "$answer.new" "$answer"
    check 'checks again where an editor renames' eventually watches 3
    echo '#error here' >>"$answer"
    check 'goes on after an answer that does not compile' eventually watches 4
    cp "$exercise/solution.cu" "$answer.new"
    mv "$answer.new" "$answer"
    wait "$watcher"
    status=$?
    out=$(<"$temporary/watch")
    check 'ends with 0 once the answer passes' test "$status" -eq 0
    prints "passed  $answer"
    check 'checked five times' test "$(count 'save it to check again' "$out")" -eq 4
    rm -rf work
    on no_gpu
    : >"$temporary/watch"
    timeout 60 "$lab" watch ch05/1 </dev/null >"$temporary/watch" 2>&1 &
    watcher=$!
    command='lab watch ch05/1, no GPU'
    check 'goes on where nothing can be run' eventually watches 1
    kill "$watcher"
    wait "$watcher" 2>/dev/null
    check 'says what would be graded' contains "$(<"$temporary/watch")" 'streams that carry work: >= 2'
    rm -rf work
}

# What is typed into a terminal, then the words of lab.
type_into() {
    command="lab ${*:2}, typed"
    out=$(printf '%b' "$1" | timeout 60 script -qec "$lab ${*:2}" /dev/null)
    status=$?
}

typed_quiz() { # uses what `quiz` found
    rm -rf work
    type_into "9\n$streams\n\n" quiz ch05
    exits 1
    check 'a wrong answer says where to look, then asks again' contains "$out" 'Open the CUDA HW row'
    check 'takes the right one, and says what it is' contains "$out" ": $streams streams in this recording"
    check 'counts it as right, and not at once' contains "$out" '1 right (1 after a wrong answer), 0 wrong'
    prints 'next     ./lab quiz ch05 asks those that are not right yet'
    prints_no 'right already'

    type_into '9\n\nq\n' quiz ch03
    check 'a question on counters is not sent to a timeline' lacks "$out" './lab timeline'
    check 'but to the counters' contains "$out" './lab analyze ch03_ncu/evidence/h200/'
    check 'by name' contains "$out" 'l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio'
    check 'wrong and then passed is wrong' contains "$out" '0 right, 1 wrong'

    type_into "q\n$streams\n" quiz ch05
    exits 1
    prints "1 of $questions is answered right already; it goes on with those that are not"
    check 'begins with the next' contains "$out" 'dominant_kernel ·'
    check 'does not ask what is right' lacks "$out" 'streams_with_kernels ·'
    check 'q leaves the quiz' lacks "$out" 'kernels_at_once ·'
    prints "1 right, 0 wrong, $((questions - 1)) unanswered"
    type_into 'q\n' quiz ch05 --all
    check '--all asks what is right' contains "$out" 'streams_with_kernels ·'
    prints_no 'right already'
    prints "1 right, 0 wrong, $((questions - 1)) unanswered"
    type_into '9\n\nq\n' quiz ch05 --all
    prints "0 right, 1 wrong, $((questions - 1)) unanswered"
    type_into 'q\n' quiz ch05
    check 'the last answer counts' contains "$out" "0 right, 1 wrong, $((questions - 1)) unanswered"
    check 'and is asked again' contains "$out" 'streams_with_kernels ·'
    awk -F '"' '/^\[\[/ { inside = $0 == "[[quiz]]" }
        inside && /^id = / { print "2100-01-01T00:00:00Z right ch05_streams:" $2 }' \
        ch05_streams/chapter.toml >>work/progress.txt
    type_into 'q\n' quiz ch05
    exits 0
    prints "all $questions are answered right already (--all asks them again)"
    prints_no 'streams_with_kernels ·'
    prints "$questions right, 0 wrong, 0 unanswered"
    prints 'next     ./lab start ch05/vector_add_pipeline'
}

# An answer's text as the pages of `lab` show it, so that no number stands here.
quiz() {
    topic='quiz'
    local name streams kernel waits hidden answers=$temporary/answers questions
    questions=$(grep -c '^\[\[quiz\]\]' ch05_streams/chapter.toml)
    local hidden_look='Set the Memory row above the Kernels row'
    try quiz ch05
    exits 1
    prints 'The questions are only listed, since this is no terminal'
    prints './lab quiz ch05 in a terminal, or --answers FILE (- is standard input)'
    prints "'streams_with_kernels = ...'"
    prints_no ' unanswered'
    prints 'recorded · NVIDIA H200'
    try analyze "$recorded/buggy.sqlite" --range normalise
    streams=$(awk '/^  stream /{ inside = 1 } /^  CUDA call/{ inside = 0 }
        inside && $1 + 0 > 0 && $2 + 0 > 0 { ++streams } END { print streams + 0 }' <<<"$out")
    kernel=$(awk '/^  kernel /{ getline; getline; print $1 }' <<<"$out")
    kernel=$(awk -v kernel="$kernel" '/id = "dominant_kernel"/{ inside = 1 }
        inside && /^choices/ { split($0, name, "\""); for (i = 2; name[i] != kernel; i += 2); print i / 2; exit }' \
        ch05_streams/chapter.toml)
    try analyze "$recorded/fixed.sqlite" --range normalise
    waits=$(awk '/Synchronize/{ sum += $2 } END { print sum }' <<<"$out")
    try run ch05 --recorded
    hidden=$(awk '/copy-up time hidden/{ print $7 }' <<<"$out")
    {
        printf '# mine\nstreams_with_kernels = %s streams\n\n' "$streams"
        printf 'dominant_kernel = %s  # by letter\n' "$(tr 123 abc <<<"$kernel")"
        printf 'host_blocks=%s\nhidden_copies = %s\n' "$waits" "$hidden"
    } >"$answers"
    try quiz ch05 --answers "$answers"
    exits 1
    prints "4 right, 0 wrong, $((questions - 4)) unanswered"
    prints "right: $streams streams in this recording"
    prints "right: $hidden in this recording"
    prints "next     add the $((questions - 4)) that are unanswered to $answers, then"
    prints ", then ./lab quiz ch05 --answers $answers"
    prints_no 'only listed'
    command='lab quiz ch05 --answers -'
    out=$("$lab" quiz ch05 --answers - <"$answers" 2>"$temporary/err")
    prints "4 right, 0 wrong, $((questions - 4)) unanswered"
    prints "next     add the $((questions - 4)) that are unanswered to the answers, then ./lab quiz ch05 --answers -"
    err=$("$lab" quiz ch05 --answers - <<<'no_such_question = 4' 2>&1)
    says 'standard input:1: '
    printf 'streams_with_kernels = \nhost_blocks = # later\nhidden_copies = %s\n' "$hidden" >"$temporary/empty"
    try quiz ch05 --answers "$temporary/empty"
    exits 1
    prints "1 right, 0 wrong, $((questions - 1)) unanswered"
    try report
    prints "4 of $questions"

    printf 'streams_with_kernels = 9\ndominant_kernel = %s\nhidden_copies = 0.01\n' \
        "$(tr 123 cab <<<"$kernel")" >"$answers"
    try quiz ch05 --answers "$answers"
    exits 1
    prints "0 right, 3 wrong, $((questions - 3)) unanswered"
    prints "$hidden_look"
    prints "next     correct $answers, then ./lab quiz ch05 --answers $answers"
    prints_no "${hidden%??}"
    try report
    prints "1 of $questions"
    on_quiz_line() {
        printf '\n%s\n' "$1" >"$answers"
        try quiz ch05 --answers "$answers"
        exits 2
        says "$answers:2"
        check 'grades nothing of such a file' test -z "$out"
    }
    cp ch05_streams/chapter.toml "$temporary/chapter.toml"
    awk '/^\[\[quiz\]\]/ && ++questions == 2 { exit } { print }' "$temporary/chapter.toml" >ch05_streams/chapter.toml
    printf 'streams_with_kernels = %s\n' "$streams" >"$answers"
    try quiz ch05 --answers "$answers"
    exits 0
    prints '1 right, 0 wrong, 0 unanswered'
    prints 'next     ./lab start ch05/vector_add_pipeline'
    for name in vector_add_pipeline pageable_async default_stream missing_event priority more_is_not_faster; do
        printf '2026-01-01T00:00:00Z passed ch05_streams/%s\n' "$name" >>work/progress.txt
    done
    try quiz ch05 --answers "$answers"
    prints 'next     ./lab run ch06'
    cp "$temporary/chapter.toml" ch05_streams/chapter.toml
    on_quiz_line 'no equals sign'
    on_quiz_line 'no_such_question = 4'
    says 'streams_with_kernels'
    on_quiz_line 'streams_with_kernels = four'
    on_quiz_line 'streams_with_kernels = 4 potatoes'
    on_quiz_line 'streams_with_kernels = 1,5'
    says 'write it like 1.5, with a point'
    on_quiz_line 'dominant_kernel = z'
    on_quiz_line 'dominant_kernel = 9'
    try quiz ch05 --answers "$temporary/no_such_file"
    exits 2
    says no_such_file
    if has_terminal; then typed_quiz; fi
    rm -rf work
}

progress() {
    topic='progress'
    local questions
    questions=$(grep -c '^\[\[quiz\]\]' ch05_streams/chapter.toml)
    mkdir -p work
    local id=ch05_streams/vector_add_pipeline
    printf '2026-01-01T00:00:02Z passed %s\n2026-01-01T00:00:03Z pass' "$id" >work/progress.txt
    try report
    exits 0
    prints 'vector_add_pipeline    passed'
    try hint ch05/2
    exits 0
    try report
    prints 'vector_add_pipeline    passed'
    check 'the cut line costs itself alone' contains "$out" '1 of 6 passed'
    check 'the next line is whole' grep -q '^2026-01-01T00:00:03Z pass$' work/progress.txt
    check 'a hint is noted' test "$(grep -c ' hint ch05_streams/pageable_async$' work/progress.txt)" -eq 1

    printf '2026-01-01T00:00:09Z right ch05_streams:host_blocks\n2026-01-01T00:00:01Z started ch05_streams/priority\n' \
        >"$temporary/laptop"
    printf '2026-01-01T00:00:05Z wrong ch05_streams:host_blocks\n2026-01-01T00:00:06Z failed ch05_streams/priority\n' \
        >"$temporary/desktop"
    cat "$temporary/laptop" "$temporary/desktop" >work/progress.txt
    try report
    prints "1 of $questions"
    prints 'priority               tried'
    id=ch05_streams
    printf '2026-01-01T00:00:0%s\n' "7Z failed $id/pageable_async" "8Z passed $id/vector_add_pipeline" \
        "9Z hint $id/default_stream" >>work/progress.txt
    try list
    check 'the latest of those begun and not passed' contains "$out" 'go on with  ./lab check ch05/pageable_async'
    printf '\0\377 garbage\n\n%s\n' "a b c d e f" >>work/progress.txt
    try report
    exits 0
    prints "1 of $questions"
    rm -rf work
}

run_parts start_without_gpu check_live watch quiz progress
