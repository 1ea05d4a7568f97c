/* Windows of real sequences with their splice sites. They come from a folder that contains one of these pairs of files:
 * - one FASTA file (*.fa) and one GFF3 file (*.gff3); splicing_genes.h splits their loci into a training and a test set
 * - SpliceAI's dataset_train_all.h5 and dataset_test_0.h5 (spliceai_h5.h)
 *
 * Read-only once open; any number of threads. */
#ifndef MOTIF_CORE_DATA_SPLICING_SPLICING_CORPUS_H
#define MOTIF_CORE_DATA_SPLICING_SPLICING_CORPUS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/data/splicing/splicing.h"

struct splicing_corpus;

/* Opens a folder; the caller closes the corpus. `source`: only GFF3 features of this source count; NULL: all do.
 * length: number of labelled bases of a window; flank: number of bases before and after them. STATUS_NOT_FOUND: the
 * folder has neither FASTA and GFF3 files nor SpliceAI's files. STATUS_INVALID: several FASTA or GFF3 files, faults in
 * them, or an HDF5 file whose windows have another length or flank. STATUS_LIMIT: one of the sets has no window.
 * Messages name files, never the folder. */
enum status splicing_corpus_open(const char *folder, const char *source, int length, int flank,
                                 struct splicing_corpus **corpus, struct error *err);
void splicing_corpus_close(struct splicing_corpus *corpus); /* NULL is allowed */

/* Number of windows of the training or the test set. */
int64_t splicing_corpus_windows(const struct splicing_corpus *corpus, bool test);
/* The order in which a training run with this seed uses the windows of the training set: one permutation, drawn by
 * numpy's legacy generator with the seed `seed` mod 2^32 (HDF5: see splicing_h5_order()). order: [windows]. */
enum status splicing_corpus_order(const struct splicing_corpus *corpus, int64_t seed, int64_t *order,
                                  struct error *err);
/* Reads window `index` of a set. bases, classes: [flank + length + flank]. */
enum status splicing_corpus_read(const struct splicing_corpus *corpus, bool test, int64_t index, uint8_t *bases,
                                 uint8_t *classes, struct error *err);

#endif
