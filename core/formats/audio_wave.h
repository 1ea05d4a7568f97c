/* Recordings: read from any format that libsndfile decodes, brought to another rate, cut to what is heard,
 * written as 16-bit WAV. Samples are mono floats in [-1, 1]; several channels are averaged. Pure functions
 * but for the files they name; any thread. */
#ifndef MOTIF_CORE_FORMATS_AUDIO_WAVE_H
#define MOTIF_CORE_FORMATS_AUDIO_WAVE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define AUDIO_RATE 8000              /* that speech is learned and heard at */
#define AUDIO_WAVE_FRAMES (16 << 20) /* longest recording that is read */
#define AUDIO_WAVE_RATES 384000      /* highest rate */

struct audio_wave {
    int rate, count;
    float *samples; /* [count]; audio_wave_close() frees it */
};

/* STATUS_IO or STATUS_NOT_FOUND when the file cannot be opened, STATUS_CORRUPT when it does not decode,
 * STATUS_LIMIT when it is too long. Messages name the file without its folder. */
enum status audio_wave_read(const char *path, struct audio_wave *wave, struct error *err);
/* A WAV file in memory, of strangers perhaps: other formats are refused before a decoder sees them. */
enum status audio_wave_decode(const void *bytes, size_t count, struct audio_wave *wave, struct error *err);
/* PCM, 16 bits, mono; values beyond [-1, 1] are clipped. */
enum status audio_wave_write(const char *path, const struct audio_wave *wave, struct error *err);
void audio_wave_close(struct audio_wave *wave);

/* Cuts away both ends where no window of 10 ms has a mean square above `share` of the loudest window's, but keeps
 * `margin` seconds of them. */
void audio_wave_trim(struct audio_wave *wave, double share, double margin);

/* Puts `seconds` of silence on either side. */
enum status audio_wave_pad(struct audio_wave *wave, double seconds, struct error *err);

/* Band-limited change of rate by a windowed sinc: 64 zero crossings either side, cut off at 0.9476 of the
 * lower Nyquist frequency, Kaiser window of beta 14.77 (the shape of resampy's "kaiser_best", whose table
 * interpolates where this computes each phase). Output sample j lies at time j/rate; beyond its ends a
 * recording is silent. A resampler is for one pair of rates and one thread at a time: phases are computed when a
 * recording first needs them. Memory is proportional to rate_out/gcd phases (STATUS_LIMIT beyond 4096 of them). */
struct audio_resampler;
enum status audio_resampler_create(int rate_in, int rate_out, struct audio_resampler **resampler, struct error *err);
void audio_resampler_destroy(struct audio_resampler *resampler); /* NULL is fine */
/* ceil(count * rate_out / rate_in) */
int64_t audio_resampler_length(const struct audio_resampler *resampler, int count);
/* out: [audio_resampler_length(count)] */
void audio_resample(struct audio_resampler *resampler, const float *in, int count, float *out);
/* In place of the wave's samples; STATUS_INVALID when it has another rate, STATUS_LIMIT when it would have more than
 * `most`, which is found out before anything is computed: at 1 Hz a file of two thousand bytes is half an hour. */
enum status audio_wave_resample(struct audio_resampler *resampler, struct audio_wave *wave, int64_t most,
                                struct error *err);

#endif
