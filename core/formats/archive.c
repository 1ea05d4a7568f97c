/* The archive reader. It checks every name before the caller sees it, counts members and unpacked bytes itself, and
 * stores the hashes of names to refuse a name that occurs twice. */
#include "core/formats/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/hash.h"
#include "core/base/utf8.h"

enum { BLOCK = 1 << 16, TAG = 16 };

struct archive_reader {
    struct archive *archive;
    struct byte_source from;
    struct archive_limits limits;
    struct error cause; /* first error of the byte source from which libarchive reads */
    char name[ARCHIVE_NAME];
    int64_t members, bytes, packed; /* bytes, packed: numbers of unpacked and of packed bytes so far */
    unsigned char (*seen)[TAG];     /* [1 << bits] hash table of the member names so far; an entry of zeros is free */
    int bits;
    unsigned char block[BLOCK];
};

static la_ssize_t archive_pull(struct archive *archive, void *context, const void **block)
{
    struct archive_reader *r = context;
    size_t got = 0;
    if (byte_source_read(&r->from, r->block, BLOCK, &got, &r->cause)) {
        archive_set_error(archive, ARCHIVE_FATAL, "source");
        return -1;
    }
    r->packed += (int64_t)got;
    *block = r->block;
    return (la_ssize_t)got;
}

/* Reports the byte source's error if there is one, otherwise that libarchive cannot decode the bytes. */
static enum status broken(struct archive_reader *r, const char *what, struct error *err)
{
    if (r->cause.code)
        return error_set(err, r->cause.code, r->cause.pointer, "%s", r->cause.message);
    const char *why = archive_error_string(r->archive);
    return error_set(err, STATUS_CORRUPT, NULL, "%s cannot be read: %s", what, why ? why : "its bytes do not decode");
}

/* Opens libarchive's reader. The caller destroys `r` on failure. */
static enum status open_archive(struct archive_reader *r, enum archive_kind kind, struct error *err)
{
    r->seen = calloc((size_t)1 << r->bits, sizeof *r->seen);
    r->archive = archive_read_new();
    if (!r->seen || !r->archive)
        return error_memory(err, "an archive");
    if ((kind != ARCHIVE_TAR && archive_read_support_format_zip_streamable(r->archive) != ARCHIVE_OK) ||
        (kind != ARCHIVE_ZIP && archive_read_support_format_tar(r->archive) != ARCHIVE_OK))
        return error_memory(err, "an archive");
    if (archive_read_open(r->archive, r, NULL, archive_pull, NULL) != ARCHIVE_OK)
        return broken(r, "the archive", err);
    return STATUS_OK;
}

enum status archive_reader_create(enum archive_kind kind, const struct byte_source *from,
                                  const struct archive_limits *limits, struct archive_reader **reader,
                                  struct error *err)
{
    *reader = NULL;
    struct archive_reader *r = calloc(1, sizeof *r);
    if (!r)
        return error_memory(err, "an archive");
    r->from = *from;
    r->limits = *limits;
    r->bits = 10;
    enum status status = open_archive(r, kind, err);
    if (status) {
        archive_reader_destroy(r);
        return status;
    }
    *reader = r;
    return STATUS_OK;
}

void archive_reader_destroy(struct archive_reader *r)
{
    if (r && r->archive)
        archive_read_free(r->archive);
    if (r)
        free(r->seen);
    free(r);
}

bool archive_of_system(const char *name)
{
    static const char *const names[] = {".DS_Store", "Thumbs.db", "desktop.ini"};
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    bool found = strncmp(last, "._", 2) == 0 || strncmp(name, "__MACOSX/", 9) == 0 || strstr(name, "/__MACOSX/");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        found = found || strcasecmp(last, names[i]) == 0;
    return found;
}

/* Whether a name is relative, without "..", and printable. */
static bool name_good(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length >= ARCHIVE_NAME || name[0] == '/' || strchr(name, '\\') || !utf8_valid(name, length))
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7F)
            return false;
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return false;
    return true;
}

static void archive_shown(const char *name, char out[ARCHIVE_NAME])
{
    size_t used = 0;
    for (const char *c = name ? name : "?"; *c && used + 1 < 80; c++)
        out[used++] = (unsigned char)*c < 0x20 || (unsigned char)*c > 0x7E ? '?' : *c;
    out[used] = '\0';
}

/* Returns the index of a tag (the first TAG bytes of a name's hash) in the table, or of the free entry for it. */
static size_t archive_place(unsigned char (*table)[TAG], int bits, const unsigned char tag[TAG])
{
    static const unsigned char none[TAG];
    uint64_t at;
    memcpy(&at, tag, sizeof at);
    for (size_t mask = ((size_t)1 << bits) - 1;; at++)
        if (memcmp(table[at & mask], none, TAG) == 0 || memcmp(table[at & mask], tag, TAG) == 0)
            return at & mask;
}

static enum status archive_remember(struct archive_reader *r, const char *name, struct error *err)
{
    unsigned char digest[HASH_BYTES];
    if (r->members * 2 > (int64_t)1 << r->bits) {
        unsigned char(*larger)[TAG] = calloc((size_t)2 << r->bits, sizeof *larger);
        if (!larger)
            return error_memory(err, "the names of an archive");
        for (size_t i = 0; i < (size_t)1 << r->bits; i++)
            memcpy(larger[archive_place(larger, r->bits + 1, r->seen[i])], r->seen[i], TAG);
        free(r->seen);
        r->seen = larger;
        r->bits++;
    }
    hash_bytes(name, strlen(name), digest);
    size_t at = archive_place(r->seen, r->bits, digest);
    if (memcmp(r->seen[at], digest, TAG) == 0)
        return error_set(err, STATUS_INVALID, NULL, "member '%.80s' comes twice; names must be unique", name);
    memcpy(r->seen[at], digest, TAG);
    return STATUS_OK;
}

static enum status read_member(void *context, void *to, size_t most, size_t *got, struct error *err)
{
    struct archive_reader *r = context;
    char what[ARCHIVE_NAME + 16];
    la_ssize_t bytes = archive_read_data(r->archive, to, most);
    *got = 0;
    if (bytes < 0) {
        snprintf(what, sizeof what, "member '%.80s'", r->name);
        return broken(r, what, err);
    }
    r->bytes += bytes;
    if (r->bytes > r->limits.bytes)
        return error_set(err, STATUS_LIMIT, NULL,
                         "member '%.80s' makes the archive unpack to more than %lld bytes, the most that is allowed",
                         r->name, (long long)r->limits.bytes);
    *got = (size_t)bytes;
    return byte_source_ratio(r->packed, r->bytes, "the archive", err);
}

static enum status pass_over(struct archive_reader *r, struct error *err)
{
    const struct byte_source rest = {r, read_member, r->from.work};
    char waste[4096];
    size_t got = 1;
    enum status status = STATUS_OK;
    while (!status && got > 0)
        status = byte_source_read(&rest, waste, sizeof waste, &got, err);
    return status;
}

static enum status look_at(struct archive_reader *r, struct archive_entry *entry, bool *folder, struct error *err)
{
    const char *name = archive_entry_pathname(entry);
    char safe[ARCHIVE_NAME];
    archive_shown(name, safe);
    while (name && name[0] == '.' && name[1] == '/')
        name += 2;
    *folder = archive_entry_filetype(entry) == AE_IFDIR;
    if (*folder && name && (name[0] == '\0' || strcmp(name, ".") == 0))
        return STATUS_OK;
    if (name && strlen(name) >= ARCHIVE_NAME)
        return error_set(err, STATUS_INVALID, NULL,
                         "member '%s...' has a name of %zu bytes; at most %d are allowed: give it a shorter one", safe,
                         strlen(name), ARCHIVE_NAME - 1);
    if (!name || !name_good(name))
        return error_set(
            err, STATUS_INVALID, NULL,
            "member '%s' has a name that is not allowed: names must be relative, without '..' and control characters",
            safe);
    if (*folder)
        return STATUS_OK;
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) || archive_entry_symlink(entry))
        return error_set(err, STATUS_INVALID, NULL, "member '%s' is no plain file; links and devices are not allowed",
                         safe);
    if (archive_entry_sparse_count(entry) > 0) /* a few bytes would unpack to any number of zeros */
        return error_set(err, STATUS_INVALID, NULL,
                         "member '%s' is a sparse file; make the archive without them (tar without --sparse)", safe);
    if (archive_entry_is_encrypted(entry))
        return error_set(err, STATUS_INVALID, NULL, "member '%s' is encrypted; store it without a password", safe);
    (void)utf8_composed(name, strlen(name), r->name);
    return archive_remember(r, r->name, err);
}

enum status archive_reader_next(struct archive_reader *r, const char **name, struct byte_source *bytes, bool *more,
                                struct error *err)
{
    bool folder = true;
    *more = true;
    while (folder) {
        struct archive_entry *entry;
        /* libarchive would skip the rest of a member without counting its bytes; pass_over() reads and counts them */
        enum status status = r->members > 0 && r->name[0] ? pass_over(r, err) : STATUS_OK;
        r->name[0] = '\0';
        if (status)
            return status;
        int result = archive_read_next_header(r->archive, &entry);
        *more = result != ARCHIVE_EOF;
        if (!*more)
            return STATUS_OK;
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
            return broken(r, "the archive", err);
        if (++r->members > r->limits.members)
            return error_set(err, STATUS_LIMIT, NULL,
                             "the archive has more than %lld members, the most that is allowed",
                             (long long)r->limits.members);
        status = look_at(r, entry, &folder, err);
        if (status)
            return status;
    }
    *name = r->name;
    *bytes = (struct byte_source){r, read_member, r->from.work};
    return STATUS_OK;
}

enum status archive_reader_each(enum archive_kind kind, const struct byte_source *from,
                                const struct archive_limits *limits,
                                enum status (*read)(void *context, const char *name, const struct byte_source *bytes,
                                                    struct error *err),
                                void *context, struct error *err)
{
    struct archive_reader *archive = NULL;
    bool more = true;
    enum status status = archive_reader_create(kind, from, limits, &archive, err);
    while (!status) {
        const char *name;
        struct byte_source bytes;
        status = archive_reader_next(archive, &name, &bytes, &more, err);
        if (status || !more)
            break;
        status = read(context, name, &bytes, err);
    }
    archive_reader_destroy(archive);
    return status;
}
