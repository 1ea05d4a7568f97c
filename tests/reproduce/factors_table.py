#!/usr/bin/env python3
"""Prints the cases of a factors job, or with `topics` the topics of its last model, as a Markdown table. Input: the output of `train`.

    train --kind factors --preset abstracts-table ... > out.txt
    factors_table.py out.txt [topics]

The table has a line for each model (and each correlation). Figures are means and standard deviations over folds or random draws; for
synthetic data sets they are medians over the sets."""
import signal
import statistics
import sys

NAMES = {"sparse-vae": "Sparse VAE", "vae": "VAE", "beta-vae": "beta-VAE", "vsc": "VSC", "oi-vae": "OI-VAE", "nmf": "NMF"}
FIGURES = ["mse", "nll", "recall_at_5", "ndcg_at_10", "accuracy", "dci", "columns_used", "anchors"]


def members(path, wanted):
    """Returns the lines of the result's member `wanted`, stripped. Indentation shows which lines belong to it."""
    inside = False
    for line in open(path, encoding="utf-8"):
        if line.strip() and not line.startswith(" "):
            inside = line.startswith(wanted + ":")
        elif inside and line.strip():
            yield line.strip()


def cases(path):
    """Returns the cases of one output, or of several outputs in one file."""
    found = []
    for line in members(path, "curve"):
        name, _, value = line.partition(": ")
        if name == "model":
            found.append({"model": value})
        elif found:
            found[-1][name] = float("nan") if value == "null" else float(value)
    return found


def cell(values, synthetic):
    values = [value for value in values if value == value]
    if not values:
        return ""
    if synthetic:
        return f"{statistics.median(values):.3f}"
    return f"{statistics.mean(values):.4g} ({statistics.pstdev(values):.2g})"


def table(path):
    found = cases(path)
    synthetic = any(case["dci"] == case["dci"] for case in found)
    shown = [name for name in FIGURES if any(case[name] == case[name] for case in found)]
    print("| " + " | ".join(["model", "rho"] * synthetic + ["model"] * (not synthetic) + shown) + " |")
    print("|" + " --- |" * (len(shown) + 1 + synthetic))
    for model in (name for name in NAMES if any(case["model"] == name for case in found)):
        for rho in sorted({case["rho"] for case in found if case["model"] == model}):
            own = [case for case in found if case["model"] == model and case["rho"] == rho]
            first = [NAMES[model]] + [f"{rho:g}"] * synthetic
            print("| " + " | ".join(first + [cell([case[name] for case in own], synthetic) for name in shown]) + " |")


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
if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
(topics if sys.argv[2:] == ["topics"] else table)(sys.argv[1])
