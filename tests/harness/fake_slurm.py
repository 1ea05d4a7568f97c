#!/usr/bin/env python3
"""A stand-in for Slurm: the programs sbatch, scontrol, squeue, scancel and srun in one file. The name under which it is started selects the program. A job is
a file in $FAKE_SLURM and, while it runs, also a process. While the file $FAKE_SLURM/busy exists, released jobs wait."""
import glob
import json
import os
import signal
import subprocess
import sys
import time

HOME = os.environ.get("FAKE_SLURM", "")


def path(number):
    return os.path.join(HOME, f"{number}.job")


def jobs():
    found = []
    for name in glob.glob(path("*")):
        with open(name) as file:
            found.append(json.load(file))
    return sorted(found, key=lambda job: job["number"])


def store(job):
    with open(path(job["number"]) + "~", "w") as file:
        json.dump(job, file)
    os.rename(path(job["number"]) + "~", path(job["number"]))


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def state(job):
    if job["pid"] and lives(job["pid"]):
        return "RUNNING"
    return "PENDING" if job["pid"] == 0 or job["requeued"] else None


def begin(job):
    script = os.path.join(HOME, f"{job['number']}.script")
    with open(script, "w") as file:
        file.write(job["script"])
    os.chmod(script, 0o700)
    with open(os.path.join(HOME, f"{job['number']}.log"), "a") as log:
        job["pid"] = subprocess.Popen([script, *job["words"]], env=job["environment"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                                      start_new_session=True).pid
    job["begun"] += 1
    job["requeued"] = False
    store(job)


def end(job):
    """Ends a job as Slurm does: SIGTERM to all processes, then SIGKILL to those that remain."""
    for number, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 10)):
        until = time.monotonic() + patience
        if job["pid"] and lives(job["pid"]):
            os.killpg(job["pid"], number)
        while job["pid"] and lives(job["pid"]) and time.monotonic() < until:
            time.sleep(0.05)


def preempt(number):
    """For tests: ends a job and starts it again, like a preemption."""
    job = next(job for job in jobs() if job["number"] == number)
    job["requeued"] = True  # the job stays in the queue
    store(job)
    end(job)
    begin(job)


def main():
    name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
    if name == "sbatch":
        at = words.index("/dev/stdin")
        options = words[:at]
        number = len(jobs()) + 1
        assert "--hold" in options and "--parsable" in options and "--requeue" in options, options
        store({"number": number, "name": options[options.index("--job-name") + 1], "options": options, "words": words[at + 1:],
               "script": sys.stdin.read(), "environment": dict(os.environ), "pid": 0, "begun": 0, "gone": False, "requeued": False})
        print("sbatch: a word to nobody", file=sys.stderr)
        print(number)
    elif name == "scontrol":
        assert words[0] == "release", words
        job = next(job for job in jobs() if job["number"] == int(words[1]))
        if job["begun"] == 0 and not job["gone"] and not os.path.exists(os.path.join(HOME, "busy")):
            begin(job)
    elif name == "squeue":
        assert words[words.index("--format") + 1] == "%A %T", words
        for job in jobs():
            if job["name"] == words[words.index("--name") + 1] and not job["gone"] and state(job):
                print(job["number"], state(job))
    elif name == "scancel":
        for job in jobs():
            if job["name"] == words[words.index("--name") + 1] and not job["gone"]:
                end(job)
                job["gone"] = True
                store(job)
    elif name == "srun":
        program = next(i for i, word in enumerate(words) if word.endswith("motif-train-mpi"))
        ranks = words[words.index("--ntasks") + 1]
        os.execvp("mpirun", ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-np", ranks, *words[program:]])


if __name__ == "__main__":
    main()
