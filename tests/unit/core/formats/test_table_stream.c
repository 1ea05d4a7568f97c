/* Tests streams of tables: what is written is read back, and damaged streams are refused. */
#include "core/formats/table/table_stream.h"

#include "tests/support/unit.h"
#include "core/base/random/philox.h"

enum { ROOM = 1 << 20, ROWS = 37, COLS = 3000 };

static struct error err;
static unsigned char bytes[ROOM];
static size_t size;

static bool keep(void *context, const void *more, size_t count)
{
    assert_true(size + count <= ROOM);
    memcpy(bytes + size, more, count);
    size += count;
    return true;
}

static struct table_writer writer;
static struct table_reader reader;

static void begin(uint32_t flags, int64_t rows, int64_t cols)
{
    const struct table_head head = {.flags = flags, .rows = rows, .cols = cols};
    size = 0;
    writer = (struct table_writer){.write = keep};
    table_write_head(&writer, &head);
}

/* Begins to read what was written, in pieces of at most `step` bytes. */
static enum status open_stream(struct byte_source_memory *memory, struct byte_source *from, size_t step)
{
    *memory = (struct byte_source_memory){bytes, size, step};
    *from = byte_source_of_memory(memory);
    reader = (struct table_reader){.from = from};
    err = (struct error){0};
    return table_read_head(&reader, &err);
}

static void what_is_written_is_read_back(void **state)
{
    static float wanted[ROWS][COLS], values[COLS];
    struct philox random = philox_stream(3, 1, 0);
    (void)state;
    memset(wanted, 0, sizeof wanted);
    begin(TABLE_NAMES, ROWS, COLS);
    for (int i = 0; i < ROWS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "row \xCE\xB3 %d", i);
        table_write_text(&writer, name);
        if (i % 2 == 0) { /* entries in any order, some of them twice */
            table_write_count(&writer, 500);
            for (int j = 0; j < 500; j++) {
                uint32_t bits = philox_u32(&random, (uint64_t)(i * 1000 + j));
                struct table_entry entry = {bits % COLS, (float)(bits % 17) / 4};
                wanted[i][entry.column] += entry.value;
                table_write_entry(&writer, entry);
            }
            continue;
        }
        for (int j = 0; j < COLS && i < 5; j++)
            wanted[i][j] = (float)(i * j) / 8;
        table_write_dense(&writer, wanted[i], COLS);
    }
    table_write_end(&writer);
    assert_false(writer.failed);
    for (size_t step = 0; step < 3; step++) {
        struct byte_source_memory memory;
        struct byte_source from;
        assert_int_equal(open_stream(&memory, &from, step * 7), STATUS_OK);
        assert_true(reader.head.rows == ROWS && reader.head.cols == COLS && reader.head.flags == TABLE_NAMES);
        for (int i = 0; i < ROWS; i++) {
            char text[TABLE_TEXT], name[32];
            (void)snprintf(name, sizeof name, "row \xCE\xB3 %d", i);
            assert_int_equal(table_read_text(&reader, "a name", text, &err), STATUS_OK);
            assert_string_equal(text, name);
            assert_int_equal(table_read_values(&reader, values, &err), STATUS_OK);
            assert_memory_equal(values, wanted[i], sizeof values);
        }
        assert_int_equal(table_read_end(&reader, &err), STATUS_OK);
    }
}

static void cut_streams_end_early(void **state)
{
    float values[3] = {1, 2, 3};
    (void)state;
    begin(TABLE_LABELS, 1, 3);
    table_write_text(&writer, "label");
    table_write_dense(&writer, values, 3);
    table_write_end(&writer);
    size_t whole = size;
    for (size = 0; size <= whole; size++) {
        struct byte_source_memory memory;
        struct byte_source from;
        char text[TABLE_TEXT];
        enum status status = open_stream(&memory, &from, 0);
        if (!status)
            status = table_read_text(&reader, "a label", text, &err);
        if (!status)
            status = table_read_values(&reader, values, &err);
        if (!status)
            status = table_read_end(&reader, &err);
        assert_int_equal(status, size < whole ? STATUS_CORRUPT : STATUS_OK);
    }
    struct byte_source_memory memory;
    struct byte_source from;
    char text[TABLE_TEXT];
    size = whole;
    bytes[size++] = 0;
    assert_int_equal(open_stream(&memory, &from, 0), STATUS_OK);
    assert_int_equal(table_read_text(&reader, "a label", text, &err), STATUS_OK);
    assert_int_equal(table_read_values(&reader, values, &err), STATUS_OK);
    assert_int_equal(table_read_end(&reader, &err), STATUS_CORRUPT);
}

static void refuses_head(uint32_t flags, int64_t rows, int64_t cols, enum status code)
{
    struct byte_source_memory memory;
    struct byte_source from;
    begin(flags, rows, cols);
    table_write_end(&writer);
    assert_int_equal(open_stream(&memory, &from, 0), code);
}

static void sizes_are_checked_before_the_first_row(void **state)
{
    (void)state;
    refuses_head(0, TABLE_ROWS, TABLE_COLUMNS, STATUS_OK);
    refuses_head(0, TABLE_ROWS + 1, 1, STATUS_LIMIT);
    refuses_head(0, 1, TABLE_COLUMNS + 1, STATUS_LIMIT);
    refuses_head(0, INT64_MAX, INT64_MAX, STATUS_LIMIT);
    refuses_head(0, -1, 1, STATUS_CORRUPT);
    refuses_head(0, 1, -1, STATUS_CORRUPT);
    refuses_head(0, 0, 1, STATUS_INVALID);
    refuses_head(0, 1, 0, STATUS_INVALID);
    refuses_head(128, 1, 1, STATUS_CORRUPT);
}

static void texts_that_could_hide_something_are_refused(void **state)
{
    static const char *const bad[] = {"\x1b[2J", "a\nb", "\xff", "\xE2\x80\xAE", "\xC0\xAF"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct byte_source_memory memory;
        struct byte_source from;
        char text[TABLE_TEXT];
        begin(0, 1, 1);
        table_write_text(&writer, bad[i]);
        table_write_end(&writer);
        assert_int_equal(open_stream(&memory, &from, 0), STATUS_OK);
        assert_int_equal(table_read_text(&reader, "the name of feature 1", text, &err), STATUS_INVALID);
        assert_non_null(strstr(err.message, "the name of feature 1"));
    }
    struct byte_source_memory memory;
    struct byte_source from;
    char text[TABLE_TEXT];
    begin(0, 1, 1);
    table_write_end(&writer);
    size = 32;
    memcpy(bytes + size, (const unsigned char[]){3, 0, 'a', 0, 'b'}, 5); /* a NUL */
    size += 5;
    assert_int_equal(open_stream(&memory, &from, 0), STATUS_OK);
    assert_int_equal(table_read_text(&reader, "a name", text, &err), STATUS_INVALID);
    bytes[32] = bytes[33] = 0xff;
    assert_int_equal(open_stream(&memory, &from, 0), STATUS_OK);
    assert_int_equal(table_read_text(&reader, "a name", text, &err), STATUS_CORRUPT);
}

static void columns_outside_the_table_are_refused(void **state)
{
    struct byte_source_memory memory;
    struct byte_source from;
    float values[2];
    (void)state;
    begin(0, 1, 2);
    table_write_count(&writer, 1);
    table_write_entry(&writer, (struct table_entry){2, 1});
    table_write_end(&writer);
    assert_int_equal(open_stream(&memory, &from, 0), STATUS_OK);
    assert_int_equal(table_read_values(&reader, values, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.message, "column 2, but there are 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(cut_streams_end_early),
        cmocka_unit_test(sizes_are_checked_before_the_first_row),
        cmocka_unit_test(texts_that_could_hide_something_are_refused),
        cmocka_unit_test(columns_outside_the_table_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
