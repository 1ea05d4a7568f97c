/* Answers the queries "latents" and "latents/{latent}": what the evaluation has stored of each latent of the first
 * dictionary. */
#include <math.h>
#include <stdlib.h>

#include "core/methods/dictionary/queries/model.h"
#include "core/methods/dictionary/run_int.h"

enum { SORT_NUMBER, SORT_RATE, SORT_STRENGTH };
enum { BRIEF = 3 }; /* strongest samples in the list */

static const double *figures_of(const struct method_model *m, int j)
{
    return m->latents + (ptrdiff_t)j * LATENT_COLUMNS;
}

static int level_of(const struct sae_shape *shape, int j)
{
    int level = 0;
    while (j >= shape->level_end[level])
        level++;
    return level;
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

static void write_strongest(const struct method_model *m, int j, int most, const struct sink *out)
{
    const struct gallery_counts *counts = &m->gallery.counts[j];
    sink_begin_list(out, "strongest");
    for (int i = 0; i < most && counts->input[i] >= 0; i++) {
        sink_begin_object(out, NULL);
        sink_number(out, "value", (double)m->gallery.values[j].value[i] / m->scale);
        if (m->rows.count > counts->input[i])
            rows_describe(&m->rows, counts->input[i], out);
        else
            sink_integer(out, dictionary_known(&m->config) ? "sample" : "row", counts->input[i]);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static void write_histogram(const struct method_model *m, int j, const struct sink *out)
{
    sink_begin_list(out, "histogram");
    for (int bin = 0; bin < GALLERY_BINS; bin++) {
        sink_begin_object(out, NULL);
        sink_number(out, "from", bin > 0 ? gallery_bin_from(bin) / m->scale : 0);
        sink_integer(out, "samples", m->gallery.counts[j].bins[bin]);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static void write_brief(const struct method_model *m, int j, const struct sink *out)
{
    const double *row = figures_of(m, j);
    const struct sae_shape *shape = &m->sae[0]->shape;
    sink_integer(out, "latent", j);
    sink_number(out, "rate", row[LATENT_RATE]);
    sink_number(out, "norm", (double)m->norm[0][j]);
    if (shape->levels > 1) {
        sink_integer(out, "level", level_of(shape, j));
        if (m->gallery.counts[j].parent >= 0)
            sink_integer(out, "parent", m->gallery.counts[j].parent);
        else
            sink_null(out, "parent");
    }
    sink_number(out, "recurs", row[LATENT_PARTNER]);
    sink_number(out, "agrees", row[LATENT_AGREES]);
    sink_boolean(out, "worth", row[LATENT_WORTH] > 0);
    latent_truth(out, row);
}

static void write_pair(const struct sink *out, int64_t latent, const char *name, double value)
{
    sink_begin_object(out, NULL);
    sink_integer(out, "latent", latent);
    sink_number(out, name, value);
    sink_end_object(out);
}

/* Writes the latents whose rows have the largest cosines with row j. */
static void write_nearest(const struct method_model *m, int j, const struct sink *out)
{
    int nearest[GALLERY_NEAR], found = 0;
    double cosine[GALLERY_NEAR];
    size_t d = (size_t)m->c.inputs;
    const float *rows = m->sae[0]->decoder->value;
    for (int i = 0; i < m->c.width; i++) {
        double norms = (double)m->norm[0][i] * (double)m->norm[0][j];
        double value = norms > 0 ? (double)m->kernels->dot(d, rows + (size_t)i * d, rows + (size_t)j * d) / norms : 0;
        if (i == j || (found == GALLERY_NEAR && !(value > cosine[found - 1])))
            continue;
        int at = found < GALLERY_NEAR ? found++ : found - 1;
        for (; at > 0 && value > cosine[at - 1]; at--) {
            nearest[at] = nearest[at - 1];
            cosine[at] = cosine[at - 1];
        }
        nearest[at] = i;
        cosine[at] = value;
    }
    sink_begin_list(out, "nearest");
    for (int i = 0; i < found; i++)
        write_pair(out, nearest[i], "cosine", cosine[i]);
    sink_end_list(out);
}

static void write_together(const struct method_model *m, int j, const struct sink *out)
{
    sink_begin_list(out, "together");
    for (int i = 0; i < GALLERY_NEAR && m->gallery.counts[j].together[i] >= 0; i++)
        write_pair(out, m->gallery.counts[j].together[i], "share", (double)m->gallery.values[j].share[i]);
    sink_end_list(out);
}

/* Writes how often the parent of latent j is active together with latent j, and the children of latent j. Writes
 * nothing if the dictionary has one level. */
static void write_tree(const struct method_model *m, int j, const struct sink *out)
{
    if (m->sae[0]->shape.levels == 1)
        return;
    if (m->gallery.counts[j].parent >= 0)
        sink_number(out, "parent_share", (double)m->gallery.values[j].parent_share);
    sink_begin_list(out, "children");
    for (int i = 0; i < m->c.width; i++)
        if (m->gallery.counts[i].parent == j)
            write_pair(out, i, "parent_share", (double)m->gallery.values[i].parent_share);
    sink_end_list(out);
}

/* ---- the list ------------------------------------------------------------------------------------------------ */

struct ranked {
    int latent;
    double key;
};

static int by_key(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->key < b->key || a->key > b->key)
        return a->key < b->key ? 1 : -1;
    return a->latent < b->latent ? -1 : a->latent > b->latent;
}

static double key_of(const struct method_model *m, int sort, int j)
{
    if (sort == SORT_RATE)
        return figures_of(m, j)[LATENT_RATE];
    return sort == SORT_STRENGTH && m->gallery.counts[j].input[0] >= 0 ? (double)m->gallery.values[j].value[0] : 0;
}

static enum status write_list(const struct method_model *m, const struct dictionary_question *asked,
                              const struct sink *out, struct error *err)
{
    struct ranked *order = malloc((size_t)m->c.width * sizeof *order);
    if (!order)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to sort %d latents", m->c.width);
    for (int j = 0; j < m->c.width; j++)
        order[j] = (struct ranked){j, key_of(m, asked->sort, j)};
    qsort(order, (size_t)m->c.width, sizeof *order, by_key);
    sink_begin_list(out, "latents");
    for (int64_t i = asked->first; i < m->c.width && i - asked->first < asked->count; i++) {
        sink_begin_object(out, NULL);
        write_brief(m, order[i].latent, out);
        write_strongest(m, order[i].latent, BRIEF, out);
        write_histogram(m, order[i].latent, out);
        sink_end_object(out);
    }
    sink_end_list(out);
    free(order);
    return STATUS_OK;
}

enum status dictionary_latents(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct method_model *m = question->model;
    if (m->tested == 0)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "the latents of this checkpoint have not been measured: wait until the job has finished, and "
                         "ask a job that trains one dictionary, not a comparison of several");
    if (question->item >= m->c.width)
        return error_set(err, STATUS_NOT_FOUND, NULL, "there is no latent %lld; the dictionary has %d",
                         (long long)question->item, m->c.width);
    sink_text(out, "learner", dictionary_learners[m->c.learner]);
    sink_integer(out, "width", m->c.width);
    sink_integer(out, "inputs", m->c.inputs);
    sink_integer(out, "samples", m->tested);
    if (question->item < 0) {
        sink_begin_list(out, "levels");
        for (int level = 0; level < m->sae[0]->shape.levels; level++)
            sink_integer(out, NULL, m->sae[0]->shape.level_end[level]);
        sink_end_list(out);
        return write_list(m, question->parameters, out, err);
    }
    int j = (int)question->item;
    write_brief(m, j, out);
    write_strongest(m, j, GALLERY_TOP, out);
    write_histogram(m, j, out);
    write_nearest(m, j, out);
    write_together(m, j, out);
    write_tree(m, j, out);
    return STATUS_OK;
}
