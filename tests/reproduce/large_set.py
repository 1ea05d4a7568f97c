#!/usr/bin/env python3
"""Measures what a data set that is larger than memory costs: upload, training and queries beside a small set of the same pictures.

    large_set.py --build build [--pictures 100000] [--small 2000] [--side 256] [--updates 150] [--rounds 3] [--folder DIR]

The script writes two archives (.tar) of .npz files with pictures of --side x --side pixels, one byte each: noise and one to three of four glyphs
of 17 pixels. It uploads both, trains the preset `dataset` on them in turns (--rounds times, --updates updates each, one thread, a narrow model), and asks the last
model about pictures. It prints

- the seconds and the peak memory of each upload;
- for each round, the processor time and the wall time of an update on each set, without the start of the training, and their ratios;
- the peak memory of a training: its own memory (RssAnon) and the pages of mapped files (RssFile), which the kernel can take back at any time;
- the median and the longest time of queries of a new picture.

Memory is that of the daemon and its children, read every 50 ms. The archives need 64 KiB for each picture of 256 x 256, and the daemon needs the same
again for the values, twice while it reads. Exit code 1: own memory exceeded 2 GB, or the large set trained at less than 90 % of the small set's speed.
"""
import argparse
import io
import os
import statistics
import sys
import tarfile
import tempfile
import threading
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness")]
from daemon import Daemon  # noqa: E402

NAMES = ("ring", "cross", "bar", "dot")
SHARD = 2000  # pictures in one .npz
LIMIT_OWN, LIMIT_SPEED = 2e9, 0.9


def glyphs():
    row, col = np.mgrid[-8:9, -8:9]
    radius = np.hypot(row, col)
    return [(radius > 5) & (radius < 8), (abs(row) < 2) | (abs(col) < 2), abs(row) < 2, radius < 4]


def pictures(rng, count, side):
    """Returns count pictures as bytes and the set of names in each."""
    x, y, shapes = rng.integers(0, 60, (count, side, side), "u1"), np.zeros((count, len(NAMES)), bool), glyphs()
    for i in range(count):
        for which in rng.choice(len(NAMES), rng.integers(1, 4), replace=False):
            row, col = rng.integers(0, side - 17, 2)
            x[i, row:row + 17, col:col + 17][shapes[which]] = 250
            y[i, which] = True
    return x, y


def archive(path, count, side):
    rng = np.random.default_rng(count)
    with tarfile.open(path, "w") as tar:
        for begin in range(0, count, SHARD):
            x, y = pictures(rng, min(SHARD, count - begin), side)
            out = io.BytesIO()
            np.savez(out, x=x, y=y, names=np.array(NAMES))
            info = tarfile.TarInfo("%06d.npz" % begin)
            info.size = out.tell()
            out.seek(0)
            tar.addfile(info, out)


def processes(root):
    """The process `root` and all its descendants."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="utf-8") as file:
                    children.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
            except OSError:
                pass
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


class Memory:
    """Records the largest memory of the daemon and its children within a `with` block, in bytes."""

    def __init__(self, root):
        self.root, self.own, self.mapped, self.over = root, 0, 0, threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def watch(self):
        while not self.over.wait(0.05):
            own = mapped = 0
            for process in processes(self.root):
                try:
                    with open("/proc/%d/status" % process, encoding="utf-8") as file:
                        lines = dict(line.split(":", 1) for line in file)
                    own += 1024 * int(lines.get("RssAnon", "0 kB").split()[0])
                    mapped += 1024 * int(lines.get("RssFile", "0 kB").split()[0])
                except OSError:
                    pass
            self.own, self.mapped = max(self.own, own), max(self.mapped, mapped)


def processor_seconds(root):
    total = 0
    for process in processes(root):
        try:
            with open("/proc/%d/stat" % process, encoding="utf-8") as file:
                total += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        except OSError:
            pass
    return total / os.sysconf("SC_CLK_TCK")


def put(daemon, name, path):
    """Uploads a file in pieces, so that this script does not hold it in memory either."""
    import http.client
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=3600)
    with open(path, "rb") as file:
        connection.request("PUT", "/v1/datasets/" + name, file, {"Content-Type": "application/x-tar", "Content-Length": str(os.path.getsize(path))})
        answer = connection.getresponse()
        body = answer.read()
    if answer.status != 201:
        raise SystemExit("the daemon refused %s: %d %s" % (name, answer.status, body[:500]))


def train(daemon, name, updates, batch):
    """Trains and returns (job, processor seconds for an update, wall seconds for an update), from the first to the last report of the progress."""
    config = {"dataset_name": name, "threads": 1, "batch": batch, "total_samples": updates * batch, "validation_every": 10 * updates * batch,
              "checkpoint_every": updates * batch, "presence_weight": 0, "density_by_name": False, "validation_samples": 8, "test_samples": 8,
              "motif_samples": 8, "stage_samples": 4, "width": 16, "units": 1}
    status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": config})
    assert status == 201, job
    first = last = None
    while job["state"] not in ("succeeded", "failed", "cancelled"):
        time.sleep(0.1)
        _, _, job = daemon.ask("GET", "/v1/jobs/" + job["id"])
        step, now = job["progress"].get("step") or 0, (processor_seconds(daemon.process.pid), time.monotonic())
        if step and job["state"] == "running" and step < updates:
            first = first or (step, now)
            last = (step, now)
    if job["state"] != "succeeded":
        raise SystemExit("the training on %s %s: %s" % (name, job["state"], job.get("error")))
    if not first or last[0] == first[0]:
        raise SystemExit("too few reports of the progress; choose more --updates")
    return job, *((b - a) / (last[0] - first[0]) for a, b in zip(first[1], last[1]))


def ask(daemon, job, side, count=40):
    rng, times = np.random.default_rng(1), []
    for _ in range(count):
        out = io.BytesIO()
        np.save(out, pictures(rng, 1, side)[0][0])
        begun = time.monotonic()
        status, _, body = daemon.ask("POST", "/v1/jobs/%s/motifs" % job["id"], out.getvalue(), "application/x-npy")
        assert status == 200, body
        times.append(1e3 * (time.monotonic() - begun))
    return statistics.median(times), max(times)


def measure(options, folder):
    sets = {"small": options.small, "large": options.pictures}
    own = 0
    with Daemon(os.path.join(options.build, "motifd"), os.path.join(folder, "large.db"), "--data", os.path.join(folder, "data"), "--workers", "1",
                "--upload-bytes", str(1 << 36), "--datasets-bytes", str(1 << 37)) as daemon:
        for name, count in sets.items():
            path = os.path.join(folder, name + ".tar")
            archive(path, count, options.side)
            begun = time.monotonic()
            with Memory(daemon.process.pid) as memory:
                put(daemon, name, path)
            print("upload %s: %d pictures, %.2f GB in %.0f s, own memory %.0f MB" % (name, count, os.path.getsize(path) / 1e9, time.monotonic() - begun,
                                                                                 memory.own / 1e6), flush=True)
            own = max(own, memory.own)
            os.unlink(path)
        ratios = []
        for number in range(options.rounds):
            cost, wall = {}, {}
            for name in sets if number % 2 == 0 else reversed(sets):
                with Memory(daemon.process.pid) as memory:
                    job, cost[name], wall[name] = train(daemon, name, options.updates, options.batch)
                own = max(own, memory.own)
                print("round %d, %s: an update takes %.1f ms of processor time, %.1f ms of wall time; own memory %.0f MB, mapped files %.0f MB" %
                      (number + 1, name, 1e3 * cost[name], 1e3 * wall[name], memory.own / 1e6, memory.mapped / 1e6), flush=True)
            ratios.append(cost["small"] / cost["large"])
            print("round %d: speed on the large set / on the small set: %.3f by processor time, %.3f by wall time" %
                  (number + 1, ratios[-1], wall["small"] / wall["large"]), flush=True)
        with Memory(daemon.process.pid) as memory:
            print("queries: median %.0f ms, longest %.0f ms" % ask(daemon, job, options.side))
        own = max(own, memory.own)
    speed = statistics.median(ratios)
    print("median speed %.3f (at least %.2f), own memory at most %.2f GB (limit %.0f GB)" % (speed, LIMIT_SPEED, own / 1e9, LIMIT_OWN / 1e9))
    return 0 if speed >= LIMIT_SPEED and own <= LIMIT_OWN else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--pictures", type=int, default=100000)
    parser.add_argument("--small", type=int, default=2000)
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--updates", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where archives, database and data sets go; default: a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="large-set-", dir=options.folder) as folder:
        sys.exit(measure(options, folder))


if __name__ == "__main__":
    main()
