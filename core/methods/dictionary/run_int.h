/* A dictionary run in progress: private to core/methods/dictionary.
 *
 * run.c has the run's table, work.c opens the data and the dictionaries and trains them, samples.c draws and encodes
 * samples. evaluation/evaluate.c measures dictionaries and codes, evaluation/pursuit.c compares codes with classical
 * decoders, and evaluation/gallery.c collects what queries show of each latent. result.c (with the verdict) and plots.c
 * report.
 */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_RUN_INT_H
#define MOTIF_CORE_METHODS_DICTIONARY_RUN_INT_H

#include "core/base/arena.h"
#include "core/methods/dictionary/config.h"
#include "core/methods/shared/rows.h"
#include "core/methods/dictionary/evaluation/gallery.h"
#include "core/methods/dictionary/model/alternate.h"
#include "core/methods/dictionary/model/step.h"
#include "core/methods/shared/model_run.h"
#include "core/metrics/latents.h"
#include "core/nn/adam.h"

/* The figures of a run. Unless a comment says otherwise, a figure is the mean over the seeds. NaN: not
 * measured. A checkpoint stores the members before `updates`, which are doubles, as one array. */
struct outcome {
    double loss; /* mean squared error of a sample, in the units of the data */
    /* l0: mean number of active latents; explained: share of the samples' variance that the reconstructions explain;
     * shrinkage: mean of |reconstruction| / |sample|; dead: share of latents that never fired */
    double l0, explained, shrinkage, dead;
    double mcc, mcc_sd, uniqueness, precision, recall, f1, f1_sd, accuracy;
    double absorption_full, absorption_fraction, found[RECOVERY_DECILES];
    /* Agreement of pairs of seeds. pair_absolute, pair_signed: mean |cosine| and mean cosine of matched latents;
     * pair_codes: MCC of the codes */
    double pair_absolute, pair_signed, pair_codes;
    /* number of latents of seed 0 whose match in every other seed has a |cosine| of at least RECURS */
    double recurring;
    /* The members from here to `worth` are about seed 0 only, on the samples of the comparison with classical decoders
     * (evaluation/pursuit.c). */
    /* MCC with the true codes. code_encoder: of the encoder's codes; code_learned: of FISTA's codes with the learned
     * dictionary; code_true: of FISTA's codes with the true dictionary */
    double code_encoder, code_learned, code_true;
    /* For each classical decoder: mean Jaccard index of the supports that it finds and the supports that the encoder
     * finds. */
    double overlap_fista, overlap_omp, overlap_iht;
    /* For the encoder and for each classical decoder: the share of the latents in its supports that are right. A latent
     * is right if the true feature matched to it is active in the sample. */
    double right_encoder, right_fista, right_omp, right_iht;
    double coherence;  /* largest |cosine| of two rows of the dictionary */
    double guaranteed; /* share of the samples that are so sparse that the coherence guarantees their recovery */
    double worth;      /* number of latents that recur and agree with pursuit */
    double train_loss;
    int64_t updates, samples;
};

#define RECURS 0.7 /* minimum cosine with which two latents of different seeds count as the same */
#define AGREES 0.5 /* minimum LATENT_AGREES of a latent that is worth an interpretation */

/* What is known about a latent of seed 0. */
enum {
    LATENT_RATE,    /* share of samples in which the latent is active */
    LATENT_FEATURE, /* the true feature that is most similar to the latent */
    LATENT_COSINE,  /* cosine of the latent with this feature */
    LATENT_PRECISION,
    LATENT_RECALL,
    LATENT_PARTNER, /* smallest |cosine| between the latent and its match in each other seed; NaN with one seed */
    LATENT_AGREES,  /* Jaccard index of the samples in which the encoder uses the latent and the samples in which OMP
                       does; NaN: neither uses it */
    LATENT_WORTH,   /* 1: worth an interpretation */
    LATENT_COLUMNS
};

struct evaluation; /* evaluation/evaluate.c: the sums over the test samples seen so far */

struct method_run {
    struct model_run base;
    struct dictionary_config config;
    struct dictionary_setup setup;
    struct outcome outcome;

    /* Open with the dictionaries. */
    int seeds;
    struct planted data;        /* the generator of samples, if the true features are known */
    struct planted_codes truth; /* the true codes of the current samples, if they are known */
    struct rows rows;           /* the source of samples, if the true features are unknown */
    float *vectors; /* RUG, TRAINED: [features][inputs] vectors of the hidden layer; saved in checkpoints for TRAINED */
    bool adopted;   /* the vectors are those of another job */
    float *x;       /* [batch][inputs] */
    struct scale columns; /* of the rows of a data set; applied before `scale` */
    double scale;
    struct sae *sae[DICTIONARY_SEEDS];
    struct adam *adam[DICTIONARY_SEEDS];
    struct alternate alternate[DICTIONARY_SEEDS];
    struct step *step;
    struct evaluation *evaluation;
    struct arena arena;
    struct exec exec;

    /* Stored in checkpoints. */
    int64_t updates, samples;
    int64_t position; /* number of test samples measured so far; 0 outside of an evaluation */
    double *latents;  /* [width][LATENT_COLUMNS] */
    struct gallery gallery;
};

/* These functions are in work.c. run_rebuild() creates the generator of samples from run->vectors. It is also called
 * after a checkpoint with other vectors was loaded. */
enum status run_rebuild(struct method_run *run, struct error *err);
enum status run_open(struct method_run *run, struct error *err); /* if it is not open */
void run_close(struct method_run *run);
bool run_trained(const struct method_run *run);
enum status run_learn(struct method_run *run, struct error *err);

/* The streams of samples. run_draw() (samples.c) draws `count` samples of a stream: it writes the scaled samples to
 * run->x and their codes to run->truth. */
enum { STREAM_TRAINING, STREAM_TEST, STREAM_SCALE, STREAM_OTHER };
enum status run_draw(struct method_run *run, uint32_t stream, int64_t first, int64_t distinct, int count,
                     struct error *err);
/* Limits the number of test samples to the number of test rows of the data set. */
void run_limit_tests(struct method_run *run);
/* The index that a gallery stores for test sample `index`: its row of the data set, or `index` itself if there is no
 * data set. */
int64_t run_input(const struct method_run *run, int64_t index);
/* Computes the codes of run->x by one seed's dictionary. */
enum status run_encode(struct method_run *run, int seed, int count, struct step_outcome *out, struct error *err);

/* evaluation/evaluate.c */
enum status run_evaluate_piece(struct method_run *run, bool *done, struct error *err);
void run_evaluate_close(struct method_run *run);

/* evaluation/pursuit.c: comparison of the codes of seed 0 with classical decoders. */
struct comparison;
enum status comparison_create(const struct method_run *run, struct comparison **out, struct error *err);
void comparison_destroy(struct comparison *c); /* NULL is fine */
/* The codes of seed 0 for the first `count` rows of run->x. A latent occurs at most once in a row. */
struct comparison_codes {
    const int *start, *count;
    const int32_t *index;
    const float *value;
};
enum status comparison_add(struct comparison *c, struct method_run *run, const struct recovery *recovery,
                           const struct comparison_codes *codes, int count, struct error *err);
/* Writes the figures to *out, and LATENT_AGREES of each latent to agrees[width]. c NULL: all figures are NaN. */
enum status comparison_finish(struct comparison *c, struct outcome *out, double *agrees, struct thread_pool *pool,
                              struct error *err);

/* result.c: writes a latent's true feature, if it is known. row: [LATENT_COLUMNS] */
void latent_truth(const struct sink *out, const double *row);

/* plots.c */
enum status run_pictures(struct method_run *run, struct error *err);

#endif
