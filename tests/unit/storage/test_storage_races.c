/* Forces interleavings that are rare:
 * - a checkpoint is deleted after a reader has found it and before the reader holds it
 * - callers find the queue full
 * - another program creates the file to which a store is being copied
 * - one commit cannot remove all old checkpoints
 * - SQLite returns each of its error codes */
#include "tests/unit/storage/storage_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "storage/database/copy.h"
#include "storage/storage_int.h"
#include "tests/support/fault_sqlite.h"

static enum status save(struct fixture *f, const char *id, int64_t step)
{
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {.step = step, .samples = step, .density = NAN, .accuracy = NAN};
    int64_t seq;
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, &step, sizeof step, &f->err));
    return storage_checkpoint_commit(writer, &seq, &f->err);
}

static int64_t count_checkpoints(const struct fixture *f)
{
    return file_integer(f, "SELECT count(*) FROM checkpoint WHERE complete");
}

/* ---- checkpoints ---------------------------------------------------------------------------------------------- */

struct rival {
    struct fixture *f;
    char id[STORAGE_ID];
    int64_t step;
    int times; /* how often the hook still replaces the checkpoint */
};

/* Replaces the newest checkpoint: adds another and deletes the previous one. */
static void overtake(void *context)
{
    struct rival *r = context;
    if (r->times > 0) {
        r->times--;
        assert_int_equal(save(r->f, r->id, ++r->step), STATUS_OK);
    }
}

static void checkpoint_deleted_before_hold_is_not_opened(void **state)
{
    struct fixture *f = *state;
    struct rival r = {.f = f, .step = 1};
    struct storage_checkpoint_reader *reader;
    struct storage_checkpoint info;
    const struct storage_checkpoint_pick latest = {.by = STORAGE_LATEST};
    submit_running(f, r.id);
    OK(save(f, r.id, 1));
    fault_sqlite_before("SELECT id FROM checkpoint WHERE id = ?", overtake, &r);
    /* the hook replaces the checkpoint once in the first round, and more often in each later round */
    for (r.times = 1; r.times < 10; r.times = (int)(2 * r.step)) {
        OK(storage_checkpoint_open(f->storage, r.id, latest, &reader, &info, &f->err));
        int64_t read;
        OK(storage_checkpoint_read(reader, 0, &read, sizeof read, &f->err));
        assert_int_equal(info.step, r.step);
        assert_int_equal(read, r.step);
        OK(storage_checkpoint_verify(reader, &f->err));
        storage_checkpoint_close(reader);
    }
    r.times = 1000;
    REFUSED(STATUS_UNAVAILABLE, storage_checkpoint_open(f->storage, r.id, latest, &reader, &info, &f->err));
    assert_null(reader);
    assert_int_equal(r.times, 990);
    fault_sqlite_before(NULL, NULL, NULL);
    OK(storage_checkpoint_open(f->storage, r.id, latest, &reader, &info, &f->err));
    assert_int_equal(info.step, r.step);
    storage_checkpoint_close(reader);
    /* only one chunk remains, so nothing holds the replaced checkpoints any more */
    await_integer(f, "SELECT count(*) FROM chunk", 1);
}

/* One commit removes at most 64 old checkpoints. Later commits remove the others. */
static void one_commit_retires_at_most_64_checkpoints(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    submit_running(f, id);
    for (int i = 1; i <= 70; i++) {
        OK(save(f, id, i));
        OK(storage_checkpoint_pin(f->storage, id, i, true, &f->err));
    }
    assert_int_equal(count_checkpoints(f), 70);
    for (int i = 1; i <= 70; i++)
        OK(storage_checkpoint_pin(f->storage, id, i, false, &f->err));
    OK(save(f, id, 71));
    assert_int_equal(count_checkpoints(f), 71 - 64);
    OK(save(f, id, 72));
    assert_int_equal(count_checkpoints(f), 1);
    await_integer(f, "SELECT count(*) FROM chunk", 1);
}

/* ---- the queue ------------------------------------------------------------------------------------------------ */

struct distributed_run {
    struct fixture *f;
    char id[STORAGE_ID], *data;
    int count;
    atomic_int posted;
    sem_t go;
};

static void hold_up(void *context)
{
    struct distributed_run *c = context;
    (void)sem_wait(&c->go);
    (void)sem_post(&c->go); /* post again, so that no later caller waits */
}

static void *post_all(void *context)
{
    struct distributed_run *c = context;
    struct error err;
    for (int i = 0; i < c->count; i++, atomic_fetch_add(&c->posted, 1))
        if (storage_event_append(c->f->storage, c->id, "note", c->data, &err) != STATUS_OK)
            return "refused";
    return NULL;
}

static int64_t depth(struct fixture *f)
{
    struct storage_stats stats;
    OK(storage_stats_read(f->storage, &stats, &f->err));
    return stats.queue_depth;
}

/* Waits until a caller waits for space in the queue; fails after a minute. */
static void await_blocked(struct fixture *f)
{
    struct writer *w = &f->storage->writer;
    int blocked = 0;
    for (int i = 0; i < 60000 && blocked == 0; i++) {
        (void)pthread_mutex_lock(&w->lock);
        blocked = w->blocked;
        (void)pthread_mutex_unlock(&w->lock);
        if (blocked == 0)
            sleep_ms(1);
    }
    assert_true(blocked > 0);
}

/* Blocks the writing thread and posts `count` events of `bytes` bytes from another thread. After `most` events,
 * that thread must wait for space in the queue. */
static void fill_queue(struct fixture *f, int count, size_t bytes, int most)
{
    struct distributed_run c = {.f = f, .data = calloc(bytes + 1, 1), .count = count};
    pthread_t thread;
    void *result;
    submit(f, "sparling", 0, c.id);
    OK(storage_flush(f->storage, &f->err));
    memset(c.data, 'x', bytes);
    assert_int_equal(sem_init(&c.go, 0, 0), 0);
    fault_sqlite_before("BEGIN IMMEDIATE", hold_up, &c);
    assert_int_equal(pthread_create(&thread, NULL, post_all, &c), 0);
    await_blocked(f);
    int now = atomic_load(&c.posted); /* the thread cannot post more, because it waits */
    assert_int_equal(sem_post(&c.go), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    assert_true(now >= most && now <= 2 * most); /* the thread may have taken some commands before it was blocked */
    OK(storage_flush(f->storage, &f->err));
    fault_sqlite_before(NULL, NULL, NULL);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM event WHERE type = 'note'"), count);
    assert_int_equal(depth(f), 0);
    sem_destroy(&c.go);
    free(c.data);
}

static void callers_wait_when_queue_has_too_many_commands(void **state)
{
    fill_queue(*state, 10000, 2, 4096);
}

static void callers_wait_when_queue_uses_too_much_memory(void **state)
{
    fill_queue(*state, 40, (size_t)1 << 20, 8);
}

/* Storage usually replaces a progress text that is still in the queue by a newer one. It does not search a long queue,
 * so here it stores both texts. */
static void progress_behind_a_long_queue_is_appended(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    submit_running(f, id);
    OK(storage_flush(f->storage, &f->err));
    for (int i = 0; i < 70; i++)
        OK(storage_event_append(f->storage, id, "note", "{}", &f->err));
    OK(storage_job_progress(f->storage, id, "{\"step\":1}", &f->err));
    OK(storage_job_progress(f->storage, id, "{\"step\":2}", &f->err));
    OK(storage_flush(f->storage, &f->err));
    assert_int_equal(file_integer(f, "SELECT count(*) FROM event WHERE type = 'progress'"), 2);
    assert_string_equal(job_of(f, id).progress, "{\"step\":2}");
}

/* ---- copies ------------------------------------------------------------------------------------------ */

static void take_name(void *context, const char *what, int64_t done, int64_t all)
{
    int fd = open(context, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void copy_never_replaces_a_file(void **state)
{
    struct fixture *f = *state;
    struct storage_copy_report report;
    struct stat facts;
    char id[STORAGE_ID], was[400];
    submit(f, "sparling", 0, id);
    assert_non_null(getcwd(was, sizeof was));
    assert_int_equal(chdir(f->folder), 0);
    struct storage_copy_options options = {
        .from = f->path, .to = "copy.db", .watch = {.progress = take_name, .context = "copy.db"}};
    REFUSED(STATUS_CONFLICT, storage_copy(&options, &report, &f->err));
    assert_int_equal(stat("copy.db", &facts), 0); /* the other program's file must be unchanged */
    assert_int_equal(facts.st_size, 0);
    assert_int_not_equal(stat("copy.db.part", &facts), 0);
    assert_int_equal(unlink("copy.db"), 0);
    options.watch.progress = NULL;
    OK(storage_copy(&options, &report, &f->err)); /* the target is a name without a folder */
    assert_int_equal(report.jobs, 1);
    assert_int_equal(chdir(was), 0);
}

/* ---- SQLite's error codes ---------------------------------------------------------------------------- */

static void every_sqlite_code_is_reported(void **state)
{
    static const struct {
        int code;
        enum status status;
    } codes[] = {
        {SQLITE_BUSY, STATUS_UNAVAILABLE},  {SQLITE_LOCKED, STATUS_UNAVAILABLE},
        {SQLITE_NOMEM, STATUS_NO_MEMORY},   {SQLITE_IOERR_NOMEM, STATUS_NO_MEMORY},
        {SQLITE_FULL, STATUS_FULL},         {SQLITE_IOERR_READ, STATUS_IO},
        {SQLITE_READONLY, STATUS_IO},       {SQLITE_PROTOCOL, STATUS_IO},
        {SQLITE_CANTOPEN, STATUS_IO},       {SQLITE_CORRUPT, STATUS_CORRUPT},
        {SQLITE_NOTADB, STATUS_CORRUPT},    {SQLITE_CONSTRAINT_UNIQUE, STATUS_CONFLICT},
        {SQLITE_TOOBIG, STATUS_LIMIT},      {SQLITE_INTERRUPT, STATUS_CANCELLED},
        {SQLITE_MISMATCH, STATUS_INTERNAL},
    };
    struct fixture *f = *state;
    char id[STORAGE_ID];
    submit(f, "sparling", 0, id);
    /* faults only in this thread, because the writing thread still cleans up after the submission */
    fault_sqlite_spare_others(true);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct storage_job job;
        fault_sqlite_after(1, codes[i].code, false);
        REFUSED(codes[i].status, storage_job_get(f->storage, id, &f->arena, &job, &f->err));
        assert_true(fault_sqlite_happened());
        assert_null(strstr(f->err.message, "SELECT"));
        assert_string_equal(job_of(f, id).id, id); /* a read still works */
    }
    fault_sqlite_spare_others(false);
    OK(storage_writable(f->storage, &f->err));
    submit(f, "sparling", 0, id);
    /* After some errors of the writing connection it is unknown what the disk contains. The store then refuses all
     * writes. */
    fault_sqlite_after(0, SQLITE_IOERR_WRITE, false);
    REFUSED(STATUS_IO, storage_job_rewind(f->storage, id, 0, &f->err));
    assert_true(fault_sqlite_happened());
    REFUSED(STATUS_IO, storage_job_rewind(f->storage, id, 0, &f->err));
    REFUSED(STATUS_IO, storage_writable(f->storage, &f->err));
    assert_string_equal(job_of(f, id).id, id);
}

/* ---- closing ------------------------------------------------------------------------------------------------ */

struct late {
    struct fixture *f;
    char id[STORAGE_ID];
    int calls;
};

/* Calls storage after its writing thread has ended, which the rules forbid. */
static void call_late(void *context)
{
    struct late *late = context;
    struct fixture *f = late->f;
    struct storage_metric metric = {"loss", {2, 0.5}};
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {.step = 1, .samples = 1, .density = 1, .accuracy = 1};
    REFUSED(STATUS_UNAVAILABLE, storage_job_rewind(f->storage, late->id, 0, &f->err));
    assert_non_null(strstr(f->err.message, "closing"));
    REFUSED(STATUS_UNAVAILABLE, storage_job_progress(f->storage, late->id, "{}", &f->err));
    REFUSED(STATUS_UNAVAILABLE, storage_metric_append(f->storage, late->id, &metric, 1, &f->err));
    error_clear(&f->err);
    assert_int_not_equal(storage_checkpoint_begin(f->storage, late->id, &what, &writer, &f->err), STATUS_OK);
    late->calls++;
}

static void call_during_close_is_refused(void **state)
{
    struct fixture *f = *state;
    struct late late = {.f = f};
    submit_running(f, late.id);
    fault_sqlite_before("SET value = 1 WHERE key = 'clean'", call_late, &late);
    fixture_close(f);
    fault_sqlite_before(NULL, NULL, NULL);
    assert_int_equal(late.calls, 1);
    fixture_open(f); /* the late calls have changed nothing, and the store was marked as closed */
    assert_int_equal(job_of(f, late.id).state, JOB_QUEUED);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM series"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OPEN(checkpoint_deleted_before_hold_is_not_opened),
        TEST_OPEN(one_commit_retires_at_most_64_checkpoints),
        TEST_OPEN(callers_wait_when_queue_has_too_many_commands),
        TEST_OPEN(callers_wait_when_queue_uses_too_much_memory),
        TEST_OPEN(progress_behind_a_long_queue_is_appended),
        TEST_OPEN(copy_never_replaces_a_file),
        TEST_OPEN(every_sqlite_code_is_reported),
        TEST_OPEN(call_during_close_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
