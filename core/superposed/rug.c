/* The Persian rug (rug.h): draws its rows and applies it by Walsh-Hadamard transforms. */
#include "core/superposed/rug.h"

#include <stdlib.h>

#include "core/base/random/philox.h"
#include "core/kernels/hadamard.h"

enum { STREAM_ROWS = 0x52550000 }; /* draw `draw` uses the stream with this index plus the lower 16 bits of `draw` */

static enum status rug_start(int n_s, int n_d, float each, struct rug *rug, struct error *err)
{
    *rug = (struct rug){.n_s = n_s, .n_d = n_d, .each = each};
    if (n_s < 1 || n_s > RUG_FEATURES_MAX || (n_s & (n_s - 1)) != 0 || n_d < 1 || n_d > n_s)
        return error_set(err, STATUS_INVALID, NULL,
                         "a rug needs a power of two of features up to %d and a rank within it", RUG_FEATURES_MAX);
    rug->rows = malloc((size_t)n_d * sizeof *rug->rows);
    rug->mask = calloc((size_t)n_s, sizeof *rug->mask);
    if (rug->rows && rug->mask)
        return STATUS_OK;
    rug_close(rug);
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a rug of %d features", n_s);
}

/* Knuth's selection sampling: takes each row with probability (rows still wanted) / (rows left). */
enum status rug_create(int n_s, int n_d, uint64_t seed, uint32_t draw, struct rug *rug, struct error *err)
{
    enum status status = rug_start(n_s, n_d, 1 / (float)n_d, rug, err);
    struct philox from = philox_stream(seed, STREAM_ROWS + (draw & 0xFFFF), draw >> 16);
    int taken = 0;
    for (int i = 0; !status && i < n_s; i++) {
        uint64_t there = (uint64_t)(n_s - i), wanted = (uint64_t)(n_d - taken);
        if (((uint64_t)philox_u32(&from, (uint64_t)i) * there) >> 32 < wanted)
            rug->rows[taken++] = i;
    }
    return status ? status : rug_fill(rug, err);
}

enum status rug_create_projector(int n_s, int n_d, struct rug *rug, struct error *err)
{
    enum status status = rug_start(n_s, n_d, 1 / (float)n_s, rug, err);
    for (int i = 0; !status && i < n_d; i++)
        rug->rows[i] = i;
    return status ? status : rug_fill(rug, err);
}

enum status rug_fill(struct rug *rug, struct error *err)
{
    int64_t before = -1;
    for (int i = 0; i < rug->n_s; i++)
        rug->mask[i] = 0;
    for (int i = 0; i < rug->n_d; i++) {
        if (rug->rows[i] <= before || rug->rows[i] >= rug->n_s)
            return error_set(err, STATUS_CORRUPT, NULL, "the rows of the rug are no ascending set");
        before = rug->rows[i];
        rug->mask[before] = rug->each;
    }
    return STATUS_OK;
}

void rug_close(struct rug *rug)
{
    free(rug->rows);
    free(rug->mask);
    *rug = (struct rug){0};
}

bool rug_apply(const struct rug *rug, struct thread_pool *pool, const struct kernels *kernels, float *x, float *scratch)
{
    return hadamard_sandwich(pool, kernels, rug->n_s, rug->mask, x, scratch);
}

/* Transforms the indicator of S. The results are integers, which floats represent exactly. */
enum status rug_row(const struct rug *rug, struct thread_pool *pool, const struct kernels *kernels, float *row,
                    struct error *err)
{
    float *scratch = malloc(hadamard_scratch(pool, rug->n_s) * sizeof *scratch + 64);
    if (!scratch)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a row of %d", rug->n_s);
    for (int i = 0; i < rug->n_s; i++)
        row[i] = rug->mask[i] > 0;
    bool done = hadamard_transform(pool, kernels, rug->n_s, row, scratch);
    for (int i = 0; done && i < rug->n_s; i++)
        row[i] *= rug->each;
    free(scratch);
    return done ? STATUS_OK : thread_pool_check(pool, err);
}

double rug_offset(const struct rug *rug, double p, double offset)
{
    double sum = rug->rows[0] == 0 ? (double)rug->n_s / rug->n_d : 0; /* sum of a row of W, with the diagonal */
    return offset - p / 2 * (sum - 1);
}

enum status rug_snapshot(int n_d, int64_t *rows, double *scale, double *offset, struct snapshot *snapshot,
                         struct error *err)
{
    const struct snapshot_row weights[] = {SNAPSHOT_ARRAY("rows", rows, (uint64_t)n_d),
                                           SNAPSHOT_ARRAY("scale", scale, 1), SNAPSHOT_ARRAY("offset", offset, 1)};
    return snapshot_add_rows(snapshot, SNAPSHOT_WEIGHT, "", SNAPSHOT_ROWS(weights), err);
}
