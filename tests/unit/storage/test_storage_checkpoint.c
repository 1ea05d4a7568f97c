/* Tests checkpoints: writing them, reading ranges, the retention rule, readers that hold a checkpoint, and what a
 * crash leaves. */
#include "tests/unit/storage/storage_fixture.h"

static const struct storage_checkpoint_pick LATEST = {.by = STORAGE_LATEST};

/* Returns a byte that depends on its position, so that every range can be verified. */
static unsigned char byte_at(uint64_t seed, uint64_t at)
{
    uint64_t x = (at / 8 + 1) * 0x9E3779B97F4A7C15u + seed;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 32;
    return (unsigned char)(x >> (at % 8 * 8));
}

static void fill(unsigned char *bytes, uint64_t seed, uint64_t at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = byte_at(seed, at + i);
}

static int64_t save(struct fixture *f, const char *id, const struct storage_checkpoint_new *what, uint64_t seed,
                    size_t bytes, size_t piece)
{
    struct storage_checkpoint_writer *writer;
    int64_t seq = -1;
    unsigned char *from = malloc(piece > 0 ? piece : 1);
    OK(storage_checkpoint_begin(f->storage, id, what, &writer, &f->err));
    for (size_t at = 0; at < bytes; at += piece) {
        size_t some = bytes - at < piece ? bytes - at : piece;
        fill(from, seed, at, some);
        OK(storage_checkpoint_write(writer, from, some, &f->err));
    }
    OK(storage_checkpoint_commit(writer, &seq, &f->err));
    free(from);
    return seq;
}

static int64_t save_small(struct fixture *f, const char *id, double density, double accuracy, bool stage_end)
{
    struct storage_checkpoint_new what = {
        .step = 1, .samples = 10, .density = density, .accuracy = accuracy, .stage_end = stage_end};
    return save(f, id, &what, 1, 100, 100);
}

/* Returns the numbers of the stored checkpoints, as "1 4 5". */
static const char *sequence(struct fixture *f, const char *id)
{
    static char text[200];
    struct storage_checkpoint *list;
    size_t count, used = 0;
    OK(storage_checkpoint_list(f->storage, id, &f->arena, &list, &count, &f->err));
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i > 0 ? " " : "", (int)list[i].seq);
    return text;
}

static void checkpoints_are_found_by_every_rule(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    struct storage_checkpoint found;
    submit_running(f, id);
    REFUSED(STATUS_NOT_FOUND, storage_checkpoint_find(f->storage, id, LATEST, &found, &f->err));
    struct storage_checkpoint_new what = {
        .step = 7, .samples = 70, .density = 0.25, .accuracy = (double)NAN, .stage_end = true};
    assert_int_equal(save(f, id, &what, 1, 1000, 77), 1);
    what =
        (struct storage_checkpoint_new){.step = 9, .samples = 90, .density = 5e-5, .accuracy = 0.5, .stage_end = true};
    assert_int_equal(save(f, id, &what, 2, 0, 1), 2); /* a checkpoint without data */
    fixture_reopen(f);
    OK(storage_checkpoint_find(f->storage, id, LATEST, &found, &f->err));
    assert_int_equal(found.seq, 2);
    assert_int_equal(found.bytes, 0);
    struct storage_checkpoint_pick pick = {.by = STORAGE_SEQ, .seq = 1};
    OK(storage_checkpoint_find(f->storage, id, pick, &found, &f->err));
    assert_int_equal(found.step, 7);
    assert_int_equal(found.samples, 70);
    assert_true(found.density == 0.25);
    assert_true(isnan(found.accuracy));
    assert_int_equal(found.bytes, 1000);
    assert_true(found.stage_end && !found.pinned && found.created_at > 0);
    pick = (struct storage_checkpoint_pick){.by = STORAGE_DENSITY, .density = 5.0000001e-5};
    OK(storage_checkpoint_find(f->storage, id, pick, &found, &f->err));
    assert_int_equal(found.seq, 2);
    pick.density = 5.1e-5;
    REFUSED(STATUS_NOT_FOUND, storage_checkpoint_find(f->storage, id, pick, &found, &f->err));
    pick = (struct storage_checkpoint_pick){.by = STORAGE_BEST};
    OK(storage_checkpoint_find(f->storage, id, pick, &found, &f->err));
    assert_int_equal(found.seq, 2);
    pick = (struct storage_checkpoint_pick){.by = STORAGE_SEQ, .seq = 3};
    REFUSED(STATUS_NOT_FOUND, storage_checkpoint_find(f->storage, id, pick, &found, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_checkpoint_find(f->storage, "no-such-job", LATEST, &found, &f->err));
    struct storage_checkpoint_writer *writer;
    REFUSED(STATUS_NOT_FOUND, storage_checkpoint_begin(f->storage, "no-such-job", &what, &writer, &f->err));
    assert_null(writer);
}

static void ranges_of_a_large_checkpoint_are_read(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    const size_t total = ((size_t)64 << 20) + 12345;
    struct storage_checkpoint_new what = {.step = 1, .samples = 1, .density = 1, .accuracy = 1};
    struct storage_checkpoint_reader *reader;
    struct storage_checkpoint info;
    uint64_t chance = 7;
    submit_running(f, id);
    assert_int_equal(save(f, id, &what, 99, total, 300007), 1);
    OK(storage_checkpoint_open(f->storage, id, LATEST, &reader, &info, &f->err));
    assert_int_equal(info.bytes, total);
    OK(storage_checkpoint_verify(reader, &f->err));
    unsigned char *bytes = malloc(3000000), *want = malloc(3000000);
    for (int i = 0; i < 60; i++) {
        uint64_t chunk = (uint64_t)1 << 20;
        size_t count = i % 3 == 0 ? lcg(&chance) % 64 : lcg(&chance) % 3000000;
        uint64_t at = i % 2 == 0 ? lcg(&chance) % (total - count + 1) /* half of the ranges are near a chunk boundary */
                                 : (1 + lcg(&chance) % 60) * chunk - lcg(&chance) % (count / 2 + 2);
        if (at + count > total)
            at = total - count;
        fill(want, 99, at, count);
        OK(storage_checkpoint_read(reader, at, bytes, count, &f->err));
        assert_memory_equal(bytes, want, count);
    }
    OK(storage_checkpoint_read(reader, total, bytes, 0, &f->err));
    REFUSED(STATUS_CORRUPT, storage_checkpoint_read(reader, total, bytes, 1, &f->err));
    REFUSED(STATUS_CORRUPT, storage_checkpoint_read(reader, UINT64_MAX, bytes, 2, &f->err));
    REFUSED(STATUS_CORRUPT, storage_checkpoint_read(reader, total - 5, bytes, 6, &f->err));
    storage_checkpoint_close(reader);
    free(bytes);
    free(want);
}

static void commit_retires_old_checkpoints(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], child[STORAGE_ID];
    submit_running(f, id);
    save_small(f, id, 0.5, 0.1, false); /* checkpoint 1 */
    assert_string_equal(sequence(f, id), "1");
    save_small(f, id, 0.5, 0.9, false); /* checkpoint 2: the most accurate and the latest */
    assert_string_equal(sequence(f, id), "2");
    save_small(f, id, 0.5, 0.2, true); /* checkpoint 3: the end of a stage */
    assert_string_equal(sequence(f, id), "2 3");
    save_small(f, id, 0.25, (double)NAN, false); /* checkpoint 4: its accuracy is unknown */
    assert_string_equal(sequence(f, id), "2 3 4");
    OK(storage_checkpoint_pin(f->storage, id, 4, true, &f->err));
    save_small(f, id, 0.5, 0.3, true); /* checkpoint 5: a later end of the same stage */
    assert_string_equal(sequence(f, id), "2 4 5");
    save_small(f, id, 0.25, 0.9, false); /* checkpoint 6: as accurate as checkpoint 2, and later, so 2 is removed */
    assert_string_equal(sequence(f, id), "4 5 6");
    struct storage_submit in = {.kind = "sparling", .config = "{}", .source_job = id, .source_checkpoint = 4};
    enum storage_submit_outcome outcome;
    OK(storage_job_submit(f->storage, &in, child, &outcome, &f->err));
    OK(storage_checkpoint_pin(f->storage, id, 4, false, &f->err));
    /* checkpoint 7; checkpoint 4 stays, because an unfinished job starts from it */
    save_small(f, id, 0.125, 0.4, true);
    assert_string_equal(sequence(f, id), "4 5 6 7");
    OK(storage_job_request(f->storage, child, JOB_EVENT_CANCEL, NULL, NULL, &f->err));
    /* checkpoint 8: a stage without a density counts as a stage too */
    save_small(f, id, (double)NAN, (double)NAN, true);
    save_small(f, id, (double)NAN, (double)NAN, true); /* checkpoint 9 */
    assert_string_equal(sequence(f, id), "5 6 7 9");
    await_integer(f, "SELECT count(*) FROM pending_delete", 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM chunk"), 4);
    REFUSED(STATUS_NOT_FOUND, storage_checkpoint_pin(f->storage, id, 8, true, &f->err));
}

/* A reader can finish although the checkpoint was removed meanwhile. */
static void reader_keeps_removed_checkpoint(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], other[STORAGE_ID];
    struct storage_checkpoint_reader *first, *second;
    struct storage_checkpoint_new what = {.step = 1, .samples = 1, .density = 1, .accuracy = (double)NAN};
    unsigned char byte;
    submit_running(f, id);
    save(f, id, &what, 5, 5 << 20, 1 << 20);
    OK(storage_checkpoint_open(f->storage, id, LATEST, &first, NULL, &f->err));
    OK(storage_checkpoint_open(f->storage, id, LATEST, &second, NULL, &f->err));
    save(f, id, &what, 6, 2 << 20, 1 << 20);
    assert_string_equal(sequence(f, id), "2");
    storage_checkpoint_close(second);
    finish(f, id);
    OK(storage_job_delete(f->storage, id, &f->err));
    await_integer(f, "SELECT count(*) FROM chunk", 5); /* the other chunks of the deleted job are gone */
    /* storage deletes the chunks of a later job too, and leaves those that the reader needs */
    submit_running(f, other);
    save(f, other, &what, 7, 2 << 20, 1 << 20);
    finish(f, other);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM chunk"), 7);
    OK(storage_job_delete(f->storage, other, &f->err));
    await_integer(f, "SELECT count(*) FROM chunk", 5);
    OK(storage_checkpoint_verify(first, &f->err));
    OK(storage_checkpoint_read(first, (5 << 20) - 1, &byte, 1, &f->err));
    assert_int_equal(byte, byte_at(5, (5 << 20) - 1));
    storage_checkpoint_close(first);
    await_integer(f, "SELECT count(*) FROM chunk", 0);
}

static void unfinished_checkpoints_are_removed(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {.step = 1, .samples = 1, .density = 1, .accuracy = 1};
    unsigned char *bytes = calloc(1, 5 << 20);
    submit_running(f, id);
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, bytes, 5 << 20, &f->err));
    assert_string_equal(sequence(f, id), "");
    storage_checkpoint_abandon(writer);
    storage_checkpoint_abandon(NULL);
    await_integer(f, "SELECT count(*) FROM chunk", 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM checkpoint"), 0);
    assert_int_equal(save_small(f, id, 1, 1, false), 2); /* the number of the deleted checkpoint is not used again */
    /* make what a crash leaves: an incomplete row and a chunk of data */
    fixture_close(f);
    sqlite3 *db = open_to_change(f->path);
    assert_int_equal(sqlite3_exec(db,
                                  "UPDATE meta SET value = 0 WHERE key = 'clean';"
                                  "INSERT INTO checkpoint VALUES (77, (SELECT num FROM job), 3, 1, 1, 1, 1, 0, NULL, 0,"
                                  " 0, 0, 1); INSERT INTO chunk VALUES ((77 << 20) + 1, zeroblob(100))",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    fixture_open(f);
    assert_string_equal(sequence(f, id), "2");
    await_integer(f, "SELECT count(*) FROM chunk", 1);
    free(bytes);
}

/* A client deletes the job while its checkpoint is being written. */
static void commit_fails_for_deleted_job(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {.step = 1, .samples = 1, .density = 1, .accuracy = 1};
    unsigned char *bytes = calloc(1, 3 << 20);
    int64_t seq;
    submit_running(f, id);
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, bytes, 2 << 20, &f->err));
    finish(f, id);
    OK(storage_job_delete(f->storage, id, &f->err));
    OK(storage_checkpoint_write(writer, bytes, 3 << 20, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_checkpoint_commit(writer, &seq, &f->err));
    fixture_reopen(f);
    await_integer(f, "SELECT count(*) FROM pending_delete", 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM checkpoint"), 0);
    free(bytes);
}

/* Metric points that were appended before commit() are on disk with the checkpoint. */
static void commit_includes_earlier_metrics(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    struct storage_metric metric = {.name = "loss", .point = {10, 0.5}};
    submit_running(f, id);
    OK(storage_metric_append(f->storage, id, &metric, 1, &f->err));
    OK(storage_job_progress(f->storage, id, "{\"step\":10}", &f->err));
    save_small(f, id, 1, 1, false);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM block"), 1);
    assert_string_equal(job_of(f, id).progress, "{\"step\":10}");
}

static void verify_finds_damage(void **state)
{
    static const char *const damage[] = {
        "UPDATE chunk SET data = zeroblob(length(data)) WHERE id & 0xfffff = 1",
        "DELETE FROM chunk WHERE id & 0xfffff = 1",
        "UPDATE chunk SET data = x'00' WHERE id & 0xfffff = 1",
    };
    struct fixture *f = *state;
    char id[STORAGE_ID];
    struct storage_checkpoint_new what = {.step = 1, .samples = 1, .density = 1, .accuracy = 1};
    submit_running(f, id);
    for (size_t d = 0; d < sizeof damage / sizeof damage[0]; d++) {
        struct storage_checkpoint_reader *reader;
        save(f, id, &what, 5, 3 << 20, 1 << 20);
        fixture_close(f);
        sqlite3 *db = open_to_change(f->path);
        assert_int_equal(sqlite3_exec(db, damage[d], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        fixture_open(f);
        OK(storage_checkpoint_open(f->storage, id, LATEST, &reader, NULL, &f->err));
        REFUSED(STATUS_CORRUPT, storage_checkpoint_verify(reader, &f->err));
        storage_checkpoint_close(reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OPEN(checkpoints_are_found_by_every_rule), TEST_OPEN(ranges_of_a_large_checkpoint_are_read),
        TEST_OPEN(commit_retires_old_checkpoints),      TEST_OPEN(reader_keeps_removed_checkpoint),
        TEST_OPEN(unfinished_checkpoints_are_removed),  TEST_OPEN(commit_fails_for_deleted_job),
        TEST_OPEN(commit_includes_earlier_metrics),     TEST_OPEN(verify_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
