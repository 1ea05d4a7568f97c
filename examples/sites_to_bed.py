#!/usr/bin/env python3
"""Queries a trained model for its motifs in the sequences of a FASTA file and prints them as BED lines: sequence, start and end of
the positions that the motif model saw, channel, value.

usage: sites_to_bed.py URL JOB FILE.fa [COUNT]        (COUNT: the first COUNT sequences only)

Needs Python's standard library only."""
import json
import sys
import urllib.request

BATCH = 64  # sequences per request; the daemon accepts up to 256


def records(path):
    """Yields (name, bases) of each record."""
    with open(path, encoding="ascii") as lines:
        name, bases = None, []
        for line in lines:
            if line.startswith(">"):
                if name is not None:
                    yield name, "".join(bases)
                name, bases = line[1:].split()[0], []
            else:
                bases.append(line.strip())
        yield name, "".join(bases)


def ask(url, data=None):
    headers = {"Content-Type": "text/x-fasta"} if data else {}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return json.load(answer)


def main(url, job, path, count=None):
    sequences = list(records(path))[:int(count) if count else None]
    half = ask(f"{url}/v1/jobs/{job}/channels?samples=1")["footprint"] // 2
    for first in range(0, len(sequences), BATCH):
        batch = sequences[first:first + BATCH]
        fasta = "".join(f">{name}\n{bases}\n" for name, bases in batch)
        answers = ask(f"{url}/v1/jobs/{job}/motifs", fasta.encode())["answers"]
        for (name, bases), answer in zip(batch, answers):
            for motif in answer["motifs"]:
                if motif["maximal"]:
                    at = motif["position"][1]
                    print(name, max(0, at - half), min(len(bases), at + half + 1), f"channel{motif['channel']}",
                          f"{motif['value']:.3f}", sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
