/* Tests runs of superposition: stop rules, results, artifacts, queries. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/kernels/blas.h"
#include "core/methods/superposition/run.h"
#include "core/methods/superposition/run_int.h"
#include "core/methods/registry.h"
#include "tests/support/run_test.h"
#include "tests/support/short_runs.h"
#include "tests/support/method_ask.h"

static const struct method *const method = &superposition_method;

static void configure(struct superposition_config *config, const struct config_setting *settings)
{
    run_test_configure(method, config, settings);
}

static struct method_run *start(struct run_env *environment, const struct superposition_config *config)
{
    return run_test_start(method, environment, config);
}

struct witness {
    struct run_env_witness same;
    struct outcome outcome;
    int steps;
};

static void take_outcome(void *context, struct method_run *run)
{
    ((struct witness *)context)->outcome = run->outcome;
}

static const struct run_test test = {&superposition_method, NULL, take_outcome};

static void run_through(const struct config_setting *settings, int threads, int every, struct witness *w)
{
    w->steps = run_test_through(&test, settings, threads, every, w, &w->same);
}

static void every_kind_of_model_is_measured(void **state)
{
    const struct config_setting *const all[] = {superposition_relu, superposition_drawn_rug, superposition_linear_map};
    for (int i = 0; i < 3; i++) {
        struct witness w;
        run_through(all[i], 2, 0, &w);
        assert_true(w.outcome.loss > 0 && w.outcome.loss < 0.2);
        assert_true(w.outcome.low <= w.outcome.loss && w.outcome.loss <= w.outcome.high);
        assert_true((w.outcome.low < w.outcome.high) == (i == 1)); /* only the rug has several draws */
        assert_int_equal((int)w.outcome.samples, i == 0 ? 310 : 0);
        /* the 310 samples are three times the batches 40, 40 and 20, and then a batch of 10: ten updates */
        assert_int_equal((int)w.outcome.updates, i == 0 ? 10 : 0);
    }
}

static void each_stop_rule_ends_training_when_it_should(void **state)
{
    struct superposition_config config;
    struct run_env environment;
    assert_ok(run_env_open(&environment, 1, NULL, err));
    configure(&config,
              (const struct config_setting[]){{"window", "3"}, {"block", "4096"}, {"n_s", "16"}, {NULL, NULL}});
    struct method_run *run = start(&environment, &config);
    const double falling[] = {6, 5, 4, 3, 2, 1, 1}, flat[] = {1, 1, 1, 2, 2, 2, 2};
    for (int stop = 0; stop < 3; stop++)
        for (int kind = 0; kind < 2; kind++) {
            run->config.stop = stop;
            run->samples = 4096;
            for (int n = 0; n <= 7; n++) {
                run->updates = n;
                /* A window has 3 updates, and each rule compares two windows. `blocks` compares them as soon as there
                 * were more than 6 updates. `windows` compares them only at the end of a window; in this loop, that is
                 * n = 6. */
                bool asked = stop == STOP_BLOCKS ? n > 6 : stop == STOP_WINDOWS ? n == 6 : false;
                assert_int_equal(work_trained(run), asked && kind == 1);
                if (n < 7)
                    run->losses[n % 6] = kind ? flat[n] : falling[n];
            }
        }
    run->config.stop = STOP_BLOCKS;
    /* 4097 is no end of a block: the rule `blocks` compares losses only after every 4096 samples */
    run->samples = 4097;
    assert_false(work_trained(run));
    run->samples = run->config.total_samples;
    assert_true(work_trained(run));
    method->destroy(run);
    run_env_close(&environment);
}

/* A small model with half as many dimensions as features learns antipodal pairs. Its loss differs by less than a tenth
 * from the closed form for antipodal pairs. */
static void a_small_model_finds_antipodal_pairs(void **state)
{
    struct superposition_config config;
    struct run_env environment;
    enum method_request request = METHOD_CONTINUE;
    assert_ok(run_env_open(&environment, 2, NULL, err));
    configure(&config, (const struct config_setting[]){{"n_s", "64"},
                                                       {"ratio", "0.5"},
                                                       {"p", "0.1"},
                                                       {"batch", "256"},
                                                       {"learning_rate", "1e-2"},
                                                       {"stop", "never"},
                                                       {"total_samples", "500000"},
                                                       {"test_samples", "20000"},
                                                       {NULL, NULL}});
    struct method_run *run = NULL;
    assert_ok(method->create(&config, &environment.env, &run, err));
    while (request != METHOD_DONE)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    const struct outcome *o = &run->outcome;
    if (!(fabs(o->loss / theory_pairs(0.1, 0.5) - 1) < 0.1))
        fail_msg("loss %g, pairs %g, closed form %g", o->loss, theory_pairs(0.1, 0.5), setup_predicted(&run->setup));
    assert_true(o->statistics.kept_diagonal_mean > 0.95 && o->statistics.kept_diagonal_mean < 1.1);
    assert_true(o->statistics.saturation > 0.999 && o->statistics.saturation < 1.3);
    method->destroy(run);
    run_env_close(&environment);
}

static void statistics_equal_those_of_the_explicit_matrix(void **state)
{
    enum { N = 20, D = 7 };
    const struct autoencoder_shape shape = {N, D, false, false, ACTIVATION_RELU, 0, 0};
    struct autoencoder *m;
    struct statistics s;
    struct thread_pool *pool;
    double w[N][N], sum = 0, mean = 0, symmetric = 0, antisymmetric = 0, lyapunov = 0, code = 0;
    assert_ok(autoencoder_create(&shape, true, &m, err));
    assert_ok(thread_pool_create(2, &pool, err));
    params_init(m->params, 4, NULL);
    /* adds the encoder three times to the decoder, except for feature 3, which the decoder then hardly represents */
    for (int i = 0; i < N; i++)
        for (int k = 0; k < D; k++)
            m->decoder->value[i * D + k] += m->encoder->value[i * D + k] * (i == 3 ? 0 : 3);
    assert_ok(statistics_model(m, pool, kernels_best(), 0.2, 1, &s, err));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            w[i][j] = 0;
            for (int k = 0; k < D; k++)
                w[i][j] += (double)m->decoder->value[i * D + k] * (double)m->encoder->value[j * D + k];
        }
    for (int i = 0; i < N; i++) {
        double squares = 0, cubes = 0, whole = 0, most = 0;
        mean += w[i][i] / N;
        for (int j = 0; j < N; j++) {
            double a = fabs(w[i][j]);
            symmetric += pow((w[i][j] + w[j][i]) / 2, 2);
            antisymmetric += pow((w[i][j] - w[j][i]) / 2, 2);
            whole += a * a;
            most += a * a * a;
            squares += i == j ? 0 : a * a;
            cubes += i == j ? 0 : a * a * a;
            sum += i == j ? 0 : w[i][j];
        }
        lyapunov = fmax(lyapunov, cubes / pow(squares, 1.5));
        code = fmax(code, most / whole);
    }
    assert_true(fabs(s.diagonal_mean - mean) < 1e-5);
    assert_true(fabs(s.row_sum - sum / N) < 1e-4);
    assert_true(fabs(s.symmetric - sqrt(symmetric)) < 1e-4 && fabs(s.antisymmetric - sqrt(antisymmetric)) < 1e-4);
    assert_true(fabs(s.lyapunov - lyapunov) < 1e-5 && fabs(s.lyapunov_code - code) < 1e-5);
    assert_true(s.dropped > 0.9 / N && s.saturation >= 1);
    assert_true(s.kolmogorov > 0 && s.kolmogorov < 1);
    struct rug rug; /* all rows of a rug have the same statistics, so they are computed from one row */
    assert_ok(rug_create(64, 24, 1, 0, &rug, err));
    assert_ok(statistics_rug(&rug, pool, kernels_best(), 0.2, 1.5, -0.2, 1, &s, err));
    assert_true(fabs(s.diagonal_mean - 1.5) < 1e-6 && s.diagonal_sd < 1e-7 && s.antisymmetric == 0 && s.dropped == 0);
    assert_true(fabs(s.saturation - 1) < 1e-5);
    assert_true(fabs(s.symmetric - 1.5 * 64 / sqrt(24)) < 1e-3); /* the matrix has n_d eigenvalues of 1.5 n_s / n_d */
    rug_close(&rug);
    autoencoder_destroy(m);
    thread_pool_destroy(pool);
}

/* ---- configuration ------------------------------------------------------------------------------------ */

static void each_fault_names_its_field(void **state)
{
    static const struct run_test_wrong wrong[] = {{{{"n_d", "600"}}, "n_d"},
                                                  {{{"model", "rug"}, {"n_s", "100"}}, "n_s"},
                                                  {{{"n_s", "1048576"}}, "batch"},
                                                  {{{"block", "10"}}, "block"}};
    run_test_faults(method, wrong, sizeof wrong / sizeof wrong[0]);
    run_test_presets(method);
}

/* ---- queries ------------------------------------------------------------------------------------------ */

struct answer {
    double loss, output;
    int64_t n_s;
    int features;
};

static void open_it(void *context, const char *key)
{
    (void)key;
}
static void close_it(void *context) {}
static void number(void *context, const char *key, double value)
{
    struct answer *h = context;
    if (key && strcmp(key, "loss") == 0)
        h->loss = value;
    if (key && strcmp(key, "output") == 0) {
        h->output = value;
        h->features++;
    }
}
static void integer(void *context, const char *key, int64_t value)
{
    struct answer *h = context;
    if (strcmp(key, "n_s") == 0)
        h->n_s = value;
}
static void boolean(void *context, const char *key, bool value) {}
static void text(void *context, const char *key, const char *value) {}
static void null(void *context, const char *key) {}

static void a_checkpoint_answers_queries(void **state)
{
    static const char *const models[] = {"trained", "rug", "linear"};
    for (int kind = 0; kind < 3; kind++) {
        const struct config_setting settings[] = {
            {"model", models[kind]},    {"n_s", "64"},     {"ratio", "0.5"},         {"p", "0.05"},
            {"total_samples", "20000"}, {"stop", "never"}, {"test_samples", "1000"}, {NULL, NULL}};
        struct superposition_config config;
        struct run_env environment;
        struct run_env_bytes bytes = {0};
        struct method_model *model;
        enum method_request request = METHOD_CONTINUE;
        configure(&config, settings);
        assert_ok(run_env_open(&environment, 1, NULL, err));
        struct method_run *run = start(&environment, &config);
        while (request != METHOD_DONE)
            assert_ok(run_env_step(&environment, method, run, &request, err));
        assert_ok(run_env_save(method, run, &bytes, err));
        struct snapshot_reader reader = run_env_reader(&bytes);
        assert_ok(method->open(&config, environment.env.kernels, NULL, &reader, &model, err));
        double sum = 0;
        for (int seed = 0; seed < 1000; seed++) {
            struct answer answer = {0};
            const struct sink sink = {&answer, open_it, close_it, open_it, close_it,
                                      number,  integer, boolean,  text,    null};
            struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = seed};
            assert_ok(method_ask(method, model, "predict", &input, &sink, err));
            assert_int_equal(answer.n_s, 64);
            sum += answer.loss;
        }
        assert_true(fabs(sum / 1000 / run->outcome.loss - 1) < 1e-4); /* the run evaluated these 1000 samples */
        struct answer answer = {0};
        const struct sink sink = {&answer, open_it, close_it, open_it, close_it, number, integer, boolean, text, null};
        float values[64] = {0}, odd[64] = {2};
        values[5] = 0.9f;
        struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {64}, .values = values};
        assert_ok(method_ask(method, model, "predict", &input, &sink, err));
        assert_true(answer.features >= 1);
        input.values = odd;
        assert_int_equal(method_ask(method, model, "predict", &input, &sink, NULL), STATUS_INVALID);
        input.dim[0] = 63;
        assert_int_equal(method_ask(method, model, "predict", &input, &sink, NULL), STATUS_INVALID);
        assert_true(method->model_bytes(model) > 0);
        method->close(model);
        /* An evaluation of the finished run on other samples gives nearly the same loss. */
        double before = run->outcome.loss;
        struct method_evaluation what = {.samples = 2000, .seed = 99};
        assert_ok(method->begin_evaluation(run, &what, err));
        for (request = METHOD_CONTINUE; request != METHOD_DONE;)
            assert_ok(run_env_step(&environment, method, run, &request, err));
        assert_true(run->outcome.loss != before && fabs(run->outcome.loss / before - 1) < 0.15);
        run_env_bytes_close(&bytes);
        method->destroy(run);
        run_env_close(&environment);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_model_is_measured),
        cmocka_unit_test(each_stop_rule_ends_training_when_it_should),
        cmocka_unit_test(a_small_model_finds_antipodal_pairs),
        cmocka_unit_test(statistics_equal_those_of_the_explicit_matrix),
        cmocka_unit_test(each_fault_names_its_field),
        cmocka_unit_test(a_checkpoint_answers_queries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
