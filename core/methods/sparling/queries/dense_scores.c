/* Answers the query "scores": what each channel scores at each position, before the threshold decides which positions
 * are motifs. Rankings of all positions need it, and clients that set a threshold of their own. */
#include <math.h>

#include "core/methods/sparling/queries/query_model.h"

const char *const scores_forms[] = {"score", "p", NULL}; /* of enum scores_form */
enum scores_form { SCORES_PLAIN, SCORES_P };

/* Largest number of scores of an answer in JSON. */
enum { SCORES_JSON = 65536 };

/* Returns the conformal p-value of a score: the share of the channel's negatives, and of the input itself, whose
 * largest score is at least as large. Only the largest scores of the negatives are known, so a lower score has p = 1.
 */
static float p_of(const struct channel_negatives *channel, const float *score, float value)
{
    int64_t low = 0, high = channel->scores; /* scores [0, low) are >= value, scores [high, ...) are below */
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (score[middle] >= value)
            low = middle + 1;
        else
            high = middle;
    }
    bool known = low < channel->scores || channel->scores == channel->inputs;
    return known ? (float)(1 + low) / (float)(channel->inputs + 1) : 1;
}

/* Replaces scores by p-values; NaN for a channel without negatives. */
static void to_p(const struct method_model *model, float *planes, size_t positions)
{
    for (int c = 0; c < model->network->config.channels_motif; c++) {
        const struct channel_negatives *channel = &model->negatives.channel[c];
        const float *score = model->negatives.score + (ptrdiff_t)c * NEGATIVES_MARKS;
        float *plane = planes + (size_t)c * positions;
        for (size_t i = 0; i < positions; i++)
            plane[i] = channel->why == NEGATIVES_KNOWN ? p_of(channel, score, plane[i]) : NAN;
    }
}

/* Computes the scores of the question's input: *values is [rows][cols][channels], step memory. */
static enum status compute(const struct method_question *question, struct inquiry *inquiry, const float **values,
                           struct error *err)
{
    const struct method_model *model = question->model;
    const struct domain_shape *shape = &model->domain.shape;
    const struct scores_parameters *parameters = question->parameters;
    size_t positions = domain_positions(shape), channels = (size_t)model->network->config.channels_motif;
    enum status status = inquiry_begin(question, question->input, inquiry, err);
    if (status)
        return status;
    struct tensor *map = network_window(&inquiry->exec, model->network, inquiry->planes, 1, shape);
    status = exec_status(&inquiry->exec, err);
    if (status)
        return status;
    float *planes = arena_alloc(&inquiry->space.arena, 2 * channels * positions * sizeof *planes), *out;
    if (!planes)
        return error_memory(err, "a query");
    tensor_to_planes(map, planes);
    out = planes + channels * positions; /* first scratch of channel_places_shift() */
    channel_places_shift(&model->places, (int)channels, shape->rows, shape->cols, planes, out);
    if (parameters && parameters->as == SCORES_P)
        to_p(model, planes, positions);
    for (size_t i = 0; i < positions; i++)
        for (size_t c = 0; c < channels; c++)
            out[i * channels + c] = planes[c * positions + i];
    *values = out;
    return STATUS_OK;
}

enum status sparling_scores_array(const struct method_question *question, struct buf *values, int *rank, int64_t dim[4],
                                  struct error *err)
{
    const struct domain_shape *shape = &question->model->domain.shape;
    struct inquiry inquiry = {.planes = NULL};
    const float *scores;
    enum status status = compute(question, &inquiry, &scores, err);
    *rank = 3;
    dim[0] = shape->rows;
    dim[1] = shape->cols;
    dim[2] = question->model->network->config.channels_motif;
    if (!status)
        buf_append(values, scores, (size_t)(dim[0] * dim[1] * dim[2]) * sizeof *scores);
    inquiry_close(&inquiry);
    return status;
}

static void write_channels(const struct method_model *model, const struct sink *out)
{
    sink_begin_list(out, "channels");
    for (int c = 0; c < model->network->config.channels_motif; c++) {
        char name[CHANNEL_NAME_TEXT];
        channel_name_text(model->names ? &model->names[c] : NULL, &model->domain, name, sizeof name);
        sink_begin_object(out, NULL);
        sink_integer(out, "channel", c);
        sink_text(out, "name", name);
        sink_end_object(out);
    }
    sink_end_list(out);
}

enum status sparling_scores(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct method_model *model = question->model;
    const struct domain_shape *shape = &model->domain.shape;
    int64_t channels = model->network->config.channels_motif, count = (int64_t)domain_positions(shape) * channels;
    struct inquiry inquiry = {.planes = NULL};
    const float *scores;
    if (count > SCORES_JSON)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "an answer has %lld scores, more than the %d that JSON may have; ask for application/x-npy",
                         (long long)count, SCORES_JSON);
    enum status status = compute(question, &inquiry, &scores, err);
    if (!status) {
        sink_begin_list(out, "shape");
        sink_integer(out, NULL, shape->rows);
        sink_integer(out, NULL, shape->cols);
        sink_integer(out, NULL, channels);
        sink_end_list(out);
        write_channels(model, out);
        sink_begin_list(out, "values");
        for (int64_t i = 0; i < count; i++)
            sink_number(out, NULL, (double)scores[i]);
        sink_end_list(out);
    }
    inquiry_close(&inquiry);
    return status;
}
