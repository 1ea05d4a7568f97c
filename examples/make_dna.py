#!/usr/bin/env python3
"""Writes random DNA with planted binding sites as FASTA: the data of docs/tutorials/dna.md. Each record's label lists the
proteins that bind it, in the order of their sites. The positions of the sites are not in the FASTA file. They are in
OUT.bed, to compare them with the sites that a model finds.

usage: make_dna.py OUT.fa OUT.bed [COUNT]

Needs Python's standard library only. The same arguments give the same file."""
import random
import sys

LENGTH = 200
SITES = {  # consensus sequences; W is A or T, R is A or G, Y is C or T, S is C or G
    "AP1": "TGASTCA",
    "CEBP": "TTRCGYAA",
    "GATA": "WGATAARG",
    "MEF2": "YTAWWWATAR",
}
LETTERS = {"A": "A", "C": "C", "G": "G", "T": "T", "W": "AT", "R": "AG", "Y": "CT", "S": "CG"}


def bound(sequence):
    """Returns (position, name) of every site in the sequence, planted or random."""
    return [(at, name) for name, site in SITES.items() for at in range(len(sequence) - len(site) + 1)
            if all(base in LETTERS[letter] for base, letter in zip(sequence[at:], site))]


def record(rng):
    """Returns a sequence with zero to four sites that do not overlap, and (position, name) of its sites from left to right."""
    while True:
        bases = [rng.choice("ACGT") for _ in range(LENGTH)]
        planted, taken = [], set()
        for name in [rng.choice(sorted(SITES)) for _ in range(rng.randint(0, 4))]:
            site = SITES[name]
            at = rng.randrange(LENGTH - len(site))
            if taken & set(range(at - 12, at + len(site) + 12)):
                continue
            taken |= set(range(at, at + len(site)))
            bases[at:at + len(site)] = [rng.choice(LETTERS[letter]) for letter in site]
            planted.append((at, name))
        sequence = "".join(bases)
        if sorted(bound(sequence)) == sorted(planted):  # the random letters contain no further site
            return sequence, sorted(planted)


def main(fasta, bed, count=10000):
    rng = random.Random(1)
    with open(fasta, "w", encoding="ascii") as sequences, open(bed, "w", encoding="ascii") as sites:
        for i in range(int(count)):
            sequence, planted = record(rng)
            sequences.write(f">s{i} {' '.join(name for _, name in planted)}".rstrip() + f"\n{sequence}\n")
            for at, name in planted:
                sites.write(f"s{i}\t{at}\t{at + len(SITES[name])}\t{name}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
