/* A SPARLING run in progress: private to core/methods/sparling.
 *
 *   TRAIN --(validation_every samples)--> VALIDATE --> TRAIN ...
 *   TRAIN --(last density reached, or the cap on samples)--> EVALUATE --> DONE
 *
 * run.c drives the phases, train.c does one update or one piece of a validation, evaluate.c the
 * evaluation, checkpoint.c names everything that must be saved, result.c and artifacts.c
 * write what came out. A
 * piece of validation or evaluation is a fixed number of samples, whatever the machine. */
#ifndef MOTIF_CORE_METHODS_SPARLING_RUN_INT_H
#define MOTIF_CORE_METHODS_SPARLING_RUN_INT_H

#include "core/base/arena.h"
#include "core/methods/sparling/training/annealer.h"
#include "core/methods/sparling/training/batch.h"
#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/model/network.h"
#include "core/methods/sparling/evaluation/study.h"
#include "core/metrics/binning.h"
#include "core/metrics/motif_errors.h"
#include "core/metrics/shuffled.h"
#include "core/metrics/topk.h"
#include "core/nn/adam.h"
#include "core/nn/gradients.h"

enum run_phase { PHASE_TRAIN, PHASE_VALIDATE, PHASE_EVALUATE, PHASE_DONE };

enum { VALIDATION_SEED = -1, TEST_SEED = -2, BINNING_SEED = -3, EVALUATION_MAX = 64, METRIC_UPDATES = 10 };

/* One model's evaluation: at one density, from one checkpoint. Doubles only: it is saved as a table. */
struct evaluation_row {
    double density, achieved;                      /* target; share of active elements seen */
    double fpe, fne, ce, ce_majority, e2ee, exact; /* NaN until known */
    double window_fpe, window_fne, window_ce;      /* the paper text's form (motif_errors.h) */
    double checkpoint;                             /* seq, or -1: what the run holds itself */
    double motif_samples, test_samples;
    double proof;      /* E_m (motif_errors.h) */
    double single;     /* single-motif error; NaN: not asked for */
    double perturbed;  /* share of changed labels that are read so; NaN likewise */
    double binning[4]; /* rise of the edit error with 16, 8, 4, 2 bins; NaN likewise */
};
enum { EVALUATION_COLUMNS = 21 };
_Static_assert(sizeof(struct evaluation_row) == EVALUATION_COLUMNS * sizeof(double), "a row is a row of doubles");

enum evaluation_part { PART_MOTIFS, PART_TEST, PART_SINGLE, PART_BINNING, PART_PERTURB, PART_CHANCE, PARTS };

/* What an analysis has counted so far; not saved (analyses.c). */
enum { BINNINGS = 4, ACTIVATIONS_MOST = 1 << 22 };
struct activations { /* of a channel, over zero; the first ACTIVATIONS_MOST */
    float *values;
    size_t count, room;
};
struct analysis {
    int64_t *single;            /* [motif channels][symbols] */
    struct activations *lists;  /* [motif channels] */
    struct binning *bins;       /* [motif channels][BINNINGS]; bins 0: a channel that never was active */
    int64_t tried, followed;    /* samples with a symbol changed; those whose label followed */
    double edits[BINNINGS + 1]; /* summed edit errors: of the map as it is, then of each binning */
};

/* Errors of three kinds, of chance with their intervals: numbers, as they are saved. */
struct chance_row {
    double mean[3], low[3], high[3]; /* fpe, fne, ce */
};
struct chance {
    struct chance_row all, without; /* without the domain's trivial symbols */
    double fpe, fne, ce;            /* the run's own over the same samples, without the trivial symbols */
    double perfect[3];              /* fpe, fne, ce of the true motifs themselves: boxes may overlap */
    double samples;                 /* 0: nothing was shuffled */
};
enum { CHANCE_NUMBERS = 25 };
_Static_assert(sizeof(struct chance) == CHANCE_NUMBERS * sizeof(double), "chance is a row of doubles");
struct chance_samples; /* chance.c: what is being collected */

/* What is known of motifs without boxes (motif_counts.c): sums over samples of the run's own model. Doubles only: they
 * are saved as tables. */
struct motif_counts {
    double samples, dense; /* looked at; of them, those with more motifs than are looked through */
    double motifs, tokens; /* maximal motifs; tokens of the labels */
    double as_many;        /* samples with as many of one as of the other */
    double met, meeting;   /* samples with two motifs whose footprints overlap; motifs whose footprint another's does */
    double overlap;        /* summed: the largest share of a motif's footprint that another sees too */
};
enum { CENSUS_NUMBERS = 8 };
_Static_assert(sizeof(struct motif_counts) == CENSUS_NUMBERS * sizeof(double), "a motif_counts is a row of doubles");
struct motif_counts_channel {
    double motifs, inputs; /* maximal ones; samples that have any */
};

struct evaluation {
    struct evaluation_row row[EVALUATION_MAX]; /* densest first, the run's own model last */
    int64_t rows, at;                          /* how many; which is being evaluated */
    int64_t part, position;                    /* of the row: what, and the next sample */
    int64_t seed;                              /* of the test set */
    double edit_sum;
    int64_t exact;
    struct motif_errors errors;            /* of a validation; of the row; at last, of the final model */
    struct analysis analysis;              /* of the part being evaluated */
    struct network *other;                 /* holds a row's checkpoint; NULL until needed */
    int64_t loaded;                        /* seq in `other`; -1: none */
    struct topk *topk;                     /* with labels at positions: [tokens - 1], of a validation or a test */
    struct motif_counts motif_counts;      /* of the run's own model */
    struct motif_counts_channel *channels; /* [motif channels] */
    struct chance chance;
    struct chance_samples *collected; /* is not saved: the part begins anew */
};

/* What is known of each channel's use (reinitialise.c). Doubles only: they are saved as tables. */
enum { REVIVAL_CHANNELS = 1024 };
struct revival {
    double count;                       /* channels begun anew so far */
    double worthless[REVIVAL_CHANNELS]; /* 1: was so at the last look */
    double rests[REVIVAL_CHANNELS];     /* samples up to which it is left alone */
};

struct method_run {
    struct sparling_config config;
    struct open_domain domain;
    struct open_domain single; /* the same with samples of one motif, where the domain has them */
    struct method_env env;
    struct annealer_rule rule;
    unsigned char data[HASH_BYTES]; /* of the domain's data; zero without any */
    bool direct;                    /* objective single-motifs */
    struct network *network;
    struct adam *adam;
    struct batch_source *source;
    struct arena arena;
    struct exec exec;
    struct gradients gradients;
    int piece;           /* samples of a piece of validation or evaluation */
    double step_seconds; /* a step ends at the first boundary after this; 0: at the first */

    /* Saved. */
    unsigned char trained_on[HASH_BYTES]; /* `data`, but of a checkpoint that has just been read */
    int64_t phase, updates, samples, checkpoint_due;
    int64_t stage_updates; /* of this stage */
    struct annealer annealer;
    struct revival revival;
    int64_t
        reinitialise_due; /* a validation has ended: what each channel is worth is looked at once its stage is saved */
    int64_t validation_position, validation_correct, validation_counted;
    double validation_loss; /* sum over counted tokens */
    double accuracy, best_accuracy;
    double loss_sum, norm_sum; /* since the last metric */
    int64_t loss_count;
    struct evaluation evaluation;
    struct study study;

    /* Not saved: speed only. */
    double busy_seconds;
    int64_t busy_samples;
};

/* Whether the run trains several seeds. The evaluation of a single model of a study is not a study. */
static inline bool study_of_many(const struct method_run *run)
{
    return run->config.seeds > 1 && !run->study.off;
}

double run_clock(void); /* monotonic seconds, for speed and the length of a step only */
void run_metric(struct method_run *run, const char *name, double value);
/* Seq of the newest checkpoint, 0 when there is none. */
int64_t run_last_checkpoint(const struct method_run *run);

/* Weights, optimiser, annealing and counts as they are before the first update of config.seed. */
enum status run_begin(struct method_run *run, struct error *err);
/* Training, validation or evaluation for a step's time, up to what a step ends at. Of a study: of the seed that this
 * rank has. */
enum status run_advance(struct method_run *run, enum method_request *request, struct error *err);
/* All is evaluated: the artifacts. */
enum status run_finish(struct method_run *run, struct error *err);
/* Of a study: where the seed that this rank has stands. */
void run_progress(const struct method_run *run, struct method_progress *out);
const char *run_stage(int64_t phase);

/* checkpoint.c */
/* Everything that a run is; of a study, what the seed is that this rank has. */
enum status run_declare(struct method_run *run, struct snapshot *snapshot, struct error *err);
/* After a snapshot was read into it. */
enum status run_loaded(struct method_run *run, struct error *err);

/* motif_counts.c */
void motif_counts_clear(struct method_run *run);
/* One sample: planes [channels][rows][cols] of its map. */
enum status motif_counts_add(struct method_run *run, const float *planes, const struct domain_truth *truth,
                             int64_t sample, struct error *err);
void motif_counts_result(const struct method_run *run, const struct sink *out);

/* train.c */
/* What h says of a batch's motif maps: rows to be compared with its targets. NULL after a failure. */
struct tensor *run_logits(struct method_run *run, struct tensor *motifs, const struct batch *batch);
enum status run_update(struct method_run *run, struct error *err);
enum status run_validate(struct method_run *run, bool *done, struct error *err);

/* reinitialise.c */
/* Looks at what each channel is worth, and lets the least begin anew if it is worth nothing. */
enum status run_reinitialise(struct method_run *run, struct error *err);

/* evaluate.c */
/* The run's own model and, with `stages`, the last checkpoint of each denser stage. */
enum status evaluation_begin(struct method_run *run, int64_t seed, int64_t motif_samples, int64_t test_samples,
                             bool stages, struct error *err);
enum status evaluation_piece(struct method_run *run, bool *done, struct error *err);
/* Counts the motif errors of a batch's maps into run->evaluation.errors: of the validation in
 * progress while the run trains, of the row being evaluated afterwards. */
enum status evaluation_count(struct method_run *run, const struct tensor *motifs, const struct batch *batch,
                             struct error *err);
/* Samples of a part of the row being evaluated; 0: it is left out. */
int64_t evaluation_part_samples(const struct method_run *run, int64_t part);
double evaluation_fraction(const struct method_run *run);
/* The density of a map with one active position a symbol. */
enum status run_minimal_density(const struct method_run *run, double *density, struct error *err);
/* Counts the probabilities of a batch's classes, with labels at positions. logits: [count * length][tokens]. */
void evaluation_count_classes(struct method_run *run, const struct batch *batch, const real *logits);
/* Mean top-k accuracy of the classes but 0. */
double evaluation_accuracy(const struct method_run *run);
void evaluation_clear_classes(struct method_run *run);

/* chance.c: motif errors of chance. Adds a batch of examples; after the last, shuffles. */
enum status chance_add(struct method_run *run, const struct tensor *motifs, const struct batch *batch,
                       struct error *err);
enum status chance_finish(struct method_run *run, struct error *err);
void chance_drop(struct evaluation *evaluation);

/* theorem.c: the constants of the Motif Identifiability Theorem for the domain and the windows of g, as a member of the
 * result. */
enum status theorem_result(const struct method_run *run, const struct sink *out, struct error *err);

/* analyses.c: a piece of a part, `count` samples from `first` on; the row's figures when the part is over. */
enum status analysis_single(struct method_run *run, struct network *network, int64_t first, int count,
                            struct error *err);
enum status analysis_binning(struct method_run *run, struct network *network, const struct batch *batch, int64_t first,
                             struct error *err);
enum status analysis_perturb(struct method_run *run, struct network *network, int64_t first, int count,
                             struct error *err);
/* perturb.c: of the map `planes` keeps the maximal motifs alone, those of the channels that stand for `from` moved to
 * `channel`, value and place as they were. symbol_of: [channels]. */
enum status perturb_move(struct method_run *run, const int *symbol_of, int from, int channel, float *planes,
                         struct error *err);
void analysis_finish(struct method_run *run);
void analysis_clear(struct method_run *run);

/* artifacts.c: pictures and tables of a finished evaluation, handed to the environment. */
enum status run_artifacts(struct method_run *run, struct error *err);
enum status run_confusion(struct method_run *run, struct error *err);      /* confusion.c */
enum status run_plot_densities(struct method_run *run, struct error *err); /* plots.c */
enum status run_plot_binning(struct method_run *run, struct error *err);

#endif
