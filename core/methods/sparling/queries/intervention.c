/* Checks and applies the edits of an intervention to a motif map (intervention.h). */
#include "core/methods/sparling/queries/intervention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct map {
    int rows, cols, channels;
    float *planes;
};

static float *at(const struct map *map, int64_t channel, int64_t row, int64_t col)
{
    return map->planes + (channel * map->rows + row) * map->cols + col;
}

static enum status intervention_fault(size_t index, const char *member, struct error *err, const char *detail)
{
    char pointer[64];
    snprintf(pointer, sizeof pointer, "/edits/%zu/%s", index, member);
    return error_set(err, STATUS_INVALID, pointer, "%s", detail);
}

static enum status intervention_check(const struct map *map, const struct method_edit *edit, size_t index,
                                      struct error *err)
{
    if (edit->channel < 0 || edit->channel >= map->channels)
        return intervention_fault(index, "channel", err, "must be a channel of the motif map");
    if (!edit->everywhere && (edit->row < 0 || edit->row >= map->rows || edit->col < 0 || edit->col >= map->cols))
        return intervention_fault(index, "position", err, "must be a position of the motif map");
    if (!edit->everywhere && !(*at(map, edit->channel, edit->row, edit->col) > 0))
        return intervention_fault(index, "position", err, "must be the position of a motif in this channel");
    if (edit->to_channel >= map->channels)
        return intervention_fault(index, "to/channel", err, "must be a channel of the motif map");
    if (edit->to_row >= map->rows || edit->to_col >= map->cols)
        return intervention_fault(index, "to/position", err, "must be a position of the motif map");
    if (edit->everywhere && edit->to_row >= 0)
        return intervention_fault(index, "to/position", err,
                                  "must be absent when the edit applies to all motifs of a channel");
    if (edit->to_value <= 0)
        return intervention_fault(index, "to/value", err, "must be above 0");
    return STATUS_OK;
}

static void keep_maximal(const struct annotation *annotation, const struct map *map)
{
    memset(map->planes, 0, (size_t)map->rows * (size_t)map->cols * (size_t)map->channels * sizeof(float));
    for (int i = 0; i < annotation->count; i++) {
        const struct motif *motif = &annotation->motifs[i].at;
        if (annotation->motifs[i].maximal)
            *at(map, motif->channel, motif->row, motif->col) = motif->value;
    }
}

static bool names(const struct method_edit *edit, int64_t channel, int64_t row, int64_t col)
{
    return edit->channel == channel && (edit->everywhere || (edit->row == row && edit->col == col));
}

/* Applies an edit: removes the motifs that it names from `map` and, unless it only removes, adds them to `made` with
 * the channel, position and value that it sets. What the edit does not set stays as in `before`. */
static void intervention_move(const struct method_edit *edit, const struct map *before, const struct map *map,
                              const struct map *made)
{
    for (int row = 0; row < map->rows; row++)
        for (int col = 0; col < map->cols; col++) {
            float value = *at(before, edit->channel, row, col);
            if (!(value > 0) || !names(edit, edit->channel, row, col))
                continue;
            *at(map, edit->channel, row, col) = 0;
            if (edit->remove)
                continue;
            int64_t channel = edit->to_channel >= 0 ? edit->to_channel : edit->channel;
            int64_t to_row = edit->to_row >= 0 ? edit->to_row : row, to_col = edit->to_col >= 0 ? edit->to_col : col;
            float *to = at(made, channel, to_row, to_col);
            value = isnan(edit->to_value) ? value : (float)edit->to_value;
            *to = fmaxf(*to, value);
        }
}

/* Applies the edits to `map`. before: a copy of `map`, in which the edits find their motifs. made: zero at the start;
 * it receives the motifs that the edits add, which are then joined with `map`. */
static enum status apply(const struct method_input *input, const struct map *map, const struct map *before,
                         const struct map *made, struct error *err)
{
    for (size_t i = 0; i < input->edit_count; i++) {
        enum status status = intervention_check(before, &input->edits[i], i, err);
        if (status)
            return status;
        intervention_move(&input->edits[i], before, map, made);
    }
    size_t count = (size_t)map->rows * (size_t)map->cols * (size_t)map->channels;
    for (size_t i = 0; i < count; i++)
        map->planes[i] = fmaxf(map->planes[i], made->planes[i]);
    return STATUS_OK;
}

enum status intervention_apply(const struct annotation *annotation, const struct method_input *input, float *planes,
                               struct error *err)
{
    struct map map = {annotation->rows, annotation->cols, annotation->channels, planes}, before = map, made = map;
    size_t count = (size_t)map.rows * (size_t)map.cols * (size_t)map.channels;
    enum status status;
    if (input->keep_maximal)
        keep_maximal(annotation, &map);
    before.planes = malloc(count * sizeof(float));
    made.planes = calloc(count, sizeof(float));
    if (before.planes && made.planes) {
        memcpy(before.planes, planes, count * sizeof(float));
        status = apply(input, &map, &before, &made, err);
    } else {
        status = error_memory(err, "an intervention");
    }
    free(before.planes);
    free(made.planes);
    return status;
}
