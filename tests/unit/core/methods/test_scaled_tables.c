/* Tests that every kind that reads tables learns columns of any size, answers in the units of the file, keeps the scale
 * in its checkpoints, and warns about rows far outside of the training data. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/formats/byte_source.h"
#include "core/kernels/kernels.h"
#include "core/methods/registry.h"
#include "core/methods/dictionary/config.h"
#include "core/methods/environments/config.h"
#include "core/methods/superposition/config.h"
#include "tests/support/method_ask.h"
#include "tests/support/run_test.h"
#include "tests/support/stored_set.h"
#include "tests/support/text_sink.h"

enum { HOUSES = 260, COLUMNS = 4 };
static char root[] = "/tmp/motifd-scaled-XXXXXX";
static const float USUAL[COLUMNS] = {150, 6, 1970, 245000}, ODD[COLUMNS] = {150, 6, 1970, 1e12F};

static void house(int i, double x[COLUMNS])
{
    int large = i * 37 % 101, young = i * 53 % 97;
    x[0] = 50 + 2 * large + i % 5;
    x[1] = 2 + large / 12;
    x[2] = 1920 + young;
    x[3] = 90000 + 3000 * large + 1000 * (i % 11);
}

static void store(const char *name, const char *head, int first, bool grouped)
{
    static const char *const places[] = {"town/east", "town/west", "land"};
    static char text[HOUSES * 64];
    char path[96];
    int used = sprintf(text, "%s\n", head);
    for (int i = first; i < HOUSES; i++) {
        double x[COLUMNS];
        house(i, x);
        if (grouped)
            used += sprintf(text + used, "%s,", places[i % 3]);
        used += sprintf(text + used, "%g,%g,%g,%.9g\n", x[0], x[1], x[2], x[3]);
    }
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_ok(stored_set(path, "csv", text, err));
}

static int setup(void **state)
{
    if (!mkdtemp(root))
        return -1;
    store("houses", "area,rooms,year,price", 0, false);
    store("numbered", "c0,c1,c2,c3", 0, false);
    store("places", "group,area,rooms,year,y", 0, true);
    return 0;
}

static int teardown(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static const struct config_setting dictionary[] = {{"source", "dataset"},
                                                   {"dataset_name", "houses"},
                                                   {"learner", "topk"},
                                                   {"width", "8"},
                                                   {"l0", "3"},
                                                   {"seeds", "1"},
                                                   {"batch", "50"},
                                                   {"learning_rate", "1e-2"},
                                                   {"total_samples", "20000"},
                                                   {"test_samples", "26"},
                                                   {"pursuit_samples", "10"},
                                                   {"checkpoint_every", "8000"},
                                                   {NULL, NULL}};
static const struct config_setting environments[] = {{"data", "table"},  {"dataset_name", "places"},    {"latent", "2"},
                                                     {"updates", "600"}, {"learning_rate", "2e-2"},     {"batch", "64"},
                                                     {"unseen", "0"},    {"checkpoint_every", "20000"}, {NULL, NULL}};
static const struct config_setting superposition[] = {{"dataset_name", "houses"},
                                                      {"n_d", "4"},
                                                      {"learning_rate", "1e-2"},
                                                      {"stop", "never"},
                                                      {"batch", "64"},
                                                      {"block", "640"},
                                                      {"total_samples", "100000"},
                                                      {"test_samples", "26"},
                                                      {"checkpoint_every", "40000"},
                                                      {NULL, NULL}};

/* A finished model. */
struct finished {
    struct run_env environment;
    struct run_env_bytes bytes;
    struct method_model *model;
};

static void finish(const struct method *method, const void *config, struct finished *f)
{
    enum method_request request = METHOD_CONTINUE;
    f->bytes = (struct run_env_bytes){0};
    assert_ok(run_env_open(&f->environment, 2, NULL, err));
    f->environment.env.data = root;
    struct method_run *run = run_test_start(method, &f->environment, config);
    while (request != METHOD_DONE)
        assert_ok(run_env_step(&f->environment, method, run, &request, err));
    assert_ok(run_env_save(method, run, &f->bytes, err));
    method->destroy(run);
    struct snapshot_reader reader = run_env_reader(&f->bytes);
    assert_ok(method->open(config, f->environment.env.kernels, root, &reader, &f->model, err));
}

static void end(const struct method *method, struct finished *f)
{
    method->close(f->model);
    run_env_bytes_close(&f->bytes);
    run_env_close(&f->environment);
}

/* Asks for an array, and returns how many numbers `out` got. */
static int ask(const struct method *method, const struct method_model *model, const char *name, const float *x,
               int count, float *out)
{
    const struct method_query *query = method_query_find(method, name, false);
    struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {count}, .values = x};
    struct method_question question = method_question(query, model, &input);
    struct buf values;
    int rank;
    int64_t dim[4];
    buf_init(&values, 1 << 16);
    assert_ok(query->array(&question, &values, &rank, dim, err));
    memcpy(out, values.data, values.size);
    int numbers = (int)(values.size / sizeof *out);
    buf_close(&values);
    free((void *)question.parameters);
    return numbers;
}

static void assert_warns(const struct method *method, const struct method_model *model, int columns)
{
    struct buf text;
    buf_init(&text, 4096);
    const struct sink sink = text_sink(&text);
    struct method_input input = {.kind = METHOD_INPUT_ARRAY, .rank = 1, .dim = {columns}, .values = USUAL};
    method->warn(model, &input, &sink);
    assert_int_equal(text.size, 0);
    float odd[COLUMNS];
    memcpy(odd, ODD, sizeof odd);
    odd[columns - 1] = 1e12F;
    input.values = odd;
    method->warn(model, &input, &sink);
    buf_append(&text, "", 1);
    assert_non_null(strstr(text.data, "outside-range"));
    buf_close(&text);
}

static void assert_like(const float *y)
{
    for (int j = 0; j < COLUMNS; j++)
        if (!(fabs((double)y[j] - (double)USUAL[j]) <= 0.4 * (double)USUAL[j]))
            fail_msg("column %d: %g for %g", j, (double)y[j], (double)USUAL[j]);
}

/* What SAELens gets reconstructs the same rows in the units of the file. */
static void compare_saelens(const struct method_model *model, const float *back)
{
    const struct method_query *query = method_query_find(&dictionary_method, "saelens", false);
    struct method_question question = method_question(query, model, NULL);
    struct buf folder, json, checkpoint;
    struct dictionary_config config;
    struct finished f = {.model = NULL};
    float code[8], again[COLUMNS];
    buf_init(&folder, 1 << 20);
    buf_init(&json, 1 << 16);
    buf_init(&checkpoint, 1 << 20);
    assert_ok(query->texts[0].write(&question, &folder, err));
    free((void *)question.parameters);
    struct byte_source_memory memory = {(const unsigned char *)folder.data, folder.size, 0};
    const struct byte_source from = byte_source_of_memory(&memory);
    assert_ok(dictionary_method.adopt(&from, &json, &checkpoint, err));
    run_test_configure(&dictionary_method, &config, dictionary);
    config.inputs = COLUMNS;
    f.bytes = (struct run_env_bytes){checkpoint.data, checkpoint.size, checkpoint.size};
    struct snapshot_reader reader = run_env_reader(&f.bytes);
    assert_ok(dictionary_method.open(&config, kernels_best(), root, &reader, &f.model, err));
    assert_int_equal(ask(&dictionary_method, f.model, "encode", USUAL, COLUMNS, code), 8);
    assert_int_equal(ask(&dictionary_method, f.model, "decode", code, 8, again), COLUMNS);
    for (int j = 0; j < COLUMNS; j++)
        if (!(fabs((double)again[j] - (double)back[j]) <= 1e-3 * fabs((double)back[j])))
            fail_msg("column %d: %g, and %g as SAELens has it", j, (double)back[j], (double)again[j]);
    dictionary_method.close(f.model);
    buf_close(&folder);
    buf_close(&json);
    buf_close(&checkpoint);
}

static void dictionaries_reconstruct_in_the_units_of_the_file(void **state)
{
    struct dictionary_config config;
    struct finished f;
    float code[8], back[COLUMNS];
    run_test_configure(&dictionary_method, &config, dictionary);
    assert_ok(dictionary_method.resolve(&config, NULL, root, err));
    assert_int_equal(config.scaling, SCALE_STANDARD);
    finish(&dictionary_method, &config, &f);
    assert_int_equal(ask(&dictionary_method, f.model, "encode", USUAL, COLUMNS, code), 8);
    assert_int_equal(ask(&dictionary_method, f.model, "decode", code, 8, back), COLUMNS);
    assert_like(back);
    compare_saelens(f.model, back);
    assert_warns(&dictionary_method, f.model, COLUMNS);
    end(&dictionary_method, &f);
    /* columns that only have numbers are numbers of one kind */
    strcpy(config.dataset_name, "numbered");
    assert_ok(dictionary_method.resolve(&config, NULL, root, err));
    assert_int_equal(config.scaling, SCALE_NONE);
}

static void superposed_features_are_scaled_without_shifts(void **state)
{
    struct superposition_config config;
    struct finished f;
    float back[COLUMNS];
    run_test_configure(&superposition_method, &config, superposition);
    assert_ok(superposition_method.resolve(&config, NULL, root, err));
    assert_true(config.scaling == SCALE_STANDARD && config.n_s == COLUMNS);
    finish(&superposition_method, &config, &f);
    assert_int_equal(ask(&superposition_method, f.model, "predict", USUAL, COLUMNS, back), COLUMNS);
    int kept = 0; /* features without sparsity interfere, so some may be lost */
    for (int j = 0; j < COLUMNS; j++)
        kept += fabs((double)back[j] - (double)USUAL[j]) < 0.5 * (double)USUAL[j];
    if (kept < 2)
        fail_msg("%g, %g, %g, %g", (double)back[0], (double)back[1], (double)back[2], (double)back[3]);
    assert_warns(&superposition_method, f.model, COLUMNS);
    end(&superposition_method, &f);
}

static void environments_predict_outcomes_in_the_units_of_the_file(void **state)
{
    struct environments_config config;
    struct finished f;
    float outcome[3];
    run_test_configure(&environments_method, &config, environments);
    assert_ok(environments_method.resolve(&config, NULL, root, err));
    assert_int_equal(config.scaling, SCALE_STANDARD);
    finish(&environments_method, &config, &f);
    assert_int_equal(ask(&environments_method, f.model, "predict", USUAL, COLUMNS - 1, outcome), 3);
    for (int e = 0; e < 3; e++)
        if (!(fabs((double)outcome[e] - 245000) < 60000))
            fail_msg("environment %d: %g", e, (double)outcome[e]);
    assert_warns(&environments_method, f.model, COLUMNS - 1);
    end(&environments_method, &f);
    config.target = TARGET_PLANTED; /* needs the scale of all rows */
    assert_ok(environments_method.resolve(&config, NULL, root, err));
    assert_int_equal(config.scaling, SCALE_AUTO);
}

static void scaled_runs_give_the_same_bits_for_any_threads_and_pauses(void **state)
{
    static const struct {
        const struct method *method;
        const struct config_setting *settings;
        const char *field, *value;
    } runs[] = {{&dictionary_method, dictionary, "inputs", "4"},
                {&environments_method, environments, "updates", "30"},
                {&superposition_method, superposition, "n_s", "4"}};
    for (int i = 0; i < 3; i++) {
        const struct run_test test = {runs[i].method, root, NULL};
        struct config_setting own[RUN_TEST_SETTINGS], scaled[RUN_TEST_SETTINGS], all[RUN_TEST_SETTINGS];
        run_test_vary(runs[i].settings, runs[i].field, runs[i].value, own);
        run_test_vary(own, "scaling", i == 1 ? "robust" : "standard", scaled);
        run_test_vary(scaled, i == 2 ? "p" : "seed", "1", all);
        const struct config_setting *const list[] = {all};
        run_test_bits(&test, list, 1, 0);
    }
}

static void a_scale_that_does_not_fit_is_refused(void **state)
{
    struct dictionary_config config;
    struct error error = {0};
    char path[96];
    snprintf(path, sizeof path, "%s/negative", root);
    char text[1024];
    int used = sprintf(text, "a,b\n");
    for (int i = 0; i < 30; i++)
        used += sprintf(text + used, "%d,%d\n", i, i == 20 ? -7 : 2 * i);
    assert_ok(stored_set(path, "csv", text, err));
    run_test_configure(&dictionary_method, &config, dictionary);
    strcpy(config.dataset_name, "negative");
    config.scale = 5; /* counts */
    assert_int_equal(dictionary_method.resolve(&config, NULL, root, &error), STATUS_INVALID);
    assert_string_equal(error.pointer, "/config/scale");
    assert_non_null(strstr(error.message, "-7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dictionaries_reconstruct_in_the_units_of_the_file),
        cmocka_unit_test(superposed_features_are_scaled_without_shifts),
        cmocka_unit_test(environments_predict_outcomes_in_the_units_of_the_file),
        cmocka_unit_test(scaled_runs_give_the_same_bits_for_any_threads_and_pauses),
        cmocka_unit_test(a_scale_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
