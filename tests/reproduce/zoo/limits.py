#!/usr/bin/env python3
"""Shows what limits the answers about a family of letters: the motif model g, its thresholds, or the head.

    limits.py --families dna-turned,koo12,dna-tally --seeds 1 --build build [--set never_empty=false]

For each run the program trains as run.py does and prints end-to-end errors (E2EE) in percent: of the oracle, of a scan with the true matrices,
of g, and of the head. Scan and g are read directly: the answer lists the channels of all peaks above the thresholds, in the order of
positions. The figure after the slash is that of the same reading if the strongest peak of a sample without any such peak is read, too.
"Posterior" is the best reading of the scan's values above the thresholds, and of those above thresholds that are lower by 1.5 nats: the oracle's
decision, with all other positions impossible.
The thresholds of the scan are calibrated on 4,000 fresh samples as the daemon calibrates those of g (training/calibrate.c). The last columns are the
mean areas under the ROC curve (AUROC) with which the largest value of a channel predicts its name: of the scan and of g on fresh samples,
and of g on training samples.
"""
import argparse
import os
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "wire")]
import oracle  # noqa: E402
import run  # noqa: E402
import safetensors_file  # noqa: E402
import score  # noqa: E402
import zoo  # noqa: E402
from base import Vary, generate, upload  # noqa: E402
from run import Daemon, asked  # noqa: E402

PEAKS, FRESH = 4, 4000


# ---- the motif model in NumPy ----


def conv(x, weight, bias):
    """x: [n][length][in], weight: [out][in][1][size]. Positions outside of x are zero."""
    size, length = weight.shape[3], x.shape[1]
    padded = np.pad(x, ((0, 0), (size // 2, size // 2), (0, 0)))
    return sum(padded[:, j:j + length] @ weight[:, :, 0, j].T for j in range(size)) + bias


def norm(x, weights, name):
    y = (x - weights[name + ".running_mean"]) / np.sqrt(weights[name + ".running_var"] + 1e-5)
    return y * weights[name + ".weight"] + weights[name + ".bias"] if name + ".weight" in weights else y


def scores(weights, x):
    """Returns how far each value of the motif map is above the threshold of its channel, [n][length][channels]. x: [n][1][length][letters]."""
    def layer(y, name):
        return conv(y, weights[name + ".weight"], weights[name + ".bias"])
    out = []
    for part in np.array_split(x[:, 0], max(1, len(x) // 500)):
        y, unit = layer(part, "g.first"), 0
        while "g.units.%d.conv1.weight" % unit in weights:
            inner = y
            for i in (1, 2):
                inner = layer(np.maximum(norm(inner, weights, "g.units.%d.norm%d" % (unit, i)), 0), "g.units.%d.conv%d" % (unit, i))
            y, unit = y + inner, unit + 1
        out.append(norm(layer(y, "g.last"), weights, "sparse.norm") - weights["sparse.threshold"])
    return np.concatenate(out)


# ---- reading ----


def peaks(values, least):
    """Returns the PEAKS largest values of each row of [n][length] that are more than `least` positions apart, and their positions."""
    values, heights, places = values.astype(float), [], []
    for _ in range(PEAKS):
        at = values.argmax(axis=1)
        heights.append(values[np.arange(len(values)), at])
        places.append(at)
        values[np.abs(np.arange(values.shape[1]) - at[:, None]) <= least] = -np.inf
    return np.array(heights).T, np.array(places).T


def counts_of(family, labels):
    """Returns [n][names]: how often a label contains each name."""
    if family.target == "count":
        return np.array([[int(label[0])] for label in labels])
    return np.array([[list(label).count(name) for name in family.names] for label in labels])


def calibrated(heights, counts, exact):
    """Returns the lowest threshold at which no more peaks are false than missed. Without `exact` only the largest peak of a sample counts."""
    if not exact:
        heights, counts = heights[:, :1], np.minimum(counts, 1)
    has, heights = (np.arange(heights.shape[1]) < counts[:, None]).ravel(), heights.ravel()
    order = np.lexsort((has, -heights))
    has, heights = has[order], heights[order]
    bad = np.flatnonzero(np.cumsum(~has) > has.sum() - np.cumsum(has))
    active = bad[0] if len(bad) else len(has)
    return (heights[active - 1] + heights[active]) / 2 if 0 < active < len(has) else heights[-1]


def read(family, found, never_empty):
    """Reads peaks directly. found: (heights above the threshold, positions) of each name. Returns a label for each sample."""
    labels = []
    for i in range(len(found[0][0])):
        every = [(height, place, k) for k, (heights, places) in enumerate(found) for height, place in zip(heights[i], places[i])]
        active = [one for one in every if one[0] > 0] or ([max(every)] if never_empty else [])
        kinds = [k for _, _, k in sorted(active, key=lambda one: one[1])]
        if family.target == "count":
            labels.append([str(min(max(family.counts), len(kinds)))])
        else:
            labels.append([family.names[k] for k in (kinds if family.target == "sequence" else sorted(set(kinds)))])
    return labels


def posterior(family, ratios, thresholds, vary):
    """Returns the oracle's labels if motifs of names are impossible where their log-likelihood ratio is below the threshold."""
    matrices, rates, extra = family.kinds(vary)
    known = [np.where(ratio > threshold, ratio, -np.inf) for ratio, threshold in zip(ratios, thresholds)] + ratios[len(thresholds):]
    with np.errstate(invalid="ignore"):
        return [safest for safest, _, _ in oracle.line(known, [len(m) for m in matrices], rates, len(family.names), family.counts, extra,
                                                       lambda found: tuple(family.label([k for _, k in found])))]


def area(values, has):
    """Returns the area under the ROC curve."""
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.arange(1, len(values) + 1)
    with_name = has.sum()
    return (ranks[has].sum() - with_name * (with_name + 1) / 2) / (with_name * (len(has) - with_name))


# ---- one run ----


def trained(family, seed, options, train_part, test):
    """Returns the weights of a trained model and its answers about the test part."""
    with tempfile.TemporaryDirectory(prefix="limits-") as folder, open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
        arguments = ["--data", os.path.join(folder, "data"), "--workers", "1", "--upload-bytes", str(1 << 31)]
        with Daemon(os.path.join(options.build, "motifd"), os.path.join(folder, "zoo.db"), *arguments, log=log) as daemon:
            job = run.train(daemon, "zoo", upload(family, train_part), seed, options, "count" if family.target == "count" else "")
            labels, _, _ = run.ask(daemon, job["id"], family, test, test.x)
            weights, _ = safetensors_file.read(asked(daemon.ask("GET", "/v1/jobs/%s/checkpoints/latest" % job["id"])))
    return weights, labels


def line(family, seed, options):
    train_part, test, solution = run.data_of(family, seed, options)
    fresh = generate(family, FRESH, seed + 5000, "train", options.vary)
    counts, there = counts_of(family, fresh.labels), counts_of(family, test.labels)
    exact, names = family.target == "count" or counts.max() > 1, range(len(family.names))
    scan, areas, thresholds = [], [], []
    ratios = [family.ratios(test.x, matrix) for matrix in family.kinds(options.vary)[0]]
    for k, matrix in enumerate(family.kinds(options.vary)[0][:len(family.names)]):
        least = int(0.7 * len(matrix))
        heights, _ = peaks(family.ratios(fresh.x, matrix), least)
        above, places = peaks(ratios[k], least)
        thresholds.append(calibrated(heights, counts[:, k], exact))
        scan.append((above - thresholds[k], places + len(matrix) // 2))
        areas.append(area(heights[:, 0], counts[:, k] > 0))
    weights, answers = trained(family, seed, options, train_part, test)
    part = slice(0, FRESH)
    of_test, of_fresh, of_train = (scores(weights, x) for x in (test.x, fresh.x, train_part.x[part]))
    channel = [int(np.argmax([area(of_test[:, :, c].max(axis=1), there[:, k] > 0) for c in range(of_test.shape[2])])) for k in names]
    g = [peaks(of_test[:, :, channel[k]], 7) for k in names]
    known = counts_of(family, train_part.labels[part])
    shares = [np.mean(areas)] + [np.mean([area(values[:, :, channel[k]].max(axis=1), has[:, k] > 0) for k in names])
                                 for values, has in ((of_fresh, counts), (of_train, known))]
    error = lambda labels: 100 * score.label_figures(labels, test.labels)["e2ee"]  # noqa: E731
    direct = ["%.1f / %.1f" % tuple(error(read(family, found, never)) for never in (False, True)) for found in (scan, g)]
    best = "%.1f / %.1f" % tuple(error(posterior(family, ratios, [t - lower for t in thresholds], options.vary)) for lower in (0, 1.5))
    direct.insert(1, best)
    return ["`%s`" % family.name, str(seed), "%.1f" % error(solution.labels), *direct, "%.1f" % error(answers), *("%.4f" % share for share in shares)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", default="dna-turned,koo12,dna-tally", help="families of letters of the development half, separated by commas")
    parser.add_argument("--size", type=int, default=16000, help="samples to upload")
    parser.add_argument("--seeds", type=run.seeds_of, default=[1], help="of data and training: 1-3 or 1,5")
    parser.add_argument("--build", default="build", help="folder with motifd")
    parser.add_argument("--set", action="append", default=[], type=run.pair_of, metavar="FIELD=VALUE")
    options = parser.parse_args()
    options.test, options.vary, options.preset = 1000, Vary(), "dataset"
    titles = ["family", "seed", "oracle", "scan", "posterior", "g", "head", "AUROC of the scan", "of g", "of g on training samples"]
    print("| " + " | ".join(titles) + " |\n|" + " --- |" * len(titles))
    for name in options.families.split(","):
        if zoo.halves().get(name) != "development" or not zoo.FAMILIES[name].letters:
            sys.exit("%s is no family of letters of the development half" % name)
        for seed in options.seeds:
            print("| " + " | ".join(line(zoo.FAMILIES[name], seed, options)) + " |", flush=True)


if __name__ == "__main__":
    main()
