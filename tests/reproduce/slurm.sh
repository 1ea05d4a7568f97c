#!/usr/bin/env bash
# Tests the daemon with a real Slurm of one node. The script starts munged, slurmctld and slurmd of Debian's packages as ordinary processes, keeps
# all their files in a temporary folder, and stops them at the end.
#
# Part 1: deploy/slurm/motifd.sbatch runs a daemon as a Slurm job. The script submits a training through the API and preempts the Slurm job from a
# partition of higher priority. Slurm requeues the job; the training must end with the weights of an undisturbed training. The script cancels a
# second training through the API and then ends the Slurm job.
# Part 2: a daemon outside Slurm runs its trainings as Slurm jobs (--executors slurm). The script preempts a training, kills the daemon during
# another (the restarted daemon must find it again), cancels a third, and runs one on two ranks.
#
#   tests/reproduce/slurm.sh build      as root, with the packages slurmctld slurmd slurm-client munge
set -euo pipefail
build=$(realpath "${1:?the build folder}")
cd "$(dirname "$0")/../.."
for program in munged slurmctld slurmd sbatch; do
    command -v "$program" >/dev/null || { echo "skipped: $program is missing (slurmctld slurmd slurm-client munge)"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: slurmd needs root"; exit 77; }

work=$(mktemp -d /tmp/motif-slurm.XXXXXX)
pids=()
daemon=
tidy() {
    local pid
    for pid in $(squeue -h -o %A 2>/dev/null); do scancel "$pid" 2>/dev/null || true; done
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
        kill "${pids[i]}" 2>/dev/null || true
        wait "${pids[i]}" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap tidy EXIT
fail() {
    echo "slurm.sh: $*" >&2
    tail -n 20 "$work"/*.log >&2 || true
    exit 1
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
until_true() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.5
    done
}

chmod 755 "$work"
mkdir -p "$work"/{state,spool,munge}
chmod 700 "$work/munge"
head -c 1024 /dev/urandom >"$work/munge/key"
chmod 400 "$work/munge/key"
node=$(hostname -s)
cat >"$work/slurm.conf" <<CONF
ClusterName=motif
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=requeue_delay=1
KillWait=20
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=low Nodes=$node Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=20
PartitionName=high Nodes=$node PriorityTier=9 PreemptMode=OFF
CONF
export SLURM_CONF=$work/slurm.conf
munged --foreground --force --key-file "$work/munge/key" --socket "$work/munge.socket" --pid-file "$work/munge.pid" --log-file "$work/munged.log" \
    --seed-file "$work/munge/seed" >"$work/munged.out.log" 2>&1 &
pids+=($!)
until_true 20 test -S "$work/munge.socket" || fail "munged does not start"
slurmctld -D -f "$SLURM_CONF" >"$work/slurmctld.log" 2>&1 &
pids+=($!)
slurmd -D -f "$SLURM_CONF" -N "$node" >"$work/slurmd.log" 2>&1 &
pids+=($!)
is_up() { [ "$(sinfo -h -p low -o %T 2>/dev/null)" = idle ]; }
until_true 60 is_up || fail "the node does not come up: $(sinfo 2>&1)"
echo "slurm $(sinfo --version | cut -d' ' -f2): $node is idle"

# The undisturbed run, in a daemon without Slurm.
job=(submit --preset digitcircle-quick --set total_samples=20000 --set checkpoint_every=2000 --set seed=5)
"$build/motifd" serve --listen 127.0.0.1:0 --db "$work/plain.db" --data "$work/plain" --threads-per-job 1 >"$work/plain.out" 2>"$work/plain.log" &
daemon=$!
until_true 60 grep -qs listening "$work/plain.out" || fail "the daemon does not start"
MOTIFD_SERVER=$(sed -n '1s/^listening on //p' "$work/plain.out") "$build/motifctl" "${job[@]}" --watch >"$work/plain.watch" 2>&1 || fail "the undisturbed run failed"
MOTIFD_SERVER=$(sed -n '1s/^listening on //p' "$work/plain.out") "$build/motifctl" export latest "$work/plain.safetensors" >/dev/null
kill "$daemon"
wait "$daemon" || fail "the daemon did not exit with 0"
daemon=

# The same run in Slurm.
export MOTIFD_STATE=$work/motifd MOTIFD_BIN=$build
mkdir -p "$work/motifd"
id=$(sbatch --parsable --partition low --cpus-per-task 1 --ntasks 1 --exclusive --output "$work/job.log" --export ALL deploy/slurm/motifd.sbatch)
has_address() { [ -s "$work/motifd/address" ]; }
until_true 120 has_address || fail "the daemon in Slurm does not start: $(squeue)"
ask() { MOTIFD_SERVER=$(cat "$work/motifd/address") "$build/motifctl" "$@"; }
ask "${job[@]}" >/dev/null
steps() { ask show latest --json | python3 -c 'import json, sys; print(int((json.load(sys.stdin)["progress"] or {}).get("samples", 0)))'; }
has_begun() { [ "$(steps)" -gt 700 ]; }
until_true 300 has_begun || fail "the training does not start"
echo "job $id runs on the node; the training is at $(steps) samples"

mv "$work/motifd/address" "$work/motifd/first-address"
other=$(sbatch --parsable --partition high --ntasks 1 --exclusive --output "$work/other.log" --wrap 'sleep 5')
is_requeued() { [ "$(scontrol show job "$id" | sed -n 's/.*Restarts=\([0-9]*\).*/\1/p')" -ge 1 ]; }
until_true 120 is_requeued || fail "the job was not requeued: $(squeue)"
echo "preempted by job $other, and requeued"
until_true 30 grep -q 'drained: ending' "$work/job.log" || fail "the preempted daemon did not drain"
until_true 180 has_address || fail "the requeued daemon does not start"
ask watch latest >"$work/watch.log" 2>&1 || fail "the run failed after the preemption"
ask export latest "$work/slurm.safetensors" >/dev/null
python3 - "$work/plain.safetensors" "$work/slurm.safetensors" <<'END_PYTHON' || fail "the weights differ"
import json, sys
def tensors(path):
    with open(path, "rb") as file:
        bytes_ = file.read()
    head = int.from_bytes(bytes_[:8], "little")
    names = json.loads(bytes_[8:8 + head])
    return {name: bytes_[8 + head + t["data_offsets"][0]:8 + head + t["data_offsets"][1]] for name, t in names.items() if name != "__metadata__"}
a, b = (tensors(path) for path in sys.argv[1:])
assert a and a == b
print(len(a), "tensors, equal bit for bit to those of the undisturbed run")
END_PYTHON

ask submit --preset digitcircle-quick >/dev/null
until_true 60 has_begun || true
ask cancel latest >/dev/null
is_cancelled() { ask show latest --json | grep -q '"state": *"cancelled"'; }
until_true 60 is_cancelled || fail "the second run was not cancelled"
scancel --signal=TERM --batch "$id"
is_gone() { ! squeue -h -j "$id" 2>/dev/null | grep -q .; }
until_true 60 is_gone || fail "the job does not end: $(squeue)"
[ "$(scontrol show job "$id" | sed -n 's/.*ExitCode=\([0-9:]*\).*/\1/p')" = 0:0 ] || fail "the job did not exit 0"
echo "the second run was cancelled; SIGTERM ended the job with 0"

# A daemon outside Slurm that runs its trainings as Slurm jobs.
port=$(free_port)
start_far() {
    rm -f "$work/far.out" # an old "listening" line would end the wait below too early
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 "$build/motifd" serve --listen "127.0.0.1:$port" --db "$work/far.db" \
        --data "$work/plain" --threads-per-job 1 --executors slurm,thread --slurm-options "--partition low --exclusive --output $work/trainer.log" \
        >"$work/far.out" 2>>"$work/far.log" &
    daemon=$!
    until_true 60 grep -qs listening "$work/far.out" || fail "the daemon outside Slurm does not start"
}
call() { MOTIFD_SERVER=http://127.0.0.1:$port "$build/motifctl" "$@"; }
name_of() { call show latest --json | python3 -c 'import json, sys; print("motif-" + json.load(sys.stdin)["id"])'; }
was_cancelled() { call show latest --json | grep -q '"state": *"cancelled"'; }
has_run() { [ "$(call show latest --json | python3 -c 'import json, sys; print(int((json.load(sys.stdin)["progress"] or {}).get("samples", 0)))')" -gt 700 ]; }
number_of() { squeue -h --me --name "$(name_of)" -o %A; }
same_weights() {
    call export latest "$work/far.safetensors" >/dev/null
    python3 - "$work/plain.safetensors" "$work/far.safetensors" <<'END_PYTHON' || fail "the weights differ"
import sys
def numbers(path): # the bytes after the header, which contains the id of the job
    with open(path, "rb") as file:
        bytes_ = file.read()
    return bytes_[8 + int.from_bytes(bytes_[:8], "little"):]
a, b = (numbers(path) for path in sys.argv[1:])
assert a and a == b
END_PYTHON
}
start_far
call "${job[@]}" >/dev/null
until_true 300 has_run || fail "the run does not begin in Slurm: $(squeue)"
id=$(number_of)
other=$(sbatch --parsable --partition high --ntasks 1 --exclusive --output "$work/other.log" --wrap 'sleep 5')
until_true 120 is_requeued || fail "the training was not requeued: $(squeue)"
call watch latest >"$work/watch.log" 2>&1 || fail "the run failed after the preemption"
same_weights
echo "job $id of the daemon outside Slurm: preempted by job $other, requeued by Slurm; the weights of the undisturbed run"

call "${job[@]}" >/dev/null
until_true 300 has_run || fail "the run does not begin in Slurm: $(squeue)"
id=$(number_of)
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
start_far
call watch latest >"$work/watch.log" 2>&1 || fail "the run failed after the daemon was killed"
same_weights
[ "$(scontrol show job "$id" | sed -n 's/.*Restarts=\([0-9]*\).*/\1/p')" = 0 ] || fail "Slurm restarted the training"
echo "job $id: continued while the daemon was killed and restarted; the same weights"

call submit --preset digitcircle-quick >/dev/null
until_true 60 has_run || true
id=$(number_of)
call cancel latest >/dev/null
until_true 60 was_cancelled || fail "the run in Slurm was not cancelled"
until_true 60 is_gone || fail "job $id does not end: $(squeue)"
echo "job $id: cancelled through the API and removed from the queue"

if [ -x "$build/motif-train-mpi" ] && srun --mpi=list 2>&1 | grep -q pmix; then
    curl -fsS "http://127.0.0.1:$port/v1/jobs" -H 'Content-Type: application/json' \
        -d '{"kind":"sparling","preset":"digitcircle-quick","ranks":2,"config":{"total_samples":400,"test_samples":50,"motif_samples":50,"seed":5}}' >/dev/null
    call watch latest >"$work/watch.log" 2>&1 || fail "two ranks in Slurm failed: $(tail -n 3 "$work/watch.log")"
    call show latest --json | grep -q '"ranks": *2' || fail "the training did not have two ranks"
    echo "two ranks by srun --mpi=pmix: trained"
else
    echo "skipped: two ranks (no motif-train-mpi, or no pmix in srun)"
fi
kill "$daemon"
wait "$daemon" || fail "the daemon outside Slurm did not exit with 0"
daemon=
