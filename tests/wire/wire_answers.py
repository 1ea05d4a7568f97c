#!/usr/bin/env python3
"""Runs every command of motifctl against a daemon and records the answers. Then runs the commands against the recorded answers: unchanged, changed
(a missing member, a member of another type, no JSON, an incomplete body, a refusal), and with one failing allocation or system call. motifctl must exit
with one of its exit codes, print an error unless that is 0, and never exit with 0 and a different output when memory failed.

usage: wire_answers.py MOTIFD MOTIFCTL MOTIFCTL_FAULTS     MOTIF_FAULT_STRIDE=1 tries every fault; the default is a sample"""
import concurrent.futures
import copy
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import shutil

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness")]
from daemon import TINY, Daemon  # noqa: E402
from played import Forward, Replay, Server  # noqa: E402

MOTIFD, MOTIFCTL, FAULTS = (os.path.abspath(path) for path in sys.argv[1:4])
STRIDE = int(os.environ.get("MOTIF_FAULT_STRIDE", "0"))  # 0: a sample
CHANGED = 2 if STRIDE == 0 else 240 // STRIDE
FOLLOW = (["watch"], ["evaluate"])
ODD = (None, "", "no such \u00e4", -1, 0, 1e308, 0.5, True, [], {}, [[]], [{}], "2026-11-22T21:00:00Z")
SUMS = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":exitcode=99", "UBSAN_OPTIONS": "print_stacktrace=1:" + os.environ.get("UBSAN_OPTIONS", ""),
        "OPENBLAS_NUM_THREADS": "1"}
PROBLEM = "application/problem+json"

# (name, words, exit code, text in the output); @ is the job, @2 another job
COMMANDS = (
    ("kinds", "kinds", 0, "digitcircle-quick"), ("kind", "kinds sparling --all", 0, "density_start"), ("kind-md", "kinds factors --markdown", 0, "| --- |"),
    ("kinds-json", "kinds --json", 0, '"kinds"'), ("system", "system", 0, "blas_core"), ("health", "health", 0, "ready"),
    ("list", "list", 0, "digitcircle-quick"), ("list-json", "list --state succeeded --kind sparling --limit 1 --json", 0, '"jobs"'), ("no-such", "show none", 2, ""),
    ("show", "show @ --config --confusion", 0, "weights_sha256"), ("show-json", "show @ --json", 0, '"result"'), ("latest", "show latest", 0, ""),
    ("watch", "watch @", 0, "succeeded"), ("metrics", "metrics @", 0, "validation_loss"), ("csv", "metrics @ --name accuracy,density --csv", 0, "accuracy,"),
    ("metrics-json", "metrics @ --since 2 --max-points 5 --json", 0, '"series"'), ("plot", "plot @ validation_loss,density --height 8", 0, "┤"),
    ("plot-log", "plot @ density --log --since 1", 0, ""), ("png", "plot @ validation_loss,density --log --png curve.png", 0, ""),
    ("one-png", "plot @ density --png one.png", 0, ""), ("plot-json", "plot @ loss --json", 0, '"series"'),
    ("motifs", "motifs @ --seed 3", 0, "prediction"), ("motifs-json", "motifs @ --count 2 --png some.png --json", 0, '"answers"'),
    ("motifs-file", "motifs @ --input in.npy --png in.png", 0, "prediction"), ("motifs-output", "motifs @ --input in.npy --output map.npy", 0, "map.npy"),
    ("motifs-batch", "motifs @ --input in.npy --batch", 2, ""), ("motifs-what", "motifs @ --input in.gif", 2, ""),
    ("predict", "predict @ --input in.npy", 0, "prediction"), ("predict-output", "predict @ --input in.npy --output label.npy", 0, "label.npy"),
    ("predict-json", "predict @ --input in.npy --json", 0, '"warnings"'), ("predict-none", "predict @", 2, ""),
    ("channels", "channels @ --samples 8", 0, ""), ("channel", "channels @ 1 --samples 8 --top 3", 0, ""),
    ("channels-png", "channels @ 1 --samples 8 --png crops.png", 0, ""),
    ("intervene", "intervene @ 1=delete 0=2 --seed 1 --maximal", 0, ""), ("intervene-json", "intervene @ 1=delete --json", 0, '"answers"'),
    ("compare", "compare @ @2 --samples 8", 0, ""), ("compare-json", "compare @ @2 --samples 8 --json", 0, "{"),
    ("evaluate-new", "evaluate @ --samples 4 --seed 5", 0, "confusion matrix"), 
    ("evaluate", "evaluate @ --last", 0, "confusion matrix"), ("evaluate-json", "evaluate @ --last --json", 0, '"samples"'),
    ("evaluate-bare", "evaluate @ --last --no-confusion", 0, ""),
    ("checkpoints", "checkpoints @", 0, "SEQ"), ("checkpoints-json", "checkpoints @ --json", 0, '"seq"'),
    ("export", "export @ w.safetensors", 0, "w.safetensors"), ("export-onnx", "export @ w.onnx --onnx", 0, "w.onnx"),
    ("export-all", "export @ b.bundle --bundle --checkpoint all", 0, "b.bundle"), ("export-json", "export @ j.safetensors --checkpoint latest --json", 0, "{"),
    ("import", "import weights --name copied", 0, "copied"), ("import-json", "import weights --json", 0, '"id"'),
    ("attestation", "attestation @", 0, "chain "), ("attestation-json", "attestation @ --json", 0, '"chain"'),
    ("artifacts", "artifacts @", 0, "motifs.png"), ("artifacts-json", "artifacts @ --json", 0, '"artifacts"'),
    ("artifact", "artifacts @ motifs.png --output four.png", 0, "four.png"),
    ("submit-dry", "submit --preset digitcircle-quick --dry-run", 0, "nothing was stored"),
    ("submit", "submit --config job.json --name made --priority -3 --threads 1 --key once", 0, "submitted made as"),
    ("submit-from", "submit --preset digitcircle-quick --from @:latest --set seed=4 --dry-run --json", 0, '"config"'),
    ("submit-text", "submit --kind pathways --preset noise --set nonzeros=500 --dry-run --json", 0, '"nonzeros":"500"'),
    ("pause", "pause @", 1, ""), ("cancel", "cancel @ @2 --json", 1, ""),
    ("datasets-none", "datasets", 0, "NAME"), ("datasets-put", "datasets put digits set.npy --format npy", 2, ""),
    ("datasets-csv", "datasets put rows set.csv --label last --group group", 0, "rows"), ("datasets", "datasets list", 0, "rows"),
    ("datasets-show", "datasets show rows", 0, "sha256"), ("datasets-json", "datasets show rows --json", 0, '"rows"'),
    ("datasets-preview", "datasets preview rows --output rows.png", 0, ""), ("datasets-delete", "datasets delete rows", 0, ""),
    ("datasets-what", "datasets drop rows", 2, ""),
    ("yaml", "show @ -o yaml", 0, '"succeeded"'), ("get", "get @ result.by_density.0.fpe", 0, ""), ("get-none", "get @ result.none", 2, ""), ("logs", "logs @", 0, "succeeded"),
    ("logs-json", "logs @ --json", 0, '"succeeded"'),
    ("sites", "sites @3 --samples 8", 0, ""),
    ("sites-gff", "sites @3 --samples 8 --output s.gff", 0, "s.gff"), ("sites-json", "sites @3 --samples 4 --format json", 0, '"sites"'),
    ("sites-file", "sites @3 --input seq.fa --format narrowpeak", 0, ""), ("sites-what", "sites @3 --input in.npy", 2, ""), ("sites-none", "sites @ --samples 8", 1, ""),
    ("sites-format", "sites @3 --format what", 2, ""), ("signal", "signal @3 --samples 4 --channel 1", 0, ""), ("logos", "logos @3 --samples 40 --output l.svg", 0, "l.svg"),
    ("logos-what", "logos @3 --samples 4 --output l.pdf", 2, ""), ("sites-ending", "sites @3 --samples 4 --output s.xls", 2, ""),
    ("logo", "logos @3 0 --samples 40 --output one.png", 0, "one.png"), ("pairs", "pairs @3", 0, "FIRST"), ("pairs-json", "pairs @3 --json", 0, '"pairs"'),
    ("rules", "rules @3 --samples 8", 0, ""), ("letters", "motifs @3 --seed 1", 0, "prediction"), ("letters-file", "motifs @3 --input seq.fa", 0, "prediction"),
    ("records", "predict @3 --input seq.fa", 0, ""), ("matrices", "channels @3 --samples 40 --output c.meme", 0, "c.meme"), ("matrix", "channels @3 0 --samples 40", 0, "channel 0"),
    ("matrices-what", "channels @3 --samples 4 --output c.doc", 2, ""),
    ("help", "help export", 0, "usage"),
)


class Ran:
    def __init__(self, command, words, server, folder, **environment):
        process = subprocess.Popen([command, *words], cwd=folder, env={**os.environ, **SUMS, "MOTIFD_SERVER": server, **environment},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(timeout=20 if words[:1] in FOLLOW else 120)
        except subprocess.TimeoutExpired:  # the answers say that the job runs, so the command waits forever
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        self.code, self.out, self.err = process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
        self.interrupted = words[:1] in FOLLOW and self.code == 130
        self.summary = f"exit code {self.code}\n{self.out[-1500:]}\n{self.err[-3000:]}"


def nodes(document, path=()):
    """Yields the path to every member; in a list only to the first two items."""
    yield path
    if isinstance(document, dict):
        for name, value in document.items():
            yield from nodes(value, (*path, name))
    elif isinstance(document, list):
        for at, value in enumerate(document[:2]):
            yield from nodes(value, (*path, at))


def changed(document, dice):
    """Returns a copy with up to three members changed or removed."""
    document = copy.deepcopy(document)
    for _ in range(dice.choice((1, 1, 2, 3))):
        path = dice.choice(list(nodes(document)))
        if not path:
            return dice.choice(ODD) if dice.random() < 0.5 else document
        at = document
        for part in path[:-1]:
            at = at[part]
        if dice.random() < 0.4 and isinstance(at, dict):
            del at[path[-1]]
        else:
            at[path[-1]] = copy.deepcopy(dice.choice(ODD))
    return document


def refusals(answer):
    """Yields answers that replace a recorded one."""
    for status in (400, 401, 404, 409, 412, 416, 422, 429, 500, 503):
        for body in (b"", b'{"title":"refused"}', b'{"detail":"why","errors":[{"pointer":"/a","detail":"b"},{"parameter":"c"},{}]}'):
            yield answer.but(status=status, body=body, headers={"Content-Type": PROBLEM, "Retry-After": "0"})
    yield answer.but(status=304, body=b"")
    yield answer.but(status=302, body=b"", headers={"Location": "/"})
    yield from (answer.but(body=body) for body in (b"", b"{", b"null", b"[]", b"{}", b"7", b'"text"', b"\xff\xfe", b"[" * 2000))
    yield from (answer.but(cut=cut) for cut in (0, 1, len(answer.body) // 2, len(answer.body) - 1) if 0 <= cut < len(answer.body))


def variants(tape, dice):
    """Yields copies of the recorded answers, each with one answer replaced."""
    for at, answer in enumerate(tape):
        odd = list(refusals(answer))
        for other in odd if STRIDE else dice.sample(odd, 2):
            yield [*tape[:at], other, *tape[at + 1:]]
        document = answer.document()
        for _ in range(CHANGED if document is not None else 0):
            yield [*tape[:at], answer.but(body=json.dumps(changed(document, dice)).encode()), *tape[at + 1:]]


def masked(text):
    return re.sub(r"[0-9.:]+( s)? ago|[0-9]+(\.[0-9]+)?", "0", text)


class Test:
    def __init__(self, folder):
        self.server, self.folder = Server(), folder
        self.wrong = []

    def place(self):
        """Makes a folder with the files that the commands read."""
        place = tempfile.mkdtemp(dir=self.folder)
        for name in os.listdir(os.path.join(self.folder, "files")):
            os.link(os.path.join(self.folder, "files", name), os.path.join(place, name))
        return place

    def run(self, command, words, player, **environment):
        place = self.place()
        try:
            return Ran(command, words, self.server.play(player), place, **environment)
        finally:
            shutil.rmtree(place)

    def good(self, ran, what):
        right = (ran.code in (0, 1, 2, 3) or ran.interrupted) and "runtime error" not in ran.err and "Sanitizer" not in ran.err
        if not right or not (ran.code in (0, 130) or "error:" in ran.err or ran.out):
            self.wrong.append(f"{what}: {ran.summary}")

    def odd_answers(self, name, words, tape, dice):
        def one(variant):
            self.good(self.run(MOTIFCTL, words, Replay(variant)), f"{name} with another answer: {[(s.method, s.path, s.status, s.cut, s.body[:400]) for s in variant]}")
        return sum(1 for _ in map(one, variants(tape, dice)))

    def fault(self, name, words, tape, wanted, fault):
        """Runs a command with one fault. Returns None if the fault happened, otherwise how many more operations it would have needed."""
        place, player = self.place(), Replay(tape)
        try:
            report = os.path.join(place, "fault-report")
            ran = Ran(FAULTS, words, self.server.play(player), place, MOTIF_FAULT=fault, MOTIF_FAULT_REPORT=report,
                      ASAN_OPTIONS=SUMS["ASAN_OPTIONS"] + ":detect_leaks=0")  # leaks do not matter, because the process ends
            what = f"{name} with {fault}"
            with open(report) as file:
                outcome = file.read().split()
            if outcome == ["yes", "fwrite"]:  # after this fault the stream continues without an error, unlike on a full disk (full_disk tests that)
                return None
            self.good(ran, what)
            if ran.code == 0 and masked(ran.out) != masked(wanted.out):
                self.wrong.append(f"{what}: the output differs: {ran.summary}")
            if player.others:
                self.wrong.append(f"{what}: requests that were not recorded: {player.others}")
            return None if outcome[0] == "yes" else int(outcome[1])
        finally:
            shutil.rmtree(place)

    def full_disk(self, name, words, tape, wanted):
        place = self.place()
        with open("/dev/full", "wb") as full:
            got = subprocess.run([MOTIFCTL, *words], cwd=place, env={**os.environ, **SUMS, "MOTIFD_SERVER": self.server.play(Replay(tape))}, stdout=full,
                                 stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120, text=True)
        shutil.rmtree(place)
        if got.returncode != (wanted.code or (1 if wanted.out else 0)) or "error:" not in got.stderr and wanted.out:
            self.wrong.append(f"{name} on a full disk: {got.returncode} {got.stderr}")

    def faults(self, name, words, tape, wanted, dice):
        total = 0
        for kind, few in (("memory", 3), ("call", 1)):
            many = 1 << 30
            took = many - self.fault(name, words, tape, wanted, f"{kind}:{many}")
            places = range(dice.randrange(STRIDE), took, STRIDE) if STRIDE else dice.sample(range(took), min(few, took))
            total += sum(left is None for left in map(lambda at: self.fault(name, words, tape, wanted, f"{kind}:{at}"), places))
        self.fault(name, words, tape, wanted, "memory-on:" + str(dice.randrange(20)))
        return total


def command_lines():
    """Command lines that motifctl answers without sending a request."""
    for line, code, out, err in (("", 2, "", "usage: motifctl COMMAND"), ("--help", 0, "usage: motifctl COMMAND", ""), ("-h", 0, "usage: motifctl COMMAND", ""),
                                 ("help", 0, "usage: motifctl COMMAND", ""), ("help plot", 0, "usage: motifctl plot", ""), ("plot --help", 0, "most used:", ""),
                                 ("--version", 0, "motifctl ", ""), ("--json", 2, "", "usage: motifctl COMMAND"), ("-x", 2, "", "usage: motifctl COMMAND"),
                                 ("wach", 2, "", "unknown command wach; did you mean watch?"), ("help wach", 2, "", "did you mean watch?"),
                                 ("conquer", 2, "", "unknown command conquer\n"), ("plot", 2, "", "usage: motifctl plot"), ("system more", 2, "", "usage: motifctl system"),
                                 ("list --limt 3", 2, "", "did you mean --limit?"), ("list --limit=0", 2, "", "--limit must be an integer"),
                                 ("--server ftp://x health", 2, "", "http"), ("--server= --token=t health", 3, "", "127.0.0.1:1"),
                                 ("--token t --server http://127.0.0.1:1/// health", 3, "", "is the daemon running?"),
                                 ("metrics x --since -1", 2, "", "--since"), ("plot x --height 5", 2, "", "--height"), ("motifs x --count 0", 2, "", "--count"),
                                 ("watch x --interval 1", 2, "", "--interval"), ("show " + "x" * 130, 2, "", "a job is an id"),
                                 ("submit --config /no/such", 2, "", "/no/such"), ("submit --set a", 2, "", ""), ("submit --threads many", 2, "", "--threads"),
                                 ("import /no/such", 2, "", "/no/such"), ("datasets put name /dev/null", 2, "", "--format"), ("datasets put name file.npz", 2, "", "cannot be read"),
                                 ("intervene x --seed 1e9 1=delete", 2, "", "--seed"), ("verify /no/such/bundle", 2, "", "")):
        ran = Ran(MOTIFCTL, line.split(), "http://127.0.0.1:1", "/")
        assert ran.code == code and out in ran.out and err in ran.err, f"{line}: {ran.summary}"


def train(daemon, **changes):
    return wait(daemon, daemon.submit(**changes))


def wait(daemon, job):
    for _ in range(1200):
        state = daemon.ask("GET", f"/v1/jobs/{job}")[2]["state"]
        if state not in ("queued", "running"):
            assert state == "succeeded", state
            return job
        time.sleep(0.05)
    raise AssertionError("the job does not end")


def sequence(seed):
    return "".join(random.Random(seed).choices("ACGT", k=60))


def train_on_sequences(daemon):
    """80 samples teach nothing, but every channel marks something."""
    text = "".join(f">r{i} {'ab'[i % 2]}\n{sequence(100 + i)}\n" for i in range(40))
    status, _, made = daemon.ask("PUT", "/v1/datasets/sequences?format=fasta", text.encode(), "application/octet-stream")
    assert status == 201, made
    config = {"width": 8, "units": 2, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "batch": 4, "validation_every": 40, "validation_samples": 8,
              "test_samples": 8, "motif_samples": 8, "stage_samples": 0, "checkpoint_every": 40, "total_samples": 80, "presence_weight": 0, "centre_motifs": False,
              "density_start": 0.3, "density_final": 0.3, "dataset_fit": False, "motifs": 3, "lstm": False, "dataset_name": "sequences"}
    status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": config})
    assert status == 201, job
    return wait(daemon, job["id"])


def prepare(folder, daemon, job):
    files = os.path.join(folder, "files")
    os.mkdir(files)
    with open(os.path.join(files, "job.json"), "w") as file:
        json.dump({"kind": "sparling", "preset": "digitcircle-quick", "name": "first", "config": {**TINY, "total_samples": 4}}, file)
    with open(os.path.join(files, "in.npy"), "wb") as file:  # 32 x 32 bytes, as large as an input of TINY
        head = b"{'descr': '|b1', 'fortran_order': False, 'shape': (32, 32), }"
        file.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + head.ljust(117) + b"\n" + bytes(i % 7 == 0 for i in range(1024)))
    with open(os.path.join(files, "set.npy"), "w") as file:
        file.write("not one")
    with open(os.path.join(files, "set.csv"), "w") as file:
        file.write("a,b,last,group\n" + "".join(f"{i},{i * i % 7},{'xy'[i % 2]},{i // 4}\n" for i in range(40)))
    with open(os.path.join(files, "seq.fa"), "w") as file:
        file.write("".join(f">s{i}\n{sequence(i)}\n" for i in range(3)))
    with open(os.path.join(files, "weights"), "wb") as file:
        file.write(daemon.ask("GET", f"/v1/jobs/{job}/checkpoints/latest")[2])


def main():
    only = sys.argv[4:]
    command_lines()
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(MOTIFD, os.path.join(folder, "db"), "--data", os.path.join(folder, "sets")) as daemon:
            job, other, third = train(daemon), train(daemon, seed=2), train_on_sequences(daemon)
            prepare(folder, daemon, job)
            test, tapes = Test(folder), []
            for name, line, code, says in COMMANDS:
                if only and name not in only:
                    continue
                words = line.replace("@2", other).replace("@3", third).replace("@", job)
                player = Forward(daemon.url)
                ran = test.run(MOTIFCTL, words.split(), player)
                assert ran.code == code and says in ran.out, f"{name}: {line}: {ran.summary}"
                tapes.append((name, words.split(), player.tape, ran))
            print(f"ok {len(tapes)} commands", flush=True)

        def one(taped):
            name, words, tape, ran = taped
            begun, dice = time.monotonic(), random.Random(name)
            again = test.run(MOTIFCTL, words, Replay(tape))
            assert again.code == ran.code and masked(again.out) == masked(ran.out), f"{name} again: {again.summary}"
            test.full_disk(name, words, tape, ran)
            counts = test.odd_answers(name, words, tape, dice), test.faults(name, words, tape, again, dice)
            print(f"ok {name}: {counts[0]} odd answers, {counts[1]} faults, {time.monotonic() - begun:.1f} s", flush=True)
            return counts
        with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
            odd, failed = (sum(column) for column in zip(*pool.map(one, tapes)))
        for what in test.wrong[:40]:
            print(f"not ok {what}")
        assert not test.wrong, f"{len(test.wrong)} wrong"
        print(f"ok {odd} odd answers, {failed} faults")


if __name__ == "__main__":
    main()
