#!/usr/bin/env bash
# Runs every target until it has made its number of executions: a million executions in a process, one process at a time. After an interruption, the
# same command continues.
#
#   tests/fuzz/long.sh build-fuzz FOLDER [TARGET ...]
#
# FOLDER/corpus/TARGET is the growing corpus, FOLDER/done/TARGET the count, FOLDER/find/TARGET-* are findings. A target with a finding stops.
set -euo pipefail
build=$(cd "$1" && pwd) here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"/{corpus,done,find,log,seeds}
cd "$2"
shift 2
# libFuzzer's entropic schedule is off, because with small inputs it takes three quarters of the time.
# A small quarantine of freed memory makes archives three times as fast, because allocations then reuse warm memory.
export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=2:malloc_context_size=4:strict_string_checks=1}
export MOTIF_CONVERT=$build/motif-convert
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}

count() { cat "done/$1" 2>/dev/null || echo 0; }

# Largest number of bytes of an input. In some formats short inputs reach all code, and the target runs several times as often.
longest() { case $1 in hdf5) echo 84 ;; upload_csv | upload_fasta | upload_meme | upload_bed | genes | headers) echo 1024 ;; convert) echo 16384 ;; *) echo 2048 ;; esac; }

# libhdf5 keeps freed memory for later. libFuzzer therefore searches for leaks after every input, which takes half a second.
leaks() { case $1 in hdf5) echo 0 ;; *) echo 1 ;; esac; }

at_once() { case $1 in http | convert) echo 50000 ;; *) echo 1000000 ;; esac; }

# all TARGET EXECUTIONS
all() {
    local target=$1 name=${1/upload_*/collection} ran
    local folders=("corpus/$target" "seeds/$target")
    mkdir -p "${folders[@]}"
    "$build/tests/fuzz/fuzz_${name}_random" --write "seeds/$target"
    "$here/corpus.sh" unpack "$name" "seeds/$target"
    while [ "$(count "$target")" -lt "$2" ]; do
        if ! "$build/tests/fuzz/fuzz_$target" "${folders[@]}" -entropic=0 -runs="$(at_once "$target")" -max_len="$(longest "$target")" -print_final_stats=1 -detect_leaks="$(leaks "$target")" \
            -artifact_prefix="find/$target-" -close_fd_mask=1 >"log/$target" 2>&1; then
            echo "$target: stopped after $(count "$target") executions; log/$target says why"
            return 0
        fi
        ran=$(awk '/stat::number_of_executed_units/ { print $2 }' "log/$target")
        echo $(($(count "$target") + ran)) >"done/$target"
    done
    echo "$target: $(count "$target") executions"
}

# Millions of executions of each target. An input of http is a connection to a whole server, one of convert a process.
goal() { case $1 in http | hdf5 | convert) echo 1 ;; *) echo 20 ;; esac; }

targets=("$@")
[ $# -gt 0 ] || targets=(png genes wave npy bigwig archive bundle jpeg tiff upload_{fasta,csv,npz,tar,npy,meme,bed} headers safetensors target stored job upload_h5ad hdf5 convert http)
for target in "${targets[@]}"; do all "$target" "$(goal "$target")000000"; done
