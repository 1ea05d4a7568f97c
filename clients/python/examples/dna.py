"""Learns from labelled DNA texts which bases decide the label. MOTIFD_SERVER is the address of the daemon."""
import numpy as np
from motifd import Motifs
rng = np.random.default_rng(1)
X, y = ["".join(rng.choice(list("ACGT"), 60)) for _ in range(600)], rng.integers(2, size=600)
X = [text[:30] + ("TGACGTCA" if bound else "CACGTGAA") + text[38:] for text, bound in zip(X, y)]
model = Motifs(total_samples=20000, config={"width": 8, "units": 1}).fit(X[:500], y[:500], names=["MYC", "CREB"])
print("maps", model.transform(X[500:]).shape, "score", model.score(X[500:], y[500:]))
