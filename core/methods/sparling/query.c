/* A model is a network without gradients. Every query brings its own exec, arena and single-thread pool,
 * so any number of threads may ask at a time. */
#include "core/methods/sparling/query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/coherence.h"
#include "core/methods/sparling/graph.h"
#include "core/methods/sparling/intervention.h"
#include "core/methods/sparling/reading.h"
#include "core/metrics/assignment.h"

struct method_model {
    const struct kernels *kernels;
    struct network *network;
    struct open_domain domain;
};

enum status sparling_open(const void *config, const struct kernels *kernels, const char *data,
                          const struct pack_reader *from, struct method_model **model, struct error *err)
{
    struct pack *pack = NULL;
    struct method_model *m = calloc(1, sizeof *m);
    if (!m)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a model");
    m->kernels = kernels;
    enum status status = domain_open(config, data, &m->domain, err);
    if (!status)
        status = network_create(config, false, &m->network, err);
    if (!status)
        status = pack_create(&pack, err);
    if (!status)
        status = params_pack(m->network->params, pack, err);
    if (!status)
        status = pack_read(pack, from, 1u << PACK_WEIGHT, err);
    if (!status)
        status = params_check(m->network->params, err);
    pack_destroy(pack);
    if (status) {
        sparling_close(m);
        return status;
    }
    *model = m;
    return STATUS_OK;
}

void sparling_close(struct method_model *model)
{
    if (!model)
        return;
    network_destroy(model->network);
    domain_close(&model->domain);
    free(model);
}

uint64_t sparling_model_bytes(const struct method_model *model)
{
    return params_bytes(model->network->params) + sizeof *model + sizeof *model->network;
}

size_t sparling_convolutions(const struct method_model *model, struct method_convolution *out, size_t room)
{
    return network_convolutions(model->network, out, room);
}

enum status sparling_graph(const struct method_model *model, const struct graph_writer *out, struct error *err)
{
    return network_graph(model->network, out, err);
}

/* ---- inputs ------------------------------------------------------------------------------------ */

static enum status take_input(const struct method_model *model, const struct method_input *input, float *planes,
                              struct domain_truth *truth, struct error *err)
{
    const struct open_domain *domain = &model->domain;
    if (input->kind == METHOD_INPUT_ARRAY)
        return domain->domain->prepare(domain->state, input, planes, err);
    if (input->seed < 0 || input->seed > UINT32_MAX)
        return error_set(err, STATUS_INVALID, "/sample/seed", "must be in [0, 4294967295]; got %lld",
                         (long long)input->seed);
    struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = input->seed};
    return domain_sample(domain, &request, planes, truth, err);
}

/* One reading with everything it needs, and after an intervention a second one. */
struct inquiry {
    struct pool *pool;
    struct arena arena;
    struct exec exec;
    float *planes;
    struct domain_truth *truth;
    struct tensor *motifs;
    struct reading reading, after;
};

/* The motif map of the planes that are there. */
static enum status run_g(const struct method_model *model, struct inquiry *inquiry, struct error *err)
{
    enum status status = pool_create(1, &inquiry->pool, err);
    if (status)
        return status;
    exec_init(&inquiry->exec, model->kernels, inquiry->pool, &inquiry->arena, 0);
    inquiry->exec.bf16 = model->network->config.precision == PRECISION_BF16;
    exec_begin(&inquiry->exec, false, 0);
    inquiry->motifs = network_motifs(&inquiry->exec, model->network, inquiry->planes, 1, 1);
    return exec_status(&inquiry->exec, err);
}

static enum status begin_inquiry(const struct method_model *model, const struct method_input *input, struct inquiry *inquiry,
                                 struct error *err)
{
    const struct open_domain *domain = &model->domain;
    *inquiry = (struct inquiry){.planes = malloc(domain_inputs(&domain->shape) * sizeof(float))};
    arena_init(&inquiry->arena, (size_t)4 << 20, 0);
    enum status status = domain_truths_create(&domain->shape, 1, &inquiry->truth, err);
    if (!inquiry->planes)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a query");
    if (!status)
        status = take_input(model, input, inquiry->planes, inquiry->truth, err);
    return status ? status : run_g(model, inquiry, err);
}

static enum status inquire(const struct method_model *model, const struct method_input *input, struct inquiry *inquiry,
                           struct error *err)
{
    enum status status = begin_inquiry(model, input, inquiry, err);
    if (status)
        return status;
    const struct domain_truth *truth = input->kind == METHOD_INPUT_SAMPLE ? inquiry->truth : NULL;
    return reading_of_map(&inquiry->exec, model->network, &model->domain, inquiry->motifs, inquiry->planes, truth,
                          &inquiry->reading, err);
}

/* What h makes of the map once it has been changed. */
static enum status intervene(const struct method_model *model, const struct method_input *input, struct inquiry *inquiry,
                             struct error *err)
{
    const struct map_shape *map = &inquiry->motifs->map;
    float *planes = arena_alloc(&inquiry->arena, (size_t)map->channels * domain_positions(&model->domain.shape) * sizeof *planes);
    if (!planes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a query");
    tensor_to_planes(inquiry->motifs, planes);
    enum status status = intervention_apply(&inquiry->reading, input, planes, err);
    if (status)
        return status;
    struct tensor *changed = tensor_from_planes(&inquiry->exec, planes, map, false);
    return reading_of_map(&inquiry->exec, model->network, &model->domain, changed, inquiry->planes, inquiry->reading.truth,
                          &inquiry->after, err);
}

static void inquiry_close(struct inquiry *inquiry)
{
    reading_close(&inquiry->reading);
    reading_close(&inquiry->after);
    domain_truths_destroy(inquiry->truth);
    free(inquiry->planes);
    pool_destroy(inquiry->pool);
    arena_close(&inquiry->arena);
}

/* ---- answers ----------------------------------------------------------------------------------- */

static void write_shape(const struct reading *reading, const struct sink *out)
{
    sink_begin_list(out, "shape");
    sink_integer(out, NULL, reading->rows);
    sink_integer(out, NULL, reading->cols);
    sink_integer(out, NULL, reading->channels);
    sink_end_list(out);
}

static void write_motifs(const struct reading *reading, const struct sink *out)
{
    sink_integer(out, "motif_count", reading->total);
    sink_begin_list(out, "motifs");
    for (int i = 0; i < reading->count; i++) {
        const struct read_motif *motif = &reading->motifs[i];
        sink_begin_object(out, NULL);
        sink_begin_list(out, "position");
        sink_integer(out, NULL, motif->at.row);
        sink_integer(out, NULL, motif->at.col);
        sink_end_list(out);
        sink_integer(out, "channel", motif->at.channel);
        sink_number(out, "value", (double)motif->at.value);
        sink_boolean(out, "maximal", motif->maximal);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static const char *token_name(const struct reading *reading, int token)
{
    const struct open_domain *domain = reading->domain;
    if (token == TOKEN_START)
        return "START";
    if (token == TOKEN_END)
        return "END";
    return domain->domain->token(domain->state, token - TOKEN_FIRST);
}

static void write_site(const struct open_domain *domain, int position, int label, double probability, const struct sink *out)
{
    sink_begin_object(out, NULL);
    sink_integer(out, "position", position);
    sink_text(out, "class", domain->domain->token(domain->state, label));
    if (probability >= 0)
        sink_number(out, "probability", probability);
    sink_end_object(out);
}

/* Ends the list. */
static void write_true_sites(const struct open_domain *domain, const struct domain_truth *truth, const struct sink *out)
{
    for (int i = 0; i < truth->length; i++)
        if (truth->label[i] > 0)
            write_site(domain, i, truth->label[i], -1, out);
    sink_end_list(out);
}

/* Boxes as [row0, row1, col0, col1], upper ends exclusive. */
static void write_truth(const struct reading *reading, const struct sink *out)
{
    const struct domain_truth *truth = reading->truth;
    const struct open_domain *domain = reading->domain;
    if (!truth) {
        sink_null(out, "truth");
        return;
    }
    sink_begin_list(out, "truth");
    for (int i = 0; i < truth->boxes; i++) {
        const struct box *box = &truth->box[i];
        sink_begin_object(out, NULL);
        sink_text(out, "symbol", domain->domain->symbol(domain->state, box->symbol));
        sink_begin_list(out, "box");
        sink_integer(out, NULL, box->row0);
        sink_integer(out, NULL, box->row1);
        sink_integer(out, NULL, box->col0);
        sink_integer(out, NULL, box->col1);
        sink_end_list(out);
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_begin_list(out, "label");
    if (domain->shape.positions) {
        write_true_sites(domain, truth, out);
        return;
    }
    for (int i = 0; i < truth->length; i++)
        sink_text(out, NULL, token_name(reading, TOKEN_FIRST + truth->label[i]));
    sink_end_list(out);
}

static void write_prediction(const struct reading *reading, const struct sink *out)
{
    sink_begin_list(out, "prediction");
    for (int i = 0; i < reading->site_count; i++)
        write_site(reading->domain, reading->sites[i].position, reading->sites[i].label, reading->sites[i].probability, out);
    for (int i = 0; i < reading->decoded.length; i++)
        sink_text(out, NULL, token_name(reading, reading->decoded.tokens[i]));
    sink_end_list(out);
}

static void write_tokens(const struct reading *reading, const struct sink *out)
{
    const struct decoded *decoded = &reading->decoded;
    int count = decoded->length + (decoded->ended ? 1 : 0);
    double product = 1;
    if (reading->domain->shape.positions) /* they are in the prediction */
        return;
    sink_begin_list(out, "tokens");
    for (int i = 0; i < count; i++) {
        product *= (double)decoded->probability[i];
        sink_begin_object(out, NULL);
        sink_text(out, "token", token_name(reading, decoded->tokens[i]));
        sink_number(out, "probability", (double)decoded->probability[i]);
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_number(out, "probability", product);
}

/* The input behind a seed, which the asker has not seen: row-major, channels last if there are several. */
static void write_input(const struct reading *reading, const struct sink *out)
{
    const struct domain_shape *shape = &reading->domain->shape;
    size_t positions = domain_positions(shape), channels = (size_t)shape->channels;
    sink_begin_object(out, "input");
    sink_begin_list(out, "shape");
    sink_integer(out, NULL, shape->rows);
    sink_integer(out, NULL, shape->cols);
    if (channels > 1)
        sink_integer(out, NULL, shape->channels);
    sink_end_list(out);
    sink_begin_list(out, "values");
    for (size_t i = 0; i < positions * channels; i++)
        sink_number(out, NULL, (double)reading->input[i % channels * positions + i / channels]);
    sink_end_list(out);
    sink_end_object(out);
}

static bool is(const char *query, const char *name) { return strcmp(query, name) == 0; }

static void write_side(const struct reading *reading, const char *key, const struct sink *out)
{
    sink_begin_object(out, key);
    write_motifs(reading, out);
    write_prediction(reading, out);
    write_tokens(reading, out);
    sink_end_object(out);
}

static void write_answer(const struct inquiry *inquiry, const char *query, bool sample, const struct sink *out)
{
    const struct reading *reading = &inquiry->reading;
    if (is(query, "predict")) {
        write_prediction(reading, out);
        write_tokens(reading, out);
        write_truth(reading, out);
        return;
    }
    write_shape(reading, out);
    if (is(query, "interventions")) {
        write_side(reading, "before", out);
        write_side(&inquiry->after, "after", out);
        write_truth(reading, out);
        return;
    }
    write_motifs(reading, out);
    write_truth(reading, out);
    write_prediction(reading, out);
    if (sample)
        write_input(reading, out);
}

enum status sparling_query(const struct method_model *model, const char *query, const struct method_input *input,
                           const struct sink *out, struct error *err)
{
    struct inquiry inquiry;
    if (!is(query, "motifs") && !is(query, "predict") && !is(query, "interventions"))
        return error_set(err, STATUS_NOT_FOUND, NULL, "this method has no query of that name");
    enum status status = inquire(model, input, &inquiry, err);
    if (!status && is(query, "interventions"))
        status = intervene(model, input, &inquiry, err);
    if (!status)
        write_answer(&inquiry, query, input->kind == METHOD_INPUT_SAMPLE, out);
    inquiry_close(&inquiry);
    return status;
}

/* The motif map as it is: [rows][cols][channels]. */
enum status sparling_array(const struct method_model *model, const char *query, const struct method_input *input,
                           struct buf *values, int *rank, int64_t dim[4], struct error *err)
{
    struct inquiry inquiry;
    if (!is(query, "motifs"))
        return error_set(err, STATUS_NOT_FOUND, NULL, "this query gives no array");
    enum status status = begin_inquiry(model, input, &inquiry, err);
    size_t positions = domain_positions(&model->domain.shape);
    size_t channels = (size_t)model->network->config.channels_motif;
    float *planes = status ? NULL : arena_alloc(&inquiry.arena, channels * positions * sizeof *planes);
    if (!status && !planes)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a query");
    if (!status)
        tensor_to_planes(inquiry.motifs, planes);
    for (size_t i = 0; !status && i < positions * channels; i++)
        buf_append(values, &planes[i % channels * positions + i / channels], sizeof *planes);
    *rank = 3;
    dim[0] = model->domain.shape.rows;
    dim[1] = model->domain.shape.cols;
    dim[2] = (int64_t)channels;
    inquiry_close(&inquiry);
    return status;
}

enum status sparling_draw(const struct method_model *model, const char *query, const struct method_input *input,
                          struct picture **out, struct error *err)
{
    struct inquiry inquiry;
    if (!is(query, "motifs"))
        return error_set(err, STATUS_NOT_FOUND, NULL, "this query draws nothing");
    enum status status = inquire(model, input, &inquiry, err);
    if (!status)
        status = reading_draw(&inquiry.reading, 1, 1, out, err);
    inquiry_close(&inquiry);
    return status;
}

/* ---- two models ---------------------------------------------------------------------------------- */

struct comparison {
    int channels, others;
    double *together;            /* [channels][others] motifs of both models near each other */
    int64_t *motifs, *of_other;  /* maximal ones, by channel */
};

/* The maximal motifs of a map, in the inquiry's arena. */
static enum status list_maximal(struct inquiry *inquiry, int channels, const struct domain_shape *s, struct motif **out, int *count,
                                struct error *err)
{
    float *planes = arena_alloc(&inquiry->arena, (size_t)channels * domain_positions(s) * sizeof *planes);
    if (!planes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a comparison");
    tensor_to_planes(inquiry->motifs, planes);
    int all = motif_scan(planes, channels, s->rows, s->cols, NULL, 0);
    if (all > READING_MOTIFS)
        return error_set(err, STATUS_CONFLICT, NULL, "a model marks more than %d places of an input: it is not sparse yet",
                         (int)READING_MOTIFS);
    struct motif *found = arena_alloc(&inquiry->arena, ((size_t)all + 1) * sizeof *found);
    struct read_motif *motifs = arena_zalloc(&inquiry->arena, (size_t)all + 1, sizeof *motifs);
    if (!found || !motifs)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a comparison");
    motif_scan(planes, channels, s->rows, s->cols, found, all);
    for (int i = 0; i < all; i++)
        motifs[i].at = found[i];
    reading_mark(motifs, all);
    *count = 0;
    for (int i = 0; i < all; i++)
        if (motifs[i].maximal)
            found[(*count)++] = motifs[i].at;
    *out = found;
    return STATUS_OK;
}

static int distance(const struct motif *a, const struct motif *b)
{
    int rows = abs(a->row - b->row), cols = abs(a->col - b->col);
    return rows > cols ? rows : cols;
}

/* Each motif of the first model beside the nearest of the second, within reach. */
static void count_pairs(struct comparison *c, const struct motif *motifs, int count, const struct motif *others, int other_count)
{
    for (int i = 0; i < count; i++) {
        int best = -1;
        for (int j = 0; j < other_count; j++)
            if (distance(&motifs[i], &others[j]) <= READING_REACH &&
                (best < 0 || distance(&motifs[i], &others[j]) < distance(&motifs[i], &others[best])))
                best = j;
        c->motifs[motifs[i].channel]++;
        if (best >= 0)
            c->together[motifs[i].channel * c->others + others[best].channel] += 1;
    }
    for (int j = 0; j < other_count; j++)
        c->of_other[others[j].channel]++;
}

static enum status compare_one(const struct method_model *model, const struct method_model *with, int64_t seed, struct comparison *c,
                               struct error *err)
{
    const struct domain_shape *s = &model->domain.shape;
    const struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = seed};
    struct inquiry one, two = {.planes = malloc(domain_inputs(s) * sizeof(float))};
    struct motif *motifs = NULL, *others = NULL;
    int count = 0, other_count = 0;
    arena_init(&two.arena, (size_t)4 << 20, 0);
    enum status status = begin_inquiry(model, &input, &one, err);
    if (!status && !two.planes)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a comparison");
    if (!status) {
        memcpy(two.planes, one.planes, domain_inputs(s) * sizeof(float));
        status = run_g(with, &two, err);
    }
    if (!status)
        status = list_maximal(&one, c->channels, s, &motifs, &count, err);
    if (!status)
        status = list_maximal(&two, c->others, s, &others, &other_count, err);
    if (!status)
        count_pairs(c, motifs, count, others, other_count);
    inquiry_close(&one);
    inquiry_close(&two);
    return status;
}

static void write_pair(const struct comparison *c, int channel, int other, double *sum, double *least, const struct sink *out)
{
    int64_t motifs = c->motifs[channel], of_other = other >= 0 ? c->of_other[other] : 0;
    double together = other >= 0 ? c->together[channel * c->others + other] : 0;
    double agreement = motifs + of_other > 0 ? 2 * together / (double)(motifs + of_other) : 0;
    sink_begin_object(out, NULL);
    sink_integer(out, "channel", channel);
    if (other >= 0)
        sink_integer(out, "other", other);
    else
        sink_null(out, "other");
    sink_integer(out, "motifs", motifs);
    sink_integer(out, "other_motifs", of_other);
    sink_integer(out, "together", (int64_t)together);
    sink_number(out, "agreement", agreement);
    sink_end_object(out);
    *sum += agreement;
    *least = fmin(*least, agreement);
}

static enum status write_comparison(const struct comparison *c, int64_t samples, const struct sink *out, struct error *err)
{
    double sum = 0, least = 1;
    int *other_of = malloc((size_t)c->channels * sizeof *other_of);
    if (!other_of)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a comparison");
    enum status status = assignment_best(c->together, c->channels, c->others, other_of, NULL, err);
    if (!status) {
        sink_integer(out, "samples", samples);
        sink_begin_list(out, "channels");
        for (int i = 0; i < c->channels; i++)
            write_pair(c, i, other_of[i], &sum, &least, out);
        sink_end_list(out);
        sink_number(out, "agreement", sum / c->channels);
        sink_number(out, "least_agreement", least);
    }
    free(other_of);
    return status;
}

enum status sparling_compare(const struct method_model *model, const struct method_model *with, int64_t samples,
                             const struct sink *out, struct error *err)
{
    const struct domain_shape *a = &model->domain.shape, *b = &with->domain.shape;
    struct comparison c = {.channels = (int)model->network->config.channels_motif, .others = (int)with->network->config.channels_motif};
    if (model->domain.domain != with->domain.domain || a->channels != b->channels || a->rows != b->rows || a->cols != b->cols)
        return error_set(err, STATUS_INVALID, "/with", "must be a job that takes the same inputs");
    c.together = calloc((size_t)c.channels * (size_t)c.others, sizeof *c.together);
    c.motifs = calloc((size_t)c.channels, sizeof *c.motifs);
    c.of_other = calloc((size_t)c.others, sizeof *c.of_other);
    enum status status = c.together && c.motifs && c.of_other ? STATUS_OK
                                                               : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a comparison");
    for (int64_t i = 0; !status && i < samples; i++)
        status = compare_one(model, with, i, &c, err);
    if (!status)
        status = write_comparison(&c, samples, out, err);
    free(c.together);
    free(c.motifs);
    free(c.of_other);
    return status;
}
