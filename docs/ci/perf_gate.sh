#!/usr/bin/env bash
# perf_gate.sh BASE TARGET FIGURE [ARGUMENT ...]: is TARGET, as it is checked out here, slower than in the commit BASE?
# FIGURE is a regular expression whose first group is the time that the program prints; arguments are the program's.
# LAB names the program lab, PAIRS how many runs of each (30). Both are built below build/ by CMake, TARGET at its top.
# Exits with 0 if it is not slower, 1 if it is, 2 if this machine could not have told, and 3 if an argument is wrong, or
# a build or a program failed.
set -euo pipefail
(($# >= 3)) || {
    echo 'usage: perf_gate.sh BASE TARGET FIGURE [ARGUMENT ...]; FIGURE is an expression such as ([0-9.]+) ms' >&2
    exit 3
}
base=$1 target=$2 figure=$3
shift 3

built() { # folder of the sources, of the build
    local said
    said=$(cmake -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=Release 2>&1 &&
        cmake --build "$2" --target "$target" 2>&1) && return
    printf '%s\n%s is not built: the lines above say why.\n' "$said" "$1" >&2
    exit 3
}
# The base is built here and now, by the same compiler; a number from last week has another driver.
git worktree add --quiet --force --detach build/base.src "$base" || exit 3
trap 'git worktree remove --force build/base.src' EXIT
built build/base.src build/base
built . build/head

gate() { # programs A and B
    printf '\n+ lab gate %s %s\n' "$@"
    "${LAB:-lab}" gate --figure "$figure" --pairs "${PAIRS:-30}" "$@" -- "${arguments[@]}"
}
ends_with() { # a verdict, whatever the exit code, of programs A and B
    local printed
    printed=$(gate "${@:2}") || (($? == 1)) || exit 3 # lab has said which program failed
    printf '%s\n' "$printed"
    grep -q "^$1" <<<"$printed"
}
arguments=("$@")
if ! ends_with '✓ no difference seen' build/base/"$target" build/base/"$target"; then # "faster" is no better
    echo 'A program differs from itself: the machine is busy, or its clocks wander. Nothing is told.' >&2
    exit 2
fi
# The same program, whose times are a tenth longer.
export PLANTED=build/base/$target FIGURE=$figure
cat >build/planted <<'END'
#!/usr/bin/env bash
set -o pipefail
"$PLANTED" "$@" | perl -pe 's{$ENV{FIGURE}}{ my ($all, $ms) = ($&, $1); $all =~ s/\Q$ms\E/$ms * 1.1/e; $all }e'
END
chmod +x build/planted
if ! ends_with '✗ slower' build/base/"$target" build/planted; then # or the runs scatter too much to tell
    echo 'A planted slowdown of a tenth is not found: this job could not fail.' >&2
    exit 2
fi
code=0
gate build/base/"$target" build/head/"$target" || code=$?
exit $((code > 1 ? 3 : code))
