#!/usr/bin/env python3
"""The commands of motifd besides `serve`, and the start of the daemon: command lines, missing and wrong files, addresses, messages to the service manager,
missing executors, malformed requests at the console. Then every command and the start with one failing allocation or system call: the process must exit
with one of its exit codes and print the reason, or it must serve; its files must be complete or absent.

usage: wire_commands.py MOTIFD MOTIFD_FAULTS     MOTIF_FAULT_STRIDE=1 tries every allocation; the default is a sample"""
import concurrent.futures
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


def names_of_commands(folder):
    assert "motifd verify BUNDLE" in expect("help", 0).stdout
    expect("--help", 0, "Exit codes")
    expect("-h", 0, "--listen")
    expect("", 2, err="motifd serve")
    expect("sing", 2, err="motifd serve")
    for word in ("version", "--version"):
        expect(word, 0, "motifd ")
    expect("serve --help", 0, "--drain-ms")
    expect("serve --database x", 2, err="--database (flag): is not known; did you mean --db?")
    expect("serve more", 2, err="more (flag): is not expected here")
    expect("serve --workers", 2, err="needs a value")
    expect("serve --config /no/such", 2, err="config (file): ")


def benchmarks(folder):
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


def copies(folder):
    """Backup and restore: missing files, existing files, files that are no database; progress on a terminal."""
    db, copy, back = (os.path.join(folder, name) for name in ("a.db", "a.copy", "b.db"))
    daemon = Daemon(MOTIFD, db)
    assert daemon.end() == 0
    for name in ("backup", "restore"):
        expect([name, "--help"], 0, f"usage: motifd {name}")
        for words in ([], ["a", "b"], ["--db"], ["--db", "", "x"], ["--dB", "x", "y"], [""]):
            expect([name, *words], 2, err=f"usage: motifd {name}")
        expect([name, "--db", os.path.join(folder, "absent"), os.path.join(folder, "absent-too")], 1, err=f"motifd {name}: ")
    expect(["backup", copy], 0, copy, "all of it checked", MOTIFD_DB=db)
    expect(["backup", "--db", db, copy], 1, err="motifd backup: ")  # nothing is overwritten
    expect(["backup", "--db", db, os.path.join(folder, "no/such/place")], 1, err="motifd backup: ")
    expect(["restore", "--db", db, copy], 1, err="motifd restore: ")
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


def verifying(folder):
    text = os.path.join(folder, "text")
    expect("verify --help", 0, "usage: motifd verify")
    for words in ([], ["--from", "x", text], ["--from", "-1", text], ["--from"], ["--to", "0", text], ["--to"], ["--threads", "0", text], ["--threads", "1e3", text],
                  ["--threads"], ["--data"], ["--no-such", text], [text, text], ["--from", str(1 << 50), text], ["--to", "", text]):
        expect(["verify", *words], 2, err="usage: motifd verify")
    with open(text, "w") as file:
        file.write("no bundle")
    for name, code in ((text, 1), (os.path.join(folder, "absent"), 2), (folder, 2)):
        expect(["verify", "--data", folder, name], code, err="motifd verify: ")


def checking(folder):
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


def tokens(folder):
    db = os.path.join(folder, "t.db")
    for words in ([], ["sing"], ["create"], ["create", "--name"], ["create", "--name", "a", "--scope", "god"], ["create", "--name", "a", "--days", "x"],
                  ["create", "--name", "a", "--days", "-1"], ["revoke"], ["list", "more"], ["create", "--name", "a", "--no-such"]):
        got = run("token", *words, MOTIFD_DB=db)
        assert got.returncode == 2 and got.stderr, (words, got)
    assert not os.path.exists(db)
    with open("/dev/full", "w") as full:
        got = subprocess.run([MOTIFD, "token", "create", "--name", "unheard", "--db", db], stdout=full, stderr=subprocess.PIPE, text=True)
    assert got.returncode == 1 and "cannot be written" in got.stderr, got  # the error says that the token exists, so it can be revoked
    expect("token --help", 0, "usage: motifd token")
    expect(["token", "list", "--db", os.path.join(folder, "no/such/place")], 1, err="motifd token")
    long = os.path.join(folder, *["d" * 40] * 3)
    os.makedirs(long)
    expect(["token", "create", "--name", "far", "--db", os.path.join(long, "t.db")], 0, "motif_")  # the path is longer than the address of a socket may be
    daemon = Daemon(MOTIFD, os.path.join(long, "t.db"))
    try:
        expect(["token", "list", "--db", os.path.join(long, "t.db")], 0, "far")
    finally:
        assert daemon.end() == 0


def the_console(folder):
    """A malformed request gets an error or no answer; the next request is served."""
    db = os.path.join(folder, "c.db")
    daemon = Daemon(MOTIFD, db)

    def say(words, end=True):
        talk = socket.socket(socket.AF_UNIX)
        talk.settimeout(30)
        place = os.open(folder, os.O_RDONLY)
        talk.connect(f"/proc/self/fd/{place}/c.db-console")
        os.close(place)
        heard = b""
        try:
            talk.sendall(words)
            if end:
                talk.shutdown(socket.SHUT_WR)
            while got := talk.recv(4096):
                heard += got
        except (ConnectionResetError, BrokenPipeError):
            pass
        talk.close()
        return heard
    try:
        for words in (b"", b"no end", b"\0", b"token\0", b"a\0" * 40, b"token\0sing\0\0\0\0\0", b"token\0create\0\0\0\0\0"):
            heard = say(words)
            assert not heard.startswith(b"ok") and b"\n" in heard, (words, heard)
        assert not say(b"x" * (1 << 20), end=False).startswith(b"ok")
        gone = socket.socket(socket.AF_UNIX)
        gone.connect(os.path.join(folder, "c.db-console"))
        gone.close()
        expect(["token", "create", "--name", "heard", "--db", db], 0, "motif_")
        expect(["token", "list", "--db", db], 0, "heard")
    finally:
        assert daemon.end() == 0
    assert not os.path.exists(os.path.join(folder, "c.db-console"))
    # A socket that answers unlike a daemon.
    other = socket.socket(socket.AF_UNIX)
    other.bind(os.path.join(folder, "c.db-console"))
    other.listen(8)
    for answer in (b"", b"no line", b"ok", b"maybe\nso", b"\n", b"not found\nthis\n"):
        process = subprocess.Popen([MOTIFD, "token", "list", "--db", db], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        other.settimeout(60)
        talk, _ = other.accept()
        while talk.recv(4096):
            pass
        talk.sendall(answer)
        talk.close()
        out, err = process.communicate(timeout=60)
        assert process.returncode == 1 and err.startswith("motifd token: "), (answer, out, err)
    other.close()


class Started:
    """`motifd serve` until it prints its address, or ends."""

    def __init__(self, folder, *words, program=MOTIFD, listen="127.0.0.1:0", db=None, **environment):
        self.process = subprocess.Popen([program, "serve", "--listen", listen, "--db", db or os.path.join(folder, "s.db"), *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        # The daemon also serves when it could not print its address.
        self.silent = not select.select([self.process.stdout], [], [], 30)[0]
        self.line = "" if self.silent else self.process.stdout.readline()

    def end(self):
        """Returns the exit code and standard error."""
        if self.line or self.silent:
            self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


def starts(folder):
    good = [("127.0.0.1:0", (), "http://127.0.0.1:"), ("0.0.0.0:0", ("--token", "x" * 16), "http://0.0.0.0:"), ("localhost:0", (), "http://")]
    if os.path.exists("/proc/net/if_inet6") and os.path.getsize("/proc/net/if_inet6"):
        good += [("[::1]:0", (), "http://[::1]:"), ("[::]:0", ("--token", "x" * 16), "http://[::]:")]
    for listen, words, says in good:
        started = Started(folder, *words, listen=listen)
        code, err = started.end()
        assert code == 0 and says in started.line, (listen, started.line, err)
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    held.listen(1)
    for words, code, says in ((("--executors", "cloud"), 2, "must be names of executors"), (("--kernels", "abacus"), 2, "abacus"),
                              (("--executors", "mpirun", "--mpirun", "/no/such/mpirun"), 2, "there is no such --mpirun"),
                              (("--executors", "mpirun", "--mpirun", " "), 2, "--mpirun has no word"),
                              (("--executors", "slurm", "--slurm-bin", "/no/such"), 2, "there is no sbatch"),
                              (("--executors", "slurm", "--slurm-bin", "x" * 250), 2, "there is no sbatch"),
                              (("--tls-cert", "/no/such"), 2, "go together"), (("--tls-cert", "/no/such", "--tls-key", "/no/such"), 1, "cannot open the file")):
        started = Started(folder, *words)
        got, err = started.end()
        assert not started.line and got == code and says in err, (words, got, started.line, err)
    for listen, db, code, says in ((f"127.0.0.1:{held.getsockname()[1]}", None, 1, "in use"), ("0.0.0.0:0", None, 2, "a bearer token is needed"),
                                   ("192.0.2.1:0", None, 2, "a bearer token is needed"), ("127.0.0.1:0", folder, 1, "Is a directory"),
                                   ("127.0.0.1:0", os.path.join(folder, "no/such/db"), 1, "No such file or directory")):
        started = Started(folder, listen=listen, db=db)
        got, err = started.end()
        assert not started.line and got == code and says in err, (listen, got, err)


def the_manager(folder):
    """systemd is notified when the daemon is ready, regularly while it runs, and when it stops."""
    for name, address in (("file", os.path.join(folder, "notify")), ("abstract", f"@motifd-{os.getpid()}")):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(address.replace("@", "\0"))
        manager.settimeout(60)
        started = Started(folder, NOTIFY_SOCKET=address, WATCHDOG_USEC="200000")
        heard = b""
        while heard.count(b"WATCHDOG=1") < 2:
            heard += manager.recv(4096)
        assert b"READY=1" in heard, (name, heard)
        code, _ = started.end()
        manager.settimeout(1)
        try:
            while True:
                heard += manager.recv(4096)
        except TimeoutError:
            pass
        assert code == 0 and b"STOPPING=1" in heard, (name, heard)
        manager.close()
    for address in ("", "x", "relative/path", "/" + "x" * 200, os.path.join(folder, "nobody")):
        for limits in ({"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "300000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "much"}):
            assert Started(folder, NOTIFY_SOCKET=address, **limits).end()[0] == 0
            if STRIDE == 0:
                break


# ---- faults ---------------------------------------------------------------------------------------------

def told(mark):
    with open(mark) as file:
        return file.read().split()


def one_fault(place, make, check, text, number):
    """Returns how many more operations the fault would have needed; None: the fault happened."""
    home = tempfile.mkdtemp(dir=place)
    mark = os.path.join(home, "said")
    asked = {"MOTIF_FAULT": text, "MOTIF_FAULT_SAID": mark, "MOTIF_FAULT_ERRNO": str(number)}
    if "memory" in text:
        asked["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"
    code, out, err = make(home, asked)
    assert code in (0, 1, 2) and "Sanitizer" not in err and "runtime error" not in err, (text, code, err[-4000:])
    assert code == 0 or err, (text, "nothing is said")
    check(home, code, out)
    said = told(mark) if os.path.exists(mark) else ["yes"]
    shutil.rmtree(home)
    return None if said[0] == "yes" else int(said[1])


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


def whole(db):
    with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as connection:
        return connection.execute("pragma integrity_check").fetchone() == ("ok",)


def faults(folder):
    place, base = os.path.join(folder, "faults"), os.path.join(folder, "base.db")
    os.mkdir(place)
    assert Started(folder, db=base).end()[0] == 0
    expect(["token", "create", "--name", "old", "--db", base], 0)

    def words(*given):
        def make(home, asked):
            shutil.copy(base, os.path.join(home, "db"))
            got = run(*(word.replace("@", home) for word in given), program=FAULTS, **asked)
            return got.returncode, got.stdout, got.stderr
        return make

    def kept(home, code, out):
        assert whole(os.path.join(home, "db"))

    def made(home, code, out):
        kept(home, code, out)
        listed = run("token", "list", "--db", os.path.join(home, "db")).stdout
        assert ("new " in listed) == (code == 0) or code == 1, (code, out, listed)  # the token was stored, but could not be printed
        assert code != 0 or out.startswith("motif_"), out

    def copied(home, code, out):
        kept(home, code, out)
        assert os.path.exists(os.path.join(home, "copy")) == (code == 0) or code == 1
        if os.path.exists(os.path.join(home, "copy")):
            assert whole(os.path.join(home, "copy"))

    def serve(home, asked):
        shutil.copy(base, os.path.join(home, "db"))
        started = Started(home, "--data", os.path.join(home, "data"), "--executors", "thread,process", "--token", "x" * 16, program=FAULTS, db=os.path.join(home, "db"), **asked)
        code, err = started.end()
        return code, started.line, err

    sweep("token create", place, words("token", "create", "--name", "new", "--db", "@/db"), made, 2)
    sweep("token list", place, words("token", "list", "--db", "@/db"), kept, 2)
    sweep("token revoke", place, words("token", "revoke", "--name", "old", "--db", "@/db"), kept, 2)
    sweep("backup", place, words("backup", "--db", "@/db", "@/copy"), copied, 2)
    sweep("restore", place, words("restore", "--db", "@/copy", "@/db"), copied, 2)
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

    one(copies)  # forks, so it must run before threads start
    with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
        list(pool.map(one, (faults, benchmarks, starts, the_manager, verifying, names_of_commands, tokens, the_console, checking)))


if __name__ == "__main__":
    main()
