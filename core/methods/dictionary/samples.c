/* Draws the samples of the open case and computes their codes (run_int.h). */
#include "core/methods/dictionary/run_int.h"

enum status run_draw(struct method_run *run, uint32_t stream, int64_t first, int64_t distinct, int count,
                     struct error *err)
{
    struct planted_samples samples = {stream, first, distinct, count};
    if (!planted_draw(&run->data, run->sweep.env.pool, &samples, run->x, &run->truth))
        return thread_pool_check(run->sweep.env.pool, err);
    run->sweep.env.kernels->scale((size_t)count * (size_t)run->data.shape.inputs, (float)run->scale, run->x);
    return STATUS_OK;
}

enum status run_encode(struct method_run *run, int seed, int count, struct step_outcome *out, struct error *err)
{
    bool done = run_case(run)->learner == LEARNER_FISTA
                    ? alternate_encode(run->step, run->sae[seed], run->x, count, out)
                    : step_run(run->step, run->sae[seed], run->x, count, false, out);
    return done ? STATUS_OK : thread_pool_check(run->sweep.env.pool, err);
}
