/* The steps, the progress and the checkpoints of a run that trains one model (model_run.h). */
#include "core/methods/shared/model_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/shared/timed_loop.h"

/* ---- beginning and end ---------------------------------------------------------------------------------- */

void model_run_init(struct method_run *run, const struct model_run_table *table, const struct method_env *env,
                    int64_t checkpoint_every)
{
    struct model_run *m = model_run_of(run);
    m->table = table;
    m->env = *env;
    m->checkpoint_every = checkpoint_every;
}

void model_run_read(struct method_run *run, struct hash *hash)
{
    hash_finish(hash, model_run_of(run)->data);
    model_run_of(run)->reads = true;
}

void model_run_hash(const struct method_run *run, struct hash *hash, const void *bytes, size_t count)
{
    enum { PIECE = 1 << 20 };
    struct thread_pool *pool = model_run_in(run)->env.pool;
    for (size_t at = 0; at < count && !thread_pool_stopped(pool); at += PIECE)
        hash_add(hash, (const char *)bytes + at, count - at < PIECE ? count - at : PIECE);
}

void model_run_destroy(struct method_run *run)
{
    if (!run)
        return;
    model_run_of(run)->table->close(run);
    free(run);
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

void model_run_metric(struct method_run *run, const char *name, double value)
{
    const struct model_run *m = model_run_in(run);
    if (isfinite(value) && m->env.metric)
        m->env.metric(m->env.context, name, m->seen, value);
}

static enum status model_run_evaluate(struct method_run *run, struct error *err)
{
    struct model_run *m = model_run_of(run);
    struct error cause = {0};
    bool done = true;
    enum status status = m->table->evaluate(run, &done, err);
    if (status || !done)
        return status;
    for (const struct model_run_metric *metric = m->table->metrics; metric->name; metric++) {
        double value;
        memcpy(&value, (const char *)run + metric->offset, sizeof value);
        model_run_metric(run, metric->name, value);
    }
    m->phase = MODEL_RUN_DONE;
    status = m->table->finish(run, &cause);
    publish_attempted(&m->findings, &m->env, "charts", status, &cause);
    return STATUS_OK;
}

/* Does one update, or one piece of an evaluation. */
static enum status model_run_work(struct method_run *run, struct error *err)
{
    struct model_run *m = model_run_of(run);
    enum status status = m->table->open(run, err);
    if (status)
        return status;
    if (m->phase == MODEL_RUN_TRAIN && m->table->trained(run))
        m->phase = MODEL_RUN_EVALUATE;
    return m->phase == MODEL_RUN_TRAIN ? m->table->update(run, err) : model_run_evaluate(run, err);
}

enum status model_run_step(struct method_run *run, enum method_request *request, struct error *err)
{
    const struct model_run *m = model_run_in(run);
    const struct timed_loop loop = {model_run_work, &m->env, &m->seen, m->checkpoint_every, &m->phase, MODEL_RUN_DONE};
    return timed_loop_step(&loop, run, request, err);
}

enum status model_run_begin_evaluation(struct method_run *run, const struct method_evaluation *what, struct error *err)
{
    struct model_run *m = model_run_of(run);
    if (what->samples < m->table->least_samples || what->samples > m->table->most_samples)
        return error_set(err, STATUS_INVALID, "/samples", "must be in [%lld, %lld]", (long long)m->table->least_samples,
                         (long long)m->table->most_samples);
    m->phase = MODEL_RUN_EVALUATE;
    m->alone = 1;
    m->evaluation_seed = what->seed;
    m->evaluation_samples = what->samples;
    if (m->table->begin_evaluation)
        m->table->begin_evaluation(run);
    return STATUS_OK;
}

void model_run_progress(const struct method_run *run, struct method_progress *out)
{
    static const char *const stages[] = {"training", "evaluating", "done"};
    const struct model_run *m = model_run_in(run);
    double part = m->opened ? fmin(m->table->part(run), 1) : 0;
    timed_loop_progress(m->phase == MODEL_RUN_DONE ? 1 : part, m->work, m->seen, stages[m->phase], out);
}

/* ---- checkpoints ---------------------------------------------------------------------------------------- */

static enum status declare_position(void *run, struct snapshot *snapshot, struct error *err)
{
    struct model_run *m = model_run_of(run);
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("run.phase", &m->phase)};
    enum status status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    return status || !m->table->position ? status : m->table->position(run, snapshot, err);
}

static enum status model_run_declare(void *run, struct snapshot *snapshot, struct error *err)
{
    static const enum snapshot_role roles[] = {SNAPSHOT_WEIGHT, SNAPSHOT_OPTIMISER, SNAPSHOT_STATE};
    struct model_run *m = model_run_of(run);
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("run.seen", &m->seen),
        SNAPSHOT_NUMBER("run.work", &m->work),
        SNAPSHOT_NUMBER("run.alone", &m->alone),
        SNAPSHOT_NUMBER("evaluation.seed", &m->evaluation_seed),
        SNAPSHOT_NUMBER("evaluation.samples", &m->evaluation_samples),
        SNAPSHOT_NUMBER("run.loss_sum", &m->loss_sum),
        SNAPSHOT_ARRAY(m->reads ? "run.data" : NULL, m->trained_on, HASH_BYTES),
    };
    enum status status = STATUS_OK;
    for (size_t r = 0; !status && r < sizeof roles / sizeof roles[0]; r++)
        status = m->table->declare(run, roles[r], snapshot, err);
    if (!status)
        status = declare_position(run, snapshot, err);
    if (!status)
        status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    return status ? status : publish_snapshot(&m->findings, snapshot, err);
}

enum status model_run_save(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes, struct error *err)
{
    struct model_run *m = model_run_of(run);
    enum status status = m->table->open(run, err);
    if (!status)
        status = m->table->check(run, err);
    memcpy(m->trained_on, m->data, sizeof m->data);
    return status ? status : snapshot_save(model_run_declare, run, to, bytes, err);
}

/* Reads the numbers that decide what is opened. A stream may be damaged, so the function and open() check them. */
static enum status read_position(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    struct model_run *m = model_run_of(run);
    enum status status = snapshot_load(declare_position, run, from, 1u << SNAPSHOT_STATE, err);
    if (status)
        return status;
    return m->phase >= MODEL_RUN_TRAIN && m->phase <= MODEL_RUN_DONE
               ? STATUS_OK
               : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's phase is unknown");
}

static enum status model_run_loaded(struct method_run *run, struct error *err)
{
    struct model_run *m = model_run_of(run);
    bool sound = true;
    enum status status =
        m->reads && memcmp(m->trained_on, m->data, sizeof m->data) != 0
            ? error_set(
                  err, STATUS_CONFLICT, NULL,
                  "the data set has changed since the checkpoint was saved; put the same data back or start a new job")
            : m->table->loaded(run, &sound, err);
    if (status)
        return status;
    return sound && m->seen >= 0 && m->work >= 0
               ? STATUS_OK
               : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's state is inconsistent");
}

enum status model_run_load(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    struct model_run *m = model_run_of(run);
    enum status status = read_position(run, from, err);
    m->opened = false;
    if (!status)
        status = m->table->open(run, err);
    if (!status)
        status = snapshot_load(model_run_declare, run, from, SNAPSHOT_ALL, err);
    return status ? status : model_run_loaded(run, err);
}

enum status model_run_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    const struct model_run_table *table = model_run_in(run)->table;
    if (!table->single(run))
        return error_set(err, STATUS_CONFLICT, NULL,
                         "only a job with a single fit can start from another job's weights");
    enum status status = table->open(run, err);
    return status ? status : snapshot_load(model_run_declare, run, from, 1u << SNAPSHOT_WEIGHT, err);
}
