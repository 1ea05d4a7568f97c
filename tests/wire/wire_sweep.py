#!/usr/bin/env python3
"""Tests tests/reproduce/sweep.py with a daemon: every point of the grid is a job, a second sweep makes no new
jobs, and the program prints medians and faults.

usage: wire_sweep.py MOTIFD SWEEP"""
import json
import os
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon  # noqa: E402


def count(url):
    with urllib.request.urlopen(url + "/v1/jobs?limit=100", timeout=20) as answer:
        return len(json.load(answer)["jobs"])


def main(motifd, sweep):
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(motifd, os.path.join(folder, "motif.db"))
        url = daemon.url
        try:
            command = [sys.executable, sweep, "--url", url, "--preset", "digitcircle-quick", "--seeds", "1,2,3"]
            for field, value in TINY.items():
                command += ["--set", f"{field}={value}"] if field != "total_samples" else []
            grid = command + ["--grid", "total_samples=40,80", "--csv", os.path.join(folder, "out.csv")]
            first = subprocess.run(grid, capture_output=True, text=True, timeout=200)
            assert first.returncode == 0, first.stderr
            rows = [line.split("|")[1:-1] for line in first.stdout.splitlines()]
            assert len(rows) == 2 + 6 + 2, first.stdout
            assert [row[0].strip() for row in rows[2:]] == ["40"] * 3 + ["80"] * 3 + ["40", "80"]
            assert all(row[3].strip() == row[0].strip() for row in rows[2:]), first.stdout  # the column trained_samples shows the value of the grid
            assert "6 of 6 ended" in first.stderr
            with open(os.path.join(folder, "out.csv"), encoding="utf-8") as file:
                assert len(file.readlines()) == 7
            assert count(url) == 6
            again = subprocess.run(grid, capture_output=True, text=True, timeout=200)
            assert again.stdout == first.stdout and count(url) == 6
            wrong = subprocess.run(command + ["--grid", "widht=16,32"], capture_output=True, text=True, timeout=200)
            assert wrong.returncode == 1 and "did you mean 'width'" in wrong.stderr and count(url) == 6
        finally:
            daemon.end()
    print("ok a_sweep_submits_each_job_once_and_summarises_them")


main(*sys.argv[1:])
