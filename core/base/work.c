/* Ends work at its deadline, or when stop() says so (work.h). stop() may be a system call, so it is not called more
 * often than every pause_ms milliseconds. */
#include "core/base/work.h"

#include <time.h>

int64_t work_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now); /* precise to some milliseconds, and cheap */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool work_stopped(void *context)
{
    struct work *work = context;
    if (work == NULL)
        return false;
    if (atomic_load(&work->stopped))
        return true;
    int64_t now = work_now_ms();
    bool late = work->until_ms > 0 && now > work->until_ms;
    bool looks = work->stop != NULL && (work->pause_ms == 0 || now - atomic_load(&work->looked_ms) >= work->pause_ms);
    if (looks)
        atomic_store(&work->looked_ms, now);
    if (late)
        atomic_store(&work->late, true);
    if (late || (looks && work->stop(work->context)))
        atomic_store(&work->stopped, true);
    return atomic_load(&work->stopped);
}

bool work_late(const struct work *work)
{
    return atomic_load(&work->late);
}

enum status work_check(struct work *work, struct error *err)
{
    return work_stopped(work) ? error_set(err, STATUS_CANCELLED, NULL, "the work for this request was stopped")
                              : STATUS_OK;
}

enum status work_yield(struct work *work, struct error *err)
{
    enum status status = work_check(work, err);
    if (status || work == NULL || work->yield == NULL || work->yield(work->context))
        return status;
    (void)work_stopped(work); /* finds out whether the deadline passed during the wait */
    return error_set(err, STATUS_CANCELLED, NULL, "the work for this request was stopped");
}

enum status work_take(struct work *work, enum ledger_item item, int64_t amount, struct error *err)
{
    return work != NULL ? ledger_take(&work->account, item, amount, err) : STATUS_OK;
}

enum status work_take_growth(struct work *work, size_t count, size_t bytes, struct error *err)
{
    enum { SMALL = 1 << 12 };
    bool grows = count >= SMALL && (count & (count - 1)) == 0;
    return grows ? work_take(work, LEDGER_RESULTS, (int64_t)(count * bytes), err) : STATUS_OK;
}

void work_give(struct work *work, enum ledger_item item, int64_t amount)
{
    if (work != NULL)
        ledger_give(&work->account, item, amount);
}
