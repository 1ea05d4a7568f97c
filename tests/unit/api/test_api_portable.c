/* Tests the export and import of models as safetensors files. */
#include "tests/unit/api/api_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "api/formats/safetensors.h"

struct file {
    char *bytes;
    size_t count;
};

/* Downloads the weights of the latest checkpoint. */
static struct file export_weights(struct api_fixture *f, const char *id)
{
    assert_int_equal(ask(f, "GET", path_of(id, "/checkpoints/latest"), NULL), 200);
    return (struct file){body_kept(f), f->body_bytes};
}

static int send(struct api_fixture *f, const char *target, const void *bytes, size_t count)
{
    header(f, "Content-Type", "application/octet-stream");
    return ask_bytes(f, "POST", target, bytes, count);
}

static size_t data_at(const struct file *file)
{
    uint64_t length;
    memcpy(&length, file->bytes, 8);
    return 8 + (size_t)length;
}

static void exported_weights_import_to_the_same_model(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], copy[STORAGE_ID], expected[64];
    trained_job(f, id);
    struct file out = export_weights(f, id);
    assert_int_equal(send(f, "/v1/imports?name=borrowed", out.bytes, out.count), 201);
    (void)snprintf(copy, sizeof copy, "%s", text_at(f, "/id"));
    (void)snprintf(expected, sizeof expected, "/v1/jobs/%s", copy);
    assert_string_equal(answer_header(f, "Location"), expected);
    assert_string_equal(text_at(f, "/state"), "succeeded");
    assert_string_equal(text_at(f, "/name"), "borrowed");
    assert_string_equal(text_at(f, "/result/imported/job"), id);
    assert_string_not_equal(copy, id);

    struct file back = export_weights(f, copy);
    struct safetensors_content one, two;
    struct error err = {0};
    assert_int_equal(safetensors_parse(out.bytes, out.count, &one, &err), STATUS_OK);
    assert_int_equal(safetensors_parse(back.bytes, back.count, &two, &err), STATUS_OK);
    assert_int_equal(one.count, 2);
    assert_int_equal(two.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(one.tensors[i].name, two.tensors[i].name);
        assert_int_equal(one.tensors[i].rank, two.tensors[i].rank);
    }
    assert_int_equal(out.count - data_at(&out), back.count - data_at(&back));
    assert_memory_equal(one.data, two.data, out.count - data_at(&out));
    assert_string_equal(safetensors_note(&two, "config"), safetensors_note(&one, "config"));
    assert_string_equal(safetensors_note(&two, "step"), safetensors_note(&one, "step"));
    assert_string_equal(safetensors_note(&two, "density"), safetensors_note(&one, "density"));
    assert_null(safetensors_note(&two, "nothing"));
    safetensors_content_close(&one);
    safetensors_content_close(&two);

    assert_int_equal(ask(f, "POST", path_of(copy, "/predict"), "{\"inputs\":[{\"sample\":{\"seed\":4}}]}"), 200);
    assert_true(number_at(f, "/answers/0/weight") == 1);
    free(out.bytes);
    free(back.bytes);
}

static enum status huge_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err)
{
    (void)config;
    (void)err;
    *out = (struct method_estimate){.parameters = 1750000000, .memory_bytes = 4096};
    return STATUS_OK;
}

static void use_method(struct api_fixture *f, const struct method *const *methods)
{
    f->options.methods = methods;
    f->options.method_count = 1;
    api_destroy(f->api);
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
}

/* The api compares the size of the file with the size that the configuration needs before it allocates a model. */
static void small_file_with_a_huge_configuration_is_refused_before_its_model_is_allocated(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    struct file out = export_weights(f, id);
    struct method huge = echo_method;
    huge.estimate = huge_estimate;
    const struct method *const methods[] = {&huge};
    use_method(f, methods);
    int opened = atomic_load(&echo_opened);
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 422);
    assert_non_null(strstr(f->body, "1750000000 weights"));
    assert_int_equal(atomic_load(&echo_opened), opened);
    free(out.bytes);
}

static void import_beyond_the_memory_of_a_job_is_refused(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    struct file out = export_weights(f, id);
    f->options.job_memory = 4095; /* one byte less than the method estimates */
    use_method(f, f->options.methods);
    int opened = atomic_load(&echo_opened);
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 422);
    assert_non_null(strstr(f->body, "a job may use at most"));
    assert_int_equal(atomic_load(&echo_opened), opened);
    f->options.job_memory = 4096;
    use_method(f, f->options.methods);
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 201);
    free(out.bytes);
}

static void imports_have_at_most_the_bytes_that_the_daemon_allows(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    struct file out = export_weights(f, id);
    f->options.import_bytes = (int64_t)out.count - 1;
    use_method(f, f->options.methods);
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 413);
    assert_non_null(strstr(f->body, "--import-bytes"));
    f->options.import_bytes = (int64_t)out.count;
    use_method(f, f->options.methods);
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 201);
    free(out.bytes);
}

static void a_folder_is_refused_before_it_is_read_if_reading_it_needs_too_much_memory(void **state)
{
    struct api_fixture *f = *state;
    static const char head[] = "{\"W_enc\":{\"dtype\":\"F32\",\"shape\":[64,64],\"data_offsets\":[0,16384]}}";
    char tar[2048] = "sae_weights.safetensors";
    unsigned sum = 0;
    /* the header of a member of 16,512 bytes, of which the tar contains only the first */
    memcpy(tar + 100, "0000644", 8);
    memcpy(tar + 124, "00000040200", 12);
    memcpy(tar + 148, "        0", 9);
    memcpy(tar + 257,
           "ustar\0"
           "00",
           8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)tar[i];
    (void)snprintf(tar + 148, 7, "%06o", sum);
    tar[512] = sizeof head - 1;
    memcpy(tar + 520, head, sizeof head - 1);
    f->options.job_memory = 3 * 16384 - 1;
    use_method(f, f->options.methods);
    assert_int_equal(send(f, "/v1/imports", tar, sizeof tar), 422);
    assert_non_null(strstr(f->body, "--job-memory"));
    f->options.job_memory++;
    use_method(f, f->options.methods);
    assert_int_equal(send(f, "/v1/imports", tar, sizeof tar), 422); /* the archive is damaged */
    assert_null(strstr(f->body, "--job-memory"));
}

/* A model that a token imports belongs to that token and counts towards its quota. */
static void imports_count_towards_the_quota_of_their_token(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    struct file out = export_weights(f, id);
    f->who = "anna";
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 201);
    assert_string_equal(text_at(f, "/owner"), "anna");
    int64_t used;
    assert_int_equal(storage_owner_bytes(f->storage, "anna", &used, &f->err), STATUS_OK);
    assert_true(used > 0);
    f->options.share.job_bytes = 2 * used - 1;
    use_method(f, f->options.methods);
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 403);
    f->who = "bob";
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 201);
    f->who = NULL;
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 201);
    free(out.bytes);
}

/* A client whose connection breaks repeats the import with the same key. It gets the job that the first request
 * created, even if the token's quota has no room for a second one. */
static void repeated_import_with_a_key_creates_one_job(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], first[STORAGE_ID];
    trained_job(f, id);
    struct file out = export_weights(f, id);
    f->who = "anna";
    header(f, "Idempotency-Key", "model-1");
    assert_int_equal(send(f, "/v1/imports?name=copy", out.bytes, out.count), 201);
    assert_null(answer_header(f, "Idempotency-Replayed"));
    snprintf(first, sizeof first, "%s", text_at(f, "/id"));
    int64_t used;
    assert_int_equal(storage_owner_bytes(f->storage, "anna", &used, &f->err), STATUS_OK);
    f->options.share.job_bytes = 2 * used - 1;
    use_method(f, f->options.methods);
    header(f, "Idempotency-Key", "model-1");
    assert_int_equal(send(f, "/v1/imports?name=copy", out.bytes, out.count), 201);
    assert_string_equal(answer_header(f, "Idempotency-Replayed"), "true");
    assert_string_equal(text_at(f, "/id"), first);
    header(f, "Idempotency-Key", "model-1"); /* another name is another request */
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 422);
    assert_problem(f, 422, "idempotency-key-reused");
    assert_non_null(strstr(f->body, first));
    header(f, "Idempotency-Key", "model-1"); /* and so is a submission */
    (void)ask(f, "POST", "/v1/jobs", "{\"kind\":\"echo\"}");
    assert_problem(f, 422, "idempotency-key-reused");
    f->who = "bob";
    header(f, "Idempotency-Key", "model-1");
    assert_int_equal(send(f, "/v1/imports?name=copy", out.bytes, out.count), 201);
    assert_string_not_equal(text_at(f, "/id"), first);
    header(f, "Idempotency-Key", "");
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 400);
    free(out.bytes);
}

struct parallel_import {
    struct api *api;
    const struct file *file;
    int status;
};

static const char *octets(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "Content-Type") == 0 ? "application/octet-stream" : NULL;
}

static void *import_in_parallel(void *context)
{
    struct parallel_import *p = context;
    struct api_response response;
    struct api_request request = {.method = "POST",
                                  .target = "/v1/imports",
                                  .header = octets,
                                  .body = p->file->bytes,
                                  .body_bytes = p->file->count,
                                  .scope = API_SCOPE_ADMIN};
    api_handle(p->api, &request, &response);
    p->status = response.status;
    api_response_close(&response);
    return NULL;
}

static atomic_bool gate_reached, gate_open;

static enum status gated_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err)
{
    atomic_store(&gate_reached, true);
    while (!atomic_load(&gate_open))
        (void)sched_yield();
    return echo_method.estimate(config, data, out, err);
}

static enum status gated_open(const void *config, const struct kernels *kernels, const char *data,
                              const struct snapshot_reader *from, struct method_model **out, struct error *err)
{
    atomic_store(&gate_reached, true);
    while (!atomic_load(&gate_open))
        (void)sched_yield();
    return echo_method.open(config, kernels, data, from, out, err);
}

static void imports_beyond_the_limit_are_refused(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    pthread_t thread;
    trained_job(f, id);
    struct file out = export_weights(f, id);
    struct method gated = echo_method;
    gated.estimate = gated_estimate;
    gated.open = gated_open;
    const struct method *const methods[] = {&gated};
    f->options.imports_at_once = 1;
    use_method(f, methods);
    atomic_store(&gate_reached, false);
    atomic_store(&gate_open, false);
    struct parallel_import first = {f->api, &out, 0};
    assert_int_equal(pthread_create(&thread, NULL, import_in_parallel, &first), 0);
    while (!atomic_load(&gate_reached))
        (void)sched_yield();
    int status = send(f, "/v1/imports", out.bytes, out.count);
    atomic_store(&gate_open, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(status, 429);
    assert_non_null(answer_header(f, "Retry-After"));
    assert_int_equal(first.status, 201);
    assert_int_equal(send(f, "/v1/imports", out.bytes, out.count), 201);
    free(out.bytes);
}

/* Takes two seconds, which is longer than the deadline. */
static enum status late_graph(const struct method_model *model, const struct graph_writer *out, struct error *err)
{
    struct timespec begun, now;
    (void)model, (void)out, (void)err;
    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begun.tv_sec < 2);
    return STATUS_OK;
}

static void an_export_as_onnx_ends_at_the_deadline_of_queries(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    static struct method late; /* static, because the cache of open models keeps the pointer until the teardown */
    static const struct method *const methods[] = {&late};
    late = echo_method;
    late.graph = late_graph;
    f->options.query_seconds = 1;
    use_method(f, methods);
    assert_int_equal(ask(f, "GET", path_of(id, "/onnx"), NULL), 504);
    assert_non_null(strstr(f->body, ":deadline"));
    assert_non_null(strstr(f->body, "--query-seconds"));
}

/* Sends a file with the table `head` and `data` bytes of weights. Asserts that the api refuses it with a fault at
 * `pointer` whose detail contains `word`. */
static void refuse(struct api_fixture *f, const char *head, size_t data, const char *pointer, const char *word)
{
    uint64_t length = strlen(head);
    size_t count = 8 + (size_t)length + data;
    char *bytes = calloc(1, count);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, head, (size_t)length);
    (void)send(f, "/v1/imports", bytes, count);
    assert_problem(f, 422, "invalid");
    assert_fault(f, pointer, word);
    free(bytes);
}

/* Sends a file whose table has one tensor of type F32, and asserts that the api refuses it. */
static void refuse_tensor(struct api_fixture *f, const char *name, const char *shape, const char *offsets, size_t bytes,
                          const char *pointer, const char *word)
{
    char head[300];
    (void)snprintf(head, sizeof head, "{\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":%s}}", name, shape,
                   offsets);
    refuse(f, head, bytes, pointer, word);
}

static void faulty_files_are_refused_where_they_are_wrong(void **state)
{
    static const struct {
        const char *name, *shape, *offsets;
        size_t bytes;
        const char *pointer, *word;
    } tensors[] = {
        {"a", "[-1]", "[0,4]", 4, "/a/shape", "whole"},
        {"a", "[1099511627776,1099511627776]", "[0,4]", 4, "/a/shape", "large"},
        {"a", "[1,1,1,1,1]", "[0,4]", 4, "/a/shape", "four"},
        {"a", "[1]", "[0,8]", 8, "/a/data_offsets", "type and shape"},
        {"a", "[2]", "[0,8]", 4, "/a/data_offsets", "within"},
        {"a", "[1]", "[4,8]", 8, "/a/data_offsets", "ends"},
        {"a b", "[1]", "[0,4]", 4, "/a b", "printable"},
        {"", "[1]", "[0,4]", 4, "/", "printable"},
        {"a\\\\", "[1]", "[0,4]", 4, "/a\\", "printable"},
        {"a\\\"", "[1]", "[0,4]", 4, "/a\"", "printable"},
        {"\xc3\xa4", "[1]", "[0,4]", 4, "/\xc3\xa4", "printable"},
        {"a", "1", "[0,4]", 4, "/a/shape", "list"},
        {"a", "[\"1\"]", "[0,4]", 4, "/a/shape", "whole"},
        {"a", "[0.5]", "[0,4]", 4, "/a/shape", "whole"},
        {"a", "[1]", "4", 4, "/a/data_offsets", "within"},
        {"a", "[1]", "[0,4,8]", 4, "/a/data_offsets", "within"},
        {"a", "[1]", "[-1,4]", 4, "/a/data_offsets", "within"},
        {"a", "[1]", "[0,\"4\"]", 4, "/a/data_offsets", "within"},
        {"a", "[1]", "[4,0]", 4, "/a/data_offsets", "within"},
        {"a", "[2199023255552]", "[0,4]", 4, "/a/shape", "whole"},
    };
    struct api_fixture *f = *state;
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        refuse_tensor(f, tensors[i].name, tensors[i].shape, tensors[i].offsets, tensors[i].bytes, tensors[i].pointer,
                      tensors[i].word);
    }
    refuse(f, "{}", 0, "/__metadata__", "kind");
    refuse(f, "{}", 5, "", "5 bytes");
    refuse(f, "{\"a\":1}", 0, "/a", "object");
    refuse(f, "{\"a\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]}}", 2, "/a/dtype", "F32");
    refuse(f,
           "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],"
           "\"data_offsets\":[2,6]}}",
           6, "/b/data_offsets", "ends");
    refuse(f, "{\"__metadata__\":{\"kind\":3}}", 0, "/__metadata__/kind", "text");
    refuse(f, "{\"__metadata__\":{\"kind\":\"other\",\"config\":\"{}\"}}", 0, "/__metadata__", "kind");
    /* From 2^53 on, doubles do not represent every integer. JSON could not contain the step, and an evaluation of
     * the job would fail. */
    refuse(f, "{\"__metadata__\":{\"kind\":\"echo\",\"config\":\"{}\",\"step\":\"9007199254740992\"}}", 0,
           "/__metadata__/step", "2^53");
    refuse(f, "{\"__metadata__\":{\"kind\":\"echo\"}}", 0, "/__metadata__", "configuration");
    refuse(f, "{\"__metadata__\":{\"kind\":\"echo\",\"config\":\"{\\\"density\\\":9}\"}}", 0, "/__metadata__",
           "density");
    refuse(f, "{\"__metadata__\":{\"kind\":\"echo\",\"config\":\"{}\",\"density\":\"2\"}}", 0, "/__metadata__/density",
           "[0, 1]");
    refuse(f, "{\"__metadata__\":{\"kind\":\"echo\",\"config\":\"{}\",\"step\":\"x\"}}", 0, "/__metadata__/step",
           "whole");
    refuse(f,
           "{\"__metadata__\":{\"kind\":\"echo\",\"config\":\"{}\"},\"bias\":{\"dtype\":\"F32\",\"shape\":[7],"
           "\"data_offsets\":[0,28]}}",
           28, "", "conv.weight");
    refuse(f, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0, "/a", "dtype, shape");
    refuse(f, "{\"a\":{\"dtype\":3,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "/a/dtype", "F32");
    refuse(f, "{\"__metadata__\":[]}", 0, "/__metadata__", "object of texts");
    /* valid, because the empty tensors `a` and `c` may have the offset of `b`; the file is refused only because it
     * names no kind */
    refuse(f,
           "{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\",\"shape\":[0],"
           "\"data_offsets\":[0,0]},"
           "\"c\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}",
           4, "/__metadata__", "kind");
    assert_int_equal(send(f, "/v1/imports", "\x02\0\0\0\0\0\0\0[]", 10), 422);
    assert_int_equal(send(f, "/v1/imports", "\x01\0\0\0\0\0\0\0{}", 10), 422);
    assert_int_equal(send(f, "/v1/imports", "\x03\0\0\0\0\0\0\0{}", 10), 422);
    assert_int_equal(send(f, "/v1/imports", "short", 5), 422);
    assert_int_equal(send(f, "/v1/imports", "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10), 422);
    header(f, "Content-Type", "text/plain");
    assert_int_equal(ask(f, "POST", "/v1/imports", "x"), 415);
    assert_int_equal(ask(f, "GET", "/v1/jobs", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), 0); /* nothing was stored */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(exported_weights_import_to_the_same_model, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(small_file_with_a_huge_configuration_is_refused_before_its_model_is_allocated,
                                        api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(import_beyond_the_memory_of_a_job_is_refused, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(imports_have_at_most_the_bytes_that_the_daemon_allows, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(a_folder_is_refused_before_it_is_read_if_reading_it_needs_too_much_memory,
                                        api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(imports_count_towards_the_quota_of_their_token, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(repeated_import_with_a_key_creates_one_job, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(imports_beyond_the_limit_are_refused, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(an_export_as_onnx_ends_at_the_deadline_of_queries, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(faulty_files_are_refused_where_they_are_wrong, api_setup, api_teardown),
    };
    return cmocka_run_group_tests_name("api_portable", tests, NULL, NULL);
}
