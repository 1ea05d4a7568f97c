#!/usr/bin/env python3
"""Counts the channels of a model whose motif a database names rightly.

    tests/reproduce/names.py URL JOB DATABASE [SAMPLES]

DATABASE is a data set of motifs, for example JASPAR, in the daemon at URL. The labels of the job's data set are the names of transcription factors. For
each channel with such a name, the script prints the most similar motif of the database and the rank of the first motif that has the channel's
name, as `motifctl channels JOB --against DATABASE` reports them. A name counts if a motif of that factor, in any version or as a part of a
dimer ("MAX::MYC"), has q < 0.05.
"""
import json
import sys
import urllib.request


def names_of(match):
    return [part.split("(")[0].lower() for part in (match["name"] or "").replace("::", " ").split()]


def main():
    url, job, database = sys.argv[1:4]
    samples = sys.argv[4] if len(sys.argv) > 4 else "1000"
    with urllib.request.urlopen(f"{url}/v1/jobs/{job}/channels?set=test&samples={samples}&against={database}") as answer:
        channels = json.load(answer)["channels"]
    right = named = copies = 0
    seen = {}
    print("| channel | bases | most similar | q | right name at rank | its q |\n| --- | --- | --- | --- | --- | --- |")
    for use in channels:
        matrix = use["matrix"]
        if not matrix:
            print(f"| {use['channel']} {use['name'] or ''} | - | - | - | - | - |")
            continue
        best = matrix["matches"][0]
        named += best["qvalue"] < 0.05
        found = next(((rank, m) for rank, m in enumerate(matrix["matches"], 1) if (use["name"] or "").lower() in names_of(m)), None)
        good = found is not None and found[1]["qvalue"] < 0.05
        right += good
        copies += seen.setdefault(best["id"], use["channel"]) != use["channel"]
        print(f"| {use['channel']} {use['name'] or ''} | {matrix['consensus']} | {best['id']} {best['name'] or ''} | {best['qvalue']:.2g} | "
              + (f"{found[0]} | {found[1]['qvalue']:.2g} |" if found else "- | - |"))
    print(f"\n{right} of {len(channels)} channels have their name at q < 0.05; {named} have any name at q < 0.05; {copies} share their best name.")


if __name__ == "__main__":
    main()
