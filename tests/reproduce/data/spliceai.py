#!/usr/bin/env python3
"""Makes the genes of SpliceAI's training and test data for the domain splicing: a FASTA file and a GFF3 file.

FOLDER has dataset_train_all.h5 and dataset_test_0.h5. Each has arrays X0, X1, ... of shape [n][length + 2 flank][4] (one-hot A, C, G, T)
and Y0, Y1, ... of shape [1][n][length][3] (one-hot null, acceptor, donor). Windows of one gene follow each other and overlap by their
flanks, so the script joins them again; the daemon cuts them into the same windows. A locus is named so that the daemon counts it to the set
from which it comes. Needs Debian's python3-h5py.

    tests/reproduce/data/spliceai.py FOLDER motifd-data/spliceai
    motifctl submit --kind sparling --preset splicing-paper --set splicing_dataset=spliceai"""
import argparse
import hashlib
import os

import numpy as np

import upload

ACCEPTOR, DONOR = 1, 2
LETTERS = np.frombuffer(b"ACGTN", np.uint8)


def name_of(number, test):
    """A name whose SHA-256 puts the locus into the test set (first byte below 26) or into the training set."""
    at = 0
    while (hashlib.sha256(f"gene{number}.{at}".encode()).digest()[0] < 26) != test:
        at += 1
    return f"gene{number}.{at}"


def indices(one_hot, none, what):
    """The index of the 1 in the last axis; `none` where all are 0."""
    total = one_hot.sum(axis=-1)
    if not np.isin(one_hot, (0, 1)).all() or (total > 1).any():
        upload.stop(f"{what} is not one-hot")
    return np.where(total > 0, one_hot.argmax(axis=-1), none).astype(np.uint8)


def genes(x, y):
    """The letters and the classes of each gene. x: [n][length + 2 flank][4], y: [1][n][length][3]."""
    bases, classes = indices(x, 4, "X"), indices(y[0], 0, "Y")
    length, flank = classes.shape[1], (bases.shape[1] - classes.shape[1]) // 2
    same = (bases[:-1, length:] == bases[1:, :2 * flank]).all(axis=1) if flank else np.zeros(len(bases) - 1, bool)
    begins = [0, *(np.flatnonzero(~same) + 1), len(bases)]
    for first, end in zip(begins, begins[1:]):
        if flank and ((bases[first, :flank] < 4).any() or (bases[end - 1, -flank:] < 4).any()):
            upload.stop("the flanks of a gene have bases; FASTA and GFF3 cannot leave them unlabelled")
        middle = bases[first:end, flank:flank + length].reshape(-1)
        used = max(np.flatnonzero(middle < 4).max(initial=-1) + 1, (end - first - 1) * length + 1)
        sites = classes[first:end].reshape(-1)
        if sites[used:].any():
            upload.stop("a splice site is behind the last base of its gene")
        yield middle[:used], sites[:used]


def introns(sites):
    """The first and the last position of each intron, from 1."""
    at = np.flatnonzero(sites)
    if len(at) % 2 or (sites[at[::2]] != DONOR).any() or (sites[at[1::2]] != ACCEPTOR).any():
        upload.stop("donors and acceptors of a gene do not alternate")
    return list(zip(at[::2] + 1, at[1::2] + 1))


def write(fasta, gff, number, test, bases, sites):
    name = name_of(number, test)
    fasta.write(f">{name}\n{LETTERS[bases].tobytes().decode()}\n")
    for begin, end in introns(sites):
        gff.write(f"{name}\tSpliceAI\tintron\t{begin}\t{end}\t.\t+\t.\t.\n")


def main():
    import h5py  # here, so that the other functions can be used without it
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("output", help="a folder, which the script makes")
    options = parser.parse_args()
    os.makedirs(options.output)
    number = 0
    with open(os.path.join(options.output, "genes.fa"), "w") as fasta, open(os.path.join(options.output, "genes.gff3"), "w") as gff:
        gff.write("##gff-version 3\n")
        for test, name in enumerate(("dataset_train_all.h5", "dataset_test_0.h5")):
            with h5py.File(os.path.join(options.folder, name)) as file:
                at = 0
                while f"X{at}" in file:
                    for bases, sites in genes(file[f"X{at}"][:], file[f"Y{at}"][:]):
                        write(fasta, gff, number, bool(test), bases, sites)
                        number += 1
                    at += 1
    print(f"{options.output}: {number} genes")


if __name__ == "__main__":
    main()
