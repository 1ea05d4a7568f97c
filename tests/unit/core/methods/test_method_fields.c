/* Tests what the reference pages, the forms and the help texts need from the configuration tables of all methods. */
#include <ctype.h>
#include <math.h>

#include "tests/support/unit.h"
#include "core/methods/method.h"

enum { BASIC_MOST = 12 };

static void each_field(void (*look)(const struct method *method, const struct config_field *field))
{
    size_t count;
    const struct method *const *methods = methods_all(&count);
    assert_true(count > 0);
    for (size_t m = 0; m < count; m++) {
        for (size_t f = 0; f < methods[m]->config.count; f++) {
            assert_non_null(methods[m]->config.fields[f].name);
            look(methods[m], &methods[m]->config.fields[f]);
        }
    }
}

static void one_sentence(const struct method *method, const struct config_field *field)
{
    const char *meaning = field->meaning;
    size_t length = strlen(meaning);
    if (!(length > 2 && (isupper((unsigned char)meaning[0]) || !isalpha((unsigned char)meaning[0])) &&
          meaning[length - 1] == '.'))
        fail_msg("%s.%s: \"%s\" is no sentence", method->kind, field->name, meaning);
}

static void each_meaning_is_a_sentence(void **state)
{
    each_field(one_sentence);
}

static bool is_value(const struct config_field *field, const char *value, size_t length)
{
    static const char *const flags[] = {"true", "false", NULL};
    const char *const *values = field->type == FIELD_BOOL ? flags : field->choices;
    for (; values && *values; values++)
        if (strlen(*values) == length && memcmp(*values, value, length) == 0)
            return true;
    return false;
}

static void known_clauses(const struct method *method, const struct config_field *field)
{
    for (const char *at = field->applies; at && *at; at += strspn(at, " ")) {
        char name[64] = "";
        size_t length = strcspn(at, "=");
        assert_true(length < sizeof name);
        memcpy(name, at, length);
        const struct config_field *asked = config_find(&method->config, name);
        if (!asked || (asked->type != FIELD_CHOICE && asked->type != FIELD_BOOL))
            fail_msg("%s.%s applies by %s, which is no choice", method->kind, field->name, name);
        at += length;
        do {
            at++;
            length = strcspn(at, "| ");
            if (!is_value(asked, at, length)) {
                fail_msg("%s.%s applies by %s=%.*s, which is no value", method->kind, field->name, name, (int)length,
                         at);
            }
            at += length;
        } while (*at == '|');
    }
}

static void each_condition_names_a_field_and_its_values(void **state)
{
    each_field(known_clauses);
}

static void newcomers_see_few_fields(void **state)
{
    size_t count;
    const struct method *const *methods = methods_all(&count);
    for (size_t m = 0; m < count; m++) {
        int basic = 0;
        for (size_t f = 0; f < methods[m]->config.count; f++)
            basic += methods[m]->config.fields[f].level == LEVEL_BASIC;
        if (basic < 3 || basic > BASIC_MOST)
            fail_msg("%s has %d basic fields; 3 to %d are wanted", methods[m]->kind, basic, BASIC_MOST);
    }
}

static void known_default(const struct method *method, const struct config_field *field)
{
    char config[8192] = {0};
    assert_true(method->config.struct_bytes <= sizeof config);
    assert_int_equal(config_defaults(&method->config, config, NULL), STATUS_OK);
    assert_true(config_is_default(&method->config, field, config));
}

static void each_default_is_recognised(void **state)
{
    each_field(known_default);
}

/* Names the fault of an axis in `fault`, which becomes "" if the field exists and allows every value. */
static void look_at_axis(const struct method *method, const struct method_axis *axis, char fault[128])
{
    char config[8192] = {0}, value[CONFIG_TEXT + 1];
    const struct config_field *field = config_find(&method->config, axis->field);
    const char *values = axis->values;
    size_t count = 0;
    fault[0] = '\0';
    if (!field) {
        snprintf(fault, 128, "there is no field %s", axis->field);
        return;
    }
    assert_true(method->config.struct_bytes <= sizeof config);
    for (; method_axis_next(&values, value) && !fault[0]; count++)
        if (config_parse(field, config, value, NULL) != STATUS_OK)
            snprintf(fault, 128, "%s does not allow %s", axis->field, value);
    if (!count)
        snprintf(fault, 128, "%s has no values", axis->field);
}

static void each_preset_allows_the_values_of_its_grid(void **state)
{
    size_t count;
    char fault[128];
    const struct method *const *methods = methods_all(&count);
    for (size_t m = 0; m < count; m++) {
        for (size_t p = 0; p < methods[m]->preset_count; p++) {
            const struct method_preset *preset = &methods[m]->presets[p];
            for (const struct method_axis *axis = preset->grid; axis && axis->field; axis++) {
                look_at_axis(methods[m], axis, fault);
                if (fault[0])
                    fail_msg("%s %s: %s", methods[m]->kind, preset->name, fault);
            }
            assert_true(preset->seeds >= 0 && preset->seeds <= 100);
            if (preset->seeds > 1)
                assert_non_null(config_find(&methods[m]->config, "seed"));
        }
    }
}

static void a_wrong_grid_is_found(void **state)
{
    static const struct method_axis axes[] = {{"p", "0.1  0.2"}, {"p", "0.1 2"}, {"p", " "}, {"none", "1"}, {NULL, ""}};
    static const char *const wanted[] = {"", "p does not allow 2", "p has no values", "there is no field none"};
    const struct method *method = method_find("superposition");
    char fault[128];
    assert_non_null(method);
    for (size_t i = 0; axes[i].field; i++) {
        look_at_axis(method, &axes[i], fault);
        assert_string_equal(fault, wanted[i]);
    }
    assert_false(method_preset_is_study(&(struct method_preset){.grid = &axes[4], .seeds = 1}));
    assert_true(method_preset_is_study(&(struct method_preset){.grid = axes}));
    assert_true(method_preset_is_study(&(struct method_preset){.seeds = 2}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_meaning_is_a_sentence),
        cmocka_unit_test(each_condition_names_a_field_and_its_values),
        cmocka_unit_test(newcomers_see_few_fields),
        cmocka_unit_test(each_default_is_recognised),
        cmocka_unit_test(each_preset_allows_the_values_of_its_grid),
        cmocka_unit_test(a_wrong_grid_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
