/* Tests the trained model. Compares gradients with central differences of a plain loss, and sparse products with dense
 * products. Results must be the same for any number of threads. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/kernels/blas.h"
#include "core/superposed/batch.h"
#include "core/superposed/data.h"

enum { N = 37, D = 9, COUNT = 70 };

/* ---- the plain loss, in double ------------------------------------------------------------------------ */

struct plain {
    const struct autoencoder *model;
    const float *importance;
    double p;
};

static double value(const struct weight *w, ptrdiff_t i, const struct weight *nudged, ptrdiff_t at, double by)
{
    return (double)w->value[i] + (w == nudged && i == at ? by : 0);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Returns the loss after a change of one weight. With `gate_loss`: the loss of the gate. */
static double plain_loss(const struct plain *t, const struct weight *nudged, ptrdiff_t at, double by, bool gate_loss)
{
    const struct autoencoder *m = t->model;
    double sum = 0;
    for (int s = 0; s < COUNT; s++) {
        float x[N];
        double h[D] = {0}, z[N], sorted[N];
        sample_draw(3, STREAM_TRAINING, 5 + s, t->p, N, x);
        for (int j = 0; j < N; j++)
            for (int k = 0; k < D; k++)
                h[k] += (double)x[j] * value(m->encoder, j * D + k, nudged, at, by);
        for (int i = 0; i < N; i++) {
            z[i] = value(m->bias, i, nudged, at, by);
            for (int k = 0; k < D; k++)
                z[i] += h[k] * value(m->decoder, i * D + k, nudged, at, by);
        }
        memcpy(sorted, z, sizeof z);
        qsort(sorted, N, sizeof *sorted, by_size);
        for (int i = 0; i < N; i++) {
            double limit = 0, v = z[i];
            if (m->shape.activation == ACTIVATION_THRESHOLD)
                limit = (double)m->shape.threshold;
            if (m->shape.activation == ACTIVATION_KEEP)
                limit = sorted[m->shape.kept];
            if (m->shape.activation == ACTIVATION_GATED) {
                double bias = value(m->bias, i, nudged, at, by), gate = value(m->gate, i, nudged, at, by);
                limit = bias - gate;
                if (gate_loss) {
                    v = z[i] - bias + gate;
                    limit = 0;
                }
            }
            double y = v > fmax(limit, 0) ? v : 0;
            sum += (double)t->importance[i] * (y - (double)x[i]) * (y - (double)x[i]);
        }
    }
    return sum / COUNT / N;
}

static void check_gradient(const struct plain *t, const struct weight *w, const char *name)
{
    double most = 0, far = 0;
    bool gate = w == t->model->gate;
    for (size_t i = 0; i<w->count; i += w->count> N ? 5 : 1) {
        const double eps = 1e-6;
        double up = plain_loss(t, w, (ptrdiff_t)i, eps, gate), down = plain_loss(t, w, (ptrdiff_t)i, -eps, gate);
        double wanted = (up - down) / (2 * eps);
        most = fmax(most, fabs(wanted));
        far = fmax(far, fabs(wanted - (double)w->grad[i]));
    }
    if (!(most > 0 && far <= 2e-4 * most))
        fail_msg("gradient of %s is off by %g of %g (activation %d, tied %d)", name, far, most,
                 (int)t->model->shape.activation, t->model->shape.tied);
}

static void fill_importance(float *importance)
{
    for (int i = 0; i < N; i++)
        importance[i] = powf(0.9f, (float)i);
}

static struct autoencoder *make(const struct autoencoder_shape *shape)
{
    struct autoencoder *m;
    assert_int_equal(autoencoder_create(shape, true, &m, NULL), STATUS_OK);
    params_init(m->params, 11, NULL);
    for (size_t i = 0; i < m->decoder->count; i++)
        m->decoder->value[i] *= 2; /* widens the spread of the outputs */
    /* the gate's values are at least 0.1 below the bias, so that the threshold of the gate is above 0 */
    for (int i = 0; m->gate && i < shape->n_s; i++)
        m->gate->value[i] = m->bias->value[i] - 0.1f - 0.01f * (float)i;
    return m;
}

static void gradients_equal_central_differences(void **state)
{
    float importance[N];
    struct thread_pool *pool;
    fill_importance(importance);
    assert_int_equal(thread_pool_create(1, &pool, NULL), STATUS_OK);
    for (int activation = 0; activation < ACTIVATIONS; activation++)
        /* bit 0: tied weights; bit 1: dense products; bit 2: p = 0.3 instead of 0.1 */
        for (int kind = 0; kind < 8; kind++) {
            struct autoencoder_shape shape = {N, D, kind & 1, false, (enum activation)activation, 0.15f, 6};
            struct plain t = {make(&shape), importance, kind & 4 ? 0.3 : 0.1};
            struct batch_samples samples = {3, STREAM_TRAINING, 5, COUNT, t.p, 0, NULL};
            struct batch *batch;
            assert_int_equal(batch_create((struct autoencoder *)t.model, pool, kernels_best(), COUNT + 3, importance,
                                          kind & 2, &batch, NULL),
                             STATUS_OK);
            double loss = batch_run(batch, &samples, true), sum = 0;
            assert_true(fabs(loss / plain_loss(&t, NULL, 0, 0, false) - 1) < 1e-5);
            for (int i = 0; i < COUNT; i++)
                sum += batch_losses(batch)[i];
            assert_true(fabs(sum / COUNT - loss) < 1e-12);
            check_gradient(&t, t.model->encoder, "encoder");
            check_gradient(&t, t.model->decoder, "decoder");
            check_gradient(&t, t.model->bias, "bias");
            if (t.model->gate)
                check_gradient(&t, t.model->gate, "gate");
            batch_destroy(batch);
            autoencoder_destroy((struct autoencoder *)t.model);
        }
    thread_pool_destroy(pool);
}

/* Runs a batch and copies its results as bytes. */
static void run(int n_s, int n_d, double p, int threads, bool dense, const char *kernels, float *gradients,
                double *loss)
{
    struct autoencoder_shape shape = {n_s, n_d, false, false, ACTIVATION_RELU, 0, 0};
    struct autoencoder *m = make(&shape);
    struct batch_samples samples = {3, STREAM_TRAINING, 0, 300, p, 0, NULL};
    struct batch *batch;
    struct thread_pool *pool;
    assert_int_equal(thread_pool_create(threads, &pool, NULL), STATUS_OK);
    assert_int_equal(
        batch_create(m, pool, kernels ? kernels_named(kernels) : kernels_best(), 300, NULL, dense, &batch, NULL),
        STATUS_OK);
    *loss = batch_run(batch, &samples, true);
    memcpy(gradients, m->encoder->grad, m->encoder->count * sizeof *gradients);
    memcpy(gradients + m->encoder->count, m->decoder->grad, m->decoder->count * sizeof *gradients);
    memcpy(gradients + 2 * m->encoder->count, m->bias->grad, m->bias->count * sizeof *gradients);
    batch_destroy(batch);
    autoencoder_destroy(m);
    thread_pool_destroy(pool);
}

static void sparse_dense_and_threaded_products_agree(void **state)
{
    static const int sizes[][2] = {{33, 1}, {600, 130}, {1100, 40}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int dense_p = 0; dense_p < 2; dense_p++) {
            int n_s = sizes[i][0], n_d = sizes[i][1];
            size_t count = (size_t)n_s * (2 * (size_t)n_d + 1);
            float *one = malloc(count * sizeof *one), *other = malloc(count * sizeof *other);
            double loss, again, p = dense_p ? 0.5 : 0.05, most = 0;
            assert_true(one && other);
            run(n_s, n_d, p, 1, false, NULL, one, &loss);
            for (int threads = 2; threads <= 3; threads++) {
                run(n_s, n_d, p, threads, false, NULL, other, &again);
                assert_memory_equal(one, other, count * sizeof *one);
                assert_memory_equal(&loss, &again, sizeof loss);
            }
            for (size_t k = 0; k < count; k++)
                most = fmax(most, (double)fabsf(one[k]));
            /* compares with dense products (kind 0) and with plain kernels (kind 1) */
            for (int kind = 0; kind < 2; kind++) {
                run(n_s, n_d, p, 2, kind == 0, kind ? "ref" : NULL, other, &again);
                assert_true(fabs(loss / again - 1) < 1e-5);
                for (size_t k = 0; k < count; k++)
                    assert_true(fabs((double)one[k] - (double)other[k]) < 1e-5 * most);
            }
            free(one);
            free(other);
        }
}

static void samples_have_their_distribution(void **state)
{
    enum { MANY = 200000 };
    float *x = malloc(MANY * sizeof *x), again[100];
    double sum = 0, squares = 0, on = 0;
    assert_non_null(x);
    sample_draw(1, STREAM_TRAINING, 7, 0.3, MANY, x);
    sample_draw(1, STREAM_TRAINING, 7, 0.3, 100, again);
    assert_memory_equal(x, again, sizeof again);
    sample_draw(1, STREAM_TRAINING, 8, 0.3, 100, again);
    assert_memory_not_equal(x, again, sizeof again);
    for (int i = 0; i < MANY; i++) {
        assert_true(x[i] >= 0 && x[i] <= 1);
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
        on += x[i] > 0;
    }
    assert_true(fabs(on / MANY - 0.3) < 0.005);
    assert_true(fabs(sum / MANY - 0.15) < 0.003);
    assert_true(fabs(squares / MANY - 0.1) < 0.002);
    sample_draw(1, STREAM_TRAINING, 7, 1, MANY, x);
    for (int i = 0, zeros = 0; i < MANY; i++)
        assert_true((zeros += x[i] == 0) < 3);
    free(x);
}

static void a_cut_keeps_the_largest_values(void **state)
{
    float z[101], scratch[101];
    struct philox from = philox_stream(5, 0, 0);
    for (int n = 1; n <= 101; n += 20)
        for (int kept = 1; kept <= n; kept += 3) {
            int above = 0, positive = 0;
            for (int i = 0; i < n; i++) {
                z[i] = philox_uniform(&from, (uint64_t)(n * 1000 + i)) - 0.3f;
                positive += z[i] > 0;
            }
            float cut = autoencoder_cut(z, n, kept, scratch);
            assert_true(cut >= 0);
            for (int i = 0; i < n; i++)
                above += z[i] > cut;
            assert_int_equal(above, kept < positive ? kept : positive);
        }
}

static void a_single_sample_equals_its_row_of_a_batch(void **state)
{
    for (int activation = 0; activation < ACTIVATIONS; activation++) {
        struct autoencoder_shape shape = {N, D, false, false, (enum activation)activation, 0.15f, 6};
        struct autoencoder *m = make(&shape);
        struct batch_samples samples = {3, STREAM_TEST, 4, 10, 0.2, 0, NULL};
        struct batch *batch;
        struct thread_pool *pool;
        float x[N], y[N], scratch[D + 2 * N];
        assert_int_equal(thread_pool_create(1, &pool, NULL), STATUS_OK);
        assert_int_equal(batch_create(m, pool, kernels_best(), 10, NULL, false, &batch, NULL), STATUS_OK);
        batch_run(batch, &samples, false);
        for (int s = 0; s < 10; s++) {
            double sum = 0;
            sample_draw(3, STREAM_TEST, 4 + s, 0.2, N, x);
            autoencoder_apply(m, kernels_best(), x, y, scratch);
            for (int i = 0; i < N; i++)
                sum += ((double)y[i] - (double)x[i]) * ((double)y[i] - (double)x[i]);
            assert_true(fabs(sum / N - batch_losses(batch)[s]) < 1e-6);
        }
        batch_destroy(batch);
        autoencoder_destroy(m);
        thread_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_equal_central_differences),
        cmocka_unit_test(sparse_dense_and_threaded_products_agree),
        cmocka_unit_test(samples_have_their_distribution),
        cmocka_unit_test(a_cut_keeps_the_largest_values),
        cmocka_unit_test(a_single_sample_equals_its_row_of_a_batch),
    };
    blas_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
