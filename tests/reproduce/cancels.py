#!/usr/bin/env python3
"""Cancels heavy trainings at several moments and prints how long each takes to end.

    tests/reproduce/cancels.py MOTIFD [--most SECONDS] [--executor NAME] [--delay SECONDS]... [CASE...]

Each case is a configuration whose single update, evaluation or start takes seconds; some need 10 GB of memory. For each delay the
script submits the case, waits until it runs, cancels it after the delay, and measures the time until the job is cancelled; in brackets it
prints the processor time that the daemon used meanwhile. Exit code 1:
a job ended otherwise, or a cancellation took more than --most seconds (2). It counts as too slow only if also the daemon's processor
time was longer, so that other programs on the machine cannot make the test fail.
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))
from daemon import Daemon  # noqa: E402

DELAYS = (0.3, 1.5, 4.0)
CASES = {
    "sparling-width": ("sparling", "digitcircle-paper", {"width": 1024}),
    "sparling-narrow": ("sparling", "digitcircle-paper", {"width": 256}),
    "sparling-batch": ("sparling", "digitcircle-quick", {"batch": 512, "image_size": 100}),
    "sparling-accumulate": ("sparling", "digitcircle-quick", {"accumulate_elements": 10000000}),
    "sparling-validation": ("sparling", "digitcircle-quick", {"validation_every": 8, "validation_samples": 1000000}),
    "sparling-evaluation": ("sparling", "digitcircle-quick", {"total_samples": 10, "test_samples": 1000000, "motif_samples": 1000000}),
    "sparling-checkpoints": ("sparling", "digitcircle-quick", {"width": 256, "checkpoint_every": 1, "batch": 1}),
    "superposition-rug": ("superposition", "fig3", {"model": "rug", "n_s": 16777216, "test_samples": 2}),
    "superposition-rug-tests": ("superposition", "fig3", {"model": "rug", "n_s": 4194304, "test_samples": 100000000}),
    "superposition-trained": ("superposition", "fig3", {"model": "trained", "n_s": 16384, "n_d": 4096, "batch": 16384}),
    "superposition-trained-end": ("superposition", "fig3", {"model": "trained", "n_s": 32768, "n_d": 1024, "batch": 64,
                                                            "total_samples": 64, "test_samples": 64}),
    "factors-hidden": ("factors", "synthetic", {"hidden": 4096, "latent": 512, "batch": 16384, "rows": 200000}),
    "factors-wide": ("factors", "synthetic", {"hidden": 4096, "batch": 4096, "rows": 100000}),
    "factors-rows": ("factors", "synthetic", {"rows": 1000000, "epochs": 1, "latent": 512}),
    "factors-nmf": ("factors", "synthetic", {"model": "nmf", "rows": 1000000, "latent": 512, "nmf_iterations": 1}),
    "environments-hidden": ("environments", None, {"encoder": "mlp", "hidden": 4096, "inputs": 4096, "batch": 65536}),
    "environments-few": ("environments", None, {"samples": 10000, "inputs": 400, "latent": 64, "factors": 64}),
    "environments-samples": ("environments", None, {"samples": 100000, "test_samples": 100000, "updates": 1}),
    "environments-latent": ("environments", None, {"latent": 256, "factors": 256, "changes": 256, "updates": 1,
                                                            "test_samples": 20000}),
    "pathways-length": ("pathways", "single-layer", {"length": 1048576, "filter_length": 8192, "nonzeros": "1000"}),
    "pathways-filters": ("pathways", "single-layer", {"filters": 128, "filter_length": 1024, "length": 8192}),
    "pathways-pursuit": ("pathways", "single-layer", {"decoder": "pursuit", "iterations": 10000, "length": 65536}),
}


def state_of(daemon, job):
    return daemon.ask("GET", f"/v1/jobs/{job}")[2]["state"]


def await_state(daemon, job, wanted, seconds):
    end = time.monotonic() + seconds
    while (state := state_of(daemon, job)) not in wanted and time.monotonic() < end:
        time.sleep(0.02)
    return state


def processor_seconds(daemon):
    with open(f"/proc/{daemon.process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cancel(daemon, case, delay, executor):
    """Returns the seconds from the request until the job has ended, the daemon's processor seconds meanwhile, and the job's last state."""
    kind, preset, config = CASES[case]
    status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": kind, "preset": preset, "config": config, "executor": executor})
    if status != 201:
        return 0, 0, f"refused: {job.get('errors') or job}"
    await_state(daemon, job["id"], ("running", "failed", "succeeded"), 30)
    time.sleep(delay)
    begun, used = time.monotonic(), processor_seconds(daemon)
    status, _, answer = daemon.ask("POST", f"/v1/jobs/{job['id']}/cancel")
    if status not in (200, 202):
        return 0, 0, f"{state_of(daemon, job['id'])} before the cancel"
    state = await_state(daemon, job["id"], ("cancelled", "failed", "succeeded"), 120)
    return time.monotonic() - begun, processor_seconds(daemon) - used, state


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("motifd")
    parser.add_argument("--delay", type=float, action="append")
    parser.add_argument("--most", type=float, default=2.0)
    parser.add_argument("--executor", default="thread")
    parser.add_argument("cases", nargs="*")
    asked = parser.parse_intermixed_args()
    delays = asked.delay or DELAYS
    late = 0
    with tempfile.TemporaryDirectory() as folder, open(folder + "/log", "w+") as log, \
            Daemon(asked.motifd, folder + "/c.db", "--workers", "1", "--threads-per-job", "1", log=log) as daemon:
        print(f"{'case':28}" + "".join(f"{f'after {delay} s':>20}" for delay in delays))
        for case in asked.cases or CASES:
            print(f"{case:28}", end="", flush=True)
            for delay in delays:
                took, used, state = cancel(daemon, case, delay, asked.executor)
                late += state != "cancelled" or min(took, used) > asked.most
                print(f"{f'{took:.2f} s ({used:.2f} s)' if state == 'cancelled' else state:>20}", end="", flush=True)
            print(flush=True)
    sys.exit(late > 0)


if __name__ == "__main__":
    main()
