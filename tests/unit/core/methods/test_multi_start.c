/* Tests multi-start: the choice of a fit, names in snapshots, failures. A fit has one weight, to which each update adds
 * the index of the fit's start plus 1. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/parallel/comm.h"
#include "core/base/parallel/thread_pool.h"
#include "core/methods/shared/multi_start.h"

enum { FITS = 5 };

struct method_run {
    struct model_run base;
    struct multi_start multi_start;
    const double *goal; /* [FITS] the objective of each fit */
    /* refuse_create, refuse_objective: index of the call that fails; -1: no call fails */
    int created, destroyed, refuse_create, refuse_objective;
    int measured;
    unsigned fails; /* bit i: the update of start i fails */
};

struct sum_fit {
    struct method_run *run;
    struct params *params;
    struct weight *weight;
    char prefix[32];
    int start, updates;
    bool alone;
};

static void destroy(void *fit)
{
    struct sum_fit *f = fit;
    f->run->destroyed++;
    params_destroy(f->params);
    free(f);
}

static enum status create(struct method_run *run, int start, const char *prefix, bool alone, void **fit,
                          struct error *err)
{
    char name[64];
    if (run->created == run->refuse_create)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for start %d", start);
    struct sum_fit *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->run = run;
    f->start = start;
    f->alone = alone;
    snprintf(f->prefix, sizeof f->prefix, "%s", prefix);
    snprintf(name, sizeof name, "%sw", prefix);
    const int one = 1;
    assert_int_equal(params_create(&f->params, err), STATUS_OK);
    f->weight = params_add(f->params, name, 1, &one, init_constant(0));
    assert_int_equal(params_seal(f->params, true, err), STATUS_OK);
    params_init(f->params, 1, NULL);
    run->created++;
    *fit = f;
    return STATUS_OK;
}

static enum status update(void *fit, struct error *err)
{
    struct sum_fit *f = fit;
    f->updates++;
    f->weight->value[0] += (real)(f->start + 1);
    return f->run->fails >> f->start & 1 ? error_set(err, STATUS_NUMERIC, NULL, "start %d is not finite", f->start)
                                         : STATUS_OK;
}

static enum status objective(void *fit, double *value, struct error *err)
{
    const struct sum_fit *f = fit;
    if (f->run->measured++ == f->run->refuse_objective)
        return error_set(err, STATUS_NUMERIC, NULL, "start %d has no objective", f->start);
    *value = f->run->goal[f->start];
    return STATUS_OK;
}

static void copy(void *to, const void *from)
{
    struct sum_fit *a = to;
    const struct sum_fit *b = from;
    params_copy(a->params, b->params);
    a->updates = b->updates;
}

static enum status pack_one(void *fit, enum snapshot_role role, struct snapshot *snapshot, const char *prefix,
                            struct error *err)
{
    struct sum_fit *f = fit;
    assert_string_equal(prefix, f->prefix);
    return role == SNAPSHOT_WEIGHT ? params_snapshot(f->params, snapshot, err) : STATUS_OK;
}

static struct params *params_of(const void *fit)
{
    return ((const struct sum_fit *)fit)->params;
}

static const struct multi_start_table table = {create, destroy, update, objective, copy, pack_one, params_of};
static const double goals[FITS] = {3, 1, 4, 1, 5};

static struct method_run *make(struct thread_pool *pool)
{
    struct method_run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    run->base.env.pool = pool;
    run->multi_start.table = &table;
    run->goal = goals;
    run->refuse_create = run->refuse_objective = -1;
    multi_start_begin(&run->multi_start);
    return run;
}

static void unmake(struct method_run *run)
{
    multi_start_close(&run->multi_start);
    assert_int_equal(run->multi_start.count, 0);
    assert_int_equal(run->created, run->destroyed);
    free(run);
}

static struct sum_fit *fit_of(const struct method_run *run, int i)
{
    return run->multi_start.fit[i];
}

static struct thread_pool *pool;

static int open_pool(void **state)
{
    struct error err = {0};
    return thread_pool_create(3, &pool, &err) != STATUS_OK;
}

static int close_pool(void **state)
{
    thread_pool_destroy(pool);
    return 0;
}

static void best_fit_is_kept_under_the_names_of_the_first(void **state)
{
    struct method_run *run = make(pool);
    struct error err = {0};
    assert_int_equal(multi_start_open(run, &run->multi_start, FITS, &err), STATUS_OK);
    assert_int_equal(run->multi_start.count, FITS);
    for (int i = 0; i < FITS; i++) {
        char prefix[32] = "";
        if (i > 0)
            snprintf(prefix, sizeof prefix, "restart%d.", i);
        assert_string_equal(fit_of(run, i)->prefix, prefix);
        assert_true(fit_of(run, i)->alone && fit_of(run, i)->start == i);
    }
    for (int u = 0; u < 3; u++)
        assert_int_equal(multi_start_update(run, &run->multi_start, &err), STATUS_OK);
    for (int i = 0; i < FITS; i++)
        assert_true(fit_of(run, i)->updates == 3 && fit_of(run, i)->weight->value[0] == (real)(3 * (i + 1)));
    assert_true(run->multi_start.chosen == -1 && isnan(run->multi_start.objective) && isnan(run->multi_start.worst));

    assert_int_equal(multi_start_choose(run, &run->multi_start, &err), STATUS_OK);
    /* starts 1 and 3 have equal objectives, and the first of them is chosen */
    const struct sum_fit *kept = fit_of(run, 0);
    assert_true(run->multi_start.count == 1 && run->multi_start.chosen == 1);
    assert_true(run->multi_start.objective == 1 && run->multi_start.worst == 5);
    assert_true(kept->weight->value[0] == 6 && kept->updates == 3 && !kept->alone);
    assert_string_equal(kept->prefix, "");
    assert_int_equal(multi_start_update(run, &run->multi_start, &err), STATUS_OK);
    assert_true(kept->updates == 4);
    unmake(run);
}

static void single_fit_is_kept_unchanged(void **state)
{
    struct method_run *run = make(pool);
    struct error err = {0};
    assert_int_equal(multi_start_open(run, &run->multi_start, 1, &err), STATUS_OK);
    void *only = run->multi_start.fit[0];
    assert_false(fit_of(run, 0)->alone);
    assert_int_equal(multi_start_choose(run, &run->multi_start, &err), STATUS_OK);
    assert_ptr_equal(run->multi_start.fit[0], only);
    assert_true(run->multi_start.chosen == 0 && run->multi_start.objective == 3 && run->multi_start.worst == 3);
    unmake(run);
}

static void after_the_choice_only_the_chosen_fit_is_opened(void **state)
{
    for (int chosen = 0; chosen < FITS; chosen++) {
        struct method_run *run = make(pool);
        struct error err = {0};
        run->multi_start.chosen = chosen;
        assert_int_equal(multi_start_open(run, &run->multi_start, FITS, &err), STATUS_OK);
        assert_true(run->multi_start.count == 1 && fit_of(run, 0)->start == chosen && !fit_of(run, 0)->alone);
        assert_string_equal(fit_of(run, 0)->prefix, "");
        unmake(run);
    }
}

static void first_error_in_order_of_fits_is_returned(void **state)
{
    struct method_run *run = make(pool);
    struct error err = {0};
    assert_int_equal(multi_start_open(run, &run->multi_start, FITS, &err), STATUS_OK);
    run->fails = 1u << 4 | 1u << 2;
    assert_int_equal(multi_start_update(run, &run->multi_start, &err), STATUS_NUMERIC);
    assert_string_equal(err.message, "start 2 is not finite");
    /* fits run in parallel, so fits after the failed one are updated too */
    assert_true(fit_of(run, 3)->updates == 1);

    /* With several ranks, the fits are updated one after the other, so that all ranks make the same calls in the same
     * order. Fit 2 fails, so fit 3 is not updated any more. */
    struct comm ranks = {.size = 2};
    run->base.env.comm = &ranks;
    error_clear(&err);
    assert_int_equal(multi_start_update(run, &run->multi_start, &err), STATUS_NUMERIC);
    assert_string_equal(err.message, "start 2 is not finite");
    assert_true(fit_of(run, 1)->updates == 2 && fit_of(run, 3)->updates == 1);
    unmake(run);
}

static void after_a_failure_everything_can_be_closed(void **state)
{
    struct error err = {0};
    for (int at = 0; at < FITS; at++) { /* in each round another call of create() fails */
        struct method_run *run = make(pool);
        run->refuse_create = at;
        error_clear(&err);
        assert_int_equal(multi_start_open(run, &run->multi_start, FITS, &err), STATUS_NO_MEMORY);
        assert_int_equal(run->multi_start.count, at);
        unmake(run);
    }
    /* in each round a call of objective() fails; for -1, create() of the fit that replaces all others fails */
    for (int at = -1; at < FITS; at++) {
        struct method_run *run = make(pool);
        error_clear(&err);
        assert_int_equal(multi_start_open(run, &run->multi_start, FITS, &err), STATUS_OK);
        run->refuse_objective = at;
        run->refuse_create = at < 0 ? FITS : -1;
        assert_int_equal(multi_start_choose(run, &run->multi_start, &err), at < 0 ? STATUS_NO_MEMORY : STATUS_NUMERIC);
        assert_true(run->multi_start.count == FITS && run->multi_start.chosen == -1 && isnan(run->multi_start.worst));
        unmake(run);
    }
}

static enum status declare(void *owner, struct snapshot *snapshot, struct error *err)
{
    struct method_run *run = owner;
    return multi_start_snapshot(&run->multi_start, SNAPSHOT_WEIGHT, snapshot, err);
}

struct stream {
    char bytes[4096];
    size_t count;
};

static enum status write_stream(void *context, const void *bytes, size_t count, struct error *err)
{
    struct stream *s = context;
    assert_true(s->count + count <= sizeof s->bytes);
    memcpy(s->bytes + s->count, bytes, count);
    s->count += count;
    return STATUS_OK;
}

static enum status read_stream(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct stream *s = context;
    assert_true(offset + count <= s->count);
    memcpy(bytes, s->bytes + offset, count);
    return STATUS_OK;
}

static void all_fits_are_saved_unless_a_weight_is_not_finite(void **state)
{
    struct error err = {0};
    struct method_run *run = make(pool), *other = make(pool);
    struct stream stream = {.count = 0};
    uint64_t bytes;
    assert_int_equal(multi_start_open(run, &run->multi_start, 3, &err), STATUS_OK);
    assert_int_equal(multi_start_open(other, &other->multi_start, 3, &err), STATUS_OK);
    assert_int_equal(multi_start_update(run, &run->multi_start, &err), STATUS_OK);
    const struct snapshot_writer to = {&stream, write_stream};
    assert_int_equal(snapshot_save(declare, run, &to, &bytes, &err), STATUS_OK);
    const struct snapshot_reader from = {&stream, stream.count, read_stream};
    assert_int_equal(snapshot_load(declare, other, &from, SNAPSHOT_ALL, &err), STATUS_OK);
    for (int i = 0; i < 3; i++)
        assert_true(fit_of(other, i)->weight->value[0] == (real)(i + 1));

    assert_int_equal(multi_start_check(&run->multi_start, &err), STATUS_OK);
    fit_of(run, 2)->weight->value[0] = (real)NAN;
    assert_int_equal(multi_start_check(&run->multi_start, &err), STATUS_NUMERIC);
    assert_non_null(strstr(err.message, "restart2.w"));
    unmake(run);
    unmake(other);
}

static void an_impossible_choice_in_a_checkpoint_is_refused(void **state)
{
    struct method_run *run = make(pool);
    struct error err = {0};
    for (int chosen = -2; chosen <= FITS; chosen += FITS + 2) {
        run->multi_start.chosen = chosen;
        assert_int_equal(multi_start_open(run, &run->multi_start, FITS, &err), STATUS_CORRUPT);
    }
    unmake(run);
}

static void fraction_counts_all_fits(void **state)
{
    struct multi_start many = {.count = 4}, one = {.count = 1};
    /* All four fits do 20 of 100 updates each. Then the best one does the other 80. The work is 4 * 20 + 80 = 160
     * updates. */
    assert_true(multi_start_part(&many, 4, 20, 0, 100) == 0);
    assert_true(multi_start_part(&many, 4, 20, 10, 100) == 40.0 / 160);
    assert_true(multi_start_part(&many, 4, 20, 20, 100) == multi_start_part(&one, 4, 20, 20, 100));
    assert_true(multi_start_part(&one, 4, 20, 60, 100) == 120.0 / 160);
    assert_true(multi_start_part(&one, 4, 20, 100, 100) == 1);
    /* Without an early choice, all fits run to the end. */
    assert_true(multi_start_part(&many, 4, 0, 50, 100) == 0.5);
    assert_true(multi_start_part(&many, 4, 500, 50, 100) == 0.5);
    assert_true(multi_start_part(&one, 1, 0, 25, 100) == 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_fit_is_kept_under_the_names_of_the_first),
        cmocka_unit_test(single_fit_is_kept_unchanged),
        cmocka_unit_test(after_the_choice_only_the_chosen_fit_is_opened),
        cmocka_unit_test(first_error_in_order_of_fits_is_returned),
        cmocka_unit_test(after_a_failure_everything_can_be_closed),
        cmocka_unit_test(all_fits_are_saved_unless_a_weight_is_not_finite),
        cmocka_unit_test(an_impossible_choice_in_a_checkpoint_is_refused),
        cmocka_unit_test(fraction_counts_all_fits),
    };
    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
