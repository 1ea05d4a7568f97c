/* Makes the n-th system call of a test program fail: opening, reading, syncing, renaming, creating folders, locking,
 * reading attributes, starting threads, creating mutexes. Calls that only clean up (close, unlink, rmdir) never fail.
 * Calls inside shared libraries are not counted. A test links `call_faults` (tests/unit/meson.build), or instead
 * `socket_faults`, which adds lseek and the calls for sockets, pipes and signals. */
#ifndef MOTIF_TESTS_SUPPORT_FAULT_CALLS_H
#define MOTIF_TESTS_SUPPORT_FAULT_CALLS_H

#include <stdbool.h>

/* The next `count` calls succeed. The one after them fails with errno `code`. With `forever`, all later ones fail too.
 */
void fault_call_after(int count, int code, bool forever);
/* Makes the program see every file system with this type (0: the real one), and as read-only if `read_only` is true. */
void fault_file_system(unsigned long type, bool read_only);
/* Name of the first call that failed since fault_call_after(), or NULL. Switches the fault off. */
const char *fault_call_happened(void);
/* Number of calls that will still succeed. */
int fault_call_left(void);
/* Counts a call and returns whether it must fail; errno is then set. Wrappers call it. */
bool fault_call_now(const char *call);

#endif
