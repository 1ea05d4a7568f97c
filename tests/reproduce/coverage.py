#!/usr/bin/env python3
"""Makes a table of gcovr's summary: coverage.py SUMMARY.json. Rooms, then the files with most branches that no test takes."""
import json
import sys

LOWEST = 25
ROOMS = ("storage", "api", "server", "core", "trainer", "client")


def room_of(name):
    if name.startswith("api/client/"):
        return "client"
    if name == "api/documents/dashboard.c":
        return "api"
    return name.split("/")[0]


def share(covered, total):
    return f"{100 * covered / total:5.1f} %" if total else "    -  "


def main():
    files = json.load(open(sys.argv[1]))["files"]
    print(f"{'room':10}{'files':>6}{'lines':>9}{'covered':>9}{'branches':>10}{'covered':>9}")
    rooms = [room for room in ROOMS if any(room_of(f["filename"]) == room for f in files)]
    for room in rooms + ["all"]:
        those = [f for f in files if room == "all" or room_of(f["filename"]) == room]
        sums = {key: sum(f[key] for f in those) for key in ("line_total", "line_covered", "branch_total", "branch_covered")}
        print(f"{room:10}{len(those):6}{sums['line_total']:9}{share(sums['line_covered'], sums['line_total']):>9}"
              f"{sums['branch_total']:10}{share(sums['branch_covered'], sums['branch_total']):>9}")
    print("\nbranches not taken")
    files.sort(key=lambda f: f["branch_covered"] - f["branch_total"])
    for f in files[:LOWEST]:
        print(f"{f['branch_total'] - f['branch_covered']:6}  {share(f['branch_covered'], f['branch_total'])}  {f['filename']}")


main()
