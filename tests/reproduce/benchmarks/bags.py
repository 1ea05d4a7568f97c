"""Bags with known evidence: the unit tests for multiple-instance models (Raff and Holt, arXiv 2310.17867), a shifted mean in correlated bags (arXiv
2510.25759), and the toy settings of xMIL (arXiv 2406.04280). Arrays of bags are [n][features][1][items]."""
import numpy as np

FEATURES, NOISE, SLOTS = 16, 10, 53


def _draw(rng, mean, deviation, count):
    return rng.normal(mean, deviation, (count, FEATURES))


def _single(rng, positive, train):
    items, truth = [_draw(rng, 0, 1, NOISE)], [0] * NOISE
    for _ in range(rng.integers(1, 4) if positive else 0):
        items.append(_draw(rng, *((0, 3) if rng.random() < .5 else (1, 1)), 1))
        truth.append(1)
    if positive != train:
        items.append(_draw(rng, -10, .1, 1))
        truth.append(-1)
    return items, truth


def _two_concepts(rng, positive, train):
    noise = int(rng.integers(1, 10))
    items, truth = [_draw(rng, 0, 1, noise)], [0] * noise
    if positive:
        k = int(rng.integers(1, 4))
        items += [_draw(rng, 2, .1, k), _draw(rng, 3, .1, k)]
        truth += [1] * k + [2] * k
    else:
        which = int(rng.integers(2))
        items.append(_draw(rng, 2 + which, .1, 1))
        truth.append(1 + which)
    if positive != train:
        items.append(_draw(rng, -10, .1, 1))
        truth.append(-1)
    return items, truth


def _frequency(rng, positive, train):
    noise, a = int(rng.integers(1, 10)), 1 if positive or train else int(rng.integers(35, 45))
    items, truth = [_draw(rng, 0, 1, noise), _draw(rng, 2, .1, a)], [0] * noise + [1] * a
    if positive:
        items.append(_draw(rng, 3, .1, 1))
        truth.append(2)
    return items, truth


UNIT_TESTS = {"single": _single, "two-concepts": _two_concepts, "frequency": _frequency}


def unit_test(name, count, train, seed):
    """Returns bags, labels and truth: 1 or 2 an item of a concept, 0 noise, -1 poison. Every bag is filled with noise to SLOTS items, because its size would
    tell the label; the items of a bag are shuffled."""
    rng = np.random.default_rng((seed, train, sorted(UNIT_TESTS).index(name)))
    x, y, truth = np.empty((count, FEATURES, 1, SLOTS), np.float32), rng.permutation(np.arange(count) % 2 == 0), np.zeros((count, SLOTS), int)
    for at in range(count):
        items, kind = UNIT_TESTS[name](rng, bool(y[at]), train)
        items = np.concatenate([*items, _draw(rng, 0, 1, SLOTS - len(kind))])
        order = rng.permutation(SLOTS)
        x[at, :, 0], truth[at] = items[order].T, np.append(kind, np.zeros(SLOTS - len(kind), int))[order]
    return x, y, truth


def shifted_mean(count, delta, seed, features=768):
    """Three neighbours of a positive bag have a first feature that is larger by delta. Bags have 15 to 45 items; others are filled with NaN, which
    the caller removes. Returns bags as lists of [items][features], labels, and the truth of each bag."""
    rng = np.random.default_rng((seed, 3))
    bags, y, truth = [], rng.random(count) < .5, []
    for at in range(count):
        size = int(rng.integers(15, 46))
        bag, places = rng.normal(size=(size, features)).astype(np.float32), np.zeros(size, bool)
        if y[at]:
            first = int(rng.integers(size - 2))
            bag[first:first + 3, 0] += delta
            places[first:first + 3] = True
        bags.append(bag)
        truth.append(places)
    return bags, y, truth


def shifted_mean_oracle(bags, delta):
    """The Bayes decision: the probability of each bag and the weight of each item."""
    probability, weights = [], []
    for bag in bags:
        x = bag[:, 0].astype(float)
        window = np.exp(delta * np.convolve(x, np.ones(3), "valid") - 1.5 * delta ** 2)
        mean = window.mean()
        probability.append(mean / (1 + mean))
        weights.append(np.convolve(window, np.ones(3)))
    return np.array(probability), weights


def xmil(task, count, seed, noise=.1):
    """Bags of 30 digits as one-hot features with noise. Returns bags, labels and evidence [n][classes][30] of 1, 0 or -1 for each class."""
    rng = np.random.default_rng((seed, count, ("four", "signed", "adjacent").index(task)))
    x, y, evidence = np.empty((count, 10, 1, 30), np.float32), np.empty(count, int), np.zeros((count, 4 if task == "four" else 2, 30), int)
    for at in range(count):
        pool = np.flatnonzero(rng.random(10) < .5)
        while len(pool) == 0:
            pool = np.flatnonzero(rng.random(10) < .5)
        digit = rng.choice(pool, 30)
        has = np.isin(np.arange(10), digit)
        x[at, :, 0] = np.eye(10)[digit].T + rng.normal(0, noise, (10, 30))
        if task == "four":
            y[at] = has[8] + 2 * has[9]
            for c, (eight, nine) in enumerate(((-1, -1), (1, -1), (-1, 1), (1, 1))):
                evidence[at, c] = np.where(digit == 8, eight, np.where(digit == 9, nine, 0))
        else:
            if task == "signed":
                one = np.isin(digit, (4, 6, 8)) * 1 - np.isin(digit, (5, 7, 9))
                y[at] = one.sum() > 0
            else:
                pair = [d for d in range(5) if has[d] and ((d < 4 and has[d + 1]) or (d > 0 and has[d - 1]))]
                one = np.isin(digit, pair) * 1
                y[at] = len(pair) > 0
            evidence[at] = -one, one
    return x, y, evidence
