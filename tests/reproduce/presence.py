#!/usr/bin/env python3
"""How well models tell whether a sequence has a motif of each name, beside a scan with the true matrices.

    tests/reproduce/presence.py URL SEQUENCES.fa MATRICES.meme JOB...

The jobs are trainings of SEQUENCES.fa with several seeds; the names of its labels are the names of the matrices. The script asks each model about the
test part, which training never read. It ranks the sequences for each name by the score of POST /v1/jobs/JOB/predict (`presence`), and by the best
log-odds of the true matrix on both strands, and prints the AUROC of both. For an F1, both need a threshold. It is the one with the largest F1 in all
sequences outside the test part, for the scores of a model and for those of the scan. The column "F1, answers" is about the predicted labels, whose
thresholds the program itself has chosen. Each cell of the models has the median and the worst of the jobs. Needs NumPy.
"""
import json
import sys
import urllib.request

import numpy as np

from auroc import auroc, best_site

EACH = 100  # samples of one request


def ask(url, job, verb, body, kind):
    request = urllib.request.Request(f"{url}/v1/jobs/{job}/{verb}", body.encode(), {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)["answers"]


def records_of(path):
    """Returns [(letters, label)] of a FASTA file."""
    records = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith(">"):
                records.append(([], set(line.split()[1:])))
            else:
                records[-1][0].append(line.strip())
    return [("".join(parts), label) for parts, label in records]


def test_part(url, job):
    """Returns the letters of the test part. Behind its end, the samples begin again."""
    out = {}
    while True:
        inputs = [{"sample": {"seed": len(out) + i}} for i in range(EACH)]
        before = len(out)
        out.update(dict.fromkeys(one["letters"] for one in ask(url, job, "motifs", json.dumps({"inputs": inputs}), "application/json")))
        if len(out) < before + EACH:
            return out


def read_all(url, job, records):
    """Returns [(predicted names, {name: score})] of sequences."""
    out = []
    for first in range(0, len(records), EACH):
        text = "".join(f">s{i}\n{letters}\n" for i, (letters, _) in enumerate(records[first:first + EACH]))
        for read in ask(url, job, "predict", text, "text/x-fasta"):
            out.append((set(read["prediction"]), {name["name"]: name["score"] for name in read["presence"]}))
    return out


def best_threshold(scores, has):
    """Returns the score at and above which a sequence counts as having the name, so that F1 is largest."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(has[order])
    return scores[order][(2 * right / (np.arange(1, len(has) + 1) + has.sum())).argmax()]


def f1(said, has):
    return 2 * (said & has).sum() / max(1, said.sum() + has.sum())


def figures_of(scores, has, test):
    """Returns AUROC and F1 of the test part, with the best threshold of the others."""
    return auroc(scores[test], has[test]), f1(scores[test] >= best_threshold(scores[~test], has[~test]), has[test])


def names_of(path):
    """Returns {name: identifier} of the motifs of a file."""
    with open(path, encoding="utf-8") as file:
        return {line.split()[-1]: line.split()[1] for line in file if line.startswith("MOTIF")}


def main():
    url, sequences, path, jobs = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    records = records_of(sequences)
    held = test_part(url, jobs[0])
    test = np.array([letters in held for letters, _ in records])
    every = [read_all(url, job, records) for job in jobs]
    print(f"{test.sum()} sequences of the test part, {(~test).sum()} for the thresholds\n")
    print("| name | AUROC, scan | AUROC | F1, scan | F1, score | F1, answers |\n| --- | --- | --- | --- | --- | --- |")
    for name, identifier in sorted(names_of(path).items()):
        has = np.array([name in label for _, label in records])
        scan = figures_of(best_site(path, identifier, [(None, None, letters) for letters, _ in records]), has, test)
        values = []
        for samples in every:
            said = np.array([name in prediction for prediction, _ in samples])
            values.append((*figures_of(np.array([scores[name] for _, scores in samples]), has, test), f1(said[test], has[test])))
        auc, score, answers = (f"{np.median(column):.3f}, {min(column):.3f}" for column in zip(*values))
        print(f"| {name} | {scan[0]:.3f} | {auc} | {scan[1]:.3f} | {score} | {answers} |", flush=True)


if __name__ == "__main__":
    main()
