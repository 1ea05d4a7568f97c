#!/usr/bin/env python3
"""Reads {"document": OpenAPI 3.1, "answers": [{"pattern", "method", "status", "type", "body"}]} from standard
input, checks the document by the rules of the specification, each of its schemas against JSON Schema 2020-12, and each
answer against the schema that the document gives for it. Prints every fault; exit code 1 when there is one."""
import json
import re
import sys

try:
    import jsonschema
except ImportError:  # without jsonschema, the script still checks the rules of the specification
    jsonschema = None

faults = []
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
OPERATION = {"tags", "summary", "description", "externalDocs", "operationId", "parameters", "requestBody", "responses",
             "callbacks", "deprecated", "security", "servers"}


def fault(where, what):
    faults.append(f"{where}: {what}")


def need(where, value, kind, **members):
    """Reports a fault unless `value` is an object with these members. members: name -> type; a name that ends with _ may be missing."""
    if not isinstance(value, dict):
        fault(where, "is not an object")
        return {}
    for name, types in members.items():
        optional, name = name.endswith("_"), name.rstrip("_")
        if name not in value:
            if not optional:
                fault(where, f"a {kind} needs {name}")
        elif not isinstance(value[name], types):
            fault(where, f"{name} has the wrong type")
    return value


def check_schema(where, schema, document):
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        fault(where, "a schema is an object or a boolean")
        return
    for path in re.findall(r'"\$ref": "([^"]*)"', json.dumps(schema)):
        target = document
        for part in path.removeprefix("#/").split("/"):
            target = target.get(part) if isinstance(target, dict) else None
        if target is None:
            fault(where, f"{path} leads nowhere")
    if jsonschema is not None:
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            fault(where, error.message)


def check_content(where, content, document):
    for media, entry in content.items():
        if not re.fullmatch(r"[\w.+*-]+/[\w.+*-]+", media):
            fault(where, f"{media} is no media type")
        if "schema" in need(f"{where}/{media}", entry, "media type"):
            check_schema(f"{where}/{media}", entry["schema"], document)


def check_parameters(where, pattern, operation, document):
    seen = set()
    for parameter in operation.get("parameters", []):
        need(where, parameter, "parameter", name=str, **{"in": str}, schema=dict)
        place = (parameter.get("in"), parameter.get("name"))
        if place in seen:
            fault(where, f"parameter {place} twice")
        seen.add(place)
        if place[0] not in ("query", "header", "path", "cookie"):
            fault(where, f"parameter in {place[0]}")
        if place[0] == "path" and parameter.get("required") is not True:
            fault(where, f"path parameter {place[1]} must be required")
        if place[0] == "header" and place[1].lower() in ("accept", "content-type", "authorization"):
            fault(where, f"header parameter {place[1]} is ignored by the specification")
        check_schema(f"{where}/{place[1]}", parameter.get("schema"), document)
    if {name for kind, name in seen if kind == "path"} != set(re.findall(r"{(\w+)}", pattern)):
        fault(where, "path parameters do not match the path")


def check_operation(where, pattern, operation, document, ids):
    need(where, operation, "operation", operationId=str, responses=dict, parameters_=list, requestBody_=dict,
         security_=list, summary_=str)
    for name in set(operation) - OPERATION:
        if not name.startswith("x-"):
            fault(where, f"an operation has no {name}")
    if operation.get("operationId") in ids:
        fault(where, "operationId twice")
    ids.add(operation.get("operationId"))
    check_parameters(where, pattern, operation, document)
    if "requestBody" in operation:
        need(where, operation["requestBody"], "request body", content=dict, required_=bool)
        check_content(where + "/requestBody", operation["requestBody"].get("content", {}), document)
    if not operation.get("responses"):
        fault(where, "an operation needs at least one response")
    for status, response in operation.get("responses", {}).items():
        if not re.fullmatch(r"[1-5](\d\d|XX)|default", status):
            fault(where, f"response {status}")
        need(f"{where}/{status}", response, "response", description=str, content_=dict)
        check_content(f"{where}/{status}", response.get("content", {}), document)
    schemes = document.get("components", {}).get("securitySchemes", {})
    for requirement in operation.get("security", []):
        for name in requirement:
            if name not in schemes:
                fault(where, f"security scheme {name} is unknown")


def check_document(document):
    need("", document, "document", openapi=str, info=dict, paths=dict, components=dict, servers_=list)
    if not re.fullmatch(r"3\.1\.\d+", document.get("openapi", "")):
        fault("openapi", "is not 3.1")
    need("info", document.get("info"), "info", title=str, version=str, license_=dict)
    licence = document.get("info", {}).get("license", {})
    if "identifier" in licence and "url" in licence:
        fault("info/license", "identifier and url exclude each other")
    ids, shapes = set(), set()
    for pattern, item in document.get("paths", {}).items():
        shape = re.sub(r"{\w+}", "{}", pattern)
        if not pattern.startswith("/") or shape in shapes:
            fault(pattern, "path is malformed or the same as another")
        shapes.add(shape)
        for method, operation in item.items():
            if method not in METHODS:
                fault(pattern, f"{method} is no method")
            check_operation(f"{method} {pattern}", pattern, operation, document, ids)
    for name, schema in document.get("components", {}).get("schemas", {}).items():
        if not re.fullmatch(r"[\w.-]+", name):
            fault(name, "malformed name of a component")
        check_schema(f"schema {name}", schema, document)
    for name, scheme in document.get("components", {}).get("securitySchemes", {}).items():
        need(name, scheme, "security scheme", type=str)
        if scheme.get("type") == "http" and "scheme" not in scheme:
            fault(name, "a http security scheme needs scheme")


def check_answer(answer, document):
    where = f"{answer['method']} {answer['pattern']} {answer['status']}"
    responses = document["paths"][answer["pattern"]][answer["method"].lower()]["responses"]
    response = responses.get(str(answer["status"]), responses["default"])
    schema = response.get("content", {}).get(answer["type"], {}).get("schema")
    if schema is None:
        fault(where, f"{answer['type']} is not described")
        return
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": document["components"], **schema}
    for error in jsonschema.Draft202012Validator(whole).iter_errors(answer["body"]):
        fault(where, f"{error.json_path} {error.message}")


def main():
    given = json.load(sys.stdin)
    check_document(given["document"])
    if jsonschema is not None:
        for answer in given["answers"]:
            check_answer(answer, given["document"])
        for wrong in ({}, {"id": 7}):  # tests the check: it must report these wrong documents
            before = len(faults)
            check_answer({"pattern": "/v1/jobs/{id}", "method": "GET", "status": 200, "type": "application/json",
                          "body": wrong}, given["document"])
            if len(faults) == before:
                fault("the check", f"{wrong} passes for a job")
            del faults[before:]
    print(f"{len(given['document']['paths'])} paths, {len(given['answers'])} answers, {len(faults)} faults"
          + ("" if jsonschema is not None else "; without python3-jsonschema: structure alone"))
    for line in faults:
        print(line)
    return 1 if faults else 0


sys.exit(main())
