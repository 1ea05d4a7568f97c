/* Tests that formulas, noise and places equal the authors' data: formulas and noise bit for bit, ink boxes as measured
 * in pages that pdflatex and poppler made. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/mt19937.h"
#include "core/data/latex/latex.h"
#include "core/data/latex/latex_single.h"
#include "tests/support/latex_source.h"
#include "tests/support/paper_domains.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct latex_font *font;

static int open_font(void **state)
{
    struct error err = {0};
    if (latex_font_create(latex_paper().dpi, NULL, &font, &err) == STATUS_OK)
        return 0;
    print_error("%s\n", err.message);
    return -1;
}

static int close_font(void **state)
{
    latex_font_destroy(font);
    return 0;
}

/* -- formulas --------------------------------------------------------------------------------- */

/* Reads a formula in the words of the authors' data, separated by spaces, and returns the number of its tokens. */
static int read_names(const char *text, int tokens[LATEX_MAX_TOKENS])
{
    static const char *const names[LATEX_VOCABULARY] = {
        "START", "END",     "+",      "0",      "1",    "2",    "3",    "4",    "5", "6", "7", "8", "9", "FRAC(",
        "FRAC)", "FRACMID", "PAREN(", "PAREN)", "SUB(", "SUB)", "SUP(", "SUP)", "a", "b", "c", "x", "y", "z"};
    int count = 0;
    for (; *text != '\0'; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        int token = 0;
        while (token < LATEX_VOCABULARY && (strlen(names[token]) != length || memcmp(names[token], text, length) != 0))
            token++;
        assert_true(token < LATEX_VOCABULARY && count < LATEX_MAX_TOKENS);
        tokens[count++] = token;
        text += length;
    }
    return count;
}

static const struct {
    int64_t seed, index;
    const char *names, *source;
} formulas[] = {
    {1, 0, "PAREN( 6 SUP( x SUP) 5 SUB( b SUB) 8 + PAREN( PAREN( 3 SUP( 7 SUP) a SUP( x SUP) PAREN) PAREN) PAREN)",
     "\\left(6^{x}5_{b}8+\\left(\\left(3^{7}a^{x}\\right)\\right)\\right)"},
    {1, 2, "0 SUB( 7 SUB)", "0_{7}"},
    {1, 3, "FRAC( 9 SUB( b SUB) FRACMID c SUB( z SUB) 5 SUP( 0 SUP) FRAC)", "\\frac{9_{b}}{c_{z}5^{0}}"},
    {-2, 0,
     "FRAC( PAREN( PAREN( 8 SUP( 6 SUP) PAREN) 6 SUB( b SUB) PAREN) FRACMID 2 SUB( 7 SUB) + 7 SUB( 0 SUB) 3 SUP( x "
     "SUP) "
     "FRAC)",
     "\\frac{\\left(\\left(8^{6}\\right)6_{b}\\right)}{2_{7}+7_{0}3^{x}}"},
    {-2, 2, "FRAC( b FRACMID a SUB( 0 SUB) FRAC)", "\\frac{b}{a_{0}}"},
    {-2, 4, "4 SUB( c SUB) + 6 SUP( z SUP)", "4_{c}+6^{z}"},
};

static void formulas_equal_the_published_ones(void **state)
{
    for (size_t k = 0; k < COUNT(formulas); k++) {
        int tokens[LATEX_MAX_TOKENS], wanted[LATEX_MAX_TOKENS];
        char text[LATEX_SOURCE];
        int length = latex_formula(formulas[k].seed, formulas[k].index, 1, 30, LATEX_SYMBOLS, tokens);
        assert_int_equal(read_names(formulas[k].names, wanted), length);
        assert_memory_equal(wanted, tokens, (size_t)length * sizeof *tokens);
        latex_source(tokens, length, text);
        assert_string_equal(text, formulas[k].source);
    }
}

/* 200 formulas of the test set have 15.48 tokens and 9.64 characters on average. */
static void means_equal_the_published_ones(void **state)
{
    struct latex domain = latex_paper();
    int64_t tokens_in_all = 0;
    for (int i = 0; i < 200; i++) {
        int tokens[LATEX_MAX_TOKENS];
        tokens_in_all += latex_formula(-2, i, 1, 30, LATEX_SYMBOLS, tokens);
    }
    assert_int_equal(tokens_in_all, 3096);
    assert_true(fabs(latex_mean_characters(&domain, 200) - 9.64) < 1e-9);
}

static void formulas_have_the_requested_lengths(void **state)
{
    int tokens[LATEX_MAX_TOKENS];
    bool seen[8] = {false};
    for (int i = 0; i < 500; i++) {
        int length = latex_formula(3, i, 0, 7, 4, tokens);
        assert_in_range(length, 0, 7);
        seen[length] = true;
        for (int j = 0; j < length; j++) { /* 4 symbols: only 0 1 2 3 occur */
            assert_false(tokens[j] >= LATEX_DIGIT + 4 && tokens[j] < LATEX_DIGIT + 10);
            assert_false(tokens[j] >= LATEX_LETTER);
        }
    }
    for (int i = 0; i < 8; i++)
        assert_true(seen[i]);
}

/* -- pages ------------------------------------------------------------------------------------ */

static void render(const char *names, const struct latex *domain, float *grey, struct latex_truth *truth)
{
    int tokens[LATEX_MAX_TOKENS], count = read_names(names, tokens);
    struct error err = {0};
    assert_int_equal(latex_render(domain, font, tokens, count, grey, truth, &err), STATUS_OK);
}

/* Compares the first and last rows and columns that contain ink with those of the reference pages. They may differ by
 * one pixel. */
static void ink_is_where_the_reference_pages_have_it(void **state)
{
    static const struct {
        const char *names;
        int ends[4];
    } pages[] = {
        {"3", {49, 68, 173, 184}},
        {"5", {49, 68, 173, 184}},
        {"0 SUB( 7 SUB)", {47, 70, 167, 190}},
        {"PAREN( 3 PAREN)", {45, 72, 164, 194}},
        {"PAREN( c PAREN)", {45, 72, 164, 192}},
        {"6 SUP( a SUP) 4", {48, 69, 160, 199}},
        {"5 SUB( 8 SUB) 1", {47, 70, 160, 197}},
        {"a + y", {47, 69, 149, 210}},
        {"8 + y SUB( z SUB)", {47, 71, 143, 213}},
        {"PAREN( x SUP( 8 SUP) PAREN)", {41, 75, 156, 201}},
        {"a SUB( x SUB)", {50, 67, 166, 191}},
    };
    static float grey[120 * 360];
    struct latex domain = latex_paper();
    for (size_t k = 0; k < COUNT(pages); k++) {
        int ends[4] = {120, -1, 360, -1};
        render(pages[k].names, &domain, grey, NULL);
        for (int i = 0; i < 120 * 360; i++)
            if (grey[i] < 1) {
                int at[4] = {i / 360, i / 360, i % 360, i % 360};
                for (int j = 0; j < 4; j++)
                    ends[j] = j % 2 == 0 ? (at[j] < ends[j] ? at[j] : ends[j]) : (at[j] > ends[j] ? at[j] : ends[j]);
            }
        for (int j = 0; j < 4; j++)
            assert_in_range(ends[j], pages[k].ends[j] - 1, pages[k].ends[j] + 1);
    }
}

static void fractions_have_numerator_bar_and_denominator(void **state)
{
    static float grey[120 * 360];
    struct latex domain = latex_paper();
    struct latex_truth truth;
    domain.margin = 0;
    render("FRAC( b FRACMID FRAC( 1 FRACMID x + y FRAC) FRAC)", &domain, grey, &truth);
    static const int order[] = {LATEX_CLASS_BAR,       LATEX_CLASS_LETTER + 1, LATEX_CLASS_BAR,
                                LATEX_CLASS_DIGIT + 1, LATEX_CLASS_LETTER + 3, LATEX_CLASS_PLUS,
                                LATEX_CLASS_LETTER + 4};
    assert_int_equal(truth.count, COUNT(order));
    for (int i = 0; i < truth.count; i++)
        assert_int_equal(truth.boxes[i].symbol, order[i]);
    const struct box *bar = &truth.boxes[0], *top = &truth.boxes[1], *inner = &truth.boxes[2], *plus = &truth.boxes[5];
    assert_int_equal(bar->row1 - bar->row0, 1);
    assert_true(top->row1 <= bar->row0 && inner->row0 > bar->row1 && plus->row0 > inner->row1);
    assert_true(bar->col0 <= inner->col0 && bar->col1 >= inner->col1 && inner->col1 - inner->col0 >= 25);
    assert_true(abs(top->col0 + top->col1 - bar->col0 - bar->col1) <= 2);
    /* the numerator b of the outer fraction has a size of 10 pt, the numerator 1 of the inner one 7 pt */
    assert_true(top->row1 - top->row0 >= 19 && truth.boxes[3].row1 - truth.boxes[3].row0 <= 14);
}

/* Lists of tokens that are no formula are refused, whatever their length. Nothing is written beyond an array. */
static void tokens_that_are_no_formula_are_refused(void **state)
{
    static const char *const wrong[] = {"+",         "1 +",           "PAREN( 1",
                                        "1 PAREN)",  "SUP( 1 SUP)",   "1 SUP( 2 3 SUP)",
                                        "FRAC( 1 2", "1 SUP( 2",      "1 SUB( 2 SUB) SUP( 3 SUP)",
                                        "START",     "PAREN( PAREN)", "FRAC( 1 FRACMID 2 FRAC) 3"};
    int tokens[LATEX_MAX_TOKENS + 1], count;
    struct latex_layout layout;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        count = read_names(wrong[i], tokens);
        assert_int_equal(latex_lay_out(tokens, count, &layout, NULL), STATUS_INVALID);
    }
    struct mt19937 rng;
    mt19937_init(&rng, 5);
    for (int i = 0; i < 20000; i++) {
        count = 1 + (int)mt19937_integer(&rng, 0, LATEX_MAX_TOKENS);
        for (int j = 0; j < count; j++)
            tokens[j] = i % 2 == 0 ? LATEX_PAREN_OPEN : (int)mt19937_integer(&rng, 0, LATEX_VOCABULARY);
        enum status status = latex_lay_out(tokens, count, &layout, NULL);
        assert_true(status == STATUS_INVALID || (status == STATUS_OK && layout.count <= count));
    }
    assert_int_equal(latex_lay_out(tokens, LATEX_MAX_TOKENS + 1, &layout, NULL), STATUS_LIMIT);
}

/* -- samples ---------------------------------------------------------------------------------- */

static void noise_equals_the_published_one(void **state)
{
    static float image[120 * 360];
    struct latex domain = latex_paper();
    assert_int_equal(latex_noise_seed(1, 0), 2464979494U);
    assert_int_equal(latex_noise_seed(-2, 0), 763268063U);
    int black = 0;
    for (int i = 0; i < 120 * 360; i++)
        image[i] = 1;
    latex_add_noise(&domain, 1, 0, image);
    for (int i = 0; i < 120 * 360; i++)
        black += image[i] == 0;
    assert_int_equal(black, 10859);
}

/* Every ink pixel is in a box, and each box has ink on its four sides. */
static void boxes_hold_the_ink(void **state)
{
    static float grey[120 * 360];
    struct latex domain = latex_paper();
    domain.margin = 0;
    double ink = 0;
    for (int index = 0; index < 200; index++) {
        static bool covered[120 * 360];
        int tokens[LATEX_MAX_TOKENS];
        struct latex_truth truth;
        int count = latex_formula(-2, index, 1, 30, LATEX_SYMBOLS, tokens);
        assert_int_equal(latex_render(&domain, font, tokens, count, grey, &truth, NULL), STATUS_OK);
        memset(covered, 0, sizeof covered);
        for (int i = 0; i < truth.count; i++) {
            const struct box *b = &truth.boxes[i];
            assert_true(b->row0 >= 0 && b->row0 < b->row1 && b->row1 <= 120);
            assert_true(b->col0 >= 0 && b->col0 < b->col1 && b->col1 <= 360);
            bool sides[4] = {false};
            for (int r = b->row0; r < b->row1; r++)
                for (int c = b->col0; c < b->col1; c++) {
                    covered[r * 360 + c] = true;
                    bool black = grey[r * 360 + c] < 0.9F;
                    sides[0] |= black && r == b->row0;
                    sides[1] |= black && r == b->row1 - 1;
                    sides[2] |= black && c == b->col0;
                    sides[3] |= black && c == b->col1 - 1;
                }
            assert_true(sides[0] && sides[1] && sides[2] && sides[3]);
        }
        for (int i = 0; i < 120 * 360; i++) {
            assert_false(grey[i] < 0.8F && !covered[i]);
            ink += grey[i] <= 0.75F;
        }
    }
    assert_true(fabs(ink / (200.0 * 120 * 360) - 0.0141) < 0.001);
}

/* A sample depends on seed and index only. Boxes include the margin. White is 1. */
static void samples_depend_on_seed_and_index_only(void **state)
{
    static float image[2][120 * 360], grey[120 * 360];
    struct latex domain = latex_paper(), tight = domain;
    tight.margin = 0;
    double white = 0;
    for (int index = 0; index < 20; index++) {
        struct latex_truth truth[2];
        latex_sample(&domain, font, 1, index, image[0], &truth[0]);
        latex_sample(&tight, font, 1, index, image[1], &truth[1]);
        assert_memory_equal(image[0], image[1], sizeof image[0]);
        assert_int_equal(truth[0].count, truth[1].count);
        for (int i = 0; i < truth[0].count; i++) {
            assert_int_equal(truth[0].boxes[i].row0, truth[1].boxes[i].row0 > 2 ? truth[1].boxes[i].row0 - 2 : 0);
            assert_int_equal(truth[0].boxes[i].col1, truth[1].boxes[i].col1 < 358 ? truth[1].boxes[i].col1 + 2 : 360);
        }
        assert_int_equal(latex_render(&domain, font, truth[0].tokens, truth[0].length, grey, NULL, NULL), STATUS_OK);
        for (int i = 0; i < 120 * 360; i++) {
            assert_true(image[0][i] == 0 || (image[0][i] == 1 && grey[i] > 0.75F));
            white += image[0][i];
        }
    }
    assert_true(fabs(white / (20.0 * 120 * 360) - 0.739) < 0.004);
}

/* If the page is larger than the picture, equal parts are cut off at opposite sides, and boxes stay inside. A
 * formula of length 0 gives an empty picture. */
static void larger_pages_are_cut_at_all_sides(void **state)
{
    static float image[24 * 60];
    struct latex domain = {
        .rows = 24, .cols = 60, .dpi = 200, .min_tokens = 0, .max_tokens = 30, .symbols = 16, .margin = 2};
    bool empty = false, cut = false;
    for (int index = 0; index < 300; index++) {
        struct latex_truth truth;
        latex_sample(&domain, font, 9, index, image, &truth);
        int characters = 0;
        struct latex_layout layout;
        assert_int_equal(latex_lay_out(truth.tokens, truth.length, &layout, NULL), STATUS_OK);
        characters = layout.count;
        assert_true(truth.count <= characters);
        cut |= truth.count < characters;
        empty |= truth.length == 0;
        for (int i = 0; truth.length == 0 && i < 24 * 60; i++)
            assert_true(image[i] == 1);
        for (int i = 0; i < truth.count; i++) {
            const struct box *b = &truth.boxes[i];
            assert_true(b->row0 >= 0 && b->row1 <= 24 && b->col0 >= 0 && b->col1 <= 60);
        }
    }
    assert_true(empty && cut);
}

/* Every class has crops. A sample is one of the crops, in black and white, in the middle of the picture. */
static void single_characters_are_crops_in_the_middle(void **state)
{
    static float image[2][40 * 40];
    struct latex domain = latex_paper();
    struct latex_crops *crops, *same;
    struct error err = {0};
    domain.noise = 0;
    assert_int_equal(latex_crops_create(&domain, font, -10, 600, &crops, &err), STATUS_OK);
    assert_int_equal(latex_crops_create(&domain, font, -10, 600, &same, &err), STATUS_OK);
    assert_int_equal(latex_single_side(domain.dpi), 40);
    for (int class = 0; class < LATEX_SINGLE_CLASSES; class ++) {
        assert_true(latex_crops_count(crops, class) > 0);
        assert_int_equal(latex_crops_count(crops, class), latex_crops_count(same, class));
    }
    assert_string_equal(latex_class_name(latex_single_symbol(2)), "+");
    assert_string_equal(latex_class_name(latex_single_symbol(13)), "a");
    assert_string_equal(latex_class_name(latex_single_symbol(LATEX_SINGLE_CLASSES - 1)), "z");

    bool drawn[LATEX_SINGLE_CLASSES] = {false};
    struct latex noisy = latex_paper();
    for (int index = 0; index < 300; index++) {
        int ink = 0, black = 0;
        int class = latex_single(&domain, crops, -2, index, image[0]);
        assert_int_equal(latex_single(&noisy, same, -2, index, image[1]), class);
        drawn[class] = true;
        for (int i = 0; i < 40 * 40; i++) {
            ink += image[0][i] == 0;
            black += image[1][i] == 0;
            assert_true(image[1][i] <= image[0][i]);
        }
        assert_in_range(ink, 8, 200);
        assert_in_range(black - ink, 300, 500);
        for (int i = 0; i < 40; i++) /* the crop leaves a white border */
            assert_true(image[0][i] == 1 && image[0][39 * 40 + i] == 1 && image[0][40 * i] == 1);
    }
    for (int class = 0; class < LATEX_SINGLE_CLASSES; class ++)
        assert_true(drawn[class]);
    latex_crops_destroy(crops);
    latex_crops_destroy(same);

    domain.symbols = 2; /* with two symbols, no digits above 1 and no letters occur */
    assert_int_equal(latex_crops_create(&domain, font, -10, 200, &crops, &err), STATUS_OK);
    assert_int_equal(latex_crops_count(crops, 5), 0);
    for (int index = 0; index < 100; index++)
        assert_in_range(latex_single(&domain, crops, -2, index, image[0]), 0, 4);
    latex_crops_destroy(crops);
    assert_int_equal(latex_crops_create(&domain, font, -10, 0, &crops, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "occurs twice"));
    latex_crops_destroy(NULL);
}

static void a_missing_font_names_the_package(void **state)
{
    struct latex_font *none = NULL;
    struct error err = {0};
    assert_int_equal(latex_font_create(200, "/nowhere", &none, &err), STATUS_NOT_FOUND);
    assert_null(none);
    assert_non_null(strstr(err.message, "fonts-lmodern"));
    assert_null(strstr(err.message, "/nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_equal_the_published_ones),
        cmocka_unit_test(means_equal_the_published_ones),
        cmocka_unit_test(formulas_have_the_requested_lengths),
        cmocka_unit_test(ink_is_where_the_reference_pages_have_it),
        cmocka_unit_test(fractions_have_numerator_bar_and_denominator),
        cmocka_unit_test(tokens_that_are_no_formula_are_refused),
        cmocka_unit_test(noise_equals_the_published_one),
        cmocka_unit_test(boxes_hold_the_ink),
        cmocka_unit_test(samples_depend_on_seed_and_index_only),
        cmocka_unit_test(larger_pages_are_cut_at_all_sides),
        cmocka_unit_test(a_missing_font_names_the_package),
        cmocka_unit_test(single_characters_are_crops_in_the_middle),
    };
    return cmocka_run_group_tests(tests, open_font, close_font);
}
