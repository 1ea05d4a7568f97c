#!/usr/bin/env python3
"""Opens many event streams at once and measures what they cost and how late their events arrive.

    streams.py build/motifd [--streams 1000] [--jobs 200]

The script starts a daemon whose limits admit that many streams (--streams, --connections). It opens the streams of all jobs, trains small jobs, and
receives every event on every stream. Then it prints the daemon's resident memory and descriptors before, with all streams, and after them, the
delays of the events, and the times of /healthz meanwhile. The delay of an event on a stream is the time from its arrival at the first stream to its
arrival at this one, so it contains the time that this script needs to read. Exit code 1: a stream missed an event or received one twice, more than
1 MB per stream was used, or descriptors were left open."""
import argparse
import os
import re
import selectors
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon  # noqa: E402

TINY = {"kind": "pathways", "config": {"dictionary": "dirac-hadamard", "filter_length": 16, "length": 1, "nonzeros": "1,2", "trials": 8}}
EVENT = re.compile(rb"id: (\d+)\nevent:")


def figures(daemon):
    """Resident memory in bytes and open descriptors, as the kernel counts them."""
    with open(f"/proc/{daemon.process.pid}/statm") as file:
        pages = int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def open_stream(port):
    stream = socket.create_connection(("127.0.0.1", port))
    stream.sendall(b"GET /v1/events HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
    stream.settimeout(60)
    head = b""
    while b"\r\n\r\n" not in head:
        head += stream.recv(4096)
    assert head.startswith(b"HTTP/1.1 200") or head.startswith(b"HTTP/1.0 200"), head
    stream.setblocking(False)
    return stream


class Readers:
    """Reads all streams in one thread, and notes when each event arrived first and on which stream how often."""

    def __init__(self, streams):
        self.selector = selectors.DefaultSelector()
        self.rest = {stream: b"" for stream in streams}
        self.seen = {stream: [] for stream in streams}
        self.first, self.delays = {}, []
        for stream in streams:
            self.selector.register(stream, selectors.EVENT_READ)

    def read(self, seconds):
        for key, _ in self.selector.select(seconds):
            stream, now = key.fileobj, time.monotonic()
            text = self.rest[stream] + stream.recv(1 << 18)
            end = text.rfind(b"\n\n") + 2 if b"\n\n" in text else 0
            self.rest[stream] = text[end:]
            for number in EVENT.findall(text[:end]):
                self.seen[stream].append(int(number))
                self.delays.append(now - self.first.setdefault(int(number), now))


def train(daemon, readers, count):
    """Submits the jobs and reads until each has ended and every stream is as far as the first; returns the times of /healthz."""
    ids, health = [daemon.ask("POST", "/v1/jobs", TINY)[2]["id"] for _ in range(count)], []
    end = time.monotonic() + 300
    waits = True
    while waits and time.monotonic() < end:
        for _ in range(20):
            readers.read(0.05)
        begun = time.monotonic()
        assert daemon.ask("GET", "/healthz")[0] == 200
        health.append(time.monotonic() - begun)
        last = max(readers.first, default=0)
        busy = [state for state in ("queued", "running") if daemon.ask("GET", f"/v1/jobs?state={state}&limit=1")[2]["jobs"]]
        waits = busy or any(not seen or seen[-1] < last for seen in readers.seen.values())
    assert not waits, "the jobs or the streams did not end"
    assert len(ids) == count
    return health


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("motifd")
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=200)
    options = parser.parse_args()
    room = str(options.streams + 100)
    limits = ("--streams", room, "--streams-per-token", room, "--connections", room, "--connections-per-address", room, "--rate-limit", "0")
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w") as log, Daemon(options.motifd, f"{folder}/db", *limits, log=log) as daemon:
        before = figures(daemon)
        begun = time.monotonic()
        streams = [open_stream(daemon.port) for _ in range(options.streams)]
        opened = time.monotonic() - begun
        readers = Readers(streams)
        health = train(daemon, readers, options.jobs)
        during = figures(daemon)
        for stream in streams:
            stream.close()
        end = time.monotonic() + 60
        while figures(daemon)[1] > before[1] + 2 and time.monotonic() < end:
            time.sleep(0.1)
        after = figures(daemon)
    lists = set(map(tuple, readers.seen.values()))
    whole = len(lists) == 1 and list(next(iter(lists))) == sorted(set(readers.first))
    each = (during[0] - before[0]) / options.streams
    print(f"{options.streams} streams opened in {opened:.1f} s; {len(readers.first)} events of {options.jobs} jobs, "
          f"{'each once and in order on every stream' if whole else 'LOST OR DOUBLED on a stream'}")
    print(f"memory {before[0] / 1e6:.1f} MB before, {during[0] / 1e6:.1f} MB with them ({each / 1e3:.1f} kB each), {after[0] / 1e6:.1f} MB after; "
          f"descriptors {before[1]}, {during[1]}, {after[1]}")
    print(f"delay of an event: median {1e3 * percentile(readers.delays, 0.5):.0f} ms, 99th percentile {1e3 * percentile(readers.delays, 0.99):.0f} ms, "
          f"longest {1e3 * max(readers.delays):.0f} ms; /healthz: median {1e3 * percentile(health, 0.5):.1f} ms, longest {1e3 * max(health):.1f} ms")
    return 0 if whole and each < 1e6 and after[1] <= before[1] + 2 else 1


if __name__ == "__main__":
    sys.exit(main())
