/* Coordinate descent for the factorisation (nmf.h). A pass fixes one matrix and updates the coordinates of the other,
 * row by row. Rows do not depend on one another, so they run in parallel. The optimum of one coordinate is w - gradient
 * / curvature, or 0 where that is negative. */
#include "core/methods/factors/model/nmf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"

enum {
    NMF_ROWS = 64,
    PIECE_ROWS = 4096,
    LATENT_MOST = 512,
    STREAM_START = 0x6e6d66,
    OVERSAMPLE = 8,
    POWER_STEPS = 100
};

/* ---- one pass ----------------------------------------------------------------------------------------- */

struct pass {
    const struct nmf *nmf;
    int rows;
    float *w;              /* [rows][latent] */
    const float *products; /* [rows][latent] products of the data with the fixed matrix */
    const double *gram;    /* [latent][latent] Gram matrix of the fixed matrix, with the penalty on its diagonal */
    double *violations;    /* [rows] */
};

/* Updates each coordinate of one row; returns the distance of the row from the optimum. */
static double descend(int k, float *w, const float *product, const double *gram)
{
    double violation = 0;
    for (int t = 0; t < k; t++) {
        double gradient = -(double)product[t], curvature = gram[(ptrdiff_t)t * k + t];
        for (int r = 0; r < k; r++)
            gradient += gram[(ptrdiff_t)t * k + r] * (double)w[r];
        violation += fabs(w[t] == 0 ? fmin(0, gradient) : gradient);
        if (curvature > 0)
            w[t] = (float)fmax((double)w[t] - gradient / curvature, 0);
    }
    return violation;
}

static void pass_task(void *context, int chunk, int worker)
{
    const struct pass *p = context;
    int k = p->nmf->setup.latent, end = (chunk + 1) * NMF_ROWS < p->rows ? (chunk + 1) * NMF_ROWS : p->rows;
    for (int i = chunk * NMF_ROWS; i < end; i++)
        p->violations[i] = descend(k, p->w + (ptrdiff_t)i * k, p->products + (ptrdiff_t)i * k, p->gram);
}

static void gram_of(const struct nmf *n, const float *matrix, int rows, double *gram)
{
    int k = n->setup.latent;
    memset(gram, 0, (size_t)k * (size_t)k * sizeof *gram);
    for (int i = 0; i < rows && !thread_pool_stopped(n->pool); i++) {
        const float *row = matrix + (ptrdiff_t)i * k;
        for (int a = 0; a < k; a++)
            for (int b = 0; b < k && row[a] != 0; b++)
                gram[(ptrdiff_t)a * k + b] += (double)row[a] * (double)row[b];
    }
    for (int a = 0; a < k; a++)
        gram[(ptrdiff_t)a * k + a] += n->setup.penalty;
}

/* Computes n->products = X * matrix, where `matrix` contains the parts, [features][latent]. With `transpose`, computes
 * X' * matrix, where `matrix` contains the codes, [rows][latent]. Works on a block of rows at a time, and ends early
 * when the pool was stopped. */
static void multiply(const struct nmf *n, bool transpose, const float *matrix)
{
    int g = n->setup.features, k = n->setup.latent;
    for (int from = 0; from < n->rows && !thread_pool_stopped(n->pool); from += PIECE_ROWS) {
        int rows = n->rows - from < PIECE_ROWS ? n->rows - from : PIECE_ROWS;
        struct gemm_call call = {.transpose_a = transpose,
                                 .m = transpose ? g : rows,
                                 .n = k,
                                 .k = transpose ? rows : g,
                                 .alpha = 1,
                                 .beta = transpose && from > 0 ? 1 : 0,
                                 .a = n->x + (ptrdiff_t)from * g,
                                 .b = transpose ? matrix + (ptrdiff_t)from * k : matrix,
                                 .c = transpose ? n->products : n->products + (ptrdiff_t)from * k,
                                 .lda = g,
                                 .ldb = k,
                                 .ldc = k};
        n->kernels->gemm(&call);
    }
}

static double nmf_pass(struct nmf *n, bool transpose, float *w, int rows, const float *fixed, int fixed_rows)
{
    size_t k = (size_t)n->setup.latent;
    double *gram = malloc((k * k + (size_t)rows) * sizeof *gram), sum = 0;
    if (!gram)
        return NAN;
    struct pass p = {n, rows, w, n->products, gram, gram + k * k};
    gram_of(n, fixed, fixed_rows, gram);
    multiply(n, transpose, fixed);
    bool done = thread_pool_run(n->pool, pass_task, &p, (rows + NMF_ROWS - 1) / NMF_ROWS);
    for (int i = 0; done && i < rows; i++)
        sum += p.violations[i];
    free(gram);
    return done ? sum : NAN;
}

void nmf_iterate(struct nmf *nmf)
{
    double violation = nmf_pass(nmf, false, nmf->codes, nmf->rows, nmf->parts, nmf->setup.features);
    violation += nmf_pass(nmf, true, nmf->parts, nmf->setup.features, nmf->codes, nmf->rows);
    if (nmf->done++ == 0)
        nmf->first = violation;
    nmf->last = violation;
}

bool nmf_finished(const struct nmf *nmf)
{
    return nmf->done >= nmf->setup.iterations || (nmf->done > 0 && !(nmf->last > nmf->setup.tolerance * nmf->first));
}

double nmf_objective(const struct nmf *nmf)
{
    int g = nmf->setup.features, k = nmf->setup.latent;
    double sum = 0;
    for (int i = 0; i < nmf->rows && !thread_pool_stopped(nmf->pool); i++)
        for (int j = 0; j < g; j++) {
            double y = 0;
            for (int c = 0; c < k; c++)
                y += (double)nmf->codes[(ptrdiff_t)i * k + c] * (double)nmf->parts[(ptrdiff_t)j * k + c];
            sum += 0.5 * pow((double)nmf->x[(ptrdiff_t)i * g + j] - y, 2);
        }
    for (int i = 0; i < nmf->rows && !thread_pool_stopped(nmf->pool); i++)
        for (ptrdiff_t c = (ptrdiff_t)i * k; c < (ptrdiff_t)(i + 1) * k; c++)
            sum += 0.5 * nmf->setup.penalty * (double)nmf->codes[c] * (double)nmf->codes[c];
    for (ptrdiff_t i = 0; i < (ptrdiff_t)g * k; i++)
        sum += 0.5 * nmf->setup.penalty * (double)nmf->parts[i] * (double)nmf->parts[i];
    return sum;
}

/* ---- start ------------------------------------------------------------------------------------------ */

/* Makes the columns of q [n][m] orthonormal, in two passes of Gram-Schmidt. */
static void orthonormalise(struct thread_pool *pool, double *q, int n, int m)
{
    for (int c = 0; c < m && !thread_pool_stopped(pool); c++)
        for (int twice = 0; twice < 2; twice++) {
            double norm = 0;
            for (int b = 0; b < c; b++) {
                double dot = 0;
                for (int i = 0; i < n; i++)
                    dot += q[(ptrdiff_t)i * m + b] * q[(ptrdiff_t)i * m + c];
                for (int i = 0; i < n; i++)
                    q[(ptrdiff_t)i * m + c] -= dot * q[(ptrdiff_t)i * m + b];
            }
            for (int i = 0; i < n; i++)
                norm += q[(ptrdiff_t)i * m + c] * q[(ptrdiff_t)i * m + c];
            norm = norm > 0 ? 1 / sqrt(norm) : 0;
            for (int i = 0; i < n; i++)
                q[(ptrdiff_t)i * m + c] *= norm;
        }
}

/* Computes the matrix product to = gram * from. gram: [n][n]; from, to: [n][m]. */
static void apply_gram(struct thread_pool *pool, const double *gram, const double *from, double *to, int n, int m)
{
    memset(to, 0, (size_t)n * (size_t)m * sizeof *to);
    for (int i = 0; i < n && !thread_pool_stopped(pool); i++)
        for (int j = 0; j < n; j++)
            for (int c = 0; c < m; c++)
                to[(ptrdiff_t)i * m + c] += gram[(ptrdiff_t)i * n + j] * from[(ptrdiff_t)j * m + c];
}

/* Computes right singular vectors by orthogonal iteration on X'X, sorted by falling singular value. */
static void singular_vectors(const struct nmf *n, double *gram, double *q, double *work, int m)
{
    int g = n->setup.features;
    struct philox from = philox_stream(1, STREAM_START, 0);
    memset(gram, 0, (size_t)g * (size_t)g * sizeof *gram);
    for (int i = 0; i < n->rows && !thread_pool_stopped(n->pool); i++) {
        const float *x = n->x + (ptrdiff_t)i * g;
        for (int a = 0; a < g; a++)
            for (int b = 0; b < g && x[a] != 0; b++)
                gram[(ptrdiff_t)a * g + b] += (double)x[a] * (double)x[b];
    }
    philox_fill_normal(&from, 0, q, (size_t)g * (size_t)m);
    orthonormalise(n->pool, q, g, m);
    for (int step = 0; step < POWER_STEPS && !thread_pool_stopped(n->pool); step++) {
        apply_gram(n->pool, gram, q, work, g, m);
        memcpy(q, work, (size_t)g * (size_t)m * sizeof *q);
        orthonormalise(n->pool, q, g, m);
    }
}

/* Fills column c of both matrices from the singular vectors u and v. The first column gets the absolute values of u and
 * v. Each other column gets either the positive parts of u and v or their negative parts, whichever pair has the larger
 * product of norms. */
static void start_column(struct nmf *n, const double *v, int m, int c, double *u)
{
    int g = n->setup.features, k = n->setup.latent;
    double s = 0, length[2][2] = {{0}}; /* squared norms of the parts: [0: positive, 1: negative][0: u, 1: v] */
    for (int i = 0; i < n->rows && !thread_pool_stopped(n->pool); i++) {
        u[i] = 0;
        for (int j = 0; j < g; j++)
            u[i] += (double)n->x[(ptrdiff_t)i * g + j] * v[(ptrdiff_t)j * m + c];
        s += u[i] * u[i];
    }
    s = sqrt(s);
    for (int i = 0; i < n->rows && s > 0 && !thread_pool_stopped(n->pool); i++) {
        u[i] /= s;
        length[u[i] < 0][0] += u[i] * u[i];
    }
    for (int j = 0; j < g; j++)
        length[v[(ptrdiff_t)j * m + c] < 0][1] += pow(v[(ptrdiff_t)j * m + c], 2);
    int sign = length[1][0] * length[1][1] > length[0][0] * length[0][1];
    double lu = sqrt(length[sign][0]), lv = sqrt(length[sign][1]), both = c == 0 ? sqrt(s) : sqrt(s * lu * lv);
    /* The first column writes to every page of the codes for the first time, and the operating system clears each
     * page. This takes long, so the loop checks whether the pool was stopped. */
    for (int i = 0; i < n->rows && !thread_pool_stopped(n->pool); i++) {
        double part = c == 0 ? fabs(u[i]) : lu > 0 ? fmax(sign ? -u[i] : u[i], 0) / lu : 0;
        n->codes[(ptrdiff_t)i * k + c] = both * part < 1e-6 ? 0 : (float)(both * part);
    }
    for (int j = 0; j < g; j++) {
        double value = v[(ptrdiff_t)j * m + c], part = c == 0   ? fabs(value)
                                                       : lv > 0 ? fmax(sign ? -value : value, 0) / lv
                                                                : 0;
        n->parts[(ptrdiff_t)j * k + c] = both * part < 1e-6 ? 0 : (float)(both * part);
    }
}

static enum status nmf_start(struct nmf *n, struct error *err)
{
    size_t g = (size_t)n->setup.features;
    int least = n->setup.features < n->rows ? n->setup.features : n->rows, k = n->setup.latent;
    int m = k + OVERSAMPLE < least ? k + OVERSAMPLE : least;
    double *gram = malloc((g * g + 2 * g * (size_t)m + (size_t)n->rows) * sizeof *gram);
    if (!gram)
        return error_memory(err, "singular vectors");
    double *q = gram + g * g, *work = q + g * (size_t)m, *u = work + g * (size_t)m;
    singular_vectors(n, gram, q, work, m);
    for (int c = 0; c < k && c < m && !thread_pool_stopped(n->pool); c++)
        start_column(n, q, m, c, u);
    free(gram);
    return thread_pool_check(n->pool, err);
}

static void take_rows(struct nmf *n, const struct features *features, const int *rows)
{
    int g = n->setup.features;
    for (int i = 0; i < n->rows && !thread_pool_stopped(n->pool); i++)
        for (int j = 0; j < g; j++)
            n->lowest[j] = fminf(n->lowest[j], features->x[(ptrdiff_t)rows[i] * g + j]);
    for (int i = 0; i < n->rows && !thread_pool_stopped(n->pool); i++)
        for (int j = 0; j < g; j++)
            n->x[(ptrdiff_t)i * g + j] = features->x[(ptrdiff_t)rows[i] * g + j] - n->lowest[j];
}

enum status nmf_create(const struct nmf_setup *setup, const struct features *features, const int *rows, int count,
                       const struct kernels *kernels, struct thread_pool *pool, struct nmf **nmf, struct error *err)
{
    struct nmf *n = calloc(1, sizeof *n);
    size_t g = (size_t)setup->features, k = (size_t)setup->latent, most = (size_t)count > g ? (size_t)count : g;
    if (!n)
        return error_memory(err, "a factorisation");
    *n = (struct nmf){.setup = *setup, .kernels = kernels, .pool = pool, .rows = count, .first = NAN, .last = NAN};
    n->parts = calloc(g * k, sizeof *n->parts);
    n->lowest = calloc(g, sizeof *n->lowest);
    if (rows) {
        n->x = malloc((size_t)count * g * sizeof *n->x);
        n->codes = calloc((size_t)count * k, sizeof *n->codes);
        n->products = malloc(most * k * sizeof *n->products);
    }
    enum status status = STATUS_OK;
    if (!n->parts || !n->lowest || (rows && (!n->x || !n->codes || !n->products)))
        status = error_memory(err, "a factorisation");
    if (!status && rows) {
        take_rows(n, features, rows);
        status = nmf_start(n, err);
    }
    if (status) {
        nmf_destroy(n);
        return status;
    }
    *nmf = n;
    return STATUS_OK;
}

void nmf_destroy(struct nmf *nmf)
{
    if (!nmf)
        return;
    free(nmf->x);
    free(nmf->codes);
    free(nmf->parts);
    free(nmf->lowest);
    free(nmf->products);
    free(nmf);
}

/* ---- use -------------------------------------------------------------------------------------------- */

void nmf_apply(const struct nmf *nmf, struct thread_pool *pool, const float *x, float *codes, float *y)
{
    int g = nmf->setup.features, k = nmf->setup.latent;
    double *gram = malloc((size_t)k * (size_t)k * sizeof *gram), first = 0;
    float products[LATENT_MOST] = {0};
    memset(codes, 0, (size_t)k * sizeof *codes);
    for (int j = 0; j < g; j++)
        for (int c = 0; c < k; c++)
            products[c] += fmaxf(x[j] - nmf->lowest[j], 0) * nmf->parts[(ptrdiff_t)j * k + c];
    if (gram)
        gram_of(nmf, nmf->parts, g, gram);
    for (int64_t i = 0; gram && i < nmf->setup.iterations && !thread_pool_stopped(pool); i++) {
        double violation = descend(k, codes, products, gram);
        first = i == 0 ? violation : first;
        if (!(violation > nmf->setup.tolerance * first))
            break;
    }
    for (int j = 0; j < g; j++) {
        y[j] = nmf->lowest[j];
        for (int c = 0; c < k; c++)
            y[j] += codes[c] * nmf->parts[(ptrdiff_t)j * k + c];
    }
    free(gram);
}

enum status nmf_snapshot(struct nmf *nmf, enum snapshot_role role, struct snapshot *snapshot, struct error *err)
{
    const uint64_t features = (uint64_t)nmf->setup.features, latent = (uint64_t)nmf->setup.latent;
    const struct snapshot_row weights[] = {SNAPSHOT_ARRAY("parts", nmf->parts, features, latent),
                                           SNAPSHOT_ARRAY("lowest", nmf->lowest, features)};
    const struct snapshot_row codes[] = {SNAPSHOT_ARRAY("codes", nmf->codes, (uint64_t)nmf->rows, latent)};
    const struct snapshot_row state[] = {SNAPSHOT_NUMBER("nmf.done", &nmf->done),
                                         SNAPSHOT_NUMBER("nmf.first", &nmf->first),
                                         SNAPSHOT_NUMBER("nmf.last", &nmf->last)};
    if (role == SNAPSHOT_WEIGHT)
        return snapshot_add_rows(snapshot, role, "", SNAPSHOT_ROWS(weights), err);
    return role == SNAPSHOT_OPTIMISER ? snapshot_add_rows(snapshot, role, "", SNAPSHOT_ROWS(codes), err)
                                      : snapshot_add_rows(snapshot, role, "", SNAPSHOT_ROWS(state), err);
}
