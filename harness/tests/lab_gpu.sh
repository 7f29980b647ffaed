#!/usr/bin/env bash
# shellcheck disable=SC2016
# What `lab` does with a GPU and the tools, all of them faked, and with tools that fail:  lab_gpu.sh LAB
# (shell_checks.sh says how these tests work).
parts=(ch05_streams)
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"
readonly of_exercise=$exercise/evidence/h200
# The fake GPU is an H200 and hands out what is recorded of one. What another recorded is left out.
rm -r "$exercise/evidence/h100-80gb-hbm3" "$exercise"/*/threads_default_{each,shared}.patch
# A few of its answers are enough.
for name in behind_the_next one_stream part_on_the_host slower_bound; do
    rm "$exercise/wrong/$name.patch" "$of_exercise/answers/$name.sqlite"
done
programs_of_exercise=$(find "$of_exercise" -name '*.sqlite' | wc -l)
readonly programs_of_exercise
keep_one_exercise

run_live() {
    topic='run, live'
    on whole
    local broken
    expect 0 run ch05
    prints 'live · NVIDIA H200'
    prints 'report   build/live/ch05_streams/fixed.nsys-rep'
    says ' -o build/live/ch05_streams/fixed.nsys-rep build/programs/ch05_streams/fixed'
    for broken in killed silent corrupt garbled; do
        mode whole nsys "$broken"
        expect 1 run ch05 --live
        says 'nsys could not look at ch05_streams/buggy.cu'
        check 'shows no number of an older run' test -z "$out"
    done
    mode whole nsys works
    echo '// fake: exit 77' >>ch05_streams/buggy.cu
    rm -rf build
    expect 77 run ch05 --live
    says 'ch05_streams/buggy.cu'
}

runs_of_before() {
    topic='without a GPU, the runs that were made here with one'
    on whole
    expect 0 run ch05
    on no_gpu
    expect 0 run ch05
    prints 'so these are your own runs of before'
    prints 'live · NVIDIA H200'
    head -c 5000 "$recorded/fixed.sqlite" >build/live/ch05_streams/fixed.sqlite
    expect 0 run ch05
    prints 'so this is recorded evidence'
    check 'a damaged one is passed over' lacks "$err" 'build/live/'
}

record() {
    topic='record'
    on whole
    local before broken
    # Of all that nsys has a part in: wrong answers may be rejected, and recorded, without it.
    sums() {
        find ch05_streams -path '*/evidence/*' -type f -exec grep -laF 'CREATE TABLE StringIds' {} + | sort |
            xargs sha256sum
    }
    expect 0 record --stale
    prints 'nothing to record'
    before=$(sums)
    for broken in killed silent corrupt garbled; do
        mode whole nsys "$broken"
        expect 1 record ch05/1
        says "nsys could not look at $exercise/solution.cu"
        check 'the old evidence is as it was' test "$(sums)" = "$before"
    done
    mode whole nsys works
    # The fake nsys hands out the evidence itself, so that is what is recorded anew.
    expect 0 record ch05/1
    prints "recorded $of_exercise/solution.sqlite"
    prints "recorded $of_exercise/answers/lost_tail.sqlite"
    prints "$programs_of_exercise recorded, 0 failed"
    expect 0 run ch05/1 --recorded
    echo 'constexpr int kNewlyAdded = 1;' >>ch05_streams/fixed.cu
    sed -i 's/^+.*size_t length = .*/& int changed = 1;/' $exercise/wrong/lost_tail.patch
    expect 0 record --stale
    prints "recorded $recorded/fixed.sqlite"
    prints "recorded $recorded/fixed.once.sqlite"
    prints "recorded $of_exercise/answers/lost_tail.sqlite"
    prints '6 recorded, 0 failed' # fixed.cu with its four further recordings
    expect 0 run ch05 --recorded
    sed -i '$d' ch05_streams/fixed.cu
    mkdir "$temporary/whole/runs"
    cp -R --parents ch05_streams "$temporary/whole/runs"
    rm -rf build "$of_exercise/starter.sqlite"
    head -c 5000 "$of_exercise/solution.sqlite" >"$temporary/cut"
    cp "$temporary/cut" "$of_exercise/solution.sqlite"
    expect 0 record ch05/1 --stale
    prints "recorded $of_exercise/starter.sqlite"
    prints "recorded $of_exercise/solution.sqlite"
    prints '2 recorded, 0 failed'
}

# Kills a command of lab once its nsys hangs.
kill_hanging() { # words
    local lab_id
    mode whole nsys hangs
    rm -f "$temporary/whole/nsys.hangs"
    command="lab $*, killed while nsys hangs"
    "$lab" "$@" </dev/null >"$temporary/out" 2>"$temporary/err" &
    lab_id=$!
    check 'nsys runs' eventually test -s "$temporary/whole/nsys.hangs"
    kill -KILL "$lab_id"
    wait "$lab_id" 2>/dev/null
    mode whole nsys works
}

interrupted() {
    topic='interrupted'
    on whole
    local before stamp=build/programs/${answer%.cu}.built
    before=$(find "$of_exercise" -type f -exec sha256sum {} +)
    kill_hanging record ch05/1
    check 'the old evidence is as it was' test "$(find "$of_exercise" -type f -exec sha256sum {} +)" = "$before"
    expect 0 record ch05/1

    mkdir -p "${answer%/*}"
    cp "$exercise/starter.cu" "$answer"
    expect 1 check ch05/1
    is_file "$stamp"
    cp "$exercise/solution.cu" "$answer"
    mode whole nvcc kills
    { try check ch05/1; } 2>/dev/null # where the shell says that it was killed
    exits 137
    check 'no program bears the stamp of another' test ! -e "$stamp"
    mode whole nvcc works
    kill_hanging check ch05/1
    check 'the tool has ended with lab' eventually test ! -e "/proc/$(<"$temporary/whole/nsys.hangs")"
    expect 0 check ch05/1
}

draws() {
    topic='draws'
    on whole
    local patch
    # Two draws of the exercise that is here; what it answers is another test's.
    sed -i 's/^minutes/kind = "unknown"\nminutes/' "$exercise/case.toml"
    sed -i "0,/^\[\[finding/s//[[draw]]\narguments = [\"--parts\", \"4\"]\n\n[[draw]]\narguments = [\"--parts\", \"8\"]\n\n&/" \
        "$exercise/case.toml"
    printf '\n[[diagnosis]]\nid = "copies"\nasks = "How many?"\nsql = "SELECT COUNT(*) FROM copies"\n%s\n%s\n' \
        'look = "There."' 'why = "So."' >>"$exercise/case.toml"
    for patch in "$exercise"/{wrong,right}/*.patch; do
        sed 's/^why:/draw: 2\n&/' "$patch" >"${patch%.patch}_again.patch"
        sed -i 's/^why:/draw: 1\n&/' "$patch"
    done
    : >"$temporary/whole/nvcc.count"
    try record ch05/1
    check 'are recorded' test -e "$of_exercise/solution.draw2.sqlite"
    check 'a source is built once for all of them' test -z "$(sort "$temporary/whole/nvcc.count" | uniq -d)"

    topic='a diagnosis comes first'
    local copies
    mkdir -p "${answer%/*}"
    cp "$exercise/starter.cu" "$answer"
    try diagnose ch05/1:1
    prints 'record it first: ./lab run ch05/vector_add_pipeline'
    expect 1 check ch05/1:1
    prints 'findings hold. Which ones'
    prints_no 'streams that carry work'
    try analyze "$of_exercise/starter.draw1.sqlite"
    prints 'out yourself: ./lab diagnose ch05/vector_add_pipeline'
    prints_no 'The GPU is idle for'
    try answers ch05/1:1
    copies=$(grep -A 1 'How many?' <<<"$out" | tail -n 1)
    echo "copies = $copies" >"$temporary/copies"
    expect 0 diagnose ch05/1:1 --answers "$temporary/copies"
    expect 1 check ch05/1:1
    prints 'streams that carry work'
    try analyze "$of_exercise/starter.draw1.sqlite"
    prints 'The GPU is idle for'
}

two_at_once() {
    topic='two lab at once'
    on whole
    local first
    mode whole nvcc slow
    "$lab" record ch05/1 </dev/null >"$temporary/first" 2>&1 &
    first=$!
    expect 0 record ch05/1
    prints "$programs_of_exercise recorded, 0 failed"
    wait "$first"
    status=$? out=$(<"$temporary/first")
    exits 0
    prints "$programs_of_exercise recorded, 0 failed"
    check 'each program is built once' test "$(sort "$temporary/whole/nvcc.count" | uniq -d | wc -l)" -eq 0
    check 'nothing is left beside the evidence' test -z "$(find ch05_streams -name '*.part*' -o -name '*.lock')"
    mode whole nvcc works
    try record ch05/1 --stale
    prints 'nothing to record'
}

# Whoever has nsys keeps it until the second learner says that it waits.
two_learners() {
    topic='two learners, one GPU'
    on whole
    local first second=$temporary/second as_another=(env)
    mkdir -p "${answer%/*}"
    cp "$exercise/solution.cu" "$answer"
    cp -R . "$second"
    cp "$lab" "$second/built"
    mv "$temporary/whole/nsys" "$temporary/whole/real_nsys"
    cat >"$temporary/whole/nsys" <<END
#!/usr/bin/env bash
if [[ \$1 != profile ]]; then exec "$temporary/whole/real_nsys" "\$@"; fi
echo begins >>"$temporary/turns"
for ((i = 0; i < 200; ++i)); do
    if grep -q waiting "$second/err"; then break; fi
    sleep 0.05
done
"$temporary/whole/real_nsys" "\$@"
code=\$?
echo ends >>"$temporary/turns"
exit "\$code"
END
    chmod +x "$temporary/whole/nsys"
    : >"$temporary/turns" && : >"$second/err"
    # In a folder like /tmp, root may not write what another user made, nor the other way round.
    if ((EUID == 0)) && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
        as_another=(setpriv --reuid=65534 --clear-groups)
        chown -R 65534 "$second"
        chmod 711 "$temporary"
        if [[ ${temporary%/*} == /dev/shm/lab.* ]]; then chmod 711 "${temporary%/*}"; fi
        chmod 1777 "$LAB_LOCKS"
        chmod -R a+rwX "$temporary"/{whole,turns}
    else
        skip 'this is not root, so one user is both'
    fi
    command='lab check ch05/1, by two at once'
    "$lab" check ch05/1 </dev/null >"$temporary/first" 2>&1 &
    first=$!
    check 'the first runs nsys' eventually test -s "$temporary/turns"
    cd "$second" || exit 2
    "${as_another[@]}" env TMPDIR="$second" HOME="$second" timeout 60 ./built check ch05/1 </dev/null >out 2>err
    status=$? out=$(<out) err=$(<err)
    exits 0
    says "another lab, process $first, has the GPU: waiting for it to finish"
    wait "$first"
    status=$? out=$(<"$temporary/first")
    exits 0
    check 'they take turns' test "$(xargs <"$temporary/turns")" = 'begins ends begins ends'
}

two_gpus() {
    topic='two GPUs'
    on whole
    mkdir -p "${answer%/*}"
    cp "$exercise/solution.cu" "$answer"
    sed -i '1s/^/gpus = 2\n/' "$exercise/case.toml"
    expect 0 list
    prints 'not started, 2 GPUs'
    expect 77 check ch05/1
    prints 'It was not run: it needs two GPUs, and one is here'
    expect 0 run ch05/1
    prints '(it needs two GPUs, and one is here, so this is recorded evidence)'
    expect 77 run ch05/1 --live
    says 'it needs two GPUs, and one is here'
    expect 1 record ch05/1
    says "$exercise/starter.cu is not recorded: it needs two GPUs, and one is here"
    expect 77 verify ch05
    prints "- not run  ch05_streams/vector_add_pipeline: it needs two GPUs, and one is here"
    mode whole nvidia-smi two
    expect 0 check ch05/1
    mode whole nvidia-smi works
    sed -i 1d "$exercise/case.toml"
}

a_library() {
    topic='a library'
    on whole
    local home=$temporary/nvshmem
    mkdir -p "$home"/{include,lib} "${answer%/*}"
    cp "$exercise/solution.cu" "$answer"
    printf -- '-rdc=true\n-lnvshmem_host\n-lnvshmem_device\n' >"$exercise/nvcc.flags"
    touch "$home/include/nvshmem.h" "$home"/lib/{libnvshmem_host.so.3,libnvshmem_device.a}
    export NVSHMEM_HOME=$home
    expect 0 check ch05/1
    says "-rdc=true -isystem $home/include -Xlinker=$home/lib/libnvshmem_host.so.3 -Xlinker=-rpath,$home/lib $home/lib/libnvshmem_device.a"
    rm "$home/lib/libnvshmem_device.a"
    try check ch05/1
    if contains "$err" libnvshmem_device.a; then
        skip 'NVSHMEM is here and cannot be hidden'
    else
        exits 77
        prints 'It was not run: NVSHMEM is not here (docs/setup.md says how to install it)'
        expect 77 verify ch05
        prints '- not run  ch05_streams/vector_add_pipeline: NVSHMEM is not here'
    fi
    unset NVSHMEM_HOME
    rm "$exercise/nvcc.flags"
}

in_python() {
    topic='a pair in Python'
    on whole
    local side python=$temporary/whole/python3
    mkdir ch05_streams/python
    for side in buggy fixed; do echo "# $side" >"ch05_streams/python/$side.py"; done
    echo 'print()' >>ch05_streams/python/fixed.py
    cat >ch05_streams/python/case.toml <<'END'
title = "streams"
library = "cupy"
range = "normalise"
sanitizers = ["memcheck"]
[[finding]]
id = "streams"
says = "streams that carry kernels"
sql = "SELECT COUNT(DISTINCT stream) FROM kernels"
buggy = "== 4"
fixed = "== 4"
[[finding]]
id = "memcheck"
says = "reports"
sql = "SELECT COUNT(*) FROM SANITIZER_REPORTS"
buggy = "== 0"
fixed = "== 0"
END
    printf '#!/bin/sh\n[ "$1" != -c ] || exit 1\n' >"$python"
    chmod +x "$python"
    expect 2 run ch05/1 --python
    expect 77 run ch05 --python --live
    says 'python3 cannot import cupy here'
    expect 1 record ch05/python
    says 'ch05_streams/python/fixed.py is not recorded: python3 cannot import cupy'
    # The fake nsys hands out the run that the program names; here that is Python.
    cat >"$python" <<END
#!/bin/sh
# run: $course/$recorded/fixed.sqlite
if [ "\$1" = -c ]; then echo 3.12.3 14.2.0; else echo "ran \$1"; fi
END
    expect 0 run ch05 --python
    says "-o build/live/ch05_streams/python/buggy.nsys-rep $python ch05_streams/python/buggy.py"
    says " 86 $python ch05_streams/python/fixed.py"
    prints 'live · NVIDIA H200, driver 580.159.04, Python 3.12.3, cupy 14.2.0'
    expect 0 record ch05/python
    prints 'recorded ch05_streams/python/evidence/h200/fixed.sqlite'
    says "$python ./buggy.py"
    expect 0 run ch05 --python --recorded
    prints 'command  nsys profile --trace=cuda,nvtx'
    prints ' -o buggy python3 ch05_streams/python/buggy.py'
    prints 'recorded · NVIDIA H200, driver 580.159.04, Python 3.12.3, cupy 14.2.0'
    expect 0 nsys ch05/python/fixed
    says "$python ch05_streams/python/fixed.py"
    expect 0 run ch05
    prints_no 'memcheck'
    echo '# a comment' >>ch05_streams/python/fixed.py
    expect 0 record ch05/python --stale
    prints 'nothing to record'
    echo 'print(2)' >>ch05_streams/python/fixed.py
    expect 0 record ch05/python --stale
    prints '1 recorded, 0 failed'
    try verify ch05
    exits 0
    prints_no 'python/fixed.py racecheck'
}

verify() {
    topic='verify'
    on whole
    expect 0 verify ch05
    prints 'live · NVIDIA H200'
    prints ' 0 failed, 0 not run'
    prints 'ch05_streams/fixed.cu racecheck'
    check 'a wrong answer is rejected' grep -q '✓ pass .*lost_tail.* answer' <<<"$out"
    prints_no '✗'
    check 'keeps nothing unasked' test ! -e docs/verification.json
    touch -d '2 days ago' "$recorded"/* "$of_exercise"/*
    expect 0 verify ch05 --record
    prints 'kept in docs/verification.json; ./lab docs makes the page'
    says 'fixed.nsys-rep is not kept: it names the folder of the course'
    check 'what was judged is recorded' \
        test -z "$(find ch05_streams -path '*/evidence/*' -name '*.sqlite' ! -mtime -1)"
    check 'and the starter once' test "$(count "recorded $of_exercise/starter.sqlite" "$err")" -eq 1
    try record ch05 --stale
    prints 'nothing to record'
    on whole
    try verify ch05 --record --stale
    exits 0
    check 'what has not changed is not run again' lacks "$err" '--tool '
    check 'nor recorded' lacks "$err" 'nsys profile'
    check 'a stamp names the compiler' grep -q ' 13.0$' build/programs/ch05_streams/buggy.built
    expect 0 verify ch05 --save --stale
    check 'no case that was kept is run again' lacks "$err" 'nsys profile'
    prints ' 0 failed, 0 not run'
    echo 'int changed;' >>ch05_streams/fixed.cu
    sed -i 's/^solution = ">= 2"/solution = "> 1"/' "$exercise/case.toml"
    expect 0 verify ch05 --save --stale
    says 'programs/ch05_streams/fixed'
    says "programs/$exercise/starter"
    expect 0 verify ch05 --save --stale
    check 'both are kept' lacks "$err" 'nsys profile'
    expect 2 verify ch05 --record --recorded
    mode whole compute-sanitizer errors
    expect 1 verify ch05
    prints '✗ fail  ch05_streams/fixed.cu memcheck: 1 errors, the first: Invalid __global__ write'
    mode whole compute-sanitizer ends
    expect 1 verify ch05
    prints '✗ fail  ch05_streams/fixed.cu racecheck: the program ends with exit code 139'
    mode whole compute-sanitizer works
    on no_sanitizer
    if try_without compute-sanitizer verify ch05; then
        exits 77
        prints '- not run  ch05_streams/fixed.cu memcheck: compute-sanitizer is not here'
        check 'what was not run is not passed' grep -Eq '^[0-9]+ passed, 0 failed, [1-9][0-9]* not run' <<<"$out"
    else
        skip 'compute-sanitizer is here and cannot be hidden'
    fi
}

tools() {
    topic='nsys, ncu, sanitize'
    on whole
    local folder=$temporary/mine name
    expect 0 nsys ch05/buggy
    says 'nsys profile'
    prints 'report   build/reports/ch05-buggy.nsys-rep'
    expect 0 analyze build/reports/ch05-buggy.nsys-rep
    mode whole nsys idle
    expect 1 nsys ch05/buggy
    says '/nsys left no report'
    prints_no 'report   '
    mode whole nsys works
    expect 0 sanitize ch05/fixed --tool racecheck
    says 'compute-sanitizer --tool racecheck'
    prints 'RACECHECK SUMMARY: 0 hazards'
    mode whole compute-sanitizer errors
    expect 1 sanitize ch05/1/solution
    prints 'Invalid __global__ write'
    mode whole compute-sanitizer works
    mkdir -p "$folder"
    printf 'int main() {}\n' >"$folder/mine.cu"
    echo 'a file of mine' >"$folder/mine"
    cp "$recorded/fixed.sqlite" "$folder/mine.sqlite"
    expect 0 nsys "$folder/mine.cu"
    check 'builds nothing over a file of your own' grep -q '^a file of mine$' "$folder/mine"
    check 'builds nothing beside it' test "$(find "$folder" -type f | wc -l)" -eq 3
    cp build/programs/ch05_streams/buggy "$folder/built.out"
    for name in nsys ncu sanitize; do
        expect 0 "$name" "$folder/built.out" -- --count 1000003
        says "$folder/built.out --count 1000003"
    done
}

# Puts a block into the case.toml of exercise 1, before its findings, and a right answer into work/.
add_to_exercise_1() { # block
    awk -v block="$1" '/^\[\[finding/ && !done++ { print block } { print }' "$exercise/case.toml" >"$temporary/case.toml"
    cp "$temporary/case.toml" "$exercise/"
    mkdir -p "${answer%/*}"
    cp "$exercise/solution.cu" "$answer"
}

counters() {
    topic='counters'
    on whole
    add_to_exercise_1 'ncu_metrics = ["sm__cycles_elapsed.max"]
ncu = ["-k", "regex:add"]
[[finding]]
id = "counted"
says = "what ncu counts"
sql = "SELECT SUM(value) FROM NCU_METRICS WHERE kernel <> metric"
starter = "== 42"
solution = "== 42"'
    expect 0 check ch05/1
    says 'ncu --clock-control none --metrics sm__cycles_elapsed.max -k regex:add -f -o '
    prints 'passed'
    is_file build/live/work/ch05_streams/1_vector_add_pipeline/answer.ncu-rep
    sections
    mode whole ncu denied
    expect 77 check ch05/1
    says 'ERR_NVGPUCTRPERM'
    prints 'not passed'
    expect 1 record ch05/1
    says 'ERR_NVGPUCTRPERM'
}

# What ncu's pages say of a program, in its evidence and in its report; called by counters().
sections() {
    local name ran=build/live/$exercise/starter
    sed -i 's/^ncu = .*/&\nncu_details = ["--launch-count", "1"]/' "$exercise/case.toml"
    expect 0 check ch05/1
    check 'grades without them' lacks "$err" 'SourceCounters'
    expect 0 run ch05/1 --live --solution
    says '--section SourceCounters --import-source yes --launch-count 1 -f -o '
    prints "$ran.details.ncu-rep (ncu-ui opens it)"
    for name in "$ran.sqlite" "$ran.details.ncu-rep"; do
        expect 0 ncu-details "$name"
        prints 'launch 0  add (4, 1, 1)x(256, 1, 1)'
        prints 'OPT   Est. Speedup: 42%'
        expect 0 ncu-details "$name" --section WarpStateStats
        prints 'Warp State (All Cycles)  Metric Unit  Metric Value'
        expect 0 ncu-details "$name" --line 7
        prints '   0  LDG.E R0, [R2.64]'
    done
    expect 0 record ch05/1
    is_file "$exercise/evidence/h200/solution.sqlite"
    expect 0 ncu-details "$exercise/evidence/h200/starter.sqlite" --page source
    prints '   7  c[i] = a[i];'
    prints 'ncu --page source --print-source cuda,sass --section SourceCounters'
    expect 0 analyze "$exercise/evidence/h200/starter.sqlite"
    prints "./lab ncu-details $exercise/evidence/h200/starter.sqlite shows"
    for name in section=WarpStateStats lines=1; do
        printf '<!-- ncu: exercise vector_add_pipeline starter %s -->\n<!-- /ncu -->\n' "$name"
    done >>"$exercise/README.md"
    : >README.md
    : >ch05_streams/slides.md
    : >ch05_streams/after.md
    expect 0 docs
    for name in 'Stall Wait          inst            42' '   7  c[i] = a[i];'; do
        check "a page shows $name" grep -qF "$name" "$exercise/README.md"
    done
    mode whole ncu sectionless
    expect 0 run ch05/1 --live
    says "# ncu's sections are not recorded: it left no report of its sections"
    expect 1 record ch05/1
    mode whole ncu works
}

recordings() {
    topic='further recordings'
    on whole
    add_to_exercise_1 '[[recording]]
name = "ranged"
nsys = ["--capture-range=nvtx"]
says = "the range, and nothing else"
[[finding]]
id = "reports"
says = "reports of the recording"
recording = "ranged"
sql = "SELECT reports FROM NSYS_RUN"
starter = "== 0"
solution = "== 1"'
    expect 0 check ch05/1
    says '--capture-range=nvtx -o '
    mode whole nsys unregistered
    expect 1 check ch05/1
    check 'the row fails' grep -Eq 'reports of the recording \(recording ranged\) +== 1 +0 .*fail' <<<"$out"
    mode whole nsys works
    expect 0 record ch05/1
    prints "recorded $of_exercise/solution.ranged.sqlite"
}

machine_code() {
    topic='machine code'
    machine no_cuobjdump nvidia-smi=broken nvcc
    machine no_gpu nvidia-smi=broken nvcc cuobjdump
    machine whole cuobjdump
    on no_gpu
    local broken
    add_to_exercise_1 '[[finding]]
id = "wide"
says = "loads of 16 bytes"
sql = "SELECT SUM(count) FROM CODE_INSTRUCTIONS WHERE opcode = '"'LDG.E.128'"'"
starter = "== 1"
solution = "== 1"'
    expect 77 check ch05/1
    says '-arch=sm_90'
    says "cuobjdump -res-usage -sass build/programs/${answer%.cu}"
    prints "$answer  machine code · sm_90, CUDA 13.0"
    check 'the row passes' grep -Eq 'loads of 16 bytes +== 1 +1 .*pass' <<<"$out"
    prints 'With a GPU and its tools, this would be graded, too:'
    prints 'streams that carry work: >= 2'
    prints_no 'loads of 16 bytes: == 1'
    prints_no 'passed'
    check 'it is noted as not graded' grep -q ' ungraded ch05_streams/vector_add_pipeline' work/progress.txt
    for broken in broken cut; do
        mode no_gpu cuobjdump "$broken"
        expect 1 check ch05/1
        says "cuobjdump could not look at $answer"
        check 'the tool is to blame, not the learner' lacks "$out$err" 'not yet'
    done
    mode no_gpu cuobjdump works
    expect 0 run ch05/1
    prints_no 'your own runs of before'
    sed -i '/LDG.E.128/,/^solution/s/^solution = .*/solution = "== 0"/' "$exercise/case.toml"
    expect 1 check ch05/1
    check 'the row fails' grep -Eq 'loads of 16 bytes +== 0 +1 .*fail' <<<"$out"
    prints 'streams that carry work: >= 2'
    prints "not yet  $answer"
    prints 'hint 1 of 3'
    check 'it is noted as failed' grep -q ' failed ch05_streams/vector_add_pipeline wide' work/progress.txt
    on no_cuobjdump
    if try_without cuobjdump check ch05/1; then
        exits 77
        prints 'and no cuobjdump, which would show its machine code'
        prints 'loads of 16 bytes: == 0'
    else
        skip 'cuobjdump is here and cannot be hidden'
    fi
    on whole
    expect 1 check ch05/1
    sed -i '/LDG.E.128/,/^solution/s/^solution = .*/solution = "== 1"/' "$exercise/case.toml"
    expect 0 check ch05/1
    expect 77 run ch05/1 --recorded
    prints 'cuobjdump did not look at this program'
    expect 0 record ch05/1 --stale
    prints "recorded $of_exercise/solution.sqlite"
    expect 0 run ch05/1 --recorded
}

run_parts run_live runs_of_before record interrupted two_at_once two_learners draws two_gpus a_library in_python verify tools counters recordings machine_code
