"""What the scripts share that compare motifd's readers with others: a stored data set, uploads of files, and the table of the results."""
import os
import struct

import numpy as np


class Stored:
    """A stored data set (core/base/snapshot.h). `x`: an array [channels][cols] for each sample, [channels][rows][cols] of pictures."""
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        count, = struct.unpack_from("<I", self.bytes, 8)
        self.data = -(-(24 + 152 * count) // 64) * 64
        self.entries = {}
        for i in range(count):
            name, *_, offset, size = struct.unpack_from("<96sBBB5x4QQQ", self.bytes, 24 + 152 * i)
            self.entries[name.rstrip(b"\0").decode()] = self.bytes[self.data + offset:self.data + offset + size]
        self.count, self.channels, self.rows = (int(v) for v in self.numbers("head", "<i8")[2:5])
        start, size = self.numbers("start", "<i8"), self.channels * self.rows
        shape = (self.channels, self.rows, -1) if self.rows > 1 else (self.channels, -1)
        flat = self.numbers("values", "<f4") if "values" in self.entries else self.numbers("bytes", "u1") if "bytes" in self.entries else self.numbers("unit_bytes", "u1") / np.float32(255)
        self.x = [flat[a * size:b * size].reshape(shape) for a, b in zip(start, start[1:])]

    def numbers(self, name, type_):
        return np.frombuffer(self.entries.get(name, b""), type_)

    def names(self, of):
        return [text.decode() for text in self.entries.get(of, b"").split(b"\0")[:-1]]

    def sequences(self):
        return ["".join("ACGT"[column.argmax()] if column.any() else "N" for column in sample.T) for sample in self.x]

    def labels(self):
        ends, label, names = self.numbers("label_start", "<i8"), self.numbers("label", "<i4"), self.names("vocabulary")
        return [[names[i] if names else i for i in label[a:b]] for a, b in zip(ends, ends[1:])]


class Comparison:
    """Uploads files to a daemon and counts, for each kind, how many of its variants were read equally. known: {variant: reason of an exception}."""
    def __init__(self, daemon, data, known):
        self.daemon, self.pack, self.known, self.tally, self.bad = daemon, os.path.join(data, "t", "set.pack"), known, {}, 0

    def read(self, data, query):
        """The stored data set, or the body of the refusal."""
        status, _, body = self.daemon.ask("PUT", f"/v1/datasets/t?{query}", data.encode() if isinstance(data, str) else data, "application/octet-stream")
        if status != 201:
            return body
        found = Stored(self.pack)
        assert self.daemon.ask("DELETE", "/v1/datasets/t")[0] == 204
        return found

    def count(self, kind, name, equal):
        all_, same, why = self.tally.setdefault(kind, [0, 0, []])
        self.tally[kind][:2] = [all_ + 1, same + bool(equal)]
        if not equal:
            why.append(name)
            self.bad += name not in self.known

    def print_table(self):
        print("| files | variants | read equally | exceptions |\n| --- | --- | --- | --- |")
        for kind, (all_, same, why) in self.tally.items():
            reasons = {}
            for name in why:
                reasons.setdefault(self.known.get(name, "no reason"), []).append(name)
            print(f"| {kind} | {all_} | {same} | {'; '.join(f'{reason} ({names[0] if len(names) == 1 else len(names)})' for reason, names in reasons.items())} |")
