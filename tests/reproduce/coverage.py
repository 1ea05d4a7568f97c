#!/usr/bin/env python3
"""Prints gcovr's summary as tables: coverage for each folder, then the files with the most branches that no test takes.

usage: coverage.py SUMMARY.json"""
import json
import sys

LOWEST = 25
FOLDERS = ("storage", "api", "server", "core", "trainer", "client")


def folder_of(name):
    if name.startswith("api/client/"):
        return "client"
    if name == "api/documents/dashboard.c":
        return "api"
    return name.split("/")[0]


def share(covered, total):
    return f"{100 * covered / total:5.1f} %" if total else "    -  "


def main():
    files = json.load(open(sys.argv[1]))["files"]
    print(f"{'folder':10}{'files':>6}{'lines':>9}{'covered':>9}{'branches':>10}{'covered':>9}")
    folders = [folder for folder in FOLDERS if any(folder_of(f["filename"]) == folder for f in files)]
    for folder in folders + ["all"]:
        those = [f for f in files if folder == "all" or folder_of(f["filename"]) == folder]
        sums = {key: sum(f[key] for f in those) for key in ("line_total", "line_covered", "branch_total", "branch_covered")}
        print(f"{folder:10}{len(those):6}{sums['line_total']:9}{share(sums['line_covered'], sums['line_total']):>9}"
              f"{sums['branch_total']:10}{share(sums['branch_covered'], sums['branch_total']):>9}")
    print("\nbranches not taken")
    files.sort(key=lambda f: f["branch_covered"] - f["branch_total"])
    for f in files[:LOWEST]:
        print(f"{f['branch_total'] - f['branch_covered']:6}  {share(f['branch_covered'], f['branch_total'])}  {f['filename']}")


main()
