/* Which names occur in a label, and how often. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_LABEL_COUNTS_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_LABEL_COUNTS_H

#include <stdbool.h>

#include "core/methods/sparling/training/batch.h"

struct batch;
struct domain_truth;
struct method_run;
struct tensor;

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

#endif
