#!/usr/bin/python3
"""Times a Persian rug of 2^20 features with NumPy and SciPy: W x = H (mask * (H x)) / n_d.

H is a Kronecker product, so the script computes H x as a few products with small Hadamard matrices. It tries all sizes of these
matrices, from 2 (butterflies) to 1024 (BLAS), on one thread. Prints a line for each size and the best; compare with `motifd bench rug --threads 1`.
Needs python3-numpy and python3-scipy.  Usage: rug_numpy.py [log2 n]"""
import os
import sys
import time

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"

import numpy
import scipy.linalg

LOG_N = int(sys.argv[1]) if len(sys.argv) > 1 else 20
N = 1 << LOG_N


def butterflies(x):
    """Transforms x in place, one level after another."""
    h = 1
    while h < len(x):
        pairs = x.reshape(-1, 2, h)
        low = pairs[:, 0, :] + pairs[:, 1, :]
        numpy.subtract(pairs[:, 0, :], pairs[:, 1, :], out=pairs[:, 1, :])
        pairs[:, 0, :] = low
        h *= 2
    return x


def kronecker(log_block):
    """Computes H x as products with H_block along each axis of x, which is reshaped to a cube."""
    logs = [log_block] * (LOG_N // log_block)
    if LOG_N % log_block:
        logs.append(LOG_N % log_block)
    blocks = [scipy.linalg.hadamard(1 << k).astype(numpy.float32) for k in logs]

    def transform(x):
        for block in blocks:  # each product moves its axis to the end, so all of them together restore the order
            x = (block @ x.reshape(len(block), -1)).T.reshape(-1)
        return x

    return transform


def main():
    rng = numpy.random.default_rng(1)
    x = (rng.random(N) * (rng.random(N) < 0.044)).astype(numpy.float32)
    n_d = N // 4
    mask = numpy.zeros(N, numpy.float32)
    mask[rng.choice(N, n_d, replace=False)] = 1 / n_d
    wanted = butterflies(mask * butterflies(x.copy()))
    ways = {"butterflies": lambda v: butterflies(v.copy())}
    ways.update({f"blocks of {1 << k}": kronecker(k) for k in (2, 3, 4, 5, 7, 10) if k <= LOG_N})
    best = None
    for name, transform in ways.items():
        took = []
        for _ in range(7):
            begun = time.process_time()
            y = transform(mask * transform(x))
            took.append(time.process_time() - begun)
        error = float(numpy.abs(y - wanted).max())
        assert error < 1e-4, (name, error)
        print(f"{name:>16}: {1e3 * min(took):8.2f} ms (median {1e3 * sorted(took)[3]:.2f})")
        best = min(took) if best is None else min(best, min(took))
    print(f"{'best':>16}: {1e3 * best:8.2f} ms")


if __name__ == "__main__":
    main()
