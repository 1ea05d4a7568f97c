/* Tests the presence objective of SPARLING: the first phase trains g alone and ends in time, and threads and pauses do
 * not change the bits of a run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/hash.h"
#include "core/methods/sparling/run_int.h"
#include "core/methods/sparling/sparling.h"
#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"
#include "tests/support/sanitized.h"

static const struct method *const method = &sparling_method;

/* The first phase takes at most 12 updates of four samples. A validation follows every fourth update. */
static const struct config_setting tiny[] = {{"image_size", "48"},
                                             {"classes", "4"},
                                             {"min_symbols", "1"},
                                             {"max_symbols", "2"},
                                             {"shift", "1"},
                                             {"min_radius", "6"},
                                             {"width", "8"},
                                             {"units", "1"},
                                             {"motifs", "5"},
                                             {"channels", "16"},
                                             {"layers", "1"},
                                             {"heads", "2"},
                                             {"feed_forward", "32"},
                                             {"batch", "4"},
                                             {"batch_norm", "plain"},
                                             {"embed_order", "pool-then-embed"},
                                             {"motif_scale", "rms"},
                                             {"lstm", "false"},
                                             {"dropout", "0.1"},
                                             {"learning_rate", "1e-2"},
                                             {"warm_up", "3"},
                                             {"clip_norm", "1"},
                                             {"presence_weight", "0.5"},
                                             {"presence_samples", "48"},
                                             {"validation_every", "16"},
                                             {"validation_samples", "18"},
                                             {"checkpoint_every", "20"},
                                             {"total_samples", "160"},
                                             {"density_start", "0.04"},
                                             {"density_factor", "0.5"},
                                             {"density_final", "0.01"},
                                             {"plateau_validations", "1"},
                                             {"plateau_gain", "0.99"},
                                             {"plateau_density", "0.011"},
                                             {"motif_samples", "10"},
                                             {"test_samples", "9"},
                                             {"stage_samples", "0"},
                                             {NULL, NULL}};

struct series {
    struct hash all; /* hash of all metrics except the speed */
    double presence[64], densities[64];
    int64_t at[64];
    int validations, accuracies;
    double rates[64]; /* learning rate of each tenth update */
};

static void watch(void *context, const char *name, int64_t step, double value)
{
    struct series *s = context;
    if (strcmp(name, "samples_per_second") == 0)
        return;
    hash_add(&s->all, name, strlen(name));
    hash_add(&s->all, &step, sizeof step);
    hash_add(&s->all, &value, sizeof value);
    if (strcmp(name, "learning_rate") == 0)
        s->rates[step / 40] = value;
    s->accuracies += strcmp(name, "accuracy") == 0;
    if (strcmp(name, "density") == 0)
        s->densities[s->validations] = value;
    if (strcmp(name, "presence_loss") == 0) {
        s->at[s->validations] = step;
        s->presence[s->validations++] = value;
        assert_true(s->validations < 64);
    }
}

static void configure(struct sparling_config *config, const struct config_setting *more)
{
    memset(config, 0, sizeof *config);
    assert_ok(config_defaults(&sparling_config_table, config, err));
    assert_ok(config_apply(&sparling_config_table, config, tiny, err));
    if (more)
        assert_ok(config_apply(&sparling_config_table, config, more, err));
}

struct trial {
    struct run_env environment;
    struct sparling_config config;
    struct series series;
    struct method_run *run;
};

static struct method_run *start(const struct trial *t)
{
    struct method_run *run = NULL;
    assert_ok(method->create(&t->config, &t->environment.env, &run, err));
    run->step_seconds = 0; /* each step then makes one update, or one piece of a validation */
    return run;
}

static void begin(struct trial *t, const struct config_setting *more, int threads)
{
    memset(t, 0, sizeof *t);
    configure(&t->config, more);
    assert_ok(run_env_open(&t->environment, threads, NULL, err));
    hash_init(&t->series.all);
    t->environment.watcher = &t->series;
    t->environment.metric = watch;
    t->run = start(t);
}

static enum method_request step(struct trial *t)
{
    enum method_request request = METHOD_CONTINUE;
    assert_ok(run_env_step(&t->environment, method, t->run, &request, err));
    return request;
}

static void end(struct trial *t)
{
    method->destroy(t->run);
    run_env_close(&t->environment);
}

static void reload(struct trial *t)
{
    struct run_env_bytes bytes = {0};
    assert_ok(run_env_save(method, t->run, &bytes, err));
    method->destroy(t->run);
    t->run = start(t);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->load(t->run, &reader, err));
    run_env_bytes_close(&bytes);
}

/* Computes one hash over all arrays whose names begin with `prefix`. */
static void hash_of(struct trial *t, const char *prefix, char out[HASH_TEXT])
{
    struct params *params = t->run->network->params;
    struct hash hash;
    unsigned char digest[HASH_BYTES];
    hash_init(&hash);
    for (size_t i = 0; i < params_arrays(params); i++) {
        struct weight *w = params_array(params, i);
        if (strncmp(params_name(params, i), prefix, strlen(prefix)) == 0)
            hash_add(&hash, w->value, w->count * sizeof *w->value);
    }
    hash_finish(&hash, digest);
    hash_hex(digest, out);
}

static void first_phase_trains_g_and_leaves_head_and_density(void **state)
{
    struct trial t;
    char g[2][65], h[2][65], presence[2][65];
    begin(&t, NULL, 2);
    hash_of(&t, "g.", g[0]);
    hash_of(&t, "h.", h[0]);
    hash_of(&t, "presence.", presence[0]);
    real scale = t.run->network->scale.square->value[0];
    while (t.run->presence.alone) {
        assert_true(step(&t) != METHOD_STAGE_END && t.run->samples <= 48);
        assert_true(t.run->annealer.density == 0.04 && t.run->annealer.stage == 0 && !t.run->annealer.pending);
    }
    assert_int_equal(t.run->samples, 48);
    hash_of(&t, "g.", g[1]);
    hash_of(&t, "h.", h[1]);
    hash_of(&t, "presence.", presence[1]);
    assert_string_not_equal(g[0], g[1]);
    assert_string_not_equal(presence[0], presence[1]);
    assert_string_equal(h[0], h[1]);
    /* the scale of the head's input adapts to g in the first phase */
    assert_true(t.run->network->scale.square->value[0] != scale);
    assert_int_equal(t.series.validations, 3);
    /* validations leave out the head, too */
    assert_true(t.series.accuracies == 0 && isnan(t.run->accuracy));
    for (int64_t updates = t.run->updates; t.run->updates == updates;)
        step(&t);
    hash_of(&t, "h.", h[1]);
    assert_string_not_equal(h[0], h[1]);
    /* after the first phase, stages end as usual */
    while (step(&t) != METHOD_DONE)
        ;
    assert_int_equal(t.series.accuracies, t.series.validations - 3);
    assert_true(t.series.densities[2] == 0.04 && t.series.densities[t.series.validations - 1] <= 0.02);
    end(&t);
}

/* A validation reads its samples again from the other strand only if g reads half of the names clearly. */
static void the_other_strand_is_read_when_half_of_the_names_are_clear(void **state)
{
    struct trial t;
    begin(&t, NULL, 1);
    struct presence_phase *p = &t.run->presence;
    double samples = (double)t.run->config.validation_samples, constant = samples * log(2);
    assert_int_equal(p->names, 4);
    p->turns = TURNS_OPEN;
    for (int k = 0; k < 4; k++) {
        p->weight[k] = 1;
        p->names_table[PRESENCE_WITH * 4 + k] = samples / 2;
        p->names_table[PRESENCE_LOSS * 4 + k] = constant;
    }
    assert_false(presence_turning(t.run));
    p->names_table[PRESENCE_LOSS * 4] = 0.5 * constant;
    assert_false(presence_turning(t.run));
    p->names_table[PRESENCE_LOSS * 4 + 3] = 0.5 * constant;
    assert_true(presence_turning(t.run));
    p->turns = TURNS_NO;
    assert_false(presence_turning(t.run));
    end(&t);
}

static void first_phase_ends_when_the_presence_loss_stops_falling(void **state)
{
    /* With this learning rate the weights hardly move, so the loss stops falling. */
    static const struct config_setting still[] = {{"learning_rate", "1e-12"},
                                                  {"presence_samples", "400"},
                                                  {"presence_validations", "2"},
                                                  {"total_samples", "1000"},
                                                  {NULL, NULL}};
    static const struct config_setting never[] = {
        {"learning_rate", "1e-12"}, {"presence_samples", "144"}, {"total_samples", "400"}, {NULL, NULL}};
    static const struct config_setting half[] = {{"presence_samples", "144"}, {"total_samples", "160"}, {NULL, NULL}};
    struct trial t;
    int ended[2];
    for (int read = 0; read < 2; read++) {
        begin(&t, still, 1);
        for (int k = 0; read && k < t.run->presence.names; k++)
            t.run->presence.names_table[PRESENCE_BEST * t.run->presence.names + k] = 0.1;
        while (t.run->presence.alone)
            step(&t);
        ended[read] = t.series.validations;
        assert_true(t.run->samples < 400);
        end(&t);
        /* The phase ends before `presence_samples`, after two validations without a fall of 1 %. The loss falls in
         * earlier validations although the weights hardly move, because the running statistics of the batch norms still
         * settle. */
        int last = t.series.validations - 1, flat = read ? 2 : 4;
        assert_true(last >= flat);
        for (int i = 0; i < flat; i++)
            assert_true(t.series.presence[last - i] >= 0.99 * t.series.presence[last - flat]);
    }
    /* It waits longer if g does not read all names. */
    assert_true(ended[0] >= ended[1] + 2);
    begin(&t, never, 1);
    while (t.run->presence.alone)
        step(&t);
    assert_int_equal(t.run->samples, 144);
    end(&t);
    begin(&t, half, 1);
    while (t.run->presence.alone)
        step(&t);
    assert_int_equal(t.run->samples, 80);
    end(&t);
}

/* The first phase has the full learning rate after its warm-up. The schedule begins where the phase ends, after 48
 * samples. */
static void learning_rate_falls_after_the_first_phase(void **state)
{
    static const struct config_setting linear[] = {
        {"schedule", "linear"}, {"learning_rate_final", "0.1"}, {"plateau_validations", "0"}, {NULL, NULL}};
    struct trial t;
    begin(&t, linear, 1);
    while (step(&t) != METHOD_DONE)
        ;
    assert_true(fabs(t.series.rates[1] - 1e-2) < 1e-12);
    for (int i = 2; i <= 4; i++) {
        /* the share of the schedule that is done before the update that reaches 40 i samples */
        double share = (40.0 * i - 4 - 48) / (160 - 48);
        assert_true(fabs(t.series.rates[i] - 1e-2 * (1 - 0.9 * share)) < 1e-12);
    }
    end(&t);
}

static void checkpoint_with_impossible_numbers_of_the_phase_is_refused(void **state)
{
    struct trial t;
    struct run_env_bytes bytes = {0};
    begin(&t, NULL, 1);
    step(&t);
    for (int i = 0; i < 2; i++) {
        t.run->presence.ended_updates = i == 0 ? t.run->updates + 1 : 0;
        t.run->presence.ended_samples = i == 0 ? 0 : t.run->samples + 1;
        assert_ok(run_env_save(method, t.run, &bytes, err));
        struct method_run *other = start(&t);
        struct snapshot_reader reader = run_env_reader(&bytes);
        assert_int_equal(method->load(other, &reader, NULL), STATUS_CORRUPT);
        method->destroy(other);
        run_env_bytes_close(&bytes);
    }
    t.run->presence.ended_samples = 0;
    t.run->presence.names_table[PRESENCE_FACTOR * 4 + 1] = 10.5; /* outside of the range of densities */
    assert_ok(run_env_save(method, t.run, &bytes, err));
    struct method_run *other = start(&t);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_int_equal(method->load(other, &reader, NULL), STATUS_CORRUPT);
    method->destroy(other);
    run_env_bytes_close(&bytes);
    end(&t);
}

/* The metric is the mean over the whole validation set, although the validation is computed in pieces. */
static void presence_loss_of_a_validation_matches_direct_computation(void **state)
{
    /* the first phase ends with the first validation, so no channel gets new weights after it */
    static const struct config_setting brief[] = {{"presence_samples", "16"}, {NULL, NULL}};
    struct trial t;
    begin(&t, brief, 2);
    while (t.series.validations == 0)
        step(&t);
    struct network *n = t.run->network;
    struct exec *e = &t.run->exec;
    const struct open_domain *domain = &t.run->domain;
    struct domain_truth *truth;
    float image[48 * 48];
    double sum = 0;
    assert_ok(domain_truths_create(&domain->shape, 1, &truth, err));
    for (int i = 0; i < 18; i++) {
        struct domain_request request = {.set = DOMAIN_SAMPLE, .seed = VALIDATION_SEED, .index = i};
        struct network_extras extras;
        assert_ok(domain_sample(domain, &request, image, truth, err));
        exec_begin(e, false, 0);
        network_motifs_extras(e, n, image, 1, 0.04, &extras);
        assert_ok(exec_status(e, err));
        for (int k = 0; k < 4; k++) {
            bool occurs = false;
            for (int j = 0; j < truth->length; j++)
                occurs |= truth->label[j] == k;
            double logit = (double)n->presence_bias->value[k] +
                           (double)n->presence_gain->value[k] * (double)extras.scores->data[k];
            sum += log1p(exp(occurs ? -logit : logit));
        }
    }
    domain_truths_destroy(truth);
    assert_true(fabs(t.series.presence[0] - sum / 18) < 1e-5 * sum / 18);
    end(&t);
}

/* Mean score of a name in fresh samples with the name and without it, in units of the standard deviation. */
static double separation(struct trial *t, int name)
{
    enum { COUNT = 200 };
    struct exec *e = &t->run->exec;
    const struct open_domain *domain = &t->run->domain;
    struct domain_truth *truth;
    float image[48 * 48];
    double sum[2] = {0}, squares[2] = {0}, count[2] = {0};
    assert_ok(domain_truths_create(&domain->shape, 1, &truth, err));
    for (int i = 0; i < COUNT; i++) {
        struct domain_request request = {.set = DOMAIN_SAMPLE, .seed = 77, .index = i};
        struct network_extras extras;
        assert_ok(domain_sample(domain, &request, image, truth, err));
        exec_begin(e, false, 0);
        network_motifs_extras(e, t->run->network, image, 1, 0.04, &extras);
        assert_ok(exec_status(e, err));
        bool with = false;
        for (int j = 0; j < truth->length; j++)
            with |= truth->label[j] == name;
        double score = (double)extras.scores->data[name];
        count[with]++;
        sum[with] += score;
        squares[with] += score * score;
    }
    domain_truths_destroy(truth);
    double mean[2] = {sum[0] / count[0], sum[1] / count[1]};
    return (mean[1] - mean[0]) /
           sqrt((squares[0] + squares[1] - count[0] * mean[0] * mean[0] - count[1] * mean[1] * mean[1]) / COUNT);
}

static void search_gives_an_unread_name_weights_that_separate_its_samples(void **state)
{
    for (int name = 0; name < 4; name += 3) {
        const struct config_setting together[] = {
            {"presence_samples", "0"}, {"presence_sharpness", name == 0 ? "1" : "2"}, {NULL, NULL}};
        struct trial t;
        real before[5 * 8];
        begin(&t, together, 2);
        struct weight *last = t.run->network->last.w;
        assert_int_equal(last->count, 5 * 8);
        for (int i = 0; i < 30; i++) /* the running statistics of the batch norms settle */
            step(&t);
        memcpy(before, last->value, sizeof before);
        double untrained = separation(&t, name);
        assert_ok(prototype_search(t.run, name, err));
        double found = separation(&t, name);
        for (int i = 0; i < 5 * 8; i++)
            assert_true(i / 8 == name || last->value[i] == before[i]);
        assert_memory_not_equal(before + name * 8, last->value + name * 8, 8 * sizeof *before);
        assert_true(found > 0.2 && found > untrained);
        end(&t);
    }
}

/* Tests the densities after the first phase, at the last density. The density of a channel rises if the channel is
 * active in fewer validation samples than have its name in their label, and falls if it is active in more. A run
 * that was loaded continues with these densities. */
static void densities_follow_the_samples_with_the_name(void **state)
{
    static const struct config_setting last[] = {{"presence_samples", "16"}, {"density_by_name", "true"},
                                                 {"density_start", "0.011"}, {"plateau_validations", "0"},
                                                 {"target_start", "1"},      {NULL, NULL}};
    struct trial t;
    begin(&t, last, 1);
    const double *factor = t.run->presence.names_table + PRESENCE_FACTOR * 4,
                 *with = t.run->presence.names_table + PRESENCE_WITH * 4,
                 *active = t.run->presence.names_table + PRESENCE_ACTIVE * 4;
    int rose = 0, fell = 0;
    for (int i = 0; i < 5; i++) {
        double before[4];
        memcpy(before, factor, sizeof before);
        for (int validations = t.series.validations; t.series.validations == validations;)
            step(&t);
        for (int k = 0; k < 4; k++) {
            if (i == 0)
                assert_true(factor[k] == 1);
            else
                assert_true(with[k] > active[k]   ? factor[k] > before[k]
                            : with[k] < active[k] ? factor[k] < before[k]
                                                  : factor[k] == before[k]);
            rose += factor[k] > before[k];
            fell += factor[k] < before[k];
        }
    }
    assert_true(rose + fell > 0);
    double shares[5], mean = 0;
    for (int c = 0; c < 5; c++) {
        shares[c] = t.run->presence.share[5 + c];
        mean += fabs(shares[c] - t.run->presence.share[c] * (c < 4 ? factor[c] : 1));
    }
    assert_true(mean < 1e-12);
    reload(&t);
    assert_memory_equal(shares, t.run->presence.share + 5, sizeof shares);
    end(&t);
}

static void names_count_by_how_badly_they_are_read(void **state)
{
    static const double level[4] = {1.2, 0.5, 0.01, 0.4}, expected[4] = {2, 1, 0.2, 0.8};
    struct trial t;
    begin(&t, NULL, 1);
    double *levels = t.run->presence.names_table + PRESENCE_LEVEL * 4;
    for (int k = 0; k < 4; k++) {
        assert_true(levels[k] == 1);
        levels[k] = level[k];
    }
    step(&t);
    for (int k = 0; k < 4; k++)
        assert_true(fabs((double)t.run->presence.scale[k] - expected[k]) < 1e-6);
    end(&t);
}

static void train(const struct config_setting *more, int threads, int every, char weights[65],
                  unsigned char digest[HASH_BYTES])
{
    struct trial t;
    struct run_env_bytes bytes = {0};
    int again = 0;
    begin(&t, more, threads);
    for (int i = 0; step(&t) != METHOD_DONE; i++) {
        assert_true(i < 20000);
        if (every > 0 && i % every == every - 1 && t.run->phase != PHASE_CALIBRATE)
            reload(&t);
        if (t.run->phase == PHASE_CALIBRATE && every > 0 && i % (every + 97) == 0 && again++ < 3)
            reload(&t); /* the thresholds begin again, so this must not happen too often */
    }
    assert_ok(run_env_save(method, t.run, &bytes, err));
    assert_ok(run_env_weights_hash(&bytes, weights, err));
    run_env_bytes_close(&bytes);
    hash_finish(&t.series.all, digest);
    end(&t);
}

static void threads_and_pauses_do_not_change_any_bit(void **state)
{
    static const int every[] = {0, 1, 3, 7};
    static const struct config_setting without[] = {{"presence_weight", "0"}, {NULL, NULL}};
    char whole[65], other[65];
    unsigned char digest[2][HASH_BYTES];
    train(NULL, 1, 0, whole, digest[0]);
    for (int i = SANITIZED ? 2 : 0; i < (SANITIZED ? 3 : 4); i++) {
        train(NULL, 1 + i % 3, every[i], other, digest[1]);
        assert_string_equal(whole, other);
        assert_memory_equal(digest[0], digest[1], HASH_BYTES);
    }
    train(without, 1, 0, other, digest[1]);
    assert_string_not_equal(whole, other);
}

/* With a small learning rate, the training reads no name, so the search for better weights begins after a few
 * validations. */
static void searches_of_weights_do_not_depend_on_threads_and_pauses(void **state)
{
    static const struct config_setting slow[] = {
        {"learning_rate", "1e-5"}, {"presence_samples", "144"}, {"total_samples", "320"}, {NULL, NULL}};
    static const int every[] = {0, 1, 5};
    char whole[65], other[65];
    unsigned char digest[2][HASH_BYTES];
    struct trial t;
    begin(&t, slow, 1);
    while (t.run->presence.alone)
        step(&t);
    assert_true(t.run->reinitialisation.count >= 2);
    end(&t);
    train(slow, 1, 0, whole, digest[0]);
    for (int i = SANITIZED ? 2 : 0; i < 3; i++) {
        train(slow, 1 + i, every[i], other, digest[1]);
        assert_string_equal(whole, other);
        assert_memory_equal(digest[0], digest[1], HASH_BYTES);
    }
}

/* Settings of a run that ends by itself: the learning rate falls once two validations at the last density bring nothing
 * better, and four validations later the model is calibrated. */
static const struct config_setting own_end[] = {{"patience", "2"},
                                                {"calibrate", "true"},
                                                {"centre_motifs", "true"},
                                                {"total_samples", "800"},
                                                {"learning_rate_final", "0.1"},
                                                {"first_window", "3"},
                                                {NULL, NULL}};

static void a_run_ends_when_it_no_longer_improves(void **state)
{
    struct trial t;
    begin(&t, own_end, 1);
    while (t.run->course.from == 0)
        assert_true(step(&t) != METHOD_DONE && t.run->samples < 800);
    assert_true(t.run->course.flat >= 2 || t.run->accuracy > t.run->annealer.target);
    assert_true(t.run->course.to >= t.run->course.from + 4 * 16 && t.run->course.to <= 800);
    int64_t end_at = t.run->course.to;
    while (t.run->phase == PHASE_TRAIN || t.run->phase == PHASE_VALIDATE)
        step(&t);
    assert_int_equal(t.run->samples, end_at);
    assert_true(end_at < 800);
    assert_int_equal(t.run->phase, PHASE_CALIBRATE);
    assert_true(fabs(course_rate(t.run) - 0.1) < 1e-9);
    end(&t);
}

/* The false samples of a channel are at most those that it misses, and nearly as many. */
static void a_calibration_balances_missed_and_false_samples_of_each_name(void **state)
{
    struct trial t;
    begin(&t, own_end, 1);
    while (t.run->phase != PHASE_CALIBRATE)
        step(&t);
    real mean = t.run->network->unit[0].norm2.mean->value[0];
    struct params *params = t.run->network->params;
    char before[HASH_TEXT], after[HASH_TEXT];
    hash_of(&t, "", before);
    while (t.run->phase == PHASE_CALIBRATE)
        step(&t);
    hash_of(&t, "", after);
    assert_string_equal(before, after); /* the trained weights stay */
    assert_true(params_find(params, "sparse.threshold") && t.run->network->unit[0].norm2.mean->value[0] != mean);
    assert_true(t.run->network->unit[0].norm2.momentum == BATCH_NORM_MOMENTUM);
    int with[4] = {0}, missed[4] = {0}, wrong[4] = {0};
    for (int first = 0; first < 2000; first += 4) {
        const struct batch *batch;
        struct batch_request request = {.seed = VALIDATION_SEED, .first = first, .seen = first, .count = 4};
        assert_ok(batch_source_take(t.run->source, &request, NULL, &batch, err));
        exec_begin(&t.run->exec, false, 0);
        struct tensor *map = network_motifs(&t.run->exec, t.run->network, batch->images, 4, 1);
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 4; k++) {
                bool is = false, has = false;
                for (int row = 0; row < 48; row++)
                    for (int col = 0; col < 48; col++)
                        is |= map->data[map_offset(&map->map, i, 0, row, col) + k] > 0;
                for (int j = 0; j < batch->truths[i].length; j++)
                    has |= batch->truths[i].label[j] == k;
                with[k] += has;
                missed[k] += has && !is;
                wrong[k] += is && !has;
            }
    }
    for (int k = 0; k < 4; k++) {
        /* 18 validation samples are drawn again and again, so one sample more or less counts 112 times */
        assert_true(with[k] > 100 && wrong[k] <= missed[k]);
        assert_true(wrong[k] + 120 > missed[k] - 120);
    }
    end(&t);
}

static void own_end_and_calibration_do_not_depend_on_threads_and_pauses(void **state)
{
    static const int every[] = {3, 41};
    char whole[65], other[65];
    unsigned char digest[2][HASH_BYTES];
    train(own_end, 1, 0, whole, digest[0]);
    for (int i = 0; i < (SANITIZED ? 1 : 2); i++) {
        train(own_end, 2 + i, every[i], other, digest[1]);
        assert_string_equal(whole, other);
        assert_memory_equal(digest[0], digest[1], HASH_BYTES);
    }
}

/* Labels 0 to 3 as counts, which 40, 30, 20 and 10 % of the samples have. */
static int64_t count_of(const struct domain_state *state, int token)
{
    return token;
}
static int64_t shares_of(const struct domain_state *state, double *count, double *share)
{
    for (int k = 0; k < 4; k++)
        count[k] = share[k] = 0.4 - 0.1 * k;
    return 100;
}

static void one_channel_stands_for_all_counts_above_zero(void **state)
{
    static const struct config_setting by_name[] = {{"density_by_name", "true"}, {NULL, NULL}};
    struct trial t;
    begin(&t, by_name, 1);
    struct domain counting = *t.run->domain.domain;
    const struct domain *before = t.run->domain.domain;
    assert_int_equal(t.run->presence.counted, -1);
    counting.counts = count_of;
    counting.frequencies = shares_of;
    t.run->domain.domain = &counting;
    presence_close(t.run);
    assert_ok(presence_open(t.run, err));
    assert_int_equal(t.run->presence.counted, 1);
    for (int32_t count = 0; count < 4; count++) {
        const struct domain_truth truth = {.length = 1, .label = &count};
        for (int k = 0; k < 4; k++)
            assert_true(presence_true(t.run, &truth, k) == (k == 1 && count > 0));
    }
    /* a sample has 0.3 + 2 * 0.2 + 3 * 0.1 = 1 motif; one of five channels gets the density of all */
    assert_true(fabs(t.run->presence.share[1] - 5) < 1e-9 && t.run->presence.share[0] < 0.1);
    assert_true(t.run->presence.weight[1] == 1);
    t.run->domain.domain = before;
    end(&t);
}

/* Three starts of 32 samples each; the best one begins again unless it is the last one. */
static const struct config_setting many_starts[] = {
    {"starts", "3"}, {"presence_samples", "96"}, {"total_samples", "480"}, {NULL, NULL}};

static void the_best_start_is_continued(void **state)
{
    struct trial t;
    double lowest[3];
    char first[3][HASH_TEXT], again[HASH_TEXT];
    begin(&t, many_starts, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(t.run->starts.now, i);
        assert_int_equal(t.run->starts.samples, 32 * i);
        while (t.run->samples < 32 * (i + 1))
            step(&t);
        hash_of(&t, "g.", first[i]);
        while (t.run->starts.now == i && t.run->starts.count > 1)
            step(&t);
        lowest[i] = fmin(t.series.presence[2 * i], t.series.presence[2 * i + 1]);
    }
    assert_string_not_equal(first[0], first[1]);
    int best = lowest[1] < lowest[0] ? 1 : 0;
    best = lowest[2] < lowest[best] ? 2 : best;
    assert_int_equal(t.run->starts.best, best);
    assert_int_equal(t.run->starts.now, best);
    if (best < 2) {
        assert_int_equal(t.run->starts.samples, 96);
        while (t.run->samples < 128)
            step(&t);
        hash_of(&t, "g.", again);
        assert_string_equal(first[best], again); /* the same weights as before, bit by bit */
    }
    while (step(&t) != METHOD_DONE)
        ;
    assert_int_equal(t.run->samples, 480);
    end(&t);
}

static void starts_do_not_depend_on_threads_and_pauses(void **state)
{
    static const int every[] = {1, 5};
    char whole[65], other[65];
    unsigned char digest[2][HASH_BYTES];
    train(many_starts, 1, 0, whole, digest[0]);
    for (int i = SANITIZED ? 1 : 0; i < 2; i++) {
        train(many_starts, 2 + i, every[i], other, digest[1]);
        assert_string_equal(whole, other);
        assert_memory_equal(digest[0], digest[1], HASH_BYTES);
    }
}

/* Each name has a channel of its own, in the order of names. If there are fewer channels than names, the last names
 * have no channel, and the objective leaves them out. */
static void objective_covers_names_that_have_a_channel(void **state)
{
    static const struct config_setting few[] = {{"motifs", "2"}, {"total_samples", "64"}, {NULL, NULL}};
    static const struct config_setting identity[] = {
        {"objective", "single-motifs"}, {"sparsity", "identity"}, {"single_samples", "8"}, {NULL, NULL}};
    struct sparling_config config;
    struct trial t;
    begin(&t, few, 1);
    assert_int_equal(t.run->presence.names, 2);
    assert_int_equal(sparling_presence_names(&t.config), 2);
    assert_int_equal(params_find(t.run->network->params, "presence.gain")->count, 2);
    while (step(&t) != METHOD_DONE)
        ;
    end(&t);
    configure(&config, NULL);
    assert_int_equal(sparling_presence_names(&config), 4);
    assert_int_equal(sparling_parameters_sparse(&config), 8);
    configure(&config, identity);
    assert_int_equal(sparling_presence_names(&config), 0);
    assert_false(sparling_presence_alone(&config));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_phase_trains_g_and_leaves_head_and_density),
        cmocka_unit_test(the_other_strand_is_read_when_half_of_the_names_are_clear),
        cmocka_unit_test(first_phase_ends_when_the_presence_loss_stops_falling),
        cmocka_unit_test(learning_rate_falls_after_the_first_phase),
        cmocka_unit_test(checkpoint_with_impossible_numbers_of_the_phase_is_refused),
        cmocka_unit_test(presence_loss_of_a_validation_matches_direct_computation),
        cmocka_unit_test(search_gives_an_unread_name_weights_that_separate_its_samples),
        cmocka_unit_test(densities_follow_the_samples_with_the_name),
        cmocka_unit_test(names_count_by_how_badly_they_are_read),
        cmocka_unit_test(threads_and_pauses_do_not_change_any_bit),
        cmocka_unit_test(searches_of_weights_do_not_depend_on_threads_and_pauses),
        cmocka_unit_test(one_channel_stands_for_all_counts_above_zero),
        cmocka_unit_test(the_best_start_is_continued),
        cmocka_unit_test(starts_do_not_depend_on_threads_and_pauses),
        cmocka_unit_test(a_run_ends_when_it_no_longer_improves),
        cmocka_unit_test(a_calibration_balances_missed_and_false_samples_of_each_name),
        cmocka_unit_test(own_end_and_calibration_do_not_depend_on_threads_and_pauses),
        cmocka_unit_test(objective_covers_names_that_have_a_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
