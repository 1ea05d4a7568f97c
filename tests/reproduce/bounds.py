#!/usr/bin/env python3
"""Compares the stated error rate of marks with the realised one, on families of the zoo whose true places are known.

    bounds.py --build build [--families shapes,spectra,dna-words,heartbeats,traffic,...] [--size 3000] [--seeds 1] [--queries 10] [--out table.csv]

For each family the program trains a model as a user would (preset `dataset`, field effort `quick`), then asks it about new inputs, several times, with
false_marks = 0.01, 0.05, 0.1 and 0.2. For each of these nominal shares it prints:

    kept      number of marks in all queries
    realised  share of them that are false
    held      share of the queries whose realised share is at most the nominal one
    bound     share of the queries in which at most `false_at_most` marks are false (it should be at least 95 %)
    stated    mean of false_at_most / marks
    found     share of the true places with a mark; behind the stroke, that of the family's oracle, which knows the motifs

A mark is right if its extent covers a place of its channel's name, by at least a quarter of the smaller of the two. The confounded families have a
companion of the first name; `why` shows what the answer says about it:

    companion   Z accompanies H in 80 % of the labels with H, and occurs in 10 % of the others; both are drawn
    phantom     the same labels, but H is never drawn, so only Z can be marked for it
    together    H and Z are in the same labels, always
"""
import argparse
import csv
import os
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "zoo"), os.path.join(HERE, "..", "harness")]
import run as zoo_run  # noqa: E402
import zoo  # noqa: E402
from base import Part, Vary, generate, scale_of, upload  # noqa: E402
from daemon import Daemon  # noqa: E402
from images import Shapes  # noqa: E402

NOMINAL = (0.01, 0.05, 0.1, 0.2)
COLUMNS = ("family", "seed", "nominal", "kept", "realised", "held", "bound", "stated", "found", "oracle", "findings", "why", "seconds")


class Confounded(Shapes):
    """Shapes whose second name accompanies the first one."""
    share, alone, drawn = 0.8, 0.1, True

    def draw(self, count, rng, vary, part):
        x = np.zeros((count, *self.side, self.channels), np.float32)
        labels, places = [], []
        for i in range(count):
            kinds = [k for k in range(2, len(self.names)) if rng.random() < 0.25]
            first = rng.random() < 0.4
            kinds += [0] * first + [1] * (rng.random() < (self.share if first else self.alone))
            found = self.arrange(rng, [k for k in kinds if k or self.drawn], self.glyphs)
            self.paint(x[i], found, self.glyphs, rng)
            labels.append([self.names[k] for k in sorted(kinds)])
            places += [(i, r, r + self.glyphs[k].shape[0], c, c + self.glyphs[k].shape[1], k) for r, c, k in found]
        return Part(x, labels, places)

    def solve(self, part, vary):
        return None


class Phantom(Confounded):
    name, drawn = "phantom", False


class Together(Confounded):
    name, share, alone = "together", 1.0, 0.0


class Companion(Confounded):
    name = "companion"


class Traffic(zoo.FAMILIES["spectra"].__class__):
    """Hourly traffic of a site over three weeks: daily and weekly cycles, noise that grows with the traffic, and 0 to 3 of three events (outage, spike,
    campaign), labelled as a set. Half of the inputs have no event."""
    name, target, names, length, distinct = "traffic", "set", ("outage", "spike", "campaign"), 504, True
    widths = (10, 4, 48)

    @property
    def motifs(self):
        return self.names

    def draw(self, count, rng, vary, part):
        t = np.arange(self.length)
        x, labels, places = np.zeros((count, 1, self.length, 1), np.float32), [], []
        for i in range(count):
            day = 1 + 0.5 * np.sin(2 * np.pi * (t / 24 + rng.random())) + 0.2 * np.sin(2 * np.pi * (t / 168 + rng.random()))
            kinds = [k for k in range(3) if rng.random() < 0.2]
            taken = []
            for k in kinds:
                width = self.widths[k]
                start = next(s for s in rng.integers(0, self.length - width, 1000) if all(s + width + 5 < a or s > b + 5 for a, b in taken))
                taken.append((start, start + width))
                span = np.arange(width)
                day[start:start + width] *= (0.15, 2.2, 1)[k]
                day[start:start + width] += 0.6 * np.sin(np.pi * (span + 0.5) / width) if k == 2 else 0
                places.append((i, 0, 1, start, start + width, k))
            x[i, 0, :, 0] = day * (1 + 0.12 * rng.standard_normal(self.length))
            labels.append([self.names[k] for k in kinds])
        return Part(x, labels, places)

    def solve(self, part, vary):
        return None


OWN = {family.name: family for family in (Companion(), Phantom(), Together(), Traffic())}


def covers(extent, place):
    """Whether an extent covers a place by at least a quarter of the smaller of the two."""
    area = lambda box: (box[1] - box[0]) * (box[3] - box[2])  # noqa: E731
    both = max(0, min(extent[1], place[1]) - max(extent[0], place[0])) * max(0, min(extent[3], place[3]) - max(extent[2], place[2]))
    return both >= 0.25 * min(area(extent), area(place))


def judge(family, test, answers):
    """Returns (marks, false ones, true places with a mark) of the answers of one query."""
    marks = wrong = 0
    found, boxes = set(), {}
    for j, place in enumerate(test.places):
        boxes.setdefault(place[0], []).append((j, place[1:5], family.motifs[place[5]] if place[5] < len(family.motifs) else None))
    for sample, answer in enumerate(answers):
        for motif in answer["motifs"]:
            if not motif["maximal"]:
                continue
            names = zoo_run.label_of(family, (motif["name"] or "").split(" or "))
            right = [j for j, box, name in boxes.get(sample, []) if name in names and covers(motif["extent"] or (*motif["position"][:1], motif["position"][0] + 1, motif["position"][1], motif["position"][1] + 1), box)]
            marks, wrong = marks + 1, wrong + (not right)
            found.update(right)
    return marks, wrong, len(found)


def oracle_share(family, test, vary):
    """Share of the true places at which the oracle marks the right motif; None: the family has no oracle here."""
    solution = family.solve(test, vary)
    if solution is None:
        return None
    hit = sum(any(m[0] == p[0] and m[3] == p[5] and p[1] <= m[1] < p[2] and p[3] <= m[2] < p[4] for m in solution.marks) for p in test.places)
    return hit / max(1, len(test.places))


def lines_of(family, seed, options):
    """Trains one model and yields a line for each nominal share."""
    vary = Vary()
    part = generate(family, min(options.size, family.most), seed, "train", vary)
    scale = scale_of(family, part.x, vary)
    tests = [generate(family, options.test, 1000 * seed + k, "test", vary) for k in range(options.queries)]
    oracle = oracle_share(family, tests[0], vary)
    for one in (part, *tests):
        one.x = scale(one.x)
    with tempfile.TemporaryDirectory(prefix="bounds-") as folder, open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
        with Daemon(os.path.join(options.build, "motifd"), os.path.join(folder, "b.db"), "--data", os.path.join(folder, "data"), "--workers", "1",
                    "--upload-bytes", str(1 << 31), log=log) as daemon:
            settings = argparse.Namespace(set=[("effort", options.effort), ("threads", 1)], preset="dataset")
            job = zoo_run.train(daemon, "b", upload(family, part), seed, settings, zoo_run.target_of(family))
            result = job.get("result") or {}
            codes = " ".join(f["code"] for f in result.get("findings", []))
            if options.verbose:
                print(family.name, job["state"], result.get("verdict"), "exact", result.get("exact"), codes, flush=True)
            for nominal in NOMINAL:
                rows, why = [], ""
                for test in tests:
                    answer = zoo_run.asked(daemon.ask("POST", "/v1/jobs/%s/motifs?batch=1&false_marks=%g" % (job["id"], nominal), zoo_run.npy(test.x), "application/x-npy"))
                    bound, why = answer["bound"], answer.get("why", "")
                    rows.append((*judge(family, test, answer["answers"]), len(test.places), bound["false_at_most"] if bound else np.nan))
                marks, wrong, found, places, most = np.array(rows, float).T
                shares = wrong / np.maximum(1, marks)
                yield {"family": family.name, "seed": seed, "nominal": nominal, "kept": int(marks.sum()), "realised": wrong.sum() / max(1, marks.sum()),
                       "held": np.mean(shares <= nominal), "bound": np.mean(wrong <= most) if np.isfinite(most).all() else None,
                       "stated": np.mean(most / np.maximum(1, marks)), "found": found.sum() / places.sum(), "oracle": oracle, "findings": codes, "why": why,
                       "seconds": result.get("seconds")}


def cell(value):
    return "-" if value is None or value != value else "%.1f %%" % (100 * value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", default="shapes,spectra,dna-words,heartbeats,traffic,companion,phantom,together")
    parser.add_argument("--build", default="build")
    parser.add_argument("--size", type=int, default=3000, help="training samples, of which a part is for validation")
    parser.add_argument("--test", type=int, default=200, help="inputs of a query")
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--seeds", default="1", type=zoo_run.seeds_of)
    parser.add_argument("--out")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    print("| family | seed | nominal | kept | realised | held | bound holds | stated | found / oracle | why |\n|" + " --- |" * 10)
    for name in options.families.split(","):
        family = OWN.get(name) or zoo.FAMILIES[name]
        for seed in options.seeds:
            for line in lines_of(family, seed, options):
                print("| %s | %d | %g %% | %d | %s | %s | %s | %s | %s / %s | %s |" % (
                    name, seed, 100 * line["nominal"], line["kept"], cell(line["realised"]), cell(line["held"]), cell(line["bound"]), cell(line["stated"]),
                    cell(line["found"]), cell(line["oracle"]), line["why"]), flush=True)
                if options.out:
                    new = not os.path.exists(options.out)
                    with open(options.out, "a", newline="", encoding="utf-8") as file:
                        writer = csv.DictWriter(file, COLUMNS)
                        if new:
                            writer.writeheader()
                        writer.writerow(line)


if __name__ == "__main__":
    main()
