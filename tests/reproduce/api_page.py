#!/usr/bin/env python3
"""Writes docs/reference/api.md from a run of the daemon: a request and its answer for each route in /openapi.json.

usage: api_page.py MOTIFD > docs/reference/api.md       writes the page
       api_page.py MOTIFD --check docs/reference/api.md  runs every example and compares routes, requests and statuses with the page"""
import hashlib
import json
import os
import random
import re
import shlex
import socket
import sqlite3
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import TINY, Daemon  # noqa: E402
from event_stream import Stream  # noqa: E402

TABLE = "".join(f"{i % 7},{i % 5},{i % 3},{'ab'[i % 2]}\n" for i in range(40))
CSV = "one,two,three,label\n" + TABLE
SAMPLE = {"inputs": [{"sample": {"seed": 3}}]}
SIGNAL = {"model": {"layers": [{"name": "pair", "filters": [[1, 1, 1, 1], [1, -1, 1, -1]]}]},
          "signal": [0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0], "nonzeros": [1]}
SEQUENCES = {"width": 8, "units": 2, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "batch": 4, "validation_every": 40,
             "validation_samples": 8, "test_samples": 8, "motif_samples": 8, "stage_samples": 0, "checkpoint_every": 40, "total_samples": 80,
             "presence_weight": 0, "density_start": 0.3, "density_final": 0.3, "dataset_fit": False, "motifs": 3, "lstm": False}
FACTORS = {"epochs": 4, "restarts": 1, "screen_epochs": 2}
DICTIONARY = {"features": 16, "inputs": 6, "roots": 2, "width": 8, "l0": 2, "batch": 64, "total_samples": 6400, "test_samples": 500,
              "pursuit_samples": 20}
PATHWAYS = {"filters": 2, "filter_length": 32, "length": 128, "nonzeros": "1,2,4", "trials": 10}
STUDY = {"kind": "pathways", "config": {name: value for name, value in PATHWAYS.items() if name != "trials"}, "grid": {"trials": [10, 20]}, "seeds": 2}
WORDS_MAX, ITEMS_MAX, LINES_MAX = 100, 2, 45
MEMBERS_MAX = (30, 6, 4, 3)  # members of an object that the page shows, by nesting depth

INTRO = """# HTTP API

*This page is generated: `tests/reproduce/api_page.py build/motifd > docs/reference/api.md` writes it.*

It shows a request and its answer for each route, from a run of the daemon; a test runs every example again. Answers are shortened (`...`). Numbers, ids
and times are those of this run. For programs, `GET /openapi.json` describes the same interface with every field.

    url=http://127.0.0.1:8080
    id=$(curl -s $url/v1/jobs?limit=1 | jq -r .jobs[0].id)

## Conventions

- **Authentication.** If the daemon requires tokens, send the header `Authorization: Bearer TOKEN` ([deploy](../how-to/deploy.md#tokens)).
- **Errors** are `application/problem+json`. A 422 lists every fault with a JSON pointer to its field:

      {"title": "Some fields are invalid", "status": 422, ...,
       "errors": [{"pointer": "/config/width", "detail": "must be an integer in [1, 1024]; got 0"}]}

  Each route below lists its own errors. Queries and the routes of trainers also have the errors of the two tables below. [Limits](limits.md) lists
  the errors that any route can return.

- **Safe repetition.** `POST /v1/jobs`, `POST /v1/studies` and `POST /v1/imports` with an `Idempotency-Key` can be repeated; the same key returns the
  same job or study. Keys belong to a token: another token with the same key gets its own job.

- **Configuration.** A request gives the fields of the job's kind ([fields](fields.md)) as flat names or as objects by group
  (`{"model": {"width": 32}}`). Boolean fields accept true, false, "yes" and "no". An answer contains the fields that apply to the job as
  flat names, changed and basic ones first. Its list `warnings` names the fields that the client set but that have no effect.

- **Pages.** A list returns `next_cursor`; pass it as `cursor` to get the next page.
- **Conditional requests.** Answers that a client may poll have an `ETag`. A client that sends it in `If-None-Match` gets a 304 while the answer is the
  same.
- **Request ids.** Each answer has an `X-Request-Id`; the daemon's log contains it.
"""

# Errors that many routes have. The page shows them once, and the routes refer to them: anchor → (heading, sentence, {status: cause}).
SHARED = {
    "errors-of-queries": ("Errors of queries", "A query asks the model of a job. It can return these errors:", {
        "404": "There is no such job, checkpoint or item, or its kind does not answer this query",
        "406": "The query cannot produce any of the media types in Accept",
        "409": "A job has no checkpoint yet, or its model cannot answer this query",
        "429": "Too many queries are running; Retry-After gives the time to wait",
        "503": "There is not enough memory at the moment",
        "504": "The query took longer than --query-seconds"}),
    "errors-of-trainers": ("Errors of trainers", "The routes below `/v1/jobs/{id}/run` serve the process that trains a job. They can return these errors:", {
        "401": "The token is not that of the job's trainer, or the trainer's run has ended",
        "409": "Another trainer has taken over (the epoch is an earlier one), or the run ended during the request"}),
}

JOB = """## The job document

Many routes return a job document. Below they show `id`, `kind`, `state` and `requested_state` only. The complete document of a finished job:
"""

MEMBERS = """
| member | meaning |
| --- | --- |
| `state` | `queued`, `running`, `paused`, `succeeded`, `failed` or `cancelled` |
| `requested_state` | the state that a client requested (`paused`, `cancelled`) until the job reaches it; else null |
| `blocked` | why a running job waits until a write succeeds (`disk full`); else null |
| `task` | `train`, or `evaluate` for an evaluation on request |
| `owner` | the name of the token that submitted the job; null without a token |
| `config` | the fields that apply to the job, with every value that the daemon filled in |
| `facts` | what the daemon read from the job's data set, such as `dataset_cols`; a configuration cannot set it |
| `study` | the id of the study that the job belongs to; null without one |
| `from` | the job and checkpoint that the training started from; null for a fresh start |
| `evaluation` | what an evaluation job measures; null for a training |
| `progress` | the position of the training, and the remaining time in seconds |
| `result` | null until the job has succeeded |
| `error` | why the job failed; null otherwise |
| `links` | the paths of everything that belongs to the job |
"""

EVENTS = """
The answer is a stream of server-sent events, which stays open. The daemon stores each event and gives it an `id`. Ids grow over all jobs, also across
restarts of the daemon.

To continue after an interruption, a client sends the id of the last event that it received, in the header `Last-Event-ID` (a browser's `EventSource`
does this by itself) or in the parameter `after`. It then receives every later event exactly once. The first block of a stream is no event; its `id` is
the position at which the stream begins.

There are four kinds of events: `state`, `progress`, `metric` (new points) and `checkpoint`. Each event names its `job` and its `time`. For each job, the
daemon keeps only the newest 600 `progress` events.

The stream of one job begins with the job's first event and ends with its last one. If the job has ended and the client has received every event, the
daemon answers 204. The stream of all jobs begins with the next event.

The daemon sends a comment every 15 s (`--event-heartbeat-ms`). It closes a stream whose reader accepts nothing for 60 s (`--event-stall-ms`).
[Limits](limits.md) says how many streams may be open.
"""


def shorten(value, depth=0):
    """Returns the value with long texts, lists and objects cut. A cut object states how many members are missing."""
    if isinstance(value, dict):
        most = MEMBERS_MAX[min(depth, len(MEMBERS_MAX) - 1)]
        kept = {name: shorten(item, depth + 1) for name, item in list(value.items())[:most]}
        return {**kept, "...": f"{len(value) - most} more"} if len(value) > most else kept
    if isinstance(value, list):
        return [shorten(item, depth + 1) for item in value[:ITEMS_MAX]] + (["..."] if len(value) > ITEMS_MAX else [])
    if isinstance(value, str) and len(value) > WORDS_MAX:
        return value[:WORDS_MAX] + "..."
    return float(f"{value:.6g}") if isinstance(value, float) else value


def layout(value, indent=0, width=120):
    """Formats the value as JSON, on one line if it fits into `width` columns."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= width or not isinstance(value, (dict, list)):
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        items = [f"{json.dumps(name)}: {layout(item, indent + 2, width - len(name) - 4)}" for name, item in value.items()]
    else:
        items = [layout(item, indent + 2, width) for item in value]
    ends = "{}" if isinstance(value, dict) else "[]"
    return f"{ends[0]}\n{inner}" + f",\n{inner}".join(items) + f"\n{' ' * indent}{ends[1]}"


def is_job(content):
    return isinstance(content, dict) and {"id", "kind", "state", "config", "links"} <= content.keys()


def show(headers, content):
    if is_job(content):
        return json.dumps({**{name: content.get(name) for name in ("id", "kind", "state", "requested_state")}, "...": "a job document"})
    if isinstance(content, (dict, list)):
        lines = layout(shorten(content)).splitlines()
        return "\n".join(lines[:LINES_MAX] + ["..."] * (len(lines) > LINES_MAX))
    kind = headers.get("Content-Type", "")
    if kind.startswith("text/"):
        lines = content.decode().splitlines()
        return "\n".join(line[:150] for line in lines[:6]) + ("\n..." if len(lines) > 6 else "")
    return f"({kind}, a file)" if content else ""


# They need an issuer and a browser; wire_oidc sends them.
SIGN_IN = {
    ("GET", "/v1/sign-in"): ("curl -si $url/v1/sign-in", 303, "Location: https://id.example.org/auth?response_type=code&client_id=motif&..."),
    ("GET", "/v1/sign-in/callback"): ("curl -si \"$url/v1/sign-in/callback?code=...&state=...\" -H 'Cookie: motif_sign_in=...'", 303,
                                      "Set-Cookie: motif_session=...; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax"),
    ("POST", "/v1/sign-out"): ("curl -s -X POST $url/v1/sign-out -H 'Cookie: motif_session=...' -H \"Origin: $url\" -H 'X-Motif: 1'", 204, b""),
}


class Run:
    """Runs the examples in an order in which they succeed and fills `examples`: (method, pattern) → (command, status, answer)."""

    def __init__(self, daemon, database):
        self.daemon, self.database, self.examples, self.job = daemon, database, {}, ""
        self.document = daemon.ask("GET", "/openapi.json")[2]

    def example(self, method, pattern, query="", body=None, headers=None, names=None, raw=None, record=True):
        names = names or {}
        path = re.sub(r"{(\w+)}", lambda m: str(names[m.group(1)]), pattern)
        shown = re.sub(r"{(\w+)}", lambda m: f"${m.group(1)}" if m.group(1) in ("id", "sha256") else str(names[m.group(1)]), pattern)
        headers = dict(headers or {})
        status, answered, content = self.daemon.ask(method, path + query, raw if body is None else body, headers=headers)
        words = ["curl -s"] + ([f"-X {method}"] if method not in ("GET", "POST") or (method == "POST" and body is None and raw is None) else [])
        words.append(f'"$url{shown}{query}"' if query else f"$url{shown}")
        words += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
        if body is not None:
            words += ["-H 'Content-Type: application/json'", f"-d '{json.dumps(body)}'"]
        if raw is not None:
            words.append("--data-binary @file")
        if (method, pattern) == ("GET", "/v1/jobs/{id}"):
            self.job = layout(shorten(content))
        if record:
            self.examples[method, pattern] = (" ".join(words), status, show(answered, content))
        return status, answered, content

    def await_state(self, job, *states):
        for _ in range(1200):
            document = self.daemon.ask("GET", f"/v1/jobs/{job}")[2]
            if document["state"] in states:
                return document
            time.sleep(0.05)
        raise AssertionError(f"{job} is {document['state']}")

    def await_study(self, study, state):
        for _ in range(1200):
            document = self.daemon.ask("GET", f"/v1/studies/{study}?brief=1")[2]
            if document["state"] == state:
                return
            time.sleep(0.05)
        raise AssertionError(f"study {study} is {document['state']}")

    def stream(self, pattern, job=None):
        path = pattern.replace("{id}", job or "")
        stream = Stream(self.daemon.port, path, last=0)
        blocks = []
        for block in stream.blocks():
            blocks.append("\n".join(f"{name}: {value[:110] + '...' if len(value) > 110 else value}" for name, value in block.items()))
            if len(blocks) == 4:
                break
        stream.close()
        command = f"curl -sN $url{pattern.replace('{id}', '$id')} -H 'Last-Event-ID: 0'"
        self.examples["GET", pattern] = (command, stream.status, "\n\n".join(blocks) + "\n\n...")

    def broken_upload(self, data):
        """Sends the first half of an upload, closes the connection, and returns the hash under which the upload can continue."""
        digest = hashlib.sha256(data).hexdigest()
        half = socket.create_connection(("127.0.0.1", self.daemon.port))
        half.sendall((f"PUT /v1/datasets/again?sha256={digest} HTTP/1.1\r\nHost: 127.0.0.1:{self.daemon.port}\r\n"
                      f"Content-Type: text/csv\r\nContent-Length: {len(data)}\r\n\r\n").encode() + data[:len(data) // 2])
        time.sleep(0.5)
        half.close()
        for _ in range(100):
            status = self.daemon.ask("GET", f"/v1/uploads/{digest}")[0]
            if status == 200:
                break
            time.sleep(0.05)
        return digest

    def tokens(self):
        """Sends the requests of `motifd token`. The page shows a made-up key and a made-up token. From the first token on, the daemon requires one."""
        with open(self.database + "-key", encoding="ascii") as file:
            key = file.read().split()[1]
        for method, path, query in (("POST", "/v1/tokens", "?name=laptop&scope=read&expires=90d"), ("GET", "/v1/tokens", ""),
                                    ("POST", "/v1/tokens/rotation", "?name=laptop&overlap=1h"), ("DELETE", "/v1/tokens", "?name=laptop")):
            self.example(method, path, query, headers={"Authorization": f"Bearer {key}"})
            command, status, answer = self.examples[method, path]
            hidden = re.sub(r"motif_[\w-]+|\d{4}-\d\d-\d\d \d\d:\d\d", lambda found: "motif_" + "A" * 43 if found[0][0] == "m" else "2026-01-01 12:00",
                            answer)
            self.examples[method, path] = (command.replace(key, "motif_" + "K" * 43), status, hidden)

    def trainer(self, job):
        """Sends the messages of motif-train. The daemon shows a run's token to motif-train only, so this function writes a known token into the database."""
        token, at, names = "motifrun_" + "A" * 43, "/v1/jobs/{id}/run", {"id": job}
        self.await_state(job, "running")
        with sqlite3.connect(self.database, timeout=30) as database:
            database.create_function("row_digest", -1, lambda *values: bytes(16))  # of a row that this process changes; nobody verifies it
            database.execute("INSERT INTO lease(job, state, epoch, hash, executor, foreign_id, sequence, tries, newest, seen)"
                             " SELECT num, 'offered', 1, ?, 'process', '', 0, 1, 0, 0 FROM job WHERE id = ?",
                             (hashlib.sha256(token.encode()).digest(), job))
        database.close()
        bearer = {"Authorization": f"Bearer {token}"}
        weights = b"all that training needs"
        announced = {"step": 500, "samples": 2000, "density": 0.01, "accuracy": 0.9, "stage_end": False, "bytes": len(weights),
                     "sha256": hashlib.sha256(weights).hexdigest()}
        raw = {**bearer, "Content-Type": "application/octet-stream"}
        self.example("POST", at, names=names, headers=bearer)
        self.example("POST", at + "/reports", "?epoch=2", names=names, headers=bearer,
                     body={"sequence": 1, "series": {"loss": [[4000000, 0.25]]}, "progress": '{"step":1000}', "steps": 10})
        self.example("PUT", at + "/artifacts/{name}", "?epoch=2&type=text/csv", names={**names, "name": "table.csv"}, headers=raw, raw=b"a,b\n")
        self.example("POST", at + "/checkpoints", "?epoch=2", names=names, headers=bearer, body=announced)
        seq = self.example("PUT", at + "/upload", "?epoch=2&offset=0", names=names, headers=raw, raw=weights)[2]["seq"]
        self.example("GET", at + "/checkpoints", "?epoch=2", names=names, headers=bearer)
        self.example("GET", at + "/checkpoints/{seq}", "?epoch=2", names={**names, "seq": "latest"}, headers=bearer)
        assert seq > 0
        self.example("POST", at + "/end", "?epoch=2", names=names, headers=bearer, body={"end": "yielded"})
        self.daemon.ask("POST", f"/v1/jobs/{job}/cancel")
        self.await_state(job, "cancelled")

    def inference(self, job):
        """The Open Inference Protocol, with a model of a table."""
        for path in ("/v2", "/v2/health/live", "/v2/health/ready"):
            self.example("GET", path)
        at, names = "/v2/models/{id}", {"id": job}
        model = self.example("GET", at, names=names)[2]
        self.example("GET", at + "/ready", names=names)
        row = {"name": "input", "datatype": "FP32", "shape": [1, model["inputs"][0]["shape"][1]], "data": [0.5] * model["inputs"][0]["shape"][1]}
        self.example("POST", at + "/infer", names=names, body={"inputs": [row], "outputs": [{"name": "factors"}]})
        names["seq"] = model["versions"][-1]
        self.example("GET", at + "/versions/{seq}", names=names)
        self.example("GET", at + "/versions/{seq}/ready", names=names)
        self.example("POST", at + "/versions/{seq}/infer", names=names, body={"inputs": [row]})

    def sequences(self):
        """Sites of a model of DNA."""
        bases = ["".join(random.Random(i).choices("ACGT", k=60)) for i in range(60)]
        text = "".join(f">chr1:{1000 * i}-{1000 * i + 60} {'ab'[i % 2]}\n{one}\n" for i, one in enumerate(bases))
        self.daemon.ask("PUT", "/v1/datasets/peaks?format=fasta", text.encode(), "application/octet-stream")
        job = self.daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": "peaks", **SEQUENCES}})[2]["id"]
        self.await_state(job, "succeeded")
        at, names, fasta = "/v1/jobs/{id}", {"id": job}, {"Content-Type": "text/x-fasta"}
        mark = self.example("GET", at + "/marks", "?samples=20", names=names)[2]["marks"][0]
        place = f"?channel={mark['channel']}&row={mark['position'][0]}&col={mark['position'][1]}"
        self.example("GET", at + "/marks/{sample}", place, names={**names, "sample": mark["sample"]})
        self.example("GET", at + "/evidence", "?samples=20", names=names)
        card = self.example("GET", at + "/review", "?count=2&samples=20", names=names)[2]["cards"][0]
        self.example("POST", at + "/review", "?count=2&samples=20", body={"answers": [{"id": card["id"], "answer": "yes"}]}, names=names)
        self.example("GET", at + "/logos", names=names)
        self.example("GET", at + "/logos/{channel}", names={**names, "channel": 2}, headers={"Accept": "image/png"})
        self.example("GET", at + "/sites", "?coordinates=bedtools&samples=9", names=names, headers={"Accept": "text/x-bed"})
        self.example("POST", at + "/sites", names=names, headers=fasta, raw=text.encode())
        self.example("GET", at + "/pairs", "?set=test", names=names)
        self.example("GET", at + "/rules", "?channel=0&other=1&samples=20", names=names)
        self.example("GET", at + "/name-rules", "?samples=20", names=names)
        self.example("GET", at + "/signal", "?channel=1&samples=9", names=names)
        self.example("POST", at + "/signal", "?coordinates=bedtools", names=names, headers=fasta, raw=text.encode())

    def go(self):
        example, at = self.example, "/v1/jobs/{id}"
        small = {"kind": "sparling", "preset": "digitcircle-quick", "config": TINY}
        job = example("POST", "/v1/jobs", body={**small, "name": "first"}, headers={"Idempotency-Key": "my-first"})[2]["id"]
        long = {**small, "config": {**TINY, "total_samples": 10**6}}
        self.await_state(job, "succeeded")
        other = self.daemon.ask("POST", "/v1/jobs", {**small, "config": {**TINY, "seed": 2}})[2]["id"]
        self.await_state(other, "succeeded")
        of = {"id": job}
        example("GET", "/v1/jobs", "?state=succeeded&limit=1")
        example("GET", at, names=of)
        example("PATCH", at, body={"name": "the first one"}, names=of)
        example("GET", at + "/metrics", "?name=loss,accuracy&max_points=3", names=of)
        self.stream(at + "/events", job)
        self.stream("/v1/events")
        example("GET", at + "/checkpoints", names=of)
        example("GET", at + "/checkpoints/{seq}", names={**of, "seq": "latest"})
        for query in ("/motifs", "/predict", "/scores"):
            example("POST", at + query, body=SAMPLE, names=of)
        factors = self.daemon.ask("POST", "/v1/jobs", {"kind": "factors", "preset": "synthetic", "config": FACTORS})[2]["id"]
        self.await_state(factors, "succeeded")
        example("POST", at + "/encode", body=SAMPLE, names={"id": factors})
        self.inference(factors)
        self.sequences()
        example("POST", at + "/interventions", body={"inputs": [{"sample": {"seed": 3}, "edits": [{"channel": 1, "delete": True}]}]},
                names=of)
        example("POST", at + "/compare", body={"with": other, "samples": 20}, names=of)
        example("GET", at + "/channels", "?samples=20", names=of)
        example("GET", at + "/channels/{channel}", "?samples=20", names={**of, "channel": 1})
        latents = self.daemon.ask("POST", "/v1/jobs", {"kind": "dictionary", "config": DICTIONARY})[2]["id"]
        self.await_state(latents, "succeeded")
        example("GET", at + "/latents", "?count=2&sort=rate", names={"id": latents})
        example("GET", at + "/latents/{latent}", names={"id": latents, "latent": 1})
        example("POST", at + "/decode", body={"inputs": [{"array": [0, 2.5, 0, 0, 0, 0, 1, 0]}]}, names={"id": latents})
        example("POST", at + "/steer", body={**SAMPLE, "set": "1=2.5"}, names={"id": latents})
        example("GET", at + "/saelens", names={"id": latents})
        example("GET", at + "/attestation", names=of)
        example("GET", at + "/report", names=of)
        example("GET", at + "/onnx", names=of)
        bundle = example("GET", at + "/bundle", names=of)[2]
        example("POST", "/v1/imports", "?name=borrowed", raw=bundle, headers={"Content-Type": "application/octet-stream"})
        example("POST", at + "/evaluation", body={"samples": 20, "seed": 5}, names=of)
        example("GET", at + "/evaluation", names=of)
        artifacts = example("GET", at + "/artifacts", names=of)[2]["artifacts"]
        picture = next(item["name"] for item in artifacts if item["name"].endswith(".csv"))
        example("GET", at + "/artifacts/{name}", names={**of, "name": picture})
        paths = self.daemon.ask("POST", "/v1/jobs", {"kind": "pathways", "config": PATHWAYS})[2]["id"]
        self.await_state(paths, "succeeded")
        example("GET", at + "/pathways", "?seed=1", names={"id": paths})
        example("POST", "/v1/pathways/recover", body=SIGNAL)
        steered = self.daemon.ask("POST", "/v1/jobs", long)[2]["id"]
        self.await_state(steered, "running")
        for verb, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
            example("POST", f"{at}/{verb}", names={"id": steered})
            self.await_state(steered, state)
        example("DELETE", at, names={"id": steered})
        study, one = "/v1/studies/{id}", {"id": example("POST", "/v1/studies", body={**STUDY, "name": "noise"})[2]["id"]}
        self.await_study(one["id"], "succeeded")
        example("GET", "/v1/studies", "?limit=1")
        example("GET", study, names=one, headers={"Accept": "text/csv"})
        example("GET", study + "/chart", "?x=trials", names=one)
        slow = {"id": self.daemon.ask("POST", "/v1/studies", {**long, "seeds": 3})[2]["id"]}
        for verb in ("pause", "resume", "cancel"):
            example("POST", f"{study}/{verb}", names=slow)
            self.await_study(slow["id"], {"pause": "paused", "resume": "running", "cancel": "cancelled"}[verb])
        example("PATCH", study, body={"visibility": "everyone"}, names=one)
        example("DELETE", study, names=slow)
        self.trainer(self.daemon.ask("POST", "/v1/jobs", long)[2]["id"])
        example("PUT", "/v1/datasets/{name}", raw=CSV.encode(), headers={"Content-Type": "text/csv"}, names={"name": "table"})
        example("GET", "/v1/datasets")
        for tail in ("", "/division", "/preview"):
            example("GET", "/v1/datasets/{name}" + tail, names={"name": "table"})
        example("PATCH", "/v1/datasets/{name}", body={"visibility": "private"}, names={"name": "table"})
        example("DELETE", "/v1/datasets/{name}", names={"name": "table"})
        example("GET", "/v1/uploads/{sha256}", names={"sha256": self.broken_upload((CSV + TABLE * 200).encode())})
        example("GET", "/v1/kinds")
        example("GET", "/v1/kinds/{kind}", names={"kind": "superposition"})
        example("PUT", "/v1/policies", body={"policies": [{"kind": "*", "keep_newest": 20, "keep_days": 90}]})
        for path in ("/v1/policies", "/v1/policies/dry-run", "/v1/system", "/v1/usage", "/v1/session", "/v1/audit", "/healthz", "/readyz", "/metrics", "/openapi.json"):
            example("GET", path)
        example("GET", "/", headers={"Accept": "application/json"})
        if "/assets/{name}" in self.document["paths"]:
            page = self.daemon.ask("GET", "/", headers={"Accept": "text/html"})[2]
            found = re.search(rb"/assets/([\w.-]+)", page if isinstance(page, bytes) else b"")
            example("GET", "/assets/{name}", names={"name": found.group(1).decode() if found else "none"})
        example("GET", "/motifd.py")
        self.tokens()


def table(titles, rows):
    """Returns a table of Markdown. Rows are pairs of texts."""
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in [titles, ("---", "---"), *rows])


def describe(operation):
    """Returns the query parameters and the errors of an operation, from the OpenAPI document: pairs of a name or status and a text."""
    parameters = [(f"`{parameter['name']}`", parameter.get("description", "")) for parameter in operation.get("parameters", [])
                  if parameter.get("in") == "query"]
    problems = [(status, answer["description"].rstrip(".")) for status, answer in operation["responses"].items()
                if status.isdigit() and status >= "4"]
    return parameters, problems


def errors(problems):
    """Returns the errors of a route: a sentence that refers to the shared ones, and a table of the others. One or two errors need no table."""
    own, links = list(problems), []
    for anchor, (heading, _, causes) in SHARED.items():
        if all(pair in own for pair in causes.items()):
            own = [pair for pair in own if pair not in causes.items()]
            links.append(f"the [{heading.lower()}](#{anchor})")
    if len(own) > 2:
        return (f"Errors: {' and '.join(links)}, and\n\n" if links else "") + table(("error", "cause"), own) + "\n"
    return f"Errors: {'; '.join([f'{status} {cause}' for status, cause in own] + links)}.\n"


def shared():
    return "\n".join(f"## {heading}\n\n{sentence}\n\n{table(('error', 'cause'), causes.items())}\n"
                     for heading, sentence, causes in SHARED.values())


def page(run):
    job = "\n".join(f"    {line}" for line in run.job.splitlines())
    out = [INTRO, shared(), JOB, job, MEMBERS]
    for pattern, methods in run.document["paths"].items():
        for method, operation in methods.items():
            if method == "parameters":
                continue
            command, status, answer = run.examples[method.upper(), pattern]
            parameters, problems = describe(operation)
            out.append(f"## {method.upper()} {pattern}\n\n{operation['summary']}.\n")
            if pattern == "/v1/jobs/{id}/events":
                out.append(EVENTS.strip() + "\n")
            if parameters:
                out.append(table(("parameter", "meaning"), parameters) + "\n")
            shown = "".join(f"\n    {line}".rstrip() for line in answer.splitlines())
            out.append(f"    $ {command}\n    {status}{shown}\n")
            if problems:
                out.append(errors(problems))
    return "\n".join(out)


def outline(text):
    """Returns the routes, requests and statuses of a page: the parts that do not change between runs."""
    hidden = re.sub(r"[0-9a-f]{64}|[0-9A-HJKMNP-TV-Z]{26}|/assets/[\w.-]+", "*", text)
    hidden = re.sub(r"(\$url\*)\n    \d+", r"\1\n    0", hidden)  # the status is 404 in a build without the dashboard
    return re.findall(r"^(## .*|    \$ .*\n    \d+)$", hidden, re.M)


def steady(text):
    """Replaces ids, times and measurements, so that the page changes only when the API does."""
    ids = {}
    text = re.sub(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", lambda found: ids.setdefault(found[0], f"01JF{len(ids) + 1:022d}"), text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "2026-01-01T09:00:00.000Z", text)
    text = re.sub(r'("(?:samples_per_second|gflops_per_thread|\w*seconds\w*|(?:file|free|memory|database|wal)_bytes)": )\d+\.?\d*\b', r"\g<1>100", text)
    text = re.sub(r'("next_cursor": )"[^"]*"', r'\1"MDFKRjAw"', text)
    return re.sub(r'("(?:instance|request)": )"[0-9a-f]{12}-\w+"', r'\1"0123456789ab-1"', text)


def main(motifd, mode=None, file=None):
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(motifd, os.path.join(folder, "db"), "--data", os.path.join(folder, "data"))
        try:
            run = Run(daemon, os.path.join(folder, "db"))
            run.go()
        finally:
            daemon.end()
        run.examples.update(SIGN_IN)
        routes = {(method.upper(), pattern) for pattern, methods in run.document["paths"].items() for method in methods
                  if method != "parameters"}
        lacking = sorted(routes - run.examples.keys())
        refused = [f"{method} {pattern}: {status}" for (method, pattern), (_, status, _) in run.examples.items()
                   if status >= 300 and pattern != "/assets/{name}" and (method, pattern) not in SIGN_IN]
        if lacking or refused:
            sys.exit(f"routes without an example: {lacking}\nexamples that returned an error: {refused}")
        if mode != "--check":
            print(steady(page(run)), end="")
            return
        with open(file, encoding="utf-8") as kept:
            old, new = outline(kept.read()), outline(page(run))
        if old != new:
            sys.exit(f"{file} differs from the answers of the daemon; generate it again:\n" +
                     "\n".join(f"- {line}" for line in old if line not in new) + "\n" +
                     "\n".join(f"+ {line}" for line in new if line not in old))
        print(f"ok api: {len(routes)} routes answer as the page shows")


if __name__ == "__main__":
    main(*sys.argv[1:])
