/* Rate limit per caller: one bucket of permits for each caller, filled at a steady rate, in a table of fixed size.
 *
 * A caller is the name of a token, or without one the client's address. Of an IPv6 address the /64 prefix counts,
 * because one household or machine gets a whole prefix. When the table is full, the bucket that was used longest ago is
 * replaced, which at worst grants that caller one more burst. Any thread. */
#ifndef MOTIF_SERVER_HTTP_RATE_H
#define MOTIF_SERVER_HTTP_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/error.h"

struct rate;

/* Allows `per_second` requests, and a burst of twice as many. 0: no limit, and *rate is NULL. */
enum status rate_create(int64_t per_second, struct rate **rate, struct error *err);
void rate_destroy(struct rate *rate); /* `rate` may be NULL */

/* Takes a permit at the time `now` (monotonic seconds). Returns false when none is left; *wait is then the time until
 * the next permit in whole seconds, rounded up. */
bool rate_take(struct rate *rate, const void *caller, size_t bytes, double now, int *wait);

/* Copies the part of an address that identifies a caller to `out`; returns its bytes. */
size_t rate_address(const struct sockaddr *address, uint8_t out[16]);

#endif
