"""Figures of a model or an oracle on a test part.

FPE, FNE and CE are those of SPARLING's appendix C.2 as the daemon counts them (core/metrics/motif_errors.h). Of the motifs inside
a true box, only the strongest one counts. Each motif outside all boxes is a false positive. CE uses the best one-to-one
assignment of channels to motifs. A motif inside the box of a distractor counts as neither right nor wrong.
"""
import numpy as np

from oracle import edit_error


def confusion(places, marks, motifs, channels):
    """Returns counts [motifs + 1][channels + 1] of true motifs and channels. The last row counts motifs outside all boxes, the last column
    boxes without a motif.

    marks: (sample, row, col, channel, strength); places: (sample, row0, row1, col0, col1, motif)."""
    boxes, found = {}, {}
    for place in places:
        boxes.setdefault(place[0], []).append(place[1:])
    for mark in marks:
        found.setdefault(mark[0], []).append(mark[1:])
    counts = np.zeros((motifs + 1, channels + 1), np.int64)
    for sample in boxes.keys() | found.keys():
        of_sample, rest = boxes.get(sample, []), found.get(sample, [])
        for row0, row1, col0, col1, motif in of_sample:
            inside = [m for m in rest if row0 <= m[0] < row1 and col0 <= m[1] < col1]
            rest = [m for m in rest if not (row0 <= m[0] < row1 and col0 <= m[1] < col1)]
            if motif < motifs:
                # Takes the strongest motif; of equally strong ones, that of the first channel.
                counts[motif, min(inside, key=lambda m: (-m[3], m[2]))[2] if inside else channels] += 1
        for mark in rest:
            counts[motifs, mark[2]] += 1
    return counts


def assign(score):
    """Assigns to each row a column of its own (-1: none), so that the sum of the scores is largest (Hungarian algorithm)."""
    rows, cols = score.shape
    side = max(rows, cols)
    cost = np.zeros((side + 1, side + 1))
    cost[1:rows + 1, 1:cols + 1] = -score
    u, v, row_of, way = np.zeros(side + 1), np.zeros(side + 1), np.zeros(side + 1, int), np.zeros(side + 1, int)
    for i in range(1, side + 1):
        row_of[0], col = i, 0
        least, used = np.full(side + 1, np.inf), np.zeros(side + 1, bool)
        while True:
            used[col] = True
            reduced = cost[row_of[col]] - u[row_of[col]] - v
            closer = ~used & (reduced < least)
            least[closer], way[closer] = reduced[closer], col
            nearest = int(np.where(used, np.inf, least).argmin())
            delta = least[nearest]
            u[row_of[used]] += delta
            v[used] -= delta
            least[~used] -= delta
            col = nearest
            if row_of[col] == 0:
                break
        while col:
            row_of[col], col = row_of[way[col]], way[col]
    out = np.full(rows, -1)
    for col in range(1, cols + 1):
        if 1 <= row_of[col] <= rows:
            out[row_of[col] - 1] = col - 1
    return out


def share(part, whole):
    return float(part) / float(whole) if whole else float("nan")


def motif_figures(counts):
    """Returns FPE, FNE, CE and, for each motif, recall and precision of the channel that the assignment gives to it."""
    inner = counts[:-1, :-1]
    channel_of = assign(inner.astype(float))
    matched = sum(inner[motif, channel] for motif, channel in enumerate(channel_of) if channel >= 0)
    marked = counts.sum(axis=0)
    recall, precision = [], []
    for motif, channel in enumerate(channel_of):
        right = inner[motif, channel] if channel >= 0 else 0
        recall.append(share(right, counts[motif].sum()))
        precision.append(share(right, marked[channel]) if channel >= 0 else 0.0)
    return {"fpe": share(counts[-1, :-1].sum(), counts[:, :-1].sum()), "fne": share(counts[:-1, -1].sum(), counts[:-1].sum()),
            "ce": 1 - share(matched, inner.sum()), "motif_of": {int(c): m for m, c in enumerate(channel_of) if c >= 0}, "recall": np.nan_to_num(recall), "precision": np.nan_to_num(precision)}


def inside(place, row, col):
    return place[0] <= row <= place[1] and place[2] <= col <= place[3]


def overlap(a, b):
    """Returns the intersection over union of two boxes [row0, row1, col0, col1]."""
    both = max(0, min(a[1], b[1]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[2], b[2]))
    area = lambda box: (box[1] - box[0]) * (box[3] - box[2])  # noqa: E731
    return both / (area(a) + area(b) - both)


def pairs_of(places, found, motif_of, half):
    """Yields (found motif, true box) for motifs and true boxes of the channel's motif, paired one to one within a sample, the closest
    centres first. A box must have a position in the motif's window, which reaches `half` positions from it.

    found: (sample, row, col, channel, extent); places: (sample, row0, row1, col0, col1, motif); motif_of: {channel: motif}."""
    boxes = {}
    for place in places:
        boxes.setdefault((place[0], place[5]), []).append(place[1:5])
    near = []
    for i, (sample, row, col, channel, extent) in enumerate(found):
        for j, (row0, row1, col0, col1) in enumerate(boxes.get((sample, motif_of.get(channel)), [])):
            if row0 <= row + half and row1 > row - half and col0 <= col + half and col1 > col - half:
                centre = [extent[0] + extent[1] - row0 - row1, extent[2] + extent[3] - col0 - col1]
                near.append((centre[0] ** 2 + centre[1] ** 2, i, j, (sample, motif_of[channel])))
    motifs, taken = set(), set()
    for _, i, j, key in sorted(near):
        if i not in motifs and (key, j) not in taken:
            motifs.add(i)
            taken.add((key, j))
            yield found[i], boxes[key][j]


def box_figures(places, found, motif_of, half):
    """Returns shares of the pairs of pairs_of(): `position` and `centre` (those of the motif's position and of the centre of its extent that
    lie in the true box), `iou_window` and `iou` (intersection over union of the window and of the extent with the true box at least 1/2)."""
    position, centre, window, extents = [], [], [], []
    for (_, row, col, _, extent), box in pairs_of(places, found, motif_of, half):
        position.append(inside(box, row + 0.5, col + 0.5))
        centre.append(inside(box, (extent[0] + extent[1]) / 2, (extent[2] + extent[3]) / 2))
        flat = box[1] - box[0] == 1 and extent[1] - extent[0] == 1
        rows = box[:2] if flat else (row - half, row + half + 1)
        window.append(overlap((*rows, col - half, col + half + 1), box) >= 0.5)
        extents.append(overlap(extent, box) >= 0.5)
    return {"pairs": len(position), **{name: share(sum(of), len(of)) for name, of in
            (("position", position), ("centre", centre), ("iou_window", window), ("iou", extents))}}


def label_figures(answers, labels, target=""):
    """Returns E2EE (mean edit distance divided by the length of the longer label) and the share of exact answers. For numbers, `exact` is
    the share of their variance that the answers explain (R squared), and E2EE is the rest."""
    if target == "number":
        given, true = np.array(answers, float), np.array(labels, float)
        rest = float(((true - given) ** 2).sum() / ((true - true.mean(axis=0)) ** 2).sum())
        return {"e2ee": rest, "exact": 1 - rest}
    errors = [edit_error(list(a), list(b)) for a, b in zip(answers, labels)]
    return {"e2ee": float(np.mean(errors)), "exact": float(np.mean([list(a) == list(b) for a, b in zip(answers, labels)]))}


def oracle_figures(family, part, solution):
    figures = label_figures(solution.labels, part.labels, family.target)
    if solution.likeliest:
        figures["exact"] = label_figures(solution.likeliest, part.labels)["exact"]
    if family.places:
        figures.update(motif_figures(confusion(part.places, solution.marks, len(family.motifs), len(family.motifs))))
    return figures


def met(figures, best):
    """Returns for each motif whether it has a channel of its own: one whose recall and precision are at least half of the oracle's.

    The assignment gives a channel to one motif only, so two motifs never share one."""
    return [r > 0 and r >= 0.5 * br and p >= 0.5 * bp for r, p, br, bp in
            zip(figures["recall"], figures["precision"], best["recall"], best["precision"])]
