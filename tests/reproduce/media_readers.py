#!/usr/bin/env python3
"""Compares what motifd reads from pictures, sounds, tables and arrays with what the readers of Debian read: Pillow, tifffile, soundfile, pandas, NumPy.

    tests/reproduce/media_readers.py [MOTIFD]

Each file is uploaded, and the stored values, names and labels are compared with those of the other reader, after the arithmetic that docs/reference/files.md
states: unsigned numbers are divided by their largest possible value, transparent pixels are laid on white, and several channels of a recording become their mean. A
file that the two read differently is an exception; its row states the reason, and motifd's values must be those from which the file was written. Exits with
1 if an exception has no reason. Run it with /usr/bin/python3; it needs the packages python3-pil, python3-tifffile, python3-soundfile and python3-pandas.
"""
import gzip
import io
import os
import struct
import sys
import tarfile
import tempfile
import warnings
import zlib

import numpy as np
import pandas as pd
import soundfile
import tifffile
from PIL import Image, ImageOps

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon  # noqa: E402
from readers import Comparison, Stored  # noqa: E402

warnings.filterwarnings("ignore")
RNG = np.random.default_rng(7)
SIXTEEN = ("RGB of 16 bits", "RGB of 16 bits, interlaced", "RGB of 16 bits with a transparent colour", "grey and opacity of 16 bits", "grey and opacity of 16 bits, interlaced", "RGBA of 16 bits",
           "RGBA of 16 bits, interlaced")
KNOWN = {name: "Pillow reads 8 of 16 bits" for name in SIXTEEN} | {f"grey of {n} bits with a transparent colour": "Pillow looks for the colour after it changed the depth" for n in (2, 4, 16)} | {
    "CMYK": "motifd refuses it: convert the file to RGB", "white is zero, u2": "Pillow does not invert 16 bits", "colours that are multiplied by the opacity": "Pillow divides them by it with 8 bits"} | {
        f"WAV GSM610{more}, 1 channel": "libsndfile adds a block that the file does not have" for more in ("", " RIFX")} | {
            "thousands": "motifd refuses separators of thousands", "empty cells": "motifd refuses missing values", "NA": "motifd refuses missing values", "Latin-1": "motifd refuses other encodings than UTF-8 and UTF-16"}
ROWS, COLS = 21, 18


def planes(a, alpha=False):
    """[rows][cols][samples] with values 0 to 1 as motifd stores it: on white, and one plane if no pixel has a colour."""
    a = np.asarray(a, np.float64).reshape(*a.shape[:2], -1)
    if alpha:
        a = a[..., :-1] * a[..., -1:] + 1 - a[..., -1:]
    a = a[..., :1] if a.shape[-1] == 3 and (a == a[..., :1]).all() else a
    return np.moveaxis(a, 2, 0).astype(np.float32)


def by_pillow(data):
    im = Image.open(io.BytesIO(data))
    im.load()
    im = im if im.format == "TIFF" else ImageOps.exif_transpose(im)  # Pillow turns a TIFF when it loads it
    if im.mode == "P" or "transparency" in im.info:
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    a = np.asarray(im)
    return planes(a / {"1": 1, "I": 65535, "I;16": 65535, "I;16B": 65535, "F": 1}.get(im.mode, 255), im.mode.endswith("A"))


def by_tifffile(data):
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        page = file.pages[0]
        a = page.asarray()
        a = np.moveaxis(a, 0, -1) if page.axes.startswith("S") else a
    return planes(a / (np.iinfo(a.dtype).max if a.dtype.kind == "u" else 1))


def png(a, depth, colour, interlaced=False, more=b""):
    """The bytes of a PNG file. a: [rows][cols][samples] of whole numbers."""
    chunk = lambda type_, data: struct.pack(">I", len(data)) + type_ + data + struct.pack(">I", zlib.crc32(type_ + data))
    raw = b""
    for r, c, down, right in ([(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)] if interlaced else [(0, 0, 1, 1)]):
        for row in a[r::down, c::right]:
            bits = "".join(f"{v:0{depth}b}" for v in row.ravel())
            raw += b"\0" + int(bits.ljust(-(-len(bits) // 8) * 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big") if bits else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", a.shape[1], a.shape[0], depth, colour, 0, 0, interlaced)) + b"".join(chunk(*m) for m in more) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def orientation(n):
    exif = Image.Exif()
    exif[274] = n
    return exif.tobytes()


def png_files():
    """{variant: (bytes, the planes that they mean)}"""
    samples, out = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}, {}
    for colour, depths in ((0, (1, 2, 4, 8, 16)), (2, (8, 16)), (3, (1, 2, 4, 8)), (4, (8, 16)), (6, (8, 16))):
        for depth in depths:
            a = RNG.integers(0, 2 ** depth, (ROWS, COLS, samples[colour]))
            palette = RNG.integers(0, 256, (2 ** depth, 4))
            more = [(b"PLTE", palette[:, :3].astype("u1").tobytes())] if colour == 3 else []
            truth = palette[a[..., 0]] / 255 if colour == 3 else a / (2 ** depth - 1)
            name = f"{('grey', '', 'RGB', 'palette', 'grey and opacity', '', 'RGBA')[colour]} of {depth} bits"
            for interlaced in (False, True):
                out[name + ", interlaced" * interlaced] = png(a, depth, colour, interlaced, more), planes(truth[..., :3] if colour == 3 else truth, colour in (4, 6))
            key = a[0, 0] if colour < 3 else None
            if colour == 3:
                out[name + " with opacity"] = png(a, depth, colour, False, more + [(b"tRNS", palette[:, 3].astype("u1").tobytes())]), planes(truth, True)
            if key is not None:
                out[name + " with a transparent colour"] = png(a, depth, colour, False, [(b"tRNS", b"".join(struct.pack(">H", v) for v in key))]), planes(np.dstack([truth, (a != key).any(axis=2)]), True)
    a = RNG.integers(0, 256, (ROWS, COLS, 3))
    for n in range(1, 9):
        body = orientation(n)[6:]
        turn = {1: a, 2: a[:, ::-1], 3: a[::-1, ::-1], 4: a[::-1], 5: a.swapaxes(0, 1), 6: a[::-1].swapaxes(0, 1), 7: a[::-1, ::-1].swapaxes(0, 1), 8: a.swapaxes(0, 1)[::-1]}[n]
        out[f"orientation {n}"] = png(a, 8, 2, False, [(b"eXIf", body)]), planes(turn / 255)
    out["gamma, text and time"] = png(a, 8, 2, False, [(b"gAMA", struct.pack(">I", 22000)), (b"tEXt", b"Title\0x"), (b"tIME", b"\7\xd0" + bytes((1, 1, 0, 0, 0)))]), planes(a / 255)
    return out


def jpeg_files():
    """{variant: (bytes, None)}: photographs, since the values depend on the decoder."""
    y, x = np.mgrid[:ROWS * 2 + 1, :COLS * 2 + 1]
    picture = np.dstack([128 + 100 * np.sin(x / (4 + k) + y / 9 + k) for k in range(3)]).astype("u1")
    rgb, grey, out = Image.fromarray(picture), Image.fromarray(picture[..., 0]), {}

    def save(name, im, **how):
        to = io.BytesIO()
        im.save(to, "JPEG", **how)
        out[name] = to.getvalue(), None
    for quality in (10, 75, 100):
        save(f"RGB of quality {quality}", rgb, quality=quality)
    for subsampling, text in enumerate(("4:4:4", "4:2:2", "4:2:0")):
        save(text, rgb, subsampling=subsampling)
    for name, how in {"progressive": {"progressive": True}, "optimised": {"optimize": True}, "comment": {"comment": b"x"}, "ICC profile": {"icc_profile": b"x" * 200}, "density": {"dpi": (300, 300)}}.items():
        save(name, rgb, **how)
        save(name + ", grey", grey, **how)
    for n in range(1, 9):
        save(f"orientation {n}", rgb, exif=orientation(n))
    save("grey that is stored as RGB", grey.convert("RGB"))
    plain = out["RGB of quality 75"][0]
    for name, data in {"bytes after the end": plain + b"more", "fill bytes before a marker": plain.replace(b"\xff\xdb", b"\xff\xff\xff\xdb", 1), "stray bytes before a marker": plain.replace(b"\xff\xdb", b"\0\1\2\xff\xdb", 1)}.items():
        out[name] = data, None
    save("CMYK", rgb.convert("CMYK"))
    return out


def tiff_files():
    """{variant: (bytes, the planes that they mean)}"""
    out = {}

    def write(name, a, truth=None, **how):
        to = io.BytesIO()
        tifffile.imwrite(to, a, **{"metadata": None, "photometric": "rgb" if a.ndim == 3 and a.shape[-1] in (3, 4) else "minisblack", **how})
        out[name] = to.getvalue(), truth
    draw = lambda t, shape=(40, 36): (RNG.integers(max(np.iinfo(t).min, -2 ** 24), min(np.iinfo(t).max, 2 ** 24) + 1, shape).astype(t) if np.dtype(t).kind in "iu" else (RNG.standard_normal(shape) * 3).astype(t))
    for t in ("u1", "u2", "u4", "i1", "i2", "i4", "f2", "f4", "f8", "u8", "i8"):
        a = draw(t)
        truth = planes(a / (np.iinfo(t).max if t[0] == "u" else 1))
        write(f"{t} in strips", a, truth, rowsperstrip=7)
        write(f"{t} in tiles", a, truth, tile=(16, 16))
        write(f"{t} in tiles, deflate, big-endian", a, truth, tile=(32, 16), compression="zlib", byteorder=">")
    for t in ("u1", "u2", "f4"):
        a = draw(t, (40, 36, 3)) if t != "f4" else draw(t, (40, 36, 3)) ** 2
        truth = planes(a / (np.iinfo(t).max if t[0] == "u" else 1))
        write(f"RGB of {t}", a, truth)
        write(f"RGB of {t} in tiles, deflate", a, truth, tile=(16, 32), compression="zlib")
        write(f"RGB of {t}, a plane for each colour", np.moveaxis(a, 2, 0).copy(), truth, planarconfig="separate", photometric="rgb")
        write(f"RGB of {t}, a plane for each colour, tiles", np.moveaxis(a, 2, 0).copy(), truth, planarconfig="separate", photometric="rgb", tile=(16, 16))
    a = draw("u2", (40, 36, 5))
    write("five samples of u2", a, planes(a / 65535), planarconfig="contig")
    a = draw("u2")
    write("BigTIFF", a, planes(a / 65535), bigtiff=True)
    write("white is zero, u1", draw("u1"), photometric="miniswhite")
    write("white is zero, u2", a, planes(1 - a / 65535), photometric="miniswhite")
    map_ = RNG.integers(0, 256, (3, 256))
    a = draw("u1")
    write("palette", a, planes(np.moveaxis(map_[:, a], 0, 2) / 255), photometric="palette", colormap=(map_ * 257).astype("u2"))
    a = draw("u1", (40, 36, 4))
    write("opacity", a, planes(a / 255, True), extrasamples=["unassalpha"])
    a[..., :3] = a[..., :3] * (a[..., 3:] / 255)
    write("colours that are multiplied by the opacity", a, planes(a[..., :3] / 255 + 1 - a[..., 3:] / 255), extrasamples=["assocalpha"])
    for n in range(1, 9):
        a = draw("u1")
        turn = {1: a, 2: a[:, ::-1], 3: a[::-1, ::-1], 4: a[::-1], 5: a.T, 6: a[::-1].T, 7: a[::-1, ::-1].T, 8: a.T[::-1]}[n]
        write(f"orientation {n}", a, planes(turn / 255), extratags=[(274, "H", 1, n, True)])
    a = (RNG.random((40, 36)) < .5)
    for name, im, how in [(f"{n} by Pillow", Image.fromarray(draw("u1", (40, 36, 3)) if colour else draw("u1")), n) for n in ("raw", "tiff_lzw", "packbits", "tiff_adobe_deflate", "jpeg", "tiff_deflate", "zstd", "webp") for colour in (0, 1) if n != "webp" or colour] + [
            (f"{n}, one bit", Image.fromarray(a), n) for n in ("raw", "group3", "group4", "tiff_ccitt", "packbits")]:
        to = io.BytesIO()
        try:
            im.save(to, "TIFF", compression=how)
        except (OSError, KeyError, RuntimeError):
            continue  # this Pillow cannot write it
        out[name + (", RGB" if im.mode == "RGB" else "")] = to.getvalue(), None if how in ("jpeg", "webp") else planes(np.asarray(im) / (1 if im.mode == "1" else 255))
    return out


def sound_files():
    """{variant: bytes}"""
    out, wave = {}, np.sin(np.arange(700) / 7) * .7
    for format_ in ("WAV", "WAVEX", "RF64"):
        for subtype in soundfile.available_subtypes(format_):
            for channels, rate in ((1, 44100), (2, 22050)):
                for endian in ("LITTLE", "BIG") if format_ == "WAV" else ("FILE",):
                    to = io.BytesIO()
                    try:
                        soundfile.write(to, np.stack([wave, wave[::-1]], 1)[:, :channels], rate, subtype, endian, format_)
                    except (RuntimeError, ValueError, TypeError):
                        continue
                    out[f"{format_} {subtype}{' RIFX' if endian == 'BIG' else ''}, {channels} channel{'s' * (channels > 1)}"] = to.getvalue()
    data = out["WAV PCM_16, 1 channel"]
    at = data.index(b"data")
    chunk = lambda type_, body: type_ + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)
    riff = lambda body: b"RIFF" + struct.pack("<I", len(body) + 4) + b"WAVE" + body
    for channels in (3, 6, 8):
        to = io.BytesIO()
        soundfile.write(to, np.stack([np.roll(wave, 11 * k) for k in range(channels)], 1), 48000, "PCM_16", None, "WAVEX")
        out[f"{channels} channels"] = to.getvalue()
    for name, body in {"chunks before the data": data[12:at] + chunk(b"LIST", b"INFOISFT\4\0\0\0abc\0") + chunk(b"bext", b"x" * 603) + data[at:], "chunks after the data": data[12:] + chunk(b"LIST", b"INFOISFT\4\0\0\0abc\0"),
                       "chunk of odd length": data[12:at] + chunk(b"junk", b"abc") + data[at:]}.items():
        out[name] = riff(body)
    out["sizes that a pipe did not know (all bits)"] = data[:4] + b"\xff" * 4 + data[8:at + 4] + b"\xff" * 4 + data[at + 8:]
    for rate in (100, 8000, 11025, 96000, 192000):
        to = io.BytesIO()
        soundfile.write(to, wave, rate, "PCM_24", None, "WAV")
        out[f"{rate} Hz"] = to.getvalue()
    to = io.BytesIO()
    soundfile.write(to, wave * 5, 8000, "FLOAT", None, "WAV")
    out["floats beyond 1"] = to.getvalue()
    return out


def table_files():
    """{variant: (bytes, how pandas reads them)}; the column y is the label and, where it exists, id the index."""
    rows = [[1.5, -2, 3e-5, "x y"], [0.25, 1e6, 4, "x"], [-7, .5, 0, "Ä"], [3, 4, 5, "x"]]
    text = lambda sep=",", end="\n", point=".", quote="", head="a,b,c,y", index=None: end.join(
        [sep.join(head.split(","))] + [sep.join(([str(index + i)] if index is not None else []) + [f"{quote}{str(v).replace('.', point)}{quote}" for v in row]) for i, row in enumerate(rows)]) + end
    out = {"commas": (text(), {}), "tabs": (text("\t"), {"sep": "\t"}), "semicolons": (text(";"), {"sep": ";"}), "semicolons and decimal commas": (text(";", point=","), {"sep": ";", "decimal": ","}),
           "tabs and decimal commas": (text("\t", point=","), {"sep": "\t", "decimal": ","}), "CR LF": (text(end="\r\n"), {}), "CR": (text(end="\r"), {}), "all quoted": (text(quote='"'), {}), "no last line feed": (text()[:-1], {}),
           "decimal commas in quotes": (text(point=",", quote='"'), {"decimal": ","}), "blanks after commas": (text(", "), {"skipinitialspace": True}), "empty lines": (text(end="\n\n"), {}), "names of columns with quotes": (text(head='"a ""1""",b,"c;",y'), {}),
           "index without a name": (text(head=",a,b,c,y", index=0), {"index_col": 0}), "Unnamed: 0": (text(head="Unnamed: 0,a,b,c,y", index=0), {"index_col": 0}), "id": (text(head="id,a,b,c,y", index=7), {"index_col": 0}),
           "row names of R": (text(index=1), {}), "sep=": ("sep=;\n" + text(";"), {"sep": ";", "skiprows": 1}), "sep=|": ("sep=|\n" + text("|"), {"sep": "|", "skiprows": 1})}
    for name, code in (("UTF-8 with a mark", "utf-8-sig"), ("UTF-16, little-endian", "utf-16"), ("UTF-16, big-endian", None)):
        out[name] = (text().encode(code) if code else b"\xfe\xff" + text().encode("utf-16-be")), {"encoding": code or "utf-16"}
    out["a line feed in a quoted name"] = text().replace("x y", '"x\ny"'), {}
    out["a quote in a quoted name"] = text().replace("x y", '"x ""y"""'), {}
    out["a comma in a quoted name"] = text().replace("x y", '"x, y"'), {}
    out["signs and exponents"] = "a,b,y\n+1,1E5,x\n-0,.5,y\n1.,1e-30,z\n", {}
    out["digits of doubles"] = "a,b,y\n0.1234567890123456789,1.7976931348623157e3,x\n3.4e38,-1e-38,y\n", {}
    out["leading zeros"] = "a,b,y\n007,00.5,x\n1,2,y\n", {}
    out["numbers as labels"] = "a,b,y\n1,2,0\n3,4,1\n", {}
    out["gzip"] = gzip.compress(text().encode()), {"compression": "gzip"}
    out["thousands"] = "a;b;y\n1.234,5;2,5;x\n2.000,25;1,5;y\n", {"sep": ";", "decimal": ",", "thousands": "."}
    out["empty cells"] = "a,b,y\n1,,x\n2,3,y\n", {}
    out["NA"] = "a,b,y\n1,NA,x\n2,3,y\n", {}
    out["true and false"] = "a,b,y\n1,True,x\n2,False,y\n", {}
    out["UTF-16 without a mark"] = text().encode("utf-16-le"), {"encoding": "utf-16-le"}
    out["Latin-1"] = text().encode("latin-1"), {"encoding": "latin-1"}
    out["blanks between columns"] = "a b y\n1 2 x\n3 4 z\n", {"sep": " "}
    out["a comment"] = "# by a program\n" + text(), {"comment": "#"}
    return out


def array_files():
    """{variant: (bytes, format, the array)}"""
    out = {}

    def add(name, a, format_="npy", save=np.save, **more):
        to = io.BytesIO()
        save(to, a, **more) if format_ == "npy" else save(to, x=a, **more)
        out[name] = to.getvalue(), format_, a
    for t in ("b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"):
        for order in "<>" if t[1] != "1" else "|":
            a = (RNG.standard_normal((6, 5)) * 50 + (100 if t[0] == "u" else 0)).astype(order + t)
            add(f"{order}{t}", a)
            add(f"{order}{t}, columns first", np.asfortranarray(a))
    for version in ((1, 0), (2, 0), (3, 0)):
        add(f"version {version[0]}", RNG.standard_normal((6, 5)).astype("f4"), save=lambda to, a, v=version: np.lib.format.write_array(to, a, v))
    for shape in ((6, 7, 5), (6, 7, 5, 3), (6, 1, 9, 4)):
        a = RNG.standard_normal(shape).astype("f4")
        for text, b in (("", a), (", columns first", np.asfortranarray(a))):
            add(f"{len(shape)} dimensions {shape}{text}", b)
    a = RNG.standard_normal((6, 5))
    add("npz", a, "npz", np.savez)
    add("npz, compressed", a, "npz", np.savez_compressed)
    add("npz, columns first", np.asfortranarray(a), "npz", np.savez)
    names = np.array(["x", "red car", "Ä"] * 2)
    for text, y in (("U", names), ("S", np.char.encode(names, "utf-8")), (">U", names.astype(names.dtype.newbyteorder(">")))):
        add(f"labels of {text}", a, "npz", np.savez, y=y)
    add("labels before x", a, "npz", lambda to, x, y: np.savez(to, y=y, x=x), y=names)
    return out


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/motifd"
    with tempfile.TemporaryDirectory(prefix="readers-") as folder, Daemon(program, os.path.join(folder, "r.db"), "--data", os.path.join(folder, "data")) as daemon:
        compare = Comparison(daemon, os.path.join(folder, "data"), KNOWN)

        def member(name, data):
            """The values of a file as the only member of an archive, or the text of the refusal."""
            to = io.BytesIO()
            with tarfile.open(fileobj=to, mode="w") as archive:
                for inside, body in ((name, data), ("labels.csv", f"file,label\n{name},a\n".encode())):
                    info = tarfile.TarInfo(inside)
                    info.size = len(body)
                    archive.addfile(info, io.BytesIO(body))
            return compare.read(to.getvalue(), "format=tar")

        def check(kind, name, found, theirs, truth=None):
            """theirs: a function that returns the other reader's value."""
            try:
                other = theirs()
            except Exception as fault:  # what a reader raises is its own affair
                other = fault
            same = lambda a, b: isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape and np.allclose(a, b, rtol=2e-7, atol=1e-7)
            mine = found.x[0] if isinstance(found, Stored) else None
            if isinstance(other, np.ndarray) and "GSM610" in name:
                truth = other[:, :960]
            equal = same(mine, other)
            compare.count(kind, name, equal and (truth is None or same(mine, truth)))
            if not equal and mine is not None and truth is not None and not same(mine, truth):
                raise SystemExit(f"{kind}, {name}: motifd's values are not those from which the file was written")

        for kind, files, ending, reader in (("PNG", png_files(), "png", by_pillow), ("JPEG", jpeg_files(), "jpg", by_pillow), ("TIFF", tiff_files(), "tif", by_tifffile)):
            for name, (data, truth) in files.items():
                found = member("p." + ending, data)
                read = by_pillow if kind == "TIFF" and ("Pillow" in name or "one bit" in name or name.split()[0] in ("white", "palette", "opacity", "colours", "orientation")) else reader
                check(kind, name, found, lambda: read(data), truth)
        for name, data in sound_files().items():
            check("WAV", name, member("s.wav", data), lambda: soundfile.read(io.BytesIO(data), always_2d=True)[0].mean(axis=1, keepdims=True).T.astype(np.float32))
        for name, (data, how) in table_files().items():
            found = compare.read(data, "format=csv&label=y")
            table = pd.read_csv(io.BytesIO(data.encode() if isinstance(data, str) else data), **how)
            x = table.drop(columns="y")
            x.columns = [c.strip() for c in x.columns]
            equal = isinstance(found, Stored) and found.names("columns") == list(x.columns) and np.array_equal(np.array([s[0] for s in found.x]), x.to_numpy(np.float32)) and [[str(v)] for v in table["y"]] == found.labels()
            compare.count("CSV", name, equal and (isinstance(table.index, pd.RangeIndex) or found.names("records") == [str(i) for i in table.index]))
        for name, (data, format_, a) in array_files().items():
            found = compare.read(data, f"format={format_}" + "&layout=channels-last" * (a.ndim == 4))
            mine = np.array(found.x) if isinstance(found, Stored) else found
            theirs = np.load(io.BytesIO(data))
            theirs = theirs["x"] if format_ == "npz" else theirs
            theirs = np.moveaxis(theirs, 3, 1) if theirs.ndim == 4 else theirs[:, None]
            equal = isinstance(mine, np.ndarray) and mine.size == theirs.size and np.array_equal(mine.reshape(theirs.shape), theirs.astype(np.float32))
            if equal and "labels" in name:
                y = np.load(io.BytesIO(data))["y"]
                equal = found.labels() == [[v.decode() if isinstance(v, bytes) else str(v)] for v in y]
            compare.count("NumPy", name, equal)
        compare.print_table()
        return compare.bad > 0


if __name__ == "__main__":
    sys.exit(main())
