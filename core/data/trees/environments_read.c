/* Reads a table that a user uploaded: each row's group is its environment, and the groups' names make the tree. At the
 * end it chooses and standardises the features for training. If a data set has no outcome, it plants latent variables
 * and an outcome with known weights. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/base/random/philox.h"
#include "core/data/dataset.h"
#include "core/data/tables/features.h"
#include "core/data/trees/environments_int.h"
#include "core/data/uploads/collection.h"

enum { STREAM_GROUPS = 0x67727073, STREAM_NOISE, COUNTS_ABOVE = 30 };

/* Whether a column of this name is the outcome. */
static bool environments_outcome_name(const char *name)
{
    static const char *const names[] = {"y", "outcome", "label", "resistant"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        if (strcmp(name, names[n]) == 0)
            return true;
    return false;
}

/* ---- features ----------------------------------------------------------------------------------------- */

static bool are_counts(const struct environments *e)
{
    float most = 0;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)e->rows * e->features; i++) {
        if (e->x[i] < 0 || e->x[i] > floorf(e->x[i]))
            return false;
        most = e->x[i] > most ? e->x[i] : most;
    }
    return most > COUNTS_ABOVE;
}

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Keeps the scale by which choose_features() standardises. */
static enum status keep_scale(bool counts, const double *mean, const double *deviation, int count, struct scale *scale,
                              struct error *err)
{
    enum status status = scale_create(counts ? SCALE_COUNTS : SCALE_STANDARD, count, scale, err);
    for (int j = 0; !status && j < count; j++) {
        scale->shift[j] = mean[j];
        scale->unit[j] = deviation[j];
    }
    return status;
}

/* Widens the range of the training data by the standardised rows. */
static void keep_range(const struct environments *e, struct scale *s)
{
    for (int i = 0; i < e->rows; i++)
        for (int j = 0; j < s->columns; j++) {
            double x = (double)e->x[(ptrdiff_t)i * s->columns + j];
            s->low[j] = fmin(s->low[j], x);
            s->high[j] = fmax(s->high[j], x);
        }
}

/* Keeps the columns of the largest variance, in place, and standardises them if asked; removes constant
 * columns. */
static enum status choose_features(struct environments *e, const struct environments_reading *r, bool standardised,
                                   bool counts, struct error *err)
{
    int most = r->features;
    int d = e->features, kept = 0;
    double *deviation = malloc(3 * (size_t)d * sizeof *deviation);
    if (!deviation)
        return environments_no_memory(err);
    double *mean = deviation + d, *sorted = mean + d;
    features_moments(&(struct features){.rows = e->rows, .columns = d, .x = e->x}, mean, deviation);
    memcpy(sorted, deviation, (size_t)d * sizeof *sorted);
    qsort(sorted, (size_t)d, sizeof *sorted, falling);
    double least = most < d ? sorted[most - 1] : 0;
    for (int j = 0; j < d; j++) {
        bool keep = kept < most && deviation[j] > 0 && deviation[j] >= least;
        if (!keep) {
            free(e->names[j]);
            continue;
        }
        mean[kept] = mean[j];
        deviation[kept] = deviation[j];
        e->names[kept] = e->names[j];
        sorted[kept++] = j;
    }
    for (int i = 0; i < e->rows; i++)
        for (int j = 0; j < kept; j++) {
            double value = (double)e->x[(ptrdiff_t)i * d + (int)sorted[j]];
            e->x[(ptrdiff_t)i * kept + j] = (float)(standardised ? (value - mean[j]) / deviation[j] : value);
        }
    e->features = kept;
    enum status status =
        standardised && r->scale && kept > 0 ? keep_scale(counts, mean, deviation, kept, r->scale, err) : STATUS_OK;
    if (!status && standardised && r->scale)
        keep_range(e, r->scale);
    free(deviation);
    return kept > 0 ? status
                    : error_set(err, STATUS_INVALID, NULL, "no feature varies: every column has one value in all rows");
}

/* ---- planting ----------------------------------------------------------------------------------------- */

struct drawn {
    uint32_t value;
    int feature;
};

static int by_value(const void *a, const void *b)
{
    const struct drawn *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value) : x->feature - y->feature;
}

static void standardise_latent(struct environments *e, int c)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < e->rows; i++)
        mean += (double)e->z[(ptrdiff_t)i * e->latent + c] / e->rows;
    for (int i = 0; i < e->rows; i++) {
        double d = (double)e->z[(ptrdiff_t)i * e->latent + c] - mean;
        squares += d * d / e->rows;
    }
    double scale = squares > 0 ? 1 / sqrt(squares) : 0;
    for (int i = 0; i < e->rows; i++) {
        float *z = &e->z[(ptrdiff_t)i * e->latent + c];
        *z = (float)(((double)*z - mean) * scale);
    }
}

static enum status plant(const struct tree *tree, const struct environments_outcome *o, struct thread_pool *pool,
                         struct environments *e, struct error *err)
{
    int d = e->features, k = o->latent, size = d / k;
    struct drawn *order = malloc((size_t)d * sizeof *order);
    if (!order)
        return environments_no_memory(err);
    struct philox from = philox_stream(o->seed, STREAM_GROUPS, 0), noise = philox_stream(o->seed, STREAM_NOISE, 0);
    for (int j = 0; j < d; j++)
        order[j] = (struct drawn){philox_u32(&from, (uint64_t)j), j};
    qsort(order, (size_t)d, sizeof *order, by_value);
    for (int i = 0; i < e->rows && !thread_pool_stopped(pool); i++)
        for (int c = 0; c < k; c++) {
            double sum = 0;
            for (int j = 0; j < size; j++)
                sum += (double)e->x[(ptrdiff_t)i * d + order[c * size + j].feature];
            e->z[(ptrdiff_t)i * k + c] = (float)tanh(size > 0 ? sum / size : 0);
        }
    free(order);
    for (int c = 0; c < k && !thread_pool_stopped(pool); c++)
        standardise_latent(e, c);
    environments_weights(tree, o, e);
    for (int i = 0; i < e->rows && !thread_pool_stopped(pool); i++)
        e->y[i] = environments_outcome_at(e, e->node[i], e->z + (ptrdiff_t)i * k,
                                          o->noise * philox_normal(&noise, (uint64_t)i));
    return size > 0 ? STATUS_OK
                    : error_set(err, STATUS_INVALID, NULL,
                                "%d features are too few for %d latent variables; each needs at least one", d, k);
}

static bool are_labels(const struct environments *e)
{
    for (int i = 0; i < e->rows; i++)
        if (e->y[i] < 0 || (e->y[i] > 0 && e->y[i] < 1) || e->y[i] > 1)
            return false;
    return true;
}

/* Last step of the reader: chooses and standardises the features, then plants latent variables and an outcome if
 * e->latent > 0. */
static enum status environments_finish(const struct tree *tree, const struct environments_reading *r,
                                       struct environments *e, struct error *err)
{
    bool standardised = r->published || e->latent > 0, counts = standardised && are_counts(e);
    for (ptrdiff_t i = 0; counts && i < (ptrdiff_t)e->rows * e->features; i++)
        e->x[i] = log1pf(e->x[i]);
    e->labels = e->latent == 0 && are_labels(e);
    enum status status = thread_pool_check(r->pool, err);
    if (!status)
        status = choose_features(e, r, standardised, counts, err);
    if (!status && e->latent > 0)
        status = plant(tree, &r->outcome, r->pool, e, err);
    return status ? status : thread_pool_check(r->pool, err);
}

enum { LOOK_ROWS = 1024 }; /* rows between two checks whether the pool was stopped */

/* ---- the tree of the groups' names ---------------------------------------------------------------------- */

struct edge_list {
    char **parent, **child;
    int count;
};

static const char ROOT[] = "all";

static void list_close(struct edge_list *l)
{
    for (int i = 0; i < l->count; i++) {
        free(l->parent[i]);
        free(l->child[i]);
    }
    free(l->parent);
    free(l->child);
}

static bool list_has(const struct edge_list *l, const char *child, size_t bytes)
{
    for (int i = 0; i < l->count; i++)
        if (strlen(l->child[i]) == bytes && memcmp(l->child[i], child, bytes) == 0)
            return true;
    return false;
}

/* Adds an edge: its child is the first `bytes` of a path, its parent the part of the child before its last '/', or the
 * root if there is no '/'. */
static enum status list_add(struct edge_list *l, const char *path, size_t bytes, struct error *err)
{
    size_t above = bytes;
    while (above > 0 && path[above - 1] != '/')
        above--;
    char **parents = grown(l->parent, (size_t)l->count, sizeof *parents);
    l->parent = parents ? parents : l->parent;
    char **children = parents ? grown(l->child, (size_t)l->count, sizeof *children) : NULL;
    if (!children)
        return environments_no_memory(err);
    l->child = children;
    char *parent = above ? strndup(path, above - 1) : strdup(ROOT), *child = strndup(path, bytes);
    if (!parent || !child) {
        free(parent);
        free(child);
        return environments_no_memory(err);
    }
    l->parent[l->count] = parent;
    l->child[l->count++] = child;
    return STATUS_OK;
}

/* Adds the edge above a group's node, and the edges above all inner nodes on its path that are not in the list yet. */
static enum status add_path(struct edge_list *l, const char *path, struct error *err)
{
    enum status status = STATUS_OK;
    size_t all = strlen(path);
    for (size_t bytes = 1; !status && bytes <= all; bytes++) {
        if (path[bytes] != '/' && path[bytes] != '\0')
            continue;
        if (path[bytes - 1] == '/' || path[0] == '/')
            return error_set(err, STATUS_INVALID, NULL,
                             "group %.80s has an empty part before, after or between '/'; use names like a/b", path);
        if (!list_has(l, path, bytes))
            status = list_add(l, path, bytes, err);
        if (!status && l->count >= TREE_NODES_MOST)
            status =
                error_set(err, STATUS_LIMIT, NULL,
                          "the groups make a tree of more than %d nodes, the most that is allowed", TREE_NODES_MOST);
    }
    return status;
}

static enum status tree_of_groups(const struct collection_names *groups, struct thread_pool *pool, struct tree **tree,
                                  struct error *err)
{
    struct edge_list list = {0};
    enum status status = STATUS_OK;
    for (int g = 0; !status && g < groups->count && !thread_pool_stopped(pool); g++)
        status = add_path(&list, groups->name[g], err);
    if (!status)
        status = thread_pool_check(pool, err);
    if (!status)
        status = tree_edges((const char *const *)list.parent, (const char *const *)list.child, list.count, tree, err);
    list_close(&list);
    return status;
}

/* ---- the outcome ---------------------------------------------------------------------------------------- */

static bool plain_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

/* Writes a number for each label: its name as a number, or, if the labels are two names, 0 and 1. value:
 * [vocabulary]. */
static enum status values_of_labels(const struct collection *c, double *value, struct error *err)
{
    bool numbers = true;
    for (int i = 0; i < c->vocabulary.count; i++)
        numbers = numbers && plain_number(c->vocabulary.name[i], &value[i]);
    if (!numbers && c->vocabulary.count != 2)
        return error_set(err, STATUS_INVALID, NULL,
                         "the labels are %d names, but an outcome must be numbers or exactly two names; change the "
                         "labels or plant an outcome",
                         c->vocabulary.count);
    for (int i = 0; !numbers && i < 2; i++)
        value[i] = i;
    return STATUS_OK;
}

static enum status read_labels(const struct collection *c, struct environments *e, struct error *err)
{
    double *value = malloc((size_t)c->vocabulary.count * sizeof *value + 1);
    enum status status = value ? values_of_labels(c, value, err) : environments_no_memory(err);
    for (int i = 0; !status && i < e->rows; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): label exists when status is OK */
        e->y[i] = (float)value[c->label[i]];
    free(value);
    return status;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

static enum status take_names(const struct collection *c, int outcome, struct environments *e, struct error *err)
{
    int at = 0;
    e->names = calloc((size_t)e->features + 1, sizeof *e->names);
    if (!e->names)
        return environments_no_memory(err);
    for (int j = 0; j < c->cols; j++) {
        char number[16];
        snprintf(number, sizeof number, "%d", j);
        if (j == outcome)
            continue;
        e->names[at] = strdup(j < c->columns.count ? c->columns.name[j] : number);
        if (!e->names[at++])
            return environments_no_memory(err);
    }
    return STATUS_OK;
}

static void take_rows(const struct collection *c, int outcome, struct thread_pool *pool, struct environments *e)
{
    for (int i = 0; i < e->rows && (i % LOOK_ROWS != 0 || !thread_pool_stopped(pool)); i++) {
        int64_t from = collection_begin(c, i);
        float *to = e->x + (ptrdiff_t)i * e->features;
        for (int j = 0; j < c->cols; j++)
            *(j == outcome ? &e->y[i] : to++) = collection_value(c, from + j);
    }
}

/* Sets the node of each row: the tree has a node for every group. */
static enum status take_nodes(const struct collection *c, const struct tree *tree, struct thread_pool *pool,
                              struct environments *e, struct error *err)
{
    int *of_group = malloc((size_t)c->groups.count * sizeof *of_group);
    if (!of_group)
        return environments_no_memory(err);
    for (int g = 0; g < c->groups.count && !thread_pool_stopped(pool); g++)
        of_group[g] = tree_find(tree, c->groups.name[g]);
    enum status status = thread_pool_check(pool, err);
    for (int i = 0; !status && i < e->rows; i++)
        e->node[i] = of_group[c->group[i]];
    free(of_group);
    return status;
}

static bool states_tests(const struct collection *c)
{
    for (int64_t i = 0; c->part && i < c->count; i++)
        if (c->part[i] == PART_OF_TEST)
            return true;
    return false;
}

static enum status take_tests(const struct collection *c, struct environments *e, struct error *err)
{
    if (!states_tests(c))
        return STATUS_OK;
    e->test = malloc((size_t)e->rows * sizeof *e->test);
    if (!e->test)
        return environments_no_memory(err);
    for (int i = 0; i < e->rows; i++)
        e->test[i] = c->part[i] == PART_OF_TEST;
    return STATUS_OK;
}

static int outcome_column(const struct collection *c)
{
    for (int j = 0; j < c->columns.count; j++)
        if (environments_outcome_name(c->columns.name[j]))
            return j;
    return -1;
}

/* Checks that the data set is a table with groups and, if its labels are the outcome, that they are numbers or two
 * names. */
static enum status environments_read_check(const struct collection *c, bool plant, struct error *err)
{
    if (c->kind != COLLECTION_TABLE)
        return error_set(err, STATUS_INVALID, NULL, "environments need a table, but this data set contains %s",
                         collection_kinds[c->kind]);
    if (!c->group || c->groups.count < 2)
        return error_set(err, STATUS_INVALID, NULL,
                         "the table needs a group column with at least two groups, which are its environments");
    if (c->count > INT32_MAX / 2)
        return error_set(err, STATUS_LIMIT, NULL, "the table has more than 1073741823 rows");
    if (plant || outcome_column(c) >= 0 || c->target != TARGET_CLASS)
        return STATUS_OK;
    double *value = malloc((size_t)c->vocabulary.count * sizeof *value + 1);
    enum status status = value ? values_of_labels(c, value, err) : environments_no_memory(err);
    free(value);
    return status;
}

static enum status environments_read_take(const struct collection *c, const struct environments_reading *r,
                                          struct tree **tree, struct environments **environments, struct error *err)
{
    int outcome = outcome_column(c);
    bool labelled = c->target == TARGET_CLASS, plant = r->plant || (outcome < 0 && !labelled);
    enum status status = environments_read_check(c, plant, err);
    if (status)
        return status;
    status = tree_of_groups(&c->groups, r->pool, tree, err);
    if (!status)
        status = environments_table((int)c->count, c->cols - (outcome >= 0), plant ? r->outcome.latent : 0,
                                    (*tree)->nodes, environments, err);
    if (!status)
        status = take_names(c, outcome, *environments, err);
    if (!status)
        take_rows(c, outcome, r->pool, *environments);
    if (!status && outcome < 0 && !plant)
        status = read_labels(c, *environments, err);
    if (!status)
        status = take_nodes(c, *tree, r->pool, *environments, err);
    if (!status)
        status = take_tests(c, *environments, err);
    return status ? status : environments_finish(*tree, r, *environments, err);
}

static enum status open_upload(const char *folder, struct collection *c, struct error *err)
{
    char path[DATASET_PATH + sizeof COLLECTION_FILE];
    snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
    return collection_open(path, c, err);
}

enum status environments_read(const char *folder, const struct environments_reading *reading, struct tree **tree,
                              struct environments **environments, struct error *err)
{
    struct collection c;
    *environments = NULL;
    *tree = NULL;
    enum status status = open_upload(folder, &c, err);
    if (status)
        return status;
    status = environments_read_take(&c, reading, tree, environments, err);
    collection_close(&c);
    if (status) {
        environments_free(*environments);
        tree_destroy(*tree);
        *environments = NULL;
        *tree = NULL;
    }
    return status;
}

/* Counts the rows, and refuses a table that leaves too few for training or for the test. */
static enum status count_rows(const struct collection *c, double share, bool unseen, struct environments_rows *rows,
                              struct error *err)
{
    int64_t *total = calloc((size_t)c->groups.count, sizeof *total), tests = 0;
    bool stated = states_tests(c);
    if (!total)
        return environments_no_memory(err);
    for (int64_t i = 0; i < c->count; i++) {
        total[c->group[i]]++;
        tests += stated && c->part[i] == PART_OF_TEST;
    }
    for (int g = 0; !stated && g < c->groups.count; g++)
        tests += (int64_t)floor(share * (double)total[g]);
    free(total);
    *rows = (struct environments_rows){c->groups.count, stated, c->count - tests, tests};
    return rows->training >= 2 && (tests > 0 || unseen)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL,
                           "has %lld rows in %d environments, which leaves %lld for training and %lld for the test; "
                           "add rows",
                           (long long)c->count, c->groups.count, (long long)rows->training, (long long)tests);
}

enum status environments_check_upload(const char *folder, bool plant, double test, bool unseen, bool *planted,
                                      struct environments_rows *rows, struct error *err)
{
    struct collection c;
    enum status status = open_upload(folder, &c, err);
    if (status)
        return status;
    status = environments_read_check(&c, plant, err);
    if (!status)
        status = count_rows(&c, test, unseen, rows, err);
    *planted = plant || (outcome_column(&c) < 0 && c.target != TARGET_CLASS);
    collection_close(&c);
    return status;
}
