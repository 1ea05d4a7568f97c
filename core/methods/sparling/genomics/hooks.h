/* What SPARLING does with samples that are DNA or RNA, behind one table of hooks: filters that begin as motifs,
 * position matrices as motif scores, and the queries about matrices, sites and strands. The files of this folder also
 * need models and runs, so they do not lie in core/genomics. No other header of this folder is included outside of it.
 *
 * A build with -Dgenomics=disabled has a table of zeros (absent.c). */
#ifndef MOTIF_CORE_METHODS_SPARLING_GENOMICS_HOOKS_H
#define MOTIF_CORE_METHODS_SPARLING_GENOMICS_HOOKS_H

#include "core/genomics/genomics.h"
#include "core/methods/sparling/config.h"

struct channel_matrices;
struct matrices_fit;
struct method_run;
struct misread;
struct site_finder;
struct top_activations;

/* A site on one strand of a sample. */
struct strand_site {
    int64_t start, end; /* the site is [start, end) */
    char strand;        /* '+' or '-'; '.': there is no site */
    double value;
};

typedef enum status sparling_answer(const struct method_question *question, const struct sink *out, struct error *err);
typedef enum status sparling_text(const struct method_question *question, struct buf *out, struct error *err);

struct sparling_genomics {
    /* Training. The functions are those of enriched_filters.h and matrix_fit.h. */
    enum status (*enriched_filters)(struct method_run *run, float *filter, int *count, struct error *err);
    enum status (*missed_motifs)(struct method_run *run, int name, struct misread *out, struct error *err);
    bool (*matrices_wanted)(const struct method_run *run);
    enum status (*matrices_piece)(struct method_run *run, struct matrices_fit **fit, bool *done, struct error *err);
    void (*matrices_drop)(struct matrices_fit *fit);

    /* The member "matrix" of the query "channels": the functions of channel_matrices.h. */
    enum status (*matrices_create)(const struct method_question *question, const struct top_activations *statistics,
                                   struct channel_matrices **out, struct error *err);
    void (*matrices_destroy)(struct channel_matrices *matrices);
    void (*matrix_write)(const struct channel_matrices *matrices, int channel, const struct sink *out);
    /* The effect of strands in the query "rules": the functions of sites.h. */
    enum status (*finder_create)(const struct method_question *question, struct site_finder **out, struct error *err);
    void (*finder_destroy)(struct site_finder *finder);
    enum status (*strongest)(const struct site_finder *finder, const float *planes, const float *map, int cols,
                             int length, struct strand_site *strongest, struct error *err);

    /* Queries and texts that only models of DNA and RNA answer. */
    sparling_answer *sites, *pairs;
    sparling_text *channels_meme, *channels_jaspar, *logos_png, *logos_svg, *sites_bed, *sites_narrow_peak, *sites_gff3,
        *signal_bedgraph, *signal_bigwig;
};
extern const struct sparling_genomics sparling_genomics;

/* The motifs with which a job begins. */
static inline struct motif_start motif_start_of(const struct sparling_config *config, const char *data)
{
    return (struct motif_start){.data = data,
                                .motifs = config->dataset.motif_start,
                                .words = config->dataset.motif_start_words,
                                .frozen = config->dataset.motif_start_frozen,
                                .one_strand = config->strands == STRANDS_ONE,
                                .window = config->first_window,
                                .width = config->width};
}

#endif
