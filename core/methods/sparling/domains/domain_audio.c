/* Spoken words as a domain of SPARLING (domain.h): clips become mel spectrograms, labels are the words in order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/audio/audio_sequence.h"
#include "core/data/audio/audio_spectrum.h"
#include "core/data/dataset.h"
#include "core/methods/sparling/config.h"

enum {
    SINGLE_SAMPLES = 3 * AUDIO_RATE,
    MELS = 64 /* bands of the spectrogram, as in the paper; more bands shorten its windows of 24000 / MELS samples */
};
static const double CHUNK = 1.5;
static const double NOISE = 1.0 / 1024; /* amplitude of the noise of a clip, where full scale is 1, as in the paper */
/* With audio_scale = units, an input value is (decibels - UNIT_ZERO_DB) / UNIT_DB: near 0 for noise, near 3.5 for loud
 * speech. */
static const float UNIT_DB = 20, UNIT_ZERO_DB = -40;
/* In pictures, a level of PICTURE_LOW_DB decibels is white, and a level PICTURE_DB decibels above it is black. */
static const float PICTURE_LOW_DB = -45, PICTURE_DB = 75;

struct domain_state {
    struct audio_config config;
    int64_t curriculum;
    struct audio_corpus *corpus;
    struct audio_spectrum *spectrum;
    int samples, frames;
};

static int frames_of(int samples)
{
    int window = (int)(2 * CHUNK * AUDIO_RATE / (double)MELS);
    return 1 + samples / (window / 2);
}

static int samples_of(const struct audio_config *c)
{
    return (int)(c->seconds * AUDIO_RATE);
}

static void shape_of(const struct sparling_config *config, struct domain_shape *shape)
{
    const struct audio_config *c = &config->audio;
    int tokens = (int)c->tokens;
    *shape = (struct domain_shape){
        .channels = MELS,
        .rows = 1,
        .cols = frames_of(samples_of(c)),
        .symbols = (int)c->classes,
        .tokens = tokens > 0 ? tokens : (int)c->classes,
        .longest = (int)c->max_symbols,
        .boxes = (int)c->max_symbols,
        .picture_rows = MELS,
    };
}

static void single_shape(const struct sparling_config *config, struct domain_shape *shape)
{
    shape_of(config, shape);
    shape->cols = frames_of(SINGLE_SAMPLES);
    shape->longest = 1;
    shape->boxes = 0;
}

static void domain_audio_check(const struct sparling_config *config, const struct method_faults *faults)
{
    const struct audio_config *c = &config->audio;
    if (!dataset_name_good(c->dataset))
        method_fault(faults, "audio_dataset", "must be a name of small letters, digits, '.', '-' and '_'");
    if (c->min_symbols > c->max_symbols)
        method_fault(faults, "audio_min_symbols", "must not exceed audio_max_symbols (%.0f); got %.0f",
                     (double)c->max_symbols, (double)c->min_symbols);
    if (c->tokens > 0 && c->tokens < c->classes)
        method_fault(faults, "audio_tokens", "must be 0 or at least audio_classes (%.0f); got %.0f", (double)c->classes,
                     (double)c->tokens);
}

static struct audio_sequence sequence_of(const struct domain_state *s, enum audio_part part)
{
    return (struct audio_sequence){s->corpus, part, s->samples, (int)s->config.min_symbols, (int)s->config.max_symbols,
                                   NOISE};
}

struct fault {
    struct error *err;
};

static void first_fault(void *context, const char *field, const char *detail)
{
    const struct fault *fault = context;
    error_set(fault->err, STATUS_INVALID, strcmp(field, "samples") == 0 ? "/config/audio_seconds" : "/config", "%s",
              detail);
}

static enum status find_folder(const char *dataset, const char *data, char folder[DATASET_PATH], struct error *err)
{
    struct error cause = {0};
    enum status status = dataset_folder(data, dataset, folder, &cause);
    bool ours = status == STATUS_NOT_FOUND && strcmp(dataset, "spoken-digits") == 0;
    return status ? error_set(err, status, "/config/audio_dataset", "%s%s", cause.message,
                              ours ? "; run 'motifd dataset audio' to make it" : "")
                  : STATUS_OK;
}

static enum status domain_audio_resolve(struct sparling_config *config, const struct method_given *given,
                                        const char *data, struct error *err)
{
    char folder[DATASET_PATH];
    if (!dataset_name_good(config->audio.dataset))
        return STATUS_OK; /* domain_audio_check() reports a name that is not possible */
    return find_folder(config->audio.dataset, data, folder, err);
}

static enum status load(struct domain_state *s, const char *data, struct error *err)
{
    char folder[DATASET_PATH];
    struct error cause = {0};
    enum status status = find_folder(s->config.dataset, data, folder, err);
    if (status)
        return status;
    status = audio_corpus_load(folder, AUDIO_RATE, &s->corpus, &cause);
    if (status)
        return error_set(err, status, "/config/audio_dataset", "%s", cause.message);
    int classes = audio_corpus_classes(s->corpus);
    if (classes != s->config.classes)
        return error_set(err, STATUS_INVALID, "/config/audio_classes", "must be %d, the number of words in %s; got %d",
                         classes, s->config.dataset, (int)s->config.classes);
    struct fault fault = {err};
    struct audio_sequence sequence = sequence_of(s, AUDIO_TRAINING_SPEAKERS);
    return audio_sequence_check(&sequence, &fault, first_fault) == 0 ? STATUS_OK : STATUS_INVALID;
}

static void close_audio(struct domain_state *s)
{
    if (!s)
        return;
    audio_corpus_destroy(s->corpus);
    audio_spectrum_destroy(s->spectrum);
    free(s);
}

static enum status digest_of(const struct domain_state *s, unsigned char digest[HASH_BYTES], struct error *err)
{
    audio_corpus_hash(s->corpus, digest);
    return STATUS_OK;
}

static enum status open_audio(const struct sparling_config *config, const char *data, struct domain_state **state,
                              struct error *err)
{
    struct domain_state *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err, "a domain");
    s->config = config->audio;
    s->curriculum = config->curriculum;
    s->samples = samples_of(&config->audio);
    enum status status = audio_spectrum_create(AUDIO_RATE, MELS, CHUNK, &s->spectrum, err);
    if (!status)
        status = load(s, data, err);
    if (status) {
        close_audio(s);
        return status;
    }
    s->frames = audio_spectrum_frames(s->spectrum, s->samples);
    *state = s;
    return STATUS_OK;
}

static float scaled(const struct domain_state *s, float decibels)
{
    return s->config.scale == AUDIO_UNITS ? (decibels - UNIT_ZERO_DB) / UNIT_DB : decibels;
}

/* Computes the planes of a clip. audio: [samples]; planes: [mels][1][frames]. */
static enum status to_planes(const struct domain_state *s, const float *audio, int samples, float *planes,
                             struct error *err)
{
    size_t mels = (size_t)MELS, frames = (size_t)audio_spectrum_frames(s->spectrum, samples);
    float *rows = malloc(mels * frames * sizeof *rows);
    if (!rows)
        return error_memory(err, "a spectrogram");
    enum status status = audio_spectrum_compute(s->spectrum, audio, samples, rows, err);
    for (size_t m = 0; !status && m < mels; m++)
        for (size_t t = 0; t < frames; t++)
            planes[m * frames + t] = scaled(s, rows[t * mels + m]);
    free(rows);
    return status;
}

/* Returns the generator of a requested clip. The curriculum begins with few words (see lesson() in
 * domain_digitcircle.c). */
static struct audio_sequence sequence_for(const struct domain_state *s, const struct domain_request *request)
{
    bool test = request->set == DOMAIN_EXAMPLE || (request->set == DOMAIN_SAMPLE && request->seed == -2);
    struct audio_sequence sequence = sequence_of(s, test ? AUDIO_NEW_SPEAKERS : AUDIO_TRAINING_SPEAKERS);
    if (request->set == DOMAIN_LESSON && request->seen < s->curriculum) {
        sequence.min_symbols = 0;
        sequence.max_symbols = 1 + (int)(request->seen * sequence.max_symbols / s->curriculum);
    }
    return sequence;
}

static enum status domain_audio_sample(const struct domain_state *s, const struct domain_request *request,
                                       float *planes, struct domain_truth *truth, struct error *err)
{
    struct audio_sequence sequence = sequence_for(s, request);
    struct audio_truth drawn;
    float *audio = malloc((size_t)s->samples * sizeof *audio);
    if (!audio)
        return error_memory(err, "a clip");
    if (request->set == DOMAIN_EXAMPLE) {
        struct mt19937 rng;
        mt19937_init(&rng, (uint32_t)request->index);
        audio_sequence_draw(&sequence, &rng, audio, &drawn);
    } else {
        audio_sequence_sample(&sequence, request->seed, request->index, audio, &drawn);
    }
    enum status status = to_planes(s, audio, s->samples, planes, err);
    free(audio);
    if (status || !truth)
        return status;
    truth->length = truth->boxes = drawn.count;
    audio_sequence_boxes(&sequence, &drawn, s->frames, truth->box);
    for (int i = 0; i < drawn.count; i++)
        truth->label[i] = drawn.label[i];
    return STATUS_OK;
}

/* Draws a clip of three seconds with one word in the middle. */
static enum status domain_audio_single(const struct domain_state *s, const struct domain_request *request,
                                       float *planes, struct domain_truth *truth, struct error *err)
{
    struct audio_sequence sequence = sequence_of(s, request->seed == -2 ? AUDIO_NEW_SPEAKERS : AUDIO_TRAINING_SPEAKERS);
    float *audio = malloc(SINGLE_SAMPLES * sizeof *audio);
    if (!audio)
        return error_memory(err, "a clip");
    sequence.samples = SINGLE_SAMPLES;
    int drawn = audio_sequence_single(&sequence, request->seed, request->index, audio);
    enum status status = to_planes(s, audio, SINGLE_SAMPLES, planes, err);
    free(audio);
    if (truth) {
        truth->length = 1;
        truth->label[0] = drawn;
        truth->boxes = 0;
    }
    return status;
}

static double mean_symbols(const struct domain_state *s)
{
    return 0.5 * (double)(s->config.min_symbols + s->config.max_symbols);
}

static const char *word(const struct domain_state *s, int symbol)
{
    return symbol >= 0 && symbol < audio_corpus_classes(s->corpus) ? audio_corpus_class(s->corpus, symbol) : NULL;
}

static double duration(const struct domain_state *s)
{
    return s->config.seconds;
}

static int audio_rate(const struct domain_state *s)
{
    return AUDIO_RATE;
}

/* Accepts a clip at 8 kHz (zeros follow a shorter one), or a spectrogram in decibels. */
static enum status domain_audio_prepare(const struct domain_state *s, const struct method_input *input, float *planes,
                                        struct error *err)
{
    struct domain_shape shape = {.channels = MELS, .rows = 1, .cols = s->frames};
    if (input->rank != 1) {
        enum status status = domain_planes(&shape, input, -200, 200, "decibels", planes, err);
        for (size_t i = 0; !status && i < domain_inputs(&shape); i++)
            planes[i] = scaled(s, planes[i]);
        return status;
    }
    int64_t count = input->dim[0];
    if (count > s->samples)
        return error_set(err, STATUS_INVALID, "/array", "must have at most %d samples (%g s at 8 kHz); got %lld",
                         s->samples, s->config.seconds, (long long)count);
    float *audio = calloc((size_t)s->samples, sizeof *audio);
    if (!audio)
        return error_memory(err, "a clip");
    enum status status = STATUS_OK;
    for (int64_t i = 0; !status && i < count; i++) {
        audio[i] = input->values[i];
        if (!(fabsf(audio[i]) <= 1))
            status = error_set(err, STATUS_INVALID, "/array", "samples must be in [-1, 1]; element %lld is %g",
                               (long long)i, (double)audio[i]);
    }
    if (!status)
        status = to_planes(s, audio, s->samples, planes, err);
    free(audio);
    return status;
}

/* Draws the spectrogram with low frequencies at the bottom. */
static void domain_audio_grey(const struct domain_state *s, const float *planes, float *out)
{
    size_t frames = (size_t)s->frames;
    for (size_t i = 0; i < (size_t)MELS * frames; i++) {
        float value = planes[i], decibels = s->config.scale == AUDIO_UNITS ? value * UNIT_DB + UNIT_ZERO_DB : value;
        size_t band = i / frames, row = (size_t)MELS - 1 - band;
        out[row * frames + i % frames] = fminf(1, fmaxf(0, (decibels - PICTURE_LOW_DB) / PICTURE_DB));
    }
}

const struct domain audio_domain = {
    .name = "audio",
    .meaning = "Spoken words in a clip, given as a mel spectrogram and read in order.",
    .majority = true,
    .drawing = DOMAIN_FREE,
    DOMAIN_PART(audio),
    .shape = shape_of,
    .resolve = domain_audio_resolve,
    .check = domain_audio_check,
    .open = open_audio,
    .close = close_audio,
    .digest = digest_of,
    .sample = domain_audio_sample,
    .single_shape = single_shape,
    .single = domain_audio_single,
    .mean_symbols = mean_symbols,
    .symbol = word,
    .token = word,
    .duration = duration,
    .rate = audio_rate,
    .prepare = domain_audio_prepare,
    .grey = domain_audio_grey,
};
