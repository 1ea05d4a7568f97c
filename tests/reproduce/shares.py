#!/usr/bin/env python3
"""Measures how long the queries of one token take while another token saturates the daemon with one kind of request.

    shares.py build/motifd [KIND ...] [--rounds 5] [--queries 300] [--clients 8]

The kinds are predict (batches of 64 inputs), signal (texts of 3 MB), uploads (tables of 12 MB), imports (folders of SAELens of 4 MB), streams (all
event streams that the token may have open; others are opened and closed all the time), short (single queries as fast as they are answered) and job
(a training with as many threads as cores). A token with the scope admin sends them over `--clients` connections; an answer 429 or 503 is repeated
after 20 ms. Its clients are processes with a nice value higher by 10, because they would run on other machines. Meanwhile another token sends
`predict` with one input, the next one 10 ms after the last answer, over one connection. Rounds with and without the load alternate. The script
prints the medians over the rounds of the median and of the 99th percentile, and their ratios. Exit code 1: a ratio of the 99th percentiles is 2 or more."""
import argparse
import io
import json
import multiprocessing
import os
import socket
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon  # noqa: E402

JSON, FASTA, CSV, OCTETS = "application/json", "text/x-fasta", "text/csv", "application/octet-stream"
TINY = {"width": 8, "units": 1, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 16, "batch": 4, "validation_every": 20,
        "validation_samples": 4, "checkpoint_every": 20, "test_samples": 4, "motif_samples": 4, "stage_samples": 2, "curriculum": 0,
        "total_samples": 60, "motifs": 3, "density_start": 0.3}
LINE = "ACGTTGCATTGACCATGACA" * 50 + "\n"


class Client:
    """One persistent connection of a token."""

    def __init__(self, port, token):
        self.port, self.token, self.socket = port, token, None

    def head(self, method, path, kind, count):
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {self.token}", f"Content-Type: {kind}", f"Content-Length: {count}", "", ""]
        return "\r\n".join(lines).encode()

    def ask(self, method, path, body=b"", kind=JSON):
        """Returns the status and the body."""
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(self.head(method, path, kind, len(body)) + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            some = self.socket.recv(1 << 16)
            if not some:
                raise ConnectionError("the daemon closed the connection")
            answer += some
        head, _, answer = answer.partition(b"\r\n\r\n")
        lines = [line.lower() for line in head.split(b"\r\n")]
        length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
        pieces, left = [answer], length - len(answer)
        while left > 0:
            pieces.append(self.socket.recv(min(left, 1 << 18)))
            left -= len(pieces[-1])
        if b"connection: close" in lines:
            self.close()
        return int(lines[0].split()[1]), b"".join(pieces)

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None


def saelens(inputs, width):
    """A folder of SAELens as a tar."""
    head, at = {}, 0
    for name, shape in (("W_dec", (width, inputs)), ("W_enc", (inputs, width)), ("b_dec", (inputs,)), ("b_enc", (width,))):
        count = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        head[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + count]}
        at += count
    text = json.dumps(head).encode()
    weights = struct.pack("<Q", len(text)) + text + struct.pack("<8f", *range(1, 9)) * (at // 32)
    config = json.dumps({"architecture": "standard", "d_in": inputs, "d_sae": width, "dtype": "float32"}).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in (("cfg.json", config), ("sae_weights.safetensors", weights)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def repeat(client, done, counts, ask):
    """Calls ask() until `done`."""
    while not done.is_set():
        try:
            status, body = ask()
        except OSError:  # the daemon closes a connection after it has refused a body
            client.close()
            status = 0
        with counts.get_lock():
            counts[0 if status in (200, 201, 204) else 1] += 1
        if status in (429, 503, 0):
            time.sleep(0.02)
        elif status not in (200, 201, 204):
            raise SystemExit(f"{status}: {body[:300]}")


def saturate(kind, which, port, token, job, done, counts):
    """One client of the load, in a process of its own."""
    os.setpriority(os.PRIO_PROCESS, 0, 10)
    client, number = Client(port, token), 0
    if kind == "predict":
        body = json.dumps({"inputs": [{"sample": {"seed": seed}} for seed in range(64)]}).encode()
        repeat(client, done, counts, lambda: client.ask("POST", f"/v1/jobs/{job}/predict", body))
    elif kind == "short":
        body = json.dumps({"inputs": [{"sample": {"seed": 1}}]}).encode()
        repeat(client, done, counts, lambda: client.ask("POST", f"/v1/jobs/{job}/predict", body))
    elif kind == "signal":
        text = b">a\n" + LINE.encode() * 3000
        repeat(client, done, counts, lambda: client.ask("POST", f"/v1/jobs/{job}/signal", text, FASTA))
    elif kind == "uploads":
        def upload():
            nonlocal number
            number += 1
            rows = b"".join(b"%d,%d,%d,%d,%d,%d\n" % (which, number, row % 97, row % 89, row % 83, row % 79) for row in range(50000)) * 12
            answer = client.ask("PUT", f"/v1/datasets/u{which}", b"a,b,c,d,e,f\n" + rows, CSV)
            return answer if answer[0] != 201 else client.ask("DELETE", f"/v1/datasets/u{which}")
        repeat(client, done, counts, upload)
    elif kind == "imports":
        tar = saelens(512, 1024)

        def imported():
            status, body = client.ask("POST", "/v1/imports", tar, OCTETS)
            return client.ask("DELETE", f"/v1/jobs/{json.loads(body)['id']}") if status == 201 else (status, body)
        repeat(client, done, counts, imported)
    elif kind == "streams":
        def stream():
            other = socket.create_connection(("127.0.0.1", port))
            other.sendall(client.head("GET", "/v1/events?after=0", JSON, 0))
            status, opened = int(other.recv(100).split()[1]), time.monotonic()
            while status == 200 and time.monotonic() < opened + 0.5 and other.recv(1 << 16):
                continue
            other.close()
            return status, b""
        repeat(client, done, counts, stream)


class Load:
    """The clients of one kind."""

    def __init__(self, options, kind, port, token, job):
        self.done, self.counts = multiprocessing.Event(), multiprocessing.Array("q", 2)
        count = 40 if kind == "streams" else options.clients
        self.clients = [] if kind == "job" else [multiprocessing.Process(target=saturate, args=(kind, which, port, token, job, self.done, self.counts))
                                                 for which in range(count)]
        self.client, self.job = Client(port, token), None
        if kind == "job":
            status, body = self.client.ask("POST", "/v1/jobs", json.dumps({"kind": "sparling", "preset": "digitcircle", "config": {"total_samples": 10**8}}).encode())
            assert status == 201, body
            self.job = json.loads(body)["id"]
        for client in self.clients:
            client.start()
        time.sleep(2)

    def end(self):
        self.done.set()
        for client in self.clients:
            client.join()
        if self.job is not None:
            self.client.ask("POST", f"/v1/jobs/{self.job}/cancel")
            while json.loads(self.client.ask("GET", f"/v1/jobs/{self.job}")[1])["state"] not in ("cancelled", "failed"):
                time.sleep(0.1)
        return list(self.counts)


def prefer():
    """Gives this process, which measures, a high priority, because its client would run on another machine; only root may."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except PermissionError:
        pass


def measure(client, job, count):
    """Returns the median and the 99th percentile of the times of single queries in milliseconds."""
    times = []
    for seed in range(count):
        body = json.dumps({"inputs": [{"sample": {"seed": seed}}]}).encode()
        begun = time.perf_counter()
        status, answer = client.ask("POST", f"/v1/jobs/{job}/predict", body)
        assert status == 200, (status, answer)
        times.append(1e3 * (time.perf_counter() - begun))
        time.sleep(0.01)
    times.sort()
    return times[len(times) // 2], times[min(len(times) - 1, int(0.99 * len(times)))]


def train(daemon, token):
    text = "".join(f">r{i} {'ab'[i % 2]}\n{LINE[i % 20:i % 20 + 60]}\n" for i in range(60))
    head = {"Authorization": f"Bearer {token}"}
    assert daemon.ask("PUT", "/v1/datasets/dna", text.encode(), FASTA, head)[0] == 201
    status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": "dna", **TINY}}, headers=head)
    assert status == 201, job
    while daemon.ask("GET", f"/v1/jobs/{job['id']}", headers=head)[2]["state"] in ("queued", "running"):
        time.sleep(0.1)
    return job["id"]


def main():
    kinds = ("predict", "short", "signal", "uploads", "imports", "streams", "job")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("motifd")
    parser.add_argument("kind", nargs="*", help=", ".join(kinds))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    worst = 0
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w") as log:
        database = f"{folder}/a.db"
        tokens = [subprocess.run([options.motifd, "token", "create", "--name", name, "--scope", scope, "--db", database], check=True, capture_output=True,
                                 text=True).stdout.split()[-1] for name, scope in (("loud", "admin"), ("quiet", "read"))]
        environment = {"MOTIFD_JOB_NICE": "10"}  # the default, which the harness changes
        os.environ.update(environment)
        with Daemon(options.motifd, database, "--data", f"{folder}/data", "--rate-limit", "0", log=log) as daemon:
            job = train(daemon, tokens[0])
            prefer()
            client = Client(daemon.port, tokens[1])
            measure(client, job, 50)
            print("| load | requests answered, refused | median idle, loaded | ratio | 99 % idle, loaded | ratio |\n| --- | --- | --- | --- | --- | --- |")
            for kind in options.kind or kinds:
                idle, loaded, counts = [], [], [0, 0]
                for _ in range(options.rounds):
                    idle.append(measure(client, job, options.queries))
                    load = Load(options, kind, daemon.port, tokens[0], job)
                    loaded.append(measure(client, job, options.queries))
                    counts = [a + b for a, b in zip(counts, load.end())]
                    time.sleep(1)
                figures = [(statistics.median(i[k] for i in idle), statistics.median(i[k] for i in loaded)) for k in range(2)]
                ratios = [b / a for a, b in figures]
                worst = max(worst, ratios[1])
                cells = (f"{a:.1f}, {b:.1f} ms | {ratio:.2f}" for (a, b), ratio in zip(figures, ratios))
                print(f"| {kind} | {counts[0]}, {counts[1]} | {' | '.join(cells)} |", flush=True)
            client.close()
    return 0 if worst < 2 else 1


if __name__ == "__main__":
    sys.exit(main())
