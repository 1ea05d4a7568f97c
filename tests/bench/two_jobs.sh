#!/bin/sh
# Compares two processes of one thread each with one process of two threads, in images per second. Both cases run in turns.
#
#     two_jobs.sh MOTIFD [PRESET [SECONDS]]
#
# Prints each round, then the ratio of the medians and the largest resident memory of a process; needs jq.
set -eu
motifd=$1 preset=${2:-small} seconds=${3:-10}
rounds=3 folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# step THREADS FILE: writes a benchmark's images per second and its peak memory in MB to FILE
step() {
    "$motifd" bench sparling-step --preset "$preset" --threads "$1" --batch 10 --density 0.5 --seconds "$seconds" --json \
        | jq '[.images_per_second, .peak_rss_mb]' > "$2"
}

one='' two=''
for round in $(seq "$rounds"); do
    step 2 "$folder/one"
    step 1 "$folder/left" & left=$!
    step 1 "$folder/right"
    wait "$left"
    one="$one $(jq '.[0]' "$folder/one")"
    two="$two $(jq -s '.[0][0] + .[1][0]' "$folder/left" "$folder/right")"
    echo "round $round: one job$(printf %s "$one" | sed 's/.* / /'), two jobs$(printf %s "$two" | sed 's/.* / /') images/s"
done
median() { printf '%s\n' $1 | sort -g | sed -n "$(((rounds + 1) / 2))p"; }
jq -s --argjson one "$(median "$one")" --argjson two "$(median "$two")" --arg preset "$preset" \
    '{preset: $preset, one_job: $one, two_jobs: $two, ratio: ($two / $one), peak_rss_mb: map(.[1]) | max}' \
    "$folder/one" "$folder/left" "$folder/right"
