/* Helpers of byte sources (read exactly, read all, expect the end), and the source that reads from memory. */
#include "core/formats/byte_source.h"

#include <stdlib.h>
#include <string.h>

enum status byte_source_read(const struct byte_source *from, void *to, size_t most, size_t *got, struct error *err)
{
    enum status status = work_yield(from->work, err);
    *got = 0;
    return status ? status : from->read(from->context, to, most, got, err);
}

enum status byte_source_ratio(int64_t packed, int64_t unpacked, const char *what, struct error *err)
{
    if (unpacked <= UNPACK_FREE || unpacked / UNPACK_RATIO <= packed)
        return STATUS_OK;
    return error_set(err, STATUS_LIMIT, NULL,
                     "%s unpacks to more than %d MiB and more than %d times its size; send it unpacked, or in parts",
                     what, UNPACK_FREE >> 20, UNPACK_RATIO);
}

static enum status byte_source_fill(const struct byte_source *from, void *to, size_t count, size_t *got,
                                    struct error *err)
{
    for (*got = 0; *got < count;) {
        size_t now = 0;
        enum status status = byte_source_read(from, (char *)to + *got, count - *got, &now, err);
        if (status)
            return status;
        if (now == 0)
            return STATUS_OK;
        *got += now;
    }
    return STATUS_OK;
}

enum status byte_source_exactly(const struct byte_source *from, void *to, size_t count, const char *what,
                                struct error *err)
{
    size_t got;
    enum status status = byte_source_fill(from, to, count, &got, err);
    if (!status && got < count)
        return error_set(err, STATUS_CORRUPT, NULL, "the bytes end inside %s; the file is cut off", what);
    return status;
}

enum status byte_source_end(const struct byte_source *from, const char *what, struct error *err)
{
    char more;
    size_t got;
    enum status status = byte_source_fill(from, &more, 1, &got, err);
    return status || got == 0 ? status
                              : error_set(err, STATUS_CORRUPT, NULL, "there are more bytes after the end of %s", what);
}

enum status byte_source_all(const struct byte_source *from, size_t most, char **bytes, size_t *size, struct error *err)
{
    char *all = NULL;
    size_t room = 0, used = 0;
    enum status status = STATUS_OK;
    while (!status && used == room) {
        size_t got;
        room = room ? 2 * room : 1u << 14;
        room = room > most + 1 ? most + 1 : room; /* one byte more than allowed shows that there are too many */
        char *larger = realloc(all, room);
        if (!larger) {
            status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %zu bytes", room);
            break;
        }
        all = larger;
        status = byte_source_fill(from, all + used, room - used, &got, err);
        used += got;
        if (!status && used > most)
            status = error_set(err, STATUS_LIMIT, NULL, "has more than %zu bytes, the most that is allowed", most);
    }
    if (status) {
        free(all);
        return status;
    }
    *bytes = all;
    *size = used;
    return STATUS_OK;
}

static enum status read_memory(void *context, void *to, size_t most, size_t *got, struct error *err)
{
    struct byte_source_memory *memory = context;
    size_t now = most < memory->left ? most : memory->left;
    if (memory->step && now > memory->step)
        now = memory->step;
    if (now > 0) /* `at` may be NULL when no bytes are left, and memcpy() does not accept NULL */
        memcpy(to, memory->at, now);
    memory->at += now;
    memory->left -= now;
    *got = now;
    return STATUS_OK;
}

struct byte_source byte_source_of_memory(struct byte_source_memory *memory)
{
    return (struct byte_source){memory, read_memory, NULL};
}
