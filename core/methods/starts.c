#include "core/methods/starts.h"

#include <stdio.h>

struct round {
    enum status (*update)(void *context, int start, struct error *err);
    void *context;
    enum status status[STARTS_MOST];
    struct error error[STARTS_MOST];
};

static void update_task(void *context, int chunk, int worker)
{
    struct round *r = context;
    error_clear(&r->error[chunk]);
    r->status[chunk] = r->update(r->context, chunk, &r->error[chunk]);
}

static enum status one_by_one(struct round *r, int count, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < count; i++)
        status = r->update(r->context, i, err);
    return status;
}

enum status starts_update(struct pool *pool, int count,
                          enum status (*update)(void *context, int start, struct error *err), void *context,
                          struct error *err)
{
    struct round r = {.update = update, .context = context};
    if (count == 1 || pool == NULL)
        return one_by_one(&r, count, err);
    pool_run(pool, update_task, &r, count);
    for (int i = 0; i < count; i++)
        if (r.status[i])
            return error_set(err, r.status[i], NULL, "%s", r.error[i].message);
    return STATUS_OK;
}

void starts_prefix(int start, char prefix[STARTS_PREFIX])
{
    prefix[0] = '\0';
    if (start > 0)
        snprintf(prefix, STARTS_PREFIX, "restart%d.", start);
}
