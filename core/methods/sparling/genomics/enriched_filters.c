/* Computes the initial filters of the first convolution from motifs that are enriched in training samples
 * (motif_start_words).
 *
 * For each name of the labels, enriched_motif_find() compares samples with the name and samples without it. It
 * erases the sites of each motif that it finds, so that later searches find other motifs. The searches go through
 * the names in turn, until the motifs fill their share of the filters or no more motifs are found. The other filters
 * stay random, for motifs that the search does not find. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/genomics/matrices/motif_start.h"
#include "core/methods/sparling/genomics/enriched_filters.h"
#include "core/methods/sparling/genomics/hooks.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/label_counts.h"

/* DRAWN: number of training samples that are drawn; EACH: in the search for a name, upper limit of the samples with the
 * name, and of those without it */
enum { DRAWN = 4000, EACH = 1000, NAMES_MOST = 1024 };
static const double FILTERS = 0.75, /* upper limit of the share of filters that begin with motifs */
    SIGNIFICANT = 1e-7,             /* a motif is significant if its p-value is below a thousandth, after a correction
                                       for about 10,000 words */
    PSEUDO = 1;                     /* observations that are added to each position of a matrix */

struct words {
    int names, cols;
    int64_t *first;      /* [DRAWN + 1] */
    unsigned char *base; /* [DRAWN][cols]; erased bases are BASE_UNKNOWN */
    bool *has;           /* [DRAWN][names] */
    bool *done;          /* [names] whether no more motifs of a name can be found */
    /* the samples of one search: their indices, and copies of their bases in one block */
    int *sample;
    int64_t *begin;
    bool *with;
    unsigned char *copy;
};

static void close_words(struct words *w)
{
    free(w->first);
    free(w->base);
    free(w->has);
    free(w->done);
    free(w->sample);
    free(w->begin);
    free(w->with);
    free(w->copy);
}

static bool make_room(struct words *w)
{
    size_t names = (size_t)w->names, cols = (size_t)w->cols;
    w->first = calloc(DRAWN + 1, sizeof *w->first);
    w->base = malloc(DRAWN * cols);
    w->has = calloc(DRAWN * names, sizeof *w->has);
    w->done = calloc(names, sizeof *w->done);
    w->sample = calloc((size_t)2 * EACH, sizeof *w->sample);
    w->begin = calloc((size_t)2 * EACH + 1, sizeof *w->begin);
    w->with = calloc((size_t)2 * EACH, sizeof *w->with);
    w->copy = malloc(2 * EACH * cols);
    return w->first && w->base && w->has && w->done && w->sample && w->begin && w->with && w->copy;
}

void words_bases(const float *planes, int cols, unsigned char *base)
{
    for (int i = 0; i < cols; i++) {
        base[i] = BASE_UNKNOWN;
        for (int b = 0; b < BASES; b++)
            if (planes[b * cols + i] > planes[(b + 1) % BASES * cols + i] &&
                planes[b * cols + i] > planes[(b + 2) % BASES * cols + i])
                base[i] = (unsigned char)b;
    }
}

static enum status draw_samples(struct method_run *run, struct words *w, struct error *err)
{
    struct domain_truth *truth = NULL;
    float *planes = malloc(domain_inputs(&run->domain.shape) * sizeof *planes);
    enum status status = planes ? domain_truths_create(&run->domain.shape, 1, &truth, err)
                                : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to search for motifs");
    for (int i = 0; !status && i < DRAWN; i++) {
        struct domain_request request = {.set = DOMAIN_SAMPLE, .seed = run->config.seed, .index = i};
        status = domain_sample(&run->domain, &request, planes, truth, err);
        if (status)
            break;
        words_bases(planes, w->cols, w->base + (ptrdiff_t)i * w->cols);
        w->first[i + 1] = w->first[i] + w->cols;
        for (int k = 0; k < w->names; k++)
            w->has[i * w->names + k] = presence_true(run, truth, k);
    }
    domain_truths_destroy(truth);
    free(planes);
    return status;
}

/* Chooses the samples with which a motif of `name` is searched. Returns how many it chose. */
static int choose_samples(struct words *w, int name)
{
    int count = 0, chosen[2] = {0};
    for (int i = 0; i < DRAWN; i++) {
        bool with = w->has[i * w->names + name];
        if (chosen[with] == EACH)
            continue;
        chosen[with]++;
        w->sample[count] = i;
        w->with[count] = with;
        w->begin[count + 1] = w->begin[count] + w->cols;
        memcpy(w->copy + w->begin[count], w->base + w->first[i], (size_t)w->cols);
        count++;
    }
    return count;
}

enum status words_search(const struct enriched_set *set, struct position_matrix *out, struct enriched_site *site,
                         int *sites, bool *found, struct error *err)
{
    struct error cause = {0};
    double p;
    enum status status = enriched_motif_find(set, out, &p, site, sites, &cause);
    *found = !status && p < SIGNIFICANT;
    return !status || status == STATUS_NOT_FOUND ? STATUS_OK : error_set(err, status, NULL, "%s", cause.message);
}

int words_width(const struct sparling_config *config)
{
    return (int)fmin(MATRIX_WIDTH - 20, fmax(6, (double)config->first_window));
}

/* Searches for a motif of a name. *found is false if there are no more. */
static enum status search_name(struct words *w, int name, bool both_strands, int width, struct position_matrix *out,
                               bool *found, struct error *err)
{
    struct enriched_set set = {.sequences = choose_samples(w, name),
                               .first = w->begin,
                               .base = w->copy,
                               .with = w->with,
                               .both_strands = both_strands,
                               .width = width};
    enum status status = words_search(&set, out, NULL, NULL, found, err);
    for (int i = 0; *found && i < set.sequences; i++)
        memcpy(w->base + w->first[w->sample[i]], w->copy + w->begin[i], (size_t)w->cols);
    return status;
}

/* Appends the filters of a motif. */
static void append_filters(const struct motif_start *start, int strands, const struct position_matrix *m, float *filter,
                           int *count)
{
    static const double uniform[BASES] = {0.25, 0.25, 0.25, 0.25};
    double column[MATRIX_WIDTH][BASES];
    for (int i = 0; i < m->width; i++)
        position_matrix_column(m, i, uniform, PSEUDO, column[i]);
    for (int k = 0; k < (motif_start_twice(start, strands) ? 2 : 1); k++, ++*count)
        motif_start_filter(start, column, m->width, k == 1, filter + (ptrdiff_t)*count * BASES * start->window);
}

static enum status search_all(struct method_run *run, struct words *w, float *filter, int *count, struct error *err)
{
    const struct sparling_config *c = &run->config;
    const struct motif_start start = motif_start_of(c, run->env.data);
    int strands = domain_alphabet(&run->domain)->strands, each = motif_start_twice(&start, strands) ? 2 : 1;
    double most = floor(FILTERS * (double)c->width);
    bool more = true;
    while (more) {
        more = false;
        for (int k = 0; k < w->names && *count + each <= most; k++) {
            struct position_matrix m;
            bool found = false;
            enum status status =
                w->done[k] ? STATUS_OK : search_name(w, k, strands == 2, words_width(c), &m, &found, err);
            if (status)
                return status;
            w->done[k] = !found;
            more = more || found;
            if (found)
                append_filters(&start, strands, &m, filter, count);
        }
        more = more && *count + each <= most;
    }
    return STATUS_OK;
}

enum status words_filters(struct method_run *run, float *filter, int *count, struct error *err)
{
    const struct domain_shape *shape = &run->domain.shape;
    struct words w = {.names = shape->tokens < NAMES_MOST ? shape->tokens : NAMES_MOST, .cols = shape->cols};
    *count = 0;
    enum status status = make_room(&w)
                             ? draw_samples(run, &w, err)
                             : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to search for motifs");
    if (!status)
        status = search_all(run, &w, filter, count, err);
    close_words(&w);
    return status;
}
