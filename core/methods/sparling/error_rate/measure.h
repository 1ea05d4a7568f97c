/* Measures the negatives of channels (negatives.h) at the end of a training: PART_NEGATIVES of the evaluation.
 *
 * The inputs are those of the validation part, of which training sees nothing. Generated data have any number of them,
 * and the part takes inputs that no validation has read. An uploaded data set has only its validation part. Training
 * chose stages, thresholds and starts by the accuracy on it, so the model may read these inputs a little better than
 * others; it did not choose by the marks in negatives. */
#ifndef MOTIF_CORE_METHODS_SPARLING_ERROR_RATE_MEASURE_H
#define MOTIF_CORE_METHODS_SPARLING_ERROR_RATE_MEASURE_H

#include "core/methods/sparling/error_rate/negatives.h"
#include "core/methods/sparling/training/batch.h"

struct method_run;
struct measured; /* defined in measure.c */

/* Largest number of inputs that the part reads. */
enum { MEASURE_SAMPLES = 1000 };

/* negatives_samples() returns the number of inputs of the part. negatives_piece() reads the next piece of them and sets
 * *position to the number of inputs that were read. A run that was loaded within the part first reads all earlier ones
 * again. negatives_finish() computes run->evaluation.negatives from all. Errors: STATUS_NO_MEMORY, and those of the
 * computation. */
int64_t negatives_samples(const struct method_run *run);
enum status negatives_piece(struct method_run *run, int64_t *position, struct error *err);
enum status negatives_finish(struct method_run *run, struct error *err);
/* Frees what the part has read so far. */
void negatives_drop(struct method_run *run);
/* Forgets the negatives; call it when an evaluation begins. */
void negatives_begin(struct method_run *run);

#endif
