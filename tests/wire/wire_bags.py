#!/usr/bin/env python3
"""Tests bags of items without order (order=none) from the upload to the marks: what needs an order is refused, and a model answers the same whatever the order of
the items.

usage: wire_bags.py MOTIFD"""
import io
import os
import sys
import tempfile

import numpy as np

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), *folder) for folder in (("..", "harness"), ("..", "..", "clients", "python"))]
from daemon import Daemon, run_each  # noqa: E402
from motifd import Motifs  # noqa: E402

FEATURES, ITEMS = 4, 12
SMALL = {"reference": True, "presence_samples": 8000, "total_samples": 20000, "reading_samples": 3000, "validation_samples": 50, "test_samples": 100}


def bags(count, seed):
    """Half of the bags have one or two items around 3; the label says whether. place: which items."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, FEATURES, 1, ITEMS)).astype(np.float32)
    place = np.zeros((count, ITEMS), bool)
    for at in range(0, count, 2):
        place[at, rng.choice(ITEMS, rng.integers(1, 3), replace=False)] = True
    return x + 3 * place[:, None, None, :], ["found" if one.any() else "nothing" for one in place], place


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def upload(daemon, data, kind, options):
    return daemon.ask("PUT", f"/v1/datasets/refused?{options}", data, kind)


def what_needs_an_order_is_refused(daemon):
    x, y, _ = bags(40, 1)
    names = np.array(y)
    wrong = {"its labels are sequences": (npz(x=x, y=names), "order=none&target=sequence"),
             "its samples have rows and columns": (npz(x=x[:, :, 0], y=names), "order=none&target=class"),
             "whose columns are features": (npz(x=x[:, :, 0, 0], y=names), "order=none&target=class")}
    for reason, (data, options) in wrong.items():
        status, _, problem = upload(daemon, data, "application/x-npz", options)
        assert status == 422 and reason in str(problem), (reason, problem)
    status, _, problem = upload(daemon, npz(x=x, y=names), "application/x-npz", "order=any")
    assert status in (400, 422) and "kept" in str(problem) and "none" in str(problem), problem
    status, _, problem = upload(daemon, b">a x\nACGT\n", "text/x-fasta", "order=none")
    assert status == 422 and "order" in str(problem), problem
    assert daemon.ask("GET", "/v1/datasets/refused")[0] == 404


def changes_that_need_neighbours_are_refused(daemon):
    x, y, _ = bags(40, 1)
    assert daemon.ask("PUT", "/v1/datasets/forty?order=none&target=class", npz(x=x, y=np.array(y)), "application/x-npz")[0] == 201
    job = {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": "forty", "augment_shift": .1}}
    status, _, problem = daemon.ask("POST", "/v1/jobs?dry_run=1", job)
    assert status == 422 and "bags of items without order" in str(problem), problem


def the_order_of_items_means_nothing(daemon):
    x, y, _ = bags(600, 2)
    other, labels, place = bags(100, 3)
    model = Motifs(daemon.url, config=SMALL, progress=False).fit(x, y, bags=True, absent="nothing")
    job = daemon.ask("GET", f"/v1/jobs/{model.job_.id}")[2]
    assert job["facts"]["dataset_unordered"] is True, job["facts"]
    fitted = {name: job["config"][name] for name in ("first_window", "units", "positions", "pool", "augment_shift")}
    assert fitted == {"first_window": 1, "units": 0, "positions": "none", "pool": 1, "augment_shift": 0}, fitted
    assert daemon.ask("GET", f"/v1/datasets/{model.data_['name']}")[2]["stated"]["order"] == "none"
    right = np.mean([a == b for a, b in zip(model.predict(other), labels)])
    assert right >= .9, right
    assert job["result"]["reference"]["exact"] >= .9, job["result"]["reference"]
    order = np.random.default_rng(4).permutation(ITEMS)
    scores, shuffled = model.scores(other)[:, 0, :, 0], model.scores(other[:, :, :, order])[:, 0, :, 0]
    assert np.allclose(scores[:, order], shuffled, atol=1e-5), np.abs(scores[:, order] - shuffled).max()
    assert (model.predict(other) == model.predict(other[:, :, :, order])).all()
    marks = model.transform(other)[:, 0, :, 0] > 0
    assert (marks & place).sum() >= .8 * marks.sum() > 0, ((marks & place).sum(), marks.sum())
    motif = next(motif for answer in daemon.ask("POST", f"/v1/jobs/{job['id']}/motifs", {"inputs": [{"array": one.tolist()} for one in other[:4]]})[2]["answers"]
                 for motif in answer["motifs"])
    assert motif["extent"][3] - motif["extent"][2] == 1, motif
    rules = daemon.ask("GET", f"/v1/jobs/{job['id']}/name-rules?samples=100")[2]
    found = next(one for one in rules["names"] if one["name"] == "found")
    assert found["text"] == "found" and found["as_good"] is True and found["rule"]["least"] == 1, found
    assert [part["name"] for part in found["rule"]["some"]] == ["found"] and found["rule"]["none"] == [], found
    test = found["test"]
    assert 0 < test["with"] < test["samples"] <= 100 and test["rule"] >= .8 and test["fidelity_low"] < test["fidelity"] > .9, found
    status, _, problem = daemon.ask("GET", f"/v1/jobs/{job['id']}/name-rules?samples=1")
    assert status in (400, 422) and "samples" in str(problem), problem


def main():
    with tempfile.TemporaryDirectory() as folder, Daemon(sys.argv[1], os.path.join(folder, "db"), "--data", folder) as daemon:
        run_each((daemon,), what_needs_an_order_is_refused, changes_that_need_neighbours_are_refused, the_order_of_items_means_nothing)


main()
