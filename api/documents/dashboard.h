/* The files of the page at `/`, built from api/dashboard and embedded as gzip bytes. A build without Node has none. */
#ifndef MOTIF_API_DOCUMENTS_DASHBOARD_H
#define MOTIF_API_DOCUMENTS_DASHBOARD_H

#include <stddef.h>

struct dashboard_file {
    const char *path;           /* after /assets/; "" for the page itself */
    const char *type;           /* Content-Type */
    const char *tag;            /* hash of the bytes in hex, for the ETag */
    const unsigned char *bytes; /* gzip */
    size_t size, plain_size;    /* compressed and uncompressed */
};

extern const struct dashboard_file dashboard_files[];
extern const size_t dashboard_file_count;
/* Hashes of the inline script and style, "sha256-...", for the Content-Security-Policy. */
extern const char dashboard_boot_hash[], dashboard_style_hash[];

#endif
