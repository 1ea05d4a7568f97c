/* Tests the reference: random convolutions, ridge regression and runs of letters, each against plain code, and all of
 * them together on data whose answer is known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fault.h"
#include "tests/support/unit.h"
#include "core/base/random/mt19937.h"
#include "core/reference/letter_grams.h"
#include "core/reference/random_convolutions.h"
#include "core/reference/reference.h"
#include "core/reference/ridge.h"

static struct thread_pool *pool;

static double normal(struct mt19937 *rng)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += mt19937_uniform(rng);
    return sum;
}

/* ---- random convolutions ---------------------------------------------------------------------------------- */

enum { KERNELS = 40 };

static real *features_of(int channels, int rows, int cols, const float *planes, const struct kernels *kernels)
{
    struct random_convolutions *c;
    struct error err = {0};
    assert_int_equal(random_convolutions_create(channels, rows, cols, false, KERNELS, 7, &c, &err), STATUS_OK);
    real *scratch = malloc(random_convolutions_scratch(c) * sizeof *scratch),
         *features = malloc(2 * KERNELS * sizeof *features);
    random_convolutions_features(c, kernels, planes, scratch, features);
    free(scratch);
    random_convolutions_destroy(c);
    return features;
}

/* The fast kernels compute the same features as the plain ones, up to rounding, for sequences and pictures of any
 * size. */
static void features_do_not_depend_on_the_kernels(void **state)
{
    struct mt19937 rng;
    mt19937_init(&rng, 1);
    for (int trial = 0; trial < 60; trial++) {
        int channels = 1 + (int)mt19937_integer(&rng, 0, 5),
            rows = trial % 2 ? 1 : 1 + (int)mt19937_integer(&rng, 0, 20), cols = 1 + (int)mt19937_integer(&rng, 0, 70);
        int size = channels * rows * cols;
        float *planes = malloc((size_t)size * sizeof *planes);
        for (int i = 0; i < size; i++)
            planes[i] = (float)normal(&rng);
        real *plain = features_of(channels, rows, cols, planes, kernels_named("ref")),
             *fast = features_of(channels, rows, cols, planes, kernels_best());
        for (int i = 0; i < KERNELS; i++) {
            assert_in_range((int)(1000 * plain[2 * i]), 0, 1000);
            assert_float_equal(plain[2 * i], fast[2 * i], 0.5F / (float)(rows * cols) + 1e-6F);
            assert_float_equal(plain[2 * i + 1], fast[2 * i + 1], 1e-4F);
        }
        free(planes);
        free(plain);
        free(fast);
    }
}

/* Every second kernel reads the shape of a sample only, the others its size too. A larger count adds kernels and leaves
 * the first ones as they are. */
static void features_see_shapes_and_sizes(void **state)
{
    float once[50], larger[50];
    int equal = 0, different = 0;
    for (int i = 0; i < 50; i++) {
        once[i] = sinf((float)i * 0.7F) + (float)(i % 7);
        larger[i] = 100 * once[i] + 20;
    }
    real *a = features_of(1, 1, 50, once, kernels_best()), *b = features_of(1, 1, 50, larger, kernels_best());
    for (int i = 0; i < KERNELS; i++)
        if (i % 2)
            equal += fabs((double)(a[2 * i + 1] - b[2 * i + 1])) < 1e-3;
        else
            different += fabs((double)(a[2 * i + 1] - b[2 * i + 1])) > 1;
    assert_int_equal(equal, KERNELS / 2);
    assert_true(different > KERNELS / 3);
    free(a);
    free(b);
}

/* ---- ridge regression ------------------------------------------------------------------------------------- */

/* Solves (X'X + penalty) w = X'y by Gauss-Jordan elimination in double precision. x: [rows][columns]. */
static void plain_ridge(const double *x, const double *y, int rows, int columns, double penalty, double *w)
{
    int wide = columns + 1;
    double *m = calloc((size_t)(columns * wide), sizeof *m);
    for (int i = 0; i < columns; i++) {
        for (int k = 0; k < rows; k++) {
            for (int j = 0; j < columns; j++)
                m[i * wide + j] += x[k * columns + i] * x[k * columns + j];
            m[i * wide + columns] += x[k * columns + i] * y[k];
        }
        m[i * wide + i] += penalty;
    }
    for (int i = 0; i < columns; i++) {
        double pivot = m[i * wide + i];
        for (int j = 0; j < wide; j++)
            m[i * wide + j] /= pivot;
        for (int k = 0; k < columns; k++) {
            double factor = m[k * wide + i];
            for (int j = 0; k != i && j < wide; j++)
                m[k * wide + j] -= factor * m[i * wide + j];
        }
    }
    for (int i = 0; i < columns; i++)
        w[i] = m[i * wide + columns];
    free(m);
}

/* Standardises as ridge.h says. */
static void plain_standard(double *x, int rows, int columns, const double *from, int from_rows)
{
    for (int j = 0; j < columns; j++) {
        double mean = 0, squares = 0;
        for (int i = 0; i < from_rows; i++)
            mean += from[i * columns + j] / from_rows;
        for (int i = 0; i < from_rows; i++)
            squares += (from[i * columns + j] - mean) * (from[i * columns + j] - mean) / from_rows;
        for (int i = 0; i < rows; i++)
            x[i * columns + j] = (x[i * columns + j] - mean) / sqrt(squares);
    }
}

/* Compares the predictions with those of plain code, which tries the same penalties. */
static void compare_ridge(int rows, int columns, uint32_t seed)
{
    enum { CHECK = 40, TEST = 30 };
    int all = rows + CHECK + TEST;
    struct mt19937 rng;
    struct error err = {0};
    size_t cells = (size_t)(all * columns);
    double *x = malloc(cells * sizeof *x), *standard = malloc(cells * sizeof *x), *y = malloc((size_t)all * sizeof *y),
           *w = malloc((size_t)columns * sizeof *w), *best = malloc((size_t)columns * sizeof *w);
    real *rx = malloc(cells * sizeof *rx), *ry = malloc((size_t)all * sizeof *ry), predicted[TEST];
    mt19937_init(&rng, seed);
    for (int i = 0; i < all; i++) {
        y[i] = 0.5 * normal(&rng) + 3;
        for (int j = 0; j < columns; j++) {
            x[i * columns + j] = normal(&rng) * (j + 1) + j;
            y[i] += j % 9 == 0 ? 0.3 * (x[i * columns + j] - j) / (j + 1) : 0;
            rx[i * columns + j] = (real)x[i * columns + j];
        }
        ry[i] = (real)y[i];
    }
    memcpy(standard, x, cells * sizeof *x);
    plain_standard(standard, all, columns, x, rows);
    double mean = 0, least = INFINITY, diagonal = rows < columns ? columns : rows;
    for (int i = 0; i < rows; i++)
        mean += y[i] / rows;
    double *centred = malloc((size_t)all * sizeof *centred);
    for (int i = 0; i < all; i++)
        centred[i] = y[i] - mean;
    for (int p = 0; p < RIDGE_PENALTIES; p++) {
        double error = 0;
        plain_ridge(standard, centred, rows, columns, diagonal * pow(10, -3 + 5.0 * p / (RIDGE_PENALTIES - 1)), w);
        for (int i = rows; i < rows + CHECK; i++) {
            double d = -centred[i];
            for (int j = 0; j < columns; j++)
                d += standard[i * columns + j] * w[j];
            error += d * d;
        }
        if (error < least) {
            least = error;
            memcpy(best, w, (size_t)columns * sizeof *w);
        }
    }
    struct ridge *r;
    const struct ridge_rows train = {rows, rx, ry}, check = {CHECK, rx + rows * columns, ry + rows};
    assert_int_equal(ridge_create(&train, &check, columns, 1, kernels_best(), pool, &r, &err), STATUS_OK);
    for (bool done = false; !done;)
        assert_int_equal(ridge_step(r, &done, &err), STATUS_OK);
    ridge_predict(r, TEST, false, rx + (rows + CHECK) * columns, predicted);
    for (int i = 0; i < TEST; i++) {
        double expected = mean;
        for (int j = 0; j < columns; j++)
            expected += standard[(rows + CHECK + i) * columns + j] * best[j];
        assert_float_equal(predicted[i], (float)expected, 2e-3F);
    }
    ridge_destroy(r);
    free(x);
    free(standard);
    free(y);
    free(w);
    free(best);
    free(centred);
    free(rx);
    free(ry);
}

static void ridge_equals_plain_elimination(void **state)
{
    compare_ridge(200, 30, 1); /* more rows than columns */
    compare_ridge(70, 150, 2); /* fewer: the dual equations */
    compare_ridge(129, 128, 3);
    compare_ridge(50, 64, 4);
}

/* ---- the whole reference ---------------------------------------------------------------------------------- */

enum { TRAIN = 240, CHECK = 60, TESTED = 120, ALL = TRAIN + CHECK + TESTED, COLS = 80, LETTERS = 4 };

/* Labels are sets of two names. Signals: name 0 is a step up, name 1 a fast oscillation. Letters: the words ACGTGC and
 * TTAACG. */
static void draw(struct mt19937 *rng, bool letters, float *planes, int32_t *label, int *length)
{
    static const char *const words[] = {"012321", "330012"};
    int at = (int)mt19937_integer(rng, 0, COLS / 2 - 12);
    *length = 0;
    for (int i = 0; i < COLS; i++)
        if (letters)
            for (int k = 0; k < LETTERS; k++)
                planes[k * COLS + i] = 0;
        else
            planes[i] = (float)(0.3 * normal(rng));
    for (int i = 0; letters && i < COLS; i++)
        planes[mt19937_integer(rng, 0, LETTERS) * COLS + i] = 1;
    for (int name = 0; name < 2; name++) {
        int from = at + name * COLS / 2;
        if (mt19937_uniform(rng) < 0.5)
            continue;
        label[(*length)++] = name;
        for (int i = 0; i < (letters ? 6 : 12); i++)
            if (letters)
                for (int k = 0; k < LETTERS; k++)
                    planes[k * COLS + from + i] = k == words[name][i] - '0';
            else
                planes[from + i] += name == 0 ? 3 : i % 2 ? 3 : -3;
    }
}

/* Trains a reference; returns the share of test samples that it has right. answers: [TESTED] its answers as bits. */
static double train(bool letters, struct thread_pool *with, int *answers, const char **kind)
{
    struct reference_shape shape = {.channels = letters ? LETTERS : 1,
                                    .rows = 1,
                                    .cols = COLS,
                                    .names = 2,
                                    .samples = {TRAIN, CHECK, TESTED},
                                    .seed = 3};
    size_t size = (size_t)(shape.channels * COLS);
    float *planes = malloc(ALL * size * sizeof *planes);
    int truth[ALL], right = 0;
    struct reference *r;
    struct error err = {0};
    struct mt19937 rng;
    mt19937_init(&rng, 11);
    assert_int_equal(reference_create(&shape, kernels_best(), with, &r, &err), STATUS_OK);
    for (int i = 0; i < ALL; i++) {
        int32_t label[2];
        int length;
        draw(&rng, letters, planes + (size_t)i * size, label, &length);
        reference_label(r, i, label, length);
        truth[i] = 0;
        for (int k = 0; k < length; k++)
            truth[i] |= 1 << label[k];
    }
    for (int i = 0; i < ALL; i += 20)
        assert_int_equal(reference_add(r, planes + (size_t)i * size, 20, &err), STATUS_OK);
    for (bool done = false; !done;)
        assert_int_equal(reference_step(r, &done, &err), STATUS_OK);
    for (int i = 0; i < TESTED; i++) {
        int32_t label[2];
        int length = reference_answer(r, i, label);
        answers[i] = 0;
        for (int k = 0; k < length; k++)
            answers[i] |= 1 << label[k];
        right += answers[i] == truth[TRAIN + CHECK + i];
        /* A sample that was not added has the same answer. */
        int32_t again[2];
        int read;
        assert_int_equal(reference_read(r, planes + (size_t)(TRAIN + CHECK + i) * size, again, &read, &err), STATUS_OK);
        assert_int_equal(read, length);
        assert_memory_equal(again, label, (size_t)length * sizeof *label);
    }
    float strange[LETTERS * COLS] = {0.5F};
    int32_t name[2];
    int names;
    if (letters)
        assert_int_equal(reference_read(r, strange, name, &names, &err), STATUS_INVALID);
    *kind = reference_kind(r);
    reference_destroy(r);
    free(planes);
    return (double)right / TESTED;
}

static void reference_reads_sets(void **state)
{
    int answers[TESTED];
    const char *kind;
    assert_true(train(false, pool, answers, &kind) > 0.95);
    assert_string_equal(kind, "random-convolutions");
    assert_true(train(true, pool, answers, &kind) > 0.85); /* a word may also occur by chance */
    assert_string_equal(kind, "letter-runs");
}

/* Large samples lower the numbers of samples, and then leave out the reference. */
static void work_is_limited(void **state)
{
    struct reference_shape s = {.channels = 1, .rows = 1, .cols = 1000, .names = 9, .samples = {90000, 200, 90000}};
    reference_limit(&s);
    assert_true(s.samples[0] == 16000 && s.samples[1] == 200 && s.samples[2] == 4000);
    assert_true(reference_bytes(&s) < (size_t)512 << 20);
    s.rows = s.cols = 500;
    reference_limit(&s);
    assert_true(s.samples[0] < 16000 && s.samples[0] > 500 && s.samples[1] < 200);
    s.rows = s.cols = 4096;
    reference_limit(&s);
    assert_int_equal(s.samples[0], 0);
    s = (struct reference_shape){.channels = 2000, .rows = 1, .cols = 60, .names = 4000, .samples = {9000, 900, 900}};
    reference_limit(&s);
    assert_true(reference_bytes(&s) < (size_t)1 << 30);
}

/* Values other than 0 and 1 are no letters, so no runs of letters are read. */
static void planes_that_are_not_one_hot_have_no_letters(void **state)
{
    struct letter_grams *g;
    struct error err = {0};
    bool letters;
    const float good[] = {1, 0, 0, 0, 1, 0}, two[] = {1, 0, 0, 1, 1, 0}, half[] = {.5F, 0, 0, 0, 1, 0};
    assert_int_equal(letter_grams_create(2, false, false, 3, 2, false, pool, &g, &err), STATUS_OK);
    assert_int_equal(letter_grams_add(g, good, &letters, &err), STATUS_OK);
    assert_true(letters); /* the last column has no letter */
    assert_int_equal(letter_grams_add(g, two, &letters, &err), STATUS_OK);
    assert_false(letters);
    assert_int_equal(letter_grams_add(g, half, &letters, &err), STATUS_OK);
    assert_false(letters);
    letter_grams_destroy(g);
}

/* Runs of the words of texts, which are numbers, are those of the same words as one-hot planes. */
static void numbers_of_words_have_the_runs_of_one_hot_planes(void **state)
{
    enum { COUNT = 40, WORDS = 5, WIDE = 6 };
    struct letter_grams *g[2];
    struct error err = {0};
    bool letters, done, truth[COUNT], answers[2];
    assert_int_equal(letter_grams_create(WORDS, false, false, WIDE, 1, false, pool, &g[0], &err), STATUS_OK);
    assert_int_equal(letter_grams_create(WORDS, true, false, WIDE, 1, false, pool, &g[1], &err), STATUS_OK);
    for (int i = 0; i < COUNT; i++) {
        float planes[WORDS * WIDE] = {0}, words[WIDE] = {0};
        truth[i] = false;
        for (int col = 0; col < WIDE - i % 2; col++) {
            int word = (i * 7 + col * col * 3 + i * col) % (WORDS + 1);
            words[col] = (float)word;
            truth[i] |= word == 2;
            if (word > 0)
                planes[(word - 1) * WIDE + col] = 1;
        }
        assert_int_equal(letter_grams_add(g[0], planes, &letters, &err), STATUS_OK);
        assert_int_equal(letter_grams_add(g[1], words, &letters, &err), STATUS_OK);
        assert_true(letters);
    }
    for (int k = 0; k < 2; k++)
        for (done = false; !done;)
            assert_int_equal(letter_grams_step(g[k], 24, 8, truth, &done, &err), STATUS_OK);
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < 2; k++)
            letter_grams_answer(g[k], i, &answers[k]);
        assert_int_equal(answers[0], answers[1]);
    }
    letter_grams_destroy(g[0]);
    letter_grams_destroy(g[1]);
}

static void threads_do_not_change_answers(void **state)
{
    for (int letters = 0; letters < 2; letters++) {
        int one[TESTED], three[TESTED];
        const char *kind;
        struct thread_pool *single;
        struct error err = {0};
        assert_int_equal(thread_pool_create(1, &single, &err), STATUS_OK);
        assert_true(train(letters, single, one, &kind) == train(letters, pool, three, &kind));
        assert_memory_equal(one, three, sizeof one);
        thread_pool_destroy(single);
    }
}

/* A class is the name with the largest score; the empty label is one of the classes. Numbers are predicted in their
 * units. */
static void reference_reads_classes_and_numbers(void **state)
{
    for (int numbers = 0; numbers < 2; numbers++) {
        const struct reference_shape shape = {.channels = 1,
                                              .rows = 1,
                                              .cols = COLS,
                                              .names = numbers ? 0 : 2,
                                              .numbers = numbers,
                                              .exclusive = true,
                                              .samples = {TRAIN, CHECK, TESTED},
                                              .seed = 1};
        struct reference *r;
        struct error err = {0};
        struct mt19937 rng;
        float *planes = malloc((size_t)(ALL * COLS) * sizeof *planes), value[ALL];
        int right = 0;
        mt19937_init(&rng, 4);
        assert_int_equal(reference_create(&shape, kernels_best(), pool, &r, &err), STATUS_OK);
        for (int i = 0; i < ALL; i++) {
            int32_t name = (int32_t)mt19937_integer(&rng, 0, 3);
            int at = (int)mt19937_integer(&rng, 0, COLS - 10);
            for (int k = 0; k < COLS; k++)
                planes[i * COLS + k] = (float)(0.2 * normal(&rng)) + (k >= at && k < at + 10 ? (float)name : 0);
            value[i] = (float)name * 100 + 1000;
            if (numbers)
                reference_numbers(r, i, &value[i]);
            else
                reference_label(r, i, &name, name < 2);
        }
        assert_int_equal(reference_add(r, planes, ALL, &err), STATUS_OK);
        for (bool done = false; !done;)
            assert_int_equal(reference_step(r, &done, &err), STATUS_OK);
        for (int i = 0; i < TESTED; i++) {
            int32_t label[3];
            double truth = (double)value[TRAIN + CHECK + i];
            if (numbers)
                right += fabs((double)reference_predicted(r, i)[0] - truth) < 50;
            else
                right += (reference_answer(r, i, label) == 1 ? label[0] : 2) * 100 + 1000 == (int)truth;
        }
        assert_true(right > TESTED * 95 / 100);
        reference_destroy(r);
        free(planes);
    }
}

static void failed_allocations_are_reported(void **state)
{
    const struct reference_shape shape = {
        .channels = 2, .rows = 1, .cols = 12, .names = 2, .samples = {12, 4, 4}, .seed = 1};
    float planes[20 * 24];
    struct thread_pool *single;
    struct error err = {0};
    assert_int_equal(thread_pool_create(1, &single, &err), STATUS_OK);
    for (int i = 0; i < 20 * 24; i++) /* one of two letters in each column */
        planes[i] = (float)(i / 12 % 2 == (i % 12 + i / 24) % 3 % 2);
    for (int n = 0;; n++) {
        struct reference *r;
        err = (struct error){0};
        fault_after(n);
        enum status status = reference_create(&shape, kernels_best(), single, &r, &err);
        if (!status)
            status = reference_add(r, planes, 20, &err);
        for (bool done = false; !status && !done;)
            status = reference_step(r, &done, &err);
        int32_t label[2];
        int length;
        if (!status)
            status = reference_read(r, planes, label, &length, &err);
        bool failed = fault_happened();
        reference_destroy(r);
        assert_int_equal(status, failed ? STATUS_NO_MEMORY : STATUS_OK);
        if (!failed)
            break;
    }
    thread_pool_destroy(single);
}

int main(void)
{
    struct error err = {0};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_do_not_depend_on_the_kernels),
        cmocka_unit_test(features_see_shapes_and_sizes),
        cmocka_unit_test(ridge_equals_plain_elimination),
        cmocka_unit_test(reference_reads_sets),
        cmocka_unit_test(work_is_limited),
        cmocka_unit_test(planes_that_are_not_one_hot_have_no_letters),
        cmocka_unit_test(numbers_of_words_have_the_runs_of_one_hot_planes),
        cmocka_unit_test(threads_do_not_change_answers),
        cmocka_unit_test(reference_reads_classes_and_numbers),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    if (thread_pool_create(3, &pool, &err))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thread_pool_destroy(pool);
    return failed;
}
