"""What the scripts of this folder share: they read a published table and write an .npz that `motifctl datasets put` uploads."""
import csv
import sys

import numpy as np

MOST_BYTES = 255  # of one text in an array of an upload


def lines_of(path, separator=None):
    """The records of a table with commas or tabs, without empty lines. Without a separator, the first line decides."""
    csv.field_size_limit(1 << 30)
    with open(path, encoding="utf-8", newline="") as file:
        if separator is None:
            separator = "\t" if "\t" in file.readline() else ","
            file.seek(0)
        yield from (record for record in csv.reader(file, delimiter=separator) if record)


def texts(values):
    """Texts as an array of UTF-8. A text that is too long for an upload is cut between two letters."""
    return np.array([value.encode()[:MOST_BYTES].decode(errors="ignore").encode() for value in values])


def write(path, x, columns, **members):
    """members: arrays, or lists of texts, called as docs/reference/files.md says; None: left out."""
    arrays = {name: value if isinstance(value, np.ndarray) else texts(value) for name, value in members.items() if value is not None}
    if "y" in arrays:
        arrays = {"options": texts(["target=class"]), **arrays}  # a class may have spaces
    np.savez_compressed(path, **arrays, x=np.asarray(x, np.float32), columns=texts(columns))
    print(f"{path}: {x.shape[0]} rows, {x.shape[1]} columns")


def stop(message):
    sys.exit(f"error: {message}")


def deviations(x):
    """The standard deviation of each column. The sums run over the rows in their order, in double precision."""
    mean = np.zeros(x.shape[1])
    squares = np.zeros(x.shape[1])
    for row in x:
        mean += row
    mean /= len(x)
    for row in x:
        squares += (row - mean) ** 2
    return np.sqrt(squares / len(x))


def largest(score, most):
    """Which entries are the `most` largest, in their order; ties go to the first."""
    return np.sort(np.argsort(-score, kind="stable")[:most])
