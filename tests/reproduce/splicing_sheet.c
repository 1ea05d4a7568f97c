/* Draws a sequence of the planted splicing domain: its letters, and a named bar for each motif that binds. Below
 * each core motif (donor or acceptor) it marks whether the proteins around the core make it a splice site.
 *
 *   splicing_sheet FILE.png [--index 0] [--length 480] [--proteins 6] [--spacing 40] [--reach 60] */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/draw/png.h"
#include "core/data/splicing/splicing_planted.h"

enum { LINE = 120, ADVANCE = 8, DOWN = 84, LEFT = 14, TOP = 40, BOXES = 4096 };

static const struct colour white = {255, 255, 255}, black = {20, 20, 20}, faint = {150, 150, 150},
                           pale = {205, 205, 205};

static double option(int argc, char **argv, const char *name, double preset)
{
    for (int i = 2; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return atof(argv[i + 1]);
    return preset;
}

static int row_of(int position)
{
    return TOP + position / LINE * DOWN;
}
static int col_of(int position)
{
    return LEFT + position % LINE * ADVANCE;
}

/* Draws the bar and the name of a motif above the letters of the sequence. A larger `level` is drawn higher, so that
 * bars of overlapping motifs do not cover each other. */
static void draw_motif(struct picture *sheet, const struct splicing_planted *d, const struct box *box, int level)
{
    const struct affinity_protein *p = &d->motifs.protein[box->symbol];
    bool core = box->symbol >= splicing_planted_proteins(d);
    struct colour colour = core ? black : picture_palette(box->symbol);
    int from = box->col - (p->columns - 1) / 2, to = from + p->columns;
    for (int i = from; i < to; i++)
        if (i >= 0 && i < d->length)
            picture_fill(sheet, row_of(i) + 16 - 12 * level, col_of(i), 4, ADVANCE, colour);
    picture_text(sheet, row_of(from) + 6 - 12 * level, col_of(from), p->name, 1, colour);
}

static void draw_site(struct picture *sheet, const struct splicing_planted *d, const struct box *box,
                      const uint8_t *classes)
{
    int core = box->symbol - splicing_planted_proteins(d), at = box->col + d->core_site[core];
    bool used = classes[at] != SITE_NONE;
    const char *name = core == 1 ? "donor" : "acceptor";
    struct colour colour = used ? (core == 1 ? picture_palette(5) : picture_palette(2)) : faint;
    picture_fill(sheet, row_of(at) + 34, col_of(at) + 2, used ? 8 : 4, 3, colour);
    picture_text(sheet, row_of(at) + 44, col_of(at) - 8, used ? name : "unused", 1, colour);
}

static void draw(struct picture *sheet, const struct splicing_planted *d, const uint8_t *bases, const uint8_t *classes,
                 const struct splicing_truth *truth)
{
    picture_text(sheet, 8, LEFT, "motifs that bind (bars), their sequence, and which cores they make a splice site", 1,
                 black);
    for (int i = 0; i < d->length; i++) {
        char letter[2] = {"ACGTN"[bases[i]], '\0'};
        picture_text(sheet, row_of(i) + 24, col_of(i) + 1, letter, 1, faint);
        if (i % 20 == 0) {
            char number[12];
            snprintf(number, sizeof number, "%d", i);
            picture_fill(sheet, row_of(i) + 34, col_of(i) + 3, 3, 1, pale);
            picture_text(sheet, row_of(i) + 56, col_of(i), number, 1, pale);
        }
    }
    int end = -1, level = 0;
    for (int i = 0; i < truth->count; i++) {
        int columns = d->motifs.protein[truth->boxes[i].symbol].columns, from = truth->boxes[i].col - (columns - 1) / 2;
        level = from <= end && level == 0;
        end = from + columns;
        draw_motif(sheet, d, &truth->boxes[i], level);
        if (truth->boxes[i].symbol >= splicing_planted_proteins(d))
            draw_site(sheet, d, &truth->boxes[i], classes);
    }
}

static int save(const struct picture *sheet, const char *path)
{
    struct buf bytes;
    buf_init(&bytes, 16 << 20);
    FILE *file = fopen(path, "wb");
    int failed =
        file == NULL || png_encode(sheet, &bytes, NULL) || fwrite(bytes.data, 1, bytes.size, file) != bytes.size;
    if (file != NULL)
        failed |= fclose(file) != 0;
    buf_close(&bytes);
    return failed;
}

int main(int argc, char **argv)
{
    struct splicing_planted d;
    struct error err = {0};
    if (argc < 2 || splicing_planted_small(&d, (int)option(argc, argv, "--proteins", 6), &err)) {
        fprintf(stderr, "splicing_sheet FILE.png: %s\n", err.message);
        return 1;
    }
    d.length = (int)option(argc, argv, "--length", 480) / LINE * LINE;
    d.spacing = option(argc, argv, "--spacing", 40);
    d.reach = (int)option(argc, argv, "--reach", 60);
    if (d.length < LINE || d.spacing < 1)
        return 1;
    uint8_t *bases = malloc(2 * (size_t)d.length), *classes = bases + d.length;
    struct splicing_truth truth = {.room = BOXES, .boxes = calloc(BOXES, sizeof(struct box))};
    struct picture *sheet = NULL;
    int failed =
        bases == NULL || truth.boxes == NULL ||
        splicing_planted_sample(&d, 1, (int64_t)option(argc, argv, "--index", 0), bases, classes, &truth, &err) ||
        picture_create(TOP + d.length / LINE * DOWN, 2 * LEFT + LINE * ADVANCE, white, &sheet, &err);
    if (!failed) {
        truth.count = truth.count < BOXES ? truth.count : BOXES;
        draw(sheet, &d, bases, classes, &truth);
        failed = save(sheet, argv[1]);
    }
    picture_destroy(sheet);
    free(bases);
    free(truth.boxes);
    splicing_planted_close(&d);
    return failed;
}
