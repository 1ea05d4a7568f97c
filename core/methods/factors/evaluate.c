/* Measures a finished fit: held-out errors, and how its latent variables compare with the true factors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/mt19937.h"
#include "core/methods/factors/run_int.h"
#include "core/metrics/dci.h"
#include "core/metrics/logistic.h"
#include "core/metrics/ranking.h"
#include "core/metrics/identify.h"

enum { DCI_ROWS = 500, DCI_ROWS_PAPER = 16 };
static const double GUARD = 1e-6;

/* Negative log-likelihood of one row whose logits are y: -sum x log(p + GUARD). p: the softmax (multinomial) or the
 * sigmoid (Bernoulli, which adds -sum (1 - x) log(1 - p + GUARD)). */
static double row_nll(enum factors_likelihood likelihood, const float *x, const float *y, int g)
{
    double most = -HUGE_VAL, total = 0, sum = 0;
    for (int j = 0; j < g; j++)
        most = fmax(most, (double)y[j]);
    for (int j = 0; j < g; j++)
        total += exp((double)y[j] - most);
    for (int j = 0; j < g; j++) {
        double p =
            likelihood == LIKELIHOOD_MULTINOMIAL ? exp((double)y[j] - most) / total : 1 / (1 + exp(-(double)y[j]));
        sum -= (double)x[j] * log(p + GUARD);
        if (likelihood == LIKELIHOOD_BERNOULLI)
            sum -= (1 - (double)x[j]) * log(1 - p + GUARD);
    }
    return sum;
}

static double row_squares(const float *x, const float *y, int g)
{
    double sum = 0;
    for (int j = 0; j < g; j++)
        sum += ((double)x[j] - (double)y[j]) * ((double)x[j] - (double)y[j]);
    return sum;
}

/* Negative log-likelihood of one row under a factorisation: -sum x log(share + 1e-7). y: expected counts; share: y
 * divided by the sum of y. */
static double row_shares(const float *x, const float *y, int g)
{
    double total = 0, sum = 0;
    for (int j = 0; j < g; j++)
        total += (double)y[j];
    for (int j = 0; j < g; j++)
        sum -= (double)x[j] * log((total > 0 ? (double)y[j] / total : 0) + 1e-7);
    return sum;
}

static enum status rank(const float *x, const float *y, int g, double sums[3], struct error *err)
{
    struct ranking one;
    enum status status = ranking_row(y, x, g, 5, 10, &one, err);
    if (!status && isfinite(one.recall)) {
        sums[0] += one.recall;
        sums[1] += one.ndcg;
        sums[2]++;
    }
    return status;
}

static enum status held_out(struct method_run *run, bool sampled, struct outcome *out, struct error *err)
{
    int n = run->data.test_count, g = run->features->columns, piece = case_piece(run);
    enum factors_likelihood likelihood = (enum factors_likelihood)run->config.likelihood;
    bool gaussian = likelihood == LIKELIHOOD_GAUSSIAN;
    double sum = 0, ranks[3] = {0};
    for (int at = 0; at < n; at += piece) {
        int count = n - at < piece ? n - at : piece;
        struct fit_view view;
        enum status status = thread_pool_check(run->base.env.pool, err);
        if (!status)
            status = case_view(run, run->data.test + at, count, sampled, at, &view, err);
        if (status)
            return status;
        for (int i = 0; i < count; i++) {
            const float *x = view.x + (ptrdiff_t)i * g, *y = view.y + (ptrdiff_t)i * g;
            sum += gaussian ? row_squares(x, y, g) : run->nmf ? row_shares(x, y, g) : row_nll(likelihood, x, y, g);
            if (run->config.data == DATA_RATINGS && sampled)
                status = status ? status : rank(x, y, g, ranks, err);
        }
        if (status)
            return status;
    }
    if (ranks[2] > 0) {
        out->recall = ranks[0] / ranks[2];
        out->ndcg = ranks[1] / ranks[2];
    }
    if (gaussian)
        *(sampled ? &out->mse : &out->mse_mean) = sum / n / g;
    else
        *(sampled ? &out->nll : &out->nll_mean) = sum / n;
    return isfinite(sum) ? STATUS_OK : error_set(err, STATUS_NUMERIC, NULL, "a held-out error is not finite");
}

enum status case_encode(struct method_run *run, const int *rows, int count, float **codes, struct error *err)
{
    size_t k = (size_t)run->config.latent;
    int piece = case_piece(run);
    *codes = malloc((size_t)count * k * sizeof **codes);
    enum status status = *codes ? STATUS_OK : error_memory(err, "codes");
    for (int at = 0; !status && at < count; at += piece) {
        int part = count - at < piece ? count - at : piece;
        struct fit_view view;
        status = case_view(run, rows + at, part, false, 0, &view, err);
        if (!status)
            memcpy(*codes + (size_t)at * k, view.mean, (size_t)part * k * sizeof **codes);
    }
    return status;
}

static float *truth_of(const struct features *features, const int *rows, int count)
{
    size_t width = (size_t)features->factors;
    float *truth = malloc((size_t)count * width * sizeof *truth);
    for (int i = 0; truth && i < count; i++)
        memcpy(truth + (size_t)i * width, features->truth + (size_t)rows[i] * width, width * sizeof *truth);
    return truth;
}

/* Computes the DCI score from up to `most` training rows, chosen by NumPy's legacy generator with seed 42. */
static enum status disentanglement(struct method_run *run, int most, double *score, struct error *err)
{
    int n = run->data.train_count, count = n < most ? n : most;
    struct mt19937 rng;
    float *codes = NULL, *truth = NULL;
    int *rows = malloc((size_t)n * sizeof *rows);
    enum status status = rows ? STATUS_OK : error_memory(err, "rows");
    if (!status) {
        mt19937_init(&rng, 42);
        mt19937_permutation(&rng, rows, n);
        for (int i = 0; i < n; i++)
            rows[i] = run->data.train[rows[i]];
        status = case_encode(run, rows, count, &codes, err);
    }
    if (!status) {
        truth = truth_of(run->features, rows, count);
        status = truth ? dci_score(codes, truth, count, (int)run->config.latent, run->features->factors,
                                   run->base.env.pool, NULL, score, err)
                       : error_memory(err, "factors");
    }
    free(rows);
    free(codes);
    free(truth);
    return status;
}

static enum status support(struct method_run *run, const float *mask, struct outcome *out, struct error *err)
{
    const struct features *f = run->features;
    int k = (int)run->config.latent;
    struct support_score score = {0};
    float *codes = NULL, *truth = truth_of(f, run->data.test, run->data.test_count);
    enum status status =
        truth ? case_encode(run, run->data.test, run->data.test_count, &codes, err) : error_memory(err, "factors");
    if (!status)
        status = support_compare(mask, f->support, f->columns, k, f->factors, codes, truth, run->data.test_count,
                                 run->base.env.pool, &score, err);
    out->support_f1 = score.f1;
    out->hamming = score.hamming;
    free(codes);
    free(truth);
    return status;
}

static bool column_used(const float *mask, int g, int k, int c)
{
    for (int j = 0; j < g; j++)
        if (mask[(ptrdiff_t)j * k + c] != 0)
            return true;
    return false;
}

/* Returns the sums over rows of the products of centred columns, [columns][columns]; the caller frees the array. */
static double *covariance(struct thread_pool *pool, const float *x, int rows, int columns)
{
    double *c = calloc((size_t)(columns + 1) * (size_t)columns, sizeof *c), *mean = c ? c + columns * columns : NULL;
    for (int i = 0; c && i < rows && !thread_pool_stopped(pool); i++)
        for (int a = 0; a < columns; a++)
            mean[a] += (double)x[(ptrdiff_t)i * columns + a] / rows;
    for (int i = 0; c && i < rows && !thread_pool_stopped(pool); i++)
        for (int a = 0; a < columns; a++)
            for (int b = 0; b <= a; b++)
                c[a * columns + b] += ((double)x[(ptrdiff_t)i * columns + a] - mean[a]) *
                                      ((double)x[(ptrdiff_t)i * columns + b] - mean[b]);
    return c;
}

static void count_mask(const float *mask, int g, int k, struct outcome *out)
{
    out->columns = out->anchors = 0;
    for (int c = 0; c < k; c++)
        out->columns += column_used(mask, g, k, c);
    for (int j = 0; j < g; j++) {
        int used = 0;
        for (int c = 0; c < k; c++)
            used += mask[(ptrdiff_t)j * k + c] != 0;
        out->anchors += used == 1;
    }
}

/* Stores in factor[] the factor of each anchor (a feature that one factor alone feeds), and -1 for other features. */
static void find_anchors(const float *mask, int g, int k, int *factor)
{
    for (int j = 0; j < g; j++) {
        int used = 0;
        factor[j] = -1;
        for (int c = 0; c < k; c++)
            if (mask[(ptrdiff_t)j * k + c] != 0) {
                used++;
                factor[j] = c;
            }
        factor[j] = used == 1 ? factor[j] : -1;
    }
}

/* Number of anchors whose covariances are computed at once, so that each row is read from memory less often. */
enum { ANCHORS = 8 };

/* Computes sums[a][l], the sum over the training rows of the product of the centred features anchor[a] and l. */
static void anchor_sums(const struct method_run *run, const double *mean, const int *anchor, int count, double *sums)
{
    const struct features *f = run->features;
    size_t g = (size_t)f->columns;
    memset(sums, 0, (size_t)count * g * sizeof *sums);
    for (int i = 0; i < run->data.train_count && !thread_pool_stopped(run->base.env.pool); i++) {
        const float *x = f->x + (size_t)run->data.train[i] * g;
        for (int a = 0; a < count; a++) {
            double own = (double)x[anchor[a]] - mean[anchor[a]], *to = sums + (size_t)a * g;
            for (size_t l = 0; l < g; l++)
                to[l] += own * ((double)x[l] - mean[l]);
        }
    }
}

/* Sets *share to the fraction of the anchors that pass the test of Theorem 2. An anchor passes if, among all other
 * features, the one with the largest absolute covariance is another anchor of the same factor. */
static enum status anchors_apart(const struct method_run *run, const float *mask, const double *mean, double *share,
                                 struct error *err)
{
    int g = run->features->columns, asked = 0, right = 0;
    int *factor = malloc((size_t)g * sizeof *factor);
    double *sums = malloc(ANCHORS * (size_t)g * sizeof *sums);
    if (factor != NULL && sums != NULL)
        find_anchors(mask, g, (int)run->config.latent, factor);
    for (int j = 0; factor != NULL && sums != NULL && j < g;) {
        int anchor[ANCHORS], count = 0;
        for (; j < g && count < ANCHORS; j++)
            if (factor[j] >= 0)
                anchor[count++] = j;
        anchor_sums(run, mean, anchor, count, sums);
        for (int a = 0; a < count; a++) {
            double own = -1, other = -1;
            for (int l = 0; l < g; l++) {
                double size = fabs(sums[(ptrdiff_t)a * g + l]);
                bool same = factor[l] == factor[anchor[a]];
                own = same && l != anchor[a] ? fmax(own, size) : own;
                other = same ? other : fmax(other, size);
            }
            asked += own >= 0;
            right += own >= 0 && own > other;
        }
    }
    *share = asked ? (double)right / asked : NAN;
    bool complete = factor != NULL && sums != NULL;
    free(factor);
    free(sums);
    return complete ? STATUS_OK : error_memory(err, "the anchors");
}

/* Sets *share to the fraction of pairs of factors that meet assumption A3: both variances exceed the absolute value of
 * their covariance, min(C_kk, C_ll) > |C_kl|. C is the covariance of the means of the latent variables over the
 * training rows. Only factors whose column of the mask is in use form pairs. */
static enum status factors_apart(struct method_run *run, const float *mask, double *share, struct error *err)
{
    int n = run->data.train_count, k = (int)run->config.latent, g = run->features->columns, asked = 0, right = 0;
    float *codes = NULL;
    enum status status = case_encode(run, run->data.train, n, &codes, err);
    double *c = status ? NULL : covariance(run->base.env.pool, codes, n, k);
    for (int a = 0; c && a < k; a++)
        for (int b = 0; b < a; b++)
            if (column_used(mask, g, k, a) && column_used(mask, g, k, b)) {
                asked++;
                right += fmin(c[a * k + a], c[b * k + b]) > fabs(c[a * k + b]);
            }
    *share = asked ? (double)right / asked : NAN;
    if (!status && !c)
        status = error_memory(err, "covariances");
    free(codes);
    free(c);
    return status;
}

static double anchors_found(const struct features *f, const float *mask, int k)
{
    int asked = 0, right = 0;
    for (int j = 0; j < f->columns; j++) {
        int fed = 0, used = 0;
        for (int t = 0; t < f->factors; t++)
            fed += f->support[(ptrdiff_t)j * f->factors + t];
        for (int c = 0; c < k; c++)
            used += mask[(ptrdiff_t)j * k + c] != 0;
        asked += fed == 1;
        right += fed == 1 && used == 1;
    }
    return asked ? (double)right / asked : NAN;
}

static enum status masks(struct method_run *run, struct outcome *out, struct error *err)
{
    size_t g = (size_t)run->features->columns, k = (size_t)run->config.latent;
    float *mask = malloc(g * k * sizeof *mask);
    double *mean = malloc(g * sizeof *mean);
    enum status status = mask && mean ? STATUS_OK : error_memory(err, "a mask");
    if (!status && case_mask(run, mask)) {
        count_mask(mask, (int)g, (int)k, out);
        features_moments(run->features, mean, NULL);
        if (!run->nmf)
            status = anchors_apart(run, mask, mean, &out->anchors_apart, err);
        if (!status && !run->nmf)
            status = factors_apart(run, mask, &out->factors_apart, err);
        if (run->features->support)
            out->anchors_found = anchors_found(run->features, mask, (int)k);
        if (!status && run->features->support && (int)k >= run->features->factors)
            status = support(run, mask, out, err);
    }
    free(mask);
    free(mean);
    return status;
}

/* Measures how well the means of the latent variables predict the classes of a table's rows, by cross-validation in
 * 5 folds. As in the paper, this uses all rows, also those that the fit was trained on. */
static enum status classes(struct method_run *run, struct outcome *out, struct error *err)
{
    const struct features *f = run->features;
    float *codes = NULL;
    enum status status = case_encode(run, run->rows, f->rows, &codes, err);
    int *label = status ? NULL : malloc((size_t)f->rows * sizeof *label);
    for (int i = 0; label && i < f->rows; i++)
        label[i] = f->label[run->rows[i]];
    if (!status)
        status = label ? logistic_accuracy(codes, label, f->rows, (int)run->config.latent, f->classes, 5,
                                           run->base.env.pool, &out->accuracy, err)
                       : error_memory(err, "classes");
    free(codes);
    free(label);
    return status;
}

enum status factors_evaluate(struct method_run *run, struct outcome *out, struct error *err)
{
    const struct fit *f = run->nmf ? NULL : case_fit(run);
    const int64_t before[] = {out->updates, out->samples};
    for (int i = 0; i < OUTCOME_REALS; i++)
        ((double *)out)[i] = NAN;
    out->objective = f ? fit_objective(f) : nmf_objective(run->nmf);
    out->worst_objective = run->multi_start.worst;
    out->restart = run->multi_start.chosen;
    out->updates = run->base.alone ? before[0] : f ? f->updates : run->nmf->done;
    out->samples = run->base.alone ? before[1] : (f ? f->epoch : run->nmf->done) * run->data.train_count;
    enum status status = held_out(run, true, out, err);
    if (!status)
        status = held_out(run, false, out, err);
    if (!status && run->features->truth) {
        status = disentanglement(run, DCI_ROWS, &out->dci, err);
        if (!status)
            status = disentanglement(run, DCI_ROWS_PAPER, &out->dci_16, err);
    }
    if (!status && run->features->classes > 1)
        status = classes(run, out, err);
    if (!status)
        status = masks(run, out, err);
    return status ? status : thread_pool_check(run->base.env.pool, err);
}
