/* Tests the api in unusual situations:
 * - methods that lack one function, and methods whose functions fail
 * - queries that send requests while they compute
 * - jobs that change between two reads of them
 * - weight files at their limits
 * - headers and times with extreme values */
#include "tests/unit/api/api_fixture.h"

#include <math.h>
#include <strings.h>

#include "api/http/exchange.h"
#include "api/jobs/job_spec.h"
#include "protocol/config_json.h"
#include "api/transfer/import_int.h"
#include "api/queries/inputs.h"
#include "api/formats/safetensors.h"
#include "core/draw/picture.h"

/* ---- methods ------------------------------------------------------------------------------------------------ */

static struct api_fixture *fixture; /* the fixture of the running test, for methods that send requests */
static struct {
    enum status open, query, resolve;
    const char *pointer; /* pointer of the fault that resolve() reports */
} says;
static int nested[4];
static char asked_job[STORAGE_ID];

static int ask_inside(const char *method, const char *target, const char *body);

static enum status open_as_said(const void *config, const struct kernels *kernels, const char *data,
                                const struct snapshot_reader *from, struct method_model **out, struct error *err)
{
    return says.open != STATUS_OK ? error_set(err, says.open, NULL, "as the test wants it")
                                  : echo_method.open(config, kernels, data, from, out, err);
}

static enum status resolve_as_said(void *config, const struct method_given *given, const char *data, struct error *err)
{
    return says.resolve != STATUS_OK ? error_set(err, says.resolve, says.pointer, "as the test wants it") : STATUS_OK;
}

static enum status compare(const struct method_question *question, const struct sink *out, struct error *err)
{
    sink_integer(out, "samples", *(const int64_t *)question->parameters);
    return STATUS_OK;
}

static enum status list_channels(const struct method_question *question, const struct sink *out, struct error *err)
{
    sink_integer(out, "of_set", *(const int *)question->parameters);
    sink_integer(out, "item", question->item);
    return STATUS_OK;
}

static size_t no_convolutions(const struct method_model *model, struct method_convolution *out, size_t room)
{
    return 0;
}

static enum status graph(const struct method_model *model, const struct graph_writer *out, struct error *err)
{
    return error_set(err, STATUS_CONFLICT, NULL, "is no function");
}

static enum status recover(const struct method_recovery *request, const struct sink *out, struct error *err)
{
    sink_integer(out, "layers", (int64_t)request->layer_count);
    return STATUS_OK;
}

/* A query function that sends requests to every route that computes. */
static enum status query_that_asks(const struct method_question *question, const struct sink *out, struct error *err)
{
    char path[100], body[100];
    if (says.query != STATUS_OK)
        return error_set(err, says.query, NULL, "SELECT secret FROM it");
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/compare", asked_job);
    (void)snprintf(body, sizeof body, "{\"with\":\"%s\"}", asked_job);
    nested[0] = ask_inside("POST", path, body);
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/channels", asked_job);
    nested[1] = ask_inside("GET", path, NULL);
    nested[2] = ask_inside("POST", "/v1/pathways/recover",
                           "{\"model\":{\"layers\":[{\"filters\":[[1,2]]}]},\"signal\":[1,2,3]}");
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/predict", asked_job);
    nested[3] = ask_inside("POST", path, "{\"inputs\":[{\"sample\":{\"seed\":1}}]}");
    return echo_method.queries[1].answer(question, out, err);
}

static const char *const sets[] = {"examples", "test", "validation", "training", NULL};
static const struct config_field set_fields[] = {
    {"set", FIELD_CHOICE, 0, "examples", 0, 0, false, false, sets, "", "a set", GROUP_EVALUATION, LEVEL_BASIC, NULL}};
static const struct config_table set_table = CONFIG_TABLE(set_fields, int);
static const struct config_field samples_fields[] = {
    {"samples", FIELD_INT, 0, "100", 1, 1000, false, false, NULL, "", "inputs", GROUP_EVALUATION, LEVEL_BASIC, NULL}};
static const struct config_table samples_table = CONFIG_TABLE(samples_fields, int64_t);

enum { PREDICT, COMPARE, CHANNELS, CHANNEL, QUERIES };
enum { WHOLE, SHUT, BARE, ASKING, PLAIN, PATHWAYS, METHODS };
static struct method_query rows[METHODS][QUERIES];
static struct method_computation computation;

static const struct config_field plain_fields[] = {{"seed", FIELD_INT, 0, "7", 0, CONFIG_INT_MAX, false, false, NULL,
                                                    "", "seed of all", GROUP_DATA, LEVEL_ADVANCED, NULL}};
static const struct config_setting wrong_settings[] = {{"seed", "seven"}, {NULL, NULL}};
static const struct method_preset wrong_presets[] = {{"wrong", "one that is none", .settings = wrong_settings}};

static struct method made[METHODS];
static const struct method *const methods[METHODS] = {&made[0], &made[1], &made[2], &made[3], &made[4], &made[5]};

static int setup(void **state)
{
    if (api_setup(state) != 0)
        return -1;
    fixture = *state;
    memset(&says, 0, sizeof says);
    for (int i = 0; i < METHODS; i++) {
        made[i] = echo_method;
        rows[i][PREDICT] = echo_method.queries[1];
        rows[i][COMPARE] = (struct method_query){.name = "compare",
                                                 .meaning = "a comparison",
                                                 .verb = METHOD_POST,
                                                 .takes = METHOD_TAKES_MODEL,
                                                 .parameters = &samples_table,
                                                 .answer = compare};
        rows[i][CHANNELS] = (struct method_query){
            .name = "channels", .meaning = "all channels", .parameters = &set_table, .answer = list_channels};
        rows[i][CHANNEL] = rows[i][CHANNELS];
        rows[i][CHANNEL].item = "channel";
        made[i].queries = rows[i];
        made[i].query_count = QUERIES;
        made[i].convolutions = no_convolutions;
        made[i].graph = graph;
        made[i].open = open_as_said;
        made[i].resolve = resolve_as_said;
    }
    made[WHOLE].kind = "whole";
    made[SHUT].kind = "shut";
    made[SHUT].open = NULL;
    made[BARE].kind = "bare";
    made[BARE].query_count = CHANNEL; /* the array of queries of this method ends before the query CHANNEL */
    made[ASKING].kind = "asking";
    rows[ASKING][PREDICT].answer = query_that_asks;
    made[PLAIN] = (struct method){.kind = "plain",
                                  .title = "Plain",
                                  .summary = "Has a seed.",
                                  .paper = "None.",
                                  .config = {plain_fields, 1, sizeof(int64_t)},
                                  .presets = wrong_presets,
                                  .preset_count = 1,
                                  .estimate = echo_method.estimate};
    made[PATHWAYS].kind = "pathways";
    computation = (struct method_computation){
        .name = "recover", .meaning = "counts layers", .options = &echo_method.config, .compute = recover};
    made[PATHWAYS].computations = &computation;
    made[PATHWAYS].computation_count = 1;
    made[PATHWAYS].convolutions = NULL;
    fixture->options.methods = methods;
    fixture->options.method_count = METHODS;
    fixture->options.data = "/tmp/none";
    fixture->options.queries_at_once = 1;
    api_destroy(fixture->api);
    assert_int_equal(api_create(&fixture->options, &fixture->api, &fixture->err), STATUS_OK);
    return 0;
}

static const char *json_type(void *context, const char *name)
{
    return strcasecmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

static int ask_inside(const char *method, const char *target, const char *body)
{
    struct api_request request = {.method = method,
                                  .target = target,
                                  .header = json_type,
                                  .body = body,
                                  .body_bytes = body != NULL ? strlen(body) : 0,
                                  .scope = API_SCOPE_ADMIN};
    struct api_response response;
    api_handle(fixture->api, &request, &response);
    int status = response.status;
    api_response_close(&response);
    return status;
}

static void store(struct api_fixture *f, const char *kind, bool trained, char id[STORAGE_ID])
{
    struct storage_submit in = {.kind = kind, .name = "of it", .config = "{\"seed\":1}"};
    enum storage_submit_outcome outcome;
    assert_int_equal(storage_job_submit(f->storage, &in, id, &outcome, &f->err), STATUS_OK);
    claim_job(f, id);
    if (trained)
        (void)add_checkpoint(f, id, 10, 0.5, 1);
    finish_job(f, id, "{}");
}

#define SAMPLE "{\"inputs\":[{\"sample\":{\"seed\":1}}]}"

/* Each method lacks a function that one request needs. The api must refuse that request. */
static void requests_a_method_cannot_serve_are_refused(void **state)
{
    struct api_fixture *f = *state;
    char whole[STORAGE_ID], shut[STORAGE_ID], bare[STORAGE_ID], untrained[STORAGE_ID], body[100];
    store(f, "whole", true, whole);
    store(f, "whole", false, untrained);
    store(f, "shut", true, shut);
    store(f, "bare", true, bare);
    (void)snprintf(body, sizeof body, "{\"with\":\"%s\"}", shut);
    assert_int_equal(ask(f, "POST", path_of(shut, "/compare"), body), 404);
    assert_int_equal(ask(f, "GET", path_of(shut, "/channels"), NULL), 404);
    assert_int_equal(ask(f, "GET", path_of(shut, "/onnx"), NULL), 404);
    assert_int_equal(ask(f, "GET", path_of(bare, "/channels/3"), NULL), 404);
    assert_int_equal(ask(f, "GET", path_of(whole, "/channels/3"), NULL), 200);
    assert_int_equal(number_at(f, "/of_set"), 0);
    assert_int_equal(ask(f, "GET", path_of(whole, "/channels/3?set=training"), NULL), 200);
    assert_int_equal(number_at(f, "/of_set"), 3);
    assert_int_equal(ask(f, "GET", path_of(whole, "/channels/3?set=other"), NULL), 400);
    (void)snprintf(body, sizeof body, "{\"with\":\"%s\"}", whole);
    assert_int_equal(ask(f, "POST", path_of(whole, "/compare"), body), 200);
    assert_int_equal(ask(f, "POST", path_of(untrained, "/compare"), body), 409);
    (void)snprintf(body, sizeof body, "{\"with\":\"%s\"}", untrained);
    assert_int_equal(ask(f, "POST", path_of(whole, "/compare"), body), 409);
    assert_non_null(strstr(text_at(f, "/detail"), untrained));
}

/* Only one query may compute in this test. The query itself sends requests that compute too, and the api refuses
 * them. */
static void computing_query_excludes_others(void **state)
{
    struct api_fixture *f = *state;
    store(f, "asking", true, asked_job);
    assert_int_equal(ask(f, "POST", path_of(asked_job, "/predict"), SAMPLE), 200);
    for (int i = 0; i < 4; i++)
        assert_int_equal(nested[i], 429);
    says.query = STATUS_INTERNAL;
    assert_int_equal(ask(f, "POST", path_of(asked_job, "/predict"), SAMPLE), 500);
    assert_null(strstr(f->body, "SELECT"));
    assert_non_null(strstr(f->log, "SELECT secret"));
}

/* When a model does not open because its file is wrong, the status is 422. When it does not open because the daemon
 * has failed, the status is 503. */
static void model_that_does_not_open_gives_422_for_its_file_and_503_for_the_daemon(void **state)
{
    static const struct {
        enum status status;
        int answer;
    } cases[] = {{STATUS_CORRUPT, 422},
                 {STATUS_INVALID, 422},
                 {STATUS_NUMERIC, 422},
                 {STATUS_NO_MEMORY, 503},
                 {STATUS_INTERNAL, 500}};
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    store(f, "whole", true, id);
    assert_int_equal(ask(f, "GET", path_of(id, "/checkpoints/1"), NULL), 200);
    size_t bytes = f->body_bytes;
    char *weights = body_kept(f);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        says.open = cases[i].status;
        header(f, "Content-Type", "application/octet-stream");
        assert_int_equal(ask_bytes(f, "POST", "/v1/imports", weights, bytes), cases[i].answer);
    }
    says.open = STATUS_OK;
    f->draining = true;
    header(f, "Content-Type", "application/octet-stream");
    assert_int_equal(ask_bytes(f, "POST", "/v1/imports", weights, bytes), 503);
    f->draining = false;
    assert_int_equal(ask(f, "GET", "/v1/jobs", NULL), 200);
    /* only the first job exists: none of the files was imported */
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 1);
    header(f, "Content-Type", "application/octet-stream");
    assert_int_equal(ask_bytes(f, "POST", "/v1/imports", weights, bytes), 201);
    free(weights);
    struct storage_import_bytes short_one = {{"ab", "c"}, {2, 1}};
    char to[8];
    assert_int_equal(import_read(&short_one, 4, to, 0, &f->err), STATUS_CORRUPT);
    assert_int_equal(import_read(&short_one, 1, to, 3, &f->err), STATUS_CORRUPT);
    assert_int_equal(import_read(&short_one, 1, to, 2, &f->err), STATUS_OK);
}

static void configuration_the_method_refuses_is_reported(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    says.resolve = STATUS_INVALID;
    says.pointer = "/config/label";
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"whole\"}"), 422);
    assert_fault(f, "/config/label", "as the test wants it");
    says.pointer = NULL;
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"whole\"}"), 422);
    assert_fault(f, "/config", "as the test wants it");
    static const enum status ours[] = {STATUS_IO, STATUS_NO_MEMORY};
    for (int i = 0; i < 2; i++) { /* a failure of the daemon: the response is 503 and lists no fault of the job */
        says.resolve = ours[i];
        assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"whole\"}"), 503);
    }
    says.resolve = STATUS_OK;
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"plain\",\"preset\":\"wrong\"}"), 422);
    assert_int_equal(ask(f, "POST", "/v1/jobs",
                         "{\"kind\":\"whole\",\"preset\":\"large\",\"config\":{\"density\":7,\"mode\":\"strict\"}}"),
                     422);
    /* one fault for the field, although the preset's value of the same field is too large as well */
    assert_int_equal(cJSON_GetArraySize(at(f, "/errors")), 1);
    /* accepted, although this method has no field for the number of threads */
    submit_job(f, "{\"kind\":\"plain\",\"threads\":2}", id);
    assert_int_equal(number_at(f, "/threads"), 2);
    submit_job(f, "{\"kind\":\"whole\",\"threads\":2,\"config\":{\"threads\":2}}", id);
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"whole\",\"threads\":2,\"config\":{\"threads\":3}}"), 422);
    assert_fault(f, "/threads", "contradicts");
    assert_int_equal(ask(f, "POST", "/v1/jobs?dry_run=1", "{\"kind\":\"whole\",\"threads\":1}"), 200);
    assert_int_equal(ask(f, "POST", "/v1/jobs?dry_run=1", "{\"kind\":\"whole\",\"threads\":60}"), 200);
    assert_int_equal(ask(f, "POST", path_of(id, "/evaluation"), "{"), 400);
    assert_int_equal(ask(f, "POST", path_of(id, "/evaluation"), "[]"), 422);
    /* These rules limit neither the number of threads nor the executors. */
    struct api_job_rules rules = {.methods = methods, .method_count = METHODS};
    struct api_faults *faults = calloc(1, sizeof *faults);
    struct api_job_spec spec;
    static const char many[] = "{\"kind\":\"whole\",\"threads\":256,\"executor\":\"slurm\",\"ranks\":2}";
    assert_non_null(faults);
    assert_int_equal(api_job_parse(&rules, many, strlen(many), &spec, faults, &f->err), STATUS_OK);
    assert_int_equal(spec.threads, 256);
    assert_string_equal(spec.executor, "slurm");
    api_job_spec_close(&spec);
    static const char more[] = "{\"kind\":\"whole\",\"threads\":257}";
    assert_int_equal(api_job_parse(&rules, more, strlen(more), &spec, faults, &f->err), STATUS_INVALID);
    assert_string_equal(faults->items[0].pointer, "/threads");
    free(faults);
}

/* ---- recovery ----------------------------------------------------------------------------------------------- */

#define LAYERS "\"model\":{\"layers\":[{\"filters\":[[1,2]]}]}"

static void recoveries_are_limited_and_need_a_trained_model(void **state)
{
    enum { MANY = 65, NON_ZEROS = 65537 };
    static const struct {
        const char *first, *each, *last, *pointer;
        int count;
    } cases[] = {
        {"{\"model\":{\"layers\":[", "{\"filters\":[[1]]}", "]},\"signal\":[1]}", "/model", MANY},
        {"{" LAYERS ",\"signal\":[1],\"nonzeros\":[", "1", "]}", "/nonzeros", MANY},
        {"{" LAYERS ",\"signal\":[1],\"nonzeros\":[0.5,", "1", "]}", "/nonzeros", 2},
        {"{" LAYERS ",\"length\":9,\"code\":[", "[0,0,1]", "]}", "/code", NON_ZEROS},
        {"{\"model\":{\"layers\":[{\"filters\":[[1]],\"name\":\"", "n", "\"}]},\"signal\":[1]}", "/model/layers/0", 0},
    };
    struct api_fixture *f = *state;
    char shut[STORAGE_ID], whole[STORAGE_ID], untrained[STORAGE_ID];
    static char body[600000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t used = (size_t)sprintf(body, "%s", cases[i].first);
        for (int k = 0; k < cases[i].count; k++)
            used += (size_t)sprintf(body + used, "%s%s", k > 0 ? "," : "", cases[i].each);
        if (cases[i].count == 0) { /* a name of SNAPSHOT_NAME letters, which is too long */
            memset(body + used, 'n', SNAPSHOT_NAME);
            used += SNAPSHOT_NAME;
        }
        (void)sprintf(body + used, "%s", cases[i].last);
        assert_int_equal(ask(f, "POST", "/v1/pathways/recover", body), 422);
        assert_fault(f, cases[i].pointer, "");
    }
    assert_int_equal(ask(f, "POST", "/v1/pathways/recover", "{" LAYERS ",\"signal\":[1,2,3]}"), 200);
    assert_int_equal(number_at(f, "/layers"), 1);
    store(f, "shut", true, shut);
    store(f, "whole", true, whole);
    store(f, "whole", false, untrained);
    static const char *const pointers[] = {"/job", "/job", "/layers", "/layers/0", "/job", "/checkpoint", "/job"};
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        const char *const rests[] = {"", "", ",\"layers\":[", ",\"layers\":[\"one\"]", "", ",\"checkpoint\":1", ""};
        const char *id = i == 0 ? shut : i < 4 ? whole : i < 6 ? untrained : "00000000000000000000000000";
        size_t used = (size_t)sprintf(body, "{\"job\":\"%s\",\"signal\":[1]%s", id, rests[i]);
        for (int k = 0; i == 2 && k < MANY; k++)
            used += (size_t)sprintf(body + used, "%s\"one\"", k > 0 ? "," : "");
        (void)sprintf(body + used, i == 2 ? "]}" : "}");
        assert_int_equal(ask(f, "POST", "/v1/pathways/recover", body), 422);
        assert_fault(f, pointers[i], "");
    }
    char id[STORAGE_ID];
    store(f, "pathways", true, id); /* the model of this job has no convolutions */
    (void)sprintf(body, "{\"job\":\"%s\",\"signal\":[1]}", id);
    assert_int_equal(ask(f, "POST", "/v1/pathways/recover", body), 422);
    assert_fault(f, "/job", "no convolutions");
    store(f, "plain", true, id);
    (void)sprintf(body, "{\"job\":\"%s\",\"signal\":[1]}", id);
    assert_int_equal(ask(f, "POST", "/v1/pathways/recover", body), 422);
}

/* ---- between two reads -------------------------------------------------------------------------------------- */

/* The api reads a job twice while it handles a request with If-Match. Between the two reads, the test changes the
 * job. */
struct between {
    struct api_fixture *f;
    const char *id;
    bool deletes;
};

static const char *change_meanwhile(void *context, const char *name)
{
    const struct between *b = context;
    if (strcasecmp(name, "Content-Type") == 0)
        return "application/merge-patch+json";
    if (strcasecmp(name, "If-Match") != 0)
        return NULL;
    static char version[32];
    struct storage_job job;
    struct arena arena;
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_job_get(b->f->storage, b->id, &arena, &job, &b->f->err), STATUS_OK);
    (void)snprintf(version, sizeof version, "\"%lld\"", (long long)job.version);
    arena_close(&arena);
    int priority = 7;
    struct storage_job_patch patch = {.priority = &priority};
    if (b->deletes)
        assert_int_equal(storage_job_delete(b->f->storage, b->id, &b->f->err), STATUS_OK);
    else
        assert_int_equal(storage_job_patch(b->f->storage, b->id, &patch, &b->f->err), STATUS_OK);
    return version;
}

static int with_change(struct between *b, const char *method, const char *body)
{
    struct api_request request = {.method = method,
                                  .target = path_of(b->id, ""),
                                  .header = change_meanwhile,
                                  .header_context = b,
                                  .body = body,
                                  .body_bytes = body != NULL ? strlen(body) : 0,
                                  .scope = API_SCOPE_ADMIN};
    struct api_response response;
    api_handle(b->f->api, &request, &response);
    int status = response.status;
    api_response_close(&response);
    return status;
}

static void patch_fails_if_the_job_changed_between_reads(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    store(f, "whole", true, id);
    struct between b = {.f = f, .id = id};
    assert_int_equal(with_change(&b, "PATCH", "{\"priority\":3}"), 412);
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 200);
    /* between the two reads of the handler, the other request has set the priority to 7 */
    assert_int_equal(number_at(f, "/priority"), 7);
    b.deletes = true;
    /* a deletion succeeds also if another request deletes the job between the two reads of the handler */
    assert_int_equal(with_change(&b, "DELETE", NULL), 204);
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 404);

    static const char *const none[] = {"\"1", "\"x\"", "\"\"", "x", "\"1-2\"", "\"999999\" , \"888888\""};
    store(f, "whole", true, id);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        header(f, "If-Match", none[i]);
        header(f, "Content-Type", "application/merge-patch+json");
        assert_int_equal(ask(f, "PATCH", path_of(id, ""), "{\"priority\":3}"), 412);
    }
    char list[80];
    assert_int_equal(ask(f, "GET", path_of(id, ""), NULL), 200);
    (void)snprintf(list, sizeof list, "\"x\", %s", answer_header(f, "ETag"));
    header(f, "If-Match", list);
    header(f, "Content-Type", "application/merge-patch+json");
    assert_int_equal(ask(f, "PATCH", path_of(id, ""), "{\"priority\":3}"), 200);
    char key[300];
    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = '\0';
    header(f, "Idempotency-Key", key);
    assert_int_equal(ask(f, "POST", "/v1/jobs", "{\"kind\":\"whole\"}"), 400);
    char names[300] = "/metrics?name=a";
    for (int i = 0; i < 64; i++)
        strcat(names, ",a");
    assert_int_equal(ask(f, "GET", path_of(id, names), NULL), 400);
}

/* ---- inputs, files, headers and times ----------------------------------------------------------------------- */

static void number_of_inputs_and_edits_is_limited(void **state)
{
    struct api_fixture *f = *state;
    struct inputs *inputs = calloc(1, sizeof *inputs);
    assert_non_null(inputs);
    size_t records = INPUTS_MAX + 1, used = 0;
    char *fasta = malloc(records * 16);
    assert_non_null(fasta);
    for (size_t i = 0; i < records; i++)
        used += (size_t)sprintf(fasta + used, ">r%zu\nACGT\n", i);
    assert_int_equal(input_from_bytes("text/x-fasta", fasta, used, "/data", inputs, &f->err), STATUS_INVALID);
    assert_string_equal(f->err.pointer, "/data");
    inputs_close(inputs);
    error_clear(&f->err);
    assert_int_equal(input_from_bytes("text/x-fasta", "", 0, "/data", inputs, &f->err), STATUS_INVALID);
    inputs_close(inputs);
    free(fasta);
    static const char *const batches[] = {"[1,2]", "[[1,2],[3,4]]"};
    for (int i = 0; i < 2; i++) {
        cJSON *list = cJSON_Parse(batches[i]);
        error_clear(&f->err);
        assert_int_equal(input_array_from_json(list, "/array", inputs, &f->err), STATUS_OK);
        assert_int_equal(inputs_split(inputs, &f->err), i == 0 ? STATUS_INVALID : STATUS_OK);
        assert_int_equal(inputs->count, i == 0 ? 1 : 2);
        inputs_close(inputs);
        cJSON_Delete(list);
    }
    cJSON *list = cJSON_Parse("[1]"), *many = cJSON_CreateArray();
    assert_int_equal(input_array_from_json(list, "/array", inputs, &f->err), STATUS_OK);
    assert_int_equal(input_array_from_json(list, "/array", inputs, &f->err), STATUS_OK);
    assert_int_equal(inputs_split(inputs, &f->err), STATUS_INVALID); /* there are two arrays: only one can be split */
    inputs_close(inputs);
    inputs->items[0] = (struct method_input){.kind = METHOD_INPUT_SAMPLE, .seed = 1};
    inputs->owned[0] = NULL;
    inputs->count = 1;
    assert_int_equal(inputs_split(inputs, &f->err), STATUS_INVALID);
    inputs_close(inputs);
    cJSON_Delete(list);
    for (int i = 0; i <= 4096; i++)
        cJSON_AddItemToArray(many, cJSON_CreateObject());
    struct method_edit *edits = NULL;
    size_t count = 0;
    error_clear(&f->err);
    assert_int_equal(edits_from_json(many, "/edits", &edits, &count, &f->err), STATUS_INVALID);
    assert_string_equal(f->err.pointer, "/edits");
    assert_int_equal(count, 0);
    free(edits);
    cJSON_Delete(many);
    free(inputs);
}

static void damaged_tables_of_tensors_are_refused(void **state)
{
    static const enum snapshot_type types[] = {SNAPSHOT_F32, SNAPSHOT_F64, SNAPSHOT_I64,
                                               SNAPSHOT_U64, SNAPSHOT_U8,  (enum snapshot_type)9};
    static const char *const names[] = {"F32", "F64", "I64", "U64", "U8"};
    struct api_fixture *f = *state;
    struct buf head;
    for (size_t i = 0; i < 7; i++) {
        struct snapshot_entry entry = {
            .type = types[i < 6 ? i : 0], .role = SNAPSHOT_WEIGHT, .rank = 1, .dim = {1}, .bytes = 8};
        (void)snprintf(entry.name, sizeof entry.name, "%s", i < 6 ? "a" : "__metadata__");
        buf_init(&head, 1000);
        error_clear(&f->err);
        assert_int_equal(safetensors_head(&entry, 1, NULL, 0, &head, &f->err), i < 5 ? STATUS_OK : STATUS_CORRUPT);
        if (i < 5)
            assert_non_null(strstr(head.data + 8, names[i]));
        size_t bytes = head.size;
        buf_close(&head);
        for (size_t room = 0; i == 0 && room < bytes; room++) {
            buf_init(&head, room);
            assert_int_equal(safetensors_head(&entry, 1, NULL, 0, &head, &f->err), STATUS_NO_MEMORY);
            buf_close(&head);
        }
    }
    /* Of tensors that begin at the same offset, the empty ones come first, ordered by name. */
    static const char text[] = "{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
                               "\"c\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
                               "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}";
    char file[300];
    uint64_t length = strlen(text);
    memcpy(file, &length, 8);
    memcpy(file + 8, text, length);
    memcpy(file + 8 + length, "xy", 2);
    struct safetensors_content content;
    assert_int_equal(safetensors_parse(file, 8 + length + 2, &content, &f->err), STATUS_OK);
    assert_string_equal(content.tensors[0].name, "a");
    assert_string_equal(content.tensors[1].name, "c");
    assert_string_equal(content.tensors[2].name, "b");
    safetensors_content_close(&content);
    size_t large = (16u << 20) + 100;
    char *bytes = calloc(1, large);
    assert_non_null(bytes);
    length = large - 8;
    memcpy(bytes, &length, 8);
    bytes[8] = '{';
    error_clear(&f->err);
    assert_int_equal(safetensors_parse(bytes, large, &content, &f->err), STATUS_INVALID);
    assert_non_null(strstr(f->err.message, "does not begin with a table"));
    free(bytes);
}

static void headers_stay_on_one_line_and_unset_times_are_null(void **state)
{
    struct api_fixture *f = *state;
    struct api_response response = {.status = 200};
    response_header(&response, "X-Text", "a%cb%cc", 1, 0x7F);
    /* spaces replace the control characters, so a value cannot start a new line of the head */
    assert_string_equal(api_response_header(&response, "x-text"), "a b c");
    response_header(&response, "x-text", "again");
    assert_int_equal(response.header_count, 1);
    static const char *const many[API_HEADERS_MAX] = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J",
                                                      "K", "L", "M", "N", "O", "P", "Q", "R", "S", "T"};
    for (size_t i = 0; i < API_HEADERS_MAX; i++)
        response_header(&response, many[i], "%zu", i);
    assert_int_equal(response.header_count, API_HEADERS_MAX);
    assert_null(api_response_header(&response, "T")); /* the table of headers was full */
    api_response_close(&response);
    struct json_sink json;
    struct buf out;
    buf_init(&out, 1000);
    json_sink_init(&json, &out);
    sink_begin_object(&json.sink, NULL);
    sink_time(&json.sink, "never", 0);
    sink_time(&json.sink, "then", 1700000000001);
    sink_end_object(&json.sink);
    assert_true(json_sink_done(&json));
    assert_int_equal(out.size, strlen("{\"never\":null,\"then\":\"2023-11-14T22:13:20.001Z\"}"));
    assert_memory_equal(out.data, "{\"never\":null,\"then\":\"2023-11-14T22:13:20.001Z\"}", out.size);
    buf_close(&out);
    assert_int_equal(storage_artifact_put(f->storage, "none", "a", "text/plain", "", 0, &f->err), STATUS_NOT_FOUND);
    char id[STORAGE_ID];
    store(f, "whole", true, id);
    assert_int_equal(storage_artifact_put(f->storage, id, "empty.txt", "text/plain", "", 0, &f->err), STATUS_OK);
    assert_int_equal(ask(f, "GET", path_of(id, "/artifacts/empty.txt"), NULL), 200);
    assert_int_equal(f->body_bytes, 0);
    assert_non_null(answer_header(f, "ETag"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, api_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_a_method_cannot_serve_are_refused),
        TEST(computing_query_excludes_others),
        TEST(model_that_does_not_open_gives_422_for_its_file_and_503_for_the_daemon),
        TEST(configuration_the_method_refuses_is_reported),
        TEST(recoveries_are_limited_and_need_a_trained_model),
        TEST(patch_fails_if_the_job_changed_between_reads),
        TEST(number_of_inputs_and_edits_is_limited),
        TEST(damaged_tables_of_tensors_are_refused),
        TEST(headers_stay_on_one_line_and_unset_times_are_null),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("api_extremes", tests, NULL, NULL);
}
