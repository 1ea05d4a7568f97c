/* What a configuration costs: operations, memory, checkpoints. The bytes follow the allocations of work.c, model/fit.c
 * and model/nmf.c; tests/reproduce/memory_peaks compares them with runs. */
#include <math.h>

#include "core/data/tables/features.h"
#include "core/methods/factors/config.h"
#include "core/methods/shared/table_source.h"

enum {
    TABLE_ROWS = 10000,   /* number of rows assumed for a table whose size is unknown */
    BASE_BYTES = 3 << 19, /* memory of every run: pages of libraries, and the first block of an arena */
    PICTURES = 15 << 19,  /* memory for drawing masks and charts, with fonts */
};

/* Memory of an arena's blocks, as a multiple of the largest memory that a pass uses. Passes of different sizes leave
 * parts of the blocks unused. */
static const double BLOCKS = 1.3;

/* Operations of a run: the training of all restarts and, afterwards, the covariances of anchors with all features
 * (evaluate.c). The estimate assumes that every feature is an anchor, that is, depends on one latent variable only. */
static double flops_of(const struct factors_config *config, int features, int rows)
{
    struct fit_setup setup = factors_setup(config, features, rows, 0);
    if (config->model == MODEL_NMF)
        return 12.0 * rows * features * (double)config->latent * (double)config->nmf_iterations;
    double others = (double)(config->restarts - 1), epochs = (double)setup.epochs;
    double screened = config->screen_epochs > 0 ? fmin(epochs, (double)config->screen_epochs) : epochs;
    bool masks = config->model == MODEL_SPARSE_VAE || config->model == MODEL_OI_VAE;
    double anchors = masks ? 2.0 * rows * features * (double)features : 0;
    return latent_flops(&setup.shape) * rows * (epochs + others * screened) + anchors;
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* The size of the table, and its bytes while it is read and afterwards. */
struct table_bytes {
    int rows, features; /* rows: number of rows of all parts together */
    double while_read, kept;
};

static struct table_bytes table_of(const struct factors_config *c, const char *data)
{
    struct table_bytes t = {.features = factors_features(c)};
    struct table_size size;
    if (c->data == DATA_SYNTHETIC) {
        t.rows = (int)c->rows;
        t.kept = 4.0 * t.rows * (t.features + SYNTHETIC_FACTORS);
        return t;
    }
    t.rows = TABLE_ROWS;
    if (source_size(c->dataset_name, data, &size)) {
        t.rows = size.rows;
        t.features = t.features < size.columns ? t.features : size.columns;
        t.while_read = (double)size.bytes + 4.0 * size.rows * size.columns;
    }
    t.kept = 4.0 * t.rows * t.features * (c->data == DATA_SHIFTED ? 2 : 1);
    return t;
}

/* Number of floats that the encoder needs for one row of a batch: activations and gradients. Gradients that are not
 * needed at the same time share memory. */
static double encoder_floats(const struct fit_setup *setup)
{
    double h = setup->shape.hidden, k = setup->shape.latent;
    return 4 * h + 8 * k + (setup->shape.model == MODEL_VSC ? 8 * k : 0);
}

/* Bytes that the decoder needs for one row of a piece: activations and gradients. A decoder that skips zeros needs less
 * than others, because it reuses the memory of its gradients. In others, the gradients of two layers of the same size
 * exist at the same time. */
static double decoder_bytes(const struct latent_shape *s, const struct latent_model *model, bool skips)
{
    if (s->model == MODEL_OI_VAE)
        return 2 * sizeof(float) * (double)s->features * ((double)s->group + 1);
    return (skips ? 0.7 : 1) * latent_row_bytes(model);
}

/* Bytes of a fit. works: whether the fit trains. The copy of the best fit does not train, so it has no batch and no
 * activations. */
static double fit_bytes(const struct factors_config *c, const struct fit_setup *setup, const struct latent_model *model,
                        int rows, bool works)
{
    double g = setup->shape.features, batch = fmin((double)setup->batch, rows);
    double bytes = 16.0 * (double)params_count(model->params) + 4 * g * (double)setup->shape.latent + 4.0 * rows;
    if (!works)
        return bytes;
    bytes += 4 * batch * (g * (setup->relative ? 2 : 1) + (double)setup->shape.latent);
    /* Before proximal steps begin, no weight is exactly zero, so the decoder cannot skip any. */
    bool skips = c->zeros == ZEROS_SKIP && setup->zeros_after < setup->epochs;
    double piece = fmin(batch, fmax(1, fit_piece_bytes(skips) / latent_row_bytes(model)));
    double decoder = piece * decoder_bytes(&setup->shape, model, skips);
    /* The encoder's memory serves two purposes, so it has the size of the larger one: training the encoder with a
     * batch; and computing codes, in which the encoder and the decoder both process a piece without gradients. */
    double encoder = fmax(4 * batch * encoder_floats(setup), 4 * piece * encoder_floats(setup) / 2 + decoder / 2);
    return bytes + BLOCKS * (encoder + decoder);
}

/* Bytes and parameters of a run after its table was read. A run has two phases, and the bytes are what the larger
 * phase needs. In the first, all restarts train, and a copy of the best fit is kept. In the second, the only fit left
 * computes the codes of the training rows, and pictures are drawn, which needs `pictures` bytes. */
static enum status run_bytes(const struct factors_config *c, const struct table_bytes *table, int train,
                             double pictures, double *bytes, int64_t *parameters, struct error *err)
{
    double g = table->features, k = (double)c->latent, most = fmax(train, g), codes = 4.0 * train * k;
    struct fit_setup setup = factors_setup(c, table->features, train, 0);
    struct latent_model *model = NULL;
    if (c->model == MODEL_NMF) {
        double start = 8 * (g * g + 2 * g * fmin(k + 10, fmin(g, train)) + train);
        *bytes = 4 * (train * g + train * k + g * k + most * k) + fmax(start, pictures);
        *parameters = (int64_t)(g * k);
        return STATUS_OK;
    }
    enum status status = latent_declare(&setup.shape, "", &model, err);
    if (!status) {
        double fits = (double)c->restarts, fit = fit_bytes(c, &setup, model, train, true);
        double copy = fits > 1 ? fit_bytes(c, &setup, model, train, false) : 0;
        *bytes = fmax(fits * fit + copy, fit + codes + pictures);
        *parameters = params_count(model->params);
    }
    latent_destroy(model);
    return status;
}

/* Rows of the training part. */
static int train_rows(const struct factors_config *c, const struct table_bytes *table)
{
    if (c->data == DATA_SYNTHETIC || c->data == DATA_SHIFTED)
        return table->rows / 2 > 0 ? table->rows / 2 : 1;
    return (int)((double)table->rows * (double)(c->folds - 1) / (double)c->folds) + 1;
}

enum status factors_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err)
{
    struct factors_config own = *(const struct factors_config *)config;
    own.latent += own.latent == 0; /* 0: assume 1 until resolve() knows the data set */
    const struct factors_config *c = &own;
    struct table_bytes table = table_of(c, data);
    int train = train_rows(c, &table);
    bool masks = c->model == MODEL_SPARSE_VAE || c->model == MODEL_NMF || c->model == MODEL_OI_VAE;
    double samples = (double)factors_setup(c, table.features, train, 0).epochs * train, bytes = 0;
    int64_t parameters = 0;
    enum status status = run_bytes(c, &table, train, masks ? PICTURES : 0, &bytes, &parameters, err);
    *out = (struct method_estimate){
        .parameters = parameters,
        .flops_per_sample = flops_of(c, table.features, train) / samples,
        .memory_bytes = (int64_t)fmax(table.while_read, table.kept + bytes) + BASE_BYTES,
        .checkpoint_bytes = 12 * parameters * c->restarts + 4096 + 256,
        .samples = (int64_t)samples,
        .gflops = c->hidden < 100 ? 8 : 0, /* GFLOPS: small products reach only about 8; 0 stands for the usual speed */
    };
    return status;
}
