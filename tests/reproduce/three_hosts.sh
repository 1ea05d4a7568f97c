#!/usr/bin/env bash
# Runs one job on three hosts over TCP. A daemon on the first host starts mpirun, which starts a rank on each host. The hosts are network namespaces
# of this machine (hosts.sh). The script kills the rank on the third host, then mpirun. The job must end with the weights of an undisturbed job, and
# no process may remain on any host.
#
#   tests/reproduce/three_hosts.sh build [SAMPLES]      as root, with openmpi-bin, libopenmpi-dev (for the build) and iproute2
set -euo pipefail
# shellcheck source=tests/reproduce/hosts.sh
. "$(dirname "$0")/hosts.sh"
build=$(realpath "${1:?the build folder}") samples=${2:-800}
for tool in mpirun ip unshare; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool is missing (openmpi-bin iproute2)"; exit 77; }
done
[ -x "$build/motif-train-mpi" ] || { echo "skipped: motif-train-mpi was not built (libopenmpi-dev)"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: network namespaces need root"; exit 77; }
work=$(mktemp -d)
name=motif$$
daemon=
tidy() {
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    [ -z "$daemon" ] || wait "$daemon" 2>/dev/null || true
    hosts_end "$name"
    rm -rf "$work"
}
trap tidy EXIT
fail() {
    echo "three_hosts.sh: $*" >&2
    tail -n 20 "$work/log" >&2 || true
    exit 1
}
until_true() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

hosts_make "$name" "$work"
mpirun="${hosts_mpi[*]} --mca mpi_yield_when_idle 1"
on_first() { on_host "$name" 1 "$@"; }
# Does not use on_first, because $! would then be the process of a shell and not the daemon.
ip netns exec "$name-1" unshare --uts sh -c 'hostname host1; exec "$@"' sh "$build/motifd" serve --listen 127.0.0.1:8080 --db "$work/db" --data "$work/data" --threads-per-job 1 --executors thread,mpirun \
    --mpirun "$mpirun" >"$work/out" 2>"$work/log" &
daemon=$!
until_true 60 grep -qs listening "$work/out" || fail "the daemon does not start"
ask() { on_first "$build/motifctl" "$@"; }
job=(submit --preset digitcircle-quick --executor mpirun --ranks 3 --set "total_samples=$samples" --set checkpoint_every=80 --set width=16 --set test_samples=20
    --set motif_samples=20 --set validation_samples=20 --set seed=5)
field() { ask show latest --json | python3 -c "import json, sys; job = json.load(sys.stdin); print($1)"; }
ranks_on() { # HOST: prints the training processes there
    local pid
    for pid in $(ip netns pids "$name-$1"); do
        ! grep -qs '^motif-train-mpi' "/proc/$pid/cmdline" && ! [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$build/motif-train-mpi" ] || echo "$pid"
    done
}
ask "${job[@]}" --watch >"$work/watch" 2>&1 || fail "the undisturbed run failed: $(tail -n 2 "$work/watch")"
wanted=$(field 'job["result"]["weights_sha256"]')
echo "three hosts, a rank on each: weights ${wanted:0:16}, $(field 'job["result"]["ranks"]') ranks, $(field 'round(job["result"]["seconds"])') s"

stands() { [ "$(field 'int((job["progress"] or {}).get("samples") or 0)')" -ge "$1" ]; }
ask "${job[@]}" >/dev/null
until_true 300 stands $((samples / 4)) || fail "the training does not start"
for i in 1 2 3; do [ "$(ranks_on "$i" | wc -w)" = 1 ] || fail "host $i must have exactly one rank; its ranks: $(ranks_on "$i")"; done
victim=$(ranks_on 3)
kill -KILL "$victim"
is_over() { [ ! -e "/proc/$victim" ]; }
until_true 30 is_over || fail "the rank is still alive"
echo "killed: the rank on the third host"
until_true 300 stands $((samples / 2)) || fail "the training does not continue"
victim=$(pgrep -f -- "--host 10.77.0.1,10.77.0.2" | while read -r pid; do [ "$(readlink "/proc/$pid/exe")" = "$build/motifd" ] || echo "$pid"; done | sed -n 1p)
[ -n "$victim" ] || fail "no process of mpirun was found"
old=$(ranks_on 2; ranks_on 3)
kill -KILL "$victim"
are_gone() { for pid in $old; do [ ! -e "/proc/$pid" ] || return 1; done; }
until_true 60 are_gone || fail "ranks of a killed mpirun are still alive on other hosts"
echo "killed: mpirun; its ranks on the other hosts are gone"
ask watch latest >"$work/watch" 2>&1 || fail "the run failed: $(tail -n 2 "$work/watch")"
[ "$(field 'job["result"]["weights_sha256"]')" = "$wanted" ] || fail "the weights differ"
for i in 1 2 3; do [ -z "$(ranks_on "$i")" ] || fail "a rank remains on host $i"; done
echo "the same weights, and no process remains"
kill "$daemon"
wait "$daemon" || fail "the daemon did not exit with 0"
daemon=
