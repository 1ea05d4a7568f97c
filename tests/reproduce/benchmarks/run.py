#!/usr/bin/env python3
"""Runs benchmarks of others with known evidence: motifd with its defaults, simple peers in the same run, and the published figures. Prints a table with one
row for each benchmark, method and seed.

    run.py [NAME ...] [--seeds 1-5] [--build build] [--peers] [--webtraffic FILE] [--set FIELD=VALUE]... [--out table.csv]
    run.py --list

--peers needs PyTorch (Debian: python3-torch); each peer may use as much processor time as motifd used for the same task. webtraffic needs the
file of the real set (tests/reproduce/real_sets.py). The README beside this program explains the columns.
"""
import argparse
import csv
import json
import os
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "harness"), os.path.join(HERE, "..", "..", "..", "clients", "python")]
from bags import UNIT_TESTS, shifted_mean, shifted_mean_oracle, unit_test, xmil  # noqa: E402
from daemon import Daemon  # noqa: E402
from metrics import auroc, average_precision, expected_relevance, ndcg, precision_at  # noqa: E402
from motifd import Motifs  # noqa: E402
from pictures import SCENARIOS, edges, xai_tris  # noqa: E402

POSITIVE = "positive"


class Model:
    """motifd with its defaults, asked over HTTP."""

    name = "motifd"

    def __init__(self, daemon, seed, settings):
        self.daemon, self.seed, self.settings = daemon, seed, settings

    def fit(self, x, y, names=None, groups=None, bags=False):
        self.motifs = Motifs(self.daemon.url, random_state=self.seed, progress=False, config=self.settings)
        self.motifs.fit(x, y, names=names, groups=groups, bags=bags)
        self.names = [one["name"] for one in next(iter(self.motifs.job_.ask_each("predict", x[:1])))["presence"]]  # in the order of the channels
        self.verdict, self.seconds = self.motifs.result_["verdict"], self.motifs.result_["seconds"]
        return self

    def bags(self, x):
        """How strongly the model expects each name: [n][names]."""
        return self.motifs.decision_function(x)

    def labels(self, x):
        return self.motifs.predict(x)

    def places(self, x):
        """The score of each name at each position: [n][rows][cols][names]."""
        return self.motifs.scores(x)

    def extents(self, x):
        """The largest value of a motif whose extent contains a position, else 0: [n][rows][cols]."""
        out = np.zeros((len(x), *x.shape[-2:]))
        for at, answer in enumerate(self.motifs.job_.ask_each("motifs", x)):
            for motif in answer["motifs"]:
                row0, row1, col0, col1 = motif["extent"]
                out[at, row0:row1, col0:col1] = np.maximum(out[at, row0:row1, col0:col1], motif["value"])
        return out


def positives(y):
    return [{POSITIVE} if one else set() for one in y]


def mean(values):
    values = [value for value in values if value is not None and not np.isnan(value)]
    return float(np.mean(values)) if values else float("nan")


def run_unit_test(name, make, seed, given):
    """Passed: AUROC at least .95 on training bags and .9 on test bags, and no poisoned item is the first of its bag."""
    x, y, _ = unit_test(name, 2000, True, seed)
    other, other_y, truth = unit_test(name, 1000, False, seed)
    for model in make():
        model.fit(x, positives(y), bags=True)
        train, test = auroc(y, model.bags(x)[:, 0]), auroc(other_y, model.bags(other)[:, 0])
        score = model.places(other)[:, 0, :, 0]
        found = {f"ap_concept_{kind}": mean(average_precision(truth[at] == kind, score[at]) for at in np.flatnonzero(other_y)) for kind in (1, 2) if (truth == kind).any()}
        poisoned = mean(truth[at, np.argmax(score[at])] == -1 for at in np.flatnonzero(other_y) if (truth[at] == -1).any())
        poisoned = 0 if np.isnan(poisoned) else poisoned
        yield model, {"auroc_train": train, "auroc_test": test, **found, "poison_first": poisoned, "passed": train >= .95 and test >= .9 and poisoned == 0}


def run_xmil(task, make, seed, given):
    x, y, _ = xmil(task, 2500, seed)
    other, other_y, evidence = xmil(task, 1000, seed)
    classes = evidence.shape[1]
    for model in make():
        model.fit(x, [str(one) for one in y], bags=True)
        score = model.places(other)[:, 0]
        order = [model.names.index(str(c)) for c in range(classes)]
        halves = []
        for at in range(len(other)):
            for c in range(classes):
                parts = [average_precision(evidence[at, c] == sign, sign * score[at, :, order[c]]) for sign in (1, -1) if 0 < (evidence[at, c] == sign).sum() < 30]
                halves += [np.mean(parts)] if parts else []
        right = np.mean([str(a) == str(b) for a, b in zip(model.labels(other), other_y)])
        yield model, {"accuracy": right, "auprc2": np.mean(halves)}


def run_shifted_mean(delta, make, seed, given):
    bags, y, _ = shifted_mean(1000, delta, seed, 64)
    others, other_y, truth = shifted_mean(1000, delta, seed + 1000, 64)
    probability, weight = shifted_mean_oracle(others, delta)

    def top_three(score):
        return mean(expected_relevance(truth[at], score[at][:len(truth[at])])[:3].mean() for at in np.flatnonzero(other_y))

    def padded(given):
        x = np.zeros((len(given), given[0].shape[1], 1, 45), np.float32)
        for at, bag in enumerate(given):
            x[at, :, 0, :len(bag)] = bag.T
        return x

    yield "oracle", {"auroc_test": auroc(other_y, probability), "top_three": top_three(weight)}
    for model in make():
        model.fit(padded(bags), positives(y))
        yield model, {"auroc_test": auroc(other_y, model.bags(padded(others))[:, 0]), "top_three": top_three(list(model.places(padded(others))[:, 0, :, 0]))}


def run_xai_tris(name, make, seed, given):
    """Pictures of the last tenth that the model reads rightly; precision of the largest absolute scores."""
    x, y, truth = xai_tris(name, 10000, seed)
    n, test = int(truth[0].sum()), slice(9000, None)

    def precision(scores, kept):
        return mean(precision_at(truth[test][at], np.abs(scores[at]), n) for at in kept)

    everything = range(1000)
    yield "the picture", {"precision": precision(x[test][:, 0], everything)}
    yield "edges", {"precision": precision([edges(one[0]) for one in x[test]], everything)}
    for model in make():
        model.fit(x[:9000], ["TL"[one] for one in y[:9000]])
        read = model.labels(x[test])
        score = model.places(x[test])
        right = [at for at in everything if read[at] == "TL"[y[test][at]]]
        of_class = {at: score[at][:, :, model.names.index(read[at])] for at in right}
        extents = {"precision_in_extents": precision(model.extents(x[test]), right)} if hasattr(model, "extents") else {}
        yield model, {"accuracy": len(right) / 1000, "precision": precision(of_class, right), **extents}


def run_webtraffic(name, make, seed, given):
    """NDCG over the nine classes with places, in the scores of the true class."""
    with np.load(given.webtraffic, allow_pickle=False) as file:
        x, y, names, group, boxes = (file[key] for key in ("x", "y", "names", "group", "boxes"))
    test = np.flatnonzero(group == "test")
    train = np.flatnonzero(group != "test")
    for model in make():
        model.fit(x[train].transpose(0, 3, 1, 2) if x.shape[1] == 1 and x.shape[3] == 1 else x[train], y[train], names=[str(one) for one in names])
        other = x[test].transpose(0, 3, 1, 2) if x.shape[1] == 1 and x.shape[3] == 1 else x[test]
        read = np.asarray(model.labels(other), bool)
        score = model.places(other)[:, 0]
        gains = []
        for at, sample in enumerate(test):
            places = np.zeros(x.shape[2], bool)
            for box in boxes[boxes[:, 0] == sample]:
                places[box[3]:box[4]] = True
            if y[sample].any() and places.any():
                gains.append(ndcg(places, score[at][:, int(np.argmax(y[sample]))]))
        yield model, {"accuracy": float((read == y[test]).all(1).mean()), "ndcg": mean(gains)}


BENCHMARKS = {**{f"unit-{name}": (run_unit_test, name) for name in UNIT_TESTS},
              **{f"xmil-{task}": (run_xmil, task) for task in ("four", "signed", "adjacent")},
              **{f"shifted-{delta}": (run_shifted_mean, delta) for delta in (1, 2, 3)},
              **{f"xai-{name}": (run_xai_tris, name) for name in SCENARIOS},
              "webtraffic": (run_webtraffic, None)}


def value_of(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seeds", default="1", help="for example 1 or 1-5")
    parser.add_argument("--build", default="build")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--webtraffic", metavar="FILE")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--out")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}; --list names them")
    given.names = given.names or [name for name in BENCHMARKS if name != "webtraffic" or given.webtraffic]
    if "webtraffic" in given.names and not given.webtraffic:
        parser.error("webtraffic needs --webtraffic FILE")
    return given


def main():
    given = arguments()
    if given.list:
        print("\n".join(BENCHMARKS))
        return
    first, _, last = given.seeds.partition("-")
    settings = {field: value_of(text) for field, _, text in (setting.partition("=") for setting in given.set)}
    print("| benchmark | method | seed | figures | verdict | s |\n| --- | --- | --- | --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as folder, Daemon(os.path.join(given.build, "motifd"), os.path.join(folder, "db"), "--data", folder,
                                                         "--threads-per-job", "1", "--job-nice", "0") as daemon:
        for name in given.names:
            run, what = BENCHMARKS[name]
            for seed in range(int(first), int(last or first) + 1):
                def make(seed=seed):
                    model = Model(daemon, seed, settings)
                    yield model
                    if given.peers:
                        from peers import PEERS  # only this option needs PyTorch
                        yield from (peer(seed, model.seconds) for peer in PEERS)
                for method, figures in run(what, make, seed, given):
                    label = method if isinstance(method, str) else method.name
                    text = ", ".join(f"{key} {value}" if isinstance(value, bool) else f"{key} {value:.3f}" for key, value in figures.items())
                    print(f"| {name} | {label} | {seed} | {text} | {getattr(method, 'verdict', '')} | {getattr(method, 'seconds', 0):.0f} |", flush=True)
                    if given.out:
                        with open(given.out, "a", newline="", encoding="utf-8") as out:
                            csv.writer(out).writerows([name, label, seed, key, value] for key, value in figures.items())


if __name__ == "__main__":
    main()
