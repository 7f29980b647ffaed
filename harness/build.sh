# shellcheck shell=bash disable=SC2154
# What ./lab needs beyond itself: installs what is missing, builds, tests. ./lab reads this file only when something is
# to be built, and sets `root`, `build`, say(), fail(), sources(), why_build()
# and check_build_folder().
log=$build/lab-build.log

fail_with_log() { # exit code, what failed, sentences
    say "$2 failed. $log ends with:"
    tail -n 30 "$log" >&2
    fail "$1" "$2 failed: see above, or all of it in $log." "${@:3}"
}
quietly() { "$@" </dev/null >>"$log" 2>&1; }
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt" 2>/dev/null; }

# `hard`: packages without which nothing can be built; `missing`: these, and those that CMake can do without.
find_missing() {
    hard=() missing=()
    local version package compiler program
    version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p')
    if ! printf '3.25\n%s\n' "${version:-0}" | sort -VC; then hard+=(cmake); fi
    read -ra compiler <<<"${CXX:-c++}"
    if ! "${compiler[@]}" -std=c++20 -x c++ -fsyntax-only - <<<'#include <ranges>' &>/dev/null; then hard+=(g++); fi
    if ! command -v ninja >/dev/null; then
        if command -v make >/dev/null; then missing+=(ninja-build); else hard+=(ninja-build); fi
    fi
    for package in libsqlite3-dev:sqlite3.h libtomlplusplus-dev:toml++/toml.h libcli11-dev:CLI/CLI.hpp \
        libfmt-dev:fmt/core.h nlohmann-json3-dev:nlohmann/json.hpp \
        libutf8proc-dev:utf8proc.h zlib1g-dev:zlib.h doctest-dev:doctest/doctest.h; do
        if [[ ! -e /usr/include/${package#*:} ]]; then missing+=("${package%%:*}"); fi
    done
    # patch makes the wrong answers that verify and record run; the pages' queries need sqlite3.
    for program in patch sqlite3; do
        if ! command -v "$program" >/dev/null; then missing+=("$program"); fi
    done
    missing=("${hard[@]}" "${missing[@]}")
}

# Installs what is missing where that takes no password, unless LAB_INSTALL is `no`. Else sets `by_hand`, the command
# that would install it, and ends ./lab where nothing can be built without it.
install_missing() {
    by_hand=''
    find_missing
    if ((${#missing[@]} == 0)); then return; fi
    if command -v apt-get >/dev/null; then
        by_hand="apt-get update && apt-get install -y ${missing[*]}"
        local become=()
        if ((EUID != 0)); then
            become=(sudo -n)
            if command -v sudo >/dev/null; then by_hand="sudo sh -c '$by_hand'"; else by_hand="su -c '$by_hand'"; fi
        fi
        if [[ ${LAB_INSTALL-} == no ]]; then
            if ((${#hard[@]} == 0)); then
                say "going on without ${missing[*]}, as LAB_INSTALL is no. This installs them: $by_hand"
            fi
        elif "${become[@]}" true &>/dev/null; then
            local apt=("${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300)
            local install=("${apt[@]}" install --no-install-recommends "${missing[@]}")
            say "installing ${missing[*]} (apt-get, once; LAB_INSTALL=no leaves it to you)"
            quietly "${install[@]}" || { quietly "${apt[@]}" update && quietly "${install[@]}"; }
            find_missing
            if ((${#missing[@]} == 0)); then by_hand=''; fi
            if ((${#hard[@]} > 0)); then
                fail_with_log 2 "installing ${hard[*]}" 'CMake 3.25, GCC 11 and Ninja, or anything newer, will do.'
            fi
        fi
    fi
    if ((${#hard[@]} == 0)); then return; fi
    say "./lab has to be built first: with CMake 3.25 or newer, a C++20 compiler, and Ninja or Make." \
        "No usable version of these is here: ${hard[*]}."
    if [[ -n $by_hand ]]; then fail 2 'This installs all that is missing; then run ./lab again:' "  $by_hand"; fi
    fail 2 'Install what is missing, then run ./lab again.'
}

# A build folder that was copied, or moved with its tree, names its old place: what does so goes first. An nvcc that is
# broken must not keep anyone from ./lab doctor, so the program is then built without it, until it works.
configure() { # target
    if [[ -e $build/build.ninja || -e $build/Makefile ]] &&
        [[ -e $build/CMakeCache.txt && ! -e $build/.lab-no-cuda ]] &&
        [[ $(cached CMAKE_HOME_DIRECTORY) -ef $root && $(cached CMAKE_CACHEFILE_DIR) -ef $build ]]; then
        return
    fi
    if [[ $(cd "$root" && pwd)$build == *[\#\;\"\\]* ]]; then
        fail 2 "CMake cannot build in a folder with # ; \" or \\ in its path. Move the course to another one: $root"
    fi
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles" "$build"/_deps/*-subbuild "$build/.lab-no-cuda"
    local cmake=(cmake -S "$root" -B "$build" -G Ninja)
    if ! command -v ninja >/dev/null; then cmake=(cmake -S "$root" -B "$build" -G 'Unix Makefiles'); fi
    quietly "${cmake[@]}" && return
    if [[ $1 == lab_command && $(cached LAB_NVCC) == /* ]] && quietly "${cmake[@]}" -DLAB_CUDA=OFF; then
        touch "$build/.lab-no-cuda"
        say "nvcc does not work here ($log says why), so this build leaves it out. ./lab doctor says more."
        return
    fi
    fail_with_log 2 'preparing the build' \
        ${by_hand:+"Some libraries are missing here, and could not be fetched. This installs them: $by_hand"}
}

# On a terminal, the build's progress lines, each in place of the last; elsewhere a count every ten seconds.
show_progress() {
    if [[ ! -t 2 || ${TERM:-dumb} == dumb ]]; then
        local said=$SECONDS
        while IFS= read -r line; do
            if [[ $line == \[*/*\]* ]] && ((SECONDS - said >= 10)); then
                said=$SECONDS
                say "  ${line%%]*}]"
            fi
        done
        return
    fi
    while IFS= read -r line; do
        if [[ $line == \[* ]]; then printf '\r\e[K%.78s' "$line" >&2; fi
    done
    printf '\r\e[K' >&2
}

# Builds targets, unless these are the program alone and it is up to date. One ./lab at a time builds: the others wait.
build() { # targets with blanks between them, their name in messages
    local why
    if ! mkdir -p "$build" 2>/dev/null || [[ ! -w $build ]]; then
        fail 2 "$build cannot be written to. Name another build folder: LAB_BUILD=\$HOME/.cache/lab-build ./lab"
    fi
    check_build_folder
    exec 9>>"$build/.lab-build.lock"
    flock -n 9 || { say 'waiting for another ./lab, which is building' && flock 9; }
    why=$(why_build)
    if [[ $1 != lab_command || -n $why ]]; then
        : >"$log"
        install_missing
        if [[ $1 != lab_command ]]; then why="some minutes the first time; details in $log"; fi
        say "building $2 ($why)"
        sources >"$build/.lab-building"
        configure "$1"
        export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
        # shellcheck disable=SC2086 # several targets
        cmake --build "$build" --target $1 </dev/null 2>&1 | tee -a "$log" | show_progress
        if ((PIPESTATUS[0] != 0)); then fail_with_log 1 "building $2"; fi
        mv "$build/.lab-building" "$build/.lab-built"
    fi
    exec 9>&-
}

# After ctest's own summary: how many tests were skipped, each with the last line that it printed.
say_skipped() {
    awk -F'"' '/<testcase /{ ++all; name = $2; skipped = 0; why = "it ended with exit code 77 and no word" }
        /<skipped/ { skipped = 1 }
        skipped { text = $0; gsub(/<[^>]*>/, "", text); if (text ~ /[^ \t]/) why = text }
        /<\/testcase>/ && skipped { ++count; sub(/^[ \t]+/, "", why); lines = lines "\n  " name ": " why }
        END {
            gsub(/&lt;/, "<", lines); gsub(/&gt;/, ">", lines); gsub(/&quot;/, "\"", lines); gsub(/&amp;/, "\\&", lines)
            if (all) printf "\nskipped: %d of %d tests%s\n", count, all, count ? ", which cannot run here:" lines : ""
        }' "$build/tests.xml"
    if [[ $(cached LAB_CUDA) != ON || $(cached LAB_NVCC) != /* ]]; then
        echo 'not built, so not even counted: the CUDA programs and their tests, for want of nvcc'
    fi
}

# Each test of commands works in a copy of the course. In memory that takes no time; so there, if there are 2 GiB for it
# and programs may run from it, which containers often forbid.
work_in_memory() {
    if [[ -n ${TMPDIR-} || $(df --output=avail /dev/shm 2>/dev/null | tail -n 1) -lt 2097152 ]]; then return; fi
    scratch=$(mktemp -d /dev/shm/lab.XXXXXX 2>/dev/null) || return 0
    trap 'rm -rf -- "$scratch"' EXIT
    printf '#!/bin/sh\n' >"$scratch/trial"
    chmod +x "$scratch/trial"
    if "$scratch/trial" 2>/dev/null; then export TMPDIR=$scratch; fi
}

run_tests() {
    local chapter=''
    if [[ ${1-} == -L && ${2-} == ch[0-9][0-9]* ]]; then chapter=$(cd "$root" && compgen -G "${2:0:4}_*" | head -n 1); fi
    if [[ -n $chapter ]]; then build "lab_command $chapter" "what tests $chapter"; else build all 'everything'; fi
    work_in_memory
    rm -f "$build/tests.xml"
    ctest --test-dir "$build" --output-on-failure --no-tests=error --output-junit tests.xml -j"$(($(nproc) + 1))" "$@"
    local status=$?
    if [[ -e $build/tests.xml ]]; then say_skipped; fi
    exit "$status"
}
