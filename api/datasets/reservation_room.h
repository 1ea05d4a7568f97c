/* The rule by which uploads share a limit, as a pure function. */
#ifndef MOTIF_API_DATASETS_RESERVATION_ROOM_H
#define MOTIF_API_DATASETS_RESERVATION_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Lowers *most to the bytes that are free under a limit. used: bytes on the disk; waiting: bytes that other uploads
 * have reserved and not written yet. False if fewer than `least` bytes are free. Any thread. */
bool reservation_room(int64_t limit, int64_t used, int64_t waiting, int64_t least, int64_t *most);

#endif
