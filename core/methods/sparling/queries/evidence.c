/* Answers the query "evidence": whether the marked extents of a name are what the model reads it from.
 *
 * An input counts for a name if its label has the name, the model reads it, and a channel of the name has a mark in it.
 * Four changed inputs are read:
 *   sufficient   only the marked extents stay; the rest comes from another input, whose label lacks the name
 *   necessary    the marked extents come from that input; the rest stays
 * and the same two with random extents of the same sizes, as a control. The share of `sufficient` counts the inputs in
 * which the model still reads the name, that of `necessary` those in which it does not.
 *
 * Background comes from the same positions of the other input, so it has the statistics of the data, also at edges and
 * in padding. The random numbers follow from the seed, the input and the name, and one thread computes, so the same
 * request gives the same bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/methods/sparling/queries/query_model.h"
#include "core/metrics/interval.h"

/* The four changes of an input. */
enum change { KEEP_MARKED, FILL_MARKED, KEEP_RANDOM, FILL_RANDOM, CHANGES };
/* BOXES: largest number of extents of a name in an input that are changed. */
enum { BOXES = 256, STREAM_EVIDENCE = 0x4556, FEW = 10 };

struct name_count {
    int64_t inputs; /* inputs that count */
    int64_t unread,
        unmarked; /* inputs with the name that the model does not read; those that it reads without a mark */
    int64_t changed[CHANGES]; /* inputs for which a change had the effect that it counts */
};

struct evidence {
    const struct method_question *question;
    struct inquiry inquiry; /* its planes: the input that the model reads */
    float *original;
    size_t values; /* number of values of an input */
    struct method_input *inputs;
    size_t count;
    unsigned char *has;      /* [count][tokens] whether the label of an input has a name */
    struct name_count *name; /* [tokens] */
    unsigned char *mask;     /* [positions] */
};

static enum status no_memory(struct error *err)
{
    return error_memory(err, "the evidence of names");
}

/* ---- inputs --------------------------------------------------------------------------------------------- */

static enum status draw(struct evidence *e, size_t index, float *planes, struct domain_truth *truth, struct error *err)
{
    const struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = e->inputs[index].seed};
    return domain_sample(&e->question->model->domain, &request, planes, truth, err);
}

/* Reads the labels of all inputs. */
static enum status read_labels(struct evidence *e, struct error *err)
{
    size_t tokens = (size_t)e->question->model->domain.shape.tokens;
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < e->count; i++) {
        const struct domain_truth *truth = e->inquiry.truth;
        status = draw(e, i, e->original, e->inquiry.truth, err);
        for (int k = 0; !status && k < truth->length; k++)
            if (truth->label[k] >= 0 && (size_t)truth->label[k] < tokens)
                e->has[i * tokens + (size_t)truth->label[k]] = 1;
    }
    return status;
}

/* Computes what the model says about inquiry->planes. The caller closes the annotation. */
static enum status annotate(struct evidence *e, struct annotation *out, struct error *err)
{
    const struct method_model *model = e->question->model;
    const struct channel_report report = {model->names, &model->places};
    return annotation_make(&e->inquiry.exec, model->network, &model->domain, &report, e->inquiry.planes, NULL, out,
                           err);
}

static bool reads(const struct annotation *a, int token)
{
    for (int i = 0; i < a->decoded.length; i++)
        if (a->decoded.tokens[i] == TOKEN_FIRST + token)
            return true;
    return false;
}

static bool is_named(const struct method_model *model, int channel, int token)
{
    const struct channel_name *name = &model->names[channel];
    for (int64_t k = 0; k < name->names; k++)
        if (name->token[k] == token)
            return true;
    return false;
}

/* The extents of the marks of a name; a channel without an extent has its footprint. */
static int find_boxes(const struct evidence *e, const struct annotation *a, int token, struct box *boxes)
{
    const struct method_model *model = e->question->model;
    int count = 0, half = model->network->map.reach / 2;
    for (int i = 0; i < a->count && count < BOXES; i++) {
        const struct motif *at = &a->motifs[i].at;
        struct box box = {0};
        if (!a->motifs[i].maximal || !is_named(model, at->channel, token))
            continue;
        if (!annotation_extent(a, at, &box))
            box = (struct box){.row0 = at->row > half ? at->row - half : 0,
                               .row1 = at->row + half < a->rows ? at->row + half + 1 : a->rows,
                               .col0 = at->col > half ? at->col - half : 0,
                               .col1 = at->col + half < a->cols ? at->col + half + 1 : a->cols};
        boxes[count++] = box;
    }
    return count;
}

/* ---- changes ------------------------------------------------------------------------------------------- */

/* Moves a side of a box to a random place. */
static void shift(int *from, int *to, int whole, float random)
{
    int length = *to - *from, room = whole - length;
    *from = (int)((float)(room + 1) * random);
    *from = *from > room ? room : *from;
    *to = *from + length;
}

static void fill_mask(struct evidence *e, const struct box *boxes, int count, const struct philox *random)
{
    const struct domain_shape *shape = &e->question->model->domain.shape;
    memset(e->mask, 0, domain_positions(shape));
    for (int i = 0; i < count; i++) {
        struct box box = boxes[i];
        if (random) {
            shift(&box.row0, &box.row1, shape->rows, philox_uniform(random, (uint64_t)(2 * i + 2)));
            shift(&box.col0, &box.col1, shape->cols, philox_uniform(random, (uint64_t)(2 * i + 3)));
        }
        for (int r = box.row0; r < box.row1; r++)
            memset(e->mask + (size_t)r * (size_t)shape->cols + (size_t)box.col0, 1, (size_t)(box.col1 - box.col0));
    }
}

/* Makes a changed input in inquiry->planes, which holds the background. */
static void blend(struct evidence *e, bool keep)
{
    size_t positions = domain_positions(&e->question->model->domain.shape);
    for (size_t i = 0; i < e->values; i++)
        if ((e->mask[i % positions] != 0) == keep)
            e->inquiry.planes[i] = e->original[i];
}

/* Chooses an input whose label lacks the name. Returns e->count if there is none. */
static size_t choose_background(const struct evidence *e, int token, const struct philox *random)
{
    size_t tokens = (size_t)e->question->model->domain.shape.tokens, first = philox_u32(random, 0) % e->count;
    for (size_t i = 0; i < e->count; i++) {
        size_t at = (first + i) % e->count;
        if (!e->has[at * tokens + (size_t)token])
            return at;
    }
    return e->count;
}

/* Reads the four changed inputs for one name. */
static enum status change(struct evidence *e, size_t index, int token, const struct box *boxes, int count,
                          struct error *err)
{
    const struct evidence_parameters *asked = e->question->parameters;
    const struct philox random =
        philox_stream((uint64_t)asked->seed, STREAM_EVIDENCE + (uint32_t)token, (uint64_t)e->inputs[index].seed);
    struct name_count *name = &e->name[token];
    size_t background = choose_background(e, token, &random);
    enum status status = STATUS_OK;
    if (background == e->count)
        return STATUS_OK;
    name->inputs++;
    for (int k = 0; !status && k < CHANGES; k++) {
        struct annotation after = {.motifs = NULL};
        bool keep = k == KEEP_MARKED || k == KEEP_RANDOM;
        status = draw(e, background, e->inquiry.planes, NULL, err);
        if (status)
            return status;
        fill_mask(e, boxes, count, k >= KEEP_RANDOM ? &random : NULL);
        blend(e, keep);
        status = annotate(e, &after, err);
        if (!status)
            name->changed[k] += reads(&after, token) == keep;
        annotation_close(&after);
    }
    return status;
}

/* Reads one input, and changes it for each of its names. */
static enum status add_input(struct evidence *e, size_t index, struct error *err)
{
    const struct evidence_parameters *asked = e->question->parameters;
    const int tokens = e->question->model->domain.shape.tokens;
    struct annotation before = {.motifs = NULL};
    struct box boxes[BOXES];
    enum status status = draw(e, index, e->original, NULL, err);
    if (status)
        return status;
    memcpy(e->inquiry.planes, e->original, e->values * sizeof *e->original);
    status = annotate(e, &before, err);
    for (int t = 0; !status && t < tokens; t++) {
        if (!e->has[index * (size_t)tokens + (size_t)t] || e->name[t].inputs >= asked->per_name)
            continue;
        int count = find_boxes(e, &before, t, boxes);
        if (!reads(&before, t))
            e->name[t].unread++;
        else if (count == 0)
            e->name[t].unmarked++;
        else
            status = work_check(e->question->work, err);
        if (!status && reads(&before, t) && count > 0)
            status = change(e, index, t, boxes, count, err);
    }
    annotation_close(&before);
    return status;
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

static struct interval interval_of(const struct name_count *name, enum change change)
{
    return interval_share((double)name->changed[change] / (double)name->inputs, (double)name->inputs, 1.96);
}

static void write_share(const char *key, const struct name_count *name, enum change change, const struct sink *out)
{
    struct interval interval = interval_of(name, change);
    sink_begin_object(out, key);
    sink_number(out, "share", (double)name->changed[change] / (double)name->inputs);
    sink_number(out, "low", interval.low);
    sink_number(out, "high", interval.high);
    sink_end_object(out);
}

static void write_finding(const char *code, const char *format, const char *name, double share, const struct sink *out)
{
    char text[400];
    (void)snprintf(text, sizeof text, format, name, 100 * share);
    sink_begin_object(out, NULL);
    sink_text(out, "code", code);
    sink_text(out, "text", text);
    sink_end_object(out);
}

/* Whether the marked extents have the effect clearly more often than random ones. */
static bool beats_control(const struct name_count *n, enum change marked, enum change random)
{
    double count = (double)n->inputs;
    return interval_difference((double)n->changed[marked] / count, count, (double)n->changed[random] / count, count,
                               1.96)
               .low > 0;
}

static void write_findings(const struct name_count *n, const char *name, const struct sink *out)
{
    static const double SUFFICIENT = 0.8, NECESSARY = 0.5;
    double count = (double)n->inputs;
    bool enough = n->inputs >= FEW, insufficient = enough && interval_of(n, KEEP_MARKED).high < SUFFICIENT,
         unneeded = enough && interval_of(n, FILL_MARKED).high < NECESSARY;
    sink_begin_list(out, "findings");
    if (insufficient)
        write_finding(
            "not-sufficient",
            "the marks of %s alone let the model read it in %.0f %% of the inputs; it needs something else too", name,
            (double)n->changed[KEEP_MARKED] / count, out);
    if (unneeded)
        write_finding(
            "not-necessary",
            "without the marks of %s the model still reads it in %.0f %% of the inputs; so much of its evidence "
            "is elsewhere",
            name, 1 - (double)n->changed[FILL_MARKED] / count, out);
    if (insufficient && unneeded && !beats_control(n, KEEP_MARKED, KEEP_RANDOM) &&
        !beats_control(n, FILL_MARKED, FILL_RANDOM))
        write_finding("beside",
                      "the marks of %s tell the model no more than random extents of the same size (%.0f %%); they lie "
                      "beside the evidence",
                      name, (double)n->changed[KEEP_RANDOM] / count, out);
    sink_end_list(out);
}

static void write_name(const struct name_count *n, const char *name, const struct sink *out)
{
    sink_begin_object(out, NULL);
    sink_text(out, "name", name);
    sink_integer(out, "inputs", n->inputs);
    sink_integer(out, "unread", n->unread);
    sink_integer(out, "unmarked", n->unmarked);
    if (n->inputs > 0) {
        write_share("sufficient", n, KEEP_MARKED, out);
        write_share("necessary", n, FILL_MARKED, out);
        sink_begin_object(out, "control");
        write_share("sufficient", n, KEEP_RANDOM, out);
        write_share("necessary", n, FILL_RANDOM, out);
        sink_end_object(out);
    } else {
        sink_null(out, "sufficient");
        sink_null(out, "necessary");
        sink_null(out, "control");
    }
    write_findings(n, name, out);
    sink_end_object(out);
}

static void write_names(const struct evidence *e, const struct sink *out)
{
    const struct open_domain *domain = &e->question->model->domain;
    sink_begin_list(out, "names");
    for (int t = 0; t < domain->shape.tokens; t++)
        if (e->name[t].inputs + e->name[t].unread + e->name[t].unmarked > 0)
            write_name(&e->name[t], domain->domain->token(domain->state, t), out);
    sink_end_list(out);
}

/* Why nothing can be measured; NULL: it can. */
static const char *refuse(const struct method_model *model)
{
    const struct open_domain *d = &model->domain;
    if (d->shape.numbers > 0)
        return "targets are numbers, so no label has a name that the model reads or does not read";
    if (d->shape.positions)
        return "labels are classes of positions, so channels have no names";
    if (d->domain->counts && d->shape.tokens > 0 && d->domain->counts(d->state, 0) >= 0)
        return "labels are counts, which no single extent decides";
    if (!model->names)
        return "this checkpoint has no names of channels, because no evaluation of the job had ended";
    return NULL;
}

static enum status open_evidence(struct evidence *e, struct error *err)
{
    const struct method_model *model = e->question->model;
    const struct evidence_parameters *asked = e->question->parameters;
    const struct domain_shape *shape = &model->domain.shape;
    size_t tokens = (size_t)shape->tokens;
    enum status status = query_test_samples(&model->domain, asked->samples, &e->inputs, &e->count, err);
    if (status)
        return status;
    e->values = domain_inputs(shape);
    e->inquiry = (struct inquiry){.question = e->question, .planes = calloc(e->values, sizeof(float))};
    e->original = calloc(e->values, sizeof *e->original);
    e->has = calloc(e->count * tokens + 1, 1);
    e->name = calloc(tokens + 1, sizeof *e->name);
    e->mask = calloc(domain_positions(shape), 1);
    if (!e->inquiry.planes || !e->original || !e->has || !e->name || !e->mask)
        return no_memory(err);
    status = domain_truths_create(shape, 1, &e->inquiry.truth, err);
    return status ? status : inquiry_ready(model, &e->inquiry, err);
}

enum status sparling_evidence(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct evidence_parameters *asked = question->parameters;
    const char *why = refuse(question->model);
    struct evidence e = {.question = question};
    enum status status = why ? STATUS_OK : open_evidence(&e, err);
    if (!status && !why)
        status = read_labels(&e, err);
    for (size_t i = 0; !status && i < e.count; i++) {
        status = i > 0 ? work_yield(question->work, err) : STATUS_OK;
        if (!status)
            status = add_input(&e, i, err);
    }
    if (!status) {
        sink_integer(out, "samples", (int64_t)e.count);
        sink_integer(out, "seed", asked->seed);
        sink_text(out, "judge", "model");
        if (why) {
            sink_null(out, "names");
            sink_text(out, "why", why);
        } else {
            write_names(&e, out);
        }
    }
    inquiry_close(&e.inquiry);
    free(e.original);
    free(e.inputs);
    free(e.has);
    free(e.name);
    free(e.mask);
    return status;
}
