/* Rate limit per caller: one bucket of permits for each caller, filled at a steady rate, in a table of fixed size.
 *
 * A caller is a token, or the client's address for requests without a token. All IPv6 addresses with the same /64
 * prefix are one caller, because one household or machine gets a whole prefix. When the table is full, a new caller
 * replaces the bucket that was used longest ago; at worst, this grants the old caller one more burst. Any thread. */
#ifndef MOTIF_SERVER_HTTP_RATE_H
#define MOTIF_SERVER_HTTP_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/error.h"

struct rate;

/* Allows `per_second` requests per second, and a burst of twice that number. 0: no limit, and *rate is NULL. */
enum status rate_create(int64_t per_second, struct rate **rate, struct error *err);
void rate_destroy(struct rate *rate); /* `rate` may be NULL */

/* Takes a permit at the time `now` (monotonic seconds). Returns false when none is left; *wait is then the time until
 * the next permit in whole seconds, rounded up. */
bool rate_take(struct rate *rate, const void *caller, size_t bytes, double now, int *wait);

/* Copies the part of an address that identifies a caller to `out`; returns its bytes. */
size_t rate_address(const struct sockaddr *address, uint8_t out[16]);

#endif
