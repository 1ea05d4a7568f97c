#!/usr/bin/env python3
"""Compares the means that motifd reads from bigWig files of another program with the values from which the files were made.

    tests/reproduce/bigwig.py [MOTIFD]

bigwig.R writes six files with the library of the UCSC Genome Browser (Debian: r-bioc-rtracklayer): sections of the types bedGraph, fixedStep and
variableStep, compressed or not, with several chromosomes and zoom levels. The package also contains two files of its own tests. For each file, the
script makes a genome with the same chromosomes, uploads regions with --signal and several bins, reads the numbers of the stored data set, and compares
each with the mean of the source's values. A genome here is a sparse file, because only the windows of the regions are read. Exits with 1 if a number
differs by more than the rounding of 32-bit floats. Needs NumPy and r-bioc-rtracklayer.
"""
import collections
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
from daemon import Daemon  # noqa: E402

WINDOW, BINS, REGIONS = 1000, 8, 400
# Prints the chromosomes of a bigWig file, and its values as bedGraph, both as the library of the Genome Browser reads them.
READ = """suppressMessages(library(rtracklayer)); file <- BigWigFile(commandArgs(TRUE)[1]); n <- seqlengths(file); g <- import(file)
cat(paste0("#", names(n), "\\t", n, "\\n"), sep = ""); if (length(g) > 0) cat(paste(seqnames(g), start(g) - 1L, end(g), g$score, sep = "\\t"), sep = "\\n")"""


def from_ucsc(path):
    text = subprocess.run(["Rscript", "-e", READ, path], capture_output=True, text=True, check=True).stdout.splitlines()
    lengths = {name: int(count) for name, count in (line[1:].split("\t") for line in text if line.startswith("#"))}
    return lengths, [line for line in text if line and not line.startswith("#")]


def values_of(lines):
    """Returns {chromosome: (starts, ends, values)}."""
    rows = collections.defaultdict(list)
    for line in lines:
        name, start, end, value = line.split()
        rows[name].append((int(start), int(end), np.float32(value)))
    return {name: tuple(np.array(column, float) for column in zip(*own)) for name, own in rows.items()}


def mean(values, start, end):
    starts, ends, value = values
    return (value * np.clip(np.minimum(ends, end) - np.maximum(starts, start), 0, None)).sum() / (end - start)


def regions_of(values, lengths, rng):
    """Draws half of the regions around values and half anywhere."""
    out = []
    for name, length in lengths.items():
        for i in range(REGIONS // len(lengths)):
            near = values[name][0][rng.integers(len(values[name][0]))] if i % 2 and name in values else rng.integers(length)
            start = int(min(max(0, near - rng.integers(WINDOW)), length - WINDOW))
            out.append((name, start, start + WINDOW))
    return out


def write_genome(folder, lengths, regions, rng):
    """Writes a genome that has bases in the regions and nothing elsewhere, as one line for each chromosome."""
    os.makedirs(folder)
    begin = {}
    with open(os.path.join(folder, "genome.fa"), "wb") as fasta, open(os.path.join(folder, "genome.fa.fai"), "w", encoding="utf-8") as index:
        for name, length in lengths.items():
            fasta.write(f">{name}\n".encode())
            begin[name] = fasta.tell()
            index.write(f"{name}\t{length}\t{begin[name]}\t{length}\t{length + 1}\n")
            fasta.seek(length, os.SEEK_CUR)
            fasta.write(b"\n")
        for name, start, end in regions:
            fasta.seek(begin[name] + start)
            fasta.write(bytes(rng.choice(list(b"ACGT"), end - start).tolist()))


def structure(path):
    """Returns the version, the number of zoom levels and whether sections are compressed, from the header of a bigWig file."""
    with open(path, "rb") as file:
        fields = struct.unpack("<IHHQQQHHQQIQ", file.read(64))
    return fields[1], fields[2], fields[1] >= 3 and fields[10] > 0


def stored(path, wanted):
    """An array of 32-bit floats of a stored data set (core/base/snapshot.h)."""
    with open(path, "rb") as file:
        magic, count, _, _ = struct.unpack("<8sIIQ", file.read(24))
        assert magic == b"MOTIFPK1", path
        entries = [struct.unpack("<96sBBB5x4QQQ", file.read(152)) for _ in range(count)]
        *_, rows, columns, _, _, offset, size = next(entry for entry in entries if entry[0].rstrip(b"\0") == wanted.encode())
        file.seek(-(-(24 + 152 * count) // 64) * 64 + offset)
        return np.frombuffer(file.read(size), "<f4").reshape(rows, columns)


def compare(daemon, data, name, path, lines, lengths):
    """Returns the number of numbers and their largest difference."""
    rng = np.random.default_rng(5)
    values = values_of(lines)
    regions = regions_of(values, lengths, rng)
    write_genome(os.path.join(data, "genome-" + name), lengths, regions, rng)
    os.makedirs(os.path.join(data, name))
    os.symlink(os.path.abspath(path), os.path.join(data, name, "signal.bw"))
    bed = "".join(f"{chromosome}\t{start}\t{end}\n" for chromosome, start, end in regions).encode()
    status, _, body = daemon.ask("PUT", f"/v1/datasets/set-{name}?target=number&genome=genome-{name}&window={WINDOW}&signal={name}&bins={BINS}", bed, "text/x-bed")
    assert status == 201, body
    got = stored(os.path.join(data, "set-" + name, "set.pack"), "number")
    cuts = [WINDOW * i // BINS for i in range(BINS + 1)]
    expected = np.array([[mean(values[c], s + a, s + b) if c in values else 0 for a, b in zip(cuts, cuts[1:])] for c, s, _ in regions])
    assert got.shape == expected.shape and np.count_nonzero(expected) > 20, (got.shape, expected.shape)
    return got.size, float((np.abs(got - expected) / (1 + np.abs(expected))).max())


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/motifd"
    worst = 0
    print("| file | version | zoom levels | compressed | chromosomes | values | means compared | largest difference |\n" + "| --- " * 8 + "|")
    with tempfile.TemporaryDirectory(prefix="bigwig-") as folder:
        subprocess.run(["Rscript", os.path.join(HERE, "bigwig.R"), folder], check=True, stderr=subprocess.DEVNULL)
        own = subprocess.run(["Rscript", "-e", "cat(system.file('tests', package = 'rtracklayer'))"], capture_output=True, text=True, check=True).stdout
        files = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".bw")]
        files += [os.path.join(own, name) for name in ("test.bw", "variableStep.bw")]
        data = os.path.join(folder, "data")
        with Daemon(program, os.path.join(folder, "b.db"), "--data", data) as daemon:
            for path in files:
                name = os.path.basename(path)[:-3].lower()
                lengths, lines = from_ucsc(path)
                source = path[:-3] + ".bedgraph"
                if os.path.exists(source):
                    with open(source, encoding="utf-8") as file:
                        lines = file.read().splitlines()
                count, difference = compare(daemon, data, name, path, lines, lengths)
                worst = max(worst, difference)
                version, zooms, packed = structure(path)
                print(f"| {name} | {version} | {zooms} | {'yes' if packed else 'no'} | {len(lengths)} | {len(lines)} | {count} | {difference:.1e} |", flush=True)
    return worst > 1e-6


if __name__ == "__main__":
    sys.exit(main())
