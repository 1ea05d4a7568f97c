/* Batch variational inference for LDA (lda.h). A pass visits one document after another. For each document, it updates
 * gamma and the expected log of the document's mixture until gamma stops changing. It also adds up the expected counts
 * of words by topic. The topics' parameters lambda are computed from these sums. The documents are divided into a fixed
 * number of parts whose sums are added in a fixed order, so the result does not depend on the number of threads. */
#include "core/data/tables/lda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log_gamma.h"
#include "core/base/random/philox.h"

enum { LDA_PARTS = 16, STREAM_TOPICS = 0x6c6461, STREAM_SHIFT = 0x736874 };
static const double TINY = 2.220446049250313e-16;

double lda_digamma(double x)
{
    double below = 0;
    while (x < 6) {
        below -= 1 / x;
        x += 1;
    }
    double square = 1 / (x * x);
    return below + log(x) - 0.5 / x -
           square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square * (1.0 / 240 - square / 132))));
}

/* Computes the expected logarithms of Dirichlet variables. Each row of `parameters` is one variable. */
static void expected_log(const double *parameters, int rows, int columns, double *out)
{
    for (int r = 0; r < rows; r++) {
        const double *row = parameters + (ptrdiff_t)r * columns;
        double sum = 0;
        for (int c = 0; c < columns; c++)
            sum += row[c];
        double all = lda_digamma(sum);
        for (int c = 0; c < columns; c++)
            out[(ptrdiff_t)r * columns + c] = lda_digamma(row[c]) - all;
    }
}

struct work {
    const struct lda_setup *setup;
    const struct features *counts;
    const double *weights; /* exp E log beta, [words][topics] */
    double *gamma;         /* [documents][topics] parameters of the documents' mixtures */
    struct thread_pool *pool;
    double *sums; /* [parts][words][topics] what each part's documents add to lambda; NULL: not wanted */
};

/* Fits one document of `count` different words. word: their indices; size: their counts. On return, `e` contains exp(E
 * log theta), where theta is the document's mixture of topics. */
static void lda_settle(const struct work *w, int count, const int *word, const double *size, double *gamma, double *e,
                       double *next)
{
    int k = w->setup->topics;
    for (int i = 0; i < w->setup->inner; i++) {
        double change = 0;
        expected_log(gamma, 1, k, e);
        for (int t = 0; t < k; t++) {
            e[t] = exp(e[t]);
            next[t] = 0;
        }
        for (int n = 0; n < count; n++) {
            const double *b = w->weights + (ptrdiff_t)word[n] * k;
            double norm = TINY;
            for (int t = 0; t < k; t++)
                norm += e[t] * b[t];
            for (int t = 0; t < k; t++)
                next[t] += size[n] / norm * b[t];
        }
        for (int t = 0; t < k; t++) {
            double value = w->setup->document + e[t] * next[t];
            change += fabs(value - gamma[t]);
            gamma[t] = value;
        }
        if (change / k < w->setup->tolerance)
            break;
    }
    expected_log(gamma, 1, k, e);
    for (int t = 0; t < k; t++)
        e[t] = exp(e[t]);
}

static void part_task(void *context, int chunk, int worker)
{
    const struct work *w = context;
    const struct features *f = w->counts;
    int k = w->setup->topics, from = (int)((int64_t)f->rows * chunk / LDA_PARTS),
        to = (int)((int64_t)f->rows * (chunk + 1) / LDA_PARTS);
    int *word = malloc((size_t)f->columns * sizeof *word);
    double *size = malloc(((size_t)f->columns + 2 * (size_t)k) * sizeof *size), *e = size + f->columns, *next = e + k;
    double *sums = w->sums ? w->sums + (ptrdiff_t)chunk * f->columns * k : NULL;
    for (int i = from; word && size && i < to && !thread_pool_stopped(w->pool); i++) {
        int count = 0;
        for (int j = 0; j < f->columns; j++)
            if (f->x[(ptrdiff_t)i * f->columns + j] > 0) {
                word[count] = j;
                size[count++] = (double)f->x[(ptrdiff_t)i * f->columns + j];
            }
        lda_settle(w, count, word, size, w->gamma + (ptrdiff_t)i * k, e, next);
        for (int n = 0; sums && n < count; n++) {
            const double *b = w->weights + (ptrdiff_t)word[n] * k;
            double norm = TINY;
            for (int t = 0; t < k; t++)
                norm += e[t] * b[t];
            for (int t = 0; t < k; t++)
                sums[(ptrdiff_t)word[n] * k + t] += size[n] / norm * e[t];
        }
    }
    if (!word || !size)
        w->gamma[(ptrdiff_t)from * k] = NAN; /* marks that there was no memory; the caller reports it */
    free(word);
    free(size);
}

/* Makes the weights [words][topics] from lambda [topics][words]. */
static void make_weights(const double *lambda, int topics, int words, double *scratch, double *weights)
{
    expected_log(lambda, topics, words, scratch);
    for (int t = 0; t < topics; t++)
        for (int j = 0; j < words; j++)
            weights[(ptrdiff_t)j * topics + t] = exp(scratch[(ptrdiff_t)t * words + j]);
}

static void learn_topics(const struct work *w, double *lambda)
{
    int k = w->setup->topics, words = w->counts->columns;
    for (int t = 0; t < k && !thread_pool_stopped(w->pool); t++)
        for (int j = 0; j < words; j++) {
            double sum = 0;
            for (int part = 0; part < LDA_PARTS; part++)
                sum += w->sums[((ptrdiff_t)part * words + j) * k + t];
            lambda[(ptrdiff_t)t * words + j] = w->setup->word + sum * w->weights[(ptrdiff_t)j * k + t];
        }
}

/* Sum of E log p - E log q over the rows. Each row is a Dirichlet variable: p is its symmetric prior, q its
 * distribution with the given parameters. */
static double dirichlet_bound(const double *parameters, const double *logs, int rows, int columns, double prior)
{
    double bound = 0;
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int c = 0; c < columns; c++) {
            double value = parameters[(ptrdiff_t)r * columns + c];
            sum += value;
            bound += (prior - value) * logs[(ptrdiff_t)r * columns + c] + log_gamma(value) - log_gamma(prior);
        }
        bound += log_gamma(prior * columns) - log_gamma(sum);
    }
    return bound;
}

static double bound_of(const struct work *w, const double *lambda, const double *topic_logs, double *logs)
{
    const struct features *f = w->counts;
    int k = w->setup->topics;
    double bound = dirichlet_bound(lambda, topic_logs, k, f->columns, w->setup->word);
    for (int i = 0; i < f->rows && !thread_pool_stopped(w->pool); i++) {
        const double *gamma = w->gamma + (ptrdiff_t)i * k;
        expected_log(gamma, 1, k, logs);
        bound += dirichlet_bound(gamma, logs, 1, k, w->setup->document);
        for (int j = 0; j < f->columns; j++) {
            double count = (double)f->x[(ptrdiff_t)i * f->columns + j], sum = 0;
            for (int t = 0; count > 0 && t < k; t++)
                sum += exp(logs[t] + topic_logs[(ptrdiff_t)t * f->columns + j]);
            bound += count > 0 ? count * log(sum) : 0;
        }
    }
    return bound;
}

static void to_shares(const double *from, int rows, int columns, double *to)
{
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int c = 0; c < columns; c++)
            sum += from[(ptrdiff_t)r * columns + c];
        for (int c = 0; c < columns; c++)
            to[(ptrdiff_t)r * columns + c] = from[(ptrdiff_t)r * columns + c] / sum;
    }
}

/* Draws initial values near 1: approximately gamma variables of shape 100 and mean 1. */
static void start_topics(const struct lda_setup *setup, double *lambda, int words)
{
    struct philox from = philox_stream(setup->seed, STREAM_TOPICS, 0);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)setup->topics * words; i++)
        lambda[i] = fmax(1 + 0.1 * philox_normal(&from, (uint64_t)i), 0.1);
}

static enum status lda_run(const struct lda_setup *setup, struct work *w, double *lambda, double *weights,
                           struct lda *out, struct error *err)
{
    const struct features *f = w->counts;
    int k = setup->topics;
    size_t sums = (size_t)LDA_PARTS * (size_t)f->columns * (size_t)k;
    start_topics(setup, lambda, f->columns);
    for (int pass = 0; pass <= setup->passes; pass++) {
        make_weights(lambda, k, f->columns, out->beta, weights);
        for (ptrdiff_t i = 0; i < (ptrdiff_t)f->rows * k; i++)
            w->gamma[i] = 1;
        memset(w->sums, 0, sums * sizeof *w->sums);
        if (!thread_pool_run(w->pool, part_task, w, LDA_PARTS))
            return thread_pool_check(w->pool, err);
        if (pass < setup->passes)
            learn_topics(w, lambda);
    }
    out->bound = bound_of(w, lambda, out->beta, out->theta);
    to_shares(lambda, k, f->columns, out->beta);
    to_shares(w->gamma, f->rows, k, out->theta);
    return thread_pool_check(w->pool, err);
}

enum status lda_fit(const struct lda_setup *setup, const struct features *counts, struct thread_pool *pool,
                    struct lda *lda, struct error *err)
{
    size_t k = (size_t)setup->topics, words = (size_t)counts->columns, rows = (size_t)counts->rows;
    double *lambda = malloc(k * words * sizeof *lambda), *weights = malloc(k * words * sizeof *weights);
    struct work work = {setup,   counts,
                        weights, malloc(rows * k * sizeof(double)),
                        pool,    malloc(LDA_PARTS * words * k * sizeof(double))};
    struct lda made = {counts->rows,
                       setup->topics,
                       counts->columns,
                       malloc(rows * k * sizeof(double)),
                       malloc(k * words * sizeof(double)),
                       NAN};
    enum status status = STATUS_OK;
    if (!lambda || !weights || !work.gamma || !work.sums || !made.theta || !made.beta) {
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d topics of %d documents",
                           setup->topics, counts->rows);
    } else {
        status = lda_run(setup, &work, lambda, weights, &made, err);
        if (!status && !isfinite(made.bound))
            status = error_set(err, STATUS_NUMERIC, NULL, "the topics are not finite");
    }
    free(lambda);
    free(weights);
    free(work.gamma);
    free(work.sums);
    if (status)
        lda_close(&made);
    else
        *lda = made;
    return status;
}

void lda_close(struct lda *lda)
{
    free(lda->theta);
    free(lda->beta);
    *lda = (struct lda){0};
}

/* ---- shifted documents -------------------------------------------------------------------------------- */

static void draw_document(const struct lda *lda, const double *theta, double length, float *x)
{
    for (int j = 0; j < lda->words; j++) {
        double share = 0;
        for (int t = 0; t < lda->topics; t++)
            share += theta[t] * lda->beta[(ptrdiff_t)t * lda->words + j];
        x[j] = (float)nearbyint(length * share);
    }
}

enum status lda_shifted(const struct lda *lda, const struct features *counts, double sigma, uint64_t seed,
                        struct features **features, struct error *err)
{
    int n = lda->documents, k = lda->topics, half = k / 2;
    struct features *f;
    double *theta = malloc((size_t)k * sizeof *theta);
    struct philox from = philox_stream(seed, STREAM_SHIFT, 0);
    enum status status = theta ? features_create(2 * n, lda->words, 0, &f, err) : error_memory(err, "a mixture");
    for (int i = 0; !status && i < n; i++) {
        const double *row = lda->theta + (ptrdiff_t)i * k;
        double length = 0, sum = 0;
        for (int j = 0; j < counts->columns; j++)
            length += (double)counts->x[(ptrdiff_t)i * counts->columns + j];
        for (int t = 0; t < k; t++) {
            theta[t] = t < half || t >= 2 * half
                           ? row[t]
                           : row[t - half] *
                                 exp(sigma * philox_normal(&from, (uint64_t)i * (uint64_t)half + (uint64_t)(t - half)));
            sum += theta[t];
        }
        for (int t = 0; t < k; t++)
            theta[t] /= sum;
        draw_document(lda, theta, length, f->x + (ptrdiff_t)i * lda->words);
        draw_document(lda, row, length, f->x + (ptrdiff_t)(n + i) * lda->words);
    }
    free(theta);
    if (status)
        return status;
    status = features_name(f, counts->names, err);
    if (status)
        features_destroy(f);
    else
        *features = f;
    return status;
}
