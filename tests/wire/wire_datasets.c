/* Tests data sets over HTTP:
 * - uploads that the daemon accepts, and uploads that it refuses with the row or member that is wrong
 * - uploads that break and are resumed, and uploads during which the daemon is killed
 * - lists and documents of data sets
 * - deletions that the daemon refuses */
#include "tests/wire/wire.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <sodium/crypto_hash_sha256.h>
#include <sys/stat.h>
#include <unistd.h>

static struct daemon_process served;
static char root[128];
static const char *args[] = {"--data", root, "--upload-bytes", "100000", "--datasets-bytes", "40000", NULL};

static int setup(void **state)
{
    daemon_init(&served);
    (void)snprintf(root, sizeof root, "%s/sets", served.folder);
    return daemon_start(&served, args, NULL) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
    /* SIGTERM instead of SIGKILL, because a sanitizer reports leaks only at a normal end */
    int code = daemon_stop(&served);
    daemon_close(&served, code != 0);
    return code;
}

static void put(const char *path, const char *type, const char *body, struct reply *reply)
{
    call_server(served.url, &(struct call){.method = "PUT", .path = path, .body = body, .type = type}, reply);
}

static void call(const char *method, const char *path, struct reply *reply)
{
    call_server(served.url, &(struct call){.method = method, .path = path}, reply);
}

static void hash_of(const char *text, char hex[65])
{
    unsigned char digest[32];
    crypto_hash_sha256(digest, (const unsigned char *)text, strlen(text));
    for (int i = 0; i < 32; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

/* Counts the entries of a folder, without those that begin with '.'. */
static int entries(const char *folder)
{
    char path[256];
    int count = 0;
    (void)snprintf(path, sizeof path, "%s/%s", root, folder);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

static void an_uploaded_table_is_listed_and_shown(void **state)
{
    struct reply reply;
    char value[256];
    put("/v1/datasets/small", "text/csv", "a,b,label\n1,2,x\n3,5,y\n", &reply);
    assert_int_equal(reply.status, 201);
    assert_string_equal(reply_header(&reply, "Location", value), "/v1/datasets/small");
    assert_string_equal(json_text(reply.json, "kind"), "table");
    assert_string_equal(json_text(reply.json, "target"), "class");
    char hex[65];
    hash_of("a,b,label\n1,2,x\n3,5,y\n", hex);
    assert_string_equal(json_text(reply.json, "sha256"), hex);
    reply_close(&reply);
    put("/v1/datasets/small", "text/csv", "a,b,label\n1,2,x\n3,5,y\n", &reply);
    assert_int_equal(reply.status, 200); /* a repeated upload of the same bytes answers 200 */
    reply_close(&reply);
    put("/v1/datasets/small", "text/csv", "a,b,label\n1,2,x\n3,5,z\n", &reply);
    assert_problem(&reply, 409);
    reply_close(&reply);
    get(served.url, "/v1/datasets", &reply);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(reply.json, "datasets")), 1);
    reply_close(&reply);
    get(served.url, "/v1/datasets/small", &reply);
    const cJSON *column = cJSON_GetArrayItem(cJSON_GetObjectItem(reply.json, "columns"), 1);
    assert_string_equal(json_text(column, "name"), "b");
    assert_true(json_number(column, "mean") == 3.5 && json_number(column, "max") == 5);
    reply_close(&reply);
    get(served.url, "/v1/datasets/small/preview", &reply);
    assert_int_equal(reply.status, 200);
    assert_memory_equal(reply.body, "\x89PNG", 4);
    reply_close(&reply);
    call("DELETE", "/v1/datasets/small", &reply);
    assert_int_equal(reply.status, 204);
    reply_close(&reply);
    get(served.url, "/v1/datasets/small", &reply);
    assert_problem(&reply, 404);
    reply_close(&reply);
    assert_int_equal(entries(""), 0);
    assert_int_equal(entries(".uploads"), 0);
}

/* Every route of a single data set suggests an upload with a similar name. */
static void a_mistyped_name_gets_the_most_similar_one(void **state)
{
    struct reply reply;
    const char *const routes[] = {"/v1/datasets/petalz", "/v1/datasets/petalz/preview"};
    put("/v1/datasets/petals", "text/csv", "a,b,label\n1,2,x\n3,5,y\n", &reply);
    assert_int_equal(reply.status, 201);
    reply_close(&reply);
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        get(served.url, routes[i], &reply);
        assert_problem(&reply, 404);
        assert_non_null(strstr(json_text(reply.json, "detail"), "There is no data set petalz; did you mean 'petals'?"));
        reply_close(&reply);
    }
    get(served.url, "/v1/datasets/volcanoes", &reply);
    assert_problem(&reply, 404);
    assert_string_equal(json_text(reply.json, "detail"), "There is no data set volcanoes.");
    reply_close(&reply);
    call("DELETE", "/v1/datasets/petals", &reply);
    assert_int_equal(reply.status, 204);
    reply_close(&reply);
}

static void warnings_and_the_stated_target_are_in_the_document(void **state)
{
    struct reply reply;
    put("/v1/datasets/odd", "text/csv", "a,b,label\n1,2,x y\n1,2,x\n", &reply);
    assert_int_equal(reply.status, 201);
    const cJSON *warnings = cJSON_GetObjectItem(reply.json, "warnings");
    assert_int_equal(cJSON_GetArraySize(warnings), 2);
    assert_string_equal(json_text(cJSON_GetArrayItem(warnings, 0), "code"), "duplicates");
    assert_string_equal(json_text(cJSON_GetArrayItem(warnings, 1), "code"), "constant-columns");
    reply_close(&reply);
    get(served.url, "/v1/datasets/odd", &reply);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(reply.json, "warnings")), 2);
    reply_close(&reply);
    put("/v1/datasets/odd?target=labels", "text/csv", "a,b,label\n1,2,x y\n1,2,x\n", &reply);
    assert_problem(&reply, 409); /* the same bytes, but other labels */
    reply_close(&reply);
    call("DELETE", "/v1/datasets/odd", &reply);
    reply_close(&reply);
    put("/v1/datasets/odd?target=labels", "text/csv", "a,b,label\n1,2,x y\n3,5,x\n", &reply);
    assert_int_equal(reply.status, 201);
    assert_string_equal(json_text(reply.json, "target"), "labels");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(reply.json, "vocabulary")), 2);
    reply_close(&reply);
    call("DELETE", "/v1/datasets/odd", &reply);
    reply_close(&reply);
    put("/v1/datasets/odd?target=many", "text/csv", "a,label\n1,x\n", &reply);
    assert_problem(&reply, 400);
    assert_non_null(strstr(reply.body, "target"));
    reply_close(&reply);
}

/* A browser sends no Content-Type for a file with an unknown ending, and other clients may send a wrong one. */
static void a_stated_format_needs_no_right_content_type(void **state)
{
    static const struct {
        const char *path, *type;
        int status;
    } cases[] = {{"/v1/datasets/typeless?format=csv", "", 201},
                 {"/v1/datasets/typeless?format=csv", "", 200}, /* the same bytes again */
                 {"/v1/datasets/typeless?format=csv", "application/x-www-form-urlencoded", 200},
                 {"/v1/datasets/typeless?format=csv", "image/png", 200},
                 {"/v1/datasets/typeless?format=xls", "text/csv", 400},
                 {"/v1/datasets/typeless?label=x", "", 415},
                 {"/v1/datasets/typeless", "image/png", 415},
                 {"/v1/datasets/typeless", "", 415}};
    struct reply reply;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put(cases[i].path, cases[i].type, "a,b,label\n1,2,x\n3,5,y\n", &reply);
        assert_int_equal(reply.status, cases[i].status);
        reply_close(&reply);
    }
    call("DELETE", "/v1/datasets/typeless", &reply);
    assert_int_equal(reply.status, 204);
    reply_close(&reply);
}

static void a_refusal_names_the_row_or_member(void **state)
{
    static const struct {
        const char *path, *type, *body;
        int status;
        const char *says;
    } cases[] = {
        {"/v1/datasets/bad", "text/csv", "a,b\n1,2\n1,oops\n", 422, "row 3, column 'b': 'oops' is not a number"},
        {"/v1/datasets/bad", "application/x-npz", "nothing of the kind", 422, "cannot be read"},
        {"/v1/datasets/bad", "application/x-npy", "\x93NUMPY\x01", 422, "inside the .npy header"},
        {"/v1/datasets/bad", "text/x-fasta", ">a\nAC#T\n", 422, "line 2"},
        {"/v1/datasets/bad", "text/html", "a", 415, "Content-Type"},
        {"/v1/datasets/bad", "application/octet-stream", "a", 415, "format"},
        {"/v1/datasets/bad?format=xls", "application/octet-stream", "a", 400, "format"},
        {"/v1/datasets/bad?sha256=12", "text/csv", "a\n1\n", 400, "sha256"},
        {"/v1/datasets/bad?offset=3", "text/csv", "a\n1\n", 400, "offset"},
        {"/v1/datasets/-bad", "text/csv", "a\n1\n", 400, "name"},
        {"/v1/datasets/bad?sha256=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "text/csv",
         "a\n1\n", 422, "is not the SHA-256"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reply reply;
        put(cases[i].path, cases[i].type, cases[i].body, &reply);
        assert_problem(&reply, cases[i].status);
        if (!strstr(reply.body, cases[i].says))
            fail_msg("%s does not say %s", reply.body, cases[i].says);
        reply_close(&reply);
    }
    assert_int_equal(entries(""), 0);
    assert_int_equal(entries(".uploads"), 0);
}

static void an_upload_over_the_quota_is_refused(void **state)
{
    static char body[120000];
    struct reply reply;
    strcpy(body, "a\n");
    while (strlen(body) < 60000)
        strcat(body,
               "1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n");
    put("/v1/datasets/large", "text/csv", body, &reply); /* refused, because 30000 numbers need more than the quota */
    assert_problem(&reply, 413);
    assert_non_null(strstr(reply.body, "of 40000 bytes"));
    reply_close(&reply);
    memset(body, '1', 110000);
    body[110000] = '\0';
    put("/v1/datasets/large", "text/csv", body, &reply);
    assert_problem(&reply, 413);
    reply_close(&reply);
    assert_int_equal(entries(""), 0);
    assert_int_equal(entries(".uploads"), 0);
}

static void a_data_set_that_a_job_uses_cannot_be_deleted(void **state)
{
    char id[JOB_ID], path[256];
    struct reply reply;
    put("/v1/datasets/table", "text/csv", "u,v,label\n1,2,x\n3,5,y\n7,7,x\n0,1,y\n2,2,x\n5,1,y\n", &reply);
    assert_int_equal(reply.status, 201);
    reply_close(&reply);
    post(served.url, "/v1/jobs",
         "{\"kind\":\"factors\",\"config\":{\"data\":\"cells\",\"dataset_name\":\"table\",\"folds\":2,\"latent\":2,"
         "\"epochs\":100000}}",
         &reply);
    assert_int_equal(reply.status, 201);
    memcpy(id, json_text(reply.json, "id"), JOB_ID);
    reply_close(&reply);
    call("DELETE", "/v1/datasets/table", &reply);
    assert_problem(&reply, 409);
    assert_non_null(strstr(reply.body, id));
    reply_close(&reply);
    job_path(path, id, "/cancel");
    post(served.url, path, "", &reply);
    reply_close(&reply);
    await_state(served.url, id, "cancelled");
    call("DELETE", "/v1/datasets/table", &reply);
    assert_int_equal(reply.status, 204);
    reply_close(&reply);
    post(served.url, "/v1/jobs",
         "{\"kind\":\"sparling\",\"preset\":\"dataset\",\"config\":{\"dataset_name\":\"table\"}}", &reply);
    assert_problem(&reply, 422);
    assert_non_null(strstr(reply.body, "/config/dataset_name"));
    reply_close(&reply);
}

static void a_dry_run_reports_a_missing_data_set(void **state)
{
    static const char *const cases[][2] = {
        {"{\"kind\":\"sparling\",\"preset\":\"dataset\",\"config\":{\"dataset_name\":\"gone\"}}",
         "/config/dataset_name"},
        {"{\"kind\":\"sparling\",\"preset\":\"audio-sequence\",\"config\":{\"audio_dataset\":\"gone\"}}",
         "/config/audio_dataset"},
        {"{\"kind\":\"sparling\",\"preset\":\"splicing\",\"config\":{\"splicing_dataset\":\"gone\"}}",
         "/config/splicing_dataset"},
        {"{\"kind\":\"sparling\",\"preset\":\"splicing\",\"config\":{\"splicing_motifs\":\"gone\"}}",
         "/config/splicing_motifs"},
        {"{\"kind\":\"factors\",\"preset\":\"dataset\",\"config\":{\"dataset_name\":\"gone\"}}",
         "/config/dataset_name"},
        {"{\"kind\":\"environments\",\"preset\":\"dataset\",\"config\":{\"dataset_name\":\"gone\"}}",
         "/config/dataset_name"},
        {"{\"kind\":\"dictionary\",\"preset\":\"dataset\",\"config\":{\"dataset_name\":\"gone\"}}",
         "/config/dataset_name"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reply reply;
        post(served.url, "/v1/jobs?dry_run=1", cases[i][0], &reply);
        assert_problem(&reply, 422);
        assert_non_null(strstr(reply.body, cases[i][1]));
        assert_non_null(strstr(reply.body, "no data set gone"));
        reply_close(&reply);
    }
}

/* Sends the head of an upload and its first bytes. The head announces a longer body, so the upload stays
 * unfinished. */
static int begin_upload(const char *path, size_t length, const char *first)
{
    char head[512];
    int fd = raw_connect(served.port);
    int bytes =
        snprintf(head, sizeof head,
                 "PUT %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/csv\r\nContent-Length: %zu\r\n\r\n%s", path,
                 length, first);
    assert_true(fd >= 0 && raw_send(fd, head, (size_t)bytes));
    return fd;
}

static int64_t await_part(const char *hex, int64_t wanted)
{
    char path[128];
    int64_t received = -1;
    (void)snprintf(path, sizeof path, "/v1/uploads/%s", hex);
    for (double until = now_seconds() + 60; now_seconds() < until && received != wanted; sleep_ms(20)) {
        struct reply reply;
        get(served.url, path, &reply);
        received = reply.status == 200 ? (int64_t)json_number(reply.json, "received") : -1;
        reply_close(&reply);
    }
    return received;
}

static void an_interrupted_upload_resumes(void **state)
{
    static const char whole[] = "a,b,label\n1,2,x\n3,5,y\n7,7,x\n";
    char hex[65], path[256];
    struct reply reply;
    hash_of(whole, hex);
    (void)snprintf(path, sizeof path, "/v1/datasets/resumed?sha256=%s", hex);
    int fd = begin_upload(path, sizeof whole - 1, "a,b,label\n1,2,");
    assert_int_equal(await_part(hex, 14), 14);
    close(fd);
    assert_int_equal(entries(""), 0);
    assert_int_equal(entries(".uploads"), 1);
    /* The stored part has 14 bytes, so the daemon refuses an upload that continues at offset 3. It also answers 409
     * until it has noticed that the first connection ended; the loop therefore tries again. */
    (void)snprintf(path, sizeof path, "/v1/datasets/resumed?sha256=%s&offset=3", hex);
    put(path, "text/csv", whole + 3, &reply);
    assert_problem(&reply, 409);
    reply_close(&reply);
    char capitals[65]; /* the hash in capital letters names the same upload */
    for (int i = 0; i < 65; i++)
        capitals[i] = (char)toupper((unsigned char)hex[i]);
    (void)snprintf(path, sizeof path, "/v1/datasets/resumed?sha256=%s&offset=14", capitals);
    for (double until = now_seconds() + 60; now_seconds() < until; sleep_ms(50)) {
        put(path, "text/csv", whole + 14, &reply);
        if (reply.status != 409)
            break;
        reply_close(&reply);
    }
    assert_int_equal(reply.status, 201);
    assert_string_equal(json_text(reply.json, "sha256"), hex);
    reply_close(&reply);
    assert_int_equal(entries(".uploads"), 0);
    call("DELETE", "/v1/datasets/resumed", &reply);
    reply_close(&reply);
}

static void a_kill_leaves_no_incomplete_data_set(void **state)
{
    static const char whole[] = "a,b\n1,2\n3,5\n";
    char hex[65], path[256];
    struct reply reply;
    hash_of(whole, hex);
    (void)snprintf(path, sizeof path, "/v1/datasets/killed?sha256=%s", hex);
    int named = begin_upload(path, sizeof whole - 1, "a,b\n1");
    int nameless = begin_upload("/v1/datasets/nameless", 1000, "a,b\n1,2\n");
    assert_int_equal(await_part(hex, 5), 5);
    daemon_kill(&served);
    close(named);
    close(nameless);
    assert_true(daemon_start(&served, args, NULL));
    assert_int_equal(entries(""), 0);
    assert_int_equal(entries(".uploads"), 1); /* only the upload that a client can resume has left a part */
    get(served.url, "/v1/datasets", &reply);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(reply.json, "datasets")), 0);
    reply_close(&reply);
    (void)snprintf(path, sizeof path, "/v1/datasets/killed?sha256=%s&offset=5", hex);
    put(path, "text/csv", whole + 5, &reply);
    assert_int_equal(reply.status, 201);
    reply_close(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_uploaded_table_is_listed_and_shown),
        cmocka_unit_test(a_mistyped_name_gets_the_most_similar_one),
        cmocka_unit_test(warnings_and_the_stated_target_are_in_the_document),
        cmocka_unit_test(a_stated_format_needs_no_right_content_type),
        cmocka_unit_test(a_refusal_names_the_row_or_member),
        cmocka_unit_test(an_upload_over_the_quota_is_refused),
        cmocka_unit_test(a_data_set_that_a_job_uses_cannot_be_deleted),
        cmocka_unit_test(a_dry_run_reports_a_missing_data_set),
        cmocka_unit_test(an_interrupted_upload_resumes),
        cmocka_unit_test(a_kill_leaves_no_incomplete_data_set),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
