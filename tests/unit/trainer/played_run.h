/* A coordinator that a test plays for a run (trainer/coordinator.h): it counts the calls, fails on demand and keeps
 * what the run saves. */
#ifndef MOTIF_TESTS_UNIT_TRAINER_PLAYED_RUN_H
#define MOTIF_TESTS_UNIT_TRAINER_PLAYED_RUN_H

#include "tests/support/unit.h"
#include "trainer/run.h"

enum { STORED_MOST = 8 };

/* A coordinator that the test plays for the run. Counts its calls that return a status. The call with the number
 * `fails_at` fails with `code`; with `forever`, all later calls fail too. */
static struct outside {
    int calls, fails_at;
    bool forever, source, drains, yields;
    enum status code;
    struct buf stored[STORED_MOST];
    int64_t steps[STORED_MOST];
    size_t count; /* checkpoints of the job, or of its source if `source` is set */
    struct buf writing;
    int64_t writing_step;
    int open_saves, open_readers, leaves, points, progresses, files, warnings, sleeps;
    size_t most_points; /* points in the largest group */
    enum job_event end;
    char document[4096];
    atomic_bool cancelled;
    bool blocked; /* the run has reported that it waits */
    int blocks;
} outside;

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
/* Takes the place of the pause between two tries of a save: counts the pause and does not wait. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    outside.sleeps++;
    return 0;
}

static enum status counted(const char *name, struct error *err)
{
    int number = outside.calls++;
    bool fails = number == outside.fails_at || (outside.forever && number > outside.fails_at && outside.fails_at >= 0);
    return fails ? error_set(err, outside.code, "/played", "the call %s fails", name) : STATUS_OK;
}

static enum status take_metrics(void *context, const struct storage_metric *points, size_t count, struct error *err)
{
    outside.points += (int)count;
    outside.most_points = count > outside.most_points ? count : outside.most_points;
    return counted("metrics", err);
}

static enum status take_progress(void *context, const char *document, struct error *err)
{
    outside.progresses++;
    return counted("progress", err);
}

static enum status take_artifact(void *context, const char *name, const char *type, const void *bytes, size_t count,
                                 struct error *err)
{
    outside.files++;
    return counted("artifact", err);
}

static enum status take_bytes(void *context, const void *bytes, size_t count, struct error *err)
{
    enum status status = counted("write", err);
    if (status == STATUS_OK)
        buf_append(&outside.writing, bytes, count);
    return status == STATUS_OK && outside.writing.failed ? error_set(err, STATUS_NO_MEMORY, NULL, "no memory") : status;
}

static enum status save_begin(void *context, const struct storage_checkpoint_new *what, struct snapshot_writer *to,
                              struct error *err)
{
    enum status status = counted("save_begin", err);
    if (status == STATUS_OK) {
        assert_int_equal(outside.open_saves++, 0);
        buf_init(&outside.writing, 1 << 20);
        outside.writing_step = what->step;
        *to = (struct snapshot_writer){.write = take_bytes};
    }
    return status;
}

static enum status save_commit(void *context, int64_t *seq, struct error *err)
{
    enum status status = counted("save_commit", err);
    assert_int_equal(outside.open_saves--, 1);
    *seq = 0;
    if (status != STATUS_OK || outside.count == STORED_MOST) {
        buf_close(&outside.writing);
        return status;
    }
    outside.steps[outside.count] = outside.writing_step;
    outside.stored[outside.count++] = outside.writing;
    *seq = (int64_t)outside.count;
    return STATUS_OK;
}

static void save_abandon(void *context, const struct error *why)
{
    assert_int_equal(outside.open_saves--, 1);
    assert_int_not_equal(why->code, STATUS_OK);
    buf_close(&outside.writing);
}

static enum status list(void *context, enum run_of of, struct arena *arena, struct storage_checkpoint **out,
                        size_t *count, struct error *err)
{
    enum status status = counted("list", err);
    *count = outside.count;
    *out = status == STATUS_OK ? arena_zalloc(arena, outside.count + 1, sizeof **out) : NULL;
    if (status == STATUS_OK && *out == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory");
    for (size_t i = 0; status == STATUS_OK && i < outside.count; i++)
        (*out)[i] = (struct storage_checkpoint){.seq = (int64_t)i + 1, .step = outside.steps[i]};
    return status;
}

static enum status read_bytes(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct buf *from = context;
    enum status status = counted("read", err);
    if (status == STATUS_OK && (offset > from->size || count > from->size - offset))
        status = error_set(err, STATUS_CORRUPT, NULL, "the checkpoint ends early");
    if (status == STATUS_OK)
        memcpy(bytes, from->data + offset, count);
    return status;
}

static enum status open_checkpoint(void *context, enum run_of of, struct storage_checkpoint_pick pick, void **reader,
                                   struct snapshot_reader *from, struct storage_checkpoint *info, struct error *err)
{
    *reader = NULL;
    enum status status = counted("open", err);
    if (status != STATUS_OK)
        return status;
    size_t at = pick.by == STORAGE_SEQ ? (size_t)pick.seq - 1 : outside.count - 1;
    if (at >= outside.count || (of == RUN_OF_JOB && outside.source && outside.steps[at] < 0))
        return error_set(err, STATUS_NOT_FOUND, NULL, "no such checkpoint");
    outside.open_readers++;
    *reader = &outside.stored[at];
    *from = (struct snapshot_reader){
        .context = &outside.stored[at], .total_bytes = outside.stored[at].size, .read = read_bytes};
    if (info != NULL)
        *info = (struct storage_checkpoint){.seq = (int64_t)at + 1, .step = outside.steps[at]};
    return STATUS_OK;
}

static void close_reader(void *context, void *reader)
{
    outside.open_readers -= reader != NULL;
}

static enum status rewind_points(void *context, int64_t last_samples, struct error *err)
{
    return counted("rewind", err);
}

static bool must_yield(void *context)
{
    return outside.yields;
}

static bool must_stop(void *context)
{
    return atomic_load(&outside.cancelled);
}

static bool draining(void *context)
{
    return outside.drains;
}

static void blocked(void *context, enum status status)
{
    outside.blocked = status == STATUS_FULL;
    outside.blocks += outside.blocked;
}

static void stepped(void *context, int64_t samples, double seconds, double gflops) {}

static void line(void *context, enum log_level level, const char *text)
{
    outside.warnings += level == LOG_LEVEL_WARN;
}

static void leave(void *context, enum job_event event, const char *result, const char *error, double seconds)
{
    const char *document = result != NULL ? result : error != NULL ? error : "";
    assert_int_equal(outside.leaves++, 0);
    outside.end = event;
    (void)snprintf(outside.document, sizeof outside.document, "%s", document);
}

static const struct coordinator played = {.metrics = take_metrics,
                                          .progress = take_progress,
                                          .artifact = take_artifact,
                                          .save_begin = save_begin,
                                          .save_commit = save_commit,
                                          .save_abandon = save_abandon,
                                          .list = list,
                                          .open = open_checkpoint,
                                          .close = close_reader,
                                          .rewind = rewind_points,
                                          .must_yield = must_yield,
                                          .must_stop = must_stop,
                                          .draining = draining,
                                          .blocked = blocked,
                                          .stepped = stepped,
                                          .line = line,
                                          .leave = leave};

#endif
