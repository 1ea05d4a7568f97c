"""Runs motifctl against answers that a test writes, in a folder of its own, with pipes or at a terminal."""
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import threading

from played import Answer, Replay, Server

JOB = "01JD8XKQ5RDGGGGGGGGGGGGGGG"  # a whole id, which motifctl does not look up
PROBLEM = "application/problem+json"


def answer(method, path, body=b"", status=200, kind="application/json", cut=None, **headers):
    """An answer of the server. A body that is not bytes becomes JSON; ETag and the like are named arguments with _ for -."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(method, path, status, {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}, text, cut)


def get(path, body=b"", **more):
    return answer("GET", path, body, **more)


def of_job(rest, body=b"", **more):
    return answer("GET", f"/v1/jobs/{JOB}{rest}", body, **more)


class Player(Replay):
    """Gives the answers in turn, whatever the body of the request; keeps the requests."""

    def __init__(self, tape):
        super().__init__(tape)
        self.asked = []

    def answer(self, method, path, headers, body):
        self.asked.append((method, path, dict(headers), body))
        return super().answer(method, path, headers, body)

    def body(self, at=-1):
        return self.asked[at][3].decode()

    def header(self, name, at=-1):
        return self.asked[at][2].get(name)


class Ran:
    def __init__(self, code, out, err, player, what):
        self.code, self.out, self.err, self.player, self.what = code, out, err, player, what

    def says(self, code, *parts, err=(), never=()):
        """Asserts the exit code, texts on standard output in this order, texts on standard error, and texts that are nowhere."""
        at, shown = 0, f"{self.what}: exit code {self.code}\n{self.out}\n{self.err}"
        assert self.code == code, f"wanted the exit code {code}; {shown}"
        for part in parts:
            found = self.out.find(part, at)
            assert found >= 0, f"no {part!r}, or not in its place; {shown}"
            at = found + len(part)
        for part in (err,) if isinstance(err, str) else err:
            assert part in self.err, f"no {part!r} on standard error; {shown}"
        for part in (never,) if isinstance(never, str) else never:
            assert part not in self.out + self.err, f"{part!r} is there; {shown}"
        return self


class Client:
    def __init__(self, program, folder):
        self.program, self.folder, self.server = os.path.abspath(program), folder, Server()
        self.plain = {name: value for name, value in os.environ.items()
                      if name not in ("MOTIFD_SERVER", "MOTIFD_TOKEN", "MOTIFD_CACERT", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "NO_COLOR", "TRACEPARENT")}

    def file(self, name, content):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(content)
        return name

    def content(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def words(self, line, answers, environment):
        player = Player(answers)
        words = line.split() if isinstance(line, str) else list(line)
        return player, [self.program, *words], {**self.plain, "MOTIFD_SERVER": self.server.play(player), **environment}

    def run(self, line, *answers, given=b"", **environment):
        player, words, variables = self.words(line, answers, environment)
        got = subprocess.run(words, input=given, capture_output=True, cwd=self.folder, env=variables, timeout=120, check=False)
        return Ran(got.returncode, got.stdout.decode(errors="replace"), got.stderr.decode(errors="replace"), player, words[1:])

    def at_terminal(self, line, *answers, columns=80, **environment):
        """Runs motifctl at a terminal of this width. Standard output and standard error arrive together in `out`."""
        player, words, variables = self.words(line, answers, {"TERM": "xterm", **environment})
        inner, outer = pty.openpty()
        fcntl.ioctl(outer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(words, stdin=outer, stdout=outer, stderr=outer, cwd=self.folder, env=variables)
        os.close(outer)
        shown, watchdog = b"", threading.Timer(120, process.kill)
        watchdog.start()
        try:
            while piece := os.read(inner, 65536):
                shown += piece
        except OSError:  # the end of a terminal's output
            pass
        code = process.wait()
        watchdog.cancel()
        os.close(inner)
        return Ran(code, shown.decode(errors="replace").replace("\r\n", "\n"), "", player, words[1:])


def run_tests(names):
    """Runs the functions of a script whose argument is `c`, a Client in an empty folder: all, or those that the command line names. Exits with 1 if one fails."""
    tests = [value for value in names.values() if callable(value) and getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("c",)]
    failed = 0
    for test in tests:
        if sys.argv[2:] and test.__name__ not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(Client(sys.argv[1], folder))
                print(f"ok {test.__name__}", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"not ok {test.__name__}: {error}", flush=True)
    sys.exit(failed > 0)
