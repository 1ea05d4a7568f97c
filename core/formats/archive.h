/* Reads the members of a zip or tar file one after another from a byte source, with libarchive in streaming mode. No
 * other archive format and no filter is enabled. A member's name is never used as the name of a file.
 *
 * The bytes are untrusted:
 * - STATUS_INVALID, naming the member: the name is absolute, contains ".." or a control character, or occurs twice.
 * - STATUS_INVALID, naming the member: it is neither a plain file nor a folder, or it is sparse. Folders are skipped.
 * - STATUS_LIMIT: the archive has more members or more unpacked bytes than allowed, also in relation to its size
 *   (byte_source_ratio()). The reader counts the bytes that it unpacks, whatever the headers claim.
 * - STATUS_CORRUPT: libarchive cannot decode the bytes.
 *
 * One thread at a time. */
#ifndef MOTIF_CORE_FORMATS_ARCHIVE_H
#define MOTIF_CORE_FORMATS_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/formats/byte_source.h"

enum { ARCHIVE_NAME = 1024 }; /* bytes of a member's name with its NUL */

enum archive_kind { ARCHIVE_ZIP, ARCHIVE_TAR, ARCHIVE_TAR_OR_ZIP };
/* Whether a member is a file that an operating system adds to folders, which says nothing about the data: ._NAME,
 * .DS_Store, Thumbs.db, desktop.ini, and everything in a folder __MACOSX. */
bool archive_of_system(const char *name);
struct archive_limits {
    int64_t members; /* maximum number of members, folders included */
    int64_t bytes;   /* maximum number of unpacked bytes of all members together */
};

struct archive_reader;
/* Begins to read an archive. `from` is borrowed and must outlive the reader, which the caller destroys. */
enum status archive_reader_create(enum archive_kind kind, const struct byte_source *from,
                                  const struct archive_limits *limits, struct archive_reader **reader,
                                  struct error *err);
void archive_reader_destroy(struct archive_reader *reader); /* NULL is allowed */

/* Goes to the next member; *more is false at the end. `name` (without a leading "./", and in the Unicode form NFC) and
 * `bytes` are valid until the next call. The caller need not read all bytes of a member: the next call skips the rest.
 */
enum status archive_reader_next(struct archive_reader *reader, const char **name, struct byte_source *bytes, bool *more,
                                struct error *err);

/* Reads a whole archive: calls `read` for each member, until the end or the first error. `limits` are as in
 * archive_reader_create(), and `name` and `bytes` are as in archive_reader_next(). */
enum status archive_reader_each(enum archive_kind kind, const struct byte_source *from,
                                const struct archive_limits *limits,
                                enum status (*read)(void *context, const char *name, const struct byte_source *bytes,
                                                    struct error *err),
                                void *context, struct error *err);

#endif
