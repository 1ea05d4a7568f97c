#!/usr/bin/env python3
"""The area under the ROC curve of a DNA model's answers, and of the best site of a known matrix.

    tests/reproduce/auroc.py URL JOB SEQUENCES.fa [MATRIX.meme ID]

A record with a label is a positive. The script ranks the records by two scores of POST /v1/jobs/JOB/predict. "presence" is the largest score of a name
that the motif model gives. "head" is the probability of the first token of the predicted label, or one minus that of an empty label. The best site is the largest log-odds of the matrix on both strands. SEQUENCES may be compressed by gzip.
Needs NumPy.
"""
import gzip
import json
import sys
import urllib.request

import numpy as np


def read(path):
    records = []
    for line in (gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")):
        if line.startswith(">"):
            words = line[1:].split()
            records.append((words[0], len(words) > 1, []))
        else:
            records[-1][2].append(line.strip())
    return [(name, labelled, "".join(parts)) for name, labelled, parts in records]


def auroc(scores, positive):
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    values, first, counts = np.unique(np.asarray(scores)[order], return_index=True, return_counts=True)
    for begin, count in zip(first, counts):
        ranks[order[begin:begin + count]] = begin + (count + 1) / 2
    positives = positive.sum()
    return (ranks[positive].sum() - positives * (positives + 1) / 2) / (positives * (len(scores) - positives))


def ask(url, job, records):
    """Returns the scores of the motif model (None: this model has none) and those of the head."""
    presence, head = [], []
    for first in range(0, len(records), 200):
        text = "".join(f">s{i}\n{bases}\n" for i, (_, _, bases) in enumerate(records[first:first + 200]))
        request = urllib.request.Request(f"{url}/v1/jobs/{job}/predict", text.encode(), {"Content-Type": "text/x-fasta"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            for one in json.load(answer)["answers"]:
                begin = one["tokens"][0]
                head.append(1 - begin["probability"] if begin["token"] == "END" else begin["probability"])
                presence += [max(name["score"] for name in one["presence"])] if "presence" in one else []
    return np.array(presence) if presence else None, np.array(head)


def best_site(path, wanted, records):
    rows, name = [], None
    for line in open(path, encoding="utf-8"):
        words = line.split()
        if line.startswith("MOTIF"):
            name = words[1]
        elif name == wanted and len(words) == 4 and words[0][0].isdigit():
            rows.append([float(word) for word in words])
    matrix = np.array(rows)
    odds = np.log2((matrix * 100 + 0.25) / 101 / 0.25)
    codes = np.full(256, 4)
    codes[np.frombuffer(b"ACGT", np.uint8)] = range(4)
    tables = [np.hstack([table, np.zeros((len(odds), 1))]) for table in (odds, odds[::-1, ::-1])]
    scores = []
    for _, _, bases in records:
        windows = np.lib.stride_tricks.sliding_window_view(codes[np.frombuffer(bases.encode(), np.uint8)], len(odds))
        scores.append(max(table[np.arange(len(odds)), windows].sum(axis=1).max() for table in tables))
    return np.array(scores)


def main():
    url, job, path = sys.argv[1:4]
    records = read(path)
    positive = np.array([labelled for _, labelled, _ in records])
    print(f"{len(records)} records, {positive.sum()} positives")
    presence, head = ask(url, job, records)
    if presence is not None:
        print(f"presence   AUROC {auroc(presence, positive):.4f}")
    print(f"head       AUROC {auroc(head, positive):.4f}, {len(np.unique(head))} different values")
    if len(sys.argv) > 5:
        print(f"best site  AUROC {auroc(best_site(sys.argv[4], sys.argv[5], records), positive):.4f}")


if __name__ == "__main__":
    main()
