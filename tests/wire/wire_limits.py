#!/usr/bin/env python3
"""Requests that would take memory, disk or time out of proportion to what was sent: each is refused, ends at its deadline, or ends when its client
leaves, and others are served meanwhile: wire_limits.py MOTIFD"""
import json
import os
import select
import socket
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from bombs import bomb, sparse_folder  # noqa: E402
from daemon import Daemon, run_checks  # noqa: E402

FASTA, CSV, NPY, OCTETS = "text/x-fasta", "text/csv", "application/x-npy", "application/octet-stream"
TABLE = b"a,b,label\n1,2,x\n2,3,y\n"
TINY = {"width": 8, "units": 1, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 16, "batch": 4, "validation_every": 20,
        "validation_samples": 4, "checkpoint_every": 20, "test_samples": 4, "motif_samples": 4, "stage_samples": 2, "curriculum": 0,
        "total_samples": 60, "motifs": 3, "density_start": 0.3}
LINE = "ACGTTGCATTGACCATGACA" * 50 + "\n"
GENOME = 600000  # bases, of which the first half are A and the others G
REGIONS = 20000  # their search for negatives takes minutes


def npy(rows):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 8), }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head + struct.pack("<8f", *range(1, 9)) * rows


def waits(happened, seconds=300):
    """Waits until `happened` is true."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


class Limits:
    def __init__(self, program, folder, *options):
        self.program, self.folder = program, folder
        self.log = open(os.path.join(folder, "log"), "w+")
        self.daemon = Daemon(program, os.path.join(folder, "a.db"), "--data", os.path.join(folder, "data"), *options, log=self.log)

    def send(self, method, path, body, *headers):
        """Sends a request, and returns its socket without waiting for the answer."""
        client = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=300)
        head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.daemon.port}", f"Content-Length: {len(body)}", *headers, "", ""]
        client.sendall("\r\n".join(head).encode() + body)
        return client

    def held(self, item):
        return self.daemon.ask("GET", "/v1/system")[2]["requests"][item]

    def train(self, kind, preset, config):
        status, _, job = self.daemon.ask("POST", "/v1/jobs", {"kind": kind, "preset": preset, "config": config})
        assert status == 201, job
        waits(lambda: self.daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]["state"] not in ("queued", "running"))
        assert self.daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]["state"] == "succeeded"
        return job["id"]

    def prepare(self):
        """A genome in which no window has as many G and C as the regions in its middle, and a model of DNA."""
        os.makedirs(os.path.join(self.folder, "data", "g"), exist_ok=True)
        with open(os.path.join(self.folder, "data", "g", "genome.fa"), "w") as genome:
            genome.write(">c\n" + ("A" * 60 + "\n") * (GENOME // 120) + ("G" * 60 + "\n") * (GENOME // 120))
        with open(os.path.join(self.folder, "data", "g", "genome.fa.fai"), "w") as index:
            index.write(f"c\t{GENOME}\t3\t60\t61\n")
        middle = GENOME // 2
        self.bed = b"".join(b"c\t%d\t%d\n" % (middle - 5 + k % 10, middle + 5 + k % 10) for k in range(REGIONS))
        text = "".join(f">r{i} {'ab'[i % 2]}\n{LINE[i % 20:i % 20 + 60]}\n" for i in range(60))
        assert self.daemon.ask("PUT", "/v1/datasets/dna", text.encode(), FASTA)[0] == 201
        self.dna = self.train("sparling", "dataset", {"dataset_name": "dna", **TINY})

    def put_bed(self, name):
        return self.send("PUT", f"/v1/datasets/{name}?genome=g&window=50000&negatives=gc", self.bed, "Content-Type: text/x-bed")

    def a_sparse_import_is_refused(self):
        status, _, answer = self.daemon.ask("POST", "/v1/imports", sparse_folder(), OCTETS)
        assert status == 422 and "is a sparse file" in json.dumps(answer), answer

    def texts_that_unpack_to_far_more_bytes_are_refused(self):
        status, _, answer = self.daemon.ask("PUT", "/v1/datasets/empty", bomb(b"a,b,label\n", b"\n" * (1 << 24), 100), CSV)
        assert status == 422 and "times its size" in json.dumps(answer), answer
        status, _, answer = self.daemon.ask("POST", f"/v1/jobs/{self.dna}/sites", bomb(b">a ", b" " * (1 << 24), 100), FASTA)
        assert status == 422 and "the header has more than 1 MiB" in json.dumps(answer), answer

    def an_upload_ends_when_its_client_leaves(self):
        """A caller may have two uploads at a time; a third one finds a place as soon as the clients of the others have left."""
        clients = [self.put_bed(f"s{k}") for k in range(2)]
        waits(lambda: self.held("uploads") == 2)
        assert self.daemon.ask("PUT", "/v1/datasets/table", TABLE, CSV)[0] == 429
        for client in clients:
            client.close()
        waits(lambda: self.daemon.ask("PUT", "/v1/datasets/table", TABLE, CSV)[0] == 201, 60)
        waits(lambda: self.held("uploads") == 0, 60)

    def long_texts_let_others_compute(self):
        text = b">a\n" + LINE.encode() * 30000
        clients = [self.send("POST", f"/v1/jobs/{self.dna}/signal", text, f"Content-Type: {FASTA}") for _ in range(4)]
        ready = select.select(clients, [], [], 300)[0]  # half of the six places are for long texts, so one is refused at once
        assert ready[0].recv(100).startswith(b"HTTP/1.1 429")
        for _ in range(3):
            status, _, answer = self.daemon.ask("POST", f"/v1/jobs/{self.dna}/predict", {"inputs": [{"sample": {"seed": 1}}]})
            assert status == 200, answer
        for client in clients:
            client.close()
        waits(lambda: self.daemon.metric("motifd_queries_active") == 0, 60)

    def answers_of_slow_readers_are_counted(self):
        """The answer of a query stays in memory until its reader has it."""
        slow = self.send("POST", f"/v1/jobs/{self.dna}/signal", b">a\n" + LINE.encode() * 5000, f"Content-Type: {FASTA}")
        assert slow.recv(100).startswith(b"HTTP/1.1 200")
        assert self.held("texts") > 1e6
        slow.close()
        waits(lambda: self.held("texts") == 0, 60)

    def sigterm_ends_requests(self):
        clients = [self.put_bed(f"t{k}") for k in range(2)]
        clients.append(self.send("POST", f"/v1/jobs/{self.dna}/signal", b">a\n" + LINE.encode() * 30000, f"Content-Type: {FASTA}"))
        waits(lambda: self.held("uploads") == 2 and self.daemon.metric("motifd_queries_active") > 0)
        self.daemon.end()
        self.log.seek(0)
        assert "did not end in time" not in self.log.read()
        for client in clients:
            client.close()


def an_upload_ends_at_its_deadline(program, folder):
    limits = Limits(program, folder, "--upload-seconds", "1")
    with limits.daemon:
        limits.prepare()
        answer = limits.put_bed("late").recv(1000)
        assert answer.startswith(b"HTTP/1.1 504"), answer
        waits(lambda: limits.held("uploads") == 0, 60)


def answers_of_many_rows_have_a_limit(program, folder):
    """A caller may have 60 MB of files. An answer of 20,000 rows has 41 MB, its body 0.6 MB."""
    limits = Limits(program, folder, "--request-files-bytes", "120000000")
    with limits.daemon:
        job = limits.train("dictionary", "planted-quick", {"inputs": 8, "width": 512, "features": 8, "l0": 1, "total_samples": 512, "seeds": 1})
        path, body, kinds = f"/v1/jobs/{job}/encode?batch=1&format=npy", npy(20000), (f"Content-Type: {NPY}", f"Accept: {NPY}")
        slow = limits.send("POST", path, body, *kinds)
        assert slow.recv(100).startswith(b"HTTP/1.1 200")
        assert 40e6 < limits.held("answers") < 42e6
        status, headers, answer = limits.daemon.ask("POST", path, body, NPY, {"Accept": NPY})
        assert status == 503 and "Retry-After" in headers, answer
        slow.close()
        waits(lambda: limits.held("answers") == 0, 60)
        assert limits.daemon.ask("POST", path, body, NPY, {"Accept": NPY})[0] == 200
        status, _, answer = limits.daemon.ask("POST", path, npy(40000), NPY, {"Accept": NPY})
        assert status == 422 and "--request-files-bytes" in json.dumps(answer), answer


def main():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as late, tempfile.TemporaryDirectory() as rows:
        limits = Limits(sys.argv[1], folder)
        with limits.daemon:
            run_checks(*((check.__name__, check) for check in (
                limits.prepare, limits.a_sparse_import_is_refused, limits.texts_that_unpack_to_far_more_bytes_are_refused,
                limits.an_upload_ends_when_its_client_leaves, limits.long_texts_let_others_compute, limits.answers_of_slow_readers_are_counted, limits.sigterm_ends_requests)))
        run_checks(("an_upload_ends_at_its_deadline", lambda: an_upload_ends_at_its_deadline(sys.argv[1], late)),
                   ("answers_of_many_rows_have_a_limit", lambda: answers_of_many_rows_have_a_limit(sys.argv[1], rows)))


main()
