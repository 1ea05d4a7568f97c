/* A sheet of LaTeX-OCR samples: what the network sees, the true boxes, the source beneath.
 *
 *     latex_sheet FILE.png [--seed -2] [--first 0] [--count 8] [--columns 2] [--clean]
 *                 [--rows 120] [--cols 360] [--dpi 200] [--tokens 30] [--noise 0.25] [--margin 2]
 *
 * --bench draws 2000 samples and says how many a second of one thread's time allows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/data/latex.h"
#include "core/data/png.h"

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

static void draw_tile(struct picture *sheet, int row, int col, const struct latex *domain, const float *image,
                      const struct latex_truth *truth)
{
    const struct colour black = {0, 0, 0}, white = {255, 255, 255}, text = {20, 20, 20};
    char source[512];
    picture_grey(sheet, row, col, image, domain->rows, domain->cols, 1, black, white);
    for (int i = 0; i < truth->count; i++) {
        const struct box *b = &truth->boxes[i];
        picture_outline(sheet, row + b->row0, col + b->col0, b->row1 - b->row0, b->col1 - b->col0, 1,
                        picture_palette(b->symbol));
    }
    if (latex_source(truth->tokens, truth->length, source, sizeof source, NULL) == STATUS_OK)
        picture_text(sheet, row + domain->rows + 3, col, source, 1, text);
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
    int high = domain.rows + 16, wide = domain.cols + 12;
    float *image = malloc((size_t)domain.rows * (size_t)domain.cols * sizeof *image);
    if (!image || latex_check(&domain, NULL, NULL) > 0)
        return fprintf(stderr, "latex_sheet: no such pictures\n"), 2;
    enum status status = latex_font_create(domain.dpi, NULL, &font, &err);
    if (!status && flag(argc, argv, "--bench"))
        return bench(&domain, font, image);
    if (!status)
        status = picture_create((count + columns - 1) / columns * high + 8, columns * wide, ground, &sheet, &err);
    for (int i = 0; !status && i < count; i++) {
        struct latex_truth truth;
        latex_sample(&domain, font, seed, first + i, image, &truth);
        if (flag(argc, argv, "--clean"))
            status = latex_render(&domain, font, truth.tokens, truth.length, image, &truth, &err);
        draw_tile(sheet, i / columns * high + 8, i % columns * wide + 6, &domain, image, &truth);
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
