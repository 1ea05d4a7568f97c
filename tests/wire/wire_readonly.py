#!/usr/bin/env python3
"""The daemon's disk becomes read-only, or is read-only at the start. The daemon must not crash; it must say what is wrong, report that it is not
ready, refuse writes with an error document, and answer reads. The disks are two tmpfs in a mount namespace, which needs root; otherwise the test is
skipped (77).

usage: wire_readonly.py MOTIFD"""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon  # noqa: E402

BODY = {"kind": "sparling", "preset": "digitcircle-quick", "config": TINY}
CSV = b"a,b,label\n1.25,2.5,x\n3.75,4.5,y\n"


def remount(folder, how):
    subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)


def await_ready(daemon, status):
    end = time.monotonic() + 60
    while daemon.ask("GET", "/readyz")[0] != status:
        assert daemon.process.poll() is None, "the daemon has ended"
        assert time.monotonic() < end, f"/readyz does not come to say {status}"
        time.sleep(0.05)


def refused(answer, *statuses):
    status, _, problem = answer
    assert status in statuses and problem["status"] == status and problem["title"] and problem["detail"], answer
    assert "/tmp/" not in str(problem) and "SQL" not in str(problem), problem


def read_only_data_are_reported(daemon, data):
    assert daemon.ask("PUT", "/v1/datasets/before", CSV, "text/csv")[0] == 201
    remount(data, "ro")
    refused(daemon.ask("PUT", "/v1/datasets/new", CSV, "text/csv"), 500, 503)
    refused(daemon.ask("DELETE", "/v1/datasets/before"), 500, 503)
    assert [found["name"] for found in daemon.ask("GET", "/v1/datasets")[2]["datasets"]] == ["before"]
    assert daemon.ask("POST", "/v1/jobs", BODY)[0] == 201, "a job needs no data set"
    remount(data, "rw")
    assert daemon.ask("PUT", "/v1/datasets/new", CSV, "text/csv")[0] == 201


def start_fails(program, *options):
    ended = subprocess.run([program, "serve", "--listen", "127.0.0.1:0", *options], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1, ended
    return ended.stderr


def main(motifd, folder):
    disk, data = os.path.join(folder, "disk"), os.path.join(folder, "data")
    for where in (disk, data):
        os.mkdir(where)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "none", where], check=True)
    database = os.path.join(disk, "motif.db")
    with open(os.path.join(folder, "log"), "w+") as log:
        daemon = Daemon(motifd, database, "--data", data, log=log)
        await_ready(daemon, 200)
        read_only_data_are_reported(daemon, data)
        stored = [job["id"] for job in daemon.ask("GET", "/v1/jobs")[2]["jobs"]]
        assert stored and daemon.end() == 0
    remount(disk, "ro")
    message = start_fails(motifd, "--db", database, "--data", data)
    assert "read-only" in message.lower() and "lock file" in message, message
    remount(disk, "rw")
    os.chmod(database, 0o444)
    remount(data, "ro")
    with open(os.path.join(folder, "log"), "w+") as log:
        daemon = Daemon(motifd, database, "--data", data, log=log)
        await_ready(daemon, 200)
        assert [job["id"] for job in daemon.ask("GET", "/v1/jobs")[2]["jobs"]] == stored
        refused(daemon.ask("PUT", "/v1/datasets/new", CSV, "text/csv"), 500, 503)
        assert daemon.end() == 0
    print(f"ok read-only disks: {len(stored)} jobs stored")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        if os.geteuid() != 0:
            print("skipped: only root may mount the disks")
            sys.exit(77)
        with tempfile.TemporaryDirectory(prefix="motifd-readonly-") as where:
            probe = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", where], capture_output=True, text=True)
            if probe.returncode != 0:
                print("skipped: no mount namespaces here:", probe.stderr.strip())
                sys.exit(77)
            sys.exit(subprocess.run(["unshare", "--mount", sys.executable, __file__, sys.argv[1], where]).returncode)
    main(sys.argv[1], sys.argv[2])
