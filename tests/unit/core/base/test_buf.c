/* Tests the byte buffer: growth, its limit, and failed allocations. */
#include "tests/support/unit.h"
#include "core/base/buf.h"
#include "tests/support/fault.h"

static void buffer_grows_and_stays_terminated(void **state)
{
    struct buf buf;
    buf_init(&buf, 100000);
    char wanted[6000] = "";
    for (int i = 0; i < 500; i++) {
        char piece[16];
        (void)snprintf(piece, sizeof piece, "%d,", i);
        strcat(wanted, piece);
        if (i % 2 == 0)
            buf_format(&buf, "%d%s", i, ",");
        else
            buf_text(&buf, piece);
        assert_int_equal(buf.data[buf.size], '\0');
        assert_true(buf.capacity > buf.size);
    }
    buf_append(&buf, NULL, 0);
    assert_string_equal(buf.data, wanted);
    assert_false(buf.failed);
    size_t size;
    char *taken = buf_take(&buf, &size);
    assert_int_equal(size, strlen(wanted));
    assert_string_equal(taken, wanted);
    free(taken);
    assert_null(buf.data);
    buf_text(&buf, "again");
    assert_string_equal(buf.data, "again");
    buf_clear(&buf);
    assert_int_equal(buf.size, 0);
    assert_string_equal(buf.data, "");
    buf_close(&buf);
}

static void empty_buffer_returns_empty_text(void **state)
{
    struct buf buf;
    size_t size = 7;
    buf_init(&buf, 0);
    char *taken = buf_take(&buf, &size);
    assert_non_null(taken);
    assert_string_equal(taken, "");
    assert_int_equal(size, 0);
    free(taken);
}

static void limit_is_exact_and_failure_persists(void **state)
{
    struct buf buf;
    buf_init(&buf, 10);
    buf_text(&buf, "0123456789"); /* fills the buffer up to its limit */
    assert_false(buf.failed);
    buf_append(&buf, "x", 1);
    assert_true(buf.failed);
    assert_null(buf.data);
    buf_text(&buf, "y");
    assert_null(buf.data);
    size_t size = 9;
    assert_null(buf_take(&buf, &size));
    assert_int_equal(size, 0);
    buf_clear(&buf);
    buf_format(&buf, "%s", "0123456789");
    assert_false(buf.failed);
    buf_format(&buf, "%d", 1);
    assert_true(buf.failed);
    buf_close(&buf);
    buf_init(&buf, SIZE_MAX);
    buf_append(&buf, "x", 1);
    buf_append(&buf, "x", SIZE_MAX - 1);
    assert_true(buf.failed);
    buf_close(&buf);
}

static void failed_allocation_sets_failed(void **state)
{
    struct buf buf;
    buf_init(&buf, 1 << 20);
    char block[1000];
    memset(block, 'a', sizeof block);
    for (int n = 0;; n++) {
        fault_after(n);
        for (int i = 0; i < 100; i++)
            buf_append(&buf, block, sizeof block);
        bool happened = fault_happened();
        assert_int_equal(buf.failed, happened);
        assert_int_equal(buf.size, happened ? 0 : 100000);
        buf_close(&buf);
        if (!happened) {
            assert_true(n > 3);
            break;
        }
        buf.failed = false;
    }
}

static void text_is_wrapped_between_words(void **state)
{
    static const struct {
        const char *text;
        int at, indent, columns;
        const char *wanted;
    } cases[] = {
        {"one two three", 0, 0, 7, "one two\nthree"},
        {"one two three", 0, 2, 9, "one two\n  three"},
        {"one two three", 6, 4, 10, "one\n    two\n    three"},
        {"  one \n two  ", 0, 0, 80, "one two"},
        {"interpretable a b", 2, 2, 6, "interpretable\n  a b"},
        {"\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\x9f", 0, 0, 5, "\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\x9f"},
        {"", 3, 3, 10, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf buf;
        buf_init(&buf, 1000);
        buf_wrap(&buf, cases[i].text, strlen(cases[i].text), cases[i].at, cases[i].indent, cases[i].columns);
        assert_string_equal(buf.data != NULL ? buf.data : "", cases[i].wanted);
        buf_close(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffer_grows_and_stays_terminated),   cmocka_unit_test(empty_buffer_returns_empty_text),
        cmocka_unit_test(limit_is_exact_and_failure_persists), cmocka_unit_test(failed_allocation_sets_failed),
        cmocka_unit_test(text_is_wrapped_between_words),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
