/* LaTeX-OCR (SPARLING, section 5.1): noisy black-and-white pictures of formulas, read as their LaTeX source.
 *
 * Formulas and noise are the authors' bit for bit. Pages are set by latex_layout.h and drawn as pdflatex and
 * poppler would, from Latin Modern instead of Computer Modern: characters lie on the same pixels, single grey
 * values differ. Boxes of characters come from the layout.
 *
 * Background is 1, ink 0. A `struct latex_font` for the domain's dpi is made once and shared; nothing here allocates
 * or keeps state, so any number of threads may call. */
#ifndef MOTIF_CORE_DATA_LATEX_LATEX_H
#define MOTIF_CORE_DATA_LATEX_LATEX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/box.h"
#include "core/data/latex/latex_font.h"
#include "core/data/latex/latex_grammar.h"
#include "core/data/latex/latex_layout.h"

#define LATEX_MAX_IMAGE 4096

struct latex {
    int rows, cols;             /* of the picture; the page is centred in it, and cut where it is larger */
    double dpi;                 /* pixels an inch */
    int min_tokens, max_tokens; /* lengths, uniform; 0 is the empty picture */
    int symbols;                /* how many of 0-9 x y z a b c occur, in this order */
    double noise;               /* share of all pixels made black */
    int margin;                 /* boxes are larger than their ink by this much on every side */
};

/* What is in a picture. */
struct latex_truth {
    int length;
    int tokens[LATEX_MAX_TOKENS]; /* enum latex_token, without START and END */
    int count;
    struct box boxes[LATEX_MAX_TOKENS]; /* in the order of the tokens, symbol: enum latex_class. Ink is a pixel
                                           that is more than a tenth covered; without any there is no box */
};

struct latex latex_paper(void);

/* Calls `fault` for every way in which the domain makes no sense (field names are those of the struct) and returns
 * how many there were. Only a domain without faults may be drawn. `fault` may be NULL. */
int latex_check(const struct latex *domain, void *context,
                void (*fault)(void *context, const char *field, const char *detail));

/* The page of a formula, grey: 1 white, 0 black. grey: [rows][cols]. `truth` may be NULL.
 * STATUS_INVALID when the tokens are no formula. `font` has the domain's dpi. */
enum status latex_render(const struct latex *domain, const struct latex_font *font, const int *tokens, int count,
                         float *grey, struct latex_truth *truth, struct error *err);
/* Grey to black and white (white above 0.75), and the noise of sample `index` of the set `seed`. In place. */
void latex_add_noise(const struct latex *domain, int64_t seed, int64_t index, float *image);

/* Sample `index` of the set `seed` (training: the run's seed; validation -1, test -2). image: [rows][cols];
 * `truth` may be NULL. */
void latex_sample(const struct latex *domain, const struct latex_font *font, int64_t seed, int64_t index, float *image,
                  struct latex_truth *truth);

/* The seed of the noise's generator: SHA-256 of the text [seed, index, "noise"] mod 2^32. */
uint32_t latex_noise_seed(int64_t seed, int64_t index);

/* Mean number of characters (a fraction bar is one) of the first `samples` formulas of the test set. */
double latex_mean_characters(const struct latex *domain, int samples);

#endif
