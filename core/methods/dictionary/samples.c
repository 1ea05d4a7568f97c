/* Draws the samples of a run and computes their codes (run_int.h). */
#include "core/methods/dictionary/run_int.h"

int64_t run_input(const struct method_run *run, int64_t index)
{
    return dictionary_known(&run->config) ? index : rows_test(&run->rows, index);
}

void run_limit_tests(struct method_run *run)
{
    int64_t most = run->rows.count > 0 ? rows_test_count(&run->rows) : INT64_MAX;
    if (run->base.evaluation_samples > most)
        run->base.evaluation_samples = most;
}

static enum status read_rows(struct method_run *run, uint32_t stream, int64_t first, int64_t distinct, int count,
                             struct error *err)
{
    bool training = stream == STREAM_TRAINING || stream == STREAM_SCALE;
    enum status status = STATUS_OK;
    for (int r = 0; !status && r < count; r++) {
        int64_t index = distinct > 0 ? (first + r) % distinct : first + r;
        if (training)
            rows_expect(&run->rows, index);
        int64_t row = training ? rows_train(&run->rows, index) : rows_test(&run->rows, index);
        float *x = run->x + (ptrdiff_t)r * run->rows.inputs;
        status = rows_read(&run->rows, row, x, err);
        if (!status)
            status = scale_row(&run->columns, x, err);
    }
    return status;
}

enum status run_draw(struct method_run *run, uint32_t stream, int64_t first, int64_t distinct, int count,
                     struct error *err)
{
    struct planted_samples samples = {stream, first, distinct, count};
    enum status status = STATUS_OK;
    if (!dictionary_known(&run->config))
        status = read_rows(run, stream, first, distinct, count, err);
    else if (!planted_draw(&run->data, run->base.env.pool, &samples, run->x, &run->truth))
        status = thread_pool_check(run->base.env.pool, err);
    if (!status)
        run->base.env.kernels->scale((size_t)count * (size_t)run->setup.inputs, (float)run->scale, run->x);
    return status;
}

enum status run_encode(struct method_run *run, int seed, int count, struct step_outcome *out, struct error *err)
{
    bool done = run->setup.learner == LEARNER_FISTA ? alternate_encode(run->step, run->sae[seed], run->x, count, out)
                                                    : step_run(run->step, run->sae[seed], run->x, count, false, out);
    return done ? STATUS_OK : thread_pool_check(run->base.env.pool, err);
}
