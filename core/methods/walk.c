#include "core/methods/walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/course.h"

/* ---- beginning and end ---------------------------------------------------------------------------------- */

static void begin_case(struct method_run *run)
{
    walk_of(run)->phase = WALK_TRAIN;
    walk_of(run)->table->begin(run);
}

enum status walk_create(struct method_run *run, const struct walk_table *table, const struct method_env *env,
                        int64_t checkpoint_every, struct method_run **out, struct error *err)
{
    if (!run)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a run");
    struct walk *w = walk_of(run);
    w->table = table;
    w->env = *env;
    w->checkpoint_every = checkpoint_every;
    w->opened = -1;
    enum status status = table->plan(run, err);
    if (status) {
        walk_destroy(run);
        return status;
    }
    begin_case(run);
    *out = run;
    return STATUS_OK;
}

enum status walk_plan(struct method_run *run, int count, int most, size_t case_bytes, int columns, struct error *err)
{
    struct walk *w = walk_of(run);
    if (count < 1 || count > most)
        return error_set(err, STATUS_INVALID, NULL, "no list of cases");
    w->count = count;
    w->columns = columns;
    w->cases = calloc((size_t)count, case_bytes);
    w->outcomes = calloc((size_t)count, (size_t)columns * sizeof(double));
    return w->cases && w->outcomes ? STATUS_OK
                                   : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for %d cases", count);
}

void walk_read(struct method_run *run, struct hash *hash)
{
    struct walk *w = walk_of(run);
    hash_finish(hash, w->data);
    w->reads = true;
}

void walk_destroy(struct method_run *run)
{
    if (!run)
        return;
    walk_of(run)->table->close(run);
    free(walk_of(run)->cases);
    free(walk_of(run)->outcomes);
    free(run);
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

void walk_metric(const struct method_run *run, const char *name, double value)
{
    const struct walk *w = walk_in(run);
    if (w->env.metric && isfinite(value))
        w->env.metric(w->env.context, name, w->seen, value);
}

static enum status evaluate(struct method_run *run, struct error *err)
{
    struct walk *w = walk_of(run);
    bool done = true;
    enum status status = w->table->evaluate(run, &done, err);
    if (status || !done)
        return status;
    const double *row = (const double *)w->outcomes + w->at * w->columns;
    for (const struct walk_metric *m = w->table->metrics; m->name; m++)
        walk_metric(run, m->name, row[m->column]);
    if (!w->alone && w->at + 1 < w->count) {
        w->at++;
        begin_case(run);
        return STATUS_OK;
    }
    w->phase = WALK_DONE;
    return w->table->finish(run, err);
}

/* One update, or one piece of an evaluation. */
static enum status work(struct method_run *run, struct error *err)
{
    struct walk *w = walk_of(run);
    enum status status = w->table->open(run, err);
    if (status)
        return status;
    if (w->phase == WALK_TRAIN && w->table->trained(run))
        w->phase = WALK_EVALUATE;
    return w->phase == WALK_TRAIN ? w->table->update(run, err) : evaluate(run, err);
}

enum status walk_step(struct method_run *run, enum method_wish *wish, struct error *err)
{
    const struct walk *w = walk_of(run);
    const struct course course = {work, &w->env, &w->seen, w->checkpoint_every, &w->phase, WALK_DONE};
    return course_step(&course, run, wish, err);
}

enum status walk_begin_evaluation(struct method_run *run, const struct method_evaluation *what, struct error *err)
{
    struct walk *w = walk_of(run);
    if (what->samples < w->table->least_samples || what->samples > w->table->most_samples)
        return error_set(err, STATUS_INVALID, "/samples", "must be in [%lld, %lld]",
                         (long long)w->table->least_samples, (long long)w->table->most_samples);
    w->phase = WALK_EVALUATE;
    w->alone = 1;
    w->evaluation_seed = what->seed;
    w->evaluation_samples = what->samples;
    if (w->table->begin_evaluation)
        w->table->begin_evaluation(run);
    return STATUS_OK;
}

void walk_tell(const struct method_run *run, double fraction, struct method_progress *out)
{
    static const char *const stages[] = {"training", "evaluating", "done"};
    const struct walk *w = walk_in(run);
    course_progress(w->phase == WALK_DONE ? 1 : fraction, w->work, w->seen, stages[w->phase], out);
}

void walk_progress(const struct method_run *run, struct method_progress *out)
{
    const struct walk *w = walk_in(run);
    double part = w->opened == w->at ? fmin(w->table->part(run), 1) : 0;
    walk_tell(run, ((double)w->at + part) / w->count, out);
}

/* ---- checkpoints ---------------------------------------------------------------------------------------- */

static const struct walk_number own_numbers[] = {
    {"run.at", WALK_POSITION, offsetof(struct walk, at)},
    {"run.phase", WALK_POSITION, offsetof(struct walk, phase)},
    {"run.seen", WALK_INTEGER, offsetof(struct walk, seen)},
    {"run.work", WALK_INTEGER, offsetof(struct walk, work)},
    {"run.alone", WALK_INTEGER, offsetof(struct walk, alone)},
    {"evaluation.seed", WALK_INTEGER, offsetof(struct walk, evaluation_seed)},
    {"evaluation.samples", WALK_INTEGER, offsetof(struct walk, evaluation_samples)},
    {"run.loss_sum", WALK_REAL, offsetof(struct walk, loss_sum)},
    {NULL, WALK_INTEGER, 0},
};

static enum status add_numbers(struct method_run *run, const struct walk_number *list, bool position,
                               struct pack *pack, struct error *err)
{
    enum status status = STATUS_OK;
    for (const struct walk_number *n = list; !status && n->name; n++) {
        void *at = (char *)run + n->offset;
        if (position && n->kind != WALK_POSITION)
            continue;
        status = n->kind == WALK_REAL ? pack_add_f64(pack, n->name, at, err) : pack_add_i64(pack, n->name, at, err);
    }
    return status;
}

static enum status declare_position(void *run, struct pack *pack, struct error *err)
{
    enum status status = add_numbers(run, own_numbers, true, pack, err);
    return status ? status : add_numbers(run, walk_of(run)->table->numbers, true, pack, err);
}

static enum status declare(void *run, struct pack *pack, struct error *err)
{
    static const enum pack_role roles[] = {PACK_WEIGHT, PACK_OPTIMISER, PACK_STATE};
    struct walk *w = walk_of(run);
    const uint64_t table[4] = {(uint64_t)w->count, (uint64_t)w->columns}, digest[4] = {HASH_BYTES};
    enum status status = STATUS_OK;
    for (size_t r = 0; !status && r < sizeof roles / sizeof roles[0]; r++)
        status = w->table->arrays(run, roles[r], pack, err);
    if (!status)
        status = add_numbers(run, own_numbers, false, pack, err);
    if (!status)
        status = add_numbers(run, w->table->numbers, false, pack, err);
    if (!status && w->reads)
        status = pack_add(pack, PACK_STATE, PACK_U8, "run.data", 1, digest, w->trained_on, err);
    return status ? status : pack_add(pack, PACK_STATE, PACK_F64, "run.outcomes", 2, table, w->outcomes, err);
}

enum status walk_save(struct method_run *run, const struct pack_writer *to, uint64_t *bytes, struct error *err)
{
    struct walk *w = walk_of(run);
    enum status status = w->table->open(run, err);
    if (!status)
        status = w->table->check(run, err);
    memcpy(w->trained_on, w->data, sizeof w->data);
    return status ? status : pack_save(declare, run, to, bytes, err);
}

/* What is opened is checked first: what comes from a stream is not trusted where it selects memory or work. */
static enum status read_position(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    const struct walk *w = walk_of(run);
    enum status status = pack_load(declare_position, run, from, 1u << PACK_STATE, err);
    if (status)
        return status;
    bool sound = w->at >= 0 && w->at < w->count && w->phase >= WALK_TRAIN && w->phase <= WALK_DONE &&
                 w->table->position_sound(run);
    return sound ? STATUS_OK : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint is of another list of cases");
}

enum status walk_load(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    struct walk *w = walk_of(run);
    bool sound = true;
    enum status status = read_position(run, from, err);
    w->opened = -1;
    if (!status)
        status = w->table->open(run, err);
    if (!status)
        status = pack_load(declare, run, from, PACK_ALL, err);
    if (!status && w->reads && memcmp(w->trained_on, w->data, sizeof w->data) != 0)
        status =
            error_set(err, STATUS_CONFLICT, NULL, "the data set is not the one that the checkpoint was trained on");
    if (!status)
        status = w->table->loaded(run, &sound, err);
    if (status)
        return status;
    return sound && w->seen >= 0 && w->work >= 0
               ? STATUS_OK
               : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's state makes no sense");
}

enum status walk_warm_start(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    const struct walk *w = walk_of(run);
    if (w->count > 1 || !w->table->single(run))
        return error_set(err, STATUS_CONFLICT, NULL, "only a single fit can start from another's weights");
    enum status status = w->table->open(run, err);
    return status ? status : pack_load(declare, run, from, 1u << PACK_WEIGHT, err);
}
