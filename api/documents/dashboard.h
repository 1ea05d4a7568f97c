/* The page at `/`: files that api/dashboard was made into, embedded as gzip'd bytes. A build without node has none. */
#ifndef MOTIF_API_DOCUMENTS_DASHBOARD_H
#define MOTIF_API_DOCUMENTS_DASHBOARD_H

#include <stddef.h>

struct dashboard_file {
    const char *path;           /* behind /assets/; "" for the page itself */
    const char *type;           /* Content-Type */
    const char *tag;            /* hash of the bytes, hex */
    const unsigned char *bytes; /* gzip'd */
    size_t size, plain_size;    /* of `bytes`, and of what they hold */
};

extern const struct dashboard_file dashboard_files[];
extern const size_t dashboard_file_count;
/* What stands in the page itself: "sha256-...", for its policy. */
extern const char dashboard_boot_hash[], dashboard_style_hash[];

#endif
