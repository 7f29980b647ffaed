#!/usr/bin/env bash
# shellcheck disable=SC2016
# What a learner hands in, and what an instructor makes of it:  lab_class.sh LAB  (shell_checks.sh says how these tests
# work).
parts=(ch05_streams)
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

handed_in=$temporary/handed-in
hand_in() { # name
    expect 0 report --json --name "$1"
    printf '%s' "$out" >"$handed_in/$1.json"
}

report() {
    topic='report'
    on whole
    local text
    mkdir -p "$handed_in/late"
    try start ch05/1
    expect 1 check ch05/1
    hand_in Ada
    for text in "$temporary" "$HOSTNAME" work/; do prints_no "$text"; done
    echo '#error not finished' >>"$answer"
    try check ch05/1
    hand_in Bo
    cp "$exercise/solution.cu" "$answer"
    expect 0 check ch05/1
    hand_in Cy
}

class() {
    topic='class'
    local made before name why
    expect 0 class "$handed_in"
    check 'nothing to warn of' test -z "$err"
    check 'where Ada stands' grep -Eq '^ +Ada +0 of [0-9]+ +0 +0 +ch05/vector_add_pipeline +.*streams.* 1 +0 ' <<<"$out"
    check 'where Bo stands' grep -Eq '^ +Bo +0 of [0-9]+ +0 +0 +ch05/vector_add_pipeline +does-not-compile +2 ' <<<"$out"
    check 'Cy is through' grep -Eq '^ +Cy +1 of [0-9]+ +0 +0 +0 of [0-9]+ +20' <<<"$out"
    before=$out

    made=$(<"$handed_in/Ada.json")
    printf '%s' "${made/\"made\": \"20/\"made\": \"19}" >"$handed_in/late/ada-again.json"
    head -c 400 "$handed_in/Ada.json" >"$handed_in/cut.json"
    printf '%s' "${made/\"version\": 1/\"version\": 2}" >"$handed_in/newer.json"
    printf '{"version": 1}' >"$handed_in/foreign${escape}[31m.json"
    printf 'My homework.' >"$handed_in/notes.txt"
    printf '{"x":%s1}' "$(printf '[%.0s' {1..90000})" >"$handed_in/nested.json"
    ln -s loop.json "$handed_in/loop.json"
    expect 0 class "$handed_in"
    check 'the rest is counted as before' test "$out" = "$before"
    while IFS=: read -r name why; do
        says "$name is not counted: $why"
    done <<'END'
late/ada-again.json:Ada.json is a newer report of Ada
cut.json:it is damaged
newer.json:it is from a newer lab
foreign[31m.json:it is no report of a learner
nested.json:it is no report of a learner: it is nested too deeply
END
    check 'a line each' test "$(wc -l <<<"$err")" -eq 5
    check 'lets no escape code through' lacks "$err" "$escape"
    check 'says why in a sentence' lacks "$err" 'json.exception'

    # The name is the same but for case and spaces, and would be a formula in a spreadsheet.
    sed -i 's/"Ada"/"=ad a,\\""/' "$handed_in/Ada.json"
    made=${made/\"made\": \"20/\"made\": \"29}
    printf '%s' "${made/\"Ada\"/\"=A DA,\\\"\"}" >"$handed_in/newest.json"
    expect 0 class "$handed_in" --csv
    says 'Ada.json is not counted: newest.json is a newer report of =A DA,"'
    check 'as CSV' grep -Eq "^\"'=A DA,\"\"\",0,[0-9]+,0,0,0,ch05/vector_add_pipeline,.*,1,0,0,[0-9]+,20" <<<"$out"
    check 'nothing but CSV' test "$(wc -l <<<"$out")" -eq 5
}

run_parts report class
