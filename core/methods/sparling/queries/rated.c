/* Reads all inputs of a request, rates their motifs together, and writes the bound of the false ones (rated.h). */
#include "core/methods/sparling/queries/rated.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inquiries of more bytes than this are computed a second time when their answers are written. */
enum { KEPT_BYTES = 32 << 20 };
static const double CONFIDENCE = 0.95;

struct rating {
    float p, q;
};

struct rated_input {
    struct inquiry inquiry; /* without a workspace; planes NULL: not kept */
    struct rating *rating;  /* [motifs of the annotation, before any is removed] */
    int motifs;
};

struct rated {
    size_t count;
    struct rated_input *input; /* [count] */
    double limit;              /* largest q of the motifs that are kept; 0: all */
    /* of the motifs that are kept, if there is a limit */
    int64_t marks, false_at_most;
    bool bounded; /* whether any channel has an error rate */
    bool *left;   /* [channels] channels that have motifs and no error rate */
};

static double limit_of(const struct method_question *question)
{
    const struct motifs_parameters *parameters = question->parameters;
    return parameters ? parameters->false_marks : 0;
}

static enum status no_memory(struct error *err)
{
    return error_memory(err, "error rates");
}

/* ---- rates ----------------------------------------------------------------------------------------------- */

static bool has_rate(const struct method_model *model, int channel)
{
    return model->negatives.channel[channel].why == NEGATIVES_KNOWN;
}

static enum status rated_channel(const struct method_model *model, int channel, const struct false_mark *marks,
                                 int64_t count, int64_t inputs, double *q, struct error *err)
{
    struct false_marks known = negatives_marks(&model->negatives, channel);
    if (has_rate(model, channel))
        return false_marks_q(&known, marks, count, inputs, q, err);
    for (int64_t i = 0; i < count; i++)
        q[i] = NAN;
    return STATUS_OK;
}

/* The motifs of one channel in all inputs, and where they come from. */
struct collected {
    struct false_mark *mark;
    struct rating **rating; /* where p and q of each mark go */
    double *q;
    int64_t count;
};

/* Lists the motifs of a channel. The motifs of each input are sorted by channel; next: [inputs] index of the first one
 * that is not listed yet. */
static void collect_channel(const struct rated *r, struct annotation *const *annotation, int channel, int *next,
                            struct collected *out)
{
    out->count = 0;
    for (size_t i = 0; i < r->count; i++)
        for (; next[i] < r->input[i].motifs && annotation[i]->motifs[next[i]].at.channel == channel; next[i]++) {
            const struct read_motif *motif = &annotation[i]->motifs[next[i]];
            out->mark[out->count] = (struct false_mark){(double)motif->at.value, (int64_t)i, !motif->maximal};
            out->rating[out->count++] = &r->input[i].rating[next[i]];
        }
}

static enum status rate_channel(const struct method_model *model, struct rated *r, int channel, double error,
                                struct collected *c, struct error *err)
{
    struct false_marks known = negatives_marks(&model->negatives, channel);
    double least = INFINITY;
    int64_t kept = 0, bound = 0;
    enum status status = rated_channel(model, channel, c->mark, c->count, (int64_t)r->count, c->q, err);
    for (int64_t i = 0; !status && i < c->count; i++) {
        double p = has_rate(model, channel) ? false_marks_p(&known, c->mark[i].score) : (double)NAN;
        *c->rating[i] = (struct rating){(float)p, (float)c->q[i]};
        if (c->q[i] <= r->limit && !c->mark[i].part) {
            kept++;
            least = fmin(least, c->mark[i].score);
        }
    }
    r->left[channel] = c->count > 0 && !has_rate(model, channel);
    if (!status && kept > 0)
        status = false_marks_bound(&known, c->mark, c->count, (int64_t)r->count, least, error, &bound, err);
    r->marks += kept;
    r->false_at_most += bound;
    return status;
}

/* Rates all motifs, channel by channel. The bound of the sum holds if those of all channels hold, so each may fail with
 * an equal share of the error. */
static enum status rate_all(const struct method_model *model, struct rated *r, struct annotation *const *annotation,
                            struct error *err)
{
    int channels = model->negatives.channels, rated = 0;
    size_t all = 0;
    for (size_t i = 0; i < r->count; i++)
        all += (size_t)r->input[i].motifs;
    for (int c = 0; c < channels; c++)
        rated += has_rate(model, c);
    r->bounded = rated > 0;
    struct collected c = {malloc((all + 1) * sizeof *c.mark), malloc((all + 1) * sizeof *c.rating),
                          malloc((all + 1) * sizeof *c.q), 0};
    int *next = calloc(r->count, sizeof *next);
    enum status status = c.mark && c.rating && c.q && next ? STATUS_OK : no_memory(err);
    for (int k = 0; !status && k < channels; k++) {
        collect_channel(r, annotation, k, next, &c);
        status = rate_channel(model, r, k, (1 - CONFIDENCE) / (rated > 0 ? rated : 1), &c, err);
    }
    free(c.mark);
    free(c.rating);
    free(c.q);
    free(next);
    return status;
}

/* Writes p and q into the motifs, and removes those with a larger q than the limit. */
static void apply(const struct rated *r, size_t index, struct annotation *annotation)
{
    int kept = 0;
    for (int i = 0; i < annotation->count && i < r->input[index].motifs; i++) {
        struct read_motif *motif = &annotation->motifs[i];
        motif->p = (double)r->input[index].rating[i].p;
        motif->q = (double)r->input[index].rating[i].q;
        if (r->limit == 0 || motif->q <= r->limit)
            annotation->motifs[kept++] = *motif;
    }
    if (r->limit > 0)
        annotation->total = kept;
    annotation->count = kept;
    annotation->rated = true;
}

/* ---- the inputs of a request ---------------------------------------------------------------------------- */

/* What an annotation of an input that is not kept still needs: the list of its motifs. */
static enum status keep_motifs(struct inquiry *inquiry, struct annotation *light, struct error *err)
{
    *light = (struct annotation){.count = inquiry->annotation.count};
    light->motifs = malloc(((size_t)light->count + 1) * sizeof *light->motifs);
    if (!light->motifs)
        return no_memory(err);
    if (light->count > 0)
        memcpy(light->motifs, inquiry->annotation.motifs, (size_t)light->count * sizeof *light->motifs);
    return STATUS_OK;
}

/* Reads one input. *bytes: what the inquiries that were kept so far take. light: the motifs of an inquiry that is not
 * kept. */
static enum status read_input(const struct method_question *question, const struct method_input *input,
                              struct rated_input *in, struct annotation *light, size_t *bytes, struct error *err)
{
    struct method_question one = *question;
    one.input = input;
    enum status status = inquiry_read(&one, &in->inquiry, err);
    if (status)
        return status;
    const struct annotation *a = &in->inquiry.annotation;
    in->motifs = a->count;
    in->rating = calloc((size_t)a->count + 1, sizeof *in->rating);
    if (!in->rating)
        return no_memory(err);
    inquiry_rest(&in->inquiry);
    size_t more = domain_inputs(&question->model->domain.shape) * sizeof(float) + (size_t)a->count * sizeof *a->motifs;
    if (*bytes + more <= KEPT_BYTES) {
        *bytes += more;
        return STATUS_OK;
    }
    status = keep_motifs(&in->inquiry, light, err);
    inquiry_close(&in->inquiry);
    in->inquiry = (struct inquiry){.planes = NULL};
    return status;
}

void rated_close(void *state)
{
    struct rated *r = state;
    for (size_t i = 0; r && r->input && i < r->count; i++) {
        inquiry_close(&r->input[i].inquiry);
        free(r->input[i].rating);
    }
    if (r) {
        free(r->input);
        free(r->left);
    }
    free(r);
}

/* Reads and rates all inputs. light: [count] the motifs of inputs that are not kept; annotation: [count]. */
static enum status read_and_rate(const struct method_question *question, const struct method_input *inputs,
                                 struct rated *r, struct annotation *light, struct annotation **annotation, size_t *at,
                                 struct error *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < r->count; i++) {
        *at = i;
        enum status status = i > 0 ? work_yield(question->work, err) : STATUS_OK;
        if (!status)
            status = read_input(question, &inputs[i], &r->input[i], &light[i], &bytes, err);
        if (status)
            return status;
        annotation[i] = r->input[i].inquiry.planes ? &r->input[i].inquiry.annotation : &light[i];
    }
    enum status status = rate_all(question->model, r, annotation, err);
    for (size_t i = 0; !status && i < r->count; i++)
        if (r->input[i].inquiry.planes)
            apply(r, i, &r->input[i].inquiry.annotation);
    return status;
}

enum status rated_begin(const struct method_question *question, const struct method_input *inputs, size_t count,
                        void **state, size_t *at, struct error *err)
{
    struct rated *r = calloc(1, sizeof *r);
    struct annotation *light = calloc(count + 1, sizeof *light), **annotation = calloc(count + 1, sizeof *annotation);
    *state = r;
    enum status status = r && light && annotation ? STATUS_OK : no_memory(err);
    if (!status) {
        r->limit = limit_of(question);
        r->count = count;
        r->input = calloc(count + 1, sizeof *r->input);
        r->left = calloc((size_t)question->model->negatives.channels + 1, sizeof *r->left);
        status = r->input && r->left ? read_and_rate(question, inputs, r, light, annotation, at, err) : no_memory(err);
    }
    for (size_t i = 0; light && i < count; i++)
        annotation_close(&light[i]);
    free(light);
    free(annotation);
    return status;
}

enum status rated_inquiry(const struct method_question *question, struct inquiry *own, struct inquiry **inquiry,
                          struct error *err)
{
    struct rated *r = question->together;
    struct rated_input *in = &r->input[question->index];
    *own = (struct inquiry){.planes = NULL};
    *inquiry = &in->inquiry;
    if (in->inquiry.planes)
        return STATUS_OK;
    *inquiry = own;
    enum status status = inquiry_read(question, own, err);
    if (!status)
        apply(r, question->index, &own->annotation);
    return status;
}

/* ---- the bound ------------------------------------------------------------------------------------------- */

/* The reason that all channels have, or NEGATIVES_KNOWN if they differ. */
static enum negatives_why common_reason(const struct negatives *n)
{
    for (int c = 1; c < n->channels; c++)
        if (n->channel[c].why != n->channel[0].why)
            return NEGATIVES_KNOWN;
    return (enum negatives_why)n->channel[0].why;
}

/* Appends why a channel has no error rate. */
static void explain_channel(const struct method_model *model, int channel, struct buf *out)
{
    const struct open_domain *domain = &model->domain;
    const struct channel_negatives *c = &model->negatives.channel[channel];
    char name[CHANNEL_NAME_TEXT];
    channel_name_text(model->names ? &model->names[channel] : NULL, domain, name, sizeof name);
    const char *other = c->companion >= 0 ? domain->domain->token(domain->state, (int)c->companion) : NULL;
    if (c->why == NEGATIVES_TOGETHER)
        buf_format(out, "the labels do not tell %s from %s, which accompanies it (channel %d)", name,
                   other ? other : "another name", channel);
    else if (c->why == NEGATIVES_FEW)
        buf_format(out, "too few validation inputs lack %s; at least %d must (channel %d)",
                   name[0] ? name : "what the channel marks", NEGATIVES_LEAST, channel);
    else
        buf_format(out, "channel %d has no name", channel);
}

/* Appends why there is no bound, or why some motifs have none. */
static void explain(const struct method_model *model, const struct rated *r, struct buf *out)
{
    static const char *const common[NEGATIVES_WHY] = {
        [NEGATIVES_UNMEASURED] = "this checkpoint has no error rate, because no evaluation of the job had ended, or "
                                 "because an older version trained it",
        [NEGATIVES_DENSE] = "the maps have too many motifs to list them",
        [NEGATIVES_NUMBERS] = "targets are numbers, so no input certainly lacks what a channel marks",
        [NEGATIVES_POSITIONS] = "labels are classes of positions, so channels have no names that a label could lack",
    };
    enum { MOST = 4 };
    enum negatives_why why = common_reason(&model->negatives);
    int listed = 0;
    if (common[why]) {
        buf_text(out, common[why]);
        return;
    }
    for (int c = 0; c < model->negatives.channels && listed < MOST; c++) {
        if (has_rate(model, c) || !(r->left[c] || !r->bounded))
            continue;
        buf_text(out, listed++ > 0 ? "; " : "");
        explain_channel(model, c, out);
    }
}

void rated_write(const struct method_question *question, const void *state, const struct sink *out)
{
    const struct rated *r = state;
    struct buf why;
    if (r->limit == 0)
        return;
    if (r->bounded) {
        sink_begin_object(out, "bound");
        sink_integer(out, "marks", r->marks);
        sink_integer(out, "false_at_most", r->false_at_most);
        sink_number(out, "confidence", CONFIDENCE);
        sink_end_object(out);
    } else {
        sink_null(out, "bound");
    }
    buf_init(&why, 4096);
    explain(question->model, r, &why);
    buf_append(&why, "", 1);
    if (!why.failed && ((const char *)why.data)[0] != '\0')
        sink_text(out, "why", (const char *)why.data);
    buf_close(&why);
}
