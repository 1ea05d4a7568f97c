#include "core/methods/starts.h"

#include <math.h>
#include <stdio.h>

#include "core/base/comm.h"
#include "core/base/pool.h"

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

void starts_begin(struct starts *starts)
{
    starts->chosen = -1;
    starts->objective = starts->worst = NAN;
}

enum status starts_open(struct method_run *run, struct starts *starts, int64_t restarts, struct error *err)
{
    bool decided = starts->chosen >= 0;
    int count = decided ? 1 : (int)restarts;
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < count; i++) {
        int start = decided ? (int)starts->chosen : i;
        status = starts->table->create(run, start, prefix_of(i).text, count > 1, &starts->fit[i], err);
        starts->count += !status;
    }
    return status;
}

void starts_close(struct starts *starts)
{
    for (int i = 0; i < starts->count; i++) {
        starts->table->destroy(starts->fit[i]);
        starts->fit[i] = NULL;
    }
    starts->count = 0;
}

/* ---- training ------------------------------------------------------------------------------------------- */

struct round {
    const struct starts *starts;
    enum status status[STARTS_MOST];
    struct error error[STARTS_MOST];
};

static void update_task(void *context, int chunk, int worker)
{
    struct round *r = context;
    (void)worker;
    error_clear(&r->error[chunk]);
    r->status[chunk] = r->starts->table->update(r->starts->fit[chunk], &r->error[chunk]);
}

enum status starts_update(struct method_run *run, struct starts *starts, struct error *err)
{
    const struct method_env *env = &walk_in(run)->env;
    bool shared = comm_size(env->comm) > 1;
    struct round r = {.starts = starts};
    enum status status = STATUS_OK;
    if (starts->count == 1 || shared) {
        for (int i = 0; !status && i < starts->count; i++)
            status = starts->table->update(starts->fit[i], err);
        return status;
    }
    pool_run(env->pool, update_task, &r, starts->count);
    for (int i = 0; i < starts->count; i++)
        if (r.status[i])
            return error_set(err, r.status[i], NULL, "%s", r.error[i].message);
    return STATUS_OK;
}

/* A fit that can use the pool takes the place of all. */
static enum status keep(struct method_run *run, struct starts *starts, int best, struct error *err)
{
    void *kept = NULL;
    if (starts->count == 1)
        return STATUS_OK;
    enum status status = starts->table->create(run, best, "", false, &kept, err);
    if (status)
        return status;
    starts->table->copy(kept, starts->fit[best]);
    starts_close(starts);
    starts->fit[0] = kept;
    starts->count = 1;
    return STATUS_OK;
}

enum status starts_choose(struct method_run *run, struct starts *starts, struct error *err)
{
    int best = 0;
    double least = NAN, worst = NAN;
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < starts->count; i++) {
        double objective;
        status = starts->table->objective(starts->fit[i], &objective, err);
        if (status)
            break;
        if (i == 0 || objective < least) {
            best = i;
            least = objective;
        }
        worst = fmax(worst, objective);
    }
    if (!status)
        status = keep(run, starts, best, err);
    if (status)
        return status;
    starts->chosen = best;
    starts->objective = least;
    starts->worst = worst;
    return STATUS_OK;
}

double starts_part(const struct starts *starts, int64_t restarts, double screen, double done, double all)
{
    double others = (double)(restarts - 1), until = screen > 0 ? fmin(screen, all) : all;
    double of_others = starts->count > 1 ? done : until;
    return (done + others * of_others) / (all + others * until);
}

/* ---- what is saved -------------------------------------------------------------------------------------- */

enum status starts_pack(struct starts *starts, enum pack_role role, struct pack *pack, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < starts->count; i++)
        status = starts->table->pack(starts->fit[i], role, pack, prefix_of(i).text, err);
    return status;
}

enum status starts_check(const struct starts *starts, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < starts->count; i++)
        status = params_check(starts->table->params(starts->fit[i]), err);
    return status;
}

bool starts_sound(const struct starts *starts, int64_t restarts)
{
    return starts->chosen >= -1 && starts->chosen < restarts;
}
