/* AudioMNISTSequence (SPARLING, section 5.1): spoken words one after another in a longer clip with faint noise; the
 * label is the words in their order.
 *
 * A clip is a pure function of the domain and one generator: the draws and their order are those of the authors' code
 * under numpy. With AudioMNIST and audio_sequence_paper() the clips are the published ones (up to the resampler's
 * shape); other corpora, lengths and counts come from the same code. Nothing here allocates or keeps state: any number
 * of threads may call. */
#ifndef MOTIF_CORE_DATA_AUDIO_AUDIO_SEQUENCE_H
#define MOTIF_CORE_DATA_AUDIO_AUDIO_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/mt19937.h"
#include "core/data/audio/audio_corpus.h"
#include "core/data/box.h"

#define AUDIO_SYMBOLS_MAX 32

enum audio_part { AUDIO_TRAINING_SPEAKERS, AUDIO_NEW_SPEAKERS };

struct audio_sequence {
    const struct audio_corpus *corpus; /* sealed, borrowed */
    enum audio_part part;              /* whose voices */
    int samples;                       /* of a clip */
    int min_symbols, max_symbols;      /* words a clip, uniform; 0 gives noise alone */
    double noise;                      /* scale of a normal distribution cut off at one scale either side */
};

struct audio_truth {
    int count;
    int label[AUDIO_SYMBOLS_MAX];
    int start[AUDIO_SYMBOLS_MAX], length[AUDIO_SYMBOLS_MAX]; /* samples */
    const struct audio_clip *clip[AUDIO_SYMBOLS_MAX];        /* of the corpus */
};

/* 15 seconds, 5 to 10 words, noise 2^-10; the corpus is at 8000 Hz. */
struct audio_sequence audio_sequence_paper(const struct audio_corpus *corpus, enum audio_part part);

/* Calls `fault` for every way in which the domain makes no sense or words would hardly ever, or never, fit without
 * overlap (field names are those of the struct) and returns how many there were. Only a domain without faults may be
 * drawn. `fault` may be NULL. */
int audio_sequence_check(const struct audio_sequence *domain, void *context,
                         void (*fault)(void *context, const char *field, const char *detail));

/* The next clip of a stream: the authors' motif evaluation draws all of its clips from one generator, seeded 2^32 - 2.
 * audio: [samples]. `truth` may be NULL. */
void audio_sequence_draw(const struct audio_sequence *domain, struct mt19937 *rng, float *audio,
                         struct audio_truth *truth);
/* Sample `index` of the set `seed`. */
void audio_sequence_sample(const struct audio_sequence *domain, int64_t seed, int64_t index, float *audio,
                           struct audio_truth *truth);
/* One word in the middle of the clip, for training motifs directly (Appendix K: 24,000 samples). Returns its class. */
int audio_sequence_single(const struct audio_sequence *domain, int64_t seed, int64_t index, float *audio);

/* Where the words are in a map of `frames` columns over the clip: one row, [start * frames / samples, that + length *
 * frames / samples). boxes: [truth->count]. */
void audio_sequence_boxes(const struct audio_sequence *domain, const struct audio_truth *truth, int frames,
                          struct box *boxes);

#endif
