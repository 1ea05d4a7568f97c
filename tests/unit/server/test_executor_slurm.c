/* Tests the executor `slurm` with programs of Slurm that fail, hang or contradict each other, and jobs that vanish. */
#include "tests/support/unit.h"
#include "tests/unit/server/executor_fixture.h"

/* Writes Slurm's four programs. The file `queue` is what squeue prints. */
static void programs_of_slurm(const char *sbatch)
{
    (void)program("sbatch", sbatch);
    (void)program("squeue", "[ ! -e queue ] || cat queue");
    (void)program("scancel", "echo >> cancelled; rm -f queue");
    (void)program("scontrol", "echo \"$@\" >> released");
    drop("cancelled");
    drop("released");
    drop("queue");
}

static void notice_hanging(void)
{
    hanging = there_is("hangs");
    if (elapsed > 60.0) /* the executor has killed sbatch; the scancel that follows must not hang */
        drop("hangs");
}

static void failing_programs_of_slurm_fail_the_job(void **state)
{
    static const struct {
        const char *name, *script, *says;
    } cases[] = {
        {"sbatch", "echo no such partition; exit 1", "sbatch: no such partition"},
        {"sbatch", "exit 1", "sbatch: no reason given"},
        {"sbatch", "kill -9 $$", "sbatch: no reason given"},
        {"sbatch", "exit 0", "the output of sbatch contains no job number"},
        {"sbatch", "echo; echo hello; echo 12x; echo 123456789012345678901",
         "the output of sbatch contains no job number"},
        {"scontrol", "echo slurmctld is down; exit 1", "scontrol: slurmctld is down"},
        {"sbatch", "echo > hangs; while :; do sleep 0.01; done", "sbatch: no reason given"}, /* killed after 60 s */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        programs_of_slurm("echo 17");
        (void)program(cases[i].name, cases[i].script);
        begin("slurm", 1);
        happens = notice_hanging;
        run();
        ended(JOB_FAILED, "trainer-not-started");
        ended(JOB_FAILED, cases[i].says);
        assert_true(there_is("cancelled")); /* nothing stays in the queue */
    }
    assert_true(elapsed > 60.0 && elapsed < 61.0);
    begin("slurm", 1);
    executor.options.slurm_bin = "/no/such";
    run();
    ended(JOB_FAILED, "/no/such/sbatch cannot be started");
}

static void report_when_granted(void)
{
    if (lease_is(LEASE_OFFERED))
        report_success();
}

/* sbatch and srun get all words of their settings, even if both settings have the largest number of words that the
 * daemon allows. */
static void sbatch_gets_the_options_of_the_daemon(void **state)
{
    char wanted[400];
    programs_of_slurm("echo \"$@\" > words; echo Submitted; echo '17;cluster'; echo '17 RUNNING' > queue");
    for (int ranks = 1; ranks < 3; ranks++) {
        begin("slurm", ranks);
        executor.options.data = ranks == 1 ? "/data/sets" : NULL;
        for (int i = 0; i < 39; i++) {
            slurm_options[i] = "--mem=1";
            srun[i] = i == 0 ? "srun" : "-v";
        }
        slurm_options[39] = srun[39] = NULL;
        happens = report_when_granted;
        run();
        ended(JOB_SUCCEEDED, "");
        (void)snprintf(
            wanted, sizeof wanted,
            "%s --server http://127.0.0.1:1 --job %s --kernels ref --threads 2 --job-memory 0 --requeued%s\n",
            path_of_trainer, job, ranks == 1 ? " --data /data/sets" : "");
        if (strstr(content("words"), wanted) == NULL)
            fail_msg("no '%s' in '%s'", wanted, text);
        assert_non_null(strstr(text, "--mem=1 /dev/stdin "));
        assert_int_equal(strstr(text, " -v --ntasks 2 --cpus-per-task 2 --kill-on-bad-exit=1 ") != NULL, ranks == 2);
        assert_string_equal(content("released"), ranks == 1 ? "release 17\n" : "release 17\nrelease 17\n");
    }
    slurm_options[0] = srun[0] = NULL;
}

static void drain_when_granted(void)
{
    if (lease_is(LEASE_OFFERED))
        atomic_store(&control.drain, true);
}

static void drain_later(void)
{
    if (elapsed > 20.0)
        atomic_store(&control.drain, true);
}

static void jobs_of_slurm_that_vanish_are_submitted_five_times(void **state)
{
    programs_of_slurm("echo 17");
    begin("slurm", 1);
    run();
    ended(JOB_FAILED,
          "job 17 of Slurm is gone and did not report why; it was submitted 5 times without a new checkpoint");
    assert_true(elapsed > 0.9 + 2 + 4 + 8 + 16);
    /* leases that an earlier daemon granted count as submissions */
    begin("slurm", 1);
    for (int i = 0; i < 5; i++)
        grant("slurm", "");
    run();
    ended(JOB_FAILED, "the trainer made no progress; it was submitted 5 times");
    /* the daemon ends while it waits for the next try */
    begin("slurm", 1);
    happens = drain_when_granted;
    run();
    ended(JOB_QUEUED, "");
}

/* While squeue does not answer, the state of the job is unknown, and no second trainer may start. */
static void a_job_is_not_gone_while_squeue_fails(void **state)
{
    static const char *const scripts[] = {"echo no controller; exit 1", "yes 18 RUNNING | head -n 9000"};
    for (int i = 0; i < 2; i++) {
        programs_of_slurm("echo >> submitted; echo 17");
        drop("submitted");
        (void)program("squeue", scripts[i]);
        begin("slurm", 1);
        happens = drain_later;
        run();
        ended(JOB_RUNNING, "");
        assert_string_equal(content("submitted"), "\n");
        /* The next daemon adopts the job. It releases the job again, because the earlier daemon may have ended before
         * it could release it. */
        drop("released");
        atomic_store(&control.drain, false);
        happens = report_when_granted;
        run();
        ended(JOB_SUCCEEDED, "");
        assert_string_equal(content("submitted"), "\n");
        assert_string_equal(content("released"), "release 17\n");
    }
}

static void hold_lease_and_cancel(void)
{
    int64_t epoch;
    if (!lease_is(LEASE_OFFERED))
        return;
    assert_int_equal(storage_lease_register(storage, job, &epoch, NULL), STATUS_OK);
    request(JOB_EVENT_CANCEL);
    since = elapsed;
}

static void pause_when_granted(void)
{
    if (lease_is(LEASE_OFFERED))
        request(JOB_EVENT_PAUSE);
}

/* A job that waits, or whose trainer has not registered, is removed at once; a trainer that runs has 30 s to end. */
static void unwanted_jobs_leave_the_queue_of_slurm(void **state)
{
    static const char *const lines[] = {"17 PENDING", "17 RUNNING"};
    for (int i = 0; i < 2; i++) {
        char script[80];
        (void)snprintf(script, sizeof script, "echo 17; echo '170 RUNNING' > queue; echo '%s' >> queue", lines[i]);
        programs_of_slurm(script);
        begin("slurm", 1);
        happens = pause_when_granted;
        run();
        ended(JOB_PAUSED, "");
        assert_true(elapsed < 10.0);
    }
    programs_of_slurm("echo 17; echo '17 COMPLETING' > queue");
    begin("slurm", 1);
    happens = hold_lease_and_cancel;
    run();
    ended(JOB_CANCELLED, "");
    assert_true(elapsed - since > 30.0 && elapsed - since < 36.0);
}

/* The executor slurm does not adopt a job whose lease another executor granted, or whose lease contains no job number
 * of Slurm. */
static void only_jobs_of_slurm_are_adopted(void **state)
{
    static const char *const cases[][2] = {{"process", "17"}, {"slurm", ""}};
    for (int i = 0; i < 2; i++) {
        programs_of_slurm("echo 18; echo '18 RUNNING' > queue");
        begin("slurm", 1);
        grant(cases[i][0], cases[i][1]);
        happens = report_when_granted;
        run();
        ended(JOB_SUCCEEDED, "");
        assert_string_equal(content("released"), "release 18\n");
    }
    /* an adopted job keeps running when this daemon ends too */
    begin("slurm", 1);
    grant("slurm", "17");
    atomic_store(&control.drain, true);
    run();
    ended(JOB_RUNNING, "");
    atomic_store(&control.drain, false);
    request(JOB_EVENT_CANCEL);
    run();
    ended(JOB_CANCELLED, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_programs_of_slurm_fail_the_job),
        cmocka_unit_test(sbatch_gets_the_options_of_the_daemon),
        cmocka_unit_test(jobs_of_slurm_that_vanish_are_submitted_five_times),
        cmocka_unit_test(a_job_is_not_gone_while_squeue_fails),
        cmocka_unit_test(unwanted_jobs_leave_the_queue_of_slurm),
        cmocka_unit_test(only_jobs_of_slurm_are_adopted),
    };
    return cmocka_run_group_tests(tests, executor_setup, executor_teardown);
}
