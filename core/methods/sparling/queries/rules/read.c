/* Computes the motif map of a sample, and the names that the model reads from a map, for the query "rules". */
#include <string.h>

#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/queries/rules/rules_int.h"
#include "core/methods/sparling/run_state.h"

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
