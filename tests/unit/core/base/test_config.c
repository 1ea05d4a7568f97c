/* Tests the configuration tables of core/base/config.h: defaults, overrides, refusals, and when a field applies. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/values.h"

struct settings {
    int64_t threads, big;
    double density, rate, free;
    bool lstm;
    int norm;
    char name[CONFIG_TEXT];
};

static const char *const norms[] = {"post", "pre", NULL};
#define AT(member) offsetof(struct settings, member)
static const struct config_field fields[] = {
    {"threads", FIELD_INT, AT(threads), "2", 1, 64, false, false, NULL, "threads", "how many", GROUP_DATA,
     LEVEL_ADVANCED, NULL},
    {"big", FIELD_INT, AT(big), "9007199254740991", 0, INFINITY, false, false, NULL, "", "large", GROUP_DATA,
     LEVEL_ADVANCED, NULL},
    {"density", FIELD_REAL, AT(density), "0.75", 0, 1, true, false, NULL, "", "share", GROUP_DATA, LEVEL_ADVANCED,
     NULL},
    {"rate", FIELD_REAL, AT(rate), "1e-3", 0, INFINITY, true, false, NULL, "", "speed", GROUP_DATA, LEVEL_ADVANCED,
     NULL},
    {"free", FIELD_REAL, AT(free), "-2.5", -INFINITY, INFINITY, false, false, NULL, "", "anything", GROUP_DATA,
     LEVEL_ADVANCED, NULL},
    {"lstm", FIELD_BOOL, AT(lstm), "true", 0, 0, false, false, NULL, "", "whether", GROUP_DATA, LEVEL_ADVANCED, NULL},
    {"norm", FIELD_CHOICE, AT(norm), "pre", 0, 0, false, false, norms, "", "which", GROUP_DATA, LEVEL_ADVANCED, NULL},
    {"name", FIELD_TEXT, AT(name), "default", 0, 0, false, false, NULL, "", "what", GROUP_DATA, LEVEL_ADVANCED, NULL},
};
static const struct config_table table = CONFIG_TABLE(fields, struct settings);

static void defaults_fill_every_field(void **state)
{
    struct settings s;
    memset(&s, 0xff, sizeof s);
    assert_int_equal(config_defaults(&table, &s, NULL), STATUS_OK);
    assert_int_equal(s.threads, 2);
    assert_int_equal(s.big, INT64_C(9007199254740991));
    assert_true(s.density == 0.75 && s.rate == 1e-3 && s.free == -2.5 && s.lstm);
    assert_int_equal(s.norm, 1);
    assert_string_equal(s.name, "default");
    assert_true(config_number(config_find(&table, "threads"), &s) == 2.0);
    assert_true(config_number(config_find(&table, "density"), &s) == 0.75);
    assert_true(config_bool(config_find(&table, "lstm"), &s));
    assert_string_equal(config_text(config_find(&table, "norm"), &s), "pre");
    assert_string_equal(config_text(config_find(&table, "name"), &s), "default");
    assert_null(config_find(&table, "Threads"));

    struct config_field broken = fields[0];
    broken.preset = "65";
    const struct config_table bad = {&broken, 1, sizeof s};
    struct error err;
    error_clear(&err);
    assert_int_equal(config_defaults(&bad, &s, &err), STATUS_INTERNAL);
    assert_non_null(strstr(err.message, "threads"));
}

static void settings_override_defaults(void **state)
{
    struct settings s;
    struct error err;
    assert_int_equal(config_defaults(&table, &s, NULL), STATUS_OK);
    const struct config_setting good[] = {{"density", "5e-1"}, {"norm", "post"}, {"lstm", "false"}, {NULL, NULL}};
    assert_int_equal(config_apply(&table, &s, good, NULL), STATUS_OK);
    assert_true(s.density == 0.5 && s.norm == 0 && !s.lstm && s.threads == 2);
    const struct config_setting unknown[] = {{"densitty", "0.5"}, {NULL, NULL}};
    error_clear(&err);
    assert_int_equal(config_apply(&table, &s, unknown, &err), STATUS_INTERNAL);
    assert_int_equal(config_apply(&table, &s, NULL, NULL), STATUS_OK);
}

static void flags_take_yes_no_true_and_false(void **state)
{
    static const char *const texts[] = {"true", "yes", "false", "no"};
    const struct config_field *lstm = config_find(&table, "lstm");
    struct settings s;
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(config_parse(lstm, &s, texts[i], NULL), STATUS_OK);
        assert_int_equal(config_bool(lstm, &s), i < 2);
    }
    assert_int_equal(config_parse(lstm, &s, "Yes", NULL), STATUS_INVALID);
}

/* Compares whole messages, not only parts, because people read them. */
static void refusal_says_what_is_allowed_and_what_was_found(void **state)
{
    static const struct {
        const char *field, *text, *message;
    } bad[] = {
        {"threads", "0", "must be an integer in [1, 64]; got 0"},
        {"threads", "65", "must be an integer in [1, 64]; got 65"},
        {"threads", "2.5", "must be an integer in [1, 64]; got 2.5"},
        {"threads", "", "must be an integer in [1, 64]; got \"\""},
        {"threads", "two", "must be an integer in [1, 64]; got \"two\""},
        {"threads", " 2", "must be an integer in [1, 64]; got \" 2\""},
        {"threads", "0x10", "must be an integer in [1, 64]; got \"0x10\""},
        {"threads", "1e2e3", "must be an integer in [1, 64]; got \"1e2e3\""},
        {"big", "9007199254740993", "must be an integer of at least 0; got 9007199254740992"},
        {"big", "1e300", "must be an integer of at least 0; got 1e+300"},
        {"density", "0", "must be a number in (0, 1]; got 0"},
        {"density", "1.0000001", "must be a number in (0, 1]; got 1.0000001"},
        {"density", "nan", "must be a number in (0, 1]; got \"nan\""},
        {"rate", "0", "must be a number above 0; got 0"},
        {"rate", "inf", "must be a number above 0; got \"inf\""},
        {"rate", "1e999", "must be a number above 0; got inf"},
        {"lstm", "1", "must be true, false, yes or no; got \"1\""},
        {"norm", "Pre", "must be one of post, pre; got \"Pre\""},
        {"name", "0123456789012345678901234567890123456789012345678901234567890123",
         "must be text of at most 63 bytes without control characters; got \"01234567890123456789012345678901...\""},
        {"name", "a\nb", "must be text of at most 63 bytes without control characters; got a control character"},
    };
    struct settings s, before;
    assert_int_equal(config_defaults(&table, &s, NULL), STATUS_OK);
    before = s;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct error err;
        error_clear(&err);
        assert_int_equal(config_parse(config_find(&table, bad[i].field), &s, bad[i].text, &err), STATUS_INVALID);
        assert_string_equal(err.message, bad[i].message);
        assert_string_equal(err.pointer, "");
        assert_memory_equal(&s, &before, sizeof s);
    }
}

static void value_of_a_wrong_type_is_refused_and_changes_nothing(void **state)
{
    struct settings s, before;
    struct error err;
    assert_int_equal(config_defaults(&table, &s, NULL), STATUS_OK);
    before = s;
    const struct config_field *flag = config_find(&table, "lstm"), *count = config_find(&table, "threads"),
                              *choice = config_find(&table, "norm"), *free_number = config_find(&table, "free");
    error_clear(&err);
    assert_int_equal(config_set_number(flag, &s, 1, &err), STATUS_INVALID);
    assert_string_equal(err.message, "must be true, false, yes or no; got the number 1");
    assert_int_equal(config_set_number(choice, &s, 1, NULL), STATUS_INVALID);
    assert_int_equal(config_set_bool(count, &s, true, NULL), STATUS_INVALID);
    assert_int_equal(config_set_text(count, &s, "2", NULL), STATUS_INVALID);
    assert_int_equal(config_set_text(flag, &s, "true", NULL), STATUS_INVALID);
    assert_int_equal(config_set_number(free_number, &s, NAN, NULL), STATUS_INVALID);
    assert_int_equal(config_set_number(free_number, &s, -INFINITY, NULL), STATUS_INVALID);
    assert_memory_equal(&s, &before, sizeof s);
    assert_int_equal(config_set_number(free_number, &s, -1e300, NULL), STATUS_OK);
    assert_int_equal(config_set_number(count, &s, 64, NULL), STATUS_OK);
    assert_int_equal(config_set_number(count, &s, 1, NULL), STATUS_OK);
}

static void a_number_sets_a_text_field_to_its_shortest_decimal(void **state)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{500, "500"},
                 {-2, "-2"},
                 {0, "0"},
                 {0.1, "0.1"},
                 {2024, "2024"},
                 {1e-3, "0.001"},
                 {1.0 / 3, "0.3333333333333333"},
                 {CONFIG_INT_MAX, "9007199254740991"}};
    static const double lost[] = {CONFIG_INT_MAX + 1, -1e22, INFINITY, NAN};
    struct settings s;
    struct error err;
    const struct config_field *name = config_find(&table, "name");
    assert_int_equal(config_defaults(&table, &s, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(config_set_number(name, &s, cases[i].number, NULL), STATUS_OK);
        assert_string_equal(s.name, cases[i].text);
    }
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        assert_int_equal(config_set_number(name, &s, lost[i], NULL), STATUS_INVALID);
    assert_string_equal(s.name, "9007199254740991");
    error_clear(&err);
    assert_int_equal(config_set_number(name, &s, 1e22, &err), STATUS_INVALID);
    assert_string_equal(err.message, "must be text of at most 63 bytes without control characters; got the number "
                                     "1e+22, which needs quotation marks");
}

/* Equal settings must be equal bytes, because documents are compared and hashed. */
static void shorter_text_leaves_no_rest_of_a_longer_one(void **state)
{
    struct settings a, b;
    assert_int_equal(config_defaults(&table, &a, NULL), STATUS_OK);
    assert_int_equal(config_defaults(&table, &b, NULL), STATUS_OK);
    const struct config_field *name = config_find(&table, "name");
    assert_int_equal(config_parse(name, &a, "a much longer text than the other", NULL), STATUS_OK);
    assert_int_equal(config_parse(name, &a, "x", NULL), STATUS_OK);
    assert_int_equal(config_parse(name, &b, "x", NULL), STATUS_OK);
    assert_memory_equal(&a, &b, sizeof a);
}

/* A table in which fields depend on a choice and on a flag: first the names of the choice, then the fields. */
static const char *const heads[] = {"lstm", "transformer", "splice", NULL};
static const struct config_field dependent[] = {
    {"head", FIELD_CHOICE, AT(norm), "transformer", 0, 0, false, false, heads, "", "Head.", GROUP_MODEL, LEVEL_BASIC,
     NULL},
    {"lstm", FIELD_BOOL, AT(lstm), "true", 0, 0, false, false, NULL, "", "Flag.", GROUP_MODEL, LEVEL_ADVANCED, ""},
    {"threads", FIELD_INT, AT(threads), "2", 1, 64, false, false, NULL, "", "Number.", GROUP_DATA, LEVEL_RESEARCH,
     "head=lstm|splice"},
    {"rate", FIELD_REAL, AT(rate), "1e-3", 0, 1, true, false, NULL, "", "Rate.", GROUP_OPTIMIZER, LEVEL_BASIC,
     "head=transformer|lstm lstm=true"},
    {"density", FIELD_REAL, AT(density), "0.75", 0, 1, true, false, NULL, "", "Density.", GROUP_SPARSITY, LEVEL_BASIC,
     "absent=true"},
    {"free", FIELD_REAL, AT(free), "0", 0, 1, false, false, NULL, "", "Free.", GROUP_SPARSITY, LEVEL_BASIC,
     "threads=2"},
    {"name", FIELD_TEXT, AT(name), "x", 0, 0, false, false, NULL, "", "Name.", GROUP_EVALUATION, LEVEL_BASIC,
     "head=trans"},
};
static const struct config_table dependent_table = CONFIG_TABLE(dependent, struct settings);

static bool applies(const struct settings *s, const char *name)
{
    return config_applies(&dependent_table, config_find(&dependent_table, name), s);
}

static void field_applies_if_every_clause_holds(void **state)
{
    struct settings s;
    assert_int_equal(config_defaults(&dependent_table, &s, NULL), STATUS_OK);
    assert_true(applies(&s, "rate")); /* by default head is transformer and lstm is true */
    s.lstm = false;
    assert_false(applies(&s, "rate"));
    s.lstm = true;
    s.norm = 2; /* now head is splice */
    assert_false(applies(&s, "rate"));
}

static void clause_holds_for_each_of_its_values(void **state)
{
    struct settings s;
    assert_int_equal(config_defaults(&dependent_table, &s, NULL), STATUS_OK);
    static const bool expected[] = {true, false, true}; /* for head = lstm, transformer, splice */
    for (s.norm = 0; s.norm < 3; s.norm++)
        assert_int_equal(applies(&s, "threads"), expected[s.norm]);
}

static void field_without_clauses_always_applies(void **state)
{
    struct settings s;
    assert_int_equal(config_defaults(&dependent_table, &s, NULL), STATUS_OK);
    assert_true(applies(&s, "head")); /* `applies` is NULL */
    assert_true(applies(&s, "lstm")); /* `applies` is "" */
}

static void clause_about_unknown_field_number_or_part_of_a_name_never_holds(void **state)
{
    struct settings s;
    assert_int_equal(config_defaults(&dependent_table, &s, NULL), STATUS_OK);
    assert_false(applies(&s, "density")); /* the condition is absent=true, but no field has this name */
    assert_false(applies(&s, "free"));    /* the condition is threads=2, but threads is a number */
    assert_false(applies(&s, "name"));    /* the condition is head=trans, but the value of head is "transformer" */
}

static void is_default_compares_each_type_with_its_default(void **state)
{
    struct settings s;
    assert_int_equal(config_defaults(&table, &s, NULL), STATUS_OK);
    for (size_t i = 0; i < table.count; i++)
        assert_true(config_is_default(&table, &fields[i], &s));
    static const struct config_setting changed[] = {
        {"threads", "3"},  {"big", "7"},     {"density", "0.5"}, {"rate", "1"}, {"free", "0"},
        {"lstm", "false"}, {"norm", "post"}, {"name", "other"},  {NULL, NULL},
    };
    for (size_t i = 0; i < table.count; i++) {
        assert_int_equal(config_parse(config_find(&table, changed[i].field), &s, changed[i].value, NULL), STATUS_OK);
        assert_false(config_is_default(&table, config_find(&table, changed[i].field), &s));
    }
    assert_int_equal(config_parse(config_find(&table, "density"), &s, "7.5e-1", NULL), STATUS_OK);
    assert_true(config_is_default(&table, config_find(&table, "density"), &s));
}

static void groups_and_levels_have_distinct_names(void **state)
{
    static const char *const groups[] = {"data", "model", "sparsity", "annealing", "optimizer", "evaluation"};
    static const char *const levels[] = {"basic", "advanced", "research", "fact"};
    assert_int_equal(sizeof groups / sizeof groups[0], FIELD_GROUPS);
    assert_int_equal(sizeof levels / sizeof levels[0], FIELD_LEVELS);
    for (int group = 0; group < FIELD_GROUPS; group++)
        assert_string_equal(config_group_name((enum field_group)group), groups[group]);
    for (int level = 0; level < FIELD_LEVELS; level++)
        assert_string_equal(config_level_name((enum field_level)level), levels[level]);
}

/* Each source has its quotation marks and its form of numbers; the range and the rule are the same. */
static void sources_word_the_same_fault_in_their_own_way(void **state)
{
    static const char *const names[] = {"dense", "sparse", NULL};
    static const struct config_field count = {.name = "count", .type = FIELD_INT, .min = 1, .max = 1000000};
    static const struct config_field flag = {.name = "flag", .type = FIELD_BOOL};
    static const struct config_field kind = {.name = "kind", .type = FIELD_CHOICE, .choices = names};
    static const struct config_field text = {.name = "text", .type = FIELD_TEXT, .max = 3};
    static const struct {
        const struct config_field *field;
        enum value_source source;
        const char *text, *message;
    } faults[] = {
        {&count, VALUE_CONFIG, "0", "must be an integer in [1, 1e+06]; got 0"},
        {&count, VALUE_SETTING, "0", "must be an integer in [1, 1000000]; got \"0\""},
        {&count, VALUE_OPTION, "1e3", "must be an integer in [1, 1000000]; got 1e3"},
        {&count, VALUE_QUERY, "+5", "must be an integer in [1, 1000000]; got '+5'"},
        {&flag, VALUE_CONFIG, "1", "must be true, false, yes or no; got \"1\""},
        {&flag, VALUE_QUERY, "yes", "must be 0 or 1; got 'yes'"},
        {&kind, VALUE_QUERY, "odd", "must be one of dense, sparse; got 'odd'"},
        {&text, VALUE_QUERY, "", "must be 1 to 3 bytes of text"},
        {&text, VALUE_SETTING, "long", "must be shorter than 4 bytes"},
        {&text, VALUE_CONFIG, "long", "must be text of at most 3 bytes without control characters; got \"long\""},
    };
    struct value value;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct error err = {0};
        assert_int_equal(value_read(faults[i].field, faults[i].source, faults[i].text, &value, &err), STATUS_INVALID);
        assert_string_equal(err.message, faults[i].message);
    }
    assert_int_equal(value_read(&count, VALUE_CONFIG, "1e3", &value, NULL), STATUS_OK);
    assert_int_equal(value.integer, 1000);
    assert_int_equal(value_read(&count, VALUE_OPTION, " +7", &value, NULL), STATUS_OK);
    assert_int_equal(value.integer, 7);
    assert_int_equal(value_read(&kind, VALUE_SETTING, "sparse", &value, NULL), STATUS_OK);
    assert_int_equal(value.choice, 1);
    assert_int_equal(value_read(&flag, VALUE_QUERY, "1", &value, NULL), STATUS_OK);
    assert_true(value.flag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_fill_every_field),
        cmocka_unit_test(settings_override_defaults),
        cmocka_unit_test(flags_take_yes_no_true_and_false),
        cmocka_unit_test(refusal_says_what_is_allowed_and_what_was_found),
        cmocka_unit_test(value_of_a_wrong_type_is_refused_and_changes_nothing),
        cmocka_unit_test(a_number_sets_a_text_field_to_its_shortest_decimal),
        cmocka_unit_test(shorter_text_leaves_no_rest_of_a_longer_one),
        cmocka_unit_test(field_applies_if_every_clause_holds),
        cmocka_unit_test(clause_holds_for_each_of_its_values),
        cmocka_unit_test(field_without_clauses_always_applies),
        cmocka_unit_test(clause_about_unknown_field_number_or_part_of_a_name_never_holds),
        cmocka_unit_test(is_default_compares_each_type_with_its_default),
        cmocka_unit_test(sources_word_the_same_fault_in_their_own_way),
        cmocka_unit_test(groups_and_levels_have_distinct_names),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
