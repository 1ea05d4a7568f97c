#!/usr/bin/env python3
"""Compares core/genomics/matrices/motif_match.c with a second implementation of Tomtom's complete scores in NumPy.

    check_motif_match.py MOTIF_MATCH_PRINT [QUERIES.meme DATABASE.meme]

The second implementation follows the description of memelite (Schreiber 2025, tomtom-lite): whole distributions of sums for every span, their
cumulative products for every target width, and p = 1 - (1 - p)^2 for two strands. Without files, motifs are random, and one query is a noisy copy
of a target. Exit code 77: NumPy is missing.
"""
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

BINS = 100


def integers(query, columns):
    """Returns the integers [query columns][columns] of the scores, and the integer of a column without a partner."""
    score = -np.sqrt(((query[:, None, :] - columns[None, :, :]) ** 2).sum(axis=2))
    median = np.sort(score, axis=1)[:, (len(columns) - 1) // 2]
    score -= median[:, None]
    low = np.floor(min(0.0, score.min()))
    scale = max(1.0, np.floor(BINS / max(max(0.0, score.max()) - low, 1e-9)))
    return np.floor((score - low) * scale + 0.5).astype(int), int(round(-low * scale))


def span_cdfs(whole, zero):
    """cdf[i, j]: cumulative distribution of the total score when query columns i..j are aligned and the others count `zero`."""
    width, length = len(whole), len(whole) * (BINS + zero) + 1
    share = np.array([np.bincount(row, minlength=BINS + 1) / len(row) for row in whole])
    cdf = {}
    for i in range(width):
        sums = np.ones(1)
        for j in range(i, width):
            sums = np.convolve(sums, share[j])
            shifted = np.zeros(length)
            begin = zero * (width - (j - i + 1))
            shifted[begin:begin + len(sums)] = sums
            cdf[i, j] = np.minimum(np.cumsum(shifted), 1.0)
    return cdf


def best(whole, zero, first, end, backwards):
    """The best total of one target, which is columns first..end of the database: (total, overlap, offset)."""
    width, t, found = len(whole), end - first, None
    for offset in range(1 - t, width):
        rows = np.arange(max(0, offset), min(width, offset + t))
        partner = rows - offset
        partner = first + (t - 1 - partner if backwards else partner)
        total = int(whole[rows, partner].sum()) + zero * (width - len(rows))
        if found is None or (total, len(rows)) > found[:2]:
            found = (total, len(rows), offset)
    return found


def q_values(p):
    """Storey's q-values with the closed form of the bootstrap for the share of true null hypotheses."""
    count, order = len(p), np.argsort(p, kind="stable")
    grid = np.arange(1, 20) * 0.05
    above = np.array([(p >= value).sum() for value in grid])
    share = above / (count * (1 - grid))
    least = np.quantile(share, 0.1)
    error = above / (count ** 2 * (1 - grid) ** 2) * (1 - above / count) + (share - least) ** 2
    null = max(min(share[np.argmin(error)], 1.0), 1 / count)
    ranked = np.minimum(1.0, null * p[order] * count / np.arange(1, count + 1))
    q = np.empty(count)
    q[order] = np.minimum.accumulate(ranked[::-1])[::-1]
    return q


def compare(query, targets, strands):
    columns = np.concatenate(targets)
    ends = np.cumsum([0] + [len(t) for t in targets])
    both = np.concatenate([columns, columns[:, ::-1]]) if strands == 2 else columns
    whole, zero = integers(query, both)
    cdf, width = span_cdfs(whole, zero), len(query)
    products, rows = {}, []
    for k, target in enumerate(targets):
        t = len(target)
        if t not in products:
            product = np.ones(width * (BINS + zero) + 1)
            for offset in range(1 - t, width):
                product = product * cdf[max(0, offset), min(width, offset + t) - 1]
            products[t] = product
        sides = [best(whole[:, :len(columns)], zero, ends[k], ends[k + 1], False)]
        if strands == 2:
            sides.append(best(whole[:, len(columns):], zero, ends[k], ends[k + 1], True))
        total = max(side[0] for side in sides)
        p = 1 - products[t][total - 1] if total > 0 else 1.0
        rows.append((1 - (1 - p) ** 2 if strands == 2 else p, sides))
    p = np.array([row[0] for row in rows])
    return p, q_values(p), [row[1] for row in rows]


def read_meme(path):
    motifs, rows = [], None
    for line in open(path, encoding="utf-8"):
        words = line.split()
        if line.startswith("letter-probability"):
            rows = []
            motifs.append(rows)
        elif rows is not None and len(words) == 4 and words[0][0].isdigit():
            rows.append([float(word) for word in words])
        elif rows:
            rows = None
    motifs = [np.array(rows) for rows in motifs]
    return [motif / motif.sum(axis=1, keepdims=True) for motif in motifs]


def random_motifs(count, random):
    return [random.dirichlet(np.full(4, 0.25), size=random.integers(5, 16)) for _ in range(count)]


def text(motifs, strands=None):
    lines = [str(len(motifs))] + ([str(strands)] if strands else [])
    for motif in motifs:
        lines.append(str(len(motif)))
        lines += [" ".join(repr(float(value)) for value in row) for row in motif]
    return "\n".join(lines) + "\n"


def check(program, queries, targets, strands):
    answer = subprocess.run([program], input=text(targets, strands) + text(queries), capture_output=True, text=True, check=True).stdout.split("\n")
    worst = 0.0
    for number, query in enumerate(queries):
        p, q, sides = compare(query, targets, strands)
        lines = [line.split() for line in answer[number * len(targets):(number + 1) * len(targets)]]
        mine = np.array([[float(word) for word in line[:3]] for line in lines])
        seen = np.abs(np.log(np.maximum(mine[:, 0], 1e-11) / np.maximum(p, 1e-11)))
        worst = max(worst, float(seen.max()))
        assert seen.max() < 0.01, (number, int(seen.argmax()), mine[seen.argmax()], p[seen.argmax()])
        assert np.allclose(mine[:, 1], mine[:, 0] * len(targets), rtol=1e-9)
        # The p-values of the C code are precise where those above are rounded to multiples of 1e-16, so its own p-values are the input here.
        assert np.allclose(mine[:, 2], q_values(mine[:, 0]), rtol=1e-6), number
        assert np.abs(q - mine[:, 2]).max() < 0.01
        for line, both in zip(lines, sides):
            strand = 1 if line[5] == "-" else 0
            assert both[strand][0] == max(side[0] for side in both) and both[strand][1] == int(line[4]), (line, both)
    print(f"{len(queries)} queries against {len(targets)} motifs on {strands} strand(s): the largest difference of log p is {worst:.2g}")
    return answer


def main():
    program = sys.argv[1]
    if len(sys.argv) == 4:
        check(program, read_meme(sys.argv[2]), read_meme(sys.argv[3]), 2)
        return
    random = np.random.default_rng(5)
    for strands in (1, 2):
        targets = random_motifs(60, random)
        copy = 0.9 * targets[7] + 0.1 * random.dirichlet(np.ones(4), size=len(targets[7]))
        queries = random_motifs(4, random) + [copy, targets[9][2:], np.array([[0.7, 0.1, 0.1, 0.1]])]
        answer = check(program, queries, targets, strands)
        p = [float(line.split()[0]) for line in answer[4 * 60:5 * 60]]
        assert p.index(min(p)) == 7 and p[7] < 1e-6, "the copy of a motif is not recognised"
    # A motif and its reverse complement are the same motif on two strands.
    turned = [motif[::-1, ::-1] for motif in targets]
    one = [line.split()[0] for line in check(program, queries[:2], targets, 2) if line]
    other = [line.split()[0] for line in check(program, queries[:2], turned, 2) if line]
    assert np.allclose([float(v) for v in one], [float(v) for v in other], rtol=1e-6)


if __name__ == "__main__":
    main()
