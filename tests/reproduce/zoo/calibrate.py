#!/usr/bin/env python3
"""Compares the verdicts in tables of run.py with the truth.

    calibrate.py TABLE.csv...

A run is good if every motif has a channel of its own, FNE and CE are at most 3 points and FPE and E2EE at most 5 points above the
oracle's. A run has failed if a motif has no channel of its own, or if its E2EE is more than 15 points above the oracle's. The
other runs are in between, and both `learned` and `partly` are right for them.

The program prints two shares: failed runs whose verdict is not `learned` (aim: at least 95 %), and good runs whose verdict is not
`learned` (aim: at most 5 %). It lists the runs with a wrong verdict.
"""
import csv
import sys

ABOVE = {"fne": 0.03, "ce": 0.03, "fpe": 0.05, "e2ee": 0.05}
FAR = 0.15


def above(line, figure):
    """Returns by how much a figure is above the oracle's; None if the family has no such figure."""
    own, best = line.get(figure), line.get("oracle_" + figure)
    return float(own) - float(best) if own and best else None


def lacking(line):
    met, _, all_motifs = line["motifs"].partition("/")
    return bool(all_motifs) and int(met) < int(all_motifs)


def truth_of(line):
    if lacking(line) or above(line, "e2ee") > FAR:
        return "failed"
    within = all(above(line, figure) is None or above(line, figure) <= most for figure, most in ABOVE.items())
    return "good" if within else "between"


def main():
    lines = []
    for path in sys.argv[1:]:
        with open(path, newline="", encoding="utf-8") as file:
            lines += [line for line in csv.DictReader(file) if line["state"] == "succeeded"]
    count = {kind: [0, 0] for kind in ("good", "between", "failed")}
    for line in lines:
        truth, doubted = truth_of(line), line["verdict"] != "learned"
        count[truth][doubted] += 1
        if truth != "between" and doubted != (truth == "failed"):
            print("wrong: %(family)s %(vary)s, %(size)s samples, seed %(seed)s: " % line +
                  "%s, but the verdict is %s (motifs %s; without a channel: %s)" % (truth, line["verdict"], line["motifs"] or "-", line["missed"] or "none"))
    print("%d runs: %d good, %d in between, %d failed" % (len(lines), *(sum(count[kind]) for kind in ("good", "between", "failed"))))
    for kind, text in (("failed", "failed runs that are not called learned"), ("good", "good runs that are not called learned")):
        if sum(count[kind]):
            print("%s: %d of %d (%.0f %%)" % (text, count[kind][1], sum(count[kind]), 100 * count[kind][1] / sum(count[kind])))


if __name__ == "__main__":
    main()
