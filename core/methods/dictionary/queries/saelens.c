/* Answers the query "saelens": writes a tar of a folder that SAELens loads as a dictionary (SAE.load_from_disk). It
 * contains
 *
 *   cfg.json                  architecture, sizes, and how to apply the weights
 *   sae_weights.safetensors   W_enc [d][m], W_dec [m][d], b_enc [m], b_dec [d]; jumprelu: threshold [m]
 *   sparsity.safetensors      log10 of the share of test samples in which a latent is active; only if measured
 *
 * The file applies to unscaled samples, so the weights contain the scale s of the training: W_enc is multiplied by s;
 * W_dec and b_dec are divided by s. Except for topk, each row of W_dec is then scaled to norm 1. The column of W_enc,
 * the bias and the threshold of its latent are multiplied by the old norm. Activations are then the codes of the query
 * "encode". For topk this scaling would change which activations are the largest. batchtopk and matryoshka become
 * jumprelu with their running threshold for all latents. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/dictionary/queries/model.h"
#include "core/methods/dictionary/run_int.h"

enum { BLOCK = 512 };
static const char VERSION[] = "6.36.2"; /* the version of SAELens whose format this file writes */

/* ---- tar ----------------------------------------------------------------------------------------------------- */

/* Begins a member of known size: writes a header in the ustar format. */
static void begin_member(struct buf *out, const char *name, size_t bytes)
{
    char head[BLOCK] = "";
    unsigned sum = 0;
    (void)snprintf(head, 100, "%s", name);
    memcpy(head + 100, "0000644", 8);
    memcpy(head + 108, "0000000", 8);
    memcpy(head + 116, "0000000", 8);
    (void)snprintf(head + 124, 12, "%011llo", (unsigned long long)bytes);
    memcpy(head + 136, "00000000000", 12);
    memset(head + 148, ' ', 8);
    head[156] = '0';
    memcpy(head + 257, "ustar\00000", 8);
    for (int i = 0; i < BLOCK; i++)
        sum += (unsigned char)head[i];
    (void)snprintf(head + 148, 8, "%06o", sum);
    buf_append(out, head, BLOCK);
}

static void saelens_pad(struct buf *out, size_t bytes)
{
    static const char zeros[2 * BLOCK];
    buf_append(out, zeros, (BLOCK - bytes % BLOCK) % BLOCK);
}

static void add_member(struct buf *out, const char *name, const struct buf *bytes)
{
    begin_member(out, name, bytes->size);
    buf_append(out, bytes->data, bytes->size);
    saelens_pad(out, bytes->size);
}

/* ---- safetensors --------------------------------------------------------------------------------------------- */

struct array {
    const char *name;
    int rank;
    int64_t dim[2];
    const float *values;
};

static size_t array_bytes(const struct array *t)
{
    return sizeof(float) * (size_t)t->dim[0] * (size_t)(t->rank == 2 ? t->dim[1] : 1);
}

/* Writes the start of a file of float32 tensors: the length of the JSON and the JSON itself. 8 + length is a
 * multiple of 8. */
static void write_head(struct buf *out, const struct array *tensors, int count)
{
    struct buf json;
    size_t at = 0;
    unsigned char length[8];
    buf_init(&json, 4096);
    buf_format(&json, "{");
    for (int i = 0; i < count; i++) {
        const struct array *t = &tensors[i];
        buf_format(&json, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%lld", i > 0 ? "," : "", t->name,
                   (long long)t->dim[0]);
        if (t->rank == 2)
            buf_format(&json, ",%lld", (long long)t->dim[1]);
        buf_format(&json, "],\"data_offsets\":[%zu,%zu]}", at, at + array_bytes(t));
        at += array_bytes(t);
    }
    buf_format(&json, "}");
    while (!json.failed && json.size % 8 != 0)
        buf_format(&json, " ");
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(json.size >> (8 * i));
    buf_append(out, length, sizeof length);
    buf_append(out, json.data, json.size);
    out->failed = out->failed || json.failed;
    buf_close(&json);
}

static void add_tensors(struct buf *out, const char *name, const struct array *tensors, int count)
{
    struct buf head;
    buf_init(&head, 8192);
    write_head(&head, tensors, count);
    size_t bytes = head.size;
    for (int i = 0; i < count; i++)
        bytes += array_bytes(&tensors[i]);
    begin_member(out, name, bytes);
    buf_append(out, head.data, head.size);
    for (int i = 0; i < count; i++)
        buf_append(out, tensors[i].values, array_bytes(&tensors[i]));
    saelens_pad(out, bytes);
    out->failed = out->failed || head.failed;
    buf_close(&head);
}

/* ---- the dictionary ------------------------------------------------------------------------------------------ */

static const char *architecture_of(enum learner learner)
{
    return learner == LEARNER_L1 ? "standard" : learner == LEARNER_TOPK ? "topk" : "jumprelu";
}

static double unit_of(const struct method_model *m, int k)
{
    return m->columns.columns > 0 ? m->columns.unit[k] : 1;
}
static double shift_of(const struct method_model *m, int k)
{
    return m->columns.columns > 0 ? m->columns.shift[k] : 0;
}

/* Arrays in SAELens' layout. */
struct folded {
    float *memory, *encoder, *decoder, *encoder_bias, *bias, *threshold, *sparsity;
};

/* Row j of the decoder is in the units of the file, and column j of the encoder undoes them: the mean of a column is
 * part of the bias, which SAELens subtracts from the input. */
static void fold(const struct method_model *m, int seed, const struct folded *f)
{
    const struct sae *sae = m->sae[seed];
    int d = m->c.inputs, width = m->c.width;
    double scale = m->scale;
    for (int k = 0; k < d; k++)
        f->bias[k] = (float)(shift_of(m, k) + (double)sae->bias->value[k] / scale * unit_of(m, k));
    for (int j = 0; j < width; j++) {
        const float *encoder = sae->encoder->value + (ptrdiff_t)j * d,
                    *decoder = sae->decoder->value + (ptrdiff_t)j * d;
        double square = 0, norm = (double)m->norm[seed][j] / scale;
        for (int k = 0; m->columns.columns > 0 && k < d; k++)
            square += pow((double)decoder[k] * unit_of(m, k), 2);
        norm = m->columns.columns > 0 ? sqrt(square) / scale : norm;
        if (sae->shape.learner == LEARNER_TOPK || !(norm > 0))
            norm = 1;
        for (int k = 0; k < d; k++) {
            f->encoder[(ptrdiff_t)k * width + j] = (float)((double)encoder[k] * scale * norm / unit_of(m, k));
            f->decoder[(ptrdiff_t)j * d + k] = (float)((double)decoder[k] / scale / norm * unit_of(m, k));
        }
        f->encoder_bias[j] = (float)((double)sae->encoder_bias->value[j] * norm);
        f->threshold[j] = (float)((double)sae_threshold(sae, j) * norm);
        if (m->tested > 0)
            f->sparsity[j] = (float)log10(m->latents[(ptrdiff_t)j * LATENT_COLUMNS + LATENT_RATE] + 1e-10);
    }
}

static void write_config(const struct method_model *m, struct buf *out)
{
    bool topk = m->c.learner == LEARNER_TOPK;
    buf_format(out,
               "{\"architecture\": \"%s\", \"d_in\": %d, \"d_sae\": %d, \"dtype\": \"float32\", \"device\": \"cpu\", "
               "\"apply_b_dec_to_input\": true, \"normalize_activations\": \"none\", \"reshape_activations\": \"none\"",
               architecture_of(m->c.learner), m->c.inputs, m->c.width);
    if (topk)
        buf_format(out, ", \"k\": %d, \"rescale_acts_by_decoder_norm\": false", (int)(m->c.l0 + 0.5));
    buf_format(out,
               ", \"metadata\": {\"sae_lens_version\": \"%s\", \"sae_lens_training_version\": \"%s\", "
               "\"exported_by\": \"motifd\", \"learner\": \"%s\"}}\n",
               VERSION, VERSION, dictionary_learners[m->c.learner]);
}

static void write_folder(const struct method_model *m, int seed, const struct folded *f, struct buf *out)
{
    static const char end[2 * BLOCK];
    int64_t d = m->c.inputs, width = m->c.width;
    const struct array tensors[] = {{"W_dec", 2, {width, d}, f->decoder},
                                    {"W_enc", 2, {d, width}, f->encoder},
                                    {"b_dec", 1, {d, 1}, f->bias},
                                    {"b_enc", 1, {width, 1}, f->encoder_bias},
                                    {"threshold", 1, {width, 1}, f->threshold}};
    const struct array sparsity = {"sparsity", 1, {width, 1}, f->sparsity};
    bool jump = strcmp(architecture_of(m->c.learner), "jumprelu") == 0;
    struct buf config;
    buf_init(&config, 4096);
    write_config(m, &config);
    add_member(out, "cfg.json", &config);
    out->failed = out->failed || config.failed;
    buf_close(&config);
    add_tensors(out, "sae_weights.safetensors", tensors, jump ? 5 : 4);
    if (m->tested > 0 && seed == 0)
        add_tensors(out, "sparsity.safetensors", &sparsity, 1);
    buf_append(out, end, sizeof end);
}

enum status dictionary_saelens(const struct method_question *question, struct buf *out, struct error *err)
{
    const struct method_model *m = question->model;
    size_t d = (size_t)m->c.inputs, width = (size_t)m->c.width;
    int seed = 0;
    enum status status = dictionary_seed(question, &seed, err);
    if (status)
        return status;
    if (!sae_has_encoder(m->c.learner))
        return error_set(err, STATUS_CONFLICT, NULL,
                         "dictionaries of the learner %s have no encoder, which SAELens needs",
                         dictionary_learners[m->c.learner]);
    if (m->columns.columns > 0 && m->columns.kind == SCALE_COUNTS)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "this dictionary takes the logarithm of counts (scale=counts), which SAELens cannot do; train "
                         "with scale=standard");
    struct folded f = {.memory = malloc((2 * d * width + d + 3 * width) * sizeof(float))};
    if (!f.memory)
        return error_memory(err, "a dictionary");
    f.encoder = f.memory;
    f.decoder = f.encoder + d * width;
    f.bias = f.decoder + d * width;
    f.encoder_bias = f.bias + d;
    f.threshold = f.encoder_bias + width;
    f.sparsity = f.threshold + width;
    fold(m, seed, &f);
    write_folder(m, seed, &f, out);
    free(f.memory);
    return out->failed ? error_set(err, STATUS_LIMIT, NULL, "this dictionary is too large for one answer") : STATUS_OK;
}
