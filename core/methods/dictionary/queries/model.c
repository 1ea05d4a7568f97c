/* Opens the model of a checkpoint for queries: the dictionaries, what was measured of the latents, and the
 * source of the samples. */
#include "core/methods/dictionary/queries/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/dictionary/run_int.h"

/* Queries draw no samples of planted data if the creation of the generator takes more operations than this. */
static const double PLANTED_WORK = 2e11;

/* ---- reading ------------------------------------------------------------------------------------------------- */

/* Reads what the model needs to know about its run. */
static enum status read_run(struct method_model *m, const struct snapshot_reader *from, struct error *err)
{
    int64_t phase = 0, tested = 0;
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("run.phase", &phase),
                                        SNAPSHOT_NUMBER("evaluation.samples", &tested),
                                        SNAPSHOT_NUMBER("run.scale", &m->scale)};
    enum status status = snapshot_read_rows(from, SNAPSHOT_ROWS(rows), err);
    if (!status && (!(m->scale > 0) || !isfinite(m->scale)))
        status = error_set(err, STATUS_CORRUPT, NULL, "the checkpoint has no scale of its samples");
    m->c = dictionary_setup(&m->config);
    if (!status && !dictionary_known(&m->config))
        status = scale_load(from, "", (enum collection_scale)m->config.scaling, m->c.inputs, &m->columns, err);
    m->tested = !status && phase == MODEL_RUN_DONE && tested > 0 ? tested : 0;
    return status;
}

static enum status declare_weights(struct method_model *m, struct snapshot *snapshot, struct error *err)
{
    enum status status = STATUS_OK;
    for (int s = 0; !status && s < m->seeds; s++)
        status = params_snapshot(m->sae[s]->params, snapshot, err);
    return status;
}

static enum status read_weights(struct method_model *m, const struct snapshot_reader *from, struct error *err)
{
    struct sae_shape shape = dictionary_shape(&m->config, &m->c);
    struct snapshot *snapshot = NULL;
    enum status status = snapshot_create(&snapshot, err);
    shape.penalty *= m->scale;
    for (int s = 0; !status && s < m->seeds; s++) {
        char name[16];
        snprintf(name, sizeof name, "%d.", s);
        status = sae_create(&shape, name, false, &m->sae[s], err);
    }
    if (!status)
        status = declare_weights(m, snapshot, err);
    if (!status)
        status = snapshot_fits(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    if (!status)
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    for (int s = 0; !status && s < m->seeds; s++)
        status = params_check(m->sae[s]->params, err);
    snapshot_destroy(snapshot);
    return status;
}

static enum status read_tables(struct method_model *m, const struct snapshot_reader *from, struct error *err)
{
    struct snapshot *snapshot = NULL;
    if (m->tested == 0)
        return STATUS_OK;
    m->latents = calloc((size_t)m->c.width * LATENT_COLUMNS, sizeof *m->latents);
    enum status status = m->latents ? gallery_create(m->c.width, &m->gallery, err) : error_memory(err, "a gallery");
    if (!status)
        status = snapshot_create(&snapshot, err);
    const struct snapshot_row rows[] = {
        SNAPSHOT_ARRAY("run.latents", m->latents, (uint64_t)m->c.width, LATENT_COLUMNS)};
    if (!status)
        status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    if (!status)
        status = gallery_snapshot(&m->gallery, snapshot, err);
    if (!status)
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_STATE, err);
    snapshot_destroy(snapshot);
    return status;
}

/* Checks the indices of latents in the gallery, because queries read arrays with them. */
static enum status check_tables(const struct method_model *m, struct error *err)
{
    bool sound = true;
    for (int j = 0; m->tested > 0 && j < m->c.width; j++) {
        const struct gallery_counts *counts = &m->gallery.counts[j];
        sound = sound && counts->parent >= -1 && counts->parent < m->c.width;
        for (int i = 0; i < GALLERY_NEAR; i++)
            sound = sound && counts->together[i] >= -1 && counts->together[i] < m->c.width;
    }
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's gallery is damaged");
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

static enum status queries_model_measure(struct method_model *m, struct error *err)
{
    size_t d = (size_t)m->c.inputs, width = (size_t)m->c.width;
    float *scratch = malloc(infer_scratch(&m->sae[0]->shape) * sizeof *scratch);
    bool full = scratch != NULL;
    for (int s = 0; full && s < m->seeds; s++) {
        m->norm[s] = malloc(width * sizeof *m->norm[s]);
        full = m->norm[s] != NULL;
        for (size_t j = 0; full && j < width; j++)
            m->norm[s][j] = (float)sqrt(m->kernels->sum_squares(d, m->sae[s]->decoder->value + j * d));
        if (full)
            m->infer[s] = infer_make(m->sae[s], m->kernels, scratch);
    }
    free(scratch);
    return full ? STATUS_OK : error_memory(err, "a dictionary");
}

/* Returns the vectors of a hidden layer: computes the vectors of a rug, but reads the vectors of an autoencoder from
 * the checkpoint. The caller frees *vectors, also after an error. */
static enum status read_vectors(const struct method_model *m, const struct snapshot_reader *from,
                                struct thread_pool *pool, float **vectors, struct error *err)
{
    const struct hidden hidden = dictionary_hidden(&m->config, &m->c);
    *vectors = malloc((size_t)m->c.features * (size_t)m->c.inputs * sizeof **vectors);
    if (!*vectors)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d vectors", m->c.features);
    if (m->c.source == SOURCE_RUG)
        return hidden_vectors(&hidden, m->kernels, pool, *vectors, err);
    const struct snapshot_row rows[] = {
        SNAPSHOT_ARRAY("data.vectors", *vectors, (uint64_t)m->c.features, (uint64_t)m->c.inputs)};
    return snapshot_read_rows(from, SNAPSHOT_ROWS(rows), err);
}

static enum status open_planted(struct method_model *m, const struct snapshot_reader *from, struct error *err)
{
    struct planted_shape shape = dictionary_data(&m->config, &m->c);
    struct thread_pool *pool = NULL;
    float *vectors = NULL;
    enum status status = thread_pool_create(1, &pool, err);
    if (!status && shape.kind == PLANTED_UNIFORM)
        status = read_vectors(m, from, pool, &vectors, err);
    shape.vectors = vectors;
    if (!status)
        status = planted_create(&shape, m->kernels, pool, &m->planted, err);
    free(vectors);
    thread_pool_destroy(pool);
    return status;
}

/* Opens the source of samples. It is optional: a data set may be gone, and large planted data take long to create. */
static enum status open_source(struct method_model *m, const char *data, const struct snapshot_reader *from,
                               struct error *err)
{
    const struct dictionary_config *c = &m->config;
    struct planted_shape shape = dictionary_data(c, &m->c);
    struct error unused = {0};
    if (dictionary_known(c))
        return planted_work(&shape) > PLANTED_WORK ? STATUS_OK : open_planted(m, from, err);
    const struct rows_request request = dictionary_rows(c, data);
    if (rows_open(&request, &m->rows, &unused) || m->rows.inputs != m->c.inputs)
        rows_close(&m->rows);
    return STATUS_OK;
}

static enum status queries_model_fill(struct method_model *m, const char *data, const struct snapshot_reader *from,
                                      struct error *err)
{
    enum status status = read_run(m, from, err);
    if (status)
        return status;
    status = read_weights(m, from, err);
    if (status)
        return status;
    status = read_tables(m, from, err);
    if (status)
        return status;
    status = check_tables(m, err);
    if (status)
        return status;
    status = queries_model_measure(m, err);
    return status ? status : open_source(m, data, from, err);
}

enum status dictionary_open_model(const void *config, const struct kernels *kernels, const char *data,
                                  const struct snapshot_reader *from, struct method_model **model, struct error *err)
{
    struct method_model *m = calloc(1, sizeof *m);
    if (!m)
        return error_memory(err, "a model");
    m->kernels = kernels;
    m->config = *(const struct dictionary_config *)config;
    m->seeds = (int)m->config.seeds;
    m->rows.file = -1;
    enum status status = queries_model_fill(m, data, from, err);
    if (status) {
        dictionary_close_model(m);
        return status;
    }
    *model = m;
    return STATUS_OK;
}

void dictionary_close_model(struct method_model *m)
{
    if (!m)
        return;
    for (int s = 0; s < DICTIONARY_SEEDS; s++) {
        sae_destroy(m->sae[s]);
        free(m->norm[s]);
    }
    free(m->latents);
    gallery_close(&m->gallery);
    rows_close(&m->rows);
    scale_close(&m->columns);
    planted_close(&m->planted);
    free(m);
}

uint64_t dictionary_model_bytes(const struct method_model *m)
{
    struct planted_shape shape = dictionary_data(&m->config, &m->c);
    uint64_t bytes = sizeof *m + (m->planted.directions ? (uint64_t)planted_bytes(&shape) : 0);
    for (int s = 0; s < m->seeds; s++)
        bytes += params_bytes(m->sae[s]->params) + (uint64_t)m->c.width * sizeof(float);
    if (m->tested > 0)
        bytes += (uint64_t)gallery_bytes(m->c.width) + (uint64_t)m->c.width * LATENT_COLUMNS * sizeof(double);
    return bytes;
}

size_t dictionary_convolutions(const struct method_model *m, struct method_convolution *out, size_t room)
{
    if (room > 0)
        out[0] = (struct method_convolution){"dictionary", m->c.width, m->c.inputs, 1, 1, m->sae[0]->decoder->value};
    return 1;
}

enum status dictionary_seed(const struct method_question *question, int *seed, struct error *err)
{
    const struct dictionary_question *asked = question->parameters;
    *seed = asked ? (int)asked->dictionary : 0;
    if (*seed >= question->model->seeds)
        return error_set(err, STATUS_INVALID, "/dictionary", "must be below %d, the number of dictionaries; got %d",
                         question->model->seeds, *seed);
    return STATUS_OK;
}
