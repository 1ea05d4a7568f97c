#!/usr/bin/env python3
"""What motifctl writes of itself: completions for three shells and the manual page hold every command and option.

usage: check_motifctl.py MOTIFCTL"""
import re
import shutil
import subprocess
import sys

failed = []


def check(name, good, detail=""):
    print(f"{'ok' if good else 'not ok'} {name}")
    if not good:
        print(detail)
        failed.append(name)


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True)


def main(motifctl):
    overview = run(motifctl, "--help").stdout
    commands = re.findall(r"^  ([a-z]+) +\S", overview, re.M)
    options = {name: re.findall(r"^  --([a-z-]+)", run(motifctl, name, "--help").stdout, re.M) for name in commands}
    check("motifctl: its commands are read", len(commands) > 20 and "watch" in options["submit"], overview)
    manual = run(motifctl, "manual").stdout
    for form in ("bash", "zsh", "fish"):
        script = run(motifctl, "completion", form).stdout
        lacks = [name for name in commands if not re.search(rf"\b{name}\b", script)]
        lacks += [f"{name} --{option}" for name in commands for option in options[name]
                  if not re.search(rf"(--|-l ){option}\b", script)]
        check(f"motifctl: completion {form} has all commands and options", not lacks, lacks)
        shell = shutil.which(form)
        if shell:
            result = run(shell, "-n", text=script)
            check(f"motifctl: {form} reads it", result.returncode == 0 and not result.stderr, result.stderr)
    asked = 'source <("$0" completion bash); COMP_WORDS=(motifctl $1); COMP_CWORD=$2; _motifctl; echo "${COMPREPLY[@]}"'
    for words, place, expected in (("su", 1, "submit"), ("submit --dr", 2, "--dry-run"), ("plot latest --pn", 3, "--png")):
        result = run("bash", "-c", asked, motifctl, words, str(place))
        check(f"motifctl: bash completes '{words}'", result.stdout.strip() == expected, result.stdout + result.stderr)
    page = manual.replace("\\-", "-")
    lacks = [name for name in commands if f'.SS "{name} ' not in page]
    lacks += [option for name in commands for option in options[name] if f"\\fB--{option}\\fR" not in page]
    check("motifctl: the manual has all commands and options", not lacks, lacks)
    if shutil.which("groff"):
        result = run("groff", "-man", "-Tutf8", "-ww", "-z", text=manual)
        check("motifctl: groff has nothing to say", result.returncode == 0 and not result.stderr, result.stderr)
    wrong = run(motifctl, "completion", "csh")
    check("motifctl: another shell is refused", wrong.returncode == 2 and "bash, zsh and fish" in wrong.stderr, wrong.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
    sys.exit(bool(failed))
