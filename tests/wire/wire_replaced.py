#!/usr/bin/env python3
"""A job refuses a data set that replaced its own under the same name: other bytes, or the same bytes with other options.

usage: wire_replaced.py MOTIFD
"""
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon, run_each  # noqa: E402

COLS = 40
TINY = {"width": 8, "units": 2, "channels": 16, "layers": 1, "heads": 2, "feed_forward": 32, "batch": 4, "validation_every": 40,
        "validation_samples": 8, "test_samples": 8, "motif_samples": 8, "stage_samples": 0, "checkpoint_every": 40, "total_samples": 80,
        "presence_weight": 0, "density_start": 0.3, "density_final": 0.3, "dataset_fit": False, "motifs": 3, "lstm": False}
QUERIES = ("sites", "channels")


def bases(count, seed):
    return "".join(random.Random(seed).choices("ACGT", k=count))


FASTA = "".join(f">r{i} {'ab'[i % 2]} {'xyz'[i % 3]}\n{bases(COLS, i)}\n" for i in range(60)).encode()
BED = "".join(f"{name}\t{100 + 90 * i}\t{140 + 90 * i}\t{name}{i % 2}\t0\t{'+-'[i % 2]}\n" for i in range(20) for name in ("chrA", "chrB")).encode()
POINTS = [f"p{i}" for i in range(40)]
TABLE = (",".join(["group", "other", "label", *POINTS]) + "\n" + "".join(
    ",".join(str(v) for v in (i % 5, i % 4, i % 2, *(i * (k + 3) % 17 for k in range(40)))) + "\n" for i in range(60))).encode()


def write_genome(folder, name, seed):
    at = os.path.join(folder, "data", name)
    os.makedirs(at, exist_ok=True)
    with open(os.path.join(at, "genome.fa"), "w", encoding="utf-8") as fasta, open(os.path.join(at, "genome.fa.fai"), "w", encoding="utf-8") as index:
        for i, chromosome in enumerate(("chrA", "chrB")):
            fasta.write(f">{chromosome}\n")
            index.write(f"{chromosome}\t3000\t{fasta.tell()}\t3000\t3001\n")
            fasta.write(bases(3000, seed + i) + "\n")


def put(daemon, name, content, query):
    status, _, made = daemon.ask("PUT", f"/v1/datasets/{name}?{query}", content, "application/octet-stream")
    assert status == 201, made
    return made


def replace(daemon, name, content, query):
    assert daemon.ask("DELETE", f"/v1/datasets/{name}")[0] == 204
    return put(daemon, name, content, query)


def train(daemon, name):
    status, _, job = daemon.ask("POST", "/v1/jobs", {"kind": "sparling", "preset": "dataset", "config": {"dataset_name": name, **TINY}})
    assert status == 201, job
    while (now := daemon.ask("GET", f"/v1/jobs/{job['id']}")[2])["state"] in ("queued", "running"):
        pass
    assert now["state"] == "succeeded", now
    return now


def tags(daemon, job):
    """Asks every query, so that the daemon keeps the model open, and returns the ETag of each answer."""
    found = {}
    for query in QUERIES:
        status, headers, body = daemon.ask("GET", f"/v1/jobs/{job['id']}/{query}?samples=8")
        assert status == 200, (query, body)
        found[query] = headers["ETag"]
    return found


def refused(daemon, job, known):
    for query in QUERIES:
        for headers in ({}, {"If-None-Match": known[query]}):
            status, _, problem = daemon.ask("GET", f"/v1/jobs/{job['id']}/{query}?samples=8", headers=headers)
            assert status == 409 and "belongs to other data than data set" in str(problem), (query, headers, status, problem)


def answers(daemon, job, known):
    assert tags(daemon, job) == known
    for query in QUERIES:
        assert daemon.ask("GET", f"/v1/jobs/{job['id']}/{query}?samples=8", headers={"If-None-Match": known[query]})[0] == 304, query


def hash_of(daemon, name, kind="sparling", **config):
    status, _, plan = daemon.ask("POST", "/v1/jobs?dry_run=1", {"kind": kind, "preset": "dataset", "config": {"dataset_name": name, **config}})
    assert status == 200, plan
    return plan["config"]["dataset_hash"]


def a_set_without_options_has_the_hash_of_its_bytes(daemon, folder):
    made = put(daemon, "plain", FASTA, "format=fasta")
    job = train(daemon, "plain")
    assert job["config"]["dataset_hash"] == made["sha256"][:40], job
    known = tags(daemon, job)
    assert daemon.ask("DELETE", "/v1/datasets/plain")[0] == 204
    for query in QUERIES:
        status, _, problem = daemon.ask("GET", f"/v1/jobs/{job['id']}/{query}?samples=8")
        assert status == 404 and "there is no data set plain" in str(problem), (query, status, problem)
    assert put(daemon, "plain", FASTA, "format=fasta&negatives=none")["sha256"] == made["sha256"]
    answers(daemon, job, known)
    replace(daemon, "plain", FASTA + b">r60 a x\nACGT\n", "format=fasta")
    refused(daemon, job, known)
    replace(daemon, "plain", FASTA, "format=fasta&negatives=shuffle")
    refused(daemon, job, known)
    replace(daemon, "plain", FASTA, "format=fasta")
    answers(daemon, job, known)


def other_negatives_are_other_data(daemon, folder):
    """The same regions with shuffled negatives and with negatives of the genome: the public hash stays that of the bytes."""
    write_genome(folder, "tiny", 40)
    query = f"format=bed&genome=tiny&window={COLS}&label=name"
    made = put(daemon, "hz", BED, query + "&negatives=shuffle")
    job = train(daemon, "hz")
    known = tags(daemon, job)
    assert replace(daemon, "hz", BED, query + "&negatives=gc")["sha256"] == made["sha256"]
    refused(daemon, job, known)
    daemon.end()
    daemon.start()
    refused(daemon, job, known)
    replace(daemon, "hz", BED, query + "&negatives=shuffle")
    answers(daemon, job, known)
    daemon.end()
    daemon.start()
    answers(daemon, job, known)
    write_genome(folder, "tiny", 50)  # the genome has the same name and other bases
    replace(daemon, "hz", BED, query + "&negatives=shuffle")
    refused(daemon, job, known)


def each_option_changes_the_hash(daemon, folder):
    write_genome(folder, "first", 60)
    write_genome(folder, "second", 70)
    regions = f"format=bed&genome=first&window={COLS}"
    for content, kind, queries in (
            (FASTA, "sparling", ("format=fasta", "format=fasta&label_column=3", "format=fasta&target=labels", "format=fasta&negatives=shuffle",
                                 "format=fasta&negatives=shuffle&target=labels")),
            (BED, "sparling", (regions, regions + "&label=name", regions + "&label=site", regions + "&label_column=1", regions + "&negatives=gc",
                               "format=bed&genome=second&window=40", "format=bed&genome=first&window=30", "format=bed&genome=first")),
            (TABLE, "sparling", ("format=csv&layout=signals", "format=csv&layout=signals&label=other", "format=csv&layout=signals&group=other")),
            (TABLE, "factors", ("format=csv", "format=csv&label=other", "format=csv&group=other"))):
        seen = set()
        for query in queries:
            made = put(daemon, "option", content, query)
            found = hash_of(daemon, "option", kind)
            assert found == hash_of(daemon, "option", kind) and len(found) == 40, (query, found)
            assert (found == made["sha256"][:40]) == (query in ("format=fasta", "format=csv")), (query, found, made)
            replace(daemon, "option", content, query)
            assert hash_of(daemon, "option", kind) == found, query
            assert daemon.ask("DELETE", "/v1/datasets/option")[0] == 204
            seen.add(found)
        assert len(seen) == len(queries), (queries, seen)


def a_stated_default_changes_nothing(daemon, folder):
    write_genome(folder, "first", 60)
    regions = "format=bed&genome=first"
    put(daemon, "usual", BED, regions)
    found = hash_of(daemon, "usual")
    for query in ("&window=200", "&label=peak", "&negatives=none", "&window=200&label=peak&negatives=none", "&target=class"):
        assert daemon.ask("PUT", f"/v1/datasets/usual?{regions}{query}", BED, "application/octet-stream")[0] == 200, query
        put(daemon, "stated", BED, regions + query)
        assert hash_of(daemon, "stated") == found, query
        status, _, problem = daemon.ask("PUT", f"/v1/datasets/stated?{regions}&window=40", BED, "application/octet-stream")
        assert status == 409 and "(window)" in problem["detail"], problem
        assert daemon.ask("DELETE", "/v1/datasets/stated")[0] == 204
    assert daemon.ask("DELETE", "/v1/datasets/usual")[0] == 204


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(sys.argv[1], os.path.join(folder, "a.db"), "--data", os.path.join(folder, "data")) as daemon:
            run_each((daemon, folder), a_set_without_options_has_the_hash_of_its_bytes, other_negatives_are_other_data, a_stated_default_changes_nothing, each_option_changes_the_hash)


if __name__ == "__main__":
    main()
