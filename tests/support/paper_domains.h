/* The paper's configuration of SPARLING's generated domains (section 5.1). */
#ifndef MOTIF_TESTS_SUPPORT_PAPER_DOMAINS_H
#define MOTIF_TESTS_SUPPORT_PAPER_DOMAINS_H

#include "core/data/audio/audio_sequence.h"
#include "core/data/digitcircle/digitcircle.h"
#include "core/data/latex/latex.h"

static inline struct digitcircle digitcircle_paper(void)
{
    return (struct digitcircle){.image_size = 100,
                                .classes = 10,
                                .min_symbols = 3,
                                .max_symbols = 6,
                                .shift = 3,
                                .min_radius = 20,
                                .pre_noise = 0.5,
                                .post_noise = 0.05};
}

static inline struct latex latex_paper(void)
{
    return (struct latex){.rows = 120,
                          .cols = 360,
                          .dpi = 200,
                          .min_tokens = 1,
                          .max_tokens = 30,
                          .symbols = LATEX_SYMBOLS,
                          .noise = 0.25,
                          .margin = 2};
}

/* 15 seconds at 8000 Hz, 5 to 10 words, noise 2^-10. */
static inline struct audio_sequence audio_sequence_paper(const struct audio_corpus *corpus, enum audio_part part)
{
    return (struct audio_sequence){.corpus = corpus,
                                   .part = part,
                                   .samples = 15 * 8000,
                                   .min_symbols = 5,
                                   .max_symbols = 10,
                                   .noise = 1.0 / 1024.0};
}

#endif
