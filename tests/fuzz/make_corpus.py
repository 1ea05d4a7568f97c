#!/usr/bin/python3
"""Adds small good uploads to the archives in corpus/ (the inputs of stored are collection_write() of two of them), each behind the byte that names its
format (fuzz_collection.c, fuzz_archive.c)."""
import io
import pathlib
import shutil
import struct
import subprocess
import tarfile
import tempfile
import zipfile
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(tempfile.mkdtemp())


def png(rows, cols, bits=8, colours=0, bytes_a_pixel=1, palette=b""):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    raw = b"".join(bytes([r % 5 if palette else 0]) + bytes((r * 40 + c * 7) % 256 for c in range(cols * bytes_a_pixel)) for r in range(rows))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", cols, rows, bits, colours, 0, 0, 0)) +
            (chunk(b"PLTE", palette) + chunk(b"tRNS", b"\x80") if palette else b"") + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def wav(count):
    data = b"".join(struct.pack("<h", i * 99 % 2000 - 1000) for i in range(count))
    return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) +
            b"data" + struct.pack("<I", len(data)) + data)


def tar(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue().rstrip(b"\0") + bytes(1024)


def npz(compressed, **arrays):
    out = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(out, **arrays)
    return out.getvalue()


def bigwig(kind, compressed, lengths=(("chr1", 1000), ("chr2", 500))):
    """A bigWig file with one block of values for each sequence. kind: 1 intervals, 2 starts with a span, 3 steps. Each index is one leaf."""
    def block(number):
        values = [1.5, -2.0, 0.25]
        items = {1: b"".join(struct.pack("<IIf", 40 * i, 40 * i + 20, v) for i, v in enumerate(values)),
                 2: b"".join(struct.pack("<If", 40 * i, v) for i, v in enumerate(values)), 3: struct.pack("<3f", *values)}[kind]
        data = struct.pack("<IIIIIBBH", number, 0, 100, 40 if kind == 3 else 0, 20, kind, 0, len(values)) + items
        return zlib.compress(data) if compressed else data
    names = struct.pack("<IIIIQQ", 0x78CA8C91, len(lengths), 4, 8, len(lengths), 0) + struct.pack("<BBH", 1, 0, len(lengths)) + b"".join(
        name.encode() + struct.pack("<II", number, length) for number, (name, length) in enumerate(lengths))
    blocks = [block(number) for number in range(len(lengths))]
    summary = 64 + len(names)
    data = summary + 40
    index = data + 8 + sum(map(len, blocks))
    header = struct.pack("<IHHQQQHHQQIQ", 0x888FFC26, 4, 0, 64, data, index, 0, 0, 0, summary, 4096 if compressed else 0, 0)
    leaf, at = b"", data + 8
    for number, one in enumerate(blocks):
        leaf += struct.pack("<IIIIQQ", number, 0, number, 100, at, len(one))
        at += len(one)
    tree = struct.pack("<IIQIIIIQII", 0x2468ACE0, 256, len(blocks), 0, 0, len(blocks) - 1, 100, index, 1, 0) + struct.pack("<BBH", 1, 0, len(blocks)) + leaf
    return header + names + struct.pack("<Qdddd", 120, -2, 1.5, -5, 126.25) + struct.pack("<Q", len(blocks)) + b"".join(blocks) + tree


def write(name, first, data):
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(first + data)


x = np.arange(24, dtype="u1").reshape(2, 3, 4)
write("collection/boxes.npz", b"0", npz(False, x=x, y=np.array(["a b", "b"]), group=np.array([0, 1]),
                                         boxes=np.array([["0", "0", "1", "0", "2", "a"], ["1", "1", "3", "1", "4", "b"]])))
write("collection/positions.npz", b"0", npz(True, x=x.reshape(2, 1, 12).astype(">f2"), positions=np.array([[0, 1] * 6, [-1] * 12])))
write("collection/table.npz", b"0", npz(True, x=np.asfortranarray(x.reshape(4, 6).astype("f8")), y=np.eye(4, 3, dtype=bool),
                                         columns=np.array(list("uvwxyz"))))
write("collection/pictures.tar", b"4", tar({"s/labels.csv": b"file,label\na.png,x y\nb.png,y\n", "s/a.png": png(3, 4), "s/b.png": png(3, 4),
                                            "s/boxes.csv": b"file,row0,row1,col0,col1,symbol\na.png,0,2,1,3,x\n"}))
write("collection/recordings.tar", b"4", tar({"a.wav": wav(90), "b.wav": wav(50), "labels.csv": b"file,labels\nb.wav,p q\na.wav,q\n",
                                              "boxes.csv": b"file,begin,end,symbol\na.wav,0.001,0.01,q\n"}))
write("collection/genes.tar", b"4", tar({"g.fa": b">c1\nACGTACGTAC\n>c2\nGGGTT\n",
                                         "g.gff3": b"##gff-version 3\nc1\ts\tintron\t3\t6\t.\t+\t.\tParent=t\n"}))
for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("one", b"a" * 300)
        archive.writestr("folder/two", b"b")
    write(f"archive/{name}.zip", b"0", out.getvalue())
write("archive/folders.tar", b"1", tar({"a/b": b"1", "c": b"22", "d/e/f": b""}))
for name, data in (("grey", png(3, 4)), ("colours", png(3, 4, 8, 6, 4)), ("deep", png(3, 4, 16, 2, 6)), ("palette", png(6, 4, 8, 3, 1, bytes(range(99)) * 7 + bytes(75)))):
    write(f"png/{name}", b"", data)
for kind, name in ((1, "intervals"), (2, "starts"), (3, "steps")):
    write(f"bigwig/{name}", b"", bigwig(kind, False))
    write(f"bigwig/{name}-compressed", b"", bigwig(kind, True))
for target in sorted(FOLDER.iterdir()):
    subprocess.run([HERE / "corpus.sh", "add", target.name, *sorted(target.iterdir())], check=True)
shutil.rmtree(FOLDER)
