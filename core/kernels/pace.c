/* Measures the speed of this machine once. Methods without matrix products spend most of their time drawing random
 * numbers and transforming rows, so the measurement runs these two loops. */
#include "core/kernels/pace.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/random/philox.h"
#include "core/kernels/kernels.h"

enum { REALS = 4096, ROUNDS = 64, TRIES = 3 };

/* seconds of one try on the processor on which the methods' costs were measured: a core with AVX-512 */
static const double REFERENCE = 1.25e-3;

static double thread_seconds(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0 ? (double)now.tv_sec + (double)now.tv_nsec * 1e-9 : 0;
}

double kernels_pace(const struct kernels *kernels)
{
    struct philox from = philox_stream(1, 1, 0);
    real *x = aligned_alloc(64, REALS * sizeof *x);
    float *drawn = malloc(REALS * sizeof *drawn);
    double best = 0;
    for (int i = 0; x != NULL && drawn != NULL && i < TRIES; i++) {
        double begun = thread_seconds();
        for (int round = 0; round < ROUNDS; round++) {
            philox_fill_uniform(&from, (uint64_t)round * REALS, drawn, REALS);
            for (int j = 0; j < REALS; j++)
                x[j] = (real)drawn[j];
            kernels->hadamard_rows(1, REALS, x, REALS);
        }
        double took = thread_seconds() - begun;
        best = best > 0 && best < took ? best : took;
    }
    free(x);
    free(drawn);
    return best > 0 ? REFERENCE / best : 0;
}
