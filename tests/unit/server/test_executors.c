/* Tests the executors `process`, `mpirun` and `slurm` with programs that fail, hang, die or leave something behind. The
 * programs are shell scripts. The clock of the executors is the test's: their waits take no time, and a function of the
 * test runs instead of each wait, to make the next event happen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "server/executors/executor_child.h"
#include "server/executors/executor_int.h"
#include "server/executors/programs.h"
#include "storage/storage.h"
#include "tests/support/fault.h"
#include "tests/support/fault_sqlite.h"
#include "tests/support/open_files.h"

#define WAITS_MOST 20000 /* an executor that waits more often than this hangs */

static char folder[] = "/tmp/motifd-executors-XXXXXX", path_of_trainer[80];
static struct storage *storage;
static struct executor executor;
static struct job_control control;
static char job[STORAGE_ID], text[8192];
static const char *mpirun[60], *slurm_options[60], *srun[60];

/* ---- time -------------------------------------------------------------------------------------------------- */

static double elapsed, since; /* seconds that the executors have waited; the value of a moment that a test notes */
static int waits;             /* number of waits */
static double patience;       /* seconds after which the executor must have killed a child */
static bool hanging;          /* the present child does nothing more, so time passes while the executor waits for it */
static void (*happens)(void); /* what happens during a wait; NULL: nothing */

static void pass_time(int ms)
{
    elapsed += ms / 1000.0;
    if (++waits > WAITS_MOST)
        fail_msg("the executor waits for ever");
    if (happens != NULL)
        happens();
}

double __wrap_run_now(void);
double __wrap_run_now(void)
{
    return 1000.0 + elapsed;
}

void __wrap_child_sleep(int ms);
void __wrap_child_sleep(int ms)
{
    pass_time(ms);
}

bool __real_child_wait(struct child *child, int ms, child_line *take_line, void *context);
bool __wrap_child_wait(struct child *child, int ms, child_line *take_line, void *context);
bool __wrap_child_wait(struct child *child, int ms, child_line *take_line, void *context)
{
    if (__real_child_wait(child, hanging ? 0 : 20, take_line, context))
        return true;
    pass_time(hanging ? ms : 0);
    return false;
}

/* ---- files and jobs ------------------------------------------------------------------------------------------ */

/* Writes a script and returns its path. */
static const char *program(const char *name, const char *script)
{
    static char path[120];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\ncd %s\n%s\n", folder, script) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static bool there_is(const char *name)
{
    char path[120];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void drop(const char *name)
{
    char path[120];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)unlink(path);
}

/* Copies the beginning of a file in the folder to `text`. */
static const char *content(const char *name)
{
    char path[120];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    text[file != NULL ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    return text;
}

static void open_store(void)
{
    char path[80];
    (void)snprintf(path, sizeof path, "%s/d.db", folder);
    struct storage_options options = {.path = path, .durability = STORAGE_DURABLE_NOT};
    assert_int_equal(storage_open(&options, &storage, NULL), STATUS_OK);
}

static int setup(void **state)
{
    if (mkdtemp(folder) == NULL)
        return -1;
    open_store();
    (void)snprintf(path_of_trainer, sizeof path_of_trainer, "%s", program("trainer", "exit 0"));
    return 0;
}

static int teardown(void **state)
{
    char command[80];
    storage_close(storage);
    (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

/* Begins a case: a new executor, and a new job that runs. */
static void begin(const char *name, int ranks)
{
    enum storage_submit_outcome outcome;
    struct storage_submit what = {.kind = "fake", .config = "{}", .executor = name, .ranks = ranks};
    static char url[] = "http://127.0.0.1:1";
    struct executor_options options = {
        .storage = storage,
        .trainer = path_of_trainer,
        .trainer_mpi = path_of_trainer,
        .mpirun = mpirun,
        .slurm_bin = folder,
        .slurm_options = slurm_options,
        .srun = srun,
        .kernels_name = "ref",
        .threads_default = 2,
    };
    char claimed[STORAGE_ID];
    executor_init(&executor, &options);
    executor_serve(&executor, NULL, url);
    control = (struct job_control){.look = true};
    elapsed = 0.0;
    waits = 0;
    hanging = false;
    since = 0.0;
    happens = NULL;
    assert_int_equal(storage_job_submit(storage, &what, job, &outcome, NULL), STATUS_OK);
    assert_int_equal(storage_job_claim(storage, claimed, NULL), STATUS_OK);
    assert_string_equal(claimed, job);
}

static void run(void)
{
    executor_run(&executor, job, &control);
}

/* Asserts the state of the job; `text` receives its error document. */
static void ended(enum job_state wanted, const char *says)
{
    struct arena arena;
    struct storage_job row;
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_job_get(storage, job, &arena, &row, NULL), STATUS_OK);
    (void)snprintf(text, sizeof text, "%s", row.error != NULL ? row.error : "");
    enum job_state state = row.state;
    arena_close(&arena);
    if (state != wanted || strstr(text, says) == NULL)
        fail_msg("the job is %s: %s; wanted %s: %s", job_state_name(state), text, job_state_name(wanted), says);
    enum job_state after;
    if (state == JOB_QUEUED) /* it must not be in the way of the next case */
        assert_int_equal(storage_job_request(storage, job, JOB_EVENT_CANCEL, &after, NULL, NULL), STATUS_OK);
}

static void request(enum job_event event)
{
    enum job_state state;
    assert_int_equal(storage_job_request(storage, job, event, &state, NULL, NULL), STATUS_OK);
    atomic_store(&control.look, true);
}

/* Grants a lease as an earlier daemon did. */
static void grant(const char *name, const char *foreign_id)
{
    uint8_t hash[STORAGE_LEASE_HASH] = {(uint8_t)waits, 1};
    int tries;
    memcpy(hash + 2, job, sizeof hash - 2 < STORAGE_ID ? sizeof hash - 2 : STORAGE_ID);
    (void)storage_lease_close(storage, job, NULL);
    assert_int_equal(storage_lease_grant_to(storage, job, hash, name, foreign_id, &tries, NULL), STATUS_OK);
}

static bool lease_is(enum lease_state state)
{
    struct storage_lease lease;
    struct arena arena;
    arena_init(&arena, 4096, 0);
    bool is = storage_lease_get(storage, job, &arena, &lease, NULL) == STATUS_OK && lease.state == state;
    arena_close(&arena);
    return is;
}

/* Reports the end of the run, as its trainer does. */
static void report_success(void)
{
    int64_t epoch;
    assert_int_equal(storage_lease_register(storage, job, &epoch, NULL), STATUS_OK);
    assert_int_equal(storage_lease_end(storage, job, epoch, JOB_EVENT_SUCCEED, "{}", NULL, NULL), STATUS_OK);
}

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
    /* 39 words of mpirun arrive too, and the token through standard input */
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

/* The tries of an earlier daemon count. */
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
    hanging = since > 0.0 && elapsed - since < patience; /* afterwards it was killed, and ends */
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

/* The first wait follows the signal to a trainer; the 201st, after 10 s, follows that to an mpirun. */
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
    /* a process that ends only in name is waited for, but not for ever */
    begin("process", 1);
    executor.options.trainer = "/no/such/trainer";
    stray = start_stray();
    (void)snprintf(id, sizeof id, "%d %llu", (int)stray, child_begun(stray));
    grant("process", id);
    run();
    ended(JOB_FAILED, "trainer-not-started");
    assert_true(elapsed > 10.1 && elapsed < 10.3); /* with 0.2 s before the second try */
    assert_int_equal(waitpid(stray, NULL, 0), stray);
    /* ids that name no process, or another one than the trainer, kill nothing */
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

/* The report of a trainer that ended while no daemon ran counts, and no other trainer starts. */
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

/* ---- slurm ----------------------------------------------------------------------------------------------------- */

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
    if (elapsed > 60.0) /* it is killed now; scancel must not count as hanging */
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

/* All words arrive, even where both settings have as many as the daemon allows. */
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
    /* the tries of an earlier daemon count */
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
        /* the next daemon adopts the job, and releases it again, because the earlier one may have ended before that */
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

/* Leases of other executors, and leases without a number, are not adopted. */
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
        cmocka_unit_test(failing_programs_of_slurm_fail_the_job),
        cmocka_unit_test(sbatch_gets_the_options_of_the_daemon),
        cmocka_unit_test(jobs_of_slurm_that_vanish_are_submitted_five_times),
        cmocka_unit_test(a_job_is_not_gone_while_squeue_fails),
        cmocka_unit_test(unwanted_jobs_leave_the_queue_of_slurm),
        cmocka_unit_test(only_jobs_of_slurm_are_adopted),
        cmocka_unit_test(a_request_is_found_when_storage_can_be_read_again),
        cmocka_unit_test(the_error_of_a_job_names_its_checkpoint),
        cmocka_unit_test(programs_are_found_in_path),
        cmocka_unit_test(command_lines_are_split_at_spaces),
    };
    mpirun[0] = "mpirun";
    return cmocka_run_group_tests(tests, setup, teardown);
}
