/* Position matrices as motif scores (field `matrix_scores`): after training, the calibration fits a matrix to the
 * motifs of each channel that has a name of the labels. The .c file describes the steps. */
#ifndef MOTIF_CORE_METHODS_SPARLING_GENOMICS_MATRIX_FIT_H
#define MOTIF_CORE_METHODS_SPARLING_GENOMICS_MATRIX_FIT_H

#include <stdbool.h>

#include "core/base/error.h"

struct method_run;
struct matrices_fit;

/* Whether the calibration of a run fits matrices. */
bool matrices_wanted(const struct method_run *run);
/* Does one piece of the fit, of at most about a second. *fit: NULL before the first piece. *done: it was the last
 * piece, and run->network uses the matrices. The result depends only on g and the data, so a fit may begin again.
 * Errors: STATUS_NO_MEMORY, and those of the computation. */
enum status matrices_piece(struct method_run *run, struct matrices_fit **fit, bool *done, struct error *err);
/* Frees a fit in progress; accepts NULL. */
void matrices_drop(struct matrices_fit *fit);

#endif
