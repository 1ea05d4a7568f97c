/* Uploaded data as a domain of SPARLING (domain.h; fields_dataset.inc describes splits and sizes). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/permutation.h"
#include "core/base/random/philox.h"
#include "core/data/audio/audio_spectrum.h"
#include "core/formats/audio_wave.h"
#include "core/data/uploads/collection.h"
#include "core/data/dataset.h"
#include "core/data/scale.h"
#include "core/methods/sparling/config.h"
#include "core/methods/sparling/domains/dataset_augment.h"
#include "core/methods/sparling/domains/dataset_fit.h"
#include "core/methods/sparling/domains/dataset_labels.h"
#include "core/methods/sparling/domains/dataset_letters.h"
#include "core/methods/sparling/domains/dataset_parts.h"
#include "core/methods/sparling/domains/dataset_spread.h"
#include "core/methods/sparling/domains/dataset_texts.h"
#include "core/methods/sparling/genomics/hooks.h"

enum { STREAM_DRAW = 0x64726177 };
static const double CHUNK = 1.5; /* argument `chunk` of audio_spectrum_create(); the same as in domain_audio.c */
static const float UNIT_DB = 20, UNIT_ZERO_DB = -40, SHOWN_FROM = -0.5F,
                   SHOWN_TO = 3.5F; /* pictures of recordings show this range: from noise to loud speech */

struct domain_state {
    struct collection c;
    struct domain_shape shape;
    struct lexicon lexicon;          /* for texts */
    struct audio_spectrum *spectrum; /* for recordings; else NULL */
    int samples;                     /* number of samples of a recording, padding included */
    struct scale scale;              /* the network reads scaled values */
    float low, high;                 /* in pictures, the value `low` is white and the value `high` is black */
    double least, most;              /* smallest and largest value of the data set */
    int64_t shortest;                /* length of the shortest sample */
    struct letter_changes altered;   /* random changes of letters of training samples; 0 without letters */
    struct augmentation changes;     /* random changes of training samples */
    bool letters;                    /* samples are sequences of the four bases, one-hot */
    bool ordered;                    /* labels list names in the order of positions, so turn() reverses them */
    struct dataset_parts parts;
    int64_t curriculum;
    double mean;
};

/* ---- sizes ------------------------------------------------------------------------------------------------- */

static int rate_of(const struct dataset_config *d)
{
    return d->rate > 0 ? (int)d->rate : AUDIO_RATE;
}

static int hop_of(const struct dataset_config *d)
{
    int window = audio_spectrum_window(rate_of(d), (int)d->mels, CHUNK);
    return window > 1 ? window / 2 : 1;
}

/* Writes the sizes that the configuration states, or small placeholders until the data set has been read. */
static void shape_of(const struct sparling_config *config, struct domain_shape *shape)
{
    const struct dataset_config *c = &config->dataset;
    bool known = c->rows > 0 && c->cols > 0 && c->channels > 0 && c->tokens > 0 && c->longest > 0;
    *shape = (struct domain_shape){.channels = 1, .rows = 64, .cols = 64, .symbols = 2, .tokens = 2, .longest = 1};
    if (known)
        *shape = (struct domain_shape){.channels = (int)c->channels,
                                       .rows = (int)c->rows,
                                       .cols = (int)c->cols,
                                       .symbols = (int)c->tokens,
                                       .tokens = (int)c->tokens,
                                       .longest = (int)c->longest,
                                       .positions = c->positions,
                                       .words = (int)c->words,
                                       .unordered = c->unordered,
                                       .numbers = c->numbers ? (int)c->tokens : 0,
                                       .boxes = (int)c->boxes,
                                       .picture_rows = c->rows > 1       ? 0
                                                       : c->channels > 8 ? (int)c->channels
                                                                         : 48};
}

static void domain_dataset_check(const struct sparling_config *config, const struct method_faults *faults)
{
    const struct dataset_config *c = &config->dataset;
    if (c->name[0] != '\0' && !dataset_name_good(c->name))
        method_fault(faults, "dataset_name", "must be a name of small letters, digits, '.', '-' and '_'");
    if (c->test + c->validation >= 1)
        method_fault(faults, "dataset_test",
                     "must leave a training part: with dataset_validation (%g), the sum %g must be below 1",
                     c->validation, c->test + c->validation);
    if (c->fold > 0 && c->fold >= c->folds)
        method_fault(faults, "fold", "must be below folds (%.0f); got %.0f", (double)c->folds, (double)c->fold);
    if (c->longest > DOMAIN_LABEL && !c->positions)
        method_fault(faults, "dataset_name", "has labels of up to %.0f tokens; SPARLING reads at most %d",
                     (double)c->longest, DOMAIN_LABEL);
}

static enum status open_collection(const struct dataset_config *config, const char *data, struct collection *c,
                                   char hash[DATASET_HASH_KEPT + 1], struct error *err)
{
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    struct error cause = {0};
    enum status status = dataset_folder(data, config->name, folder, &cause);
    hash[0] = '\0';
    if (!status)
        status = dataset_hash(folder, hash, &cause);
    if (!status) {
        snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
        status = collection_open(path, c, &cause);
    }
    return status ? error_set(err, status, "/config/dataset_name", "%s", cause.message) : STATUS_OK;
}

/* Sets the facts: what the configuration contains about the data set's samples and labels. */
static void read_facts(struct dataset_config *d, const struct collection *c)
{
    bool sound = c->kind == COLLECTION_RECORDINGS;
    d->rate = c->rate;
    d->channels = sound ? d->mels : c->channels;
    d->rows = c->rows;
    d->cols = sound ? 1 + c->cols / hop_of(d) : c->cols;
    d->tokens = c->vocabulary.count;
    d->positions = c->target == TARGET_POSITIONS;
    d->numbers = c->target == TARGET_NUMBER;
    d->words = c->kind == COLLECTION_TEXTS ? c->words.count : 0;
    d->unordered = c->unordered;
    d->longest = d->positions ? d->cols : d->numbers ? 1 : c->longest;
    d->boxes = dataset_most_boxes(c);
}

/* ---- split ------------------------------------------------------------------------------------------------- */

static enum status fits(const struct collection *c, const struct sparling_config *config, struct error *err)
{
    const char *at = "/config/dataset_name";
    if (config->strands == STRANDS_BOTH && (c->kind != COLLECTION_SEQUENCES || c->rna))
        return error_set(err, STATUS_INVALID, "/config/strands",
                         c->rna ? "must be one: the data set is RNA, whose motifs are on one strand"
                                : "can be both only for sequences of DNA");
    if (c->kind == COLLECTION_TABLE)
        return error_set(
            err, STATUS_INVALID, at,
            "is a table, but SPARLING learns from images, sequences and recordings; if the columns are the points of a "
            "signal, upload it with layout=signals (motifctl: --signals); otherwise use the kind factors");
    if (c->kind == COLLECTION_MOTIFS)
        return error_set(
            err, STATUS_INVALID, at,
            "contains motifs, but SPARLING learns from sequences; the query channels compares a model with "
            "motifs");
    const bool fixed = c->scale > SCALE_NONE &&
                       (c->kind == COLLECTION_RECORDINGS || c->kind == COLLECTION_TEXTS || collection_one_hot(c));
    if (c->scale == SCALE_COUNTS || fixed)
        return error_set(err, STATUS_INVALID, at, "was uploaded with scale=%s, but %s; upload it without scale",
                         collection_scales[c->scale],
                         fixed ? "recordings and sequences of letters have a fixed scale"
                               : "totals and logarithms of counts are for tables");
    if (c->target == TARGET_NONE)
        return error_set(err, STATUS_INVALID, at, "has no labels; SPARLING needs one for each sample");
    /* Labels at positions need two classes. Otherwise one name is enough: a label has it or does not have it. */
    int least = c->target == TARGET_POSITIONS ? 2 : 1;
    if (c->vocabulary.count < least || c->vocabulary.count > DIVISION_NAMES)
        return error_set(err, STATUS_INVALID, at, "has a vocabulary of %d names; it must have %d to 4096",
                         c->vocabulary.count, least);
    return STATUS_OK;
}

static enum status domain_dataset_adapt(struct sparling_config *config, const struct method_given *given,
                                        const struct collection *c, struct error *err)
{
    struct dataset_config *d = &config->dataset;
    bool sound = c->kind == COLLECTION_RECORDINGS;
    enum status status = fits(c, config, err);
    dataset_fit_mels(config, given, sound ? c->rate : 0);
    read_facts(d, c);
    struct division division = {.part = NULL};
    const struct division_request request = dataset_parts_request(config);
    if (!status)
        status = division_make(c, &request, &division, err);
    const struct collection_moments moments = collection_measure(c);
    if (!status && d->fit) {
        const struct dataset_facts facts = dataset_facts_of(c, &moments);
        dataset_fit(config, given, &facts);
        dataset_fit_samples(config, division.count);
    }
    division_close(&division);
    return status ? status : dataset_changes_check(d, c, &moments, err);
}

static enum status domain_dataset_resolve(struct sparling_config *config, const struct method_given *given,
                                          const char *data, struct error *err)
{
    struct dataset_config *d = &config->dataset;
    struct collection c;
    char hash[DATASET_HASH_KEPT + 1];
    if (d->name[0] == '\0')
        return error_set(err, STATUS_INVALID, "/config/dataset_name",
                         "must name a data set; GET /v1/datasets lists them");
    enum status status = open_collection(d, data, &c, hash, err);
    if (status)
        return status;
    /* If the configuration contains the hash of other data, the daemon has already adapted it to those data. Its values
     * are then not choices of the client, so they may change. */
    bool repeated = d->hash[0] != '\0' && strcmp(d->hash, hash) != 0;
    snprintf(d->hash, sizeof d->hash, "%s", hash);
    status = domain_dataset_adapt(config, repeated ? NULL : given, &c, err);
    if (!status && (d->motif_start[0] != '\0' || d->motif_start_words || d->motif_start_frozen)) {
        const struct motif_start start = motif_start_of(config, data);
        status = genomics.start_check ? genomics.start_check(&start, &c, err)
                                      : genomics_missing(STATUS_INVALID, "/config/motif_start", err);
    }
    collection_close(&c);
    return status;
}

/* ---- values ------------------------------------------------------------------------------------------------ */

static enum status domain_dataset_measure(struct domain_state *s, struct error *err)
{
    struct collection_moments m = collection_measure(&s->c);
    enum status status =
        s->spectrum ? scale_create(SCALE_STANDARD, 1, &s->scale, err) : dataset_scale(&s->c, &m, &s->scale, err);
    if (status)
        return status;
    if (s->spectrum) {
        s->scale.shift[0] = (double)UNIT_ZERO_DB;
        s->scale.unit[0] = (double)UNIT_DB;
    }
    if (!dataset_has_letters(&s->c, &m) || s->spectrum)
        s->altered = (struct letter_changes){0};
    s->least = m.min;
    s->most = m.max;
    s->shortest = INT64_MAX;
    for (int64_t i = 0; i < s->c.count; i++)
        s->shortest = collection_length(&s->c, i) < s->shortest ? collection_length(&s->c, i) : s->shortest;
    /* Pictures show the background white. The background is the end of the range (lowest or highest value) that is
     * nearer to the mean. */
    const double low = (double)(float)m.min, high = (double)(float)m.max, mean = m.sum / (double)m.count;
    const float zero = (float)s->scale.shift[0], unit = (float)s->scale.unit[0];
    bool dark = !(mean - low <= high - mean);
    s->low = s->spectrum ? SHOWN_FROM : ((float)(dark ? high : low) - zero) / unit;
    s->high = s->spectrum ? SHOWN_TO : ((float)(dark ? low : high) - zero) / unit;
    for (int c = 0; s->scale.columns > 1 && c < s->scale.columns; c++) {
        s->low = fminf(c > 0 ? s->low : INFINITY, (float)s->scale.low[c]);
        s->high = fmaxf(c > 0 ? s->high : -INFINITY, (float)s->scale.high[c]);
    }
    return STATUS_OK;
}

static enum status to_spectrogram(const struct domain_state *s, const float *audio, int64_t length, float *planes,
                                  struct error *err)
{
    size_t mels = (size_t)s->shape.channels, frames = (size_t)s->shape.cols;
    float *wave = calloc((size_t)s->samples, sizeof *wave), *rows = malloc(mels * (frames + 1) * sizeof *rows);
    enum status status = wave && rows ? STATUS_OK : error_memory(err, "a spectrogram");
    if (!status) {
        memcpy(wave, audio, (size_t)(length < s->samples ? length : s->samples) * sizeof *wave);
        status = audio_spectrum_compute(s->spectrum, wave, s->samples, rows, err);
        for (size_t m = 0; !status && m < mels; m++)
            for (size_t t = 0; t < frames; t++)
                planes[m * frames + t] = rows[t * mels + m];
        if (!status)
            scale_planes(&s->scale, planes, (int)mels, (int64_t)frames);
    }
    free(wave);
    free(rows);
    return status;
}

/* Writes the planes of a sample. Values after the end of a shorter sequence are 0. */
static enum status to_planes(const struct domain_state *s, int64_t sample, float *planes, struct error *err)
{
    const struct collection *c = &s->c;
    int64_t begin = collection_begin(c, sample), length = collection_length(c, sample),
            lines = (int64_t)c->channels * c->rows, cols = s->shape.cols;
    if (s->spectrum)
        return to_spectrogram(s, c->values + begin, length, planes, err);
    for (int64_t line = 0; line < lines; line++)
        for (int64_t i = 0; i < length; i++)
            planes[line * cols + i] = collection_value(c, begin + line * length + i);
    scale_planes(&s->scale, planes, c->channels, c->rows * cols);
    for (int64_t line = 0; line < lines; line++)
        for (int64_t i = length; i < cols; i++)
            planes[line * cols + i] = 0;
    return STATUS_OK;
}

static void to_truth(const struct domain_state *s, int64_t sample, struct domain_truth *truth)
{
    const struct collection *c = &s->c;
    const int32_t *label;
    int hop = s->spectrum ? audio_spectrum_hop(s->spectrum) : 1, length = collection_labels(c, sample, &label);
    truth->length = s->shape.positions ? s->shape.cols : length;
    for (int i = 0; i < truth->length; i++)
        truth->label[i] = i < length ? label[i] : -1;
    for (int k = 0; k < s->shape.numbers; k++)
        truth->number[k] = c->number[sample * s->shape.numbers + k];
    truth->boxes = 0;
    for (int64_t j = c->box_start ? c->box_start[sample] : 0; c->box_start && j < c->box_start[sample + 1]; j++) {
        const int32_t *b = c->box[j];
        int col0 = b[3] / hop, col1 = (b[4] + hop - 1) / hop + (hop > 1);
        col1 = col1 > s->shape.cols ? s->shape.cols : col1;
        truth->box[truth->boxes++] = (struct box){.symbol = b[0],
                                                  .row0 = b[1],
                                                  .row1 = b[2],
                                                  .col0 = col0,
                                                  .col1 = col1,
                                                  .row = (b[1] + b[2] - 1) / 2,
                                                  .col = (col0 + col1 - 1) / 2};
    }
}

/* ---- the domain -------------------------------------------------------------------------------------------- */

static void close_dataset(struct domain_state *s)
{
    if (!s)
        return;
    collection_close(&s->c);
    audio_spectrum_destroy(s->spectrum);
    dataset_parts_close(&s->parts);
    scale_close(&s->scale);
    lexicon_close(&s->lexicon);
    free(s);
}

/* Compares the hash and the facts of a stored configuration with the data set. Facts can be wrong although the hash is
 * right: a client can import a job whose configuration somebody has changed. */
static enum status agree(const struct domain_state *s, const struct sparling_config *config, const char *hash,
                         struct error *err)
{
    const struct dataset_config *d = &config->dataset;
    struct dataset_config now = *d;
    if (d->hash[0] == '\0')
        return error_set(err, STATUS_INVALID, "/config/dataset_hash",
                         "is not filled in; submit the job while the data set exists");
    if (strcmp(d->hash, hash) != 0)
        return error_set(err, STATUS_CONFLICT, "/config/dataset_hash",
                         "belongs to other data than data set %s holds now", d->name);
    read_facts(&now, &s->c);
    bool same = d->channels == now.channels && d->rows == now.rows && d->cols == now.cols && d->tokens == now.tokens &&
                d->longest == now.longest && d->boxes == now.boxes && d->positions == now.positions &&
                d->numbers == now.numbers && d->words == now.words && d->unordered == now.unordered &&
                rate_of(d) == rate_of(&now);
    return same ? STATUS_OK
                : error_set(err, STATUS_INVALID, "/config/dataset_name", "has other sizes than the facts of the job");
}

static enum status open_dataset(const struct sparling_config *config, const char *data, struct domain_state **state,
                                struct error *err)
{
    const struct dataset_config *d = &config->dataset;
    char hash[DATASET_HASH_KEPT + 1];
    struct domain_state *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err, "a domain");
    s->shape = domain_shape(config);
    s->curriculum = config->curriculum;
    s->altered = (struct letter_changes){.replaced = d->replace_letters, .dropped = d->drop_letters};
    s->changes = dataset_changes(d);
    enum status status = open_collection(d, data, &s->c, hash, err);
    if (!status)
        status = fits(&s->c, config, err);
    if (!status)
        status = agree(s, config, hash, err);
    if (!status && s->c.kind == COLLECTION_TEXTS)
        status = lexicon_open(&s->c, &s->lexicon, err);
    s->letters =
        !status && genomics.dna && s->shape.channels == (int)strlen(genomics.dna->symbols) && collection_one_hot(&s->c);
    if (!status && s->letters && s->c.target == TARGET_SEQUENCE)
        status = dataset_order_follows_positions(&s->c, &s->ordered, err);
    if (!status && config->strands == STRANDS_BOTH && !s->letters)
        status = error_set(err, STATUS_INVALID, "/config/strands", "may be both only for sequences of DNA");
    if (!status && s->c.kind == COLLECTION_RECORDINGS && !s->c.values)
        status = error_set(err, STATUS_CORRUPT, "/config/dataset_name", "has recordings that are not stored as floats");
    if (!status && s->c.kind == COLLECTION_RECORDINGS) {
        int hop = hop_of(d), least = 2 * hop + 2; /* the window of the spectrum must fit */
        s->samples = (s->shape.cols - 1) * hop > least ? (s->shape.cols - 1) * hop : least;
        status = audio_spectrum_create(rate_of(d), (int)d->mels, CHUNK, &s->spectrum, err);
    }
    if (!status && s->spectrum && audio_spectrum_frames(s->spectrum, s->samples) != s->shape.cols)
        status = error_set(err, STATUS_INVALID, "/config/dataset_name",
                           "has recordings that are too short for a spectrogram");
    if (!status)
        status = dataset_parts_open(&s->c, config, s->shape.positions, &s->parts, err);
    if (!status)
        status = domain_dataset_measure(s, err);
    if (status) {
        close_dataset(s);
        return status;
    }
    s->mean = dataset_mean_label(&s->c, config->channels_motif);
    *state = s;
    return STATUS_OK;
}

/* Returns the index of the requested sample. The curriculum begins with short labels (lesson() of DigitCircle). */
static int64_t domain_dataset_choose(const struct domain_state *s, const struct domain_request *request)
{
    if (request->set == DOMAIN_RECORD)
        return request->index % s->c.count;
    bool training = request->set != DOMAIN_EXAMPLE && request->seed != -1 && request->seed != -2;
    if (!training) {
        enum collection_part part =
            request->set != DOMAIN_EXAMPLE && request->seed == -1 ? PART_OF_VALIDATION : PART_OF_TEST;
        return s->parts.sample[part][request->index % s->parts.count[part]];
    }
    int64_t among = s->parts.count[PART_OF_TRAINING];
    if (request->set == DOMAIN_TRAINING) {
        const struct permutation order = permutation_make(among, (uint64_t)request->seed, STREAM_DRAW, 0);
        return s->parts.sample[PART_OF_TRAINING][permutation_at(&order, request->index % among)];
    }
    if (request->set == DOMAIN_LESSON && request->seen < s->curriculum && !s->shape.positions) {
        int64_t shorter = s->parts.up_to[1 + request->seen * s->c.longest / s->curriculum > s->c.longest
                                             ? s->c.longest
                                             : 1 + request->seen * s->c.longest / s->curriculum];
        among = shorter > 0 ? shorter : among;
    }
    struct philox from = philox_stream((uint64_t)request->seed, STREAM_DRAW, (uint64_t)request->index);
    uint64_t bits = (uint64_t)philox_u32(&from, 0) << 32 | philox_u32(&from, 1);
    return s->parts.sample[PART_OF_TRAINING][bits % (uint64_t)among];
}

/* If `letters` is true, the four channels are the bases A, C, G and T (or U). */
static const struct alphabet *alphabet(const struct domain_state *s)
{
    return !s->letters ? NULL : s->c.rna ? genomics.rna : genomics.dna;
}

static bool turns(const struct domain_state *s)
{
    return s->letters && !s->c.rna && !s->shape.positions;
}

/* Reads a sample from the other strand. */
static void turn(const struct domain_state *s, int64_t length, float *planes, struct domain_truth *truth)
{
    if (planes)
        genomics.turn(planes, s->shape.cols, 0, length);
    for (int i = 0; truth && s->ordered && i < truth->length / 2; i++) {
        int32_t kept = truth->label[i];
        truth->label[i] = truth->label[truth->length - 1 - i];
        truth->label[truth->length - 1 - i] = kept;
    }
    for (int k = 0; truth && s->c.profile && k < s->shape.numbers / 2; k++) {
        float kept = truth->number[k];
        truth->number[k] = truth->number[s->shape.numbers - 1 - k];
        truth->number[s->shape.numbers - 1 - k] = kept;
    }
    for (int i = 0; truth && i < truth->boxes; i++) {
        struct box *box = &truth->box[i];
        int col0 = box->col0;
        box->col0 = (int)length - box->col1;
        box->col1 = (int)length - col0;
        box->col = (int)length - 1 - box->col;
    }
}

static enum status domain_dataset_sample(const struct domain_state *s, const struct domain_request *request,
                                         float *planes, struct domain_truth *truth, struct error *err)
{
    int64_t chosen = domain_dataset_choose(s, request);
    if (truth)
        to_truth(s, chosen, truth);
    enum status status = to_planes(s, chosen, planes, err);
    if (!status && planes && s->altered.replaced + s->altered.dropped > 0 && request->set == DOMAIN_LESSON)
        dataset_change_letters(planes, &s->shape, collection_length(&s->c, chosen), &s->altered, request->seed,
                               request->index);
    if (!status && planes && request->set == DOMAIN_LESSON && augments(&s->changes))
        status = dataset_augment_planes(&s->shape, s->spectrum ? s->shape.cols : collection_length(&s->c, chosen),
                                        &s->changes, s->spectrum != NULL, request, planes, err);
    if (!status && request->turned)
        turn(s, collection_length(&s->c, chosen), planes, truth);
    return status;
}

/* Writes the record of the requested sample. Returns false after the last sample of the validation set or the test set.
 * Examples and training samples have no last one: their indices go on without end. */
static bool record(const struct domain_state *s, const struct domain_request *request, struct domain_record *out)
{
    bool whole = request->set == DOMAIN_RECORD,
         drawn = request->set == DOMAIN_EXAMPLE || (request->seed != -1 && request->seed != -2);
    enum collection_part part = request->seed == -1 ? PART_OF_VALIDATION : PART_OF_TEST;
    if (request->index >= (whole ? s->c.count : drawn ? INT64_MAX : s->parts.count[part]))
        return false;
    int64_t chosen = domain_dataset_choose(s, request), length = collection_length(&s->c, chosen);
    length = s->spectrum ? audio_spectrum_frames(s->spectrum, (int)length) : length; /* positions are frames */
    *out = (struct domain_record){.name = s->c.records.count > 0 ? s->c.records.name[chosen] : NULL,
                                  .number = chosen,
                                  .group = s->c.group ? s->c.groups.name[s->c.group[chosen]] : NULL,
                                  .length = (int)(length < s->shape.cols ? length : s->shape.cols)};
    return true;
}

static int domain_dataset_cluster(const struct domain_state *s, const struct domain_request *request)
{
    return s->parts.cluster ? s->parts.cluster[domain_dataset_choose(s, request)] : 0;
}

static int64_t test_groups(const struct domain_state *s)
{
    return s->parts.test_groups;
}

static double mean_symbols(const struct domain_state *s)
{
    return s->mean;
}

static int64_t frequencies(const struct domain_state *s, double *count, double *share)
{
    int64_t samples = s->parts.count[PART_OF_TRAINING];
    dataset_frequencies(&s->c, s->parts.sample[PART_OF_TRAINING], samples, s->shape.tokens, count, share);
    return samples;
}

static enum status write_division(const struct domain_state *s, const struct sink *out, struct error *err)
{
    if (s->parts.count[PART_OF_TRAINING] < s->parts.division.count[PART_OF_TRAINING]) /* training_share */
        sink_integer(out, "training_samples", s->parts.count[PART_OF_TRAINING]);
    return division_write(&s->c, &s->parts.division, 256, out, err);
}

static void domain_dataset_spread(const struct domain_state *s, double *mean, double *deviation)
{
    dataset_spread(&s->c, s->parts.sample[PART_OF_TRAINING], s->parts.count[PART_OF_TRAINING], mean, deviation);
}

static const char *name(const struct domain_state *s, int number)
{
    return number >= 0 && number < s->c.vocabulary.count ? s->c.vocabulary.name[number] : NULL;
}

static const char *text(const struct domain_state *s, const struct domain_request *request)
{
    return s->c.texts.count > 0 ? s->c.texts.name[domain_dataset_choose(s, request)] : NULL;
}

static enum status split(const struct domain_state *s, const char *text, struct word_list *words, struct error *err)
{
    return dataset_text_split(&s->lexicon, text, s->shape.cols, words, err);
}

/* Accepts an array of the shape of the data set's inputs and, for recordings, also sound samples at their rate. */
static enum status domain_dataset_prepare(const struct domain_state *s, const struct method_input *input, float *planes,
                                          struct error *err)
{
    if (input->text)
        return dataset_text_read(&s->lexicon, input->text, &s->shape, planes, err);
    if (s->spectrum && input->rank == 1)
        return to_spectrogram(s, input->values, input->dim[0], planes, err);
    int64_t given = 1, cols = s->shape.cols;
    for (int d = 0; d < input->rank; d++)
        given *= input->dim[d];
    enum status status = domain_planes(&s->shape, input, -1e30, 1e30, "as in the data set", planes, err);
    if (status)
        return status;
    if (s->shape.words > 0)
        return dataset_text_check(&s->shape, planes, err);
    scale_planes(&s->scale, planes, s->shape.channels, s->shape.rows * cols);
    given /= s->shape.channels; /* columns after the end of a shorter sequence are 0, as in training */
    for (int c = 0; s->shape.rows == 1 && c < s->shape.channels; c++)
        for (int64_t i = given; i < cols; i++)
            planes[c * cols + i] = 0;
    return STATUS_OK;
}

/* With a scale for each channel: warns about the channel whose values lie outside its range by more than its width. */
static void warn_of_channel(const struct domain_state *s, const struct method_input *input, const struct sink *out)
{
    float *planes = malloc(domain_inputs(&s->shape) * sizeof *planes);
    const int64_t cols = s->shape.cols;
    double most = 1;
    char text[48];
    int worst = -1;
    double range[2] = {0, 0};
    bool read = planes && !domain_dataset_prepare(s, input, planes, NULL);
    for (int c = 0; read && c < s->scale.columns; c++) {
        double low = INFINITY, high = -INFINITY, width = fmax(s->scale.high[c] - s->scale.low[c], 1e-9);
        for (int64_t i = 0; i < cols; i++) {
            low = fmin(low, (double)planes[c * cols + i]);
            high = fmax(high, (double)planes[c * cols + i]);
        }
        double far = fmax(s->scale.low[c] - low, high - s->scale.high[c]) / width;
        if (far <= most)
            continue;
        most = far;
        worst = c;
        range[0] = low;
        range[1] = high;
    }
    free(planes);
    if (worst < 0)
        return;
    const double zero = s->scale.shift[worst], unit = s->scale.unit[worst];
    (void)snprintf(text, sizeof text, "the values of channel %d are", worst);
    dataset_warn_of_range(out, "outside-range", text, zero + unit * range[0], zero + unit * range[1],
                          zero + unit * s->scale.low[worst], zero + unit * s->scale.high[worst], NULL);
}

/* Warns about an input that is less than half or more than twice as long as every sample, about values that lie outside
 * the range of the data by more than its width, and about values in a much narrower range (0 to 1, not 0 to 255). */
static void warn(const struct domain_state *s, const struct method_input *input, const struct sink *out)
{
    int64_t count = 1;
    float low = input->values[0], high = low;
    if (input->text || s->shape.words > 0)
        return;
    if (s->spectrum && input->rank != 1)
        return; /* the input is a spectrogram, but `least` and `most` are the range of recordings */
    for (int d = 0; d < input->rank; d++)
        count *= input->dim[d];
    for (int64_t i = 0; i < count; i++) {
        low = fminf(low, input->values[i]);
        high = fmaxf(high, input->values[i]);
    }
    double range = s->most - s->least;
    int64_t length = s->c.rows == 1 ? count / s->c.channels : s->c.cols;
    bool odd = 2 * length < s->shortest || length > 2 * s->c.cols;
    bool own = s->scale.columns > 1;
    bool outside = !own && ((double)low < s->least - range || (double)high > s->most + range);
    bool narrow = !own && high > low && (double)(high - low) * 64 < range;
    if (odd)
        dataset_warn_of_range(out, "unusual-length", "the length is", (double)length, (double)length,
                              (double)s->shortest, (double)s->c.cols, NULL);
    else if (outside || narrow)
        dataset_warn_of_range(out, outside ? "outside-range" : "narrow-range", "the values are", (double)low,
                              (double)high, s->least, s->most,
                              outside ? NULL : "if the input is not nearly uniform, it has another scale");
    else if (own)
        warn_of_channel(s, input, out);
}

static const struct scale *scale(const struct domain_state *s)
{
    return &s->scale;
}

/* Shows the first channel of an image, or all channels of a sequence below each other. */
static void domain_dataset_grey(const struct domain_state *s, const float *planes, float *out)
{
    size_t cols = (size_t)s->shape.cols, rows = (size_t)s->shape.picture_rows, channels = (size_t)s->shape.channels;
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < cols; i++) {
            size_t line = s->shape.rows > 1 ? r : s->spectrum ? channels - 1 - r : r * channels / rows;
            float share = (planes[line * cols + i] - s->low) / (s->high != s->low ? s->high - s->low : 1);
            out[r * cols + i] = fminf(1, fmaxf(0, share)) * (s->shape.rows > 1 || s->spectrum ? 1 : 0.5F);
        }
}

static int64_t counts(const struct domain_state *s, int token)
{
    return s->c.target == TARGET_COUNT ? strtoll(name(s, token), NULL, 10) : -1;
}

static double duration(const struct domain_state *s)
{
    return s->spectrum ? (double)s->shape.cols * audio_spectrum_hop(s->spectrum) / s->c.rate : (double)NAN;
}

static int sampling_rate(const struct domain_state *s)
{
    return s->c.rate;
}

const struct domain dataset_domain = {
    .name = "dataset",
    .meaning = "Samples of an uploaded data set.",
    DOMAIN_PART(dataset),
    .shape = shape_of,
    .adapt = domain_dataset_adapt,
    .resolve = domain_dataset_resolve,
    .check = domain_dataset_check,
    .open = open_dataset,
    .close = close_dataset,
    .sample = domain_dataset_sample,
    .mean_symbols = mean_symbols,
    .frequencies = frequencies,
    .division = write_division,
    .spread = domain_dataset_spread,
    .symbol = name,
    .token = name,
    .alphabet = alphabet,
    .duration = duration,
    .rate = sampling_rate,
    .record = record,
    .cluster = domain_dataset_cluster,
    .test_groups = test_groups,
    .turns = turns,
    .counts = counts,
    .text = text,
    .split = split,
    .prepare = domain_dataset_prepare,
    .warn = warn,
    .scale = scale,
    .grey = domain_dataset_grey,
};
