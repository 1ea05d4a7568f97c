#!/usr/bin/env python3
"""Runs a grid of configurations, each with several seeds, as jobs of a daemon, and prints their results.

    sweep.py --url http://127.0.0.1:8080 --preset digitcircle-quick --seeds 1,2,3 \\
             --grid curriculum=8000,24000 --grid plateau_validations=1,2 --set precision=bf16

Every job has an idempotency key made from its configuration. Therefore the same command continues an interrupted sweep, and
a larger grid trains only the new jobs. The daemon runs as many jobs at the same time as it has workers. The jobs continue
when this program ends. The program prints a Markdown table with a line for each job and, below them, the medians over the
seeds. The columns are members of the job's result; they are empty for a failed job. --csv FILE writes the values of each job.
"""
import argparse
import csv
import hashlib
import itertools
import json
import os
import statistics
import sys
import time
import urllib.error
import urllib.request

ENDED = ("succeeded", "failed", "cancelled")


def value_of(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def pair(text):
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError("%r is not FIELD=VALUE" % text)
    return name, value


class Daemon:
    def __init__(self, url, token):
        self.url = url.rstrip("/")
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = "Bearer " + token

    def ask(self, path, body=None, key=None):
        headers = dict(self.headers, **({"Idempotency-Key": key} if key else {}))
        data = json.dumps(body).encode() if body is not None else None
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers), timeout=60) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            problem = json.load(error)
            faults = "".join("\n  %s  %s" % (e.get("pointer"), e.get("detail")) for e in problem.get("errors", []))
            sys.exit("%s: %s%s" % (problem.get("title"), problem.get("detail"), faults))


def submissions(options):
    """Yields each job of the grid: (values of the varied fields, seed, request body)."""
    names = [name for name, _ in options.grid]
    values = [value.split(",") for _, value in options.grid]
    for point in itertools.product(*values):
        for seed in options.seeds:
            config = {name: value_of(value) for name, value in options.set}
            config.update({name: value_of(value) for name, value in zip(names, point)}, seed=seed)
            body = {"kind": options.kind, "config": config, "name": options.name}
            if options.preset:
                body["preset"] = options.preset
            if options.threads:
                body["threads"] = options.threads
            yield point, seed, body


def await_all(daemon, jobs):
    """Polls the jobs and yields each one that ends; prints how many have ended and an estimate of the remaining time."""
    began, waiting = time.monotonic(), dict(jobs)
    while waiting:
        for name in list(waiting):
            job = daemon.ask("/v1/jobs/" + waiting[name])
            if job["state"] in ENDED:
                del waiting[name]
                yield name, job
                spent, done = time.monotonic() - began, len(jobs) - len(waiting)
                print("%d of %d ended, about %.0f min left" % (done, len(jobs), spent / done * len(waiting) / 60), file=sys.stderr)
        if waiting:
            time.sleep(1)


def cell(value):
    if value is None:
        return ""
    return "%.4g" % value if isinstance(value, (int, float)) else str(value)


def line(cells):
    print("| " + " | ".join(cells) + " |")


def report(options, results):
    names = [name for name, _ in options.grid]
    line(names + ["seed", "state"] + options.columns)
    line(["---"] * (len(names) + 2 + len(options.columns)))
    medians = {}
    rows = []
    for (point, seed), job in results.items():
        result = job.get("result") or {}
        found = [result.get(column) for column in options.columns]
        rows.append(list(point) + [seed, job["state"]] + found)
        line(list(point) + [str(seed), job["state"]] + [cell(value) for value in found])
        medians.setdefault(point, []).append(found)
    for point, found in medians.items():
        # A seed without a value counts as the worst one, so that the median includes every seed.
        middle = [statistics.median_high([v if isinstance(v, (int, float)) else float("inf") for v in column]) for column in zip(*found)]
        line(list(point) + ["median", ""] + ["" if m == float("inf") else cell(m) for m in middle])
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(names + ["seed", "state"] + options.columns)
            writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default=os.environ.get("MOTIFD_SERVER", "http://127.0.0.1:8080"))
    parser.add_argument("--kind", default="sparling")
    parser.add_argument("--preset")
    parser.add_argument("--seeds", default="1", type=lambda text: [int(s) for s in text.split(",")])
    parser.add_argument("--grid", action="append", default=[], type=pair, metavar="FIELD=A,B,...")
    parser.add_argument("--set", action="append", default=[], type=pair, metavar="FIELD=VALUE")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--name", default="sweep")
    parser.add_argument("--columns", default="trained_samples,seconds,density,fpe,fne,ce,e2ee", type=lambda text: text.split(","))
    parser.add_argument("--csv")
    parser.add_argument("--build", default="", help="part of the idempotency keys: another value trains every job again")
    options = parser.parse_args()
    daemon = Daemon(options.url, os.environ.get("MOTIFD_TOKEN"))
    jobs = {}
    for point, seed, body in submissions(options):
        text = json.dumps([body, options.build], sort_keys=True)
        jobs[(point, seed)] = daemon.ask("/v1/jobs", body, "sweep-" + hashlib.sha256(text.encode()).hexdigest()[:40])["id"]
    ended = dict(await_all(daemon, jobs))
    results = {name: ended[name] for name in jobs}
    report(options, results)
    return any(job["state"] != "succeeded" for job in results.values())


if __name__ == "__main__":
    sys.exit(main())
