#!/usr/bin/env python3
"""Tests the division of samples into training, validation and test against a real daemon: by group, by the parts of a file, by named groups and in folds;
what is refused before a job is accepted.

usage: wire_division.py MOTIFD MOTIFCTL"""
import io
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness")]
from daemon import Daemon, run_each  # noqa: E402

TINY = {"width": 8, "units": 1, "first_window": 7, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "total_samples": 320,
        "presence_samples": 160, "validation_every": 80, "checkpoint_every": 160, "reading_samples": 40, "stage_samples": 4}
NPZ, CSV, TAR = "application/x-npz", "text/csv", "application/x-tar"
NAMES = np.array(["plain", "word"])


def samples(count, seed=3):
    rng = np.random.default_rng(seed)
    x = np.eye(4, dtype=np.uint8)[rng.integers(4, size=(count, 1, 32))]
    x[::2, 0, 8:14] = np.eye(4, dtype=np.uint8)[[0, 2, 0, 3, 0, 0]]
    return {"x": x, "y": NAMES[np.arange(count) % 2 ^ 1]}


def put(daemon, name, content, kind=NPZ, query="", expected=201):
    if isinstance(content, dict):
        out = io.BytesIO()
        np.savez(out, **content)
        content = out.getvalue()
    status, _, body = daemon.ask("PUT", f"/v1/datasets/{name}{query}", content, kind)
    assert status == expected, body
    return body


def png(first):
    """A picture of eight rows, each of one grey."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + bytes([first + row] * 8) for row in range(8))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def submit(daemon, expected=200, dry=True, path="jobs", **config):
    status, _, body = daemon.ask("POST", f"/v1/{path}" + "?dry_run=1" * dry, {"kind": "sparling", "preset": "dataset", "config": {**TINY, **config}})
    assert status == expected, body
    return body


def sizes(division):
    return [division["parts"][part]["samples"] for part in ("training", "validation", "test")]


def groups_are_divided_by_default(daemon, motifctl):
    data = samples(400) | {"group": np.repeat([f"p{i}" for i in range(40)], 10)}
    answer = put(daemon, "patients", data)["division"]
    assert answer["by"] == "group" and answer["warnings"] == [] and sizes(answer) == [300, 40, 60], answer
    assert daemon.ask("GET", "/v1/datasets/patients/division")[2] == answer
    parts = [{group["name"] for group in part["groups"]} for part in answer["parts"].values()]
    assert len(set.union(*parts)) == 40 == sum(map(len, parts)), parts
    for config in ({}, {"seed": 5}, {"width": 16}):
        assert submit(daemon, dataset_name="patients", **config)["division"] == answer
    assert submit(daemon, dataset_name="patients", dataset_split_seed=1)["division"] != answer
    by_sample = submit(daemon, dataset_name="patients", dataset_split="samples")["division"]
    assert by_sample["by"] == "sample" and sizes(by_sample) == [300, 40, 60], by_sample
    job = submit(daemon, 201, False, dataset_name="patients", test_samples=60)
    printed = subprocess.run([motifctl, "--server", daemon.url, "datasets", "show", "patients"], capture_output=True, text=True, check=True).stdout
    assert "divided by group" in printed and "validation" in printed and "15.0 %" in printed, printed
    dry = subprocess.run([motifctl, "--server", daemon.url, "submit", "--preset", "dataset", "--set", "dataset_name=patients", "--dry-run"],
                         capture_output=True, text=True, check=True).stdout
    assert "divided by group" in dry, dry
    while daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]["state"] in ("queued", "running"):
        time.sleep(0.1)
    result = daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]["result"]
    assert result["division"] == answer, result


def finish(daemon, job):
    while daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]["state"] in ("queued", "running"):
        time.sleep(0.1)
    return daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]["result"]


def intervals_are_those_of_groups(daemon, motifctl):
    rng = np.random.default_rng(1)
    group = {"group": np.repeat([f"p{i}" for i in range(80)], 5)}
    for name, more in (("by-group", group), ("by-sample", {}), ("numbers", group | {"y": rng.normal(size=400).astype(np.float32)})):
        put(daemon, f"intervals-{name}", samples(400) | more, query="?target=number" * (name == "numbers"))
        config = {"dataset_name": f"intervals-{name}", "test_samples": 60, "reference": True}
        result = finish(daemon, submit(daemon, 201, False, **config))
        evidence, by = result["evidence"], "samples" if name == "by-sample" else "groups"
        assert evidence["by"] == by and evidence.get("groups") == (None if by == "samples" else 12), evidence
        again = submit(daemon, 201, False, **config)  # a run that continues from a checkpoint counts the same
        daemon.ask("POST", f"/v1/jobs/{again['id']}/pause")
        daemon.ask("POST", f"/v1/jobs/{again['id']}/resume")
        again = finish(daemon, again)
        assert {**again["evidence"]} == evidence and again["reference"]["kind"] == result["reference"]["kind"], (again, result)
        if name == "numbers":
            assert again["r2_low"] == result["r2_low"] < result["r2"] < result["r2_high"], result
            continue
        assert evidence["exact_low"] <= evidence["exact"] <= evidence["exact_high"] and again["reference"]["p"] == result["reference"]["p"], result
    single = finish(daemon, submit(daemon, 201, False, dataset_name="intervals-by-group", dataset_test_group="p3"))["evidence"]
    assert single["by"] == "samples" and single["groups"] == 1, single


def tables_are_divided_alike(daemon, motifctl):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 6)) * [1, 10, 100, 1000, 1, 5]

    def table(name, column=None, words=None):
        lines = [",".join(f"a{k}" for k in range(6)) + (f",{column}" if column else "")]
        lines += [",".join(f"{v:.4f}" for v in row) + (f",{words[i]}" if column else "") for i, row in enumerate(values)]
        put(daemon, name, ("\n".join(lines) + "\n").encode(), CSV)

    def plan(name, expected=200, dry=True, **config):
        body = {"kind": "factors", "preset": "dataset", "config": {"dataset_name": name, "epochs": 2, "restarts": 1, **config}}
        status, _, answer = daemon.ask("POST", "/v1/jobs" + "?dry_run=1" * dry, body)
        assert status == expected, answer
        return answer["division"] if dry and status == 200 else answer
    table("rows")
    table("persons", "group", [f"p{i // 5}" for i in range(100)])
    table("three", "group", ["xyz"[i % 3] for i in range(100)])
    table("pair", "group", ["xy"[i % 2] for i in range(100)])
    table("official-rows", "part", ["train"] * 60 + ["val"] * 15 + ["test"] * 25)
    for name, by, test, config in (("rows", "sample", 20, {}), ("rows", "sample", 20, {"dataset": 4}), ("persons", "group", 20, {}), ("three", "group", 33, {}),
                                   ("persons", "group", 10, {"dataset_test_group": "p1,p2"}), ("persons", "sample", 20, {"dataset_split": "samples"}),
                                   ("pair", "group", 50, {"dataset_test_group": "y"}), ("official-rows", "part", 25, {})):
        division = plan(name, **config)
        assert division["by"] == by and list(division["parts"]) == ["training", "test"], division
        assert abs(division["parts"]["test"]["samples"] - test) <= 1 and division["parts"]["training"]["samples"] == 100 - division["parts"]["test"]["samples"]
    folds = [{group["name"] for group in plan("persons", dataset=k)["parts"]["test"]["groups"]} for k in range(5)]
    assert len(set.union(*folds)) == 20 == sum(map(len, folds)), folds
    problem = plan("pair", 422)["errors"][0]
    assert problem["pointer"] == "/config/dataset_split" and "x: 50, y: 50" in problem["detail"], problem
    def rows(name, expected=200, dry=True, **config):
        body = {"kind": "dictionary", "preset": "dataset", "config": {"dataset_name": name, "total_samples": 3000, "pursuit_samples": 4, **config}}
        status, _, answer = daemon.ask("POST", "/v1/jobs" + "?dry_run=1" * dry, body)
        assert status == expected, answer
        return answer
    for name, by, test, config in (("rows", "block", 10, {}), ("persons", "group", 10, {}), ("persons", "block", 10, {"dataset_split": "samples"}),
                                   ("persons", "group", 5, {"dataset_test_group": "p3"}), ("official-rows", "part", 25, {})):
        division = rows(name, **config)["division"]
        assert division["by"] == by and division["parts"]["test"]["samples"] == test and division["parts"]["training"]["samples"] == 100 - test, division
    assert rows("pair", 422)["errors"][0]["pointer"] == "/config/dataset_split"
    assert finish(daemon, rows("persons", 201, False))["division"] == rows("persons")["division"]
    for name in ("rows", "persons", "official-rows"):  # what is shown is what a job does
        shown = daemon.ask("GET", f"/v1/datasets/{name}")[2]["division"]
        assert shown == plan(name) == daemon.ask("GET", f"/v1/datasets/{name}/division")[2], (shown, plan(name))
    result = finish(daemon, plan("persons", 201, False))
    assert result["division"] == plan("persons") and result["samples"] == result["division"]["parts"]["test"]["samples"], result


def environments_keep_stated_tests(daemon, motifctl):
    """The groups are the environments, so rows are divided within each: as the file states, or by test_share."""
    rng = np.random.default_rng(2)

    def submit_table(name, count, expected, part=False):
        lines = ["site,a,b,c,y" + ",part" * part]
        lines += [f"{'uvw'[i % 3]},{','.join(f'{v:.4f}' for v in rng.normal(size=4))}" + f",{'test' if i % 10 < 1 else 'train'}" * part for i in range(count)]
        put(daemon, name, ("\n".join(lines) + "\n").encode(), CSV, "?group=site")
        config = {"dataset_name": name, "unseen": 0, "updates": 20, "latent": 2}
        status, _, answer = daemon.ask("POST", "/v1/jobs", {"kind": "environments", "preset": "dataset", "config": config})
        assert status == expected, answer
        return answer
    for name, by, tests in (("env-share", "sample", 36), ("env-part", "part", 12)):
        result = finish(daemon, submit_table(name, 120, 201, by == "part"))
        division = result["division"]
        assert result["samples"] == division["parts"]["test"]["samples"] == tests and division["by"] == by, result
        assert "within each of 3 environments" in division["text"] and division["parts"]["training"]["samples"] == 120 - tests, division
    problem = submit_table("env-few", 6, 422)["errors"][0]
    assert problem["pointer"] == "/config/dataset_name" and "leaves 6 for training and 0 for the test" in problem["detail"], problem


def stated_parts_are_taken(daemon, motifctl):
    part = np.array(["Train"] * 50 + ["val"] * 20 + ["TEST"] * 30)
    for name, more in (("stated", {"part": part}), ("official", {"group": part}),
                       ("both", {"part": part, "group": np.where(np.arange(100) % 3, "x", "y")})):
        division = put(daemon, name, samples(100) | more)["division"]
        assert division["by"] == "part" and sizes(division) == [50, 20, 30], division
    rows = "".join(f"{i % 2},{','.join(str((i * k) % 7) for k in range(1, 9))},{p}\n" for i, p in enumerate(part))
    head = "label," + ",".join(f"a{k}" for k in range(8))
    for column in ("part", "split"):
        answer = put(daemon, f"table-{column}", f"{head},{column}\n{rows}".encode(), CSV, "?layout=signals")
        assert answer["division"]["by"] == "part" and sizes(answer["division"]) == [50, 20, 30] and answer["shape"]["cols"] == 8, answer
    wrong = put(daemon, "wrong", f"{head},part\n{rows}1,{'1,' * 8}other\n".encode(), CSV, expected=422)
    assert "column 'part': 'other' must be train, validation or test" in wrong["detail"], wrong
    numbers = put(daemon, "numbers", "label,part,b\n0,4,1\n1,5,2\n0,6,3\n".encode(), CSV)  # a feature that is called part
    assert [column["name"] for column in numbers["columns"]] == ["part", "b"], numbers
    archive, labels = io.BytesIO(), "file,label,group,part\n"
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for i in range(12):
            labels += f"{i}.png,{i % 2},g{i % 3},{['train', 'train', 'val', 'test'][i % 4]}\n"
            picture = png(20 * i)
            info = tarfile.TarInfo(f"{i}.png")
            info.size = len(picture)
            tar.addfile(info, io.BytesIO(picture))
        info = tarfile.TarInfo("labels.csv")
        info.size = len(labels)
        tar.addfile(info, io.BytesIO(labels.encode()))
    division = put(daemon, "pictures", archive.getvalue(), TAR)["division"]
    assert division["by"] == "part" and sizes(division) == [6, 3, 3] and division["parts"]["test"]["group_count"] == 3, division


def named_groups_test(daemon, motifctl):
    put(daemon, "sites", samples(120) | {"group": np.array(["a", "b", "c"])[np.arange(120) // 20 % 3]})
    division = submit(daemon, dataset_name="sites", dataset_test_group="b")["division"]
    assert sizes(division) == [40, 40, 40] and division["parts"]["test"]["groups"] == [{"name": "b", "samples": 40}], division
    for groups in ("a,b", ["a", "b"]):
        division = submit(daemon, dataset_name="sites", dataset_test_group=groups)["division"]
        assert sizes(division) == [28, 12, 80], division
        assert "validation by sample" in division["text"], division
    answer = put(daemon, "two", samples(100) | {"group": np.array(["x", "y"])[np.arange(100) // 50]})
    assert "(x: 50, y: 50)" in answer["division"]["refused"], answer["division"]
    problem = submit(daemon, 422, dataset_name="two")
    assert problem["errors"][0]["pointer"] == "/config/dataset_split" and "dataset_test_group" in problem["errors"][0]["detail"], problem
    kinds = {row["kind"]: row for row in answer["kinds"]}
    assert kinds["sparling"]["accepts"] and "dataset_test_group" in kinds["sparling"]["reason"], kinds  # a further field makes it possible
    refused = subprocess.run([motifctl, "--server", daemon.url, "submit", "--preset", "dataset", "--set", "dataset_name=two", "--dry-run"], capture_output=True, text=True)
    assert refused.returncode != 0 and "kind sparling" in refused.stderr and "x: 50, y: 50" in refused.stdout + refused.stderr, refused
    assert sizes(submit(daemon, dataset_name="two", dataset_test_group="y")["division"])[2] == 50
    status, _, problem = daemon.ask("GET", "/v1/datasets/two/division?dataset_test_group=z")
    assert status == 422 and problem["errors"][0]["parameter"] == "dataset_test_group" and "x, y" in problem["detail"], problem
    assert sizes(daemon.ask("GET", "/v1/datasets/two/division?dataset_test_group=x")[2])[2] == 50


def few_samples_are_refused(daemon, motifctl):
    for count in (1, 2, 5):
        put(daemon, f"few-{count}", samples(count))
        problem = submit(daemon, 422, dataset_name=f"few-{count}")
        assert f"has {count} sample" in problem["errors"][-1]["detail"], problem
    put(daemon, "six", samples(6))
    division = submit(daemon, dataset_name="six")["division"]
    assert sizes(division) == [4, 1, 1] and "few-samples" in [warning["code"] for warning in division["warnings"]], division
    put(daemon, "trio", samples(90) | {"group": np.repeat(list("abc"), 30)})
    warnings = {warning["code"]: warning["text"] for warning in submit(daemon, dataset_name="trio")["division"]["warnings"]}
    assert "folds=3 trains and tests 3 times" in warnings["few-samples"] and submit(daemon, dataset_name="trio", folds=3, fold=0), warnings
    put(daemon, "lonely", samples(200) | {"group": np.repeat(list("abcdefghij"), 20), "y": np.where(np.arange(200) < 10, "rare", "usual")})
    warnings = submit(daemon, dataset_name="lonely")["division"]["warnings"]
    assert [warning["code"] for warning in warnings] == ["name-in-one-group", "sizes-differ", "sizes-differ"] and "rare" in warnings[0]["text"], warnings


def long_trainings_are_announced(daemon, motifctl):
    """The answer of an upload estimates what its usual training costs, as the dry run of a job does, before anything is stored. Runs before the first
    training, because afterwards the measured speed of this machine counts, which is low in a build with sanitizers."""
    out = io.BytesIO()
    np.savez_compressed(out, x=np.zeros((40, 1, 1000, 1000), dtype=np.uint8), y=NAMES[np.arange(40) % 2])
    for query, expected in (("?dry_run=1", 200), ("", 201)):
        answer = put(daemon, "large", out.getvalue(), query=query, expected=expected)
        text = {warning["code"]: warning["text"] for warning in answer["warnings"]}["long-training"]
        hours = float(text.split(" hours")[0].split()[-1])
        assert "the kind sparling" in text and "GB" in text and hours >= 1, text
        assert daemon.ask("GET", "/v1/datasets/large")[0] == (404 if expected == 200 else 200)
    plain = {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": "large"}}
    status, _, job = daemon.ask("POST", "/v1/jobs?dry_run=1", plain)
    assert status == 200 and abs(job["predicted_seconds"] / 3600 - hours) <= .1 + .05 * hours, (text, job)
    assert "long-training" not in str(put(daemon, "short", samples(60))["warnings"])


def folds_are_a_study(daemon, motifctl):
    put(daemon, "small", samples(60))
    for fold in range(3):
        division = submit(daemon, dataset_name="small", folds=3, fold=fold)["division"]
        assert sizes(division)[2] == 20 and division["folds"] == 3 and division["fold"] == fold, division
    assert "POST /v1/studies" in str(submit(daemon, 422, dataset_name="small", folds=3))
    assert "must be below folds" in str(submit(daemon, 422, dataset_name="small", folds=3, fold=3))
    study = submit(daemon, path="studies", dataset_name="small", folds=3)
    assert study["count"] == 3 and study["grid"] == {"fold": [0, 1, 2]}, study
    settings = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
    made = subprocess.run([motifctl, "--server", daemon.url, "submit", "--preset", "dataset", "--set", "dataset_name=small", "--set", "folds=3", *settings,
                           "--watch"], capture_output=True, text=True)
    assert made.returncode == 0 and "3/3" in made.stdout and "means over the folds" in made.stdout, made
    study = daemon.ask("GET", "/v1/studies")[2]["studies"][0]
    table = daemon.ask("GET", f"/v1/studies/{study['id']}")[2]["table"]
    assert table["fields"] == [] and len(table["rows"]) == 1 and table["rows"][0]["done"] == 3, table
    exact = table["rows"][0]["results"]["exact"]
    assert exact["count"] == 3 and exact["low"] <= exact["mean"] <= exact["high"] and exact["min"] <= exact["mean"] <= exact["max"], exact


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(sys.argv[1], os.path.join(folder, "d.db"), "--data", os.path.join(folder, "data")) as daemon:
            run_each((daemon, sys.argv[2]), long_trainings_are_announced, groups_are_divided_by_default, intervals_are_those_of_groups, tables_are_divided_alike, environments_keep_stated_tests,
                     stated_parts_are_taken, named_groups_test, few_samples_are_refused, folds_are_a_study)


if __name__ == "__main__":
    main()
