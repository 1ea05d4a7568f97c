/* Changes inputs of the test part and counts how the judges read them (sufficiency.h). */
#include "core/methods/sparling/error_rate/sufficiency.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/methods/sparling/queries/query_model.h"
#include "core/metrics/interval.h"

/* BOXES: largest number of extents of a name in an input that are changed. FEW: with fewer inputs there is no finding.
 */
enum { BOXES = 256, STREAM_EVIDENCE = 0x4556, FEW = 10 };

struct sufficiency {
    const struct sufficiency_request *request;
    struct sufficiency_name *name; /* [tokens] borrowed */
    struct method_input *inputs;
    size_t count, tokens, values; /* numbers of inputs, of names, and of the values of an input */
    unsigned char *has;           /* [count][tokens] whether the label of an input has a name */
    float *original, *changed;    /* [values] the input, and what the judges read */
    unsigned char *mask;          /* [positions] */
    int32_t *answer;              /* [tokens] of the reference */
    struct domain_truth *truth;
};

static enum status no_memory(struct error *err)
{
    return error_memory(err, "the evidence of names");
}

/* ---- inputs --------------------------------------------------------------------------------------------- */

const char *sufficiency_refuse(const struct open_domain *d)
{
    if (d->shape.numbers > 0)
        return "targets are numbers, so no label has a name that the model reads or does not read";
    if (d->shape.positions)
        return "labels are classes of positions, so channels have no names";
    if (d->domain->counts && d->shape.tokens > 0 && d->domain->counts(d->state, 0) >= 0)
        return "labels are counts, which no single extent decides";
    return NULL;
}

static enum status draw(struct sufficiency *s, size_t index, float *planes, struct domain_truth *truth,
                        struct error *err)
{
    const struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = s->inputs[index].seed};
    return domain_sample(s->request->domain, &request, planes, truth, err);
}

/* Reads the labels of all inputs. */
static enum status read_labels(struct sufficiency *s, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < s->count; i++) {
        status = draw(s, i, s->original, s->truth, err);
        for (int k = 0; !status && k < s->truth->length; k++)
            if (s->truth->label[k] >= 0 && (size_t)s->truth->label[k] < s->tokens)
                s->has[i * s->tokens + (size_t)s->truth->label[k]] = 1;
    }
    return status;
}

enum status sufficiency_open(const struct sufficiency_request *request, struct sufficiency_name *name,
                             struct sufficiency **out, int64_t *samples, struct error *err)
{
    const struct domain_shape *shape = &request->domain->shape;
    struct sufficiency *s = *out = calloc(1, sizeof *s);
    if (!s)
        return no_memory(err);
    *s = (struct sufficiency){
        .request = request, .name = name, .tokens = (size_t)shape->tokens, .values = domain_inputs(shape)};
    enum status status = query_test_samples(request->domain, request->samples, &s->inputs, &s->count, err);
    if (!status) {
        s->has = calloc(s->count * s->tokens + 1, 1);
        s->original = calloc(s->values, sizeof *s->original);
        s->changed = calloc(s->values, sizeof *s->changed);
        s->mask = calloc(domain_positions(shape), 1);
        s->answer = calloc(s->tokens + 1, sizeof *s->answer);
        status = s->has && s->original && s->changed && s->mask && s->answer ? STATUS_OK : no_memory(err);
    }
    if (!status)
        status = domain_truths_create(shape, 1, &s->truth, err);
    if (!status)
        status = read_labels(s, err);
    *samples = (int64_t)s->count;
    if (status) {
        sufficiency_close(s);
        *out = NULL;
    }
    return status;
}

void sufficiency_close(struct sufficiency *s)
{
    if (!s)
        return;
    free(s->inputs);
    free(s->has);
    free(s->original);
    free(s->changed);
    free(s->mask);
    free(s->answer);
    domain_truths_destroy(s->truth);
    free(s);
}

/* ---- judges --------------------------------------------------------------------------------------------- */

/* Computes what the model says about s->changed. The caller closes the annotation. */
static enum status annotate(struct sufficiency *s, struct exec *exec, struct annotation *out, struct error *err)
{
    return annotation_make(exec, s->request->network, s->request->domain, &s->request->report, s->changed, NULL, out,
                           err);
}

static bool model_reads(const struct annotation *a, int token)
{
    for (int i = 0; i < a->decoded.length; i++)
        if (a->decoded.tokens[i] == TOKEN_FIRST + token)
            return true;
    return false;
}

/* Whether the reference reads the name in s->changed. */
static enum status reference_reads(struct sufficiency *s, int token, bool *reads, struct error *err)
{
    int length = 0;
    enum status status = reference_read(s->request->reference, s->changed, s->answer, &length, err);
    *reads = false;
    for (int i = 0; !status && i < length; i++)
        *reads |= s->answer[i] == token;
    return status;
}

/* ---- marks ---------------------------------------------------------------------------------------------- */

static bool is_named(const struct channel_name *name, int token)
{
    return channel_name_sign(name, token) > 0;
}

/* The extents of the marks of a name; a channel without an extent has its footprint. */
static int find_boxes(const struct sufficiency *s, const struct annotation *a, int token, struct box *boxes)
{
    int count = 0, half = s->request->network->map.reach / 2;
    for (int i = 0; i < a->count && count < BOXES; i++) {
        const struct motif *at = &a->motifs[i].at;
        struct box box = {0};
        if (!a->motifs[i].maximal || !is_named(&s->request->report.names[at->channel], token))
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

/* ---- changes -------------------------------------------------------------------------------------------- */

/* Moves a side of a box to a random place. */
static void shift(int *from, int *to, int whole, float random)
{
    int length = *to - *from, room = whole - length;
    *from = (int)((float)(room + 1) * random);
    *from = *from > room ? room : *from;
    *to = *from + length;
}

static void fill_mask(struct sufficiency *s, const struct box *boxes, int count, const struct philox *random)
{
    const struct domain_shape *shape = &s->request->domain->shape;
    memset(s->mask, 0, domain_positions(shape));
    for (int i = 0; i < count; i++) {
        struct box box = boxes[i];
        if (random) {
            shift(&box.row0, &box.row1, shape->rows, philox_uniform(random, (uint64_t)(2 * i + 2)));
            shift(&box.col0, &box.col1, shape->cols, philox_uniform(random, (uint64_t)(2 * i + 3)));
        }
        for (int r = box.row0; r < box.row1; r++)
            memset(s->mask + (size_t)r * (size_t)shape->cols + (size_t)box.col0, 1, (size_t)(box.col1 - box.col0));
    }
}

/* Makes a changed input in s->changed, which holds the background. */
static void blend(struct sufficiency *s, bool keep)
{
    size_t positions = domain_positions(&s->request->domain->shape);
    for (size_t i = 0; i < s->values; i++)
        if ((s->mask[i % positions] != 0) == keep)
            s->changed[i] = s->original[i];
}

/* Chooses an input whose label lacks the name. Returns s->count if there is none. */
static size_t choose_background(const struct sufficiency *s, int token, const struct philox *random)
{
    size_t first = philox_u32(random, 0) % s->count;
    for (size_t i = 0; i < s->count; i++) {
        size_t at = (first + i) % s->count;
        if (!s->has[at * s->tokens + (size_t)token])
            return at;
    }
    return s->count;
}

/* The marks of a name in an input. */
struct marked {
    size_t input;
    int token, count;
    const struct box *boxes;
};

/* Lets the judges read the four changed inputs for one name. `counts`: whether the reference counts. */
static enum status change(struct sufficiency *s, const struct marked *marked, bool counts, struct exec *exec,
                          struct error *err)
{
    const struct philox random = philox_stream((uint64_t)s->request->seed, STREAM_EVIDENCE + (uint32_t)marked->token,
                                               (uint64_t)s->inputs[marked->input].seed);
    struct sufficiency_name *name = &s->name[marked->token];
    size_t background = choose_background(s, marked->token, &random);
    enum status status = STATUS_OK;
    if (background == s->count)
        return STATUS_OK;
    name->model.inputs++;
    name->reference.inputs += counts;
    for (int k = 0; !status && k < CHANGED_INPUTS; k++) {
        struct annotation after = {.motifs = NULL};
        bool keep = k == KEEP_MARKED || k == KEEP_RANDOM, reads = false;
        status = draw(s, background, s->changed, NULL, err);
        if (status)
            return status;
        fill_mask(s, marked->boxes, marked->count, k >= KEEP_RANDOM ? &random : NULL);
        blend(s, keep);
        status = annotate(s, exec, &after, err);
        if (!status)
            name->model.changed[k] += model_reads(&after, marked->token) == keep;
        annotation_close(&after);
        if (!status && counts)
            status = reference_reads(s, marked->token, &reads, err);
        if (!status && counts)
            name->reference.changed[k] += reads == keep;
    }
    return status;
}

/* Counts an input for one of its names. read: what the model says about the input. */
static enum status add_name(struct sufficiency *s, size_t index, int token, const struct annotation *read,
                            struct exec *exec, struct error *err)
{
    struct box boxes[BOXES];
    const struct marked marked = {index, token, find_boxes(s, read, token, boxes), boxes};
    bool counts = false;
    enum status status = STATUS_OK;
    if (!model_reads(read, token)) {
        s->name[token].unread++;
        return STATUS_OK;
    }
    if (marked.count == 0) {
        s->name[token].unmarked++;
        return STATUS_OK;
    }
    if (s->request->reference) {
        memcpy(s->changed, s->original, s->values * sizeof *s->changed);
        status = reference_reads(s, token, &counts, err);
    }
    return status ? status : change(s, &marked, counts, exec, err);
}

enum status sufficiency_add(struct sufficiency *s, int64_t index, struct exec *exec, struct work *work,
                            struct error *err)
{
    struct annotation read = {.motifs = NULL};
    enum status status = draw(s, (size_t)index, s->original, NULL, err);
    if (status)
        return status;
    memcpy(s->changed, s->original, s->values * sizeof *s->changed);
    status = annotate(s, exec, &read, err);
    read.input = s->original;
    for (int t = 0; !status && t < (int)s->tokens; t++) {
        if (!s->has[(size_t)index * s->tokens + (size_t)t] || s->name[t].model.inputs >= s->request->per_name)
            continue;
        status = work_check(work, err);
        if (!status)
            status = add_name(s, (size_t)index, t, &read, exec, err);
    }
    annotation_close(&read);
    return status;
}

/* ---- the answer ----------------------------------------------------------------------------------------- */

static double share_of(const struct sufficiency_judge *judge, enum changed_input change)
{
    return (double)judge->changed[change] / (double)judge->inputs;
}

static struct interval interval_of(const struct sufficiency_judge *judge, enum changed_input change)
{
    return interval_share(share_of(judge, change), (double)judge->inputs, 1.96);
}

/* Whether the marked extents have the effect clearly more often than random ones. */
static bool beats_control(const struct sufficiency_judge *judge, enum changed_input marked, enum changed_input random)
{
    double count = (double)judge->inputs;
    return interval_difference(share_of(judge, marked), count, share_of(judge, random), count, 1.96).low > 0;
}

struct sufficiency_findings sufficiency_judge(const struct sufficiency_judge *judge)
{
    static const double SUFFICIENT = 0.8, NECESSARY = 0.5;
    struct sufficiency_findings found = {false, false, false};
    if (judge->inputs < FEW)
        return found;
    found.insufficient = interval_of(judge, KEEP_MARKED).high < SUFFICIENT;
    found.unneeded = interval_of(judge, FILL_MARKED).high < NECESSARY;
    found.beside = found.insufficient && found.unneeded && !beats_control(judge, KEEP_MARKED, KEEP_RANDOM) &&
                   !beats_control(judge, FILL_MARKED, FILL_RANDOM);
    return found;
}

static void write_share(const char *key, const struct sufficiency_judge *judge, enum changed_input change,
                        const struct sink *out)
{
    struct interval interval = interval_of(judge, change);
    sink_begin_object(out, key);
    sink_number(out, "share", share_of(judge, change));
    sink_number(out, "low", interval.low);
    sink_number(out, "high", interval.high);
    sink_end_object(out);
}

static void write_judge(const struct sufficiency_judge *judge, const struct sink *out)
{
    if (judge->inputs == 0) {
        sink_null(out, "sufficient");
        sink_null(out, "necessary");
        sink_null(out, "control");
        return;
    }
    write_share("sufficient", judge, KEEP_MARKED, out);
    write_share("necessary", judge, FILL_MARKED, out);
    sink_begin_object(out, "control");
    write_share("sufficient", judge, KEEP_RANDOM, out);
    write_share("necessary", judge, FILL_RANDOM, out);
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

static void write_findings(const struct sufficiency_name *n, const char *name, const struct sink *out)
{
    struct sufficiency_findings model = sufficiency_judge(&n->model), reference = sufficiency_judge(&n->reference);
    sink_begin_list(out, "findings");
    if (model.insufficient)
        write_finding(
            "not-sufficient",
            "the marks of %s alone let the model read it in %.0f %% of the inputs; it needs something else too", name,
            share_of(&n->model, KEEP_MARKED), out);
    if (model.unneeded)
        write_finding(
            "not-necessary",
            "without the marks of %s the model still reads it in %.0f %% of the inputs; so much of its evidence "
            "is elsewhere",
            name, 1 - share_of(&n->model, FILL_MARKED), out);
    else if (reference.unneeded)
        write_finding(
            "not-necessary",
            "without the marks of %s a plain model that marks nothing still reads it in %.0f %% of the inputs; "
            "so much of its evidence is elsewhere",
            name, 1 - share_of(&n->reference, FILL_MARKED), out);
    if (model.beside)
        write_finding("beside",
                      "the marks of %s tell the model no more than random extents of the same size (%.0f %%); they lie "
                      "beside the evidence",
                      name, share_of(&n->model, KEEP_RANDOM), out);
    sink_end_list(out);
}

static void write_name(const struct sufficiency_name *n, const char *name, const struct sink *out)
{
    sink_begin_object(out, NULL);
    sink_text(out, "name", name);
    sink_integer(out, "inputs", n->model.inputs);
    sink_integer(out, "unread", n->unread);
    sink_integer(out, "unmarked", n->unmarked);
    write_judge(&n->model, out);
    if (n->reference.inputs > 0) {
        sink_begin_object(out, "reference");
        sink_integer(out, "inputs", n->reference.inputs);
        write_judge(&n->reference, out);
        sink_end_object(out);
    }
    write_findings(n, name, out);
    sink_end_object(out);
}

void sufficiency_write(const struct open_domain *domain, const struct sufficiency_name *name, const struct sink *out)
{
    sink_begin_list(out, "names");
    for (int t = 0; t < domain->shape.tokens; t++)
        if (name[t].model.inputs + name[t].unread + name[t].unmarked > 0)
            write_name(&name[t], domain->domain->token(domain->state, t), out);
    sink_end_list(out);
}
