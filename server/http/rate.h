/* How often one caller may ask: a bucket of permits for each, filled at a steady rate, kept in a table of fixed size.
 *
 * A caller is the name of a token, or an address where there is none (of IPv6 its /64, which is what one household or
 * machine is given). When the table has no room the bucket that was used longest ago goes, which at worst grants a
 * burst. Any thread. */
#ifndef MOTIF_SERVER_HTTP_RATE_H
#define MOTIF_SERVER_HTTP_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/error.h"

struct rate;

/* `per_second` requests, twice as many at once; 0: no limit, and *rate is NULL. */
enum status rate_create(int64_t per_second, struct rate **rate, struct error *err);
void rate_destroy(struct rate *rate); /* NULL is fine */

/* Takes a permit at the time `now` (monotonic seconds). False: there is none; *wait is the whole seconds until there is
 * one. */
bool rate_take(struct rate *rate, const void *caller, size_t bytes, double now, int *wait);

/* The part of an address that counts as a caller, in `out`; how many bytes. */
size_t rate_address(const struct sockaddr *address, uint8_t out[16]);

#endif
