/* Windows of real sequences with their splice sites, from a folder with one FASTA file (*.fa) and one GFF3 file
 * (*.gff3); splicing_genes.h splits their loci into a training and a test set. Read-only once open; any number of
 * threads. */
#ifndef MOTIF_CORE_DATA_SPLICING_SPLICING_CORPUS_H
#define MOTIF_CORE_DATA_SPLICING_SPLICING_CORPUS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/data/splicing/splicing.h"

struct splicing_corpus;

/* Opens a folder; the caller closes the corpus. `source`: only GFF3 features of this source count; NULL: all do.
 * length: number of labelled bases of a window; flank: number of bases before and after them. STATUS_NOT_FOUND: the
 * folder has no FASTA or no GFF3 file. STATUS_INVALID: several FASTA or GFF3 files, or faults in them. STATUS_LIMIT:
 * one of the sets has no window. Messages name files, never the folder. */
enum status splicing_corpus_open(const char *folder, const char *source, int length, int flank,
                                 struct splicing_corpus **corpus, struct error *err);
void splicing_corpus_close(struct splicing_corpus *corpus); /* NULL is allowed */

/* Number of windows of the training or the test set. */
int64_t splicing_corpus_windows(const struct splicing_corpus *corpus, bool test);
/* The order in which a training run with this seed uses the windows of the training set: one permutation, drawn by
 * numpy's legacy generator with the seed `seed` mod 2^32. order: [windows]. */
enum status splicing_corpus_order(const struct splicing_corpus *corpus, int64_t seed, int64_t *order,
                                  struct error *err);
/* Reads window `index` of a set. bases, classes: [flank + length + flank]. */
void splicing_corpus_read(const struct splicing_corpus *corpus, bool test, int64_t index, uint8_t *bases,
                          uint8_t *classes);

#endif
