/* A SPARLING run in progress: private to core/methods/sparling.
 *
 *   TRAIN --(validation_every samples)--> VALIDATE --> TRAIN ...
 *   TRAIN --(last density reached, or total_samples)--> CALIBRATE --> TRAIN (the head alone) --> EVALUATE --> DONE
 *
 * run.c creates and destroys a run. phases.c drives its phases. training/train.c does one update or one piece of a
 * validation, evaluation/evaluate.c one piece of the evaluation. checkpoint.c declares everything that is saved.
 * result.c and evaluation/artifacts.c write the results. A piece of a validation or evaluation has a fixed number of
 * samples on every machine, so results do not depend on speed. */
#ifndef MOTIF_CORE_METHODS_SPARLING_RUN_INT_H
#define MOTIF_CORE_METHODS_SPARLING_RUN_INT_H

#include "core/base/arena.h"
#include "core/methods/sparling/training/annealer.h"
#include "core/methods/sparling/training/batch.h"
#include "core/methods/sparling/training/map_cache.h"
#include "core/methods/sparling/model/decode.h"
#include "core/methods/shared/publish.h"
#include "core/methods/sparling/model/network.h"
#include "core/methods/sparling/heads/numbers.h"
#include "core/methods/sparling/evaluation/extents.h"
#include "core/methods/sparling/evaluation/study.h"
#include "core/methods/sparling/evaluation/verdict/evidence.h"
#include "core/metrics/binning.h"
#include "core/metrics/motif_errors.h"
#include "core/metrics/shuffled.h"
#include "core/metrics/topk.h"
#include "core/nn/adam.h"
#include "core/nn/gradients.h"

/* Checkpoints save these values, so they must not change. PHASE_CALIBRATE follows the training of g. */
enum run_phase { PHASE_TRAIN, PHASE_VALIDATE, PHASE_EVALUATE, PHASE_DONE, PHASE_CALIBRATE };

enum { VALIDATION_SEED = -1, TEST_SEED = -2, BINNING_SEED = -3, EVALUATION_MAX = 64, METRIC_UPDATES = 10 };

/* The evaluation of one model: one density, one checkpoint. All members are doubles, because checkpoints save it as a
 * table. */
struct evaluation_row {
    /* density: share of active elements at which training aimed; achieved: measured share */
    double density, achieved;
    double fpe, fne, ce, ce_majority, e2ee, exact; /* NaN until measured */
    double window_fpe, window_fne, window_ce;      /* errors by the definition in the paper's text (motif_errors.h) */
    /* sequence number of the checkpoint, or -1: the model of the run itself */
    double checkpoint;
    double motif_samples, test_samples;
    double proof;      /* the error E_m of the theorem (motif_errors.h) */
    double single;     /* single-motif error; NaN: not requested */
    double perturbed;  /* share of edited maps whose answer follows the edit; NaN: not requested */
    double binning[4]; /* how much the edit error rises with 16, 8, 4, 2 bins; NaN: not requested */
};
enum { EVALUATION_COLUMNS = 21 };
_Static_assert(sizeof(struct evaluation_row) == EVALUATION_COLUMNS * sizeof(double), "a row is a row of doubles");

enum evaluation_part {
    PART_EXTENTS, /* measured once, for the run's own model, before the other parts of the first row */
    PART_MOTIFS,
    PART_TEST,
    PART_SINGLE,
    PART_BINNING,
    PART_PERTURB,
    PART_EVIDENCE,
    PART_CHANCE,
    PART_BOXES,
    PARTS
};

enum { BINNINGS = 4, ACTIVATIONS_MOST = 1 << 22 };
struct activations { /* the first ACTIVATIONS_MOST positive values of a channel */
    float *values;
    size_t count, room;
};
/* Counts of an analysis in progress (analyses.c); not saved. */
struct analysis {
    int64_t *single;           /* [motif channels][symbols] */
    struct activations *lists; /* [motif channels] */
    struct binning *bins;      /* [motif channels][BINNINGS]; bins 0: the channel was never active */
    /* tried: number of samples with a changed symbol; followed: number of these whose label followed the change */
    int64_t tried, followed;
    double edits[BINNINGS + 1]; /* sums of edit errors: without bins, then for each binning */
};

/* Motif errors of shuffled positions with their confidence intervals. All members are doubles, because checkpoints save
 * them. */
struct chance_row {
    double mean[3], low[3], high[3]; /* fpe, fne, ce */
};
struct chance {
    /* all: errors of all symbols; without: errors of the symbols that are not trivial (domain.h) */
    struct chance_row all, without;
    double fpe, fne, ce; /* errors of the model on the same samples, trivial symbols left out */
    double perfect[3];   /* fpe, fne, ce that the true motifs would get; above 0 only where boxes overlap */
    double samples;      /* 0: nothing was shuffled */
};
enum { CHANCE_NUMBERS = 25 };
_Static_assert(sizeof(struct chance) == CHANCE_NUMBERS * sizeof(double), "chance is a row of doubles");
struct chance_samples; /* chance.c */

/* Statistics of motifs that need no true boxes (motif_counts.c): sums over samples, of the run's own model. All members
 * are doubles, because checkpoints save them as tables. */
struct motif_counts {
    /* samples: number of all samples; dense: number of samples with too many motifs to analyse */
    double samples, dense;
    double motifs, tokens; /* motifs: number of maximal motifs (annotation.h); tokens: number of tokens in the labels */
    double as_many;        /* samples with as many motifs as tokens */
    /* met: number of samples with overlapping footprints; meeting: number of motifs whose footprint overlaps another */
    double met, meeting;
    /* sum over motifs of the largest share of the motif's footprint that another footprint covers */
    double overlap;
};
enum { MOTIF_COUNTS_NUMBERS = 8 };
_Static_assert(sizeof(struct motif_counts) == MOTIF_COUNTS_NUMBERS * sizeof(double),
               "a motif_counts is a row of doubles");
struct motif_counts_channel {
    /* motifs: number of maximal motifs (annotation.h); inputs: number of samples with at least one */
    double motifs, inputs;
};

struct evaluation {
    struct evaluation_row row[EVALUATION_MAX]; /* from high to low density; the last row is the run's own model */
    int64_t rows, at;                          /* rows: number of rows; at: the row in progress */
    int64_t part, position; /* part: the part of row `at` in progress; position: index of its next sample */
    int64_t seed;           /* seed of the test set */
    double edit_sum;
    int64_t exact;
    /* counts of the validation or row in progress; at the end, of the final model */
    struct motif_errors errors;
    struct analysis analysis;              /* counts of the part in progress */
    struct network *other;                 /* the model of an earlier density; NULL until needed */
    int64_t loaded;                        /* sequence number of the checkpoint in `other`; -1: none */
    struct topk *topk;                     /* [tokens - 1], with a label at every position */
    struct motif_counts motif_counts;      /* sums over the samples of the run's own model */
    struct motif_counts_channel *channels; /* [motif channels] */
    struct evidence evidence;              /* for the verdict */
    struct extents extents;
    struct chance chance;
    struct chance_samples *collected; /* not saved: a loaded run repeats the current part */
};

enum { REINITIALISED_CHANNELS = 1024 };
/* What the run knows about how useful each channel is (reinitialise.c). All members are doubles, because checkpoints
 * save them as tables. */
struct reinitialisation {
    double count;                             /* number of channels reinitialised so far */
    double worthless[REINITIALISED_CHANNELS]; /* 1: at the last check, the loss was hardly higher without the channel */
    double rests[REINITIALISED_CHANNELS];     /* sample count from which the channel may be reinitialised again */
};

/* The presence objective (presence.c) and the first phase (alone.c). Checkpoints contain the members from `alone` to
 * `names_table`. */
struct presence_phase {
    int names;      /* number of names that have a channel; 0: the run has no presence objective */
    bool *occurs;   /* [batch][names] whether the label of a sample contains a name, for the batch in progress */
    int counted;    /* the name that stands for all counts above 0; -1: labels are no counts */
    int32_t *tally; /* [batch][names] how often the label of a sample contains a name (counts.c) */
    real *offset;   /* [names] for the count objective: logit of a motif at a position whose value is 0 */
    bool exact;     /* whether labels state how often a name occurs, and not only whether it occurs */
    real *weight;   /* [names] weight of the samples whose label contains the name */
    double *share;  /* [2][motif channels] density of each channel as a multiple of the common density: [0]: from the
                       frequencies of names in labels; [1]: the values of [0] times PRESENCE_FACTOR */
    int64_t alone;  /* 1: the run is in the first phase, in which g trains alone */
    int64_t flat;   /* number of validations of the first phase since the loss last fell */
    int64_t ended_updates; /* number of updates at the end of the first phase */
    int64_t ended_samples; /* samples at the end of the first phase, where the schedule of the learning rate begins */
    int64_t turns; /* whether half of the training samples are read from the other strand: enum presence_turns */
    double best;   /* lowest presence loss of a validation; infinite before the first */
    /* [PRESENCE_COLUMNS][names] what validations have measured for each name */
    double *names_table;
    real *scale; /* [names] weights of names in the first phase, for the update in progress */
};

/* TURNS_OPEN: validations still have to show whether g reads names equally well on the other strand. */
enum presence_turns { TURNS_OPEN, TURNS_YES, TURNS_NO };

/* Columns of presence_phase.names_table. */
enum presence_column {
    PRESENCE_LOSS,   /* sum of the losses over the samples of the validation in progress */
    PRESENCE_WITH,   /* number of samples of the validation in progress whose label contains the name */
    PRESENCE_LEVEL,  /* loss of the last validation, divided by that of the best constant answer; 1 before the first */
    PRESENCE_BEST,   /* lowest level so far */
    PRESENCE_ACTIVE, /* number of samples of the validation in progress in which the channel is active */
    PRESENCE_FACTOR, /* factor on the channel's density, so that the channel is active in as many samples as have the
                        name */
    PRESENCE_TURNED, /* as PRESENCE_LOSS, with the samples read from the other strand */
    PRESENCE_STILL,  /* number of validations since the level fell, or since the channel got new weights */
    PRESENCE_COLUMNS
};

/* Starts that are compared (starts.c). Saved in checkpoints. */
struct starts {
    int64_t count;            /* number of starts to compare; 1: there is only one, or the comparison has ended */
    int64_t now, best;        /* now: index of the start in progress; best: index of the best of the earlier starts */
    int64_t samples, updates; /* numbers of samples and updates of the run when the start in progress began */
    /* lowest presence loss of a validation; lowest: in the best start; loss: in the start in progress */
    double lowest, loss;
    bool due; /* the next step begins the start with the index `now`; not saved */
};

/* State of the rule that decides when the run ends (ending.c). Checkpoints contain it. */
struct ending {
    double loss, accuracy; /* lowest loss and highest accuracy of the validations at the last density */
    int64_t flat;          /* validations since a better one */
    int64_t from, to;      /* the learning rate falls between these two sample counts; 0: the fall has not begun */
};

/* The best stage before the last density (kept.c). Checkpoints contain it. */
struct kept {
    double accuracy, density; /* accuracy and density of the best stage; 0: no stage has ended */
    int64_t restored;         /* 1: the run has gone back to the best stage */
};

/* The last part of the training, in which only the head trains (reading.c). Checkpoints contain `from` and `to`. */
struct reading {
    /* sample counts at which the training of the head alone begins and ends; 0: this training has not begun */
    int64_t from, to;
    struct map_cache trained, validated; /* maps of training and of validation samples; closed until needed */
};

/* What the calibration reads from a validation sample for one channel. */
struct calibration_score {
    float peak; /* largest value of a channel above its threshold in a sample */
    bool has;   /* whether the label of the sample contains the channel's name */
};
/* The calibration in progress (calibrate.c). */
struct calibration {
    int64_t position; /* number of training batches read for the running statistics, plus number of validation samples
                         read for the thresholds; saved */
    struct calibration_score *score; /* [names][samples]; NULL until needed */
    real *number;                    /* [samples][numbers] standardised, if targets are numbers; NULL until needed */
    struct matrices_fit *fit; /* the fit of matrices in progress (genomics/matrix_fit.h), NULL before and after it */
    bool fitted;              /* whether this fit is done */
    int64_t fit_letters; /* letters of samples that a piece of the fit compares with matrices, 0 for the usual number;
                            results do not depend on it */
};

struct method_run {
    struct sparling_config config;
    struct open_domain domain;
    struct open_domain single; /* samples with one motif; zeroed if the domain has none */
    struct method_env env;
    struct annealer_rule rule;
    unsigned char data[HASH_BYTES]; /* hash of the domain's data set; zero if it has none */
    bool direct;                    /* whether the objective is single-motifs */
    const struct head *head;        /* what depends on the kind of target */
    struct network *network;
    struct adam *adam;
    int frozen_filters; /* number of filters of the first convolution that training does not change (filters.c) */
    struct batch_source *source;
    struct arena arena;
    struct exec exec;
    struct gradients gradients;
    int piece;           /* number of samples in a piece of a validation or evaluation */
    double step_seconds; /* time in seconds after which a step ends with its current piece; 0: after one piece */

    /* The following members are saved in checkpoints, unless a comment says otherwise. */
    unsigned char trained_on[HASH_BYTES]; /* hash of the data that the weights were trained on */
    int64_t phase, updates, samples, checkpoint_due;
    int64_t stage_updates; /* number of updates in this stage */
    struct annealer annealer;
    struct reinitialisation reinitialisation;
    struct presence_phase presence;
    struct numbers numbers; /* numbers as targets */
    struct starts starts;
    struct ending ending;
    struct kept kept;
    struct reading reading;
    struct calibration calibration;
    int64_t reinitialise_due; /* 1: check the channels before the next update; a stage that ends at the last validation
                                 is saved first */
    int64_t validation_position, validation_correct, validation_counted;
    double validation_loss; /* sum of the losses over the targets that validation_counted counts */
    double accuracy, best_accuracy;
    /* sum of the losses, and of the gradient norms, since the last point of the time series of each */
    double loss_sum, norm_sum;
    int64_t loss_count;
    struct evaluation evaluation;
    struct study study;
    struct artifact_findings findings;

    /* Not saved: the following members only measure speed. */
    double busy_seconds;
    int64_t busy_samples;
};

/* Whether the run trains several seeds. False while it evaluates only one model of a study. */
static inline bool study_of_many(const struct method_run *run)
{
    return run->config.seeds > 1 && !run->study.off;
}

/* Defined in report.c. */
/* Monotonic seconds; results must not depend on them. */
double run_clock(void);
/* Publishes a point of the time series `name` at the current sample count. */
void run_metric(struct method_run *run, const char *name, double value);
/* Sequence number of the newest checkpoint; 0 if there is none. */
int64_t run_last_checkpoint(const struct method_run *run);

/* Defined in phases.c. */
/* Sets weights, optimiser, annealing and counts to their state before the first update of config.seed. */
enum status run_begin(struct method_run *run, struct error *err);
/* Does one step of the training, of a validation or of the evaluation; in a study, for the seed of this rank. */
enum status run_advance(struct method_run *run, enum method_request *request, struct error *err);
/* Writes the artifacts after the evaluation. */
enum status run_finish(struct method_run *run, struct error *err);
/* Progress of the run; in a study, of the seed that this rank has. */
void run_progress(const struct method_run *run, struct method_progress *out);
/* Name of a phase for progress reports; static text. */
const char *run_stage(int64_t phase);

/* Defined in checkpoint.c. */
/* Declares everything that a run saves; in a study, the state of the seed that this rank has. */
enum status run_declare(struct method_run *run, struct snapshot *snapshot, struct error *err);
/* Checks a run after a snapshot was read into it. Errors: STATUS_CORRUPT, and STATUS_CONFLICT if the data set has
 * changed. */
enum status run_loaded(struct method_run *run, struct error *err);

/* Defined in motif_counts.c. */
/* Sets all counts to zero. */
void motif_counts_clear(struct method_run *run);
/* Adds the sample with index `sample`. planes: its motif map, [channels][rows][cols]. Error: STATUS_NO_MEMORY. */
enum status motif_counts_add(struct method_run *run, const float *planes, const struct domain_truth *truth,
                             int64_t sample, struct error *err);
/* If there are counts, writes them as the member "motif_counts" of the result. */
void motif_counts_result(const struct method_run *run, const struct sink *out);

/* Defined in train.c. */
/* Does one optimiser update on the next batch. STATUS_NUMERIC when a loss or gradient is not finite. */
enum status run_update(struct method_run *run, struct error *err);
/* Computes g, as a training step does but without an update of weights, on the training batch that begins at sample
 * `first`. */
enum status run_observe(struct method_run *run, int64_t first, struct error *err);
/* Does one piece of a validation. *done: it was the last piece. STATUS_NUMERIC when the loss is not finite. */
enum status run_validate(struct method_run *run, bool *done, struct error *err);

/* Defined in presence.c. */
/* presence_open() allocates the tables of the objective, and reads the frequencies of names if the configuration needs
 * them; presence_close() frees the tables. Error: STATUS_NO_MEMORY. */
enum status presence_open(struct method_run *run, struct error *err);
void presence_close(struct method_run *run);
/* Sets the members of struct presence_phase to their values before the first update, and sets the densities of the
 * channels of run->network. */
void presence_begin(struct method_run *run);
/* The presence loss of a batch. scores: those of network_motifs_extras(). NULL after a failure. */
struct tensor *presence_loss(struct method_run *run, const struct batch *batch, struct tensor *scores);
/* In a validation: adds the losses of a batch to the sums of the names, and counts the samples in which the channel of
 * each name is active. The batch is that of the last presence_loss(); motifs: the motif map of the batch. */
void presence_count(struct method_run *run, const struct batch *batch, struct tensor *scores,
                    const struct tensor *motifs);
/* presence_turning() returns whether a validation also reads its samples as reverse complements, that is, from the
 * other strand. presence_count_turned() adds the losses of such a batch. */
bool presence_turning(const struct method_run *run);
void presence_count_turned(struct method_run *run, const struct batch *batch, struct tensor *scores);
/* Sets the densities of the channels of run->network. */
void presence_densities(struct method_run *run);
/* Forgets the losses added so far. */
void presence_clear(struct method_run *run);
/* Called after a validation: publishes its presence loss. In the first phase, it also gives new weights to the channel
 * of each name that g has not read for some time (prototype_search()), and ends the phase if the loss no longer falls.
 * Errors: STATUS_NO_MEMORY, and those of the computation. */
enum status presence_validated(struct method_run *run, struct error *err);
/* Returns whether the entries "presence.*" that were read from a checkpoint have possible values. */
bool presence_sound(const struct method_run *run);
/* Declares the state as entries "presence.*", if the run has the objective. */
enum status presence_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

/* Defined in alone.c. */
/* Called after a validation of the first phase; ends the phase and returns true in two cases. The phase has used its
 * samples, or `loss`, that of the objective that trains g, has not fallen in the last `patience` validations (0: this
 * case does not count). better: the loss of a single name has fallen, which counts as a fall of `loss`. */
bool alone_ends(struct method_run *run, double loss, bool better, int64_t patience);
/* Declares the state of the first phase as entries "presence.*", if g has an objective of its own. */
enum status alone_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

/* Defined in prototype.c. */
/* Searches the training samples for weights with which the channel of `name` begins to predict the name, and sets them.
 * Errors: STATUS_NO_MEMORY, and those of the computation. */
enum status prototype_search(struct method_run *run, int name, struct error *err);

/* Defined in counts.c. */
/* Whether a name counts as present in a label. If labels are counts, only one name can be present: that of the smallest
 * count above 0. It is present if the label's count is above 0. */
bool presence_true(const struct method_run *run, const struct domain_truth *truth, int name);
/* Returns the name of the smallest count above 0, or -1 if labels are no counts. */
int presence_counted(const struct method_run *run);

/* Returns how often the label of a sample contains a name. TALLY_SOME: at least once, and labels do not state how
 * often. */
int tally_of(const struct method_run *run, const struct domain_truth *truth, int name);
/* Sets the offsets of the count objective from the frequencies of names. count, share: as domain.frequencies()
 * writes them. */
void tally_follow(struct method_run *run, const double *count, const double *share);
/* Computes the loss of the count objective for a batch. map: the motif map before the bottleneck. Returns NULL after
 * a failure. */
struct tensor *tally_loss(struct method_run *run, const struct batch *batch, struct tensor *map);

/* Defined in filters.c. filters_begin() copies the motifs of motif_start into the filters of a new model; errors are
 * those of motif_start_filters(). filters_hold() sets the gradients of frozen filters to 0. */
enum status filters_begin(struct method_run *run, struct error *err);
void filters_hold(struct method_run *run);

/* Defined in starts.c. */
void starts_begin(struct method_run *run);
/* Seed of the initial weights of the start in progress. */
int64_t starts_seed(const struct method_run *run);
/* Called after each validation of the first phase while starts are compared. Sets starts.due when the start in progress
 * is over. */
void starts_validated(struct method_run *run, double loss);
/* Whether the best start is trained again and has not yet come as far as in the comparison. Until then, validations
 * must change nothing, as in the comparison; otherwise the weights would not be those of the best start. */
bool starts_repeat(const struct method_run *run);
/* Returns whether the entries "starts.*" that were read from a checkpoint have possible values. */
bool starts_sound(const struct method_run *run);
/* Declares the state as entries "starts.*", if several starts are compared. */
enum status starts_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

/* Defined in ending.c. */
void ending_begin(struct method_run *run);
/* Learning rate of the next update, as a share of the full learning rate. */
double ending_rate(const struct method_run *run);
/* Called after each validation at the last density. reached: the accuracy is above its target. Returns whether training
 * ends. */
bool ending_validated(struct method_run *run, double loss, bool reached);
/* Returns whether the entries "ending.*" that were read from a checkpoint have possible values. */
bool ending_sound(const struct method_run *run);
/* Adds the state to a checkpoint as entries "ending.*", if the run ends by itself. */
enum status ending_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

/* Defined in kept.c. */
/* Notes the accuracy of a stage that ends before the last density. */
void kept_stage(struct method_run *run);
/* Returns whether the best accuracy of an earlier stage was clearly higher than the accuracy at the last density. */
bool kept_better(const struct method_run *run);
/* Reads the weights of the best earlier stage from its checkpoint, and sets the run's last density to that of this
 * stage. Errors are those of reading checkpoints. */
enum status kept_restore(struct method_run *run, struct error *err);
/* Sets the last density after a checkpoint was loaded. */
void kept_follow(struct method_run *run);
/* Returns whether the entries "kept.*" that were read from a checkpoint have possible values. */
bool kept_sound(const struct method_run *run);
/* Declares the state as entries "kept.*", if the run ends by itself. */
enum status kept_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

/* Defined in reading.c. */
/* Returns the sample count at which the training of g must end. */
int64_t reading_limit(const struct method_run *run);
/* Begins the last part of the training. Returns false if the configuration has none. */
bool reading_begin(struct method_run *run);
/* Sets the last part to its state before it begins. */
void reading_clear(struct method_run *run);
/* Frees the maps that the last part keeps. They are not saved, so g computes them again after a resume. */
void reading_drop(struct method_run *run);
/* Returns whether the last part of the training has begun. */
bool reading_now(const struct method_run *run);
/* Sets whether the maps of run->network are limited and use matrices: in training, they do so only in the last part. */
void reading_follow(struct method_run *run);
/* Returns the learning rate of an update in the last part, as a share of the full learning rate. */
double reading_rate(const struct method_run *run);
/* Returns the share of the whole training that is done. before: the done share of the training before the last part. */
double reading_part(const struct method_run *run, double before);
/* Returns the index of the first sample of a training batch. first: number of training samples before this batch.
 * Usually the two are equal. With reading_inputs, the last part reads the same samples in turn, so the index is smaller
 * from their second turn on. */
int64_t reading_first(const struct method_run *run, int64_t first);
/* Computes the motif map of a batch in the same way as for a client, without gradients, or finds it in a cache. Returns
 * NULL after a failure. */
struct tensor *reading_motifs(struct method_run *run, const struct batch *batch);
/* Returns whether the entries "reading.*" that were read from a checkpoint have possible values. */
bool reading_sound(const struct method_run *run);
/* Declares the state as entries "reading.*", if the configuration has reading_samples. */
enum status reading_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

/* Defined in calibrate.c. */
/* Does one step of the calibration, which reads one batch. *done: it was the last step. Errors: STATUS_NO_MEMORY, and
 * those of the computation. */
enum status calibration_piece(struct method_run *run, bool *done, struct error *err);
/* The peaks of one channel in a calibration. */
struct channel_peaks {
    struct calibration_score *score; /* the peaks whose activity depends on the threshold, by falling score; of equal
                                        scores, those without the name come first */
    int count, with;                 /* count: number of elements of `score`; with: number of all peaks with the name */
    int right, wrong; /* numbers of the other peaks, which are active at any threshold: with the name (right), without
                         it (wrong) */
};
/* Returns how many elements of `score`, from the largest on, the threshold should make active: as many as possible
 * without more false than missed peaks. A matrix gives few different scores, and a chance copy of a word gets the same
 * score as a site. If the limit lies among peaks of the same score, either all or none of them are active, whichever
 * balances false and missed peaks better. */
int calibration_active_peaks(const struct channel_peaks *p);
/* Prepares the calibration after a checkpoint was loaded. Returns false if its position is impossible. */
bool calibration_loaded(struct method_run *run);
/* Defined in calibrate_numbers.c: sets the thresholds from the scores of `samples` samples, if targets are numbers.
 * Error: STATUS_NO_MEMORY. */
enum status calibration_numbers(struct method_run *run, int samples, struct error *err);
/* Frees what a calibration has collected. */
void calibration_drop(struct method_run *run);

/* Defined in reinitialise.c. */
/* Measures by how much each channel lowers the loss, and reinitialises the worst channel if it was worthless at this
 * check and the one before. */
enum status run_reinitialise(struct method_run *run, struct error *err);
/* Whether a channel was worthless at the last check, or was reinitialised such a short time ago that it is left alone.
 */
bool run_spare(const struct method_run *run);

/* Defined in evaluate.c. */
/* Starts an evaluation of the run's own model. With `stages`, also of the last checkpoint of each earlier density. */
enum status evaluation_begin(struct method_run *run, int64_t seed, int64_t motif_samples, int64_t test_samples,
                             bool stages, struct error *err);
/* Does one piece of the evaluation. *done: it was the last piece. Errors are those of the domain and of reading
 * checkpoints. */
enum status evaluation_piece(struct method_run *run, bool *done, struct error *err);
/* Adds the motif errors of a batch of maps to run->evaluation.errors. While the run trains, this struct contains the
 * errors of the validation in progress, afterwards those of the model that the evaluation measures. */
enum status evaluation_count(struct method_run *run, const struct tensor *motifs, const struct batch *batch,
                             struct error *err);
/* Number of samples of a part of the row in progress; 0: the part is skipped. */
int64_t evaluation_part_samples(const struct method_run *run, int64_t part);
/* Returns whether a part only collects its samples and does its work after the last sample, when the position equals
 * the number of samples. */
bool evaluation_collects(int64_t part);
/* Share of the evaluation that is done, 0..1. */
double evaluation_fraction(const struct method_run *run);
/* Density of a map with one active position for each symbol. Error: STATUS_NO_MEMORY. */
enum status run_minimal_density(const struct method_run *run, double *density, struct error *err);

/* chance.c: the errors that motifs at random positions have. chance_add() collects a batch of examples; *enough: it
 * needs no more. Each chance_shuffle() shuffles the collected motifs once or does another piece of the work, and sets
 * *done when the errors are stored. chance_drop() frees what was collected. Error: STATUS_NO_MEMORY. */
enum status chance_add(struct method_run *run, const struct tensor *motifs, const struct batch *batch, bool *enough,
                       struct error *err);
enum status chance_shuffle(struct method_run *run, bool *done, struct error *err);
void chance_drop(struct evaluation *evaluation);

/* theorem.c: writes the constants of the Motif Identifiability Theorem for the domain and the windows of g. */
enum status theorem_result(const struct method_run *run, const struct sink *out, struct error *err);

/* analyses.c: the first three functions process samples of PART_SINGLE, PART_BINNING and PART_PERTURB, from sample
 * `first` on. analysis_finish() stores the figures of a part in the row, and analysis_clear() forgets the counts. */
enum status analysis_single(struct method_run *run, struct network *network, int64_t first, int count,
                            struct error *err);
enum status analysis_binning(struct method_run *run, struct network *network, const struct batch *batch, int64_t first,
                             struct error *err);
enum status analysis_perturb(struct method_run *run, struct network *network, int64_t first, int count,
                             struct error *err);
/* perturb.c: keeps only those motifs in the map `planes` that have no stronger motif nearby. If the channel of a motif
 * stands for the symbol `from`, the motif moves to the channel `channel` and keeps its value and position. symbol_of:
 * [channels]. */
enum status perturb_move(struct method_run *run, const int *symbol_of, int from, int channel, float *planes,
                         struct error *err);
void analysis_finish(struct method_run *run);
void analysis_clear(struct method_run *run);

/* artifacts.c: publishes pictures and tables of a finished evaluation. What cannot be made becomes a finding. */
void run_artifacts(struct method_run *run);
enum status run_confusion(struct method_run *run, struct error *err);      /* confusion.c */
enum status run_plot_densities(struct method_run *run, struct error *err); /* plots.c */
enum status run_plot_binning(struct method_run *run, struct error *err);

#endif
