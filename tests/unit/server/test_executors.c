/* Tests the executors `process` and `mpirun` with programs that fail, hang, die or leave something behind, and how
 * executors find programs and record the end of a job. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/executors/executor_child.h"
#include "server/executors/programs.h"
#include "tests/support/fault.h"
#include "tests/support/fault_sqlite.h"
#include "tests/support/open_files.h"
#include "tests/unit/server/executor_fixture.h"

static double patience; /* seconds after which the executor must have killed a child */

/* ---- process and mpirun -------------------------------------------------------------------------------------- */

static void a_job_without_its_executor_fails(void **state)
{
    begin("process", 1);
    executor.options.trainer = NULL;
    run();
    ended(JOB_FAILED, "this daemon has no executor process");
    begin("mpirun", 2);
    executor.options.mpirun = NULL;
    run();
    ended(JOB_FAILED, "this daemon has no executor mpirun");
    begin("slurm", 2);
    executor.options.slurm_bin = NULL;
    run();
    ended(JOB_FAILED, "this daemon has no executor slurm");
    begin(NULL, 1);
    executor.options.executor = "cloud";
    run();
    ended(JOB_FAILED, "this daemon has no executor cloud");
    begin("process", 1);
    executor_run(&executor, "01JD8XKQ5RDGGGGGGGGGGGGGGG", &control); /* there is no such job */
    assert_int_equal(executor.jobs_failed, 1);
    request(JOB_EVENT_CANCEL);
    run();
    ended(JOB_CANCELLED, "");
}

static void a_trainer_that_cannot_be_started_fails_the_job(void **state)
{
    begin("process", 1);
    executor.options.trainer = "/no/such/trainer";
    run();
    ended(JOB_FAILED, "\"code\":\"trainer-not-started\",\"detail\":\"/no/such/trainer cannot be started");
    for (int n = 0, failed = 0;; n++) { /* without memory */
        int descriptors = open_descriptors();
        begin("process", 1);
        executor.options.trainer = "/no/such/trainer";
        fault_spare_others(true);
        fault_after(n);
        run();
        bool happened = fault_happened();
        assert_int_equal(open_descriptors(), descriptors);
        ended(JOB_FAILED, "");
        failed += strstr(text, "not enough memory") != NULL || strstr(text, "out-of-memory") != NULL;
        if (!happened) {
            assert_true(failed > 2);
            break;
        }
    }
}

/* The options of the daemon arrive as words of the trainer's command line. */
static void the_trainer_gets_the_options_of_the_daemon(void **state)
{
    begin("process", 1);
    executor.options.trainer = program("t", "echo \"$@\" > words; echo $MOTIF_TRAIN_TOKEN > token; exit 9");
    executor.options.data = "/data/sets";
    executor.options.job_memory = 1000000;
    run();
    ended(JOB_FAILED, "the trainer ended with exit code 9 and gave no reason; it was started 5 times");
    char wanted[300];
    (void)snprintf(wanted, sizeof wanted, "--server http://127.0.0.1:1 --job %s --kernels ref --threads 2 --memory ",
                   job);
    assert_memory_equal(content("words"), wanted, strlen(wanted));
    assert_non_null(strstr(text, " --job-memory 1000000 --parent "));
    assert_non_null(strstr(text, " --data /data/sets\n"));
    assert_true(strlen(content("token")) > 20);
    /* The executor passes all 39 words of the mpirun option on, and writes the token to standard input. */
    begin("mpirun", 3);
    char starter[80];
    (void)snprintf(starter, sizeof starter, "%s", program("m", "echo \"$@\" > words; cat > token; exit 9"));
    executor.options.trainer = starter;
    for (int i = 0; i < 39; i++)
        mpirun[i] = i == 0 ? "mpirun" : "-x";
    mpirun[39] = NULL;
    run();
    ended(JOB_FAILED, "gave no reason; it was started 5 times");
    (void)snprintf(wanted, sizeof wanted, " -np 3 %s --token-input --server http://127.0.0.1:1 --job %s ",
                   path_of_trainer, job);
    assert_non_null(strstr(content("words"), wanted));
    assert_non_null(strstr(text, " --memory 0 --job-memory 0 --parent 0\n"));
    assert_null(strstr(text, "--data"));
    assert_true(strlen(content("token")) > 20);
    mpirun[1] = NULL;
}

static void pause_now(void)
{
    request(JOB_EVENT_PAUSE);
}

/* A lease that an earlier daemon granted counts as a start of the trainer. */
static void a_job_without_progress_is_not_started_again(void **state)
{
    begin("process", 1);
    for (int i = 0; i < 5; i++)
        grant("process", "");
    run();
    ended(JOB_FAILED, "the trainer made no progress; it was started 5 times without a new checkpoint");
    assert_int_equal(waits, 0);
    /* a pause while the executor waits for the next start */
    begin("process", 1);
    executor.options.trainer = program("t", "exit 9");
    happens = pause_now;
    run();
    ended(JOB_PAUSED, "");
}

static void cancel_when_deaf(void)
{
    if (since == 0.0 && there_is("deaf")) {
        since = elapsed = 1.0;
        request(JOB_EVENT_CANCEL);
    }
    hanging = since > 0.0 && elapsed - since < patience; /* the executor has killed the child after `patience` */
}

/* Programs that ignore signals are killed: a trainer 1.2 s after the cancel, and an mpirun 10 s after it. */
static void a_cancelled_program_that_does_not_end_is_killed(void **state)
{
    static const char deaf[] = "trap '' TERM USR1; echo > deaf; while :; do sleep 0.01; done";
    begin("process", 1);
    executor.options.trainer = program("t", deaf);
    happens = cancel_when_deaf;
    patience = 1.3;
    run();
    ended(JOB_CANCELLED, "");
    assert_true(elapsed - since > 1.2 && elapsed - since < 1.5);
    drop("deaf");
    begin("mpirun", 1);
    executor.options.trainer = program("t", deaf);
    happens = cancel_when_deaf;
    patience = 11.3;
    run();
    ended(JOB_CANCELLED, "");
    assert_true(elapsed - since > 11.2 && elapsed - since < 11.5);
    drop("deaf");
}

static void drain_at_third(void)
{
    if (waits == 3)
        atomic_store(&control.drain, true);
}

static void serve_at_third(void)
{
    if (waits == 3)
        atomic_store(&executor.serving, true);
}

/* Trainers need the address of the daemon, so they wait for it. */
static void no_trainer_starts_before_the_daemon_serves(void **state)
{
    static const char *const names[] = {"process", "slurm"};
    drop("started");
    for (int i = 0; i < 2; i++) {
        begin(names[i], 1);
        executor.options.trainer = program("t", "echo > started");
        (void)program("sbatch", "echo > started");
        atomic_store(&executor.serving, false);
        happens = drain_at_third;
        run();
        ended(JOB_QUEUED, "");
        assert_int_equal(waits, 3);
        begin(names[i], 1);
        executor.options.trainer = program("t", "echo > started");
        atomic_store(&executor.serving, false);
        request(JOB_EVENT_PAUSE);
        happens = serve_at_third;
        run();
        ended(JOB_PAUSED, "");
        assert_false(there_is("started"));
    }
}

static pid_t stray;
static bool ranks_of_stray;

/* Reaps the stray process once it has ended. The executor kills a stray trainer before its own first wait. It kills a
 * stray mpirun before its 201st wait, which is after 10 s. */
static void reap_stray(void)
{
    if (stray > 0 && waits > (ranks_of_stray ? 200 : 0) && waitpid(stray, NULL, 0) == stray)
        stray = 0;
}

static pid_t start_stray(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails must leave no process */
        for (;;)
            (void)pause();
    }
    return pid;
}

/* A trainer that an earlier daemon left running is killed; an mpirun first has 10 s to end by itself. */
static void a_stray_trainer_is_killed_before_the_next_one_starts(void **state)
{
    static const char *const names[] = {"process", "mpirun"};
    char id[64];
    for (int i = 0; i < 2; i++) {
        begin(names[i], 1);
        executor.options.trainer = "/no/such/trainer";
        stray = start_stray();
        (void)snprintf(id, sizeof id, "%d %llu", (int)stray, child_begun(stray));
        grant(names[i], id);
        happens = reap_stray;
        ranks_of_stray = i == 1;
        run();
        ended(JOB_FAILED, "trainer-not-started");
        assert_int_equal(stray, 0);
        assert_true(i == 0 ? elapsed < 1.0 : elapsed > 10.0 && elapsed < 11.0);
    }
    /* a killed process that nobody reaps stays a zombie: the executor waits for it, but not for ever */
    begin("process", 1);
    executor.options.trainer = "/no/such/trainer";
    stray = start_stray();
    (void)snprintf(id, sizeof id, "%d %llu", (int)stray, child_begun(stray));
    grant("process", id);
    run();
    ended(JOB_FAILED, "trainer-not-started");
    assert_true(elapsed > 10.1 && elapsed < 10.3); /* 10 s for the zombie, and 0.2 s between the two
                                                    * tries to start the trainer */
    assert_int_equal(waitpid(stray, NULL, 0), stray);
    /* the executor must not kill a process if the lease's id is malformed, or if its start time is missing or not that
     * of the process */
    pid_t other = start_stray();
    char later[64];
    (void)snprintf(id, sizeof id, "%d", (int)other);
    (void)snprintf(later, sizeof later, "%d %llu", (int)other, child_begun(other) + 1);
    const char *const ids[] = {"", "x", "1 5", "-1 5", "99999999999 5", id, later};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        begin("process", 1);
        executor.options.trainer = "/no/such/trainer";
        grant("process", ids[i]);
        run();
        ended(JOB_FAILED, "trainer-not-started");
        assert_true(elapsed < 0.3);
        assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
    }
    assert_int_equal(kill(other, SIGKILL), 0);
    assert_int_equal(waitpid(other, NULL, 0), other);
}

/* A trainer has reported the end of its run before this daemon started. The daemon ends the job by this report and
 * starts no other trainer. */
static void a_report_from_before_the_start_ends_the_job(void **state)
{
    static const char *const names[] = {"process", "slurm"};
    for (int i = 0; i < 2; i++) {
        drop("started");
        begin(names[i], 1);
        executor.options.trainer = program("t", "echo > started");
        (void)program("sbatch", "echo > started");
        grant(names[i], "");
        report_success();
        run();
        ended(JOB_SUCCEEDED, "");
        assert_false(there_is("started"));
    }
}

/* ---- the record ------------------------------------------------------------------------------------------------ */

/* If storage cannot be read, a job goes on, and the next check reads again. */
static void a_request_is_found_when_storage_can_be_read_again(void **state)
{
    begin("process", 1);
    request(JOB_EVENT_CANCEL);
    fault_sqlite_after(0, 10 /* SQLITE_IOERR */, true);
    assert_false(executor_must_yield(&executor, job, &control));
    assert_true(fault_sqlite_happened());
    assert_true(executor_must_yield(&executor, job, &control));
    atomic_store(&control.look_within, true);
    fault_sqlite_after(0, 10, true);
    assert_false(executor_must_stop(&executor, job, &control));
    assert_true(fault_sqlite_happened());
    assert_true(executor_must_stop(&executor, job, &control));
    atomic_store(&control.look, true);
    run();
    ended(JOB_CANCELLED, "");
}

/* A disk that is full when the state of a job changes, until the executor has waited for a while. */
static struct {
    int waits;    /* waits of the executor for which the disk stays full */
    int refusals; /* writes that failed */
    bool drains;  /* the daemon ends during the last of these waits */
} full;

static void refuse_change(void *context)
{
    if (full.waits > 0 || full.drains) {
        full.refusals++;
        fault_sqlite_after(0, 13 /* SQLITE_FULL */, false);
    }
}

static void wait_for_space(void)
{
    assert_int_equal(atomic_load(&control.blocked), full.waits > 0 ? STATUS_FULL : STATUS_OK);
    if (full.waits > 0 && --full.waits == 0 && full.drains)
        atomic_store(&control.drain, true);
    if (full.waits == 0 && !full.drains)
        happens = NULL;
}

static void run_on_a_full_disk(int blocked_waits, bool drains)
{
    full.waits = blocked_waits;
    full.refusals = 0;
    full.drains = drains;
    happens = wait_for_space;
    fault_sqlite_spare_others(false);
    fault_sqlite_before("UPDATE job SET state", refuse_change, NULL);
    run();
    fault_sqlite_before(NULL, NULL, NULL);
    (void)fault_sqlite_happened();
    happens = NULL;
    assert_int_equal(atomic_load(&control.blocked), STATUS_OK);
}

static void the_end_of_a_run_is_recorded_when_the_full_disk_has_space_again(void **state)
{
    begin("process", 1);
    executor.options.trainer = NULL; /* the job fails at once */
    run_on_a_full_disk(100, false);
    ended(JOB_FAILED, "this daemon has no executor process");
    assert_in_range(full.refusals, 3, 10); /* one try for each second of waiting */
    begin("process", 1);
    grant("process", "");
    report_success();
    run_on_a_full_disk(100, false);
    ended(JOB_SUCCEEDED, "");
}

static void a_cancel_that_the_full_disk_did_not_store_ends_the_run(void **state)
{
    begin("process", 1);
    atomic_store(&control.look, false);
    atomic_store(&control.cancel, true);
    run_on_a_full_disk(50, false);
    ended(JOB_CANCELLED, "");
    begin("process", 1);
    atomic_store(&control.look, false);
    executor.options.trainer = program("hangs", "exec sleep 1000");
    hanging = true;
    happens = NULL;
    atomic_store(&control.cancel, true);
    assert_true(executor_must_stop(&executor, job, &control));
    assert_int_equal(executor_requested(&executor, job, &control), REQUESTED_CANCELLED);
    run();
    ended(JOB_CANCELLED, "");
}

/* The daemon ends while the disk is full: the next one continues the job. */
static void a_drain_ends_the_wait_for_space(void **state)
{
    begin("process", 1);
    executor.options.trainer = NULL;
    run_on_a_full_disk(30, true);
    assert_int_equal(waits, 30);
    ended(JOB_RUNNING, "");
    assert_int_equal(storage_job_leave(storage, job, JOB_EVENT_FAIL, NULL, "{}", NULL, NULL), STATUS_OK);
}

static void the_error_of_a_job_names_its_checkpoint(void **state)
{
    struct storage_checkpoint_new what = {.step = 7};
    struct storage_checkpoint_writer *writer;
    int64_t seq;
    begin("process", 1);
    assert_int_equal(storage_checkpoint_begin(storage, job, &what, &writer, NULL), STATUS_OK);
    assert_int_equal(storage_checkpoint_write(writer, "weights", 7, NULL), STATUS_OK);
    assert_int_equal(storage_checkpoint_commit(writer, &seq, NULL), STATUS_OK);
    executor.options.trainer = program("t", "kill -SEGV $$");
    run();
    ended(JOB_FAILED, "\"signal\":\"SIGSEGV\",\"tries\":5,\"checkpoint\":1");
}

/* ---- programs --------------------------------------------------------------------------------------------------- */

static void programs_are_found_in_path(void **state)
{
    char found[200], small[20], before[4096], wanted[200];
    (void)snprintf(before, sizeof before, "%s", getenv("PATH"));
    (void)program("prog", "exit 0");
    (void)snprintf(wanted, sizeof wanted, "%s/prog", folder);
    assert_int_equal(setenv("PATH", "/no/such:", 1), 0);
    assert_false(program_find("prog", found, sizeof found));
    assert_int_equal(chdir(folder), 0);
    assert_true(program_find("prog", found, sizeof found)); /* an empty entry of PATH is the current folder */
    assert_string_equal(found, "./prog");
    assert_true(program_find(wanted, found, sizeof found));
    assert_string_equal(found, wanted);
    assert_int_equal(setenv("PATH", folder, 1), 0);
    assert_true(program_find("prog", found, sizeof found));
    assert_string_equal(found, wanted);
    assert_false(program_find("prog", small, sizeof small)); /* the path is too long */
    assert_int_equal(unsetenv("PATH"), 0);
    assert_false(program_find("prog", found, sizeof found));
    assert_int_equal(setenv("PATH", before, 1), 0);
    assert_false(program_beside("no-such-program", found, sizeof found));
    assert_false(program_beside("a-name-that-is-longer-than-its-room", small, sizeof small));
    assert_true(program_beside("test_executors", found, sizeof found));
    assert_non_null(strstr(found, "/test_executors"));
}

static void command_lines_are_split_at_spaces(void **state)
{
    char line[] = "  srun  --mpi=pmix ";
    const char *words[4];
    assert_int_equal(program_words(line, words, 4), 2);
    assert_string_equal(words[0], "srun");
    assert_string_equal(words[1], "--mpi=pmix");
    assert_null(words[2]);
    assert_int_equal(program_words((char[]){"a b c"}, words, 4), 3);
    assert_int_equal(program_words((char[]){"a b c d"}, words, 4), -1);
    assert_int_equal(program_words((char[]){" "}, words, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_without_its_executor_fails),
        cmocka_unit_test(a_trainer_that_cannot_be_started_fails_the_job),
        cmocka_unit_test(the_trainer_gets_the_options_of_the_daemon),
        cmocka_unit_test(a_job_without_progress_is_not_started_again),
        cmocka_unit_test(a_cancelled_program_that_does_not_end_is_killed),
        cmocka_unit_test(no_trainer_starts_before_the_daemon_serves),
        cmocka_unit_test(a_stray_trainer_is_killed_before_the_next_one_starts),
        cmocka_unit_test(a_report_from_before_the_start_ends_the_job),
        cmocka_unit_test(a_request_is_found_when_storage_can_be_read_again),
        cmocka_unit_test(the_end_of_a_run_is_recorded_when_the_full_disk_has_space_again),
        cmocka_unit_test(a_cancel_that_the_full_disk_did_not_store_ends_the_run),
        cmocka_unit_test(a_drain_ends_the_wait_for_space),
        cmocka_unit_test(the_error_of_a_job_names_its_checkpoint),
        cmocka_unit_test(programs_are_found_in_path),
        cmocka_unit_test(command_lines_are_split_at_spaces),
    };
    mpirun[0] = "mpirun";
    return cmocka_run_group_tests(tests, executor_setup, executor_teardown);
}
