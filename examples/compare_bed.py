#!/usr/bin/env python3
"""Compares two BED files: how many regions of each name in FOUND overlap a region of each name in TRUTH.

usage: compare_bed.py FOUND.bed TRUTH.bed [COUNT]     (COUNT: uses only the sequences s0 to s(COUNT - 1) of TRUTH)"""
import collections
import sys


def regions(path):
    with open(path, encoding="ascii") as lines:
        for line in lines:
            name, start, end, what = line.split("\t")[:4]
            yield name, int(start), int(end), what.strip()


def main(found, truth, count=None):
    sites = collections.defaultdict(list)
    for name, start, end, what in regions(truth):
        if not count or int(name[1:]) < int(count):
            sites[name].append((start, end, what))
    table, covered = collections.Counter(), set()
    for name, start, end, channel in regions(found):
        hits = [site for site in sites[name] if site[0] < end and start < site[1]]
        covered |= {(name, site) for site in hits}
        for what in {site[2] for site in hits} or {"nothing"}:
            table[channel, what] += 1
    names = sorted({site[2] for row in sites.values() for site in row}) + ["nothing"]
    print(f"{'':10}" + "".join(f"{name:>9}" for name in names))
    for channel in sorted({channel for channel, _ in table}):
        print(f"{channel:10}" + "".join(f"{table[channel, name]:9}" for name in names))
    total = sum(map(len, sites.values()))
    print(f"{len(covered)} of {total} sites are covered: {len(covered) / total:.1%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
