/* Answers as numbers: the motif map of the query "motifs", and the tensors of the Open Inference Protocol (struct
 * method_tensor). */
#include <math.h>
#include <string.h>

#include "core/methods/sparling/queries/query_model.h"

/* Appends planes [channels][rows][cols] as [rows][cols][channels], row by row. line: scratch [cols][channels]. */
static void append_rows(const float *planes, const struct domain_shape *shape, int channels, float *line,
                        struct buf *values)
{
    for (int row = 0; row < shape->rows; row++) {
        for (int c = 0; c < channels; c++) {
            const float *from = planes + ((size_t)c * (size_t)shape->rows + (size_t)row) * (size_t)shape->cols;
            for (int col = 0; col < shape->cols; col++)
                line[col * channels + c] = from[col];
        }
        buf_append(values, line, (size_t)shape->cols * (size_t)channels * sizeof *line);
    }
}

/* Appends the motif map of an inquiry, [rows][cols][channels]. */
static enum status append_map(struct inquiry *inquiry, struct buf *values, struct error *err)
{
    const struct method_model *model = inquiry->model;
    size_t positions = domain_positions(&model->domain.shape);
    size_t channels = (size_t)model->network->config.channels_motif;
    /* The second half is scratch for one row of the answer, which is at most as large as the map. */
    float *planes = arena_alloc(&inquiry->space.arena, 2 * channels * positions * sizeof *planes);
    if (!planes)
        return error_memory(err, "a query");
    tensor_to_planes(inquiry->motifs, planes);
    enum status status = channel_places_move(&model->places, (int)channels, model->domain.shape.rows,
                                             model->domain.shape.cols, planes, err);
    if (!status)
        append_rows(planes, &model->domain.shape, (int)channels, planes + channels * positions, values);
    return status;
}

static void motifs_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = 3;
    dim[0] = model->domain.shape.rows;
    dim[1] = model->domain.shape.cols;
    dim[2] = model->network->config.channels_motif;
}

/* The query "motifs" as numbers: the motif map, [rows][cols][channels]. */
enum status sparling_motif_map(const struct method_question *question, struct buf *values, int *rank, int64_t dim[4],
                               struct error *err)
{
    const struct motifs_parameters *parameters = question->parameters;
    struct inquiry inquiry = {.planes = NULL};
    enum status status = STATUS_OK;
    if (parameters && parameters->false_marks > 0)
        status = error_set(err, STATUS_INVALID, "/false_marks",
                           "is for lists of motifs and pictures; an array is the whole map");
    if (!status)
        status = inquiry_begin(question, question->input, &inquiry, err);
    if (!status)
        status = append_map(&inquiry, values, err);
    motifs_shape(question->model, rank, dim);
    inquiry_close(&inquiry);
    return status;
}

/* ---- tensors ----------------------------------------------------------------------------------- */

/* The shape of an input: without the dimension of rows for a sequence, and without that of channels for one channel. */
static void input_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    const struct domain_shape *shape = &model->domain.shape;
    *rank = 0;
    if (shape->rows > 1)
        dim[(*rank)++] = shape->rows;
    dim[(*rank)++] = shape->cols;
    if (shape->channels > 1)
        dim[(*rank)++] = shape->channels;
}

/* The shape of an answer: one label for an input, or one for each position; none if targets are numbers. */
static void label_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = model->domain.shape.numbers > 0 ? -1 : model->domain.shape.positions ? 1 : 0;
    dim[0] = model->domain.shape.cols;
}

/* The shape of the predicted numbers; none if targets are labels. */
static void numbers_shape(const struct method_model *model, int *rank, int64_t dim[METHOD_TENSOR_RANK])
{
    *rank = model->domain.shape.numbers > 0 ? 1 : -1;
    dim[0] = model->domain.shape.numbers;
}

const struct method_tensor sparling_input = {
    "input", "An image, or a sequence without its row; channels last if there are several", METHOD_FP32, false,
    input_shape};
const struct method_tensor sparling_outputs[SPARLING_OUTPUTS] = {
    {"motifs", "The motif map: the value of each channel at each position", METHOD_FP32, true, motifs_shape},
    {"labels", "The predicted label: its names with spaces between them, or the class at each position", METHOD_BYTES,
     false, label_shape},
    {"probabilities", "The probability that the model gives each label", METHOD_FP32, false, label_shape},
    {"numbers", "The predicted numbers, if the model's targets are numbers", METHOD_FP32, false, numbers_shape},
};

static void append_size(struct buf *out, size_t length)
{
    const unsigned char size[4] = {(unsigned char)length, (unsigned char)(length >> 8), (unsigned char)(length >> 16),
                                   (unsigned char)(length >> 24)};
    buf_append(out, size, sizeof size);
}

static void append_text(struct buf *out, const char *text)
{
    append_size(out, strlen(text));
    buf_text(out, text);
}

/* Appends the names of the tokens with spaces between them, as one text. */
static void append_names(struct buf *out, const struct open_domain *domain, const struct decoded *decoded)
{
    size_t length = decoded->length > 0 ? (size_t)decoded->length - 1 : 0;
    for (int i = 0; i < decoded->length; i++)
        length += strlen(query_token(domain, decoded->tokens[i]));
    append_size(out, length);
    for (int i = 0; i < decoded->length; i++)
        buf_format(out, "%s%s", i > 0 ? " " : "", query_token(domain, decoded->tokens[i]));
}

/* Appends the most probable class at each position, and its probability. */
static enum status append_classes(struct inquiry *inquiry, struct buf *labels, struct buf *probabilities,
                                  struct error *err)
{
    const struct method_model *model = inquiry->model;
    const struct tensor *classes = network_classes(&inquiry->exec, model->network, inquiry->motifs);
    enum status status = exec_status(&inquiry->exec, err);
    if (status)
        return status;
    for (int i = 0; i < classes->rows; i++) {
        const real *logit = classes->data + (size_t)i * (size_t)classes->cols;
        int best = 0;
        double sum = 0;
        for (int c = 1; c < classes->cols; c++)
            best = logit[c] > logit[best] ? c : best;
        for (int c = 0; c < classes->cols; c++)
            sum += exp((double)logit[c] - (double)logit[best]);
        float probability = (float)(1 / sum);
        if (labels)
            append_text(labels, query_token(&model->domain, TOKEN_FIRST + best));
        if (probabilities)
            buf_append(probabilities, &probability, sizeof probability);
    }
    return STATUS_OK;
}

/* Appends the label as text, and the product of the probabilities of its tokens. */
static enum status append_label(struct inquiry *inquiry, struct buf *labels, struct buf *probabilities,
                                struct error *err)
{
    const struct method_model *model = inquiry->model;
    struct decoded decoded;
    double product = 1;
    struct network_memory memory = network_memory(&inquiry->exec, model->network, inquiry->motifs);
    enum status status = decode_greedy(&inquiry->exec, model->network, &memory, 1,
                                       sparling_decode_steps(&model->network->config), &decoded, err);
    if (status)
        return status;
    for (int i = 0; i < decoded.length + (decoded.ended ? 1 : 0); i++)
        product *= (double)decoded.probability[i];
    float probability = (float)product;
    if (labels)
        append_names(labels, &model->domain, &decoded);
    if (probabilities)
        buf_append(probabilities, &probability, sizeof probability);
    return STATUS_OK;
}

/* Appends the predicted numbers. */
static enum status append_numbers(struct inquiry *inquiry, struct buf *numbers, struct error *err)
{
    const struct network *network = inquiry->model->network;
    const struct tensor *standard = network_numbers(&inquiry->exec, inquiry->model->network, inquiry->motifs);
    enum status status = exec_status(&inquiry->exec, err);
    for (int k = 0; !status && k < standard->cols; k++) {
        float value = (float)network_number(network, k, (double)standard->data[k]);
        buf_append(numbers, &value, sizeof value);
    }
    return status;
}

enum status sparling_infer(const struct method_question *question, struct buf *const outputs[], struct error *err)
{
    struct inquiry inquiry;
    enum status status = inquiry_begin(question, question->input, &inquiry, err);
    if (!status && outputs[0])
        status = append_map(&inquiry, outputs[0], err);
    bool numbers = question->model->domain.shape.numbers > 0;
    if (!status && numbers && outputs[3])
        status = append_numbers(&inquiry, outputs[3], err);
    if (!status && !numbers && (outputs[1] || outputs[2]))
        status = question->model->domain.shape.positions ? append_classes(&inquiry, outputs[1], outputs[2], err)
                                                         : append_label(&inquiry, outputs[1], outputs[2], err);
    inquiry_close(&inquiry);
    return status;
}
