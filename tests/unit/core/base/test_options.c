/* Tests the option parser: "--name value" and "--name=value", faults and their messages, ranges of values, help. */
#include "tests/support/unit.h"
#include "core/base/options.h"

static const struct config_field own[] = {OPTION_TEXT("preset", "NAME", ""),
                                          OPTION_TEXT("set", "FIELD=VALUE", ""),
                                          OPTION_FLAG("watch", ""),
                                          OPTION_INTEGER("seed", "N", "3", -10, 10, ""),
                                          OPTION_NUMBER("share", "X", "0.5", 0, 1, ""),
                                          OPTIONS_END};
static const struct config_field shared[] = {OPTION_FLAG("json", ""), OPTION_FLAG("help", ""), OPTIONS_END};

#define PARSE(...)                                                                                                     \
    char *words[] = {__VA_ARGS__};                                                                                     \
    struct options args;                                                                                               \
    struct error err = {0};                                                                                            \
    enum status status = options_parse(own, shared, (int)(sizeof(words) / sizeof(words[0])), words, &args, &err)

static void options_are_read_in_both_forms_and_any_order(void **state)
{
    PARSE("job", "--preset", "a", "--json", "--set=x=1", "--set", "y=2", "-h", "--preset=b", "--", "--watch");
    assert_int_equal(status, STATUS_OK);
    assert_int_equal(args.positional_count, 2);
    assert_string_equal(args.positional[0], "job");
    assert_string_equal(args.positional[1], "--watch");
    assert_string_equal(options_value(&args, "preset"), "b");
    assert_string_equal(args.options[2].value, "x=1");
    assert_string_equal(options_value(&args, "set"), "y=2");
    assert_true(options_has(&args, "json") && options_has(&args, "help"));
    assert_false(options_has(&args, "watch"));
}

static void a_value_may_begin_with_a_dash(void **state)
{
    PARSE("--seed", "-2");
    long long seed;
    assert_int_equal(status, STATUS_OK);
    assert_int_equal(options_integer(&args, "seed", &seed, &err), STATUS_OK);
    assert_int_equal(seed, -2);
}

static void an_unknown_option_is_reported_with_the_closest_known_one(void **state)
{
    PARSE("--prset", "a");
    assert_int_equal(status, STATUS_INVALID);
    assert_string_equal(err.message, "unknown option --prset; did you mean --preset?");
}

static void wrong_use_of_options_is_refused(void **state)
{
    {
        PARSE("--preset");
        assert_int_equal(status, STATUS_INVALID);
        assert_non_null(strstr(err.message, "--preset needs a value"));
    }
    {
        PARSE("--watch=yes");
        assert_int_equal(status, STATUS_INVALID);
        assert_string_equal(err.message, "--watch takes no value");
    }
    {
        PARSE("-x");
        assert_int_equal(status, STATUS_INVALID);
    }
    {
        char *many[OPTIONS_MAX + 2];
        struct options args;
        for (size_t i = 0; i < OPTIONS_MAX + 2; i++)
            many[i] = "word";
        assert_int_equal(options_parse(own, shared, OPTIONS_MAX + 2, many, &args, NULL), STATUS_INVALID);
    }
}

static void integers_outside_the_range_or_with_other_text_are_refused(void **state)
{
    static const char *const bad[] = {"", "x", "1x", "11", "-11", "1.5", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct options args = {.own = own, .option_count = 1, .options = {{"seed", bad[i]}}};
        struct error err = {0};
        long long value;
        assert_int_equal(options_integer(&args, "seed", &value, &err), STATUS_INVALID);
        assert_non_null(strstr(err.message, "--seed must be an integer in [-10, 10]; got"));
    }
}

static void distance_counts_single_letter_changes(void **state)
{
    assert_int_equal(options_distance("watch", "watch"), 0);
    assert_int_equal(options_distance("kitten", "sitting"), 3);
    assert_int_equal(options_distance("", "abc"), 3);
}

static void numbers_outside_the_range_or_with_other_text_are_refused(void **state)
{
    static const char *const bad[] = {"", "x", "1x", "1.01", "-0.1", "nan", "inf"};
    double value;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct options args = {.own = own, .option_count = 1, .options = {{"share", bad[i]}}};
        struct error err = {0};
        assert_int_equal(options_number(&args, "share", &value, &err), STATUS_INVALID);
        assert_non_null(strstr(err.message, "--share must be a number in [0, 1]; got"));
    }
    struct options args = {.own = own, .option_count = 1, .options = {{"share", "2.5e-1"}}};
    assert_int_equal(options_number(&args, "share", &value, NULL), STATUS_OK);
    assert_true(value == 0.25);
    args.option_count = 0;
    assert_int_equal(options_number(&args, "share", &value, NULL), STATUS_OK);
    assert_true(value == 0.5);
    assert_int_equal(options_number(&args, "other", &value, NULL), STATUS_OK);
    assert_true(value == 0.5);
}

/* A program that reports every fault goes on reading after a fault. */
static void reading_continues_after_a_fault(void **state)
{
    char *words[] = {"--nonsense", "--json=1", "file", "-x", "--", "--json", "-"};
    static const struct {
        enum option_fault fault;
        const char *word;
        bool option;
    } wanted[] = {{OPTION_UNKNOWN, "--nonsense", false}, {OPTION_VALUE_UNEXPECTED, "--json=1", true},
                  {OPTION_FINE, "file", false},          {OPTION_UNKNOWN, "-x", false},
                  {OPTION_FINE, "--json", false},        {OPTION_FINE, "-", false}};
    struct option_reader reader = {.own = own, .shared = shared, .argc = 7, .argv = words};
    struct option_item item;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        assert_true(options_next(&reader, &item));
        assert_int_equal(item.fault, wanted[i].fault);
        assert_string_equal(item.word, wanted[i].word);
        assert_int_equal(item.spec != NULL, wanted[i].option);
    }
    assert_false(options_next(&reader, &item));
}

static int longest_line(const char *text)
{
    size_t longest = 0;
    for (; *text != '\0'; text += strcspn(text, "\n"), text += *text == '\n')
        longest = strcspn(text, "\n") > longest ? strcspn(text, "\n") : longest;
    return (int)longest;
}

static void a_long_meaning_is_wrapped_below_itself(void **state)
{
    static const struct config_field table[] = {
        OPTION_TEXT("limit", "N",
                    "at most this many lines are printed, the newest first; lines beyond them are counted, and their "
                    "number follows at the end"),
        OPTIONS_END};
    struct buf out;
    buf_init(&out, 1000);
    options_describe(table, &out);
    assert_string_equal(out.data,
                        "  --limit N                  at most this many lines are printed, the newest first; lines "
                        "beyond them are counted, and\n"
                        "                             their number follows at the end\n");
    assert_in_range(longest_line(out.data), 100, HELP_COLUMNS);
    buf_close(&out);
}

static void an_explanation_is_wrapped_and_keeps_its_table(void **state)
{
    static const char text[] = "Adds two numbers and prints the sum, whatever their sizes are. Use it in scripts that "
                               "have\nnumbers and need a sum. A second sentence fills the line.\n"
                               "  FIRST   the first of the two numbers, which may be larger or smaller than the second "
                               "one, or even equal to it if need be\n"
                               "  SECOND  the second\n\nA paragraph.\n";
    struct buf out;
    buf_init(&out, 4000);
    options_explain(text, &out);
    assert_string_equal(out.data,
                        "Adds two numbers and prints the sum, whatever their sizes are. Use it in scripts that "
                        "have numbers and need a sum. A\nsecond sentence fills the line.\n"
                        "  FIRST   the first of the two numbers, which may be larger or smaller than the second "
                        "one, or even equal to it if need\n          be\n"
                        "  SECOND  the second\n\nA paragraph.\n");
    assert_in_range(longest_line(out.data), 100, HELP_COLUMNS);
    buf_close(&out);
}

static void help_has_one_line_per_option(void **state)
{
    static const struct config_field table[] = {OPTION_TEXT("limit", "N", "at most this many"),
                                                OPTION_FLAG("json", "print JSON"), OPTIONS_END};
    struct buf out;
    buf_init(&out, 1000);
    options_describe(table, &out);
    assert_string_equal(out.data, "  --limit N                  at most this many\n"
                                  "  --json                     print JSON\n");
    buf_close(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_read_in_both_forms_and_any_order),
        cmocka_unit_test(a_value_may_begin_with_a_dash),
        cmocka_unit_test(an_unknown_option_is_reported_with_the_closest_known_one),
        cmocka_unit_test(wrong_use_of_options_is_refused),
        cmocka_unit_test(integers_outside_the_range_or_with_other_text_are_refused),
        cmocka_unit_test(distance_counts_single_letter_changes),
        cmocka_unit_test(numbers_outside_the_range_or_with_other_text_are_refused),
        cmocka_unit_test(reading_continues_after_a_fault),
        cmocka_unit_test(help_has_one_line_per_option),
        cmocka_unit_test(a_long_meaning_is_wrapped_below_itself),
        cmocka_unit_test(an_explanation_is_wrapped_and_keeps_its_table),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
