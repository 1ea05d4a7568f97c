#!/usr/bin/env python3
"""A daemon that is built without genomics: it contains none of its code, refuses what needs it with a clear message, and does everything else.

    wire_without_genomics.py MOTIFD
"""
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon, run_each  # noqa: E402

MISSING = "this build of motifd has no genomics (DNA and RNA); use one that was built with -Dgenomics=enabled"
SEQUENCES = {**{key: TINY[key] for key in ("width", "units", "channels", "layers", "heads", "feed_forward", "batch", "validation_every",
                                           "validation_samples", "checkpoint_every", "test_samples", "motif_samples", "total_samples")},
             "stage_samples": 0, "motifs": 3, "dataset_fit": False, "dataset_name": "letters"}


def archive(name, content):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def refused(answer, expected=422):
    status, _, problem = answer
    assert status == expected, answer
    assert MISSING in str(problem), problem


def finish(daemon, job):
    for _ in range(600):
        shown = daemon.ask("GET", f"/v1/jobs/{job}")[2]
        if shown["state"] in ("succeeded", "failed"):
            break
        time.sleep(0.1)
    assert shown["state"] == "succeeded", shown


def the_program_contains_no_code_of_the_wing(daemon, motifd):
    names = subprocess.run(["nm", "--defined-only", motifd], capture_output=True, text=True, check=True).stdout.split()
    assert "genomics" in names and "domain_sample" in names
    wing = {"faidx_open", "bigwig_write", "motif_match", "position_matrix_align", "regions_open", "site_finder_window", "scan_create", "matrices_piece"}
    assert not wing & set(names), wing & set(names)


def files_of_dna_are_refused(daemon, motifd):
    for kind, body in (("text/x-fasta", b">a x\nACGT\n>b\nTTGA\n"), ("text/x-bed", b"chr1\t1\t9\n"), ("text/x-meme", b">M1 one\nA [1 2]\nC [0 0]\n"),
                       ("application/x-tar", archive("a.fa", b">a\nACGT\n")), ("application/x-tar", archive("a.bed", b"chr1\t1\t9\n"))):
        query = "?genome=g" if kind == "text/x-bed" else ""
        refused(daemon.ask("PUT", f"/v1/datasets/dna{query}", body, kind=kind))


def sequences_train_without_letters(daemon, motifd):
    random = np.random.default_rng(1)
    letters, out = random.integers(0, 4, (60, 24)), io.BytesIO()
    np.savez(out, x=np.eye(4, dtype=np.float32)[letters].transpose(0, 2, 1), y=(letters[:, 0] == 0).astype(np.int64))
    status, _, answer = daemon.ask("PUT", "/v1/datasets/letters?layout=signals", out.getvalue(), kind="application/x-npz")
    assert status == 201, answer
    for field in ({"motif_start": "motifs"}, {"motif_start_words": True}):
        refused(daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": {**SEQUENCES, **field}}))
    status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": SEQUENCES})
    assert status == 201, job
    finish(daemon, job["id"])
    path = f"/v1/jobs/{job['id']}/"
    status, _, channels = daemon.ask("GET", path + "channels")
    assert status == 200 and channels["alphabet"] is None and all(channel["matrix"] is None for channel in channels["channels"]), channels
    for query, accept in (("sites", "application/json"), ("sites", "text/x-bed"), ("pairs", "application/json"), ("signal", "text/x-bedgraph"),
                          ("channels", "text/x-meme"), ("logos", "image/png")):
        refused(daemon.ask("GET", path + query, headers={"Accept": accept}), 409)
    refused(daemon.ask("POST", path + "sites", b">a\nACGT\n", kind="text/x-fasta"), 409)
    status, _, rules = daemon.ask("GET", path + "rules?samples=5")
    assert status == 200 and rules["unit"] == "positions", rules


def images_train_as_always(daemon, motifd):
    finish(daemon, daemon.submit())


def main(motifd):
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(os.path.abspath(motifd), os.path.join(folder, "a.db"), "--data", os.path.join(folder, "data")) as daemon:
            run_each((daemon, motifd), the_program_contains_no_code_of_the_wing, files_of_dna_are_refused, sequences_train_without_letters,
                     images_train_as_always)


main(*sys.argv[1:])
