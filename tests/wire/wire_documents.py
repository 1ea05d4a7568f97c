#!/usr/bin/env python3
"""Checks the two documents for other programs against their definitions: /metrics with Prometheus's promtool, and
/openapi.json with the rules of OpenAPI 3.1 and the meta-schema of JSON Schema 2020-12. Checks every answer to a GET
against its description in /openapi.json.

usage: wire_documents.py MOTIFD        prints "ok ..." or "not ok ..." for each check"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon  # noqa: E402

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
failed = 0


def check(name, faults):
    global failed
    faults = list(faults)
    print("not ok" if faults else "ok", name)
    for fault in faults[:20]:
        print("  ", fault)
    failed += bool(faults)


def get(url, accept="*/*"):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=20) as answer:
            kind = answer.headers.get_content_type()
            return answer.status, kind, b"" if kind == "text/event-stream" else answer.read()  # a stream does not end
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get_content_type(), error.read()


def metrics_faults(url):
    status, _, body = get(url + "/metrics")
    if status != 200:
        yield f"status {status}"
        return
    tool = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
    if tool.returncode != 0 or tool.stderr.strip() or tool.stdout.strip():
        yield (tool.stdout + tool.stderr).decode()
    names = set(re.findall(rb"^# TYPE (\S+)", body, re.M))
    if len(names) < 5:
        yield f"only {len(names)} families"


def histogram_faults(url, names):
    """In each histogram the buckets do not decrease, the last one counts all samples, and the sum is within the buckets' bounds."""
    _, _, body = get(url + "/metrics")
    samples = re.findall(r'^(\w+?)_(bucket|sum|count)(?:\{(.*)\})? (\S+)$', body.decode(), re.M)
    of = {}
    for name, part, labels, value in samples:
        if f"# TYPE {name} histogram" not in body.decode():
            continue
        bound = re.search(r'le="([^"]+)"', labels)
        rest = re.sub(r',?le="[^"]+"', "", labels)
        of.setdefault((name, rest), {"bucket": []})
        if part == "bucket":
            of[name, rest]["bucket"].append((float(bound[1]), int(value)))
        else:
            of[name, rest][part] = float(value)
    for key, one in of.items():
        bounds, counts = [b for b, _ in one["bucket"]], [c for _, c in one["bucket"]]
        if bounds != sorted(set(bounds)) or bounds[-1] != float("inf"):
            yield f"{key}: bounds {bounds}"
        if counts != sorted(counts) or counts[-1] != one["count"]:
            yield f"{key}: counts {counts}, {one['count']} in all"
        least = sum((c - b) * low for b, c, low in zip([0] + counts, counts, [0] + bounds))
        if not least <= one["sum"] + 1e-6:
            yield f"{key}: sum {one['sum']}, at least {least}"
    for name in names:
        if not any(key[0] == name and one["count"] > 0 for key, one in of.items()):
            yield f"nothing was counted in {name}"


def trained(url):
    """Runs a short job to its end."""
    config = {"n_s": 16, "batch": 20, "block": 0, "total_samples": 200, "test_samples": 20, "stop": "never"}
    ask = urllib.request.Request(url + "/v1/jobs", json.dumps({"kind": "superposition", "config": config}).encode(),
                                 {"Content-Type": "application/json"})
    with urllib.request.urlopen(ask, timeout=20) as answer:
        job = json.load(answer)["id"]
    for _ in range(600):
        state = json.loads(get(f"{url}/v1/jobs/{job}")[2])["state"]
        if state in ("succeeded", "failed"):
            return [] if state == "succeeded" else [state]
        time.sleep(0.1)
    return ["it does not end"]


def resolve(document, node):
    while isinstance(node, dict) and "$ref" in node:
        target = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        node = target
    return node


def nodes_of(node, path=""):
    yield path, node
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from nodes_of(value, f"{path}/{key}")


def operations(document):
    for path, item in document["paths"].items():
        for method in METHODS & item.keys():
            yield path, method, item[method]


def structure_faults(document):
    if not re.fullmatch(r"3\.1\.\d+", document.get("openapi", "")):
        yield f"openapi is {document.get('openapi')}"
    for member in ("title", "version"):
        if not isinstance(document.get("info", {}).get(member), str):
            yield f"info.{member} is missing"
    unknown = document.keys() - {"openapi", "info", "jsonSchemaDialect", "servers", "paths", "webhooks", "components",
                                 "security", "tags", "externalDocs"}
    if unknown:
        yield f"unknown members {unknown}"
    for path, node in nodes_of(document):
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            try:
                resolve(document, node)
            except (KeyError, TypeError):
                yield f"{path}: {node['$ref']} leads nowhere"
    seen = set()
    for path, method, operation in operations(document):
        where = f"{method.upper()} {path}"
        name = operation.get("operationId")
        if not name or name in seen:
            yield f"{where}: operationId {name} is missing or not unique"
        seen.add(name)
        declared = [resolve(document, p) for p in operation.get("parameters", []) + document["paths"][path].get("parameters", [])]
        wanted = set(re.findall(r"{([^}]+)}", path))
        given = {p["name"] for p in declared if p["in"] == "path"}
        if wanted != given:
            yield f"{where}: path parameters {wanted} are declared as {given}"
        for parameter in declared:
            if parameter["in"] == "path" and parameter.get("required") is not True:
                yield f"{where}: path parameter {parameter['name']} must be required"
            if ("schema" in parameter) == ("content" in parameter):
                yield f"{where}: parameter {parameter['name']} needs a schema or a content"
        if not operation.get("responses"):
            yield f"{where}: no responses"
        for code, answer in operation.get("responses", {}).items():
            if not re.fullmatch(r"[1-5](\d\d|XX)|default", code):
                yield f"{where}: response {code}"
            if not isinstance(resolve(document, answer).get("description"), str):
                yield f"{where}: response {code} has no description"
        for requirement in operation.get("security", []):
            for scheme in requirement:
                if scheme not in document.get("components", {}).get("securitySchemes", {}):
                    yield f"{where}: unknown security scheme {scheme}"


def schemas(document):
    for path, node in nodes_of(document):
        if path.endswith("/schema") or re.fullmatch(r"/components/schemas/[^/]+", path):
            yield path, node


def schema_faults(document):
    for path, schema in schemas(document):
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            yield f"{path}: {error.message}"


def answer_faults(document, url):
    """Each GET without parameters returns a document that matches its description."""
    checked = 0
    for path, method, operation in operations(document):
        if method != "get" or "{" in path:
            continue
        status, kind, body = get(url + path)
        answer = resolve(document, operation["responses"].get(str(status)) or {})
        if not answer:
            yield f"GET {path}: answered {status}, which is not described"
            continue
        content = answer.get("content", {})
        if content and kind not in content:
            yield f"GET {path}: answered {kind}, described are {list(content)}"
        schema = content.get(kind, {}).get("schema")
        if schema and kind == "application/json":
            checked += 1
            whole = {"$ref": "#/components/x", "components": {**document.get("components", {}), "x": schema}}
            for error in jsonschema.Draft202012Validator(whole).iter_errors(json.loads(body)):
                yield f"GET {path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
    if checked < 3:
        yield f"only {checked} answers have a schema"


def main():
    if not shutil.which("promtool"):
        print("promtool is not installed (Debian package prometheus)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(sys.argv[1], os.path.join(folder, "db"))
        url = daemon.url
        try:
            check("documents: /metrics passes promtool", metrics_faults(url))
            check("documents: a short job succeeds", trained(url))
            check("documents: histograms add up", histogram_faults(url, ["motifd_http_request_duration_seconds",
                                                                        "motifd_step_duration_seconds",
                                                                        "motifd_database_commit_duration_seconds"]))
            check("documents: /metrics passes promtool after the job", metrics_faults(url))
            status, _, body = get(url + "/openapi.json")
            document = json.loads(body) if status == 200 else {"paths": {}}
            check("documents: /openapi.json is OpenAPI 3.1", structure_faults(document))
            check("documents: the schemas of /openapi.json are JSON Schema 2020-12", schema_faults(document))
            check("documents: answers match their schemas", answer_faults(document, url))
        finally:
            code = daemon.end()
        check("documents: the daemon ends with exit code 0", [] if code == 0 else [f"exit code {code}"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
