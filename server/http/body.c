/* Keeps the body of a request in memory while it is small, and in an unnamed file when it is large (body.h). An unnamed
 * file needs no cleanup after a crash: the kernel frees it with the last descriptor. */
#include "server/http/body.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/descriptor.h"

void body_init(struct body *body, const struct body_store *store, const char *owner, size_t limit)
{
    *body = (struct body){.store = store, .file = -1, .limit = limit};
    ledger_open(&body->account, store->ledger, owner);
    buf_init(&body->memory, limit < BODY_MEMORY ? limit : BODY_MEMORY);
}

/* Frees what the body holds. */
static void body_drop(struct body *body)
{
    buf_close(&body->memory);
    if (body->mapped != NULL)
        (void)munmap(body->mapped, body->size);
    if (body->file >= 0)
        descriptor_close(&body->file);
    ledger_close(&body->account);
    body->mapped = NULL;
    body->size = 0;
}

static void body_fail(struct body *body, enum body_fault fault)
{
    body_drop(body);
    body->fault = fault;
}

/* Opens a file without a name in the folder of `beside`. Returns -1 if this fails. */
static int open_unnamed(const char *beside)
{
    char path[4096];
    const char *slash = strrchr(beside, '/');
    int length = snprintf(path, sizeof path, "%.*s", slash != NULL ? (int)(slash - beside) + 1 : 1,
                          slash != NULL ? beside : ".");
    if ((size_t)length >= sizeof path)
        return -1;
    int file = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return file;
    /* Some network file systems have no O_TMPFILE. */
    length = snprintf(path, sizeof path, "%s-body-XXXXXX", beside);
    if ((size_t)length >= sizeof path)
        return -1;
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        (void)unlink(path);
    return file;
}

/* Appends to the file. The bytes are counted before they are written, so all files together never exceed the limit. */
static bool append_file(struct body *body, const char *bytes, size_t count)
{
    if (ledger_take(&body->account, LEDGER_BODIES, (int64_t)count, NULL))
        return false;
    for (size_t written = 0; written < count;) {
        ssize_t some = write(body->file, bytes + written, count - written);
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            return false;
        written += (size_t)some;
    }
    body->size += count;
    return true;
}

static bool move_to_file(struct body *body)
{
    size_t count = body->size;
    body->file = open_unnamed(body->store->beside);
    body->size = 0;
    bool ok = body->file >= 0 && append_file(body, body->memory.data, count);
    buf_close(&body->memory);
    return ok;
}

void body_append(struct body *body, const void *bytes, size_t count)
{
    if (body->fault != BODY_SOUND || count == 0)
        return;
    if (count > body->limit - body->size) {
        body_fail(body, BODY_TOO_LARGE);
        return;
    }
    if (body->file < 0 && body->size + count <= BODY_MEMORY) {
        buf_append(&body->memory, bytes, count);
        body->size += count;
        if (body->memory.failed)
            body_fail(body, BODY_NO_ROOM);
        return;
    }
    if ((body->file < 0 && !move_to_file(body)) || !append_file(body, bytes, count))
        body_fail(body, BODY_NO_ROOM);
}

const void *body_complete(struct body *body)
{
    if (body->file < 0)
        return body->size > 0 ? body->memory.data : NULL;
    if (body->mapped == NULL) {
        void *mapped = mmap(NULL, body->size, PROT_READ, MAP_PRIVATE, body->file, 0);
        if (mapped == MAP_FAILED)
            body_fail(body, BODY_NO_ROOM);
        else
            body->mapped = mapped;
    }
    return body->mapped;
}

void body_close(struct body *body)
{
    if (body->store != NULL)
        body_drop(body);
}
