#!/usr/bin/env python3
"""Tests jobs that motif-train trains. They must give the same bits as with the thread executor. The test also pauses and cancels jobs,
kills the trainer and the daemon, and requests the routes that a trainer's token opens.

usage: wire_process.py MOTIFD [ROUNDS]     kills of each kind (2)"""
import json
import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon, run_each  # noqa: E402

MOTIFD, ROUNDS = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
PATIENCE = 240
PATHWAYS = {"filters": 2, "filter_length": 32, "length": 128, "nonzeros": "1,2,4", "trials": 10}
LONG = 4000000


def submit(daemon, executor="process", **changes):
    job = daemon.submit(executor, **changes)
    assert show(daemon, job)["ranks"] == 1
    return job


def show(daemon, job):
    return daemon.ask("GET", f"/v1/jobs/{job}")[2]


def await_(what, probe):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = probe()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"in vain: {what}")


def await_state(daemon, job, *states):
    return await_(f"{job} {states}", lambda: (lambda seen: seen if seen["state"] in states else None)(show(daemon, job)))


def await_steps(daemon, job):
    await_("steps", lambda: (show(daemon, job)["progress"]["step"] or 0) > 5)


def trainers(job):
    """Returns the processes that train a job, found in /proc."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{entry}/stat") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if job.encode() in words and words[0].endswith(b"motif-train") and state != "Z":
                found.append(int(entry))
    return found


def checkpoints(daemon, job):
    return len(daemon.ask("GET", f"/v1/jobs/{job}/attestation")[2]["checkpoints"])


def series(daemon, job):
    found = daemon.ask("GET", f"/v1/jobs/{job}/metrics?max_points=100000")[2]["series"]
    for name, points in found.items():
        steps = [step for step, _ in points]
        assert steps == sorted(set(steps)), f"{name} goes back or has a step twice"
    return {name: points for name, points in found.items() if "second" not in name}


def outcome(daemon, job):
    done = await_state(daemon, job, "succeeded", "failed", "cancelled")
    assert done["state"] == "succeeded", done
    result = {name: value for name, value in done["result"].items() if name != "seconds"}
    for row in result.get("by_density", []):
        del row["checkpoint"]  # an interrupted checkpoint uses up its number
    return result, series(daemon, job)


def compare(found, wanted):
    """Describes where two outcomes differ."""
    for what, left, right in zip(("result", "series"), found, wanted):
        assert left.keys() == right.keys(), (what, left.keys() ^ right.keys())
        for name in left:
            if left[name] != right[name]:
                if what == "series":
                    gone, more = [[point for point in one if point not in other] for one, other in ((right[name], left[name]), (left[name], right[name]))]
                    raise AssertionError(f"{name}: {len(gone)} points are missing, {len(more)} too many: {gone[:5]} {more[:5]}")
                raise AssertionError(f"{name}: {left[name]}, not {right[name]}")


def processes_give_the_bits_of_threads(daemon):
    wanted = outcome(daemon, submit(daemon, "thread"))
    job = submit(daemon)
    compare(outcome(daemon, job), wanted)
    await_("the end of the trainer", lambda: not trainers(job))
    return wanted


def other_kinds_and_evaluations_run(daemon):
    """Tests a method that writes files, and an evaluation, which reads another job's checkpoints."""
    for body in ({"kind": "pathways", "preset": "dirac-hadamard", "config": PATHWAYS},):
        results = []
        for executor in ("thread", "process"):
            status, _, job = daemon.ask("POST", "/v1/jobs", {**body, "executor": executor})
            assert status == 201, job
            result, points = outcome(daemon, job["id"])
            files = {item["name"]: item["bytes"] for item in daemon.ask("GET", f"/v1/jobs/{job['id']}/artifacts")[2]["artifacts"]}
            results.append((result, points, files))
        assert results[0] == results[1]
    job = submit(daemon)
    outcome(daemon, job)
    status, _, evaluation = daemon.ask("POST", f"/v1/jobs/{job}/evaluation", {"samples": 8, "seed": 5})
    assert status == 201, evaluation
    assert evaluation["executor"] == "process", evaluation
    outcome(daemon, evaluation["id"])
    following = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick", "executor": "process",
                                                "config": {**TINY, "seed": 4}, "from": {"job": job}})[2]
    outcome(daemon, following["id"])


def jobs_are_paused_and_cancelled(daemon):
    job = submit(daemon, total_samples=LONG)
    await_steps(daemon, job)
    begun = time.monotonic()
    assert daemon.ask("POST", f"/v1/jobs/{job}/pause")[0] == 202
    paused = await_state(daemon, job, "paused")
    print(f"paused after {time.monotonic() - begun:.2f} s")
    assert not trainers(job) and checkpoints(daemon, job) > 0
    assert daemon.ask("POST", f"/v1/jobs/{job}/resume")[0] == 202
    await_("more steps", lambda: show(daemon, job)["progress"]["step"] > paused["progress"]["step"])
    begun = time.monotonic()
    assert daemon.ask("POST", f"/v1/jobs/{job}/cancel")[0] == 202
    await_state(daemon, job, "cancelled")
    print(f"cancelled after {time.monotonic() - begun:.2f} s")
    assert not trainers(job)


def a_killed_trainer_is_replaced(daemon, wanted, samples):
    """Ends the trainer with SIGKILL and SIGSEGV in turn, each after a new checkpoint."""
    job = submit(daemon, total_samples=samples)
    for round_ in range(ROUNDS):
        before = await_("the attestation", lambda: checkpoints(daemon, job) + 1) - 1
        await_("a checkpoint", lambda: checkpoints(daemon, job) > before or show(daemon, job)["state"] == "succeeded")
        running = await_("a trainer", lambda: trainers(job) or show(daemon, job)["state"] == "succeeded")
        assert running is not True, "the job ended too early for so many kills"
        assert len(running) == 1, running
        os.kill(running[0], (signal.SIGKILL, signal.SIGSEGV)[round_ % 2])
        await_("another trainer", lambda: trainers(job) not in ([], running))
    compare(outcome(daemon, job), wanted)


def jobs_continue_after_a_killed_daemon(daemon, wanted, samples):
    job = submit(daemon, total_samples=samples)
    for _ in range(ROUNDS):
        before = checkpoints(daemon, job)
        await_("a checkpoint", lambda: checkpoints(daemon, job) > before or show(daemon, job)["state"] == "succeeded")
        assert show(daemon, job)["state"] == "running"
        running = trainers(job)
        daemon.end(signal.SIGKILL)
        await_("the end of the orphan", lambda: not set(trainers(job)) & set(running))
        daemon.start()
    compare(outcome(daemon, job), wanted)
    assert not trainers(job)


def jobs_without_progress_fail(daemon):
    """When every trainer is killed before its first checkpoint, the job must fail and its error must contain the signal."""
    job = submit(daemon, total_samples=LONG, checkpoint_every=100000, validation_every=100000)
    killed = set()
    until = time.monotonic() + PATIENCE
    while show(daemon, job)["state"] in ("queued", "running") and time.monotonic() < until:
        for pid in trainers(job):
            try:
                os.kill(pid, signal.SIGABRT)  # a signal that sanitizers do not handle
                killed.add(pid)
            except ProcessLookupError:
                pass
        time.sleep(0.05)
    failed = show(daemon, job)
    assert failed["state"] == "failed", failed
    assert failed["error"]["code"] == "trainer-died" and failed["error"]["signal"] == "SIGABRT" and failed["error"]["tries"] == 5, failed
    assert len(killed) == 5, killed
    assert daemon.ask("GET", "/healthz")[0] == 200


def the_end_of_the_daemon_ends_trainers(daemon):
    """After SIGTERM to the daemon, the trainer must save and end, and the daemon must end properly. The job must continue at the next start."""
    job = submit(daemon, total_samples=LONG)
    await_steps(daemon, job)
    assert daemon.end() == 0
    assert not trainers(job)
    daemon.start()
    assert checkpoints(daemon, job) > 0
    await_("a trainer", lambda: trainers(job))
    assert daemon.ask("POST", f"/v1/jobs/{job}/cancel")[0] == 202
    await_state(daemon, job, "cancelled")


def environment(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        return file.read()


def the_trace_reaches_the_trainer(daemon):
    """The traceparent of a submission must reach the environment of the job's trainer."""
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    body = {"kind": "sparling", "preset": "digitcircle-quick", "executor": "process", "config": {**TINY, "total_samples": LONG}}
    status, _, job = daemon.ask("POST", "/v1/jobs", body, headers={"traceparent": trace})
    assert status == 201 and job["traceparent"] == trace, job
    pid = await_("a trainer", lambda: trainers(job["id"]))[0]
    await_("a trainer that has begun", lambda: (show(daemon, job["id"])["progress"]["step"] or 0) > 0)
    assert f"TRACEPARENT={trace}".encode() in environment(pid), environment(pid)
    assert daemon.ask("POST", f"/v1/jobs/{job['id']}/cancel")[0] == 202
    await_state(daemon, job["id"], "cancelled")


def the_token_opens_only_its_routes(daemon):
    """A trainer's token must open only the trainer routes of its job, must expire with the run, and must not be in a command line."""
    job = submit(daemon, total_samples=LONG)
    pid = await_("a trainer", lambda: trainers(job))[0]
    await_("a trainer that has begun", lambda: (show(daemon, job)["progress"]["step"] or 0) > 0)
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        assert b"motifrun_" not in file.read()
    assert b"motifrun_" not in environment(pid), "the token stays where others of this user can read it"
    for token in (None, "motifrun_" + "A" * 43, "motifrun_" + "A" * 500, ""):
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        for method, path in (("POST", "run"), ("GET", "run/checkpoints?epoch=1"), ("GET", "run/checkpoints/1?epoch=1"), ("POST", "run/end?epoch=1"),
                             ("POST", "run/reports?epoch=1"), ("PUT", "run/upload?epoch=1&offset=0"), ("PUT", "run/artifacts/a.txt?epoch=1"),
                             ("POST", "run/checkpoints?epoch=1")):
            assert daemon.ask(method, f"/v1/jobs/{job}/{path}", None if method == "GET" else {}, headers=headers)[0] == 401, (method, path)
    # A trainer's token is refused on other routes, even when the daemon requires no token.
    for method, path in (("GET", "/v1/jobs"), ("POST", f"/v1/jobs/{job}/cancel"), ("GET", "/metrics"), ("DELETE", f"/v1/jobs/{job}")):
        assert daemon.ask(method, path, headers={"Authorization": "Bearer motifrun_" + "A" * 43})[0] == 401
    assert daemon.ask("POST", f"/v1/jobs/{job}/cancel")[0] == 202
    await_state(daemon, job, "cancelled")


def wrong_executors_are_refused(daemon):
    for body, pointer in (({"executor": "slurm"}, "/executor"), ({"executor": 7}, "/executor"), ({"ranks": 2}, "/ranks"),
                          ({"ranks": 2, "executor": "process"}, "/ranks"), ({"ranks": 0}, "/ranks")):
        status, _, problem = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick", **body})
        assert status == 422 and [fault["pointer"] for fault in problem["errors"]] == [pointer], problem


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(MOTIFD, os.path.join(folder, "db"), "--data", os.path.join(folder, "data"), "--executors", "process,thread") as daemon:
            samples = 400 * ROUNDS
            run_each((daemon,), processes_give_the_bits_of_threads)
            wanted = outcome(daemon, submit(daemon, "thread", total_samples=samples))
            run_each((daemon,), other_kinds_and_evaluations_run, jobs_are_paused_and_cancelled)
            run_each((daemon, wanted, samples), a_killed_trainer_is_replaced, jobs_continue_after_a_killed_daemon)
            run_each((daemon,), jobs_without_progress_fail, the_end_of_the_daemon_ends_trainers, the_token_opens_only_its_routes,
                     the_trace_reaches_the_trainer, wrong_executors_are_refused)


if __name__ == "__main__":
    main()
