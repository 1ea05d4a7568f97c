#!/usr/bin/env python3
"""Uploads features and trains superposition jobs on them over HTTP, with NumPy: wire_superposition_rows.py MOTIFD. Skipped (77) without NumPy."""
import io
import os
import sys
import tempfile
import time

try:
    import numpy
except ImportError:
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness")]
from daemon import Daemon, run_checks  # noqa: E402

NPY = "application/x-npy"
ROWS, N_S, P, UNIT = 5000, 24, 0.1, 30.0
RNG = numpy.random.default_rng(1)
FEATURES = (RNG.random((ROWS, N_S)) < P) * RNG.random((ROWS, N_S)) * UNIT
SHORT = {"ratio": 0.2, "batch": 100, "block": 0, "stop": "never", "learning_rate": 1e-2, "total_samples": 100000, "test_samples": 20000}


def npy(array):
    file = io.BytesIO()
    numpy.save(file, array.astype("f4"))
    return file.getvalue()


def main():
    with tempfile.TemporaryDirectory() as folder, Daemon(os.path.abspath(sys.argv[1]), os.path.join(folder, "db"), "--data", folder + "/data") as daemon:
        def ask(method, path, body=None, **more):
            return daemon.ask(method, path, body, **more)

        def submit(name, config, **more):
            return ask("POST", "/v1/jobs", {"kind": "superposition", "name": name, "config": config, **more})

        def train(name, config, **more):
            status, _, body = submit(name, config, **more)
            assert status == 201, body
            deadline = time.monotonic() + 200
            while (body := ask("GET", "/v1/jobs/" + name)[2])["state"] not in ("succeeded", "failed") and time.monotonic() < deadline:
                time.sleep(0.2)
            assert body["state"] == "succeeded", body
            return body

        def fault_of(config, **more):
            status, _, body = ask("POST", "/v1/jobs?dry_run=1", {"kind": "superposition", "config": config, **more})
            assert status == 422, (status, body)
            return body["errors"][0]["pointer"]

        def uploaded_features_give_the_loss_of_drawn_ones():
            status, _, body = ask("PUT", "/v1/datasets/codes", npy(FEATURES), kind=NPY)
            assert status == 201, body
            job = train("own", {**SHORT, "dataset_name": "codes"})
            share = (FEATURES > 0).mean()
            assert job["config"]["n_s"] == N_S and abs(job["config"]["p"] / share - 1) < 1e-9, job["config"]
            result, data = job["result"], job["result"]["data"]
            assert data["rows"] == ROWS and data["features"] == N_S and ROWS / 20 < data["test_rows"] == result["samples"], data
            assert abs(data["scale"] * UNIT - 1) < 0.03 and abs(data["p"] / share - 1) < 1e-9, data
            drawn = train("drawn", {**SHORT, "n_s": N_S, "p": P})["result"]
            assert "data" not in drawn
            assert abs(result["loss"] / drawn["loss"] - 1) < 0.12 and abs(result["analytic_loss"] / drawn["analytic_loss"] - 1) < 0.05, (result, drawn)

        def the_preset_leaves_a_picture_and_a_table():
            config = {"dataset_name": "codes", "total_samples": 5000}
            job = train("preset", config, preset="dataset")
            names = [item["name"] for item in ask("GET", f"/v1/jobs/{job['id']}/artifacts")[2]["artifacts"]]
            assert any(name.endswith(".png") for name in names) and any(name.endswith(".csv") for name in names), names

        def a_job_can_be_submitted_again_with_its_own_configuration():
            config = ask("GET", "/v1/jobs/own")[2]["config"]
            status, _, body = submit("again", {**config, "seed": 5, "total_samples": 1000})
            assert status == 201 and body["config"]["p"] == config["p"], body

        def dry_runs_name_what_is_wrong():
            assert fault_of({"dataset_name": "gone"}) == "/config/dataset_name"
            assert fault_of({"dataset_name": "codes", "p": 0.3}) == "/config/p"
            assert fault_of({"dataset_name": "codes", "n_s": 64}) == "/config/n_s"
            assert fault_of({"dataset_name": "codes", "model": "rug"}) == "/config/model"
            assert fault_of({}, preset="dataset") == fault_of({"dataset_name": ""}, preset="dataset") == "/config/dataset_name"
            negative = FEATURES.copy()
            negative[7, 3] = -1
            for name, rows in (("negative", negative), ("few", FEATURES[:99]), ("zero", 0 * FEATURES[:200])):
                assert ask("PUT", "/v1/datasets/" + name, npy(rows), kind=NPY)[0] == 201
                assert fault_of({"dataset_name": name}) == "/config/dataset_name"

        def the_data_set_lists_the_kind_last():
            kinds = ask("GET", "/v1/datasets/codes")[2]["kinds"]
            assert kinds[-1]["kind"] == "superposition" and kinds[-1]["accepts"], kinds
            assert [kind["accepts"] for kind in ask("GET", "/v1/datasets/negative")[2]["kinds"] if kind["kind"] == "superposition"] == [False]

        def a_model_answers_about_rows_and_arrays():
            answers = ask("POST", "/v1/jobs/own/predict", {"inputs": [{"array": FEATURES[0].tolist()}, {"sample": {"seed": 3}}]})[2]["answers"]
            shown = {feature["feature"]: feature["value"] for feature in answers[0]["features"] if feature["value"] > 0}
            assert set(shown) == set(numpy.flatnonzero(FEATURES[0])), answers[0]
            assert all(abs(shown[i] - FEATURES[0, i]) < 1e-3 for i in shown) and answers[1]["n_s"] == N_S, answers

        run_checks(("uploaded features give the loss of drawn ones", uploaded_features_give_the_loss_of_drawn_ones),
                   ("the preset leaves a picture and a table", the_preset_leaves_a_picture_and_a_table),
                   ("a job can be submitted again with its own configuration", a_job_can_be_submitted_again_with_its_own_configuration),
                   ("dry runs name what is wrong", dry_runs_name_what_is_wrong),
                   ("the data set lists the kind last", the_data_set_lists_the_kind_last),
                   ("a model answers about rows and arrays", a_model_answers_about_rows_and_arrays))


main()
