/* Compares gradients with central differences: those of linear heads for the nodes of a tree (op_tree_heads), and those
 * of the operation that scales columns to unit variance (op_unit_columns). */
#include "tests/unit/core/gradient.h"

#include <math.h>

#include "tests/support/unit.h"

struct heads_case {
    struct weight *base, *changes, *deviation;
    const struct tree_heads *heads;
    const int32_t *node;
};

static struct tensor *build_heads(struct probe *p, const void *context)
{
    const struct heads_case *c = context;
    return op_tree_heads(&p->exec, probe_input(p, 0), c->node, c->base, c->changes, c->heads);
}

static struct tensor *build_unit(struct probe *p, const void *context)
{
    const struct heads_case *c = context;
    return op_unit_columns(&p->exec, probe_input(p, 0), c->deviation);
}

static struct tensor *build_both(struct probe *p, const void *context)
{
    const struct heads_case *c = context;
    struct tensor *z = op_unit_columns(&p->exec, probe_input(p, 0), c->deviation);
    return op_tree_heads(&p->exec, op_add(&p->exec, z, z), c->node, c->base, c->changes, c->heads);
}

/* Nodes 1 and 2 share a row of `changes`, with opposite signs; node 5 has no row, so its head equals its parent's. */
static void tree_gradients_match_differences(void **state)
{
    static const int parent[] = {-1, 0, 0, 1, 1, 3}, edge[] = {-1, 0, 0, 1, 2, -1};
    static const real share[] = {1, R(-0.5), R(0.5), 1, R(0.25), 1};
    static const int32_t node[] = {3, 4, 2, 5, 0, 3, 1, 4, 2, 5, 5};
    const struct tree_heads heads = {6, parent, edge, share};
    probe_build *const builds[] = {build_heads, build_unit, build_both, build_heads, build_heads};
    for (int i = 0; i < 5; i++) {
        struct probe p;
        probe_open(&p, 2, "ref");
        probe_rows(&p, 11, 4, 1.0);
        struct heads_case c = {.heads = &heads, .node = node};
        c.base = i == 1 || i == 3 ? NULL : probe_vector(&p, 4, 1.0);
        c.changes = i == 1 ? NULL : probe_matrix(&p, 3, 4, 1.0);
        probe_check(&p, builds[i], &c, 1e-6);
        probe_close(&p);
    }
}

static void head_of_a_node_sums_the_changes_on_its_path(void **state)
{
    static const int parent[] = {-1, 0, 0, 2}, edge[] = {-1, 0, 0, 1};
    static const real share[] = {0, R(-0.5), R(0.5), 1};
    const struct tree_heads heads = {4, parent, edge, share};
    real base[2] = {1, 2}, change[4] = {2, 0, 0, 10}, w[8];
    const struct weight b = {.value = base, .count = 2}, c = {.value = change, .count = 4};
    tree_heads_expand(&heads, &b, &c, 2, w);
    const double expected[8] = {1, 2, 0, 2, 2, 2, 2, 12};
    for (int i = 0; i < 8; i++)
        assert_true(fabs((double)w[i] - expected[i]) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_gradients_match_differences),
        cmocka_unit_test(head_of_a_node_sums_the_changes_on_its_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
