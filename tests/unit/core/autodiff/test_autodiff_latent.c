/* Compares the operations of latent variable models with central differences and with their formulas. */
#include "tests/unit/core/gradient.h"

#include <math.h>

#include "tests/support/unit.h"

#define TOLERANCE 1e-6

struct latent_case {
    struct weight *w, *a, *b2m, *b2, *v, *c, *log_sigma;
    const int32_t *features, *latent;
    int count;
    const real *x, *coefficient;
    int which, power;
    int64_t first;
};

static real data[64 * 64];

static void fill_counts(int count)
{
    for (int i = 0; i < count; i++)
        data[i] = (real)((i * 7 + i / 3) % 4);
}

/* ---- latent variables --------------------------------------------------------------------------------- */

static struct tensor *build_sample(struct probe *p, const void *context)
{
    const struct latent_case *c = context;
    return op_gaussian_sample(&p->exec, probe_input(p, 0), probe_input(p, 1), c->first);
}

static struct tensor *build_kl(struct probe *p, const void *context)
{
    return op_gaussian_kl(&p->exec, probe_input(p, 0), probe_input(p, 1), 0.37);
}

/* Both operations read the same mean and log variance, so their gradients must be added. */
static struct tensor *build_both(struct probe *p, const void *context)
{
    struct tensor *mean = probe_input(p, 0), *log_variance = probe_input(p, 1);
    struct tensor *z = op_gaussian_sample(&p->exec, mean, log_variance, 0);
    return op_add(&p->exec, op_mean(&p->exec, z), op_gaussian_kl(&p->exec, mean, log_variance, 0.1));
}

static void gaussian_gradients_match_differences(void **state)
{
    probe_build *const builds[] = {build_sample, build_kl, build_both};
    for (int i = 0; i < 3; i++) {
        struct probe p;
        struct latent_case c = {.first = 3};
        probe_open(&p, 2, "ref");
        probe_rows(&p, 9, 5, 1.0);
        probe_rows(&p, 9, 5, 1.0);
        probe_check(&p, builds[i], &c, TOLERANCE);
        probe_close(&p);
    }
}

/* A row gets the same noise when it is in a piece of a batch as when it is in the whole batch. The noise has the
 * requested mean and variance. */
static void noise_depends_on_the_row_of_the_whole_batch(void **state)
{
    enum { ROWS = 4000, COLS = 3 };
    static real mean[ROWS * COLS], log_variance[ROWS * COLS];
    struct probe p;
    double sum = 0, squares = 0;
    probe_open(&p, 2, "ref");
    for (int i = 0; i < ROWS * COLS; i++) {
        mean[i] = R(0.5);
        log_variance[i] = (real)(2 * log(0.3));
    }
    exec_begin(&p.exec, true, 4);
    struct tensor *all = op_gaussian_sample(&p.exec, tensor_wrap_rows(&p.exec, mean, ROWS, COLS, true),
                                            tensor_wrap_rows(&p.exec, log_variance, ROWS, COLS, true), 0);
    real *copy = malloc(sizeof *copy * ROWS * COLS);
    assert_non_null(all);
    memcpy(copy, all->data, sizeof *copy * ROWS * COLS);
    for (int i = 0; i < ROWS * COLS; i++) {
        sum += copy[i];
        squares += (copy[i] - 0.5) * (copy[i] - 0.5);
    }
    assert_true(fabs(sum / (ROWS * COLS) - 0.5) < 0.01 && fabs(sqrt(squares / (ROWS * COLS)) - 0.3) < 0.01);
    exec_begin(&p.exec, false, 4);
    struct tensor *tail = op_gaussian_sample(&p.exec, tensor_wrap_rows(&p.exec, mean, 10, COLS, true),
                                             tensor_wrap_rows(&p.exec, log_variance, 10, COLS, true), 700);
    assert_non_null(tail);
    assert_memory_equal(tail->data, copy + 700 * COLS, sizeof *copy * 10 * COLS);
    free(copy);
    probe_close(&p);
}

/* ---- spikes ----------------------------------------------------------------------------------------- */

static struct tensor *build_gate(struct probe *p, const void *context)
{
    struct tensor *odds = op_spike_odds(&p->exec, probe_input(p, 1));
    return op_spike_gate(&p->exec, probe_input(p, 0), odds, 10, 2);
}

static struct tensor *build_warm(struct probe *p, const void *context)
{
    return op_spike_warm(&p->exec, probe_input(p, 0), 0.3);
}

static void warm_up_gradients_match_differences(void **state)
{
    struct probe p;
    probe_open(&p, 1, "ref");
    probe_rows(&p, 3, 4, 2.0);
    probe_check(&p, build_warm, NULL, TOLERANCE);
    probe_close(&p);
}

static struct tensor *build_softmax(struct probe *p, const void *context)
{
    return op_softmax_rows(&p->exec, probe_input(p, 0));
}

/* Builds the KL divergence between the codes of rows and the prior, which consists of the codes of pseudo-inputs. A
 * code has a mean, a log variance and odds. Three linear layers compute these from one input. */
static struct tensor *build_spikes(struct probe *p, const void *context)
{
    const struct latent_case *c = context;
    struct exec *e = &p->exec;
    struct tensor *pseudo = op_weight_rows(e, c->v), *x = probe_input(p, 0);
    struct spike_code of = {op_linear(e, x, c->w, NULL, false, 0), op_linear(e, x, c->a, NULL, false, 0),
                            op_spike_odds(e, op_linear(e, x, c->b2m, c->b2, false, 0))};
    struct spike_code prior = {op_linear(e, pseudo, c->w, NULL, false, 0), op_linear(e, pseudo, c->a, NULL, false, 0),
                               op_spike_odds(e, op_linear(e, pseudo, c->b2m, c->b2, false, 0))};
    struct tensor *kl = op_spike_kl(e, &of, &prior, op_softmax_rows(e, probe_input(p, 1)), c->which == 1, 0.2);
    return op_add(e, kl, op_rate_kl(e, prior.odds, 0.05, 0.7));
}

static void spike_gradients_match_differences(void **state)
{
    struct probe p;
    for (int printed = 0; printed < 2; printed++) {
        struct latent_case c = {.which = printed};
        probe_open(&p, 2, "ref");
        probe_rows(&p, 7, 6, 1.0);
        probe_rows(&p, 7, 3, 1.0);
        c.v = probe_matrix(&p, 3, 6, 1.0);
        c.w = probe_matrix(&p, 4, 6, 1.0);
        c.a = probe_matrix(&p, 4, 6, 0.5);
        c.b2m = probe_matrix(&p, 4, 6, 0.3);
        c.b2 = probe_vector(&p, 4, 0.1);
        for (int k = 0; k < 4; k++)
            c.b2->value[k] -= R(2.0); /* moves the point away from where the function is not differentiable */
        probe_check(&p, build_spikes, &c, TOLERANCE);
        probe_close(&p);
    }
    probe_open(&p, 2, "ref");
    probe_rows(&p, 9, 5, 1.0);
    probe_rows(&p, 9, 5, 1.0);
    probe_check(&p, build_gate, NULL, TOLERANCE);
    probe_close(&p);
    probe_open(&p, 2, "ref");
    probe_rows(&p, 9, 5, 1.0);
    probe_check(&p, build_softmax, NULL, TOLERANCE);
    probe_close(&p);
}

/* The divergence of a code from itself is 0. At another point, the test compares the divergence with the formula. */
static void spike_divergence_equals_its_formula(void **state)
{
    static real m[] = {R(0.3)}, l[] = {R(-0.4)}, g[] = {R(0.2)}, pm[] = {R(-0.1)}, pl[] = {R(0.6)}, pg[] = {R(0.5)};
    static real one[] = {R(1.0)};
    struct probe p;
    probe_open(&p, 1, "ref");
    exec_begin(&p.exec, false, 0);
    struct exec *e = &p.exec;
    struct spike_code a = {tensor_wrap_rows(e, m, 1, 1, false), tensor_wrap_rows(e, l, 1, 1, false),
                           tensor_wrap_rows(e, g, 1, 1, false)};
    struct spike_code b = {tensor_wrap_rows(e, pm, 1, 1, false), tensor_wrap_rows(e, pl, 1, 1, false),
                           tensor_wrap_rows(e, pg, 1, 1, false)};
    struct tensor *all = tensor_wrap_rows(e, one, 1, 1, false);
    double spike = 0.8 * log(0.8 / 0.5) + 0.2 * log(0.2 / 0.5);
    double slab = 0.5 + (exp(-0.4) + 0.16) / (2 * exp(0.6)) - 0.5;
    double printed = 0.2 * 0 + (exp(-0.2) + 0.16) / exp(0.3);
    assert_true(fabs((double)op_spike_kl(e, &a, &a, all, false, 1)->data[0]) < 1e-12);
    assert_true(fabs((double)op_spike_kl(e, &a, &b, all, false, 1)->data[0] - 0.2 * slab - spike) < 1e-12);
    assert_true(fabs((double)op_spike_kl(e, &a, &b, all, true, 1)->data[0] - printed - spike) < 1e-12);
    assert_true(fabs((double)op_rate_kl(e, b.odds, 0.5, 3)->data[0]) < 1e-12);
    probe_close(&p);
}

/* ---- masked decoder ----------------------------------------------------------------------------------- */

static const int32_t chosen[] = {5, 0, 3};

static struct tensor *build_mask(struct probe *p, const void *context)
{
    const struct latent_case *c = context;
    return op_mask_rows(&p->exec, probe_input(p, 0), c->w, c->features, c->count);
}

static void mask_gradients_match_differences(void **state)
{
    for (int some = 0; some < 2; some++) {
        struct probe p;
        struct latent_case c = {.features = some ? chosen : NULL, .count = some ? 3 : 7};
        probe_open(&p, 2, "ref");
        probe_rows(&p, 9, 4, 1.0);
        c.w = probe_matrix(&p, 7, 4, 1.0);
        probe_check(&p, build_mask, &c, TOLERANCE);
        probe_close(&p);
    }
}

static struct tensor *build_head(struct probe *p, const void *context)
{
    static const int32_t some[] = {1, 4};
    const struct latent_case *c = context;
    return op_feature_head(&p->exec, probe_input(p, 0), 6, c->which ? some : NULL, c->which ? 2 : 5, c->v, c->c);
}

static void head_gradients_match_differences(void **state)
{
    for (int which = 0; which < 2; which++) {
        struct probe p;
        struct latent_case c = {.which = which};
        probe_open(&p, 2, "ref");
        /* in the first case, each row of the tensor contains 5 rows of 19 values */
        probe_rows(&p, which ? 12 : 6, which ? 19 : 5 * 19, 1.0);
        c.v = probe_matrix(&p, 5, 19, 1.0);
        c.c = probe_vector(&p, 5, 1.0);
        probe_check(&p, build_head, &c, TOLERANCE);
        probe_close(&p);
    }
}

/* Features 0 and 6 depend on no latent variable, features 2 and 5 on latent variable 0, feature 3 on latent variable 2,
 * and features 4, 7 and 8 on two latent variables. Feature 1 is left out. */
static const int32_t few[] = {0, 6, 2, 5, 3, 7, 8, 4};
static const struct arc_group few_groups[] = {
    {{-1, -1}, 0, 2}, {{0, -1}, 2, 2}, {{2, -1}, 4, 1}, {{0, 2}, 5, 2}, {{2, 1}, 7, 1}};
enum { FEW = 8, FEW_GROUPS = 5, FEW_ALL = 9 };

static struct tensor *build_arcs(struct probe *p, const void *context)
{
    const struct latent_case *c = context;
    struct arc_layers layers = {c->w, c->a, c->b2m, c->b2, c->v, c->c};
    return op_arc_head(&p->exec, probe_input(p, 0), &layers, few, few_groups, FEW_GROUPS);
}

/* Computes the values of op_arc_head() with the operations of the whole decoder, as a reference. */
static struct tensor *build_through(struct probe *p, const void *context)
{
    static real zeros[64];
    static struct weight none;
    const struct latent_case *c = context;
    struct exec *e = &p->exec;
    none = (struct weight){.value = zeros, .rank = 1, .dim = {c->a->dim[0]}, .count = (size_t)c->a->dim[0]};
    struct tensor *u = op_mask_rows(e, probe_input(p, 0), c->w, few, FEW);
    struct tensor *h = op_linear(e, op_linear(e, u, c->a, &none, true, 0.0), c->b2m, c->b2, true, 0.0);
    return op_feature_head(e, h, probe_input(p, 0)->rows, few, FEW, c->v, c->c);
}

/* Compares values for every kernel table, and gradients for a few shapes. */
static void arc_head_equals_the_whole_decoder(void **state)
{
    static const int units[] = {1, 2, 20, 37};
    for (size_t n = 0; n < sizeof units / sizeof units[0]; n++) {
        struct probe p;
        struct latent_case c = {0};
        probe_open(&p, 2, "ref");
        probe_rows(&p, 11, 3, 1.0);
        c.w = probe_matrix(&p, FEW_ALL, 3, 1.0);
        c.a = probe_matrix(&p, units[n], 3, 1.0);
        c.b2m = probe_matrix(&p, 18, units[n], 0.5);
        c.b2 = probe_vector(&p, 18, 0.5);
        c.v = probe_matrix(&p, FEW_ALL, 18, 1.0);
        c.c = probe_vector(&p, FEW_ALL, 1.0);
        for (int g = 0; g < FEW_GROUPS; g++)
            for (int f = 0; f < few_groups[g].count; f++)
                for (int k = 0; k < 3; k++)
                    if (k != few_groups[g].latent[0] && k != few_groups[g].latent[1])
                        c.w->value[few[few_groups[g].first + f] * 3 + k] = 0;
        exec_begin(&p.exec, false, 0);
        struct tensor *fast = build_arcs(&p, &c), *whole = build_through(&p, &c);
        assert_non_null(fast);
        assert_non_null(whole);
        for (size_t i = 0; i < whole->count; i++)
            assert_true(fabs((double)(whole->data[i] - fast->data[i])) < 1e-12);
        probe_check(&p, build_arcs, &c, TOLERANCE);
        probe_close(&p);
    }
}

static struct tensor *build_known(struct probe *p, const void *context)
{
    static const real gradient[] = {R(0.5), R(-2.0), R(3.0), R(0.0)};
    struct tensor *x = probe_input(p, 0);
    double value = 0;
    for (int i = 0; i < 4; i++)
        value += (double)(x->data[i] * gradient[i]);
    return op_known(&p->exec, x, value, gradient);
}

static void known_loss_passes_its_gradient(void **state)
{
    struct probe p;
    probe_open(&p, 1, "ref");
    probe_rows(&p, 2, 2, 1.0);
    probe_check(&p, build_known, NULL, TOLERANCE);
    probe_close(&p);
}

/* ---- losses ----------------------------------------------------------------------------------------- */

static struct tensor *build_loss(struct probe *p, const void *context)
{
    const struct latent_case *c = context;
    struct tensor *y = probe_input(p, 0);
    if (c->which == 0)
        return op_gaussian_loss(&p->exec, y, c->x, c->log_sigma, 0.3);
    if (c->which == 1)
        return op_multinomial_loss(&p->exec, y, c->x, 1e-3, 0.3);
    return op_bernoulli_loss(&p->exec, y, c->x, 1e-3, 0.3);
}

static void likelihood_gradients_match_differences(void **state)
{
    fill_counts(64 * 64);
    for (int which = 0; which < 3; which++) {
        struct probe p;
        struct latent_case c = {.which = which, .x = data};
        probe_open(&p, 2, "ref");
        probe_rows(&p, 11, 8, 1.0);
        if (which == 0)
            c.log_sigma = probe_vector(&p, 8, 0.5);
        for (int i = 0; which == 2 && i < 88; i++)
            data[i] = (real)(i % 3 == 0);
        probe_check(&p, build_loss, &c, TOLERANCE);
        probe_close(&p);
    }
}

/* Compares each likelihood with its formula at one point. */
static void likelihoods_equal_their_formulas(void **state)
{
    static const real x[] = {1, 0, 2};
    static real y[] = {R(0.1), R(-0.4), R(0.7)}, log_sigma[] = {R(0.0), R(0.5), R(-0.5)};
    struct probe p;
    struct weight sigma = {.value = log_sigma, .rank = 1, .dim = {3}, .count = 3};
    double total = exp(0.1) + exp(-0.4) + exp(0.7), gaussian = 0;
    probe_open(&p, 1, "ref");
    exec_begin(&p.exec, false, 0);
    struct tensor *t = tensor_wrap_rows(&p.exec, y, 1, 3, false);
    for (int j = 0; j < 3; j++)
        gaussian += 0.5 * pow((double)(x[j] - y[j]) / exp((double)log_sigma[j]), 2);
    assert_true(fabs((double)op_gaussian_loss(&p.exec, t, x, &sigma, 2.0)->data[0] - 2 * gaussian) < 1e-12);
    double multinomial = -log(exp(0.1) / total + 1e-6) - 2 * log(exp(0.7) / total + 1e-6);
    assert_true(fabs((double)op_multinomial_loss(&p.exec, t, x, 1e-6, 1.0)->data[0] - multinomial) < 1e-9);
    assert_true(fabs((double)op_sigma_prior(&p.exec, &sigma, 3.0, 0.25)->data[0] - 0.25 * (1 + exp(-1.0) + exp(1.0))) <
                1e-12);
    probe_close(&p);
}

static struct tensor *build_penalty(struct probe *p, const void *context)
{
    const struct latent_case *c = context;
    struct tensor *one = op_weight_penalty(&p->exec, c->w, c->coefficient, c->power, 0.7);
    return op_add(&p->exec, one, op_sigma_prior(&p->exec, c->log_sigma, 0.9, 0.2));
}

static void penalty_gradients_match_differences(void **state)
{
    for (int i = 0; i < 64; i++)
        data[i] = (real)(0.1 * i);
    for (int power = 1; power <= 2; power++)
        for (int weighed = 0; weighed < 2; weighed++) {
            struct probe p;
            struct latent_case c = {.power = power, .coefficient = weighed ? data : NULL};
            probe_open(&p, 1, "ref");
            c.w = probe_matrix(&p, 6, 4, 1.0);
            c.log_sigma = probe_vector(&p, 6, 0.5);
            probe_check(&p, build_penalty, &c, TOLERANCE);
            probe_close(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaussian_gradients_match_differences),
        cmocka_unit_test(noise_depends_on_the_row_of_the_whole_batch),
        cmocka_unit_test(spike_gradients_match_differences),
        cmocka_unit_test(spike_divergence_equals_its_formula),
        cmocka_unit_test(mask_gradients_match_differences),
        cmocka_unit_test(head_gradients_match_differences),
        cmocka_unit_test(arc_head_equals_the_whole_decoder),
        cmocka_unit_test(known_loss_passes_its_gradient),
        cmocka_unit_test(warm_up_gradients_match_differences),
        cmocka_unit_test(likelihood_gradients_match_differences),
        cmocka_unit_test(likelihoods_equal_their_formulas),
        cmocka_unit_test(penalty_gradients_match_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
