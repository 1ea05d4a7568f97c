/* Tests the routes of data sets: formats and names, uploads in pieces and in parallel, and deletion while jobs use a
 * set. The test also repeats each request, and makes another system call or allocation fail each time. The response
 * must report the failure, no set may be incomplete, and a later request without a fault must succeed. */
#include "tests/unit/api/api_sweep.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/data/uploads/collection.h"
#include "storage/files/dataset.h"
#include "tests/support/fault.h"
#include "tests/support/fault_calls.h"
#include "tests/support/open_files.h"

static const char csv[] = "a,b,label\n1,2,1\n3,4,2\n5,6,1\n";

struct sets {
    struct api_fixture *f;
    char root[64];
};

static void remake(struct sets *s)
{
    api_destroy(s->f->api);
    assert_int_equal(api_create(&s->f->options, &s->f->api, &s->f->err), STATUS_OK);
}

static int setup(void **state)
{
    static const char *const fields[] = {"none", "label", NULL};
    static struct method method;
    static const struct method *const methods[] = {&method};
    static struct sets s;
    if (api_setup(state) != 0)
        return -1;
    s = (struct sets){.f = *state};
    method = echo_method;
    method.dataset_fields = fields;
    (void)snprintf(s.root, sizeof s.root, "%s/motifd-sets-XXXXXX", scratch());
    assert_non_null(mkdtemp(s.root));
    s.f->options.methods = methods;
    s.f->options.data = s.root;
    remake(&s);
    *state = &s;
    return 0;
}

static int teardown(void **state)
{
    struct sets *s = *state;
    char command[100];
    void *f = s->f;
    int status = api_teardown(&f);
    (void)snprintf(command, sizeof command, "rm -r '%s'", s->root);
    return system(command) == 0 ? status : -1;
}

static int put(struct sets *s, const char *target, const char *type, const char *body)
{
    header(s->f, "Content-Type", type);
    return ask(s->f, "PUT", target, body);
}

static void write_file(const struct sets *s, const char *name, const char *text)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", s->root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void hex_of(const char *text, char hex[HASH_TEXT])
{
    unsigned char digest[HASH_BYTES];
    hash_bytes(text, strlen(text), digest);
    hash_hex(digest, hex);
}

/* ---- formats and names -------------------------------------------------------------------------------------- */

static void each_format_is_recognised(void **state)
{
    struct sets *s = *state;
    assert_int_equal(put(s, "/v1/datasets/one", NULL, csv), 415);
    assert_problem(s->f, 415, "media-type");
    assert_int_equal(put(s, "/v1/datasets/one", "application/octet-stream", csv), 415);
    assert_non_null(strstr(text_at(s->f, "/detail"), "?format="));
    assert_int_equal(folder_entries(s->root, ""), 0);
    assert_int_equal(put(s, "/v1/datasets/one?format=csv", "application/octet-stream", csv), 201);
    assert_string_equal(text_at(s->f, "/format"), "csv");
    assert_int_equal(put(s, "/v1/datasets/two", "text/tab-separated-values", "a\tlabel\n1\t2\n3\t4\n"), 201);
    assert_string_equal(text_at(s->f, "/format"), "csv");
    assert_int_equal(number_at(s->f, "/samples"), 2);
    header(s->f, "Content-Type", "text/csv");
    header(s->f, "Content-Encoding", "identity");
    assert_int_equal(ask(s->f, "PUT", "/v1/datasets/three", csv), 201);
    header(s->f, "Content-Type", "text/csv");
    header(s->f, "Content-Encoding", "gzip");
    assert_int_equal(ask(s->f, "PUT", "/v1/datasets/four", csv), 415);
    assert_int_equal(put(s, "/v1/datasets/four", "text/csv", "a,b\n1,2\n1,oops\n"), 422);
    assert_fault(s->f, "", "'oops' is not a number");
    assert_int_equal(put(s, "/v1/datasets/four?label=", "text/csv", csv), 400);
    assert_fault(s->f, "label", "1 to 1023 bytes");
    assert_int_equal(put(s, "/v1/datasets/My%20Data", "text/csv", csv), 404);
    assert_non_null(strstr(text_at(s->f, "/detail"), "or a file matches ^[a-z0-9"));
    assert_int_equal(put(s, "/v1/datasets/four?label=kind", "text/csv", csv), 422);
    assert_fault(s->f, "", "row 1: no column is called 'kind'; the columns are a, b, label");
    assert_int_equal(ask(s->f, "GET", "/v1/datasets/four", NULL), 404);
    assert_int_equal(folder_entries(s->root, ""), 3);
    assert_int_equal(folder_entries(s->root, "/.uploads"), 0);
}

/* Returns a value that the option accepts. */
static const char *value_of(const char *option)
{
    static const char *const values[][2] = {{"label_column", "2"}, {"layout", "signals"}, {"negatives", "shuffle"},
                                            {"window", "0"},       {"target", "class"},   {"bins", "2"},
                                            {"scale", "robust"},   {"rate", "8000"},      {"missing", "drop"},
                                            {"fold_names", "1"},   {"separator", ","},    {"words", "blanks"},
                                            {"keep_case", "1"},    {"vocabulary", "9"},   {"buckets", "0"},
                                            {"order", "none"},     {"cut", "9"},          {NULL, "label"}};
    size_t i = 0;
    while (values[i][0] && strcmp(values[i][0], option) != 0)
        i++;
    return values[i][1];
}

/* Tries every option with every format. If the format does not read the option, the request is refused before the body
 * is read. The answer names the option and the formats that read it. */
static void option_that_a_format_does_not_read_is_refused(void **state)
{
    struct sets *s = *state;
    size_t count;
    int refused = 0, read = 0;
    const struct collection_format *formats = collection_formats(&count);
    for (size_t i = 0; i < count; i++)
        for (const struct collection_option_row *o = collection_option_rows; o->field.name; o++) {
            char target[200], names[COLLECTION_NAMES];
            (void)snprintf(target, sizeof target, "/v1/datasets/odd?format=%s&%s=%s", formats[i].name, o->field.name,
                           value_of(o->field.name));
            int status = put(s, target, "application/octet-stream", "x");
            const cJSON *fault = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(s->f->json, "errors"), 0);
            const char *named = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(fault, "parameter"));
            assert_int_equal(status, 422); /* "x" is no valid file of any format */
            if (formats[i].reads & o->option) {
                assert_null(named);
                read++;
                continue;
            }
            collection_option_formats(o->option, names);
            assert_non_null(named);
            assert_string_equal(named, o->field.name);
            assert_non_null(strstr(text_at(s->f, "/errors/0/detail"), names));
            refused++;
        }
    assert_true(read > 20 && refused > 50);
    assert_int_equal(put(s, "/v1/datasets/odd?layout=channels-first", "text/csv", csv), 422);
    assert_fault(s->f, "layout", "formats that read it: npz, npy, safetensors and tar");
    assert_int_equal(put(s, "/v1/datasets/odd?format=fasta&negatives=gc", "application/octet-stream", ">a x\nACGT\n"),
                     422);
    assert_fault(s->f, "negatives", "gc does not apply to fasta; formats that read it: tar and bed");
    assert_int_equal(folder_entries(s->root, ""), 0);
    assert_int_equal(ask(s->f, "GET", "/v1/datasets", NULL), 200);
    assert_string_equal(text_at(s->f, "/formats/3/name"), "csv");
    assert_string_equal(text_at(s->f, "/formats/3/options/1/name"), "group");
}

/* The same bytes with the same options are the same set; with other options they are a different set. */
static void same_bytes_and_options_are_the_same_set(void **state)
{
    static const char *const options[] = {"?label=label", "?label=b", "?group=a", "?layout=signals"};
    struct sets *s = *state;
    char target[200], hex[HASH_TEXT];
    assert_int_equal(put(s, "/v1/datasets/one?label=label", "text/csv", csv), 201);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        (void)snprintf(target, sizeof target, "/v1/datasets/one%s", options[i]);
        assert_int_equal(put(s, target, "text/csv", csv), i == 0 ? 200 : 409);
    }
    assert_string_equal(text_at(s->f, "/detail"),
                        "The data set one has the same file but other options (layout), and data sets never "
                        "change: choose another name, or delete it first (motifctl datasets delete one).");
    assert_int_equal(put(s, "/v1/datasets/one?label=label", "text/csv", "a,b,label\n1,2,1\n3,4,2\n5,7,1\n"), 409);
    assert_non_null(strstr(text_at(s->f, "/detail"), "Another data set is named one"));
    hex_of(csv, hex);
    (void)snprintf(target, sizeof target, "/v1/datasets/one?label=label&sha256=%s", hex);
    assert_int_equal(put(s, target, "text/csv", csv), 200);
    hex_of("something else", hex);
    (void)snprintf(target, sizeof target, "/v1/datasets/one?sha256=%s", hex);
    /* refused before the body is read, because the announced hash differs from that of the stored set */
    assert_int_equal(put(s, target, "text/csv", csv), 409);
    assert_problem(s->f, 409, "conflict");
    assert_int_equal(folder_entries(s->root, "/.uploads"), 0);
}

/* The daemon must not change folders that the operator has created. It must not replace a set whose files somebody
 * has changed by hand. */
static void folders_of_the_operator_are_kept(void **state)
{
    static const char *const names[] = {"_x", "-x"};
    struct sets *s = *state;
    char path[160], target[80];
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(target, sizeof target, "/v1/datasets/%s", names[i]);
        assert_int_equal(put(s, target, "text/csv", csv), 400);
    }
    (void)snprintf(path, sizeof path, "%s/own", s->root);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(put(s, "/v1/datasets/own", "text/csv", csv), 409);
    assert_non_null(strstr(text_at(s->f, "/detail"), "operator"));
    assert_int_equal(ask(s->f, "DELETE", "/v1/datasets/own", NULL), 404);
    assert_int_equal(ask(s->f, "GET", "/v1/datasets/own", NULL), 404);
    assert_int_equal(ask(s->f, "GET", "/v1/datasets/own/preview", NULL), 404);
    assert_int_equal(ask(s->f, "GET", "/v1/datasets", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(s->f, "/datasets")), 0);
    assert_int_equal(put(s, "/v1/datasets/one", "text/csv", csv), 201);
    static const char *const changed[] = {"{}", "{\"sha256\":7,\"options\":{\"label\":1}}"};
    for (size_t i = 0; i < 2; i++) {
        write_file(s, "one/about.json", changed[i]);
        /* refused, because the changed about.json contains no hash with which the api could compare the upload */
        assert_int_equal(put(s, "/v1/datasets/one", "text/csv", csv), 409);
    }
    write_file(s, "one/about.json", "{\"sha256\":");
    assert_int_equal(put(s, "/v1/datasets/one", "text/csv", csv), 500);
    assert_problem(s->f, 500, "internal");
    assert_int_equal(ask(s->f, "DELETE", "/v1/datasets/one", NULL), 204);
    (void)snprintf(path, sizeof path, "%s/two", s->root);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/two/about.json", s->root);
    assert_int_equal(mkdir(path, 0700), 0); /* about.json is a folder instead of a file */
    assert_int_equal(put(s, "/v1/datasets/two", "text/csv", csv), 409);
    assert_int_equal(ask(s->f, "GET", "/v1/datasets", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(s->f, "/datasets")), 0);
}

/* ---- in pieces ---------------------------------------------------------------------------------------------- */

struct piece {
    const char *target, *length, *who;
};

static const char *header_of_piece(void *context, const char *name)
{
    const struct piece *p = context;
    return strcmp(name, "Content-Type") == 0 ? "text/csv" : strcmp(name, "Content-Length") == 0 ? p->length : NULL;
}

static struct api_request request_of(struct piece *p)
{
    return (struct api_request){.method = "PUT",
                                .target = p->target,
                                .header = header_of_piece,
                                .header_context = p,
                                .scope = API_SCOPE_ADMIN,
                                .who = p->who};
}

/* Begins an upload. Returns 0, or the status of the refusal. `offset` gets the value of the header Upload-Offset,
 * or -1. */
static int begin(struct sets *s, const char *target, const char *length, struct api_upload **upload, int *offset)
{
    struct piece p = {target, length, s->f->who};
    struct api_request request = request_of(&p);
    struct api_response response;
    *offset = -1;
    if (api_upload_begin(s->f->api, &request, upload, &response)) {
        assert_non_null(*upload);
        return 0;
    }
    assert_null(*upload);
    const char *there = api_response_header(&response, "Upload-Offset");
    *offset = there != NULL ? atoi(there) : -1;
    int status = response.status;
    api_response_close(&response);
    return status;
}

static int end(struct sets *s, const char *target, struct api_upload *upload)
{
    struct piece p = {target, NULL, s->f->who};
    struct api_request request = request_of(&p);
    struct api_response response;
    request.upload = upload;
    api_handle(s->f->api, &request, &response);
    int status = response.status;
    api_response_close(&response);
    api_upload_close(s->f->api, upload);
    return status;
}

static void interrupted_upload_resumes_at_its_offset(void **state)
{
    struct sets *s = *state;
    struct api_upload *upload, *second;
    char hex[HASH_TEXT], target[160], rest[180];
    int offset;
    s->f->options.uploads_at_once = 1;
    s->f->options.upload_bytes = 1000;
    remake(s);
    assert_int_equal(begin(s, "/v1/datasets/one?offset=x", NULL, &upload, &offset), 400);
    assert_int_equal(begin(s, "/v1/datasets/one", "1001", &upload, &offset), 413);
    /* a malformed length counts as none here, because the admission of requests has refused it already */
    assert_int_equal(begin(s, "/v1/datasets/one", "none", &upload, &offset), 0);
    assert_int_equal(begin(s, "/v1/datasets/two", "1000", &second, &offset), 429);
    api_upload_close(s->f->api, upload); /* no byte arrived, so no partial file remains */
    assert_int_equal(folder_entries(s->root, "/.uploads"), 0);

    hex_of(csv, hex);
    (void)snprintf(target, sizeof target, "/v1/datasets/one?sha256=%s", hex);
    assert_int_equal(begin(s, target, "1000", &upload, &offset), 0);
    api_upload_add(upload, csv, 10);
    api_upload_close(s->f->api, upload); /* closing the upload without its end simulates a lost connection */
    (void)snprintf(rest, sizeof rest, "/v1/uploads/%s", hex);
    assert_int_equal(ask(s->f, "GET", rest, NULL), 200);
    assert_int_equal(number_at(s->f, "/received"), 10);
    (void)snprintf(rest, sizeof rest, "%s&offset=7", target);
    /* refused, because the stored part and this piece together exceed the limit */
    assert_int_equal(begin(s, rest, "1000", &upload, &offset), 413);
    assert_int_equal(begin(s, rest, "21", &upload, &offset), 409);
    assert_int_equal(offset, 10);
    (void)snprintf(rest, sizeof rest, "%s&offset=10", target);
    assert_int_equal(begin(s, rest, "21", &upload, &offset), 0);
    api_upload_add(upload, csv + 10, strlen(csv) - 10);
    assert_int_equal(end(s, rest, upload), 201);
    assert_int_equal(folder_entries(s->root, "/.uploads"), 0);

    /* The client announces a hash that its bytes do not have. The first upload ends after ten bytes and leaves a part.
     * The second upload begins again at offset 0, and is refused when all its bytes have arrived. */
    hex_of("other", hex);
    (void)snprintf(target, sizeof target, "/v1/datasets/two?sha256=%s", hex);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(begin(s, target, NULL, &upload, &offset), 0);
        api_upload_add(upload, csv, 10);
        if (i == 0)
            api_upload_close(s->f->api, upload);
    }
    api_upload_add(upload, csv + 10, strlen(csv) - 10);
    assert_int_equal(end(s, target, upload), 422);
    assert_int_equal(folder_entries(s->root, "/.uploads"), 0);
    assert_int_equal(folder_entries(s->root, ""), 1);
}

/* Two clients upload the same bytes at the same time. The set must be stored once. */
static void parallel_uploads_of_one_set_store_it_once(void **state)
{
    struct sets *s = *state;
    struct api_upload *upload, *second;
    char hex[HASH_TEXT], target[160];
    int offset;
    hex_of(csv, hex);
    (void)snprintf(target, sizeof target, "/v1/datasets/one?sha256=%s", hex);
    assert_int_equal(begin(s, target, NULL, &upload, &offset), 0);
    assert_int_equal(begin(s, target, NULL, &second, &offset), 409);
    assert_int_equal(offset, -1); /* refused without an offset, because the first upload is writing this part */
    /* a second upload with the same name, which ends before the first */
    assert_int_equal(put(s, "/v1/datasets/one", "text/csv", "a,label\n1,2\n2,3\n"), 201);
    api_upload_add(upload, csv, strlen(csv));
    assert_int_equal(end(s, target, upload), 409);
    api_upload_close(s->f->api, NULL);
    assert_int_equal(folder_entries(s->root, ""), 1);
    assert_int_equal(folder_entries(s->root, "/.uploads"), 0);
}

/* Each token has a quota; requests without a token have no quota. The limit of all sets together applies to
 * every request. */
static void quota_is_per_token(void **state)
{
    struct sets *s = *state;
    char id[STORAGE_ID];
    s->f->options.share = (struct api_share){.jobs = 5, .threads = 1, .job_bytes = 1, .dataset_bytes = 1};
    remake(s);
    submit_job(s->f, "{\"kind\":\"echo\",\"threads\":2}", id);
    submit_job(s->f, "{\"kind\":\"echo\"}", id);
    assert_int_equal(put(s, "/v1/datasets/one", "text/csv", csv), 201);
    int64_t used;
    assert_int_equal(dataset_bytes(s->root, NULL, &used, &s->f->err), STATUS_OK);
    s->f->options.datasets_bytes = used + 10;
    remake(s);
    assert_int_equal(put(s, "/v1/datasets/two", "text/csv", csv), 413);
    assert_problem(s->f, 413, "too-large");
    assert_int_equal(folder_entries(s->root, ""), 1);
    assert_int_equal(ask(s->f, "DELETE", "/v1/datasets/one", NULL), 204);
    assert_int_equal(put(s, "/v1/datasets/two", "text/csv", csv), 201);
}

static void limit_to(struct sets *s, int64_t bytes)
{
    s->f->options.share = (struct api_share){.dataset_bytes = bytes};
    s->f->options.uploads_at_once = 9;
    remake(s);
    s->f->who = "anna";
}

/* A part that a broken upload left counts only towards the quota of its token. The daemon removes old parts while
 * it runs. */
static void parts_of_broken_uploads_count_until_they_are_swept(void **state)
{
    struct sets *s = *state;
    struct api_upload *upload;
    char hex[HASH_TEXT], target[160], command[300];
    int offset;
    limit_to(s, 60);
    hex_of(csv, hex);
    (void)snprintf(target, sizeof target, "/v1/datasets/one?sha256=%s", hex);
    assert_int_equal(begin(s, target, "40", &upload, &offset), 0);
    api_upload_add(upload, csv, strlen(csv));
    api_upload_close(s->f->api, upload); /* closing the upload without its end simulates a lost connection */
    assert_int_equal(begin(s, "/v1/datasets/two", "40", &upload, &offset), 413);
    s->f->who = "bob";
    assert_int_equal(begin(s, "/v1/datasets/two", "40", &upload, &offset), 0);
    api_upload_close(s->f->api, upload);
    (void)snprintf(command, sizeof command, "/v1/uploads/%s", hex);
    assert_int_equal(ask(s->f, "GET", command, NULL), 404); /* not found, because the part belongs to the other token */
    s->f->who = "anna";
    assert_int_equal(ask(s->f, "GET", command, NULL), 200);
    (void)snprintf(command, sizeof command, "touch -d '2 days ago' %s/.uploads/*", s->root);
    assert_int_equal(system(command), 0);
    assert_int_equal(begin(s, "/v1/datasets/two", "40", &upload, &offset), 0);
    assert_int_equal(folder_entries(s->root, "/.uploads"), 0);
    api_upload_close(s->f->api, upload);
}

/* The sweep of old parts does not remove a part that an upload is writing, even if its last write was long ago. */
static void part_in_use_is_not_swept(void **state)
{
    struct sets *s = *state;
    struct api_upload *upload, *second;
    char hex[HASH_TEXT], target[160], command[300];
    int offset;
    hex_of(csv, hex);
    (void)snprintf(target, sizeof target, "/v1/datasets/one?sha256=%s", hex);
    assert_int_equal(begin(s, target, NULL, &upload, &offset), 0);
    api_upload_add(upload, csv, 10);
    (void)snprintf(command, sizeof command, "touch -d '2 days ago' %s/.uploads/*", s->root);
    assert_int_equal(system(command), 0);
    assert_int_equal(begin(s, "/v1/datasets/two", "40", &second, &offset), 0);
    assert_int_equal(folder_entries(s->root, "/.uploads"), 1);
    api_upload_close(s->f->api, second);
    api_upload_add(upload, csv + 10, strlen(csv) - 10);
    assert_int_equal(end(s, target, upload), 201);
}

/* All files of a set count towards the limit of 100 bytes. The values of this set need only 24 bytes, but its document,
 * its labels and its preview need more than 100. */
static void every_file_of_a_set_counts(void **state)
{
    struct sets *s = *state;
    int64_t used;
    limit_to(s, 100);
    assert_int_equal(put(s, "/v1/datasets/one?label=label", "text/csv", csv), 413);
    assert_problem(s->f, 413, "too-large");
    assert_int_equal(folder_entries(s->root, ""), 0);
    assert_int_equal(folder_entries(s->root, "/.uploads"), 0);
    limit_to(s, 100000);
    assert_int_equal(put(s, "/v1/datasets/one?label=label", "text/csv", csv), 201);
    assert_int_equal(dataset_bytes(s->root, "anna", &used, &s->f->err), STATUS_OK);
    /* the limit leaves room for the uploaded bytes of set two, but not for the files that are made from them */
    limit_to(s, used + (int64_t)strlen(csv));
    assert_int_equal(put(s, "/v1/datasets/two?label=label", "text/csv", csv), 413);
    limit_to(s, 2 * used);
    assert_int_equal(put(s, "/v1/datasets/two?label=label", "text/csv", csv), 201);
}

static void uploads_at_once_share_one_limit(void **state)
{
    struct sets *s = *state;
    struct api_upload *upload, *second, *third;
    int offset;
    limit_to(s, 60);
    assert_int_equal(begin(s, "/v1/datasets/one", "40", &upload, &offset), 0);
    assert_int_equal(begin(s, "/v1/datasets/two", "40", &second, &offset), 413);
    assert_int_equal(begin(s, "/v1/datasets/two", "20", &second, &offset), 0);
    /* refused, because the two uploads have reserved the whole limit */
    assert_int_equal(begin(s, "/v1/datasets/three", NULL, &third, &offset), 413);
    api_upload_close(s->f->api, upload);
    api_upload_close(s->f->api, second);
    assert_int_equal(begin(s, "/v1/datasets/two", "41", &upload, &offset), 0);
    api_upload_close(s->f->api, upload);
}

/* An upload that does not announce its length may use the rest of the limit, and no byte more. */
static void upload_without_length_ends_at_the_limit(void **state)
{
    struct sets *s = *state;
    struct api_upload *upload, *second;
    int offset;
    limit_to(s, 20);
    assert_int_equal(begin(s, "/v1/datasets/one", NULL, &upload, &offset), 0);
    assert_int_equal(begin(s, "/v1/datasets/two", "1", &second, &offset), 413);
    api_upload_add(upload, csv, strlen(csv));
    assert_int_equal(end(s, "/v1/datasets/one", upload), 413);
    assert_int_equal(folder_entries(s->root, "/.uploads"), 0);
}

/* ---- deletion while jobs use a set -------------------------------------------------------------------------- */

static void store(struct sets *s, const char *kind, const char *config, char id[STORAGE_ID])
{
    struct storage_submit in = {.kind = kind, .name = "", .config = config};
    enum storage_submit_outcome outcome;
    assert_int_equal(storage_job_submit(s->f->storage, &in, id, &outcome, &s->f->err), STATUS_OK);
}

static void cancel(struct sets *s, const char *id)
{
    assert_int_equal(storage_job_request(s->f->storage, id, JOB_EVENT_CANCEL, NULL, NULL, &s->f->err), STATUS_OK);
}

/* More than a thousand jobs exist, and the job that uses the set is not among the first thousand. */
static void set_of_an_unfinished_job_is_not_deleted(void **state)
{
    enum { MANY = 1001 };
    struct sets *s = *state;
    struct api_fixture *f = s->f;
    char id[STORAGE_ID], other[STORAGE_ID];
    api_destroy(f->api);
    storage_close(f->storage);
    f->storage_options.queue_limit = 0;
    assert_int_equal(storage_open(&f->storage_options, &f->storage, &f->err), STATUS_OK);
    f->options.storage = f->storage;
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
    assert_int_equal(put(s, "/v1/datasets/one", "text/csv", csv), 201);
    store(s, "echo", "{\"label\":\"one\"}", id);
    for (int i = 0; i < MANY; i++)
        store(s, "echo", "{\"label\":\"another\"}", other);
    assert_int_equal(ask(f, "DELETE", "/v1/datasets/one", NULL), 409);
    assert_non_null(strstr(text_at(f, "/detail"), id));
    cancel(s, id);
    assert_int_equal(ask(f, "DELETE", "/v1/datasets/one", NULL), 204);
    assert_int_equal(folder_entries(s->root, ""), 0);
}

/* A job of an unknown kind, or of a kind without data sets, does not prevent the deletion of a set. A job whose
 * configuration the api cannot read does: the deletion fails. */
static void unreadable_configuration_prevents_deletion(void **state)
{
    struct sets *s = *state;
    char id[STORAGE_ID];
    assert_int_equal(put(s, "/v1/datasets/one", "text/csv", csv), 201);
    store(s, "gone", "{\"label\":\"one\"}", id);
    store(s, "echo", "{\"label\":", id);
    assert_int_equal(ask(s->f, "DELETE", "/v1/datasets/one", NULL), 500);
    assert_int_equal(folder_entries(s->root, ""), 1);
    cancel(s, id);
    assert_int_equal(ask(s->f, "DELETE", "/v1/datasets/one", NULL), 204);
    static const struct method *const plain[] = {&echo_method};
    s->f->options.methods = plain;
    remake(s);
    assert_int_equal(put(s, "/v1/datasets/one", "text/csv", csv), 201);
    store(s, "echo", "{\"label\":\"one\"}", id);
    assert_int_equal(ask(s->f, "DELETE", "/v1/datasets/one", NULL), 204);
}

/* ---- faults ------------------------------------------------------------------------------------------------- */

static void arm_call(int place, bool forever)
{
    fault_call_after(place, EMFILE, forever);
}
static void arm_taken(int place, bool forever)
{
    fault_call_after(place, EEXIST, forever);
}
static bool disarm_call(void)
{
    return fault_call_happened() != NULL;
}

enum { PUT_NEW, PUT_SAME, PUT_WRONG, PUT_RESUMABLE, DELETE_SET, SHOW, CASES = 8 };
static const struct request_case cases[CASES] = {
    {"PUT", "/v1/datasets/new", csv, 201, PUT_NEW, {"Content-Type"}, {"text/csv"}, false},
    {"PUT", "/v1/datasets/one", csv, 200, PUT_SAME, {"Content-Type"}, {"text/csv"}, false},
    {"PUT", "/v1/datasets/new", "a,b\n1,x\n", 422, PUT_WRONG, {"Content-Type"}, {"text/csv"}, false},
    {"PUT", "/v1/datasets/new?sha256=@", csv, 422, PUT_RESUMABLE, {"Content-Type"}, {"text/csv"}, false},
    {"DELETE", "/v1/datasets/two", NULL, 204, DELETE_SET, {NULL}, {NULL}, false},
    {"GET", "/v1/datasets", NULL, 200, SHOW, {NULL}, {NULL}, true},
    {"GET", "/v1/datasets/one", NULL, 200, SHOW, {NULL}, {NULL}, true},
    {"GET", "/v1/datasets/one/preview", NULL, 200, SHOW, {NULL}, {NULL}, true},
};

/* Returns whether the set is completely stored, which is possible although the response reported a failure. */
static bool whole(struct sets *s, const char *name)
{
    char target[80];
    (void)snprintf(target, sizeof target, "/v1/datasets/%s/preview", name);
    return ask(s->f, "GET", target, NULL) == 200;
}

/* Deletes and stores sets so that exactly the sets one and two exist. */
static void lay_out(struct sets *s)
{
    (void)ask(s->f, "DELETE", "/v1/datasets/new", NULL);
    if (folder_entries(s->root, "") < 2)
        assert_int_equal(put(s, "/v1/datasets/two", "text/csv", csv), 201);
}

static void sweep(struct sets *s, const struct request_case *c, const struct sweep_fault *fault, bool forever)
{
    static const char id[] = "0000000000000000000000000000000000000000000000000000000000000000";
    struct sweep of = {.f = s->f, .fault = fault};
    lay_out(s);
    struct answer right = sweep_ask(&of, c, id, -1, false);
    assert_int_equal(right.status, c->status);
    int before = open_descriptors();
    bool failed = true;
    for (int place = 0; failed; place++) {
        lay_out(s);
        struct answer a = sweep_ask(&of, c, id, place, forever);
        failed = a.failed;
        /* this fault pretends that the name exists already, so 409 is a correct answer */
        bool taken = fault->arm == arm_taken && a.status == 409;
        if (a.status != c->status && (!failed || (a.status < 500 && !taken)))
            complain("%s %s, %s %s %d: %d %.*s", c->method, c->target, fault->name, sweep_mode(forever), place,
                     a.status, (int)a.count, a.bytes);
        if (c->same && a.status == 200 && (a.count != right.count || memcmp(a.bytes, right.bytes, a.count) != 0))
            complain("%s %s, %s %s %d: another answer: %.*s", c->method, c->target, fault->name, sweep_mode(forever),
                     place, (int)a.count, a.bytes);
        int there = 2 + (c->subject == PUT_NEW && (a.status == 201 || whole(s, "new"))) -
                    (c->subject == DELETE_SET && a.status == 204);
        dataset_sweep(s->root); /* removes the files that remained because a folder could not be opened */
        /* a part may remain, because the client may resume its upload */
        int parts = c->subject == PUT_RESUMABLE && a.status != c->status ? 1 : 0;
        if (folder_entries(s->root, "") != there || folder_entries(s->root, "/.uploads") > parts ||
            open_descriptors() != before)
            complain("%s %s, %s %s %d: %d, and %d sets, %d parts, %d descriptors", c->method, c->target, fault->name,
                     sweep_mode(forever), place, a.status, folder_entries(s->root, ""),
                     folder_entries(s->root, "/.uploads"), open_descriptors() - before);
        if (a.status != c->status) {
            struct answer again = sweep_ask(&of, c, id, -1, false);
            if (again.status != c->status && (c->subject != PUT_NEW || again.status != 200))
                complain("%s %s again after %s %s %d: %d", c->method, c->target, fault->name, sweep_mode(forever),
                         place, again.status);
            free(again.bytes);
        }
        free(a.bytes);
        assert_true(place < 5000);
    }
    free(right.bytes);
}

static void repeated_request_recovers_from_every_fault(void **state)
{
    static const struct sweep_fault calls[] = {{"a call of the system", arm_call, disarm_call, 1},
                                               {"a name that is taken", arm_taken, disarm_call, 1}};
    struct sets *s = *state;
    complaints = 0;
    assert_int_equal(put(s, "/v1/datasets/one", "text/csv", csv), 201);
    assert_int_equal(put(s, "/v1/datasets/two", "text/csv", csv), 201);
    for (size_t i = 0; i < CASES; i++)
        for (int forever = 0; forever < 2; forever++) {
            sweep(s, &cases[i], &calls[0], forever);
            sweep(s, &cases[i], &calls[1], forever);
            sweep(s, &cases[i], &sweep_faults[1], forever); /* allocations of the program and of cJSON */
        }
    assert_int_equal(complaints, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(each_format_is_recognised),
        TEST(option_that_a_format_does_not_read_is_refused),
        TEST(same_bytes_and_options_are_the_same_set),
        TEST(folders_of_the_operator_are_kept),
        TEST(interrupted_upload_resumes_at_its_offset),
        TEST(parallel_uploads_of_one_set_store_it_once),
        TEST(quota_is_per_token),
        TEST(parts_of_broken_uploads_count_until_they_are_swept),
        TEST(part_in_use_is_not_swept),
        TEST(every_file_of_a_set_counts),
        TEST(uploads_at_once_share_one_limit),
        TEST(upload_without_length_ends_at_the_limit),
        TEST(set_of_an_unfinished_job_is_not_deleted),
        TEST(unreadable_configuration_prevents_deletion),
        TEST(repeated_request_recovers_from_every_fault),
    };
    fault_libraries();
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("api_sets", tests, NULL, NULL);
}
