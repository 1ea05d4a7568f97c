#!/usr/bin/env python3
"""Tests that motifctl accepts every command of motifctl in the texts of the tree: findings, warnings, errors, help texts, the clients and the documents.

A command is the text between backticks, or a line that begins with it. Elsewhere in a sentence, only its name and the options right behind it count, and
"(motifctl: --target labels)" states options of an upload, a query or a job. Placeholders such as JOB and FILE get values. Each command runs without a
server, so that it ends at the latest when it cannot connect. Fields after --set must be in the reference of the fields.

usage: check_commands.py MOTIFCTL ROOT"""
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import tempfile

LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
VALUES = {"JOB": "latest", "ID": "latest", "A": "latest", "B": "latest", "N": "3", "K": "3", "SEQ": "3", "HERE": "latest", "THERE": "latest", "FIELD=VALUE": "seed=1", "FILE": "name.csv", "COMMAND": "list"}
MISSING = [[], ["latest"], ["latest", "latest"], ["name", "name.csv"], ["latest", "--input", "name.csv"], ["--preset", "dataset"]]  # what a mention of a command leaves out
UNKNOWN = {"sparcity", "test"}  # the documents show what an unknown field gives


def strings(path):
    """The texts of a source file: the literals of C, or the whole file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith((".c", ".h", ".inc")):
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("AGAIN", '"motifctl submit --like JOB "')
        for match in LITERALS.finditer(text):
            joined = "".join(part[1:-1] for part in re.findall(r'"(?:[^"\\\n]|\\.)*"', match.group()))
            yield re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), joined)
    else:
        yield text.replace("\\\n", " ")


def commands(text, prose):
    """(command, what may be missing at its end) for each command in a text."""
    text = re.sub(r"(?<=\S)%s", "", re.sub(r"%(?:lld|d|\.\d+s|g)", "1", text))
    text = re.sub(r"^ *%s", "", text).replace("%s", "x")
    for line in text.splitlines():
        for part in re.findall(r"`(?:\$ )?(motifctl [^`]*)`", line):
            yield part, "arguments"
        line = re.sub(r"`[^`]*`", "", line)
        begun = re.match(r"( *)(?:\$ |echo '.*' \| )?(motifctl [a-z].*)", line)
        if begun and (begun.group(1) or not prose):
            yield re.split(r"\s{3,}", begun.group(2))[0], ""
            continue
        for part in re.findall(r"motifctl: (--[a-z-]+(?: (?:[a-z]+|[A-Z]+|'[^']*'))?)", line):
            yield part, "command"
        for part in re.findall(r"\bmotifctl [a-z]+(?: --[a-z-]+)*", line):
            yield part, "sentence"


def words_of(command):
    """The words of each motifctl in a line of the shell."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    words = None
    for word in list(lexer) + [";"]:
        if word == "motifctl":
            words = []
        elif re.fullmatch(r"[();<>|&]+", word):
            if words is not None:
                yield words
            words = None
        elif words is not None:
            words.append(word)


def filled(word):
    if word in VALUES:
        return VALUES[word]
    return re.sub(r"^(NEW-)?[A-Z]+(-[A-Z]+)*(?=$|\.)", "name", word)


def main(motifctl, root):
    with open(os.path.join(root, "docs/reference/fields.md"), encoding="utf-8") as file:
        fields = set(re.findall(r"`([a-z0-9_]+)`", file.read()))
    known = re.findall(r"^  ([a-z]+) +\S", subprocess.run([motifctl, "--help"], capture_output=True, text=True).stdout, re.M)
    found = {}
    for top in ("core", "api", "server", "storage", "trainer", "protocol", "convert", "clients", "docs", "deploy", "examples", "README.md"):
        paths = [os.path.join(root, top)] if top.endswith(".md") else [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(root, top)) for name in names]
        for path in paths:
            if not path.endswith((".c", ".h", ".inc", ".py", ".ts", ".tsx", ".md")) or "/lab/" in path or "node_modules" in path:
                continue
            for text in strings(path):
                for command, whole in commands(text, path.endswith(".md")):
                    found.setdefault((command, whole), os.path.relpath(path, root))

    def refusal(words):
        """What motifctl says about the command line itself; None: nothing."""
        with tempfile.TemporaryDirectory() as folder:
            for word in words[1:]:
                if re.fullmatch(r"\w[\w.-]*\.\w+", word):
                    with open(os.path.join(folder, word), "w", encoding="utf-8") as file:
                        file.write('{"preset": "dataset"}')
            try:
                ran = subprocess.run([motifctl, *words], capture_output=True, text=True, timeout=20, cwd=folder, input='{"seed": 1}',
                                     env={**os.environ, "MOTIFD_SERVER": "http://127.0.0.1:1"})
            except subprocess.TimeoutExpired:
                return None  # it tries to reach the server
            return ran.stderr.strip().splitlines()[0] if ran.returncode == 2 else None

    def fault(item):
        (command, missing), path = item
        if re.search(r"\.\.\.|\[|…", command):
            return None
        try:
            split = list(words_of(command))
        except ValueError:  # the first line of a longer script
            split = list(words_of(command.split("|")[0]))
        if missing == "command":
            split = [command.split()]
        for words in split:
            words = [filled(word) for word in words]
            if words[:1] == ["x"]:  # the name of the command is not in the text
                continue
            unknown = [word for before, word in zip(words, words[1:]) if before == "--set" and "=" in word and word.split("=")[0] not in fields | UNKNOWN]
            if unknown:
                return f"{path}: {command!r}: there is no field {unknown[0]}"
            if missing == "sentence":
                tries = [[*words, "--help"]] if words[0] in known or len(words) > 1 else []
            elif missing == "command":
                tries = [["datasets", "put", "name", "name.csv", *words], ["predict", "latest", "--input", "name.csv", *words], ["submit", "--preset", "dataset", *words]]
            else:
                tries = [words + more for more in (MISSING if missing else [[]])]
            says = None
            for each in tries:
                said = refusal(each)
                says = says or said
                if not said:
                    break
            else:
                if says:
                    return f"{path}: {command!r}: {says}"
        return None

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        faults = [text for text in pool.map(fault, sorted(found.items())) if text]
    print(*sorted(faults), sep="\n")
    print(f"{len(found)} commands, {len(faults)} faults")
    return bool(faults) or len(found) < 200


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2]))
