#!/usr/bin/env bash
# shellcheck disable=SC2016
# What a learner hands in, and what an instructor makes of it:  lab_class.sh LAB  (shell_checks.sh says how these tests
# work).
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

handed_in=$temporary/handed-in
hand_in() { # name
    try report --json --name "$1"
    exits 0
    printf '%s' "$out" >"$handed_in/$1.json"
}

report() {
    topic='report'
    on whole
    local id=ch05_streams/vector_add_pipeline
    mkdir -p "$handed_in/late"
    try start ch05/1
    try check ch05/1
    exits 1
    check 'what failed is noted' grep -Eq " failed $id [a-z_,]+$" work/progress.txt
    try report
    check 'and shown' grep -Eq 'vector_add_pipeline +tried +1 +0 +[a-z_, ]*streams' <<<"$out"
    hand_in Ada
    check 'names what failed' grep -q '"streams_used"\|"streams' <<<"$out"
    for text in "$temporary" "$HOSTNAME" work/ /; do
        if [[ $text == / ]]; then text='"/'; fi
        prints_no "$text"
    done
    echo '#error not finished' >>"$answer"
    try check ch05/1
    try report
    prints 'does-not-compile'
    hand_in Bo
    cp "$exercise/solution.cu" "$answer"
    try check ch05/1
    exits 0
    try report
    check 'what is passed has failed by nothing' lacks "$out" 'does-not-compile'
    hand_in Cy

    try report --name Ada
    exits 2
    says '--json'
    try report --json --name ' '
    exits 2
    says 'not empty'
    if command -v git >/dev/null; then
        export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0='Grace Hopper'
        try report --json
        prints '"learner": "Grace Hopper"'
        GIT_CONFIG_VALUE_0=''
        try report --json
        prints "\"learner\": \"$(id -un)\""
        unset GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
    else
        skip 'there is no git to ask for a name'
    fi
    on no_gpu
    rm -rf work build
}

class() {
    topic='class'
    local made before deep name why
    try class "$handed_in"
    exits 0
    check 'nothing to warn of' test -z "$err"
    check 'where Ada stands' grep -Eq '^ +Ada +0 of [0-9]+ +ch05/vector_add_pipeline +.*streams.* 1 +0 +0 of [0-9]+ +20' <<<"$out"
    check 'where Bo stands' grep -Eq '^ +Bo +0 of [0-9]+ +ch05/vector_add_pipeline +does-not-compile +2 ' <<<"$out"
    check 'Cy is through' grep -Eq '^ +Cy +1 of [0-9]+ +0 of [0-9]+ +20' <<<"$out"
    check 'the most checks on top' test "$(grep -Eo 'Ada|Bo|Cy' <<<"$out" | tr '\n' ' ')" = 'Bo Ada Cy '
    check 'how the exercise goes' grep -Eq 'ch05/vector_add_pipeline +1 +2 +0 ' <<<"$out"
    before=$out

    made=$(<"$handed_in/Ada.json")
    printf '%s' "${made/\"made\": \"20/\"made\": \"19}" >"$handed_in/late/ada-again.json"
    head -c 400 "$handed_in/Ada.json" >"$handed_in/cut.json"
    printf '%s' "${made/\"version\": 1/\"version\": 2}" >"$handed_in/newer.json"
    printf '%s' "${made/\"checks\": 1/\"checks\": -1}" >"$handed_in/count.json"
    printf '%s' "${made/\"hints\"/\"hnits\"}" >"$handed_in/member.json"
    printf '{"version": 1}' >"$handed_in/foreign${escape}[31m.json"
    printf '\377\376\0' >"$handed_in/binary.json"
    head -c 1100000 /dev/zero >"$handed_in/large.json"
    # Printing the one and copying the other overflows the stack.
    deep=$(printf '[%.0s' {1..70000})$(printf ']%.0s' {1..70000})
    printf '%s' "${made/\"checks\": 1/\"checks\": $deep}" >"$handed_in/deep.json"
    printf '%s' "${made/\{/\{\"beside\": $deep,}" >"$handed_in/deep-beside.json"
    printf 'hidden' >"$handed_in/.hidden.json"
    printf 'My homework.' >"$handed_in/notes.txt"
    ln -s loop.json "$handed_in/loop.json"
    try class "$handed_in"
    exits 0
    check 'the rest is counted as before' test "$out" = "$before"
    while IFS=: read -r name why; do
        says "$name is not counted: $why"
    done <<'END'
late/ada-again.json:Ada.json is a newer report of Ada
cut.json:it is damaged
newer.json:it is from a newer lab
count.json:it is damaged
member.json:it is damaged
foreign[31m.json:it is no report of a learner
binary.json:it is damaged
large.json:it is too large
deep.json:it nests too deeply
deep-beside.json:it nests too deeply
END
    check 'a line each' test "$(wc -l <<<"$err")" -eq 10
    check 'lets no escape code through' lacks "$err" "$escape"

    # The name is the same but for case and spaces, has a control character, and would be a formula in a spreadsheet.
    sed -i 's/"Ada"/"=ad a,\\""/' "$handed_in/Ada.json"
    made=${made/\"made\": \"20/\"made\": \"29}
    made=${made/\"checks\": 1/\"checks\": 9}
    printf '%s' "${made/\"Ada\"/\"=A D\\u009bA,\\\"\"}" >"$handed_in/newest.json"
    try class "$handed_in" --csv
    exits 0
    says 'Ada.json is not counted: newest.json is a newer report of =A DA,"'
    check 'as CSV' grep -Eq "^\"'=A DA,\"\"\",0,[0-9]+,ch05/vector_add_pipeline,.*,9,0,0,[0-9]+,20" < <(sed -n 2p <<<"$out")
    check 'nothing but CSV' test "$(wc -l <<<"$out")" -eq 5
    mkdir "$temporary/none"
    printf '{}' >"$temporary/none/a.json"
    try class "$temporary/none"
    exits 2
    says 'a.json is not counted'
    says 'holds no report of a learner'
    try class "$temporary/no_such_folder"
    exits 2
    says 'is no folder'
}

# Four reports that name one chapter 6000 times took more than a minute when time grew with the square of that.
many() {
    topic='class, many chapters'
    local learner
    mkdir "$temporary/many"
    for learner in A B C D; do
        {
            printf '{"format": "cuda-tools-course report", "version": 1, "learner": "%s", ' $learner
            printf '"made": "2026-11-20T11:00:00Z", "last_activity": null, "chapters": ['
            printf '{"chapter":"c","quiz":{"right":0,"questions":0},"exercises":[{"name":"'$learner'%s","state":"tried",
"checks":1,"hints":0,"failed":[],"last_activity":null}]},' {1..5999}
            printf '{"chapter": "c", "quiz": {"right": 0, "questions": 0}, "exercises": []}]}'
        } >"$temporary/many/$learner.json"
    done
    try class "$temporary/many"
    exits 0
    check 'all of them are shown' test "$(grep -c '^  c/' <<<"$out")" -eq 23996
}

run_parts report class many
