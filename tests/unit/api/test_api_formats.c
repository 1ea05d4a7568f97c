/* The list of upload formats in GET /v1/datasets: the options of each format, and the values that an option may have.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/data/uploads/collection.h"
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
    const struct collection_format *const *formats = collection_formats(&count);
    assert_int_equal(ask(f, "GET", "/v1/datasets", NULL), 200);
    for (size_t i = 0; i < count; i++)
        for (const struct collection_option_name *o = collection_option_names; o->name; o++) {
            const cJSON *listed = listed_option(f, formats[i]->name, o->name);
            assert_int_equal(listed != NULL, (formats[i]->reads & o->option) != 0);
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(list_of_formats_states_the_values_that_each_option_may_have, setup, teardown)};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("api_formats", tests, NULL, NULL);
}
