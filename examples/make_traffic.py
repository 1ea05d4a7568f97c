#!/usr/bin/env python3
"""Writes a week of visits to each of 1,000 web pages, most of them with an anomaly in some hours, and what kind it is: the data of docs/tutorials/signals.md.

usage: make_traffic.py OUT.csv TRUTH.csv [COUNT]

OUT.csv has a series on each line: its label, the part (train or test), and 1,008 values, one every ten minutes. TRUTH.csv has the points of each anomaly,
[start, end), which motifd never gets. The data follow the generator WebTraffic of Early and others, "Inherently interpretable time series classification via
multiple instance learning" (ICLR 2024, appendix C). Needs NumPy. The same arguments give the same files."""
import csv
import sys

import numpy as np

POINTS = 1008
KINDS = ("none", "spikes", "flip", "skew", "noise", "cutoff", "average", "wander", "peak", "trough")


def wave(height, level, shift, skew, x):
    t = 2 * np.pi * (x - shift)
    return height / 2 * np.sin(t - np.sin(t) / skew) + level


def week(rng):
    """Days with their own height and level, times a slow wave over the week."""
    height, level, shift = rng.uniform(2, 4), rng.uniform(2.5, 5), rng.uniform(-.05, .05)
    skew, noise, slow = rng.uniform(1, 3), rng.uniform(.1, .3), rng.uniform(.8, 1.2)
    day = rng.normal(wave(height, level, shift + .55, skew, np.linspace(0, 7, POINTS)), noise)
    return day * wave(slow, 1, .6, 2, np.linspace(0, 1, POINTS))


def skewed(rng, window):
    length = len(window)
    first = int(length * (.5 + rng.choice((-1, 1)) * rng.uniform(.25, .45)))
    at = np.concatenate([np.linspace(0, length // 2, first), np.linspace(length // 2, length - 1, length - first)])
    return np.interp(at, np.arange(length), window)


def smoothed(rng, series, part):
    width = int(rng.integers(5, 10))
    return np.convolve(series, np.ones(width) / width, "same")[part]


def spiked(rng, window):
    where = rng.random(len(window)) < .01
    where[rng.integers(len(window))] = True
    return window + where * rng.choice((-1, 1), len(window)) * rng.normal(3, .2, len(window))


def bump(rng, window, sign):
    z = np.linspace(-5, 5, len(window))
    return window * (1 + sign * rng.uniform(1.5, 2.5) * np.exp(-z ** 2 / 2) / np.sqrt(2 * np.pi))


def anomaly(rng, kind, series):
    """Changes a window of the series in place; returns the window."""
    length = int(rng.integers(36, 289))
    start = int(rng.integers(POINTS - length + 1))
    part = slice(start, start + length)
    window = series[part]
    series[part] = {"spikes": lambda: spiked(rng, window), "flip": lambda: window[::-1].copy(), "skew": lambda: skewed(rng, window),
                    "noise": lambda: window + rng.normal(0, rng.uniform(.5, 1), length), "cutoff": lambda: rng.normal(rng.uniform(0, .2), .1, length),
                    "average": lambda: smoothed(rng, series, part), "wander": lambda: window + np.linspace(0, rng.choice((-1, 1)) * rng.uniform(2, 3), length),
                    "peak": lambda: bump(rng, window, 1), "trough": lambda: bump(rng, window, -1)}[kind]()
    return start, start + length


def main(out, truth, count=1000):
    rng = np.random.default_rng(1)
    with open(out, "w", newline="", encoding="utf-8") as series_file, open(truth, "w", newline="", encoding="utf-8") as truth_file:
        series_rows, truth_rows = csv.writer(series_file), csv.writer(truth_file)
        series_rows.writerow(["label", "split"] + [f"t{point}" for point in range(POINTS)])
        truth_rows.writerow(["row", "label", "start", "end"])
        for row, number in enumerate(rng.permutation(int(count))):
            kind, series = KINDS[number % len(KINDS)], week(rng)
            if kind != "none":
                truth_rows.writerow([row, kind, *anomaly(rng, kind, series)])
            part = "train" if number // len(KINDS) % 2 == 0 else "test"
            series_rows.writerow([kind, part] + [f"{value:.3f}" for value in np.maximum(series, 0)])
    print(f"{count} series in {out}, their anomalies in {truth}")


if __name__ == "__main__":
    main(*sys.argv[1:])
