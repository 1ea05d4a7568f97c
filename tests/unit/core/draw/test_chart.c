/* Tests charts: ticks, colours, positions of what is drawn, and the numbers as CSV. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/draw/chart_int.h"
#include "core/draw/png.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static void expect_ticks(double min, double max, bool log, int room, const char *wanted)
{
    double at[CHART_TICKS];
    char labels[CHART_TICKS][CHART_TICK_BYTES], all[256] = "";
    int count = chart_ticks(min, max, log, room, at, labels);
    for (int i = 0; i < count; i++) {
        strcat(all, i > 0 ? " " : "");
        strcat(all, labels[i]);
        assert_true(at[i] >= min - 1e-6 * (max - min) && at[i] <= max + 1e-6 * (max - min));
        assert_true(i == 0 || at[i] > at[i - 1]);
    }
    assert_string_equal(all, wanted);
}

static void ticks_are_at_round_numbers(void **state)
{
    expect_ticks(0, 1, false, 6, "0 0.2 0.4 0.6 0.8 1");
    expect_ticks(-0.31, 0.29, false, 4, "-0.2 0 0.2");
    expect_ticks(0, 20000, false, 5, "0 5000 10000 15000 20000");
    expect_ticks(3, 3.01, false, 3, "3 3.005 3.01");
    expect_ticks(1e-5, 1e-3, true, 8, "10⁻⁵ 10⁻⁴ 10⁻³");
    expect_ticks(0.1, 1000, true, 8, "0.1 1 10 100 10³");
    expect_ticks(1e-12, 1, true, 5, "10⁻¹² 10⁻⁹ 10⁻⁶ 10⁻³ 1");
    expect_ticks(1, 30, true, 8, "1 2 5 10 20");
    expect_ticks(2, 3, true, 6, "2 2.2 2.4 2.6 2.8 3");
    expect_ticks(1, 1, false, 6, "");
    expect_ticks(-1, 1, true, 6, "");
    expect_ticks(NAN, 1, false, 6, "");
}

static void axes_include_the_data(void **state)
{
    const double x[] = {1, 2, NAN, 4}, y[] = {10, -5, 1000, 20}, low[] = {9, -7, 0, 19}, high[] = {11, 1, 2, 33};
    const struct chart_series series[] = {{"a", CHART_LINE, -1, x, y, low, high, 4}};
    const struct chart_reference references[] = {{"limit", false, 50, NAN, -1}, {"span", true, 0.5, 0.75, -1}};
    struct chart_panel panel = {"p", CHART_AXIS("x"), CHART_AXIS("y"), series, 1, references, 2, NULL};
    struct chart_scale sx, sy;
    chart_scales(&panel, &sx, &sy);
    assert_near(sx.min, 0.5 - 0.04 * 3.5); /* the axis begins at the reference band; NaN is ignored */
    assert_near(sx.max, 4 + 0.04 * 3.5);
    assert_near(sy.min, -7 - 0.04 * 57);
    assert_near(sy.max, 50 + 0.04 * 57);
    panel.y.log = true; /* a logarithmic axis ignores values <= 0: it begins at 1, the end of an error bar */
    panel.y.max = 100;
    chart_scales(&panel, &sx, &sy);
    assert_near(sy.min, 0 - 0.04 * 2);
    assert_near(sy.max, 2);
    sy.from = 300;
    sy.to = 100;
    double pixel;
    assert_true(chart_place(&sy, 100, &pixel));
    assert_near(pixel, 100);
    assert_false(chart_place(&sy, 0, &pixel));
    assert_false(chart_place(&sy, NAN, &pixel));
    struct chart_panel empty = {NULL, CHART_AXIS(NULL), CHART_LOG_AXIS(NULL), NULL, 0, NULL, 0, NULL};
    chart_scales(&empty, &sx, &sy);
    assert_true(sx.max > sx.min && sy.max > sy.min);
}

static void colours_equal_the_published_maps(void **state)
{
    struct chart_colour low = chart_shade(CHART_VIRIDIS, 0), high = chart_shade(CHART_VIRIDIS, 7);
    assert_near(low.red, 0x44 / 255.0);
    assert_near(low.blue, 0x54 / 255.0);
    assert_near(high.red, 0xFD / 255.0);
    assert_near(chart_shade(CHART_SIGNED, 0.5).green, 0xF7 / 255.0);
    double before = -1; /* the lightness of viridis increases along the whole scale */
    for (int i = 0; i <= 100; i++) {
        struct chart_colour c = chart_shade(CHART_VIRIDIS, i / 100.0);
        double luma = 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue;
        assert_true(luma > before);
        before = luma;
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++) {
            struct chart_colour a = chart_colour(i), b = chart_colour(j);
            assert_true(fabs(a.red - b.red) + fabs(a.green - b.green) + fabs(a.blue - b.blue) > 0.2);
        }
}

struct image {
    float *values;
    int rows, cols;
};

static struct image draw(const struct chart *chart)
{
    struct buf bytes;
    struct image image = {0};
    struct error err = {0};
    buf_init(&bytes, CHART_BYTES);
    if (chart_png(chart, &bytes, &err))
        fail_msg("%s", err.message);
    if (getenv("CHART_PICTURE")) { /* writes the chart to a file, so that a person can look at it */
        FILE *file = fopen(getenv("CHART_PICTURE"), "wb");
        assert_non_null(file);
        fwrite(bytes.data, 1, bytes.size, file);
        fclose(file);
    }
    assert_int_equal(
        png_decode_grey(bytes.data, bytes.size, PNG_MAX_SIDE, &image.values, &image.rows, &image.cols, &err),
        STATUS_OK);
    buf_close(&bytes);
    return image;
}

static int dark_in(const struct image *image, int row, int col, int rows, int cols)
{
    int dark = 0;
    for (int r = row; r < row + rows; r++)
        for (int c = col; c < col + cols; c++)
            dark += image->values[r * image->cols + c] < 0.5f;
    return dark;
}

static void a_line_is_drawn_where_it_belongs(void **state)
{
    const double x[] = {0, 1}, middle[] = {0.5, 0.5};
    const struct chart_series series[] = {{NULL, CHART_LINE, 6, x, middle, NULL, NULL, 2}};
    struct chart_panel panel = {NULL, {NULL, false, 0, 1, NULL}, {NULL, false, 0, 1, NULL}, series, 1, NULL, 0, NULL};
    struct chart chart = {.panels = &panel, .panel_count = 1, .width = 200, .height = 100};
    struct image image = draw(&chart);
    /* The plotting area is 200 x 100 pixels from (76, 34). A black line runs along its middle, and nothing is drawn
     * above or below the line. */
    assert_true(dark_in(&image, 83, 80, 3, 190) >= 190);
    assert_int_equal(dark_in(&image, 40, 80, 40, 190), 0);
    assert_int_equal(dark_in(&image, 88, 80, 40, 190), 0);
    assert_int_equal(dark_in(&image, 0, 0, 25, image.cols), 0); /* the chart has no title yet */
    free(image.values);
    panel.title = "A title";
    image = draw(&chart);
    assert_true(dark_in(&image, 0, 0, 33, image.cols) > 50); /* the chart has letters, so a font was found */
    free(image.values);
}

/* With a title and a note wider than the panel, the picture grows and its borders stay white. */
static void pictures_grow_for_long_texts(void **state)
{
    const double x[] = {0, 1}, y[] = {0.5, 0.5};
    const struct chart_series series[] = {{NULL, CHART_LINE, 6, x, y, NULL, NULL, 2}};
    struct chart_panel panel = {NULL, {NULL, false, 0, 1, NULL}, {NULL, false, 0, 1, NULL}, series, 1, NULL, 0, NULL};
    struct chart chart = {.title = "Short", .panels = &panel, .panel_count = 1, .width = 200, .height = 100};
    struct image narrow = draw(&chart);
    chart.title = "A title that takes more room than the one panel below it would give";
    struct image titled = draw(&chart);
    chart.title = "Short";
    chart.note =
        "One.\nA note whose second line takes more room than the one panel above it would ever give to anything.";
    struct image noted = draw(&chart);
    assert_true(titled.cols > narrow.cols + 100 && noted.cols > narrow.cols + 100);
    assert_int_equal(dark_in(&titled, 0, 0, 30, 10), 0);
    assert_int_equal(dark_in(&titled, 0, titled.cols - 10, 30, 10), 0);
    assert_int_equal(dark_in(&noted, noted.rows - 30, noted.cols - 8, 30, 8), 0);
    free(narrow.values);
    free(titled.values);
    free(noted.values);
}

/* Draws a point at 1 on an axis from 0 to 4, and on an axis from 4 to 0. */
static void an_axis_may_run_downwards(void **state)
{
    const double x[] = {1}, y[] = {0.5};
    const struct chart_series series[] = {{NULL, CHART_POINTS, 6, x, y, NULL, NULL, 1}};
    for (int down = 0; down < 2; down++) {
        struct chart_panel panel = {
            NULL, {NULL, false, down ? 4 : 0, down ? 0 : 4, NULL}, {NULL, false, 0, 1, NULL}, series, 1, NULL, 0, NULL};
        struct chart chart = {.panels = &panel, .panel_count = 1, .width = 200, .height = 100};
        struct image image = draw(&chart);
        assert_true(dark_in(&image, 80, 76 + (down ? 145 : 45), 10, 10) > 10);
        assert_int_equal(dark_in(&image, 80, 76 + (down ? 45 : 145), 10, 10), 0);
        free(image.values);
    }
}

/* An axis with names shows names at its places; otherwise it shows numbers, which are narrower. */
static void places_of_an_axis_show_their_names(void **state)
{
    static const char *const names[] = {"first", "second", NULL};
    const double x[] = {1, 2}, y[] = {0.5, 0.5};
    const struct chart_series series[] = {{NULL, CHART_POINTS, 6, x, y, NULL, NULL, 2}};
    struct chart_panel panel = {NULL, {NULL, false, 0.5, 2.5, names}, {NULL, false, 0, 1, NULL}, series, 1, NULL, 0,
                                NULL};
    struct chart chart = {.panels = &panel, .panel_count = 1, .width = 200, .height = 100};
    struct image named = draw(&chart);
    panel.x.names = NULL;
    struct image numbered = draw(&chart);
    /* The names are below the plotting area, at a quarter (place 1) and at three quarters (place 2) of its width. */
    assert_true(dark_in(&named, 140, 76 + 30, 14, 40) > 20);
    assert_true(dark_in(&named, 140, 76 + 125, 14, 50) > 25);
    assert_true(dark_in(&named, 140, 76, 14, 200) > 2 * dark_in(&numbered, 140, 76, 14, 200));
    free(named.values);
    free(numbered.values);
}

static void a_heat_map_is_drawn_with_row_0_below_or_above(void **state)
{
    const double values[] = {0, 1, 1, 1}; /* only the first value is dark */
    struct chart_heat heat = {.values = values, .rows = 2, .cols = 2, .min = NAN, .max = NAN};
    struct chart_panel panel = {NULL, CHART_AXIS(NULL), CHART_AXIS(NULL), NULL, 0, NULL, 0, &heat};
    struct chart chart = {.panels = &panel, .panel_count = 1, .width = 100, .height = 100};
    struct image image = draw(&chart);
    assert_int_equal(dark_in(&image, 94, 86, 30, 30), 900); /* the first value is at the lower left */
    assert_int_equal(dark_in(&image, 44, 86, 30, 30), 0);
    assert_int_equal(dark_in(&image, 94, 136, 30, 30), 0);
    free(image.values);
    heat.down = true;
    image = draw(&chart);
    assert_int_equal(dark_in(&image, 44, 86, 30, 30), 900); /* the first value is at the upper left */
    free(image.values);
}

static void a_chart_may_have_everything_at_once(void **state)
{
    enum { N = 40, SIDE = 12 };
    static double x[N], a[N], b[N], low[N], high[N], cells[SIDE * SIDE];
    for (int i = 0; i < N; i++) {
        x[i] = 0.02 * (i + 1);
        a[i] = i == 20 ? NAN : pow(10, -4 + 3 * x[i]);
        b[i] = 2 * a[i];
        low[i] = 0.8 * b[i];
        high[i] = 1.3 * b[i];
    }
    for (int row = 0; row < SIDE; row++)
        for (int col = 0; col < SIDE; col++)
            cells[row * SIDE + col] = sin(col * 0.5) * cos(row * 0.4);
    const struct chart_series series[] = {
        {"trained, n = 128", CHART_LINE, -1, x, a, NULL, NULL, N},
        {"measured", CHART_POINTS, -1, x, b, low, high, N},
        {"closed form", CHART_DASHES, -1, x, b, NULL, NULL, N},
        {"a name that is long enough to wrap around", CHART_LINE_POINTS, -1, x, low, NULL, NULL, N}};
    const struct chart_reference references[] = {{"bound (3)", true, 0.4, NAN, -1}, {"interval", false, 1e-3, 3e-3, 4}};
    const struct chart_heat heat = {cells, SIDE, SIDE, NULL, NULL, CHART_SIGNED, false, true, NAN, NAN, "weight"};
    const struct chart_heat other = {b, 5, 8, x, NULL, CHART_VIRIDIS, true, false, NAN, NAN, "loss"};
    const struct chart_panel panels[] = {{"Logarithmic", CHART_AXIS("ratio r = n_d / n_s"),
                                          CHART_LOG_AXIS("loss per feature"), series, 4, references, 2, NULL},
                                         {"Both", CHART_LOG_AXIS("x"), CHART_LOG_AXIS("y"), series, 2, NULL, 0, NULL},
                                         {"Signed", CHART_AXIS("column"), CHART_AXIS("row"), NULL, 0, NULL, 0, &heat},
                                         {"Log colours", CHART_AXIS("p"), CHART_AXIS("r"), NULL, 0, NULL, 0, &other}};
    struct chart chart = {"Everything", "A note below.\nIn two lines.", panels, 4, 2, 360, 260, false};
    struct image image = draw(&chart);
    assert_true(image.cols > 2 * 360 && image.rows > 2 * 260);
    free(image.values);
    chart.one_legend = true;
    image = draw(&chart);
    free(image.values);
}

static void the_numbers_are_written_as_csv(void **state)
{
    const double x[] = {1, 2}, y[] = {0.1, NAN}, low[] = {0, 1}, high[] = {2, 3}, cells[] = {1, 2};
    const struct chart_series series[] = {{"s, \"quoted\"", CHART_LINE, -1, x, y, low, high, 2}};
    const struct chart_reference references[] = {{"r", true, 3, NAN, -1}, {"band", false, 1, 2, -1}};
    const struct chart_heat heat = {cells, 1, 2, x, NULL, CHART_VIRIDIS, false, false, NAN, NAN, "h"};
    const struct chart_panel panel = {"P", CHART_AXIS("x"), CHART_AXIS("y"), series, 1, references, 2, &heat};
    const struct chart chart = {.panels = &panel, .panel_count = 1};
    struct buf text;
    buf_init(&text, CHART_BYTES);
    assert_int_equal(chart_csv(&chart, &text, NULL), STATUS_OK);
    assert_string_equal(text.data, "panel,series,x,y,low,high,value\n"
                                   "P,\"s, \"\"quoted\"\"\",1,0.1,0,2,\n"
                                   "P,\"s, \"\"quoted\"\"\",2,,1,3,\n"
                                   "P,r,3,,,,\n"
                                   "P,band,,1,1,2,\n"
                                   "P,h,1,0,,,1\n"
                                   "P,h,2,0,,,2\n");
    buf_close(&text);
    buf_init(&text, 40);
    assert_int_equal(chart_csv(&chart, &text, NULL), STATUS_LIMIT);
    buf_close(&text);
}

static void inconsistent_charts_are_refused(void **state)
{
    const double cells[] = {1};
    struct chart_heat heat = {.values = cells, .rows = 0, .cols = 1, .min = NAN, .max = NAN};
    struct chart_panel panel = {NULL, CHART_AXIS(NULL), CHART_AXIS(NULL), NULL, 0, NULL, 0, &heat};
    struct chart chart = {.panels = &panel, .panel_count = 0};
    struct buf bytes;
    buf_init(&bytes, CHART_BYTES);
    assert_int_equal(chart_png(&chart, &bytes, NULL), STATUS_INVALID);
    chart.panel_count = 1;
    assert_int_equal(chart_png(&chart, &bytes, NULL), STATUS_INVALID);
    heat.rows = 1;
    panel.x.log = true;
    assert_int_equal(chart_png(&chart, &bytes, NULL), STATUS_INVALID);
    panel.x.log = false;
    chart.width = 9000;
    assert_int_equal(chart_png(&chart, &bytes, NULL), STATUS_LIMIT);
    chart.width = 0;
    assert_int_equal(chart_png(&chart, &bytes, NULL), STATUS_OK); /* a single value */
    buf_close(&bytes);
    buf_init(&bytes, 100);
    assert_int_equal(chart_png(&chart, &bytes, NULL), STATUS_LIMIT);
    buf_close(&bytes);
}

static void svg_has_lines_and_an_end(void **state)
{
    const double x[] = {1, 2, 3}, y[] = {3, 1, 2};
    const struct chart_series line = {.mark = CHART_LINE_POINTS, .colour = -1, .x = x, .y = y, .count = 3};
    const struct chart_panel panel = {NULL, CHART_AXIS("p"), CHART_AXIS("loss"), &line, 1, NULL, 0, NULL};
    const struct chart chart = {.panels = &panel, .panel_count = 1, .width = 640, .height = 400};
    struct buf bytes;
    buf_init(&bytes, CHART_BYTES);
    assert_int_equal(chart_svg(&chart, &bytes, NULL), STATUS_OK);
    buf_append(&bytes, "", 1);
    assert_non_null(strstr(bytes.data, "<svg "));
    assert_non_null(strstr(bytes.data, "<path "));
    assert_non_null(strstr(bytes.data, "</svg>"));
    buf_close(&bytes);
    buf_init(&bytes, 100);
    assert_int_equal(chart_svg(&chart, &bytes, NULL), STATUS_LIMIT);
    buf_close(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_at_round_numbers),
        cmocka_unit_test(axes_include_the_data),
        cmocka_unit_test(colours_equal_the_published_maps),
        cmocka_unit_test(a_line_is_drawn_where_it_belongs),
        cmocka_unit_test(pictures_grow_for_long_texts),
        cmocka_unit_test(svg_has_lines_and_an_end),
        cmocka_unit_test(an_axis_may_run_downwards),
        cmocka_unit_test(places_of_an_axis_show_their_names),
        cmocka_unit_test(a_heat_map_is_drawn_with_row_0_below_or_above),
        cmocka_unit_test(a_chart_may_have_everything_at_once),
        cmocka_unit_test(the_numbers_are_written_as_csv),
        cmocka_unit_test(inconsistent_charts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
