/* DCI disentanglement from importances that boosted trees measure.
 *
 * Grows regression trees level by level. Columns are sorted once. One pass over a column in sorted order visits the
 * rows of all open nodes, and each node keeps sums over its rows to the left of the current one. */
#include "core/metrics/dci.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const double SAME = 1e-7; /* a split never separates values that differ by this or less */
static const double PURE = 2.220446049250313e-16;

struct node {
    /* column: column of the split; -1 in a leaf. left: the node's children are the nodes left and left + 1 */
    int count, column, left;
    double sum, squares, mean, threshold;
    double merit;          /* merit: improvement of the best split found so far */
    int seen;              /* during a pass over a column: number of the node's rows that the pass has visited */
    double seen_sum, last; /* seen_sum: sum of the residuals of the visited rows; last: value of the column in the last
                              visited row */
};

struct grower {
    const struct boosting *how;
    int rows, columns;
    const float *x;
    int *order;   /* [columns][rows] */
    int *of;      /* [rows] node of each row */
    double *rest; /* [rows] residuals */
    struct node *nodes;
    double *importance;
};

static double impurity(const struct node *n)
{
    return n->squares / n->count - n->mean * n->mean;
}

static void open_node(struct node *n)
{
    *n = (struct node){.column = -1};
}

static void add_rows(struct grower *g, int from, int to)
{
    for (int i = 0; i < g->rows; i++) {
        struct node *n = &g->nodes[g->of[i]];
        if (g->of[i] < from || g->of[i] >= to)
            continue;
        n->count++;
        n->sum += g->rest[i];
        n->squares += g->rest[i] * g->rest[i];
    }
    for (int k = from; k < to; k++)
        g->nodes[k].mean = g->nodes[k].sum / g->nodes[k].count;
}

/* Searches one column for splits of the nodes [from, to). */
static void scan(struct grower *g, int column, int from, int to)
{
    for (int k = from; k < to; k++)
        g->nodes[k].seen = 0, g->nodes[k].seen_sum = 0;
    const int *order = g->order + (ptrdiff_t)column * g->rows;
    for (int i = 0; i < g->rows; i++) {
        int row = order[i], k = g->of[row];
        if (k < from)
            continue;
        struct node *n = &g->nodes[k];
        double value = (double)g->x[(ptrdiff_t)row * g->columns + column];
        if (n->seen > 0 && value > n->last + SAME) {
            int right = n->count - n->seen;
            double diff = right * n->seen_sum - n->seen * (n->sum - n->seen_sum);
            double merit = diff * diff / ((double)n->seen * right);
            if (merit > n->merit) {
                n->merit = merit;
                n->column = column;
                n->threshold = 0.5 * (value + n->last);
            }
        }
        n->seen++;
        n->seen_sum += g->rest[row];
        n->last = value;
    }
}

/* Splits each of the nodes [from, to) for which scan() found a split. Returns the index after the last child. */
static int boosting_split(struct grower *g, int from, int to)
{
    int next = to;
    for (int k = from; k < to; k++) {
        struct node *n = &g->nodes[k];
        if (n->count < 2 || impurity(n) <= PURE)
            n->column = -1;
        if (n->column < 0)
            continue;
        n->left = next;
        open_node(&g->nodes[next++]);
        open_node(&g->nodes[next++]);
    }
    for (int i = 0; i < g->rows; i++) {
        const struct node *n = &g->nodes[g->of[i]];
        if (g->of[i] >= from && n->column >= 0)
            g->of[i] = n->left + ((double)g->x[(ptrdiff_t)i * g->columns + n->column] > n->threshold);
    }
    add_rows(g, to, next);
    for (int k = from; k < to; k++) {
        const struct node *n = &g->nodes[k], *l = &g->nodes[n->left], *r = l + 1;
        if (n->column >= 0)
            g->importance[n->column] += n->count * impurity(n) - l->count * impurity(l) - r->count * impurity(r);
    }
    return next;
}

static void boosting_grow(struct grower *g)
{
    int from = 0, to = 1;
    open_node(&g->nodes[0]);
    memset(g->of, 0, (size_t)g->rows * sizeof *g->of);
    add_rows(g, 0, 1);
    for (int level = 0; level < g->how->depth && from < to; level++) {
        for (int c = 0; c < g->columns; c++)
            scan(g, c, from, to);
        int end = boosting_split(g, from, to);
        from = to;
        to = end;
    }
    for (int i = 0; i < g->rows; i++)
        g->rest[i] -= g->how->rate * g->nodes[g->of[i]].mean;
}

struct ranked {
    float value;
    int row;
};

static int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : (x->row > y->row) - (x->row < y->row);
}

static enum status sort_columns(struct grower *g, struct error *err)
{
    struct ranked *list = malloc((size_t)g->rows * sizeof *list);
    if (!list)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to sort %d rows", g->rows);
    for (int c = 0; c < g->columns; c++) {
        for (int i = 0; i < g->rows; i++)
            list[i] = (struct ranked){g->x[(ptrdiff_t)i * g->columns + c], i};
        qsort(list, (size_t)g->rows, sizeof *list, by_value);
        for (int i = 0; i < g->rows; i++)
            g->order[(ptrdiff_t)c * g->rows + i] = list[i].row;
    }
    free(list);
    return STATUS_OK;
}

static void boosting_finish(struct grower *g, double *error)
{
    double total = 0, squares = 0;
    for (int c = 0; c < g->columns; c++)
        total += g->importance[c];
    for (int c = 0; c < g->columns && total > 0; c++)
        g->importance[c] /= total;
    for (int i = 0; i < g->rows; i++)
        squares += g->rest[i] * g->rest[i];
    if (error)
        *error = squares / g->rows;
}

enum status boosting_importance(const struct boosting *how, int rows, int columns, const float *x, const double *y,
                                struct thread_pool *pool, double *importance, double *error, struct error *err)
{
    if (how->depth < 1 || how->depth > BOOSTING_DEPTH_MAX || rows < 1 || columns < 1)
        return error_set(err, STATUS_INVALID, NULL, "trees of depth %d over %d rows", how->depth, rows);
    struct grower g = {.how = how, .rows = rows, .columns = columns, .x = x, .importance = importance};
    g.order = malloc((size_t)rows * (size_t)columns * sizeof *g.order);
    g.of = malloc((size_t)rows * sizeof *g.of);
    g.rest = malloc((size_t)rows * sizeof *g.rest);
    g.nodes = malloc(((size_t)2 << how->depth) * sizeof *g.nodes);
    enum status status = STATUS_NO_MEMORY;
    if (g.order && g.of && g.rest && g.nodes)
        status = sort_columns(&g, err);
    else
        error_set(err, status, NULL, "not enough memory for trees over %d rows", rows);
    if (!status) {
        double mean = 0;
        for (int i = 0; i < rows; i++)
            mean += y[i] / rows;
        for (int i = 0; i < rows; i++)
            g.rest[i] = y[i] - mean;
        memset(importance, 0, (size_t)columns * sizeof *importance);
        for (int t = 0; t < how->trees && !thread_pool_stopped(pool); t++)
            boosting_grow(&g);
        boosting_finish(&g, error);
        status = thread_pool_check(pool, err);
    }
    free(g.order);
    free(g.of);
    free(g.rest);
    free(g.nodes);
    return status;
}

/* added to all importances, so that a code whose importances are all 0 has the largest entropy */
static const double NOTHING = 1e-11;

double dci_disentanglement(const double *importance, int codes, int factors)
{
    double total = 0, score = 0;
    for (int i = 0; i < codes * factors; i++)
        total += importance[i];
    if (factors < 2)
        return NAN;
    for (int k = 0; k < codes && total > 0; k++) {
        const double *r = importance + (ptrdiff_t)k * factors;
        double sum = 0, share = 0, entropy = 0;
        for (int f = 0; f < factors; f++) {
            sum += r[f] + NOTHING;
            share += r[f];
        }
        for (int f = 0; f < factors; f++) {
            double p = (r[f] + NOTHING) / sum;
            entropy -= p * log(p) / log(factors);
        }
        score += share / total * (1 - entropy);
    }
    return score;
}

enum status dci_score(const float *codes, const float *truth, int rows, int code_count, int factors,
                      struct thread_pool *pool, double *importance, double *score, struct error *err)
{
    double *table = calloc((size_t)code_count * (size_t)factors, sizeof *table);
    double *one = calloc((size_t)code_count, sizeof *one), *y = calloc((size_t)rows, sizeof *y);
    enum status status = table && one && y ? STATUS_OK : error_memory(err, "importances");
    for (int f = 0; !status && f < factors; f++) {
        for (int i = 0; i < rows; i++)
            y[i] = (double)truth[(ptrdiff_t)i * factors + f];
        status = boosting_importance(&BOOSTING_DEFAULT, rows, code_count, codes, y, pool, one, NULL, err);
        for (int k = 0; k < code_count; k++)
            table[(ptrdiff_t)k * factors + f] = one[k];
    }
    if (!status)
        *score = dci_disentanglement(table, code_count, factors);
    for (int i = 0; !status && importance && i < code_count * factors; i++)
        importance[i] = table[i];
    free(table);
    free(one);
    free(y);
    return status;
}
