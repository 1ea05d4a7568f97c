#!/usr/bin/env python3
"""Walks all routes of the OpenAPI document and sends to each what it does not know: a query parameter, and headers that would change what the request
does. The daemon must refuse them and name them, because a client would not notice that they have no effect.

usage: wire_parameters.py MOTIFD"""
import json
import os
import re
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon, run_each  # noqa: E402

PLACES = {"id": "latest", "seq": "1", "name": "a", "sha256": "a" * 64, "kind": "sparling"}
GUARDED = re.compile(r"/v1/jobs/\{id\}/run(/|$)|/v1/tokens(/rotation)?$")


def routes(daemon):
    """Yields (method, path, body, media type, statuses) for each route that needs no token of a lease and no key of the operator."""
    for pattern, operations in daemon.ask("GET", "/openapi.json")[2]["paths"].items():
        if GUARDED.match(pattern):
            continue
        path = re.sub(r"\{(\w+)\}", lambda found: PLACES.get(found[1], "0"), pattern)
        for method, operation in operations.items():
            if method not in ("get", "post", "put", "patch", "delete"):
                continue
            kind = next(iter(operation.get("requestBody", {}).get("content", {})), None)
            yield method.upper(), path, (b"{}" if kind and "json" in kind else b"x" if kind else None), kind, operation["responses"]


def ask(daemon, method, path, body, kind, **headers):
    request = urllib.request.Request(daemon.url + path, body, {**({"Content-Type": kind} if kind else {}), **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, {}
    except urllib.error.HTTPError as error:
        with error:
            content = error.read()
            return error.code, json.loads(content) if "problem+json" in error.headers.get("Content-Type", "") else {}


def each_route_refuses_an_unknown_parameter(daemon):
    count = 0
    for method, path, body, kind, _ in routes(daemon):
        status, problem = ask(daemon, method, f"{path}?no_such=1", body, kind)
        assert status == 400 and problem["errors"][0]["parameter"] == "no_such", (method, path, status, problem)
        count += 1
    assert count > 60, count


def each_route_refuses_conditions_and_ranges_that_it_does_not_follow(daemon):
    followed = 0
    for method, path, body, kind, answers in routes(daemon):
        for name, value, follows in (("If-Match", '"x"', "412" in answers), ("If-None-Match", '"x"', method == "GET"), ("Content-Range", "bytes 1-2/3", False),
                                     ("Idempotency-Key", "once", method != "POST" or "201" not in answers or "json" in (kind or "") or path == "/v1/imports")):
            if follows:
                followed += 1
                continue
            status, problem = ask(daemon, method, path, body, kind, **{name: value})
            assert status == 400 and name in problem["detail"], (method, path, name, status, problem)
    assert followed > 30, followed


def main():
    with tempfile.TemporaryDirectory() as folder, Daemon(sys.argv[1], os.path.join(folder, "db"), "--rate-limit", "100000") as daemon:
        daemon.submit(total_samples=4)
        run_each((daemon,), each_route_refuses_an_unknown_parameter, each_route_refuses_conditions_and_ranges_that_it_does_not_follow)


main()
