/* Tests runs of dictionary: exact resume for every learner, threads, what trained dictionaries find, results,
 * artifacts, refused configurations. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/coding/plain.h"
#include "core/kernels/blas.h"
#include "core/methods/registry.h"
#include "core/methods/dictionary/run.h"
#include "core/methods/dictionary/run_int.h"
#include "core/methods/superposition/config.h"
#include "tests/support/run_test.h"

static const struct method *const method = &dictionary_method;

static const char *const learners[] = {"l1",   "topk", "batchtopk", "jumprelu", "matryoshka", "matching-pursuit",
                                       "fista"};
enum { ALL_LEARNERS = 7 };

static const struct config_setting iid[] = {{"source", "iid"},
                                            {"features", "12"},
                                            {"inputs", "8"},
                                            {"active", "2"},
                                            {"width", "33"},
                                            {"l0", "3"},
                                            {"seeds", "2"},
                                            {"batch", "40"},
                                            {"distinct", "100"},
                                            {"dead_after", "2"},
                                            {"iterations", "10"},
                                            {"alternations", "2"},
                                            {"total_samples", "310"},
                                            {"test_samples", "90"},
                                            {"pursuit_samples", "70"},
                                            {"checkpoint_every", "120"},
                                            {NULL, NULL}};
static const struct config_setting trees[] = {{"features", "40"},
                                              {"inputs", "9"},
                                              {"roots", "2"},
                                              {"width", "20"},
                                              {"l0", "2"},
                                              {"seeds", "3"},
                                              {"unit_rows", "true"},
                                              {"batch", "40"},
                                              {"total_samples", "300"},
                                              {"test_samples", "90"},
                                              {"pursuit_samples", "50"},
                                              {"checkpoint_every", "100"},
                                              {NULL, NULL}};
static const struct config_setting one[] = {
    {"features", "40"}, {"inputs", "9"},           {"width", "20"},           {"l0", "2"},
    {"seeds", "2"},     {"learner", "matryoshka"}, {"learning_rate", "1e-2"}, {"total_samples", "4000"},
    {"batch", "40"},    {"test_samples", "200"},   {"pursuit_samples", "50"}, {"checkpoint_every", "1000"},
    {NULL, NULL}};

/* These runs learn dictionaries of the hidden layers of superposition models: a rug (with fixed weights) and a trained
 * model. */
static const struct config_setting hidden[] = {{"source", "rug"},
                                               {"features", "16"},
                                               {"inputs", "8"},
                                               {"p", "0.2"},
                                               {"width", "0"},
                                               {"l0", "0"},
                                               {"seeds", "2"},
                                               {"batch", "40"},
                                               {"model_samples", "600"},
                                               {"total_samples", "300"},
                                               {"test_samples", "90"},
                                               {"pursuit_samples", "20"},
                                               {"checkpoint_every", "100"},
                                               {NULL, NULL}};
static const struct config_setting autoencoder[] = {{"source", "trained"},
                                                    {"features", "20"},
                                                    {"inputs", "6"},
                                                    {"p", "0.1"},
                                                    {"width", "24"},
                                                    {"l0", "2"},
                                                    {"batch", "40"},
                                                    {"model_samples", "600"},
                                                    {"total_samples", "300"},
                                                    {"test_samples", "90"},
                                                    {"pursuit_samples", "20"},
                                                    {"checkpoint_every", "100"},
                                                    {NULL, NULL}};

struct witness {
    struct run_env_witness same;
    struct outcome outcome;
};

static void take_outcome(void *context, struct method_run *run)
{
    ((struct witness *)context)->outcome = run->outcome;
}

static const struct run_test test = {&dictionary_method, NULL, take_outcome};

static void weights_do_not_depend_on_threads_or_pauses(void **state)
{
    struct config_setting own[ALL_LEARNERS][RUN_TEST_SETTINGS];
    const struct config_setting *all[ALL_LEARNERS + 4] = {trees, one, hidden, autoencoder};
    (void)state;
    for (int i = 0; i < ALL_LEARNERS; i++) {
        run_test_vary(iid, "learner", learners[i], own[i]);
        all[4 + i] = own[i];
    }
    run_test_bits(&test, all, sizeof all / sizeof all[0], 3);
}

/* Figures that the next test computes sample by sample, in double precision, from the definitions. */
struct plain_figures {
    double loss, l0, explained, shrinkage, dead, coherence, guaranteed, right, overlap_omp;
};

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance))
        fail_msg("%.9g instead of %.9g", value, wanted);
}

static double cosine(const float *a, const float *b, int n)
{
    double ab = 0, aa = 0, bb = 0;
    for (int k = 0; k < n; k++) {
        ab += (double)a[k] * (double)b[k];
        aa += (double)a[k] * (double)a[k];
        bb += (double)b[k] * (double)b[k];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

/* The true feature whose direction is most similar to the latent. */
static int feature_of(const struct method_run *run, int latent)
{
    const struct planted *data = &run->data;
    int d = data->shape.inputs, best = 0;
    double most = -1;
    for (int i = 0; i < data->shape.features; i++) {
        double c =
            fabs(cosine(run->sae[0]->decoder->value + (ptrdiff_t)latent * d, data->directions + (ptrdiff_t)i * d, d));
        best = c > most ? i : best;
        most = fmax(most, c);
    }
    return best;
}

static bool contains(const int32_t *list, int count, int wanted)
{
    for (int i = 0; i < count; i++)
        if (list[i] == wanted)
            return true;
    return false;
}

enum { PLAIN_INPUTS = 9, PLAIN_WIDTH = 20, PLAIN_SAMPLES = 80, PLAIN_BATCH = 40 };

/* Adds sample r of the batch to the figures `f`. unit: the dictionary's rows, scaled to norm 1. */
static void add_plain_sample(const struct method_run *run, const struct plain *unit, int r, struct plain_figures *f,
                             bool *fired)
{
    const struct entries *codes = &run->step->codes;
    const struct sae *sae = run->sae[0];
    const float *x = run->x + (ptrdiff_t)r * PLAIN_INPUTS;
    const int32_t *active = codes->index + codes->start[r];
    int count = codes->count[r], right = 0, common = 0;
    double rebuilt[PLAIN_INPUTS], error = 0, norm = 0, own = 0;
    float signal[PLAIN_INPUTS], scratch[4096];
    int32_t omp[PLAIN_WIDTH];
    for (int k = 0; k < PLAIN_INPUTS; k++) {
        rebuilt[k] = (double)sae->bias->value[k];
        for (int i = 0; i < count; i++)
            rebuilt[k] +=
                (double)codes->value[codes->start[r] + i] * (double)sae->decoder->value[active[i] * PLAIN_INPUTS + k];
        error += ((double)x[k] - rebuilt[k]) * ((double)x[k] - rebuilt[k]);
        norm += (double)x[k] * (double)x[k];
        own += rebuilt[k] * rebuilt[k];
        signal[k] = (float)(((double)x[k] - (double)sae->bias->value[k]) / run->scale);
    }
    f->loss += error;
    f->l0 += count;
    f->shrinkage += sqrt(own / norm);
    assert_true(count > 0 && plain_pursuit_scratch(unit) <= sizeof scratch / sizeof scratch[0]);
    int found = plain_omp(unit, signal, count, omp, scratch);
    for (int i = 0; i < count; i++) {
        fired[active[i]] = true;
        right += contains(run->truth.index + run->truth.start[r], run->truth.count[r], feature_of(run, active[i]));
        common += contains(omp, found, active[i]);
    }
    f->right += (double)right / count;
    f->overlap_omp += (double)common / (count + found - common);
    f->guaranteed += count < (1 + 1 / f->coherence) / 3;
}

static void compare_figures(void *context, struct method_run *run)
{
    struct plain_figures f = {0};
    bool fired[PLAIN_WIDTH] = {false};
    double sum[PLAIN_INPUTS] = {0}, power = 0, centre = 0;
    float rows[PLAIN_WIDTH * PLAIN_INPUTS];
    const float *decoder = run->sae[0]->decoder->value;
    struct step_outcome out;
    for (int j = 0; j < PLAIN_WIDTH; j++) {
        double length = 0;
        for (int i = 0; i < j; i++)
            f.coherence =
                fmax(f.coherence, fabs(cosine(decoder + i * PLAIN_INPUTS, decoder + j * PLAIN_INPUTS, PLAIN_INPUTS)));
        for (int k = 0; k < PLAIN_INPUTS; k++)
            length += (double)decoder[j * PLAIN_INPUTS + k] * (double)decoder[j * PLAIN_INPUTS + k];
        for (int k = 0; k < PLAIN_INPUTS; k++)
            rows[j * PLAIN_INPUTS + k] = (float)((double)decoder[j * PLAIN_INPUTS + k] / sqrt(length));
    }
    struct plain unit = {PLAIN_WIDTH, PLAIN_INPUTS, rows, 1, run->base.env.kernels};
    for (int64_t position = 0; position < PLAIN_SAMPLES; position += PLAIN_BATCH) {
        assert_ok(run_draw(run, STREAM_TEST, position, 0, PLAIN_BATCH, err));
        assert_ok(run_encode(run, 0, PLAIN_BATCH, &out, err));
        for (int r = 0; r < PLAIN_BATCH; r++) {
            add_plain_sample(run, &unit, r, &f, fired);
            for (int k = 0; k < PLAIN_INPUTS; k++) {
                double x = (double)run->x[r * PLAIN_INPUTS + k];
                sum[k] += x / PLAIN_SAMPLES;
                power += x * x / PLAIN_SAMPLES;
            }
        }
    }
    for (int k = 0; k < PLAIN_INPUTS; k++)
        centre += sum[k] * sum[k];
    for (int j = 0; j < PLAIN_WIDTH; j++)
        f.dead += !fired[j];
    const struct outcome *o = &run->outcome;
    assert_near(o->loss, f.loss / PLAIN_SAMPLES / (run->scale * run->scale), 1e-5);
    assert_near(o->l0, f.l0 / PLAIN_SAMPLES, 1e-9);
    assert_near(o->explained, 1 - f.loss / PLAIN_SAMPLES / (power - centre), 1e-5);
    assert_near(o->shrinkage, f.shrinkage / PLAIN_SAMPLES, 1e-5);
    assert_near(o->dead, f.dead / PLAIN_WIDTH, 1e-9);
    assert_near(o->coherence, f.coherence, 1e-5);
    assert_near(o->guaranteed, f.guaranteed / PLAIN_SAMPLES, 1e-9);
    assert_near(o->right_encoder, f.right / PLAIN_SAMPLES, 1e-9);
    assert_near(o->overlap_omp, f.overlap_omp / PLAIN_SAMPLES, 1e-9);
    *(struct plain_figures *)context = f;
}

/* These figures equal their definitions: error, L0, explained variance, shrinkage, dead latents, coherence,
 * guarantees, right latents, and the Jaccard index with OMP (orthogonal matching pursuit). */
static void figures_follow_their_definitions(void **state)
{
    static const struct config_setting settings[] = {
        {"features", "40"}, {"inputs", "9"},        {"width", "20"},           {"l0", "2"},
        {"seeds", "1"},     {"learner", "topk"},    {"learning_rate", "1e-2"}, {"total_samples", "2000"},
        {"batch", "40"},    {"test_samples", "80"}, {"pursuit_samples", "80"}, {NULL, NULL}};
    struct run_test figures = {&dictionary_method, NULL, compare_figures};
    struct run_env_witness same;
    struct plain_figures f = {0};
    (void)state;
    (void)run_test_through(&figures, settings, 1, 0, &f, &same);
    assert_true(f.l0 == 2 * PLAIN_SAMPLES && f.overlap_omp > 0 && f.overlap_omp < PLAIN_SAMPLES && f.right > 0);
}

/* If there are as many latents as features and few features are active, every learner with an encoder or a pursuit
 * recovers most features. */
static void dictionaries_recover_the_features_of_easy_data(void **state)
{
    static const struct config_setting easy[] = {{"source", "iid"},
                                                 {"features", "16"},
                                                 {"inputs", "16"},
                                                 {"active", "2"},
                                                 {"width", "16"},
                                                 {"l0", "2"},
                                                 {"seeds", "2"},
                                                 {"learning_rate", "3e-3"},
                                                 {"batch", "256"},
                                                 {"total_samples", "400000"},
                                                 {"test_samples", "4000"},
                                                 {"pursuit_samples", "500"},
                                                 {NULL, NULL}};
    static const char *const four[] = {"topk", "batchtopk", "matching-pursuit", "fista"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct config_setting own[RUN_TEST_SETTINGS];
        struct witness w = {0};
        run_test_vary(easy, "learner", four[i], own);
        run_test_through(&test, own, 2, 0, &w, &w.same);
        const struct outcome *o = &w.outcome;
        print_message("%s: MCC %.3f, pair MCC %.3f, F1 %.3f, explained %.3f, L0 %.2f\n", four[i], o->mcc,
                      o->pair_absolute, o->f1, o->explained, o->l0);
        assert_true(o->mcc > 0.8);
        assert_true(o->explained > 0.75);
        assert_true(o->code_true > 0.9);
        assert_true(o->right_omp > (i == 3 ? 0.3 : 0.5)); /* FISTA uses more latents than features */
        assert_true(isnan(o->absorption_full));           /* independent features have no children */
    }
}

/* The learner fista begins with a high penalty and lowers it. With a constant penalty, sixty updates were too few: the
 * MCC was 0.65, and codes had twenty active latents instead of ten. */
static void dictionary_learning_converges_in_sixty_updates(void **state)
{
    static const struct config_setting sparse[] = {{"source", "iid"},     {"features", "50"},
                                                   {"inputs", "0"},       {"active", "10"},
                                                   {"width", "0"},        {"l0", "10"},
                                                   {"seeds", "1"},        {"learner", "fista"},
                                                   {"distinct", "5000"},  {"pursuit_samples", "1000"},
                                                   {"iterations", "100"}, {"alternations", "60"},
                                                   {NULL, NULL}};
    struct witness w = {0};
    (void)state;
    run_test_through(&test, sparse, 2, 0, &w, &w.same);
    const struct outcome *o = &w.outcome;
    print_message("MCC %.3f, code MCC %.3f, L0 %.2f\n", o->mcc, o->code_encoder, o->l0);
    assert_true(o->mcc > 0.92);
    assert_true(o->code_encoder > 0.9);
    assert_true(o->l0 < 14);
}

static void the_penalty_of_dictionary_learning_falls_to_its_own_value(void **state)
{
    struct sae_shape shape = {.inputs = 2, .penalty = 0.1};
    const float x[] = {3, 4, 0, 15}; /* mean norm 10 */
    const struct kernels *k = kernels_best();
    (void)state;
    assert_true(fabs(alternate_penalty(&shape, k, x, 2, 0) - 2) < 1e-6);
    assert_true(fabs(alternate_penalty(&shape, k, x, 2, 0.35) - sqrt(2 * 0.1)) < 1e-6);
    assert_true(fabs(alternate_penalty(&shape, k, x, 2, 0.7) - 0.1) < 1e-12);
    assert_true(fabs(alternate_penalty(&shape, k, x, 2, 1) - 0.1) < 1e-12);
    shape.penalty = 3; /* larger than the penalty with which the training would otherwise begin */
    assert_true(fabs(alternate_penalty(&shape, k, x, 2, 0) - 3) < 1e-12);
}

/* By default, a latent counts as dead if it has not fired for dead_after updates: a quarter of the updates of the run,
 * at least 1 and at most 1000. So latents can count as dead in a short run, too. */
static void latents_count_as_dead_within_short_runs(void **state)
{
    struct dictionary_config config;
    (void)state;
    run_test_configure(method, &config, one);
    struct dictionary_setup c = dictionary_setup(&config);
    assert_int_equal(dictionary_shape(&config, &c).dead_after, 25); /* a quarter of 100 updates */
    config.total_samples = 40 * 100000;
    assert_int_equal(dictionary_shape(&config, &c).dead_after, 1000);
    config.total_samples = 1;
    assert_int_equal(dictionary_shape(&config, &c).dead_after, 1);
    config.dead_after = 7;
    assert_int_equal(dictionary_shape(&config, &c).dead_after, 7);
}

static void results_that_are_shares_lie_between_0_and_1(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct config_setting own[RUN_TEST_SETTINGS];
        struct witness w = {0};
        run_test_vary(trees, "l0", i == 0 ? "2" : "3", own);
        run_test_through(&test, own, 1, 0, &w, &w.same);
        const struct outcome *o = &w.outcome;
        const double shares[] = {o->mcc,
                                 o->uniqueness,
                                 o->precision,
                                 o->recall,
                                 o->f1,
                                 o->accuracy,
                                 o->dead,
                                 o->pair_absolute,
                                 o->pair_codes,
                                 o->overlap_omp,
                                 o->overlap_iht,
                                 o->right_omp,
                                 o->guaranteed,
                                 o->coherence,
                                 o->absorption_full,
                                 o->absorption_fraction,
                                 o->overlap_fista};
        for (size_t k = 0; k < sizeof shares / sizeof shares[0]; k++)
            assert_true(shares[k] >= 0 && shares[k] <= 1 + 1e-6);
        assert_true(o->pair_signed <= o->pair_absolute + 1e-9);
        assert_true(o->worth <= o->recurring && o->recurring <= 20);
        assert_true(fabs(o->l0 - (i == 0 ? 2 : 3)) < 0.5);
    }
}

/* A rug is a matrix that maps n_s features to n_d dimensions; each feature has a unit vector. For two different
 * features, the squared inner product of their vectors has the mean (n_s / n_d - 1) / (n_s - 1). */
static void vectors_of_a_rug_are_those_of_the_paper(void **state)
{
    enum { N = 64, D = 16 };
    const struct hidden rug = {N, D, false, 0.1, 3, 0};
    float vectors[N * D];
    double sum = 0;
    (void)state;
    assert_ok(hidden_vectors(&rug, NULL, NULL, vectors, err));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double inner = 0;
            for (int k = 0; k < D; k++)
                inner += (double)vectors[i * D + k] * (double)vectors[j * D + k];
            if (i == j)
                assert_true(fabs(inner - 1) < 1e-5);
            else
                sum += inner * inner / (N * (N - 1));
        }
    assert_true(fabs(sum - ((double)N / D - 1) / (N - 1)) < 1e-5);
    assert_true(hidden_explained(0.01, 0.5) > hidden_explained(0.3, 0.5));
    assert_true(hidden_explained(0.1, 0.9) > hidden_explained(0.1, 0.2));
}

static void a_dictionary_reads_the_hidden_layer_of_a_superposition_job(void **state)
{
    static const struct config_setting toy[] = {{"n_s", "20"},
                                                {"n_d", "6"},
                                                {"p", "0.1"},
                                                {"batch", "50"},
                                                {"stop", "never"},
                                                {"total_samples", "1000"},
                                                {"test_samples", "20"},
                                                {"learning_rate", "1e-2"},
                                                {NULL, NULL}};
    struct run_env environment;
    struct superposition_config other;
    struct dictionary_config config;
    struct run_env_bytes saved = {0};
    enum method_request request = METHOD_CONTINUE;
    float encoder[20 * 6];
    (void)state;
    assert_ok(run_env_open(&environment, 1, NULL, err));
    run_test_configure(&superposition_method, &other, toy);
    struct method_run *run = run_test_start(&superposition_method, &environment, &other);
    while (request != METHOD_DONE)
        assert_ok(superposition_method.step(run, &request, err));
    assert_ok(run_env_save(&superposition_method, run, &saved, err));
    superposition_method.destroy(run);

    struct snapshot_reader reader = run_env_reader(&saved);
    struct snapshot *snapshot;
    const uint64_t shape[2] = {20, 6};
    assert_ok(snapshot_create(&snapshot, err));
    assert_ok(snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "encoder", 2, shape, encoder, err));
    assert_ok(snapshot_read(snapshot, &reader, 1u << SNAPSHOT_WEIGHT, err));
    snapshot_destroy(snapshot);

    run_test_configure(method, &config, autoencoder);
    run = run_test_start(method, &environment, &config);
    assert_ok(method->warm_start(run, &reader, err));
    request = METHOD_CONTINUE;
    while (request != METHOD_DONE)
        assert_ok(method->step(run, &request, err));
    for (int i = 0; i < 20; i++) {
        double square = 0;
        for (int k = 0; k < 6; k++)
            square += (double)encoder[i * 6 + k] * (double)encoder[i * 6 + k];
        assert_true(fabs((double)run->data.length[i] - sqrt(square)) < 1e-5);
        for (int k = 0; k < 6; k++)
            assert_true(fabs((double)run->data.directions[i * 6 + k] - (double)encoder[i * 6 + k] / sqrt(square)) <
                        1e-5);
    }
    method->destroy(run);

    config.inputs = 7;
    struct error fault = {0};
    run = run_test_start(method, &environment, &config);
    assert_int_equal(method->warm_start(run, &reader, &fault), STATUS_CONFLICT);
    assert_non_null(strstr(fault.message, "20 features in 6 dimensions"));
    method->destroy(run);
    run_env_bytes_close(&saved);
    run_env_close(&environment);
}

static void wrong_values_are_refused(void **state)
{
    static const struct run_test_wrong wrong[] = {
        {{{"l0", "300"}}, "l0"},
        {{{"inputs", "0"}}, "inputs"},
        {{{"source", "iid"}, {"features", "8"}, {"active", "8"}}, "active"},
        {{{"roots", "2000"}}, "roots"},
        {{{"batch", "65536"}, {"width", "65536"}}, "batch"},
        {{{"distinct", "100"}}, "distinct"},
        {{{"l0", "0"}}, "l0"},
        {{{"source", "rug"}, {"features", "100"}}, "features"},
        {{{"source", "trained"}, {"features", "4096"}, {"p", "0.5"}}, "p"},
        {{{"width", "512"}, {"l0", "300"}}, "pursuit_samples"},
    };
    (void)state;
    run_test_faults(method, wrong, sizeof wrong / sizeof wrong[0]);
}

static void presets_are_valid(void **state)
{
    (void)state;
    run_test_presets(method);
}

static void the_verdict_names_latents_that_do_not_recur(void **state)
{
    struct run_env environment;
    struct dictionary_config config;
    struct findings *findings = calloc(1, sizeof *findings);
    enum method_request request = METHOD_CONTINUE;
    (void)state;
    assert_ok(run_env_open(&environment, 1, NULL, err));
    run_test_configure(method, &config, trees); /* hardly trained */
    struct method_run *run = run_test_start(method, &environment, &config);
    while (request != METHOD_DONE)
        assert_ok(method->step(run, &request, err));
    assert_ok(method->judge(run, findings, err));
    assert_true(findings_verdict(findings) != VERDICT_LEARNED);
    bool found = false;
    for (int i = 0; i < findings->count; i++)
        found = found || strcmp(findings->list[i].code->code, "latents-do-not-recur") == 0;
    assert_true(found);
    method->destroy(run);
    run_env_close(&environment);
    free(findings);
}

/* The CSV table of the chart of a run. It contains the names of the chart's panels. */
struct tables {
    char latents[16384];
};

static void take_tables(void *watcher, const char *name, const char *media_type, const void *bytes, size_t count)
{
    struct tables *t = watcher;
    if (strcmp(name, "latents-chart.csv") != 0)
        return;
    assert_true(count < sizeof t->latents);
    memcpy(t->latents, bytes, count);
    t->latents[count] = 0;
}

static void draw_charts(const struct config_setting *settings, struct tables *tables)
{
    struct run_env environment;
    struct dictionary_config config;
    enum method_request request = METHOD_CONTINUE;
    memset(tables, 0, sizeof *tables);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.watcher = tables;
    environment.artifact = take_tables;
    run_test_configure(method, &config, settings);
    struct method_run *run = run_test_start(method, &environment, &config);
    while (request != METHOD_DONE)
        assert_ok(run_env_step(&environment, method, run, &request, err));
    method->destroy(run);
    run_env_close(&environment);
}

static void charts_show_only_what_was_measured(void **state)
{
    struct tables tables;
    (void)state;
    for (int seeds = 1; seeds <= 2; seeds++)
        for (int pursuit = 0; pursuit <= 20; pursuit += 20) {
            const struct config_setting settings[] = {{"source", "iid"},
                                                      {"features", "12"},
                                                      {"inputs", "8"},
                                                      {"active", "2"},
                                                      {"width", "12"},
                                                      {"l0", "2"},
                                                      {"seeds", seeds == 1 ? "1" : "2"},
                                                      {"learner", "topk"},
                                                      {"batch", "40"},
                                                      {"total_samples", "200"},
                                                      {"test_samples", "40"},
                                                      {"pursuit_samples", pursuit ? "20" : "0"},
                                                      {NULL, NULL}};
            draw_charts(settings, &tables);
            assert_null(strstr(tables.latents, "nan"));
            assert_non_null(strstr(tables.latents, seeds > 1 ? "True feature and seeds" : "True feature"));
            assert_int_equal(strstr(tables.latents, "True feature and seeds") != NULL, seeds > 1);
            assert_int_equal(strstr(tables.latents, "Agreement with pursuit") != NULL, pursuit > 0);
        }
}

int main(void)
{
    blas_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_do_not_depend_on_threads_or_pauses),
        cmocka_unit_test(figures_follow_their_definitions),
        cmocka_unit_test(dictionaries_recover_the_features_of_easy_data),
        cmocka_unit_test(dictionary_learning_converges_in_sixty_updates),
        cmocka_unit_test(the_penalty_of_dictionary_learning_falls_to_its_own_value),
        cmocka_unit_test(latents_count_as_dead_within_short_runs),
        cmocka_unit_test(results_that_are_shares_lie_between_0_and_1),
        cmocka_unit_test(vectors_of_a_rug_are_those_of_the_paper),
        cmocka_unit_test(a_dictionary_reads_the_hidden_layer_of_a_superposition_job),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(presets_are_valid),
        cmocka_unit_test(charts_show_only_what_was_measured),
        cmocka_unit_test(the_verdict_names_latents_that_do_not_recur),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
