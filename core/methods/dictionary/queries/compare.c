/* Answers the query "compare": which latents of the first dictionaries of two jobs are the same. */
#include <math.h>
#include <stdlib.h>

#include "core/methods/dictionary/queries/model.h"
#include "core/metrics/latents.h"

enum {
    MATCHED_MOST = 1024, /* with more latents, the one-to-one matching takes too long for a query */
    ROWS = 256
};

/* Finds for each latent of `a` the latent of `b` with the largest |cosine|. cosine: [width] with sign. */
static enum status find_nearest(const struct method_question *question, const struct method_model *a,
                                const struct method_model *b, int *nearest, double *cosine, struct error *err)
{
    int d = a->c.inputs, n = b->c.width;
    enum status status = STATUS_OK;
    float *product = malloc((size_t)ROWS * (size_t)n * sizeof *product);
    if (!product)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to compare %d latents", n);
    for (int first = 0; !status && first < a->c.width; first += ROWS) {
        int rows = a->c.width - first < ROWS ? a->c.width - first : ROWS;
        struct gemm_call call = {.transpose_b = true,
                                 .m = rows,
                                 .n = n,
                                 .k = d,
                                 .alpha = 1,
                                 .a = a->sae[0]->decoder->value + (ptrdiff_t)first * d,
                                 .b = b->sae[0]->decoder->value,
                                 .c = product,
                                 .lda = d,
                                 .ldb = d,
                                 .ldc = n};
        a->kernels->gemm(&call);
        for (int r = 0; r < rows; r++) {
            int j = first + r;
            nearest[j] = -1;
            cosine[j] = 0;
            for (int i = 0; i < n; i++) {
                double norms = (double)a->norm[0][j] * (double)b->norm[0][i];
                double value = norms > 0 ? (double)product[(ptrdiff_t)r * n + i] / norms : 0;
                if (nearest[j] < 0 || fabs(value) > fabs(cosine[j])) {
                    nearest[j] = i;
                    cosine[j] = value;
                }
            }
        }
        status = work_check(question->work, err);
    }
    free(product);
    return status;
}

static void queries_compare_summarise(const struct method_model *a, const double *cosine, double least,
                                      const char *mean_name, const char *shared_name, const struct sink *out)
{
    double sum = 0;
    int shared = 0;
    for (int j = 0; j < a->c.width; j++) {
        sum += fabs(cosine[j]) / a->c.width;
        shared += fabs(cosine[j]) >= least;
    }
    sink_number(out, mean_name, sum);
    sink_integer(out, shared_name, shared);
}

static enum status write_matching(const struct method_question *question, int *other_of, double *cosine,
                                  const struct sink *out, struct error *err)
{
    const struct method_model *a = question->model, *b = question->with;
    double absolute = NAN, with_sign = NAN;
    struct thread_pool *pool;
    enum status status = thread_pool_create(1, &pool, err);
    if (status)
        return status;
    thread_pool_stop_when(pool, work_stopped, question->work);
    const float *u = a->sae[0]->decoder->value, *v = b->sae[0]->decoder->value;
    if (a->c.width <= MATCHED_MOST && b->c.width <= MATCHED_MOST) {
        status =
            pairs_by_cosine(u, a->c.width, v, b->c.width, a->c.inputs, false, other_of, cosine, &with_sign, pool, err);
        if (!status)
            status = pairs_by_cosine(u, a->c.width, v, b->c.width, a->c.inputs, true, other_of, cosine, &absolute, pool,
                                     err);
    }
    thread_pool_destroy(pool);
    sink_number(out, "pw_mcc", absolute);
    sink_number(out, "pw_mcc_signed", with_sign);
    return status;
}

static enum status write_comparison(const struct method_question *question, int *nearest, double *cosine,
                                    const struct sink *out, struct error *err)
{
    const struct dictionary_question *asked = question->parameters;
    const struct method_model *a = question->model, *b = question->with;
    int *back = nearest + a->c.width;
    double *back_cosine = cosine + a->c.width;
    enum status status = find_nearest(question, a, b, nearest, cosine, err);
    if (!status)
        status = find_nearest(question, b, a, back, back_cosine, err);
    if (status)
        return status;
    sink_integer(out, "width", a->c.width);
    sink_integer(out, "with_width", b->c.width);
    queries_compare_summarise(a, cosine, asked->shared, "nearest", "shared", out);
    queries_compare_summarise(b, back_cosine, asked->shared, "with_nearest", "with_shared", out);
    sink_begin_list(out, "latents");
    for (int j = 0; j < a->c.width; j++) {
        sink_begin_object(out, NULL);
        sink_integer(out, "latent", j);
        sink_integer(out, "with_latent", nearest[j]);
        sink_number(out, "cosine", cosine[j]);
        sink_boolean(out, "mutual", nearest[j] >= 0 && back[nearest[j]] == j);
        sink_end_object(out);
    }
    sink_end_list(out);
    return write_matching(question, nearest, cosine, out, err);
}

enum status dictionary_compare(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct method_model *a = question->model, *b = question->with;
    size_t all = (size_t)a->c.width + (size_t)b->c.width;
    if (a->c.inputs != b->c.inputs)
        return error_set(err, STATUS_INVALID, "/with", "must be a dictionary for samples of %d numbers; got %d",
                         a->c.inputs, b->c.inputs);
    int *nearest = malloc(all * sizeof *nearest);
    double *cosine = malloc(all * sizeof *cosine);
    enum status status = nearest && cosine
                             ? write_comparison(question, nearest, cosine, out, err)
                             : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to compare %zu latents", all);
    free(nearest);
    free(cosine);
    return status;
}
