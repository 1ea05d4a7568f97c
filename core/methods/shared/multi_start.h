/* Multi-start: fits the model of a run (model_run.h) from several initial weights at once and keeps the fit with the
 * lowest objective. A method describes its fits in a table.
 *
 *   open: fit[0 .. restarts) --> update: one step of each --> choose: fit[0] is the best, the others are destroyed
 *
 * A snapshot stores the arrays of fit[0] under their own names and those of fit[i] behind the prefix "restart<i>.". */
#ifndef MOTIF_CORE_METHODS_SHARED_MULTI_START_H
#define MOTIF_CORE_METHODS_SHARED_MULTI_START_H

#include "core/methods/shared/model_run.h"
#include "core/nn/params.h"

enum { MULTI_START_MOST = 64 };

struct multi_start_table {
    /* Creates a fit from start number `start`. prefix: first part of the names of its arrays. alone:
     * the fit uses only its caller's thread; otherwise it uses the run's pool. */
    enum status (*create)(struct method_run *run, int start, const char *prefix, bool alone, void **fit,
                          struct error *err);
    void (*destroy)(void *fit);
    enum status (*update)(void *fit, struct error *err);
    enum status (*objective)(void *fit, double *objective, struct error *err); /* the lowest one wins */
    void (*copy)(void *to, const void *from); /* copies weights, optimiser and position */
    /* Declares the arrays that have the role `role` as entries of a snapshot. The name of each entry begins with
     * `prefix`. */
    enum status (*snapshot)(void *fit, enum snapshot_role role, struct snapshot *snapshot, const char *prefix,
                            struct error *err);
    struct params *(*params)(const void *fit);
};

struct multi_start {
    const struct multi_start_table *table;
    void *fit[MULTI_START_MOST]; /* after the choice only fit[0] is left */
    int count;
    /* Checkpoints contain these members. */
    int64_t chosen;          /* index of the start that was kept, -1 before the choice */
    double objective, worst; /* lowest and highest objective of the fits at the choice */
};

/* Forgets which start was chosen. */
void multi_start_begin(struct multi_start *multi_start);
/* Creates `restarts` fits with initial weights or, after the choice, only the chosen one. STATUS_CORRUPT: `chosen`, as
 * read from a checkpoint, is impossible. After a failure the caller calls multi_start_close(). */
enum status multi_start_open(struct method_run *run, struct multi_start *multi_start, int64_t restarts,
                             struct error *err);
void multi_start_close(struct multi_start *multi_start);

/* Does one update of each open fit. Several fits run on the pool, one thread each. A single fit, or fits whose rows are
 * shared by several ranks, run one after another on the calling thread. Returns the error of the first fit that failed.
 */
enum status multi_start_update(struct method_run *run, struct multi_start *multi_start, struct error *err);
/* Keeps the fit with the lowest objective (if several are equal, the first) and destroys the others. After a failure
 * all fits are still open. */
enum status multi_start_choose(struct method_run *run, struct multi_start *multi_start, struct error *err);

/* Fraction of the work that is done. done: what each open fit has done; all: the whole work of one fit; screen:
 * the work after which the best fit is chosen and the others end (0: `all`). All three have the same unit. */
double multi_start_part(const struct multi_start *multi_start, int64_t restarts, double screen, double done,
                        double all);

/* Declares the arrays of all open fits as entries of a snapshot. */
enum status multi_start_snapshot(struct multi_start *multi_start, enum snapshot_role role, struct snapshot *snapshot,
                                 struct error *err);
/* Returns STATUS_NUMERIC if a weight of an open fit is not finite. */
enum status multi_start_check(const struct multi_start *multi_start, struct error *err);

/* The first members of a run that uses several starts. */
struct multi_start_run {
    struct model_run base;
    struct multi_start multi_start;
};
/* `check`, `position` and `declare` of such a run's table (model_run.h). */
enum status multi_start_run_check(const struct method_run *run, struct error *err);
enum status multi_start_run_position(struct method_run *run, struct snapshot *snapshot, struct error *err);
enum status multi_start_run_declare(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot,
                                    struct error *err);

#endif
