/* The course of a run that walks over a list of cases: each is opened (data, model), trained, evaluated into a row of
 * figures; then comes the next. What these are a method says in a table; where the run stands, how it is driven,
 * saved and loaded is here.
 *
 *   for each case:  TRAIN --> EVALUATE --> next case
 *   after the last: DONE, with the last case's model still there
 *
 * Ranks share a single case as the method likes. Of several, each takes whole ones (core/methods/deal.h): a case sees no ranks.
 *
 * A `struct method_run` of such a method begins with a `struct walk`. */
#ifndef MOTIF_CORE_METHODS_WALK_H
#define MOTIF_CORE_METHODS_WALK_H

#include "core/base/hash.h"
#include "core/methods/deal.h"
#include "core/methods/method.h"

enum walk_phase { WALK_TRAIN, WALK_EVALUATE, WALK_DONE };

/* A number of the run that is saved: an int64_t or a double of its structure. */
struct walk_number {
    const char *name; /* in checkpoints */
    enum walk_kind {
        WALK_INTEGER,
        WALK_REAL,
        WALK_POSITION /* an integer that says, with the number of the case, what is opened: read before the others */
    } kind;
    size_t offset; /* in struct method_run */
};

/* A figure of every case that is also a time series. */
struct walk_metric {
    const char *name;
    size_t column; /* of an outcome */
};

struct walk_table {
    const struct method *method;
    const struct walk_number *numbers;   /* beside those of struct walk; ends with a name NULL */
    const struct walk_metric *metrics;   /* likewise */
    int64_t least_samples, most_samples; /* that an evaluation may ask for */

    /* Calls walk_plan(), once the configuration is there. */
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
    double (*part)(const struct method_run *run);            /* share of the open case that is done */
    double (*weight)(const struct method_run *run, int at);  /* a case's share of the work, in any measure. NULL: all have the same */

    enum status (*arrays)(struct method_run *run, enum pack_role role, struct pack *pack, struct error *err);
    enum status (*check)(const struct method_run *run, struct error *err); /* before weights are saved */
    bool (*position_sound)(const struct method_run *run); /* what comes from a stream is not trusted */
    enum status (*loaded)(struct method_run *run, bool *sound, struct error *err);
    bool (*single)(const struct method_run *run); /* of fits: it may start from another's weights */
    void (*close)(struct method_run *run);        /* frees what the method allocated, half made or whole */
};

struct walk {
    const struct walk_table *table;
    struct method_env env; /* its comm: NULL where cases are dealt to ranks */
    struct deal deal;      /* of several cases */
    int64_t checkpoint_every; /* samples */
    void *cases, *outcomes;   /* [count], as the method knows them; outcomes are rows of doubles */
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
enum status walk_create(struct method_run *run, const struct walk_table *table, const struct method_env *env,
                        int64_t checkpoint_every, struct method_run **out, struct error *err);
/* The list's room: `count` cases, `most` at most. The caller fills them in. */
enum status walk_plan(struct method_run *run, int count, int most, size_t case_bytes, int columns, struct error *err);

/* In open(), of the data that were read: the same for every case. A checkpoint that was trained on others is refused.
 */
void walk_read(struct method_run *run, struct hash *hash);

/* These are a method's functions (method.h). */
void walk_destroy(struct method_run *run);
enum status walk_step(struct method_run *run, enum method_wish *wish, struct error *err);
enum status walk_save(struct method_run *run, const struct pack_writer *to, uint64_t *bytes, struct error *err);
enum status walk_load(struct method_run *run, const struct pack_reader *from, struct error *err);
enum status walk_warm_start(struct method_run *run, const struct pack_reader *from, struct error *err);
enum status walk_begin_evaluation(struct method_run *run, const struct method_evaluation *what, struct error *err);
void walk_progress(const struct method_run *run, struct method_progress *out);

/* A value that is not finite is left out. */
void walk_metric(struct method_run *run, const char *name, double value);

static inline struct walk *walk_of(struct method_run *run)
{
    return (struct walk *)run;
}
static inline const struct walk *walk_in(const struct method_run *run)
{
    return (const struct walk *)run;
}

#endif
