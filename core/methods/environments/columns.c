/* Describes each latent variable of a table by the columns that correlate with it most. */
#include <math.h>
#include <stdlib.h>

#include "core/methods/environments/run_int.h"

struct moments {
    double mean, deviation;
};

static struct moments moments_of(const float *values, int rows, int stride)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < rows; i++)
        sum += (double)values[(ptrdiff_t)i * stride];
    for (int i = 0; i < rows; i++) {
        double d = (double)values[(ptrdiff_t)i * stride] - sum / rows;
        squares += d * d;
    }
    return (struct moments){sum / rows, sqrt(squares / rows)};
}

static double columns_correlation(const float *a, int a_stride, const float *b, int b_stride, int rows)
{
    struct moments x = moments_of(a, rows, a_stride), y = moments_of(b, rows, b_stride);
    double sum = 0;
    for (int i = 0; i < rows; i++)
        sum += ((double)a[(ptrdiff_t)i * a_stride] - x.mean) * ((double)b[(ptrdiff_t)i * b_stride] - y.mean) / rows;
    return x.deviation > 0 && y.deviation > 0 ? sum / (x.deviation * y.deviation) : 0;
}

/* Inserts a link into the list of the strongest links, which is sorted by |correlation|, the largest first. */
static void columns_insert(struct column_link *best, struct column_link link)
{
    for (int i = 0; i < COLUMNS_SHOWN; i++)
        if (best[i].column < 0 || fabs(link.correlation) > fabs(best[i].correlation)) {
            struct column_link next = best[i];
            best[i] = link;
            link = next;
        }
}

enum status environments_columns(struct method_run *run, struct column_link *links, struct error *err)
{
    struct tree_fit *fit = tree_fit_of(run);
    const struct environments *e = run->test->rows > 1 ? run->test : run->train;
    int k = fit->model->setup.latent;
    float *z = malloc((size_t)e->rows * (size_t)k * sizeof *z + 1);
    enum status status = z ? tree_model_encode(fit->model, &fit->exec, e->x, e->z, e->rows, z, err)
                           : error_memory(err, "latent variables");
    for (int i = 0; i < k * COLUMNS_SHOWN; i++)
        links[i] = (struct column_link){-1, 0};
    for (int c = 0; !status && c < k; c++)
        for (int j = 0; j < e->features; j++)
            columns_insert(links + (ptrdiff_t)c * COLUMNS_SHOWN,
                           (struct column_link){j, columns_correlation(z + c, k, e->x + j, e->features, e->rows)});
    free(z);
    return status;
}
