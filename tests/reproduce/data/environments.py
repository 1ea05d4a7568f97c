#!/usr/bin/env python3
"""Makes a data set of the kind environments: rows with their features, and for each row the path to its place in a tree as group.

FOLDER has a tree, tree_edges.tsv (columns parent and child; LEVEL:NAME stands for NAME), and its rows in one of these forms:
  expression.tsv or counts.tsv with a line for each feature, and samples.tsv or cells.tsv with a row for each sample
  samples.tsv or counts.tsv with a row for each sample and a column for each feature
A row belongs to the node that a text column names; of several such columns, the one that names the most nodes counts. Rows that name no
node are left out. The values stay as they are: the daemon takes logarithms of counts, chooses features and standardises them.

    tests/reproduce/data/environments.py FOLDER tissues.npz && motifctl datasets put tissues tissues.npz"""
import argparse
import os

import numpy as np

import upload


def places(folder):
    """The path of each node below the root, under its name and without the level before it; and the nodes in the order of the file."""
    header, *lines = upload.lines_of(os.path.join(folder, "tree_edges.tsv"), "\t")
    edges = [(line[header.index("parent")], line[header.index("child")]) for line in lines]
    above = {child: parent for parent, child in edges}
    if len(above) < len(edges) or len(set(above.values()) - set(above)) != 1:
        upload.stop("tree_edges.tsv is not a tree: a node has two parents, or there is not exactly one root")
    names = {}
    for node in above:
        path, at = [], node
        while at in above:
            path.insert(0, at.split(":", 1)[-1].replace("/", "-"))
            at = above[at]
        for name in (node, node.split(":", 1)[-1]):
            names.setdefault(name, "/".join(path))
    return names


def sheet(folder, *names):
    """The first of these tables that exists: its header and its lines."""
    for name in names:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            header, *lines = upload.lines_of(path, "\t")
            if any(len(line) != len(header) for line in lines):
                upload.stop(f"{name} has a line with another number of fields than its header")
            return header, lines
    return None


def is_number(text):
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


def table(folder):
    """The values, the names of the features, and the path of each row."""
    tree, matrix = places(folder), sheet(folder, "expression.tsv", "counts.tsv")
    across = matrix is not None and matrix[0][0] == ""
    rows = matrix if matrix and not across else sheet(folder, "samples.tsv", "cells.tsv")
    if rows is None:
        upload.stop("there is neither samples.tsv nor cells.tsv")
    header, lines = rows
    if across and matrix[0][1:] != [line[0] for line in lines]:
        upload.stop("the matrix and the table of samples have different ids; their orders must be the same")
    is_text = [at == 0 or not is_number(text) for at, text in enumerate(lines[0])]
    named = [len({line[at] for line in lines if is_text[at] and line[at] in tree}) for at in range(len(header))]
    if max(named) < 2:
        upload.stop("no text column names at least two nodes of the tree")
    place = [tree.get(line[named.index(max(named))]) for line in lines]
    features = [at for at in range(len(header)) if not is_text[at]]
    outcome = next((at for at in features if header[at] in ("y", "outcome", "label", "resistant")), None)
    if across:
        names = [line[0] for line in matrix[1]] + ([header[outcome]] if outcome is not None else [])
        x = np.array([line[1:] for line in matrix[1]], np.float64).T
        if outcome is not None:
            x = np.column_stack([x, [float(line[outcome]) for line in lines]])
    else:
        names = [header[at] for at in features]
        x = np.array([[line[at] for at in features] for line in lines], np.float64)
    stays = [path is not None for path in place]
    return x[stays].astype(np.float32), names, [path for path in place if path is not None]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("output")
    options = parser.parse_args()
    values, columns, paths = table(options.folder)
    upload.write(options.output, values, columns, group=paths)
