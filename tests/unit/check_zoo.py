#!/usr/bin/env python3
"""Tests the generators, the oracles and the scores of tests/reproduce/zoo. Skipped (77) without NumPy.

check_zoo.py            the tests
check_zoo.py --vectors  prints the check vectors of the generators"""
import hashlib
import io
import itertools
import math
import os
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

ZOO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reproduce", "zoo")
sys.path.insert(0, ZOO)
import base  # noqa: E402
import oracle  # noqa: E402
import score  # noqa: E402
import zoo  # noqa: E402

# For each family: the first digits of the SHA-256 of the labels and places of the first 20 training samples of seed 1, and a mean of
# their values. In this mean, the weight of a value rises from 0 to 1 over its sample.
VECTORS = {
    "dna-words": ("08c930f4da0043ba", 0.124999),
    "dna-effects": ("37fa9e8e5f6676b5", 0.124992),
    "koo12": ("24b72fb7e1af6efe", 0.125001),
    "dna-bound": ("98cbc047f5c56bb0", 0.125005),
    "proteins": ("2a24c47bb05693cb", 0.024992),
    "dna-strands": ("2add50c18e95c378", 0.124999),
    "dna-sixteen": ("1d7fa179f74fdc9d", 0.125003),
    "dna-count": ("bad0e8640284d782", 0.125014),
    "events": ("11776b4138d791ba", 0.020767),
    "shapes": ("b18383c0be6d4163", 0.081608),
    "sizes": ("c54ea0b643de4dd6", 0.084235),
    "colours": ("155a7751b4a839fa", 0.249447),
    "font": ("3e9b2317a73c85c1", 0.019730),
    "pairs": ("81ba81daef7549dd", 0.067065),
    "crowd": ("b49b90fe95a3aa81", 0.021074),
    "textures": ("de7a1b706d51e229", -0.009042),
    "spectra": ("c7562f9d253ed45f", 0.101497),
    "tones": ("234dfd53f40a39b5", -0.000329),
    "heartbeats": ("62ef0322067c3520", 0.029286),
    "routines": ("9703a1205287e2d7", 0.024929),
    "dna-tally": ("24e3f57bbcc60085", 0.125005),
    "turned": ("aaa7f5958b43f132", 0.078731),
    "dna-turned": ("d915f551956d2014", 0.125002),
    "weaves": ("eaeb853b78c42406", 0.006225),
}
OWN = [family for family in zoo.FAMILIES.values() if not family.needs_folder]


def vector_of(family):
    part = base.generate(family, 20, 1, "train")
    text = "\n".join(" ".join(label) for label in part.labels) + base.truth(family, part)
    return hashlib.sha256(text.encode()).hexdigest()[:16], float((part.x.reshape(20, -1) * np.linspace(0, 1, part.x[0].size)).mean())


def same_seed_gives_published_data():
    for family in OWN:
        digest, mean = vector_of(family)
        assert family.name in VECTORS, family.name
        assert digest == VECTORS[family.name][0], (family.name, digest)
        assert abs(mean - VECTORS[family.name][1]) < 1e-4, (family.name, mean)


def parts_and_seeds_differ():
    for family in OWN:
        first, seed, part = (base.generate(family, 20, *which) for which in ((1, "train"), (2, "train"), (1, "test")))
        assert not np.array_equal(first.x, seed.x) and not np.array_equal(first.x, part.x), family.name


def halves_cover_all_families():
    half = zoo.halves()
    assert set(half) == set(zoo.FAMILIES)
    assert set(half.values()) == {"report", "development"}
    assert list(half.values()).count("report") >= 10, "families for the report only"


def labels_follow_from_places():
    """Each label must agree with the true places, in order or as a set. Places must lie on the canvas and not overlap."""
    for family in OWN:
        part = base.generate(family, 60, 3, "train", base.Vary(distractors=2))
        for i, label in enumerate(part.labels):
            places = sorted((p for p in part.places if p[0] == i), key=lambda p: p[3])
            assert all(0 <= p[1] < p[2] <= part.x.shape[1] and 0 <= p[3] < p[4] <= part.x.shape[2] for p in places), family.name
            assert not any(a[1] < b[2] and b[1] < a[2] and a[3] < b[4] and b[3] < a[4] for a, b in itertools.combinations(places, 2)), family.name
            known = [p[5] for p in places if p[5] < len(family.motifs)]
            if family.places and family.target == "sequence":
                assert label == [family.names[k] for k in known], (family.name, label, known)
            elif family.places and family.target in ("set", "class"):
                assert label == [family.names[k] for k in sorted(set(known))], (family.name, label, known)
            elif family.target == "count":
                assert label == [str(len(known))], (family.name, label, known)


def variations_do_what_they_say():
    words, shapes = zoo.FAMILIES["dna-words"], zoo.FAMILIES["shapes"]
    tokens = [t for label in base.generate(words, 4000, 1, "train", base.Vary(frequencies=50)).labels for t in label]
    ratio = tokens.count(words.names[0]) / tokens.count(words.names[-1])
    assert 35 < ratio < 70, ratio
    right, wrong = (base.generate(shapes, 2000, 1, "train", base.Vary(wrong=w)).labels for w in (0, 0.05))
    assert 0.03 < np.mean([a != b for a, b in zip(right, wrong)]) < 0.07
    test, same = (base.generate(shapes, 200, 1, "test", base.Vary(wrong=w)).labels for w in (0, 0.05))
    assert test == same
    x = base.generate(zoo.FAMILIES["font"], 50, 1, "train").x
    for vary, low, high, kind in ((base.Vary(values="255"), 0, 255, np.uint8), (base.Vary(values="unit", background=0.3), 0.2, 1, np.float32)):
        scaled = base.scale_of(zoo.FAMILIES["font"], x, vary)(x)
        assert scaled.dtype == kind and low <= scaled.min() < scaled.max() == high, (scaled.min(), scaled.max())
    scaled = base.scale_of(shapes, x, base.Vary(values="standard", background=2))(x)
    assert abs(scaled.mean()) < 1e-3 and abs(scaled.std() - 1) < 1e-3
    distractors = base.generate(shapes, 300, 1, "train", base.Vary(distractors=2))
    assert {place[5] for place in distractors.places} == set(range(8)) and {t for label in distractors.labels for t in label} == set(shapes.names)


def uploads_contain_what_was_generated():
    family = zoo.FAMILIES["shapes"]
    part = base.generate(family, 30, 1, "train")
    content, kind = base.upload(family, part)
    arrays = np.load(io.BytesIO(content))
    assert kind == "application/x-npz" and np.array_equal(arrays["x"], part.x) and sorted(arrays) == ["x", "y"]
    assert [[family.names[k] for k in np.flatnonzero(row)] for row in arrays["y"]] == part.labels
    part = base.generate(zoo.FAMILIES["dna-words"], 3, 1, "train")
    lines = base.upload(zoo.FAMILIES["dna-words"], part)[0].decode().split("\n")
    assert lines[0].split()[1:] == part.labels[0] and "ACGT".index(lines[1][7]) == part.x[0, 0, 7].argmax()
    for place in part.places:  # at most 3 bases of a word differ, because 4 % of them are substituted
        word, found = zoo.FAMILIES["dna-words"].words[place[5]], lines[2 * place[0] + 1][place[3]:place[4]]
        assert sum(a != b for a, b in zip(word, found)) <= 3, (word, found)


def edit_error_is_normalised_levenshtein():
    for a, b, expected in (("", "", 0), ("abc", "", 1), ("abc", "abc", 0), ("abc", "ab", 1 / 3), ("kitten", "sitting", 3 / 7), ("ab", "ba", 1)):
        assert abs(oracle.edit_error(tuple(a), tuple(b)) - expected) < 1e-12, (a, b)


def confusion_counts_by_boxes():
    places = [(0, 0, 5, 0, 5, 0), (0, 10, 15, 10, 15, 1), (0, 20, 25, 20, 25, 2), (1, 0, 5, 0, 5, 1)]  # motif 2 is a distractor
    marks = [(0, 1, 1, 2, 1.0), (0, 2, 2, 0, 3.0),   # two in the first box: the stronger one counts
             (0, 22, 22, 1, 9.0),                    # on the distractor: neither right nor wrong
             (0, 30, 30, 1, 1.0), (1, 5, 0, 1, 1.0)]  # outside of all boxes, the last one just below a box
    counts = score.confusion(places, marks, 2, 3)
    assert counts.tolist() == [[1, 0, 0, 0], [0, 0, 0, 2], [0, 2, 0, 0]], counts.tolist()
    figures = score.motif_figures(counts)
    assert (figures["fpe"], figures["fne"], figures["ce"]) == (2 / 3, 2 / 3, 0), figures


def a_motif_without_a_channel_of_its_own_is_not_met():
    best = {"recall": [1.0, 1.0], "precision": [1.0, 1.0]}
    both = score.motif_figures(np.array([[50, 0, 0], [50, 0, 0], [0, 0, 0]]))  # one channel marks two motifs
    assert score.met(both, best) == [True, False] and abs(both["ce"] - 0.5) < 1e-12
    assert score.met(score.motif_figures(np.array([[0, 50, 0], [50, 0, 0], [0, 0, 0]])), best) == [True, True]
    assert score.met(score.motif_figures(np.array([[50, 0, 0], [0, 20, 30], [60, 0, 0]])), best) == [False, False]


def assignment_is_the_best_one():
    rng = np.random.default_rng(1)
    for rows, cols in ((3, 3), (2, 5), (5, 2), (4, 6), (1, 1)):
        table = rng.integers(0, 20, (rows, cols)).astype(float)
        found = score.assign(table)
        assert len({c for c in found if c >= 0}) == min(rows, cols) == sum(c >= 0 for c in found)
        wide = table if rows <= cols else table.T
        best = max(sum(wide[r, c] for r, c in enumerate(p)) for p in itertools.permutations(range(wide.shape[1]), wide.shape[0]))
        assert sum(table[r, c] for r, c in enumerate(found) if c >= 0) == best


def posterior(ratios, names, own, others, counts, extra, distinct):
    """Returns {kinds: probability}, summed over all arrangements of words of width 2 in the positions of `ratios`."""
    length, weight = ratios[0].shape[1], {}
    for a, b in itertools.product(counts, extra):
        places = [p for p in itertools.combinations(range(length - 1), a + b) if all(t >= s + 2 for s, t in zip(p, p[1:]))]
        choices = itertools.product(range(len(ratios)), repeat=a + b)
        choices = [c for c in choices if sum(k < names for k in c) == a and not (distinct and len({k for k in c if k < names}) < a)]
        prior = {c: math.prod(own[k] if k < names else others[k - names] for k in c) for c in choices}
        for p, c in itertools.product(places, choices):
            chance = counts[a] * extra[b] * prior[c] / sum(prior.values()) / len(places)
            weight[c] = weight.get(c, 0) + chance * math.exp(sum(ratios[k][0, s] for s, k in zip(p, c)))
    return {c: w / sum(weight.values()) for c, w in weight.items()}


def line_draws_from_the_posterior():
    """Compares the shares of drawn kinds with the sum over all arrangements, with and without distractors."""
    rng = np.random.default_rng(2)
    ratios, own, others = [rng.normal(0, 1.5, (1, 7)) for _ in range(3)], [0.3, 0.7], [1.0]
    for distinct, kinds, extra in ((False, 2, {0: 1}), (True, 2, {0: 1}), (False, 3, {0: 0.6, 1: 0.4}), (True, 3, {0: 0.6, 1: 0.4})):
        counts = {0: 0.2, 1: 0.5, 2: 0.3}
        expected = posterior(ratios[:kinds], 2, own, others, counts, extra, distinct)
        rates, tally = np.array(own + [0.4])[:kinds], {}
        original = oracle.decide
        oracle.decide = lambda drawn, label_of: [tally.__setitem__(label_of(f), tally.get(label_of(f), 0) + w) for _, f, w in drawn]
        list(oracle.line(ratios[:kinds], [2] * kinds, rates / rates.sum(), 2, counts, extra, lambda found: tuple(k for _, k in found), distinct,
                         draws=20000))
        oracle.decide = original
        for label in expected.keys() | tally.keys():
            share = tally.get(label, 0) / sum(tally.values())
            assert abs(share - expected.get(label, 0)) < 0.015, (distinct, kinds, label, share, expected.get(label, 0))


def decisions_minimise_the_expected_error():
    """Two labels with 30 % each share their first letter, so the safest answer is one of them. The likeliest label is the third one."""
    drawn = [(0, "xyz", 2)] * 2 + [(0, "ab", 1)] * 3 + [(0, "ac", 1)] * 3
    safest, likeliest, _ = oracle.decide(drawn, tuple)
    assert safest == ["a", "b"] and likeliest == ["x", "y", "z"], (safest, likeliest)


def oracles_reach_their_errors():
    """Each oracle makes less than half the errors that the labels of other samples would make. Most of its places lie in the true boxes."""
    for family in OWN:
        part = base.generate(family, 60, 5, "test")
        figures = score.oracle_figures(family, part, family.solve(part, base.Vary()))
        rolled = score.label_figures(part.labels[1:] + part.labels[:1], part.labels)
        assert figures["e2ee"] < 0.5 * rolled["e2ee"], (family.name, figures["e2ee"], rolled["e2ee"])
        if family.places:
            assert max(figures["fpe"], figures["fne"]) < 0.25 and figures["ce"] < 0.05, (family.name, figures)


def oracles_know_distractors():
    """An oracle that knows the distractors errs much less than one that does not."""
    for name in ("shapes", "font", "spectra"):
        family, vary = zoo.FAMILIES[name], base.Vary(distractors=2)
        part = base.generate(family, 60, 5, "test", vary)
        knows, does_not = (score.oracle_figures(family, part, family.solve(part, v)) for v in (vary, base.Vary()))
        assert knows["e2ee"] < 0.5 * does_not["e2ee"], (name, knows["e2ee"], does_not["e2ee"])


CHECKS = (same_seed_gives_published_data, parts_and_seeds_differ, halves_cover_all_families, labels_follow_from_places, variations_do_what_they_say,
          uploads_contain_what_was_generated, edit_error_is_normalised_levenshtein, confusion_counts_by_boxes,
          a_motif_without_a_channel_of_its_own_is_not_met, assignment_is_the_best_one, line_draws_from_the_posterior,
          decisions_minimise_the_expected_error, oracles_reach_their_errors, oracles_know_distractors)

if __name__ == "__main__":
    if sys.argv[1:] == ["--vectors"]:
        for family in OWN:
            print('    "%s": ("%s", %.6f),' % (family.name, *vector_of(family)))
        sys.exit()
    for check in CHECKS:
        check()
        print("ok", check.__name__, flush=True)
