/* A wall clock that a test can set: what the program under test reads of CLOCK_REALTIME, time() and gettimeofday() is
 * that much off. The monotonic clock is left alone, as setting a machine's clock leaves it. */
#ifndef MOTIF_TESTS_SUPPORT_CLOCK_H
#define MOTIF_TESTS_SUPPORT_CLOCK_H

#include <stdint.h>

/* From now on, in milliseconds. Any thread. */
void clock_jump_to(int64_t offset_ms);

#endif
