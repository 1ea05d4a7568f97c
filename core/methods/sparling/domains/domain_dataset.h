/* A data set of the user's own (core/data/uploads/collection.h) as a domain of SPARLING: images, multichannel grids,
 * sequences, and recordings as mel spectrograms; the label is a class, a sequence, a set in ascending order, or a class
 * at every position.
 *
 * Sizes are fields, so that they are known without the data: they are read when a job is submitted, together with the
 * hash that the job is bound to. Samples are split into training, validation (seed -1) and test (seed -2, and the
 * examples) by a function of the split's seed and the sample's number, or its group's name. Training draws with
 * replacement; the other two go through their sets once shuffled, round and round. Values outside [0, 1] are
 * standardised. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_DATASET_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"

enum dataset_split { SPLIT_SAMPLES, SPLIT_GROUPS };

struct dataset_config {
    char name[CONFIG_TEXT], hash[CONFIG_TEXT], test_group[CONFIG_TEXT];
    int split;
    double test, validation;
    int64_t split_seed, mels;
    bool fit, positions;
    int64_t channels, rows, cols, tokens, longest, boxes;
};

extern const char *const dataset_split_names[];

#define DATASET_SIZE(member, high, unit, meaning)                                                                      \
    DOMAIN_INTEGER(dataset, member, "dataset_" #member, "0", 0, high, unit, meaning "; filled in from the data set")

#define DATASET_FIELDS                                                                                                 \
    DOMAIN_TEXT(dataset, name, "dataset_name", "", "which data set (GET /v1/datasets)"),                               \
        DOMAIN_TEXT(dataset, hash, "dataset_hash", "",                                                                 \
                    "first 40 digits of its SHA-256, to which the job is bound; filled in from the data set"),         \
        DOMAIN_CHOICE(dataset, split, "dataset_split", "samples", dataset_split_names,                                 \
                      "what is dealt out to training, validation and test: single samples, or whole groups"),          \
        DOMAIN_REAL(dataset, test, "dataset_test", "0.15", 0, 0.9, "", "share that is held out for the test"),         \
        DOMAIN_REAL(dataset, validation, "dataset_validation", "0.1", 0, 0.9, "", "share that validates"),             \
        DOMAIN_TEXT(dataset, test_group, "dataset_test_group", "",                                                     \
                    "the group that is the test, whatever dataset_test says; empty: none"),                            \
        DOMAIN_INTEGER(dataset, split_seed, "dataset_split_seed", "0", 0, CONFIG_INT_MAX, "", "seed of the split"),    \
        DOMAIN_INTEGER(dataset, mels, "dataset_mels", "64", 8, 256, "bands",                                           \
                       "recordings: mel bands of the spectrogram"),                                                    \
        DOMAIN_FLAG(dataset, fit, "dataset_fit", "false",                                                              \
                    "motifs and densities follow from the data: a channel a name of the vocabulary, in the end one "   \
                    "motif a token"),                                                                                  \
        DATASET_SIZE(channels, 8192, "channels", "channels of an input"),                                              \
        DATASET_SIZE(rows, 8192, "px", "its rows; 1: a sequence"), DATASET_SIZE(cols, 1048576, "px", "its columns"),   \
        DATASET_SIZE(tokens, 4096, "tokens", "names of the vocabulary"),                                               \
        DATASET_SIZE(longest, 1048576, "tokens", "most tokens of a label"),                                            \
        DATASET_SIZE(boxes, 100000, "boxes", "most boxes of a sample"),                                                \
        DOMAIN_FLAG(dataset, positions, "dataset_positions", "false",                                                  \
                    "a class at every column; filled in from the data set")

#endif
