#!/usr/bin/env python3
"""Studies over HTTP, with motifctl and with the Python client: all jobs of an acknowledged study survive kill -9, and the table does not
depend on the kill. The method of tests/fixtures/method has a preset that is a study of twelve jobs.

usage: wire_study.py MOTIFD_WITH_METHOD MOTIFCTL"""
import csv
import io
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), *path) for path in (("..", "harness"), ("..", "..", "clients", "python"))]
from daemon import Daemon, run_checks  # noqa: E402

LONG = 40_000_000
MOTIFD, MOTIFCTL = (os.path.abspath(path) for path in sys.argv[1:3])


def submit(daemon, body, headers=None):
    status, answered, study = daemon.ask("POST", "/v1/studies", {"kind": "line", **body}, headers=headers)
    assert status == 201 and answered["Location"] == f"/v1/studies/{study['id']}", study
    return study


def wait(daemon, study, done):
    until = time.monotonic() + 240
    while time.monotonic() < until:
        document = daemon.ask("GET", f"/v1/studies/{study}")[2]
        if done(document):
            return document
        time.sleep(0.05)
    raise AssertionError(document["states"])


def ended(document):
    return document["state"] in ("succeeded", "failed", "cancelled")


def ctl(daemon, *words, code=0):
    done = subprocess.run([MOTIFCTL, "--server", daemon.url, *words], capture_output=True, text=True, timeout=240)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def rows_of(document):
    return [(row["fields"], row["results"]["slope"], row["results"]["offset"]) for row in document["table"]["rows"]]


def kill_between(daemon):
    """The table of a study whose daemon was killed twice equals the table of one that ran undisturbed."""
    body = {"preset": "noises", "config": {"total_samples": 400000}}
    calm = submit(daemon, {**body, "name": "calm"})
    expected = rows_of(wait(daemon, calm["id"], ended))
    study = submit(daemon, body, {"Idempotency-Key": "twice"})
    daemon.end(signal.SIGKILL)  # right after the answer
    daemon.start()
    found = daemon.ask("GET", f"/v1/studies/{study['id']}")[2]
    assert found["count"] == 12 and [job["id"] for job in found["jobs"]] == [job["id"] for job in study["jobs"]], found
    wait(daemon, study["id"], lambda document: document["states"]["succeeded"] > 0)
    daemon.end(signal.SIGKILL)  # some jobs have ended, others run or wait
    daemon.start()
    document = wait(daemon, study["id"], ended)
    assert document["state"] == "succeeded" and document["fraction"] == 1 and document["finished_at"], document["states"]
    assert rows_of(document) == expected, (rows_of(document), expected)
    again = submit(daemon, body, {"Idempotency-Key": "twice"})
    assert again["id"] == study["id"], again["id"]


def table_has_medians(daemon):
    study = daemon.ask("GET", "/v1/studies/calm")[2]
    slopes = {}
    for job in study["jobs"]:
        whole = daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]
        slopes.setdefault((whole["config"]["noise"], whole["config"]["slope"]), []).append(whole["result"]["slope"])
    rows = study["table"]["rows"]
    assert len(rows) == 4 and study["table"]["fields"] == ["noise", "slope"], study["table"]
    for row in rows:
        values = slopes[row["fields"]["noise"], row["fields"]["slope"]]
        assert row["jobs"] == row["done"] == len(values) == 3, row
        result = row["results"]["slope"]
        expected = {"count": 3, "median": statistics.median(values), "min": min(values), "max": max(values)}
        assert {name: result[name] for name in expected} == expected, (row, values)
        half = 4.302653 * statistics.stdev(values) / 3 ** 0.5  # Student's t with two degrees of freedom
        assert abs(result["mean"] - statistics.mean(values)) < 1e-12 and abs(result["high"] - result["mean"] - half) < 1e-4 * half + 1e-12, (row, values)
        assert abs(row["results"]["slope"]["median"] - row["fields"]["slope"]) < 0.05, row
    text = daemon.ask("GET", f"/v1/studies/{study['id']}", headers={"Accept": "text/csv"})[2].decode()
    table = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["result.slope"]) for row in table] == [row["results"]["slope"]["median"] for row in rows], text
    assert [row["noise"] for row in table] == ["0", "0", "0.5", "0.5"], text
    for kind, begin in (("image/png", b"\x89PNG"), ("image/svg+xml", b"<?xml")):
        status, _, picture = daemon.ask("GET", f"/v1/studies/{study['id']}/chart?x=noise&y=offset", headers={"Accept": kind})
        assert status == 200 and picture.startswith(begin), picture[:80]


def a_job_of_a_study_equals_the_job_alone(daemon):
    last = daemon.ask("GET", "/v1/studies/calm")[2]["jobs"][-1]
    job = daemon.ask("GET", f"/v1/jobs/{last['id']}")[2]
    alone = daemon.ask("POST", "/v1/jobs", {"kind": "line", "config": job["config"]})[2]["id"]
    until = time.monotonic() + 120
    while daemon.ask("GET", f"/v1/jobs/{alone}")[2]["state"] != "succeeded":
        assert time.monotonic() < until
        time.sleep(0.05)
    assert daemon.ask("GET", f"/v1/jobs/{alone}")[2]["result"]["slope"] == job["result"]["slope"]


def requests_act_on_all_jobs(daemon):
    study = submit(daemon, {"config": {"total_samples": LONG}, "grid": {"slope": [1, 2, 3]}})["id"]
    wait(daemon, study, lambda document: document["states"]["running"] > 0)
    for verb, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        assert daemon.ask("POST", f"/v1/studies/{study}/{verb}")[0] == 202
        document = wait(daemon, study, lambda document: document["state"] == state)
    assert document["states"]["cancelled"] == 3, document["states"]
    assert daemon.ask("POST", f"/v1/studies/{study}/resume")[0] == 409
    job = document["jobs"][0]["id"]
    assert daemon.ask("DELETE", f"/v1/studies/{study}")[0] == 204
    assert daemon.ask("GET", f"/v1/studies/{study}")[0] == 404 and daemon.ask("GET", f"/v1/jobs/{job}")[0] == 404


def motifctl_submits_shows_and_deletes(daemon):
    out = ctl(daemon, "submit", "--preset", "noises", "--set", "slope=3", "--watch")  # one command for a preset that is a study
    assert "with 6 jobs" in out and "2 more" not in out and "0.5" in out and "3/3" in out, out
    single = ctl(daemon, "submit", "--preset", "noises", "--set", "slope=3", "--set", "noise=0", "--set", "seed=4", "-q").strip()
    assert daemon.ask("GET", f"/v1/jobs/{single}")[2]["study"] is None
    assert "jobs" in ctl(daemon, "study", "submit", "--kind", "line", "--grid", "slope=1,2", "--seeds", "2", "--dry-run")
    out = ctl(daemon, "study", "submit", "--kind", "line", "--grid", "slope=1,.5", "--seeds", "2", "--name", "cli", "-q").strip()
    wait(daemon, out, ended)
    assert json.loads(ctl(daemon, "study", "show", "cli", "--json"))["grid"] == {"slope": [1, 0.5]}
    assert ctl(daemon, "study", "show", "cli", "--csv").startswith("slope,jobs,done,result.slope,"), out
    assert "succeeded" in ctl(daemon, "study", "list") and out in ctl(daemon, "study", "-q", "list")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "offset.svg")
        ctl(daemon, "study", "plot", "cli", "--y", "offset", "--output", file)
        assert "</svg>" in open(file).read()
    ctl(daemon, "study", "delete", "cli")
    ctl(daemon, "study", "show", "cli", code=2)
    ctl(daemon, "study", "submit", "--kind", "line", "--grid", "slope", code=2)
    ctl(daemon, "study", "submit", "--kind", "line", "--grid", "slope=99", code=2)
    ctl(daemon, "study", "explain", code=2)
    slow = ctl(daemon, "study", "submit", "--kind", "line", "--set", f"total_samples={LONG}", "--seeds", "2", "-q").strip()
    watching = subprocess.Popen([MOTIFCTL, "--server", daemon.url, "study", "watch", slow], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait(daemon, slow, lambda document: document["state"] == "running")
    ctl(daemon, "study", "cancel", slow)
    watching.communicate(timeout=120)
    assert watching.returncode == 1, watching.returncode  # the jobs did not succeed


def python_client_reads_the_table(daemon):
    try:
        import motifd
    except ImportError:
        print("skipped: NumPy is missing")
        return
    client = motifd.Client(daemon.url)
    study = client.study("line", {"noise": [0.0, 0.25]}, seeds=2, config={"total_samples": 20000}).wait(timeout=240)
    table = study.table()
    assert list(table["noise"]) == [0, 0.25] and list(table["done"]) == [2, 2], table
    assert all(table["slope_min"] <= table["slope"]) and all(table["slope"] <= table["slope_max"]), table
    assert study.chart(y="slope").startswith(b"\x89PNG") and len(study.jobs()) == 4
    assert next(client.studies(limit=1)).id == study.id
    study.delete()


with tempfile.TemporaryDirectory() as folder:
    with Daemon(MOTIFD, os.path.join(folder, "db"), "--workers", "2", "--threads-per-job", "1") as running:
        run_checks(*((check.__name__, lambda check=check: check(running)) for check in (
            kill_between, table_has_medians, a_job_of_a_study_equals_the_job_alone, requests_act_on_all_jobs,
            motifctl_submits_shows_and_deletes, python_client_reads_the_table)))
