#!/usr/bin/env python3
"""Tests several channels for one name (channels_per_name): a name that needs two motifs and a name that a motif prevents get a channel for each of them, the
query name-rules states the rule, and motifs say whether they are evidence for the name or against it.

usage: wire_parts.py MOTIFD"""
import os
import sys
import tempfile

import numpy as np

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), *folder) for folder in (("..", "harness"), ("..", "..", "clients", "python"))]
from daemon import Daemon, run_each  # noqa: E402
from motifd import Motifs  # noqa: E402

ITEMS, KINDS = 10, 4
SMALL = {"channels_per_name": 3, "presence_samples": 30000, "total_samples": 44000, "reading_samples": 3000, "validation_samples": 150, "test_samples": 200,
         "width": 16, "channels": 32, "feed_forward": 32, "threads": 1}


def bags(count, seed):
    """The name "both" needs the items 0 and 1; the name "free" needs the item 2 and is prevented by the item 3. place: [n][kinds][items]."""
    rng = np.random.default_rng(seed)
    x, place = rng.normal(size=(count, KINDS, 1, ITEMS)).astype(np.float32), np.zeros((count, KINDS, ITEMS), bool)
    for at in range(count):
        for kind, item in enumerate(rng.choice(ITEMS, KINDS, replace=False)):
            place[at, kind, item] = rng.random() < .6
    has = place.any(2)
    names = [{name for name, holds in (("both", one[0] and one[1]), ("free", one[2] and not one[3])) if holds} for one in has]
    return x + 6 * place[:, :, None, :], names, place


def names_get_the_channels_that_they_need(daemon):
    x, y, _ = bags(1500, 1)
    other, labels, place = bags(60, 2)
    model = Motifs(daemon.url, config=SMALL, progress=False).fit(x, y, bags=True)
    at = f"/v1/jobs/{model.job_.id}"
    rules = {one["name"]: one for one in daemon.ask("GET", at + "/name-rules?samples=200")[2]["names"]}
    both, free = rules["both"], rules["free"]
    assert both["text"] == "all of (both (1), both (2))" and both["as_good"], both
    assert free["text"] == "free and not (against free)" and free["as_good"], free
    assert min(both["test"]["rule"], free["test"]["rule"]) >= .9, rules
    assert [part["channel"] % 2 for part in both["rule"]["some"]] == [0, 0], both  # the channels of name k are k, k + names, ...
    against = free["rule"]["none"][0]["channel"]
    answers = daemon.ask("POST", at + "/motifs", {"inputs": [{"array": one.tolist()} for one in other]})[2]["answers"]
    for motif in (motif for answer in answers for motif in answer["motifs"]):
        assert motif["sign"] == (-1 if motif["channel"] == against else 1), motif
        assert motif["q"] is not None, motif  # the bound of false marks holds for evidence against a name, too
    marked = np.zeros((len(other), ITEMS), bool)
    for one, answer in zip(marked, answers):
        for motif in answer["motifs"]:
            one[motif["position"][1]] |= motif["channel"] == against
    assert (marked & place[:, 3]).sum() >= .9 * marked.sum() > 0 and marked.sum() >= .8 * place[:, 3].sum(), (marked.sum(), place[:, 3].sum())
    assert np.mean([set(a) == set(b) for a, b in zip(model.predict(other), labels)]) >= .85
    silent = [one for one in model.result_["channels"] if one["name"] is None]
    assert silent and all(one["active"] == 0 for one in silent), silent


def main():
    with tempfile.TemporaryDirectory() as folder, Daemon(sys.argv[1], os.path.join(folder, "db"), "--data", folder) as daemon:
        run_each((daemon,), names_get_the_channels_that_they_need)


main()
