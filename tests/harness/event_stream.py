"""A reader of server-sent events over a raw socket, and the daemon it reads from."""
import json
import signal
import socket
import subprocess
import urllib.error
import urllib.request

TINY = {"image_size": 32, "classes": 3, "min_symbols": 1, "max_symbols": 2, "shift": 1, "margin": 8, "min_radius": 5,
        "width": 16, "motifs": 3, "units": 1, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "batch": 4,
        "validation_every": 40, "validation_samples": 8, "checkpoint_every": 20, "test_samples": 8, "motif_samples": 8,
        "stage_samples": 4, "curriculum": 0, "density_start": 0.01, "total_samples": 100}


class Daemon:
    def __init__(self, program, database, *options):
        self.command = [program, "serve", "--listen", "127.0.0.1:0", "--db", database, "--log-level", "error", *options]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.port = int(self.url.rsplit(":", 1)[1])

    def end(self, number=signal.SIGTERM):
        """The exit code."""
        self.process.send_signal(number)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code

    def ask(self, method, path, body=None, headers=None):
        """(status, headers, bytes or parsed JSON)"""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json", **(headers or {})} if data
                                         else headers or {}, method=method)
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            content = answer.read()
            return answer.status, answer.headers, json.loads(content) if content[:1] == b"{" else content

    def submit(self, **changes):
        status, _, job = self.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick",
                                                       "config": {**TINY, **changes}})
        assert status == 201, job
        return job["id"]

    def metric(self, name):
        """A value of /metrics."""
        text = self.ask("GET", "/metrics")[2].decode()
        return next(float(line.split()[1]) for line in text.splitlines() if line.split()[0] == name)


class Stream:
    """Iterates over (id, type, data) until the stream ends, breaks or is silent for `patience` seconds."""

    def __init__(self, port, path="/v1/events", last=None, patience=20, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience)
        self.socket.connect(("127.0.0.1", port))
        head = f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n"  # 1.0: the body is not cut into chunks
        self.socket.sendall((head + (f"Last-Event-ID: {last}\r\n" if last is not None else "") + "\r\n").encode())
        self.file = self.socket.makefile("rb")
        self.status = int((self.file.readline().split() or [0, 0])[1])
        self.headers = dict(line.decode().strip().lower().split(": ", 1) for line in iter(self.file.readline, b"\r\n") if line)
        self.comments = 0

    def blocks(self):
        """Each block between empty lines as a dict; a block that was cut off does not count."""
        block = {}
        for line in self.file:
            if not line.endswith(b"\n"):
                return
            if line == b"\n":
                if block:
                    yield block
                block = {}
            elif line.startswith(b":"):
                self.comments += 1
            else:
                name, value = line.decode().rstrip("\n").split(": ", 1)
                assert name not in block, block
                block[name] = value

    def __iter__(self):
        for block in self.blocks():
            if "data" in block:
                yield int(block["id"]), block["event"], json.loads(block["data"])

    def close(self):
        self.file.close()
        self.socket.close()
