#!/usr/bin/env bash
# shellcheck disable=SC2016
# What a shell offers when Tab is pressed:  lab_completion.sh LAB  (shell_checks.sh says how these tests work).
# shellcheck source=harness/tests/shell_checks.sh
source "${BASH_SOURCE[0]%/*}/shell_checks.sh"

# What bash offers behind these words, of which the last is being typed; a word a line, into `out`.
tab() {
    command="lab $* <Tab>"
    out=$(PATH=${lab%/*}:$PATH bash --noprofile --norc -c '
        source <(lab completion bash)
        complete -p lab | grep -q -- "-F _lab" || exit 1
        COMP_WORDS=(lab "$@") COMP_CWORD=$#
        _lab
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@" 2>"$temporary/err")
    status=$? err=$(<"$temporary/err")
    check 'no word of complaint' test -z "$err"
}
offers() { check "offers exactly '$1'" test "$(sort <<<"$out" | tr '\n' ' ')" = "$1${1:+ }"; }
nothing() { check 'offers nothing' test -z "$out"; }

in_bash() {
    topic='bash'
    local chapters
    chapters=$(printf '%s ' ch*/ | sed 's/_[a-z]*\///g')
    tab ''
    for name in list run check quiz class completion test help; do
        check "offers $name" grep -qx "$name" <<<"$out"
    done
    prints_no 'complete '
    check 'no hidden command' test "$(grep -cx complete <<<"$out")" -eq 0
    check 'without descriptions' lacks "$out" ' '
    tab st
    offers 'start'
    tab zzz
    nothing
    tab quiz ''
    offers "${chapters% }"
    tab quiz zzz
    nothing
    tab run ch05/v
    offers 'ch05/vector_add_pipeline'
    tab run ch0
    check 'chapters and exercises' grep -qx ch05/missing_event <<<"$out"
    check 'chapters, too' grep -qx ch05 <<<"$out"
    tab start ''
    check 'an exercise is no chapter' test "$(grep -cv / <<<"$out")" -eq 0
    tab run ch05 --
    offers '--help --json --live --recorded'
    tab run ch05 --live --
    offers '--help --json'
    tab run --json ''
    check 'a flag is no word' grep -qx ch05 <<<"$out"
    tab sanitize ch05/fixed --tool ''
    offers 'initcheck memcheck racecheck synccheck'
    tab sanitize --tool=racecheck ch05/fi
    offers 'ch05/fixed'
    tab sanitize --tool = racecheck ch05/fi
    offers 'ch05/fixed'
    tab sanitize ch05/missing_event/st
    offers 'ch05/missing_event/starter'
    tab completion ''
    offers 'bash fish zsh'
    tab help wat
    offers 'watch'
    tab nosuch ''
    nothing
    tab list surplus ''
    offers '--help --json'

    mkdir -p "$temporary/files/in folder"
    cd "$temporary/files" || exit 2
    touch a.sqlite b.nsys-rep c.txt 'd e.sqlite'
    tab analyze ''
    offers 'a.sqlite b.nsys-rep d e.sqlite in folder'
    tab analyze b
    offers 'b.nsys-rep'
    tab analyze a.sqlite --range ''
    nothing
    tab timeline a.sqlite --svg c
    offers 'c.txt'
    tab class ''
    offers 'in folder'
    tab gate ./c
    offers './c.txt'
    tab nsys ch05/fixed -- c
    offers 'c.txt'
    cd "$course" || exit 2
}

by_itself() {
    topic='lab complete'
    local begin end
    try complete -- run ch05/v
    exits 0
    check 'a word, and what it is' grep -Eq "^ch05/vector_add_pipeline$(printf '\t')." <<<"$out"
    try complete --
    exits 0
    prints 'list'
    mv common/nvcc.flags "$temporary/" # no course here
    LAB_ROOT='' try complete -- run ch
    exits 0
    mv "$temporary/nvcc.flags" common/
    cp ch05_streams/chapter.toml "$temporary/kept"
    echo 'no = [toml' >>ch05_streams/chapter.toml
    try complete -- run ch
    exits 0
    check 'a chapter that cannot be read is no reason to complain' test -z "$out$err"
    cp "$temporary/kept" ch05_streams/chapter.toml
    begin=$(date +%s%N)
    for _ in 1 2 3 4 5 6 7 8 9 10; do "$lab" complete -- run ch >/dev/null; done
    end=$(date +%s%N)
    command='lab complete -- run ch'
    check "takes 50 ms at most, not $(((end - begin) / 10000000)) ms" test $((end - begin)) -lt 500000000
    try complete -- run $'\e[31m'
    check 'lets no escape code through' lacks "$out$err" "$escape"
}

# ./lab must neither build nor look for what has changed.
front_door() {
    topic='./lab complete'
    command='./lab complete -- run ch05/v'
    out=$(LAB_BUILD=$temporary/not-built ./lab complete -- run ch05/v 2>&1)
    status=$?
    exits 0
    check 'says nothing where nothing is built' test -z "$out"
    check 'and builds nothing' test ! -e "$temporary/not-built"
    mkdir -p "$temporary/built/bin"
    ln -s "$lab" "$temporary/built/bin/lab"
    out=$(LAB_BUILD=$temporary/built ./lab complete -- run ch05/v 2>&1)
    check 'passes the words on' contains "$out" ch05/vector_add_pipeline
}

other_shells() {
    topic='zsh and fish'
    local shell
    for shell in bash zsh fish; do
        try completion "$shell"
        exits 0
        if ! command -v "$shell" >/dev/null; then
            skip "$shell is not here, so its script was not read"
            continue
        fi
        printf '%s\n' "$out" >"$temporary/script.$shell"
        command="$shell -n, of its script"
        check 'the shell can read it' "$shell" -n "$temporary/script.$shell"
    done
    if command -v fish >/dev/null; then
        command='lab run ch05/v <Tab>, in fish'
        out=$(PATH=${lab%/*}:$PATH HOME=$temporary fish --no-config -c '
            lab completion fish | source; complete -C "lab run ch05/v"; complete -C "lab "' 2>"$temporary/err")
        err=$(<"$temporary/err")
        prints 'ch05/vector_add_pipeline'
        prints 'a picture of a report'
    fi
    try completion tcsh
    exits 2
    says 'bash'
}

run_parts in_bash by_itself front_door other_shells
