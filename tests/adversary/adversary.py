#!/usr/bin/env python3
"""Attacks a daemon over the loopback interface with random configurations at the ends of their ranges, hostile models, simultaneous requests of two tokens,
broken uploads, files that unpack to much, names with control characters, slow clients, and SIGTERM at random moments. A build with AddressSanitizer finds the most faults. Prints how
often each outcome occurred. Exit code 1: the daemon crashed, did not answer or end in time, kept descriptors, answered with an internal error, or broke
another rule. A message states the rule.

The script starts the daemon again and again. Each time it makes three of the attacks at once, pauses to count the daemon's descriptors, makes the attacks
again, and meanwhile sends SIGTERM.

usage: adversary.py MOTIFD MOTIFCTL [--seconds 120] [--seed N] [--only ATTACK,...]"""
import argparse
import collections
import os
import random
import sys
import tempfile
import threading
import time

from attacks import ATTACKS
from target import LIMITS, MORE_DESCRIPTORS, Died, Target
from values import TINY

TOGETHER = 3
ATTACK_SECONDS = 9.0
LEAKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "leaks.suppressions")
ENV = {"ASAN_OPTIONS": "detect_leaks=1:quarantine_size_mb=16:allocator_may_return_null=1:abort_on_error=0", "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
       "LSAN_OPTIONS": f"suppressions={LEAKS}:print_suppressions=0"}


def prepare(target):
    """Reads the kinds and trains the model that the attacks change and query."""
    target.limits = LIMITS
    target.kinds = {kind["kind"]: kind for kind in target.ask("root", "GET", "/v1/kinds")[1]["kinds"]}
    target.trained = train(target)
    target.model = target.ask("root", "GET", f"/v1/jobs/{target.trained}/checkpoints/latest")[1]
    target.bundle = target.ask("root", "GET", f"/v1/jobs/{target.trained}/bundle")[1]


def train(target):
    _, job = target.ask("root", "POST", "/v1/jobs", {"kind": "sparling", "preset": "digitcircle-quick", "config": TINY})
    while target.job(job["id"]).get("state") != "succeeded":
        target.check_alive()
        time.sleep(0.1)
    return job["id"]


def attempts(target, attack, seed):
    dice = random.Random(seed)
    while not target.stop.is_set():
        try:
            attack(target, dice)
        except Exception as error:  # noqa: BLE001 - an attack that fails by itself is a failure of the test
            if not target.ending:
                target.fail(f"{attack.__name__} with seed {seed}: {error!r}")
            return
        if target.ending:
            time.sleep(0.05)
        else:
            target.count(target.attempted, attack.__name__)


def assault(target, attacks, seconds, seed, finish=lambda: None):
    """Repeats the attacks for a while, then calls `finish`, then ends the threads of the attacks."""
    target.stop = threading.Event()
    threads = [threading.Thread(target=attempts, args=(target, attack, f"{seed}-{attack.__name__}-{number}")) for attack, count in attacks for number in range(count)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    try:
        finish()
    finally:
        target.stop.set()
        for thread in threads:
            thread.join()


def life(target, attacks, seed):
    """Runs the daemon from its start to SIGTERM."""
    dice = random.Random(seed)
    target.trained = train(target)
    assault(target, attacks, 1, f"{seed}-warm")
    before = target.quiet()
    assault(target, attacks, ATTACK_SECONDS, f"{seed}-a")
    after = target.quiet()
    print(f"{' + '.join(attack.__name__ for attack, _ in attacks)}: descriptors {before[0]:.0f} to {after[0]:.0f}, memory {before[1] / 1e6:.0f} to {after[1] / 1e6:.0f} MB",
          flush=True)
    if after[0] > before[0] + MORE_DESCRIPTORS:
        target.fail(f"{after[0] - before[0]:.0f} descriptors stay open")
    target.forget()
    target.trained = train(target)
    assault(target, attacks, dice.uniform(0.2, 4), f"{seed}-b", lambda: (target.check_alive(), target.end()))
    target.start()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("motifd")
    parser.add_argument("motifctl")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the time of the day by default")
    parser.add_argument("--only", default="", help="names of attacks, separated by commas")
    given = parser.parse_args()
    wanted = [one for one in ATTACKS if not given.only or one[0].__name__ in given.only.split(",")]
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, value in ENV.items():
            os.environ[name] = f"{value}:log_path={folder}/sanitizer"
        target = Target(os.path.abspath(given.motifd), folder)
        target.motifctl, target.attempted, target.lives = os.path.abspath(given.motifctl), collections.Counter(), 0
        try:
            prepare(target)
            for number, attacks in enumerate(attack_groups(wanted, given.seed, given.seconds)):
                life(target, attacks, f"{given.seed}-{number}")
                target.lives += 1
            target.quiet()
            target.end()
        except Died:
            pass
        finally:
            target.daemon.process.kill()
    return report(target)


def attack_groups(wanted, seed, seconds):
    """Yields groups of attacks in which each attack occurs equally often, until the time is over."""
    dice, deck, until = random.Random(seed), [], time.monotonic() + seconds
    while time.monotonic() < until:
        if len(deck) < min(TOGETHER, len(wanted)):
            deck = dice.sample(wanted, len(wanted))
        yield deck[:TOGETHER]
        deck = deck[TOGETHER:]


def report(target):
    for what, counts in (("attempts", target.attempted), ("answers", target.answers), ("jobs", target.jobs)):
        print(f"{what}: {', '.join(f'{key} {counts[key]}' for key in sorted(counts, key=str))}")
    print(f"lives {target.lives}, timeouts {target.answers['timeouts']}, longest answer {target.longest_answer:.1f} s, longest end {target.longest_end:.1f} s, "
          f"failures {len(target.failures)}")
    print(f"{'not ok' if target.failures else 'ok'} adversary")
    return 1 if target.failures else 0


if __name__ == "__main__":
    sys.exit(main())
