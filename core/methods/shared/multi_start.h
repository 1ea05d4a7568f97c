/* Fits from different starts that run side by side until the one with the least objective goes on alone: of a run
 * that walks over cases (sweep.h), the open case's. What a fit is a method says in a table.
 *
 * fit[0 .. count) --> every update of all of them --> multi_start_choose() --> fit[0], which was number `chosen`
 *
 * Arrays of the first are saved under their own names, those of the others behind a prefix: the one that is kept
 * takes the names of the first. */
#ifndef MOTIF_CORE_METHODS_SHARED_MULTI_START_H
#define MOTIF_CORE_METHODS_SHARED_MULTI_START_H

#include "core/methods/shared/case_sweep.h"
#include "core/nn/params.h"

enum { MULTI_START_MOST = 64 };

struct multi_start_table {
    /* A fit of the open case from start number `start`, whose arrays have names behind `prefix`. With `alone` it has
     * a thread of its own (that of its caller), else it works on the run's pool. */
    enum status (*create)(struct method_run *run, int start, const char *prefix, bool alone, void **fit,
                          struct error *err);
    void (*destroy)(void *fit);
    enum status (*update)(void *fit, struct error *err);
    enum status (*objective)(void *fit, double *objective, struct error *err); /* what starts are compared by */
    void (*copy)(void *to, const void *from); /* weights, optimiser and position, from one of another start */
    /* Entries of a snapshot in their roles, with names behind the prefix. */
    enum status (*snapshot)(void *fit, enum snapshot_role role, struct snapshot *snapshot, const char *prefix,
                            struct error *err);
    struct params *(*params)(const void *fit);
};

struct multi_start {
    const struct multi_start_table *table;
    void *fit[MULTI_START_MOST]; /* fit[0] is the one that is kept in the end */
    int count;
    /* Saved, by the method's list of numbers. */
    int64_t chosen;          /* the start that fit[0] is, -1 before that is decided */
    double objective, worst; /* the least and the largest, when that was decided */
};

/* Nothing is decided yet. */
void multi_start_begin(struct multi_start *multi_start);
/* `restarts` fits, or the chosen one alone; weights as at the start. What was made before a failure is closed by
 * multi_start_close(). */
enum status multi_start_open(struct method_run *run, struct multi_start *multi_start, int64_t restarts,
                             struct error *err);
void multi_start_close(struct multi_start *multi_start);

/* One update of each: of several at once on the pool, where each has a thread of its own; of a single one on the
 * caller's, which may use the pool itself; one after another where ranks share the rows of each. The first error in
 * their order is the one that comes back. */
enum status multi_start_update(struct method_run *run, struct multi_start *multi_start, struct error *err);
/* The one with the least objective goes on, on the pool; of equal ones the first. After a failure all are still
 * there. */
enum status multi_start_choose(struct method_run *run, struct multi_start *multi_start, struct error *err);

/* Share of the work of a case, of `restarts` fits of which all but one end at `screen` (0: at `all`): the open fits
 * have come to `done` of `all`, in any unit. */
double multi_start_part(const struct multi_start *multi_start, int64_t restarts, double screen, double done,
                        double all);

/* For a walk's table: its arrays(), check() and position_sound(). */
enum status multi_start_snapshot(struct multi_start *multi_start, enum snapshot_role role, struct snapshot *snapshot,
                                 struct error *err);
enum status multi_start_check(const struct multi_start *multi_start, struct error *err);
bool multi_start_sound(const struct multi_start *multi_start, int64_t restarts);

#endif
