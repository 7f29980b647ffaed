#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2317
# lab is killed (kill -9) at random moments of record, check and quiz, and nothing is lost:
#   lab_kills.sh LAB [--kills COUNT] [--seed NUMBER]
# After each kill, evidence, progress and the learner's file are the old ones or the new ones, and whole; the same
# command then runs to its end, and leaves nothing behind. The tools are faked (shell_checks.sh says how
# these tests work). The seed draws the same moments again, as far as the machine goes along.
kills=15 seed=$RANDOM
program=${1-}
while (($# > 1)); do
    case $2 in
        --kills) kills=${3?--kills needs a count} ;;
        --seed) seed=${3?--seed needs a number} ;;
        *) echo "lab_kills.sh: what is $2?" >&2 && exit 2 ;;
    esac
    set -- "$1" "${@:4}"
done
set -- "$program"
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"
RANDOM=$seed

readonly progress=work/progress.txt answers=$temporary/answers
printf 'streams_with_kernels = 9\nhost_blocks = 1\nhidden_copies = 0.01\n' >"$answers"
# The solution passes and the starter does not; each kill finds another text in the file.
versions=("$exercise/solution.cu" "$exercise/starter.cu")
verbs=(record check quiz)
declare -A words=([record]='record ch05/1' [check]='check ch05/1' [quiz]="quiz ch05 --answers $answers")
declare -A took=() killed=() outlived=()

# The learner saves, and asks. Leaves `text`, what work/ has to hold from now on.
save() { # number of the round
    text=$(cat "${versions[$1 % 2]}" && echo "// look: at edit $1")
    mkdir -p "${answer%/*}"
    printf '%s\n' "$text" >"$answer"
}

# A digest of each file of evidence.
digests() { (cd "$recorded" && sha256sum -- *.sqlite *.nsys-rep); }

work_is_whole() {
    check 'the learner'"'"'s file is as it was saved' test "$(<"$answer")" = "$text"
    check 'nothing of the learner'"'"'s progress is lost' test "$(head -c "${#noted}" "$progress")" = "$noted"
    check 'every line of it is whole' test -z "$(grep -Evn \
        '^20[0-9-]{8}T[0-9:]{8}Z (started|failed|passed|hint|right|wrong) ch05_streams[/:][a-z_]+( [a-z_,-]+)?$' "$progress")"
    try report --json
    exits 0
}

# Each file of evidence is the old one, or a new one that can be read and holds what the findings ask.
evidence_is_whole() {
    local file
    digests >"$temporary/digests.now"
    check 'no file of evidence is gone' test "$(wc -l <"$temporary/digests.now")" -eq "$files"
    while read -r _ file; do
        if [[ $file != *.sqlite ]]; then continue; fi
        try analyze "$recorded/$file"
        exits 0
    done < <(comm -13 <(sort "$temporary/digests") <(sort "$temporary/digests.now"))
    try run ch05/1 --recorded
    exits 0
    mv "$temporary/digests.now" "$temporary/digests"
}

# What a killed lab leaves may stay only where nobody looks: in the folder for temporary files and in build/.
left_behind() { find . -path ./build -prune -o \( -name '*.part' -o -name '*.tmp' -o -name '*-journal' \) -print; }

# The command once more, to its end.
runs_again() { # verb
    # shellcheck disable=SC2086
    try ${words[$1]}
    case $1 in
        record) exits 0 ;;
        check) exits "$((round % 2))" ;;
        quiz) exits 1 ;;
    esac
    check 'a later lab is kept by nothing' lacks "$err" 'waiting for it to finish'
}

# Kills the command after a random share of the time that it takes.
kill_once() { # verb
    local pid pause milliseconds=${took[$1]}
    pause=$((RANDOM * 32768 + RANDOM))
    pause=$(printf '0.%03d' $((pause % (milliseconds > 999 ? 999 : milliseconds))))
    command="lab ${words[$1]}, killed after $pause s"
    # shellcheck disable=SC2086
    "$lab" ${words[$1]} </dev/null >"$temporary/out" 2>"$temporary/err" &
    pid=$!
    sleep "$pause"
    if kill -KILL "$pid" 2>/dev/null; then ((++killed[$1])); else ((++outlived[$1])); fi
    wait "$pid" 2>/dev/null
    status=$?
}

time_each() {
    local verb begin
    for verb in "${verbs[@]}"; do
        runs_again "$verb" # the first run builds, which no later one does
        begin=$(date +%s%N) killed[$verb]=0 outlived[$verb]=0
        runs_again "$verb"
        took[$verb]=$((($(date +%s%N) - begin) / 1000000 + 1))
    done
}

kill_it() {
    local verb
    topic='killed'
    on whole
    round=0
    save 0
    try start ch05/1
    time_each
    digests >"$temporary/digests"
    files=$(wc -l <"$temporary/digests")
    for ((round = 1; round <= kills; ++round)); do
        verb=${verbs[round % ${#verbs[@]}]}
        topic="kill $round of $kills (--seed $seed), $verb"
        save "$round"
        noted=$(<"$progress")
        kill_once "$verb"
        work_is_whole
        evidence_is_whole
        runs_again "$verb"
        work_is_whole
        evidence_is_whole
        check 'nothing is left behind' test -z "$(left_behind)"
    done
    topic='after all kills'
    try run ch05 --recorded
    exits 0
    try list
    exits 0
    for verb in "${verbs[@]}"; do
        printf '%-6s  %3d killed, %d had ended before; it takes %d ms\n' "$verb" "${killed[$verb]}" \
            "${outlived[$verb]}" "${took[$verb]}"
    done
    check 'most of the kills hit' test $((killed[record] + killed[check] + killed[quiz])) -ge $((kills / 2))
}


# Moments that chance hardly finds: a tool makes them last.
in_a_tool() {
    topic='killed while a tool runs'
    on whole
    save 0
    rm -rf build
    try check ch05/1
    exits 0
    local stamp=build/programs/${answer%.cu}.built lab_id child
    is_file "$stamp"
    save 1
    mode whole nvcc kills
    command='lab check ch05/1, killed by nvcc'
    "$lab" check ch05/1 </dev/null >"$temporary/out" 2>"$temporary/err" &
    wait "$!" 2>/dev/null
    status=$?
    exits 137
    check 'no program bears the stamp of another' test ! -e "$stamp"
    mode whole nvcc works
    save 0
    try check ch05/1
    exits 0

    mode whole nsys hangs
    command='lab check ch05/1, killed while nsys hangs'
    "$lab" check ch05/1 </dev/null >"$temporary/out" 2>"$temporary/err" &
    lab_id=$!
    child() { child=$(<"/proc/$lab_id/task/$lab_id/children") && [[ $(tr '\0' ' ' <"/proc/${child% }/cmdline") == sleep* ]]; }
    if [[ -r /proc/$lab_id/task/$lab_id/children ]]; then
        check 'nsys runs' eventually child
        kill -KILL "$lab_id"
        wait "$lab_id" 2>/dev/null
        check 'the tool has ended with lab' eventually test ! -e "/proc/${child% }"
    else
        kill "$lab_id"
        wait "$lab_id" 2>/dev/null
        skip 'this kernel does not tell of child processes'
    fi
    mode whole nsys works
    try check ch05/1
    exits 0
}

run_parts in_a_tool kill_it
