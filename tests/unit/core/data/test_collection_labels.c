/* Tests how an upload says what its labels are: the type of y, the stated target, names of columns, folders of classes;
 * and the warnings about uploads that their owners may not have intended. */
#include <archive.h>
#include <archive_entry.h>
#include <math.h>

#include "tests/support/unit.h"
#include "core/data/uploads/collection.h"
#include "core/draw/png.h"

static struct error err;
static char packed[1 << 20];
static size_t packed_size;

/* A member of an .npz: its name, its type and shape as in the header, and its bytes. */
struct array {
    const char *name, *type, *shape;
    const void *bytes;
    size_t size;
};

static void add(struct archive *a, const char *name, const void *bytes, size_t size)
{
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_size(e, (int64_t)size);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, bytes, size), size);
    archive_entry_free(e);
}

static struct archive *begin(bool zip)
{
    struct archive *a = archive_write_new();
    assert_int_equal(zip ? archive_write_set_format_zip(a) : archive_write_set_format_ustar(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, packed, sizeof packed, &packed_size), ARCHIVE_OK);
    return a;
}

static void end(struct archive *a)
{
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

static enum status read_packed(const char *format, struct collection_options options, struct collection *c)
{
    struct byte_source_memory memory = {(const unsigned char *)packed, packed_size, 7};
    struct byte_source from = byte_source_of_memory(&memory);
    struct collection_limits limits = COLLECTION_LIMITS;
    options.label = options.group = "";
    err = (struct error){0};
    return collection_read(collection_format_named(format), &from, &options, &limits, c, &err);
}

static enum status read_arrays(const struct array *arrays, size_t count, struct collection_options options,
                               struct collection *c)
{
    static char file[1 << 16];
    struct archive *a = begin(true);
    for (size_t i = 0; i < count; i++) {
        memset(file, ' ', 128);
        memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
        int wrote = snprintf(file + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", arrays[i].type,
                             arrays[i].shape);
        file[10 + wrote] = ' ';
        file[127] = '\n';
        memcpy(file + 128, arrays[i].bytes, arrays[i].size);
        char name[32];
        snprintf(name, sizeof name, "%s.npy", arrays[i].name);
        add(a, name, file, 128 + arrays[i].size);
    }
    end(a);
    return read_packed("npz", options, c);
}

#define READ(c, options, ...)                                                                                          \
    read_arrays((struct array[]){__VA_ARGS__}, sizeof((struct array[]){__VA_ARGS__}) / sizeof(struct array),           \
                (struct collection_options)options, c)
#define PLAIN                                                                                                          \
    {                                                                                                                  \
        0                                                                                                              \
    }
#define WANT(kind)                                                                                                     \
    {                                                                                                                  \
        .target = (kind)                                                                                               \
    }

static const struct collection_warning *warning(const struct collection *c, const char *code)
{
    for (int i = 0; i < c->warnings; i++)
        if (strcmp(c->warning[i].code, code) == 0)
            return &c->warning[i];
    return NULL;
}

static void warns(const struct collection *c, const char *code, const char *text)
{
    const struct collection_warning *w = warning(c, code);
    if (!w)
        fail_msg("there is no warning %s among %d", code, c->warnings);
    if (!strstr(w->text, text))
        fail_msg("'%s' does not say '%s'", w->text, text);
}

/* The words of a sample's label, separated by spaces. */
static const char *words(const struct collection *c, int64_t sample)
{
    static char text[200];
    const int32_t *label;
    int count = collection_labels(c, sample, &label), used = 0;
    text[0] = '\0';
    for (int i = 0; i < count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", i ? " " : "", c->vocabulary.name[label[i]]);
    return text;
}

/* Four different samples of three values each. */
static const unsigned char x_bytes[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 2, 9};
#define X                                                                                                              \
    {                                                                                                                  \
        "x", "|u1", "4, 1, 3", x_bytes, 12                                                                             \
    }
static const unsigned char flags[12] = {1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1};
static const int64_t wide[12] = {1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1};
#define Y_BOOL                                                                                                         \
    {                                                                                                                  \
        "y", "|b1", "4, 3", flags, 12                                                                                  \
    }
#define Y_INTEGER                                                                                                      \
    {                                                                                                                  \
        "y", "<i8", "4, 3", wide, 96                                                                                   \
    }

/* y contains only 0 and 1, as an array that scikit-learn's MultiLabelBinarizer writes. */
static void zeros_and_ones_are_a_set_with_a_warning(void **state)
{
    struct collection c;
    assert_int_equal(READ(&c, PLAIN, X, Y_INTEGER), STATUS_OK);
    assert_int_equal(c.target, TARGET_LABELS);
    assert_string_equal(words(&c, 1), "0 2");
    assert_string_equal(words(&c, 2), "");
    warns(&c, "binary-labels", "y of [4][3] contains only 0 and 1 and was read as a set");
    warns(&c, "unused-labels", "1 of 3 labels occur in no sample and were left out: '1'");
    collection_close(&c);
    assert_int_equal(READ(&c, WANT(TARGET_SEQUENCE), X, Y_INTEGER), STATUS_OK);
    assert_int_equal(c.target, TARGET_SEQUENCE);
    assert_string_equal(words(&c, 1), "1 0 1");
    assert_null(warning(&c, "binary-labels"));
    collection_close(&c);
    assert_int_equal(READ(&c, WANT(TARGET_LABELS), X, Y_INTEGER), STATUS_OK);
    assert_true(c.target == TARGET_LABELS && !warning(&c, "binary-labels"));
    collection_close(&c);
}

static void integers_other_than_zero_and_one_stay_a_sequence(void **state)
{
    static const int32_t y[8] = {0, 1, 1, -1, 1, 1, 0, 0};
    struct collection c;
    assert_int_equal(READ(&c, PLAIN, X, {"y", "<i4", "4, 2", y, 32}), STATUS_OK);
    assert_int_equal(c.target, TARGET_SEQUENCE);
    assert_string_equal(words(&c, 1), "1");
    assert_int_equal(c.warnings, 0);
    collection_close(&c);
}

static void names_belong_to_the_columns_of_y(void **state)
{
    static const char names[12] = "up\0\0downleft";
    struct collection c;
    assert_int_equal(READ(&c, PLAIN, X, Y_BOOL, {"names", "|S4", "3,", names, 12}), STATUS_OK);
    assert_int_equal(c.vocabulary.count, 2);
    assert_string_equal(words(&c, 1), "left up");
    warns(&c, "unused-labels", "'down'");
    collection_close(&c);
    static const unsigned char bound[4] = {1, 0, 0, 1};
    assert_int_equal(READ(&c, PLAIN, X, {"y", "|b1", "4,", bound, 4}, {"names", "|S5", "1,", "bound", 5}), STATUS_OK);
    assert_int_equal(c.target, TARGET_LABELS);
    assert_string_equal(words(&c, 0), "bound");
    assert_string_equal(words(&c, 1), "");
    collection_close(&c);
    assert_int_equal(READ(&c, PLAIN, X, Y_BOOL, {"names", "|S4", "2,", names, 8}), STATUS_INVALID);
    assert_string_equal(err.message, "member 'names' must be text with one name for each column of y");
    assert_int_equal(READ(&c, PLAIN, X, {"names", "|S4", "3,", names, 12}), STATUS_INVALID);
    assert_string_equal(err.message, "member 'names' requires labels in member y or positions");
    static const int32_t y[4] = {0, 5, 6, 7};
    assert_int_equal(READ(&c, PLAIN, X, {"y", "<i4", "4,", y, 16}, {"names", "|S4", "1,", names, 4}), STATUS_INVALID);
    assert_non_null(strstr(err.message, "needs a y of booleans"));
    assert_int_equal(READ(&c, PLAIN, X, Y_BOOL, {"names", "|S4", "3,", "up\0\0\0\0\0\0left", 12}), STATUS_INVALID);
    assert_string_equal(err.message, "member 'names' contains an empty name");
}

static void counts_repeat_their_name(void **state)
{
    static const int32_t y[8] = {2, 1, 0, 0, 0, 3, 1, 0}, bad[8] = {2, -1};
    struct collection c;
    assert_int_equal(READ(&c, WANT(TARGET_COUNT), X, {"y", "<i4", "4, 2", y, 32}, {"names", "|S1", "2,", "ba", 2}),
                     STATUS_OK);
    assert_int_equal(c.target, TARGET_COUNT);
    assert_string_equal(words(&c, 0), "a b b");
    assert_string_equal(words(&c, 1), "");
    assert_string_equal(words(&c, 2), "a a a");
    collection_close(&c);
    assert_int_equal(READ(&c, WANT(TARGET_COUNT), X, {"y", "<i4", "4, 2", bad, 32}), STATUS_INVALID);
    assert_string_equal(err.message, "member 'y': a count of sample 0 is -1; it must be a whole number from 0 to 4096");
    static const char text[24] = "b a b a     a a b b     ";
    assert_int_equal(READ(&c, WANT(TARGET_COUNT), X, {"y", "|S6", "4,", text, 24}), STATUS_OK);
    assert_string_equal(words(&c, 0), "a b b");
    collection_close(&c);
}

static void the_stated_target_must_fit_the_labels(void **state)
{
    static const char text[28] = "red foxblue\0\0\0red foxgreen\0";
    struct collection c;
    assert_int_equal(READ(&c, WANT(TARGET_CLASS), X, {"y", "|S7", "4,", text, 28}), STATUS_OK);
    assert_int_equal(c.target, TARGET_CLASS);
    assert_string_equal(words(&c, 2), "red fox");
    collection_close(&c);
    assert_int_equal(READ(&c, WANT(TARGET_LABELS), X, {"y", "|S7", "4,", text, 28}), STATUS_OK);
    assert_int_equal(c.target, TARGET_LABELS);
    assert_string_equal(words(&c, 0), "fox red");
    collection_close(&c);
    assert_int_equal(READ(&c, WANT(TARGET_CLASS), X, Y_BOOL), STATUS_INVALID);
    assert_string_equal(err.message, "target=class: sample 1 has 2 labels; every sample needs exactly one");
    assert_int_equal(READ(&c, WANT(TARGET_SEQUENCE), X, Y_BOOL), STATUS_INVALID);
    assert_non_null(strstr(err.message, "target=sequence needs integers or text"));
    assert_int_equal(READ(&c, WANT(TARGET_CLASS), X), STATUS_INVALID);
    assert_string_equal(err.message, "target=class: the file has no labels; leave target out");
    static const int32_t classes[12] = {0};
    assert_int_equal(READ(&c, WANT(TARGET_LABELS), X, {"positions", "<i4", "4, 3", classes, 48}), STATUS_INVALID);
    assert_non_null(strstr(err.message, "a class at every position"));
}

/* ---- axes, copies, constants ------------------------------------------------------------------------------- */

static void colours_at_the_second_axis_are_channels(void **state)
{
    static unsigned char x[2 * 3 * 5 * 6];
    struct collection c;
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (unsigned char)i;
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", "2, 3, 5, 6", x, sizeof x}), STATUS_OK);
    assert_true(c.channels == 3 && c.rows == 5 && c.cols == 6 && c.channels_first);
    assert_true(collection_value(&c, collection_begin(&c, 1) + 31) == 121); /* the second value of the second plane */
    warns(&c, "channels-first", "x of [2][3][5][6] was read as [n][channels][rows][cols]");
    collection_close(&c);
    assert_int_equal(READ(&c, {.layout = LAYOUT_LAST}, {"x", "|u1", "2, 3, 5, 6", x, sizeof x}), STATUS_OK);
    assert_true(c.channels == 6 && c.rows == 3 && c.cols == 5 && !c.channels_first && c.warnings == 0);
    collection_close(&c);
    assert_int_equal(READ(&c, {.layout = LAYOUT_FIRST}, {"x", "|u1", "2, 3, 5, 6", x, sizeof x}), STATUS_OK);
    assert_true(c.channels == 3 && c.warnings == 0);
    collection_close(&c);
    /* a sequence with channels last, and one with channels first */
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", "2, 1, 15, 6", x, sizeof x}), STATUS_OK);
    assert_true(c.channels == 6 && c.rows == 1 && c.cols == 15 && c.warnings == 0);
    collection_close(&c);
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", "2, 6, 1, 15", x, sizeof x}), STATUS_OK);
    assert_true(c.channels == 6 && c.rows == 1 && c.cols == 15 && c.warnings == 1);
    collection_close(&c);
}

static void points_of_signals_are_neither_columns_nor_rows(void **state)
{
    static const unsigned char x[2 * 3 * 40] = {1, 2, 3};
    struct collection c;
    /* signals of one channel; the dimension of the channel is the third or the last */
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", "6, 1, 1, 40", x, sizeof x}), STATUS_OK);
    assert_true(c.kind == COLLECTION_SEQUENCES && c.channels == 1 && c.cols == 40);
    collection_close(&c);
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", "6, 1, 40, 1", x, sizeof x}), STATUS_OK);
    assert_true(c.kind == COLLECTION_SEQUENCES && c.channels == 1 && c.cols == 40);
    collection_close(&c);
    /* an array of two dimensions is a table, unless the user says that it contains signals */
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", "6, 40", x, sizeof x}), STATUS_OK);
    assert_true(c.kind == COLLECTION_TABLE && c.columns.count == 40);
    collection_close(&c);
    assert_int_equal(READ(&c, {.layout = LAYOUT_SIGNALS}, {"x", "|u1", "6, 40", x, sizeof x}), STATUS_OK);
    assert_true(c.kind == COLLECTION_SEQUENCES && c.channels == 1 && c.rows == 1 && c.cols == 40);
    assert_true(collection_value(&c, 1) == 2 && c.columns.count == 0);
    collection_close(&c);
    /* an array of three dimensions contains pictures; very thin ones cause a warning */
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", "2, 3, 40", x, sizeof x}), STATUS_OK);
    assert_true(c.kind == COLLECTION_IMAGES && c.rows == 3);
    warns(&c, "thin-pictures", "pictures of 3 rows; with layout=signals it is read as signals of 3 channels");
    collection_close(&c);
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", "2, 40, 3", x, sizeof x}), STATUS_OK);
    warns(&c, "thin-pictures", "upload them as [n][3][40] with layout=signals");
    collection_close(&c);
    assert_int_equal(READ(&c, {.layout = LAYOUT_SIGNALS}, {"x", "|u1", "2, 3, 40", x, sizeof x}), STATUS_OK);
    assert_true(c.kind == COLLECTION_SEQUENCES && c.channels == 3 && c.rows == 1 && c.cols == 40 && c.channels_first);
    collection_close(&c);
    assert_int_equal(READ(&c, {.layout = LAYOUT_SIGNALS}, {"x", "|u1", "2, 3, 5, 8", x, sizeof x}), STATUS_INVALID);
    collection_close(&c);
    const char csv[] = "id,p1,p2,p3,label\na,1,2,3,x\nb,3,2,1,y\n";
    memcpy(packed, csv, packed_size = sizeof csv - 1);
    assert_int_equal(read_packed("csv", (struct collection_options){.layout = LAYOUT_SIGNALS}, &c), STATUS_OK);
    assert_true(c.kind == COLLECTION_SEQUENCES && c.cols == 3 && c.count == 2 && collection_value(&c, 2) == 3);
    collection_close(&c);
}

static void copies_and_constants_are_reported(void **state)
{
    static const unsigned char x[12] = {1, 2, 7, 3, 4, 7, 1, 2, 7, 3, 4, 7};
    static const int32_t y[4] = {0, 1, 0, 2};
    struct collection c;
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", "4, 3", x, 12}, {"y", "<i4", "4,", y, 16}), STATUS_OK);
    assert_int_equal(c.warnings, 2);
    warns(&c, "duplicates",
          "2 of 4 samples have the same values as an earlier sample, some of them with another label");
    warns(&c, "constant-columns", "1 of 3 columns have the same value in every sample and carry no information: 'c2'");
    collection_close(&c);
    static const unsigned char planes[16] = {1, 2, 3, 9, 5, 5, 5, 5, 4, 4, 8, 1, 5, 5, 5, 5};
    assert_int_equal(READ(&c, {.layout = LAYOUT_FIRST}, {"x", "|u1", "2, 2, 2, 2", planes, 16}), STATUS_OK);
    assert_int_equal(c.warnings, 1);
    warns(&c, "constant-channels", "1 of 2 channels have the same value in every sample and carry no information: '1'");
    collection_close(&c);
}

/* Columns that are numbered are perhaps the points of a signal. */
static void tables_of_numbered_columns_are_reported(void **state)
{
    static const unsigned char x[40] = {1, 2, 3, [20] = 4, 5};
    static const int32_t y[2] = {0, 1};
    const struct array rows = {"x", "|u1", "2, 20", x, sizeof x}, labels = {"y", "<i4", "2", y, sizeof y};
    char csv[400];
    struct collection c;
    assert_int_equal(READ(&c, PLAIN, rows, labels), STATUS_OK);
    warns(&c, "table-or-signals",
          "rows of 20 numbers with labels were stored as a table; if the columns are the points");
    warns(&c, "table-or-signals", "layout=signals (motifctl: --signals)");
    collection_close(&c);
    assert_int_equal(READ(&c, {.layout = LAYOUT_SIGNALS}, rows, labels), STATUS_OK);
    assert_null(warning(&c, "table-or-signals"));
    collection_close(&c);
    assert_int_equal(READ(&c, PLAIN, rows), STATUS_OK);
    assert_null(warning(&c, "table-or-signals"));
    collection_close(&c);
    for (int named = 0; named < 2; named++) {
        size_t used = (size_t)snprintf(csv, sizeof csv, "label");
        for (int i = 0; i < 20; i++)
            used += (size_t)snprintf(csv + used, sizeof csv - used, named && i == 7 ? ",mass" : ",t%d", i + 1);
        used += (size_t)snprintf(csv + used, sizeof csv - used, "\na");
        for (int i = 0; i < 20; i++)
            used += (size_t)snprintf(csv + used, sizeof csv - used, ",%d", i);
        csv[used++] = '\n';
        memcpy(packed, csv, packed_size = used);
        assert_int_equal(read_packed("csv", (struct collection_options){0}, &c), STATUS_OK);
        assert_int_equal(warning(&c, "table-or-signals") != NULL, !named);
        collection_close(&c);
    }
}

/* Counts without names look like sequences of the names 0, 1, 2. */
static void small_numbers_read_as_sequences_are_reported(void **state)
{
    static const int32_t counts[12] = {1, 0, 2, 0, 0, 1, 3, 1, 0, 0, 2, 0},
                         filled[12] = {1, 0, 2, 0, 0, -1, 3, 1, 0, 0, 2, 0},
                         many[12] = {1, 0, 2, 0, 0, 31, 3, 1, 0, 0, 2, 0};
    struct collection c;
    assert_int_equal(READ(&c, PLAIN, X, {"y", "<i4", "4, 3", counts, sizeof counts}), STATUS_OK);
    assert_int_equal(c.target, TARGET_SEQUENCE);
    warns(&c, "counts-as-sequences", "y of [4][3] was read as sequences of the names 0, 1, 2, ...; ");
    warns(&c, "counts-as-sequences", "target=count (motifctl: --target count)");
    collection_close(&c);
    for (int i = 0; i < 4; i++) {
        const int32_t *y = i == 0 ? filled : i == 1 ? many : counts;
        enum collection_target wanted = i == 2 ? TARGET_SEQUENCE : i == 3 ? TARGET_COUNT : TARGET_NONE;
        assert_int_equal(READ(&c, WANT(wanted), X, {"y", "<i4", "4, 3", y, sizeof counts}), STATUS_OK);
        assert_null(warning(&c, "counts-as-sequences"));
        collection_close(&c);
    }
}

/* If a label is a set or a list, an empty cell of the table is an empty label. */
static void empty_cells_are_empty_sets(void **state)
{
    static const char *const tables[] = {"a,b,label\n1,2,x y\n1,3,\n2,3,y\n", "a,b,labels\n1,2,x y\n1,3,\n2,3,y\n"};
    for (int i = 0; i < 5; i++) {
        struct collection c;
        struct collection_options options = {.layout = i == 4 ? LAYOUT_AUTO : LAYOUT_SIGNALS,
                                             .target = i == 0   ? TARGET_SEQUENCE
                                                       : i == 1 ? TARGET_COUNT
                                                       : i == 3 ? TARGET_NONE
                                                                : TARGET_LABELS};
        memcpy(packed, tables[i == 3], packed_size = strlen(tables[i == 3]));
        assert_int_equal(read_packed("csv", options, &c), STATUS_OK);
        assert_int_equal(c.target, i == 3 ? TARGET_LABELS : options.target);
        assert_string_equal(words(&c, 0), "x y");
        assert_string_equal(words(&c, 1), "");
        collection_close(&c);
    }
    struct collection c;
    for (int i = 0; i < 2; i++) {
        memcpy(packed, tables[i], packed_size = strlen(tables[i]));
        assert_int_equal(
            read_packed("csv", (struct collection_options){.layout = i ? LAYOUT_AUTO : LAYOUT_SIGNALS}, &c),
            STATUS_INVALID);
        assert_string_equal(err.message, "row 3 has no label; every row needs one, unless the labels are sets: "
                                         "target=labels (motifctl: --target labels). missing=drop (motifctl: --missing "
                                         "drop) leaves it out");
    }
}

/* The fault of an array names the row and the column. */
static void values_that_are_not_finite_are_named_by_row_and_column(void **state)
{
    static const float x[12] = {[7] = NAN};
    struct collection c;
    assert_int_equal(READ(&c, PLAIN, {"x", "<f4", "3, 4", x, sizeof x}), STATUS_INVALID);
    assert_non_null(strstr(err.message, "row 1, column 3 of the array (counted from 0) is not finite"));
    assert_int_equal(READ(&c, PLAIN, {"x", "<f4", "2, 2, 3", x, sizeof x}), STATUS_INVALID);
    assert_non_null(strstr(err.message, "element [1][0][1] of the array (counted from 0) is not finite"));
}

/* A name that a warning cuts keeps whole characters. */
static void long_names_are_cut_between_characters(void **state)
{
    struct collection c;
    const char csv[] = "aaaaaaaaaaaaaaaaaaa\xC3\xA4long,b,label\n1,2,x\n1,3,y\n";
    memcpy(packed, csv, packed_size = sizeof csv - 1);
    assert_int_equal(read_packed("csv", (struct collection_options){0}, &c), STATUS_OK);
    warns(&c, "constant-columns", "'aaaaaaaaaaaaaaaaaaa...'");
    collection_close(&c);
}

/* If a set has two classes, and the name of one says that the other is absent ("bound", "unbound"), the upload causes a
 * warning. Other names cause none. */
static void classes_that_name_an_absence_are_reported(void **state)
{
    static const struct {
        const char *names[2];
        int absent; /* index of the name that the warning contains first; -1: no warning */
    } cases[] = {{{"bound", "unbound"}, 1},    {{"CTCF", "none"}, 1},     {{"negative", "GATA"}, 0},
                 {{"peak", "Background"}, 1},  {{"site", "not_site"}, 1}, {{"1", "0"}, 1},
                 {{"true", "FALSE"}, 1},       {{"site", "non-site"}, 1}, {{"coding", "noncoding"}, 1},
                 {{"tumour", "no_tumour"}, 1}, {{"KO", "Wild-Type"}, 1},  {{"CTCF", "GATA"}, -1},
                 {{"unc", "bound"}, -1},       {{"nonA", "B"}, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct collection c;
        char expected[100];
        const char *const *names = cases[i].names;
        packed_size = (size_t)snprintf((char *)packed, 200, ">a %s\nACGTACGTAC\n>b %s\nACCTACGTAC\n>c %s\nACCTACGTAG\n",
                                       names[0], names[1], names[0]);
        assert_int_equal(read_packed("fasta", (struct collection_options){0}, &c), STATUS_OK);
        if (cases[i].absent < 0) {
            assert_int_equal(c.warnings, 0);
        } else {
            snprintf(expected, sizeof expected, "the label '%s' seems to say that '%s' is absent",
                     names[cases[i].absent], names[1 - cases[i].absent]);
            warns(&c, "absence-as-label", expected);
        }
        collection_close(&c);
    }
    static const char *const more[][3] = {{"none", "GATA", "CTCF"},
                                          {"GATA", "Background", "CTCF"},
                                          {"p53", "mock_control", "ras"},
                                          {"cyst", "No_Finding", "mass"},
                                          {"S", "gesund", "V"},
                                          {"0", "1", "2"},
                                          {"yes", "no", "up"},
                                          {"no-entry", "yield", "stop"}};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        struct collection c;
        packed_size = (size_t)snprintf((char *)packed, 200, ">a %s\nACGTACGTAC\n>b %s\nACCTACGTAC\n>c %s\nACCTACGTAG\n",
                                       more[i][0], more[i][1], more[i][2]);
        assert_int_equal(read_packed("fasta", (struct collection_options){0}, &c), STATUS_OK);
        assert_int_equal(c.warnings, i < 5);
        if (i < 5) {
            char expected[100];
            snprintf(expected, sizeof expected, "the label '%s' seems to say that the other names are absent",
                     more[i][i > 0]);
            warns(&c, "absence-as-label", expected);
        }
        collection_close(&c);
    }
    struct collection c;
    const char empty[] = ">a bound\nACGTACGTAC\n>b\nACCTACGTAC\n";
    memcpy(packed, empty, packed_size = sizeof empty - 1);
    assert_int_equal(read_packed("fasta", (struct collection_options){.target = TARGET_LABELS}, &c), STATUS_OK);
    assert_int_equal(c.warnings, 0);
    collection_close(&c);
}

static void words_of_public_headers_are_reported(void **state)
{
    struct collection c;
    const char fasta[] = ">a GATA OS=Human\nACGTACGTAC\n>b GATA\nACCTACGTAC\n>c CTCF OS=Mouse\nACGTACGTAA\n";
    memcpy(packed, fasta, packed_size = sizeof fasta - 1);
    assert_int_equal(read_packed("fasta", (struct collection_options){0}, &c), STATUS_OK);
    warns(&c, "descriptions", "'GATA OS=Human'), so no record has a label");
    assert_int_equal(c.target, TARGET_NONE);
    collection_close(&c);
    assert_int_equal(read_packed("fasta", (struct collection_options){.target = TARGET_SEQUENCE}, &c), STATUS_OK);
    warns(&c, "labels-with-equals", "2 of 4 labels contain '=': 'OS=Human', 'OS=Mouse'; every word after the name");
    collection_close(&c);
    const char plain[] = ">a GATA\nACGTACGTAC\n>b CTCF\nACCTACGTAC\n";
    memcpy(packed, plain, packed_size = sizeof plain - 1);
    assert_int_equal(read_packed("fasta", (struct collection_options){0}, &c), STATUS_OK);
    assert_int_equal(c.warnings, 0);
    collection_close(&c);
}

static void add_png(struct archive *a, const char *name, uint8_t grey)
{
    struct picture *picture;
    struct buf out;
    assert_int_equal(picture_create(4, 6, (struct colour){grey, grey, grey}, &picture, NULL), STATUS_OK);
    buf_init(&out, 1 << 20);
    assert_int_equal(png_encode(picture, &out, NULL), STATUS_OK);
    add(a, name, out.data, out.size);
    buf_close(&out);
    picture_destroy(picture);
}

/* ---- bytes, floats, files ----------------------------------------------------------------------------------- */

/* Checks which arrays the collection stores as bytes and which as floats. In both cases, a value
 * that is read from the collection must equal the value in the file. */
static void values_are_bytes_where_that_loses_nothing(void **state)
{
    static const float whole[12] = {0, 1, 2, 255, 4, 5, 6, 7, 8, 9, 10, 11}, parts[12] = {0.5F, 1.5F},
                       late[12] = {0, 1, 1, 0, 1, 0, 0, 0, 1, 0.2F, 0.25F, 1}, minus[12] = {-1, 3};
    float unit[12] = {0, 1, 0, 0, 1, 1};
    struct collection c;
    const struct {
        const float *x;
        bool bytes, unit;
    } cases[] = {
        {whole, true, false}, {parts, false, false}, {unit, true, true}, {late, false, false}, {minus, false, false}};
    /* the first samples contain only 0 and 1, the later ones other multiples of 1/255 */
    for (int i = 6; i < 12; i++)
        unit[i] = (float)(i * 20 / 255.0);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        assert_int_equal(READ(&c, PLAIN, {"x", "<f4", "4, 1, 3", cases[k].x, 48}), STATUS_OK);
        assert_true((c.bytes != NULL) == cases[k].bytes && (c.values == NULL) == cases[k].bytes);
        assert_true(!cases[k].bytes || c.unit == cases[k].unit);
        for (int i = 0; i < 12; i++)
            assert_true(collection_value(&c, i) == cases[k].x[i]);
        collection_close(&c);
    }
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", "4, 3", x_bytes, 12}), STATUS_OK); /* a table has floats */
    assert_true(c.values && c.values[11] == 9);
    collection_close(&c);
}

static enum status put(void *context, const void *bytes, size_t count, struct error *e)
{
    return fwrite(bytes, 1, count, context) == count ? STATUS_OK : STATUS_IO;
}

static void bytes_stay_bytes_in_the_stored_form(void **state)
{
    static unsigned char x[40000];
    struct collection c, again;
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (unsigned char)(i % 251);
    FILE *file = tmpfile();
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", "4, 100, 100", x, sizeof x}, {"y", "|b1", "4, 3", flags, 12}),
                     STATUS_OK);
    assert_int_equal(collection_write(&c, &(struct snapshot_writer){file, put}, NULL), STATUS_OK);
    assert_true(ftell(file) > 40000 && ftell(file) < 44000);
    fflush(file);
    assert_int_equal(collection_map(fileno(file), &again, NULL), STATUS_OK);
    assert_memory_equal(again.bytes, x, sizeof x);
    assert_true(again.moments.count == sizeof x && again.moments.sum == c.moments.sum && again.moments.max == 250);
    collection_close(&again);
    collection_close(&c);
    fclose(file);
}

/* Writes an .npz file of four samples. The file is valid until the next call of begin(). */
static size_t shard(char *out, const char *shape, const void *names)
{
    struct collection c;
    assert_int_equal(READ(&c, PLAIN, {"x", "|u1", shape, x_bytes, 12}, Y_BOOL, {"names", "|S4", "3,", names, 12},
                          {"boxes", "|S1", "1, 6", strcmp(shape, "4, 1, 3") == 0 ? "30102u" : "10101u", 6}),
                     STATUS_OK);
    collection_close(&c);
    memcpy(out, packed, packed_size);
    return packed_size;
}

static enum status read_shards(const char *second, struct collection *c)
{
    static char one[1 << 16], two[1 << 16];
    static const char names[12] = "u\0\0\0down"
                                  "left";
    size_t size = shard(one, "4, 1, 3", names), other = shard(two, second, names);
    struct archive *a = begin(false);
    add(a, "b/1.npz", one, size);
    add(a, "b/2.npz", two, other);
    end(a);
    return read_packed("tar", (struct collection_options){0}, c);
}

static void several_files_form_one_data_set(void **state)
{
    struct collection c;
    assert_int_equal(read_shards("4, 1, 3", &c), STATUS_OK);
    assert_true(c.count == 8 && c.target == TARGET_LABELS && c.vocabulary.count == 2 && c.boxes == 2);
    assert_true(c.box_start[3] == 0 && c.box_start[4] == 1 && c.box_start[7] == 1 && c.box_start[8] == 2);
    for (int64_t i = 0; i < 4; i++) {
        char first[100];
        strcpy(first, words(&c, i));
        assert_string_equal(words(&c, i + 4), first);
        for (int j = 0; j < 3; j++)
            assert_true(collection_value(&c, collection_begin(&c, i) + j) ==
                        collection_value(&c, collection_begin(&c, i + 4) + j));
    }
    warns(&c, "duplicates", "4 of 8 samples");
    collection_close(&c);
    assert_int_equal(read_shards("4, 3, 1", &c), STATUS_INVALID);
    assert_string_equal(err.message,
                        "member 'b/2.npz': member 'x.npy': has samples of 1 x 3 x 1, but the first file has 1 x 1 "
                        "x 3; all must be alike");
    struct archive *a = begin(false);
    add_png(a, "a.png", 1);
    add(a, "b.npz", "x", 1);
    end(a);
    assert_int_equal(read_packed("tar", (struct collection_options){0}, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "only arrays, only pictures or only recordings"));
}

/* ---- folders ----------------------------------------------------------------------------------------------- */

static void one_folder_for_each_class_gives_the_labels(void **state)
{
    struct collection c;
    struct archive *a = begin(false);
    add_png(a, "set/red fox/a.png", 1);
    add_png(a, "set/owl/a.png", 2);
    add_png(a, "set/red fox/b.png", 3);
    end(a);
    assert_int_equal(read_packed("tar", (struct collection_options){0}, &c), STATUS_OK);
    assert_true(c.target == TARGET_CLASS && c.vocabulary.count == 2 && c.group == NULL);
    assert_string_equal(words(&c, 2), "red fox");
    collection_close(&c);
    a = begin(false);
    add_png(a, "train/owl/a.png", 1);
    add_png(a, "train/fox/b.png", 2);
    add_png(a, "test/owl/c.png", 3);
    end(a);
    assert_int_equal(read_packed("tar", (struct collection_options){0}, &c), STATUS_OK);
    assert_true(c.target == TARGET_CLASS && c.group == NULL && c.part != NULL);
    assert_string_equal(words(&c, 2), "owl");
    assert_true(c.part[0] == PART_OF_TRAINING && c.part[2] == PART_OF_TEST);
    collection_close(&c);
}

static void folders_are_no_classes_when_there_is_one_or_a_file_without_folder(void **state)
{
    static const char *const second[] = {"all/b.png", "b.png"};
    struct collection c;
    for (int i = 0; i < 2; i++) {
        struct archive *a = begin(false);
        add_png(a, "all/a.png", 1);
        add_png(a, second[i], 2);
        end(a);
        assert_int_equal(read_packed("tar", (struct collection_options){0}, &c), STATUS_OK);
        assert_true(c.target == TARGET_NONE && c.count == 2);
        collection_close(&c);
    }
    struct archive *a = begin(false); /* labels.csv is stronger than folders */
    add_png(a, "owl/a.png", 1);
    add_png(a, "fox/b.png", 2);
    add(a, "labels.csv", "file,label\nowl/a.png,x\nfox/b.png,y\n", 35);
    end(a);
    assert_int_equal(read_packed("tar", (struct collection_options){0}, &c), STATUS_OK);
    assert_string_equal(words(&c, 0), "x");
    collection_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_and_ones_are_a_set_with_a_warning),
        cmocka_unit_test(integers_other_than_zero_and_one_stay_a_sequence),
        cmocka_unit_test(names_belong_to_the_columns_of_y),
        cmocka_unit_test(counts_repeat_their_name),
        cmocka_unit_test(the_stated_target_must_fit_the_labels),
        cmocka_unit_test(colours_at_the_second_axis_are_channels),
        cmocka_unit_test(points_of_signals_are_neither_columns_nor_rows),
        cmocka_unit_test(copies_and_constants_are_reported),
        cmocka_unit_test(long_names_are_cut_between_characters),
        cmocka_unit_test(classes_that_name_an_absence_are_reported),
        cmocka_unit_test(tables_of_numbered_columns_are_reported),
        cmocka_unit_test(small_numbers_read_as_sequences_are_reported),
        cmocka_unit_test(empty_cells_are_empty_sets),
        cmocka_unit_test(values_that_are_not_finite_are_named_by_row_and_column),
        cmocka_unit_test(words_of_public_headers_are_reported),
        cmocka_unit_test(values_are_bytes_where_that_loses_nothing),
        cmocka_unit_test(bytes_stay_bytes_in_the_stored_form),
        cmocka_unit_test(several_files_form_one_data_set),
        cmocka_unit_test(one_folder_for_each_class_gives_the_labels),
        cmocka_unit_test(folders_are_no_classes_when_there_is_one_or_a_file_without_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
