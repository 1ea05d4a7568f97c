#!/usr/bin/env python3
"""Tests the Open Inference Protocol against a real daemon: the outputs of models of each kind equal the answers of the queries under /v1, as JSON and as
binary data; tokens are those of queries.

usage: wire_inference.py MOTIFD"""
import io
import json
import os
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon, TINY, run_checks  # noqa: E402

DATATYPES = {"FP32": "<f4", "INT64": "<i8"}
HEADER = "Inference-Header-Content-Length"
OCTETS = "application/octet-stream"


def train(daemon, kind, preset, config):
    status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": kind, "preset": preset, "config": config})
    assert status == 201, job
    for _ in range(1200):
        state = daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]
        if state["state"] == "succeeded":
            return job["id"]
        assert state["state"] in ("queued", "running"), state
        time.sleep(0.05)
    raise AssertionError(state)


def unpack(datatype, data, shape):
    """An output's bytes as an array or a list of texts."""
    if datatype != "BYTES":
        return np.frombuffer(data, DATATYPES[datatype]).reshape(shape)
    texts, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at:at + 4], "little")
        texts.append(data[at + 4:at + 4 + length].decode())
        at += 4 + length
    return np.array(texts, object).reshape(shape)


def infer(daemon, job, X, outputs=None, binary=True, **headers):
    """Sends X as a tensor and returns (status, {name: array} or the problem)."""
    tensor = {"name": "input", "shape": list(X.shape), "datatype": "FP32"}
    request = {"inputs": [tensor], **({"outputs": [{"name": name} for name in outputs]} if outputs else {})}
    if binary:
        tensor["parameters"] = {"binary_data_size": X.nbytes}
        request["parameters"] = {"binary_data_output": True}
        head = json.dumps(request).encode()
        status, given, body = daemon.ask("POST", f"/v2/models/{job}/infer", head + X.tobytes(), OCTETS, {HEADER: str(len(head)), **headers})
    else:
        tensor["data"] = X.tolist()
        status, given, body = daemon.ask("POST", f"/v2/models/{job}/infer", request, headers=headers)
    if status != 200:
        return status, body
    if not binary:
        return status, {o["name"]: np.array(o["data"], object if o["datatype"] == "BYTES" else DATATYPES[o["datatype"]]).reshape(o["shape"])
                        for o in body["outputs"]}
    head, arrays = int(given[HEADER]), {}
    data, at = body[head:], 0
    for output in json.loads(body[:head])["outputs"]:
        size = output["parameters"]["binary_data_size"]
        arrays[output["name"]] = unpack(output["datatype"], data[at:at + size], output["shape"])
        at += size
    assert at == len(data)
    return status, arrays


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def query_array(daemon, job, query, X):
    status, _, body = daemon.ask("POST", f"/v1/jobs/{job}/{query}?batch=1", npy(X), "application/x-npy", {"Accept": "application/x-npy"})
    assert status == 200, body
    return np.load(io.BytesIO(body))


def check_shapes(daemon, job, arrays, count):
    """The tensors have the names, data types and shapes that the metadata state."""
    model = daemon.ask("GET", f"/v2/models/{job}")[2]
    for output in model["outputs"]:
        array = arrays[output["name"]]
        expected = [count if output["name"] in ("motifs", "labels", "probabilities", "factors", "reconstruction", "latent", "outcomes") and size == -1 and at == 0
                    else size for at, size in enumerate(output["shape"])]
        assert len(array.shape) == len(expected) and all(e in (-1, s) for e, s in zip(expected, array.shape)), (output, array.shape)
    return model


def images_answer_as_queries_do(daemon):
    # a high density, so that the untrained map has motifs
    job = train(daemon, "sparling", "digitcircle-quick", {**TINY, "density_start": 0.2, "density_final": 0.2})
    X = np.random.default_rng(1).uniform(0, 1, (3, 32, 32)).astype("<f4")
    status, arrays = infer(daemon, job, X)
    assert status == 200, arrays
    model = check_shapes(daemon, job, arrays, 3)
    assert model["inputs"] == [{"name": "input", "datatype": "FP32", "shape": [-1, 32, 32]}], model
    maps = query_array(daemon, job, "motifs", X)
    assert maps.any()
    assert np.array_equal(arrays["motifs"], maps)
    where = np.argwhere(maps)
    assert np.array_equal(arrays["motifs_coordinates"], where)
    assert np.array_equal(arrays["motifs_values"], maps[tuple(where.T)])
    answers = daemon.ask("POST", f"/v1/jobs/{job}/predict", {"inputs": [{"array": x.tolist()} for x in X]})[2]["answers"]
    assert arrays["labels"].tolist() == [" ".join(a["prediction"]) for a in answers]
    assert np.allclose(arrays["probabilities"], [a["probability"] for a in answers], rtol=1e-6)
    status, plain = infer(daemon, job, X, binary=False)
    assert status == 200 and plain.keys() == arrays.keys()
    assert all(np.array_equal(plain[name], arrays[name]) for name in arrays)
    status, few = infer(daemon, job, X[:1], ["labels"])
    assert list(few) == ["labels"] and few["labels"][0] == arrays["labels"][0]


def sequences_have_a_label_at_each_position(daemon):
    config = {"total_samples": 8, "batch": 2, "test_samples": 4, "motif_samples": 4, "stage_samples": 4, "validation_samples": 4}
    job = train(daemon, "sparling", "splicing", config)
    shape = daemon.ask("GET", f"/v2/models/{job}")[2]["inputs"][0]["shape"]
    assert shape[2] == 4 and len(shape) == 3, shape
    X = np.eye(4, dtype="<f4")[np.random.default_rng(2).integers(4, size=(2, shape[1]))]
    status, arrays = infer(daemon, job, X, ["labels", "probabilities"])
    assert status == 200, arrays
    assert arrays["labels"].shape == arrays["probabilities"].shape == (2, shape[1])
    answers = daemon.ask("POST", f"/v1/jobs/{job}/predict", {"inputs": [{"array": x.tolist()} for x in X]})[2]["answers"]
    common = {name for name in set(arrays["labels"].ravel())}
    for labels, probabilities, answer in zip(arrays["labels"], arrays["probabilities"], answers):
        for site in answer["prediction"]:
            assert labels[site["position"]] == site["class"]
            assert abs(probabilities[site["position"]] - site["probability"]) < 1e-6
    assert (arrays["probabilities"] >= 1 / 3 - 1e-6).all() and len(common) <= 3


def table(rows, columns, groups=False):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(rows, columns)).astype("f4")
    out = io.BytesIO()
    names = np.array([f"x{at}" for at in range(columns)])
    np.savez(out, x=x, columns=names, **({"group": np.array([f"g{at % 2}" for at in range(rows)])} if groups else {}))
    return x, out.getvalue()


def tables_answer_as_queries_do(daemon):
    x, rows = table(60, 6)
    assert daemon.ask("PUT", "/v1/datasets/rows?format=npz", rows, OCTETS)[0] == 201
    for config in ({"model": "sparse-vae", "epochs": 2, "restarts": 1, "screen_epochs": 0}, {"model": "vae", "epochs": 2}):
        job = train(daemon, "factors", "cells", {"data": "cells", "dataset_name": "rows", "latent": 3, "hidden": 8, "batch": 20, **config})
        status, arrays = infer(daemon, job, x[:5])
        assert status == 200, arrays
        check_shapes(daemon, job, arrays, 5)
        assert np.array_equal(arrays["factors"], query_array(daemon, job, "encode", x[:5]))
        assert np.array_equal(arrays["reconstruction"], query_array(daemon, job, "predict", x[:5]))
    x, rows = table(80, 6, groups=True)
    assert daemon.ask("PUT", "/v1/datasets/grouped?format=npz", rows, OCTETS)[0] == 201
    job = train(daemon, "environments", None, {"data": "table", "dataset_name": "grouped", "target": "read", "latent": 2, "updates": 20, "unseen": 0})
    width = daemon.ask("GET", f"/v2/models/{job}")[2]["inputs"][0]["shape"][1]
    status, arrays = infer(daemon, job, x[:5, :width])
    assert status == 200, arrays
    check_shapes(daemon, job, arrays, 5)
    assert np.array_equal(arrays["latent"], query_array(daemon, job, "encode", x[:5, :width]))
    assert np.array_equal(arrays["outcomes"], query_array(daemon, job, "predict", x[:5, :width]))


def autoencoders_answer_as_queries_do(daemon):
    job = train(daemon, "superposition", "fig3", {"n_s": 32, "n_d": 8, "total_samples": 2000})
    x = np.random.default_rng(4).uniform(0, 1, (4, 32)).astype("<f4")
    status, arrays = infer(daemon, job, x)
    assert status == 200, arrays
    check_shapes(daemon, job, arrays, 4)
    assert np.array_equal(arrays["reconstruction"], query_array(daemon, job, "predict", x))


def dictionaries_answer_as_queries_do(daemon):
    x = np.random.default_rng(6).normal(size=(80, 8)).astype("<f4")
    out = io.BytesIO()
    np.savez(out, x=x)
    assert daemon.ask("PUT", "/v1/datasets/activations?format=npz", out.getvalue(), OCTETS)[0] == 201
    job = train(daemon, "dictionary", "dataset", {"dataset_name": "activations", "width": 16, "l0": 3, "seeds": 2, "batch": 32, "total_samples": 2000})
    status, arrays = infer(daemon, job, x[:4])
    assert status == 200, arrays
    codes = query_array(daemon, job, "encode", x[:4])
    assert codes.any() and np.array_equal(arrays["codes"], codes)
    assert np.array_equal(arrays["codes_coordinates"], np.argwhere(codes)) and np.array_equal(arrays["codes_values"], codes[codes != 0])
    assert np.array_equal(arrays["reconstruction"], query_array(daemon, job, "decode", codes))


def kind_without_tensors_is_refused(daemon):
    job = train(daemon, "pathways", "single-layer", {"trials": 8})
    status, _, problem = daemon.ask("GET", f"/v2/models/{job}")
    assert status == 404 and "pathways" in problem["error"], problem


def paths_and_methods_without_a_route_have_the_error_of_the_protocol(daemon):
    for method, path, wanted in (("GET", "/v2/model", 404), ("GET", "/v2/models/latest/metrics", 404), ("POST", "/v2/health/live", 405), ("GET", "/v2/models/latest/infer", 405)):
        status, _, problem = daemon.ask(method, path)
        assert status == wanted and problem["error"] == problem["detail"], (method, path, problem)
    assert "error" not in daemon.ask("GET", "/v1/model")[2]


def protocol_needs_the_tokens_of_queries(folder, program):
    with Daemon(program, os.path.join(folder, "limits.db"), "--token", "a-token-of-sixteen") as daemon:
        assert daemon.ask("GET", "/v2")[0] == 401
        assert daemon.ask("GET", "/v2/health/ready")[0] == 200
        status, problem = infer(daemon, "latest", np.zeros((1, 2, 2), "<f4"))
        assert status == 401 and problem["error"] == problem["detail"], problem
        assert infer(daemon, "latest", np.zeros((1, 2, 2), "<f4"), Authorization="Bearer a-token-of-sixteen")[0] == 404


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(program, os.path.join(folder, "wire.db"), "--data", os.path.join(folder, "data")) as daemon:
            run_checks(*[(check.__name__, lambda check=check: check(daemon)) for check in (
                images_answer_as_queries_do, sequences_have_a_label_at_each_position, tables_answer_as_queries_do, autoencoders_answer_as_queries_do,
                dictionaries_answer_as_queries_do, kind_without_tensors_is_refused,
                paths_and_methods_without_a_route_have_the_error_of_the_protocol)])
        run_checks((protocol_needs_the_tokens_of_queries.__name__, lambda: protocol_needs_the_tokens_of_queries(folder, program)))


main()
