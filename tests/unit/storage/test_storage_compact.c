/* Tests that the file shrinks after deletions: by itself while no job runs, and completely with storage_compact(). */
#include "tests/unit/storage/storage_fixture.h"

enum { JOBS = 12, SIZE = 4 << 20 };

/* Stores a finished job with a checkpoint of SIZE bytes. */
static void store(struct fixture *f, char id[STORAGE_ID])
{
    const struct storage_checkpoint_new what = {.step = 1, .samples = 1, .density = 1, .accuracy = 1};
    struct storage_checkpoint_writer *writer;
    static unsigned char bytes[SIZE];
    uint64_t chance = 3;
    int64_t seq;
    for (size_t i = 0; i < sizeof bytes; i += 4)
        memcpy(bytes + i, &(uint32_t){lcg(&chance)}, 4);
    submit_running(f, id);
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, bytes, sizeof bytes, &f->err));
    OK(storage_checkpoint_commit(writer, &seq, &f->err));
    finish(f, id);
}

static int64_t file_bytes(const struct fixture *f)
{
    struct stat file;
    assert_int_equal(stat(f->path, &file), 0);
    return (int64_t)file.st_size;
}

/* Whether the file is hardly larger than its pages in use. It shrinks in steps of a megabyte. */
static bool is_small(const struct storage_stats *stats)
{
    return stats->file_bytes * 10 <= (stats->file_bytes - stats->free_bytes) * 12;
}

static void the_file_shrinks_after_a_deletion(void **state)
{
    struct fixture *f = *state;
    char ids[JOBS][STORAGE_ID];
    struct storage_stats stats;
    for (int i = 0; i < JOBS; i++)
        store(f, ids[i]);
    OK(storage_stats_read(f->storage, &stats, &f->err));
    const int64_t full = stats.file_bytes;
    assert_true(full > (int64_t)JOBS * SIZE);
    for (int i = 0; i < JOBS; i++)
        if (i % 4 != 0)
            OK(storage_job_delete(f->storage, ids[i], &f->err));
    for (int i = 0; i < 6000 && (stats.file_bytes > full / 3 || !is_small(&stats)); i++) {
        sleep_ms(10);
        OK(storage_stats_read(f->storage, &stats, &f->err));
    }
    assert_true(stats.file_bytes <= full / 3 && is_small(&stats));
    for (int i = 0; i < JOBS; i += 4)
        OK(verify_latest(f, ids[i], NULL));
    fixture_reopen(f); /* closing copies the log into the file */
    OK(storage_stats_read(f->storage, &stats, &f->err));
    assert_true(file_bytes(f) * 10 <= (stats.file_bytes - stats.free_bytes) * 11 + (int64_t)10 * (2 << 20));
    OK(storage_compact(f->storage, &f->err));
    OK(storage_stats_read(f->storage, &stats, &f->err));
    assert_int_equal(stats.free_bytes, 0);
    OK(storage_compact(f->storage, &f->err)); /* nothing is left to do */
    fixture_reopen(f);
    OK(storage_stats_read(f->storage, &stats, &f->err));
    print_message("%.1f MB before, %.1f MB now\n", (double)full / 1e6, (double)file_bytes(f) / 1e6);
    assert_true(file_bytes(f) * 10 <= (stats.file_bytes - stats.free_bytes) * 11);
    assert_true(file_bytes(f) < full / 3);
    for (int i = 0; i < JOBS; i += 4)
        OK(verify_latest(f, ids[i], NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_OPEN(the_file_shrinks_after_a_deletion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
