/* DigitCircle (SPARLING, section 5.1): digits on a circle in a noisy binary picture; the label is the sequence of
 * digits, counter-clockwise on screen from the smallest.
 *
 * A sample is a pure function of the configuration and one 32-bit seed, bit for bit what the authors' generator draws
 * with numpy. Sizes, numbers of digits and noise other than the paper's use the same code and the same order of draws.
 * Functions allocate nothing and keep no state: any number of threads may call.
 */
#ifndef MOTIF_CORE_DATA_DIGITCIRCLE_DIGITCIRCLE_H
#define MOTIF_CORE_DATA_DIGITCIRCLE_DIGITCIRCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/box.h"

#define DIGITCIRCLE_CLASSES 10 /* digits 0 to 9 */
#define DIGITCIRCLE_STAMP 12   /* rows of every digit's stamp, and the largest number of columns of a stamp */
#define DIGITCIRCLE_SINGLE 32  /* side of a picture of a single digit */
#define DIGITCIRCLE_MAX_IMAGE 4096

struct digitcircle {
    int image_size;               /* rows and columns */
    int classes;                  /* digits 0 to classes - 1 are drawn */
    int min_symbols, max_symbols; /* range of the number of digits, which is drawn uniformly; no digit occurs twice */
    int shift;      /* largest number of rows and of columns by which a digit is shifted away from the circle */
    int margin;     /* least distance between circle and border, in addition to `shift`; 0 selects DIGITCIRCLE_STAMP */
    int min_radius; /* least radius of the circle */
    /* upper limit of the radius, exclusive; 0 selects the largest value that fits, image_size/2 - shift - margin */
    int max_radius;
    /* share of the pixels that are flipped before the digits are placed, divided by the mean share of ink in the ten
     * stamps (pictures of digits) */
    double pre_noise;
    double post_noise; /* share of pixels flipped after the digits are placed */
};

/* The truth about a picture. Boxes are in the order in which digits are placed: by angle, counter-clockwise from the
 * bottom (down, right, up, left). */
struct digitcircle_truth {
    int count;
    struct box boxes[DIGITCIRCLE_CLASSES];
    int label[DIGITCIRCLE_CLASSES]; /* the boxes' symbols, rotated so that the smallest is first */
};

/* The same domain without noise: it draws the same digits at the same places. Used for theoretical densities. */
struct digitcircle digitcircle_without_noise(struct digitcircle domain);

/* Checks a domain. Calls `fault` (which may be NULL) for every fault, with the name of the struct's field, and returns
 * the number of faults. The functions below require a domain without faults. */
int digitcircle_check(const struct digitcircle *domain, void *context,
                      void (*fault)(void *context, const char *field, const char *detail));

/* Draws one picture. image: [image_size][image_size], ink 1, background 0. `truth` may be NULL. */
void digitcircle_draw(const struct digitcircle *domain, uint32_t generator_seed, float *image,
                      struct digitcircle_truth *truth);
/* Draws sample `index` of the set whose seed is `seed`. Training uses the seed of the run, validation the seed -1, the
 * test -2, and the test with binned activations -3. */
void digitcircle_sample(const struct digitcircle *domain, int64_t seed, int64_t index, float *image,
                        struct digitcircle_truth *truth);

/* Draws one digit in the middle of a DIGITCIRCLE_SINGLE square, for training motifs directly (Appendix K), with the
 * domain's classes, pre_noise and post_noise. Returns the digit. */
int digitcircle_single(const struct digitcircle *domain, int64_t seed, int64_t index, float *image);

/* Mean number of digits over the seeds 0 to samples-1. image: scratch for one picture. */
double digitcircle_mean_symbols(const struct digitcircle *domain, int samples, float *image);

#endif
