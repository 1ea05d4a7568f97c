/* Every call of storage, and opening, with a fault at every place; once, or that one and all behind it. What the
 * sweeps share that differ in what fails (test_storage_faults_*): a store with something of everything, the calls,
 * and how the outcome is judged.
 *
 * A call that reads gives the right answer or says the fault, and the right answer when asked again. A call that
 * writes leaves the store as it was or as it should become, never between, and what was acknowledged is there after
 * the next start; without the fault it does its work. MOTIF_FAULT_STRIDE=1 walks every place. */
#ifndef MOTIF_TESTS_UNIT_STORAGE_STORAGE_SWEEP_H
#define MOTIF_TESTS_UNIT_STORAGE_STORAGE_SWEEP_H

#include "tests/unit/storage/storage_fixture.h"

/* What fails. */
struct sweep_kind {
    const char *name;
    void (*arm)(int place, bool forever);
    bool (*disarm)(void);                                  /* whether it has happened */
    bool (*said)(enum status status, const char *message); /* whether this is how it is told */
    bool goes_on;                                          /* afterwards the store takes writes */
    bool syncs;                                            /* wants a store that waits for the disk */
};

enum state_before { AS_IT_IS, RUNNING, OFFERED, HELD };
struct sweep_call {
    const char *name;
    enum status (*make)(struct fixture *f);
    enum state_before before; /* of the queued job */
    bool lazy;                /* taken over: a fault of the writing thread is logged and not said */
};
extern const struct sweep_call sweep_reads[], sweep_writes[];
extern const struct sweep_call sweep_again; /* reads, but on the writing connection, which a failed read ends */
extern const size_t sweep_read_count, sweep_write_count;

/* Each gives how many places failed. */
int sweep_read(const struct sweep_call *call, const struct sweep_kind *kind, bool forever, int stride);
int sweep_write(const struct sweep_call *call, const struct sweep_kind *kind, bool forever, int stride);
/* Opened after an unclean stop, with jobs to put back: all the tables are checked. */
int sweep_opening(const struct sweep_kind *kind, bool forever, int stride);

/* Every fault of a sweep is shown, up to 40, not the first alone. A test begins with `complaints` at 0. */
extern int complaints;
#define complain(...) (complaints++ < 40 ? print_error(__VA_ARGS__) : (void)0)

/* For cmocka's group: the VFS of fault_vfs.h, and the store that all tries begin with a copy of. */
int sweep_setup(void **state);
int sweep_teardown(void **state);

/* ---- between storage_sweep.c and storage_sweep_calls.c ---- */

extern struct sweep_made {
    char path[96];
    char done[STORAGE_ID], queued[STORAGE_ID], paused[STORAGE_ID];
} made;
void sweep_make(struct fixture *f);
/* Brings the queued job where a call wants it. */
void sweep_advance(struct fixture *f, enum state_before to);
/* Adds to what a call has answered. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

#endif
