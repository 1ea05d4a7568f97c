#!/usr/bin/env python3
"""Uses the method of tests/fixtures/method over HTTP. The daemon has this method in its list of methods. The test shows which
functions of the daemon a new method gets without a change outside its own folder.

usage: wire_method.py MOTIFD_WITH_METHOD"""
import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon, run_checks  # noqa: E402

LONG = 40_000_000


def submit(daemon, **config):
    status, headers, job = daemon.ask("POST", "/v1/jobs", {"kind": "line", "config": config})
    assert status == 201, job
    return job["id"]


def wait(daemon, job, done):
    until = time.monotonic() + 120
    while time.monotonic() < until:
        document = daemon.ask("GET", f"/v1/jobs/{job}")[2]
        if done(document):
            return document
        time.sleep(0.05)
    raise AssertionError(document)


def ended(document):
    return document["state"] in ("succeeded", "failed", "cancelled")


def kinds_and_openapi_list_the_method(daemon):
    kind = daemon.ask("GET", "/v1/kinds/line")[2]
    assert [f["name"] for f in kind["fields"]][:3] == ["seed", "slope", "offset"], kind
    assert kind["queries"][0]["name"] == "height" and kind["queries"][0]["parameters"][0]["name"] == "x", kind["queries"]
    assert kind["comparable"] is False and kind["charts"] == [] and kind["panels"] == [], kind
    document = daemon.ask("GET", "/openapi.json")[2]
    operation = document["paths"]["/v1/jobs/{id}/height"]["get"]
    assert {p["name"] for p in operation["parameters"]} >= {"id", "x", "checkpoint"}, operation
    assert "Config_line" in document["components"]["schemas"]


def a_job_trains_and_answers_its_query(daemon):
    job = submit(daemon, slope=3, offset=-1, noise=0)
    document = wait(daemon, job, ended)
    assert document["state"] == "succeeded" and document["progress"]["fraction"] == 1, document
    assert abs(document["result"]["slope"] - 3) < 0.01 and abs(document["result"]["offset"] + 1) < 0.01, document["result"]
    series = daemon.ask("GET", f"/v1/jobs/{job}/metrics?name=loss")[2]["series"]["loss"]
    assert series[-1][1] < 1e-3 < series[0][1], series
    assert document["links"]["height"] == f"/v1/jobs/{job}/height"
    status, headers, answer = daemon.ask("GET", f"/v1/jobs/{job}/height?x=0.5")
    assert status == 200 and abs(answer["y"] - 0.5) < 0.02 and answer["checkpoint"]["seq"] >= 1, answer
    tag = {name.lower(): value for name, value in headers.items()}["etag"]
    assert daemon.ask("GET", f"/v1/jobs/{job}/height?x=0.5", headers={"If-None-Match": tag})[0] == 304
    assert abs(daemon.ask("GET", f"/v1/jobs/{job}/height?checkpoint=latest")[2]["y"] + 1) < 0.02, "x is 0 by default"


def faults_are_refused(daemon):
    job = submit(daemon, total_samples=1000)
    wait(daemon, job, ended)
    for path, verb, status in (("height?x=1000", "GET", 400), ("height?x=one", "GET", 400), ("height?y=1", "GET", 400),
                               ("height", "POST", 405), ("pathways?seed=1", "GET", 404), ("nothing", "GET", 404),
                               ("height?checkpoint=99", "GET", 404)):
        assert daemon.ask(verb, f"/v1/jobs/{job}/{path}")[0] == status, (path, verb)
    status, _, problem = daemon.ask("POST", "/v1/jobs", {"kind": "line", "config": {"noise": -1}})
    assert status == 422 and problem["errors"][0]["pointer"] == "/config/noise", problem
    assert daemon.ask("POST", "/v1/jobs", {"kind": "line", "from": {"job": job}})[0] == 422
    assert daemon.ask("POST", f"/v1/jobs/{job}/evaluation", {})[0] == 409


def resume_after_kill_gives_same_weights(daemon):
    config = {"total_samples": 16_000_000, "checkpoint_every": 100_000}
    whole = submit(daemon, **config)
    expected = wait(daemon, whole, ended)["result"]["weights_sha256"]
    broken = submit(daemon, **config)
    wait(daemon, broken, lambda d: len(daemon.ask("GET", f"/v1/jobs/{broken}/checkpoints")[2]["checkpoints"]) > 0)
    daemon.end(signal.SIGKILL)
    daemon.start()
    resumed = wait(daemon, broken, ended)
    assert resumed["state"] == "succeeded" and resumed["result"]["weights_sha256"] == expected, resumed["result"]


def a_paused_job_resumes(daemon):
    job = submit(daemon, total_samples=LONG)
    wait(daemon, job, lambda d: (d["progress"]["samples"] or 0) > 0)
    assert daemon.ask("POST", f"/v1/jobs/{job}/pause")[0] == 202
    paused = wait(daemon, job, lambda d: d["state"] == "paused")
    assert daemon.ask("POST", f"/v1/jobs/{job}/resume")[0] == 202
    wait(daemon, job, lambda d: ended(d) or d["progress"]["samples"] > paused["progress"]["samples"])
    daemon.ask("POST", f"/v1/jobs/{job}/cancel")
    wait(daemon, job, ended)


def main():
    with tempfile.TemporaryDirectory() as folder, Daemon(sys.argv[1], os.path.join(folder, "motif.db")) as daemon:
        run_checks(*((check.__name__.replace("_", " "), lambda check=check: check(daemon))
                     for check in (kinds_and_openapi_list_the_method, a_job_trains_and_answers_its_query, faults_are_refused,
                                   resume_after_kill_gives_same_weights, a_paused_job_resumes)))


main()
