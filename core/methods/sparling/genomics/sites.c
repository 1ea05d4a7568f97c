/* The query "sites": the places of motifs in sequences as JSON, BED6, narrowPeak and GFF3. A site begins and ends
 * where the channel's matrix does. Its score is 1000 times its activation, divided by the largest activation of its
 * channel in the test set.
 *
 * With false_marks, the sequences are scanned twice. The first scan counts the sites of each channel by their scores,
 * because q depends on all sites of the request (core/metrics/false_marks.h); memory does not grow with their number.
 * An input is then a piece of a record as long as the samples of the model. The score of a site is -10 log10 q.
 *
 * Coordinates are those of the record, or those of the genome if the names of records
 * contain them. */
#include "core/methods/sparling/genomics/sites.h"

#include <math.h>
#include <stdlib.h>

enum form { FORM_COUNT, FORM_JSON, FORM_BED, FORM_NARROW_PEAK, FORM_GFF3 };

struct writing {
    enum form form;
    const struct sink *json;
    struct buf *text;
    struct site_finder *finder;
    struct motif_site_list sites; /* sites of the current record */
    struct region region;
    enum coordinates coordinates;
    int channel, cols; /* cols: positions of a sample of the model */
    double limit;      /* largest q of a site that is written; 0: all, without q */
    int64_t *marks;    /* [channels][NEGATIVES_MARKS + 1] number of sites in each step of q, from the first scan */
    double *q;         /* [channels][NEGATIVES_MARKS + 1] */
    int64_t inputs;
};

/* ---- error rates ----------------------------------------------------------------------------------------- */

static bool has_rate(const struct writing *w, int channel)
{
    return w->finder->model->negatives.channel[channel].why == NEGATIVES_KNOWN;
}

/* Index of a site's step in `marks` and `q`. */
static size_t step_of(const struct writing *w, const struct motif_site *site)
{
    const struct false_marks known = negatives_marks(&w->finder->model->negatives, site->channel);
    return (size_t)site->channel * (NEGATIVES_MARKS + 1) + (size_t)false_marks_step(&known, site->value);
}

static double p_of(const struct writing *w, const struct motif_site *site)
{
    const struct false_marks known = negatives_marks(&w->finder->model->negatives, site->channel);
    return has_rate(w, site->channel) ? false_marks_p(&known, site->value) : (double)NAN;
}

static double q_of(const struct writing *w, const struct motif_site *site)
{
    return w->limit > 0 && has_rate(w, site->channel) ? w->q[step_of(w, site)] : (double)NAN;
}

/* -log10 of an error rate; -1, as narrowPeak states it, if there is none. */
static double minus_log(double rate)
{
    return isnan(rate) ? -1 : fmax(0, -log10(rate));
}

static int score_of(const struct writing *w, const struct motif_site *site)
{
    if (w->limit > 0)
        return (int)fmin(1000, rint(10 * minus_log(q_of(w, site))));
    double most = w->finder->most[site->channel];
    long score = most > 0 ? lrint(1000 * site->value / most) : 0;
    return score < 0 ? 0 : score > 1000 ? 1000 : (int)score;
}

/* ---- forms ------------------------------------------------------------------------------------------------ */

static void write_json(const struct writing *w, const struct motif_site *site, int64_t start, int64_t end, char strand,
                       const char *name)
{
    char text[2] = {strand, '\0'};
    sink_begin_object(w->json, NULL);
    sink_text(w->json, "record", w->region.name);
    sink_integer(w->json, "start", start);
    sink_integer(w->json, "end", end);
    sink_text(w->json, "strand", text);
    sink_integer(w->json, "channel", site->channel);
    sink_text(w->json, "name", name);
    sink_integer(w->json, "score", score_of(w, site));
    sink_number(w->json, "value", site->value);
    sink_number(w->json, "p", p_of(w, site));
    if (w->limit > 0)
        sink_number(w->json, "q", q_of(w, site));
    sink_end_object(w->json);
}

/* Writes a text as GFF3 requires: characters that separate parts become %XX. */
static void write_escaped(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c <= ' ' || c == 0x7F || c == ';' || c == '=' || c == '&' || c == ',' || c == '%' || c == '>')
            buf_format(out, "%%%02X", c);
        else
            buf_append(out, text, 1);
    }
}

static void write_text(const struct writing *w, const struct motif_site *site, int64_t start, int64_t end, char strand,
                       const char *name)
{
    int64_t from = region_start(&w->region, site->peak, site->peak + 1);
    int score = score_of(w, site);
    if (w->form == FORM_GFF3) {
        write_escaped(w->text, w->region.name);
        buf_format(w->text, "\tmotifd\tsequence_motif\t%lld\t%lld\t%.6g\t%c\t.\tName=", (long long)start + 1,
                   (long long)end, site->value, strand);
        write_escaped(w->text, name);
        buf_format(w->text, ";channel=%d", site->channel);
        if (has_rate(w, site->channel))
            buf_format(w->text, ";p=%.6g", p_of(w, site));
        if (w->limit > 0)
            buf_format(w->text, ";q=%.6g", q_of(w, site));
        buf_text(w->text, "\n");
        return;
    }
    buf_format(w->text, "%s\t%lld\t%lld\t%s\t%d\t%c", w->region.name, (long long)start, (long long)end, name, score,
               strand);
    if (w->form == FORM_NARROW_PEAK) {
        bool inside = from >= start && from < end;
        buf_format(w->text, "\t%.6g\t%.6g\t%.6g\t%lld", site->value, minus_log(p_of(w, site)), minus_log(q_of(w, site)),
                   inside ? (long long)(from - start) : -1LL);
    }
    buf_text(w->text, "\n");
}

static int by_place(const void *a, const void *b)
{
    const struct motif_site *x = a, *y = b;
    if (x->start != y->start)
        return (x->start > y->start) - (x->start < y->start);
    return x->channel - y->channel;
}

/* Writes the sites that begin before `until`, in ascending order. Keeps the others, because the next window may still
 * find a site that begins before one of them. */
static void write_until(struct writing *w, int64_t until)
{
    size_t kept = 0;
    if (w->sites.count > 0)
        qsort(w->sites.site, w->sites.count, sizeof *w->sites.site, by_place);
    for (size_t i = 0; i < w->sites.count; i++) {
        const struct motif_site *site = &w->sites.site[i];
        char name[SITE_NAME];
        if (site->start >= until) {
            w->sites.site[kept++] = *site;
            continue;
        }
        if (w->form == FORM_COUNT) {
            w->marks[step_of(w, site)]++;
            continue;
        }
        if (w->limit > 0 && !(q_of(w, site) <= w->limit))
            continue;
        int64_t start = region_start(&w->region, site->start, site->end), end = start + site->end - site->start;
        char strand = !w->region.reverse || site->strand == '.' ? site->strand : site->strand == '+' ? '-' : '+';
        site_name(w->finder, site->channel, name);
        if (w->form == FORM_JSON)
            write_json(w, site, start, end, strand, name);
        else
            write_text(w, site, start, end, strand, name);
    }
    w->sites.count = kept;
}

static enum status take_window(void *context, const struct scan_window *window, struct error *err)
{
    struct writing *w = context;
    if (window->first)
        region_parse(window->record, w->coordinates, &w->region);
    enum status status = site_finder_window(w->finder, window, w->channel, &w->sites, err);
    if (status)
        return status;
    if (window->last)
        w->inputs += (window->length + w->cols - 1) / w->cols;
    write_until(w, window->last ? INT64_MAX : window->to - w->finder->shift - MATRIX_WIDTH);
    return w->text && w->text->failed ? buf_status(w->text, "the list of sites", err) : STATUS_OK;
}

/* Scans the sequences once, to compute q of each step. */
static enum status count_sites(const struct method_question *question, struct writing *w, struct error *err)
{
    const struct negatives *negatives = &question->model->negatives;
    const struct scan_target to = {w, take_window};
    const enum form form = w->form;
    size_t steps = (size_t)negatives->channels * (NEGATIVES_MARKS + 1);
    w->marks = calloc(steps, sizeof *w->marks);
    w->q = calloc(steps, sizeof *w->q);
    if (!w->marks || !w->q)
        return error_memory(err, "error rates");
    w->form = FORM_COUNT;
    enum status status = sites_scan(question, &to, err);
    w->form = form;
    for (int c = 0; !status && c < negatives->channels; c++) {
        const struct false_marks known = negatives_marks(negatives, c);
        const ptrdiff_t at = (ptrdiff_t)c * (NEGATIVES_MARKS + 1);
        false_marks_step_q(&known, w->marks + at, w->inputs, w->q + at);
    }
    return status;
}

static enum status write_sites(const struct method_question *question, struct writing *w, struct error *err)
{
    const struct sites_parameters *asked = question->parameters;
    const struct scan_target to = {w, take_window};
    w->coordinates = sites_coordinates(question);
    w->channel = (int)asked->channel;
    w->limit = asked->false_marks;
    w->cols = question->model->domain.shape.cols;
    enum status status = STATUS_OK;
    if (asked->channel >= question->model->network->config.channels_motif)
        return error_set(err, STATUS_INVALID, "/channel", "must be below %lld, the number of channels",
                         (long long)question->model->network->config.channels_motif);
    status = site_finder_create(question, &w->finder, err);
    if (!status && w->limit > 0)
        status = count_sites(question, w, err);
    if (!status && w->form == FORM_JSON)
        sink_begin_list(w->json, "sites");
    if (!status && w->form == FORM_GFF3)
        buf_text(w->text, "##gff-version 3\n");
    if (!status)
        status = sites_scan(question, &to, err);
    if (!status && w->form == FORM_JSON)
        sink_end_list(w->json);
    site_finder_destroy(w->finder);
    free(w->sites.site);
    free(w->marks);
    free(w->q);
    return status;
}

enum status sites_answer(const struct method_question *question, const struct sink *out, struct error *err)
{
    struct writing w = {.form = FORM_JSON, .json = out};
    return write_sites(question, &w, err);
}

enum status sites_bed(const struct method_question *question, struct buf *out, struct error *err)
{
    struct writing w = {.form = FORM_BED, .text = out};
    return write_sites(question, &w, err);
}

enum status sites_narrow_peak(const struct method_question *question, struct buf *out, struct error *err)
{
    struct writing w = {.form = FORM_NARROW_PEAK, .text = out};
    return write_sites(question, &w, err);
}

enum status sites_gff3(const struct method_question *question, struct buf *out, struct error *err)
{
    struct writing w = {.form = FORM_GFF3, .text = out};
    return write_sites(question, &w, err);
}
