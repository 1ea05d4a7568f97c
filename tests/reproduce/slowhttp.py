#!/usr/bin/env python3
"""Attacks a daemon with slowhttptest (Debian package) in three modes and 1,000 connections: slow heads, slow bodies, slow readers.

    slowhttp.py build/motifd [--connections 1000] [--seconds 40]

Each mode runs twice: with the daemon's default limits (128 connections per address), and with limits that accept all connections, so that only
deadlines close them. Meanwhile a client at another address (127.0.0.2) requests /healthz ten times per second, each time on a new connection. The
script prints the number of answers with their median, 99th percentile and longest time, the largest number of simultaneous slow connections, the
duration of the test (it ends with the last connection), and how many more descriptors the daemon has open than before. A few connections may remain
open, because a slow reader notices that its connection was closed only after it has read the kernel's buffer. Exit code 1: a request had no answer, slow heads or bodies outlived
their deadline, or too many connections remain."""
import argparse
import csv
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon  # noqa: E402

MODES = {"heads": ["-H", "-i", "5"], "bodies": ["-B", "-i", "5", "-s", "8192", "-f", "application/json"], "readers": ["-X", "-n", "1", "-z", "5"]}
TARGETS = {"heads": "/v1/jobs", "bodies": "/v1/jobs", "readers": "/openapi.json"}
DEADLINE = 20  # seconds for slow heads and bodies: the daemon's 10 s, the time to open all connections, and the time until slowhttptest notices the end
SPARE = 16  # so many more descriptors may be open, because the daemon and the client of /healthz use some


def ask_until(port, done, times, faults):
    while not done.is_set():
        start = time.monotonic()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5, source_address=("127.0.0.2", 0))
            connection.request("GET", "/healthz")
            if connection.getresponse().status != 200:
                faults.append("status")
            connection.close()
            times.append(time.monotonic() - start)
        except OSError as fault:
            faults.append(str(fault))
        done.wait(max(0, 0.1 - (time.monotonic() - start)))


def descriptors(daemon):
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def attack(daemon, mode, connections, seconds, folder):
    port, before = daemon.port, descriptors(daemon)
    prefix = os.path.join(folder, mode)
    done, times, faults = threading.Event(), [], []
    asker = threading.Thread(target=ask_until, args=(port, done, times, faults))
    asker.start()
    start = time.monotonic()
    output = subprocess.run(["slowhttptest", "-c", str(connections), "-r", "500", "-l", str(seconds), "-p", "5", "-g", "-o", prefix, "-u",
                    f"http://127.0.0.1:{port}{TARGETS[mode]}"] + MODES[mode], capture_output=True, text=True).stdout
    took = time.monotonic() - start
    left = descriptors(daemon) - before
    done.set()
    asker.join()
    rows = list(csv.reader(open(prefix + ".csv")))[1:]
    most = max(int(row[3]) for row in rows)
    times.sort()
    print(f"  {mode:8} {most:5} at once, {left} left after {took:.0f} s; /healthz: {len(times)} answers, {len(faults)} faults, "
          f"median {1e3 * times[len(times) // 2]:.1f} ms, p99 {1e3 * times[int(len(times) * 0.99)]:.1f} ms, longest {1e3 * times[-1]:.1f} ms", flush=True)
    return not faults and left <= SPARE and (mode == "readers" or took <= DEADLINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("motifd")
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=40)
    options = parser.parse_args()
    if shutil.which("slowhttptest") is None:
        print("slowhttptest is not installed (Debian package slowhttptest)")
        return 77
    good = True
    enough = str(2 * options.connections)
    for name, limits in (("the daemon's own limits", []), ("limits that accept all connections", ["--connections", enough, "--connections-per-address", enough])):
        folder = tempfile.mkdtemp(prefix="motifd-slow-")
        daemon = Daemon(options.motifd, os.path.join(folder, "motifd.db"), *limits, log=subprocess.DEVNULL)
        print(f"{name}:", flush=True)
        try:
            for mode in MODES:
                good &= attack(daemon, mode, options.connections, options.seconds, folder)
        finally:
            good &= daemon.end() == 0
            shutil.rmtree(folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
