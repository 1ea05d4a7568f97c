/* The list of domains, and functions that work for every domain (domain.h). */
#include "core/methods/sparling/domains/domain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/config.h"

#define DECLARE(name) extern const struct domain name##_domain;
SPARLING_DOMAINS(DECLARE)

#define ENTRY(name) &name##_domain,
static const struct domain *const all[] = {SPARLING_DOMAINS(ENTRY)};

const struct domain *const *domains_all(size_t *count)
{
    *count = sizeof all / sizeof all[0];
    return all;
}

const struct domain *domain_of(const struct sparling_config *config)
{
    return all[config->domain];
}

struct domain_shape domain_shape(const struct sparling_config *config)
{
    struct domain_shape shape = {0};
    domain_of(config)->shape(config, &shape);
    if (shape.picture_rows == 0)
        shape.picture_rows = shape.rows;
    return shape;
}

size_t domain_positions(const struct domain_shape *shape)
{
    return (size_t)shape->rows * (size_t)shape->cols;
}

int domain_planes_read(const struct domain_shape *shape)
{
    return shape->words > 0 ? shape->words : shape->channels;
}

size_t domain_inputs(const struct domain_shape *shape)
{
    return (size_t)shape->channels * domain_positions(shape);
}

enum status domain_open(const struct sparling_config *config, const char *data, struct open_domain *domain,
                        struct error *err)
{
    *domain = (struct open_domain){.domain = domain_of(config), .shape = domain_shape(config)};
    return domain->domain->open(config, data, &domain->state, err);
}

void domain_close(struct open_domain *domain)
{
    if (domain->state)
        domain->domain->close(domain->state);
    domain->state = NULL;
}

struct open_domain domain_single(const struct sparling_config *config, const struct open_domain *domain)
{
    struct open_domain single = *domain;
    domain->domain->single_shape(config, &single.shape);
    single.single = true;
    return single;
}

enum status domain_sample(const struct open_domain *domain, const struct domain_request *request, float *planes,
                          struct domain_truth *truth, struct error *err)
{
    const struct domain *table = domain->domain;
    return (domain->single ? table->single : table->sample)(domain->state, request, planes, truth, err);
}

int domain_cluster(const struct open_domain *domain, const struct domain_request *request)
{
    return domain->domain->cluster ? domain->domain->cluster(domain->state, request) : 0;
}

int64_t domain_groups(const struct open_domain *domain)
{
    return domain->domain->test_groups ? domain->domain->test_groups(domain->state) : 0;
}

enum status domain_truths_create(const struct domain_shape *shape, int count, struct domain_truth **truths,
                                 struct error *err)
{
    size_t n = (size_t)count, boxes = (size_t)shape->boxes, longest = (size_t)shape->longest,
           numbers = (size_t)shape->numbers;
    struct domain_truth *t =
        calloc(1, n * (sizeof *t + boxes * sizeof *t->box + longest * sizeof *t->label + numbers * sizeof *t->number));
    if (!t)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the truths of %d samples", count);
    struct box *box = (struct box *)(t + n);
    int32_t *label = (int32_t *)(box + n * boxes);
    float *number = (float *)(void *)(label + n * longest);
    for (size_t i = 0; i < n; i++) {
        t[i].box = box + i * boxes;
        t[i].label = label + i * longest;
        t[i].number = number + i * numbers;
    }
    *truths = t;
    return STATUS_OK;
}

void domain_truths_destroy(struct domain_truth *truths)
{
    free(truths);
}

/* Whether an array has the sizes of an input. *last: its channels come last. */
static bool fits(const struct domain_shape *s, const struct method_input *input, bool *last)
{
    const int64_t *d = input->dim;
    int rank = input->rank;
    *last = false;
    if (s->channels == 1 && rank == 2 && d[0] == s->rows && d[1] == s->cols)
        return true;
    if (s->channels == 1 && s->rows == 1 && rank == 1 && d[0] == s->cols)
        return true;
    if (rank == 3 && d[0] == s->channels && d[1] == s->rows && d[2] == s->cols)
        return true;
    *last = true;
    if (rank == 3 && d[0] == s->rows && d[1] == s->cols && d[2] == s->channels)
        return true;
    return s->rows == 1 && rank == 2 && d[0] == s->cols && d[1] == s->channels;
}

/* Whether an array is a sequence with channels first that is shorter than an input. */
static bool shorter(const struct domain_shape *s, const struct method_input *input)
{
    const int64_t *d = input->dim;
    return s->rows == 1 && s->channels > 1 && input->rank == 3 && d[0] == s->channels && d[1] == 1 && d[2] > 0 &&
           d[2] < s->cols;
}

static enum status outside(double low, double high, const char *what, size_t at, double value, struct error *err)
{
    return error_set(err, STATUS_INVALID, "/array", "values must be in [%g, %g] (%s); element %zu is %g", low, high,
                     what, at, value);
}

/* Fills the planes from a shorter sequence, with zeros after its end. */
static enum status domain_pad(const struct domain_shape *shape, const struct method_input *input, double low,
                              double high, const char *what, float *planes, struct error *err)
{
    size_t cols = (size_t)shape->cols, length = (size_t)input->dim[2];
    memset(planes, 0, domain_inputs(shape) * sizeof *planes);
    for (size_t i = 0; i < (size_t)shape->channels * length; i++) {
        double value = (double)input->values[i];
        if (!(value >= low && value <= high))
            return outside(low, high, what, i, value, err);
        planes[i / length * cols + i % length] = input->values[i];
    }
    return STATUS_OK;
}

/* Whether an array is a colour picture [3][rows][cols] for a model that reads one channel, or a grey one [rows][cols]
 * for a model that reads three. */
static bool other_colours(const struct domain_shape *s, const struct method_input *input)
{
    const int64_t *d = input->dim;
    if (s->rows <= 1)
        return false;
    if (s->channels == 1)
        return input->rank == 3 && d[0] == 3 && d[1] == s->rows && d[2] == s->cols;
    return s->channels == 3 && input->rank == 2 && d[0] == s->rows && d[1] == s->cols;
}

/* Fills one plane with the grey values of three, or three planes with the values of one. */
static enum status recolour(const struct domain_shape *shape, const struct method_input *input, double low, double high,
                            const char *what, float *planes, struct error *err)
{
    static const double luma[] = {0.2126, 0.7152, 0.0722};
    size_t size = domain_positions(shape), given = (shape->channels == 1 ? 3 : 1) * size;
    for (size_t i = 0; i < given; i++) {
        double value = (double)input->values[i];
        if (!(value >= low && value <= high))
            return outside(low, high, what, i, value, err);
    }
    for (size_t i = 0; i < size; i++) {
        double grey = (double)input->values[i];
        for (size_t k = 0; shape->channels == 1 && k < 3; k++)
            grey = (k > 0 ? grey : 0) + luma[k] * (double)input->values[k * size + i];
        for (int k = 0; k < shape->channels; k++)
            planes[(size_t)k * size + i] = (float)grey;
    }
    return STATUS_OK;
}

/* Refuses an input of the wrong shape. If its first axis seems to count inputs, the message says how to send them. */
static enum status misfit(const struct domain_shape *shape, const struct method_input *input, struct error *err)
{
    char got[80] = "", many[80] = "";
    struct method_input one = *input;
    bool last;
    for (int d = 0; d < input->rank; d++)
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%lld", d > 0 ? " x " : "",
                       (long long)input->dim[d]);
    one.rank--;
    for (int d = 0; d < one.rank; d++)
        one.dim[d] = input->dim[d + 1];
    if (input->rank > 1 && (fits(shape, &one, &last) || other_colours(shape, &one)))
        (void)snprintf(many, sizeof many, "; if these are %lld inputs, use batch=1 (motifctl: --batch)",
                       (long long)input->dim[0]);
    return error_set(err, STATUS_INVALID, "/array",
                     "must have %d rows, %d columns and %d channel%s (an input of %d x %d); got %s%s", shape->rows,
                     shape->cols, shape->channels, shape->channels == 1 ? "" : "s", shape->rows, shape->cols, got,
                     many);
}

enum status domain_planes(const struct domain_shape *shape, const struct method_input *input, double low, double high,
                          const char *what, float *planes, struct error *err)
{
    if (other_colours(shape, input))
        return recolour(shape, input, low, high, what, planes, err);
    size_t count = domain_inputs(shape), positions = domain_positions(shape), channels = (size_t)shape->channels;
    bool last = false;
    if (!shorter(shape, input) && !fits(shape, input, &last))
        return misfit(shape, input, err);
    if (shorter(shape, input))
        return domain_pad(shape, input, low, high, what, planes, err);
    for (size_t i = 0; i < count; i++) {
        double value = (double)input->values[i];
        if (!(value >= low && value <= high))
            return outside(low, high, what, i, value, err);
        planes[last ? i % channels * positions + i / channels : i] = input->values[i];
    }
    return STATUS_OK;
}

void domain_label(const struct open_domain *domain, const int32_t *label, int length, char *out, size_t room)
{
    size_t at = 0;
    out[0] = 0;
    for (int i = 0; i < length && at < room; i++) {
        const char *name = domain->domain->token(domain->state, label[i]);
        int wrote = snprintf(out + at, room - at, "%s", name ? name : "?");
        at += wrote > 0 ? (size_t)wrote : 0;
    }
}

const struct alphabet *domain_alphabet(const struct open_domain *domain)
{
    return domain->domain->alphabet ? domain->domain->alphabet(domain->state) : NULL;
}
