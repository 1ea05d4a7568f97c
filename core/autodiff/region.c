/* Makes, grows, unites and cuts regions, and writes zeros inside or outside of them. */
#include "core/autodiff/region.h"

#include <string.h>

/* --- making ------------------------------------------------------------------------------------- */

static struct region *autodiff_region_empty(struct exec *e, int images, int height, int width, int spans)
{
    struct region *r = op_alloc(e, sizeof *r);
    int *first = op_alloc(e, ((size_t)images * (size_t)height + 1) * sizeof *first);
    struct span *span = op_alloc(e, ((size_t)spans + 1) * sizeof *span);
    if (r == NULL || first == NULL || span == NULL)
        return NULL;
    *r = (struct region){.images = images, .height = height, .width = width, .span = span, .first = first};
    return r;
}

/* Combines spans into boxes. A span joins the box of the span with the same columns in the row above, unless that box
 * already has BOX_ROWS rows. of[i] becomes the index of the box that contains span i. */
static bool make_boxes(struct exec *e, struct region *r)
{
    int rows = r->images * r->height;
    r->box = op_alloc(e, ((size_t)r->spans + 1) * sizeof *r->box);
    int *of = op_alloc(e, ((size_t)r->spans + 1) * sizeof *of);
    if (r->box == NULL || of == NULL)
        return false;
    for (int row = 0; row < rows; row++) {
        bool top = row % r->height == 0;
        int above = top ? 0 : r->first[row - 1], end = top ? 0 : r->first[row];
        for (int i = r->first[row]; i < r->first[row + 1]; i++) {
            struct span s = r->span[i];
            while (above < end && r->span[above].from < s.from)
                above++;
            bool same = above < end && r->span[above].from == s.from && r->span[above].to == s.to;
            of[i] = same && r->box[of[above]].rows < BOX_ROWS ? of[above] : r->boxes++;
            struct box *box = &r->box[of[i]];
            if (box->rows == 0)
                *box = (struct box){row / r->height, row % r->height, s.from, 0, s.to - s.from};
            box->rows++;
            r->positions += s.to - s.from;
        }
    }
    return true;
}

struct region *region_make(struct exec *e, const struct map_shape *shape, struct span *span, int *first)
{
    struct region *r = op_alloc(e, sizeof *r);
    if (r == NULL)
        return NULL;
    *r = (struct region){.images = shape->images,
                         .height = shape->height,
                         .width = shape->width,
                         .span = span,
                         .first = first,
                         .spans = first[shape->images * shape->height]};
    return make_boxes(e, r) ? r : NULL;
}

struct list {
    const struct span *at, *end; /* the spans from `at` to before `end`, in order of columns */
};

/* Widens the spans of several lists by `cols` on both sides, and writes their union to `to`. Returns the number of
 * spans of the union. If `to` is NULL, only counts them. */
static int autodiff_region_merge(struct list *lists, int count, int cols, int width, struct span *to)
{
    int made = 0, last = -1; /* made: number of spans so far; last: end of the latest span */
    for (;;) {
        struct list *next = NULL;
        for (int i = 0; i < count; i++)
            if (lists[i].at < lists[i].end && (next == NULL || lists[i].at->from < next->at->from))
                next = &lists[i];
        if (next == NULL)
            return made;
        int from = next->at->from - cols, end = next->at->to + cols;
        next->at++;
        from = from < 0 ? 0 : from;
        end = end > width ? width : end;
        if (made == 0 || from > last) {
            if (to != NULL)
                to[made] = (struct span){from, end};
            made++;
            last = end;
        } else if (end > last) {
            last = end;
            if (to != NULL)
                to[made - 1].to = end;
        }
    }
}

static struct list row_list(const struct region *r, int row)
{
    return (struct list){r->span + r->first[row], r->span + r->first[row + 1]};
}

/* Collects the lists of spans whose union is row `row` of the result: this row of a and of b and, if `rows` is 1, also
 * the rows above and below it in a. Returns the number of lists. */
static int sources(const struct region *a, const struct region *b, int row, int rows, struct list lists[3])
{
    int count = 0, y = row % a->height;
    lists[count++] = row_list(a, row);
    if (b != NULL)
        lists[count++] = row_list(b, row);
    if (rows > 0 && y > 0)
        lists[count++] = row_list(a, row - 1);
    if (rows > 0 && y + 1 < a->height)
        lists[count++] = row_list(a, row + 1);
    return count;
}

static struct region *combine(struct exec *e, const struct region *a, const struct region *b, int rows, int cols)
{
    int total = 0, all = a->images * a->height;
    struct list lists[3];
    for (int row = 0; row < all; row++) {
        int count = sources(a, b, row, rows, lists);
        total += autodiff_region_merge(lists, count, cols, a->width, NULL);
    }
    struct region *r = autodiff_region_empty(e, a->images, a->height, a->width, total);
    if (r == NULL)
        return NULL;
    for (int row = 0; row < all; row++) {
        int count = sources(a, b, row, rows, lists);
        r->first[row] = r->spans;
        r->spans += autodiff_region_merge(lists, count, cols, a->width, r->span + r->spans);
    }
    r->first[all] = r->spans;
    return make_boxes(e, r) ? r : NULL;
}

struct region *region_grow(struct exec *e, struct region *region, int rows, int cols)
{
    if (region == NULL || (rows == 0 && cols == 0))
        return region;
    if (rows == 0 || cols == 0)
        return combine(e, region, NULL, rows, cols);
    if (region->wider == NULL)
        region->wider = combine(e, region, NULL, 1, 1);
    return region->wider;
}

static bool same(const struct region *a, const struct region *b)
{
    return a == b || (a->spans == b->spans && memcmp(a->span, b->span, (size_t)a->spans * sizeof *a->span) == 0 &&
                      memcmp(a->first, b->first, ((size_t)a->images * (size_t)a->height + 1) * sizeof *a->first) == 0);
}

struct region *region_unite(struct exec *e, struct region *a, struct region *b)
{
    if (a == NULL || b == NULL)
        return NULL;
    return same(a, b) ? a : combine(e, a, b, 0, 0);
}

struct region *region_image(struct exec *e, const struct map_shape *s, int image)
{
    struct region *r = autodiff_region_empty(e, s->images, s->height, s->width, s->height);
    if (r == NULL)
        return NULL;
    for (int row = 0; row < s->images * s->height; row++) {
        r->first[row] = r->spans;
        if (row / s->height == image)
            r->span[r->spans++] = (struct span){0, s->width};
    }
    r->first[s->images * s->height] = r->spans;
    return make_boxes(e, r) ? r : NULL;
}

struct region_cut region_cut(struct exec *e, const struct region *r, int64_t least, int most)
{
    int64_t wanted = r->positions / least, done = 0;
    struct region_cut cut = {.pieces = wanted < 1 ? 1 : wanted > most ? most : (int)wanted};
    cut.cut = op_alloc(e, ((size_t)cut.pieces + 1) * sizeof *cut.cut);
    if (cut.cut == NULL)
        return (struct region_cut){0};
    for (int i = 0, piece = 0; i < r->boxes; i++) {
        while (piece < cut.pieces && done >= r->positions * piece / cut.pieces)
            cut.cut[piece++] = i;
        done += (int64_t)r->box[i].rows * r->box[i].cols;
        if (i == r->boxes - 1)
            while (piece < cut.pieces)
                cut.cut[piece++] = r->boxes;
    }
    cut.cut[cut.pieces] = r->boxes;
    return cut;
}

/* --- sites -------------------------------------------------------------------------------------- */

bool *region_sites(struct exec *e, const struct region *r, int rows, int cols)
{
    int gh = r->height / rows, gw = r->width / cols;
    bool *sites = op_alloc(e, (size_t)r->images * (size_t)gh * (size_t)gw);
    for (int row = 0; sites != NULL && row < r->images * r->height; row++) {
        int site = row % r->height / rows;
        bool *line = sites + ((ptrdiff_t)(row / r->height) * gh + site) * gw;
        for (int i = r->first[row]; i < r->first[row + 1] && site < gh; i++)
            for (int col = r->span[i].from / cols; col < gw && col * cols < r->span[i].to; col++)
                line[col] = true;
    }
    return sites;
}

void region_clear_rest(const struct region *r, int rows, int cols, const struct map_shape *s, real *data)
{
    int bottom = r->height / rows * rows, right = r->width / cols * cols;
    for (int row = 0; row < r->images * r->height; row++) {
        for (int i = r->first[row]; i < r->first[row + 1]; i++) {
            int y = row % r->height, from = y < bottom && r->span[i].from < right ? right : r->span[i].from;
            for (int block = 0; block < map_blocks(s->channels) && from < r->span[i].to; block++)
                memset(data + map_offset(s, row / r->height, block, y, from), 0,
                       (size_t)(r->span[i].to - from) * MAP_LANES * sizeof *data);
        }
    }
}

/* --- zeros -------------------------------------------------------------------------------------- */

struct clear_task {
    const struct map_shape *shape;
    const struct region *within, *keep;
    real *data;
};

static void clear_span(const struct clear_task *t, int row, int from, int to)
{
    const struct map_shape *s = t->shape;
    for (int block = 0; block < map_blocks(s->channels) && from < to; block++)
        memset(t->data + map_offset(s, row / s->height, block, row % s->height, from), 0,
               (size_t)(to - from) * MAP_LANES * sizeof(real));
}

static void clear_row(const struct clear_task *t, int row)
{
    struct span all = {0, t->shape->width};
    struct list within = t->within == NULL ? (struct list){&all, &all + 1} : row_list(t->within, row);
    struct list keep = row_list(t->keep, row);
    for (; within.at < within.end; within.at++) {
        int from = within.at->from;
        while (keep.at < keep.end && keep.at->to <= from)
            keep.at++;
        for (const struct span *k = keep.at; k < keep.end && k->from < within.at->to; k++) {
            clear_span(t, row, from, k->from);
            from = k->to > from ? k->to : from;
        }
        clear_span(t, row, from, within.at->to);
    }
}

enum { CLEAR_ROWS = 64 };

static void clear_task(void *context, int chunk, int worker)
{
    const struct clear_task *t = context;
    int rows = t->shape->images * t->shape->height, end = (chunk + 1) * CLEAR_ROWS;
    for (int row = chunk * CLEAR_ROWS; row < rows && row < end; row++)
        clear_row(t, row);
}

void region_clear(struct exec *e, const struct map_shape *shape, real *data, const struct region *within,
                  const struct region *keep)
{
    struct clear_task task = {shape, within, keep, data};
    (void)op_run(e, clear_task, &task, (shape->images * shape->height + CLEAR_ROWS - 1) / CLEAR_ROWS);
}
