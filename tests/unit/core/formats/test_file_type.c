/* Tests that the table of file formats contains every format of the queries of all methods, and that names and
 * endings are unique. Clients find a format by its name or by the ending of a file. */
#include <strings.h>

#include "tests/support/unit.h"
#include "core/data/files/input_file.h"
#include "core/formats/file_type.h"
#include "core/methods/method.h"

enum { TYPES = 64 };
static const struct file_type *types[TYPES]; /* the formats of all queries, each once */
static size_t count;

static void add(const char *media_type)
{
    const struct file_type *type = file_type_of(media_type);
    if (!type)
        print_error("%s is not in core/formats/file_type.c\n", media_type);
    assert_non_null(type);
    for (size_t i = 0; i < count; i++)
        if (types[i] == type)
            return;
    assert_true(count < TYPES);
    types[count++] = type;
}

static void every_format_of_a_query_is_in_the_table(void **state)
{
    size_t method_count;
    const struct method *const *methods = methods_all(&method_count);
    for (size_t m = 0; m < method_count; m++)
        for (size_t q = 0; q < methods[m]->query_count; q++) {
            const struct method_query *query = &methods[m]->queries[q];
            for (size_t t = 0; t < query->text_count; t++)
                add(query->texts[t].type);
            for (const char *const *file = query->files; file && *file; file++)
                add(*file);
        }
    for (const char *const *type = input_file_types; *type; type++)
        add(*type);
}

static void every_format_has_a_name_and_endings_of_its_own(void **state)
{
    assert_true(count > 8);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(types[i]->endings[0]);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(types[i]->name, types[j]->name);
            for (int a = 0; a < FILE_TYPE_ENDINGS && types[i]->endings[a]; a++)
                for (int b = 0; b < FILE_TYPE_ENDINGS && types[j]->endings[b]; b++)
                    assert_int_not_equal(strcasecmp(types[i]->endings[a], types[j]->endings[b]), 0);
        }
    }
    assert_null(file_type_of("text/x-unknown"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_of_a_query_is_in_the_table),
        cmocka_unit_test(every_format_has_a_name_and_endings_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
