#!/usr/bin/env python3
"""Executes the notebook of each tutorial against a daemon, with short trainings. Without Debian's jupyter-nbconvert and python3-ipykernel, the test is
skipped (exit code 77).

usage: wire_notebooks.py MOTIFD NOTEBOOKS TUTORIALS"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon, run_checks  # noqa: E402

SAMPLES = "400"


def execute(book, folder, server):
    environment = {**os.environ, "MOTIFD_SERVER": server, "SAMPLES": SAMPLES, "HOME": folder, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--ExecutePreprocessor.timeout=280", "--output-dir", folder,
                           book], env=environment, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr[-4000:]
    with open(os.path.join(folder, os.path.basename(book)), encoding="utf-8") as file:
        cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in cells) and any(cell["outputs"] for cell in cells)


def main(motifd, notebooks, tutorials):
    books = sorted(name for name in os.listdir(notebooks) if name.endswith(".ipynb"))
    pages = sorted(name for name in os.listdir(tutorials) if name.endswith(".md"))
    assert [name[:-6] for name in books] == [name[:-3] for name in pages], (books, pages)
    if importlib.util.find_spec("nbconvert") is None or importlib.util.find_spec("ipykernel") is None:
        print("skipped: jupyter-nbconvert or python3-ipykernel is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(motifd, os.path.join(folder, "db"), "--data", os.path.join(folder, "data")) as daemon:
            for book in books:  # nbconvert runs a notebook in its own folder
                copy = os.path.join(folder, "source-" + book)
                with open(os.path.join(notebooks, book), encoding="utf-8") as file, open(copy, "w", encoding="utf-8") as out:
                    out.write(file.read())
                run_checks((book, lambda copy=copy: execute(copy, folder, daemon.url)))


main(*sys.argv[1:])
