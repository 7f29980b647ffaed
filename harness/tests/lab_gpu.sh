#!/usr/bin/env bash
# shellcheck disable=SC2016
# What `lab` does with a GPU and the tools, all of them faked, and with tools that fail:  lab_gpu.sh LAB
# (shell_checks.sh says how these tests work).
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

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

record() {
    topic='record'
    on whole
    local before broken kept=$temporary/kept
    # Of all that nsys has a part in: two wrong answers are rejected, and recorded, without it.
    sums() {
        find ch05_streams harness/tests/wrong -path '*/evidence/*' -type f -exec grep -laF 'CREATE TABLE StringIds' {} + |
            sort | xargs sha256sum
    }
    try record --stale
    exits 0
    prints 'nothing to record'
    before=$(sums)
    for broken in killed silent corrupt garbled; do
        mode whole nsys "$broken"
        try record ch05/1
        exits 1
        says 'of ch05_streams/exercises/1_vector_add_pipeline/solution.cu'
        prints '1 recorded' # a wrong answer that nsys has no part in
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
    cp "$recorded/fixed.sqlite" "$kept"
    echo 'constexpr int kNewlyAdded = 1;' >>ch05_streams/fixed.cu
    try record --stale
    exits 0
    prints "recorded $recorded/fixed.sqlite"
    prints "recorded $recorded/fixed.once.sqlite"
    prints '2 recorded, 0 failed'
    try run ch05 --recorded
    exits 0
    sed -i '$d' ch05_streams/fixed.cu
    cp "$kept" "$recorded/fixed.sqlite"
    mkdir "$temporary/whole/runs"
    rm -rf build
    cp -R --parents ch05_streams/evidence harness/tests/wrong "$temporary/whole/runs"
    rm "$recorded/buggy.sqlite"
    head -c 5000 "$kept" >"$recorded/fixed.sqlite"
    try record --stale
    exits 0
    prints '3 recorded, 0 failed'

    command='lab record ch05, killed'
    "$lab" record ch05 </dev/null >"$temporary/out" 2>"$temporary/err" &
    eventually grep -q '^recorded.*solution' "$temporary/out"
    kill -KILL $!
    wait $! 2>/dev/null
    status=$?
    out=$(<"$temporary/out") err=$(<"$temporary/err")
    check 'was killed before its end' lacks "$out" ' failed'
    try record --stale
    check 'every file is whole, old or new' contains "$out" 'nothing to record'
    rm -rf "$temporary/whole/runs" build
    check 'nothing is left beside the evidence' test -z "$(find ch05_streams -name '*.part' -o -name '*.lock')"
    on no_gpu
}

verify() {
    topic='verify'
    rm -f docs/verification.json
    on whole
    try verify ch05
    exits 0
    prints 'live · NVIDIA H200'
    prints ' 0 failed, 0 not run'
    prints 'ch05_streams/fixed.cu racecheck'
    prints 'lost_tail.cu is rejected for answer'
    prints_no '✗'
    prints 'ch05_streams/exercises/4_missing_event/starter.cu synccheck'
    check 'says what passed, line by line' test "$(count '✓ pass' "$out")" -ge 110
    check 'keeps nothing unasked' test ! -e docs/verification.json
    try verify ch05 --save
    exits 0
    prints 'kept in docs/verification.json; ./lab docs makes the page'
    check 'keeps each claim' test "$(grep -c '"verdict": "pass"' docs/verification.json)" -ge 110
    try docs
    exits 0
    check 'the page has them' grep -q '0 failed, 0 not run' docs/verification.md
    check 'and where they are from' grep -q 'live · NVIDIA H200' docs/verification.md
    check 'and none is stale' test -z "$(grep -F 'Stale' docs/verification.md)"
    sed -i '0,/^starter_fails/s//starter_reports = ["racecheck"]\nstarter_fails/' ch05_streams/chapter.toml
    try verify ch05
    exits 1
    prints '✗ fail  ch05_streams/exercises/1_vector_add_pipeline/starter.cu racecheck, which must report: it reports nothing'
    sed -i '/^starter_reports/d' ch05_streams/chapter.toml
    try docs --check
    rm docs/verification.json
    try docs
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
    on no_sanitizer
    if try_without compute-sanitizer verify ch05; then
        exits 77
        prints '- not run  ch05_streams/fixed.cu memcheck: compute-sanitizer is not here'
        check 'what was not run is not passed' grep -Eq '^[0-9]+ passed, 0 failed, 56 not run' <<<"$out"
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
    prints 'report   build/reports/ch05-buggy.nsys-rep'
    prints './lab analyze build/reports/ch05-buggy.nsys-rep'
    try analyze build/reports/ch05-buggy.nsys-rep
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
    check 'builds nothing over a file of your own' grep -q '^a file of mine$' "$folder/mine"
    check 'builds nothing beside it' test "$(find "$folder" -type f | wc -l)" -eq 3
    cp build/programs/ch05_streams/buggy "$folder/built.out"
    for name in nsys ncu sanitize; do
        try "$name" "$folder/built.out" -- --count 1000003
        exits 0
        says "$folder/built.out --count 1000003"
        check 'builds nothing' lacks "$err" nvcc
    done
    try nsys "$folder/built.out"
    prints 'built.nsys-rep'
    try nsys "$folder/mine"
    exits 2
    says 'mine is no program'
    on no_gpu
}

runs_of_before() {
    topic='without a GPU, the runs that were made here with one'
    local source=ch05_streams/fixed.cu
    rm -rf build
    on whole
    try run ch05
    exits 0
    says ' -o build/live/ch05_streams/fixed.nsys-rep build/programs/ch05_streams/fixed'
    on no_gpu
    try run ch05
    exits 0
    prints 'so these are your own runs of before'
    prints 'live · NVIDIA H200'
    prints 'report   build/live/ch05_streams/fixed.nsys-rep'
    try quiz ch05
    prints 'live · NVIDIA H200'
    command='lab quiz ch05 --answers -'
    out=$(for name in 1 2 3 4 5 6 7 8; do
        "$lab" quiz ch05 --answers - <<<"streams_with_kernels = $name"
    done)
    check 'a right number is said to be of the own run' grep -q 'right.*: [1-8] streams in your live run$' <<<"$out"
    try run ch05 --recorded
    prints 'recorded · NVIDIA H200'
    head -c 5000 build/live/ch05_streams/fixed.sqlite >"$temporary/cut"
    cp build/live/ch05_streams/fixed.sqlite "$temporary/whole.sqlite"
    cp "$temporary/cut" build/live/ch05_streams/fixed.sqlite
    for name in run quiz; do
        try "$name" ch05
        check 'a damaged one is passed over' lacks "$err" 'build/live/'
    done
    try run ch05
    exits 0
    prints 'so this is recorded evidence'
    cp "$temporary/whole.sqlite" build/live/ch05_streams/fixed.sqlite
    cp "$source" "$temporary/kept"
    echo 'constexpr int kNewlyAdded = 1;' >>"$source"
    try run ch05
    exits 1
    says 'is stale'
    cp "$temporary/kept" "$source"
    rm -rf build
}

doctor() {
    topic='doctor'
    on whole
    try doctor
    prints '✓ works      gpu                NVIDIA H200, driver 580.159.04'
    prints '✓ works      compute-sanitizer'
    local broken tool text
    for broken in nvcc=broken nsys=killed nsys=silent nsys=corrupt nsys=garbled ncu=denied compute-sanitizer=blind \
        compute-sanitizer=errors nvidia-smi=broken; do
        tool=${broken%%=*}
        mode whole "$tool" "${broken#*=}"
        rm -rf build
        try doctor
        exits 1
        check "$broken: is said to be broken" contains "$out" "✗ broken     ${tool/nvidia-smi/gpu} "
        text=$(sed -n "/✗ broken     ${tool/nvidia-smi/gpu} /,/to do: /p" <<<"$out")
        check "$broken: says what to do" contains "$text" 'to do: '
        check 'closes the chapters that need it' test -z "$(
            [[ $tool != n[vs]* ]] || grep 'ch05  open live' <<<"$out"
        )"
        mode whole "$tool" works
    done
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

# Puts a block of chapter.toml behind the facts of exercise 1, and a right answer into work/.
add_to_exercise_1() { # block
    cp ch05_streams/chapter.toml "$temporary/chapter.toml"
    awk -v block="$1" '{ print } /^starter_fails = .*"bound_reached"/ && !done { print block; done = 1 }' \
        "$temporary/chapter.toml" >ch05_streams/chapter.toml
    mkdir -p "${answer%/*}"
    cp "$exercise/solution.cu" "$answer"
    rm -rf build
}

counters() {
    topic='counters'
    on whole
    local finding='[[exercise.finding]]
id = "counted"
says = "what ncu counts"
sql = "SELECT SUM(value) FROM NCU_METRICS WHERE kernel <> metric"
starter = "< 0"
solution = "== 42"'
    add_to_exercise_1 "ncu_metrics = [\"sm__cycles_elapsed.max\"]
ncu = [\"-k\", \"regex:add\"]
$finding"
    try check ch05/1
    exits 0
    says 'ncu --clock-control none --metrics sm__cycles_elapsed.max -k regex:add -f -o '
    says 'LC_ALL=C'
    prints 'passed'
    is_file build/live/work/ch05_streams/1_vector_add_pipeline/answer.ncu-rep
    mode whole ncu denied
    try check ch05/1
    exits 77
    says 'ERR_NVGPUCTRPERM'
    prints 'not passed'
    try record ch05/1
    exits 1
    says 'ERR_NVGPUCTRPERM'
    prints '0 recorded'
    sed -i 's/"sm__cycles_elapsed.max"/"sm__cycles_elapsed.max", "no_such__metric.sum"/' ch05_streams/chapter.toml
    mode whole ncu unknown
    try check ch05/1
    says 'this GPU has no metric no_such__metric.sum; once more without'
    exits 0
    try record ch05/1
    exits 1
    says "it knows no metric 'no_such__metric.sum'"
    mode whole ncu works
    cp "$temporary/chapter.toml" ch05_streams/chapter.toml
    rm -rf build work
    on no_gpu
}

recordings() {
    topic='further recordings'
    on whole
    add_to_exercise_1 '[[exercise.recording]]
name = "ranged"
nsys = ["--capture-range=nvtx"]
says = "the range, and nothing else"
[[exercise.finding]]
id = "reports"
says = "reports of the recording"
recording = "ranged"
sql = "SELECT reports FROM NSYS_RUN"
starter = "== 0"
solution = "== 1"'
    try check ch05/1
    exits 0
    says '--capture-range=nvtx -o '
    says 'build/live/work/ch05_streams/1_vector_add_pipeline/answer.ranged.nsys-rep'
    mode whole nsys unregistered
    try check ch05/1
    exits 1
    check 'the row fails' grep -Eq 'reports of the recording \(recording ranged\) +== 1 +0 .*fail' <<<"$out"
    try run ch05/1
    check 'a finding names its recording' grep -q 'reports of the recording (recording ranged)' <<<"$out"
    prints 'recording ranged: the range, and nothing else'
    mode whole nsys works
    try nsys ch05/vector_add_pipeline/solution --recording ranged
    exits 0
    says '--capture-range=nvtx'
    is_file build/reports/ch05-vector_add_pipeline-solution.ranged.nsys-rep
    try nsys ch05/fixed --recording once -- --count 1000003
    exits 0
    says '--repetitions 1 --count 1000003'
    try nsys ch05/vector_add_pipeline/solution --recording range
    exits 2
    says "has no recording 'range'; it has ranged"
    try record ch05/1
    exits 0
    prints "recorded $recorded/vector_add_pipeline.solution.ranged.sqlite"
    rm "$recorded"/vector_add_pipeline.*.ranged.sqlite
    cp "$temporary/chapter.toml" ch05_streams/chapter.toml
    rm -rf build work
    on no_gpu
}

library() {
    topic='a program with a library'
    on whole
    add_to_exercise_1 'library = true'
    try check ch05/1
    exits 0
    says '-shared -Xcompiler=-fPIC -DBUILD_LIBRARY work/ch05_streams/1_vector_add_pipeline/answer.cu'
    is_file build/programs/work/ch05_streams/1_vector_add_pipeline/answer.so
    is_file build/programs/work/ch05_streams/1_vector_add_pipeline/answer
    cp "$temporary/chapter.toml" ch05_streams/chapter.toml
    rm -rf build work
    on no_gpu
}

comparison() {
    topic='a comparison with the starter'
    on whole
    add_to_exercise_1 '[[exercise.finding]]
id = "more"
says = "kernels"
kind = "ratio"
margin = 0.01
range = "pipeline"
sql = "SELECT COUNT(*) FROM kernels"
solution_over_starter = ">= 5"'
    try check ch05/1
    exits 0
    prints 'solution / starter >= 5'
    says 'exercises/1_vector_add_pipeline/starter'
    cp "$exercise/starter.cu" "$answer"
    try check ch05/1
    exits 1
    check 'the row fails' grep -Eq 'solution / starter >= 5 +1 .*fail' <<<"$out"
    try verify ch05
    prints 'vector_add_pipeline more (1 | 12, solution / starter >= 5: 12)'
    cp "$temporary/chapter.toml" ch05_streams/chapter.toml
    rm -rf build work
    on no_gpu
}

run_parts run_live runs_of_before record verify tools doctor counters recordings library comparison
