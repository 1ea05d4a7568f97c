/* Makes the n-th allocation of a test program fail, so that every out-of-memory path can be walked:
 *
 *     for (int n = 0; ; n++) {
 *         fault_after(n);
 *         status = thing_create(...);
 *         if (!fault_happened()) break;     ... it got through: all paths have been seen
 *         assert_int_equal(status, STATUS_NO_MEMORY);
 *     }
 *
 * A test that uses it names `faults` in tests/unit/meson.build. Counted are allocations of the program's own objects in
 * all of its threads, and after fault_libraries() those of cJSON and SQLite; calls from within other shared libraries
 * (libpng, libc) are not. */
#ifndef MOTIF_TESTS_SUPPORT_FAULT_H
#define MOTIF_TESTS_SUPPORT_FAULT_H

#include <stdbool.h>
#include <stdlib.h>

/* The next `count` allocations succeed and the one after them fails. */
void fault_after(int count);
/* The same, and all that follow fail as well. */
void fault_from(int count);
/* Only allocations of the thread that calls the above count: what a store does meanwhile has nothing to do with a call.
 */
void fault_spare_others(bool spare);
/* Whether one has failed since; switches the fault off. */
bool fault_happened(void);

/* In fault_libraries.c (`library_faults`). First thing in main(): before SQLite is used. */
void fault_libraries(void);
/* The same: SQLite's are let be, so that the places of the program and of cJSON are few. */
void fault_spare_sqlite(bool spare);
/* For what stands before an allocator of its own: whether this allocation is to fail. */
bool fault_now(void);

/* How many more are to succeed. */
int fault_left(void);

/* How far apart the places of a sweep are: MOTIF_FAULT_STRIDE where it is set (1: every allocation), else `usual`. */
static inline int fault_stride(int usual)
{
    const char *said = getenv("MOTIF_FAULT_STRIDE");
    int stride = said != NULL ? atoi(said) : usual;
    return stride > 0 ? stride : usual;
}

#endif
