"""Learns the few factors behind the many columns of a table. MOTIFD_SERVER is the address of the daemon."""
import numpy as np
from motifd import SparseVAE
rng = np.random.default_rng(1)
z = rng.normal(size=(600, 2))
X = z @ [[1, 2, -1, 0, 0, 0], [0, 0, 0, 1, -2, 1]] + 0.1 * rng.normal(size=(600, 6))
model = SparseVAE(n_components=3, epochs=40).fit(X)
print("factors", model.transform(X).shape, "error", float(((model.reconstruct(X) - X) ** 2).mean()), "variance", float(X.var()))
