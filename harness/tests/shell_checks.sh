# shellcheck shell=bash disable=SC2016,SC2034
# What the tests of `lab` share; read by lab_*.sh, each called as  lab_X.sh LAB  in the repository's root. They work in
# a copy of the parts of the course that `parts` names. Machines are faked (fake_tools/README.md), so they run the same
# with a GPU and CUDA or without; what cannot be faked here is skipped with a sentence.
set -u
if (($# != 1)) || [[ ! -x $1 || ! -d harness/tests/fake_tools ]]; then
    echo "usage: $0 LAB, the built program, in the repository's root" >&2
    exit 2
fi
lab=$(realpath -- "$1")
readonly repository=$PWD
temporary=$(mktemp -d) || exit 2
trap 'rm -rf -- "$temporary"' EXIT
course=$temporary/course
export TMPDIR=$temporary/tmp LAB_LOCKS=$temporary/locks
mkdir "$course" "$TMPDIR" "$LAB_LOCKS"
if [[ ! -v parts ]]; then parts=(ch01_tools ch05_streams); fi
cp -R --parents "${parts[@]}" lab common harness/{doctor,tests/fake_tools,tests/samples} "$course" || exit 2
chmod -R u+w "$course"
cd "$course" || exit 2
# A fake machine has no libraries of Python: the test of such programs makes its own.
rm -rf ch*/python
sed -i '/^<!-- measured: single python.* -->$/,/^<!-- \/measured -->$/d' ch*/README.md
exercises_of_ch05=$(compgen -G "ch05_streams/exercises/*/" | wc -l)
readonly exercises_of_ch05
# These tests are about what is recorded: a draft's other answers are left out. One of which nothing is recorded stays a
# draft.
shopt -s nullglob
for patch in ch*/exercises/*/{wrong,right}/*.patch; do
    if [[ ! -e ${patch%/*/*}/evidence ]]; then continue; fi
    name=${patch##*/}
    runs=("${patch%/*/*}/evidence/"*/answers/"${name%.patch}"{.sqlit[e],.draw*.sqlite})
    if ((${#runs[@]} == 0)); then rm -- "$patch"; fi
done
for file in ch*/exercises/*/evidence; do sed -i '1,/^\[/{/^draft = true$/d}' "${file%/*}/case.toml"; done
shopt -u nullglob
# So are recordings that are drafts, with the blocks that ask them.
for file in ch*/case.toml ch*/exercises/*/case.toml; do
    awk 'BEGIN { RS = "\n\\[" }
        { block[NR] = $0 }
        NR > 1 && /^\[recording\]\]/ && /\ndraft = true/ { match($0, /name = "[^"]*"/)
            draft["recording = " substr($0, RSTART + 7, RLENGTH - 7)] = 1; left_out[NR] = 1 }
        END { for (i = 1; i <= NR; ++i) {
                for (asks in draft) if (index(block[i], "\n" asks)) left_out[i] = 1
                if (!left_out[i]) printf "%s%s", (i > 1 ? "\n[" : ""), block[i] } }' "$file" >"$temporary/case.toml"
    cp "$temporary/case.toml" "$file"
done
# Leaves of chapter 5 the pair and the first exercise, for what judges all of it again and again. Questions about the
# others go with them.
keep_one_exercise() {
    rm -r ch05_streams/exercises/{[2-9]_*,[1-9][0-9]_*}
    awk -v RS= -v ORS='\n\n' '!/\ncase = /' ch05_streams/chapter.toml >"$temporary/chapter.toml"
    mv "$temporary/chapter.toml" ch05_streams/
}
unset COLUMNS NO_COLOR CDPATH CI LAB_ROOT LAB_BUILD LAB_INSTALL
export TERM=xterm-256color LC_ALL=C.UTF-8
readonly plain_path=/usr/bin:/bin escape=$'\e'
readonly recorded=ch05_streams/evidence/h200 exercise=ch05_streams/exercises/1_vector_add_pipeline
readonly answer=work/ch05_streams/1_vector_add_pipeline/answer.cu
passed=0 failed=0 skipped=0 topic='' command='' status=0 out='' err=''

# ---- what a check is

# Runs a program, or a function. Leaves `status`, `out` and `err`.
catch() {
    "$@" </dev/null >"$temporary/out" 2>"$temporary/err"
    status=$?
    out=$(<"$temporary/out") err=$(<"$temporary/err")
}
# Runs lab. Leaves also `command`, for messages.
try() {
    command="lab $*"
    catch timeout 60 "$lab" "$@"
}
# Runs lab, which should end so.
expect() { # exit code, then the words
    try "${@:2}"
    exits "$1"
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

# A container may have no pseudo-terminals, and a small system no script.
has_terminal() { script -qec true /dev/null </dev/null >/dev/null 2>&1; }

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

# As `try`, but none of the tools is found: lab also looks where NVIDIA's packages put them, so these folders are
# covered if need be. False, and nothing is run, where that cannot be done.
try_without() { # tools, comma-separated; then the words of lab
    local places=() place tool there=''
    for place in /usr/local/cuda* /usr/local/nvidia /opt/nvidia /usr/lib/nsight-* /usr/lib/wsl; do
        if [[ -d $place && ! -L $place ]]; then places+=("$place"); fi
    done
    for tool in ${1//,/ }; do
        if command -v "$tool" >/dev/null; then return 1; fi
        if ((${#places[@]})); then there+=$(find "${places[@]}" -maxdepth 4 -name "$tool" -print -quit); fi
    done
    shift
    if [[ -z $there ]]; then
        try "$@"
        return 0
    fi
    if ! can_mount; then return 1; fi
    command="lab $*"
    catch with_own_mounts timeout 60 "$BASH" -c '
        while [[ $1 != -- ]]; do mount -t tmpfs none "$1" || exit 99; shift; done
        shift; exec "$@"' "$BASH" "${places[@]}" -- "$lab" "$@"
}

make_machines() {
    rm -rf "$temporary"/{no_gpu,no_nvcc,no_nsys,no_sanitizer,nothing,whole}
    machine no_gpu nvidia-smi=broken nvcc
    machine no_nvcc nvidia-smi=broken
    machine no_nsys nvidia-smi nvcc
    machine no_sanitizer nvidia-smi nvcc nsys
    machine nothing
    machine whole nvidia-smi nvcc nsys ncu compute-sanitizer
    on no_gpu
}
make_machines

# Runs the parts, and ends with their sum. Each begins with the course and the machines as they are now.
run_parts() { # functions, each with its topic
    local part
    cp -R "$course" "$temporary/kept"
    for part in "$@"; do
        "$part"
        cd / && rm -rf "$course" && cp -R "$temporary/kept" "$course" && cd "$course" || exit 2
        make_machines
    done
    printf '%d passed, %d failed' "$passed" "$failed"
    if ((skipped)); then printf ', %d skipped' "$skipped"; fi
    printf '\n'
    ((failed == 0))
}
