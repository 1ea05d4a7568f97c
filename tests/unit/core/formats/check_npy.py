#!/usr/bin/env python3
"""Writes arrays of every dtype, order and rank with NumPy and reads them with npy_print: values must be equal, or the refusal must give a reason."""
import itertools
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

SHAPES = [(), (0,), (5,), (2, 3), (3, 0), (2, 3, 4), (1, 1, 1), (2, 3, 2, 2), (1, 2, 1, 3, 1), (2,) * 6]
TAKEN = ["b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "S3", "U4"]
REFUSED = ["f16", "c8", "c16", "c32", "M8[s]", "m8[D]", "V5", "O", [("a", "<f4"), ("b", "<i2")]]


def fill(dtype, shape):
    count = int(np.prod(shape))
    if dtype.kind in "SU":
        words = ["", "a", "xy", "abc"] if dtype.kind == "S" else ["", "ä", "€uro", "x𝄞"]
        return np.array([words[i % 4] for i in range(count)], dtype=object).astype(dtype).reshape(shape)
    base = (np.arange(count) * 37 % 251).astype("f8")
    if dtype.kind in "if":
        base -= 100
    if dtype.kind == "f":
        base /= 8
    return base.astype(dtype, copy=False).reshape(shape) if dtype.kind not in "OVMm" else np.zeros(shape, dtype)


def cases():
    for spec, shape, order, end in itertools.product(TAKEN + REFUSED, SHAPES, "CF", "<>"):
        dtype = np.dtype(spec)
        dtype = dtype.newbyteorder(end) if not isinstance(spec, list) else dtype
        array = fill(dtype, shape)
        yield spec, array, np.array(array, order=order, copy=True)


def expected(array):
    if array.ndim > 4:
        return None
    if array.dtype.kind in "SU":
        values = ["'%s'" % (v.decode() if isinstance(v, bytes) else v) for v in array.reshape(-1)]
    else:
        values = ["%.9g" % v for v in array.astype("f4").reshape(-1).astype("f8")]
    return " ".join(["ok", str(array.ndim), *map(str, array.shape), ":", *values])


def main():
    files, wanted, names = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for spec, array, stored in cases():
            path = os.path.join(folder, "%d.npy" % len(files))
            np.save(path, stored, allow_pickle=True)
            files.append(path)
            names.append(f"{stored.dtype} {array.shape} {'F' if stored.flags.fnc else 'C'}")
            wanted.append(None if spec in REFUSED else expected(array))
        out = subprocess.run([sys.argv[1], *files], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(out) == len(wanted), (len(out), len(wanted))
    faults = refused = 0
    for name, want, got in zip(names, wanted, out):
        refused += want is None
        good = got == want if want is not None else got.startswith("invalid: ") and len(got) > 30
        if not good:
            faults += 1
            print("%s: wanted %s, got %s" % (name, want, got))
    print("%d arrays, %d of them refused by name, %d faults" % (len(out), refused, faults))
    return faults > 0


sys.exit(main())
