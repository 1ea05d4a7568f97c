#!/usr/bin/env bash
# What the inputs that fuzzing kept go through, of the files that parse what a client or a file says.
#
#   tests/fuzz/coverage.sh FOLDER      FOLDER as tests/fuzz/long.sh fills it; the corpora of the tree count too
#
# Builds build-fuzz-coverage (clang, its own counters), runs each target over each of its inputs once, prints lines and branches a file.
set -euo pipefail
inputs=$(cd "$1" && pwd)/corpus
cd "$(dirname "$0")/../.."
build="build-fuzz-coverage"
counts=$PWD/$build/counts
files=(core/data/{archive,npy,npy_header,png,audio_wave,splicing_genes,genes,csv,source,collection,collection_build,collection_csv}.c
    core/data/{collection_fasta,collection_npz,collection_tar,collection_pack}.c
    api/{bundle_open,safetensors_parse,cursor,route,uri,json,config_json,lease_token}.c server/{guard,auth}.c)
targets=(archive bundle genes headers job npy png safetensors stored target wave upload_{npz,npy,csv,tar,fasta})

command -v llvm-cov >/dev/null || { echo "llvm-cov is not installed (Debian package llvm)"; exit 77; }
flags="-fprofile-instr-generate -fcoverage-mapping"
[ -e "$build/build.ninja" ] ||
    CC=${CC:-clang} CFLAGS=$flags LDFLAGS=$flags meson setup "$build" -Dbuildtype=debug -Dfuzz=true -Ddashboard=disabled -Db_sanitize=address,undefined \
        -Db_lundef=false >/dev/null
ninja -C "$build" "${targets[@]/#/tests/fuzz/fuzz_}" >/dev/null
rm -rf "$counts"
mkdir -p "$counts"
programs=()
for target in "${targets[@]}"; do
    folders=()
    for folder in "$inputs/$target" "tests/fuzz/corpus/${target/upload_*/collection}"; do
        [ ! -d "$folder" ] || folders+=("$folder")
    done
    # One process is enough: an input that ends it would be a finding.
    LLVM_PROFILE_FILE=$counts/$target.profraw "$build/tests/fuzz/fuzz_$target" "${folders[@]}" -runs=0 -close_fd_mask=1 >/dev/null 2>&1
    programs+=(-object "$build/tests/fuzz/fuzz_$target")
done
llvm-profdata merge -o "$counts/all" "$counts"/*.profraw
llvm-cov report "${programs[@]:1}" -instr-profile "$counts/all" "${files[@]/#/$PWD/}"
