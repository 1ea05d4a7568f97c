/* Distribution of independent work items over ranks: seeds of a study, or cases of a list.
 *
 * Each rank (core/base/parallel/comm.h) works on a whole item without the other ranks, so an item gives the same bits
 * for any number of ranks. A single rank works on one item after another. After each step the ranks exchange the state
 * of their items. All ranks then hold the same table of items and decide from it, so no rank has to coordinate.
 *
 *   an item: pending --(assigned to a rank)--> running --> done
 *
 * Time series are published in the order of the items, and the sample count continues from one item to the next. Points
 * of an item that runs while an earlier one is unfinished wait in memory until the earlier one is done.
 *
 * A method may have to finish the last item on all ranks together. That item then waits until the other items are done.
 * It is copied to all ranks, which compute its remaining steps together, so the result is the same as on one rank.
 *
 * A checkpoint stores the run with a single item: the one with the highest index among the items that ranks have.
 * Queries see the model of this item. The other running items are snapshots inside the checkpoint
 * (work_distribution_state.c). Any number of ranks can continue from it.
 *
 * A method describes its items in a `struct distribution_table` and has a `struct work_distribution` in its run. */
#ifndef MOTIF_CORE_METHODS_SHARED_WORK_DISTRIBUTION_H
#define MOTIF_CORE_METHODS_SHARED_WORK_DISTRIBUTION_H

#include "core/base/buf.h"
#include "core/methods/method.h"

/* Default length, in seconds, of a step in which each rank works on an item of its own. It is long, because the ranks
 * wait for each other after every step. */
extern const double DISTRIBUTION_SECONDS;

enum distribution_state { DISTRIBUTION_PENDING, DISTRIBUTION_RUNNING, DISTRIBUTION_DONE };
/* An item; all ranks have the same values. All members are doubles, because checkpoints save the items as a table. */
struct work_item {
    double state;           /* an enum distribution_state */
    double stage, training; /* stage: argument of distribution_table.stage; training: 1 while the item trains and may
                               request checkpoints */
    double work, seen;      /* work: number of updates; seen: number of samples */
    /* fraction: share of the item's work that is done; left: samples still to be seen, NaN if unknown */
    double fraction, left;
    /* total work of the item, in any unit; the run's progress is the mean of `fraction` with these weights */
    double weight;
    double density, target, accuracy;
};
enum { DISTRIBUTION_COLUMNS = 11 };
_Static_assert(sizeof(struct work_item) == DISTRIBUTION_COLUMNS * sizeof(double), "an item is a row of doubles");

/* A measurement of an item that is not published yet. */
struct distribution_point {
    double metric; /* index into work_distribution.series */
    double seen, value;
};
enum { DISTRIBUTION_POINT_COLUMNS = 3 };
_Static_assert(sizeof(struct distribution_point) == DISTRIBUTION_POINT_COLUMNS * sizeof(double),
               "a point is a row of doubles");
struct distribution_points {
    struct distribution_point *list;
    size_t count, room;
};

/* What a method does with its items. All functions run on the stepping thread. */
struct distribution_table {
    const char *noun; /* name of an item in messages: "seed" */
    const char *(*stage)(int64_t stage);

    /* Describes an item that has not started: its weight, samples left and initial values. */
    void (*pending)(const struct method_run *run, int64_t item, struct work_item *out);
    /* Describes the item that this rank has. The caller sets `state`. */
    void (*describe)(const struct method_run *run, struct work_item *out);
    /* Called on all ranks together before new items begin. NULL: nothing to do. */
    void (*prepare)(struct method_run *run);
    enum status (*begin)(struct method_run *run, int64_t item, struct error *err);
    /* Works on the item for one step: up to a request, or until the item is done or waits. */
    enum status (*advance)(struct method_run *run, enum method_request *request, struct error *err);
    /* Finds part number `part` of the outcome of a finished item. Sets *at to the part and returns its size in bytes,
     * or 0 if there are no more parts. The distribution sends all parts to every rank. */
    size_t (*outcome)(struct method_run *run, int64_t item, int part, void **at);
    /* Called when all ranks begin to compute the last item together. From then on the run must not end a step by its
     * own clock, because all ranks must end a step together and their clocks differ. */
    void (*in_step)(struct method_run *run);
    /* Called when all items are done; writes the artifacts. */
    enum status (*finish)(struct method_run *run, struct error *err);
    bool (*done)(const struct method_run *run); /* whether finish() has run */

    /* These three functions serve saving. check() refuses weights that are not finite. declare() adds the entries of
     * this rank's item to a snapshot, and share() adds the entries that belong to all items, such as their outcomes. */
    enum status (*check)(struct method_run *run, struct error *err);
    enum status (*declare)(struct method_run *run, struct snapshot *snapshot, struct error *err);
    enum status (*share)(struct method_run *run, struct snapshot *snapshot, struct error *err);
    /* These two functions serve loading. ready() prepares the run for the item with the index `item`; declare() is
     * called next. item -1: the item that the checkpoint `from` stores as the run itself. loaded() checks what was
     * read. */
    enum status (*ready)(struct method_run *run, int64_t item, const struct snapshot_reader *from, struct error *err);
    enum status (*loaded)(struct method_run *run, struct error *err);
    /* Called after a whole checkpoint was read. item: index of the item that the checkpoint stores as the run itself,
     * by the checkpoint's table of items. Returns false if the run that was read belongs to another item. */
    bool (*show)(struct method_run *run, int64_t item);
};

struct work_distribution {
    const struct distribution_table *table;
    const struct method_metric *series; /* time series that work items write; points refer to a series by its index */
    size_t series_count;
    const struct method_env *env; /* environment of the run */
    struct comm *comm;            /* all ranks */
    int64_t count;                /* items; 0: nothing is distributed */

    /* These members are the same on all ranks. */
    struct work_item *item; /* [count] */
    int64_t at;             /* index of the first item that is not done; its series are being published */
    int64_t seen_before;    /* samples of the items before `at` */
    int64_t shown;          /* highest index of an item that a rank has; unchanged while no rank has an item */
    int64_t driver;         /* highest index of an item in training; this item requests checkpoints; -1: none */
    struct distribution_points *points; /* [count] unpublished points of done items and of the item of this rank */
    struct buf *suspended;              /* [count] snapshots of running items that no rank has */
    int64_t *item_of;                   /* [ranks] the item of each rank, -1: none; NULL before the first step */
    struct distribution_turn *turns;    /* [ranks] what each rank reported last */
    bool joined;                        /* all ranks share the last item, and the others are done */
    bool loaded;                        /* whether a checkpoint was loaded */

    /* The item that this rank has. */
    int64_t now;                /* index of the item; -1: none */
    int64_t stage_work;         /* value of distribution_work() at the last checkpoint that ended a stage; -1: none */
    bool item_done, item_waits; /* item_done: the item was done in this step; item_waits: it is the last item and waits
                                   for the other ranks */
    struct error trouble;       /* why a point could not be stored; the step then fails with this error */
};

/* Call it at the end of create(), when the run has item 0. `series` (the method's metrics) and `env` must stay valid.
 * The run itself must compute without a communicator, because the result of an item must not depend on the ranks. After
 * STATUS_NO_MEMORY, distribution_close() frees what was allocated. */
enum status distribution_open(struct work_distribution *distribution, const struct distribution_table *table,
                              const struct method_metric *series, size_t series_count, const struct method_env *env,
                              struct comm *comm, int64_t count, struct method_run *run, struct error *err);
/* Frees everything; a distribution of zeros is fine. */
void distribution_close(struct work_distribution *distribution);

/* A method calls these functions from its functions of the same names (core/methods/method.h), on all ranks together. A
 * failure on one rank is returned on all. */
enum status distribution_step(struct work_distribution *distribution, struct method_run *run,
                              enum method_request *request, struct error *err);
void distribution_progress(const struct work_distribution *distribution, const struct method_run *run,
                           struct method_progress *out);
enum status distribution_save(struct work_distribution *distribution, struct method_run *run,
                              const struct snapshot_writer *to, uint64_t *bytes, struct error *err);
enum status distribution_load(struct work_distribution *distribution, struct method_run *run,
                              const struct snapshot_reader *from, struct error *err);

/* Stores a point of this rank's item. seen: samples of this item. If the point cannot be stored, the next step
 * fails. */
void distribution_metric(struct work_distribution *distribution, const char *name, int64_t seen, double value);
/* Whether this rank's item must wait until the other items are done, before all ranks finish it together. */
bool distribution_must_wait(const struct work_distribution *distribution);
/* Whether this rank's item may request checkpoints. Only one item at a time may do so, because a checkpoint contains
 * all items. */
static inline bool distribution_drives(const struct work_distribution *distribution)
{
    return distribution->now == distribution->driver;
}
int64_t distribution_work(const struct work_distribution *distribution); /* updates of all items */
/* The communicator of ranks that have items of their own. NULL: there is one rank, or all share the last item. */
struct comm *distribution_apart(const struct work_distribution *distribution);

/* ---- between work_distribution.c and work_distribution_state.c ---------------------------------------------- */

/* Makes room for `room` points; returns false if there is not enough memory. */
bool distribution_reserve(struct distribution_points *points, size_t room);
/* The write() of a snapshot_writer whose context is a struct buf. */
enum status distribution_append(void *buf, const void *bytes, size_t count, struct error *err);
/* distribution_suspend() saves this rank's item as a snapshot of its own, and distribution_resume() loads an item from
 * such a snapshot. */
enum status distribution_suspend(struct work_distribution *distribution, struct method_run *run, struct buf *to,
                                 struct error *err);
enum status distribution_resume(struct work_distribution *distribution, struct method_run *run, int64_t item,
                                const struct buf *from, struct error *err);
/* Sends the bytes in `from` on rank `root` to all ranks. Each rank writes them to `to`, if it has one. */
enum status distribution_broadcast(struct comm *comm, int root, const struct buf *from,
                                   const struct snapshot_writer *to, struct error *err);

#endif
