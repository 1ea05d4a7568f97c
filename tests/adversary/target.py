"""The daemon under attack: starts it with tokens and tight limits, sends it requests, counts its answers, and collects the rules that it broke."""
import collections
import glob
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import JSON, Daemon  # noqa: E402

BYTES = "application/octet-stream"
ANSWER_SECONDS = 60  # a request without an answer after this time counts as a timeout
END_SECONDS = 15  # the daemon promises ten seconds from SIGTERM to its end; a busy machine may run it late
QUIET_SECONDS = 60  # within this time, cancelled jobs and abandoned requests must have ended
MORE_DESCRIPTORS = 40  # so many may be open after the attacks, because connections to the database and for trainers open on first use
PRINTED_MOST = 20
UNFINISHED = ("queued", "running", "paused")
LIMITS = {"dataset-bytes-per-token": 1000000, "upload-bytes": 3000000, "datasets-bytes": 6000000, "jobs-per-token": 25,
          "job-bytes-per-token": 40000000, "queue-limit": 60, "query-seconds": 20, "rate-limit": 0, "header-timeout-ms": 2000, "body-grace-ms": 2000,
          "workers": 2, "threads-per-job": 1}


class Died(Exception):
    """Raised when the daemon has ended by itself."""


class Target:
    def __init__(self, motifd, folder):
        self.motifd, self.folder, self.log = motifd, folder, open(os.path.join(folder, "log"), "w")
        self.database = os.path.join(folder, "motifd.db")
        self.answers, self.jobs, self.failures, self.lock = collections.Counter(), collections.Counter(), [], threading.Lock()
        self.longest_end = self.longest_answer = 0.0
        self.ending = True  # while the daemon ends or does not run, requests may stay without an answer
        options = [word for name, value in LIMITS.items() for word in (f"--{name}", str(value))]
        self.daemon = Daemon(motifd, self.database, "--data", os.path.join(folder, "data"), *options, log=self.log)
        self.tokens = {name: self.make_token(name, scope) for name, scope in (("alice", "submit"), ("bob", "submit"), ("root", "admin"))}
        self.ending = False

    def make_token(self, name, scope):
        words = [self.motifd, "token", "create", "--name", name, "--scope", scope, "--db", self.database]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[0]

    def fail(self, text):
        with self.lock:
            self.failures.append(text)
        if len(self.failures) <= PRINTED_MOST:
            print(f"FAILURE: {text}", flush=True)

    def count(self, what, key):
        with self.lock:
            what[key] += 1

    # ---- requests ------------------------------------------------------------------------------------------

    def ask(self, token, method, path, body=None, kind=JSON, headers=None):
        """Sends a request; `body` is bytes, or any other value as JSON. Returns (status, document or bytes), or (None, None) without an answer."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        heads = {"Authorization": f"Bearer {self.tokens[token]}", **({"Content-Type": kind} if data is not None else {}), **(headers or {})}
        begun = time.monotonic()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=ANSWER_SECONDS)
            try:
                connection.request(method, path, data, heads)
            except BrokenPipeError:  # the daemon has answered before the end of the body
                pass
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            if not self.ending:
                late = isinstance(error, TimeoutError)
                self.count(self.answers, "timeouts" if late else f"broken ({type(error).__name__} {path.split('/')[2].split('?')[0]})")
                if late:
                    self.fail(f"{method} {path}: {error!r} after {time.monotonic() - begun:.1f} s; body {str(body)[:1500]}")
            return None, None
        finally:
            connection.close()
        self.longest_answer = max(self.longest_answer, time.monotonic() - begun)
        self.count(self.answers, answer.status)
        if answer.status >= 500 and answer.status not in (503, 504):
            self.fail(f"{method} {path}: {answer.status} {content[:300]!r}; body {str(body)[:1500]}")
        return answer.status, self.parse(method, path, answer, content)

    def parse(self, method, path, answer, content):
        if not content or "json" not in (answer.headers.get("Content-Type") or ""):
            return content
        try:
            return json.loads(content, parse_constant=lambda word: self.fail(f"{method} {path}: the answer contains {word}"))
        except ValueError:
            self.fail(f"{method} {path}: the answer is not JSON: {content[:300]!r}")
            return {}

    def figure(self, name):
        """Returns a value of /metrics, or NaN if the daemon does not answer."""
        _, text = self.ask("root", "GET", "/metrics")
        return next((float(line.split()[1]) for line in (text or b"").decode().splitlines() if line.split()[0] == name), float("nan"))

    def job(self, job):
        return self.ask("root", "GET", f"/v1/jobs/{job}")[1] or {}

    def note_end(self, job):
        """Counts how a job ended. No configuration may end in an internal error. The evaluation of a hostile model may report that the model is corrupt."""
        code = (job.get("error") or {}).get("code")
        self.count(self.jobs, f"{job['state']}{f' ({code})' if code else ''}")
        if code in ("internal", "trainer-died") or code == "corrupt" and job["task"] == "train" and not job["from"]:
            self.fail(f"the job {job['id']} of kind {job['kind']} failed with {job['error']}; its configuration: {json.dumps(job['config'])}")

    # ---- the life of the daemon ----------------------------------------------------------------------------

    def start(self):
        self.daemon.start()
        self.ending = False

    def end(self):
        """Sends SIGTERM. The daemon must end in time, with 0, and without a report of a sanitizer."""
        self.ending = True
        begun = time.monotonic()
        self.daemon.process.send_signal(signal.SIGTERM)
        try:
            code = self.daemon.process.wait(2 * END_SECONDS)
        except subprocess.TimeoutExpired:
            self.daemon.process.kill()
            code = self.daemon.process.wait()
        took = time.monotonic() - begun
        self.daemon.process.stdout.close()
        self.longest_end = max(self.longest_end, took)
        if took > END_SECONDS or code != 0:
            self.fail(f"the daemon ended {took:.1f} s after SIGTERM with {code}; {self.last_words()}")
        self.read_reports()

    def check_alive(self):
        code = self.daemon.process.poll()
        if code is not None:
            self.read_reports()
            self.fail(f"the daemon ended by itself with {code}; {self.last_words()}")
            raise Died

    def last_words(self):
        """Returns the end of the daemon's log without the list of mapped files: it says why an assertion or a library ended the process, which no sanitizer reports."""
        with open(self.log.name, errors="replace") as log:
            return "its log ends with:\n" + "".join(line for line in log if " r-xp " not in line)[-6000:]

    def read_reports(self):
        for name in sorted(glob.glob(os.path.join(self.folder, "sanitizer.*"))):
            with open(name, errors="replace") as report:
                self.fail(f"a sanitizer reports:\n{report.read()[:6000]}")
            os.unlink(name)

    def quiet(self):
        """Cancels all jobs and waits until nothing runs and no request holds anything. Returns (descriptors, bytes of memory)."""
        until = time.monotonic() + QUIET_SECONDS
        while True:
            self.check_alive()
            jobs = [job for state in UNFINISHED for job in (self.ask("root", "GET", f"/v1/jobs?limit=1000&state={state}")[1] or {}).get("jobs", ())]
            if not jobs and self.figure("motifd_queries_active") == 0 and self.figure("motifd_event_streams") == 0 and self.figure("motifd_requests_callers") == 0:
                break
            if time.monotonic() > until:
                self.fail(f"not quiet after {QUIET_SECONDS} s: {[(job['id'], job['kind'], job['state'], job['progress']) for job in jobs]}")
                break
            for job in jobs:
                self.ask("root", "POST", f"/v1/jobs/{job['id']}/cancel")
            time.sleep(0.2)
        return self.figure("process_open_fds"), self.figure("process_resident_memory_bytes")

    def forget(self):
        """Deletes all jobs and data sets, so that no quota stays exhausted."""
        for job in (self.ask("root", "GET", "/v1/jobs?limit=1000")[1] or {}).get("jobs", ()):
            if job["state"] not in UNFINISHED:
                self.note_end(self.job(job["id"]) if job["state"] == "failed" else job)
            self.ask("root", "DELETE", f"/v1/jobs/{job['id']}")
        for dataset in (self.ask("root", "GET", "/v1/datasets")[1] or {}).get("datasets", ()):
            self.ask("root", "DELETE", f"/v1/datasets/{dataset['name']}")
