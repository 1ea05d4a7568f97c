#include "tests/support/crew.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void hear(void *watcher, const char *name, int64_t step, double value)
{
    struct story *story = watcher;
    if (strcmp(name, "samples_per_second") == 0 || story->points == POINTS)
        return;
    snprintf(story->point[story->points].name, sizeof story->point[0].name, "%s", name);
    story->point[story->points].samples = step;
    story->point[story->points++].value = value;
}

static void keep(void *watcher, const char *name, const char *media_type, const void *bytes, size_t count)
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
    struct crew_rank *r = context;
    enum method_wish wish = METHOD_CONTINUE;
    const struct method *method = r->method;
    struct error *err = &r->error;
    enum status status = host_open(&r->host, 1, NULL, err);
    r->host.watcher = r->story;
    r->host.metric = r->story ? hear : NULL;
    r->host.artifact = r->story ? keep : NULL;
    r->host.env.comm = r->comm;
    r->host.env.step_seconds = 1e-9 + 3e-3 * comm_rank(r->comm); /* ranks are not equally far on */
    if (!status)
        status = method->create(r->config, &r->host.env, &r->run, err);
    if (!status && r->from) {
        struct pack_reader reader = host_reader(r->from);
        status = method->load(r->run, &reader, err);
    }
    if (!status)
        method->progress(r->run, &r->progress);
    while (!status && wish != METHOD_DONE && (r->until == 0 || r->progress.step < r->until)) {
        struct method_progress before = r->progress;
        status = host_step(&r->host, method, r->run, &wish, err);
        method->progress(r->run, &r->progress);
        if (!status && (r->progress.samples < before.samples || r->progress.step < before.step))
            status = error_set(err, STATUS_INTERNAL, NULL, "progress goes back");
    }
    if (!status)
        status = host_save(method, r->run, &r->saved, err);
    r->status = status;
    if (status && r->comm)
        comm_threads_leave(r->comm);
    return NULL;
}

struct crew_rank *crew_run(const struct method *method, const void *config, int ranks, struct host_bytes *from, int64_t until, struct story *story)
{
    struct crew_rank *all = calloc((size_t)ranks, sizeof *all);
    struct comm *comms[CREW_MOST];
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

void crew_close(struct crew_rank *all, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        all[i].method->destroy(all[i].run);
        host_bytes_close(&all[i].saved);
        host_close(&all[i].host);
    }
    free(all);
}

void crew_went_well(const struct crew_rank *all, int ranks)
{
    for (int i = 0; i < ranks; i++)
        if (all[i].status)
            fail_msg("rank %d of %d: %s", i, ranks, all[i].error.message);
    for (int i = 1; i < ranks; i++) { /* all write the same */
        assert_int_equal(all[i].saved.count, all[0].saved.count);
        assert_memory_equal(all[i].saved.data, all[0].saved.data, all[0].saved.count);
        assert_int_equal(all[i].progress.step, all[0].progress.step);
        assert_true(all[i].progress.fraction == all[0].progress.fraction);
    }
}

void crew_same_weights(const struct crew_rank *a, const struct crew_rank *b)
{
    char first[65], second[65];
    struct host_bytes one = a->saved, two = b->saved;
    assert_ok(host_weights_hash(&one, first, err));
    assert_ok(host_weights_hash(&two, second, err));
    assert_string_equal(first, second);
}

void crew_same_stories(const struct story *a, const struct story *b)
{
    assert_int_equal(a->points, b->points);
    for (int i = 0; i < a->points; i++) {
        assert_string_equal(a->point[i].name, b->point[i].name);
        assert_int_equal(a->point[i].samples, b->point[i].samples);
        assert_memory_equal(&a->point[i].value, &b->point[i].value, sizeof(double));
    }
}

/* Renames entries in the table of contents. */
void crew_rename_entry(struct host_bytes *bytes, const char *from, const char *to)
{
    uint32_t entries;
    memcpy(&entries, bytes->data + 8, sizeof entries);
    for (uint32_t i = 0; i < entries; i++) {
        char *name = bytes->data + 24 + (size_t)i * 152;
        if (strcmp(name, from) == 0) {
            memset(name, 0, PACK_NAME);
            memcpy(name, to, strlen(to));
            return;
        }
    }
    fail_msg("no entry %s", from);
}

