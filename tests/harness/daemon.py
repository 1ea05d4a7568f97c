"""A daemon for a Python test, on a free port and a given database."""
import atexit
import ctypes
import json
import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

# A network that trains within a second.
TINY = {"image_size": 32, "classes": 3, "min_symbols": 1, "max_symbols": 2, "shift": 1, "margin": 8, "min_radius": 5,
        "width": 16, "motifs": 3, "units": 1, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "batch": 4,
        "validation_every": 40, "validation_samples": 8, "checkpoint_every": 20, "test_samples": 8, "motif_samples": 8,
        "stage_samples": 4, "curriculum": 0, "density_start": 0.01, "total_samples": 100}
JSON = "application/json"


def run_checks(*checks):
    """Runs each (name, function) in order and prints its time."""
    for name, check in checks:
        begun = time.monotonic()
        check()
        print(f"ok {name} {time.monotonic() - begun:.1f} s", flush=True)


def run_each(arguments, *checks):
    """Calls each function with the arguments, in order, and prints its name and its time."""
    run_checks(*((check.__name__, lambda check=check: check(*arguments)) for check in checks))


def allow_mpi():
    """Sets variables for Open MPI. Without them it leaks under sanitizers, refuses to run as root, and requires a core for each rank."""
    os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OPENBLAS_NUM_THREADS": "1",
                       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"})


def die_with_the_test():
    """Runs in a child process before exec(): the kernel kills the child when the test ends, however it ends."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))


def open_files(process):
    """Returns {descriptor: path} of the files that a process has open. Descriptors that are closed meanwhile are left out."""
    folder, files = f"/proc/{process}/fd", {}
    for number in os.listdir(folder):
        try:
            files[number] = os.readlink(f"{folder}/{number}")
        except FileNotFoundError:
            continue
    return files


class Daemon:
    """A daemon. At the end of a `with` block, the daemon is stopped properly. After an exception, the end of its log is printed and it is killed."""

    def __init__(self, program, database, *options, log=None):
        """`log`: file for the log; without one only errors are logged, to standard error."""
        self.command = [program, "serve", "--listen", "127.0.0.1:0", "--db", database, *(() if log else ("--log-level", "error")), *options]
        self.log = log
        self.start()

    def start(self):
        # The kernel's signal follows the thread that started the process, and other threads may end before the test does.
        main = threading.current_thread() is threading.main_thread()
        # Jobs of a test compete as equals with other programs of the machine, so that a test ends in time on a busy one.
        environment = {"MOTIFD_JOB_NICE": "0", **os.environ}
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment,
                                        preexec_fn=die_with_the_test if main else None)
        atexit.register(self.abandon)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise SystemExit(f"the daemon did not start; it ended with {self.process.wait(60)}")
        self.url = line.split()[-1]
        self.port = int(self.url.rsplit(":", 1)[1])

    def abandon(self):
        """Kills the daemon of a test that failed without ending it; otherwise the test's pipes stay open and its caller waits forever."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def end(self, number=signal.SIGTERM):
        """Stops the daemon and returns its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(60)
        self.process.stdout.close()
        assert code == 0 or number == signal.SIGKILL, f"the daemon ended with {code}"
        return code

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is not None and self.log is not None:
                with open(self.log.name) as log:
                    print("".join(log.readlines()[-40:]))
            if kind is None and self.process.poll() is None:
                self.end()
        finally:
            self.abandon()

    def ask(self, method, path, body=None, kind=JSON, headers=None):
        """Sends a request; `body` is bytes, or any other value as JSON. Returns (status, headers, bytes or parsed JSON)."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {**({"Content-Type": kind} if data else {}), **(headers or {})}, method=method)
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            content = answer.read()
            parsed = content and "json" in (answer.headers.get_content_type() or "")
            return answer.status, answer.headers, json.loads(content) if parsed else content

    def submit(self, executor=None, ranks=None, name=None, **changes):
        """Submits a job of the tiny network with `changes` in its configuration; returns its id."""
        options = {key: value for key, value in (("executor", executor), ("ranks", ranks), ("name", name)) if value is not None}
        status, _, job = self.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick", "config": {**TINY, **changes}, **options})
        assert status == 201, job
        assert all(job[key] == value for key, value in options.items()), job
        return job["id"]

    def metric(self, name):
        """A value of /metrics."""
        text = self.ask("GET", "/metrics")[2].decode()
        return next(float(line.split()[1]) for line in text.splitlines() if line.split()[0] == name)
