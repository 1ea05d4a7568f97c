#!/usr/bin/python3
"""Writes the check vectors of the dictionary learners: one training step of each, computed by plain NumPy in double precision.

    /usr/bin/python3 tests/reproduce/dictionary_steps.py > tests/fixtures/dictionary_steps.h

The formulas are written here for dense arrays and whole batches, independently of the C code: forward pass, loss, and the gradient of
each array by the chain rule. Each gradient is also compared here with central differences of the loss, where the loss is smooth."""
import sys
import textwrap

import numpy as np

D, M, B = 6, 12, 8
LEVELS = [4, 7, 12]
SPARSITY, BANDWIDTH, AUX_WEIGHT, AUX_LATENTS, K = 0.7, 0.9, 0.5, 2, 3


def draw(learner, seed):
    r = np.random.default_rng(seed)
    p = {"decoder": r.normal(size=(M, D)) * 0.5, "bias": r.normal(size=D) * 0.2, "x": r.normal(size=(B, D)) * 1.5}
    if learner != "matching-pursuit":
        p["encoder"] = r.normal(size=(M, D)) * 0.6
        p["encoder_bias"] = r.normal(size=M) * 0.1
    if learner == "jumprelu":
        p["threshold"] = np.where(np.arange(M) == 3, -0.2, 0.3 + 0.4 * r.random(M))
    dead = np.zeros(M, bool)
    if learner in ("topk", "batchtopk", "matryoshka"):
        dead[[1, 5, 10]] = True
    return {k: v.astype(np.float32).astype(float) for k, v in p.items()}, dead


def codes(learner, p):
    """Activations of a batch, and which of them are kept."""
    h = (p["x"] - p["bias"]) @ p["encoder"].T + p["encoder_bias"]
    if learner == "l1":
        keep = h > 0
    elif learner == "jumprelu":
        keep = h > np.maximum(p["threshold"], 0)
    elif learner == "topk":
        keep = (np.argsort(np.argsort(-h, 1), 1) < K) & (h > 0)
    else:
        flat = np.maximum(h, 0).ravel()
        keep = np.zeros(flat.size, bool)
        keep[np.argsort(-flat)[:int(K * B)]] = True
        keep = keep.reshape(h.shape) & (h > 0)
    return h, keep


def dead_codes(h, dead):
    """The pre-activations of each sample's largest dead latents."""
    masked = np.where(dead, h, -np.inf)
    return np.argsort(np.argsort(-masked, 1), 1) < min(AUX_LATENTS, dead.sum())


def linear_step(learner, p, dead):
    """Loss and gradients of the learners with an encoder. Choices (which latents) are constants."""
    h, keep = codes(learner, p)
    a, W, xc = h * keep, p["decoder"], p["x"] - p["bias"]
    ends = LEVELS if learner == "matryoshka" else [M]
    g = {k: np.zeros_like(v) for k, v in p.items() if k != "x"}
    da, loss = np.zeros_like(a), 0.0
    for end in ends:
        residual = a[:, :end] @ W[:end] + p["bias"] - p["x"]
        loss += (residual ** 2).sum() / B
        pull = 2 * residual / B
        da[:, :end] += pull @ W[:end].T
        g["decoder"][:end] += a[:, :end].T @ pull
        g["bias"] += pull.sum(0)
    norms = np.linalg.norm(W, axis=1)
    if learner == "l1":
        loss += SPARSITY * (a * norms).sum() / B
        da += SPARSITY * norms / B
        g["decoder"] += SPARSITY * a.mean(0)[:, None] * W / norms[:, None]
    if learner == "jumprelu":
        t = p["threshold"]
        loss += SPARSITY * keep.sum() / B
        near = (np.abs(h - t) < BANDWIDTH / 2) & (t > 0)
        g["threshold"] = -(near * (t * da + SPARSITY / B) / BANDWIDTH).sum(0)
    dh = da * keep
    if dead.any():
        chosen = dead_codes(h, dead)
        z = h * chosen
        weight = AUX_WEIGHT * min(dead.sum() / AUX_LATENTS, 1)
        error = p["x"] - (a @ W + p["bias"])
        left = z @ W - error
        loss += weight * (left ** 2).sum() / B
        pull = 2 * weight * left / B
        g["decoder"] += z.T @ pull
        dh = dh + (pull @ W.T) * chosen
    g["encoder"] = dh.T @ xc
    g["encoder_bias"] = dh.sum(0)
    g["bias"] -= dh.sum(0) @ p["encoder"]
    return loss, g, keep.sum() / B


def pursuit_step(p):
    W = p["decoder"]
    g = {"decoder": np.zeros_like(W), "bias": np.zeros(D)}
    loss, active = 0.0, 0
    for x in p["x"]:
        r, picks = x - p["bias"], []
        for _ in range(K):
            scores = W @ r
            j = int(np.argmax(scores))
            if scores[j] <= 0:
                break
            picks.append((j, scores[j], r))
            r = r - scores[j] * W[j]
        loss += r @ r / B
        active += len({j for j, _, _ in picks})
        back = 2 * r / B
        for j, v, before in reversed(picks):
            e = -back @ W[j]
            g["decoder"][j] += -v * back + e * before
            back = back + e * W[j]
        g["bias"] -= back
    return loss, g, active / B


def step(learner, p, dead):
    return pursuit_step(p) if learner == "matching-pursuit" else linear_step(learner, p, dead)


def check_differences(learner, p, dead, g):
    """The thresholds' gradient is a surrogate. The auxiliary loss holds the residual constant, so it is left out here."""
    if dead.any():
        dead = np.zeros(M, bool)
        g = step(learner, p, dead)[1]
    for name in g:
        if name == "threshold":
            continue
        for at in list(np.ndindex(p[name].shape))[::5]:
            losses = []
            for sign in (1, -1):
                q = {k: v.copy() for k, v in p.items()}
                q[name][at] += sign * 1e-6
                losses.append(step(learner, q, dead)[0])
            found = (losses[0] - losses[1]) / 2e-6
            assert abs(found - g[name][at]) < 1e-5 * (1 + abs(found)), (learner, name, at, found, g[name][at])


def written(values):
    """Numbers of a C initialiser, as many as fit into 110 columns."""
    texts = (f"{v:.9g}" for v in np.ravel(values))
    numbers = ", ".join(text if "e" in text or "." in text else text + "." for text in texts)
    return "{" + "\n      ".join(textwrap.wrap(numbers, 110)) + "}"


def main():
    print("/* Written by tests/reproduce/dictionary_steps.py: one step of each learner by NumPy. Do not edit. */")
    print("/* clang-format off */")
    print(f"enum {{ D = {D}, M = {M}, B = {B}, K = {K}, AUX_LATENTS = {AUX_LATENTS} }};")
    print(f"static const double SPARSITY = {SPARSITY}, BANDWIDTH = {BANDWIDTH}, AUX_WEIGHT = {AUX_WEIGHT};")
    print("struct check_step {\n    const char *name;\n    enum learner learner;\n    double x[B * D], encoder[M * D], encoder_bias[M], decoder[M * D];\n    "
          "double bias[D], threshold[M], dead[M];\n    double loss, l0;\n    double encoder_gradient[M * D], encoder_bias_gradient[M], "
          "decoder_gradient[M * D], bias_gradient[D],\n        threshold_gradient[M];\n};")
    print("static const struct check_step check_steps[] = {")
    for seed, learner in enumerate(["l1", "topk", "batchtopk", "jumprelu", "matryoshka", "matching-pursuit"]):
        p, dead = draw(learner, seed + 7)
        loss, g, l0 = step(learner, p, dead)
        check_differences(learner, p, dead, g)
        print(f'    {{"{learner}", LEARNER_{learner.upper().replace("-", "_")},')
        for name, shape in (("x", B * D), ("encoder", M * D), ("encoder_bias", M), ("decoder", M * D), ("bias", D), ("threshold", M)):
            print(f"     {written(p.get(name, np.zeros(shape)))},")
        print(f"     {written(dead.astype(float))},\n     {loss:.12g}, {l0:.12g},")
        for name, shape in (("encoder", M * D), ("encoder_bias", M), ("decoder", M * D), ("bias", D), ("threshold", M)):
            print(f"     {written(g.get(name, np.zeros(shape)))},")
        print("    },")
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    sys.exit(main())
