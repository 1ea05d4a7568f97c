/* Compares two models on the same inputs: motifs at nearly the same positions show which channels correspond. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/queries/query_model.h"
#include "core/metrics/agreement.h"

/* Lists the motifs of a map that have no stronger motif nearby. The list is in the arena of the inquiry. */
static enum status list_maximal(struct inquiry *inquiry, int channels, const struct domain_shape *s, struct motif **out,
                                int *count, struct error *err)
{
    float *planes = arena_alloc(&inquiry->space.arena, (size_t)channels * domain_positions(s) * sizeof *planes);
    if (!planes)
        return error_memory(err, "a comparison");
    tensor_to_planes(inquiry->motifs, planes);
    enum status status = channel_places_move(&inquiry->model->places, channels, s->rows, s->cols, planes, err);
    if (status)
        return status;
    int all = motif_scan(planes, channels, s->rows, s->cols, NULL, 0);
    if (all > ANNOTATION_MOTIFS)
        return error_set(
            err, STATUS_CONFLICT, NULL,
            "a model has more than %d motifs in an input; compare models after more training, at a lower density",
            (int)ANNOTATION_MOTIFS);
    struct motif *found = arena_alloc(&inquiry->space.arena, ((size_t)all + 1) * sizeof *found);
    struct read_motif *motifs = arena_zalloc(&inquiry->space.arena, (size_t)all + 1, sizeof *motifs);
    if (!found || !motifs)
        return error_memory(err, "a comparison");
    motif_scan(planes, channels, s->rows, s->cols, found, all);
    for (int i = 0; i < all; i++)
        motifs[i].at = found[i];
    annotation_mark(motifs, all);
    *count = 0;
    for (int i = 0; i < all; i++)
        if (motifs[i].maximal)
            found[(*count)++] = motifs[i].at;
    *out = found;
    return STATUS_OK;
}

static enum status compare_one(const struct method_question *question, int64_t seed, struct agreement *c,
                               struct error *err)
{
    const struct method_model *model = question->model, *with = question->with;
    const struct domain_shape *s = &model->domain.shape;
    const struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = seed};
    struct inquiry one, two = {.question = question, .planes = malloc(domain_inputs(s) * sizeof(float))};
    struct motif *motifs = NULL, *others = NULL;
    int count = 0, other_count = 0;
    enum status status = inquiry_begin(question, &input, &one, err);
    if (!status && !two.planes)
        status = error_memory(err, "a comparison");
    if (!status) {
        memcpy(two.planes, one.planes, domain_inputs(s) * sizeof(float));
        status = inquiry_map(with, &two, err);
    }
    if (!status)
        status = list_maximal(&one, c->channels, s, &motifs, &count, err);
    if (!status)
        status = list_maximal(&two, c->others, s, &others, &other_count, err);
    int reach =
        model->network->map.reach < with->network->map.reach ? model->network->map.reach : with->network->map.reach;
    if (!status)
        agreement_add(c, motifs, count, others, other_count, annotation_same(reach));
    inquiry_close(&one);
    inquiry_close(&two);
    return status;
}

static void write_pair(const struct agreement *c, int channel, int other, double share, const struct sink *out)
{
    sink_begin_object(out, NULL);
    sink_integer(out, "channel", channel);
    if (other >= 0)
        sink_integer(out, "other", other);
    else
        sink_null(out, "other");
    sink_integer(out, "motifs", c->motifs[channel]);
    sink_integer(out, "other_motifs", other >= 0 ? c->of_other[other] : 0);
    sink_integer(out, "together", other >= 0 ? (int64_t)c->together[channel * c->others + other] : 0);
    sink_number(out, "agreement", share);
    sink_end_object(out);
}

static enum status write_comparison(const struct agreement *c, int64_t samples, const struct sink *out,
                                    struct error *err)
{
    double sum = 0, least = 1;
    int *other_of = malloc((size_t)c->channels * sizeof *other_of);
    double *share = malloc((size_t)c->channels * sizeof *share);
    enum status status =
        other_of && share ? agreement_match(c, other_of, share, err) : error_memory(err, "a comparison");
    if (!status) {
        sink_integer(out, "samples", samples);
        sink_begin_list(out, "channels");
        for (int i = 0; i < c->channels; i++) {
            write_pair(c, i, other_of[i], share[i], out);
            sum += share[i];
            least = fmin(least, share[i]);
        }
        sink_end_list(out);
        sink_number(out, "agreement", sum / c->channels);
        sink_number(out, "least_agreement", least);
    }
    free(other_of);
    free(share);
    return status;
}

/* The query "compare". */
enum status sparling_compare(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct method_model *model = question->model, *with = question->with;
    const struct compare_parameters *asked = question->parameters;
    const struct domain_shape *a = &model->domain.shape, *b = &with->domain.shape;
    struct agreement c;
    if (model->domain.domain != with->domain.domain || a->channels != b->channels || a->rows != b->rows ||
        a->cols != b->cols)
        return error_set(err, STATUS_INVALID, "/with", "must be a job whose domain and input sizes are the same");
    enum status status = agreement_create((int)model->network->config.channels_motif,
                                          (int)with->network->config.channels_motif, &c, err);
    for (int64_t i = 0; !status && i < asked->samples; i++)
        if (!(status = work_check(question->work, err)))
            status = compare_one(question, i, &c, err);
    if (!status)
        status = write_comparison(&c, asked->samples, out, err);
    agreement_close(&c);
    return status;
}
