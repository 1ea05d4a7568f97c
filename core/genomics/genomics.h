/* DNA and RNA: everything that reads, writes or compares bases, behind one table of hooks. Uploads and domains call it
 * through this table; SPARLING's part, which also needs a model, is core/methods/sparling/genomics/hooks.h. No other
 * header of these two folders is included outside of them.
 *
 * A build with -Dgenomics=disabled has a table of zeros (absent.c). Samples then have no alphabet of bases, so nothing
 * looks for strands, sites or matrices, and a request that needs the wing gets genomics_missing(). */
#ifndef MOTIF_CORE_GENOMICS_GENOMICS_H
#define MOTIF_CORE_GENOMICS_GENOMICS_H

#include "core/data/alphabet.h"
#include "core/data/uploads/collection.h"

struct builder;
struct genes;
struct regions;

typedef enum status genomics_read(const struct byte_source *from, const struct collection_options *options,
                                  const struct collection_limits *limits, struct collection *c, struct error *err);

/* Limits of a data set of motifs: bytes of an identifier or a name with the final NUL, motifs, and positions of one. */
enum { MOTIF_TEXT_NAME = 64, MOTIF_TEXT_MOTIFS = 1 << 16, MOTIF_TEXT_WIDTH = 100 };

/* What a job asks for with motif_start, motif_start_words and motif_start_frozen. */
struct motif_start {
    const char *data;   /* folder of data sets; NULL: none */
    const char *motifs; /* the data set of motifs; "": none */
    bool words, frozen; /* words: search for motifs that are enriched in training samples */
    bool one_strand;    /* the model reads one strand, so a motif of DNA needs two filters */
    int64_t window;     /* width of a filter */
    int64_t width;      /* number of filters */
};

struct genomics {
    /* Letters: alphabets whose symbols are the channels of samples. */
    const struct alphabet *dna, *rna;
    /* Replaces columns [from, to) of one-hot bases, [4][cols], by their reverse complement. */
    void (*turn)(float *planes, int cols, int64_t from, int64_t to);

    /* Upload formats: readers of FASTA, of motifs, and of regions in BED, as read() of struct collection_format. */
    genomics_read *fasta, *motifs, *bed;
    /* Records and regions in archives: the functions of uploads/uploads.h. */
    enum status (*add_records)(struct builder *b, const struct genes *genes, bool sites, struct error *err);
    enum status (*regions_open)(struct builder *b, const struct collection_options *options, struct regions **regions,
                                struct error *err);
    enum status (*regions_add)(struct regions *regions, const struct byte_source *from, const char *name,
                               size_t name_bytes, struct error *err);
    enum status (*regions_finish)(struct regions *regions, struct error *err);
    void (*regions_close)(struct regions *regions);

    /* Seed filters: the functions of matrices/motif_start.h. */
    enum status (*start_check)(const struct motif_start *start, const struct collection *samples, struct error *err);
    enum status (*start_filters)(const struct motif_start *start, int strands, float *filter, int *count,
                                 struct error *err);
    size_t matrix_bytes; /* memory of a position matrix */
};
extern const struct genomics genomics;

/* Refuses a request that needs the wing, and returns `status`. pointer: the field of the request; NULL: all of it. */
static inline enum status genomics_missing(enum status status, const char *pointer, struct error *err)
{
    return error_set(err, status, pointer,
                     "this build of motifd has no genomics (DNA and RNA); use one that was built with "
                     "-Dgenomics=enabled");
}

#endif
