/* DigitCircle (SPARLING, section 5.1): digits on a circle in a noisy binary picture, read
 * counter-clockwise on screen from the smallest.
 *
 * A sample is a pure function of the configuration and one 32-bit generator seed, bit for bit what
 * the authors' generator draws with numpy. With digitcircle_paper() the pictures are the paper's;
 * other sizes, fewer digits and less noise come from the same code and the same order of draws.
 * Nothing here allocates or keeps state: any number of threads may call. */
#ifndef MOTIF_CORE_DATA_DIGITCIRCLE_DIGITCIRCLE_H
#define MOTIF_CORE_DATA_DIGITCIRCLE_DIGITCIRCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/box.h"

#define DIGITCIRCLE_CLASSES 10 /* digits there are */
#define DIGITCIRCLE_STAMP 12   /* rows of every stamp, and the largest side of any */
#define DIGITCIRCLE_SINGLE 32  /* side of a single-digit picture */
#define DIGITCIRCLE_MAX_IMAGE 4096

struct digitcircle {
    int image_size;               /* rows = columns */
    int classes;                  /* digits 0 .. classes-1 occur */
    int min_symbols, max_symbols; /* digits a picture, uniform; all different */
    int shift;                    /* each digit moves off the circle by up to this, in rows and columns */
    int margin;                   /* the circle stays shift + margin away from the border; 0: DIGITCIRCLE_STAMP */
    int min_radius;               /* of the circle */
    int max_radius;               /* exclusive; 0: image_size/2 - shift - margin, the most that fits */
    double pre_noise;             /* share of pixels flipped before the digits are placed, as a multiple of
                                     the mean ink share of the ten stamps (whatever `classes` is) */
    double post_noise;            /* share of pixels flipped afterwards */
};

/* What is in a picture. Boxes are in the order of placement: by angle, down, right, up, left. */
struct digitcircle_truth {
    int count;
    struct box boxes[DIGITCIRCLE_CLASSES];
    int label[DIGITCIRCLE_CLASSES]; /* the symbols of the boxes, rotated: smallest first */
};

struct digitcircle digitcircle_paper(void);
/* The same draws without noise: what theoretical densities are computed from. */
struct digitcircle digitcircle_without_noise(struct digitcircle domain);

/* Calls `fault` for every way in which the domain makes no sense or does not fit (field names are
 * those of the struct) and returns how many there were. Only a domain without faults may be drawn.
 * `fault` may be NULL. */
int digitcircle_check(const struct digitcircle *domain, void *context,
                      void (*fault)(void *context, const char *field, const char *detail));

/* image: [image_size][image_size], ink 1, ground 0. `truth` may be NULL. */
void digitcircle_draw(const struct digitcircle *domain, uint32_t generator_seed, float *image,
                      struct digitcircle_truth *truth);
/* Sample `index` of the set `seed` (training: the run's seed; validation -1, test -2, binning -3). */
void digitcircle_sample(const struct digitcircle *domain, int64_t seed, int64_t index, float *image,
                        struct digitcircle_truth *truth);
/* Samples first .. first+count-1 of a set. images: [count][image_size][image_size]; truths: [count]. */
void digitcircle_batch(const struct digitcircle *domain, int64_t seed, int64_t first, int count, float *images,
                       struct digitcircle_truth *truths);

/* One digit in the middle of a DIGITCIRCLE_SINGLE square, for training motifs directly (Appendix K).
 * Uses classes, pre_noise and post_noise of the domain. Returns the digit. */
int digitcircle_single(const struct digitcircle *domain, int64_t seed, int64_t index, float *image);

/* Mean number of symbols over raw generator seeds 0 .. samples-1; `image` is scratch of one picture. */
double digitcircle_mean_symbols(const struct digitcircle *domain, int samples, float *image);

/* A stamp: its size, and whether (row, col) is ink. */
void digitcircle_stamp_size(int digit, int *rows, int *cols);
bool digitcircle_stamp_ink(int digit, int row, int col);

#endif
