#!/usr/bin/env bash
# The contract that every chapter program keeps, checked without a GPU:  program_contract.sh BINARY
#   --help        exits 0 and prints each option with its range and default:  --count N   meaning (1 to 64; default 4)
#   bad option    exits 2 with a sentence on stderr that names it: unknown, no value, no number, outside the range
#   no GPU        exits 77 with one line on stderr, `no suitable GPU: ` and the reason
# Prints one line for each check that fails, and exits 1 if one did; 2 if there is no such program.
set -uo pipefail
if (($# != 1)) || [[ ! -x $1 || -d $1 ]]; then
    echo "usage: $0 BINARY, a chapter program that is built" >&2
    exit 2
fi
program=$(realpath -- "$1")
folder=$(mktemp -d) || exit 2
trap 'rm -rf -- "$folder"' EXIT
# The programs see no GPU, on a machine with one too: an option that is wrongly accepted ends at once.
export CUDA_VISIBLE_DEVICES=-1
checks=0 failures=0

# Runs the program; leaves `status`, `out` and `err`.
try() {
    timeout 60 "$program" "$@" </dev/null >"$folder/out" 2>"$folder/err"
    status=$?
    out=$(<"$folder/out") err=$(<"$folder/err")
}

check() { # whether it holds (0 or 1, as (()) has it), what should be
    ((++checks))
    if (($1)); then return; fi
    ((++failures))
    printf '%s: %s; it exited with %d, stderr: %s\n' "${program##*/}" "$2" "$status" "${err:+${err//$'\n'/ / }}"
}

# A bad option: exit code 2, and the message names the option.
refuses() { # option, then the arguments
    try "${@:2}"
    local shown="${*:2}"
    check "$((status == 2))" "'${shown:0:80}' must be refused with exit code 2"
    check "$([[ $err == *"$1"* ]] && echo 1 || echo 0)" "the message about '${shown:0:80}' must name $1"
}

try --help
help=$out
check "$((status == 0))" '--help must exit with 0'
check "$((${#err} == 0))" '--help must print on stdout only'
described='^ *(--[a-z][a-z0-9-]*) .*\((-?[0-9]+) to (-?[0-9]+); default (-?[0-9]+)\)$'
options=0
while IFS= read -r line; do
    if [[ ! $line =~ ^\ *(--[^ ]+) ]]; then continue; fi
    ((++options))
    option=${BASH_REMATCH[1]}
    if [[ ! $line =~ $described ]]; then
        check 0 "--help must end the line of $option with its range and default, as in '(1 to 64; default 4)'"
        continue
    fi
    low=${BASH_REMATCH[2]} high=${BASH_REMATCH[3]} default=${BASH_REMATCH[4]}
    check "$((low <= default && default <= high))" "the default of $option, $default, must lie in $low to $high"
    refuses "$option" "$option"
    refuses "$option" "$option" x
    refuses "$option" "$option" "${default}x"
    refuses "$option" "$option" ''
    refuses "$option" "$option" "$((low - 1))"
    refuses "$option" "$option" "$((high + 1))"
done <<<"$help"
check "$((options > 0))" '--help must name at least one option, since a program takes its sizes as options'

refuses --no-such-option --no-such-option
refuses stray stray

try
check "$((status == 77))" 'without a GPU it must exit with 77'
check "$([[ $err == 'no suitable GPU: '?* && $err != *$'\n'* ]] && echo 1 || echo 0)" \
    "without a GPU it must print one line on stderr that begins with 'no suitable GPU: '"

if ((failures > 0)); then
    echo "$failures of $checks checks of ${program##*/} failed"
    exit 1
fi
echo "${program##*/}: $checks checks passed"
