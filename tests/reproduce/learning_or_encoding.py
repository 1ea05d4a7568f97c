#!/usr/bin/env python3
"""Trains dictionaries on data and with settings like those of arXiv:2603.28744, and prints the code MCC of each.

    learning_or_encoding.py URL [--sizes 50,100,500,1000] [--learners topk,l1] [--rows 2500] [--seeds 1] [--plain] [--same-samples]
        [--set FIELD=VALUE ...]

The preset learning-or-encoding has other data and other settings than the paper. This script follows the authors' published code: ten active features
with values that are uniform in [0, 1). In half of the samples the first feature is active, together with nine from the first half of all features.
The other samples have ten features from all but the first. There are 2,500 training samples and as many for the measurement; each is seen 500 times in
batches of 64. The learning rate is a constant 5e-4, rows of the decoder have norm 1, samples are not scaled, there is no auxiliary loss, and the l1
factor is 1e-4 (of the mean over the dimensions), which is not tuned. --plain keeps the data, and takes the settings of the preset instead.
--same-samples measures with the training samples, as the authors measure their dictionary learning. --set changes a field of the configuration.
The learner least-squares is not that of motifd: NumPy alternates between FISTA and least squares, with all training samples in each of 60 rounds.
Needs NumPy and SciPy."""
import argparse
import json
import math
import pathlib
import sys

import numpy as np
from scipy.optimize import linear_sum_assignment

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"))
import motifd  # noqa: E402

ACTIVE, EPOCHS, PENALTY, ITERATIONS, ROUNDS = 10, 500, 0.1, 100, 60


def draw_codes(rng, features, rows):
    codes = np.zeros((rows, features))
    for row in codes:
        if rng.random() < 0.5:
            active = np.append(rng.choice(np.arange(1, features - features // 2), ACTIVE - 1, replace=False), 0)
        else:
            active = rng.choice(np.arange(1, features), ACTIVE, replace=False)
        row[active] = rng.random(ACTIVE)
    return codes


def fista(x, dictionary):
    gram, target = dictionary @ dictionary.T, x @ dictionary.T
    step, codes, t = 1 / np.linalg.norm(gram, 2), np.zeros_like(target), 1.0
    ahead = codes
    for _ in range(ITERATIONS):
        last, codes = codes, np.maximum(ahead - step * (ahead @ gram - target + PENALTY), 0)
        t, before = (1 + math.sqrt(1 + 4 * t * t)) / 2, t
        ahead = codes + (before - 1) / t * (codes - last)
    return codes


def least_squares(rng, x, features):
    """Dictionary learning in NumPy: codes of all samples by FISTA, then the dictionary by least squares, in turns from random rows of norm 1."""
    dictionary = rng.normal(size=(features, x.shape[1]))
    for _ in range(ROUNDS):
        dictionary /= np.linalg.norm(dictionary, axis=1, keepdims=True)
        codes = fista(x, dictionary)
        dictionary = np.linalg.solve(codes.T @ codes + 1e-6 * np.eye(features), codes.T @ x)
        unused = np.linalg.norm(dictionary, axis=1) < 1e-6
        dictionary[unused] = rng.normal(size=(unused.sum(), x.shape[1]))
    return dictionary / np.linalg.norm(dictionary, axis=1, keepdims=True)


def matched_correlation(truth, codes):
    table = []
    for one in (truth, codes):
        centred = one - one.mean(0)
        norm = np.linalg.norm(centred, axis=0)
        table.append(centred / np.where(norm < 1e-8, 1, norm))
    correlation = np.abs(table[0].T @ table[1])
    return correlation[linear_sum_assignment(-correlation)].mean()


def measure(options, features, learner, seed):
    rng = np.random.default_rng(seed)
    inputs = math.ceil(2 * ACTIVE * math.log(features / ACTIVE))
    truth = rng.normal(size=(features, inputs))
    truth /= np.linalg.norm(truth, axis=1, keepdims=True)
    rows = math.ceil(options.rows * 10 / 9)  # the daemon keeps a tenth for its own test
    seen = draw_codes(rng, features, rows)
    train, test = seen @ truth, seen if options.same_samples else draw_codes(rng, features, 2500)
    x = (test @ truth).astype(np.float32)
    if learner == "least-squares":
        codes = fista(x, least_squares(rng, train[:options.rows], features))
        return (matched_correlation(test, fista(x, truth)), *[matched_correlation(test, codes)] * 2, (codes > 0).sum(1).mean())
    config = {"batch": 64, "pursuit_samples": 0, "threads": 1}
    if not options.plain:
        config.update(learning_rate=5e-4, decay=0, scale="none", unit_rows=True, aux_weight=0, tuned=False, sparsity=1e-4 * inputs)
    config.update((name, json.loads(value)) for name, value in (one.split("=", 1) for one in options.set))
    sae = motifd.Dictionary(options.url, n_components=features, l0=ACTIVE, learner=learner, seeds=1, batch=64, random_state=seed, progress=False,
                            total_samples=EPOCHS * options.rows, config=config).fit(train.astype(np.float32))
    zero = np.zeros((1, features), np.float32)
    bias = sae.inverse_transform(zero)
    dictionary = sae.inverse_transform(np.eye(features, dtype=np.float32)) - bias
    codes = sae.transform(x)
    return (matched_correlation(test, fista(x, truth)), matched_correlation(test, codes), matched_correlation(test, fista(x - bias, dictionary)),
            (codes > 0).sum(1).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--sizes", default="50,100,500,1000")
    parser.add_argument("--learners", default="topk,l1,jumprelu,fista")
    parser.add_argument("--rows", type=int, default=2500)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--same-samples", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    print("features learner seed: code MCC of FISTA on the true dictionary, of the learner, of FISTA on its dictionary; active latents")
    for features in map(int, options.sizes.split(",")):
        for learner in options.learners.split(","):
            for seed in range(1, options.seeds + 1):
                print(features, learner, f"{seed}:", *(f"{figure:.3f}" for figure in measure(options, features, learner, seed)), flush=True)


if __name__ == "__main__":
    main()
