#!/usr/bin/env python3
"""Runs the programs of examples/ and those of the tutorials against a daemon; without NumPy, all but the two that need it.

usage: wire_examples.py MOTIFD MOTIFCTL FOLLOW TRAIN_SH TRAIN_PY"""
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import wave

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon  # noqa: E402


def run(name, command, folder, expected, **environment):
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
    lacks = [text for text in expected if text not in result.stdout]
    good = result.returncode == 0 and not lacks
    print(f"{'ok' if good else 'not ok'} example in {name}")
    if not good:
        print(f"exit code {result.returncode}, lacks {lacks}\n{result.stdout}\n{result.stderr}")
    return good


TUTORIAL = {**{name: TINY[name] for name in ("width", "units", "channels", "layers", "heads", "feed_forward", "validation_every",
                                              "checkpoint_every", "total_samples")}, "dataset_fit": False, "motifs": 4, "curriculum": 0}


def originals(folder):
    """Writes random data in the form of the two public data sets from which generators cut their digits."""
    draw = random.Random(1)
    with open(os.path.join(folder, "optdigits.tra"), "w") as out:
        out.writelines(",".join(str(draw.randrange(17)) for _ in range(64)) + f",{i % 10}\n" for i in range(20))
    os.mkdir(os.path.join(folder, "recordings"))
    for digit in range(10):
        for take in range(50):
            with wave.open(os.path.join(folder, f"recordings/{digit}_george_{take}.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(8000)
                file.writeframes(draw.randbytes(8000))


def trained(daemon, name, config):
    """Trains on a data set; returns the id of the job."""
    status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": {**config, "dataset_name": name}})
    assert status == 201, job
    for _ in range(600):
        job = daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]
        if job["state"] in ("succeeded", "failed"):
            break
        time.sleep(0.1)
    assert job["state"] == "succeeded", job["error"]
    return job["id"]


def tutorials(daemon, examples, folder):
    """The daemon must accept the files of the generators. The sites of a model must be BED lines that can be compared with the true sites."""
    def script(name, *words):
        return [sys.executable, os.path.join(examples, name), *words]
    good = [run("make_shapes.py", script("make_shapes.py", "shapes.tar", "40"), folder, []),
            run("make_dna.py", script("make_dna.py", "sites.fa", "truth.bed", "60"), folder, [])]
    made = [("shapes.tar", "application/x-tar"), ("sites.fa", "text/x-fasta")]
    jobs = {"sites": TUTORIAL}
    if importlib.util.find_spec("numpy"):
        originals(folder)
        good += [run("make_canvas.py", script("make_canvas.py", "optdigits.tra", "canvas.npz", "40"), folder, []),
                 run("make_spoken.py", script("make_spoken.py", ".", "clips.tar", "8"), folder, []),
                 run("make_traffic.py", script("make_traffic.py", "traffic.csv", "truth.csv", "60"), folder, ["60 series"])]
        made += [("canvas.npz", "application/x-npz"), ("clips.tar", "application/x-tar"), ("traffic.csv?layout=signals&absent=none", "text/csv")]
        jobs["traffic"] = {**TUTORIAL, "motifs": 9}
    for name, kind in made:
        name, _, options = name.partition("?")
        with open(os.path.join(folder, name), "rb") as file:
            status, _, answer = daemon.ask("PUT", f"/v1/datasets/{name.split('.')[0]}?{options}", file.read(), headers={"Content-Type": kind})
        assert status == 201, answer
    ids = {name: trained(daemon, name, config) for name, config in jobs.items()}
    good.append(run("sites_to_bed.py", script("sites_to_bed.py", daemon.url, ids["sites"], "sites.fa", "10"), folder, ["s0\t", "channel"]))
    if "traffic" in ids:
        compare = script("compare_traffic.py", daemon.url, ids["traffic"], "traffic.csv", "truth.csv")
        good += [run("compare_traffic.py", compare, folder, ["in the anomaly", "cutoff         3"]),
                 run("compare_traffic.py with an error rate", [*compare, "0.1"], folder, ["in the anomaly", "wander         3"])]
    return good + [run("compare_bed.py", script("compare_bed.py", "truth.bed", "truth.bed"), folder, ["sites are covered: 100.0%"])]


def main(motifd, motifctl, follow, shell, python):
    paths = [os.path.abspath(path) for path in (motifd, motifctl, follow, shell, python)]
    motifd, motifctl, follow, shell, python = paths
    settings = [f"{name}={value}" for name, value in TINY.items()]
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(motifd, os.path.join(folder, "db"), "--data", os.path.join(folder, "data"))
        body = json.dumps({"kind": "sparling", "preset": "digitcircle-quick", "config": TINY})
        try:
            good = [
                run("C", [follow, daemon.url, body], folder, ['"state":"queued"', "progress ", "metric ", '"state":"succeeded"']),
                run("shell", [shell, *settings], folder, ["succeeded", "loss"], MOTIFD_SERVER=daemon.url,
                    PATH=os.path.dirname(motifctl) + os.pathsep + os.environ["PATH"]),
                run("Python", [sys.executable, python, daemon.url, *settings], folder, ["succeeded", "100.0%", "errors: ", "answer "]),
                os.path.exists(os.path.join(folder, "model.safetensors")),
                *tutorials(daemon, os.path.dirname(python), folder),
            ]
        finally:
            daemon.end()
    return not all(good)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
