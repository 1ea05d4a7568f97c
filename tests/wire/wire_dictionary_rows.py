#!/usr/bin/env python3
"""Trains a dictionary on uploaded activations and asks it over HTTP, with NumPy: wire_dictionary_rows.py MOTIFD. Skipped (77) without NumPy."""
import io
import json
import os
import sys
import tarfile
import tempfile
import time

try:
    import numpy
except ImportError:
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness"), os.path.join(HERE, "..", "..", "clients", "python")]
import motifd  # noqa: E402
from daemon import Daemon, run_checks  # noqa: E402

NPY = "application/x-npy"
SAMPLES, TOKENS, WIDTH, D, TRUE = 600, 5, 24, 12, 20
RNG = numpy.random.default_rng(1)
DIRECTIONS = RNG.normal(size=(TRUE, D))
DIRECTIONS /= numpy.linalg.norm(DIRECTIONS, axis=1, keepdims=True)
ROWS = ((RNG.random((SAMPLES * TOKENS, TRUE)) < 0.1) * RNG.uniform(1, 2, (SAMPLES * TOKENS, TRUE)) @ DIRECTIONS).astype(numpy.float32)


def npy(array):
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def read_folder(tar):
    """The files of an exported folder: the configuration, and the tensors of each safetensors file."""
    files = {}
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        for member in archive.getmembers():
            data = archive.extractfile(member).read()
            if member.name.endswith(".json"):
                files[member.name] = json.loads(data)
                continue
            length = int.from_bytes(data[:8], "little")
            head, rest, end = json.loads(data[8:8 + length]), data[8 + length:], 0
            assert length % 8 == 0
            files[member.name] = {}
            for name, what in head.items():  # no gaps, no overlaps
                begin, end_here = what["data_offsets"]
                assert what["dtype"] == "F32" and begin == end and end_here - begin == 4 * numpy.prod(what["shape"]), what
                files[member.name][name], end = numpy.frombuffer(rest[begin:end_here], "<f4").reshape(what["shape"]), end_here
            assert end == len(rest)
    return files


def saelens_codes(files, x):
    """What SAELens computes with the folder (sae_lens/saes): standard, topk and jumprelu, without normalisation."""
    config, w = files["cfg.json"], files["sae_weights.safetensors"]
    assert config["apply_b_dec_to_input"] is True and config["normalize_activations"] == "none" and config["dtype"] == "float32", config
    assert int(config["metadata"]["sae_lens_version"].split(".")[0]) >= 6
    names = {"W_enc": [config["d_in"], config["d_sae"]], "W_dec": [config["d_sae"], config["d_in"]], "b_enc": [config["d_sae"]], "b_dec": [config["d_in"]]}
    if config["architecture"] == "jumprelu":
        names["threshold"] = [config["d_sae"]]
    assert {name: list(w[name].shape) for name in w} == names, names
    h = (x.astype(float) - w["b_dec"]) @ w["W_enc"].astype(float) + w["b_enc"]
    if config["architecture"] == "jumprelu":
        return numpy.maximum(h, 0) * (h > w["threshold"]), w
    a = numpy.maximum(h, 0)
    if config["architecture"] == "topk":
        assert config["rescale_acts_by_decoder_norm"] is False
        cut = numpy.sort(h, axis=1)[:, -config["k"]]
        a *= h >= cut[:, None]
    return a, w


def main():
    with tempfile.TemporaryDirectory() as folder, Daemon(os.path.abspath(sys.argv[1]), os.path.join(folder, "db"), "--data", folder + "/data") as daemon:
        def ask(method, path, body=None, **more):
            return daemon.ask(method, path, body, **more)

        def rows(query, array, expected=200, more=""):
            status, _, body = ask("POST", f"/v1/jobs/own/{query}?batch=1{more}", npy(array), kind=NPY, headers={"Accept": NPY})
            assert status == expected, (status, body)
            return numpy.load(io.BytesIO(body)) if status == 200 else body

        def a_job_trains_on_samples_of_tokens():
            file = io.BytesIO()
            numpy.savez(file, x=ROWS.reshape(SAMPLES, TOKENS, D), group=[f"doc{i // 10}" for i in range(SAMPLES)])
            status, _, body = ask("PUT", "/v1/datasets/own", file.getvalue(), kind="application/x-npz")
            assert status == 201, body
            status, _, body = ask("POST", "/v1/jobs", {"kind": "dictionary", "preset": "dataset", "name": "own", "config": {
                "dataset_name": "own", "learner": "matryoshka", "width": WIDTH + 8, "l0": 2, "seeds": 2, "batch": 100, "learning_rate": 3e-3,
                "total_samples": 100000, "pursuit_samples": 50}})
            assert status == 201 and body["config"]["inputs"] == D, body
            deadline = time.monotonic() + 120
            while (body := ask("GET", "/v1/jobs/own")[2])["state"] not in ("succeeded", "failed") and time.monotonic() < deadline:
                time.sleep(0.2)
            assert body["state"] == "succeeded", body
            result = body["result"]
            assert result["explained_variance"] > 0.3 and result["mcc"] is None and 0 < result["pw_mcc"] <= 1, result
            assert result["samples"] < SAMPLES * TOKENS / 5, result

        def latents_point_back_to_the_rows():
            listed = ask("GET", "/v1/jobs/own/latents?count=5&sort=rate")[2]
            assert listed["levels"] == [1, 4, 16, 32] and len(listed["latents"]) == 5, listed
            rates = [latent["rate"] for latent in listed["latents"]]
            assert rates == sorted(rates, reverse=True), rates
            first = ask("GET", f"/v1/jobs/own/latents/{listed['latents'][0]['latent']}")[2]
            assert len(first["strongest"]) == 16 and len(first["nearest"]) == 8, first
            for place in first["strongest"]:
                assert place["row"] == TOKENS * place["sample"] + place["token"] and place["group"] == f"doc{place['sample'] // 10}", place
            assert sum(part["samples"] for part in first["histogram"]) == round(first["rate"] * listed["samples"]), first
            assert ask("GET", "/v1/jobs/own/latents/32")[0] == 404

        def rows_of_shards_and_tensors_keep_their_ids():
            half, ids = len(ROWS) // 2, [f"prompt-{i // 3}" for i in range(len(ROWS))]
            shards = io.BytesIO()
            with tarfile.open(fileobj=shards, mode="w", format=tarfile.USTAR_FORMAT) as tar:
                for member, array in (("x-0", ROWS[:half]), ("x-1", ROWS[half:]), ("id", numpy.array(ids))):
                    data = npy(array)
                    info = tarfile.TarInfo(f"acts/{member}.npy")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
            head = json.dumps({"resid": {"dtype": "F32", "shape": list(ROWS.shape), "data_offsets": [0, ROWS.nbytes]},
                               "id": {"dtype": "I64", "shape": [len(ROWS)], "data_offsets": [ROWS.nbytes, ROWS.nbytes + 8 * len(ROWS)]}}).encode()
            tensors = len(head).to_bytes(8, "little") + head + ROWS.tobytes() + (10 ** 15 + numpy.arange(len(ROWS))).astype("<i8").tobytes()
            for name, kind, data, id_of in (("shards", "application/x-tar", shards.getvalue(), lambda row: ids[row]),
                                            ("tensors", "application/x-safetensors", tensors, lambda row: str(10 ** 15 + row))):
                status, _, body = ask("PUT", "/v1/datasets/" + name, data, kind=kind)
                assert status == 201, body
                status, _, body = ask("POST", "/v1/jobs", {"kind": "dictionary", "preset": "dataset", "name": name, "config": {
                    "dataset_name": name, "width": 16, "l0": 2, "seeds": 1, "batch": 100, "total_samples": 5000, "pursuit_samples": 0}})
                assert status == 201 and body["config"]["inputs"] == D, body
                deadline = time.monotonic() + 120
                while ask("GET", "/v1/jobs/" + name)[2]["state"] != "succeeded" and time.monotonic() < deadline:
                    time.sleep(0.1)
                listed = ask("GET", f"/v1/jobs/{name}/latents?count=1&sort=rate")[2]
                strongest = ask("GET", f"/v1/jobs/{name}/latents/{listed['latents'][0]['latent']}")[2]["strongest"]
                assert len(strongest) == 16 and all(place["id"] == id_of(place["row"]) for place in strongest), strongest
            status, _, body = ask("POST", "/v1/imports", shards.getvalue(), kind="application/octet-stream")
            assert status == 422 and "not a folder of SAELens" in json.dumps(body), body

        def many_rows_go_through_encode_and_decode():
            many = numpy.tile(ROWS, (34, 1))[:100000]
            codes = rows("encode", many, more="&dictionary=1")
            assert codes.shape == (100000, 32) and codes.dtype == numpy.float32 and (codes >= 0).all()
            one = ask("POST", "/v1/jobs/own/encode", {"inputs": [{"array": many[-1].tolist()}], "dictionary": 1})[2]["answers"][0]
            sparse = numpy.zeros(32)
            for latent in one["latents"]:
                sparse[latent["latent"]] = latent["value"]
            assert abs(sparse - codes[-1]).max() < 1e-4, (sparse, codes[-1])
            back = rows("decode", codes, more="&dictionary=1")
            share = 1 - ((back - many) ** 2).sum() / ((many - many.mean(0)) ** 2).sum()
            assert back.shape == many.shape and share > 0.3, share
            assert b"at most 100000 rows" in rows("encode", numpy.zeros((100001, D), "f4"), 422).__repr__().encode()
            rows("encode", numpy.zeros((3, D + 1), "f4"), 422)
            rows("encode", numpy.full((3, D), numpy.nan, "f4"), 422)
            rows("encode", ROWS[:3], 400, more="&dictionary=8")
            rows("encode", ROWS[:3], 422, more="&dictionary=2")

        def steering_and_comparison_answer():
            row = int(abs(ROWS).sum(1).argmax())
            codes = ask("POST", "/v1/jobs/own/encode", {"inputs": [{"sample": {"seed": row}}]})[2]["answers"][0]["latents"]
            number = codes[0]["latent"]
            answer = ask("POST", "/v1/jobs/own/steer", {"inputs": [{"sample": {"seed": row}}], "set": f"{number}=0"})[2]["answers"][0]
            moved = numpy.array(answer["steered"]) - ROWS[row]
            assert abs(numpy.linalg.norm(moved) - codes[0]["value"]) < 1e-4 and answer["changes"][0]["before"] == codes[0]["value"], answer
            status, _, body = ask("POST", "/v1/jobs/own/steer", {"inputs": [{"sample": {"seed": 7}}], "set": "99=1"})
            assert status == 422 and body["errors"][0]["pointer"] == "/set", body
            own = ask("GET", "/v1/jobs/own")[2]["id"]
            same = ask("POST", "/v1/jobs/own/compare", {"with": own})[2]
            assert same["shared"] == same["width"] == 32 and same["pw_mcc"] > 0.999, same

        def saelens_computes_the_same_codes_from_the_export():
            x = ROWS[:300]
            for learner in ("matryoshka", "l1", "topk", "jumprelu", "batchtopk"):
                if learner != "matryoshka":
                    status, _, body = ask("POST", "/v1/jobs", {"kind": "dictionary", "preset": "dataset", "name": learner, "config": {
                        "dataset_name": "own", "learner": learner, "width": 20, "l0": 2, "seeds": 2, "batch": 100, "total_samples": 10000,
                        "test_samples": 200, "pursuit_samples": 0}})
                    assert status == 201, body
                name = "own" if learner == "matryoshka" else learner
                deadline = time.monotonic() + 120
                while ask("GET", "/v1/jobs/" + name)[2]["state"] != "succeeded" and time.monotonic() < deadline:
                    time.sleep(0.1)
                for seed in (0, 1):
                    status, head, tar = ask("GET", f"/v1/jobs/{name}/saelens?dictionary={seed}")
                    assert status == 200 and head["Content-Type"] == "application/x-tar", (status, tar)
                    files = read_folder(tar)
                    assert ("sparsity.safetensors" in files) == (seed == 0)
                    codes, w = saelens_codes(files, x)
                    body = ask("POST", f"/v1/jobs/{name}/encode?batch=1&dictionary={seed}", npy(x), kind=NPY, headers={"Accept": NPY})[2]
                    ours = numpy.load(io.BytesIO(body))
                    if learner == "topk":  # rows of any norm
                        codes = codes * numpy.linalg.norm(w["W_dec"], axis=1)
                    else:
                        assert abs(numpy.linalg.norm(w["W_dec"], axis=1) - 1).max() < 1e-5
                    differ = abs(codes - ours) > 1e-3 * (1 + abs(ours))
                    assert differ.mean() < 1e-3 and (ours > 0).sum() > 50, (learner, seed, differ.mean())  # rounding may move a value over a threshold
                    back = numpy.load(io.BytesIO(ask("POST", f"/v1/jobs/{name}/decode?batch=1&dictionary={seed}", npy(ours), kind=NPY,
                                                     headers={"Accept": NPY})[2]))
                    status, _, made = ask("POST", f"/v1/imports?name={learner}-{seed}", tar, kind="application/octet-stream")
                    assert status == 201 and made["kind"] == "dictionary" and made["config"]["inputs"] == D, (status, made)
                    body = ask("POST", f"/v1/jobs/{made['id']}/encode?batch=1", npy(x), kind=NPY, headers={"Accept": NPY})[2]
                    again = numpy.load(io.BytesIO(body))
                    assert (abs(again - ours) > 1e-3 * (1 + abs(ours))).mean() < 1e-3, (learner, seed)
                    same = ask("POST", f"/v1/jobs/{name}/compare", {"with": made["id"]})[2]
                    assert (same["shared"] == same["width"]) == (seed == 0), same
                    unit = w["W_dec"] / numpy.linalg.norm(w["W_dec"], axis=1)[:, None]
                    assert abs(ours @ unit + w["b_dec"] - back).max() < 1e-3
            assert ask("POST", "/v1/jobs", {"kind": "dictionary", "name": "pursuit", "config": {
                "learner": "matching-pursuit", "features": 16, "inputs": 6, "roots": 2, "width": 8, "l0": 2, "batch": 64, "total_samples": 640,
                "test_samples": 50, "pursuit_samples": 0}})[0] == 201
            deadline = time.monotonic() + 60
            while ask("GET", "/v1/jobs/pursuit")[2]["state"] != "succeeded" and time.monotonic() < deadline:
                time.sleep(0.1)
            status, _, body = ask("GET", "/v1/jobs/pursuit/saelens")
            assert status == 409 and "no encoder" in body["detail"], body

        def the_python_class_encodes_decodes_and_exports():
            model = motifd.Dictionary(daemon.url, n_components=24, l0=2, seeds=2, total_samples=20000, config={"batch": 100, "learning_rate": 3e-3},
                                      progress=False)
            codes = model.fit_transform(ROWS.reshape(SAMPLES, TOKENS, D))
            assert codes.shape == (SAMPLES * TOKENS, 24) and (codes >= 0).all()
            share = 1 - ((model.inverse_transform(codes) - ROWS) ** 2).sum() / ((ROWS - ROWS.mean(0)) ** 2).sum()
            assert share > 0.3, share
            assert [latent["latent"] for latent in model.latents_] == list(range(24)) and set(model.worth_) <= set(range(24))
            moved = model.steer(ROWS[:3], {5: 2.0}) - model.steer(ROWS[:3], {5: 0.0})
            assert abs(numpy.linalg.norm(moved, axis=1) - 2).max() < 1e-4
            model.saelens(folder + "/sae")
            with open(folder + "/sae/cfg.json", encoding="utf-8") as file:
                assert json.load(file)["d_sae"] == 24

        def a_superposition_job_gives_its_hidden_layer():
            status, _, body = ask("POST", "/v1/jobs", {"kind": "superposition", "name": "toy", "config": {
                "n_s": 24, "n_d": 8, "p": 0.1, "batch": 100, "stop": "never", "total_samples": 20000, "test_samples": 100}})
            assert status == 201, body
            own = {"source": "trained", "features": 24, "inputs": 8, "p": 0.1, "width": 24, "l0": 0, "batch": 100, "total_samples": 20000,
                   "test_samples": 500, "pursuit_samples": 0}
            deadline = time.monotonic() + 60
            while ask("GET", "/v1/jobs/toy")[2]["state"] != "succeeded" and time.monotonic() < deadline:
                time.sleep(0.1)
            status, _, body = ask("POST", "/v1/jobs", {"kind": "dictionary", "name": "inside", "config": own, "from": {"job": "toy"}})
            assert status == 201, body
            while ask("GET", "/v1/jobs/inside")[2]["state"] not in ("succeeded", "failed") and time.monotonic() < deadline:
                time.sleep(0.1)
            body = ask("GET", "/v1/jobs/inside")[2]
            assert body["state"] == "succeeded" and body["result"]["mcc"] > 0.5, body
            status, _, body = ask("POST", "/v1/jobs", {"kind": "factors", "config": {"dataset": 1}, "from": {"job": "toy"}})
            assert status == 422 and "is of kind superposition" in body["errors"][0]["detail"], body

        run_checks(("a job trains on samples of tokens", a_job_trains_on_samples_of_tokens),
                   ("latents point back to the rows", latents_point_back_to_the_rows),
                   ("rows of shards and tensors keep their ids", rows_of_shards_and_tensors_keep_their_ids),
                   ("many rows go through encode and decode", many_rows_go_through_encode_and_decode),
                   ("steer and compare give the expected codes", steering_and_comparison_answer),
                   ("SAELens computes the same codes from the export", saelens_computes_the_same_codes_from_the_export),
                   ("the Python class encodes, decodes and exports", the_python_class_encodes_decodes_and_exports),
                   ("a superposition job gives its hidden layer", a_superposition_job_gives_its_hidden_layer))


main()
