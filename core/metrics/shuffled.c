/* Motif errors of randomly moved predictions: moves the motifs of each channel to different random positions, and
 * counts the errors again. */
#include "core/metrics/shuffled.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/base/random/mt19937.h"

struct shuffling {
    const struct shuffled_sequence *sequences;
    int count, first, length, channels, folded;
    int64_t motifs;
    /* all: [motifs] the motifs, sorted by channel; placed: [motifs] the moved motifs, sorted by sequence */
    struct motif *all, *placed;
    int32_t *place;     /* [motifs] position drawn for each motif of `all` */
    int32_t *positions; /* [count * length], a permutation */
    int64_t *begin;     /* [count + 1] index in `placed` of each sequence's first motif */
    struct motif_errors errors;
    double *values; /* [4][shuffles] the four errors of each shuffle */
    int shuffles, done;
};

/* Collects all active motifs, sorted by channel. */
static enum status shuffled_gather(struct shuffling *s, struct error *err)
{
    for (int i = 0; i < s->count; i++)
        for (int j = 0; j < s->sequences[i].motif_count; j++) {
            const struct motif *m = &s->sequences[i].motifs[j];
            if (m->channel < 0 || m->channel >= s->channels || m->col < s->first || m->col >= s->first + s->length)
                return error_set(err, STATUS_INVALID, NULL, "motif of channel %d at %d", m->channel, m->col);
        }
    int64_t *at = calloc((size_t)s->channels + 1, sizeof *at);
    if (at == NULL)
        return error_memory(err, "a baseline");
    for (int i = 0; i < s->count; i++)
        for (int j = 0; j < s->sequences[i].motif_count; j++)
            at[s->sequences[i].motifs[j].channel + 1] += s->sequences[i].motifs[j].value > 0;
    for (int c = 0; c < s->channels; c++)
        at[c + 1] += at[c];
    for (int i = 0; i < s->count; i++)
        for (int j = 0; j < s->sequences[i].motif_count; j++) {
            const struct motif *m = &s->sequences[i].motifs[j];
            if (m->value > 0)
                s->all[at[m->channel]++] = *m;
        }
    free(at);
    return STATUS_OK;
}

/* Draws positions for all motifs, channel by channel. */
static void shuffled_draw(struct shuffling *s, int shuffle)
{
    int64_t n = (int64_t)s->count * s->length, at = 0;
    struct mt19937 rng;
    mt19937_init(&rng, (uint32_t)shuffle);
    for (int64_t i = 0; i < s->motifs; i++, at++) {
        if (i == 0 || s->all[i].channel != s->all[i - 1].channel)
            at = 0;
        int64_t other = mt19937_integer(&rng, at, n);
        int32_t kept = s->positions[at];
        s->place[i] = s->positions[at] = s->positions[other];
        s->positions[other] = kept;
    }
}

/* Sorts the moved motifs by sequence. */
static void shuffled_place(struct shuffling *s)
{
    for (int i = 0; i <= s->count; i++)
        s->begin[i] = 0;
    for (int64_t i = 0; i < s->motifs; i++)
        s->begin[s->place[i] / s->length + 1]++;
    for (int i = 0; i < s->count; i++)
        s->begin[i + 1] += s->begin[i];
    for (int64_t i = s->motifs; i-- > 0;) {
        struct motif m = s->all[i];
        m.col = s->first + s->place[i] % s->length;
        s->placed[--s->begin[s->place[i] / s->length + 1]] = m;
    }
    /* the loop above has moved begin[i + 1] to the first motif of sequence i */
    for (int i = 0; i < s->count; i++)
        s->begin[i] = s->begin[i + 1];
    s->begin[s->count] = s->motifs;
}

static enum status count_errors(struct shuffling *s, struct motif_report *report, struct error *err)
{
    enum status status = STATUS_OK;
    motif_errors_clear(&s->errors);
    for (int i = 0; !status && i < s->count; i++)
        status = motif_errors_add(&s->errors, s->placed + s->begin[i], (int)(s->begin[i + 1] - s->begin[i]),
                                  s->sequences[i].boxes, s->sequences[i].box_count, err);
    for (int symbol = s->folded; symbol < s->errors.symbols; symbol++)
        motif_errors_fold(&s->errors, symbol);
    return status ? status : motif_errors_report(&s->errors, MOTIF_BOXES, report, err);
}

static enum status shuffled_prepare(struct shuffling *s, int symbols, struct error *err)
{
    int64_t n = (int64_t)s->count * s->length;
    for (int i = 0; i < s->count; i++)
        for (int j = 0; j < s->sequences[i].motif_count; j++)
            s->motifs += s->sequences[i].motifs[j].value > 0;
    if (s->count < 1 || s->length < 1 || n > INT32_MAX)
        return error_set(err, STATUS_INVALID, NULL, "a baseline over %d sequences of %d positions", s->count,
                         s->length);
    enum status status = motif_errors_init(&s->errors, symbols, s->channels, 0, err);
    size_t motifs = (size_t)s->motifs + 1;
    s->all = malloc(motifs * sizeof *s->all);
    s->placed = malloc(motifs * sizeof *s->placed);
    s->place = malloc(motifs * sizeof *s->place);
    s->positions = malloc((size_t)n * sizeof *s->positions);
    s->begin = malloc(((size_t)s->count + 2) * sizeof *s->begin);
    bool room = s->all != NULL && s->placed != NULL && s->place != NULL && s->positions != NULL && s->begin != NULL;
    if (!status && !room)
        status = error_memory(err, "a baseline");
    for (int64_t i = 0; !status && i < n; i++)
        s->positions[i] = (int32_t)i;
    return status ? status : shuffled_gather(s, err);
}

void shuffling_destroy(struct shuffling *s)
{
    if (s == NULL)
        return;
    free(s->all);
    free(s->placed);
    free(s->place);
    free(s->positions);
    free(s->begin);
    free(s->values);
    motif_errors_close(&s->errors);
    free(s);
}

enum status shuffling_create(const struct shuffled_sequence *sequences, int count, int first, int length, int symbols,
                             int folded, int channels, int shuffles, struct shuffling **out, struct error *err)
{
    struct shuffling *s = shuffles > 0 ? calloc(1, sizeof *s) : NULL;
    *out = NULL;
    if (s == NULL)
        return error_set(err, shuffles > 0 ? STATUS_NO_MEMORY : STATUS_INVALID, NULL, "%d shuffles", shuffles);
    s->sequences = sequences;
    s->count = count;
    s->first = first;
    s->length = length;
    s->channels = channels;
    s->folded = folded;
    s->shuffles = shuffles;
    s->values = malloc(4 * (size_t)shuffles * sizeof *s->values);
    enum status status = s->values != NULL
                             ? shuffled_prepare(s, symbols, err)
                             : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d shuffles", shuffles);
    if (status) {
        shuffling_destroy(s);
        return status;
    }
    *out = s;
    return STATUS_OK;
}

enum status shuffling_next(struct shuffling *s, bool *done, struct error *err)
{
    struct motif_report report = {0};
    shuffled_draw(s, s->done);
    shuffled_place(s);
    enum status status = count_errors(s, &report, err);
    double *at = s->values + s->done++;
    at[0] = report.fpe;
    at[s->shuffles] = report.fne;
    at[2 * s->shuffles] = report.ce_assignment;
    at[3 * s->shuffles] = report.ce_majority;
    *done = s->done == s->shuffles;
    return status;
}

enum status shuffling_finish(const struct shuffling *s, struct shuffled_errors *out, struct error *err)
{
    struct bootstrap *into[4] = {&out->fpe, &out->fne, &out->ce, &out->ce_majority};
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < 4; i++)
        status = bootstrap_mean(s->values + i * s->shuffles, s->shuffles, into[i], err);
    return status;
}
