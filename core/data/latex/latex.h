/* LaTeX-OCR (SPARLING, section 5.1): noisy black-and-white pictures of formulas; the label is their LaTeX source.
 * Formulas and noise are bit for bit those of the authors. latex_formula.h computes the layout of a page. This file
 * draws the page as pdflatex and poppler would, but with Latin Modern instead of Computer Modern: characters cover the
 * same pixels, but single grey values differ. The boxes of characters come from the layout. Background is 1, ink 0.
 * Create one `struct latex_font` for the domain's dpi and share it. Functions allocate nothing and keep no state, so
 * any number of threads may call. */
#ifndef MOTIF_CORE_DATA_LATEX_LATEX_H
#define MOTIF_CORE_DATA_LATEX_LATEX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/box.h"
#include "core/data/latex/latex_font.h"
#include "core/data/latex/latex_formula.h"

#define LATEX_MAX_IMAGE 4096

struct latex {
    int rows, cols;             /* size of the picture; the page is centred in it and cropped where it is larger */
    double dpi;                 /* pixels per inch */
    int min_tokens, max_tokens; /* range of the length of a formula, which is drawn uniformly; 0: an empty picture */
    int symbols;                /* number of symbols in use: the first ones of the list 0-9 x y z a b c */
    double noise;               /* share of all pixels that become black */
    int margin;                 /* boxes are larger than the ink by this many pixels on every side */
};

/* The truth about a picture. */
struct latex_truth {
    int length;
    int tokens[LATEX_MAX_TOKENS]; /* values of enum latex_token, without START and END */
    int count;
    /* Boxes in the order of the tokens; a box's symbol is an enum latex_class. A pixel is ink if more than a tenth of
     * it is covered. A character without ink has no box. */
    struct box boxes[LATEX_MAX_TOKENS];
};

/* Draws the page of a formula. grey: [rows][cols], 1 white, 0 black. `font` must have the domain's dpi; `truth` may be
 * NULL. STATUS_INVALID: the tokens are no formula. */
enum status latex_render(const struct latex *domain, const struct latex_font *font, const int *tokens, int count,
                         float *grey, struct latex_truth *truth, struct error *err);
/* Makes a grey picture black and white (white above 0.75) and adds the noise of sample `index` of the set whose seed is
 * `seed`, in place. */
void latex_add_noise(const struct latex *domain, int64_t seed, int64_t index, float *image);

/* Draws sample `index` of the set whose seed is `seed`. Training uses the run's seed, validation -1, test -2. image:
 * [rows][cols]; `truth` may be NULL. */
void latex_sample(const struct latex *domain, const struct latex_font *font, int64_t seed, int64_t index, float *image,
                  struct latex_truth *truth);

/* Seed of the noise generator: SHA-256 of the text [seed, index, "noise"] mod 2^32. */
uint32_t latex_noise_seed(int64_t seed, int64_t index);

/* Mean number of characters (a fraction bar counts as one) of the first `samples` formulas of the test set. */
double latex_mean_characters(const struct latex *domain, int samples);

#endif
