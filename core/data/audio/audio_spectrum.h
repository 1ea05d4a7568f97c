/* Mel spectrograms in decibels, as SPARLING's audio domain computes them (section 5.1 with the authors' code).
 *
 * Frames of `window` samples every `hop`, centred on multiples of the hop with the ends reflected; periodic Hann
 * window; power spectrum; `mels` triangular filters, evenly spaced on the HTK mel scale from 0 Hz to half the rate,
 * without area normalisation; 10 log10, floored at 80 dB below the clip's largest value. The filters see bin k at
 * rate/2 * k / (bins - 1), not at its true frequency rate * k / window: that is how the published data were made. */
#ifndef MOTIF_CORE_DATA_AUDIO_AUDIO_SPECTRUM_H
#define MOTIF_CORE_DATA_AUDIO_AUDIO_SPECTRUM_H

#include "core/base/error.h"

#define AUDIO_WINDOW_MAX 2048
#define AUDIO_MELS_MAX 512
#define AUDIO_RANGE_DB 80.0F

struct audio_spectrum; /* read-only once made: any number of threads may compute with one */

/* window = trunc(2 * chunk * rate / mels) samples, hop = half of it; the paper: 8000 Hz, 64, 1.5 -> 375, 187. */
enum status audio_spectrum_create(int rate, int mels, double chunk, struct audio_spectrum **spectrum,
                                  struct error *err);
void audio_spectrum_destroy(struct audio_spectrum *spectrum); /* NULL is fine */

int audio_spectrum_mels(const struct audio_spectrum *spectrum);
int audio_spectrum_hop(const struct audio_spectrum *spectrum);
int audio_spectrum_window(const struct audio_spectrum *spectrum);
/* 1 + samples / hop */
int audio_spectrum_frames(const struct audio_spectrum *spectrum, int samples);
/* Weight of frequency bin `bin` in filter `mel`. */
float audio_spectrum_weight(const struct audio_spectrum *spectrum, int mel, int bin);

/* samples: [count], count > window / 2; out: [frames][mels], decibels. */
void audio_spectrum_compute(const struct audio_spectrum *spectrum, const float *samples, int count, float *out);

#endif
