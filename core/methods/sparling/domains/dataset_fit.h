/* The fields of a configuration that follow from uploaded data. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_FIT_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_FIT_H

#include "core/methods/sparling/config.h"

/* Facts about the data and labels, other than their sizes, which are in config->dataset. */
struct dataset_facts {
    double mean;  /* mean number of tokens of a label; NaN with numbers as targets */
    bool sound;   /* the data are recordings */
    bool letters; /* the data are sequences of letters: in each position at most one channel, which is 1 */
    bool counts;  /* labels are counts of motifs */
    bool classes; /* every sample has one class */
    bool named;   /* every sample has a label with at least one name */
    bool ordered; /* labels list the names of all motifs in order */
    bool set;     /* labels are sets of names */
    int64_t most; /* largest number of names of a label, or largest count; 0: unknown */
};
/* With `fit`, reduces the bands of spectrograms for a sampling rate below 8000 Hz, because the window of so many bands
 * has fewer frequencies than bands. rate: 0 if the data are not recordings. */
void dataset_fit_mels(struct sparling_config *config, const struct method_given *given, int rate);
/* Sets window and width of g, effort, channels, pooling and schedule. given: the fields that the client has given,
 * which keep their values. */
void dataset_fit(struct sparling_config *config, const struct method_given *given, const struct dataset_facts *facts);
/* Limits the numbers of validation and test samples to the sizes of these parts, so that no sample is measured twice.
 */
void dataset_fit_samples(struct sparling_config *config, const int64_t count[COLLECTION_PARTS]);

#endif
