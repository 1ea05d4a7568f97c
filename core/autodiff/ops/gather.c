/* Lists the sites (windows of positions) of a motif map that contain an active motif, and moves their rows together.
 *
 * Most sites of a sparse motif map are empty. A head that attends only to the active sites learns the order of the
 * motifs several times sooner than a head that attends to all sites, and its cost falls with the density. */
#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

#include <string.h>

struct gather_node {
    struct node node;
    struct tensor *x;
    const struct active_sites *active;
};

struct gather_job {
    const struct active_sites *active;
    const real *from;
    real *to;
    int cols;
    bool add;
};

struct active_job {
    const struct tensor *motifs;
    struct active_sites *active;
    int ph, pw;
    const bool *sites; /* [images][sites] whether each site is active; NULL: search the map */
};

static bool site_active(const struct tensor *motifs, int image, int row, int col, int ph, int pw)
{
    const struct map_shape *s = &motifs->map;
    for (int block = 0; block < map_blocks(s->channels); block++)
        for (int y = row; y < row + ph; y++) {
            const real *at = motifs->data + map_offset(s, image, block, y, col);
            int above = 0; /* without an exit, compilers vectorise the loop; most windows have no motif anyway */
            for (int i = 0; i < pw * MAP_LANES; i++)
                above |= at[i] > 0;
            if (above)
                return true;
        }
    return false;
}

static void active_task(void *context, int image, int worker)
{
    const struct active_job *job = context;
    struct active_sites *a = job->active;
    int gw = job->motifs->map.width / job->pw, count = 0;
    int *index = a->index + (size_t)image * (size_t)a->sites;
    for (int site = 0; site < a->sites; site++)
        if (job->sites != NULL
                ? job->sites[image * a->sites + site]
                : site_active(job->motifs, image, site / gw * job->ph, site % gw * job->pw, job->ph, job->pw))
            index[count++] = site;
    if (count == 0)
        index[count++] = 0;
    a->lengths[image] = count;
}

struct active_sites *op_active_sites(struct exec *e, const struct tensor *motifs, int ph, int pw)
{
    if (motifs == NULL || e->error.code)
        return NULL;
    const struct map_shape *s = &motifs->map;
    if (motifs->kind != TENSOR_MAP || ph < 1 || pw < 1 || s->height < ph || s->width < pw) {
        op_fail(e, STATUS_INTERNAL, "active sites: the map is smaller than a site of %d x %d positions", ph, pw);
        return NULL;
    }
    int sites = (s->height / ph) * (s->width / pw);
    struct active_sites *a = op_alloc(e, sizeof *a);
    int *lengths = op_alloc(e, (size_t)s->images * sizeof *lengths);
    int *index = op_alloc(e, (size_t)s->images * (size_t)sites * sizeof *index);
    if (a == NULL || lengths == NULL || index == NULL)
        return NULL;
    *a = (struct active_sites){.images = s->images, .sites = sites, .lengths = lengths, .index = index};
    struct active_job job = {motifs, a, ph, pw, NULL};
    if (motifs->active != NULL)
        job.sites = region_sites(e, motifs->active, ph, pw);
    (void)op_run(e, active_task, &job, s->images);
    for (int i = 0; i < s->images; i++)
        a->capacity = lengths[i] > a->capacity ? lengths[i] : a->capacity;
    /* The random numbers of dropout depend on the capacity. It is the maximum over all ranks, so that results do not
     * depend on the number of ranks. */
    double capacity = a->capacity;
    op_ranks_most(e, &capacity, 1);
    a->capacity = (int)capacity;
    return a;
}

static void gather_task(void *context, int image, int worker)
{
    const struct gather_job *job = context;
    const struct active_sites *a = job->active;
    size_t cols = (size_t)job->cols;
    const real *from = job->from + (size_t)image * (size_t)a->sites * cols;
    real *to = job->to + (size_t)image * (size_t)a->capacity * cols;
    const int *index = a->index + (size_t)image * (size_t)a->sites;
    for (int i = 0; i < a->lengths[image]; i++)
        memcpy(to + (size_t)i * cols, from + (size_t)index[i] * cols, cols * sizeof *to);
    size_t rest = (size_t)(a->capacity - a->lengths[image]) * cols;
    memset(to + (size_t)a->lengths[image] * cols, 0, rest * sizeof *to);
}

static void scatter_task(void *context, int image, int worker)
{
    const struct gather_job *job = context;
    const struct active_sites *a = job->active;
    size_t cols = (size_t)job->cols;
    const real *from = job->from + (size_t)image * (size_t)a->capacity * cols;
    real *to = job->to + (size_t)image * (size_t)a->sites * cols;
    const int *index = a->index + (size_t)image * (size_t)a->sites;
    if (!job->add)
        memset(to, 0, (size_t)a->sites * cols * sizeof *to);
    for (int i = 0; i < a->lengths[image]; i++)
        for (size_t j = 0; j < cols; j++)
            to[(size_t)index[i] * cols + j] += from[(size_t)i * cols + j];
}

static void gather_backward(struct exec *e, struct node *node)
{
    struct gather_node *g = (struct gather_node *)node;
    bool add;
    real *dx = grad_open(e, g->x, &add);
    if (dx == NULL)
        return;
    struct gather_job job = {g->active, node->out->grad, dx, g->x->cols, add};
    (void)op_run(e, scatter_task, &job, g->active->images);
}

struct tensor *op_gather_sites(struct exec *e, struct tensor *x, const struct active_sites *active)
{
    double since = op_clock(e);
    if (x == NULL || active == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_ROWS || x->rows != active->images * active->sites) {
        op_fail(e, STATUS_INTERNAL, "gather: %d rows for %d images of %d sites", x->rows, active->images,
                active->sites);
        return NULL;
    }
    struct gather_node *g = op_alloc(e, sizeof *g);
    struct tensor *out = op_out_rows(e, active->images * active->capacity, x->cols, x->wants_grad);
    if (g == NULL || out == NULL)
        return NULL;
    g->x = x;
    g->active = active;
    struct gather_job job = {active, x->data, out->data, x->cols, false};
    (void)op_run(e, gather_task, &job, active->images);
    return op_done(e, &g->node, "gather", gather_backward, out, since);
}
