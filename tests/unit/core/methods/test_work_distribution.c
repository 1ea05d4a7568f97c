/* Tests lists of cases on several ranks (which are threads here). Any number of ranks gives the figures, the series and
 * the last model of a single rank, and continues from a checkpoint of any other number of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/methods/shared/case_sweep.h"
#include "tests/support/rank_threads.h"
#include "tests/support/rank_run.h"

enum { CONFIG_BYTES = 1 << 16 };

struct list {
    const char *kind;
    struct config_setting more[24];
    int64_t every; /* number of updates between changes of the number of ranks */
};

/* The lists have cases with and without training, and cases with several fits. In one list, the last case is not
 * trained. */
static const struct list lists[] = {
    {"superposition",
     {{"experiment", "loss-ratio"},
      {"models", "trained,rug"},
      {"sizes", "32"},
      {"ps", "0.1,0.3"},
      {"ratios", "0.25,0.5"},
      {"batch", "40"},
      {"block", "100"},
      {"total_samples", "900"},
      {"test_samples", "300"},
      {"checkpoint_every", "300"},
      {"draws", "2"},
      {"stop", "never"}},
     60},
    {"factors",
     {{"experiment", "rho"},
      {"models", "sparse-vae,vsc"},
      {"rhos", "0,0.5"},
      {"datasets", "2"},
      {"rows", "120"},
      {"batch", "25"},
      {"epochs", "5"},
      {"restarts", "3"},
      {"screen_epochs", "2"},
      {"checkpoint_every", "50"}},
     70},
    {"environments",
     {{"sweep", "corruption"},
      {"values", "0,0.5"},
      {"seeds", "3"},
      {"depth", "3"},
      {"samples", "30"},
      {"updates", "45"},
      {"batch", "30"},
      {"factors", "3"},
      {"latent", "3"},
      {"inputs", "5"},
      {"restarts", "2"},
      {"screen_updates", "20"},
      {"checkpoint_every", "400"}},
     60},
};

static void *configured(const struct list *list, const struct method **method)
{
    void *config = calloc(1, CONFIG_BYTES);
    *method = method_find(list->kind);
    assert_true(config && *method);
    assert_ok(rank_configure(*method, NULL, list->more, config, err));
    return config;
}

static void same_sweeps(const struct method_run *a, const struct method_run *b)
{
    const struct case_sweep *one = case_sweep_in(a), *two = case_sweep_in(b);
    assert_int_equal(one->phase, CASE_SWEEP_DONE);
    assert_int_equal(two->phase, CASE_SWEEP_DONE);
    assert_int_equal(one->at, two->at);
    assert_memory_equal(one->outcomes, two->outcomes, (size_t)one->count * (size_t)one->columns * sizeof(double));
    assert_int_equal(distribution_work(&one->distribution), distribution_work(&two->distribution));
    assert_int_equal(one->distribution.seen_before, two->distribution.seen_before);
}

static void any_number_of_ranks_gives_same_cases(void **state)
{
    struct story *story = calloc(2, sizeof *story);
    assert_non_null(story);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const struct method *method;
        void *config = configured(&lists[i], &method);
        memset(story, 0, 2 * sizeof *story);
        struct rank_thread *one = rank_threads_run(method, config, 1, NULL, 0, &story[0]);
        rank_threads_went_well(one, 1);
        assert_true(case_sweep_in(one->run)->count > 3 && story->points > 10 && story->file_count > 0);
        assert_true(one->progress.fraction == 1);
        for (int ranks = 2; ranks <= 8; ranks += 3) {
            memset(&story[1], 0, sizeof story[1]);
            struct rank_thread *all = rank_threads_run(method, config, ranks, NULL, 0, &story[1]);
            rank_threads_went_well(all, ranks);
            rank_threads_same_weights(one, all);
            for (int r = 0; r < ranks; r++)
                same_sweeps(one->run, all[r].run);
            rank_threads_same_stories(&story[0], &story[1]);
            assert_int_equal(story[0].file_count, story[1].file_count);
            rank_threads_close(all, ranks);
        }
        rank_threads_close(one, 1);
        free(config);
    }
    free(story);
}

static void any_number_of_ranks_continues_a_list(void **state)
{
    static const int rank_counts[] = {3, 1, 2, 5};
    struct story *story = calloc(2, sizeof *story);
    assert_non_null(story);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const struct method *method;
        struct run_env_bytes bytes = {0};
        void *config = configured(&lists[i], &method);
        memset(story, 0, 2 * sizeof *story);
        struct rank_thread *one = rank_threads_run(method, config, 1, NULL, 0, &story[0]);
        rank_threads_went_well(one, 1);
        bool done = false;
        for (int turn = 0; !done && turn < 100; turn++) {
            int ranks = rank_counts[turn % 4];
            struct rank_thread *all = rank_threads_run(method, config, ranks, turn > 0 ? &bytes : NULL,
                                                       lists[i].every * (turn + 1), &story[1]);
            rank_threads_went_well(all, ranks);
            run_env_bytes_close(&bytes);
            bytes = all[0].saved;
            all[0].saved = (struct run_env_bytes){0};
            done = case_sweep_in(all[0].run)->phase == CASE_SWEEP_DONE;
            rank_threads_close(all, ranks);
        }
        struct rank_thread *all = rank_threads_run(method, config, 2, &bytes, 0, &story[1]);
        rank_threads_went_well(all, 2);
        rank_threads_same_weights(one, all);
        same_sweeps(one->run, all->run);
        rank_threads_same_stories(&story[0], &story[1]);
        rank_threads_close(all, 2);
        run_env_bytes_close(&bytes);
        rank_threads_close(one, 1);
        free(config);
    }
    free(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks_gives_same_cases),
        cmocka_unit_test(any_number_of_ranks_continues_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
