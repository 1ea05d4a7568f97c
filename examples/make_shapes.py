#!/usr/bin/env python3
"""Writes pictures of shapes, and for each picture the set of their names without positions: the data of docs/tutorials/images.md.

usage: make_shapes.py OUT.tar [COUNT]

Needs Python's standard library only. The same arguments give the same file."""
import io
import random
import struct
import sys
import tarfile
import zlib

SIDE = 48
SHAPES = {
    "cross": ["...#...", "...#...", "...#...", "#######", "...#...", "...#...", "...#..."],
    "ring": [".#####.", "##...##", "#.....#", "#.....#", "#.....#", "##...##", ".#####."],
    "block": ["#######", "#######", "#######", "#######", "#######", "#######", "#######"],
    "wedge": ["#......", "##.....", "###....", "####...", "#####..", "######.", "#######"],
    "bars": ["#.#.#.#", "#.#.#.#", "#.#.#.#", "#.#.#.#", "#.#.#.#", "#.#.#.#", "#.#.#.#"],
}


def png(rows):
    """Returns the bytes of a PNG file with these rows of 8-bit grey values."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def picture(rng):
    """Returns (rows, names) of a picture: grey noise with one to four different shapes that do not touch."""
    rows = [[rng.randrange(90) for _ in range(SIDE)] for _ in range(SIDE)]
    names, places = rng.sample(sorted(SHAPES), rng.randint(1, 4)), []
    for name in names:
        while True:
            top, left = rng.randrange(SIDE - 7), rng.randrange(SIDE - 7)
            if all(abs(top - other[0]) > 8 or abs(left - other[1]) > 8 for other in places):
                break
        places.append((top, left))
        for i, line in enumerate(SHAPES[name]):
            for j, mark in enumerate(line):
                if mark == "#":
                    rows[top + i][left + j] = rng.randrange(150, 256)
    return rows, names


def main(path, count=6000):
    rng = random.Random(1)
    labels = ["file,labels"]
    with tarfile.open(path, "w") as tar:
        def add(name, data):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for i in range(int(count)):
            rows, names = picture(rng)
            add(f"{i}.png", png(rows))
            labels.append(f"{i}.png,{' '.join(sorted(names))}")
        add("labels.csv", "\n".join(labels).encode() + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
