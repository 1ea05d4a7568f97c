/* Tests the description and the preview of a collection. Compares figures as text and pictures by their pixels, for
 * every kind and for unusual data: constant, huge or tiny values, many columns, very long names. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/buf.h"
#include "core/data/uploads/collection_show.h"
#include "tests/support/fault.h"
#include "tests/support/pixel_at.h"

/* Writes the description as text: key{...}, key[...], key=value, each followed by a space. */

static void append(void *to, const char *key, const char *what)
{
    buf_format(to, "%s%s", key ? key : "", what);
}
static void begin_object(void *to, const char *key)
{
    append(to, key, "{");
}
static void begin_list(void *to, const char *key)
{
    append(to, key, "[");
}
static void end_object(void *to)
{
    append(to, NULL, "} ");
}
static void end_list(void *to)
{
    append(to, NULL, "] ");
}
static void number(void *to, const char *key, double value)
{
    buf_format(to, "%s=%.6g ", key, value);
}
static void integer(void *to, const char *key, int64_t value)
{
    buf_format(to, "%s=%lld ", key, (long long)value);
}
static void boolean(void *to, const char *key, bool value)
{
    buf_format(to, "%s=%d ", key, value);
}
static void text(void *to, const char *key, const char *value)
{
    buf_format(to, "%s=%s ", key, value);
}
static void null(void *to, const char *key)
{
    append(to, key, "=null ");
}

static char last_recognised[512]; /* the part of the last description that describes() does not compare */

static void describes(const struct collection *c, const char *wanted)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    const struct sink sink = {&out,   begin_object, end_object, begin_list, end_list,
                              number, integer,      boolean,    text,       null};
    collection_describe(c, &sink);
    assert_false(out.failed);
    char *recognised = strstr(out.data, "recognised{"), *behind = strstr(out.data, "warnings[");
    assert_non_null(recognised);
    (void)snprintf(last_recognised, sizeof last_recognised, "%.*s", (int)(behind - recognised), recognised);
    memmove(recognised, behind, strlen(behind) + 1);
    assert_string_equal(out.data, wanted);
    buf_close(&out);
}

static struct picture *preview(const struct collection *c)
{
    struct picture *picture = NULL;
    struct error err = {0};
    if (collection_preview(c, &picture, &err))
        fail_msg("%s", err.message);
    return picture;
}

static void assert_colour(const struct picture *p, int row, int col, int red, int green, int blue)
{
    struct colour c = pixel_at(p, row, col);
    if (c.red != red || c.green != green || c.blue != blue)
        fail_msg("row %d, col %d: %d %d %d, not %d %d %d", row, col, c.red, c.green, c.blue, red, green, blue);
}

/* Returns the number of pixels of exactly this grey within a rectangle. */
static int greys(const struct picture *p, int row0, int col0, int rows, int cols, int grey)
{
    int count = 0;
    for (int r = row0; r < row0 + rows; r++)
        for (int k = col0; k < col0 + cols; k++) {
            struct colour c = pixel_at(p, r, k);
            count += c.red == grey && c.green == grey && c.blue == grey;
        }
    return count;
}

/* Returns the colour within a rectangle that is farthest from white. */
static struct colour ink(const struct picture *p, int row0, int col0, int rows, int cols)
{
    struct colour found = {255, 255, 255};
    for (int r = row0; r < row0 + rows; r++)
        for (int k = col0; k < col0 + cols; k++) {
            struct colour c = pixel_at(p, r, k);
            if (c.red + c.green + c.blue < found.red + found.green + found.blue)
                found = c;
        }
    return found;
}

/* ---- collections ---------------------------------------------------------------------------------------------- */

static char *two[] = {"left", "right"};
static int64_t ones[] = {0, 1, 2, 3};

static void tables_are_described_and_drawn(void **state)
{
    static float values[] = {1, 5, 2, 5, 6, 5};
    static int64_t start[] = {0, 2, 4, 6};
    static int32_t label[] = {1, 0, 1}, group[] = {0, 0, 1};
    static char *columns[] = {"size", "same"}, *groups[] = {"north", "south"};
    struct collection c = {.kind = COLLECTION_TABLE,
                           .target = TARGET_CLASS,
                           .count = 3,
                           .channels = 1,
                           .rows = 1,
                           .cols = 2,
                           .longest = 1,
                           .values = values,
                           .start = start,
                           .label = label,
                           .label_start = ones,
                           .vocabulary = {2, two},
                           .columns = {2, columns},
                           .groups = {2, groups},
                           .group = group};
    describes(&c,
              "kind=table target=class samples=3 shape{channels=1 rows=1 cols=2 } values{min=1 max=6 mean=4 "
              "deviation=1.82574 } "
              "columns[{name=size min=1 max=6 mean=3 deviation=2.16025 } {name=same min=5 max=5 mean=5 "
              "deviation=0 } ] longest=1 "
              "vocabulary[{name=left count=1 } {name=right count=2 } ] groups[{name=north count=2 } {name=south "
              "count=1 } ] boxes=0 warnings[] "
              "first[{values[(null)=1 (null)=5 ] label[(null)=right ] group=north } {values[(null)=2 (null)=5 ] "
              "label[(null)=left ] group=north } {values[(null)=6 (null)=5 ] label[(null)=right ] group=south } ] ");
    assert_string_equal(
        last_recognised,
        "recognised{kind=table labels{count=2 names[(null)=left (null)=right ] target=class } "
        "columns{features=2 label[] group[] part[] id[] ignored[] identifier[] text[] time[] left_out[] } "
        "groups{count=2 names[(null)=north (null)=south ] } range[(null)=1 (null)=6 ] } ");
    /* Rows of the table are drawn downwards, with 40 pixels for a column. Values are in standard deviations from the
     * column's mean: blue below the mean, red above it, white for a constant column. */
    struct picture *p = preview(&c);
    struct colour low = pixel_at(p, 8 + 4, 8 + 20), high = pixel_at(p, 8 + 20, 8 + 20);
    assert_true(low.blue > low.red && high.red > high.blue);
    for (int i = 0; i < 3; i++)
        assert_colour(p, 8 + i * 8 + 4, 8 + 60, 247, 247, 247);
    assert_colour(p, 8 + 4, 8 + 100, 255, 255, 255);
    picture_destroy(p);
}

/* The preview draws 100 of 1,000 columns and 60 of 130 rows. */
static void large_tables_are_sampled(void **state)
{
    enum { ROWS = 130, COLS = 1000 };
    struct collection c = {
        .kind = COLLECTION_TABLE, .target = TARGET_NONE, .count = ROWS, .channels = 1, .rows = 1, .cols = COLS};
    c.values = test_calloc(ROWS * COLS, sizeof *c.values);
    c.start = test_calloc(ROWS + 1, sizeof *c.start);
    c.label_start = test_calloc(ROWS + 1, sizeof *c.label_start);
    for (int i = 0; i <= ROWS; i++)
        c.start[i] = (int64_t)i * COLS;
    /* the preview draws column 500 of the table as its own column 50; the values are one standard deviation below or
     * above the mean */
    for (int i = 0; i < ROWS; i++)
        c.values[i * COLS + 500] = i < ROWS / 2 ? -1000 : 1000;
    struct picture *p = preview(&c);
    assert_int_equal(p->cols, 100 * 6 + 16);
    assert_int_equal(p->rows, 60 * 8 + 12 + 16);
    struct colour up = pixel_at(p, 8 + 4, 8 + 50 * 6 + 3), down = pixel_at(p, 8 + 59 * 8 + 4, 8 + 50 * 6 + 3);
    assert_true(up.blue > up.red && down.red > down.blue);
    assert_colour(p, 8 + 4, 8 + 51 * 6 + 3, 247, 247, 247);
    picture_destroy(p);
    test_free(c.values);
    test_free(c.start);
    test_free(c.label_start);
}

static void images_are_drawn_side_by_side(void **state)
{
    static float values[2 * 3 * 4];
    static int64_t start[] = {0, 4, 8}, label_start[] = {0, 1, 3}, box_start[] = {0, 1, 1};
    static int32_t label[] = {1, 0, 1}, box[][5] = {{1, 0, 2, 1, 3}};
    for (int i = 0; i < 12; i++)
        values[i] = (float)i / 11;
    /* the second image is constant, and a constant image is drawn as if all its values were the least value */
    for (int i = 12; i < 24; i++)
        values[i] = 7;
    struct collection c = {.kind = COLLECTION_IMAGES,
                           .target = TARGET_SEQUENCE,
                           .count = 2,
                           .channels = 1,
                           .rows = 3,
                           .cols = 4,
                           .longest = 2,
                           .values = values,
                           .start = start,
                           .label = label,
                           .label_start = label_start,
                           .vocabulary = {2, two},
                           .boxes = 1,
                           .box_start = box_start,
                           .box = box};
    describes(&c,
              "kind=images target=sequence samples=2 shape{channels=1 rows=3 cols=4 } values{min=0 max=7 mean=3.75 "
              "deviation=3.25757 } "
              "lengths{min=4 max=4 mean=4 deviation=0 } label_lengths{min=1 max=2 mean=1.5 deviation=0.5 } longest=2 "
              "vocabulary[{name=left count=1 } {name=right count=2 } ] boxes=1 warnings[] ");
    struct picture *p = preview(&c); /* each value is drawn as 30 x 30 pixels */
    assert_int_equal(p->cols, 2 * (4 * 30 + 8) + 8);
    assert_colour(p, 8 + 15, 8 + 15, 0, 0, 0);
    assert_colour(p, 8 + 75, 8 + 105, 255, 255, 255);
    assert_int_equal(greys(p, 8, 8 + 128, 90, 120, 0), 90 * 120);
    picture_destroy(p);
}

/* The preview has no room for all of these large images, so it draws every fourth pixel of a few of them. */
static void large_images_are_reduced(void **state)
{
    enum { COUNT = 9, SIDE = 1000 };
    struct collection c = {.kind = COLLECTION_IMAGES,
                           .target = TARGET_CLASS,
                           .count = COUNT,
                           .channels = 1,
                           .rows = SIDE,
                           .cols = SIDE,
                           .longest = 1,
                           .vocabulary = {1, (char *[]){"a name that is longer than the picture is wide, and so is "
                                                        "cut off where it ends, wherever that is"}}};
    c.values = test_calloc((size_t)COUNT * SIDE * SIDE, sizeof *c.values);
    c.start = test_calloc(COUNT + 1, sizeof *c.start);
    c.label_start = test_calloc(COUNT + 1, sizeof *c.label_start);
    c.label = test_calloc(COUNT, sizeof *c.label);
    for (int i = 0; i <= COUNT; i++) {
        c.start[i] = (int64_t)i * SIDE;
        c.label_start[i] = i;
    }
    for (int i = 0; i < SIDE; i++)
        c.values[(int64_t)i * SIDE + i] = 1; /* draws a diagonal in the first image */
    struct picture *p = preview(&c);
    assert_int_equal(p->cols, 3 * (250 + 8) + 8);
    assert_int_equal(p->rows, 2 * (250 + 12 + 8) + 8);
    assert_colour(p, 8 + 100, 8 + 100, 255, 255, 255);
    assert_int_equal(greys(p, 8, 8, 250, 250, 255), 250);
    picture_destroy(p);
    test_free(c.values);
    test_free(c.start);
    test_free(c.label_start);
    test_free(c.label);
}

static void sequences_of_symbols_are_described_and_drawn_as_letters(void **state)
{
    /* the sequences CAG and TN; all four channels of the unknown symbol N are equal */
    static float values[] = {0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0.25F, 0, 0.25F, 0, 0.25F, 1, 0.25F};
    static int64_t start[] = {0, 3, 5}, label_start[] = {0, 1, 2};
    static int32_t label[] = {0, 1};
    struct collection c = {.kind = COLLECTION_SEQUENCES,
                           .target = TARGET_CLASS,
                           .count = 2,
                           .channels = 4,
                           .rows = 1,
                           .cols = 3,
                           .longest = 1,
                           .values = values,
                           .start = start,
                           .label = label,
                           .label_start = label_start,
                           .vocabulary = {2, two}};
    char text[3];
    assert_non_null(collection_alphabet(&c));
    assert_int_equal(collection_spell(&c, collection_alphabet(&c), 0, 2, text), 2);
    assert_string_equal(text, "CA");
    assert_int_equal(collection_spell(&c, collection_alphabet(&c), 1, 2, text), 1);
    assert_string_equal(text, "T");
    struct picture *p = preview(&c);
    struct colour first = ink(p, 8, 8, 14, 12), second = ink(p, 8, 8 + 12, 14, 12);
    assert_true(first.blue > first.red + 100);      /* C is blue */
    assert_true(second.green > second.red + 100);   /* A is green */
    assert_colour(p, 8 + 4, 8 + 60, 255, 255, 255); /* nothing after three letters */
    picture_destroy(p);
    values[0] = 0.5F; /* with this value, the samples are signals of four channels instead of sequences of symbols */
    assert_null(collection_alphabet(&c));
    values[0] = 0;
}

/* If each position has a class, the preview writes no classes below the sequence. The description does not count class
 * -1, which stands for an unknown class. */
static void sequences_are_drawn_as_planes(void **state)
{
    static float values[] = {0, 0.5F, 1, 0.5F, 3, -2, 1, 1};
    static int64_t start[] = {0, 4}, label_start[] = {0, 4};
    static int32_t label[] = {0, -1, 1, 0};
    struct collection c = {.kind = COLLECTION_SEQUENCES,
                           .target = TARGET_POSITIONS,
                           .count = 1,
                           .channels = 2,
                           .rows = 1,
                           .cols = 4,
                           .longest = 4,
                           .values = values,
                           .start = start,
                           .label = label,
                           .label_start = label_start,
                           .vocabulary = {2, two}};
    describes(&c, "kind=sequences target=positions samples=1 shape{channels=2 rows=1 cols=4 } values{min=-2 max=3 "
                  "mean=0.625 deviation=1.29301 } "
                  "lengths{min=4 max=4 mean=4 deviation=0 } label_lengths{min=4 max=4 mean=4 deviation=0 } longest=4 "
                  "vocabulary[{name=left count=2 } {name=right count=1 } ] boxes=0 warnings[] "
                  "first[{curve[(null)=0 (null)=0.5 (null)=1 (null)=0.5 ] label[] } ] ");
    struct picture *p = preview(&c); /* one line of 24 pixels for each channel, from 0 (white) to 1 */
    assert_colour(p, 8 + 12, 8 + 80, 255, 255, 255);
    assert_colour(p, 8 + 12, 8 + 400, 24, 24, 24);
    assert_colour(p, 8 + 36, 8 + 80, 24, 24, 24);
    assert_colour(p, 8 + 36, 8 + 240, 255, 255, 255);
    picture_destroy(p);
}

/* Returns collection_one_hot() for a collection of one sequence of `channels` channels and two columns. */
static bool is_one_hot(enum collection_kind kind, int channels, float *values)
{
    static int64_t start[] = {0, 2};
    return collection_one_hot(&(struct collection){
        .kind = kind, .count = 1, .channels = channels, .rows = 1, .cols = 2, .values = values, .start = start});
}

static void only_sequences_of_symbols_are_one_hot(void **state)
{
    assert_true(is_one_hot(COLLECTION_SEQUENCES, 3, (float[]){1, 0, 0, 0, 0, 1}));
    /* The second position is unknown. */
    assert_true(is_one_hot(COLLECTION_SEQUENCES, 2, (float[]){1, 0.25F, 0, 0.25F}));
    assert_false(is_one_hot(COLLECTION_RECORDINGS, 3, (float[]){1, 0, 0, 0, 0, 1}));
    assert_false(is_one_hot(COLLECTION_SEQUENCES, 1, (float[]){1, 0}));
    assert_false(is_one_hot(COLLECTION_SEQUENCES, 2, (float[]){1, 0.5F, 0, 0}));
    assert_false(is_one_hot(COLLECTION_SEQUENCES, 2, (float[]){1, 1, 1, 0}));
    assert_false(is_one_hot(COLLECTION_SEQUENCES, 2, (float[]){0, 0, 0, 0})); /* neither position has a symbol */
}

/* ten points of a curve: each stands for 50 values, of which the last one that is farthest from the mean is 0.5 */
#define TEN FIVE FIVE
#define FIVE "(null)=0.5 (null)=0.5 (null)=0.5 (null)=0.5 (null)=0.5 "

static void recordings_are_drawn_as_curves(void **state)
{
    static float values[3000 + 2];
    static int64_t start[] = {0, 3000, 3002}, label_start[] = {0, 0, 0};
    for (int i = 0; i < 3000; i++)
        values[i] = i % 2 ? 0.5F : -0.5F;
    values[3000] = values[3001] = 0.25F; /* this recording is shorter than the line, and constant */
    struct collection c = {.kind = COLLECTION_RECORDINGS,
                           .target = TARGET_NONE,
                           .count = 2,
                           .channels = 1,
                           .rows = 1,
                           .cols = 3000,
                           .rate = 8000,
                           .values = values,
                           .start = start,
                           .label_start = label_start};
    describes(&c, "kind=recordings target=none samples=2 shape{channels=1 rows=1 cols=3000 } rate=8000 "
                  "values{min=-0.5 max=0.5 mean=0.000166556 deviation=0.499875 } lengths{min=2 max=3000 mean=1501 "
                  "deviation=1499 } longest=0 "
                  "vocabulary[] boxes=0 warnings[] "
                  "first[{curve[" TEN TEN TEN TEN TEN TEN "] } {curve[(null)=0.25 (null)=0.25 ] } ] ");
    struct picture *p = preview(&c);
    for (int k = 0; k < 640; k += 7) {
        assert_colour(p, 8, 8 + k, 24, 32, 48); /* a column of pixels is filled from the largest to the least value */
        assert_colour(p, 8 + 47, 8 + k, 24, 32, 48);
        assert_colour(p, 8 + 48 + 12 + 8, 8 + k, 24, 32, 48);
        assert_colour(p, 8 + 48 + 12 + 8 + 20, 8 + k, 255, 255, 255);
    }
    picture_destroy(p);
}

static void a_failed_allocation_of_the_preview_is_reported(void **state)
{
    static float values[] = {1, 2};
    static int64_t start[] = {0, 1, 2}, none[] = {0, 0, 0};
    struct collection c = {.target = TARGET_NONE,
                           .count = 2,
                           .channels = 1,
                           .rows = 1,
                           .cols = 1,
                           .values = values,
                           .start = start,
                           .label_start = none,
                           .columns = {1, (char *[]){"x"}}};
    for (int kind = COLLECTION_TABLE; kind <= COLLECTION_MOTIFS; kind++) {
        struct picture *p = NULL;
        struct error err = {0};
        c.kind = (enum collection_kind)kind;
        for (int n = 0;; n++) {
            fault_after(n);
            enum status status = collection_preview(&c, &p, &err);
            bool failed = fault_happened(), incomplete = status == STATUS_OK && p->incomplete;
            assert_int_equal(status, failed && !incomplete ? STATUS_NO_MEMORY : STATUS_OK);
            if (!failed)
                break;
            if (status == STATUS_OK)
                picture_destroy(p);
        }
        picture_destroy(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_are_described_and_drawn),
                                       cmocka_unit_test(large_tables_are_sampled),
                                       cmocka_unit_test(images_are_drawn_side_by_side),
                                       cmocka_unit_test(large_images_are_reduced),
                                       cmocka_unit_test(sequences_of_symbols_are_described_and_drawn_as_letters),
                                       cmocka_unit_test(sequences_are_drawn_as_planes),
                                       cmocka_unit_test(only_sequences_of_symbols_are_one_hot),
                                       cmocka_unit_test(recordings_are_drawn_as_curves),
                                       cmocka_unit_test(a_failed_allocation_of_the_preview_is_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
