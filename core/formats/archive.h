/* Members of a zip or tar file one after another, from a source (libarchive, in its streaming way; no other format and
 * no filter is reachable). No name of a member ever becomes the name of a file.
 *
 * Foreign bytes. STATUS_INVALID names the member: a name that is absolute, climbs ("..") or has control characters, an
 * entry that is no plain file (folders are skipped), a name that comes twice. STATUS_LIMIT: more members, or more bytes
 * unpacked, than allowed; what a header says is never believed. STATUS_CORRUPT: what libarchive cannot decode. One
 * thread at a time. */
#ifndef MOTIF_CORE_FORMATS_ARCHIVE_H
#define MOTIF_CORE_FORMATS_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/formats/byte_source.h"

enum { ARCHIVE_NAME = 200 }; /* bytes of a member's name with its NUL */

enum archive_kind { ARCHIVE_ZIP, ARCHIVE_TAR };
struct archive_limits {
    int64_t members; /* folders count as well */
    int64_t bytes;   /* unpacked, of all members together */
};

struct archive_reader;
enum status archive_reader_create(enum archive_kind kind, const struct source *from,
                                  const struct archive_limits *limits, struct archive_reader **reader,
                                  struct error *err);
void archive_reader_destroy(struct archive_reader *reader); /* NULL is fine */

/* The next member: its name without "./" (valid until the next call) and its bytes. What is not read of it is passed
 * over. */
enum status archive_reader_next(struct archive_reader *reader, const char **name, struct source *bytes, bool *more,
                                struct error *err);

#endif
