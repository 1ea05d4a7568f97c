#!/bin/sh
# Compares the benchmark sparling-step with the training step of another program (PEER.py) on the same cores. The two programs run in turns.
#
#     compare_peer.sh MOTIFD PEER.py [PRESET [SECONDS [DENSITY [BACKWARD [PRECISION]]]]]
#
# PEER.py takes --preset --threads --batch --density --seconds and prints a JSON object with
# images_per_second. OpenBLAS runs in PEER.py with its kernels for SkylakeX unless the environment selects others.
# motifd selects its kernels itself. Prints both figures of each round and the ratio of the medians. Needs jq.
set -eu
motifd=$1 peer=$2 preset=${3:-small} seconds=${4:-20} density=${5:-0.5} backward=${6:-dense} precision=${7:-float}
rounds=3 threads=2 batch=10
python=${PYTHON:-/usr/bin/python3}

ours='' theirs=''
for round in $(seq "$rounds"); do
    mine=$("$motifd" bench sparling-step --preset "$preset" --threads "$threads" --batch "$batch" \
        --density "$density" --backward "$backward" --set precision="$precision" --seconds "$seconds" --json | jq .images_per_second)
    his=$(OPENBLAS_CORETYPE="${OPENBLAS_CORETYPE:-SkylakeX}" "$python" "$peer" --preset "$preset" --threads "$threads" --batch "$batch" \
        --density "$density" --seconds "$seconds" | jq .images_per_second)
    echo "round $round: motifd $mine images/s, peer $his images/s"
    ours="$ours $mine" theirs="$theirs $his"
done
median() { printf '%s\n' $1 | sort -g | sed -n "$(((rounds + 1) / 2))p"; }
jq -n --arg preset "$preset" --arg precision "$precision" --argjson ours "$(median "$ours")" --argjson theirs "$(median "$theirs")" \
    '{preset: $preset, precision: $precision, motifd_images_per_second: $ours, peer_images_per_second: $theirs, ratio: ($ours / $theirs)}'
