/* Tests the queries `motifs` and `predict`: every form of input, every reason for a refusal, pictures, and the cache of
 * open models. */
#include "tests/unit/api/api_fixture.h"

#include <pthread.h>
#include <sodium/utils.h>
#include <sqlite3.h>
#include <strings.h>

#include "api/http/service.h"
#include "api/models/model_cache.h"
#include "api/queries/query_gate.h"
#include "core/draw/picture.h"
#include "core/draw/png.h"

#define SAMPLE "{\"inputs\":[{\"sample\":{\"seed\":3}}]}"

/* Writes a .npy file of shape 2x3 with the bytes 1 to 6. */
static size_t npy_file(char out[160])
{
    const char *head = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }";
    size_t length = strlen(head);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)length;
    out[9] = 0;
    memcpy(out + 10, head, length);
    for (int i = 0; i < 6; i++)
        out[10 + length + (size_t)i] = (char)(i + 1);
    return 16 + length;
}

static size_t png_file(struct buf *out, int width, int height)
{
    struct picture *picture;
    struct error err = {0};
    buf_init(out, 1u << 20);
    assert_int_equal(picture_create(width, height, (struct colour){255, 255, 255}, &picture, &err), STATUS_OK);
    assert_int_equal(png_encode(picture, out, &err), STATUS_OK);
    picture_destroy(picture);
    return out->size;
}

/* WAV files of 16 kHz: WAVE_0 has no samples, WAVE_2 has two. */
#define WAVE_0 "UklGRiQAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQAAAAA="
#define WAVE_2 "UklGRigAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQQAAADoA+kD"

static void input_is_a_seed_an_array_a_file_or_the_body(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], body[2000], npy[160], base64[400], png64[400];
    struct buf png;
    trained_job(f, id);
    size_t npy_bytes = npy_file(npy), png_bytes = png_file(&png, 5, 4);
    (void)sodium_bin2base64(base64, sizeof base64, (unsigned char *)npy, npy_bytes, sodium_base64_VARIANT_ORIGINAL);
    (void)sodium_bin2base64(png64, sizeof png64, (unsigned char *)png.data, png_bytes, sodium_base64_VARIANT_ORIGINAL);
    (void)snprintf(body, sizeof body,
                   "{\"inputs\":[{\"sample\":{\"seed\":-2}},{\"array\":[[1,2.5],[3,4],[0,-1]]},"
                   "{\"data\":\"%s\",\"type\":\"application/x-npy\"},{\"data\":\"%s\",\"type\":\"image/png\"}],"
                   "\"checkpoint\":\"latest\"}",
                   base64, png64);
    assert_int_equal(ask(f, "POST", path_of(id, "/motifs"), body), 200);
    assert_string_equal(text_at(f, "/job"), id);
    assert_int_equal(number_at(f, "/checkpoint/seq"), 1);
    assert_true(number_at(f, "/checkpoint/density") == 0.5);
    assert_int_equal(cJSON_GetArraySize(at(f, "/answers")), 4);
    assert_string_equal(text_at(f, "/answers/0/query"), "motifs");
    assert_int_equal(number_at(f, "/answers/0/seed"), -2);
    assert_int_equal(number_at(f, "/answers/1/shape/0"), 3);
    assert_int_equal(number_at(f, "/answers/1/shape/1"), 2);
    assert_true(number_at(f, "/answers/1/sum") == 9.5);
    assert_int_equal(number_at(f, "/answers/2/shape/1"), 3);
    assert_true(number_at(f, "/answers/2/sum") == 21);
    assert_int_equal(number_at(f, "/answers/3/shape/0"), 5);
    assert_true(number_at(f, "/answers/3/sum") > 19.99 && number_at(f, "/answers/3/sum") < 20.01);

    header(f, "Content-Type", "application/x-npy");
    assert_int_equal(ask_bytes(f, "POST", path_of(id, "/predict"), npy, npy_bytes), 200);
    assert_string_equal(text_at(f, "/answers/0/query"), "predict");
    assert_true(number_at(f, "/answers/0/sum") == 21);
    header(f, "Content-Type", "image/png");
    assert_int_equal(ask_bytes(f, "POST", path_of(id, "/motifs?checkpoint=1"), png.data, png_bytes), 200);
    assert_int_equal(number_at(f, "/answers/0/shape/1"), 4);
    buf_close(&png);

    /* ?format= overrides the Content-Type */
    header(f, "Content-Type", "application/x-www-form-urlencoded");
    assert_int_equal(ask_bytes(f, "POST", path_of(id, "/predict?format=npy"), npy, npy_bytes), 200);
    assert_true(number_at(f, "/answers/0/sum") == 21);
    header(f, "Content-Type", "application/json");
    assert_int_equal(ask_bytes(f, "POST", path_of(id, "/predict?format=npy"), npy, npy_bytes), 200);
    assert_int_equal(ask_bytes(f, "POST", path_of(id, "/predict?format=gif"), npy, npy_bytes), 400);
    assert_non_null(strstr(text_at(f, "/detail"), "npy"));
}

static void query_reads_the_checkpoint_that_is_named(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\"}", id);
    (void)ask(f, "POST", path_of(id, "/motifs"), SAMPLE);
    assert_problem(f, 409, "conflict");
    claim_job(f, id);
    (void)add_checkpoint(f, id, 10, 0.5, 100);
    (void)add_checkpoint(f, id, 20, 5.0e-5, 200);
    static const struct {
        const char *pick;
        double weight;
    } cases[] = {{"\"latest\"", 200},        {"1", 100}, {"2", 200}, {"\"1\"", 100}, {"\"density:0.5\"", 100},
                 {"\"density:5.0e-5\"", 200}};
    char body[200];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(body, sizeof body, "{\"inputs\":[{\"sample\":{\"seed\":3}}],\"checkpoint\":%s}", cases[i].pick);
        assert_int_equal(ask(f, "POST", path_of(id, "/motifs"), body), 200);
        assert_true(number_at(f, "/answers/0/weight") == cases[i].weight);
    }
    assert_int_equal(atomic_load(&echo_opened), 2); /* each checkpoint was opened once */
    static const char *const missing[] = {"3", "\"density:0.25\""};
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(body, sizeof body, "{\"inputs\":[{\"sample\":{\"seed\":3}}],\"checkpoint\":%s}", missing[i]);
        (void)ask(f, "POST", path_of(id, "/motifs"), body);
        assert_problem(f, 422, "invalid");
        assert_fault(f, "/checkpoint", "no such checkpoint");
    }
    static const char *const bad[] = {"0",
                                      "-1",
                                      "1.5",
                                      "\"\"",
                                      "\"last\"",
                                      "\"density:\"",
                                      "\"density:x\"",
                                      "\"density:2\"",
                                      "\"density:nan\"",
                                      "\"density:0x1p-1\"",
                                      "\"density: 0.5\"",
                                      "null",
                                      "[1]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(body, sizeof body, "{\"inputs\":[{\"sample\":{\"seed\":3}}],\"checkpoint\":%s}", bad[i]);
        (void)ask(f, "POST", path_of(id, "/motifs"), body);
        assert_problem(f, 422, "invalid");
        assert_fault(f, "/checkpoint", "must be latest");
    }
    (void)ask(f, "POST", path_of(id, "/motifs?checkpoint=5"), SAMPLE);
    assert_problem(f, 404, "not-found");
    (void)ask(f, "POST", path_of(id, "/motifs?checkpoint=first"), SAMPLE);
    assert_problem(f, 400, "bad-query");
}

static void each_fault_of_an_input_is_reported_with_its_pointer(void **state)
{
    static const struct {
        const char *body, *pointer, *word;
    } cases[] = {
        {"{}", "/inputs", "1 to 256"},
        {"{\"inputs\":[]}", "/inputs", "1 to 256"},
        {"{\"inputs\":{}}", "/inputs", "1 to 256"},
        {"{\"inputs\":[7]}", "/inputs/0", "must be"},
        {"{\"inputs\":[{}]}", "/inputs/0", "must be"},
        {"{\"inputs\":[{\"sample\":{\"seed\":1},\"array\":[1]}]}", "/inputs/0", "must be"},
        {"{\"inputs\":[{\"sample\":{\"seed\":1},\"more\":1}]}", "/inputs/0", "must be"},
        {"{\"inputs\":[{\"sample\":{\"seed\":1.5}}]}", "/inputs/0/sample/seed", "integer"},
        {"{\"inputs\":[{\"sample\":{\"seed\":1,\"x\":1}}]}", "/inputs/0/sample", "the single member seed"},
        {"{\"inputs\":[{\"sample\":3}]}", "/inputs/0/sample", "the single member seed"},
        {"{\"inputs\":[{\"array\":3}]}", "/inputs/0/array", "list of numbers"},
        {"{\"inputs\":[{\"array\":[]}]}", "/inputs/0/array", "empty"},
        {"{\"inputs\":[{\"array\":[[]]}]}", "/inputs/0/array", "empty"},
        {"{\"inputs\":[{\"array\":[[1,2],[3]]}]}", "/inputs/0/array", "rectangular"},
        {"{\"inputs\":[{\"array\":[[1,2],[3,4,5]]}]}", "/inputs/0/array", "rectangular"},
        {"{\"inputs\":[{\"array\":[[1,2],3]}]}", "/inputs/0/array", "rectangular"},
        {"{\"inputs\":[{\"array\":[1,[2]]}]}", "/inputs/0/array", "rectangular"},
        {"{\"inputs\":[{\"array\":[\"x\"]}]}", "/inputs/0/array", "numbers only"},
        {"{\"inputs\":[{\"array\":[1e39]}]}", "/inputs/0/array", "float"},
        {"{\"inputs\":[{\"array\":[[[[[1]]]]]}]}", "/inputs/0/array", "four dimensions"},
        {"{\"inputs\":[{\"array\":[[[1]]]}]}", "/inputs/0/array", "must have 2 dimensions; got 3"},
        {"{\"inputs\":[{\"data\":\"AAAA\"}]}", "/inputs/0/type", "media type"},
        {"{\"inputs\":[{\"type\":\"image/png\"}]}", "/inputs/0/data", "base64"},
        {"{\"inputs\":[{\"data\":\"A?\",\"type\":\"image/png\"}]}", "/inputs/0/data", "base64"},
        {"{\"inputs\":[{\"data\":\"AAAA\",\"type\":\"image/png\"}]}", "/inputs/0/data", ""},
        {"{\"inputs\":[{\"data\":\"AAAA\",\"type\":\"application/x-npy\"}]}", "/inputs/0/data", ".npy"},
        {"{\"inputs\":[{\"data\":\"AAAA\",\"type\":\"image/gif\"}]}", "/inputs/0/data", "image/gif"},
        {"{\"inputs\":[{\"data\":\"AAAA\",\"type\":\"audio/wav\"}]}", "/inputs/0/data", "not a WAV"},
        {"{\"inputs\":[{\"data\":\"" WAVE_0 "\",\"type\":\"audio/wav\"}]}", "/inputs/0/data", "empty"},
        {"{\"inputs\":[{\"data\":\"" WAVE_2 "\",\"type\":\"audio/wav\"}]}", "/inputs/0/array", "2 dimensions; got 1"},
        {"{\"inputs\":[{\"sample\":{\"seed\":1}},{\"array\":[\"x\"]}],\"chekpoint\":1}", "/chekpoint", "'checkpoint'"},
        {"{\"inputs\":[{\"sample\":{\"seed\":1}},{\"array\":[\"x\"]}],\"chekpoint\":1}", "/inputs/1/array", "numbers"},
    };
    struct api_fixture *f = *state;
    char id[STORAGE_ID], *many;
    trained_job(f, id);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)ask(f, "POST", path_of(id, "/motifs"), cases[i].body);
        assert_problem(f, 422, "invalid");
        assert_fault(f, cases[i].pointer, cases[i].word);
    }
    many = malloc(257 * 24 + 40);
    (void)strcpy(many, "{\"inputs\":[");
    for (int i = 0; i < 257; i++)
        (void)strcat(many, i == 0 ? "{\"sample\":{\"seed\":1}}" : ",{\"sample\":{\"seed\":1}}");
    (void)strcat(many, "]}");
    (void)ask(f, "POST", path_of(id, "/motifs"), many);
    assert_fault(f, "/inputs", "at most 256 inputs; got 257");
    free(many);
    header(f, "Content-Type", "image/png");
    (void)ask(f, "POST", path_of(id, "/motifs"), "no picture");
    assert_problem(f, 422, "invalid");
    header(f, "Content-Type", "image/gif");
    (void)ask(f, "POST", path_of(id, "/motifs"), "GIF89a");
    assert_problem(f, 415, "media-type");
    assert_non_null(strstr(answer_header(f, "Accept-Post"), "application/x-npy"));
}

/* A picture of a single colour is a small file with many pixels. */
static void numbers_of_all_inputs_together_are_limited(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    struct buf png, body;
    trained_job(f, id);
    size_t bytes = png_file(&png, 4096, 4096), room = sodium_base64_encoded_len(bytes, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc(room);
    (void)sodium_bin2base64(text, room, (unsigned char *)png.data, bytes, sodium_base64_VARIANT_ORIGINAL);
    buf_init(&body, 1u << 20);
    buf_format(&body,
               "{\"inputs\":[{\"data\":\"%s\",\"type\":\"image/png\"},"
               "{\"array\":[[1,2]]},{\"sample\":{\"seed\":1}}]}",
               text);
    (void)ask(f, "POST", path_of(id, "/motifs"), body.data);
    assert_problem(f, 422, "invalid");
    assert_fault(f, "/inputs/1/array", "16777216 numbers");
    assert_int_equal(cJSON_GetArraySize(at(f, "/errors")), 1);
    free(text);
    buf_close(&body);
    buf_close(&png);
}

static void accept_decides_between_picture_and_json(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    trained_job(f, id);
    header(f, "Accept", "image/png");
    assert_int_equal(ask(f, "POST", path_of(id, "/motifs"), SAMPLE), 200);
    assert_string_equal(answer_header(f, "Content-Type"), "image/png");
    assert_string_equal(answer_header(f, "Vary"), "Accept");
    float *values;
    int rows, cols;
    assert_int_equal(png_decode_grey(f->body, f->body_bytes, 100, &values, &rows, &cols, &f->err), STATUS_OK);
    assert_true(rows == 4 && cols == 6);
    free(values);
    static const struct {
        const char *accept, *query;
        int status;
        const char *type;
    } cases[] = {
        {"*/*", "/motifs", 200, "application/json"},
        {"image/png;q=0.2, application/json;q=0.1", "/motifs", 200, "image/png"},
        {"image/png;q=0.1, application/json", "/motifs", 200, "application/json"},
        {"image/*", "/motifs", 200, "image/png"},
        {"text/html", "/motifs", 406, "application/problem+json"},
        {"application/json;q=0", "/motifs", 406, "application/problem+json"},
        {"image/png", "/predict", 406, "application/problem+json"}, /* predict cannot return a picture */
        {"image/png, */*;q=0.5", "/predict", 200, "application/json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        header(f, "Accept", cases[i].accept);
        int status = ask(f, "POST", path_of(id, cases[i].query), SAMPLE);
        if (status != cases[i].status || strcmp(answer_header(f, "Content-Type"), cases[i].type) != 0)
            fail_msg("%s: %d %s", cases[i].accept, status, answer_header(f, "Content-Type"));
    }
    header(f, "Accept", "image/png");
    (void)ask(f, "POST", path_of(id, "/motifs"), "{\"inputs\":[{\"sample\":{\"seed\":1}},{\"sample\":{\"seed\":2}}]}");
    assert_problem(f, 422, "invalid");
    assert_fault(f, "/inputs", "must contain exactly one input when Accept requests a picture; got 2");
}

/* When a model cannot be opened, the log contains the reason and the response does not. The next request tries
 * again. */
static void reason_of_a_model_that_fails_is_logged_and_not_sent(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\",\"config\":{\"seed\":13}}", id);
    claim_job(f, id);
    (void)add_checkpoint(f, id, 10, 0.5, 1);
    for (int round = 0; round < 2; round++) {
        f->log[0] = '\0';
        (void)ask(f, "POST", path_of(id, "/motifs"), SAMPLE);
        assert_problem(f, 500, "internal");
        assert_null(strstr(f->body, "secret"));
        assert_non_null(strstr(f->log, "secret"));
        assert_non_null(strstr(f->log, answer_header(f, "X-Request-Id")));
    }
}

struct asker {
    struct api_fixture *f;
    const char *target;
    int status;
};

static const char *json_header(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

static void *ask_once(void *context)
{
    struct asker *asker = context;
    struct api_request request = {.method = "POST",
                                  .target = asker->target,
                                  .header = json_header,
                                  .body = SAMPLE,
                                  .body_bytes = strlen(SAMPLE),
                                  .scope = API_SCOPE_READ};
    struct api_response response;
    api_handle(asker->f->api, &request, &response);
    asker->status = response.status;
    api_response_close(&response);
    return NULL;
}

static void simultaneous_queries_open_a_model_once(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID], target[160];
    trained_job(f, id);
    (void)snprintf(target, sizeof target, "%s", path_of(id, "/motifs"));
    api_destroy(f->api);
    f->options.queries_at_once = 6;
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
    atomic_store(&echo_open_ms, 100);
    pthread_t threads[16];
    struct asker askers[16];
    for (int i = 0; i < 16; i++) {
        askers[i] = (struct asker){f, target, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, ask_once, &askers[i]), 0);
    }
    int answered = 0, refused = 0;
    for (int i = 0; i < 16; i++) {
        (void)pthread_join(threads[i], NULL);
        answered += askers[i].status == 200;
        refused += askers[i].status == 429;
    }
    assert_int_equal(answered + refused, 16);
    assert_true(answered >= 6);
    assert_int_equal(atomic_load(&echo_opened), 1);
    assert_int_equal(ask(f, "POST", target, SAMPLE), 200); /* the refused queries occupy no place */
}

static void cache_closes_the_model_unused_for_longest(void **state)
{
    struct api_fixture *f = *state;
    struct model_cache *cache;
    struct model_lease leases[3];
    struct storage_job job;
    struct arena arena;
    char id[STORAGE_ID];
    trained_job(f, id);
    (void)add_checkpoint(f, id, 20, 0.25, 2);
    (void)add_checkpoint(f, id, 30, 0.125, 3);
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_job_get(f->storage, id, &arena, &job, &f->err), STATUS_OK);
    uint64_t one = echo_method.model_bytes((const struct method_model *)"") == 88 ? 88 : 0;
    assert_int_equal(one, 88);
    assert_int_equal(model_cache_create(f->storage, NULL, NULL, 2 * one, &cache, &f->err), STATUS_OK);
    for (int i = 0; i < 3; i++) /* all models are in use, so none may be closed, although they exceed the limit */
        assert_int_equal(model_cache_get(cache, &echo_method, &job, i + 1, &leases[i], &f->err), STATUS_OK);
    assert_int_equal(atomic_load(&echo_closed), 0);
    for (int i = 0; i < 3; i++)
        model_cache_release(cache, &leases[i]);
    assert_int_equal(atomic_load(&echo_closed), 1);
    struct model_cache_stats stats;
    model_cache_stats(cache, &stats);
    assert_int_equal(stats.models, 2);
    assert_int_equal(stats.bytes, 2 * one);
    /* Model 1 was unused for the longest time, so it was closed. Models 2 and 3 are still open. */
    assert_int_equal(model_cache_get(cache, &echo_method, &job, 3, &leases[2], &f->err), STATUS_OK);
    assert_int_equal(model_cache_get(cache, &echo_method, &job, 2, &leases[1], &f->err), STATUS_OK);
    assert_int_equal(atomic_load(&echo_opened), 3);
    model_cache_release(cache, &leases[1]);
    model_cache_forget(cache, id); /* model 3 is in use, so it stays open until its user releases it */
    assert_int_equal(atomic_load(&echo_closed), 2);
    model_cache_release(cache, &leases[2]);
    assert_int_equal(atomic_load(&echo_closed), 3);
    error_clear(&f->err);
    assert_int_equal(model_cache_get(cache, &echo_method, &job, 9, &leases[0], &f->err), STATUS_NOT_FOUND);
    model_cache_stats(cache, &stats);
    assert_int_equal(stats.models, 0);
    model_cache_destroy(cache);
    arena_close(&arena);
}

/* The model of a job that names a data set is closed when the data set is forgotten, and is then opened again. */
static void cache_forgets_the_models_of_a_data_set(void **state)
{
    static const char *const names[] = {"none", "label", NULL};
    struct api_fixture *f = *state;
    struct method method = echo_method;
    struct model_cache *cache;
    struct model_lease lease;
    struct storage_job job;
    struct arena arena;
    char id[STORAGE_ID];
    method.dataset_fields = names;
    trained_job(f, id);
    arena_init(&arena, 4096, 0);
    assert_int_equal(storage_job_get(f->storage, id, &arena, &job, &f->err), STATUS_OK);
    assert_int_equal(model_cache_create(f->storage, NULL, NULL, 1u << 20, &cache, &f->err), STATUS_OK);
    int opened = atomic_load(&echo_opened), closed = atomic_load(&echo_closed);
    for (int i = 0; i < 3; i++) { /* the third lease is still open when its data set is forgotten */
        assert_int_equal(model_cache_get(cache, &method, &job, 1, &lease, &f->err), STATUS_OK);
        assert_int_equal(atomic_load(&echo_opened), opened + 1 + i / 2);
        if (i < 2)
            model_cache_release(cache, &lease);
        model_cache_forget_dataset(cache, i == 0 ? "other" : "none"); /* "none" is the default of `label` */
        assert_int_equal(atomic_load(&echo_closed), closed + (i > 0));
    }
    model_cache_release(cache, &lease);
    assert_int_equal(atomic_load(&echo_closed), closed + 2);
    model_cache_destroy(cache);
    arena_close(&arena);
}

/* A query that waits for its slot while its job replaces the checkpoint that the query has found. */
struct replacing {
    struct api_fixture *f;
    struct query_ticket held; /* occupies the only slot */
    pthread_t thread;
    const char *id;
    bool replaced;
};

static bool never_stops(void *context)
{
    (void)context;
    return false;
}

static void *leave_slot(void *context)
{
    struct replacing *r = context;
    query_gate_leave(r->f->api->gate, &r->held);
    return NULL;
}

/* The gate (query_gate.h) calls this function while the query waits for its slot. The function stores the next
 * checkpoint, which deletes the previous one. It cannot free the slot itself, because the gate holds its lock during
 * the call. So another thread does. */
static bool replace_meanwhile(void *context)
{
    struct replacing *r = context;
    if (r->replaced)
        return false;
    r->replaced = true;
    assert_int_equal(add_checkpoint(r->f, r->id, 20, 0.5, 200), 2);
    assert_int_equal(pthread_create(&r->thread, NULL, leave_slot, r), 0);
    return false;
}

static const char *json_type(void *context, const char *name)
{
    (void)context;
    return strcasecmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

/* Sends a query whose checkpoint disappears while it waits; returns the status. *seq: checkpoint of the answer. */
static int ask_while_replaced(struct api_fixture *f, const char *body, double *seq)
{
    char id[STORAGE_ID];
    submit_job(f, "{\"kind\":\"echo\"}", id);
    claim_job(f, id);
    assert_int_equal(add_checkpoint(f, id, 10, 0.5, 100), 1);
    struct replacing r = {.f = f, .held = {.stop = never_stops}, .id = id};
    assert_int_equal(query_gate_enter(f->api->gate, &r.held), QUERY_ENTERED);
    const struct api_request request = {.method = "POST",
                                        .target = path_of(id, "/motifs"),
                                        .header = json_type,
                                        .body = body,
                                        .body_bytes = strlen(body),
                                        .scope = API_SCOPE_ADMIN,
                                        .gone = replace_meanwhile,
                                        .gone_context = &r};
    struct api_response response;
    api_handle(f->api, &request, &response);
    assert_true(r.replaced);
    assert_int_equal(pthread_join(r.thread, NULL), 0);
    cJSON *json = cJSON_ParseWithLength(response.body.data, response.body.size);
    const cJSON *checkpoint = cJSON_GetObjectItemCaseSensitive(json, "checkpoint");
    *seq = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(checkpoint, "seq"));
    int status = response.status;
    cJSON_Delete(json);
    api_response_close(&response);
    finish_job(f, id, "{}");
    return status;
}

static void query_of_the_latest_checkpoint_reads_the_next_one_if_it_is_replaced(void **state)
{
    struct api_fixture *f = *state;
    double seq;
    query_gate_destroy(f->api->gate);
    assert_int_equal(query_gate_create(1, 4, &f->api->gate, &f->err), STATUS_OK);
    assert_int_equal(ask_while_replaced(f, SAMPLE, &seq), 200);
    assert_true(seq == 2);
    /* this request names checkpoint 1, so the api must not answer with checkpoint 2 */
    assert_int_equal(ask_while_replaced(f, "{\"inputs\":[{\"sample\":{\"seed\":3}}],\"checkpoint\":1}", &seq), 404);
}

/* Another program changes the bytes of a checkpoint. Their SHA-256 no longer matches, so no query may use them. */
static void damaged_checkpoint_answers_no_query(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    sqlite3 *db;
    trained_job(f, id);
    assert_int_equal(sqlite3_open(f->storage_options.path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000); /* the store may be writing */
    assert_int_equal(sqlite3_exec(db, "UPDATE chunk SET data = zeroblob(length(data))", NULL, NULL, NULL), SQLITE_OK);
    assert_true(sqlite3_changes(db) > 0);
    sqlite3_close(db);
    f->log[0] = '\0';
    assert_int_equal(ask(f, "POST", path_of(id, "/motifs"), "{\"inputs\":[{\"sample\":{\"seed\":2}}]}"), 500);
    assert_problem(f, 500, "internal");
    assert_non_null(strstr(f->log, "SHA-256"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(input_is_a_seed_an_array_a_file_or_the_body, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(query_reads_the_checkpoint_that_is_named, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(damaged_checkpoint_answers_no_query, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(query_of_the_latest_checkpoint_reads_the_next_one_if_it_is_replaced, api_setup,
                                        api_teardown),
        cmocka_unit_test_setup_teardown(each_fault_of_an_input_is_reported_with_its_pointer, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(numbers_of_all_inputs_together_are_limited, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(accept_decides_between_picture_and_json, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(reason_of_a_model_that_fails_is_logged_and_not_sent, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(simultaneous_queries_open_a_model_once, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(cache_closes_the_model_unused_for_longest, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(cache_forgets_the_models_of_a_data_set, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
