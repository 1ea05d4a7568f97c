#!/usr/bin/env python3
"""Ends that a client or operator must be able to rely on: an answer arrives although the client is still sending, also over TLS; a file that reaches the
limit on the size of files is an error and not the end of the daemon; a data set that is truncated ends its job.

usage: wire_ends.py MOTIFD"""
import os
import resource
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon, run_each  # noqa: E402

MOTIFD = os.path.abspath(sys.argv[1])
LARGE = 8 << 20


def answer_to_large_body(daemon, context):
    """Sends a body that is too large without reading, as simple clients do, and returns all that the daemon answers."""
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=60) as plain:
        with context.wrap_socket(plain) if context else plain as line:
            line.sendall(f"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nContent-Type: application/json\r\n"
                         f"Content-Length: {LARGE}\r\n\r\n".encode())
            for _ in range(LARGE >> 16):
                line.sendall(bytes(1 << 16))
            return b"".join(iter(lambda: line.recv(1 << 16), b""))


def answers_arrive_while_the_client_sends(folder):
    certificate, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=motifd",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for options, tls in ((("--tls-cert", certificate, "--tls-key", key), context), ((), None)):
        with Daemon(MOTIFD, os.path.join(folder, "a.db"), "--data", folder, *options) as daemon:
            for _ in range(20):
                answer = answer_to_large_body(daemon, tls)
                assert answer.startswith(b"HTTP/1.1 413 "), (bool(tls), answer[:100])
                assert answer.count(b"HTTP/1.1 ") == 1, answer


def one_head_for_a_request_without_host(folder):
    with Daemon(MOTIFD, os.path.join(folder, "b.db"), "--data", folder) as daemon:
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=60) as line:
            line.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            answer = b"".join(iter(lambda: line.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 400 ") == 1 and b"application/problem+json" in answer, answer


def the_limit_on_file_sizes_is_an_error(folder):
    """The limit is inherited by the daemon. Uploads beyond it are refused; so is what the database cannot store, until rows are deleted."""
    data = os.path.join(folder, "sets")
    os.mkdir(data)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, before[1]))
    try:
        daemon = Daemon(MOTIFD, os.path.join(folder, "c.db"), "--data", data)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with daemon:
        large = b"a,b,label\n" + b"1.5,2.5,x\n0.5,1,y\n" * 300000
        assert daemon.ask("PUT", "/v1/datasets/small", b"a,b,label\n1,2,x\n2,3,y\n", "text/csv")[0] == 201
        status, _, problem = daemon.ask("PUT", "/v1/datasets/large", large, "text/csv")
        assert status == 503, problem
        config = {**TINY, "width": 64, "units": 3, "total_samples": 1000000}
        status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick", "config": config})
        assert status == 201, job
        end, path = time.monotonic() + 120, "/v1/jobs/" + job["id"]
        while (job := daemon.ask("GET", path)[2])["blocked"] != "disk full":
            assert job["state"] in ("queued", "running") and time.monotonic() < end, job["error"]
            time.sleep(0.05)
        assert daemon.ask("POST", path + "/cancel")[0] == 202
        assert daemon.process.poll() is None


def a_data_set_that_is_truncated_ends_its_job(folder):
    """Somebody truncates or replaces the file of a data set while a job reads it."""
    data = os.path.join(folder, "truncated")
    os.mkdir(data)
    fasta = "".join(f">r{i} {'ab'[i % 2]}\n{'ACGT' * 10}{'ACGT'[i % 4] * 20}\n" for i in range(4000)).encode()
    domain = ("image_size", "classes", "min_symbols", "max_symbols", "shift", "margin", "min_radius")
    config = {key: value for key, value in TINY.items() if key not in domain}
    config.update(dataset_name="dna", motifs=3, density_start=0.3, total_samples=1000000)
    with Daemon(MOTIFD, os.path.join(folder, "d.db"), "--data", data) as daemon:
        for how in ("truncated", "replaced"):
            assert daemon.ask("PUT", "/v1/datasets/dna", fasta, "text/x-fasta")[0] in (200, 201)
            status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": config})
            assert status == 201, job
            end, path, file = time.monotonic() + 120, "/v1/jobs/" + job["id"], os.path.join(data, "dna", "set.pack")
            while (job := daemon.ask("GET", path)[2])["progress"]["step"] < 10:
                assert job["state"] in ("queued", "running") and time.monotonic() < end, job["error"]
                time.sleep(0.05)
            if how == "truncated":
                os.truncate(file, os.path.getsize(file) // 3)
                while (job := daemon.ask("GET", path)[2])["state"] == "running":
                    assert time.monotonic() < end, "the job does not end"
                    time.sleep(0.05)
                assert job["state"] == "failed" and "became shorter" in job["error"]["detail"], job["error"]
            else:  # the job keeps the file that it has opened
                os.unlink(file)
                with open(file, "wb") as other:
                    other.write(b"other")
                step = job["progress"]["step"]
                while (job := daemon.ask("GET", path)[2])["progress"]["step"] < step + 50:
                    assert job["state"] == "running" and time.monotonic() < end, job["error"]
                    time.sleep(0.05)
                assert daemon.ask("POST", path + "/cancel")[0] == 202
            assert daemon.process.poll() is None
            assert daemon.ask("DELETE", "/v1/datasets/dna")[0] in (204, 409)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="motifd-ends-") as where:
        run_each((where,), answers_arrive_while_the_client_sends, one_head_for_a_request_without_host, the_limit_on_file_sizes_is_an_error,
                 a_data_set_that_is_truncated_ends_its_job)
