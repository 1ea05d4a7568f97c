/* What a gallery shows of each latent of seed 0: its strongest test samples, a histogram of its activations, the
 * latents that are active together with it, and its parent. Only the learner MATRYOSHKA has parents: latents of a
 * smaller nested dictionary.
 *
 * Activations are those of a dictionary with rows of norm 1, for scaled samples. */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_EVALUATION_GALLERY_H
#define MOTIF_CORE_METHODS_DICTIONARY_EVALUATION_GALLERY_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/snapshot.h"
#include "core/methods/dictionary/model/sae.h"

enum { GALLERY_TOP = 16, GALLERY_NEAR = 8, GALLERY_BINS = 24 };
/* Returns the smallest activation of a bin, 2^((bin - GALLERY_BINS / 2) / 2). The bin reaches up to the next one. The
 * first bin also contains everything below it, and the last one everything above. */
double gallery_bin_from(int bin);

/* A row of each table. */
struct gallery_counts {
    int64_t input[GALLERY_TOP]; /* the strongest samples, as stored by run_input(): indices of rows of the data set, or
                                   of test samples if there is no data set; -1: none */
    int64_t bins[GALLERY_BINS]; /* number of samples whose activation is in each bin */
    int64_t together[GALLERY_NEAR]; /* latents that are most often active together with this one; -1: none */
    int64_t parent;                 /* -1: none */
};
struct gallery_values {
    float value[GALLERY_TOP];
    float share[GALLERY_NEAR]; /* (samples with both latents active) / (samples with at least one of them active) */
    float parent_share;        /* share of this latent's samples in which the parent is active */
};
enum {
    GALLERY_COUNTS = sizeof(struct gallery_counts) / sizeof(int64_t),
    GALLERY_VALUES = sizeof(struct gallery_values) / sizeof(float)
};

/* The tables of all latents. Checkpoints contain them. */
struct gallery {
    int width;
    struct gallery_counts *counts; /* [width] */
    struct gallery_values *values; /* [width] */
};
enum status gallery_create(int width, struct gallery *out, struct error *err);
void gallery_close(struct gallery *g); /* a zeroed struct is allowed */
/* Adds both tables as state. */
enum status gallery_snapshot(const struct gallery *g, struct snapshot *snapshot, struct error *err);
int64_t gallery_bytes(int width);

/* The codes of test samples while they are measured. */
struct gallery_codes;
/* Allocates the memory for codes. samples: expected number of samples; active: expected number of active latents in
 * each. The function computes from them how many entries are kept, for counting pairs of latents. Samples for which
 * there is no room left count only for the strongest samples and the histograms. */
enum status gallery_codes_create(struct gallery *g, int64_t samples, double active, struct gallery_codes **out,
                                 struct error *err);
void gallery_codes_destroy(struct gallery_codes *c); /* NULL is fine */
int64_t gallery_codes_bytes(int width, int64_t samples, double active);
/* Adds a sample, in which each latent occurs at most once. */
void gallery_add(struct gallery_codes *c, int64_t input, const int32_t *latent, const float *value, int count);
/* Computes `together` and `parent`. Call it after the last sample. */
void gallery_finish(struct gallery_codes *c, const struct sae_shape *shape);

#endif
