/* The samples of an uploaded data set by part: training, validation and test (core/data/division/division.h). */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_PARTS_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_PARTS_H

#include "core/data/division/division.h"
#include "core/methods/sparling/config.h"

struct dataset_parts {
    /* sample: indices of the samples of each part, shuffled; those of training are sorted by the length of the labels.
     * count: number of samples of each part */
    int64_t *sample[COLLECTION_PARTS], count[COLLECTION_PARTS];
    struct division division;
    int64_t *up_to;         /* [longest + 2] number of training samples with labels up to each length */
    unsigned char *cluster; /* [samples] cluster of the sample's group within its part (core/metrics/clusters.h); NULL:
                               samples have no groups */
    int64_t test_groups;    /* number of groups in the test part */
};

/* What a configuration requests. The pointers of the result point into it. */
struct division_request dataset_parts_request(const struct sparling_config *config);
/* Divides the samples. positions: labels have a class for each position, so they have no length. Errors: those of
 * division_make(). The caller calls dataset_parts_close(), after an error too; a zeroed struct is allowed. */
enum status dataset_parts_open(const struct collection *c, const struct sparling_config *config, bool positions,
                               struct dataset_parts *parts, struct error *err);
void dataset_parts_close(struct dataset_parts *parts);

#endif
