/* Tests lines of the log: whatever their texts contain, each is one JSON object in UTF-8. */
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/process/journal.h"

static void texts_are_escaped_unless_they_are_good_utf8(void **state)
{
    static const struct {
        const char *text, *escaped;
    } cases[] = {
        {"plain", "plain"},
        {"a\"b\\c\nd\te\x7F", "a\\\"b\\\\c\\nd\\u0009e\\u007f"},
        {"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"},
        {"\x80x", "\\u0080x"},                                /* a continuation without a beginning */
        {"\xFFx", "\\u00ffx"},                                /* no byte of UTF-8 */
        {"\xC3", "\\u00c3"},                                  /* ends too early */
        {"\xE2\x82x", "\\u00e2\\u0082x"},                     /* ends too early */
        {"\xC0\xAF", "\\u00c0\\u00af"},                       /* overlong */
        {"\xE0\x80\xAF", "\\u00e0\\u0080\\u00af"},            /* overlong */
        {"\xED\xA0\x80", "\\u00ed\\u00a0\\u0080"},            /* a surrogate */
        {"\xEE\x80\x80", "\xEE\x80\x80"},                     /* behind the surrogates */
        {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},             /* U+10FFFF, the last one */
        {"\xF4\x90\x80\x80", "\\u00f4\\u0090\\u0080\\u0080"}, /* behind it */
    };
    char out[200];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(journal_escape(out, sizeof out, cases[i].text), strlen(cases[i].escaped));
        assert_string_equal(out, cases[i].escaped);
    }
    /* a text that is too long is cut before the first character or escape that does not fit completely */
    assert_int_equal(journal_escape(out, 7, "abc\xE2\x82\xAC"), 6);
    assert_int_equal(journal_escape(out, 6, "abc\xE2\x82\xAC"), 3);
    assert_string_equal(out, "abc");
    assert_int_equal(journal_escape(out, 0, "abc"), 0);
}

static void empty_members_are_left_out(void **state)
{
    struct journal *journal = NULL;
    int ends[2];
    char text[1000];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(journal_open(&journal, ends[1], LOG_LEVEL_INFO, NULL), STATUS_OK);
    journal_line(journal, LOG_LEVEL_INFO, JOURNAL_SERVER, "", "job\n1", "said %d", 7);
    journal_line(journal, LOG_LEVEL_DEBUG, JOURNAL_SERVER, NULL, NULL, "not shown");
    ssize_t got = read(ends[0], text, sizeof text - 1);
    assert_true(got > 0);
    text[got] = '\0';
    assert_non_null(strstr(text, ",\"job\":\"job\\n1\",\"message\":\"said 7\"}\n"));
    assert_null(strstr(text, "request"));
    assert_null(strstr(text, "not shown"));
    journal_line(NULL, LOG_LEVEL_ERROR, JOURNAL_SERVER, NULL, NULL, "nowhere");
    journal_close(journal);
    assert_int_equal(close(ends[0]) + close(ends[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_escaped_unless_they_are_good_utf8),
        cmocka_unit_test(empty_members_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
