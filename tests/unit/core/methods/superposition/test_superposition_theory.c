/* Compares the closed forms with published and independently computed values. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/superposed/theory.h"

#define assert_within(value, wanted, tolerance)                                                                        \
    do {                                                                                                               \
        double value_ = (value), wanted_ = (wanted);                                                                   \
        if (!(fabs(value_ - wanted_) <= (tolerance)))                                                                  \
            fail_msg("%s is %.12g, not %.12g", #value, value_, wanted_);                                               \
    } while (0)

static void the_loss_equals_its_check_values(void **state)
{
    assert_within(theory_loss(1.2, -0.15, 0.24, 0.1), 0.013238464662947, 1e-14);
    assert_within(theory_loss(1, -0.3, 0.2, 0.05), 0.005261755916737, 1e-14);
    assert_within(theory_loss(1, 0, 0.1, 0.5), 0.007234038479732, 1e-14);
}

/* Compares the closed form of the loss with the mean over drawn samples. */
static void the_loss_equals_that_of_drawn_samples(void **state)
{
    enum { N = 400000 };
    const double a = 1.2, m = -0.15, s = 0.24, p = 0.1;
    struct philox uniform = philox_stream(1, 1, 0), normal = philox_stream(1, 2, 0);
    double sum = 0;
    for (uint64_t i = 0; i < N; i++) {
        double on = philox_uniform(&uniform, 2 * i) < p, x = on * (double)philox_uniform(&uniform, 2 * i + 1);
        double error = x - fmax(0, a * x + m + s * philox_normal(&normal, i));
        sum += error * error;
    }
    assert_within(sum / N, theory_loss(a, m, s, p), 2e-4);
}

struct row {
    double p, r, sigma, offset, scale, total, loss, linear;
};
static const struct row table[] = {
    {0.002001, 0.1, 0.077421, -0.211573, 1.353889, -0.286446, 4.455104e-05, 5.993991e-04},
    {0.01, 0.1, 0.172554, -0.391892, 1.524940, -0.597612, 9.962990e-04, 2.977500e-03},
    {0.01, 0.5, 0.057518, -0.127517, 1.199245, -0.152924, 9.379666e-05, 1.654167e-03},
    {0.044001, 130.0 / 512, 0.204147, -0.341288, 1.298800, -0.443265, 4.583391e-03, 1.058183e-02},
    {0.045, 0.25, 0.208522, -0.345818, 1.289215, -0.445834, 4.855798e-03, 1.087031e-02},
    {0.05, 0.1, 0.379967, -0.516474, 0.672039, -0.347091, 1.221934e-02, 1.443750e-02},
    {0.05, 0.25, 0.219374, -0.351351, 1.254821, -0.440882, 5.789428e-03, 1.203125e-02},
    {0.05, 0.5, 0.126656, -0.210026, 1.275152, -0.267815, 1.903322e-03, 8.020833e-03},
    {0.05, 0.8, 0.063328, -0.105051, 1.154085, -0.121238, 4.395167e-04, 3.208333e-03},
    {0.1, 0.1, 0.526783, -0.248480, 0.280343, -0.069659, 2.634972e-02, 2.775000e-02},
    {0.1, 0.25, 0.304138, -0.344050, 0.916939, -0.315473, 1.644939e-02, 2.312500e-02},
    {0.1, 0.5, 0.175594, -0.231109, 1.206504, -0.278833, 6.375737e-03, 1.541667e-02},
    {0.2, 0.25, 0.412311, -0.166805, 0.540895, -0.090224, 3.761769e-02, 4.250000e-02},
    {0.4, 0.25, 0.529150, 0.328757, 0.324192, 0.106580, 6.810266e-02, 7.000000e-02},
    {0.4, 0.5, 0.305505, -0.035328, 0.726133, -0.025653, 4.028380e-02, 4.666667e-02},
    {0.6, 0.5, 0.331662, 0.157305, 0.595180, 0.093624, 5.220998e-02, 5.500000e-02},
};

static void the_optimum_equals_its_sixteen_check_rows(void **state)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct row *t = &table[i];
        struct theory_optimum o = theory_optimum(t->p, theory_sigma(t->p, t->r));
        assert_within(o.sigma, t->sigma, 5.1e-7);
        assert_within(o.offset, t->offset, 1.1e-6);
        assert_within(o.scale, t->scale, 1.1e-6);
        assert_within(o.scale * o.offset, t->total, 1.1e-6);
        assert_within(o.loss / t->loss, 1, 2e-7 + 5e-7); /* the values of the table have seven digits */
        assert_within(theory_linear(t->p, t->r) / t->linear, 1, 5e-7);
        assert_within(theory_loss(o.scale, o.scale * o.offset, o.scale * o.sigma, t->p), o.loss, 1e-15);
    }
}

/* A small change of scale or offset does not lower the loss. */
static void no_neighbour_of_the_optimum_is_better(void **state)
{
    for (int i = 1; i <= 9; i++)
        for (int j = 1; j <= 9; j++) {
            double p = 0.1 * i, sigma = theory_sigma(p, 0.1 * j);
            struct theory_optimum o = theory_optimum(p, sigma);
            for (int k = 0; k < 8; k++) {
                int across = k % 3 - 1, down = k / 3 - 1;
                double scale = o.scale * (1 + 1e-3 * across), offset = o.offset + 1e-3 * down;
                assert_true(theory_loss(scale, scale * offset, scale * sigma, p) >= o.loss - 1e-15);
            }
        }
}

static void bounds_equal_their_check_values(void **state)
{
    static const struct {
        double p, r, optimum, bayes, oracle;
    } points[] = {{.044, .05, 1.293e-2, 1.269e-2, 2.79e-3}, {.044, .25, 4.675e-3, 4.303e-3, 1.175e-3},
                  {.044, .5, 1.508e-3, 1.222e-3, 4.90e-4},  {.044, .8, 3.479e-4, 2.500e-4, 1.392e-4},
                  {.01, .25, 3.044e-4, 2.315e-4, 8.14e-5},  {.4, .5, 4.028e-2, 3.880e-2, 1.725e-2}};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        double p = points[i].p, sigma = theory_sigma(p, points[i].r);
        assert_within(theory_optimum(p, sigma).loss / points[i].optimum, 1, 1e-3);
        assert_within(theory_bayes(p, sigma) / points[i].bayes, 1, 1e-3);
        assert_within(theory_oracle(p, sigma) / points[i].oracle, 1, 2e-3);
    }
    assert_within(theory_blind_printed(.05), 0.016389, 5e-7);
    assert_within(theory_variance(.05), 0.016042, 5e-7);
    assert_within(theory_optimum(.05, theory_sigma(.05, 1e-6)).loss, 0.016050, 2e-6);
    assert_within(theory_linear_printed(.3, 512, 128), .1 * 383 / 512, 1e-15);
    /* Appendix D of the paper states this bound as C P sigma^2, with C = .1987, and P = .459, .783 and .892 at sigma
     * = .25, .1 and .05. */
    assert_within(theory_oracle_printed(1, .25) / (.25 * .25), .1987 * .459, 1e-4);
    assert_within(theory_oracle_printed(1, .1) / (.1 * .1), .1987 * .783, 2e-4);
    assert_within(theory_oracle_printed(1, .05) / (.05 * .05), .1987 * .892, 1e-4);
    assert_true(isnan(theory_oracle_printed(.1, .26)));
}

static void losses_and_bounds_are_in_order(void **state)
{
    for (int i = 1; i <= 9; i++)
        for (int j = 1; j <= 9; j++) {
            double p = 0.1 * i, r = 0.1 * j, sigma = theory_sigma(p, r);
            double best = theory_optimum(p, sigma).loss, cut = theory_cut(p, sigma).loss;
            double bayes = theory_bayes(p, sigma), oracle = theory_oracle(p, sigma);
            assert_true(oracle <= bayes && bayes <= cut + 1e-12 && bayes <= best);
            assert_true(best <= theory_linear(p, r) && best <= theory_upper(p, sigma));
            double printed = theory_oracle_printed(p, sigma);
            assert_true(isnan(printed) || printed <= oracle);
        }
}

/* Compares the closed form with drawn samples of two features that share one dimension. */
static void a_pair_with_both_features_on_loses_the_smaller(void **state)
{
    enum { N = 400000 };
    struct philox uniform = philox_stream(3, 1, 0);
    double sum = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = (philox_uniform(&uniform, 4 * i) < 0.3f) * (double)philox_uniform(&uniform, 4 * i + 1);
        double y = (philox_uniform(&uniform, 4 * i + 2) < 0.3f) * (double)philox_uniform(&uniform, 4 * i + 3);
        sum += pow(x - fmax(0, x - y), 2) + pow(y - fmax(0, y - x), 2);
    }
    assert_within(sum / N / 2, theory_pairs(.3, .5), 2e-4);
    assert_within(theory_pairs(.3, 1), 0, 0);
    assert_true(isnan(theory_pairs(.3, .49)));
    /* the loss of antipodal pairs is below the Bayes bound, which holds for Gaussian interference only */
    assert_true(theory_pairs(.044, .5) < theory_bayes(.044, theory_sigma(.044, .5)));
}

/* The paper states that loss r / p^2 grows like ln(1/p) for p -> 0, where p is the probability of a feature and r
 * the number of dimensions for each feature. Compares this product at r = .1 with known values. */
static void the_loss_scales_as_the_paper_states(void **state)
{
    static const double p[] = {1e-2, 3e-3, 1e-3, 3e-4, 1e-4}, scaled[] = {.996, 1.091, 1.155, 1.248, 1.352};
    for (int i = 0; i < 5; i++)
        assert_within(theory_optimum(p[i], theory_sigma(p[i], .1)).loss * .1 / (p[i] * p[i]), scaled[i], 1e-3);
}

static void a_cut_is_the_best_line_above_a_threshold(void **state)
{
    const double p = 0.044, sigma = theory_sigma(0.044, 0.254);
    struct theory_cut best = theory_cut(p, sigma);
    /* for this p and sigma, an output with a threshold has a smaller loss than plain ReLU */
    assert_true(best.loss < theory_optimum(p, sigma).loss);
    enum { N = 400000, OTHERS = 10 };
    struct philox uniform = philox_stream(2, 1, 0), normal = philox_stream(2, 2, 0);
    double sum = 0, above = 0, others[OTHERS] = {0};
    for (uint64_t i = 0; i < N; i++) {
        double on = philox_uniform(&uniform, 2 * i) < p, x = on * (double)philox_uniform(&uniform, 2 * i + 1);
        double y = x + sigma * philox_normal(&normal, i), kept = y > best.cut;
        double error = x - kept * (best.slope * y + best.intercept);
        sum += error * error;
        above += kept;
        for (int k = 0; k < OTHERS; k++) { /* other thresholds, on both sides of the best one */
            double cut = best.cut * (k < OTHERS / 2 ? 0.5 + 0.08 * k : 1.1 + 0.08 * (k - OTHERS / 2));
            error = x - (y > cut) * (best.slope * y + best.intercept);
            others[k] += error * error;
        }
    }
    for (int k = 0; k < OTHERS; k++)
        assert_true(others[k] > sum);
    assert_within(sum / N, best.loss, 1e-4);
    assert_within(above / N, best.share, 1e-3);
}

static void kolmogorov_p_values_equal_the_table(void **state)
{
    assert_within(theory_kolmogorov(1.3581 / sqrt(1e6), 1000000), 0.05, 1e-4);
    assert_within(theory_kolmogorov(1.6276 / sqrt(1e6), 1000000), 0.01, 1e-4);
    assert_within(theory_kolmogorov(0.0001, 100), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_equals_its_check_values),
        cmocka_unit_test(the_loss_equals_that_of_drawn_samples),
        cmocka_unit_test(the_optimum_equals_its_sixteen_check_rows),
        cmocka_unit_test(no_neighbour_of_the_optimum_is_better),
        cmocka_unit_test(bounds_equal_their_check_values),
        cmocka_unit_test(losses_and_bounds_are_in_order),
        cmocka_unit_test(a_pair_with_both_features_on_loses_the_smaller),
        cmocka_unit_test(the_loss_scales_as_the_paper_states),
        cmocka_unit_test(a_cut_is_the_best_line_above_a_threshold),
        cmocka_unit_test(kolmogorov_p_values_equal_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
