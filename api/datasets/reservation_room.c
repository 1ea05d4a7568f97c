/* The rule by which uploads share a limit (reservation_room.h). reservations.c uses this file, and so does a test that
 * tries every order of the steps of two uploads and a crash. */
#include "api/datasets/reservation_room.h"

bool reservation_room(int64_t limit, int64_t used, int64_t waiting, int64_t least, int64_t *most)
{
    int64_t left = limit - used - waiting;
    *most = *most < left ? *most : left;
    return least <= left;
}
