/* Logistic regression on the presence of short runs of letters: for sequences of symbols, which run of one to `longest`
 * letters occurs anywhere in a sample? Each output has a model of its own, which minimises
 *     ||w||^2 / 2 + c * sum over samples of log(1 + exp(-y (w x + b)))
 * by dual coordinate descent (Yu, Huang and Lin, Machine Learning 85, 2011). Most samples soon have the right weight,
 * and only every few epochs looks at all of them; the fit ends when the optimality conditions hold for all. c is the
 * one of three values with the fewest wrong validation samples. Runs that occur in a single training sample are left
 * out, and further rare ones if the weights would need too much memory. One thread at a time. */
#ifndef MOTIF_CORE_REFERENCE_LETTER_GRAMS_H
#define MOTIF_CORE_REFERENCE_LETTER_GRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

struct letter_grams;

#define LETTER_GRAMS_BYTES ((size_t)256 << 20) /* most bytes of the runs and of the weights together */
#define LETTER_GRAMS_ENTRIES (LETTER_GRAMS_BYTES / 2 / sizeof(int64_t))

/* letters, cols: shape of a sample, one-hot planes [letters][1][cols]; numbered: [cols] the numbers of letters, from 1
 * on. unordered: only single letters are used. outputs: number of models. exclusive: exactly
 * one output of a sample is true, and the answer is the output with the largest score. The caller destroys the result
 * (NULL is allowed). STATUS_NO_MEMORY. */
enum status letter_grams_create(int letters, bool numbered, bool unordered, int cols, int outputs, bool exclusive,
                                struct thread_pool *pool, struct letter_grams **out, struct error *err);
void letter_grams_destroy(struct letter_grams *grams);

/* Adds the next sample. Training samples come first, then validation samples, then test samples. *letters becomes
 * false, and the caller must not use the object any more, if the sample is no sequence of letters (a column has a value
 * other than 0 and 1, or two ones), or if all runs would need too much memory. A column without a 1 has no letter. With
 * numbered letters, longer runs are left out if they need too much memory, and LETTER_GRAMS_ENTRIES single letters of
 * all samples together always fit. */
enum status letter_grams_add(struct letter_grams *grams, const float *planes, bool *letters, struct error *err);
/* Does one piece of the fit: some outputs for one value of c. truth: [train + validation][outputs] which outputs are
 * true. STATUS_CANCELLED: the pool was stopped. */
enum status letter_grams_step(struct letter_grams *grams, int train, int validation, const bool *truth, bool *done,
                              struct error *err);
/* Writes which outputs the sample with this index (in the order of letter_grams_add()) has, after the fit. answer:
 * [outputs]. */
void letter_grams_answer(const struct letter_grams *grams, int sample, bool *answer);
/* Writes which outputs another sample has, after the fit. STATUS_INVALID: it is no sequence of letters;
 * STATUS_NO_MEMORY. */
enum status letter_grams_read(struct letter_grams *grams, const float *planes, bool *answer, struct error *err);

#endif
