#!/usr/bin/env bash
# The unit tests under valgrind's memcheck, one after another, a line for each: its seconds, what memcheck says against it (reads of what
# was never written, accesses beside a block), and the bytes it definitely lost. Ends with 1 when there is one of these, or a test fails.
#
#   tests/reproduce/valgrind.sh BUILD [NAME ...]     all of them, or these: storage_job pack ...
#
# A build for it:  meson setup build-valgrind -Dbuildtype=release -Dc_args=-DMOTIF_NO_FMA
# A release build will do as well, but valgrind calculates fused multiply-adds one by one: what trains is eighty times slower there (for OpenBLAS this
# picks its kernels without them). With -Ddebug=true it also says in which lines. LOGS (a folder, build/valgrind by default) keeps what valgrind wrote.
# LIMIT is the processor time in seconds after which a program is ended and named as not finished (1800). memcheck knows no AVX-512 and says so to
# the programs it runs: they take the AVX2 kernels by themselves, and OpenBLAS is told to.
set -euo pipefail
build=$(realpath "${1:-build}")
shift || true
cd "$(dirname "$0")/../.."
command -v valgrind >/dev/null || { echo "valgrind is not installed (Debian package valgrind)"; exit 77; }
logs=${LOGS:-$build/valgrind}
limit=${LIMIT:-1800}
mkdir -p "$logs"
logs=$(realpath "$logs")
# Without this a program would begin again as itself, and out of valgrind's hands (core/kernels/blas.h).
export OPENBLAS_CORETYPE=Haswell OPENBLAS_NUM_THREADS=1
if meson introspect --buildoptions "$build" | grep -q MOTIF_NO_FMA; then
    export OPENBLAS_CORETYPE=Sandybridge
fi

# What is no program of this tree, or is one in the hands of many processes of somebody else's; crash reads where nothing is, on purpose, and
# executor_child starts a program that is not there, which valgrind finds out too late to say so.
left_out=" structure install systemd_unit ranks-mpi crash executor_child "

# A line a test: its name, and its command as the shell reads it. Programs of the tree that a script of Python runs are put into
# valgrind's hands in its place.
list() {
    # shellcheck disable=SC2016 # for Python, and for the shell that reads the lines
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

# A script in the place of a program.
under() {
    local script=$logs/$1.sh
    {
        echo '#!/bin/sh'
        printf 'exec '
        printf '%q ' "${memcheck[@]}" "--log-file=$logs/$1.%p" "$2"
        # shellcheck disable=SC2016 # for the script
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
