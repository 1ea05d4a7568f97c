/* Runs every call of storage, and opening, with a fault at every place: once, or also at all later places. The
 * programs test_storage_faults_* differ in what fails; they share the store with rows in every table, the list of
 * calls, and the judgement.
 *
 * A reading call must return the right answer or report the fault, and must return the right answer when it is
 * repeated. A writing call must leave the store unchanged or completely changed, and an acknowledged change must be
 * there after the next start. MOTIF_FAULT_STRIDE=1 tests every place. */
#ifndef MOTIF_TESTS_UNIT_STORAGE_STORAGE_SWEEP_H
#define MOTIF_TESTS_UNIT_STORAGE_STORAGE_SWEEP_H

#include "tests/unit/storage/storage_fixture.h"

/* A kind of fault. */
struct sweep_kind {
    const char *name;
    void (*arm)(int place, bool forever);
    bool (*disarm)(void); /* true if the fault has happened */
    bool (*reports_fault)(enum status status,
                          const char *message); /* true if this message reports the fault correctly */
    bool goes_on;                               /* whether the store accepts writes after the fault */
    bool syncs;                                 /* whether the fault needs a store that syncs the disk */
};

enum state_before { AS_IT_IS, RUNNING, OFFERED, HELD };
struct sweep_call {
    const char *name;
    enum status (*make)(struct fixture *f);
    enum state_before before; /* state of the queued job before the call */
    /* the call is lazy: a fault on the writing thread is logged, and the call does not return it */
    bool lazy;
};
extern const struct sweep_call sweep_reads[], sweep_writes[];
extern const struct sweep_call
    sweep_again; /* the call reads on the writing connection; if such a read fails, the store refuses writes */
extern const size_t sweep_read_count, sweep_write_count;

/* Each returns the number of places that failed. */
int sweep_read(const struct sweep_call *call, const struct sweep_kind *kind, bool forever, int stride);
int sweep_write(const struct sweep_call *call, const struct sweep_kind *kind, bool forever, int stride);
/* Opens a store with running jobs after an unclean stop, so that all tables are checked. */
int sweep_opening(const struct sweep_kind *kind, bool forever, int stride);

/* Number of wrong outcomes; up to 40 are printed, not only the first. Each test starts with 0. */
extern int complaints;
#define complain(...) (complaints++ < 40 ? print_error(__VA_ARGS__) : (void)0)

/* For cmocka's group: registers the VFS of fault_vfs.h, and creates the store that all tries copy. */
int sweep_setup(void **state);
int sweep_teardown(void **state);

/* ---- shared by storage_sweep.c and storage_sweep_calls.c --------------------------------------------- */

extern struct sweep_made {
    char path[96];
    char done[STORAGE_ID], queued[STORAGE_ID], paused[STORAGE_ID];
} made;
void sweep_make(struct fixture *f);
/* Brings the queued job into the state that a call needs. */
void sweep_advance(struct fixture *f, enum state_before to);
/* Appends to the text of a call's answer. */
__attribute__((format(printf, 1, 2))) void answer_add(const char *format, ...);

#endif
