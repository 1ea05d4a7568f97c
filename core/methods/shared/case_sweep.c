/* The steps, the progress and the checkpoints of a run over a list of cases (case_sweep.h).
 *
 * If there are several cases, the work distribution calls their steps through the table `cases` at the end of this
 * file. */
#include "core/methods/shared/case_sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/shared/timed_loop.h"

static const struct distribution_table cases; /* defined at the end */

/* ---- beginning and end ---------------------------------------------------------------------------------- */

static void begin_case(struct method_run *run)
{
    case_sweep_of(run)->phase = CASE_SWEEP_TRAIN;
    case_sweep_of(run)->table->begin(run);
}

/* Plans the cases, and distributes them if there are several. */
static enum status plan(struct method_run *run, const struct method_env *env, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    enum status status = w->table->plan(run, err);
    if (status)
        return status;
    begin_case(run);
    if (w->count < 2)
        return STATUS_OK;
    w->env.comm = NULL;
    if (comm_size(env->comm) > 1 && env->step_seconds <= 0)
        w->env.step_seconds = DISTRIBUTION_SECONDS;
    return distribution_open(&w->distribution, &cases, w->table->series, w->table->series_count, &w->env, env->comm,
                             w->count, run, err);
}

enum status case_sweep_create(struct method_run *run, const struct case_sweep_table *table,
                              const struct method_env *env, int64_t checkpoint_every, struct method_run **out,
                              struct error *err)
{
    if (!run)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a run");
    struct case_sweep *w = case_sweep_of(run);
    w->table = table;
    w->env = *env;
    w->checkpoint_every = checkpoint_every;
    w->opened = -1;
    enum status status = plan(run, env, err);
    if (status) {
        case_sweep_destroy(run);
        return status;
    }
    *out = run;
    return STATUS_OK;
}

enum status case_sweep_plan(struct method_run *run, int count, int most, size_t case_bytes, int columns,
                            struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    if (count < 1 || count > most)
        return error_set(err, STATUS_INVALID, NULL, "the configuration describes no cases");
    w->count = count;
    w->columns = columns;
    w->cases = calloc((size_t)count, case_bytes);
    w->outcomes = calloc((size_t)count, (size_t)columns * sizeof(double));
    return w->cases && w->outcomes ? STATUS_OK
                                   : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d cases", count);
}

void case_sweep_read(struct method_run *run, struct hash *hash)
{
    struct case_sweep *w = case_sweep_of(run);
    hash_finish(hash, w->data);
    w->reads = true;
}

void case_sweep_hash(const struct method_run *run, struct hash *hash, const void *bytes, size_t count)
{
    enum { PIECE = 1 << 20 };
    struct thread_pool *pool = case_sweep_of((struct method_run *)(uintptr_t)run)->env.pool;
    for (size_t at = 0; at < count && !thread_pool_stopped(pool); at += PIECE)
        hash_add(hash, (const char *)bytes + at, count - at < PIECE ? count - at : PIECE);
}

void case_sweep_destroy(struct method_run *run)
{
    if (!run)
        return;
    case_sweep_of(run)->table->close(run);
    distribution_close(&case_sweep_of(run)->distribution);
    free(case_sweep_of(run)->cases);
    free(case_sweep_of(run)->outcomes);
    free(run);
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

/* Whether cases are distributed over ranks. An evaluation job handles one case and distributes nothing. */
static bool distributed(const struct case_sweep *w)
{
    return w->distribution.count > 0 && !w->alone;
}

void case_sweep_metric(struct method_run *run, const char *name, double value)
{
    struct case_sweep *w = case_sweep_of(run);
    if (!isfinite(value))
        return;
    if (distributed(w))
        distribution_metric(&w->distribution, name, w->seen, value);
    else if (w->env.metric)
        w->env.metric(w->env.context, name, w->seen, value);
}

static enum status finish(struct method_run *run, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    struct error cause = {0};
    (void)err;
    w->phase = CASE_SWEEP_DONE;
    enum status status = w->table->finish(run, &cause);
    publish_attempted(&w->findings, &w->env, "charts", status, &cause);
    return STATUS_OK;
}

static enum status evaluate(struct method_run *run, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    bool done = true;
    enum status status = w->table->evaluate(run, &done, err);
    if (status || !done)
        return status;
    const double *row = (const double *)w->outcomes + w->at * w->columns;
    for (const struct case_sweep_metric *m = w->table->metrics; m->name; m++)
        case_sweep_metric(run, m->name, row[m->column]);
    if (distributed(w)) {
        w->distribution.item_done = true;
        return STATUS_OK;
    }
    return finish(run, err);
}

/* Does one update, or one piece of an evaluation. */
static enum status work(struct method_run *run, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    enum status status = w->table->open(run, err);
    if (status)
        return status;
    if (w->phase == CASE_SWEEP_TRAIN && w->table->trained(run))
        w->phase = CASE_SWEEP_EVALUATE;
    w->distribution.item_waits =
        w->phase == CASE_SWEEP_EVALUATE && distributed(w) && distribution_must_wait(&w->distribution);
    if (w->distribution.item_waits)
        return STATUS_OK;
    return w->phase == CASE_SWEEP_TRAIN ? w->table->update(run, err) : evaluate(run, err);
}

static bool pauses(const struct method_run *run)
{
    return case_sweep_in(run)->distribution.item_done || case_sweep_in(run)->distribution.item_waits;
}

static enum status advance(struct method_run *run, enum method_request *request, struct error *err)
{
    const struct case_sweep *w = case_sweep_of(run);
    const struct timed_loop loop = {work, &w->env, &w->seen, w->checkpoint_every, &w->phase, CASE_SWEEP_DONE, pauses};
    return timed_loop_step(&loop, run, request, err);
}

enum status case_sweep_step(struct method_run *run, enum method_request *request, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    return distributed(w) ? distribution_step(&w->distribution, run, request, err) : advance(run, request, err);
}

enum status case_sweep_begin_evaluation(struct method_run *run, const struct method_evaluation *what, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    if (what->samples < w->table->least_samples || what->samples > w->table->most_samples)
        return error_set(err, STATUS_INVALID, "/samples", "must be in [%lld, %lld]", (long long)w->table->least_samples,
                         (long long)w->table->most_samples);
    w->phase = CASE_SWEEP_EVALUATE;
    w->alone = 1;
    w->evaluation_seed = what->seed;
    w->evaluation_samples = what->samples;
    if (w->table->begin_evaluation)
        w->table->begin_evaluation(run);
    return STATUS_OK;
}

static const char *stage_of(int64_t phase)
{
    static const char *const stages[] = {"training", "evaluating", "done"};
    return stages[phase];
}

static double part_of(const struct method_run *run)
{
    const struct case_sweep *w = case_sweep_in(run);
    return w->opened == w->at ? fmin(w->table->part(run), 1) : 0;
}

void case_sweep_progress(const struct method_run *run, struct method_progress *out)
{
    const struct case_sweep *w = case_sweep_in(run);
    if (distributed(w))
        distribution_progress(&w->distribution, run, out);
    else
        timed_loop_progress(w->phase == CASE_SWEEP_DONE ? 1 : part_of(run), w->work, w->seen, stage_of(w->phase), out);
}

/* ---- checkpoints ---------------------------------------------------------------------------------------- */

static const struct case_sweep_number own_numbers[] = {
    {"run.at", CASE_SWEEP_POSITION, offsetof(struct case_sweep, at)},
    {"run.phase", CASE_SWEEP_POSITION, offsetof(struct case_sweep, phase)},
    {"run.seen", CASE_SWEEP_INTEGER, offsetof(struct case_sweep, seen)},
    {"run.work", CASE_SWEEP_INTEGER, offsetof(struct case_sweep, work)},
    {"run.alone", CASE_SWEEP_INTEGER, offsetof(struct case_sweep, alone)},
    {"evaluation.seed", CASE_SWEEP_INTEGER, offsetof(struct case_sweep, evaluation_seed)},
    {"evaluation.samples", CASE_SWEEP_INTEGER, offsetof(struct case_sweep, evaluation_samples)},
    {"run.loss_sum", CASE_SWEEP_REAL, offsetof(struct case_sweep, loss_sum)},
    {NULL, CASE_SWEEP_INTEGER, 0},
};

static enum status add_numbers(struct method_run *run, const struct case_sweep_number *list, bool position,
                               struct snapshot *snapshot, struct error *err)
{
    enum status status = STATUS_OK;
    for (const struct case_sweep_number *n = list; !status && n->name; n++) {
        void *at = (char *)run + n->offset;
        if (position && n->kind != CASE_SWEEP_POSITION)
            continue;
        status = n->kind == CASE_SWEEP_REAL ? snapshot_add_f64(snapshot, n->name, at, err)
                                            : snapshot_add_i64(snapshot, n->name, at, err);
    }
    return status;
}

static enum status declare_position(void *run, struct snapshot *snapshot, struct error *err)
{
    enum status status = add_numbers(run, own_numbers, true, snapshot, err);
    return status ? status : add_numbers(run, case_sweep_of(run)->table->numbers, true, snapshot, err);
}

static enum status declare(void *run, struct snapshot *snapshot, struct error *err)
{
    static const enum snapshot_role roles[] = {SNAPSHOT_WEIGHT, SNAPSHOT_OPTIMISER, SNAPSHOT_STATE};
    struct case_sweep *w = case_sweep_of(run);
    const uint64_t digest[1] = {HASH_BYTES};
    enum status status = STATUS_OK;
    for (size_t r = 0; !status && r < sizeof roles / sizeof roles[0]; r++)
        status = w->table->arrays(run, roles[r], snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = add_numbers(run, own_numbers, false, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = add_numbers(run, w->table->numbers, false, snapshot, err);
    if (status != STATUS_OK)
        return status;
    if (w->reads)
        return snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_U8, "run.data", 1, digest, w->trained_on, err);
    return STATUS_OK;
}

static enum status declare_outcomes(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    const uint64_t table[2] = {(uint64_t)w->count, (uint64_t)w->columns};
    enum status status =
        snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "run.outcomes", 2, table, w->outcomes, err);
    return status ? status : publish_snapshot(&w->findings, snapshot, err);
}

static enum status declare_all(void *run, struct snapshot *snapshot, struct error *err)
{
    enum status status = declare(run, snapshot, err);
    return status ? status : declare_outcomes(run, snapshot, err);
}

static enum status check(struct method_run *run, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    enum status status = w->table->open(run, err);
    if (!status)
        status = w->table->check(run, err);
    memcpy(w->trained_on, w->data, sizeof w->data);
    return status;
}

enum status case_sweep_save(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes,
                            struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    if (w->distribution.count > 0)
        return distribution_save(&w->distribution, run, to, bytes, err);
    enum status status = check(run, err);
    return status ? status : snapshot_save(declare_all, run, to, bytes, err);
}

/* Reads the numbers that decide which case is opened. A stream may be damaged, so the function checks these numbers
 * before a case is opened. */
static enum status read_position(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    const struct case_sweep *w = case_sweep_of(run);
    enum status status = snapshot_load(declare_position, run, from, 1u << SNAPSHOT_STATE, err);
    if (status)
        return status;
    bool sound = w->at >= 0 && w->at < w->count && w->phase >= CASE_SWEEP_TRAIN && w->phase <= CASE_SWEEP_DONE &&
                 w->table->position_sound(run);
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint belongs to another list of cases");
}

static enum status ready(struct method_run *run, int64_t item, const struct snapshot_reader *from, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    enum status status = read_position(run, from, err);
    w->opened = -1;
    if (!status && item >= 0 && w->at != item)
        status = error_set(err, STATUS_CORRUPT, NULL, "the checkpoint belongs to another case");
    return status ? status : w->table->open(run, err);
}

static enum status loaded(struct method_run *run, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    bool sound = true;
    enum status status =
        w->reads && memcmp(w->trained_on, w->data, sizeof w->data) != 0
            ? error_set(
                  err, STATUS_CONFLICT, NULL,
                  "the data set has changed since the checkpoint was saved; put the same data back or start a new job")
            : w->table->loaded(run, &sound, err);
    if (status)
        return status;
    return sound && w->seen >= 0 && w->work >= 0
               ? STATUS_OK
               : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's state is inconsistent");
}

enum status case_sweep_load(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    if (w->distribution.count > 0)
        return distribution_load(&w->distribution, run, from, err);
    enum status status = ready(run, -1, from, err);
    if (!status)
        status = snapshot_load(declare_all, run, from, SNAPSHOT_ALL, err);
    return status ? status : loaded(run, err);
}

enum status case_sweep_warm_start(struct method_run *run, const struct snapshot_reader *from, struct error *err)
{
    const struct case_sweep *w = case_sweep_of(run);
    if (w->count > 1 || !w->table->single(run))
        return error_set(err, STATUS_CONFLICT, NULL,
                         "only a job with a single fit can start from another job's weights");
    enum status status = w->table->open(run, err);
    return status ? status : snapshot_load(declare, run, from, 1u << SNAPSHOT_WEIGHT, err);
}

/* ---- cases as work items --------------------------------------------------------------- */

static void pending(const struct method_run *run, int64_t at, struct work_item *out)
{
    const struct case_sweep_table *table = case_sweep_in(run)->table;
    *out = (struct work_item){.training = 1,
                              .left = NAN,
                              .weight = table->weight ? table->weight(run, (int)at) : 1,
                              .density = NAN,
                              .target = NAN,
                              .accuracy = NAN};
}

static void describe(const struct method_run *run, struct work_item *out)
{
    const struct case_sweep *w = case_sweep_in(run);
    out->stage = (double)w->phase;
    out->training = 1;
    out->work = (double)w->work;
    out->seen = (double)w->seen;
    out->fraction = part_of(run);
    out->left = out->density = out->target = out->accuracy = NAN;
}

static enum status begin_item(struct method_run *run, int64_t at, struct error *err)
{
    struct case_sweep *w = case_sweep_of(run);
    (void)err;
    w->at = at;
    w->seen = w->work = 0;
    w->loss_sum = 0;
    w->opened = -1;
    begin_case(run);
    return STATUS_OK;
}

static size_t outcome(struct method_run *run, int64_t at, int part, void **out)
{
    struct case_sweep *w = case_sweep_of(run);
    *out = (double *)w->outcomes + at * w->columns;
    return part == 0 ? (size_t)w->columns * sizeof(double) : 0;
}

static void in_step(struct method_run *run)
{
    case_sweep_of(run)->env.step_seconds = 1e-9;
}
static bool done(const struct method_run *run)
{
    return case_sweep_in(run)->phase == CASE_SWEEP_DONE;
}
static bool show(struct method_run *run, int64_t at)
{
    return case_sweep_of(run)->at == at;
}

static enum status declare_item(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    return declare(run, snapshot, err);
}

static const struct distribution_table cases = {
    .noun = "case",
    .stage = stage_of,
    .pending = pending,
    .describe = describe,
    .begin = begin_item,
    .advance = advance,
    .outcome = outcome,
    .in_step = in_step,
    .finish = finish,
    .done = done,
    .check = check,
    .declare = declare_item,
    .share = declare_outcomes,
    .ready = ready,
    .loaded = loaded,
    .show = show,
};
