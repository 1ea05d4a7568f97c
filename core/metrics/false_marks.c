/* Computes the expected and the largest number of false marks (false_marks.h). */
#include "core/metrics/false_marks.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/log_gamma.h"

/* Number of marks in the list with a score of at least `score`. */
static int64_t at_least(const struct false_marks *known, double score)
{
    int64_t low = 0, high = known->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if ((double)known->score[middle] >= score)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether the list may lack marks with a score of at least `score`. */
static bool unknown_below(const struct false_marks *known, double score)
{
    return known->cut && (known->count == 0 || score <= (double)known->score[known->count - 1]);
}

/* Share of the negatives that count, because inputs of a group resemble each other. */
static double effect(const struct false_marks *known)
{
    return known->inputs > 0 ? known->effective / (double)known->inputs : 0;
}

static int rank_of(const struct false_marks *known, int64_t mark)
{
    return known->rank ? known->rank[mark] : 1;
}

double false_marks_p(const struct false_marks *known, double score)
{
    int64_t with = 0, end = at_least(known, score);
    if (known->inputs == 0)
        return NAN;
    if (unknown_below(known, score))
        return 1;
    for (int64_t i = 0; i < end; i++)
        with += rank_of(known, i) == 1;
    return fmin(1, (1 + (double)with * effect(known)) / (1 + known->effective));
}

/* r(t) for the first `end` marks of the list. most: the largest rank among them, at least 1. */
static double rate_of(const struct false_marks *known, int64_t end, int most)
{
    return ((double)most + (double)end * effect(known)) / (1 + known->effective);
}

/* ---- the expected share ------------------------------------------------------------------------------ */

int64_t false_marks_step(const struct false_marks *known, double score)
{
    return at_least(known, score);
}

void false_marks_step_q(const struct false_marks *known, const int64_t *marks, int64_t inputs, double *q)
{
    int64_t all = 0;
    int most = 1;
    for (int64_t k = 0; k <= known->count; k++) {
        all += marks[k];
        if (k > 0 && rank_of(known, k - 1) > most)
            most = rank_of(known, k - 1);
        bool unknown = all == 0 || (known->cut && k == known->count);
        q[k] = unknown ? 1 : fmin(1, (double)inputs * rate_of(known, k, most) / (double)all);
    }
    /* a mark is also in the set of a lower threshold */
    for (int64_t k = known->count - 1; k >= 0; k--)
        q[k] = fmin(q[k], q[k + 1]);
    for (int64_t k = 0; known->inputs == 0 && k <= known->count; k++)
        q[k] = NAN;
}

enum status false_marks_q(const struct false_marks *known, const struct false_mark *marks, int64_t count,
                          int64_t inputs, double *q, struct error *err)
{
    size_t steps = (size_t)known->count + 1;
    int64_t *in_step = calloc(steps, sizeof *in_step);
    double *step_q = calloc(steps, sizeof *step_q);
    if (in_step && step_q) {
        for (int64_t i = 0; i < count; i++)
            in_step[false_marks_step(known, marks[i].score)] += !marks[i].part;
        false_marks_step_q(known, in_step, inputs, step_q);
        for (int64_t i = 0; i < count; i++)
            q[i] = step_q[false_marks_step(known, marks[i].score)];
    }
    bool complete = in_step && step_q;
    free(in_step);
    free(step_q);
    return complete ? STATUS_OK : error_memory(err, "false marks");
}

/* ---- the bound --------------------------------------------------------------------------------------- */

struct placed {
    struct false_mark mark;
    int64_t at, rank; /* at: index in the caller's list; rank: among the marks of its input, the strongest is 1; 0: a
                         part of another mark */
};

static int falling(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->mark.score != y->mark.score)
        return x->mark.score < y->mark.score ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_input(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->mark.input != y->mark.input)
        return x->mark.input < y->mark.input ? -1 : 1;
    return falling(a, b);
}

/* Returns the marks with their ranks, the strongest first; NULL: not enough memory. The caller frees them. */
static struct placed *place_marks(const struct false_mark *marks, int64_t count)
{
    struct placed *list = malloc(((size_t)count + 1) * sizeof *list);
    if (!list)
        return NULL;
    for (int64_t i = 0; i < count; i++)
        list[i] = (struct placed){marks[i], i, 0};
    qsort(list, (size_t)count, sizeof *list, by_input);
    for (int64_t i = 0, rank = 0; i < count; i++) {
        if (i > 0 && list[i].mark.input != list[i - 1].mark.input)
            rank = 0;
        if (!list[i].mark.part)
            list[i].rank = ++rank;
    }
    qsort(list, (size_t)count, sizeof *list, falling);
    return list;
}

static double log_choose(double n, double k)
{
    return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1);
}

int64_t false_marks_quantile(int64_t negatives, int64_t inputs, int64_t g, double error)
{
    double n = (double)negatives, m = (double)inputs, all = log_choose(n + m, n), tail = 0;
    /* adds the probabilities of inputs, inputs - 1, ... until they exceed the error */
    for (int64_t v = inputs; v > 0; v--) {
        double at = (double)v + (double)g;
        tail += exp(log_choose(at, (double)g) + log_choose(n + m - at - 1, n - (double)g - 1) - all);
        if (tail > error)
            return v;
    }
    return 0;
}

/* The grid of values g: 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, ... below `negatives`. */
enum { GRID = 64 };
static int make_grid(int64_t negatives, int64_t *grid)
{
    int count = 0;
    for (int64_t g = 0; g < negatives && count < GRID; count++) {
        grid[count] = g;
        int64_t power = 1;
        while (2 * power <= g)
            power *= 2;
        g += g < 4 ? 1 : power / 2;
    }
    return count;
}

/* One level k of the bound, for marks of rank k: the quantiles at the grid, which are computed when they are needed. */
struct level {
    int64_t negatives, inputs, *grid, *quantile; /* quantile: -1: not computed */
    int size;
    double error; /* at each value of the grid */
};

/* U_k(g) for the smallest g of the grid that is at least `seen`. */
static int64_t envelope(const struct level *level, double seen)
{
    for (int i = 0; i < level->size; i++)
        if ((double)level->grid[i] >= seen) {
            if (level->quantile[i] < 0)
                level->quantile[i] =
                    false_marks_quantile(level->negatives, level->inputs, level->grid[i], level->error);
            return level->quantile[i];
        }
    return level->inputs;
}

/* Bound of the false marks of rank k with a score of at least `least`: the smallest V_k(t') + R_k(t) - R_k(t'). */
static int64_t bound_of_rank(const struct false_marks *known, const struct placed *list, int64_t count, int64_t rank,
                             double least, const struct level *level)
{
    int64_t seen = 0, end = 0, marks = 0, best = 0;
    for (int64_t i = 0; i < count && list[i].mark.score >= least; i++) {
        double score = list[i].mark.score;
        if (list[i].rank != rank)
            continue;
        for (; end < known->count && (double)known->score[end] >= score; end++)
            seen += rank_of(known, end) == rank;
        marks++;
        best++; /* the bound of the stronger ones, and this one */
        if (unknown_below(known, score))
            continue;
        int64_t bound = envelope(level, ceil((double)seen * effect(known)));
        best = bound < best ? bound : best;
    }
    return best < marks ? best : marks;
}

enum status false_marks_bound(const struct false_marks *known, const struct false_mark *marks, int64_t count,
                              int64_t inputs, double least, double error, int64_t *bound, struct error *err)
{
    int64_t grid[GRID], quantile[GRID], most = 0;
    struct placed *list = place_marks(marks, count);
    if (!list)
        return error_memory(err, "false marks");
    *bound = 0;
    for (int64_t i = 0; i < count; i++)
        most = list[i].rank > most ? list[i].rank : most;
    struct level level = {
        .negatives = (int64_t)floor(known->effective), .inputs = inputs, .grid = grid, .quantile = quantile};
    level.size = make_grid(level.negatives, grid);
    for (int64_t rank = 1; rank <= most; rank++) {
        level.error = ldexp(error, -(int)(rank < 1000 ? rank : 1000)) / (level.size > 0 ? level.size : 1);
        for (int i = 0; i < level.size; i++)
            quantile[i] = -1;
        *bound += bound_of_rank(known, list, count, rank, least, &level);
    }
    free(list);
    return STATUS_OK;
}
