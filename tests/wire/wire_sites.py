#!/usr/bin/env python3
"""Sites and signals of a DNA model as files: BED, narrowPeak, GFF3, bedGraph and bigWig, of the job's data set and of long sequences.

    wire_sites.py MOTIFD MOTIFCTL
"""
import gzip
import io
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import wave
import xml.dom.minidom
import zlib

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon, run_checks  # noqa: E402
import safetensors_file  # noqa: E402

COLS = 60
FASTA = "text/x-fasta"
TINY = {"width": 8, "units": 2, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "batch": 4, "validation_every": 40,
        "validation_samples": 8, "test_samples": 8, "motif_samples": 8, "stage_samples": 0, "checkpoint_every": 40, "total_samples": 80,
        "presence_weight": 0, "density_start": 0.3, "density_final": 0.3, "dataset_fit": False, "motifs": 3, "lstm": False}


def bases(count, seed):
    return "".join(random.Random(seed).choices("ACGT", k=count))


def reverse(text):
    return text[::-1].translate(str.maketrans("ACGT", "TGCA"))


def sound(samples):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return out.getvalue()


class Site:
    def __init__(self, program, motifctl, folder):
        self.daemon, self.motifctl, self.folder = Daemon(program, os.path.join(folder, "a.db"), "--data", os.path.join(folder, "data")), motifctl, folder

    def get(self, path, accept="application/json"):
        status, headers, body = self.daemon.ask("GET", f"/v1/jobs/{self.job}/{path}", headers={"Accept": accept})
        assert status == 200, (path, body)
        return body.decode() if isinstance(body, bytes) and accept.startswith("text") else body

    def post(self, path, text, accept="application/json", status=200):
        answer = self.daemon.ask("POST", f"/v1/jobs/{self.job}/{path}", text.encode(), FASTA, headers={"Accept": accept})
        assert answer[0] == status, (path, answer)
        return answer[2].decode() if isinstance(answer[2], bytes) and accept.startswith("text") else answer[2]

    def a_short_training_marks_sites(self):
        """After 80 samples the model has learned nothing, but every channel has motifs."""
        self.records = {f"chr{1 + i % 2}:{1000 * i}-{1000 * i + COLS}({'+-'[i % 3 == 0]})": bases(COLS, i) for i in range(60)}
        text = "".join(f">{name} {'ab'[i % 2]}\n{seq}\n" for i, (name, seq) in enumerate(self.records.items()))
        status, _, made = self.daemon.ask("PUT", "/v1/datasets/regions?format=fasta", text.encode(), "application/octet-stream")
        assert status == 201, made
        self.job = self.train("regions")

    def train(self, dataset, **config):
        status, _, job = self.daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": dataset, **TINY, **config}})
        assert status == 201, job
        while self.daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]["state"] in ("queued", "running"):
            pass
        assert self.daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]["state"] == "succeeded"
        return job["id"]

    def signals_have_no_letters(self):
        """A model of signals with one channel has channel statistics, but no letters, matrices and sites."""
        values = np.random.default_rng(4).random((40, 1, COLS)).astype(np.float32)
        file = io.BytesIO()
        np.savez(file, x=values, y=np.arange(40) % 2)
        status, _, made = self.daemon.ask("PUT", "/v1/datasets/signals?format=npz", file.getvalue(), "application/octet-stream")
        assert status == 201 and made["kind"] == "sequences", made
        sequences, self.job = self.job, self.train("signals")
        shown = self.get("channels")
        assert shown["alphabet"] is None and all(use["matrix"] is None for use in shown["channels"]), shown
        status, _, found = self.daemon.ask("POST", f"/v1/jobs/{self.job}/motifs", {"inputs": [{"sample": {"seed": 1}}]})
        assert status == 200 and found["answers"][0]["letters"] is None and found["answers"][0]["input"]["axis"] == {"unit": "", "length": COLS}
        for query in ("sites", "logos"):
            assert self.daemon.ask("GET", f"/v1/jobs/{self.job}/{query}")[0] in (406, 409), query
        self.job = sequences
        assert self.get("channels")["alphabet"]["symbols"] == list("ACGT")

    def rules_of_recordings_end_with_the_map(self):
        """Recordings of 4000 samples have few frames, so large distances do not fit."""
        tar, rng, names = io.BytesIO(), np.random.default_rng(6), [f"s{i}.wav" for i in range(60)]
        with tarfile.open(fileobj=tar, mode="w") as file:
            for i, name in enumerate(["labels.csv", *names]):
                data = ("file,label\n" + "".join(f"{n},{'ab'[j % 2]}\n" for j, n in enumerate(names))).encode() if i == 0 else sound(rng.uniform(-0.9, 0.9, 4000 - 30 * i))
                member = tarfile.TarInfo(name)
                member.size = len(data)
                file.addfile(member, io.BytesIO(data))
        status, _, made = self.daemon.ask("PUT", "/v1/datasets/sounds?format=tar", tar.getvalue(), "application/octet-stream")
        assert status == 201 and made["kind"] == "recordings", made
        sequences, self.job = self.job, self.train("sounds")
        frames = self.post_sample()["shape"][-2]
        answer = self.get("rules?samples=8&channel=0&other=1")
        assert answer["tried"] == 1 and answer["unit"] == "positions", answer
        gaps = len(answer["pairs"][0]["names"][0]["first_before_second"])
        assert answer["gaps"][gaps - 1] < frames < 240, (frames, gaps)
        self.job = sequences

    def post_sample(self):
        status, _, found = self.daemon.ask("POST", f"/v1/jobs/{self.job}/motifs", {"inputs": [{"sample": {"seed": 1}}]})
        assert status == 200, found
        return found["answers"][0]

    def sites_have_the_names_of_records(self):
        found = self.get("sites")["sites"]
        assert len(found) > 20 and {site["record"] for site in found} <= set(self.records), (len(found), found[:3])
        assert all(0 <= site["start"] < site["end"] <= COLS and 0 <= site["score"] <= 1000 and site["value"] > 0 for site in found)
        bed = [line.split("\t") for line in self.get("sites", "text/x-bed").splitlines()]
        assert [[s["record"], str(s["start"]), str(s["end"]), s["name"], str(s["score"]), s["strand"]] for s in found] == bed
        peaks = [line.split("\t") for line in self.get("sites", "text/x-narrowpeak").splitlines()]
        assert [row[:6] for row in peaks] == bed and all(len(row) == 10 and row[7:9] == ["-1", "-1"] for row in peaks)
        assert all(s["p"] is None and "q" not in s for s in found), "channels without names have no error rate"
        assert all(-1 <= int(row[9]) < int(row[2]) - int(row[1]) for row in peaks)
        lines = self.get("sites", "text/x-gff3").splitlines()
        assert lines[0] == "##gff-version 3"
        gff = [line.split("\t") for line in lines[1:]]
        assert [[row[0], str(int(row[3]) - 1), row[4], row[6]] for row in gff] == [[row[0], row[1], row[2], row[5]] for row in bed]
        few = self.get("sites?set=test&samples=2&channel=1")["sites"]
        assert all(site["channel"] == 1 for site in few) and len({site["record"] for site in few}) <= 2

    def coordinates_are_those_of_the_genome(self):
        plain, there = self.get("sites")["sites"], self.get("sites?coordinates=bedtools")["sites"]
        assert len(plain) == len(there)
        for site in plain:
            name, span = site["record"].split(":")
            begin, end = (int(part) for part in span.split("(")[0].split("-"))
            minus = span.endswith("(-)")
            first = end - site["end"] if minus else begin + site["start"]
            strand = site["strand"] if not minus else {"+": "-", "-": "+", ".": "."}[site["strand"]]
            wanted = (name, first, first + site["end"] - site["start"], strand, site["channel"])
            assert any((s["record"], s["start"], s["end"], s["strand"], s["channel"]) == wanted for s in there), (site, wanted)

    def posted_sequences_have_the_same_sites(self):
        text = "".join(f">{name} any label\n{seq[:37]}\n{seq[37:]}\n" for name, seq in self.records.items())
        assert self.post("sites", text)["sites"] == self.get("sites")["sites"]
        assert self.post("sites?coordinates=ucsc&channel=2", text, "text/x-bed") == self.get("sites?coordinates=ucsc&channel=2", "text/x-bed")

    def windows_do_not_change_long_sequences(self):
        """Away from its ends, a sequence has the same signal when bases before it are cut off, and as a short piece of its own."""
        long = bases(9000, 77)
        whole = self.values(self.post("signal?channel=0", f">s\n{long}\n", "text/x-bedgraph"))
        for shift in (1, 137, 2048, 4000):
            part = self.values(self.post("signal?channel=0", f">s\n{long[shift:]}\n", "text/x-bedgraph"))
            there = {place - shift: value for place, value in whole.items() if place >= shift + 50}
            assert set(there) == {place for place in part if place >= 50}, shift
            assert all(abs(part[place] - value) < 1e-3 * (1 + value) for place, value in there.items())
        piece = self.values(self.post("signal?channel=0", f">s\n{long[3000:3000 + COLS]}\n", "text/x-bedgraph"))
        middle = {place: value for place, value in whole.items() if 3020 <= place < 3000 + COLS - 20}
        other = {3000 + place: value for place, value in piece.items() if 20 <= place < COLS - 20}
        missing = {place: (middle.get(place), other.get(place)) for place in set(middle) ^ set(other)}
        assert all((one or two) < 1e-3 for one, two in missing.values()), missing
        assert all(abs(value - other[place]) < 1e-3 * (1 + value) for place, value in middle.items() if place in other)
        sites = self.post("sites", f">s\n{long}\n")["sites"]
        assert [s["start"] for s in sites] == sorted(s["start"] for s in sites) and sites[-1]["end"] <= 9000
        again = self.post("sites", f">s\n{long[:4500]}\n>t\n{long[4500:]}\n")["sites"]
        assert {s["record"] for s in again} == {"s", "t"} and abs(len(again) - len(sites)) < 12

    @staticmethod
    def values(text):
        found, last = {}, -1
        for line in text.splitlines():
            _, start, end, value = line.split("\t")
            assert int(start) >= last and float(value) > 0
            last = int(end)
            found.update({place: float(value) for place in range(int(start), last)})
        return found

    def pairs_follow_from_the_sites(self):
        answer = self.get("pairs")
        of = {}
        for site in self.get("sites")["sites"]:
            of.setdefault(site["record"], []).append(site)
        assert answer["records"] == len(self.records)
        with_both = {}
        for a in range(3):
            for b in range(a + 1, 3):
                pairs = [[(max(t["start"] - s["end"], s["start"] - t["end"]), s, t) for s in sites for t in sites if (s["channel"], t["channel"]) == (a, b)]
                         for sites in of.values()]
                closest = [min((gap for gap in record if gap[0] >= 0), key=lambda gap: gap[0], default=None) for record in pairs]
                with_both[a, b] = sum(1 for record in pairs if record), [one for one in closest if one]
        listed = {(pair["first"]["channel"], pair["second"]["channel"]): pair for pair in answer["pairs"]}
        assert set(listed) == {pair for pair, (records, _) in with_both.items() if records >= 5} and listed, (listed, with_both)
        for pair, row in listed.items():
            records, closest = with_both[pair]
            assert row["records"] == records and 0 <= row["p"] <= 1
            assert all(0 <= row[name][part] <= 1 for name in ("near", "first_before_second", "same_strand") for part in ("share", "expected", "p"))
            if closest:
                assert abs(row["near"]["share"] - sum(gap <= 30 for gap, _, _ in closest) / len(closest)) < 1e-9
                assert abs(row["first_before_second"]["share"] - sum(s["start"] < t["start"] for _, s, t in closest) / len(closest)) < 0.2

    def rules_compare_arrangements(self):
        answer = self.get("rules?samples=8&channel=0&other=2")
        assert answer["samples"] == 8 and answer["unit"] == "bases" and answer["gaps"] == [0, 10, 30, 60, 120, 240] and answer["tried"] == 1, answer
        pair = answer["pairs"][0]
        assert (pair["first"]["channel"], pair["second"]["channel"]) == (0, 2) and [name["name"] for name in pair["names"]] == ["a", "b"]
        for name in pair["names"]:
            both = name["first_before_second"] + name["second_before_first"]
            assert len(name["first_before_second"]) == len(name["second_before_first"]) >= 2 and all(0 < share["trials"] <= 8 for share in both), name
            assert all(0 <= share["samples"] <= answer["searched"] and share["seen"] == (share["samples"] >= answer["support"]) for share in both), name
            assert name["rule"] is None or (name["samples"] >= answer["support"] and name["labels"]), name
            assert name["labels"] is None or set(name["labels"]) == {"more", "less"}, name
            assert all(share["low"] <= share["share"] <= share["high"] for share in both + [name["neither"], name["first_alone"], name["second_alone"]])
            effects = [name[effect] for effect in ("order", "distance", "strand") if name[effect]]
            assert name["order"] and all(-1 <= e["low"] <= e["difference"] + 1e-9 and e["difference"] <= e["high"] + 1e-9 and 0 <= e["p"] <= 1 for e in effects), name
            order = [one["share"] - other["share"] for one, other in zip(name["first_before_second"], name["second_before_first"])]
            assert any(share["trials"] < 8 for share in both) or abs(name["order"]["difference"] - sum(order) / len(order)) < 1e-9
        assert self.get("rules?samples=8&channel=0&other=2") == answer
        assert (answer["searched"], answer["support"], answer["left_out"]) == (60, 22, []), answer
        for query, pairs in (("channel=1", 2), ("", 3)):
            every = self.get(f"rules?samples=8&support=1&{query}")
            assert every["tried"] == pairs and every["unseen"] == 0 and every["support"] == 1, every
        rare = self.get("rules?samples=8&support=61")  # no arrangement is in 61 of 60 samples
        assert (rare["tried"], rare["unseen"], rare["pairs"]) == (0, 3, []), rare
        none = self.get("rules?samples=1")  # no motif is in five samples, so there are no pairs to search for
        assert (none["samples"], none["searched"], none["tried"], none["pairs"]) == (1, 0, 0, []), none
        some = self.get("rules?samples=8&support=1&trials=23")  # room for two of three pairs
        assert (some["tried"], some["unseen"], len(some["left_out"])) == (2, 0, 1), some
        left = {some["left_out"][0][end]["channel"] for end in ("first", "second")}
        assert left < {0, 1, 2} and self.get("rules?samples=8&support=1&trials=24")["left_out"] == [], some
        asked = self.get(f"rules?samples=8&trials=1&channel={min(left)}&other={max(left)}")
        assert asked["tried"] == 1 and asked["left_out"] == [], asked
        self.arrangements_are_those_of_the_motifs(pair)
        for query, says in (("channel=3", "channel"), ("other=9", "other"), ("samples=0", "samples"), ("support=0", "support"), ("trials=0", "trials")):
            status, _, problem = self.daemon.ask("GET", f"/v1/jobs/{self.job}/rules?{query}")
            assert status in (400, 422) and says in str(problem), (query, problem)
        done = subprocess.run([self.motifctl, "--server", self.daemon.url, "rules", self.job, "--channel", "0", "--other", "2", "--samples", "8"], capture_output=True, text=True)
        assert done.returncode == 0 and "ORDER" in done.stdout and "0 to 9" in done.stdout and "SAMPLES" in done.stdout, done

    def arrangements_are_those_of_the_motifs(self, pair):
        """Counts the arrangements of channels 0 and 2 again, from the motifs of each record."""
        first, second, edges = pair["first"]["channel"], pair["second"]["channel"], [0, 10, 30, 60, 120, 240, math.inf]
        wanted = {order: [0] * 6 for order in ("first_before_second", "second_before_first")}
        for name, letters in self.records.items():
            motifs = self.post("motifs", f">{name}\n{letters}\n")["answers"][0]["motifs"]
            width = {}
            for m in motifs:
                width[m["channel"]] = m["extent"][3] - m["extent"][2] if m["extent"] else 1
            found = set()
            for m in (m for m in motifs if m["channel"] == first):
                for n in (n for n in motifs if n["channel"] == second):
                    a, b = m["position"][1], n["position"][1]
                    gap = abs(a - b) - (width[first] + width[second] + 1) // 2
                    if gap >= 0:
                        found.add(("first_before_second" if a < b else "second_before_first", next(i for i in range(6) if gap < edges[i + 1])))
            for order, i in found:
                wanted[order][i] += 1
        for order, counts in wanted.items():
            assert [share["samples"] for share in pair["names"][0][order]] == counts[:len(pair["names"][0][order])], (order, counts, pair["names"][0][order])

    def signals_are_sorted_and_open_as_bigwig(self):
        text = self.get("signal?coordinates=bedtools", "text/x-bedgraph")
        order = [(line.split("\t")[0], int(line.split("\t")[1])) for line in text.splitlines()]
        names = list(dict.fromkeys(name for name, _ in order))
        assert order == sorted(order, key=lambda row: (names.index(row[0]), row[1])) and len(set(order)) == len(order)
        status, _, wig = self.daemon.ask("GET", f"/v1/jobs/{self.job}/signal?coordinates=bedtools", headers={"Accept": "application/x-bigwig"})
        if status == 409:
            print("this build writes no bigWig files")
            return
        assert status == 200 and struct.unpack("<IHH", wig[:8]) [0] == 0x888FFC26, wig[:8]
        try:
            import pyBigWig
        except ImportError:
            return
        path = os.path.join(self.folder, "s.bw")
        with open(path, "wb") as file:
            file.write(wig)
        with pyBigWig.open(path) as opened:
            rows = [f"{name}\t{a}\t{b}\t{v:.6g}" for name in names for a, b, v in opened.intervals(name)]
        assert rows == text.splitlines()

    def logos_are_pictures(self):
        svg = self.get("logos", "image/svg+xml")
        assert xml.dom.minidom.parseString(svg).documentElement.tagName == "svg"
        png = self.get("logos", "image/png")
        own = [use["channel"] for use in self.get("channels")["channels"] if use["matrix"]]
        one = self.get(f"logos/{own[0]}", "image/png")
        assert png[:8] == one[:8] == b"\x89PNG\r\n\x1a\n"
        high, low = (struct.unpack(">I", picture[20:24])[0] for picture in (png, one))
        assert (high - 8) == len(own) * (low - 8)

    def channels_of_one_motif_are_merged(self):
        """In repeats of one word, every channel shows this word, on either strand. Other models have a matrix for each channel."""
        def sample(i):
            phase, seq = i % 9, "GATTACAGG" * (COLS // 9 + 2)
            seq = seq[phase:phase + COLS]
            return reverse(seq) if i % 2 else seq
        text = "".join(f">r{i} {'ab'[i % 3 == 0]}\n{sample(i)}\n" for i in range(60))
        assert self.daemon.ask("PUT", "/v1/datasets/repeats?format=fasta", text.encode(), "application/octet-stream")[0] == 201
        own, self.job = self.job, self.train("repeats")
        apart, merged = ([use["matrix"] for use in self.get(f"channels?samples=30&merge={merge}")["channels"]] for merge in ("false", "true"))
        kept = [i for i, matrix in enumerate(apart) if matrix]
        assert len(kept) > 1 and all(apart[i]["same_as"] == [k for k in kept if k != i] for i in kept), apart
        leader = max(kept, key=lambda i: (apart[i]["sites"], -i))
        assert [i for i, matrix in enumerate(merged) if matrix] == [leader] and merged[leader]["same_as"] == apart[leader]["same_as"], merged
        assert merged[leader]["sites"] == sum(apart[i]["sites"] for i in kept)
        columns = [max(row) / sum(row) for row in merged[leader]["counts"]]
        assert min(columns) > 0.95 and len(columns) >= 9, columns  # the windows of all channels lie in the same phase and on the same strand
        for query in ("channels", "channels?merge=true"):
            count = self.get(f"{query}{'&' if '?' in query else '?'}samples=30", "text/x-meme").count("MOTIF ")
            assert count == (1 if "merge" in query else len(kept)), (query, count)
        logos = self.get("logos?samples=30&merge=true", "image/png"), self.get(f"logos/{leader}?samples=30", "image/png")
        assert len({struct.unpack(">I", picture[20:24])[0] for picture in logos}) == 1
        assert self.daemon.ask("GET", f"/v1/jobs/{self.job}/channels/{leader}?merge=true")[0] == 400
        path = os.path.join(self.folder, "merged.meme")
        done = subprocess.run([self.motifctl, "--server", self.daemon.url, "channels", self.job, "--samples", "30", "--merge", "--output", path], capture_output=True, text=True)
        assert done.returncode == 0 and open(path, encoding="utf-8").read().count("MOTIF ") == 1 and "as channel" in done.stdout, done
        self.job = own

    def inputs_that_differ_elsewhere_are_all_top_activations(self):
        """Two records that differ only in their last base have the same strongest motif, at the same place. A record that comes twice, because more
        samples are requested than the set has, counts once."""
        seqs = [bases(COLS - 1, 100 + i // 2) + "AC"[i % 2] for i in range(60)]
        text = "".join(f">r{i} {'ab'[i % 3 == 0]}\n{seq}\n" for i, seq in enumerate(seqs))
        assert self.daemon.ask("PUT", "/v1/datasets/twins?format=fasta", text.encode(), "application/octet-stream")[0] == 201
        own, self.job = self.job, self.train("twins", dataset_test=0.5)
        for k in range(TINY["motifs"]):
            few, many = (self.get(f"channels/{k}?set=test&samples={samples}&top=64") for samples in (20, 400))
            assert few["inputs"] == len(few["top"]), (k, few["inputs"], len(few["top"]))
            assert many["inputs"] > 60 > len(many["top"]) >= len(few["top"]), (k, many["inputs"], len(many["top"]))
        self.job = own

    def faults_name_what_is_wrong(self):
        for text, says in ((">a\n\n>b\nACGT\n", "no bases"), ("ACGT\n", "line 1"), (">a\nAC1T\n", "line 2"), (">" + "x" * 64 + "\nA\n", "too long")):
            assert says in str(self.post("sites", text, status=422)), text
        assert self.daemon.ask("POST", f"/v1/jobs/{self.job}/sites", b"", FASTA)[0] in (400, 422)
        assert self.daemon.ask("POST", f"/v1/jobs/{self.job}/sites", b"{}", "application/json")[0] == 415
        for query in ("channel=3", "coordinates=mars", "set=training", "samples=0"):
            status, _, problem = self.daemon.ask("GET", f"/v1/jobs/{self.job}/sites?{query}")
            assert status == 400 and query.split("=")[0] in str(problem), (query, problem)
        assert self.daemon.ask("GET", f"/v1/jobs/{self.job}/signal", headers={"Accept": "application/json"})[0] == 406

    def compressed_sequences_are_read(self):
        text = "".join(f">{name}\r\n{seq}\r\n" for name, seq in self.records.items()).encode()
        packed = gzip.compress(text[:700]) + gzip.compress(text[700:])
        status, _, body = self.daemon.ask("POST", f"/v1/jobs/{self.job}/sites", packed, FASTA)
        assert status == 200 and body["sites"] == self.get("sites")["sites"]
        status, _, problem = self.daemon.ask("POST", f"/v1/jobs/{self.job}/sites", packed[:-5], FASTA)
        assert status == 422 and "gzip" in str(problem), problem
        status, _, made = self.daemon.ask("PUT", "/v1/datasets/packed?format=fasta&negatives=shuffle",
                                          gzip.compress(b"".join(b">r%d x\n%s\n" % (i, bases(30, i).encode()) for i in range(9))), "application/octet-stream")
        assert status == 201 and made["samples"] == 18 and made["target"] == "sequence" and made["options"]["negatives"] == "shuffle", made
        assert self.daemon.ask("PUT", "/v1/datasets/wrong?format=csv&negatives=shuffle", b"a,label\n1,x\n", "application/octet-stream")[0] == 422

    def regions_of_a_genome_keep_their_places(self):
        """The operator's genome and uploaded regions: samples are windows around the middle, and sites lie in the genome."""
        folder = os.path.join(self.folder, "data", "tiny")
        os.makedirs(folder)
        genome = {"chrA": bases(4000, 31), "chrB": bases(2500, 32)}
        with open(os.path.join(folder, "genome.fa"), "w", encoding="utf-8") as fasta, open(os.path.join(folder, "genome.fa.fai"), "w", encoding="utf-8") as index:
            for name, seq in genome.items():
                fasta.write(f">{name}\n")
                index.write(f"{name}\t{len(seq)}\t{fasta.tell()}\t60\t61\n")
                fasta.write("".join(seq[i:i + 60] + "\n" for i in range(0, len(seq), 60)))
        rows = [(name, 100 + 90 * i, 140 + 90 * i, "+-"[i % 2]) for i in range(20) for name in genome]
        bed = "".join(f"{name}\t{a}\t{b}\t{name}\t0\t{strand}\n" for name, a, b, strand in rows).encode()
        def put(name, query):
            return self.daemon.ask("PUT", f"/v1/datasets/{name}?format=bed{query}", bed, "application/octet-stream")
        status, _, made = put("windows", f"&genome=tiny&window={COLS}&label=name&negatives=gc")
        assert status == 201 and made["samples"] == 80 and made["shape"]["cols"] == COLS and made["options"]["window"] == COLS, made
        assert put("windows", f"&genome=tiny&window={COLS}&label=name&negatives=gc")[0] == 200
        assert put("windows", "&genome=tiny&window=50&label=name&negatives=gc")[0] == 409
        for query, says in (("", "need a genome"), ("&genome=none", "there is no genome none; the genomes of this server: tiny"), ("&genome=windows", "there is no genome windows; the genomes of this server: tiny"), ("&genome=../tiny", "genome=")):
            status, _, problem = put("other", query)
            assert status == 422 and says in str(problem), (query, problem)
        self.several_files_are_classes(bed)
        job = {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": "windows", **TINY}}
        status, _, job = self.daemon.ask("POST", "/v1/jobs", job)
        assert status == 201, job
        while self.daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]["state"] in ("queued", "running"):
            pass
        own, self.job = self.job, job["id"]
        found = self.get("sites?coordinates=bedtools")["sites"]
        plain = self.get("sites")["sites"]
        regions = self.daemon.ask("POST", f"/v1/jobs/{self.job}/sites?genome=tiny&window={COLS}", bed, "text/x-bed")
        assert regions[0] == 200 and regions[2]["sites"] == found[:len(regions[2]["sites"])], regions
        assert 0 < len(regions[2]["sites"]) < len(found)
        for query, says in (("", "need a genome"), ("?genome=none", "there is no genome none; the genomes of this server: tiny"), ("?genome=tiny&window=-1", "window")):
            status, _, problem = self.daemon.ask("POST", f"/v1/jobs/{self.job}/sites{query}", bed, "text/x-bed")
            assert status in (400, 422) and says in str(problem), (query, problem)
        for row, says in ((b"chrA\t100\t200\tx\t0\t0.05\n", "state no strand"), (b"chrA\t100\t200\tx\t0\t+\t1\t2\t3\t700\n", "have a summit outside")):
            status, _, problem = self.daemon.ask("POST", f"/v1/jobs/{self.job}/sites?genome=tiny&window={COLS}", row, "text/x-bed")
            assert status == 422 and says in problem["detail"] + str(problem.get("errors")), problem
        for sequence, says in (("ACG-TA", "is no letter of a base"), ("MKVSAGRTWYDNHK", "these are probably amino acids")):
            status, _, problem = self.daemon.ask("POST", f"/v1/jobs/{self.job}/sites", f">q\n{sequence}\n".encode(), "text/x-fasta")
            assert status == 422 and says in problem["detail"] + str(problem.get("errors")), problem
        self.compressed_genomes_are_the_same(folder, bed, regions[2]["sites"])
        self.signals_have_the_lengths_of_the_genome(genome, bed)
        path = os.path.join(self.folder, "peaks.bed")
        with open(path, "wb") as file:
            file.write(bed)
        done = subprocess.run([self.motifctl, "--server", self.daemon.url, "sites", self.job, "--input", path, "--genome", "tiny", "--format", "json"],
                              capture_output=True, text=True)
        assert done.returncode == 0 and '"sites"' in done.stdout, done
        self.job = own
        assert found and len(found) == len(plain) and {site["record"] for site in found} <= set(genome)
        for site, there in zip(sorted(plain, key=lambda s: s["value"]), sorted(found, key=lambda s: s["value"])):
            name, span = site["record"].split(":")
            begin, end = (int(part) for part in span.split("(")[0].split("-"))
            seq = genome[name][begin:end]
            word = (reverse(seq) if span.endswith("(-)") else seq)[site["start"]:site["end"]]
            place = genome[there["record"]][there["start"]:there["end"]]
            assert word in (place, reverse(place)), (site, there)

    def signals_have_the_lengths_of_the_genome(self, genome, bed):
        """A bigWig file of regions has the lengths of the genome's sequences, so the daemon accepts it as a signal of this genome."""
        status, _, wig = self.daemon.ask("POST", f"/v1/jobs/{self.job}/signal?genome=tiny&window={COLS}", bed, "text/x-bed", {"Accept": "application/x-bigwig"})
        if status == 409:
            print("this build writes no bigWig files")
            return
        assert status == 200, wig
        tree, = struct.unpack("<Q", wig[8:16])
        magic, _, key = struct.unpack("<III", wig[tree:tree + 12])
        leaf, _, count = struct.unpack("<BBH", wig[tree + 32:tree + 36])
        assert magic == 0x78CA8C91 and leaf == 1
        items = [wig[at:at + key + 8] for at in range(tree + 36, tree + 36 + count * (key + 8), key + 8)]
        lengths = {item[:key].rstrip(b"\0").decode(): struct.unpack("<I", item[key + 4:])[0] for item in items}
        assert lengths == {name: len(seq) for name, seq in genome.items()}, lengths
        folder = os.path.join(self.folder, "data", "activation")
        os.makedirs(folder)
        with open(os.path.join(folder, "signal.bw"), "wb") as file:
            file.write(wig)
        status, _, made = self.daemon.ask("PUT", f"/v1/datasets/levels?format=bed&genome=tiny&window={COLS}&target=number&signal=activation", bed, "application/octet-stream")
        assert status == 201 and made["target"] == "number", made

    def several_files_are_classes(self, bed):
        """An archive of BED files: the name of each file is a class; a column may have the labels instead; the options belong to the data set."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name, text in (("up.bed", bed), ("peaks/down.bed.gz", gzip.compress(bed))):
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text))
        for name, query, target, samples, names in (
                ("files", "", "class", 80, {"up", "down"}), ("sets", "&target=labels", "labels", 40, {"up", "down"}),
                ("columns", "&label_column=4", "class", 80, {"chrA", "chrB"})):
            def put(name, query):
                return self.daemon.ask("PUT", f"/v1/datasets/{name}?format=tar&genome=tiny&window={COLS}{query}", packed.getvalue(), "application/octet-stream")
            status, _, made = put(name, query)
            assert status == 201 and made["target"] == target and made["samples"] == samples, made
            assert {entry["name"] for entry in made["vocabulary"]} == names, made
            assert put(name, query)[0] == 200
            assert put(name, query + "&label=x")[0] == (422 if "label_column" in query else 409)
        assert made["options"]["label_column"] == 4
        status, _, problem = put("none", "&label_column=9")
        assert status == 422 and "column 9" in str(problem), problem
        assert put("none", "&label_column=0")[0] == 400

    def compressed_genomes_are_the_same(self, folder, bed, wanted):
        """A genome in blocks of bgzip (777 bases each, and an empty last one) gives the same sites; an error names a damaged block or index."""
        packed = os.path.join(self.folder, "data", "squeezed")
        os.makedirs(packed)
        with open(os.path.join(folder, "genome.fa"), "rb") as file:
            text = file.read()
        blocks, places, at = [], [], 0
        for start in [*range(0, len(text), 777), len(text)]:
            piece = text[start:start + 777]
            squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)
            data = squeeze.compress(piece) + squeeze.flush()
            blocks.append(b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(data) + 25) + data + struct.pack("<II", zlib.crc32(piece), len(piece)))
            places.append((at, start))
            at += len(blocks[-1])
        index = struct.pack("<Q", len(places) - 1) + b"".join(struct.pack("<QQ", *place) for place in places[1:])
        shutil.copy(os.path.join(folder, "genome.fa.fai"), os.path.join(packed, "genome.fa.gz.fai"))
        def ask(genome, places):
            for name, content in (("genome.fa.gz", genome), ("genome.fa.gz.gzi", places)):
                with open(os.path.join(packed, name), "wb") as file:
                    file.write(content)
            return self.daemon.ask("POST", f"/v1/jobs/{self.job}/sites?genome=squeezed&window={COLS}", bed, "text/x-bed")
        genome = b"".join(blocks)
        status, _, answer = ask(genome, index)
        assert status == 200 and answer["sites"] == wanted, answer
        broken = bytearray(genome)
        broken[places[1][0] + 40] ^= 0x55
        for bad, places_of, says in ((bytes(broken), index, "damaged"), (genome[:len(genome) // 2], index, "make it again"), (text, index, "damaged"),
                                     (genome, index[:-3], "its end is missing"), (genome, index[:8] + index[24:40] + index[8:24] + index[40:], "not in ascending order")):
            status, _, problem = ask(bad, places_of)
            assert status == 422 and says in str(problem), (says, str(problem)[:200])
        os.remove(os.path.join(packed, "genome.fa.gz.gzi"))
        status, _, problem = self.daemon.ask("POST", f"/v1/jobs/{self.job}/sites?genome=squeezed&window={COLS}", bed, "text/x-bed")
        assert status == 422 and "bgzip --reindex" in str(problem), problem

    def both_strands_are_one_motif(self):
        """The reverse complement has the same motifs at the mirrored places on the other strand. Threads do not change the weights."""
        made = []
        for threads in (1, 2):
            job = {"kind": "sparling", "preset": "dataset", "threads": threads, "config": {"dataset_name": "regions", **TINY, "strands": "both"}}
            status, _, job = self.daemon.ask("POST", "/v1/jobs", job)
            assert status == 201, job
            made.append(job["id"])
        while any(self.daemon.ask("GET", f"/v1/jobs/{job}")[2]["state"] in ("queued", "running") for job in made):
            pass
        results = [self.daemon.ask("GET", f"/v1/jobs/{job}")[2]["result"] for job in made]
        assert results[0]["weights_sha256"] == results[1]["weights_sha256"], results
        seq = bases(COLS, 901)
        text = f">a\n{seq}\n>b\n{reverse(seq)}\n".encode()
        assert all(use["extent"] is None or use["extent"][2] + use["extent"][3] == 1 for use in self.daemon.ask("GET", f"/v1/jobs/{made[0]}/channels")[2]["channels"])
        status, _, answer = self.daemon.ask("POST", f"/v1/jobs/{made[0]}/motifs", text, FASTA)
        assert status == 200, answer
        one, other = ({(m["channel"], m["position"][1]): m for m in side["motifs"]} for side in answer["answers"])
        assert one and {(channel, COLS - 1 - place) for channel, place in other} == set(one)
        for (channel, place), motif in one.items():
            reverse_motif = other[channel, COLS - 1 - place]
            assert {motif["strand"], reverse_motif["strand"]} == {"+", "-"} and abs(motif["value"] - reverse_motif["value"]) < 1e-4
        assert self.daemon.ask("GET", f"/v1/jobs/{made[0]}/onnx")[0] == 409
        assert "strand" not in self.post("motifs", f">a\n{seq}\n")["answers"][0]["motifs"][0]
        for seed in range(3):  # a sample of the data set has the name of its record, and an uploaded input has none
            status, _, answer = self.daemon.ask("POST", f"/v1/jobs/{self.job}/motifs", {"inputs": [{"sample": {"seed": seed}}]})
            assert status == 200 and self.records[answer["answers"][0]["record"]] == answer["answers"][0]["letters"], answer
        assert "record" not in self.post("motifs", f">a\n{seq}\n")["answers"][0]
        status, _, problem = self.daemon.ask("POST", "/v1/jobs?dry_run=1", {"kind": "sparling", "preset": "splicing", "config": {"strands": "both"}})
        assert status == 422 and "strands" in str(problem), problem

    def scans_leave_empty_windows_empty(self):
        """With never_empty each sequence has a motif, and with most_motifs not more than the limit; a scan of a genome reports what exceeds a threshold."""
        text = "".join(f">r{i}\n{bases(COLS, 500 + i)}\n" for i in range(40))
        found, own = [], self.job
        for never, most in ((False, 0), (True, 0), (False, 1)):
            config = {"dataset_name": "regions", **TINY, "density_start": 0.003, "density_final": 0.003, "never_empty": never, "most_motifs": most, "dataset_split_seed": 2}
            status, _, job = self.daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": config})
            assert status == 201, job
            while self.daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]["state"] in ("queued", "running"):
                pass
            self.job = job["id"]
            sites = [(site["record"], site["channel"], site["value"]) for site in self.post("sites", text)["sites"]]
            found.append((sites, [len(answer["motifs"]) for answer in self.post("motifs", text)["answers"]]))
        self.job = own
        (plain, counts), (lifted, filled), (limited, few) = found
        # the extents of the two models differ a little, and with them which of two close motifs is a site of its own
        assert len(set(plain) ^ set(lifted)) <= 3 and len(plain) > 40 and {one[0] for one in plain} == {one[0] for one in lifted}, (plain, lifted)
        assert len(set(plain) ^ set(limited)) <= 3, (plain, limited)
        assert sum(few) < sum(counts) and all(0 < b <= a or a == b == 0 for a, b in zip(counts, few)), (counts, few)
        assert 0 in counts and filled == [max(1, count) for count in counts], (counts, filled)

    def filters_begin_with_known_motifs(self):
        """Training does not change frozen filters, which contain the log-odds of a matrix or of its reverse complement. It changes other filters."""
        rows = [[.7, .1, .1, .1], [.05, .05, .85, .05], [.1, .1, .1, .7], [.25, .25, .25, .25], [.9, .02, .04, .04], [.02, .94, .02, .02], [.1, .6, .2, .1]]
        meme = "MEME version 4\n\nALPHABET= ACGT\n\nMOTIF M1 one\nletter-probability matrix: alength= 4 w= 7 nsites= 100\n" \
            + "\n".join(" ".join(map(str, row)) for row in rows) + "\n\n"
        assert self.daemon.ask("PUT", "/v1/datasets/known?format=meme", meme.encode(), "application/octet-stream")[0] == 201
        def odds(row):
            return [math.log(4 * (20 / 21 * p + 1 / 84)) for p in row]
        forward = [[odds(row)[b] for row in rows] for b in range(4)]
        wanted = [forward, [row[::-1] for row in forward[::-1]]]
        filters = {}
        for frozen in (True, False):
            config = {"dataset_name": "regions", **TINY, "first_window": 9, "motif_start": "known", "motif_start_frozen": frozen}
            status, _, job = self.daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": config})
            assert status == 201, job
            while (now := self.daemon.ask("GET", f"/v1/jobs/{job['id']}")[2])["state"] in ("queued", "running"):
                pass
            assert now["state"] == "succeeded", now
            weights, _ = safetensors_file.read(self.daemon.ask("GET", f"/v1/jobs/{job['id']}/checkpoints/latest")[2])
            filters[frozen] = [weights["g.first.weight"][f].ravel().tolist() for f in range(2)], weights["g.first.bias"][:2].tolist()
        for f, motif in enumerate(wanted):
            padded = [0 if not 0 < i < 8 else row[i - 1] for row in motif for i in range(9)]
            own = filters[True][0][f]
            scale = math.sqrt(sum(v * v for v in own) / sum(v * v for v in padded))
            assert scale > 0.01 and all(abs(v - scale * p) < 1e-5 for v, p in zip(own, padded)), (f, own, padded)
            free = filters[False][0][f]
            assert max(abs(v - p) for v, p in zip(free, own)) > 1e-4
        assert filters[True][1] == [0, 0] != filters[False][1]
        for change, pointer, says in (({"motif_start": "none"}, "motif_start", "there is no data set"), ({"motif_start": "regions"}, "motif_start", "contains sequences"),
                                      ({"first_window": 3}, "first_window", "at least 5"), ({"width": 1}, "motif_start", "2 filters"),
                                      ({"motif_start": ""}, "motif_start_frozen", "needs motif_start")):
            config = {"dataset_name": "regions", **TINY, "first_window": 9, "motif_start": "known", "motif_start_frozen": True, **change}
            status, _, problem = self.daemon.ask("POST", "/v1/jobs?dry_run=1", {"kind": "sparling", "preset": "dataset", "config": config})
            assert status == 422 and any(e["pointer"] == f"/config/{pointer}" and says in e["detail"] for e in problem["errors"]), (change, problem)

    def filters_begin_with_enriched_motifs(self):
        """With motif_start_words, the strongest first filter and its reverse complement spell the word that the labelled samples have."""
        word, config = "GATTACAGG", {"dataset_name": "planted", **TINY, "first_window": 15, "motif_start_words": True, "learning_rate": 1e-7}
        def sample(i):
            seq = bases(COLS, 900 + i)
            return seq[:20] + word + seq[20 + len(word):] if i % 2 else seq
        text = "".join(f">s{i}{' bound' if i % 2 else ''}\n{sample(i)}\n" for i in range(400))
        assert self.daemon.ask("PUT", "/v1/datasets/planted?format=fasta", text.encode(), "application/octet-stream")[0] == 201
        seen = []
        for _ in range(2):
            status, _, job = self.daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": config})
            assert status == 201, job
            while (now := self.daemon.ask("GET", f"/v1/jobs/{job['id']}")[2])["state"] in ("queued", "running"):
                pass
            assert now["state"] == "succeeded", now
            weights, _ = safetensors_file.read(self.daemon.ask("GET", f"/v1/jobs/{job['id']}/checkpoints/latest")[2])
            seen.append(weights["g.first.weight"].reshape(TINY["width"], 4, 15))
        assert (seen[0] == seen[1]).all()
        spelt = ["".join("ACGT"[b] for b in f.argmax(0)) for f in seen[0][:2]]
        assert word in spelt[0] + " " + spelt[1] and reverse(word) in spelt[0] + " " + spelt[1], spelt
        for change, pointer, says in (({"motif_start": "known"}, "motif_start_words", "with motif_start"), ({"first_window": 3}, "first_window", "at least 5")):
            status, _, problem = self.daemon.ask("POST", "/v1/jobs?dry_run=1", {"kind": "sparling", "preset": "dataset", "config": {**config, **change}})
            assert status == 422 and any(e["pointer"] == f"/config/{pointer}" and says in e["detail"] for e in problem["errors"]), (change, problem)

    def rna_has_one_strand(self):
        records = [bases(COLS, 300 + i) for i in range(60)]
        for name, letters in (("transcripts", "U"), ("genes", "T")):
            text = "".join(f">{i} {'ab'[i % 2]}\n{seq.replace('T', letters)}\n" for i, seq in enumerate(records))
            status, _, made = self.daemon.ask("PUT", f"/v1/datasets/{name}?format=fasta", text.encode(), "application/octet-stream")
            assert status == 201 and not any(w["code"] == "mixed-alphabet" for w in made["warnings"]), made
            status, _, problem = self.daemon.ask("POST", "/v1/jobs?dry_run=1", {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": name, "strands": "both"}})
            assert status == (422 if letters == "U" else 200), problem
            if letters == "U":
                assert problem["errors"][0]["pointer"] == "/config/strands" and "one strand" in problem["errors"][0]["detail"], problem
        mixed = b">a x\nACGUACGT\n>b y\nAAAACCCC\n"
        status, _, made = self.daemon.ask("PUT", "/v1/datasets/mixed?format=fasta", mixed, "application/octet-stream")
        assert status == 201 and [w["code"] for w in made["warnings"]] == ["mixed-alphabet"], made

    def motifctl_writes_files(self):
        def run(*words):
            return subprocess.run([self.motifctl, "--server", self.daemon.url, *words], capture_output=True, text=True)
        source = os.path.join(self.folder, "long.fa")
        with open(source, "w", encoding="utf-8") as file:
            file.write(f">s\n{bases(3000, 5)}\n")
        for query, ending, accept in (("sites", "bed", "text/x-bed"), ("sites", "narrowPeak", "text/x-narrowpeak"), ("signal", "bedGraph", "text/x-bedgraph")):
            path = os.path.join(self.folder, f"out.{ending}")
            done = run(query, self.job, "--input", source, "--output", path)
            assert done.returncode == 0, done
            assert open(path, encoding="utf-8").read() == self.post(query, open(source, encoding="utf-8").read(), accept)
        assert run("sites", self.job, "--set", "test").stdout == self.get("sites?set=test", "text/x-bed")
        assert run("sites", self.job, "--input", source, "--set", "test").returncode == 2
        assert run("sites", self.job, "--input", os.path.join(self.folder, "none.fa")).returncode == 1
        broken = os.path.join(self.folder, "broken.bed")
        assert run("sites", self.job, "--channel", "77", "--output", broken).returncode != 0 and not os.path.exists(broken)
        for query, ending, form, allowed in (("logos", "pdf", "svg", ".svg"), ("sites", "xls", "bed", ".bed"), ("signal", "svg", "bedgraph", ".bedGraph")):
            path = os.path.join(self.folder, f"unknown.{ending}")
            done = run(query, self.job, "--samples", "4", "--output", path)
            assert done.returncode == 2 and "ending" in done.stderr and allowed in done.stderr and not os.path.exists(path), done
            assert run(query, self.job, "--samples", "4", "--format", form, "--output", path).returncode == 0 and os.path.exists(path)
        for words in (("sites", self.job), ("sites", self.job, "--format", "bed"), ("channels", self.job), ("export", self.job)):
            path = os.path.join(self.folder, f"packed-{words[0]}.bed.gz")
            done = run(*words, *(() if words[0] == "export" else ("--output",)), path)
            assert done.returncode == 2 and "does not compress" in done.stderr and "gzip" in done.stderr and not os.path.exists(path), done
        assert run("logos", self.job, "--samples", "4", "--output", os.path.join(self.folder, "no-ending")).returncode == 0
        logo = os.path.join(self.folder, "l.svg")
        assert run("logos", self.job, "--output", logo).returncode == 0 and open(logo, encoding="utf-8").read().startswith("<?xml")


def main():
    with tempfile.TemporaryDirectory() as folder:
        test = Site(sys.argv[1], sys.argv[2], folder)
        with test.daemon:
            run_checks(*((f"sites: {name}", getattr(test, name)) for name in (
                "a_short_training_marks_sites", "signals_have_no_letters", "rules_of_recordings_end_with_the_map", "sites_have_the_names_of_records", "coordinates_are_those_of_the_genome", "posted_sequences_have_the_same_sites",
                "windows_do_not_change_long_sequences", "pairs_follow_from_the_sites", "rules_compare_arrangements", "signals_are_sorted_and_open_as_bigwig", "logos_are_pictures", "channels_of_one_motif_are_merged", "inputs_that_differ_elsewhere_are_all_top_activations", "faults_name_what_is_wrong",
                "compressed_sequences_are_read", "regions_of_a_genome_keep_their_places", "both_strands_are_one_motif", "scans_leave_empty_windows_empty", "filters_begin_with_known_motifs",
                "filters_begin_with_enriched_motifs", "rna_has_one_strand", "motifctl_writes_files")))


if __name__ == "__main__":
    main()
