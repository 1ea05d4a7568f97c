/* Tests the coordinators of a distributed run: all ranks receive what rank 0 reads, and all ranks learn of a
 * failure on one rank. The ranks are threads of this process. */
#include <pthread.h>

#include "tests/support/unit.h"
#include "tests/support/comm_threads.h"
#include "trainer/distributed_run.h"

enum { RANKS = 3, BYTES = (9 << 20) + 17 }; /* BYTES: enough for more than two blocks */

/* ---- the outer coordinator of rank 0 ---------------------------------------------------------------------- */

struct fake_outside {
    char *bytes;
    bool no_checkpoint, read_fails, stop_requested;
    bool begin_fails, commit_fails;
    int open_readers, progress_calls, leave_calls, begun, committed, abandoned;
};

static enum status fake_read(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct fake_outside *w = context;
    if (w->read_fails && offset > 0)
        return error_set(err, STATUS_IO, NULL, "the disk is gone");
    memcpy(bytes, w->bytes + offset, count);
    return STATUS_OK;
}

static enum status fake_open(void *context, enum run_of of, struct storage_checkpoint_pick pick, void **reader,
                             struct snapshot_reader *from, struct storage_checkpoint *info, struct error *err)
{
    struct fake_outside *w = context;
    if (w->no_checkpoint)
        return error_set(err, STATUS_NOT_FOUND, "/from", "no such checkpoint");
    w->open_readers++;
    *reader = w;
    *from = (struct snapshot_reader){.context = w, .total_bytes = BYTES, .read = fake_read};
    *info = (struct storage_checkpoint){.seq = 7, .step = 70};
    return STATUS_OK;
}

static void fake_close(void *context, void *reader)
{
    struct fake_outside *w = context;
    w->open_readers -= reader != NULL;
}

static enum status fake_list(void *context, enum run_of of, struct arena *arena, struct storage_checkpoint **list,
                             size_t *count, struct error *err)
{
    *count = 2;
    *list = arena_zalloc(arena, 2, sizeof **list);
    (*list)[1].seq = 8;
    return STATUS_OK;
}

static enum status fake_rewind(void *context, int64_t last_samples, struct error *err)
{
    return last_samples == 5 ? STATUS_OK : error_set(err, STATUS_CONFLICT, NULL, "not five");
}

static enum status fake_save_begin(void *context, const struct storage_checkpoint_new *what, struct snapshot_writer *to,
                                   struct error *err)
{
    struct fake_outside *w = context;
    if (w->begin_fails)
        return error_set(err, STATUS_IO, NULL, "the disk is full");
    w->begun++;
    *to = (struct snapshot_writer){0};
    return STATUS_OK;
}

static enum status fake_save_commit(void *context, int64_t *seq, struct error *err)
{
    struct fake_outside *w = context;
    if (w->commit_fails)
        return error_set(err, STATUS_UNAVAILABLE, NULL, "the daemon is gone");
    *seq = ++w->committed;
    return STATUS_OK;
}

static void fake_save_abandon(void *context, const struct error *why)
{
    ((struct fake_outside *)context)->abandoned++;
}

static bool fake_yield(void *context)
{
    return ((struct fake_outside *)context)->stop_requested;
}

static enum status fake_progress(void *context, const char *document, struct error *err)
{
    ((struct fake_outside *)context)->progress_calls++;
    return STATUS_OK;
}

static void fake_leave(void *context, enum job_event event, const char *result, const char *error, double seconds)
{
    ((struct fake_outside *)context)->leave_calls++;
}

/* ---- ranks ---------------------------------------------------------------------------------------------------- */

typedef void rank_body(struct distributed_run *distributed, const struct coordinator *coordinator);

struct rank {
    pthread_t thread;
    struct distributed_run distributed;
    rank_body *body;
    atomic_bool stop_requested;
};

static void *start(void *context)
{
    struct rank *r = context;
    struct coordinator coordinator = distributed_coordinator(&r->distributed);
    r->body(&r->distributed, &coordinator);
    return NULL;
}

/* cmocka's assertions only work on the main thread, so a rank that fails a check ends the program. */
#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            print_error("rank %d, line %d: %s\n", comm_rank(distributed->comm), __LINE__, #what);                      \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static void on_ranks(struct fake_outside *w, int stopped, rank_body *body)
{
    struct rank ranks[RANKS] = {0};
    struct comm *comms[RANKS];
    struct error err = {0};
    w->bytes = malloc(BYTES);
    assert_non_null(w->bytes);
    for (size_t i = 0; i < BYTES; i++)
        w->bytes[i] = (char)(i * 2654435761u >> 24);
    assert_int_equal(comm_threads_create(RANKS, comms, &err), STATUS_OK);
    for (int r = 0; r < RANKS; r++) {
        ranks[r].body = body;
        atomic_store(&ranks[r].stop_requested, r == stopped);
        ranks[r].distributed = (struct distributed_run){.comm = comms[r], .stop_requested = &ranks[r].stop_requested};
        if (r == 0)
            ranks[r].distributed.outside = (struct coordinator){.context = w,
                                                                .progress = fake_progress,
                                                                .list = fake_list,
                                                                .open = fake_open,
                                                                .close = fake_close,
                                                                .rewind = fake_rewind,
                                                                .save_begin = fake_save_begin,
                                                                .save_commit = fake_save_commit,
                                                                .save_abandon = fake_save_abandon,
                                                                .draining = fake_yield,
                                                                .must_yield = fake_yield,
                                                                .leave = fake_leave};
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, start, &ranks[r]), 0);
    }
    for (int r = 0; r < RANKS; r++)
        pthread_join(ranks[r].thread, NULL);
    comm_threads_destroy(comms);
    free(w->bytes);
}

static const struct storage_checkpoint_pick latest = {.by = STORAGE_LATEST};

static void reads_all(struct distributed_run *distributed, const struct coordinator *coordinator)
{
    struct error err = {0};
    struct snapshot_reader from;
    struct storage_checkpoint info, *list;
    struct arena arena;
    size_t count, wrong = 0;
    void *reader;
    char piece[1000], more[2];
    CHECK(coordinator->open(coordinator->context, RUN_OF_JOB, latest, &reader, &from, &info, &err) == STATUS_OK);
    CHECK(info.seq == 7 && info.step == 70 && from.total_bytes == BYTES);
    for (size_t at = 0; at < BYTES; at += sizeof piece) {
        size_t n = BYTES - at < sizeof piece ? BYTES - at : sizeof piece;
        CHECK(from.read(from.context, at, piece, n, &err) == STATUS_OK);
        for (size_t i = 0; i < n; i++)
            wrong += piece[i] != (char)((at + i) * 2654435761u >> 24);
    }
    CHECK(wrong == 0);
    CHECK(comm_rank(distributed->comm) == 0 || from.read(from.context, BYTES - 1, more, 2, NULL) == STATUS_CORRUPT);
    coordinator->close(coordinator->context, reader);
    arena_init(&arena, 4096, 0);
    CHECK(coordinator->list(coordinator->context, RUN_OF_SOURCE, &arena, &list, &count, &err) == STATUS_OK);
    CHECK(count == 2 && list[0].seq == 0 && list[1].seq == 8);
    arena_close(&arena);
    CHECK(coordinator->rewind(coordinator->context, 5, &err) == STATUS_OK);
    CHECK(coordinator->rewind(coordinator->context, 6, &err) == STATUS_CONFLICT &&
          strcmp(err.message, "not five") == 0);
    CHECK(coordinator->progress(coordinator->context, "{}", &err) == STATUS_OK);
    CHECK(!coordinator->must_yield(coordinator->context));
}

static void all_ranks_read_what_rank_0_reads(void **state)
{
    struct fake_outside w = {0};
    on_ranks(&w, -1, reads_all);
    assert_int_equal(w.open_readers, 0);
    assert_int_equal(w.progress_calls, 1); /* only rank 0 reports progress */
}

static void finds_none(struct distributed_run *distributed, const struct coordinator *coordinator)
{
    struct error err = {0};
    struct snapshot_reader from;
    void *reader;
    CHECK(coordinator->open(coordinator->context, RUN_OF_JOB, latest, &reader, &from, NULL, &err) == STATUS_NOT_FOUND);
    CHECK(strcmp(err.pointer, "/from") == 0 && strcmp(err.message, "no such checkpoint") == 0 && reader == NULL);
    CHECK(coordinator->must_yield(coordinator->context));
    coordinator->leave(coordinator->context, JOB_EVENT_YIELD, NULL, NULL, 1.0);
    CHECK(distributed->end == JOB_EVENT_YIELD);
}

static void missing_checkpoint_is_missing_on_all_ranks(void **state)
{
    struct fake_outside w = {.no_checkpoint = true, .stop_requested = true};
    on_ranks(&w, -1, finds_none);
    assert_int_equal(w.leave_calls, 1);
}

static void breaks_off(struct distributed_run *distributed, const struct coordinator *coordinator)
{
    struct error err = {0};
    struct snapshot_reader from;
    void *reader;
    CHECK(coordinator->open(coordinator->context, RUN_OF_JOB, latest, &reader, &from, NULL, &err) == STATUS_IO);
    CHECK(strcmp(err.message, "the disk is gone") == 0 && reader == NULL);
    /* all ranks must stop, because rank 2 was requested to stop */
    CHECK(coordinator->must_yield(coordinator->context));
}

static void failed_read_fails_on_all_ranks(void **state)
{
    struct fake_outside w = {.read_fails = true};
    on_ranks(&w, 2, breaks_off);
    assert_int_equal(w.open_readers, 0);
}

static void saves(struct distributed_run *distributed, const struct coordinator *coordinator)
{
    const struct storage_checkpoint_new what = {.step = 3};
    struct error err = {0};
    struct snapshot_writer to;
    int64_t seq = -1;
    CHECK(coordinator->save_begin(coordinator->context, &what, &to, &err) == STATUS_OK);
    CHECK(coordinator->save_commit(coordinator->context, &seq, &err) == STATUS_OK && seq == 1);
    CHECK(!coordinator->draining(coordinator->context));
    /* Rank 2 cannot write its part of the checkpoint. */
    CHECK(coordinator->save_begin(coordinator->context, &what, &to, &err) == STATUS_OK);
    if (comm_rank(distributed->comm) == 2) {
        (void)error_set(&err, STATUS_NUMERIC, NULL, "a weight is not finite");
        coordinator->save_abandon(coordinator->context, &err);
    } else {
        CHECK(coordinator->save_commit(coordinator->context, &seq, &err) == STATUS_NUMERIC && seq == 0);
    }
    CHECK(err.code == STATUS_NUMERIC && strcmp(err.message, "a weight is not finite") == 0);
}

static void ranks_save_one_checkpoint(void **state)
{
    struct fake_outside w = {0};
    on_ranks(&w, -1, saves);
    assert_int_equal(w.begun, 2);
    assert_int_equal(w.committed, 1);
    assert_int_equal(w.abandoned, 1);
}

static void cannot_save(struct distributed_run *distributed, const struct coordinator *coordinator)
{
    const struct storage_checkpoint_new what = {.step = 3};
    struct error err = {0};
    struct snapshot_writer to;
    CHECK(coordinator->save_begin(coordinator->context, &what, &to, &err) == STATUS_IO &&
          strcmp(err.message, "the disk is full") == 0);
    CHECK(coordinator->draining(coordinator->context));
}

static void cannot_end_it(struct distributed_run *distributed, const struct coordinator *coordinator)
{
    const struct storage_checkpoint_new what = {.step = 3};
    struct error err = {0};
    struct snapshot_writer to;
    int64_t seq;
    CHECK(coordinator->save_begin(coordinator->context, &what, &to, &err) == STATUS_OK);
    CHECK(coordinator->save_commit(coordinator->context, &seq, &err) == STATUS_UNAVAILABLE &&
          strcmp(err.message, "the daemon is gone") == 0);
}

static void failed_save_fails_on_all_ranks(void **state)
{
    struct fake_outside full = {.begin_fails = true, .stop_requested = true}, torn = {.commit_fails = true};
    on_ranks(&full, -1, cannot_save);
    assert_int_equal(full.begun, 0);
    on_ranks(&torn, -1, cannot_end_it);
    assert_int_equal(torn.committed, 0);
}

/* Rank 1 has ended. The other ranks stop, and no result is reported. */
static void loses_one(struct distributed_run *distributed, const struct coordinator *coordinator)
{
    if (comm_rank(distributed->comm) == 1) {
        comm_threads_leave(distributed->comm);
        return;
    }
    CHECK(coordinator->must_yield(coordinator->context) && comm_broken(distributed->comm));
    coordinator->leave(coordinator->context, JOB_EVENT_FAIL, NULL, "{\"code\":\"unavailable\"}", 1.0);
    CHECK(strcmp(distributed->failure, "{\"code\":\"unavailable\"}") == 0);
}

static void lost_rank_ends_the_run_without_report(void **state)
{
    struct fake_outside w = {0};
    on_ranks(&w, -1, loses_one);
    assert_int_equal(w.leave_calls, 0);
}

/* ---- the job ------------------------------------------------------------------------------------------------ */

static void gets_job(struct distributed_run *distributed, const struct coordinator *coordinator)
{
    struct error err = {0};
    struct arena arena;
    struct storage_job job = {0};
    bool first = comm_rank(distributed->comm) == 0;
    arena_init(&arena, 4096, 0);
    if (first)
        job = (struct storage_job){.id = "01",
                                   .kind = "fake",
                                   .config = "{\"a\":1}",
                                   .source_job = "",
                                   .threads = 3,
                                   .source_checkpoint = 4,
                                   .task = JOB_EVALUATE,
                                   .params = "{}"};
    CHECK(distributed_job(distributed->comm, STATUS_OK, &arena, &job, &err) == STATUS_OK);
    CHECK(strcmp(job.id, "01") == 0 && strcmp(job.kind, "fake") == 0 && strcmp(job.config, "{\"a\":1}") == 0);
    CHECK(job.source_job[0] == '\0' && job.progress == NULL && strcmp(job.params, "{}") == 0);
    CHECK(job.threads == 3 && job.source_checkpoint == 4 && job.task == JOB_EVALUATE);
    enum status mine = STATUS_OK;
    if (first)
        mine = error_set(&err, STATUS_CANCELLED, NULL, "the lease is lost");
    CHECK(distributed_job(distributed->comm, mine, &arena, &job, &err) == STATUS_CANCELLED);
    CHECK(strcmp(err.message, "the lease is lost") == 0);
    arena_close(&arena);
}

static void all_ranks_receive_the_job(void **state)
{
    struct fake_outside w = {0};
    on_ranks(&w, -1, gets_job);
}

/* ---- one rank ----------------------------------------------------------------------------------------------- */

static bool fake_stop(void *context)
{
    return ((struct fake_outside *)context)->stop_requested;
}

/* In a run with one rank, the outer coordinator alone decides whether the run must stop, and whether it ends in the
 * middle of a step. */
static void one_rank_asks_only_the_outside(void **state)
{
    atomic_bool stop_requested = false;
    struct fake_outside w = {.bytes = NULL};
    struct distributed_run distributed = {.stop_requested = &stop_requested,
                                          .outside = {.context = &w,
                                                      .open = fake_open,
                                                      .close = fake_close,
                                                      .rewind = fake_rewind,
                                                      .must_yield = fake_yield,
                                                      .draining = fake_yield,
                                                      .leave = fake_leave}};
    struct coordinator coordinator = distributed_coordinator(&distributed);
    struct snapshot_reader from;
    struct storage_checkpoint info;
    void *reader;
    assert_int_equal(coordinator.open(coordinator.context, RUN_OF_JOB, latest, &reader, &from, &info, NULL), STATUS_OK);
    assert_true(reader == &w && info.seq == 7 && from.total_bytes == BYTES);
    coordinator.close(coordinator.context, reader);
    assert_int_equal(w.open_readers, 0);
    assert_int_equal(coordinator.rewind(coordinator.context, 6, NULL), STATUS_CONFLICT);
    /* without must_stop(), the outer coordinator never ends a step early */
    assert_false(coordinator.must_stop(coordinator.context));
    distributed.outside.must_stop = fake_stop;
    assert_false(coordinator.must_stop(coordinator.context) || coordinator.must_yield(coordinator.context));
    assert_false(coordinator.draining(coordinator.context));
    w.stop_requested = true;
    assert_true(coordinator.must_stop(coordinator.context) && coordinator.must_yield(coordinator.context) &&
                coordinator.draining(coordinator.context));
    w.stop_requested = false;
    atomic_store(&stop_requested, true); /* a signal */
    assert_true(coordinator.must_yield(coordinator.context) && !coordinator.must_stop(coordinator.context));
    coordinator.leave(coordinator.context, JOB_EVENT_FAIL, NULL, NULL, 1.0);
    assert_true(w.leave_calls == 1 && distributed.end == JOB_EVENT_FAIL && distributed.failure[0] == '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_read_what_rank_0_reads),
        cmocka_unit_test(missing_checkpoint_is_missing_on_all_ranks),
        cmocka_unit_test(failed_read_fails_on_all_ranks),
        cmocka_unit_test(lost_rank_ends_the_run_without_report),
        cmocka_unit_test(ranks_save_one_checkpoint),
        cmocka_unit_test(failed_save_fails_on_all_ranks),
        cmocka_unit_test(all_ranks_receive_the_job),
        cmocka_unit_test(one_rank_asks_only_the_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
