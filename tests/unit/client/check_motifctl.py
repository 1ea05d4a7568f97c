#!/usr/bin/env python3
"""Tests the help texts of motifctl, and that the completion for bash and zsh takes every command and option from them.

usage: check_motifctl.py MOTIFCTL COMPLETION MANUAL"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

failed = []
# Prints what bash offers for the last of the words $1, $2, ...
ASK = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _motifctl; printf "%s\\n" "${COMPREPLY[@]}"'


def check(name, good, detail=""):
    print(f"{'ok' if good else 'not ok'} {name}")
    if not good:
        print(detail)
        failed.append(name)


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def main(motifctl, completion, manual):
    overview = run(motifctl, "--help").stdout
    commands = re.findall(r"^  ([a-z]+) +\S", overview, re.M)
    helps = {name: run(motifctl, name, "--help").stdout for name in commands}
    options = {name: re.findall(r"^  (--[a-z-]+)", text, re.M) for name, text in helps.items()}
    check("motifctl: the overview lists the commands", len(commands) > 20 and "--watch" in options["submit"], overview)
    wide = [(name, line) for name, text in {"overview": overview, **helps}.items() for line in text.splitlines() if len(line) > 120]
    check("motifctl: no line of a help text is longer than 120 characters", not wide, wide)
    first = re.search(r"^most used:\n((?:    motifctl .*\n){3})\n", overview, re.M)
    check("motifctl: the overview begins with the three forms that are used most", first and overview.index("most used:") < overview.index("commands:"), overview)
    for name, text in helps.items():
        top = re.match(rf"usage: motifctl {name}\b.*\n\nmost used:\n((?:  .*\bmotifctl {name}\b.*\n){{1,3}})\n\S", text)
        check(f"motifctl: the help of {name} begins with the forms that are used most", top, text)
        check(f"motifctl: the help of {name} has no form twice", top and not any(line in text[top.end():].splitlines() for line in top.group(1).splitlines()), text)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(motifctl), os.path.join(folder, "motifctl"))
        environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "MOTIFD_SERVER": "http://127.0.0.1:1"}

        def offered(*words):
            result = run("bash", "-c", ASK, completion, "motifctl", *words, env=environment)
            check(f"motifctl: bash completes {words} without an error", result.returncode == 0 and not result.stderr, result.stderr)
            return result.stdout.split()

        check("motifctl: bash offers every command", sorted(offered("")) == sorted(commands), offered(""))
        check("motifctl: bash completes a command", offered("su") == ["submit"], offered("su"))
        for name in commands:
            check(f"motifctl: bash offers every option of {name}", sorted(offered(name, "--")) == sorted(options[name]), offered(name, "--"))
        check("motifctl: bash offers `latest` where a job stands", offered("plot", "la") == ["latest"], offered("plot", "la"))
        check("motifctl: bash offers no option after an option that takes a file", offered("plot", "latest", "--png", "-") == [], "")
    if shutil.which("groff"):
        result = run("groff", "-man", "-Tutf8", "-ww", "-z", manual)
        check("motifctl: groff accepts the manual page", result.returncode == 0 and not result.stderr, result.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:4])
    sys.exit(bool(failed))
