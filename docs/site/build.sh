#!/usr/bin/env bash
# The course as a site, with its decks:  docs/site/build.sh OUT [LAB]
# Needs python3 with venv; and for the decks as PDF Chromium, without which they are left out. LAB is the program lab.
# SITE_VENV names a folder for Sphinx that outlives OUT; SITE_REPOSITORY is where links to folders lead, else to copies.
# Exits with 77 where Sphinx cannot be installed.
set -euo pipefail
if (($# < 1)); then
    echo "usage: docs/site/build.sh OUT [LAB]" >&2
    exit 2
fi
mkdir -p "$1"
out=$(realpath "$1")
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.."
lab=${2-./lab} site=docs/site venv=${SITE_VENV:-$out.venv}

run() { # prints the command, then runs it
    printf '+ %s\n' "${*@Q}" >&2
    "$@"
}

if ! cmp -s "$site/requirements.txt" "$venv/requirements.txt"; then
    if ! run python3 -m venv "$venv" ||
        ! run "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$site/requirements.txt"; then
        echo "not made: Sphinx cannot be installed here. It needs python3-venv, and the network once." >&2
        exit 77
    fi
    cp "$site/requirements.txt" "$venv"
fi

for chapter in ch*/; do
    mkdir -p "$out/$chapter"
    # A chapter whose findings need no trace has no timeline.
    if grep -q '<!-- figure: pair' "$chapter/README.md"; then
        run "$lab" run "${chapter%/}" --recorded --html "$out/${chapter}timeline.html" >/dev/null
    fi
done

# -W: a link that leads nowhere ends the build.
sphinx=("$venv/bin/sphinx-build" -q -E -W --keep-going -c "$site")
run "${sphinx[@]}" -j auto -d "$out.cache/pages" -b html . "$out"
cp "$out/README.html" "$out/index.html"
run "${sphinx[@]}" -d "$out.cache/decks" -t slides -b revealjs . "$out/slides"

status=0
run python3 "$site/print_decks.py" "$out/slides" || status=$?
if ((status != 77)); then exit "$status"; fi # 77: without Chromium there are no PDF
