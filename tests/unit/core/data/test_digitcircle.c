/* Tests that the pictures equal the published ones bit for bit. The expected labels, ink counts, hashes of the packed
 * bits and placements were computed with the authors' generator under numpy. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/hash.h"
#include "core/base/random/mt19937.h"
#include "tests/support/paper_domains.h"

#define MAX_PIXELS (128 * 128)

/* Writes the first 16 hex digits of the SHA-256 of the bits, which are row-major with the most significant bit first.
 * Returns the number of ink pixels. */
static int digest(const float *image, int pixels, char text[17])
{
    unsigned char bits[MAX_PIXELS / 8] = {0}, sum[HASH_BYTES];
    char whole[HASH_TEXT];
    int ones = 0;
    for (int i = 0; i < pixels; i++) {
        assert_true(image[i] == 0.0F || image[i] == 1.0F);
        if (image[i] == 1.0F) {
            bits[i / 8] |= (unsigned char)(0x80 >> (i % 8));
            ones++;
        }
    }
    hash_bytes(bits, (size_t)(pixels + 7) / 8, sum);
    hash_hex(sum, whole);
    memcpy(text, whole, 16);
    text[16] = '\0';
    return ones;
}

static void label_text(const struct digitcircle_truth *truth, char *text)
{
    for (int i = 0; i < truth->count; i++)
        text[i] = (char)('0' + truth->label[i]);
    text[truth->count] = '\0';
}

struct known {
    uint32_t raw;        /* seed of the generator that draws the picture */
    int64_t seed, index; /* if index >= 0: the picture is also sample `index` of the set `seed` */
    const char *label;
    int ones;
    const char *hash;
    int placed[6][3]; /* [placements] a digit and the two coordinates of its point */
    int placements;
};

static const struct known pictures[] = {
    {0, 0, -1, "376", 1725, "7d125ae39e4ca271", {{3, 14, 37}, {7, 43, 16}, {6, 82, 49}}, 3},
    {1, 0, -1, "27946", 1641, "5bb72a73a3d35511", {{9, 16, 47}, {4, 27, 32}, {6, 50, 36}, {2, 57, 45}, {7, 48, 73}}, 5},
    {2, 0, -1, "01468", 1735, "a1e8b0d9715d3367", {{1, 31, 25}, {4, 66, 22}, {6, 79, 60}, {8, 54, 82}, {0, 24, 71}}, 5},
    {3, 0, -1, "0712", 1619, "206fcd68ab238b1f", {{1, 47, 24}, {2, 78, 63}, {0, 57, 81}, {7, 19, 50}}, 4},
    {3993328244U,
     1,
     0,
     "17429",
     1732,
     "882072ce84175258",
     {{7, 38, 34}, {4, 65, 41}, {2, 63, 67}, {9, 40, 75}, {1, 26, 56}},
     5},
    {635502921U, 1, 1, "193487", 1660, "b666567158a67212", {{0}}, 0},
    {2072014212U, -1, 0, "0296", 1654, "8e825f8abf8db70e", {{0}}, 0},
    {2627003873U, -1, 1, "03451", 1690, "89c2418e57666f23", {{0}}, 0},
    {4270960298U, -2, 0, "05697", 1731, "85ecdcae616a281c", {{0}}, 0},
    {1847193206U, -2, 1, "05496", 1713, "ff485c5886e73279", {{0}}, 0},
};

static void pictures_equal_the_published_ones(void **state)
{
    static float image[100 * 100];
    const struct digitcircle domain = digitcircle_paper();
    for (size_t k = 0; k < sizeof pictures / sizeof pictures[0]; k++) {
        const struct known *known = &pictures[k];
        struct digitcircle_truth truth;
        char label[16], hash[17];
        if (known->index >= 0)
            digitcircle_sample(&domain, known->seed, known->index, image, &truth);
        else
            digitcircle_draw(&domain, known->raw, image, &truth);
        label_text(&truth, label);
        assert_string_equal(label, known->label);
        assert_int_equal(digest(image, 100 * 100, hash), known->ones);
        assert_string_equal(hash, known->hash);
        for (int i = 0; i < known->placements; i++) {
            assert_int_equal(truth.boxes[i].symbol, known->placed[i][0]);
            assert_int_equal(truth.boxes[i].row, known->placed[i][1]);
            assert_int_equal(truth.boxes[i].col, known->placed[i][2]);
        }
    }
}

static void single_digits_equal_the_published_ones(void **state)
{
    static const struct {
        int digit, ones;
        const char *hash;
    } known[] = {{2, 182, "4e9d124c3bd01ea2"}, {8, 189, "b3887ef998db16da"}, {6, 190, "974a1c5254c122bf"}};
    const struct digitcircle domain = digitcircle_paper();
    float image[DIGITCIRCLE_SINGLE * DIGITCIRCLE_SINGLE];
    for (int i = 0; i < 3; i++) {
        char hash[17];
        assert_int_equal(digitcircle_single(&domain, -2, i, image), known[i].digit);
        assert_int_equal(digest(image, DIGITCIRCLE_SINGLE * DIGITCIRCLE_SINGLE, hash), known[i].ones);
        assert_string_equal(hash, known[i].hash);
    }
}

enum { SINGLE = DIGITCIRCLE_SINGLE };
static const int cols[] = {9, 7, 8, 9, 8, 9, 8, 8, 7, 8}; /* widths of the digits' stamps in pixels */

/* A picture without noise that contains only this digit, in the middle. */
static const float *stamp_of(int digit)
{
    static float images[DIGITCIRCLE_CLASSES][SINGLE * SINGLE];
    static bool drawn[DIGITCIRCLE_CLASSES];
    const struct digitcircle clean = digitcircle_without_noise(digitcircle_paper());
    for (int i = 0; i < 1000 && !drawn[digit]; i++) {
        float image[SINGLE * SINGLE];
        int other = digitcircle_single(&clean, 1, i, image);
        memcpy(images[other], image, sizeof image);
        drawn[other] = true;
    }
    assert_true(drawn[digit]);
    return images[digit];
}

static void stamps_have_the_published_sizes_and_ink(void **state)
{
    static const int ink[] = {30, 16, 21, 23, 25, 26, 28, 16, 27, 31};
    for (int digit = 0; digit < DIGITCIRCLE_CLASSES; digit++) {
        const float *image = stamp_of(digit);
        int row0 = SINGLE / 2 - DIGITCIRCLE_STAMP / 2, col0 = SINGLE / 2 - cols[digit] / 2, count = 0;
        for (int i = 0; i < SINGLE * SINGLE; i++) {
            int r = i / SINGLE - row0, c = i % SINGLE - col0;
            bool inside = r > 0 && c > 0 && r < DIGITCIRCLE_STAMP - 1 && c < cols[digit] - 1;
            assert_true(inside || image[i] == 0);
            count += image[i] == 1;
        }
        assert_int_equal(count, ink[digit]);
    }
}

/* Section 5.1 of the paper states 4.492 symbols per picture for the seeds 0 to 999, with and without noise. It states
 * .00108952 for pictures without noise: the mean number of ink pixels, divided by 10^5. */
static void means_of_symbols_and_ink_are_the_published_ones(void **state)
{
    static float image[100 * 100];
    const struct digitcircle clean = digitcircle_without_noise(digitcircle_paper());
    assert_true(digitcircle_mean_symbols(&clean, 1000, image) == 4.492);
    double ink = 0.0;
    for (uint32_t seed = 0; seed < 1000; seed++) {
        digitcircle_draw(&clean, seed, image, NULL);
        for (int i = 0; i < 100 * 100; i++)
            ink += image[i];
    }
    assert_true(fabs(ink / 1000 / 1e5 - 0.00108952) < 5e-9);
}

/* Noise of any share takes the same number of random draws, so digits and places do not depend on the share. */
static void noise_does_not_move_digits(void **state)
{
    static float noisy_image[100 * 100], clean_image[100 * 100];
    const struct digitcircle noisy = digitcircle_paper(), clean = digitcircle_without_noise(noisy);
    for (uint32_t seed = 0; seed < 50; seed++) {
        struct digitcircle_truth a, b;
        digitcircle_draw(&noisy, seed, noisy_image, &a);
        digitcircle_draw(&clean, seed, clean_image, &b);
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void expect_consistent(const struct digitcircle *domain, const float *image,
                              const struct digitcircle_truth *truth)
{
    int size = domain->image_size, seen = 0;
    assert_in_range(truth->count, (unsigned)domain->min_symbols, (unsigned)domain->max_symbols);
    for (int i = 0; i < truth->count; i++) {
        const struct box *box = &truth->boxes[i];
        assert_in_range(box->symbol, 0, (unsigned)domain->classes - 1);
        assert_int_equal(seen >> box->symbol & 1, 0);
        seen |= 1 << box->symbol;
        assert_int_equal(box->row1 - box->row0, DIGITCIRCLE_STAMP);
        assert_int_equal(box->col1 - box->col0, cols[box->symbol]);
        assert_true(box->row0 >= 0 && box->col0 >= 0 && box->row1 <= size && box->col1 <= size);
        assert_true(truth->label[0] <= truth->label[i]);
    }
    const struct box *last = &truth->boxes[truth->count - 1]; /* the last digit is drawn on top of all others */
    for (int r = last->row0; domain->post_noise == 0 && r < last->row1; r++) {
        for (int c = last->col0; c < last->col1; c++) {
            int row = r - last->row + SINGLE / 2, col = c - last->col + SINGLE / 2;
            assert_true(image[r * size + c] == stamp_of(last->symbol)[row * SINGLE + col]);
        }
    }
}

static void smaller_circles_fit_their_pictures(void **state)
{
    static const struct digitcircle domains[] = {
        {.image_size = 56,
         .classes = 5,
         .min_symbols = 2,
         .max_symbols = 4,
         .shift = 2,
         .min_radius = 11,
         .pre_noise = 0.5,
         .post_noise = 0.05},
        {.image_size = 48,
         .classes = 5,
         .min_symbols = 2,
         .max_symbols = 3,
         .shift = 1,
         .margin = 6,
         .min_radius = 10,
         .max_radius = 15,
         .pre_noise = 0.5},
        {.image_size = 49, .classes = 10, .min_symbols = 10, .max_symbols = 10, .margin = 6, .min_radius = 17},
        {.image_size = 41,
         .classes = 1,
         .min_symbols = 1,
         .max_symbols = 1,
         .shift = 6,
         .min_radius = 1,
         .max_radius = 2},
    };
    static float image[MAX_PIXELS];
    for (size_t d = 0; d < sizeof domains / sizeof domains[0]; d++) {
        assert_int_equal(digitcircle_check(&domains[d], NULL, NULL), 0);
        int counts[DIGITCIRCLE_CLASSES + 1] = {0};
        for (uint32_t seed = 0; seed < 400; seed++) {
            struct digitcircle_truth truth;
            digitcircle_draw(&domains[d], seed, image, &truth);
            expect_consistent(&domains[d], image, &truth);
            counts[truth.count]++;
        }
        for (int n = domains[d].min_symbols; n <= domains[d].max_symbols; n++)
            assert_true(counts[n] > 0);
    }
}

static void samples_depend_on_seed_and_index_only(void **state)
{
    enum { COUNT = 5, PIXELS = 56 * 56 };
    const struct digitcircle domain = {.image_size = 56,
                                       .classes = 5,
                                       .min_symbols = 2,
                                       .max_symbols = 4,
                                       .shift = 2,
                                       .min_radius = 11,
                                       .pre_noise = 0.5,
                                       .post_noise = 0.05};
    static float images[COUNT][PIXELS], image[PIXELS];
    struct digitcircle_truth truths[COUNT], truth;
    memset(truths, 0xa5, sizeof truths);
    memset(&truth, 0x5a, sizeof truth);
    for (int i = 0; i < COUNT; i++)
        digitcircle_sample(&domain, 7, 30 + i, images[i], &truths[i]);
    for (int i = COUNT - 1; i >= 0; i--) {
        digitcircle_sample(&domain, 7, 30 + i, image, &truth);
        assert_memory_equal(image, images[i], sizeof image);
        assert_memory_equal(&truth, &truths[i], sizeof truth);
    }
    assert_memory_not_equal(images[0], images[1], sizeof images[0]);
    digitcircle_sample(&domain, 8, 30, image, &truth);
    assert_memory_not_equal(image, images[0], sizeof image);
}

/* Compares the share of ink after noise with the published share. */
static void noise_gives_the_published_share_of_ink(void **state)
{
    static float image[100 * 100];
    const struct digitcircle domain = digitcircle_paper();
    double ink = 0.0;
    for (int index = 0; index < 200; index++) {
        digitcircle_sample(&domain, 1, index, image, NULL);
        for (int i = 0; i < 100 * 100; i++)
            ink += image[i];
    }
    assert_true(fabs(ink / 200 / 1e4 - 0.1676) < 0.001);
}

static void remember(void *context, const char *field, const char *detail)
{
    char *fields = context;
    assert_true(strlen(detail) > 10);
    (void)snprintf(fields + strlen(fields), 200 - strlen(fields), "%s ", field);
}

static void impossible_domains_name_their_fields(void **state)
{
    const struct digitcircle good = digitcircle_paper();
    assert_int_equal(digitcircle_check(&good, NULL, NULL), 0);
    struct {
        struct digitcircle domain;
        const char *fields;
    } bad[] = {
        {good, "image_size "},  {good, "classes max_symbols min_symbols "},
        {good, "max_symbols "}, {good, "min_symbols "},
        {good, "min_radius "},  {good, "max_radius "},
        {good, "margin "},      {good, "pre_noise "},
        {good, "post_noise "},  {good, "shift "},
        {good, "min_radius "},  {good, "min_radius "},
    };
    bad[0].domain.image_size = 8;
    bad[1].domain.classes = bad[1].domain.max_symbols = bad[1].domain.min_symbols = 0;
    bad[2].domain.classes = 5;
    bad[3].domain.min_symbols = 7;
    bad[4].domain.min_radius = 35; /* 34 is the largest radius that fits */
    bad[5].domain.max_radius = 36;
    bad[6].domain.margin = 5;
    bad[7].domain.pre_noise = NAN;
    bad[8].domain.post_noise = -0.1;
    bad[9].domain.shift = -1;
    bad[10].domain.image_size = 48;
    bad[11].domain.max_radius = 20;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char fields[200] = "";
        assert_true(digitcircle_check(&bad[i].domain, fields, remember) > 0);
        assert_string_equal(fields, bad[i].fields);
    }
    struct digitcircle edge = good;
    edge.min_radius = 34;
    assert_int_equal(digitcircle_check(&edge, NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_equal_the_published_ones),
        cmocka_unit_test(single_digits_equal_the_published_ones),
        cmocka_unit_test(stamps_have_the_published_sizes_and_ink),
        cmocka_unit_test(means_of_symbols_and_ink_are_the_published_ones),
        cmocka_unit_test(noise_does_not_move_digits),
        cmocka_unit_test(smaller_circles_fit_their_pictures),
        cmocka_unit_test(samples_depend_on_seed_and_index_only),
        cmocka_unit_test(noise_gives_the_published_share_of_ink),
        cmocka_unit_test(impossible_domains_name_their_fields),
    };
    return cmocka_run_group_tests_name("digitcircle", tests, NULL, NULL);
}
