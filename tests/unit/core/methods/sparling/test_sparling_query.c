/* Tests queries of a model: answers, refusals, pictures, damaged streams. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/buf.h"
#include "core/data/digitcircle/digitcircle.h"
#include "core/draw/picture.h"
#include "core/methods/sparling/config.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "tests/support/method_ask.h"
#include "tests/support/run_env.h"
#include "tests/support/text_sink.h"
#include "tests/support/tiny_network.h"
#include "tests/support/pixel_at.h"

enum { SIZE = 48 };

static const struct method *const method = &sparling_method;

static const struct config_setting tiny[] = {
    TINY_NETWORK,    {"image_size", "48"}, {"max_symbols", "3"},     {"min_radius", "6"},
    {"motifs", "5"}, {"batch", "4"},       {"density_start", "0.3"}, {NULL, NULL}};

struct setup {
    struct sparling_config config;
    struct run_env environment;
    struct run_env_bytes bytes;
    struct method_model *model;
};

static int open_setup(void **state)
{
    struct setup *s = calloc(1, sizeof *s);
    struct error err = {0};
    struct method_run *run;
    enum method_request request;
    assert_int_equal(config_defaults(&sparling_config_table, &s->config, &err), STATUS_OK);
    assert_int_equal(config_apply(&sparling_config_table, &s->config, tiny, &err), STATUS_OK);
    assert_int_equal(run_env_open(&s->environment, 1, NULL, &err), STATUS_OK);
    assert_int_equal(method->create(&s->config, &s->environment.env, &run, &err), STATUS_OK);
    run->step_seconds = 0;
    for (int i = 0; i < 3; i++) /* makes three updates, however fast the machine is */
        assert_int_equal(run_env_step(&s->environment, method, run, &request, &err), STATUS_OK);
    assert_int_equal(run_env_save(method, run, &s->bytes, &err), STATUS_OK);
    method->destroy(run);
    struct snapshot_reader reader = run_env_reader(&s->bytes);
    assert_int_equal(method->open(&s->config, s->environment.env.kernels, NULL, &reader, &s->model, &err), STATUS_OK);
    *state = s;
    return 0;
}

static int close_setup(void **state)
{
    struct setup *s = *state;
    method->close(s->model);
    run_env_bytes_close(&s->bytes);
    run_env_close(&s->environment);
    free(s);
    return 0;
}

static enum status ask(struct setup *s, const char *query, const struct method_input *input, struct buf *out,
                       struct error *err)
{
    const struct sink sink = text_sink(out);
    buf_init(out, 1 << 24);
    error_clear(err);
    return method_ask(method, s->model, query, input, &sink, err);
}

static void answers_for_samples_contain_the_truth(void **state)
{
    struct setup *s = *state;
    struct error err;
    struct buf out;
    struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = 11};
    assert_int_equal(ask(s, "motifs", &input, &out, &err), STATUS_OK);
    assert_non_null(strstr(out.data, "shape=[ 48 48 5 ]"));
    assert_non_null(strstr(out.data, "maximal=true"));
    assert_non_null(strstr(out.data, "position=["));
    assert_non_null(strstr(out.data, "prediction=["));

    struct digitcircle domain = {.image_size = SIZE,
                                 .classes = 4,
                                 .min_symbols = 1,
                                 .max_symbols = 3,
                                 .shift = 1,
                                 .margin = 12,
                                 .min_radius = 6,
                                 .pre_noise = 0.5,
                                 .post_noise = 0.05};
    struct digitcircle_truth truth;
    float image[SIZE * SIZE];
    digitcircle_draw(&domain, 11, image, &truth);
    for (int i = 0; i < truth.count; i++) {
        const struct box *b = &truth.boxes[i];
        char want[96];
        snprintf(want, sizeof want, "{ symbol='%d' box=[ %d %d %d %d ] }", b->symbol, b->row0, b->row1, b->col0,
                 b->col1);
        assert_non_null(strstr(out.data, want));
    }

    /* Sends the same image as an array. The answer has the same motifs, but no true symbols. */
    struct buf again;
    struct method_input array = {.kind = METHOD_INPUT_ARRAY, .rank = 2, .dim = {SIZE, SIZE}, .values = image};
    assert_int_equal(ask(s, "motifs", &array, &again, &err), STATUS_OK);
    assert_non_null(strstr(again.data, "truth=null"));
    size_t same = (size_t)(strstr(out.data, " truth=") - out.data);
    assert_memory_equal(out.data, again.data, same);
    buf_close(&again);
    buf_close(&out);
}

static void predictions_contain_probabilities(void **state)
{
    struct setup *s = *state;
    struct error err;
    struct buf out;
    struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = 3};
    assert_int_equal(ask(s, "predict", &input, &out, &err), STATUS_OK);
    double product = 1;
    int tokens = 0;
    const char *at = strstr(out.data, "tokens=[");
    assert_non_null(at);
    const char *end = strstr(at, " ]");
    for (; (at = strstr(at, "probability=")) && at < end; tokens++) {
        double p = strtod(at + strlen("probability="), NULL);
        assert_true(p > 0 && p <= 1);
        product *= p;
        at++;
    }
    assert_true(tokens >= 1 && tokens <= 5);
    assert_non_null(at);
    assert_true(fabs(strtod(at + strlen("probability="), NULL) - product) < 1e-6);
    buf_close(&out);
}

static void expect_refused(struct setup *s, const struct method_input *input, const char *pointer)
{
    struct error err;
    struct buf out;
    assert_int_equal(ask(s, "motifs", input, &out, &err), STATUS_INVALID);
    assert_string_equal(err.pointer, pointer);
    assert_true(strlen(err.message) > 10);
    buf_close(&out);
}

static void unfit_inputs_are_refused(void **state)
{
    struct setup *s = *state;
    static float values[SIZE * SIZE];
    struct method_input array = {.kind = METHOD_INPUT_ARRAY, .rank = 2, .dim = {SIZE, SIZE - 1}, .values = values};
    struct method_input sample = {.kind = METHOD_INPUT_SAMPLE, .seed = -1};
    struct error err;
    struct buf out;
    expect_refused(s, &array, "/array");
    array.dim[1] = SIZE;
    array.rank = 1;
    expect_refused(s, &array, "/array");
    array.rank = 3;
    array.dim[0] = 7, array.dim[2] = SIZE;
    assert_int_equal(ask(s, "motifs", &array, &out, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "; if these are 7 inputs, use batch=1 (motifctl: --batch)"));
    buf_close(&out);
    array.rank = 2;
    array.dim[0] = SIZE;
    values[17] = NAN;
    expect_refused(s, &array, "/array");
    values[17] = 1.5f;
    expect_refused(s, &array, "/array");
    values[17] = 0;
    expect_refused(s, &sample, "/sample/seed");
    sample.seed = (int64_t)UINT32_MAX + 1;
    expect_refused(s, &sample, "/sample/seed");
    assert_int_equal(ask(s, "pathways", &array, &out, &err), STATUS_NOT_FOUND);
    buf_close(&out);
    array.rank = 3;
    array.dim[0] = 1, array.dim[1] = array.dim[2] = SIZE;
    assert_int_equal(ask(s, "motifs", &array, &out, &err), STATUS_OK);
    buf_close(&out);
}

static void picture_shows_the_input(void **state)
{
    struct setup *s = *state;
    struct error err = {0};
    struct picture *picture = NULL;
    struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = 2};
    assert_int_equal(method_draw(method, s->model, "motifs", &input, &picture, &err), STATUS_OK);
    assert_true(picture->rows >= 8 * SIZE - 30 && picture->cols >= 7 * SIZE);
    int ink = 0, coloured = 0;
    for (int i = 0; i < picture->rows * picture->cols; i++) {
        struct colour p = pixel_at(picture, i / picture->cols, i % picture->cols);
        ink += p.red == p.green && p.green == p.blue && p.red < 128;
        coloured += p.red != p.green || p.green != p.blue;
    }
    assert_true(ink > 1000 && coloured > 50);
    picture_destroy(picture);
    assert_int_equal(method_draw(method, s->model, "predict", &input, &picture, &err), STATUS_NOT_FOUND);
}

/* All weights of this model are finite, so a client can import it, but its activations are infinite. A query for
 * statistics must fail, because no histogram can contain an infinite value. */
static void statistics_of_an_infinite_map_are_refused(void **state)
{
    struct setup *s = *state;
    struct error err = {0};
    struct buf out;
    struct method_run *run;
    struct method_model *model;
    struct run_env_bytes bytes = {0};
    struct snapshot_reader trained = run_env_reader(&s->bytes);
    assert_int_equal(method->create(&s->config, &s->environment.env, &run, &err), STATUS_OK);
    assert_int_equal(method->load(run, &trained, &err), STATUS_OK);
    for (size_t i = 0; i < params_arrays(run->network->params); i++) {
        struct weight *w = params_array(run->network->params, i);
        if (strncmp(params_name(run->network->params, i), "g.last", 6) == 0 ||
            strncmp(params_name(run->network->params, i), "sparse.norm", 11) == 0)
            for (size_t j = 0; j < w->count; j++)
                w->value[j] = 1e38F;
    }
    assert_int_equal(run_env_save(method, run, &bytes, &err), STATUS_OK);
    method->destroy(run);
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_int_equal(method->open(&s->config, s->environment.env.kernels, NULL, &reader, &model, &err), STATUS_OK);
    const struct sink sink = text_sink(&out);
    buf_init(&out, 1 << 24);
    enum status status = method_ask(method, model, "channels", NULL, &sink, &err);
    method->close(model);
    run_env_bytes_close(&bytes);
    buf_close(&out);
    assert_int_equal(status, STATUS_CONFLICT);
    assert_non_null(strstr(err.message, "is not finite"));
}

static void damaged_models_are_refused(void **state)
{
    struct setup *s = *state;
    struct error err = {0};
    struct method_model *model;
    struct run_env_bytes cut = s->bytes;
    cut.count = 100;
    struct snapshot_reader reader = run_env_reader(&cut);
    assert_int_equal(method->open(&s->config, s->environment.env.kernels, NULL, &reader, &model, &err), STATUS_CORRUPT);
    assert_true(method->model_bytes(s->model) > 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_for_samples_contain_the_truth),
        cmocka_unit_test(predictions_contain_probabilities),
        cmocka_unit_test(unfit_inputs_are_refused),
        cmocka_unit_test(picture_shows_the_input),
        cmocka_unit_test(statistics_of_an_infinite_map_are_refused),
        cmocka_unit_test(damaged_models_are_refused),
    };
    return cmocka_run_group_tests(tests, open_setup, close_setup);
}
