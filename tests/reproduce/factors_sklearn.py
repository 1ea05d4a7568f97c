#!/usr/bin/env python3
"""Compares our boosted trees, logistic regression and factorisation with scikit-learn's on the same data.

    factors_sklearn.py build/tests/reproduce/factors_probe

Importances must agree within 0.02, objectives within 1 %. Needs python3-sklearn."""
import subprocess
import sys

import numpy as np
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

PROBE = sys.argv[1]
failed = 0


def ours(x, y, *words):
    rows = [" ".join("%.9g" % v for v in row) + " %.17g" % t for row, t in zip(x, y)]
    text = "%d %d\n" % x.shape + "\n".join(rows)
    done = subprocess.run([PROBE, *map(str, words)], input=text, capture_output=True, text=True, check=True)
    return np.array([float(v) for v in done.stdout.split()])


def report(name, worst, limit):
    global failed
    failed += worst > limit
    print("%s %s: largest difference %.4g (limit %g)" % ("ok" if worst <= limit else "FAILED", name, worst, limit))


rng = np.random.RandomState(7)
worst = 0
for rows in (16, 100, 500):
    x = rng.randn(rows, 5).astype(np.float32)
    y = 2 * x[:, 0] + np.sin(3 * x[:, 1]) + x[:, 2] * x[:, 3] + 0.3 * rng.randn(rows)
    theirs = GradientBoostingRegressor(random_state=0).fit(x, y).feature_importances_
    worst = max(worst, np.abs(ours(x, y, "boosting")[:-1] - theirs).max())
report("importances of boosted trees", worst, 0.02)

worst = 0
for classes in (3, 7):
    y = rng.randint(0, classes, 400)
    x = (rng.randn(400, 6) + 2 * np.eye(classes, 6)[y]).astype(np.float32)
    fit = LogisticRegression(max_iter=2000, tol=1e-8).fit(x, y)
    log = np.log(fit.predict_proba(x))[np.arange(400), y].sum()
    objective = -log + 0.5 * (fit.coef_**2).sum()
    worst = max(worst, abs(ours(x, y, "logistic")[0] / objective - 1))
report("objective of logistic regression", worst, 0.01)

worst = 0
for penalty in (0.0, 1.0):
    x = (rng.rand(120, 4) @ rng.rand(4, 30) + 0.2 * rng.rand(120, 30)).astype(np.float32)
    # scikit-learn 1.2 multiplies alpha_W by the features and alpha_H by the samples
    model = NMF(4, init="nndsvd", solver="cd", tol=1e-4, max_iter=200, l1_ratio=0, alpha_W=penalty / 30, alpha_H=penalty / 120)
    a = model.fit_transform(x)
    h = model.components_
    objective = 0.5 * ((x - a @ h) ** 2).sum() + 0.5 * penalty * ((a**2).sum() + (h**2).sum())
    worst = max(worst, abs(ours(x, np.zeros(120), "nmf", 4, penalty)[0] / objective - 1))
report("objective of the factorisation", worst, 0.01)

worst = 0
for topics in (4, 10):
    beta, theta = rng.dirichlet(np.full(60, 0.1), topics), rng.dirichlet(np.full(topics, 0.3), 400)
    x = np.array([rng.multinomial(60, p / p.sum()) for p in theta @ beta]).astype(np.float32)
    log_perplexity = []
    for seed in range(3):
        model = LatentDirichletAllocation(topics, max_iter=10, random_state=seed).fit(x)
        log_perplexity.append(np.log(model.perplexity(x)))
    mine = -ours(x, np.zeros(400), "lda", topics)[0] / x.sum()
    worst = max(worst, abs(mine / np.mean(log_perplexity) - 1))
report("log perplexity of topics", worst, 0.01)
sys.exit(failed > 0)
