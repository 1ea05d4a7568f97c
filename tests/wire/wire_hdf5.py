#!/usr/bin/env python3
"""Tests uploads of AnnData and 10x files over HTTP, and with motifctl and the client for Python: jobs train on them, and faulty, damaged and hostile
files get a problem that names the fault and leave nothing behind.

usage: wire_hdf5.py MOTIFD MOTIFCTL FOLDER"""
import hashlib
import io
import json
import os
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from daemon import Daemon, open_files, run_checks  # noqa: E402

FILES = pathlib.Path(sys.argv[3])
MEDIA = "application/x-hdf5"


def put(daemon, name, data, query="", media=MEDIA):
    status, _, document = daemon.ask("PUT", f"/v1/datasets/{name}{query}", data, media)
    return status, document


def bytes_of(name):
    return (FILES / name).read_bytes()


def names_of_sets(daemon):
    return {each["name"] for each in daemon.ask("GET", "/v1/datasets")[2]["datasets"]}


def refused(daemon, data, words, query="?format=h5ad"):
    before = names_of_sets(daemon)
    status, problem = put(daemon, "refused", data, query)
    assert status == 422 and any(words in fault["detail"] for fault in problem["errors"]), (status, problem)
    assert names_of_sets(daemon) == before, "a refused upload left a data set"


def a_media_type_or_a_format_names_the_file(daemon):
    status, made = put(daemon, "csr", bytes_of("csr.h5ad"), "?label=type")
    assert status == 201 and made["format"] == "h5ad" and made["samples"] == 23 and made["options"]["label"] == "type", made
    assert [each["name"] for each in made["columns"]][:3] == ["gene0", "gene0-1", "gene2"], made["columns"]
    assert made["warnings"][0]["code"] == "renamed-columns", made["warnings"]
    status, made = put(daemon, "v3", bytes_of("v3.h5"), "?format=10x-h5", "application/octet-stream")
    assert status == 201 and made["format"] == "10x-h5" and made["columns"][1]["name"] == "ENSG01", made


def the_layer_is_part_of_the_data_set(daemon):
    status, made = put(daemon, "layered", bytes_of("dense.h5ad"), "?layer=doubled")
    assert status == 201 and made["options"]["layer"] == "doubled" and made["shape"]["cols"] == 5, made
    assert put(daemon, "layered", bytes_of("dense.h5ad"), "?layer=doubled")[0] == 200
    assert put(daemon, "layered", bytes_of("dense.h5ad"))[0] == 409
    status, raw = put(daemon, "raw", bytes_of("dense.h5ad"), "?layer=raw")
    assert status == 201 and raw["shape"]["cols"] == 7 and 2 * raw["values"]["max"] == made["values"]["max"], raw


def jobs_train_on_the_table(daemon):
    status, made = put(daemon, "planted", bytes_of("planted.h5ad"), "?label=type&group=donor")
    assert status == 201 and made["samples"] == 300 and len(made["groups"]) == 3 and len(made["vocabulary"]) == 2, made
    for kind, short in (("factors", {"epochs": 2, "restarts": 1, "screen_epochs": 0}), ("environments", {"updates": 50})):
        body = {"kind": kind, "preset": "dataset", "config": {"dataset_name": "planted", **short}}
        status, _, job = daemon.ask("POST", "/v1/jobs", body)
        assert status == 201, job
        for _ in range(1200):
            now = daemon.ask("GET", f"/v1/jobs/{job['id']}")[2]
            if now["state"] not in ("queued", "running"):
                break
            time.sleep(0.05)
        assert now["state"] == "succeeded" and now["result"]["verdict"], now


def faults_name_the_format_and_the_reason(daemon):
    refused(daemon, bytes_of("csr.h5ad"), "h5ad: obs has no column 'kind'; it has type", "?format=h5ad&label=kind")
    refused(daemon, bytes_of("csr.h5ad"), "h5ad: there is no layer 'counts'", "?format=h5ad&layer=counts")
    refused(daemon, bytes_of("v3.h5"), "h5ad: the file has no obs and var")
    refused(daemon, bytes_of("csr.h5ad"), "10x-h5: it looks like an AnnData file", "?format=10x-h5")
    refused(daemon, b"not an HDF5 file", "h5ad: the file is not an HDF5 file")
    refused(daemon, b"\x89HDF\r\n\x1a\n", "h5ad: the file is not an HDF5 file")
    refused(daemon, bytes_of("csr.h5ad")[:9000], "h5ad: ")


def a_tiny_file_with_a_huge_table_is_refused_at_once(daemon):
    begun = time.monotonic()
    refused(daemon, bytes_of("bomb.h5ad"), "4194304 rows of 1048576 features take more than")
    assert time.monotonic() - begun < 60


def largest_files(process, stop, seen):
    """Records the largest size of each nameless file that the process has open, until `stop` is set."""
    while not stop.is_set():
        for number, path in open_files(process).items():
            try:
                if " (deleted)" in path:
                    seen[number] = max(seen.get(number, 0), os.stat(f"/proc/{process}/fd/{number}").st_size)
            except OSError:  # closed in the meantime
                continue


def files_that_expand_take_no_more_disk_than_the_quota(folder):
    """Small compressed files whose values are larger than --datasets-bytes are refused, and nothing of them stays. The table of HDF5 is refused by its
    size, before its first row. The array of the .npz ends at the quota."""
    quota, head = 8 << 20, b"{'descr': '<f4', 'fortran_order': False, 'shape': (2048, 8192), }"
    array = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + head.ljust(117) + b"\n" + struct.pack("<f", 1.5) * (2048 * 8192)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("x.npy", array)
    sides = {1 << 22: 20000, 1 << 20: 2000}  # of the table without values, which then would take 40 MB or more
    table = bytes_of("bomb.h5ad")
    words = [int.from_bytes(table[at:at + 8], "little") for at in range(0, len(table) - 7, 8)]
    table = b"".join(sides.get(word, word).to_bytes(8, "little") for word in words) + table[len(table) // 8 * 8:]
    sets = os.path.join(folder, "small-data")
    with Daemon(sys.argv[1], os.path.join(folder, "small"), "--data", sets, "--datasets-bytes", str(quota)) as daemon:
        for format, data, words in (("h5ad", table, "20000 rows of 2000 features take more than"), ("npz", packed.getvalue(), "take more than")):
            assert len(data) < quota / 8, len(data)
            stop, seen = threading.Event(), {}
            watch = threading.Thread(target=largest_files, args=(daemon.process.pid, stop, seen))
            watch.start()
            refused(daemon, data, words, f"?format={format}")
            stop.set()
            watch.join()
            assert max(seen.values(), default=0) <= quota, (format, seen)
            for _ in range(100):  # the daemon answers first and closes the file of the upload afterwards
                left = [path for path in open_files(daemon.process.pid).values() if "(deleted)" in path and sets in path]
                if not left:
                    break
                time.sleep(.05)
            assert not left, left
            assert daemon.ask("GET", "/v1/datasets")[2]["bytes"] == 0
            assert not any(files for _, _, files in os.walk(sets)), list(os.walk(sets))
        assert put(daemon, "fits", bytes_of("csr.h5ad"), "?format=h5ad")[0] == 201


def damaged_files_never_harm_the_daemon(daemon):
    """Files with random damage: each upload is stored or refused with a reason; afterwards the daemon reads a good file."""
    draw = random.Random(1)
    for round in range(int(os.environ.get("MOTIF_DAMAGED", "60"))):
        name = draw.choice(["csr.h5ad", "csc.h5ad", "dense.h5ad", "v07.h5ad", "v06.h5ad", "v3.h5", "v2.h5"])
        data = bytearray(bytes_of(name))
        for _ in range(draw.choice((1, 4, 30, 300))):
            data[draw.randrange(len(data))] = draw.choice((0, 1, 255, draw.randrange(256)))
        status, answer = put(daemon, f"damaged-{round}", bytes(data), f"?format={'h5ad' if name.endswith('ad') else '10x-h5'}")
        assert status == 201 or (status == 422 and answer["errors"][0]["detail"]), (round, name, status, answer)
    assert put(daemon, "afterwards", bytes_of("csr.h5ad"))[0] == 201


def an_upload_that_breaks_off_can_be_resumed(daemon):
    data = bytes_of("csc.h5ad")
    digest = hashlib.sha256(data).hexdigest()
    with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
        connection.sendall(f"PUT /v1/datasets/resumed?format=h5ad&sha256={digest} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n"
                           f"Content-Length: {len(data)}\r\nContent-Type: {MEDIA}\r\n\r\n".encode() + data[:20000])
        for _ in range(400):
            status, _, part = daemon.ask("GET", f"/v1/uploads/{digest}")
            if status == 200 and part["received"] > 0:
                break
            time.sleep(0.05)
    for _ in range(400):
        received = daemon.ask("GET", f"/v1/uploads/{digest}")[2]["received"]
        status, made = put(daemon, "resumed", data[received:], f"?format=h5ad&label=type&sha256={digest}&offset={received}")
        if status != 409:  # the daemon has not noticed the end of the connection
            break
        time.sleep(0.05)
    assert status == 201 and made["sha256"] == digest, made


def motifctl_finds_the_format_from_the_ending(daemon):
    def ctl(*words):
        done = subprocess.run([sys.argv[2], "--server", daemon.url, *words], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr
    code, out, err = ctl("datasets", "put", "ctl", str(FILES / "dense.h5ad"), "--label", "type", "--group", "donor", "--layer", "raw", "--json")
    assert code == 0 and json.loads(out)["options"]["layer"] == "raw", (out, err)
    code, out, err = ctl("datasets", "put", "ctl-10x", str(FILES / "v2.h5"), "--json")
    assert code == 0 and json.loads(out)["format"] == "10x-h5", (out, err)
    code, out, err = ctl("datasets", "put", "ctl-bad", str(FILES / "csr.h5ad"), "--label", "kind")
    assert code != 0 and "obs has no column 'kind'" in err, (out, err)


def the_python_client_uploads_files(daemon):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python"))
    try:
        import motifd
    except ImportError:  # without NumPy
        return
    client = motifd.Client(daemon.url)
    made = client.upload(open(FILES / "v07.h5ad", "rb"), "h5ad", name="from-python", label="type")
    assert made["target"] == "class" and made["samples"] == 23, made


def a_daemon_without_the_program_says_so(folder):
    """The daemon looks for motif-convert in the folder of its own program."""
    alone = os.path.join(folder, "motifd")
    shutil.copy(sys.argv[1], alone)
    with Daemon(alone, os.path.join(folder, "alone"), "--data", os.path.join(folder, "alone-data")) as daemon:
        refused(daemon, bytes_of("csr.h5ad"), "cannot read h5ad, because the program motif-convert is not in the folder of motifd")
        assert put(daemon, "table", b"a,b\n1,2\n", "?format=csv")[0] == 201


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Daemon(sys.argv[1], os.path.join(folder, "db"), "--data", os.path.join(folder, "data"), "--rate-limit", "100000") as daemon:
            run_checks(*[(check.__name__, lambda check=check: check(daemon)) for check in (
                a_media_type_or_a_format_names_the_file, the_layer_is_part_of_the_data_set, jobs_train_on_the_table,
                faults_name_the_format_and_the_reason, a_tiny_file_with_a_huge_table_is_refused_at_once,
                damaged_files_never_harm_the_daemon, an_upload_that_breaks_off_can_be_resumed, motifctl_finds_the_format_from_the_ending,
                the_python_client_uploads_files)])
        run_checks(*[(check.__name__, lambda check=check: check(folder)) for check in (
            files_that_expand_take_no_more_disk_than_the_quota, a_daemon_without_the_program_says_so)])


main()
