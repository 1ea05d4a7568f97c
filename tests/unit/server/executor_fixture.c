/* A store, jobs, programs and a clock for the tests of executors (executor_fixture.h). */
#include "tests/unit/server/executor_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/base/arena.h"
#include "server/executors/executor_child.h"

#define WAITS_MOST 20000 /* an executor that waits more often than this hangs */

char folder[] = "/tmp/motifd-executors-XXXXXX", path_of_trainer[80];
struct storage *storage;
struct executor executor;
struct job_control control;
char job[STORAGE_ID], text[8192];
const char *mpirun[60], *slurm_options[60], *srun[60];

/* ---- time -------------------------------------------------------------------------------------------------- */

double elapsed, since;
int waits;
bool hanging;
void (*happens)(void);

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

const char *program(const char *name, const char *script)
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

bool there_is(const char *name)
{
    char path[120];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

void drop(const char *name)
{
    char path[120];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)unlink(path);
}

const char *content(const char *name)
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

int executor_setup(void **state)
{
    if (mkdtemp(folder) == NULL)
        return -1;
    open_store();
    (void)snprintf(path_of_trainer, sizeof path_of_trainer, "%s", program("trainer", "exit 0"));
    return 0;
}

int executor_teardown(void **state)
{
    char command[80];
    storage_close(storage);
    (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

void begin(const char *name, int ranks)
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

void run(void)
{
    executor_run(&executor, job, &control);
}

void ended(enum job_state wanted, const char *says)
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
    if (state == JOB_QUEUED) /* the next case must not claim this job */
        assert_int_equal(storage_job_request(storage, job, JOB_EVENT_CANCEL, &after, NULL, NULL), STATUS_OK);
}

void request(enum job_event event)
{
    enum job_state state;
    assert_int_equal(storage_job_request(storage, job, event, &state, NULL, NULL), STATUS_OK);
    atomic_store(&control.look, true);
}

void grant(const char *name, const char *foreign_id)
{
    uint8_t hash[STORAGE_LEASE_HASH] = {(uint8_t)waits, 1};
    int tries;
    memcpy(hash + 2, job, sizeof hash - 2 < STORAGE_ID ? sizeof hash - 2 : STORAGE_ID);
    (void)storage_lease_close(storage, job, NULL);
    assert_int_equal(storage_lease_grant_to(storage, job, hash, name, foreign_id, &tries, NULL), STATUS_OK);
}

bool lease_is(enum lease_state state)
{
    struct storage_lease lease;
    struct arena arena;
    arena_init(&arena, 4096, 0);
    bool is = storage_lease_get(storage, job, &arena, &lease, NULL) == STATUS_OK && lease.state == state;
    arena_close(&arena);
    return is;
}

void report_success(void)
{
    int64_t epoch;
    assert_int_equal(storage_lease_register(storage, job, &epoch, NULL), STATUS_OK);
    assert_int_equal(storage_lease_end(storage, job, epoch, JOB_EVENT_SUCCEED, "{}", NULL, NULL), STATUS_OK);
}
