#!/usr/bin/env python3
"""Tests the Python client (clients/python/motifd.py) with a real daemon and with servers that send prepared answers.

usage: wire_python.py MOTIFD        exit code 77: NumPy is missing"""
import copy
import http.server
import io
import json
import os
import pathlib
import pickle
import re
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
import wave
import zlib

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(HERE, "..", "..", "clients", "python")
sys.path[:0] = [PYTHON, os.path.join(HERE, "..", "harness")]
import motifd  # noqa: E402
from daemon import TINY as TINY_NET, Daemon  # noqa: E402
from played import Answer, Server  # noqa: E402
import tensorboard_file  # noqa: E402

MOTIFD = os.path.abspath(sys.argv.pop(1))
TINY = {"width": 8, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "units": 1, "validation_every": 40, "validation_samples": 8,
        "checkpoint_every": 100, "test_samples": 20, "motif_samples": 20, "curriculum": 0}
LONG = {**TINY_NET, "plateau_validations": 0, "total_samples": 100000000}
RNG = np.random.default_rng(1)
FOLDER = tempfile.TemporaryDirectory()
DAEMON = Daemon(MOTIFD, os.path.join(FOLDER.name, "db"), "--data", os.path.join(FOLDER.name, "sets"), "--workers", "1", "--threads-per-job", "1")
os.environ["MOTIFD_SERVER"] = DAEMON.url


def pictures(count=120):
    X, y = np.zeros((count, 16, 16), np.float32), RNG.integers(2, size=count)
    for at in range(count):
        row, col = RNG.integers(2, 11, 2)
        X[at, row:row + 4, col:col + 4] = 1
        if y[at]:
            X[at, row + 1:row + 4, col + 1:col + 4] = 0
    return X, y


def table(rows=200):
    z = RNG.normal(size=(rows, 2))
    return np.column_stack([z[:, 0], 2 * z[:, 0], z[:, 1], -z[:, 1]]) + 0.1 * RNG.normal(size=(rows, 4))


class Estimators(unittest.TestCase):
    def test_motifs_of_pictures_come_back_as_arrays_labels_and_boxes(self):
        X, y = pictures()
        model = motifd.Motifs(total_samples=2000, config=TINY).fit(X, y, names=["solid", "corner"])
        dense, again = model.transform(X), motifd.Motifs(config=TINY, sparse=True)
        self.assertEqual(dense.shape[:3], X.shape)
        again.job_, again.labels_ = model.job_, model.labels_
        sparse = again.transform(X)
        np.testing.assert_array_equal(sparse.todense(), dense)
        self.assertEqual(len(sparse.values), np.count_nonzero(dense))
        answers = list(model.job.ask_each("motifs", X[:70]))  # more than one batch of JSON answers
        self.assertEqual([answer["motif_count"] for answer in answers], [int(np.count_nonzero(one)) for one in dense[:70]])
        for boxes, answer in zip(model.boxes(X[:70]), answers):
            self.assertEqual(len(boxes), sum(motif["maximal"] for motif in answer["motifs"]))
            for box in boxes:
                r0, r1, c0, c1 = box["box"]
                self.assertTrue(0 <= r0 < r1 <= 16 and 0 <= c0 < c1 <= 16, box)
        scores, p = model.scores(X[:8]), model.scores(X[:8], "p")
        self.assertEqual(scores.shape, dense[:8].shape)
        both = (dense[:8] > 0) & (scores > 0)  # a motif of an otherwise empty map has a score below 0
        self.assertGreater(both.sum(), 0)
        np.testing.assert_allclose(scores[both], dense[:8][both], rtol=1e-4, atol=1e-5)
        for c in range(p.shape[3]):
            order = np.argsort(-scores[..., c], axis=None)
            ranked = p[..., c].reshape(-1)[order]
            self.assertTrue(np.isnan(ranked).all() or (np.diff(ranked) >= 0).all() and 0 < ranked[0] and ranked[-1] <= 1, ranked)
        self.assertEqual(model.job.ask("scores", X[:1])["answers"][0]["shape"], list(scores.shape[1:]))
        few = model.boxes(X, false_marks=0.2)
        marks = [box for one in few for box in one]
        self.assertEqual(len(few), len(X))
        self.assertTrue(all(box["q"] is not None and box["q"] <= 0.2 for box in marks))
        if few.bound is None:
            self.assertTrue(few.why and few.why in few.sentence, few.sentence)
        else:
            self.assertEqual(few.bound["marks"], len(marks))
            self.assertTrue(few.sentence.startswith(f"of these {len(marks)} marks at most {few.bound['false_at_most']} are false (95 %)"), few.sentence)
        predicted = model.predict(X)
        self.assertGreater(len(set(predicted.tolist())), 1)
        self.assertAlmostEqual(model.score(X, y), np.mean(predicted == y))
        self.assertGreater(model.score(X, y), 0.6)
        np.testing.assert_array_equal(model.transform(X[:5], sparse=True).todense(), dense[:5])
        np.testing.assert_array_equal(again.transform(X[:5], sparse=False), dense[:5])
        scores, shares = model.decision_function(X), model.predict_proba(X)
        # the daemon sorts names: its first name is corner, which is label 1
        self.assertEqual((scores.shape, model.score_names_, model.classes_.tolist()), ((len(X), 2), ["solid", "corner"], [0, 1]))
        for k, name in enumerate(model.score_names_):
            self.assertGreater(scores[y == k, k].mean(), scores[y != k, k].mean(), name)
            self.assertGreater(shares[y == k, k].mean(), shares[y != k, k].mean(), name)
        np.testing.assert_allclose(shares.sum(1), 1)
        self.assertGreater((model.classes_[scores.argmax(1)] == y).mean(), 0.6)
        plain = motifd.Motifs(total_samples=40, config={**TINY, "presence_weight": 0}).fit(X, y)
        self.assertRaisesRegex(ValueError, "presence objective", plain.decision_function, X[:2])
        names = {entry["name"] for entry in DAEMON.ask("GET", f"/v1/datasets/{model.data_['name']}")[2]["vocabulary"]}
        self.assertEqual(names, {"solid", "corner"})
        page = model.channels_[0]._repr_html_()
        self.assertIn("data:image/png;base64,iVBOR", page)
        metrics = model.job.metrics()
        self.assertTrue(all(len(column) == len(metrics["step"]) for column in metrics.values()) and len(metrics["loss"]) > 2, metrics)
        self.assertEqual(list(model.job.metrics("loss")), ["step", "loss"])

    def test_the_same_data_are_uploaded_once(self):
        X, y = pictures(60)
        names = [motifd.Motifs(total_samples=40, config=TINY).fit(X, y).data_["name"] for _ in range(2)]
        self.assertEqual(names[0], names[1])
        other = motifd.Motifs(total_samples=40, config=TINY).fit(X, 1 - y).data_["name"]
        self.assertNotEqual(other, names[0])

    def test_an_upload_under_a_name_compares_all_options(self):
        client, pictures_file, table = motifd.Client(retries=0), io.BytesIO(), b"a,b,label\n" + b"1,2,3\n2,1,4\n" * 20
        np.savez(pictures_file, x=np.zeros((9, 5, 6, 2), "f4") + np.arange(9)[:, None, None, None], y=np.arange(9) % 2)
        data = pictures_file.getvalue()
        first = client.upload(data, "npz", name="options-of-pictures")
        self.assertEqual(client.upload(data, "npz", name="options-of-pictures", layout="channels-last"), first)
        with self.assertRaisesRegex(motifd.MotifdError, "other options .layout"):
            client.upload(data, "npz", name="options-of-pictures", layout="channels-first")
        named = client.upload(table, "csv", name="options-of-a-table", label="b")
        self.assertEqual(client.upload(table, "csv", name="options-of-a-table", label="b"), named)
        for options in ({}, {"label": "label"}, {"label": "b", "group": "a"}):
            with self.assertRaisesRegex(motifd.MotifdError, "other options"):
                client.upload(table, "csv", name="options-of-a-table", **options)

    def test_two_clients_can_upload_the_same_data_at_once(self):
        names, data = [], b"a,b,label\n" + b"1,2,x\n2,1,y\n" * 100000
        threads = [threading.Thread(target=lambda: names.append(motifd.Client().upload(data, "csv")["name"])) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(names), len(set(names))), (3, 1))

    def test_signals_sequences_and_recordings_are_inputs_too(self):
        X, y = pictures(60)
        model = motifd.Motifs(total_samples=100, config=TINY).fit(X.reshape(60, 256), y)
        self.assertEqual(model.transform(X.reshape(60, 256)[:3]).shape[:3], (3, 1, 256))
        dna = ["".join(RNG.choice(list("ACGT"), 40)) for _ in range(60)]
        model = motifd.Motifs(total_samples=100, config=TINY).fit(dna, ["yes" if "TA" in text else "no" for text in dna])
        self.assertEqual(model.transform(dna[:3]).shape[:3], (3, 1, 40))
        self.assertTrue(set(model.predict(dna[:9]).tolist()) <= {"yes", "no", None})
        model = motifd.Motifs(total_samples=100, config=TINY).fit(dna, [{"TA"} if "TA" in text else set() for text in dna])
        self.assertEqual((model.data_["target"], [name["name"] for name in model.data_["vocabulary"]]), ("labels", ["TA"]))
        sounds = [0.3 * np.sin(np.arange(4000) * (0.1 + 0.2 * (at % 2))) for at in range(40)]
        model = motifd.Motifs(total_samples=100, sample_rate=8000, config=TINY).fit(sounds, [{"low"} if at % 2 else {"low", "high"} for at in range(40)])
        self.assertEqual(len(model.transform(sounds[:2])), 2)
        self.assertIsInstance(model.predict(sounds[:1])[0], set)

    def test_arrays_of_a_table_equal_the_documents_and_have_any_length(self):
        X = table()
        for model, query in ((motifd.SparseVAE(n_components=3, epochs=5), "factors"), (motifd.NMF(n_components=3), "factors")):
            X = abs(X)
            model.fit(X)
            answers = list(model.job.ask_each("predict", X[:70].astype(np.float32)))
            np.testing.assert_allclose(model.transform(X[:70]), [[factor["mean"] for factor in answer[query]] for answer in answers], rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(model.reconstruct(X[:70]), [[one["output"] for one in answer["features"]] for answer in answers], rtol=1e-5, atol=1e-6)
            encoded = model.job.ask("encode", X[:1])["answers"][0]
            self.assertEqual(encoded["factors"], answers[0]["factors"])
            self.assertNotIn("features", encoded)
        many = np.tile(X, (25, 1))  # more rows than one query takes
        np.testing.assert_array_equal(model.transform(many), np.tile(model.transform(X), (25, 1)))

    def test_trees_predict_the_outcome_of_each_environment(self):
        X, groups = table(400), RNG.choice(["a/b", "a/c", "d/e", "d/f"], 400)
        y = X[:, 0] + (groups == "a/b") * X[:, 2]
        model = motifd.Trees(n_components=2, updates=600).fit(X, y, groups)
        self.assertGreater(model.score(X, y, groups), 0.9)
        self.assertLess(model.score(X, y), model.score(X, y, groups))
        answers = list(model.job.ask_each("predict", X[:10].astype(np.float32)))
        wanted = [{row["name"]: row["outcome"] for row in answer["environments"]}[group] for answer, group in zip(answers, groups)]
        np.testing.assert_allclose(model.predict(X[:10], groups[:10]), wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(model.transform(X[:10]), [answer["latent"] for answer in answers], rtol=1e-5, atol=1e-6)
        with self.assertRaisesRegex(ValueError, "unknown environments"):
            model.predict(X[:1], ["z"])

    def test_the_number_of_factors_follows_from_the_data_unless_it_is_set(self):
        Z, W = RNG.normal(size=(300, 3)), RNG.normal(size=(3, 12))
        X = Z @ W + 0.2 * RNG.normal(size=(300, 12))
        model = motifd.SparseVAE(epochs=2).fit(X)
        self.assertEqual((model.n_components_, model.transform(X).shape), (3, (300, 3)))
        self.assertEqual(motifd.NMF(n_components=2).fit(abs(X)).n_components_, 2)
        self.assertEqual(motifd.Trees(updates=20).fit(X, X[:, 0]).transform(X).shape[1], 3)

    def test_a_dictionary_encodes_and_decodes_rows(self):
        atoms = RNG.normal(size=(12, 8))
        X = np.stack([atoms[RNG.choice(12, 2, replace=False)].sum(0) for _ in range(400)]).astype(np.float32)
        model = motifd.Dictionary(n_components=16, l0=2, learner="topk", seeds=1, batch=64, total_samples=200000).fit(X)
        codes = model.transform(X)
        self.assertEqual(codes.shape, (400, 16))
        self.assertLessEqual(int((codes != 0).sum(1).max()), 2)
        back = model.inverse_transform(codes)
        self.assertEqual(back.shape, X.shape)
        self.assertLess(((back - X) ** 2).mean(), 0.5 * X.var())

    def test_other_kinds_answer_with_arrays(self):
        job = motifd.Client().submit("superposition", {"n_s": 32, "n_d": 8, "test_samples": 200}, "rug").wait(120)
        X = RNG.uniform(size=(3, 32)).astype(np.float32)
        rows = [{one["feature"]: one["output"] for one in answer["features"]} for answer in job.ask_each("predict", X)]
        for got, row in zip(job.ask("predict", X, "application/x-npy"), rows):
            np.testing.assert_allclose([got[feature] for feature in row], list(row.values()), rtol=1e-5, atol=1e-6)

    def test_a_fitted_estimator_can_be_pickled(self):
        X = table(60)
        model = motifd.SparseVAE(n_components=2, epochs=2).fit(X)
        text = pickle.dumps(model)
        np.testing.assert_array_equal(pickle.loads(text).transform(X), model.transform(X))

    def test_neither_repr_nor_a_pickle_contains_a_token(self):
        X, secret = table(60), "motif_secret"
        for url in (DAEMON.url, motifd.Client(DAEMON.url, token=secret)):
            for token in (secret, None):
                model = motifd.NMF(url, n_components=2, iterations=5, token=token).fit(abs(X))
                self.assertEqual(model.get_params()["token"], token)
                for one in (model, motifd.Motifs(url, token=token), model.job_, model.job_.client, model.get_params()):
                    shown = repr(one) + (one._repr_html_() if hasattr(one, "_repr_html_") else "")
                    self.assertNotIn(secret, shown)
                    self.assertNotIn(secret.encode(), pickle.dumps(one))
                for same in (copy.copy(model), copy.deepcopy(model)):  # copies in one process keep it
                    self.assertEqual((same.token, same.job_.client.token), (token, model.job_.client.token))
                back = pickle.loads(pickle.dumps(model))
                self.assertEqual((back.token, back.job_.client.token, back.job_.client.url), (None, None, DAEMON.url))
                np.testing.assert_array_equal(back.transform(abs(X)), model.transform(abs(X)))
        self.assertEqual(pickle.loads(pickle.dumps(model.job_)).refresh().state, "succeeded")
        os.environ["MOTIFD_TOKEN"] = "of-the-environment"
        try:
            self.assertEqual(pickle.loads(pickle.dumps(model)).job_.client.token, "of-the-environment")
        finally:
            del os.environ["MOTIFD_TOKEN"]

    def test_a_verdict_warns_or_raises_and_its_absence_does_neither(self):
        class Verdict(motifd.SparseVAE):
            def _client(self):
                client = super()._client()
                get = client.get

                def with_verdict(path, **query):
                    document = get(path, **query)
                    if isinstance(document.get("result"), dict):
                        document["result"].update(verdict="not-learned", findings=[{"code": "flat", "severity": "error", "text": "The loss is flat.", "try": "motifctl plot JOB loss"},
                                                                                            {"code": "few", "severity": "note", "text": "There are few rows.", "try": "More rows than one JOB has."}])
                    return document
                client.get = with_verdict
                return client
        X = table(40)
        with self.assertWarnsRegex(RuntimeWarning, r"job (\w{26}) has not learned:\nerror: The loss is flat. Try: motifctl plot \1 loss\nnote: There are few rows. Try: More rows than one JOB has."):
            Verdict(n_components=2, epochs=1).fit(X)
        with self.assertRaisesRegex(motifd.NotLearned, "The loss is flat"):
            Verdict(n_components=2, epochs=1, raise_not_learned=True).fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = motifd.SparseVAE(n_components=2, epochs=100, raise_not_learned=True).fit(X)
        self.assertEqual(str(model.findings_), "no findings")


def png_of(picture):
    """A grey PNG file of values in [0, 1]."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (np.asarray(picture) * 255).round().astype(np.uint8)
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def module(test, name):
    try:
        return __import__(name)
    except ImportError:
        test.skipTest(f"{name} is not installed")


SHORT = {**TINY, "presence_samples": 400}


class Forms(unittest.TestCase):
    """Inputs and results in the forms that scientists have: frames, files, pictures, recordings, saved jobs."""

    def test_a_job_is_loaded_as_a_model(self):
        X, y = pictures(80)
        names = ["solid", "corner"]
        model = motifd.Motifs(total_samples=800, config=SHORT, name="to-load").fit(X, y, names=names)
        for job in (model.job_.id, "to-load", model.job_):
            loaded = motifd.Motifs.load(job, DAEMON.url)
            self.assertEqual(loaded.classes_.tolist(), sorted(names))
            self.assertEqual(loaded.predict(X[:20]).tolist(), [names[one] if one is not None else None for one in model.predict(X[:20])])
            np.testing.assert_array_equal(loaded.transform(X[:3]), model.transform(X[:3]))
            np.testing.assert_allclose(loaded.decision_function(X[:5])[:, ::-1], model.decision_function(X[:5]))
        self.assertEqual(motifd.Motifs.load(model.job_.id).job_.client.url, DAEMON.url)
        sets = motifd.Motifs(total_samples=100, config=TINY).fit(X, [{"a"} if one else {"a", "b"} for one in y])
        self.assertIsInstance(motifd.Motifs.load(sets.job_).predict(X[:1])[0], set)
        numbers = motifd.Motifs(total_samples=100, config=TINY).fit(X, np.stack([y + 0.5, y], 1))
        np.testing.assert_allclose(motifd.Motifs.load(numbers.job_).predict(X[:4]), numbers.predict(X[:4]))
        generated = motifd.Client().submit("sparling", TINY_NET, "digitcircle-quick").wait(60)
        self.assertTrue(all(isinstance(token, str) for token in motifd.Motifs.load(generated).predict(np.zeros((1, 32, 32)))[0] or []))
        with tempfile.TemporaryDirectory() as folder:
            path = model.export(os.path.join(folder, "m.bundle"))
            imported = motifd.Motifs.load(path)
            self.assertNotEqual(imported.job_.id, model.job_.id)
            np.testing.assert_array_equal(imported.transform(X[:3]), model.transform(X[:3]))
        with self.assertRaisesRegex(ValueError, "kind factors; Motifs.load"):
            motifd.Motifs.load(motifd.NMF(n_components=2, iterations=5).fit(abs(table(40))).job_)
        with self.assertRaises(motifd.MotifdError):
            motifd.Motifs.load("no-such-job")

    def test_models_are_exported_by_ending_reported_and_compared(self):
        X, y = pictures(60)
        model, other = (motifd.Motifs(total_samples=100, random_state=seed, config=TINY).fit(X, y) for seed in (1, 2))
        with tempfile.TemporaryDirectory() as folder:
            for ending, begin in ((".safetensors", None), (".onnx", b"\x08"), (".bundle", None), (".html", b"<!doctype html>"), (".HTML", b"<!doctype html>")):
                path = model.export(pathlib.Path(folder, f"model{ending}"))
                with open(path, "rb") as file:
                    data = file.read()
                self.assertGreater(len(data), 1000, ending)
                self.assertTrue(data.startswith(begin) if begin else data[8:9] == b"{", (ending, data[:20]))
            self.assertEqual(model.report(os.path.join(folder, "r.html")), os.path.join(folder, "r.html"))
        for got in (model.compare(other), model.compare(other.job_), model.job_.compare(other.job_.id)):
            self.assertEqual([row["channel"] for row in got], list(range(len(got))))
            self.assertTrue(all(0 <= (row["agreement"] or 0) <= 1 for row in got), got)
        self.assertTrue(all(row["other"] == row["channel"] or row["motifs"] == 0 for row in model.compare(model, samples=20)), model.compare(model, samples=20))

    def test_data_sets_are_listed_shown_and_deleted(self):
        client = motifd.Client()
        client.upload(b"a,b\n1,2\n2,1\n", "csv", name="to-delete")
        self.assertIn("to-delete", [one["name"] for one in client.datasets()])
        self.assertEqual(client.dataset("to-delete")["samples"], 2)
        client.delete_dataset("to-delete")
        with self.assertRaises(motifd.MotifdError) as caught:
            client.dataset("to-delete")
        self.assertEqual(caught.exception.status, 404)

    def test_files_of_pictures_and_recordings_are_inputs(self):
        X, y = pictures(60)
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, f"p{at}.png") for at in range(len(X))]
            for path, picture in zip(paths, X):
                path.write_bytes(png_of(picture))
            model = motifd.Motifs(total_samples=400, config=SHORT).fit(paths, y, groups=[at // 3 for at in range(60)])
            self.assertEqual((model.data_["kind"], model.data_["samples"], len(model.data_["groups"])), ("images", 60, 20))
            np.testing.assert_allclose(model.transform([str(path) for path in paths[:3]]), model.transform(X[:3]), atol=1e-4)
            self.assertEqual(model.predict(paths[:9]).tolist(), model.predict(X[:9]).tolist())
            self.assertEqual(len(model.boxes(paths[:2])), 2)
            sounds = [pathlib.Path(folder, f"s{at}.wav") for at in range(40)]
            for at, path in enumerate(sounds):
                with wave.open(str(path), "wb") as file:
                    file.setnchannels(1), file.setsampwidth(2), file.setframerate(8000)
                    file.writeframes((9000 * np.sin(np.arange(4000) * (0.1 + 0.2 * (at % 2)))).astype("<i2").tobytes())
            heard = motifd.Motifs(total_samples=100, config=TINY).fit(sounds, [at % 2 for at in range(40)])
            self.assertEqual((heard.data_["kind"], heard.data_["rate"]), ("recordings", 8000))
            self.assertEqual(len(heard.transform(sounds[:2])), 2)
            with self.assertRaisesRegex(ValueError, "input 1 of X is neither a path nor a picture"):
                model.predict([paths[0], 7])

    def test_recordings_have_their_own_rate(self):
        pairs = [(0.3 * np.sin(np.arange(4000) * (0.1 + 0.2 * (at % 2))), 11025) for at in range(40)]
        stereo = [(np.stack([samples, samples], 1), rate) for samples, rate in pairs]
        whole = [((samples * 32767).astype(np.int16), rate) for samples, rate in pairs]
        model = motifd.Motifs(total_samples=100, config=TINY).fit(pairs, [at % 2 for at in range(40)])
        self.assertEqual((model.data_["kind"], model.data_["rate"]), ("recordings", 11025))
        for same in (stereo, whole):
            np.testing.assert_allclose(model.transform(same[:2]), model.transform(pairs[:2]), atol=1e-2)
        places = [place for one in model.boxes(pairs[:6]) for place in one]
        self.assertTrue(all(0 <= place["seconds"][0] < place["seconds"][1] < 0.5 for place in places), places)
        loaded = motifd.Motifs.load(model.job_)
        np.testing.assert_array_equal(loaded.transform([pairs[0][0]]), model.transform(pairs[:1]))  # the rate of the data set
        soundfile = module(self, "soundfile")
        with tempfile.TemporaryDirectory() as folder:
            soundfile.write(os.path.join(folder, "one.wav"), *pairs[0])
            np.testing.assert_allclose(model.transform([soundfile.read(os.path.join(folder, "one.wav"))]), model.transform(pairs[:1]), atol=0.1)

    def test_pictures_of_pil_are_inputs(self):
        module(self, "PIL")
        from PIL import Image
        X, y = pictures(60)
        images = [Image.fromarray((picture * 255).astype(np.uint8)) for picture in X]
        model = motifd.Motifs(total_samples=100, config=TINY).fit(images, y)
        self.assertEqual((model.data_["kind"], model.data_["shape"]), ("images", {"channels": 1, "rows": 16, "cols": 16}))
        np.testing.assert_allclose(model.transform(images[:3]), model.transform(X[:3]), atol=1e-4)

    def test_columns_of_a_frame_are_texts_labels_and_groups(self):
        pandas = module(self, "pandas")
        words = [f"we play {'jazz' if at % 2 else 'rain'} today {at % 7}" for at in range(120)]
        frame = pandas.DataFrame({"text": words, "label": ["music" if at % 2 else "weather" for at in range(120)], "group": [at // 4 for at in range(120)]}, index=[f"row{at}" for at in range(120)])
        model = motifd.Motifs(total_samples=800).fit(frame)
        self.assertEqual((model.data_["kind"], model.data_["target"], len(model.data_["groups"])), ("texts", "class", 30))
        renamed = frame.rename(columns={"text": "body", "label": "kind", "group": "who"})
        other = motifd.Motifs(total_samples=8, config=TINY)
        other._train = lambda *arguments: None
        self.assertEqual(other.fit(renamed, "kind", groups="who", text="body").data_["name"], model.data_["name"])
        with self.assertRaisesRegex(ValueError, "groups: X has no column 'nobody'"):
            other.fit(renamed, "kind", groups="nobody")
        self.assertEqual(model.predict(frame).tolist(), model.predict(words).tolist())
        told = model.frame(frame.iloc[:6])
        self.assertEqual(list(dict.fromkeys(told["input"])), [f"row{at}" for at in range(6)])
        self.assertEqual(told.groupby("input", sort=False)["label"].first().tolist(), model.predict(words[:6]).tolist())
        self.assertTrue({"confidence", "name", "channel", "value", "row0", "col1", "words"} <= set(told.columns), told.columns)
        marked = told[told["words"].notna()]
        self.assertTrue(all(word in words[int(at[3:])] for at, text in zip(marked["input"], marked["words"]) for word in text.split()))
        signals = pandas.DataFrame(pictures(60)[0].reshape(60, 256)).assign(group=[at // 2 for at in range(60)], target=[at % 2 for at in range(60)])
        model = motifd.Motifs(total_samples=100, config=TINY).fit(signals)
        self.assertEqual((model.data_["shape"]["cols"], len(model.data_["groups"]), model.feature_names_in_[-1]), (256, 30, "255"))
        with self.assertWarnsRegex(RuntimeWarning, "left out"):
            self.assertEqual(len(model.frame(signals[:3]).groupby("input")), 3)

    def test_a_notebook_shows_extents_in_line(self):
        X, y = pictures(60)
        model = motifd.Motifs(total_samples=400, config=SHORT).fit(X, y)
        page = model.pictures(X, 3)._repr_html_()
        self.assertEqual((page.count("data:image/png;base64,iVBOR"), len(model.pictures(X, 3))), (3, 3))
        dna = ["".join(RNG.choice(list("ACGT"), 40)) for _ in range(60)]
        letters = motifd.Motifs(total_samples=400, config=SHORT).fit(dna, ["yes" if "TA" in text else "no" for text in dna])
        shown = letters.pictures(dna, 20)
        marks = [mark for one in letters.boxes(dna[:20]) for mark in one]
        self.assertEqual(any("<mark" in one for one in shown), bool(marks))
        self.assertTrue(all(re.sub("<[^>]*>", "", one).startswith(text) for one, text in zip(shown, dna)))
        answer = {"text": "<b>&", "motifs": [{"maximal": True, "name": "'x'>", "words": [{"start": 0, "end": 3, "word": "<b>"}]}], "prediction": ["<i>"]}
        self.assertEqual(motifd._marked(answer), "<code><mark title='&#x27;x&#x27;&gt;'>&lt;b&gt;</mark>&amp;</code> &lt;i&gt;")

    def test_plots_show_inputs_with_their_motifs(self):
        module(self, "matplotlib")
        X, y = pictures(60)
        dna = ["".join(RNG.choice(list("ACGT"), 40)) for _ in range(60)]
        for inputs, labels in ((X, y), (X.reshape(60, 256), y), (dna, ["yes" if "TA" in text else "no" for text in dna])):
            model = motifd.Motifs(total_samples=400, config=SHORT).fit(inputs, labels)
            figure = model.plot(inputs, 3)
            out = io.BytesIO()
            figure.savefig(out, format="png")
            self.assertGreater(len(out.getvalue()), 3000)
            drawn = [len([patch for patch in ax.patches]) for ax in figure.axes[:3]]
            self.assertEqual(drawn, [len(one) for one in model.boxes(inputs[:3])])


class Examples(unittest.TestCase):
    """Each example program must have fewer than ten lines and must learn what its data contain."""

    def run_example(self, name):
        path = os.path.join(PYTHON, "examples", name)
        with open(path) as file:
            self.assertLess(sum(1 for line in file if line.strip()), 10)
        got = subprocess.run([sys.executable, path], env={**os.environ, "PYTHONPATH": PYTHON}, capture_output=True, text=True, timeout=900)
        self.assertEqual((got.returncode, got.stderr), (0, ""))
        words = got.stdout.split()
        return {word: float(after) for word, after in zip(words, words[1:]) if word in ("score", "error", "variance")}

    def test_the_example_with_pictures_learns_their_classes(self):
        self.assertGreater(self.run_example("images.py")["score"], 0.9)

    def test_the_example_with_dna_learns_the_label(self):
        self.assertGreater(self.run_example("dna.py")["score"], 0.9)

    def test_the_example_with_a_table_reconstructs_its_rows(self):
        figures = self.run_example("table.py")
        self.assertLess(figures["error"], 0.1 * figures["variance"])

    def test_the_example_with_groups_predicts_outcomes(self):
        self.assertGreater(self.run_example("trees.py")["score"], 0.9)


class Labels(unittest.TestCase):
    def test_every_form_of_labels_comes_back_as_it_went(self):
        for Y, tokens, back in ((np.array([3, 5, 3]), ["5"], 5), (["a", "b"], ["b"], "b"), (["a b", "b"], ["b", "a"], "b a"), ([[1, 2], [2]], ["2", "1"], [2, 1]),
                                ([{"x", "y z"}, {"y z"}], ["y z"], {"y z"}), (np.array([[True, False], [True, True]]), ["1"], [False, True])):
            labels = motifd._Labels(Y, None)
            self.assertEqual(labels.decode(tokens), back, Y)
        self.assertEqual(motifd._Labels(np.array([0, 1]), ["cat", "dog"]).array.tolist(), ["cat", "dog"])
        self.assertEqual(motifd._Labels(np.array([0, 1]), ["cat", "dog"]).decode(["dog"]), 1)
        sets, flags = motifd._Labels([{"x", "y"}, {"y"}], None), motifd._Labels(np.array([[True, False], [True, True]]), ["x", "y"])
        for labels, back in ((sets, {"y"}), (flags, [False, True])):
            self.assertEqual((labels.decode(["y"]), labels.name("y")), (back, "y"))
        binarized = motifd._Labels(np.array([[1, 0], [1, 1]]), ["x", "y"])
        self.assertEqual((binarized.form, binarized.columns, binarized.decode(["y"])), ("flags", ["x", "y"], [False, True]))
        numbered = motifd._Labels([{2, 0}, {2}], ["cat", "dog", "owl"])
        self.assertEqual((numbered.columns, numbered.decode(["owl"]), numbered.symbol("2"), numbered.symbol("cat")), (["cat", "owl"], {2}, "owl", "cat"))
        self.assertEqual(motifd._Labels(["ok", "crack"], None, absent="ok").decode([]), "ok")
        for Y in (np.array([0.5, 1]), [0.5, 1.0], np.array([[0.5, 1], [2, 3]])):
            self.assertEqual(motifd._Labels(Y, None).form, "number", Y)
        self.assertEqual((motifd._Labels(np.array([0.0, 1]), None).form, motifd._Labels([1, 2], None, True).form), ("class", "number"))
        for wrong in (np.array([0.5, np.inf]), np.zeros((2, 2, 2)), [["a b"], ["c"]]):
            with self.assertRaises(ValueError):
                motifd._Labels(wrong, None)


    def test_classes_have_the_order_of_the_columns_of_the_scores(self):
        def names(Y, given=None, absent=None):
            labels = motifd._Labels(Y, given, absent=absent)
            return labels.classes(), [labels.class_name(one) for one in labels.classes()]
        for Y, given, wanted in ((np.array([1, 0, 10, 2]), None, ([0, 1, 2, 10], ["0", "1", "2", "10"])),
                                 (np.array([1, 0]), ["zebra", "ant"], ([0, 1], ["zebra", "ant"])),
                                 (["ant", "zebra"], None, (["ant", "zebra"],) * 2),
                                 (["ant", "zebra"], ["zebra", "yak", "ant"], (["zebra", "ant"],) * 2),
                                 ([{"ant"}, {"zebra", "ant"}], None, (["ant", "zebra"],) * 2),
                                 ([{"ant"}, {"zebra", "ant"}], ["zebra", "ant"], (["zebra", "ant"],) * 2),
                                 ([{1}, {0, 1}], ["zebra", "ant"], ([0, 1], ["zebra", "ant"])),
                                 (np.array([[1, 0], [0, 1]]), ["zebra", "ant"], (["zebra", "ant"],) * 2),
                                 (np.array([[1, 0], [0, 1]]), None, ([0, 1], ["0", "1"])),
                                 ([[10, 9], [9]], None, ([9, 10], ["9", "10"])),
                                 (["b a", "c"], None, (["a", "b", "c"],) * 2)):
            self.assertEqual(names(Y, given), wanted, Y)

    def test_scores_follow_the_classes_whatever_order_the_daemon_has(self):
        class Played(motifd.Motifs):
            def _inputs(self, X):
                return X

        def model(Y, given, presence, absent=None):
            one = Played(DAEMON.url)
            one.labels_ = motifd._Labels(Y, given, absent=absent)
            one.job_ = type("Job", (), {"ask_each": lambda self, query, X: [{"presence": [{"name": name, "score": score} for name, score in presence]} for _ in X]})()
            return one
        letters = [("ant", 1.0), ("yak", -2.0), ("zebra", 3.0)]
        got = model(np.array([[1, 0, 1]] * 2), ["zebra", "ant", "yak"], letters)
        self.assertEqual((got.decision_function([0]).tolist(), got.classes_.tolist()), ([[3.0, 1.0, -2.0]], ["zebra", "ant", "yak"]))
        np.testing.assert_allclose(got.predict_proba([0]), [1 / (1 + np.exp([-3.0, -1.0, 2.0]))])
        got = model(np.array([0, 1, 2]), ["zebra", "ant", "yak"], letters)
        self.assertEqual((got.decision_function([0]).tolist(), got.score_names_), ([[3.0, 1.0, -2.0]], ["zebra", "ant", "yak"]))
        got = model(["zebra", "ant", "fine", "yak"], None, letters, "fine")
        self.assertEqual(got.classes_.tolist(), ["ant", "fine", "yak", "zebra"])
        scores = got.decision_function([0])[0]
        none = np.prod(1 - 1 / (1 + np.exp([-1.0, 2.0, -3.0])))
        np.testing.assert_allclose(scores, [1, np.log(none / (1 - none)), -2, 3])
        with self.assertRaisesRegex(ValueError, "no scores of .'yak'"):
            model(["zebra", "yak"], None, [("zebra", 1.0)]).decision_function([0])
        numbers = model(np.array([0.5, 1]), None, [])
        self.assertFalse(hasattr(numbers, "classes_"))


class Sets(unittest.TestCase):
    """Names of sets reach the daemon, in whatever form Y has them, and samples without a label do not."""

    def uploaded(self, X, Y, **settings):
        model = motifd.Motifs(DAEMON.url)
        model._train = lambda *arguments: None
        model.fit(X, Y, **settings)
        return {one["name"]: one["count"] for one in model.data_["vocabulary"]}, model.data_

    def test_names_of_sets_reach_the_daemon(self):
        X = pictures(4)[0]
        letters = ["ACGTACGT", "ACGTTCGT", "AGGTACGT", "ACGTACGA"]
        matrix = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
        for inputs in (X, letters):
            for Y, names in (([{"hot dog"}, {"hot dog", "a,b"}, set(), {"a,b"}], None), (matrix, ["hot dog", "a,b"]), (matrix == 1, ["hot dog", "a,b"])):
                counts, data = self.uploaded(inputs, Y, names=names)
                self.assertEqual((counts, data["target"]), ({"hot dog": 2, "a,b": 2}, "labels"))

    def test_samples_without_a_label_are_refused_or_left_out(self):
        X = pictures(4)[0]

        class NAType:  # as pandas has it
            def __ne__(self, other):
                raise TypeError("boolean value of NA is ambiguous")
        for nothing in (None, float("nan"), "", "NA", NAType()):
            for Y in (["a", "b", nothing, "a"], ["a b", "b", nothing, "c"], [{"a"}, {"b"}, nothing, set()], np.array(["a", "b", nothing, "a"], object)):
                with self.assertRaisesRegex(ValueError, "row 2 has no label"):
                    motifd.Motifs(DAEMON.url).fit(X, Y)
                with self.assertWarnsRegex(RuntimeWarning, "1 of 4 rows have no label"):
                    counts, data = self.uploaded(X, Y, missing="drop")
                self.assertEqual(data["samples"], 3)
        with self.assertWarns(RuntimeWarning):
            self.assertEqual(self.uploaded(X, np.array([0.0, 1, np.nan, 1]), missing="drop")[0], {"0": 1, "1": 2})

    def test_the_absent_class_is_the_empty_set(self):
        counts, data = self.uploaded(pictures(4)[0], ["ok", "crack", "ok", "hole"], absent="ok")
        self.assertEqual((counts, data["target"]), ({"crack": 1, "hole": 1}, "labels"))
        X, y = pictures(60)
        job = motifd.Motifs(DAEMON.url, total_samples=40, config=TINY).fit(X, np.where(y, "crack", "ok"), absent="ok").job
        answer = job.ask("predict", X[:20])
        self.assertEqual(answer["absent"], "ok")

    def test_texts_such_as_na_can_be_names(self):
        counts, data = self.uploaded(pictures(4)[0], ["NA", "EU", "NA", "None"], missing="keep")
        self.assertEqual((counts, data["stated"]["missing"]), ({"NA": 2, "EU": 1, "None": 1}, "keep"))
        for nothing in (None, "", float("nan")):
            with self.assertRaisesRegex(ValueError, "row 1 has no label"):
                motifd.Motifs(DAEMON.url).fit(pictures(4)[0], ["NA", nothing, "b", "c"], missing="keep")
        with self.assertRaisesRegex(ValueError, "must be 'refuse', 'drop' or 'keep'"):
            motifd.Motifs(DAEMON.url).fit(pictures(4)[0], list("abab"), missing="yes")

    def test_rows_of_an_array_may_be_filled_up(self):
        for Y in (np.array([[1, 2], [2, -1], [1, 1], [-1, -1]]), np.array([["1", "2"], ["2", ""], ["1", "1"], ["", ""]])):
            labels = motifd._Labels(Y, None)
            self.assertEqual(labels.array.tolist(), [["1", "2"], ["2", ""], ["1", "1"], ["", ""]])
            self.assertEqual([len(motifd._unfilled(label)) for label in Y], [2, 1, 2, 0])
        self.assertEqual(motifd._Labels([[-1, 2], [2]], None).array.tolist(), [["-1", "2"], ["2", ""]])

    def test_groups_belong_to_their_inputs(self):
        X, Y = pictures(4)[0], list("abab")

        class Series(list):  # as pandas has it: [] takes labels and not positions
            def __getitem__(self, at):
                raise KeyError(at)
        for groups in (Series("pqrs"), np.array(list("pqrs"))):
            self.assertEqual({one["name"] for one in self.uploaded(X, Y, groups=groups)[1]["groups"]}, set("pqrs"))
        dropped = [None, *Y[1:]]
        with self.assertWarns(RuntimeWarning):
            self.assertEqual({one["name"] for one in self.uploaded(X, dropped, groups=Series("pqrs"), missing="drop")[1]["groups"]}, set("qrs"))
        for Y in (Y, dropped):
            with self.assertRaisesRegex(ValueError, "groups must have one name for each of the 4 inputs; got 3"):
                motifd.Motifs(DAEMON.url).fit(X, Y, groups=list("abc"), missing="drop")
        for wrong in ({"groups": list("ab")}, {"ids": range(50)}):
            with self.assertRaisesRegex(ValueError, "one name for each of the 40 samples"):
                motifd.Dictionary(DAEMON.url).fit(np.ones((40, 3)), **wrong)

    def test_options_of_an_upload_have_the_form_that_the_daemon_reads(self):
        client, table = motifd.Client(DAEMON.url), b"a,b,c,Kind\n1,2,3,Cat\n2,1,4,cat\n3,1,5,dog\n"
        data = client.upload(table, "csv", label=("Kind",), ignore=["a", "b"], fold_names=True, missing=None, dry_run=False)
        self.assertEqual((data["stated"], data["recognised"]["columns"]["ignored"]), ({"label": "Kind", "ignore": "a,b", "fold_names": "1"}, ["a", "b"]))
        self.assertEqual(client.upload(table, "csv", label="Kind", ignore="a,b", fold_names=np.True_)["name"], data["name"])
        self.assertEqual(client.upload(table, "csv", label="Kind", dry_run=True)["samples"], 3)
        self.assertEqual([motifd._query(one) for one in ({"x": True}, {"x": {"b", "a"}}, {"x": None}, {"x": 0.5})], ["?x=1", "?x=a%2Cb", "", "?x=0.5"])

    def test_whole_numbers_that_lose_digits_cause_a_warning(self):
        for values in (np.array([[1, 16777217]]), np.array([[1, 16777217.0]]), np.array([[1, 16777217]], "u4")):
            with self.assertWarnsRegex(RuntimeWarning, r"1 whole numbers .* element \[0, 1\]: 16777217(.0)? became 16777216"):
                motifd._single(values)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for values in ([[1, 2]], np.array([1 << 25, -(1 << 63)]), np.array([16777217.5, np.inf, np.nan, 1e300]), np.array([1 << 24], "i4"), np.array([True])):
                self.assertEqual(motifd._single(values).dtype, np.float32)
        X = table()
        X[3, 1] = 16777217
        with self.assertWarnsRegex(RuntimeWarning, r"element \[3, 1\]"):
            motifd.NMF(DAEMON.url, n_components=2).fit(abs(X))

    def test_frames_are_read_by_the_names_of_their_columns(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = pandas.DataFrame(table(), columns=[f"x{at}" for at in range(table().shape[1])])
        model = motifd.NMF(DAEMON.url, n_components=2).fit(frame.abs())
        wider = frame.abs().assign(Diagnosis="sick")[["Diagnosis", *frame.columns]]
        with self.assertWarnsRegex(RuntimeWarning, "left out: 'Diagnosis'"):
            np.testing.assert_array_equal(model.transform(wider), model.transform(frame.abs()))
        motifs = motifd.Motifs(DAEMON.url)
        motifs.job_, motifs.feature_names_in_ = model.job_, list(frame.columns)
        with self.assertWarnsRegex(RuntimeWarning, "left out: 'Diagnosis'"):
            np.testing.assert_array_equal(motifs._inputs(wider[wider.columns[::-1]])[:, 0, :, 0], frame.abs().to_numpy())
        with self.assertRaisesRegex(ValueError, "lacks the columns .'x0'"):
            motifs._inputs(frame[["x1"]])


class Newcomers(unittest.TestCase):
    def test_a_usual_mistake_is_answered_with_what_to_do(self):
        X, y = pictures(8)
        for mistake, error, text in (
                (lambda: motifd.Motifs().fit("pictures.npz", y), ValueError, "Client.upload"),
                (lambda: motifd.Motifs().fit(["a.png", "b.png"], [0, 1]), ValueError, "input 0 of X is no file that can be read: 'a.png'"),
                (lambda: motifd.Motifs().fit(["a.doc", "b.doc"], [0, 1]), ValueError, "texts of letters.*'a.doc'"),
                (lambda: motifd.Motifs().fit([pathlib.Path("a.doc")], [0]), ValueError, r"none of \.png, .*a\.doc"),
                (lambda: motifd.Motifs().fit(X, "label"), ValueError, "names of columns need a frame"),
                (lambda: motifd.Job(None, {"id": "x"}).export("model.pkl"), ValueError, "'model.pkl' names no form of a model; use .safetensors"),
                (lambda: motifd.Motifs().fit(X, None), ValueError, "needs labels"),
                (lambda: motifd.Motifs().fit(X, y[:3]), ValueError, "same length; got 8 and 3"),
                (lambda: motifd.Motifs().fit(X[:0], y[:0]), ValueError, "X is empty"),
                (lambda: motifd.Motifs().fit(None, y), ValueError, "X must be an array or a list of inputs; got None"),
                (lambda: motifd.Motifs().fit(7, y), ValueError, "got 7"),
                (lambda: motifd.Motifs().fit([X[0], None], [0, 1]), ValueError, "input 1 of X is None"),
                (lambda: motifd.Motifs().fit(["ACGT", None], [0, 1]), ValueError, "input 1 of X is None"),
                (lambda: motifd.Motifs().fit([X[0], X[0][:5]], [0, 1]), ValueError, r"input 0 has \(16, 16\) and input 1 has \(5, 16\)"),
                (lambda: motifd.Motifs().fit([[[1, 2], [3]], [[1, 2], [3, 4]]], [0, 1]), ValueError, "input 0 of X has rows of different lengths"),
                (lambda: motifd.NMF().fit([[1, 2], [3]]), ValueError, r"input 0 has \(2,\) and input 1 has \(1,\)"),
                (lambda: motifd.Trees().fit(None, y), ValueError, "got None"),
                (lambda: motifd.Dictionary().fit([[1, 2], [3]]), ValueError, "same shape"),
                *((getattr(motifd.Motifs(), name), motifd.NotFittedError, "not fitted yet")
                  for name in ("transform", "predict", "decision_function", "predict_proba", "boxes")),
                (lambda: motifd.Motifs().score(X, y), motifd.NotFittedError, "not fitted yet"),
                (lambda: motifd.Motifs().classes_, motifd.NotFittedError, "not fitted yet"),
                (lambda: motifd.Motifs().fit(X, [0, 1, 2, 0, 1, 2, 0, 1], names=["a", "b"]), ValueError, "names has 2 names.*also has 2"),
                (lambda: motifd.Motifs().fit(X * np.nan, y), ValueError, "NaN or infinity"),
                (lambda: motifd.Client("localhost:8080"), ValueError, "http://HOST:PORT"),
                (lambda: motifd.Client("https://127.0.0.1:9", cafile="/no/such.pem"), ValueError, "no file '/no/such.pem'"),
                (lambda: motifd.Client("http://127.0.0.1:9", retries=0).get("/v1/jobs"), motifd.Unreachable, "motifd serve"),
                (lambda: motifd.Client(DAEMON.url.replace("http", "https"), retries=0).get("/v1/jobs"), motifd.Unreachable, "expect http://"),
                (lambda: motifd.Client().upload(b"a,b\n1,2\n", "csv", layer="raw"), motifd.MotifdError, "layer.*does not apply to csv")):
            with self.assertRaisesRegex(error, text):
                mistake(*[X] * (getattr(mistake, "__self__", None) is not None))


class Jobs(unittest.TestCase):
    def test_a_job_is_paused_resumed_and_cancelled(self):
        job = motifd.Client().submit("sparling", LONG, "digitcircle-quick", name="long")
        job.wait(60, until=["running"])
        job.pause()
        self.assertEqual(job.wait(60, until=["paused"]).state, "paused")
        job.resume()
        job.wait(60, until=["running"])
        with self.assertRaises(TimeoutError):
            job.wait(0.2)
        job.cancel()
        with self.assertRaises(motifd.JobFailed) as caught:
            job.wait(60)
        self.assertEqual((caught.exception.job.state, str(caught.exception)), ("cancelled", f"job {job.id} cancelled"))
        states = [data["state"] for event, data in job.events() if event == "state"]
        self.assertEqual([states[0], states[-1]], ["queued", "cancelled"])
        self.assertIn(job.id, [one.id for one in motifd.Client().jobs(state="cancelled", limit=1)])
        job.delete()

    def test_a_fault_names_each_field(self):
        with self.assertRaises(motifd.InvalidRequest) as caught:
            motifd.Client().submit("sparling", {"width": 0, "layers": -1}, "digitcircle-quick")
        self.assertEqual({fault["pointer"] for fault in caught.exception.errors}, {"/config/width", "/config/layers"})
        self.assertIn("/config/width: must be an integer in [1, 1024]; got 0", str(caught.exception))
        with self.assertRaises(motifd.MotifdError) as caught:
            motifd.Client().job("01JD8AAAAAAAAAAAAAAAAAAAAA")
        self.assertEqual(caught.exception.status, 404)

    def test_the_daemon_serves_the_module(self):
        with open(os.path.join(PYTHON, "motifd.py"), "rb") as file:
            source = file.read()
        status, headers, body = DAEMON.ask("GET", "/motifd.py")
        self.assertEqual((status, body, headers.get_content_type()), (200, source, "text/x-python"))
        self.assertEqual(DAEMON.ask("GET", "/motifd.py", headers={"If-None-Match": headers["ETag"]})[0], 304)

    def test_a_token_and_a_private_authority_are_needed_where_the_daemon_needs_them(self):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                            "/CN=motifd", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], check=True, capture_output=True)
            base = os.path.join(folder, "db")
            made = subprocess.run([MOTIFD, "token", "create", "--name", "py", "--db", base], check=True, capture_output=True, text=True).stdout
            token = next(word for word in made.split() if word.startswith("motif_"))
            with Daemon(MOTIFD, base, "--data", os.path.join(folder, "sets"), "--tls-cert", cert, "--tls-key", key) as served:
                self.assertEqual(motifd.Client(served.url, token, cert).get("/v1/jobs")["jobs"], [])
                with self.assertRaisesRegex(motifd.Unreachable, "certificate is not trusted"):
                    motifd.Client(served.url, token).get("/v1/jobs")
                with self.assertRaises(motifd.MotifdError) as caught:
                    motifd.Client(served.url, None, cert).get("/v1/jobs")
                self.assertEqual(caught.exception.status, 401)


class Script:
    """A server that sends prepared answers in order and keeps the requests."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def answer(self, method, path, headers, body):
        self.asked.append((method, path, dict(headers), body))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def answer_of(status, document, **headers):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    cut = headers.pop("cut", None)
    return Answer("", "", status, {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}, body, cut)


class Broken(unittest.TestCase):
    server = Server()

    def test_a_submission_is_repeated_with_the_same_key(self):
        script = Script(answer_of(503, {"detail": "full"}, Retry_After="0"), answer_of(201, {"id": "x"}, cut=3), answer_of(201, {"id": "x", "kind": "k", "state": "queued"}))
        job = motifd.Client(self.server.play(script)).submit("k")
        self.assertEqual(job.id, "x")
        keys = {headers["Idempotency-Key"] for _, _, headers, _ in script.asked}
        self.assertEqual((len(script.asked), len(keys)), (3, 1))
        other = Script(answer_of(201, {"id": "y", "kind": "k", "state": "queued"}))
        motifd.Client(self.server.play(other)).submit("k")
        self.assertNotIn(other.asked[0][2]["Idempotency-Key"], keys)

    def test_an_import_is_repeated_with_the_same_key(self):
        made, model = {"id": "x", "kind": "sparling", "state": "succeeded"}, bytes(range(256)) * 5000
        for data in (model, io.BytesIO(model)):
            script = Script(answer_of(503, {"detail": "busy"}, Retry_After="0"), answer_of(201, made, cut=3), answer_of(201, made))
            self.assertEqual(motifd.Client(self.server.play(script)).import_model(data, "a b").id, "x")
            self.assertEqual([(method, path, body) for method, path, _, body in script.asked], [("POST", "/v1/imports?name=a+b", model)] * 3)
            self.assertEqual(len({headers["Idempotency-Key"] for _, _, headers, _ in script.asked}), 1)
        self.assertTrue(data.closed)

    def test_an_action_is_not_repeated_after_a_broken_connection(self):
        script = Script(answer_of(202, {"id": "x"}, cut=3))
        with self.assertRaises(motifd.Unreachable):
            motifd.Job(motifd.Client(self.server.play(script)), {"id": "x"}).pause()
        self.assertEqual(len(script.asked), 1)

    def test_an_upload_continues_where_it_stopped(self):
        script = Script(answer_of(404, {}), answer_of(200, {}, cut=1), answer_of(200, {"received": 4}), answer_of(201, {"name": "n"}))
        motifd.Client(self.server.play(script)).upload(b"0123456789", "csv")
        first, second = (asked for asked in script.asked if asked[0] == "PUT")
        self.assertEqual((first[3], second[3]), (b"0123456789", b"456789"))
        self.assertIn("offset=4", second[1])

    def test_an_event_stream_continues_after_its_last_event(self):
        one = b"retry: 1\nid: 0\n\nid: 7\nevent: state\ndata: {\"state\":\ndata: \"queued\"}\n\n: comment\nid: 8\nevent: sta"
        script = Script(answer_of(200, one + b"x" * 20, cut=len(one)), answer_of(200, b"id: 8\nevent: state\ndata: {\"state\":\"running\"}\n\n"), answer_of(204, b""))
        events = [data["state"] for _, data in motifd.Client(self.server.play(script)).events("x")]
        self.assertEqual(events, ["queued", "running"])
        self.assertEqual([asked[2].get("Last-Event-ID") for asked in script.asked], [None, "7", "8"])

    def test_an_address_without_a_server_is_reported(self):
        with self.assertRaisesRegex(motifd.Unreachable, "does not answer"):
            motifd.Client("http://127.0.0.1:9", retries=1).get("/v1/jobs")


class Export(unittest.TestCase):
    document = {"id": "01X", "kind": "k", "state": "succeeded", "name": "run", "started_at": "2026-01-01T00:00:00.000Z", "finished_at": "2026-01-01T00:01:40.000Z",
                "config": {"width": 3}, "result": {"mse": 0.25, "topics": [], "seed": 1}}
    series = {"loss": [[10, 2.0], [300, 1.5]], "accuracy": [[300, 0.5]]}

    def job(self):
        return motifd.Job(motifd.Client(Broken.server.play(Script(answer_of(200, {"series": self.series})))), self.document)

    def test_checksums_are_those_of_the_standard(self):
        # RFC 3720, B.4: 32 zeros, 32 ones, ascending and descending bytes; and the usual check value.
        for data, sum in ((bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E), (bytes(range(31, -1, -1)), 0x113FDB5C), (b"123456789", 0xE3069283)):
            self.assertEqual(motifd._crc32c(data), sum)
        # Every event file of TensorBoard begins with these bytes: the length 24 of the first record and the masked checksum of this length.
        self.assertEqual(motifd._record(bytes(24))[:12].hex(), "1800000000000000a37f4b22")

    def test_an_independent_decoder_reads_every_point_of_an_event_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = motifd.export.tensorboard(self.job(), folder)
            with open(path, "rb") as file:
                data = file.read()
        self.assertIn("tfevents", os.path.basename(path))  # TensorBoard reads only files with this word in their name
        first, *events = tensorboard_file.events(data)
        begin = 1767225600.0
        self.assertEqual((first["file_version"], first["wall_time"], first["values"]), ("brain.Event:2", begin, {}))
        self.assertEqual([(event["step"], event["values"]) for event in events], [(10, {"loss": 2.0}), (300, {"loss": 1.5, "accuracy": 0.5})])
        self.assertEqual([event["wall_time"] for event in events], [begin + 100 * 10 / 300, begin + 100])
        for at in range(len(data)):  # the decoder notices every changed byte, so it would notice a wrong file
            changed = bytearray(data)
            changed[at] ^= 1
            with self.assertRaises(ValueError):
                list(tensorboard_file.events(bytes(changed)))

    def test_a_run_is_sent_to_mlflow(self):
        script = Script(answer_of(404, {"error_code": "RESOURCE_DOES_NOT_EXIST"}), answer_of(200, {"experiment_id": "4"}), answer_of(200, {"run": {"info": {"run_id": "r"}}}), answer_of(200, {}))
        self.assertEqual(motifd.export.mlflow(self.job(), Broken.server.play(script), "digits", token="secret"), "r")
        asked = [(path, json.loads(body) if body else None) for _, path, _, body in script.asked]
        self.assertEqual([path.rpartition("/2.0/mlflow/")[2] for path, _ in asked],
                         ["experiments/get-by-name?experiment_name=digits", "experiments/create", "runs/create", "runs/log-batch", "runs/log-batch", "runs/update"])
        self.assertEqual(asked[2][1]["start_time"], 1767225600000)
        self.assertEqual(asked[3][1]["params"], [{"key": "width", "value": "3"}])
        sent = {(metric["key"], metric["step"]): metric["value"] for metric in asked[4][1]["metrics"]}
        self.assertEqual(sent, {("loss", 10): 2.0, ("loss", 300): 1.5, ("accuracy", 300): 0.5, ("result.mse", 300): 0.25, ("result.seed", 300): 1.0})
        self.assertEqual(asked[5][1], {"run_id": "r", "status": "FINISHED", "end_time": 1767225700000})
        self.assertTrue(all(headers["Authorization"] == "Bearer secret" for _, _, headers, _ in script.asked))


    def test_mlflow_gets_batches_within_its_limits(self):
        # MLflow's REST API allows at most 1000 metrics and 100 parameters in a call of runs/log-batch.
        document = {**self.document, "config": {f"field{i}": i for i in range(250)}}
        script = Script(answer_of(200, {"experiment": {"experiment_id": "4"}}), answer_of(200, {"run": {"info": {"run_id": "r"}}}), answer_of(200, {}))
        steps = [[10 * i, 1 / (1 + i)] for i in range(2500)]
        job = motifd.Job(motifd.Client(Broken.server.play(Script(answer_of(200, {"series": {"loss": steps}})))), document)
        table = job.metrics()
        job.metrics = lambda: dict(table)
        motifd.export.mlflow(job, Broken.server.play(script), "digits")
        batches = [json.loads(body) for _, path, _, body in script.asked if path.endswith("log-batch")]
        self.assertTrue(all(batch["run_id"] == "r" for batch in batches))
        self.assertEqual([len(batch.get("params", [])) for batch in batches if "params" in batch], [100, 100, 50])
        self.assertEqual([len(batch["metrics"]) for batch in batches if "metrics" in batch], [1000, 1000, 502])
        metrics = [metric for batch in batches for metric in batch.get("metrics", [])]
        for metric in metrics:
            self.assertEqual({name: type(value) for name, value in metric.items()}, {"key": str, "value": float, "timestamp": int, "step": int})
        times = [metric["timestamp"] for metric in metrics if metric["key"] == "loss"]
        self.assertEqual((times, times[0], times[-1]), (sorted(times), 1767225600000, 1767225700000))


class Conventions(unittest.TestCase):
    def test_without_scikit_learn_parameters_work_alike(self):
        program = ("import sys; sys.modules['sklearn'] = None; sys.path.insert(0, sys.argv[1])\n"
                   "import motifd, numpy as np\n"
                   "m = motifd.NMF(n_components=2).set_params(penalty=0.5)\n"
                   "assert m.get_params()['penalty'] == 0.5 and 'NMF(' in repr(m)\n"
                   "X = np.abs(np.random.default_rng(0).normal(size=(60, 4)))\n"
                   "assert m.fit_transform(X).shape == (60, 2)\n"
                   "for wrong in (lambda: m.set_params(none=1), lambda: m.transform(X[:, :3]), lambda: motifd.NMF().fit(X * np.nan)):\n"
                   "    try: wrong()\n"
                   "    except ValueError: continue\n"
                   "    raise SystemExit('no ValueError')\n"
                   "try: motifd.NMF().transform(X)\n"
                   "except ValueError as error: assert 'not fitted' in str(error)\n")
        got = subprocess.run([sys.executable, "-c", program, PYTHON], capture_output=True, text=True, timeout=600)
        self.assertEqual((got.returncode, got.stderr), (0, ""))

    def test_scikit_learns_own_checks_pass(self):
        try:
            from sklearn.base import clone
            from sklearn.utils.estimator_checks import check_estimator
        except ImportError:
            self.skipTest("scikit-learn is missing")
        self.assertEqual(clone(motifd.Motifs("http://h:1", effort="quick")).get_params()["effort"], "quick")
        estimators = [motifd.NMF(n_components=2, iterations=50), motifd.SparseVAE(n_components=2, epochs=3, hidden=8), motifd.Trees(n_components=2, updates=300),
                      motifd.Dictionary(n_components=8, l0=2, seeds=1, batch=16, total_samples=3000)]
        for estimator in estimators:
            passed = 0
            for instance, check in check_estimator(estimator, generate_only=True):
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        check(instance)
                    passed += 1
                except unittest.SkipTest as skip:
                    print(f"# {type(estimator).__name__}: {getattr(check, 'func', check).__name__} is skipped: {skip}")
            print(f"# {type(estimator).__name__}: {passed} checks of check_estimator pass")
            self.assertGreater(passed, 30)


if __name__ == "__main__":
    with DAEMON:
        result = unittest.main(exit=False, verbosity=2).result
    FOLDER.cleanup()
    sys.exit(0 if result.wasSuccessful() else 1)
