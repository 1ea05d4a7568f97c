/* A method's run on ranks that are threads, each with what it was told and has saved; for the tests of units that are dealt to
 * ranks. Failures are cmocka's. */
#ifndef MOTIF_TESTS_SUPPORT_CREW_H
#define MOTIF_TESTS_SUPPORT_CREW_H

#include <pthread.h>

#include "tests/support/assert_ok.h"
#include "tests/support/run_host.h"

enum { CREW_MOST = 8, POINTS = 4096, FILES = 64 };

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

struct crew_rank {
    pthread_t thread;
    const struct method *method;
    const void *config;
    struct comm *comm;
    struct host_bytes *from; /* what to begin with; NULL: nothing */
    int64_t until;           /* updates of all seeds together; 0: the end */
    struct run_host host;
    struct method_run *run;
    struct story *story;
    struct host_bytes saved;
    struct method_progress progress;
    enum status status;
    struct error error;
};

/* A run on ranks, up to so many updates of all units together (0: its end): [ranks], to be closed. from: what to begin with, NULL:
 * nothing. story: what rank 0 is told is added to it; may be NULL. A step is a piece on rank 0 and longer on others. */
struct crew_rank *crew_run(const struct method *method, const void *config, int ranks, struct host_bytes *from, int64_t until, struct story *story);
void crew_close(struct crew_rank *all, int ranks);
/* No rank failed, and all saved the same. */
void crew_went_well(const struct crew_rank *all, int ranks);
void crew_same_weights(const struct crew_rank *a, const struct crew_rank *b);
void crew_same_stories(const struct story *a, const struct story *b);
bool story_has_file(const struct story *story, const char *name);
/* In the table of contents of what was saved. */
void crew_rename_entry(struct host_bytes *bytes, const char *from, const char *to);

#endif
