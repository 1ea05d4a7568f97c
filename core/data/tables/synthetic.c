/* Draws the synthetic table of seven features. Each row has its own random stream, so a row is the same, however many
 * rows the table has. */
#include "core/data/tables/synthetic.h"

#include <math.h>

#include "core/base/random/philox.h"

enum { STREAM_SYNTHETIC = 0x73796e74, DRAWS = SYNTHETIC_FACTORS + SYNTHETIC_FEATURES };

void synthetic_means(const double z[SYNTHETIC_FACTORS], double mean[SYNTHETIC_FEATURES])
{
    mean[0] = z[0];
    mean[1] = 2 * z[0];
    mean[2] = 3 * z[0] * z[0];
    mean[3] = 4 * z[1];
    mean[4] = 5 * z[1];
    mean[5] = 6 * sin(z[1]);
    mean[6] = 7 * z[0] * z[1];
}

enum status synthetic_features(uint64_t seed, uint32_t set, double rho, double deviation, int rows,
                               struct thread_pool *pool, struct features **features, struct error *err)
{
    static const unsigned char support[SYNTHETIC_FEATURES][SYNTHETIC_FACTORS] = {{1, 0}, {1, 0}, {1, 0}, {0, 1},
                                                                                 {0, 1}, {0, 1}, {1, 1}};
    struct features *f;
    enum status status = features_create(rows, SYNTHETIC_FEATURES, SYNTHETIC_FACTORS, &f, err);
    if (status)
        return status;
    struct philox from = philox_stream(seed, STREAM_SYNTHETIC, set);
    for (int i = 0; i < rows && !thread_pool_stopped(pool); i++) {
        double draw[DRAWS], mean[SYNTHETIC_FEATURES];
        philox_fill_normal(&from, (uint64_t)i * (DRAWS + 1), draw, DRAWS);
        double z[SYNTHETIC_FACTORS] = {draw[0], rho * draw[0] + sqrt(1 - rho * rho) * draw[1]};
        synthetic_means(z, mean);
        for (int k = 0; k < SYNTHETIC_FACTORS; k++)
            f->truth[i * SYNTHETIC_FACTORS + k] = (float)z[k];
        for (int j = 0; j < SYNTHETIC_FEATURES; j++)
            f->x[i * SYNTHETIC_FEATURES + j] = (float)(mean[j] + deviation * draw[SYNTHETIC_FACTORS + j]);
    }
    for (int j = 0; j < SYNTHETIC_FEATURES; j++)
        for (int k = 0; k < SYNTHETIC_FACTORS; k++)
            f->support[j * SYNTHETIC_FACTORS + k] = support[j][k];
    status = thread_pool_check(pool, err);
    if (status)
        features_destroy(f);
    else
        *features = f;
    return status;
}
