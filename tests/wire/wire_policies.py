#!/usr/bin/env python3
"""Policies of retention on a real daemon: the dry run, what goes and what stays, the audit log, and the size of the file afterwards. A policy takes nothing
of another team. A kill in the middle of a cleanup leaves each job whole or gone, and the audit log says which.

usage: wire_policies.py MOTIFD MOTIFCTL"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon, run_each  # noqa: E402

MOTIFD, MOTIFCTL = (os.path.abspath(path) for path in sys.argv[1:3])
JOBS, KEPT = 14, 7
CSV = b"a,b,label\n1,2,x\n3,4,y\n5,6,x\n1,3,y\n2,5,x\n4,4,y\n"


def until(condition, what):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"not within a minute: {what}")


def must(daemon, expected, *words, token=None, **more):
    status, _, document = daemon.ask(*words, headers={"Authorization": f"Bearer {token}"} if token else None, **more)
    assert status == expected, (words, status, document)
    return document


def jobs_of(daemon, token=None):
    return {job["id"] for job in must(daemon, 200, "GET", "/v1/jobs?limit=1000", token=token)["jobs"]}


def deletions(daemon, token=None):
    return {c["target"].split("/")[3]: c for c in must(daemon, 200, "GET", "/v1/audit?limit=1000", token=token)["changes"] if c["who"].startswith("policy ")}


def ctl(daemon, *words, token=""):
    done = subprocess.run([MOTIFCTL, *words, "--server", daemon.url], capture_output=True, text=True, timeout=60, env={**os.environ, "MOTIFD_TOKEN": token})
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def fill(daemon, token=None):
    """One trained job of a few megabytes, and copies of it. Returns the ids, oldest first."""
    config = {**TINY, "width": 128, "channels": 32, "total_samples": 40, "checkpoint_every": 1000}
    job = must(daemon, 201, "POST", "/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick", "config": config}, token=token)["id"]
    until(lambda: must(daemon, 200, "GET", f"/v1/jobs/{job}", token=token)["state"] == "succeeded", "the training ends")
    bundle = must(daemon, 200, "GET", f"/v1/jobs/{job}/bundle", token=token)
    return [job] + [must(daemon, 201, "POST", f"/v1/imports?name=copy{i}", bundle, kind="application/octet-stream", token=token)["id"] for i in range(JOBS - 1)]


def the_file_shrinks_to_what_is_stored(folder):
    database = f"{folder}/shrinks.db"
    with Daemon(MOTIFD, database, "--data", f"{folder}/shrinks", "--policy-seconds", "1") as daemon:
        jobs = fill(daemon)
        system = lambda: must(daemon, 200, "GET", "/v1/system")["database"]
        full = system()["file_bytes"]
        wrong = must(daemon, 422, "PUT", "/v1/policies", {"policies": [{"kind": "sparlin", "keep_newest": 0}]})
        assert {e["pointer"] for e in wrong["errors"]} == {"/policies/0/kind", "/policies/0/keep_newest"} and "did you mean 'sparling'" in wrong["errors"][0]["detail"], wrong
        policies = {"policies": [{"kind": "*", "keep_newest": KEPT}]}
        plan = must(daemon, 200, "PUT", "/v1/policies?dry_run=1", policies)
        assert {d["id"] for d in plan["jobs"]} == set(jobs[:-KEPT]) and all(d["takes"] == "job" for d in plan["jobs"]), plan
        assert plan["bytes"] >= full // 2 - (2 << 20) and must(daemon, 200, "GET", "/v1/policies") == {"policies": []}, plan
        assert len(jobs_of(daemon)) == JOBS
        assert "no policy deletes it" in ctl(daemon, "pin", jobs[0])
        with open(f"{folder}/policies.json", "w") as file:
            json.dump(policies, file)
        assert f"{JOBS - KEPT - 1} jobs and 0 data sets would go" in ctl(daemon, "policy", f"{folder}/policies.json", "--dry-run")
        assert "sparling" not in ctl(daemon, "policy") and str(KEPT) in ctl(daemon, "policy", f"{folder}/policies.json")
        kept = {jobs[0], *jobs[-KEPT:]}
        until(lambda: jobs_of(daemon) == kept, "the policy deletes the old jobs")
        assert must(daemon, 200, "GET", f"/v1/jobs/{jobs[0]}")["pinned"] is True
        gone = deletions(daemon)
        assert set(gone) == set(jobs) - kept and all(c["who"] == "policy - *" and c["status"] == 204 for c in gone.values()), gone
        # the job is due as soon as its pin ends
        assert "policies apply; it is deleted if nobody uses it until" in ctl(daemon, "pin", jobs[0], "--off")
        until(lambda: jobs_of(daemon) == set(jobs[-KEPT:]), "the pin has ended")
        until(lambda: system()["file_bytes"] * 10 <= (system()["file_bytes"] - system()["free_bytes"]) * 11, "the file shrinks to within 10 % of what is stored")
        after = system()
        for job in jobs[-KEPT:]:
            must(daemon, 200, "GET", f"/v1/jobs/{job}/bundle")
        stored = system()["file_bytes"] - system()["free_bytes"]
    size = os.path.getsize(database)
    print(f"{full / 1e6:.1f} MB before, {size / 1e6:.1f} MB after, of which {stored / 1e6:.1f} MB are in use", flush=True)
    assert size < 0.7 * full and size * 10 <= stored * 11, (full, stored, size)


def a_policy_takes_nothing_of_another_team(folder):
    database = f"{folder}/teams.db"

    def token(name, role, *team):
        made = subprocess.run([MOTIFD, "token", "create", "--db", database, "--name", name, "--role", role, *team], capture_output=True, text=True, timeout=60)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    with Daemon(MOTIFD, database, "--data", f"{folder}/teams", "--policy-seconds", "1", "--workers", "1") as daemon:
        root, ann, bob = token("root", "admin"), token("ann", "manager", "--team", "a"), token("bob", "member", "--team", "b")
        body = {"kind": "sparling", "preset": "digitcircle-quick", "config": {**TINY, "total_samples": 4, "checkpoint_every": 1000}}
        made = {who: [must(daemon, 201, "POST", "/v1/jobs", body, token=secret)["id"] for _ in range(3)] for who, secret in (("ann", ann), ("bob", bob))}
        for name in ("old", "used", "pinned", "new"):
            must(daemon, 201, "PUT", f"/v1/datasets/{name}", CSV.replace(b"1,2", f"{len(name)},2".encode()), kind="text/csv", token=ann)
            time.sleep(0.01)
        must(daemon, 201, "PUT", "/v1/datasets/old", CSV, kind="text/csv", token=bob)
        until(lambda: all(j["state"] == "succeeded" for j in must(daemon, 200, "GET", "/v1/jobs", token=root)["jobs"]), "the trainings end")
        assert must(daemon, 200, "PATCH", "/v1/datasets/pinned", {"pinned": True}, token=ann)["pinned"] is True
        busy = must(daemon, 201, "POST", "/v1/jobs", {**body, "config": {**TINY, "total_samples": 100000000, "validation_every": 10000000}}, token=root)["id"]
        queued = must(daemon, 201, "POST", "/v1/jobs", {"kind": "factors", "preset": "dataset", "config": {"dataset_name": "used"}}, token=ann)["id"]
        policies = {"policies": [{"team": "a", "kind": "*", "keep_newest": 1}, {"team": "a", "kind": "datasets", "keep_newest": 1}]}
        for secret in (ann, bob):
            must(daemon, 403, "PUT", "/v1/policies", policies, token=secret)
        must(daemon, 200, "PUT", "/v1/policies", policies, token=root)
        assert len(must(daemon, 200, "GET", "/v1/policies", token=ann)["policies"]) == 2 and must(daemon, 200, "GET", "/v1/policies", token=bob)["policies"] == []
        plan = must(daemon, 200, "GET", "/v1/policies/dry-run", token=bob)
        assert plan["jobs"] == [] and plan["datasets"] == [] and plan["bytes"] == 0, plan
        names = lambda secret: {d["name"] for d in must(daemon, 200, "GET", "/v1/datasets", token=secret)["datasets"]}
        until(lambda: jobs_of(daemon, root) == {made["ann"][-1], queued, busy, *made["bob"]} and names(ann) == {"used", "pinned", "new"}, "the policy of team a")
        time.sleep(2.5)  # further runs take nothing
        assert jobs_of(daemon, bob) == set(made["bob"]) and names(bob) == {"old"} and names(ann) == {"used", "pinned", "new"}
        assert set(deletions(daemon, root)) == {*made["ann"][:-1], "a:old"}, deletions(daemon, root)
        shown = must(daemon, 200, "GET", "/v1/datasets/new", token=ann)
        assert shown["pinned"] is False and shown["expires_at"] is None, shown
        must(daemon, 200, "PUT", "/v1/policies", {"policies": [{"team": "a", "kind": "*", "keep_days": 6}]}, token=root)
        job = must(daemon, 200, "GET", f"/v1/jobs/{made['ann'][-1]}", token=ann)
        left = time.mktime(time.strptime(job["expires_at"][:19], "%Y-%m-%dT%H:%M:%S")) - time.mktime(time.strptime(job["finished_at"][:19], "%Y-%m-%dT%H:%M:%S"))
        assert 6 * 86400 - 3700 <= left <= 6 * 86400 + 3700, job


def a_kill_leaves_each_job_whole_or_gone(folder):
    database = f"{folder}/killed.db"
    daemon = Daemon(MOTIFD, database, "--data", f"{folder}/killed", "--policy-seconds", "1")
    body = {"kind": "sparling", "preset": "digitcircle-quick", "config": {**TINY, "total_samples": 4, "checkpoint_every": 1000}, "seeds": 16}
    must(daemon, 201, "POST", "/v1/studies", body)
    until(lambda: all(j["state"] == "succeeded" for j in must(daemon, 200, "GET", "/v1/jobs?limit=1000")["jobs"]), "the trainings end")
    jobs = jobs_of(daemon)
    must(daemon, 200, "PUT", "/v1/policies", {"policies": [{"kind": "*", "keep_newest": 2}]})
    until(lambda: len(jobs_of(daemon)) < len(jobs) - 2, "the cleanup has begun")
    daemon.end(signal.SIGKILL)
    checked = subprocess.run([MOTIFD, "check", "--db", database], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, (checked.stdout, checked.stderr)
    daemon.command += ["--policy-seconds", "86400"]
    daemon.start()
    with daemon:
        left, gone = jobs_of(daemon), deletions(daemon)
        assert set(gone) == jobs - left and len(left) >= 2, (len(left), len(gone))
        for job in left:
            must(daemon, 200, "GET", f"/v1/jobs/{job}/bundle")
        print(f"{len(gone)} of {len(jobs) - 2} jobs were deleted before the kill", flush=True)


with tempfile.TemporaryDirectory() as where:
    run_each((where,), the_file_shrinks_to_what_is_stored, a_policy_takes_nothing_of_another_team, a_kill_leaves_each_job_whole_or_gone)
