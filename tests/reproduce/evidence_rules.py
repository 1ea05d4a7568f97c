#!/usr/bin/env python3
"""Trains on bags and letters whose label follows a known rule over planted motifs, and compares the rule that the query name-rules states.

    evidence_rules.py [--build build] [--seeds 1-3] [--kinds bags,letters] [--rules one,or,and,not,two] [--set FIELD=VALUE]... [--out table.csv]

One row for each kind, rule and seed: the stated rule and whether it has the right form, balanced accuracies of rule and model, their fidelity, the share of
the planted motifs in positive inputs with a mark (recall, of each motif), the share of marks that lie on a planted motif (precision), and seconds.
"""
import argparse
import csv
import json
import os
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness"), os.path.join(HERE, "..", "..", "clients", "python")]
from daemon import Daemon  # noqa: E402
from motifd import Motifs  # noqa: E402

FEATURES, ITEMS, LETTERS, LENGTH, WORD = 8, 20, "ACDEFGHIKLMNPQRSTVWY", 80, 6
# motifs that occur, the label, and the form of the right rule: (some, least, none)
RULES = {"one": (1, lambda a: a[0], (1, 1, 0)), "or": (2, lambda a: a[0] or a[1], (2, 1, 0)), "and": (2, lambda a: a[0] and a[1], (2, 2, 0)),
         "not": (2, lambda a: a[0] and not a[1], (1, 1, 1)), "two": (3, lambda a: sum(a) >= 2, (3, 2, 0))}
SMALL = {"threads": 1, "validation_samples": 400, "test_samples": 500}


def draw(kind, rule, count, seed):
    """Inputs, labels, and for each motif a mask of its positions."""
    motifs, holds, _ = RULES[rule]
    rng, fixed = np.random.default_rng((seed, len(kind), len(rule))), np.random.default_rng((7, seed))
    words = ["".join(fixed.choice(list(LETTERS), WORD)) for _ in range(motifs)]
    positions = ITEMS if kind == "bags" else LENGTH
    masks, labels = np.zeros((count, motifs, positions), bool), []
    x = rng.normal(size=(count, FEATURES, 1, ITEMS)).astype(np.float32) if kind == "bags" else ["".join(rng.choice(list(LETTERS), LENGTH)) for _ in range(count)]
    for at in range(count):
        has = rng.random(motifs) < .5
        places = rng.choice(ITEMS if kind == "bags" else LENGTH // WORD, motifs, replace=False)
        for k in np.flatnonzero(has):
            if kind == "bags":
                x[at, 2 * k, 0, places[k]] += 4
                masks[at, k, places[k]] = True
            else:
                start = places[k] * WORD
                x[at] = x[at][:start] + words[k] + x[at][start + WORD:]
                masks[at, k, start:start + WORD] = True
        labels.append({"positive"} if holds(has) else set())
    if kind == "letters":
        x = np.stack([np.array([list(one)]) == np.array(list(LETTERS))[:, None] for one in x]).astype(np.float32)[:, :, None]
    return x, labels, masks


def measure(daemon, kind, rule, seed, settings):
    x, y, _ = draw(kind, rule, 4000, seed)
    other, labels, masks = draw(kind, rule, 300, seed + 100)
    model = Motifs(daemon.url, random_state=seed, progress=False, config={**SMALL, **settings}).fit(x, y, bags=kind == "bags")
    answer = daemon.ask("GET", f"/v1/jobs/{model.job_.id}/name-rules?samples=500")[2]
    one = next(name for name in answer["names"] if name["name"] == "positive")
    marks = np.asarray(model.transform(other)).reshape(len(other), masks.shape[2], -1) > 0
    positive = np.array([bool(label) for label in labels])
    any_mark, truth = marks.any(2), masks.any(1)
    recall = [np.mean([(any_mark[at] & masks[at, k]).any() for at in range(len(other)) if masks[at, k].any() and (positive[at] or rule == "not")]) for k in range(masks.shape[1])]
    precision = (any_mark & truth).sum() / max(1, any_mark.sum())
    form = (len(one["rule"]["some"]), one["rule"]["least"], len(one["rule"]["none"]))
    return {"kind": kind, "rule": rule, "seed": seed, "stated": one["text"], "right": form == RULES[rule][2], "as_good": one["as_good"],
            "rule_accuracy": one["test"]["rule"], "model_accuracy": one["test"]["model"], "fidelity": one["test"]["fidelity"],
            "recall": "/".join(f"{r:.2f}" for r in recall), "precision": precision}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--kinds", default="bags,letters")
    parser.add_argument("--rules", default=",".join(RULES))
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--out")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    settings = {field: json.loads(value) for field, value in (one.split("=", 1) for one in given.set)}
    rows = []
    with tempfile.TemporaryDirectory() as folder, Daemon(os.path.join(given.build, "motifd"), os.path.join(folder, "db"), "--data", folder) as daemon:
        for kind in given.kinds.split(","):
            for rule in given.rules.split(","):
                for seed in range(int(first), int(last or first) + 1):
                    began = time.time()
                    row = {**measure(daemon, kind, rule, seed, settings), "seconds": time.time() - began}
                    rows.append(row)
                    print("  ".join(f"{key}={value:.3f}" if isinstance(value, float) else f"{key}={value}" for key, value in row.items()), flush=True)
    if given.out:
        with open(given.out, "w", newline="") as file:
            table = csv.DictWriter(file, rows[0])
            table.writeheader()
            table.writerows(rows)


main()
