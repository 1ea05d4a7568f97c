/* Draws LaTeX-OCR samples: the input of the network, the true boxes, and below them the LaTeX source.
 *
 *   latex_sheet FILE.png [--seed -2] [--first 0] [--count 8] [--columns 2] [--scale 1] [--pairs]
 *               [--rows 120] [--cols 360] [--dpi 200] [--tokens 30] [--noise 0.25] [--margin 2]
 *
 *   latex_sheet FILE --pages [--seed -2] [--first 0] [--count 8]
 *
 * - --pages writes the pages into FILE as grey values, one byte for each pixel. It writes their sources to standard
 *   output. latex_reference.py reads both.
 * - --pairs draws each page without noise and with its boxes, and next to it the network's input.
 * - --bench draws 2000 samples and prints how many samples one thread draws in a second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/data/latex/latex.h"
#include "core/draw/png.h"
#include "tests/support/latex_source.h"
#include "tests/support/paper_domains.h"

static double option(int argc, char **argv, const char *name, double preset)
{
    for (int i = 2; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return atof(argv[i + 1]);
    return preset;
}

static bool flag(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

static int bench(const struct latex *domain, const struct latex_font *font, float *image)
{
    enum { SAMPLES = 2000 };
    clock_t began = clock();
    for (int i = 0; i < SAMPLES; i++) {
        struct latex_truth truth;
        latex_sample(domain, font, 1, i, image, &truth);
    }
    printf("%.0f samples/s\n", SAMPLES * (double)CLOCKS_PER_SEC / (double)(clock() - began));
    return 0;
}

static int write_pages(const char *path, const struct latex *domain, const struct latex_font *font, int64_t seed,
                       int64_t first, int count, float *image)
{
    FILE *file = fopen(path, "wb");
    bool wrote = file != NULL;
    for (int i = 0; wrote && i < count; i++) {
        int tokens[LATEX_MAX_TOKENS];
        char source[LATEX_SOURCE];
        int length = latex_formula(seed, first + i, domain->min_tokens, domain->max_tokens, domain->symbols, tokens);
        wrote = latex_render(domain, font, tokens, length, image, NULL, NULL) == STATUS_OK;
        latex_source(tokens, length, source);
        for (int k = 0; wrote && k < domain->rows * domain->cols; k++)
            wrote = putc((int)(image[k] * 255 + 0.5F), file) != EOF;
        printf("%s\n", source);
    }
    if (file)
        wrote &= fclose(file) == 0;
    return wrote ? 0 : 1;
}

struct sheet {
    const struct latex *domain;
    struct picture *picture;
    int scale;
};

static void draw_tile(const struct sheet *sheet, int row, int col, const float *image, const struct latex_truth *truth,
                      bool boxes)
{
    const struct colour black = {0, 0, 0}, white = {255, 255, 255}, frame = {190, 190, 190};
    const struct latex *domain = sheet->domain;
    int scale = sheet->scale;
    char source[LATEX_SOURCE];
    picture_grey(sheet->picture, row, col, image, domain->rows, domain->cols, scale, black, white);
    picture_outline(sheet->picture, row - 1, col - 1, domain->rows * scale + 2, domain->cols * scale + 2, 1, frame);
    if (!boxes)
        return;
    for (int i = 0; i < truth->count; i++) {
        const struct box *b = &truth->boxes[i];
        picture_outline(sheet->picture, row + b->row0 * scale, col + b->col0 * scale, (b->row1 - b->row0) * scale,
                        (b->col1 - b->col0) * scale, 1, picture_palette(b->symbol));
    }
    latex_source(truth->tokens, truth->length, source);
    picture_text(sheet->picture, row + domain->rows * scale + 4, col, source, 1, black);
}

int main(int argc, char **argv)
{
    struct latex domain = latex_paper();
    if (argc < 2)
        return fprintf(stderr, "usage: latex_sheet FILE.png [options]\n"), 2;
    domain.rows = (int)option(argc, argv, "--rows", domain.rows);
    domain.cols = (int)option(argc, argv, "--cols", domain.cols);
    domain.dpi = option(argc, argv, "--dpi", domain.dpi);
    domain.max_tokens = (int)option(argc, argv, "--tokens", domain.max_tokens);
    domain.noise = option(argc, argv, "--noise", domain.noise);
    domain.margin = (int)option(argc, argv, "--margin", domain.margin);
    int count = (int)option(argc, argv, "--count", 8), columns = (int)option(argc, argv, "--columns", 2);
    int64_t seed = (int64_t)option(argc, argv, "--seed", -2), first = (int64_t)option(argc, argv, "--first", 0);

    struct error err = {0};
    struct latex_font *font = NULL;
    struct picture *sheet = NULL;
    struct buf bytes;
    const struct colour ground = {255, 255, 255};
    int scale = (int)option(argc, argv, "--scale", 1), high = domain.rows * scale + 20, wide = domain.cols * scale + 12;
    bool pages = flag(argc, argv, "--pages"), pairs = flag(argc, argv, "--pairs");
    int tiles = pairs ? 2 * count : count;
    float *image = malloc((size_t)domain.rows * (size_t)domain.cols * sizeof *image);
    if (!image || domain.rows < 8 || domain.cols < 8 || domain.max_tokens < 1 || domain.max_tokens > LATEX_MAX_TOKENS)
        return fprintf(stderr, "latex_sheet: no such pictures\n"), 2;
    enum status status = latex_font_create(domain.dpi, NULL, &font, &err);
    if (!status && flag(argc, argv, "--bench"))
        return bench(&domain, font, image);
    if (!status && pages)
        return write_pages(argv[1], &domain, font, seed, first, count, image);
    if (!status)
        status = picture_create((tiles + columns - 1) / columns * high + 8, columns * wide, ground, &sheet, &err);
    const struct sheet drawn = {&domain, sheet, scale};
    for (int i = 0; !status && i < tiles; i++) {
        struct latex_truth truth;
        latex_sample(&domain, font, seed, first + (pairs ? i / 2 : i), image, &truth);
        if (pairs && i % 2 == 0)
            status = latex_render(&domain, font, truth.tokens, truth.length, image, &truth, &err);
        draw_tile(&drawn, i / columns * high + 8, i % columns * wide + 6, image, &truth, !pairs || i % 2 == 0);
    }
    buf_init(&bytes, (size_t)64 << 20);
    if (!status)
        status = png_encode(sheet, &bytes, &err);
    FILE *file = status ? NULL : fopen(argv[1], "wb");
    if (status || !file || fwrite(bytes.data, 1, bytes.size, file) != bytes.size || fclose(file) != 0)
        return fprintf(stderr, "latex_sheet: %s\n", status ? err.message : "the file could not be written"), 1;
    buf_close(&bytes);
    picture_destroy(sheet);
    latex_font_destroy(font);
    free(image);
    return 0;
}
