/* Fits from different starts that run side by side until the one with the least objective goes on alone: of a run
 * that walks over cases (walk.h), the open case's. What a fit is a method says in a table.
 *
 * fit[0 .. count) --> every update of all of them --> starts_choose() --> fit[0], which was number `chosen`
 *
 * Arrays of the first are saved under their own names, those of the others behind a prefix: the one that is kept
 * takes the names of the first. */
#ifndef MOTIF_CORE_METHODS_STARTS_H
#define MOTIF_CORE_METHODS_STARTS_H

#include "core/methods/walk.h"
#include "core/nn/params.h"

enum { STARTS_MOST = 64 };

struct starts_table {
    /* A fit of the open case from start number `start`, whose arrays have names behind `prefix`. With `alone` it has
     * a thread of its own (that of its caller), else it works on the run's pool. */
    enum status (*create)(struct method_run *run, int start, const char *prefix, bool alone, void **fit,
                          struct error *err);
    void (*destroy)(void *fit);
    enum status (*update)(void *fit, struct error *err);
    enum status (*objective)(void *fit, double *objective, struct error *err); /* what starts are compared by */
    void (*copy)(void *to, const void *from); /* weights, optimiser and position, from one of another start */
    /* Entries of a pack in their roles, with names behind the prefix. */
    enum status (*pack)(void *fit, enum pack_role role, struct pack *pack, const char *prefix, struct error *err);
    struct params *(*params)(const void *fit);
};

struct starts {
    const struct starts_table *table;
    void *fit[STARTS_MOST]; /* fit[0] is the one that is kept in the end */
    int count;
    /* Saved, by the method's list of numbers. */
    int64_t chosen;          /* the start that fit[0] is, -1 before that is decided */
    double objective, worst; /* the least and the largest, when that was decided */
};

/* Nothing is decided yet. */
void starts_begin(struct starts *starts);
/* `restarts` fits, or the chosen one alone; weights as at the start. What was made before a failure is closed by
 * starts_close(). */
enum status starts_open(struct method_run *run, struct starts *starts, int64_t restarts, struct error *err);
void starts_close(struct starts *starts);

/* One update of each: of several at once on the pool, where each has a thread of its own; of a single one on the
 * caller's, which may use the pool itself; one after another where ranks share the rows of each. The first error in
 * their order is the one that comes back. */
enum status starts_update(struct method_run *run, struct starts *starts, struct error *err);
/* The one with the least objective goes on, on the pool; of equal ones the first. After a failure all are still
 * there. */
enum status starts_choose(struct method_run *run, struct starts *starts, struct error *err);

/* Share of the work of a case, of `restarts` fits of which all but one end at `screen` (0: at `all`): the open fits
 * have come to `done` of `all`, in any unit. */
double starts_part(const struct starts *starts, int64_t restarts, double screen, double done, double all);

/* For a walk's table: its arrays(), check() and position_sound(). */
enum status starts_pack(struct starts *starts, enum pack_role role, struct pack *pack, struct error *err);
enum status starts_check(const struct starts *starts, struct error *err);
bool starts_sound(const struct starts *starts, int64_t restarts);

#endif
