/* Tests the figures of predicted numbers, and least squares, against NumPy. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/metrics/regression.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static const double y[] = {1, 2, 4, -1, 0.5, 3}, p[] = {0.5, 2.5, 3, 0, 0.5, 2};
enum { COUNT = 6 };

static void figures_equal_those_of_numpy(void **state)
{
    struct regression s = {0};
    for (int i = 0; i < COUNT; i++)
        regression_add(&s, y[i], p[i]);
    assert_near(regression_r2(&s), 0.784061696658, 1e-11);
    assert_near(regression_pearson(&s), 0.920738468541, 1e-11);
    struct interval range = regression_r2_interval(&s, NULL, 1.96);
    assert_near(range.low, 0.784061696658 - 0.076170696435, 1e-10);
    assert_near(range.high, 0.784061696658 + 0.076170696435, 1e-10);
}

static void several_numbers_count_as_one_with_the_sum_of_their_squares(void **state)
{
    struct regression s = {0};
    for (int i = 0; i < COUNT; i += 2)
        regression_add_all(&s, y + i, p + i, 2);
    double ee = 0, yy = 0;
    for (int i = 0; i < COUNT; i++) {
        ee += (y[i] - p[i]) * (y[i] - p[i]);
        yy += y[i] * y[i];
    }
    assert_true(s.n == COUNT / 2);
    assert_near(regression_r2(&s), 1 - ee / yy, 1e-12);
}

static void numbers_that_do_not_vary_have_no_figures(void **state)
{
    struct regression s = {0};
    assert_true(isnan(regression_r2(&s)) && isnan(regression_pearson(&s)));
    for (int i = 0; i < COUNT; i++)
        regression_add(&s, 2, p[i]);
    assert_true(isnan(regression_r2(&s)) && isnan(regression_pearson(&s)));
    struct interval range = regression_r2_interval(&s, NULL, 1.96);
    assert_true(isinf(range.low) && range.low < 0 && range.high == 1);
}

/* ---- least squares ------------------------------------------------------------------------------------------- */

enum { TERMS = 3, NUMBERS = 2, SAMPLES = 7 };

struct table {
    double gram[TERMS * TERMS], products[TERMS * NUMBERS], squares[NUMBERS], coefficient[TERMS * NUMBERS],
        t[TERMS * NUMBERS];
    struct least_squares sums;
};

static void fill(struct table *f, const double x[SAMPLES][TERMS], const double n[SAMPLES][NUMBERS])
{
    memset(f, 0, sizeof *f);
    f->sums = (struct least_squares){TERMS, NUMBERS, SAMPLES, f->gram, f->products, f->squares};
    for (int i = 0; i < SAMPLES; i++)
        for (int a = 0; a < TERMS; a++) {
            for (int b = 0; b < TERMS; b++)
                f->gram[a * TERMS + b] += x[i][a] * x[i][b];
            for (int k = 0; k < NUMBERS; k++) {
                f->products[a * NUMBERS + k] += x[i][a] * n[i][k];
                f->squares[k] += a == 0 ? n[i][k] * n[i][k] : 0;
            }
        }
}

static const double terms[SAMPLES][TERMS] = {{1, 0, 1}, {0, 1, 1}, {1, 1, 1}, {0, 0, 1},
                                             {1, 0, 1}, {0, 1, 1}, {0, 0, 1}};
static const double numbers[SAMPLES][NUMBERS] = {{2, 1},     {0.5, -1},   {2.2, 0.3}, {0.1, 0.2},
                                                 {1.7, 1.4}, {0.2, -0.7}, {-0.2, 0.1}};

static void coefficients_and_t_values_equal_those_of_numpy(void **state)
{
    static const double coefficient[] = {1.88, 1.09, 0.38, -0.96, -0.04, 0.13},
                        t[] = {13.16263279, 7.68826721, 2.66053216, -6.77131791, -0.34299717, 1.12302895};
    struct table f;
    fill(&f, terms, numbers);
    assert_true(least_squares_solve(&f.sums, f.coefficient, f.t));
    for (int i = 0; i < TERMS * NUMBERS; i++) {
        assert_near(f.coefficient[i], coefficient[i], 1e-6);
        assert_near(f.t[i], t[i], 1e-5);
    }
}

static void a_term_that_does_not_vary_is_certain_of_nothing(void **state)
{
    double x[SAMPLES][TERMS];
    struct table f;
    memcpy(x, terms, sizeof x);
    for (int i = 0; i < SAMPLES; i++)
        x[i][1] = 0;
    fill(&f, (const double(*)[TERMS])x, numbers);
    assert_true(least_squares_solve(&f.sums, f.coefficient, f.t));
    assert_near(f.coefficient[1 * NUMBERS], 0, 1e-9);
    assert_near(f.t[1 * NUMBERS], 0, 1e-6);
    for (int i = 0; i < SAMPLES; i++)
        x[i][1] = 1; /* the same as the constant */
    fill(&f, (const double(*)[TERMS])x, numbers);
    assert_true(least_squares_solve(&f.sums, f.coefficient, f.t));
    assert_true(fabs(f.t[1 * NUMBERS]) < 1 && fabs(f.t[0]) > 3);
}

static void fewer_samples_than_terms_have_no_solution(void **state)
{
    struct table f;
    fill(&f, terms, numbers);
    f.sums.samples = TERMS;
    assert_false(least_squares_solve(&f.sums, f.coefficient, f.t));
    assert_true(f.coefficient[0] == 0 && f.t[0] == 0);
    fill(&f, terms, numbers);
    f.gram[0] = -1;
    assert_false(least_squares_solve(&f.sums, f.coefficient, f.t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_equal_those_of_numpy),
        cmocka_unit_test(several_numbers_count_as_one_with_the_sum_of_their_squares),
        cmocka_unit_test(numbers_that_do_not_vary_have_no_figures),
        cmocka_unit_test(coefficients_and_t_values_equal_those_of_numpy),
        cmocka_unit_test(a_term_that_does_not_vary_is_certain_of_nothing),
        cmocka_unit_test(fewer_samples_than_terms_have_no_solution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
