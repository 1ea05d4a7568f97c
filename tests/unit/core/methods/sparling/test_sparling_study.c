/* Tests studies with several seeds, on any number of ranks (which are threads here). Each seed has the result of a job
 * of its own, series are in the order of seeds, and any number of ranks continues from a checkpoint. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/methods/sparling/run_int.h"
#include "core/methods/sparling/sparling.h"
#include "tests/support/rank_threads.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_network.h"

static const struct method *const method = &sparling_method;

enum { RANKS = 6, SEEDS = 4, FIRST = 7 };

/* A stage ends as soon as any label is correct, so seeds end their stages at different times. */
static const struct config_setting tiny[] = {TINY_NETWORK,
                                             {"image_size", "40"},
                                             {"max_symbols", "1"},
                                             {"margin", "9"},
                                             {"min_radius", "5"},
                                             {"motifs", "4"},
                                             {"batch", "4"},
                                             {"learning_rate", "1e-2"},
                                             {"validation_every", "20"},
                                             {"validation_samples", "8"},
                                             {"checkpoint_every", "40"},
                                             {"total_samples", "160"},
                                             {"density_start", "0.4"},
                                             {"density_factor", "0.5"},
                                             {"density_final", "0.06"},
                                             {"motif_samples", "6"},
                                             {"test_samples", "6"},
                                             {"stage_samples", "5"},
                                             {"target_start", "0"},
                                             {"target_min", "0"},
                                             {"minimal_spacing", "0"},
                                             {"seed", "7"},
                                             {NULL, NULL}};

static void configure(struct sparling_config *config, const struct config_setting *more)
{
    memset(config, 0, sizeof *config);
    assert_ok(config_defaults(&sparling_config_table, config, err));
    assert_ok(config_apply(&sparling_config_table, config, tiny, err));
    if (more)
        assert_ok(config_apply(&sparling_config_table, config, more, err));
}

static void same_studies(const struct method_run *a, const struct method_run *b)
{
    size_t found = (size_t)a->config.seeds * STUDY_SAMPLES * STUDY_EACH;
    assert_int_equal(a->phase, PHASE_DONE);
    assert_int_equal(b->phase, PHASE_DONE);
    assert_memory_equal(a->study.row, b->study.row, sizeof a->study.row);
    assert_memory_equal(a->study.motifs, b->study.motifs, found * sizeof *a->study.motifs);
    assert_int_equal(a->study.distribution.seen_before, b->study.distribution.seen_before);
    assert_int_equal(distribution_work(&a->study.distribution), distribution_work(&b->study.distribution));
}

/* Compares the stages of the last seed in two runs: all figures, and whether a checkpoint exists. */
static void same_stages(const struct method_run *a, const struct method_run *b)
{
    assert_int_equal(a->evaluation.rows, b->evaluation.rows);
    for (int64_t i = 0; i < a->evaluation.rows; i++) {
        struct evaluation_row one = a->evaluation.row[i], two = b->evaluation.row[i];
        assert_int_equal(one.checkpoint < 0, two.checkpoint < 0);
        one.checkpoint = two.checkpoint = 0;
        assert_memory_equal(&one, &two, sizeof one);
    }
}

static const struct config_setting many[] = {{"seeds", "4"}, {NULL, NULL}};

/* ---- tests --------------------------------------------------------------------------------------------------- */

static void study_gives_each_seed_the_result_of_its_own_run(void **state)
{
    struct sparling_config config, single;
    struct story *story = calloc(2, sizeof *story), *own = story + 1;
    assert_non_null(story);
    configure(&config, many);
    struct rank_thread *study = rank_threads_run(method, &config, 1, NULL, 0, story);
    rank_threads_went_well(study, 1);
    assert_true(story_has_file(story, "study.png") && story_has_file(story, "study.csv"));
    int64_t samples = 0;
    for (int i = 0; i < SEEDS; i++) {
        char seed[4];
        snprintf(seed, sizeof seed, "%d", FIRST + i);
        memset(own, 0, sizeof *own);
        configure(&single, (const struct config_setting[]){{"seed", seed}, {NULL, NULL}});
        struct rank_thread *alone = rank_threads_run(method, &single, 1, NULL, 0, own);
        rank_threads_went_well(alone, 1);
        const struct study_row *row = &study->run->study.row[i];
        const struct evaluation_row *last = &alone->run->evaluation.row[alone->run->evaluation.rows - 1];
        assert_true(row->seed == FIRST + i);
        assert_true(row->figure[0] == last->fpe && row->figure[1] == last->fne && row->figure[3] == last->e2ee);
        assert_true(row->validation == alone->run->best_accuracy && row->samples == (double)alone->run->samples);
        if (i == SEEDS - 1) {
            rank_threads_same_weights(study, alone);
            same_stages(study->run, alone->run);
            assert_true(last->checkpoint > 0 &&
                        alone->run->evaluation.rows > 1); /* with a single stage, the test would show little */
        }
        samples += alone->run->samples;
        rank_threads_close(alone, 1);
    }
    assert_int_equal(study->progress.samples, samples);
    assert_int_equal(study->progress.step, samples / 4);
    for (int i = 1; i < story->points; i++)
        assert_true(story->point[i].samples >= story->point[i - 1].samples);
    rank_threads_close(study, 1);
    free(story);
}

static void any_number_of_ranks_gives_same_study(void **state)
{
    struct sparling_config config;
    struct story *story = calloc(2, sizeof *story);
    assert_non_null(story);
    configure(&config, many);
    struct rank_thread *one = rank_threads_run(method, &config, 1, NULL, 0, story);
    rank_threads_went_well(one, 1);
    /* One of these runs has more ranks than seeds. */
    for (int ranks = SANITIZED ? RANKS : 2; ranks <= RANKS; ranks += 2) {
        memset(&story[1], 0, sizeof story[1]);
        struct rank_thread *all = rank_threads_run(method, &config, ranks, NULL, 0, &story[1]);
        rank_threads_went_well(all, ranks);
        rank_threads_same_weights(one, all);
        for (int i = 0; i < ranks; i++) {
            same_studies(one->run, all[i].run);
            same_stages(one->run, all[i].run);
        }
        rank_threads_same_stories(&story[0], &story[1]);
        rank_threads_close(all, ranks);
    }
    rank_threads_close(one, 1);
    free(story);
}

/* The number of ranks changes every few updates. A study that continues from a checkpoint does not publish points
 * before the checkpoint again. */
static void any_number_of_ranks_continues_a_study(void **state)
{
    static const int courses[][4] = {{3, 1, 2, 4}, {1, 6, 1, 3}};
    struct sparling_config config;
    struct story *story = calloc(2, sizeof *story);
    assert_non_null(story);
    configure(&config, many);
    struct rank_thread *one = rank_threads_run(method, &config, 1, NULL, 0, story);
    rank_threads_went_well(one, 1);
    for (size_t c = 0; c < sizeof courses / sizeof courses[0]; c++) {
        struct run_env_bytes bytes = {0};
        memset(&story[1], 0, sizeof story[1]);
        bool done = false;
        for (int turn = 0; !done && turn < 40; turn++) {
            int ranks = courses[c][turn % 4];
            struct rank_thread *all =
                rank_threads_run(method, &config, ranks, turn > 0 ? &bytes : NULL, 17 * (turn + 1) + 3, &story[1]);
            rank_threads_went_well(all, ranks);
            run_env_bytes_close(&bytes);
            bytes = all[0].saved;
            all[0].saved = (struct run_env_bytes){0};
            done = all[0].run->phase == PHASE_DONE;
            rank_threads_close(all, ranks);
        }
        struct rank_thread *all = rank_threads_run(method, &config, 2, &bytes, 0, &story[1]);
        rank_threads_went_well(all, 2);
        rank_threads_same_weights(one, all);
        same_studies(one->run, all->run);
        rank_threads_same_stories(&story[0], &story[1]);
        rank_threads_close(all, 2);
        run_env_bytes_close(&bytes);
    }
    rank_threads_close(one, 1);
    free(story);
}

static void impossible_states_are_refused_on_all_ranks(void **state)
{
    struct sparling_config config;
    configure(&config, many);
    struct rank_thread *part = rank_threads_run(method, &config, 3, NULL, 70, NULL);
    rank_threads_went_well(part, 3);
    struct snapshot_entry *contents = NULL;
    size_t count = 0, tried = 0;
    struct snapshot_reader reader = run_env_reader(&part->saved);
    assert_ok(snapshot_contents(&reader, &contents, &count, err));
    for (size_t i = 0; i < count; i++) {
        const char *name = contents[i].name;
        bool blob = strncmp(name, "distribution.item.", 18) == 0;
        if (strcmp(name, "distribution.at") != 0 && strcmp(name, "distribution.items") != 0 &&
            strcmp(name, "distribution.shown") != 0 && strncmp(name, "distribution.points", 19) != 0 && !blob)
            continue;
        char *at = part->saved.data + contents[i].offset, kept[16];
        memcpy(kept, at, sizeof kept);
        memset(at, 0xf4, 8); /* these bytes are a large negative number, as integer and as double */
        struct rank_thread *all = rank_threads_run(method, &config, 2, &part->saved, 0, NULL);
        for (int r = 0; r < 2; r++)
            if (all[r].status != STATUS_CORRUPT)
                fail_msg("%s: ranks: %d %s; %d %s", name, all[0].status, all[0].error.message, all[1].status,
                         all[1].error.message);
        rank_threads_close(all, 2);
        memcpy(at, kept, sizeof kept);
        tried++;
    }
    assert_true(tried >= 6);
    free(contents);
    rank_threads_close(part, 3);
}

static char *bytes_of(struct run_env_bytes *in, const char *name, size_t *count)
{
    struct snapshot_entry *contents = NULL;
    size_t entries = 0;
    char *found = NULL;
    struct snapshot_reader reader = run_env_reader(in);
    assert_ok(snapshot_contents(&reader, &contents, &entries, err));
    for (size_t i = 0; i < entries; i++)
        if (strcmp(contents[i].name, name) == 0) {
            found = in->data + contents[i].offset;
            *count = (size_t)contents[i].bytes;
        }
    free(contents);
    if (!found)
        fail_msg("no entry %s", name);
    return found;
}

/* If one seed has a weight that is not finite, all ranks get the same error. */
static void failing_seed_stops_the_study(void **state)
{
    const float broken = NAN;
    struct sparling_config config;
    size_t count = 0;
    configure(&config, many);
    struct rank_thread *part = rank_threads_run(method, &config, 3, NULL, 30, NULL);
    rank_threads_went_well(part, 3);
    struct run_env_bytes seed = {.data = bytes_of(&part->saved, "distribution.item.0", &count)};
    seed.count = seed.room = count;
    memcpy(bytes_of(&seed, "h.out.bias", &count), &broken, sizeof broken);
    for (int ranks = 1; ranks <= 3; ranks++) {
        struct rank_thread *all = rank_threads_run(method, &config, ranks, &part->saved, 0, NULL);
        for (int r = 0; r < ranks; r++) {
            assert_int_equal(all[r].status, STATUS_NUMERIC);
            assert_string_equal(all[r].error.message, all[0].error.message);
            assert_non_null(strstr(all[r].error.message, ranks == 1 ? "no checkpoint" : "in seed 7 of the study"));
        }
        rank_threads_close(all, ranks);
    }
    rank_threads_close(part, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(study_gives_each_seed_the_result_of_its_own_run),
        cmocka_unit_test(any_number_of_ranks_gives_same_study),
        cmocka_unit_test(any_number_of_ranks_continues_a_study),
        cmocka_unit_test(impossible_states_are_refused_on_all_ranks),
        cmocka_unit_test(failing_seed_stops_the_study),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
