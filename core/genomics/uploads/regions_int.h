/* Private declarations of regions*.c: the list of regions, and the bases of their windows. */
#ifndef MOTIF_CORE_GENOMICS_UPLOADS_REGIONS_INT_H
#define MOTIF_CORE_GENOMICS_UPLOADS_REGIONS_INT_H

#include "core/data/uploads/member_notices.h"
#include "core/genomics/files/bigwig_read.h"
#include "core/genomics/files/faidx.h"
#include "core/genomics/uploads/uploads.h"

struct region {
    const struct faidx_sequence *chromosome;
    int64_t start, end; /* the window is [start, end) of the chromosome */
    int32_t label;      /* index of the label's text */
    int32_t joined;     /* next region that belongs to the same sample; -1: none */
    bool reverse, inner /* inner: the region belongs to the sample of another region */;
};

/* An interval of a chromosome. */
struct place {
    const struct faidx_sequence *chromosome;
    int64_t start, end;
};

struct regions {
    struct builder *b;
    const struct collection_options *options;
    struct faidx genome;
    struct name_list labels; /* texts of labels */
    struct region *region;   /* [count] in the order of the files */
    int64_t count, left_out, unmatched;
    int64_t elsewhere;               /* number of regions on sequences that the genome does not have */
    char elsewhere_name[FASTA_NAME]; /* sequence of the first of them */
    /* Regions beyond an end of their chromosome, with an unknown text as strand, and with a summit outside of them. */
    struct member_notice beyond, strandless, summitless;
    struct place *covered; /* [covers] with NEGATIVES_GC: where no negative may lie, one place for each region */
    int64_t covers;
    int files;
    int64_t longest; /* bases of the longest window */
    char *letters;   /* letters, bases and other: scratch for one window, [longest] each */
    uint8_t *bases, *other;
    struct bigwig *signal; /* NULL: the targets are not values of a signal */
    int bins;              /* number of values of the signal for each region */
    double *mean;          /* [bins] of one region */
};

/* Reads the bases of a window, on its strand. */
enum status regions_bases(struct regions *s, const struct region *r, uint8_t *bases, struct error *err);
/* Adds a window as a sample without a label. The sample is named by the place of the window, followed by `ending`. */
enum status regions_sample(struct regions *s, const uint8_t *bases, const struct region *r, const char *ending,
                           struct error *err);
/* Reports that there are more regions than the limit. Returns STATUS_LIMIT. */
enum status regions_full(const struct regions *s, struct error *err);

/* Records that no negative may overlap a region or its window (regions_negatives.c). start, end: the region's own ends.
 * STATUS_LIMIT: there are too many regions. */
enum status regions_cover(struct regions *s, const struct region *window, int64_t start, int64_t end,
                          struct error *err);
/* Adds a negative sample for each sample that has a label (regions_negatives.c). */
enum status regions_negatives(struct regions *s, struct error *err);

#endif
