#!/usr/bin/env python3
"""What an operator needs to keep a server alive: limits of bytes by team, metrics of space, teams, backups and stuck jobs, and backups that take only what
changed, restored into an empty tree of folders.

usage: wire_house.py MOTIFD"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon, run_each  # noqa: E402

MOTIFD = os.path.abspath(sys.argv[1])
CSV = b"a,b,label\n1,2,x\n3,4,y\n5,6,x\n1,3,y\n2,5,x\n4,4,y\n"
JOB = {"kind": "sparling", "preset": "digitcircle-quick", "config": {**TINY, "total_samples": 4, "checkpoint_every": 1000}}


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


def run(*words, code=0):
    done = subprocess.run([MOTIFD, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (words, done)
    return done.stdout.strip() if code == 0 else done.stderr


def series(daemon, token=None):
    lines = must(daemon, 200, "GET", "/metrics", token=token).decode().splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}


def teams_have_limits_of_bytes(folder):
    database = f"{folder}/limits.db"
    with Daemon(MOTIFD, database, "--data", f"{folder}/limits", "--job-bytes-per-team", "100000", "--dataset-bytes-per-team", "9000", "--workers", "1") as daemon:
        token = lambda name, *more: run("token", "create", "--db", database, "--name", name, *more)
        root, ann, eve, bob = token("root", "--role", "admin"), token("ann", "--team", "a"), token("eve", "--team", "a"), token("bob", "--team", "b")
        job = must(daemon, 201, "POST", "/v1/jobs", JOB, token=ann)["id"]
        until(lambda: must(daemon, 200, "GET", f"/v1/jobs/{job}", token=ann)["state"] == "succeeded", "the training ends")
        bundle = must(daemon, 200, "GET", f"/v1/jobs/{job}/bundle", token=ann)
        # the second member of the team meets the limit, the other team does not
        refused = must(daemon, 403, "POST", "/v1/jobs", JOB, token=eve)
        assert "jobs of this team keep" in refused["detail"] and "the limit is 100000" in refused["detail"], refused
        assert "jobs of this team keep" in must(daemon, 403, "POST", "/v1/imports", bundle, kind="application/octet-stream", token=eve)["detail"]
        must(daemon, 201, "PUT", "/v1/datasets/one", CSV, kind="text/csv", token=ann)
        refused = must(daemon, 413, "PUT", "/v1/datasets/two", CSV + b"7,7,x\n", kind="text/csv", token=eve)
        assert "data sets of this team use" in refused["detail"], refused
        must(daemon, 201, "PUT", "/v1/datasets/two", CSV, kind="text/csv", token=bob)
        must(daemon, 201, "POST", "/v1/jobs", JOB, token=bob)
        limits = must(daemon, 200, "GET", "/v1/usage", token=eve)["limits"]
        assert limits["team_job_bytes"] == 100000 and limits["team_dataset_bytes"] == 9000 and limits["job_bytes"] is None, limits
        # administrators see the teams, members their own
        found, own = series(daemon, root), series(daemon, bob)
        assert found['motifd_team_bytes{team="a",of="jobs"}'] > 100000 and found['motifd_team_bytes{team="a",of="datasets"}'] > len(CSV), found
        assert found['motifd_team_queued_jobs{team="a"}'] == 0
        assert not any('team="a"' in name for name in own) and 'motifd_team_bytes{team="b",of="datasets"}' in own, own


def metrics_warn_before_it_is_too_late(folder):
    database = f"{folder}/warn.db"
    with Daemon(MOTIFD, database, "--data", f"{folder}/warn", "--workers", "1") as daemon:
        found = series(daemon)
        assert 0 < found["motifd_disk_free_bytes"] <= found["motifd_disk_size_bytes"] and found["motifd_backup_age_seconds"] == float("inf"), found
        assert found["motifd_backup_failed"] == 0 and found["motifd_job_stalled_seconds"] == 0
        assert "motifd_certificate_expires_seconds" not in found
        must(daemon, 201, "POST", "/v1/jobs", {**JOB, "config": {**TINY, "total_samples": 100000000, "validation_every": 10000000}})
        until(lambda: 0 < series(daemon)["motifd_job_stalled_seconds"] < 30, "a job runs")
        run("backup", "--db", database, f"{folder}/no-such-folder/copy", code=1)
        assert series(daemon)["motifd_backup_failed"] == 1
        run("backup", "--db", database, f"{folder}/copy")
        found = series(daemon)
        assert found["motifd_backup_failed"] == 0 and 0 <= found["motifd_backup_age_seconds"] < 60, found


def backups_take_what_changed_and_restore_everything(folder):
    database, data, copies = f"{folder}/live/motifd.db", f"{folder}/live/data", f"{folder}/copies"
    os.makedirs(copies)
    os.makedirs(f"{folder}/live")
    blob = "\n".join(f"{i},{i * 7 % 13},{'xy'[i % 2]}" for i in range(3000))
    with Daemon(MOTIFD, database, "--data", data) as daemon:
        must(daemon, 201, "PUT", "/v1/datasets/first", f"a,b,label\n{blob}\n".encode(), kind="text/csv")
        job = must(daemon, 201, "POST", "/v1/jobs", JOB)["id"]
        until(lambda: must(daemon, 200, "GET", f"/v1/jobs/{job}")["state"] == "succeeded", "the training ends")
        run("backup", "--db", database, "--with-data", "--data", data, "--into", copies)
        time.sleep(1.1)  # names of copies count seconds
        must(daemon, 201, "PUT", "/v1/datasets/second", CSV, kind="text/csv")
        run("backup", "--db", database, "--with-data", "--data", data, "--into", copies)
        document = must(daemon, 200, "GET", f"/v1/jobs/{job}")
    old, new = sorted(name for name in os.listdir(copies) if name.endswith(".data"))
    shared = [os.path.samefile(f"{copies}/{old}/first/{name}", f"{copies}/{new}/first/{name}") for name in os.listdir(f"{copies}/{old}/first")]
    assert shared and all(shared), "the files of a data set that did not change are links"
    assert sorted(os.listdir(f"{copies}/{new}")) == ["first", "second"] and os.listdir(f"{copies}/{old}") == ["first"]
    # as on a new machine: nothing of the old one is left, and only the newest copy arrives there
    shutil.rmtree(f"{folder}/live")
    shutil.rmtree(f"{copies}/{old}")
    machine = f"{folder}/machine"
    os.makedirs(f"{machine}/var/lib/motifd")
    database, data = f"{machine}/var/lib/motifd/motifd.db", f"{machine}/var/lib/motifd/data"
    run("restore", "--db", database, "--with-data", "--data", data, f"{copies}/{new[:-5]}")
    run("check", "--db", database, "--with-data", "--data", data)
    with Daemon(MOTIFD, database, "--data", data) as daemon:
        assert must(daemon, 200, "GET", f"/v1/jobs/{job}") == document
        assert {d["name"] for d in must(daemon, 200, "GET", "/v1/datasets")["datasets"]} == {"first", "second"}
        assert must(daemon, 200, "GET", "/v1/datasets/first")["samples"] == 3000
        assert len(must(daemon, 200, "GET", f"/v1/jobs/{job}/bundle")) > 10000
        made = must(daemon, 201, "POST", "/v1/jobs", {"kind": "factors", "preset": "dataset", "config": {"dataset_name": "first"}})
        must(daemon, 202, "POST", f"/v1/jobs/{made['id']}/cancel")


with tempfile.TemporaryDirectory() as where:
    run_each((where,), teams_have_limits_of_bytes, metrics_warn_before_it_is_too_late, backups_take_what_changed_and_restore_everything)
