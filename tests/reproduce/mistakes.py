#!/usr/bin/env python3
"""Makes usual mistakes and writes docs/reference/mistakes.md: the detail of each answer, for fifteen mistakes of submissions and reads, and for mistakes
of uploads.

usage: mistakes.py MOTIFD > docs/reference/mistakes.md"""
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

JOB = {"kind": "sparling", "preset": "digitcircle-quick"}
TABLE = b"one,two,label\n" + b"".join(b"%d,%d,%s\n" % (i % 7, i % 5, b"ab"[i % 2:i % 2 + 1]) for i in range(40))


def config(**fields):
    return ("POST", "/v1/jobs?dry_run=1", {**JOB, "config": fields})


MISTAKES = (
    ("`config: {lr: 0.1}`", *config(lr=0.1)),
    ("`config: {epochs: 3}`", *config(epochs=3)),
    ("`config: {batch_size: 8}`", *config(batch_size=8)),
    ("`config: {widht: 8}`", *config(widht=8)),
    ("`config: {width: -1}`", *config(width=-1)),
    ("`config: {width: \"wide\"}`", *config(width="wide")),
    ("`learning_rate` beside `config`", "POST", "/v1/jobs?dry_run=1", {**JOB, "learning_rate": 0.1}),
    ("kind `sparlin`", "POST", "/v1/jobs?dry_run=1", {"kind": "sparlin"}),
    ("preset `digitcircle-fast`", "POST", "/v1/jobs?dry_run=1", {"kind": "sparling", "preset": "digitcircle-fast"}),
    ("data set `rowz`, where `rows` exists", "POST", "/v1/jobs?dry_run=1", {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": "rowz"}}),
    ("`GET /v1/jobs?state=finished`", "GET", "/v1/jobs?state=finished", None),
    ("`GET /v1/jobs?stat=queued`", "GET", "/v1/jobs?stat=queued", None),
    ("`GET /jobs`", "GET", "/jobs", None),
    ("`GET /v1/jobs/`", "GET", "/v1/jobs/", None),
    ("`GET /v1/jobs/{id}/metrics?name=acc`", "GET", "/v1/jobs/{id}/metrics?name=acc", None),
)


def upload(options, body=TABLE):
    return ("PUT", f"/v1/datasets/new?{options}", body)


FASTA = b">a one\nACGTACGT\n>b two\nTTGCAACG\n"
UPLOADS = (
    ("`label_column` of a .csv", *upload("format=csv&label_column=3")),
    ("`layout=channels-first` of a .csv", *upload("format=csv&layout=channels-first")),
    ("`layer` of a .csv", *upload("format=csv&layer=raw")),
    ("`group` of a .fa", *upload("format=fasta&group=donor", FASTA)),
    ("`negatives=gc` of a .fa", *upload("format=fasta&negatives=gc", FASTA)),
    ("`label=kind` of a .csv without such a column", *upload("format=csv&label=kind")),
    ("`labels=label`", *upload("format=csv&labels=label")),
    ("`target=clas`", *upload("format=csv&target=clas")),
    ("`format=xlsx`", *upload("format=xlsx")),
    ("a .bed without `genome`", *upload("format=bed", b"chr1\t1\t9\n")),
    ("a .csv sent as .npy", *upload("format=npy")),
    ("a .csv with text in a column of numbers", *upload("format=csv", TABLE + b"1,many,a\n")),
    ("the name `My Data`", "PUT", "/v1/datasets/My%20Data?format=csv", TABLE),
)


def ask(url, method, path, body, kind="application/json"):
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url + path, method=method, data=data, headers={"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def answers(motifd, mistakes):
    with tempfile.TemporaryDirectory() as folder:
        words = [os.path.abspath(motifd), "serve", "--listen", "127.0.0.1:0", "--db", f"{folder}/m.db", "--data", f"{folder}/data", "--workers", "1"]
        os.mkdir(f"{folder}/data")
        with open(f"{folder}/log", "w") as log:
            daemon = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            url = daemon.stdout.readline().split()[-1]
            assert ask(url, "PUT", "/v1/datasets/rows?format=csv", TABLE, "text/csv")[0] == 201
            job = ask(url, "POST", "/v1/jobs", JOB)[1]["id"]
            for _, method, path, body in mistakes:
                status, document = ask(url, method, path.replace("{id}", job), body)
                errors = [error["detail"] for error in document.get("errors", [])]
                text = document.get("detail", "no hint: an empty answer")
                yield f"{status} {text}" + (f" / {errors[0]}" if errors and errors[0] not in text else "")
        finally:
            daemon.terminate()
            daemon.wait()


INTRO = """# Usual mistakes and their answers

*This page is generated: `tests/reproduce/mistakes.py build/motifd > docs/reference/mistakes.md` writes it.*

Fifteen usual mistakes, each with the status and the `detail` of its answer:
"""


def print_table(mistakes):
    print("| mistake | answer |\n| --- | --- |")
    for mistake, answer in zip(mistakes, answers(sys.argv[1], mistakes)):
        print(f"| {mistake[0]} | " + answer.replace("|", "\\|") + " |")


print(INTRO)
print_table(MISTAKES)
print("\nUsual mistakes of uploads (`PUT /v1/datasets/NAME?...`):\n")
print_table(UPLOADS)
