#!/usr/bin/env python3
"""Measures how long requests take while every core trains, and how long slow clients stay connected.

    load.py build/motifd [--seconds 60] [--drips 200] [--submits 50] [--job-nice 19]

The script starts a daemon in a temporary folder with one training job for each core. At the same time it sends three kinds of requests at steady
rates over persistent connections: /healthz (20 per second), control requests (10 per second: a list of jobs, one job, a change of priority), and
durable submits (--submits per second). --drips slow clients send one byte of a request's head per second and reconnect when the daemon closes their
connection. The script prints the median, the 99th percentile and the longest time of each kind, with the limit from docs/lab/reliability.md.
Exit code 1: a time exceeded its limit, or the daemon did not end with 0."""
import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon  # noqa: E402

JOB = {"kind": "sparling", "preset": "digitcircle", "config": {"total_samples": 100000000}}
SMALL = {"kind": "pathways", "preset": "single-layer", "priority": -50}
PROMISES = {"health": 0.005, "control": 0.050, "submit": 0.025, "drip": 11.0}


class Asker:
    """A client with one persistent connection; reconnects once when the daemon has closed it."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def ask(self, method, path, body=None, headers=""):
        data = json.dumps(body).encode() if body is not None else b""
        kind = "Content-Type: application/json\r\n" if body is not None else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {len(data)}\r\n{headers}\r\n"
        for _ in range(2):
            if self.writer is None:
                self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                self.writer.write(head.encode() + data)
                await self.writer.drain()
                return await self.answer()
            except (ConnectionError, asyncio.IncompleteReadError):
                self.writer.close()
                self.writer = None
        raise ConnectionError(f"{method} {path}")

    def close(self):
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    async def answer(self):
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = 0
        for line in head.split("\r\n")[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                length = int(value)
        body = await self.reader.readexactly(length)
        return int(head.split()[1]), body


async def at_a_rate(rate, until, ask, times):
    """Calls ask(i) `rate` times per second. The time of a request starts when it was due, even if it is sent later, so that it includes the wait."""
    start, i = time.monotonic(), 0
    while (due := start + i / rate) < until:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        asked = time.monotonic()
        await ask(i)
        times.append(time.monotonic() - max(due, asked - 1 / rate))
        i += 1


async def drip(port, until, times):
    head = b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 4000
    while time.monotonic() < until:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        start = time.monotonic()
        gone = asyncio.ensure_future(reader.read())
        try:
            for byte in head:
                writer.write(bytes([byte]))
                done, _ = await asyncio.wait({gone}, timeout=1)
                if done or time.monotonic() > until + 15:
                    break
        except ConnectionError:
            pass
        gone.cancel()
        writer.close()
        times.append(time.monotonic() - start)


def expect(answer, *allowed):
    if answer[0] not in allowed:
        raise SystemExit(f"{answer[0]}: {answer[1][:300]!r}")
    return json.loads(answer[1]) if answer[1] else None


def drips(port, count, seconds, out):
    """Runs the slow clients in a separate process, because hundreds of them in the measuring process would make the measured times longer."""
    async def all_of_them():
        times, until = [], time.monotonic() + seconds
        await asyncio.gather(*(drip(port, until, times) for _ in range(count)))
        return times

    out.put(asyncio.run(all_of_them()))


async def load(options, port, cores):
    times = {name: [] for name in PROMISES}
    first = Asker(port)
    jobs = [expect(await first.ask("POST", "/v1/jobs", JOB), 201)["id"] for _ in range(cores)]
    for job in jobs:
        while expect(await first.ask("GET", f"/v1/jobs/{job}"), 200)["state"] != "running":
            await asyncio.sleep(0.1)
    await asyncio.sleep(5)
    health, control, submit = Asker(port), Asker(port), Asker(port)

    async def ask_health(i):
        expect(await health.ask("GET", "/healthz"), 200)

    async def ask_control(i):
        if i % 3 == 2:
            expect(await control.ask("PATCH", f"/v1/jobs/{jobs[0]}", {"priority": i % 7}), 200)
        else:
            expect(await control.ask("GET", "/v1/jobs?limit=20" if i % 3 == 0 else f"/v1/jobs/{jobs[-1]}"), 200)

    async def ask_submit(i):
        expect(await submit.ask("POST", "/v1/jobs", SMALL, f"Idempotency-Key: load-{i}\r\n"), 201)

    slow = multiprocessing.Queue()
    dripping = multiprocessing.Process(target=drips, args=(port, options.drips, options.seconds, slow))
    dripping.start()
    until = time.monotonic() + options.seconds
    tasks = [at_a_rate(20, until, ask_health, times["health"]), at_a_rate(10, until, ask_control, times["control"]),
             at_a_rate(options.submits, until, ask_submit, times["submit"])]
    await asyncio.gather(*tasks)
    times["drip"] = await asyncio.to_thread(slow.get, timeout=60)
    dripping.join()
    return times


def report(times):
    within_limits = True
    print(f"{'':10}{'number':>8}{'median':>12}{'p99':>12}{'longest':>12}{'limit':>12}")
    for name, values in times.items():
        values.sort()
        if not values:
            continue
        p99 = values[min(len(values) - 1, int(0.99 * len(values)))]
        judged = values[-1] if name == "drip" else p99
        within_limits = within_limits and judged <= PROMISES[name]
        unit, scale = ("s", 1) if name == "drip" else ("ms", 1e3)
        cells = [f"{value * scale:.2f} {unit}" for value in (values[len(values) // 2], p99, values[-1], PROMISES[name])]
        print(f"{name:10}{len(values):8}" + "".join(f"{cell:>12}" for cell in cells) + ("" if judged <= PROMISES[name] else "  exceeded"))
    return within_limits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("motifd")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--drips", type=int, default=200)
    parser.add_argument("--submits", type=float, default=50)
    parser.add_argument("--job-nice", type=int, default=19)
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    folder = tempfile.mkdtemp(prefix="motifd-load-")
    log = open(os.path.join(folder, "log"), "w")
    daemon = Daemon(options.motifd, os.path.join(folder, "motifd.db"), "--workers", str(cores), "--threads-per-job", "1", "--job-nice",
                    str(options.job_nice), "--rate-limit", "0", "--queue-limit", "1000000", "--connections-per-address",
                    str(options.drips + 50), log=log)
    try:
        within_limits = report(asyncio.run(load(options, daemon.port, cores)))
    finally:
        code = daemon.end()
        log.close()
        shutil.rmtree(folder)
    print(f"the daemon ended with {code}")
    return 0 if within_limits and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
