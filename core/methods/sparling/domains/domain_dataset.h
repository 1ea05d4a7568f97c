/* Configuration of the domain dataset: uploaded data (core/data/uploads/collection.h) as samples of SPARLING. Inputs
 * are images, multichannel grids, sequences, or recordings as mel spectrograms. A label is a class, a sequence, a set
 * in ascending order, a class at every position, or numbers.
 *
 * The sizes are facts in the configuration, so that it has known sizes without its data. The daemon reads them from the
 * data set when the job is submitted, together with the hash that binds the job to the data. Samples are split into
 * training, validation (seed -1) and test (seed -2 and the examples) by a function of the split's seed and the index of
 * the sample or the name of its group. Training draws with replacement; validation and test go through their parts in a
 * fixed shuffled order. Values outside [0, 1] are standardised. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_DATASET_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"

enum dataset_effort { EFFORT_QUICK, EFFORT_NORMAL, EFFORT_THOROUGH };
enum dataset_split { SPLIT_SAMPLES, SPLIT_GROUPS };

struct dataset_config {
    char name[CONFIG_TEXT], hash[CONFIG_TEXT], test_group[CONFIG_TEXT], motif_start[CONFIG_TEXT];
    int split, effort;
    double test, validation, replaced;
    int64_t split_seed, mels;
    bool fit, positions, numbers, motif_frozen, motif_words;
    int64_t channels, rows, cols, tokens, longest, boxes;
};

extern const char *const dataset_split_names[], *const dataset_effort_names[];

/* clang-format off */
#define DATASET_SIZE(member, high, unit, meaning)                                                                      \
    DOMAIN_INTEGER(dataset, member, "dataset_" #member, "0", 0, high, unit, FACT, meaning)

#define DATASET_FIELDS                                                                                                 \
    DOMAIN_TEXT(dataset, name, "dataset_name", "", BASIC, "Name of the data set (GET /v1/datasets lists them)."),      \
    DOMAIN_TEXT(dataset, hash, "dataset_hash", "", RESEARCH,                                                           \
                "First 40 digits of the hash of the data set's bytes and upload options, which the daemon fills in "   \
                "at submission, so that the job never continues with other data."),                                    \
    DOMAIN_CHOICE(dataset, split, "dataset_split", "samples", dataset_split_names, ADVANCED,                           \
                  "What is divided into training, validation and test parts: single samples, or whole groups, so "     \
                  "that all samples of a group are in the same part."),                                                \
    DOMAIN_REAL(dataset, test, "dataset_test", "0.15", 0, 0.9, "", ADVANCED,                                           \
                "Share of the samples that is held out for the test; a larger share makes the errors more precise "    \
                "and leaves fewer training samples."),                                                                 \
    DOMAIN_REAL(dataset, validation, "dataset_validation", "0.1", 0, 0.9, "", ADVANCED,                                \
                "Share of the samples that is held out for validations; a larger share makes validations more "        \
                "precise and leaves fewer training samples."),                                                         \
    DOMAIN_TEXT(dataset, test_group, "dataset_test_group", "", ADVANCED,                                               \
                "Name of the group that becomes the test part instead of the share dataset_test; empty uses the "      \
                "share."),                                                                                             \
    DOMAIN_INTEGER(dataset, split_seed, "dataset_split_seed", "0", 0, CONFIG_INT_MAX, "", ADVANCED,                    \
                   "Seed of the split into training, validation and test parts."),                                     \
    DOMAIN_INTEGER(dataset, mels, "dataset_mels", "64", 8, 256, "bands", ADVANCED,                                     \
                   "Mel bands of the spectrogram of a recording; more bands resolve frequencies better and take "      \
                   "more time."),                                                                                      \
    DOMAIN_FLAG(dataset, fit, "dataset_fit", "false", ADVANCED,                                                        \
                "Whether the daemon computes the number of motif channels and the densities from the data: one "       \
                "channel for each name of the vocabulary and, at the last density, one motif for each token."),        \
    DOMAIN_CHOICE(dataset, effort, "effort", "normal", dataset_effort_names, BASIC,                                    \
                  "How long the preset dataset trains: quick takes about a third of the time of normal and finds "     \
                  "fewer motifs, and thorough compares three starts, continues the best one and waits longer for "     \
                  "improvements."),                                                                                    \
    DOMAIN_REAL(dataset, replaced, "replace_letters", "0", 0, 0.5, "", ADVANCED,                                       \
                "Share of the letters of a training sample that are replaced by random letters each time it is "       \
                "drawn; a larger share keeps a model from learning few samples by heart."),                            \
    DOMAIN_TEXT(dataset, motif_start, "motif_start", "", ADVANCED,                                                     \
                "Data set of the few known motifs whose matrices become the initial filters of a model of DNA or "     \
                "RNA, at most width filters; a motif of DNA needs two, one for each strand, or one with "              \
                "strands=both, so all of JASPAR is too much; empty begins with random filters."),                      \
    DOMAIN_FLAG(dataset, motif_words, "motif_start_words", "false", ADVANCED,                                          \
                "Whether a model of DNA or RNA begins with motifs that motifd finds by counting words: the first "     \
                "filters with those most enriched in the training samples of each name, and in the first phase the "   \
                "channel of a name that the model does not read with those of the samples it misreads."),              \
    DOMAIN_FLAG(dataset, motif_frozen, "motif_start_frozen", "false", ADVANCED,                                        \
                "Whether training leaves the filters of motif_start unchanged."),                                      \
    DATASET_SIZE(channels, 8192, "channels", "Channels of an input."),                                                  \
    DATASET_SIZE(rows, 8192, "px", "Rows of an input, 1 for a sequence."),                                              \
    DATASET_SIZE(cols, 1048576, "px", "Columns of an input."),                                                          \
    DATASET_SIZE(tokens, 4096, "tokens", "Names in the vocabulary."),                                                   \
    DATASET_SIZE(longest, 1048576, "tokens", "Most tokens of a label."),                                                \
    DATASET_SIZE(boxes, 100000, "boxes", "Most boxes of a sample."),                                                    \
    DOMAIN_FLAG(dataset, positions, "dataset_positions", "false", FACT, "Whether every column has a class."),          \
    DOMAIN_FLAG(dataset, numbers, "dataset_numbers", "false", FACT, "Whether the targets are numbers.")
/* clang-format on */

#endif
