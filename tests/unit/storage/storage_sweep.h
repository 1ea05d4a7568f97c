/* Fault sweeps: these functions make every call of storage, and open a store, with a fault at every place. A place is
 * the n-th operation of one kind, such as an allocation or a write. The fault happens at this place only, or also at
 * all later places. The programs test_storage_faults_* use different faults. They share a store with rows in every
 * table, the list of calls, and the functions that judge the outcome.
 *
 * A call that reads must return the right answer or report the fault, and must return the right answer when it is
 * repeated. A call that writes must leave the store unchanged or completely changed, and an acknowledged change must
 * exist after the next start. MOTIF_FAULT_STRIDE=1 tests every place. */
#ifndef MOTIF_TESTS_UNIT_STORAGE_STORAGE_SWEEP_H
#define MOTIF_TESTS_UNIT_STORAGE_STORAGE_SWEEP_H

#include "tests/unit/storage/storage_fixture.h"

/* A kind of fault, such as a read that fails. */
struct sweep_kind {
    const char *name;
    void (*arm)(int place, bool forever);
    bool (*disarm)(void); /* returns whether the fault has happened */
    /* returns whether this message reports the fault correctly */
    bool (*reports_fault)(enum status status, const char *message);
    bool goes_on; /* the store must accept writes after the fault */
    bool syncs;   /* the fault occurs only in a store that syncs the disk */
};

enum state_before { AS_IT_IS, RUNNING, OFFERED, HELD };
struct sweep_call {
    const char *name;
    enum status (*make)(struct fixture *f);
    enum state_before before; /* state of the queued job before the call */
    /* the call returns before its change is on disk; the writing thread logs a fault that happens later */
    bool lazy;
};
extern const struct sweep_call sweep_reads[], sweep_writes[];
extern const struct sweep_call
    sweep_again; /* a call that reads on the writing connection; if the read fails, the store refuses writes */
extern const size_t sweep_read_count, sweep_write_count;

/* These functions sweep one call of storage and return the number of places at which the fault happened. */
int sweep_read(const struct sweep_call *call, const struct sweep_kind *kind, bool forever, int stride);
int sweep_write(const struct sweep_call *call, const struct sweep_kind *kind, bool forever, int stride);
/* Sweeps the opening of a store after an unclean stop, with running jobs, so that all tables are checked. */
int sweep_opening(const struct sweep_kind *kind, bool forever, int stride);

/* Number of wrong outcomes. Each test starts with 0 and prints up to 40 of them. */
extern int complaints;
#define complain(...) (complaints++ < 40 ? print_error(__VA_ARGS__) : (void)0)

/* Setup of the group of tests: registers the VFS of fault_vfs.h, and makes the store that each attempt copies. */
int sweep_setup(void **state);
int sweep_teardown(void **state);

/* ---- shared by storage_sweep.c and storage_sweep_calls.c --------------------------------------------- */

extern struct sweep_made {
    char path[96];
    char done[STORAGE_ID], queued[STORAGE_ID], paused[STORAGE_ID], study[STORAGE_ID], ended_study[STORAGE_ID];
} made;
void sweep_make(struct fixture *f);
/* Brings the queued job into the state that a call needs. */
void sweep_advance(struct fixture *f, enum state_before to);
/* Appends to the text that contains the answer of the current call. */
__attribute__((format(printf, 1, 2))) void answer_add(const char *format, ...);

#endif
