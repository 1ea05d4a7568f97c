#!/usr/bin/env python3
"""Draws samples of each family with the true places as boxes: sheet.py FILE.png [--families NAME,...] [--samples 2] [--data FOLDER]

With --boxes FOLDER, it draws test samples instead, and the extents that run.py --boxes FOLDER has written: the true places thin, the
extents that the model found thick and dashed.

Needs matplotlib."""
import argparse
import json
import os
import sys
import textwrap

import matplotlib

import zoo
from base import Vary, generate

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.patches import Rectangle  # noqa: E402


def draw_letters(ax, family, part, i, places):
    """Writes a sequence in lines of 60 letters and colours the motifs."""
    text = [family.letters[k] for k in part.x[i, 0].argmax(axis=1)]
    colour_of = {p: "C%d" % (place[5] % 10) for place in places for p in range(place[3], place[4])}
    wide = 60
    lines = -(-len(text) // wide)
    for p, letter in enumerate(text):
        ax.text(p % wide, -(p // wide), letter, fontsize=5, family="monospace", ha="center", va="center", color=colour_of.get(p, "0.75"),
                weight="bold" if p in colour_of else "normal")
    ax.set_xlim(-1, wide)
    ax.set_ylim(-max(lines, 5), 1)


def draw_picture(ax, part, i, places):
    x = part.x[i]
    ax.imshow(np.clip(x, 0, 1) if x.shape[2] == 3 else x[:, :, 0], cmap="gray_r", interpolation="nearest", vmin=None if x.shape[2] == 1 else 0)
    for _, row0, row1, col0, col1, motif in places:
        ax.add_patch(Rectangle((col0 - 0.5, row0 - 0.5), col1 - col0, row1 - row0, fill=False, color="C%d" % (motif % 10), lw=1))


def draw_extents(ax, family, part, found):
    """Draws the extents that a model has found; in a sequence as lines below the values or letters."""
    for one in found:
        (row0, row1, col0, col1), colour = one["extent"], "C%d" % (one["motif"] % 10) if one["motif"] >= 0 else "k"
        if family.letters:
            for p in range(int(col0), int(col1)):
                ax.plot([p % 60 - 0.5, p % 60 + 0.5], [-(p // 60) - 0.4] * 2, color=colour, lw=1.5)
        elif part.x.shape[1] > 1:
            ax.add_patch(Rectangle((col0 - 0.5, row0 - 0.5), col1 - col0, row1 - row0, fill=False, color=colour, lw=1.8, ls=(0, (2, 1))))
        else:
            ax.plot([col0, col1], [ax.get_ylim()[0]] * 2, color=colour, lw=4)


def draw_signal(ax, values, places):
    ax.plot(values, lw=0.5, color="k")
    for _, _, _, col0, col1, motif in places:
        ax.axvspan(col0, col1, color="C%d" % (motif % 10), alpha=0.3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--families", default=",".join(zoo.halves()))
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--across", type=int, default=2, help="families beside each other")
    parser.add_argument("--distractors", type=int, default=0)
    parser.add_argument("--data", default="")
    parser.add_argument("--boxes", help="folder with the extents that run.py --boxes has written")
    parser.add_argument("--test", type=int, default=1000, help="samples of the test part of run.py --boxes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    names = options.families.split(",")
    rows, wide = -(-len(names) // options.across), options.samples * options.across
    figure, axes = plt.subplots(rows, wide, figsize=(4 * wide, 1.9 * rows), squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    for n, name in enumerate(names):
        row = axes[n % rows, n // rows * options.samples:][:options.samples]
        family = zoo.FAMILIES[name]
        family.folder = options.data
        count = options.test if options.boxes else options.samples  # the samples of a part depend on its size
        part = generate(family, count, options.seed, "test" if options.boxes else "train", Vary(distractors=options.distractors))
        found = []
        if options.boxes:
            with open(os.path.join(options.boxes, "%s-%d.json" % (name, options.seed)), encoding="utf-8") as file:
                found = json.load(file)
        for i, ax in enumerate(row):
            ax.set_axis_on()
            places = [place for place in part.places if place[0] == i]
            if part.extra.get("signals"):
                draw_signal(ax, part.extra["signals"][i], places)
            elif family.letters:
                draw_letters(ax, family, part, i, places)
            elif part.x.shape[1] > 1:
                draw_picture(ax, part, i, places)
            else:
                draw_signal(ax, part.x[i, 0, :, 0], places)
            draw_extents(ax, family, part, [one for one in found if one["sample"] == i])
            ax.set_xticks([])
            ax.set_yticks([])
            ax.set_title("\n".join(textwrap.wrap("%s: %s" % (name, ", ".join(part.labels[i]) or "(none)"), 70)), fontsize=7)
    figure.tight_layout()
    figure.savefig(options.file, dpi=80)


if __name__ == "__main__":
    sys.exit(main())
