#!/usr/bin/env python3
"""Tests the preset `dataset` of the kinds that read tables: the same field names the data, and the number of latents follows from the data.

usage: wire_tables.py MOTIFD"""
import base64
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon, run_checks  # noqa: E402

FACTORS, COLUMNS, ROWS = 4, 20, 400
SHORT = {"factors": {"epochs": 2, "restarts": 1, "screen_epochs": 0}, "environments": {"updates": 50}}


def upload(daemon, name, groups):
    rng = np.random.default_rng(5)
    factors = rng.normal(size=(ROWS, FACTORS))
    x = factors @ rng.normal(size=(FACTORS, COLUMNS)) + 0.3 * rng.normal(size=(ROWS, COLUMNS))
    out = io.BytesIO()
    np.savez(out, x=x.astype("f4"), columns=np.array([f"x{at}" for at in range(COLUMNS)]),
             **({"group": np.array([f"g{at % 3}" for at in range(ROWS)])} if groups else {}))
    status, _, made = daemon.ask("PUT", f"/v1/datasets/{name}?format=npz", out.getvalue(), "application/octet-stream")
    assert status == 201, made


def wait(daemon, job):
    for _ in range(1200):
        now = daemon.ask("GET", f"/v1/jobs/{job}")[2]
        if now["state"] not in ("queued", "running"):
            break
        time.sleep(0.05)
    assert now["state"] == "succeeded", now
    return now


def job_with_the_preset_fits_the_data(daemon, kind):
    upload(daemon, f"mine-{kind}", kind == "environments")
    body = {"kind": kind, "preset": "dataset", "config": {"dataset_name": f"mine-{kind}", **SHORT[kind]}}
    status, _, estimate = daemon.ask("POST", "/v1/jobs?dry_run=1", body)
    assert status == 200 and estimate["config"]["latent"] == FACTORS and estimate["config"]["features"] == COLUMNS, estimate
    job = daemon.ask("POST", "/v1/jobs", body)[2]
    assert job["config"]["latent"] == FACTORS, job
    assert wait(daemon, job["id"])["result"]["verdict"]
    body["config"]["latent"] = 2
    assert daemon.ask("POST", "/v1/jobs?dry_run=1", body)[2]["config"]["latent"] == 2


def wrong_names_are_refused(daemon, kind):
    for name, word in (("", "must be the name of a data set"), ("mine-factor", "did you mean 'mine-factors'?")):
        status, _, problem = daemon.ask("POST", "/v1/jobs", {"kind": kind, "preset": "dataset", "config": {"dataset_name": name}})
        assert status == 422 and any(fault["pointer"] == "/config/dataset_name" and word in fault["detail"] for fault in problem["errors"]), problem
    status, _, problem = daemon.ask("POST", "/v1/jobs", {"kind": kind, "config": {"latent": 0}})
    assert status == 422 and problem["errors"][0]["pointer"] == "/config/latent", problem
    status, _, problem = daemon.ask("POST", "/v1/jobs", {"kind": kind, "preset": "dataset", "config": {"source": "mine-factors"}})
    assert status == 422 and any("did you mean 'dataset_name'?" in fault["detail"] for fault in problem["errors"]), problem


def table_is_predicted_row_by_row(daemon, kind):
    """motifctl sends a table of any length in several requests. Labels, groups and names of rows do not count as features."""
    rng = np.random.default_rng(7)
    upload(daemon, f"rows-{kind}", kind == "environments")
    body = {"kind": kind, "preset": "dataset", "name": f"rows-{kind}", "config": {"dataset_name": f"rows-{kind}", **SHORT[kind]}}
    job = daemon.ask("POST", "/v1/jobs", body)[2]["id"]
    wait(daemon, job)
    x = rng.normal(size=(600, COLUMNS)).astype("f4")
    folder = os.path.dirname(daemon.command[5])
    with open(os.path.join(folder, "rows.csv"), "w") as file:
        file.write("id," + ",".join(f"x{at}" for at in range(COLUMNS)) + ",label,group\n")
        for at, row in enumerate(x):
            file.write(f'"row\n{at}",' + ",".join(f"{value:.9g}" for value in row) + f",yes,g{at % 2}\n")
    run = lambda *args: subprocess.run(  # noqa: E731
        [os.path.join(os.path.dirname(sys.argv[1]), "motifctl"), "--server", daemon.url, "predict", f"rows-{kind}", "--input",
         os.path.join(folder, "rows.csv"), *args], capture_output=True, text=True, check=True).stdout
    assert run().count("\ninput ") == 599
    run("--output", os.path.join(folder, "rows.npy"))
    answer = np.load(os.path.join(folder, "rows.npy"))
    out = io.BytesIO()
    np.save(out, x)
    status, _, all_rows = daemon.ask("POST", f"/v1/jobs/{job}/predict?batch=1", out.getvalue(), "application/x-npy", {"Accept": "application/x-npy"})
    assert status == 200 and np.array_equal(answer, np.load(io.BytesIO(all_rows)))
    for text, word in (("a,b\n", "there is no row"), ("a,b\n1,2\n3,x\n", "row 3, column 'b': 'x' is not a number"), ("label\nyes\n", "no column of features"), ("a\n1\n", "")):
        status, _, problem = daemon.ask("POST", f"/v1/jobs/{job}/predict", text.encode(), "text/csv")
        assert status == 422 and word in str(problem), problem


def table_in_a_query_may_have_other_columns(daemon, kind):
    """Columns that the upload named, and any others, are left out with a warning, and features are found by their names in any order."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(ROWS, FACTORS)) @ rng.normal(size=(FACTORS, COLUMNS)) + 0.3 * rng.normal(size=(ROWS, COLUMNS))
    names = ["class", *(f"x{at}" for at in range(1, COLUMNS))]
    rows = [["Patient", "Diagnosis", *names, "Sex"], *([f"p{at % 3}", "ab"[at % 2], *(f"{value:.6g}" for value in row), f"{at % 2}"] for at, row in enumerate(x))]
    text = "\n".join(map(",".join, rows))
    status, _, made = daemon.ask("PUT", f"/v1/datasets/roles-{kind}?label=Diagnosis&group=Patient&ignore=Sex", text.encode(), "text/csv")
    assert status == 201 and made["shape"]["cols"] == COLUMNS, made
    body = {"kind": kind, "preset": "dataset", "config": {"dataset_name": f"roles-{kind}", **SHORT[kind]}}
    job = daemon.ask("POST", "/v1/jobs", body)[2]["id"]
    wait(daemon, job)

    def answers(order, rows=rows[:3]):
        text = "\n".join(",".join(row[at] for at in order) for row in rows)
        inputs = {"inputs": [{"data": base64.b64encode("\n".join(text.split("\n")[:2]).encode()).decode(), "type": "text/csv"}]}
        status, _, document = daemon.ask("POST", f"/v1/jobs/{job}/predict", text.encode(), "text/csv")
        assert status == 200 and len(document["answers"]) == 2, document
        status, _, one = daemon.ask("POST", f"/v1/jobs/{job}/predict", inputs)
        assert status == 200 and one["answers"][0] == document["answers"][0], one
        warned = [answer.pop("warnings") for answer in document["answers"]]
        assert not warned[1], warned
        return document["answers"], {warning["code"]: warning["text"] for warning in warned[0]}

    features = list(range(2, COLUMNS + 2))
    plain, warned = answers(features)
    assert not warned, warned
    for order, left_out in (([0, 1, *features, COLUMNS + 2], "'Patient', 'Diagnosis', 'Sex'"), ([*features, 1], "'Diagnosis'"), ([0, *features[::-1]], "'Patient'")):
        again, warned = answers(order)
        assert again == plain and warned["columns-left-out"].endswith(": " + left_out), warned
    large = [rows[0], [*rows[1][:2], "16777217", *rows[1][3:]], rows[2]]
    assert answers(features, large)[1]["rounded"].endswith("row 2, column 'class': 16777217 became 16777216")
    status, _, problem = daemon.ask("POST", f"/v1/jobs/{job}/predict", b"Diagnosis,x1\na,2\n", "text/csv")
    assert status == 422 and f"must be a list of {COLUMNS} features" in str(problem), problem
    status, _, answer = daemon.ask("POST", f"/v1/jobs/{job}/predict", {"inputs": [{"array": [1 << 25 | 1] * COLUMNS}]})
    assert status == 200 and any(warning["code"] == "rounded" and "/inputs/0/array, number 0: 33554433 became" in warning["text"]
                                 for warning in answer["answers"][0]["warnings"]), answer


def motifctl_says_first_what_to_do(daemon, kind):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("a,b,label\n1,2,x\n3,oops,y\n")
        file.flush()
        put = [os.path.join(os.path.dirname(sys.argv[1]), "motifctl"), "--server", daemon.url, "datasets", "put", "bad", file.name]
        got = subprocess.run(put, capture_output=True, text=True)
        assert got.returncode == 2 and got.stderr == (
            "error: Some fields are invalid\n  what to do: if the column is not a feature, leave it out with ignore (motifctl: --ignore COLUMN)\n"
            "  row 3, column 'b': 'oops' is not a number\n"), got.stderr
        got = subprocess.run([*put, "--label", "nope"], capture_output=True, text=True)
        assert got.stderr == "error: Some fields are invalid\n  row 1: no column is called 'nope'; the columns are a, b, label\n", got.stderr
    with tempfile.TemporaryDirectory() as folder:  # a folder is packed in TMPDIR, where nothing stays
        for name in ("pictures/up", "pictures/down", "tmp"):
            os.makedirs(os.path.join(folder, name))
        for at, name in enumerate(("up/a.npy", "down/b.npy")):
            np.save(os.path.join(folder, "pictures", name), np.full((2, 3), at + 0.5, "f4"))
        put = [*put[:5], f"packed-{kind}", os.path.join(folder, "pictures")]
        for place, code in (("no", 2), ("tmp", 0)):
            got = subprocess.run(put, capture_output=True, text=True, env={**os.environ, "TMPDIR": os.path.join(folder, place)})
            assert got.returncode == code and (code == 0 or "TMPDIR chooses its folder" in got.stderr), got
        assert os.listdir(os.path.join(folder, "tmp")) == [] and "4 samples of 3 columns" in got.stdout, got


def folder_of_cells_gives_the_same_table_as_arrays(daemon, kind):
    """A tar of a folder of a single-cell program gives the same table as an .npz with the same numbers."""
    rng = np.random.default_rng(9)
    counts = rng.poisson(rng.uniform(0, 2, size=(COLUMNS, 1)) * rng.gamma(1, size=(1, ROWS)))
    lines = [f"{row + 1} {col + 1} {counts[row, col]}" for row, col in zip(*np.nonzero(counts))]
    members = {"matrix.mtx": "\n".join(["%%MatrixMarket matrix coordinate integer general", f"{COLUMNS} {ROWS} {len(lines)}", *lines]),
               "features.tsv": "".join(f"ID{at}\tx{at}\tGene Expression\n" for at in range(COLUMNS)),
               "barcodes.tsv": "".join(f"C{at}\n" for at in range(ROWS)),
               "labels.csv": "file,label,group\n" + "".join(f"C{at},k{at % 2},g{at % 3}\n" for at in range(ROWS))}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(f"sample/{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    status, _, made = daemon.ask("PUT", f"/v1/datasets/cells-{kind}?format=tar", out.getvalue(), "application/octet-stream")
    assert status == 201 and made["kind"] == "table" and made["samples"] == ROWS and made["shape"]["cols"] == COLUMNS, made
    assert abs(made["values"]["mean"] - counts.mean()) < 1e-6 and made["values"]["max"] == counts.max() and len(made["vocabulary"]) == 2, made
    body = {"kind": kind, "preset": "dataset", "config": {"dataset_name": f"cells-{kind}", **SHORT[kind]}}
    status, _, estimate = daemon.ask("POST", "/v1/jobs?dry_run=1", body)
    assert status == 200 and estimate["config"]["features"] == COLUMNS, estimate


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(sys.argv[1], os.path.join(folder, "db"), "--data", os.path.join(folder, "data")) as daemon:
            run_checks(*[(f"{kind}: {check.__name__}", lambda kind=kind, check=check: check(daemon, kind))
                         for kind in SHORT for check in (job_with_the_preset_fits_the_data, wrong_names_are_refused, folder_of_cells_gives_the_same_table_as_arrays, table_is_predicted_row_by_row,
                                       table_in_a_query_may_have_other_columns, motifctl_says_first_what_to_do)])


main()
