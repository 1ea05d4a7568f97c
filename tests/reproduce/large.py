#!/usr/bin/env python3
"""Measures the daemon's response times with a hundred thousand jobs and a hundred million metric points in one database.

    large.py build [--jobs 100000] [--points 100000000] [--folder DIR] [--requests 300] [--keep] [--train]

build/tests/reproduce/large_fill fills a database through storage's own functions (this takes minutes and 6 GB). The script then starts the daemon on
it, after a clean stop and after a SIGKILL, and requests lists (first page, later pages by cursor, filters), single jobs, metrics with max_points=1000,
durable submits, /metrics and /v1/system. With --train, one job per core trains meanwhile. For each kind of request the script prints the median, the
99th percentile and the longest time, the processor time of one request (which depends little on other load), and the limit from
docs/lab/reliability.md. It also prints the query plans of the lists. Finally it measures how large the write-ahead log becomes during the check after
a SIGKILL, while another thread writes checkpoints as fast as it can.
Exit code 1: something exceeded its limit. A --folder that already has a database is used again."""
import argparse
import http.client
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

READ, SUBMIT, START = 0.050, 0.025, 1.0  # limits in seconds, from docs/lab/reliability.md
RESULT = {"seed": 7, "samples": 400000, "seconds": 135.2, "threads": 2, "build": "release", "cpu": "any", "blas_core": "SkylakeX", "density": 0.000147,
          "fpe": 0.0008, "fne": 0.003, "ce": 0.001, "e2ee": 0.006, "exact": 0.98,
          "by_density": [{"density": 0.5**i, "fpe": 0.01 * i, "fne": 0.003, "ce": 0.02, "e2ee": 0.1, "checkpoint": i} for i in range(12)]}


class Daemon:
    def __init__(self, options, database, log):
        start = time.monotonic()
        self.process = subprocess.Popen(
            [f"{options.build}/motifd", "serve", "--listen", "127.0.0.1:0", "--db", database, "--data", os.path.join(options.folder, "data"),
             "--workers", str(options.cores), "--threads-per-job", "1", "--job-nice", "10", "--rate-limit", "0", "--queue-limit", "1000000"],
            stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            line = self.process.stdout.readline()
            self.port = int(line.rsplit(":", 1)[1])
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            while self.ask("GET", "/readyz")[0] != 200:
                time.sleep(0.005)
        except Exception:
            self.process.kill()
            raise
        self.started, self.worked = time.monotonic() - start, self.processor()

    def ask(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def json(self, path):
        status, body = self.ask("GET", path)
        if status != 200:
            raise SystemExit(f"{path}: {status} {body[:300]!r}")
        return json.loads(body)

    def post(self, body, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        status, answer = self.ask("POST", "/v1/jobs", json.dumps(body), {"Content-Type": "application/json", **headers})
        if status != 201:
            raise SystemExit(f"submit: {status} {answer[:300]!r}")
        return json.loads(answer)["id"]

    def processor(self):
        """Returns the processor time in seconds that the daemon's threads have used. It depends little on other load on the machine."""
        total = 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/schedstat") as file:
                total += int(file.read().split()[0])
        return total / 1e9

    def check(self):
        """Waits for the check that follows an unclean stop, while requesting lists.

        Returns the check's result, its duration, the processor time in seconds, and the sorted times of the list requests."""
        start, before, asked = time.monotonic(), self.processor(), []
        while True:
            metrics = self.ask("GET", "/metrics")[1].decode()
            result = next(line.split('"')[1] for line in metrics.splitlines() if line.startswith("motifd_database_check{") and line.endswith(" 1"))
            if result != "running":
                return result, time.monotonic() - start, self.processor() - before, sorted(asked)
            begun = time.monotonic()
            self.json("/v1/jobs?limit=20")
            asked.append(time.monotonic() - begun)
            time.sleep(0.1)

    def stop(self, how=signal.SIGTERM):
        start = time.monotonic()
        self.process.send_signal(how)
        code = self.process.wait(60)
        return time.monotonic() - start, code


def fill(options, database):
    with open(f"{options.folder}/log", "w") as log:
        daemon = Daemon(options, f"{options.folder}/small.db", log)
        try:
            status, answer = daemon.ask("POST", "/v1/jobs?dry_run=1", '{"kind":"sparling","preset":"digitcircle-quick"}',
                                        {"Content-Type": "application/json"})
        finally:
            daemon.stop()
    with open(f"{options.folder}/config.json", "w") as file:
        json.dump(json.loads(answer)["config"], file)
    with open(f"{options.folder}/result.json", "w") as file:
        json.dump(RESULT, file)
    start = time.monotonic()
    subprocess.run([f"{options.build}/tests/reproduce/large_fill", database, str(options.jobs), str(options.points), f"{options.folder}/config.json",
                    f"{options.folder}/result.json"], check=True, stdout=subprocess.DEVNULL)
    print(f"filled in {time.monotonic() - start:.0f} s")


class Times(list):
    """The times of requests in seconds, and the daemon's mean processor time for one of them (`each`)."""

    def __init__(self, daemon):
        super().__init__()
        self.daemon, self.begun, self.each = daemon, daemon.processor(), 0.0

    def end(self):
        self.each = (self.daemon.processor() - self.begun) / max(1, len(self))


def pages(daemon, query, most, size=100):
    """Reads up to `most` pages of a listing; returns the cursors and the time of each page."""
    cursor, cursors, times, start = None, [], Times(daemon), time.monotonic()
    for _ in range(most):
        page = daemon.json(f"/v1/jobs?limit={size}{query}" + (f"&cursor={cursor}" if cursor else ""))
        times.append(time.monotonic() - start)
        start = time.monotonic()
        cursor = page["next_cursor"]
        if not cursor:
            break
        cursors.append(cursor)
    times.end()
    return cursors, times


def measure(options, daemon):
    chance = random.Random(1)
    times = {}

    def timed(name, ask, n=options.requests):
        times[name] = Times(daemon)
        for _ in range(n):
            start = time.monotonic()
            ask()
            times[name].append(time.monotonic() - start)
        times[name].end()
        print(f"    {name}", file=sys.stderr)

    newest = daemon.json("/v1/jobs?limit=1")["jobs"][0]["id"]
    cursors, took = pages(daemon, "", 10**6, 1000)
    print(f"{(len(cursors) + 1) * 1000} jobs at most in {len(took)} pages of 1000: {sum(took):.1f} s, {took.each * 1e3:.1f} ms of processor time per page")
    timed("list, first page of 20", lambda: daemon.json("/v1/jobs?limit=20"))
    timed("list, first page of 100", lambda: daemon.json("/v1/jobs?limit=100"))
    timed("list, random page of 20", lambda: daemon.json(f"/v1/jobs?limit=20&cursor={chance.choice(cursors)}"))
    for query in ("state=failed", "kind=pathways", "kind=pathways&state=failed", "kind=sparling&state=cancelled", "state=running"):
        deep, _ = pages(daemon, "&" + query, 8, 1000)
        timed(f"list, {query}", lambda: daemon.json(f"/v1/jobs?limit=20&{query}"))
        if deep:
            timed(f"list, {query}, later page", lambda: daemon.json(f"/v1/jobs?limit=20&{query}&cursor={deep[-1]}"))
    some = [job["id"] for cursor in chance.sample(cursors, min(len(cursors), 10)) for job in daemon.json(f"/v1/jobs?limit=20&cursor={cursor}")["jobs"]]
    timed("show", lambda: daemon.json(f"/v1/jobs/{chance.choice(some)}"))
    timed("checkpoints", lambda: daemon.json(f"/v1/jobs/{chance.choice(some)}/checkpoints"))
    timed("metrics of a short job", lambda: daemon.json(f"/v1/jobs/{chance.choice(some)}/metrics?max_points=1000"))
    long = [job["id"] for cursor in cursors[-2:] for job in daemon.json(f"/v1/jobs?limit=1000&cursor={cursor}")["jobs"] if job["name"] == "long"]
    timed(f"metrics of {len(long)} jobs of {options.points // 100} points", lambda: daemon.json(
        f"/v1/jobs/{chance.choice(long)}/metrics?name=loss&max_points=1000"))
    timed("/metrics", lambda: daemon.ask("GET", "/metrics"), 100)
    timed("/v1/system", lambda: daemon.json("/v1/system"), 100)
    timed("/readyz", lambda: daemon.ask("GET", "/readyz"))
    number = iter(range(10**9))
    timed("submit", lambda: daemon.post({"kind": "pathways", "preset": "single-layer", "priority": -50},
                                        Idempotency_Key=f"{newest}-{time.time()}-{next(number)}"))
    return times


def report(times):
    missed = []
    print(f"{'':44}{'number':>8}{'median':>11}{'p99':>11}{'longest':>11}{'processor':>11}{'limit':>11}")
    for name, values in times.items():
        values.sort()
        p99, promised = values[min(len(values) - 1, int(0.99 * len(values)))], SUBMIT if name == "submit" else READ
        if p99 > promised:
            missed.append(name)
        cells = [f"{value * 1e3:.2f} ms" for value in (values[len(values) // 2], p99, values[-1], values.each, promised)]
        print(f"{name:44}{len(values):8}" + "".join(f"{cell:>11}" for cell in cells) + ("  exceeded" if p99 > promised else ""))
    return missed


def explain(database):
    """Prints the query plans of the statements for lists and statistics, through a read-only connection."""
    before, page = "'7ZZZ'", "ORDER BY id DESC LIMIT 21"
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    for sql in (f"SELECT config FROM job WHERE id < {before} {page}",
                f"SELECT config FROM job INDEXED BY job_by_state WHERE state = 'failed' AND id < {before} AND kind = 'pathways' {page}",
                f"SELECT config FROM job INDEXED BY job_by_kind WHERE kind = 'pathways' AND id < {before} {page}",
                "SELECT what, number, bytes FROM tally"):
        print(sql)
        for row in db.execute("EXPLAIN QUERY PLAN " + sql):
            print("   ", row[3])
    db.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=100000)
    parser.add_argument("--points", type=int, default=100000000)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--folder")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--train", action="store_true")
    options = parser.parse_args()
    options.cores = len(os.sched_getaffinity(0))
    made, options.folder = options.folder is None, options.folder or tempfile.mkdtemp(prefix="motifd-large-")
    os.makedirs(options.folder, exist_ok=True)
    database, missed = f"{options.folder}/l.db", []
    try:
        if not os.path.exists(database):
            fill(options, database)
        print(f"{os.path.getsize(database) / 1e9:.2f} GB")
        with open(f"{options.folder}/log", "w") as log:
            daemon = Daemon(options, database, log)
            try:
                print(f"start after a clean stop: {daemon.started:.3f} s, {daemon.worked:.3f} s of processor time")
                missed += ["start"] if daemon.started > START else []
                if options.train:
                    for _ in range(options.cores):
                        daemon.post({"kind": "sparling", "preset": "digitcircle", "config": {"total_samples": 100000000}})
                    time.sleep(5)
                missed += report(measure(options, daemon))
            finally:
                seconds, code = daemon.stop()
            print(f"stop: {seconds:.3f} s, exit code {code}")
            daemon = Daemon(options, database, log)
            daemon.stop(signal.SIGKILL)
            daemon = Daemon(options, database, log)
            print(f"start after SIGKILL: {daemon.started:.3f} s, {daemon.worked:.3f} s of processor time")
            missed += ["start after SIGKILL"] if daemon.started > START else []
            daemon.stop(signal.SIGKILL)
            daemon = Daemon(options, database, log)
            seconds, code = daemon.stop()
            print(f"stop during the check of the large tables: {seconds:.3f} s, exit code {code}")
            missed += ["stop during the check"] if code != 0 else []
            daemon = Daemon(options, database, log)
            result, seconds, worked, asked = daemon.check()
            print(f"check after that: {result} after {seconds:.1f} s, {worked:.1f} s of processor time including these requests: " +
                  (f"{len(asked)} lists, median {1e3 * asked[len(asked) // 2]:.0f} ms, longest {1e3 * asked[-1]:.0f}" if asked else "nothing"))
            missed += ["check"] if result not in ("sound", "none") else []
            daemon.stop(signal.SIGKILL)
        if result == "sound":  # the result is "none" if the file is so small that the daemon checked it before it opened it
            subprocess.run([f"{options.build}/tests/reproduce/large_fill", database, "write", "8", "60"], check=True)
        explain(database)
    finally:
        if made and not options.keep:
            shutil.rmtree(options.folder)
    print("exceeded: " + (", ".join(missed) or "nothing"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
