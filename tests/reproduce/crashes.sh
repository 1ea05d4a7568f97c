#!/usr/bin/env bash
# Storage under kill -9 and under loss of power, by the hour: every run of either test is a fresh database, killed 12 times, or without power 30
# times, at random moments; after each, everything acknowledged must be there, once and whole. Ends at the first fault, and leaves its words.
#
#   tests/reproduce/crashes.sh BUILD [KILLS [LOSSES]]     2000 kills and 1000 losses of power without them
set -euo pipefail
build=$1 kills=${2:-2000} losses=${3:-1000}

# repeat TEST TIMES A_RUN
repeat() {
    local program=$build/tests/crash/test_$1 done=0 words
    while [ "$done" -lt "$2" ]; do
        words=$("$program" 2>&1) || { echo "$words"; exit 1; }
        done=$((done + $3))
        grep acknowledged <<<"$words" >>"$work/$1"
        printf '\r%s: %d of %d ' "$1" "$done" "$2" >&2
    done
    printf '\n' >&2
    awk -v name="$1" -v done="$done" '
        { for (i = 1; i < NF; i++) { if ($(i + 1) ~ /^jobs/) jobs += $i; if ($(i + 1) ~ /^checkpoints/) checkpoints += $i } }
        END { printf "%s: %d times, %d jobs and %d checkpoints acknowledged, none lost\n", name, done, jobs, checkpoints }' "$work/$1"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
repeat storage_kill "$kills" 12
repeat storage_power "$losses" 30
