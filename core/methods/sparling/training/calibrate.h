/* The calibration of g after its training. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_CALIBRATE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/real.h"

struct matrices_fit;
struct method_run;

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
/* Frees what a calibration has collected. */
void calibration_drop(struct method_run *run);

#endif
