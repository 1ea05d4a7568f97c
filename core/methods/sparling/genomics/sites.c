/* The query "sites": the places of motifs in sequences as JSON, BED6, narrowPeak and GFF3. A site begins and ends
 * where the channel's matrix does. Its score is 1000 times its activation, divided by the largest activation of its
 * channel in the test set. Coordinates are those of the record, or those of the genome if the names of records
 * contain them. */
#include "core/methods/sparling/genomics/sites.h"

#include <math.h>
#include <stdlib.h>

enum form { FORM_JSON, FORM_BED, FORM_NARROW_PEAK, FORM_GFF3 };

struct writing {
    enum form form;
    const struct sink *json;
    struct buf *text;
    struct site_finder *finder;
    struct motif_site_list sites; /* sites of the current record */
    struct region region;
    enum coordinates coordinates;
    int channel;
};

static int score_of(const struct writing *w, const struct motif_site *site)
{
    double most = w->finder->most[site->channel];
    long score = most > 0 ? lrint(1000 * site->value / most) : 0;
    return score < 0 ? 0 : score > 1000 ? 1000 : (int)score;
}

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
        buf_format(w->text, ";channel=%d\n", site->channel);
        return;
    }
    buf_format(w->text, "%s\t%lld\t%lld\t%s\t%d\t%c", w->region.name, (long long)start, (long long)end, name, score,
               strand);
    if (w->form == FORM_NARROW_PEAK) {
        bool inside = from >= start && from < end;
        buf_format(w->text, "\t%.6g\t-1\t-1\t%lld", site->value, inside ? (long long)(from - start) : -1LL);
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
    write_until(w, window->last ? INT64_MAX : window->to - w->finder->shift - MATRIX_WIDTH);
    return w->text && w->text->failed ? buf_status(w->text, "the list of sites", err) : STATUS_OK;
}

static enum status write_sites(const struct method_question *question, struct writing *w, struct error *err)
{
    const struct sites_parameters *asked = question->parameters;
    const struct scan_target to = {w, take_window};
    w->coordinates = sites_coordinates(question);
    w->channel = (int)asked->channel;
    enum status status = STATUS_OK;
    if (asked->channel >= question->model->network->config.channels_motif)
        return error_set(err, STATUS_INVALID, "/channel", "must be below %lld, the number of channels",
                         (long long)question->model->network->config.channels_motif);
    status = site_finder_create(question, &w->finder, err);
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
