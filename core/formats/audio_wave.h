/* Recordings: read from any format that libsndfile decodes, resampled, trimmed, and written as 16-bit WAV. Samples are
 * mono floats in [-1, 1]; several channels are averaged. Functions keep no state; any number of threads may call. */
#ifndef MOTIF_CORE_FORMATS_AUDIO_WAVE_H
#define MOTIF_CORE_FORMATS_AUDIO_WAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define AUDIO_RATE 8000 /* samples per second of the generated spoken words, and of data sets that state no rate */
#define AUDIO_WAVE_FRAMES (16 << 20)  /* largest number of samples of a recording, after a change of its rate */
#define AUDIO_WAVE_DECODED (64 << 20) /* largest number of samples of a file */
#define AUDIO_WAVE_RATES 384000       /* highest sample rate that is read */

struct audio_wave {
    int rate, count;
    int channels;   /* of the file, whose mean the samples are */
    float *samples; /* [count] samples; audio_wave_close() frees them */
    bool cut;       /* the file ended before the size that its header states */
    bool rounded;   /* 32-bit whole numbers lost digits */
};

/* Reads a file. STATUS_IO or STATUS_NOT_FOUND: it cannot be opened. STATUS_CORRUPT: it cannot be decoded. STATUS_LIMIT:
 * it has more than AUDIO_WAVE_DECODED frames. Messages name the file without its folder. The caller closes `wave`. */
enum status audio_wave_read(const char *path, struct audio_wave *wave, struct error *err);
/* Decodes a WAV file in memory: RIFF, RIFX (big-endian), RF64 or BW64. The bytes may be untrusted: other formats are
 * refused before libsndfile sees them. A file that ends early is read as far as it goes, and sets wave->cut. */
enum status audio_wave_decode(const void *bytes, size_t count, struct audio_wave *wave, struct error *err);
/* Reads what the header states: the rate, the number of samples and the channels; wave->samples stays NULL. Errors are
 * those of audio_wave_decode() that need no samples. */
enum status audio_wave_head(const void *bytes, size_t count, struct audio_wave *wave, struct error *err);
/* Writes 16-bit mono PCM; values outside [-1, 1] are clipped. */
enum status audio_wave_write(const char *path, const struct audio_wave *wave, struct error *err);
void audio_wave_close(struct audio_wave *wave);

/* Removes silence from both ends of a recording, except `margin` seconds at each end. Silence is where no window of 10
 * ms has a mean square above `share` of the loudest window's mean square. */
void audio_wave_trim(struct audio_wave *wave, double share, double margin);

/* Adds `seconds` of silence before and after the recording. */
enum status audio_wave_pad(struct audio_wave *wave, double seconds, struct error *err);

/* Changes the sample rate with a band-limited windowed sinc: 64 zero crossings on either side, cut-off at 0.9476 of the
 * lower Nyquist frequency, Kaiser window of beta 14.77. This is the filter of resampy's "kaiser_best"; resampy
 * interpolates a table of weights, this code computes the weights of each phase. Output sample j is at time j /
 * rate_out; a recording is silent beyond its ends. A resampler serves one pair of rates and one thread at a time,
 * because it computes a phase when a recording first needs it. Its memory grows with the number of phases, rate_out /
 * gcd(rate_in, rate_out). STATUS_LIMIT: there would be more than 4096 phases. */
struct audio_resampler;
enum status audio_resampler_create(int rate_in, int rate_out, struct audio_resampler **resampler, struct error *err);
void audio_resampler_destroy(struct audio_resampler *resampler); /* NULL is allowed */
/* Number of samples after `count` samples are resampled: ceil(count * rate_out / rate_in). */
int64_t audio_resampler_length(const struct audio_resampler *resampler, int count);
/* in: [count]; out: [audio_resampler_length(count)]. */
void audio_resample(struct audio_resampler *resampler, const float *in, int count, float *out);
/* Replaces the samples of `wave`. STATUS_INVALID: its rate is not rate_in. STATUS_LIMIT: the result would have more
 * than `most` samples. The function checks this before it computes anything: a file of two kilobytes whose header
 * claims a rate of 1 Hz would become half an hour of samples. */
enum status audio_wave_resample(struct audio_resampler *resampler, struct audio_wave *wave, int64_t most,
                                struct error *err);

#endif
