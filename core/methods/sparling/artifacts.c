/* What a finished run leaves beside its result: four pictures with their motifs, and its confusion
 * matrix as a picture and as a table. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/data/png.h"
#include "core/methods/sparling/reading.h"
#include "core/methods/sparling/run_int.h"

enum { EXAMPLES = 4, ARTIFACT_BYTES = 16 << 20 };

static enum status hand_over(struct method_run *run, const char *name, const char *type, const struct buf *bytes,
                             struct error *err)
{
    if (bytes->failed)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for %s", name);
    run->env.artifact(run->env.context, name, type, bytes->data, bytes->size);
    return STATUS_OK;
}

static enum status hand_over_picture(struct method_run *run, const char *name, const struct picture *picture,
                                     struct error *err)
{
    struct buf bytes;
    buf_init(&bytes, ARTIFACT_BYTES);
    enum status status = png_encode(picture, &bytes, err);
    if (!status)
        status = hand_over(run, name, "image/png", &bytes, err);
    buf_close(&bytes);
    return status;
}

/* The domain's first examples; of digitcircle two are the paper's Fig. 2. */
static enum status examples(struct method_run *run, struct error *err)
{
    const struct open_domain *domain = &run->domain;
    size_t inputs = domain_inputs(&domain->shape);
    int columns = domain->shape.cols > 2 * domain->shape.picture_rows ? 1 : 2;
    float *planes = calloc(EXAMPLES * inputs, sizeof *planes);
    struct domain_truth *truths = NULL;
    struct reading readings[EXAMPLES] = {0};
    struct picture *picture = NULL;
    if (!planes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for examples");
    enum status status = domain_truths_create(&domain->shape, EXAMPLES, &truths, err);
    for (int i = 0; !status && i < EXAMPLES; i++) {
        float *input = planes + (size_t)i * inputs;
        struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = i};
        status = domain->domain->sample(domain->state, &request, input, &truths[i], err);
        if (!status)
            status = reading_make(&run->exec, run->network, domain, input, &truths[i], &readings[i], err);
    }
    if (!status)
        status = reading_draw(readings, EXAMPLES, columns, &picture, err);
    if (!status)
        status = hand_over_picture(run, "motifs.png", picture, err);
    picture_destroy(picture);
    for (int i = 0; i < EXAMPLES; i++)
        reading_close(&readings[i]);
    domain_truths_destroy(truths);
    free(planes);
    return status;
}

static const char *symbol_name(const struct method_run *run, int symbol)
{
    const struct open_domain *domain = &run->domain;
    return symbol < domain->shape.symbols ? domain->domain->symbol(domain->state, symbol) : "none";
}

static enum status confusion_table(struct method_run *run, struct error *err)
{
    const struct motif_errors *errors = &run->evaluation.errors;
    struct buf text;
    buf_init(&text, ARTIFACT_BYTES);
    buf_text(&text, "true");
    for (int j = 0; j < errors->channels; j++)
        buf_format(&text, ",channel %d", j);
    buf_text(&text, ",none\n");
    for (int i = 0; i <= errors->symbols; i++) {
        buf_text(&text, symbol_name(run, i));
        for (int j = 0; j <= errors->channels; j++)
            buf_format(&text, ",%lld", (long long)errors->boxes[i * (errors->channels + 1) + j]);
        buf_text(&text, "\n");
    }
    enum status status = hand_over(run, "confusion.csv", "text/csv", &text, err);
    buf_close(&text);
    return status;
}

/* Rows normalised to 1 (facts §8.2): dark is much. */
static enum status confusion_picture(struct method_run *run, struct error *err)
{
    enum { CELL = 28, LEFT = 60, TOP = 40 };
    const struct motif_errors *errors = &run->evaluation.errors;
    const struct colour white = {255, 255, 255}, black = {0, 0, 0}, line = {200, 200, 200};
    int rows = errors->symbols + 1, cols = errors->channels + 1;
    struct picture *picture;
    enum status status =
        picture_create(TOP + rows * CELL + 10, LEFT + cols * CELL + 10, white, &picture, err);
    if (status)
        return status;
    picture_text(picture, 6, LEFT, "channel", 1, black);
    picture_text(picture, TOP - 12, 4, "true", 1, black);
    for (int i = 0; i < rows; i++) {
        const int64_t *count = errors->boxes + i * cols;
        int64_t sum = 0;
        picture_text(picture, TOP + i * CELL + CELL / 2 - 4, 8, symbol_name(run, i), 1, black);
        for (int j = 0; j < cols; j++)
            sum += count[j];
        for (int j = 0; j < cols; j++) {
            double share = sum > 0 ? (double)count[j] / (double)sum : 0;
            uint8_t level = (uint8_t)(255 - 220 * share);
            struct colour shade = {level, level, 255};
            char text[12];
            int row = TOP + i * CELL, col = LEFT + j * CELL;
            picture_fill(picture, row, col, CELL, CELL, shade);
            picture_outline(picture, row, col, CELL, CELL, 1, line);
            snprintf(text, sizeof text, "%.0f", 100 * share);
            if (count[j] > 0)
                picture_text(picture, row + CELL / 2 - 4, col + 5, text, 1, picture_contrast(shade));
        }
    }
    for (int j = 0; j < cols; j++) {
        char name[12];
        snprintf(name, sizeof name, j < errors->channels ? "%d" : "-", j);
        picture_text(picture, TOP - 12, LEFT + j * CELL + CELL / 2 - 4, name, 1, black);
    }
    status = hand_over_picture(run, "confusion.png", picture, err);
    picture_destroy(picture);
    return status;
}

enum status run_artifacts(struct method_run *run, struct error *err)
{
    if (!run->env.artifact)
        return STATUS_OK;
    enum status status = examples(run, err);
    if (!status)
        status = confusion_table(run, err);
    if (!status)
        status = confusion_picture(run, err);
    return status;
}
