/* Genes with their splice sites, from FASTA and GFF3.
 *
 * A locus is one FASTA record. Its splice sites come from the GFF3 features of the wanted source whose sequence is the
 * locus: type "intron"; where that source has none in the whole file, the gaps between the exons of a transcript
 * (Parent). Donor: the intron's first base; acceptor: its last. Genes stand on their own strand, as cut-outs do: an
 * intron or exon on the other one is refused.
 *
 * Both texts are foreign. STATUS_INVALID names the line: a coordinate outside its locus, a sequence that is not there,
 * a name that comes twice, a line with too few fields, one base both donor and acceptor, letters that are no code for
 * bases. Letters that stand for several bases (N, R, Y, ...) are unknown bases. Read-only once made; any number of
 * threads. */
#ifndef MOTIF_CORE_FORMATS_GENE_FILES_H
#define MOTIF_CORE_FORMATS_GENE_FILES_H

#include "core/base/error.h"
#include "core/data/splicing/splicing.h"

enum { GENES_NAME = 64, GENES_LOCI = 1 << 20 };
#define GENES_FILE_BYTES ((size_t)512 << 20)

struct genes_locus {
    char name[GENES_NAME]; /* the header up to its first blank */
    int64_t first;         /* its bases are genes.bases[first ...] */
    int64_t length;
};
struct genes {
    int loci;
    struct genes_locus *locus; /* in the order of the FASTA file */
    int64_t count;             /* bases in all */
    uint8_t *bases, *classes;  /* [count] */
    int64_t introns;           /* that were taken; several transcripts may share one */
};

/* source: of the GFF3 features that count ("WormBase"); NULL: any. */
enum status genes_parse(const char *fasta, size_t fasta_size, const char *gff, size_t gff_size, const char *source,
                        struct genes *genes, struct error *err);
enum status genes_load(const char *fasta_path, const char *gff_path, const char *source, struct genes *genes,
                       struct error *err);
void genes_close(struct genes *genes);

/* Parts of loci: a locus is cut every `length` bases from its beginning. A locus belongs to the test set when the
 * SHA-256 of its name begins with a byte below 26 (about a tenth), whatever else the file holds. */
enum genes_set { GENES_TRAIN, GENES_TEST, GENES_ALL };
struct genes_windows {
    int64_t count;
    struct genes_window {
        int locus;
        int64_t at; /* first labelled base, in the locus */
    } * window;
    int length, flank;
};
enum status genes_windows(const struct genes *genes, enum genes_set set, int length, int flank,
                          struct genes_windows *windows, struct error *err);
void genes_windows_close(struct genes_windows *windows);
/* bases, classes: [flank + length + flank]. What lies outside the locus is unknown and no site; so are the
 * labels of the flanks. classes may be NULL. */
void genes_window(const struct genes *genes, const struct genes_windows *windows, int64_t index, uint8_t *bases,
                  uint8_t *classes);

#endif
