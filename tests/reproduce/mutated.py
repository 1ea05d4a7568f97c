#!/usr/bin/env python3
"""Uploads mutated files to a daemon: HDF5, and tars of JPEG or TIFF pictures.

    mutated.py build/motifd [KIND ...] [--seconds 3600] [--seed 1]

The kinds are hdf5, jpeg and tiff, one after the other, each for an equal part of the time. The files come from tests/fuzz/corpus; a mutation flips bits,
replaces, removes or repeats pieces, or writes extreme numbers. A file that is accepted is read again as a data set, and deleted. The script prints the
number of answers by status. Exit code 1: an answer has a status that means a fault of the daemon (500, or none), the daemon did not end with 0, or the
ledger of /v1/system holds something at the end. Its last file is then MOTIFD-mutated-KIND in the working folder."""
import argparse
import collections
import io
import os
import pathlib
import random
import struct
import sys
import tarfile
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon  # noqa: E402

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "corpus"
ARCHIVES = {"hdf5": "convert", "jpeg": "jpeg", "tiff": "tiff"}
MEDIA = {"hdf5": "application/x-hdf5", "jpeg": "application/x-tar", "tiff": "application/x-tar"}
QUERIES = {"hdf5": ("?format=h5ad", "?format=10x-h5"), "jpeg": ("",), "tiff": ("",)}
ENDINGS = {"jpeg": "jpg", "tiff": "tif"}
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
FAULTS = (0, 500)


def mutate(dice, data):
    data = bytearray(data)
    for _ in range(1 << dice.randrange(5)):
        if not data:
            break
        at, choice = dice.randrange(len(data)), dice.randrange(6)
        count = 1 << dice.randrange(10)
        if choice == 0:
            data[at] ^= 1 << dice.randrange(8)
        elif choice == 1:
            data[at] = dice.randrange(256)
        elif choice == 2:
            form = dice.choice(("<I", ">I", "<H", ">H"))
            value = struct.pack(form, dice.choice(EXTREMES) & (0xFFFF if form[1] == "H" else 0xFFFFFFFF))
            data[at:at + len(value)] = value
        elif choice == 3:
            del data[at:at + count]
        elif choice == 4:
            other = dice.randrange(len(data))
            data[at:at + count] = data[other:other + count]
        elif dice.randrange(4) == 0:
            del data[at:]
    return bytes(data)


def packed(kind, first, second):
    """A tar of two pictures of two classes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in (("a", first), ("b", second)):
            member = tarfile.TarInfo(f"{name}/1.{ENDINGS[kind]}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def attack(daemon, kind, dice, seconds):
    with tarfile.open(CORPUS / f"{ARCHIVES[kind]}.tar.xz") as tar:
        files = [tar.extractfile(member).read() for member in tar.getmembers() if member.isfile()]
    files = [data[max(0, data.find(b"\x89HDF")):] for data in files]  # fuzz_convert reads options before the file
    answers, end = collections.Counter(), time.monotonic() + seconds
    while time.monotonic() < end:
        seed = dice.choice(files)
        body = mutate(dice, seed)
        if kind != "hdf5":
            body = packed(kind, seed if dice.randrange(2) else body, body)
        try:
            status = daemon.ask("PUT", f"/v1/datasets/{kind}{dice.choice(QUERIES[kind])}", body, MEDIA[kind])[0]
        except OSError:
            status = 0
        answers[status] += 1
        if status in FAULTS:
            pathlib.Path(f"MOTIFD-mutated-{kind}").write_bytes(body)
            break
        if status == 201:
            assert daemon.ask("GET", f"/v1/datasets/{kind}")[0] == 200
            assert daemon.ask("DELETE", f"/v1/datasets/{kind}")[0] == 204
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("motifd")
    parser.add_argument("kind", nargs="*")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kinds, good = options.kind or list(ARCHIVES), True
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w") as log:
        with Daemon(options.motifd, f"{folder}/db", "--data", f"{folder}/data", "--rate-limit", "0", "--log-level", "warn", log=log) as daemon:
            for kind in kinds:
                begun = time.monotonic()
                answers = attack(daemon, kind, random.Random(f"{options.seed} {kind}"), options.seconds / len(kinds))
                good = good and not any(answers[fault] for fault in FAULTS)
                print(f"{kind}: {sum(answers.values())} uploads in {time.monotonic() - begun:.0f} s: "
                      f"{', '.join(f'{count} of {status}' for status, count in sorted(answers.items()))}", flush=True)
            held = {name: amount for name, amount in daemon.ask("GET", "/v1/system")[2]["requests"].items() if amount}
            good = good and not held
            print(f"held at the end: {held or 'nothing'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
