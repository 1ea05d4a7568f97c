/* Runs a method on ranks that are threads, and records what each rank published and saved. For tests of methods that
 * distribute their work items over the ranks. If a rank or a check fails, the test fails. */
#ifndef MOTIF_TESTS_SUPPORT_RANK_THREADS_H
#define MOTIF_TESTS_SUPPORT_RANK_THREADS_H

#include <pthread.h>

#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"

enum { RANK_THREADS_MOST = 8, POINTS = 4096, FILES = 64 };

/* The metrics (except speeds) and files that rank 0 published. */
struct story {
    struct {
        char name[24];
        int64_t samples;
        double value;
    } point[POINTS];
    int points;
    char files[FILES][40];
    int file_count;
};

struct rank_thread {
    pthread_t thread;
    const struct method *method;
    const void *config;
    struct comm *comm;
    struct run_env_bytes *from; /* checkpoint to load; NULL: none */
    int64_t until; /* the run stops after this number of updates, summed over all work items; 0: at its end */
    struct run_env environment;
    struct method_run *run;
    struct story *story;
    struct run_env_bytes saved;
    struct method_progress progress;
    enum status status;
    struct error error;
};

/* Runs a method on ranks until all work items together have done `until` updates (0: to the end). Returns an array of
 * `ranks` entries; the caller calls rank_threads_close(). from: checkpoint to load; NULL: none. story (may be NULL):
 * receives what rank 0 publishes. The steps of rank 0 are as short as possible; the steps of the other ranks are
 * longer, so that the ranks do not step at the same times. */
struct rank_thread *rank_threads_run(const struct method *method, const void *config, int ranks,
                                     struct run_env_bytes *from, int64_t until, struct story *story);
void rank_threads_close(struct rank_thread *all, int ranks);
/* Asserts that no rank failed and that all saved the same bytes. */
void rank_threads_went_well(const struct rank_thread *all, int ranks);
void rank_threads_same_weights(const struct rank_thread *a, const struct rank_thread *b);
void rank_threads_same_stories(const struct story *a, const struct story *b);
bool story_has_file(const struct story *story, const char *name);
#endif
