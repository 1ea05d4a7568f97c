#!/usr/bin/env python3
"""Trains a model and queries its motifs, with Python's standard library only.

usage: train.py URL [FIELD=VALUE ...]"""
import json
import sys
import urllib.error
import urllib.request

server, settings = sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:])


def ask(method, path, body=None):
    request = urllib.request.Request(server + path, json.dumps(body).encode() if body else None,
                                     {"Content-Type": "application/json"} if body else {}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:  # problem+json lists every fault with the name of its field
        problem = json.load(error)
        sys.exit("\n".join([problem["detail"]] + [f"{e['pointer']}: {e['detail']}" for e in problem.get("errors", [])]))


def events(job):
    """Yields (type, data) of each event of a job, from its beginning to its end."""
    with urllib.request.urlopen(f"{server}/v1/jobs/{job}/events") as stream:
        kind = None
        for line in stream:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                yield kind, json.loads(value)


def number(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


job = ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick", "name": "example",
                               "config": {name: number(text) for name, text in settings.items()}})["id"]
for kind, data in events(job):
    if kind == "progress":
        progress = data["progress"]
        print(f"{progress['fraction']:7.1%}  density {progress['density']:.3g}  {progress['stage']}")
    elif kind == "state":
        print(data["state"])
result = ask("GET", f"/v1/jobs/{job}")["result"]
print("errors:", {name: result[name] for name in ("fpe", "fne", "ce", "e2ee")})
answer = ask("POST", f"/v1/jobs/{job}/motifs", {"inputs": [{"sample": {"seed": 3}}]})["answers"][0]
for motif in answer["motifs"][:10]:
    row, column = motif["position"]
    print(f"channel {motif['channel']} at row {row}, column {column}: {motif['value']:.3g}")
print("answer", answer["prediction"], "- truth", [box["symbol"] for box in answer["truth"]])
