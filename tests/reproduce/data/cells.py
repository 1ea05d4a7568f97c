#!/usr/bin/env python3
"""Makes the data set of the presets cells* of the kind factors: a row for each cell, a column for each gene, the cell's class as label.

FOLDER has one of these:
  expression.txt            the table of Zeisel et al. (2015) as published: ten lines about the cells, an empty line, a line for each gene
  counts.tsv, cells.tsv     a line for each gene; cells.tsv has the class of each cell_id in level1class or, without it, in column 2
  counts.tsv                a line for each cell, with a column cell_type
The published filter: genes with at least 25 molecules stay; genes with at least 6 genes (themselves included) whose correlation with them
is above 0.2091; the 5,000 genes furthest above the curve log2 CV = log2(mean^-0.56 + 0.61), which was fitted to the published table. Then
quantile normalisation, and the 558 genes with the largest deviation stay. The second and third steps apply to expression.txt only.

    tests/reproduce/data/cells.py FOLDER cells.npz && motifctl datasets put cells cells.npz"""
import argparse
import os

import numpy as np

import upload

ABOUT_LINES, BESIDE = 10, 2  # of expression.txt: lines about cells, and fields of a line that belong to no cell


def numbers(values, what):
    try:
        return np.array(values, np.float64).astype(np.float32)
    except ValueError:
        upload.stop(f"{what} has a field that is no number, or lines of different lengths")


def published(path):
    lines = list(upload.lines_of(path, "\t"))
    about = next((line for line in lines[:ABOUT_LINES] if line[1] == "level1class"), None)
    genes = [line for line in lines[ABOUT_LINES:] if any(line)]
    if about is None or len(genes) < 2:
        upload.stop("expression.txt has no line level1class, or fewer than two genes")
    return numbers([line[BESIDE:] for line in genes], "expression.txt").T, [line[0] for line in genes], about[BESIDE:]


def classes(folder, cells):
    path = os.path.join(folder, "cells.tsv")
    if not os.path.exists(path):
        return None
    header, *lines = upload.lines_of(path, "\t")
    if [line[0] for line in lines] != cells:
        upload.stop("cells.tsv and counts.tsv have different ids; their orders must be the same")
    column = header.index("level1class") if "level1class" in header else 1
    return [line[column] for line in lines]


def counts(folder):
    header, *lines = upload.lines_of(os.path.join(folder, "counts.tsv"))
    if not header[0]:
        x = numbers([line[1:] for line in lines], "counts.tsv").T
        return x, [line[0] for line in lines], classes(folder, header[1:])
    text = next((header.index(name) for name in ("cell_type", "class", "label") if name in header), -1)
    beside = {text} | ({0} if text > 0 else set())  # the class, and the id in front of it
    keep = [k for k in range(len(header)) if k not in beside]
    if any(len(line) != len(header) for line in lines):
        upload.stop("counts.tsv has lines of different lengths")
    return (numbers([[line[k] for k in keep] for line in lines], "counts.tsv"), [header[k] for k in keep],
            [line[text] for line in lines] if text >= 0 else None)


def neighbours(x, limit):
    """For each gene the number of genes, itself included, whose correlation with it is above the limit."""
    mean = np.add.reduce(x.astype(float) / len(x), axis=0)
    off = x - mean
    norm = np.sqrt(np.add.reduce(off ** 2, axis=0))
    unit = np.where(norm > 0, off / np.where(norm > 0, norm, 1), 0).astype(np.float32)
    above = unit.T @ unit > limit
    np.fill_diagonal(above, True)
    return above.sum(axis=1)


def noise(x, power, offset):
    """How far log2 of each gene's coefficient of variation is above the curve."""
    mean = np.add.reduce(x.astype(float) / len(x), axis=0)
    squares = np.add.reduce((x - mean) ** 2 / len(x), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean > 0, np.log2(np.sqrt(squares) / mean) - np.log2(mean ** power + offset), -np.inf)


def quantiles(x):
    """Quantile normalisation of the rows, with ties as in preprocessCore: every row gets the same sorted values, the means over the rows.
    Equal values of a row get the value at the mean of their ranks, or the mean of the two values if it is between two ranks."""
    mean = np.zeros(x.shape[1])
    for row in x:
        mean += np.sort(row).astype(float) / len(x)
    out = np.empty_like(x)
    for i, row in enumerate(x):
        _, group, size = np.unique(row, return_inverse=True, return_counts=True)
        end = np.cumsum(size)
        rank = 0.5 * (2 * end - size - 1)
        low = rank.astype(int)
        value = np.where(rank > low, 0.5 * (mean[low] + mean[np.minimum(low + 1, len(mean) - 1)]), mean[low])
        out[i] = value[group]
    return out


def filtered(x, names, published_table, genes=558, least_molecules=25, least_neighbours=6, correlation=0.2091, noisiest=5000, power=-0.56,
             offset=0.61):
    names = np.array(names)

    def keep(chosen):
        nonlocal x, names
        if len(names[chosen]) < 2:
            upload.stop("the filter leaves fewer than 2 genes")
        x, names = np.ascontiguousarray(x[:, chosen]), names[chosen]

    keep(np.add.reduce(x.astype(float), axis=0) / len(x) * len(x) >= least_molecules)
    if published_table:
        keep(neighbours(x, correlation) >= least_neighbours)
        keep(upload.largest(noise(x, power, offset), noisiest))
    x = quantiles(x)
    keep(upload.largest(upload.deviations(x), genes))
    return x, list(names)


def table(folder, **filters):
    path = os.path.join(folder, "expression.txt")
    whole = os.path.exists(path)
    x, names, labels = published(path) if whole else counts(folder)
    x, names = filtered(x, names, whole, **filters)
    return x, names, labels


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("output")
    parser.add_argument("--genes", type=int, default=558)
    options = parser.parse_args()
    values, columns, of_cells = table(options.folder, genes=options.genes)
    upload.write(options.output, values, columns, y=of_cells)
