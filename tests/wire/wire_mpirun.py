#!/usr/bin/env python3
"""Tests jobs that mpirun trains on several ranks. One rank must give the same bits as the thread executor, and each number of ranks the same bits in
every run. The test also pauses and cancels jobs, and kills a rank and the daemon. No process may be left running. Skipped without MPI.

usage: wire_mpirun.py MOTIFD [ROUNDS]     kills of each kind (1)"""
import glob
import os
import shutil
import signal
import sys
import tempfile
import time

import wire_process as wire
from daemon import allow_mpi, run_each
from wire_process import LONG, PATHWAYS, Daemon, await_, await_state, await_steps, checkpoints, compare, outcome, show

MOTIFD, ROUNDS = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
allow_mpi()
MPIRUN = "mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca oob_tcp_if_include lo"  # loopback is enough here


def processes(job):
    """Returns the process ids of a job's ranks and of its mpirun, found in /proc."""
    ranks, others = [], []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{entry}/stat") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if job.encode() in words and state != "Z":
                assert not any(b"motifrun_" in word for word in words), "a token in a command line"
                (ranks if words[0].endswith(b"motif-train-mpi") else others).append(int(entry))
    return ranks, others


def gone(job):
    await_("the end of all processes", lambda: processes(job) == ([], []))


def segments():
    """Returns the shared memory of this user's ranks that no process maps."""
    named = {name for name in os.listdir("/dev/shm") if name.startswith("vader_segment.")} if os.path.isdir("/dev/shm") else set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/maps") as file:
                    mapped = file.read()
            except OSError:
                continue
            named = {name for name in named if name not in mapped}
    return named


def submit(daemon, executor="mpirun", ranks=1, **changes):
    return daemon.submit(executor, ranks, **changes)


def ranks_give_the_expected_bits(daemon):
    wanted = outcome(daemon, submit(daemon, "thread"))
    job = submit(daemon)
    compare(outcome(daemon, job), wanted)
    gone(job)
    first, again = outcome(daemon, submit(daemon, ranks=2)), outcome(daemon, submit(daemon, ranks=2))
    compare(first, again)
    assert first[0]["ranks"] == 2
    for (_, one), (_, two) in list(zip(first[1]["loss"], wanted[1]["loss"]))[:3]:
        assert abs(one - two) <= 1e-4 * abs(two), (one, two)


def other_kinds_and_evaluations_run(daemon):
    """Tests another method, because each distributes its work in its own way. Also tests an evaluation and a job that starts from another one; only rank 0
    can read the other job's checkpoints."""
    results = []
    for executor, ranks in (("thread", 1), ("mpirun", 2)):
        status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": "pathways", "preset": "dirac-hadamard", "config": PATHWAYS, "executor": executor,
                                                         "ranks": ranks})
        assert status == 201, job
        result, points = outcome(daemon, job["id"])
        result.pop("ranks", None)
        results.append((result, points))
    assert results[0] == results[1]
    job = submit(daemon, ranks=2)
    outcome(daemon, job)
    status, _, following = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick", "executor": "mpirun", "ranks": 2,
                                                           "config": {**wire.TINY, "seed": 4}, "from": {"job": job}})
    assert status == 201, following
    outcome(daemon, following["id"])
    status, _, evaluation = daemon.ask("POST", f"/v1/jobs/{job}/evaluation", {"samples": 8, "seed": 5})
    assert status == 201, evaluation
    outcome(daemon, evaluation["id"])


def jobs_are_paused_and_cancelled(daemon):
    job = submit(daemon, ranks=2, total_samples=LONG)
    await_steps(daemon, job)
    assert len(processes(job)[0]) == 2, processes(job)
    for pid in processes(job)[0] + processes(job)[1]:
        assert b"motifrun_" not in wire.environment(pid), "the token lies where others of this user can read it"
    begun = time.monotonic()
    assert daemon.ask("POST", f"/v1/jobs/{job}/pause")[0] == 202
    paused = await_state(daemon, job, "paused")
    print(f"paused after {time.monotonic() - begun:.2f} s")
    assert processes(job) == ([], []) and checkpoints(daemon, job) > 0
    assert daemon.ask("POST", f"/v1/jobs/{job}/resume")[0] == 202
    await_("more steps", lambda: show(daemon, job)["progress"]["step"] > paused["progress"]["step"])
    begun = time.monotonic()
    assert daemon.ask("POST", f"/v1/jobs/{job}/cancel")[0] == 202
    await_state(daemon, job, "cancelled")
    print(f"cancelled after {time.monotonic() - begun:.2f} s")
    gone(job)


def next_checkpoint(daemon, job):
    before = checkpoints(daemon, job)
    await_("a checkpoint", lambda: checkpoints(daemon, job) > before or show(daemon, job)["state"] == "succeeded")
    assert show(daemon, job)["state"] == "running", "the job ended too early for so many kills"


def a_killed_rank_restarts_the_ranks(daemon, wanted, samples):
    """Kills a rank and mpirun in turn, each after a new checkpoint. The log must contain the signal."""
    for round_ in range(2 * ROUNDS):
        if round_ == 0:
            job = submit(daemon, ranks=2, total_samples=samples)
        next_checkpoint(daemon, job)
        ranks, others = await_("ranks", lambda: (lambda seen: seen if len(seen[0]) == 2 and seen[1] else None)(processes(job)))
        os.kill((ranks[round_ // 2 % 2], others[0])[round_ % 2], signal.SIGKILL)
        await_("their end", lambda: not set(sum(processes(job), [])) & {*ranks, *others})
    compare(outcome(daemon, job), wanted)
    gone(job)


def jobs_continue_after_a_killed_daemon(daemon, wanted, samples):
    job = submit(daemon, ranks=2, total_samples=samples)
    for _ in range(ROUNDS):
        next_checkpoint(daemon, job)
        running = sum(processes(job), [])
        daemon.end(signal.SIGKILL)
        await_("the end of the orphans", lambda: not set(sum(processes(job), [])) & set(running))
        daemon.start()
    compare(outcome(daemon, job), wanted)
    gone(job)


def the_end_of_the_daemon_ends_ranks(daemon):
    job = submit(daemon, ranks=2, total_samples=LONG)
    await_steps(daemon, job)
    assert daemon.end() == 0
    assert processes(job) == ([], [])
    daemon.start()
    assert checkpoints(daemon, job) > 0
    assert daemon.ask("POST", f"/v1/jobs/{job}/cancel")[0] == 202
    await_state(daemon, job, "cancelled")
    gone(job)


def main():
    beside = os.path.join(os.path.dirname(os.path.realpath(MOTIFD)), "motif-train-mpi")
    if not shutil.which("mpirun") or not os.access(beside, os.X_OK):
        print("skipped: mpirun, or motif-train-mpi, which is built where MPI is installed, is missing")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = os.path.join(folder, "t")
        os.mkdir(os.environ["TMPDIR"])
        before = segments()
        log = os.path.join(folder, "log")
        with Daemon(MOTIFD, os.path.join(folder, "db"), "--data", os.path.join(folder, "data"), "--executors", "thread,mpirun",
                    "--mpirun", MPIRUN, "--threads-per-job", "1", log=open(log, "w")) as daemon:
            samples = 320 * ROUNDS
            run_each((daemon,), ranks_give_the_expected_bits)
            wanted = outcome(daemon, submit(daemon, ranks=2, total_samples=samples))
            run_each((daemon,), other_kinds_and_evaluations_run, jobs_are_paused_and_cancelled)
            run_each((daemon, wanted, samples), a_killed_rank_restarts_the_ranks, jobs_continue_after_a_killed_daemon)
            run_each((daemon,), the_end_of_the_daemon_ends_ranks)
            assert daemon.end() == 0
            assert glob.glob(os.path.join(folder, "t", "ompi.*", "*")) == [], "mpirun's folder is left"
            await_("the end of the ranks' shared memory", lambda: not segments() - before)
            with open(log) as file:
                assert "SIGKILL (Killed) ended the trainer" in file.read(), "the log does not say why a try ended"


if __name__ == "__main__":
    main()
