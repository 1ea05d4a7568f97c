"""What all families share: the parts of a data set, the variations, and the files that a user would upload."""
import dataclasses
import io
import tarfile
import zlib

import numpy as np

TARGETS = ("sequence", "set", "class", "count", "number")
VALUES = ("own", "255", "unit", "standard")


@dataclasses.dataclass(frozen=True)
class Vary:
    """How a data set differs from the usual data of its family.

    frequencies: how much more often the most frequent symbol occurs than the rarest one (0: the family's own frequencies)
    distractors: how many kinds of motifs occur that no label mentions
    wrong: share of the training samples whose label belongs to another sample
    background: constant that is added to all values, in units of the family's own range
    values: range of the values: own (that of the family), 255 (whole numbers from 0 to 255), unit (0 to 1), standard (mean 0 and
        standard deviation 1)
    `background` and `values` have no effect on letters.
    """
    frequencies: float = 0.0
    distractors: int = 0
    wrong: float = 0.0
    background: float = 0.0
    values: str = "own"


@dataclasses.dataclass
class Part:
    """The training or the test part of a data set.

    x: [n][rows][cols][channels], float32
    labels: a list of names for each sample; a set is sorted in the order of the family's names; numbers are texts
    places: (sample, row0, row1, col0, col1, motif); row1 and col1 lie outside. The program never uploads them for training
    extra: for recordings, `clips` (a WAV file for each sample) and `signals` [n][samples]; x is empty then
    """
    x: np.ndarray
    labels: list
    places: list
    extra: dict = dataclasses.field(default_factory=dict)

    def __len__(self):
        return len(self.x)


@dataclasses.dataclass
class Marks:
    """The answers of a model or an oracle about a part: a label for each sample, and (sample, row, col, channel, strength) for each motif."""
    labels: list
    marks: list
    likeliest: list = None  # the most probable labels, if `labels` contains those with the smallest expected edit error


class Family:
    """A kind of data. A subclass sets the fields below and defines `draw` and `solve`.

    names: the names that labels consist of
    motifs: the motifs that have places; for most families these are the names
    """
    name = ""
    target = "sequence"
    letters = ""  # the alphabet of sequences; "" for numbers
    names = ()
    ratio = 1  # frequency of the most frequent name divided by that of the rarest one
    needs_folder = False  # whether the family needs public data from the folder of --data
    folder = ""
    most = 1 << 22  # largest number of samples of a training part
    places = True  # whether the motifs have places that a model can find

    @property
    def motifs(self):
        return self.names

    def draw(self, count, rng, vary, part):
        """Returns a Part with `count` samples in the family's own range of values. part: train or test."""
        raise NotImplementedError

    def solve(self, part, vary):
        """Returns the oracle's Marks. The oracle knows motifs, rates and noise, but neither labels nor places of `part`."""
        raise NotImplementedError

    def rates(self, vary):
        """Returns the probability of each name. It falls geometrically from the first name to the last one."""
        ratio = vary.frequencies or self.ratio
        k = np.arange(len(self.names))
        rates = float(ratio) ** (-k / max(1, len(k) - 1))
        return rates / rates.sum()


def stream(family, seed, part):
    """Returns the generator of random numbers for a part. Each family, seed and part has its own numbers."""
    return np.random.default_rng([zlib.crc32(family.encode()), seed, {"train": 0, "test": 1}[part]])


def generate(family, count, seed, part, vary=Vary()):
    """Returns `count` samples of a family: the same ones for the same family, count, seed, part and variation."""
    rng = stream(family.name, seed, part)
    made = family.draw(count, rng, vary, part)
    if part == "train" and vary.wrong:
        spoil(made.labels, vary.wrong, rng)
    return made


def spoil(labels, share, rng):
    """Gives a share of the samples the label of another sample."""
    picked = np.flatnonzero(rng.random(len(labels)) < share)
    old = list(labels)
    for i in picked:
        labels[i] = old[int(rng.integers(len(old)))]


def counted(rng, shares):
    """Draws a number from a distribution {number: share}."""
    numbers = list(shares)
    edges = np.cumsum([shares[k] for k in numbers])
    return numbers[min(len(numbers) - 1, int(np.searchsorted(edges, rng.random() * edges[-1], "right")))]


EXTRA = {0: 1, 1: 1, 2: 1}  # how many distractors a sample has, in data with distractors


def normal(counts):
    """Divides the weights of a distribution {number: weight} by their sum."""
    return {k: weight / sum(counts.values()) for k, weight in counts.items()}


def together(a, b):
    """Returns the distribution of the sum of two independent numbers."""
    out = {}
    for i, p in normal(a).items():
        for j, q in normal(b).items():
            out[i + j] = out.get(i + j, 0) + p * q
    return out


def shared(rates, counts, extra):
    """Returns the rates of the names and of the `extra` distractors among all motifs of a sample."""
    ours = sum(k * share for k, share in normal(counts).items())
    theirs = sum(k * share for k, share in normal(EXTRA).items())
    return np.concatenate([rates * ours, np.full(extra, theirs / extra)]) / (ours + theirs)


def pick(rng, rates, count, distinct):
    """Draws `count` indexes with the probabilities `rates`. With `distinct`, all are different."""
    if not distinct:
        return list(np.minimum(np.searchsorted(np.cumsum(rates), rng.random(count), "right"), len(rates) - 1))
    keys = -np.log(1 - rng.random(len(rates))) / rates  # the smallest of these random times belong to a draw without replacement
    return list(np.argsort(keys)[:count])


# ---- values and files ----


def scale_of(family, train, vary):
    """Returns the function that gives the training data the range of values that `vary` asks for.

    The caller applies it to the training part and to the test part, as a user does."""
    if family.letters or not train.any():
        return lambda x: x
    shift = np.float32(vary.background * (train.max() - train.min()))
    if vary.values == "own":
        return lambda x: (x + shift).astype(np.float32)
    low, high, mean, deviation = (float(f(train.astype(np.float64))) for f in (np.min, np.max, np.mean, np.std))
    if vary.values == "standard":
        return lambda x: ((x - mean) / deviation).astype(np.float32)  # the mean contains the background, so the background has no effect
    # The range of the values includes the background.
    span = (high - low) * (1 + vary.background)
    unit = lambda x: np.clip((x + shift - low) / span, 0, 1).astype(np.float32)  # noqa: E731
    return unit if vary.values == "unit" else lambda x: np.rint(255 * unit(x)).astype(np.uint8)


def upload(family, part):
    """Returns (bytes, media type) of the file that a user would upload: FASTA for DNA with labels in order, else .npz."""
    if part.extra.get("clips"):
        return tar_of(part), "application/x-tar"
    if family.letters == "ACGT" and family.target == "sequence" or family.letters == "ACGT" and len(family.names) == 1:
        return fasta(part).encode(), "text/x-fasta"
    arrays = io.BytesIO()
    np.savez(arrays, x=np.ascontiguousarray(part.x), y=targets(family, part.labels))
    return arrays.getvalue(), "application/x-npz"


def targets(family, labels):
    """Returns the array y of an .npz file: text for sequences and classes, booleans for sets, floats for numbers."""
    if family.target == "number":
        return np.array([[float(word) for word in label] for label in labels], np.float32)
    if family.target != "set":
        return np.array([" ".join(label) for label in labels])
    y = np.zeros((len(labels), len(family.names)), bool)
    for row, label in zip(y, labels):
        row[[family.names.index(name) for name in label]] = True
    return y


def fasta(part):
    letters = np.array(list("ACGT"))
    rows = letters[part.x[:, 0].argmax(axis=2)]
    return "".join(">s%d %s\n%s\n" % (i, " ".join(label), "".join(row)) for i, (label, row) in enumerate(zip(part.labels, rows)))


def tar_of(part):
    """Returns a tar of WAV files with labels.csv."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        def add(name, content):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        lines = ["file,label"]
        for i, label in enumerate(part.labels):
            add("c%05d.wav" % i, part.extra["clips"][i])
            lines.append("c%05d.wav,%s" % (i, " ".join(label)))
        add("labels.csv", "\n".join(lines).encode())
    return out.getvalue()


def truth(family, part):
    """Returns the text of the truth file: a line for each place. The upload does not contain it."""
    lines = ["sample,row0,row1,col0,col1,motif"]
    lines += ["%d,%d,%d,%d,%d,%s" % (*place[:5], family.motifs[place[5]] if place[5] < len(family.motifs) else "distractor")
              for place in part.places]
    return "\n".join(lines) + "\n"
