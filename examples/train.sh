#!/bin/sh
# Trains a small model, waits for it, shows where its motifs are, and saves the weights. motifctl must be in PATH.
#
#   MOTIFD_SERVER=http://127.0.0.1:8080 examples/train.sh [FIELD=VALUE ...]
set -eu

settings=
for field; do
    settings="$settings --set $field"
done
# shellcheck disable=SC2086 # each word is an option
job=$(motifctl submit --preset digitcircle-quick $settings --name example | awk '{ print $NF }')
motifctl watch "$job"                       # exit code 0: succeeded, 1: failed
motifctl plot "$job" loss
motifctl motifs "$job" --seed 3
motifctl export "$job" model.safetensors
