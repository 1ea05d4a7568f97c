/* Draws formulas as poppler's rasteriser does. A character begins at a multiple of a quarter pixel along the line and
 * at a whole pixel across it. It darkens each pixel in proportion to the part of the pixel that it covers. */
#include "core/data/latex/latex.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/base/hash.h"
#include "core/base/random/mt19937.h"

static const double BORDER = 3; /* width of the border around the formula's box, in points */
static const float WHITE = 255;
static const float INK = 0.1F * 255; /* smallest coverage that counts as ink when a box is computed */

/* -- draw ------------------------------------------------------------------------------------- */

/* Where the layout's origin is in the picture, in pixels from its upper left corner. */
struct place {
    double row, col, scale; /* scale: pixels for each point */
};

/* First row or column of a centred page of `page` pixels in a picture of `picture` pixels. If the two margins cannot be
 * equal, the one at the end is a pixel larger. */
static int centred(int picture, int page)
{
    return picture >= page ? (picture - page) / 2 : -((page - picture) / 2);
}

static struct place place_of(const struct latex *domain, const struct latex_layout *layout)
{
    double scale = domain->dpi / 72.27;
    int page_rows = (int)ceil((layout->height + layout->depth + 2 * BORDER) * scale);
    int page_cols = (int)ceil((layout->width + 2 * BORDER) * scale);
    return (struct place){.row = centred(domain->rows, page_rows) + (BORDER + layout->height) * scale,
                          .col = centred(domain->cols, page_cols) + BORDER * scale,
                          .scale = scale};
}

/* The rows and columns that a mark's ink covers. */
struct extent {
    int row0, row1, col0, col1;
};

static void darken(const struct latex *domain, int row, int col, float coverage, float *grey, struct extent *ink)
{
    if (row < 0 || row >= domain->rows || col < 0 || col >= domain->cols || coverage <= 0)
        return;
    float *pixel = grey + (size_t)row * (size_t)domain->cols + col;
    *pixel = floorf((WHITE - coverage) * *pixel / WHITE);
    if (coverage <= INK)
        return;
    ink->row0 = row < ink->row0 ? row : ink->row0;
    ink->row1 = row >= ink->row1 ? row + 1 : ink->row1;
    ink->col0 = col < ink->col0 ? col : ink->col0;
    ink->col1 = col >= ink->col1 ? col + 1 : ink->col1;
}

static void draw_character(const struct latex *domain, const struct latex_font *font, const struct latex_mark *mark,
                           const struct place *place, float *grey, struct extent *ink)
{
    double x = place->col + mark->x * place->scale, y = place->row - mark->y * place->scale;
    int col = (int)floor(x), row = (int)floor(y), fraction = (int)((x - col) * LATEX_FRACTIONS);
    const struct latex_raster *raster = latex_font_raster(font, mark, fraction);
    for (int r = 0; r < raster->rows; r++)
        for (int c = 0; c < raster->cols; c++)
            darken(domain, row - raster->up + r, col + raster->left + c, raster->coverage[r * raster->cols + c], grey,
                   ink);
}

/* Rounds the edges of a bar to whole pixels; the bar is always at least one pixel thick. */
static void round_edges(double low, double high, int *first, int *count)
{
    *first = (int)floor(low + 0.5);
    int last = (int)floor(high + 0.5);
    *count = last > *first ? last - *first : 1;
}

static void draw_bar(const struct latex *domain, const struct latex_mark *mark, const struct place *place, float *grey,
                     struct extent *ink)
{
    double x = place->col + mark->x * place->scale, y = place->row - mark->y * place->scale;
    int row, rows, col, cols;
    round_edges(y - mark->height * place->scale, y, &row, &rows);
    round_edges(x, x + mark->width * place->scale, &col, &cols);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++)
            darken(domain, row + r, col + c, WHITE, grey, ink);
}

static struct box box_of(const struct latex *domain, const struct latex_mark *mark, const struct extent *ink)
{
    int margin = domain->margin;
    struct box box = {.symbol = mark->symbol,
                      .row0 = ink->row0 - margin,
                      .row1 = ink->row1 + margin,
                      .col0 = ink->col0 - margin,
                      .col1 = ink->col1 + margin,
                      .row = (ink->row0 + ink->row1) / 2,
                      .col = (ink->col0 + ink->col1) / 2};
    box.row0 = box.row0 < 0 ? 0 : box.row0;
    box.col0 = box.col0 < 0 ? 0 : box.col0;
    box.row1 = box.row1 > domain->rows ? domain->rows : box.row1;
    box.col1 = box.col1 > domain->cols ? domain->cols : box.col1;
    return box;
}

static void draw_layout(const struct latex *domain, const struct latex_font *font, const struct latex_layout *layout,
                        float *grey, struct latex_truth *truth)
{
    struct place place = place_of(domain, layout);
    size_t pixels = (size_t)domain->rows * (size_t)domain->cols;
    for (size_t i = 0; i < pixels; i++)
        grey[i] = WHITE;
    truth->count = 0;
    for (int i = 0; i < layout->count; i++) {
        const struct latex_mark *mark = &layout->marks[i];
        struct extent ink = {domain->rows, 0, domain->cols, 0};
        if (mark->symbol == LATEX_CLASS_BAR)
            draw_bar(domain, mark, &place, grey, &ink);
        else
            draw_character(domain, font, mark, &place, grey, &ink);
        if (ink.row0 < ink.row1)
            truth->boxes[truth->count++] = box_of(domain, mark, &ink);
    }
    for (size_t i = 0; i < pixels; i++)
        grey[i] /= WHITE;
}

enum status latex_render(const struct latex *domain, const struct latex_font *font, const int *tokens, int count,
                         float *grey, struct latex_truth *truth, struct error *err)
{
    struct latex_layout layout;
    struct latex_truth unwanted;
    if (!truth)
        truth = &unwanted;
    enum status status = latex_lay_out(tokens, count, &layout, err);
    if (status)
        return status;
    draw_layout(domain, font, &layout, grey, truth);
    truth->length = count;
    for (int i = 0; i < count; i++)
        truth->tokens[i] = tokens[i];
    return STATUS_OK;
}

/* -- samples ---------------------------------------------------------------------------------- */

uint32_t latex_noise_seed(int64_t seed, int64_t index)
{
    char text[64];
    unsigned char digest[HASH_BYTES];
    int length = snprintf(text, sizeof text, "[%" PRId64 ", %" PRId64 ", \"noise\"]", seed, index);
    hash_bytes(text, (size_t)length, digest);
    return (uint32_t)digest[28] << 24 | (uint32_t)digest[29] << 16 | (uint32_t)digest[30] << 8 | digest[31];
}

void latex_add_noise(const struct latex *domain, int64_t seed, int64_t index, float *image)
{
    struct mt19937 rng;
    double drawn[256];
    int pixels = domain->rows * domain->cols;
    mt19937_init(&rng, latex_noise_seed(seed, index));
    for (int done = 0; done < pixels;) {
        int count = pixels - done < 256 ? pixels - done : 256;
        mt19937_uniforms(&rng, drawn, count);
        for (int i = 0; i < count; i++)
            image[done + i] = image[done + i] > 0.75F && !(drawn[i] < domain->noise) ? 1.0F : 0.0F;
        done += count;
    }
}

void latex_sample(const struct latex *domain, const struct latex_font *font, int64_t seed, int64_t index, float *image,
                  struct latex_truth *truth)
{
    int tokens[LATEX_MAX_TOKENS];
    int count = latex_formula(seed, index, domain->min_tokens, domain->max_tokens, domain->symbols, tokens);
    /* cannot fail, because the sampler draws valid formulas only */
    (void)latex_render(domain, font, tokens, count, image, truth, NULL);
    latex_add_noise(domain, seed, index, image);
}

double latex_mean_characters(const struct latex *domain, int samples)
{
    int64_t sum = 0;
    for (int i = 0; i < samples; i++) {
        int tokens[LATEX_MAX_TOKENS];
        struct latex_layout layout;
        int count = latex_formula(-2, i, domain->min_tokens, domain->max_tokens, domain->symbols, tokens);
        (void)latex_lay_out(tokens, count, &layout, NULL);
        sum += layout.count;
    }
    return (double)sum / samples;
}
