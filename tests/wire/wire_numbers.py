#!/usr/bin/env python3
"""Tests numbers as targets against a real daemon: uploads and their refusals, the result, and the same predictions by /v1, /v2, motifctl and the Python
client.

usage: wire_numbers.py MOTIFD MOTIFCTL"""
import io
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness"), os.path.join(HERE, "..", "..", "clients", "python")]
import motifd  # noqa: E402
from daemon import Daemon, run_each  # noqa: E402

SMALL = {"width": 8, "units": 1, "first_window": 7, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "motifs": 3, "total_samples": 320,
         "presence_samples": 160, "validation_every": 80, "validation_samples": 20, "checkpoint_every": 80, "reading_samples": 40, "test_samples": 20,
         "motif_samples": 20, "stage_samples": 4}
RNG = np.random.default_rng(4)
X = np.eye(4, dtype=np.uint8)[RNG.integers(4, size=(160, 1, 40))]
X[::2, 0, 10:16] = np.eye(4, dtype=np.uint8)[[0, 2, 0, 3, 0, 0]]
Y = np.stack([100 + 5 * (np.arange(160) % 2 == 0) + RNG.normal(0, 0.5, 160), RNG.normal(-3, 1, 160)], 1)
NPZ, NPY = "application/x-npz", "application/x-npy"


def file_of(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def put(daemon, name, content, kind, query="?target=number", expected=201):
    status, _, body = daemon.ask("PUT", f"/v1/datasets/{name}{query}", content, kind)
    assert status == expected, body
    return body


def letters(x):
    return "".join("ACGT"[at] for at in x[0].argmax(1))


def uploads_describe_their_numbers(daemon, motifctl, folder):
    set_ = put(daemon, "two", file_of(x=X, y=Y, names=np.array(["level", "noise"])), NPZ)
    assert set_["target"] == "number" and set_["vocabulary"] == [] and [n["name"] for n in set_["numbers"]] == ["level", "noise"], set_
    assert abs(set_["numbers"][0]["mean"] - Y[:, 0].mean()) < 1e-3 and abs(set_["numbers"][1]["deviation"] - Y[:, 1].std()) < 1e-3, set_
    assert [float(word) for word in set_["first"][0]["label"]] == [float(np.float32(value)) for value in Y[0]] or \
        np.allclose([float(word) for word in set_["first"][0]["label"]], Y[0]), set_["first"]
    fasta = "".join(f">s{i} {y[0]:.4f}\n{letters(x)}\n" for i, (x, y) in enumerate(zip(X, Y)))
    assert [n["name"] for n in put(daemon, "one", fasta.encode(), "text/x-fasta")["numbers"]] == ["value"]
    table = "level," + ",".join(f"p{i}" for i in range(8)) + "\n" + "".join(f"{i / 3}," + ",".join(map(str, RNG.normal(0, 1, 8))) + "\n" for i in range(40))
    assert put(daemon, "signals", table.encode(), "text/csv", "?target=number&layout=signals&label=level")["numbers"][0]["name"] == "level"
    printed = subprocess.run([motifctl, "--server", daemon.url, "datasets", "show", "two"], capture_output=True, text=True, check=True).stdout
    assert "target number, 2 numbers" in printed and "level" in printed, printed


def wrong_numbers_are_refused_and_change_nothing(daemon, motifctl, folder):
    bad = Y.copy()
    bad[3, 1] = np.inf
    for content, kind, query, text in ((file_of(x=X, y=bad), NPZ, "?target=number", "not finite"),
                                       (file_of(x=X, y=1e39 * Y), NPZ, "?target=number", "beyond single precision"),
                                       (file_of(x=X, y=np.array(["a"] * 160)), NPZ, "?target=number", "target=number needs numbers"),
                                       (file_of(x=X), NPZ, "?target=number", "sample 0 has 0 of 1 numbers"),
                                       (file_of(x=X[:, 0, :, 0], y=Y), NPZ, "?target=number", "layout=signals"),
                                       (b">a 1\nACGT\n>b x\nACGT\n", "text/x-fasta", "?target=number", "target=number, sample 1: 'x' is not a number from -3.4e+38 to 3.4e+38"),
                                       (b"a,label\n1,2\n2,1e99\n", "text/csv", "?target=number&layout=signals", "row 3, column 'label'"),
                                       (b">a 1\nACGT\n", "text/x-fasta", "?target=number&negatives=shuffle", "negatives are not allowed")):
        problem = put(daemon, "bad", content, kind, query, 422)
        assert text in json.dumps(problem), (text, problem)
    assert daemon.ask("GET", "/v1/datasets/bad")[0] == 404
    assert put(daemon, "bad", b">a 1\nACGT\n", "text/x-fasta", "?target=numbers", 400)["status"] == 400


def regions_have_numbers_in_a_column_or_a_signal(daemon, motifctl, folder):
    genome = os.path.join(folder, "data", "tiny")
    os.makedirs(genome)
    bases = "".join(RNG.choice(list("ACGT"), 1000))
    with open(os.path.join(genome, "genome.fa"), "w", encoding="utf-8") as file:
        file.write(">chr1\n" + bases + "\n")
    with open(os.path.join(genome, "genome.fa.fai"), "w", encoding="utf-8") as file:
        file.write("chr1\t1000\t6\t1000\t1001\n")
    bed = "".join(f"chr1\t{at}\t{at + 60}\tr{at}\t{at / 7}\n" for at in range(100, 800, 20)).encode()
    query = "?target=number&genome=tiny&window=40&"
    set_ = put(daemon, "regions", bed, "text/x-bed", query + "label_column=5")
    assert set_["target"] == "number" and abs(set_["numbers"][0]["max"] - 780 / 7) < 1e-3, set_
    assert "label_column=N" in json.dumps(put(daemon, "bad", bed, "text/x-bed", query, 422))
    for signal in ("none", "tiny", "..%2Ftiny"):
        problem = json.dumps(put(daemon, "bad", bed, "text/x-bed", query + f"signal={signal}&bins=4", 422))
        assert "signal=" in problem and folder not in problem, problem
    assert put(daemon, "bad", bed, "text/x-bed", query + "signal=none&bins=0", 400)["status"] == 400
    assert put(daemon, "bad", bed, "text/x-bed", query + "signal=none&bins=4097", 400)["status"] == 400
    path = os.path.join(folder, "regions.bed")
    with open(path, "wb") as file:
        file.write(bed)
    done = subprocess.run([motifctl, "--server", daemon.url, "datasets", "put", "bad", path, "--target", "number", "--genome", "tiny", "--signal", "none",
                           "--bins", "4"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "signal=none" in done.stderr, done


def train(daemon, data, **config):
    status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": {**SMALL, "dataset_name": data, **config}})
    assert status == 201, job
    for _ in range(2400):
        job = daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]
        if job["state"] in ("succeeded", "failed"):
            break
        time.sleep(0.05)
    assert job["state"] == "succeeded", job
    return job


def the_result_has_the_figures_of_numbers(daemon, motifctl, folder):
    job = train(daemon, "two")
    result = job["result"]
    assert job["facts"]["dataset_numbers"] is True and job["config"]["replace_letters"] == 0.1, job["config"]
    assert result["e2ee"] is None and result["exact"] is None and result["r2"] <= 1, result
    assert result["r2_low"] <= result["r2"] <= result["r2_high"], result
    assert [n["name"] for n in result["numbers"]] == ["level", "noise"] and all(len(n["effects"]) == 3 for n in result["numbers"])
    assert abs(result["numbers"][0]["mean"] - Y[:, 0].mean()) < 1, result["numbers"]
    assert result["by_density"][-1]["r2"] == result["r2"], result["by_density"]
    return job["id"]


def facts_are_shown_and_cannot_be_set(daemon, motifctl, folder):
    kind = daemon.ask("GET", "/v1/kinds/sparling")[2]
    facts = {fact["name"] for fact in kind["facts"]}
    assert len(facts) == 11 and not facts & {field["name"] for field in kind["fields"]} and not facts & set(kind["presets"][0]["config"]), facts
    body = {"kind": "sparling", "preset": "dataset", "config": {**SMALL, "dataset_name": "two"}}
    job = train(daemon, "two")
    status, _, plan = daemon.ask("POST", "/v1/jobs?dry_run=1", body)
    expected = {"dataset_channels": 4, "dataset_rows": 1, "dataset_cols": 40, "dataset_tokens": 2, "dataset_longest": 1,
                "dataset_boxes": 0, "dataset_rate": 0, "dataset_positions": False, "dataset_numbers": True, "dataset_unordered": False, "dataset_words": 0}
    assert status == 200 and plan["facts"] == job["facts"] == expected, (plan, job["facts"])
    assert not facts & set(plan["config"]) and not facts & set(job["config"]), job["config"]
    status, _, problem = daemon.ask("POST", "/v1/jobs", {**body, "config": {**body["config"], "dataset_cols": 40}})
    assert status == 422 and problem["errors"][0]["pointer"] == "/config/dataset_cols", problem
    assert "motifd reads it from the data set" in problem["errors"][0]["detail"], problem
    status, _, again = daemon.ask("POST", "/v1/jobs?dry_run=1", {**body, "config": job["config"]})
    assert status == 200 and again["facts"] == expected and again["config"] == job["config"], again
    assert any(item.get("facts") == expected for item in daemon.ask("GET", "/v1/jobs?fields=facts")[2]["jobs"])
    shown = subprocess.run([motifctl, "--server", daemon.url, "show", job["id"], "--config"], capture_output=True, text=True, check=True).stdout
    assert "dataset_channels" in shown and "dataset_numbers" in shown, shown
    # A bundle contains the stored form, with the facts.
    status, _, bundle = daemon.ask("GET", f"/v1/jobs/{job['id']}/bundle")
    assert status == 200
    status, _, copy = daemon.ask("POST", "/v1/imports", bundle, "application/octet-stream")
    assert status == 201 and copy["facts"] == expected and copy["config"] == job["config"], copy


def every_interface_predicts_the_same_numbers(daemon, motifctl, folder):
    job = train(daemon, "two")["id"]
    some = X[:5].astype("<f4")
    body = io.BytesIO()
    np.save(body, some[:, 0])
    answers = daemon.ask("POST", f"/v1/jobs/{job}/predict", {"inputs": [{"array": x[0].tolist()} for x in some]})[2]["answers"]
    numbers = np.array([[one["value"] for one in answer["numbers"]] for answer in answers])
    assert [one["name"] for one in answers[0]["numbers"]] == ["level", "noise"]
    assert np.allclose([[float(word) for word in answer["prediction"]] for answer in answers], numbers, rtol=1e-5)
    assert abs(numbers[:, 0].mean() - 102) < 20 and abs(numbers[:, 1].mean() + 3) < 5, numbers
    sample = daemon.ask("POST", f"/v1/jobs/{job}/motifs", {"inputs": [{"sample": {"seed": 1}}]})[2]["answers"][0]
    assert set(sample["numbers"][0]) == {"name", "value", "true"}, sample["numbers"]
    status, _, array = daemon.ask("POST", f"/v1/jobs/{job}/predict?batch=1", body.getvalue(), NPY, {"Accept": NPY})
    assert status == 200 and np.allclose(np.load(io.BytesIO(array)), numbers, rtol=1e-5)
    model = daemon.ask("GET", f"/v2/models/{job}")[2]
    assert [o["name"] for o in model["outputs"]] == ["motifs", "motifs_coordinates", "motifs_values", "numbers"], model
    assert model["outputs"][-1]["shape"] == [-1, 2], model
    tensor = {"name": "input", "shape": [5, 40, 4], "datatype": "FP32", "data": some[:, 0].tolist()}
    given = daemon.ask("POST", f"/v2/models/{job}/infer", {"inputs": [tensor]})[2]["outputs"]
    assert given[-1]["name"] == "numbers" and np.allclose(np.reshape(given[-1]["data"], (5, 2)), numbers, rtol=1e-5), given[-1]
    status, _, problem = daemon.ask("POST", f"/v2/models/{job}/infer", {"inputs": [tensor], "outputs": [{"name": "labels"}]})
    assert status == 422 and "labels" in json.dumps(problem), problem
    path = os.path.join(folder, "five.fa")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(f">s{i}\n{letters(x)}\n" for i, x in enumerate(X[:5])))
    shown = subprocess.run([motifctl, "--server", daemon.url, "predict", job, "--input", path, "--json"], capture_output=True, text=True, check=True).stdout
    assert np.allclose([[one["value"] for one in answer["numbers"]] for answer in json.loads(shown)["answers"]], numbers, rtol=1e-5)
    shown = subprocess.run([motifctl, "--server", daemon.url, "predict", job, "--input", path], capture_output=True, text=True, check=True).stdout
    printed = [line.split() for line in shown.splitlines() if line.startswith("level ")]
    assert np.allclose([float(row[1]) for row in printed], [row[0] for row in numbers], rtol=1e-4) and len(printed) == 5, shown
    status, _, problem = daemon.ask("GET", f"/v1/jobs/{job}/rules")
    assert status == 409 and "numbers" in problem["detail"], problem


def the_python_client_predicts_and_scores(daemon, motifctl, folder):
    client = motifd.Client(daemon.url)
    for y, x in ((Y[:, 0], X), (Y, [letters(one) for one in X])):
        model = motifd.Motifs(client, config=SMALL, raise_not_learned=False).fit(x, y)
        got = model.predict(x)
        assert got.shape == y.shape and got.dtype == float
        expected = np.mean(1 - ((y - got) ** 2).sum(0) / ((y - y.mean(0)) ** 2).sum(0))
        assert abs(model.score(x, y) - expected) < 1e-9
        assert len(model.channels_) == 3
    assert motifd.Motifs(client, config=SMALL).fit(X, np.arange(160) % 3, numbers=True).predict(X[:2]).dtype == float
    try:
        motifd.Motifs(client, config=SMALL).fit(X, np.full(160, np.nan))
    except ValueError as error:
        assert "row 0 has no label" in str(error)
    else:
        raise AssertionError("NaN was accepted")


def main():
    import warnings
    warnings.simplefilter("ignore", RuntimeWarning)  # these models have learned nothing
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(sys.argv[1], os.path.join(folder, "n.db"), "--data", os.path.join(folder, "data")) as daemon:
            run_each((daemon, sys.argv[2], folder), uploads_describe_their_numbers, wrong_numbers_are_refused_and_change_nothing,
                     regions_have_numbers_in_a_column_or_a_signal, the_result_has_the_figures_of_numbers,
                     facts_are_shown_and_cannot_be_set, every_interface_predicts_the_same_numbers, the_python_client_predicts_and_scores)


if __name__ == "__main__":
    main()
