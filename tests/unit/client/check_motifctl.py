#!/usr/bin/env python3
"""Tests that the completions of motifctl for three shells, and its manual page, contain every command and option.

usage: check_motifctl.py MOTIFCTL"""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

failed = []


def check(name, good, detail=""):
    print(f"{'ok' if good else 'not ok'} {name}")
    if not good:
        print(detail)
        failed.append(name)


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True)


TYPED = (("motifctl su", "submit"), ("motifctl submit --dr", "--dry-run"), ("motifctl plot latest --pn", "--png"))


def completed(motifctl):
    """Completes in real fish and zsh; prints which of them is not installed."""
    with tempfile.TemporaryDirectory() as home:
        os.symlink(os.path.abspath(motifctl), os.path.join(home, "motifctl"))
        environment = {**os.environ, "HOME": home, "PATH": f"{home}:{os.environ['PATH']}", "TERM": "dumb"}
        for shell, place in (("fish", ".config/fish/completions/motifctl.fish"), ("zsh", "functions/_motifctl")):
            if not shutil.which(shell):
                print(f"skipped: {shell} is not installed, so its completion was not tried")
                continue
            path = os.path.join(home, place)
            os.makedirs(os.path.dirname(path))
            with open(path, "w") as file:
                file.write(run(motifctl, "completion", shell).stdout)
            for typed, expected in TYPED:
                got = (by_fish if shell == "fish" else by_zsh)(typed, home, environment)
                check(f"motifctl: {shell} completes '{typed}'", expected in got, repr(got))


def by_fish(typed, home, environment):
    return subprocess.run(["fish", "-c", f'complete -C "{typed}"'], env=environment, capture_output=True, text=True).stdout


def by_zsh(typed, home, environment):
    """Types words and a tab into a zsh and returns the completed line. Uses a pseudo-terminal, because zsh completes only at a terminal."""
    line = f"fpath=({home}/functions $fpath); autoload -Uz compinit && compinit -u -D; show() {{ zle -I; print -r -- \"<$BUFFER>\" }}\n"
    line += "zle -N show; bindkey '^X' show; print rea''dy\n"
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
    output = b""

    def until(sign):
        nonlocal output
        end = time.monotonic() + 60
        while sign not in output and time.monotonic() < end:
            if select.select([terminal], [], [], 1)[0]:
                output += os.read(terminal, 65536)
        return output

    os.write(terminal, line.encode())
    until(b"ready")
    output = b""
    os.write(terminal, typed.encode() + b"\t\x18")
    until(b">")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(terminal)
    return output.decode(errors="replace").rpartition("<")[2]


def main(motifctl):
    overview = run(motifctl, "--help").stdout
    commands = re.findall(r"^  ([a-z]+) +\S", overview, re.M)
    options = {name: re.findall(r"^  --([a-z-]+)", run(motifctl, name, "--help").stdout, re.M) for name in commands}
    check("motifctl: the overview lists the commands", len(commands) > 20 and "watch" in options["submit"], overview)
    helps = {"overview": overview, **{name: run(motifctl, name, "--help").stdout for name in commands}}
    wide = [(name, line) for name, text in helps.items() for line in text.splitlines() if len(line) > 120]
    check("motifctl: no line of a help text is longer than 120 characters", not wide, wide)
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
            check(f"motifctl: {form} accepts its completion", result.returncode == 0 and not result.stderr, result.stderr)
    asked = 'source <("$0" completion bash); COMP_WORDS=(motifctl $1); COMP_CWORD=$2; _motifctl; echo "${COMPREPLY[@]}"'
    for words, place, expected in (("su", 1, "submit"), ("submit --dr", 2, "--dry-run"), ("plot latest --pn", 3, "--png")):
        result = run("bash", "-c", asked, motifctl, words, str(place))
        check(f"motifctl: bash completes '{words}'", result.stdout.strip() == expected, result.stdout + result.stderr)
    completed(motifctl)
    page = manual.replace("\\-", "-")
    lacks = [name for name in commands if f'.SS "{name} ' not in page]
    lacks += [option for name in commands for option in options[name] if f"\\fB--{option}\\fR" not in page]
    check("motifctl: the manual has all commands and options", not lacks, lacks)
    if shutil.which("groff"):
        result = run("groff", "-man", "-Tutf8", "-ww", "-z", text=manual)
        check("motifctl: groff accepts the manual", result.returncode == 0 and not result.stderr, result.stderr)
    wrong = run(motifctl, "completion", "csh")
    check("motifctl: another shell is refused", wrong.returncode == 2 and "bash, zsh or fish" in wrong.stderr, wrong.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
    sys.exit(bool(failed))
