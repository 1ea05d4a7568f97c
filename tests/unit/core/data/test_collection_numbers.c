/* Tests numbers as targets of an upload: NumPy arrays, tables of signals and FASTA; names, warnings, refusals, and the
 * stored form. */
#include <archive.h>
#include <archive_entry.h>
#include <math.h>

#include "tests/support/unit.h"
#include "core/data/uploads/collection.h"

static struct error err;
static struct collection_options read_options; /* of read_arrays() */
static char packed[1 << 16];
static size_t packed_size;

/* Reads bytes with the target `number`. */
static enum status read_bytes(const char *format, const void *bytes, size_t size, struct collection_options options,
                              struct collection *c)
{
    struct byte_source_memory memory = {bytes, size, 7};
    struct byte_source from = byte_source_of_memory(&memory);
    struct collection_limits limits = COLLECTION_LIMITS;
    options.label = options.label ? options.label : "";
    options.group = "";
    options.target = TARGET_NUMBER;
    err = (struct error){0};
    return collection_read(collection_format_named(format), &from, &options, &limits, c, &err);
}

static enum status read_text(const char *format, const char *text, struct collection_options options,
                             struct collection *c)
{
    return read_bytes(format, text, strlen(text), options, c);
}

/* An array of an .npz file: its name, its type and shape as in the header, and its bytes. */
struct member {
    const char *name, *type, *shape;
    const void *bytes;
    size_t size;
};

static enum status read_arrays(const struct member *members, size_t count, struct collection *c)
{
    static char file[4096];
    struct archive *a = archive_write_new();
    assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, packed, sizeof packed, &packed_size), ARCHIVE_OK);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        memset(file, ' ', 128);
        memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
        int wrote = snprintf(file + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                             members[i].type, members[i].shape);
        file[10 + wrote] = ' ';
        file[127] = '\n';
        memcpy(file + 128, members[i].bytes, members[i].size);
        snprintf(name, sizeof name, "%s.npy", members[i].name);
        struct archive_entry *e = archive_entry_new();
        archive_entry_set_pathname(e, name);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_size(e, (int64_t)(128 + members[i].size));
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        assert_int_equal(archive_write_data(a, file, 128 + members[i].size), (int64_t)(128 + members[i].size));
        archive_entry_free(e);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    return read_bytes("npz", packed, packed_size, read_options, c);
}

static const unsigned char x_bytes[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 2, 9};
#define X                                                                                                              \
    {                                                                                                                  \
        "x", "|u1", "4, 1, 3, 1", x_bytes, 12                                                                          \
    }
#define READ(c, ...)                                                                                                   \
    read_arrays((struct member[]){X, __VA_ARGS__}, 1 + sizeof((struct member[]){__VA_ARGS__}) / sizeof(struct member), \
                c)

static void says(const char *text)
{
    if (!strstr(err.message, text))
        fail_msg("'%s' does not say '%s'", err.message, text);
}

static void check_number(const struct collection *c, int64_t at, double value)
{
    if (fabs((double)c->number[at] - value) > 1e-6 * (1 + fabs(value)))
        fail_msg("number %lld is %g, not %g", (long long)at, (double)c->number[at], value);
}

static void arrays_of_numbers_are_stored_as_they_are(void **state)
{
    static const double one[] = {0.5, -1e30, 3, 1234.25};
    static const float two[] = {1, 2, 3, 4, 5, 6, 7, 8.5F};
    static const int64_t whole[] = {3, 1, 2, 2};
    struct collection c;
    assert_int_equal(READ(&c, {"y", "<f8", "4,", one, sizeof one}), STATUS_OK);
    assert_int_equal(c.target, TARGET_NUMBER);
    assert_true(c.vocabulary.count == 1 && strcmp(c.vocabulary.name[0], "value") == 0 && c.longest == 0);
    for (int i = 0; i < 4; i++)
        check_number(&c, i, one[i]);
    collection_close(&c);
    assert_int_equal(READ(&c, {"y", "<f4", "4, 2", two, sizeof two}), STATUS_OK);
    assert_true(c.vocabulary.count == 2 && strcmp(c.vocabulary.name[1], "1") == 0);
    for (int i = 0; i < 8; i++)
        check_number(&c, i, (double)two[i]);
    collection_close(&c);
    assert_int_equal(READ(&c, {"y", "<i8", "4,", whole, sizeof whole}), STATUS_OK);
    check_number(&c, 3, 2);
    collection_close(&c);
}

static void names_belong_to_the_columns(void **state)
{
    static const float two[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const char names[] = "zeta\0\0alpha\0", short_names[] = "a";
    struct collection c;
    assert_int_equal(READ(&c, {"y", "<f4", "4, 2", two, sizeof two}, {"names", "|S6", "2,", names, 12}), STATUS_OK);
    assert_string_equal(c.vocabulary.name[0], "zeta");
    assert_string_equal(c.vocabulary.name[1], "alpha");
    collection_close(&c);
    assert_int_equal(READ(&c, {"y", "<f4", "4, 2", two, sizeof two}, {"names", "|S1", "1,", short_names, 1}),
                     STATUS_INVALID);
    says("member 'names'");
}

static void numbers_that_are_not_finite_are_refused(void **state)
{
    static const double none[] = {0.5, NAN, 3, 4}, huge[] = {0.5, 1, 1e39, 4};
    static const float far[] = {0.5F, 1, 3.402e38F, 4};
    struct collection c;
    assert_int_equal(READ(&c, {"y", "<f8", "4,", none, sizeof none}), STATUS_INVALID);
    says("member 'y");
    assert_int_equal(READ(&c, {"y", "<f8", "4,", huge, sizeof huge}), STATUS_INVALID);
    assert_int_equal(READ(&c, {"y", "<f4", "4,", far, sizeof far}), STATUS_INVALID);
    says("must be from -3.4e+38 to 3.4e+38");
}

static void arrays_that_do_not_fit_are_refused(void **state)
{
    static const char text[] = "abcd";
    static const float one[] = {1, 2, 3, 4}, boxes[] = {0, 0, 1, 0, 2, 1};
    struct collection c;
    assert_int_equal(READ(&c, {"y", "|S1", "4,", text, 4}), STATUS_INVALID);
    says("target=number needs numbers");
    assert_int_equal(READ(&c, {"y", "<f4", "4,", one, sizeof one}, {"boxes", "<f4", "1, 6", boxes, sizeof boxes}),
                     STATUS_INVALID);
    says("boxes");
    assert_int_equal(read_arrays((struct member[]){X}, 1, &c), STATUS_INVALID);
    says("sample 0 has 0 of 1 numbers");
    assert_int_equal(
        read_arrays((struct member[]){{"x", "|u1", "4, 3", x_bytes, 12}, {"y", "<f4", "4,", one, 16}}, 2, &c),
        STATUS_INVALID);
    says("layout=signals");
}

static void equal_numbers_cause_a_warning(void **state)
{
    static const float two[] = {1, 7, 2, 7, 3, 7, 4, 7};
    struct collection c;
    bool warned = false;
    assert_int_equal(READ(&c, {"y", "<f4", "4, 2", two, sizeof two}), STATUS_OK);
    for (int i = 0; i < c.warnings; i++)
        warned = warned || (strcmp(c.warning[i].code, "constant-numbers") == 0 && strstr(c.warning[i].text, "'1'"));
    assert_true(warned);
    collection_close(&c);
}

static void columns_of_a_table_of_signals_are_numbers(void **state)
{
    static const char table[] = "a,up,b,label,c,down\n1,0.5,2,7,3,-1\n4,1.5,5,8,6,-2e3\n";
    const struct collection_options signals = {.layout = LAYOUT_SIGNALS};
    struct collection_options several = signals;
    struct collection c;
    assert_int_equal(read_text("csv", table, signals, &c), STATUS_OK);
    assert_true(c.kind == COLLECTION_SEQUENCES && c.cols == 5 && strcmp(c.vocabulary.name[0], "label") == 0);
    check_number(&c, 1, 8);
    collection_close(&c);
    several.label = "down,up";
    assert_int_equal(read_text("csv", table, several, &c), STATUS_OK);
    assert_true(c.cols == 4 && c.vocabulary.count == 2 && strcmp(c.vocabulary.name[0], "down") == 0);
    check_number(&c, 2, -2000);
    check_number(&c, 3, 1.5);
    collection_close(&c);
    several.label = "up,up";
    assert_int_equal(read_text("csv", table, several, &c), STATUS_INVALID);
    says("'up'");
    several.label = "up,missing";
    assert_int_equal(read_text("csv", table, several, &c), STATUS_INVALID);
    says("'missing'");
    assert_int_equal(read_text("csv", "a,b\n1,2\n", signals, &c), STATUS_INVALID);
    says("needs a column of numbers");
    assert_int_equal(read_text("csv", "a,label\n1,2\n3,nan\n", signals, &c), STATUS_INVALID);
    says("row 3, column 'label': 'nan'");
}

static void words_of_a_fasta_header_are_numbers(void **state)
{
    const struct collection_options plain = {0};
    struct collection_options word = {.label_column = 3}, negatives = {.negatives = NEGATIVES_SHUFFLE};
    struct collection c;
    assert_int_equal(read_text("fasta", ">a 0.5 2\nACGT\n>b -1e2,3\nAACC\n", plain, &c), STATUS_OK);
    assert_true(c.vocabulary.count == 2 && c.records.count == 2);
    check_number(&c, 2, -100);
    check_number(&c, 3, 3);
    collection_close(&c);
    assert_int_equal(read_text("fasta", ">a x 2\nACGT\n>b y 3\nAACC\n", word, &c), STATUS_OK);
    assert_true(c.vocabulary.count == 1);
    check_number(&c, 1, 3);
    collection_close(&c);
    assert_int_equal(read_text("fasta", ">a 0.5\nACGT\n>b\nAACC\n>c 1\nACCC\n", plain, &c), STATUS_INVALID);
    says("sample 1");
    assert_int_equal(read_text("fasta", ">a 0.5\nACGT\n>b 1 2\nAACC\n", plain, &c), STATUS_INVALID);
    says("sample 1 has more than 1 numbers");
    assert_int_equal(read_text("fasta", ">a 0.5\nACGT\n>b\nAACC\n", plain, &c), STATUS_INVALID);
    says("sample 1 (b) has 0 of 1 numbers");
    assert_int_equal(read_text("fasta", ">a high\nACGT\n", plain, &c), STATUS_INVALID);
    says("sample 0: 'high' is not a number");
    assert_int_equal(read_text("fasta", ">a 1,5\nACGT\n>b 2,5\nACGT\n", plain, &c), STATUS_INVALID);
    says("sample 0: '1,5' may be numbers with a decimal comma");
    assert_int_equal(read_text("fasta", ">a 1,2,3\nACGT\n", plain, &c), STATUS_OK);
    assert_int_equal(c.vocabulary.count, 3);
    collection_close(&c);
    assert_int_equal(read_text("fasta", ">a 1\nACGT\n", negatives, &c), STATUS_INVALID);
    says("negatives");
}

static void check_rounded(struct collection *c, int64_t count, const char *first)
{
    char text[200];
    const char *found = "";
    snprintf(text, sizeof text, "%lld whole numbers beyond 16777216 lost digits in single precision; the first: %s",
             (long long)count, first);
    for (int i = 0; i < c->warnings; i++)
        if (strcmp(c->warning[i].code, "rounded") == 0)
            found = c->warning[i].text;
    assert_string_equal(found, count > 0 ? text : "");
    collection_close(c);
}

/* Whole numbers beyond 2^24 that a float does not equal are counted, and no others. */
static void whole_numbers_that_lose_digits_are_counted(void **state)
{
    static const int64_t wide[] = {16777216, 16777217, -9007199254740993, 1 << 30, INT64_MIN, INT64_MAX, 3, 4};
    static const uint64_t large[] = {UINT64_MAX, 1, 2, 1ull << 63};
    static const int32_t narrow[] = {16777217, -16777219, 33554432, 5};
    static const double real[] = {16777217, 0.1, 16777217.5, 1e20};
    static const float single[] = {16777216, 33554436, 3e9F, 4};
    static const unsigned char swapped[] = {1, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 7}, plain[] = {1, 2, 3, 4};
    const struct member x = {"x", "|u1", "4, 1, 1, 1", plain, 4};
    struct collection c;
    assert_int_equal(
        read_arrays((struct member[]){{"x", "<i8", "4, 1, 2", wide, 64}, {"y", "<u8", "4,", large, 32}}, 2, &c),
        STATUS_OK);
    check_rounded(&c, 4, "x, element [0][0][1] (counted from 0): 16777217 became 16777216");
    assert_int_equal(read_arrays((struct member[]){x, {"y", "<u8", "4,", large, 32}}, 2, &c), STATUS_OK);
    check_rounded(&c, 1, "y, element [0] (counted from 0): 18446744073709551615 became 18446744073709551616");
    assert_int_equal(read_arrays((struct member[]){x, {"y", "<i4", "4,", narrow, 16}}, 2, &c), STATUS_OK);
    check_rounded(&c, 2, "y, element [0] (counted from 0): 16777217 became 16777216");
    assert_int_equal(read_arrays((struct member[]){x, {"y", "<u4", "4, 1", narrow, 16}}, 2, &c), STATUS_OK);
    check_rounded(&c, 2, "y, row 0, column 0 (counted from 0): 16777217 became 16777216");
    assert_int_equal(read_arrays((struct member[]){x, {"y", "<f8", "4,", real, 32}}, 2, &c), STATUS_OK);
    check_rounded(&c, 2, "y, element [0] (counted from 0): 16777217 became 16777216");
    assert_int_equal(read_arrays((struct member[]){x, {"y", ">i4", "4,", swapped, 16}}, 2, &c), STATUS_OK);
    check_rounded(&c, 1, "y, element [0] (counted from 0): 16777217 became 16777216");
    assert_int_equal(read_arrays((struct member[]){x, {"y", "<f4", "4,", single, 16}}, 2, &c), STATUS_OK);
    check_rounded(&c, 0, "");
    const struct collection_options signals = {.layout = LAYOUT_SIGNALS};
    assert_int_equal(read_text("csv",
                               "a,label\n16777216,1\n9007199254740993,16777217\n+016777217.0,2\n1e10,3\n"
                               "16777217.5,4\n33554432,5\n",
                               signals, &c),
                     STATUS_OK);
    check_rounded(&c, 3, "row 3, column 'a': 9007199254740993 became 9007199254740992");
    assert_int_equal(read_text("fasta", ">a 1 2\nACGT\n>b -16777217 3\nAACC\n", (struct collection_options){0}, &c),
                     STATUS_OK);
    check_rounded(&c, 1, "the numbers of sample 1, -16777217 became -16777216");
}

/* Samples without a number are left out with missing=drop, in every format. */
static void samples_without_numbers_can_be_left_out(void **state)
{
    static const double some[] = {NAN, 0.5, NAN, 2, 1, NAN, 3, 4};
    static const float infinite[] = {1, INFINITY, 2, 3};
    static const char names[] = "updn";
    const struct collection_options drop = {.missing = MISSING_DROP},
                                    signals = {.missing = MISSING_DROP, .layout = LAYOUT_SIGNALS, .label = "up,down"};
    struct collection c;
    read_options = drop;
    assert_int_equal(READ(&c, {"y", "<f8", "4, 2", some, sizeof some}, {"names", "|S2", "2,", names, 4}), STATUS_OK);
    assert_true(c.count == 1 && c.vocabulary.count == 2 && strcmp(c.vocabulary.name[1], "dn") == 0);
    check_number(&c, 0, 3);
    check_number(&c, 1, 4);
    assert_true(collection_value(&c, 0) <= 0 && collection_value(&c, 2) >= 9); /* the last sample */
    assert_string_equal(c.warning[0].code, "missing-labels");
    assert_non_null(strstr(c.warning[0].text, "3 of 4 samples"));
    collection_close(&c);
    assert_int_equal(READ(&c, {"y", "<f4", "4,", infinite, sizeof infinite}), STATUS_INVALID);
    says("is not finite");
    read_options = (struct collection_options){0};
    assert_int_equal(READ(&c, {"y", "<f8", "4, 2", some, sizeof some}), STATUS_INVALID);
    assert_int_equal(read_text("csv", "a,up,down\n1,NA,2\n3,4,5\n6,7,\n8,9,10\n", signals, &c), STATUS_OK);
    assert_true(c.count == 2 && collection_value(&c, 0) <= 3 && collection_value(&c, 1) >= 8);
    for (int i = 0; i < 4; i++)
        check_number(&c, i, (const double[]){4, 5, 9, 10}[i]);
    collection_close(&c);
    assert_int_equal(read_text("fasta", ">a\nACGT\n>b 2\nAACC\n>c NaN\nACGT\n>d -1\nACCC\n", drop, &c), STATUS_OK);
    assert_true(c.count == 2 && strcmp(c.records.name[0], "b") == 0 && strcmp(c.records.name[1], "d") == 0);
    check_number(&c, 0, 2);
    check_number(&c, 1, -1);
    collection_close(&c);
    assert_int_equal(read_text("fasta", ">a\nACGT\n", drop, &c), STATUS_INVALID);
    says("missing=drop leaves none");
    assert_int_equal(read_text("fasta", ">a 1\nACGT\n>b NA\nACCC\n", (struct collection_options){0}, &c),
                     STATUS_INVALID);
    says("record 2 has no number; every record needs one. missing=drop");
    assert_int_equal(read_text("fasta", ">a\nACGT\n>b 1\nACCC\n>c 1 2\nACGG\n", drop, &c), STATUS_INVALID);
    says("sample 2 has more than 1 numbers");
}

/* ---- the stored form ----------------------------------------------------------------------------------------- */

static enum status put(void *context, const void *bytes, size_t count, struct error *error)
{
    (void)error;
    assert_int_equal(fwrite(bytes, 1, count, context), count);
    return STATUS_OK;
}

static void stored_numbers_are_read_again_and_damage_is_noticed(void **state)
{
    struct collection c, again;
    static char bytes[1 << 16];
    assert_int_equal(read_text("fasta", ">a 0.5 2\nACGT\n>b -100 3\nAACC\n", (struct collection_options){0}, &c),
                     STATUS_OK);
    c.profile = true;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(collection_write(&c, &(struct snapshot_writer){file, put}, &err), STATUS_OK);
    collection_close(&c);
    fflush(file);
    assert_int_equal(collection_map(fileno(file), &again, &err), STATUS_OK);
    assert_true(again.target == TARGET_NUMBER && again.vocabulary.count == 2 && again.profile);
    check_number(&again, 2, -100);
    float last = again.number[3];
    collection_close(&again);
    rewind(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    const float minus = -100, nan = NAN;
    for (size_t i = 0; i + 8 <= size; i += 4)
        if (memcmp(bytes + i, &minus, 4) == 0 && memcmp(bytes + i + 4, &last, 4) == 0)
            memcpy(bytes + i, &nan, 4);
    rewind(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fflush(file);
    assert_int_equal(collection_map(fileno(file), &again, &err), STATUS_CORRUPT);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_numbers_are_stored_as_they_are),
        cmocka_unit_test(names_belong_to_the_columns),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(arrays_that_do_not_fit_are_refused),
        cmocka_unit_test(equal_numbers_cause_a_warning),
        cmocka_unit_test(columns_of_a_table_of_signals_are_numbers),
        cmocka_unit_test(words_of_a_fasta_header_are_numbers),
        cmocka_unit_test(samples_without_numbers_can_be_left_out),
        cmocka_unit_test(whole_numbers_that_lose_digits_are_counted),
        cmocka_unit_test(stored_numbers_are_read_again_and_damage_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
