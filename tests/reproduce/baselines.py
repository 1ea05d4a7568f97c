#!/usr/bin/env python3
"""Reproduces SPARLING's baselines and ablations (Table 1, Fig. 5, sections J.1 to J.3, Table 2 of the paper) in one command:

    baselines.py --out FOLDER --preset digitcircle-quick [--set FIELD=VALUE]... [--rows sparling,l1-1,...]

Every row is a job of one daemon. The script starts the daemon on FOLDER/motifd.db unless --url names a running one. The same
command continues an interrupted run: finished rows are not trained again, and an interrupted row resumes from its last
checkpoint. After each row the script writes the table so far to FOLDER/table.csv and FOLDER/table.md, with the published
figures and the published order of outcomes. It writes each row's pictures to FOLDER/ROW; those of the row `sparling` show error
against density (Fig. 4) and the rise of the error with binned activations (Fig. 8). --list prints the rows with their settings.

Densities derive from the preset's density_final, which, like the published one, corresponds to one active position per symbol.
"""
import argparse
import csv
import hashlib
import json
import os
import signal
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon as Process  # noqa: E402
from sweep import ENDED, Daemon, cell, pair, value_of  # noqa: E402

FIGURES = ("fpe", "fne", "ce", "e2ee", "exact", "achieved_density", "single_error")
TITLES = ("FPE", "FNE", "CE", "E2EE", "exact", "density", "single-motif error")

# These settings keep the run from ending before its last sample.
TO_THE_END = {"target_start": 1, "target_max": 1, "plateau_validations": 0}
# Switches off two aids that no published run has: the curriculum (fewer symbols at first) and reinitialised dead channels.
UNAIDED = {"curriculum": 0, "reinitialise_below": 0}
# A penalty acts on the magnitude of the motif map, so the head receives the map unscaled, from an affine batch norm, as published.
# Training ends with the first validation above the target.
PENALTY = {"density_start": 0.5, "density_final": 0.4, "plateau_validations": 0, "batch_norm": "affine", "motif_scale": "none"}


def at_once(times):
    return lambda least: dict(TO_THE_END, density_start=times * least, density_final=times * least)


def at_once_unaided(times):
    return lambda least: dict(UNAIDED, **at_once(times)(least))


def always(**settings):
    return lambda least: settings


def penalty(kind, weight):
    return lambda least: dict(PENALTY, sparsity=kind, sparsity_penalty=weight, **({"kl_rate": least} if kind == "kl" else {}))


# Name, title, settings as a function of the final density, published percentages in the order of FIGURES.
ROWS = [
    ("sparling", "SPARLING", always(single_samples=10000, binning_samples=2000, perturb_samples=1000),
     (1.48, 0.42, 1.16, 0.74, None, 0.005, 1.24)),
    ("single", "one threshold for all channels", always(sparsity="single"), (0.0025, 0.98, 22.2, 2.11, None, 0.005, None)),
    ("no-norm", "no batch norm", always(batch_norm="none"), (None, None, None, 72.3, None, 0.005, None)),
    ("no-norm-single", "no batch norm, one threshold", always(batch_norm="none", sparsity="single"),
     (None, None, None, 60.6, None, 0.005, None)),
    ("no-annealing-1.5", "no annealing, 1.5 times the least density", at_once(1.5), (None, None, None, 71.0, None, 0.0067, None)),
    ("no-annealing-1.1", "no annealing, 1.1 times", at_once(1.1), (None, None, None, 68.1, None, 0.005, None)),
    ("unaided", "SPARLING without curriculum and reinitialisation", always(**UNAIDED), (1.48, 0.42, 1.16, 0.74, None, 0.005, None)),
    ("no-annealing-unaided", "no annealing, 1.1 times, without both", at_once_unaided(1.1), (None, None, None, 68.1, None, 0.005, None)),
    ("non-sparse", "non-sparse (a density of 0.5)", lambda least: dict(TO_THE_END, density_start=0.5, density_final=0.5),
     (None, None, None, 0.23, None, 50, None)),
    ("retrained", "retrained without the bottleneck", always(sparsity="identity", freeze="motifs", curriculum=0, **TO_THE_END),
     (None, None, None, 0.16, None, None, None)),
    ("l1-0.1", "L1, λ = 0.1", penalty("l1", 0.1), (99.99, 0, 50.34, 0.68, None, 37, None)),
    ("l1-1", "L1, λ = 1", penalty("l1", 1), (99.90, 0, 47.84, 2.85, None, 4.7, None)),
    ("l1-2", "L1, λ = 2", penalty("l1", 2), (91.25, 58.09, 45.65, 70.31, None, 0.023, None)),
    ("l1-5", "L1, λ = 5", penalty("l1", 5), (95.99, 73.12, 50.85, 75.00, None, 0.032, None)),
    ("l1-10", "L1, λ = 10", penalty("l1", 10), (97.63, 84.51, 33.82, 73.20, None, 0.028, None)),
    ("kl-0.1", "KL, λ = 0.1", penalty("kl", 0.1), (None, None, None, None, 89, 19, None)),
    ("kl-10", "KL, λ = 10", penalty("kl", 10), (None, None, None, None, 90.3, 4.9, None)),
    ("kl-1000", "KL, λ = 1000", penalty("kl", 1000), (None, None, None, None, 24, 0.5, None)),
    ("direct", "motifs trained directly", always(objective="single-motifs", sparsity="identity", single_samples=10000, batch=40,
                                                  **TO_THE_END), (None, None, None, None, None, None, 0.01)),
]
FROM = {"retrained": "sparling"}

# The order of outcomes in the paper: (row, figure, other row) means that the figure of the first row is lower.
ORDER = [
    ("sparling", "e2ee", "no-norm"), ("sparling", "e2ee", "no-norm-single"), ("sparling", "e2ee", "no-annealing-1.5"),
    ("sparling", "e2ee", "no-annealing-1.1"), ("unaided", "e2ee", "no-annealing-unaided"), ("sparling", "ce", "single"),
    ("non-sparse", "e2ee", "sparling"), ("retrained", "e2ee", "sparling"), ("retrained", "e2ee", "non-sparse"), ("sparling", "fpe", "l1-0.1"),
    ("sparling", "ce", "l1-0.1"), ("l1-1", "achieved_density", "l1-0.1"), ("sparling", "achieved_density", "l1-1"),
    ("l1-0.1", "e2ee", "l1-2"), ("l1-1", "e2ee", "l1-2"), ("l1-1", "e2ee", "l1-5"), ("l1-1", "e2ee", "l1-10"),
    ("sparling", "e2ee", "l1-2"), ("sparling", "achieved_density", "kl-0.1"), ("sparling", "achieved_density", "kl-10"),
    ("sparling", "achieved_density", "kl-1000"), ("kl-1000", "exact", "kl-10"), ("direct", "single_error", "sparling"),
]


def body_of(options, daemon, name, settings, jobs):
    common = {field: value_of(value) for field, value in options.set}
    body = {"kind": "sparling", "preset": options.preset, "config": common}
    least = daemon.ask("/v1/jobs?dry_run=1", body)["config"]["density_final"]
    overrides = {field[len(name) + 1:]: value_of(value) for field, value in options.row_set if field.startswith(name + ":")}
    body.update(config=dict(common, **dict(settings(least), **overrides)), name=name)
    if options.threads:
        body["threads"] = options.threads
    if name in FROM:
        body["from"] = {"job": jobs[FROM[name]]["id"]}
    return body


def run_row(options, daemon, name, settings, jobs):
    body = body_of(options, daemon, name, settings, jobs)
    key = hashlib.sha256(json.dumps([body, options.build], sort_keys=True).encode()).hexdigest()[:40]
    job = daemon.ask("/v1/jobs", body, "baselines-" + key)
    while job["state"] not in ENDED:
        time.sleep(options.poll)
        job = daemon.ask("/v1/jobs/" + job["id"])
        if job["state"] == "paused":
            sys.exit("the job of row %s is paused; resume it and run the command again" % name)
    return job


def keep_artifacts(options, daemon, name, job):
    folder = os.path.join(options.out, name)
    os.makedirs(folder, exist_ok=True)
    for artifact in daemon.ask("/v1/jobs/%s/artifacts" % job["id"])["artifacts"]:
        request = urllib.request.Request("%s/v1/jobs/%s/artifacts/%s" % (daemon.url, job["id"], artifact["name"]), headers=daemon.headers)
        with urllib.request.urlopen(request, timeout=60) as reply, open(os.path.join(folder, artifact["name"]), "wb") as file:
            file.write(reply.read())
    with open(os.path.join(folder, "result.json"), "w", encoding="utf-8") as file:
        json.dump(job["result"], file, indent=1)


def percents(job):
    result = job.get("result") or {}
    return [None if not isinstance(result.get(f), (int, float)) else 100 * result[f] for f in FIGURES]


def beside(ours, published):
    text = cell(ours) or "–"
    return text + (" (%s)" % cell(published) if published is not None else "")


def outcomes(found):
    """Yields each relation of ORDER for which both rows have the figure."""
    at = {name: dict(zip(FIGURES, percents(job))) for name, job in found.items()}
    for low, figure, high in ORDER:
        a, b = at.get(low, {}).get(figure), at.get(high, {}).get(figure)
        if a is not None and b is not None:
            yield low, figure, high, a, b


def write_markdown(path, found):
    with open(path, "w", encoding="utf-8") as file:
        def line(cells):
            file.write("| " + " | ".join(cells) + " |\n")
        file.write("All figures in percent; published figures in parentheses.\n\n")
        line(("row", "samples") + TITLES)
        line(["---"] * (2 + len(TITLES)))
        for name, title, _, published in ROWS:
            if name in found:
                samples = (found[name].get("result") or {}).get("trained_samples")
                state = "" if found[name]["state"] == "succeeded" else " (%s)" % found[name]["state"]
                line([title + state, "{:,}".format(samples) if samples else "–"] +
                     [beside(a, b) for a, b in zip(percents(found[name]), published)])
        file.write("\nThe paper's order of outcomes:\n\n")
        line(("lower", "figure", "higher", "ours", "as published"))
        line(["---"] * 5)
        for low, figure, high, a, b in outcomes(found):
            line((low, figure, high, "%s, %s" % (cell(a), cell(b)), "yes" if a < b else "no"))


def write_csv(path, found):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "job", "state", "trained_samples", "seconds"] + list(FIGURES) + ["published_" + f for f in FIGURES])
        for name, _, _, published in ROWS:
            if name in found:
                job, result = found[name], found[name].get("result") or {}
                writer.writerow([name, job["id"], job["state"], result.get("trained_samples"), result.get("seconds")] +
                                percents(job) + list(published))


def work(options, url):
    daemon = Daemon(url, os.environ.get("MOTIFD_TOKEN"))
    found = {}
    rows = {name: (title, settings) for name, title, settings, _ in ROWS}
    for name in options.rows:
        title, settings = rows[name]
        print("%s  %s" % (time.strftime("%H:%M:%S"), title), file=sys.stderr, flush=True)
        found[name] = run_row(options, daemon, name, settings, found)
        if found[name]["state"] == "succeeded":
            keep_artifacts(options, daemon, name, found[name])
        else:
            print("  %s: %s" % (found[name]["state"], (found[name].get("error") or {}).get("message")), file=sys.stderr)
        write_csv(os.path.join(options.out, "table.csv"), found)
        write_markdown(os.path.join(options.out, "table.md"), found)
    return all(job["state"] == "succeeded" for job in found.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required="--list" not in sys.argv)
    parser.add_argument("--preset", default="digitcircle-quick")
    parser.add_argument("--set", action="append", default=[], type=pair, metavar="FIELD=VALUE", help="for every row")
    parser.add_argument("--row-set", action="append", default=[], type=pair, metavar="ROW:FIELD=VALUE", help="for one row")
    parser.add_argument("--rows", default=",".join(row[0] for row in ROWS), type=lambda text: text.split(","),
                        help="the rows to run, in this order")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--motifd", default="build/motifd")
    parser.add_argument("--url", help="address of a running daemon")
    parser.add_argument("--poll", type=float, default=2.0, help="seconds between two requests for the state of a job")
    parser.add_argument("--build", default="", help="part of the idempotency keys: another value trains every row again")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for name, title, settings, _ in ROWS:
            print("%-18s %s  %s" % (name, title, json.dumps(settings(1e-4))))
        return 0
    unknown = set(options.rows) - {row[0] for row in ROWS}
    if unknown:
        parser.error("there is no row %s; --list prints all rows" % ", ".join(sorted(unknown)))
    for place, name in enumerate(options.rows):
        if name in FROM and FROM[name] not in options.rows[:place]:
            parser.error("%s starts from the weights of %s, which must come before it in --rows" % (name, FROM[name]))
    os.makedirs(options.out, exist_ok=True)
    if options.url:
        return 0 if work(options, options.url) else 1
    with open(os.path.join(options.out, "motifd.log"), "ab") as log:
        process = Process(options.motifd, os.path.join(options.out, "motifd.db"), log=log)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    try:
        return 0 if work(options, process.url) else 1
    finally:  # the daemon saves a checkpoint of the running job
        process.end()


if __name__ == "__main__":
    sys.exit(main())
