/* Makes the n-th call of SQLite's interface fail: prepare, bind, step, text, read a blob, open, copy. A program makes
 * few of these calls, but thousands of allocations inside them. A test can also run a function just before such a call,
 * in the calling thread, to produce a race that would otherwise need luck. A test that uses it lists `sqlite_faults` in
 * tests/unit/meson.build; the linker redirects the calls of the program's own objects. */
#ifndef MOTIF_TESTS_SUPPORT_FAULT_SQLITE_H
#define MOTIF_TESTS_SUPPORT_FAULT_SQLITE_H

#include <stdbool.h>

/* The next `count` calls succeed. The one after them does nothing and returns `code`, or NULL if it returns text. With
 * `forever`, all later calls fail in the same way. */
void fault_sqlite_after(int count, int code, bool forever);
/* true: only calls of the thread that called fault_sqlite_after() count and fail. The default is all threads. */
void fault_sqlite_spare_others(bool spare);
/* Whether a call has failed since fault_sqlite_after(). Switches the fault off. */
bool fault_sqlite_happened(void);

/* Calls `run` before each step of a statement whose SQL contains `text`. Steps that `run` itself makes do not call it
 * again. If `text` is NULL, `run` is no longer called. */
void fault_sqlite_before(const char *text, void (*run)(void *context), void *context);

#endif
