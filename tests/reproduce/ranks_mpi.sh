#!/bin/sh
# ranks_mpi.sh MPIRUN RANKS: a short training on one, two and three MPI processes. One process gives the same weights as a run without MPI, bit for
# bit. Two processes give the same weights in two runs. The loss curve of three processes stays near that of one.
set -eu
mpirun=$1 program=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1
go() {
    count=$1
    shift
    "$mpirun" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -np "$count" "$program" --kind sparling --preset digitcircle-quick \
        --set width=8 --set batch=7 --set motifs=6 "$@"
}
"$program" --kind sparling --preset digitcircle-quick --set width=8 --set batch=7 --set motifs=6 --updates 20 >"$dir/0"
go 1 --updates 20 >"$dir/1"
go 2 --updates 20 >"$dir/2"
go 2 --updates 20 >"$dir/2again"
weights() { sed -n 's/.*weights //p' "$1"; }
[ -n "$(weights "$dir/0")" ] && [ "$(weights "$dir/0")" = "$(weights "$dir/1")" ]
[ "$(weights "$dir/2")" = "$(weights "$dir/2again")" ]
go 3 --updates 20 --stretch 10 >"$dir/3"
awk '/^largest:/ { seen = 1; if ($2 > 1e-5) bad = 1 } END { exit !seen || bad }' "$dir/3" || { cat "$dir/3"; exit 1; }
