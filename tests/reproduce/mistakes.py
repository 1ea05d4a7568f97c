#!/usr/bin/env python3
"""Makes usual mistakes and writes docs/reference/mistakes.md: the detail of each answer, for fifteen mistakes of submissions and reads, and for mistakes
of uploads, and how the labels and columns of usual files are read.

usage: mistakes.py MOTIFD > docs/reference/mistakes.md"""
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zlib

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


def pictures(labels):
    """An archive of pictures with this labels.csv."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    to = io.BytesIO()
    with tarfile.open(fileobj=to, mode="w") as archive:
        for name in ["labels.csv"] + [f"{i}.png" for i in range(4)]:
            png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(bytes((0, name.encode()[0], 9)))) + chunk(b"IEND", b"")
            data = labels.encode() if name == "labels.csv" else png
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return to.getvalue()


def labelled(*labels, column="label"):
    return upload("dry_run=1&format=tar", pictures(f"file,{column}\n" + "".join(f"{i}.png,{label}\n" for i, label in enumerate(labels))))


def table(header, *rows, more=""):
    return upload("dry_run=1&format=csv" + more, "\n".join((header,) + rows).encode() + b"\n")


LABELS = (
    ("the class `red car` in labels.csv", *labelled("red car", "bike", "red car", "bike")),
    ("`cat,dog` in a column `labels`", *labelled('"cat,dog"', "bird", "cat", "dog", column="labels")),
    ('`{"choices": ["cat", "dog"]}` and `bird`, as Label Studio exports', *labelled('"{""choices"": [""cat"", ""dog""]}"', "bird", "cat", "dog", column="labels")),
    ("columns `filename` and `Class`, and a picture without a row", "PUT", "/v1/datasets/new?dry_run=1&format=tar", pictures("filename,Class\n0.png,a\n1.png,b\n2.png,a\n")),
    ("the cell `CD4+ T, naive`", *table("a,label", '1,"CD4+ T, naive"', "2,B", "3,B")),
    ("`nan` in a column of classes", *table("a,label", "1,x", "2,nan", "3,y")),
    ("the same with `missing=drop`", *table("a,label", "1,x", "2,nan", "3,y", more="&missing=drop")),
    ("`Cat`, `cat`, `1` and `1.0`", *table("a,label", "1,Cat", "2,cat", "3,1", "4,1.0")),
    ("the class `wild-type` among others", *labelled("wild-type", "crack", "hole", "wild-type")),
    ("headers of NCBI", *upload("dry_run=1&format=fasta", b">NM_1.2 Homo sapiens alpha (THA), mRNA\nACGTACGT\n>NM_2.2 Mus musculus beta, variant 1\nTTGCAACG\n")),
    ("columns `Sample_ID`, `a` and `Target`", *table("Sample_ID,a,Target", "7,1,x", "8,2,y", "9,3,x")),
    ("a number `y` in the last column", *table("a,b,y", "1,5,0", "2,3,1", "7,3,0")),
    ("a column `code`, which copies the label", *table("a,code,label", *(f"{i * i % 7},{i % 2},{'no' if i % 2 else 'yes'}" for i in range(12)))),
    ("`patient_id` as a number", *table("patient_id,a,label", *(f"{i // 2},{i * i % 7},{'xy'[i % 2]}" for i in range(12)))),
    ("a table of R, with blanks and names of rows", *table('"a" "b" "label"', '"1" 1 2 "x"', '"2" 3 4 "y"')),
    ("a table without a header", *table("5.1,3.5,0.2", "4.9,3.0,0.1", "6.0,2.2,1.0")),
)


def reading(document):
    """How an accepted upload was read."""
    known = document["recognised"]
    names = known.get("labels", {}).get("names", [])
    parts = [f"{document['target']} of " + ", ".join(f"'{name}'" for name in names)] if names else ["no labels"]
    features = known.get("columns", {}).get("features")
    parts += [f"{features} features"] if features else []
    parts += [f"{warning['code']}: {warning['text']}" for warning in document["warnings"] if not warning["code"].startswith(("constant", "duplicates"))]
    return "; ".join(parts)


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
                if "recognised" in document:
                    yield reading(document)
                    continue
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
print("\nLabels and roles of columns, and how they are read (`&dry_run=1`):\n")
print_table(LABELS)
