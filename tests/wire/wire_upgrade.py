#!/usr/bin/env python3
"""An upgrade with clients: the daemon opens a database of the first schema with jobs, while a client repeats its submission until somebody answers. A daemon
refuses the database of a newer version, says why, and changes nothing.

usage: wire_upgrade.py MOTIFD"""
import hashlib
import http.client
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon, run_each  # noqa: E402

MOTIFD = os.path.abspath(sys.argv[1])
JOB = {"kind": "sparling", "preset": "digitcircle-quick", "config": {**TINY, "total_samples": 40}}
# Undoes the migrations after the first one, newest first (storage/database/schema.c; tests/unit/storage/test_storage_migrate.c does the same).
TO_FIRST_SCHEMA = """
DROP INDEX job_by_age; DROP TABLE policy; DROP TABLE dataset_use; ALTER TABLE job DROP COLUMN pinned; ALTER TABLE job DROP COLUMN used_at;
ALTER TABLE token DROP COLUMN used_at; DROP TABLE answer; DROP INDEX job_by_viewer; DROP INDEX job_by_team;
ALTER TABLE job DROP COLUMN team; ALTER TABLE job DROP COLUMN visibility; ALTER TABLE study DROP COLUMN team; ALTER TABLE study DROP COLUMN visibility;
ALTER TABLE token DROP COLUMN team; DROP TABLE row_digest; PRAGMA user_version = 1; VACUUM;"""


def must(daemon, expected, *words, **more):
    status, _, document = daemon.ask(*words, **more)
    assert status == expected, (words, status, document)
    return document


def make_old(database):
    """Makes the file one of the first schema; returns the version that it had."""
    with sqlite3.connect(database) as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        for (trigger,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'row_digest_%'").fetchall():
            db.execute(f'DROP TRIGGER "{trigger}"')
    db = sqlite3.connect(database, isolation_level=None)
    db.executescript(TO_FIRST_SCHEMA)
    db.close()
    return version


class Retrying(threading.Thread):
    """A client that submits a job with an Idempotency-Key until it has an answer."""

    def __init__(self, port):
        super().__init__()
        self.port, self.refused, self.answer = port, 0, None
        self.start()

    def run(self):
        for _ in range(1200):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                connection.request("POST", "/v1/jobs", json.dumps({**JOB, "name": "new"}), {"Content-Type": "application/json", "Idempotency-Key": "upgrade"})
                answer = connection.getresponse()
                body = json.loads(answer.read())
                if answer.status == 201:
                    self.answer = body
                    return
            except (OSError, http.client.HTTPException, ValueError):
                self.refused += 1
            time.sleep(0.05)


def until_ended(daemon, job):
    for _ in range(600):
        document = must(daemon, 200, "GET", f"/v1/jobs/{job}")
        if document["state"] == "succeeded":
            return document
        time.sleep(0.1)
    raise AssertionError(f"job {job} does not end")


def jobs_survive_while_a_client_retries(folder):
    database = f"{folder}/motifd.db"
    with Daemon(MOTIFD, database, "--data", f"{folder}/data") as daemon:
        jobs = [must(daemon, 201, "POST", "/v1/jobs", {**JOB, "name": f"old{i}", "tags": ["paper"]})["id"] for i in range(3)]
        before = {job: until_ended(daemon, job) for job in jobs}
        checkpoints = {job: must(daemon, 200, "GET", f"/v1/jobs/{job}/checkpoints") for job in jobs}
        metrics = must(daemon, 200, "GET", f"/v1/jobs/{jobs[0]}/metrics")
    newest = make_old(database)
    assert newest >= 7, newest
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    client = Retrying(port)
    time.sleep(0.3)
    daemon = Daemon(MOTIFD, database, "--data", f"{folder}/data", "--listen", f"127.0.0.1:{port}")
    with daemon:
        client.join(60)
        assert client.answer is not None and client.refused > 0, (client.answer, client.refused)
        # the same key finds the same job, before and after a restart
        assert must(daemon, 201, "POST", "/v1/jobs", {**JOB, "name": "new"}, headers={"Idempotency-Key": "upgrade"})["id"] == client.answer["id"]
        until_ended(daemon, client.answer["id"])
        for job in jobs:
            after = must(daemon, 200, "GET", f"/v1/jobs/{job}")
            changed = {key for key in after if after[key] != before[job].get(key)}
            assert changed <= {"visibility"} and after["visibility"] == "everyone", (changed, after)
            assert must(daemon, 200, "GET", f"/v1/jobs/{job}/checkpoints") == checkpoints[job]
            assert len(must(daemon, 200, "GET", f"/v1/jobs/{job}/bundle")) > 10000
        assert must(daemon, 200, "GET", f"/v1/jobs/{jobs[0]}/metrics") == metrics
        assert len(must(daemon, 200, "GET", "/v1/jobs")["jobs"]) == 4
    with sqlite3.connect(database) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == newest
    checked = subprocess.run([MOTIFD, "check", "--db", database], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked
    print(f"from schema 1 to {newest}; the client was refused {client.refused} times before the daemon answered", flush=True)


def a_downgrade_is_refused_with_the_reason(folder):
    database, newer = f"{folder}/motifd.db", f"{folder}/newer.db"
    shutil.copy(database, newer)
    with sqlite3.connect(newer) as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        db.execute(f"PRAGMA user_version = {version + 1}")
    db.close()
    digest = hashlib.sha256(open(newer, "rb").read()).hexdigest()
    for words in (("serve", "--listen", "127.0.0.1:0", "--db", newer), ("check", "--db", newer), ("backup", "--db", newer, f"{folder}/copy")):
        done = subprocess.run([MOTIFD, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and f"a newer version of this program wrote the database (schema {version + 1}; this version supports up to {version})" in done.stderr, (words, done)
    assert hashlib.sha256(open(newer, "rb").read()).hexdigest() == digest and not os.path.exists(f"{folder}/copy")


with tempfile.TemporaryDirectory() as where:
    run_each((where,), jobs_survive_while_a_client_retries, a_downgrade_is_refused_with_the_reason)
