#!/usr/bin/env python3
"""Writes canvases of 16 x 48 pixels with one to three handwritten digits of 8 x 8, their labels and boxes: the data of docs/how-to/own-data.md.

usage: make_canvas.py optdigits.tra OUT.npz [COUNT]

optdigits.tra is the training part of UCI's Optical Recognition of Handwritten Digits. Needs NumPy. The same arguments give the same arrays."""
import sys

import numpy as np

rng = np.random.default_rng(1)
rows = np.loadtxt(sys.argv[1], delimiter=",", dtype=int)
glyphs, classes = rows[:, :64].reshape(-1, 8, 8) / 16.0, rows[:, 64]
n = int(sys.argv[3]) if len(sys.argv) > 3 else 12000
x, y, boxes = np.zeros((n, 16, 48), "f4"), [], []
for i in range(n):
    count = rng.integers(1, 4)
    starts = np.sort(rng.choice(5, count, replace=False)) * 9 + rng.integers(0, 4, count)
    label = []
    for col in starts:
        which, row = rng.integers(len(glyphs)), rng.integers(0, 9)
        x[i, row:row + 8, col:col + 8] = glyphs[which]
        label.append(str(classes[which]))
        boxes.append([str(v) for v in (i, row, row + 8, col, col + 8, classes[which])])
    y.append(" ".join(label))
np.savez_compressed(sys.argv[2], x=(x * 255).astype("u1"), y=np.array(y), boxes=np.array(boxes))
