#!/usr/bin/env python3
"""Tests `motifctl ask` with a real daemon: every kind of input file, and tables without blank lines.

usage: wire_ask.py MOTIFD MOTIFCTL        exit code 77: NumPy is missing"""
import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import wave

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
from daemon import Daemon, run_each  # noqa: E402

RNG = np.random.default_rng(1)
STROKE, CROSS = np.eye(5), np.eye(5) + np.eye(5)[::-1]


def pictures(count=240):
    x, kinds, places = np.zeros((count, 24, 24), "f4"), RNG.integers(2, size=count), RNG.integers(2, 17, (count, 2))
    for picture, kind, (r, c) in zip(x, kinds, places):
        picture[r:r + 5, c:c + 5] = CROSS if kind else STROKE
    return x, np.array(["stroke", "cross"])[kinds], places


def letters(count=240):
    made = []
    for at in range(count):
        text, place, kind = list(RNG.choice(list("ACGT"), 60)), RNG.integers(5, 40), at % 2
        text[place:place + 8] = "TGACTCAT" if kind else "GGGGCGGG"
        made.append(f">s{at} {'ap1' if kind else 'sp1'}\n{''.join(text)}\n")
    return "".join(made).encode()


def sound(kind):
    samples, at = 0.02 * RNG.normal(size=4000), 1000
    samples[at:at + 900] += 0.5 * np.sin(np.arange(900) * (0.3 if kind else 1.1))
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(8000)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return out.getvalue()


def sounds(count=60):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        members = [(f"{at}.wav", sound(at % 2)) for at in range(count)]
        table = "file,label\n" + "".join(f"{at}.wav,{'low' if at % 2 else 'high'}\n" for at in range(count))
        for name, data in [*members, ("labels.csv", table.encode())]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def signals(count=240):
    x, kinds = 0.2 * RNG.normal(size=(count, 100)), np.arange(count) % 2
    for signal, kind, place in zip(x, kinds, RNG.integers(5, 80, count)):
        signal[place:place + 8] += 3 * np.hanning(8) * (1 if kind else -1)
    return x.astype("f4"), np.array(["dip", "bump"])[kinds]


def texts(count=240):
    words, rows = "the a we go to some play day car tree good".split(), ["text,label"]
    for at in range(count):
        text = list(RNG.choice(words, 8))
        text[RNG.integers(8)] = "jazz" if at % 2 else "rain"
        rows.append(f"{' '.join(text)},{'music' if at % 2 else 'weather'}")
    return "\n".join(rows).encode()


def npz(**arrays):
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


PICTURES, SIGNALS = pictures(), signals()
SETS = {"pictures.npz": (npz(x=PICTURES[0], y=PICTURES[1]), ()), "dna.fa": (letters(), ()), "sounds.tar": (sounds(), ()), "texts.csv": (texts(), ()),
        "signals.npz": (npz(x=SIGNALS[0], y=SIGNALS[1]), ("--signals",)), "rows.csv": (b"a,b,c\n" + b"".join(b"%g,%g,%g\n" % tuple(row) for row in RNG.normal(size=(80, 3))), ())}


class Client:
    def __init__(self, daemon, program, folder):
        self.daemon, self.program, self.folder = daemon, program, folder

    def file(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)
        return name

    def run(self, *words, code=0):
        ran = subprocess.run([self.program, "--server", self.daemon.url, *words], cwd=self.folder, capture_output=True, text=True)
        assert ran.returncode == code, (words, ran)
        return ran

    def ask(self, job, name, *options):
        """The lines of the answer, in words. No line is blank."""
        lines = self.run("ask", job, name, *options).stdout.splitlines()
        assert lines[0].split() == ["INPUT", "LABEL", "CONFIDENCE", "PLACE", "NAME", "CHANNEL", "VALUE"] and all(line.strip() for line in lines), lines
        return [line.split() for line in lines[1:]]


def models_are_trained(c):
    for name, (data, options) in SETS.items():
        stem = name.split(".")[0]
        c.run("datasets", "put", stem, c.file(name, data), *options)
        kind = ("--kind", "factors") if stem == "rows" else ("--set", "total_samples=3000")
        c.run("submit", "--preset", "dataset", "--set", f"dataset_name={stem}", *kind, "--name", stem, "--quiet")
    for name in SETS:
        c.run("watch", name.split(".")[0])


def data_sets_are_shown_without_blank_lines(c):
    for stem in ("signals", "sounds"):
        text = c.run("datasets", "show", stem).stdout
        assert "\n\n\n" not in text and not any(line and not line.strip() for line in text.splitlines()), text
        head, *rows = text[text.index("LABEL  FIRST SAMPLES"):].split("\n\n")[0].splitlines()
        curves = [row.split()[1] for row in rows]
        assert len(rows) == 8 and all(len(curve) == 60 and set(curve) <= set("▁▂▃▄▅▆▇█") for curve in curves), rows
        if stem == "signals":  # a dip reaches the lowest bar, and a bump the highest one, for few of the points
            assert all(curve.count("█" if row.startswith("bump") else "▁") < 15 for row, curve in zip(rows, curves)), rows
    columns = [line.index("SIZE") + 4 for line in c.run("datasets").stdout.splitlines()[:1]]
    assert {len(line) for line in c.run("datasets").stdout.splitlines()} == set(columns)


def arrays_are_asked_alone_and_together(c):
    x, y, places = PICTURES
    for form, data in (("npy", x[3]), ("npz", x[3])):
        out = io.BytesIO()
        np.save(out, data) if form == "npy" else np.savez(out, data)
        rows = c.ask("pictures", c.file(f"one.{form}", out.getvalue()))
        assert rows[0][1] == y[3] and rows[0][2].endswith("%") is False and float(rows[0][2]) > 50, rows
        rows0, rows1 = (int(part) for part in rows[0][5].rstrip(",").split("-"))
        assert rows0 <= places[3][0] + 4 and rows1 >= places[3][0], (rows, places[3])
    rows = [row for row in c.ask("pictures", "pictures.npz") if row[0].isdigit()]  # x of the uploaded file, and not y
    right = [row[1] == label for row, label in zip((row for row in rows if "%" in row), y)]
    assert len(right) == len(y) and np.mean(right) > 0.9, np.mean(right)
    out = io.BytesIO()
    np.save(out, x[:3])  # three grey pictures, or one colour picture
    c.file("three.npy", out.getvalue())
    assert "3 inputs; say --one or --batch" in c.run("ask", "pictures", "three.npy", code=2).stderr
    assert [row[1] for row in c.ask("pictures", "three.npy", "--batch") if "%" in row] == y[:3].tolist()
    assert len([row for row in c.ask("pictures", "three.npy", "--one") if "%" in row]) == 1
    c.file("two.npz", npz(a=x, b=x))
    assert "an array with the name x, or a single array; it contains 2 arrays" in c.run("ask", "pictures", "two.npz", code=2).stderr
    c.file("none.npz", b"no zip")
    assert c.run("ask", "pictures", "none.npz", code=2).stderr.startswith("error: ")
    c.file("words.npz", npz(x=np.array(["a", "b"])))
    assert "must contain numbers" in c.run("ask", "pictures", "words.npz", code=2).stderr


def pictures_sequences_recordings_texts_and_tables_are_asked(c):
    answer = c.daemon.ask("GET", "/v1/datasets/pictures/preview", headers={"Accept": "image/png"})
    assert answer[0] == 200
    assert "must have 24 rows" in c.run("ask", "pictures", c.file("preview.png", answer[2]), code=2).stderr
    two = b">first\n" + b"ACGTTGACTCATACGTAAAA" * 3 + b"\n>second\n" + b"ACGTGGGGCGGGACGTAAAA" * 3 + b"\n"
    for name, data, first, second in (("two.fa", two, "first", "second"), ("two.fa.gz", gzip.compress(two), "0", "1")):
        rows = c.ask("dna", c.file(name, data))
        assert {row[0]: row[1] for row in rows if "%" in row} == {first: "ap1", second: "sp1"}, rows
    assert any("TGACT" in word for row in rows for word in row), rows  # the letters of the extent
    for name, kind in (("low", 1), ("high", 0)):
        rows = c.ask("sounds", c.file(f"{name}.wav", sound(kind)))
        assert rows[0][1] == name, rows
        first, last = map(float, rows[0][4].split("-"))
        assert rows[0][5] == "s" and first < 0.2375 and last > 0.125 and last < 0.51, rows  # the tone lasts from 0.125 s to 0.2375 s
    lines = c.file("lines.txt", b"we play some jazz to the good tree\nthe a rain go play car day we\n")
    told = c.ask("texts", lines)
    assert [row[1] for row in told if "%" in row] == ["music", "weather"] and "jazz" in told[0], told
    assert [row[1] for row in c.ask("texts", "texts.csv") if "%" in row][:4] == ["weather", "music"] * 2  # the column of texts
    assert "no column 'text'" in c.run("ask", "texts", "rows.csv", code=2).stderr
    x, y = SIGNALS
    table = "a" + ",a".join(map(str, range(100))) + "\n" + "\n".join(",".join(map(str, row)) for row in x[:2])
    assert [row[1] for row in c.ask("signals", c.file("signals.csv", table.encode())) if "%" in row] == y[:2].tolist()
    assert "FACTOR" in c.run("ask", "rows", "rows.csv").stdout
    both = json.loads(c.run("ask", "sounds", "low.wav", "--json").stdout)["answers"][0]
    assert both["prediction"] == ["low"] and both["motifs"][0]["seconds"][0] < both["motifs"][0]["seconds"][1] and both["probability"] > 0.5, both
    assert c.run("ask", "sounds", "low.wav", "--quiet").stdout == "low\n"


def other_endings_are_refused(c):
    c.file("picture.bmp", b"BM")
    assert "the ending of picture.bmp is not that of an input format; allowed are .png, .jpg" in c.run("ask", "pictures", "picture.bmp", code=2).stderr
    assert "cannot be read" in c.run("ask", "pictures", "nowhere.png", code=2).stderr


def main(motifd, motifctl):
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        with Daemon(os.path.abspath(motifd), os.path.join(folder, "db"), "--data", os.path.join(folder, "sets"), "--workers", "2", "--threads-per-job", "1") as daemon:
            client = Client(daemon, os.path.abspath(motifctl), folder)
            run_each((client,), models_are_trained, data_sets_are_shown_without_blank_lines, arrays_are_asked_alone_and_together,
                     pictures_sequences_recordings_texts_and_tables_are_asked, other_endings_are_refused)
        print(f"# {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:3])
