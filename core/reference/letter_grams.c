/* Runs of letters, and a logistic regression on their presence. */
#include "core/reference/letter_grams.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"

enum { LEAST_LONGEST = 3, MOST_LONGEST = 8, KINDS = 4096, PENALTIES = 3, LEAST_EPOCHS = 2, EPOCHS = 20, NEWTON = 20 };
enum {
    OUTPUTS_AT_ONCE = 16,
    FULL_EVERY = 5
};                               /* outputs that a step fits; epochs between two that look at all samples */
static const double calm = 0.02; /* a sample whose optimality condition is off by less keeps its weight */
/* Updates of weights in all epochs of all outputs and penalties: seconds to a minute of two cores. */
static const double most_updates = 2e10;

struct letter_grams {
    struct thread_pool *pool;
    int letters, cols, outputs, longest;
    bool exclusive, numbered;
    int samples;
    size_t runs, room; /* entries of `run`, and allocated ones */
    int64_t *run;      /* the runs of all samples as numbers, ascending within a sample; NULL after the first step */
    int32_t *place;    /* after the first step: the places of those runs in `known` that are there */
    size_t *end;       /* [samples] end of the entries of each sample in `run`, then in `place` */
    int64_t *known;    /* the runs that are used, ascending */
    int features;      /* number of entries of `known` */
    float *weights, *tried; /* [outputs][features + 1], the last column is b */
    int least;              /* number of validation samples that `weights` answers wrongly; -1: none yet */
    int epochs;
    int penalty, output; /* the value of c in progress, and the next output to fit */
    int train;           /* number of training samples */
    const bool *truth;   /* during a step */
    double c;            /* during a step */
    bool failed;         /* during a step: no memory */
};

/* The longest runs for which there are at most KINDS kinds, but at least LEAST_LONGEST letters. */
static int longest_run(int letters)
{
    int longest = 0;
    for (int64_t kinds = letters; kinds <= KINDS && longest<MOST_LONGEST; kinds *= letters> 1 ? letters : KINDS)
        longest++;
    return longest < LEAST_LONGEST ? LEAST_LONGEST : longest;
}

enum status letter_grams_create(int letters, bool numbered, bool unordered, int cols, int outputs, bool exclusive,
                                struct thread_pool *pool, struct letter_grams **out, struct error *err)
{
    struct letter_grams *g = calloc(1, sizeof *g);
    *out = g;
    if (g == NULL)
        return error_memory(err, "runs of letters");
    *g = (struct letter_grams){.pool = pool,
                               .letters = letters,
                               .numbered = numbered,
                               .cols = cols,
                               .outputs = outputs,
                               .longest = unordered ? 1 : longest_run(letters),
                               .exclusive = exclusive,
                               .least = -1};
    return STATUS_OK;
}

void letter_grams_destroy(struct letter_grams *g)
{
    if (g == NULL)
        return;
    free(g->run);
    free(g->place);
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

enum { NO_LETTER = -1, NOT_ONE_HOT = -2 };

/* The letter at a column. NO_LETTER: all channels are 0. */
static int letter_at(const struct letter_grams *g, const float *planes, int col)
{
    int found = NO_LETTER;
    if (g->numbered)
        return (int)planes[col] - 1;
    for (int letter = 0; letter < g->letters; letter++) {
        float value = planes[(size_t)letter * (size_t)g->cols + (size_t)col];
        if (value > 0 && (value < 1 || value > 1 || found >= 0))
            return NOT_ONE_HOT;
        if (value < 0)
            return NOT_ONE_HOT;
        found = value > 0 ? letter : found;
    }
    return found;
}

/* Returns the first entry of a sample. */
static size_t begin(const struct letter_grams *g, int sample)
{
    return sample > 0 ? g->end[sample - 1] : 0;
}

/* Reads the letters of a sample, [cols]. Returns false if a column has another value than a letter or none. */
static bool read_letters(const struct letter_grams *g, const float *planes, int *letter)
{
    bool letters = true;
    for (int col = 0; col < g->cols; col++) {
        letter[col] = letter_at(g, planes, col);
        letters &= letter[col] != NOT_ONE_HOT;
    }
    return letters;
}

/* Appends the runs of a sample, each once. letter: [cols]. false: no memory; the entries are then those of the earlier
 * samples. */
static bool append_runs(struct letter_grams *g, const int *letter)
{
    size_t first = g->runs, room = g->runs; /* `room`: entries that are in use, with repeats */
    for (int col = 0; col < g->cols; col++) {
        int64_t code = 0;
        for (int length = 0; length < g->longest && col + length < g->cols; length++) {
            if (letter[col + length] < 0)
                break;
            if (room == g->room) {
                size_t more = g->room > 0 ? 2 * g->room : 4096;
                int64_t *larger = realloc(g->run, more * sizeof *g->run);
                if (larger == NULL)
                    return false;
                g->run = larger;
                g->room = more;
            }
            code = code * (g->letters + 1) + letter[col + length] + 1;
            g->run[room++] = code;
        }
    }
    if (room > first)
        g->runs = first + without_repeats(g->run + first, room - first);
    return true;
}

/* Leaves out the longest runs, whose numbers are the largest ones of a sample. */
static void shorten(struct letter_grams *g)
{
    int64_t first = 1; /* the least number of the runs that are left out */
    size_t kept = 0;
    g->longest--;
    for (int i = 0; i < g->longest; i++)
        first *= g->letters + 1;
    for (size_t i = 0, s = 0; s < (size_t)g->samples; s++) {
        for (; i < g->end[s]; i++)
            if (g->run[i] < first)
                g->run[kept++] = g->run[i];
        g->end[s] = kept;
    }
    g->runs = kept;
}

enum status letter_grams_add(struct letter_grams *g, const float *planes, bool *letters, struct error *err)
{
    size_t *longer = grown(g->end, (size_t)g->samples, sizeof *g->end);
    int *letter = malloc((size_t)g->cols * sizeof *letter);
    g->end = longer != NULL ? longer : g->end;
    *letters = letter != NULL && read_letters(g, planes, letter);
    bool complete = longer != NULL && letter != NULL && (!*letters || append_runs(g, letter));
    free(letter);
    if (!complete)
        return error_memory(err, "runs of letters");
    g->end[g->samples++] = g->runs;
    while (g->numbered && g->runs > LETTER_GRAMS_ENTRIES && g->longest > 1)
        shorten(g);
    *letters &= g->runs <= LETTER_GRAMS_ENTRIES;
    return STATUS_OK;
}

/* Keeps in `known` the runs that are there at least `least` times, once each; returns how many. sorted: [count]. */
static size_t keep_frequent(const int64_t *sorted, size_t count, size_t least, int64_t *known)
{
    size_t kept = 0, times = 0;
    for (size_t i = 0; i < count; i++) {
        times = i > 0 && sorted[i] == sorted[i - 1] ? times + 1 : 1;
        if (times == least)
            known[kept++] = sorted[i];
    }
    return kept;
}

/* Writes the places of those runs that are in `known`; returns how many. place: [count] */
static size_t find_known(const struct letter_grams *g, const int64_t *run, size_t count, int32_t *place)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t *at = bsearch(&run[i], g->known, (size_t)g->features, sizeof *g->known, compare);
        if (at != NULL)
            place[found++] = (int32_t)(at - g->known);
    }
    return found;
}

/* Lists the runs that occur in at least two training samples, or in more if the weights need it. */
static enum status list_known(struct letter_grams *g, struct error *err)
{
    size_t count = begin(g, g->train), most = LETTER_GRAMS_BYTES / 2 / (2 * sizeof *g->weights) / (size_t)g->outputs;
    int64_t *sorted = malloc((count + 1) * sizeof *sorted);
    g->known = malloc((count + 1) * sizeof *g->known);
    if (sorted == NULL || g->known == NULL) {
        free(sorted);
        return error_memory(err, "runs of letters");
    }
    if (count > 0)
        memcpy(sorted, g->run, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    size_t least = 2, kept = keep_frequent(sorted, count, least, g->known);
    for (; kept + 1 > most && kept > 0; least *= 2)
        kept = keep_frequent(sorted, count, least, g->known);
    free(sorted);
    g->features = (int)kept;
    g->place = malloc((g->runs + 1) * sizeof *g->place);
    if (g->place == NULL)
        return error_memory(err, "runs of letters");
    size_t used = 0;
    for (size_t i = 0, s = 0; s < (size_t)g->samples; s++) {
        used += find_known(g, g->run + i, g->end[s] - i, g->place + used);
        i = g->end[s];
        g->end[s] = used;
    }
    free(g->run);
    g->run = NULL;
    g->runs = g->room = 0;
    size_t wide = (size_t)g->outputs * (kept + 1);
    double each = most_updates / ((double)count * g->outputs * PENALTIES + 1);
    g->epochs = (int)fmax(LEAST_EPOCHS, fmin(EPOCHS, each));
    g->weights = calloc(wide, sizeof *g->weights);
    g->tried = calloc(wide, sizeof *g->tried);
    return g->weights && g->tried ? STATUS_OK : error_memory(err, "runs of letters");
}

/* ---- regression ------------------------------------------------------------------------------------------- */

/* place: the runs of a sample, as places in `known`. */
static double score(const struct letter_grams *g, const float *w, const int32_t *place, size_t count)
{
    double sum = (double)w[g->features];
    for (size_t i = 0; i < count; i++)
        sum += (double)w[place[i]];
    return sum;
}

static double score_sample(const struct letter_grams *g, const float *w, int sample)
{
    size_t first = begin(g, sample);
    return score(g, w, g->place + first, g->end[sample] - first);
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
    int output = g->output + chunk;
    float *w = g->tried + (size_t)output * ((size_t)g->features + 1);
    const double least = fmin(1e-3 * g->c, 1e-8); /* stands for 0, which has no logarithm */
    double *dual = malloc(((size_t)g->train + 1) * sizeof *dual);
    bool *settled = calloc((size_t)g->train + 1, sizeof *settled);
    (void)worker;
    memset(w, 0, ((size_t)g->features + 1) * sizeof *w);
    if (dual == NULL || settled == NULL) {
        __atomic_store_n(&g->failed, true, __ATOMIC_RELAXED);
        free(dual);
        free(settled);
        return;
    }
    for (int s = 0; s < g->train; s++)
        dual[s] = least;
    for (int epoch = 0, full = 0; epoch < g->epochs && !thread_pool_stopped(g->pool); epoch++) {
        const bool all = epoch == full;
        int moved = 0;
        for (int s = 0; s < g->train; s++) {
            if (!all && settled[s])
                continue;
            const double y = g->truth[(size_t)s * (size_t)g->outputs + (size_t)output] ? 1 : -1, old = dual[s],
                         slope = y * score_sample(g, w, s);
            settled[s] = fabs(slope + log(old / (g->c - old))) < calm;
            moved += !settled[s];
            if (settled[s])
                continue;
            const double z = dual_step(old, slope, (double)(g->end[s] - begin(g, s)) + 1, g->c);
            const float change = (float)((z - (old > least ? old : 0)) * y);
            for (size_t i = begin(g, s); i < g->end[s]; i++)
                w[g->place[i]] += change;
            w[g->features] += change;
            dual[s] = z;
        }
        if (moved == 0 && all)
            break;
        if (moved == 0 || epoch - full == FULL_EVERY - 1)
            full = epoch + 1;
    }
    free(settled);
    free(dual);
}

static void answer(const struct letter_grams *g, const float *weights, const int32_t *place, size_t count, bool *out)
{
    int best = 0;
    double most = -INFINITY;
    for (int k = 0; k < g->outputs; k++) {
        double s = score(g, weights + (size_t)k * ((size_t)g->features + 1), place, count);
        out[k] = !g->exclusive && s > 0;
        best = s > most ? k : best;
        most = fmax(most, s);
    }
    if (g->exclusive)
        out[best] = true;
}

/* Answers a sample that was added, by its index. */
static void answer_sample(const struct letter_grams *g, const float *weights, int sample, bool *out)
{
    size_t first = begin(g, sample);
    answer(g, weights, g->place + first, g->end[sample] - first, out);
}

/* Fits the next outputs. */
static enum status fit_some(struct letter_grams *g, struct error *err)
{
    int left = g->outputs - g->output, count = left < OUTPUTS_AT_ONCE ? left : OUTPUTS_AT_ONCE;
    g->failed = false;
    if (!thread_pool_run(g->pool, fit_output, g, count))
        return thread_pool_check(g->pool, err);
    g->output += count;
    return g->failed ? error_memory(err, "runs of letters") : STATUS_OK;
}

/* Keeps the weights of a penalty if they answer more validation samples right than those before. */
static enum status keep_better(struct letter_grams *g, int validation, struct error *err)
{
    bool *out = malloc((size_t)g->outputs * sizeof *out);
    int wrong = 0;
    if (out == NULL)
        return error_memory(err, "runs of letters");
    for (int s = g->train; s < g->train + validation; s++) {
        answer_sample(g, g->tried, s, out);
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
    *done = false;
    if (g->known == NULL)
        return list_known(g, err);
    g->c = pow(10, g->penalty - 1);
    enum status status = fit_some(g, err);
    if (status || g->output < g->outputs)
        return status;
    g->output = 0;
    *done = ++g->penalty == PENALTIES;
    return keep_better(g, validation, err);
}

void letter_grams_answer(const struct letter_grams *g, int sample, bool *out)
{
    answer_sample(g, g->weights, sample, out);
}

enum status letter_grams_read(struct letter_grams *g, const float *planes, bool *out, struct error *err)
{
    int *letter = malloc((size_t)g->cols * sizeof *letter);
    bool letters = letter != NULL && read_letters(g, planes, letter), complete = false;
    g->runs = 0;
    if (letters)
        complete = append_runs(g, letter);
    int32_t *place = complete ? malloc((g->runs + 1) * sizeof *place) : NULL;
    if (place != NULL)
        answer(g, g->weights, place, find_known(g, g->run, g->runs, place), out);
    free(letter);
    free(place);
    if (letter != NULL && !letters)
        return error_set(err, STATUS_INVALID, NULL, "the sample is no sequence of letters");
    return place != NULL ? STATUS_OK : error_memory(err, "runs of letters");
}
