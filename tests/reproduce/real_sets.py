#!/usr/bin/env python3
"""Trains the preset `dataset` on real sets with known places, as a new user would, and prints the figures of docs/lab/own-data.md as rows of a table.

    real_sets.py FOLDER webtraffic seismic ecg_ds12 [--seeds 1-5] [--build build] [--set FIELD=VALUE]... [--results FOLDER]

FOLDER has NAME.npz for each set; upload options, groups and boxes are in the files. --results keeps the whole result of each job. The settings of
--set are those of a job's configuration; without them everything has its default.
"""
import argparse
import json
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
from daemon import Daemon  # noqa: E402

OFFICIAL = {"ecg_ds12": "DS2", "snips": "test"}  # group that is the test part by convention
ENDED = ("succeeded", "failed", "cancelled")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--seeds", default="1", help="for example 1 or 1-5")
    parser.add_argument("--build", default="build")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--results", metavar="FOLDER")
    return parser.parse_args()


def value_of(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def checked(answer):
    status, _, body = answer
    if status not in (200, 201):
        raise SystemExit(f"{status}: {body}")
    return body


def train(daemon, name, seed, settings):
    """Returns the document of the job when it has ended."""
    config = {"dataset_name": name, "seed": seed, **settings}
    if name in OFFICIAL:
        config.setdefault("dataset_test_group", [OFFICIAL[name]])
    made = checked(daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": config}))
    while True:
        job = checked(daemon.ask("GET", f"/v1/jobs/{made['id']}"))
        if job["state"] in ENDED:
            return job
        time.sleep(1)


def percent(share):
    return "-" if share is None else f"{100 * share:.1f}"


def row(name, seed, job):
    if job["state"] != "succeeded":
        return f"| {name} | {seed} | {job['state']}: {job.get('error')} |"
    result = job["result"]
    reference = result.get("reference") or {}
    cells = [name, seed, percent(1 - result["exact"]), percent(1 - reference["exact"] if "exact" in reference else None),
             " / ".join(percent(result.get(key)) for key in ("fpe", "fne", "ce")), result["verdict"], result["trained_samples"], f"{result['seconds']:.0f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    given = arguments()
    first, _, last = given.seeds.partition("-")
    settings = {field: value_of(text) for field, _, text in (setting.partition("=") for setting in given.set)}
    print("| set | seed | wrong | reference | FPE / FNE / CE | verdict | samples | s |\n| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as folder, Daemon(os.path.join(given.build, "motifd"), os.path.join(folder, "db"), "--data", folder,
                                                         "--threads-per-job", "1", "--job-nice", "0") as daemon:
        for name in given.sets:
            with open(os.path.join(given.folder, f"{name}.npz"), "rb") as file:
                checked(daemon.ask("PUT", f"/v1/datasets/{name}", file.read(), "application/x-npz"))
            for seed in range(int(first), int(last or first) + 1):
                job = train(daemon, name, seed, settings)
                print(row(name, seed, job), flush=True)
                if given.results:
                    with open(os.path.join(given.results, f"{name}-{seed}.json"), "w", encoding="utf-8") as out:
                        json.dump(job, out)


if __name__ == "__main__":
    main()
