/* Tests the check of UTF-8 text, the rule for control characters, and the escapes that replace them. */
#include "core/base/utf8.h"

#include "tests/support/unit.h"

static bool printable(const char *text)
{
    return utf8_printable(text, strlen(text));
}

static void names_cannot_contain_control_characters(void **state)
{
    (void)state;
    assert_true(printable(""));
    assert_true(printable("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x80\x8d"));
    const char *const bad[] = {
        "a\nb",         "\x1b[31m",         "\x7f",         "a\xc2\x80",    "\xc2\x9b;31m",
        "\xd8\x9c",     "\xe2\x80\x8e",     "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6",
        "\xef\xbf\xb9", "\xf3\xa0\x80\x81", "\xff",         "a\xc3",        "\xed\xa0\x80", /* a surrogate */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(printable(bad[i]));
    assert_true(printable("\xc2\xa0")); /* U+00A0 is the first character after the controls C1 */
    /* U+202F is the first character after U+202E, which reverses the direction of text */
    assert_true(printable("\xe2\x80\xaf"));
    assert_false(utf8_printable("a\0b", 3));
    const char text[] = "a\xe2\x82\xac"
                        "b"; /* a cut text has only whole characters */
    static const size_t cuts[] = {0, 1, 1, 1, 4, 5, 5};
    for (size_t most = 0; most < sizeof cuts / sizeof cuts[0]; most++)
        assert_int_equal(utf8_cut(text, 5, most), cuts[most]);
}

static void expect(const char *text, enum utf8_escapes escapes, const char *wanted)
{
    struct buf out;
    buf_init(&out, 1024);
    utf8_escape(&out, text, strlen(text), escapes);
    assert_false(out.failed);
    assert_string_equal(out.data, wanted);
    buf_close(&out);
}

static void escapes_replace_control_characters(void **state)
{
    (void)state;
    expect("a\x1b[31mb", UTF8_FOR_TERMINAL, "a\\x1b[31mb");
    expect("\xc2\x9b"
           "31m\xc3\xa4",
           UTF8_FOR_TERMINAL, "\\x9b31m\xc3\xa4");
    expect("\xe2\x80\xae"
           "x\xf3\xa0\x80\x81",
           UTF8_FOR_TERMINAL, "\\u202ex\\U000e0001");
    expect("a\n\xff", UTF8_FOR_TERMINAL, "a\\x0a\\xff");
    expect("\"a\x7f\xc2\x9b\xe2\x80\xae\"\n", UTF8_FOR_JSON, "\"a\\u007f\\u009b\\u202e\"\n");
    expect("\xf3\xa0\x80\x81\xff", UTF8_FOR_JSON, "\\udb40\\udc01\\ufffd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_cannot_contain_control_characters),
        cmocka_unit_test(escapes_replace_control_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
