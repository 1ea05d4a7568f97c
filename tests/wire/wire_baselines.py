#!/usr/bin/env python3
"""Tests tests/reproduce/baselines.py: every row of its table is a job, an interrupted job continues, no row is trained
twice, and the table contains the results of the jobs.

usage: wire_baselines.py MOTIFD BASELINES"""
import csv
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

TINY = """image_size=32 classes=3 min_symbols=1 max_symbols=2 shift=1 margin=8 min_radius=5 width=16 motifs=3 units=1
channels=16 layers=1 heads=2 feed_forward=32 batch=4 validation_every=40 validation_samples=8 checkpoint_every=20
test_samples=8 motif_samples=8 stage_samples=4 curriculum=0 density_start=0.01 total_samples=160""".split()
SMALLER = """sparling:binning_samples=4 sparling:perturb_samples=4 sparling:single_samples=20 direct:single_samples=20
direct:batch=4""".split()


def command(motifd, baselines, folder, rows):
    line = [sys.executable, baselines, "--motifd", motifd, "--out", folder, "--poll", "0.05", "--threads", "1", "--rows", rows]
    for field in TINY:
        line += ["--set", field]
    for field in SMALLER:
        line += ["--row-set", field]
    return line


def jobs(folder):
    database = sqlite3.connect("file:%s?mode=ro" % os.path.join(folder, "motifd.db"), uri=True)
    (count,) = database.execute("select count(*) from job").fetchone()
    database.close()
    return count


def rows_of(folder):
    with open(os.path.join(folder, "table.csv"), encoding="utf-8") as file:
        return {row["row"]: row for row in csv.DictReader(file)}


def main(motifd, baselines):
    with tempfile.TemporaryDirectory() as folder:
        broken = subprocess.Popen(command(motifd, baselines, folder, "sparling,l1-1"), stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 100
        while not os.path.exists(os.path.join(folder, "table.md")):
            assert broken.poll() is None and time.monotonic() < until, broken.stderr.read()
            time.sleep(0.02)
        broken.send_signal(signal.SIGTERM)
        assert broken.wait(60) == 143
        first = rows_of(folder)["sparling"]

        whole = command(motifd, baselines, folder, "sparling,retrained,l1-1,no-annealing-1.1,direct")
        done = subprocess.run(whole, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        assert jobs(folder) == 5
        table = rows_of(folder)
        assert list(table) == ["sparling", "no-annealing-1.1", "retrained", "l1-1", "direct"]
        assert table["sparling"] == first and all(row["state"] == "succeeded" for row in table.values())
        assert table["retrained"]["trained_samples"] == "160" and float(table["direct"]["single_error"]) <= 100
        assert float(table["l1-1"]["published_achieved_density"]) == 4.7
        with open(os.path.join(folder, "table.md"), encoding="utf-8") as file:
            text = file.read()
        assert text.count("\n| ") == 2 * 2 + 5 + text.count("| yes |") + text.count("| no |"), text
        assert {"binning.png", "error-by-density.png", "motifs.png", "result.json"} <= set(os.listdir(os.path.join(folder, "sparling")))

        again = subprocess.run(whole, capture_output=True, text=True, timeout=200)
        assert again.returncode == 0 and jobs(folder) == 5 and rows_of(folder) == table
        wrong = subprocess.run(command(motifd, baselines, folder, "retrained"), capture_output=True, text=True, timeout=60)
        assert wrong.returncode == 2 and "before it" in wrong.stderr
    print("ok each_row_of_the_table_is_a_job_and_a_second_run_continues")


main(*sys.argv[1:])
