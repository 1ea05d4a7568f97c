/* Gives the recordings of an archive one sampling rate (recordings.h). */
#include "core/data/uploads/recordings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"

void recordings_close(struct recordings *r)
{
    audio_resampler_destroy(r->resampler);
    free(r->rate);
    *r = (struct recordings){0};
}

enum { LONG_SECONDS = 60 };

/* Makes the resampler for these rates, if it is not the present one. */
static enum status prepare(struct recordings *r, int from, int to, struct error *err)
{
    struct error cause = {0};
    if (r->from == from)
        return STATUS_OK;
    audio_resampler_destroy(r->resampler);
    r->resampler = NULL;
    r->from = 0;
    enum status status = audio_resampler_create(from, to, &r->resampler, &cause);
    if (status)
        return error_set(err, status, NULL, "%s%s", cause.message,
                         status == STATUS_LIMIT ? ", or choose another rate with the option rate" : "");
    r->from = from;
    return STATUS_OK;
}

enum status recordings_check(const struct recordings *r, const struct builder *b, const struct audio_wave *wave,
                             struct error *err)
{
    int to = r->stated > 0 ? r->stated : wave->rate;
    double seconds = wave->count / (double)wave->rate, samples = seconds * to, fits = to;
    int64_t room = value_store_left(&b->store) / (int64_t)sizeof(float) - b->store.pending;
    if (samples <= AUDIO_WAVE_FRAMES && samples <= (double)room)
        return STATUS_OK;
    if (samples > (double)room)
        return error_set(
            err, STATUS_LIMIT, NULL,
            "with this recording (%.1f s, %.0f bytes of samples), the samples at %d Hz take more than %lld "
            "bytes, the most that is allowed; upload with rate=%d, which takes half of the space, or "
            "upload fewer files",
            seconds, samples * (double)sizeof(float), to, (long long)b->limits.bytes, to / 2);
    while (fits * seconds > AUDIO_WAVE_FRAMES)
        fits /= 2;
    return error_set(err, STATUS_LIMIT, NULL,
                     "the recording has %.1f s and %.0f samples at %d Hz, which a job holds in memory as a whole; at "
                     "most %d samples are allowed: upload with "
                     "rate=%.0f, or cut it into shorter files",
                     seconds, samples, to, AUDIO_WAVE_FRAMES, fits);
}

enum status recordings_add(struct recordings *r, struct audio_wave *wave, struct error *err)
{
    int *rate = grown(r->rate, (size_t)r->count, sizeof *rate);
    int to = r->stated > 0 ? r->stated : wave->rate;
    if (!rate)
        return error_memory(err, "a recording");
    r->rate = rate;
    r->lowest = r->lowest == 0 || wave->rate < r->lowest ? wave->rate : r->lowest;
    r->highest = wave->rate > r->highest ? wave->rate : r->highest;
    r->rate[r->count++] = wave->rate;
    if (to == wave->rate)
        return STATUS_OK;
    r->changed++;
    enum status status = prepare(r, wave->rate, to, err);
    return status ? status : audio_wave_resample(r->resampler, wave, AUDIO_WAVE_FRAMES, err);
}

/* Resamples a recording for value_store_shorten(). */
static enum status lower(void *context, int64_t sample, const float *from, int64_t count, float *to, int64_t *made,
                         struct error *err)
{
    struct recordings *r = context;
    *made = count;
    if (r->rate[sample] == r->lowest) {
        memcpy(to, from, (size_t)count * sizeof *to);
        return STATUS_OK;
    }
    r->changed++;
    enum status status = prepare(r, r->rate[sample], r->lowest, err);
    if (status)
        return status;
    *made = audio_resampler_length(r->resampler, (int)count);
    audio_resample(r->resampler, from, (int)count, to);
    return STATUS_OK;
}

enum status recordings_finish(struct recordings *r, struct builder *b, struct error *err)
{
    struct collection *c = b->c;
    enum status status = STATUS_OK;
    c->rate = r->stated > 0 ? r->stated : r->lowest;
    if (r->stated == 0 && r->lowest < r->highest) {
        status = value_store_shorten(&b->store, c->start, c->count, lower, r, err);
        c->cols = 0;
        for (int64_t i = 0; i < c->count; i++)
            c->cols = collection_length(c, i) > c->cols ? (int)collection_length(c, i) : c->cols;
    }
    if (r->stated > 0 && r->changed == 0)
        c->implied |= OPTION_RATE;
    if (!status && c->cols > LONG_SECONDS * (int64_t)c->rate)
        status = collection_warn(c, err, "long-recordings",
                                 "the longest recording has %.0f s. A job reads each sample as a whole, so its memory "
                                 "and time grow with the length; motifctl submit --dry-run states both. Pieces around "
                                 "the sounds train faster",
                                 c->cols / (double)c->rate);
    if (status || r->changed == 0)
        return status;
    char rates[48];
    (void)snprintf(rates, sizeof rates, r->lowest < r->highest ? "%d to %d Hz" : "%d Hz", r->lowest, r->highest);
    return collection_warn(
        c, err, "resampled", "the files have %s; %lld of %lld recordings were resampled to %d Hz, %s%s", rates,
        (long long)r->changed, (long long)c->count, c->rate,
        r->stated > 0 ? "the rate of the upload" : "the lowest rate; the option rate chooses another",
        c->rate < r->highest ? ". Sounds above half of this rate are gone" : "");
}
