/* Random changes of training samples that cannot change their labels. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_AUGMENT_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DATASET_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strengths of the changes; 0 switches one off. fields_dataset.inc explains them. */
struct augmentation {
    double shift, stretch, turn, gain, offset, noise, erase;
    bool mirror;
};

struct augment_sample {
    float *planes;            /* [channels][rows][cols], of which the first `length` columns are used */
    int channels, rows, cols; /* rows 1: a signal, which is neither turned nor mirrored */
    int64_t length;
    int64_t seed, index; /* the changes depend only on these two */
};

/* Returns whether any change is switched on. */
bool augments(const struct augmentation *a);
/* Returns whether any of these changes moves values to other positions. */
bool augments_places(const struct augmentation *a);
/* Changes a sample. scratch: as many values as `planes`. Pure function; any thread may call it. */
void dataset_augment(const struct augment_sample *s, const struct augmentation *a, float *scratch);

#endif
