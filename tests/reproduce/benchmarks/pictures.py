"""XAI-TRIS (arXiv 2306.12816): two shapes in 8 x 8 pixels, with white or smooth backgrounds. Pictures are [n][1][8][8]."""
import numpy as np

SHAPES = np.array([[[1, 0], [1, 1], [1, 0]], [[1, 0], [1, 0], [1, 1]]], float)  # T and L
CORNERS = ((1, 1), (4, 5))
ALPHA = {"lin": (.18, .0125), "mult": (.7, .1), "rigid": (.65, .2), "xor": (.35, .15)}  # with white and with smooth backgrounds
SCENARIOS = tuple(f"{scenario}-{background}" for scenario in ALPHA for background in ("white", "smooth"))


def _smooth(pictures, sigma=3, radius=12):
    """A Gaussian filter along both axes; what lies beyond the edges is the mirror image of the picture."""
    weight = np.exp(-np.arange(-radius, radius + 1) ** 2 / (2 * sigma ** 2))
    weight /= weight.sum()
    side = np.pad(np.arange(8), radius, "symmetric")
    matrix = np.zeros((8, 8))
    for row in range(8):
        np.add.at(matrix[row], side[row:row + 2 * radius + 1], weight)
    return matrix @ pictures @ matrix.T


def xai_tris(name, count, seed):
    """Returns pictures, labels (1: L) and the true pixels. Half of the pictures have each label."""
    scenario, background = name.split("-")
    rng = np.random.default_rng((seed, SCENARIOS.index(name)))
    y = rng.permutation(np.arange(count) % 2)
    pattern, truth = np.zeros((count, 8, 8)), np.zeros((count, 8, 8), bool)

    def put(at, shape, corner, sign=1):
        rows, cols = slice(corner[0], corner[0] + shape.shape[0]), slice(corner[1], corner[1] + shape.shape[1])
        pattern[at, rows, cols] += sign * shape
        truth[at, rows, cols] |= shape > 0

    for at in range(count):
        if scenario == "rigid":
            shape = np.rot90(SHAPES[y[at]], rng.integers(4))
            put(at, shape, (rng.integers(9 - shape.shape[0]), rng.integers(9 - shape.shape[1])))
        elif scenario == "xor":
            first = rng.choice((1, -1))
            put(at, SHAPES[0], CORNERS[0], first)
            put(at, SHAPES[1], CORNERS[1], first if y[at] == 0 else -first)
        else:
            put(at, SHAPES[y[at]], CORNERS[y[at]])
    if scenario in ("lin", "mult"):  # the absence of the other shape informs too
        for shape, (row, col) in zip(SHAPES, CORNERS):
            truth[:, row:row + 3, col:col + 2] |= shape > 0
    noise = rng.normal(0, .5, (count, 8, 8))
    noise = _smooth(noise) if background == "smooth" else noise
    alpha = ALPHA[scenario][background == "smooth"]
    noise /= np.linalg.norm(noise)
    if scenario == "mult":
        factor = 1 - alpha * pattern
        x = factor / np.linalg.norm(factor) * noise
    else:
        x = alpha * pattern / np.linalg.norm(pattern) + (1 - alpha) * noise
    return (x / np.abs(x).max()).astype(np.float32)[:, None], y, truth


def edges(picture):
    """The absolute Laplacian of a picture, which has mirror images beyond its edges."""
    p = np.pad(picture, 1, "symmetric")
    return np.abs(p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * picture)
