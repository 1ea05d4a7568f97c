#!/usr/bin/env bash
# Measures how much of the files that parse untrusted bytes the fuzz corpora cover.
#
#   tests/fuzz/coverage.sh FOLDER      FOLDER as tests/fuzz/long.sh fills it; the archives in tests/fuzz/corpus count too
#
# Builds build-fuzz-coverage (clang with coverage counters), runs each target once over each of its inputs, and prints lines and branches of each file.
set -euo pipefail
inputs=$(cd "$1" && pwd)/corpus
cd "$(dirname "$0")/../.."
build="build-fuzz-coverage"
counts=$PWD/$build/counts
files=(core/formats/{archive,npy,audio_wave,fasta,csv,byte_source}.c core/draw/png.c core/data/splicing/splicing_genes.c
    core/data/uploads/collection{,_build,_csv,_fasta,_npz,_tar,_file}.c
    api/transfer/bundle_open.c api/formats/safetensors_parse.c api/http/{cursor,route,uri}.c protocol/{json,config_json}.c server/http/{guard,auth}.c)
for file in "${files[@]}"; do [ -e "$file" ] || { echo "$0: $file does not exist" >&2; exit 1; }; done
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
    tests/fuzz/corpus.sh unpack "${target/upload_*/collection}" "$counts/inputs/$target"
    for folder in "$inputs/$target" "$inputs/../seeds/$target" "$counts/inputs/$target"; do
        [ ! -d "$folder" ] || folders+=("$folder")
    done
    # One process runs all inputs. If an input ended the process, that would be a finding.
    LLVM_PROFILE_FILE=$counts/$target.profraw "$build/tests/fuzz/fuzz_$target" "${folders[@]}" -runs=0 -close_fd_mask=1 >/dev/null 2>&1
    programs+=(-object "$build/tests/fuzz/fuzz_$target")
done
llvm-profdata merge -o "$counts/all" "$counts"/*.profraw
# Columns of the report: file, regions (3), functions (3), lines (3), branches (3); each: number, missed, share covered.
llvm-cov report "${programs[@]:1}" -instr-profile "$counts/all" | awk -v wanted=" ${files[*]} " '
    function count(name, l, lm, b, bm) { printf "%-34s %6d lines %6.1f %%   %6d branches %6.1f %%\n", name, l, 100 - 100 * lm / l, b, b ? 100 - 100 * bm / b : 100 }
    { for (at = 1; at <= split(wanted, name, " "); at++)
        if (name[at] != "" && substr($1, length($1) - length(name[at])) == "/" name[at]) {
            count(name[at], $8, $9, $11, $12)
            lines += $8; missed += $9; branches += $11; without += $12
        } }
    END { count("all", lines, missed, branches, without) }'
