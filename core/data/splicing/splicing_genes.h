/* Genes with their splice sites, from a FASTA and a GFF3 file, and the windows into which they are cut.
 *
 * A locus is one FASTA record. Its splice sites come from the GFF3 features of the wanted source on that record: the
 * features of type "intron", or, if that source has no intron in the whole file, the gaps between the exons of one
 * transcript (attribute Parent). A donor is an intron's first base, an acceptor its last. Records must be on the strand
 * of their gene: an intron or exon on the other strand is refused.
 *
 * Read-only once made; any number of threads. */
#ifndef MOTIF_CORE_DATA_SPLICING_SPLICING_GENES_H
#define MOTIF_CORE_DATA_SPLICING_SPLICING_GENES_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/data/splicing/splicing.h"
#include "core/formats/fasta.h"

#define GENES_FILE_BYTES ((size_t)512 << 20)

struct genes {
    int loci;
    struct fasta_record *locus; /* [loci] in the order of the FASTA file; .first and .length count bases */
    int64_t count;              /* bases of all loci together */
    uint8_t *bases, *classes;   /* [count] each; values of enum splicing_base and splicing_class */
    struct fasta_letters seen;  /* the letters of the FASTA file */
    /* number of introns that were marked; an intron of several transcripts counts several times */
    int64_t introns;
};

/* Parses both files. `source`: only GFF3 features of this source count ("WormBase"); NULL: all do. Letters that stand
 * for several bases (N, R, Y, ...) become BASE_N. The caller closes `genes`; after an error it is zeroed.
 * STATUS_INVALID, with the line in the message: the FASTA file has a fault (fasta_parse()); a feature has fewer than
 * nine fields, names an unknown record, extends beyond the record or is on the other strand; or a base would be both a
 * donor and an acceptor. */
enum status genes_parse(const char *fasta, size_t fasta_size, const char *gff, size_t gff_size, const char *source,
                        struct genes *genes, struct error *err);
/* Parses two files of at most GENES_FILE_BYTES each (else STATUS_LIMIT), like genes_parse(). STATUS_IO: a file cannot
 * be read. */
enum status genes_load(const char *fasta_path, const char *gff_path, const char *source, struct genes *genes,
                       struct error *err);
void genes_close(struct genes *genes); /* a zeroed struct is allowed */

/* Every locus is cut into windows of `length` labelled bases from its beginning on. A locus belongs to the test set if
 * the SHA-256 of its name begins with a byte below 26, which is true of about a tenth of all names. So the set of a
 * locus does not depend on the other loci. */
enum genes_set { GENES_TRAIN, GENES_TEST, GENES_ALL };
struct genes_windows {
    int64_t count;
    struct genes_window {
        int locus;
        int64_t at; /* position of the first labelled base in the locus, from 0 */
    } * window;     /* [count] */
    int length, flank;
};
/* Lists the windows of one set: `length` labelled bases and `flank` unlabelled ones on either side. The caller closes
 * `windows`. STATUS_INVALID: length < 1 or flank < 0. */
enum status genes_windows(const struct genes *genes, enum genes_set set, int length, int flank,
                          struct genes_windows *windows, struct error *err);
void genes_windows_close(struct genes_windows *windows);
/* Copies one window. bases, classes: [flank + length + flank]; classes may be NULL. Positions outside the locus are
 * BASE_N and SITE_NONE; the flanks are SITE_NONE too. */
void genes_window(const struct genes *genes, const struct genes_windows *windows, int64_t index, uint8_t *bases,
                  uint8_t *classes);

/* Windows of real sequences with their splice sites, from a folder with one FASTA file (*.fa) and one GFF3 file
 * (*.gff3); splicing_genes.h splits their loci into a training and a test set. Read-only once open; any number of
 * threads. */

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
