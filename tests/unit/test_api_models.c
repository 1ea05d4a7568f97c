/* Every allocation fails of the requests that ask models of one method: comparisons, surveys of channels, ONNX, pathways and their
 * recovery, inputs and answers as arrays. Two trained models of sparling and one of pathways, so small that opening one is part of each
 * request. The answer is the right one or says that memory is missing. test_method_memory walks the methods below the api.
 *
 * MOTIF_FAULT_STRIDE=1 walks every place. */
#include "tests/unit/api_sweep.h"

#include "core/kernels/kernels.h"
#include "tests/support/fault.h"
#include "tests/support/run_test.h"

enum { STEPS = 12 };
enum subject { NONE, SPARLING, OTHER, PATHWAYS, SUBJECTS };

static const struct config_setting sparling[] = {
    {"image_size", "48"},    {"classes", "4"},      {"min_symbols", "1"},      {"max_symbols", "1"},        {"shift", "1"},
    {"min_radius", "6"},     {"width", "8"},        {"units", "1"},            {"motifs", "4"},             {"channels", "16"},
    {"layers", "1"},         {"heads", "2"},        {"feed_forward", "32"},    {"batch", "2"},              {"dropout", "0.1"},
    {"validation_every", "100"}, {"validation_samples", "4"}, {"checkpoint_every", "100"}, {"total_samples", "100"}, {"density_start", "0.02"},
    {"motif_samples", "4"},  {"test_samples", "4"}, {"stage_samples", "4"},    {"plateau_validations", "1"}, {NULL, NULL}};
static const struct config_setting pathways[] = {
    {"filters", "2"}, {"filter_length", "16"}, {"length", "64"}, {"nonzeros", "1,2"}, {"trials", "4"}, {"draws", "2"},
    {"iterations", "5"}, {NULL, NULL}};

#define FILTERS "\"model\":{\"layers\":[{\"name\":\"pair\",\"filters\":[[1,1,1,1],[1,-1,1,-1]]}]}"
#define SAMPLE "{\"inputs\":[{\"sample\":{\"seed\":2}}]}"
#define IN_JSON {NULL}, {NULL}

/* The "@" of a body is another model than that of the target. */
static const struct {
    struct request_case c;
    enum subject other;
} cases[] = {
    {{"POST", "/v1/jobs/@/compare", "{\"with\":\"@\",\"samples\":2}", 200, SPARLING, IN_JSON, true}, OTHER},
    {{"POST", "/v1/jobs/@/compare", "{\"with\":\"nobody\",\"samples\":0,\"of\":1}", 422, SPARLING, IN_JSON, false}, NONE},
    {{"GET", "/v1/jobs/@/channels?samples=2&top=1", NULL, 200, SPARLING, IN_JSON, true}, NONE},
    {{"GET", "/v1/jobs/@/channels/0?samples=2&top=1", NULL, 200, SPARLING, IN_JSON, true}, NONE},
    {{"GET", "/v1/jobs/@/channels/99?samples=2", NULL, 404, SPARLING, IN_JSON, false}, NONE},
    {{"GET", "/v1/jobs/@/channels/0?samples=2&top=1", NULL, 200, SPARLING, {"Accept"}, {"image/png"}, true}, NONE},
    {{"GET", "/v1/jobs/@/onnx", NULL, 200, SPARLING, IN_JSON, true}, NONE},
    {{"POST", "/v1/jobs/@/motifs", SAMPLE, 200, SPARLING, {"Accept"}, {"application/x-npy"}, true}, NONE},
    {{"POST", "/v1/jobs/@/predict", SAMPLE, 200, SPARLING, IN_JSON, true}, NONE},
    {{"POST", "/v1/jobs/@/interventions", "{\"inputs\":[{\"sample\":{\"seed\":3},\"edits\":[{\"channel\":1,\"delete\":true}]}]}", 200, SPARLING,
     IN_JSON, true}, NONE},
    {{"GET", "/v1/jobs/@/pathways?seed=3", NULL, 200, PATHWAYS, IN_JSON, true}, NONE},
    {{"POST", "/v1/pathways/recover", "{" FILTERS ",\"signal\":[0,0,0,3,3,3,3,0,0,0,0,0,0,0,0,0],\"nonzeros\":[1]}", 200, NONE, IN_JSON, true}, NONE},
    {{"POST", "/v1/pathways/recover", "{" FILTERS ",\"code\":[[3,0,1]],\"length\":24,\"config\":{\"signs\":\"random\",\"seed\":5}}", 200, NONE,
     IN_JSON, true}, NONE},
    {{"POST", "/v1/pathways/recover", "{" FILTERS ",\"code\":[[3,0,1],[1,2]],\"length\":24.5,\"nonzeros\":[1,2],\"more\":1}", 422, NONE, IN_JSON,
     false}, NONE},
    {{"POST", "/v1/pathways/recover", "{\"job\":\"@\",\"layers\":[\"g.units.0.conv1\"],\"signal\":[[0,0,1,0,0],[0,2,0,0,0],[0,0,1,0,0]],"
     "\"config\":{\"decoder\":\"relu\"}}", 422, NONE, IN_JSON, false}, OTHER},
    {{"POST", "/v1/pathways/recover", "{\"job\":\"@\",\"code\":[[5,0,1]],\"length\":64}", 200, PATHWAYS, IN_JSON, true}, PATHWAYS},
};

struct models {
    struct sweep sweep;
    struct run_host host;
    char job[SUBJECTS][STORAGE_ID];
};

/* A configuration as a client sends it. */
static void write_config(char *out, size_t room, const char *kind, const struct config_setting *settings, int seed)
{
    int used = snprintf(out, room, "{\"kind\":\"%s\",\"config\":{\"seed\":%d", kind, seed);
    for (; settings->field != NULL; settings++) {
        char *end;
        (void)strtod(settings->value, &end);
        const char *quote = *end == '\0' ? "" : "\"";
        used += snprintf(out + used, room - (size_t)used, ",\"%s\":%s%s%s", settings->field, quote, settings->value, quote);
    }
    (void)snprintf(out + used, room - (size_t)used, "}}");
}

/* A job as an executor leaves it, its model trained for a few steps here. */
static void train(struct models *m, const char *kind, const struct config_setting *settings, int seed, char id[STORAGE_ID])
{
    struct api_fixture *f = m->sweep.f;
    const struct method *method = method_find(kind);
    char body[2000], text[16];
    void *config = malloc(method->config.struct_bytes);
    struct config_setting seeded[40] = {{"seed", text}};
    struct host_bytes saved = {0};
    struct storage_checkpoint_writer *writer;
    enum method_wish wish = METHOD_CONTINUE;
    int64_t seq;
    assert_non_null(config);
    (void)snprintf(text, sizeof text, "%d", seed);
    for (size_t i = 0; settings[i].field != NULL; i++)
        seeded[i + 1] = settings[i];
    run_test_configure(method, config, seeded);
    struct method_run *run = run_test_start(method, &m->host, config);
    for (int i = 0; i < STEPS; i++)
        assert_ok(host_step(&m->host, method, run, &wish, err));
    assert_ok(host_save(method, run, &saved, err));
    method->destroy(run);
    write_config(body, sizeof body, kind, settings, seed);
    submit_job(f, body, id);
    claim_job(f, id);
    struct storage_checkpoint_new what = {.step = STEPS, .samples = 24, .density = 0.02, .accuracy = 0};
    assert_ok(storage_checkpoint_begin(f->storage, id, &what, &writer, err));
    assert_ok(storage_checkpoint_write(writer, saved.data, saved.count, err));
    assert_ok(storage_checkpoint_commit(writer, &seq, err));
    finish_job(f, id, "{}");
    host_bytes_close(&saved);
    free(config);
}

static int setup(void **state)
{
    static struct models models;
    if (api_setup(state) != 0)
        return -1;
    struct api_fixture *f = *state;
    models.sweep = (struct sweep){.f = f};
    *state = &models;
    api_destroy(f->api);
    f->options.methods = methods_all(&f->options.method_count);
    f->options.model_cache_bytes = 1; /* closed with its last user */
    assert_ok(host_open(&models.host, 1, NULL, err));
    f->options.kernels = models.host.env.kernels;
    assert_ok(api_create(&f->options, &f->api, err));
    train(&models, "sparling", sparling, 1, models.job[SPARLING]);
    train(&models, "sparling", sparling, 2, models.job[OTHER]);
    train(&models, "pathways", pathways, 1, models.job[PATHWAYS]);
    return 0;
}

static int teardown(void **state)
{
    struct models *m = *state;
    void *fixture = m->sweep.f;
    host_close(&m->host);
    return api_teardown(&fixture);
}

static void test_models(void **state)
{
    const struct models *m = *state;
    complaints = 0;
    int stride = fault_stride(5);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct request_case c = cases[i].c;
        char body[500];
        if (cases[i].other != NONE) {
            sweep_fill(body, sizeof body, c.body, m->job[cases[i].other]);
            c.body = body;
        }
        for (int forever = 0; forever < 2; forever++) {
            int walked = sweep_read(&m->sweep, &c, m->job[c.subject], forever, stride);
            print_message("%-4s %-40.40s %s: %d\n", c.method, c.target, sweep_mode(forever), walked);
            assert_true(walked > 5);
        }
    }
    assert_int_equal(complaints, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_models, setup, teardown)};
    fault_libraries();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
