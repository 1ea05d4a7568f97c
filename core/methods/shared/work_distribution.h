/* Independent units of a run - seeds of a study, cases of a list - dealt to ranks whole.
 *
 * Each rank (core/base/comm.h) works on a item as if it were alone, so a item has the same bits whatever the number of
 * ranks, and one rank takes units one after another. After each step all ranks learn where the others stand; all hold
 * the same table of units and draw the same conclusions from it, so nobody commands.
 *
 *   a unit: ahead --(dealt to a rank)--> under way --> over
 *
 * Series are told in the order of units: samples count on from one to the next, so what a item measures while an
 * earlier one is under way is kept until that is over.
 *
 * The last item, once a method says that it must, waits for the others, goes to all ranks, and is finished by all of
 * them in step: what they hold then is what one rank would.
 *
 * A checkpoint holds the highest item that a rank has as the run itself (its model is what queries see), and the other
 * units under way as snapshots within it (distribution_snapshot.c). Any number of ranks goes on with it.
 *
 * A method with such units says in a table what they are, and keeps a `struct work_distribution` in its run. */
#ifndef MOTIF_CORE_METHODS_SHARED_WORK_DISTRIBUTION_H
#define MOTIF_CORE_METHODS_SHARED_WORK_DISTRIBUTION_H

#include "core/base/buf.h"
#include "core/methods/method.h"

extern const double
    DISTRIBUTION_SECONDS; /* a step of ranks with units of their own: the quickest waits for the slowest after each */

/* Where a unit stands, as all ranks know it. Doubles only: it is saved as a table. */
enum distribution_state { DISTRIBUTION_PENDING, DISTRIBUTION_RUNNING, DISTRIBUTION_DONE };
struct work_item {
    double state;
    double stage, training; /* number of the method's text for it; 1: its checkpoints are wanted */
    double work, seen;      /* updates; samples */
    double fraction, left;  /* of the unit's own work; samples still to be seen, NaN where nobody knows */
    double weight;          /* its share of all the work, in any measure */
    double density, target, accuracy;
};
enum { DISTRIBUTION_COLUMNS = 11 };
_Static_assert(sizeof(struct work_item) == DISTRIBUTION_COLUMNS * sizeof(double), "a item is a row of doubles");

/* What a unit has measured and nobody has been told yet. */
struct distribution_point {
    double metric; /* number in the method's table */
    double seen, value;
};
enum { DISTRIBUTION_POINT_COLUMNS = 3 };
_Static_assert(sizeof(struct distribution_point) == DISTRIBUTION_POINT_COLUMNS * sizeof(double),
               "a point is a row of doubles");
struct distribution_points {
    struct distribution_point *list;
    size_t count, room;
};

struct distribution_table {
    const char *noun; /* "seed" */
    const char *(*stage)(int64_t stage);

    /* A unit that nobody has begun: weight, left, and where it will begin. */
    void (*pending)(const struct method_run *run, int64_t item, struct work_item *out);
    /* The unit that this rank has; `state` is set by others. */
    void (*describe)(const struct method_run *run, struct work_item *out);
    /* All ranks together, before units begin; NULL: nothing to do. */
    void (*prepare)(struct method_run *run);
    enum status (*begin)(struct method_run *run, int64_t item, struct error *err);
    /* Works for a step's time on the unit, up to a request, or to where the unit is over or waits. */
    enum status (*advance)(struct method_run *run, enum method_request *request, struct error *err);
    /* What all are to know of a unit that is over: the part's bytes and place, 0 bytes: there are no more. */
    size_t (*outcome)(struct method_run *run, int64_t item, int part, void **at);
    /* From now on ranks take the same steps: not by their clocks. */
    void (*in_step)(struct method_run *run);
    enum status (*finish)(struct method_run *run, struct error *err); /* all is over: the artifacts */
    bool (*done)(const struct method_run *run);                       /* after that */

    /* Saving: whether the weights may be; the unit's entries; those that all share (old: as checkpoints of before units
     * were dealt had them). What kept() names is among those that all share, and added to a item that is saved by
     * itself. */
    enum status (*check)(struct method_run *run, struct error *err);
    enum status (*declare)(struct method_run *run, struct snapshot *snapshot, struct error *err);
    enum status (*share)(struct method_run *run, struct snapshot *snapshot, struct error *err);
    /* Loading: what a item (-1: the one shown, whichever it is) needs before its entries are declared, and after they
     * are read. */
    enum status (*ready)(struct method_run *run, int64_t item, const struct snapshot_reader *from, struct error *err);
    enum status (*loaded)(struct method_run *run, struct error *err);
    /* The number of the unit that a whole checkpoint shows, once it is known. False: what was read is of another. */
    bool (*show)(struct method_run *run, int64_t item);
};

struct work_distribution {
    const struct distribution_table *table;
    const struct method_metric *series; /* time series that work items write; points refer to them by number */
    size_t series_count;
    const struct method_env *env; /* the run's */
    struct comm *comm;            /* all ranks */
    int64_t count;                /* units; 0: nothing is dealt */

    /* The same on all ranks. */
    struct work_item *item;             /* [count] */
    int64_t at;                         /* units over, up to the first that is not; its series are being told */
    int64_t seen_before;                /* samples of them */
    int64_t shown;                      /* the highest unit that a rank has; after the last, the last */
    int64_t driver;                     /* the highest of those in training: it asks for checkpoints; -1: none */
    struct distribution_points *points; /* [count] of units over; of the one that this rank has */
    struct buf *suspended;              /* [count] saved units under way that no rank has */
    int64_t *item_of;                   /* [ranks] the unit of each, -1: none; NULL: not dealt yet */
    struct distribution_turn *turns;    /* [ranks] what each has told last */
    bool joined;                        /* all ranks have the last unit, the others are over */
    bool loaded;                        /* from a checkpoint */

    /* Of the unit that this rank has. */
    int64_t now;                /* its number, -1: none */
    int64_t stage_work;         /* distribution_work() at the last checkpoint that ended a stage of it, -1: none */
    bool item_done, item_waits; /* finished just now; the last one, which must be finished by all */
    struct error trouble;       /* a point could not be taken down */
};

/* In create(), when the configuration is there: the run has item 0. env stays valid; its comm is used here alone, so
 * that a unit's computation must not see it. */
enum status distribution_open(struct work_distribution *distribution, const struct distribution_table *table,
                              const struct method_metric *series, size_t series_count, const struct method_env *env,
                              struct comm *comm, int64_t count, struct method_run *run, struct error *err);
void distribution_close(struct work_distribution *distribution); /* also of zeros */

/* These are for a method's functions of the same names. */
enum status distribution_step(struct work_distribution *distribution, struct method_run *run,
                              enum method_request *request, struct error *err);
void distribution_progress(const struct work_distribution *distribution, const struct method_run *run,
                           struct method_progress *out);
enum status distribution_save(struct work_distribution *distribution, struct method_run *run,
                              const struct snapshot_writer *to, uint64_t *bytes, struct error *err);
enum status distribution_load(struct work_distribution *distribution, struct method_run *run,
                              const struct snapshot_reader *from, struct error *err);

/* A point of the unit that this rank has, at so many of its own samples. */
void distribution_metric(struct work_distribution *distribution, const char *name, int64_t seen, double value);
/* Whether a unit that is finished must wait to be so: asked before what all ranks do together. */
bool distribution_must_wait(const struct work_distribution *distribution);
/* Whether a checkpoint that this rank's unit asks for is made: those of one unit are, and hold all. */
static inline bool distribution_drives(const struct work_distribution *distribution)
{
    return distribution->now == distribution->driver;
}
int64_t distribution_work(const struct work_distribution *distribution); /* updates of all units */
/* Brings this rank's row of the table up to date. */
void distribution_update(struct work_distribution *distribution, const struct method_run *run);
/* The ranks that have units of their own; NULL: there is one rank, or they are in step. */
struct comm *distribution_apart(const struct work_distribution *distribution);

/* ---- between deal.c and distribution_snapshot.c --------------------------------------------------------------------
 */

bool distribution_reserve(struct distribution_points *points, size_t room);
enum status distribution_append(void *buf, const void *bytes, size_t count,
                                struct error *err); /* a snapshot_writer's write */
/* The unit that this rank has as a snapshot; and from one. */
enum status distribution_suspend(struct work_distribution *distribution, struct method_run *run, struct buf *to,
                                 struct error *err);
enum status distribution_resume(struct work_distribution *distribution, struct method_run *run, int64_t item,
                                const struct buf *from, struct error *err);
/* What rank `root` has in `from` is written by every rank that gives a `to`. */
enum status distribution_broadcast(struct comm *comm, int root, const struct buf *from,
                                   const struct snapshot_writer *to, struct error *err);

#endif
