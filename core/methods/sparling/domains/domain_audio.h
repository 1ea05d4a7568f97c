/* Configuration of the domain AudioMNISTSequence; core/data/audio/audio_sequence.h draws its clips.
 *
 * The input is a mel spectrogram: a sequence whose channels are the bands. The test set (seed -2) and the examples use
 * the new speakers of a data set, all other seeds the training speakers. An evaluation with seed -1 therefore measures
 * errors on the voices that were trained on. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_AUDIO_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_AUDIO_H

#include <stdint.h>

#include "core/base/config.h"

enum audio_scale { AUDIO_DECIBELS, AUDIO_UNITS };
extern const char *const audio_scale_names[];

struct audio_config {
    char dataset[CONFIG_TEXT];
    int64_t classes, min_symbols, max_symbols, mels, tokens;
    double seconds, noise;
    int scale;
};

/* clang-format off */
#define AUDIO_FIELDS                                                                                                   \
    DOMAIN_TEXT(audio, dataset, "audio_dataset", "spoken-digits", BASIC,                                               \
                "Name of a data set of recordings; the command 'motifd dataset audio' makes spoken-digits."),          \
    DOMAIN_INTEGER(audio, classes, "audio_classes", "10", 2, 32, "words", ADVANCED,                                    \
                   "Number of different words in the data set; more words need more motif channels."),                 \
    DOMAIN_INTEGER(audio, min_symbols, "audio_min_symbols", "5", 0, 32, "words", ADVANCED,                             \
                   "Smallest number of words of a clip; a larger one makes the shortest labels longer."),              \
    DOMAIN_INTEGER(audio, max_symbols, "audio_max_symbols", "10", 1, 32, "words", ADVANCED,                            \
                   "Largest number of words of a clip; a larger one makes labels longer and harder to learn."),        \
    DOMAIN_REAL(audio, seconds, "audio_seconds", "15", 0.5, 60, "s", ADVANCED,                                         \
                "Length of a clip; a longer clip has room for more words and takes more time."),                       \
    DOMAIN_REAL(audio, noise, "audio_noise", "0.0009765625", 0, 1, "", RESEARCH,                                       \
                "Amplitude of the noise that is added to a clip, where full scale is 1; more noise makes words "       \
                "harder to recognise."),                                                                               \
    DOMAIN_INTEGER(audio, mels, "audio_mels", "64", 16, 128, "bands", RESEARCH,                                        \
                   "Mel bands of the spectrogram; more bands shorten its windows of 24000/audio_mels samples."),       \
    DOMAIN_CHOICE(audio, scale, "audio_scale", "decibels", audio_scale_names, RESEARCH,                                \
                  "Scale of the spectrogram's levels: decibels (as in the paper), or units (a level of x dB becomes "  \
                  "(x + 40) / 20)."),                                                                                  \
    DOMAIN_INTEGER(audio, tokens, "audio_tokens", "0", 0, 64, "words", RESEARCH,                                       \
                   "Words in the vocabulary of the head; a number above audio_classes adds words that "                \
                   "never occur, and 0 means audio_classes.")
/* clang-format on */

#endif
