#!/usr/bin/env python3
"""Compares the sites of a model with planted ones, and with a scan by the planted matrices.

    tests/reproduce/sites.py FOUND.bed TRUTH.bed [SEQUENCES.fa MATRICES.meme] [--records FILE]

FOUND comes from `motifctl sites JOB --input SEQUENCES.fa --output FOUND.bed`. Names of sites are names of factors. A found site is right if it
overlaps a planted site of the same factor by at least half of the shorter of the two. With sequences and matrices, the script also scans both
strands with log-odds of each planted matrix, and reports the best F1 of this scan over all thresholds: a ceiling for any model, because weak sites
look like background. A matrix may show either strand of a motif, so a factor's strands may all be exchanged. --records: a file of record names, one a line; others are ignored. Needs NumPy for the scan.
"""
import collections
import sys


def read_bed(path, records):
    sites = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in open(path, encoding="utf-8"):
        words = line.rstrip("\n").split("\t")
        if records is None or words[0] in records:
            sites[words[3]][words[0]].append((int(words[1]), int(words[2]), words[5] if len(words) > 5 else "."))
    return sites


def overlap(a, b):
    return min(a[1], b[1]) - max(a[0], b[0])


def match(found, truth):
    """Pairs each found site of a record with an unused planted one of the largest overlap of at least half; returns the pairs."""
    pairs, used = [], set()
    for site in found:
        best = max(((overlap(site, planted), k) for k, planted in enumerate(truth) if k not in used), default=(0, -1))
        if best[1] >= 0 and 2 * best[0] >= min(site[1] - site[0], truth[best[1]][1] - truth[best[1]][0]):
            used.add(best[1])
            pairs.append((site, truth[best[1]]))
    return pairs


def score(right, found, planted):
    return 2 * right / max(1, found + planted)


def scan_f1(matrix, sequences, truth):
    """The best F1 over all thresholds of a scan with log-odds of one matrix on both strands."""
    import numpy as np
    odds = np.log2((matrix * 100 + 0.25) / 101 / 0.25)
    codes = np.full(256, 4)
    for number, letter in enumerate("ACGT"):
        codes[ord(letter)] = number
    hits, width = [], len(odds)
    tables = [np.hstack([m, np.zeros((width, 1))]) for m in (odds, odds[::-1, ::-1])]
    for name, bases in sequences.items():
        code = codes[np.frombuffer(bases.encode(), np.uint8)]
        windows = np.lib.stride_tricks.sliding_window_view(code, width)
        values = np.max([table[np.arange(width), windows].sum(axis=1) for table in tables], axis=0)
        left = set()
        for place in np.argsort(-values)[:20]:
            if not any(abs(place - other) < width // 2 + 1 for other in left):
                left.add(int(place))
                hits.append((float(values[place]), name, int(place)))
    hits.sort(reverse=True)
    planted, right, best, used = sum(len(sites) for sites in truth.values()), 0, 0.0, set()
    for number, (_, name, place) in enumerate(hits, 1):
        for k, site in enumerate(truth.get(name, [])):
            if (name, k) not in used and 2 * overlap((place, place + width), site) >= min(width, site[1] - site[0]):
                used.add((name, k))
                right += 1
                break
        best = max(best, score(right, number, planted))
        if number > 4 * planted:
            break
    return best


def read_fasta(path, records):
    sequences, name = {}, None
    for line in open(path, encoding="utf-8"):
        if line.startswith(">"):
            name = line[1:].split()[0]
            sequences[name] = []
        else:
            sequences[name].append(line.strip())
    return {name: "".join(parts) for name, parts in sequences.items() if records is None or name in records}


def read_meme(path, word=-1):
    """Returns {name: probabilities [width][4]}; the name is a word of the line MOTIF after the first: 1 the identifier, -1 the last."""
    import numpy as np
    motifs, name, rows = {}, None, None
    for line in open(path, encoding="utf-8"):
        words = line.split()
        if line.startswith("MOTIF"):
            name, rows = words[word], []
        elif len(words) == 4 and words[0][0].isdigit() and rows is not None:
            rows.append([float(word) for word in words])
            motifs[name] = np.array(rows)
    return motifs


def main():
    arguments = sys.argv[1:]
    records = None
    if "--records" in arguments:
        at = arguments.index("--records")
        records = set(open(arguments[at + 1], encoding="utf-8").read().split())
        del arguments[at:at + 2]
    found, truth = read_bed(arguments[0], records), read_bed(arguments[1], records)
    sequences, matrices = (read_fasta(arguments[2], records), read_meme(arguments[3])) if len(arguments) > 2 else ({}, {})
    print("| factor | planted | found | precision | recall | F1 | F1 of a scan | median offset of centres | strand right |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for factor in sorted(truth):
        pairs = [pair for record, sites in found[factor].items() for pair in match(sites, truth[factor].get(record, []))]
        planted, reported = (sum(len(s) for s in side[factor].values()) for side in (truth, found))
        offsets = sorted(abs(a[0] + a[1] - b[0] - b[1]) / 2 for a, b in pairs)
        strands = sum(a[2] == b[2] for a, b in pairs)
        ceiling = f"{scan_f1(matrices[factor], sequences, truth[factor]):.3f}" if factor in matrices else "-"
        print(f"| {factor} | {planted} | {reported} | {len(pairs) / max(1, reported):.3f} | {len(pairs) / max(1, planted):.3f} "
              f"| {score(len(pairs), reported, planted):.3f} | {ceiling} | {offsets[len(offsets) // 2] if offsets else '-'} "
              f"| {max(strands, len(pairs) - strands) / max(1, len(pairs)):.3f} |")


if __name__ == "__main__":
    main()
