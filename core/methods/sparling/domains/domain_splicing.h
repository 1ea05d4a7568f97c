/* Splicing as a domain of SPARLING: a class at every base. Either planted motifs
 * (core/data/splicing/splicing_planted.h), where labels and motifs are known, or real genes
 * (core/data/splicing/splicing_corpus.h), where motifs are what affinity models say: each protein binds at the same
 * share of the positions of the test set. Of real genes the run's seed orders the training set, and so does -1 for
 * validations (as published); -2 and the examples are the test set in its order. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_SPLICING_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_SPLICING_H

#include <stdint.h>

#include "core/base/config.h"

struct splicing_config {
    int64_t length, flank, proteins, reach;
    double spacing, share;
    char dataset[CONFIG_TEXT], source[CONFIG_TEXT], motifs[CONFIG_TEXT];
};

#define SPLICING_INTEGER(member, preset, low, high, unit, meaning)                                                     \
    DOMAIN_INTEGER(splicing, member, "splicing_" #member, preset, low, high, unit, meaning)

#define SPLICING_FIELDS                                                                                                \
    SPLICING_INTEGER(length, "1000", 100, 20000, "nt", "bases of a sequence that have a label"),                       \
        SPLICING_INTEGER(flank, "0", 0, 10000, "nt", "bases before and behind them that have none"),                   \
        DOMAIN_TEXT(                                                                                                   \
            splicing, dataset, "splicing_dataset", "planted",                                                          \
            "sequences: planted, or a data set with a .fa and a .gff3 file (or SpliceAI's .h5 files), by its name"),   \
        DOMAIN_TEXT(splicing, source, "splicing_source", "any",                                                        \
                    "source of the GFF3 features whose introns count (second field of a line); any: all of them"),     \
        DOMAIN_TEXT(                                                                                                   \
            splicing, motifs, "splicing_motifs", "small",                                                              \
            "affinity models: small ones that come with the program, or a data set of RBNS files, by its name"),       \
        SPLICING_INTEGER(                                                                                              \
            proteins, "6", 2, 512, "proteins",                                                                         \
            "how many of the models; with planted motifs the cores of the two kinds of site come on top"),             \
        DOMAIN_REAL(splicing, share, "splicing_share", "0.0018", 1e-6, 0.1, "",                                        \
                    "share of positions at which a protein of a data set binds: of test sequences, or of random ones " \
                    "to plant in"),                                                                                    \
        SPLICING_INTEGER(reach, "60", 1, 5000, "nt", "a protein decides about sites at most this far away"),           \
        DOMAIN_REAL(splicing, spacing, "splicing_spacing", "40", 5, 10000, "nt",                                       \
                    "one motif is planted in this many bases")

#endif
