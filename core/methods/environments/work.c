/* Opens a run (its data, the tree that the model sees, the edges, the fits) and trains it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/methods/environments/run_int.h"
#include "core/methods/shared/table_source.h"

enum { STREAM_UNSEEN = 0x756e73, STREAM_PLACES, STREAM_SPLIT };

void tree_run_close(struct method_run *run)
{
    multi_start_close(&run->multi_start);
    tree_edges_close(&run->edges);
    environments_free(run->train);
    environments_free(run->test);
    environments_free(run->unseen);
    scale_close(&run->scale);
    scale_close(&run->outcome_scale);
    for (int j = 0; run->names && j < run->name_count; j++)
        free(run->names[j]);
    free(run->names);
    tree_destroy(run->tree);
    free(run->place);
    free(run->unseen_node);
    run->train = run->test = run->unseen = NULL;
    run->tree = NULL;
    run->names = NULL;
    run->place = run->unseen_node = NULL;
    run->base.opened = false;
}

/* ---- held-out environments ---------------------------------------------------------------------------- */

struct drawn {
    uint32_t value;
    int node;
};

static int by_value(const void *a, const void *b)
{
    const struct drawn *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : x->node - y->node;
}

/* Merges the sorted parts from[0..middle) and from[middle..end) into `to`. */
static void environments_work_merge(const struct drawn *from, ptrdiff_t middle, ptrdiff_t end, struct drawn *to)
{
    for (ptrdiff_t a = 0, b = middle, at = 0; at < end; at++)
        to[at] = b >= end || (a < middle && by_value(&from[a], &from[b]) <= 0) ? from[a++] : from[b++];
}

/* Sorts `order` [count] by value: sorts runs of RUN entries, then merges neighbouring runs. A table can have 10^8 rows,
 * so the function checks the pool between these pieces of work and ends early when the pool was stopped. scratch:
 * [count]. Returns the array that holds the result. */
static struct drawn *sorted(struct drawn *order, struct drawn *scratch, ptrdiff_t count, struct thread_pool *pool)
{
    enum { RUN = 1 << 18 };
    for (ptrdiff_t at = 0; at < count && !thread_pool_stopped(pool); at += RUN)
        qsort(order + at, (size_t)(count - at < RUN ? count - at : RUN), sizeof *order, by_value);
    for (ptrdiff_t run = RUN; run < count; run *= 2) {
        for (ptrdiff_t at = 0; at < count && !thread_pool_stopped(pool); at += 2 * run) {
            ptrdiff_t left = count - at, end = left < 2 * run ? left : 2 * run;
            environments_work_merge(order + at, end < run ? end : run, end, scratch + at);
        }
        struct drawn *other = order;
        order = scratch;
        scratch = other;
    }
    return order;
}

/* Shuffles `nodes` by the seed. */
static enum status shuffled(uint64_t seed, uint32_t stream, int *nodes, int count, struct thread_pool *pool,
                            struct error *err)
{
    struct philox from = philox_stream(seed, stream, 0);
    struct drawn *order = calloc(2 * (size_t)count, sizeof *order);
    if (!order)
        return error_memory(err, "environments");
    for (int i = 0; i < count; i++)
        order[i] = (struct drawn){philox_u32(&from, (uint64_t)i), nodes[i]};
    const struct drawn *result = sorted(order, order + count, count, pool);
    enum status status = thread_pool_check(pool, err);
    for (int i = 0; !status && i < count; i++)
        nodes[i] = result[i].node;
    free(order);
    return status;
}

/* Chooses which of `nodes` (those with data) are held out: first nodes that share no parent, then further nodes, up to
 * the configured number. At least two nodes are kept for training. */
static enum status choose_unseen(struct method_run *run, int *nodes, int count, struct error *err)
{
    int most = (int)run->config.unseen < count - 2 ? (int)run->config.unseen : count - 2;
    bool *taken = calloc((size_t)run->tree->nodes + 1, sizeof *taken),
         *parent = calloc((size_t)run->tree->nodes + 1, 1);
    run->unseen_node = malloc((size_t)(count + 1) * sizeof *run->unseen_node);
    enum status status = taken && parent && run->unseen_node ? shuffled((uint64_t)run->config.seed, STREAM_UNSEEN,
                                                                        nodes, count, run->base.env.pool, err)
                                                             : error_memory(err, "environments");
    for (int alone = 1; !status && alone >= 0; alone--)
        for (int i = 0; i < count && run->unseen_count < most; i++) {
            int above = run->tree->parent[nodes[i]];
            if (taken[nodes[i]] || above < 0 || (alone && parent[above]))
                continue;
            taken[nodes[i]] = parent[above] = true;
            run->unseen_node[run->unseen_count++] = nodes[i];
        }
    free(taken);
    free(parent);
    return status;
}

static bool is_unseen(const struct method_run *run, int node)
{
    for (int i = 0; i < run->unseen_count; i++)
        if (run->unseen_node[i] == node)
            return true;
    return false;
}

/* Swaps the positions of a share of the training environments in the tree (field `corruption`). */
static enum status choose_places(struct method_run *run, int *seen, int count, struct error *err)
{
    int n = run->tree->nodes, moved = (int)(run->config.corruption * count + 0.5);
    run->place = malloc((size_t)n * sizeof *run->place);
    if (!run->place)
        return error_memory(err, "environments");
    for (int v = 0; v < n; v++)
        run->place[v] = v;
    enum status status = shuffled((uint64_t)run->config.seed, STREAM_PLACES, seen, count, run->base.env.pool, err);
    for (int i = 0; !status && moved > 1 && i < moved; i++)
        run->place[seen[i]] = seen[(i + 1) % moved];
    return status;
}

/* ---- data --------------------------------------------------------------------------------------------- */

static struct environments_outcome outcome_of(const struct environments_config *c)
{
    return (struct environments_outcome){(uint64_t)c->seed, (int)c->factors, (int)c->changes, c->density, c->noise};
}

static enum status make_tree(struct method_run *run, struct error *err)
{
    const struct environments_config *c = &run->config;
    if (c->shape == SHAPE_COMPLETE)
        return tree_complete((int)c->depth, (int)c->children, &run->tree, err);
    return c->shape == SHAPE_CATERPILLAR ? tree_caterpillar((int)c->leaves, &run->tree, err)
                                         : tree_random((uint64_t)c->seed, (int)c->leaves, &run->tree, err);
}

static enum status environments_work_draw(const struct method_run *run, const int *nodes, int count, int64_t rows,
                                          uint32_t set, struct environments **out, struct error *err)
{
    const struct environments_config *c = &run->config;
    struct environments_outcome outcome = outcome_of(c);
    return environments_simulate(run->tree, &outcome, (enum environments_psi)c->psi, (int)c->inputs, nodes, count,
                                 (int)rows, set, run->base.env.pool, out, err);
}

/* Removes held-out nodes from `nodes` and returns how many are left. */
static int drop_unseen(const struct method_run *run, int *nodes, int count)
{
    int left = 0;
    for (int i = 0; i < count; i++)
        if (!is_unseen(run, nodes[i]))
            nodes[left++] = nodes[i];
    return left;
}

static enum status simulate(struct method_run *run, int *nodes, int *count, struct error *err)
{
    const struct environments_config *c = &run->config;
    enum status status = make_tree(run, err);
    if (status)
        return status;
    *count = tree_leaves(run->tree, nodes);
    status = choose_unseen(run, nodes, *count, err);
    *count = tree_leaves(run->tree, nodes); /* lists the leaves again, because choose_unseen() shuffled them */
    *count = drop_unseen(run, nodes, *count);
    if (status)
        return status;
    status = environments_work_draw(run, nodes, *count, c->samples, SET_TRAINING, &run->train, err);
    if (status)
        return status;
    status = environments_work_draw(run, nodes, *count, c->test_samples, SET_TEST, &run->test, err);
    if (status)
        return status;
    if (run->unseen_count)
        return environments_work_draw(run, run->unseen_node, run->unseen_count, c->test_samples, SET_TEST, &run->unseen,
                                      err);
    return STATUS_OK;
}

/* Holds out the test rows that the file states or, without them, the first `test_share` of each node's shuffled rows. A
 * node with a single row keeps it for training. If every node has a single row, only the unseen environments are
 * tested. */
static enum status split_rows(struct method_run *run, const struct environments *all, struct error *err)
{
    int n = run->tree->nodes, rows = all->rows;
    bool *keep = calloc(3 * (size_t)rows, sizeof *keep), *test = keep + rows, *unseen = test + rows;
    int *order = malloc((size_t)rows * sizeof *order), *total = calloc(2 * (size_t)n, sizeof *total), *met = total + n;
    enum status status = keep && order && total ? STATUS_OK : error_memory(err, "environments");
    for (int i = 0; !status && i < rows; i++) {
        order[i] = i;
        total[all->node[i]]++;
    }
    if (!status)
        status = shuffled((uint64_t)run->config.seed, STREAM_SPLIT, order, rows, run->base.env.pool, err);
    for (int i = 0; !status && i < rows && !thread_pool_stopped(run->base.env.pool); i++) {
        int row = order[i], v = all->node[row];
        bool held = met[v]++ < (int)floor(run->config.test_share * total[v]), out = is_unseen(run, v);
        held = all->test ? all->test[row] : held;
        *(out ? &unseen[row] : held ? &test[row] : &keep[row]) = true;
    }
    if (!status)
        status = environments_filter(all, n, keep, &run->train, err);
    if (!status)
        status = environments_filter(all, n, test, &run->test, err);
    if (!status && run->unseen_count)
        status = environments_filter(all, n, unseen, &run->unseen, err);
    if (!status)
        status = thread_pool_check(run->base.env.pool, err);
    bool tested = !status && (run->test->rows > 0 || (run->unseen && run->unseen->rows > 0));
    if (!status && (run->train->rows < 2 || !tested))
        status = error_set(err, STATUS_INVALID, NULL, "too few rows for training and test");
    free(keep);
    free(order);
    free(total);
    return status;
}

/* Hashes the table and its tree, so that a checkpoint records the data that it was trained on. The hash leaves out what
 * depends on the seed. */
static void note_read(struct method_run *run, const struct environments *all)
{
    struct hash hash;
    hash_init(&hash);
    model_run_hash(run, &hash, all->x, (size_t)all->rows * (size_t)all->features * sizeof *all->x);
    model_run_hash(run, &hash, all->node, (size_t)all->rows * sizeof *all->node);
    hash_add(&hash, run->tree->parent, (size_t)run->tree->nodes * sizeof *run->tree->parent);
    model_run_read(run, &hash);
}

static enum status read_table(struct method_run *run, struct environments **all, struct error *err)
{
    const struct environments_config *c = &run->config;
    const struct environments_reading reading = {
        .features = (int)c->features,
        .plant = c->target == TARGET_PLANTED,
        .published = c->scaling == SCALE_AUTO,
        .scale = &run->scale,
        .outcome = outcome_of(c),
        .pool = run->base.env.pool,
    };
    char folder[DATASET_PATH];
    enum status status = source_folder(c->dataset_name, c->dataset_hash, run->base.env.data, folder, err);
    if (!status)
        status = environments_read(folder, &reading, &run->tree, all, err);
    if (!status)
        note_read(run, *all);
    return status ? status : thread_pool_check(run->base.env.pool, err);
}

/* Lists the nodes that rows of `all` belong to, in ascending order. */
static int nodes_with_data(const struct environments *all, int nodes, int *list)
{
    int count = 0;
    memset(list, 0, (size_t)nodes * sizeof *list);
    for (int i = 0; i < all->rows; i++)
        list[all->node[i]] = 1;
    for (int v = 0; v < nodes; v++)
        if (list[v]) /* overwrites an entry that the loop has read already, because count <= v */
            list[count++] = v;
    return count;
}

/* Scales the rows of a part. */
static enum status scale_part(const struct method_run *run, struct environments *e, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; e && !status && i < e->rows && !thread_pool_stopped(run->base.env.pool); i++) {
        status = scale_row(&run->scale, e->x + (ptrdiff_t)i * e->features, err);
        if (!status && run->outcome_scale.columns > 0)
            status = scale_row(&run->outcome_scale, e->y + i, err);
    }
    return status;
}

/* Scales the features of all parts, and an outcome that is not 0 or 1, by the training rows. Does nothing if the reader
 * has scaled them. */
static enum status scale_data(struct method_run *run, char *const *names, struct error *err)
{
    enum collection_scale kind = (enum collection_scale)run->config.scaling;
    const struct environments *e = run->train;
    if (kind == SCALE_AUTO || run->scale.columns > 0)
        return STATUS_OK;
    enum status status =
        scale_fit(kind, true, e->x, NULL, e->rows, e->features, names, "/config/scale", &run->scale, err);
    if (!status && kind != SCALE_NONE && !e->labels)
        status =
            scale_fit(SCALE_STANDARD, true, e->y, NULL, e->rows, 1, NULL, "/config/scale", &run->outcome_scale, err);
    if (!status)
        status = scale_part(run, run->train, err);
    if (!status)
        status = scale_part(run, run->test, err);
    if (!status)
        status = scale_part(run, run->unseen, err);
    return status ? status : thread_pool_check(run->base.env.pool, err);
}

static enum status read_data(struct method_run *run, int *nodes, int *count, struct error *err)
{
    struct environments *all = NULL;
    enum status status = read_table(run, &all, err);
    if (status)
        return status;
    *count = nodes_with_data(all, run->tree->nodes, nodes);
    status = *count >= 2 ? choose_unseen(run, nodes, *count, err)
                         : error_set(err, STATUS_INVALID, NULL, "the table has fewer than two environments");
    *count = nodes_with_data(all, run->tree->nodes, nodes);
    *count = drop_unseen(run, nodes, *count);
    if (!status)
        status = split_rows(run, all, err);
    if (!status)
        status = scale_data(run, all->names, err);
    run->names = all->names;
    run->name_count = all->features;
    all->names = NULL;
    environments_free(all);
    return status;
}

/* ---- places and edges --------------------------------------------------------------------------------- */

static void environments_work_move(const struct method_run *run, struct environments *e)
{
    for (int i = 0; e && i < e->rows; i++)
        e->node[i] = run->place[e->node[i]];
}

static enum status open_edges(struct method_run *run, struct error *err)
{
    bool *seen = calloc((size_t)run->tree->nodes, sizeof *seen);
    if (!seen)
        return error_memory(err, "environments");
    for (int i = 0; i < run->train->rows; i++)
        seen[run->train->node[i]] = true;
    enum status status = tree_edges_create(run->tree, seen, environments_edge_shape(run->config.baseline),
                                           run->config.merge_root, &run->edges, err);
    free(seen);
    return status;
}

/* ---- fits, for core/methods/shared/multi_start.h ------------------------------------------------------- */

static enum status create_fit(struct method_run *run, int start, const char *prefix, bool alone, void **fit,
                              struct error *err)
{
    const struct method_env *env = &run->base.env;
    struct fit_setup setup = environments_setup(&run->config, run->train->features, start);
    struct tree_fit *made;
    enum status status =
        tree_fit_create(&setup, &run->edges, run->train, prefix, env->kernels, env->pool, alone, &made, err);
    if (status)
        return status;
    tree_fit_share(made, env->comm);
    *fit = made;
    return STATUS_OK;
}

static void destroy_fit(void *fit)
{
    tree_fit_destroy(fit);
}
static enum status update_fit(void *fit, struct error *err)
{
    return tree_fit_update(fit, err);
}
static void copy_fit(void *to, const void *from)
{
    tree_fit_copy(to, from);
}
static struct params *params_of(const void *fit)
{
    return ((const struct tree_fit *)fit)->model->params;
}

static enum status objective_of(void *fit, double *objective, struct error *err)
{
    return tree_fit_objective(fit, objective, err);
}

static enum status snapshot_fit(void *fit, enum snapshot_role role, struct snapshot *snapshot, const char *prefix,
                                struct error *err)
{
    return tree_fit_snapshot(fit, role, snapshot, prefix, err);
}

static const struct multi_start_table fits = {create_fit, destroy_fit,  update_fit, objective_of,
                                              copy_fit,   snapshot_fit, params_of};

/* ---- opening ---------------------------------------------------------------------------------------------- */

enum status tree_run_open(struct method_run *run, struct error *err)
{
    if (run->base.opened)
        return STATUS_OK;
    int *nodes = malloc(TREE_NODES_MOST * sizeof *nodes), count = 0;
    if (!nodes)
        return error_memory(err, "environments");
    tree_run_close(run);
    run->unseen_count = 0;
    enum status status =
        run->config.data == DATA_TABLE ? read_data(run, nodes, &count, err) : simulate(run, nodes, &count, err);
    run->base.opened = true;
    if (!status)
        status = choose_places(run, nodes, count, err);
    free(nodes);
    if (status)
        return status;
    environments_work_move(run, run->train);
    environments_work_move(run, run->test);
    if (run->config.baseline == BASELINE_ORACLE && run->train->latent == 0)
        return error_set(err, STATUS_INVALID, "/config/baseline",
                         "the oracle needs known latent variables, which this table lacks");
    status = open_edges(run, err);
    run->features = run->train->features;
    run->multi_start.table = &fits;
    return status ? status : multi_start_open(run, &run->multi_start, run->config.restarts, err);
}

/* ---- training ----------------------------------------------------------------------------------------- */

bool tree_run_trained(const struct method_run *run)
{
    return run->multi_start.chosen >= 0 && tree_fit_done(tree_fit_of(run));
}

static void metrics(struct method_run *run)
{
    enum { EVERY = 20 };
    run->base.loss_sum += tree_fit_of(run)->last_loss;
    if (run->base.work % EVERY)
        return;
    model_run_metric(run, "loss", run->base.loss_sum / EVERY);
    model_run_metric(run, "nonzero", tree_fit_found(tree_fit_of(run), 0));
    run->base.loss_sum = 0;
}

enum status tree_run_update(struct method_run *run, struct error *err)
{
    const struct tree_fit *first = tree_fit_of(run);
    int count = run->multi_start.count;
    enum status status = multi_start_update(run, &run->multi_start, err);
    if (status)
        return status;
    run->base.work++;
    run->base.seen += run->config.batch * count;
    metrics(run);
    bool screened = count > 1 && first->updates == run->config.screen_updates;
    return run->multi_start.chosen < 0 && (screened || tree_fit_done(first))
               ? multi_start_choose(run, &run->multi_start, err)
               : STATUS_OK;
}

/* ---- the evaluation's rows ------------------------------------------------------------------------------ */

enum status tree_run_fresh(struct method_run *run, struct error *err)
{
    uint32_t set = SETS_FRESH + (uint32_t)(run->base.evaluation_seed % 1000000);
    int *nodes = malloc(TREE_NODES_MOST * sizeof *nodes);
    if (!nodes)
        return error_memory(err, "environments");
    int count = drop_unseen(run, nodes, tree_leaves(run->tree, nodes));
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): choose_unseen() leaves two */
    int64_t rows = run->base.evaluation_samples / count;
    struct environments *fresh = NULL;
    enum status status = environments_work_draw(run, nodes, count, rows > 1 ? rows : 2, set, &fresh, err);
    free(nodes);
    if (status)
        return status;
    environments_free(run->test);
    run->test = fresh;
    environments_work_move(run, run->test);
    return STATUS_OK;
}
