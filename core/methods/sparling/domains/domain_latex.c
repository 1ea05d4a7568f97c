/* LaTeX-OCR as a domain of SPARLING (domain.h): noisy images of formulas, read as LaTeX source. */
#include <stdlib.h>

#include "core/data/latex/latex_single.h"
#include "core/methods/sparling/config.h"

struct domain_state {
    struct latex latex;
    struct latex_font *font;
    struct latex_crops *crops; /* NULL if no samples of single characters are requested */
    int64_t curriculum;
};

enum {
    LABELS = LATEX_VOCABULARY - 2, /* number of tokens without START and END, which the method adds itself */
    TEST_SET = -2,
    CROP_SET = -10, /* seed of the formulas from which single characters are cropped */
    CROP_FORMULAS = 10000
};

struct latex latex_of(const struct latex_config *c)
{
    return (struct latex){
        .rows = (int)c->rows,
        .cols = (int)c->cols,
        .dpi = c->dpi,
        .min_tokens = (int)c->min_tokens,
        .max_tokens = (int)c->max_tokens,
        .symbols = (int)c->symbols,
        .noise = c->noise,
        .margin = (int)c->margin,
    };
}

static void shape_of(const struct sparling_config *config, struct domain_shape *shape)
{
    const struct latex_config *c = &config->latex;
    *shape = (struct domain_shape){
        .channels = 1,
        .ink = true,
        .rows = (int)c->rows,
        .cols = (int)c->cols,
        .symbols = LATEX_CLASSES,
        .tokens = LABELS,
        .longest = (int)c->max_tokens,
        .boxes = (int)c->max_tokens,
    };
}

static void domain_latex_check(const struct sparling_config *config, const struct method_faults *faults)
{
    const struct latex_config *c = &config->latex;
    if (c->min_tokens > c->max_tokens)
        method_fault(faults, "latex_min_tokens", "must not exceed latex_max_tokens (%.0f); got %.0f",
                     (double)c->max_tokens, (double)c->min_tokens);
}

static void close_latex(struct domain_state *state)
{
    if (!state)
        return;
    latex_crops_destroy(state->crops);
    latex_font_destroy(state->font);
    free(state);
}

static enum status open_latex(const struct sparling_config *config, const char *data, struct domain_state **state,
                              struct error *err)
{
    struct domain_state *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err, "a domain");
    s->latex = latex_of(&config->latex);
    s->curriculum = config->curriculum;
    enum status status = latex_font_create(s->latex.dpi, NULL, &s->font, err);
    if (!status && (config->objective == OBJECTIVE_SINGLE_MOTIFS || config->single_samples > 0))
        status = latex_crops_create(&s->latex, s->font, CROP_SET, CROP_FORMULAS, &s->crops, err);
    if (status) {
        close_latex(s);
        return status;
    }
    *state = s;
    return STATUS_OK;
}

/* The curriculum begins with zero or one character in an image, where the label only says which one is present. */
static struct latex domain_latex_lesson(const struct domain_state *state, const struct domain_request *request)
{
    struct latex latex = state->latex;
    if (request->set == DOMAIN_LESSON && request->seen < state->curriculum) {
        latex.min_tokens = 0;
        latex.max_tokens = 1 + (int)(request->seen * latex.max_tokens / state->curriculum);
    }
    return latex;
}

/* Draws a sample. DOMAIN_EXAMPLE stands for the test set, because the authors' code computes motif errors on it. */
static enum status domain_latex_sample(const struct domain_state *state, const struct domain_request *request,
                                       float *planes, struct domain_truth *truth, struct error *err)
{
    (void)err;
    struct latex latex = domain_latex_lesson(state, request);
    struct latex_truth drawn;
    latex_sample(&latex, state->font, request->set == DOMAIN_EXAMPLE ? TEST_SET : request->seed, request->index, planes,
                 &drawn);
    if (!truth)
        return STATUS_OK;
    truth->length = drawn.length;
    truth->boxes = drawn.count;
    for (int i = 0; i < drawn.length; i++)
        truth->label[i] = drawn.tokens[i] - LATEX_PLUS;
    for (int i = 0; i < drawn.count; i++)
        truth->box[i] = drawn.boxes[i];
    return STATUS_OK;
}

static void single_shape(const struct sparling_config *config, struct domain_shape *shape)
{
    shape_of(config, shape);
    shape->rows = shape->cols = shape->picture_rows = latex_single_side(config->latex.dpi);
    shape->longest = 1;
    shape->boxes = 0;
}

static enum status domain_latex_single(const struct domain_state *state, const struct domain_request *request,
                                       float *planes, struct domain_truth *truth, struct error *err)
{
    if (!state->crops)
        return error_set(err, STATUS_INTERNAL, NULL, "the domain was opened without single-character samples");
    int class = latex_single(&state->latex, state->crops, request->seed, request->index, planes);
    if (truth) {
        truth->length = 1;
        truth->boxes = 0;
        truth->label[0] = latex_single_symbol(class);
    }
    return STATUS_OK;
}

/* Returns the mean number of symbols in 200 formulas, as the authors' code does. */
static double mean_symbols(const struct domain_state *state)
{
    return latex_mean_characters(&state->latex, 200);
}

static const char *symbol_name(const struct domain_state *state, int symbol)
{
    (void)state;
    return symbol >= 0 && symbol < LATEX_CLASSES ? latex_class_name(symbol) : NULL;
}

/* Returns the LaTeX source of a token. The sources of all tokens of a label, one after another, are the formula. */
static const char *token_name(const struct domain_state *state, int token)
{
    (void)state;
    return token >= 0 && token < LABELS ? latex_token_source(LATEX_PLUS + token) : NULL;
}

static enum status domain_latex_prepare(const struct domain_state *state, const struct method_input *input,
                                        float *planes, struct error *err)
{
    struct domain_shape shape = {.channels = 1, .rows = state->latex.rows, .cols = state->latex.cols};
    return domain_planes(&shape, input, 0, 1, "paper is 1, ink is 0", planes, err);
}

static void domain_latex_grey(const struct domain_state *state, const float *planes, float *grey)
{
    for (int i = 0; i < state->latex.rows * state->latex.cols; i++)
        grey[i] = 1 - planes[i];
}

const struct domain latex_domain = {
    .name = "latex",
    .meaning = "Noisy images of formulas in TeX's layout, read as LaTeX source.",
    .majority = true,
    DOMAIN_PART(latex),
    .shape = shape_of,
    .check = domain_latex_check,
    .open = open_latex,
    .close = close_latex,
    .sample = domain_latex_sample,
    .single_shape = single_shape,
    .single = domain_latex_single,
    .mean_symbols = mean_symbols,
    .symbol = symbol_name,
    .token = token_name,
    .prepare = domain_latex_prepare,
    .grey = domain_latex_grey,
};
