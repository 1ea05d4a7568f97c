"""Decisions by posterior probability, for oracles that know the motifs, their rates and the noise.

For sequences, `line` draws from the posterior over all arrangements of motifs that do not overlap (forward filtering, backward
sampling). It answers with the label that has the smallest expected edit error. For pictures, `plane` takes one place after
another, each time the one with the largest posterior odds.
"""
import collections
import math

import numpy as np

from base import normal, together

DRAWS = 128


def edit_error(a, b):
    """Levenshtein distance of two labels, divided by the length of the longer one; 0 if both are empty."""
    if a == b:
        return 0.0
    row = list(range(len(b) + 1))
    for i, one in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (one != other))
    return row[-1] / max(len(a), len(b))


def forward(ratios, widths, log_rates, most):
    """Returns a[t][k][n]: log sum over the arrangements of k motifs in the first t positions. ratios: [kinds][n][length]."""
    count, length = ratios[0].shape
    a = np.full((length + 1, most + 1, count), -np.inf)
    a[0, 0] = 0
    with np.errstate(divide="ignore"):
        for t in range(1, length + 1):
            ways = [a[t - 1]]
            for ratio, width, rate in zip(ratios, widths, log_rates):
                if t >= width:
                    way = np.full((most + 1, count), -np.inf)
                    way[1:] = a[t - width, :-1] + ratio[:, t - width] + rate
                    ways.append(way)
            stacked = np.stack(ways)
            top = np.maximum(stacked.max(axis=0), -1e300)
            a[t] = top + np.log(np.exp(stacked - top).sum(axis=0))
    return a


def draws_of(sample, a, ratios, widths, log_rates, log_counts, draws, rng):
    """Draws arrangements of one sample from the posterior. Yields (log weight, [(start, kind)...] from left to right)."""
    length = ratios[0].shape[1]
    ends = a[length, :, sample] + log_counts
    chances = np.exp(ends - ends.max())
    numbers = np.minimum(np.searchsorted(np.cumsum(chances) / chances.sum(), rng.random(draws), "right"), len(chances) - 1)
    weights = np.full((len(log_counts), length + 1, len(ratios)), -np.inf)  # [k][end][kind]: log weight of arrangements of k motifs whose last one has this kind and ends here
    for s, (ratio, width, rate) in enumerate(zip(ratios, widths, log_rates)):
        weights[1:, width:, s] = a[:length + 1 - width, :-1, sample].T + ratio[sample, :length + 1 - width] + rate
    for k in numbers:
        found, end, score = [], length, log_counts[k]
        while k > 0:
            w = weights[k, :end + 1].ravel()
            shares = np.cumsum(np.exp(w - w.max()))
            at = min(int(np.searchsorted(shares, rng.random() * shares[-1], "right")), len(w) - 1)
            stop, kind = divmod(at, len(ratios))
            end = stop - widths[kind]
            found.append((end, kind))
            score += ratios[kind][sample, end] + log_rates[kind]
            k -= 1
        yield score, found[::-1]


def arrangements(length, width, most):
    """Returns for k = 0 .. most the log of the number of ways to place k motifs of this mean width without overlap."""
    out = []
    for k in range(most + 1):
        free = max(length - k * width, 0)
        out.append(math.lgamma(free + k + 1) - math.lgamma(k + 1) - math.lgamma(free + 1))
    return np.array(out)


def decide(drawn, label_of):
    """Returns the label with the smallest expected edit error (the safest), the likeliest label, and an arrangement of the likeliest label.

    drawn: a list of (log weight, arrangement, weight of the draw)."""
    tally, best = collections.Counter(), {}
    for score, found, weight in drawn:
        label = label_of(found)
        tally[label] += weight
        if label not in best or score > best[label][0]:
            best[label] = (score, found)
    likeliest = max(tally, key=lambda label: (tally[label], best[label][0]))
    risk = lambda label: sum(n * edit_error(label, other) for other, n in tally.items())  # noqa: E731
    safest = min(tally, key=lambda label: (risk(label), -tally[label], label))
    return list(safest), list(likeliest), best[likeliest][1]


def weights_of(names, rates, counts, extra, distinct):
    """Returns a function that gives each draw of `line` a weight, so that the weighted draws follow the true distribution.

    `line` draws the kinds of all motifs independently. In the true distribution, the numbers of names and of distractors are
    independent, and all names of a sample may have to differ."""
    total, own, table = together(counts, extra), float(np.sum(rates[:names])), {}
    for a, p in normal(counts).items():
        for b, q in normal(extra).items():
            drawn = total[a + b] * math.comb(a + b, a) * own ** a * max(0.0, 1 - own) ** b
            table[a, b] = p * q / drawn / (distinct_share(np.asarray(rates[:names]) / own, a) if distinct else 1)

    def weigh(found):
        known = [k for _, k in found if k < names]
        return 0.0 if distinct and len(set(known)) < len(known) else table.get((len(known), len(found) - len(known)), 0.0)
    return weigh


def line(ratios, widths, rates, names, counts, extra, label_of, distinct=False, draws=DRAWS):
    """Decides samples of one row.

    ratios: for each kind [n][length], the log-likelihood ratio of a motif that begins there
    rates: probability of each kind, those of the `names` first, then those of the distractors
    counts and extra: {number of names: share} and {number of distractors: share} in a sample
    label_of: function that returns the label, a tuple, of [(start, kind)...]
    distinct: whether no name occurs twice in a sample
    Yields (safest label, likeliest label, arrangement) for each sample.
    """
    for drawn in posterior(ratios, widths, rates, names, counts, extra, distinct, draws):
        yield decide(drawn, label_of)


def expected(ratios, widths, rates, names, counts, extra, value_of):
    """Yields for each sample of one row the expected value of value_of([(start, kind)...]), and the likeliest of the drawn arrangements.
    Arguments as for `line`."""
    for drawn in posterior(ratios, widths, rates, names, counts, extra):
        weights = np.array([weight for _, _, weight in drawn])
        values = np.array([value_of(found) for _, found, _ in drawn])
        yield float((weights * values).sum() / weights.sum()), max(drawn, key=lambda d: d[0])[1]


def posterior(ratios, widths, rates, names, counts, extra, distinct=False, draws=DRAWS):
    """Yields for each sample the arrangements that were drawn, as (log weight, arrangement, weight of the draw). Arguments as for `line`."""
    total = together(counts, extra)
    most, length = max(total), ratios[0].shape[1]
    ratios = [np.where(np.arange(length) + w > length, -np.inf, r) for r, w in zip(ratios, widths)]
    log_rates = np.log(np.asarray(rates, float))
    with np.errstate(divide="ignore"):
        log_counts = np.log([total.get(k, 0) for k in range(most + 1)]) - arrangements(length, float(np.dot(rates, widths)), most)
    weigh = weights_of(names, rates, counts, extra, distinct)
    a = forward(ratios, widths, log_rates, most)
    for sample in range(ratios[0].shape[0]):
        rng = np.random.default_rng([0, sample])
        drawn = [(score, found, weigh(found)) for score, found in
                 draws_of(sample, a, ratios, widths, log_rates, log_counts, draws, rng)]
        yield [d for d in drawn if d[2] > 0] or [(*drawn[0][:2], 1.0)]


def distinct_share(rates, count):
    """Returns the probability that `count` independent draws are all different: count! times an elementary symmetric polynomial."""
    e = np.zeros(count + 1)
    e[0] = 1
    for rate in rates:
        e[1:] = e[1:] + rate * e[:-1]
    return e[count] * math.factorial(count)


def plane(odds, sizes, distinct, least=0.0, most=64):
    """Takes places in a picture that do not overlap, the one with the largest posterior odds first, while the log odds exceed `least`.

    odds: for each kind [rows][cols], the log posterior odds of a motif whose first corner is there; sizes: (rows, cols) of each
    kind. Returns [(row, col, kind, log odds)...].
    """
    odds = [o.copy() for o in odds]
    taken = []
    while len(taken) < most:
        tops = [o.max() if o.size else -np.inf for o in odds]
        kind = int(np.argmax(tops))
        if not tops[kind] > least:
            break
        row, col = np.unravel_index(int(np.argmax(odds[kind])), odds[kind].shape)
        taken.append((int(row), int(col), kind, float(tops[kind])))
        height, width = sizes[kind]
        for o, (h, w) in zip(odds, sizes):
            o[max(0, row - h + 1):row + height, max(0, col - w + 1):col + width] = -np.inf
        if distinct:
            odds[kind][:] = -np.inf
    return taken
