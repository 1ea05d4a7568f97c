#!/usr/bin/env python3
"""Slurm's programs refuse, print nothing or something unexpected, or are missing. The job must fail with their message or continue. The daemon must remove
it from Slurm's queue when it is paused or cancelled, and must leave it there for the next daemon otherwise. A script stands in for Slurm's programs and
prints what the test has prepared.

usage: wire_slurm_refusals.py MOTIFD"""
import os
import shlex
import sys
import tempfile

import wire_process  # noqa: F401: finds the harness
from daemon import run_each
from wire_process import Daemon, await_, await_state, show

MOTIFD = sys.argv[1]
NAMES = ("sbatch", "scontrol", "squeue", "scancel", "srun")
SCRIPT = """#!/bin/sh
name=${0##*/} here=${0%/*}
echo "$name $*" >> "$here/calls"
[ ! -e "$here/$name.say" ] || . "$here/$name.say"
"""


class Played:
    def __init__(self, folder):
        self.folder = os.path.join(folder, "bin")
        os.mkdir(self.folder)
        self.as_usual()

    def as_usual(self):
        """Lets the programs behave normally: they report that Slurm's job 34 waits."""
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        for name in NAMES:
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(SCRIPT)
            os.chmod(os.path.join(self.folder, name), 0o755)
        self.say("sbatch", "34\n")
        self.say("squeue", "34 PENDING\n")

    def say(self, name, out="", err="", code=0):
        """Sets the output of a program for all later calls."""
        path = os.path.join(self.folder, name + ".say")
        with open(path + "~", "w") as file:
            file.write(f"printf %s {shlex.quote(err)} >&2\nprintf %s {shlex.quote(out)}\nexit {code}\n")
        os.rename(path + "~", path)

    def calls(self, name):
        path = os.path.join(self.folder, "calls")
        if not os.path.exists(path):
            return []
        with open(path) as file:
            return [line.rstrip() for line in file if line.startswith(name + " ")]


def failing_slurm_programs_fail_the_job(daemon, slurm):
    """The job must fail at once with the program's message, and leave nothing in Slurm's queue."""
    def no_program(name):
        return lambda: os.unlink(os.path.join(slurm.folder, name))
    for prepare, words in ((lambda: slurm.say("sbatch", "", "sbatch: error: Invalid account\n", 1), "sbatch: sbatch: error: Invalid account"),
                           (lambda: slurm.say("sbatch", "", "", 3), "sbatch: no reason given"),
                           (lambda: slurm.say("sbatch", ""), "contains no job number"),
                           (lambda: slurm.say("sbatch", "Submitted batch job 34\n34x\n" + "9" * 25 + "\n;\n"), "contains no job number"),
                           (lambda: slurm.say("scontrol", "", "slurm_suspend error: no\n", 1), "scontrol: slurm_suspend error: no"),
                           (no_program("scontrol"), "scontrol"), (no_program("sbatch"), "sbatch")):
        slurm.as_usual()
        prepare()
        failed = await_state(daemon, daemon.submit("slurm"), "failed")
        assert failed["error"]["code"] == "trainer-not-started" and words in failed["error"]["detail"], (words, failed)
        assert len(slurm.calls("scancel")) >= 1, slurm.calls("")


def unwanted_jobs_leave_the_queue(daemon, slurm):
    """A job is paused or cancelled while squeue fails. When squeue lists the job, waiting or running, the daemon must remove it from Slurm's queue."""
    for verb, state, row in (("pause", "paused", "34 PENDING"), ("cancel", "cancelled", "34 RUNNING"), ("pause", "paused", "34 COMPLETING"),
                             ("cancel", "cancelled", "34 SUSPENDED")):
        slurm.as_usual()
        slurm.say("sbatch", "a word before\n34;cluster\n")
        slurm.say("squeue", f"3 RUNNING\n340 RUNNING\n{row}\n")
        job = daemon.submit("slurm")
        await_("a release", lambda: slurm.calls("scontrol"))
        assert slurm.calls("scontrol") == ["scontrol release 34"]
        slurm.say("squeue", "", "slurm_load_jobs error: Unable to contact slurm controller\n", 1)
        before = len(slurm.calls("squeue"))
        await_("a question that is not answered", lambda: len(slurm.calls("squeue")) > before)  # waits for a second call, because a call that runs already may still succeed
        assert daemon.ask("POST", f"/v1/jobs/{job}/{verb}")[0] == 202
        before = len(slurm.calls("squeue"))
        await_("a question", lambda: len(slurm.calls("squeue")) > before + 1)
        before = len(slurm.calls("scancel"))
        assert show(daemon, job)["state"] == "running"
        slurm.say("squeue", f"3 RUNNING\n340 RUNNING\n{row}\n")
        await_("an end", lambda: len(slurm.calls("scancel")) > before)
        assert slurm.calls("scancel")[-1] == f"scancel --me --name motif-{job}"
        slurm.say("squeue", "340 RUNNING\n")
        await_state(daemon, job, state)


def a_waiting_job_is_adopted(daemon, slurm):
    """The daemon ends while the job waits in Slurm's queue. The next daemon must adopt the job and release it again."""
    slurm.as_usual()
    job = daemon.submit("slurm")
    await_("a question", lambda: slurm.calls("squeue"))
    assert daemon.end() == 0 and slurm.calls("scancel")[1:] == [], slurm.calls("scancel")
    daemon.start()
    await_("another release", lambda: len(slurm.calls("scontrol")) == 2)
    assert len(slurm.calls("sbatch")) == 1 and show(daemon, job)["state"] == "running"
    slurm.say("squeue", "")  # Slurm does not know the job any more, so the daemon submits it again
    await_("another submission", lambda: len(slurm.calls("sbatch")) == 2)
    slurm.say("squeue", "")
    await_("a third, or the pause before it", lambda: "is gone and did not report why" in open(daemon.log.name).read())
    assert daemon.end() == 0  # the daemon ends properly during the pause before the next try, too
    daemon.start()
    assert show(daemon, job)["state"] in ("queued", "running")
    assert daemon.ask("POST", f"/v1/jobs/{job}/cancel")[0] in (200, 202)
    await_state(daemon, job, "cancelled")


def main():
    with tempfile.TemporaryDirectory() as folder:
        slurm = Played(folder)
        with Daemon(MOTIFD, os.path.join(folder, "db"), "--executors", "thread,slurm", "--slurm-bin", slurm.folder,
                    log=open(os.path.join(folder, "log"), "w")) as daemon:
            run_each((daemon, slurm), failing_slurm_programs_fail_the_job, unwanted_jobs_leave_the_queue, a_waiting_job_is_adopted)


if __name__ == "__main__":
    main()
