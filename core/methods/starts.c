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

enum status starts_update(struct pool *pool, int count,
                          enum status (*update)(void *context, int start, struct error *err), void *context,
                          struct error *err)
{
    if (count == 1)
        return update(context, 0, err);
    struct round r = {.update = update, .context = context};
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
