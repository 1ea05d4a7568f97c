/* AudioMNISTSequence (core/data/audio/audio_sequence.h) as a domain of SPARLING: a mel spectrogram is a sequence whose
 * bands are its channels. Tests (seed -2) and examples hear the new speakers of a data set, every other seed the
 * training speakers: so an evaluation with seed -1 gives the figures of the voices that were trained on. */
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

#define AUDIO_FIELDS                                                                                                   \
    DOMAIN_TEXT(                                                                                                       \
        audio, dataset, "audio_dataset", "spoken-digits",                                                              \
        "data set of recordings, by its name in the daemon's folder; motifd dataset audio makes spoken-digits"),       \
        DOMAIN_INTEGER(audio, classes, "audio_classes", "10", 2, 32, "words", "different words in the data set"),      \
        DOMAIN_INTEGER(audio, min_symbols, "audio_min_symbols", "5", 0, 32, "words", "fewest words of a clip"),        \
        DOMAIN_INTEGER(audio, max_symbols, "audio_max_symbols", "10", 1, 32, "words", "most words of a clip"),         \
        DOMAIN_REAL(audio, seconds, "audio_seconds", "15", 0.5, 60, "s", "length of a clip"),                          \
        DOMAIN_REAL(audio, noise, "audio_noise", "0.0009765625", 0, 1, "",                                             \
                    "noise added to a clip, against full scale 1"),                                                    \
        DOMAIN_INTEGER(                                                                                                \
            audio, mels, "audio_mels", "64", 16, 128, "bands",                                                         \
            "bands of the spectrogram; its windows are 24000/bands samples of 8 kHz, a frame every half window"),      \
        DOMAIN_CHOICE(audio, scale, "audio_scale", "decibels", audio_scale_names,                                      \
                      "spectrogram in decibels (the paper), or in units of 20 dB above -40 dB"),                       \
        DOMAIN_INTEGER(audio, tokens, "audio_tokens", "0", 0, 64, "words",                                             \
                       "words the head can say; 0: as many as there are")

#endif
