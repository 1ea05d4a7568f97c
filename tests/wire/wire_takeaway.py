#!/usr/bin/env python3
"""Models are exported, read by independent code, verified, and imported into a second daemon.

usage: wire_takeaway.py MOTIFD MOTIFCTL        prints "ok ..." or "not ok ..." for each check"""
import base64
import hashlib
import io
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import traceback

import numpy
import onnx
import onnx.checker
import onnx.helper
import onnx.numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "harness")]
import safetensors_file  # noqa: E402
from daemon import JSON, TINY, Daemon, open_files  # noqa: E402

PATIENCE = 1200  # seconds: a sanitizer makes trainings slow
SMALL = {**TINY, "total_samples": 400}
BYTES = "application/octet-stream"


class Giver(Daemon):
    def __init__(self, program, folder):
        super().__init__(program, os.path.join(folder, "db"), "--data", os.path.join(folder, "sets"))

    def job(self, name):
        return self.ask("GET", f"/v1/jobs/{name}")[2]

    def train(self, preset="digitcircle-quick", settings=SMALL, kind="sparling", **changes):
        query = {"kind": kind, "preset": preset, "config": {**settings, **changes}}
        status, _, job = self.ask("POST", "/v1/jobs", {name: value for name, value in query.items() if value is not None})
        assert status == 201, job
        until = time.monotonic() + PATIENCE
        while job["state"] in ("queued", "running") and time.monotonic() < until:
            time.sleep(0.1)
            job = self.ask("GET", f"/v1/jobs/{job['id']}")[2]
        assert job["state"] == "succeeded", job
        return job["id"]


def control(daemon, folder, *words):
    return subprocess.run([os.path.abspath(sys.argv[2]), *words], cwd=folder, env={**os.environ, "MOTIFD_SERVER": daemon.url},
                          capture_output=True, text=True, timeout=PATIENCE)


def evaluation(daemon, job):
    status, _, made = daemon.ask("POST", f"/v1/jobs/{job}/evaluation", {"samples": 8, "seed": 3})
    assert status == 201, made
    until = time.monotonic() + PATIENCE
    while made["state"] in ("queued", "running") and time.monotonic() < until:
        time.sleep(0.1)
        made = daemon.job(made["id"])
    assert made["state"] == "succeeded", made
    return {name: made["result"][name] for name in ("fpe", "fne", "ce", "e2ee")}


def imported_weights_have_the_same_bits(daemon, other, folder, job):
    """Exports weights, reads them independently, imports them into a second daemon and exports them again."""
    assert control(daemon, folder, "export", job, "w.safetensors").returncode == 0
    with open(os.path.join(folder, "w.safetensors"), "rb") as file:
        data = file.read()
    tensors, notes = safetensors_file.read(data)
    assert notes["kind"] == "sparling" and notes["job"] == job and json.loads(notes["config"])["width"] == 16
    assert len(tensors) > 10 and all(numpy.isfinite(values).all() for values in tensors.values())
    made = control(other, folder, "import", "w.safetensors", "--name", "borrowed")
    assert made.returncode == 0 and made.stdout.endswith(" borrowed\n"), made
    copy = made.stdout.split()[0]
    again, _ = safetensors_file.read(other.ask("GET", f"/v1/jobs/{copy}/checkpoints/latest")[2])
    assert list(again) == list(tensors)
    assert all(again[name].tobytes() == tensors[name].tobytes() for name in tensors), "other bits"
    question = {"inputs": [{"sample": {"seed": seed}} for seed in range(4)]}
    for query in ("motifs", "predict"):
        left, right = (server.ask("POST", f"/v1/jobs/{name}/{query}", question)[2]["answers"]
                       for server, name in ((daemon, job), (other, copy)))
        # Extents are measured at the end of a training. A file of weights does not contain them.
        for motif in (motif for answer in [*left, *right] for motif in answer.get("motifs", [])):
            motif.pop("extent", None)
        assert left == right, query
    # The file does not contain the state of the optimiser. An evaluation must have the same result all the same.
    results = [evaluation(server, name) for server, name in ((daemon, job), (other, copy))]
    assert results[0] == results[1] and results[0]["fpe"] is not None, results
    # A file that another program has written, with a changed weight.
    name = next(iter(tensors))
    changed = {**tensors, name: tensors[name] + numpy.float32(1)}
    status, _, document = other.ask("POST", "/v1/imports", safetensors_file.write(changed, notes), BYTES)
    assert status == 201, document
    back, _ = safetensors_file.read(other.ask("GET", f"/v1/jobs/{document['id']}/checkpoints/latest")[2])
    assert (back[name] == changed[name]).all()
    for broken in (data[:-1], data + b"x", data[:5], safetensors_file.write({name: tensors[name]}, notes)):
        status, _, problem = other.ask("POST", "/v1/imports", broken, BYTES)
        assert status == 422 and problem["type"].endswith(":invalid"), problem
    with open(os.path.join(folder, "broken"), "wb") as file:
        file.write(data[:-1])
    assert control(other, folder, "import", "broken").returncode == 2
    assert control(other, folder, "import", "absent").returncode == 2


# (kind, preset, configuration, whether a job can be made from its weights alone)
WEIGHTS_ALONE = (
    ("sparling", "digitcircle-quick", {**SMALL, "total_samples": 40}, True),
    ("pathways", "single-layer", {"filter_length": 16, "length": 64, "trials": 16, "draws": 2, "points": 3, "sizes": 1, "dictionaries": 1}, True),
    ("superposition", "fig3", {"n_s": 16, "n_d": 4, "batch": 8, "block": 0, "total_samples": 200, "test_samples": 50}, False),
    ("factors", "synthetic", {"rows": 50, "latent": 3, "hidden": 4, "epochs": 2, "batch": 10, "restarts": 1}, False),
    ("environments", None, {"depth": 3, "samples": 20, "test_samples": 20, "inputs": 5, "fit_samples": 5, "updates": 5, "batch": 16, "unseen": 1}, False),
    ("dictionary", "planted-quick", {"features": 16, "inputs": 8, "width": 16, "l0": 2, "seeds": 1, "batch": 64, "total_samples": 256, "test_samples": 64,
                                     "pursuit_samples": 0}, False))


TRAINING = ("seconds", "samples", "seed", "trained_samples", "updates")  # what only the original knows, or what differs between runs


def result_of(daemon, job, samples):
    status, _, made = daemon.ask("POST", f"/v1/jobs/{job}/evaluation", {"samples": samples, "seed": 3})
    assert status == 201, made
    until = time.monotonic() + PATIENCE
    while made["state"] in ("queued", "running") and time.monotonic() < until:
        time.sleep(0.1)
        made = daemon.job(made["id"])
    assert made["state"] == "succeeded", made
    return {name: value for name, value in made["result"].items() if isinstance(value, (int, float)) and name not in TRAINING}


def weights_of_every_kind_are_evaluated_or_refused(daemon, other, folder, job):
    for kind, preset, settings, complete in WEIGHTS_ALONE:
        trained = daemon.train(preset, settings, kind)
        data = daemon.ask("GET", f"/v1/jobs/{trained}/checkpoints/latest")[2]
        status, _, made = other.ask("POST", "/v1/imports", data, BYTES)
        if not complete:
            assert status == 422 and f"a job of kind {kind} cannot be made from weights alone: import its bundle" in made["detail"], (kind, status, made)
            continue
        assert status == 201, (kind, made)
        results = [result_of(server, name, 16) for server, name in ((other, made["id"]), (daemon, trained))]
        assert results[0] == results[1], (kind, results)


def resident(daemon):
    with open(f"/proc/{daemon.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024


def large_bodies_use_the_disk_and_not_memory(daemon, other, folder, job):
    """Model files that arrive at the same time must use disk and not memory, and must leave no files."""
    count, size, before = 5, 100_000_000, resident(other)
    listing = sorted(os.listdir(os.path.dirname(other.command[other.command.index("--db") + 1])))
    open_ones = []
    for _ in range(count):
        line = socket.create_connection(("127.0.0.1", other.port), timeout=60)
        line.sendall(f"POST /v1/imports HTTP/1.1\r\nHost: 127.0.0.1:{other.port}\r\nContent-Type: {BYTES}\r\n"
                     f"Content-Length: {size}\r\n\r\n".encode())
        for _ in range(99):
            line.sendall(bytes(1_000_000))
        open_ones.append(line)
    files = [path for path in open_files(other.process.pid).values() if path.endswith("(deleted)")]
    assert len(files) >= count and resident(other) - before < 40, (files, resident(other), before)
    for line in open_ones[1:]:
        line.close()
    open_ones[0].sendall(bytes(1_000_000))
    assert open_ones[0].recv(12) == b"HTTP/1.1 422"  # refused after the complete body, because it is not a model
    open_ones[0].close()
    assert sorted(os.listdir(os.path.dirname(other.command[other.command.index("--db") + 1]))) == listing


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).hexdigest()


def the_hash_chain_can_be_recomputed(daemon, other, folder, job):
    """The attestation contains machine, configuration and every checkpoint; its chain of hashes can be recomputed."""
    status, headers, attested = daemon.ask("GET", f"/v1/jobs/{job}/attestation")
    assert status == 200 and headers["ETag"]
    system = daemon.ask("GET", "/v1/system")[2]
    assert attested["machine"]["blas_core"] == system["blas_core"] and attested["machine"]["cpu"] == system["cpu"], system
    assert attested["config"]["width"] == 16 and attested["from"] is None
    kept = {row["seq"]: row["sha256"] for row in daemon.ask("GET", f"/v1/jobs/{job}/checkpoints")[2]["checkpoints"]}
    assert {row["seq"]: row["sha256"] for row in attested["checkpoints"] if row["kept"]} == kept
    assert [row["seq"] for row in attested["checkpoints"]] == list(range(1, len(attested["checkpoints"]) + 1)), "no link is missing"
    link = attested["origin"]
    for row in attested["checkpoints"]:
        link = sha256(f"{link} {row['seq']} {row['step']} {row['samples']} {row['sha256']}".encode())
        assert link == row["chain"] and row["maker"]
    assert link == attested["chain"]
    shown = control(daemon, folder, "attestation", job)
    assert shown.returncode == 0 and attested["chain"] in shown.stdout
    assert daemon.ask("GET", "/v1/jobs/none/attestation")[0] == 404


def an_imported_bundle_contains_the_whole_job(daemon, other, folder, job):
    assert control(daemon, folder, "export", job, "all.bundle", "--bundle", "--checkpoint", "all").returncode == 0
    with open(os.path.join(folder, "all.bundle"), "rb") as file:
        data = file.read()
    members, notes = safetensors_file.read(data)
    manifest = json.loads(notes["manifest"])
    assert sha256(notes["manifest"].encode()) == notes["manifest_sha256"]
    assert {row["name"]: row["sha256"] for row in manifest["members"]} == {
        name: sha256(values.tobytes()) for name, values in members.items()}
    status, _, made = other.ask("POST", f"/v1/imports?sha256={sha256(data)}", data, BYTES)
    assert status == 201, made
    assert made["result"]["imported"]["chain"] == manifest["attestation"]["chain"]
    first = daemon.ask("GET", f"/v1/jobs/{job}")[2]
    assert made["config"] == first["config"] and made["result"]["fpe"] == first["result"]["fpe"]
    series = [server.ask("GET", f"/v1/jobs/{name}/metrics?max_points=100000")[2]
              for server, name in ((daemon, job), (other, made["id"]))]
    assert series[0] == series[1] and series[0]["series"]
    rows = [[(row["seq"], row["step"], row["sha256"], row["accuracy"]) for row in
             server.ask("GET", f"/v1/jobs/{name}/checkpoints")[2]["checkpoints"]]
            for server, name in ((daemon, job), (other, made["id"]))]
    assert rows[0] == rows[1] and len(rows[0]) > 2
    # An evaluation on the second daemon has the same result.
    result = [control(server, folder, "evaluate", name, "--samples", "8", "--json").stdout
              for server, name in ((daemon, job), (other, made["id"]))]
    left, right = ({key: json.loads(text.splitlines()[-1])["result"][key] for key in ("fpe", "fne", "ce", "e2ee")} for text in result)
    assert left == right, result
    # A change of any byte is detected.
    before = len(other.ask("GET", "/v1/jobs?limit=1000")[2]["jobs"])
    for at in [9, 40, *range(200, len(data), len(data) // 25), len(data) - 1]:
        broken = bytearray(data)
        broken[at] ^= 1
        status, _, problem = other.ask("POST", "/v1/imports", bytes(broken), BYTES)
        assert status == 422 and problem["errors"], (at, problem)
    assert other.ask("POST", f"/v1/imports?sha256={'0' * 64}", data, BYTES)[0] == 400
    # A rewritten manifest without its chain is detected too.
    manifest["attestation"]["config"]["seed"] = 99
    text = json.dumps(manifest)
    forged = safetensors_file.write(members, {**notes, "manifest": text, "manifest_sha256": sha256(text.encode())})
    status, _, problem = other.ask("POST", "/v1/imports", forged, BYTES)
    assert status == 422 and "configuration" in problem["errors"][0]["detail"], problem
    assert len(other.ask("GET", "/v1/jobs?limit=1000")[2]["jobs"]) == before
    assert daemon.ask("GET", f"/v1/jobs/{job}/bundle?checkpoints=99")[0] == 404
    refused = daemon.ask("GET", f"/v1/jobs/{job}/bundle?checkpoints=some")
    assert refused[0] == 400, refused


def verify_finds_a_changed_step(daemon, other, folder, job):
    """motifctl verify must train every link of the chain again, and must find a changed step."""
    kept = [row["seq"] for row in daemon.ask("GET", f"/v1/jobs/{job}/checkpoints")[2]["checkpoints"]]
    links = len(kept)
    done = control(daemon, folder, "verify", job, "--from", "0", "--threads", "2")
    assert done.returncode == 0, done
    assert f"{links} of {links} links have the same bits" in done.stdout, done
    one = control(daemon, folder, "verify", "all.bundle", "--from", str(kept[0]), "--to", str(kept[1]))
    assert one.returncode == 0 and "1 of 1 links" in one.stdout, one
    # A bundle with correct hashes but a wrong training: the last checkpoint comes from a job with another seed.
    impostor = daemon.train(seed=2)
    theirs, _ = safetensors_file.read(daemon.ask("GET", f"/v1/jobs/{impostor}/bundle?checkpoints=all")[2])
    with open(os.path.join(folder, "all.bundle"), "rb") as file:
        members, notes = safetensors_file.read(file.read())
    manifest = json.loads(notes["manifest"])
    links = manifest["attestation"]["checkpoints"]
    name = f"checkpoint.{links[-1]['seq']}"
    members[name] = theirs[name]
    links[-1]["sha256"] = sha256(theirs[name].tobytes())
    before = links[-2]["chain"]
    links[-1]["chain"] = sha256(f"{before} {links[-1]['seq']} {links[-1]['step']} {links[-1]['samples']} {links[-1]['sha256']}".encode())
    manifest["attestation"]["chain"] = links[-1]["chain"]
    for row in manifest["members"]:
        if row["name"] == name:
            row["sha256"], row["bytes"] = links[-1]["sha256"], len(theirs[name])
    text = json.dumps(manifest)
    with open(os.path.join(folder, "forged.bundle"), "wb") as file:
        file.write(safetensors_file.write(members, {**notes, "manifest": text, "manifest_sha256": sha256(text.encode())}))
    found = control(daemon, folder, "verify", "forged.bundle")
    assert found.returncode == 1 and "OTHER BITS" in found.stdout, found


def interventions_change_the_answers(daemon, other, folder, job):
    """Tests interventions, and motif maps as arrays."""
    path, seeds = f"/v1/jobs/{job}/interventions", range(6)
    query = {"inputs": [{"sample": {"seed": seed}} for seed in seeds]}
    found = daemon.ask("POST", f"/v1/jobs/{job}/motifs", query)[2]["answers"]
    plain = daemon.ask("POST", path, query)[2]["answers"]
    for motifs, answer in zip(found, plain):
        assert answer["before"] == answer["after"] and answer["before"]["motifs"] == motifs["motifs"]
        assert answer["before"]["prediction"] == motifs["prediction"]
    status, headers, data = daemon.ask("POST", f"/v1/jobs/{job}/motifs", query, headers={"Accept": "application/x-npy"})
    assert status == 200 and headers["Content-Type"] == "application/x-npy" and (len(data) - 6 * 32 * 32 * 3 * 4) % 64 == 0
    maps = numpy.load(io.BytesIO(data))
    assert maps.dtype == numpy.float32 and maps.shape == (6, 32, 32, 3)
    for grid, motifs in zip(maps, found):
        listed = {(*motif["position"], motif["channel"]): motif["value"] for motif in motifs["motifs"]}
        assert set(listed) == set(zip(*(axis.tolist() for axis in numpy.nonzero(grid))))
        assert all(numpy.float32(value) == grid[place] for place, value in listed.items())

    # The same inputs as one array, one input per index of its first axis.
    pixels = numpy.array([answer["input"]["values"] for answer in found], numpy.float32).reshape(6, 32, 32)
    file = io.BytesIO()
    numpy.save(file, pixels)
    status, _, again = daemon.ask("POST", f"/v1/jobs/{job}/motifs?batch=1", file.getvalue(), "application/x-npy",
                                  {"Accept": "application/x-npy"})
    assert status == 200 and (numpy.load(io.BytesIO(again)) == maps).all()
    single = io.BytesIO()
    numpy.save(single, pixels[0])
    for body, pick in ((file, ""), (single, "?batch=1")):
        status, _, problem = daemon.ask("POST", f"/v1/jobs/{job}/motifs{pick}", body.getvalue(), "application/x-npy")
        assert status == 422, problem

    def change(seed, edits, **further):
        return daemon.ask("POST", path, {"inputs": [{"sample": {"seed": seed}, "edits": edits, **further}]})

    best = max(seeds, key=lambda seed: found[seed]["motif_count"])
    first = found[best]["motifs"][0]
    assert found[best]["motif_count"] > 1
    here = {"channel": first["channel"], "position": first["position"]}
    gone = change(best, [{"channel": channel, "delete": True} for channel in range(3)])[2]["answers"][0]
    assert gone["after"]["motif_count"] == 0 and gone["before"]["motifs"] == found[best]["motifs"]
    empty = daemon.ask("POST", path, {"inputs": [{"sample": {"seed": (best + 1) % 6}, "edits": [
        {"channel": channel, "delete": True} for channel in range(3)]}]})[2]["answers"][0]
    assert gone["after"]["tokens"] == empty["after"]["tokens"], "without motifs there is nothing to tell inputs apart"
    moved = change(best, [{**here, "to": {"position": [31, 30], "channel": (first["channel"] + 1) % 3, "value": 7.5}}])[2]["answers"][0]
    want = [motif for motif in found[best]["motifs"][1:]] + [{"position": [31, 30], "channel": (first["channel"] + 1) % 3, "value": 7.5}]
    places = lambda motifs: sorted((motif["channel"], motif["position"], numpy.float32(motif["value"])) for motif in motifs)  # noqa: E731
    assert places(moved["after"]["motifs"]) == places(want)
    kept = change(best, [], keep="maximal")[2]["answers"][0]
    assert places(kept["after"]["motifs"]) == places(motif for motif in found[best]["motifs"] if motif["maximal"])
    swapped = change(best, [{"channel": 0, "to": {"channel": 1}}, {"channel": 1, "to": {"channel": 0}}])[2]["answers"][0]
    assert places(swapped["after"]["motifs"]) == places(
        {**motif, "channel": {0: 1, 1: 0}.get(motif["channel"], motif["channel"])} for motif in found[best]["motifs"])
    for edits, pointer in (([{"channel": 3, "delete": True}], "0/channel"), ([{**here, "to": {"channel": 9}}], "0/to/channel"),
                           ([{**here, "position": [40, 0], "delete": True}], "0/position"), ([{"channel": 0}], "0"),
                           ([{**here, "delete": True}, {"channel": 0, "position": [0, 0], "delete": True}], "1/position"),
                           ([{**here, "to": {"value": -1}}], "0/to/value"), ([{**here, "to": {"extra": 1}}], "0/to"),
                           ([{"channel": 1.5, "delete": True}], "0/channel")):
        status, _, problem = change(best, edits)
        assert status == 422 and problem["errors"][0]["pointer"] == f"/inputs/0/edits/{pointer}", problem
    shown = control(daemon, folder, "intervene", job, "--seed", str(best), "0=delete", "1=delete", "2=delete")
    assert shown.returncode == 0 and "after     0 motifs" in shown.stdout, shown
    place = "{}@{},{}".format(first["channel"], *first["position"])
    shown = control(daemon, folder, "intervene", job, "--seed", str(best), f"{place}={(first['channel'] + 1) % 3}@31,30*7.5", "--json")
    assert places(json.loads(shown.stdout)["answers"][0]["after"]["motifs"]) == places(want), shown
    for wrong in ("0", "x=delete", "0=", "0@1=delete", "0=1*", "0=delete2"):
        assert control(daemon, folder, "intervene", job, wrong).returncode == 2, wrong
    tags = [daemon.ask("POST", path, body)[1]["ETag"] for body in (query, query, {"inputs": query["inputs"][:1]})]
    assert tags[0] == tags[1] != tags[2] and tags[0].startswith('"')


def run_graph(graph, value):
    """Computes the operations of the exported graph in float64, as ONNX's documentation defines them."""
    values = {tensor.name: onnx.numpy_helper.to_array(tensor).astype(float) for tensor in graph.initializer}
    values[graph.input[0].name] = value.astype(float)
    for node in graph.node:
        options = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        x, *rest = (values[name] for name in node.input)
        if node.op_type == "Conv":
            weight, bias = rest
            top, left, bottom, right = options["pads"]
            apart = options.get("dilations", [1, 1])
            spans = [(taps - 1) * distance + 1 for taps, distance in zip(weight.shape[2:], apart)]
            windows = numpy.lib.stride_tricks.sliding_window_view(
                numpy.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right))), spans, (2, 3))[..., ::apart[0], ::apart[1]]
            windows = windows[:, :, ::options["strides"][0], ::options["strides"][1]]
            result = numpy.einsum("bcyxij,ocij->boyx", windows, weight) + bias[:, None, None]
        elif node.op_type == "MaxPool":
            top, left, bottom, right = options["pads"]
            padded = numpy.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=-numpy.inf)
            result = numpy.lib.stride_tricks.sliding_window_view(padded, options["kernel_shape"], (2, 3)).max((4, 5))
        elif node.op_type == "ConvTranspose":
            high, wide = options["strides"]  # as large as the kernel, so that results do not overlap
            assert options["group"] == len(rest[0]) == x.shape[1] and rest[0].shape[2:] == (high, wide)
            result = numpy.einsum("bcyx,cij->bcyixj", x, rest[0][:, 0]).reshape(*x.shape[:2], x.shape[2] * high, x.shape[3] * wide)
            _, _, bottom, right = options["pads"]
            result = result[:, :, : result.shape[2] - bottom, : result.shape[3] - right]
        elif node.op_type == "BatchNormalization":
            gain, shift, mean, variance = (item[:, None, None] for item in rest)
            result = (x - mean) / numpy.sqrt(variance + options["epsilon"]) * gain + shift
        else:
            def scattered():
                result = x.copy()
                numpy.put_along_axis(result, rest[0], rest[1], 0)
                return result
            result = {"Relu": lambda: numpy.maximum(x, 0), "Sub": lambda: x - rest[0], "Add": lambda: x + rest[0], "Mul": lambda: x * rest[0], "Div": lambda: x / rest[0],
                      "Max": lambda: numpy.maximum(x, rest[0]), "Identity": lambda: x,
                      "Shape": lambda: x.shape, "Flatten": lambda: x.reshape(len(x), -1), "Transpose": lambda: x.transpose(options["perm"]),
                      "ArgMax": lambda: x.argmax(0)[None], "GatherElements": lambda: numpy.take_along_axis(x, rest[0], 0),
                      "Greater": lambda: x > rest[0], "Less": lambda: x < rest[0], "Where": lambda: numpy.where(x, *rest), "ScatterElements": scattered,
                      "Reshape": lambda: x.reshape(rest[0])}[node.op_type]()
        values[node.output[0]] = result
    return values[graph.output[0].name]


def the_onnx_graph_computes_the_motif_map(daemon, other, folder, job):
    """The ONNX model passes the checker and gives the same motif map to 1e-5."""
    maps = compare_onnx(daemon, folder, job)
    assert (maps > 0).sum() > 20
    for first in daemon.ask("GET", f"/v1/jobs/{job}/checkpoints")[2]["checkpoints"][:1]:
        status, headers, data = daemon.ask("GET", f"/v1/jobs/{job}/onnx?checkpoint={first['seq']}")
        assert status == 200 and headers["ETag"] == f'"{first["sha256"]}"'
        assert daemon.ask("GET", f"/v1/jobs/{job}/onnx?checkpoint={first['seq']}", headers={"If-None-Match": headers["ETag"]})[0] == 304
        onnx.checker.check_model(onnx.load_model_from_string(data))
    assert daemon.ask("GET", f"/v1/jobs/{job}/onnx?checkpoint=99")[0] == 404
    assert daemon.ask("GET", f"/v1/jobs/{job}/onnx?checkpoint=some")[0] == 400


def the_onnx_graph_of_a_model_that_never_gives_an_empty_map(daemon, other, folder, job):
    """Without never_empty some maps are empty; with it, each of these has one motif, in the graph as in the daemon."""
    sparse = {"density_start": 2e-4, "density_final": 2e-4}
    plain, lifted = (compare_onnx(daemon, folder, daemon.train(never_empty=never, **sparse)) for never in (False, True))
    active = [(maps > 0).sum(axis=(1, 2, 3)) for maps in (plain, lifted)]
    assert (active[0] == 0).any() and (active[1] == numpy.maximum(active[0], 1)).all(), active


def the_onnx_graph_of_a_model_with_a_limited_number_of_motifs(daemon, other, folder, job):
    """Without a limit some maps have more than two motifs. With one, no map has more peaks, in the graph as in the daemon."""
    plain, motifs, names = (compare_onnx(daemon, folder, daemon.train(**limit)) for limit in ({}, {"most_motifs": 2}, {"most_names": 1}))
    active = (plain > 0).sum(axis=(1, 2, 3))
    assert (active > 3).any() and (motifs > 0).sum() < (plain > 0).sum(), active
    assert (motifs[motifs > 0] == plain[motifs > 0]).all() and (names[names > 0] == plain[names > 0]).all()
    assert ((plain > 0).any(axis=(1, 2)).sum(axis=1) > 1).any() and ((names > 0).any(axis=(1, 2)).sum(axis=1) == (plain > 0).any(axis=(1, 2, 3))).all()


def the_onnx_graph_of_a_model_with_a_stride(daemon, other, folder, job):
    """Blocks of 5 x 5 pixels do not divide the picture of 32 x 32 pixels; the graph gives the daemon's map all the same."""
    maps = compare_onnx(daemon, folder, daemon.train(stride=5, first_window=3, most_motifs=2))
    rows, cols, _ = (maps > 0).any(axis=0).nonzero()
    assert len(rows) > 3 and (rows % 5 == 1).all() and (cols % 5 == 1).all(), (rows, cols)


def the_onnx_graph_of_a_model_with_matrices(daemon, other, folder, job):
    """Channels of DNA have the scores of position matrices, on both strands, in the graph as in the daemon."""
    rng = numpy.random.default_rng(5)
    codes, word = rng.integers(0, 4, (2000, 64)), numpy.array([2, 0, 3, 3, 0, 1, 0, 2, 2])
    for row in codes[1::2]:
        letters = numpy.where(rng.random(9) < 0.1, rng.integers(0, 4, 9), word)
        at = int(rng.integers(55))
        row[at:at + 9] = letters if rng.random() < 0.5 else 3 - letters[::-1]
    lines = [f">s{i}{' bound' if i % 2 else ''}\n{''.join('ACGT'[c] for c in row)}\n" for i, row in enumerate(codes)]
    assert daemon.ask("PUT", "/v1/datasets/words", "".join(lines).encode(), "text/x-fasta")[0] == 201
    small = {"dataset_name": "words", "width": 16, "units": 1, "first_window": 15, "channels": 16, "heads": 2, "layers": 1, "feed_forward": 32,
             "presence_samples": 9000, "total_samples": 12000, "validation_every": 1000, "validation_samples": 200, "reading_samples": 400,
             "test_samples": 20, "motif_samples": 20, "stage_samples": 0, "learning_rate": 5e-3}
    bound = daemon.train("dataset", small)
    weights, _ = safetensors_file.read(daemon.ask("GET", f"/v1/jobs/{bound}/checkpoints/latest")[2])
    assert weights["g.matrix.scale"][0] > 0, weights["g.matrix.scale"]
    inputs = numpy.eye(4, dtype=numpy.float32)[codes[:16]][:, None]
    body = io.BytesIO()
    numpy.save(body, inputs)
    maps = numpy.load(io.BytesIO(daemon.ask("POST", f"/v1/jobs/{bound}/motifs?batch=1", body.getvalue(), "application/x-npy", {"Accept": "application/x-npy"})[2]))
    assert control(daemon, folder, "export", bound, "d.onnx", "--onnx").returncode == 0
    model = onnx.load(os.path.join(folder, "d.onnx"))
    onnx.checker.check_model(model, full_check=True)
    computed = run_graph(model.graph, inputs.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    assert computed.shape == maps.shape and (computed > 0).sum() >= 5, (computed.shape, maps.shape)
    assert abs(computed.max(axis=(1, 2, 3)) - maps.max(axis=(1, 2, 3))).max() < 1e-4, abs(computed - maps).max()


def compare_onnx(daemon, folder, job):
    assert control(daemon, folder, "export", job, "g.onnx", "--onnx").returncode == 0
    model = onnx.load(os.path.join(folder, "g.onnx"))
    onnx.checker.check_model(model, full_check=True)
    shapes = [[side.dim_value or side.dim_param for side in value.type.tensor_type.shape.dim]
              for value in (model.graph.input[0], model.graph.output[0])]
    assert shapes == [["batch", 1, 32, 32], ["batch", 3, 32, 32]], shapes
    query = {"inputs": [{"sample": {"seed": seed}} for seed in range(8)]}
    answers = daemon.ask("POST", f"/v1/jobs/{job}/motifs", query)[2]["answers"]
    inputs = numpy.array([answer["input"]["values"] for answer in answers], numpy.float32).reshape(8, 1, 32, 32)
    maps = numpy.load(io.BytesIO(daemon.ask("POST", f"/v1/jobs/{job}/motifs", query, headers={"Accept": "application/x-npy"})[2]))
    computed = run_graph(model.graph, inputs).transpose(0, 2, 3, 1)
    assert abs(computed - maps).max() < 1e-5, abs(computed - maps).max()
    return maps


def channels_of_signals_have_a_scale_each(daemon, other, folder, job):
    """Each channel of a signal is standardised, in training, queries and the exported graph; the answers have the scale."""
    rng = numpy.random.default_rng(5)
    x = rng.normal(size=(300, 2, 24)).astype(numpy.float32)
    x[::2, 1, 8:12] += [3, -3, 3, -3]
    x = x * numpy.array([50, 1e-3], numpy.float32)[:, None] + numpy.array([1000, 0.5], numpy.float32)[:, None]
    content = io.BytesIO()
    numpy.savez(content, x=x, y=numpy.array(["plain", "word"])[numpy.arange(300) % 2 ^ 1])
    status, _, answer = daemon.ask("PUT", "/v1/datasets/units?layout=signals", content.getvalue(), "application/x-npz")
    assert status == 201 and any("scale each channel" in warning["text"] for warning in answer["warnings"]), answer
    small = {"width": 8, "units": 2, "first_window": 7, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "total_samples": 320,
             "presence_samples": 160, "validation_every": 80, "checkpoint_every": 160, "reading_samples": 40, "stage_samples": 4, "centre_motifs": False}
    status, _, made = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": {**small, "dataset_name": "units"}})
    assert status == 201, made
    while daemon.ask("GET", f"/v1/jobs/{made['id']}")[2]["state"] in ("queued", "running"):
        time.sleep(0.1)
    query = {"inputs": [{"array": sample.tolist()} for sample in x[:8, :, None]]}
    samples = daemon.ask("POST", f"/v1/jobs/{made['id']}/motifs", {"inputs": [{"sample": {"seed": seed}} for seed in range(8)]})[2]["answers"]
    for shown in (answer["input"] for answer in samples):  # what a client sends again is a sample of the file
        zero, unit = numpy.array(shown["zero"]), numpy.array(shown["unit"])
        assert numpy.allclose(zero, x.mean((0, 2)), rtol=1e-3) and numpy.allclose(unit, x.std((0, 2)), rtol=1e-3), (zero, unit)
        own = (zero + unit * numpy.array(shown["values"]).reshape(24, 2)).T
        assert min(abs((x - own) / unit[:, None]).max((1, 2))) < 1e-3
    maps = numpy.load(io.BytesIO(daemon.ask("POST", f"/v1/jobs/{made['id']}/motifs", query, headers={"Accept": "application/x-npy"})[2]))
    assert control(daemon, folder, "export", made["id"], "units.onnx", "--onnx").returncode == 0
    graph = onnx.load(os.path.join(folder, "units.onnx"))
    onnx.checker.check_model(graph, full_check=True)
    apart = [list(item.ints) for node in graph.graph.node for item in node.attribute if item.name == "dilations"]
    assert apart == [[1, 2]] * 2, "the second unit of a signal reads every other position"
    computed = run_graph(graph.graph, x[:8, :, None]).transpose(0, 2, 3, 1)
    assert maps.max() > 0 and abs(computed - maps.reshape(computed.shape)).max() < 1e-3, abs(computed - maps.reshape(computed.shape)).max()
    assert control(daemon, folder, "export", made["id"], "units.safetensors").returncode == 0
    with open(os.path.join(folder, "units.safetensors"), "rb") as file:
        tensors = safetensors_file.read(file.read())[0]
    assert "input.zero" in tensors and "input.unit" in tensors, list(tensors)
    for scale, expected in (("none", None), ("robust", numpy.median(x, (0, 2))), ("counts", 422)):
        assert daemon.ask("PUT", f"/v1/datasets/units-{scale}?layout=signals&scale={scale}", content.getvalue(), "application/x-npz")[0] == 201
        body = {"kind": "sparling", "preset": "dataset", "config": {**small, "dataset_name": f"units-{scale}", "total_samples": 80, "presence_samples": 40}}
        status, _, other_job = daemon.ask("POST", "/v1/jobs", body)
        assert status == (422 if scale == "counts" else 201), other_job
        if status == 422:
            assert "scale=counts" in other_job["errors"][0]["detail"], other_job
            continue
        while daemon.ask("GET", f"/v1/jobs/{other_job['id']}")[2]["state"] in ("queued", "running"):
            time.sleep(0.1)
        shown = daemon.ask("POST", f"/v1/jobs/{other_job['id']}/motifs", {"inputs": [{"sample": {"seed": 1}}]})[2]["answers"][0]["input"]
        assert (shown["zero"] == 0 and shown["unit"] == 1) if expected is None else numpy.allclose(shown["zero"], expected, rtol=1e-3), (scale, shown["zero"])
    far = [[[1000.0] * 24], [[0.5] * 23 + [5.0]]]
    warned = daemon.ask("POST", f"/v1/jobs/{made['id']}/motifs", {"inputs": [{"array": far}]})[2]["answers"][0]["warnings"]
    assert [warning["code"] for warning in warned] == ["outside-range"] and "channel 1" in warned[0]["text"], warned


def agreement_equals_a_count_in_numpy(daemon, other, folder, job):
    """A model must agree fully with itself. Its agreement with another model must equal what NumPy counts in both motif lists."""
    path, samples = f"/v1/jobs/{job}/compare", 40
    same = daemon.ask("POST", path, {"with": job, "samples": samples})[2]
    for row in same["channels"]:
        assert row["motifs"] == 0 or (row["other"] == row["channel"] and row["agreement"] == 1), row
    second = daemon.train(seed=3)
    status, _, found = daemon.ask("POST", path, {"with": second, "samples": samples})
    assert status == 200, found
    tags = [daemon.ask("POST", path, {"with": name, "samples": 5})[1]["ETag"] for name in (second, second, job)]
    assert tags[0] == tags[1] != tags[2] and tags[0].startswith('"')
    query = {"inputs": [{"sample": {"seed": seed}} for seed in range(samples)]}
    left, right = ([[motif for motif in answer["motifs"] if motif["maximal"]] for answer in
                    daemon.ask("POST", f"/v1/jobs/{name}/motifs", query)[2]["answers"]] for name in (job, second))
    together = numpy.zeros((3, 3))
    for ours, theirs in zip(left, right):
        for motif in ours:
            near = [(max(abs(a - b) for a, b in zip(motif["position"], each["position"])), index) for index, each in enumerate(theirs)]
            if near and min(near)[0] <= 5:
                together[motif["channel"], theirs[min(near)[1]]["channel"]] += 1
    best = max(itertools.permutations(range(3)), key=lambda order: sum(together[row, column] for row, column in enumerate(order)))
    assert sum(row["together"] for row in found["channels"]) == sum(together[row, column] for row, column in enumerate(best))
    for row in found["channels"]:
        counts = [sum(motif["channel"] == channel for motifs in side for motif in motifs)
                  for side, channel in ((left, row["channel"]), (right, row["other"]))]
        assert [row["motifs"], row["other_motifs"]] == counts and row["together"] == together[row["channel"], row["other"]]
        assert sum(counts) == 0 or abs(row["agreement"] - 2 * row["together"] / sum(counts)) < 1e-12
    shown = control(daemon, folder, "compare", job, second, "--samples", str(samples))
    assert shown.returncode == 0 and f"agreement {100 * found['agreement']:.1f} %" in shown.stdout, shown
    smaller = daemon.train(image_size=48, total_samples=80)
    for body, pointer in (({"with": "none"}, "/with"), ({}, "/with"), ({"with": job, "samples": 0}, "/samples"),
                          ({"with": smaller}, "/with"), ({"with": job, "more": 1}, "/more")):
        status, _, problem = daemon.ask("POST", path, body)
        assert status == 422 and problem["errors"][0]["pointer"] == pointer, problem


def channel_statistics_equal_those_of_numpy(daemon, other, folder, job):
    """Use, histogram and strongest inputs of a channel equal what NumPy computes from the motif maps."""
    path, samples, first = f"/v1/jobs/{job}/channels", 25, 3
    query = {"inputs": [{"sample": {"seed": first + index}} for index in range(samples)]}
    maps = numpy.load(io.BytesIO(daemon.ask("POST", f"/v1/jobs/{job}/motifs", query, headers={"Accept": "application/x-npy"})[2]))
    answers = daemon.ask("POST", f"/v1/jobs/{job}/motifs", query)[2]["answers"]

    def under(answer, place):
        return next((box["symbol"] for box in answer["truth"] if box["box"][0] <= place[0] < box["box"][1]
                     and box["box"][2] <= place[1] < box["box"][3]), None)

    status, headers, found = daemon.ask("GET", f"{path}?samples={samples}&first={first}")
    assert status == 200 and found["elements"] == samples * 32 * 32, found
    assert found["unused"] == sum(not maps[..., channel].any() for channel in range(3))
    for use in found["channels"]:
        values = maps[..., use["channel"]]
        places = [under(answer, motif["position"]) for answer in answers for motif in answer["motifs"]
                  if motif["maximal"] and motif["channel"] == use["channel"]]
        assert use["active"] == (values > 0).sum() and use["inputs"] == (values > 0).any((1, 2)).sum()
        assert use["motifs"] == len(places)
        assert {row["symbol"]: row["count"] for row in use["symbols"]} == {name: places.count(name) for name in set(places)}
        assert numpy.float32(use["max"]) == values.max()
        one = daemon.ask("GET", f"{path}/{use['channel']}?samples={samples}&first={first}&top=5")[2]
        counts, _ = numpy.histogram(values[values > 0], one["histogram"]["edges"])
        assert one["histogram"]["counts"] == counts.tolist() and {**one, **use} == one
        strongest = sorted(((grid.max(), index) for index, grid in enumerate(values) if grid.any()), key=lambda pair: -pair[0])[:5]
        assert [numpy.float32(top["value"]) for top in one["top"]] == [value for value, _ in strongest]
        for top, (value, index) in zip(one["top"], strongest):
            row, col = top["position"]
            half = one["footprint"] // 2
            assert top["sample"] == first + index and values[index, row, col] == value
            assert top["symbol"] == under(answers[index], (row, col))
            assert top["window"] == [max(0, row - half), min(32, row + half + 1), max(0, col - half), min(32, col + half + 1)]
    tag = {"If-None-Match": headers["ETag"]}
    assert daemon.ask("GET", f"{path}?samples={samples}&first={first}", headers=tag)[0] == 304
    assert daemon.ask("GET", f"{path}?samples={samples}&first=4", headers=tag)[0] == 200
    for place in ("", "/1"):
        status, headers, picture = daemon.ask("GET", f"{path}{place}?samples=20", headers={"Accept": "image/png"})
        assert status == 200 and headers["Content-Type"] == "image/png" and picture[1:4] == b"PNG" and len(picture) > 1000
        assert daemon.ask("GET", f"{path}{place}?samples=20")[1]["ETag"] != headers["ETag"]
    sets = [daemon.ask("GET", f"{path}?set={name}")[2]["channels"] for name in ("examples", "test", "validation", "training")]
    assert all(left != right for left, right in itertools.combinations(sets, 2))
    for question, status in (("/3", 404), ("/x", 404), ("?samples=0", 400), ("?samples=2000", 400), ("?set=all", 400), ("/0?top=65", 400),
                             ("?checkpoint=some", 400), ("?checkpoint=99", 404)):
        assert daemon.ask("GET", path + question)[0] == status, question
    shown = control(daemon, folder, "channels", job, "1", "--samples", "25", "--first", "3", "--png", "one.png")
    assert shown.returncode == 0 and f"active at {(maps[..., 1] > 0).sum()} positions" in shown.stdout, shown
    assert "SYMBOL" in control(daemon, folder, "channels", job).stdout and os.path.getsize(os.path.join(folder, "one.png")) > 1000
    assert control(daemon, folder, "channels", job, "9").returncode == 2


OWN = {"width": 8, "units": 1, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "batch": 4, "validation_every": 40,
       "checkpoint_every": 40, "curriculum": 0, "total_samples": 400, "dataset_fit": False, "motifs": 3, "density_start": 0.1,
       "motif_samples": 15, "test_samples": 15, "validation_samples": 8, "reinitialise_below": 0}


def check_motif_counts_against_the_motif_lists(daemon, job):
    """Without boxes, a result must contain no motif errors. Every other number must equal what the test computes from the motif lists."""
    result = daemon.job(job)["result"]
    assert result["fpe"] is None and "theorem" not in result and result["e2ee"] is not None
    counted, samples = result["motif_counts"], result["motif_samples"]
    query = {"inputs": [{"sample": {"seed": seed}} for seed in range(samples)]}
    answers = daemon.ask("POST", f"/v1/jobs/{job}/motifs", query)[2]["answers"]
    side = daemon.ask("GET", f"/v1/jobs/{job}/channels")[2]["footprint"]
    found = [[motif for motif in answer["motifs"] if motif["maximal"]] for answer in answers]
    shares = [[max([max(0, side - abs(one["position"][0] - two["position"][0])) * max(0, side - abs(one["position"][1] - two["position"][1]))
                    for two in motifs if two is not one], default=0) / side ** 2 for one in motifs] for motifs in found]
    flat, close = [share for row in shares for share in row], lambda left, right: abs(left - right) < 1e-9
    assert counted["samples"] == samples and counted["too_dense"] == 0 and flat, counted
    assert close(counted["motifs"], len(flat) / samples) and counted["tokens"] == 1
    assert close(counted["as_many"], sum(len(motifs) == 1 for motifs in found) / samples)
    assert close(counted["samples_overlapping"], sum(any(row) for row in shares) / samples)
    assert close(counted["motifs_overlapping"], sum(share > 0 for share in flat) / len(flat))
    assert close(counted["overlap"], sum(flat) / len(flat))
    for use in counted["channels"]:
        own = [[motif for motif in motifs if motif["channel"] == use["channel"]] for motifs in found]
        assert use["motifs"] == sum(map(len, own)) and use["inputs"] == sum(map(bool, own))
    counts = [use["motifs"] for use in counted["channels"]]
    assert counted["unused"] == counts.count(0) and close(counted["least_use"], min(counts) / numpy.mean(counts))


def fasta_gives_the_answers_of_its_array(daemon, other, folder, job):
    """FASTA gives the same answers as its one-hot array; each record is an input; a short record is padded with unknown bases."""
    made = daemon.train(preset="splicing", settings={"splicing_length": 100, "width": 8, "units": 1, "channels": 8, "batch": 4,
                                                     "total_samples": 40, "validation_every": 40, "validation_samples": 4, "test_samples": 4,
                                                     "motif_samples": 4, "stage_samples": 0, "checkpoint_every": 40, "density_start": 0.2})
    bases = numpy.random.default_rng(2).integers(0, 4, 100)
    text = "".join("ACGT"[base] for base in bases)
    planes = numpy.eye(4)[bases].T[:, None]
    short = planes.copy()
    short[..., 41:] = 0
    whole = daemon.ask("POST", f"/v1/jobs/{made}/motifs", {"inputs": [{"array": planes.tolist()}, {"array": short.tolist()}]})[2]["answers"]
    fasta = f">one\n{text[:30]}\n{text[30:].lower()}\n>two\n{text[:41]}\n"
    status, _, found = daemon.ask("POST", f"/v1/jobs/{made}/motifs", fasta.encode(), "text/x-fasta")
    assert status == 200 and found["answers"] == whole, found
    assert [a["letters"] for a in whole] == [text.replace("T", "U"), text[:41].replace("T", "U")]
    assert whole[0]["alphabet"]["symbols"] == list("ACGU") and whole[0]["alphabet"]["unit"] == "nt"
    data = base64.b64encode(fasta[:fasta.index(">two")].encode()).decode()
    again = daemon.ask("POST", f"/v1/jobs/{made}/motifs", {"inputs": [{"data": data, "type": "text/x-fasta"}]})[2]["answers"]
    assert again == whole[:1]
    both = base64.b64encode(fasta.encode()).decode()
    for body, kind in (({"inputs": [{"data": both, "type": "text/x-fasta"}]}, JSON), (b">a\nAC!\n", "text/x-fasta"), (b"", "text/x-fasta"),
                       (b">a\n" + b"A" * 101 + b"\n", "text/x-fasta"), (b">a\n>b\nA\n", "text/x-fasta")):
        assert daemon.ask("POST", f"/v1/jobs/{made}/motifs", body, kind)[0] in (400, 422), body
    assert daemon.ask("POST", f"/v1/jobs/{job}/motifs", fasta.encode(), "text/x-fasta")[0] == 422, "pictures are no sequences"


def strict_meme(text):
    """Reads MEME's minimal format of RNA by the letter of its rules; returns {id: (name, sites, rows)}."""
    head, *motifs = text.split("MOTIF ")
    assert head.startswith("MEME version 4\n") and "\nALPHABET= ACGU\n" in head and "\nstrands: +\n" in head, head
    letters = head.split("Background letter frequencies\n")[1].split()
    assert letters[::2] == list("ACGU") and abs(sum(map(float, letters[1::2])) - 1) < 1e-9, letters
    found = {}
    for motif in motifs:
        first, matrix, *rows = motif.rstrip("\n").split("\n")
        words = re.fullmatch(r"letter-probability matrix: alength= 4 w= (\d+) nsites= (\d+) E= (\S+)", matrix)
        numbers = [[float(word) for word in row.split()] for row in rows]
        assert len(numbers) == int(words[1]) and all(len(row) == 4 and abs(sum(row) - 1) < 1e-9 for row in numbers), motif
        name = first.split()
        assert name[0] not in found and float(words[3]) >= 0
        found[name[0]] = (name[1] if len(name) > 1 else "", int(words[2]), numbers)
    return found


def simple_meme(text):
    """Reads the same file as small programs do: the width is the sixth word, and a motif ends at the line after its last row."""
    found, rows, name, width = {}, None, None, 0
    for line in text.split("\n"):
        if line.startswith("MOTIF"):
            name = line[6:].strip("\r\n")
        elif line.startswith("letter"):
            rows, width = [], int(line.split()[5])
        elif rows is not None and len(rows) < width:
            rows.append([float(word) for word in line.split()])
        elif rows is not None:
            found[name.split()[0]], rows = rows, None
    return found


def check_the_comparison_with_a_database(daemon, path, own, meme):
    """The channels' own matrices, uploaded as a data set of motifs: each channel is most similar to itself."""
    for name, kind, text in (("own-motifs", "meme", meme), ("reads", "fasta", ">a x\nACGT\n>b\nGGCC\n")):
        status, _, answer = daemon.ask("PUT", f"/v1/datasets/{name}?format={kind}", text.encode(), "application/octet-stream")
        assert status == 201, answer
    shown = daemon.ask("GET", "/v1/datasets/own-motifs")[2]
    assert shown["kind"] == "motifs" and shown["samples"] == len(own), shown
    status, headers, answer = daemon.ask("GET", f"{path}&against=own-motifs")
    assert status == 200 and headers["ETag"] != daemon.ask("GET", path)[1]["ETag"]
    for use in answer["channels"]:
        matches = use["matrix"]["matches"] if use["matrix"] else []
        assert all(matches[i]["p"] <= matches[i + 1]["p"] for i in range(len(matches) - 1)), matches
        if matches:
            best = [m for m in matches if m["p"] == matches[0]["p"]]
            mine = next((m for m in best if m["id"] == f"channel-{use['channel']}"), None)
            assert mine and (mine["offset"], mine["strand"]) == (0, "+") and abs(mine["evalue"] - mine["p"] * len(own)) < 1e-9, matches
    assert daemon.ask("GET", path)[2]["channels"][int(next(iter(own)).split("-")[1])]["matrix"]["matches"] is None
    for wrong, says in (("nothing-here", "there is no data set"), ("reads", "contains sequences"), ("../x", "data set")):
        status, _, problem = daemon.ask("GET", f"{path}&against={wrong}")
        assert status == 400 and says in str(problem) and "against" in str(problem), (wrong, problem)
    status, _, problem = daemon.ask("POST", "/v1/jobs?dry_run=1", {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": "own-motifs"}})
    assert status == 422 and "contains motifs" in str(problem), problem


def matrices_have_the_same_numbers_in_every_format(daemon, other, folder, job):
    """Channels of a model of RNA are matrices in JSON, MEME and JASPAR form. All three have the same numbers."""
    made = daemon.train(preset="splicing", settings={"splicing_length": 100, "width": 8, "units": 1, "channels": 8, "batch": 4,
                                                     "total_samples": 40, "validation_every": 40, "validation_samples": 4, "test_samples": 4,
                                                     "motif_samples": 4, "stage_samples": 0, "checkpoint_every": 40, "density_start": 0.2})
    path = f"/v1/jobs/{made}/channels?samples=60"
    texts = {kind: daemon.ask("GET", path, headers={"Accept": kind}) for kind in ("text/x-meme", "text/x-jaspar")}
    assert all(status == 200 for status, _, _ in texts.values()), texts
    meme, jaspar = (texts[kind][2].decode() for kind in ("text/x-meme", "text/x-jaspar"))
    strict, simple = strict_meme(meme), simple_meme(meme)
    counts = {block.split()[0]: [[float(word) for word in line.split("[")[1].rstrip(" ]").split()] for line in block.split("\n")[1:5]]
              for block in jaspar.split(">")[1:]}
    uses = daemon.ask("GET", path)[2]["channels"]
    own = {f"channel-{use['channel']}": use["matrix"] for use in uses if use["matrix"]}
    assert own and set(own) == set(strict) == set(simple) == set(counts), (list(own), list(strict), list(simple), list(counts))
    for name, matrix in own.items():
        assert strict[name][1] == matrix["sites"] and len(matrix["consensus"]) == len(matrix["counts"]) == len(matrix["information"])
        assert set(matrix["consensus"].upper()) <= set("ACGU."), matrix["consensus"]
        for position, row in enumerate(matrix["counts"]):
            assert 0 < sum(row) <= matrix["sites"]
            assert [column[position] for column in counts[name]] == row
            for read in (strict[name][2], simple[name]):
                assert max(abs(p - count / sum(row)) for p, count in zip(read[position], row)) < 2e-6
            bits = 2 + sum(count / sum(row) * numpy.log2(count / sum(row)) for count in row if count) - 3 / (2 * numpy.log(2) * sum(row))
            assert abs(matrix["information"][position] - max(bits, 0)) < 1e-6
        assert min(matrix["information"][0], matrix["information"][-1]) >= 0.2
    assert len({answer[1]["ETag"] for answer in texts.values()}) == 2
    one = daemon.ask("GET", f"/v1/jobs/{made}/channels/{next(iter(own)).split('-')[1]}?samples=60", headers={"Accept": "text/x-meme"})[2].decode()
    assert list(strict_meme(one)) == [next(iter(own))] and strict_meme(one)[next(iter(own))] == strict[next(iter(own))]
    assert daemon.ask("GET", f"/v1/jobs/{job}/channels", headers={"Accept": "text/x-meme"})[0] == 409, "pictures have no bases"
    check_the_comparison_with_a_database(daemon, path, own, meme)
    refused = daemon.ask("GET", path, headers={"Accept": "text/html"})
    assert refused[0] == 406 and "text/x-meme" in str(refused[2])


# Six seconds of training on an idle core: two digits of four on a small circle.
CIRCLE = {"image_size": 40, "classes": 4, "min_symbols": 1, "max_symbols": 2, "shift": 1, "margin": 10, "min_radius": 8, "width": 16, "motifs": 4,
          "units": 3, "channels": 32, "layers": 1, "heads": 2, "feed_forward": 64, "batch": 8, "validation_every": 500, "validation_samples": 50,
          "checkpoint_every": 20000, "test_samples": 50, "motif_samples": 300, "stage_samples": 4, "curriculum": 1000, "total_samples": 9000,
          "density_start": 0.002, "density_final": 0.0005, "target_start": 0.9, "target_max": 0.9, "perturb_samples": 200}


def predicted_labels_follow_moved_motifs(daemon, other, folder, job):
    """Repeats the perturbation experiment of the evaluation over HTTP, with other samples."""
    circle = daemon.train(settings=CIRCLE)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reproduce", "ask.py")
    done = subprocess.run([sys.executable, script, "perturb", circle, "--samples", "200", "--url", daemon.url], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done
    outside, own = float(done.stdout.split(": ")[1].split(" %")[0]) / 100, daemon.job(circle)["result"]["perturbed"]
    assert own > 0.3 and abs(outside - own) < 0.15, (done.stdout, own)
    both = subprocess.run([sys.executable, script, "agree", circle, circle, "--samples", "50", "--least", "0", "--url", daemon.url],
                          capture_output=True, text=True, timeout=PATIENCE)
    assert both.returncode == 0 and "100.0" in both.stdout, both  # --least 0, because a channel without motifs has no agreement


def check_the_attestation_of_a_table(daemon):
    """Factors and environments record the hash of the upload, and in their checkpoints the hash of its numbers."""
    lines = [f"{'ab'[i % 2]},{i % 7},{i % 5 - i % 2},{i % 3},{i % 2}" for i in range(60)]
    text = "\n".join(["group,tall,wide,deep,y"] + lines).encode()
    status, _, made = daemon.ask("PUT", "/v1/datasets/garden", text, "text/csv")
    assert status == 201, made
    small = {"latent": 2, "batch": 8, "dataset_name": "garden"}
    jobs = [daemon.train(None, {**small, "data": "cells", "epochs": 2, "hidden": 4}, "factors"),
            daemon.train(None, {**small, "data": "table", "updates": 5, "unseen": 0, "factors": 2}, "environments")]
    for job in jobs:
        attested = daemon.ask("GET", f"/v1/jobs/{job}/attestation")[2]["dataset"]
        assert attested["names"] == {"dataset_name": "garden"} and attested["sha256"] == made["sha256"][:40], attested
        assert re.fullmatch("[0-9a-f]{64}", attested["digest"]), attested


def the_attestation_contains_the_hash_of_the_data(daemon, other, folder, job):
    """The chain starts with the hash of the data; a bundle contains it, and both daemons report the same."""
    assert daemon.ask("GET", f"/v1/jobs/{job}/attestation")[2]["dataset"] is None, "digitcircle is drawn, not read"
    random = numpy.random.default_rng(1)
    labels = random.integers(0, 3, 60)
    pictures = random.random((60, 16, 16)) * 0.1
    for index, label in enumerate(labels):
        pictures[index, 4 * label:4 * label + 4, 6:10] = 1
    file = io.BytesIO()
    numpy.savez(file, x=pictures.astype("f4"), y=labels)
    status, _, made = daemon.ask("PUT", "/v1/datasets/bars", file.getvalue(), "application/x-npz")
    assert status == 201 and made["sha256"] == sha256(file.getvalue()), made
    own = daemon.train(preset="dataset", settings={**OWN, "dataset_name": "bars"})
    attested = daemon.ask("GET", f"/v1/jobs/{own}/attestation")[2]
    assert attested["dataset"] == {"names": {"dataset_name": "bars"}, "sha256": made["sha256"][:40], "digest": None}, attested["dataset"]
    check_motif_counts_against_the_motif_lists(daemon, own)
    check_the_attestation_of_a_table(daemon)
    bundle = daemon.ask("GET", f"/v1/jobs/{own}/bundle")[2]
    assert other.ask("POST", "/v1/imports", bundle, BYTES)[0] == 404, "the data is not there"
    assert other.ask("PUT", "/v1/datasets/bars", file.getvalue(), "application/x-npz")[0] == 201
    status, _, copy = other.ask("POST", "/v1/imports", bundle, BYTES)
    assert status == 201, copy
    assert other.ask("GET", f"/v1/jobs/{copy['id']}/attestation")[2]["dataset"] == attested["dataset"]
    members, notes = safetensors_file.read(bundle)
    manifest = json.loads(notes["manifest"])
    manifest["attestation"]["dataset"]["sha256"] = "0" * 40
    text = json.dumps(manifest)
    forged = safetensors_file.write(members, {**notes, "manifest": text, "manifest_sha256": sha256(text.encode())})
    assert other.ask("POST", "/v1/imports", forged, BYTES)[0] == 422


CHECKS = [imported_weights_have_the_same_bits, weights_of_every_kind_are_evaluated_or_refused, large_bodies_use_the_disk_and_not_memory,
          the_hash_chain_can_be_recomputed, an_imported_bundle_contains_the_whole_job, verify_finds_a_changed_step,
          interventions_change_the_answers, the_onnx_graph_computes_the_motif_map,
          the_onnx_graph_of_a_model_that_never_gives_an_empty_map,
          the_onnx_graph_of_a_model_with_a_limited_number_of_motifs, the_onnx_graph_of_a_model_with_a_stride, the_onnx_graph_of_a_model_with_matrices, channels_of_signals_have_a_scale_each, agreement_equals_a_count_in_numpy,
          channel_statistics_equal_those_of_numpy, the_attestation_contains_the_hash_of_the_data, predicted_labels_follow_moved_motifs, fasta_gives_the_answers_of_its_array, matrices_have_the_same_numbers_in_every_format]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in "ab":
            os.mkdir(os.path.join(folder, name))
        daemon, other = (Giver(sys.argv[1], os.path.join(folder, name)) for name in "ab")
        try:
            job = daemon.train()
            wanted = sys.argv[3:]
            for check in [each for each in CHECKS if not wanted or each.__name__ in wanted]:
                try:
                    check(daemon, other, folder, job)
                    print("ok takeaway:", check.__name__)
                except Exception:  # noqa: BLE001 - each check is reported
                    traceback.print_exc()
                    print("not ok takeaway:", check.__name__)
                    failed += 1
        finally:
            codes = [daemon.end(), other.end()]
        print("ok" if codes == [0, 0] else "not ok", "takeaway: both daemons end with exit code 0")
        failed += codes != [0, 0]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
