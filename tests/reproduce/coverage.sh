#!/usr/bin/env bash
# Which lines and branches the tests go through: overall, by room, and the files where most is missing.
#
#   tests/reproduce/coverage.sh                    builds build-coverage, runs the suites unit and wire, counts
#   tests/reproduce/coverage.sh -r storage,api     counts in these rooms only: the rest is built as always, so this is minutes and not an hour
#   tests/reproduce/coverage.sh -s unit            this suite only (more than one: -s unit -s wire)
#   tests/reproduce/coverage.sh -t "NAME NAME"     these tests only
#   tests/reproduce/coverage.sh -k ...             keeps the counts of earlier runs and adds to them
#   tests/reproduce/coverage.sh -n ...             runs nothing: counts what earlier runs left
#
# gcc counts, gcovr (Debian package) reads. What is counted is compiled without optimisation, so a branch is one of the source: a condition of
# `a && b` has four. Assertions are left out, as they are from a release. No other branch is: also those that only a fault of hardware or
# kernel would take count as missing. core/kernels/fast is compiled with small tiles, as sanitizers have it. Counters are atomic. What a
# process that SIGKILL ends has done does not count; others write it down however they end (coverage_ends.c).
# On one core (`taskset -c 0`) threads do not wait for each other's counters: a training takes a fraction of the time. mpirun wants its cores.
set -euo pipefail
cd "$(dirname "$0")/../.."
build="build-coverage"
rooms=core,storage,api,server,trainer
suites=() tests='' keep=no run=yes
while getopts r:s:t:kn option; do
    case $option in
    r) rooms=$OPTARG ;;
    s) suites+=("$OPTARG") ;;
    t) tests=$OPTARG ;;
    k) keep=yes ;;
    n) run=no ;;
    *) exit 2 ;;
    esac
done
[ "${#suites[@]}" -gt 0 ] || suites=(unit wire)
command -v gcovr >/dev/null || { echo "gcovr is not installed (Debian package gcovr)"; exit 77; }

# The compiler: gcc, and for sources of these rooms with counters.
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
    ../core/*.c | ../storage/*.c | ../api/*.c | ../server/*.c | ../trainer/*.c) source=\${argument#../} source=\${source%%/*} more=(-O0) ;;
    esac
done
compiler=(gcc)
command -v ccache >/dev/null && compiler=(ccache gcc)
case ,$rooms, in *,"\$source",*) exec "\${compiler[@]}" "\$@" --coverage -fprofile-update=atomic "\${more[@]}" ;; esac
[ "\$source" != none ] || for argument; do [ "\$argument" = -c ] && exec "\${compiler[@]}" "\$@"; done
for argument; do case \$argument in -c | --version | -E | -print* | -dump*) exec "\${compiler[@]}" "\$@" ;; esac; done
case " \$* " in *" -shared "*) exec "\${compiler[@]}" "\$@" --coverage ;; esac
ends=(-Wl,--wrap=_exit,--wrap=execv,--wrap=execvp,--wrap=fork,--wrap=raise "$PWD/$build-compiler/ends.o")
exec "\${compiler[@]}" "\$@" --coverage "\${ends[@]}"
EOF
if ! cmp -s "$wrapper" "$wrapper.new"; then # other rooms, another build
    mv "$wrapper.new" "$wrapper"
    chmod +x "$wrapper"
    rm -rf "$build"
    gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -c tests/reproduce/coverage_ends.c -o "$build-compiler/ends.o"
    CC=$wrapper meson setup "$build" --buildtype=release -Dtests=true -Ddashboard=disabled
else
    rm "$wrapper.new"
fi
if [ "$run" = yes ]; then
    ninja -C "$build"
    [ "$keep" = yes ] || find "$build" -name '*.gcda' -delete
    status=0
    what=("${suites[@]/#/--suite=}")
    [ -z "$tests" ] || read -ra what <<<"$tests"
    meson test -C "$build" --no-rebuild --timeout-multiplier 20 --logbase coverage --print-errorlogs "${what[@]}" || status=$?
    [ "$status" = 0 ] || echo "some tests did not pass: what they should have shown may be missing below"
fi
# core is compiled a second time, with doubles: gcovr 5 cannot put both together, and the floats are what ships.
gcovr --root . --filter "($(tr , '|' <<<"$rooms"))/" --exclude-directories "$build/tests" --exclude-directories ".*_double.*" --json-summary "$build/coverage.json" \
    --gcov-ignore-parse-errors "$build" >"$build/coverage.txt"
python3 tests/reproduce/coverage.py "$build/coverage.json"
