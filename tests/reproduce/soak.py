#!/usr/bin/env python3
"""Sends many requests and jobs to a daemon and checks that neither its memory nor its number of descriptors grows.

    soak.py build/motifd [--requests 1000000] [--jobs 10000] [--client build/tests/reproduce/soak_client]

The requests cover every reading route, invalid requests, and requests whose connection breaks off. The jobs are small and train to their end. The
script deletes half of them at once and the others one round later, so that the database keeps its size. There are ten rounds; after each, the script
reads memory and descriptors from /metrics. Caches fill in the first rounds, so it compares the fifth round with the tenth. Exit code 1: memory grew
by 1 % or more, the number of descriptors grew, or the daemon did not end with 0.

With --client, the program soak_client.c sends the requests. It sends some ten times as many a second, for a soak of 10^7 requests or more."""
import argparse
import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
import time

from load import Asker, Daemon, expect

TINY = {"kind": "pathways", "config": {"dictionary": "dirac-hadamard", "filter_length": 16, "length": 1, "nonzeros": "1,2", "trials": 8}}
ASKERS = 4
ROUNDS = 10


async def figures(port):
    """Returns the minimum of each figure over twelve seconds.

    It is the minimum, because an answer uses memory only while the daemon writes it. When a connection broke off within a body, the daemon
    closes its descriptor only at the body's deadline."""
    asker, found = Asker(port), {}
    for _ in range(120):
        text = (await asker.ask("GET", "/metrics"))[1].decode()
        for name in ("process_resident_memory_bytes", "process_open_fds"):
            now = float(re.search(rf"^{name} (\S+)$", text, re.M).group(1))
            found[name] = min(found.get(name, now), now)
        await asyncio.sleep(0.1)
    asker.close()
    return found


async def requests(port, count, job):
    paths = ["/v1/jobs?limit=10", f"/v1/jobs/{job}", f"/v1/jobs/{job}/metrics", "/v1/kinds", "/v1/system", "/metrics", "/none", "/v1/jobs?limit=x",
             f"/v1/jobs/{job}/artifacts", "/healthz", "/openapi.json"]

    async def some(which):
        asker = Asker(port)
        for i in range(count // ASKERS):
            if i % 500 == 499:
                asker.writer.write(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{")
                asker.writer.close()
                asker.writer = None
                continue
            path = paths[(i + which) % len(paths)]
            if i % 50 == 49:
                expect(await asker.ask("POST", "/v1/jobs?dry_run=1", TINY), 200)
            elif (answer := await asker.ask("GET", path))[0] not in (200, 400, 404):
                raise SystemExit(f"{path}: {answer}")
        asker.close()

    await asyncio.gather(*(some(which) for which in range(ASKERS)))


async def delete(asker, ids):
    for job in ids:
        if (await asker.ask("DELETE", f"/v1/jobs/{job}"))[0] != 204:
            raise SystemExit(f"job {job} is not deleted")


async def jobs(port, count, old):
    """Trains `count` jobs, deletes half of them and all `old` ones; returns the ids of the remaining jobs."""
    asker, left = Asker(port), []
    for start in range(0, count, 100):
        made = [expect(await asker.ask("POST", "/v1/jobs", TINY), 201)["id"] for _ in range(min(100, count - start))]
        while True:
            open_ones = expect(await asker.ask("GET", "/v1/jobs?limit=1&state=queued"), 200)["jobs"] + \
                expect(await asker.ask("GET", "/v1/jobs?limit=1&state=running"), 200)["jobs"]
            if not open_ones:
                break
            await asyncio.sleep(0.02)
        await delete(asker, made[1::2])
        left += made[::2]
    await delete(asker, old)
    asker.close()
    return left


async def requests_of_client(client, port, count, job):
    """As requests(), but the C program `client` sends them. It does not look at the text of answers, only at their status and length."""
    process = await asyncio.create_subprocess_exec(client, str(port), str(count), job, str(ASKERS), stdout=asyncio.subprocess.PIPE)
    answers, _ = await process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"{client} ended with {process.returncode}: {answers.decode()}")


async def soak(options, port):
    seen, made = [], []
    for number in range(1, ROUNDS + 1):
        made = await jobs(port, options.jobs // ROUNDS, made)
        if options.client is not None:
            await requests_of_client(options.client, port, options.requests // ROUNDS, made[0])
        else:
            await requests(port, options.requests // ROUNDS, made[0])
        seen.append(await figures(port))
        print(f"round {number}: {seen[-1]['process_resident_memory_bytes'] / 1e6:.2f} MB, {seen[-1]['process_open_fds']:.0f} descriptors", flush=True)
    return seen[ROUNDS // 2 - 1], seen[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("motifd")
    parser.add_argument("--requests", type=int, default=1000000)
    parser.add_argument("--jobs", type=int, default=10000)
    parser.add_argument("--client")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="motifd-soak-")
    log = open(os.path.join(folder, "log"), "w")
    daemon = Daemon(options.motifd, os.path.join(folder, "motifd.db"), "--rate-limit", "0", "--log-level", "warn", log=log)
    start = time.monotonic()
    try:
        before, after = asyncio.run(soak(options, daemon.port))
    finally:
        code = daemon.end()
        log.close()
        shutil.rmtree(folder)
    memory = [figure["process_resident_memory_bytes"] for figure in (before, after)]
    descriptors = [int(figure["process_open_fds"]) for figure in (before, after)]
    print(f"{options.requests} requests and {options.jobs} jobs in {time.monotonic() - start:.0f} s: memory {memory[0] / 1e6:.2f} to {memory[1] / 1e6:.2f} MB "
          f"({100 * (memory[1] / memory[0] - 1):+.2f} %), descriptors {descriptors[0]} to {descriptors[1]}, exit code {code}")
    return 0 if memory[1] < 1.01 * memory[0] and descriptors[1] <= descriptors[0] and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
