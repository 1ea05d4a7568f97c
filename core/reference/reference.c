/* The plain model: collects features and targets, fits both kinds, and keeps the better one. */
#include "core/reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/reference/letter_grams.h"
#include "core/reference/random_convolutions.h"
#include "core/reference/ridge.h"

enum { MOST_KERNELS = 2000, LEAST_KERNELS = 60, LEAST_SAMPLES = 100 };

/* Multiplications for the features of all samples (seconds of two cores), for one factorisation and its solutions, and
 * bytes of the features. With LEAST_KERNELS kernels, the features of many large samples may take up to `longest` times
 * as long. */
static const double most_work = 4e10, most_solving = 2.5e10, most_bytes = 128e6, longest = 10;

enum kind { LETTER_RUNS, RANDOM_CONVOLUTIONS };

struct reference {
    struct reference_shape shape;
    const struct kernels *kernels;
    struct thread_pool *pool;
    int outputs, total, columns;
    int added;
    struct random_convolutions *convolutions; /* NULL: texts with names; then `features` and `ridge` are NULL too */
    struct letter_grams *grams;               /* NULL: the samples are no sequences of symbols */
    struct ridge *ridge;
    real *features;      /* [total][columns] */
    real *target;        /* [total][outputs] numbers, or 1 and -1 */
    bool *truth;         /* [total][outputs] the names of the labels; NULL: numbers */
    real *answers;       /* [validation + test][outputs] of the ridge regression */
    const float *planes; /* during reference_add() */
    real *scratch;       /* during reference_add(): [workers][scratch] */
    bool *named;         /* [outputs] scratch of reference_answer() and choose() */
    bool grams_fitted;
    enum kind kind;
};

/* The last output of labels with at most one name means that there is no name. */
static int outputs_of(const struct reference_shape *s)
{
    return s->names > 0 ? s->names + s->exclusive : s->numbers;
}

static double samples_of(const struct reference_shape *s)
{
    double samples = 0;
    for (int i = 0; i < REFERENCE_PARTS; i++)
        samples += s->samples[i];
    return samples;
}

static bool only_letters(const struct reference_shape *s)
{
    return s->words > 0 && s->names > 0;
}

static int kernels_for(const struct reference_shape *s)
{
    if (only_letters(s))
        return 0;
    double samples = samples_of(s),
           by_work = most_work / (samples * random_convolutions_cost(s->channels, s->rows, s->cols)),
           by_bytes = most_bytes / (samples * 2 * sizeof(real)), by_solving = sqrt(most_solving / outputs_of(s)) / 2,
           count = fmin(fmin(MOST_KERNELS, by_solving), fmin(by_work, by_bytes));
    return (int)fmax(LEAST_KERNELS, count);
}

void reference_limit(struct reference_shape *s)
{
    static const int most[REFERENCE_PARTS] = {16000, 2000, 4000};
    for (int i = 0; i < REFERENCE_PARTS; i++)
        s->samples[i] = s->samples[i] < most[i] ? s->samples[i] : most[i];
    double work = samples_of(s) * LEAST_KERNELS * random_convolutions_cost(s->channels, s->rows, s->cols),
           share = longest * most_work / work;
    if (only_letters(s)) /* then the words of all samples are never too many for letter_grams.h */
        share = (double)LETTER_GRAMS_ENTRIES / (samples_of(s) * fmin(s->cols, s->words));
    bool few = s->samples[REFERENCE_TRAIN] < LEAST_SAMPLES;
    for (int i = 0; share < 1 && i < REFERENCE_PARTS; i++)
        s->samples[i] = (int)(share * s->samples[i]);
    if (share < 1 && (few || s->samples[REFERENCE_TRAIN] < LEAST_SAMPLES))
        memset(s->samples, 0, sizeof s->samples);
}

static bool may_have_letters(const struct reference_shape *s)
{
    return s->rows == 1 && (s->channels > 1 || s->words > 0) && s->names > 0;
}

size_t reference_bytes(const struct reference_shape *s)
{
    size_t columns = 2 * (size_t)kernels_for(s), total = (size_t)samples_of(s),
           train = (size_t)s->samples[REFERENCE_TRAIN];
    size_t outputs = (size_t)outputs_of(s), order = train < columns ? train : columns;
    return sizeof(real) * (total * (columns + 3 * outputs) + 2 * order * order + 3 * columns * outputs) +
           (may_have_letters(s) ? LETTER_GRAMS_BYTES : 0);
}

enum status reference_create(const struct reference_shape *shape, const struct kernels *kernels,
                             struct thread_pool *pool, struct reference **out, struct error *err)
{
    struct reference *r = calloc(1, sizeof *r);
    enum status status = STATUS_OK;
    *out = NULL;
    if (r == NULL)
        return error_memory(err, "the reference");
    r->shape = *shape;
    r->kernels = kernels;
    r->pool = pool;
    r->kind = RANDOM_CONVOLUTIONS;
    r->outputs = outputs_of(shape);
    r->total = (int)samples_of(shape);
    r->columns = 2 * kernels_for(shape);
    size_t cells = (size_t)r->total * (size_t)r->outputs;
    if (r->columns > 0)
        r->features = malloc((size_t)r->total * (size_t)r->columns * sizeof *r->features);
    r->target = calloc(cells, sizeof *r->target);
    r->answers = calloc(cells, sizeof *r->answers);
    r->named = calloc((size_t)r->outputs, sizeof *r->named);
    r->truth = shape->names > 0 ? calloc(cells, sizeof *r->truth) : NULL;
    if ((r->columns > 0 && !r->features) || !r->target || !r->answers || !r->named || (shape->names > 0 && !r->truth))
        status = error_memory(err, "the reference");
    if (!status && r->columns > 0)
        status = random_convolutions_create(shape->channels, shape->rows, shape->cols, shape->unordered, r->columns / 2,
                                            shape->seed, &r->convolutions, err);
    if (!status && may_have_letters(shape))
        status = letter_grams_create(shape->words > 0 ? shape->words : shape->channels, shape->words > 0,
                                     shape->unordered, shape->cols, r->outputs, shape->exclusive, pool, &r->grams, err);
    if (status) {
        reference_destroy(r);
        return status;
    }
    *out = r;
    return STATUS_OK;
}

void reference_destroy(struct reference *r)
{
    if (r == NULL)
        return;
    random_convolutions_destroy(r->convolutions);
    letter_grams_destroy(r->grams);
    ridge_destroy(r->ridge);
    free(r->features);
    free(r->target);
    free(r->truth);
    free(r->named);
    free(r->answers);
    free(r);
}

/* ---- samples ---------------------------------------------------------------------------------------------- */

static size_t plane_values(const struct reference *r)
{
    return (size_t)r->shape.channels * (size_t)r->shape.rows * (size_t)r->shape.cols;
}

static void sample_features(void *context, int chunk, int worker)
{
    struct reference *r = context;
    random_convolutions_features(r->convolutions, r->kernels, r->planes + (size_t)chunk * plane_values(r),
                                 r->scratch + (size_t)worker * random_convolutions_scratch(r->convolutions),
                                 r->features + (size_t)(r->added + chunk) * (size_t)r->columns);
}

/* Computes the features of `count` samples. */
static enum status add_features(struct reference *r, int count, struct error *err)
{
    size_t workers = (size_t)thread_pool_workers(r->pool, count);
    enum status status = STATUS_OK;
    r->scratch = malloc(workers * random_convolutions_scratch(r->convolutions) * sizeof *r->scratch);
    if (r->scratch == NULL)
        return error_memory(err, "the reference");
    if (!thread_pool_run(r->pool, sample_features, r, count))
        status = thread_pool_check(r->pool, err);
    free(r->scratch);
    return status;
}

enum status reference_add(struct reference *r, const float *planes, int count, struct error *err)
{
    r->planes = planes;
    enum status status = r->convolutions != NULL ? add_features(r, count, err) : STATUS_OK;
    for (int i = 0; !status && r->grams != NULL && i < count; i++) {
        bool letters;
        status = letter_grams_add(r->grams, planes + (size_t)i * plane_values(r), &letters, err);
        if (!status && !letters) {
            letter_grams_destroy(r->grams);
            r->grams = NULL;
        }
    }
    if (!status)
        r->added += count;
    return status;
}

void reference_label(struct reference *r, int sample, const int32_t *label, int length)
{
    size_t first = (size_t)sample * (size_t)r->outputs;
    for (int k = 0; k < length; k++)
        if (label[k] >= 0 && label[k] < r->shape.names)
            r->truth[first + (size_t)label[k]] = true;
    if (r->shape.exclusive)
        r->truth[first + (size_t)r->shape.names] = length == 0;
    for (size_t k = 0; k < (size_t)r->outputs; k++)
        r->target[first + k] = r->truth[first + k] ? 1 : -1;
}

void reference_numbers(struct reference *r, int sample, const float *numbers)
{
    for (int k = 0; k < r->outputs; k++)
        r->target[(size_t)sample * (size_t)r->outputs + (size_t)k] = (real)numbers[k];
}

/* ---- training --------------------------------------------------------------------------------------------- */

/* Writes the names for which the scores of the ridge regression speak. score: [outputs] */
static void names_of_scores(const struct reference *r, const real *score, bool *out)
{
    int best = 0;
    for (int k = 0; k < r->outputs; k++) {
        out[k] = !r->shape.exclusive && score[k] > 0;
        best = score[k] > score[best] ? k : best;
    }
    if (r->shape.exclusive)
        out[best] = true;
}

/* Writes the names of the ridge regression's answer to sample i of the validation and test parts. */
static void ridge_names(const struct reference *r, int i, bool *out)
{
    names_of_scores(r, r->answers + (size_t)i * (size_t)r->outputs, out);
}

/* Counts the validation samples that each kind answers wrongly, and keeps the better kind. */
static void choose(struct reference *r)
{
    int train = r->shape.samples[REFERENCE_TRAIN], wrong[2] = {0, 0};
    bool *out = r->named;
    for (int i = 0; i < r->shape.samples[REFERENCE_VALIDATION]; i++) {
        const bool *truth = r->truth + (size_t)(train + i) * (size_t)r->outputs;
        letter_grams_answer(r->grams, train + i, out);
        wrong[LETTER_RUNS] += memcmp(out, truth, (size_t)r->outputs * sizeof *out) != 0;
        ridge_names(r, i, out);
        wrong[RANDOM_CONVOLUTIONS] += memcmp(out, truth, (size_t)r->outputs * sizeof *out) != 0;
    }
    r->kind = wrong[LETTER_RUNS] <= wrong[RANDOM_CONVOLUTIONS] ? LETTER_RUNS : RANDOM_CONVOLUTIONS;
}

static enum status begin_ridge(struct reference *r, struct error *err)
{
    int train = r->shape.samples[REFERENCE_TRAIN];
    const struct ridge_rows rows = {train, r->features, r->target},
                            check = {r->shape.samples[REFERENCE_VALIDATION],
                                     r->features + (size_t)train * (size_t)r->columns,
                                     r->target + (size_t)train * (size_t)r->outputs};
    return ridge_create(&rows, &check, r->columns, r->outputs, r->kernels, r->pool, &r->ridge, err);
}

static void answer_all(struct reference *r)
{
    int train = r->shape.samples[REFERENCE_TRAIN], check = r->shape.samples[REFERENCE_VALIDATION];
    real *x = r->features + (size_t)train * (size_t)r->columns;
    ridge_predict(r->ridge, check, true, x, r->answers);
    ridge_predict(r->ridge, r->shape.samples[REFERENCE_TEST], false, x + (size_t)check * (size_t)r->columns,
                  r->answers + (size_t)check * (size_t)r->outputs);
}

enum status reference_step(struct reference *r, bool *done, struct error *err)
{
    bool finished = false;
    *done = false;
    if (r->grams != NULL && !r->grams_fitted)
        return letter_grams_step(r->grams, r->shape.samples[REFERENCE_TRAIN], r->shape.samples[REFERENCE_VALIDATION],
                                 r->truth, &r->grams_fitted, err);
    if (r->convolutions == NULL) {
        if (r->grams == NULL)
            return error_set(err, STATUS_LIMIT, NULL, "the texts have too many words for the reference");
        r->kind = LETTER_RUNS;
        *done = true;
        return STATUS_OK;
    }
    if (r->ridge == NULL)
        return begin_ridge(r, err);
    enum status status = ridge_step(r->ridge, &finished, err);
    if (status || !finished)
        return status;
    answer_all(r);
    *done = true;
    if (r->grams != NULL)
        choose(r);
    return STATUS_OK;
}

/* ---- answers ---------------------------------------------------------------------------------------------- */

const char *reference_kind(const struct reference *r)
{
    return r->kind == LETTER_RUNS ? "letter-runs" : "random-convolutions";
}

/* Lists the names of `named`; returns their number. */
static int list_names(const struct reference *r, int32_t *label)
{
    int length = 0;
    for (int k = 0; k < r->shape.names; k++)
        if (r->named[k])
            label[length++] = k;
    return length;
}

int reference_answer(const struct reference *r, int i, int32_t *label)
{
    int check = r->shape.samples[REFERENCE_VALIDATION];
    if (r->kind == LETTER_RUNS)
        letter_grams_answer(r->grams, r->shape.samples[REFERENCE_TRAIN] + check + i, r->named);
    else
        ridge_names(r, check + i, r->named);
    return list_names(r, label);
}

/* Computes the scores of the ridge regression for another sample. */
static enum status read_by_ridge(struct reference *r, const float *planes, struct error *err)
{
    size_t columns = (size_t)r->columns, outputs = (size_t)r->outputs;
    real *scratch = malloc((random_convolutions_scratch(r->convolutions) + columns + outputs) * sizeof *scratch);
    if (scratch == NULL)
        return error_memory(err, "the reference");
    real *features = scratch + random_convolutions_scratch(r->convolutions), *score = features + columns;
    random_convolutions_features(r->convolutions, r->kernels, planes, scratch, features);
    ridge_predict(r->ridge, 1, false, features, score);
    names_of_scores(r, score, r->named);
    free(scratch);
    return STATUS_OK;
}

enum status reference_read(struct reference *r, const float *planes, int32_t *label, int *length, struct error *err)
{
    enum status status =
        r->kind == LETTER_RUNS ? letter_grams_read(r->grams, planes, r->named, err) : read_by_ridge(r, planes, err);
    *length = status ? 0 : list_names(r, label);
    return status;
}

const real *reference_predicted(const struct reference *r, int i)
{
    return r->answers + (size_t)(r->shape.samples[REFERENCE_VALIDATION] + i) * (size_t)r->outputs;
}
