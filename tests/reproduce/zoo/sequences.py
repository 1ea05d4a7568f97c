"""Families of letters: DNA, proteins and event logs. Each motif is a matrix with a probability for each letter at each position.
The words drawn from it lie between random letters and do not overlap."""
import gzip
import os

import numpy as np

import oracle
from base import EXTRA, Family, Marks, Part, counted, pick, shared

HERE = os.path.dirname(os.path.abspath(__file__))


def read_meme(path):
    """Reads a file in MEME's minimal format. Returns {alternative name of a motif: matrix [width][4]}."""
    found, name, rows = {}, None, None
    for line in open(path, encoding="utf-8"):
        words = line.split()
        if words[:1] == ["MOTIF"]:
            name, rows = words[2] if len(words) > 2 else words[1], None
        elif line.startswith("letter-probability matrix"):
            rows = []
        elif rows is not None and len(words) == 4 and words[0][0] in "01.":
            rows.append([float(word) for word in words])
            found[name] = rows
    return {name: np.array(rows) / np.sum(rows, axis=1, keepdims=True) for name, rows in found.items()}


def published(names):
    """Returns the matrices of these names among the published ones of this folder."""
    every = read_meme(os.path.join(HERE, "jaspar.meme"))
    return [every[name] for name in names]


def of_word(word, letters, error):
    """Returns the matrix of a word whose letters are replaced with probability `error`."""
    matrix = np.full((len(word), len(letters)), error / (len(letters) - 1))
    matrix[np.arange(len(word)), [letters.index(letter) for letter in word]] = 1 - error
    return matrix


class Letters(Family):
    """Sequences with planted words. Fields besides those of Family:

    matrices: one for each kind of motif, first those of the names, then those of the distractors
    background: probability of each letter; counts: {number of motifs in a sequence: share}
    strands: whether half of the words are planted as reverse complements (DNA only)
    """
    letters = "ACGT"
    length = 200
    counts = {1: 1, 2: 1, 3: 1, 4: 1}
    strands = False
    spread = ()  # matrices of distractors that occur only in the variation `distractors`
    always = ()  # matrices of distractors that always occur

    def matrices(self):
        raise NotImplementedError

    def background(self):
        return np.full(len(self.letters), 1 / len(self.letters))

    def kinds(self, vary):
        """Returns (matrices, their rates among all planted words, {number of distractors: share}), distractors included."""
        extra = list(self.always) + list(self.spread)[:vary.distractors]
        if not extra:
            return list(self.matrices()), self.rates(vary), {0: 1}
        return list(self.matrices()) + extra, shared(self.rates(vary), self.counts, len(extra)), EXTRA

    def label(self, kinds):
        """Returns the label of the kinds of a sequence's words, from left to right, without distractors."""
        known = [k for k in kinds if k < len(self.names)]
        if self.target == "count":
            return [str(len(known))]
        return [self.names[k] for k in (known if self.target == "sequence" else sorted(set(known)))]

    def draw(self, count, rng, vary, part):
        matrices, _, _ = self.kinds(vary)
        rates, extra = self.rates(vary), len(matrices) - len(self.names)
        edges = [np.cumsum(m, axis=1) for m in matrices]
        widths = [len(m) for m in matrices]
        codes = np.searchsorted(np.cumsum(self.background())[:-1], rng.random((count, self.length)), "right")
        labels, places = [], []
        for i in range(count):
            kinds = pick(rng, rates, counted(rng, self.counts), False)
            kinds += [len(self.names) + int(rng.integers(extra)) for _ in range(counted(rng, EXTRA))] if extra else []
            kinds = [kinds[j] for j in rng.permutation(len(kinds))]
            free = self.length - sum(widths[k] for k in kinds)
            gaps = np.sort(rng.permutation(free + len(kinds))[:len(kinds)]) - np.arange(len(kinds))
            start = 0
            for n, k in enumerate(kinds):
                begin = int(gaps[n]) + start
                word = (rng.random((widths[k], 1)) > edges[k][:, :-1]).sum(axis=1)
                if self.strands and rng.random() < 0.5:
                    word = 3 - word[::-1]
                codes[i, begin:begin + widths[k]] = word
                places.append((i, 0, 1, begin, begin + widths[k], k))
                start += widths[k]
            labels.append(self.label(kinds))
        x = np.zeros((count, 1, self.length, len(self.letters)), np.float32)
        x[np.arange(count)[:, None], 0, np.arange(self.length), codes] = 1
        return Part(x, labels, places)

    def ratios(self, x, matrix):
        """Returns [n][length]: the log-likelihood ratio of a word that begins at each position, averaged over the strands."""
        logs = np.log(np.maximum(matrix, 1e-9) / self.background())
        n, length = len(x), self.length
        out = []
        for table in [logs, logs[::-1, ::-1]] if self.strands else [logs]:
            total = np.full((n, length), -np.inf)
            room = length - len(table) + 1
            total[:, :room] = sum(x[:, 0, j:j + room] @ row for j, row in enumerate(table))
            out.append(total)
        return out[0] if len(out) == 1 else np.logaddexp(*out) - np.log(2)

    def solve(self, part, vary):
        matrices, rates, extra = self.kinds(vary)
        widths = [len(m) for m in matrices]
        ratios = [self.ratios(part.x, m) for m in matrices]
        labels, likeliest, marks = [], [], []
        decided = oracle.line(ratios, widths, rates, len(self.names), self.counts, extra, lambda found: tuple(self.label([k for _, k in found])))
        for i, (safest, best, found) in enumerate(decided):
            labels.append(safest)
            likeliest.append(best)
            marks += [(i, 0, start + widths[k] // 2, k, 1.0) for start, k in found if k < len(self.names)]
        return Marks(labels, marks, likeliest)


class DnaWords(Letters):
    """Eight words of 8 to 14 bases with 4 % substitutions, 1 to 4 in a sequence of 300 bases, labelled in order."""
    name = "dna-words"
    length = 300
    names = ("CTCF", "YY1", "NRF1", "SP1", "ETS", "AP1", "GATA", "EBOX")
    words = ("CCACCAGGGGGCGC", "CAAAATGGCGGC", "TGCGCATGCGCA", "GGGGCGGGGC", "ACCGGAAGTG", "ATGACTCA", "AGATAAGG", "CCACGTGG")
    error = 0.04
    spread = tuple(of_word(word, "ACGT", 0.04) for word in ("TTTCGCGCCAAA", "CTATTTATAG", "ATTGCGCAAT", "TATGCAAATG"))

    def matrices(self):
        return [of_word(word, self.letters, self.error) for word in self.words]


class Koo12(Letters):
    """Koo and Eddy's task: 200 bases, 1 to 5 words drawn from 12 published matrices, either strand; label: the set of names."""
    name = "koo12"
    target = "set"
    names = ("Arid3a", "CEBPB", "FOSL1", "Gabpa", "MAFK", "MAX", "MEF2A", "NFYB", "SP1", "SRF", "STAT1", "YY1")
    counts = {1: 0.5, 2: 0.25, 3: 0.17, 4: 0.05, 5: 0.03}
    strands = True
    spread = tuple(published(("Gata3", "ZEB1", "TEAD4", "RUNX3")))

    def matrices(self):
        return published(self.names)

    def draw(self, count, rng, vary, part):
        path = os.path.join(self.folder, "genomics")
        if not self.folder or not os.path.exists(os.path.join(path, "koo12.fa.gz")):
            return super().draw(count, rng, vary, part)
        return self.read(path, count, part)

    def read(self, path, count, part):
        """Returns samples of a stored set instead of new ones. The last 1,000 are the test part. `vary` cannot change their frequencies and motifs."""
        with gzip.open(os.path.join(path, "koo12.fa.gz"), "rt") as file:
            lines = file.read().split("\n")
        heads, bases = [line[1:].split() for line in lines[0:-1:2]], lines[1::2]
        picked = range(len(heads) - 1000, len(heads))[:count] if part == "test" else range(min(count, len(heads) - 1000))
        number = {heads[i][0]: n for n, i in enumerate(picked)}
        x = np.zeros((len(picked), 1, self.length, 4), np.float32)
        for n, i in enumerate(picked):
            x[n, 0, np.arange(self.length), ["ACGT".index(base) for base in bases[i]]] = 1
        with gzip.open(os.path.join(path, "koo12-truth.bed.gz"), "rt") as file:
            rows = [line.split() for line in file]
        places = [(number[r[0]], 0, 1, int(r[1]), int(r[2]), self.names.index(r[3])) for r in rows if r[0] in number]
        return Part(x, [sorted(heads[i][1:], key=self.names.index) for i in picked], places)


class DnaBound(Letters):
    """150 bases, bound if a published motif occurs on either strand; three other motifs occur in both. One name or none."""
    name = "dna-bound"
    target = "class"
    length = 150
    names = ("bound",)
    counts = {0: 0.5, 1: 0.35, 2: 0.15}
    strands = True
    always = tuple(published(("Nrf1", "TCF3", "KLF4")))

    def matrices(self):
        return published(("EBF1",))


AMINO = "ACDEFGHIKLMNPQRSTVWY"
# Frequencies of the amino acids in Swiss-Prot, in percent, in the order of AMINO.
SWISSPROT = (8.25, 1.38, 5.46, 6.72, 3.86, 7.07, 2.27, 5.91, 5.80, 9.65, 2.41, 4.06, 4.74, 3.93, 5.53, 6.63, 5.35, 6.86, 1.10, 2.92)


def of_pattern(pattern, letters, background, error):
    """Returns the matrix of a pattern such as C-x(2)-[LIVM]-{P}: other letters than the allowed ones have probability `error`."""
    rows = []
    for element in pattern.split("-"):
        element, _, times = element.rstrip(")").partition("(")
        allowed = np.array([element == "x" or (letter in element) != element.startswith("{") for letter in letters])
        row = np.where(allowed, background, 0)
        if not allowed.all():
            row = (1 - error) * row / row.sum() + error * np.where(allowed, 0, background) / background[~allowed].sum()
        rows += [row] * int(times or 1)
    return np.array(rows)


class Proteins(Letters):
    """160 amino acids with 1 to 3 of six degenerate motifs (after patterns of PROSITE) with gaps; label: the set of names."""
    name = "proteins"
    target = "set"
    letters = AMINO
    length = 160
    names = ("zinc", "ploop", "hand", "zipper", "zincin", "serine")
    counts = {1: 1, 2: 1, 3: 1}
    patterns = ("C-x(2)-C-x(3)-[LIVMFYWC]-x(8)-H-x(3)-H", "[AG]-x(4)-G-K-[ST]", "D-x-[DNS]-[DENSTG]-[DNQGHRK]-{GP}-[LIVMC]-[DENQSTAGC]-x(2)-[DE]-[LIVMFYW]",
                "L-x(6)-L-x(6)-L-x(6)-L", "[GSTALIVN]-x(2)-H-E-[LIVMFYW]-{DEHRKP}-H-x-[LIVMFYWGSPQ]", "[DNSTAGC]-[GSTAPIMVQH]-x(2)-G-[DE]-S-G-[GS]-[SAPHV]")
    distractors = ("[KR]-[KR]-x(2)-[ST]-x-[LIVM]-P", "W-x(2)-[WYF]-x(4)-[DE]-G", "[RK]-G-D-x-[ST]-C", "Y-x-N-[LIVMP]-x(3)-W")

    def background(self):
        return np.array(SWISSPROT) / sum(SWISSPROT)

    def matrices(self):
        return [of_pattern(pattern, AMINO, self.background(), 0.04) for pattern in self.patterns]

    @property
    def spread(self):
        return [of_pattern(pattern, AMINO, self.background(), 0.04) for pattern in self.distractors]


class DnaStrands(Letters):
    """250 bases with 1 to 3 words drawn from eight published matrices, either strand, labelled in order; words may repeat."""
    name = "dna-strands"
    length = 250
    names = ("HNF1A", "TEAD3", "FOXA1", "ETV2", "NR2F1", "E2F4", "CREB1", "SOX4")
    counts = {1: 1, 2: 1, 3: 1}
    strands = True
    spread = tuple(published(("RUNX3", "Gata3")))

    def matrices(self):
        return published(self.names)


class DnaSixteen(Letters):
    """200 bases with 1 to 4 words drawn from 16 published matrices, either strand; label: the set of names."""
    name = "dna-sixteen"
    target = "set"
    names = ("RFX2", "TFAP2A", "POU2F2", "IRF7", "MYB", "PAX6", "ESRRB", "ZIC1", "HSF1", "OTX1", "SMAD3", "MEIS2", "TBX21", "NFKB1", "Lhx3", "KLF12")
    strands = True
    spread = tuple(published(("EBF1", "KLF4")))

    def matrices(self):
        return published(self.names)


class DnaCount(Letters):
    """200 bases; label: how often one published motif occurs on either strand, 0 to 3 times; three other motifs occur too."""
    name = "dna-count"
    target = "count"
    names = ("HNF4A",)
    counts = {0: 1, 1: 1, 2: 1, 3: 1}
    strands = True
    always = tuple(published(("TP53", "USF2", "CUX1")))

    def matrices(self):
        return published(self.names)


class Events(Letters):
    """Logs of 120 events of 24 kinds; five procedures are 4 to 6 events with gaps between them; label: the procedures in order."""
    name = "events"
    letters = "abcdefghijklmnopqrstuvwx"
    length = 120
    names = ("login", "order", "refund", "crash", "audit")
    counts = {1: 1, 2: 1, 3: 1, 4: 1}
    patterns = ("a-x-b-x(2)-c-d", "e-x(2)-f-g-x(3)-h", "h-x-g-x(2)-f-x-e", "i-x(4)-i-x(4)-j-k", "b-c-x-l-x(3)-m-n")
    distractors = ("o-x-p-x(2)-q-r", "d-x(2)-a-x-s-t")

    def background(self):
        return 1 / np.arange(3, 27) / (1 / np.arange(3, 27)).sum()

    def matrices(self):
        return [of_pattern(pattern, self.letters, self.background(), 0.02) for pattern in self.patterns]

    @property
    def spread(self):
        return [of_pattern(pattern, self.letters, self.background(), 0.02) for pattern in self.distractors]


class DnaTally(DnaCount):
    """160 bases; label: how often one published motif occurs on either strand, 0 to 3 times; two other motifs occur too."""
    name = "dna-tally"
    length = 160
    names = ("CREB1",)
    always = tuple(published(("FOXA1", "E2F4")))


class DnaTurned(DnaStrands):
    """220 bases with 1 to 3 words drawn from six published matrices, either strand, labelled in order; words may repeat."""
    name = "dna-turned"
    length = 220
    names = ("RUNX3", "NFKB1", "MEF2A", "CEBPB", "YY1", "Gata3")
    spread = tuple(published(("E2F4", "SRF")))


class Routines(Letters):
    """Logs of 100 events of 20 kinds; four routines are 4 or 5 events with gaps between them, two with the same events; label: in order."""
    name = "routines"
    letters = "abcdefghijklmnopqrst"
    length = 100
    names = ("sync", "retry", "close", "index")
    counts = {1: 1, 2: 1, 3: 1}
    patterns = ("e-x(3)-b-x-g-d", "d-x(2)-g-x-b-x(3)-e", "h-x(5)-h-x(2)-k", "b-i-x(4)-l-x-m")
    distractors = ("n-x(3)-o-x-p", "m-x(2)-l-x(3)-q")

    def background(self):
        return 1 / np.arange(4, 24) / (1 / np.arange(4, 24)).sum()

    def matrices(self):
        return [of_pattern(pattern, self.letters, self.background(), 0.02) for pattern in self.patterns]

    @property
    def spread(self):
        return [of_pattern(pattern, self.letters, self.background(), 0.02) for pattern in self.distractors]


class DnaEffects(Letters):
    """200 bases with 0 to 4 words of six published matrices; the target is a number: the sum of the words' effects, with noise."""
    name = "dna-effects"
    target = "number"
    names = ("CEBPB", "SRF", "YY1", "MEF2A", "STAT1", "NFYB")
    effects = np.array([1.5, 1.0, 0.8, -1.2, -0.8, 0.6])
    counts = {0: 1, 1: 2, 2: 2, 3: 2, 4: 1}
    noise = 0.5
    spread = tuple(published(("Gata3", "RUNX3")))

    def matrices(self):
        return published(self.names)

    def value(self, kinds):
        return float(sum(self.effects[k] for k in kinds if k < len(self.names)))

    def draw(self, count, rng, vary, part):
        made = super().draw(count, rng, vary, part)
        kinds = [[] for _ in range(count)]
        for place in made.places:
            kinds[place[0]].append(place[5])
        noise = rng.normal(0, self.noise, count)
        made.labels = [["%.6f" % (self.value(of) + more)] for of, more in zip(kinds, noise)]
        return made

    def solve(self, part, vary):
        matrices, rates, extra = self.kinds(vary)
        widths = [len(m) for m in matrices]
        ratios = [self.ratios(part.x, m) for m in matrices]
        labels, marks = [], []
        decided = oracle.expected(ratios, widths, rates, len(self.names), self.counts, extra, lambda found: self.value([k for _, k in found]))
        for i, (value, found) in enumerate(decided):
            labels.append(["%.6f" % value])
            marks += [(i, 0, start + widths[k] // 2, k, 1.0) for start, k in found if k < len(self.names)]
        return Marks(labels, marks)


FAMILIES = [DnaEffects(), DnaWords(), Koo12(), DnaBound(), Proteins(), Routines(), DnaTally(), DnaTurned(), DnaStrands(), DnaSixteen(), DnaCount(), Events()]
