#!/usr/bin/env python3
"""Prints the topics of a factors job as text. Input: the output of `train`.

    train --kind factors --preset abstracts ... > out.txt
    factors_topics.py out.txt"""
import signal
import sys


def members(path, wanted):
    """Returns the lines of the result's member `wanted`, stripped. Indentation shows which lines belong to it."""
    inside = False
    for line in open(path, encoding="utf-8"):
        if line.strip() and not line.startswith(" "):
            inside = line.startswith(wanted + ":")
        elif inside and line.strip():
            yield line.strip()


def topics(path):
    part, names, weights, rows = "", [], [], []

    def show():
        for sign in 1, -1:
            own = [name for name, weight in zip(names, weights) if weight * sign > 0]
            if own:
                print("+" if sign > 0 else "-", "; ".join(own))
        for row in rows:
            print("   ", row)

    for line in members(path, "topics"):
        if line.startswith("factor:"):
            show()
            names, weights, rows = [], [], []
            print(line)
        elif line in ("features:", "weights:", "anchors:", "rows:"):
            part = line
        elif part == "features:":
            names.append(line)
        elif part == "weights:":
            weights.append(float(line))
        elif part == "rows:":
            rows.append(line)
    show()


signal.signal(signal.SIGPIPE, signal.SIG_DFL)
if len(sys.argv) != 2:
    sys.exit(__doc__)
topics(sys.argv[1])
