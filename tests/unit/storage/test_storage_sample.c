/* Tests that a store in use reads its data again: all of it, without finding faults in sound data while writers and
 * deletions go on; damage of a row, of a checkpoint and of a file of a data set is found and counted. */
#include "tests/unit/storage/storage_fixture.h"

#include <stdlib.h>

#include "storage/files/dataset.h"
#include "storage/files/dataset_digest.h"

static char root[128], set[160]; /* the folder of data sets, and that of the only one */

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_set(struct fixture *f)
{
    (void)snprintf(root, sizeof root, "%s/data", f->folder);
    (void)snprintf(set, sizeof set, "%s/one", root);
    assert_int_equal(mkdir(root, 0700), 0);
    assert_int_equal(mkdir(set, 0700), 0);
    write_file(set, "values", "1 2 3");
    write_file(set, "about.json", "{}");
    OK(dataset_digests_write(set, &f->err));
    f->options.datasets = root;
}

static void remove_folder(const char *folder)
{
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void save(struct fixture *f, const char *id, int64_t step)
{
    const struct storage_checkpoint_new what = {.step = step, .samples = step, .density = 0.5, .stage_end = true};
    struct storage_checkpoint_writer *writer;
    char weights[5000];
    int64_t seq;
    memset(weights, (int)step, sizeof weights);
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, weights, sizeof weights, &f->err));
    OK(storage_checkpoint_commit(writer, &seq, &f->err));
}

static struct storage_stats stats_of(struct fixture *f)
{
    struct storage_stats stats;
    OK(storage_stats_read(f->storage, &stats, &f->err));
    return stats;
}

/* Waits for so many further passes. */
static struct storage_stats after_passes(struct fixture *f, int64_t passes)
{
    int64_t until = stats_of(f).sampled.passes + passes;
    for (int i = 0; i < 60000 && stats_of(f).sampled.passes < until; i++)
        usleep(1000);
    struct storage_stats stats = stats_of(f);
    assert_true(stats.sampled.passes >= until);
    return stats;
}

static void sound_data_have_no_faults(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    make_set(f);
    f->options.sample_seconds = 0.0005;
    fixture_open(f);
    submit_running(f, id);
    for (int i = 1; i <= 40; i++) { /* rows and checkpoints change while they are read */
        const struct storage_metric metric = {"loss", {i, 1.0 / i}};
        OK(storage_metric_append(f->storage, id, &metric, 1, &f->err));
        save(f, id, i);
        usleep(2000);
    }
    struct storage_stats stats = after_passes(f, 2);
    assert_int_equal(stats.sampled.faults, 0);
    assert_true(stats.sampled.rows > 50 && stats.sampled.checkpoints > 0 && stats.sampled.files >= 2);
    remove_folder(set);
    assert_int_equal(after_passes(f, 2).sampled.faults, 0); /* a data set that was deleted is no fault */
    fixture_close(f);
    remove_folder(root);
}

/* Changes rows as damage does: without their digests. */
static void damage(const char *path, const char *sql)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)NULL), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

static void damage_is_found(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    make_set(f);
    fixture_open(f);
    submit_running(f, id);
    save(f, id, 1);
    save(f, id, 2);
    finish(f, id);
    fixture_close(f);
    f->options.sample_seconds = 0.0005;
    const char *const damages[] = {"UPDATE job SET kind = 'other'",
                                   "UPDATE chunk SET data = zeroblob(length(data)) WHERE rowid = "
                                   "(SELECT min(rowid) FROM chunk)"};
    for (int i = 0; i < 3; i++) {
        if (i < 2)
            damage(f->path, damages[i]);
        else
            write_file(set, "values", "1 2 4");
        fixture_open(f);
        assert_int_equal(after_passes(f, 1).sampled.faults, i + 1);
        fixture_close(f);
    }
    remove_folder(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_CLOSED(sound_data_have_no_faults),
        TEST_CLOSED(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
