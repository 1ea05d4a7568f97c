#!/usr/bin/env python3
"""Tests the commands of motifctl that read and write files or start jobs, for given answers of the server: datasets, export, artifacts, verify, evaluate, import,
series, submit, watch and logs.

usage: check_motifctl_files.py MOTIFCTL [TEST...]"""
import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "harness")]
from client_answers import JOB, PROBLEM, answer, get, of_job, run_tests  # noqa: E402

ENDINGS = get("/v1/datasets", {"endings": [{}, {"ending": "csv", "format": "csv"}, {"ending": "fa", "format": "fasta"}]})


def put(path, body=b"", **more):
    return answer("PUT", path, body, **more)


# ---- datasets --------------------------------------------------------------------------------------------------------

SET = {"name": "rows", "kind": "table", "samples": 40, "shape": {"channels": 1, "rows": 1, "cols": 3}, "target": "class", "sha256": "ab", "bytes": 2048,
       "vocabulary": [{"name": "x", "count": 20}, {"name": "y"}, {}], "columns": [{"name": "a", "alternative": "A"}, {"name": "b|c"}, {}], "groups": [],
       "values": {"least": 0, "most": 1}, "warnings": [{"text": "Few rows."}, {}],
       "first": [{"label": ["x", "y"], "values": [1, 2.5, None]}, {"label": [3], "values": [0]}, {"label": []}],
       "kinds": [{"kind": "factors", "preset": "dataset", "accepts": True}, {"kind": "environments", "preset": "dataset", "accepts": True},
                 {"kind": "sparling", "accepts": False, "reason": "It is a table."}, {"kind": "toy"}]}


def a_table_is_shown_with_its_first_rows_and_the_kinds_that_accept_it(c):
    c.run("datasets show rows", get("/v1/datasets/rows", SET)).says(
        0, "rows  table, 40 samples of 3 columns, target class, 3 names\nsha256 ab\nwarning: Few rows.\nwarning: -\n", "least  0\nmost   1\n",
        "\n3 names in the labels, with their counts:\n  x 20, y, -\n", "\n3 columns:\n  a (A), b|c, -\n", "LABEL  a    ?  ?\nx y    1  2.5  -\n?      0    -  -\n-      -    -  -\n",
        "to train on it:\n  motifctl submit --kind factors --preset dataset --set dataset_name=rows\n  motifctl submit --kind environments",
        "kinds that do not accept it:\n  sparling: It is a table.\n  toy: -\n", never=("groups", "(null)"))
    c.run("datasets show rows -q", get("/v1/datasets/rows", SET)).says(0, "rows\n", never="sha256")


def letters_and_numbers_of_a_data_set_are_shown(c):
    letters = {"name": "dna", "kind": "sequences", "samples": 2, "shape": {"cols": 80}, "first": [{"text": "ACGT" * 40, "label": ["a"]}, {"label": ["b"]}]}
    c.run("datasets show dna", get("/v1/datasets/dna", letters)).says(
        0, "dna  sequences, 2 samples of at most 80 letters, target -, 0 names\n", "LABEL  FIRST SAMPLES\na      " + ("ACGT" * 40)[:76] + "\nb      -\n")
    narrow = c.at_terminal("datasets show dna", get("/v1/datasets/dna", letters), columns=30)
    narrow.says(0, "ACGTACGTACGTACGT\n")
    curves = {"name": "s", "kind": "sequences", "first": [{"curve": [0, 0.5, 1, -7], "label": ["細胞"]}, {"curve": [2, 2], "label": ["b"]}, {"curve": [], "label": ["c"]}]}
    c.run("datasets show s", get("/v1/datasets/s", curves)).says(0, "LABEL  FIRST SAMPLES\n細胞   ███▁\nb      ▁▁\nc      \n")
    numbers = {"name": "n", "kind": "images", "numbers": [{"name": f"number-{i:02}"} for i in range(70)], "first": []}
    ran = c.run("datasets show n", get("/v1/datasets/n", numbers))
    ran.says(0, "n  images, - samples of - x - x -, target -, 70 numbers\n", "70 numbers that are targets:\n  number-00, number-01", ",\n", "number-59,\n  and 10 more; --json lists them\n",
             never="number-60")
    c.run("datasets show m", get("/v1/datasets/m", {"name": "m", "kind": "motifs", "vocabulary": [{"name": "q"}]})).says(0, "1 motifs\n")
    c.run("datasets show m", get("/v1/datasets/m", {})).says(0, "-  -, - samples of - x - x -", never="(null)")


def png(rows, columns):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    pixels = b"".join(b"\0" + bytes(255 * (x >= columns // 2) for x in range(columns)) for _ in range(rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def images_of_a_data_set_are_drawn_if_the_server_sends_a_picture(c):
    images = get("/v1/datasets/i", {"name": "i", "kind": "images"})
    c.run("datasets show i", images, get("/v1/datasets/i/preview", png(2, 8), kind="image/png")).says(0, "\n    @@@@\n")
    for other in (get("/v1/datasets/i/preview", {"title": "none"}, status=404), get("/v1/datasets/i/preview", b"no picture", kind="image/png"),
                  get("/v1/datasets/i/preview", png(2, 8), cut=20)):
        assert "@" not in c.run("datasets show i", images, other).says(0, "i  images").out
    c.at_terminal("datasets show i", images, get("/v1/datasets/i/preview", png(2, 60), kind="image/png"), columns=40).says(0, "\033[38;2;255;255;255m\033[48;2;0;0;0m▀\033[0m\n")


def data_sets_are_listed(c):
    c.run("datasets", get("/v1/datasets", {"datasets": [SET, {}]})).says(0, "NAME  KIND   TARGET  SAMPLES  SHAPE  NAMES     SIZE\nrows  table  class        40  1x1x3      3  2.0 KiB\n"
                                                                       "-     -      -             -  -x-x-      0        -\n", never="nan")
    c.run("datasets -q", get("/v1/datasets", {"datasets": [SET, {}]})).says(0, "rows\n-\n")
    assert c.run("datasets --json", get("/v1/datasets", {"datasets": []})).says(0).out == '{"datasets":[]}\n'


def an_upload_continues_where_it_stopped(c):
    content = b"a,b\n1,2\n3,4\n"
    c.file("t.csv", content)
    digest = hashlib.sha256(content).hexdigest()

    def upload(received, offset, *words, more="", path="t.csv", form="csv"):
        answers = [ENDINGS, get(f"/v1/uploads/{digest}", *received) if received else get("/none"),
                   put(f"/v1/datasets/my%20rows?format={form}&sha256={digest}&offset={offset}{more}", SET, status=201)]
        return c.run(["datasets", "put", "my rows", path, *words], *answers)
    ran = upload([{"received": 5}], 5).says(0, "rows  table, 40 samples", err="5 of 12 bytes were uploaded earlier\n")
    assert ran.player.body() == content[5:].decode()
    assert "uploaded earlier" not in upload([{"received": 5}], 5, "--json").says(0, '{"name":"rows"').err
    for nothing in ([{"received": 99}], [{"received": -1}], [{}], [b"no JSON"], None):
        assert upload(nothing, 0).says(0, "rows  table", never="earlier").player.body() == content.decode()
    upload(None, 0, "--format", "npz", "--label", "a b", "--label-column", "2", "--channels-first", form="npz", more="&label=a%20b&label_column=2&layout=channels-first").says(0, "rows")
    upload(None, 0, "--channels-last", more="&layout=channels-last").says(0, "rows")
    upload(None, 0, "--signals", "--bins", "3", more="&bins=3&layout=signals").says(0, "rows")
    shutil.copy(os.path.join(c.folder, "t.csv"), os.path.join(c.folder, "t.csv.gz"))
    upload(None, 0, path="t.csv.gz").says(0, "rows")


def uploads_without_a_format_or_a_file_are_usage_errors(c):
    c.file("LARGE.CSV", b"x")
    c.run("datasets put rows LARGE.CSV", ENDINGS, put(f"/v1/datasets/rows?format=csv&sha256={hashlib.sha256(b'x').hexdigest()}&offset=0", SET)).says(0, "rows  table")
    for name in ("noending", ".csv", "a.", "a.doc", "x.gz", "b.csvx"):
        c.file(name, b"x")
        ran = c.run(f"datasets put rows {name}", ENDINGS)
        if name == ".csv":
            ran.says(2, err="not on the tape")  # the name of such a file is its ending
        else:
            ran.says(2, err=f"the ending of {name} names no upload format; name it with --format")
    c.run("datasets put rows absent.csv").says(2, err="absent.csv cannot be read")
    c.run("datasets put rows x.gz --format csv").says(2, err="error: not on the tape")
    c.run(["datasets", "put", "n" * 5000, "x.gz", "--format", "csv"]).says(2, err="the name is too long")
    for verb in ("show", "preview", "delete"):
        c.run(["datasets", verb, "n" * 5000]).says(2, err="the name is too long")
    c.run("datasets show rows --output x").says(2, err="--output is not an option of datasets show")
    c.run("datasets preview rows --label x").says(2, err="--label is not an option of datasets preview")
    for line in ("list more", "put a", "show", "sing a", "delete a b"):
        c.run("datasets " + line).says(2, err="datasets [list] | put NAME FILE|FOLDER | show NAME")


def a_picture_of_a_data_set_is_saved(c):
    c.run("datasets preview rows", get("/v1/datasets/rows/preview", b"PNG", kind="image/png")).says(0, "rows.png: 3 bytes\n")
    c.run("datasets delete rows", answer("DELETE", "/v1/datasets/rows", status=204)).says(0)
    assert sorted(os.listdir(c.folder)) == ["rows.png"]


# ---- export, artifacts, attestation, verify, import ------------------------------------------------------------------

def an_export_at_a_terminal_draws_its_progress(c):
    size = 3 << 20
    ran = c.at_terminal(f"export {JOB} w --checkpoint 4", of_job("/checkpoints/4", b"x" * size, kind="application/octet-stream", ETag='"a"'))
    ran.says(0, "▕", "▏ ", " of 3.0 MiB\033[K", "w: checkpoint 4, 3.0 MiB\n")
    assert len(c.content("w")) == size
    assert "▕" not in c.run(f"export {JOB} w --checkpoint 4", of_job("/checkpoints/4", b"x", ETag='"a"')).says(0, "w: checkpoint 4, 1 B\n").err


def a_part_that_is_complete_or_stale_is_not_requested_twice(c):
    def part(bytes_there, etag='"a"'):
        c.file("w.part", bytes_there)
        c.file("w.part.etag", etag.encode() + b"\n")
    part(b"whole")
    c.run(f"export {JOB} w --checkpoint 4", of_job("/checkpoints/4", status=416, Content_Range="bytes */5")).says(0, "w: checkpoint 4, 5 B\n")
    assert c.content("w") == b"whole"
    part(b"longer than it is")
    ran = c.run(f"export {JOB} w --checkpoint 4", of_job("/checkpoints/4", status=416, Content_Range="bytes */5"), of_job("/checkpoints/4", b"whole"))
    ran.says(0, "w: checkpoint 4, 5 B\n")
    assert ran.player.header("Range", 1) is None and c.content("w") == b"whole"
    part(b"wh")
    ran = c.run(f"export {JOB} w --checkpoint 4", of_job("/checkpoints/4", b"ole", status=206, Content_Range="bytes 1-3/5"), of_job("/checkpoints/4", b"whole"))
    ran.says(0, "w: checkpoint 4, 5 B\n")
    part(b"wh", "")
    ran = c.run(f"export {JOB} w --checkpoint 4", of_job("/checkpoints/4", b"whole"))
    assert ran.says(0).player.header("Range") is None
    part(b"wh")
    c.run(f"export {JOB} w --checkpoint 4", of_job("/checkpoints/4", {"title": "Gone"}, status=404, kind=PROBLEM)).says(2, err="error: Gone")
    assert c.content("w.part") == b"wh"


def wrong_exports_are_refused_before_the_download(c):
    listed = of_job("/checkpoints", {"checkpoints": [{"seq": 2}, {}]})
    c.run(f"export {JOB}", of_job("/checkpoints", {"checkpoints": [{}]})).says(2, err="the job has no checkpoint yet")
    for wrong in ("x", "", "-1", "all"):
        c.run(["export", JOB, "w", "--checkpoint", wrong]).says(2, err="--checkpoint must be a sequence number or latest; got " + wrong)
    os.mkdir(os.path.join(c.folder, "folder"))
    c.run(f"export {JOB} folder", listed).says(2, err="folder exists and is not a regular file")
    c.run(["export", JOB, "n" * 4090], listed).says(2, err="is too long")
    c.run(f"export {JOB} no/such", listed).says(1, err="no/such.part: cannot be written")
    c.run(f"export {JOB}", listed, of_job("/checkpoints/2", b"W")).says(0, f"{JOB}-2.safetensors: checkpoint 2, 1 B\n")
    c.run(f"export {JOB} --onnx --json", listed, of_job("/onnx?checkpoint=2", b"O")).says(0, f'"file":"{JOB}-2.onnx"', '"checkpoint":2', '"bytes":1')
    for name, path in (("w.safetensors", "/checkpoints/2"), ("w.onnx", "/onnx?checkpoint=2"), ("W.ONNX", "/onnx?checkpoint=2"), ("w.bundle", "/bundle?checkpoints=2"),
                       ("no.such/../w", "/checkpoints/2")):
        os.makedirs(os.path.join(c.folder, "no.such"), exist_ok=True)
        c.run(f"export {JOB} {name} --checkpoint 2", of_job(path, b"W")).says(0, f"{name}: checkpoint 2, 1 B\n")
    c.run(f"export {JOB} g.bin --onnx --checkpoint 2", of_job("/onnx?checkpoint=2", b"O")).says(0, "g.bin: checkpoint 2, 1 B\n")
    c.run(f"export {JOB} w.pt").says(2, err="the ending of w.pt names no form of a model; use .safetensors (weights), .onnx or .bundle")
    c.run(f"export {JOB} w.onnx --bundle").says(2, err="--bundle does not fit the ending of w.onnx")
    c.run(f"export {JOB} w --bundle --onnx").says(2, err="--onnx and --bundle both state the form of the file")
    c.run(f"export {JOB} --bundle --checkpoint 2", of_job("/bundle?checkpoints=2", b"B")).says(0, f"{JOB}.bundle: checkpoint 2, 1 B\n")
    c.run(f"export {JOB} --bundle --checkpoint all --json", of_job("/bundle?checkpoints=all", b"B")).says(0, f'"file":"{JOB}.bundle"', '"checkpoint":"all"')


def artifacts_are_listed_and_saved(c):
    c.run(f"artifacts {JOB}", of_job("/artifacts", {"artifacts": [{"name": "a.png", "media_type": "image/png", "bytes": 2048}, {}]})).says(
        0, "a.png  image/png  2.0 KiB\n-      -                -\n")
    c.run(f"artifacts {JOB} a.png", of_job("/artifacts/a.png", b"PNG")).says(0, "a.png: 3 bytes\n")
    c.run(f"artifacts {JOB} a/b --output c.png", of_job("/artifacts/a%2Fb", b"PNG")).says(0, "c.png: 3 bytes\n")
    os.symlink("/dev/full", os.path.join(c.folder, "full"))
    c.run(f"artifacts {JOB} a.png --output full", of_job("/artifacts/a.png", b"PNG")).says(1, err="full: cannot be written")
    c.run(f"artifacts {JOB} --output x").says(2, err="--output needs the NAME of an artifact")
    c.run(f"artifacts {JOB} a/b").says(2, err="the name of an artifact contains no slash")
    c.run(["artifacts", JOB, "n" * 5000]).says(2, err="the name is too long")
    c.run(f"artifacts {JOB} x", of_job("/artifacts/x", {"title": "none"}, status=404, kind=PROBLEM)).says(2, err="error: none")
    c.run(f"artifacts {JOB}", of_job("/artifacts", {"title": "none"}, status=404, kind=PROBLEM)).says(2, err="error: none")


def an_attestation_shows_the_machine_and_the_chain(c):
    c.run(f"attestation {JOB}", of_job("/attestation", {"machine": {"cpu": "Zen"}, "chain": "c0ffee", "checkpoints": [
        {"seq": 1, "step": 10, "kept": True, "sha256": "ab" * 32, "chain": "cd" * 32}, {}]})).says(
        0, "MACHINE\n", "cpu   Zen\n", "  1    10  yes   abababababababab  cdcdcdcdcdcdcdcd\n", "  -     -  -     ", "\nchain c0ffee\n")
    c.run(f"attestation {JOB}", of_job("/attestation", {})).says(0, "\nchain \n", never="(null)")


def verify_starts_motifd_of_its_own_folder_with_the_bundle(c):
    place = os.path.join(c.folder, "bin")
    os.mkdir(place)
    shutil.copy(c.program, place)
    alone = os.path.join(place, os.path.basename(c.program))
    bundle = c.file("b", b"BUNDLE")
    c.program, environment = alone, {"PATH": c.folder + "/none"}
    c.run(f"verify {bundle}", **environment).says(1, err="motifd, which repeats the training, could not be started; install it in the same folder")
    with open(os.path.join(place, "motifd"), "w", encoding="ascii") as script:
        script.write('#!/bin/sh\necho "$@"; read text < "$2"; echo "$text"; exit 7\n')
    os.chmod(os.path.join(place, "motifd"), 0o755)
    c.run(f"verify {bundle} --from 3 --to 4 --threads 2", **environment).says(7, "verify b --from 3 --to 4 --threads 2\nBUNDLE\n")
    ran = c.run(f"verify {JOB}", of_job("/bundle?checkpoints=all", b"FETCHED"), **environment).says(7, "verify /tmp/motifctl-", "FETCHED\n")
    assert not os.path.exists(ran.out.split()[1])  # the downloaded bundle is deleted
    c.run(f"verify {JOB}", of_job("/bundle?checkpoints=all", {"title": "Not kept"}, status=409, kind=PROBLEM), **environment).says(1, err="error: Not kept", never="verify")
    c.run(f"verify {JOB}", of_job("/bundle?checkpoints=all", b"FETCHED", cut=3), **environment).says(3, err="error: http://")
    c.run("verify no/such", **environment).says(2, err="no/such cannot be read")


def an_import_prints_the_new_job(c):
    c.file("w", b"WEIGHTS")
    ran = c.run("import w --name copy", answer("POST", "/v1/imports?name=copy", {"id": JOB, "name": "copy"}, status=201)).says(0, f"{JOB} copy\n")
    assert ran.player.body() == "WEIGHTS"
    c.run("import w", answer("POST", "/v1/imports", {}, status=201)).says(0, "- job\n", never="(null)")
    c.run("import w", answer("POST", "/v1/imports", {"title": "Damaged"}, status=422, kind=PROBLEM)).says(2, err="error: Damaged")
    c.run("import " + c.file("empty", b"")).says(2, err="empty: cannot be read, or is empty")
    c.run(["import", "w", "--name", "n" * 5000]).says(2, err="the name is too long")
    c.run("import w --json", answer("POST", "/v1/imports", {"id": JOB}, status=201)).says(0, f'{{"id":"{JOB}"}}\n')
    c.run("import w", answer("POST", "/v1/imports", b"<html>", status=201)).says(2, err="is not JSON; is it motifd?")


def an_import_without_an_answer_is_repeated_with_the_same_key(c):
    c.file("w", b"WEIGHTS" * 5000)
    created = answer("POST", "/v1/imports", {"id": JOB, "name": "copy"}, status=201)
    busy = answer("POST", "/v1/imports", {"title": "Busy"}, status=503, kind=PROBLEM, Retry_After="0.01")
    ran = c.run("import w", created.but(cut=3), busy, created).says(0, f"{JOB} copy\n")
    keys = {headers["Idempotency-Key"] for _, _, headers, _ in ran.player.asked}
    assert len(ran.player.asked) == 3 and len(keys) == 1 and len(keys.pop()) >= 16
    assert [body for _, _, _, body in ran.player.asked] == [b"WEIGHTS" * 5000] * 3  # each request has the whole file
    assert c.run("import w", created).player.header("Idempotency-Key") != ran.player.header("Idempotency-Key")
    assert c.run("import w --key k", created).says(0).player.header("Idempotency-Key") == "k"
    assert len(c.run("import w", created.but(cut=3)).says(3, err="error: http://", never=JOB).player.asked) == 3


# ---- series ----------------------------------------------------------------------------------------------------------

def series_are_summarised_listed_and_drawn(c):
    series = {"series": {"loss": [[1, 2], [2, 0.5], [3, 1]], "empty": [], "gap": [[1, None], [2, 4], [3]]}}
    path = "/metrics?max_points=500"
    c.run(f"metrics {JOB}", of_job(path, series)).says(
        0, "SERIES  POINTS  LAST STEP  LAST  LEAST  MOST\nloss         3          3     1    0.5     2\nempty        0          -     -      -     -\ngap          3          3     -      4     4\n")
    c.run(f"metrics {JOB} --name loss,gap --since 2 --csv", of_job(path + "&since=2&name=loss%2Cgap", series)).says(0, "name,step,value\nloss,1,2\nloss,2,0.5\n", "gap,2,4\n")
    c.run(f"plot {JOB} loss --log --height 6", of_job("/metrics?max_points=200&name=loss", {"series": {"loss": [[1, 10], [2, 1000]], "none": [[1, -1]]}})).says(
        0, "loss\n", "1000┤", "10┤", "none\nno points\n")
    c.at_terminal(f"plot {JOB} loss", of_job("/metrics?max_points=40&name=loss", {"series": {"loss": [[1, 0], [2, 0]]}}), columns=10).says(0, "\033[1mloss\033[0m\n")
    c.run(f"plot {JOB} x --png x.png", of_job("/metrics?max_points=1500&name=x", {"series": {}})).says(2, err="the job has no such series; `motifctl metrics` lists them")
    def several(count):
        return of_job("/metrics?max_points=1500&name=x", {"series": {f"s{i}": [[1, 1], [2, 3]] for i in range(count)}})
    for count, columns in ((1, 1), (2, 2), (32, 2), (33, 3), (64, 4)):
        c.run(f"plot {JOB} x --png x.png", several(count)).says(0, "x.png: ")
        width = struct.unpack(">I", c.content("x.png")[16:20])[0]
        assert width // 500 == columns, (count, width)
    c.run(f"plot {JOB} x --png x.png", several(65)).says(2, err="a picture shows at most 64 series; name the ones to draw")
    c.run(f"plot {JOB} x --png no/x.png", several(1)).says(1, err="no/x.png: cannot be written")
    for line in ("metrics x --since -1", "metrics x --max-points 0", "plot x --since x", "plot x --height 5"):
        c.run(line).says(2, err=line.split()[2] + " must be an integer")
    c.run(["plot", JOB, "x" * 9000]).says(2, err="the names are too long")


# ---- submit, evaluate ------------------------------------------------------------------------------------------------

CREATED = answer("POST", "/v1/jobs", {"id": JOB, "kind": "toy", "warnings": [{"pointer": "/config/x", "detail": "has no\x1beffect"}, {}]}, status=201)


def a_submission_is_built_from_file_options_and_another_job(c):
    c.file("job.json", json.dumps({"kind": "toy", "tags": "no list", "config": {"width": 8, "seed": 1}, "threads": 9}).encode())
    ran = c.run("submit --config job.json --set seed=2 --set .5x=y --set rate=.5 --set low=-.25 --tag a --tag b --priority -3 --threads 2 --executor thread --name n", CREATED)
    ran.says(0, f"submitted toy as {JOB}\n", err="motifctl: warning: /config/x has no\\x1beffect\n")
    assert json.loads(ran.player.body()) == {"kind": "toy", "tags": ["a", "b"], "config": {"width": 8, "seed": 2, ".5x": "y", "rate": 0.5, "low": -0.25}, "priority": -3,
                                             "threads": 2, "executor": "thread", "name": "n"}
    ran = c.run("submit --kind toy --config - -q", CREATED, given=b'{"seed": 3}').says(0, JOB + "\n", never="submitted")
    assert json.loads(ran.player.body()) == {"config": {"seed": 3}, "kind": "toy"}
    ran = c.run(f"submit --like {JOB} --set seed=4 --from {JOB}:7 --json", of_job("", {"kind": "toy", "preset": None, "config": {"seed": 1}, "name": "no"}), CREATED)
    assert json.loads(ran.says(0, f'"id":"{JOB}"').player.body()) == {"kind": "toy", "config": {"seed": 4}, "from": {"job": JOB, "checkpoint": 7}}


def wrong_submissions_are_refused_before_a_request(c):
    c.file("list.json", b"[1]")
    c.file("broken.json", b'{"a": 1,\n"b" 2}')
    c.file("config.json", b'{"config": 3}')
    c.file("empty.json", b"")
    c.file("large.json", b" " * ((1 << 20) + 1))
    for line, says in (("--config list.json", "does not contain a JSON object"), ("--config broken.json", "the file is not JSON: see line 2"),
                       ("--config config.json --set a=1", '"config" is not an object, so --set cannot add to it'), ("--config empty.json", "empty.json: is empty"),
                       ("--config large.json", "large.json: is larger than 1 MiB"), ("--config .", ".: cannot be read"), ("--config absent", "absent: cannot be read"),
                       ("--set =1", "--set takes FIELD=VALUE; got =1"), ("--set a", "--set takes FIELD=VALUE; got a"), ("", "nothing to train: give --preset NAME"),
                       ("--kind toy --ranks x", "--ranks must be an integer"), (f"--kind toy --from {JOB}:x", "--from takes JOB, JOB:latest or JOB:SEQ; got :x"),
                       (f"--kind toy --from {JOB}:", "--from takes JOB"), (f"--kind toy --from {JOB}:99999999999999999999", "--from takes JOB"),
                       (f"--like {JOB} --kind toy", "--like takes the kind, the preset and the configuration"), (f"--like {JOB} --preset x", "leave out"),
                       (f"--like {JOB} --config list.json", "leave out")):
        c.run("submit " + line).says(2, err=says)
    c.run(f"submit --like {JOB}", of_job("", {"title": "Gone"}, status=404, kind=PROBLEM)).says(2, err="error: Gone")


KINDS = get("/v1/kinds", {"kinds": [{}, {"presets": [{"name": "own"}]}, {"kind": "one", "presets": [{"name": "own"}, {"name": "lonely"}, {}]}, {"kind": "two", "presets": [{"name": "own"}]},
                                    {"kind": "three", "presets": [{"name": "own"}]}]})


def a_preset_of_several_kinds_is_chosen_by_the_data_set(c):
    def accepts(*kinds):
        return get("/v1/datasets/d", {"kinds": [{}, {"kind": "one"}, {"kind": "one", "preset": "other", "accepts": True},
                                               *({"kind": kind, "preset": "own", "accepts": kind in kinds} for kind in ("one", "two", "three"))]})

    def kind(ran):
        return json.loads(ran.says(0, "submitted").player.body())["kind"]
    assert kind(c.run("submit --preset lonely", KINDS, CREATED)) == "one"
    assert kind(c.run("submit --preset own --set dataset_name=d", KINDS, accepts("two"), CREATED)) == "two"
    ran = c.run("submit --preset own --set dataset_name=d", KINDS, accepts("two", "three"), CREATED)
    assert kind(ran) == "two" and "motifctl: kind two (also possible with --kind: three)\n" in ran.err, ran.err
    assert kind(c.run("submit --preset own --set dataset_name=d", KINDS, accepts(), CREATED)) == "one"
    c.run("submit --preset own", KINDS).says(2, err="more than one kind has a preset own: one, two, three; choose a kind with --kind")
    c.run("submit --preset none", KINDS).says(2, err="there is no preset none; `motifctl kinds` lists them")
    c.run("submit --preset own --set dataset_name=d", KINDS, get("/v1/datasets/d", {"title": "No set"}, status=404, kind=PROBLEM)).says(2, err="error: No set")
    c.run("submit --preset own --set dataset_name=" + "n" * 5000, KINDS).says(2, err="the name of the data set is too long")
    c.run("submit --preset own", get("/v1/kinds", {"title": "Down"}, status=500, kind=PROBLEM)).says(1, err="error: Down")


def a_busy_server_is_asked_again_unless_the_wait_is_long(c):
    def busy(status, after):
        return answer("POST", "/v1/jobs", {"title": "Busy"}, status=status, kind=PROBLEM, Retry_After=after)
    c.run("submit --kind toy", busy(503, "0.01"), busy(429, "0.01"), CREATED).says(0, f"submitted toy as {JOB}\n")
    ran = c.run("submit --kind toy", busy(429, "0.01")).says(1, err="error: Busy")
    assert len(ran.player.asked) == 3 and len({headers["Idempotency-Key"] for _, _, headers, _ in ran.player.asked}) == 1
    assert len(c.run("submit --kind toy --key k", busy(503, "11")).says(3, err="error: Busy").player.asked) == 1
    c.run("submit --kind toy", answer("POST", "/v1/jobs", b"<html>", status=201)).says(2, err="is not JSON; is it motifd?")
    for form in ("", " -q", " --watch"):
        c.run("submit --kind toy" + form, answer("POST", "/v1/jobs", {}, status=201)).says(0, never=("submitted", "(null)"))
    c.run("submit --kind toy --server http://127.0.0.1:1").says(3, err=("error: http://127.0.0.1:1: ", "is the daemon running?"))
    done = of_job("", {"id": JOB, "state": "succeeded", "result": {"verdict": "partly", "findings": []}})
    c.run("submit --kind toy --watch", CREATED, done).says(0, "submitted toy as", "partly")
    c.run("submit --kind toy --watch --require", CREATED, done).says(4, "partly")
    assert c.run("submit --kind toy --watch --json", CREATED, done).says(0, '{"id":').out.count("\n") == 1
    c.run("submit --kind toy --dry-run", answer("POST", "/v1/jobs?dry_run=1", {"config": {"seed": 1}, "bytes": 1024, "predicted_seconds": 59.7, "flops": 1.5e9})).says(
        0, "seed  1\n", "floating-point operations     1.5G\n", "memory                     1.0 KiB\n", "predicted time                1:00\nnothing was stored\n")


def evaluations_are_watched_and_shown(c):
    result = {"fpe": 0.5, "confusion": {"symbols": ["a"], "channels": [0], "counts": [[2]]}}
    done = {"id": JOB[:-1] + "E", "kind": "toy", "state": "succeeded", "result": result}
    made = answer("POST", f"/v1/jobs/{JOB}/evaluation", {"id": done["id"]}, status=202)
    watched, events = get(f"/v1/jobs/{done['id']}", done, ETag='"a"'), get(f"/v1/jobs/{done['id']}/metrics?name=fpe,fne,ce&max_points=3", {"series": {}})
    ran = c.run(f"evaluate {JOB} --samples 5 --seed -1 --checkpoint 3", made, watched, events)
    ran.says(0, "succeeded\n", "false positive error (FPE)  50.0 %\n", "confusion matrix", "a     2\n")
    assert json.loads(ran.player.body(0)) == {"samples": 5, "seed": -1, "checkpoint": 3}
    c.run(f"evaluate {JOB} --no-confusion", made, watched, events).says(0, "50.0 %", never="confusion matrix")
    c.run(f"evaluate {JOB}", answer("POST", f"/v1/jobs/{JOB}/evaluation", {}, status=202)).says(0)
    c.run(f"evaluate {JOB}", made, get(f"/v1/jobs/{done['id']}", {**done, "state": "failed", "error": {"message": "no"}}), events).says(1, "failed: no\n", never="confusion")
    c.run(f"evaluate {JOB}", answer("POST", f"/v1/jobs/{JOB}/evaluation", {"title": "No"}, status=409, kind=PROBLEM)).says(1, err="error: No")
    c.run(f"evaluate {JOB} --last", of_job("/evaluation", result)).says(0, "50.0 %", "confusion matrix")
    c.run(f"evaluate {JOB} --last --no-confusion", of_job("/evaluation", {"result": result})).says(0, "50.0 %", never="confusion")
    c.run(f"evaluate {JOB} --last", of_job("/evaluation", {"title": "None"}, status=404, kind=PROBLEM)).says(2, err="error: None")
    for wrong in ("--samples 0", "--seed x"):
        c.run(f"evaluate {JOB} {wrong}").says(2, err=wrong.split()[0])


# ---- watch, logs -----------------------------------------------------------------------------------------------------

RUNNING = {"id": JOB, "kind": "toy", "name": "run", "state": "running", "progress": {"fraction": 0.5, "stage": "training", "density": 0.01, "accuracy": 0.7, "eta_seconds": 65,
                                                                                     "samples_per_second": 1500}}
DONE = {**RUNNING, "state": "succeeded", "result": {"fpe": 0.25}}
ERRORS = of_job("/metrics?name=fpe,fne,ce&max_points=3", {"series": {"fpe": [[1, 0.25]], "fne": [[1, 0.0002]], "ce": [[1, 0]]}})
EVENTS = "/events?after=now"


def events(*texts):
    return of_job(EVENTS, "".join(texts).encode(), kind="text/event-stream")


def a_terminal_gets_one_line_that_changes(c):
    later = {"progress": {**RUNNING["progress"], "fraction": 0.75, "target_accuracy": 0.9}}
    stream = events(": hello\n\n", "retry: 5\n\n", f"event: progress\ndata: {json.dumps(later)}\n\n", "event: progress\ndata: {}\n\n", "event: progress\ndata: no\n\n",
                    "event: metric\ndata: {}\n\n", "event: state\ndata: {}\n\n")
    ran = c.at_terminal(f"watch {JOB}", of_job("", RUNNING, ETag='"a"'), ERRORS, stream, of_job("", status=304), of_job("", DONE, ETag='"b"'), columns=140)
    ran.says(0, "\r\033[1mtraining\033[0m  \033[36m▕", " 50 %  density 0.01  accuracy 70.0 %  1:05 left  1.5k samples/s  FPE 25.0 FNE 0.02 CE 0.0 %\033[K", " 75 %  ", "accuracy 70.0 of 90.0 %",
             "\r\033[2K" "run " + JOB, "\033[32msucceeded\n\033[0m", "25.0 %")
    narrow = c.at_terminal(f"watch {JOB}", of_job("", {**RUNNING, "state": "queued"}, ETag='"a"'), ERRORS, stream, of_job("", DONE), columns=30)
    narrow.says(0, "\r\033[2mqueued\033[0m   50 %  density 0.01\033[K", never="accuracy")


def the_verdict_is_an_exit_code_of_watch_with_require(c):
    finding = {"code": "not-read", "severity": "error", "text": "No name is read.", "try": "motifctl show JOB"}
    for state, verdict, plain, required in (("succeeded", "learned", 0, 0), ("succeeded", "partly", 0, 4), ("succeeded", "not-learned", 0, 5), ("failed", None, 1, 1),
                                            ("cancelled", None, 1, 1)):
        result = {"verdict": verdict, "findings": [] if verdict == "learned" else [finding]} if verdict else None
        job = of_job("", {**DONE, "state": state, "result": result, "error": {"message": "no"} if state == "failed" else None})
        for words, code in (("", plain), (" --require", required)):
            c.run(f"watch {JOB}{words}", job).says(code, state, verdict or "")


def watching_uses_the_token_on_both_connections(c):
    ran = c.run(f"watch {JOB} --token t", of_job("", RUNNING), ERRORS, events("event: state\ndata: {}\n\n"), of_job("", {**DONE, "id": None}))
    ran.says(0, "run - succeeded\n")
    assert {headers.get("Authorization") for _, _, headers, _ in ran.player.asked} == {"Bearer t"}, ran.player.asked
    for wrong in ("--interval 1", "--patience -1"):
        c.run(f"watch {JOB} {wrong}").says(2, err=wrong.split()[0] + " must be an integer")


def watching_a_job_that_the_server_refuses_ends(c):
    c.run(f"watch {JOB}", of_job("", {"title": "Gone"}, status=404, kind=PROBLEM)).says(2, err="error: Gone")
    c.run(f"watch {JOB}", of_job("", {"id": JOB})).says(1, err="the server's answer is not a job; is it motifd?")
    c.run(f"watch {JOB}", of_job("", b"<html>")).says(1, err="the server's answer is not a job; is it motifd?")
    for status in (429, 502, 503):
        c.run(f"watch {JOB}", of_job("", {}, status=status)).says(3, err=f"is not ready ({status})")
    c.run(f"watch {JOB} --interval 20", of_job("", RUNNING), ERRORS, events("event: state\ndata: {}\n\n"), of_job("", {"title": "Gone"}, status=404, kind=PROBLEM)).says(2, err="error: Gone")
    c.run(f"watch {JOB} --json", of_job("", DONE)).says(0, '{"id":')


def an_interrupted_watch_says_that_the_job_continues(c):
    player, words, environment = c.words(f"watch {JOB} --interval 20", [of_job("", RUNNING), ERRORS, of_job(EVENTS, status=503)], {})
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "training" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "the job continues; `motifctl watch` follows it again" in said, (process.returncode, said, player.asked)


def logs_print_each_kind_of_event(c):
    lines = [("state", {"time": "T", "job": JOB, "state": "running", "by": None, "list": [1], "more": {}}), ("progress", {"progress": {"stage": "s", "fraction": 0.5, "density": 0.1}}),
             ("progress", {"progress": {}}), ("metric", {"name": "loss", "value": 1}), ("checkpoint", {"seq": 3, "density": 0.25}), ("state", {"state": "cancelled"})]
    stream = "".join(f"id: {i}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for i, (kind, data) in enumerate(lines, 1))
    ran = c.run(f"logs {JOB}", of_job("/events?stored=1", stream.encode(), kind="text/event-stream"))
    ran.says(0, "T  state       state running\n-  progress    s 50 %  density 0.1\n-  progress    - 0 %\n-  checkpoint  seq 3  density 0.25\n-  state       state cancelled\n", never="loss")
    c.run(f"logs {JOB}", of_job("/events?stored=1", {"title": "Gone"}, status=404, kind=PROBLEM)).says(2, err="error: Gone")
    c.run(f"logs {JOB}", of_job("/events?stored=1", b"event: state\ndata: no JSON\n\n", kind="text/event-stream")).says(1, err="the output is incomplete")
    c.run(f"logs {JOB}", of_job("/events?stored=1", b"x", cut=0, kind="text/event-stream")).says(3, err="error: http://")
    c.run(f"logs {JOB}", of_job("/events?stored=1", b"data: a comment\n\nid\n\n", kind="text/event-stream"), of_job("/events?stored=1", status=204)).says(0)


if __name__ == "__main__":
    run_tests(globals())
