"""Learns from pictures with a class which part of a picture decides the class. MOTIFD_SERVER is the address of the daemon."""
import numpy as np
from motifd import Motifs
rng = np.random.default_rng(1)
X, y = np.zeros((600, 24, 24), "f4"), rng.integers(2, size=600)
for picture, kind, (r, c) in zip(X, y, rng.integers(2, 17, (600, 2))):
    picture[r:r + 5, c:c + 5] = [[1, 0, 0, 0, 1], [0, 1, 0, 1, 0], [0, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1]] if kind else np.eye(5)
model = Motifs(total_samples=4000, config={"width": 8, "units": 1}).fit(X[:500], y[:500], names=["stroke", "cross"])
print("maps", model.transform(X[500:]).shape, "score", model.score(X[500:], y[500:]), model.boxes(X[500:501]))
