/* Makes the n-th call that a test program's own objects make of the system fail: opening, reading, syncing, moving,
 * making folders, locking, asking for facts, starting threads, making locks. What only tidies up (close, unlink, rmdir)
 * is left alone. Calls from within shared libraries are not counted. A test that uses it names `call_faults` in
 * tests/unit/meson.build. */
#ifndef MOTIF_TESTS_SUPPORT_FAULT_CALLS_H
#define MOTIF_TESTS_SUPPORT_FAULT_CALLS_H

#include <stdbool.h>

/* The call after `count` more fails with errno `code`; with `forever` so do all behind it. */
void fault_call_after(int count, int code, bool forever);
/* What facts of a file system say from now on: its type (0: its own), and whether it is read-only. */
void fault_file_system(unsigned long type, bool read_only);
/* The name of the call that failed since, or NULL; switches the fault off. */
const char *fault_call_happened(void);
/* How many more are to succeed. */
int fault_call_left(void);

#endif
