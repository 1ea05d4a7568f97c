/* Metrics by which an operator sees early that a server needs care: free space, the last backup, and the certificate.
 */
#ifndef MOTIF_SERVER_HOUSE_METRICS_H
#define MOTIF_SERVER_HOUSE_METRICS_H

#include <stdint.h>

#include "core/base/buf.h"

struct house_options {
    const char *db, *data;       /* the database file; the folder of data sets */
    int64_t certificate_expires; /* seconds since 1970; 0: no TLS */
};

/* Appends the metrics. */
void house_metrics(const struct house_options *options, struct buf *out);

#endif
