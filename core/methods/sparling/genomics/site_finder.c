/* Makes sites from maxima (sites.h).
 *
 * A model marks a motif somewhere within its footprint, and does not say on which strand the motif is. This file
 * therefore tries the channel's matrix at all places near the mark, on both strands: the best fit is the site. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/methods/sparling/genomics/sites.h"
#include "core/genomics/matrices/position_matrix.h"

enum { REFERENCE_SAMPLES = 500 };

static enum status make_finder(const struct method_question *question, struct site_finder *out, struct error *err)
{
    const struct channels_parameters asked = {.set = CHANNELS_TEST, .samples = REFERENCE_SAMPLES, .top = 1};
    struct method_question reference = *question;
    struct top_activations s;
    reference.parameters = &asked;
    reference.item = -1;
    *out = (struct site_finder){.model = question->model};
    enum status status = top_activations_take(&reference, &s, err);
    if (!status && !s.alphabet)
        status = error_set(err, STATUS_CONFLICT, NULL, "this model reads no DNA or RNA, so it finds no sites");
    if (!status)
        status = channel_matrices_create(&reference, &s, &out->matrices, err);
    out->ratios = status ? NULL : calloc((size_t)s.channels, sizeof *out->ratios);
    out->most = status ? NULL : calloc((size_t)s.channels, sizeof *out->most);
    if (!status && (!out->ratios || !out->most))
        status = error_memory(err, "sites");
    for (int c = 0; !status && c < s.channels; c++) {
        out->most[c] = (double)s.channel[c].most;
        site_ratios_make(&out->matrices->motif[c].matrix, out->matrices->background, &out->ratios[c]);
    }
    out->half = s.half;
    out->shift = s.half + 3;
    top_activations_close(&s);
    return status;
}

enum status site_finder_create(const struct method_question *question, struct site_finder **out, struct error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? make_finder(question, *out, err) : error_memory(err, "sites");
}

void site_finder_destroy(struct site_finder *finder)
{
    if (!finder)
        return;
    channel_matrices_destroy(finder->matrices);
    free(finder->ratios);
    free(finder->most);
    free(finder);
}

void site_name(const struct site_finder *finder, int channel, char out[SITE_NAME])
{
    const struct named_motif *motif = &finder->matrices->motif[channel];
    const char *name = motif->name[0] != '\0' ? motif->name : motif->id;
    int used = 0;
    for (; used < SITE_NAME - 1 && name[used] != '\0'; used++)
        out[used] = (unsigned char)name[used] <= ' ' || name[used] == 0x7F ? '_' : name[used];
    out[used] = '\0';
}

/* Returns whether a stronger motif within ANNOTATION_REACH positions hides the motif of `channel` at `col`. Of two
 * equally strong motifs, the one of the lower channel stays, and in one channel the one at the lower position.
 * annotation_mark() has the same rule. */
static bool is_hidden(const struct scan_window *w, int channels, int channel, int col)
{
    float mine = w->map[(size_t)channel * (size_t)w->width + (size_t)col];
    int from = col > ANNOTATION_REACH ? col - ANNOTATION_REACH : 0;
    int to = col + ANNOTATION_REACH < w->width ? col + ANNOTATION_REACH : w->width - 1;
    for (int c = 0; c < channels; c++)
        for (int i = from; i <= to; i++) {
            float other = w->map[(size_t)c * (size_t)w->width + (size_t)i];
            bool before = c < channel || (c == channel && i < col);
            if ((c != channel || i != col) && (other > mine || (other == mine && before)))
                return true;
        }
    return false;
}

/* Returns how many positions of a window belong to the record; the others are padding after its end. */
static int known_positions(const struct scan_window *w)
{
    return w->last && w->length - w->origin < w->width ? (int)(w->length - w->origin) : w->width;
}

static struct motif_site make_site(const struct site_finder *f, const struct scan_window *w, int channel, int col)
{
    const struct site_ratios *ratios = &f->ratios[channel];
    struct motif_site site = {.peak = w->origin + col,
                              .strand = '.',
                              .channel = channel,
                              .value = (double)w->map[(size_t)channel * (size_t)w->width + (size_t)col]};
    struct site_placement at;
    int end = known_positions(w), half = f->half;
    if (ratios->width > 0 &&
        site_place(ratios, w->base, end, col, f->shift, f->matrices->alphabet->strands == 2, &at)) {
        site.start = w->origin + at.first;
        site.end = site.start + ratios->width;
        site.strand = at.reverse ? '-' : '+';
    } else {
        site.start = w->origin + (col > half ? col - half : 0);
        site.end = w->origin + (col + half + 1 < end ? col + half + 1 : end);
    }
    return site;
}

static enum status append_site(struct motif_site_list *list, const struct motif_site *site, struct error *err)
{
    /* two marks of one motif: the stronger one stays */
    for (size_t i = list->count; i-- > 0 && list->site[i].peak + 2 * MATRIX_WIDTH > site->peak;) {
        struct motif_site *other = &list->site[i];
        if (other->channel != site->channel || other->start != site->start || other->strand != site->strand)
            continue;
        if (site->value > other->value)
            *other = *site;
        return STATUS_OK;
    }
    struct motif_site *more = grown(list->site, list->count, sizeof *more);
    if (!more)
        return error_memory(err, "sites");
    list->site = more;
    list->site[list->count++] = *site;
    return STATUS_OK;
}

enum status site_finder_window(const struct site_finder *finder, const struct scan_window *window, int channel,
                               struct motif_site_list *out, struct error *err)
{
    int channels = finder->matrices->count, to = (int)(window->to - window->origin);
    enum status status = STATUS_OK;
    for (int i = (int)(window->from - window->origin); !status && i < to; i++)
        for (int c = 0; !status && c < channels; c++) {
            bool wanted = channel < 0 || c == channel;
            if (!wanted || !(window->map[(size_t)c * (size_t)window->width + (size_t)i] > 0) ||
                is_hidden(window, channels, c, i))
                continue;
            struct motif_site site = make_site(finder, window, c, i);
            status = append_site(out, &site, err);
        }
    return status;
}

void bases_of_planes(const float *planes, int64_t cols, int64_t length, unsigned char *base)
{
    for (int64_t i = 0; i < length; i++) {
        base[i] = BASE_UNKNOWN;
        for (int b = 0; b < BASES; b++)
            if (planes[b * cols + i] > 0)
                base[i] = (unsigned char)b;
    }
}

enum status site_finder_strongest(const struct site_finder *finder, const float *planes, const float *map, int cols,
                                  int length, struct strand_site *strongest, struct error *err)
{
    struct motif_site_list sites = {.count = 0};
    unsigned char *base = malloc((size_t)cols);
    if (!base)
        return error_memory(err, "sites");
    bases_of_planes(planes, cols, cols, base);
    const struct scan_window window = {
        .to = length, .width = cols, .base = base, .map = map, .first = true, .last = true, .length = length};
    enum status status = site_finder_window(finder, &window, -1, &sites, err);
    for (int c = 0; c < finder->matrices->count; c++)
        strongest[c] = (struct strand_site){.strand = '.'};
    for (size_t i = 0; !status && i < sites.count; i++) {
        const struct motif_site *site = &sites.site[i];
        struct strand_site *best = &strongest[site->channel];
        if (site->strand != '.' && site->start >= 0 && site->end <= length && site->value > best->value)
            *best = (struct strand_site){site->start, site->end, site->strand, site->value};
    }
    free(sites.site);
    free(base);
    return status;
}
