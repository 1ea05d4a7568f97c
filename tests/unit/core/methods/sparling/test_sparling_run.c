/* Tests runs of SPARLING: exact resume, stages, the learning rate, progress and evaluation. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/hash.h"
#include "core/methods/sparling/queries/annotation.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "core/methods/sparling/training/reinitialise.h"
#include "core/metrics/edit_distance.h"
#include "tests/support/assert_ok.h"
#include "tests/support/run_env.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_sparling.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static const struct method *const method = &sparling_method;

struct outcome {
    char hash[65];
    struct evaluation_row row[EVALUATION_MAX];
    int64_t rows, steps, updates, confusion[25];
    struct hash series; /* hash of all metrics except the speed */
    unsigned char digest[HASH_BYTES];
    double accuracy;      /* best accuracy of the run */
    double reinitialised; /* number of reinitialised channels */
    int64_t waited;       /* largest number of validations by which one stage was longer */
};

static void watch(void *context, const char *name, int64_t step, double value)
{
    struct outcome *out = context;
    if (strcmp(name, "samples_per_second") == 0)
        return;
    hash_add(&out->series, name, strlen(name));
    hash_add(&out->series, &step, sizeof step);
    hash_add(&out->series, &value, sizeof value);
    if (strcmp(name, "reinitialised") == 0)
        out->reinitialised = value;
    if (strcmp(name, "accuracy") == 0)
        out->accuracy = fmax(out->accuracy, value);
}

static void conclude(struct method_run *run, struct outcome *out)
{
    struct run_env_bytes bytes = {0};
    assert_ok(run_env_save(method, run, &bytes, err));
    assert_ok(run_env_weights_hash(&bytes, out->hash, err));
    run_env_bytes_close(&bytes);
    memcpy(out->row, run->evaluation.row, sizeof out->row);
    memcpy(out->confusion, run->evaluation.errors.boxes, sizeof out->confusion);
    out->rows = run->evaluation.rows;
    out->updates = run->updates;
    hash_finish(&out->series, out->digest);
}

/* Trains to the end. With `every`, the run is saved, destroyed, created and loaded after every `every` steps, whether
 * it is training, validating or evaluating. prepare: changes the state of the new run; NULL: does not. */
static void run_prepared(const struct config_setting *more, int threads, int every,
                         void (*prepare)(struct method_run *), struct outcome *out)
{
    struct run_env environment;
    struct sparling_config config;
    enum method_request request = METHOD_CONTINUE;
    memset(out, 0, sizeof *out);
    tiny_configure(&config, more);
    assert_ok(run_env_open(&environment, threads, NULL, err));
    hash_init(&out->series);
    environment.watcher = out;
    environment.metric = watch;
    struct method_run *run = tiny_start(&environment, &config);
    if (prepare)
        prepare(run);
    for (; request != METHOD_DONE; out->steps++) {
        assert_true(out->steps < 2000);
        assert_ok(run_env_step(&environment, method, run, &request, err));
        out->waited = run->annealer.waited > out->waited ? run->annealer.waited : out->waited;
        if (every && out->steps % every == every - 1 && request != METHOD_DONE) {
            struct run_env_bytes bytes = {0};
            assert_ok(run_env_save(method, run, &bytes, err));
            method->destroy(run);
            run = tiny_start(&environment, &config);
            struct snapshot_reader reader = run_env_reader(&bytes);
            assert_ok(method->load(run, &reader, err));
            run_env_bytes_close(&bytes);
        }
    }
    conclude(run, out);
    method->destroy(run);
    run_env_close(&environment);
}

static void run_through(const struct config_setting *more, int threads, int every, struct outcome *out)
{
    run_prepared(more, threads, every, NULL, out);
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
    assert_string_equal(a->hash, b->hash);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->updates, b->updates);
    assert_memory_equal(a->digest, b->digest, sizeof a->digest);
    assert_memory_equal(a->row, b->row, sizeof a->row[0] * (size_t)a->rows);
    assert_memory_equal(a->confusion, b->confusion, sizeof a->confusion);
}

/* The outcome of the tiny run with one thread and without pauses. The first test makes it; later tests compare with it.
 */
static struct outcome tiny_outcome;

static void threads_do_not_change_any_bit(void **state)
{
    struct outcome *one = &tiny_outcome, other;
    run_through(NULL, 1, 0, one);
    assert_true(one->updates >= 30);
    /* if all accuracies were zero, the comparison would prove nothing */
    assert_true(one->accuracy > 0 && one->row[one->rows - 1].exact > 0);
    for (int threads = SANITIZED ? 3 : 2; threads <= 3; threads++) {
        run_through(NULL, threads, 0, &other);
        assert_same(one, &other);
    }
}

static void threads_do_not_change_any_bit_in_bf16(void **state)
{
    static const struct config_setting bf16[] = {{"precision", "bf16"}, {"total_samples", "60"}, {NULL, NULL}};
    struct outcome whole, pieces;
    run_through(bf16, 1, 0, &whole);
    run_through(bf16, 2, 3, &pieces);
    assert_same(&whole, &pieces);
}

static void resuming_does_not_change_any_bit(void **state)
{
    static const int every[] = {1, 3, 7};
    struct outcome pieces;
    for (size_t i = SANITIZED ? 2 : 0; i < 3; i++) {
        run_through(NULL, 1 + (int)i, every[i], &pieces);
        assert_same(&tiny_outcome, &pieces);
    }
}

/* A checkpoint contains the batches that thresholds have collected. */
static void accumulated_thresholds_resume_with_same_bits(void **state)
{
    static const struct config_setting accumulate[] = {
        {"accumulate_motifs", "9000"}, {"batch_norm", "plain"}, {"total_samples", "60"}, {NULL, NULL}};
    static const struct config_setting single[] = {
        {"sparsity", "single"}, {"quantile", "interpolated"}, {"total_samples", "60"}, {NULL, NULL}};
    static const struct config_setting relu[] = {{"sparsity", "none"}, {"total_samples", "40"}, {NULL, NULL}};
    static const struct config_setting recipe[] = {{"motif_scale", "rms"},
                                                   {"embed_order", "pool-then-embed"},
                                                   {"attend", "active"},
                                                   {"curriculum", "40"},
                                                   {"batch_norm", "plain"},
                                                   {"total_samples", "60"},
                                                   {NULL, NULL}};
    const struct config_setting *const variants[] = {accumulate, single, relu, recipe};
    struct outcome whole, pieces;
    for (size_t i = 0; i < 4; i++) {
        run_through(variants[i], 2, 0, &whole);
        run_through(variants[i], 2, 2, &pieces);
        assert_same(&whole, &pieces);
    }
}

/* Channels are reinitialised at the same samples with the same weights, for any pauses and threads. */
static void reinitialisation_resumes_with_same_bits(void **state)
{
    static const struct config_setting reinitialise[] = {
        {"reinitialise_below", "1"}, {"reinitialise_samples", "40"}, {"batch_norm", "plain"}, {"total_samples", "500"},
        {"validation_every", "20"},  {"plateau_validations", "0"},   {"target_start", "1"},   {NULL, NULL}};
    struct config_setting without[8];
    struct outcome whole, pieces, other;
    memcpy(without, reinitialise, sizeof without);
    without[0].value = "0";
    run_through(reinitialise, 1, 0, &whole);
    assert_true(whole.reinitialised >= 1);
    run_through(reinitialise, 3, 2, &pieces);
    assert_same(&whole, &pieces);
    run_through(without, 1, 0, &other);
    assert_string_not_equal(other.hash, whole.hash);
}

/* Neither the check of the channels nor the training limits the number of motifs, also directly after a pause. */
static void reinitialisation_with_limited_motifs_resumes_with_same_bits(void **state)
{
    static const struct config_setting limited[] = {
        {"reinitialise_below", "1"}, {"reinitialise_samples", "40"}, {"batch_norm", "plain"},
        {"total_samples", "500"},    {"validation_every", "20"},     {"plateau_validations", "0"},
        {"target_start", "1"},       {"most_motifs", "1"},           {NULL, NULL}};
    struct outcome whole, pieces;
    run_through(limited, 1, 0, &whole);
    assert_true(whole.reinitialised >= 1);
    run_through(limited, 2, 1, &pieces);
    assert_same(&whole, &pieces);
}

/* The loss is higher than before, and a channel has new weights: the first stage waits. */
static void make_wait(struct method_run *run)
{
    run->annealer.before = 0;
    run->reinitialisation.rests[1] = 1e9;
}

/* Saving after every step also interrupts the validations at which the stage waits. */
static void stage_that_waits_for_a_channel_resumes_with_same_bits(void **state)
{
    static const struct config_setting wait[] = {
        {"reinitialise_wait", "3"}, {"reinitialise_below", "1"}, {"batch_norm", "plain"}, {NULL, NULL}};
    struct config_setting without[4];
    struct outcome whole, pieces, other;
    memcpy(without, wait, sizeof without);
    without[0].value = "0";
    run_prepared(wait, 1, 0, make_wait, &whole);
    assert_int_equal(whole.waited, 3);
    run_prepared(wait, 3, SANITIZED ? 4 : 1, make_wait, &pieces);
    assert_same(&whole, &pieces);
    run_prepared(without, 1, 0, make_wait, &other);
    assert_int_equal(other.waited, 0);
    assert_true(other.updates < whole.updates);
}

static void channel_is_spare_while_it_is_worthless_or_new(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    struct method_run *run = tiny_open(&environment, 1, &config, NULL);
    run->samples = 100;
    assert_false(run_spare(run));
    run->reinitialisation.worthless[3] = 1;
    assert_true(run_spare(run));
    run->presence.channels = 4; /* each channel then has a name, so none is reinitialised */
    assert_false(run_spare(run));
    run->presence.channels = 0;
    run->reinitialisation.worthless[3] = 0;
    run->reinitialisation.rests[0] = 101;
    assert_true(run_spare(run));
    run->samples = 101;
    assert_false(run_spare(run));
    method->destroy(run);
    run_env_close(&environment);
}

/* With `hold_below`, all stages except the first send the gradient of the batch statistics through one image. The
 * density is low enough for the sparse backward pass. */
static void held_statistics_resume_with_same_bits(void **state)
{
    static const struct config_setting variants[][8] = {
        {{"hold_below", "0.3"}, {"backward", "sparse"}, {NULL, NULL}},
        {{"hold_below", "0.009"},
         {"backward", "auto"},
         {"density_start", "0.01"},
         {"density_final", "0.002"},
         {"embed_order", "pool-then-embed"},
         {"attend", "active"},
         {NULL, NULL}},
    };
    for (size_t i = 0; i < 2; i++) {
        struct outcome whole, pieces, free_running;
        struct config_setting without[8];
        memcpy(without, variants[i], sizeof without);
        without[0].value = "0";
        without[1].value = "dense";
        run_through(variants[i], 1, 0, &whole);
        run_through(variants[i], 3, 3, &pieces);
        assert_same(&whole, &pieces);
        run_through(without, 2, 0, &free_running);
        assert_int_equal(free_running.updates, whole.updates);
        assert_string_not_equal(free_running.hash, whole.hash);
    }
}

/* The run sets exec.hold only at densities below hold_below. The running statistics move at all densities. */
static void statistics_are_held_below_a_density(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    int held = 0, whole = 0;
    struct method_run *run =
        tiny_open(&environment, 1, &config, (const struct config_setting[]){{"hold_below", "0.3"}, {NULL, NULL}});
    for (enum method_request request = METHOD_CONTINUE; run->activity < ACTIVITY_EVALUATE;) {
        const struct batch_norm *norm = &run->network->unit[0].norm2;
        real before = norm->variance->value[1];
        int64_t updates = run->updates;
        double density = run->annealer.pending ? run->annealer.density * 0.5 : run->annealer.density;
        assert_ok(run_env_step(&environment, method, run, &request, err));
        if (run->updates == updates)
            continue;
        bool holds = density < 0.3;
        assert_true(run->exec.hold == holds && norm->variance->value[1] != before);
        held += holds;
        whole += !holds;
    }
    assert_true(held > 5 && whole > 5);
    method->destroy(run);
    run_env_close(&environment);
}

static void watch_rates(void *context, const char *name, int64_t step, double value)
{
    double *rates = context;
    if (strcmp(name, "learning_rate") == 0 && step <= 400)
        rates[step / 40] = value;
}

/* The learning rate is published every ten updates of four samples. */
static void learning_rate_falls_from_schedule_start_on(void **state)
{
    static const struct config_setting linear[] = {{"schedule", "linear"},         {"schedule_start", "0.5"},
                                                   {"learning_rate_final", "0.2"}, {"warm_up", "0"},
                                                   {"total_samples", "400"},       {"density_final", "1e-6"},
                                                   {"motif_samples", "1"},         {"test_samples", "1"},
                                                   {"validation_every", "400"},    {NULL, NULL}};
    struct run_env environment;
    struct sparling_config config;
    enum method_request request = METHOD_CONTINUE;
    double rates[11] = {0};
    tiny_configure(&config, linear);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.watcher = rates;
    environment.metric = watch_rates;
    struct method_run *run = tiny_start(&environment, &config);
    while (request != METHOD_DONE)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    for (int i = 1; i <= 10; i++) { /* the i-th rate is published at the update that reaches 40 i samples */
        double at = (40.0 * i - 4) / 400;
        double want = 1e-2 * (at <= 0.5 ? 1 : 1 - 0.8 * (at - 0.5) / 0.5);
        assert_true(fabs(rates[i] - want) < 1e-12);
    }
    method->destroy(run);
    run_env_close(&environment);
}

static void seeds_give_different_weights(void **state)
{
    struct outcome other;
    static const struct config_setting second[] = {{"seed", "2"}, {NULL, NULL}};
    run_through(second, 1, 0, &other);
    assert_string_not_equal(tiny_outcome.hash, other.hash);
}

/* The checkpoint of a stage is saved before the density is multiplied, also if the run was loaded in between. */
static void stage_end_comes_before_the_next_density(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    struct method_progress progress;
    double density = 0.4;
    int stages = 0;
    struct method_run *run = tiny_open(&environment, 1, &config, NULL);
    for (enum method_request request = METHOD_CONTINUE; request != METHOD_DONE;) {
        assert_ok(run_env_step(&environment, method, run, &request, err));
        method->progress(run, &progress);
        assert_near(progress.density, density, 0);
        if (request != METHOD_STAGE_END)
            continue;
        stages++;
        assert_int_equal(run->annealer.pending, 1);
        assert_near(environment.list[environment.count - 1].info.density, density, 0);
        assert_true(environment.list[environment.count - 1].info.stage_end);
        struct snapshot_reader reader = run_env_reader(&environment.list[environment.count - 1].bytes);
        struct method_run *copy = tiny_start(&environment, &config);
        assert_ok(method->load(copy, &reader, err));
        method->progress(copy, &progress);
        assert_near(progress.density, density, 0);
        assert_int_equal(copy->annealer.pending, 1);
        method->destroy(copy);
        if (density * 0.5 >= 0.09)
            density *= 0.5;
        else
            assert_true(annealer_last(&run->annealer, &run->rule));
        /* The next step trains at the next density, or begins the evaluation. */
        assert_ok(run_env_step(&environment, method, run, &request, err));
        if (stages == 3)
            assert_int_equal(run->activity, ACTIVITY_EVALUATE);
    }
    assert_int_equal(stages, 3);
    assert_near(density, 0.1, 0);
    assert_int_equal(run->evaluation.rows, 3);
    for (int i = 0; i < 3; i++) {
        assert_near(run->evaluation.row[i].density, 0.4 * pow(0.5, i), 0);
        assert_int_equal(run->evaluation.row[i].motif_samples, i < 2 ? 6 : 10);
        assert_int_equal(run->evaluation.row[i].test_samples, i < 2 ? 6 : 9);
        assert_true(run->evaluation.row[i].checkpoint > 0);
        assert_true(isfinite(run->evaluation.row[i].fpe) && isfinite(run->evaluation.row[i].e2ee));
    }
    method->destroy(run);
    run_env_close(&environment);
}

/* Before the last density, eta_samples is at most the number of samples left. */
static void progress_never_falls(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    struct method_progress progress;
    double last = 0, left = INFINITY;
    int final = 0;
    struct method_run *run = tiny_open(&environment, 1, &config, NULL);
    for (enum method_request request = METHOD_CONTINUE; request != METHOD_DONE;) {
        assert_ok(run_env_step(&environment, method, run, &request, err));
        method->progress(run, &progress);
        assert_true(progress.fraction >= last && progress.fraction <= 1);
        last = progress.fraction;
        if (run->activity >= ACTIVITY_EVALUATE)
            continue;
        assert_true(progress.eta_samples >= 0 && progress.eta_samples <= (double)(1000 - run->samples));
        if (!annealer_at_least(&run->annealer, &run->rule) || run->annealer.pending)
            continue;
        final++;
        assert_near(progress.eta_samples, (double)(1000 - run->samples), 0);
        assert_true(progress.eta_samples <= left && progress.fraction >= 0.95 / 2);
        left = progress.eta_samples;
    }
    assert_true(final > 5);
    assert_near(last, 1, 0);
    method->destroy(run);
    run_env_close(&environment);
}

/* Compares the figures of an evaluation with sums computed here, one image at a time. */
static void evaluation_matches_direct_computation(void **state)
{
    struct run_env environment;
    struct sparling_config config;
    static const struct config_setting short_run[] = {
        {"total_samples", "8"}, {"stage_samples", "0"}, {"motif_samples", "13"}, {"test_samples", "11"}, {NULL, NULL}};
    struct method_run *run = tiny_open(&environment, 2, &config, short_run);
    for (enum method_request request = METHOD_CONTINUE; request != METHOD_DONE;)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    const struct evaluation_row *row = &run->evaluation.row[0];
    assert_int_equal(run->evaluation.rows, 1);

    struct digitcircle domain = digitcircle_of(&config.digitcircle);
    struct digitcircle_truth truth;
    struct motif_errors errors;
    struct motif_report report;
    float image[TINY_SIZE * TINY_SIZE];
    double edits = 0;
    int64_t active = 0;
    assert_ok(motif_errors_init(&errors, 4, 4, 4, err));
    for (uint32_t i = 0; i < 13; i++) { /* in this evaluation, sample i is drawn with the seed i */
        static float planes[4 * TINY_SIZE * TINY_SIZE];
        digitcircle_draw(&domain, i, image, &truth);
        exec_begin(&run->exec, false, 0);
        tensor_to_planes(network_motifs(&run->exec, run->network, image, 1, 1), planes);
        for (size_t j = 0; j < sizeof planes / sizeof planes[0]; j++)
            active += planes[j] > 0;
        assert_ok(motif_errors_add_map(&errors, planes, TINY_SIZE, TINY_SIZE, truth.boxes, truth.count, err));
    }
    for (int i = 0; i < 11; i++) { /* computes the answers for the samples of the test set */
        struct annotation annotation;
        int wanted[10];
        int32_t label[10] = {0};
        const struct domain_truth known = {.label = label};
        digitcircle_sample(&domain, -2, i, image, &truth);
        assert_ok(annotation_make(&run->exec, run->network, &run->domain, &(struct channel_report){0}, image, &known,
                                  &annotation, err));
        for (int j = 0; j < truth.count; j++)
            wanted[j] = TOKEN_FIRST + truth.label[j];
        edits += edit_error(wanted, truth.count, (const int *)annotation.decoded.tokens, annotation.decoded.length);
        annotation_close(&annotation);
    }
    assert_ok(motif_errors_report(&errors, MOTIF_BOXES, &report, err));
    assert_near(row->fne, report.fne, 0);
    assert_near(row->fpe, report.fpe, 0);
    assert_near(row->ce, report.ce_assignment, 0);
    assert_near(row->ce_majority, report.ce_majority, 0);
    assert_near(row->achieved, (double)active / (13.0 * TINY_SIZE * TINY_SIZE * 4), 1e-15);
    assert_near(row->e2ee, edits / 11, 1e-15);
    assert_memory_equal(errors.boxes, run->evaluation.errors.boxes, 25 * sizeof(int64_t));
    motif_errors_close(&errors);
    method->destroy(run);
    run_env_close(&environment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_change_any_bit),
        cmocka_unit_test(threads_do_not_change_any_bit_in_bf16),
        cmocka_unit_test(resuming_does_not_change_any_bit),
        cmocka_unit_test(accumulated_thresholds_resume_with_same_bits),
        cmocka_unit_test(reinitialisation_resumes_with_same_bits),
        cmocka_unit_test(reinitialisation_with_limited_motifs_resumes_with_same_bits),
        cmocka_unit_test(stage_that_waits_for_a_channel_resumes_with_same_bits),
        cmocka_unit_test(channel_is_spare_while_it_is_worthless_or_new),
        cmocka_unit_test(held_statistics_resume_with_same_bits),
        cmocka_unit_test(statistics_are_held_below_a_density),
        cmocka_unit_test(learning_rate_falls_from_schedule_start_on),
        cmocka_unit_test(seeds_give_different_weights),
        cmocka_unit_test(stage_end_comes_before_the_next_density),
        cmocka_unit_test(progress_never_falls),
        cmocka_unit_test(evaluation_matches_direct_computation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
