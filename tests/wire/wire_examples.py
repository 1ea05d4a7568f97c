#!/usr/bin/env python3
"""The programs of examples/ work against a daemon.

usage: wire_examples.py MOTIFD MOTIFCTL FOLLOW TRAIN_SH TRAIN_PY"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon  # noqa: E402


def run(name, command, folder, expected, **environment):
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
    lacks = [text for text in expected if text not in result.stdout]
    good = result.returncode == 0 and not lacks
    print(f"{'ok' if good else 'not ok'} example in {name}")
    if not good:
        print(f"exit code {result.returncode}, lacks {lacks}\n{result.stdout}\n{result.stderr}")
    return good


def main(motifd, motifctl, follow, shell, python):
    paths = [os.path.abspath(path) for path in (motifd, motifctl, follow, shell, python)]
    motifd, motifctl, follow, shell, python = paths
    settings = [f"{name}={value}" for name, value in TINY.items()]
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(motifd, os.path.join(folder, "db"))
        body = json.dumps({"kind": "sparling", "preset": "digitcircle-quick", "config": TINY})
        try:
            good = [
                run("C", [follow, daemon.url, body], folder, ['"state":"queued"', "progress ", "metric ", '"state":"succeeded"']),
                run("shell", [shell, *settings], folder, ["succeeded", "loss"], MOTIFD_SERVER=daemon.url,
                    PATH=os.path.dirname(motifctl) + os.pathsep + os.environ["PATH"]),
                run("Python", [sys.executable, python, daemon.url, *settings], folder, ["succeeded", "100.0%", "errors: ", "answer "]),
                os.path.exists(os.path.join(folder, "model.safetensors")),
            ]
        finally:
            daemon.end()
    return not all(good)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
