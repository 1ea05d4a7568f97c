/* The budget of the work for one request: until when it may run, and what it may hold. Every loop whose length a client
 * chooses asks work_check() or work_yield() at least every 100 ms, and takes memory and files from `account` before it
 * uses them (ledger.h). Sources of bytes ask on every read (byte_source_read()).
 *
 * Any thread of the work may call the functions, if stop() and yield() allow it. A NULL budget never ends. */
#ifndef MOTIF_CORE_BASE_WORK_H
#define MOTIF_CORE_BASE_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/ledger.h"

struct work {
    bool (*stop)(void *context); /* true: the work must end, because nobody waits for it; NULL: it never must */
    /* Lets the work of others go first, and may wait for that. False: the work must end. NULL: nobody goes first. */
    bool (*yield)(void *context);
    void *context;
    int64_t until_ms; /* the deadline, as work_now_ms(); 0: none */
    int64_t pause_ms; /* stop() is not called again within this time; 0: it is called at each check */
    struct ledger_account account;
    /* private */
    _Atomic int64_t looked_ms;
    atomic_bool stopped, late;
};

/* A pause_ms for a stop() that is a system call. */
enum { WORK_PAUSE_MS = 20 };

/* Milliseconds of the monotonic clock. */
int64_t work_now_ms(void);
/* True if the work must end; then it is true for ever. `work` is a struct work: the function can be given to
 * thread_pool_stop_when(). */
bool work_stopped(void *work);
/* Whether the deadline has passed; known after work_stopped(). */
bool work_late(const struct work *work);
/* STATUS_CANCELLED: the work must end. */
enum status work_check(struct work *work, struct error *err);
/* Like work_check(), and lets the work of others go first. The caller must hold nothing for which they could wait. */
enum status work_yield(struct work *work, struct error *err);
/* Takes an amount from the account, and gives it back (ledger_take(), ledger_give()). Without a budget they have no
 * effect. */
enum status work_take(struct work *work, enum ledger_item item, int64_t amount, struct error *err);
void work_give(struct work *work, enum ledger_item item, int64_t amount);
/* Takes the memory (LEDGER_RESULTS) by which an array grows for one more element of `bytes` bytes behind `count`
 * elements (grown.h). The memory of a small array is not counted. */
enum status work_take_growth(struct work *work, size_t count, size_t bytes, struct error *err);

#endif
