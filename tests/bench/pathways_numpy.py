#!/usr/bin/env python3
"""Compares the Monte Carlo trials of activation pathways (design A) in NumPy with the program's own.

For each code, both programs draw the support (K positions) and compute its stripe sparsity. For each trial they draw signs for the K nonzeros x, compute
the signal A D x, multiply it by A^T, and check whether the K entries of the support are the largest. NumPy computes eight trials at a time with its FFT, over
all filters at once. Both programs use one thread. They run in turns, and each is reported with its shortest processor time.

usage: pathways_numpy.py MOTIFD [rounds]"""
import json
import os
import subprocess
import sys
import time

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
import numpy as np

DRAWS = 8


class Design:
    def __init__(self, row):
        self.m, self.n, self.M, self.K = (row[k] for k in ("filter_length", "filters", "length", "nonzeros"))
        self.random = np.random.default_rng(1)
        filters = self.random.standard_normal((self.n, self.m)) if self.m < 100 else self.random.choice([-1.0, 1.0], (self.n, self.m))
        filters /= np.linalg.norm(filters, axis=1, keepdims=True)
        self.spectrum = np.fft.rfft(filters, self.M)

    def code(self):
        """Draws signs eight times for one support and returns how many draws recover it."""
        support = self.random.choice(self.n * self.M, self.K, replace=False)
        self.stripe(support)
        x = np.zeros((DRAWS, self.n * self.M))
        x[:, support] = self.random.choice([-1.0, 1.0], (DRAWS, self.K))
        signal = (np.fft.rfft(x.reshape(DRAWS, self.n, self.M)) * self.spectrum).sum(axis=1)
        code = np.abs(np.fft.irfft(signal[:, None] * self.spectrum.conj(), self.M)).reshape(DRAWS, -1)
        least = code[:, support].min(axis=1)
        code[:, support] = 0
        return int((least > code.max(axis=1)).sum())

    def stripe(self, support):
        """Returns the largest number of non-zeros that overlap with one column."""
        count = np.bincount(support % self.M, minlength=self.M)
        total = np.concatenate(([0], np.cumsum(np.concatenate((count, count)))))
        window = min(2 * self.m - 1, self.M)
        return int((total[window:window + self.M] - total[:self.M]).max())

    def best(self, seconds):
        self.code()
        best, end = float("inf"), time.process_time() + seconds
        while time.process_time() < end:
            begun = time.process_time()
            self.code()
            best = min(best, time.process_time() - begun)
        return 1e3 * best / DRAWS


def main():
    motifd, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    own, numpy, rows = {}, {}, None
    for _ in range(rounds):
        output = subprocess.run([motifd, "bench", "pathways", "--threads", "1", "--seconds", "0.2", "--json"],
                                capture_output=True, check=True, text=True).stdout
        rows = json.loads(output)["monte_carlo"]
        for i, row in enumerate(rows):
            own[i] = min(own.get(i, float("inf")), row["ms_per_trial"])
            numpy[i] = min(numpy.get(i, float("inf")), Design(row).best(0.3))
    print("    m    n      M    K   motifd ms   NumPy ms   ratio")
    for i, row in enumerate(rows):
        print(f"{row['filter_length']:5d} {row['filters']:4d} {row['length']:6d} {row['nonzeros']:4d}  {own[i]:9.4f}  {numpy[i]:9.4f}"
              f"  {numpy[i] / own[i]:6.1f}")
    total = sum(numpy.values()) / sum(own.values())
    least = min(numpy[i] / own[i] for i in own)
    print(f"all five designs together: {total:.1f} times as fast; the least: {least:.1f}")
    return 0 if total >= 10 else 1


if __name__ == "__main__":
    sys.exit(main())
