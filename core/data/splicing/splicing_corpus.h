/* Windows of real sequences with their splice sites, from a folder: either one FASTA file (*.fa) and one GFF3 file
 * (*.gff3) whose loci are split into a training and a test set (splicing_genes.h), or SpliceAI's dataset_train_all.h5
 * and dataset_test_0.h5 (splicing_h5.h). Read-only once open; any number of threads. */
#ifndef MOTIF_CORE_DATA_SPLICING_SPLICING_CORPUS_H
#define MOTIF_CORE_DATA_SPLICING_SPLICING_CORPUS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/data/splicing/splicing.h"

struct splicing_corpus;

/* source: of the GFF3 features that count, NULL for any. STATUS_NOT_FOUND: the folder holds neither; STATUS_INVALID:
 * more than one such file, faults of the files, an HDF5 file whose windows have another length or flank; STATUS_LIMIT:
 * no window in one of the sets. Messages name files, never the folder. */
enum status splicing_corpus_open(const char *folder, const char *source, int length, int flank,
                                 struct splicing_corpus **corpus, struct error *err);
void splicing_corpus_close(struct splicing_corpus *corpus); /* NULL is fine */

int64_t splicing_corpus_windows(const struct splicing_corpus *corpus, bool test);
/* The order in which training of a seed takes the windows of the training set: one permutation with the legacy
 * generator of `seed` mod 2^32 (HDF5: of its data sets, splicing_h5_order()). order: [windows]. */
enum status splicing_corpus_order(const struct splicing_corpus *corpus, int64_t seed, int64_t *order,
                                  struct error *err);
/* bases, classes: [flank + length + flank]. */
enum status splicing_corpus_read(const struct splicing_corpus *corpus, bool test, int64_t index, uint8_t *bases,
                                 uint8_t *classes, struct error *err);

#endif
