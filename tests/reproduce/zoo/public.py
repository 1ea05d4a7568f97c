"""Families made from public recordings and scans. They read files from the folder of --data (README.md says which).

Nobody knows the distribution of handwriting or speech, so the oracles here know the places and compare each digit with all training
examples. Their figures are an estimate of what is possible, not a bound."""
import functools
import glob
import io
import os
import wave

import numpy as np

from base import Family, Marks, Part, counted, pick
from images import Canvas, strokes

DIGITS = tuple("0123456789")


def nearest_label(queries, examples, classes, rates, width):
    """Returns the most probable class of each query under a kernel density of the examples. Arrays: [n][features]."""
    out = []
    for query in queries:
        logs = -0.5 * ((examples - query) ** 2).sum(axis=1) / width ** 2
        score = [np.logaddexp.reduce(logs[classes == k]) - np.log((classes == k).sum()) + np.log(rate) for k, rate in enumerate(rates)]
        out.append(int(np.argmax(score)))
    return out


@functools.lru_cache(2)
def scans(folder, file):
    """Returns (digits [n][8][8] in 0..1, classes [n]) of a file of UCI's optdigits."""
    rows = np.loadtxt(os.path.join(folder, "digits_optdigits", file), delimiter=",", dtype=int)
    return (rows[:, :64] / 16).astype(np.float32).reshape(-1, 8, 8), rows[:, 64]


class Handwriting(Canvas):
    """40 x 64 pixels with clutter and 1 to 4 handwritten digits of 8 x 8, other writers in the test part; from left to right."""
    name = "handwriting"
    target = "sequence"
    needs_folder = True
    names = DIGITS
    side = (40, 64)
    counts = {1: 1, 2: 1, 3: 1, 4: 1}
    distinct = False
    columns = True
    glyphs = tuple(np.zeros((8, 8), np.float32) for _ in DIGITS)  # only their shape is used, for the boxes
    spread = ()
    clutter = tuple(strokes(6, (line,)) for line in ((0, 0, 5, 0), (0, 0, 0, 4), (0, 0, 4, 4), (4, 0, 0, 4), (0, 0, 3, 5), (0, 0, 5, 2)))

    def draw(self, count, rng, vary, part):
        self.digits, self.classes = scans(self.folder, "optdigits.tra" if part == "train" else "optdigits.tes")
        return super().draw(count, rng, vary, part)

    def paint(self, x, found, glyphs, rng):
        for _ in range(10):
            r, c = (int(rng.integers(side - 6)) for side in self.side)
            x[r:r + 6, c:c + 6, 0] = np.maximum(x[r:r + 6, c:c + 6, 0], (0.4 + 0.6 * rng.random()) * self.clutter[int(rng.integers(len(self.clutter)))])
        for r, c, k in found:
            own = np.flatnonzero(self.classes == k)
            x[r:r + 8, c:c + 8, 0] = self.digits[own[int(rng.integers(len(own)))]]

    def solve(self, part, vary):
        examples, classes = scans(self.folder, "optdigits.tra")
        windows = [part.x[i, r0:r1, c0:c1, 0].ravel() for i, r0, r1, c0, c1, _ in part.places]
        recognised = nearest_label(windows, examples.reshape(len(examples), -1), classes, self.rates(vary), 0.35)
        return answers_of(self, part, recognised)


def answers_of(family, part, recognised):
    """Returns Marks at the true places, with the given classes."""
    labels = [[] for _ in part.labels]
    for place, k in sorted(zip(part.places, recognised), key=lambda pair: pair[0][3]):
        labels[place[0]].append(family.names[k])
    marks = [(p[0], (p[1] + p[2]) // 2, (p[3] + p[4]) // 2, k, 1.0) for p, k in zip(part.places, recognised)]
    return Marks(labels, marks)


RATE = 8000


@functools.lru_cache(1)
def words(folder):
    """Returns [(digit, take, samples)...] of the Free Spoken Digit Dataset."""
    out = []
    for path in sorted(glob.glob(os.path.join(folder, "fsdd", "recordings", "*.wav"))):
        digit, _, take = os.path.basename(path)[:-4].split("_")
        with wave.open(path) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
        if len(samples) <= 6000:
            out.append((int(digit), int(take), samples))
    if not out:
        raise SystemExit("no recordings in %s" % os.path.join(folder, "fsdd", "recordings"))
    return out


def features(samples):
    """Returns a log spectrogram of 20 bands in 16 frames, without the loudness."""
    size, hop = 256, 64
    padded = np.pad(samples, (0, max(0, size + 15 * hop - len(samples))))
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop] * np.hanning(size)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    edges = np.unique(np.rint(np.geomspace(3, power.shape[1], 22)).astype(int))
    bands = np.log(0.02 + np.add.reduceat(power, edges[:-1], axis=1))
    at = np.linspace(0, len(bands) - 1, 16)
    low = at.astype(int)
    part = (at - low)[:, None]
    resized = (1 - part) * bands[low] + part * bands[np.minimum(low + 1, len(bands) - 1)]
    return (resized - resized.mean()).ravel()


class Spoken(Family):
    """Recordings of 2.5 s with 1 to 3 spoken digits of four speakers, in noise; other takes in the test part; label: in order."""
    name = "spoken"
    needs_folder = True
    names = DIGITS
    length = 20000
    counts = {1: 1, 2: 1, 3: 1}
    most = 4000  # samples; more would exceed the daemon's limit on the numbers of a data set
    first_take = 5  # the test part contains the takes before this one

    def draw(self, count, rng, vary, part):
        test = part == "test"
        pool = [[s for d, take, s in words(self.folder) if d == k and (take < self.first_take) == test] for k in range(10)]
        labels, places, signals = [], [], []
        for i in range(count):
            kinds = pick(rng, self.rates(vary), counted(rng, self.counts), False)
            takes = [pool[k][int(rng.integers(len(pool[k])))] for k in kinds]
            free = self.length - sum(len(t) for t in takes)
            gaps = np.sort(rng.integers(0, free + 1, len(takes)))
            signal = 0.003 * rng.standard_normal(self.length)
            start = 0
            for gap, take, k in zip(gaps, takes, kinds):
                begin = int(gap) + start
                signal[begin:begin + len(take)] += (0.5 + 0.5 * rng.random()) * take
                places.append((i, 0, 1, begin, begin + len(take), int(k)))
                start += len(take)
            signals.append(np.clip(signal, -1, 1).astype(np.float32))
            labels.append([self.names[k] for k in kinds])
        clips = [wav(signal) for signal in signals]
        return Part(np.zeros((count, 1, 1, 1), np.float32), labels, places,
                    {"clips": clips, "signals": signals})

    def solve(self, part, vary):
        train = [(d, s) for d, take, s in words(self.folder) if take >= self.first_take]
        examples, classes = np.array([features(s) for _, s in train]), np.array([d for d, _ in train])
        queries = np.array([features(part.extra["signals"][p[0]][p[3]:p[4]]) for p in part.places])
        return answers_of(self, part, nearest_label(queries, examples, classes, self.rates(vary), 6.0))


def wav(signal):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((signal * 32767).astype("<i2").tobytes())
    return out.getvalue()


FAMILIES = [Handwriting(), Spoken()]
