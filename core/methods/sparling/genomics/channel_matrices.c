/* Makes position matrices from the motifs of channels.
 *
 * top_activations.c lists where each channel has a motif without a stronger motif nearby. This file draws the samples
 * again, cuts the bases around these places, and aligns the windows of each channel
 * (core/genomics/matrices/position_matrix.h). Only the windows are kept, so memory grows with the number of motifs and
 * not with the length of the samples. */
#include "core/methods/sparling/genomics/channel_matrices.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/genomics/matrices/position_matrix.h"

enum {
    FLANK = 4,      /* before a matrix is trimmed, it covers the footprint and this many positions on each side of it */
    SHIFT_MOST = 30 /* largest number of positions by which a window is shifted */
};
static const double TRIMMED = 0.2;      /* in bits; positions with less information are removed from both ends */
static const double SAME = 0.9;         /* minimum correlation of two channels that show one motif */
static const double SIGNIFICANT = 0.05; /* largest q-value of a match that an answer lists */

/* What is known about one channel while the samples are drawn. */
struct channel_windows {
    unsigned char *base; /* [count][window] */
    int count, filled;
    int token; /* the channel's first name; -1: none */
    /* numbers of samples: with the name (labelled), with a motif of the channel (with_site), with both */
    int labelled, with_site, both;
    bool seen; /* the current sample has a motif of the channel */
};

struct making {
    const struct top_activations *s;
    struct channel_windows *channel; /* [channels] */
    int width, shift, window;
    unsigned char *bases; /* [cols] of the current sample */
    float *planes;
    struct domain_truth *truth;
    double composition[BASES];
};

static bool is_asked(const struct making *m, int channel)
{
    return m->s->channel_asked < 0 || m->s->channel_asked == channel;
}

static enum status open_making(const struct top_activations *s, struct making *m, struct error *err)
{
    const struct domain_shape *shape = &s->model->domain.shape;
    int footprint = 2 * s->half + 1;
    *m = (struct making){.s = s,
                         .channel = calloc((size_t)s->channels, sizeof *m->channel),
                         .width = footprint + 2 * FLANK < MATRIX_WIDTH ? footprint + 2 * FLANK : MATRIX_WIDTH,
                         .shift = s->half + 3 < SHIFT_MOST ? s->half + 3 : SHIFT_MOST,
                         .bases = malloc((size_t)shape->cols),
                         .planes = malloc(domain_inputs(shape) * sizeof(float)),
                         .composition = {1, 1, 1, 1}};
    m->window = m->width + 2 * m->shift;
    enum status status = domain_truths_create(shape, 1, &m->truth, err);
    if (!status && (!m->channel || !m->bases || !m->planes))
        status = error_memory(err, "the matrices of channels");
    for (size_t i = 0; !status && i < s->sites; i++)
        m->channel[s->site[i].channel].count++;
    for (int c = 0; !status && c < s->channels; c++) {
        struct channel_windows *w = &m->channel[c];
        const struct channel_name *name = s->model->names ? &s->model->names[c] : NULL;
        bool named = name && name->names > 0 && channel_name_sign(name, (int)name->token[0]) > 0;
        w->token = named && !shape->positions && shape->numbers == 0 ? (int)name->token[0] : -1;
        w->base = is_asked(m, c) ? malloc((size_t)w->count * (size_t)m->window + 1) : NULL;
        if (is_asked(m, c) && !w->base)
            status = error_memory(err, "the matrices of channels");
    }
    return status;
}

static void close_making(struct making *m)
{
    for (int c = 0; m->channel && c < m->s->channels; c++)
        free(m->channel[c].base);
    free(m->channel);
    free(m->bases);
    free(m->planes);
    domain_truths_destroy(m->truth);
}

/* Reads the bases of the current sample from its one-hot planes, and adds them to the composition. */
static void read_bases(struct making *m)
{
    int cols = m->s->model->domain.shape.cols;
    for (int i = 0; i < cols; i++) {
        float most = 0;
        int base = BASE_UNKNOWN;
        for (int b = 0; b < BASES; b++) {
            float value = m->planes[b * cols + i];
            base = value > most ? b : base;
            most = value > most ? value : most;
        }
        m->bases[i] = (unsigned char)base;
        if (base < BASES)
            m->composition[base]++;
    }
}

static void cut_window(struct making *m, const struct top_activations_site *site)
{
    struct channel_windows *w = &m->channel[site->channel];
    int cols = m->s->model->domain.shape.cols, first = site->col - m->window / 2;
    unsigned char *out = w->base + (size_t)w->filled++ * (size_t)m->window;
    for (int i = 0; i < m->window; i++)
        out[i] = first + i >= 0 && first + i < cols ? m->bases[first + i] : BASE_UNKNOWN;
    w->seen = true;
}

static bool has_token(const struct domain_truth *truth, int token)
{
    for (int i = 0; i < truth->length; i++)
        if (truth->label[i] == token)
            return true;
    return false;
}

static void count_labels(struct making *m)
{
    for (int c = 0; c < m->s->channels; c++) {
        struct channel_windows *w = &m->channel[c];
        bool labelled = w->token >= 0 && has_token(m->truth, w->token);
        w->labelled += labelled;
        w->with_site += w->seen;
        w->both += labelled && w->seen;
        w->seen = false;
    }
}

static enum status cut_all(const struct method_question *question, struct making *m, struct error *err)
{
    const struct top_activations *s = m->s;
    size_t next = 0;
    enum status status = STATUS_OK;
    for (int64_t i = s->asked.first; !status && i < s->asked.first + s->asked.samples; i++) {
        status = work_check(question->work, err);
        if (!status)
            status = top_activations_sample(s, i, m->planes, m->truth, err);
        if (status)
            return status;
        read_bases(m);
        for (; next < s->sites && s->site[next].sample == i; next++)
            if (is_asked(m, s->site[next].channel))
                cut_window(m, &s->site[next]);
        count_labels(m);
    }
    return status;
}

static enum status make_motif(struct making *m, int channel, struct named_motif *out, struct error *err)
{
    const struct top_activations *s = m->s;
    const struct channel_windows *w = &m->channel[channel];
    const struct site_windows windows = {w->filled, m->window, w->base};
    snprintf(out->id, sizeof out->id, "channel-%d", channel);
    if (s->model->names)
        channel_name_text(&s->model->names[channel], &s->model->domain, out->name, sizeof out->name);
    out->evalue =
        w->token < 0 ? NAN : s->channels * position_fisher((int)s->asked.samples, w->labelled, w->with_site, w->both);
    if (w->filled < 2)
        return STATUS_OK;
    enum status status =
        position_matrix_align(&windows, m->width, m->shift, s->alphabet->strands == 2, &out->matrix, NULL, err);
    if (status == STATUS_NOT_FOUND) {
        error_clear(err);
        return STATUS_OK;
    }
    position_matrix_trim(&out->matrix, TRIMMED);
    return status;
}

/* ---- merging ------------------------------------------------------------------------------------------------- */

/* Adds the name of a merged channel to that of the motif. */
static void add_name(struct named_motif *to, const struct named_motif *from)
{
    size_t used = strlen(to->name);
    if (from->name[0] != '\0' && strcmp(to->name, from->name) != 0)
        snprintf(to->name + used, sizeof to->name - used, "%s%s", used > 0 ? "+" : "", from->name);
}

/* Aligns the windows of a channel together with those of the channels that have been merged into it. */
static enum status align_merged(struct making *m, struct channel_matrices *out, int channel, struct error *err)
{
    struct named_motif *motif = &out->motif[channel];
    struct site_windows windows = {.width = m->window};
    for (int c = 0; c < m->s->channels; c++)
        windows.count += out->merged[c] == channel ? m->channel[c].filled : 0;
    unsigned char *base = malloc((size_t)windows.count * (size_t)m->window), *next = base;
    if (!base)
        return error_memory(err, "the matrices of channels");
    for (int c = 0; c < m->s->channels; c++) {
        const struct channel_windows *w = &m->channel[c];
        if (out->merged[c] != channel)
            continue;
        memcpy(next, w->base, (size_t)w->filled * (size_t)m->window);
        next += (size_t)w->filled * (size_t)m->window;
        if (c != channel) {
            add_name(motif, &out->motif[c]);
            out->motif[c].matrix.width = 0;
        }
    }
    windows.base = base;
    enum status status =
        position_matrix_align(&windows, m->width, m->shift, m->s->alphabet->strands == 2, &motif->matrix, NULL, err);
    if (!status)
        position_matrix_trim(&motif->matrix, TRIMMED);
    free(base);
    return status;
}

/* Returns the channel with the most windows among those that have a matrix and have not been merged; -1: none. */
static int largest_channel(const struct making *m, const struct channel_matrices *out)
{
    int best = -1;
    for (int c = 0; c < m->s->channels; c++)
        if (out->merged[c] < 0 && out->motif[c].matrix.width > 0 &&
            (best < 0 || m->channel[c].filled > m->channel[best].filled))
            best = c;
    return best;
}

static enum status merge_channels(const struct method_question *question, struct making *m,
                                  struct channel_matrices *out, struct error *err)
{
    int channels = m->s->channels, leader;
    enum status status = STATUS_OK;
    out->merged = malloc((size_t)channels * sizeof *out->merged);
    if (!out->merged)
        return error_memory(err, "the matrices of channels");
    for (int c = 0; c < channels; c++)
        out->merged[c] = -1;
    while (!status && (leader = largest_channel(m, out)) >= 0) {
        const struct position_matrix *own = &out->motif[leader].matrix;
        bool alone = true;
        out->merged[leader] = leader;
        for (int c = 0; c < channels; c++)
            if (out->merged[c] < 0 &&
                motif_similarity(own, &out->motif[c].matrix, m->s->alphabet->strands == 2) >= SAME) {
                out->merged[c] = leader;
                alone = false;
            }
        status = work_check(question->work, err);
        if (!status && !alone)
            status = align_merged(m, out, leader, err);
    }
    return status;
}

/* ---- names ---------------------------------------------------------------------------------------------------- */

/* Compares one channel with the library. all: scratch [motifs of the library] */
static enum status compare_channel(struct channel_matrices *out, int channel, struct motif_hit *all, struct error *err)
{
    const struct position_matrix *m = &out->motif[channel].matrix;
    double column[MATRIX_WIDTH][BASES];
    if (m->width == 0)
        return STATUS_OK;
    for (int i = 0; i < m->width; i++)
        position_matrix_column(m, i, out->background, 0, column[i]);
    enum status status = motif_match(&out->library.database, (const double(*)[BASES])column, m->width, all, err);
    if (!status)
        memcpy(out->hit + (size_t)channel * (size_t)out->best, all, (size_t)out->best * sizeof *all);
    return status;
}

static enum status compare_all(const struct method_question *question, struct channel_matrices *out, struct error *err)
{
    const struct channels_parameters *asked = question->parameters;
    enum status status = motif_library_open(question->model->data, asked->against, "/against",
                                            out->alphabet->strands == 2, &out->library, err);
    if (status)
        return status;
    int motifs = out->library.database.count;
    struct motif_hit *all = malloc((size_t)motifs * sizeof *all);
    out->best = motifs < MATRIX_MATCHES_MOST ? motifs : MATRIX_MATCHES_MOST;
    out->hit = calloc((size_t)out->count * (size_t)out->best + 1, sizeof *out->hit);
    if (!all || !out->hit)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to compare channels with motifs");
    for (int c = 0; !status && c < out->count; c++) {
        status = work_check(question->work, err);
        if (!status)
            status = compare_channel(out, c, all, err);
    }
    free(all);
    return status;
}

static enum status make_all(const struct method_question *question, const struct top_activations *statistics,
                            struct channel_matrices *out, struct error *err)
{
    const struct channels_parameters *asked_for = question->parameters;
    struct making m;
    double total = 0;
    *out = (struct channel_matrices){.alphabet = statistics->alphabet};
    if (!statistics->alphabet)
        return STATUS_OK;
    enum status status = open_making(statistics, &m, err);
    out->motif = calloc((size_t)statistics->channels, sizeof *out->motif);
    if (!status && !out->motif)
        status = error_memory(err, "the matrices of channels");
    if (!status)
        status = cut_all(question, &m, err);
    for (int c = 0; !status && c < statistics->channels; c++) {
        status = work_check(question->work, err);
        if (!status && is_asked(&m, c))
            status = make_motif(&m, c, &out->motif[c], err);
    }
    if (!status && asked_for->merge)
        status = merge_channels(question, &m, out, err);
    for (int b = 0; b < BASES; b++)
        total += m.composition[b];
    for (int b = 0; b < BASES; b++)
        out->background[b] = m.composition[b] / total;
    out->count = status ? 0 : statistics->channels;
    close_making(&m);
    return status || asked_for->against[0] == '\0' ? status : compare_all(question, out, err);
}

enum status channel_matrices_create(const struct method_question *question, const struct top_activations *statistics,
                                    struct channel_matrices **out, struct error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? make_all(question, statistics, *out, err) : error_memory(err, "the matrices of channels");
}

void channel_matrices_destroy(struct channel_matrices *matrices)
{
    if (!matrices)
        return;
    motif_library_close(&matrices->library);
    free(matrices->hit);
    free(matrices->motif);
    free(matrices->merged);
    free(matrices);
}

/* ---- answers ------------------------------------------------------------------------------------------------ */

/* Returns the letter of a position: a base in upper case if it has at least half of the counts; the more frequent of
 * two bases in lower case if they have at least three quarters together; else '.'. */
static char consensus_letter(const struct alphabet *alphabet, const struct position_matrix *m, int position)
{
    const double *count = m->count[position];
    double total = 0, second = 0;
    int best = 0;
    for (int b = 0; b < BASES; b++) {
        total += count[b];
        best = count[b] > count[best] ? b : best;
    }
    for (int b = 0; b < BASES; b++)
        second = b != best && count[b] > second ? count[b] : second;
    if (count[best] >= total / 2)
        return alphabet->symbols[best];
    return count[best] + second >= 0.75 * total ? (char)tolower((unsigned char)alphabet->symbols[best]) : '.';
}

/* Returns whether two channels show one motif. If channels are merged, returns whether `two` was merged into `one`. */
static bool is_same(const struct channel_matrices *matrices, int one, int two)
{
    if (matrices->merged)
        return matrices->merged[two] == one;
    return motif_similarity(&matrices->motif[one].matrix, &matrices->motif[two].matrix,
                            matrices->alphabet->strands == 2) >= SAME;
}

/* Writes the list of the channels that show the same motif as `channel`. */
static void write_same(const struct channel_matrices *matrices, int channel, const struct sink *out)
{
    sink_begin_list(out, "same_as");
    for (int c = 0; c < matrices->count; c++)
        if (c != channel && is_same(matrices, channel, c))
            sink_integer(out, NULL, c);
    sink_end_list(out);
}

static void write_matches(const struct channel_matrices *matrices, int channel, const struct sink *out)
{
    if (!matrices->hit) {
        sink_null(out, "matches");
        return;
    }
    sink_begin_list(out, "matches");
    for (int i = 0; i < matrices->best; i++) {
        const struct motif_hit *hit = &matrices->hit[channel * matrices->best + i];
        if (i >= MATRIX_MATCHES && hit->qvalue > SIGNIFICANT)
            break;
        const char *name = motif_library_name(&matrices->library, hit->target);
        sink_begin_object(out, NULL);
        sink_text(out, "id", motif_library_id(&matrices->library, hit->target));
        if (name)
            sink_text(out, "name", name);
        else
            sink_null(out, "name");
        sink_number(out, "p", hit->p);
        sink_number(out, "evalue", hit->evalue);
        sink_number(out, "qvalue", hit->qvalue);
        sink_integer(out, "offset", hit->offset);
        sink_integer(out, "overlap", hit->overlap);
        sink_text(out, "strand", hit->reverse ? "-" : "+");
        sink_end_object(out);
    }
    sink_end_list(out);
}

void channel_matrix_write(const struct channel_matrices *matrices, int channel, const struct sink *out)
{
    const struct named_motif *motif = channel < matrices->count ? &matrices->motif[channel] : NULL;
    char consensus[MATRIX_WIDTH + 1] = "";
    double bits = 0;
    if (!motif || motif->matrix.width == 0) {
        sink_null(out, "matrix");
        return;
    }
    const struct position_matrix *m = &motif->matrix;
    for (int i = 0; i < m->width; i++) {
        consensus[i] = consensus_letter(matrices->alphabet, m, i);
        bits += position_matrix_information(m, i);
    }
    sink_begin_object(out, "matrix");
    sink_text(out, "consensus", consensus);
    sink_integer(out, "sites", m->sites);
    if (isnan(motif->evalue))
        sink_null(out, "evalue");
    else
        sink_number(out, "evalue", motif->evalue);
    sink_number(out, "bits", bits);
    sink_begin_list(out, "information");
    for (int i = 0; i < m->width; i++)
        sink_number(out, NULL, position_matrix_information(m, i));
    sink_end_list(out);
    sink_begin_list(out, "counts");
    for (int i = 0; i < m->width; i++) {
        sink_begin_list(out, NULL);
        for (int b = 0; b < BASES; b++)
            sink_number(out, NULL, m->count[i][b]);
        sink_end_list(out);
    }
    sink_end_list(out);
    write_same(matrices, channel, out);
    write_matches(matrices, channel, out);
    sink_end_object(out);
}

enum status channel_matrices_ask(const struct method_question *question, struct channel_matrices **out,
                                 struct error *err)
{
    struct top_activations s;
    *out = NULL;
    enum status status = top_activations_take(question, &s, err);
    if (!status && !s.alphabet)
        status = error_set(err, STATUS_CONFLICT, NULL,
                           "this model reads no DNA or RNA, so its channels have no matrices of bases");
    if (!status)
        status = channel_matrices_create(question, &s, out, err);
    top_activations_close(&s);
    return status;
}

enum status channels_meme(const struct method_question *question, struct buf *out, struct error *err)
{
    struct channel_matrices *matrices;
    enum status status = channel_matrices_ask(question, &matrices, err);
    if (!status)
        motif_file_meme(matrices->motif, matrices->count, matrices->background, matrices->alphabet, out);
    channel_matrices_destroy(matrices);
    return status;
}

enum status channels_jaspar(const struct method_question *question, struct buf *out, struct error *err)
{
    struct channel_matrices *matrices;
    enum status status = channel_matrices_ask(question, &matrices, err);
    if (!status)
        motif_file_jaspar(matrices->motif, matrices->count, out);
    channel_matrices_destroy(matrices);
    return status;
}
