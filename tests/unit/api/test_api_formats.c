/* The options of uploads: the list of upload formats in GET /v1/datasets has the options of each format and the values
 * that an option may have, and options change the hash that jobs store. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/hash.h"
#include "core/data/dataset.h"
#include "core/data/uploads/collection.h"
#include "storage/files/dataset.h"
#include "tests/unit/api/api_sweep.h"

static char root[64];

static int setup(void **state)
{
    if (api_setup(state) != 0)
        return -1;
    struct api_fixture *f = *state;
    (void)snprintf(root, sizeof root, "%s/motifd-formats-XXXXXX", scratch());
    assert_non_null(mkdtemp(root));
    f->options.data = root;
    api_destroy(f->api);
    assert_int_equal(api_create(&f->options, &f->api, &f->err), STATUS_OK);
    return 0;
}

static int teardown(void **state)
{
    char command[100];
    (void)snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command) == 0 ? api_teardown(state) : -1;
}

/* Returns an option of a format in the list of formats, or NULL. */
static const cJSON *listed_option(const struct api_fixture *f, const char *format, const char *option)
{
    const cJSON *form, *o;
    cJSON_ArrayForEach (form, cJSON_GetObjectItemCaseSensitive(f->json, "formats"))
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(form, "name")), format) == 0)
            cJSON_ArrayForEach (o, cJSON_GetObjectItemCaseSensitive(form, "options"))
                if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "name")), option) == 0)
                    return o;
    return NULL;
}

/* True if the option has exactly these values, separated by spaces. */
static bool has_choices(const cJSON *option, const char *values)
{
    char text[200] = "";
    const cJSON *c;
    cJSON_ArrayForEach (c, cJSON_GetObjectItemCaseSensitive(option, "choices"))
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", text[0] ? " " : "", c->valuestring);
    return strcmp(text, values) == 0;
}

/* The web page offers exactly the options and values of this list. */
static void list_of_formats_states_the_values_that_each_option_may_have(void **state)
{
    struct api_fixture *f = *state;
    size_t count;
    char command[600];
    const struct collection_format *formats = collection_formats(&count);
    assert_int_equal(ask(f, "GET", "/v1/datasets", NULL), 200);
    for (size_t i = 0; i < count; i++)
        for (const struct collection_option_row *o = collection_option_rows; o->field.name; o++) {
            const cJSON *listed = listed_option(f, formats[i].name, o->field.name);
            assert_int_equal(listed != NULL, (formats[i].reads & o->option) != 0);
            assert_true(!listed ||
                        strlen(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(listed, "meaning"))) > 10);
        }
    assert_true(has_choices(listed_option(f, "csv", "layout"), "signals"));
    assert_true(has_choices(listed_option(f, "npz", "layout"), "channels-last channels-first signals"));
    assert_true(has_choices(listed_option(f, "fasta", "negatives"), "none shuffle"));
    assert_true(has_choices(listed_option(f, "bed", "negatives"), "none shuffle gc"));
    assert_true(has_choices(listed_option(f, "bed", "genome"), ""));
    const cJSON *window = listed_option(f, "bed", "window");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(window, "type")), "integer");
    assert_int_equal(cJSON_GetObjectItemCaseSensitive(window, "max")->valueint, 1000000);
    (void)snprintf(command, sizeof command,
                   "mkdir '%s/mm10' '%s/hg38' '%s/empty' && touch '%s/mm10/genome.fa.fai' '%s/hg38/genome.fa.gz.fai'",
                   root, root, root, root, root);
    assert_int_equal(system(command), 0);
    assert_int_equal(ask(f, "GET", "/v1/datasets", NULL), 200);
    assert_true(has_choices(listed_option(f, "bed", "genome"), "hg38 mm10"));
    assert_true(has_choices(listed_option(f, "tar", "genome"), "hg38 mm10"));
    assert_string_equal(collection_option_meaning((enum collection_option)(1 << 30), "csv"), "");
}

static const char csv[] = "a,b,label\n1,2,1\n3,4,2\n5,6,1\n";

static int put(struct api_fixture *f, const char *target)
{
    header(f, "Content-Type", "text/csv");
    return ask(f, "PUT", target, csv);
}

static void read_hash(struct api_fixture *f, const char *name, char hash[DATASET_HASH_KEPT + 1])
{
    char folder[DATASET_PATH];
    assert_int_equal(dataset_folder(root, name, folder, &f->err), STATUS_OK);
    assert_int_equal(dataset_hash(folder, hash, &f->err), STATUS_OK);
}

/* Jobs must tell sets apart that differ only in their options. The public hash is that of the bytes. An option that
 * changes nothing, because the reader would have used its value anyway, is the same as none. */
static void options_change_the_hash_that_jobs_store(void **state)
{
    static const char *const options[] = {
        "", "?label=b", "?label=label", "?group=b", "?layout=signals", "?target=class", "?label=b&group=a"};
    enum { SETS = sizeof options / sizeof options[0] };
    static const bool implied[SETS] = {[0] = true, [2] = true, [5] = true};
    struct api_fixture *f = *state;
    unsigned char digest[HASH_BYTES];
    char target[200], name[8], hex[HASH_TEXT], hash[SETS][DATASET_HASH_KEPT + 1], again[DATASET_HASH_KEPT + 1];
    hash_bytes(csv, strlen(csv), digest);
    hash_hex(digest, hex);
    for (int i = 0; i < SETS; i++) {
        (void)snprintf(name, sizeof name, "set%d", i);
        (void)snprintf(target, sizeof target, "/v1/datasets/%s%s", name, options[i]);
        assert_int_equal(put(f, target), 201);
        assert_string_equal(text_at(f, "/sha256"), hex);
        read_hash(f, name, hash[i]);
        assert_int_equal(strncmp(hash[i], hex, DATASET_HASH_KEPT) == 0, implied[i]);
        for (int before = 0; before < i; before++)
            assert_int_equal(strcmp(hash[i], hash[before]) == 0, implied[i] && implied[before]);
        (void)snprintf(target, sizeof target, "/v1/datasets/again%s", options[i]);
        assert_int_equal(put(f, target), 201);
        read_hash(f, "again", again);
        assert_string_equal(again, hash[i]);
        assert_int_equal(ask(f, "DELETE", "/v1/datasets/again", NULL), 204);
    }
    /* jobs keep the hash, so later versions must compute the same one */
    assert_string_equal(hash[1], "265b88df83a9e6d33c67c0c381e32dba3811bea6");
    assert_string_equal(hash[6], "f4770612c6ef524847b6c700e6333084b2913db7");
}

/* Two uploads whose options have the same effect are the same set, in whatever order they come. The document has the
 * options that have an effect, and those that the client has stated. */
static void option_without_an_effect_is_the_same_as_none(void **state)
{
    static const struct {
        const char *type, *body, *with, *without, *other;
    } cases[] = {
        {"text/csv", csv, "label=label&target=class", "", "label=b"},
        {"text/csv", "class,group,a\nx y,u,1\nx,v,2\n", "group=group&label=class&target=class", "", "target=sequence"},
        {"text/csv", "label,a\nx y,1\nx,2\n", "target=class", "label=label", "target=sequence"},
        {"text/x-fasta", ">a x\nACGT\n>b y\nACGA\n", "target=class&negatives=none", "", "target=labels"},
        {"text/x-fasta", ">a x y\nACGT\n>b y\nACGA\n", "target=sequence", "negatives=none", "target=labels"}};
    struct api_fixture *f = *state;
    char target[200];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int turned = 0; turned < 2; turned++) {
            const char *const queries[] = {turned ? cases[i].without : cases[i].with,
                                           turned ? cases[i].with : cases[i].without, cases[i].other};
            static const int statuses[] = {201, 200, 409};
            for (int q = 0; q < 3; q++) {
                (void)snprintf(target, sizeof target, "/v1/datasets/same?%s", queries[q]);
                header(f, "Content-Type", cases[i].type);
                int status = ask(f, "PUT", target, cases[i].body);
                if (status != statuses[q])
                    fail_msg("case %zu, %s after %s: %d", i, queries[q], queries[0], status);
            }
            assert_int_equal(ask(f, "GET", "/v1/datasets/same", NULL), 200);
            assert_string_equal(text_at(f, "/options/label"), "");
            assert_string_equal(text_at(f, "/options/target"), "");
            if (i == 0 && turned == 0)
                assert_string_equal(text_at(f, "/stated/target"), "class");
            assert_int_equal(ask(f, "DELETE", "/v1/datasets/same", NULL), 204);
        }
    /* a text with a blank is one class, but would be two tokens */
    header(f, "Content-Type", "text/x-fasta");
    assert_int_equal(ask(f, "PUT", "/v1/datasets/same?target=class", ">a x y\nACGT\n>b y\nACGA\n"), 201);
    assert_string_equal(text_at(f, "/options/target"), "class");
}

/* The team may read the document of a data set, with its options, so a refusal may name options of another owner's set.
 * Only its owner and administrators may delete it. */
static void refusal_of_other_options_says_no_more_than_the_document(void **state)
{
    struct api_fixture *f = *state;
    f->who = "first";
    assert_int_equal(put(f, "/v1/datasets/one?label=b&group=a"), 201);
    f->who = "second";
    f->scope = API_SCOPE_SUBMIT;
    assert_int_equal(put(f, "/v1/datasets/one?label=a"), 409);
    assert_string_equal(text_at(f, "/detail"),
                        "The data set one has the same file but other options (label, group), and data sets never "
                        "change: choose another name, or delete it first (motifctl datasets delete one).");
    assert_int_equal(ask(f, "GET", "/v1/datasets/one", NULL), 200);
    assert_string_equal(text_at(f, "/options/label"), "b");
    assert_string_equal(text_at(f, "/options/group"), "a");
    assert_int_equal(ask(f, "DELETE", "/v1/datasets/one", NULL), 403);
    assert_string_equal(text_at(f, "/detail"),
                        "Only its owner first, the managers and administrators may delete the data set one; "
                        "this token is a member.");
    f->who = "first";
    assert_int_equal(ask(f, "DELETE", "/v1/datasets/one", NULL), 204);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(list_of_formats_states_the_values_that_each_option_may_have, setup, teardown),
        cmocka_unit_test_setup_teardown(options_change_the_hash_that_jobs_store, setup, teardown),
        cmocka_unit_test_setup_teardown(option_without_an_effect_is_the_same_as_none, setup, teardown),
        cmocka_unit_test_setup_teardown(refusal_of_other_options_says_no_more_than_the_document, setup, teardown)};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("api_formats", tests, NULL, NULL);
}
