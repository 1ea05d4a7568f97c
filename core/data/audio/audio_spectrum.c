/* Computes mel spectrograms. One complex transform computes the transforms A and B of two neighbouring frames a and b:
 * with Z = FFT(a + ib), A_k = (Z_k + conj Z_-k) / 2 and B_k = (Z_k - conj Z_-k) / 2i. So a frame can change the result
 * of the other frame, but only by rounding errors. */
#include "core/data/audio/audio_spectrum.h"

#include <kiss_fft.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/audio_wave.h"

#define PI 3.14159265358979323846
#define LEAST 1e-10F

struct filter {
    int first, count; /* first frequency bin and number of bins of the filter */
    const float *weight;
};

struct audio_spectrum {
    int window, hop, bins, mels;
    float *hann;    /* [window] */
    float *weights; /* [mels][bins] */
    struct filter filter[AUDIO_MELS_MAX];
    kiss_fft_cfg transform;
};

static double mel_of(double frequency)
{
    return 2595.0 * log10(1.0 + frequency / 700.0);
}

static double frequency_of(double mel)
{
    return 700.0 * (pow(10.0, mel / 2595.0) - 1.0);
}

static void make_filters(struct audio_spectrum *s, double top)
{
    for (int m = 0; m < s->mels; m++) {
        double step = mel_of(top) / (s->mels + 1);
        double low = frequency_of(m * step), middle = frequency_of((m + 1) * step), high = frequency_of((m + 2) * step);
        float *row = s->weights + (size_t)m * (size_t)s->bins;
        struct filter *f = &s->filter[m];
        int first = s->bins, last = -1;
        for (int k = 0; k < s->bins; k++) {
            double at = top * k / (s->bins - 1);
            row[k] = (float)fmax(0.0, fmin((at - low) / (middle - low), (high - at) / (high - middle)));
            if (row[k] > 0.0F) {
                first = k < first ? k : first;
                last = k;
            }
        }
        *f = (struct filter){first, last - first + 1, row + first};
        if (last < 0)
            *f = (struct filter){0, 0, row};
    }
}

int audio_spectrum_window(int rate, int mels, double chunk)
{
    int window = rate > 0 && mels > 0 ? (int)fmin(2.0 * chunk * rate / mels, 1e6) : 0;
    for (bool product = rate == AUDIO_RATE || window < 2; !product;) {
        int rest = window;
        for (int prime = 2; prime <= 5; prime++)
            while (rest % prime == 0)
                rest /= prime;
        product = rest == 1;
        window -= !product;
    }
    return window;
}

enum status audio_spectrum_create(int rate, int mels, double chunk, struct audio_spectrum **spectrum, struct error *err)
{
    int window = audio_spectrum_window(rate, mels, chunk);
    if (window < 8 || window > AUDIO_WINDOW_MAX || mels > AUDIO_MELS_MAX) {
        return error_set(err, STATUS_INVALID, NULL, "no spectrogram of %d bands with windows of %d samples at %d Hz",
                         mels, window, rate);
    }
    struct audio_spectrum *s = calloc(1, sizeof *s);
    if (s == NULL)
        return error_memory(err, "a spectrogram");
    s->window = window;
    s->hop = window / 2;
    s->bins = window / 2 + 1;
    s->mels = mels;
    s->hann = malloc((size_t)window * sizeof *s->hann);
    s->weights = malloc((size_t)mels * (size_t)s->bins * sizeof *s->weights);
    s->transform = kiss_fft_alloc(window, 0, NULL, NULL);
    if (s->hann == NULL || s->weights == NULL || s->transform == NULL) {
        audio_spectrum_destroy(s);
        return error_memory(err, "a spectrogram");
    }
    for (int i = 0; i < window; i++)
        s->hann[i] = (float)(0.5 - 0.5 * cos(2.0 * PI * i / window));
    make_filters(s, 0.5 * rate);
    *spectrum = s;
    return STATUS_OK;
}

void audio_spectrum_destroy(struct audio_spectrum *s)
{
    if (s != NULL) {
        free(s->hann);
        free(s->weights);
        kiss_fft_free(s->transform);
        free(s);
    }
}

int audio_spectrum_hop(const struct audio_spectrum *s)
{
    return s->hop;
}

int audio_spectrum_frames(const struct audio_spectrum *s, int samples)
{
    return 1 + samples / s->hop;
}

/* Sample i of the recording, which is continued beyond its ends by reflection without repeating the end samples. */
static float reflected(const float *samples, int count, int i)
{
    i = i < 0 ? -i : i;
    return samples[i < count ? i : 2 * (count - 1) - i];
}

static void take_frame(const struct audio_spectrum *s, const float *samples, int count, int frame, float *out)
{
    int first = frame * s->hop - s->window / 2;
    if (first >= 0 && first + s->window <= count)
        memcpy(out, samples + first, (size_t)s->window * sizeof *out);
    else
        for (int i = 0; i < s->window; i++)
            out[i] = reflected(samples, count, first + i);
    for (int i = 0; i < s->window; i++)
        out[i] *= s->hann[i];
}

/* Computes the power spectra of two real frames. in: [window] and out: [window + 1] are memory to work in. */
static void transform_pair(const struct audio_spectrum *s, const float *a, const float *b, kiss_fft_cpx *in,
                           kiss_fft_cpx *out, float *power_a, float *power_b)
{
    for (int i = 0; i < s->window; i++)
        in[i] = (kiss_fft_cpx){a[i], b[i]};
    kiss_fft(s->transform, in, out);
    out[s->window] = out[0];
    for (int k = 0; k < s->bins; k++) {
        kiss_fft_cpx z = out[k], w = out[s->window - k];
        float ar = z.r + w.r, ai = z.i - w.i, br = z.i + w.i, bi = w.r - z.r;
        power_a[k] = 0.25F * (ar * ar + ai * ai);
        power_b[k] = 0.25F * (br * br + bi * bi);
    }
}

static void to_mels(const struct audio_spectrum *s, const float *power, float *out)
{
    for (int m = 0; m < s->mels; m++) {
        const struct filter *f = &s->filter[m];
        float sum = 0.0F;
        for (int k = 0; k < f->count; k++)
            sum += f->weight[k] * power[f->first + k];
        out[m] = 10.0F * log10f(fmaxf(sum, LEAST));
    }
}

enum status audio_spectrum_compute(const struct audio_spectrum *s, const float *samples, int count, float *out,
                                   struct error *err)
{
    size_t window = (size_t)s->window, mels = (size_t)s->mels, bins = (size_t)s->bins;
    int total = audio_spectrum_frames(s, count);
    size_t values = (size_t)total * mels;
    kiss_fft_cpx *in = malloc((2 * window + 1) * sizeof *in);
    float *frames = malloc(2 * (window + bins) * sizeof *frames);
    if (!in || !frames) {
        free(in);
        free(frames);
        return error_memory(err, "a spectrogram");
    }
    float *power = frames + 2 * window;
    for (int t = 0; t < total; t += 2) {
        bool both = t + 1 < total;
        take_frame(s, samples, count, t, frames);
        if (both)
            take_frame(s, samples, count, t + 1, frames + window);
        else
            memset(frames + window, 0, window * sizeof *frames);
        transform_pair(s, frames, frames + window, in, in + window, power, power + bins);
        to_mels(s, power, out + (size_t)t * mels);
        if (both)
            to_mels(s, power + bins, out + (size_t)(t + 1) * mels);
    }
    free(in);
    free(frames);
    float top = out[0];
    for (size_t i = 0; i < values; i++)
        top = fmaxf(top, out[i]);
    for (size_t i = 0; i < values; i++)
        out[i] = fmaxf(out[i], top - AUDIO_RANGE_DB);
    return STATUS_OK;
}
