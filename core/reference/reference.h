/* A plain model that reads the labels of a data set without marking anything. It is trained and tested on the same
 * division as the model of a job. So a user knows which accuracy these data allow, and the verdict need not guess.
 *
 * Two models are fitted, and the one with fewer wrong validation samples is kept (targets that are numbers: the one
 * with the larger share of explained variance, of which there is only one):
 * - for sequences of symbols (one row, and in each column at most one channel, which is 1), logistic regression on the
 *   presence of short runs of letters (letter_grams.h);
 * - for all data but texts with names, because numbers of words are no quantities, ridge regression on the features of
 * random convolutions (random_convolutions.h, ridge.h). Each name of the labels is an output. A label is a set of names
 * here: the models know neither order nor counts.
 *
 * Training is deterministic for any number of threads. A reference has one caller at a time. */
#ifndef MOTIF_CORE_REFERENCE_REFERENCE_H
#define MOTIF_CORE_REFERENCE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"
#include "core/base/real.h"
#include "core/kernels/kernels.h"

enum reference_part { REFERENCE_TRAIN, REFERENCE_VALIDATION, REFERENCE_TEST, REFERENCE_PARTS };

struct reference_shape {
    int channels, rows, cols;     /* a sample: planes [channels][rows][cols] */
    bool unordered;               /* the columns are items of a bag, whose order means nothing */
    int words;                    /* > 0: a sample is a text: at each column the number of a word, from 1 on; 0: none */
    int names;                    /* number of names that labels can have; 0: targets are numbers */
    bool exclusive;               /* each label is one name or none; "none" is then an output too */
    int numbers;                  /* numbers of a sample, if targets are numbers; else 0 */
    int samples[REFERENCE_PARTS]; /* at least 2 training samples */
    uint64_t seed;
};

struct reference;

/* Lowers the numbers of samples to those that are worth their time: at most 16,000, 2,000 and 4,000, and fewer if
 * samples are large. No training samples are left if samples are so large that a useful number of them would take
 * minutes. */
void reference_limit(struct reference_shape *shape);

/* The caller destroys the result (NULL is allowed). STATUS_NO_MEMORY. */
enum status reference_create(const struct reference_shape *shape, const struct kernels *kernels,
                             struct thread_pool *pool, struct reference **out, struct error *err);
void reference_destroy(struct reference *reference);
/* Bytes that a reference of this shape allocates at most. */
size_t reference_bytes(const struct reference_shape *shape);

/* Adds `count` samples of the part in progress: first the training samples, then validation, then test samples. planes:
 * [count][channels][rows][cols]. */
enum status reference_add(struct reference *reference, const float *planes, int count, struct error *err);
/* Sets the target of a sample, which is counted over all parts: a label of `length` names, or [numbers] numbers. */
void reference_label(struct reference *reference, int sample, const int32_t *label, int length);
void reference_numbers(struct reference *reference, int sample, const float *numbers);

/* Does one piece of the training, after all samples were added. */
enum status reference_step(struct reference *reference, bool *done, struct error *err);

/* What was kept: "letter-runs" or "random-convolutions". */
const char *reference_kind(const struct reference *reference);
/* After the training: writes the answer for test sample i as a label of names in ascending order; returns its length.
 * label: [names]. */
int reference_answer(const struct reference *reference, int i, int32_t *label);
/* After the training: writes the answer for another sample, [channels][rows][cols], as reference_answer() does. With
 * names only. Errors: STATUS_NO_MEMORY; STATUS_INVALID: the kept kind reads letters, and the sample has others. */
enum status reference_read(struct reference *reference, const float *planes, int32_t *label, int *length,
                           struct error *err);
/* After the training: the predicted numbers of test sample i, in the units of reference_numbers(). */
const real *reference_predicted(const struct reference *reference, int i);

#endif
