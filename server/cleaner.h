/* The thread that applies the policies of retention from time to time (api_clean()). */
#ifndef MOTIF_SERVER_CLEANER_H
#define MOTIF_SERVER_CLEANER_H

#include <stdint.h>

#include "core/base/error.h"

struct api;
struct cleaner;

/* Starts the thread, which waits `seconds` before each time. Borrows the api. */
enum status cleaner_start(struct api *api, int64_t seconds, struct cleaner **cleaner, struct error *err);
/* Ends the thread after the deletion in progress; NULL is fine. */
void cleaner_stop(struct cleaner *cleaner);

#endif
