/* Tests the presence objective of SPARLING: the first phase trains the motif model alone and ends in time, and
 * threads and pauses do not change the bits of a run. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/buf.h"
#include "core/methods/sparling/training/label_counts.h"
#include "core/methods/sparling/training/presence.h"
#include "core/methods/sparling/training/prototype.h"
#include "tests/support/method_ask.h"
#include "tests/support/presence_trial.h"
#include "tests/support/sanitized.h"
#include "tests/support/text_sink.h"

static const struct method *const method = &sparling_method;

/* The end of a run that first_phase_trains_g_and_leaves_head_and_density drives step by step with two threads. */
static char whole_weights[65];
static unsigned char whole_digest[HASH_BYTES];

static void first_phase_trains_g_and_leaves_head_and_density(void **state)
{
    struct trial t;
    char g[2][65], h[2][65], presence[2][65];
    trial_begin(&t, NULL, 2);
    trial_hash(&t, "g.", g[0]);
    trial_hash(&t, "h.", h[0]);
    trial_hash(&t, "presence.", presence[0]);
    real scale = t.run->network->scale.square->value[0];
    while (phase_of_g_alone(plan_now(t.run))) {
        assert_true(trial_step(&t) != METHOD_STAGE_END && t.run->samples <= 48);
        assert_true(t.run->annealer.density == 0.04 && t.run->annealer.stage == 0 && !t.run->annealer.pending);
    }
    assert_int_equal(t.run->samples, 48);
    trial_hash(&t, "g.", g[1]);
    trial_hash(&t, "h.", h[1]);
    trial_hash(&t, "presence.", presence[1]);
    assert_string_not_equal(g[0], g[1]);
    assert_string_not_equal(presence[0], presence[1]);
    assert_string_equal(h[0], h[1]);
    /* the scale of the head's input follows the motif model, which the first phase trains */
    assert_true(t.run->network->scale.square->value[0] != scale);
    assert_int_equal(t.series.validations, 3);
    /* validations of the first phase do not run the head, so they give no accuracy */
    assert_true(t.series.accuracies == 0 && isnan(t.run->accuracy));
    for (int64_t updates = t.run->updates; t.run->updates == updates;)
        trial_step(&t);
    trial_hash(&t, "h.", h[1]);
    assert_string_not_equal(h[0], h[1]);
    /* after the first phase, stages end as usual */
    while (trial_step(&t) != METHOD_DONE)
        ;
    assert_int_equal(t.series.accuracies, t.series.validations - 3);
    assert_true(t.series.densities[2] == 0.04 && t.series.densities[t.series.validations - 1] <= 0.02);
    trial_finish(&t, whole_weights, whole_digest);
}

/* A validation reads its samples from the other strand as well only if the motif model recognises half of the names. */
static void the_other_strand_is_read_when_half_of_the_names_are_clear(void **state)
{
    struct trial t;
    trial_begin(&t, NULL, 1);
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
    trial_end(&t);
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
        trial_begin(&t, still, 1);
        for (int k = 0; read && k < t.run->presence.names; k++)
            t.run->presence.names_table[PRESENCE_BEST * t.run->presence.names + k] = 0.1;
        while (phase_of_g_alone(plan_now(t.run)))
            trial_step(&t);
        ended[read] = t.series.validations;
        assert_true(t.run->samples < 400);
        trial_end(&t);
        /* The phase ends early, after `flat` validations in which the loss has not fallen by 1 %. The loss does fall in
         * earlier validations, although the weights hardly move, because the running statistics of the batch norms
         * still settle. */
        int last = t.series.validations - 1, flat = read ? 2 : 4;
        assert_true(last >= flat);
        for (int i = 0; i < flat; i++)
            assert_true(t.series.presence[last - i] >= 0.99 * t.series.presence[last - flat]);
    }
    /* The first phase takes longer if the motif model does not recognise all names. */
    assert_true(ended[0] >= ended[1] + 2);
    trial_begin(&t, never, 1);
    while (phase_of_g_alone(plan_now(t.run)))
        trial_step(&t);
    assert_int_equal(t.run->samples, 144);
    trial_end(&t);
    trial_begin(&t, half, 1);
    while (phase_of_g_alone(plan_now(t.run)))
        trial_step(&t);
    assert_int_equal(t.run->samples, 80);
    trial_end(&t);
}

/* The first phase has the full learning rate after its warm-up. The schedule begins where the phase ends, after 48
 * samples. */
static void learning_rate_falls_after_the_first_phase(void **state)
{
    static const struct config_setting linear[] = {
        {"schedule", "linear"}, {"learning_rate_final", "0.1"}, {"plateau_validations", "0"}, {NULL, NULL}};
    struct trial t;
    trial_begin(&t, linear, 1);
    while (trial_step(&t) != METHOD_DONE)
        ;
    assert_true(fabs(t.series.rates[1] - 1e-2) < 1e-12);
    for (int i = 2; i <= 4; i++) {
        /* the share of the schedule that is done before the update that reaches 40 i samples */
        double share = (40.0 * i - 4 - 48) / (160 - 48);
        assert_true(fabs(t.series.rates[i] - 1e-2 * (1 - 0.9 * share)) < 1e-12);
    }
    trial_end(&t);
}

static void checkpoint_with_impossible_numbers_of_the_phase_is_refused(void **state)
{
    struct trial t;
    struct run_env_bytes bytes = {0};
    trial_begin(&t, NULL, 1);
    trial_step(&t);
    for (int i = 0; i < 2; i++) {
        t.run->presence.ended_updates = i == 0 ? t.run->updates + 1 : 0;
        t.run->presence.ended_samples = i == 0 ? 0 : t.run->samples + 1;
        assert_ok(run_env_save(method, t.run, &bytes, err));
        struct method_run *other = trial_start(&t);
        struct snapshot_reader reader = run_env_reader(&bytes);
        assert_int_equal(method->load(other, &reader, NULL), STATUS_CORRUPT);
        method->destroy(other);
        run_env_bytes_close(&bytes);
    }
    t.run->presence.ended_samples = 0;
    t.run->presence.names_table[PRESENCE_FACTOR * 4 + 1] = 10.5; /* outside of the range of densities */
    assert_ok(run_env_save(method, t.run, &bytes, err));
    struct method_run *other = trial_start(&t);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_int_equal(method->load(other, &reader, NULL), STATUS_CORRUPT);
    method->destroy(other);
    run_env_bytes_close(&bytes);
    trial_end(&t);
}

/* The metric is the mean over the whole validation set, although the validation computes it batch by batch. */
static void presence_loss_of_a_validation_matches_direct_computation(void **state)
{
    /* the first phase ends with the first validation, so no channel gets new weights after it */
    static const struct config_setting brief[] = {{"presence_samples", "16"}, {NULL, NULL}};
    struct trial t;
    trial_begin(&t, brief, 2);
    while (t.series.validations == 0)
        trial_step(&t);
    struct network *n = t.run->network;
    struct exec *e = &t.run->exec;
    const struct open_domain *domain = &t.run->domain;
    struct domain_truth *truth;
    float image[TRIAL_SIZE * TRIAL_SIZE];
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
    trial_end(&t);
}

/* Computes the score of a name in an image with plain loops: the logarithm of the mean of exp(x), where x are the
 * values of the name's channel before the bottleneck (presence_sharpness is 1). Then applies the gain and the bias of
 * the name. */
static double plain_score(struct trial *t, const float *image, int name)
{
    struct network *n = t->run->network;
    struct network_extras extras;
    exec_begin(&t->run->exec, false, 0);
    network_motifs_extras(&t->run->exec, n, image, 1, 0.04, &extras);
    assert_ok(exec_status(&t->run->exec, err));
    const struct map_shape *s = &extras.before->map;
    double sum = 0;
    for (int row = 0; row < s->height; row++)
        for (int col = 0; col < s->width; col++)
            sum += exp((double)extras.before->data[map_offset(s, 0, name / MAP_LANES, row, 0) + name % MAP_LANES +
                                                   (ptrdiff_t)col * MAP_LANES]);
    return (double)n->presence_gain->value[name] * log(sum / (s->height * s->width)) +
           (double)n->presence_bias->value[name];
}

static void predictions_contain_the_score_of_each_name(void **state)
{
    static const struct config_setting plain[] = {{"presence_sharpness", "1"}, {NULL, NULL}};
    struct trial t;
    struct run_env_bytes bytes = {0};
    struct method_model *model;
    struct buf out;
    struct domain_truth *truth;
    float image[TRIAL_SIZE * TRIAL_SIZE];
    trial_begin(&t, plain, 1);
    while (phase_of_g_alone(plan_now(t.run)))
        trial_step(&t);
    assert_ok(run_env_save(method, t.run, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->open(&t.config, t.environment.env.kernels, NULL, &reader, &model, err));
    assert_ok(domain_truths_create(&t.run->domain.shape, 1, &truth, err));
    for (int i = 0; i < 3; i++) {
        struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = i};
        struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = i};
        const struct sink sink = text_sink(&out);
        buf_init(&out, 1 << 20);
        assert_ok(method_ask(method, model, "predict", &input, &sink, err));
        assert_ok(domain_sample(&t.run->domain, &request, image, truth, err));
        const char *at = strstr(out.data, "presence=[");
        for (int k = 0; k < 4; k++) {
            assert_non_null(at);
            at = strstr(at + 1, "name='");
            assert_non_null(at);
            assert_int_equal(strtol(at + strlen("name='"), NULL, 10), k);
            at = strstr(at, "score=");
            assert_non_null(at);
            double expected = plain_score(&t, image, k);
            assert_true(fabs(strtod(at + strlen("score="), NULL) - expected) < 1e-4 * (1 + fabs(expected)));
        }
        buf_close(&out);
    }
    domain_truths_destroy(truth);
    method->close(model);
    run_env_bytes_close(&bytes);
    trial_end(&t);
}

/* Compares the scores of a name in new samples with and without the name. Returns the difference of the two means, in
 * standard deviations. */
static double separation(struct trial *t, int name)
{
    enum { COUNT = 200 };
    struct exec *e = &t->run->exec;
    const struct open_domain *domain = &t->run->domain;
    struct domain_truth *truth;
    float image[TRIAL_SIZE * TRIAL_SIZE];
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
        trial_begin(&t, together, 2);
        struct weight *last = t.run->network->last.w;
        assert_int_equal(last->count, 5 * 8);
        for (int i = 0; i < 30; i++) /* lets the running statistics of the batch norms settle */
            trial_step(&t);
        memcpy(before, last->value, sizeof before);
        double untrained = separation(&t, name);
        assert_ok(prototype_search(t.run, name, err));
        double found = separation(&t, name);
        for (int i = 0; i < 5 * 8; i++)
            assert_true(i / 8 == name || last->value[i] == before[i]);
        assert_memory_not_equal(before + name * 8, last->value + name * 8, 8 * sizeof *before);
        assert_true(found > 0.2 && found > untrained);
        trial_end(&t);
    }
}

/* Tests how the densities of channels change after the first phase, at the last density. The density of a channel rises
 * if the channel is active in fewer validation samples than have its name, and falls if it is active in more. A loaded
 * run continues with these densities. */
static void densities_follow_the_samples_with_the_name(void **state)
{
    static const struct config_setting last[] = {{"presence_samples", "16"}, {"density_by_name", "true"},
                                                 {"density_start", "0.011"}, {"plateau_validations", "0"},
                                                 {"target_start", "1"},      {NULL, NULL}};
    struct trial t;
    trial_begin(&t, last, 1);
    const double *factor = t.run->presence.names_table + PRESENCE_FACTOR * 4,
                 *with = t.run->presence.names_table + PRESENCE_WITH * 4,
                 *active = t.run->presence.names_table + PRESENCE_ACTIVE * 4;
    int rose = 0, fell = 0;
    for (int i = 0; i < 5; i++) {
        double before[4];
        memcpy(before, factor, sizeof before);
        for (int validations = t.series.validations; t.series.validations == validations;)
            trial_step(&t);
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
    trial_reload(&t);
    assert_memory_equal(shares, t.run->presence.share + 5, sizeof shares);
    trial_end(&t);
}

static void badly_read_names_count_more(void **state)
{
    static const double level[4] = {1.2, 0.5, 0.01, 0.4}, expected[4] = {2, 1, 0.2, 0.8};
    struct trial t;
    trial_begin(&t, NULL, 1);
    double *levels = t.run->presence.names_table + PRESENCE_LEVEL * 4;
    for (int k = 0; k < 4; k++) {
        assert_true(levels[k] == 1);
        levels[k] = level[k];
    }
    trial_step(&t);
    for (int k = 0; k < 4; k++)
        assert_true(fabs((double)t.run->presence.scale[k] - expected[k]) < 1e-6);
    trial_end(&t);
}

static void threads_and_pauses_do_not_change_any_bit(void **state)
{
    static const int every[] = {0, 1, 3, 7};
    static const struct config_setting without[] = {{"presence_weight", "0"}, {NULL, NULL}};
    char other[65];
    unsigned char digest[HASH_BYTES];
    for (int i = SANITIZED ? 2 : 0; i < (SANITIZED ? 3 : 4); i++) {
        trial_train(NULL, 1 + i % 3, every[i], other, digest);
        assert_string_equal(whole_weights, other);
        assert_memory_equal(whole_digest, digest, HASH_BYTES);
    }
    trial_train(without, 1, 0, other, digest);
    assert_string_not_equal(whole_weights, other);
}

/* With a small learning rate, the motif model does not learn to recognise any name. The run therefore searches for
 * better weights of channels after a few validations. */
static void searches_of_weights_do_not_depend_on_threads_and_pauses(void **state)
{
    static const struct config_setting slow[] = {
        {"learning_rate", "1e-5"}, {"presence_samples", "144"}, {"total_samples", "288"}, {NULL, NULL}};
    static const int every[] = {0, 1, 5};
    char whole[65], other[65];
    unsigned char digest[2][HASH_BYTES];
    struct trial t;
    trial_begin(&t, slow, 1);
    while (phase_of_g_alone(plan_now(t.run)))
        trial_step(&t);
    assert_true(t.run->reinitialisation.count >= 2);
    trial_finish(&t, whole, digest[0]);
    for (int i = SANITIZED ? 2 : 0; i < 3; i++) {
        trial_train(slow, 1 + i, every[i], other, digest[1]);
        assert_string_equal(whole, other);
        assert_memory_equal(digest[0], digest[1], HASH_BYTES);
    }
}

/* The labels are the counts 0 to 3. Of the samples, 40, 30, 20 and 10 % have these counts. */
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
    trial_begin(&t, by_name, 1);
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
    /* a sample has 0.3 + 2 * 0.2 + 3 * 0.1 = 1 motif on average; channel 1 marks all of them, so it gets the density of
     * all five channels */
    assert_true(fabs(t.run->presence.share[1] - 5) < 1e-9 && t.run->presence.share[0] < 0.1);
    assert_true(t.run->presence.weight[1] == 1);
    t.run->domain.domain = before;
    trial_end(&t);
}

/* Channel k belongs to name k. If there are fewer channels than names, the objective covers only the first names. */
static void objective_covers_names_that_have_a_channel(void **state)
{
    static const struct config_setting few[] = {{"motifs", "2"}, {"total_samples", "64"}, {NULL, NULL}};
    static const struct config_setting identity[] = {
        {"objective", "single-motifs"}, {"sparsity", "identity"}, {"single_samples", "8"}, {NULL, NULL}};
    struct sparling_config config;
    struct trial t;
    trial_begin(&t, few, 1);
    assert_int_equal(t.run->presence.names, 2);
    assert_int_equal(sparling_presence_names(&t.config), 2);
    assert_int_equal(params_find(t.run->network->params, "presence.gain")->count, 2);
    while (trial_step(&t) != METHOD_DONE)
        ;
    trial_end(&t);
    trial_configure(&config, NULL);
    assert_int_equal(sparling_presence_names(&config), 4);
    assert_int_equal(sparling_parameters_sparse(&config), 8);
    trial_configure(&config, identity);
    assert_int_equal(sparling_presence_names(&config), 0);
    assert_false(sparling_presence_alone(&config));
}

/* Of the names of counts, only one ever counts as present. */
static void the_other_strand_waits_for_half_of_the_names_that_occur(void **state)
{
    struct trial t;
    trial_begin(&t, NULL, 1);
    struct presence_phase *p = &t.run->presence;
    double *loss = p->names_table + (ptrdiff_t)PRESENCE_LOSS * p->names;
    double *with = p->names_table + (ptrdiff_t)PRESENCE_WITH * p->names;
    assert_true(p->names >= 3 && t.config.validation_samples == 18);
    assert_true(phase_of_g_alone(plan_now(t.run)));
    p->turns = TURNS_OPEN;
    for (int k = 0; k < p->names; k++)
        loss[k] = with[k] = 0;
    assert_true(!presence_turning(t.run));
    with[0] = 9; /* half of the samples have this name, and g recognises it */
    loss[0] = 0.1;
    assert_true(presence_turning(t.run));
    for (int k = 1; k < 3; k++) { /* names that g does not recognise */
        with[k] = 9;
        loss[k] = 40;
    }
    assert_true(!presence_turning(t.run));
    loss[1] = 0.1;
    assert_true(presence_turning(t.run));
    trial_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_other_strand_waits_for_half_of_the_names_that_occur),
        cmocka_unit_test(first_phase_trains_g_and_leaves_head_and_density),
        cmocka_unit_test(the_other_strand_is_read_when_half_of_the_names_are_clear),
        cmocka_unit_test(first_phase_ends_when_the_presence_loss_stops_falling),
        cmocka_unit_test(learning_rate_falls_after_the_first_phase),
        cmocka_unit_test(checkpoint_with_impossible_numbers_of_the_phase_is_refused),
        cmocka_unit_test(presence_loss_of_a_validation_matches_direct_computation),
        cmocka_unit_test(predictions_contain_the_score_of_each_name),
        cmocka_unit_test(search_gives_an_unread_name_weights_that_separate_its_samples),
        cmocka_unit_test(densities_follow_the_samples_with_the_name),
        cmocka_unit_test(badly_read_names_count_more),
        cmocka_unit_test(threads_and_pauses_do_not_change_any_bit),
        cmocka_unit_test(searches_of_weights_do_not_depend_on_threads_and_pauses),
        cmocka_unit_test(one_channel_stands_for_all_counts_above_zero),
        cmocka_unit_test(objective_covers_names_that_have_a_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
