/* Notices of ended jobs: CloudEvents 1.0 in JSON, signed with HMAC-SHA256, to the address of --notify-url.
 *
 * Storage keeps a notice from the end of its job until the receiver has answered with a status from 200 to 299, so each
 * notice arrives at least once, also when the daemon is killed in between. A receiver recognises a repeated notice by
 * its id. One thread delivers; after a failure it waits 1 s, then twice as long each time, up to an hour.
 *
 * The signature is that of Standard Webhooks: the header webhook-signature is "v1," and the base64 of the HMAC of
 * "ID.TIMESTAMP.BODY", where ID and TIMESTAMP are the headers webhook-id and webhook-timestamp (seconds since 1970). */
#ifndef MOTIF_SERVER_NOTICES_NOTICES_H
#define MOTIF_SERVER_NOTICES_NOTICES_H

#include <stdint.h>

#include "core/base/error.h"

struct journal;
struct notices;
struct storage;

struct notices_options { /* borrowed until notices_stop() */
    const char *url, *secret;
    struct storage *storage;
    struct journal *journal;
};

/* Starts the thread. STATUS_INVALID: the secret is too short, or is not base64 behind "whsec_". */
enum status notices_start(const struct notices_options *options, struct notices **notices, struct error *err);
/* Ends the thread, and a delivery in progress; notices_wake() may still be called. NULL is fine. */
void notices_stop(struct notices *notices);
void notices_destroy(struct notices *notices); /* after notices_stop(); NULL is fine */
/* Tells the thread that there may be a new notice. Any thread; returns at once. NULL is fine. */
void notices_wake(struct notices *notices);

struct notices_stats {
    uint64_t delivered, failed; /* deliveries since the start */
};
void notices_stats_read(struct notices *notices, struct notices_stats *out);

#endif
