#!/usr/bin/env bash
# OpenMPI's all-reduce here: over shared memory, and over TCP between three hosts, each a network namespace of its own, joined by a bridge, with no
# delay and with one that tc adds. One job of three ranks runs on the three hosts.
#
#   tests/reproduce/allreduce.sh [PROGRAM ARGUMENT...]      as root, with libopenmpi-dev and iproute2
#
# PROGRAM (of MPI, built elsewhere) runs on the three hosts instead of the measurement.
set -euo pipefail
program=("$@")
cd "$(dirname "$0")/../.."
for tool in mpicc mpirun ip tc; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool is missing (libopenmpi-dev openmpi-bin iproute2)"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: network namespaces want root"; exit 77; }
work=$(mktemp -d)
name=motif$$
tidy() {
    for i in 1 2 3; do ip netns delete "$name-$i" 2>/dev/null || true; done
    ip netns delete "$name-hub" 2>/dev/null || true
    rm -rf "$work"
}
trap tidy EXIT
mpi=(mpirun --allow-run-as-root --oversubscribe --bind-to none)
if [ ${#program[@]} = 0 ]; then
    mpicc -O2 -o "$work/allreduce" tests/reproduce/allreduce.c
    echo "shared memory:"
    "${mpi[@]}" -np 2 --mca btl vader,self "$work/allreduce" 1048576
    program=("$work/allreduce" 1048576)
fi

ip netns add "$name-hub"
ip -n "$name-hub" link add hub type bridge
ip -n "$name-hub" link set hub up
for i in 1 2 3; do
    ip netns add "$name-$i"
    ip -n "$name-$i" link set lo up
    ip -n "$name-$i" link add eth0 type veth peer name "port$i" netns "$name-hub"
    ip -n "$name-hub" link set "port$i" master hub up
    ip -n "$name-$i" address add "10.77.0.$i/24" dev eth0
    ip -n "$name-$i" link set eth0 up
done
# What mpirun starts on another host goes into that host's namespaces.
cat >"$work/agent" <<AGENT
#!/bin/sh
host=\${1##*.}
shift
exec ip netns exec $name-\$host unshare --uts sh -c "hostname host\$host; \$*"
AGENT
chmod 755 "$work/agent"
over_tcp() {
    ip netns exec "$name-1" unshare --uts sh -c 'hostname host1; exec "$@"' sh "${mpi[@]}" --host 10.77.0.1,10.77.0.2,10.77.0.3 -np 3 --map-by node \
        --mca plm_rsh_agent "$work/agent" --mca btl tcp,self --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 "${program[@]}"
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
