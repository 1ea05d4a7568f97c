/* Reads recordings with libsndfile and resamples them. Before libsndfile sees a WAV file from a user, the file is cut
 * down to the chunks that the decoder needs (struct memory), because libsndfile would read other chunks for minutes. */
#include "core/formats/audio_wave.h"

#include <errno.h>
#include <math.h>
#include <sndfile.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 4096                         /* frames decoded in one call */
enum { GSM_BYTES = 65, GSM_FRAMES = 320 }; /* of a block of GSM 6.10 */

/* ---- reading --------------------------------------------------------------------------------- */

/* The largest size in bytes of a chunk that describes the samples. The longest such chunk in use, that of MS ADPCM,
 * has 50 bytes. */
#define FACTS_MOST 128
#define STREAMED 0x7FFF0000u /* an encoder that streams does not know the size, and writes 0 or a number above this */

/* A WAV file as libsndfile sees it (the "virtual file"). It contains only the format, the number of samples (if the
 * file states it) and the samples. Other chunks are left out, and sizes that point beyond the end of the file are
 * corrected. */
struct memory {
    char head[12 + 2 * (8 + FACTS_MOST) + 8];
    const char *samples;
    sf_count_t head_bytes, count, at; /* head_bytes: bytes of `head`; count: bytes of the whole virtual file; at: the
                                       * read position */
    bool big;                         /* the numbers are big-endian (RIFX) */
    uint64_t long_bytes;              /* bytes of the samples by the chunk ds64 of RF64 and BW64; 0: no such chunk */
    bool cut;
};

static uint64_t number_at(const struct memory *m, const char *at, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++)
        number = number << 8 | (unsigned char)at[m->big ? i : bytes - 1 - i];
    return number;
}

static void put_number(const struct memory *m, char *to, size_t number)
{
    for (int i = 0; i < 4; i++)
        to[i] = (char)(unsigned char)(number >> 8 * (m->big ? 3 - i : i));
}

/* Adds a chunk's header and the first `given` bytes of its contents. The caller adds the rest. */
static void put_chunk(struct memory *m, const char *kind, const char *bytes, size_t given, size_t size)
{
    char *to = m->head + m->head_bytes;
    memcpy(to, kind, 4);
    put_number(m, to + 4, size);
    memcpy(to + 8, bytes, given);
    m->head_bytes += (sf_count_t)(8 + given);
}

/* Adds the samples, of which `left` bytes are there at most. */
static void put_samples(struct memory *m, const char *samples, uint64_t size, size_t left)
{
    if (m->long_bytes > 0 && size >= STREAMED)
        size = m->long_bytes;
    bool unknown = size == 0 || (size >= STREAMED && size != m->long_bytes);
    m->cut = !unknown && size > left;
    size_t most = unknown || size > left ? left : (size_t)size;
    put_chunk(m, "data", "", 0, most);
    m->samples = samples;
    m->count = m->head_bytes + (sf_count_t)most;
    put_number(m, m->head + 4, (size_t)m->count - 8);
}

/* Lays out the virtual file. False: the file has no samples, no format chunk precedes them, or a chunk before them is
 * repeated, too long or not complete. */
static bool lay_out(const char *bytes, size_t count, struct memory *m)
{
    bool format = false, number = false;
    m->big = memcmp(bytes, "RIFX", 4) == 0;
    put_chunk(m, m->big ? "RIFX" : "RIFF", "WAVE", 4, 0);
    for (size_t at = 12; at < count && count - at >= 8;) {
        const char *chunk = bytes + at;
        size_t size = (size_t)number_at(m, chunk + 4, 4), left = count - at - 8;
        if (memcmp(chunk, "data", 4) == 0) {
            put_samples(m, chunk + 8, size, left);
            return format;
        }
        if (memcmp(chunk, "ds64", 4) == 0 && left >= 16) /* sizes of the file and of its samples, 8 bytes each */
            m->long_bytes = number_at(m, chunk + 16, 8);
        bool *first = memcmp(chunk, "fmt ", 4) == 0 ? &format : memcmp(chunk, "fact", 4) == 0 ? &number : NULL;
        if (size > left || (first != NULL && (*first || size > FACTS_MOST || size % 2 != 0)))
            return false;
        if (first != NULL) {
            put_chunk(m, chunk, chunk + 8, size, size);
            *first = true;
        }
        at += 8 + size + size % 2;
    }
    return false;
}

static sf_count_t memory_length(void *context)
{
    const struct memory *m = context;
    return m->count;
}

static sf_count_t memory_seek(sf_count_t offset, int whence, void *context)
{
    struct memory *m = context;
    sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? m->at : m->count;
    if (base + offset < 0)
        return -1;
    /* A chunk of odd length ends with a padding byte, which may be missing in the file. So a seek beyond the end
     * goes to the end. */
    m->at = base + offset < m->count ? base + offset : m->count;
    return m->at;
}

static sf_count_t memory_read(void *to, sf_count_t count, void *context)
{
    struct memory *m = context;
    sf_count_t left = m->count - m->at, taken = count < left ? count : left;
    sf_count_t before = m->at < m->head_bytes ? m->head_bytes - m->at : 0, head = before < taken ? before : taken;
    if (head > 0)
        memcpy(to, m->head + m->at, (size_t)head);
    if (taken > head)
        memcpy((char *)to + head, m->samples + (m->at + head - m->head_bytes), (size_t)(taken - head));
    m->at += taken;
    return taken;
}

static sf_count_t memory_write(const void *from, sf_count_t count, void *context)
{
    return 0;
}

static sf_count_t memory_tell(void *context)
{
    const struct memory *m = context;
    return m->at;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Decodes block by block and averages the channels. */
static enum status decode(SNDFILE *file, const SF_INFO *info, const char *name, struct audio_wave *wave,
                          struct error *err)
{
    size_t channels = (size_t)info->channels;
    double *block = malloc(BLOCK * channels * sizeof *block);
    bool whole = (info->format & SF_FORMAT_SUBMASK) == SF_FORMAT_PCM_32;
    wave->samples = calloc((size_t)info->frames + 1, sizeof *wave->samples);
    if (block == NULL || wave->samples == NULL) {
        free(block);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the recording %.80s", name);
    }
    int64_t done = 0;
    while (done < info->frames) {
        sf_count_t got = sf_readf_double(file, block, info->frames - done < BLOCK ? info->frames - done : BLOCK);
        if (got <= 0)
            break;
        for (size_t i = 0; i < (size_t)got; i++) {
            float sum = 0.0F;
            for (size_t c = 0; c < channels; c++) {
                float value = (float)block[i * channels + c];
                wave->rounded |= whole && (double)value != block[i * channels + c];
                sum += value;
            }
            wave->samples[(size_t)done + i] = sum / (float)channels;
        }
        done += got;
    }
    free(block);
    if (done != info->frames) {
        return error_set(err, STATUS_CORRUPT, NULL, "%.80s ends early: %lld of %lld samples", name, (long long)done,
                         (long long)info->frames);
    }
    for (int64_t i = 0; i < done; i++)
        if (!isfinite(wave->samples[i]))
            return error_set(err, STATUS_CORRUPT, NULL,
                             "%.80s: sample %lld is not finite, or beyond single precision (3.4e38)", name,
                             (long long)i);
    return STATUS_OK;
}

/* head: only what the header states. */
static enum status read_open(SNDFILE *file, const SF_INFO *info, const char *name, bool head, struct audio_wave *wave,
                             struct error *err)
{
    enum status status;
    *wave = (struct audio_wave){0};
    if (file == NULL) {
        return error_set(err, STATUS_CORRUPT, NULL, "%.80s cannot be decoded as a recording: %.100s", name,
                         sf_strerror(NULL));
    }
    if (info->frames < 0 || info->frames > AUDIO_WAVE_DECODED || info->samplerate < 1 ||
        info->samplerate > AUDIO_WAVE_RATES || info->channels < 1 || info->channels > 64) {
        status = error_set(
            err, STATUS_LIMIT, NULL,
            "%.80s has %lld samples of %d channels at %d Hz; allowed are %d samples, 64 channels and 1 to %d Hz: "
            "cut it into shorter files",
            name, (long long)info->frames, info->channels, info->samplerate, AUDIO_WAVE_DECODED, AUDIO_WAVE_RATES);
    } else {
        wave->count = (int)info->frames;
        wave->rate = info->samplerate;
        wave->channels = info->channels;
        status = head ? STATUS_OK : decode(file, info, name, wave, err);
    }
    (void)sf_close(file);
    if (status)
        audio_wave_close(wave);
    return status;
}

enum status audio_wave_read(const char *path, struct audio_wave *wave, struct error *err)
{
    SF_INFO info = {0};
    errno = 0;
    SNDFILE *file = sf_open(path, SFM_READ, &info);
    if (file == NULL && sf_error(NULL) == SF_ERR_SYSTEM) {
        *wave = (struct audio_wave){0};
        return error_set(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, NULL, "%.80s cannot be opened",
                         name_of(path));
    }
    return read_open(file, &info, name_of(path), false, wave, err);
}

static enum status read_bytes(const void *bytes, size_t count, bool head, struct audio_wave *wave, struct error *err)
{
    static const char *const beginnings[] = {"RIFF", "RIFX", "RF64", "BW64"};
    struct memory memory = {.at = 0};
    bool known = false;
    *wave = (struct audio_wave){0};
    for (int i = 0; i < 4 && count >= 12; i++)
        known = known || memcmp(bytes, beginnings[i], 4) == 0;
    if (!known || memcmp((const char *)bytes + 8, "WAVE", 4) != 0)
        return error_set(err, STATUS_CORRUPT, NULL,
                         "not a WAV file: it does not begin with RIFF, RIFX, RF64 or BW64 and WAVE");
    if (!lay_out(bytes, count, &memory)) {
        return error_set(
            err, STATUS_CORRUPT, NULL,
            "a WAV file that has no format chunk before its samples, or a chunk that ends beyond the file");
    }
    SF_INFO info = {0};
    SF_VIRTUAL_IO io = {memory_length, memory_seek, memory_read, memory_write, memory_tell};
    SNDFILE *file = sf_open_virtual(&io, SFM_READ, &info, &memory);
    sf_count_t frames = (memory.count - memory.head_bytes) / GSM_BYTES * GSM_FRAMES;
    if ((info.format & SF_FORMAT_SUBMASK) == SF_FORMAT_GSM610 && info.frames > frames)
        info.frames = frames; /* libsndfile counts a block that the file does not have */
    enum status status = read_open(file, &info, "the recording", head, wave, err);
    wave->cut = !status && memory.cut;
    return status;
}

enum status audio_wave_head(const void *bytes, size_t count, struct audio_wave *wave, struct error *err)
{
    return read_bytes(bytes, count, true, wave, err);
}

enum status audio_wave_decode(const void *bytes, size_t count, struct audio_wave *wave, struct error *err)
{
    return read_bytes(bytes, count, false, wave, err);
}

enum status audio_wave_write(const char *path, const struct audio_wave *wave, struct error *err)
{
    SF_INFO info = {.samplerate = wave->rate, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16};
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    if (file == NULL)
        return error_set(err, STATUS_IO, NULL, "%.80s cannot be written: %.100s", name_of(path), sf_strerror(NULL));
    (void)sf_command(file, SFC_SET_CLIPPING, NULL, SF_TRUE);
    bool whole = sf_writef_float(file, wave->samples, wave->count) == wave->count;
    whole = sf_close(file) == 0 && whole;
    return whole ? STATUS_OK : error_set(err, STATUS_IO, NULL, "%.80s was not written in full", name_of(path));
}

void audio_wave_close(struct audio_wave *wave)
{
    free(wave->samples);
    *wave = (struct audio_wave){0};
}

/* ---- silence --------------------------------------------------------------------------------- */

static double power(const float *samples, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += (double)samples[i] * (double)samples[i];
    return sum;
}

void audio_wave_trim(struct audio_wave *wave, double share, double margin)
{
    int window = wave->rate / 100, windows = window > 0 ? wave->count / window : 0;
    double loudest = 0.0;
    for (int i = 0; i < windows; i++)
        loudest = fmax(loudest, power(wave->samples + i * window, window));
    if (loudest <= 0.0)
        return;
    int first = 0, last = windows - 1;
    while (power(wave->samples + first * window, window) <= share * loudest)
        first++;
    while (power(wave->samples + last * window, window) <= share * loudest)
        last--;
    int keep = (int)(margin * wave->rate), begin = first * window - keep, end = (last + 1) * window + keep;
    begin = begin > 0 ? begin : 0;
    end = end < wave->count ? end : wave->count;
    memmove(wave->samples, wave->samples + begin, (size_t)(end - begin) * sizeof *wave->samples);
    wave->count = end - begin;
}

enum status audio_wave_pad(struct audio_wave *wave, double seconds, struct error *err)
{
    int more = (int)(seconds * wave->rate);
    float *padded = calloc((size_t)wave->count + 2 * (size_t)more + 1, sizeof *padded);
    if (padded == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a recording of %d samples", wave->count);
    memcpy(padded + more, wave->samples, (size_t)wave->count * sizeof *padded);
    free(wave->samples);
    wave->samples = padded;
    wave->count += 2 * more;
    return STATUS_OK;
}

/* ---- change of rate -------------------------------------------------------------------------- */

#define ZEROS 64
#define ROLLOFF 0.9475937167399596
#define BETA 14.769656459379492
#define MAX_PHASES 4096

/* Computes output sample j from the input around position j * in / out = whole + rest / out, where whole and rest are
 * integers and 0 <= rest < out. The filter's weights depend on `rest` alone, which is called the phase. There are `out`
 * phases of `taps` weights each; the first weight belongs to input sample whole - reach + 1. */
struct audio_resampler {
    int in, out; /* in: rate_in, out: rate_out, each divided by the greatest common divisor of both */
    int rate_in, rate_out;
    int reach, taps;
    double scale;   /* the smaller of the two rates divided by the input rate */
    float *weights; /* [out][taps] */
    bool *known;    /* [out] whether the weights of each phase have been computed */
};

static int divisor(int a, int b)
{
    while (b != 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Modified Bessel function of the first kind and order 0, by its power series. */
static double bessel0(double x)
{
    double sum = 1.0, term = 1.0;
    for (int k = 1; term > 1e-17 * sum; k++) {
        term *= (x / (2.0 * k)) * (x / (2.0 * k));
        sum += term;
    }
    return sum;
}

/* The filter at time t. The unit of t is one sample at the smaller of the two rates. */
static double kernel(double t)
{
    double u = t / ZEROS, x = 3.14159265358979323846 * ROLLOFF * t;
    if (fabs(u) >= 1.0)
        return 0.0;
    double sinc = fabs(x) < 1e-9 ? 1.0 : sin(x) / x;
    return ROLLOFF * sinc * bessel0(BETA * sqrt(1.0 - u * u)) / bessel0(BETA);
}

enum status audio_resampler_create(int rate_in, int rate_out, struct audio_resampler **resampler, struct error *err)
{
    if (rate_in < 1 || rate_out < 1 || rate_in > AUDIO_WAVE_RATES || rate_out > AUDIO_WAVE_RATES) {
        return error_set(err, STATUS_INVALID, NULL,
                         "cannot resample from %d to %d Hz: rates must be from 1 to 384000 Hz", rate_in, rate_out);
    }
    int common = divisor(rate_in, rate_out), in = rate_in / common, out = rate_out / common;
    double scale = fmin(1.0, (double)out / in); /* the smaller of the two rates divided by the input rate */
    int reach = (int)ceil(ZEROS / scale), taps = 2 * reach;
    if (out > MAX_PHASES || taps > MAX_PHASES) {
        return error_set(
            err, STATUS_LIMIT, NULL,
            "resampling from %d Hz to %d Hz needs too large a filter; resample the recordings before the upload",
            rate_in, rate_out);
    }
    struct audio_resampler *r = calloc(1, sizeof *r);
    if (r != NULL) {
        *r = (struct audio_resampler){.in = in,
                                      .out = out,
                                      .rate_in = rate_in,
                                      .rate_out = rate_out,
                                      .reach = reach,
                                      .taps = taps,
                                      .scale = scale};
        r->weights = malloc((size_t)out * (size_t)taps * sizeof *r->weights);
        r->known = calloc((size_t)out, sizeof *r->known);
    }
    if (r == NULL || r->weights == NULL || r->known == NULL) {
        audio_resampler_destroy(r);
        return error_memory(err, "a resampler");
    }
    *resampler = r;
    return STATUS_OK;
}

void audio_resampler_destroy(struct audio_resampler *resampler)
{
    if (resampler != NULL) {
        free(resampler->weights);
        free(resampler->known);
        free(resampler);
    }
}

int64_t audio_resampler_length(const struct audio_resampler *r, int count)
{
    return ((int64_t)count * r->out + r->in - 1) / r->in;
}

/* Computes a phase's weights when they are first needed. There may be 4096 phases of 4096 weights each, but a recording
 * of a few samples needs only a few phases. */
static const float *weights_of(struct audio_resampler *r, int phase)
{
    float *weight = r->weights + (size_t)phase * (size_t)r->taps;
    for (int i = 0; !r->known[phase] && i < r->taps; i++) {
        double distance = (double)phase / r->out - (i - r->reach + 1);
        weight[i] = (float)(r->scale * kernel(r->scale * distance));
    }
    r->known[phase] = true;
    return weight;
}

void audio_resample(struct audio_resampler *r, const float *in, int count, float *out)
{
    int64_t length = audio_resampler_length(r, count);
    for (int64_t j = 0; j < length; j++) {
        int64_t at = j * r->in;
        int whole = (int)(at / r->out), first = whole - r->reach + 1;
        const float *weight = weights_of(r, (int)(at % r->out));
        int from = first < 0 ? -first : 0, to = count - first < r->taps ? count - first : r->taps;
        double sum = 0.0;
        for (int i = from; i < to; i++)
            sum += (double)weight[i] * (double)in[first + i];
        out[j] = (float)sum;
    }
}

enum status audio_wave_resample(struct audio_resampler *r, struct audio_wave *wave, int64_t most, struct error *err)
{
    if (wave->rate != r->rate_in) {
        return error_set(err, STATUS_INVALID, NULL, "a recording of %d Hz, where %d Hz were expected", wave->rate,
                         r->rate_in);
    }
    int64_t length = audio_resampler_length(r, wave->count);
    if (length > most || length > AUDIO_WAVE_FRAMES) {
        return error_set(
            err, STATUS_LIMIT, NULL,
            "a recording would have %lld samples at %d Hz, more than the %d that are allowed; choose a lower rate, "
            "or cut it into shorter files",
            (long long)length, r->rate_out, AUDIO_WAVE_FRAMES);
    }
    float *out = malloc(((size_t)length + 1) * sizeof *out);
    if (out == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a recording of %lld samples",
                         (long long)length);
    audio_resample(r, wave->samples, wave->count, out);
    free(wave->samples);
    *wave = (struct audio_wave){.rate = r->rate_out,
                                .count = (int)length,
                                .samples = out,
                                .channels = wave->channels,
                                .cut = wave->cut,
                                .rounded = wave->rounded};
    return STATUS_OK;
}
