#!/usr/bin/env bash
# Repeats the storage tests with kill -9 and with simulated loss of power for hours. Each run of a test uses a new database and interrupts it at
# random moments: 12 kills, or 30 losses of power. After each interruption, the database must contain every acknowledged change completely and exactly once.
# The script ends at the first fault and prints the output of the test.
#
#   tests/reproduce/crashes.sh BUILD [KILLS [LOSSES]]     2000 kills and 1000 losses of power by default
set -euo pipefail
build=$1 kills=${2:-2000} losses=${3:-1000}

# repeat TEST TOTAL PER_RUN
repeat() {
    local program=$build/tests/crash/test_$1 done=0 output
    while [ "$done" -lt "$2" ]; do
        output=$("$program" 2>&1) || { echo "$output"; exit 1; }
        done=$((done + $3))
        grep acknowledged <<<"$output" >>"$work/$1"
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
