#!/usr/bin/env bash
# Measures the line and branch coverage of the tests: overall, for each folder, and the files with the most uncovered branches.
#
#   tests/reproduce/coverage.sh                    builds build-coverage, runs the suites unit and wire, prints the coverage
#   tests/reproduce/coverage.sh -r storage,api     measures these folders only; takes minutes instead of an hour, because the rest is built normally
#   tests/reproduce/coverage.sh -s unit            runs this suite only (more than one: -s unit -s wire)
#   tests/reproduce/coverage.sh -t "NAME NAME"     builds what these tests need, and runs them only
#   tests/reproduce/coverage.sh -k ...             keeps the counts of earlier runs and adds to them
#   tests/reproduce/coverage.sh -n ...             runs no tests: prints the coverage of earlier runs
#
# gcc inserts the counters; gcovr (Debian package) reads them. The measured files are compiled without optimisation, so that branches are those of
# the source: the condition `a && b` has four. Assertions are compiled out, as in a release. All other branches count, even those that the program
# takes only after a fault of the hardware or the kernel. core/kernels/fast is compiled with small tiles, as in builds with sanitizers. Counters are
# atomic. The counts of a process that SIGKILL ends are lost. Every other process writes its counts, however it ends (coverage_ends.c).
# On one core (`taskset -c 0`) threads do not wait for each other's counters, so a training takes a fraction of the time. mpirun needs all its cores.
set -euo pipefail
cd "$(dirname "$0")/../.."
build="build-coverage"
folders=core,storage,api,server,trainer
suites=() tests='' keep=no run=yes
while getopts r:s:t:kn option; do
    case $option in
    r) folders=$OPTARG ;;
    s) suites+=("$OPTARG") ;;
    t) tests=$OPTARG ;;
    k) keep=yes ;;
    n) run=no ;;
    *) exit 2 ;;
    esac
done
[ "${#suites[@]}" -gt 0 ] || suites=(unit wire)
command -v gcovr >/dev/null || { echo "gcovr is not installed (Debian package gcovr)"; exit 77; }

# The compiler is gcc, with counters for the sources of the measured folders.
wrapper=$PWD/$build-compiler/cc
mkdir -p "$build-compiler"
cat >"$wrapper.new" <<EOF
#!/usr/bin/env bash
# Written by tests/reproduce/coverage.sh.
set -f
more=() source=none
for argument; do
    case \$argument in
    */core/kernels/fast/*.c) source=core more=(-O1 -DMOTIF_SMALL_TILES) ;;
    ../core/*.c | ../storage/*.c | ../api/*.c | ../server/*.c | ../trainer/*.c | ../convert/*.c) source=\${argument#../} source=\${source%%/*} more=(-O0) ;;
    esac
done
compiler=(gcc)
command -v ccache >/dev/null && compiler=(ccache gcc)
case ,$folders, in *,"\$source",*) exec "\${compiler[@]}" "\$@" --coverage -fprofile-update=atomic "\${more[@]}" ;; esac
[ "\$source" != none ] || for argument; do [ "\$argument" = -c ] && exec "\${compiler[@]}" "\$@"; done
for argument; do case \$argument in -c | --version | -E | -print* | -dump*) exec "\${compiler[@]}" "\$@" ;; esac; done
case " \$* " in *" -shared "*) exec "\${compiler[@]}" "\$@" --coverage ;; esac
ends=(-Wl,--wrap=_exit,--wrap=execv,--wrap=execvp,--wrap=fork,--wrap=raise "$PWD/$build-compiler/ends.o")
exec "\${compiler[@]}" "\$@" --coverage "\${ends[@]}"
EOF
if ! cmp -s "$wrapper" "$wrapper.new"; then # other folders need another build
    mv "$wrapper.new" "$wrapper"
    chmod +x "$wrapper"
    rm -rf "$build"
    gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -c tests/reproduce/coverage_ends.c -o "$build-compiler/ends.o"
    CC=$wrapper meson setup "$build" --buildtype=release -Dtests=true -Ddashboard=disabled
else
    rm "$wrapper.new"
fi
if [ "$run" = yes ]; then
    [ -n "$tests" ] || ninja -C "$build"
    [ "$keep" = yes ] || find "$build" -name '*.gcda' -delete
    status=0
    what=("${suites[@]/#/--suite=}")
    [ -z "$tests" ] || read -ra what <<<"$tests" # meson then builds only what these tests need
    [ -n "$tests" ] || what+=(--no-rebuild)
    meson test -C "$build" --timeout-multiplier 20 --logbase coverage --print-errorlogs "${what[@]}" || status=$?
    [ "$status" = 0 ] || echo "some tests failed; their coverage may be missing below"
fi
# core is compiled a second time, with doubles. gcovr 5 cannot merge the counts of both, so only those of the build with floats count, which users get.
gcovr --root . --filter "($(tr , '|' <<<"$folders"))/" --exclude-directories "$build/tests" --exclude-directories ".*_double.*" --json-summary "$build/coverage.json" \
    --gcov-ignore-parse-errors "$build" >"$build/coverage.txt"
python3 tests/reproduce/coverage.py "$build/coverage.json"
