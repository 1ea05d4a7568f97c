/* Configuration of the domain splicing: a class (donor, acceptor, neither) at every base.
 *
 * Sequences are either planted (core/data/splicing/splicing_planted.h), where labels and motifs are known, or windows
 * of real genes (core/data/splicing/splicing_corpus.h), where affinity models define the motifs: each protein binds at
 * the same share of the positions of the test set. For real genes, training and validation (seed -1) both read the
 * training set, as in the paper, in two different shuffled orders. The test set (seed -2) and the examples are the
 * windows of the test set in its own order. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_SPLICING_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_SPLICING_H

#include <stdint.h>

#include "core/base/config.h"

struct splicing_config {
    int64_t length, flank, proteins, reach;
    double spacing, share;
    char dataset[CONFIG_TEXT], source[CONFIG_TEXT], motifs[CONFIG_TEXT];
};

/* clang-format off */
#define SPLICING_INTEGER(member, preset, low, high, unit, level, meaning)                                              \
    DOMAIN_INTEGER(splicing, member, "splicing_" #member, preset, low, high, unit, level, meaning)

#define SPLICING_FIELDS                                                                                                \
    SPLICING_INTEGER(length, "1000", 100, 20000, "nt", ADVANCED,                                                       \
                     "Bases of a sequence that have a label; longer sequences take more time."),                       \
    SPLICING_INTEGER(flank, "0", 0, 10000, "nt", ADVANCED,                                                             \
                     "Bases without a label on either side of the labelled ones; a longer flank gives the model "      \
                     "more context and takes more time."),                                                             \
    DOMAIN_TEXT(splicing, dataset, "splicing_dataset", "planted", BASIC,                                               \
                "Sequences: planted, or the name of a data set of a .fa and a .gff3 file."),      \
    DOMAIN_TEXT(splicing, source, "splicing_source", "any", ADVANCED,                                                  \
                "Source (second column) of the GFF3 features whose introns count; any accepts all."),                  \
    DOMAIN_TEXT(splicing, motifs, "splicing_motifs", "small", ADVANCED,                                                \
                "Affinity models of the proteins: the small built-in ones, or the name of a data set of RBNS files."), \
    SPLICING_INTEGER(proteins, "6", 2, 512, "proteins", ADVANCED,                                                      \
                     "Number of affinity models in use, to which planted sequences add two motifs for the cores of "   \
                     "the sites; more proteins make the task harder."),                                                \
    DOMAIN_REAL(splicing, share, "splicing_share", "0.0018", 1e-6, 0.1, "", RESEARCH,                                  \
                "Share of all positions at which a protein of a data set binds; a larger share gives each protein "    \
                "more sites."),                                                                                        \
    SPLICING_INTEGER(reach, "60", 1, 5000, "nt", RESEARCH,                                                             \
                     "Largest distance between a planted site and a protein that affects it; a larger one lets more "  \
                     "proteins affect a site."),                                                                       \
    DOMAIN_REAL(splicing, spacing, "splicing_spacing", "40", 5, 10000, "nt", ADVANCED,                                 \
                "Mean distance between planted motifs; a larger distance plants fewer.")
/* clang-format on */

#endif
