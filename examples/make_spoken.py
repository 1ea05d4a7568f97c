#!/usr/bin/env python3
"""Writes clips of 2.5 seconds with one to three spoken digits, their labels and boxes: the data of docs/how-to/own-data.md. No take is in both a test
clip (group takes-0-4) and another clip (takes-5-49).

usage: make_spoken.py FOLDER OUT.tar [COUNT]

FOLDER is the Free Spoken Digit Dataset, with recordings/{digit}_{speaker}_{take}.wav. Needs NumPy. The same arguments give the same clips."""
import io
import sys
import tarfile
import wave

import numpy as np

SPEAKERS = ["george", "jackson", "lucas", "nicolas"]


def spoken(digit, speaker, take):
    with wave.open(f"{sys.argv[1]}/recordings/{digit}_{speaker}_{take}.wav") as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2")


def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


rng = np.random.default_rng(1)
labels, boxes = ["file,label,group"], ["file,begin,end,symbol"]
with tarfile.open(sys.argv[2], "w") as tar:
    for i in range(int(sys.argv[3]) if len(sys.argv) > 3 else 2000):
        test, at, said = i % 8 == 0, 800, []
        clip = rng.integers(-30, 31, 20000).astype("<i2")
        for _ in range(rng.integers(1, 4)):
            digit = int(rng.integers(10))
            word = spoken(digit, SPEAKERS[i // 8 % 4], rng.integers(5) if test else rng.integers(5, 50))
            if at + len(word) > 19200:
                break
            clip[at:at + len(word)] += word
            boxes.append(f"{i}.wav,{at / 8000:.4f},{(at + len(word)) / 8000:.4f},{digit}")
            said.append(str(digit))
            at += len(word) + int(rng.integers(400, 1600))
        labels.append(f"{i}.wav,{' '.join(said)},{'takes-0-4' if test else 'takes-5-49'}")
        out = io.BytesIO()
        with wave.open(out, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(clip.tobytes())
        add(tar, f"{i}.wav", out.getvalue())
    add(tar, "labels.csv", "\n".join(labels).encode())
    add(tar, "boxes.csv", "\n".join(boxes).encode())
