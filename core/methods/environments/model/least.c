/* Least squares for heads (least.h): normal equations over all nodes, and coordinate descent for one change. */
#include "core/methods/environments/model/least.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/metrics/identify.h"

enum { SWEEPS = 200 };

enum status least_sums_create(int nodes, int latent, struct least_sums *sums, struct error *err)
{
    size_t n = (size_t)nodes, k = (size_t)latent;
    *sums = (struct least_sums){nodes, latent, calloc(n * k * k, sizeof(double)), calloc(n * k, sizeof(double))};
    return sums->products && sums->outcomes ? STATUS_OK : error_memory(err, "sums");
}

void least_sums_close(struct least_sums *sums)
{
    free(sums->products);
    free(sums->outcomes);
    *sums = (struct least_sums){0};
}

void least_sums_add(struct least_sums *sums, int node, const float *z, float y)
{
    int k = sums->latent;
    double *products = sums->products + (ptrdiff_t)node * k * k, *outcomes = sums->outcomes + (ptrdiff_t)node * k;
    for (int i = 0; i < k; i++) {
        outcomes[i] += (double)z[i] * (double)y;
        for (int j = 0; j < k; j++)
            products[i * k + j] += (double)z[i] * (double)z[j];
    }
}

/* One unknown in the weights of a node: w[coordinate] contains `share` times the unknown with the index `at`. */
struct term {
    int at, coordinate;
    double share;
};

/* Numbers the unknowns: w_0 first, then each change that is not zero. */
static int number_unknowns(const struct tree_edges *edges, const struct weight *changes, int k, int *number)
{
    int count = edges->based ? k : 0;
    for (int i = 0; i < edges->count * k; i++)
        number[i] = changes->value[i] != 0 ? count++ : -1;
    return count;
}

static int terms_of(const struct tree_edges *edges, int head, int k, const int *number, struct term *terms)
{
    int count = 0;
    for (int c = 0; c < k && edges->based; c++)
        terms[count++] = (struct term){c, c, 1};
    for (int v = head; v > 0; v = edges->parent[v])
        for (int c = 0; c < k && edges->edge[v] >= 0; c++) {
            int at = number[edges->edge[v] * k + c];
            if (at >= 0)
                terms[count++] = (struct term){at, c, (double)edges->share[v]};
        }
    return count;
}

/* Adds a node's sums to the normal equations. a: the lower triangle of their matrix; b: their right-hand side. */
static void add_node(const struct least_sums *s, int node, const struct term *terms, int count, double *a, double *b)
{
    int k = s->latent;
    const double *products = s->products + (ptrdiff_t)node * k * k, *outcomes = s->outcomes + (ptrdiff_t)node * k;
    for (int i = 0; i < count; i++) {
        b[terms[i].at] += terms[i].share * outcomes[terms[i].coordinate];
        double *row = a + (ptrdiff_t)terms[i].at * (terms[i].at + 1) / 2;
        for (int j = 0; j < count; j++)
            if (terms[j].at <= terms[i].at)
                row[terms[j].at] +=
                    terms[i].share * terms[j].share * products[terms[i].coordinate * k + terms[j].coordinate];
    }
}

static void take_solution(const struct tree_edges *edges, const double *x, const int *number, int k,
                          struct weight *base, struct weight *changes)
{
    for (int c = 0; c < k && edges->based; c++)
        base->value[c] = (float)x[c];
    for (int i = 0; i < edges->count * k; i++)
        if (number[i] >= 0)
            changes->value[i] = (float)x[number[i]];
}

enum status least_refit(const struct tree_edges *edges, const struct least_sums *sums, struct weight *base,
                        struct weight *changes, struct thread_pool *pool, struct error *err)
{
    int k = sums->latent;
    int *number = malloc(((size_t)edges->count * (size_t)k + 1) * sizeof *number);
    struct term *terms = malloc((size_t)(edges->nodes + 2) * (size_t)k * sizeof *terms);
    int n = number && terms ? number_unknowns(edges, changes, k, number) : 0;
    size_t entries = (size_t)n * (size_t)(n + 1) / 2;
    double *a = n > 0 && n <= LEAST_UNKNOWNS ? calloc(entries + (size_t)n, sizeof *a) : NULL,
           *b = a ? a + entries : NULL;
    enum status status =
        number && terms && (a || n > LEAST_UNKNOWNS || n == 0) ? STATUS_OK : error_memory(err, "a refit");
    for (int v = 0; a && v < edges->nodes && !thread_pool_stopped(pool); v++)
        if (edges->seen[v])
            add_node(sums, v, terms, terms_of(edges, v + edges->offset, k, number, terms), a, b);
    if (a) {
        solve_symmetric(a, n, b, 1, pool);
        status = thread_pool_check(pool, err);
    }
    if (a && !status)
        take_solution(edges, b, number, k, base, changes);
    free(number);
    free(terms);
    free(a);
    return status;
}

void least_change(const float *z, const float *y, int rows, int latent, const float *w, double penalty,
                  struct thread_pool *pool, double *d)
{
    memset(d, 0, (size_t)latent * sizeof *d);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double moved = 0;
        for (int c = 0; c < latent && !thread_pool_stopped(pool); c++) {
            double slope = 0, square = 0;
            for (int r = 0; r < rows; r++) {
                const float *at = z + (ptrdiff_t)r * latent;
                double left = (double)y[r];
                for (int j = 0; j < latent; j++)
                    left -= ((double)w[j] + (j == c ? 0 : d[j])) * (double)at[j];
                slope += left * (double)at[c] / rows;
                square += (double)at[c] * (double)at[c] / rows;
            }
            double size = fmax(fabs(slope) - penalty / 2, 0), to = square > 0 ? copysign(size / square, slope) : 0;
            moved = fmax(moved, fabs(to - d[c]));
            d[c] = to;
        }
        if (moved < 1e-9 || thread_pool_stopped(pool))
            return;
    }
}
