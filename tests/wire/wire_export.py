#!/usr/bin/env python3
"""Tests motifctl export and checkpoints against a simulated server: parts of earlier runs that match, do not match or are complete; answers that break
off, start at another offset or refuse; names; files that cannot be written; progress on a terminal. The file must be complete and correct, or absent.

usage: wire_export.py MOTIFCTL"""
import json
import os
import pty
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness")]
from daemon import run_checks  # noqa: E402
from played import Said, Server  # noqa: E402

MOTIFCTL = os.path.abspath(sys.argv[1])
JOB = "01JD8AAAAAAAAAAAAAAAAAAAAA"
DATA = bytes(range(256)) * 40
ETAG = '"four"'
SERVER = Server()


class Kept:
    """Serves ranges of one file. `instead` maps the number of requests to a replacement answer or None; `cut` is the most bytes per answer."""

    def __init__(self, instead=None, cut=None, etag=ETAG, rows=None):
        self.instead, self.cut, self.etag, self.asked = instead or (lambda count: None), cut, etag, []
        self.rows = [{"seq": 2}, {"seq": 4}, {"seq": 3}] if rows is None else rows

    def answer(self, method, path, headers, body):
        if path.endswith("/checkpoints"):
            return Said(method, path, 200, {"Content-Type": "application/json"}, json.dumps({"checkpoints": self.rows}).encode())
        self.asked.append((path, headers.get("Range"), headers.get("If-Range")))
        other = self.instead(len(self.asked))
        if other is not None:
            return other
        start = int(headers["Range"][len("bytes="):-1]) if headers.get("Range") and headers.get("If-Range") == self.etag else 0
        head = {"Content-Type": "application/octet-stream", **({"ETag": self.etag} if self.etag else {})}
        if start == 0:
            return Said(method, path, 200, head, DATA, cut=self.cut)
        if start >= len(DATA):
            return Said(method, path, 416, {**head, "Content-Range": f"bytes */{len(DATA)}"}, b"")
        return Said(method, path, 206, {**head, "Content-Range": f"bytes {start}-{len(DATA) - 1}/{len(DATA)}"}, DATA[start:], cut=self.cut)


def said(status, body=b"", **headers):
    return Said("GET", "", status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


class Place:
    """A folder, and the runs in it."""

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

    def whole(self, got, *asked):
        """Asserts that only the complete file is there, and the first bytes that were requested."""
        assert got.returncode == 0, got
        assert sorted(os.listdir(self.name)) == ["w"], os.listdir(self.name)
        with open(self.path("w"), "rb") as file:
            assert file.read() == DATA
        assert [range_ and int(range_[6:-1]) for _, range_, _ in self.player.asked] == list(asked), self.player.asked


def parts():
    """Writes the files that an earlier run left."""
    with Place() as place:
        place.whole(place.run(Kept(), "export", JOB, "w", "--checkpoint", "4"), None)
    for content, etag, asked in ((DATA[:100], ETAG, [100]), (DATA, ETAG, [len(DATA)]), (DATA + b"more", ETAG, [len(DATA) + 4, None]),
                                 (b"of another", '"three"', [10, None]), (b"whose is it", "", [None]), (b"", ETAG, [None])):
        with Place() as place:
            place.part(content, etag)
            place.whole(place.run(Kept(), "export", JOB, "w", "--checkpoint", "4"), *asked)
    with Place() as place:  # a part without an ETag is not used
        place.write("w.part", DATA[:100])
        place.whole(place.run(Kept(), "export", JOB, "w", "--checkpoint", "4"), None)
    with Place() as place:  # an ETag without a part
        place.write("w.part.etag", ETAG.encode())
        place.whole(place.run(Kept(), "export", JOB, "w", "--checkpoint", "4"), None)


def breaks():
    with Place() as place:
        place.whole(place.run(Kept(cut=4000), "export", JOB, "w", "--checkpoint", "4"), None, 4000, 8000)
    with Place() as place:  # an answer without ETag may change, so the next try starts from the beginning
        place.whole(place.run(Kept(instead=lambda count: Said("", "", 200, {}, DATA, cut=3000) if count < 3 else None, etag=None), "export", JOB, "w",
                              "--checkpoint", "4"), None, None, None)
    # A part with another offset than requested, or without one: the whole file is requested again.
    for where in ("bytes 0-10239/10240", "bytes 99-10239/10240", "bytes 1000-", "", "101-10239/10240"):
        with Place() as place:
            place.part(DATA[:100])
            wrong = said(206, DATA[100:], Content_Range=where, ETag=ETAG)
            place.whole(place.run(Kept(instead=lambda count, wrong=wrong: wrong if count == 1 else None), "export", JOB, "w", "--checkpoint", "4"), 100, None)
    with Place() as place:  # a part that was not requested
        wrong = said(206, DATA[100:], Content_Range="bytes 100-10239/10240", ETag=ETAG)
        place.whole(place.run(Kept(instead=lambda count: wrong if count == 1 else None), "export", JOB, "w", "--checkpoint", "4"), None, None)
    with Place() as place:  # only heads arrive: the run gives up and the next run continues
        got = place.run(Kept(cut=1), "export", JOB, "w", "--checkpoint", "4")
        assert got.returncode == 3 and "error:" in got.stderr and len(place.player.asked) == 6, got
        assert sorted(os.listdir(place.name)) == ["w.part", "w.part.etag"] and os.path.getsize(place.path("w.part")) == 6
        place.whole(place.run(Kept(), "export", JOB, "w", "--checkpoint", "4"), 6)


def refusals():
    for status, code in ((404, 2), (401, 2), (409, 1), (500, 1)):
        with Place() as place:
            got = place.run(Kept(instead=lambda count, status=status: said(status, b'{"title":"not this"}', Content_Type="application/problem+json")), "export",
                            JOB, "w", "--checkpoint", "4")
            assert got.returncode != 0 and "not this" in got.stderr and os.listdir(place.name) == [], (status, got, os.listdir(place.name))
        with Place() as place:  # the part stays
            place.part(DATA[:100])
            got = place.run(Kept(instead=lambda count, status=status: said(status, b'{"title":"not this"}', Content_Type="application/problem+json")), "export",
                            JOB, "w", "--checkpoint", "4")
            assert got.returncode != 0 and os.path.getsize(place.path("w.part")) == 100, (status, got)


def names():
    for words, path, name in (((), f"checkpoints/4", f"{JOB}-4.safetensors"), (("--checkpoint", "latest"), "checkpoints/4", f"{JOB}-4.safetensors"),
                              (("--checkpoint", "3", "--onnx"), "onnx?checkpoint=3", f"{JOB}-3.onnx"), (("--bundle",), "bundle?checkpoints=4", f"{JOB}.bundle"),
                              (("--bundle", "--checkpoint", "all"), "bundle?checkpoints=all", f"{JOB}.bundle")):
        with Place() as place:
            got = place.run(Kept(), "export", JOB, *words)
            assert got.returncode == 0 and [asked[0] for asked in place.player.asked] == [f"/v1/jobs/{JOB}/{path}"], (words, got, place.player.asked)
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


def places():
    """Files that cannot be written."""
    with Place() as place:
        got = place.run(Kept(), "export", JOB, "none/w", "--checkpoint", "4")
        assert got.returncode == 1 and "cannot be written" in got.stderr, got
        os.mkdir(place.path("w"))
        got = place.run(Kept(), "export", JOB, "w", "--checkpoint", "4")
        assert got.returncode == 1 and "cannot be written" in got.stderr and os.listdir(place.path("w")) == [], got
    with Place() as place:
        os.symlink("/dev/full", place.path("w.part"))
        got = place.run(Kept(), "export", JOB, "w", "--checkpoint", "4")
        assert got.returncode == 1 and "is the disk full" in got.stderr and len(place.player.asked) == 1, got
        assert not os.path.exists(place.path("w"))


def a_terminal():
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
        assert "of 10" in shown.decode() and shown.decode().rstrip("\n").endswith("\r\033[K"), shown  # a bar that was erased


def listed():
    rows = [{"seq": 1, "step": 100, "density": 0.01, "accuracy": 0.5, "bytes": 2048, "pinned": True, "created_at": "2020-01-01T00:00:00Z"}, {"seq": 2}, {}, 7]
    with Place() as place:
        got = place.run(Kept(rows=rows), "checkpoints", JOB)
        lines = got.stdout.splitlines()
        assert got.returncode == 0 and lines[0].split()[:4] == ["SEQ", "STEP", "DENSITY", "ACCURACY"] and len(lines) == 5, got
        assert lines[1].split()[:3] == ["1", "100", "0.01"] and "50" in lines[1] and "ago" in lines[1], lines
        assert json.loads(place.run(Kept(rows=rows), "checkpoints", JOB, "--json").stdout) == {"checkpoints": rows}


if __name__ == "__main__":
    run_checks(*((check.__name__, check) for check in (parts, breaks, refusals, names, places, a_terminal, listed)))
