/* Runs of letters, and a logistic regression on their presence. */
#include "core/reference/letter_grams.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"

enum { LEAST_LONGEST = 3, MOST_LONGEST = 8, KINDS = 4096, PENALTIES = 3, EPOCHS = 20, NEWTON = 20 };

struct letter_grams {
    struct thread_pool *pool;
    int letters, cols, outputs, longest;
    bool exclusive;
    int samples;
    size_t runs, room; /* entries of `run`, and allocated ones */
    int64_t *run;   /* the runs of all samples as numbers, ascending within a sample; after the first step: their places
                       in `known`; -1: left out */
    size_t *end;    /* [samples] end of the entries of each sample */
    int64_t *known; /* the runs that are used, ascending */
    int features;   /* number of entries of `known` */
    float *weights, *tried; /* [outputs][features + 1], the last column is b */
    int least;              /* number of validation samples that `weights` answers wrongly; -1: none yet */
    int piece;
    int train;         /* number of training samples */
    const bool *truth; /* during a step */
    double c;          /* during a step */
    bool failed;       /* during a step: no memory */
};

/* The longest runs for which there are at most KINDS kinds, but at least LEAST_LONGEST letters. */
static int longest_run(int letters)
{
    int longest = 0;
    for (int64_t kinds = letters; kinds <= KINDS && longest<MOST_LONGEST; kinds *= letters> 1 ? letters : KINDS)
        longest++;
    return longest < LEAST_LONGEST ? LEAST_LONGEST : longest;
}

enum status letter_grams_create(int letters, int cols, int outputs, bool exclusive, struct thread_pool *pool,
                                struct letter_grams **out, struct error *err)
{
    struct letter_grams *g = calloc(1, sizeof *g);
    *out = g;
    if (g == NULL)
        return error_memory(err, "runs of letters");
    *g = (struct letter_grams){.pool = pool,
                               .letters = letters,
                               .cols = cols,
                               .outputs = outputs,
                               .longest = longest_run(letters),
                               .exclusive = exclusive,
                               .least = -1};
    return STATUS_OK;
}

void letter_grams_destroy(struct letter_grams *g)
{
    if (g == NULL)
        return;
    free(g->run);
    free(g->end);
    free(g->known);
    free(g->weights);
    free(g->tried);
    free(g);
}

/* ---- runs ------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static size_t without_repeats(int64_t *values, size_t count)
{
    size_t kept = 0;
    qsort(values, count, sizeof *values, compare);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || values[i] != values[i - 1])
            values[kept++] = values[i];
    return kept;
}

/* The letter at a column; -1: none. */
static int letter_at(const struct letter_grams *g, const float *planes, int col)
{
    for (int letter = 0; letter < g->letters; letter++)
        if (planes[(size_t)letter * (size_t)g->cols + (size_t)col] > 0.5F)
            return letter;
    return -1;
}

/* Returns the first entry of a sample. */
static size_t begin(const struct letter_grams *g, int sample)
{
    return sample > 0 ? g->end[sample - 1] : 0;
}

/* Appends the runs of a sample, each once. false: no memory; the entries are then those of the earlier samples. */
static bool append_runs(struct letter_grams *g, const float *planes)
{
    size_t first = g->runs, room = g->runs; /* `room`: entries that are in use, with repeats */
    for (int col = 0; col < g->cols; col++) {
        int64_t code = 0;
        for (int length = 0; length < g->longest && col + length < g->cols; length++) {
            int letter = letter_at(g, planes, col + length);
            if (letter < 0)
                break;
            if (room == g->room) {
                size_t more = g->room > 0 ? 2 * g->room : 4096;
                int64_t *larger = realloc(g->run, more * sizeof *g->run);
                if (larger == NULL)
                    return false;
                g->run = larger;
                g->room = more;
            }
            code = code * (g->letters + 1) + letter + 1;
            g->run[room++] = code;
        }
    }
    if (room > first)
        g->runs = first + without_repeats(g->run + first, room - first);
    return true;
}

enum status letter_grams_add(struct letter_grams *g, const float *planes, struct error *err)
{
    size_t *longer = grown(g->end, (size_t)g->samples, sizeof *g->end);
    if (longer == NULL)
        return error_memory(err, "runs of letters");
    g->end = longer;
    if (!append_runs(g, planes))
        return error_memory(err, "runs of letters");
    g->end[g->samples++] = g->runs;
    return STATUS_OK;
}

/* Lists the runs that occur in at least two training samples. */
static enum status list_known(struct letter_grams *g, struct error *err)
{
    size_t count = begin(g, g->train), kept = 0;
    g->known = malloc((count + 1) * sizeof *g->known);
    if (g->known == NULL)
        return error_memory(err, "runs of letters");
    memcpy(g->known, g->run, count * sizeof *g->known);
    qsort(g->known, count, sizeof *g->known, compare);
    for (size_t i = 1; i < count; i++)
        if (g->known[i] == g->known[i - 1] && (kept == 0 || g->known[kept - 1] != g->known[i]))
            g->known[kept++] = g->known[i];
    g->features = (int)kept;
    for (size_t i = 0; i < g->runs; i++) {
        const int64_t *at = bsearch(&g->run[i], g->known, kept, sizeof *g->known, compare);
        g->run[i] = at == NULL ? -1 : at - g->known;
    }
    size_t wide = (size_t)g->outputs * (kept + 1);
    g->weights = calloc(wide, sizeof *g->weights);
    g->tried = calloc(wide, sizeof *g->tried);
    return g->weights && g->tried ? STATUS_OK : error_memory(err, "runs of letters");
}

/* ---- regression ------------------------------------------------------------------------------------------- */

static double score(const struct letter_grams *g, const float *w, int sample)
{
    double sum = (double)w[g->features];
    for (size_t i = begin(g, sample); i < g->end[sample]; i++)
        sum += g->run[i] < 0 ? 0 : (double)w[g->run[i]];
    return sum;
}

/* Returns z in (0, c) that minimises z log z + (c - z) log(c - z) + b (z - old)^2 / 2 + a (z - old), by Newton's
 * method. */
static double dual_step(double old, double a, double b, double c)
{
    double z = old;
    for (int i = 0; i < NEWTON; i++) {
        double slope = log(z / (c - z)) + b * (z - old) + a;
        if (fabs(slope) < 1e-3)
            break;
        double next = z - slope / (c / (z * (c - z)) + b);
        z = next <= 0 ? z * 0.1 : next >= c ? c - (c - z) * 0.1 : next;
    }
    return z;
}

static void fit_output(void *context, int chunk, int worker)
{
    struct letter_grams *g = context;
    float *w = g->tried + (size_t)chunk * ((size_t)g->features + 1);
    double *dual = malloc(((size_t)g->train + 1) * sizeof *dual);
    (void)worker;
    memset(w, 0, ((size_t)g->features + 1) * sizeof *w);
    if (dual == NULL) {
        __atomic_store_n(&g->failed, true, __ATOMIC_RELAXED);
        return;
    }
    for (int epoch = 0; epoch < EPOCHS && !thread_pool_stopped(g->pool); epoch++)
        for (int s = 0; s < g->train; s++) {
            bool first = epoch == 0;
            double y = g->truth[(size_t)s * (size_t)g->outputs + (size_t)chunk] ? 1 : -1, square = 1;
            double old = first ? fmin(1e-3 * g->c, 1e-8) : dual[s];
            for (size_t i = begin(g, s); i < g->end[s]; i++)
                square += g->run[i] >= 0;
            double z = dual_step(old, y * score(g, w, s), square, g->c);
            float change = (float)((z - (first ? 0 : old)) * y);
            for (size_t i = begin(g, s); i < g->end[s]; i++)
                if (g->run[i] >= 0)
                    w[g->run[i]] += change;
            w[g->features] += change;
            dual[s] = z;
        }
    free(dual);
}

static void answer(const struct letter_grams *g, const float *weights, int sample, bool *out)
{
    int best = 0;
    double most = -INFINITY;
    for (int k = 0; k < g->outputs; k++) {
        double s = score(g, weights + (size_t)k * ((size_t)g->features + 1), sample);
        out[k] = !g->exclusive && s > 0;
        best = s > most ? k : best;
        most = fmax(most, s);
    }
    if (g->exclusive)
        out[best] = true;
}

static enum status try_penalty(struct letter_grams *g, int validation, struct error *err)
{
    bool *out = malloc((size_t)g->outputs * sizeof *out);
    int wrong = 0;
    g->failed = out == NULL;
    bool ran = thread_pool_run(g->pool, fit_output, g, g->outputs);
    if (!ran || g->failed) {
        free(out);
        return ran ? error_memory(err, "runs of letters") : thread_pool_check(g->pool, err);
    }
    for (int s = g->train; s < g->train + validation; s++) {
        answer(g, g->tried, s, out);
        wrong += memcmp(out, g->truth + (size_t)s * (size_t)g->outputs, (size_t)g->outputs * sizeof *out) != 0;
    }
    free(out);
    if (g->least < 0 || wrong < g->least) {
        float *better = g->tried;
        g->tried = g->weights;
        g->weights = better;
        g->least = wrong;
    }
    return STATUS_OK;
}

enum status letter_grams_step(struct letter_grams *g, int train, int validation, const bool *truth, bool *done,
                              struct error *err)
{
    g->truth = truth;
    g->train = train;
    enum status status = g->piece == 0 ? list_known(g, err) : STATUS_OK;
    if (g->piece > 0) {
        g->c = pow(10, g->piece - 2);
        status = try_penalty(g, validation, err);
    }
    *done = g->piece++ == PENALTIES;
    return status;
}

void letter_grams_answer(const struct letter_grams *g, int sample, bool *out)
{
    answer(g, g->weights, sample, out);
}
