#!/usr/bin/env python3
"""Runs the tutorial docs/tutorials/activations.md and prints its numbers: activations.py URL. Needs NumPy and scikit-learn."""
import pathlib
import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"))
import motifd  # noqa: E402

digits = load_digits()
model = MLPClassifier((128,), random_state=1, max_iter=60).fit(digits.data / 16, digits.target)
rng = np.random.default_rng(1)
pick = rng.integers(0, 1797, 20000)
pixels = np.clip(digits.data[pick] / 16 + rng.normal(0, 0.1, (20000, 64)), 0, 1)
hidden = np.maximum(pixels @ model.coefs_[0] + model.intercepts_[0], 0).astype(np.float32)

sae = motifd.Dictionary(sys.argv[1], n_components=48, l0=6, seeds=3, batch=1024, total_samples=3_000_000, config={"learning_rate": 1e-3, "dead_after": 100})
sae.fit(hidden, groups=[f"digit {d}" for d in digits.target[pick]])
print({name: round(sae.result_[name], 3) for name in ("explained_variance", "l0", "dead", "pw_mcc", "recurring", "worth")}, sae.verdict_)


def strongest(number):
    groups = [row["group"] for row in sae.latent(number)["strongest"]]
    top = max(set(groups), key=groups.count) if groups else ""
    return top, groups.count(top), len(groups)


worth, latents = sae.worth_, sae.latents_
for number in worth:
    print(number, f"active in {latents[number]['rate']:.3f}", "%s: %d of %d strongest rows" % strongest(number))
shares = {latent["latent"]: strongest(latent["latent"]) for latent in latents if latent["strongest"]}
for name, own in (("worth", True), ("not worth", False)):
    print(f"{name}: mean share of one digit", round(float(np.mean([count / all for at, (_, count, all) in shares.items() if (at in worth) == own])), 3))


def says(activations):
    return (np.maximum(activations, 0) @ model.coefs_[1] + model.intercepts_[1]).argmax(1)


for number in worth:
    digit = int(strongest(number)[0].split()[1])
    moved = sae.steer(hidden[:200], {number: 8.0})
    print(f"latent {number} at 8: {(says(hidden[:200]) == digit).sum()} rows read as {digit} before, {(says(moved) == digit).sum()} after")
