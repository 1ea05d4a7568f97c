/* A run that trains one model and evaluates it. A method describes in a table how its model is opened, trained and
 * evaluated. This code does the steps, the saving and the loading.
 *
 *   TRAIN --> EVALUATE --> DONE; an evaluation job begins in EVALUATE
 *
 * A `struct method_run` of such a method begins with a `struct model_run`. */
#ifndef MOTIF_CORE_METHODS_SHARED_MODEL_RUN_H
#define MOTIF_CORE_METHODS_SHARED_MODEL_RUN_H

#include "core/base/hash.h"
#include "core/methods/shared/publish.h"
#include "core/methods/method.h"

enum model_run_phase { MODEL_RUN_TRAIN, MODEL_RUN_EVALUATE, MODEL_RUN_DONE };

/* A figure of the outcome that is also published as a point of a time series. */
struct model_run_metric {
    const char *name;
    size_t offset; /* offset of the figure, a double, in struct method_run */
};

struct model_run_table {
    const struct model_run_metric *metrics; /* ends with a name NULL */
    int64_t least_samples, most_samples;    /* limits of an evaluation job */

    /* Opens the data and the model with its initial weights, if they are not open, and sets `opened`. STATUS_CORRUPT:
     * the numbers of position(), which may come from a checkpoint, are impossible. */
    enum status (*open)(struct method_run *run, struct error *err);
    bool (*trained)(const struct method_run *run);
    enum status (*update)(struct method_run *run, struct error *err); /* does one update */
    /* Computes the outcome. *done is true before the call; a function that has done only a part of this work sets it to
     * false. */
    enum status (*evaluate)(struct method_run *run, bool *done, struct error *err);
    /* Makes artifacts after the evaluation. A failure becomes a finding of the result. */
    enum status (*finish)(struct method_run *run, struct error *err);
    void (*begin_evaluation)(struct method_run *run); /* prepares an evaluation job; NULL: nothing to do */
    double (*part)(const struct method_run *run);     /* share of the work that is done */

    /* Declares the state that is read before the model is opened, because it decides what is opened. NULL: nothing. */
    enum status (*position)(struct method_run *run, struct snapshot *snapshot, struct error *err);
    /* Declares what has the role `role`. */
    enum status (*declare)(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot,
                           struct error *err);
    enum status (*check)(const struct method_run *run, struct error *err); /* refuses weights that are not finite */
    enum status (*loaded)(struct method_run *run, bool *sound, struct error *err);
    bool (*single)(const struct method_run *run); /* whether the run has a single fit, which a warm start can use */
    void (*close)(struct method_run *run);        /* frees what the method allocated, also after a failure */
};

struct model_run {
    const struct model_run_table *table;
    struct method_env env;
    int64_t checkpoint_every; /* number of samples between checkpoints */
    bool opened;              /* whether the model is open */
    struct artifact_findings findings;
    /* Saved in checkpoints. */
    int64_t phase;
    int64_t seen, work; /* progress: samples and updates */
    /* alone: 1 in an evaluation job; evaluation_seed, evaluation_samples: seed and number of the samples of this job */
    int64_t alone, evaluation_seed, evaluation_samples;
    double loss_sum; /* sum of the losses since the last point of the series "loss" */
    /* reads: whether the run reads a data set; data: the hash of this data set now; trained_on: its hash when the model
     * was trained. */
    bool reads;
    unsigned char data[HASH_BYTES], trained_on[HASH_BYTES];
};

/* For create(): `run` contains its configuration, and all its other members are zero. */
void model_run_init(struct method_run *run, const struct model_run_table *table, const struct method_env *env,
                    int64_t checkpoint_every);

/* For open(): stores the hash of the data that were read. Loading a checkpoint that was trained on other data then
 * gives STATUS_CONFLICT. */
void model_run_read(struct method_run *run, struct hash *hash);
/* Adds bytes to a hash, and ends early if the run's pool was stopped; the caller checks the pool. */
void model_run_hash(const struct method_run *run, struct hash *hash, const void *bytes, size_t count);

/* These functions implement members of struct method (method.h). */
void model_run_destroy(struct method_run *run); /* NULL is fine */
enum status model_run_step(struct method_run *run, enum method_request *request, struct error *err);
enum status model_run_save(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes,
                           struct error *err);
enum status model_run_load(struct method_run *run, const struct snapshot_reader *from, struct error *err);
enum status model_run_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err);
enum status model_run_begin_evaluation(struct method_run *run, const struct method_evaluation *what, struct error *err);
void model_run_progress(const struct method_run *run, struct method_progress *out);

/* Publishes a point of a time series if the value is finite. */
void model_run_metric(struct method_run *run, const char *name, double value);

static inline struct model_run *model_run_of(struct method_run *run)
{
    return (struct model_run *)run;
}
static inline const struct model_run *model_run_in(const struct method_run *run)
{
    return (const struct model_run *)run;
}

#endif
