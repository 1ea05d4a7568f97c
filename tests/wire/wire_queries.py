#!/usr/bin/env python3
"""Tests that the daemon stays usable during heavy queries: it answers other queries, ends a query at its deadline or when its client disconnects, and stops
in time.

usage: wire_queries.py MOTIFD"""
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon, run_checks  # noqa: E402

# One input takes some tenths of a second.
HEAVY = {"image_size": 300, "width": 32, "units": 4, "total_samples": 1, "batch": 1, "test_samples": 1, "motif_samples": 1, "stage_samples": 1,
         "validation_samples": 2}
BATCH = json.dumps({"inputs": [{"sample": {"seed": seed}} for seed in range(256)]}).encode()
ONE = {"inputs": [{"sample": {"seed": 1}}]}
END_SECONDS = 10


def train(daemon):
    job = daemon.submit(**HEAVY)
    for _ in range(1200):
        state = daemon.ask("GET", f"/v1/jobs/{job}")[2]["state"]
        if state == "succeeded":
            return job
        assert state in ("queued", "running"), state
        time.sleep(0.05)
    raise AssertionError(state)


def send_batch(daemon, job, source="127.0.0.1"):
    """Sends a query of 256 inputs and does not read its answer."""
    client = socket.socket()
    client.bind((source, 0))
    client.connect(("127.0.0.1", daemon.port))
    client.sendall(f"POST /v1/jobs/{job}/motifs HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nContent-Type: application/json\r\n"
                   f"Content-Length: {len(BATCH)}\r\n\r\n".encode() + BATCH)
    client.settimeout(100)
    return client


def answer_status(client):
    return int(client.recv(65536).split()[1])


def first_answers(batches):
    """Yields the statuses of the answers in the order in which they arrive."""
    waiting = list(batches)
    while waiting:
        ready, _, _ = select.select(waiting, [], [], 100)
        assert ready, "no batch was answered"
        for client in ready:
            waiting.remove(client)
            yield answer_status(client)


def small_queries_are_answered_during_large_ones(daemon, job):
    begun = time.monotonic()
    assert daemon.ask("POST", f"/v1/jobs/{job}/predict", ONE)[0] == 200
    one = time.monotonic() - begun
    batches = [send_batch(daemon, job) for _ in range(4)]
    assert 429 in first_answers(batches)  # refused, because the batches of one address may take only half of the places
    status, _, problem = daemon.ask("POST", f"/v1/jobs/{job}/predict", ONE)
    assert status == 200, problem
    answered = [answer_status(client) for client in select.select(batches, [], [], 0)[0]]
    assert 200 not in answered, "a batch of 256 inputs was computed before one input"
    for client in batches:
        client.close()
    begun = time.monotonic()
    while daemon.metric("motifd_queries_active") > 0:  # batches whose clients are gone must end early; a complete batch takes the time of 256 inputs
        assert time.monotonic() - begun < max(30, 64 * one), f"{time.monotonic() - begun:.1f} s; one input takes {one:.1f} s"
        time.sleep(0.05)
    again = [send_batch(daemon, job) for _ in range(3)]  # accepted, because the earlier batches have freed their places
    assert daemon.ask("POST", f"/v1/jobs/{job}/predict", ONE)[0] == 200
    for client in again:
        client.close()


def user_signals_are_ignored(daemon):
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        daemon.process.send_signal(number)
        assert daemon.ask("GET", "/healthz")[0] == 200
    assert daemon.process.poll() is None


def the_daemon_ends_in_time(daemon, job):
    batches = [send_batch(daemon, job) for _ in range(3)]
    daemon.ask("POST", f"/v1/jobs/{job}/predict", ONE)
    begun = time.monotonic()
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(60) == 0
    assert time.monotonic() - begun < END_SECONDS, f"{time.monotonic() - begun:.1f} s"
    for client in batches:
        client.close()


def queries_have_a_deadline(motifd, database, job):
    with Daemon(motifd, database, "--query-seconds", "4") as daemon:
        status, headers, problem = daemon.ask("POST", f"/v1/jobs/{job}/motifs", BATCH)
        assert status == 504 and headers["Content-Type"] == "application/problem+json", (status, headers)
        assert problem["type"] == "urn:motifd:problem:deadline" and "--query-seconds" in problem["detail"], problem
        assert "samples" not in problem["detail"] and "fewer inputs" in problem["detail"], problem  # this query has no such parameter
        status, _, problem = daemon.ask("GET", f"/v1/jobs/{job}/channels?samples=1000")
        assert status == 504 and all(word in problem["detail"] for word in ("(samples=", "--samples", "--query-seconds")), problem
        assert daemon.ask("POST", f"/v1/jobs/{job}/predict", ONE)[0] == 200
        # A single computation on one signal. Without the deadline it would take half a minute.
        filters = [[(7 * i + 3 * j * j) % 11 - 5 for j in range(64)] for i in range(64)]
        pursuit = {"model": {"layers": [{"filters": filters}]}, "signal": [i % 17 - 8 for i in range(15000)], "nonzeros": [10],
                   "config": {"decoder": "pursuit", "iterations": 1000, "threshold": 0.001}}
        begun = time.monotonic()
        status, _, problem = daemon.ask("POST", "/v1/pathways/recover", pursuit)
        assert status == 504 and problem["type"] == "urn:motifd:problem:deadline", (status, problem)
        assert time.monotonic() - begun < 2 * END_SECONDS, time.monotonic() - begun


def a_second_signal_ends_at_once(motifd, database, job):
    """A second signal must end the daemon at once: not only while it waits for jobs, but also while it ends the requests."""
    daemon = Daemon(motifd, database, "--drain-ms", "60000")
    batches = [send_batch(daemon, job) for _ in range(3)]
    daemon.ask("POST", f"/v1/jobs/{job}/predict", ONE)
    daemon.process.send_signal(signal.SIGTERM)
    for _ in range(1000):  # waits until the daemon accepts no connections any more
        try:
            socket.create_connection(("127.0.0.1", daemon.port)).close()
            time.sleep(0.002)
        except OSError:
            break
    begun = time.monotonic()
    daemon.process.send_signal(signal.SIGTERM)
    daemon.process.wait(60)
    assert time.monotonic() - begun < 0.5 * END_SECONDS
    daemon.process.stdout.close()
    for client in batches:
        client.close()


def main(motifd):
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "db")
        daemon = Daemon(motifd, database)
        job = train(daemon)
        try:
            run_checks(("queries: SIGUSR1 and SIGUSR2 do not end the daemon", lambda: user_signals_are_ignored(daemon)),
                       ("queries: small queries are answered during large ones", lambda: small_queries_are_answered_during_large_ones(daemon, job)),
                       ("queries: SIGTERM ends the daemon within its time", lambda: the_daemon_ends_in_time(daemon, job)),
                       ("queries: a query ends at its deadline", lambda: queries_have_a_deadline(motifd, database, job)),
                       ("queries: a second SIGTERM ends the daemon at once", lambda: a_second_signal_ends_at_once(motifd, database, job)))
        finally:
            if daemon.process.poll() is None:
                daemon.process.kill()
                daemon.process.wait()


if __name__ == "__main__":
    main(sys.argv[1])
