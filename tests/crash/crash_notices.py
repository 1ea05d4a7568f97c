#!/usr/bin/env python3
"""Tests the notices of ended jobs (--notify-url): each job that ends causes at least one notice with a valid signature, although the receiver fails and the
daemon is killed (SIGKILL) between the end of a job and the delivery.

usage: crash_notices.py MOTIFD [KILLS [SEED]]        by default 4; prints the seed"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon, TINY, run_checks  # noqa: E402

SECRET = b"a secret of the operator"
OPTIONS = {"MOTIFD_NOTIFY_SECRET": "whsec_" + base64.b64encode(SECRET).decode()}


class Receiver:
    """Receives notices. `answer(number of the request)` returns a status, or None to close the connection without an answer."""

    def __init__(self, answer=lambda number: 204):
        self.events, self.requests, self.answer = [], 0, answer
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.answer(receiver.requests)
                receiver.requests += 1
                receiver.events.append((status, check(self.headers, body)))
                if status is None:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def taken(self):
        return [event for status, event in self.events if status is not None and 200 <= status < 300]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def check(headers, body):
    """Checks the signature as Standard Webhooks describes it, and the members that CloudEvents 1.0 requires."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    assert hmac.compare_digest(headers["webhook-signature"], expected), headers
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 120
    assert headers["Content-Type"] == "application/cloudevents+json; charset=UTF-8"
    event = json.loads(body)
    assert event["specversion"] == "1.0" and event["source"].startswith("urn:motifd:") and event["datacontenttype"] == "application/json", event
    assert event["id"] == headers["webhook-id"] and event["subject"] == f"/v1/jobs/{event['id']}", event
    assert event["type"] == f"motifd.job.{event['data']['state']}" and event["data"]["id"] == event["id"], event
    return event


def wait(what, seconds=60):
    end = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)
    return value


def state(daemon, job):
    return daemon.ask("GET", f"/v1/jobs/{job}")[2]["state"]


def start(program, database, receiver):
    os.environ.update(OPTIONS)
    return Daemon(program, database, "--notify-url", receiver.url)


def every_ended_job_causes_one_notice(program, folder):
    receiver = Receiver()
    with start(program, os.path.join(folder, "ends"), receiver) as daemon:
        succeeded = daemon.submit(name="first")
        wait(lambda: state(daemon, succeeded) == "succeeded")
        daemon.submit(total_samples=10**7)
        running = daemon.ask("GET", "/v1/jobs?limit=1")[2]["jobs"][0]["id"]
        queued = daemon.submit()
        for job in (queued, running):
            assert daemon.ask("POST", f"/v1/jobs/{job}/cancel")[0] == 202
        events = wait(lambda: len(receiver.taken()) == 3 and receiver.taken())
        assert {event["id"]: event["type"] for event in events} == {
            succeeded: "motifd.job.succeeded", running: "motifd.job.cancelled", queued: "motifd.job.cancelled"}
        data = next(event["data"] for event in events if event["id"] == succeeded)
        job = daemon.ask("GET", f"/v1/jobs/{succeeded}")[2]
        assert {name: data[name] for name in ("kind", "preset", "name", "task", "created_at", "finished_at")} == {
            name: job[name] for name in ("kind", "preset", "name", "task", "created_at", "finished_at")}, data
        assert data["verdict"] == job["result"]["verdict"], data
        wait(lambda: daemon.metric("motifd_notices_waiting") == 0)
        assert daemon.metric('motifd_notices_total{result="delivered"}') == 3
    assert len(receiver.events) == 3, "a notice was sent twice without a failure"
    receiver.close()


def failing_receiver_gets_the_notice_again(program, folder):
    receiver = Receiver(lambda number: (500, None, 302, 200)[min(number, 3)])
    with start(program, os.path.join(folder, "fails"), receiver) as daemon:
        job = daemon.submit()
        wait(lambda: receiver.taken())
        assert {event["id"] for _, event in receiver.events} == {job} and len(receiver.events) == 4
        assert daemon.metric('motifd_notices_total{result="failed"}') == 3
        # the job may be deleted before its notice is delivered
        receiver.answer = lambda number: 500
        late = daemon.submit()
        wait(lambda: receiver.requests >= 5)
        assert daemon.ask("DELETE", f"/v1/jobs/{late}")[0] == 204
        receiver.answer = lambda number: 200
        assert wait(lambda: [event for event in receiver.taken() if event["id"] == late])
    receiver.close()


def notice_survives_a_kill_before_its_delivery(program, folder):
    database, receiver = os.path.join(folder, "killed"), Receiver(lambda number: 503)
    daemon = start(program, database, receiver)
    job = daemon.submit()
    wait(lambda: receiver.requests >= 1)
    assert state(daemon, job) == "succeeded"
    daemon.end(signal.SIGKILL)
    receiver.answer = lambda number: 200
    with start(program, database, receiver):
        assert wait(lambda: receiver.taken())[0]["id"] == job
    with sqlite3.connect(database) as db:
        assert db.execute("SELECT count(*) FROM outbox").fetchone() == (0,)
    receiver.close()


def kills_at_random_moments_lose_no_notice(program, folder, kills, chance):
    database = os.path.join(folder, "random")
    receiver = Receiver(lambda number: chance.choice((200, 200, 204, 500, None)))
    daemon = start(program, database, receiver)
    for _ in range(kills):
        for _ in range(chance.randint(2, 5)):
            daemon.submit(total_samples=chance.choice([20, 40, 100]), seed=chance.randint(0, 1000))
        time.sleep(chance.uniform(0.2, 1.5))
        daemon.end(signal.SIGKILL)
        daemon.start()
    jobs = {job["id"] for job in daemon.ask("GET", "/v1/jobs?limit=1000")[2]["jobs"]}
    wait(lambda: all(state(daemon, job) == "succeeded" for job in jobs), 120)
    receiver.answer = lambda number: 200
    wait(lambda: daemon.metric("motifd_notices_waiting") == 0, 120)
    daemon.end()
    taken = {event["id"] for event in receiver.taken()}
    assert taken == jobs, (jobs - taken, taken - jobs)
    print(f"{len(jobs)} jobs, {kills} kills, {len(receiver.events)} deliveries, of which {len(receiver.taken())} were accepted", flush=True)
    receiver.close()


def wrong_settings_are_refused(program, folder):
    import subprocess
    def run(url, secret):
        environment = {**os.environ, "MOTIFD_NOTIFY_SECRET": secret}
        done = subprocess.run([program, "serve", "--listen", "127.0.0.1:0", "--db", os.path.join(folder, "wrong"), "--notify-url", url],
                              env=environment, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr
    for url, secret, word in (("http://127.0.0.1:1/", "", "MOTIFD_NOTIFY_SECRET"), ("http://127.0.0.1:1/", "whsec_====================", "base64"),
                              ("ftp://127.0.0.1/", "x" * 20, "http://"), ("http://127.0.0.1:1/", "short", "16 characters")):
        code, text = run(url, secret)
        assert code == 2 and word in text, (code, text)


def main(program, kills=4, seed=None):
    seed = int(seed) if seed is not None else int(time.time())
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        checks = (every_ended_job_causes_one_notice, failing_receiver_gets_the_notice_again, notice_survives_a_kill_before_its_delivery,
                  wrong_settings_are_refused)
        run_checks(*[(check.__name__, lambda check=check: check(program, folder)) for check in checks],
                   ("kills_at_random_moments_lose_no_notice",
                    lambda: kills_at_random_moments_lose_no_notice(program, folder, int(kills), random.Random(seed))))


main(*sys.argv[1:])
