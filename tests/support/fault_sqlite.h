/* Makes the n-th answer of SQLite to the program fail, whatever it was asked (to prepare, bind, step, give text, read
 * a blob, open, copy): a few places a call, where its allocations are thousands. Also lets a test do something just
 * before such a call, in the thread that makes it: a race that would take luck. A test that uses it names
 * `sqlite_faults` in tests/unit/meson.build; what the linker redirects are calls of the program's own objects. */
#ifndef MOTIF_TESTS_SUPPORT_FAULT_SQLITE_H
#define MOTIF_TESTS_SUPPORT_FAULT_SQLITE_H

#include <stdbool.h>

/* The answer after `count` more is `code` (text: none), and nothing was done; with `forever` so are all behind it. */
void fault_sqlite_after(int count, int code, bool forever);
/* Whether answers to other threads than that which asked for the fault fail and count; without the call they do. */
void fault_sqlite_spare_others(bool spare);
/* Whether one has failed since; switches the fault off. */
bool fault_sqlite_happened(void);

/* Before a statement whose SQL holds `text` is stepped, `run` is called; NULL: no more. Not while it runs. */
void fault_sqlite_before(const char *text, void (*run)(void *context), void *context);

#endif
