/* The sites of motifs in sequences: the places that the motif model marks, each with its start, end and strand. */
#ifndef MOTIF_CORE_METHODS_SPARLING_GENOMICS_SITES_H
#define MOTIF_CORE_METHODS_SPARLING_GENOMICS_SITES_H

#include "core/methods/sparling/genomics/channel_matrices.h"
#include "core/methods/sparling/genomics/scan.h"
#include "core/genomics/region.h"

struct motif_site {
    int64_t start, end, peak; /* positions in the record: the site is [start, end), and the model marks `peak` */
    char strand;              /* '+', '-', or '.' if unknown */
    int channel;
    double value;
};

/* What turns the maxima of a motif map into sites. */
struct site_finder {
    const struct method_model *model;
    struct channel_matrices *matrices;
    struct site_ratios *ratios; /* [channels] computed from the matrices; a channel without a matrix has ratios of width
                                   0, and its sites are as wide as the footprint */
    double *most;               /* [channels] largest activation in the samples from which the matrices were made */
    int shift;                  /* largest distance in positions between a maximum and the middle of the matrix */
    int half;                   /* the footprint of a motif has `2 * half + 1` positions */
};

/* Makes the matrices of all channels from samples of the test set. The caller calls site_finder_destroy() also after a
 * failure. Errors are those of channel_matrices_create(). */
enum status site_finder_create(const struct method_question *question, struct site_finder **out, struct error *err);
void site_finder_destroy(struct site_finder *finder); /* NULL is allowed */

struct motif_site_list {
    struct motif_site *site;
    size_t count;
};
/* Finds the sites of a window in order of their positions. channel: index of the only channel to report; -1: all
 * channels. Appends to *out, whose array the caller frees. Error: STATUS_NO_MEMORY. */
enum status site_finder_window(const struct site_finder *finder, const struct scan_window *window, int channel,
                               struct motif_site_list *out, struct error *err);

/* Finds the strongest site of each channel that lies inside a sample. planes: [4][cols], one-hot; map:
 * [channels][cols], in which motifs are where they are reported; length: bases of the sample. strongest: [channels].
 * Error: STATUS_NO_MEMORY. */
enum status site_finder_strongest(const struct site_finder *finder, const float *planes, const float *map, int cols,
                                  int length, struct strand_site *strongest, struct error *err);

/* The name of a channel for files: its name from labels, or "channel-3". */
enum { SITE_NAME = 80 };
void site_name(const struct site_finder *finder, int channel, char out[SITE_NAME]);

/* Reads one-hot bases: planes: [4][cols], of which the first `length` columns are read; base: [length]. */
void bases_of_planes(const float *planes, int64_t cols, int64_t length, unsigned char *base);
/* Returns which coordinates the names of the question's records contain. The names of records that were cut from a
 * genome always contain coordinates. */
enum coordinates sites_coordinates(const struct method_question *question);
/* Scans what the question asks for: the records of the job's data set (GET), or those of the body (POST). */
enum status sites_scan(const struct method_question *question, const struct scan_target *to, struct error *err);

/* The queries "sites", "pairs" (site_pairs.c) and "signal" (signal.c). */
sparling_answer sites_answer, pairs_answer;
sparling_text sites_bed, sites_narrow_peak, sites_gff3, signal_bedgraph, signal_bigwig;

#endif
