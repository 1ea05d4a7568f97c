/* Ranks as threads, each with an environment of its own (rank_threads.h). */
#include "tests/support/rank_threads.h"

#include "tests/support/unit.h"
#include "tests/support/comm_threads.h"

static void record_point(void *watcher, const char *name, int64_t step, double value)
{
    struct story *story = watcher;
    if (strcmp(name, "samples_per_second") == 0 || story->points == POINTS)
        return;
    snprintf(story->point[story->points].name, sizeof story->point[0].name, "%s", name);
    story->point[story->points].samples = step;
    story->point[story->points++].value = value;
}

static void record_artifact(void *watcher, const char *name, const char *media_type, const void *bytes, size_t count)
{
    struct story *story = watcher;
    if (story->file_count < FILES)
        snprintf(story->files[story->file_count++], sizeof story->files[0], "%s", name);
}

bool story_has_file(const struct story *story, const char *name)
{
    for (int i = 0; i < story->file_count; i++)
        if (strcmp(story->files[i], name) == 0)
            return true;
    return false;
}

static void *work(void *context)
{
    struct rank_thread *r = context;
    enum method_request request = METHOD_CONTINUE;
    const struct method *method = r->method;
    struct error *err = &r->error;
    enum status status = run_env_open(&r->environment, 1, NULL, err);
    r->environment.watcher = r->story;
    r->environment.metric = r->story ? record_point : NULL;
    r->environment.artifact = r->story ? record_artifact : NULL;
    r->environment.env.comm = r->comm;
    /* steps of a higher rank take longer, so that the ranks differ in their progress */
    r->environment.env.step_seconds = 1e-9 + 3e-3 * comm_rank(r->comm);
    if (!status)
        status = method->create(r->config, &r->environment.env, &r->run, err);
    if (!status && r->from) {
        struct snapshot_reader reader = run_env_reader(r->from);
        status = method->load(r->run, &reader, err);
    }
    if (!status)
        method->progress(r->run, &r->progress);
    while (!status && request != METHOD_DONE && (r->until == 0 || r->progress.step < r->until)) {
        struct method_progress before = r->progress;
        status = run_env_step(&r->environment, method, r->run, &request, err);
        method->progress(r->run, &r->progress);
        if (!status && (r->progress.samples < before.samples || r->progress.step < before.step))
            status = error_set(err, STATUS_INTERNAL, NULL, "progress fell");
    }
    if (!status)
        status = run_env_save(method, r->run, &r->saved, err);
    r->status = status;
    if (status && r->comm)
        comm_threads_leave(r->comm);
    return NULL;
}

struct rank_thread *rank_threads_run(const struct method *method, const void *config, int ranks,
                                     struct run_env_bytes *from, int64_t until, struct story *story)
{
    struct rank_thread *all = calloc((size_t)ranks, sizeof *all);
    struct comm *comms[RANK_THREADS_MOST];
    assert_non_null(all);
    assert_ok(comm_threads_create(ranks, comms, err));
    for (int i = 0; i < ranks; i++) {
        all[i].method = method;
        all[i].config = config;
        all[i].comm = comms[i];
        all[i].until = until;
        all[i].from = from;
        all[i].story = i == 0 ? story : NULL;
        assert_int_equal(pthread_create(&all[i].thread, NULL, work, &all[i]), 0);
    }
    for (int i = 0; i < ranks; i++)
        pthread_join(all[i].thread, NULL);
    comm_threads_destroy(comms);
    return all;
}

void rank_threads_close(struct rank_thread *all, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        all[i].method->destroy(all[i].run);
        run_env_bytes_close(&all[i].saved);
        run_env_close(&all[i].environment);
    }
    free(all);
}

void rank_threads_went_well(const struct rank_thread *all, int ranks)
{
    for (int i = 0; i < ranks; i++)
        if (all[i].status)
            fail_msg("rank %d of %d: %s", i, ranks, all[i].error.message);
    for (int i = 1; i < ranks; i++) { /* all ranks write the same bytes */
        assert_int_equal(all[i].saved.count, all[0].saved.count);
        assert_memory_equal(all[i].saved.data, all[0].saved.data, all[0].saved.count);
        assert_int_equal(all[i].progress.step, all[0].progress.step);
        assert_true(all[i].progress.fraction == all[0].progress.fraction);
    }
}

void rank_threads_same_weights(const struct rank_thread *a, const struct rank_thread *b)
{
    char first[65], second[65];
    struct run_env_bytes one = a->saved, two = b->saved;
    assert_ok(run_env_weights_hash(&one, first, err));
    assert_ok(run_env_weights_hash(&two, second, err));
    assert_string_equal(first, second);
}

void rank_threads_same_stories(const struct story *a, const struct story *b)
{
    assert_int_equal(a->points, b->points);
    for (int i = 0; i < a->points; i++) {
        assert_string_equal(a->point[i].name, b->point[i].name);
        assert_int_equal(a->point[i].samples, b->point[i].samples);
        assert_memory_equal(&a->point[i].value, &b->point[i].value, sizeof(double));
    }
}
