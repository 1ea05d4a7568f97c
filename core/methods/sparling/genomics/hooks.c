/* The table of SPARLING's hooks for DNA and RNA (hooks.h). */
#include "core/methods/sparling/genomics/hooks.h"

#include "core/methods/sparling/genomics/enriched_filters.h"
#include "core/methods/sparling/genomics/matrix_fit.h"
#include "core/methods/sparling/genomics/sites.h"

const struct sparling_genomics sparling_genomics = {
    .enriched_filters = words_filters,
    .missed_motifs = misread_search,
    .matrices_wanted = matrices_wanted,
    .matrices_piece = matrices_piece,
    .matrices_drop = matrices_drop,
    .matrices_create = channel_matrices_create,
    .matrices_destroy = channel_matrices_destroy,
    .matrix_write = channel_matrix_write,
    .finder_create = site_finder_create,
    .finder_destroy = site_finder_destroy,
    .strongest = site_finder_strongest,
    .sites = sites_answer,
    .pairs = pairs_answer,
    .channels_meme = channels_meme,
    .channels_jaspar = channels_jaspar,
    .logos_png = logos_png,
    .logos_svg = logos_svg,
    .sites_bed = sites_bed,
    .sites_narrow_peak = sites_narrow_peak,
    .sites_gff3 = sites_gff3,
    .signal_bedgraph = signal_bedgraph,
    .signal_bigwig = signal_bigwig,
};
