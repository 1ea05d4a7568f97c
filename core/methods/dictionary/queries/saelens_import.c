/* Reads a tar of a folder of SAELens as a dictionary. The folder must contain cfg.json and sae_weights.safetensors, in
 * any order. If it contains sparsity.safetensors, the mean number of active latents is computed from it. Other members
 * are ignored.
 *
 *   architecture standard   learner l1          max(0, h)
 *   architecture topk       learner topk        with k
 *   architecture jumprelu   learner jumprelu    with a threshold for each latent; files of batchtopk and matryoshka too
 *
 * Two options of SAELens have no counterpart in motifd, so the import changes the weights instead. If
 * apply_b_dec_to_input is false, it adds the bias times W_enc to b_enc. If rescale_acts_by_decoder_norm is true, it
 * multiplies each column of W_enc and its bias by the norm of the corresponding row of W_dec, and divides the row by
 * this norm. It refuses a file whose inputs are scaled at run time (normalize_activations), because the file does
 * not contain the factor. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/archive.h"
#include "core/formats/json/tensors.h"
#include "core/methods/dictionary/queries/model.h"

enum { CONFIG_BYTES = 1 << 20, MEMBERS = 64, NUMBERS = 1 << 27 };
enum { W_ENC, W_DEC, B_ENC, B_DEC, THRESHOLD, LOG_THRESHOLD, SPARSITY, TENSORS };
static const char *const tensor_names[] = {"W_enc",     "W_dec",         "b_enc",   "b_dec",
                                           "threshold", "log_threshold", "sparsity"};

struct folder {
    struct work *work;
    int64_t taken; /* bytes of memory that were taken for the import */
    struct json_fields *config;
    struct matrix {
        float *values; /* NULL: the folder does not contain this tensor */
        int rank;
        int64_t dim[2];
    } tensor[TENSORS];
};

static void folder_close(struct folder *f)
{
    json_fields_destroy(f->config);
    for (int i = 0; i < TENSORS; i++)
        free(f->tensor[i].values);
}

/* ---- members ------------------------------------------------------------------------------------------------- */

static enum status read_config(struct folder *f, const struct byte_source *from, struct error *err)
{
    char *text = NULL;
    size_t bytes;
    struct error cause = {0};
    enum status status = byte_source_all(from, CONFIG_BYTES, &text, &bytes, err);
    if (!status && f->config)
        status = error_set(err, STATUS_INVALID, NULL, "the archive contains cfg.json twice");
    if (!status)
        status = json_fields_create(text, bytes, &f->config, &cause);
    if (cause.code)
        status = error_set(err, status, NULL, "cfg.json: %s", cause.message);
    free(text);
    return status;
}

/* Takes memory for `count` numbers before they are read. They are in memory up to three times: as a tensor, in the
 * dictionary, and in the checkpoint. */
static enum status take_memory(struct folder *f, size_t count, struct error *err)
{
    enum { COPIES = 3 };
    int64_t bytes = (int64_t)(count * sizeof(float) * COPIES);
    enum status status = work_take(f->work, LEDGER_MODELS, bytes, err);
    f->taken += status ? 0 : bytes;
    return status;
}

static enum status read_tensor(struct folder *f, const struct tensors_entry *e, const struct byte_source *from,
                               struct error *err)
{
    const struct npy_header *h = &e->header;
    int which = 0;
    while (which < TENSORS && strcmp(tensor_names[which], e->name) != 0)
        which++;
    if (which == TENSORS || f->tensor[which].values)
        return error_set(err, STATUS_INVALID, NULL,
                         "tensor '%.60s' is unknown or repeated; a dictionary has W_enc, W_dec, b_enc, b_dec and, for "
                         "jumprelu, threshold",
                         e->name);
    struct matrix *t = &f->tensor[which];
    bool number = h->element == NPY_FLOAT || h->element == NPY_BFLOAT;
    if (!number || h->rank < 1 || h->rank > 2 || e->end == e->begin || e->end - e->begin > (int64_t)NUMBERS * 8)
        return error_set(err, STATUS_INVALID, NULL, "tensor '%s' must be floats in one or two dimensions", e->name);
    size_t count = (size_t)(e->end - e->begin) / h->item;
    t->rank = h->rank;
    t->dim[0] = h->dim[0];
    t->dim[1] = h->rank == 2 ? h->dim[1] : 1;
    enum status status = take_memory(f, count, err);
    if (status)
        return status;
    t->values = count <= NUMBERS ? malloc(count * sizeof *t->values) : NULL;
    return t->values ? npy_values_read(from, h, 0, count, t->values, NULL, err)
                     : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for tensor '%s'", e->name);
}

static enum status read_tensors(struct folder *f, const struct byte_source *from, struct error *err)
{
    struct tensors t;
    enum status status = tensors_head_read(from, &t, err);
    for (int i = 0; !status && i < t.count; i++) {
        struct tensors_piece piece = {from, t.entry[i].end - t.entry[i].begin};
        struct byte_source bytes = tensors_piece_source(&piece);
        status = read_tensor(f, &t.entry[i], &bytes, err);
    }
    if (!status)
        status = byte_source_end(from, "the last tensor", err);
    tensors_close(&t);
    return status;
}

static enum status read_member(void *context, const char *name, const struct byte_source *from, struct error *err)
{
    struct folder *f = context;
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    if (strcmp(last, "cfg.json") == 0)
        return read_config(f, from, err);
    if (strcmp(last, "sae_weights.safetensors") == 0 || strcmp(last, "sparsity.safetensors") == 0)
        return read_tensors(f, from, err);
    return STATUS_OK;
}

static enum status read_folder(struct folder *f, const struct byte_source *from, struct error *err)
{
    const struct archive_limits bounds = {MEMBERS, (int64_t)NUMBERS * 8};
    return archive_reader_each(ARCHIVE_TAR, from, &bounds, read_member, f, err);
}

/* ---- what the configuration says ----------------------------------------------------------------------------- */

static enum status unknown(const char *name, const char *value, const char *allowed, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, "cfg.json: %s is '%.60s'; motifd reads %s", name, value, allowed);
}

static double l0_of(const struct folder *f, enum learner learner, int width)
{
    const struct matrix *sparsity = &f->tensor[SPARSITY];
    double sum = 0;
    if (learner == LEARNER_TOPK) { /* early versions of SAELens store k in activation_fn_kwargs; their default is 100 */
        double early = json_fields_number(f->config, "activation_fn_kwargs", "k", 100);
        return json_fields_number(f->config, "k", NULL, early);
    }
    for (int64_t j = 0; sparsity->values && j < width; j++)
        sum += pow(10, fmin(0, (double)sparsity->values[j]));
    return sparsity->values ? fmin(fmax(1, round(sum)), width) : fmin(20, width);
}

static enum status take_learner(const struct folder *f, enum learner *out, struct error *err)
{
    const char *architecture = json_fields_text(f->config, "architecture", "standard");
    const char *function =
        json_fields_text(f->config, "activation_fn", json_fields_text(f->config, "activation_fn_str", "relu"));
    *out = strcmp(architecture, "jumprelu") == 0                                ? LEARNER_JUMPRELU
           : strcmp(architecture, "topk") == 0 || strcmp(function, "topk") == 0 ? LEARNER_TOPK
                                                                                : LEARNER_L1;
    if (*out == LEARNER_L1 && strcmp(architecture, "standard") != 0)
        return unknown("architecture", architecture, "standard, topk and jumprelu", err);
    if (*out == LEARNER_L1 && strcmp(function, "relu") != 0)
        return unknown("activation_fn", function, "relu and topk", err);
    const char *scaling = json_fields_text(f->config, "normalize_activations", "none");
    if (strcmp(scaling, "none") != 0)
        return unknown("normalize_activations", scaling,
                       "only none, because the factor is not in the file; fold the factor into the weights "
                       "(fold_activation_norm_scaling_factor) and save the dictionary again",
                       err);
    if (json_fields_flag(f->config, "finetuning_scaling_factor", false))
        return unknown("finetuning_scaling_factor", "true", "false", err);
    return STATUS_OK;
}

static bool has_shape(const struct matrix *t, int rank, int64_t rows, int64_t cols)
{
    return t->values && t->rank == rank && t->dim[0] == rows && t->dim[1] == cols;
}

static enum status take_shape(const struct folder *f, struct sae_shape *out, struct error *err)
{
    const struct matrix *t = f->tensor;
    enum status status = take_learner(f, &out->learner, err);
    if (status)
        return status;
    int64_t m = t[W_DEC].dim[0], d = t[W_DEC].dim[1];
    bool jump = out->learner == LEARNER_JUMPRELU;
    if (t[W_DEC].rank != 2 || m > 65536 || d > 16384)
        return error_set(err, STATUS_INVALID, NULL,
                         "the shape of W_dec must be [latents][inputs], with at most 65536 latents and 16384 inputs");
    if (!has_shape(&t[W_ENC], 2, d, m) || !has_shape(&t[B_ENC], 1, m, 1) || !has_shape(&t[B_DEC], 1, d, 1) ||
        (jump && !has_shape(&t[THRESHOLD], 1, m, 1) && !has_shape(&t[LOG_THRESHOLD], 1, m, 1)))
        return error_set(err, STATUS_INVALID, NULL,
                         "the shapes must be: W_enc [%lld][%lld], b_enc [%lld], b_dec [%lld], and for jumprelu "
                         "threshold [%lld], because that of W_dec is [%lld][%lld]",
                         (long long)d, (long long)m, (long long)m, (long long)d, (long long)m, (long long)m,
                         (long long)d);
    if (t[SPARSITY].values && !has_shape(&t[SPARSITY], 1, m, 1))
        return error_set(err, STATUS_INVALID, NULL, "the shape of sparsity must be [%lld]", (long long)m);
    out->inputs = (int)d;
    out->width = out->level_end[0] = (int)m;
    out->levels = 1;
    out->l0 = l0_of(f, out->learner, out->width);
    return out->l0 >= 1 && out->l0 <= fmin(4096, out->width)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL, "cfg.json: k must be from 1 to %d", (int)fmin(4096, out->width));
}

/* ---- the dictionary ------------------------------------------------------------------------------------------ */

static void saelens_import_fill(const struct folder *f, struct sae *sae)
{
    int m = sae->shape.width, d = sae->shape.inputs;
    const struct matrix *t = f->tensor;
    bool rescale =
        sae->shape.learner == LEARNER_TOPK && json_fields_flag(f->config, "rescale_acts_by_decoder_norm", false);
    bool centred = json_fields_flag(f->config, "apply_b_dec_to_input", true);
    memcpy(sae->bias->value, t[B_DEC].values, (size_t)d * sizeof(float));
    for (int j = 0; j < m; j++) {
        const float *row = t[W_DEC].values + (ptrdiff_t)j * d;
        double square = 0, bias = (double)t[B_ENC].values[j];
        for (int k = 0; k < d; k++)
            square += (double)row[k] * (double)row[k];
        double norm = rescale && square > 0 ? sqrt(square) : 1;
        for (int k = 0; k < d; k++) {
            double weight = (double)t[W_ENC].values[(ptrdiff_t)k * m + j];
            bias += centred ? 0 : weight * (double)t[B_DEC].values[k];
            sae->encoder->value[(ptrdiff_t)j * d + k] = (float)(weight * norm);
            sae->decoder->value[(ptrdiff_t)j * d + k] = (float)((double)row[k] / norm);
        }
        sae->encoder_bias->value[j] = (float)(bias * norm);
        if (sae->threshold)
            sae->threshold->value[j] = t[THRESHOLD].values ? t[THRESHOLD].values[j] : expf(t[LOG_THRESHOLD].values[j]);
    }
}

static enum status saelens_import_append(void *context, const void *bytes, size_t count, struct error *err)
{
    struct buf *out = context;
    buf_append(out, bytes, count);
    return out->failed ? error_set(err, STATUS_LIMIT, NULL, "the dictionary is too large") : STATUS_OK;
}

static enum status write_checkpoint(const struct sae *sae, struct buf *out, struct error *err)
{
    int64_t phase = 0, tested = 0;
    double scale = 1;
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("run.phase", &phase),
                                        SNAPSHOT_NUMBER("evaluation.samples", &tested),
                                        SNAPSHOT_NUMBER("run.scale", &scale)};
    const struct snapshot_writer to = {out, saelens_import_append};
    struct snapshot *snapshot = NULL;
    enum status status = snapshot_create(&snapshot, err);
    if (!status)
        status = params_snapshot(sae->params, snapshot, err);
    if (!status)
        status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    if (!status)
        status = snapshot_write(snapshot, &to, err);
    snapshot_destroy(snapshot);
    return status;
}

static void write_config(const struct sae_shape *shape, struct buf *out)
{
    buf_format(out,
               "{\"source\": \"dataset\", \"learner\": \"%s\", \"inputs\": %d, \"width\": %d, \"l0\": %.17g, "
               "\"seeds\": 1%s}",
               dictionary_learners[shape->learner], shape->inputs, shape->width, shape->l0,
               shape->l0 > 256 ? ", \"pursuit_samples\": 0" : "");
}

static enum status saelens_import_convert(const struct folder *f, struct buf *config, struct buf *checkpoint,
                                          struct error *err)
{
    struct sae_shape shape = {.learner = LEARNER_L1};
    struct sae *sae = NULL;
    enum status status = take_shape(f, &shape, err);
    if (status)
        return status;
    status = sae_create(&shape, "0.", false, &sae, err);
    if (status)
        return status;
    sae_init(sae, 0);
    saelens_import_fill(f, sae);
    write_config(&shape, config);
    status = write_checkpoint(sae, checkpoint, err);
    sae_destroy(sae);
    return status;
}

enum status dictionary_adopt(const struct byte_source *from, struct buf *config, struct buf *checkpoint,
                             struct error *err)
{
    struct folder f = {.work = from->work};
    enum status status = read_folder(&f, from, err);
    if (!status && (!f.config || !f.tensor[W_DEC].values))
        status =
            error_set(err, STATUS_INVALID, NULL,
                      "the archive is not a folder of SAELens: it must contain cfg.json and sae_weights.safetensors");
    if (!status)
        status = saelens_import_convert(&f, config, checkpoint, err);
    folder_close(&f);
    work_give(f.work, LEDGER_MODELS, f.taken - (int64_t)checkpoint->size); /* the checkpoint stays */
    return status;
}
