/* Tests that streams give the same lines and FASTA records as parsers of a whole text. */
#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/formats/fasta.h"

enum { TEXT = 200000 };
static char text[TEXT];

static void a_stream_reads_the_same_lines_as_the_text(void **state)
{
    struct error err = {0};
    for (uint64_t trial = 0; trial < 40; trial++) {
        struct philox noise = philox_stream(3, 1, trial);
        size_t size = philox_u32(&noise, 0) % (trial % 2 ? TEXT : 300);
        for (size_t i = 0; i < size; i++)
            text[i] = "ab\r\n c"[philox_u32(&noise, 1 + i) % (trial % 4 < 2 ? 6 : 2)];
        struct byte_source_memory memory = {(const unsigned char *)text, size, trial % 3 ? 1 + trial * 97 : 0};
        struct byte_source from = byte_source_of_memory(&memory);
        struct plain_lines lines = plain_lines(text, size);
        struct plain_line a, b;
        struct text_stream stream;
        bool more = true;
        text_stream_open(&stream, &from, TEXT);
        while (plain_next(&lines, &a)) {
            assert_int_equal(text_stream_next(&stream, &b, &more, &err), STATUS_OK);
            assert_true(more && a.size == b.size && memcmp(a.at, b.at, a.size) == 0 && stream.number == lines.number);
        }
        assert_true(text_stream_next(&stream, &b, &more, &err) == STATUS_OK && !more);
        text_stream_close(&stream);
    }
}

static void a_line_that_is_too_long_is_refused_with_its_number(void **state)
{
    static const char three[] = "ab\n12345678\n123456789\n";
    struct byte_source_memory memory = {(const unsigned char *)three, sizeof three - 1, 4};
    struct byte_source from = byte_source_of_memory(&memory);
    struct error err = {0};
    struct text_stream stream;
    struct plain_line line;
    bool more;
    text_stream_open(&stream, &from, 8);
    assert_int_equal(text_stream_next(&stream, &line, &more, &err), STATUS_OK);
    assert_int_equal(text_stream_next(&stream, &line, &more, &err), STATUS_OK);
    assert_int_equal(text_stream_next(&stream, &line, &more, &err), STATUS_LIMIT);
    assert_non_null(strstr(err.message, "line 3 is longer than 8 bytes"));
    text_stream_close(&stream);
}

static void a_stream_reads_the_same_records_as_the_parser(void **state)
{
    struct error err = {0};
    struct philox noise = philox_stream(4, 1, 0);
    struct fasta whole;
    struct fasta_stream stream;
    size_t size = 0;
    bool more;
    for (int r = 0; r < 300; r++) {
        size += (size_t)sprintf(text + size, ">r%d some words %d\r\n", r, r);
        for (uint32_t i = 0, bases = philox_u32(&noise, (uint64_t)r) % 400; i < bases; i++) {
            text[size++] = "ACGTacgtN"[philox_u32(&noise, 1000 + (uint64_t)r * 400 + i) % 9];
            if (i % 60 == 59)
                text[size++] = '\n';
        }
        text[size++] = '\n';
    }
    assert_int_equal(fasta_parse(text, size, &whole, &err), STATUS_OK);
    struct byte_source_memory memory = {(const unsigned char *)text, size, 13};
    struct byte_source from = byte_source_of_memory(&memory);
    fasta_stream_open(&stream, &from);
    for (int r = 0; r < whole.records; r++) {
        char words[64];
        int bytes = sprintf(words, " some words %d", r);
        assert_true(fasta_stream_next(&stream, &more, &err) == STATUS_OK && more);
        assert_string_equal(stream.name, whole.record[r].name);
        assert_true(stream.words.size == (size_t)bytes && memcmp(stream.words.at, words, (size_t)bytes) == 0);
        assert_true(stream.length == whole.record[r].length);
        assert_memory_equal(stream.letters, whole.letters + whole.record[r].first, (size_t)stream.length);
    }
    assert_true(fasta_stream_next(&stream, &more, &err) == STATUS_OK && !more);
    fasta_stream_close(&stream);
    fasta_close(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_reads_the_same_lines_as_the_text),
        cmocka_unit_test(a_line_that_is_too_long_is_refused_with_its_number),
        cmocka_unit_test(a_stream_reads_the_same_records_as_the_parser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
