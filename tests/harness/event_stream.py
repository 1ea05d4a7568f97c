"""A reader of server-sent events over a raw socket."""
import json
import socket


class Stream:
    """Iterates over (id, type, data) until the stream ends, breaks or is silent for `patience` seconds."""

    def __init__(self, port, path="/v1/events", last=None, patience=120, receive_buffer=None, source="127.0.0.1"):
        self.socket = socket.socket()
        self.socket.bind((source, 0))
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience)
        self.socket.connect(("127.0.0.1", port))
        head = f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n"  # HTTP/1.0, so that the body is not chunked
        self.socket.sendall((head + (f"Last-Event-ID: {last}\r\n" if last is not None else "") + "\r\n").encode())
        self.file = self.socket.makefile("rb")
        self.status = int((self.file.readline().split() or [0, 0])[1])
        self.headers = {}
        while (line := self.file.readline()) != b"\r\n":
            if not line.endswith(b"\n"):  # the head is incomplete, or there is no answer
                raise ConnectionResetError("the head is not whole")
            name, value = line.decode().strip().lower().split(": ", 1)
            self.headers[name] = value
        self.comments = 0

    def blocks(self):
        """Yields each block between empty lines as a dict; an incomplete block is dropped."""
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
