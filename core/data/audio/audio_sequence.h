/* AudioMNISTSequence (SPARLING, section 5.1): spoken words one after another in a longer clip with faint noise; the
 * label is the sequence of words.
 *
 * A clip is a pure function of the domain and one generator; draws and their order are those of the authors' code under
 * numpy. With AudioMNIST and the paper's values the clips are the published ones (up to the resampler's filter);
 * other corpora, lengths and counts use the same code. Functions allocate nothing and keep no state: any number of
 * threads may call. */
#ifndef MOTIF_CORE_DATA_AUDIO_AUDIO_SEQUENCE_H
#define MOTIF_CORE_DATA_AUDIO_AUDIO_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/random/mt19937.h"
#include "core/data/audio/audio_corpus.h"
#include "core/data/box.h"

#define AUDIO_SYMBOLS_MAX 32

enum audio_part { AUDIO_TRAINING_SPEAKERS, AUDIO_NEW_SPEAKERS };

struct audio_sequence {
    const struct audio_corpus *corpus; /* sealed, borrowed */
    enum audio_part part;              /* the speakers whose recordings are used */
    int samples;                       /* length of a clip in samples */
    int min_symbols, max_symbols;      /* range of the number of words, which is drawn uniformly; 0 words: noise only */
    double noise;                      /* scale of a normal distribution that is truncated at +- one scale */
};

struct audio_truth {
    int count;
    int label[AUDIO_SYMBOLS_MAX];
    int start[AUDIO_SYMBOLS_MAX], length[AUDIO_SYMBOLS_MAX]; /* in samples */
    const struct audio_clip *clip[AUDIO_SYMBOLS_MAX];        /* recordings of the corpus */
};

/* Checks a domain. Calls `fault` (which may be NULL) for every fault, with the name of the struct's field, and returns
 * the number of faults. Words that would rarely or never fit without overlap are a fault too. The functions below
 * require a domain without faults. */
int audio_sequence_check(const struct audio_sequence *domain, void *context,
                         void (*fault)(void *context, const char *field, const char *detail));

/* Draws the next clip from a generator. The authors' motif evaluation draws all clips from one generator, seeded with
 * 2^32 - 2. audio: [samples]. `truth` may be NULL. */
void audio_sequence_draw(const struct audio_sequence *domain, struct mt19937 *rng, float *audio,
                         struct audio_truth *truth);
/* Draws sample `index` of the set whose seed is `seed`. */
void audio_sequence_sample(const struct audio_sequence *domain, int64_t seed, int64_t index, float *audio,
                           struct audio_truth *truth);
/* Draws one word in the middle of the clip, for training motifs directly (Appendix K: 24,000 samples). Returns its
 * class. */
int audio_sequence_single(const struct audio_sequence *domain, int64_t seed, int64_t index, float *audio);

/* Computes the boxes of the words in a map that has one row and covers the clip with `frames` columns. A box begins at
 * column start * frames / samples and has length * frames / samples columns. boxes: [truth->count]. */
void audio_sequence_boxes(const struct audio_sequence *domain, const struct audio_truth *truth, int frames,
                          struct box *boxes);

#endif
