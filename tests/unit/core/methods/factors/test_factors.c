/* Tests the parts of the factors method: data, priors, networks, one fit, restarts. */
#include <malloc.h>
#include <math.h>
#include <time.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/data/tables/features.h"
#include "core/methods/factors/config.h"
#include "tests/support/assert_ok.h"
#include "tests/support/sanitized.h"

#define assert_near(x, y, tolerance) assert_true(fabs((double)(x) - (double)(y)) < (tolerance))

/* ---- data ------------------------------------------------------------------------------------------- */

static void synthetic_data_follow_their_definition(void **state)
{
    enum { N = 20000 };
    for (int r = 0; r < 5; r++) {
        struct features *f, *again;
        double rho = 0.2 * r, moments[3] = {0}, noise[SYNTHETIC_FEATURES] = {0};
        assert_ok(synthetic_features(3, 7, rho, 0.5, N, NULL, &f, err));
        assert_ok(synthetic_features(3, 7, rho, 0.5, 10, NULL, &again, err));
        /* a row is the same, however many rows the table has */
        assert_memory_equal(f->x, again->x, 10 * SYNTHETIC_FEATURES * sizeof(float));
        for (int i = 0; i < N; i++) {
            double z[2] = {(double)f->truth[2 * i], (double)f->truth[2 * i + 1]}, mean[SYNTHETIC_FEATURES];
            synthetic_means(z, mean);
            moments[0] += z[0] * z[0] / N;
            moments[1] += z[1] * z[1] / N;
            moments[2] += z[0] * z[1] / N;
            for (int j = 0; j < SYNTHETIC_FEATURES; j++)
                noise[j] += pow((double)f->x[i * SYNTHETIC_FEATURES + j] - mean[j], 2) / N;
        }
        assert_near(moments[0], 1, 0.04);
        assert_near(moments[1], 1, 0.04);
        assert_near(moments[2], rho, 0.03);
        for (int j = 0; j < SYNTHETIC_FEATURES; j++)
            assert_near(noise[j], 0.25, 0.015);
        features_destroy(f);
        features_destroy(again);
    }
    const double z[] = {2, -1};
    double mean[SYNTHETIC_FEATURES];
    static const double want[] = {2, 4, 12, -4, -5, -5.04882590885, -14};
    synthetic_means(z, mean);
    for (int j = 0; j < SYNTHETIC_FEATURES; j++)
        assert_near(mean[j], want[j], 1e-9);
}

/* NumPy gave the expected values: numpy.random.seed(42), then numpy.random.randint(0, folds, 10), for 2 and for 5
 * folds. */
static void folds_equal_those_of_numpy(void **state)
{
    static const int two[] = {0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, five[] = {3, 4, 2, 4, 4, 1, 2, 2, 2, 4};
    int fold[10];
    features_folds(10, 2, fold);
    assert_memory_equal(fold, two, sizeof two);
    features_folds(10, 5, fold);
    assert_memory_equal(fold, five, sizeof five);
}

static void the_variance_prior_is_calibrated(void **state)
{
    const double deviation[] = {3, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11}, none[] = {0, 0, 1};
    assert_near(fit_calibrate(deviation, 11), 1.5 * 1.5 * 0.584374374155183 / 3, 1e-12);
    assert_near(fit_calibrate(none, 3), 1e-6 * 0.1947914580517277, 1e-12);
}

/* ---- priors ----------------------------------------------------------------------------------------- */

static struct latent_model *small_model(int features)
{
    const struct latent_shape shape = {MODEL_SPARSE_VAE, LIKELIHOOD_GAUSSIAN, features, 4, 20, 5};
    struct latent_model *m;
    double deviation[32];
    for (int j = 0; j < features; j++)
        deviation[j] = 1 + j;
    assert_ok(latent_create(&shape, "", true, &m, err));
    latent_init(m, 11, deviation, NULL);
    return m;
}

static void the_e_step_has_the_forms_of_the_authors_code_and_of_the_paper(void **state)
{
    struct prior code = {PRIOR_SPIKE_SLAB, 1, 10, false}, paper = {PRIOR_SPIKE_SLAB, 1, 10, true};
    const double w = 0.3, rate = 0.2, slab = exp(-w), spike = exp(-10 * w);
    assert_near(prior_odds(&code, w, rate), rate * slab / (rate * slab + (1 - rate) * spike), 1e-14);
    assert_near(prior_odds(&paper, w, rate), rate * slab / (rate * slab + 10 * (1 - rate) * spike), 1e-14);
    assert_near(prior_rate(0.5 * 7, 7), 0.5 * 7 / 13.0, 1e-15);

    struct latent_model *m = small_model(7);
    double before = (double)m->rate->value[2], sum = 0;
    float coefficients[28], mask[28];
    prior_update(&code, m);
    for (int j = 0; j < 7; j++) {
        double p = prior_odds(&code, (double)m->mask->value[j * 4 + 2], before);
        assert_near(m->odds->value[j * 4 + 2], p, 1e-6);
        sum += p;
    }
    assert_near(m->rate->value[2], sum / 13, 1e-6);
    assert_int_equal(prior_coefficients(&code, m, coefficients), 1);
    assert_near(coefficients[5], 1 * (double)m->odds->value[5] + 10 * (1 - (double)m->odds->value[5]), 1e-5);
    m->mask->value[3] = 0.009f;
    m->odds->value[6] = 0.4f;
    prior_mask(&code, m, mask);
    assert_true(mask[3] == 0 && mask[6] == 0 && mask[2] == m->mask->value[2]);
    /* Gives one column of the decoder the norm 500, so that the weight 0.001 has an effect of 0.5. */
    for (int h = 0; h < m->shape.hidden; h++)
        m->first->value[h * 4 + 1] = h < 2 ? (h ? 400 : 300) : 0;
    m->mask->value[5] = 0.001f;
    prior_reach(m, mask);
    assert_near(mask[5], 0.5, 1e-6);
    assert_near(mask[4] / mask[0], m->mask->value[4] / m->mask->value[0], 1e-5);

    struct prior horseshoe = {PRIOR_HORSESHOE, 1, 10, false};
    struct latent_model *h = small_model(7);
    double v = (double)h->rate->value[1], square = pow((double)h->mask->value[5], 2);
    prior_update(&horseshoe, h); /* all global scales were 1 before this update */
    assert_near(h->odds->value[5], 0.5 * (square / (2 * v) + 1), 1e-5);
    assert_int_equal(prior_coefficients(&horseshoe, h, coefficients), 2);
    assert_near(coefficients[5] * 2 * h->odds->value[5] * h->rate->value[1], 1, 1e-5);
    latent_destroy(m);
    latent_destroy(h);
}

/* ---- fits ------------------------------------------------------------------------------------------- */

struct bench {
    struct features *features;
    int train[400], test[100];
    struct fit_data data;
    struct thread_pool *pool;
};

static void bench_open(struct bench *b, int threads)
{
    assert_ok(synthetic_features(1, 0, 0.2, 0.5, 500, NULL, &b->features, err));
    for (int i = 0; i < 500; i++)
        *(i < 400 ? &b->train[i] : &b->test[i - 400]) = i;
    b->data = (struct fit_data){b->features, b->train, b->test, 400, 100};
    assert_ok(thread_pool_create(threads, &b->pool, err));
}

static void bench_close(struct bench *b)
{
    features_destroy(b->features);
    thread_pool_destroy(b->pool);
}

static struct fit_setup setup_of(const struct config_setting *settings)
{
    static struct factors_config config;
    memset(&config, 0, sizeof config);
    assert_ok(config_defaults(&factors_config_table, &config, err));
    assert_ok(config_apply(&factors_config_table, &config, settings, err));
    return factors_setup(&config, SYNTHETIC_FEATURES, 400, 0);
}

static struct fit *fit_open(const struct bench *b, const struct fit_setup *setup)
{
    struct fit *f;
    assert_ok(fit_create(setup, &b->data, "", kernels_best(), b->pool, false, &f, err));
    return f;
}

/* The results for pieces of a batch add up to the result for the batch, up to rounding. */
static void pieces_of_a_batch_add_up_to_the_batch(void **state)
{
    static const struct config_setting runs[2][2] = {{{"model", "sparse-vae"}}, {{"model", "vae"}}};
    for (int r = 0; r < 2; r++) {
        struct bench b;
        bench_open(&b, 2);
        struct fit_setup setup = setup_of(runs[r]);
        struct fit *whole = fit_open(&b, &setup), *parts = fit_open(&b, &setup);
        assert_int_equal(whole->piece, 100);
        parts->piece = 33;
        for (int i = 0; i < 3; i++) {
            assert_ok(fit_update(whole, err));
            assert_ok(fit_update(parts, err));
            assert_near(whole->last_loss / parts->last_loss, 1, 1e-4);
        }
        fit_destroy(whole);
        fit_destroy(parts);
        bench_close(&b);
    }
}

/* Compares the objectives of the paper and of the authors' code with their definitions. The noise is negligible, so a
 * sample equals the means of the factors. */
static void objectives_equal_their_definition(void **state)
{
    struct bench b;
    bench_open(&b, 1);
    for (int paper = 0; paper < 2; paper++) {
        const struct config_setting settings[] = {
            {"objective", paper ? "paper" : "code"}, {"learning_rate", "1e-12"}, {NULL, NULL}};
        struct fit_setup setup = setup_of(settings);
        struct fit *f = fit_open(&b, &setup);
        struct latent_model *m = f->model;
        struct fit_view view;
        for (size_t i = 0; i < m->log_variance.w->count; i++)
            m->log_variance.w->value[i] = 0;
        for (int k = 0; k < 5; k++)
            m->log_variance.b->value[k] = -40; /* a log variance of -40 makes the noise negligible */
        int n = 400, g = SYNTHETIC_FEATURES, k = 5;
        double squares = 0, divergence = 0, penalty = 0, logs = 0, inverse = 0;
        float coefficients[35];
        for (int at = 0; at < n; at += 100) {
            assert_ok(fit_view(f, b.train + at, 100, false, 0, &view, err));
            for (int i = 0; i < 100 * g; i++)
                squares +=
                    0.5 * pow(((double)view.x[i] - (double)view.y[i]) / exp((double)m->log_sigma->value[i % g]), 2);
            for (int i = 0; i < 100 * k; i++)
                divergence += 0.5 * (pow((double)view.mean[i], 2) + exp((double)view.log_variance[i]) - 1 -
                                     (double)view.log_variance[i]);
        }
        prior_coefficients(&setup.prior, m, coefficients);
        for (int i = 0; i < g * k; i++)
            penalty += (double)coefficients[i] * fabs((double)m->mask->value[i]);
        for (int j = 0; j < g; j++) {
            logs += (double)m->log_sigma->value[j];
            inverse += exp(-2 * (double)m->log_sigma->value[j]);
        }
        double want =
            paper ? squares / n + logs + divergence / n + (penalty + 5 * logs + 1.5 * f->xi * inverse) / n
                  : squares / n / g + divergence / n / k + (penalty + (100 + 5) * logs + 1.5 * f->xi * inverse) / 100;
        for (int i = 0; i < 4; i++) {
            assert_ok(fit_update(f, err));
            for (int e = 0; e < g * k; e++)
                m->odds->value[e] = 0.5f; /* resets the odds to their initial value */
        }
        assert_near(f->loss / want, 1, 2e-3);
        fit_destroy(f);
    }
    bench_close(&b);
}

/* A decoder that skips zeros gives the same output as the full decoder, and their updates differ only by rounding. */
static void a_skipping_decoder_gives_the_same_output(void **state)
{
    static const struct config_setting settings[] = {
        {"zeros", "skip"}, {"zeros_after", "0"}, {"prior", "spike-slab"}, {NULL, NULL}};
    struct bench b;
    bench_open(&b, 2);
    struct fit_setup setup = setup_of(settings);
    struct fit *skipping = fit_open(&b, &setup);
    setup.zeros = ZEROS_PROXIMAL;
    struct fit *whole = fit_open(&b, &setup);
    struct fit *both[] = {skipping, whole};
    /* in both models: rows without a factor, with one factor, with two, and with all factors */
    for (int w = 0; w < 2; w++)
        for (int j = 0; j < SYNTHETIC_FEATURES; j++)
            for (int k = 0; k < 5; k++)
                if (j < 6 && (j == 0 || k != j % 5) && !(j == 4 && k == 1))
                    both[w]->model->mask->value[j * 5 + k] = 0;
    struct fit_view view;
    float y[100 * SYNTHETIC_FEATURES];
    assert_ok(fit_view(whole, b.test, 100, true, 0, &view, err));
    memcpy(y, view.y, sizeof y);
    assert_ok(fit_view(skipping, b.test, 100, true, 0, &view, err));
    assert_int_equal(skipping->model->skip.dense_count, 1);
    assert_int_equal(skipping->model->skip.few_count, 6);
    assert_int_equal(skipping->model->skip.group_count, 6);
    for (int i = 0; i < 100 * SYNTHETIC_FEATURES; i++)
        assert_near(view.y[i], y[i], 1e-5);
    assert_ok(fit_update(skipping, err));
    assert_ok(fit_update(whole, err));
    assert_near(skipping->last_loss, whole->last_loss, 1e-4);
    assert_true(skipping->model->mask->value[0] == 0 && skipping->model->mask->value[5] == 0);
    for (size_t i = 0; i < whole->model->second.w->count; i++)
        assert_near(skipping->model->second.w->value[i], whole->model->second.w->value[i], 2e-2);
    fit_destroy(skipping);
    fit_destroy(whole);
    bench_close(&b);
}

static int zeros_of(const struct fit *f)
{
    int zeros = 0;
    for (size_t i = 0; i < f->model->mask->count; i++)
        zeros += f->model->mask->value[i] == 0;
    return zeros;
}

/* Every prior, objective and treatment of zeros lowers the loss. Weights become exactly zero only with the settings
 * `proximal` and `skip`. */
static void every_variant_lowers_its_loss(void **state)
{
    static const struct config_setting runs[][4] = {
        {{NULL, NULL}},           {{"objective", "paper"}},
        {{"estep", "paper"}},     {{"prior", "slab"}},
        {{"prior", "horseshoe"}}, {{"prior", "none"}},
        {{"zeros", "proximal"}},  {{"zeros", "skip"}, {"zeros_after", "5"}},
        {{"model", "vae"}},       {{"model", "beta-vae"}},
    };
    struct bench b;
    bench_open(&b, 2);
    for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
        struct fit_setup setup = setup_of(runs[r]);
        struct fit *f = fit_open(&b, &setup);
        double first = 0;
        for (int i = 0; i < 60 * 4; i++) {
            assert_ok(fit_update(f, err));
            if (i == 3)
                first = fit_objective(f);
        }
        if (!(fit_objective(f) < first - 0.5))
            fail_msg("run %zu: %g, then %g", r, first, fit_objective(f));
        if (f->model->group) {
            float mask[SYNTHETIC_FEATURES * 5];
            int zeros = 0;
            prior_mask(&setup.prior, f->model, mask);
            for (int i = 0; i < SYNTHETIC_FEATURES * 5; i++)
                zeros += mask[i] == 0;
            assert_true(zeros > 0 && zeros < SYNTHETIC_FEATURES * 5);
        }
        if (f->model->mask) {
            bool exact = setup.zeros != ZEROS_THRESHOLD;
            assert_true(exact ? zeros_of(f) > 5 : zeros_of(f) == 0);
        }
        fit_destroy(f);
    }
    bench_close(&b);
}

/* The slabs of variational sparse coding start as standard normal. During the epochs of `warm_up`, the encoder's own
 * slabs gradually replace them. */
static void slabs_change_from_normal_to_the_encoders_own(void **state)
{
    struct bench b;
    bench_open(&b, 2);
    struct fit_setup setup =
        setup_of((const struct config_setting[]){{"model", "vsc"}, {"warm_up", "2"}, {NULL, NULL}});
    struct fit *f = fit_open(&b, &setup);
    struct fit_view view;
    assert_ok(fit_view(f, b.test, 1, false, 0, &view, err));
    for (int k = 0; k < 5; k++)
        assert_true(view.mean[k] == 0 && fabsf(view.log_variance[k]) < 1e-6f);
    while (f->epoch < 1)
        assert_ok(fit_update(f, err));
    assert_ok(fit_view(f, b.test, 1, false, 0, &view, err));
    assert_near(f->model->warmth, 0.5, 1e-12);
    assert_true(view.mean[0] != 0);
    while (f->epoch < 3)
        assert_ok(fit_update(f, err));
    assert_near(f->model->warmth, 1, 1e-12);
    fit_destroy(f);
    bench_close(&b);
}

/* Products of numbers rounded to bf16 give nearly the same loss, but other bits. */
static void bf16_products_change_the_loss_little(void **state)
{
    struct bench b;
    bench_open(&b, 2);
    struct fit_setup setup = setup_of((const struct config_setting[]){{NULL, NULL}});
    struct fit *plain = fit_open(&b, &setup);
    setup.bf16 = true;
    struct fit *rounded = fit_open(&b, &setup);
    assert_ok(fit_update(plain, err));
    assert_ok(fit_update(rounded, err));
    assert_true(fabs(plain->last_loss - rounded->last_loss) < 0.02 * fabs(plain->last_loss) &&
                fabs(plain->last_loss - rounded->last_loss) > 0);
    fit_destroy(plain);
    fit_destroy(rounded);
    bench_close(&b);
}

/* On data that have factors, training lowers the loss of both models of counts by more than a tenth. */
static void models_of_counts_beat_plain_frequencies(void **state)
{
    static const enum factors_likelihood likelihoods[] = {LIKELIHOOD_MULTINOMIAL, LIKELIHOOD_BERNOULLI};
    struct bench b;
    bench_open(&b, 2);
    for (int i = 0; i < 500 * SYNTHETIC_FEATURES; i++)
        b.features->x[i] = b.features->x[i] > 0.5f;
    for (int l = 0; l < 2; l++) {
        struct fit_setup setup = setup_of((const struct config_setting[]){{NULL, NULL}});
        setup.shape.likelihood = likelihoods[l];
        setup.relative = l == 0;
        struct fit *f = fit_open(&b, &setup);
        double first = 0;
        for (int i = 0; i < 60 * 4; i++) {
            assert_ok(fit_update(f, err));
            if (i == 3)
                first = fit_objective(f);
        }
        assert_true(fit_objective(f) < 0.9 * first);
        assert_null(f->model->log_sigma);
        fit_destroy(f);
    }
    bench_close(&b);
}

/* ---- factorisation ------------------------------------------------------------------------------------ */

struct looks {
    double last, longest; /* in seconds of processor time. last: time of the last check; longest: longest time between
                             two checks */
};

static double processor_seconds(void)
{
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static bool note_look(void *context)
{
    struct looks *looks = context;
    double now = processor_seconds();
    looks->longest = fmax(looks->longest, now - looks->last);
    looks->last = now;
    return false;
}

/* A large factorisation first writes to each page of the codes, and the operating system clears the page at this first
 * write. This takes long, so the method must check meanwhile whether the pool was stopped. */
static void large_factorisation_checks_often_whether_it_must_stop(void **state)
{
    enum { N = 300000, G = 4, K = 256 };
    struct features *f;
    struct thread_pool *pool;
    struct nmf *nmf;
    struct nmf_setup setup = {G, K, 1, 1e-4, 1};
    struct philox from = philox_stream(4, 1, 0);
    /* switches off MALLOC_PERTURB_, which meson sets: with it, malloc() would write into every page */
    (void)mallopt(M_PERTURB, 0);
    int *rows = calloc(N, sizeof *rows);
    assert_non_null(rows);
    assert_ok(features_create(N, G, 0, &f, err));
    assert_ok(thread_pool_create(1, &pool, err));
    for (int i = 0; i < N; i++)
        rows[i] = i;
    for (int i = 0; i < N * G; i++)
        f->x[i] = (float)philox_uniform(&from, (uint64_t)i);
    struct looks looks = {processor_seconds(), 0};
    thread_pool_stop_when(pool, note_look, &looks);
    assert_ok(nmf_create(&setup, f, rows, N, kernels_best(), pool, &nmf, err));
    (void)note_look(&looks);
    print_message("the longest time between two checks is %.3f s\n", looks.longest);
    assert_true(looks.longest < (SANITIZED ? 1 : 0.06));
    nmf_destroy(nmf);
    thread_pool_destroy(pool);
    features_destroy(f);
    free(rows);
}

/* Recovers an exact product of rank two, checks that the objective with the penalty has no slope at the optimum, and
 * shifts negative data. */
static void factorisations_reach_their_optimum(void **state)
{
    enum { N = 60, G = 9, K = 2 };
    struct features *f;
    struct thread_pool *pool;
    struct nmf *exact, *penalised;
    struct philox from = philox_stream(2, 1, 0);
    int rows[N];
    float codes[K], y[G];
    double error = 0, total = 0;
    assert_ok(features_create(N, G, 0, &f, err));
    assert_ok(thread_pool_create(2, &pool, err));
    for (int i = 0; i < N; i++) {
        rows[i] = i;
        for (int j = 0; j < G; j++)
            for (int k = 0; k < K; k++)
                f->x[i * G + j] +=
                    philox_uniform(&from, (uint64_t)(i * K + k)) * philox_uniform(&from, (uint64_t)(500 + j * K + k));
    }
    struct nmf_setup setup = {G, K, 0, 1e-9, 3000};
    assert_ok(nmf_create(&setup, f, rows, N, kernels_best(), pool, &exact, err));
    while (!nmf_finished(exact))
        nmf_iterate(exact);
    for (int i = 0; i < N; i++) {
        nmf_apply(exact, pool, f->x + i * G, codes, y);
        for (int j = 0; j < G; j++) {
            error += pow((double)(f->x[i * G + j] - y[j]), 2);
            total += pow((double)f->x[i * G + j], 2);
        }
    }
    assert_true(error / total < 1e-4);
    setup.penalty = 0.5;
    setup.tolerance = 1e-6;
    assert_ok(nmf_create(&setup, f, rows, N, kernels_best(), pool, &penalised, err));
    double last = HUGE_VAL;
    while (!nmf_finished(penalised)) {
        nmf_iterate(penalised);
        assert_true(nmf_objective(penalised) <= last * (1 + 1e-6));
        last = nmf_objective(penalised);
    }
    for (int at = 0; at < G * K; at += 5) { /* no change of a single entry, in either direction, lowers the objective */
        float *w = &penalised->parts[at], value = *w;
        for (int sign = -1; sign <= 1; sign += 2) {
            *w = value + 0.05f * (float)sign;
            assert_true(*w < 0 || nmf_objective(penalised) > last - 1e-6);
        }
        *w = value;
    }
    nmf_destroy(exact);
    for (int i = 0; i < N * G; i++)
        f->x[i] -= 1;
    setup = (struct nmf_setup){G, K, 0, 1e-9, 3000};
    assert_ok(nmf_create(&setup, f, rows, N, kernels_best(), pool, &exact, err));
    while (!nmf_finished(exact))
        nmf_iterate(exact);
    nmf_apply(exact, pool, f->x, codes, y);
    for (int j = 0; j < G; j++)
        assert_near(y[j], f->x[j], 0.3);
    nmf_destroy(exact);
    nmf_destroy(penalised);
    features_destroy(f);
    thread_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synthetic_data_follow_their_definition),
        cmocka_unit_test(folds_equal_those_of_numpy),
        cmocka_unit_test(the_variance_prior_is_calibrated),
        cmocka_unit_test(the_e_step_has_the_forms_of_the_authors_code_and_of_the_paper),
        cmocka_unit_test(pieces_of_a_batch_add_up_to_the_batch),
        cmocka_unit_test(objectives_equal_their_definition),
        cmocka_unit_test(a_skipping_decoder_gives_the_same_output),
        cmocka_unit_test(every_variant_lowers_its_loss),
        cmocka_unit_test(slabs_change_from_normal_to_the_encoders_own),
        cmocka_unit_test(bf16_products_change_the_loss_little),
        cmocka_unit_test(models_of_counts_beat_plain_frequencies),
        cmocka_unit_test(large_factorisation_checks_often_whether_it_must_stop),
        cmocka_unit_test(factorisations_reach_their_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
