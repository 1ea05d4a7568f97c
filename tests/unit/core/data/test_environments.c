/* Tests trees, edges that data can tell apart, least squares, identification, simulations and tables. */
#include <math.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/data/trees/environments.h"
#include "core/data/uploads/collection.h"
#include "core/methods/environments/model/least.h"
#include "core/metrics/identify.h"
#include "tests/support/assert_ok.h"
#include "tests/support/stored_set.h"

/* ---- trees -------------------------------------------------------------------------------------------- */

/* The number of edges between a node and the root. */
static int depth_of(const struct tree *tree, int node)
{
    int depth = 0;
    for (; tree->parent[node] >= 0; node = tree->parent[node])
        depth++;
    return depth;
}

static void complete_trees_have_the_right_edges(void **state)
{
    for (int depth = 1; depth <= 7; depth++) {
        struct tree *tree;
        int leaves[256];
        assert_ok(tree_complete(depth, 2, &tree, err));
        assert_int_equal(tree->nodes - 1, (1 << (depth + 1)) - 2);
        int count = tree_leaves(tree, leaves);
        assert_int_equal(count, 1 << depth);
        for (int i = 0; i < count; i++)
            assert_int_equal(depth_of(tree, leaves[i]), depth);
        for (int v = 1; v < tree->nodes; v++)
            assert_true(tree->parent[v] < v);
        tree_destroy(tree);
    }
    struct tree *tree;
    assert_ok(tree_caterpillar(6, &tree, err));
    assert_int_equal(tree_leaves(tree, NULL), 6);
    tree_destroy(tree);
    assert_ok(tree_random(3, 17, &tree, err));
    assert_int_equal(tree_leaves(tree, NULL), 17);
    assert_int_equal(tree->nodes, 33);
    tree_destroy(tree);
}

static void edges_make_a_tree_in_any_order(void **state)
{
    static const char *const parents[] = {"b", "a", "a", "b"}, *const children[] = {"c", "b", "e", "d"};
    struct tree *tree;
    assert_ok(tree_edges(parents, children, 4, &tree, err));
    assert_int_equal(tree->nodes, 5);
    assert_string_equal(tree->names[0], "a");
    assert_int_equal(tree->parent[tree_find(tree, "d")], tree_find(tree, "b"));
    assert_true(tree_find(tree, "e") > 0);
    tree_destroy(tree);
    static const char *const twice[] = {"c", "b", "c", "d"}, *const loop_p[] = {"a", "x", "y"},
                             *const loop_c[] = {"b", "y", "x"}, *const roots_p[] = {"a", "x"},
                             *const roots_c[] = {"b", "y"};
    struct error error = {0};
    assert_int_equal(tree_edges(parents, twice, 4, &tree, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "two parents"));
    assert_int_equal(tree_edges(loop_p, loop_c, 3, &tree, NULL), STATUS_INVALID);
    assert_int_equal(tree_edges(roots_p, roots_c, 2, &tree, NULL), STATUS_INVALID);
}

/* ---- edges --------------------------------------------------------------------------------------------- */

/* The root has the children p and q, p has a and b, q has c and d. */
static struct tree *small_tree(void)
{
    static const char *const parents[] = {"root", "p", "p", "root", "q", "q"}, *const children[] = {"p", "a", "b",
                                                                                                    "q", "c", "d"};
    struct tree *tree;
    assert_ok(tree_edges(parents, children, 6, &tree, err));
    return tree;
}

static void open_edges(const struct tree *tree, const char *seen_names, enum edge_shape shape, bool merge,
                       struct tree_edges *edges)
{
    bool seen[8] = {false};
    for (const char *c = seen_names; *c; c++)
        seen[tree_find(tree, (char[]){*c, 0})] = true;
    assert_ok(tree_edges_create(tree, seen, shape, merge, edges, err));
}

static void edges_are_those_that_data_can_distinguish(void **state)
{
    struct tree *tree = small_tree();
    struct tree_edges edges;
    int p = tree_find(tree, "p"), q = tree_find(tree, "q"), a = tree_find(tree, "a"), b = tree_find(tree, "b"),
        c = tree_find(tree, "c"), d = tree_find(tree, "d");
    open_edges(tree, "abcd", EDGES_TREE, false, &edges);
    assert_int_equal(edges.count, 6);
    tree_edges_close(&edges);
    /* an unrooted binary tree with 4 leaves has 2 * 4 - 3 edges */
    open_edges(tree, "abcd", EDGES_TREE, true, &edges);
    assert_int_equal(edges.count, 5);
    assert_int_equal(edges.edge[p], edges.edge[q]);
    assert_true(edges.share[p] + edges.share[q] == 0 && edges.share[q] == 0.5F);
    const double by_node[7] = {0, 1, 10, 100, 1000, 10000, 100000};
    double by_edge[5], truth[7] = {0};
    for (int v = 1; v < 7; v++)
        truth[v] = by_node[v];
    tree_edges_gather(&edges, truth, 1, by_edge);
    assert_true(by_edge[edges.edge[q]] == truth[q] - truth[p] && by_edge[edges.edge[d]] == truth[d]);
    tree_edges_close(&edges);
    /* node d has no data, so data cannot tell the edges of the nodes c, q and p apart */
    open_edges(tree, "abc", EDGES_TREE, true, &edges);
    assert_int_equal(edges.count, 3);
    assert_true(edges.edge[d] == -1 && edges.edge[c] == edges.edge[q] && edges.edge[q] == edges.edge[p]);
    assert_true(fabsf(edges.share[c] - 1 / 3.0F) < 1e-6F && fabsf(edges.share[p] + 1 / 3.0F) < 1e-6F);
    tree_edges_close(&edges);
    /* only a and b have data, so data cannot distinguish the root from their parent p */
    open_edges(tree, "ab", EDGES_TREE, true, &edges);
    assert_true(edges.count == 1 && edges.edge[p] == -1 && edges.edge[a] == edges.edge[b] && edges.edge[q] == -1);
    tree_edges_close(&edges);
    open_edges(tree, "abc", EDGES_STAR, true, &edges);
    assert_true(edges.count == 3 && !edges.based && edges.offset == 1);
    float heads[3] = {3, 6, 9}, w[7];
    const struct weight changes = {.value = heads, .count = 3};
    tree_edges_weights(&edges, NULL, &changes, 1, w);
    /* node d and the root (node 0) have no data, so they get the mean */
    assert_true(w[a] + w[b] + w[c] == 18 && w[d] == 6 && w[0] == 6);
    tree_edges_close(&edges);
    tree_destroy(tree);
}

/* On rows without noise, the refit recovers the true weights if the given support contains theirs. */
static void a_refit_without_noise_is_exact(void **state)
{
    struct tree *tree = small_tree();
    struct tree_edges edges;
    struct least_sums sums;
    open_edges(tree, "abcd", EDGES_TREE, true, &edges);
    float base[2] = {0, 0}, change[10], w[14], truth_base[2] = {1, -2}, truth_change[10] = {0};
    struct weight b = {.value = base, .count = 2}, ch = {.value = change, .count = 10};
    const struct weight tb = {.value = truth_base, .count = 2}, tc = {.value = truth_change, .count = 10};
    truth_change[0] = 3;
    truth_change[5] = -1.5F;
    for (int i = 0; i < 10; i++)
        change[i] = i % 2 == 0 || truth_change[i] != 0 ? 0.1F : 0; /* some of these entries are 0 in truth_change */
    tree_edges_weights(&edges, &tb, &tc, 2, w);
    assert_ok(least_sums_create(7, 2, &sums, err));
    for (int v = 0; v < 7; v++)
        for (int i = 0; i < 20 && edges.seen[v]; i++) {
            float z[2] = {(float)sin(3.1 * i + v), (float)cos(2.3 * i * v + 1)};
            least_sums_add(&sums, v, z, w[v * 2] * z[0] + w[v * 2 + 1] * z[1]);
        }
    assert_ok(least_refit(&edges, &sums, &b, &ch, NULL, err));
    assert_true(fabsf(base[0] - 1) < 1e-4F && fabsf(base[1] + 2) < 1e-4F);
    for (int i = 0; i < 10; i++)
        assert_true(fabsf(change[i] - truth_change[i]) < 1e-4F);
    least_sums_close(&sums);
    tree_edges_close(&edges);
    tree_destroy(tree);
}

static void a_change_is_found_from_few_rows(void **state)
{
    enum { ROWS = 30, K = 4 };
    float z[ROWS * K], y[ROWS];
    const float w[K] = {1, 2, 3, 4};
    double d[K], before = INFINITY;
    for (int i = 0; i < ROWS; i++) {
        y[i] = 0;
        for (int c = 0; c < K; c++) {
            z[i * K + c] = (float)sin(1.3 * i * (c + 1) + c);
            y[i] += (w[c] + (c == 2 ? -1.25F : 0)) * z[i * K + c];
        }
    }
    least_change(z, y, ROWS, K, w, 0, NULL, d);
    for (int c = 0; c < K; c++)
        assert_true(fabs(d[c] - (c == 2 ? -1.25 : 0)) < 1e-5);
    /* a larger penalty gives a smaller change; a very large one gives no change at all */
    for (double penalty = 0.05; penalty < 0.5; penalty *= 2) {
        least_change(z, y, ROWS, K, w, penalty, NULL, d);
        assert_true(d[2] < 0 && fabs(d[2]) < before);
        before = fabs(d[2]);
    }
    least_change(z, y, ROWS, K, w, 100, NULL, d);
    for (int c = 0; c < K; c++)
        assert_true(d[c] == 0);
}

/* ---- identification ----------------------------------------------------------------------------------- */

static void mcc_ignores_permutation_and_scale(void **state)
{
    enum { ROWS = 500, K = 3 };
    static float truth[ROWS * K], codes[ROWS * K], mixed[ROWS * K], wide[ROWS * 5];
    int match[K];
    double mcc, r2;
    for (int i = 0; i < ROWS * K; i++)
        truth[i] = (float)sin(1.7 * i * i + 0.3 * i);
    for (int i = 0; i < ROWS; i++) {
        const float *t = truth + i * K;
        codes[i * K] = -3 * t[2] + 1;
        codes[i * K + 1] = 0.5F * t[0];
        codes[i * K + 2] = t[1] - 7;
        for (int c = 0; c < K; c++)
            mixed[i * K + c] = t[0] + t[1] * (float)(c == 1) - t[2] * (float)(c == 2) + 0.2F * t[(c + 1) % K];
        for (int c = 0; c < 5; c++)
            wide[i * 5 + c] = c < 3 ? mixed[i * K + c] : c == 3 ? 2.0F : t[1];
    }
    assert_ok(identify_mcc(truth, K, codes, K, ROWS, match, &mcc, NULL, err));
    assert_true(fabs(mcc - 1) < 1e-6 && match[0] == 1 && match[1] == 2 && match[2] == 0);
    assert_ok(identify_mcc(truth, K, mixed, K, ROWS, NULL, &mcc, NULL, err));
    assert_true(mcc < 0.95);
    assert_ok(identify_linear_r2(truth, K, mixed, K, ROWS, &r2, NULL, err));
    assert_true(fabs(r2 - 1) < 1e-5);
    assert_ok(identify_linear_r2(truth, K, codes, K, ROWS, &r2, NULL, err));
    assert_true(fabs(r2 - 1) < 1e-5);
    assert_ok(identify_mcc(truth, K, wide, 5, ROWS, match, &mcc, NULL, err));
    assert_int_equal(match[1], 4);
    /* one code can match only one of the three variables, so the mean correlation is at most 1/3 */
    assert_ok(identify_mcc(truth, K, truth, 1, ROWS, match, &mcc, NULL, err));
    assert_true(mcc <= 1.0 / 3 + 1e-6);
}

static void symmetric_systems_are_solved(void **state)
{
    double a[6] = {4, 1, 3, 0, 1, 2}, b[6] = {6, 10, 8, 4, 1, 0};
    solve_symmetric(a, 3, b, 2, NULL);
    const double x[6] = {1, 2, 3, 1, 0, 0};
    for (int i = 0; i < 6; i++)
        assert_true(fabs(b[i] - x[i]) < 1e-12);
    double singular[3] = {1, 1, 1}, c[2] = {2, 2};
    solve_symmetric(singular, 2, c, 1, NULL);
    assert_true(fabs(c[0] + c[1] - 2) < 1e-9);
}

static bool at_once(void *context)
{
    return true;
}

static void a_stopped_pool_ends_the_computation_of_metrics(void **state)
{
    enum { ROWS = 200, K = 3 };
    static float x[ROWS * K];
    double value, a[3] = {4, 1, 3}, b[2] = {1, 2}, d[K] = {0};
    struct thread_pool *pool;
    for (int i = 0; i < ROWS * K; i++)
        x[i] = (float)sin(1.7 * i * i);
    assert_ok(thread_pool_create(1, &pool, err));
    thread_pool_stop_when(pool, at_once, NULL);
    assert_int_equal(identify_mcc(x, K, x, K, ROWS, NULL, &value, pool, NULL), STATUS_CANCELLED);
    assert_int_equal(identify_linear_r2(x, K, x, K, ROWS, &value, pool, NULL), STATUS_CANCELLED);
    solve_symmetric(a, 2, b, 1, pool);
    assert_true(b[0] == 1 && b[1] == 2);
    least_change(x, x, ROWS, K, x, 0.1, pool, d);
    assert_true(d[0] == 0 && d[1] == 0 && d[2] == 0);
    thread_pool_destroy(pool);
}

/* ---- simulation --------------------------------------------------------------------------------------- */

static void simulations_follow_their_definition(void **state)
{
    struct tree *tree;
    int leaves[64];
    const struct environments_outcome o = {7, 6, 2, 0, 0.1}, dense = {7, 6, 1, 0.5, 0.1};
    assert_ok(tree_complete(5, 2, &tree, err));
    int count = tree_leaves(tree, leaves);
    for (int psi = PSI_LINEAR; psi <= PSI_TANH; psi++) {
        struct environments *e, *again, *part;
        assert_ok(
            environments_simulate(tree, &o, (enum environments_psi)psi, 10, leaves, count, 300, 0, NULL, &e, err));
        assert_ok(
            environments_simulate(tree, &o, (enum environments_psi)psi, 10, leaves + 3, 1, 20, 0, NULL, &part, err));
        assert_ok(
            environments_simulate(tree, &o, (enum environments_psi)psi, 10, leaves, count, 300, 1, NULL, &again, err));
        assert_memory_equal(part->x, e->x + 3 * 300 * 10,
                            20 * 10 * sizeof(float)); /* a row depends only on its node and its index in the node */
        assert_memory_not_equal(again->x, e->x, 100 * sizeof(float));
        assert_memory_equal(again->weights, e->weights, 63 * 6 * sizeof(double));
        double miss = 0;
        for (int c = 0; c < 6; c++) {
            double squares = 0;
            for (int i = 0; i < e->rows; i++)
                squares += (double)e->z[i * 6 + c] * (double)e->z[i * 6 + c] / e->rows;
            assert_true(fabs(squares - 1) < 0.08);
        }
        for (int i = 0; i < e->rows; i++) {
            double y = (double)e->y[i];
            for (int c = 0; c < 6; c++)
                y -= e->weights[e->node[i] * 6 + c] * (double)e->z[i * 6 + c];
            miss += y * y / e->rows;
        }
        assert_true(fabs(miss - 0.01) < 0.001);
        environments_free(e);
        environments_free(again);
        environments_free(part);
    }
    struct environments *e;
    int changed = 0;
    assert_ok(environments_simulate(tree, &o, PSI_LINEAR, 10, leaves, count, 2, 0, NULL, &e, err));
    for (int v = 1; v < tree->nodes; v++) {
        int here = 0;
        for (int c = 0; c < 6; c++) {
            here += e->changes[v * 6 + c] != 0;
            assert_true(fabs(e->weights[v * 6 + c] - e->weights[tree->parent[v] * 6 + c] - e->changes[v * 6 + c]) <
                        1e-12);
        }
        assert_int_equal(here, 2);
    }
    environments_free(e);
    assert_ok(environments_simulate(tree, &dense, PSI_LINEAR, 10, leaves, count, 2, 0, NULL, &e, err));
    for (int i = 6; i < 63 * 6; i++)
        changed += e->changes[i] != 0;
    assert_true(changed > 140 && changed < 232); /* about half of the 372 weights are expected to change */
    environments_free(e);
    tree_destroy(tree);
}

/* ---- tables ------------------------------------------------------------------------------------------- */

static void put(const char *folder, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
    unlink(path);
    rmdir(folder);
    if (text)
        assert_ok(stored_set(folder, "csv", text, err));
}

static void uploads_are_read(void **state)
{
    char root[64] = "/tmp/motif-tree-XXXXXX", folder[96];
    struct tree *tree;
    struct environments *e;
    struct environments_reading r = {2, false, true, NULL, {1, 2, 1, 0, 0.1}, NULL};
    assert_non_null(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/set", root);
    put(folder, "group,flat,high,low,mid\nab/a,1,0,1,5\nab/b,1,100,2,1\nab/a,1,20,1,9\n");
    assert_ok(environments_read(folder, &r, &tree, &e, err));
    assert_true(e->rows == 3 && e->features == 2 && e->latent == 2 && !e->labels && tree->nodes == 4);
    assert_string_equal(e->names[0], "high");
    assert_int_equal(e->node[0], tree_find(tree, "ab/a"));
    assert_int_equal(e->node[1], tree_find(tree, "ab/b"));
    double a = log1p(0), b = log1p(100), c = log1p(20), mean = (a + b + c) / 3;
    double sd = sqrt(((a - mean) * (a - mean) + (b - mean) * (b - mean) + (c - mean) * (c - mean)) / 3);
    assert_true(fabs((double)e->x[0] - (a - mean) / sd) < 1e-5); /* counts become log(1 + x) */
    environments_free(e);
    tree_destroy(tree);
    /* a column is the outcome */
    put(folder, "group,resistant,f0,f1\na/1.5,0,0.5,3\na/2.5,1,1,2\n3.5,1,2,2\n");
    assert_ok(environments_read(folder, &r, &tree, &e, err));
    assert_true(e->rows == 3 && e->features == 2 && e->labels && e->latent == 0);
    assert_true(e->y[0] < 0.5F && e->y[2] > 0.5F);
    assert_string_equal(tree->names[e->node[1]], "a/2.5");
    environments_free(e);
    tree_destroy(tree);
    put(folder, "f0,f1\n0.5,3\n1,2\n"); /* no groups */
    assert_int_equal(environments_read(folder, &r, &tree, &e, NULL), STATUS_INVALID);
    assert_true(!tree && !e);
    put(folder, NULL);
    assert_int_equal(environments_read(folder, &r, &tree, &e, NULL), STATUS_NOT_FOUND);
    rmdir(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complete_trees_have_the_right_edges),
        cmocka_unit_test(edges_make_a_tree_in_any_order),
        cmocka_unit_test(edges_are_those_that_data_can_distinguish),
        cmocka_unit_test(a_refit_without_noise_is_exact),
        cmocka_unit_test(a_change_is_found_from_few_rows),
        cmocka_unit_test(mcc_ignores_permutation_and_scale),
        cmocka_unit_test(symmetric_systems_are_solved),
        cmocka_unit_test(a_stopped_pool_ends_the_computation_of_metrics),
        cmocka_unit_test(simulations_follow_their_definition),
        cmocka_unit_test(uploads_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
