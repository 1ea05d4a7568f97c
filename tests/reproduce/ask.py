#!/usr/bin/env python3
"""Measures trained models through a daemon's HTTP API alone.

    ask.py perturb JOB [--samples 500]      the perturbation experiment: moves the motifs of one symbol to another symbol's channel and
                                            counts how often the predicted label changes accordingly (the job's own evaluation does
                                            the same for the field perturb_samples)
    ask.py agree JOB JOB... [--least 0.95]  compares the motifs of each pair of jobs, channel by channel; fails below --least
    ask.py latency JOB [--requests 300]     p50, p99 and maximum time of a motif query for one input, while the jobs of the daemon run
    ask.py rate JOB [--batch 64]            inputs per second in batches, for motif maps as arrays and for labels

--url is the daemon's address. Each query uses the latest checkpoint of the job. Compare `rate` with
`motifd bench sparling-forward --threads 1`.
"""
import argparse
import array
import http.client
import itertools
import json
import os
import random
import struct
import sys
import time
import urllib.parse

BATCH = 32


class Daemon:
    """A client with one connection that stays open."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=600)
        token = os.environ.get("MOTIFD_TOKEN")
        self.headers = {"Authorization": "Bearer " + token} if token else {}

    def bytes(self, path, body=None, accept="application/json"):
        data, kind = (body, "application/x-npy") if isinstance(body, bytes) else (json.dumps(body), "application/json")
        self.connection.request("GET" if body is None else "POST", path, None if body is None else data,
                                {**self.headers, "Accept": accept, "Content-Type": kind})
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            sys.exit("%s: %d %s" % (path, answer.status, content.decode()[:400]))
        return content

    def ask(self, path, body=None):
        return json.loads(self.bytes(path, body))


# ---- the perturbation experiment ----


def meanings(confusion):
    """Returns the symbol that each channel marks most often, and the channel of each symbol.

    A symbol has a channel only if its channels mark more than 3/4 of its occurrences."""
    symbols, counts = confusion["symbols"][:-1], confusion["counts"]
    channels = len(counts[0]) - 1
    of_channel = {}
    for channel in range(channels):
        column = [counts[row][channel] for row in range(len(symbols))]
        if max(column) > 0:
            of_channel[channel] = symbols[column.index(max(column))]
    of_symbol = {}
    for row, symbol in enumerate(symbols):
        own = [channel for channel in of_channel if of_channel[channel] == symbol]
        if own and sum(counts[row][channel] for channel in own) > 0.75 * sum(counts[row]):
            of_symbol[symbol] = max(own, key=lambda channel: counts[row][channel])
    return of_channel, of_symbol


def turned(label, start, end):
    """Returns the label with `end` in place of `start`, rotated so that its smallest digit is first."""
    after = [end if symbol == start else symbol for symbol in label]
    least = after.index(min(after))
    return after[least:] + after[:least]


def draw(seed, label, of_symbol):
    """Chooses a symbol of the label, and a symbol that is not in the label to replace it. Returns None if there is no such pair."""
    choices = random.Random(seed)
    there = [symbol for symbol in label if symbol in of_symbol]
    others = [symbol for symbol in of_symbol if symbol not in label]
    return (choices.choice(there), choices.choice(others)) if there and others else None


def perturb(daemon, options):
    job = daemon.ask("/v1/jobs/%s" % options.job[0])
    of_channel, of_symbol = meanings(job["result"]["confusion"])
    tried = followed = seed = 0
    while tried < options.samples and seed < 4 * options.samples:
        seeds = range(seed, seed + BATCH)
        seed += BATCH
        answers = daemon.ask("/v1/jobs/%s/predict" % job["id"], {"inputs": [{"sample": {"seed": s}} for s in seeds]})["answers"]
        asked, wanted = [], []
        for number, answer in zip(seeds, answers):
            change = draw(number, answer["label"], of_symbol) if answer["prediction"] == answer["label"] else None
            if change:
                edits = [{"channel": channel, "to": {"channel": of_symbol[change[1]]}} for channel in of_channel if of_channel[channel] == change[0]]
                asked.append({"sample": {"seed": number}, "keep": "maximal", "edits": edits})
                wanted.append(turned(answer["label"], *change))
        if not asked:
            continue
        after = daemon.ask("/v1/jobs/%s/interventions" % job["id"], {"inputs": asked})["answers"]
        tried += len(asked)
        followed += sum(answer["after"]["prediction"] == label for answer, label in zip(after, wanted))
    if tried == 0:
        sys.exit("no sample that could be changed has a correct prediction")
    own = job["result"].get("perturbed")
    print("%d of %d predictions follow the change: %.1f %%" % (followed, tried, 100 * followed / tried), end="")
    print("" if own is None else "; the job's own evaluation: %.1f %%" % (100 * own))
    return 0


# ---- agreement ----


def agree(daemon, options):
    least = 1
    print("| job | with | agreement | least | each channel |\n| --- | --- | --- | --- | --- |")
    for one, two in itertools.combinations(options.job, 2):
        found = daemon.ask("/v1/jobs/%s/compare" % one, {"with": two, "samples": options.samples})
        each = " ".join("%.1f" % (100 * channel["agreement"]) for channel in found["channels"])
        print("| %s | %s | %.1f %% | %.1f %% | %s |" % (one, two, 100 * found["agreement"], 100 * found["least_agreement"], each))
        least = min(least, found["least_agreement"])
    return 0 if least >= options.least else 1


# ---- speed ----


def latency(daemon, options):
    path, took = "/v1/jobs/%s/motifs" % options.job[0], []
    for seed in range(options.requests + 5):
        began = time.perf_counter()
        daemon.bytes(path, {"inputs": [{"sample": {"seed": seed}}]})
        took.append(1e3 * (time.perf_counter() - began))
        time.sleep(options.pause)
    took = sorted(took[5:])  # the first queries load the model
    running = daemon.ask("/v1/jobs?state=running")["jobs"]
    print("%d requests while %d jobs run: p50 %.1f ms, p99 %.1f ms, at most %.1f ms"
          % (len(took), len(running), took[len(took) // 2], took[min(len(took) - 1, int(len(took) * 0.99))], took[-1]))
    return 0


def npy(values, shape):
    """Returns the bytes of an .npy file with these float32 values."""
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join("%d, " % side for side in shape)
    head = head.ljust((len(head) + 11 + 63) // 64 * 64 - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + array.array("f", values).tobytes()


def processor_seconds(daemon):
    for line in daemon.bytes("/metrics", accept="text/plain").decode().splitlines():
        if line.startswith("process_cpu_seconds_total "):
            return float(line.split()[1])
    sys.exit("/metrics has no process_cpu_seconds_total")


def rate(daemon, options):
    """Sends one array with all inputs, made before the clock starts. `motifs` returns whole maps, `predict` returns labels."""
    job = "/v1/jobs/%s/" % options.job[0]
    answers = daemon.ask(job + "motifs", {"inputs": [{"sample": {"seed": s}} for s in range(options.batch)]})["answers"]
    body = npy([value for answer in answers for value in answer["input"]["values"]], [options.batch] + answers[0]["input"]["shape"])
    clock = (lambda: processor_seconds(daemon)) if options.clock == "processor" else time.perf_counter
    for name, query, accept in (("maps", "motifs", "application/x-npy"), ("labels", "predict", "application/json")):
        took = []
        for _ in range(options.rounds + 1):
            began = clock()
            daemon.bytes(job + query + "?batch=1", body, accept)
            took.append(clock() - began)
        took = sorted(took[1:])
        print("%s: median %.0f inputs per second in batches of %d, best %.0f"
              % (name, options.batch / took[len(took) // 2], options.batch, options.batch / took[0]))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("perturb", "agree", "latency", "rate"))
    parser.add_argument("job", nargs="+")
    parser.add_argument("--url", default=os.environ.get("MOTIFD_SERVER", "http://127.0.0.1:8080"))
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--least", type=float, default=0.95)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between requests")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall",
                        help="processor: measure the daemon's processor time; the daemon must have no other work")
    options = parser.parse_args()
    return {"perturb": perturb, "agree": agree, "latency": latency, "rate": rate}[options.what](Daemon(options.url), options)


if __name__ == "__main__":
    sys.exit(main())
