#!/usr/bin/env python3
"""Runs tests/reproduce/zoo/run.py with a tiny network and real daemons: wire_zoo.py MOTIFD. Skipped (77) without NumPy."""
import csv
import os
import subprocess
import sys
import tempfile
import wave

try:
    import numpy  # noqa: F401
except ImportError:
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
RUN = os.path.join(HERE, "..", "reproduce", "zoo", "run.py")
BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
TINY = ("width=8", "units=1", "channels=16", "layers=1", "heads=2", "feed_forward=32", "validation_every=40", "validation_samples=8",
        "test_samples=8", "motif_samples=8", "stage_samples=4", "batch=4", "total_samples=120")


def run(*words, expected=0):
    settings = [word for setting in TINY for word in ("--set", setting)]
    done = subprocess.run([sys.executable, RUN, "--build", BUILD, "--size", "300", "--test", "20", *settings, *words], capture_output=True, text=True)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout + done.stderr


def a_run_writes_a_line_for_each_family_and_seed(folder):
    table = os.path.join(folder, "table.csv")
    output = run("--families", "dna-words,shapes", "--seeds", "1-2", "--out", table)
    run("--families", "colours", "--vary", "distractors=2,values=255", "--out", table)
    lines = list(csv.DictReader(open(table, encoding="utf-8")))
    assert [(line["family"], line["seed"]) for line in lines] == [("dna-words", "1"), ("dna-words", "2"), ("shapes", "1"), ("shapes", "2"), ("colours", "1")]
    for line in lines:
        assert line["state"] == "succeeded" and int(line["samples"]) >= 120, line
        assert 0 <= float(line["oracle_e2ee"]) < 0.2 < float(line["e2ee"]) <= 1, line  # the model errs more than the oracle, because it learns nothing from 120 samples
        met, motifs = map(int, line["motifs"].split("/"))
        # Only matrices, which the calibration fits to DNA, find every motif after so little training.
        assert 0 <= met < motifs + (line["family"] == "dna-words") and motifs == {"dna-words": 8, "shapes": 6, "colours": 6}[line["family"]], line
    assert lines[-1]["vary"] == "distractors=2 values=255"
    assert sum(text.startswith("| dna-words") for text in output.split("\n")) == 2, output


def public_data(folder):
    """Writes files of random digits and words in the formats of optdigits and of the Free Spoken Digit Dataset."""
    rng = numpy.random.default_rng(1)
    digits, words = os.path.join(folder, "digits_optdigits"), os.path.join(folder, "fsdd", "recordings")
    os.makedirs(digits)
    os.makedirs(words)
    for name in ("optdigits.tra", "optdigits.tes"):
        rows = numpy.hstack([rng.integers(0, 17, (100, 64)), numpy.arange(100)[:, None] % 10])
        numpy.savetxt(os.path.join(digits, name), rows, "%d", delimiter=",")
    for digit in range(10):
        for take in (0, 5, 6):
            with wave.open(os.path.join(words, "%d_nobody_%d.wav" % (digit, take)), "wb") as file:
                file.setparams((1, 2, 8000, 0, "NONE", ""))
                file.writeframes((3000 * rng.standard_normal(3000)).astype("<i2").tobytes())


def every_kind_of_data_is_accepted(folder):
    """Trains on recordings in a tar, on counts, on classes without places, and on pictures of public digits. Recordings must have true places too."""
    public_data(folder)
    table = os.path.join(folder, "table.csv")
    run("--families", "handwriting,spoken,dna-count,textures", "--report", "--data", folder, "--out", table)
    lines = {line["family"]: line for line in csv.DictReader(open(table, encoding="utf-8"))}
    assert [line["state"] for line in lines.values()] == 4 * ["succeeded"], lines
    assert lines["textures"]["motifs"] == lines["textures"]["oracle_fne"] == "" and 0 <= float(lines["textures"]["e2ee"]) <= 1
    assert lines["spoken"]["motifs"].endswith("/10") and 0 <= float(lines["spoken"]["fne"]) <= 1, lines["spoken"]
    assert "needs public data" in run("--families", "spoken", "--report", expected=1)


def saved_files_have_no_places(folder):
    run("--families", "shapes,dna-words", "--save", folder)
    found = sorted(os.listdir(folder))
    assert found == ["%s-1-%s%s" % (family, part, end) for family, kind in (("dna-words", ".fa"), ("shapes", ".npz"))
                     for part in ("test", "train") for end in ("-truth.csv", kind)], found
    with numpy.load(os.path.join(folder, "shapes-1-train.npz")) as arrays:
        assert sorted(arrays) == ["x", "y"] and arrays["x"].shape == (300, 48, 48, 1) and arrays["y"].dtype == bool


def the_report_half_needs_a_flag(_):
    assert "belongs to the report half" in run("--families", "pairs", expected=1)
    assert "there is no family" in run("--families", "nothing", expected=1)


for check in (the_report_half_needs_a_flag, saved_files_have_no_places, every_kind_of_data_is_accepted, a_run_writes_a_line_for_each_family_and_seed):
    with tempfile.TemporaryDirectory() as place:
        check(place)
    print("ok", check.__name__, flush=True)
