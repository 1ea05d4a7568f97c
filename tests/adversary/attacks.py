"""The attacks. Each function makes one attempt and returns. The caller calls it again and again, in several threads. `target` is the daemon, `dice` the random
generator of the thread."""
import concurrent.futures
import hashlib
import os
import re
import select
import socket
import subprocess
import time

from models import hostile
from target import BYTES, UNFINISHED
from values import TINY, draw, draw_job
from bombs import bomb, sparse_folder  # in the folder that target.py adds to the path

JOB_SECONDS = 15  # the attack cancels a job that runs longer
CANCEL_SECONDS = 30  # the daemon promises two; a sanitizer and a busy machine slow it down
PREDICTED_MOST, BYTES_MOST = 1.0, 300e6  # seconds and bytes; of larger jobs, only the estimate is requested
SUBMITTED = (201, 403, 429, 503)
ENDLESS = {**TINY, "plateau_validations": 0, "total_samples": 100000000, "checkpoint_every": 400}
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
NAMES = ("\x1b]0;title\x07", "a\x1b[31mred", "\x9b2J", "back\bwards", "\u202egnp.exe", "line\nbreak", "\x00", "\u2066isolated", "x" * 10000, "é", "../up", "ok", "")
CSV = b"a,b,label\n" + b"1.5,2.5,x\n0.5,1,y\n" * 60


def same_time(calls):
    """Calls all functions at the same time; returns their results."""
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def owner(dice):
    return dice.choice(("alice", "bob"))


# ---- configurations ------------------------------------------------------------------------------------------


def configurations(target, dice):
    """Submits a configuration at the ends of its ranges. The daemon must refuse it with a reason, or run its job and cancel it in time."""
    body = draw_job(target.kinds, dice)
    status, plan = target.ask("alice", "POST", "/v1/jobs?dry_run=1", body)
    if status not in (None, 200, 422):
        target.fail(f"a dry run is answered {status}: {plan}; {body}")
    if status != 200 or plan["predicted_seconds"] is None or plan["predicted_seconds"] > PREDICTED_MOST or plan["bytes"] > BYTES_MOST:
        return
    token = owner(dice)
    status, job = target.ask(token, "POST", "/v1/jobs", {**body, "executor": dice.choice(("thread", "process"))})
    if status not in (None, *SUBMITTED):
        target.fail(f"a job that a dry run accepts is answered {status}: {job}; {body}")
    if status == 201:
        follow(target, token, job["id"], body)


def follow(target, token, job, body):
    until = time.monotonic() + JOB_SECONDS
    while not target.stop.is_set() and time.monotonic() < until:
        if target.job(job).get("state") not in UNFINISHED:
            return
        time.sleep(0.1)
    target.ask(token, "POST", f"/v1/jobs/{job}/cancel")
    begun = time.monotonic()
    while not target.ending and target.job(job).get("state") in UNFINISHED:
        if time.monotonic() - begun > CANCEL_SECONDS:
            target.fail(f"a job is not cancelled within {CANCEL_SECONDS} s: {body}")
            return
        time.sleep(0.1)


# ---- imports ----------------------------------------------------------------------------------------------------


QUERIES = (("POST", "/motifs", {"inputs": [{"sample": {"seed": 1}}, {"sample": {"seed": 2**53 - 1}}]}), ("POST", "/predict", {"inputs": [{"sample": {"seed": 3}}]}),
           ("POST", "/interventions", {"inputs": [{"sample": {"seed": 3}, "edits": [{"channel": 1, "delete": True}]}]}), ("GET", "/channels?samples=3", None),
           ("GET", "/channels/0?samples=3&first=4294966295", None), ("GET", "/onnx", None), ("GET", "/bundle?checkpoints=all", None), ("GET", "/attestation", None), ("GET", "/report", None),
           ("GET", "/checkpoints/latest", None), ("GET", "/metrics", None), ("POST", "/evaluation", {"samples": 3, "seed": 1}))


def imports(target, dice):
    """Imports a hostile model. The daemon must refuse it, or answer every query to it."""
    token, model = owner(dice), hostile(target.model, target.kinds["sparling"]["fields"], draw, dice)
    if dice.random() < 0.2:
        model = target.bundle[:dice.randrange(len(target.bundle))] + model[:dice.choice((0, 500))]
    send = lambda: target.ask(token, "POST", "/v1/imports", model, BYTES)  # noqa: E731
    answers = same_time([send] * 3) if dice.random() < 0.1 else [send()]
    for status, job in answers:
        if status == 201:
            for method, path, body in dice.sample(QUERIES, 6):
                target.ask(token, method, f"/v1/jobs/{job['id']}{path}", body)
            target.ask(token, "POST", f"/v1/jobs/{job['id']}/compare", {"with": target.trained, "samples": 3})
            target.ask("root", "DELETE", f"/v1/jobs/{job['id']}")


# ---- races --------------------------------------------------------------------------------------------------------


def races(target, dice):
    """Two tokens use the same idempotency key. Each token must get one job. Simultaneous actions on both jobs must leave each in one state."""
    body = {"kind": "sparling", "preset": "digitcircle-quick", "config": dice.choice((TINY, ENDLESS)), "executor": dice.choice(("thread", "process"))}
    key = {"Idempotency-Key": f"race-{dice.getrandbits(60)}"}
    tokens = ["alice", "bob"] * 3
    answers = same_time([lambda token=token: target.ask(token, "POST", "/v1/jobs", body, headers=key) for token in tokens])
    made = {token: {job["id"] for (status, job), own in zip(answers, tokens) if own == token and status in (200, 201)} for token in set(tokens)}
    if any(len(jobs) > 1 for jobs in made.values()) or made["alice"] & made["bob"]:
        target.fail(f"one idempotency key made {made}")
    jobs = sorted(made["alice"] | made["bob"])
    calls = [lambda job=job, act=act, token=owner(dice): target.ask(token, "POST", f"/v1/jobs/{job}/{act}") for job in jobs for act in ("pause", "resume", "cancel")]
    calls += [lambda job=job: target.ask("root", "DELETE", f"/v1/jobs/{job}") for job in jobs]
    calls += [lambda job=job: target.ask("alice", "PATCH", f"/v1/jobs/{job}", {"priority": dice.randrange(-9, 9)}) for job in jobs]
    calls += [lambda job=job: target.ask("bob", "GET", f"/v1/jobs/{job}{dice.choice(('', '/metrics', '/checkpoints', '/bundle', '/artifacts'))}") for job in jobs]
    dice.shuffle(calls)
    if calls:
        same_time(calls)
    for job in jobs:
        target.ask("root", "POST", f"/v1/jobs/{job}/cancel")


# ---- uploads ------------------------------------------------------------------------------------------------------


def connect(target, receive_buffer=None):
    talk = socket.socket()
    if receive_buffer:
        talk.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    talk.settimeout(5)
    talk.connect(("127.0.0.1", target.daemon.port))
    return talk


def head(target, token, method, path, length, kind="text/csv"):
    return (f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{target.daemon.port}\r\nAuthorization: Bearer {target.tokens[token]}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n").encode()


def broken_upload(target, token, name, body, sent):
    """Announces a whole body and sends only its beginning."""
    try:
        with connect(target) as talk:
            talk.sendall(head(target, token, "PUT", f"/v1/datasets/{name}?sha256={hashlib.sha256(body).hexdigest()}", len(body)) + body[:sent])
            select.select([talk], [], [], 0.2)
    except OSError:
        pass


def uploads(target, dice):
    """Uploads of the same bytes at the same time, broken uploads, and uploads that exceed a limit only together."""
    token, rows = owner(dice), dice.choice((1, 20, 2000))
    body = CSV * rows + b"%d,1,x\n" % dice.randrange(5)
    names = [f"set{dice.randrange(6)}" for _ in range(4)]
    path = f"?sha256={hashlib.sha256(body).hexdigest()}" if dice.random() < 0.7 else ""
    offset = f"&offset={dice.choice((0, 1, len(body)))}" if path and dice.random() < 0.2 else ""
    calls = [lambda name=name: target.ask(token, "PUT", f"/v1/datasets/{name}{path}{offset}", body, "text/csv") for name in names[:3]]
    calls += [lambda: broken_upload(target, token, names[3], body, dice.randrange(len(body))), lambda: target.ask("root", "DELETE", f"/v1/datasets/{names[0]}"),
              lambda: target.ask(token, "GET", f"/v1/datasets/{names[1]}/preview"),
              lambda: target.ask(token, "PUT", f"/v1/datasets/{names[0]}{path}", b"", "text/csv")]
    same_time(calls)
    used = sum(dataset["bytes"] for dataset in (target.ask("root", "GET", "/v1/datasets")[1] or {}).get("datasets", ()) if dataset.get("owner") == token)
    if used > target.limits["dataset-bytes-per-token"]:
        target.fail(f"the data sets of {token} have {used} bytes")
    if dice.random() < 0.3:
        garbage = bytes(dice.randrange(256) for _ in range(200))
        kind, first = dice.choice((("application/x-npz", b"PK\x03\x04"), ("application/x-tar", b""), ("text/x-fasta", b">"), ("text/csv", b"a,label\n")))
        target.ask(token, "PUT", f"/v1/datasets/{names[0]}", first + garbage, kind)


# ---- escape sequences ---------------------------------------------------------------------------------------------


def names(target, dice):
    """Names and labels with control characters are refused, or motifctl does not send them to the terminal."""
    name, token = dice.choice(NAMES), owner(dice)
    body = {"kind": "sparling", "preset": "digitcircle-quick", "config": {**TINY, "total_samples": 4}, "name": name}
    status, job = target.ask(token, "POST", "/v1/jobs", body)
    if status == 201 and CONTROL.search(name):
        target.fail(f"the job name {name!r} is accepted")
    target.ask(token, "PUT", "/v1/datasets/labels", b"a,label\n" + b"1,\x1b[31mred\n2,\xe2\x80\xaegnp\n3,\x9b2J\n4,\xc2\x9b2J\n", "text/csv")
    words = dice.choice((["list"], ["datasets"], ["datasets", "show", "labels"], ["show", name or "x"], ["show", (job or {}).get("id", "latest")]))
    if any("\0" in word for word in words):
        return
    environment = {**os.environ, "MOTIFD_SERVER": target.daemon.url, "MOTIFD_TOKEN": target.tokens["root"]}
    shown = subprocess.run([target.motifctl, *words], capture_output=True, env=environment, timeout=60)
    text = (shown.stdout + shown.stderr).decode("utf-8", "surrogateescape")
    if CONTROL.search(text.replace("\t", " ")) or shown.returncode < 0:
        target.fail(f"motifctl {words} ends with {shown.returncode} and prints {text[:500]!r}")


# ---- slow clients ---------------------------------------------------------------------------------------------------


def slow_clients(target, dice):
    """Clients that send slowly, read nothing, or disconnect while the daemon computes their answer."""
    job, way = target.trained, dice.randrange(5)
    batch = b'{"inputs":[' + b",".join(b'{"sample":{"seed":%d}}' % seed for seed in range(64)) + b"]}"
    query = head(target, "alice", "POST", f"/v1/jobs/{job}/{dice.choice(('motifs', 'predict'))}", len(batch), "application/json") + batch
    stream = head(target, "bob", "GET", dice.choice((f"/v1/jobs/{job}/events", "/v1/events?after=0")), 0)
    try:
        with connect(target, receive_buffer=2048) as talk:
            if way == 0:  # disconnects while its queries compute
                talk.sendall(query)
            elif way == 1:  # sends a byte now and then
                for byte in query[:dice.randrange(40)]:
                    talk.sendall(bytes([byte]))
                    time.sleep(0.05)
            elif way == 2:  # asks for much and reads nothing
                talk.sendall(head(target, "alice", "GET", "/openapi.json", 0) * 50)
                time.sleep(dice.random())
            elif way == 3:
                talk.sendall(stream)
                talk.recv(dice.randrange(1, 400))
            else:  # bytes that are no request
                talk.sendall(bytes(dice.randrange(256) for _ in range(dice.randrange(1, 400))) + b"\r\n\r\n")
            if dice.random() < 0.5:  # closing then sends a reset instead of a FIN
                talk.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    except OSError:
        pass
    status, _ = target.ask("alice", "POST", f"/v1/jobs/{job}/predict", {"inputs": [{"sample": {"seed": 1}}]})
    if status not in (None, 200, 429, 503, 504):
        target.fail(f"a query beside slow clients is answered {status}")


# ---- bombs ----------------------------------------------------------------------------------------------------------

UNPACKED = ((b"a,b,label\n", b"\n", "text/csv"), (b"a,b,label\n1,", b" ", "text/csv"), (b">a x\nACGT\n", b"\n", "text/x-fasta"), (b">a ", b" ", "text/x-fasta"),
            (b">a x\n", b"A", "text/x-fasta"), (b"a,b,label\n", b"1,2,x\n", "text/csv"))


def bombs(target, dice):
    """Small bodies that unpack to much. The daemon must refuse them, or read them within its limits, and stop when their client leaves."""
    token, name = owner(dice), f"bomb{dice.randrange(4)}"
    first, filler, kind = dice.choice(UNPACKED)
    body = bomb(first, filler * (1 << 20), dice.choice((1, 16, 300)))
    if dice.random() < 0.3:
        status, answer = target.ask(token, "POST", "/v1/imports", sparse_folder(), BYTES)
        if status not in (None, 422, 429, 503):
            target.fail(f"a sparse import is answered {status}: {answer}")
    if dice.random() < 0.5:
        status, answer = target.ask(token, "PUT", f"/v1/datasets/{name}", body, kind)
        if status not in (None, 409, 413, 422, 429, 503, 504):  # its end is missing, so it is never accepted
            target.fail(f"a bomb is answered {status}: {answer}")
        return
    try:
        with connect(target) as talk:
            talk.sendall(head(target, token, "PUT", f"/v1/datasets/{name}", len(body), kind) + body)
            select.select([talk], [], [], dice.random())
    except OSError:
        pass


# (attack, number of threads that make its attempts)
ATTACKS = ((configurations, 2), (imports, 2), (races, 1), (uploads, 2), (names, 1), (slow_clients, 3), (bombs, 1))
