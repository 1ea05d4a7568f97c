#!/usr/bin/env python3
"""Trains on sequences with planted sites and no positions, and compares the sites that the model finds with the planted ones.

    tests/reproduce/planted_sites.py --jaspar JASPAR2022_CORE_vertebrates_nr.meme [--tasks SPI1,REST] [--seeds 1-3] [--build build] [--set FIELD=VALUE]...

The six tasks follow the simulations of ARGMINN (arXiv:2410.06211): sequences of 500 bases, half of them with one site of each motif of the task
within 50 bases of the middle, on either strand. A sequence without sites is drawn again until no window reaches .9 of the largest score of a
motif. The label is "bound" or empty. Ours have uniform bases, 16,000 training sequences, and no rule for the distance of two motifs; the paper
does not state these three. The model trains with the preset `dataset`; the script counts its sites in 1,000 new sequences of the class "bound":
right if they overlap a planted site by at least half of the shorter of the two. For comparison, it scans the same sequences with the true matrices
at p < 1e-4, as FIMO does by default. Precision and recall of ARGMINN and of FIMO with TF-MoDISco's motifs are the published ones. Needs NumPy.
"""
import argparse
import collections
import os
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "harness"), os.path.join(HERE, "zoo")]
from daemon import Daemon  # noqa: E402
from run import ENDED, asked, pair_of, seeds_of  # noqa: E402
from sites import match, read_meme  # noqa: E402

LENGTH, AROUND, TRAIN, TEST = 500, 50, 16000, 1000
TASKS = {  # motifs (version of JASPAR 2022), and the published precision and recall
    "SPI1": (("MA0080.6",), (.95, .82)),
    "TAL-GATA": (("MA0140.2",), (.94, .70)),
    "E2F6": (("MA0471.2",), (.95, .82)),
    "JUND-TEAD": (("MA0491.2", "MA0090.3"), (1.0, .59)),
    "REST": (("MA0138.2",), (.97, .76)),
    "SPI1-CTCF": (("MA0080.6", "MA0139.1"), (.91, .84)),
}


def odds_of(matrix):
    return np.log2((matrix * 100 + .25) / 101 / .25)


def windows(codes, width):
    return np.lib.stride_tricks.sliding_window_view(codes, width, axis=-1)


def scores(codes, odds):
    """Returns the larger score of both strands at each position: codes [n][length] to [n][length - width + 1]."""
    at = windows(codes, len(odds))
    return np.max([table[np.arange(len(odds)), at].sum(axis=-1) for table in (odds, odds[::-1, ::-1])], axis=0)


def threshold(odds, p):
    """The score that a window of uniform bases reaches with probability p on one strand, by the distribution of rounded scores."""
    step = 0.01
    whole = np.round(odds / step).astype(int)
    low = whole.min(axis=1)
    chance = np.ones(1)
    for row, least in zip(whole, low):
        wider = np.zeros(len(chance) + row.max() - least)
        for value in row - least:
            wider[value:value + len(chance)] += chance / 4
        chance = wider
    tail = np.cumsum(chance[::-1])[::-1]
    return (np.argmax(tail <= p) + low.sum()) * step


def plant(codes, matrices, rng):
    """Plants a site of each matrix in each sequence, and returns the sites: [(start, end)] of each sequence."""
    planted = []
    for row in codes:
        taken = []
        for matrix in matrices:
            width = len(matrix)
            while True:
                start = int(rng.integers(LENGTH // 2 - AROUND, LENGTH // 2 + AROUND - width + 1))
                if all(start + width <= a or start >= b for a, b in taken):
                    break
            word = (matrix.cumsum(axis=1) > rng.random((width, 1))).argmax(axis=1)
            row[start:start + width] = word if rng.random() < .5 else 3 - word[::-1]
            taken.append((start, start + width))
        planted.append(taken)
    return planted


def without(count, odds, rng):
    """Returns sequences in which no window reaches .9 of the largest score of a matrix."""
    kept = np.empty((0, LENGTH), int)
    while len(kept) < count:
        codes = rng.integers(0, 4, (count, LENGTH))
        good = np.all([scores(codes, table).max(axis=1) < .9 * table.max(axis=1).sum() for table in odds], axis=0)
        kept = np.concatenate([kept, codes[good]])
    return kept[:count]


def fasta(codes, heads):
    letters = np.array(list("ACGT"))
    return "".join(f">{head}\n{''.join(row)}\n" for head, row in zip(heads, letters[codes])).encode()


def found_by_scan(codes, odds):
    """Returns the sites of a scan at p < 1e-4 on each strand: [[(start, end)]]; of overlapping ones of a matrix, the best."""
    out = [[] for _ in codes]
    for table in odds:
        width, least = len(table), threshold(table, 1e-4)
        for n, values in enumerate(scores(codes, table)):
            own = []
            for start in sorted(np.flatnonzero(values >= least), key=lambda place: -values[place]):
                if all(start >= b or start + width <= a for a, b in own):
                    own.append((int(start), int(start) + width))
            out[n] += own
    return out


def rates(found, planted):
    right = sum(len(match(f, p)) for f, p in zip(found, planted))
    return right / max(1, sum(map(len, found))), right / sum(map(len, planted))


def train(task, every, seed, options):
    matrices = [every[name] for name in TASKS[task][0]]
    odds = [odds_of(matrix) for matrix in matrices]
    rng = np.random.default_rng((seed, list(TASKS).index(task)))
    bound = rng.integers(0, 4, (TRAIN // 2, LENGTH))
    plant(bound, matrices, rng)
    codes = np.concatenate([bound, without(TRAIN // 2, odds, rng)])
    heads = [f"s{n}{' bound' if n < TRAIN // 2 else ''}" for n in range(TRAIN)]
    order = rng.permutation(TRAIN)
    test = rng.integers(0, 4, (TEST, LENGTH))
    planted = plant(test, matrices, rng)
    with tempfile.TemporaryDirectory(prefix="planted-") as folder, open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
        with Daemon(os.path.join(options.build, "motifd"), os.path.join(folder, "p.db"), "--data", os.path.join(folder, "data"), log=log) as daemon:
            asked(daemon.ask("PUT", "/v1/datasets/planted", fasta(codes[order], [heads[n] for n in order]), "text/x-fasta"))
            body = {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": "planted", "seed": seed, **dict(options.set)}}
            job = asked(daemon.ask("POST", "/v1/jobs", body))
            while job["state"] not in ENDED:
                time.sleep(0.5)
                job = asked(daemon.ask("GET", "/v1/jobs/" + job["id"]))
            assert job["state"] == "succeeded", job
            bed = asked(daemon.ask("POST", f"/v1/jobs/{job['id']}/sites", fasta(test, [f"t{n}" for n in range(TEST)]), "text/x-fasta", {"Accept": "text/x-bed"}))
    sites = collections.defaultdict(list)
    for line in bed.decode().splitlines():
        words = line.split("\t")
        sites[int(words[0][1:])].append((int(words[1]), int(words[2])))
    result = job["result"]
    found = rates([sites[n] for n in range(TEST)], planted)
    return found, rates(found_by_scan(test, odds), planted), 1 - result["e2ee"], result["verdict"], result["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jaspar", required=True, help="matrices of JASPAR in MEME's format")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--seeds", type=seeds_of, default=[1, 2, 3])
    parser.add_argument("--build", default="build", help="folder with motifd")
    parser.add_argument("--set", action="append", default=[], type=pair_of, metavar="FIELD=VALUE")
    options = parser.parse_args()
    every = read_meme(options.jaspar, 1)
    print("| task | seed | precision, recall | published: ARGMINN | scan with the true matrices | accuracy | verdict | s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for task in options.tasks.split(","):
        for seed in options.seeds:
            own, scan, accuracy, verdict, seconds = train(task, every, seed, options)
            print(f"| {task} | {seed} | {own[0]:.2f}, {own[1]:.2f} | {TASKS[task][1][0]:.2f}, {TASKS[task][1][1]:.2f} "
                  f"| {scan[0]:.2f}, {scan[1]:.2f} | {100 * accuracy:.1f} % | `{verdict}` | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
