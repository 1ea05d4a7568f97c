"""A server that a test controls. It forwards requests to a daemon and records the answers, or it sends recorded answers, which the test may change.
One server can serve many programs at the same time: the first part of the path selects the answers for a program."""
import copy
import http.client
import http.server
import json
import threading
import urllib.parse

KEPT = ("Content-Type", "ETag", "Content-Range", "Retry-After", "Location", "Content-Disposition")


class Answer:
    """One answer with its request. `cut`: the server closes the connection after this number of bytes of the body."""

    def __init__(self, method, path, status, headers, body, cut=None, request_body=b""):
        self.method, self.path, self.status, self.headers, self.body, self.cut, self.request_body = method, path, status, headers, body, cut, request_body

    def but(self, **changes):
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def document(self):
        return json.loads(self.body) if "json" in self.headers.get("Content-Type", "") and self.body else None


class Forward:
    """Forwards requests to a daemon and records the answers."""

    def __init__(self, url):
        self.host, self.tape = urllib.parse.urlsplit(url).netloc, []

    def answer(self, method, path, headers, body):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.request(method, path, body, {name: value for name, value in headers.items() if name.lower() not in ("host", "content-length")})
        got = connection.getresponse()
        answer = Answer(method, path, got.status, {name: got.headers[name] for name in KEPT if got.headers[name]}, got.read(), request_body=body)
        connection.close()
        self.tape.append(answer)
        return answer


def events_after(answer, last):
    """Returns the answer to a client that has read the events of a stream up to the id `last`: the later events, or 204 if there are none."""
    def number(block):
        ids = [line[4:] for line in block.split(b"\n") if line.startswith(b"id: ")]
        return int(ids[0]) if ids else 0
    left = [block for block in answer.body.split(b"\n\n") if number(block) > last]
    return answer.but(body=b"".join(block + b"\n\n" for block in left)) if left else answer.but(status=204, headers={}, body=b"")


class Replay:
    """Answers each request with the recorded answers to the same request, in order; the last answer is repeated. Unknown requests get 404. A request with
    Last-Event-ID gets the events of a recorded stream after that id."""

    def __init__(self, tape):
        self.tape, self.used, self.lock = tape, set(), threading.Lock()
        self.others = []  # requests that were not recorded

    def answer(self, method, path, headers, body):
        with self.lock:
            same = [at for at, answer in enumerate(self.tape) if (answer.method, answer.path) == (method, path)]
            fresh = [at for at in same if at not in self.used]
            if not same or body not in [self.tape[at].request_body for at in same]:
                self.others.append((method, path, body))
            if not same:
                return Answer(method, path, 404, {"Content-Type": "application/problem+json"}, b'{"title":"not on the tape"}')
            at = (fresh or same[-1:])[0]
            self.used.add(at)
            last, found = headers.get("Last-Event-ID"), self.tape[at]
            stream = found.status == 200 and found.headers.get("Content-Type", "").startswith("text/event-stream")
            return events_after(found, int(last)) if last and stream else found


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        _, key, rest = self.path.split("/", 2)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.players[key].answer(self.command, "/" + rest, self.headers, body)
        if answer is None:
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status not in (204, 304):
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD" and answer.status not in (204, 304):
            self.wfile.write(answer.body if answer.cut is None else answer.body[:answer.cut])
        if answer.cut is not None:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = handle_any

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.players, self.count, self.lock = {}, 0, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def play(self, player):
        """Returns the address that one program must use."""
        with self.lock:
            self.count += 1
            key = f"run{self.count}"
            self.players[key] = player
        return f"http://127.0.0.1:{self.server_address[1]}/{key}"

    def handle_error(self, request, client_address):
        pass  # the program was killed during its request
