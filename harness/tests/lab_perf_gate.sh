#!/usr/bin/env bash
# docs/ci/perf_gate.sh on a repository of five commits whose program needs no GPU:  lab_perf_gate.sh LAB
# (shell_checks.sh says how these tests work).
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"
job=$repository/docs/ci/perf_gate.sh

commit() { # name, C expression of the milliseconds that the program prints
    printf '#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n%s\n' "int main(int argc, char** argv) {
        struct timespec t; clock_gettime(CLOCK_REALTIME, &t); srand(t.tv_nsec);
        double any = rand() / (double)RAND_MAX, size = argc > 1 ? atof(argv[1]) : 10;
        printf(\"2 kernels, step: %.4f ms\\n\", $2); return !any; }" >app.c
    git add -A
    git -c user.name=me -c user.email=me@example.org commit -qm "$1"
    git tag "$1"
}

gate_of() { # from, to
    git checkout -q "$2"
    LAB=$lab PAIRS=20 try_job "$1" app 'step: ([0-9.]+) ms' 20
}

try_job() {
    command="perf_gate.sh $*"
    catch timeout 100 "$job" "$@"
}

a_job_for_ci() {
    topic='a job for CI'
    git init -q "$temporary/app"
    cd "$temporary/app" || return
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(app C)\nadd_executable(app app.c)\n' >CMakeLists.txt
    echo build >.gitignore
    commit steady 'size * (1 + any / 100)'
    commit slower 'size * (1.08 + any / 100)'
    commit erratic 'size * (1 + any * any * any * 9)'
    commit failing 'exit(3), size'
    commit broken 'size *'

    gate_of steady steady
    exits 0
    gate_of steady slower
    exits 1
    prints '+ lab gate build/base/app build/base/app'
    prints 'slower'
    gate_of slower steady
    exits 0
    gate_of erratic erratic
    exits 2
    for bad in failing broken; do
        gate_of steady $bad
        exits 3
        gate_of $bad steady
        exits 3
    done
    says 'is not built'
    check 'no work tree of it is left' test "$(git worktree list | wc -l)" -eq 1
    try_job steady
    exits 3
    says 'usage: perf_gate.sh'
    try_job unknown app x
    exits 3
}

run_parts a_job_for_ci
