#!/usr/bin/env python3
"""How well models tell whether a sequence has a motif of each name, beside a scan with the true matrices.

    tests/reproduce/presence.py URL MATRICES.meme JOB...

The jobs are trainings of one data set with several seeds; the names of its labels are the names of the matrices. The script asks each model about the
test part of its data set, which training never read. It ranks the sequences for each name by the score of POST /v1/jobs/JOB/predict (`presence`), and
by the best log-odds of the true matrix on both strands, and prints the AUROC of both. The column "F1, answers" is about the predicted labels. The
columns "F1, score" and "F1, scan" are the best F1 over all thresholds. Each cell of the models has the median and the worst of the jobs. Needs NumPy.
"""
import json
import sys
import urllib.request

import numpy as np

from auroc import auroc, best_site

EACH = 100  # samples of one request


def ask(url, job, verb, first):
    body = json.dumps({"inputs": [{"sample": {"seed": first + i}} for i in range(EACH)]}).encode()
    request = urllib.request.Request(f"{url}/v1/jobs/{job}/{verb}", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)["answers"]


def samples_of(url, job):
    """Returns [(letters, label, prediction, {name: score})] of the test part. Behind its end, the samples begin again."""
    out, first = [], 0
    while True:
        for one, read in zip(ask(url, job, "motifs", first), ask(url, job, "predict", first)):
            if out and one["letters"] == out[0][0]:
                return out
            out.append((one["letters"], set(one["label"]), set(read["prediction"]), {name["name"]: name["score"] for name in read["presence"]}))
        first += EACH


def best_f1(scores, has):
    right = np.cumsum(has[np.argsort(-scores, kind="stable")])
    return (2 * right / (np.arange(1, len(has) + 1) + has.sum())).max()


def f1(said, has):
    return 2 * (said & has).sum() / max(1, said.sum() + has.sum())


def figures_of(samples, name):
    has = np.array([name in label for _, label, _, _ in samples])
    scores = np.array([scores[name] for _, _, _, scores in samples])
    said = np.array([name in prediction for _, _, prediction, _ in samples])
    return auroc(scores, has), f1(said, has), best_f1(scores, has)


def names_of(path):
    """Returns {name: identifier} of the motifs of a file."""
    with open(path, encoding="utf-8") as file:
        return {line.split()[-1]: line.split()[1] for line in file if line.startswith("MOTIF")}


def main():
    url, path, jobs = sys.argv[1], sys.argv[2], sys.argv[3:]
    every = [samples_of(url, job) for job in jobs]
    print(f"{len(every[0])} sequences of the test part\n")
    print("| name | AUROC, scan | AUROC | F1, scan | F1, score | F1, answers |\n| --- | --- | --- | --- | --- | --- |")
    for name, identifier in sorted(names_of(path).items()):
        has = np.array([name in label for _, label, _, _ in every[0]])
        scan = best_site(path, identifier, [(None, None, letters) for letters, _, _, _ in every[0]])
        values = np.array([figures_of(samples, name) for samples in every])
        auc, answers, score = (f"{np.median(column):.3f}, {column.min():.3f}" for column in values.T)
        print(f"| {name} | {auroc(scan, has):.3f} | {auc} | {best_f1(scan, has):.3f} | {score} | {answers} |", flush=True)


if __name__ == "__main__":
    main()
