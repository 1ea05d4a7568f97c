/* DigitCircle as a domain of SPARLING (domain.h): digits on a circle, read counter-clockwise from the smallest. */
#include <math.h>
#include <stdlib.h>

#include "core/methods/sparling/config.h"

struct domain_state {
    struct digitcircle circle;
    int64_t curriculum;
};

static const char *const digits[DIGITCIRCLE_CLASSES] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

struct digitcircle digitcircle_of(const struct digitcircle_config *c)
{
    return (struct digitcircle){
        .image_size = (int)c->image_size,
        .classes = (int)c->classes,
        .min_symbols = (int)c->min_symbols,
        .max_symbols = (int)c->max_symbols,
        .shift = (int)c->shift,
        .margin = (int)c->margin,
        .min_radius = (int)c->min_radius,
        .max_radius = (int)c->max_radius,
        .pre_noise = c->pre_noise,
        .post_noise = c->post_noise,
    };
}

static void shape_of(const struct sparling_config *config, struct domain_shape *shape)
{
    const struct digitcircle_config *c = &config->digitcircle;
    *shape = (struct domain_shape){
        .channels = 1,
        .ink = true,
        .rows = (int)c->image_size,
        .cols = (int)c->image_size,
        .symbols = (int)c->classes,
        .tokens = (int)c->classes,
        .longest = (int)c->max_symbols,
        .boxes = (int)c->max_symbols,
    };
}

static void domain_digitcircle_check(const struct sparling_config *config, const struct method_faults *faults)
{
    struct digitcircle circle = digitcircle_of(&config->digitcircle);
    digitcircle_check(&circle, faults->context, faults->add);
}

static enum status open_circle(const struct sparling_config *config, const char *data, struct domain_state **state,
                               struct error *err)
{
    struct domain_state *s = malloc(sizeof *s);
    if (!s)
        return error_memory(err, "a domain");
    *s = (struct domain_state){digitcircle_of(&config->digitcircle), config->curriculum};
    *state = s;
    return STATUS_OK;
}

static void close_circle(struct domain_state *state)
{
    free(state);
}

/* The curriculum begins with zero or one digit in an image, where the label only says which digit is present. Images
 * without digits prevent the network from recognising a digit by the absence of all others. */
static struct digitcircle domain_digitcircle_lesson(const struct domain_state *state,
                                                    const struct domain_request *request)
{
    struct digitcircle circle = state->circle;
    if (request->set == DOMAIN_LESSON && request->seen < state->curriculum) {
        circle.min_symbols = 0;
        circle.max_symbols = 1 + (int)(request->seen * circle.max_symbols / state->curriculum);
    }
    return circle;
}

static enum status domain_digitcircle_sample(const struct domain_state *state, const struct domain_request *request,
                                             float *planes, struct domain_truth *truth, struct error *err)
{
    (void)err;
    struct digitcircle circle = domain_digitcircle_lesson(state, request);
    struct digitcircle_truth drawn;
    if (request->set == DOMAIN_EXAMPLE) /* the index is the seed of the generator, as in the authors' code */
        digitcircle_draw(&circle, (uint32_t)request->index, planes, &drawn);
    else
        digitcircle_sample(&circle, request->seed, request->index, planes, &drawn);
    if (!truth)
        return STATUS_OK;
    truth->length = truth->boxes = drawn.count;
    for (int i = 0; i < drawn.count; i++) {
        truth->label[i] = drawn.label[i];
        truth->box[i] = drawn.boxes[i];
    }
    return STATUS_OK;
}

static void single_shape(const struct sparling_config *config, struct domain_shape *shape)
{
    shape_of(config, shape);
    shape->rows = shape->cols = shape->picture_rows = DIGITCIRCLE_SINGLE;
    shape->longest = 1;
    shape->boxes = 0;
}

static enum status domain_digitcircle_single(const struct domain_state *state, const struct domain_request *request,
                                             float *planes, struct domain_truth *truth, struct error *err)
{
    int digit_drawn = digitcircle_single(&state->circle, request->seed, request->index, planes);
    if (truth) {
        truth->length = 1;
        truth->boxes = 0;
        truth->label[0] = digit_drawn;
    }
    return STATUS_OK;
}

/* Writes the label after the digit `from` is replaced by `to`; false if the image already contains `to`. The new label
 * starts at the smallest digit. */
static bool replace(const struct domain_state *state, const struct domain_truth *truth, int from, int to,
                    struct domain_truth *after)
{
    int least = 0;
    for (int i = 0; i < truth->length; i++) {
        if (truth->label[i] == to)
            return false;
        after->label[i] = truth->label[i] == from ? to : truth->label[i];
    }
    for (int i = 1; i < truth->length; i++)
        least = after->label[i] < after->label[least] ? i : least;
    int32_t turned[DIGITCIRCLE_CLASSES];
    for (int i = 0; i < truth->length; i++)
        turned[i] = after->label[(least + i) % truth->length];
    for (int i = 0; i < truth->length; i++)
        after->label[i] = turned[i];
    after->length = truth->length;
    return true;
}

/* Returns the mean number of digits in 1000 images, as the authors' code does. */
static double mean_symbols(const struct domain_state *state)
{
    struct digitcircle clean = digitcircle_without_noise(state->circle);
    float *image = malloc((size_t)clean.image_size * (size_t)clean.image_size * sizeof *image);
    double mean = image ? digitcircle_mean_symbols(&clean, 1000, image) : NAN;
    free(image);
    return mean;
}

static const char *digit(const struct domain_state *state, int symbol)
{
    return symbol >= 0 && symbol < state->circle.classes ? digits[symbol] : NULL;
}

static enum status domain_digitcircle_prepare(const struct domain_state *state, const struct method_input *input,
                                              float *planes, struct error *err)
{
    int size = state->circle.image_size;
    struct domain_shape shape = {.channels = 1, .rows = size, .cols = size};
    return domain_planes(&shape, input, 0, 1, "ink is 1", planes, err);
}

const struct domain digitcircle_domain = {
    .name = "digitcircle",
    .meaning = "Digits on a circle in a noisy binary image, read counter-clockwise from the smallest.",
    .drawing = DOMAIN_DISTINCT,
    DOMAIN_PART(digitcircle),
    .shape = shape_of,
    .check = domain_digitcircle_check,
    .open = open_circle,
    .close = close_circle,
    .sample = domain_digitcircle_sample,
    .single_shape = single_shape,
    .single = domain_digitcircle_single,
    .replace = replace,
    .mean_symbols = mean_symbols,
    .symbol = digit,
    .token = digit,
    .prepare = domain_digitcircle_prepare,
};
