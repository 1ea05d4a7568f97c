/* A run that handles a list of cases: it opens each case (data, model), trains it and evaluates it into a row of
 * figures. A method describes its cases in a table. This code keeps the position in the list and does the steps, saving
 * and loading.
 *
 *   for each case:  TRAIN --> EVALUATE --> next case
 *   after the last: DONE; the model of the last case is still open
 *
 * With a single case, the method decides how ranks share the work. With several, each rank takes whole cases
 * (work_distribution.h), and a case does not depend on the number of ranks.
 *
 * A `struct method_run` of such a method begins with a `struct case_sweep`. */
#ifndef MOTIF_CORE_METHODS_SHARED_CASE_SWEEP_H
#define MOTIF_CORE_METHODS_SHARED_CASE_SWEEP_H

#include "core/base/hash.h"
#include "core/methods/shared/publish.h"
#include "core/methods/shared/work_distribution.h"
#include "core/methods/method.h"

enum case_sweep_phase { CASE_SWEEP_TRAIN, CASE_SWEEP_EVALUATE, CASE_SWEEP_DONE };

/* A number that checkpoints contain: a member of struct method_run, an int64_t or a double. */
struct case_sweep_number {
    const char *name; /* name of the entry in a checkpoint */
    enum case_sweep_kind {
        CASE_SWEEP_INTEGER,
        CASE_SWEEP_REAL,
        CASE_SWEEP_POSITION /* an integer that is read before a case is opened, because it decides what is opened */
    } kind;
    size_t offset; /* offset of the member in struct method_run */
};

/* A figure of a case that is also published as a point of a time series. */
struct case_sweep_metric {
    const char *name;
    size_t column; /* index into the row of figures */
};

struct case_sweep_table {
    const struct method_metric *series; /* the method's metrics */
    size_t series_count;
    const struct case_sweep_number *numbers; /* numbers of the method that checkpoints store in addition to those of
                                                struct case_sweep; ends with a name NULL */
    const struct case_sweep_metric *metrics; /* ends with a name NULL */
    int64_t least_samples, most_samples;     /* limits of an evaluation job */

    /* Calls case_sweep_plan() and fills the list of cases from the configuration, which the run already contains. */
    enum status (*plan)(struct method_run *run, struct error *err);
    /* Clears the progress of the current case. If the case needs no training, sets the phase to CASE_SWEEP_EVALUATE. */
    void (*begin)(struct method_run *run);
    /* If the current case is not open, opens it with initial weights and sets `opened`. */
    enum status (*open)(struct method_run *run, struct error *err);
    bool (*trained)(const struct method_run *run);
    enum status (*update)(struct method_run *run, struct error *err); /* does one update */
    /* Computes the case's row of figures. *done is true before the call; a function that has done only a part of this
     * work sets it to false. */
    enum status (*evaluate)(struct method_run *run, bool *done, struct error *err);
    /* Makes artifacts after the last case. A failure becomes a finding of the result. */
    enum status (*finish)(struct method_run *run, struct error *err);
    void (*begin_evaluation)(struct method_run *run); /* prepares an evaluation job; NULL: nothing to do */
    double (*part)(const struct method_run *run);     /* share of the open case that is done */
    /* Work of a case, in any unit. NULL: every case takes the same work. */
    double (*weight)(const struct method_run *run, int at);

    enum status (*arrays)(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot,
                          struct error *err);
    enum status (*check)(const struct method_run *run, struct error *err); /* refuses weights that are not finite */
    bool (*position_sound)(const struct method_run *run); /* whether the numbers read from a checkpoint are possible */
    enum status (*loaded)(struct method_run *run, bool *sound, struct error *err);
    bool (*single)(const struct method_run *run); /* whether the run has a single fit, which a warm start can use */
    void (*close)(struct method_run *run);        /* frees what the method allocated, also after a failure */
};

struct case_sweep {
    const struct case_sweep_table *table;
    struct method_env env;                 /* comm is NULL when whole cases are distributed over ranks */
    struct work_distribution distribution; /* used only if there are several cases */
    int64_t checkpoint_every;              /* number of samples between checkpoints */
    void *cases, *outcomes; /* [count] cases: structs that the method defines; outcomes: rows of `columns` doubles */
    int count, columns;
    int opened; /* the open case; -1: none */
    struct artifact_findings findings;
    /* Saved in checkpoints. */
    int64_t phase, at;
    int64_t seen, work; /* progress of the current case: samples and updates */
    /* alone: 1 in an evaluation job; evaluation_seed, evaluation_samples: seed and number of the samples of this job */
    int64_t alone, evaluation_seed, evaluation_samples;
    double loss_sum; /* sum of the losses since the last point of the series "loss" */
    /* reads: whether the run reads a data set; data: the hash of this data set now; trained_on: its hash when the model
     * was trained. */
    bool reads;
    unsigned char data[HASH_BYTES], trained_on[HASH_BYTES];
};

/* For create(). `run` contains its configuration, and all its other members are zero; if it is NULL, the function
 * returns STATUS_NO_MEMORY. The run is freed on failure. */
enum status case_sweep_create(struct method_run *run, const struct case_sweep_table *table,
                              const struct method_env *env, int64_t checkpoint_every, struct method_run **out,
                              struct error *err);
/* Allocates the list of cases, which the caller fills in. STATUS_INVALID: `count` is not in [1, most]. */
enum status case_sweep_plan(struct method_run *run, int count, int most, size_t case_bytes, int columns,
                            struct error *err);

/* For open(): stores the hash of the data that were read, which must be the same for every case. Loading a checkpoint
 * that was trained on other data then gives STATUS_CONFLICT. */
void case_sweep_read(struct method_run *run, struct hash *hash);
/* Adds bytes to a hash, and ends early if the run's pool was stopped; the caller checks the pool. */
void case_sweep_hash(const struct method_run *run, struct hash *hash, const void *bytes, size_t count);

/* These functions implement members of struct method (method.h). */
void case_sweep_destroy(struct method_run *run);
enum status case_sweep_step(struct method_run *run, enum method_request *request, struct error *err);
enum status case_sweep_save(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes,
                            struct error *err);
enum status case_sweep_load(struct method_run *run, const struct snapshot_reader *from, struct error *err);
enum status case_sweep_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err);
enum status case_sweep_begin_evaluation(struct method_run *run, const struct method_evaluation *what,
                                        struct error *err);
void case_sweep_progress(const struct method_run *run, struct method_progress *out);

/* Publishes a point of a time series if the value is finite. */
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
