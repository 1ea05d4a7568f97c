/* The interface that every method implements.
 *
 * A method is a constant table: its configuration fields, presets, metrics, charts, page panels and queries as data,
 * and its functions. Server, api, storage and the page read these tables and contain no name of a method. To add a
 * method, add a folder and one line in registry.c; docs/how-to/add-a-method.md shows a complete one.
 *
 * The minimum is kind, title, summary, paper, config, create, step, save, load and destroy. Everything else may be NULL
 * or 0; defaults.c states what then happens, and callers use its functions instead of the members marked "default".
 * A method answers queries when it also has open, close and at least one row in `queries`.
 *
 * There are two kinds of objects. A `run` is training or evaluation in progress: it is mutable, one executor thread
 * drives it through step(), and it uses the thread pool in its environment. When the job is cancelled, the pool is
 * stopped (thread_pool_stop_when); create() and step() then return STATUS_CANCELLED within a second. A `model` is the
 * read-only content of a checkpoint: any number of threads may query one at the same time.
 *
 * A run is a deterministic function of its configuration: the same steps give the same bits for any number of threads,
 * and save() followed by load() at any step boundary changes nothing that follows. */
#ifndef MOTIF_CORE_METHODS_METHOD_H
#define MOTIF_CORE_METHODS_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/parallel/comm.h"
#include "core/base/config.h"
#include "core/base/error.h"
#include "core/base/graph.h"
#include "core/base/log.h"
#include "core/base/snapshot.h"
#include "core/base/parallel/thread_pool.h"
#include "core/base/sink.h"
#include "core/base/work.h"

struct collection;   /* core/data/uploads/collection.h */
struct byte_source;  /* core/formats/byte_source.h */
struct kernels;      /* core/kernels/kernels.h */
struct findings;     /* core/methods/findings.h */
struct finding_code; /* core/methods/findings.h */
struct picture;      /* core/draw/picture.h */

/* One axis of a grid: the values of a field that a study compares. */
struct method_axis {
    const char *field;
    const char *values; /* separated by spaces; each is read by config_parse() */
};

struct method_preset {
    const char *name;
    const char *meaning;                   /* one line */
    const struct config_setting *settings; /* values that differ from the defaults; ends with a field NULL */
    /* A preset with a grid or several seeds is a study: one job for each combination of the axes' values and each seed.
     * Ends with a field NULL; NULL: no grid. */
    const struct method_axis *grid;
    int seeds; /* N > 1: each combination is trained with `seed`, `seed` + 1, ..., N in all; 0 is the same as 1 */
};
/* Whether the preset is a study and not one job. */
static inline bool method_preset_is_study(const struct method_preset *preset)
{
    return preset->seeds > 1 || (preset->grid != NULL && preset->grid[0].field != NULL);
}
/* Copies the next value of an axis to `value` and moves *values behind it. Returns false at the end of the text. A
 * value of CONFIG_TEXT bytes or more is cut off there, which no field accepts. */
static inline bool method_axis_next(const char **values, char value[CONFIG_TEXT + 1])
{
    size_t length = strcspn(*values += strspn(*values, " "), " ");
    (void)snprintf(value, CONFIG_TEXT + 1, "%.*s", (int)length, *values);
    *values += length;
    return length > 0;
}

/* Every kind that trains on the user's own data has a preset named METHOD_DATASET_PRESET, and its configuration has a
 * field named METHOD_DATASET_FIELD for the data set. */
#define METHOD_DATASET_PRESET "dataset"
#define METHOD_DATASET_FIELD "dataset_name"
#define METHOD_FOLDS_FIELD "folds"

struct method_metric {
    const char *name, *unit, *meaning;
};

#define METHOD_CHART_METRICS 4

/* A chart on the job's page. It draws series against the number of samples seen. */
struct method_chart {
    const char *title;
    const char *metrics[METHOD_CHART_METRICS]; /* names of the method's metrics in this chart; unused ones are NULL */
    /* those names in `metrics` whose series are target values; the chart draws them as dashed steps; unused ones are
     * NULL */
    const char *targets[METHOD_CHART_METRICS];
    const char *format; /* unit of the values: "number" (NULL means this), "share" (a percentage), "power" (1.0e-4) */
    bool log;           /* the vertical axis is logarithmic */
    bool stages;        /* bands show the stages of an annealing; in a stage, the metric "density" is constant */
};

/* A part of the job's page, in addition to the configuration and the charts. `view` names a component of the page
 * ("motifs", "layers", "tree"); the page leaves out a panel whose view it does not have. */
struct method_panel {
    const char *view;
    const char *title; /* title of the tab */
    const char
        *query; /* the method's query that the view sends; NULL: the view sends none, or names its queries itself */
};

/* The named form of an answer or a request body, for the OpenAPI document. Either `shape` or `schema` describes it, in
 * the notation of api/documents/openapi_schemas.h; the other one is NULL. closed: the body may have no further
 * members. */
struct method_schema {
    const char *name;
    const char *shape;
    const char *schema;
    bool closed;
};

/* ---- queries --------------------------------------------------------------------------------------------------- */

enum method_verb { METHOD_GET, METHOD_POST };

/* What a query takes in addition to its parameters. */
enum method_takes {
    METHOD_TAKES_NOTHING,
    METHOD_TAKES_SAMPLE, /* GET: one sample of the job's own domain, chosen by ?seed=N (default 0) */
    METHOD_TAKES_INPUTS, /* POST: 1 to 256 inputs; the query is asked once for each */
    METHOD_TAKES_EDITS,  /* POST: as METHOD_TAKES_INPUTS; each input may have changes (struct method_edit) */
    METHOD_TAKES_FILE,   /* POST: a text in one of the query's `files`, of any length; parameters as for GET */
    METHOD_TAKES_MODEL   /* POST: the model of another job of the same kind, named by the member "with" */
};

struct method_model;
struct method_query;
struct method_input;

/* One call of a query. Everything is borrowed for the duration of the call. */
struct method_question {
    const struct method_query *query;
    const struct method_model *model;
    const struct method_input *input; /* with METHOD_TAKES_SAMPLE, INPUTS or EDITS */
    const char *text; /* with METHOD_TAKES_FILE: the body, `text_bytes` bytes without a NUL; else NULL */
    size_t text_bytes;
    const char *text_type;           /* media type of `text`, from the list query->files */
    const struct method_model *with; /* with METHOD_TAKES_MODEL: the other job's model */
    const void *parameters; /* the struct that query->parameters describes, with all fields set; NULL: the query has no
                               parameters */
    int64_t item;           /* with query->item: the number at the end of the path; else -1 */
    /* The budget of the query, which returns STATUS_CANCELLED within a second after its end. A query gives it to its
     * thread pool (thread_pool_stop_when(), work_stopped()), calls work_check() between samples, and work_yield()
     * between the parts of a long text. NULL: the query never has to stop. */
    struct work *work;
    /* With query->together: the state that all inputs of the request share, and the index of this input. NULL: the
     * query is asked for this input alone. */
    void *together;
    size_t index;
};

/* What the answers for the inputs of one request share, for a query whose answer for one input depends on the other
 * inputs. JSON answers only. */
struct method_together {
    const char *schema; /* schema of what write() writes, one of the method's schemas */
    /* Reads all inputs of the request before the first answer. question->input is the first one. *state: given to the
     * answers as question->together, and to close() also after an error. *at: index of the input with the error. */
    enum status (*begin)(const struct method_question *question, const struct method_input *inputs, size_t count,
                         void **state, size_t *at, struct error *err);
    /* Writes members of the whole answer, after the list of answers. */
    void (*write)(const struct method_question *question, const void *state, const struct sink *out);
    void (*close)(void *state); /* NULL is fine */
};

/* An answer as text in a file format of other programs, such as BED. */
struct method_text {
    const char *type;    /* media type, "text/x-meme" */
    const char *meaning; /* one line */
    /* Appends the whole text to `out`. Errors as for the other forms of an answer (struct method_query). */
    enum status (*write)(const struct method_question *question, struct buf *out, struct error *err);
};
enum { METHOD_TEXTS = 4 };

/* A query is the route /v1/jobs/{id}/NAME, or /v1/jobs/{id}/NAME/{ITEM}. The api makes routes, checks of parameters,
 * ETags and the OpenAPI document from these rows. Two methods may use the same name with different rows. */
struct method_query {
    const char *name;    /* "motifs"; lower-case letters, digits and '-' */
    const char *item;    /* what the number at the end of the path selects, for instance "channel"; NULL: no number */
    const char *meaning; /* one line */
    enum method_verb verb;
    enum method_takes takes;
    /* Parameters of the query: members of the JSON body or, if there is none, of the query string. NULL: none. */
    const struct config_table *parameters;
    /* Names of the text parameters that name data sets ("": none); ends with NULL. The ETag of an answer covers the
     * content of these data sets. NULL: there are none. */
    const char *const *dataset_parameters;
    const char *const *files; /* with METHOD_TAKES_FILE: media types of the body; ends with NULL */
    /* Name of one of the method's schemas: that of the answer for one input if the query is asked for each input,
     * otherwise that of the whole answer. NULL: any object. */
    const char *schema;

    /* With METHOD_TAKES_INPUTS: what the answers of a request share; NULL: nothing. */
    const struct method_together *together;

    /* The following functions answer the query, each in another form; at least one is set. Any thread may call them,
     * and they compute on the thread that calls. Errors: STATUS_NOT_FOUND if there is no such item; STATUS_CONFLICT if
     * this model cannot answer; STATUS_INVALID if the question does not fit the model. The pointer of STATUS_INVALID is
     * relative to the input ("/array") if the query is asked for each input. Otherwise it is relative to the body
     * ("/with") or, with GET, to the parameters ("/set"). */
    /* JSON: writes the members of an object that the caller has opened. */
    enum status (*answer)(const struct method_question *question, const struct sink *out, struct error *err);
    /* A picture, sent as PNG; the caller destroys it. */
    enum status (*draw)(const struct method_question *question, struct picture **out, struct error *err);
    /* Numbers, sent as .npy: appends float32 values, row-major, to `values` and sets their shape, which must be the
     * same for every input. Only for queries that take inputs. */
    enum status (*array)(const struct method_question *question, struct buf *values, int *rank, int64_t dim[4],
                         struct error *err);
    /* Many rows of numbers, sent as .npy if the body is .npy with ?batch=1: reads `in`, [count][width of a row of the
     * input], and writes `out`, [count][width of a row of the answer]. row_widths() sets both widths: *from and *to.
     * Only for queries that take inputs and have `array`. */
    enum status (*rows)(const struct method_question *question, const float *in, int count, float *out,
                        struct error *err);
    void (*row_widths)(const struct method_model *model, int *from, int *to);
    /* Texts, sent to clients that ask for one of these media types. Only for queries that take no inputs. */
    const struct method_text *texts;
    size_t text_count; /* at most METHOD_TEXTS */
};

/* Name of the query that lists the marks of a model in inputs of the test part, from which the api draws those of a
 * review. Its parameters have `samples`. Its answer has `samples`, `shape` ([rows, cols] of an input), `unit` of the
 * columns ("s": seconds), and `marks`; each mark has `sample`, `channel`, `name` (text or null), `position` ([row,
 * col]), `value` and `extent` ([row0, row1, col0, col1] or null), and may have `q`, `p`, `number` (index in the
 * upload), `record`, `seconds`, `words` and `context` (the text before, in and after the mark). METHOD_MARKS_QUERY/{}
 * with a sample's number, channel, row and col draws one mark, or with `plain` the input alone. */
#define METHOD_MARKS_QUERY "marks"

struct method_recovery;

/* A computation on convolutions and a signal, which needs no job. Clients call it by the route POST /v1/KIND/NAME. */
struct method_computation {
    const char *name;
    const char *meaning;                /* one line */
    const struct config_table *options; /* member "config" of the body */
    const char *schema;                 /* schema of the answer, one of the method's schemas; NULL: any object */
    /* Writes the members of an object that the caller has opened. STATUS_INVALID with a pointer into the request
     * ("/layers/1/filters", "/signal", "/code/3", "/nonzeros/0"). */
    enum status (*compute)(const struct method_recovery *request, const struct sink *out, struct error *err);
};

/* ---- tensors --------------------------------------------------------------------------------------------------- */

enum method_datatype {
    METHOD_FP32,
    METHOD_BYTES /* texts: for each element its length as a 32-bit little-endian integer, and its bytes */
};
enum { METHOD_TENSOR_RANK = 3, METHOD_OUTPUTS = 4 };

/* The input or an output of a model as a tensor, for the Open Inference Protocol (api/inference). */
struct method_tensor {
    const char *name;    /* "motifs"; lower-case letters and '_' */
    const char *meaning; /* one line */
    enum method_datatype datatype;
    bool sparse; /* nearly all values are zero; a client can request only the non-zero values with their coordinates */
    /* The shape for one input: *rank is at most METHOD_TENSOR_RANK; a size of -1 varies. *rank -1: this model does not
     * have the output. */
    void (*shape)(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK]);
};

/* ---- configurations -------------------------------------------------------------------------------------------- */

/* Receives the faults of a configuration that concern several fields ("radius does not fit the image"). */
struct method_faults {
    void *context;
    void (*add)(void *context, const char *field, const char *detail);
};
/* fault.c: adds one fault; the text is formatted like printf(). */
void method_fault(const struct method_faults *faults, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For estimates. METHOD_BASE_BYTES: memory for the code and data of libraries that a run uses (charts, fonts, matrix
 * products). METHOD_ASSUMED_THREADS: number of threads of a job whose configuration does not set it. */
enum { METHOD_BASE_BYTES = 7 << 20, METHOD_ASSUMED_THREADS = 2 };

/* What a configuration would cost, for dry runs and admission. */
struct method_estimate {
    int64_t parameters;
    double flops_per_sample; /* operations of training on one sample, forward and backward */
    int64_t memory_bytes;    /* largest memory of a run at any time */
    int64_t checkpoint_bytes;
    int64_t samples; /* number of samples that training is likely to take, at most the configured limit */
    /* Speed of one thread at this method's operations, on the processor on which costs were measured (kernels/pace.h).
     * 0: the usual speed of a training. */
    double gflops;
};

/* A checkpoint of the job that a run belongs to. */
struct method_checkpoint {
    int64_t seq, step;
    double density; /* share of active positions (density) at which the weights were trained; NaN if the method has no
                       density */
    bool stage_end; /* whether METHOD_STAGE_END requested it */
};
/* Access to all checkpoints of this job; the newest one has the highest index. */
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
    struct comm *comm; /* Ranks that work on the same run (core/base/parallel/comm.h); NULL: there is one rank. Each
                        * rank has an environment with all of these fields. All ranks call the same functions in the
                        * same order; save() is one of them and writes the same bytes on each rank. */
    const struct kernels *kernels;
    const char *data;    /* folder of data sets (core/data/dataset.h), NULL: none */
    double step_seconds; /* when this many seconds have passed, a step finishes its current piece of work and ends; 0:
                            the method chooses the time */
    struct log_hook log;
    void *context; /* passed to the callbacks below; each is called on the stepping thread only */
    /* A point of a time series. `name` must be one of the method's metrics; `step` counts samples seen. */
    void (*metric)(void *context, const char *name, int64_t step, double value);
    /* A file that belongs to the result; bytes are copied. name: [a-z0-9.-]+ chosen by the method. */
    void (*artifact)(void *context, const char *name, const char *media_type, const void *bytes, size_t count);
    struct method_checkpoints checkpoints;
};

/* A phase of training, as a row of a job's plan. NaN and NULL where a member does not apply. */
enum { METHOD_PHASES = 12, METHOD_OBJECTIVES = 4, METHOD_PHASE_TEXT = 128 };
struct method_phase {
    const char *name;                          /* "motifs"; static text; lower-case letters, digits and '-' */
    const char *trains;                        /* the parts of the model that change: "head"; static text */
    const char *objectives[METHOD_OBJECTIVES]; /* what training minimises; unused ones are NULL */
    double samples;                            /* largest number of samples */
    double rate_from, rate_to;                 /* learning rate at the beginning and at the end */
    const char *curve;                         /* how it changes between: "constant", "linear", "cosine" */
    char until[METHOD_PHASE_TEXT]; /* "N validations ...": what ends the phase; "": all its samples are used */
    char then[METHOD_PHASE_TEXT];  /* the action at its end; "": none */
};

/* Where a run stands, for progress bars. NaN where a figure does not apply. */
struct method_progress {
    int64_t step;    /* optimiser updates */
    int64_t samples; /* samples seen */
    double fraction; /* share of all the work that is done, 0..1, as the method estimates it */
    double density, target_accuracy, accuracy;
    double eta_samples; /* the time that is left, as an estimated number of samples as fast as those seen so far */
    const char *stage;  /* "training", "evaluating", ... static text */
    const char *phase;  /* name of the present row of the plan; static text; NULL: none */
};

/* What a step requests from its executor. */
enum method_request {
    METHOD_CONTINUE,   /* nothing: call step() again */
    METHOD_CHECKPOINT, /* save() now; a regular checkpoint */
    METHOD_STAGE_END,  /* call save() now and keep this checkpoint: it holds the last state at this density */
    METHOD_DONE        /* finished: save() once more, then result() */
};

struct method_run; /* each method defines this struct and struct method_model for itself */

/* Evaluation of a finished or running job, as a job of its own. */
struct method_evaluation {
    int64_t samples;
    int64_t seed; /* seed of the samples of the domain; -1: the validation set; -2: the test set */
};

/* A change to one motif, or to all motifs of a channel, that a model has found in an input. The model then computes its
 * output from the changed motifs. */
struct method_edit {
    bool everywhere; /* true: all motifs of `channel`; false: the motif at (row, col) */
    int64_t row, col, channel;
    bool remove;
    int64_t to_row, to_col, to_channel; /* -1: unchanged */
    double to_value;                    /* NaN: unchanged */
};

/* One input of a query: a sample or an array. */
enum method_input_kind { METHOD_INPUT_SAMPLE, METHOD_INPUT_ARRAY };
struct method_input {
    enum method_input_kind kind;
    int64_t seed; /* SAMPLE: seed of a sample of the job's own domain */
    int rank;     /* ARRAY: shape and row-major values, borrowed */
    int64_t dim[4];
    const float *values;
    const char *text; /* ARRAY: a text instead of an array, borrowed; rank is then 0, and *values 0. NULL: an array */
    int rate;         /* ARRAY: samples per second of a recording; 0: unknown, so a method takes the rate of its data */
    const struct method_edit
        /* with METHOD_TAKES_EDITS: the changes, borrowed; each of them refers to the motifs before any change */
        *edits;
    size_t edit_count;
    bool keep_maximal; /* true: motifs near a stronger motif are removed before the edits */
};

/* A convolution of a model. */
struct method_convolution {
    char name[SNAPSHOT_NAME];
    int filters, inputs, height, width; /* one-dimensional: height 1 */
    const float *weights;               /* [filters][inputs][height][width], borrowed */
};

/* The request of a computation (struct method_computation): a stack of convolutions, and a signal or a code. */
struct method_recovery {
    const void *options; /* the struct that the computation's `options` describe */
    const struct kernels *kernels;
    const struct method_convolution *layers; /* the first one is applied to the signal */
    size_t layer_count;
    int rank; /* dimensions of the signal: 1 or 2 */
    int64_t dim[2];
    const float *signal; /* row-major: [dim...][inputs of the first layer]; NULL: `code` is given instead */
    /* The non-zeros of the deepest code. If the signal has one dimension, `row` is 0. */
    const struct method_spike {
        int64_t row, column, filter;
        double value;
    } * code;
    size_t code_count;
    const int64_t *nonzeros; /* [layer_count] non-zeros of each layer's code; NULL: unknown */
    struct work *work;       /* as in struct method_question */
};

/* Tells resolve() whether the client has set a field itself. */
struct method_given {
    bool (*has)(const void *context, const char *field);
    const void *context;
};

struct method {
    const char *kind;    /* "sparling"; lower-case letters, digits, '-' and '_' */
    const char *title;   /* "SPARLING: ..." */
    const char *summary; /* two or three sentences */
    const char *paper;   /* citation */
    struct config_table config;
    const struct method_preset *presets;
    size_t preset_count;
    const struct method_metric *metrics;
    size_t metric_count;
    const struct method_chart *charts; /* charts in the order of the page; NULL: the page draws one for each metric */
    size_t chart_count;
    const struct method_panel *panels; /* panels in the order of the page */
    size_t panel_count;
    const struct method_query *queries;
    size_t query_count;
    const struct method_computation *computations;
    size_t computation_count;
    /* Tensors of the models of this kind, at most METHOD_OUTPUTS outputs. NULL: the Open Inference Protocol does not
     * offer these models. */
    const struct method_tensor *input, *outputs;
    size_t output_count;
    const struct method_schema *schemas;
    size_t schema_count;
    const struct finding_code *findings; /* everything that judge() can find */
    size_t finding_count;
    /* The field that chooses one of the test parts into which METHOD_FOLDS_FIELD divides the samples. A study trains
     * one job for each of them, and its table summarises these jobs. NULL: jobs of this kind have no such field. */
    const char *fold_field;
    /* Configuration fields that name data sets; ends with NULL. NULL: there are none. */
    const char *const *dataset_fields;

    /* Sets the fields that follow from data sets, before check(). Fields such as the hash of a data set are always set.
     * Other fields get a default that suits the data, unless the client has given a value. given: what the client has
     * given; NULL: nothing. data: folder of data sets; NULL: none. Errors have the field's pointer
     * ("/config/dataset_name"). Default: sets nothing. */
    enum status (*resolve)(void *config, const struct method_given *given, const char *data, struct error *err);
    /* Does to a configuration of the preset METHOD_DATASET_PRESET what resolve() would do after the data set was
     * stored, so that its cost can be estimated before. STATUS_INVALID: the kind does not train on such data. NULL:
     * unknown. */
    enum status (*adapt)(void *config, const struct collection *data, struct error *err);
    /* Reports all faults that concern several fields, by method_fault(). Default: reports none. */
    void (*check)(const void *config, const struct method_faults *faults);
    /* Writes the phases of a training, in order, to out[METHOD_PHASES] and returns how many there are. The
     * configuration has passed check(). Default: there are none. */
    size_t (*plan)(const void *config, struct method_phase *out);
    /* Writes the member `division` of an object that the caller has opened: how the samples of the configuration's data
     * set are divided (core/data/division/division.h); null: they are not. data: as in the environment. Default: null.
     */
    enum status (*division)(const void *config, const char *data, const struct sink *out, struct error *err);
    /* What the configuration would cost. data: as in the environment; a method that reads a data set takes its sizes
     * from there, and assumes usual ones where `data` is NULL or has no such data set. Default: unknown (all 0). */
    enum status (*estimate)(const void *config, const char *data, struct method_estimate *out, struct error *err);

    /* ---- a run ---- */
    /* Creates a run. It copies the configuration; the environment outlives the run. */
    enum status (*create)(const void *config, const struct method_env *env, struct method_run **run, struct error *err);
    /* Works for tens of milliseconds up to a second. After a failure only destroy() may follow. */
    enum status (*step)(struct method_run *run, enum method_request *request, struct error *err);
    /* Reports the progress of a run. Default: everything is unknown. */
    void (*progress)(const struct method_run *run, struct method_progress *out);
    /* Writes everything that load() needs; *bytes: how many bytes. */
    enum status (*save)(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes, struct error *err);
    /* Reads everything that save() wrote, so that the run continues bit for bit. */
    enum status (*load)(struct method_run *run, const struct snapshot_reader *from, struct error *err);
    /* Reads weights and statistics only, for a new run that starts from another job's model. Default:
     * STATUS_CONFLICT. */
    enum status (*warm_start)(struct method_run *run, const struct snapshot_reader *from, struct error *err);
    /* Other kinds of jobs whose models warm_start() also takes; ends with NULL. NULL: there are none. */
    const char *const *starts_from;
    /* Makes the following steps evaluate what was loaded instead of training; the last one requests METHOD_DONE.
     * Default: STATUS_CONFLICT, and the api refuses evaluations of this kind. */
    enum status (*begin_evaluation)(struct method_run *run, const struct method_evaluation *what, struct error *err);
    /* Adds the findings about a finished run, from which its verdict follows (findings.h). It reads only what an owner
     * of real data knows: no true positions, no true factors. Default: the result has neither verdict nor findings. */
    enum status (*judge)(struct method_run *run, struct findings *findings, struct error *err);
    /* Writes the members of `result`, an object that the caller has opened, except verdict and findings. Default:
     * writes none. */
    enum status (*result)(struct method_run *run, const struct sink *out, struct error *err);
    void (*destroy)(struct method_run *run); /* NULL is fine */

    /* ---- a model: all NULL where jobs of this kind answer no queries ---- */
    /* Reads a checkpoint. The model keeps no reference to `from`. data: as in the environment. */
    enum status (*open)(const void *config, const struct kernels *kernels, const char *data,
                        const struct snapshot_reader *from, struct method_model **model, struct error *err);
    void (*close)(struct method_model *model);
    /* adopt() reads a model that another program wrote, from a tar of its files. It writes the configuration of a
     * job to `config`, a JSON object with the fields that differ from their defaults, and a checkpoint for open() to
     * `checkpoint`. adopts: name of the format. Both members are NULL if the method imports no models of other
     * programs. STATUS_INVALID: the archive contains no such model, or the method cannot represent the model; the
     * message says why. */
    const char *adopts;
    enum status (*adopt)(const struct byte_source *from, struct buf *config, struct buf *checkpoint, struct error *err);
    /* Writes warnings into a list that the caller has opened: an object {code, text} for everything that is unusual
     * about an input, such as values far outside the range of the training data. Default: adds nothing. */
    void (*warn)(const struct method_model *model, const struct method_input *input, const struct sink *out);
    /* Computes outputs for one input and appends each to its buffer, in the order of `outputs`. A NULL buffer means
     * that nobody needs this output. Any thread may call it. Errors as for queries. A method with `outputs` must set
     * this member. */
    enum status (*infer)(const struct method_question *question, struct buf *const outputs[], struct error *err);
    /* Memory that the model holds, for the cache of open models. Default: 1 MiB. */
    uint64_t (*model_bytes)(const struct method_model *model);
    /* Writes what a model computes in evaluation as a graph of operations, for ONNX. STATUS_CONFLICT if the
     * model's output also depends on random noise. NULL: the kind has no such export. */
    enum status (*graph)(const struct method_model *model, const struct graph_writer *out, struct error *err);
    /* Lists the convolutions of a model, beginning with the one nearest to the input: writes the first `room` of them
     * to `out` and returns how many there are. They live as long as the model. NULL: models of this kind have none. */
    size_t (*convolutions)(const struct method_model *model, struct method_convolution *out, size_t room);
};

/* Defined in defaults.c. Each function calls the member of the same name; if that is NULL, it does what the member's
 * comment names as default. */
enum status method_resolve(const struct method *method, void *config, const struct method_given *given,
                           const char *data, struct error *err);
void method_check(const struct method *method, const void *config, const struct method_faults *faults);
enum status method_estimate(const struct method *method, const void *config, const char *data,
                            struct method_estimate *out, struct error *err);
/* Writes the plan as the member "plan" of an object that the caller has opened: a list of objects. */
void method_plan(const struct method *method, const void *config, const struct sink *out);
/* Writes the division as the member "division" of an object that the caller has opened; null: there is none. */
enum status method_division(const struct method *method, const void *config, const char *data, const struct sink *out,
                            struct error *err);
void method_progress(const struct method *method, const struct method_run *run, struct method_progress *out);
enum status method_warm_start(const struct method *method, struct method_run *run, const struct snapshot_reader *from,
                              struct error *err);
/* Whether the method declares a metric of this name. */
bool method_has_metric(const struct method *method, const char *name);
/* Whether jobs of this method can start from a model of kind `kind`: it must be their own kind or one of
 * `starts_from`. */
bool method_starts_from(const struct method *method, const char *kind);
enum status method_begin_evaluation(const struct method *method, struct method_run *run,
                                    const struct method_evaluation *what, struct error *err);
/* Writes the verdict and the findings first, then the members of the method's result(). */
enum status method_result(const struct method *method, struct method_run *run, const struct sink *out,
                          struct error *err);
uint64_t method_model_bytes(const struct method *method, const struct method_model *model);
/* The query that takes another job's model; NULL: jobs of this kind cannot be compared. */
const struct method_query *method_comparison(const struct method *method);

/* registry.c: every method of this build. */
const struct method *const *methods_all(size_t *count);
const struct method *method_find(const char *kind); /* Returns NULL if there is no method of that kind. */

#endif
