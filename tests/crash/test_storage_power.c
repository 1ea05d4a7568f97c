/* Simulates power failures at random moments. After each failure, the disk has all, some or none of the writes that
 * were not synced. The store on that disk must contain every acknowledged change. fault_vfs.c simulates the disk and
 * computes what remains of each file. */
#include "tests/unit/storage/storage_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tests/unit/storage/fault_vfs.h"

#define LOSSES 30
#define MANY 4000

/* The acknowledged changes. An entry is valid if its index is below `job_count` or `checkpoint_count`. */
static struct {
    char jobs[MANY][STORAGE_ID];
    atomic_int job_count;
    struct {
        char id[STORAGE_ID];
        int64_t seq, samples;
    } checkpoints[MANY];
    atomic_int checkpoint_count;
    atomic_bool stop;
} acknowledged;

static void *submitter(void *argument)
{
    struct fixture *f = argument;
    while (!atomic_load(&acknowledged.stop)) {
        int n = atomic_load(&acknowledged.job_count);
        struct storage_submit in = {.kind = "sparling", .config = "{}"};
        enum storage_submit_outcome outcome;
        if (n == MANY || storage_job_submit(f->storage, &in, acknowledged.jobs[n], &outcome, NULL) != STATUS_OK)
            break;
        atomic_store(&acknowledged.job_count, n + 1);
        sleep_ms(5);
    }
    return NULL;
}

static void *executor(void *argument)
{
    struct fixture *f = argument;
    static unsigned char bytes[900000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    while (!atomic_load(&acknowledged.stop)) {
        char id[STORAGE_ID];
        if (storage_job_claim(f->storage, id, NULL) != STATUS_OK)
            continue;
        for (int64_t samples = 1; samples <= 40 && !atomic_load(&acknowledged.stop); samples++) {
            struct storage_metric metric = {.name = "loss", .point = {samples, (double)samples}};
            (void)storage_metric_append(f->storage, id, &metric, 1, NULL);
            if (samples % 10 != 0)
                continue;
            struct storage_checkpoint_writer *writer;
            struct storage_checkpoint_new what = {
                .step = samples, .samples = samples, .density = (double)NAN, .accuracy = (double)NAN};
            int n = atomic_load(&acknowledged.checkpoint_count);
            if (n == MANY || storage_checkpoint_begin(f->storage, id, &what, &writer, NULL) != STATUS_OK)
                return NULL;
            for (int k = 0; k < 3; k++)
                (void)storage_checkpoint_write(writer, bytes, sizeof bytes - (size_t)samples, NULL);
            if (storage_checkpoint_commit(writer, &acknowledged.checkpoints[n].seq, NULL) != STATUS_OK)
                return NULL;
            memcpy(acknowledged.checkpoints[n].id, id, sizeof id);
            acknowledged.checkpoints[n].samples = samples;
            atomic_store(&acknowledged.checkpoint_count, n + 1);
        }
        (void)storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, "{}", NULL, NULL, NULL);
        sleep_ms(10);
    }
    return NULL;
}

/* Opens the store that the power failure left, and checks that it contains the acknowledged changes. */
static void check(struct fixture *left, int jobs, int checkpoints)
{
    struct fixture *f = left;
    fixture_open(f);
    for (int i = 0; i < jobs; i++)
        assert_string_equal(job_of(f, acknowledged.jobs[i]).id, acknowledged.jobs[i]);
    for (int i = 0; i < checkpoints; i++) {
        /* skip a checkpoint with a successor in the same job, because the retention rule may have removed it */
        struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
        struct storage_checkpoint_reader *reader;
        struct storage_checkpoint info;
        if (i + 1 < checkpoints && strcmp(acknowledged.checkpoints[i + 1].id, acknowledged.checkpoints[i].id) == 0)
            continue;
        OK(storage_checkpoint_open(f->storage, acknowledged.checkpoints[i].id, pick, &reader, &info, &f->err));
        assert_true(info.seq >= acknowledged.checkpoints[i].seq);
        if (i + 5 >= checkpoints)
            OK(storage_checkpoint_verify(reader, &f->err));
        storage_checkpoint_close(reader);
        struct storage_series *series;
        size_t count;
        struct storage_metric_query query = {.since = INT64_MIN};
        OK(storage_metric_read(f->storage, acknowledged.checkpoints[i].id, &query, &f->arena, &series, &count,
                               &f->err));
        assert_true(count == 1 && series[0].count >= (size_t)acknowledged.checkpoints[i].samples);
    }
    fixture_close(f);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

static void acknowledged_changes_survive_power_failure(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[2];
    uint64_t chance = (uint64_t)time(NULL);
    fault_vfs_register(1);
    f->options.vfs = FAULT_VFS;
    fixture_open(f);
    pthread_create(&threads[0], NULL, submitter, f);
    pthread_create(&threads[1], NULL, executor, f);
    for (int loss = 0; loss < LOSSES; loss++) {
        struct fixture *left = fixture_new();
        sleep_ms((int)(lcg(&chance) % 60));
        int jobs = atomic_load(&acknowledged.job_count), checkpoints = atomic_load(&acknowledged.checkpoint_count);
        fault_power_loss(left->path, &chance);
        check(left, jobs, checkpoints);
        fixture_remove(left);
    }
    atomic_store(&acknowledged.stop, true);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    print_message("acknowledged in the end: %d jobs, %d checkpoints; %d writes, %d syncs\n",
                  atomic_load(&acknowledged.job_count), atomic_load(&acknowledged.checkpoint_count), fault_writes(),
                  fault_syncs());
    assert_true(atomic_load(&acknowledged.job_count) > 20 && atomic_load(&acknowledged.checkpoint_count) > 5);
    fixture_close(f);
    f->options.vfs = NULL;
    fault_vfs_unregister();
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST_CLOSED(acknowledged_changes_survive_power_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
