#!/usr/bin/env python3
"""Tests motifctl export and checkpoints against a simulated server. The file must be complete and correct, or absent. The cases are:

- earlier runs left a part of the file that matches, does not match, or is complete
- answers break off, start at another offset, or refuse
- names of files, files that cannot be written, and progress on a terminal

usage: wire_export.py MOTIFCTL"""
import json
import os
import pty
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness")]
from daemon import run_each  # noqa: E402
from played import Answer, Server  # noqa: E402

MOTIFCTL = os.path.abspath(sys.argv[1])
JOB = "01JD8AAAAAAAAAAAAAAAAAAAAA"
DATA = bytes(range(256)) * 40
ETAG = '"four"'
SERVER = Server()


class Kept:
    """Serves ranges of one file. `instead` maps the number of a request to an answer that replaces the usual one, or to None. An answer has at most `cut` bytes."""

    def __init__(self, instead=None, cut=None, etag=ETAG, rows=None):
        self.instead, self.cut, self.etag, self.requests = instead or (lambda count: None), cut, etag, []
        self.rows = [{"seq": 2}, {"seq": 4}, {"seq": 3}] if rows is None else rows

    def answer(self, method, path, headers, body):
        if path.endswith("/checkpoints"):
            return Answer(method, path, 200, {"Content-Type": "application/json"}, json.dumps({"checkpoints": self.rows}).encode())
        self.requests.append((path, headers.get("Range"), headers.get("If-Range")))
        other = self.instead(len(self.requests))
        if other is not None:
            return other
        start = int(headers["Range"][len("bytes="):-1]) if headers.get("Range") and headers.get("If-Range") == self.etag else 0
        head = {"Content-Type": "application/octet-stream", **({"ETag": self.etag} if self.etag else {})}
        if start == 0:
            return Answer(method, path, 200, head, DATA, cut=self.cut)
        if start >= len(DATA):
            return Answer(method, path, 416, {**head, "Content-Range": f"bytes */{len(DATA)}"}, b"")
        return Answer(method, path, 206, {**head, "Content-Range": f"bytes {start}-{len(DATA) - 1}/{len(DATA)}"}, DATA[start:], cut=self.cut)


def answer_of(status, body=b"", **headers):
    return Answer("GET", "", status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


class Place:
    """A folder in which motifctl runs."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.name = self.folder.name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.name, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)

    def part(self, content, etag=ETAG):
        self.write("w.part", content)
        self.write("w.part.etag", etag.encode() + b"\n")

    def run(self, player, *words, stderr=subprocess.PIPE):
        self.player = player
        return subprocess.run([MOTIFCTL, *words], cwd=self.name, env={**os.environ, "MOTIFD_SERVER": SERVER.play(player), "TERM": "xterm"},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, timeout=60, text=True)

    def whole(self, got, *requests):
        """Asserts that the folder contains only the complete file, and with which first bytes motifctl requested it."""
        assert got.returncode == 0, got
        assert sorted(os.listdir(self.name)) == ["w"], os.listdir(self.name)
        with open(self.path("w"), "rb") as file:
            assert file.read() == DATA
        assert [range_ and int(range_[6:-1]) for _, range_, _ in self.player.requests] == list(requests), self.player.requests


def parts_of_an_earlier_run_are_continued():
    """An earlier run left a part of the file, its ETag, or both."""
    with Place() as place:
        place.whole(place.run(Kept(), "export", JOB, "w", "--checkpoint", "4"), None)
    for content, etag, requests in ((DATA[:100], ETAG, [100]), (DATA, ETAG, [len(DATA)]), (DATA + b"more", ETAG, [len(DATA) + 4, None]),
                                 (b"of another", '"three"', [10, None]), (b"whose is it", "", [None]), (b"", ETAG, [None])):
        with Place() as place:
            place.part(content, etag)
            place.whole(place.run(Kept(), "export", JOB, "w", "--checkpoint", "4"), *requests)
    with Place() as place:  # motifctl does not use a part without an ETag
        place.write("w.part", DATA[:100])
        place.whole(place.run(Kept(), "export", JOB, "w", "--checkpoint", "4"), None)
    with Place() as place:  # an ETag without a part is left
        place.write("w.part.etag", ETAG.encode())
        place.whole(place.run(Kept(), "export", JOB, "w", "--checkpoint", "4"), None)


def a_broken_connection_is_continued():
    with Place() as place:
        place.whole(place.run(Kept(cut=4000), "export", JOB, "w", "--checkpoint", "4"), None, 4000, 8000)
    with Place() as place:  # the file of an answer without ETag may change, so the next try starts from the beginning
        place.whole(place.run(Kept(instead=lambda count: Answer("", "", 200, {}, DATA, cut=3000) if count < 3 else None, etag=None), "export", JOB, "w",
                              "--checkpoint", "4"), None, None, None)
    # The answer has another offset than the requested one, or none. motifctl requests the whole file again.
    for where in ("bytes 0-10239/10240", "bytes 99-10239/10240", "bytes 1000-", "", "101-10239/10240"):
        with Place() as place:
            place.part(DATA[:100])
            wrong = answer_of(206, DATA[100:], Content_Range=where, ETag=ETAG)
            place.whole(place.run(Kept(instead=lambda count, wrong=wrong: wrong if count == 1 else None), "export", JOB, "w", "--checkpoint", "4"), 100, None)
    with Place() as place:  # the answer is a part of the file, which motifctl has not requested
        wrong = answer_of(206, DATA[100:], Content_Range="bytes 100-10239/10240", ETag=ETAG)
        place.whole(place.run(Kept(instead=lambda count: wrong if count == 1 else None), "export", JOB, "w", "--checkpoint", "4"), None, None)
    with Place() as place:  # each answer breaks off after a byte; this run gives up, and the next run continues
        got = place.run(Kept(cut=1), "export", JOB, "w", "--checkpoint", "4")
        assert got.returncode == 3 and "error:" in got.stderr and len(place.player.requests) == 6, got
        assert sorted(os.listdir(place.name)) == ["w.part", "w.part.etag"] and os.path.getsize(place.path("w.part")) == 6
        place.whole(place.run(Kept(), "export", JOB, "w", "--checkpoint", "4"), 6)


def refusals_leave_the_part():
    for status, code in ((404, 2), (401, 2), (409, 1), (500, 1)):
        with Place() as place:
            got = place.run(Kept(instead=lambda count, status=status: answer_of(status, b'{"title":"not this"}', Content_Type="application/problem+json")), "export",
                            JOB, "w", "--checkpoint", "4")
            assert got.returncode != 0 and "not this" in got.stderr and os.listdir(place.name) == [], (status, got, os.listdir(place.name))
        with Place() as place:  # motifctl keeps the part
            place.part(DATA[:100])
            got = place.run(Kept(instead=lambda count, status=status: answer_of(status, b'{"title":"not this"}', Content_Type="application/problem+json")), "export",
                            JOB, "w", "--checkpoint", "4")
            assert got.returncode != 0 and os.path.getsize(place.path("w.part")) == 100, (status, got)


def files_are_named_after_the_checkpoint():
    for words, path, name in (((), f"checkpoints/4", f"{JOB}-4.safetensors"), (("--checkpoint", "latest"), "checkpoints/4", f"{JOB}-4.safetensors"),
                              (("--checkpoint", "3", "--onnx"), "onnx?checkpoint=3", f"{JOB}-3.onnx"), (("--bundle",), "bundle?checkpoints=4", f"{JOB}.bundle"),
                              (("--bundle", "--checkpoint", "all"), "bundle?checkpoints=all", f"{JOB}.bundle")):
        with Place() as place:
            got = place.run(Kept(), "export", JOB, *words)
            assert got.returncode == 0 and [requests[0] for requests in place.player.requests] == [f"/v1/jobs/{JOB}/{path}"], (words, got, place.player.requests)
            assert os.listdir(place.name) == [name] and got.stdout.startswith(name + ": checkpoint "), (words, got, os.listdir(place.name))
            os.unlink(place.path(name))
            document = json.loads(place.run(Kept(), "export", JOB, *words, "--json").stdout)
            assert document == {"file": name, "job": JOB, "checkpoint": "all" if "all" in words else 3 if "3" in words else 4, "bytes": len(DATA)}, document
    with Place() as place:
        for words, says in ((("--checkpoint", "four"), "must be a sequence number"), (("--checkpoint", ""), "must be a sequence number"),
                            (("--checkpoint", "all"), "must be a sequence number"), (("x" * 5000,), "is too long")):
            got = place.run(Kept(), "export", JOB, *words)
            assert got.returncode == 2 and says in got.stderr, (words, got)
        for rows in ([], [{}], [{"seq": "x"}]):
            got = place.run(Kept(rows=rows), "export", JOB)
            assert got.returncode == 2 and "no checkpoint yet" in got.stderr, got
        assert os.listdir(place.name) == []


def unwritable_places_are_reported():
    """motifctl cannot write its files."""
    with Place() as place:
        got = place.run(Kept(), "export", JOB, "none/w", "--checkpoint", "4")
        assert got.returncode == 1 and "cannot be written" in got.stderr, got
        os.mkdir(place.path("w"))
        got = place.run(Kept(), "export", JOB, "w", "--checkpoint", "4")
        assert got.returncode == 2 and "w exists and is not a regular file" in got.stderr and os.listdir(place.path("w")) == [], got
    with Place() as place:
        os.symlink("/dev/full", place.path("w.part"))
        got = place.run(Kept(), "export", JOB, "w", "--checkpoint", "4")
        assert got.returncode == 1 and "is the disk full" in got.stderr and len(place.player.requests) == 1, got
        assert not os.path.exists(place.path("w"))


def a_terminal_shows_the_progress():
    with Place() as place:
        ours, theirs = pty.openpty()
        got = place.run(Kept(cut=4000), "export", JOB, "w", "--checkpoint", "4", stderr=theirs)
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:
            pass
        os.close(ours)
        place.whole(got, None, 4000, 8000)
        assert "of 10" in shown.decode() and shown.decode().rstrip("\n").endswith("\r\033[K"), shown  # motifctl drew a bar and erased it


def checkpoints_are_listed():
    rows = [{"seq": 1, "step": 100, "density": 0.01, "accuracy": 0.5, "bytes": 2048, "pinned": True, "created_at": "2020-01-01T00:00:00Z"}, {"seq": 2}, {}, 7]
    with Place() as place:
        got = place.run(Kept(rows=rows), "checkpoints", JOB)
        lines = got.stdout.splitlines()
        assert got.returncode == 0 and lines[0].split()[:4] == ["SEQ", "STEP", "DENSITY", "ACCURACY"] and len(lines) == 5, got
        assert lines[1].split()[:3] == ["1", "100", "0.01"] and "50" in lines[1] and "ago" in lines[1], lines
        assert json.loads(place.run(Kept(rows=rows), "checkpoints", JOB, "--json").stdout) == {"checkpoints": rows}


if __name__ == "__main__":
    run_each((), parts_of_an_earlier_run_are_continued, a_broken_connection_is_continued, refusals_leave_the_part, files_are_named_after_the_checkpoint,
             unwritable_places_are_reported, a_terminal_shows_the_progress, checkpoints_are_listed)
