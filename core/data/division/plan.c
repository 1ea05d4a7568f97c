/* Makes a plan (plan.h, which explains the words): stratify() gives every unit a part, improve() then moves and
 * exchanges units. */
#include "core/data/division/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"

enum {
    FEW = 400,     /* up to this many units, the planner tries every pair, from several orders */
    STARTS = 48,   /* number of those orders */
    EXCHANGES = 8, /* partners that it tries for each unit if there are more units */
    PASSES = 12,   /* most passes over all units */
    STREAM_ORDER = 0x706C616E
};
/* WORK: the search ends after this many steps. LESS: the planner ignores a smaller fall of the cost. RARE: share of the
 * weight `lack` if the part `whole` has no unit of a name that is too rare for all parts. */
static const double WORK = 3e7, LESS = 1e-6, RARE = 1e-5;

struct planner {
    const struct plan_units *u;
    const struct plan_request *r;
    unsigned char *part; /* [count] */
    int64_t *order;      /* [count] the order in which the planner goes through the units */
    uint64_t *rank;      /* [count] see plan.h */
    int *rarest;         /* [count] the unit's name that the fewest units have; `names`: the unit has no name */
    int64_t *units_of;   /* [names] units that have the name */
    int64_t *total;      /* [names] samples that have the name */
    int64_t *have, *has; /* [names][parts] have: samples with the name in a part; has: units */
    int64_t size[PLAN_PARTS], filled[PLAN_PARTS],
        all;                   /* size, filled: samples and units of each part; all: samples of all units */
    double lack, excess, work; /* lack, excess: see plan.h; work: steps so far */
};

/* ---- cost ---------------------------------------------------------------------------------------------------- */

static double name_cost(const struct planner *p, int k)
{
    const int parts = p->r->parts;
    const int64_t *have = p->have + (int64_t)k * parts, *has = p->has + (int64_t)k * parts;
    double lacking = 0, differing = 0;
    for (int i = 0; i < parts; i++) {
        double off = (double)have[i] / (double)p->total[k] - p->r->share[i];
        differing += off * off;
        if (has[i] == 0)
            lacking += p->units_of[k] >= parts ? 1 : i == p->r->whole ? RARE : 0;
    }
    return p->lack * lacking + differing / p->u->names;
}

static double size_cost(const struct planner *p)
{
    double cost = 0;
    for (int i = 0; i < p->r->parts; i++) {
        double off = fabs((double)p->size[i] / (double)p->all - p->r->share[i]);
        cost += p->excess * fmax(0, off - PLAN_TOLERANCE) + off * off + (p->filled[i] == 0 ? 1e12 : 0);
    }
    return cost;
}

static void put(struct planner *p, int64_t unit, int part, int sign)
{
    const int parts = p->r->parts;
    p->size[part] += sign * p->u->size[unit];
    p->filled[part] += sign;
    for (int64_t i = p->u->start[unit]; i < p->u->start[unit + 1]; i++) {
        int64_t at = (int64_t)p->u->name[i] * parts + part;
        p->have[at] += sign * p->u->times[i];
        p->has[at] += sign;
    }
}

static double names_cost(const struct planner *p, int64_t unit)
{
    double cost = 0;
    for (int64_t i = p->u->start[unit]; i < p->u->start[unit + 1]; i++)
        cost += name_cost(p, p->u->name[i]);
    return cost;
}

/* Moves a unit to another part. Returns the change of the cost: below 0 is better. */
static double move(struct planner *p, int64_t unit, int to)
{
    double before = size_cost(p) + names_cost(p, unit);
    put(p, unit, p->part[unit], -1);
    put(p, unit, to, 1);
    p->part[unit] = (unsigned char)to;
    p->work += (double)(p->u->start[unit + 1] - p->u->start[unit] + 1) * p->r->parts;
    return size_cost(p) + names_cost(p, unit) - before;
}

static double whole_cost(const struct planner *p)
{
    double cost = size_cost(p);
    for (int k = 0; k < p->u->names; k++)
        cost += p->total[k] > 0 ? name_cost(p, k) : 0;
    return cost;
}

/* ---- iterative stratification -------------------------------------------------------------------------------- */

struct sorted_unit {
    int64_t unit, units_of, size;
    uint64_t rank;
};

/* Sorts the unit whose rarest name fewer units have first, then the larger unit, then the smaller rank. */
static int by_rarity(const void *left, const void *right)
{
    const struct sorted_unit *a = left, *b = right;
    if (a->units_of != b->units_of)
        return a->units_of < b->units_of ? -1 : 1;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static enum status order_units(struct planner *p, uint64_t start, struct error *err)
{
    struct sorted_unit *all = malloc((size_t)p->u->count * sizeof *all);
    if (all == NULL)
        return error_memory(err, "a division");
    for (int64_t i = 0; i < p->u->count; i++) {
        struct philox from = philox_stream(p->r->seed, STREAM_ORDER, p->u->key[i]);
        p->rank[i] = (uint64_t)philox_u32(&from, 2 * start) << 32 | philox_u32(&from, 2 * start + 1);
        int64_t rare = p->rarest[i] < p->u->names ? p->units_of[p->rarest[i]] : p->u->count;
        /* Order 0 is that of the method: rarest name, then size. The further orders ignore the size; even ones ignore
         * the names too, so their order is random. */
        all[i] =
            (struct sorted_unit){i, start % 2 == 0 && start > 0 ? 0 : rare, start == 0 ? p->u->size[i] : 0, p->rank[i]};
    }
    qsort(all, (size_t)p->u->count, sizeof *all, by_rarity);
    for (int64_t i = 0; i < p->u->count; i++)
        p->order[i] = all[i].unit;
    free(all);
    return STATUS_OK;
}

/* Returns the part that should get a unit: the one that is furthest below its request, in samples with the unit's
 * rarest name (counted twice) and in samples altogether. The search begins at a part that the unit's rank selects, and
 * that part wins if several are equal. */
static int neediest(const struct planner *p, int64_t unit)
{
    const int parts = p->r->parts, k = p->rarest[unit];
    int best = 0;
    double most = -INFINITY;
    for (int i = 0; i < parts; i++) {
        int part = (int)((p->rank[unit] + (uint64_t)i) % (uint64_t)parts);
        double want = p->r->share[part] * (double)p->all, need = (want - (double)p->size[part]) / want;
        if (k < p->u->names) {
            double named = p->r->share[part] * (double)p->total[k];
            named = named < 1 && p->units_of[k] >= parts ? 1 : named;
            need += 2 * (named - (double)p->have[(int64_t)k * parts + part]) / named;
        }
        if (need > most + LESS) {
            most = need;
            best = part;
        }
    }
    return best;
}

/* Gives every unit to the part that needs it most, in the planner's order. */
static void stratify(struct planner *p)
{
    memset(p->have, 0, (size_t)p->u->names * (size_t)p->r->parts * sizeof *p->have);
    memset(p->has, 0, (size_t)p->u->names * (size_t)p->r->parts * sizeof *p->has);
    memset(p->size, 0, sizeof p->size);
    memset(p->filled, 0, sizeof p->filled);
    for (int64_t i = 0; i < p->u->count; i++) {
        int64_t unit = p->order[i];
        p->part[unit] = (unsigned char)neediest(p, unit);
        put(p, unit, p->part[unit], 1);
        p->work += (double)(p->u->start[unit + 1] - p->u->start[unit] + 1) + p->r->parts;
    }
}

/* ---- moves and exchanges ------------------------------------------------------------------------------------- */

/* Tries the unit in every other part, and leaves it wherever the cost fell. Returns whether it fell. */
static bool try_moves(struct planner *p, int64_t unit)
{
    bool better = false;
    for (int to = 0; to < p->r->parts && p->work < WORK; to++) {
        int from = p->part[unit];
        if (to == from)
            continue;
        if (move(p, unit, to) < -LESS)
            better = true;
        else
            (void)move(p, unit, from);
    }
    return better;
}

/* Exchanges the parts of two units, and undoes this unless the cost fell. Returns whether it fell. */
static bool try_exchange(struct planner *p, int64_t one, int64_t other)
{
    int from = p->part[one], to = p->part[other];
    if (from == to)
        return false;
    double change = move(p, one, to);
    change += move(p, other, from);
    if (change < -LESS)
        return true;
    (void)move(p, other, to);
    (void)move(p, one, from);
    return false;
}

/* Repeats moves and exchanges until a pass finds no better plan, or until PASSES or WORK is reached. */
static void improve(struct planner *p)
{
    const int64_t n = p->u->count;
    bool better = true;
    for (int pass = 0; better && pass < PASSES && p->work < WORK; pass++) {
        better = false;
        for (int64_t i = 0; i < n && p->work < WORK; i++)
            better |= try_moves(p, p->order[i]);
        for (int64_t i = 0; i < n && p->work < WORK; i++) {
            struct philox from = philox_stream(p->r->seed, STREAM_ORDER + 1, (uint64_t)i);
            int64_t first = n <= FEW ? i + 1 : 0, end = n <= FEW ? n : EXCHANGES;
            for (int64_t j = first; j < end && p->work < WORK; j++)
                better |= try_exchange(
                    p, p->order[i], p->order[n <= FEW ? j : (int64_t)(philox_u32(&from, (uint64_t)j) % (uint64_t)n)]);
        }
    }
}

/* ---- the plan ------------------------------------------------------------------------------------------------ */

/* Counts the samples and units of each name, and finds the rarest name of each unit. */
static void count_names(struct planner *p)
{
    for (int64_t i = 0; i < p->u->count; i++) {
        p->all += p->u->size[i];
        for (int64_t j = p->u->start[i]; j < p->u->start[i + 1]; j++) {
            p->units_of[p->u->name[j]]++;
            p->total[p->u->name[j]] += p->u->times[j];
        }
    }
    for (int64_t i = 0; i < p->u->count; i++) {
        p->rarest[i] = p->u->names;
        for (int64_t j = p->u->start[i]; j < p->u->start[i + 1]; j++) {
            int k = p->u->name[j];
            int64_t fewer = p->rarest[i] == p->u->names ? -1 : p->units_of[k] - p->units_of[p->rarest[i]];
            if (fewer < 0 || (fewer == 0 && k < p->rarest[i]))
                p->rarest[i] = k;
        }
    }
}

/* Plans from each order, and copies the plan of the lowest cost to `part`. */
static enum status plan_best(struct planner *p, unsigned char *part, struct error *err)
{
    double best = INFINITY;
    int64_t starts = p->u->count <= FEW ? STARTS : 1;
    for (int64_t start = 0; start < starts && (start == 0 || p->work < WORK); start++) {
        enum status status = order_units(p, (uint64_t)start, err);
        if (status)
            return status;
        stratify(p);
        if (whole_cost(p) > LESS) /* else no change can lower the cost enough */
            improve(p);
        double cost = whole_cost(p);
        p->work += (double)p->u->names * p->r->parts;
        if (cost < best - LESS) {
            best = cost;
            memcpy(part, p->part, (size_t)p->u->count);
        }
    }
    return STATUS_OK;
}

enum status plan_make(const struct plan_units *units, const struct plan_request *request, unsigned char *part,
                      struct error *err)
{
    const size_t n = (size_t)units->count, names = (size_t)units->names, parts = (size_t)request->parts;
    struct planner p = {.u = units,
                        .r = request,
                        .part = malloc(n),
                        .order = malloc(n * sizeof *p.order),
                        .rank = malloc(n * sizeof *p.rank),
                        .rarest = malloc(n * sizeof *p.rarest),
                        .units_of = calloc(names + 1, sizeof *p.units_of),
                        .total = calloc(names + 1, sizeof *p.total),
                        .have = calloc(names * parts + 1, sizeof *p.have),
                        .has = calloc(names * parts + 1, sizeof *p.has),
                        .lack = request->names_first ? 1e6 : 10,
                        .excess = request->names_first ? 1e4 : 1e9};
    enum status status = p.part && p.order && p.rank && p.rarest && p.units_of && p.total && p.have && p.has
                             ? STATUS_OK
                             : error_memory(err, "a division");
    if (!status) {
        count_names(&p);
        status = plan_best(&p, part, err);
    }
    free(p.part);
    free(p.order);
    free(p.rank);
    free(p.rarest);
    free(p.units_of);
    free(p.total);
    free(p.have);
    free(p.has);
    return status;
}
