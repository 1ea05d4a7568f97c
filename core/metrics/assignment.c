/* Successive shortest augmenting paths with row and column prices (Kuhn 1955, Jonker and Volgenant 1987).
 *
 * A line is a row or a column of the score matrix. If rows <= columns, the rows are the "short" lines and the columns
 * the "long" lines, otherwise the reverse. The algorithm matches one short line after another and searches among the
 * long lines. Scores are negated, so the search minimises a cost. Prices keep every reduced cost non-negative, which
 * the Dijkstra-like search in augment() requires. */
#include "core/metrics/assignment.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct search {
    const double *score;
    int cols;        /* columns of `score` */
    bool transposed; /* true: the columns of `score` are the short lines, its rows the long lines; false: the reverse */
    int shorts, longs; /* number of short and of long lines, shorts <= longs */
    double *short_price, *long_price;
    double *distance; /* [longs] reduced cost of the cheapest path found so far to this line */
    int *owner;       /* [longs] the short line matched to each long line; -1: none */
    int *before;      /* [longs] the long line before this one on its cheapest path; -1: this line is the first */
    bool *settled;    /* [longs] whether `distance` is final */
    struct thread_pool *pool;
};

static double reduced_cost(const struct search *s, int short_line, int long_line)
{
    int row = s->transposed ? long_line : short_line, col = s->transposed ? short_line : long_line;
    double cost = -s->score[(size_t)row * (size_t)s->cols + (size_t)col];
    return cost - s->short_price[short_line] - s->long_price[long_line];
}

/* Returns the long line (as defined above) with the smallest distance among those whose distance is not final. */
static int assignment_nearest(const struct search *s)
{
    int best = -1;
    for (int j = 0; j < s->longs; j++)
        if (!s->settled[j] && (best < 0 || s->distance[j] < s->distance[best]))
            best = j;
    return best;
}

/* Updates the distances of the long lines that are not final: a path may now lead through the short line `from`, which
 * the search reached at the distance `base` through the long line `last`. */
static void extend(struct search *s, int from, double base, int last)
{
    for (int j = 0; j < s->longs; j++) {
        double distance = base + reduced_cost(s, from, j);
        if (!s->settled[j] && distance < s->distance[j]) {
            s->distance[j] = distance;
            s->before[j] = last;
        }
    }
}

/* Matches the short line `start`: finds the cheapest path from it to a long line without a match, and rematches the
 * short lines along this path. Changes nothing if the pool was stopped. */
static void augment(struct search *s, int start)
{
    for (int j = 0; j < s->longs; j++) {
        s->distance[j] = INFINITY;
        s->settled[j] = false;
    }
    extend(s, start, 0.0, -1);
    int end = assignment_nearest(s);
    while (s->owner[end] >= 0) {
        s->settled[end] = true;
        extend(s, s->owner[end], s->distance[end], end);
        end = assignment_nearest(s);
        if (thread_pool_stopped(s->pool))
            return;
    }
    double length = s->distance[end];
    s->short_price[start] += length;
    for (int j = 0; j < s->longs; j++) {
        if (s->settled[j]) {
            s->long_price[j] -= length - s->distance[j];
            s->short_price[s->owner[j]] += length - s->distance[j];
        }
    }
    for (int j = end; j >= 0; j = s->before[j])
        s->owner[j] = s->before[j] >= 0 ? s->owner[s->before[j]] : start;
}

/* Sets initial prices that make all reduced costs non-negative: for each short line, its lowest cost. */
static void first_prices(struct search *s)
{
    for (int i = 0; i < s->shorts; i++) {
        s->short_price[i] = 0.0;
        double least = INFINITY;
        for (int j = 0; j < s->longs; j++) {
            double cost = reduced_cost(s, i, j);
            least = cost < least ? cost : least;
        }
        s->short_price[i] = least;
    }
}

/* Writes the matched column of each row (-1: none), and returns the sum of the scores of all matches. The columns have
 * no meaning if the pool was stopped. */
static double assign(struct search *s, int rows, int cols, int *column_of)
{
    double sum = 0.0;
    first_prices(s);
    for (int i = 0; i < s->shorts && !thread_pool_stopped(s->pool); i++)
        augment(s, i);
    for (int i = 0; i < rows; i++)
        column_of[i] = s->transposed ? s->owner[i] : -1;
    for (int j = 0; j < s->longs && !s->transposed; j++)
        if (s->owner[j] >= 0)
            column_of[s->owner[j]] = j;
    for (int i = 0; i < rows; i++)
        sum += column_of[i] >= 0 ? s->score[(size_t)i * (size_t)cols + (size_t)column_of[i]] : 0.0;
    return sum;
}

enum status assignment_best(const double *score, int rows, int cols, int *column_of, double *total,
                            struct thread_pool *pool, struct error *err)
{
    if (rows < 0 || cols < 0)
        return error_set(err, STATUS_INVALID, NULL, "a matrix of %d x %d cannot be assigned", rows, cols);
    for (size_t i = 0; i < (size_t)rows * (size_t)cols; i++)
        if (!isfinite(score[i]))
            return error_set(err, STATUS_NUMERIC, NULL, "a score of the assignment is not finite");
    struct search s = {.score = score, .cols = cols, .transposed = rows > cols, .pool = pool};
    s.shorts = s.transposed ? cols : rows;
    s.longs = s.transposed ? rows : cols;
    size_t shorts = (size_t)s.shorts, longs = (size_t)s.longs;
    double *prices = calloc(shorts + 2 * longs + 1, sizeof *prices);
    int *links = calloc(2 * longs + 1, sizeof *links);
    bool *settled = calloc(longs + 1, sizeof *settled);
    bool made = prices != NULL && links != NULL && settled != NULL;
    if (made) {
        s.short_price = prices;
        s.long_price = prices + shorts;
        s.distance = prices + shorts + longs;
        s.owner = links;
        s.before = links + longs;
        s.settled = settled;
        memset(s.owner, -1, longs * sizeof *s.owner);
        double sum = assign(&s, rows, cols, column_of);
        if (total != NULL)
            *total = sum;
    }
    free(settled);
    free(links);
    free(prices);
    return made ? thread_pool_check(pool, err)
                : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for an assignment of %d x %d", rows, cols);
}
