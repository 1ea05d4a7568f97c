#!/usr/bin/env python3
"""Every metric that the board and the rules name is one that the daemon's source makes, or a program beside it.

    names.py ROOT [METRICS]     METRICS: what GET /metrics answered, to be held against instead of the source"""
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
