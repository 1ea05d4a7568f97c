"""Learns from a table with groups what changes between environments. MOTIFD_SERVER is the address of the daemon."""
import numpy as np
from motifd import Trees
rng = np.random.default_rng(1)
X, groups = rng.normal(size=(800, 5)), rng.choice(["blood/T", "blood/B", "skin/K", "skin/M"], 800)
y = X[:, 0] + np.where(groups == "skin/M", X[:, 1], 0)
model = Trees(n_components=2, updates=500).fit(X[:700], y[:700], groups[:700])
print("latent", model.transform(X[700:]).shape, "score", model.score(X[700:], y[700:], groups[700:]))
