#!/usr/bin/env python3
"""Compares the position matrices of a model's channels with those of the planted motifs.

    tests/reproduce/matrices.py FOUND.meme TRUTH.meme

FOUND comes from `motifctl channels JOB --set test --samples 1000 --output FOUND.meme`. For each motif of TRUTH, the script prints the channel whose
matrix is most similar: the Pearson correlation of the probabilities over all aligned positions, on the better strand, at the best offset with an
overlap of at least five positions and of at least three quarters of the shorter matrix. Needs NumPy.
"""
import sys

import numpy


def read(lines):
    """Returns [(name, probabilities [width][4])] of the lines of a file in MEME's minimal format."""
    motifs, name, rows = [], None, None
    for line in lines:
        words = line.split()
        if line.startswith("MOTIF"):
            name = " ".join(words[1:])
        elif line.startswith("letter-probability"):
            rows = []
            motifs.append((name, rows))
        elif rows is not None and len(words) == 4:
            rows.append([float(word) for word in words])
        elif not words or line.startswith("URL"):
            rows = None if rows else rows
    return [(name, numpy.array(rows)) for name, rows in motifs]


def similarity(one, two):
    """The largest correlation over strands and offsets, with its offset and strand."""
    best = (-1.0, 0, "+")
    least = max(5, int(numpy.ceil(0.75 * min(len(one), len(two)))))
    for strand, other in (("+", two), ("-", two[::-1, ::-1])):
        for offset in range(least - len(other), len(one) - least + 1):
            first, end = max(0, offset), min(len(one), offset + len(other))
            if end - first < least:
                continue
            left, right = one[first:end].ravel(), other[first - offset:end - offset].ravel()
            best = max(best, (float(numpy.corrcoef(left, right)[0, 1]), offset, strand))
    return best


def closest(matrix, found):
    """Returns ((correlation, offset, strand), name, matrix) of the matrix in `found` that is most similar."""
    return max(((similarity(matrix, own), name, own) for name, own in found), key=lambda row: row[0])


def main():
    found, truth = (read(open(path, encoding="utf-8")) for path in sys.argv[1:3])
    good, used = 0, {}
    print("| planted motif | width | channel | width | offset, strand | correlation |\n| --- | --- | --- | --- | --- | --- |")
    for name, matrix in truth:
        (value, offset, strand), channel, other = closest(matrix, found)
        good += value >= 0.9
        used.setdefault(channel, []).append(name)
        print(f"| {name} | {len(matrix)} | {channel} | {len(other)} | {offset}, {strand} | {value:.3f} |")
    print(f"\n{good} of {len(truth)} motifs have a channel with a correlation of at least 0.9; {len(used)} of {len(found)} matrices are the best of one.")


if __name__ == "__main__":
    main()
