/* One interface for every published method.
 *
 * A method is a constant table: its name, its configuration (config.h), presets, metrics and queries
 * as data, and functions. The rooms above know nothing else about it; a new method is a folder and a
 * line in registry.c.
 *
 * Two kinds of objects. A `run` is training (or evaluation) in progress: mutable, driven by one
 * executor thread through step(), it uses the pool in its environment. A `model` is what a
 * checkpoint holds, read-only: any number of threads may query one at the same time.
 *
 * A run is a deterministic function of its configuration: the same steps give the same bits for any
 * number of threads, and save() → load() at any step boundary changes nothing that follows. */
#ifndef MOTIF_CORE_METHODS_METHOD_H
#define MOTIF_CORE_METHODS_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/comm.h"
#include "core/base/config.h"
#include "core/base/error.h"
#include "core/base/graph.h"
#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "core/base/thread_pool.h"
#include "core/base/sink.h"

struct kernels; /* core/kernels/kernels.h */
struct picture; /* core/draw/picture.h */

struct method_preset {
    const char *name;
    const char *meaning;                   /* one line */
    const struct config_setting *settings; /* overrides of the defaults; ends with field NULL */
};

struct method_metric {
    const char *name, *unit, *meaning;
};

struct method_query {
    const char *name; /* "motifs", "predict", "pathways": the last part of the path that asks */
    const char *meaning;
    bool draws; /* a picture of the answer can be asked for */
};

/* One fault of a configuration that no single field shows ("radius does not fit the image"). */
struct method_faults {
    void *context;
    void (*add)(void *context, const char *field, const char *detail);
};
/* fault.c: adds one fault; the text is formatted like printf(). */
void method_fault(const struct method_faults *faults, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What a configuration would cost, for dry runs and admission. */
struct method_estimate {
    int64_t parameters;
    double flops_per_sample; /* of training: forward and backward */
    int64_t memory_bytes;    /* peak of a run */
    int64_t checkpoint_bytes;
    int64_t samples; /* that training is likely to take, no more than the cap */
    double gflops;   /* of a thread at this work where that is known to differ from training; 0: as training */
};

/* The checkpoints of the job that a run belongs to, newest last. */
struct method_checkpoint {
    int64_t seq, step;
    double density; /* the density its weights were trained at; NaN if none */
    bool stage_end; /* asked for with a STAGE_END */
};
struct method_checkpoints {
    void *context;
    enum status (*count)(void *context, size_t *count, struct error *err);
    enum status (*describe)(void *context, size_t index, struct method_checkpoint *out, struct error *err);
    /* The reader is valid until the next call of open() or the end of the step. */
    enum status (*open)(void *context, size_t index, struct snapshot_reader *reader, struct error *err);
};

/* What a run may use. The executor owns all of it and keeps it valid for the life of the run. */
struct method_env {
    struct thread_pool *pool;
    struct comm *
        comm; /* ranks that work on the same run (core/base/comm.h), each with all of the fields here; NULL: one. All
                 ranks call the same functions in the same order, save() among them: it writes the same bytes on each */
    const struct kernels *kernels;
    const char *data;    /* folder of data sets (core/data/dataset.h), NULL: none */
    double step_seconds; /* how long a step may take, at the boundary of its pieces; 0: as the method likes */
    struct log_hook log;
    void *context; /* passed to the callbacks below; each is called on the stepping thread only */
    /* A point of a time series. `step` counts samples seen. */
    void (*metric)(void *context, const char *name, int64_t step, double value);
    /* A file that belongs to the result; bytes are copied. name: [a-z0-9.-]+ chosen by the method. */
    void (*artifact)(void *context, const char *name, const char *media_type, const void *bytes, size_t count);
    struct method_checkpoints checkpoints;
};

/* Where a run stands, for progress bars. NaN where a figure does not apply. */
struct method_progress {
    int64_t step;    /* optimiser updates */
    int64_t samples; /* samples seen */
    double fraction; /* of all the work, 0..1, the method's best guess */
    double density, target_accuracy, accuracy;
    double eta_samples; /* samples still to be seen by its best guess */
    const char *stage;  /* "training", "evaluating", ... static text */
};

/* What a step asks of its executor. */
enum method_request {
    METHOD_CONTINUE,   /* nothing: call step() again */
    METHOD_CHECKPOINT, /* save() now; a regular checkpoint */
    METHOD_STAGE_END,  /* save() now; the last state at this density: keep it */
    METHOD_DONE        /* finished: save() once more, then result() */
};

struct method_run; /* each method defines its own */
struct method_model;

/* Evaluation of a finished or running job, as a job of its own. */
struct method_evaluation {
    int64_t samples;
    int64_t seed; /* domain seed; -2 is the test set, -1 validation */
};

/* A change of what a model has found in an input, before the rest of the model reads it. */
struct method_edit {
    bool everywhere; /* all motifs of `channel`; else the one at (row, col) */
    int64_t row, col, channel;
    bool remove;
    int64_t to_row, to_col, to_channel; /* -1: as it is */
    double to_value;                    /* NaN: as it is */
};

/* One input of a query. Exactly one of the kinds. */
enum method_input_kind { METHOD_INPUT_SAMPLE, METHOD_INPUT_ARRAY };
struct method_input {
    enum method_input_kind kind;
    int64_t seed; /* SAMPLE: drawn from the job's own domain */
    int rank;     /* ARRAY: shape and row-major values, borrowed */
    int64_t dim[4];
    const float *values;
    const struct method_edit
        *edits; /* of the query "interventions": borrowed, done at once, so none sees what another did */
    size_t edit_count;
    bool keep_maximal; /* before the edits: motifs that a stronger one is near are dropped */
};

/* What the features of a model stand for, over many inputs of its own domain. */
enum method_set { METHOD_SET_EXAMPLES, METHOD_SET_TEST, METHOD_SET_VALIDATION, METHOD_SET_TRAINING };
struct method_channel_query {
    int64_t feature;        /* a channel of the motif map; -1: all of them */
    enum method_set set;    /* EXAMPLES: those that queries name by their seed */
    int64_t first, samples; /* `samples` of the set from number `first` on */
    int top;                /* [1, 64] inputs to list or draw, of each feature the most exciting */
};

/* A convolution of a model. */
struct method_convolution {
    char name[SNAPSHOT_NAME];
    int filters, inputs, height, width; /* one-dimensional: height 1 */
    const float *weights;               /* [filters][inputs][height][width], borrowed */
};

/* A computation about a stack of convolutions and a signal, that needs no run: POST /v1/KIND/recover. */
struct method_recovery {
    const void *options; /* a struct of the method's `recover_options` */
    const struct kernels *kernels;
    const struct method_convolution *layers; /* from the signal up */
    size_t layer_count;
    int rank; /* of the signal: 1 or 2 */
    int64_t dim[2];
    const float *signal; /* row-major; NULL: `code` is given instead */
    /* Non-zeros of the deepest code: position (row, column; row 0 in one dimension), filter, value. */
    const struct method_spike {
        int64_t row, column, filter;
        double value;
    } * code;
    size_t code_count;
    const int64_t *nonzeros; /* [layer_count] how many each layer's code has; NULL: not known */
};

struct method {
    const char *kind;    /* "sparling" */
    const char *title;   /* "SPARLING: ..." */
    const char *summary; /* two or three sentences */
    const char *paper;   /* citation */
    struct config_table config;
    const struct method_preset *presets;
    size_t preset_count;
    const struct method_metric *metrics;
    size_t metric_count;
    const struct method_query *queries;
    size_t query_count;
    const char *const
        *dataset_fields; /* of the configuration, that name data sets; ends with NULL. NULL: there are none */

    /* Fills in what follows from data sets, before check(): a stored configuration says it all. `data` as in the
     * environment. Errors have the field's pointer ("/config/dataset_name"). NULL: nothing does. */
    enum status (*resolve)(void *config, const char *data, struct error *err);
    /* Faults that concern several fields; every fault is reported. */
    void (*check)(const void *config, const struct method_faults *faults);
    enum status (*estimate)(const void *config, struct method_estimate *out, struct error *err);

    /* The configuration is copied. */
    enum status (*create)(const void *config, const struct method_env *env, struct method_run **run, struct error *err);
    /* Tens of milliseconds to a second of work. After a failure only destroy() may follow. */
    enum status (*step)(struct method_run *run, enum method_request *request, struct error *err);
    void (*progress)(const struct method_run *run, struct method_progress *out);
    enum status (*save)(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes, struct error *err);
    /* Everything, so that the run continues bit for bit. */
    enum status (*load)(struct method_run *run, const struct snapshot_reader *from, struct error *err);
    /* Weights and statistics only: a new run that starts from another job's model. */
    enum status (*warm_start)(struct method_run *run, const struct snapshot_reader *from, struct error *err);
    /* Instead of training: the following steps evaluate what was loaded, then METHOD_DONE. */
    enum status (*begin_evaluation)(struct method_run *run, const struct method_evaluation *what, struct error *err);
    /* The fields of `result` (contents of an object the caller has opened). */
    enum status (*result)(struct method_run *run, const struct sink *out, struct error *err);
    void (*destroy)(struct method_run *run); /* NULL is fine */

    /* A model for queries; `threads`-free: it computes on the calling thread. data: as in the environment. */
    enum status (*open)(const void *config, const struct kernels *kernels, const char *data,
                        const struct snapshot_reader *from, struct method_model **model, struct error *err);
    void (*close)(struct method_model *model);
    uint64_t (*model_bytes)(const struct method_model *model);
    /* Answers one input: the members of an object the caller has opened. STATUS_INVALID with a
     * pointer relative to the input ("/array") when the input does not fit. */
    enum status (*query)(const struct method_model *model, const char *query, const struct method_input *input,
                         const struct sink *out, struct error *err);
    /* The same answer as a picture the caller destroys. */
    enum status (*draw)(const struct method_model *model, const char *query, const struct method_input *input,
                        struct picture **out, struct error *err);

    /* What a query finds as numbers: appends them to `values`, row-major, and says their shape, which is the same for
     * every input. NULL: this method answers no query so. */
    enum status (*array)(const struct method_model *model, const char *query, const struct method_input *input,
                         struct buf *values, int *rank, int64_t dim[4], struct error *err);

    /* Which features of two models of this method stand for the same, on `samples` inputs of the first one's domain:
     * the members of an object the caller has opened. STATUS_INVALID with pointer "/with" where the second takes other
     * inputs. NULL: not offered. */
    enum status (*compare)(const struct method_model *model, const struct method_model *with, int64_t samples,
                           const struct sink *out, struct error *err);

    /* What is known of one feature: its use, the histogram of its activations, the inputs that excite it most; of all:
     * their use. The members of an object the caller has opened. STATUS_NOT_FOUND where there is no such feature. Both
     * NULL: not offered. */
    enum status (*channels)(const struct method_model *model, const struct method_channel_query *asked,
                            const struct sink *out, struct error *err);
    /* The same as a picture with crops of the inputs, which the caller destroys. */
    enum status (*draw_channels)(const struct method_model *model, const struct method_channel_query *asked,
                                 struct picture **out, struct error *err);

    /* What a model computes of an input, in evaluation. STATUS_CONFLICT where that is no function. NULL: not offered.
     */
    enum status (*graph)(const struct method_model *model, const struct graph_writer *out, struct error *err);

    /* The convolutions of a model from the input up: how many there are, the first `room` of them written to `out`;
     * they live as long as the model. NULL: models of this method have none. */
    size_t (*convolutions)(const struct method_model *model, struct method_convolution *out, size_t room);
    /* What `method_recovery` asks for: the members of an object the caller has opened. STATUS_INVALID with a pointer
     * into the request ("/layers/1/filters", "/signal", "/code/3", "/nonzeros/0"). NULL: this method offers none. */
    const struct config_table *recover_options;
    enum status (*recover)(const struct method_recovery *request, const struct sink *out, struct error *err);
};

/* registry.c: every method there is. */
const struct method *const *methods_all(size_t *count);
const struct method *method_find(const char *kind); /* NULL when there is none */

#endif
