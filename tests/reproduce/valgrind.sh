#!/usr/bin/env bash
# Runs the unit tests under valgrind's memcheck, one after another. Prints a line for each: its seconds, the number of errors (reads of
# uninitialised memory, accesses outside a block), and the bytes definitely lost. Exits with 1 if there is an error or a leak, or a test fails.
#
#   tests/reproduce/valgrind.sh BUILD [NAME ...]     all tests, or the given ones: storage_job snapshot ...
#
# A build for this script:  meson setup build-valgrind -Dbuildtype=release -Dc_args=-DMOTIF_NO_FMA
# A release build also works, but valgrind emulates fused multiply-adds one by one, which makes a training eighty times slower. In a build without
# them the script selects OpenBLAS kernels without them too. With -Ddebug=true valgrind also prints line numbers. LOGS is the folder for valgrind's
# output (build/valgrind by default). LIMIT is the processor time in seconds after which a program is ended and reported as not finished (1800).
# memcheck does not support AVX-512. Our programs detect this and use the AVX2 kernels; the script sets the variable that OpenBLAS needs.
set -euo pipefail
build=$(realpath "${1:-build}")
shift || true
cd "$(dirname "$0")/../.."
command -v valgrind >/dev/null || { echo "valgrind is not installed (Debian package valgrind)"; exit 77; }
logs=${LOGS:-$build/valgrind}
limit=${LIMIT:-1800}
mkdir -p "$logs"
logs=$(realpath "$logs")
# Without this variable a program would execute itself again and leave valgrind's control (core/kernels/blas.h).
export OPENBLAS_CORETYPE=Haswell OPENBLAS_NUM_THREADS=1
if meson introspect --buildoptions "$build" | grep -q MOTIF_NO_FMA; then
    export OPENBLAS_CORETYPE=Sandybridge
fi

# Left out: tests that are no program of this tree, and ranks-mpi, whose programs run under many processes of Open MPI. crash reads an invalid
# address on purpose. executor_child starts a program that does not exist, which valgrind notices too late to report.
left_out=" structure install systemd_unit ranks-mpi crash executor_child "

# Prints a line for each test: its name, and its command in the shell's syntax. Where a Python script runs a program of the tree, the script
# receives a wrapper that runs the program under valgrind.
list() {
    # shellcheck disable=SC2016 # the variables belong to Python and to the shell that reads the lines
    meson introspect "$build" --tests | python3 -c '
import json, os, shlex, sys
build, left, wanted = sys.argv[1], sys.argv[2].split(), sys.argv[3:]
lines = {}
for test in json.load(sys.stdin):
    if not any(suite.split(":")[-1] == "unit" for suite in test["suite"]):
        continue
    name = test["name"]
    command = test["cmd"]
    command = [os.path.join(build, part) if os.access(os.path.join(build, part), os.X_OK) else part for part in command]
    script = not command[0].startswith(build)
    words = []
    for part in command:
        own = part.startswith(build + "/") and os.path.isfile(part) and os.access(part, os.X_OK) and "/../" not in part
        words.append("\"$(under %s %s)\"" % (name, shlex.quote(part)) if script and own else shlex.quote(part))
    if not script:
        words = ["\"${memcheck[@]}\"", "--log-file=\"$logs/%s.%%p\"" % name] + words
    environment = ["%s=%s" % (key, shlex.quote(value)) for key, value in test["env"].items()]
    lines[name] = " ".join(["env"] + environment + words)
for name in wanted or [name for name in lines if name not in left]:
    print(name, lines.get(name, "false"), sep="\t")
' "$build" "$left_out" "$@"
}

memcheck=(valgrind --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=9
    --suppressions="$PWD/tests/valgrind.suppressions"
    --trace-children=yes '--trace-children-skip=/bin/*,/usr/*,*/shims/*,*/python*')

# Writes a script that runs a program under valgrind; prints its path.
under() {
    local script=$logs/$1.sh
    {
        echo '#!/bin/sh'
        printf 'exec '
        printf '%q ' "${memcheck[@]}" "--log-file=$logs/$1.%p" "$2"
        # shellcheck disable=SC2016 # the script expands this
        echo '"$@"'
    } >"$script"
    chmod +x "$script"
    echo "$script"
}

total=0 clean=0
printf '%-24s %8s %9s %7s  %s\n' program seconds processes errors 'definitely lost'
while IFS=$'\t' read -r name command; do
    rm -f "$logs/$name".*
    begun=$SECONDS
    status=0
    (ulimit -St "$limit" && cd "$build" && eval "$command") </dev/null >"$logs/$name.out" 2>&1 || status=$?
    cat "$logs/$name".[0-9]* >"$logs/$name.log" 2>/dev/null || true
    processes=$(find "$logs" -name "$name.[0-9]*" | wc -l)
    errors=$(sed -n 's/.*ERROR SUMMARY: \([0-9,]*\) errors.*/\1/p' "$logs/$name.log" | tr -d , | awk '{n += $1} END {print n + 0}')
    lost=$(sed -n 's/.*definitely lost: \([0-9,]*\) bytes.*/\1/p' "$logs/$name.log" | tr -d , | awk '{n += $1} END {print n + 0}')
    ended=
    case $status in
        0 | 77) ;;
        9) ended="see $logs/$name.*" ;;
        137 | 152) ended="not finished after $limit s" ;;
        *) ended="ended with $status, see $logs/$name.out" ;;
    esac
    [ "$processes" != 0 ] || ended="${ended:-not run}"
    total=$((total + 1))
    if [ -z "$ended" ] && [ "$errors" = 0 ] && [ "$lost" = 0 ]; then
        clean=$((clean + 1))
    fi
    printf '%-24s %8d %9d %7d  %d%s\n' "$name" $((SECONDS - begun)) "$processes" "$errors" "$lost" "${ended:+  $ended}"
done < <(list "$@")
echo "valgrind: $clean of $total clean"
[ "$clean" = "$total" ]
