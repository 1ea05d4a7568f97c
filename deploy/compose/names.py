#!/usr/bin/env python3
"""Checks that the sources of the daemon contain every metric that the Grafana board and the alert rules name.

    names.py ROOT [METRICS]     METRICS: a file with the answer to GET /metrics, to check against instead of the sources"""
import json
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
board = json.loads((root / "deploy/compose/grafana/boards/motifd.json").read_text())
expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]] + [note["expr"] for note in board["annotations"]["list"]]
expressions += re.findall(r"expr: (.*)", (root / "deploy/compose/rules.yml").read_text())
names = {name for expression in expressions for name in re.findall(r"\b(?:motifd|process)_\w+", expression)}
if len(sys.argv) > 2:
    text = pathlib.Path(sys.argv[2]).read_text()
else:
    text = "\n".join(path.read_text() for folder in ("api", "server") for path in (root / folder).rglob("*.c"))
known = set(re.findall(r"\b(?:motifd|process)_\w+", text))
missing = [name for name in sorted(names) if name not in known and re.sub(r"_(sum|count|bucket)$", "", name) not in known]
print(f"{len(names)} names, {len(missing)} unknown: {' '.join(missing)}")
sys.exit(1 if missing or len(names) < 10 else 0)
