/* Makes the n-th allocation of a test program fail, so that every out-of-memory path can be walked:
 *
 *     for (int n = 0; ; n++) {
 *         fault_after(n);
 *         status = thing_create(...);
 *         if (!fault_happened()) break;     ... it got through: all paths have been seen
 *         assert_int_equal(status, STATUS_NO_MEMORY);
 *     }
 *
 * A test that uses it names `faults` in tests/unit/meson.build. Calls from within shared libraries
 * (libpng, libc) are not counted. One thread at a time. */
#ifndef MOTIF_TESTS_UNIT_FAULT_H
#define MOTIF_TESTS_UNIT_FAULT_H

#include <stdbool.h>

/* The next `count` allocations succeed and the one after them fails. */
void fault_after(int count);
/* Whether it has failed since; switches the fault off. */
bool fault_happened(void);

#endif
