/* A method's run on ranks that are threads, each with what it was told and has saved; for the tests of units that are
 * dealt to ranks. Failures are cmocka's. */
#ifndef MOTIF_TESTS_SUPPORT_RANK_THREADS_H
#define MOTIF_TESTS_SUPPORT_RANK_THREADS_H

#include <pthread.h>

#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"

enum { RANK_THREADS_MOST = 8, POINTS = 4096, FILES = 64 };

/* What rank 0 was told: all but speeds. */
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
    struct run_env_bytes *from; /* what to begin with; NULL: nothing */
    int64_t until;              /* updates of all seeds together; 0: the end */
    struct run_env host;
    struct method_run *run;
    struct story *story;
    struct run_env_bytes saved;
    struct method_progress progress;
    enum status status;
    struct error error;
};

/* A run on ranks, up to so many updates of all units together (0: its end): [ranks], to be closed. from: what to begin
 * with, NULL: nothing. story: what rank 0 is told is added to it; may be NULL. A step is a piece on rank 0 and longer
 * on others. */
struct rank_thread *rank_threads_run(const struct method *method, const void *config, int ranks,
                                     struct run_env_bytes *from, int64_t until, struct story *story);
void rank_threads_close(struct rank_thread *all, int ranks);
/* No rank failed, and all saved the same. */
void rank_threads_went_well(const struct rank_thread *all, int ranks);
void rank_threads_same_weights(const struct rank_thread *a, const struct rank_thread *b);
void rank_threads_same_stories(const struct story *a, const struct story *b);
bool story_has_file(const struct story *story, const char *name);
#endif
