/* Recovers the activation pathway of one signal in a stack of convolutions, and reports which guarantee covers it
 * (recover.h). */
#include "core/methods/pathways/recover.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/random/philox.h"
#include "core/coding/bounds.h"
#include "core/nn/coherence.h"

static const char *const decoder_names[] = {"top-k", "hard", "soft", "relu", "pursuit", NULL};
static const char *const signs_names[] = {"plus", "random", NULL};

#define FIELD_STRUCT struct recover_options
static const struct config_field fields[] = {
#define FIELDS_FILE "core/methods/pathways/recover.inc"
#include "core/methods/shared/field_rows.inc"
};
const struct config_table recover_options_table = CONFIG_TABLE(fields, struct recover_options);

/* The state of one recovery. All memory except the dictionaries is in the arena. */
struct recovery {
    const struct method_recovery *request;
    const struct recover_options *options;
    struct arena arena;
    struct thread_pool *pool; /* a pool of one thread, which request->stop can stop */
    struct dictionary dictionary[RECOVER_LAYERS];
    int layers, opened;
    float *signal;
    float
        *truth[RECOVER_LAYERS]; /* maps of the codes for which bounds are computed: the true ones or the fitted ones */
    struct spikes found[RECOVER_LAYERS]; /* what the decoder found */
    uint32_t *signs[RECOVER_LAYERS];
    float *map, *scratch;
    struct spikes sparse; /* scratch for recover_encode(): the non-zeros of one layer's code */
    double *sums;
    double zeta; /* patch norm of the noise for which bounds are computed */
    bool known;  /* whether the request contains the deepest code */
};

static void *recover_take(struct recovery *r, size_t count, size_t size, enum status *status, struct error *err)
{
    void *at = arena_zalloc(&r->arena, count, size);
    if (!at && !*status)
        *status = error_memory(err, "a recovery");
    return at;
}

/* ---- the stack --------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static enum status layer_fault(struct error *err, size_t layer,
                                                                     const char *format, ...)
{
    char pointer[40], text[160];
    snprintf(pointer, sizeof pointer, "/layers/%zu/filters", layer);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return error_set(err, STATUS_INVALID, pointer, "%s", text);
}

static enum status check_stack(const struct method_recovery *q, struct error *err)
{
    const double gram_most = 16e6, code_most = 4e6, work_most = 4e9;
    int64_t height = q->rank == 2 ? q->dim[0] : 1, width = q->dim[q->rank - 1];
    double work = 0;
    if (q->layer_count < 1 || q->layer_count > RECOVER_LAYERS)
        return error_set(err, STATUS_INVALID, "/layers", "must be 1 to %d convolutions; got %zu", RECOVER_LAYERS,
                         q->layer_count);
    for (size_t l = 0; l < q->layer_count; l++) {
        const struct method_convolution *c = &q->layers[l];
        int inputs = l == 0 ? c->inputs : q->layers[l - 1].filters;
        if (c->inputs != inputs)
            return layer_fault(err, l, "must have %d input channels; got %d", inputs, c->inputs);
        if (c->height > height || c->width > width)
            return layer_fault(err, l, "must not be larger than the signal; extents are %d x %d", c->height, c->width);
        struct dictionary_shape s = {(int)height, (int)width, c->inputs, c->filters, c->height, c->width};
        double atoms = (double)height * (double)width * c->filters;
        if (dictionary_gram_size(&s) > gram_most || atoms > code_most)
            return layer_fault(err, l, "would need %.3g numbers; at most %.3g are allowed",
                               fmax(dictionary_gram_size(&s), atoms), code_most);
        work += 60 * atoms * c->inputs * c->height * c->width;
    }
    if (work > work_most)
        return error_set(err, STATUS_INVALID, "/layers", "would take about %.2g operations; at most %.2g are allowed",
                         work, work_most);
    return STATUS_OK;
}

/* Creates the dictionary of a layer: converts the filters from the layout of convolutions to that of dictionaries. */
static enum status make_dictionary(struct recovery *r, size_t l, struct error *err)
{
    const struct method_recovery *q = r->request;
    const struct method_convolution *c = &q->layers[l];
    struct dictionary_shape s = {
        q->rank == 2 ? (int)q->dim[0] : 1, (int)q->dim[q->rank - 1], c->inputs, c->filters, c->height, c->width};
    size_t window = (size_t)c->height * (size_t)c->width, inputs = (size_t)c->inputs;
    float *filters = malloc((size_t)c->filters * inputs * window * sizeof *filters);
    struct error inner;
    error_clear(&inner);
    if (!filters)
        return error_memory(err, "filters");
    for (size_t f = 0; f < (size_t)c->filters; f++)
        for (size_t i = 0; i < inputs; i++)
            for (size_t t = 0; t < window; t++)
                filters[(f * window + t) * inputs + i] = c->weights[(f * inputs + i) * window + t];
    enum status status = dictionary_create(&s, filters, q->kernels, r->pool, &r->dictionary[l], &inner);
    free(filters);
    if (status == STATUS_INVALID)
        return layer_fault(err, l, "must have no filter that is zero or not finite");
    if (status)
        return error_set(err, status, NULL, "%s", inner.message);
    r->opened = (int)l + 1;
    return STATUS_OK;
}

static enum status open_stack(struct recovery *r, struct error *err)
{
    const struct method_recovery *q = r->request;
    enum status status = check_stack(q, err);
    size_t most = 0, scratch = 0;
    r->layers = (int)q->layer_count;
    for (size_t l = 0; !status && l < q->layer_count; l++) {
        status = thread_pool_check(r->pool, err);
        if (!status)
            status = make_dictionary(r, l, err);
        if (status)
            break;
        const struct dictionary *d = &r->dictionary[l];
        size_t atoms = dictionary_code_size(d), need = dictionary_scratch(d);
        if (r->options->decoder == DECODER_PURSUIT && decode_pursuit_scratch(d) > need)
            need = decode_pursuit_scratch(d);
        most = atoms > most ? atoms : most;
        scratch = need > scratch ? need : scratch;
        r->truth[l] = recover_take(r, atoms, sizeof(float), &status, err);
        r->found[l].at = recover_take(r, atoms, sizeof(int32_t), &status, err);
        r->found[l].value = recover_take(r, atoms, sizeof(float), &status, err);
        r->signs[l] = recover_take(r, atoms / 32 + 1, sizeof(uint32_t), &status, err);
        if (!status && r->options->signs == 1) {
            struct philox random = philox_stream((uint64_t)r->options->seed, (uint32_t)l + 1, 0);
            philox_fill_u32(&random, 0, r->signs[l], atoms / 32 + 1);
        }
    }
    if (!status) {
        most = dictionary_signal_size(&r->dictionary[0]) > most ? dictionary_signal_size(&r->dictionary[0]) : most;
        r->signal = recover_take(r, dictionary_signal_size(&r->dictionary[0]), sizeof(float), &status, err);
        r->map = recover_take(r, most, sizeof(float), &status, err);
        r->scratch = recover_take(r, scratch > most ? scratch : most, sizeof(float), &status, err);
        r->sparse.at = recover_take(r, most, sizeof(int32_t), &status, err);
        r->sparse.value = recover_take(r, most, sizeof(float), &status, err);
        r->sums = recover_take(r, 2 * most, sizeof(double), &status, err);
    }
    return status;
}

static void close_recovery(struct recovery *r)
{
    for (int l = 0; l < r->opened; l++)
        dictionary_close(&r->dictionary[l]);
    arena_close(&r->arena);
    thread_pool_destroy(r->pool);
}

/* ---- encoder ------------------------------------------------------------------------------------- */

static bool minus(const uint32_t *signs, size_t at)
{
    return signs[at / 32] >> (at % 32) & 1;
}

/* Multiplies the non-zeros of the map by the signs D of layer l and writes them to r->sparse. Tiny entries are rounding
 * errors of sums that cancel; they become zero in the map. */
static void gather_signed(struct recovery *r, int l, float *map)
{
    size_t count = dictionary_code_size(&r->dictionary[l]);
    float largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmaxf(largest, fabsf(map[i]));
    r->sparse.count = 0;
    for (size_t i = 0; i < count; i++) {
        if (fabsf(map[i]) <= 1e-6f * largest)
            map[i] = 0;
        if (map[i] == 0)
            continue;
        r->sparse.at[r->sparse.count] = (int32_t)i;
        r->sparse.value[r->sparse.count++] = minus(r->signs[l], i) ? -map[i] : map[i];
    }
}

/* Computes truth[layers - 2] to truth[0] from truth[layers - 1], and the signal that they generate. */
static void recover_encode(struct recovery *r, float *signal)
{
    for (int l = r->layers - 1; l >= 0; l--) {
        gather_signed(r, l, r->truth[l]);
        dictionary_synthesise(&r->dictionary[l], &r->sparse, l > 0 ? r->truth[l - 1] : signal);
    }
}

static enum status place_code(struct recovery *r, struct error *err)
{
    const struct method_recovery *q = r->request;
    const struct dictionary_shape *s = &r->dictionary[r->layers - 1].shape;
    float *code = r->truth[r->layers - 1];
    for (size_t i = 0; i < q->code_count; i++) {
        const struct method_spike *spike = &q->code[i];
        char pointer[40];
        snprintf(pointer, sizeof pointer, "/code/%zu", i);
        if (spike->row < 0 || spike->row >= s->height || spike->column < 0 || spike->column >= s->width ||
            spike->filter < 0 || spike->filter >= s->filters)
            return error_set(err, STATUS_INVALID, pointer, "must lie within %d x %d positions and %d filters",
                             s->height, s->width, s->filters);
        if (!(fabs(spike->value) > 1e-30 && fabs(spike->value) < 1e30))
            return error_set(err, STATUS_INVALID, pointer, "must have a value that is not zero");
        size_t at = ((size_t)spike->row * (size_t)s->width + (size_t)spike->column) * (size_t)s->filters +
                    (size_t)spike->filter;
        if (code[at] != 0)
            return error_set(err, STATUS_INVALID, pointer, "has the position of another entry");
        code[at] = (float)spike->value;
    }
    recover_encode(r, r->signal);
    r->zeta = r->options->noise;
    r->known = true;
    return STATUS_OK;
}

/* ---- decoder ------------------------------------------------------------------------------------- */

static double extreme(const float *values, size_t count, bool least)
{
    double most = 0, small = INFINITY;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)values[i]));
        if (values[i] != 0)
            small = fmin(small, fabs((double)values[i]));
    }
    return least ? (isfinite(small) ? small : 0) : most;
}

static int64_t nonzeros_of(const struct recovery *r, int l)
{
    int64_t count = 0;
    if (r->request->nonzeros)
        return r->request->nonzeros[l];
    for (size_t i = 0; i < dictionary_code_size(&r->dictionary[l]); i++)
        count += r->truth[l][i] != 0;
    return count;
}

static void decode_one(struct recovery *r, int l, const float *input)
{
    const struct dictionary *d = &r->dictionary[l];
    size_t atoms = dictionary_code_size(d);
    bool pursuit = r->options->decoder == DECODER_PURSUIT;
    dictionary_analyse(d, input, r->map, r->scratch);
    double unit = r->known ? extreme(r->truth[l], atoms, true) : extreme(r->map, atoms, false);
    double threshold = r->options->threshold * unit;
    if (pursuit)
        decode_pursuit(d, decode_lipschitz(d, r->pool, r->scratch), input, threshold, r->options->iterations, r->pool,
                       r->map, r->scratch);
    for (size_t i = 0; i < atoms; i++)
        r->map[i] = minus(r->signs[l], i) ? -r->map[i] : r->map[i];
    decode_threshold(pursuit ? DECODER_HARD : (enum decoder)r->options->decoder, r->map, atoms, nonzeros_of(r, l),
                     pursuit ? 0 : threshold, &r->found[l], r->scratch);
}

static enum status recover_decode(struct recovery *r, struct error *err)
{
    float *input = r->signal;
    enum status status = STATUS_OK;
    for (int l = 0; !status && l < r->layers; l++) {
        size_t atoms = dictionary_code_size(&r->dictionary[l]);
        decode_one(r, l, input);
        status = thread_pool_check(r->pool, err);
        float *output = status ? NULL : recover_take(r, atoms, sizeof *output, &status, err);
        for (int i = 0; !status && i < r->found[l].count; i++)
            output[r->found[l].at[i]] = r->found[l].value[i];
        input = output;
    }
    return status;
}

/* ---- a code for the signal ------------------------------------------------------------------------ */

/* Applies the transposed dictionaries of the layers 1 to l + 1 to the signal, without thresholds, and writes the result
 * to truth[l], for every l. */
static void analyse_through(struct recovery *r, const float *signal)
{
    for (int l = 0; l < r->layers; l++) {
        dictionary_analyse(&r->dictionary[l], l == 0 ? signal : r->truth[l - 1], r->map, r->scratch);
        for (size_t i = 0; i < dictionary_code_size(&r->dictionary[l]); i++)
            r->truth[l][i] = minus(r->signs[l], i) ? -r->map[i] : r->map[i];
    }
}

/* Writes to truth[layers - 1] the deepest code: x on the support that the decoder found, 0 elsewhere. */
static void place_fit(struct recovery *r, const double *x)
{
    int deepest = r->layers - 1;
    const struct spikes *support = &r->found[deepest];
    memset(r->truth[deepest], 0, dictionary_code_size(&r->dictionary[deepest]) * sizeof(float));
    for (int i = 0; i < support->count; i++)
        r->truth[deepest][support->at[i]] = (float)x[i];
}

/* Computes out = E^T E x on the deepest support, where E maps the deepest code to the signal. */
static void normal_product(struct recovery *r, const double *x, double *out, float *signal)
{
    const struct spikes *support = &r->found[r->layers - 1];
    place_fit(r, x);
    recover_encode(r, signal);
    analyse_through(r, signal);
    for (int i = 0; i < support->count; i++)
        out[i] = (double)r->truth[r->layers - 1][support->at[i]];
}

/* Solves E^T E x = E^T signal by conjugate gradients, starting at x = 0. Writes the codes of the fit to truth[], and
 * the patch norm of the residual to zeta. */
static enum status fit_code(struct recovery *r, struct error *err)
{
    enum { ROUNDS = 20 };
    int deepest = r->layers - 1, count = r->found[deepest].count;
    size_t n = (size_t)(count > 0 ? count : 1), size = dictionary_signal_size(&r->dictionary[0]);
    enum status status = STATUS_OK;
    double *x = recover_take(r, n, sizeof *x, &status, err), *residual = recover_take(r, n, sizeof *x, &status, err);
    double *direction = recover_take(r, n, sizeof *x, &status, err),
           *product = recover_take(r, n, sizeof *x, &status, err);
    float *made = recover_take(r, size, sizeof *made, &status, err);
    if (status)
        return status;
    double square = 0, first;
    analyse_through(r, r->signal);
    for (int i = 0; i < count; i++) {
        residual[i] = direction[i] = (double)r->truth[deepest][r->found[deepest].at[i]];
        square += residual[i] * residual[i];
    }
    first = square;
    for (int round = 0; round < ROUNDS && square > 1e-12 * first && !thread_pool_stopped(r->pool); round++) {
        double along = 0, next = 0;
        normal_product(r, direction, product, made);
        for (int i = 0; i < count; i++)
            along += direction[i] * product[i];
        if (!(along > 0))
            break;
        for (int i = 0; i < count; i++) {
            x[i] += square / along * direction[i];
            residual[i] -= square / along * product[i];
            next += residual[i] * residual[i];
        }
        for (int i = 0; i < count; i++)
            direction[i] = residual[i] + next / square * direction[i];
        square = next;
    }
    status = thread_pool_check(r->pool, err);
    if (status)
        return status;
    place_fit(r, x);
    recover_encode(r, made);
    for (size_t i = 0; i < size; i++)
        made[i] = r->signal[i] - made[i];
    const struct dictionary_shape *s = &r->dictionary[0].shape;
    struct local_window patch = {s->height, s->width, s->inputs, s->extent_h, s->extent_w};
    r->zeta = fmax(r->options->noise, local_norm(&patch, made, 2, r->sums));
    return STATUS_OK;
}

/* ---- the answer ----------------------------------------------------------------------------------- */

static bool layer_agrees(const struct recovery *r, int l)
{
    int next = 0;
    for (size_t i = 0; i < dictionary_code_size(&r->dictionary[l]); i++) {
        bool found = next < r->found[l].count && (size_t)r->found[l].at[next] == i;
        if (found != (r->truth[l][i] != 0))
            return false;
        next += found;
    }
    return true;
}

/* Writes the support as [[position, filter, value]], or in two dimensions as [[row, column, filter, value]]. */
static void write_support(const struct recovery *r, int l, const struct sink *out)
{
    const struct dictionary_shape *s = &r->dictionary[l].shape;
    sink_begin_list(out, "support");
    for (int i = 0; i < r->found[l].count; i++) {
        int position = r->found[l].at[i] / s->filters;
        sink_begin_list(out, NULL);
        if (r->request->rank == 2)
            sink_integer(out, NULL, position / s->width);
        sink_integer(out, NULL, position % s->width);
        sink_integer(out, NULL, r->found[l].at[i] % s->filters);
        sink_number(out, NULL, (double)r->found[l].value[i]);
        sink_end_list(out);
    }
    sink_end_list(out);
}

static void write_layer(const struct recovery *r, int l, const struct layer_guarantee *g, const struct sink *out)
{
    const struct dictionary_shape *s = &r->dictionary[l].shape;
    double length = (double)s->inputs * s->extent_h * s->extent_w;
    sink_begin_object(out, NULL);
    sink_text(out, "name", r->request->layers[l].name);
    sink_integer(out, "filters", s->filters);
    sink_integer(out, "filter_length", (int64_t)length);
    sink_number(out, "coherence", g->coherence);
    sink_number(out, "welch_floor", coherence_floor_welch(length, s->filters));
    sink_number(out, "convolutional_floor",
                s->inputs == 1 && s->extent_h == 1 ? coherence_floor_convolutional(s->filters, length) : NAN);
    sink_integer(out, "nonzeros", g->nonzeros);
    sink_number(out, "stripe", g->stripe);
    sink_number(out, "stripe_literal", g->stripe_literal);
    sink_number(out, "patch", g->patch);
    sink_number(out, "smallest", g->x_min);
    sink_number(out, "largest", g->x_max);
    sink_number(out, "error_in", g->zeta_in);
    sink_number(out, "error_out", g->zeta_out);
    sink_number(out, "uniform_limit", g->uniform_limit);
    sink_number(out, "probabilistic_limit", g->probabilistic_limit);
    sink_number(out, "failure_bound", g->failure);
    sink_number(out, "instance_bound", g->instance.best);
    sink_boolean(out, "uniform", g->uniform);
    sink_boolean(out, "agrees", layer_agrees(r, l));
    write_support(r, l, out);
    sink_end_object(out);
}

static void write_answer(const struct recovery *r, const struct layer_guarantee *g, const struct sink *out)
{
    struct pathway_verdict v = pathway_verdict(g, r->layers);
    double enough = 1 - r->options->delta;
    bool agrees = true;
    for (int l = 0; l < r->layers; l++)
        agrees = agrees && layer_agrees(r, l);
    /* The bounds hold for the decoder top-k only, and for a fitted code only if its supports are those that the decoder
     * found.
     */
    bool applies = r->options->decoder == DECODER_TOP_K && (r->known || agrees);
    const char *guarantee = !applies               ? "none"
                            : v.uniform            ? "uniform"
                            : v.theorem >= enough  ? "probabilistic"
                            : v.instance >= enough ? "instance"
                                                   : "none";
    sink_text(out, "guarantee", guarantee);
    sink_text(out, "basis", r->known ? "code" : "fit");
    sink_boolean(out, "recovered", agrees);
    sink_number(out, "error", r->zeta);
    sink_number(out, "probability", v.uniform ? 1 : v.theorem);
    sink_number(out, "instance_probability", v.uniform ? 1 : v.instance);
    sink_begin_list(out, "layers");
    for (int l = 0; l < r->layers; l++)
        write_layer(r, l, &g[l], out);
    sink_end_list(out);
}

static enum status check_signal(const struct method_recovery *q, const struct recover_options *options,
                                struct error *err)
{
    int64_t count = q->layer_count > 0 ? q->layers[0].inputs : 1;
    for (int d = 0; d < q->rank; d++)
        count *= q->dim[d];
    if ((q->rank != 1 && q->rank != 2) || count < 1)
        return error_set(err, STATUS_INVALID, "/signal",
                         "must be a list of numbers, or of equally long lists of numbers");
    double square = 0;
    for (int64_t i = 0; q->signal && i < count; i++)
        square += (double)q->signal[i] * (double)q->signal[i];
    if (q->signal && !(square > 0 && isfinite(square)))
        return error_set(err, STATUS_INVALID, "/signal", "must be finite and not all zero");
    if (!q->signal && q->code_count == 0)
        return error_set(err, STATUS_INVALID, "/code", "must have at least one non-zero");
    if (q->signal && !q->nonzeros && options->decoder == DECODER_TOP_K)
        return error_set(err, STATUS_INVALID, "/nonzeros",
                         "must give each layer's number of non-zeros for decoder top-k");
    return STATUS_OK;
}

static enum status check_nonzeros(const struct recovery *r, struct error *err)
{
    for (int l = 0; r->request->nonzeros && l < r->layers; l++) {
        int64_t atoms = (int64_t)dictionary_code_size(&r->dictionary[l]);
        char pointer[40];
        snprintf(pointer, sizeof pointer, "/nonzeros/%d", l);
        if (r->request->nonzeros[l] < 1 || r->request->nonzeros[l] > atoms)
            return error_set(err, STATUS_INVALID, pointer, "must be in [1, %lld]; got %lld", (long long)atoms,
                             (long long)r->request->nonzeros[l]);
    }
    return STATUS_OK;
}

enum status pathways_recover(const struct method_recovery *request, const struct sink *out, struct error *err)
{
    struct recovery *r = calloc(1, sizeof *r);
    struct layer_guarantee guarantee[RECOVER_LAYERS];
    const struct dictionary *dictionaries[RECOVER_LAYERS];
    if (!r)
        return error_memory(err, "a recovery");
    r->request = request;
    r->options = request->options;
    arena_init(&r->arena, (size_t)1 << 20, (size_t)1 << 30);
    enum status status = thread_pool_create(1, &r->pool, err);
    if (!status) {
        thread_pool_stop_when(r->pool, work_stopped, request->work);
        status = check_signal(request, r->options, err);
    }
    if (!status)
        status = open_stack(r, err);
    if (!status)
        status = check_nonzeros(r, err);
    if (!status && request->signal)
        memcpy(r->signal, request->signal, dictionary_signal_size(&r->dictionary[0]) * sizeof(float));
    else if (!status)
        status = place_code(r, err);
    if (!status)
        status = recover_decode(r, err);
    if (!status && !r->known)
        status = fit_code(r, err);
    for (int l = 0; l < r->opened; l++)
        dictionaries[l] = &r->dictionary[l];
    if (!status)
        status = pathway_guarantee(dictionaries, (const float *const *)r->truth, r->layers, r->zeta, r->options->delta,
                                   true, guarantee, err);
    if (!status)
        write_answer(r, guarantee, out);
    close_recovery(r);
    free(r);
    return status;
}
