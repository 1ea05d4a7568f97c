/* Mel spectrograms in decibels, as the authors' code of SPARLING's audio domain computes them (section 5.1).
 *
 * A frame has `window` samples, weighted by a periodic Hann window, and is centred on a multiple of `hop`. The
 * recording is continued by reflection at its ends. The power spectrum of a frame passes `mels` triangular filters,
 * which are evenly spaced on the HTK mel scale from 0 Hz to half the rate and not normalised by area. The result is 10
 * log10 of each filter's output, at least the clip's largest value minus 80 dB. The filters place bin k at rate/2 * k /
 * (bins - 1) instead of its true frequency rate * k / window, because the published data were made so. */
#ifndef MOTIF_CORE_DATA_AUDIO_AUDIO_SPECTRUM_H
#define MOTIF_CORE_DATA_AUDIO_AUDIO_SPECTRUM_H

#include "core/base/error.h"

#define AUDIO_WINDOW_MAX 32768
#define AUDIO_MELS_MAX 512
#define AUDIO_RANGE_DB 80.0F

struct audio_spectrum; /* immutable after its creation: any number of threads may use it */

/* Returns the number of samples of a window, trunc(2 * chunk * rate / mels). At another rate than the paper's 8000 Hz,
 * it is the largest product of 2, 3 and 5 that is not larger, because the transform of other lengths can take a hundred
 * times as long. */
int audio_spectrum_window(int rate, int mels, double chunk);

/* Creates a spectrum with this window and a hop of half as many samples. The paper has rate 8000 Hz, 64 mels and chunk
 * 1.5, so a window of 375 and a hop of 187 samples. The caller destroys the spectrum. */
enum status audio_spectrum_create(int rate, int mels, double chunk, struct audio_spectrum **spectrum,
                                  struct error *err);
void audio_spectrum_destroy(struct audio_spectrum *spectrum); /* NULL is allowed */

int audio_spectrum_hop(const struct audio_spectrum *spectrum);
/* Number of frames of a clip: 1 + samples / hop. */
int audio_spectrum_frames(const struct audio_spectrum *spectrum, int samples);

/* Computes a spectrogram. samples: [count], count > window / 2; out: [frames][mels] in decibels. STATUS_NO_MEMORY. */
enum status audio_spectrum_compute(const struct audio_spectrum *spectrum, const float *samples, int count, float *out,
                                   struct error *err);

#endif
