/* Tests the .npz file that is made while it is read: any order of reads gives the same bytes, and our reader of
 * archives finds every array. tests/wire/wire_download.py reads such files with NumPy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/formats/archive.h"
#include "core/formats/npy.h"
#include "core/formats/npz/npz_stream.h"

enum { WIDE = 70001 }; /* elements of the second array, which has several blocks */

static void write_elements(void *context, int array, int64_t first, int64_t count, void *to)
{
    for (int64_t i = 0; i < count; i++)
        if (array == 0)
            ((unsigned char *)to)[i] = (unsigned char)(first + i);
        else
            ((float *)to)[i] = (float)(first + i) / 4;
    ++*(int *)context;
}

static struct npz_stream *open_two(int *calls)
{
    const struct npz_stream_array arrays[] = {
        {.name = "flags", .type = "|b1", .item = 1, .rank = 2, .dim = {2, 1}},
        {.name = "x", .type = "<f4", .item = 4, .rank = 1, .dim = {WIDE}},
    };
    const struct npz_stream_source source = {calls, write_elements};
    struct error err = {0};
    struct npz_stream *stream = NULL;
    assert_int_equal(npz_stream_open(arrays, 2, &source, &stream, &err), STATUS_OK);
    return stream;
}

static unsigned char *read_whole(size_t step, size_t *size)
{
    int calls = 0;
    struct npz_stream *stream = open_two(&calls);
    *size = (size_t)npz_stream_bytes(stream);
    unsigned char *bytes = malloc(*size);
    for (size_t at = 0; at < *size;) {
        size_t got = npz_stream_read(stream, at, bytes + at, *size - at < step ? *size - at : step);
        assert_true(got > 0);
        at += got;
    }
    assert_int_equal(npz_stream_read(stream, *size, bytes, 1), 0);
    npz_stream_close(stream);
    return bytes;
}

static void pieces_of_any_size_give_the_same_file(void **state)
{
    size_t size, again;
    unsigned char *whole = read_whole(SIZE_MAX, &size);
    for (size_t step = 1; step < 100000; step = 7 * step + 3) {
        unsigned char *pieces = read_whole(step, &again);
        assert_int_equal(again, size);
        assert_memory_equal(pieces, whole, size);
        free(pieces);
    }
    free(whole);
}

static void reads_in_any_order_give_the_same_bytes(void **state)
{
    size_t size;
    int calls = 0;
    unsigned char *whole = read_whole(1 << 16, &size), piece[4096];
    struct npz_stream *stream = open_two(&calls);
    /* reads from the end to the beginning, so that checksums are read before the data that they cover */
    for (size_t end = size; end > 0;) {
        size_t count = end < sizeof piece ? end : sizeof piece;
        end -= count;
        for (size_t done = 0; done < count;)
            done += npz_stream_read(stream, end + done, piece + done, count - done);
        assert_memory_equal(piece, whole + end, count);
    }
    npz_stream_close(stream);
    free(whole);
}

static enum status check_member(void *context, const char *name, const struct byte_source *bytes, struct error *err)
{
    struct npy array;
    int *members = context;
    assert_string_equal(name, *members == 0 ? "flags.npy" : "x.npy");
    assert_int_equal(npy_read_from(bytes, 1 << 20, &array, err), STATUS_OK);
    if ((*members)++ == 0) {
        assert_true(array.rank == 2 && array.dim[0] == 2 && array.dim[1] == 1 && array.element == NPY_BOOL);
        assert_true(array.values[0] == 0 && array.values[1] == 1);
    } else {
        assert_true(array.rank == 1 && array.count == WIDE);
        for (size_t i = 0; i < array.count; i++)
            assert_true(array.values[i] == (float)i / 4);
    }
    npy_close(&array);
    return STATUS_OK;
}

static void the_reader_of_archives_finds_every_array(void **state)
{
    size_t size;
    int members = 0;
    struct error err = {0};
    unsigned char *whole = read_whole(1 << 15, &size);
    struct byte_source_memory memory = {whole, size, 1000};
    struct byte_source from = byte_source_of_memory(&memory);
    const struct archive_limits limits = {8, 1 << 30};
    assert_int_equal(archive_reader_each(ARCHIVE_ZIP, &from, &limits, check_member, &members, &err), STATUS_OK);
    assert_int_equal(members, 2);
    free(whole);
}

static void a_reader_from_the_start_makes_each_element_once(void **state)
{
    int calls = 0;
    unsigned char piece[1 << 12];
    struct npz_stream *stream = open_two(&calls);
    uint64_t size = npz_stream_bytes(stream);
    for (uint64_t at = 0; at < size;)
        at += npz_stream_read(stream, at, piece, sizeof piece);
    assert_true(calls <= (int)(size / sizeof piece) + 4);
    npz_stream_close(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size_give_the_same_file),
        cmocka_unit_test(reads_in_any_order_give_the_same_bytes),
        cmocka_unit_test(the_reader_of_archives_finds_every_array),
        cmocka_unit_test(a_reader_from_the_start_makes_each_element_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
