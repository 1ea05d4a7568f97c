#!/usr/bin/env python3
"""Kills ranks, then mpirun, then the daemon with SIGKILL, KILLS times each, each time after the run has stored a new checkpoint.

Three jobs of two ranks are disturbed in this way. Each must end with the result and the curves of an undisturbed job, and no process may outlive its
parent. Prints how long the processes needed to end and how long it took until the next checkpoint.

usage: rank_kills.py BUILD/motifd [KILLS]     20 kills by default"""
import os
import signal
import statistics
import sys
import tempfile
import time

sys.argv[1] = os.path.realpath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
import wire_mpirun as mpi  # noqa: E402
from wire_process import Daemon, await_, compare, outcome  # noqa: E402

SAMPLES = 600 * KILLS


def both(job):
    """Waits for the two ranks of a job; returns their process ids and those of the processes that started them."""
    return await_("ranks", lambda: (lambda seen: seen if len(seen[0]) == 2 and seen[1] else None)(mpi.processes(job)))


def hit(daemon, job, what, round_):
    mpi.next_checkpoint(daemon, job)
    ranks, others = both(job)
    before = mpi.checkpoints(daemon, job)
    begun = time.monotonic()
    if what == "daemon":
        daemon.end(signal.SIGKILL)
    else:
        os.kill(ranks[round_ % 2] if what == "rank" else others[0], signal.SIGKILL)
    await_("the end of all", lambda: not {*ranks, *others} & {*sum(mpi.processes(job), [])})
    gone = time.monotonic() - begun
    if what == "daemon":
        daemon.start()
    await_("another checkpoint", lambda: mpi.checkpoints(daemon, job) > before)
    return gone, time.monotonic() - begun


def main():
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w") as log:
        daemon = Daemon(sys.argv[1], os.path.join(folder, "db"), "--data", os.path.join(folder, "data"), "--executors", "thread,mpirun", "--mpirun",
                        mpi.MPIRUN, "--threads-per-job", "1", log=log)
        try:
            wanted = outcome(daemon, mpi.submit(daemon, ranks=2, total_samples=SAMPLES))
            for what in ("rank", "mpirun", "daemon"):
                job = mpi.submit(daemon, ranks=2, total_samples=SAMPLES)
                times = [hit(daemon, job, what, round_) for round_ in range(KILLS)]
                compare(outcome(daemon, job), wanted)
                mpi.gone(job)
                print(f"{what}: {KILLS} kills, the same weights and curves, no orphan; all processes ended after {statistics.median(t[0] for t in times):.2f} s "
                      f"(at most {max(t[0] for t in times):.2f}), the next checkpoint after {statistics.median(t[1] for t in times):.1f} s "
                      f"(at most {max(t[1] for t in times):.1f})", flush=True)
            assert daemon.end() == 0
        finally:
            if daemon.process.poll() is None:
                daemon.process.kill()
                daemon.process.wait()


if __name__ == "__main__":
    main()
