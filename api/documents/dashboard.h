/* The files of the page at `/`, which are built from api/dashboard and contained in the program as gzip. A build
 * without Node contains none. */
#ifndef MOTIF_API_DOCUMENTS_DASHBOARD_H
#define MOTIF_API_DOCUMENTS_DASHBOARD_H

#include <stddef.h>

struct dashboard_file {
    const char *path;           /* path below /assets/; "" for the page itself */
    const char *type;           /* Content-Type */
    const char *tag;            /* hash of the bytes in hex, which becomes the ETag */
    const unsigned char *bytes; /* the content, compressed by gzip */
    size_t size, plain_size; /* size: bytes of the compressed content; plain_size: bytes of the uncompressed content */
};

extern const struct dashboard_file dashboard_files[];
extern const size_t dashboard_file_count;
/* The Python client, clients/python/motifd.py, which every build contains. */
extern const struct dashboard_file python_client_file;
/* Hashes of the inline script and style, "sha256-...", for the Content-Security-Policy. */
extern const char dashboard_boot_hash[], dashboard_style_hash[];

#endif
