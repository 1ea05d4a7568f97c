/* Tests forged bundles. Each test case changes one part of a bundle and recomputes the hashes that cover it. The api
 * must refuse a wrong bundle, name the wrong part by its JSON pointer, and store nothing. It must import a bundle that
 * is unusual but consistent. */
#include "tests/unit/api/api_fixture.h"

#include "api/transfer/attestation.h"
#include "api/formats/safetensors.h"
#include "core/base/hash.h"

enum { MEMBERS = 8 };

/* The parts of a bundle. */
struct parts {
    cJSON *manifest;
    size_t count;
    struct {
        char name[64];
        char *bytes;
        size_t size;
    } member[MEMBERS];
};

static void set_hash(cJSON *object, const char *name, const void *bytes, size_t count)
{
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    hash_bytes(bytes, count, digest);
    hash_hex(digest, hex);
    cJSON_DeleteItemFromObjectCaseSensitive(object, name);
    assert_non_null(cJSON_AddStringToObject(object, name, hex));
}

static struct parts take_apart(const char *file, size_t bytes)
{
    struct safetensors_content content;
    struct parts p = {.manifest = NULL};
    struct error err = {0};
    assert_int_equal(safetensors_parse(file, bytes, &content, &err), STATUS_OK);
    p.manifest = cJSON_Parse(safetensors_note(&content, "manifest"));
    assert_true(content.count <= MEMBERS);
    for (; p.count < content.count; p.count++) {
        const struct safetensors_tensor *t = &content.tensors[p.count];
        (void)snprintf(p.member[p.count].name, sizeof p.member[0].name, "%s", t->name);
        p.member[p.count].size = (size_t)(t->end - t->begin);
        p.member[p.count].bytes = malloc(p.member[p.count].size + 1);
        assert_non_null(p.member[p.count].bytes);
        memcpy(p.member[p.count].bytes, content.data + t->begin, p.member[p.count].size);
    }
    safetensors_content_close(&content);
    return p;
}

static void parts_close(struct parts *p)
{
    cJSON_Delete(p->manifest);
    for (size_t i = 0; i < p->count; i++)
        free(p->member[i].bytes);
}

/* After a change of the attestation: recomputes the hash of its origin, and then the hashes of its checkpoints. */
static void chain_anew(struct parts *p)
{
    cJSON *attestation = cJSON_GetObjectItemCaseSensitive(p->manifest, "attestation"), *link;
    char chain[HASH_TEXT];
    assert_true(chain_origin(attestation, chain));
    cJSON_DeleteItemFromObjectCaseSensitive(attestation, "origin");
    assert_non_null(cJSON_AddStringToObject(attestation, "origin", chain));
    cJSON_ArrayForEach (link, cJSON_GetObjectItemCaseSensitive(attestation, "checkpoints")) {
        const cJSON *seq = cJSON_GetObjectItem(link, "seq"), *step = cJSON_GetObjectItem(link, "step");
        const cJSON *samples = cJSON_GetObjectItem(link, "samples"), *sha256 = cJSON_GetObjectItem(link, "sha256");
        chain_next(chain, (int64_t)seq->valuedouble, (int64_t)step->valuedouble, (int64_t)samples->valuedouble,
                   sha256->valuestring);
        cJSON_DeleteItemFromObjectCaseSensitive(link, "chain");
        assert_non_null(cJSON_AddStringToObject(link, "chain", chain));
    }
    cJSON_DeleteItemFromObjectCaseSensitive(attestation, "chain");
    assert_non_null(cJSON_AddStringToObject(attestation, "chain", chain));
}

/* Replaces the value at `pointer` of the manifest by `json`; NULL deletes it. */
static void change(struct parts *p, const char *pointer, const char *json)
{
    cJSON *at = p->manifest;
    for (const char *end; (end = strchr(pointer + 1, '/')) != NULL; pointer = end) {
        char token[64];
        (void)snprintf(token, sizeof token, "%.*s", (int)(end - pointer - 1), pointer + 1);
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(token)) : cJSON_GetObjectItemCaseSensitive(at, token);
        assert_non_null(at);
    }
    if (cJSON_IsArray(at))
        cJSON_DeleteItemFromArray(at, atoi(pointer + 1));
    else
        cJSON_DeleteItemFromObjectCaseSensitive(at, pointer + 1);
    if (json != NULL)
        assert_true(cJSON_AddItemToObject(at, pointer + 1, cJSON_Parse(json)));
}

/* Replaces the metrics of the bundle, and their hash in the manifest. */
static void change_metrics(struct parts *p, const char *text)
{
    cJSON *item;
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->member[i].name, "metrics") == 0) {
            free(p->member[i].bytes);
            p->member[i].bytes = strdup(text);
            p->member[i].size = strlen(text);
        }
    cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(p->manifest, "members"))
        if (strcmp(cJSON_GetObjectItem(item, "name")->valuestring, "metrics") == 0)
            set_hash(item, "sha256", text, strlen(text));
}

/* Builds the bundle file and sends it. `note` (NULL: none) names an entry of the metadata that gets the text `value`.
 * If `value` is NULL, the file lacks this entry. */
static int send_parts(struct api_fixture *f, const struct parts *p, const char *note, const char *value)
{
    char *manifest = cJSON_PrintUnformatted(p->manifest), *head;
    cJSON *root = cJSON_CreateObject(), *notes = cJSON_AddObjectToObject(root, "__metadata__");
    size_t offset = 0;
    assert_non_null(cJSON_AddStringToObject(notes, "format", "motifd-bundle-1"));
    assert_non_null(cJSON_AddStringToObject(notes, "manifest", manifest));
    set_hash(notes, "manifest_sha256", manifest, strlen(manifest));
    if (note != NULL) {
        cJSON_DeleteItemFromObjectCaseSensitive(notes, note);
        if (value != NULL)
            assert_non_null(cJSON_AddStringToObject(notes, note, value));
        if (value != NULL && strcmp(note, "manifest") == 0)
            set_hash(notes, "manifest_sha256", value, strlen(value));
    }
    for (size_t i = 0; i < p->count; i++) {
        cJSON *tensor = cJSON_AddObjectToObject(root, p->member[i].name);
        const double size = (double)p->member[i].size, offsets[] = {(double)offset, (double)offset + size};
        assert_non_null(cJSON_AddStringToObject(tensor, "dtype", "U8"));
        assert_true(cJSON_AddItemToObject(tensor, "shape", cJSON_CreateDoubleArray(&size, 1)));
        assert_true(cJSON_AddItemToObject(tensor, "data_offsets", cJSON_CreateDoubleArray(offsets, 2)));
        offset += p->member[i].size;
    }
    head = cJSON_PrintUnformatted(root);
    uint64_t length = strlen(head);
    char *file = malloc(8 + (size_t)length + offset);
    assert_non_null(file);
    memcpy(file, &length, 8);
    memcpy(file + 8, head, (size_t)length);
    offset = 8 + (size_t)length;
    for (size_t i = 0; i < p->count; i++) {
        memcpy(file + offset, p->member[i].bytes, p->member[i].size);
        offset += p->member[i].size;
    }
    header(f, "Content-Type", "application/octet-stream");
    int status = ask_bytes(f, "POST", "/v1/imports", file, offset);
    free(file);
    cJSON_free(head);
    cJSON_free(manifest);
    cJSON_Delete(root);
    return status;
}

#define LINK(member) "/attestation/checkpoints/0" member
static const struct {
    const char *pointer, *json; /* pointer: JSON pointer of a value in the manifest; json: its new value */
    bool chained;               /* recompute the hashes of the chain after the change */
    const char *word;           /* text in the expected error; "": any error; NULL: the api must accept the bundle */
} changes[] = {
    {"/name", "\"renamed\"", false, NULL},
    {"/name", NULL, false, NULL},
    {"/name", "7", false, NULL},
    {"/result", NULL, false, NULL},
    {"/result", "[1]", false, NULL},
    {"/evaluation", "{\"accuracy\":1}", false, NULL},
    {"/attestation", NULL, false, "attestation"},
    {"/attestation", "[]", false, "attestation"},
    {"/members", NULL, false, "every member"},
    {"/members", "{}", false, "every member"},
    {"/members", "[]", false, "every member"},
    {"/members", "[1,2]", false, "not listed"},
    {"/members", "[1,2,3]", false, "every member"},
    {"/members/0/name", NULL, false, "not listed"},
    {"/members/0/name", "\"other\"", false, "not listed"},
    {"/members/0/sha256", NULL, false, "changed"},
    {"/members/0/sha256", "\"00\"", false, "changed"},
    {"/attestation/origin", NULL, false, "changed"},
    {"/attestation/origin", "\"00\"", false, "changed"},
    {"/attestation/chain", NULL, false, "changed"},
    {"/attestation/chain", "\"00\"", false, "changed"},
    {"/attestation/config", NULL, false, "changed"},
    {"/attestation/config/density", "0.125", false, "changed"},
    {"/attestation/config/density", "0.125", true, NULL},
    {"/attestation/config/density", "7", true, "density"},
    {"/attestation/config", NULL, true, "configuration"},
    {"/attestation/kind", "\"other\"", true, "kind"},
    {"/attestation/kind", NULL, true, "kind"},
    {"/attestation/preset", "\"other\"", true, NULL},
    {"/attestation/job", NULL, true, NULL},
    {"/attestation/checkpoints", NULL, true, "link"},
    {"/attestation/checkpoints", "[]", true, "link"},
    {LINK("/seq"), "-1", false, "link"},
    {LINK("/seq"), "1.5", false, "link"},
    {LINK("/seq"), "\"1\"", false, "link"},
    {LINK("/step"), "-1", false, "link"},
    {LINK("/step"), NULL, false, "link"},
    {LINK("/samples"), "9007199254740993", false, ""}, /* above 2^53, not exact as a double */
    {LINK("/samples"), "-3", false, "link"},
    {LINK("/sha256"), NULL, false, "link"},
    {LINK("/chain"), NULL, false, "link"},
    {LINK("/chain"), "\"00\"", false, "changed"},
    {LINK("/step"), "11", false, "changed"},
    {LINK("/step"), "11", true, NULL},
    {LINK("/sha256"), "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"", true, "changed"},
    {LINK("/seq"), "77", true, "link"}, /* the number of a checkpoint that the bundle does not contain */
};

static void check_answer(struct api_fixture *f, int status, const char *what, const char *with, const char *word,
                         int *wrong)
{
    bool right = word == NULL ? status == 201 : status == 422 && strstr(f->body, word) != NULL;
    if (!right) {
        print_error("%s %s: %d, not %s: %.300s\n", what, with != NULL ? with : "gone", status,
                    word != NULL ? word : "in", f->body);
        ++*wrong;
    }
}

static void changed_manifest_is_refused_where_it_is_wrong(void **state)
{
    struct api_fixture *f = *state;
    char id[STORAGE_ID];
    int wrong = 0, taken = 0;
    trained_job(f, id);
    struct storage_metric metric = {"loss", {10, 0.5}};
    assert_int_equal(storage_metric_append(f->storage, id, &metric, 1, &f->err), STATUS_OK);
    finish_job(f, id, "{\"accuracy\":1}");
    assert_int_equal(ask(f, "GET", path_of(id, "/bundle"), NULL), 200);
    size_t bytes = f->body_bytes;
    char *file = malloc(bytes);
    memcpy(file, f->body, bytes);

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct parts p = take_apart(file, bytes);
        assert_int_equal(p.count, 2);
        change(&p, changes[i].pointer, changes[i].json);
        if (changes[i].chained)
            chain_anew(&p);
        int status = send_parts(f, &p, NULL, NULL);
        check_answer(f, status, changes[i].pointer, changes[i].json, changes[i].word, &wrong);
        taken += status == 201;
        parts_close(&p);
    }

    static const char *const notes[][3] = {{"format", NULL, "kind"},
                                           {"format", "motifd-bundle-9", "kind"},
                                           {"manifest", NULL, "manifest"},
                                           {"manifest_sha256", NULL, "manifest"},
                                           {"manifest_sha256", "00", "changed"},
                                           {"manifest", "{", ""},
                                           {"manifest", "[]", "attestation"}};
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        struct parts p = take_apart(file, bytes);
        check_answer(f, send_parts(f, &p, notes[i][0], notes[i][1]), notes[i][0], notes[i][1], notes[i][2], &wrong);
        parts_close(&p);
    }

    static const char *const metrics[][2] = {{"{\"loss\":[[1,2],[3,null]]}", NULL},
                                             {"{}", NULL},
                                             {"{\"loss\":[]}", NULL},
                                             {"{\"loss\":3}", NULL},
                                             {"{\"loss\":[1]}", "points"},
                                             {"{\"loss\":[[1]]}", "points"},
                                             {"{\"loss\":[[\"1\",2]]}", "points"},
                                             {"{\"loss\":[[1.5,2]]}", "points"},
                                             {"{\"loss\":[[1e300,2]]}", "points"},
                                             {"{\"loss\":[[3,1],[3,2]]}", "do not increase"},
                                             {"{\"\":[[1,2]]}", "name"},
                                             {"{", ""}};
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        struct parts p = take_apart(file, bytes);
        change_metrics(&p, metrics[i][0]);
        int status = send_parts(f, &p, NULL, NULL);
        check_answer(f, status, "metrics", metrics[i][0], metrics[i][1], &wrong);
        taken += status == 201;
        parts_close(&p);
    }
    free(file);
    assert_int_equal(wrong, 0);
    assert_int_equal(ask(f, "GET", "/v1/jobs?limit=100", NULL), 200);
    assert_int_equal(cJSON_GetArraySize(at(f, "/jobs")), taken + 1); /* the refused bundles have left no jobs */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(changed_manifest_is_refused_where_it_is_wrong, api_setup, api_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
