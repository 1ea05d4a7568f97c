#!/usr/bin/env python3
"""Compares the loss curves of 2 and 4 ranks with that of one rank over 200 updates, for every method. Prints a table of the largest relative differences.

Each row has two comparisons. "By stretches": every stretch starts from the state that one rank has saved (10 updates for SPARLING, 20 for other
methods, which is how often they report a loss). "Left alone": the ranks run from the first update to the last.

usage: rank_curves.py RANKS [--alone] [NAME ...]     RANKS: build/tests/reproduce/ranks, or ranks_double for the whole core in double;
--alone: no stretches; NAME: only rows whose name begins with it. Needs mpirun."""
import os
import subprocess
import sys

TINY = ("image_size=48 classes=4 min_symbols=1 max_symbols=2 shift=1 min_radius=6 width=8 units=1 motifs=4 channels=16 layers=1 heads=2 "
        "feed_forward=32 batch=7 validation_samples=20 validation_every=3500 checkpoint_every=7000 total_samples=100000 learning_rate=1e-3 ")
TREE = "depth=3 samples=30 updates=300 factors=3 latent=3 inputs=5 batch=65 "
ROWS = [("SPARLING, dropout, density 0.4", "sparling", 10, TINY + "dropout=0.1 density_start=0.4"),
        ("SPARLING, density 0.01, clipped", "sparling", 10, TINY + "dropout=0.1 density_start=0.01 clip_norm=0.5"),
        ("SPARLING, sparse backward, held", "sparling", 10, TINY + "dropout=0.1 density_start=0.01 hold_below=1 backward=sparse"),
        ("superposition, autoencoder", "superposition", 20, "n_s=40 batch=41 total_samples=100000 stop=never"),
        ("factors, Sparse VAE", "factors", 20, "rows=150 epochs=200 batch=37"),
        ("factors, pseudo-inputs", "factors", 20, "model=vsc rows=150 epochs=200 batch=40"),
        ("environments, linear", "environments", 20, TREE),
        ("environments, MLP", "environments", 20, TREE + "encoder=mlp psi=tanh hidden=16"),
        ("pathways, curves", "pathways", 0, "filters=2 filter_length=64 length=256 nonzeros=1,2,4 trials=60 draws=5")]
ALONE, NAMES = "--alone" in sys.argv[2:], tuple(name for name in sys.argv[2:] if name != "--alone")
os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OPENBLAS_NUM_THREADS": "1"})


def run(ranks, kind, settings, *more):
    words = [word for setting in settings.split() for word in ("--set", setting)]
    done = subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-np", str(ranks), sys.argv[1],
                           "--kind", kind, "--updates", "200", *words, *more], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def curve(lines):
    return [float(line.split()[1]) for line in lines if len(line.split()) == 2 and line[0].isdigit()]


def row(name, kind, stretch, settings):
    cells = []
    one = curve(run(1, kind, settings))
    for ranks in 2, 4:
        apart = "the same bits"
        if stretch and not ALONE:
            apart = run(ranks, kind, settings, "--stretch", str(stretch))[-1].split()[-1]
        other = curve(run(ranks, kind, settings))
        assert len(other) == len(one) > 0, name
        alone = max(abs(a - b) / abs(a) for a, b in zip(one, other))
        assert stretch or alone == 0, name
        cells += [apart, f"{alone:.1e}" if stretch else apart]
    print("| " + " | ".join([name] + ([] if ALONE else [cells[0], cells[2]]) + [cells[1], cells[3]]) + " |", flush=True)


heads = ["", *([] if ALONE else ["2 ranks, by stretches", "4 ranks"]), "2 ranks, left alone", "4 ranks"]
print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
for wanted in ROWS:
    if not NAMES or wanted[0].startswith(NAMES):
        row(*wanted)
