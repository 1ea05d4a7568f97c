#!/usr/bin/env python3
"""Trains one short job of each kind and prints the SHA-256 of its weights.

    tests/reproduce/weights.py BUILD

On one machine, two builds that compute the same thing print the same lines. Compare the lines before and after a restructuring
to show that it changed no result. Takes about a minute.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

JOBS = (
    ("sparling", "digitcircle-quick", ["total_samples=3000"]),
    ("superposition", "fig3", ["total_samples=20000"]),
    ("factors", "synthetic", ["total_samples=20000"]),
    ("environments", None, ["learning_rate=2e-2", "updates=12000", "total_samples=20000", "seed=5"]),
    ("pathways", "single-layer", ["trials=20"]),
    ("dictionary", "planted-quick", ["total_samples=20000", "test_samples=1000", "pursuit_samples=50"]),
)


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
    with tempfile.TemporaryDirectory() as folder:
        daemon = subprocess.Popen([build / "motifd", "serve", "--listen", "127.0.0.1:0", "--db", folder + "/w.db"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            server = daemon.stdout.readline().split()[-1]
            for kind, preset, settings in JOBS:
                command = [build / "motifctl", "--server", server, "submit", "--json", "--watch", "--kind", kind]
                command += ["--preset", preset] if preset else []
                for setting in settings:
                    command += ["--set", setting]
                subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
                job = json.loads(subprocess.run([build / "motifctl", "--server", server, "show", "latest", "--json"],
                                                stdout=subprocess.PIPE, check=True, text=True).stdout)
                print(kind, preset or "-", " ".join(settings), job["state"], job["result"].get("weights_sha256"), flush=True)
        finally:
            daemon.terminate()
            daemon.wait()


if __name__ == "__main__":
    main()
