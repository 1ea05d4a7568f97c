#!/usr/bin/env bash
# Measures Open MPI's all-reduce over shared memory, and over TCP between three hosts, without delay and with delays that tc adds. The hosts are
# network namespaces of this machine, joined by a bridge. One job of three ranks runs on the three hosts.
#
#   tests/reproduce/allreduce.sh [PROGRAM ARGUMENT...]      as root, with libopenmpi-dev and iproute2
#
# PROGRAM (an MPI program) runs on the three hosts instead of the measurement.
set -euo pipefail
program=("$@")
cd "$(dirname "$0")/../.."
# shellcheck source=tests/reproduce/hosts.sh
. tests/reproduce/hosts.sh
for tool in mpicc mpirun ip tc; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool is missing (libopenmpi-dev openmpi-bin iproute2)"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: network namespaces need root"; exit 77; }
work=$(mktemp -d)
name=motif$$
tidy() {
    hosts_end "$name"
    rm -rf "$work"
}
trap tidy EXIT
if [ ${#program[@]} = 0 ]; then
    mpicc -O2 -o "$work/allreduce" tests/reproduce/allreduce.c
    echo "shared memory:"
    mpirun --allow-run-as-root --oversubscribe --bind-to none -np 2 --mca btl vader,self "$work/allreduce" 1048576
    program=("$work/allreduce" 1048576)
fi

hosts_make "$name" "$work"
over_tcp() {
    on_host "$name" 1 "${hosts_mpi[@]}" -np 3 "${program[@]}"
}
echo "three hosts, TCP, no delay:"
over_tcp
for delay in 0.1ms 1ms; do
    for i in 1 2 3; do
        ip netns exec "$name-$i" tc qdisc replace dev eth0 root netem delay "$delay" 2>"$work/tc" ||
            { echo "no delays: the kernel has no netem ($(head -n 1 "$work/tc"))"; exit 0; }
    done
    echo "three hosts, TCP, $delay one way:"
    over_tcp
done
