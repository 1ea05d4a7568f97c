#!/usr/bin/env python3
"""A model leaves a daemon and comes back, read on the way by code that shares nothing with it.

usage: wire_takeaway.py MOTIFD MOTIFCTL        prints "ok ..." or "not ok ..." a check"""
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import safetensors_file  # noqa: E402

TINY = {"image_size": 32, "classes": 3, "min_symbols": 1, "max_symbols": 2, "shift": 1, "margin": 8, "min_radius": 5,
        "width": 16, "motifs": 3, "units": 1, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "batch": 4,
        "validation_every": 40, "validation_samples": 8, "checkpoint_every": 20, "test_samples": 8, "motif_samples": 8,
        "stage_samples": 4, "curriculum": 0, "density_start": 0.01, "total_samples": 400}
JSON, BYTES = "application/json", "application/octet-stream"


class Daemon:
    def __init__(self, program, folder):
        self.process = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0", "--db", os.path.join(folder, "db")],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().split()[-1]

    def ask(self, method, path, body=None, kind=JSON, headers=None):
        """(status, headers, bytes or parsed JSON)"""
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        request = urllib.request.Request(self.url + path, data, {**({"Content-Type": kind} if data else {}), **(headers or {})},
                                         method=method)
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            content = answer.read()
            if "json" in (answer.headers.get_content_type() or "") and content:
                content = json.loads(content)
            return answer.status, answer.headers, content

    def train(self, **changes):
        status, _, job = self.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick",
                                                       "config": {**TINY, **changes}})
        assert status == 201, job
        for _ in range(1200):
            job = self.ask("GET", f"/v1/jobs/{job['id']}")[2]
            if job["state"] not in ("queued", "running"):
                break
            time.sleep(0.1)
        assert job["state"] == "succeeded", job
        return job["id"]

    def close(self):
        self.process.terminate()
        return self.process.wait(30)


def control(daemon, folder, *words):
    return subprocess.run([os.path.abspath(sys.argv[2]), *words], cwd=folder, env={**os.environ, "MOTIFD_SERVER": daemon.url},
                          capture_output=True, text=True, timeout=120)


def weights_travel(daemon, other, folder, job):
    """motifctl export, an independent reader, a second daemon, motifctl import, export again."""
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
        assert left == right, query
    # A file that somebody else has written, with a weight of his own.
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


CHECKS = [weights_travel]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in "ab":
            os.mkdir(os.path.join(folder, name))
        daemon, other = (Daemon(sys.argv[1], os.path.join(folder, name)) for name in "ab")
        try:
            job = daemon.train()
            for check in CHECKS:
                try:
                    check(daemon, other, folder, job)
                    print("ok takeaway:", check.__name__)
                except Exception:  # noqa: BLE001 - each check is reported
                    traceback.print_exc()
                    print("not ok takeaway:", check.__name__)
                    failed += 1
        finally:
            codes = [daemon.close(), other.close()]
        print("ok" if codes == [0, 0] else "not ok", "takeaway: the daemons end well")
        failed += codes != [0, 0]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
