/* Fuzz target of the archive readers. The first byte selects zip or tar, and whether the byte source fails half way.
 * Every accepted name must be relative and must not lead out of the folder into which a caller would unpack the
 * archive. The reader must not return more members or more bytes than its limits allow. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "core/formats/archive.h"

#define ZIP "PK\3\4\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\2\0\0\0\1\0\0\0ahi"

const struct fuzz_seed fuzz_seeds[] = {FUZZ_SEED("0" ZIP), FUZZ_SEED("4" ZIP ZIP)};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

struct torn {
    struct byte_source_memory memory;
    size_t fails_at; /* the source fails when this many bytes are left */
};

static enum status read_torn(void *context, void *to, size_t most, size_t *got, struct error *err)
{
    struct torn *torn = context;
    if (torn->memory.left <= torn->fails_at)
        return error_set(err, STATUS_IO, NULL, "torn");
    struct byte_source whole = byte_source_of_memory(&torn->memory);
    return whole.read(whole.context, to, most, got, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct archive_limits limits = {64, 1 << 16};
    struct archive_reader *reader;
    struct error err = {0};
    char block[512];
    int64_t bytes = 0, members = 0;
    if (size < 1)
        return 0;
    struct torn torn = {{data + 1, size - 1, 1 + size % 509}, size / 2};
    struct byte_source from =
        data[0] & 4 ? (struct byte_source){&torn, read_torn, NULL} : byte_source_of_memory(&torn.memory);
    bool more = true;
    enum status status = archive_reader_create(data[0] & 1 ? ARCHIVE_TAR : ARCHIVE_ZIP, &from, &limits, &reader, &err);
    while (status == STATUS_OK) {
        const char *name;
        struct byte_source member;
        status = archive_reader_next(reader, &name, &member, &more, &err);
        if (status != STATUS_OK || !more)
            break;
        FUZZ_CHECK(name[0] != '\0' && name[0] != '/' && strncmp(name, "../", 3) != 0 && strstr(name, "/../") == NULL);
        members++;
        for (size_t got = (size_t)(members % 2); status == STATUS_OK && got > 0; bytes += (int64_t)got)
            status = member.read(member.context, block, sizeof block, &got, &err);
    }
    FUZZ_CHECK(status == err.code && members <= limits.members && bytes <= limits.bytes);
    archive_reader_destroy(reader);
    return 0;
}
