#!/usr/bin/env python3
"""Tests motif-train against a simulated daemon: command lines, the token and memory limits; answers that are malformed, refuse or do not arrive; signals;
damaged checkpoints; allocations and system calls that fail. motif-train must exit with 0 if the daemon has recorded the end of the run, with 75 if the
daemon has not, and with 2 for a wrong command line. It must report what is wrong.

usage: wire_trainer.py MOTIF_TRAIN MOTIF_TRAIN_FAULTS     MOTIF_FAULT_STRIDE=1 tests every allocation; by default, a sample"""
import concurrent.futures
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness")]
from daemon import TINY  # noqa: E402
from played import Answer, Server  # noqa: E402

TRAIN, FAULTS = (os.path.abspath(path) for path in sys.argv[1:3])
STRIDE = int(os.environ.get("MOTIF_FAULT_STRIDE", "0"))
JOB = "01JD8AAAAAAAAAAAAAAAAAAAAA"
LONG = 400000000
PROBLEM = {"Content-Type": "application/problem+json"}
SUMS = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":exitcode=99", "OPENBLAS_NUM_THREADS": "1"}


def response(status, document=None, body=None):
    body = json.dumps(document).encode() if body is None else body
    return Answer("", "", status, {"Content-Type": "application/json"} if status < 300 else PROBLEM, body)


class Played:
    """A simulated daemon with one run; it stores every message. `instead` can replace an answer: it maps (route, number of requests to it, query) to an
    answer, to None for the usual answer, or to "hang up" to close the connection without an answer."""

    def __init__(self, instead=None, stored=(), **changes):
        self.instead = instead or (lambda route, count, query: None)
        self.job = {"epoch": 3, "kind": "sparling", "task": "train", "source_job": "", "source_checkpoint": 0, "threads": 0, "ranks": 1,
                    "progress": None, "params": None, "config": json.dumps({**TINY, **changes.pop("config", {})}), **changes}
        self.stored, self.part, self.announced = list(stored), b"", None
        self.counts, self.reports, self.files, self.end, self.tokens = {}, [], {}, None, set()
        self.lock = threading.Lock()

    def answer(self, method, path, headers, body):
        parts = urllib.parse.urlsplit(path)
        query = dict(urllib.parse.parse_qsl(parts.query))
        assert parts.path.startswith(f"/v1/jobs/{JOB}/run"), path
        rest = parts.path[len(f"/v1/jobs/{JOB}/run"):].split("/")
        route = {"": "register"}.get(rest[-1] if len(rest) == 1 else rest[1], rest[1] if len(rest) > 1 else "")
        route = {("checkpoints", "POST"): "announce", ("checkpoints", "GET"): "fetch" if len(rest) > 2 else "list"}.get((route, method), route)
        with self.lock:
            self.tokens.add(headers.get("Authorization"))
            assert route == "register" or query.get("epoch") == "3", path
            self.counts[route] = self.counts.get(route, 0) + 1
            other = self.instead(route, self.counts[route], query)
            if other == "hang up":
                return None
            return other if other is not None else getattr(self, "on_" + route)(rest, query, body)

    def on_register(self, rest, query, body):
        return response(200, self.job)

    def on_list(self, rest, query, body):
        rows = [{"seq": at + 1, "step": 1, "samples": 4, "density": 0.01, "accuracy": None, "stage_end": False, "bytes": len(data),
                 "sha256": hashlib.sha256(data).hexdigest()} for at, data in enumerate(self.stored)]
        return response(200, {"checkpoints": rows})

    def on_fetch(self, rest, query, body):
        return Answer("", "", 200, {"Content-Type": "application/octet-stream"}, self.stored[int(rest[2]) - 1])

    def on_announce(self, rest, query, body):
        self.announced, self.part = json.loads(body), b""
        return response(200, {"received": 0, "seq": 0})

    def on_upload(self, rest, query, body):
        if int(query["offset"]) == len(self.part):
            self.part += body
        seq = 0
        if len(self.part) == self.announced["bytes"]:
            assert hashlib.sha256(self.part).hexdigest() == self.announced["sha256"]
            self.stored.append(self.part)
            seq = len(self.stored)
        return response(200, {"received": len(self.part), "seq": seq})

    def on_reports(self, rest, query, body):
        self.reports.append(json.loads(body))
        return response(200, {"requested_state": None, "draining": False})

    def steps(self):
        """Returns how many steps the reports contain so far."""
        return sum(report["steps"] for report in list(self.reports))

    def on_artifacts(self, rest, query, body):
        self.files[rest[2]] = body
        return response(200, {})

    def on_end(self, rest, query, body):
        self.end = json.loads(body)
        return response(200, {})


SERVER = Server()


class Run:
    def __init__(self, player, *words, program=TRAIN, token=b"motifrun_x\n", before=None, **environment):
        """Runs the program to its end; `before(process)` is called while it runs."""
        self.player = player
        command = [program, "--server", SERVER.play(player) if player else "http://127.0.0.1:1", "--job", JOB, "--token-input", *words]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **SUMS, **environment})
        if before is None:
            _, err = process.communicate(token, timeout=120)
        else:
            process.stdin.write(token)
            process.stdin.close()
            process.stdin = None
            before(process)
            _, err = process.communicate(timeout=120)
        self.code, self.err = process.returncode, err.decode("utf-8", "replace")
        self.end = player.end if player else None

    def __repr__(self):
        return f"exit code {self.code}, end {str(self.end)[:600]}, {self.player and self.player.counts}\n{self.err[-3000:]}"


def expect(run, code, end=None, words=""):
    assert run.code == code and (run.end or {}).get("end") == end, run
    assert words in run.err or words in (run.end or {}).get("document", ""), run
    return run


def a_run():
    player = Played()
    run = expect(Run(player), 0, "succeeded")
    assert player.tokens == {"Bearer motifrun_x"} and player.stored and player.files and player.reports
    names = {name for report in player.reports for name in report["series"]}
    assert "loss" in names, names
    return json.loads(run.end["document"]), player


def wrong_command_lines_are_refused():
    for words in ((), ("--server",), ("--server", "x"), ("--job", JOB), ("--server", "http://h", "--job", "short"), ("--nonsense",),
                  *(("--server", "http://h", "--job", JOB, *more) for more in
                    (("more",), ("--threads", "0"), ("--threads", "257"), ("--threads", "x"), ("--threads", ""), ("--memory", "-1"), ("--memory", "1k"),
                     ("--buffer", "much"), ("--patience", "1000001"), ("--patience", "long"), ("--parent", "me")))):
        got = subprocess.run([TRAIN, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert got.returncode == 2 and "usage: motif-train" in got.stderr, (words, got)
    got = subprocess.run([TRAIN, "--version"], capture_output=True, text=True, timeout=60)
    assert got.returncode == 0 and got.stdout.startswith("motif-train "), got
    expect(Run(None, "--kernels", "abacus"), 2, words="the kernels abacus do not exist")
    expect(Run(None, "--parent", "1"), 75, words="the parent process has ended")
    expect(Run(None, "--patience", "0"), 75, words="the daemon does not answer")
    expect(Run(Played(), "--server", "ftp://h"), 75, words="http")
    expect(Run(Played(), "--parent", str(os.getpid()), "--kernels", "ref", "--memory", str(4 << 30) if "address" not in VERSION and "thread" not in VERSION else "0"), 0, "succeeded")
    for words, code, text in ((("--under", "x", "true"), 75, "has ended"), (("--under", "1", "true"), 75, "has ended"), (("--under", str(os.getpid()), "true"), 0, ""),
                              (("--under", "0", "/no/such"), 75, "cannot be started"), (("--under", str(os.getpid()), "sh", "-c", "exit 7"), 7, "")):
        got = subprocess.run([TRAIN, *words], capture_output=True, text=True, timeout=60)
        assert got.returncode == code and text in got.stderr, (words, got)


def token_is_read_once():
    """motif-train reads its token from the first line of the input or from an environment variable, and from nothing else."""
    for token in (b"", b"\n", b"\nlater\n"):
        expect(Run(Played(), token=token), 2, words="no token")
    got = subprocess.run([TRAIN, "--server", "http://h", "--job", JOB], capture_output=True, text=True, timeout=60)
    assert got.returncode == 2 and "no token" in got.stderr, got
    player = Played()
    expect(Run(player, token=b"without an end"), 0, "succeeded")
    assert player.tokens == {"Bearer without an end"}
    player = Played()
    got = subprocess.run([TRAIN, "--server", SERVER.play(player), "--job", JOB], capture_output=True, text=True, timeout=120,
                         env={**os.environ, **SUMS, "MOTIF_TRAIN_TOKEN": "of-the-environment"})
    assert got.returncode == 0 and player.tokens == {"Bearer of-the-environment"}, got


def unexpected_registrations_are_reported():
    for answer, words in ((response(401, {"detail": "no"}), "another trainer has taken over"), (response(409, {}), "another trainer has taken over"),
                          (response(404, {"detail": "no such job"}), "refuses (404): no such job"), (response(422, {"detail": 7}), "refuses (422): no reason given"),
                          (response(403, body=b""), "refuses (403): no reason given"), (response(200, body=b"{"), "not understood"),
                          (response(200, body=b"[]"), "not understood"), (response(200, body=b""), "not understood")):
        expect(Run(Played(lambda route, count, query, answer=answer: answer)), 75, words=words)
    for name in ("epoch", "kind", "config", "source_job"):
        for value in (None, -7, {}, [1]):
            expect(Run(Played(**({name: value} if name != "config" else {}), instead=None if name != "config" else
                              lambda route, count, query, value=value: response(200, {"epoch": 3, "kind": "sparling", "source_job": "", "config": value}))),
                   75, words="not understood")
    expect(Run(Played(kind="no-such")), 0, "failed")
    expect(Run(Played(config={"width": "wide"})), 0, "failed")
    expect(Run(Played(config={"no_such": 1})), 0, "failed")
    expect(Run(Played(task="evaluate", source_job="x", params="{}", instead=lambda route, count, query: None)), 0, "failed")
    expect(Run(Played(threads=1e300, ranks=-1e300, source_checkpoint=1e300, epoch=3)), 0, "succeeded")


def temporary_failures_are_retried():
    """The run succeeds although the daemon is busy, unreachable or restarted meanwhile."""
    def stumbles(route, count, query):
        if route in ("register", "list", "end", "reports", "artifacts", "announce", "upload") and count == 1:
            return {"register": response(503, {}), "list": response(500, {}), "reports": "hang up", "announce": response(429, {}), "upload": response(404, {})}.get(route, "hang up")
        return None
    wanted, _ = a_run()
    run = expect(Run(Played(stumbles)), 0, "succeeded")
    assert run.player.counts["announce"] >= 3 and json.loads(run.end["document"])["weights_sha256"] == wanted["weights_sha256"], run


def refused_messages_fail_the_run():
    for route in ("reports", "announce", "upload", "artifacts"):
        run = Run(Played(lambda at, count, query, route=route: response(422, {"detail": "not this"}) if at == route else None))
        expect(run, 0, "failed", "not this")
    for answer in ({}, {"received": 0}, {"received": "0", "seq": 0}, {"received": -1, "seq": 0}, {"received": 1e18, "seq": 0}, {"received": 0, "seq": -1},
                   {"received": 0, "seq": 1e300}):
        route = random.choice(("announce", "upload"))
        expect(Run(Played(lambda at, count, query, route=route, answer=answer: response(200, answer) if at == route else None)), 0, "failed", "not understood")
    for route, answer in (("reports", response(401, {})), ("announce", response(409, {})), ("upload", response(401, {})), ("end", response(409, {})), ("artifacts", response(401, {}))):
        run = Run(Played(lambda at, count, query, route=route, answer=answer: answer if at == route else None))
        assert run.code == 75 and run.end is None, run
    takes_nothing = response(200, {"received": 0, "seq": 0})
    for instead in (lambda at, count, query: takes_nothing if at == "upload" else None, lambda at, count, query: response(404, {}) if at == "upload" else None,
                    lambda at, count, query: (response(404, {}) if count % 2 else takes_nothing) if at == "upload" else None):
        run = Run(Played(instead), "--patience", "1")  # the daemon answers, but accepts no bytes of the checkpoint
        assert 2 <= run.player.counts["upload"] < 20, run
        expect(run, 75)
    all_of_it = Played(lambda at, count, query: response(200, {"received": all_of_it.announced["bytes"], "seq": 0}) if at == "upload" else None)
    expect(Run(all_of_it), 0, "failed", "not understood")
    expect(Run(Played(lambda at, count, query: response(422, {}) if at == "end" else None)), 75)
    player = Played(lambda at, count, query: "hang up" if "end" in player.counts else None)  # the daemon disappears before the end of the run
    run = Run(player, "--patience", "1")
    assert run.code == 75 and run.end is None, run


def yielded(player, before=None):
    """A request or a signal ends the run. The newest checkpoint must contain every reported step."""
    expect(Run(player, before=before), 0, "yielded")
    last = [json.loads(report["progress"])["step"] for report in player.reports if "progress" in report][-1]
    assert player.stored and player.announced["step"] >= last, (player.announced, last)


def requested_states_stop_the_run():
    for answer in ({"requested_state": "paused"}, {"requested_state": "cancelled"}, {"requested_state": None, "draining": True}):
        player = Played(config={"total_samples": LONG})
        player.instead = lambda at, count, query, answer=answer, player=player: response(200, answer) if at == "reports" and player.steps() > 0 else None
        yielded(player)
    for body in (b"", b"{", b"[]", b'{"requested_state":7}'):
        expect(Run(Played(lambda at, count, query, body=body: response(200, body=body) if at == "reports" else None)), 0, "succeeded")


def signals_stop_the_run():
    def send(number, player):
        def now(process):
            while player.steps() == 0 and process.poll() is None:  # waits for the first step, because before it a run has nothing to store
                time.sleep(0.05)
            process.send_signal(number)
        return now
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        player = Played(config={"total_samples": LONG})
        yielded(player, before=send(number, player))
    player = Played(config={"total_samples": LONG})  # a requeued run reports no end, because the next process continues it
    expect(Run(player, "--requeued", before=send(signal.SIGTERM, player)), 75)
    assert player.stored
    player = Played(config={"total_samples": LONG})  # two signals must have the effect of one
    expect(Run(player, before=lambda process: (send(signal.SIGTERM, player)(process), process.send_signal(signal.SIGTERM))), 0, "yielded")


def run_continues_from_checkpoints():
    """A run continues from a stored checkpoint if its bytes arrive undamaged."""
    whole, player = a_run()
    first = player.stored[0]
    run = expect(Run(Played(stored=[first])), 0, "succeeded")
    assert json.loads(run.end["document"])["weights_sha256"] == whole["weights_sha256"]
    short = Answer("", "", 200, {"Content-Type": "application/octet-stream"}, first, cut=len(first) // 2)
    run = expect(Run(Played(lambda at, count, query: short if at == "fetch" and count < 3 else None, stored=[first])), 0, "succeeded")
    assert run.player.counts["fetch"] > 3, run
    assert json.loads(run.end["document"])["weights_sha256"] == whole["weights_sha256"]
    other = Answer("", "", 200, {"Content-Type": "application/octet-stream"}, first[:-1] + b"x")
    run = expect(Run(Played(lambda at, count, query: other if at == "fetch" else None, stored=[first])), 0, "failed", "arrived with other bytes than were stored")
    assert run.player.counts["fetch"] == 5
    expect(Run(Played(stored=[b"no checkpoint"])), 0, "failed")
    expect(Run(Played(stored=[first[:len(first) // 2]])), 0, "failed")
    for rows in (None, {}, "x"):
        expect(Run(Played(lambda at, count, query, rows=rows: response(200, {"checkpoints": rows}) if at == "list" else None)), 0, "failed", "not understood")
    for row in ({}, 7, {"seq": 1e300, "bytes": -1, "sha256": 4}, {"seq": 1, "step": "x", "bytes": 1e300, "sha256": "zz"}):
        run = Run(Played(lambda at, count, query, row=row: response(200, {"checkpoints": [row]}) if at == "list" else None,
                         stored=[first]))
        assert run.code == 0 and run.end["end"] == "failed", run
    run = Run(Played(lambda at, count, query: response(200, {"checkpoints": []}) if at == "list" else None, task="evaluate", source_job=JOB, source_checkpoint=4,
                     params="{}"))
    expect(run, 0, "failed", "no such checkpoint")
    run = expect(Run(Played(stored=[first], task="evaluate", source_job=JOB, source_checkpoint=1, params=json.dumps({"samples": 8, "seed": -2}))), 0, "succeeded")
    assert run.player.counts["fetch"] >= 1


def memory_stays_within_limits():
    """Queued data stays below --buffer, and --memory ends the run before the machine runs out of memory."""
    expect(Run(Played(), "--buffer", "1"), 0, "succeeded")
    if "address" not in VERSION and "thread" not in VERSION:
        run = Run(Played(), "--memory", str(16 << 20))
        assert run.code in (0, 75) and (run.end is None or run.end["end"] == "failed"), run


def fault(text, wanted, folder):
    """Runs with one fault. Returns None if the fault happened, otherwise how many more operations it would have needed."""
    report = os.path.join(folder, "report")
    run = Run(Played(config={"total_samples": 20}), "--patience", "20", program=FAULTS, MOTIF_FAULT=text, MOTIF_FAULT_REPORT=report)
    assert run.code in (0, 2, 75) and "Sanitizer" not in run.err and "runtime error" not in run.err, (text, run)
    if run.code == 0:
        assert run.end["end"] == "failed" or json.loads(run.end["document"])["weights_sha256"] == wanted["weights_sha256"], (text, run)
    else:
        assert run.err, (text, run)
    with open(report) as file:
        outcome = file.read().split()
    return None if outcome[0] == "yes" else int(outcome[1])


def faults_are_reported():
    dice = random.Random(3)
    wanted = json.loads(expect(Run(Played(config={"total_samples": 20})), 0, "succeeded").end["document"])
    with tempfile.TemporaryDirectory() as folder:
        for kind, few in (("memory", 8), ("call", 100)):  # some 13 system calls: all of them
            many = 1 << 30
            took = many - fault(f"{kind}:{many}", wanted, folder)
            places = range(dice.randrange(STRIDE), took, STRIDE) if STRIDE else sorted(dice.sample(range(took), min(few, took)))
            happened = sum(fault(f"{kind}:{at}", wanted, folder) is None for at in places)
            print(f"ok {happened} of {took} {kind}", flush=True)


VERSION = subprocess.run([TRAIN, "--version"], capture_output=True, text=True).stdout


def main():
    def one(check):
        if sys.argv[3:] and check.__name__ not in sys.argv[3:]:
            return
        begun = time.monotonic()
        check()
        print(f"ok {check.__name__} {time.monotonic() - begun:.1f} s", flush=True)

    a_run()
    with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:  # three checks at once, because they wait more than they compute
        list(pool.map(one, (refused_messages_fail_the_run, faults_are_reported, requested_states_stop_the_run,
                            run_continues_from_checkpoints, unexpected_registrations_are_reported, wrong_command_lines_are_refused, token_is_read_once,
                            temporary_failures_are_retried, signals_stop_the_run, memory_stays_within_limits)))


if __name__ == "__main__":
    main()
