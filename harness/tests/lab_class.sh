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
    local made page=$temporary/class.html
    try class "$handed_in"
    exits 0
    check 'nothing to warn of' test -z "$err"
    check 'where Ada stands' grep -Eq '^ +Ada +0 of [0-9]+ +ch05/vector_add_pipeline +.*streams.* 1 +0 +0 of [0-9]+' <<<"$out"
    check 'where Bo stands' grep -Eq '^ +Bo +0 of [0-9]+ +ch05/vector_add_pipeline +does-not-compile +2 ' <<<"$out"
    check 'Cy is through' grep -Eq '^ +Cy +1 of [0-9]+ +0 of [0-9]+ +under 1 h' <<<"$out"
    check 'the most checks on top' test "$(grep -Eo 'Ada|Bo|Cy' <<<"$out" | tr '\n' ' ')" = 'Bo Ada Cy '
    check 'how the exercise goes' grep -Eq 'ch05/vector_add_pipeline +1 +2 +0 ' <<<"$out"

    made=$(<"$handed_in/Ada.json")
    printf '%s' "${made/\"made\": \"20/\"made\": \"19}" >"$handed_in/late/ada-again.json"
    head -c 400 "$handed_in/Ada.json" >"$handed_in/cut.json"
    printf '%s' "${made/\"version\": 1/\"version\": 2}" >"$handed_in/newer.json"
    printf '%s' "${made/\"checks\": 1/\"checks\": -1}" >"$handed_in/count.json"
    printf '%s' "${made/\"made\": \"/\"made\": \"x}" >"$handed_in/time.json"
    printf '%s' "${made/\"hints\"/\"hnits\"}" >"$handed_in/member.json"
    printf '{"version": 1}' >"$handed_in/foreign.json"
    printf 'My homework.' >"$handed_in/notes${escape}[31m.txt"
    printf '\377\376\0' >"$handed_in/binary"
    : >"$handed_in/empty.json"
    head -c 1100000 /dev/zero >"$handed_in/large"
    printf 'hidden' >"$handed_in/.hidden"
    local before=$out name why
    try class "$handed_in"
    exits 0
    check 'the rest is counted as before' test "$out" = "$before"
    while IFS=: read -r name why; do
        says "$name is not counted: $why"
    done <<'END'
late/ada-again.json:Ada.json is a newer report of Ada
cut.json:it is damaged
newer.json:it is from a newer lab
count.json:it is damaged: -1 is no count
time.json:it is damaged
member.json:it is damaged
foreign.json:it is no report of a learner
binary:it is no report of a learner
empty.json:it is damaged
large:it is too large
END
    says '[31m.txt is not counted'
    check 'a line each' test "$(wc -l <<<"$err")" -eq 11
    check 'lets no escape code through' lacks "$err" "$escape"

    mkdir "$temporary/tree"
    cp "$handed_in"/{Ada,cut}.json "$temporary/tree/"
    for name in {10..34}; do echo 'int main() {}' >"$temporary/tree/$name.cpp"; done
    try class "$temporary/tree"
    exits 0
    check 'ten files that are no reports are named' test "$(grep -c 'cpp is not counted' <<<"$err")" -eq 10
    says '15 more files are not counted'
    says 'cut.json is not counted: it is damaged'
    try class "$temporary/tree" --html "$temporary/not-there/class.html"
    exits 2
    says "there is no folder $temporary/not-there"
    printf '%s' "${made/\"made\": \"20/\"made\": \"29}" | sed 's/"Ada"/"ADA"/; s/"checks": 1/"checks": 9/' \
        >"$handed_in/newest.json"
    try class "$handed_in"
    says 'Ada.json is not counted: newest.json is a newer report of ADA'
    check 'the newest counts' grep -Eq '^ +ADA .* 9 +0 ' <<<"$out"
    rm "$handed_in/newest.json"

    try class "$handed_in" --csv
    exits 0
    check 'as CSV' grep -Eq '^Bo,0,[0-9]+,ch05/vector_add_pipeline,does-not-compile,2,0,0,[0-9]+,20[0-9TZ:-]+,0$' <<<"$out"
    check 'nothing but CSV' test "$(wc -l <<<"$out")" -eq 4
    try class "$handed_in" --html "$page"
    exits 0
    prints "$page"
    check 'as a page' grep -q '<th scope="row">Bo</th>' "$page"
    check 'the page is whole' test "$(tail -n 1 "$page")" = '</html>'
    try class "$handed_in" --csv --html "$page"
    exits 2
    mkdir "$temporary/none"
    printf '{}' >"$temporary/none/a.json"
    try class "$temporary/none"
    exits 2
    says 'a.json is not counted'
    says 'holds no report of a learner'
    try class "$temporary/no_such_folder"
    exits 2
    says 'is no folder'
    try class
    exits 2
}

run_parts report class
