#!/usr/bin/env python3
"""The commands of motifd besides `serve`, and the start of the daemon: command lines, missing and wrong files, addresses, messages to the service manager,
missing executors, a program that answers `motifd token` in the daemon's place. Then the script runs every command and the start with one failing allocation or system call. The
process must exit with one of its exit codes and print the reason, or it must serve. Its files must be complete or absent.

usage: wire_commands.py MOTIFD MOTIFD_FAULTS     MOTIF_FAULT_STRIDE=1 tries every allocation; the default is a sample"""
import concurrent.futures
import fcntl
import json
import os
import pty
import random
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "harness")]
from daemon import Daemon  # noqa: E402

MOTIFD, FAULTS = (os.path.abspath(path) for path in sys.argv[1:3])
PATIENCE = 600  # seconds: a sanitizer makes trainings slow
STRIDE = int(os.environ.get("MOTIF_FAULT_STRIDE", "0"))
os.environ.update({"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":exitcode=99", "OPENBLAS_NUM_THREADS": "1"})


def run(*words, program=MOTIFD, **environment):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, env={**os.environ, **environment})


def expect(words, code, out="", err="", **environment):
    got = run(*words.split(), **environment) if isinstance(words, str) else run(*words, **environment)
    assert got.returncode == code and out in got.stdout and err in got.stderr, (words, code, out, err, got)
    return got


def every_command_has_a_help(folder):
    assert "motifd verify BUNDLE" in expect("help", 0).stdout
    expect("--help", 0, "Exit codes")
    expect("-h", 0, "--listen")
    expect("", 2, err="motifd serve")
    expect("sing", 2, err="motifd serve")
    for word in ("version", "--version"):
        expect(word, 0, "motifd ")
    expect("serve --help", 0, "--drain-ms")
    for words in ("--help", "serve --help", "bench --help", "check-config --help", "dataset --help", "token --help", "backup --help", "restore --help", "check --help", "compact --help", "verify --help"):
        wide = [line for line in expect(words, 0).stdout.splitlines() if len(line) > 120]
        assert not wide, (words, wide)
    for words in ("--help", "help", "version", "serve --help", "bench --help", "token --help"):  # a full disk
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([MOTIFD, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        assert done.returncode == 1 and done.stderr.startswith("motifd"), (words, done)
    expect("serve --database x", 2, err="--database (flag): is not known; did you mean --db?")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write('{"worker": 2, "header_timeout": 1}')
        file.flush()
        expect(["check-config", file.name], 1, "/worker: is not a setting; did you mean 'workers'?")
        expect(["check-config", file.name], 1, "did you mean 'header_timeout_ms'?")
    expect("serve more", 2, err="more (flag): is not expected here")
    expect("serve --workers", 2, err="needs a value")
    expect("serve --config /no/such", 2, err="config (file): ")


def each_benchmark_prints_one_object(folder):
    names = json.loads(expect("bench --list --json", 0).stdout)
    assert names["pathways"] and all(f"  {name} " in expect("bench --list", 0).stdout for name in names)
    expect("bench --help", 0, "usage: motifd bench")
    for words in ("", "a b", "rug --threads x", "rug --threads -1", "rug --batch", "rug --density 1e12", "rug --seconds 1s", "rug --clock sun", "rug --set width",
                  "rug --no-such", "rug " + "--set a=1 " * 33):
        expect("bench " + words, 2, err="usage: motifd bench")
    expect("bench nonsense", 2, err="/name: there is no benchmark nonsense")
    expect("bench sparling-step --preset nonsense --seconds 0.01", 2, err="nonsense")
    expect("bench sparling-step --set nonsense=1 --seconds 0.01", 2, err="/set: there is no field nonsense")
    expect("bench sparling-step --set width=wide --seconds 0.01", 2, err="/set: width must be an integer in ")
    expect("bench rug --kernels abacus --seconds 0.01", 2, err="abacus")
    found = json.loads(expect("bench passes --batch 1 --seconds 0.001 --threads 1 --kernels ref --json", 0).stdout)
    assert found["benchmark"] == "passes", found
    step = "bench sparling-step --preset small --set width=8 --set image_size=40 --batch 1 --seconds 0.001 --backward sparse --density 0.01 --clock processor"
    text = expect(step, 0, "sparling-step").stdout
    assert "benchmark " in text and not text.lstrip().startswith("{"), text
    expect("bench step-breakdown --preset small --batch 1 --seconds 0.001 --clock wall --backward auto", 0, "step-breakdown")


def backups_are_made_and_restored(folder):
    """Backup and restore with missing files, existing files and files that are no database, and their progress on a terminal."""
    db, copy, back = (os.path.join(folder, name) for name in ("a.db", "a.copy", "b.db"))
    daemon = Daemon(MOTIFD, db)
    assert daemon.end() == 0
    for name in ("backup", "restore"):
        expect([name, "--help"], 0, f"usage: motifd {name}")
        for words in ([], ["a", "b"], ["--db"], ["--db", "", "x"], ["--dB", "x", "y"], [""]):
            expect([name, *words], 2, err=f"usage: motifd {name}")
        expect([name, "--db", os.path.join(folder, "absent"), os.path.join(folder, "absent-too")], 1, err="the file to be copied does not exist")
    expect(["backup", copy], 0, copy, "all of it checked", MOTIFD_DB=db)
    expect(["backup", "--db", db, copy], 1, err="motifd backup: ")  # fails, because the copy exists already
    expect(["backup", "--db", db, os.path.join(folder, "no/such/place")], 1, err="the folder of the copy does not exist")
    expect(["restore", "--db", os.path.join(folder, "no/such/place"), copy], 1, err="the folder of the copy does not exist")
    expect(["restore", "--db", db, copy], 1, err="motifd restore: ")
    sets, copied = os.path.join(folder, "sets"), os.path.join(folder, "full.copy")
    os.makedirs(os.path.join(sets, "digits", "01"))
    for name, text in (("digits/01/a.wav", "sound" * 40000), ("digits/sha256", "abc"), (".part-x", "unfinished"), ("loose", "no data set")):
        with open(os.path.join(sets, name), "w") as file:
            file.write(text)
    os.symlink("/etc/passwd", os.path.join(sets, "digits", "link"))
    expect(["backup", "--db", db, "--data", sets, copied], 2, err="--data needs --with-data")
    expect(["backup", "--db", db, "--with-data", "--data", sets, copied], 0, copied, "1 data sets, 2 files")
    with open(os.path.join(copied + ".data", "digits", "01", "a.wav")) as file:
        assert file.read() == "sound" * 40000
    assert sorted(os.listdir(copied + ".data")) == ["digits"] and not os.path.lexists(os.path.join(copied + ".data", "digits", "link"))
    fresh, without = os.path.join(folder, "fresh"), os.path.join(folder, "without.copy")
    expect(["backup", "--db", db, "--with-data", "--data", sets + "-absent", without], 1, err=f"{sets}-absent does not exist")
    expect(["restore", "--db", without, "--with-data", copy], 1, err=f"{copy}.data does not exist")
    assert not os.path.exists(without) and not os.path.exists(without + ".data")
    expect(["restore", "--db", os.path.join(folder, "fresh.db"), "--with-data", copied], 0, "", "1 data sets, 2 files", MOTIFD_DATA=fresh)
    with open(os.path.join(fresh, "digits", "sha256")) as file:
        assert file.read() == "abc"
    expect(["restore", "--db", os.path.join(folder, "again.db"), "--with-data", "--data", fresh, copied], 0, "", "0 data sets, 0 files, 0.0 MB: all of it compared; 1 data sets existed")
    nightly = os.path.join(folder, "nightly")
    os.makedirs(os.path.join(nightly, "motifd-20250101-000000.db.data", "digits"))
    for name in ("motifd-20250101-000000.db", "motifd-20250102-000000.db", "motifd-notes.db"):
        open(os.path.join(nightly, name), "w").close()
    expect(["backup", "--db", db, "--with-data", "--data", sets, "--into", nightly, "--keep", "2"], 0, nightly, "1 data sets")
    kept = sorted(os.listdir(nightly))
    assert len(kept) == 4 and kept[0] == "motifd-20250102-000000.db" and kept[2] == kept[1] + ".data" and kept[3] == "motifd-notes.db", kept
    expect(["backup", "--db", db, "--keep", "2", "x"], 2, err="--keep needs --into")
    expect(["backup", "--db", db, "--into", nightly, "x"], 2, err="not both")
    expect(["serve", "--db", os.path.join(folder, "absent", "x.db")], 1, err="the folder of the database does not exist")
    expect(["serve", "--db", db, "--data", os.path.join(folder, "absent", "sets")], 1, err="the folder in which the data sets' folder should be does not exist")
    with open(os.path.join(folder, "text"), "w") as file:
        file.write("no database at all, but some text\n" * 100)
    expect(["restore", "--db", back, os.path.join(folder, "text")], 1, err="motifd restore: ")
    assert not os.path.exists(back)
    child, terminal = pty.fork()
    if child == 0:
        os.execv(MOTIFD, [MOTIFD, "restore", "--db", back, copy])
    shown = b""
    try:
        while got := os.read(terminal, 4096):
            shown += got
    except OSError:
        pass
    assert os.waitpid(child, 0)[1] == 0 and b"100 %" in shown and b"s left" in shown, shown
    daemon = Daemon(MOTIFD, back)
    assert daemon.end() == 0


def damage_is_found(folder):
    """`motifd check`, while the daemon runs and afterwards, on a database and data sets with one wrong byte."""
    db, sets = os.path.join(folder, "c.db"), os.path.join(folder, "sets")
    daemon = Daemon(MOTIFD, db, "--data", sets)
    assert daemon.ask("PUT", "/v1/datasets/small", b"a,b,label\n1,2,x\n2,3,y\n", "text/csv")[0] == 201
    job = daemon.submit(name="named")
    expect(["check", "--db", db, "--with-data"], 0, "1 data sets, 4 files", MOTIFD_DATA=sets)
    assert daemon.end() == 0
    before = sorted(os.listdir(folder))
    expect(["check"], 0, "no faults", MOTIFD_DB=db)
    assert sorted(os.listdir(folder)) == before, (before, os.listdir(folder))
    subprocess.run(["sha256sum", "--check", "--quiet", "digests"], cwd=os.path.join(sets, "small"), check=True)
    for words in (["more"], ["--db"], ["--db", ""], ["--no-such"], ["--data", sets]):
        expect(["check", *words], 2, err="usage: motifd check")
    expect(["check", "--db", os.path.join(folder, "absent")], 2, err="the file does not exist")
    expect(["check", "--db", db, "--with-data", "--data", sets + "-absent"], 2, err="the folder of data sets does not exist")
    pack = os.path.join(sets, "small", "set.pack")
    with open(pack, "r+b") as file:
        file.seek(40)
        file.write(b"Q")
    expect(["check", "--db", db, "--with-data", "--data", sets], 1, "file set.pack of data set small: does not match its digest; copy")
    with open(db, "r+b") as file:  # the name of the job, which is in its row and in an index
        content = file.read()
        while (at := content.rfind(b"named")) >= 0:
            file.seek(at)
            file.write(b"\x1b[2Jd")
            content = content[:at]
    found = expect(["check", "--db", db], 1, f"job {job}: does not match its digest; restore the last backup, or export")
    assert "\x1b" not in found.stdout, found
    expect(["backup", "--db", db, db + ".copy"], 1, err=f"job {job} does not match its digest")
    assert not os.path.exists(db + ".copy")


def a_database_is_compacted(folder):
    """`motifd compact` needs a database that no daemon has open, and makes none."""
    db = os.path.join(folder, "compact.db")
    daemon = Daemon(MOTIFD, db)
    daemon.submit(name="kept")
    expect(["compact", "--db", db], 1, err="a running daemon compacts its database itself")
    assert daemon.end() == 0
    found = expect(["compact", "--db", db], 0, "MB before").stdout
    assert found.startswith(f"{db}: ") and found.rstrip().endswith("MB now"), found
    expect(["compact"], 0, "MB now", MOTIFD_DB=db)
    expect(["check", "--db", db], 0, "1 jobs")
    for words in (["more"], ["--db"], ["--db", ""], ["--no-such"]):
        expect(["compact", *words], 2, err="usage: motifd compact")
    absent = os.path.join(folder, "absent.db")
    expect(["compact", "--db", absent], 1, err="No such file")
    assert not os.path.exists(absent)
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([MOTIFD, "compact", "--db", db], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 1 and "the output is incomplete" in done.stderr, done


def wrong_bundles_are_refused(folder):
    text = os.path.join(folder, "text")
    expect("verify --help", 0, "usage: motifd verify")
    for words in ([], ["--from", "x", text], ["--from", "-1", text], ["--from"], ["--to", "0", text], ["--to"], ["--threads", "0", text], ["--threads", "1e3", text],
                  ["--threads"], ["--data"], ["--no-such", text], [text, text], ["--from", str(1 << 50), text], ["--to", "", text]):
        expect(["verify", *words], 2, err="usage: motifd verify")
    with open(text, "w") as file:
        file.write("no bundle")
    for name, code in ((text, 1), (os.path.join(folder, "absent"), 2), (folder, 2)):
        expect(["verify", "--data", folder, name], code, err="motifd verify: ")
    # motifd prints the control characters of a bundle as escapes, so that they cannot control the terminal.
    head = json.dumps({"a\x1b[31m\u202eb": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}).encode()
    with open(text, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head + b"\0\0")
    message = expect(["verify", text], 1, err="\\u202eb").stderr
    assert "\x1b" not in message and "\u202e" not in message, message


def check_config_prints_every_fault(folder):
    def file(text):
        with open(os.path.join(folder, "checked"), "w") as out:
            out.write(text)
        return ["check-config", os.path.join(folder, "checked")]
    expect("check-config", 2, err="usage: motifd check-config")
    expect("check-config /no/such", 2, err="cannot open")
    expect(file('{"kind":"sparling","preset":"digitcircle-quick"}'), 0)
    got = run(*file('{"kind":"sparling","config":{"wdth":3}}'))
    assert got.returncode == 1 and "did you mean 'width'" in got.stdout + got.stderr, got
    expect(file('{"workers":3}'), 0)
    for text in ('{"workers":"3"}', '{"workers":3,"wrkers":3}', "{", "", "[]"):
        expect(file(text), 1)


def tokens_are_added_listed_and_revoked(folder):
    db = os.path.join(folder, "t.db")
    for words in ([], ["sing"], ["create"], ["create", "--name"], ["create", "--name", "a", "--scope", "god"], ["create", "--name", "a", "--days", "x"],
                  ["create", "--name", "a", "--days", "-1"], ["revoke"], ["list", "more"], ["create", "--name", "a", "--no-such"]):
        got = run("token", *words, MOTIFD_DB=db)
        assert got.returncode == 2 and got.stderr, (words, got)
    assert not os.path.exists(db)
    with open("/dev/full", "w") as full:
        got = subprocess.run([MOTIFD, "token", "create", "--name", "unheard", "--db", db], stdout=full, stderr=subprocess.PIPE, text=True)
    assert got.returncode == 1 and "cannot be written" in got.stderr, got  # the error says that the token exists, so that the user can revoke it
    expect("token --help", 0, "usage: motifd token")
    expect(["token", "list", "--db", os.path.join(folder, "no/such/place")], 1, err="motifd token")
    long = os.path.join(folder, *["d" * 40] * 3)
    os.makedirs(long)
    expect(["token", "create", "--name", "far", "--db", os.path.join(long, "t.db")], 0, "motif_")
    daemon = Daemon(MOTIFD, os.path.join(long, "t.db"))
    try:
        expect(["token", "list", "--db", os.path.join(long, "t.db")], 0, "far")
    finally:
        assert daemon.end() == 0


def odd_answers_are_reported(folder):
    """Another program has the database open, and answers `motifd token` unlike a daemon. A daemon that answers 401 has replaced the key."""
    db = os.path.join(folder, "c.db")
    expect(["token", "create", "--name", "first", "--db", db], 0, "motif_")
    other = socket.create_server(("127.0.0.1", 0))
    other.settimeout(60)
    lock = os.open(db + "-lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    expect(["token", "list", "--db", db], 1, err="another process has the database open")  # there is no key
    for answer in (b"", b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno",
                   b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}", b'HTTP/1.1 409 No\r\nContent-Length: 16\r\n\r\n{"detail":"odd"}'):
        with open(db + "-key", "w", encoding="ascii") as key:
            key.write(f"http://127.0.0.1:{other.getsockname()[1]}\nmotif_key\n")
        process = subprocess.Popen([MOTIFD, "token", "list", "--db", db], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        talk, _ = other.accept()
        request = b""
        while b"\r\n\r\n" not in request:
            request += talk.recv(4096)
        assert b"Authorization: Bearer motif_key\r\n" in request, request
        os.unlink(db + "-key")
        talk.sendall(answer)
        talk.close()
        out, err = process.communicate(timeout=60)
        assert process.returncode == 1 and not out and err.startswith("motifd token: "), (answer, out, err)
    os.close(lock)
    other.close()


class Started:
    """Runs `motifd serve` and waits until it prints its address or ends."""

    def __init__(self, folder, *words, program=MOTIFD, listen="127.0.0.1:0", db=None, **environment):
        self.process = subprocess.Popen([program, "serve", "--listen", listen, "--db", db or os.path.join(folder, "s.db"), *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        # A daemon that cannot print its address serves all the same.
        self.silent = not select.select([self.process.stdout], [], [], 30)[0]
        self.line = "" if self.silent else self.process.stdout.readline()

    def end(self):
        """Returns the exit code and standard error."""
        if self.line or self.silent:
            self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


def the_daemon_starts_or_says_why_not(folder):
    good = [("127.0.0.1:0", (), "http://127.0.0.1:"), ("0.0.0.0:0", ("--token", "x" * 16), "http://0.0.0.0:"), ("localhost:0", (), "http://")]
    if os.path.exists("/proc/net/if_inet6") and os.path.getsize("/proc/net/if_inet6"):
        good += [("[::1]:0", (), "http://[::1]:"), ("[::]:0", ("--token", "x" * 16), "http://[::]:")]
    for listen, words, says in good:
        started = Started(folder, *words, listen=listen)
        code, err = started.end()
        assert code == 0 and says in started.line, (listen, started.line, err)
    programs = os.path.join(folder, "slurm")
    os.mkdir(programs)
    with open(os.path.join(programs, "sbatch"), "w", encoding="ascii") as script:
        script.write("#!/bin/sh\n")
    os.chmod(os.path.join(programs, "sbatch"), 0o755)
    slurm = ("--executors", "slurm", "--slurm-bin", programs)
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    held.listen(1)
    for words, code, says in ((("--executors", "cloud"), 2, "must be names of executors"), (("--kernels", "abacus"), 2, "abacus"),
                              (("--executors", "mpirun", "--mpirun", "/no/such/mpirun"), 2, "the program of --mpirun is not installed"),
                              (("--executors", "mpirun", "--mpirun", " "), 2, "--mpirun is empty"),
                              (("--executors", "slurm", "--slurm-bin", "/no/such"), 2, "there is no sbatch"),
                              (("--executors", "slurm", "--slurm-bin", "x" * 250), 2, "there is no sbatch"),
                              (("--executors", "slurm", "--slurm-bin", "x" * 1020), 2, "there is no sbatch"),
                              ((*slurm, "--slurm-options", "-v " * 40), 2, "--slurm-options has too many words"),
                              ((*slurm, "--srun", "srun " * 40), 2, "--srun is empty or has too many words"), ((*slurm, "--srun", " "), 2, "--srun is empty"),
                              (("--tls-cert", "/no/such"), 2, "go together"), (("--tls-cert", "/no/such", "--tls-key", "/no/such"), 1, "cannot open the file")):
        started = Started(folder, *words)
        got, err = started.end()
        assert not started.line and got == code and says in err, (words, got, started.line, err)
    for listen, db, code, says in ((f"127.0.0.1:{held.getsockname()[1]}", None, 1, "in use"), ("0.0.0.0:0", None, 2, "a bearer token is needed"),
                                   ("192.0.2.1:0", None, 2, "a bearer token is needed"), ("127.0.0.1:0", folder, 1, "Is a directory"),
                                   ("127.0.0.1:0", os.path.join(folder, "no/such/db"), 1, "the folder of the database does not exist")):
        started = Started(folder, listen=listen, db=db)
        got, err = started.end()
        assert not started.line and got == code and says in err, (listen, got, err)


def systemd_is_notified(folder):
    """systemd is notified when the daemon is ready, regularly while it runs, and when it stops."""
    for name, address in (("file", os.path.join(folder, "notify")), ("abstract", f"@motifd-{os.getpid()}")):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(address.replace("@", "\0"))
        manager.settimeout(60)
        started = Started(folder, NOTIFY_SOCKET=address, WATCHDOG_USEC="200000")
        received = b""
        while received.count(b"WATCHDOG=1") < 2:
            received += manager.recv(4096)
        assert b"READY=1" in received, (name, received)
        code, _ = started.end()
        manager.settimeout(1)
        try:
            while True:
                received += manager.recv(4096)
        except TimeoutError:
            pass
        assert code == 0 and b"STOPPING=1" in received, (name, received)
        manager.close()
    for address in ("", "x", "relative/path", "/" + "x" * 200, os.path.join(folder, "nobody")):
        for limits in ({"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "300000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "much"}):
            assert Started(folder, NOTIFY_SOCKET=address, **limits).end()[0] == 0
            if STRIDE == 0:
                break


# ---- faults ---------------------------------------------------------------------------------------------

def report_words(path):
    with open(path) as file:
        return file.read().split()


def one_fault(place, make, check, text, number):
    """Runs the program with one fault. Returns None if the fault happened, otherwise how many more operations it would have needed."""
    home = tempfile.mkdtemp(dir=place)
    report = os.path.join(home, "report")
    variables = {"MOTIF_FAULT": text, "MOTIF_FAULT_REPORT": report, "MOTIF_FAULT_ERRNO": str(number)}
    if "memory" in text:
        variables["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"
    code, out, err = make(home, variables)
    assert code in (0, 1, 2) and "Sanitizer" not in err and "runtime error" not in err, (text, code, err[-4000:])
    assert code == 0 or err, (text, "no error message")
    check(home, code, out)
    outcome = report_words(report) if os.path.exists(report) else ["yes"]
    shutil.rmtree(home)
    return None if outcome[0] == "yes" else int(outcome[1])


def sweep(name, place, make, check, few):
    dice = random.Random(name)
    begun = time.monotonic()
    for kind, number, some in (("memory", 12, few), ("call", 5, (few + 1) // 2), ("call", 28, 1)):
        many = 1 << 30
        took = many - one_fault(place, make, check, f"{kind}:{many}", number)
        places = range(dice.randrange(STRIDE), took, STRIDE) if STRIDE else dice.sample(range(took), min(some, took))
        with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
            came = sum(left is None for left in pool.map(lambda at: one_fault(place, make, check, f"{kind}:{at}", number), places))
        print(f"ok {name}: {came} of {took} {kind}, {time.monotonic() - begun:.1f} s", flush=True)


def database_is_whole(db):
    with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as connection:
        return connection.execute("pragma integrity_check").fetchone() == ("ok",)


def each_single_fault_is_reported(folder):
    place, base = os.path.join(folder, "faults"), os.path.join(folder, "base.db")
    os.mkdir(place)
    assert Started(folder, db=base).end()[0] == 0
    expect(["token", "create", "--name", "old", "--db", base], 0)

    def words(*given):
        def make(home, variables):
            shutil.copy(base, os.path.join(home, "db"))
            got = run(*(word.replace("@", home) for word in given), program=FAULTS, **variables)
            return got.returncode, got.stdout, got.stderr
        return make

    def kept(home, code, out):
        assert database_is_whole(os.path.join(home, "db"))

    def made(home, code, out):
        kept(home, code, out)
        listed = run("token", "list", "--db", os.path.join(home, "db")).stdout
        assert ("new " in listed) == (code == 0) or code == 1, (code, out, listed)  # exit code 1 with a stored token: motifd could not print the token
        assert code != 0 or out.startswith("motif_"), out

    def copied(home, code, out):
        kept(home, code, out)
        assert os.path.exists(os.path.join(home, "copy")) == (code == 0) or code == 1
        if os.path.exists(os.path.join(home, "copy")):
            assert database_is_whole(os.path.join(home, "copy"))

    def serve(home, variables):
        shutil.copy(base, os.path.join(home, "db"))
        started = Started(home, "--data", os.path.join(home, "data"), "--executors", "thread,process", "--token", "x" * 16, program=FAULTS, db=os.path.join(home, "db"), **variables)
        code, err = started.end()
        return code, started.line, err

    def told(home, code, out):
        assert code != 0 or out == HELP, (code, out)

    HELP = run("--help").stdout
    sweep("help", place, words("--help"), told, 8)
    sweep("token create", place, words("token", "create", "--name", "new", "--db", "@/db"), made, 2)
    sweep("token list", place, words("token", "list", "--db", "@/db"), kept, 2)
    sweep("token revoke", place, words("token", "revoke", "--name", "old", "--db", "@/db"), kept, 2)
    sweep("backup", place, words("backup", "--db", "@/db", "@/copy"), copied, 2)
    sweep("restore", place, words("restore", "--db", "@/copy", "@/db"), copied, 2)
    sweep("check", place, words("check", "--db", "@/db", "--with-data", "--data", "@"), kept, 2)
    sweep("compact", place, words("compact", "--db", "@/db"), kept, 2)
    sweep("check-config", place, words("check-config", "/no/such"), kept, 1)
    sweep("bench", place, words("bench", "--list", "--json"), kept, 1)
    sweep("serve", place, serve, kept, 8)


def main():
    def one(check):
        if sys.argv[3:] and check.__name__ not in sys.argv[3:]:
            return
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            check(folder)
        print(f"ok {check.__name__} {time.monotonic() - begun:.1f} s", flush=True)

    one(backups_are_made_and_restored)  # forks, so it must run before threads start
    with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
        list(pool.map(one, (each_single_fault_is_reported, each_benchmark_prints_one_object, the_daemon_starts_or_says_why_not, systemd_is_notified,
                            wrong_bundles_are_refused, every_command_has_a_help, tokens_are_added_listed_and_revoked,
                            odd_answers_are_reported, check_config_prints_every_fault, damage_is_found, a_database_is_compacted)))


if __name__ == "__main__":
    main()
