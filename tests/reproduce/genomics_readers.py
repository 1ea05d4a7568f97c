#!/usr/bin/env python3
"""Compares what motifd reads from files of sequences, regions, motifs and cells with what the readers of Debian read: pysam, Biopython, AnnData.

    tests/reproduce/genomics_readers.py [MOTIFD]

Each file is uploaded, and the stored values, names and labels are compared with those of the other reader. A file that the two read differently, or that
the other reader cannot read, is an exception; its row states the reason, and the values must be those of the same file in its usual form. Exits with 1 if
an exception has no reason. Run it with /usr/bin/python3; it needs
the packages python3-pysam, python3-biopython and python3-anndata.
"""
import gzip
import io
import os
import random
import sys
import tempfile
import warnings

import anndata
import numpy as np
import pandas as pd
import pysam
import scipy.sparse
from Bio import SeqIO, motifs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon  # noqa: E402
from readers import Comparison, Stored  # noqa: E402

warnings.filterwarnings("ignore")
TURN = str.maketrans("ACGTN", "TGCAN")
KNOWN = {name: "U and codes of several bases have no input of their own; motifd reads T and N" for name in ("rna", "mixed", "codes")} | {
    "strand -1": "pysam hands the text on; motifd reads the strand -", "positions 100.0": "pysam refuses it", "blanks": "pysam refuses lines without tabs",
    "headers": "pysam refuses track and browser lines", "no last line feed (BED)": "pysam refuses the last line", "pcm": "Biopython has another format for it (pfm-four-columns), which it must be told", "equal names": "AnnData keeps equal names; a data set numbers them"}


def bases(text):
    """The letters of a sequence as motifd stores them."""
    return "".join(c if c in "ACGT" else "N" for c in text.upper().replace("U", "T"))


def fasta_files(rng):
    draw = lambda count, letters="ACGT": "".join(rng.choice(letters) for _ in range(count))
    records = [(f"s{i}", f"s{i} w{i % 2}", draw(40 + 7 * i)) for i in range(8)]
    text = lambda rows, width=60, end="\n": "".join(f">{header}{end}" + "".join(seq[i:i + width] + end for i in range(0, len(seq), width)) for _, header, seq in rows)
    with_letters = lambda letters: [(name, header, draw(len(seq), letters)) for name, header, seq in records]
    plain = text(records)
    return {"lines of 60": plain, "one line": text(records, 10000), "lines of 7": text(records, 7), "CR LF": text(records, 60, "\r\n"), "no last line feed": plain[:-1],
            "blank lines": plain.replace(">", "\n>"), "small letters": text(with_letters("acgtACGT")), "N": text(with_letters("ACGTNn")), "rna": text(with_letters("ACGU")),
            "mixed": text(with_letters("ACGTU")), "codes": text(with_letters("ACGTRYSWKMBDHV")), "tab in the header": plain.replace(" w", "\tw"),
            "no words": "".join(line.split()[0] + "\n" for line in plain.splitlines()), "gzip": gzip.compress(plain.encode()), "bgzip": plain, "two members": gzip.compress(plain[:100].encode()) + gzip.compress(plain[100:].encode())}


def region_files(rng):
    """{name: (lines, options)} with regions of 60 to 400 bases, of which windows are taken."""
    rows = []
    for i in range(30):
        start = rng.randrange(600, 8000)
        rows.append((f"chr{1 + i % 3}", start, start + rng.randrange(60, 400), f"p{i}", rng.randrange(1000), rng.choice("+-.")))
    bed = lambda columns, more=lambda i, r: []: "".join("\t".join(map(str, [*row[:columns], *more(i, row)])) + "\n" for i, row in enumerate(rows))
    peaks = bed(6, lambda i, r: [1.5, 2.5, 3.5, rng.randrange(r[2] - r[1])])
    six = bed(6)
    return {"BED3": (bed(3), 50), "BED4": (bed(4), 50), "BED6": (six, 50), "whole regions": (six, 0), "BED12": (bed(6, lambda i, r: [r[1], r[2], 0, 1, r[2] - r[1], 0]), 50),
            "narrowPeak": (peaks, 50), "no summit": (bed(6, lambda i, r: [1, 2, 3, -1]), 50), "broadPeak": (bed(6, lambda i, r: [1, 2, 3]), 50), "headers": ("track name=x\nbrowser position chr1:1-2\n#c\n" + six, 50),
            "CR LF": (six.replace("\n", "\r\n"), 50), "no last line feed (BED)": (six[:-1], 50), "gzip": (gzip.compress(six.encode()), 50), "odd window": (six, 51), "long window": (six, 1000),
            "beyond the end": (six + "chr1\t9900\t12000\n", 50), "another sequence": (six + "chrUn\t5\t90\n", 50), "strand -1": (six.replace("\t-\n", "\t-1\n").replace("\t+\n", "\t1\n"), 50),
            "positions 100.0": ("".join("\t".join([c[0], c[1] + ".0", *c[2:]]) + "\n" for c in (line.split("\t") for line in six.splitlines())), 50), "blanks": (six.replace("\t", " "), 50)}


def windows(genome, text, window):
    """The names and bases of the windows that pysam's parser of BED and its access to the genome give."""
    out = []
    with tempfile.NamedTemporaryFile("wb", suffix=".bed") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
        file.flush()
        for row in pysam.tabix_iterator(gzip.open(file.name) if isinstance(text, bytes) else open(file.name), pysam.asBed()):
            if row.contig in ("track", "browser") or row.contig.startswith(("track", "browser")) or row.contig not in genome.references:
                continue
            peak = int(row[9]) if len(row) == 10 and int(row[9]) >= 0 else (row.end - row.start) // 2
            start = row.start + peak - window // 2 if window else row.start
            end = start + window if window else row.end
            if start < 0 or end > genome.get_reference_length(row.contig) or row.end > genome.get_reference_length(row.contig):
                continue
            turned = len(row) > 5 and row.strand == "-"
            letters = bases(genome.fetch(row.contig, start, end))
            out.append((f"{row.contig}:{start}-{end}{'(-)' if turned else ''}", letters.translate(TURN)[::-1] if turned else letters))
    return out


def matrix_files(rng):
    """{name: (text, format of Biopython)}: counts whose columns have equal sums, so that motifd keeps them."""
    def counts():
        for name in ("MA1.1 AAA", "MA2.1 B::C", "MA3.1"):
            columns = [np.bincount([rng.randrange(4) for _ in range(20)], minlength=4) for _ in range(rng.randrange(5, 12))]
            yield name, np.array(columns).T
    sets = list(counts())
    rows = lambda m, style="{}  [ {} ]": [style.format(letter, " ".join(map(str, row))) for letter, row in zip("ACGT", m)]
    jaspar = lambda order=(0, 1, 2, 3), style="{}  [ {} ]": "".join(f">{name}\n" + "".join(rows(m, style)[i] + "\n" for i in order) for name, m in sets)
    meme = "MEME version 4\n\nALPHABET= ACGT\n\nstrands: + -\n\nBackground letter frequencies\nA 0.25 C 0.25 G 0.25 T 0.25\n\n" + "".join(
        f"MOTIF {name}\nletter-probability matrix: alength= 4 w= {m.shape[1]} nsites= 20 E= 0\n" + "".join(" ".join(f"{v / 20:.6f}" for v in row) + "\n" for row in m.T) + "\n" for name, m in sets)
    turned = "".join(f">{name.split()[0]}\n" + "".join("\t".join(map(str, row)) + "\n" for row in m.T) for name, m in sets)
    return {"JASPAR": (jaspar(), "jaspar"), "tight brackets": (jaspar(style="{} [{}]"), "jaspar"), "CR LF": (jaspar().replace("\n", "\r\n"), "jaspar"), "rows in another order": (jaspar((3, 1, 2, 0)), "jaspar"),
            "MEME": (meme, "minimal"), "pcm": (turned, "jaspar"), "gzip": (gzip.compress(jaspar().encode()), "jaspar")}


def cell_files(rng):
    """{name: (table of AnnData, options of the upload, how to write it)}."""
    def table(x, **obs):
        out = anndata.AnnData(np.asarray(x, np.float32), obs=pd.DataFrame(obs, index=[f"c{i}" for i in range(len(x))]))
        out.var_names = [f"g{i}" for i in range(out.n_vars)]
        return out
    x = np.array([[rng.choice([0, 0, 0, 1, 2, 7.5]) for _ in range(12)] for _ in range(20)], np.float32)
    kinds = [rng.choice(["B cell", "T", "γδ T"]) for _ in range(20)]
    out = {"dense": (table(x), "", {}), "compressed": (table(x), "", {"compression": "gzip"})}
    for name, form in (("csr", scipy.sparse.csr_matrix), ("csc", scipy.sparse.csc_matrix)):
        out[name] = (table(x), "", {})
        out[name][0].X = form(x)
    for name, type_ in (("float64", np.float64), ("int64", np.int64), ("int32", np.int32), ("uint8", np.uint8), ("float16", np.float16)):
        out[name] = (table(x), "", {})
        out[name][0].X = x.astype(type_)
    for name, column in (("texts", kinds), ("categories", pd.Categorical(kinds)), ("ordered categories", pd.Categorical(kinds, ordered=True)), ("integers", [len(k) for k in kinds]),
                         ("booleans", [k == "T" for k in kinds]), ("nullable integers", pd.array([len(k) for k in kinds], "Int64")), ("nullable booleans", pd.array([k == "T" for k in kinds], "boolean"))):
        out[name] = (table(x, kind=column), "&label=kind", {})
    out["layer"] = (table(x), "&layer=twice", {})
    out["layer"][0].layers["twice"] = 2 * x
    out["equal names"] = (table(x), "", {})
    out["equal names"][0].var_names = ["a", "a"] + [f"g{i}" for i in range(10)]
    return out


def main():
    program, rng = sys.argv[1] if len(sys.argv) > 1 else "build/motifd", random.Random(3)
    with tempfile.TemporaryDirectory(prefix="readers-") as folder, Daemon(program, os.path.join(folder, "r.db"), "--data", os.path.join(folder, "data")) as daemon:
        compare = Comparison(daemon, os.path.join(folder, "data"), KNOWN)
        read, count = compare.read, compare.count
        for name, data in fasta_files(rng).items():
            path = os.path.join(folder, "x.fa")
            with open(path, "wb") as file:
                file.write(data if isinstance(data, bytes) else data.encode())
            if name == "bgzip":
                pysam.tabix_compress(path, path + ".gz", force=True)
                with open(path + ".gz", "rb") as file:
                    data = file.read()
            theirs = list(SeqIO.parse(io.StringIO((gzip.decompress(data) if isinstance(data, bytes) else data.encode()).decode()), "fasta"))
            with pysam.FastxFile(path) as file:
                assert [(r.name, r.sequence) for r in file] == [(r.id, str(r.seq)) for r in theirs]
            found = read(data, "format=fasta")
            equal = isinstance(found, Stored) and (found.names("records"), found.sequences()) == ([r.id for r in theirs], [str(r.seq).upper() for r in theirs])
            assert name not in ("rna", "mixed", "codes") or found.sequences() == [bases(str(r.seq)) for r in theirs], name
            count("FASTA", name, equal)

        where = os.path.join(folder, "data", "tiny")
        os.makedirs(where)
        with open(os.path.join(where, "genome.fa"), "w", encoding="ascii") as file:
            for i in range(3):
                file.write(f">chr{i + 1} x\n" + "".join("".join(rng.choice("ACGTacgtNR" if i == 2 else "ACGT") for _ in range(70)) + "\n" for _ in range(143)))
        pysam.faidx(os.path.join(where, "genome.fa"))
        packed = os.path.join(folder, "data", "packed", "genome.fa.gz")
        os.makedirs(os.path.dirname(packed))
        pysam.tabix_compress(os.path.join(where, "genome.fa"), packed)
        pysam.faidx(packed)
        genome = pysam.FastaFile(os.path.join(where, "genome.fa"))
        regions = region_files(rng)
        plain = regions["BED6"][0]
        for name, (data, window) in regions.items():
            for kind, of in (("BED and narrowPeak", "tiny"), ("BED and narrowPeak, genome in bgzip", "packed")):
                found = read(data, f"format=bed&genome={of}&window={window}")
                try:
                    theirs = windows(genome, data, window)
                except (ValueError, IndexError, NotImplementedError):
                    theirs = None
                if theirs is None or name == "strand -1":
                    assert list(zip(found.names("records"), found.sequences())) == windows(genome, plain, window), name
                count(kind, name, isinstance(found, Stored) and list(zip(found.names("records"), found.sequences())) == theirs)

        for name, (data, form) in matrix_files(rng).items():
            found = read(data, "format=meme")
            text = gzip.decompress(data).decode() if isinstance(data, bytes) else data
            try:
                theirs = [np.array([m.counts[b] for b in "ACGT"]) for m in motifs.parse(io.StringIO(text), form)]
                theirs = [m * 20 / m.sum(axis=0) for m in theirs]
            except (ValueError, IndexError, KeyError):
                theirs = None
            equal = isinstance(found, Stored) and theirs is not None and len(theirs) == found.count and all(a.shape == b.shape and np.allclose(a, b, atol=1e-4) for a, b in zip(found.x, theirs))
            count("JASPAR and MEME", name, equal)

        for name, (table, query, how) in cell_files(rng).items():
            path = os.path.join(folder, "t.h5ad")
            table.write_h5ad(path, **how)
            theirs = anndata.read_h5ad(path)
            with open(path, "rb") as file:
                found = read(file.read(), "format=h5ad" + query)
            x = theirs.layers["twice"] if "layer" in query else theirs.X
            x = np.asarray(x.todense() if scipy.sparse.issparse(x) else x, np.float32)
            equal = isinstance(found, Stored) and np.array_equal(np.array([s[0] for s in found.x], np.float32), x) and found.names("records") == list(theirs.obs_names)
            equal = equal and found.names("columns") == list(theirs.var_names)
            if "label" in query:
                equal = equal and [label[0] for label in found.labels()] == [str(k) for k in theirs.obs["kind"]]
            count("h5ad", name, equal)
    compare.print_table()
    return compare.bad > 0


if __name__ == "__main__":
    sys.exit(main())
