"""Families of signals: patterns in noise, in one row of numbers."""
import numpy as np

import oracle
from base import EXTRA, Family, Marks, Part, counted, pick, shared


class Signal(Family):
    """Signals with patterns that do not overlap. Fields besides those of Family:

    length, noise (standard deviation), counts: {number of patterns: share}
    widths and spread_widths: number of points of each pattern and of each distractor
    A subclass defines `shape` (one instance of a pattern), `base_line` and `ratio_of` (the log-likelihood ratio).
    """
    length = 512
    noise = 0.1
    counts = {1: 1, 2: 1, 3: 1}
    distinct = False
    spread = 0  # how many kinds of distractors there are

    def kinds(self, vary):
        """Returns (number of kinds, their rates among all patterns, {number of distractors: share}), distractors included."""
        extra = min(vary.distractors, self.spread)
        if not extra:
            return len(self.names), self.rates(vary), {0: 1}
        return len(self.names) + extra, shared(self.rates(vary), self.counts, extra), EXTRA

    def label(self, kinds):
        known = [k for k in kinds if k < len(self.names)]
        return [self.names[k] for k in (known if self.target == "sequence" else sorted(set(known)))]

    def base_line(self, rng):
        return np.zeros(self.length)

    def choose(self, rng, vary, kinds):
        """Draws the kinds of one signal's patterns, in order."""
        chosen = pick(rng, self.rates(vary), counted(rng, self.counts), self.distinct)
        extra = kinds - len(self.names)
        chosen = [*chosen, *(len(self.names) + int(rng.integers(extra)) for _ in range(counted(rng, EXTRA) if extra else 0))]
        return [int(chosen[j]) for j in rng.permutation(len(chosen))]

    def starts(self, rng, chosen):
        """Draws where the chosen patterns begin."""
        widths = np.array([self.widths[k] for k in chosen], int)
        free = self.length - widths.sum()
        gaps = np.sort(rng.permutation(free + len(chosen))[:len(chosen)]) - np.arange(len(chosen))
        return gaps + np.cumsum(widths) - widths

    def draw(self, count, rng, vary, part):
        kinds = self.kinds(vary)[0]
        x = np.zeros((count, 1, self.length, 1), np.float32)
        labels, places = [], []
        for i in range(count):
            chosen = self.choose(rng, vary, kinds)
            signal = self.base_line(rng) + self.noise * rng.standard_normal(self.length)
            for k, start in zip(chosen, self.starts(rng, chosen)):
                signal[start:start + self.widths[k]] += self.shape(k, rng)
                places.append((i, 0, 1, int(start), int(start) + self.widths[k], k))
            x[i, 0, :, 0] = signal
            labels.append(self.label(chosen))
        return Part(x, labels, places)

    def solve(self, part, vary):
        kinds, rates, extra = self.kinds(vary)
        signals = part.x[:, 0, :, 0].astype(np.float64)
        widths = [self.widths[k] for k in range(kinds)]
        ratios = []
        for k in range(kinds):
            ratio = np.full(signals.shape, -np.inf)
            ratio[:, :self.length - widths[k] + 1] = self.ratio_of(np.lib.stride_tricks.sliding_window_view(signals, widths[k], axis=1), k)
            ratios.append(ratio)
        labels, likeliest, marks = [], [], []
        decided = oracle.line(ratios, widths, rates, len(self.names), self.counts, extra,
                              lambda found: tuple(self.label([k for _, k in found])), self.distinct)
        for i, (safest, best, found) in enumerate(decided):
            labels.append(safest)
            likeliest.append(best)
            marks += [(i, 0, start + widths[k] // 2, k, 1.0) for start, k in found if k < len(self.names)]
        return Marks(labels, marks, likeliest)


def without_line(template):
    """Subtracts from a template the straight line that fits it best. Only the rest is evidence, because the base line is unknown."""
    t = np.linspace(-1, 1, len(template))
    basis = np.linalg.qr(np.stack([np.ones_like(t), t], axis=1))[0]
    return template - basis @ (basis.T @ template)


def known_shape(windows, template, noise, strengths):
    """Returns the log-likelihood ratio of a known shape with an unknown strength, on an unknown straight line."""
    left = without_line(template)
    match, power = windows @ left, left @ left
    logs = [(a * match - a * a * power / 2) / noise ** 2 for a in strengths]
    return np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))


class Spectra(Signal):
    """Spectra of 512 points with up to four of five patterns of 2 to 4 peaks, on a slanted base line; label: their set."""
    name = "spectra"
    target = "set"
    names = ("A", "B", "C", "D", "E")
    counts = {1: 1, 2: 1, 3: 1, 4: 1}
    distinct = True
    noise = 0.12
    spread = 3
    # (place, height, width) of each peak; place and width in points
    peaks = (((8, 1.0, 2.0), (30, 0.7, 2.0)), ((8, 0.6, 2.0), (20, 1.0, 2.0), (42, 0.8, 3.0)), ((8, 1.0, 3.0), (24, 0.9, 2.0)),
             ((8, 0.7, 2.0), (22, 0.7, 2.0), (36, 0.7, 2.0), (50, 0.7, 2.0)), ((8, 0.8, 2.0), (18, 0.5, 2.0), (54, 1.0, 2.0)),
             ((8, 0.9, 2.0), (36, 0.9, 3.0)), ((8, 0.5, 3.0), (26, 0.8, 2.0), (46, 0.5, 2.0)), ((8, 1.0, 2.0), (16, 1.0, 2.0)))
    strengths = np.linspace(0.7, 1.3, 7)

    def __init__(self):
        self.widths = [max(place for place, _, _ in peaks) + 9 for peaks in self.peaks]
        self.templates = []
        for peaks, width in zip(self.peaks, self.widths):
            t = np.arange(width)
            self.templates.append(sum(h * np.exp(-0.5 * ((t - place) / w) ** 2) for place, h, w in peaks))

    def base_line(self, rng):
        start, end = 0.3 * rng.random(2)
        return np.linspace(start, end, self.length)

    def shape(self, k, rng):
        return (0.7 + 0.6 * rng.random()) * self.templates[k]

    def ratio_of(self, windows, k):
        return known_shape(windows, self.templates[k], self.noise, self.strengths)


class Tones(Signal):
    """Tone bursts of six pitches and any phase in noise, 1 to 5 in 480 points, labelled in order; pitches may repeat."""
    name = "tones"
    length = 480
    names = ("do", "re", "mi", "fa", "sol", "la")
    counts = {1: 1, 2: 1, 3: 1, 4: 1, 5: 1}
    noise = 0.4
    pitches = (0.06, 0.085, 0.12, 0.165, 0.22, 0.29, 0.36, 0.42)  # cycles per point
    spread = 2
    widths = [40] * 8

    def shape(self, k, rng):
        t = np.arange(40)
        return np.hanning(42)[1:-1] * np.cos(2 * np.pi * (self.pitches[k] * t + rng.random()))

    def ratio_of(self, windows, k):
        t = np.arange(40)
        wave = np.hanning(42)[1:-1] * np.exp(2j * np.pi * self.pitches[k] * t)
        match = np.hypot(windows @ wave.real, windows @ wave.imag) / self.noise ** 2
        power = (np.abs(wave) ** 2).sum() / 4 / self.noise ** 2  # half of the energy of a burst in units of the noise, averaged over the phases
        return log_bessel(match) - power


def log_bessel(x):
    """log I0(x): numpy's i0 overflows above 700."""
    large = np.maximum(x, 1)
    return np.where(x < 500, np.log(np.i0(np.minimum(x, 500))), large - 0.5 * np.log(2 * np.pi * large))


class Heartbeats(Signal):
    """Recordings of 640 points with 5 to 7 heartbeats: normal ones and, one of five, ectopic ones; label: the kinds in order."""
    name = "heartbeats"
    length = 640
    names = ("normal", "ectopic")
    counts = {5: 1, 6: 1, 7: 1}
    noise = 0.15
    widths = [60, 72, 40]
    spread = 1
    # (place, height, width) of each wave. Normal beat: P, Q, R, S, T. Ectopic beat: a wide R and an inverted T. Distractor: a jolt.
    waves = (((10, 0.15, 3), (22, -0.15, 1.2), (25, 1.2, 1.5), (28, -0.3, 1.5), (46, 0.3, 5)), ((24, 1.1, 5), (36, -0.5, 5), (54, -0.35, 6)),
             ((12, 0.6, 3), (20, -0.6, 3), (28, 0.5, 3)))
    strengths = np.linspace(0.8, 1.2, 5)

    def rates(self, vary):
        return super().rates(vary) if vary.frequencies else np.array([0.8, 0.2])

    def template(self, k):
        t = np.arange(self.widths[k])
        return sum(h * np.exp(-0.5 * ((t - place) / w) ** 2) for place, h, w in self.waves[k])

    def base_line(self, rng):
        return 0.3 * np.sin(2 * np.pi * (np.arange(self.length) / (350 + 150 * rng.random()) + rng.random()))

    def starts(self, rng, chosen):
        """Draws where the beats begin, at nearly equal intervals."""
        widths = np.array([self.widths[k] for k in chosen], int)
        gap = (self.length - widths.sum()) / len(chosen)
        shares = gap * (0.7 + 0.3 * rng.random(len(chosen)))
        return (np.cumsum(shares) + np.cumsum(widths) - widths).astype(int)

    def shape(self, k, rng):
        return (0.8 + 0.4 * rng.random()) * self.template(k)

    def ratio_of(self, windows, k):
        return known_shape(windows, self.template(k), self.noise, self.strengths)


FAMILIES = [Spectra(), Tones(), Heartbeats()]
