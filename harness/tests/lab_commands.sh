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
    commands=$("$lab" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')
    check 'lists the commands' test "$(wc -w <<<"$commands")" -ge 15
    for name in $commands; do
        expect 2 "$name" --no-such-option
        says "./lab $name --help"
        check "./lab help lists $name" contains "$(./lab help)" "  $name"
    done
    local release
    release=$(sed -n 's/^## \([0-9.]*\) - .*/\1/p' "$repository/CHANGELOG.md" | head -n 1)
    expect 0 --version
    check 'is the release that CHANGELOG.md begins with' test "$out" = "lab ${release:-unknown}"
    expect 2 runn
    says 'did you mean run?'
    for name in run start check quiz hint; do
        expect 2 "$name"
        says ' is required'
        says './lab list names chapters and exercises'
    done
}

names() {
    topic='names of chapters and exercises'
    local name
    for name in ch05 5 ch05_streams ch05/; do
        expect 0 run "$name" --recorded
    done
    for name in ch05/vector_add_pipeline ch05/1 5/1_vector_add_pipeline "$answer" "${answer%/answer.cu}"; do
        expect 0 hint "$name"
    done
    refused() { # words of lab, what it says
        # shellcheck disable=SC2086
        expect 2 $1
        says "$2"
    }
    refused 'run ch55' "there is no chapter 'ch55'; there are: ch04, ch05"
    refused 'hint vector_add_pipeline' 'did you mean ch05/vector_add_pipeline?'
    refused --verson "there is no option '--verson'; did you mean --version?"
    refused 'check ch05/vector_add' 'it has: vector_add_pipeline'
    refused 'analyze ch05/buggy' "./lab analyze $recorded/buggy.sqlite"
    refused 'nsys ./x' 'a .cu file or a program that is built'
    refused "run ${escape}[31mch05" 'ch05'
    check 'lets no escape code through' lacks "$err" "$escape"
}

front_door() {
    topic='./lab, copied'
    cp lab "$temporary/lab"
    command="$temporary/lab list"
    catch "$temporary/lab" list
    exits 2
    check 'one sentence' test "$err" = \
        "lab: there is no course around $temporary/lab. Call the lab of your clone, or link to it: ln -s CLONE/lab"
}

# A course whose tools are faked: cmake builds nothing.
make_front_door() { # folder
    mkdir -p "$1/harness" "$1/tools" "$1/build/bin"
    cp lab "$1/"
    cp "$repository/harness/build.sh" "$1/harness/"
    touch "$1/CMakeLists.txt" "$1/harness/a.cpp"
    printf '#!/bin/sh\necho cmake version 3.30.0\n' >"$1/tools/cmake"
    printf '#!/bin/sh\necho "ran in $LAB_ROOT"\n' >"$1/build/bin/lab"
    printf '#!/bin/sh\nexit 0\n' | tee "$1"/tools/{c++,ninja,apt-get,sudo} >"$1/tools/patch"
    printf '#!/bin/sh\necho "$@" >>%q\n' "$1/installed" >"$1/tools/apt-get"
    chmod +x "$1"/tools/* "$1/build/bin/lab"
}
call() { # folder, words
    command="lab ${*:2}, in $1"
    PATH=$1/tools:$PATH catch "$1/lab" "${@:2}"
}

first_build() {
    topic='the first build, and those after it'
    local door="$temporary/front door" mine=$temporary/mine
    make_front_door "$door"
    LAB_INSTALL=no call "$door" list
    exits 0
    says 'building lab (about a minute, once)'
    prints "ran in $door"
    check 'goes on without what CMake can fetch' test ! -e "$door/installed"
    sed 's/3.30/3.1/' "$door/tools/cmake" >"$temporary/cmake"
    mv "$door/tools/cmake" "$temporary/new_cmake"
    cp "$temporary/cmake" "$door/tools/cmake" && chmod +x "$door/tools/cmake"
    touch "$door/CMakeLists.txt"
    LAB_INSTALL=no call "$door" list
    exits 2
    says 'apt-get install -y cmake'
    check 'installs nothing where that is forbidden' test ! -e "$door/installed"
    call "$door" list
    says 'installing cmake'
    is_file "$door/installed"
    mv "$temporary/new_cmake" "$door/tools/cmake"
    call "$door" list
    exits 0
    touch -d '+1 year' "$door/harness/a.cpp"
    call "$door" list
    says 'building lab (harness/a.cpp has changed)'
    call "$door" list
    check 'a source from the future is built once' test -z "$err"
    touch "$door/harness/a.cpp"
    call "$door" list
    says 'has changed'

    cp -r "$door/build" "$mine"
    LAB_BUILD=$mine call "$door" list
    exits 0
    chmod o+w "$mine"
    LAB_BUILD=$mine call "$door" list
    exits 2
    says 'others may write to it'
    check 'runs nothing of it' test -z "$out"
    make_front_door "$temporary/one #2"
    call "$temporary/one #2" list
    exits 2
    says 'Move the course'
}

list_and_report() {
    topic='list and report'
    local name
    expect 0 list
    for name in ch05 ch05/vector_add_pipeline 'not started' 'next     ./lab look ch04'; do prints "$name"; done
    expect 0 report
    prints "0 of $exercises_of_ch05 passed"
    check 'looking makes no folder work' test ! -e work
}

run_recorded() {
    topic='run, recorded'
    local text name
    expect 0 run ch05 --recorded
    for text in 'recorded · NVIDIA H200' 'streams that carry kernels' 'Stream 13' 'GPU idle' \
        'next     ch05_streams/README.md'; do prints "$text"; done
    prints_no '✗'
    check 'the picture is whole' contains "$(tail -n 1 build/figures/ch05_streams.svg)" '</svg>'
    for name in ch05_streams/exercises/*_*; do
        if [[ ! -e $name/evidence ]]; then continue; fi # a draft
        expect 0 run "ch05/${name##*/}" --recorded
        prints "next     ./lab start ch05/${name#*/[0-9]*_}"
    done
    expect 0 run ch04 --recorded
    prints '========= Invalid __global__ read of size 4 bytes'
    prints 'fixed  memcheck, racecheck, initcheck, synccheck report nothing'
}

run_without_gpu() {
    topic='run, no GPU'
    local name
    expect 0 run ch05
    prints 'there is no NVIDIA GPU here, so this is recorded evidence'
    expect 77 run ch05 --live
    says './lab doctor'
    check 'shows no number' test -z "$out"
    for name in record verify 'nsys ch05/buggy' 'ncu ch05/buggy' 'sanitize ch05/fixed' 'nsys /bin/true'; do
        # shellcheck disable=SC2086
        expect 77 $name
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
    command='lab run ch05 --recorded, on a terminal'
    catch script -qec "$lab run ch05 --recorded" /dev/null
    check 'is on' contains "$out" "${escape}[38;5;"
    catch script -qec "NO_COLOR=1 $lab run ch05 --recorded" /dev/null
    check 'is off with NO_COLOR' lacks "$out" "$escape"
}

analyze() {
    topic='analyze'
    local text
    expect 0 analyze "$recorded/fixed.sqlite"
    for text in 'recorded · NVIDIA H200' single_thread_sum 'host to device' cudaLaunchKernel; do prints "$text"; done
    expect 0 analyze "$recorded/fixed.sqlite" --range normalise
    expect 2 analyze "$recorded/fixed.sqlite" --range normalize
    says "'warm-up', 'normalise'"
    expect 0 analyze "$recorded/fixed.sqlite" --range normalise --critical-path
    for text in 'from the start of the range' 'single_thread_sum runs' 'If single_thread_sum took no time'; do prints "$text"; done
    expect 2 analyze "$recorded/fixed.sqlite" --device 0 --critical-path
    says 'and no --device'
    expect 0 analyze ch04_sanitizer/evidence/h200/buggy.sqlite
    prints '========= Leaked 400 bytes'
    expect 0 analyze harness/tests/samples/nsys_2025.3_fixed.sqlite
    prints_no 'recorded ·'
    expect 0 analyze harness/tests/samples/kineto_made.json
    for text in 'rank 1' 'GPU 1  NVIDIA H200' triton_poi_fused_add_0 '## backward ##' "not in Kineto's JSON"; do
        prints "$text"
    done
    prints_no 'NVTX range'
    expect 2 analyze harness/tests/samples/kineto_made.json --range none
    says "it has 'ProfilerStep#7'"
    if try_without nsys analyze "$recorded/fixed.nsys-rep"; then
        exits 77
        says "exported already: give $recorded/fixed.sqlite"
    else
        skip 'nsys is here and cannot be hidden'
    fi
    local ncu_report=$repository/ch03_ncu/evidence/h200/buggy.details.ncu-rep
    if try_without ncu ncu-details "$ncu_report"; then
        exits 77
        says "exported already: give ${ncu_report%.details.ncu-rep}.sqlite"
    else
        skip 'ncu is here and cannot be hidden'
    fi
    on whole
    printf '%s' "$course/$recorded/fixed.sqlite" >"$temporary/own.nsys-rep"
    printf 'an old export that must not be read' >"$temporary/own.sqlite"
    expect 0 analyze "$temporary/own.nsys-rep"
    prints single_thread_sum
    says 'nsys export --type sqlite'
    if can_mount; then
        mkdir "$temporary/no_course"
        cp "$lab" "$recorded/buggy.sqlite" "$temporary/no_course"
        command='lab analyze, where there is no course'
        catch with_own_mounts "$BASH" -c 'mount -t tmpfs none "$1" && cd "$2" && ./lab analyze buggy.sqlite' \
            "$BASH" "$repository" "$temporary/no_course"
        exits 0
        prints 'recorded · NVIDIA H200'
        prints single_thread_sum
    else
        skip 'nothing can be mounted here, so the course cannot be hidden'
    fi
}

compare() {
    topic='compare'
    local text
    expect 0 compare "$recorded/buggy.sqlite" "$recorded/fixed.sqlite" --range normalise
    for text in 'recorded · NVIDIA H200' 'program: A has ch05_streams/buggy.cu' 'add up to' single_thread_sum \
        'H2D, pinned to device' './lab gate PROGRAM_A PROGRAM_B'; do prints "$text"; done
    expect 2 compare "$recorded/buggy.sqlite" "$recorded/fixed.sqlite" --range normalize
    says "'warm-up', 'normalise'"
    expect 2 compare "$recorded/buggy.sqlite"
    says 'B is required'
    check 'a file is no name of the course' lacks "$err" 'names chapters'
    ln -s "$course/$recorded/buggy.sqlite" "$temporary/link.sqlite"
    expect 2 compare "$recorded/buggy.sqlite" "$temporary/link.sqlite"
    says 'are one file'
    expect 2 compare "$recorded/buggy.sqlite" ch04_sanitizer/evidence/h200/none.sqlite
    says 'there is no file'
    expect 2 compare "$recorded/bugy.sqlite" "$recorded/fixed.sqlite"
    says "did you mean $recorded/buggy.sqlite?"
    expect 2 compare "$recorded" "$recorded/fixed.sqlite"
    says 'is a folder: give a file in it'
    expect 2 compare "$repository"/docs/two_gpus/{one_stream,solution}.sqlite
    says 'holds only a part of a recording'
    expect 0 compare harness/tests/samples/nsys_2025.3_buggy.sqlite "$recorded/buggy.sqlite"
    prints_no ': A has '
}

timeline() {
    topic='timeline'
    local name new=$temporary/new
    expect 0 timeline "$recorded/fixed.sqlite"
    prints 'Stream 16'
    mkdir "$new"
    expect 0 timeline "$recorded/fixed.sqlite" --range normalise --svg "$new/a.svg" --chrome "$new/a.json"
    check 'the SVG is whole' contains "$(tail -n 1 "$new/a.svg")" '</svg>'
    check 'the trace is of the range' lacks "$(<"$new/a.json")" '"warm-up"'
    expect 0 timeline "$recorded/fixed.sqlite" --range normalise --from 2ms --to 5000us \
        --svg "$new/b.svg" --chrome "$new/b.json"
    check 'the SVG is of the part' grep -q '>fixed.sqlite, from 2ms to 5000us<' "$new/b.svg"
    check 'nothing is left beside them' test "$(find "$new" -type f | wc -l)" -eq 4
    expect 0 timeline "$recorded/buggy.sqlite" "$recorded/fixed.sqlite"
    check 'both are on one scale' test "$(grep -c ' 30 ms' <<<"$out")" -eq 2
    expect 0 timeline "$recorded/buggy.sqlite" "$recorded/fixed.sqlite" --html "$new/both.html"
    check 'the page holds both' grep -q '"title":"buggy.sqlite".*"title":"fixed.sqlite"' "$new/both.html"
    gzip -c harness/tests/samples/kineto_made.json >"$new/no_name_that_says_so"
    expect 0 timeline "$new/no_name_that_says_so" --html "$new/kineto.html"
    check 'the page holds the annotation' grep -q '## backward ##' "$new/kineto.html"
    expect 0 timeline "$new/no_name_that_says_so"
    prints 'Stream 20'
    expect 2 timeline "$recorded/buggy.sqlite" "$recorded/fixed.sqlite" --chrome "$new/both.json"
    says 'name one FILE'
    expect 0 run ch05 --recorded --html "$new/run.html"
    prints "page     $new/run.html"
    expect 2 run ch05 --recorded --html "$recorded/fixed.sqlite"
    says 'are one file'
    expect 2 run ch05/1 --recorded --html "$exercise/evidence/h200/starter.sqlite"
    says 'are one file'
    expect 2 run ch04 --recorded --html "$new/none.html"
    says 'its findings need no trace'
    for name in '--from 5' '--to -5ms' '--from 1e99s' '--from 4ms --to 3ms' '--from 100s'; do
        # shellcheck disable=SC2086
        expect 2 timeline "$recorded/fixed.sqlite" $name
        check 'nothing is drawn' test -z "$out"
    done
}

docs() {
    topic='docs'
    local page=ch05_streams/planted.md text
    # Whether the course's pages are up to date is another test's; each of these runs would make all of them.
    rm -r ch04_sanitizer
    echo '# A course' >README.md
    find ch05_streams -name README.md -delete
    expect 0 docs
    printf '%s\n' '<!-- measured: pair -->' 'old numbers' '<!-- /measured -->' '<!-- diff: buggy.cu fixed.cu -->' \
        '<!-- /diff -->' '<!-- figure: pair fixed range=normalise file=planted.svg -->' '<!-- /figure -->' \
        'from 7<!--buggy.streams_used--> to 9.00<!--fixed.streams_used--> streams' >"$page"
    expect 1 docs --check
    prints "$page is not up to date"
    check 'check changes nothing' grep -q 'old numbers' "$page"
    expect 0 docs
    text=$(<"$page")
    check 'takes the old numbers out' lacks "$text" 'old numbers'
    check 'fills in the findings' contains "$text" 'streams that carry kernels'
    check 'shows what differs' contains "$text" '+++ fixed.cu'
    check 'draws the figure' contains "$text" '![Timeline of fixed, range normalise: '
    check 'puts numbers into the text' contains "$text" \
        'from 1<!--buggy.streams_used--> to 4.00<!--fixed.streams_used--> streams'
    is_file ch05_streams/planted.svg
    expect 0 docs --check
    mkdir -p ch05_streams/alone/evidence/h200
    cp ch05_streams/fixed.cu ch05_streams/alone/alone.cu
    cp "$recorded/fixed.sqlite" ch05_streams/alone/evidence/h200/alone.sqlite
    printf '%s\n' 'title = "one program"' '[[finding]]' 'id = "kernels"' 'says = "kernels run"' \
        'sql = "SELECT COUNT(*) FROM kernels"' 'expect = "> 0"' >ch05_streams/alone/case.toml
    printf '%s\n' '<!-- figure: single alone range= file=alone.svg -->' '<!-- /figure -->' >"$page"
    expect 0 docs
    check 'draws the figure of one program' contains "$(<"$page")" '![Timeline of alone: '
    printf 'one\n\n<!-- status: -->\nno end\n' >"$page"
    expect 2 docs --check
    says "$page:3: the block is not closed"
    printf 'first\n4<!--fixed.stream_used-->\n' >"$page"
    expect 2 docs --check
    says "$page:2: "
    says "no finding 'stream_used'; did you mean streams_used?"
}

run_parts help_and_usage names front_door first_build list_and_report run_recorded run_without_gpu colour analyze compare timeline docs
