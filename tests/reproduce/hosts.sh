# shellcheck shell=bash
# Simulates three hosts on one machine for allreduce.sh and three_hosts.sh, which source this file. A host is a network namespace with its own host
# name and address (10.77.0.1 to .3); a bridge joins them. Needs root, iproute2 and openmpi-bin.
#
#   hosts_make NAME FOLDER      creates NAME-1 to NAME-3 and NAME-hub; sets the array hosts_mpi, a mpirun command for all three hosts; writes
#                               mpirun's launch agent to FOLDER
#   hosts_end NAME              removes the hosts
#   on_host NAME I COMMAND...   runs the command in host I's network and under its name
hosts_make() {
    local name=$1 folder=$2 i
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
    # mpirun starts programs on another host through this agent, which enters that host's namespaces.
    cat >"$folder/agent" <<AGENT
#!/bin/sh
host=\${1##*.}
shift
exec ip netns exec $name-\$host unshare --uts sh -c "hostname host\$host; \$*"
AGENT
    chmod 755 "$folder/agent"
    # shellcheck disable=SC2034,SC2054
    hosts_mpi=(mpirun --allow-run-as-root --oversubscribe --bind-to none --host "10.77.0.1,10.77.0.2,10.77.0.3" --map-by node
        --mca plm_rsh_agent "$folder/agent" --mca btl tcp,self --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0)
}

hosts_end() {
    local i
    for i in 1 2 3 hub; do ip netns delete "$1-$i" 2>/dev/null || true; done
}

on_host() {
    local name=$1 i=$2
    shift 2
    # shellcheck disable=SC2016
    ip netns exec "$name-$i" unshare --uts sh -c 'hostname "$0"; exec "$@"' "host$i" "$@"
}
