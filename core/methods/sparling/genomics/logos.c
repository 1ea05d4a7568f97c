/* The queries "logos" and "logos/{channel}": the matrices of channels as sequence logos. The height of a position is
 * its information with the correction for small samples, so a logo of few sites is low. */
#include <stdio.h>
#include <stdlib.h>

#include "core/genomics/matrices/logo.h"
#include "core/methods/sparling/genomics/channel_matrices.h"

struct sheet {
    struct logo *logo;
    double (*height)[MATRIX_WIDTH][BASES];
    char (*title)[160];
    int count;
};

static enum status fill_sheet(const struct channel_matrices *matrices, struct sheet *sheet, struct error *err)
{
    size_t count = (size_t)matrices->count + 1;
    *sheet = (struct sheet){.logo = calloc(count, sizeof *sheet->logo),
                            .height = calloc(count, sizeof *sheet->height),
                            .title = calloc(count, sizeof *sheet->title)};
    if (!sheet->logo || !sheet->height || !sheet->title)
        return error_memory(err, "logos");
    for (int c = 0; c < matrices->count && sheet->count < LOGO_SHEET; c++) {
        const struct named_motif *motif = &matrices->motif[c];
        if (motif->matrix.width == 0)
            continue;
        int n = sheet->count++;
        snprintf(sheet->title[n], sizeof sheet->title[n], "%s%s%s, %d sites", motif->id,
                 motif->name[0] != '\0' ? ": " : "", motif->name, motif->matrix.sites);
        for (int i = 0; i < motif->matrix.width; i++) {
            double bits = position_matrix_information(&motif->matrix, i);
            position_matrix_column(&motif->matrix, i, matrices->background, 0, sheet->height[n][i]);
            for (int b = 0; b < BASES; b++)
                sheet->height[n][i][b] *= bits;
        }
        sheet->logo[n] = (struct logo){sheet->title[n], motif->matrix.width, &sheet->height[n][0][0]};
    }
    return sheet->count > 0
               ? STATUS_OK
               : error_set(err, STATUS_CONFLICT, NULL,
                           "no matrix can be made, because the channel or the channels have fewer than two motifs");
}

typedef enum status draw_logos(const struct logo *logos, int count, const struct logo_letters *letters, struct buf *out,
                               struct error *err);

static enum status answer_logos(const struct method_question *question, draw_logos *draw, struct buf *out,
                                struct error *err)
{
    struct channel_matrices *matrices;
    struct sheet sheet = {.count = 0};
    enum status status = channel_matrices_ask(question, &matrices, err);
    if (!status)
        status = fill_sheet(matrices, &sheet, err);
    if (!status) {
        const struct logo_letters letters = {matrices->alphabet->symbols, matrices->alphabet->hues, BASES};
        status = draw(sheet.logo, sheet.count, &letters, out, err);
    }
    free(sheet.logo);
    free(sheet.height);
    free(sheet.title);
    channel_matrices_destroy(matrices);
    return status;
}

enum status logos_png(const struct method_question *question, struct buf *out, struct error *err)
{
    return answer_logos(question, logo_png, out, err);
}

enum status logos_svg(const struct method_question *question, struct buf *out, struct error *err)
{
    return answer_logos(question, logo_svg, out, err);
}
