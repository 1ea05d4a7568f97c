#!/usr/bin/env python3
"""Tests the download of data sets against a real daemon: an upload of the downloaded file gives the same stored data set, byte by byte, for every kind of
samples and of labels; the arrays contain what was uploaded; motifctl and the Python client save the same file.

usage: wire_download.py MOTIFD MOTIFCTL"""
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import wave
import zipfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness"), os.path.join(HERE, "..", "..", "clients", "python")]
import motifd  # noqa: E402
from daemon import Daemon, run_each  # noqa: E402

RNG = np.random.default_rng(8)
NPZ = "application/x-npz"
WORDS = np.array(["ctcf", "gata 1", "Ünder", "pax"])


def file_of(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def tar_of(**files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name.replace("__", "/").replace("_DOT_", "."))
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def wav(samples):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return out.getvalue()


def letters(count, alphabet="ACGT"):
    return "".join(RNG.choice(list(alphabet), count))


def put(daemon, name, content, kind, query="", expected=201):
    status, _, body = daemon.ask("PUT", f"/v1/datasets/{name}{query}", content, kind)
    assert status == expected, (name, body)
    return body


def download(daemon, name):
    answer = motifd.Client(daemon.url).request("GET", f"/v1/datasets/{name}/data")
    assert answer.headers["Content-Type"] == NPZ and int(answer.headers["Content-Length"]) == len(answer.body), answer.headers
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}.npz"', answer.headers
    return answer.body


def arrays_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return dict(file)


def stored(folder, name):
    with open(os.path.join(folder, "data", name, "set.pack"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def round_trip(daemon, folder, name, content, kind, query=""):
    """Uploads a file, downloads the data set, uploads the download without any option, and compares. Returns the arrays and the document."""
    first = put(daemon, name, content, kind, query)
    file = download(daemon, name)
    second = put(daemon, name + "-again", file, NPZ)
    assert stored(folder, name) == stored(folder, name + "-again"), (name, first, second)
    assert download(daemon, name + "-again") == file, name
    for member in ("kind", "target", "samples", "shape", "vocabulary", "groups", "columns", "values", "first", "numbers", "boxes"):
        expected = str(first.get(member))
        assert str(second.get(member)) == expected, (name, member, second.get(member), first.get(member))
    return arrays_of(file), first


def images_with_every_kind_of_label_come_back(daemon, motifctl, folder):
    x = RNG.integers(0, 256, (12, 6, 5), dtype=np.uint8)
    flags = RNG.random((12, 4)) < 0.5
    flags[0], flags[1] = True, False
    arrays, _ = round_trip(daemon, folder, "sets", file_of(x=x, y=flags, names=WORDS, group=np.arange(12) % 3), NPZ)
    assert (arrays["x"][..., 0] == x).all() and arrays["x"].dtype == np.uint8
    order = [list(WORDS).index(name) for name in arrays["names"]]
    assert (arrays["y"] == flags[:, order]).all() and arrays["y"].dtype == bool and (arrays["group"] == np.arange(12) % 3).all()
    boxes = np.array([[0, 0, 2, 1, 3, "pax"], [4, 1, 6, 0, 5, "ctcf"], [0, 3, 4, 0, 1, "ctcf"]])
    many = flags.copy()
    many[4] = True
    arrays, _ = round_trip(daemon, folder, "boxes", file_of(x=x / np.float32(255), y=many, names=WORDS, boxes=boxes), NPZ)
    assert arrays["x"].dtype == np.float32 and np.allclose(arrays["x"][..., 0], x / 255)
    assert [[*row[:5], arrays["names"][row[5]]] for row in arrays["boxes"].tolist()] == \
        [[0, 0, 2, 1, 3, "pax"], [0, 3, 4, 0, 1, "ctcf"], [4, 1, 6, 0, 5, "ctcf"]]
    arrays, _ = round_trip(daemon, folder, "classes", file_of(x=x.astype(np.float32) - 3.5, y=WORDS[np.arange(12) % 4]), NPZ, "?target=class")
    assert (arrays["names"][arrays["y"]] == WORDS[np.arange(12) % 4]).all() and (arrays["x"][..., 0] == x - np.float32(3.5)).all()
    arrays, _ = round_trip(daemon, folder, "digits", file_of(x=x, y=np.arange(12) % 10 - 2), NPZ)
    assert (arrays["names"][arrays["y"]].astype(int) == np.arange(12) % 10 - 2).all()
    counts = RNG.integers(0, 5, (12, 4))
    counts[3] = 1
    arrays, _ = round_trip(daemon, folder, "counts", file_of(x=x, y=counts, names=WORDS), NPZ, "?target=count")
    assert (arrays["y"] == counts[:, [list(WORDS).index(name) for name in arrays["names"]]]).all()
    numbers = RNG.normal(0, 1, (12, 3)).astype(np.float32)
    arrays, _ = round_trip(daemon, folder, "numbers", file_of(x=x, y=numbers, names=np.array(["z", "a", "é"])), NPZ, "?target=number")
    assert (arrays["y"] == numbers).all() and list(arrays["names"]) == ["z", "a", "é"]
    arrays, _ = round_trip(daemon, folder, "sequence", file_of(x=x, y=np.array([[1, 0, -1], [0, 0, 1]] * 6)), NPZ, "?target=sequence")
    assert arrays["y"].tolist() == [[1, 0, -1], [0, 0, 1]] * 6
    arrays, _ = round_trip(daemon, folder, "bare", file_of(x=RNG.integers(0, 9, (7, 3, 9, 9)), id=np.array([f"s{i}" for i in range(7)])), NPZ,
                           "?layout=channels-last")
    assert arrays["x"].shape == (7, 3, 9, 9) and list(arrays["id"]) == [f"s{i}" for i in range(7)] and "y" not in arrays
    first = RNG.integers(0, 256, (7, 3, 9, 8))
    arrays, _ = round_trip(daemon, folder, "colours", file_of(x=first), NPZ)
    assert (arrays["x"] == first.transpose(0, 2, 3, 1)).all()


def sequences_of_different_lengths_come_back(daemon, motifctl, folder):
    lengths = RNG.integers(8, 40, 20)
    bases = [letters(n) for n in lengths]
    labels = ["", "ctcf", "ctcf gata ctcf", "gata"]
    arrays, _ = round_trip(daemon, folder, "fasta", "".join(f">r{i} {labels[i % 4]}\n{s}\n" for i, s in enumerate(bases)).encode(), "text/x-fasta")
    pieces = np.split(arrays["x"], np.cumsum(arrays["length"])[:-1])
    assert ["".join("ACGT"[at] for at in piece.argmax(1)) for piece in pieces] == bases and list(arrays["length"]) == list(lengths)
    assert [" ".join(arrays["names"][row[row >= 0]]) for row in arrays["y"]] == [labels[i % 4] for i in range(20)]
    assert list(arrays["id"]) == [f"r{i}" for i in range(20)]
    same = "".join(f">r{i} {labels[1 + i % 2]}\n{letters(30)}\n" for i in range(9)).encode()
    assert round_trip(daemon, folder, "equal", same, "text/x-fasta")[0]["x"].shape == (9, 1, 30, 4)
    rna = "".join(f">r{i} {labels[3]}\n{letters(30, 'ACGU')}\n" for i in range(9)).encode()
    arrays, first = round_trip(daemon, folder, "rna", rna, "text/x-fasta")
    assert "U" in first["first"][0]["text"] + first["first"][1]["text"], first["first"]
    counted = "".join(f">r{i} {labels[i % 4]}\n{letters(20 + i)}\n" for i in range(8)).encode()
    arrays, _ = round_trip(daemon, folder, "counted", counted, "text/x-fasta", "?target=count")
    assert arrays["y"].tolist() == [[0, 0], [1, 0], [2, 1], [0, 1]] * 2
    numbers = "".join(f">r{i} {i / 7} {-i}\n{letters(20 + i)}\n" for i in range(8)).encode()
    assert np.allclose(round_trip(daemon, folder, "measured", numbers, "text/x-fasta", "?target=number")[0]["y"], [[i / 7, -i] for i in range(8)])
    genes = tar_of(a_DOT_fa=f">chr1\n{letters(2500)}\n>chr2\n{letters(700)}\n".encode(),
                   a_DOT_gff3=("##gff-version 3\n" + "".join(f"chr1\tx\texon\t{a}\t{b}\t.\t+\t.\tParent=t1\n" for a, b in ((200, 400), (900, 1200)))).encode())
    arrays, first = round_trip(daemon, folder, "genes", genes, "application/x-tar")
    assert first["target"] == "positions", first
    assert set(np.unique(arrays["positions"])) == {-1, 0, 1, 2}, np.unique(arrays["positions"])
    motifs = "MEME version 4\n\nALPHABET= ACGT\n\n" + "".join(
        f"MOTIF M{i} name{i}\nletter-probability matrix: alength= 4 w= {4 + i} nsites= 20\n" + "0.1 0.2 0.3 0.4\n" * (4 + i) + "\n" for i in range(3))
    arrays, first = round_trip(daemon, folder, "motifs", motifs.encode(), "text/x-meme")
    assert list(arrays["length"]) == [4, 5, 6] and "kind=motifs" in arrays["options"]
    assert first["vocabulary"] == [{"name": f"M{i}", "alternative": f"name{i}", "count": 1} for i in range(3)], first["vocabulary"]
    printed = subprocess.run([motifctl, "--server", daemon.url, "datasets", "show", "motifs"], capture_output=True, text=True, check=True).stdout
    assert "3 motifs" in printed and "M1 (name1)" in printed, printed
    unsorted = file_of(x=RNG.normal(size=(6, 1, 11, 2)), positions=RNG.integers(-1, 2, (6, 11)), names=np.array(["z", "a", "unused"]))
    assert list(round_trip(daemon, folder, "ordered", unsorted, NPZ)[0]["names"]) == ["z", "a", "unused"]
    positions = RNG.integers(-1, 3, (6, 11))
    arrays, _ = round_trip(daemon, folder, "places", file_of(x=RNG.normal(size=(6, 1, 11, 2)), positions=positions), NPZ)
    assert (arrays["positions"] == positions).all()


def recordings_and_signals_come_back(daemon, motifctl, folder):
    sounds = {f"s{i}_DOT_wav": wav(RNG.uniform(-0.9, 0.9, 800 + 100 * i)) for i in range(4)}
    boxes = b"file,begin,end,symbol\ns0.wav,0.01,0.02,a\n"
    tar = tar_of(labels_DOT_csv=b"file,label\ns0.wav,a b\ns1.wav,b\ns2.wav,a\ns3.wav,a b\n", boxes_DOT_csv=boxes, **sounds)
    arrays, _ = round_trip(daemon, folder, "sounds", tar, "application/x-tar")
    assert list(arrays["length"]) == [800, 900, 1000, 1100] and "kind=recordings" in arrays["options"], (arrays["length"], arrays["options"])
    table = "label," + ",".join(f"p{i}" for i in range(9)) + "\n" + "".join("up," + ",".join(map(str, RNG.normal(0, 1, 9))) + "\n" for _ in range(5))
    arrays, _ = round_trip(daemon, folder, "signals", table.encode(), "text/csv", "?layout=signals")
    assert arrays["x"].shape == (5, 1, 9, 1) and list(arrays["columns"]) == [f"p{i}" for i in range(9)]
    round_trip(daemon, folder, "channels", file_of(x=RNG.normal(size=(5, 3, 20)), y=np.array(["a b", "b", "", "a", "b a"])), NPZ, "?layout=signals")


def tables_and_shards_come_back(daemon, motifctl, folder):
    table = "a,\"b, c\",é,label,group\n" + "".join(f"{i / 3},{-i},1e-9,{'T cell' if i % 2 else 'B cell'},env {i % 3}\n" for i in range(9))
    arrays, _ = round_trip(daemon, folder, "table", table.encode(), "text/csv")
    assert list(arrays["columns"]) == ["a", "b, c", "é"] and list(arrays["group"]) == [f"env {i % 3}" for i in range(9)]
    assert list(arrays["names"][arrays["y"]]) == ["T cell" if i % 2 else "B cell" for i in range(9)]
    activations = RNG.normal(size=(50, 16)).astype(np.float16)
    arrays, _ = round_trip(daemon, folder, "activations", file_of(x=activations, id=np.arange(50) * 10**12), NPZ)
    assert (arrays["x"] == activations.astype(np.float32)).all() and list(arrays["id"]) == [str(i * 10**12) for i in range(50)]
    shards = tar_of(s0_DOT_npz=file_of(x=activations[:20]), s1_DOT_npz=file_of(x=activations[20:]))
    assert (round_trip(daemon, folder, "shards", shards, "application/x-tar")[0]["x"] == activations.astype(np.float32)).all()
    pictures = tar_of(s0_DOT_npz=file_of(options=np.array(["target=class", "layout=channels-first"]), x=RNG.normal(size=(4, 2, 9, 7)), y=np.array(["b c", "a"] * 2)),
                      s1_DOT_npz=file_of(options=np.array(["target=class", "layout=channels-first"]), x=RNG.normal(size=(3, 2, 9, 7)), y=np.array(["a"] * 3)))
    assert round_trip(daemon, folder, "stated", pictures, "application/x-tar")[1]["target"] == "class"


def faults_of_files_that_state_options_are_named(daemon, motifctl, folder):
    x, ragged = np.zeros((2, 1, 6, 4)), np.zeros((9, 4))
    for arrays, text in (({"options": np.array(["target=clas"]), "x": x}, "'target=clas' is unknown"),
                         ({"options": np.arange(2), "x": x}, "must be text"),
                         ({"x": x, "options": np.array(["target=class"])}, "must come before x"),
                         ({"x": ragged, "length": np.array([4, 5])}, "must come before x"),
                         ({"length": np.array([4, 4]), "x": ragged}, "a sum of 9"),
                         ({"length": np.array([4, 0, 5]), "x": ragged}, "whole numbers from 1"),
                         ({"length": np.array([4, 5.5]), "x": ragged}, "whole numbers from 1"),
                         ({"length": np.array([4, 5]), "x": x}, "[sum of length][channels]"),
                         ({"length": np.array([4, 5]), "x": ragged, "positions": np.zeros((2, 5), int)}, "positions"),
                         ({"length": np.array([4, 5]), "x": ragged, "positions": np.arange(9), "names": np.array(["a", "b"])}, "not an index below 2"),
                         ({"length": np.array([4, 5]), "x": ragged, "positions": np.arange(9), "names": np.array(["a", "a"])}, "a name twice"),
                         ({"options": np.array(["y=index"]), "x": x, "y": np.array([0, 1])}, "must contain names"),
                         ({"options": np.array(["y=index"]), "x": x, "y": np.array([0, 2]), "names": np.array(["a", "b"])}, "not an index below 2"),
                         ({"options": np.array(["y=index", "boxes=index"]), "x": x, "y": np.array([0, 1]), "names": np.array(["a", "b"]),
                           "boxes": np.array([[0, 0, 1, 0, 2, 7]])}, "'7' is not an index"),
                         ({"options": np.array(["kind=motifs"]), "x": x}, "target=sequence"),
                         ({"options": np.array(["kind=motifs", "target=sequence"]), "x": x - 1, "y": np.array(["a", "b"])}, "no negative value"),
                         ({"options": np.array(["kind=recordings"]), "x": x}, "one channel"),
                         ({"options": np.array(["alphabet=rna"]), "x": np.zeros((2, 1, 6, 3))}, "four channels"),
                         ({"options": np.array(["profile=yes"]), "x": x}, "target=number")):
        problem = put(daemon, "bad", file_of(**arrays), NPZ, expected=422)
        assert text in str(problem), (text, problem)
    assert daemon.ask("GET", "/v1/datasets/bad")[0] == 404
    first = put(daemon, "chosen", file_of(options=np.array(["target=class"]), x=x, y=np.array(["a b", "b"])), NPZ, "?target=sequence")
    assert first["target"] == "sequence", first  # the option of the request has precedence


def clients_save_the_file(daemon, motifctl, folder):
    expected = download(daemon, "fasta")
    path = os.path.join(folder, "saved.npz")
    done = subprocess.run([motifctl, "--server", daemon.url, "datasets", "get", "fasta", "--output", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    with open(path, "rb") as file:
        assert file.read() == expected
    done = subprocess.run([motifctl, "--server", daemon.url, "datasets", "get", "fasta"], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0 and os.path.getsize(os.path.join(folder, "fasta.npz")) == len(expected), done
    with open("/dev/full", "w", encoding="ascii") as full:
        for words in (["--help"], ["--version"], ["datasets", "--help"], ["help", "submit"], ["--server", daemon.url, "version"], ["--server", daemon.url, "datasets"]):
            done = subprocess.run([motifctl, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            assert done.returncode == 1 and "output is incomplete" in done.stderr, (words, done)
    done = subprocess.run([motifctl, "--server", daemon.url, "datasets", "get", "nothing"], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode != 0 and "Only uploads can be downloaded" in done.stderr and not os.path.exists(os.path.join(folder, "nothing.npz")), done
    nowhere = os.path.join(folder, "missing", "x.npz")
    done = subprocess.run([motifctl, "--server", daemon.url, "datasets", "get", "fasta", "--output", nowhere], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"{nowhere}: cannot be written" in done.stderr, done
    pipe = os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    done = subprocess.run([motifctl, "--server", daemon.url, "datasets", "get", "fasta", "--output", pipe], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "is not a regular file" in done.stderr and not os.path.isfile(pipe), done
    client = motifd.Client(daemon.url)
    arrays = client.dataset("fasta")
    assert sorted(arrays) == ["id", "length", "names", "options", "x", "y"] and arrays["x"].shape[1] == 4
    assert client.dataset("fasta", path) is None
    with open(path, "rb") as file:
        assert file.read() == expected
    try:
        client.dataset("nothing", path)
    except motifd.MotifdError as error:
        assert error.status == 404 and "Only uploads" in error.detail, error
    else:
        raise AssertionError("a missing data set was downloaded")


def only_uploads_can_be_downloaded(daemon, motifctl, folder):
    os.makedirs(os.path.join(folder, "data", "genome"))
    status, headers, problem = daemon.ask("GET", "/v1/datasets/genome/data")
    assert status == 404 and "folder of the operator" in problem["detail"] and folder not in str(problem), problem
    for name in ("digitcircle", "..", "%2e%2e%2fdata", "UPPER"):
        assert daemon.ask("GET", f"/v1/datasets/{name}/data")[0] in (400, 404), name
    assert daemon.ask("HEAD", "/v1/datasets/fasta/data")[0] == 200
    assert daemon.ask("PUT", "/v1/datasets/fasta/data", b"x", NPZ)[0] == 405


def a_deleted_set_is_sent_to_its_end_and_memory_stays_small(daemon, motifctl, folder):
    x = RNG.integers(0, 256, (400, 100, 1000), dtype=np.uint8)  # 40 MB
    put(daemon, "large", file_of(x=x), NPZ)
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        before = int(next(line for line in file if line.startswith("RssAnon")).split()[1])
    client = motifd.Client(daemon.url)
    connection = client._connect()
    response = client._send(connection, "GET", "/v1/datasets/large/data", None, {})
    begin = response.read(1 << 20)
    assert daemon.ask("DELETE", "/v1/datasets/large")[0] == 204
    content = begin + response.read()
    connection.close()
    assert (arrays_of(content)["x"][..., 0] == x).all()
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        after = int(next(line for line in file if line.startswith("RssAnon")).split()[1])
    assert after - before < 10_000, (before, after)  # KiB; the file has 40 MB
    # A client that disconnects frees what its download held.
    put(daemon, "large", file_of(x=x), NPZ)
    connection = client._connect()
    client._send(connection, "GET", "/v1/datasets/large/data", None, {}).read(1 << 16)
    connection.close()
    threads = [threading.Thread(target=download, args=(daemon, "large")) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in range(100):  # the daemon closes a download after the client has its last byte
        with open(f"/proc/{daemon.process.pid}/maps", encoding="ascii") as file:
            still = sum("/large/set.pack" in line for line in file)
        if still == 0:
            break
        time.sleep(0.1)
    assert still == 0, still


def main():
    with tempfile.TemporaryDirectory(prefix="motifd-download-") as folder:
        with Daemon(sys.argv[1], os.path.join(folder, "m.db"), "--data", os.path.join(folder, "data")) as daemon:
            run_each((daemon, os.path.abspath(sys.argv[2]), folder), images_with_every_kind_of_label_come_back, sequences_of_different_lengths_come_back,
                     recordings_and_signals_come_back, tables_and_shards_come_back, faults_of_files_that_state_options_are_named,
                     clients_save_the_file, only_uploads_can_be_downloaded, a_deleted_set_is_sent_to_its_end_and_memory_stays_small)


if __name__ == "__main__":
    main()
