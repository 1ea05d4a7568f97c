#!/usr/bin/env python3
"""Trains on families of the zoo as a new user would. Writes a table with the figures of the trained models and of an oracle.

    run.py --families dna-words,shapes --size 16000 --seeds 1-3 --build build --out table.csv [--set FIELD=VALUE]...
    run.py --families koo12 --vary frequencies=50,distractors=2,wrong=0.05 ...     variations: base.py, class Vary
    run.py --families shapes --size 1000 --save FOLDER                             writes the files only; trains nothing
    run.py --families report --oracle                                              the oracles' figures; trains nothing
    run.py --families proteins --size 4000 --results FOLDER ...                     keeps each job's result, with its findings
    run.py --families dna-words --matrices ...                                     also compares the channels' matrices with the true ones
    run.py --list

For each family and seed the program starts a daemon on the loopback interface, uploads a training part, trains with the preset
`dataset`, then asks the model over HTTP for labels and motifs of a test part that it never uploaded. The true places stay with
this program. It prints a line for each run and appends it to the file of --out at once. README.md explains the columns.

The program trains on the families of the report half only with --report. A family that needs public data (README.md) needs --data.
"""
import argparse
import csv
import dataclasses
import io
import json
import os
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, ".."), os.path.join(HERE, "..", "..", "harness")]
import matrices  # noqa: E402
import score  # noqa: E402
import zoo  # noqa: E402
from base import VALUES, Vary, generate, scale_of, truth, upload  # noqa: E402
from daemon import Daemon  # noqa: E402

COLUMNS = ("family", "vary", "size", "seed", "verdict", "state", "motifs", "fpe", "fne", "ce", "e2ee", "exact", "oracle_fpe", "oracle_fne",
           "oracle_ce", "oracle_e2ee", "oracle_exact", "position", "centre", "iou_window", "iou", "pairs", "samples", "seconds", "missed", "settings",
           "matrices", "least_correlation")
BOXES = ("position", "centre", "iou_window", "iou")
ENDED = ("succeeded", "failed", "cancelled")
MOST_INPUTS, MOST_NUMBERS = 128, 1 << 21  # upper limits for one query


class Refused(Exception):
    """The daemon refused a request."""


def asked(answer, expected=(200, 201)):
    status, _, body = answer
    if status not in expected:
        errors = body.get("errors", []) if isinstance(body, dict) else []
        raise Refused("; ".join([str(body.get("detail") if isinstance(body, dict) else body)] +
                                ["%s %s" % (e.get("pointer", ""), e.get("detail", "")) for e in errors]))
    return body


def npy(array):
    out = io.BytesIO()
    np.save(out, np.ascontiguousarray(array))
    return out.getvalue()


# ---- training and asking ----


def train(daemon, name, file, seed, options, target=""):
    """Uploads a file, trains a model and returns the job when it has ended. target: kind of label that the file does not show."""
    content, kind = file
    asked(daemon.ask("PUT", "/v1/datasets/" + name + (target and "?target=" + target), content, kind))
    config = {"dataset_name": name, "seed": seed, **dict(options.set)}
    job = asked(daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": options.preset, "config": config, "name": name}))
    while job["state"] not in ENDED:
        time.sleep(0.5)
        job = asked(daemon.ask("GET", "/v1/jobs/" + job["id"]))
    return job


def query(daemon, job, verb, bodies, accept):
    """Sends a query for each (body, media type, arguments) and yields the answers."""
    for body, kind, arguments in bodies:
        yield asked(daemon.ask("POST", "/v1/jobs/%s/%s%s" % (job, verb, arguments), body, kind, {"Accept": accept}))


def bodies_of(part, x):
    """Splits the inputs of a part into bodies of queries: arrays of many inputs, or one recording each."""
    if part.extra.get("clips"):
        return [(clip, "audio/wav", "") for clip in part.extra["clips"]]
    step = max(1, min(MOST_INPUTS, MOST_NUMBERS // x[0].size))
    return [(npy(x[i:i + step]), "application/x-npy", "?batch=1") for i in range(0, len(x), step)]


def label_of(family, tokens):
    """Returns a predicted label as a list of names."""
    if family.target == "set":  # the columns of a boolean array may have numbers instead of names
        names = [family.names[int(t)] if t.isdigit() else t for t in tokens]
        return sorted(names, key=lambda name: family.names.index(name) if name in family.names else len(family.names))
    if family.target == "class" and len(family.names) == 1:  # the classes are this name and "none of it", whatever the daemon calls the latter
        return [t for t in tokens if t in family.names]
    return list(tokens)


def target_of(family):
    """Returns the target that a user must state because the file does not show it; "": none."""
    return family.target if family.target in ("count", "number") else ""


def extents_of(daemon, job, family, part, x):
    """Returns the maximal motifs that have an extent, as (sample, row, col, channel, extent), and how far the window of g reaches."""
    found, half, sample = [], asked(daemon.ask("GET", "/v1/jobs/%s/channels?samples=1" % job))["footprint"] // 2, 0
    wide = 1
    for answer in query(daemon, job, "motifs", bodies_of(part, x), "application/json"):
        for one in answer["answers"]:
            if part.extra.get("clips"):  # from frames to samples
                wide = family.length / (one["shape"][1] - 1)
            for motif in one["motifs"]:
                if motif["maximal"] and motif["extent"]:
                    (row, col), (row0, row1, col0, col1) = motif["position"], motif["extent"]
                    found.append((sample, row, col * wide, motif["channel"], (row0, row1, col0 * wide, col1 * wide)))
            sample += 1
    return found, half * wide


def ask(daemon, job, family, part, x):
    """Returns (labels, marks, number of channels) of a trained model: labels as lists of names, marks as (sample, row, col, channel, value)."""
    bodies, labels, marks = bodies_of(part, x), [], []
    for answer in query(daemon, job, "predict", bodies, "application/json"):
        labels += [label_of(family, one["prediction"]) for one in answer["answers"]]
    sample = 0
    if family.places:
        for answer in query(daemon, job, "motifs", bodies, "application/x-npy"):
            maps = np.load(io.BytesIO(answer))
            # A column of a recording's motif map is a frame of the spectrogram. `wide` converts its number into a number of samples.
            wide = family.length / (maps.shape[2] - 1) if part.extra.get("clips") else 1
            for i, row, col, channel in zip(*np.nonzero(maps > 0)):
                marks.append((sample + i, row, col * wide, channel, float(maps[i, row, col, channel])))
            sample += len(maps)
        channels = maps.shape[-1]
    return labels, marks, channels if family.places else 0


# ---- one run ----


def data_of(family, seed, options):
    """Returns the training part, the test part and the oracle's answers. The values of both parts are scaled with the same function."""
    train_part = generate(family, min(options.size, family.most), seed, "train", options.vary)
    test = generate(family, options.test, seed, "test", options.vary)
    solution = family.solve(test, options.vary)
    scale = scale_of(family, train_part.x, options.vary)
    train_part.x, test.x = scale(train_part.x), scale(test.x)
    return train_part, test, solution


def run(family, seed, options):
    """Returns the line of the table for one family and seed."""
    train_part, test, solution = data_of(family, options.data_seed or seed, options)
    best = score.oracle_figures(family, test, solution)
    line = {"family": family.name, "vary": words_of(options.vary), "size": len(train_part.labels), "seed": seed,
            "settings": " ".join("%s=%s" % pair for pair in options.set)}
    line.update({"oracle_" + key: best[key] for key in ("fpe", "fne", "ce", "e2ee", "exact") if best.get(key, np.nan) == best.get(key)})
    if options.oracle:
        return dict(line, state="oracle")
    file = upload(family, train_part)
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder, open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
        arguments = ["--data", os.path.join(folder, "data"), "--workers", "1", "--upload-bytes", str(1 << 31)]
        with Daemon(os.path.join(options.build, "motifd"), os.path.join(folder, "zoo.db"), *arguments, log=log) as daemon:
            try:
                job = train(daemon, "zoo", file, seed, options, target_of(family))
                line.update(state=job["state"])
                result = job.get("result") or {}
                keep(result, line, options)
                verdict = result.get("verdict")
                line.update(verdict=verdict.get("verdict") if isinstance(verdict, dict) else verdict, samples=result.get("trained_samples"),
                            seconds=result.get("seconds"))
                labels, marks, channels = ask(daemon, job["id"], family, test, test.x)
                measure(line, family, test, labels, marks, channels, best)
                if family.places:
                    boxes(line, family, test, marks, channels, extents_of(daemon, job["id"], family, test, test.x), options)
                if options.matrices:
                    compare_matrices(line, daemon, job["id"], family)
            except Refused as refused:
                line.update(state="refused", missed=str(refused))
    return line


def keep(result, line, options):
    """Writes the result of a job to the folder of --results."""
    if options.results:
        with open(os.path.join(options.results, "%(family)s-%(size)d-%(seed)d.json" % line), "w", encoding="utf-8") as file:
            json.dump(result, file)


def measure(line, family, test, labels, marks, channels, best):
    line.update(score.label_figures(labels, test.labels, family.target))
    if not family.places:
        return
    figures = score.motif_figures(score.confusion(test.places, marks, len(family.motifs), channels))
    own = score.met(figures, best)
    line.update({key: figures[key] for key in ("fpe", "fne", "ce") if figures[key] == figures[key]}, motifs="%d/%d" % (sum(own), len(own)),
                missed=" ".join(name for name, there in zip(family.motifs, own) if not there))


def boxes(line, family, test, marks, channels, extents, options):
    """Compares the extents of the motifs with the true boxes. Writes the extents to the folder of --boxes."""
    found, half = extents
    motif_of = score.motif_figures(score.confusion(test.places, marks, len(family.motifs), channels))["motif_of"]
    figures = score.box_figures(test.places, found, motif_of, half)
    line.update({key: value for key, value in figures.items() if value == value})
    if options.boxes:
        with open(os.path.join(options.boxes, "%s-%d.json" % (family.name, line["seed"])), "w", encoding="utf-8") as file:
            json.dump([{"sample": f[0], "position": f[1:3], "channel": f[3], "motif": motif_of.get(f[3], -1), "extent": f[4]} for f in found], file)


def compare_matrices(line, daemon, job, family):
    """Compares each true matrix with the most similar one of the model's channels, which the daemon aligns on its own test part."""
    path = "/v1/jobs/%s/channels?set=test&samples=1000" % job
    found = matrices.read(asked(daemon.ask("GET", path, None, None, {"Accept": "text/x-meme"})).decode().splitlines())
    close = [matrices.closest(true, found)[0][0] if found else -1 for true in family.matrices()]
    line.update(matrices="%d/%d" % (sum(value >= 0.9 for value in close), len(close)), least_correlation=round(min(close), 3))


def words_of(vary):
    usual = Vary()
    return " ".join("%s=%s" % (f.name, getattr(vary, f.name)) for f in dataclasses.fields(Vary) if getattr(vary, f.name) != getattr(usual, f.name))


def save(family, seed, options):
    """Writes the upload, the test part and the truth files, for other programs."""
    train_part, test, _ = data_of(family, seed, options)
    for name, part in (("train", train_part), ("test", test)):
        content, kind = upload(family, part)
        stem = os.path.join(options.save, "%s-%d-%s" % (family.name, seed, name))
        with open(stem + {"text/x-fasta": ".fa", "application/x-npz": ".npz", "application/x-tar": ".tar"}[kind], "wb") as file:
            file.write(content)
        with open(stem + "-truth.csv", "w", encoding="utf-8") as file:
            file.write(truth(family, part))


# ---- table ----


def cell(name, line):
    value = line.get(name)
    if value is None or value == "":
        return "-"
    if name.split("_")[-1] in ("fpe", "fne", "ce", "e2ee", "exact") or name in BOXES:
        return "%.1f" % (100 * value)
    return "%.0f" % value if isinstance(value, float) else str(value)


def show(line, head=False):
    """Prints one line: figures in percent, each followed by a stroke and that of the oracle."""
    pairs = ("fpe", "fne", "ce", "e2ee", "exact")
    titles = ["family", "size", "seed", "verdict", "motifs", *(p.upper() + " / oracle" for p in pairs), "position inside", "centre inside",
              "IoU of the window", "IoU of the extent", "samples", "s", "without a channel", "matrices", "smallest correlation"]
    if head:
        print("| " + " | ".join(titles) + " |\n|" + " --- |" * len(titles))
    family = " ".join(word for word in (line["family"], line["vary"]) if word)
    verdict = cell("verdict", line) if line.get("state") == "succeeded" else line.get("state", "-")
    cells = [family, cell("size", line), cell("seed", line), verdict, cell("motifs", line)]
    cells += ["%s / %s" % (cell(p, line), cell("oracle_" + p, line)) for p in pairs]
    print("| " + " | ".join(cells + [cell(name, line) for name in BOXES] + [cell("samples", line), cell("seconds", line), cell("missed", line), cell("matrices", line),
                                                                             str(line.get("least_correlation", "-"))]) + " |", flush=True)


def append(path, line):
    new = not os.path.exists(path) or os.path.getsize(path) == 0
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        if new:
            writer.writeheader()
        writer.writerow(line)


# ---- command line ----


def pair_of(text):
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError("%r is not FIELD=VALUE" % text)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def seeds_of(text):
    out = []
    for word in text.split(","):
        first, _, last = word.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def vary_of(text):
    kinds = {f.name: type(f.default) for f in dataclasses.fields(Vary)}
    fields = {}
    for word in text.split(","):
        name, _, value = word.partition("=")
        if name not in kinds:
            raise argparse.ArgumentTypeError("%r is none of %s" % (name, ", ".join(kinds)))
        fields[name] = kinds[name](value)
    if fields.get("values", "own") not in VALUES:
        raise argparse.ArgumentTypeError("values must be one of " + ", ".join(VALUES))
    return Vary(**fields)


def chosen(options):
    """Returns the families that the command names; ends with a message if one is unknown or must not be trained on yet."""
    half = zoo.halves()
    names = [name for word in options.families.split(",") for name in (word,) if name]
    names = [n for name in names for n in ([f for f in half if half[f] == name] if name in ("development", "report") else [name])]
    for name in names:
        if name not in zoo.FAMILIES:
            sys.exit("there is no family %r; --list names them" % name)
        if half[name] == "report" and not (options.report or options.save or options.oracle):
            sys.exit("%s belongs to the report half: train on it only when the recipe is final, with --report" % name)
        if options.matrices and getattr(zoo.FAMILIES[name], "letters", "") != "ACGT":
            sys.exit("%s has no matrices of bases: leave out --matrices" % name)
        if zoo.FAMILIES[name].needs_folder and not options.data:
            sys.exit("%s needs public data: give their folder with --data" % name)
    return [zoo.FAMILIES[name] for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", default="development", help="names, or `development` or `report`; separated by commas")
    parser.add_argument("--size", type=int, default=16000, help="samples to upload (1000, 4000, 16000)")
    parser.add_argument("--test", type=int, default=1000, help="samples of the test part")
    parser.add_argument("--seeds", type=seeds_of, default=[1], help="of data and training: 1-3 or 1,5")
    parser.add_argument("--data-seed", type=int, default=0, help="use the same data for all seeds")
    parser.add_argument("--vary", type=vary_of, default=Vary(), help="frequencies=, distractors=, wrong=, background=, values=")
    parser.add_argument("--build", default="build", help="folder with motifd")
    parser.add_argument("--preset", default="dataset")
    parser.add_argument("--set", action="append", default=[], type=pair_of, metavar="FIELD=VALUE")
    parser.add_argument("--data", default="", help="folder with public data sets, for the families that need one (README.md)")
    parser.add_argument("--out", help="table as CSV; lines are appended")
    parser.add_argument("--save", help="write the files to this folder and train nothing")
    parser.add_argument("--results", help="write the result of each job to this folder (calibrate.py reads them)")
    parser.add_argument("--boxes", help="write the extents of the motifs in the test part to this folder, for sheet.py --boxes")
    parser.add_argument("--matrices", action="store_true", help="compare the matrices of the channels with the true ones (DNA)")
    parser.add_argument("--oracle", action="store_true", help="compute the oracles' figures and train nothing")
    parser.add_argument("--report", action="store_true", help="allow the report half")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for name, half in zoo.halves().items():
            print("%-12s %-11s %-8s %s" % (name, half, zoo.FAMILIES[name].target, zoo.FAMILIES[name].__doc__.split("\n")[0]))
        return
    head = True
    for family in chosen(options):
        family.folder = options.data
        for seed in options.seeds:
            if options.save:
                save(family, seed, options)
                continue
            line = run(family, seed, options)
            show(line, head)
            head = False
            if options.out:
                append(options.out, line)


if __name__ == "__main__":
    main()
