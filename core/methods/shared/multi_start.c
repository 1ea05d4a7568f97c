/* Several fits of one model from different initial weights: see multi_start.h. */
#include "core/methods/shared/multi_start.h"

#include <math.h>
#include <stdio.h>

#include "core/base/parallel/comm.h"
#include "core/base/parallel/thread_pool.h"

enum { PREFIX = 24 };

struct prefix {
    char text[PREFIX];
};

static struct prefix prefix_of(int start)
{
    struct prefix p = {""};
    if (start > 0)
        snprintf(p.text, sizeof p.text, "restart%d.", start);
    return p;
}

/* ---- beginning and end ---------------------------------------------------------------------------------- */

void multi_start_begin(struct multi_start *multi_start)
{
    multi_start->chosen = -1;
    multi_start->objective = multi_start->worst = NAN;
}

enum status multi_start_open(struct method_run *run, struct multi_start *multi_start, int64_t restarts,
                             struct error *err)
{
    if (multi_start->chosen < -1 || multi_start->chosen >= restarts)
        return error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's choice of a fit is impossible");
    bool decided = multi_start->chosen >= 0;
    int count = decided ? 1 : (int)restarts;
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < count; i++) {
        int start = decided ? (int)multi_start->chosen : i;
        status = multi_start->table->create(run, start, prefix_of(i).text, count > 1, &multi_start->fit[i], err);
        multi_start->count += !status;
    }
    return status;
}

void multi_start_close(struct multi_start *multi_start)
{
    for (int i = 0; i < multi_start->count; i++) {
        multi_start->table->destroy(multi_start->fit[i]);
        multi_start->fit[i] = NULL;
    }
    multi_start->count = 0;
}

/* ---- training ------------------------------------------------------------------------------------------- */

struct round {
    const struct multi_start *multi_start;
    enum status status[MULTI_START_MOST];
    struct error error[MULTI_START_MOST];
};

static void update_task(void *context, int chunk, int worker)
{
    struct round *r = context;
    (void)worker;
    error_clear(&r->error[chunk]);
    r->status[chunk] = r->multi_start->table->update(r->multi_start->fit[chunk], &r->error[chunk]);
}

enum status multi_start_update(struct method_run *run, struct multi_start *multi_start, struct error *err)
{
    const struct method_env *env = &model_run_in(run)->env;
    bool shared = comm_size(env->comm) > 1;
    struct round r = {.multi_start = multi_start};
    enum status status = STATUS_OK;
    if (multi_start->count == 1 || shared) {
        for (int i = 0; !status && i < multi_start->count; i++)
            status = multi_start->table->update(multi_start->fit[i], err);
        return status;
    }
    if (!thread_pool_run(env->pool, update_task, &r, multi_start->count))
        return thread_pool_check(env->pool, err);
    for (int i = 0; i < multi_start->count; i++)
        if (r.status[i])
            return error_set(err, r.status[i], NULL, "%s", r.error[i].message);
    return STATUS_OK;
}

/* Keeps only the best fit, as a copy that computes on the thread pool. */
static enum status multi_start_keep(struct method_run *run, struct multi_start *multi_start, int best,
                                    struct error *err)
{
    void *kept = NULL;
    if (multi_start->count == 1)
        return STATUS_OK;
    enum status status = multi_start->table->create(run, best, "", false, &kept, err);
    if (status)
        return status;
    multi_start->table->copy(kept, multi_start->fit[best]);
    multi_start_close(multi_start);
    multi_start->fit[0] = kept;
    multi_start->count = 1;
    return STATUS_OK;
}

enum status multi_start_choose(struct method_run *run, struct multi_start *multi_start, struct error *err)
{
    int best = 0;
    double least = NAN, worst = NAN;
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < multi_start->count; i++) {
        double objective;
        status = multi_start->table->objective(multi_start->fit[i], &objective, err);
        if (status)
            break;
        if (i == 0 || objective < least) {
            best = i;
            least = objective;
        }
        worst = fmax(worst, objective);
    }
    if (status)
        return status;
    status = multi_start_keep(run, multi_start, best, err);
    if (status)
        return status;
    multi_start->chosen = best;
    multi_start->objective = least;
    multi_start->worst = worst;
    return STATUS_OK;
}

double multi_start_part(const struct multi_start *multi_start, int64_t restarts, double screen, double done, double all)
{
    double others = (double)(restarts - 1), until = screen > 0 ? fmin(screen, all) : all;
    double of_others = multi_start->count > 1 ? done : until;
    return (done + others * of_others) / (all + others * until);
}

/* ---- what is saved -------------------------------------------------------------------------------------- */

enum status multi_start_snapshot(struct multi_start *multi_start, enum snapshot_role role, struct snapshot *snapshot,
                                 struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < multi_start->count; i++)
        status = multi_start->table->snapshot(multi_start->fit[i], role, snapshot, prefix_of(i).text, err);
    return status;
}

enum status multi_start_check(const struct multi_start *multi_start, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < multi_start->count; i++)
        status = params_check(multi_start->table->params(multi_start->fit[i]), err);
    return status;
}

enum status multi_start_run_check(const struct method_run *run, struct error *err)
{
    return multi_start_check(&((const struct multi_start_run *)run)->multi_start, err);
}

enum status multi_start_run_position(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct multi_start *m = &((struct multi_start_run *)run)->multi_start;
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("run.chosen", &m->chosen),
                                        SNAPSHOT_NUMBER("run.objective", &m->objective),
                                        SNAPSHOT_NUMBER("run.worst", &m->worst)};
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}

enum status multi_start_run_declare(struct method_run *run, enum snapshot_role role, struct snapshot *snapshot,
                                    struct error *err)
{
    return multi_start_snapshot(&((struct multi_start_run *)run)->multi_start, role, snapshot, err);
}
