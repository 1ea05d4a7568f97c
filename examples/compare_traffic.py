#!/usr/bin/env python3
"""Compares the places that a model marks in the test part of docs/tutorials/signals.md with the true anomalies.

usage: compare_traffic.py SERVER JOB SERIES.csv TRUTH.csv [FALSE_MARKS]

For each kind, prints how many test series have it, in how many the label is right, how many marks it has, and how many of these lie in the anomaly. With
FALSE_MARKS, such as 0.1, only the marks are kept whose expected share of false ones is at most this. Needs NumPy, and the Python client, which the daemon
serves."""
import csv
import importlib.util
import os
import sys
import tempfile
import urllib.request

import numpy as np


def client_of(server):
    """The module motifd.py that the daemon serves."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "motifd.py")
        urllib.request.urlretrieve(f"{server}/motifd.py", path)
        spec = importlib.util.spec_from_file_location("motifd", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["motifd"] = module
        spec.loader.exec_module(module)
    return module


def main(server, job, series, truth, false_marks=None):
    with open(truth, encoding="utf-8") as file:
        places = {int(row["row"]): (int(row["start"]), int(row["end"])) for row in csv.DictReader(file)}
    with open(series, encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    test = [at for at, row in enumerate(rows) if row[1] == "test"]
    inputs = np.array([rows[at][2:] for at in test], np.float32)[:, None, None]
    model = client_of(server).Motifs.load(job, server)
    answers = model.predict(inputs)
    boxes = model.boxes(inputs, None if false_marks is None else float(false_marks))
    count = {}
    for at, answer, marks in zip(test, answers, boxes):
        kind, (start, end) = rows[at][0], places.get(at, (0, 0))
        one = count.setdefault(kind, np.zeros(2, int))
        one += (1, answer == kind)
        for mark in marks:
            middle = (mark["box"][2] + mark["box"][3] - 1) / 2
            count.setdefault(f"marks {mark['name']}", np.zeros(2, int))[:] += (1, mark["name"] == kind and start <= middle < end)
    print("kind      series  right  marks  in the anomaly")
    for kind in sorted(key for key in count if not key.startswith("marks ")):
        series_of, right = count[kind]
        marked, inside = count.get(f"marks {kind}", (0, 0))
        print(f"{kind:8}  {series_of:6}  {right / series_of:5.0%}  {marked:5}  " + (f"{inside / marked:4.0%}" if marked else "-"))
    if false_marks is not None:
        print(boxes.sentence)


if __name__ == "__main__":
    main(*sys.argv[1:])
