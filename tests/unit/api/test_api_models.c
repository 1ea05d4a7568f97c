/* Tests unusual requests to trained models, and requests while memory is missing. The models are two of sparling and
 * one of pathways. The cache of open models is so small that each request opens its model again.
 *
 * One test sends requests that do not fit a model; the api must refuse each and name the right fault. Another test
 * lets every allocation fail, one after the other, in these requests: comparisons, top activations, ONNX exports,
 * pathways and their recovery, and queries with arrays as input and answer. The response must be correct or report
 * that memory is missing.
 *
 * test_method_memory tests the methods below the api in the same way. MOTIF_FAULT_STRIDE=1 tests every allocation. */
#include "tests/unit/api/api_sweep.h"

#include "core/kernels/kernels.h"
#include "tests/support/fault.h"
#include "tests/support/run_test.h"
#include "tests/support/sanitized.h"
#include "tests/support/short_runs.h"

enum { STEPS = 12 };
enum subject { NONE, SPARLING, OTHER, PATHWAYS, SUBJECTS };

static const struct config_setting sparling[] = {TINY_NETWORK,
                                                 {"image_size", "48"},
                                                 {"max_symbols", "1"},
                                                 {"min_radius", "6"},
                                                 {"motifs", "4"},
                                                 {"batch", "2"},
                                                 {"dropout", "0.1"},
                                                 {"validation_every", "100"},
                                                 {"validation_samples", "4"},
                                                 {"checkpoint_every", "100"},
                                                 {"total_samples", "100"},
                                                 {"density_start", "0.02"},
                                                 {"motif_samples", "4"},
                                                 {"test_samples", "4"},
                                                 {"stage_samples", "4"},
                                                 {"plateau_validations", "1"},
                                                 {NULL, NULL}};

#define FILTERS "\"model\":{\"layers\":[{\"name\":\"pair\",\"filters\":[[1,1,1,1],[1,-1,1,-1]]}]}"
#define SAMPLE "{\"inputs\":[{\"sample\":{\"seed\":2}}]}"
#define IN_JSON                                                                                                        \
    {NULL},                                                                                                            \
    {                                                                                                                  \
        NULL                                                                                                           \
    }

/* An "@" in the target stands for the id of the subject of the case, and an "@" in the body for the id of `other`. */
static const struct {
    struct request_case c;
    enum subject other;
} cases[] = {
    {{"GET", "/v1/kinds/sparling", NULL, 200, NONE, IN_JSON, true}, NONE},
    {{"POST", "/v1/jobs/@/compare", "{\"with\":\"@\",\"samples\":2}", 200, SPARLING, IN_JSON, true}, OTHER},
    {{"POST", "/v1/jobs/@/compare", "{\"with\":\"nobody\",\"samples\":0,\"of\":1}", 422, SPARLING, IN_JSON, false},
     NONE},
    {{"GET", "/v1/jobs/@/channels?samples=2&top=1", NULL, 200, SPARLING, IN_JSON, true}, NONE},
    {{"GET", "/v1/jobs/@/channels/0?samples=2&top=1", NULL, 200, SPARLING, IN_JSON, true}, NONE},
    {{"GET", "/v1/jobs/@/channels/99?samples=2", NULL, 404, SPARLING, IN_JSON, false}, NONE},
    {{"GET", "/v1/jobs/@/channels/0?samples=2&top=1", NULL, 200, SPARLING, {"Accept"}, {"image/png"}, true}, NONE},
    {{"GET", "/v1/jobs/@/onnx", NULL, 200, SPARLING, IN_JSON, true}, NONE},
    {{"POST", "/v1/jobs/@/motifs", SAMPLE, 200, SPARLING, {"Accept"}, {"application/x-npy"}, true}, NONE},
    {{"POST", "/v1/jobs/@/predict", SAMPLE, 200, SPARLING, IN_JSON, true}, NONE},
    {{"POST", "/v1/jobs/@/interventions",
      "{\"inputs\":[{\"sample\":{\"seed\":3},\"edits\":[{\"channel\":1,\"delete\":true}]}]}", 200, SPARLING, IN_JSON,
      true},
     NONE},
    {{"GET", "/v1/jobs/@/pathways?seed=3", NULL, 200, PATHWAYS, IN_JSON, true}, NONE},
    {{"POST", "/v1/pathways/recover", "{" FILTERS ",\"signal\":[0,0,0,3,3,3,3,0,0,0,0,0,0,0,0,0],\"nonzeros\":[1]}",
      200, NONE, IN_JSON, true},
     NONE},
    {{"POST", "/v1/pathways/recover",
      "{" FILTERS ",\"code\":[[3,0,1]],\"length\":24,\"config\":{\"signs\":\"random\",\"seed\":5}}", 200, NONE, IN_JSON,
      true},
     NONE},
    {{"POST", "/v1/pathways/recover",
      "{" FILTERS ",\"code\":[[3,0,1],[1,2]],\"length\":24.5,\"nonzeros\":[1,2],\"more\":1}", 422, NONE, IN_JSON,
      false},
     NONE},
    {{"POST", "/v1/pathways/recover",
      "{\"job\":\"@\",\"layers\":[\"g.units.0.conv1\"],\"signal\":[[0,0,1,0,0],[0,2,0,0,0],[0,0,1,0,0]],"
      "\"config\":{\"decoder\":\"relu\"}}",
      422, NONE, IN_JSON, false},
     OTHER},
    {{"POST", "/v1/pathways/recover", "{\"job\":\"@\",\"code\":[[5,0,1]],\"length\":64}", 200, PATHWAYS, IN_JSON, true},
     PATHWAYS},
};

struct models {
    char data[64]; /* folder of data sets */
    struct sweep sweep;
    struct run_env environment;
    char job[SUBJECTS][STORAGE_ID];
};

/* Writes the body of a request that submits a job with these settings. */
static void write_config(char *out, size_t room, const char *kind, const struct config_setting *settings, int seed)
{
    int used = snprintf(out, room, "{\"kind\":\"%s\",\"config\":{\"seed\":%d", kind, seed);
    for (; settings->field != NULL; settings++) {
        char *end;
        (void)strtod(settings->value, &end);
        const char *quote = *end == '\0' ? "" : "\"";
        used +=
            snprintf(out + used, room - (size_t)used, ",\"%s\":%s%s%s", settings->field, quote, settings->value, quote);
    }
    (void)snprintf(out + used, room - (size_t)used, "}}");
}

/* Stores a job as an executor does, with a model that was trained for a few steps here. */
static void train(struct models *m, const char *kind, const struct config_setting *settings, int seed,
                  char id[STORAGE_ID])
{
    struct api_fixture *f = m->sweep.f;
    const struct method *method = method_find(kind);
    char body[2000], text[16];
    void *config = malloc(method->config.struct_bytes);
    struct config_setting seeded[40] = {{"seed", text}};
    struct run_env_bytes saved = {0};
    struct storage_checkpoint_writer *writer;
    enum method_request request = METHOD_CONTINUE;
    int64_t seq;
    assert_non_null(config);
    (void)snprintf(text, sizeof text, "%d", seed);
    for (size_t i = 0; settings[i].field != NULL; i++)
        seeded[i + 1] = settings[i];
    run_test_configure(method, config, seeded);
    struct method_run *run = run_test_start(method, &m->environment, config);
    for (int i = 0; i < STEPS; i++)
        assert_ok(run_env_step(&m->environment, method, run, &request, err));
    assert_ok(run_env_save(method, run, &saved, err));
    method->destroy(run);
    write_config(body, sizeof body, kind, settings, seed);
    submit_job(f, body, id);
    claim_job(f, id);
    struct storage_checkpoint_new what = {.step = STEPS, .samples = 24, .density = 0.02, .accuracy = 0};
    assert_ok(storage_checkpoint_begin(f->storage, id, &what, &writer, err));
    assert_ok(storage_checkpoint_write(writer, saved.data, saved.count, err));
    assert_ok(storage_checkpoint_commit(writer, &seq, err));
    finish_job(f, id, "{}");
    run_env_bytes_close(&saved);
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
    (void)snprintf(models.data, sizeof models.data, "/tmp/motifd-sets-XXXXXX");
    assert_non_null(mkdtemp(models.data));
    f->options.data = models.data;
    f->options.model_cache_bytes = 1; /* so small that a model is closed as soon as no request uses it */
    assert_ok(run_env_open(&models.environment, 1, NULL, err));
    f->options.kernels = models.environment.env.kernels;
    assert_ok(api_create(&f->options, &f->api, err));
    train(&models, "sparling", sparling, 1, models.job[SPARLING]);
    train(&models, "sparling", sparling, 2, models.job[OTHER]);
    train(&models, "pathways", tiny_pathways, 1, models.job[PATHWAYS]);
    return 0;
}

static int teardown(void **state)
{
    struct models *m = *state;
    void *fixture = m->sweep.f;
    char command[100];
    run_env_close(&m->environment);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", m->data);
    return api_teardown(&fixture) == 0 && system(command) == 0 ? 0 : -1;
}

static void queries_survive_any_failing_allocation_or_read(void **state)
{
    struct models *m = *state;
    const int part = SANITIZED ? 3 : 1; /* the release build tries every place */
    complaints = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct request_case c = cases[i].c;
        char body[500];
        if (cases[i].other != NONE) {
            sweep_fill(body, sizeof body, c.body, m->job[cases[i].other]);
            c.body = body;
        }
        for (int k = 0; k < 2 * SWEEP_FAULTS; k++) {
            const struct sweep_fault *fault = &sweep_faults[k / 2];
            m->sweep.fault = fault;
            int stride = (k / 2 == 0 ? 5 : 1) * part * (SANITIZED && k % 2 ? 5 : 1);
            int calls = sweep_read(&m->sweep, &c, m->job[c.subject], k % 2, fault_stride(stride));
            print_message("%-4s %-40.40s %s %s: %d\n", c.method, c.target, fault->name, sweep_mode(k % 2), calls);
            assert_true(calls > (SANITIZED ? 0 : 5) || k / 2 > 0);
        }
    }
    assert_int_equal(complaints, 0);
}

/* ---- odd requests ------------------------------------------------------------------------------------------- */

/* In `target` and `body`, "@" stands for the id of the sparling job, and "$" for the id of the pathways job. `pointer`:
 * JSON pointer of the fault that the answer must contain; NULL: any. */
struct odd {
    const char *method, *target, *header, *value, *body;
    int status;
    const char *pointer;
};

#define EDIT(text) "{\"inputs\":[{\"sample\":{\"seed\":3},\"edits\":" text "}]}"
#define CHANGE(text, pointer)                                                                                          \
    {                                                                                                                  \
        "POST", "/v1/jobs/@/interventions", NULL, NULL, EDIT("[" text "]"), 422, "/inputs/0/edits/0" pointer           \
    }
#define RECOVER(text, status, pointer)                                                                                 \
    {                                                                                                                  \
        "POST", "/v1/pathways/recover", NULL, NULL, "{" text "}", status, pointer                                      \
    }
#define PAIR "\"model\":{\"layers\":[{\"filters\":[[1,1]]}]}"
#define LAYER(text) "\"model\":{\"layers\":[" text "]},\"signal\":[1,0,0,0,0,0]"
#define PUT_CSV(target, status)                                                                                        \
    {                                                                                                                  \
        "PUT", "/v1/datasets/" target, "Content-Type", "text/csv", "a,b,label\n1,2,x\n3,4,y\n", status, NULL           \
    }
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct odd odds[] = {
    /* the edits of an intervention */
    {"POST", "/v1/jobs/@/interventions", NULL, NULL, EDIT("{}"), 422, "/inputs/0/edits"},
    CHANGE("7", ""),
    CHANGE("{\"channel\":1}", ""),
    CHANGE("{\"channel\":1,\"delete\":false}", ""),
    CHANGE("{\"channel\":1,\"delete\":true,\"to\":{\"value\":1}}", ""),
    CHANGE("{\"channel\":1,\"delete\":true,\"more\":1}", ""),
    CHANGE("{\"channel\":-1,\"delete\":true}", "/channel"),
    CHANGE("{\"channel\":0.5,\"delete\":true}", "/channel"),
    CHANGE("{\"channel\":4294967296,\"delete\":true}", "/channel"),
    CHANGE("{\"channel\":\"1\",\"delete\":true}", "/channel"),
    CHANGE("{\"delete\":true}", "/channel"),
    CHANGE("{\"channel\":1,\"position\":[1],\"delete\":true}", "/position"),
    CHANGE("{\"channel\":1,\"position\":7,\"delete\":true}", "/position"),
    CHANGE("{\"channel\":1,\"position\":[-1,1],\"delete\":true}", "/position"),
    CHANGE("{\"channel\":1,\"position\":[1,-1],\"delete\":true}", "/position"),
    CHANGE("{\"channel\":1,\"to\":{}}", "/to"),
    CHANGE("{\"channel\":1,\"to\":3}", "/to"),
    CHANGE("{\"channel\":1,\"to\":{\"size\":3}}", "/to"),
    CHANGE("{\"channel\":1,\"to\":{\"channel\":0.5}}", "/to/channel"),
    CHANGE("{\"channel\":1,\"to\":{\"position\":[1,2,3]}}", "/to/position"),
    CHANGE("{\"channel\":1,\"to\":{\"value\":\"3\"}}", "/to/value"),
    {"POST", "/v1/jobs/@/interventions", NULL, NULL, EDIT("[],\"keep\":\"some\""), 422, "/inputs/0/keep"},
    {"POST", "/v1/jobs/@/interventions", NULL, NULL, EDIT("[],\"keep\":3"), 422, "/inputs/0/keep"},
    {"POST", "/v1/jobs/@/interventions", NULL, NULL, EDIT("[],\"keep\":\"all\""), 200, NULL},
    {"POST", "/v1/jobs/@/interventions", NULL, NULL, EDIT("[],\"keep\":\"maximal\""), 200, NULL},
    {"POST", "/v1/jobs/@/interventions", "Accept", "image/png", EDIT("[]"), 406, NULL},
    {"POST", "/v1/jobs/$/interventions", NULL, NULL, EDIT("[]"), 404, NULL},
    /* recovery of pathways */
    RECOVER("\"model\":1", 422, "/model"),
    RECOVER("\"model\":{\"layers\":[],\"signal\":[1]}", 422, "/model"),
    RECOVER("\"model\":{\"layers\":3}", 422, "/model"),
    RECOVER("\"model\":{\"layers\":[{}],\"more\":1}", 422, "/model"),
    RECOVER(LAYER("3"), 422, "/model/layers/0"),
    RECOVER(LAYER("{\"name\":\"a\"}"), 422, "/model/layers/0"),
    RECOVER(LAYER("{\"name\":3,\"filters\":[[1]]}"), 422, "/model/layers/0"),
    RECOVER(LAYER("{\"filters\":[[1]],\"more\":1}"), 422, "/model/layers/0"),
    RECOVER(LAYER("{\"filters\":[1,2]}"), 422, "/model/layers/0/filters"),
    RECOVER(LAYER("{\"filters\":[[1,2],[3]]}"), 422, NULL),
    RECOVER(LAYER("{\"filters\":[[1,1]]}") ",\"length\":6", 422, "/length"),
    RECOVER(LAYER("{\"filters\":[[1,1]]}") ",\"code\":[[0,0,1]]", 422, "/signal"),
    RECOVER(LAYER("{\"filters\":[[1,1]]}") ",\"nonzeros\":[1,2]", 422, "/nonzeros"),
    RECOVER(LAYER("{\"filters\":[[1,1]]}") ",\"nonzeros\":7", 422, "/nonzeros"),
    RECOVER(LAYER("{\"filters\":[[1,1]]}") ",\"nonzeros\":[0.5]", 422, "/nonzeros"),
    RECOVER(LAYER("{\"filters\":[[1,1]]}") ",\"config\":3", 422, "/config"),
    RECOVER(LAYER("{\"filters\":[[1,1]]}") ",\"config\":{\"decoder\":\"magic\"}", 422, "/config/decoder"),
    RECOVER(LAYER("{\"filters\":[[1,1]]}") ",\"config\":{\"decodr\":\"relu\"}", 422, "/config/decodr"),
    RECOVER(LAYER("{\"filters\":[[1,1]]}") ",\"layer\":3", 422, "/layer"),
    RECOVER(LAYER("{\"filters\":[[1,1]]}") ",\"layers\":[\"a\"]", 422, "/model"),
    RECOVER(LAYER("{\"filters\":[[1,1]]}") ",\"checkpoint\":1", 422, "/model"),
    RECOVER(PAIR ",\"signal\":[[[1]]]", 422, "/signal"),
    RECOVER(PAIR ",\"signal\":\"x\"", 422, NULL),
    RECOVER(PAIR, 422, "/signal"),
    RECOVER(PAIR ",\"code\":[[0,0,1]]", 422, "/length"),
    RECOVER(PAIR ",\"length\":[1,2,3],\"code\":[[0,0,1]]", 422, "/length"),
    RECOVER(PAIR ",\"length\":[],\"code\":[[0,0,1]]", 422, "/length"),
    RECOVER(PAIR ",\"length\":0,\"code\":[[0,0,1]]", 422, "/length"),
    RECOVER(PAIR ",\"length\":\"8\",\"code\":[[0,0,1]]", 422, "/length"),
    RECOVER(PAIR ",\"length\":1e15,\"code\":[[0,0,1]]", 422, "/length"),
    RECOVER(PAIR ",\"length\":8,\"code\":[]", 422, "/code"),
    RECOVER(PAIR ",\"length\":8,\"code\":3", 422, "/code"),
    RECOVER(PAIR ",\"length\":8,\"code\":[3]", 422, "/code/0"),
    RECOVER(PAIR ",\"length\":8,\"code\":[[0,0,\"1\"]]", 422, "/code/0"),
    RECOVER(PAIR ",\"length\":8,\"code\":[[0,0.5,1]]", 422, "/code/0"),
    RECOVER("\"model\":{\"layers\":[{\"filters\":[[[[1,1]]]]}]},\"length\":[8,8],\"code\":[[0,0,1]]", 422, "/code/0"),
    RECOVER("\"model\":{\"layers\":[{\"filters\":[[[[1,1]]]]}]},\"length\":[8,8],\"code\":[[1,2,0,1]]", 200, NULL),
    RECOVER(PAIR ",\"length\":8,\"code\":[[99,0,1]]", 422, "/code/0"),
    RECOVER("\"job\":3,\"signal\":[1]", 422, "/job"),
    RECOVER("\"job\":\"nobody\",\"signal\":[1]", 422, "/job"),
    RECOVER("\"job\":\"$\",\"model\":{},\"signal\":[1]", 422, "/model"),
    RECOVER("\"signal\":[1]", 422, "/model"),
    RECOVER("\"job\":\"$\",\"checkpoint\":99,\"signal\":[1]", 422, "/checkpoint"),
    RECOVER("\"job\":\"$\",\"checkpoint\":\"best of all\",\"signal\":[1]", 422, "/checkpoint"),
    RECOVER("\"job\":\"$\",\"checkpoint\":{},\"signal\":[1]", 422, "/checkpoint"),
    RECOVER("\"job\":\"$\",\"layers\":[],\"code\":[[0,0,1]],\"length\":64", 422, "/layers"),
    RECOVER("\"job\":\"$\",\"layers\":3,\"code\":[[0,0,1]],\"length\":64", 422, "/layers"),
    RECOVER("\"job\":\"$\",\"layers\":[3],\"code\":[[0,0,1]],\"length\":64", 422, "/layers/0"),
    RECOVER("\"job\":\"$\",\"layers\":[\"layer.9\"],\"code\":[[0,0,1]],\"length\":64", 422, "/layers/0"),
    {"POST", "/v1/pathways/recover", NULL, NULL, "[", 400, NULL},
    /* comparisons of models, top activations and motif counts */
    {"POST", "/v1/jobs/@/compare", NULL, NULL, "{\"with\":\"$\"}", 422, "/with"},
    {"POST", "/v1/jobs/@/compare", NULL, NULL, "{\"with\":3}", 422, "/with"},
    {"POST", "/v1/jobs/$/compare", NULL, NULL, "{\"with\":\"$\"}", 404, NULL},
    {"POST", "/v1/jobs/@/compare", NULL, NULL, "[]", 422, NULL},
    {"GET", "/v1/jobs/$/channels", NULL, NULL, NULL, 404, NULL},
    {"GET", "/v1/jobs/@/channels", "Accept", "text/html", NULL, 406, NULL},
    {"GET", "/v1/jobs/@/channels?set=odd", NULL, NULL, NULL, 400, NULL},
    {"GET", "/v1/jobs/@/channels?set=test&samples=2&top=1", NULL, NULL, NULL, 200, NULL},
    {"GET", "/v1/jobs/@/channels?checkpoint=99", NULL, NULL, NULL, 404, NULL},
    {"GET", "/v1/jobs/$/onnx", NULL, NULL, NULL, 404, NULL},
    {"GET", "/v1/jobs/@/onnx?checkpoint=odd", NULL, NULL, NULL, 400, NULL},
    {"GET", "/v1/jobs/$/pathways?seed=1&checkpoint=odd", NULL, NULL, NULL, 400, NULL},
    {"GET", "/v1/jobs/$/pathways?seed=1&checkpoint=99", NULL, NULL, NULL, 404, NULL},
    {"GET", "/v1/jobs/@/pathways?seed=1", NULL, NULL, NULL, 404, NULL},
    {"POST", "/v1/jobs/@/motifs?checkpoint=odd", NULL, NULL, SAMPLE, 400, NULL},
    {"POST", "/v1/jobs/@/motifs", "Accept", "image/png",
     "{\"inputs\":[{\"sample\":{\"seed\":1}},{\"sample\":{\"seed\":2}}]}", 422, "/inputs"},
    {"POST", "/v1/jobs/@/motifs", NULL, NULL, "{\"inputs\":[{\"array\":[[1,2],[3,4]]}]}", 422, "/inputs/0/array"},
    {"POST", "/v1/jobs/@/motifs", "Accept", "image/png", "{\"inputs\":[{\"array\":[[1,2],[3,4]]}]}", 422,
     "/inputs/0/array"},
    {"POST", "/v1/jobs/@/motifs", "Accept", "application/x-npy", "{\"inputs\":[{\"array\":[[1,2],[3,4]]}]}", 422,
     "/inputs/0/array"},
    /* data sets */
    PUT_CSV("good", 201),
    PUT_CSV("good", 200),
    PUT_CSV("good?group=a", 409),
    PUT_CSV("good?group=b", 409),
    PUT_CSV("good?sha256=" HASH, 409),
    PUT_CSV("Bad", 404),
    PUT_CSV("new?sha256=12", 400),
    PUT_CSV("new?sha256=ZZ23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 400),
    PUT_CSV("new?offset=3", 400),
    PUT_CSV("new?offset=3&sha256=" HASH, 409),
    PUT_CSV("new?format=odd", 400),
    PUT_CSV("new?format=npy", 422),
    PUT_CSV("new?sha256=" HASH, 422),
    {"PUT", "/v1/datasets/tabs", "Content-Type", "text/tab-separated-values", "a\tb\tlabel\n1\t2\tx\n3\t4\ty\n", 201,
     NULL},
    {"PUT", "/v1/datasets/first?layout=signals", "Content-Type", "text/csv", "a,b,label\n1,2,x\n3,4,y\n", 201, NULL},
    {"PUT", "/v1/datasets/new", "Content-Type", "application/x-odd", "abc", 415, NULL},
    {"PUT", "/v1/datasets/new", "Content-Type", "text/csv", "a,b\n1\n", 422, NULL},
    {"GET", "/v1/datasets/none", NULL, NULL, NULL, 404, NULL},
    {"GET", "/v1/datasets/none/preview", NULL, NULL, NULL, 404, NULL},
    {"DELETE", "/v1/datasets/none", NULL, NULL, NULL, 404, NULL},
    {"DELETE", "/v1/datasets/first", NULL, NULL, NULL, 204, NULL},
    /* routes that only read */
    {"GET", "/v1/audit?cursor=odd", NULL, NULL, NULL, 400, NULL},
    {"GET", "/v1/audit?limit=0", NULL, NULL, NULL, 400, NULL},
    {"GET", "/v1/events", "Last-Event-ID", "odd", NULL, 400, NULL},
    {"GET", "/v1/events", "Last-Event-ID", "", NULL, 200, NULL},
    {"GET", "/v1/jobs/@/metrics?names=", NULL, NULL, NULL, 400, NULL},
    {"GET", "/v1/jobs?state=odd", NULL, NULL, NULL, 400, NULL},
    {"POST", "/v1/jobs?dry_run=maybe", NULL, NULL, "{\"kind\":\"pathways\"}", 400, NULL},
    {"POST", "/v1/jobs?dry_run=false", NULL, NULL, "{\"kind\":\"pathways\",\"preset\":\"odd\"}", 422, "/preset"},
    {"POST", "/v1/jobs?dry_run=true", NULL, NULL, "{\"kind\":\"pathways\",\"preset\":null}", 200, NULL},
    {"POST", "/v1/jobs", NULL, NULL, "{\"kind\":\"pathways\",\"name\":null}", 422, "/name"},
    {"POST", "/v1/jobs", NULL, NULL, "{\"kind\":\"pathways\",\"name\":3}", 422, "/name"},
    {"POST", "/v1/jobs", NULL, NULL, "{\"kind\":\"pathways\",\"threads\":0}", 422, "/threads"},
    {"POST", "/v1/jobs", NULL, NULL, "{\"kind\":\"pathways\",\"threads\":65}", 422, "/threads"},
    {"POST", "/v1/jobs", NULL, NULL, "{\"kind\":\"pathways\",\"executor\":\"odd\"}", 422, "/executor"},
    {"POST", "/v1/jobs", NULL, NULL, "{\"kind\":\"pathways\",\"from\":3}", 422, "/from"},
    {"POST", "/v1/jobs", NULL, NULL, "{\"kind\":\"pathways\",\"from\":{\"job\":\"short\"}}", 422, "/from/job"},
    {"POST", "/v1/jobs", NULL, NULL, "{\"kind\":\"pathways\",\"from\":{\"job\":\"$\",\"odd\":1}}", 422, "/from/odd"},
    {"POST", "/v1/jobs", NULL, NULL, "{\"kind\":\"sparling\",\"from\":{\"job\":\"$\"}}", 422, "/from/job"},
    {"POST", "/v1/jobs/@/evaluation", NULL, NULL, "{\"samples\":0}", 422, "/samples"},
    {"POST", "/v1/jobs/@/evaluation", NULL, NULL, "{\"odd\":0}", 422, "/odd"},
    {"POST", "/v1/jobs/@/evaluation", NULL, NULL, "[", 400, NULL},
    {"POST", "/v1/imports?step=-1", "Content-Type", "application/octet-stream", "abc", 400, NULL},
    {"POST", "/v1/imports?density=2", "Content-Type", "application/octet-stream", "abc", 400, NULL},
    {"POST", "/v1/imports?kind=odd", "Content-Type", "application/octet-stream", "abc", 400, NULL},
    {"POST", "/v1/imports", "Content-Type", "application/octet-stream", "abc", 422, NULL},
};

static void fill_ids(const struct models *m, char *out, size_t room, const char *text)
{
    size_t used = 0;
    for (; *text != '\0'; text++) {
        const char *id = *text == '@' ? m->job[SPARLING] : *text == '$' ? m->job[PATHWAYS] : NULL;
        used += (size_t)snprintf(out + used, room - used, "%s%.*s", id != NULL ? id : "", id == NULL, text);
        assert_true(used < room);
    }
}

static bool has_fault(struct api_fixture *f, const char *pointer)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(f->json, "errors")) {
        const cJSON *place = cJSON_GetObjectItemCaseSensitive(item, "pointer");
        if (cJSON_IsString(place) && strcmp(place->valuestring, pointer) == 0)
            return true;
    }
    return false;
}

static void unsuitable_requests_are_refused_with_the_wrong_member(void **state)
{
    const struct models *m = *state;
    struct api_fixture *f = m->sweep.f;
    int wrong = 0;
    for (size_t i = 0; i < sizeof odds / sizeof odds[0]; i++) {
        const struct odd *o = &odds[i];
        char target[200], body[1000];
        fill_ids(m, target, sizeof target, o->target);
        fill_ids(m, body, sizeof body, o->body != NULL ? o->body : "");
        if (o->header != NULL)
            header(f, o->header, o->value);
        int status = ask(f, o->method, target, o->body != NULL ? body : NULL);
        const char *type = answer_header(f, "Content-Type");
        bool problem = status < 400 || (type != NULL && strcmp(type, "application/problem+json") == 0);
        if (status != o->status || !problem || (o->pointer != NULL && !has_fault(f, o->pointer))) {
            print_error("%s %s %s\n  %d, not %d %s: %.400s\n", o->method, target, body, status, o->status,
                        o->pointer != NULL ? o->pointer : "", f->body);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unsuitable_requests_are_refused_with_the_wrong_member),
                                       cmocka_unit_test(queries_survive_any_failing_allocation_or_read)};
    fault_libraries();
    return cmocka_run_group_tests(tests, setup, teardown);
}
