#!/usr/bin/env python3
"""The cost model of docs/lab/scaling.md: prints its tables and draws its picture.

    scaling_model.py [--dry-runs FILE] [--png FILE]

The model of one step of a preset on p ranks. Each rank is a machine like the measured one (two cores); the ranks share the batch b:

    compute     ceil(b / p) * c                   c: seconds per sample
    gradients   2 (p - 1) a + 2 (p - 1) / p n / B  n: bytes of the gradients; a, B: latency and bytes per second of the network
    small sums  r ceil(log2 p) a                  r: sums per step for statistics and the quantile, each a few hundred bytes
    step        compute + max(0, gradients - 2/3 compute) + small sums

The ranks exchange gradients during the backward pass, which is two thirds of the compute. c is the measured value in SECONDS if SECONDS has one,
otherwise the FLOPs per sample divided by the FLOPs per second, both from the dry run. --dry-runs: a JSON list of answers to POST /v1/jobs?dry_run=1, for presets that are not listed below."""
import argparse
import json
import math

# name: parameters, FLOPs per sample, batch, bytes of a checkpoint (all from POST /v1/jobs?dry_run=1), GFLOPS of two threads. The GFLOPS of sparling are
# those that digitcircle and digitcircle-paper reach (271 and 259); those of other kinds are the dry run's assumption.
SPARLING = 260
PRESETS = {
    "digitcircle-quick": (187900, 496216704, 8, 2320336, SPARLING), "digitcircle": (371734, 1323137280, 8, 4526344, SPARLING),
    "digitcircle-paper": (46030634, 40156956672, 10, 552433144, SPARLING), "latex-ocr": (370876, 1547949312, 8, 4516048, SPARLING),
    "latex-ocr-paper": (46949052, 427811782656, 8, 563454160, SPARLING), "audio-sequence": (204022, 71210880, 8, 2513800, SPARLING),
    "audio-sequence-paper": (44377318, 13092048384, 8, 532593352, SPARLING), "splicing": (51947, 182880000, 8, 951044, SPARLING),
    "splicing-paper": (967011, 86276160000, 32, 11931812, SPARLING), "fig3 (superposition)": (133632, 615587, 1024, 1669632, 180),
    "symmetry": (104704, 190967, 1024, 1397248, 180), "loss-curve": (1049600, 1017340, 256, 12669952, 180),
    "movielens": (397260, 179928000, 100, 4771472, 60), "abstracts": (136840, 36684000, 128, 1646432, 60), "cells (factors)": (145916, 39249600, 512, 1755344, 60),
    "tree-mlp": (5498, 30992, 1024, 801824, 20), "tree-linear": (498, 992, 1024, 16088, 4),
}
SECONDS = {"digitcircle": 1 / 205, "digitcircle-paper": 1 / 6.46}  # docs/lab/performance.md: two threads, idle machine, dense
SPARLING_SUMS, OTHER_SUMS = 26, 2
NETWORKS = {  # latency in seconds, bytes per second; nominal values, except those of shared memory, which allreduce.sh measured between two processes
    "shared memory": (0.4e-6, 8.5e9), "1 Gb/s": (50e-6, 0.117e9), "10 Gb/s": (20e-6, 1.17e9), "100 Gb/s, RDMA": (2e-6, 11.7e9)}
RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def seconds_a_sample(name, presets):
    return SECONDS.get(name, presets[name][1] / (presets[name][4] * 1e9))


def step(name, presets, ranks, network, batch=None):
    parameters, _, own, _, rate = presets[name]
    latency, rate_bytes = network
    batch = batch or own
    compute = math.ceil(batch / ranks) * seconds_a_sample(name, presets)
    if ranks == 1:
        return compute, 0.0
    gradients = 2 * (ranks - 1) * latency + 2 * (ranks - 1) / ranks * 4 * parameters / rate_bytes
    sums = (SPARLING_SUMS if rate == SPARLING else OTHER_SUMS) * math.ceil(math.log2(ranks)) * latency
    return compute, max(0.0, gradients - compute * 2 / 3) + sums


def speedup(name, presets, ranks, network, batch=None):
    alone = step(name, presets, 1, network, batch)[0]
    return alone / sum(step(name, presets, ranks, network, batch))


def best(name, presets, network):
    """Returns the largest number of ranks that has an efficiency of at least one half with the preset's batch."""
    good = [p for p in RANKS if p <= presets[name][2] and speedup(name, presets, p, network) >= p / 2]
    return max(good), speedup(name, presets, max(good), network)


def table(header, rows):
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-runs")
    parser.add_argument("--png")
    options = parser.parse_args()
    presets = dict(PRESETS)
    if options.dry_runs:
        with open(options.dry_runs) as file:
            for answer in json.load(file):
                rate = answer["prediction"]["gflops_per_thread"] * answer["prediction"]["threads"]
                presets.setdefault(answer["preset"], (answer["parameters"], answer["flops_per_sample"], answer["config"].get("batch") or 1,
                                                      answer["checkpoint_bytes"], rate))
    ethernet = [(name, network) for name, network in NETWORKS.items() if name != "shared memory"]
    print("The preset's own batch: the largest number of ranks with an efficiency of at least one half, and their speedup.\n")
    table(["preset", "batch", "gradients", "step on one"] + [name for name, _ in ethernet],
          [[name, str(presets[name][2]), f"{4 * presets[name][0] / 1e6:.3g} MB", f"{step(name, presets, 1, (0, 1))[0] * 1e3:.3g} ms"]
           + ["{}: {:.1f}x".format(*best(name, presets, network)) for _, network in ethernet] for name in presets])
    print("A batch that grows with the ranks (each rank has the preset's own batch, so the training differs from the preset's): efficiency.\n")
    table(["preset", "network"] + [str(p) for p in RANKS[3:]],
          [[name, label] + [f"{speedup(name, presets, p, network, p * presets[name][2]) / p:.2f}" for p in RANKS[3:]]
           for name in ("digitcircle", "digitcircle-paper", "audio-sequence-paper", "latex-ocr-paper", "movielens", "tree-mlp") for label, network in ethernet])
    if options.png:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plot
        figure, axes = plot.subplots(1, 3, figsize=(13, 4), sharey=True)
        for axis, name in zip(axes, ("digitcircle", "digitcircle-paper", "tree-mlp")):
            for (label, network), colour in zip(ethernet, ("#c44e52", "#4c72b0", "#55a868")):
                mine = [p for p in RANKS if p <= presets[name][2]]
                axis.plot(RANKS, [speedup(name, presets, p, network, p * presets[name][2]) for p in RANKS], "--", color=colour, label=f"{label}, batch grows")
                axis.plot(mine, [speedup(name, presets, p, network) for p in mine], "-o", color=colour, markersize=4, label=f"{label}, own batch")
            axis.plot(RANKS, RANKS, ":", color="grey", linewidth=1)
            axis.set(xscale="log", yscale="log", title=f"{name}: batch {presets[name][2]}", xlabel="ranks")
            axis.set_xticks(RANKS, [str(p) for p in RANKS], fontsize=8)
            axis.minorticks_off()
        axes[0].set_ylabel("samples a second, of one rank's")
        axes[0].legend(fontsize=7)
        figure.tight_layout()
        figure.savefig(options.png, dpi=90)


if __name__ == "__main__":
    main()
