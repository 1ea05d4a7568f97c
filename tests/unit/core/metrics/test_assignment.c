/* Compares rectangular assignment with brute force. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/metrics/assignment.h"
#include "tests/support/fault.h"

#define MOST 7

/* Returns the best sum if `left` of the rows from `row` on get a column each, by plain recursion. used: bits of the
 * columns that are taken already. */
static double brute(const double *score, int rows, int cols, int row, unsigned used, int left)
{
    if (left == 0)
        return 0.0;
    if (row == rows)
        return -INFINITY;
    double best = brute(score, rows, cols, row + 1, used, left); /* the sum if this row gets no column */
    for (int col = 0; col < cols; col++) {
        if ((used >> col & 1U) == 0) {
            double sum = score[row * cols + col] + brute(score, rows, cols, row + 1, used | 1U << col, left - 1);
            best = sum > best ? sum : best;
        }
    }
    return best;
}

static void expect_valid(const double *score, int rows, int cols, const int *column_of, double total)
{
    unsigned used = 0;
    int matched = 0;
    double sum = 0.0;
    for (int row = 0; row < rows; row++) {
        if (column_of[row] >= 0) {
            assert_in_range(column_of[row], 0, (unsigned)cols - 1);
            assert_int_equal(used >> column_of[row] & 1U, 0);
            used |= 1U << column_of[row];
            sum += score[row * cols + column_of[row]];
            matched++;
        }
    }
    assert_int_equal(matched, rows < cols ? rows : cols);
    assert_true(fabs(sum - total) < 1e-9);
}

/* Tests small integers (many ties), negative numbers and reals, in all shapes up to 7 x 7. */
static void small_matrices_equal_brute_force(void **state)
{
    srand(3);
    for (int trial = 0; trial < 1500; trial++) {
        int rows = 1 + rand() % MOST, cols = 1 + rand() % MOST, kind = trial % 3;
        if (rows * cols > 36)
            continue;
        double score[MOST * MOST], total;
        int column_of[MOST];
        for (int i = 0; i < rows * cols; i++)
            score[i] = kind == 0 ? rand() % 4 : kind == 1 ? rand() % 100 - 50 : (double)rand() / RAND_MAX;
        assert_int_equal(assignment_best(score, rows, cols, column_of, &total, NULL, NULL), STATUS_OK);
        expect_valid(score, rows, cols, column_of, total);
        double best = brute(score, rows, cols, 0, 0, rows < cols ? rows : cols);
        assert_true(fabs(total - best) < 1e-9);
    }
}

/* The greedy choice takes 10, and then only 1 is left. 9 and 8 have the larger sum. */
static void the_greedy_choice_is_avoided(void **state)
{
    const double score[4] = {10, 9, 8, 1};
    int column_of[2];
    double total;
    assert_int_equal(assignment_best(score, 2, 2, column_of, &total, NULL, NULL), STATUS_OK);
    assert_true(total == 17.0);
    assert_int_equal(column_of[0], 1);
    assert_int_equal(column_of[1], 0);
}

/* A permutation hidden in a large matrix is found. */
static void a_hidden_permutation_is_found(void **state)
{
    enum { COUNT = 80 };
    static double score[COUNT * COUNT];
    int hidden[COUNT], column_of[COUNT];
    srand(5);
    for (int i = 0; i < COUNT; i++)
        hidden[i] = i;
    for (int i = COUNT - 1; i > 0; i--) {
        int j = rand() % (i + 1), kept = hidden[i];
        hidden[i] = hidden[j];
        hidden[j] = kept;
    }
    for (int i = 0; i < COUNT * COUNT; i++)
        score[i] = rand() % 1000;
    for (int i = 0; i < COUNT; i++)
        score[i * COUNT + hidden[i]] = 1000 + rand() % 10;
    assert_int_equal(assignment_best(score, COUNT, COUNT, column_of, NULL, NULL, NULL), STATUS_OK);
    assert_memory_equal(column_of, hidden, sizeof hidden);
}

static void empty_and_faulty_matrices_are_handled(void **state)
{
    double score[6] = {1, 2, 3, 4, 5, NAN}, total = 1.0;
    int column_of[3] = {7, 7, 7};
    assert_int_equal(assignment_best(score, 2, 3, column_of, NULL, NULL, NULL), STATUS_NUMERIC);
    score[5] = INFINITY;
    assert_int_equal(assignment_best(score, 3, 2, column_of, NULL, NULL, NULL), STATUS_NUMERIC);
    assert_int_equal(assignment_best(score, -1, 2, column_of, NULL, NULL, NULL), STATUS_INVALID);
    assert_int_equal(assignment_best(score, 3, 0, column_of, &total, NULL, NULL), STATUS_OK);
    assert_true(total == 0.0 && column_of[0] == -1 && column_of[2] == -1);
    assert_int_equal(assignment_best(score, 0, 3, column_of, &total, NULL, NULL), STATUS_OK);
    score[5] = 6;
    for (int n = 0;; n++) {
        fault_after(n);
        enum status status = assignment_best(score, 3, 2, column_of, &total, NULL, NULL);
        if (!fault_happened()) {
            assert_int_equal(status, STATUS_OK);
            assert_int_equal(n, 3);
            break;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
    }
    assert_true(total == 9.0); /* the best sum of the matrix {1 2, 3 4, 5 6}: 3 + 6 or 4 + 5 */
}

static bool at_once(void *context)
{
    return true;
}

/* A matrix of equal scores takes the longest: the search for each row visits all columns that are matched
 * already. */
static void a_stopped_pool_ends_the_search(void **state)
{
    enum { COUNT = 6000 }; /* without a stop, the search takes about two minutes */
    struct thread_pool *pool;
    struct error err = {0};
    double *score = calloc((size_t)COUNT * COUNT, sizeof *score);
    int *column_of = calloc(COUNT, sizeof *column_of);
    assert_true(score && column_of);
    assert_int_equal(thread_pool_create(1, &pool, &err), STATUS_OK);
    thread_pool_stop_when(pool, at_once, NULL);
    assert_int_equal(assignment_best(score, COUNT, COUNT, column_of, NULL, pool, &err), STATUS_CANCELLED);
    thread_pool_destroy(pool);
    free(score);
    free(column_of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_matrices_equal_brute_force), cmocka_unit_test(the_greedy_choice_is_avoided),
        cmocka_unit_test(a_hidden_permutation_is_found),    cmocka_unit_test(empty_and_faulty_matrices_are_handled),
        cmocka_unit_test(a_stopped_pool_ends_the_search),
    };
    return cmocka_run_group_tests_name("assignment", tests, NULL, NULL);
}
