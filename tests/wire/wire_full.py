#!/usr/bin/env python3
"""The daemon's disk becomes full and then has space again. Acknowledged jobs must be stored. The daemon must refuse others with a reason, answer
reads, and accept jobs again by itself. The disk is a tmpfs of 64 MB in a mount namespace, which needs root; otherwise the test is skipped (77).

usage: wire_full.py MOTIFD"""
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon  # noqa: E402

BODY = {"kind": "sparling", "preset": "digitcircle-quick", "config": TINY, "priority": -5}
CSV = b"a,b,label\n" + b"1.25,2.5,x\n3.75,4.5,y\n" * 20000


def fill(path):
    """Fills the disk to its last page."""
    with open(path, "wb", buffering=0) as file:
        size = 1 << 20
        while size >= 512:
            try:
                if file.write(bytes(size)) < size:
                    size //= 2
            except OSError:
                size //= 2


def await_ready(daemon, status):
    end = time.monotonic() + 60
    while daemon.ask("GET", "/readyz")[0] != status:
        assert time.monotonic() < end, f"/readyz does not come to say {status}"
        time.sleep(0.05)


def failed_writes(path):
    with open(path) as file:
        return sum("a commit failed" in line or "points of metrics wait in memory" in line for line in file)


def await_failed_write(path):
    """Waits until the running job has tried once more to write to the full disk."""
    end, before = time.monotonic() + 60, failed_writes(path)
    while failed_writes(path) == before:
        assert time.monotonic() < end, "the running job does not write"
        time.sleep(0.05)


def submit_until(daemon, refused, most):
    """Submits up to `most` jobs until one is refused; returns the acknowledged ids."""
    ids = []
    for _ in range(most):
        status, headers, answer = daemon.ask("POST", "/v1/jobs", BODY)
        if status == refused:
            assert answer["status"] == refused and answer["title"], answer
            return ids, headers
        assert status == 201, (status, answer)
        ids.append(answer["id"])
    return ids, None


def await_job(daemon, path, what, holds):
    """Waits until the job's document satisfies `holds` and returns it."""
    end = time.monotonic() + 120
    while not holds(document := daemon.ask("GET", path)[2]):
        assert time.monotonic() < end, f"the job is not {what}: {document['state']} {document['blocked']}"
        time.sleep(0.05)
    return document


def jobs_wait_for_space(daemon, filler):
    """A job that must write waits while the disk is full. It then continues, or is cancelled."""
    for cancelled in (False, True):
        status, _, job = daemon.ask("POST", "/v1/jobs", {**BODY, "config": {**TINY, "total_samples": 1000000}, "priority": 9})
        assert status == 201, job
        path = "/v1/jobs/" + job["id"]
        await_job(daemon, path, "running", lambda job: job["state"] == "running" and job["progress"]["step"] > 0)
        etag = daemon.ask("GET", path)[1]["ETag"]
        fill(filler)
        step = await_job(daemon, path, "blocked", lambda job: job["blocked"] == "disk full")["progress"]["step"]
        assert daemon.metric("motifd_jobs_blocked") >= 1 and daemon.ask("GET", "/v1/system")[2]["jobs_blocked"] >= 1
        assert daemon.ask("GET", path, headers={"If-None-Match": etag})[0] == 200
        if cancelled:
            status, _, answer = daemon.ask("POST", path + "/cancel")
            assert status == 202 and answer["requested_state"] == "cancelled", (status, answer["requested_state"])
        os.unlink(filler)
        if not cancelled:
            await_job(daemon, path, "working again", lambda job: job["blocked"] is None and job["progress"]["step"] > step + 10)
            assert daemon.ask("POST", path + "/cancel")[0] == 202
        await_job(daemon, path, "cancelled", lambda job: job["state"] == "cancelled" and job["blocked"] is None)
        assert daemon.ask("DELETE", path)[0] == 204
    assert daemon.metric("motifd_jobs_blocked") == 0


def a_killed_daemon_starts_on_the_full_disk(daemon, filler):
    """Reads work at once. Jobs of the killed daemon continue when there is space."""
    status, _, job = daemon.ask("POST", "/v1/jobs", {**BODY, "config": {**TINY, "total_samples": 1000000}, "priority": 9})
    assert status == 201, job
    path = "/v1/jobs/" + job["id"]
    await_job(daemon, path, "running", lambda job: job["state"] == "running" and job["progress"]["step"] > 0)
    fill(filler)
    step = await_job(daemon, path, "blocked", lambda job: job["blocked"] == "disk full")["progress"]["step"]
    daemon.end(signal.SIGKILL)
    fill(filler + "-2")
    daemon.start()
    await_ready(daemon, 503)
    assert daemon.ask("GET", path)[2]["id"] == job["id"]
    assert daemon.ask("GET", "/v1/jobs")[0] == 200
    assert daemon.ask("POST", "/v1/jobs", BODY)[0] == 503
    os.unlink(filler)
    os.unlink(filler + "-2")
    await_job(daemon, path, "working again", lambda job: job["state"] == "running" and job["progress"]["step"] > step + 10)
    assert daemon.ask("POST", path + "/cancel")[0] == 202
    await_job(daemon, path, "cancelled", lambda job: job["state"] == "cancelled")
    assert daemon.ask("DELETE", path)[0] == 204


def main(motifd, folder):
    disk, data = os.path.join(folder, "motif.db"), os.path.join(folder, "data")
    os.mkdir(data)
    log = tempfile.NamedTemporaryFile("w+", dir="/dev/shm")  # not on the disk that becomes full
    daemon = Daemon(motifd, disk, "--data", data, "--queue-limit", "100000", "--log-level", "warn", log=log)
    filler = os.path.join(folder, "filler")
    acknowledged = []
    jobs_wait_for_space(daemon, filler)
    a_killed_daemon_starts_on_the_full_disk(daemon, filler)
    for times in range(3):
        await_ready(daemon, 200)
        more, _ = submit_until(daemon, 503, 3)
        assert len(more) == 3
        acknowledged += more
        fill(filler)
        await_ready(daemon, 503)
        # The database's log may still have space for a few jobs.
        more, headers = submit_until(daemon, 503, 5000)
        assert headers is not None, "5,000 jobs were taken on a full disk"
        acknowledged += more
        await_failed_write(log.name)
        assert daemon.ask("PUT", "/v1/datasets/new", CSV, "text/csv")[0] == 503
        assert daemon.ask("GET", "/healthz")[0] == 200
        assert daemon.ask("GET", f"/v1/jobs/{acknowledged[0]}")[0] == 200
        assert daemon.ask("GET", "/v1/datasets")[2]["datasets"] == [] or times > 0
        os.unlink(filler)
        await_ready(daemon, 200)
        status, _, answer = daemon.ask("PUT", f"/v1/datasets/set-{times}", CSV, "text/csv")
        assert status == 201, answer
    for job in acknowledged:
        assert daemon.ask("GET", f"/v1/jobs/{job}")[0] == 200, job
    assert daemon.end() == 0
    with sqlite3.connect(disk) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        stored = {row[0] for row in db.execute("SELECT id FROM job")}
    assert stored == set(acknowledged), (len(stored), len(acknowledged))
    print(f"ok full disk: {len(acknowledged)} jobs acknowledged, none lost or doubled")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        if os.geteuid() != 0:
            print("skipped: only root may mount the small disk")
            sys.exit(77)
        with tempfile.TemporaryDirectory(prefix="motifd-full-") as where:
            script = 'mount -t tmpfs -o size=64m,mode=700 none "$1" && shift 1 && exec "$@"'
            probe = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", where, "true"], capture_output=True, text=True)
            if probe.returncode != 0:
                print("skipped: no mount namespaces here:", probe.stderr.strip())
                sys.exit(77)
            sys.exit(subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", where, sys.executable, __file__, sys.argv[1], where]).returncode)
    main(sys.argv[1], sys.argv[2])
