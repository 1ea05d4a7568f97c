#!/usr/bin/env python3
"""Writes docs/reference/fields.md and metrics.md from a daemon's answers to GET /v1/kinds and /v1/kinds/{kind}.

usage: fields_page.py MOTIFD FOLDER            writes FOLDER/fields.md and FOLDER/metrics.md
       fields_page.py MOTIFD --check FOLDER    fails when a name on the pages differs from the daemon's"""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon  # noqa: E402

GROUPS = ["data", "model", "sparsity", "annealing", "optimizer", "evaluation"]
COMMAND = "tests/reproduce/fields_page.py build/motifd docs/reference"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(heads, rows):
    lines = [heads, ["---"] * len(heads)] + rows
    return "\n".join("| " + " | ".join(cell(entry) for entry in line) + " |" for line in lines) + "\n"


def number(value):
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def allowed(field):
    """Returns the allowed range in a form that is short enough for a table."""
    if field.get("choices"):
        return ", ".join(field["choices"])
    if field["type"] in ("integer", "number") and "min" in field:
        ends = "([" [not field.get("min_open")], ")]" [not field.get("max_open")]
        most = "2^53 - 1" if field["max"] > 9e15 else number(field["max"])
        return f"{ends[0]}{number(field['min'])}, {most}{ends[1]}"
    return {"boolean": "true, false"}.get(field["type"], field["type"])


def default(field):
    value = field["default"]
    return {True: "true", False: "false"}.get(value, number(value)) if isinstance(value, bool) else number(value)


def fields_page(kinds):
    out = [f"""# Fields

*This page is generated: `{COMMAND}` writes it.*

It lists every configuration field of every kind, from a daemon's `GET /v1/kinds/{{kind}}`. `motifctl kinds KIND` prints the basic fields, with `--all`
every field.

*Basic* fields are what a newcomer sets. *Advanced* fields tune a training. *Research* fields are needed only to repeat an experiment of a paper. The column *applies when*
names the condition under which a field has an effect; a field without a condition always has one.

A field whose allowed values are *text* also takes a number and stores its shortest form as text. `motifctl submit --set nonzeros=500` sets the text `500`; `1e3` and `1000.0` both
become `1000`. If the text itself looks like a number that this would change, such as the name `1e3` or a number above 2^53, write it in quotation marks:
`--set dataset_name='"1e3"'`.

motifd reads *facts* from the data set of a job. A job and its dry run show them as `facts`, and a configuration cannot set them.

Kinds: {", ".join(f"[{kind['kind']}](#{kind['kind']})" for kind in kinds)}.
"""]
    for kind in kinds:
        out.append(f"## {kind['kind']}\n\n{kind['title'].rstrip('.')}.\n")
        groups = [group for group in GROUPS if any(field.get("group") == group for field in kind["fields"])]
        for group in groups or [None]:
            mine = [field for field in kind["fields"] if field.get("group") == group]
            if group:
                out.append(f"### {kind['kind']}: {group}\n")
            out.append(table(["field", "default", "allowed", "unit", "level", "applies when", "meaning"],
                             [[f"`{field['name']}`", default(field), allowed(field), field["unit"], field.get("level", ""),
                               field.get("applies") or "", field["meaning"]] for field in mine]))
        if kind["facts"]:
            out.append(f"### {kind['kind']}: facts\n")
            out.append(table(["fact", "unit", "meaning"], [[f"`{fact['name']}`", fact["unit"], fact["meaning"]] for fact in kind["facts"]]))
    return "\n".join(out)


def metrics_page(kinds):
    out = [f"""# Presets, metrics, queries and findings

*This page is generated: `{COMMAND}` writes it.*

It lists every preset, metric, query and finding of every kind, from a daemon's `GET /v1/kinds/{{kind}}`. Terms of this page:

- A *preset* is a starting configuration.
- A *metric* is a series of numbers that a job reports while it runs (`motifctl metrics`).
- A *query* is a question to a trained model. Its name ends the route `/v1/jobs/{{id}}/NAME`.
- A *finding* is a statement about what may be wrong with a result. Each finding limits the verdict of the job: the column *verdict at best* names the best verdict that is
  still possible. Without findings, the verdict is `learned`.

Kinds: {", ".join(f"[{kind['kind']}](#{kind['kind']})" for kind in kinds)}.
"""]
    for kind in kinds:
        out.append(f"## {kind['kind']}\n")
        for title, list_ in (("preset", kind["presets"]), ("metric", kind["metrics"]), ("query", kind["queries"])):
            if not list_:
                continue
            units = any(entry.get("unit") for entry in list_)
            rows = [[f"`{entry['name']}`"] + ([entry.get("unit", "")] if units else []) + [entry["meaning"]] for entry in list_]
            out.append(table([title] + (["unit"] if units else []) + ["meaning"], rows))
        out.append(table(["finding", "severity", "verdict at best", "meaning"],
                         [[f"`{entry['code']}`", entry["severity"], entry["verdict"], entry["meaning"]] for entry in kind["findings"]]))
    return "\n".join(out)


def main(motifd, *words):
    folder = words[-1]
    with tempfile.TemporaryDirectory() as scratch:
        daemon = Daemon(motifd, os.path.join(scratch, "db"), "--data", os.path.join(scratch, "data"))
        try:
            names = [kind["kind"] for kind in daemon.ask("GET", "/v1/kinds")[2]["kinds"]]
            kinds = [daemon.ask("GET", f"/v1/kinds/{name}")[2] for name in names]
        finally:
            daemon.end()
    faults = []
    for name, text in (("fields.md", fields_page(kinds)), ("metrics.md", metrics_page(kinds))):
        path = os.path.join(folder, name)
        if "--check" not in words:
            with open(path, "w", encoding="utf-8") as page:
                page.write(text)
            continue
        with open(path, encoding="utf-8") as page:
            old, new = (set(re.findall(r"^(?:## \w+|\| `[^`]+`)", lines, re.M)) for lines in (page.read(), text))
        faults += [f"{path}: {line} is {'obsolete' if line in old else 'missing'}" for line in sorted(old ^ new)]
    if faults:
        sys.exit("\n".join(faults) + f"\ngenerate the pages again: {COMMAND}")
    print(f"ok fields: {len(kinds)} kinds")


if __name__ == "__main__":
    main(*sys.argv[1:])
