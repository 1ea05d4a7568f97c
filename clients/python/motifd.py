"""A client of motifd: train sparse models, and see which parts of a signal matter.

    from motifd import Motifs
    model = Motifs("http://localhost:8080").fit(X, Y)
    model.predict(X), model.boxes(X), model.channels_[0]

The module needs only the standard library and NumPy. The estimators follow scikit-learn's conventions. Where scikit-learn is
installed, they inherit from its classes. The estimators use `Client` and `Job`, which have one method for each thing that the HTTP
interface can do. Every daemon serves this file at /motifd.py.
"""
from __future__ import annotations

import base64
import copy
import hashlib
import html
import http.client
import io
import json
import os
import random
import socket
import ssl
import struct
import sys
import tarfile
import tempfile
import threading
import time
import urllib.parse
import uuid
import warnings
import wave
import zipfile
from datetime import datetime
from typing import Any, BinaryIO, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

__version__ = "0.1.0"
__all__ = ["Client", "Job", "Study", "Motifs", "SparseVAE", "NMF", "Trees", "Dictionary", "SparseMaps", "MotifdError", "InvalidRequest", "Unreachable",
           "JobFailed", "NotLearned", "NotFittedError", "export"]

FINISHED = ("succeeded", "failed", "cancelled")
BATCH_INPUTS, BATCH_NUMBERS = 4096, 1 << 20  # upper limits for one query; the daemon allows 4096 inputs and 4 Mi numbers
DICTIONARY_ROWS, DICTIONARY_BYTES = 100000, 1 << 30  # rows in one query of a dictionary, and bytes of the query and of the answer
ANSWER_INPUTS = 64  # upper limit for one query whose answer is JSON
NPY, JSON = "application/x-npy", "application/json"

try:  # where scikit-learn is installed, the estimators inherit from its classes
    from sklearn.base import BaseEstimator as _Base, RegressorMixin as _RegressorMixin, TransformerMixin as _TransformerMixin
except ImportError:
    import inspect as _inspect

    class _Base:  # type: ignore[no-redef]
        """get_params() and set_params() as scikit-learn defines them: the parameters are those of __init__."""

        def get_params(self, deep: bool = True) -> Dict[str, Any]:
            names = [name for name in _inspect.signature(type(self).__init__).parameters if name != "self"]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params: Any) -> "_Base":
            for name, value in params.items():
                if name not in self.get_params():
                    raise ValueError(f"Invalid parameter {name!r} for estimator {type(self).__name__}. Valid parameters: {sorted(self.get_params())}")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.get_params().items() if value is not None)})"

    class _TransformerMixin:  # type: ignore[no-redef]
        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
            return self.fit(X, y, **fit_params).transform(X)

    class _RegressorMixin:  # type: ignore[no-redef]
        _estimator_type = "regressor"

        def score(self, X: Any, y: Any) -> float:
            y = np.asarray(y, float)
            return float(1 - ((y - self.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum())

try:
    from sklearn.exceptions import NotFittedError
except ImportError:
    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """A method that needs a fitted model was called before fit()."""


# ---- errors -------------------------------------------------------------------------------------------------------------------------


class MotifdError(Exception):
    """The daemon refused a request. `status` is the HTTP status. `title` and `detail` say why. With status 422, `errors` lists each fault as
    {"pointer": "/config/width", "detail": "must be ..."}."""

    def __init__(self, message: str, status: int = 0, title: str = "", detail: str = "", errors: Optional[List[Dict[str, str]]] = None):
        super().__init__(message)
        self.status, self.title, self.detail, self.errors = status, title, detail, errors or []


class InvalidRequest(MotifdError, ValueError):
    """The daemon answered 400 or 422, because the request is invalid. This class is also a ValueError."""


class Unreachable(MotifdError, ConnectionError):
    """No daemon answers at the address of the client."""


class JobFailed(MotifdError):
    """A job failed or was cancelled; `job` is the job."""

    def __init__(self, message: str, job: "Job"):
        super().__init__(message)
        self.job = job


class NotLearned(JobFailed):
    """A job ended with the verdict not-learned. The message contains the findings; `job` is the job."""


def _problem(status: int, body: bytes, context: str) -> MotifdError:
    try:
        problem = json.loads(body)
        problem = problem if isinstance(problem, dict) else {}
    except ValueError:
        problem = {}
    title, detail, errors = problem.get("title", ""), problem.get("detail", ""), problem.get("errors") or []
    faults = [f"{fault.get('pointer') or fault.get('parameter') or '/'}: {fault.get('detail', '')}" for fault in errors]
    message = "\n  ".join([f"{context}: {status} {detail or title or 'no reason given'}", *faults])
    return (InvalidRequest if status in (400, 422) else MotifdError)(message, status, title, detail, errors)


# ---- the connection -----------------------------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    status: int
    headers: Any
    body: bytes


class Client:
    """A daemon at `url` (default: $MOTIFD_SERVER, else http://127.0.0.1:8080).

    token: sent with every request (default: $MOTIFD_TOKEN). cafile: PEM file of a private certificate authority (default
    with https: $MOTIFD_CACERT). timeout: seconds without a byte after which a request fails. retries: how often a request is repeated after a
    connection error, a 429 or a 503. Threads may share a client; each has its own connection."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, cafile: Optional[str] = None, timeout: float = 120,
                 retries: int = 5):
        self.url = (url or os.environ.get("MOTIFD_SERVER") or "http://127.0.0.1:8080").rstrip("/")
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be http://HOST:PORT or https://HOST:PORT; got {self.url!r}")
        self.token = token or os.environ.get("MOTIFD_TOKEN") or None
        if parts.scheme == "https":
            cafile = cafile or os.environ.get("MOTIFD_CACERT") or None
        self.timeout, self.retries, self.cafile = timeout, retries, cafile
        self._parts = parts
        if cafile and not os.path.isfile(cafile):
            raise ValueError(f"there is no file {cafile!r}; cafile= or MOTIFD_CACERT must name a PEM file of certificate authorities")
        self._tls = ssl.create_default_context(cafile=cafile) if parts.scheme == "https" else None
        self._local = threading.local()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def close(self) -> None:
        """Closes the connection of the calling thread."""
        connection = getattr(getattr(self, "_local", None), "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    __del__ = close

    def __copy__(self) -> "Client":  # copies share one client
        return self

    def __deepcopy__(self, memo: Any) -> "Client":  # sklearn.base.clone() copies parameters
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        """For pickle: without the token, which the process that reads the pickle takes from MOTIFD_TOKEN."""
        return Client, (self.url, None, self.cafile, self.timeout, self.retries)

    def _connect(self) -> http.client.HTTPConnection:
        port = self._parts.port or (443 if self._tls else 80)
        if self._tls:
            return http.client.HTTPSConnection(self._parts.hostname, port, timeout=self.timeout, context=self._tls)
        return http.client.HTTPConnection(self._parts.hostname, port, timeout=self.timeout)

    def _send(self, connection: http.client.HTTPConnection, method: str, path: str, body: Any, headers: Dict[str, str]) -> http.client.HTTPResponse:
        head = {"Accept": JSON, "User-Agent": f"motifd.py/{__version__}", **headers}
        if self.token:
            head["Authorization"] = f"Bearer {self.token}"
        connection.request(method, self._parts.path.rstrip("/") + path, body, head)
        return connection.getresponse()

    def _once(self, method: str, path: str, body: Any, headers: Dict[str, str]) -> Answer:
        connection = getattr(self._local, "connection", None) or self._connect()
        self._local.connection = None
        try:
            response = self._send(connection, method, path, body, headers)
            answer = Answer(response.status, response.headers, response.read())
        except BaseException:
            connection.close()
            raise
        self._local.connection = connection
        return answer

    def request(self, method: str, path: str, body: Any = None, headers: Optional[Dict[str, str]] = None, repeat: bool = True) -> Answer:
        """Sends a request and returns the answer. Raises MotifdError for a status of 400 or more, and Unreachable when no
        daemon answers. `body`: bytes, a file that can be read twice, or what becomes JSON. `repeat`: whether the request may be sent twice; the
        client then repeats it after connection errors, 429 and 503."""
        head = dict(headers or {})
        file = body if hasattr(body, "seek") else None
        if file is not None:
            head["Content-Length"] = str(file.seek(0, os.SEEK_END))
        elif body is not None and not isinstance(body, bytes):
            body, head = json.dumps(body).encode(), {"Content-Type": JSON, **head}
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            if file is not None:
                file.seek(0)
            try:
                answer = self._once(method, path, body, head)
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise Unreachable(f"{self.url}: the certificate is not trusted: {error.verify_message}; cafile= names the authority") from error
                if last or not repeat:
                    raise Unreachable(f"{self.url} does not answer: {error}{_hint(error)}") from error
                _pause(attempt)
                continue
            if answer.status in (429, 503) and not last:  # the daemon has not executed the request
                _pause(attempt, answer.headers.get("Retry-After"))
                continue
            if answer.status >= 400:
                raise _problem(answer.status, answer.body, f"{method} {path.split('?')[0]}")
            return answer
        raise AssertionError("unreachable")

    def get(self, path: str, **query: Any) -> Any:
        """The JSON document at a path."""
        return json.loads(self.request("GET", path + _query(query)).body)

    def submit(self, kind: str, config: Optional[Dict[str, Any]] = None, preset: Optional[str] = None, **members: Any) -> "Job":
        """Submits a job. Further members: name, priority, threads, ranks, tags, from. The idempotency key lets the client repeat the
        request without creating a second job."""
        body = {"kind": kind, "preset": preset, "config": config or {}, **members}
        answer = self.request("POST", "/v1/jobs", {name: value for name, value in body.items() if value is not None},
                              {"Idempotency-Key": uuid.uuid4().hex})
        return Job(self, json.loads(answer.body))

    def import_model(self, data: Union[bytes, BinaryIO], name: Optional[str] = None) -> "Job":
        """Makes a job from an exported model: weights, a bundle, or a tar of a folder of SAELens. data: the bytes, or a file that can be read
        twice and that import_model() closes. The job is in the state succeeded. The idempotency key lets the client repeat the request
        without creating a second job."""
        with (io.BytesIO(data) if isinstance(data, bytes) else data) as file:
            answer = self.request("POST", "/v1/imports" + _query({"name": name}), file,
                                  {"Idempotency-Key": uuid.uuid4().hex, "Content-Type": "application/octet-stream"})
        return Job(self, json.loads(answer.body))

    def estimate(self, kind: str, config: Optional[Dict[str, Any]] = None, preset: Optional[str] = None) -> Dict[str, Any]:
        """Returns what a job would cost, and the configuration that it would have. The daemon stores nothing."""
        body = {name: value for name, value in {"kind": kind, "preset": preset, "config": config or {}}.items() if value is not None}
        return json.loads(self.request("POST", "/v1/jobs?dry_run=1", body).body)

    def study(self, kind: str, grid: Optional[Dict[str, Sequence[Any]]] = None, seeds: Optional[int] = None,
              config: Optional[Dict[str, Any]] = None, preset: Optional[str] = None, **members: Any) -> "Study":
        """Submits a study: one job for each combination of the values in `grid` and each seed. Without a grid and seeds, those of the preset.
        The other arguments are those of submit()."""
        body = {"kind": kind, "preset": preset, "config": config or {}, "grid": grid, "seeds": seeds, **members}
        answer = self.request("POST", "/v1/studies", {name: value for name, value in body.items() if value is not None},
                              {"Idempotency-Key": uuid.uuid4().hex})
        return Study(self, json.loads(answer.body))

    def studies(self, **filters: Any) -> Iterator["Study"]:
        """All studies, newest first, without their jobs and tables: name=, kind= and the other parameters of GET /v1/studies."""
        while True:
            page = self.get("/v1/studies", **filters)
            for document in page["studies"]:
                yield Study(self, document)
            if not page.get("next_cursor"):
                return
            filters["cursor"] = page["next_cursor"]

    def job(self, id: str) -> "Job":
        return Job(self, self.get(f"/v1/jobs/{id}"))

    def jobs(self, **filters: Any) -> Iterator["Job"]:
        """All jobs, newest first: state=, kind= and the other parameters of GET /v1/jobs."""
        while True:
            page = self.get("/v1/jobs", **filters)
            for document in page["jobs"]:
                yield Job(self, document)
            if not page.get("next_cursor"):
                return
            filters["cursor"] = page["next_cursor"]

    def upload(self, data: Union[bytes, BinaryIO], format: str, name: Optional[str] = None, **options: Any) -> Dict[str, Any]:
        """Uploads a data set unless the daemon has it, and returns its document. data: the bytes, or a file that can be read twice and that
        upload() closes.
        name: by default "py-" and the start of the SHA-256 of the bytes and the options. An interrupted upload continues where it stopped.
        options: query parameters of the upload, such as label="cell_type", ignore=["a", "b"] or fold_names=True; the daemon refuses those that the format does not
        read. With dry_run=1 the answer says how the daemon reads the file (recognised), and nothing is stored."""
        with (io.BytesIO(data) if isinstance(data, bytes) else data) as file:
            return self._upload(file, format, name, options)

    def _upload(self, file: BinaryIO, format: str, name: Optional[str], options: Dict[str, Any]) -> Dict[str, Any]:
        hash, size = hashlib.sha256(), 0
        file.seek(0)
        for block in iter(lambda: file.read(1 << 20), b""):
            hash.update(block)
            size += len(block)
        digest = hash.hexdigest()
        stated = {key: _parameter(value) for key, value in options.items() if value is not None and value is not False}
        name = name or f"py-{(hashlib.sha256(json.dumps([digest, sorted(stated.items())]).encode()).hexdigest() if stated else digest)[:20]}"
        path = f"/v1/datasets/{urllib.parse.quote(name)}"
        for attempt in range(self.retries + 1):
            try:
                there = self.get(path)
                if there.get("sha256") == digest and there.get("format") == format and there.get("stated") == stated:
                    return there  # otherwise the daemon compares: an option that changes nothing is the same as none
            except MotifdError as error:
                if error.status != 404:
                    raise
            try:
                return self._put(path, file, format, digest, size, stated)
            except MotifdError as error:  # 409: another client may upload the same bytes now
                if error.status != 409 or attempt == self.retries:
                    raise
                _pause(attempt)
        raise AssertionError("unreachable")

    def _put(self, path: str, file: BinaryIO, format: str, digest: str, size: int, options: Dict[str, str]) -> Dict[str, Any]:
        offset = 0
        for attempt in range(self.retries + 1):
            file.seek(offset)
            query = _query({"format": format, "sha256": digest, "offset": offset, **options})
            try:
                answer = self._once("PUT", path + query, file, {"Content-Length": str(size - offset), "Content-Type": "application/octet-stream"})
                if answer.status not in (409, 429, 503) or attempt == self.retries or (answer.status == 409 and "Upload-Offset" not in answer.headers):
                    if answer.status >= 400:
                        raise _problem(answer.status, answer.body, f"PUT {path}")
                    return json.loads(answer.body)
                _pause(attempt, answer.headers.get("Retry-After"))
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, MotifdError) or attempt == self.retries:
                    raise error if isinstance(error, MotifdError) else Unreachable(f"{self.url} does not answer: {error}") from error
                _pause(attempt)
            try:
                offset = int(self.get(f"/v1/uploads/{digest}")["received"])
            except MotifdError as error:
                if error.status != 404:
                    raise
                offset = 0
        raise AssertionError("unreachable")

    def datasets(self) -> List[Dict[str, Any]]:
        """The descriptions of all data sets."""
        return self.get("/v1/datasets")["datasets"]

    def dataset(self, name: str) -> Dict[str, Any]:
        """The description of a data set: names with counts, shape, warnings, division, and the kinds of jobs that accept it."""
        return self.get(f"/v1/datasets/{urllib.parse.quote(name, safe='')}")

    def delete_dataset(self, name: str) -> None:
        """Deletes a data set. The daemon refuses this while a job needs it."""
        self.request("DELETE", f"/v1/datasets/{urllib.parse.quote(name, safe='')}")

    def events(self, job: Optional[str] = None, after: Optional[str] = None) -> Iterator[Tuple[str, Dict[str, Any]]]:
        """Yields (event, data): all events of one job until it ends, or without `job` the events of all jobs from now on. When the connection breaks, the
        client connects again and continues after the last event, without loss."""
        path, last, failures = f"/v1/jobs/{job}/events" if job else "/v1/events", after, 0
        while True:
            connection = self._connect()
            try:
                headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last is not None else {})}
                response = self._send(connection, "GET", path, None, headers)
                if response.status == 204:
                    return
                if response.status != 200:
                    error = _problem(response.status, response.read(), f"GET {path}")
                    if response.status not in (429, 503) or failures >= self.retries:
                        raise error
                    failures += 1
                    _pause(failures, response.headers.get("Retry-After"))
                    continue
                for event, data, id in _read_events(response):
                    failures, last = 0, id if id is not None else last
                    if event:
                        yield event, json.loads(data)
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, MotifdError):
                    raise
                failures += 1
                if failures > self.retries:
                    raise Unreachable(f"{self.url} does not answer: {error}") from error
                _pause(failures)
            finally:
                connection.close()


def _pause(attempt: int, after: Optional[str] = None) -> None:
    try:
        seconds = float(after)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        seconds = 0.1 * 2 ** attempt
    time.sleep(min(seconds, 30) * random.uniform(0.9, 1.1))


def _parameter(value: Any) -> str:
    """A value as the daemon reads it: lists with commas, flags as 0 and 1."""
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    several = not isinstance(value, str) and hasattr(value, "__iter__")
    return ",".join(map(_parameter, sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)) if several else str(value)


def _query(query: Dict[str, Any]) -> str:
    kept = {name: _parameter(value) for name, value in query.items() if value is not None}
    return "?" + urllib.parse.urlencode(kept) if kept else ""


def _read_events(lines: Iterable[bytes]) -> Iterator[Tuple[str, str, Optional[str]]]:
    """Parses server-sent events. Yields (event or "", data, id or None)."""
    event, data, id = "", [], None
    for raw in lines:
        line = raw.decode("utf-8").rstrip("\r\n")
        if not line:
            if data or id is not None:
                yield event if data else "", "\n".join(data), id
            event, data, id = "", [], None
            continue
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
        elif name == "id":
            id = value


# ---- jobs ---------------------------------------------------------------------------------------------------------------------------


class Job:
    """A job of the daemon. `document` is the job document that the daemon sent last."""

    def __init__(self, client: Client, document: Dict[str, Any]):
        self.client, self.document = client, document

    id = property(lambda self: self.document["id"])
    state = property(lambda self: self.document["state"])
    kind = property(lambda self: self.document["kind"])
    config = property(lambda self: self.document.get("config"))
    progress = property(lambda self: self.document.get("progress") or {})
    result = property(lambda self: self.document.get("result") or {})
    findings = property(lambda self: Findings(_with_id(one, self.id) for one in self.result.get("findings") or []))
    verdict = property(lambda self: self.result.get("verdict"), doc="learned, partly or not-learned; None where the daemon gives no verdict")

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.kind} {self.state}>"

    def refresh(self) -> "Job":
        self.document = self.client.get(f"/v1/jobs/{self.id}")
        return self

    def _act(self, verb: str) -> "Job":
        self.document = json.loads(self.client.request("POST", f"/v1/jobs/{self.id}/{verb}", repeat=False).body)
        return self

    def pause(self) -> "Job":
        return self._act("pause")

    def resume(self) -> "Job":
        return self._act("resume")

    def cancel(self) -> "Job":
        return self._act("cancel")

    def delete(self) -> None:
        self.client.request("DELETE", f"/v1/jobs/{self.id}")

    def events(self, after: Optional[str] = None) -> Iterator[Tuple[str, Dict[str, Any]]]:
        return self.client.events(self.id, after)

    def wait(self, timeout: Optional[float] = None, progress: Optional[bool] = None, until: Sequence[str] = FINISHED) -> "Job":
        """Waits until the job is in one of the states. progress: whether to draw a bar; by default on terminals and in notebooks. Raises
        JobFailed when the job ends in another state, and by default also when it failed or was cancelled. Raises TimeoutError after `timeout`
        seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        bar = _Progress(progress)
        try:
            while self.refresh().state not in until and self.state not in FINISHED:
                bar.show(self)
                if end is not None and time.monotonic() >= end:
                    raise TimeoutError(f"job {self.id} is {self.state} after {timeout:g} s")
                time.sleep(0.05 if (self.progress.get("step") or 0) == 0 else 0.25)
        finally:
            bar.close(self)
        if self.state not in until or (self.state in ("failed", "cancelled") and tuple(until) == FINISHED):
            error = self.document.get("error") or {}
            reason = error.get("message") or error.get("detail") or error
            raise JobFailed(f"job {self.id} {self.state}" + (f": {reason}" if reason else ""), self)
        return self

    def metrics(self, *names: str) -> Dict[str, np.ndarray]:
        """Returns the series of the job as one table: "step" and a column for each name, NaN where a series has no point at a step.
        pandas.DataFrame(job.metrics()).set_index("step") is ready to plot."""
        series = self.client.get(f"/v1/jobs/{self.id}/metrics", name=",".join(names) or None, max_points=100000)["series"]
        steps = np.array(sorted({point[0] for points in series.values() for point in points}), np.int64)
        table = {"step": steps}
        for name, points in series.items():
            column = np.full(len(steps), np.nan)
            if points:
                at, values = zip(*points)
                column[np.searchsorted(steps, at)] = [np.nan if value is None else value for value in values]
            table[name] = column
        return table

    def ask(self, query: str, inputs: Any = None, accept: str = JSON, **parameters: Any) -> Any:
        """Sends a query to the job's model. inputs: an array whose first axis counts inputs, or a JSON body; without `inputs` the request
        is a GET. Returns the answer: a document, an array with accept=application/x-npy, or the bytes of a picture."""
        path = f"/v1/jobs/{self.id}/{query}"
        if inputs is None:
            answer = self.client.request("GET", path + _query(parameters), headers={"Accept": accept})
        elif isinstance(inputs, dict):
            answer = self.client.request("POST", path + _query(parameters), inputs, {"Accept": accept})
        else:
            body = _npy(_single(inputs))
            answer = self.client.request("POST", path + _query({"batch": 1, **parameters}), body, {"Accept": accept, "Content-Type": NPY})
        if accept == JSON:
            return json.loads(answer.body)
        return np.load(io.BytesIO(answer.body), allow_pickle=False) if accept == NPY else answer.body

    def report(self, path: Optional[Union[str, "os.PathLike[str]"]] = None) -> str:
        """A report of the job as one HTML file without scripts: verdict, figures, test inputs with their motifs, settings, hashes and commands. Writes it to
        `path` (default: ID.html) and returns the path."""
        path = os.fspath(path) if path is not None else f"{self.id}.html"
        page = self.client.request("GET", f"/v1/jobs/{self.id}/report", headers={"Accept": "text/html"}).body
        with open(path, "wb") as file:
            file.write(page)
        return path

    def review(self, count: int = 20, seed: int = 0, answers: Optional[Dict[str, Any]] = None, **parameters: Any) -> Dict[str, Any]:
        """Draws marks of the test part at random and estimates from the answers about them how many are false: a dictionary with `cards` (id, name, input, extent,
        score, q, picture, answer), `estimate` (share, low, high: the 95 % interval; names: the same by name) and `threshold`, which is None before 20 answers.

        answers: what you say about marks, which the daemon stores first: {card id: True (right), False, None (unsure), or (answer, [row0, row1, col0, col1]) with
        the corrected box}. parameters: samples, false_marks, checkpoint. review_picture() draws a card."""
        path, query = f"/v1/jobs/{self.id}/review", _query({"count": count, "seed": seed, **parameters})
        if answers:
            words = {True: "yes", False: "no", None: "unsure"}
            said = [(id, *(value if isinstance(value, tuple) else (value, None))) for id, value in answers.items()]
            body = {"answers": [{"id": id, "answer": value if isinstance(value, str) else words[value], "box": box} for id, value, box in said]}
            self.client.request("POST", path + query, body)
        return self.client.get(path + query)

    def review_picture(self, card: Dict[str, Any]) -> bytes:
        """Draws the input of a card of review() with its mark, as the bytes of a PNG."""
        return self.client.request("GET", card["picture"], headers={"Accept": "image/png"}).body

    def export(self, path: Union[str, "os.PathLike[str]"], checkpoint: Union[str, int] = "latest") -> str:
        """Saves the job in the form that the ending of `path` names, and returns the path: .safetensors (weights), .onnx (the model, for other programs), .bundle
        (the whole job, for another daemon) or .html (a report). checkpoint: a sequence number or latest; for a bundle also all."""
        path = os.fspath(path)
        ending = os.path.splitext(path)[1].lower()
        forms = {".safetensors": f"checkpoints/{checkpoint}", ".onnx": "onnx" + _query({"checkpoint": checkpoint}),
                 ".bundle": "bundle" + _query({"checkpoints": checkpoint}), ".html": "report"}
        if ending not in forms:
            raise ValueError(f"the ending of {path!r} names no form of a model; use {', '.join(forms)}")
        data = self.client.request("GET", f"/v1/jobs/{self.id}/{forms[ending]}", headers={"Accept": "*/*"}).body
        with open(path, "wb") as file:
            file.write(data)
        return path

    def compare(self, other: Union[str, "Job"], samples: Optional[int] = None) -> List[Dict[str, Any]]:
        """Says for each channel which channel of another job's model is active at the same places, as dictionaries: channel, other (None: none), motifs,
        other_motifs, together and agreement. Both models read the same inputs. pandas.DataFrame() takes the list."""
        body = {"with": other.id if isinstance(other, Job) else other, "samples": samples}
        return self.ask("compare", {name: value for name, value in body.items() if value is not None})["channels"]

    def ask_array(self, query: str, X: np.ndarray, **parameters: Any) -> Iterator[np.ndarray]:
        """Sends the rows of X to a query, in batches that the daemon accepts, and yields the array of each answer."""
        size = max(1, min(BATCH_INPUTS, BATCH_NUMBERS // max(1, int(np.prod(X.shape[1:])))))
        at = 0
        while at < len(X):
            try:
                answer = self.ask(query, X[at:at + size], NPY, **parameters)
            except MotifdError as error:
                if error.status not in (413, 504) or size == 1:  # the answer is too large, or takes too long
                    raise
                size = max(1, size // 4)
                continue
            yield answer
            at += size

    def ask_each(self, query: str, X: Any, **parameters: Any) -> Iterator[Dict[str, Any]]:
        """Sends the inputs X to a query and yields a JSON answer for each. X: an array, or a list of {"data", "type"} inputs."""
        for at in range(0, len(X), ANSWER_INPUTS):
            part = X[at:at + ANSWER_INPUTS]
            yield from self.ask(query, {"inputs": part} if isinstance(part, list) else part, **parameters)["answers"]


class Study:
    """A study: a group of jobs. `document` is the document that the daemon sent last."""

    def __init__(self, client: Client, document: Dict[str, Any]):
        self.client, self.document = client, document

    id = property(lambda self: self.document["id"])
    state = property(lambda self: self.document["state"])
    states = property(lambda self: self.document["states"], doc="number of jobs in each state")
    fraction = property(lambda self: self.document["fraction"], doc="share of all work that is done")

    def __repr__(self) -> str:
        return f"<Study {self.id} {self.document['kind']} {self.state}, {self.document['count']} jobs>"

    def refresh(self) -> "Study":
        self.document = self.client.get(f"/v1/studies/{self.id}")
        return self

    def _act(self, verb: str) -> "Study":
        self.document = json.loads(self.client.request("POST", f"/v1/studies/{self.id}/{verb}", repeat=False).body)
        return self

    def pause(self) -> "Study":
        return self._act("pause")

    def resume(self) -> "Study":
        return self._act("resume")

    def cancel(self) -> "Study":
        return self._act("cancel")

    def delete(self) -> None:
        self.client.request("DELETE", f"/v1/studies/{self.id}")

    def jobs(self) -> List[Job]:
        """The jobs in the order of the grid; seeds change fastest."""
        return [Job(self.client, document) for document in self.refresh().document["jobs"]]

    def wait(self, timeout: Optional[float] = None) -> "Study":
        """Waits until all jobs have ended. Raises JobFailed with the first job that did not succeed, TimeoutError after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.client.get(f"/v1/studies/{self.id}", brief=1)["state"] not in FINISHED:
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"study {self.id} has not ended after {timeout:g} s")
            time.sleep(0.25)
        for job in self.jobs():
            if job.state != "succeeded":
                raise JobFailed(f"job {job.id} of study {self.id} {job.state}", job)
        return self

    def table(self) -> Dict[str, np.ndarray]:
        """The table of the study as columns: the fields of the grid, "jobs", "done", and for each result its median over the seeds under its
        name, and NAME_min and NAME_max. A result with the name of a field is "result.NAME". pandas.DataFrame(study.table()) is ready to use."""
        table = self.refresh().document["table"]
        columns = {name: np.array([row["fields"][name] for row in table["rows"]]) for name in table["fields"]}
        columns.update((name, np.array([row[name] for row in table["rows"]])) for name in ("jobs", "done"))
        for name in table["results"]:
            column = f"result.{name}" if name in table["fields"] else name
            for part, key in (("", "median"), ("_min", "min"), ("_max", "max")):
                values = [row["results"][name][key] for row in table["rows"]]
                columns[column + part] = np.array([np.nan if value is None else value for value in values])
        return columns

    def chart(self, x: Optional[str] = None, y: Optional[str] = None, log: Optional[str] = None, accept: str = "image/png") -> bytes:
        """A picture of the result `y` against the field `x`; accept: image/png or image/svg+xml."""
        return self.client.request("GET", f"/v1/studies/{self.id}/chart" + _query({"x": x, "y": y, "log": log}), None, {"Accept": accept}).body


class Findings(List[Dict[str, Any]]):
    """The reasons to doubt the result of a training: a list of {"code", "severity", "text", "try"}."""

    def __str__(self) -> str:
        return "\n".join(_finding(one) for one in self) or "no findings"

    def _repr_html_(self) -> str:
        return "<ul>" + "".join(f"<li>{html.escape(_finding(one))}</li>" for one in self) + "</ul>" if self else "no findings"


def _with_id(one: Any, id: str) -> Any:
    """A finding whose command, if it suggests one, contains the id of the job in place of the word JOB."""
    command = one.get("try") if isinstance(one, dict) else None
    return {**one, "try": command.replace("JOB", id)} if command and command.startswith("motifctl ") else one


def _finding(one: Any) -> str:
    if not isinstance(one, dict):
        return str(one)
    return f"{one.get('severity', 'note')}: {one.get('text', one.get('code', ''))}" + (f" Try: {one['try']}" if one.get("try") else "")


class _Progress:
    """A progress bar on a terminal or in a notebook; nothing elsewhere."""

    def __init__(self, wanted: Optional[bool]):
        self.display, self.handle, self.drawn = None, None, ""
        self.terminal = sys.stderr.isatty() if wanted is None else wanted
        try:
            shell = sys.modules["IPython"].get_ipython()
            if wanted is not False and shell is not None and hasattr(shell, "kernel"):
                from IPython.display import HTML, display
                self.display, self.html, self.terminal = display, HTML, False
        except (KeyError, ImportError, AttributeError):
            pass

    def show(self, job: Job) -> None:
        fraction, left = job.progress.get("fraction") or 0.0, job.progress.get("eta_seconds")
        words = f"{job.state}, {fraction:.0%}" + (f", {left:.0f} s left" if left else "")
        if self.display:
            bar = self.html(f"<progress max='1' value='{fraction:.4f}'></progress> {html.escape(f'{job.kind} {job.id}: {words}')}")
            if self.handle is None:
                self.handle = self.display(bar, display_id=True)
            elif words != self.drawn:
                self.handle.update(bar)
        elif self.terminal and words != self.drawn:
            sys.stderr.write(f"\r[{'#' * int(fraction * 30):30}] {words}\x1b[K")
            sys.stderr.flush()
        self.drawn = words

    def close(self, job: Job) -> None:
        if self.display and self.handle is not None:
            self.handle.update(self.html(html.escape(f"{job.kind} {job.id}: {job.state}")))
        elif self.terminal and self.drawn:
            sys.stderr.write(f"\r{job.kind} {job.id}: {job.state}\x1b[K\n")


# ---- arrays -------------------------------------------------------------------------------------------------------------------------


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array), allow_pickle=False)
    return out.getvalue()


def _npz(arrays: Dict[str, np.ndarray]) -> BinaryIO:
    """Returns a temporary .npz file whose bytes depend only on the arrays, so that the same data have the same SHA-256."""
    file = tempfile.TemporaryFile()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return file


class SparseMaps:
    """Motif maps of several inputs as coordinates: values[i] is the value at coordinates[:, i] = (input, row, column, channel)."""

    def __init__(self, shape: Tuple[int, ...], coordinates: np.ndarray, values: np.ndarray):
        self.shape, self.coordinates, self.values = shape, coordinates, values

    def todense(self) -> np.ndarray:
        dense = np.zeros(self.shape, np.float32)
        dense[tuple(self.coordinates)] = self.values
        return dense


def _single(values: Any) -> np.ndarray:
    """The array in single precision, in which the daemon computes. Warns of whole numbers that lose digits, as the daemon does."""
    wide = np.asarray(values)
    if wide.dtype.kind not in "iuf" or wide.itemsize < 4 or wide.dtype == np.float32:
        return np.asarray(wide, np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        single = wide.astype(np.float32)
        lost = np.argwhere((np.abs(single) >= 1 << 24) & np.isfinite(single) & (single.astype(np.longdouble) != wide) & (wide == np.floor(wide)))
    if len(lost):
        at = tuple(lost[0].tolist())
        warnings.warn(f"{len(lost)} whole numbers beyond 16777216 lost digits in single precision; the first: element {list(at)}: {wide[at]} became {float(single[at]):.0f}",
                      RuntimeWarning, stacklevel=3)
    return single


def _unfilled(label: Any) -> List[Any]:
    """The tokens of a sequence; a row of an array is filled up with negative numbers or empty texts."""
    return [token for token in label if not isinstance(label, np.ndarray) or (token != "" if isinstance(token, str) else token >= 0)]


class _Labels:
    """Turns Y into what an upload contains, and the daemon's answers back into the form of Y.

    Y: one integer or text for each input (a text of several words is a sequence), a list of tokens, a set of names, a boolean array
    [inputs][names], or numbers to predict, [inputs] or [inputs][numbers]."""

    def __init__(self, Y: Any, names: Optional[Sequence[str]], numbers: Optional[bool] = None, absent: Optional[str] = None):
        self.names = [str(name) for name in names] if names is not None else None
        first = Y[0] if len(Y) else None
        array = Y if isinstance(Y, np.ndarray) else None
        if _are_numbers(Y) if numbers is None else numbers:
            self.form, self.table, self.array = "number", [], _single(Y)
            if self.array.ndim not in (1, 2) or not np.isfinite(self.array).all():
                raise ValueError(f"Y must be finite numbers, [n] or [n][numbers]; got shape {self.array.shape}")
            if self.names is not None and len(self.names) != (1 if self.array.ndim == 1 else self.array.shape[1]):
                raise ValueError("names must have one name for each column of Y")
        elif isinstance(first, (set, frozenset)):
            self.form, self.table = "set", sorted({name for labels in Y for name in labels}, key=str)
            self.array = np.array([[name in labels for name in self.table] for labels in Y], bool).reshape(len(Y), len(self.table))
        elif array is not None and array.ndim == 2 and (array.dtype == bool or (array.dtype.kind in "iuf" and np.isin(array, (0, 1)).all())):
            self.form, self.table, self.array = "flags", list(range(array.shape[1])), array.astype(bool)  # a matrix of MultiLabelBinarizer too
            if self.names is not None and len(self.names) != array.shape[1]:
                raise ValueError(f"names has {len(self.names)} names, but Y has {array.shape[1]} columns")
        elif isinstance(first, (list, tuple)) or (array is not None and array.ndim == 2):
            rows = [_unfilled(label) for label in Y]
            self.form, self.table = "sequence", sorted({token for label in rows for token in label}, key=str)
            longest = max(1, max(map(len, rows)))
            self.array = np.array([[self._text(token) for token in label] + [""] * (longest - len(label)) for label in rows])
        else:
            values = np.asarray(Y)
            if values.ndim != 1:
                raise ValueError(f"Y must be labels of one dimension, lists of tokens, sets of names or a boolean array; got shape {values.shape}")
            words = values.dtype.kind in "USO" and any(" " in str(value) for value in values)
            self.form, self.table = ("words", []) if words else ("class", list(np.unique(values).tolist()))
            self.array = np.array([str(value) if words else self._text(value) for value in values.tolist()])

        wrong = [value for value in self.table if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and not 0 <= value < len(self.names or [])]
        if self.names is not None and wrong:
            raise ValueError(f"names has {len(self.names)} names, for the labels 0 to {len(self.names) - 1}; Y also has {wrong[0]}")
        sets = self.form in ("set", "flags")
        # the names of a set, one for each column of `array`; the tokens of the daemon are names
        self.columns = [self._named(value) for value in self.table] if sets else []
        if sets and (len(set(self.columns)) < len(self.columns) or "" in self.columns):
            raise ValueError(f"the names of a set must differ and not be empty; got {self.columns}")
        self.back = dict(zip(self.columns if sets else map(self._text, self.table), self.table))
        self.absent = self._named(absent) if absent is not None else None

    @classmethod
    def of_names(cls, form: str, names: Sequence[str], numbers: int = 0, absent: Optional[str] = None) -> "_Labels":
        """Returns the labels of a model whose Y is not there: the names are texts. numbers: how many numbers the model predicts."""
        labels = cls.__new__(cls)
        labels.names, labels.form, labels.table, labels.columns = None, form, list(names), list(names) if form == "set" else []
        labels.back, labels.absent = {name: name for name in names}, absent
        labels.array = np.zeros((0, numbers) if numbers > 1 else 0, np.float32)
        return labels

    def _named(self, value: Any) -> str:
        """Returns the name of a label, which is one of `names` if the label is an integer."""
        if self.names is not None and not isinstance(value, str) and float(value).is_integer() and 0 <= int(value) < len(self.names):
            value = self.names[int(value)]
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)

    def classes(self) -> List[Any]:
        """Returns the labels in the form of Y: integers and other labels in ascending order, names of a set in the order of the columns of Y. Texts
        that are all in `names` have the order of `names`."""
        if self.form == "flags":
            return list(self.names) if self.names is not None else list(range(len(self.table)))
        values = sorted({word for text in self.array.tolist() for word in str(text).split()}) if self.form == "words" else list(self.table)
        try:
            values = sorted(values)
        except TypeError:  # labels of several types
            values = sorted(values, key=str)
        order = {name: at for at, name in enumerate(self.names or [])}
        return sorted(values, key=order.__getitem__) if order and all(isinstance(value, str) and value in order for value in values) else values

    def class_name(self, value: Any) -> str:
        """Returns the name that the daemon has for an entry of classes()."""
        return str(value) if self.form in ("words", "flags") else self._named(value)

    def symbol(self, value: Any) -> str:
        """Returns the name in an upload that the symbol of a box stands for: a name, or a label as in Y."""
        text = str(value)
        return self._named(int(text)) if text not in self.back and text.isdigit() else text

    def _text(self, value: Any) -> str:
        """Returns the token that stands for a label in the upload: its name if the caller gave one."""
        text = self._named(value)
        if not text or any(c.isspace() for c in text):
            raise ValueError(f"a label must not be empty or contain spaces; got {text!r}")
        return text

    def name(self, token: Any) -> str:
        """Returns the name of a token that the daemon sent, to be shown to people."""
        return str(token)

    def decode(self, tokens: List[str]) -> Any:
        known = [self.back.get(token, token) for token in tokens if self.form in ("words", "tokens") or token in self.back]
        if self.form == "class":
            return known[0] if known else self.back.get(self.absent, self.absent)
        if self.form == "set":
            return set(known)
        if self.form == "flags":
            return [at in known for at in range(len(self.table))]
        return (" ".join(tokens) or self.absent or "") if self.form == "words" else known

    def collect(self, answers: List[Any]) -> np.ndarray:
        if self.form == "flags":
            return np.array(answers, bool).reshape(len(answers), len(self.table))
        if self.form in ("class", "words") and None not in answers:
            return np.array(answers)
        out = np.empty(len(answers), object)
        out[:] = answers
        return out


_MISSING = {"", "nan", "NaN", "NAN", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaT", "None", "NULL", "null"}  # as the daemon reads texts


def _is_missing(label: Any, texts: bool = True) -> bool:
    """Whether a label is None, NaN, pandas.NA, NaT, empty, a text that stands for them (texts=True), or contains one of them."""
    if isinstance(label, (set, frozenset, list, tuple)) or (isinstance(label, np.ndarray) and label.ndim):
        return any(_is_missing(one, texts) for one in label if not (isinstance(one, str) and not one))
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return (label in _MISSING if texts else not label) if isinstance(label, str) else bool(label != label)


def _labelled(Y: Any, missing: str) -> Optional[List[int]]:
    """Returns the samples that have a label; None: all. missing: "refuse", "drop", or "keep", which takes texts such as NA as names."""
    if missing not in ("refuse", "drop", "keep"):
        raise ValueError(f"missing must be 'refuse', 'drop' or 'keep'; got {missing!r}")
    if isinstance(Y, np.ndarray) and Y.dtype.kind in "biu":
        return None
    gone = [at for at, label in enumerate(Y) if _is_missing(label, texts=missing != "keep")]
    if gone and (missing != "drop" or len(gone) == len(Y)):
        raise ValueError(f"row {gone[0]} has no label (rows count from 0); {len(gone)} of {len(Y)} rows have none. fit(..., missing='drop') leaves them out")
    if not gone:
        return None
    warnings.warn(f"{len(gone)} of {len(Y)} rows have no label and were left out; the first is row {gone[0]}", RuntimeWarning, stacklevel=3)
    out = set(gone)
    return [at for at in range(len(Y)) if at not in out]


def _given(X: Any) -> None:
    """Refuses inputs that are None, no list or array, empty, or a list with None among them."""
    if X is None or not hasattr(X, "__len__") or getattr(X, "ndim", 1) == 0:
        raise ValueError(f"X must be an array or a list of inputs; got {X!r:.60}")
    if len(X) == 0:
        raise ValueError("X is empty")
    for at, one in enumerate(X if isinstance(X, (list, tuple)) or getattr(X, "dtype", None) == object and not hasattr(X, "columns") else ()):
        if one is None:
            raise ValueError(f"input {at} of X is None (inputs count from 0)")


def _same_shapes(X: Any) -> None:
    """Refuses a list whose inputs have different shapes, and names the first two that differ."""
    first = None
    for at, one in enumerate(X if isinstance(X, (list, tuple)) else ()):
        try:
            shape = np.shape(one)
        except ValueError:  # the rows of one input have different lengths
            raise ValueError(f"input {at} of X has rows of different lengths (inputs count from 0)") from None
        first = shape if first is None else first
        if shape != first:
            raise ValueError(f"all inputs of X must have the same shape; input 0 has {first} and input {at} has {shape}")


def _plain(values: Any) -> Any:
    """The array of a frame or series of pandas, which counts by its own index."""
    return values.to_numpy() if hasattr(values, "to_numpy") else values


def _columns(X: Any, names: Optional[Sequence[str]]) -> Any:
    """Leaves out the columns of a frame that are no features of the model, whose names are `names`; None: not known."""
    if names is None or not hasattr(X, "columns"):
        return X
    have = [str(name) for name in X.columns]
    lacking, other = [name for name in names if name not in have], [name for name in have if name not in names]
    if lacking:
        raise ValueError(f"X lacks the columns {lacking[:5]}, which the model was trained on")
    if other:
        warnings.warn(f"columns that are no features of the model were left out: {', '.join(map(repr, other[:5]))}{', ...' if len(other) > 5 else ''}", RuntimeWarning, stacklevel=4)
    return X.iloc[:, [have.index(name) for name in names]]


def _rows(values: Any, kept: Optional[List[int]]) -> Any:
    if kept is None or values is None:
        return values
    return values[kept] if isinstance(values, np.ndarray) else [values[at] for at in kept]


def _separator(names: Iterable[str]) -> Optional[str]:
    """A character that separates names in a text and occurs in none of them; None: blanks do."""
    text = "".join(names)
    if not any(c in text for c in " \t|;,"):
        return None
    return next(c for c in "|;,/#~^" + "".join(map(chr, range(0xA1, 0x250))) if c not in text)


def _are_numbers(Y: Any) -> bool:
    """Returns whether Y contains floats of which at least one is no integer: numbers to predict, and not classes."""
    if isinstance(Y, (str, bytes)) or (len(Y) and isinstance(Y[0], (str, set, frozenset))):
        return False
    try:
        values = np.asarray(Y)
    except ValueError:  # lists of different lengths
        return False
    return values.dtype.kind == "f" and not np.array_equal(values, np.round(values))


# ---- estimators ---------------------------------------------------------------------------------------------------------------------


def _hint(error: Exception) -> str:
    """Says what the caller can do about a connection that failed."""
    if isinstance(error, ssl.SSLError):
        return "; the server may expect http:// instead of https://"
    if isinstance(error, ConnectionRefusedError):
        return "; is the daemon running? `motifd serve` starts one; url= or MOTIFD_SERVER selects another"
    return ""


def _check(estimator: Any, X: Any, y: Any = None, reset: bool = True, **rules: Any) -> Any:
    """Checks a table. Uses scikit-learn's function where it is installed, so that error messages are the usual ones."""
    wants = {"dtype": np.float32, "ensure_min_samples": 1, **rules}
    if X is None:
        raise ValueError("X must be a table of numbers; got None")
    _same_shapes(X)
    names = getattr(estimator, "feature_names_in_", None)
    if not reset and names is not None and hasattr(X, "columns") and len(X.columns) > len(names) and set(names) <= set(X.columns):
        X = _columns(X, names)  # other differences are for scikit-learn to refuse
    if getattr(_plain(X), "dtype", np.dtype(object)).kind in "iuf" and not hasattr(X, "toarray"):
        _single(_plain(X))  # warns
    try:
        from sklearn.utils.validation import validate_data  # scikit-learn 1.6 and later
        return validate_data(estimator, X, *([y] if y is not None else []), reset=reset, **wants)
    except ImportError:
        pass
    if hasattr(estimator, "_validate_data"):
        return estimator._validate_data(X, *([y] if y is not None else []), reset=reset, **wants)
    if reset and hasattr(X, "columns"):
        estimator.feature_names_in_ = np.array([str(name) for name in X.columns], object)
    X = np.asarray(X, np.float32)
    if X.ndim != 2 or len(X) < wants["ensure_min_samples"] or not np.isfinite(X).all():
        raise ValueError(f"Expected a 2D array of finite numbers with at least {wants['ensure_min_samples']} rows; got shape {X.shape}")
    if not reset and X.shape[1] != estimator.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features as input")
    estimator.n_features_in_ = X.shape[1]
    return X if y is None else (X, np.asarray(y, float))


class _Hidden(str):
    """A token as a parameter of an estimator. It equals the text, but neither repr() nor a pickle contains it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"

    def __deepcopy__(self, memo: Any) -> "_Hidden":
        return self

    def __reduce_ex__(self, protocol: Any) -> Tuple[Any, ...]:
        return type(None), ()


class _Estimator(_Base):
    """What all estimators share. The fitted attributes are job_, findings_, verdict_ and result_."""

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The parameters of the constructor. The token does not show in repr() and is not pickled."""
        parameters = super().get_params(deep)
        if type(parameters.get("token")) is str:
            parameters["token"] = _Hidden(parameters["token"])
        return parameters

    def __copy__(self) -> "_Estimator":
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __deepcopy__(self, memo: Any) -> "_Estimator":  # not through __getstate__(), which leaves out the token
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        new.__dict__.update((name, copy.deepcopy(value, memo)) for name, value in self.__dict__.items())
        return new

    def _client(self) -> Client:
        return self.url if isinstance(self.url, Client) else Client(self.url, self.token, self.cafile)

    def _train(self, kind: str, config: Dict[str, Any], preset: Optional[str], name: Optional[str], client: Client) -> Job:
        self.job_ = client.submit(kind, {**config, **(self.config or {})}, preset, name=name)
        try:
            self.job_.wait(progress=self.progress)
        except KeyboardInterrupt:
            self.job_.cancel()
            raise
        if self.job_.verdict == "not-learned":
            message = f"job {self.job_.id} has not learned:\n{self.job_.findings}"
            if self.raise_not_learned:
                raise NotLearned(message, self.job_)
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        return self.job_

    def _fitted(self) -> Job:
        if not hasattr(self, "job_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments first.")
        return self.job_

    job = property(_fitted, doc="the job that trained the model")

    def export(self, path: Union[str, "os.PathLike[str]"], checkpoint: Union[str, int] = "latest") -> str:
        """Saves the model in the form that the ending of `path` names, as Job.export() does, and returns the path."""
        return self._fitted().export(path, checkpoint)

    def report(self, path: Optional[Union[str, "os.PathLike[str]"]] = None) -> str:
        """Writes a report of the job that trained the model, as Job.report() does, and returns its path."""
        return self._fitted().report(path)

    findings_ = property(lambda self: self._fitted().findings)
    verdict_ = property(lambda self: self._fitted().verdict)
    result_ = property(lambda self: self._fitted().result)

    def __getstate__(self) -> Dict[str, Any]:
        """For pickle: keeps the address and the job, but no token and no connection. The process that reads the pickle takes the token from
        MOTIFD_TOKEN."""
        state = dict(super().__getstate__() if hasattr(super(), "__getstate__") else self.__dict__)
        if "job_" in state:
            state["job_"] = (state["job_"].client.url, state["job_"].document)
        if isinstance(state.get("url"), Client):
            state["url"] = state["url"].url
        if "token" in state:
            state["token"] = None
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        state = dict(state)
        if "job_" in state:
            url, document = state["job_"]
            state["job_"] = Job(Client(url, state.get("token"), state.get("cafile")), document)
        if hasattr(super(), "__setstate__"):
            super().__setstate__(state)
        else:
            self.__dict__.update(state)


class Channel(Dict[str, Any]):
    """One channel of a model: its entry in GET /v1/jobs/{id}/channels, and `name`. A notebook shows it with its strongest inputs."""

    def __init__(self, job: Job, document: Dict[str, Any], name: str):
        super().__init__(document)
        self.job, self.name = job, name

    def picture(self) -> bytes:
        """Returns a PNG file with the inputs in which the channel is most active."""
        return self.job.ask(f"channels/{self['channel']}", accept="image/png")

    def __repr__(self) -> str:
        return f"<channel {self['channel']} {self.name!r}: {self.get('motifs')} motifs>"

    def _repr_html_(self) -> str:
        text = f"<b>channel {self['channel']}: {html.escape(self.name)}</b>, {self.get('motifs')} motifs in {self.get('inputs')} inputs"
        try:
            return f"{text}<br><img src='data:image/png;base64,{base64.b64encode(self.picture()).decode()}'>"
        except MotifdError as error:
            return f"{text}<br>{html.escape(str(error))}"


class Channels(List[Channel]):
    def _repr_html_(self) -> str:
        return "<hr>".join(channel._repr_html_() for channel in self)


class Motifs(_TransformerMixin, _Estimator):
    """SPARLING: finds the motifs that decide the labels, from labels alone, or the motifs that change numbers.

    X: images [n][rows][cols] or [n][rows][cols][channels], signals [n][length], a list of texts or of lists of tokens, recordings, a list of files, or a frame of
    pandas. Recordings are pairs (samples, rate) as soundfile.read() returns them, or with sample_rate lists of numbers in [-1, 1]. Files are the paths of pictures
    (.png, .jpg, .tif) or recordings (.wav), or pictures of PIL. Texts of several words are split into words, and tokens are kept as given; other texts are
    sequences of bases. Y: labels of the whole input (see fit).

    url: address of the daemon or a Client. effort: quick, normal or thorough, if the daemon has this field. total_samples: upper limit of
    the training. config: further fields of the kind `sparling`. sparse: transform() returns coordinates instead of dense maps.
    raise_not_learned: fit() raises NotLearned when the verdict is not-learned; otherwise it warns. progress: whether fit() draws a bar; by
    default on terminals and in notebooks."""

    def __init__(self, url: Any = None, *, total_samples: Optional[int] = None, effort: Optional[str] = None, random_state: int = 1,
                 sample_rate: Optional[int] = None, sparse: bool = False, config: Optional[Dict[str, Any]] = None, name: Optional[str] = None,
                 raise_not_learned: bool = False, progress: Optional[bool] = None, token: Optional[str] = None, cafile: Optional[str] = None):
        self.url, self.total_samples, self.effort, self.random_state, self.sample_rate = url, total_samples, effort, random_state, sample_rate
        self.sparse, self.config, self.name, self.raise_not_learned = sparse, config, name, raise_not_learned
        self.progress, self.token, self.cafile = progress, token, cafile

    def _more_tags(self) -> Dict[str, Any]:
        return {"X_types": ["3darray", "string"], "requires_y": True, "_skip_test": True}

    @classmethod
    def load(cls, job: Union[str, Job, "os.PathLike[str]"], url: Any = None, **parameters: Any) -> "Motifs":
        """Returns a fitted model of a job: its id or name, a Job, or a file with the ending .bundle or .safetensors, which is imported first. Labels are the names
        that the daemon has, as texts. url and the other parameters are those of Motifs."""
        model = cls(job.client if isinstance(job, Job) and url is None else url, **parameters)
        client = model._client()
        if not isinstance(job, Job):
            where = os.fspath(job)
            file = os.path.splitext(where)[1].lower() in (".bundle", ".safetensors") and os.path.isfile(where)
            job = client.import_model(open(where, "rb")) if file else client.job(where)
        elif job.config is None:
            job.refresh()
        if job.kind != "sparling":
            raise ValueError(f"job {job.id} is of the kind {job.kind}; Motifs.load() needs one of the kind sparling")
        model.job_ = job
        model._take_labels(client)
        return model

    def _take_labels(self, client: Client) -> None:
        """Takes the form of the labels from the data set of the job; without it, labels are lists of tokens."""
        name, data = (self.job_.config or {}).get("dataset_name"), None
        try:
            data = client.dataset(name) if name else None
        except MotifdError as error:
            if error.status != 404:
                raise
        if data is None:
            self.labels_ = _Labels.of_names("tokens", [])
            return
        self.data_, numbers = data, len(data.get("numbers") or [])
        form = {"class": "class", "labels": "set", "number": "number", "count": "class"}.get(data["target"], "sequence")
        self.labels_ = _Labels.of_names(form, [entry["name"] for entry in data.get("vocabulary") or []], numbers, (data.get("options") or {}).get("absent") or None)
        if self.labels_.absent and form != "number":  # one class for each sample, of which one is the empty set
            self.labels_.form, self.labels_.columns = "class", []
            self.labels_.table.append(self.labels_.absent)
        self.words_ = data["kind"] == "texts"
        if self.words_:
            self.text_ = (data.get("options") or {}).get("text") or "text"
        self.rate_ = data.get("rate")

    def fit(self, X: Any, Y: Any = None, names: Optional[Sequence[str]] = None, groups: Optional[Sequence[Any]] = None, boxes: Any = None,
            numbers: Optional[bool] = None, missing: str = "refuse", absent: Optional[str] = None, text: Optional[str] = None,
            bags: bool = False) -> "Motifs":
        """Uploads the data once, trains, and waits. In a frame of pandas, Y and groups may be the names of columns; without them, those with the usual names
        are taken (label, labels, class or target; group). text: the column with texts, which are then the inputs; by default a column that has
        this name and texts. The other columns are points of a signal. Y: an integer or text for each input (a text of several words is a sequence), lists of
        tokens, sets of names, an array [n][names] of booleans or of zeros and ones, as of MultiLabelBinarizer, or numbers to predict ([n] or [n][k]).
        A frame of pandas has the names of its columns. missing: "drop" leaves out the samples whose label is None, NaN, empty or a text such as "NA";
        otherwise they raise a ValueError. "keep" takes such texts as names. absent: the class, such as "normal", that says that the other names are
        not there. numbers: whether Y contains numbers to
        predict; None: it does if it has floats that are no integers. names: the names of integer labels or of the columns of Y. groups: a name or
        number for each input; inputs of one group are either all trained on or all held out. boxes: [m][6], the columns are sample, row0, row1,
        col0, col1 and symbol; only the evaluation uses them. bags: the positions of an input ([n][features][1][items]) are items whose order means nothing."""
        if isinstance(X, (str, bytes, os.PathLike)):
            raise ValueError("X must be an array or a list of texts of letters, not one text; Client.upload() uploads a file")
        X, Y, groups = self._of_frame(X, Y, groups, text)
        if Y is None:
            raise ValueError("Motifs needs labels: pass Y with an integer, a text, a list of tokens or a set of names for each input")
        _given(X)
        if len(X) != len(Y):
            raise ValueError(f"X and Y must have the same length; got {len(X)} and {len(Y)}")
        if names is None and getattr(Y, "ndim", 1) == 2 and hasattr(Y, "columns"):
            names = [str(name) for name in Y.columns]
        Y = Y.toarray() if hasattr(Y, "toarray") else Y  # a sparse matrix
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], object)
        X, Y = _plain(X), _plain(Y)
        kept = _labelled(Y, missing)
        if kept is not None:
            if boxes is not None:
                raise ValueError("missing='drop' and boxes cannot be used together, because boxes count all samples; leave the samples out first")
            if groups is not None and len(groups) != len(Y):
                raise ValueError(f"groups must have one name for each of the {len(Y)} inputs; got {len(groups)}")
            X, Y, groups = _rows(X, kept), _rows(Y, kept), _rows(list(groups) if groups is not None else None, kept)
        groups = list(groups) if groups is not None else None  # a series of pandas counts by its own index
        if groups is not None and len(groups) != len(X):
            raise ValueError(f"groups must have one name for each of the {len(X)} inputs; got {len(groups)}")
        client, labels = self._client(), _Labels(np.array(Y.tolist()) if kept is not None and isinstance(Y, np.ndarray) else Y, names, numbers, absent)
        if labels.form == "number" and boxes is not None:
            raise ValueError("boxes are not allowed if Y contains numbers")
        data, format, options = self._files(X, labels, groups, boxes)
        if absent is not None:
            options["absent"] = labels.absent
        if bags:
            options["order"] = "none"
        if missing == "keep" and labels.form != "number":
            options["missing"] = "keep"
        self.data_ = client.upload(data, format, **options)
        config = {"dataset_name": self.data_["name"], "seed": int(self.random_state), "total_samples": self.total_samples, "effort": self.effort,
                  "dataset_split": "groups" if groups is not None else None}
        self.labels_ = labels
        self._train("sparling", {name: value for name, value in config.items() if value is not None}, "dataset", self.name, client)
        return self

    def _of_frame(self, X: Any, Y: Any, groups: Any, text: Optional[str]) -> Tuple[Any, Any, Any]:
        """Takes labels, groups and texts out of the columns of a frame; other inputs stay as they are."""
        self.__dict__.pop("text_", None)
        if not hasattr(X, "columns") or not hasattr(X, "drop"):
            if text is not None or isinstance(Y, str) or isinstance(groups, str):
                raise ValueError("the names of columns need a frame of pandas as X")
            return X, Y, groups
        have = {str(name): name for name in X.columns}
        for what, column in (("Y", Y), ("groups", groups), ("text", text)):
            if isinstance(column, str) and column not in have:
                raise ValueError(f"{what}: X has no column {column!r}; it has {list(have)[:20]}")
        usual = next((name for name in ("label", "labels", "class", "target") if name in have), None)
        label = Y if isinstance(Y, str) else usual if Y is None else None
        group = groups if isinstance(groups, str) else "group" if groups is None and "group" in have else None
        text = text if text is not None else "text" if "text" in have and _are_texts(X[have["text"]]) else None
        Y = X[have[label]] if label is not None else Y
        groups = list(X[have[group]]) if group is not None else groups
        if text is not None:
            self.text_ = text
            return list(X[have[text]]), Y, groups
        return X.drop(columns=[have[name] for name in (label, group) if name is not None]), Y, groups

    def _files(self, X: Any, labels: _Labels, groups: Any, boxes: Any) -> Tuple[Any, str, Dict[str, str]]:
        files = _files_in(X)
        if isinstance(X[0], str) or _tokens(X) or self.sample_rate or files or _pairs(X):
            self.words_ = not files and (_tokens(X) or (isinstance(X[0], str) and any(len(text.split()) > 1 for text in X)))
            if boxes is not None or (isinstance(X[0], str) and groups is not None and not self.words_ and not files):
                raise ValueError("boxes and groups need arrays; upload a file with Client.upload() instead")
            sets = labels.form in ("set", "flags")
            separator = _separator(labels.columns) if sets else None
            words = [" ".join(repr(float(value)) for value in np.atleast_1d(label)) if labels.form == "number"
                     else " ".join(token for token in np.atleast_1d(label).tolist() if token) if not sets
                     else (separator or " ").join(labels.columns[at] for at in np.flatnonzero(label)) for label in labels.array]
            options = {"number": {"target": "number"}, "class": {"target": "class"}, "sequence": {"target": "sequence"}}.get(labels.form, {})
            if sets:
                options = {"target": "labels", "separator": separator or "blank"}
            if self.words_:
                return _texts(X, words, sets, groups), "jsonl", {"target": "sequence", **options} if labels.form == "words" else options
            if files:
                return _tar([(f"{at}{ending}", data) for at, (ending, _, data) in enumerate(files)], words, sets, groups), "tar", options
            if isinstance(X[0], str):
                wrong = next((text for text in X if not text.isalpha()), None)
                if wrong is not None:
                    raise ValueError(f"X must contain texts of letters, or of several words; got {str(wrong)[:60]!r}. "
                                     "Read files into arrays, or use Client.upload()")
                records = "".join(f">s{at} {label}\n{letters}\n" for at, (letters, label) in enumerate(zip(X, words)))
                return records.encode(), "fasta", options
            return _tar([(f"{at}.wav", _wav(*_recording(one, self.sample_rate))) for at, one in enumerate(X)], words, sets, groups), "tar", options
        arrays = {"x": self._array(X, upload=True), "y": labels.array}
        if labels.columns or (labels.form == "number" and labels.names is not None):
            arrays["names"] = np.array(labels.columns or labels.names)
        if groups is not None:
            arrays["group"] = np.array([str(group) for group in groups])
        if boxes is not None:
            arrays["boxes"] = np.asarray([[*map(str, box[:5]), labels.symbol(box[5])] for box in boxes])
        return _npz(arrays), "npz", {"target": "number"} if labels.form == "number" else {}

    def _array(self, X: Any, upload: bool = False) -> np.ndarray:
        _same_shapes(X)
        X = np.asarray(X)
        if X.ndim not in (2, 3, 4) or X.dtype.kind not in "buif":
            raise ValueError(f"X must be images [n][rows][cols](channels), signals [n][length] or texts of letters; got shape {X.shape} of {X.dtype}")
        if X.dtype.kind == "f" and not np.isfinite(X).all():
            raise ValueError("X contains NaN or infinity")
        return X[:, None, :, None] if X.ndim == 2 else X

    def _inputs(self, X: Any) -> Any:
        self._fitted()
        _given(X)
        if hasattr(X, "columns") and getattr(self, "text_", None) is not None:
            if self.text_ not in map(str, X.columns):
                raise ValueError(f"X lacks the column {self.text_!r}, whose texts the model was trained on")
            X = list(X[next(name for name in X.columns if str(name) == self.text_)])
        X = _plain(_columns(X, getattr(self, "feature_names_in_", None)))
        files = _files_in(X)
        if files:
            return [{"data": base64.b64encode(data).decode(), "type": type} for _, type, data in files]
        if getattr(self, "words_", False):
            return [text if isinstance(text, str) else [str(token) for token in text] for text in X]
        if isinstance(X[0], str):
            return [{"data": base64.b64encode(f">s\n{letters}\n".encode()).decode(), "type": "text/x-fasta"} for letters in X]
        if self.sample_rate or _pairs(X) or getattr(self, "rate_", None):
            rate = self.sample_rate or getattr(self, "rate_", None)
            return [{"data": base64.b64encode(_wav(*_recording(one, rate))).decode(), "type": "audio/wav"} for one in X]
        return self._array(X)

    def transform(self, X: Any, sparse: Optional[bool] = None) -> Union[np.ndarray, SparseMaps]:
        """Returns the motif maps: dense [n][rows][cols][channels], or coordinates if `sparse` is set; None: as the estimator's parameter `sparse` says."""
        job, inputs = self._fitted(), self._inputs(X)
        if isinstance(inputs, list):
            parts: Iterable[np.ndarray] = (self._map(job, one) for one in inputs)
        else:
            parts = job.ask_array("motifs", inputs)
        if not (self.sparse if sparse is None else sparse):
            return np.concatenate(list(parts))
        coordinates, values, shape, count = [], [], (0, 0, 0), 0
        for part in parts:
            at = np.array(np.nonzero(part))
            values.append(part[tuple(at)])
            at[0] += count
            coordinates.append(at)
            count, shape = count + len(part), part.shape[1:]
        return SparseMaps((count, *shape), np.concatenate(coordinates, 1), np.concatenate(values))

    def review(self, count: int = 20, seed: int = 0, answers: Optional[Dict[str, Any]] = None, **parameters: Any) -> Dict[str, Any]:
        """Draws marks of the test part for a person, and estimates from the answers how many are false; see Job.review()."""
        return self._fitted().review(count, seed, answers, **parameters)

    def scores(self, X: Any, form: str = "score") -> np.ndarray:
        """Returns what each channel scores at each position before the threshold, [n][rows][cols][channels]: a score is above 0 at a motif. form="p": its
        p-value, the share of inputs without the channel's name that score as much anywhere, and NaN for a channel without an error rate."""
        job, inputs = self._fitted(), self._inputs(X)
        if isinstance(inputs, list):
            return np.concatenate([self._map(job, one, "scores", {"as": form}) for one in inputs])
        return np.concatenate(list(job.ask_array("scores", inputs, **{"as": form})))

    @staticmethod
    def _map(job: Job, one: Union[str, List[str], Dict[str, str]], query: str = "motifs", parameters: Optional[Dict[str, Any]] = None) -> np.ndarray:
        given, path = parameters or {}, f"/v1/jobs/{job.id}/{query}"
        if isinstance(one, (str, list)):
            body, type = json.dumps({"inputs": [one], **given}).encode(), JSON
        else:
            body, type, path = base64.b64decode(one["data"]), one["type"], path + _query(given)
        answer = job.client.request("POST", path, body, {"Accept": NPY, "Content-Type": type})
        return np.load(io.BytesIO(answer.body), allow_pickle=False)

    def predict(self, X: Any) -> np.ndarray:
        """Returns the predicted labels, or numbers, in the form of Y; None for an input to which the model gives no label."""
        job = self._fitted()
        if self.labels_.form == "number":
            rows = [[one["value"] for one in answer["numbers"]] for answer in job.ask_each("predict", self._inputs(X))]
            return np.array(rows, float).reshape(len(rows), *self.labels_.array.shape[1:])
        answers = [self.labels_.decode(answer["prediction"]) for answer in job.ask_each("predict", self._inputs(X))]
        return self.labels_.collect(answers)

    @property
    def classes_(self) -> np.ndarray:
        """The labels in the order of the columns of decision_function() and predict_proba(): those of Y, and with sets or columns their names. A model that
        predicts numbers has none."""
        self._fitted()
        if self.labels_.form == "number":
            raise AttributeError("classes_: the model predicts numbers, which are no classes")
        classes = self.labels_.classes()
        return self.labels_.collect(classes) if self.labels_.form == "class" else np.array(classes, None if len({type(one) for one in classes}) == 1 else object)

    def decision_function(self, X: Any) -> np.ndarray:
        """Returns how strongly the motif model expects each name in each input: [inputs][names], in the order of `classes_` (`score_names_` are the same
        labels as the daemon names them), with two classes too. The scores are log odds that rank inputs. The score of the class `absent` is that of
        an input without any name. A model that did not learn its names directly (presence_weight 0, or numbers) has no scores: ValueError."""
        answers = [answer.get("presence") for answer in self._fitted().ask_each("predict", self._inputs(X))]
        if answers[0] is None:
            raise ValueError("this model has no scores of names: it was trained without the presence objective, or it predicts numbers")
        self.score_names_ = [self.labels_.class_name(value) for value in self.labels_.classes()]
        column = {one["name"]: at for at, one in enumerate(answers[0])}
        scores = np.array([[one["score"] for one in answer] for answer in answers], float)
        if self.labels_.absent is not None:  # the odds that no name is there: the product of (1 - p) against the rest
            column[self.labels_.absent] = scores.shape[1]
            none = -np.logaddexp(0, scores).sum(1)
            scores = np.column_stack([scores, none - np.log(-np.expm1(np.minimum(none, -1e-15)))])
        lacking = [name for name in self.score_names_ if name not in column]
        if lacking:
            raise ValueError(f"the model has no scores of {lacking[:5]}; it has those of {sorted(column)[:20]}")
        return scores[:, [column[name] for name in self.score_names_]]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Returns how probable each name is in each input according to the motif model: [inputs][names], in the order of `classes_`. For classes, the rows sum
        to 1; for sets, columns and sequences, each name has a probability of its own. Rare names have too high ones. predict() reads the whole model and
        can differ."""
        odds = np.exp(-np.logaddexp(0, -self.decision_function(X)))
        return odds / np.maximum(odds.sum(1, keepdims=True), np.finfo(float).tiny) if self.labels_.form == "class" else odds

    def score(self, X: Any, Y: Any) -> float:
        """Returns the share of inputs whose whole label is right; for numbers the share of their variance that the predictions explain (R
        squared), which is the mean over the columns of Y."""
        got = self.predict(X)
        if Y is None or len(Y) != len(got):
            raise ValueError(f"X and Y must have the same length; got {len(got)} and {'None' if Y is None else len(Y)}")
        if self.labels_.form == "number":
            wanted = np.asarray(Y, float)
            return float(np.mean(1 - ((wanted - got) ** 2).sum(0) / ((wanted - wanted.mean(0)) ** 2).sum(0)))
        if self.labels_.form == "flags":
            return float((got == np.asarray(Y, bool)).all(1).mean())
        return float(np.mean([list(a) == _unfilled(b) if isinstance(b, (list, tuple, np.ndarray)) else a == b for a, b in zip(got, Y)]))

    @property
    def channels_(self) -> Channels:
        """The channels with their names and how often they are used. A notebook shows each with its strongest inputs."""
        job = self._fitted()
        rows = job.ask("channels")["channels"]
        return Channels(Channel(job, row, self._channel_name(row)) for row in rows)

    def _channel_name(self, row: Dict[str, Any]) -> str:
        token = row.get("name") or row.get("symbol")
        return self.labels_.name(token) if token is not None else f"channel {row['channel']}"

    def boxes(self, X: Any, false_marks: Optional[float] = None) -> "Boxes":
        """Returns for each input its maximal motifs: {"box": [row0, row1, col0, col1], "channel", "name", "value", "p", "q"}. The box is the extent of
        the motif if the daemon gives one, otherwise its footprint. The motifs of a text have "words" too: [{"word", "start", "end"}], where the word is
        text[start:end], and those of a recording "seconds": [start, end].

        false_marks: largest expected share of false motifs, 0.1 for 10 %. The answer then has only the motifs whose q is at most this, and its `sentence`
        says how many of them are false at most, or why nobody knows. All inputs are one request then, because q depends on all of them."""
        return self._places(self._inputs(X), false_marks)

    def _places(self, inputs: Any, false_marks: Optional[float] = None) -> "Boxes":
        job = self._fitted()
        listed = job.ask("channels")
        names = {row["channel"]: self._channel_name(row) for row in listed["channels"]}
        whole: Dict[str, Any] = {}
        if false_marks is not None:
            asked = {"inputs": inputs, "false_marks": false_marks} if isinstance(inputs, list) else inputs
            whole = job.ask("motifs", asked, **({} if isinstance(inputs, list) else {"false_marks": false_marks}))
        out = Boxes(whole.get("bound"), whole.get("why"))
        for answer in whole["answers"] if whole else job.ask_each("motifs", inputs):
            rows, cols = answer["shape"][:2]
            out.append([{"box": _box(motif, rows, cols, listed["footprint"]), "channel": motif["channel"],
                         "name": names.get(motif["channel"], f"channel {motif['channel']}"), "value": motif["value"], "p": motif.get("p"), "q": motif.get("q"),
                         **{name: motif[name] for name in ("words", "seconds") if name in motif}}
                        for motif in answer["motifs"] if motif.get("maximal", True)])
        return out


    def compare(self, other: Union["Motifs", Job, str], samples: Optional[int] = None) -> List[Dict[str, Any]]:
        """Says for each channel which channel of another model is active at the same places (Job.compare())."""
        return self._fitted().compare(other._fitted() if isinstance(other, Motifs) else other, samples)

    def frame(self, X: Any) -> Any:
        """The answers as a frame of pandas, with a row for each motif, and one row for an input without motifs: input, label, confidence, name, channel, value,
        row0, row1, col0, col1 (ends are exclusive), and where they apply start, end (seconds) and words. input: the index of X if X is a frame."""
        try:
            import pandas
        except ImportError:
            raise ImportError("frame() needs pandas; boxes() and predict() give the same without it") from None
        index = list(X.index) if hasattr(X, "index") and not callable(X.index) else range(len(X))
        inputs, labels = self._inputs(X), self.predict(X)
        told = self._fitted().ask_each("predict", inputs)
        rows: List[Dict[str, Any]] = []
        for at, label, answer, places in zip(index, labels, told, self._places(inputs)):
            label = label.tolist() if isinstance(label, np.ndarray) else label
            base = {"input": at, "label": label, "confidence": answer.get("probability")}
            for place in places or [{}]:
                box, seconds = place.get("box") or [None] * 4, place.get("seconds") or [None] * 2
                rows.append({**base, "name": place.get("name"), "channel": place.get("channel"), "value": place.get("value"),
                             **dict(zip(("row0", "row1", "col0", "col1"), box)), "start": seconds[0], "end": seconds[1],
                             "words": " ".join(word["word"] for word in place["words"]) if "words" in place else None})
        frame = pandas.DataFrame(rows).convert_dtypes(convert_string=False, convert_boolean=False, convert_floating=False)
        return frame.drop(columns=[name for name in ("start", "end", "words") if frame[name].isna().all()])

    def plot(self, X: Any, count: int = 8) -> Any:
        """Shows the first `count` inputs with the extents of their motifs and the predicted labels: a figure of matplotlib if that is installed, otherwise an
        object that notebooks show."""
        try:
            from matplotlib import pyplot
        except ImportError:
            return self.pictures(X, count)
        inputs = self._inputs(X)[:count]
        answers = list(self._fitted().ask_each("motifs", inputs))
        across = 1 if any(_spelled(answer) or answer["shape"][0] == 1 for answer in answers) else min(4, len(answers))
        down = -(-len(answers) // across)
        figure, axes = pyplot.subplots(down, across, squeeze=False, figsize=(10, (3 if across > 1 else 1.4) * down), layout="constrained")
        for ax in axes.flat:
            ax.set_axis_off()
        for ax, one, answer, places in zip(axes.flat, inputs, answers, self._places(inputs)):
            if isinstance(one, dict) and not _spelled(answer):
                ax.imshow(pyplot.imread(io.BytesIO(self._png(one))))
            else:
                _draw(ax, one, answer, places)
        pyplot.close(figure)  # a notebook shows the figure that is returned, and not twice
        return figure

    def pictures(self, X: Any, count: int = 8) -> "Pictures":
        """The first `count` inputs with the extents of their motifs, drawn by the daemon. A notebook shows them in line."""
        job, inputs = self._fitted(), self._inputs(X)[:count]
        shown = []
        for one, answer in zip(inputs, job.ask_each("motifs", inputs)):
            if _spelled(answer):
                shown.append(_marked(answer))
                continue
            shown.append(f"<img alt='an input with its motifs' src='data:image/png;base64,{base64.b64encode(self._png(one)).decode()}'>")
        return Pictures(shown)

    def _png(self, one: Any) -> bytes:
        """An input with its motifs, drawn by the daemon."""
        body, type = (_npy(_single(one)), NPY) if isinstance(one, np.ndarray) else (base64.b64decode(one["data"]), one["type"])
        return self.job.client.request("POST", f"/v1/jobs/{self.job.id}/motifs", body, {"Accept": "image/png", "Content-Type": type}).body


class Pictures(List[str]):
    """Inputs with marked motifs, each as HTML. A notebook shows them."""

    def _repr_html_(self) -> str:
        return "".join(f"<div style='display:inline-block;margin:4px;vertical-align:top'>{one}</div>" for one in self)


def _spelled(answer: Dict[str, Any]) -> Optional[str]:
    """The input as a text or as letters; None: it is neither."""
    return answer.get("text") or answer.get("letters")


def _covered(answer: Dict[str, Any]) -> List[Tuple[int, int, Dict[str, Any]]]:
    """The intervals of characters that the motifs of a text or of letters cover."""
    found = []
    for motif in answer["motifs"]:
        words, extent = motif.get("words"), motif.get("extent")
        if motif.get("maximal", True) and (words if answer.get("text") else extent):
            found.append((words[0]["start"], words[-1]["end"], motif) if answer.get("text") else (extent[2], extent[3], motif))
    return found


def _marked(answer: Dict[str, Any]) -> str:
    """A text or letters as HTML with marks where motifs are."""
    text, marks, parts, at = _spelled(answer) or "", sorted(_covered(answer), key=lambda one: one[:2]), [], 0
    for start, end, motif in marks:
        start = max(start, at)
        if start < end:
            parts += [html.escape(text[at:start]), f"<mark title='{html.escape(str(motif.get('name')), quote=True)}'>{html.escape(text[start:end])}</mark>"]
            at = end
    return f"<code>{''.join(parts)}{html.escape(text[at:])}</code> {html.escape(' '.join(answer.get('prediction') or []))}"


_COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#d55e00", "#0072b2", "#cc79a7", "#999999", "#b9a800")


def _draw(ax: Any, one: Any, answer: Dict[str, Any], places: List[Dict[str, Any]]) -> None:
    """Draws an input and its motifs into axes of matplotlib."""
    ax.set_title(" ".join(answer.get("prediction") or []) or "(empty)", fontsize=9, loc="left")
    text = _spelled(answer)
    if text is not None:
        ax.set(xlim=(0, max(40, len(text))), ylim=(0, 1))
        for start, end, motif in _covered(answer):
            ax.axvspan(start, end, color=_COLOURS[motif["channel"] % len(_COLOURS)], alpha=0.5, lw=0)
        for at, letter in enumerate(text):
            ax.text(at + 0.5, 0.4, letter, ha="center", family="monospace", fontsize=min(10, 1000 / max(40, len(text))))
        return
    if one.shape[0] == 1:
        ax.plot(np.arange(one.shape[1]) + 0.5, one[0], color="#182030", lw=0.8)
        ax.set_xlim(0, one.shape[1])
    else:
        picture = one if one.ndim == 2 or one.shape[2] in (3, 4) else one.mean(2)
        ax.imshow((picture - picture.min()) / (np.ptp(picture) or 1), cmap="gray_r", extent=(0, one.shape[1], one.shape[0], 0), interpolation="nearest")
    from matplotlib.patches import Rectangle
    low, high = sorted(ax.get_ylim())
    for place in places:
        row0, row1, col0, col1 = place["box"]
        colour, flat = _COLOURS[place["channel"] % len(_COLOURS)], answer["shape"][0] == 1
        ax.add_patch(Rectangle((col0, low if flat else row0), col1 - col0, high - low if flat else row1 - row0, fill=flat, alpha=0.3 if flat else 1, color=colour, lw=1.5))
        ax.annotate(place["name"], (col0, high if flat else row0), fontsize=7, color="black", backgroundcolor=colour, va="bottom", annotation_clip=True)


class Boxes(List[List[Dict[str, Any]]]):
    """The motifs of each input. bound: {"marks", "false_at_most", "confidence"} if a largest share of false motifs was asked for and the model has an error
    rate; why: why it has none, or why motifs of some channels are left out."""

    def __init__(self, bound: Optional[Dict[str, Any]] = None, why: Optional[str] = None):
        super().__init__()
        self.bound, self.why = bound, why

    @property
    def sentence(self) -> str:
        """"of these 412 marks at most 37 are false (95 %)"."""
        if self.bound is None:
            return f"no bound of the false marks: {self.why or 'ask with false_marks'}"
        text = f"of these {self.bound['marks']} marks at most {self.bound['false_at_most']} are false ({self.bound['confidence']:.0%})"
        return (text.replace("%)", " %)") + (f"; left out: {self.why}" if self.why else ""))


def _box(motif: Dict[str, Any], rows: int, cols: int, footprint: int) -> List[int]:
    extent = motif.get("extent")
    if extent:
        return list(extent) if len(extent) == 4 else [0, 1, *extent]
    (row, col), before = motif["position"], footprint // 2
    return [max(0, row - before), min(rows, row - before + footprint), max(0, col - before), min(cols, col - before + footprint)]


def _wav(samples: Any, rate: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(rate)
        file.writeframes((np.clip(np.asarray(samples, float), -1, 1) * 32767).astype("<i2").tobytes())
    return out.getvalue()


def _tokens(X: Any) -> bool:
    return all(isinstance(one, (list, tuple)) and all(isinstance(token, str) for token in one) for one in X) and any(X)


def _texts(X: Any, labels: List[str], sets: bool, groups: Any) -> bytes:
    rows = ({"text": text, "labels" if sets else "label": label, **({"group": str(groups[at])} if groups is not None else {})}
            for at, (text, label) in enumerate(zip(X, labels)))
    return "\n".join(map(json.dumps, rows)).encode()


def _tar(members: List[Tuple[str, bytes]], words: List[str], sets: bool, groups: Any) -> bytes:
    """A tar of files and of the table labels.csv, which has the label and the group of each."""
    head = ["file", "labels" if sets else "label"] + (["group"] if groups is not None else [])
    rows = [[name, *('"' + text.replace('"', '""') + '"' for text in [label] + ([str(groups[at])] if groups is not None else []))]
            for at, ((name, _), label) in enumerate(zip(members, words))]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in [*members, ("labels.csv", "\n".join(map(",".join, [head, *rows])).encode())]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


# Endings of files that may be inputs, and their media types.
_INPUT_FILES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".tif": "image/tiff", ".tiff": "image/tiff", ".wav": "audio/wav"}


def _files_in(X: Any) -> List[Tuple[str, str, bytes]]:
    """The files that X lists, as (ending, media type, bytes): paths, or pictures of PIL. Empty if X lists something else."""
    found = []
    for at, one in enumerate(X if isinstance(X, (list, tuple, np.ndarray)) and getattr(X, "ndim", 1) == 1 else ()):
        ending = os.path.splitext(os.fspath(one))[1].lower() if isinstance(one, (str, os.PathLike)) else ""
        if ending in _INPUT_FILES:
            if not os.path.isfile(one):
                raise ValueError(f"input {at} of X is no file that can be read: {os.fspath(one)!r}")
            with open(one, "rb") as file:
                found.append((ending, _INPUT_FILES[ending], file.read()))
        elif hasattr(one, "save") and hasattr(one, "mode") and hasattr(one, "convert"):  # PIL.Image.Image
            out = io.BytesIO()
            (one if one.mode in ("L", "RGB", "I;16") else one.convert("RGB")).save(out, "PNG")
            found.append((".png", "image/png", out.getvalue()))
        elif isinstance(one, os.PathLike):
            raise ValueError(f"input {at} of X has an ending that is none of {', '.join(_INPUT_FILES)}: {os.fspath(one)!r}")
        elif found:
            raise ValueError(f"input {at} of X is neither a path nor a picture, but the inputs before it are")
        else:
            return []
    return found


def _pairs(X: Any) -> bool:
    """Whether X lists recordings as soundfile.read() returns them: (samples, rate)."""
    return isinstance(X, (list, tuple)) and all(isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], (int, np.integer)) and np.ndim(one[0]) in (1, 2) for one in X)


def _recording(one: Any, rate: Optional[int]) -> Tuple[np.ndarray, int]:
    """The samples of a recording, the mean of its channels, and its rate."""
    samples, rate = one if isinstance(one, tuple) and len(one) == 2 and np.ndim(one[1]) == 0 and np.ndim(one[0]) > 0 else (one, rate)
    samples = np.asarray(samples)
    samples = samples / -float(np.iinfo(samples.dtype).min) if samples.dtype.kind == "i" else samples.astype(float)
    return samples.mean(1) if samples.ndim == 2 else samples, int(rate)


def _are_texts(values: Any) -> bool:
    return len(values) > 0 and all(isinstance(one, str) for one in values)


# (least number of rows, parts): the daemon divides the rows into so many parts and holds one of them out for the evaluation.
_FOLDS = ((400, 20), (100, 10), (40, 5), (10, 3), (0, 2))


class _Factors(_TransformerMixin, _Estimator):
    """What SparseVAE and NMF share: both compute factors from the rows of a table."""

    _model, _rules = "sparse-vae", {"ensure_min_samples": 3, "ensure_min_features": 2}

    def _settings(self) -> Dict[str, Any]:
        raise NotImplementedError

    def _more_tags(self) -> Dict[str, Any]:
        return {"preserves_dtype": [np.float32]}

    def fit(self, X: Any, y: Any = None) -> "_Factors":
        """Uploads the table once, trains, and waits. y is ignored."""
        X = _check(self, X, **self._rules)
        if (X == X[0]).all():
            raise ValueError("all rows of X are equal: there is nothing to learn")
        client = self._client()
        names = getattr(self, "feature_names_in_", [f"x{at}" for at in range(X.shape[1])])
        data = client.upload(_npz({"x": X, "columns": np.array([str(name) for name in names])}), "npz")
        config = {"dataset_name": data["name"], "features": X.shape[1], "folds": next(folds for rows, folds in _FOLDS if len(X) >= rows), "model": self._model,
                  "seed": int(self.random_state), **({"latent": self.n_components} if self.n_components is not None else {}), **self._settings()}
        self._train("factors", config, "dataset", self.name, client)
        self.n_components_ = self._n_features_out = self.job_.config["latent"]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The factors of each row: [n][n_components_]."""
        job = self._fitted()
        return np.concatenate(list(job.ask_array("encode", _check(self, X, reset=False))))

    def reconstruct(self, X: Any) -> np.ndarray:
        """The rows as the model reconstructs them from their factors: [n][features]."""
        job = self._fitted()
        return np.concatenate(list(job.ask_array("predict", _check(self, X, reset=False))))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        self._fitted()
        return np.array([f"{type(self).__name__.lower()}{at}" for at in range(self.n_components_)], object)

    @property
    def topics_(self) -> List[Dict[str, Any]]:
        """The features that depend on each factor, strongest first; empty if the result does not list them."""
        return self.result_.get("topics") or []


class SparseVAE(_Factors):
    """The Sparse VAE: finds few factors; few features of the table depend on each factor.

    n_components: number of factors; None: it follows from the data (n_components_). epochs: passes over the rows. hidden: width of the networks. sparsity: rate of the spike (lambda0); with a
    larger one, fewer features depend on a factor. config: further fields of the kind `factors`. The other parameters are those of Motifs."""

    def __init__(self, url: Any = None, *, n_components: Optional[int] = None, epochs: int = 100, hidden: int = 50, batch: int = 100, sparsity: float = 10.0,
                 random_state: int = 1, config: Optional[Dict[str, Any]] = None, name: Optional[str] = None, raise_not_learned: bool = False,
                 progress: Optional[bool] = None, token: Optional[str] = None, cafile: Optional[str] = None):
        self.url, self.n_components, self.epochs, self.hidden, self.batch, self.sparsity = url, n_components, epochs, hidden, batch, sparsity
        self.random_state, self.config, self.name, self.raise_not_learned = random_state, config, name, raise_not_learned
        self.progress, self.token, self.cafile = progress, token, cafile

    def _settings(self) -> Dict[str, Any]:
        return {"epochs": self.epochs, "hidden": self.hidden, "batch": self.batch, "lambda0": self.sparsity, "restarts": 1, "screen_epochs": 0}


class NMF(_Factors):
    """Non-negative matrix factorisation. n_components: number of factors; None: it follows from the data. penalty: weight of the squares of both matrices; a larger one
    makes their values smaller. iterations: largest number of passes. The other parameters are those of SparseVAE."""

    _model = "nmf"

    def __init__(self, url: Any = None, *, n_components: Optional[int] = None, penalty: float = 0.1, iterations: int = 200, random_state: int = 1,
                 config: Optional[Dict[str, Any]] = None, name: Optional[str] = None, raise_not_learned: bool = False,
                 progress: Optional[bool] = None, token: Optional[str] = None, cafile: Optional[str] = None):
        self.url, self.n_components, self.penalty, self.iterations, self.random_state = url, n_components, penalty, iterations, random_state
        self.config, self.name, self.raise_not_learned, self.progress, self.token, self.cafile = config, name, raise_not_learned, progress, token, cafile

    def _more_tags(self) -> Dict[str, Any]:
        return {"requires_positive_X": True, "preserves_dtype": [np.float32]}

    def fit(self, X: Any, y: Any = None) -> "NMF":
        _same_shapes(X)
        if not hasattr(X, "toarray") and np.asarray(X).dtype.kind in "bif" and (np.asarray(X) < 0).any():
            raise ValueError("Negative values in data passed to NMF.fit")
        super().fit(X)
        return self

    def _settings(self) -> Dict[str, Any]:
        return {"nmf_penalty": self.penalty, "nmf_iterations": self.iterations}


class Dictionary(_TransformerMixin, _Estimator):
    """A sparse autoencoder or a classical dictionary for activations: many latents, few of which are active in a row.

    n_components: number of latents. l0: active latents of a row. learner: batchtopk, topk, l1, jumprelu, matryoshka, matching-pursuit or
    fista. seeds: dictionaries with different initial weights; the result says how far they agree. total_samples: rows seen in training, with
    repetitions. config: further fields of the kind `dictionary`. The other parameters are those of Motifs.

    X: activations [n][d], or [n][tokens][d], of which every token is a row. latents_ are the latents of the first dictionary, each with its
    strongest rows; worth_ are the numbers of those that recur in every seed and agree with orthogonal matching pursuit."""

    def __init__(self, url: Any = None, *, n_components: int = 256, l0: float = 20, learner: str = "batchtopk", seeds: int = 2,
                 batch: int = 256, total_samples: int = 200000, random_state: int = 1, config: Optional[Dict[str, Any]] = None,
                 name: Optional[str] = None, raise_not_learned: bool = False, progress: Optional[bool] = None, token: Optional[str] = None,
                 cafile: Optional[str] = None):
        self.url, self.n_components, self.l0, self.learner, self.seeds, self.batch = url, n_components, l0, learner, seeds, batch
        self.total_samples, self.random_state, self.config, self.name, self.raise_not_learned = total_samples, random_state, config, name, raise_not_learned
        self.progress, self.token, self.cafile = progress, token, cafile

    def _more_tags(self) -> Dict[str, Any]:
        return {"preserves_dtype": [np.float32]}

    def _rows(self, X: Any, reset: bool = False) -> np.ndarray:
        X = np.asarray(X) if getattr(X, "ndim", 2) == 3 else X
        return _check(self, X.reshape(-1, X.shape[-1]) if getattr(X, "ndim", 2) == 3 else X, reset=reset, ensure_min_samples=2 if reset else 1, ensure_min_features=2)

    def fit(self, X: Any, y: Any = None, groups: Optional[Sequence[Any]] = None, ids: Optional[Sequence[Any]] = None) -> "Dictionary":
        """Uploads the activations once, trains, and waits. y is ignored. groups: a name for each of the n samples, such as the document that
        it comes from; latents_ contains these names. ids: the same, for names that all differ. If there are fewer than 20 rows, the daemon's minimum,
        fit repeats them."""
        tokens = np.asarray(X).shape[1] if getattr(X, "ndim", 2) == 3 else 1
        rows = self._rows(X, True)
        samples = np.tile(rows.reshape(-1, tokens, rows.shape[1]) if tokens > 1 else rows, (-(-20 // len(rows)),) + (1,) * (1 + (tokens > 1)))
        arrays = {"x": samples}
        for what, given in (("groups", groups), ("ids", ids)):
            if given is not None and len(given) != len(rows) // tokens:
                raise ValueError(f"{what} must have one name for each of the {len(rows) // tokens} samples; got {len(given)}")
        if groups is not None:
            arrays["group"] = np.resize([str(group) for group in groups], len(samples))
        if ids is not None:
            arrays["id"] = np.resize([str(one) for one in ids], len(samples))
        client = self._client()
        self.data_ = client.upload(_npz(arrays), "npz")
        config = {"dataset_name": self.data_["name"], "width": self.n_components, "l0": min(self.l0, self.n_components), "learner": self.learner, "seeds": self.seeds,
                  "batch": self.batch, "total_samples": self.total_samples, "seed": int(self.random_state)}
        self._train("dictionary", config, "dataset", self.name, client)
        self._n_features_out = self.n_components
        return self

    def _ask_rows(self, query: str, X: np.ndarray, width: int) -> np.ndarray:
        job, at = self._fitted(), max(1, min(DICTIONARY_ROWS, DICTIONARY_BYTES // (4 * max(X.shape[1], width))))
        return np.concatenate([job.ask(query, X[first:first + at], NPY) for first in range(0, len(X), at)])

    def transform(self, X: Any) -> np.ndarray:
        """The codes of each row: [n][n_components], most of them 0. A code is the length of the latent's direction in the row."""
        self._fitted()
        rows = self._rows(X)
        return self._ask_rows("encode", rows, self.n_components)

    def inverse_transform(self, codes: Any) -> np.ndarray:
        """The rows that codes describe: [n][d]."""
        self._fitted()
        return self._ask_rows("decode", np.asarray(codes, np.float32), self.n_features_in_)

    def steer(self, X: Any, changes: Dict[int, float]) -> np.ndarray:
        """The rows, moved so that each latent of `changes` has the given code."""
        self._fitted()
        text = ",".join(f"{int(latent)}={float(code)!r}" for latent, code in changes.items())
        return np.concatenate(list(self._fitted().ask_array("steer", self._rows(X), set=text)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        self._fitted()
        return np.array([f"dictionary{at}" for at in range(self.n_components)], object)

    @property
    def latents_(self) -> List[Dict[str, Any]]:
        """All latents of the first dictionary, by number."""
        found: List[Dict[str, Any]] = []
        while len(found) < self.n_components:
            part = self._fitted().ask("latents", first=len(found), count=256)["latents"]
            if not part:
                break
            found += part
        return found

    @property
    def worth_(self) -> List[int]:
        """The numbers of the latents that are worth an interpretation."""
        return [latent["latent"] for latent in self.latents_ if latent["worth"]]

    def latent(self, number: int) -> Dict[str, Any]:
        """One latent: its strongest rows, its histogram, and the nearest latents."""
        return self._fitted().ask(f"latents/{int(number)}")

    def saelens(self, folder: str, dictionary: int = 0) -> None:
        """Writes a dictionary into a folder that SAELens loads with SAE.load_from_disk()."""
        tar = self._fitted().ask("saelens", accept="application/x-tar", dictionary=dictionary)
        os.makedirs(folder, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            for member in archive.getmembers():
                file = archive.extractfile(member)
                if file is None or member.name not in ("cfg.json", "sae_weights.safetensors", "sparsity.safetensors"):
                    raise MotifdError(f"the daemon sent an unexpected member: {member.name}")
                with open(os.path.join(folder, member.name), "wb") as to:
                    to.write(file.read())


class Trees(_TransformerMixin, _RegressorMixin, _Estimator):
    """Outcomes that depend linearly on latent variables, and how the dependence changes along a tree of environments.

    fit(X, y, groups): groups names the environment of each row; names with '/' are paths in the tree (neural/brain). n_components: number
    of latent variables; None: it follows from the data. updates: optimiser updates. penalty: weight of the changes; with a larger one, less changes. config: further fields of the
    kind `environments`. The other parameters are those of Motifs."""

    def __init__(self, url: Any = None, *, n_components: Optional[int] = None, updates: int = 2000, penalty: float = 0.01, learning_rate: float = 0.02,
                 random_state: int = 1, config: Optional[Dict[str, Any]] = None, name: Optional[str] = None, raise_not_learned: bool = False,
                 progress: Optional[bool] = None, token: Optional[str] = None, cafile: Optional[str] = None):
        self.url, self.n_components, self.updates, self.penalty, self.learning_rate = url, n_components, updates, penalty, learning_rate
        self.random_state, self.config, self.name, self.raise_not_learned = random_state, config, name, raise_not_learned
        self.progress, self.token, self.cafile = progress, token, cafile

    def _more_tags(self) -> Dict[str, Any]:
        return {"requires_y": True, "preserves_dtype": [np.float32]}

    def fit(self, X: Any, y: Any, groups: Optional[Sequence[Any]] = None) -> "Trees":
        """groups: the environment of each row. Without it, the rows alternate between two environments, because the method needs two;
        predict() then averages them."""
        if y is None:
            raise ValueError("This Trees estimator requires y to be passed, but the target y is None.")
        X, y = _check(self, X, y, y_numeric=True, ensure_min_samples=8)
        groups = [("even", "odd")[at % 2] for at in range(len(X))] if groups is None else [str(group) for group in groups]
        if len(groups) != len(X):
            raise ValueError(f"groups must have one name for each of the {len(X)} rows; got {len(groups)}")
        client = self._client()
        table = np.column_stack([X, _single(y)])
        names = np.array([f"x{at}" for at in range(X.shape[1])] + ["y"])
        data = client.upload(_npz({"x": table, "columns": names, "group": np.array(groups)}), "npz")
        config = {"data": "table", "dataset_name": data["name"], "target": "read", "features": X.shape[1], "unseen": 0, "test_share": 0.3 if len(X) < 100 else 0.1,
                  "latent": self.n_components or 0, "updates": self.updates, "penalty": self.penalty, "learning_rate": self.learning_rate,
                  "seed": int(self.random_state)}
        self._train("environments", config, None, self.name, client)
        self.n_components_ = self.job_.config["latent"]
        first = self.job_.ask("predict", X[:1])["answers"][0]
        self.groups_ = [row["name"] for row in first["environments"]]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The latent variables: [n][n_components_]."""
        job = self._fitted()
        return np.concatenate(list(job.ask_array("encode", _check(self, X, reset=False))))

    def predict(self, X: Any, groups: Optional[Sequence[Any]] = None) -> np.ndarray:
        """Predicts the outcome of each row in its environment; without groups, the mean over the environments."""
        job = self._fitted()
        outcomes = np.concatenate(list(job.ask_array("predict", _check(self, X, reset=False))))
        if groups is None:
            return outcomes.mean(1).astype(float)
        at = {name: index for index, name in enumerate(self.groups_)}
        unknown = sorted({str(group) for group in groups} - set(at))
        if unknown:
            raise ValueError(f"groups names unknown environments {unknown}; known are {self.groups_}")
        return outcomes[np.arange(len(outcomes)), [at[str(group)] for group in groups]].astype(float)

    def score(self, X: Any, y: Any, groups: Optional[Sequence[Any]] = None) -> float:
        """Returns the share of the variance of y that the predictions explain (R squared)."""
        y = np.asarray(y, float)
        return float(1 - ((y - self.predict(X, groups)) ** 2).sum() / ((y - y.mean()) ** 2).sum())


# ---- export -------------------------------------------------------------------------------------------------------------------------


def _crc32c_table() -> List[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC32C = _crc32c_table()


def _crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) of RFC 3720, appendix B.4."""
    sum = 0xFFFFFFFF
    for byte in data:
        sum = sum >> 8 ^ _CRC32C[(sum ^ byte) & 255]
    return sum ^ 0xFFFFFFFF


def _record(data: bytes) -> bytes:
    """A TFRecord: length, masked checksum of the length, data, masked checksum of the data."""
    def masked(part: bytes) -> bytes:
        sum = _crc32c(part)
        return struct.pack("<I", ((sum >> 15 | sum << 17) + 0xA282EAD8) & 0xFFFFFFFF)
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def _block(field: int, data: bytes) -> bytes:
    """A length-delimited field of a protobuf message."""
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _seconds(text: Optional[str]) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() if text else time.time()


class export:
    """Writes the history of a job in the form that other tools read."""

    @staticmethod
    def tensorboard(job: Job, folder: str) -> str:
        """Writes the series of the job as a TensorBoard event file in folder/ID and returns its path. `tensorboard --logdir FOLDER` shows
        it. The daemon stores no time for a point. The file gives points times between the job's start and its end, in proportion to their steps."""
        where = os.path.join(folder, job.id)
        os.makedirs(where, exist_ok=True)
        begin, end = _seconds(job.document.get("started_at")), _seconds(job.document.get("finished_at"))
        path = os.path.join(where, f"events.out.tfevents.{int(begin)}.{socket.gethostname()}.motifd")
        table = job.metrics()
        steps = table.pop("step")
        last = int(steps[-1]) if len(steps) else 1
        with open(path, "wb") as file:
            file.write(_record(struct.pack("<Bd", 9, begin) + _block(3, b"brain.Event:2")))
            for at, step in enumerate(steps.tolist()):
                values = b"".join(_block(1, _block(1, name.encode()) + struct.pack("<Bf", 21, column[at]))
                                  for name, column in table.items() if not np.isnan(column[at]))
                when = begin + (end - begin) * step / max(1, last)
                file.write(_record(struct.pack("<Bd", 9, when) + b"\x10" + _varint(step) + _block(5, values)))
        return path

    @staticmethod
    def mlflow(job: Job, url: str, experiment: str = "motifd", token: Optional[str] = None, cafile: Optional[str] = None) -> str:
        """Sends the configuration, the series and the figures of the result to an MLflow tracking server; returns the id of the run. The times
        of the points are computed as for tensorboard()."""
        server = Client(url, token, cafile)

        def post(path: str, body: Dict[str, Any]) -> Dict[str, Any]:
            return json.loads(server.request("POST", f"/api/2.0/mlflow/{path}", body, repeat=False).body or b"{}")

        try:
            found = server.get("/api/2.0/mlflow/experiments/get-by-name", experiment_name=experiment)["experiment"]["experiment_id"]
        except MotifdError as error:
            if error.status != 404:
                raise
            found = post("experiments/create", {"name": experiment})["experiment_id"]
        begin, end = (int(1000 * _seconds(job.document.get(name))) for name in ("started_at", "finished_at"))
        run = post("runs/create", {"experiment_id": found, "start_time": begin, "run_name": job.document.get("name") or job.id, "tags": [
            {"key": "motifd.job", "value": job.id}, {"key": "motifd.kind", "value": job.kind}, {"key": "motifd.verdict", "value": str(job.verdict)}]})
        run_id, table = run["run"]["info"]["run_id"], job.metrics()
        steps = table.pop("step").tolist()
        last = steps[-1] if steps else 1
        metrics = [{"key": name, "value": float(value), "timestamp": begin + int((end - begin) * step / max(1, last)), "step": step}
                   for name, column in table.items() for step, value in zip(steps, column.tolist()) if np.isfinite(value)]
        metrics += [{"key": f"result.{name}", "value": float(value), "timestamp": end, "step": steps[-1] if steps else 0}
                    for name, value in job.result.items() if isinstance(value, (int, float)) and np.isfinite(value)]
        config = job.config if job.config is not None else job.refresh().config
        params = [{"key": name, "value": str(value)[:500]} for name, value in (config or {}).items()]
        for at in range(0, len(params), 100):
            post("runs/log-batch", {"run_id": run_id, "params": params[at:at + 100]})
        for at in range(0, len(metrics), 1000):
            post("runs/log-batch", {"run_id": run_id, "metrics": metrics[at:at + 1000]})
        status = {"succeeded": "FINISHED", "failed": "FAILED", "cancelled": "KILLED"}.get(job.state, "RUNNING")
        post("runs/update", {"run_id": run_id, "status": status, **({"end_time": end} if status != "RUNNING" else {})})
        return run_id
