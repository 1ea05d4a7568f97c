/* Random changes of training samples that cannot change their labels. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_AUGMENT_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_AUGMENT_H

#include "core/data/uploads/collection.h"
#include "core/methods/sparling/config.h"
#include "core/methods/sparling/domains/domain.h"

/* Strengths of the changes; 0 switches one off. fields_dataset.inc explains them. */
struct augmentation {
    double shift, stretch, turn, gain, offset, drift, noise, erase, mask, silence;
    bool mirror;
};

struct augment_sample {
    float *planes;            /* [channels][rows][cols], of which the first `length` columns are used */
    int channels, rows, cols; /* rows 1: a signal, which is neither turned nor mirrored */
    bool sound;               /* channels are the frequencies of a recording */
    int64_t length;
    int64_t seed, index; /* the changes depend only on these two */
};

/* The strengths that a configuration states. */
struct augmentation dataset_changes(const struct dataset_config *config);
/* Refuses changes that would make a sample contradict its label, or that letters and words cannot have:
 * STATUS_INVALID. moments: those of all values. */
enum status dataset_changes_check(const struct dataset_config *config, const struct collection *c,
                                  const struct collection_moments *moments, struct error *err);
/* Returns whether any change is switched on. */
bool augments(const struct augmentation *a);
/* Changes a sample. scratch: as many values as `planes`. Pure function; any thread may call it. */
void dataset_augment(const struct augment_sample *s, const struct augmentation *a, float *scratch);
/* Changes the planes of a requested training sample, of which the first `length` columns are used. sound: the sample is
 * the spectrum of a recording. STATUS_NO_MEMORY. */
enum status dataset_augment_planes(const struct domain_shape *shape, int64_t length, const struct augmentation *a,
                                   bool sound, const struct domain_request *request, float *planes, struct error *err);

#endif
