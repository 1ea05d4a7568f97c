/* Makes the n-th allocation of a test program fail, so that a test can reach every out-of-memory path:
 *
 *     for (int n = 0; ; n++) {
 *         fault_after(n);
 *         status = thing_create(...);
 *         if (!fault_happened()) break;     ... no allocation failed: all paths are tested
 *         assert_int_equal(status, STATUS_NO_MEMORY);
 *     }
 *
 * A test that uses it lists `faults` in tests/unit/meson.build. The count includes the allocations of the program's own
 * objects in all threads and, after fault_libraries(), those of cJSON and SQLite. Allocations inside other shared
 * libraries (libpng, libc) are not counted. */
#ifndef MOTIF_TESTS_SUPPORT_FAULT_H
#define MOTIF_TESTS_SUPPORT_FAULT_H

#include <stdbool.h>
#include <stdlib.h>

/* The next `count` allocations succeed, and the one after them fails. */
void fault_after(int count);
/* The next `count` allocations succeed, and all later ones fail. */
void fault_from(int count);
/* true: only allocations of the thread that called fault_after() or fault_from() count and fail, not those of
 * background threads such as the store's. */
void fault_spare_others(bool spare);
/* Whether an allocation has failed since fault_after() or fault_from(). Switches the fault off. */
bool fault_happened(void);

/* Counts the allocations of cJSON and SQLite too (fault_libraries.c, `library_faults` in meson.build). Call it first in
 * main(), before SQLite is used. */
void fault_libraries(void);
/* true: the allocations of SQLite do not count, so a test has far fewer allocations to try. */
void fault_spare_sqlite(bool spare);
/* Counts an allocation and returns whether it must fail. Replacements of other allocators call it. */
bool fault_now(void);

/* Number of allocations that will still succeed. */
int fault_left(void);

/* Number of bytes that the program's own objects have allocated since the program started, in all threads. Memory that
 * they have freed since then is included. */
size_t fault_bytes(void);

/* Returns the stride of a test that makes only every n-th allocation fail: MOTIF_FAULT_STRIDE if it is set, else
 * `usual`. With stride 1 each allocation fails once. */
static inline int fault_stride(int usual)
{
    const char *value = getenv("MOTIF_FAULT_STRIDE");
    int stride = value != NULL ? atoi(value) : usual;
    return stride > 0 ? stride : usual;
}

#endif
