#!/usr/bin/env python3
"""Tests jobs of the executor slurm. tests/harness/fake_slurm.py stands in for sbatch, scontrol, squeue, scancel and srun. Jobs must give the same bits as
with the thread executor. The test cancels waiting jobs, pauses and preempts jobs, kills a trainer, and kills the daemon while the trainer continues. The
command lines of Slurm's programs may contain only numbers and names that the daemon made. tests/reproduce/slurm.sh tests the same with the real Slurm.

usage: wire_slurm.py MOTIFD"""
import os
import shutil
import signal
import sys
import tempfile

import wire_process  # noqa: F401: finds the harness
from daemon import allow_mpi, run_each
from wire_process import LONG, Daemon, await_, await_state, await_steps, compare, outcome, show

MOTIFD = sys.argv[1]
FAKE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness", "fake_slurm.py"))
BESIDE = os.path.dirname(os.path.realpath(MOTIFD))
allow_mpi()


def submit(daemon, executor="slurm", ranks=1, name=None, **changes):
    return daemon.submit(executor, ranks, name, **changes)


def of(fake, job):
    """Returns the Slurm jobs that the daemon submitted for this job."""
    return [row for row in fake.jobs() if row["name"] == f"motif-{job}"]


def none_lives(fake, job):
    await_("the end of its processes", lambda: not any(row["pid"] and fake.lives(row["pid"]) for row in of(fake, job)))


def running(daemon, fake, job):
    await_steps(daemon, job)
    rows = [row for row in of(fake, job) if fake.state(row) == "RUNNING" and not row["gone"]]
    assert len(rows) == 1, rows
    return rows[0]


def slurm_jobs_give_the_expected_bits(daemon, fake):
    wanted = outcome(daemon, submit(daemon, "thread"))
    job = submit(daemon, name="$(touch /tmp/x); `id` --wrap")
    compare(outcome(daemon, job), wanted)
    none_lives(fake, job)
    row, = of(fake, job)
    assert row["script"] == '#!/bin/sh\nexec "$@"\n', row["script"]
    assert not any("motifrun_" in word for word in row["words"] + row["options"]), "a token in a command line"
    assert row["options"] == ["--parsable", "--hold", "--requeue", "--open-mode", "append", "--output", "/dev/null", "--chdir", "/", "--export", "ALL",
                              "--job-name", f"motif-{job}", "--ntasks", "1", "--cpus-per-task", "1", "--partition", "low"], row["options"]
    assert row["words"] == [os.path.join(BESIDE, "motif-train"), "--server", daemon.url, "--job", job, "--kernels", "best", "--threads", "1",
                            "--job-memory", "0", "--requeued", "--data", row["words"][-1]], row["words"]


def a_waiting_job_is_paused_and_cancelled(daemon, fake, home):
    busy = os.path.join(home, "busy")
    open(busy, "w").close()
    for verb, state in (("pause", "paused"), ("cancel", "cancelled")):
        job = submit(daemon)
        await_("a submission", lambda: of(fake, job))
        assert show(daemon, job)["state"] == "running"
        assert daemon.ask("POST", f"/v1/jobs/{job}/{verb}")[0] == 202
        await_state(daemon, job, state)
        assert all(row["gone"] and row["begun"] == 0 for row in of(fake, job)), of(fake, job)
    os.unlink(busy)


def jobs_are_paused_and_cancelled(daemon, fake):
    job = submit(daemon, total_samples=LONG)
    running(daemon, fake, job)
    assert daemon.ask("POST", f"/v1/jobs/{job}/pause")[0] == 202
    paused = await_state(daemon, job, "paused")
    none_lives(fake, job)
    assert daemon.ask("POST", f"/v1/jobs/{job}/resume")[0] == 202
    await_("more steps", lambda: show(daemon, job)["progress"]["step"] > paused["progress"]["step"])
    assert daemon.ask("POST", f"/v1/jobs/{job}/cancel")[0] == 202
    await_state(daemon, job, "cancelled")
    none_lives(fake, job)
    assert len(of(fake, job)) == 2


def a_preempted_job_continues(daemon, fake, wanted, samples):
    """Slurm preempts the job and starts it again. The training must continue in the same Slurm job."""
    job = submit(daemon, total_samples=samples)
    fake.preempt(running(daemon, fake, job)["number"])
    compare(outcome(daemon, job), wanted)
    row, = of(fake, job)
    assert row["begun"] == 2, row


def a_killed_trainer_is_submitted_again(daemon, fake, wanted, samples):
    job = submit(daemon, total_samples=samples)
    os.kill(running(daemon, fake, job)["pid"], signal.SIGKILL)
    compare(outcome(daemon, job), wanted)
    assert len(of(fake, job)) == 2
    none_lives(fake, job)


def the_next_daemon_adopts_the_trainer(daemon, fake, wanted, samples):
    """The trainer must continue without a daemon, and the next daemon must adopt it, both after a crash and after a normal end of the daemon."""
    for number in (signal.SIGKILL, signal.SIGTERM):
        job = submit(daemon, total_samples=samples)
        pid = running(daemon, fake, job)["pid"]
        assert daemon.end(number) in (0, -signal.SIGKILL)
        assert fake.lives(pid), "the trainer has ended with its daemon"
        daemon.start()
        compare(outcome(daemon, job), wanted)
        row, = of(fake, job)
        assert row["begun"] == 1, row
        none_lives(fake, job)


def processor_ticks(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def await_idle(pid):
    """Waits until the trainer has computed nothing for a while, because its training is over."""
    seen = []

    def idle():
        seen.append(processor_ticks(pid))
        return len(seen) > 150 and seen[-1] - seen[-150] <= 3

    await_("the end of the training", idle)


def a_training_that_ends_without_a_daemon_is_reported_to_the_next(daemon, fake, wanted, samples):
    """The trainer must keep the result until a daemon has stored it, and the next daemon must not submit the job again."""
    job = submit(daemon, total_samples=samples)
    pid = running(daemon, fake, job)["pid"]
    daemon.end(signal.SIGKILL)
    await_idle(pid)
    assert fake.lives(pid), "the trainer has not waited for a daemon"
    daemon.start()
    compare(outcome(daemon, job), wanted)
    row, = of(fake, job)
    assert row["begun"] == 1, row
    none_lives(fake, job)


def a_trainer_that_dies_without_a_daemon_is_replaced_once(daemon, fake, wanted, samples):
    """Work that the trainer had not reported is lost. The next daemon must submit the job once, and the training continues from the last stored checkpoint."""
    job = submit(daemon, total_samples=samples)
    pid = running(daemon, fake, job)["pid"]
    daemon.end(signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    none_lives(fake, job)
    daemon.start()
    compare(outcome(daemon, job), wanted)
    assert len(of(fake, job)) == 2, of(fake, job)


def a_pause_survives_a_killed_daemon(daemon, fake, wanted, samples):
    """A client requests a pause, and the daemon is killed before the trainer learns it. The next daemon must pause the job."""
    job = submit(daemon, total_samples=samples)
    row = running(daemon, fake, job)
    os.killpg(row["pid"], signal.SIGSTOP)
    assert daemon.ask("POST", f"/v1/jobs/{job}/pause")[0] == 202
    daemon.end(signal.SIGKILL)
    daemon.start()
    await_state(daemon, job, "paused")
    os.killpg(row["pid"], signal.SIGCONT)
    none_lives(fake, job)
    assert show(daemon, job)["state"] == "paused"
    assert daemon.ask("POST", f"/v1/jobs/{job}/resume")[0] == 202
    compare(outcome(daemon, job), wanted)
    assert len(of(fake, job)) == 2


def ranks_start_through_srun(daemon, fake):
    job = submit(daemon, ranks=2)
    result, _ = outcome(daemon, job)
    assert result["ranks"] == 2, result
    row, = of(fake, job)
    assert row["words"][:7] == ["srun", "--mpi=pmix", "--ntasks", "2", "--cpus-per-task", "1", "--kill-on-bad-exit=1"], row["words"]
    none_lives(fake, job)


def every_check(daemon, fake, home):
    samples = 4000  # so many that the training outlasts the restart of a daemon
    run_each((daemon, fake), slurm_jobs_give_the_expected_bits)
    wanted = outcome(daemon, submit(daemon, "thread", total_samples=samples))
    run_each((daemon, fake, home), a_waiting_job_is_paused_and_cancelled)
    run_each((daemon, fake), jobs_are_paused_and_cancelled)
    run_each((daemon, fake, wanted, samples), a_preempted_job_continues, a_killed_trainer_is_submitted_again, the_next_daemon_adopts_the_trainer,
             a_training_that_ends_without_a_daemon_is_reported_to_the_next, a_trainer_that_dies_without_a_daemon_is_replaced_once, a_pause_survives_a_killed_daemon)
    if shutil.which("mpirun") and os.access(os.path.join(BESIDE, "motif-train-mpi"), os.X_OK):
        run_each((daemon, fake), ranks_start_through_srun)
    else:
        print("skipped: several ranks, since mpirun, or motif-train-mpi, is missing")


def main():
    with tempfile.TemporaryDirectory() as folder:
        home, programs = os.path.join(folder, "slurm"), os.path.join(folder, "bin")
        os.mkdir(home)
        os.mkdir(programs)
        for name in ("sbatch", "scontrol", "squeue", "scancel", "srun"):
            os.symlink(FAKE, os.path.join(programs, name))
        os.environ.update({"FAKE_SLURM": home, "PATH": programs + os.pathsep + os.environ["PATH"]})
        sys.path.insert(0, os.path.dirname(FAKE))
        import fake_slurm as fake
        log = os.path.join(folder, "log")
        with Daemon(MOTIFD, os.path.join(folder, "db"), "--data", os.path.join(folder, "data"), "--executors", "thread,slurm", "--slurm-bin", programs,
                    "--slurm-options", "--partition low", "--threads-per-job", "1", log=open(log, "w")) as daemon:
            daemon.command[daemon.command.index("127.0.0.1:0")] = f"127.0.0.1:{daemon.port}"  # trainers look for the restarted daemon at the same port
            try:
                every_check(daemon, fake, home)
            finally:
                for row in fake.jobs():
                    if row["pid"] and fake.lives(row["pid"]):
                        os.killpg(row["pid"], signal.SIGKILL)


if __name__ == "__main__":
    main()
