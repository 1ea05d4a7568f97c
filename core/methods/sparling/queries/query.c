/* Answers queries about a model, which is a network without gradients. While a query runs, no other query uses its
 * arena and its single-thread pool, so any number of threads may query a model at the same time. */
#include "core/data/scale.h"
#include "core/methods/sparling/queries/query.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/model/coherence.h"
#include "core/methods/sparling/model/graph.h"
#include "core/methods/sparling/queries/intervention.h"
#include "core/methods/sparling/queries/name_scores.h"
#include "core/methods/sparling/queries/query_input.h"
#include "core/methods/sparling/queries/query_model.h"
#include "core/methods/sparling/queries/query_words.h"
#include "core/methods/sparling/queries/rated.h"

enum status sparling_open(const void *config, const struct kernels *kernels, const char *data,
                          const struct snapshot_reader *from, struct method_model **model, struct error *err)
{
    struct snapshot *snapshot = NULL;
    enum status status = network_fit(config, from, err);
    if (status)
        return status;
    struct method_model *m = calloc(1, sizeof *m);
    if (!m)
        return error_memory(err, "a model");
    m->kernels = kernels;
    m->data = data;
    m->workspaces = calloc(1, sizeof *m->workspaces);
    if (!m->workspaces) {
        free(m);
        return error_memory(err, "a model");
    }
    pthread_mutex_init(&m->workspaces->lock, NULL);
    status = domain_open(config, data, &m->domain, err);
    if (!status)
        status = network_create(config, false, NULL, &m->network, err);
    if (!status)
        status = snapshot_create(&snapshot, err);
    if (!status)
        status = params_snapshot(m->network->params, snapshot, err);
    if (!status)
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    if (!status)
        status = params_check(m->network->params, err);
    if (!status)
        status =
            channel_names_read(from, m->domain.shape.tokens, (int)m->network->config.channels_motif, &m->names, err);
    if (!status && m->names && sparling_parts(&m->network->config) > 1)
        channel_names_number(m->names, (int)m->network->config.channels_motif);
    if (!status)
        status = channel_extents_read(from, (int)m->network->config.channels_motif, m->network->map.reach / 2,
                                      &m->extents, err);
    if (!status)
        m->places = (struct channel_places){m->extents, m->network->config.centre_motifs};
    if (!status)
        status =
            negatives_read(from, (int)m->network->config.channels_motif, m->domain.shape.tokens, &m->negatives, err);
    if (!status)
        status = name_scores_read(from, &m->turned_scores, err);
    m->turned_scores = m->turned_scores && m->network && m->network->config.strands != STRANDS_BOTH &&
                       m->domain.domain->turns && m->domain.domain->turns(m->domain.state);
    snapshot_destroy(snapshot);
    if (status) {
        sparling_close(m);
        return status;
    }
    *model = m;
    return STATUS_OK;
}

static void close_workspace(struct workspace *space)
{
    thread_pool_destroy(space->pool);
    arena_close(&space->arena);
}

void sparling_close(struct method_model *model)
{
    if (!model)
        return;
    for (int i = 0; i < model->workspaces->count; i++)
        close_workspace(&model->workspaces->idle[i]);
    pthread_mutex_destroy(&model->workspaces->lock);
    free(model->workspaces);
    network_destroy(model->network);
    domain_close(&model->domain);
    free(model->names);
    free(model->extents);
    negatives_close(&model->negatives);
    free(model);
}

/* The result includes the maps in idle workspaces: two for each residual unit, and a few more. */
uint64_t sparling_model_bytes(const struct method_model *model)
{
    const struct sparling_config *c = &model->network->config;
    uint64_t map = (uint64_t)domain_positions(&model->domain.shape) * (uint64_t)c->width * sizeof(real);
    return params_bytes(model->network->params) + sizeof *model + sizeof *model->network +
           WORKSPACES * map * (2 * (uint64_t)(c->units + c->narrow_units) + 8);
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

/* Takes an idle workspace, or creates one. */
static enum status take_workspace(const struct method_model *model, struct workspace *out, struct error *err)
{
    struct workspaces *all = model->workspaces;
    *out = (struct workspace){.pool = NULL};
    pthread_mutex_lock(&all->lock);
    if (all->count > 0)
        *out = all->idle[--all->count];
    pthread_mutex_unlock(&all->lock);
    if (out->pool)
        return STATUS_OK;
    arena_init(&out->arena, (size_t)4 << 20, 0);
    return thread_pool_create(1, &out->pool, err);
}

static void give_workspace(const struct method_model *model, struct workspace *space)
{
    enum { KEPT = 64 << 20 };
    struct workspaces *all = model->workspaces;
    arena_reset(&space->arena);
    if (space->pool)
        thread_pool_stop_when(space->pool, NULL, NULL);
    pthread_mutex_lock(&all->lock);
    bool kept = space->pool && all->count < WORKSPACES && space->arena.held_bytes <= KEPT;
    if (kept)
        all->idle[all->count++] = *space;
    pthread_mutex_unlock(&all->lock);
    if (!kept)
        close_workspace(space);
}

enum status inquiry_ready(const struct method_model *model, struct inquiry *inquiry, struct error *err)
{
    inquiry->model = model;
    enum status status = take_workspace(model, &inquiry->space, err);
    if (status)
        return status;
    if (inquiry->question)
        thread_pool_stop_when(inquiry->space.pool, work_stopped, inquiry->question->work);
    exec_init(&inquiry->exec, model->kernels, inquiry->space.pool, &inquiry->space.arena, 0);
    inquiry->exec.bf16 = model->network->config.precision == PRECISION_BF16;
    return STATUS_OK;
}

enum status inquiry_map(const struct method_model *model, struct inquiry *inquiry, struct error *err)
{
    enum status status = inquiry_ready(model, inquiry, err);
    if (status)
        return status;
    exec_begin(&inquiry->exec, false, 0);
    struct network_extras extras;
    inquiry->motifs = network_motifs_extras(&inquiry->exec, model->network, inquiry->planes, 1, 1, &extras);
    status = exec_status(&inquiry->exec, err);
    inquiry->scores = extras.scores;
    if (status || !extras.reverse)
        return status;
    float *reverse = arena_alloc(&inquiry->space.arena, extras.reverse->count * sizeof *reverse);
    if (!reverse)
        return error_memory(err, "a query");
    tensor_to_planes(extras.reverse, reverse);
    inquiry->reverse = reverse;
    return STATUS_OK;
}

enum status inquiry_begin(const struct method_question *question, const struct method_input *input,
                          struct inquiry *inquiry, struct error *err)
{
    const struct method_model *model = question->model;
    const struct open_domain *domain = &model->domain;
    *inquiry = (struct inquiry){.question = question, .planes = malloc(domain_inputs(&domain->shape) * sizeof(float))};
    enum status status = domain_truths_create(&domain->shape, 1, &inquiry->truth, err);
    if (!inquiry->planes)
        status = error_memory(err, "a query");
    if (!status)
        status = query_input_read(&model->domain, input, inquiry->planes, inquiry->truth, err);
    return status ? status : inquiry_map(model, inquiry, err);
}

/* Finds the strands of the motifs in the map of the other strand. */
static void find_strands(const float *reverse, struct annotation *annotation)
{
    size_t cols = (size_t)annotation->cols, plane = (size_t)annotation->rows * cols;
    for (int i = 0; reverse && i < annotation->count; i++) {
        struct read_motif *motif = &annotation->motifs[i];
        int row = motif->at.row, col = motif->at.col;
        if (annotation->places)
            channel_places_source(annotation->places, motif->at.channel, annotation->rows, annotation->cols, &row,
                                  &col);
        motif->strand = reverse[(size_t)motif->at.channel * plane + (size_t)row * cols + (size_t)col] > 0 ? '-' : '+';
    }
}

enum status inquiry_read(const struct method_question *question, struct inquiry *inquiry, struct error *err)
{
    const struct method_model *model = question->model;
    const struct method_input *input = question->input;
    enum status status = inquiry_begin(question, input, inquiry, err);
    if (status)
        return status;
    const struct domain_truth *truth = input->kind == METHOD_INPUT_SAMPLE ? inquiry->truth : NULL;
    const struct channel_report report = {model->names, &model->places};
    status = annotation_of_map(&inquiry->exec, model->network, &model->domain, &report, inquiry->motifs,
                               inquiry->planes, truth, &inquiry->annotation, err);
    find_strands(inquiry->reverse, &inquiry->annotation);
    return status ? status : query_words_find(question, &inquiry->annotation.words, err);
}

/* Edits the motif map and annotates the result. */
static enum status intervene(const struct method_model *model, const struct method_input *input,
                             struct inquiry *inquiry, struct error *err)
{
    const struct map_shape *map = &inquiry->motifs->map;
    const struct domain_shape *shape = &model->domain.shape;
    size_t count = (size_t)map->channels * domain_positions(shape);
    float *planes = arena_alloc(&inquiry->space.arena, count * sizeof *planes),
          *before = arena_alloc(&inquiry->space.arena, count * sizeof *planes),
          *after = arena_alloc(&inquiry->space.arena, count * sizeof *planes);
    if (!planes || !before || !after)
        return error_memory(err, "a query");
    tensor_to_planes(inquiry->motifs, planes);
    memcpy(before, planes, count * sizeof *planes);
    enum status status = channel_places_move(&model->places, map->channels, shape->rows, shape->cols, before, err);
    if (status)
        return status;
    memcpy(after, before, count * sizeof *planes);
    status = intervention_apply(&inquiry->annotation, input, after, err);
    if (status)
        return status;
    channel_places_change(&model->places, map->channels, shape->rows, shape->cols, before, after, planes);
    struct tensor *changed = tensor_from_planes(&inquiry->exec, planes, map, false);
    const struct channel_report report = {model->names, &model->places};
    status = annotation_of_map(&inquiry->exec, model->network, &model->domain, &report, changed, inquiry->planes,
                               inquiry->annotation.truth, &inquiry->after, err);
    return status;
}

void inquiry_rest(struct inquiry *inquiry)
{
    if (inquiry->model)
        give_workspace(inquiry->model, &inquiry->space);
    inquiry->model = NULL;
}

void inquiry_close(struct inquiry *inquiry)
{
    annotation_close(&inquiry->annotation);
    annotation_close(&inquiry->after);
    domain_truths_destroy(inquiry->truth);
    free(inquiry->planes);
    inquiry_rest(inquiry);
}

/* ---- answers ----------------------------------------------------------------------------------- */

static void write_shape(const struct annotation *annotation, const struct sink *out)
{
    sink_begin_list(out, "shape");
    sink_integer(out, NULL, annotation->rows);
    sink_integer(out, NULL, annotation->cols);
    sink_integer(out, NULL, annotation->channels);
    sink_end_list(out);
}

/* Writes a share between 0 and 1, or null. */
static void write_share(const char *key, double share, const struct sink *out)
{
    if (isnan(share))
        sink_null(out, key);
    else
        sink_number(out, key, share);
}

/* Writes the times of an extent, [from, to) in seconds, if columns are points in time. */
static void write_times(const struct open_domain *domain, const struct box *extent, const struct sink *out)
{
    double seconds = domain->domain->duration ? domain->domain->duration(domain->state) : (double)NAN;
    if (isnan(seconds))
        return;
    sink_begin_list(out, "seconds");
    sink_number(out, NULL, extent->col0 * seconds / domain->shape.cols);
    sink_number(out, NULL, extent->col1 * seconds / domain->shape.cols);
    sink_end_list(out);
}

void query_motif_write(const struct annotation *annotation, const struct read_motif *motif, const struct sink *out)
{
    char name[CHANNEL_NAME_TEXT];
    sink_begin_list(out, "position");
    sink_integer(out, NULL, motif->at.row);
    sink_integer(out, NULL, motif->at.col);
    sink_end_list(out);
    sink_integer(out, "channel", motif->at.channel);
    channel_name_text(annotation->names ? &annotation->names[motif->at.channel] : NULL, annotation->domain, name,
                      sizeof name);
    if (name[0]) {
        const struct channel_name *of = &annotation->names[motif->at.channel];
        sink_text(out, "name", name);
        sink_integer(out, "sign", channel_name_sign(of, (int)of->token[0]));
    } else {
        sink_null(out, "name");
    }
    sink_number(out, "value", (double)motif->at.value);
    sink_boolean(out, "maximal", motif->maximal);
    if (annotation->rated) {
        write_share("p", motif->p, out);
        write_share("q", motif->q, out);
    }
    if (motif->strand)
        sink_text(out, "strand", motif->strand == '-' ? "-" : "+");
    struct box extent;
    bool known = annotation_extent(annotation, &motif->at, &extent);
    channel_extent_write(known ? &extent : NULL, out);
    if (known)
        write_times(annotation->domain, &extent, out);
    query_words_marked(&annotation->words, &motif->at, known ? &extent : NULL, out);
}

static void write_motifs(const struct annotation *annotation, const struct sink *out)
{
    sink_integer(out, "motif_count", annotation->total);
    sink_begin_list(out, "motifs");
    for (int i = 0; i < annotation->count; i++) {
        sink_begin_object(out, NULL);
        query_motif_write(annotation, &annotation->motifs[i], out);
        sink_end_object(out);
    }
    sink_end_list(out);
}

const char *query_token(const struct open_domain *domain, int token)
{
    if (token == TOKEN_START)
        return "START";
    if (token == TOKEN_END)
        return "END";
    return domain->domain->token(domain->state, token - TOKEN_FIRST);
}

static void write_site(const struct open_domain *domain, int position, int label, double probability,
                       const struct sink *out)
{
    sink_begin_object(out, NULL);
    sink_integer(out, "position", position);
    sink_text(out, "class", domain->domain->token(domain->state, label));
    if (probability >= 0)
        sink_number(out, "probability", probability);
    sink_end_object(out);
}

/* Writes the true classes other than the common one, and closes the list. */
static void write_true_sites(const struct open_domain *domain, const struct domain_truth *truth, const struct sink *out)
{
    for (int i = 0; i < truth->length; i++)
        if (truth->label[i] > 0)
            write_site(domain, i, truth->label[i], -1, out);
    sink_end_list(out);
}

/* Writes numbers as texts, because the list contains texts for every kind of target. */
static void write_as_texts(const float *number, int count, const struct sink *out)
{
    for (int k = 0; k < count; k++) {
        char text[32];
        snprintf(text, sizeof text, "%.6g", (double)number[k]);
        sink_text(out, NULL, text);
    }
}

/* Writes true boxes as [row0, row1, col0, col1], upper ends exclusive. */
static void write_truth(const struct annotation *annotation, const struct sink *out)
{
    const struct domain_truth *truth = annotation->truth;
    const struct open_domain *domain = annotation->domain;
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
        sink_text(out, NULL, query_token(annotation->domain, TOKEN_FIRST + truth->label[i]));
    write_as_texts(truth->number, domain->shape.numbers, out);
    sink_end_list(out);
}

/* Writes the predicted numbers with their names, and the true ones if they are known. */
static void write_numbers(const struct annotation *annotation, const struct sink *out)
{
    const struct open_domain *domain = annotation->domain;
    sink_begin_list(out, "numbers");
    for (int k = 0; k < domain->shape.numbers; k++) {
        sink_begin_object(out, NULL);
        sink_text(out, "name", domain->domain->token(domain->state, k));
        sink_number(out, "value", (double)annotation->numbers[k]);
        if (annotation->truth)
            sink_number(out, "true", (double)annotation->truth->number[k]);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static void write_prediction(const struct annotation *annotation, const struct sink *out)
{
    sink_begin_list(out, "prediction");
    for (int i = 0; i < annotation->site_count; i++)
        write_site(annotation->domain, annotation->sites[i].position, annotation->sites[i].label,
                   annotation->sites[i].probability, out);
    for (int i = 0; i < annotation->decoded.length; i++)
        sink_text(out, NULL, query_token(annotation->domain, annotation->decoded.tokens[i]));
    if (annotation->numbers)
        write_as_texts(annotation->numbers, annotation->domain->shape.numbers, out);
    sink_end_list(out);
    if (annotation->numbers)
        write_numbers(annotation, out);
}

static void write_tokens(const struct annotation *annotation, const struct sink *out)
{
    const struct decoded *decoded = &annotation->decoded;
    int count = decoded->length + (decoded->ended ? 1 : 0);
    double product = 1;
    if (annotation->domain->shape.positions || annotation->numbers) /* write_prediction() has written the answer */
        return;
    sink_begin_list(out, "tokens");
    for (int i = 0; i < count; i++) {
        product *= (double)decoded->probability[i];
        sink_begin_object(out, NULL);
        sink_text(out, "token", query_token(annotation->domain, decoded->tokens[i]));
        sink_number(out, "probability", (double)decoded->probability[i]);
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_number(out, "probability", product);
}

/* Writes the axis of an input: its unit, such as seconds or bases, and the length of the whole input in this unit. */
static void write_axis(const struct open_domain *domain, const struct sink *out)
{
    const struct alphabet *alphabet = domain_alphabet(domain);
    double seconds = domain->domain->duration ? domain->domain->duration(domain->state) : (double)NAN;
    sink_begin_object(out, "axis");
    sink_text(out, "unit", alphabet ? alphabet->unit : isnan(seconds) ? "" : "s");
    sink_number(out, "length", isnan(seconds) ? domain->shape.cols : seconds);
    sink_end_object(out);
}

/* Writes one number, or a list of several. */
static void write_scale(const char *key, const double *values, int count, const struct sink *out)
{
    if (count == 1) {
        sink_number(out, key, (double)(float)values[0]);
        return;
    }
    sink_begin_list(out, key);
    for (int i = 0; i < count; i++)
        sink_number(out, NULL, (double)(float)values[i]);
    sink_end_list(out);
}

/* Writes the input of a sample as the network reads it, row-major, with channels last if there are several. To send the
 * same input again, a client sends `zero + unit * value` for each value; zero and unit are lists if each channel has
 * its own. */
static void write_input(const struct annotation *annotation, const struct sink *out)
{
    const struct domain_shape *shape = &annotation->domain->shape;
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
        sink_number(out, NULL, (double)annotation->input[i % channels * positions + i / channels]);
    sink_end_list(out);
    const struct open_domain *domain = annotation->domain;
    const double zero = 0, unit = 1;
    const struct scale *scale = domain->domain->scale ? domain->domain->scale(domain->state) : NULL;
    write_scale("zero", scale ? scale->shift : &zero, scale ? scale->columns : 1, out);
    write_scale("unit", scale ? scale->unit : &unit, scale ? scale->columns : 1, out);
    if (shape->rows > 1)
        sink_boolean(out, "ink", shape->ink);
    write_axis(annotation->domain, out);
    sink_end_object(out);
}

/* Writes the alphabet of the samples, and the input as letters, so that clients need no table of alphabets. Inputs
 * that the client has sent as a file get letters too. */
static enum status write_letters(const struct inquiry *inquiry, const struct sink *out, struct error *err)
{
    const struct open_domain *domain = inquiry->annotation.domain;
    const struct alphabet *alphabet = domain_alphabet(domain);
    alphabet_write(alphabet, "alphabet", out);
    if (!alphabet) {
        sink_null(out, "letters");
        return STATUS_OK;
    }
    char *text = malloc((size_t)domain->shape.cols + 1);
    if (!text)
        return error_memory(err, "the letters of a sequence");
    (void)alphabet_spell(alphabet, inquiry->planes, (size_t)domain->shape.cols, text);
    sink_text(out, "letters", text);
    free(text);
    return STATUS_OK;
}

/* Writes from which record of an upload a sample comes: its index, its group, and its name, such as a place in a
 * genome.
 */
static void write_record(const struct method_question *question, const struct sink *out)
{
    const struct open_domain *domain = &question->model->domain;
    const struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = (int64_t)question->input->seed};
    struct domain_record record;
    if (!domain->domain->record || !domain->domain->record(domain->state, &request, &record))
        return;
    sink_integer(out, "number", record.number);
    if (record.group)
        sink_text(out, "group", record.group);
    if (record.name)
        sink_text(out, "record", record.name);
}

static void write_side(const struct annotation *annotation, const char *key, const struct sink *out)
{
    sink_begin_object(out, key);
    write_motifs(annotation, out);
    write_prediction(annotation, out);
    write_tokens(annotation, out);
    sink_end_object(out);
}

static bool is_sample(const struct method_question *question)
{
    return question->input->kind == METHOD_INPUT_SAMPLE;
}

/* Makes a question whose inputs were read together. Without a caller that did so, its input is alone. */
static enum status make_together(const struct method_question *question, struct method_question *whole,
                                 struct error *err)
{
    size_t at;
    *whole = *question;
    return question->together ? STATUS_OK : rated_begin(question, question->input, 1, &whole->together, &at, err);
}

/* The query "motifs": the motifs of an input, its truth, the prediction with its probability and, for a sample, the
 * input itself. */
enum status sparling_motifs(const struct method_question *question, const struct sink *out, struct error *err)
{
    struct method_question whole;
    enum status status = make_together(question, &whole, err);
    struct inquiry own = {.planes = NULL}, *inquiry = NULL;
    if (!status)
        status = rated_inquiry(&whole, &own, &inquiry, err);
    if (!status) {
        write_shape(&inquiry->annotation, out);
        write_motifs(&inquiry->annotation, out);
        write_truth(&inquiry->annotation, out);
        write_prediction(&inquiry->annotation, out);
        write_tokens(&inquiry->annotation, out);
        if (is_sample(question)) {
            write_record(question, out);
            write_input(&inquiry->annotation, out);
        }
        query_words_write(&inquiry->annotation.words, out);
        status = write_letters(inquiry, out, err);
    }
    inquiry_close(&own);
    if (!question->together)
        rated_close(whole.together);
    return status;
}

/* The query "predict": the label with the probability of each token, the scores of names, and the truth. */
enum status sparling_predict(const struct method_question *question, const struct sink *out, struct error *err)
{
    struct inquiry inquiry;
    enum status status = inquiry_read(question, &inquiry, err);
    if (!status) {
        write_prediction(&inquiry.annotation, out);
        write_tokens(&inquiry.annotation, out);
        status = name_scores_write(&inquiry, out, err);
    }
    if (!status)
        write_truth(&inquiry.annotation, out);
    inquiry_close(&inquiry);
    return status;
}

/* The query "predict" as an array: the predicted numbers if the model's targets are numbers; otherwise the index of
 * each predicted name, and -1 after the last one. */
enum status sparling_predict_array(const struct method_question *question, struct buf *values, int *rank,
                                   int64_t dim[4], struct error *err)
{
    const struct domain_shape *shape = &question->model->domain.shape;
    struct inquiry inquiry;
    if (shape->positions)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "a model with a class at every position answers this query as JSON only");
    enum status status = inquiry_read(question, &inquiry, err);
    const struct decoded *decoded = &inquiry.annotation.decoded;
    if (!status && shape->numbers > 0)
        buf_append(values, inquiry.annotation.numbers, (size_t)shape->numbers * sizeof *inquiry.annotation.numbers);
    for (int i = 0; !status && shape->numbers == 0 && i < shape->longest; i++) {
        int name = i < decoded->length ? (int)decoded->tokens[i] - TOKEN_FIRST : -1;
        float value = name < 0 ? -1 : (float)name; /* START is no name */
        buf_append(values, &value, sizeof value);
    }
    *rank = 1;
    dim[0] = shape->numbers > 0 ? shape->numbers : shape->longest;
    inquiry_close(&inquiry);
    return status;
}

/* The query "interventions": motifs and label before and after the changes of the input. */
enum status sparling_interventions(const struct method_question *question, const struct sink *out, struct error *err)
{
    struct inquiry inquiry;
    enum status status = inquiry_read(question, &inquiry, err);
    if (!status)
        status = intervene(question->model, question->input, &inquiry, err);
    if (!status)
        status = query_words_find(question, &inquiry.after.words, err);
    if (!status) {
        write_shape(&inquiry.annotation, out);
        query_words_write(&inquiry.annotation.words, out);
        write_side(&inquiry.annotation, "before", out);
        write_side(&inquiry.after, "after", out);
        write_truth(&inquiry.annotation, out);
    }
    inquiry_close(&inquiry);
    return status;
}

/* The query "motifs" as a picture: the input with its motifs drawn over it. */
enum status sparling_draw_motifs(const struct method_question *question, struct picture **out, struct error *err)
{
    struct method_question whole;
    struct inquiry own = {.planes = NULL}, *inquiry = NULL;
    enum status status = make_together(question, &whole, err);
    if (!status)
        status = rated_inquiry(&whole, &own, &inquiry, err);
    if (!status)
        status = annotation_draw(&inquiry->annotation, 1, 1, out, err);
    inquiry_close(&own);
    if (!question->together)
        rated_close(whole.together);
    return status;
}
