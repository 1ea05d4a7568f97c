/* A wall clock that a test can set: the program under test reads CLOCK_REALTIME, time() and gettimeofday() with an
 * offset. The monotonic clock is unchanged, as when somebody sets the clock of a machine. */
#ifndef MOTIF_TESTS_SUPPORT_CLOCK_H
#define MOTIF_TESTS_SUPPORT_CLOCK_H

#include <stdint.h>

/* Sets the offset in milliseconds. Any thread may call it. */
void clock_jump_to(int64_t offset_ms);

#endif
