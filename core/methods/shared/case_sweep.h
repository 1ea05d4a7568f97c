/* The loop of a run that walks over a list of cases: each is opened (data, model), trained, evaluated into a row of
 * figures; then comes the next. What these are a method says in a table; where the run stands, how it is driven,
 * saved and loaded is here.
 *
 *   for each case:  TRAIN --> EVALUATE --> next case
 *   after the last: DONE, with the last case's model still there
 *
 * Ranks share a single case as the method likes. Of several, each takes whole ones
 * (core/methods/shared/work_distribution.h): a case sees no ranks.
 *
 * A `struct method_run` of such a method begins with a `struct case_sweep`. */
#ifndef MOTIF_CORE_METHODS_SHARED_CASE_SWEEP_H
#define MOTIF_CORE_METHODS_SHARED_CASE_SWEEP_H

#include "core/base/hash.h"
#include "core/methods/shared/work_distribution.h"
#include "core/methods/method.h"

enum case_sweep_phase { CASE_SWEEP_TRAIN, CASE_SWEEP_EVALUATE, CASE_SWEEP_DONE };

/* A number of the run that is saved: an int64_t or a double of its structure. */
struct case_sweep_number {
    const char *name; /* in checkpoints */
    enum case_sweep_kind {
        CASE_SWEEP_INTEGER,
        CASE_SWEEP_REAL,
        CASE_SWEEP_POSITION /* an integer that says, with the number of the case, what is opened: read before the others
                             */
    } kind;
    size_t offset; /* in struct method_run */
};

/* A figure of every case that is also a time series. */
struct case_sweep_metric {
    const char *name;
    size_t column; /* of an outcome */
};

struct case_sweep_table {
    const struct method_metric *series; /* the method's metrics */
    size_t series_count;
    const struct case_sweep_number *numbers; /* beside those of struct case_sweep; ends with a name NULL */
    const struct case_sweep_metric *metrics; /* likewise */
    int64_t least_samples, most_samples;     /* that an evaluation may ask for */

    /* Calls case_sweep_plan(), once the configuration is there. */
    enum status (*plan)(struct method_run *run, struct error *err);
    void (*begin)(struct method_run *run); /* nothing of the case at hand is done yet; may choose another phase */
    /* Makes the case at hand ready if it is not; weights as at the start. Sets `opened`. */
    enum status (*open)(struct method_run *run, struct error *err);
    bool (*trained)(const struct method_run *run);
    enum status (*update)(struct method_run *run, struct error *err); /* one update */
    /* The case's row of figures, or a piece of the work for it: *done, which is true before, becomes false. */
    enum status (*evaluate)(struct method_run *run, bool *done, struct error *err);
    enum status (*finish)(struct method_run *run, struct error *err); /* after the last case: artifacts */
    void (*begin_evaluation)(struct method_run *run);                 /* NULL: nothing more to do */
    double (*part)(const struct method_run *run);                     /* share of the open case that is done */
    double (*weight)(const struct method_run *run,
                     int at); /* a case's share of the work, in any measure. NULL: all have the same */

    enum status (*arrays)(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot,
                          struct error *err);
    enum status (*check)(const struct method_run *run, struct error *err); /* before weights are saved */
    bool (*position_sound)(const struct method_run *run);                  /* what comes from a stream is not trusted */
    enum status (*loaded)(struct method_run *run, bool *sound, struct error *err);
    bool (*single)(const struct method_run *run); /* of fits: it may start from another's weights */
    void (*close)(struct method_run *run);        /* frees what the method allocated, half made or whole */
};

struct case_sweep {
    const struct case_sweep_table *table;
    struct method_env env;                 /* its comm: NULL where cases are dealt to ranks */
    struct work_distribution distribution; /* of several cases */
    int64_t checkpoint_every;              /* samples */
    void *cases, *outcomes;                /* [count], as the method knows them; outcomes are rows of doubles */
    int count, columns;
    int opened; /* case; -1: none */
    /* Saved. */
    int64_t phase, at;
    int64_t seen, work;                                 /* of the case: samples; updates */
    int64_t alone, evaluation_seed, evaluation_samples; /* alone: evaluate the open case and end */
    double loss_sum;                                    /* since the last metric */
    /* Of a data set that is read: as it is, and as checkpoints have it (what they were trained on). */
    bool reads;
    unsigned char data[HASH_BYTES], trained_on[HASH_BYTES];
};

/* For create(): `run` is zeroed but for its configuration, or NULL where there was no memory for it. */
enum status case_sweep_create(struct method_run *run, const struct case_sweep_table *table,
                              const struct method_env *env, int64_t checkpoint_every, struct method_run **out,
                              struct error *err);
/* The list's room: `count` cases, `most` at most. The caller fills them in. */
enum status case_sweep_plan(struct method_run *run, int count, int most, size_t case_bytes, int columns,
                            struct error *err);

/* In open(), of the data that were read: the same for every case. A checkpoint that was trained on others is refused.
 */
void case_sweep_read(struct method_run *run, struct hash *hash);

/* These are a method's functions (method.h). */
void case_sweep_destroy(struct method_run *run);
enum status case_sweep_step(struct method_run *run, enum method_request *request, struct error *err);
enum status case_sweep_save(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes,
                            struct error *err);
enum status case_sweep_load(struct method_run *run, const struct snapshot_reader *from, struct error *err);
enum status case_sweep_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err);
enum status case_sweep_begin_evaluation(struct method_run *run, const struct method_evaluation *what,
                                        struct error *err);
void case_sweep_progress(const struct method_run *run, struct method_progress *out);

/* A value that is not finite is left out. */
void case_sweep_metric(struct method_run *run, const char *name, double value);

static inline struct case_sweep *case_sweep_of(struct method_run *run)
{
    return (struct case_sweep *)run;
}
static inline const struct case_sweep *case_sweep_in(const struct method_run *run)
{
    return (const struct case_sweep *)run;
}

#endif
