"""Families of pictures: glyphs that do not overlap, on a canvas with noise."""
import numpy as np

import oracle
from base import EXTRA, Family, Marks, Part, counted, normal, pick


def strokes(size, lines):
    """Returns a glyph [size][size] of straight strokes. Each stroke is (row, col, row, col): its two ends."""
    glyph = np.zeros((size, size), np.float32)
    for row0, col0, row1, col1 in lines:
        steps = 4 * max(abs(row1 - row0), abs(col1 - col0), 1)
        t = np.arange(steps + 1) / steps
        glyph[np.rint(row0 + t * (row1 - row0)).astype(int), np.rint(col0 + t * (col1 - col0)).astype(int)] = 1
    return glyph


class Canvas(Family):
    """Pictures with glyphs. Fields besides those of Family:

    side: (rows, cols); glyphs and spread: an array [rows][cols] or [rows][cols][channels] for each name, and for each distractor
    counts: {number of glyphs: share}; distinct: whether the glyphs of a picture differ
    A subclass defines `paint` (noise and glyphs) and `ratio_of` (the log-likelihood ratio of a glyph at each place).
    """
    target = "set"
    side = (48, 48)
    counts = {1: 1, 2: 1, 3: 1, 4: 1}
    distinct = True
    channels = 1
    gap = 1  # least number of pixels between two glyphs
    columns = False  # whether no two glyphs share a column, so that the order from left to right is clear

    def kinds(self, vary):
        """Returns (glyphs of names and distractors, expected number of each in a picture)."""
        glyphs = list(self.glyphs) + list(self.spread)[:vary.distractors]
        extra = len(glyphs) - len(self.names)
        mean = sum(k * share for k, share in normal(self.counts).items())
        return glyphs, np.concatenate([mean * self.rates(vary), np.full(extra, 1 / max(1, extra))])

    def label(self, found):
        """Returns the label of [(row, col, kind)...]: from left to right, or sorted by name."""
        known = [place for place in found if place[2] < len(self.names)]
        if self.target == "sequence":
            return [self.names[k] for _, _, k in sorted(known, key=lambda place: place[1])]
        return [self.names[k] for k in sorted({k for _, _, k in known})]

    def arrange(self, rng, kinds, glyphs):
        """Draws places without overlap: [(row, col, kind)...]."""
        while True:
            found = []
            for k in kinds:
                height, width = glyphs[k].shape[:2]
                for _ in range(200):
                    row = int(rng.integers(self.side[0] - height + 1))
                    col = int(rng.integers(self.side[1] - width + 1))
                    if all((not self.columns and (row >= r + glyphs[j].shape[0] + self.gap or r >= row + height + self.gap))
                           or col >= c + glyphs[j].shape[1] + self.gap or c >= col + width + self.gap for r, c, j in found):
                        found.append((row, col, k))
                        break
                else:
                    break
            if len(found) == len(kinds):
                return found

    def draw(self, count, rng, vary, part):
        glyphs, _ = self.kinds(vary)
        rates, extra = self.rates(vary), len(glyphs) - len(self.names)
        x = np.zeros((count, *self.side, self.channels), np.float32)
        labels, places = [], []
        for i in range(count):
            kinds = pick(rng, rates, counted(rng, self.counts), self.distinct)
            if extra:
                some = pick(rng, np.full(extra, 1 / extra), min(extra, counted(rng, EXTRA)), self.distinct)
                kinds = [*kinds, *(len(self.names) + k for k in some)]
            found = self.arrange(rng, [int(k) for k in kinds], glyphs)
            self.paint(x[i], found, glyphs, rng)
            labels.append(self.label(found))
            places += [(i, r, r + glyphs[k].shape[0], c, c + glyphs[k].shape[1], k) for r, c, k in found]
        return Part(x, labels, places)

    def solve(self, part, vary):
        glyphs, expected = self.kinds(vary)
        sizes = [g.shape[:2] for g in glyphs]
        labels, marks = [], []
        for i in range(len(part.x)):
            if i % 100 == 0:  # 100 pictures at once, because one at a time is slow and all at once need too much memory
                ratios = [self.ratio_of(part.x[i:i + 100], glyph) for glyph in glyphs]
            odds = [ratio[i % 100] + np.log(rate / ratio[0].size) for ratio, rate in zip(ratios, expected)]
            found = oracle.plane(odds, sizes, self.distinct)
            if not found:  # every picture contains a motif, so the oracle takes the most probable place
                best = max(range(len(odds)), key=lambda k: odds[k].max())
                found = [(*np.unravel_index(int(odds[best].argmax()), odds[best].shape), best, 0.0)]
            labels.append(self.label([f[:3] for f in found]))
            marks += [(i, r + sizes[k][0] // 2, c + sizes[k][1] // 2, k, 1.0) for r, c, k, _ in found if k < len(self.names)]
        return Marks(labels, marks)


def correlate(x, kernel):
    """Returns the correlation of the pictures with the kernel at each place where the kernel fits: [n][places][places].

    x: [n][rows][cols][channels]; kernel: [rows][cols] or [rows][cols][channels]."""
    kernel = kernel.reshape(*kernel.shape[:2], -1).astype(np.float32)
    rows, cols = x.shape[1] - kernel.shape[0] + 1, x.shape[2] - kernel.shape[1] + 1
    out = np.zeros((len(x), rows, cols), np.float32)
    for r, c in zip(*np.nonzero(np.any(kernel != 0, axis=2))):
        for k in np.flatnonzero(kernel[r, c]):
            out += kernel[r, c, k] * x[:, r:r + rows, c:c + cols, k]
    return out


class Shapes(Canvas):
    """48 x 48 black and white pixels, six shapes of three strokes, 12 % noise behind the shapes and 3 % over everything."""
    name = "shapes"
    names = ("H", "Z", "A", "F", "K", "U")
    behind, over = 0.12, 0.03
    glyphs = tuple(strokes(7, lines) for lines in (
        ((0, 0, 6, 0), (0, 6, 6, 6), (3, 0, 3, 6)), ((0, 0, 0, 6), (0, 6, 6, 0), (6, 0, 6, 6)),
        ((6, 0, 0, 3), (0, 3, 6, 6), (6, 0, 6, 6)), ((0, 0, 6, 0), (0, 0, 0, 6), (3, 0, 3, 6)),
        ((0, 0, 6, 0), (3, 0, 0, 6), (3, 0, 6, 6)), ((0, 0, 6, 0), (6, 0, 6, 6), (6, 6, 0, 6))))
    spread = tuple(strokes(7, lines) for lines in (
        ((0, 0, 6, 0), (0, 0, 6, 6), (6, 6, 0, 6)), ((0, 0, 3, 3), (0, 6, 3, 3), (3, 3, 6, 3)),
        ((0, 0, 0, 6), (0, 3, 6, 3), (6, 0, 6, 6)), ((0, 6, 6, 6), (0, 0, 0, 6), (6, 0, 6, 6))))

    def paint(self, x, found, glyphs, rng):
        canvas = rng.random(self.side) < self.behind
        for r, c, k in found:
            canvas[r:r + glyphs[k].shape[0], c:c + glyphs[k].shape[1]] |= glyphs[k] > 0
        x[:, :, 0] = canvas ^ (rng.random(self.side) < self.over)

    def ratio_of(self, x, glyph):
        on = 1 - self.over
        ground = self.behind * on + (1 - self.behind) * self.over
        ink = x * np.float32(np.log(on / ground)) + (1 - x) * np.float32(np.log((1 - on) / (1 - ground)))
        return correlate(ink, glyph)


class Sizes(Shapes):
    """64 x 64 pixels with 1 to 3 of six objects: two each of 7, 15 and 27 pixels, in noise; label: their set."""
    name = "sizes"
    names = ("cross7", "box7", "kite15", "hour15", "star27", "wheel27")
    side = (64, 64)
    counts = {1: 1, 2: 1, 3: 1}
    glyphs = (strokes(7, ((0, 3, 6, 3), (3, 0, 3, 6))), strokes(7, ((0, 0, 0, 6), (6, 0, 6, 6), (0, 0, 6, 0), (0, 6, 6, 6))),
              strokes(15, ((0, 7, 7, 0), (7, 0, 14, 7), (14, 7, 7, 14), (7, 14, 0, 7), (0, 7, 14, 7))),
              strokes(15, ((0, 0, 0, 14), (0, 0, 14, 14), (0, 14, 14, 0), (14, 0, 14, 14))),
              strokes(27, ((0, 13, 26, 13), (13, 0, 13, 26), (3, 3, 23, 23), (3, 23, 23, 3))),
              strokes(27, ((0, 7, 0, 19), (0, 19, 7, 26), (7, 26, 19, 26), (19, 26, 26, 19), (26, 19, 26, 7), (26, 7, 19, 0), (19, 0, 7, 0),
                           (7, 0, 0, 7), (13, 0, 13, 26))))
    spread = (strokes(7, ((0, 0, 6, 6), (0, 6, 6, 0))), strokes(15, ((0, 0, 14, 0), (14, 0, 14, 14), (0, 0, 14, 14))))


class Greys(Canvas):
    """Pictures with Gaussian noise; each glyph has its own strength, which the oracle does not know."""
    noise = 0.15
    ground = 0.0
    strengths = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

    def paint(self, x, found, glyphs, rng):
        x[:] = self.ground + self.noise * rng.standard_normal(x.shape)
        for r, c, k in found:
            low, high = self.strengths[0], self.strengths[-1]
            glyph = glyphs[k].reshape(*glyphs[k].shape[:2], self.channels)
            x[r:r + glyph.shape[0], c:c + glyph.shape[1]] += (low + (high - low) * rng.random()) * glyph

    def ratio_of(self, x, glyph):
        match, power = correlate(x - self.ground, glyph), float((glyph ** 2).sum())
        logs = [(a * match - a * a * power / 2) / self.noise ** 2 for a in self.strengths]
        return np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))


def coloured(glyph, colour):
    return glyph[:, :, None] * np.array(colour, np.float32)


FORMS = {"ring": strokes(9, ((0, 3, 0, 5), (0, 5, 3, 8), (3, 8, 5, 8), (5, 8, 8, 5), (8, 5, 8, 3), (8, 3, 5, 0), (5, 0, 3, 0), (3, 0, 0, 3))),
         "cross": strokes(9, ((0, 0, 8, 8), (0, 8, 8, 0))),
         "frame": strokes(9, ((0, 0, 0, 8), (8, 0, 8, 8), (0, 0, 8, 0), (0, 8, 8, 8)))}
COLOURS = {"red": (0.5, -0.3, -0.3), "green": (-0.3, 0.5, -0.3), "blue": (-0.3, -0.3, 0.5), "yellow": (0.4, 0.4, -0.4)}


class Colours(Greys):
    """36 x 36 pixels in three colours: rings, crosses and frames on grey, of which colour and form count; label: their set."""
    name = "colours"
    names = ("red ring", "green ring", "red cross", "blue cross", "green frame", "blue frame")
    side = (36, 36)
    channels = 3
    noise = 0.12
    ground = 0.5
    glyphs = tuple(coloured(FORMS[name.split()[1]], COLOURS[name.split()[0]]) for name in names)
    spread = tuple(coloured(FORMS[form], COLOURS[colour]) for form, colour in (("ring", "yellow"), ("cross", "green"), ("frame", "red")))


# 16 letters of 5 x 7 pixels; each row is a number of five bits.
LETTERS = {"E": "1f10101e10101f", "T": "1f040404040404", "A": "0e11111f111111", "O": "0e11111111110e", "I": "0e04040404040e",
           "N": "11191513111111", "S": "0f10100e01011e", "H": "1111111f111111", "R": "1e11111e141211", "D": "1e11111111111e",
           "L": "1010101010101f", "C": "0e11101010110e", "U": "1111111111110e", "M": "111b1515111111", "W": "1111111515150a",
           "F": "1f10101e101010", "G": "0e11101713110f", "Y": "11110a04040404", "P": "1e11111e101010", "X": "11110a040a1111"}


def bitmap(rows, width):
    return np.array([[int(rows[i:i + 2], 16) >> (width - 1 - j) & 1 for j in range(width)] for i in range(0, len(rows), 2)], np.float32)


class Font(Greys):
    """A font of 16 letters whose frequencies follow Zipf's law, 1 to 5 on 16 x 56 pixels of grey; label: from left to right."""
    name = "font"
    target = "sequence"
    names = tuple("ETAOINSHRDLCUMWF")
    side = (16, 56)
    counts = {1: 1, 2: 1, 3: 1, 4: 1, 5: 1}
    distinct = False
    columns = True
    glyphs = tuple(bitmap(LETTERS[letter], 5) for letter in names)
    spread = tuple(bitmap(LETTERS[letter], 5) for letter in "GYPX")

    def rates(self, vary):
        if vary.frequencies:
            return super().rates(vary)
        rates = 1 / np.arange(1, 17)
        return rates / rates.sum()


# 6 x 9 pixels; the others are turned or mirrored.
LETTER_B = bitmap("2020203e212121213e", 6)
DIGIT_SIX = bitmap("0c1220203e2121211e", 6)


class Pairs(Shapes):
    """Glyphs that differ little (b d p q 6 9), 1 to 4 from left to right on 20 x 48 pixels with 8 % and 2 % noise."""
    name = "pairs"
    target = "sequence"
    names = ("b", "d", "p", "q", "6", "9")
    side = (20, 48)
    behind, over = 0.08, 0.02
    distinct = False
    columns = True
    glyphs = (LETTER_B, LETTER_B[:, ::-1], LETTER_B[::-1], LETTER_B[::-1, ::-1], DIGIT_SIX, DIGIT_SIX[::-1, ::-1])
    spread = (bitmap("2121211e2121211e21", 6), bitmap("1e2121211e2121211e", 6))


# A flag on a pole, 7 x 5 pixels.
FLAG = bitmap("1f11191e101010", 5)


class Turned(Shapes):
    """One flag in four mirrored forms, 1 to 4 from left to right on 18 x 44 pixels with 10 % and 2 % noise."""
    name = "turned"
    target = "sequence"
    names = ("flag", "back", "flip", "both")
    side = (18, 44)
    behind, over = 0.10, 0.02
    distinct = False
    columns = True
    glyphs = (FLAG, FLAG[:, ::-1], FLAG[::-1], FLAG[::-1, ::-1])
    spread = (bitmap("04040e15150404", 5), bitmap("1f04040404041f", 5))


class Crowd(Greys):
    """No picture is empty: 5 to 8 glyphs of five kinds, which repeat, from left to right on 18 x 96 pixels of grey."""
    name = "crowd"
    target = "sequence"
    names = ("ring", "cross", "frame", "tee", "vee")
    side = (18, 96)
    counts = {5: 1, 6: 1, 7: 1, 8: 1}
    distinct = False
    columns = True
    noise = 0.2
    glyphs = (strokes(7, ((0, 2, 0, 4), (0, 4, 2, 6), (2, 6, 4, 6), (4, 6, 6, 4), (6, 4, 6, 2), (6, 2, 4, 0), (4, 0, 2, 0), (2, 0, 0, 2))),
              strokes(7, ((0, 0, 6, 6), (0, 6, 6, 0))), strokes(7, ((0, 0, 0, 6), (6, 0, 6, 6), (0, 0, 6, 0), (0, 6, 6, 6))),
              strokes(7, ((0, 0, 0, 6), (0, 3, 6, 3))), strokes(7, ((0, 0, 6, 3), (6, 3, 0, 6))))
    spread = (strokes(7, ((3, 0, 3, 6),)), strokes(7, ((0, 3, 6, 3), (3, 0, 3, 6))))


class Textures(Family):
    """32 x 32 pixels of one of five random textures that differ in grain and direction; label: the class. There are no places."""
    name = "textures"
    target = "class"
    names = ("fine", "coarse", "rows", "columns", "diagonal")
    places = False
    side = (32, 32)
    # Deviation of the energy along two axes of the spectrum, in cycles per pixel, and the angle of the first axis in degrees.
    energies = ((0.16, 0.16, 0), (0.12, 0.12, 0), (0.18, 0.11, 0), (0.11, 0.18, 0), (0.18, 0.11, 45))
    noise = 0.5

    def spectrum(self, k):
        """The variance of each Fourier coefficient of a picture of unit variance, divided by the number of pixels."""
        across, along, angle = self.energies[k]
        v, u = np.meshgrid(np.fft.fftfreq(self.side[0]), np.fft.fftfreq(self.side[1]), indexing="ij")
        a = np.deg2rad(angle)
        one, other = v * np.cos(a) + u * np.sin(a), u * np.cos(a) - v * np.sin(a)
        energy = np.exp(-0.5 * ((one / across) ** 2 + (other / along) ** 2))
        return energy / energy.mean() + self.noise ** 2

    def draw(self, count, rng, vary, part):
        x = np.zeros((count, *self.side, 1), np.float32)
        labels = []
        roots = [np.sqrt(self.spectrum(k)) for k in range(len(self.names))]
        for i in range(count):
            k = int(pick(rng, self.rates(vary), 1, False)[0])
            x[i, :, :, 0] = np.fft.ifft2(np.fft.fft2(rng.standard_normal(self.side)) * roots[k]).real
            labels.append([self.names[k]])
        return Part(x, labels, [])

    def solve(self, part, vary):
        """The likelihood of a texture is exact: its Fourier coefficients are independent."""
        power = np.abs(np.fft.fft2(part.x[:, :, :, 0].astype(np.float64))) ** 2 / np.prod(self.side)
        logs = [np.log(rate) - 0.5 * (power / self.spectrum(k) + np.log(self.spectrum(k))).sum(axis=(1, 2))
                for k, rate in enumerate(self.rates(vary))]
        return Marks([[self.names[k]] for k in np.argmax(logs, axis=0)], [])


class Weaves(Textures):
    """28 x 36 pixels of one of four random textures that differ in grain and direction; label: the class. There are no places."""
    name = "weaves"
    names = ("even", "steep", "rising", "falling")
    side = (28, 36)
    energies = ((0.14, 0.14, 0), (0.12, 0.19, 0), (0.19, 0.12, 30), (0.19, 0.12, -30))
    noise = 0.5


FAMILIES = [Shapes(), Sizes(), Colours(), Font(), Turned(), Pairs(), Crowd(), Textures(), Weaves()]
