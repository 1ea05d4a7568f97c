/* Tests superposition jobs whose features are uploaded: measures, reading, exact resume, the loss in comparison with
 * drawn features, queries, refusals. */
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/methods/superposition/features.h"
#include "core/methods/superposition/run.h"
#include "core/methods/superposition/run_int.h"
#include "core/methods/registry.h"
#include "core/superposed/data.h"
#include "tests/support/method_ask.h"
#include "tests/support/run_test.h"
#include "tests/support/sanitized.h"

enum { ROWS = 6000, FEATURES = 32 };
#define UNIT 7.0f /* the uploaded values are drawn features times this number */
#define P 0.08
static char root[] = "/tmp/motifd-features-XXXXXX";
static const struct method *const method = &superposition_method;

static enum status append_file(void *context, const void *bytes, size_t count, struct error *err)
{
    (void)err;
    return fwrite(bytes, 1, count, context) == count ? STATUS_OK : STATUS_IO;
}

static void path_of(const char *name, char path[160])
{
    snprintf(path, 160, "%s/%s/" COLLECTION_FILE, root, name);
}

/* Stores values [rows][cols] as the data set `name`. */
static void store(const char *name, float *values, int rows, int cols)
{
    int64_t *start = calloc((size_t)rows + 1, sizeof *start), *labels = calloc((size_t)rows + 1, sizeof *labels);
    struct collection c = {.kind = COLLECTION_IMAGES,
                           .count = rows,
                           .channels = 1,
                           .rows = 1,
                           .cols = cols,
                           .values = values,
                           .start = start,
                           .label_start = labels};
    char path[160];
    assert_true(start && labels);
    for (int i = 0; i <= rows; i++)
        start[i] = (int64_t)i * cols;
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
    path_of(name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    const struct snapshot_writer to = {file, append_file};
    assert_ok(collection_write(&c, &to, err));
    assert_int_equal(fclose(file), 0);
    free(start);
    free(labels);
}

static void drawn(float *x, int rows)
{
    for (int r = 0; r < rows; r++)
        sample_draw(77, STREAM_TRAINING, r, P, FEATURES, x + (ptrdiff_t)r * FEATURES);
    for (int i = 0; i < rows * FEATURES; i++)
        x[i] *= UNIT;
}

static int setup(void **state)
{
    float *x = malloc(sizeof(float) * ROWS * FEATURES);
    (void)state;
    if (!x || !mkdtemp(root))
        return -1;
    drawn(x, ROWS);
    store("drawn", x, ROWS, FEATURES);
    free(x);
    return 0;
}

static int teardown(void **state)
{
    char command[96];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

/* ---- measures and reading ---------------------------------------------------------------------------------- */

static void values_are_scaled_to_the_mean_square_of_uniform_values(void **state)
{
    /* the rows are (4, 0, 0) and (0, 2, 0) in turn */
    enum { N = 120 };
    float x[N][3] = {{0}};
    struct features f;
    (void)state;
    for (int r = 0; r < N; r++)
        x[r][r % 2] = r % 2 ? 2 : 4;
    store("two", &x[0][0], N, 3);
    assert_ok(features_open(&(struct rows_request){root, "two", "", 1, DIVIDE_AUTO, ""}, SCALE_NONE, &f, err));
    assert_true(fabs(f.p - 1.0 / 3) < 1e-12);
    assert_true(fabs(f.scale - 1 / sqrt(3 * 10.0)) < 1e-12); /* the mean square is (4 + 16) / 2 */
    /* feature 0 is 4 in half of the rows (variance 4), feature 1 is 2 in the other half (variance 1), feature 2 is 0 */
    assert_true(fabs(f.variance - (4 + 1) / 3.0 / 30) < 1e-12);
    features_close(&f);
    assert_ok(features_open(&(struct rows_request){root, "drawn", "", 1, DIVIDE_AUTO, ""}, SCALE_NONE, &f, err));
    assert_true(fabs(f.p / P - 1) < 0.02 && fabs(f.scale * (double)UNIT - 1) < 0.02);
    assert_true(fabs(f.variance / theory_variance(P) - 1) < 0.03);
    features_close(&f);
}

static void samples_are_scaled_rows_for_any_number_of_threads(void **state)
{
    enum { COUNT = 150 };
    static float x[3][COUNT * FEATURES], row[FEATURES];
    struct features f;
    (void)state;
    assert_ok(features_open(&(struct rows_request){root, "drawn", "", 5, DIVIDE_AUTO, ""}, SCALE_NONE, &f, err));
    for (int threads = 1; threads <= 3; threads++) {
        struct thread_pool *pool;
        assert_ok(thread_pool_create(threads, &pool, err));
        /* an epoch ends in the middle of these rows */
        assert_ok(features_read(&f, true, 5390, COUNT, pool, x[threads - 1], err));
        assert_memory_equal(x[threads - 1], x[0], sizeof x[0]);
        thread_pool_destroy(pool);
    }
    for (int s = 0; s < COUNT; s++) {
        assert_ok(rows_read(&f.rows, rows_train(&f.rows, 5390 + s), row, err));
        for (int i = 0; i < FEATURES; i++)
            assert_true(x[0][s * FEATURES + i] == row[i] * (float)f.scale);
    }
    features_close(&f);
}

static void a_bad_value_is_found_when_its_row_is_read(void **state)
{
    static float x[200 * FEATURES];
    struct features f;
    struct thread_pool *pool;
    struct error fault = {0};
    char path[160];
    (void)state;
    drawn(x, 200);
    store("later", x, 200, FEATURES);
    assert_ok(features_open(&(struct rows_request){root, "later", "", 5, DIVIDE_AUTO, ""}, SCALE_NONE, &f, err));
    assert_ok(thread_pool_create(2, &pool, err));
    assert_ok(features_read(&f, true, 0, 180, pool, x, err));
    int64_t row = rows_train(&f.rows, 70);
    const float bad = -1;
    path_of("later", path);
    int file = open(path, O_WRONLY);
    assert_true(pwrite(file, &bad, sizeof bad, f.rows.place + row * FEATURES * (int64_t)sizeof bad) == sizeof bad);
    close(file);
    assert_int_equal(features_read(&f, true, 0, 150, pool, x, &fault), STATUS_INVALID);
    assert_string_equal(fault.pointer, "/config/dataset_name");
    assert_non_null(strstr(fault.message, "-1"));
    thread_pool_destroy(pool);
    features_close(&f);
}

/* ---- runs -------------------------------------------------------------------------------------------------- */

static char share[40];
#define UPLOADED                                                                                                       \
    {"dataset_name", "drawn"}, {"n_s", "32"},                                                                          \
    {                                                                                                                  \
        "p", share                                                                                                     \
    }

static struct superposition_config configured(const struct config_setting *settings)
{
    struct superposition_config config;
    run_test_configure(method, &config, settings);
    assert_ok(method->resolve(&config, NULL, root, err));
    return config;
}

static void take_p(void)
{
    struct features f;
    assert_ok(features_open(&(struct rows_request){root, "drawn", "", 1, DIVIDE_AUTO, ""}, SCALE_NONE, &f, err));
    snprintf(share, sizeof share, "%.17g", f.p);
    features_close(&f);
}

static void threads_and_pauses_change_no_bit(void **state)
{
    static const struct run_test test = {&superposition_method, root, NULL};
    const struct config_setting one[] = {
        UPLOADED,          {"ratio", "0.3"},          {"batch", "40"},         {"block", "0"},
        {"stop", "never"}, {"total_samples", "1000"}, {"test_samples", "100"}, {"checkpoint_every", "300"},
        {NULL, NULL}};
    const struct config_setting blocks[] = {
        UPLOADED,          {"ratio", "0.5"},         {"batch", "40"},        {"block", "100"},
        {"stop", "never"}, {"total_samples", "310"}, {"test_samples", "90"}, {"checkpoint_every", "300"},
        {NULL, NULL}};
    const struct config_setting *const all[] = {one, blocks};
    (void)state;
    take_p();
    run_test_bits(&test, all, sizeof all / sizeof all[0], 2);
}

/* Trains one model and returns its run; the caller destroys the run and closes the environment. */
static struct method_run *train(struct run_env *environment, const struct superposition_config *config)
{
    enum method_request request = METHOD_CONTINUE;
    struct method_run *run;
    assert_ok(run_env_open(environment, 2, NULL, err));
    environment->env.data = root;
    assert_ok(method->create(config, &environment->env, &run, err));
    while (request != METHOD_DONE)
        assert_ok(run_env_step(environment, method, run, &request, err));
    return run;
}

static const char *const training = SANITIZED ? "20000" : "150000";

static void uploaded_samples_give_the_loss_of_drawn_ones(void **state)
{
    double loss[2], error[2];
    (void)state;
    for (int uploaded = 0; uploaded < 2; uploaded++) {
        const struct config_setting settings[] = {{"n_s", "32"},
                                                  {"p", "0.08"},
                                                  {"ratio", "0.2"},
                                                  {"batch", "100"},
                                                  {"block", "0"},
                                                  {"learning_rate", "1e-2"},
                                                  {"stop", "never"},
                                                  {"total_samples", training},
                                                  {"test_samples", "20000"},
                                                  {uploaded ? "dataset_name" : NULL, "drawn"},
                                                  {NULL, NULL}};
        struct run_env environment;
        struct superposition_config config = configured(settings);
        struct method_run *run = train(&environment, &config);
        loss[uploaded] = run->outcome.loss;
        error[uploaded] = run->outcome.error;
        assert_true(loss[uploaded] < 0.8 * setup_blind(run, &run->setup));
        if (uploaded)
            assert_int_equal(run->base.evaluation_samples, rows_test_count(&run->features.rows));
        method->destroy(run);
        run_env_close(&environment);
    }
    double noise = sqrt(error[0] * error[0] + error[1] * error[1]);
    if (!(fabs(loss[1] - loss[0]) < 3 * noise + 0.03 * loss[0]))
        fail_msg("uploaded %g, drawn %g, error %g", loss[1], loss[0], noise);
}

/* ---- queries ----------------------------------------------------------------------------------------------- */

struct answer {
    double loss;
};
static void open_it(void *context, const char *key) {}
static void close_it(void *context) {}
static void number(void *context, const char *key, double value)
{
    if (key && strcmp(key, "loss") == 0)
        ((struct answer *)context)->loss = value;
}
static void integer(void *context, const char *key, int64_t value) {}
static void boolean(void *context, const char *key, bool value) {}
static void text(void *context, const char *key, const char *value) {}
static void null(void *context, const char *key) {}

static void queries_take_test_rows_and_values_in_their_own_unit(void **state)
{
    const struct config_setting settings[] = {{"dataset_name", "drawn"},
                                              {"ratio", "0.3"},
                                              {"batch", "50"},
                                              {"block", "0"},
                                              {"learning_rate", "1e-2"},
                                              {"stop", "never"},
                                              {"total_samples", "5000"},
                                              {"test_samples", "200"},
                                              {NULL, NULL}};
    struct superposition_config config = configured(settings);
    struct run_env environment;
    struct run_env_bytes bytes = {0};
    struct method_model *model;
    struct answer answer;
    const struct sink sink = {&answer, open_it, close_it, open_it, close_it, number, integer, boolean, text, null};
    (void)state;
    struct method_run *run = train(&environment, &config);
    assert_ok(run_env_save(method, run, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->open(&config, environment.env.kernels, root, &reader, &model, err));
    double sum = 0, rows = 0;
    for (int seed = 0; seed < 200; seed++) {
        struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = seed};
        assert_ok(method_ask(method, model, "predict", &input, &sink, err));
        sum += answer.loss;
        float x[FEATURES];
        assert_ok(features_test(&run->features, seed, x, err));
        struct method_input same = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {FEATURES}, .values = x};
        assert_ok(method_ask(method, model, "predict", &same, &sink, err));
        rows += answer.loss;
    }
    assert_true(fabs(sum / 200 / run->outcome.loss - 1) < 1e-4); /* the run evaluated these test rows */
    assert_true(fabs(rows / sum - 1) < 1e-6);
    struct error fault = {0};
    struct method_input beyond = {.kind = METHOD_INPUT_SAMPLE, .seed = ROWS};
    assert_int_equal(method_ask(method, model, "predict", &beyond, &sink, &fault), STATUS_INVALID);
    method->close(model);
    reader = run_env_reader(&bytes);
    assert_ok(method->open(&config, environment.env.kernels, "/nowhere", &reader, &model, err));
    struct method_input gone = {.kind = METHOD_INPUT_SAMPLE, .seed = 1};
    error_clear(&fault);
    assert_int_equal(method_ask(method, model, "predict", &gone, &sink, &fault), STATUS_CONFLICT);
    float ones[FEATURES] = {9};
    struct method_input array = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {FEATURES}, .values = ones};
    assert_ok(method_ask(method, model, "predict", &array, &sink, err));
    ones[0] = -1;
    error_clear(&fault);
    assert_int_equal(method_ask(method, model, "predict", &array, &sink, &fault), STATUS_INVALID);
    method->close(model);
    run_env_bytes_close(&bytes);
    method->destroy(run);
    run_env_close(&environment);
}

/* ---- refusals ---------------------------------------------------------------------------------------------- */

static bool has_field(const void *context, const char *field)
{
    return strcmp(field, context) == 0;
}

static void refuses(const char *name, const char *set, enum status expected, const char *pointer)
{
    struct superposition_config config;
    struct error fault = {0};
    const struct config_setting settings[] = {{"dataset_name", name}, {NULL, NULL}};
    const struct method_given given = {has_field, set};
    run_test_configure(method, &config, settings);
    assert_int_equal(method->resolve(&config, &given, root, &fault), expected);
    if (expected)
        assert_string_equal(fault.pointer, pointer);
}

static void each_bad_data_set_and_given_size_names_its_field(void **state)
{
    static float x[200 * FEATURES];
    const char *at = "/config/dataset_name";
    (void)state;
    refuses("gone", "", STATUS_NOT_FOUND, at);
    store("zeros", x, 200, FEATURES);
    refuses("zeros", "", STATUS_INVALID, at);
    drawn(x, 200);
    store("few", x, FEATURES_ROWS - 1, FEATURES);
    refuses("few", "", STATUS_INVALID, at);
    store("enough", x, FEATURES_ROWS, FEATURES);
    refuses("enough", "", STATUS_OK, NULL);
    x[500] = -1e-3f;
    store("negative", x, 200, FEATURES);
    refuses("negative", "", STATUS_INVALID, at);
    x[500] = NAN;
    store("odd", x, 200, FEATURES);
    refuses("odd", "", STATUS_INVALID, at);
    /* the defaults of n_s and p differ from those of the data, which is no fault */
    refuses("drawn", "", STATUS_OK, NULL);
    refuses("drawn", "n_s", STATUS_INVALID, "/config/n_s");
    refuses("drawn", "p", STATUS_INVALID, "/config/p");
    struct superposition_config again =
        configured((const struct config_setting[]){{"dataset_name", "drawn"}, {NULL, NULL}});
    assert_int_equal(again.n_s, FEATURES);
    const struct method_given p = {has_field, "p"};
    /* a resolved configuration states the p of its data, so it is accepted when it is submitted again */
    assert_ok(method->resolve(&again, &p, root, err));
    static const struct run_test_wrong wrong[] = {{{{"dataset_name", "../up"}}, "dataset_name"},
                                                  {{{"dataset_name", "drawn"}, {"model", "rug"}}, "model"}};
    run_test_faults(method, wrong, sizeof wrong / sizeof wrong[0]);
}

static void a_run_refuses_data_of_another_size(void **state)
{
    const struct config_setting settings[] = {{"dataset_name", "drawn"}, {"n_s", "31"}, {NULL, NULL}};
    struct superposition_config config;
    struct run_env environment;
    struct method_run *run = NULL;
    struct error fault = {0};
    (void)state;
    run_test_configure(method, &config, settings);
    assert_ok(run_env_open(&environment, 1, NULL, err));
    environment.env.data = root;
    assert_int_equal(method->create(&config, &environment.env, &run, &fault), STATUS_CONFLICT);
    run_env_close(&environment);
}

static void the_estimate_counts_test_rows_of_the_data(void **state)
{
    const struct config_setting settings[] = {{"dataset_name", "drawn"},
                                              {"total_samples", "100"},
                                              {"batch", "50"},
                                              {"test_samples", "100000000"},
                                              {NULL, NULL}};
    struct superposition_config config = configured(settings);
    struct method_estimate own, drawn_too;
    (void)state;
    assert_ok(method->estimate(&config, root, &own, err));
    config.dataset_name[0] = '\0';
    assert_ok(method->estimate(&config, root, &drawn_too, err));
    assert_true(own.samples < 100 + ROWS / 10 && drawn_too.samples > 1000000);
    assert_int_equal(own.memory_bytes - drawn_too.memory_bytes, 50 * FEATURES * 4); /* the rows of a batch */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_scaled_to_the_mean_square_of_uniform_values),
        cmocka_unit_test(samples_are_scaled_rows_for_any_number_of_threads),
        cmocka_unit_test(a_bad_value_is_found_when_its_row_is_read),
        cmocka_unit_test(threads_and_pauses_change_no_bit),
        cmocka_unit_test(uploaded_samples_give_the_loss_of_drawn_ones),
        cmocka_unit_test(queries_take_test_rows_and_values_in_their_own_unit),
        cmocka_unit_test(each_bad_data_set_and_given_size_names_its_field),
        cmocka_unit_test(a_run_refuses_data_of_another_size),
        cmocka_unit_test(the_estimate_counts_test_rows_of_the_data),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
