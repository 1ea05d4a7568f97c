/* Implements api_fixture.h: an api over a real store, with a small method that exists only for these tests. */
#include "tests/unit/api/api_fixture.h"

#include <dirent.h>
#include <math.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/snapshot.h"
#include "core/draw/picture.h"

/* ---- the method ---- */

static const char *const modes[] = {"plain", "strict", NULL};
static const char *const domains[] = {"line", "plane", "space", NULL};
static const struct config_field fields[] = {
    {"seed", FIELD_INT, offsetof(struct echo_config, seed), "7", 0, CONFIG_INT_MAX, false, false, NULL, "",
     "seed of all", GROUP_DATA, LEVEL_ADVANCED, NULL},
    {"threads", FIELD_INT, offsetof(struct echo_config, threads), "0", 0, 256, false, false, NULL, "threads", "threads",
     GROUP_DATA, LEVEL_ADVANCED, NULL},
    {"density", FIELD_REAL, offsetof(struct echo_config, density), "0.5", 0, 1, true, false, NULL, "", "how many pass",
     GROUP_SPARSITY, LEVEL_BASIC, NULL},
    {"mode", FIELD_CHOICE, offsetof(struct echo_config, mode), "plain", 0, 0, false, false, modes, "", "how it goes",
     GROUP_DATA, LEVEL_ADVANCED, NULL},
    {"verbose", FIELD_BOOL, offsetof(struct echo_config, verbose), "false", 0, 0, false, false, NULL, "", "says more",
     GROUP_DATA, LEVEL_ADVANCED, NULL},
    {"label", FIELD_TEXT, offsetof(struct echo_config, label), "none", 0, 0, false, false, NULL, "", "a name",
     GROUP_EVALUATION, LEVEL_RESEARCH, NULL},
    {"domain", FIELD_CHOICE, offsetof(struct echo_config, domain), "line", 0, 0, false, false, domains, "",
     "what samples are", GROUP_DATA, LEVEL_BASIC, NULL},
    {"span", FIELD_INT, offsetof(struct echo_config, span), "3", 1, 9, false, false, NULL, "", "how far it reaches",
     GROUP_MODEL, LEVEL_BASIC, "mode=plain|strict domain=plane|space"},
};
static const struct config_setting small[] = {{"density", "0.25"}, {"mode", "strict"}, {NULL, NULL}};
static const struct config_setting large[] = {{"density", "0.75"}, {NULL, NULL}};
static const struct method_axis axes[] = {{"density", "0.25 0.5"}, {"mode", "plain strict"}, {NULL, NULL}};
static const struct method_preset presets[] = {{"small", "the small one", small, NULL, 0},
                                               {"large", "the large one", large, NULL, 0},
                                               {"many", "a study of eight jobs", large, axes, 2}};
static const struct method_metric metrics[] = {{"loss", "nats", "what is made small"}};
atomic_int echo_opened, echo_closed, echo_open_ms;

struct method_model {
    float weights[15], bias[7];
};

static void check(const void *config, const struct method_faults *faults)
{
    const struct echo_config *c = config;
    if (c->mode == 1 && c->density > 0.5)
        faults->add(faults->context, "density", "must be at most 0.5 in mode strict");
}

static enum status estimate(const void *config, const char *data, struct method_estimate *out, struct error *err)
{
    (void)config;
    (void)err;
    *out = (struct method_estimate){22, 1e6, 4096, 512, 60000, 0};
    return STATUS_OK;
}

static enum status open_model(const void *config, const struct kernels *kernels, const char *data,
                              const struct snapshot_reader *from, struct method_model **out, struct error *err)
{
    (void)kernels;
    const struct echo_config *c = config;
    int ms = atomic_load(&echo_open_ms);
    (void)nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
    if (c->seed == 13)
        return error_set(err, STATUS_CORRUPT, NULL, "SELECT bytes FROM /var/lib/secret went wrong");
    struct method_model *model = calloc(1, sizeof *model);
    struct snapshot *snapshot = NULL;
    enum status status =
        model != NULL ? snapshot_create(&snapshot, err) : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    if (status == STATUS_OK) {
        status = snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "conv.weight", 2, (const uint64_t[]){3, 5},
                              model->weights, err);
    }
    if (status == STATUS_OK) {
        status =
            snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "bias", 1, (const uint64_t[]){7}, model->bias, err);
    }
    if (status == STATUS_OK)
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    snapshot_destroy(snapshot);
    if (status != STATUS_OK) {
        free(model);
        return status;
    }
    atomic_fetch_add(&echo_opened, 1);
    *out = model;
    return STATUS_OK;
}

static void close_model(struct method_model *model)
{
    atomic_fetch_add(&echo_closed, 1);
    free(model);
}

static uint64_t model_bytes(const struct method_model *model)
{
    return sizeof *model;
}

static enum status query(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct method_model *model = question->model;
    const struct method_input *input = question->input;
    if (input->kind == METHOD_INPUT_ARRAY && input->rank != 2)
        return error_set(err, STATUS_INVALID, "/array", "must have 2 dimensions; got %d", input->rank);
    sink_text(out, "query", question->query->name);
    sink_number(out, "weight", (double)model->weights[0]);
    if (input->kind == METHOD_INPUT_SAMPLE) {
        sink_integer(out, "seed", input->seed);
        return STATUS_OK;
    }
    double sum = 0;
    for (int64_t i = 0; i < input->dim[0] * input->dim[1]; i++)
        sum += (double)input->values[i];
    sink_begin_list(out, "shape");
    sink_integer(out, NULL, input->dim[0]);
    sink_integer(out, NULL, input->dim[1]);
    sink_end_list(out);
    sink_number(out, "sum", sum);
    return STATUS_OK;
}

static enum status draw(const struct method_question *question, struct picture **out, struct error *err)
{
    return picture_create(4, 6, (struct colour){255, 0, 0}, out, err);
}

struct marks_asked {
    int64_t samples;
};
static const struct config_field marks_fields[] = {{"samples", FIELD_INT, offsetof(struct marks_asked, samples), "2", 1,
                                                    1000, false, false, NULL, "", "for tests", GROUP_DATA,
                                                    LEVEL_ADVANCED, NULL}};
static const struct config_table marks_table = CONFIG_TABLE(marks_fields, struct marks_asked);

/* A mark in each sample, with a name in every other one. */
static enum status list_marks(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct marks_asked *asked = question->parameters;
    sink_integer(out, "samples", asked->samples);
    sink_begin_list(out, "shape");
    sink_integer(out, NULL, 2);
    sink_integer(out, NULL, 2);
    sink_end_list(out);
    sink_text(out, "unit", "s");
    sink_begin_list(out, "marks");
    for (int64_t i = 0; i < asked->samples; i++) {
        sink_begin_object(out, NULL);
        sink_integer(out, "sample", i);
        sink_integer(out, "channel", 0);
        sink_integer(out, "number", i + 10);
        if (i % 2 == 0)
            sink_text(out, "name", "even");
        sink_begin_list(out, "position");
        sink_integer(out, NULL, 0);
        sink_integer(out, NULL, 1);
        sink_end_list(out);
        sink_begin_list(out, "extent");
        for (int k = 0; k < 4; k++)
            sink_integer(out, NULL, k % 2 + (k > 1));
        sink_end_list(out);
        sink_begin_list(out, "seconds");
        sink_number(out, NULL, 0.5);
        sink_number(out, NULL, 1);
        sink_end_list(out);
        sink_number(out, "value", (double)(i + 1));
        sink_number(out, "q", 0.01 * (double)(i + 1));
        sink_end_object(out);
    }
    sink_end_list(out);
    return STATUS_OK;
}

static const struct method_query queries[] = {
    {.name = "motifs",
     .meaning = "where it is largest",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .answer = query,
     .draw = draw},
    {.name = "predict",
     .meaning = "how large it is",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .answer = query},
    {.name = METHOD_MARKS_QUERY,
     .meaning = "where it is marked",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &marks_table,
     .answer = list_marks},
};

/* The shapes of a model's tensors. The input has 2 rows and 2 columns. One output contains the values of the input
 * doubled, the other the word "pair". */
static void square_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = 2;
    dim[0] = dim[1] = 2;
}

static void word_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = 0;
}

static const struct method_tensor tensor_input = {"input", "four numbers", METHOD_FP32, false, square_shape};
static const struct method_tensor tensor_outputs[] = {
    {"doubled", "twice the numbers", METHOD_FP32, true, square_shape},
    {"word", "a word", METHOD_BYTES, false, word_shape},
};

static enum status infer(const struct method_question *question, struct buf *const outputs[], struct error *err)
{
    const struct method_input *input = question->input;
    if (input->rank != 2 || input->dim[0] != 2 || input->dim[1] != 2)
        return error_set(err, STATUS_INVALID, "/array", "must be 2 x 2");
    while (input->values[0] == ECHO_ENDLESS)
        if (work_check(question->work, err) != STATUS_OK)
            return STATUS_CANCELLED;
    for (int i = 0; i < 4 && outputs[0] != NULL; i++) {
        float twice = 2 * input->values[i];
        buf_append(outputs[0], &twice, sizeof twice);
    }
    if (outputs[1] != NULL)
        buf_append(outputs[1], "\4\0\0\0pair", 8);
    return STATUS_OK;
}

static enum status warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    return error_set(err, STATUS_INTERNAL, NULL, "the tests run nothing");
}

static enum status begin_evaluation(struct method_run *run, const struct method_evaluation *what, struct error *err)
{
    (void)run;
    (void)what;
    return error_set(err, STATUS_INTERNAL, NULL, "the tests run nothing");
}

const struct method echo_method = {
    .kind = "echo",
    .title = "Echo: a method for tests",
    .summary = "It keeps its weights. That is all.",
    .paper = "None.",
    .config = CONFIG_TABLE(fields, struct echo_config),
    .presets = presets,
    .preset_count = 3,
    .metrics = metrics,
    .metric_count = 1,
    .queries = queries,
    .query_count = sizeof queries / sizeof queries[0],
    .input = &tensor_input,
    .outputs = tensor_outputs,
    .output_count = 2,
    .infer = infer,
    .check = check,
    .estimate = estimate,
    .begin_evaluation = begin_evaluation,
    .warm_start = warm_start,
    .open = open_model,
    .close = close_model,
    .model_bytes = model_bytes,
};
static const struct method *const methods[] = {&echo_method};

/* ---- the process ---- */

static void jobs_waiting(void *context)
{
    atomic_fetch_add(&((struct api_fixture *)context)->woken, 1);
}

static void job_wish(void *context, const char *job)
{
    struct api_fixture *f = context;
    atomic_fetch_add(&f->poked, 1);
    (void)snprintf(f->poked_job, sizeof f->poked_job, "%s", job);
}

static bool draining(void *context)
{
    return ((struct api_fixture *)context)->draining;
}

static void system_facts(void *context, struct api_system *out)
{
    (void)context;
    *out = (struct api_system){.version = "1.2.3",
                               .build = "release",
                               .compiler = "cc \"quoted\"",
                               .cpu = "Test CPU",
                               .cpu_features = "avx2 fma",
                               .kernels = "ref",
                               .blas = "OpenBLAS",
                               .blas_core = "Zen",
                               .cores = 2,
                               .workers = 2,
                               .workers_busy = 1,
                               .threads_per_job = 1,
                               .started_at = 1700000000000,
                               .gflops_per_thread = 20,
                               .steps = 5,
                               .samples = 50,
                               .memory_bytes = 1 << 20,
                               .queue_limit = 1000};
}

static void host_metrics(void *context, struct buf *out)
{
    (void)context;
    buf_text(out, "# HELP motifd_test_total Of the host.\n# TYPE motifd_test_total counter\nmotifd_test_total 3\n");
}

static void log_text(void *context, enum log_level level, const char *text)
{
    struct api_fixture *f = context;
    (void)level;
    size_t used = strlen(f->log);
    (void)snprintf(f->log + used, sizeof f->log - used, "%s\n", text);
}

const char *scratch(void)
{
    return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
}

int api_setup(void **state)
{
    struct api_fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    *state = f;
    (void)snprintf(f->folder, sizeof f->folder, "%s/motifd-api-XXXXXX", scratch());
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof f->path, "%s/test.db", f->folder);
    f->storage_options =
        (struct storage_options){.path = f->path, .durability = STORAGE_DURABLE_NOT, .queue_limit = 200};
    if (storage_open(&f->storage_options, &f->storage, &f->err) != STATUS_OK)
        fail_msg("storage: %s", f->err.message);
    f->options = (struct api_options){.storage = f->storage,
                                      .methods = methods,
                                      .method_count = 1,
                                      .log = {f, log_text},
                                      .threads_max = 64,
                                      .daemon = {.context = f,
                                                 .jobs_waiting = jobs_waiting,
                                                 .job_requested = job_wish,
                                                 .draining = draining,
                                                 .system = system_facts,
                                                 .metrics = host_metrics}};
    f->scope = API_SCOPE_ADMIN;
    if (api_create(&f->options, &f->api, &f->err) != STATUS_OK)
        fail_msg("api: %s", f->err.message);
    atomic_store(&echo_opened, 0);
    atomic_store(&echo_closed, 0);
    atomic_store(&echo_open_ms, 0);
    return 0;
}

void forget_answer(struct api_fixture *f)
{
    if (f->open) {
        api_response_close(&f->response);
        f->open = false;
    }
    free(f->body);
    f->body = NULL;
    cJSON_Delete(f->json);
    f->json = NULL;
}

int api_teardown(void **state)
{
    struct api_fixture *f = *state;
    forget_answer(f);
    api_destroy(f->api);
    storage_close(f->storage);
    DIR *folder = opendir(f->folder);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[400];
        (void)snprintf(path, sizeof path, "%s/%s", f->folder, entry->d_name);
        (void)unlink(path);
    }
    (void)closedir(folder);
    (void)rmdir(f->folder);
    free(f);
    return 0;
}

/* ---- requests ---- */

void header(struct api_fixture *f, const char *name, const char *value)
{
    assert_true(f->header_count < 16);
    f->headers[f->header_count][0] = name;
    f->headers[f->header_count++][1] = value;
}

static const char *find_header(void *context, const char *name)
{
    struct api_fixture *f = context;
    for (size_t i = 0; i < f->header_count; i++)
        if (strcasecmp(f->headers[i][0], name) == 0)
            return f->headers[i][1];
    return strcasecmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

/* Copies the body of the response. If the response has read(), reads the body in portions of uneven size. */
static void collect(struct api_fixture *f)
{
    struct api_response *r = &f->response;
    f->body_bytes = r->read != NULL ? (size_t)r->read_bytes : r->body.size;
    f->body = malloc(f->body_bytes + 1);
    assert_non_null(f->body);
    if (r->read != NULL) {
        for (size_t done = 0; done < f->body_bytes;) {
            size_t got = r->read(r->read_context, done, f->body + done, 37);
            assert_true(got > 0 && got <= 37);
            done += got;
        }
        char more;
        assert_int_equal(r->read(r->read_context, f->body_bytes, &more, 1), 0);
    } else if (f->body_bytes > 0) {
        memcpy(f->body, r->body.data, f->body_bytes);
    }
    f->body[f->body_bytes] = '\0';
}

int ask_bytes(struct api_fixture *f, const char *method, const char *target, const void *body, size_t bytes)
{
    forget_answer(f);
    struct api_request request = {.method = method,
                                  .target = target,
                                  .header = find_header,
                                  .header_context = f,
                                  .body = body,
                                  .body_bytes = bytes,
                                  .scope = f->scope,
                                  .who = f->who,
                                  .team = f->team};
    api_handle(f->api, &request, &f->response);
    f->open = true;
    f->header_count = 0;
    collect(f);
    const char *type = answer_header(f, "Content-Type");
    assert_non_null(answer_header(f, "X-Request-Id"));
    assert_string_equal(answer_header(f, "X-Content-Type-Options"), "nosniff");
    assert_non_null(answer_header(f, "Cache-Control"));
    if (f->response.status == 204 || f->response.status == 304) {
        assert_int_equal(f->body_bytes, 0);
    } else {
        assert_non_null(type);
        if (strstr(type, "json") != NULL) {
            struct error err = {0};
            if (json_parse(f->body, f->body_bytes, &f->json, &err) != STATUS_OK)
                fail_msg("%s %s: %s: %s", method, target, err.message, f->body);
        }
    }
    return f->response.status;
}

char *body_kept(const struct api_fixture *f)
{
    char *bytes = malloc(f->body_bytes + 1);
    assert_non_null(bytes);
    memcpy(bytes, f->body, f->body_bytes + 1);
    return bytes;
}

int ask(struct api_fixture *f, const char *method, const char *target, const char *body)
{
    return ask_bytes(f, method, target, body, body != NULL ? strlen(body) : 0);
}

const char *answer_header(struct api_fixture *f, const char *name)
{
    return api_response_header(&f->response, name);
}

static const cJSON *find(const cJSON *value, const char *pointer)
{
    while (*pointer == '/' && value != NULL) {
        char token[128];
        size_t length = strcspn(pointer + 1, "/");
        (void)snprintf(token, sizeof token, "%.*s", (int)length, pointer + 1);
        value = cJSON_IsArray(value) ? cJSON_GetArrayItem(value, atoi(token))
                                     : cJSON_GetObjectItemCaseSensitive(value, token);
        pointer += length + 1;
    }
    return value;
}

const cJSON *at(struct api_fixture *f, const char *pointer)
{
    const cJSON *value = find(f->json, pointer);
    if (value == NULL)
        fail_msg("no %s in %d %s", pointer, f->response.status, f->body);
    return value;
}

const char *text_at(struct api_fixture *f, const char *pointer)
{
    const cJSON *value = at(f, pointer);
    if (!cJSON_IsString(value))
        fail_msg("%s is not text in %s", pointer, f->body);
    return value->valuestring;
}

double number_at(struct api_fixture *f, const char *pointer)
{
    const cJSON *value = at(f, pointer);
    if (!cJSON_IsNumber(value))
        fail_msg("%s is not a number in %s", pointer, f->body);
    return value->valuedouble;
}

bool null_at(struct api_fixture *f, const char *pointer)
{
    return cJSON_IsNull(at(f, pointer));
}

void assert_problem(struct api_fixture *f, int status, const char *name)
{
    char type[96];
    (void)snprintf(type, sizeof type, "urn:motifd:problem:%s", name);
    if (f->response.status != status)
        fail_msg("expected %d, got %d: %s", status, f->response.status, f->body);
    assert_string_equal(answer_header(f, "Content-Type"), "application/problem+json");
    assert_string_equal(text_at(f, "/type"), type);
    assert_int_equal(number_at(f, "/status"), status);
    assert_true(strlen(text_at(f, "/title")) > 0);
    assert_true(strlen(text_at(f, "/detail")) > 0);
    assert_string_equal(text_at(f, "/instance"), answer_header(f, "X-Request-Id"));
    assert_null(strstr(f->body, "/tmp"));
    assert_null(strcasestr(f->body, "select "));
    assert_null(strcasestr(f->body, "sqlite"));
}

void assert_fault(struct api_fixture *f, const char *pointer, const char *word)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, at(f, "/errors")) {
        const cJSON *place = cJSON_GetObjectItemCaseSensitive(item, "pointer");
        place = place != NULL ? place : cJSON_GetObjectItemCaseSensitive(item, "parameter");
        if (strcmp(place->valuestring, pointer) == 0 &&
            strstr(cJSON_GetObjectItemCaseSensitive(item, "detail")->valuestring, word) != NULL)
            return;
    }
    fail_msg("no fault %s with '%s' in %s", pointer, word, f->body);
}

/* ---- jobs ---- */

void submit_job(struct api_fixture *f, const char *body, char id[STORAGE_ID])
{
    if (ask(f, "POST", "/v1/jobs", body) != 201)
        fail_msg("submit: %d %s", f->response.status, f->body);
    (void)snprintf(id, STORAGE_ID, "%s", text_at(f, "/id"));
}

void claim_job(struct api_fixture *f, const char *id)
{
    char claimed[STORAGE_ID];
    assert_int_equal(storage_job_claim(f->storage, claimed, &f->err), STATUS_OK);
    assert_string_equal(claimed, id);
}

void finish_job(struct api_fixture *f, const char *id, const char *result)
{
    assert_int_equal(storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, result, NULL, NULL, &f->err), STATUS_OK);
}

int64_t add_checkpoint(struct api_fixture *f, const char *id, int64_t step, double density, float base)
{
    float weights[15], bias[7], momentum[3] = {1, 2, 3};
    int64_t position = 99, seq = 0;
    for (int i = 0; i < 15; i++)
        weights[i] = base + (float)i;
    for (int i = 0; i < 7; i++)
        bias[i] = base + 100 + (float)i;
    struct snapshot *snapshot;
    assert_int_equal(snapshot_create(&snapshot, &f->err), STATUS_OK);
    (void)snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "conv.weight", 2, (const uint64_t[]){3, 5}, weights,
                       &f->err);
    (void)snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, "bias", 1, (const uint64_t[]){7}, bias, &f->err);
    (void)snapshot_add(snapshot, SNAPSHOT_OPTIMISER, SNAPSHOT_F32, "adam.m", 1, (const uint64_t[]){3}, momentum,
                       &f->err);
    (void)snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_I64, "position", 0, NULL, &position, &f->err);
    struct storage_checkpoint_new what = {
        .step = step, .samples = step * 10, .density = density, .accuracy = 0.5, .stage_end = true};
    struct storage_checkpoint_writer *writer;
    assert_int_equal(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err), STATUS_OK);
    struct snapshot_writer to = {writer, storage_checkpoint_write};
    assert_int_equal(snapshot_write(snapshot, &to, &f->err), STATUS_OK);
    assert_int_equal(storage_checkpoint_commit(writer, &seq, &f->err), STATUS_OK);
    snapshot_destroy(snapshot);
    return seq;
}

void trained_job(struct api_fixture *f, char id[STORAGE_ID])
{
    submit_job(f, "{\"kind\":\"echo\"}", id);
    claim_job(f, id);
    (void)add_checkpoint(f, id, 10, 0.5, 1);
}

const char *path_of(const char *id, const char *rest)
{
    static char paths[4][160];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "/v1/jobs/%s%s", id, rest);
    return path;
}
