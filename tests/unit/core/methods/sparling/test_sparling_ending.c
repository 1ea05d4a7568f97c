/* Tests how a run of SPARLING decides when to end. The run continues the best of several starts and ends when it no
 * longer improves. Then a calibration follows. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/methods/sparling/training/calibrate.h"
#include "core/methods/sparling/training/phases/head_phase.h"
#include "core/methods/sparling/training/train.h"
#include "tests/support/presence_trial.h"
#include "tests/support/sanitized.h"

/* Settings of a run that ends by itself. After two validations at the last density without an improvement, the
 * learning rate falls. Four validations later, the calibration begins. */
static const struct config_setting own_end[] = {{"patience", "2"},
                                                {"calibrate", "true"},
                                                {"centre_motifs", "true"},
                                                {"total_samples", "800"},
                                                {"learning_rate_final", "0.1"},
                                                {"first_window", "3"},
                                                {NULL, NULL}};

/* The end of a run that a test has driven step by step with one thread and without pauses. A later test compares it
 * with runs that have the same settings. */
struct whole {
    char weights[65];
    unsigned char digest[HASH_BYTES];
};
static struct whole own_end_whole, never_empty_whole, limited_whole, reads_whole, returning_whole, starts_whole;

static void finish(struct trial *t, struct whole *whole)
{
    trial_finish(t, whole->weights, whole->digest);
}

static void a_run_ends_when_it_no_longer_improves(void **state)
{
    struct trial t;
    trial_begin(&t, own_end, 1);
    while (t.run->ending.from == 0)
        assert_true(trial_step(&t) != METHOD_DONE && t.run->samples < 800);
    assert_true(t.run->ending.flat >= 2 || t.run->accuracy > t.run->annealer.target);
    assert_true(t.run->ending.to >= t.run->ending.from + 4 * 16 && t.run->ending.to <= 800);
    int64_t end_at = t.run->ending.to;
    double share = 1;
    while (t.run->activity == ACTIVITY_TRAIN || t.run->activity == ACTIVITY_VALIDATE) {
        trial_step(&t);
        share = plan_now(t.run)->name == PHASE_FALLING_RATE ? run_rate_share(t.run) : share;
    }
    assert_int_equal(t.run->samples, end_at);
    assert_true(end_at < 800);
    assert_int_equal(t.run->activity, ACTIVITY_CALIBRATE);
    assert_true(fabs(share - 0.1) < 1e-9);
    trial_end(&t);
}

/* Numbers of validation samples of a calibrated model. with: samples with the name; missed: samples with the name in
 * which its channel is inactive; wrong: samples without the name in which its channel is active; empty: samples with an
 * empty map. */
struct balance {
    int with[4], missed[4], wrong[4], empty;
};

static struct balance balance_of(struct trial *t)
{
    struct balance b = {0};
    for (int first = 0; first < 2000; first += 4) {
        const struct batch *batch;
        struct batch_request request = {.seed = VALIDATION_SEED, .first = first, .seen = first, .count = 4};
        assert_ok(batch_source_take(t->run->source, &request, NULL, &batch, err));
        exec_begin(&t->run->exec, false, 0);
        struct tensor *map = network_motifs(&t->run->exec, t->run->network, batch->images, 4, 1);
        for (int i = 0; i < 4; i++) {
            int active = 0;
            for (int k = 0; k < map->map.channels; k++) {
                bool is = false, has = false;
                for (int row = 0; row < TRIAL_SIZE; row++)
                    for (int col = 0; col < TRIAL_SIZE; col++)
                        is |= map->data[map_offset(&map->map, i, 0, row, col) + k] > 0;
                for (int j = 0; j < batch->truths[i].length; j++)
                    has |= batch->truths[i].label[j] == k;
                active += is;
                if (k < 4) {
                    b.with[k] += has;
                    b.missed[k] += has && !is;
                    b.wrong[k] += is && !has;
                }
            }
            b.empty += active == 0;
        }
    }
    return b;
}

/* For each channel, the calibration balances two numbers of samples: missed samples, which have its name although the
 * channel is inactive, and false samples, in which the channel is active without its name. Afterwards the numbers are
 * nearly equal, and no more samples are false than missed. */
static void a_calibration_balances_missed_and_false_samples_of_each_name(void **state)
{
    struct trial t;
    trial_begin(&t, own_end, 1);
    while (t.run->activity != ACTIVITY_CALIBRATE)
        trial_step(&t);
    real mean = t.run->network->unit[0].norm2.mean->value[0];
    struct params *params = t.run->network->params;
    char before[HASH_TEXT], after[HASH_TEXT];
    trial_hash(&t, "", before);
    while (t.run->activity == ACTIVITY_CALIBRATE)
        trial_step(&t);
    trial_hash(&t, "", after);
    assert_string_equal(before, after); /* the calibration does not change trained weights */
    assert_true(params_find(params, "sparse.threshold") && t.run->network->unit[0].norm2.mean->value[0] != mean);
    assert_true(t.run->network->unit[0].norm2.momentum == BATCH_NORM_MOMENTUM);
    struct balance b = balance_of(&t);
    for (int k = 0; k < 4; k++) {
        /* the calibration draws the 18 validation samples many times, so a single sample counts about 112 times */
        assert_true(b.with[k] > 100 && b.wrong[k] <= b.missed[k]);
        assert_true(b.wrong[k] + 120 > b.missed[k] - 120);
    }
    finish(&t, &own_end_whole);
}

/* A threshold lies between two scores, so peaks with the same score are active together or not at all. Without ties,
 * peaks are active down to the one at which the numbers of false and of missed peaks are balanced. */
static void peaks_with_the_same_score_are_active_together(void **state)
{
    struct calibration_score different[] = {{9, true}, {8, false}, {7, true}, {6, false}, {5, false}, {4, true}};
    struct calibration_score equal[] = {{9, false}, {9, false}, {9, false}, {9, true}, {9, true}, {8, true}, {7, true}};
    struct channel_peaks p = {.score = different, .count = 6, .with = 3};
    assert_int_equal(calibration_active_peaks(&p), 3); /* one false and one missed peak; with the next, two are false */
    p.wrong = 4;
    assert_int_equal(calibration_active_peaks(&p), 0);
    p = (struct channel_peaks){.score = equal, .count = 7, .with = 4};
    assert_int_equal(calibration_active_peaks(&p), 5); /* balanced after four, among the five with the score 9 */
    p.with = 20;
    assert_int_equal(calibration_active_peaks(&p), 7);
    struct calibration_score second[] = {{9, true}, {8, false}, {8, false}, {8, true}, {8, true}, {7, false}};
    p = (struct channel_peaks){.score = second, .count = 6, .with = 4};
    assert_int_equal(calibration_active_peaks(&p), 5); /* two false and one missed peak, instead of none and three */
    second[4].has = second[3].has = false;
    p.with = 2;
    assert_int_equal(calibration_active_peaks(&p), 1); /* with the second score, four false and one missed peak */
    struct calibration_score diverged[] = {{NAN, true}, {NAN, false}};
    p = (struct channel_peaks){.score = diverged, .count = 2, .with = 1};
    assert_in_range(calibration_active_peaks(&p), 0, 2); /* ends */
}

/* A run in which the strongest position of an input is active if no other is. */
static const struct config_setting never_empty[] = {{"patience", "2"},
                                                    {"motifs", "4"},
                                                    {"calibrate", "true"},
                                                    {"total_samples", "800"},
                                                    {"learning_rate_final", "0.1"},
                                                    {"first_window", "3"},
                                                    {"reading_samples", "1000"},
                                                    {"never_empty", "true"},
                                                    {NULL, NULL}};

static void no_map_is_empty_if_no_label_is(void **state)
{
    struct trial t;
    trial_begin(&t, never_empty, 1);
    while (t.run->activity != ACTIVITY_CALIBRATE)
        trial_step(&t);
    while (t.run->activity == ACTIVITY_CALIBRATE)
        trial_step(&t);
    struct balance lifted = balance_of(&t);
    t.run->network->config.never_empty = false;
    struct balance plain = balance_of(&t);
    t.run->network->config.never_empty = true;
    assert_true(plain.empty > 0);
    assert_int_equal(lifted.empty, 0);
    /* The calibration also counts the motifs that never_empty makes active. The 18 validation samples count about 112
     * times each. */
    for (int k = 0; k < 4; k++)
        assert_true(lifted.wrong[k] <= lifted.missed[k] + 240);
    finish(&t, &never_empty_whole);
}

/* Trains with more threads and with pauses every few steps. The weights and all metrics must be those of `whole`. */
static void assert_independent_of_threads_and_pauses(const struct config_setting *settings, const struct whole *whole)
{
    static const int every[] = {3, 41};
    struct whole other;
    for (int i = 0; i < (SANITIZED ? 1 : 2); i++) {
        trial_train(settings, 2 + i, every[i], other.weights, other.digest);
        assert_string_equal(whole->weights, other.weights);
        assert_memory_equal(whole->digest, other.digest, HASH_BYTES);
    }
}

static void training_with_never_empty_does_not_depend_on_threads_and_pauses(void **state)
{
    assert_independent_of_threads_and_pauses(never_empty, &never_empty_whole);
}

/* A run whose maps have at most two motifs after the calibration. */
static const struct config_setting limited[] = {{"patience", "2"},
                                                {"motifs", "4"},
                                                {"calibrate", "true"},
                                                {"total_samples", "800"},
                                                {"learning_rate_final", "0.1"},
                                                {"first_window", "3"},
                                                {"reading_samples", "1000"},
                                                {"most_names", "2"},
                                                {NULL, NULL}};

/* Returns the largest number of active channels of a validation sample. */
static int most_active(const struct trial *t)
{
    struct exec *e = &t->run->exec;
    int most = 0;
    for (int i = 0; i < 18; i++) {
        struct batch_request request = {.seed = VALIDATION_SEED, .first = i, .seen = i, .count = 1};
        const struct batch *batch;
        assert_int_equal(batch_source_take(t->run->source, &request, NULL, &batch, NULL), STATUS_OK);
        exec_begin(e, false, 0);
        const struct tensor *map = network_motifs(e, t->run->network, batch->images, 1, 1);
        int active = 0;
        for (int k = 0; k < map->map.channels; k++) {
            bool is = false;
            for (int row = 0; row < TRIAL_SIZE; row++)
                for (int col = 0; col < TRIAL_SIZE; col++)
                    is |= map->data[map_offset(&map->map, 0, 0, row, col) + k] > 0;
            active += is;
        }
        most = active > most ? active : most;
    }
    return most;
}

static void maps_are_limited_when_the_motif_model_is_final(void **state)
{
    struct trial t;
    trial_begin(&t, limited, 1);
    while (t.run->activity != ACTIVITY_CALIBRATE)
        trial_step(&t);
    assert_true(!t.run->network->limits && most_active(&t) > 2); /* the head still learns from all motifs */
    while (!head_phase_now(t.run))
        trial_step(&t);
    trial_step(&t);
    assert_true(t.run->network->limits);
    assert_int_equal(most_active(&t), 2);
    finish(&t, &limited_whole);
}

static void training_with_a_limit_does_not_depend_on_threads_and_pauses(void **state)
{
    assert_independent_of_threads_and_pauses(limited, &limited_whole);
}

static void own_end_and_calibration_do_not_depend_on_threads_and_pauses(void **state)
{
    assert_independent_of_threads_and_pauses(own_end, &own_end_whole);
}

/* After the calibration the head trains alone for a quarter of all samples. */
static const struct config_setting reads[] = {
    {"patience", "2"},     {"calibrate", "true"},       {"total_samples", "800"}, {"learning_rate_final", "0.1"},
    {"first_window", "3"}, {"reading_samples", "1000"}, {"tally_weight", "0.5"},  {NULL, NULL}};

static void the_head_trains_alone_on_the_maps_of_the_calibrated_model(void **state)
{
    struct trial t;
    char g[2][HASH_TEXT], sparse[2][HASH_TEXT], h[2][HASH_TEXT];
    trial_begin(&t, reads, 1);
    while (!head_phase_now(t.run))
        assert_true(trial_step(&t) != METHOD_DONE);
    assert_int_equal(t.run->activity, ACTIVITY_TRAIN);
    assert_int_equal(t.run->reading.to - t.run->reading.from, 200);
    assert_true(t.run->reading.from == t.run->samples && t.run->samples <= 600);
    assert_true(run_rate_share(t.run) == 1);
    double share = 1;
    for (int i = 0; i < 2; i++) {
        trial_hash(&t, "g.", g[i]);
        trial_hash(&t, "sparse.", sparse[i]);
        trial_hash(&t, "h.", h[i]);
        while (i == 0 && t.run->activity != ACTIVITY_EVALUATE) {
            trial_step(&t);
            share = head_phase_now(t.run) ? run_rate_share(t.run) : share;
        }
    }
    assert_string_equal(g[0], g[1]);
    assert_string_equal(sparse[0], sparse[1]);
    assert_string_not_equal(h[0], h[1]);
    assert_int_equal(t.run->samples, t.run->reading.to);
    assert_true(fabs(share - 0.1) < 1e-9);
    finish(&t, &reads_whole);
}

static void training_of_the_head_alone_does_not_depend_on_threads_and_pauses(void **state)
{
    assert_independent_of_threads_and_pauses(reads, &reads_whole);
}

/* The head trains alone for nine tenths of all samples, the most that is possible with reading_inputs, on four batches
 * that it reads in turn. */
static const struct config_setting returning[] = {
    {"patience", "2"},     {"calibrate", "true"},       {"total_samples", "800"}, {"learning_rate_final", "0.1"},
    {"first_window", "3"}, {"reading_samples", "1000"}, {"reading_inputs", "18"}, {"tally_weight", "0.5"},
    {NULL, NULL}};

/* Computes the maps of a batch of the last part with g. */
static const struct tensor *computed_maps(struct trial *t, int64_t first)
{
    struct batch_request request = {
        .seed = t->run->config.seed, .first = first, .count = 4, .seen = first, .set = DOMAIN_SAMPLE};
    const struct batch *batch;
    assert_ok(batch_source_take(t->run->source, &request, NULL, &batch, err));
    exec_begin(&t->run->exec, false, 0);
    return network_motifs(&t->run->exec, t->run->network, batch->images, 4, t->run->annealer.density);
}

static bool same_maps(const struct tensor *a, const struct tensor *b)
{
    return a && b && a->count == b->count && memcmp(a->data, b->data, a->count * sizeof *a->data) == 0;
}

static void the_head_reads_the_same_maps_again(void **state)
{
    struct trial t;
    trial_begin(&t, returning, 1);
    while (!head_phase_now(t.run))
        assert_true(trial_step(&t) != METHOD_DONE);
    int64_t from = t.run->reading.from;
    assert_int_equal(t.run->reading.to - from, 720);
    assert_int_equal(head_phase_first(t.run, from + 12), from + 12);
    assert_int_equal(head_phase_first(t.run, from + 16), from);
    assert_int_equal(head_phase_first(t.run, from + 16 * 9 + 4), from + 4);
    while (t.run->samples < from + 16)
        trial_step(&t);
    const struct map_cache *cache = &t.run->reading.trained;
    assert_true(cache->inputs == 16 && cache->values > 0 && cache->values <= cache->most);
    for (int first = 0; first < 16; first += 4) {
        const struct tensor *computed = computed_maps(&t, from + first);
        assert_true(same_maps(map_cache_get(cache, &t.run->exec, first, 4), computed));
    }
    while (t.run->samples < from + 20)
        trial_step(&t); /* a validation comes before the fifth update */
    assert_int_equal(t.run->reading.validated.inputs, t.run->config.validation_samples);
    assert_non_null(map_cache_get(&t.run->reading.validated, &t.run->exec, 0, 4));
    finish(&t, &returning_whole);
}

static void a_cache_keeps_maps_until_its_memory_is_full(void **state)
{
    struct trial t;
    struct map_cache cache;
    trial_begin(&t, returning, 1);
    while (!head_phase_now(t.run))
        trial_step(&t);
    int64_t from = t.run->reading.from;
    t.run->config.reading_inputs = 3; /* at least one batch */
    assert_int_equal(head_phase_first(t.run, from + 8), from);
    t.run->config.reading_inputs = 0; /* new samples all the time */
    assert_int_equal(head_phase_first(t.run, from + 8), from + 8);
    const struct tensor *maps = computed_maps(&t, 0);
    struct exec *e = &t.run->exec;
    assert_ok(map_cache_open(&cache, 6, 1 << 20, err));
    assert_null(map_cache_get(&cache, e, 0, 4));
    map_cache_add(&cache, 0, maps);
    int64_t all = cache.values;
    map_cache_add(&cache, 0, maps); /* they are there already */
    assert_true(all > 1 && cache.values == all);
    map_cache_add(&cache, 4, maps); /* there is room for two */
    assert_true(same_maps(map_cache_get(&cache, e, 0, 4), maps));
    assert_non_null(map_cache_get(&cache, e, 2, 4));
    assert_null(map_cache_get(&cache, e, 3, 4));
    map_cache_close(&cache);
    map_cache_close(&cache);
    assert_ok(map_cache_open(&cache, 4, all - 1, err));
    map_cache_add(&cache, 0, maps);
    assert_true(cache.values < all);
    assert_null(map_cache_get(&cache, e, 0, 4));
    map_cache_close(&cache);
    trial_end(&t);
}

static void training_on_maps_that_return_does_not_depend_on_threads_and_pauses(void **state)
{
    assert_independent_of_threads_and_pauses(returning, &returning_whole);
}

/* Runs until the learning rate begins to fall. Before each step, replaces the recorded accuracy of the first stage by
 * the best accuracy at the last density plus `more`. Writes hashes of the motif model's weights: to `stage` at the end
 * of the first stage, to `now` at the end of this function. */
static void reach_fall(struct trial *t, double more, char stage[HASH_TEXT], char now[HASH_TEXT])
{
    trial_begin(t, own_end, 1);
    while (t->run->annealer.stage + t->run->annealer.pending == 0)
        trial_step(t);
    trial_hash(t, "g.", stage);
    double density = t->run->annealer.density;
    assert_true(t->run->kept.density == density && t->run->kept.accuracy >= 0);
    while (t->run->ending.from == 0) {
        t->run->kept = (struct kept){fmin(1, t->run->ending.accuracy + more), density, 0};
        trial_step(t);
    }
    trial_hash(t, "g.", now);
}

static void a_run_goes_back_to_an_earlier_stage_that_read_the_labels_better(void **state)
{
    struct trial t;
    char stage[HASH_TEXT], now[HASH_TEXT];
    reach_fall(&t, 0.9, stage, now);
    assert_string_equal(stage, now);
    assert_int_equal(t.run->kept.restored, 1);
    double density = t.run->kept.density;
    assert_true(t.run->annealer.density == density && density > t.config.density_final * 1.5);
    for (int i = 0; i < 7; i++) {
        trial_step(&t);
        trial_reload(&t);
    }
    while (trial_step(&t) != METHOD_DONE)
        assert_true(t.run->annealer.density == density);
    assert_int_equal(t.run->samples, t.run->ending.to);
    const struct evaluation *e = &t.run->evaluation;
    assert_true(e->row[e->rows - 1].density == density);
    trial_end(&t);
}

static void a_run_keeps_the_last_density_when_an_earlier_stage_was_hardly_better(void **state)
{
    struct trial t;
    char stage[HASH_TEXT], now[HASH_TEXT];
    reach_fall(&t, 0.02, stage, now);
    assert_string_not_equal(stage, now);
    assert_int_equal(t.run->kept.restored, 0);
    assert_true(t.run->annealer.density == sparling_last_density(&t.config));
    trial_end(&t);
}

/* Three starts train with 32 samples each. Then the run trains the best start again and continues it. If the last start
 * is the best one, it is not trained again, because its weights are still in memory; the test takes the first seed with
 * another best start. */
static char start_seed[] = "1";
static const struct config_setting many_starts[] = {
    {"seed", start_seed}, {"starts", "3"}, {"presence_samples", "96"}, {"total_samples", "480"}, {NULL, NULL}};

/* Trains all starts, and writes the hashes of their weights. Returns the index of the best one. */
static int train_starts(struct trial *t, char first[3][HASH_TEXT])
{
    double lowest[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(t->run->starts.now, i);
        assert_int_equal(t->run->starts.samples, 32 * i);
        while (t->run->samples < 32 * (i + 1))
            trial_step(t);
        trial_hash(t, "g.", first[i]);
        while (t->run->starts.now == i && t->run->starts.count > 1)
            trial_step(t);
        lowest[i] = fmin(t->series.presence[2 * i], t->series.presence[2 * i + 1]);
    }
    assert_string_not_equal(first[0], first[1]);
    int best = lowest[1] < lowest[0] ? 1 : 0;
    best = lowest[2] < lowest[best] ? 2 : best;
    assert_int_equal(t->run->starts.best, best);
    assert_int_equal(t->run->starts.now, best);
    return best;
}

static void the_best_start_is_continued(void **state)
{
    struct trial t;
    char first[3][HASH_TEXT], again[HASH_TEXT];
    trial_begin(&t, many_starts, 1);
    int best = train_starts(&t, first);
    while (best == 2) {
        trial_end(&t);
        assert_true(++start_seed[0] <= '9');
        trial_begin(&t, many_starts, 1);
        best = train_starts(&t, first);
    }
    assert_int_equal(t.run->starts.samples, 96);
    while (t.run->samples < 128)
        trial_step(&t);
    trial_hash(&t, "g.", again);
    assert_string_equal(first[best], again); /* the same weights as before, bit by bit */
    while (trial_step(&t) != METHOD_DONE)
        ;
    assert_int_equal(t.run->samples, 480);
    finish(&t, &starts_whole);
}

static void starts_do_not_depend_on_threads_and_pauses(void **state)
{
    static const int every[] = {1, 5};
    struct whole other;
    for (int i = SANITIZED ? 1 : 0; i < 2; i++) {
        trial_train(many_starts, 2 + i, every[i], other.weights, other.digest);
        assert_string_equal(starts_whole.weights, other.weights);
        assert_memory_equal(starts_whole.digest, other.digest, HASH_BYTES);
    }
}

/* With an average, the run trains other values than those that it validates, saves and answers with. */
static const struct config_setting averaged[] = {{"patience", "2"},
                                                 {"calibrate", "true"},
                                                 {"total_samples", "800"},
                                                 {"learning_rate_final", "0.1"},
                                                 {"first_window", "3"},
                                                 {"reading_samples", "1000"},
                                                 {"select_by_validation", "true"},
                                                 {"weight_average", "0.9"},
                                                 {NULL, NULL}};

static void the_average_follows_the_weights(void **state)
{
    struct trial t;
    trial_begin(&t, averaged, 1);
    struct average *a = &t.run->average;
    real *values = params_values(t.run->network->params, NULL);
    assert_true(a->other && a->shown && a->updates == 0);
    const double kept[] = {1 / 10., 2 / 11., 3 / 12.}; /* rises to .9 */
    double expected = (double)values[5];
    average_hide(t.run);
    for (int i = 0; i < 3; i++) {
        values[5] = (real)i;
        average_update(t.run);
        expected = kept[i] * expected + (1 - kept[i]) * i;
    }
    average_show(t.run);
    assert_true(fabs((double)values[5] - expected) < 1e-5 && (double)a->other[5] == 2);
    average_hide(t.run);
    for (int i = 0; i < 200; i++)
        average_update(t.run);
    values[5] = 3;
    average_update(t.run);
    average_show(t.run);
    assert_true(fabs((double)values[5] - (0.9 * 2 + 0.1 * 3)) < 1e-5);
    average_restart(t.run);
    assert_true(a->other[5] == values[5] && a->updates == 0);
    trial_end(&t);
}

/* The weights of a checkpoint are the average, and a run that reads the checkpoint trains on from its own weights. */
static void validations_and_checkpoints_use_the_average(void **state)
{
    struct trial t;
    trial_begin(&t, averaged, 1);
    struct average *a = &t.run->average;
    size_t reals;
    const real *values = params_values(t.run->network->params, &reals);
    assert_int_equal(a->reals, reals);
    while (t.run->updates < 6)
        trial_step(&t);
    while (t.run->activity != ACTIVITY_VALIDATE)
        trial_step(&t);
    assert_false(a->shown);
    trial_step(&t);
    assert_true(a->shown && memcmp(a->other, values, reals * sizeof *values) != 0);
    trial_end(&t);
}

static void training_with_an_average_does_not_depend_on_threads_and_pauses(void **state)
{
    static const int every[] = {1, 5};
    struct whole whole, other;
    trial_train(averaged, 1, 0, whole.weights, whole.digest);
    for (int i = SANITIZED ? 1 : 0; i < 2; i++) {
        trial_train(averaged, 2 + i, every[i], other.weights, other.digest);
        assert_string_equal(whole.weights, other.weights);
        assert_memory_equal(whole.digest, other.digest, HASH_BYTES);
    }
}

static const struct config_setting selected[] = {{"patience", "2"},
                                                 {"calibrate", "true"},
                                                 {"total_samples", "800"},
                                                 {"learning_rate_final", "0.1"},
                                                 {"first_window", "3"},
                                                 {"reading_samples", "1000"},
                                                 {"select_by_validation", "true"},
                                                 {NULL, NULL}};

static real *first_value(const struct trial *t)
{
    return params_values(t->run->network->params, NULL);
}

/* The errors of validations are smoothed: after 3 and 1, the present one is 2; after a further 5 it is 3.5, which is
 * worse. So the weights of the second validation return at the end of the phase. */
static void a_phase_ends_with_the_weights_of_its_best_validation(void **state)
{
    static const double losses[] = {3, 1, 5};
    struct trial t;
    trial_begin(&t, selected, 1);
    t.run->at = plan_find(&t.run->plan, PHASE_MOTIFS);
    selection_begin(t.run);
    for (int i = 0; i < 3; i++) {
        const struct validation_outcome v = {.own_loss = losses[i]};
        t.run->samples = 10 * (i + 1);
        first_value(&t)[0] = (real)i;
        selection_validated(t.run, &v);
    }
    assert_true(t.run->selection.samples == 20 && t.run->selection.flat == 1 && t.run->selection.best == 2);
    selection_end(t.run);
    assert_true(first_value(&t)[0] == 1);
    selection_begin(t.run); /* the next phase forgets them */
    first_value(&t)[0] = 7;
    selection_end(t.run);
    assert_true(first_value(&t)[0] == 7);
    trial_end(&t);
}

/* With 18 validation samples, .42 and .4 are the same accuracy, but .1 is worse. */
static void the_last_weights_stay_unless_they_are_clearly_worse(void **state)
{
    static const double last[] = {0.4, 0.1};
    for (int i = 0; i < 2; i++) {
        struct trial t;
        trial_begin(&t, selected, 1);
        t.run->at = plan_find(&t.run->plan, PHASE_HEAD);
        t.run->annealer.density = t.run->rule.density_final;
        selection_begin(t.run);
        for (int v = 0; v < 2; v++) {
            t.run->samples = 10 * (v + 1);
            t.run->accuracy = v == 0 ? 0.42 : last[i];
            first_value(&t)[0] = (real)v;
            selection_validated(t.run, &(struct validation_outcome){0});
        }
        selection_end(t.run);
        assert_true(first_value(&t)[0] == (i == 0 ? R(1.0) : R(0.0)));
        trial_end(&t);
    }
}

/* While the head trains, wrong answers decide, and only at the last density. */
static void answers_at_the_last_density_select_the_weights(void **state)
{
    struct trial t;
    trial_begin(&t, selected, 1);
    struct method_run *run = t.run;
    run->at = plan_find(&run->plan, PHASE_JOINT);
    selection_begin(run);
    run->samples = 10;
    run->accuracy = 0.9;
    run->annealer.density = 2 * run->rule.density_final;
    selection_validated(run, &(struct validation_outcome){.loss = 1});
    assert_int_equal(run->selection.samples, 0);
    run->annealer.density = run->rule.density_final;
    run->samples = 20;
    run->accuracy = 0.4;
    selection_validated(run, &(struct validation_outcome){.loss = 1});
    run->samples = 30;
    run->accuracy = 0.5;
    selection_validated(run, &(struct validation_outcome){.loss = 9});
    assert_true(run->selection.samples == 30 && fabs(run->selection.best - 0.55) < 1e-12);
    trial_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_ends_when_it_no_longer_improves),
        cmocka_unit_test(a_calibration_balances_missed_and_false_samples_of_each_name),
        cmocka_unit_test(peaks_with_the_same_score_are_active_together),
        cmocka_unit_test(own_end_and_calibration_do_not_depend_on_threads_and_pauses),
        cmocka_unit_test(no_map_is_empty_if_no_label_is),
        cmocka_unit_test(training_with_never_empty_does_not_depend_on_threads_and_pauses),
        cmocka_unit_test(maps_are_limited_when_the_motif_model_is_final),
        cmocka_unit_test(training_with_a_limit_does_not_depend_on_threads_and_pauses),
        cmocka_unit_test(the_head_trains_alone_on_the_maps_of_the_calibrated_model),
        cmocka_unit_test(training_of_the_head_alone_does_not_depend_on_threads_and_pauses),
        cmocka_unit_test(the_head_reads_the_same_maps_again),
        cmocka_unit_test(a_cache_keeps_maps_until_its_memory_is_full),
        cmocka_unit_test(training_on_maps_that_return_does_not_depend_on_threads_and_pauses),
        cmocka_unit_test(a_run_goes_back_to_an_earlier_stage_that_read_the_labels_better),
        cmocka_unit_test(a_run_keeps_the_last_density_when_an_earlier_stage_was_hardly_better),
        cmocka_unit_test(a_phase_ends_with_the_weights_of_its_best_validation),
        cmocka_unit_test(the_last_weights_stay_unless_they_are_clearly_worse),
        cmocka_unit_test(answers_at_the_last_density_select_the_weights),
        cmocka_unit_test(the_average_follows_the_weights),
        cmocka_unit_test(validations_and_checkpoints_use_the_average),
        cmocka_unit_test(training_with_an_average_does_not_depend_on_threads_and_pauses),
        cmocka_unit_test(the_best_start_is_continued),
        cmocka_unit_test(starts_do_not_depend_on_threads_and_pauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
