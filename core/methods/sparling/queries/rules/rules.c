/* The query "rules": how the order, the distance and the strands of two motifs change the answer of the model.
 *
 * For each pair of motifs, the query removes both motifs from the motif maps of test samples and puts them back in
 * several arrangements. The head then reads the changed maps. A motif that is put back gets the median of the values
 * that its channel has in samples. Motif maps do not show strands, so strands.c changes the inputs instead.
 *
 * The query says only what the data support. It leaves out arrangements that the data set seldom contains (support.c).
 * The intervals of all arrangements hold simultaneously. For each arrangement that seems to have a rule, the query
 * measures controls (controls.c). At last it compares the rules that remain with the labels of the data set
 * (labels.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/queries/rules/rules_int.h"
#include "core/methods/sparling/run_state.h"

/* Computes the motif map of a sample, and the names that the model reads from a map, for the query "rules". */

enum { AROUND = 10 };

enum status rules_sample(struct rules *r, int64_t index, int *length, bool *end, struct error *err)
{
    const struct open_domain *domain = &r->question->model->domain;
    struct domain_request request = {.set = DOMAIN_SAMPLE, .seed = TEST_SEED, .index = index};
    struct domain_record record = {.length = domain->shape.cols};
    *end = domain->domain->record && !domain->domain->record(domain->state, &request, &record);
    *length = record.length;
    return *end ? STATUS_OK : domain_sample(domain, &request, r->inquiry.planes, NULL, err);
}

enum status rules_map(struct rules *r, struct error *err)
{
    struct exec *e = &r->inquiry.exec;
    exec_begin(e, false, 0);
    struct tensor *motifs = network_motifs(e, r->question->model->network, r->inquiry.planes, 1, 1);
    enum status status = exec_status(e, err);
    if (status)
        return status;
    tensor_to_planes(motifs, r->map);
    r->shape = motifs->map;
    return STATUS_OK;
}

/* For labels at positions: the model answers a name if the name is the class of a position near one of the two
 * motifs. */
static void read_classes(const struct rules *r, const struct tensor *classes, const struct rule_places *places,
                         bool *has)
{
    for (int i = 0; i < 2 * (2 * AROUND + 1); i++) {
        int col = places->at[i % 2] + i / 2 - AROUND;
        if (col < 0 || col >= r->cols)
            continue;
        const real *logit = classes->data + (size_t)col * (size_t)classes->cols;
        int best = 0;
        for (int k = 1; k < classes->cols; k++)
            best = logit[k] > logit[best] ? k : best;
        if (best > 0)
            has[best] = true;
    }
}

static void read_tokens(const struct rules *r, const struct decoded *decoded, bool *has)
{
    for (int i = 0; i < decoded->length; i++) {
        int name = decoded->tokens[i] - TOKEN_FIRST;
        if (name >= 0 && name < r->names)
            has[name] = true;
    }
}

enum status rules_read(void *context, const float *maps, int count, const struct rule_places *places, bool *has,
                       struct error *err)
{
    struct rules *r = context;
    struct network *network = r->question->model->network;
    struct exec *e = &r->inquiry.exec;
    struct decoded decoded[RULE_MAPS];
    struct map_shape shape = r->shape;
    shape.images = count;
    memset(has, 0, (size_t)count * (size_t)r->names * sizeof *has);
    exec_begin(e, false, 0);
    struct tensor *motifs = tensor_from_planes(e, maps, &shape, false);
    if (network->shape.positions) {
        struct tensor *classes = network_classes(e, network, motifs);
        enum status status = exec_status(e, err);
        for (int i = 0; !status && i < count; i++) {
            struct tensor one = *classes;
            one.data += (size_t)i * (size_t)r->cols * (size_t)classes->cols;
            read_classes(r, &one, &places[i], has + (size_t)i * (size_t)r->names);
        }
        return status;
    }
    struct network_memory memory = network_memory(e, network, motifs);
    enum status status = exec_status(e, err);
    if (!status)
        status = decode_greedy(e, network, &memory, count, sparling_decode_steps(&network->config), decoded, err);
    for (int i = 0; !status && i < count; i++)
        read_tokens(r, &decoded[i], has + (size_t)i * (size_t)r->names);
    return status;
}

struct rule_reader rules_reader(struct rules *r)
{
    return (struct rule_reader){r, r->channels, r->cols, r->names, rules_read};
}

enum status rules_each_sample(struct rules *r,
                              enum status (*try)(struct rules *, const struct rule_sample *, struct error *),
                              struct error *err)
{
    int margin = r->question->model->domain.shape.margin;
    enum status status = STATUS_OK;
    for (int64_t i = 0; !status && i < r->samples; i++) {
        int length;
        bool end;
        status = rules_sample(r, i, &length, &end, err);
        if (!status)
            status = rules_map(r, err);
        struct rule_sample sample = {.map = r->map, .from = margin, .to = length - margin, .number = (uint64_t)i};
        if (!status && sample.from < sample.to)
            status = try(r, &sample, err);
    }
    return status;
}

/* ---- motifs ---------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Sets the value that a motif of each channel gets in trials: the median of the channel's maxima in the samples that
 * contain it. most: [channels][samples] maxima; 0: the sample does not contain the channel. */
static void set_values(struct rules *r, float *most)
{
    for (int c = 0; c < r->channels; c++) {
        float *list = most + (size_t)c * (size_t)r->asked->samples;
        int count = 0;
        for (int64_t i = 0; i < r->samples; i++)
            if (list[i] > 0)
                list[count++] = list[i];
        qsort(list, (size_t)count, sizeof *list, by_value);
        r->with[c] = count;
        r->motif[c].value = count > 0 ? list[count / 2] : 0;
    }
}

/* Computes the maps of all samples, and from them the value that a motif of each channel gets in trials. */
static enum status measure_motifs(struct rules *r, struct error *err)
{
    const struct method_model *model = r->question->model;
    float *most = calloc((size_t)r->channels * (size_t)r->asked->samples, sizeof *most);
    enum status status = most ? STATUS_OK : error_memory(err, "rules");
    for (bool end = false; !status && r->samples < r->asked->samples;) {
        int length;
        status = work_check(r->question->work, err);
        if (!status)
            status = rules_sample(r, r->samples, &length, &end, err);
        if (end)
            break;
        if (!status)
            status = rules_map(r, err);
        for (int c = 0; !status && c < r->channels; c++)
            for (int i = 0; i < length; i++) {
                float *value = &most[(size_t)c * (size_t)r->asked->samples + (size_t)r->samples];
                *value = fmaxf(*value, r->map[(size_t)c * (size_t)r->cols + (size_t)i]);
            }
        r->samples++;
    }
    if (!status)
        set_values(r, most);
    free(most);
    for (int c = 0; c < r->channels; c++) {
        struct box box = {.col1 = 1};
        int row = 0, col = r->cols / 2;
        (void)channel_places_relative(&model->places, c, &box);
        channel_places_source(&model->places, c, 1, r->cols, &row, &col);
        r->motif[c].channel = c;
        r->motif[c].shift = r->cols / 2 - col;
        r->motif[c].width = box.col1 - box.col0;
    }
    return status;
}

/* ---- trials ---------------------------------------------------------------------------------------------------- */

static enum status try_pairs(struct rules *r, const struct rule_sample *sample, struct error *err)
{
    const struct rule_reader reader = rules_reader(r);
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < r->pairs; i++) {
        status = work_check(r->question->work, err);
        if (!status)
            status = rule_try(&reader, sample, &r->pair[i], r->maps, r->has, err);
    }
    return status;
}

/* ---- the query ------------------------------------------------------------------------------------------------- */

static enum status rules_rules_check(const struct rules *r, struct error *err)
{
    if (r->question->model->domain.shape.rows > 1)
        return error_set(err, STATUS_CONFLICT, NULL, "rules are measured in sequences; this model reads images");
    if (r->asked->channel >= r->channels || r->asked->other >= r->channels)
        return error_set(err, STATUS_INVALID, r->asked->channel >= r->channels ? "/channel" : "/other",
                         "must be below %d, the number of channels", r->channels);
    return STATUS_OK;
}

static enum status open_rules(struct rules *r, struct error *err)
{
    const struct method_model *model = r->question->model;
    size_t map = (size_t)r->channels * (size_t)r->cols;
    r->inquiry = (struct inquiry){.question = r->question,
                                  .planes = malloc(domain_inputs(&model->domain.shape) * sizeof(float))};
    r->motif = calloc((size_t)r->channels, sizeof *r->motif);
    r->with = calloc((size_t)r->channels, sizeof *r->with);
    r->map = malloc(map * sizeof *r->map);
    r->maps = malloc(RULE_MAPS * map * sizeof *r->maps);
    r->has = calloc((size_t)RULE_MAPS * (size_t)r->names, sizeof *r->has);
    if (!r->inquiry.planes || !r->motif || !r->with || !r->map || !r->maps || !r->has)
        return error_memory(err, "rules");
    return inquiry_ready(model, &r->inquiry, err);
}

static enum status rules_rules_measure(struct rules *r, struct error *err)
{
    enum status status = measure_motifs(r, err);
    if (status)
        return status;
    status = rules_make_pairs(r, err);
    if (status || r->pairs == 0)
        return status;
    status = rules_support(r, err);
    if (status)
        return status;
    status = rules_keep_pairs(r, err);
    if (status || r->pairs == 0)
        return status;
    status = rules_each_sample(r, try_pairs, err);
    if (status)
        return status;
    status = rules_measure_controls(r, err);
    if (status || r->pairs == 0)
        return status;
    status = rules_check_labels(r, err);
    if (!status && r->strands)
        status = rules_strands(r, err);
    return status ? status : rules_list(r, err);
}

enum status sparling_rules(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct open_domain *domain = &question->model->domain;
    const struct alphabet *alphabet = domain_alphabet(domain);
    struct rules r = {.question = question,
                      .asked = question->parameters,
                      .channels = (int)question->model->network->config.channels_motif,
                      .cols = domain->shape.cols,
                      .names = domain->shape.tokens,
                      .first_name = question->model->network->shape.positions ? 1 : 0,
                      .strands = alphabet != NULL && alphabet->strands == 2};
    if (domain->shape.numbers > 0)
        return error_set(
            err, STATUS_CONFLICT, NULL,
            "the model predicts numbers, but this query compares names; the query interventions shows how a "
            "motif changes the numbers");
    enum status status = rules_rules_check(&r, err);
    if (status)
        return status;
    status = open_rules(&r, err);
    if (!status)
        status = rules_rules_measure(&r, err);
    if (!status)
        rules_write(&r, out);
    inquiry_close(&r.inquiry);
    free(r.motif);
    free(r.with);
    free(r.pair);
    free(r.counts);
    free(r.sets);
    free(r.left);
    free(r.checked);
    free(r.listed);
    free(r.map);
    free(r.maps);
    free(r.has);
    return status;
}
