/* Draws DigitCircle pictures. The order of draws defines the data set: pre-noise, radius, centre, count, symbols,
 * angles, two shifts for each digit, post-noise. A noise whose share is 0 is drawn too, so a picture without noise has
 * its digits at the same places as the picture with noise. */
#include "core/data/digitcircle/digitcircle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/random/mt19937.h"

#define MAX_COLS 9

/* Stamps of the digits, rendered once from a monospaced font. A stamp includes its empty border, which overwrites
 * noise. */
struct stamp {
    int cols;
    char rows[DIGITCIRCLE_STAMP][MAX_COLS + 1];
};

static const struct stamp stamps[DIGITCIRCLE_CLASSES] = {
    {9,
     {".........", "...###...", "..##.##..", "..#...#..", "..#...#..", ".##...##.", ".##...##.", "..#...#..",
      "..#...#..", "..##.##..", "...###...", "........."}},
    {7,
     {".......", "...#...", "..##...", ".#.#...", "...#...", "...#...", "...#...", "...#...", "...#...", "...#...",
      ".#####.", "......."}},
    {8,
     {"........", "...###..", "..#..##.", ".##...#.", "......#.", "......#.", ".....#..", "....#...", "...#....",
      "..#.....", ".######.", "........"}},
    {9,
     {".........", "..####...", "......#..", "......#..", "......#..", "....##...", ".....##..", "......##.",
      "......##.", ".##..##..", "..####...", "........."}},
    {8,
     {"........", "....##..", "....##..", "...###..", "...#.#..", "...#.#..", "..#..#..", "..#..#..", ".######.",
      ".....#..", "....###.", "........"}},
    {9,
     {".........", "..#####..", "..#......", "..#......", "..#......", "..#####..", "..##..#..", ".......#.",
      "......##.", ".##...#..", "..####...", "........."}},
    {8,
     {"........", "...####.", "..##....", ".##.....", ".#......", ".#.###..", ".##..##.", ".#....#.", ".#....#.",
      "..#..##.", "..####..", "........"}},
    {8,
     {"........", ".######.", "......#.", "......#.", "......#.", ".....#..", ".....#..", ".....#..", "....##..",
      "....#...", "....#...", "........"}},
    {7,
     {".......", "..###..", ".#...#.", ".#...#.", ".#...#.", "..###..", ".##.##.", ".#...#.", ".#...#.", ".##.##.",
      "..###..", "......."}},
    {8,
     {"........", "..###...", ".##..#..", ".#...##.", ".#...##.", ".##.###.", "..###.#.", ".....##.", ".....#..",
      "...###..", ".####...", "........"}},
};

struct digitcircle digitcircle_without_noise(struct digitcircle domain)
{
    domain.pre_noise = 0.0;
    domain.post_noise = 0.0;
    return domain;
}

static bool stamp_ink(int digit, int row, int col)
{
    return stamps[digit].rows[row][col] == '#';
}

/* Least distance between the circle and the border. */
static int padding_of(const struct digitcircle *domain)
{
    return domain->shift + (domain->margin > 0 ? domain->margin : DIGITCIRCLE_STAMP);
}

/* Largest radius, exclusive. */
static int max_radius_of(const struct digitcircle *domain)
{
    return domain->max_radius > 0 ? domain->max_radius : domain->image_size / 2 - padding_of(domain);
}

/* -- check ------------------------------------------------------------------------------------ */

struct faults {
    void *context;
    void (*fault)(void *context, const char *field, const char *detail);
    int count;
};

static void add_fault(struct faults *faults, const char *field, const char *detail)
{
    faults->count++;
    if (faults->fault != NULL)
        faults->fault(faults->context, field, detail);
}

static bool in_range(struct faults *faults, const char *field, double value, double low, double high)
{
    if (value >= low && value <= high)
        return true;
    char detail[96];
    (void)snprintf(detail, sizeof detail, "must be in [%g, %g]; got %g", low, high, value);
    add_fault(faults, field, detail);
    return false;
}

static void check_radius(const struct digitcircle *domain, struct faults *faults)
{
    char detail[160];
    int most = domain->image_size / 2 - padding_of(domain);
    if (domain->max_radius > most) {
        (void)snprintf(detail, sizeof detail,
                       "must be at most %d, which is half the picture minus shift and margin; got %d", most,
                       domain->max_radius);
        add_fault(faults, "max_radius", detail);
    } else if (domain->min_radius >= max_radius_of(domain)) {
        (void)snprintf(detail, sizeof detail,
                       "must be below %d, otherwise the circle does not fit a picture of %d pixels; got %d",
                       max_radius_of(domain), domain->image_size, domain->min_radius);
        add_fault(faults, "min_radius", detail);
    }
}

int digitcircle_check(const struct digitcircle *domain, void *context,
                      void (*fault)(void *context, const char *field, const char *detail))
{
    struct faults faults = {.context = context, .fault = fault};
    in_range(&faults, "classes", domain->classes, 1, DIGITCIRCLE_CLASSES);
    if (in_range(&faults, "max_symbols", domain->max_symbols, 1, DIGITCIRCLE_CLASSES) &&
        domain->max_symbols > domain->classes)
        add_fault(&faults, "max_symbols", "must be at most `classes`, because the digits of a picture all differ");
    if (in_range(&faults, "min_symbols", domain->min_symbols, 1, DIGITCIRCLE_CLASSES) &&
        domain->min_symbols > domain->max_symbols)
        add_fault(&faults, "min_symbols", "must be at most max_symbols");
    in_range(&faults, "pre_noise", domain->pre_noise, 0, 1);
    in_range(&faults, "post_noise", domain->post_noise, 0, 1);
    bool sides = in_range(&faults, "image_size", domain->image_size, DIGITCIRCLE_STAMP, DIGITCIRCLE_MAX_IMAGE);
    sides &= in_range(&faults, "shift", domain->shift, 0, DIGITCIRCLE_MAX_IMAGE);
    sides &= in_range(&faults, "min_radius", domain->min_radius, 1, DIGITCIRCLE_MAX_IMAGE);
    sides &= in_range(&faults, "max_radius", domain->max_radius, 0, DIGITCIRCLE_MAX_IMAGE);
    if (domain->margin != 0) { /* at least half a stamp, so that no stamp crosses the picture's border */
        const int half = DIGITCIRCLE_STAMP / 2;
        sides &= in_range(&faults, "margin", domain->margin, half, DIGITCIRCLE_MAX_IMAGE);
    }
    if (sides)
        check_radius(domain, &faults);
    return faults.count;
}

/* -- draw ------------------------------------------------------------------------------------- */

/* Share of ink pixels in a stamp, averaged over the ten stamps. */
static double mean_ink(void)
{
    double sum = 0.0;
    for (int digit = 0; digit < DIGITCIRCLE_CLASSES; digit++) {
        int ink = 0;
        for (int row = 0; row < DIGITCIRCLE_STAMP; row++)
            for (int col = 0; col < stamps[digit].cols; col++)
                ink += stamp_ink(digit, row, col);
        sum += (double)ink / (DIGITCIRCLE_STAMP * stamps[digit].cols);
    }
    return sum / DIGITCIRCLE_CLASSES;
}

static void flip(struct mt19937 *rng, double share, float *image, int pixels)
{
    double drawn[256];
    for (int done = 0; done < pixels;) {
        int count = pixels - done < 256 ? pixels - done : 256;
        mt19937_uniforms(rng, drawn, count);
        for (int i = 0; i < count; i++) {
            float pixel = image[done + i];
            image[done + i] = drawn[i] < share ? 1.0F - pixel : pixel;
        }
        done += count;
    }
}

static struct box place_stamp(float *image, int image_size, int digit, int row, int col)
{
    int rows = DIGITCIRCLE_STAMP, cols = stamps[digit].cols;
    struct box box = {.symbol = digit, .row0 = row - rows / 2, .col0 = col - cols / 2, .row = row, .col = col};
    box.row1 = box.row0 + rows;
    box.col1 = box.col0 + cols;
    for (int r = 0; r < rows; r++) {
        float *line = image + (size_t)(box.row0 + r) * (size_t)image_size + box.col0;
        for (int c = 0; c < cols; c++)
            line[c] = stamp_ink(digit, r, c) ? 1.0F : 0.0F;
    }
    return box;
}

/* Draws `count` ascending angles. Every gap between neighbours, the gap from the last to the first included, is at
 * least half of the gap between `count` evenly spaced angles. */
static void draw_angles(struct mt19937 *rng, int count, double *angles)
{
    bool spread;
    do {
        double sum = 0.0;
        for (int i = 0; i < count; i++) {
            angles[i] = mt19937_uniform(rng);
            sum += angles[i];
        }
        spread = true;
        for (int i = 0; i < count; i++) {
            angles[i] /= sum;
            spread = spread && angles[i] >= 1.0 / (2.0 * count);
        }
    } while (!spread);
    for (int i = 1; i < count; i++)
        angles[i] += angles[i - 1];
    double start = mt19937_uniform(rng);
    for (int i = 0; i < count; i++)
        angles[i] = (angles[i] + start) * 6.28318530717958647692;
}

static void label_from_boxes(struct digitcircle_truth *truth)
{
    int first = 0;
    for (int i = 1; i < truth->count; i++)
        if (truth->boxes[i].symbol < truth->boxes[first].symbol)
            first = i;
    for (int i = 0; i < truth->count; i++)
        truth->label[i] = truth->boxes[(first + i) % truth->count].symbol;
}

void digitcircle_draw(const struct digitcircle *domain, uint32_t generator_seed, float *image,
                      struct digitcircle_truth *truth)
{
    int size = domain->image_size, pixels = size * size, padding = padding_of(domain);
    struct mt19937 rng;
    mt19937_init(&rng, generator_seed);
    memset(image, 0, (size_t)pixels * sizeof *image);
    flip(&rng, domain->pre_noise * mean_ink(), image, pixels);

    int radius = (int)mt19937_integer(&rng, domain->min_radius, max_radius_of(domain));
    int centre_row = (int)mt19937_integer(&rng, radius + padding, size - radius - padding);
    int centre_col = (int)mt19937_integer(&rng, radius + padding, size - radius - padding);
    int order[DIGITCIRCLE_CLASSES];
    double angles[DIGITCIRCLE_CLASSES];
    struct digitcircle_truth drawn = {.count =
                                          (int)mt19937_integer(&rng, domain->min_symbols, domain->max_symbols + 1)};
    mt19937_permutation(&rng, order, domain->classes);
    draw_angles(&rng, drawn.count, angles);

    for (int i = 0; i < drawn.count; i++) { /* rint() rounds halves to even, as numpy does */
        int row = (int)rint(centre_row + radius * cos(angles[i]));
        int col = (int)rint(centre_col + radius * sin(angles[i]));
        row += (int)mt19937_integer(&rng, -domain->shift, domain->shift + 1);
        col += (int)mt19937_integer(&rng, -domain->shift, domain->shift + 1);
        drawn.boxes[i] = place_stamp(image, size, order[i], row, col);
    }
    flip(&rng, domain->post_noise, image, pixels);
    if (truth != NULL) {
        label_from_boxes(&drawn);
        *truth = drawn;
    }
}

void digitcircle_sample(const struct digitcircle *domain, int64_t seed, int64_t index, float *image,
                        struct digitcircle_truth *truth)
{
    digitcircle_draw(domain, mt19937_sample_seed(seed, index), image, truth);
}

int digitcircle_single(const struct digitcircle *domain, int64_t seed, int64_t index, float *image)
{
    const int size = DIGITCIRCLE_SINGLE, pixels = size * size;
    struct mt19937 rng;
    mt19937_init(&rng, mt19937_sample_seed(seed, index));
    memset(image, 0, (size_t)pixels * sizeof *image);
    flip(&rng, domain->pre_noise * mean_ink(), image, pixels);
    int digit = (int)mt19937_integer(&rng, 0, domain->classes);
    (void)place_stamp(image, size, digit, size / 2, size / 2);
    flip(&rng, domain->post_noise, image, pixels);
    return digit;
}

double digitcircle_mean_symbols(const struct digitcircle *domain, int samples, float *image)
{
    int64_t symbols = 0;
    for (int i = 0; i < samples; i++) {
        struct digitcircle_truth truth;
        digitcircle_draw(domain, (uint32_t)i, image, &truth);
        symbols += truth.count;
    }
    return (double)symbols / samples;
}
