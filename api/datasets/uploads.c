/* An upload while it arrives: upload_add() appends to a partial file, and a parser thread reads the file at the same
 * time. upload_add() and the parser thread share the number of bytes that have arrived, under a lock. */
#include "api/datasets/uploads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/parallel/priority.h"
#include "core/formats/gunzip.h"
#include "storage/files/dataset.h"

struct api_upload {
    const char *root;
    struct upload_request request;
    struct arena texts; /* the texts of the request's options */
    int file;
    int store;          /* unnamed file to which the parser writes the values */
    struct error fault; /* the first failure of upload_add() */
    struct reservation reservation;
    /* These members are shared with the parser thread: */
    pthread_t parser;
    pthread_mutex_t lock;
    pthread_cond_t more;
    int64_t arrived;
    bool complete, broken, parsing;
    struct work *finishing; /* the work of the request that waits for the parser; NULL: none does */
    struct work work;       /* of the parser; ends when the upload was abandoned or `finishing` ends */
    /* Only the parser thread uses these members, until it is joined: */
    bool low; /* the thread has a low priority */
    int64_t read;
    struct hash hash;
    char digest[HASH_TEXT];
    struct collection collection;
    struct error err;
};

/* Waits for bytes and returns how many can be read; -1 if the upload was abandoned. */
static int64_t await(struct api_upload *u)
{
    pthread_mutex_lock(&u->lock);
    while (u->arrived == u->read && !u->complete && !u->broken)
        pthread_cond_wait(&u->more, &u->lock);
    int64_t there = u->broken ? -1 : u->arrived - u->read;
    pthread_mutex_unlock(&u->lock);
    return there;
}

static enum status uploads_pull(void *context, void *to, size_t most, size_t *got, struct error *err)
{
    struct api_upload *u = context;
    int64_t there = await(u);
    *got = 0;
    if (there < 0)
        return error_set(err, STATUS_CANCELLED, NULL, "the upload was abandoned");
    size_t now = (int64_t)most < there ? most : (size_t)there;
    ssize_t bytes = now > 0 ? pread(u->file, to, now, u->read) : 0;
    if (bytes < 0 || (now > 0 && bytes == 0))
        return error_set(err, STATUS_IO, NULL, "a part of an upload cannot be read");
    hash_add(&u->hash, to, (size_t)bytes);
    u->read += bytes;
    *got = (size_t)bytes;
    return STATUS_OK;
}

static enum status read_from(struct api_upload *u, const struct byte_source *from, struct error *err)
{
    struct collection_options options = u->request.options;
    options.store = &u->store;
    options.work = &u->work;
    options.data = u->root;
    struct collection_limits limits = COLLECTION_LIMITS;
    limits.bytes = u->request.stored;
    return collection_read(u->request.format, from, &options, &limits, &u->collection, err);
}

static enum status take_table(void *context, const struct byte_source *table, struct error *err)
{
    return read_from(context, table, err);
}

/* Lowers the priority of the parser thread once it has computed for long. */
static void give_way(struct api_upload *u)
{
    if (u->low || priority_used_us(CLOCK_THREAD_CPUTIME_ID) < PRIORITY_LONG_US)
        return;
    u->low = true;
    (void)priority_compute(0, PRIORITY_LONG_NICE);
}

/* Whether the parser must end. */
static bool uploads_stop(void *context)
{
    struct api_upload *u = context;
    give_way(u);
    pthread_mutex_lock(&u->lock);
    bool stop = u->broken || work_stopped(u->finishing);
    pthread_mutex_unlock(&u->lock);
    return stop;
}

struct upload_bytes {
    int file;
    int64_t at;
};

static enum status upload_bytes_read(void *context, void *to, size_t most, size_t *got, struct error *err)
{
    struct upload_bytes *b = context;
    ssize_t bytes = pread(b->file, to, most, b->at);
    *got = bytes > 0 ? (size_t)bytes : 0;
    b->at += (int64_t)*got;
    return bytes < 0 ? error_set(err, STATUS_IO, NULL, "a part of an upload cannot be read") : STATUS_OK;
}

/* Unpacks a file that is compressed by gzip, for a converter that needs the whole file. *plain: an unnamed file, which
 * the caller closes; -1: the file is not compressed. */
static enum status uploads_unpack(struct api_upload *u, int *plain, struct error *err)
{
    enum { BLOCK = 1 << 14, PACKED_MOST = 16 };
    char block[BLOCK];
    int64_t none, at = 0;
    struct upload_bytes bytes = {u->file, 0};
    const struct byte_source from = {&bytes, upload_bytes_read, &u->work};
    struct gunzip *gunzip;
    if (pread(u->file, block, 2, 0) != 2 || memcmp(block, "\x1F\x8B", 2) != 0)
        return STATUS_OK;
    enum status status = gunzip_open(&from, &gunzip, err);
    if (status)
        return status;
    gunzip_limit(gunzip, PACKED_MOST * u->request.stored);
    status = dataset_part_open(u->root, "", NULL, plain, &none, err);
    const struct byte_source unpacked = gunzip_source(gunzip);
    for (size_t got = 1; !status && got > 0; at += (int64_t)got) {
        status = byte_source_read(&unpacked, block, BLOCK, &got, err);
        if (!status)
            status = work_take(&u->work, LEDGER_UNPACKED, (int64_t)got, err);
        if (!status && got > 0 && pwrite(*plain, block, got, at) != (ssize_t)got)
            status = error_set(err, STATUS_IO, NULL, "a part of an upload cannot be written: the disk may be full");
    }
    gunzip_close(gunzip);
    return status;
}

/* Waits until the whole upload has arrived, runs the converter, and reads its output. */
static enum status uploads_convert(struct api_upload *u, struct error *err)
{
    char bytes[1 << 14];
    const struct api_converter *converter = u->request.converter;
    for (size_t got = 1; got > 0;) {
        enum status status = uploads_pull(u, bytes, sizeof bytes, &got, err);
        if (status)
            return status;
    }
    if (!converter || !converter->convert)
        return error_set(err, STATUS_INVALID, NULL,
                         "this daemon cannot read %s, because the program motif-convert is not in the folder of motifd",
                         u->request.format->name);
    int plain = -1;
    enum status status = uploads_unpack(u, &plain, err);
    const struct api_conversion conversion = {.file = plain >= 0 ? plain : u->file,
                                              .format = u->request.format->name,
                                              .layer = u->request.options.layer,
                                              .label = u->request.options.label,
                                              .group = u->request.options.group,
                                              .id = u->request.options.id,
                                              .context = u,
                                              .take = take_table,
                                              .work = &u->work};
    if (!status)
        status = converter->convert(converter->context, &conversion, err);
    dataset_part_close(&plain);
    return status;
}

static void *parse(void *context)
{
    struct api_upload *u = context;
    struct byte_source from = {u, uploads_pull, &u->work};
    unsigned char digest[HASH_BYTES];
    char rest[4096];
    size_t got = 1;
    struct error waste = {0};
    (void)(u->request.format->converted ? uploads_convert(u, &u->err) : read_from(u, &from, &u->err));
    /* after a fault, the remaining bytes are still hashed */
    while (got > 0 && !uploads_pull(u, rest, sizeof rest, &got, &waste)) {
    }
    if (waste.code)
        (void)error_set(&u->err, waste.code, NULL, "%s", waste.message);
    hash_finish(&u->hash, digest);
    hash_hex(digest, u->digest);
    return NULL;
}

static enum status open_part(struct api_upload *u, int64_t *there, struct error *err)
{
    const char *hash = u->request.hash[0] ? u->request.hash : NULL;
    enum status status = dataset_part_open(u->root, u->request.owner, hash, &u->file, there, err);
    if (status)
        return status;
    if (u->request.offset == 0 && ftruncate(u->file, 0) == 0)
        *there = 0;
    if (*there != u->request.offset)
        return error_set(err, STATUS_CONFLICT, "", "%lld bytes of this upload have arrived; continue from that offset",
                         (long long)*there);
    u->arrived = *there;
    return STATUS_OK;
}

/* The upload lives longer than the request that states its options. */
static enum status copy_texts(struct api_upload *u, struct error *err)
{
    for (const struct collection_option_row *row = collection_option_rows; row->field.name != NULL; row++) {
        char text[COLLECTION_OPTION_TEXT];
        if (row->field.type != FIELD_TEXT || !(u->request.options.stated & row->option))
            continue;
        collection_option_text(row, &u->request.options, text);
        const char *copy = arena_strdup(&u->texts, text);
        if (copy == NULL)
            return error_memory(err, "an upload");
        (void)collection_option_state(row, &u->request.options, copy);
    }
    return STATUS_OK;
}

enum status upload_begin(const char *root, const struct upload_request *request, struct api_upload **upload,
                         int64_t *there, struct error *err)
{
    struct api_upload *u = calloc(1, sizeof *u);
    *upload = NULL;
    *there = -1;
    if (!u) {
        struct ledger_account account = request->account;
        ledger_close(&account);
        return error_memory(err, "an upload");
    }
    arena_init(&u->texts, 1024, 0);
    u->root = root;
    u->request = *request;
    u->file = u->store = -1;
    hash_init(&u->hash);
    pthread_mutex_init(&u->lock, NULL);
    pthread_cond_init(&u->more, NULL);
    u->work = (struct work){.stop = uploads_stop, .context = u, .pause_ms = WORK_PAUSE_MS};
    u->work.account = request->account;
    int64_t none;
    enum status status = copy_texts(u, err);
    if (!status)
        status = open_part(u, there, err);
    if (!status)
        status = dataset_part_open(root, "", NULL, &u->store, &none, err);
    if (!status && pthread_create(&u->parser, NULL, parse, u) != 0)
        status = error_set(err, STATUS_UNAVAILABLE, NULL, "no thread for an upload");
    u->parsing = !status;
    if (status) {
        upload_close(u);
        return status;
    }
    *upload = u;
    return STATUS_OK;
}

static void publish(struct api_upload *u, int64_t arrived, bool complete, bool broken)
{
    pthread_mutex_lock(&u->lock);
    u->arrived += arrived;
    u->complete |= complete;
    u->broken |= broken;
    pthread_cond_signal(&u->more);
    pthread_mutex_unlock(&u->lock);
}

void upload_add(struct api_upload *u, const void *bytes, size_t count)
{
    if (!u->fault.code && (int64_t)count > u->request.most - u->arrived) {
        (void)error_set(&u->fault, STATUS_LIMIT, NULL,
                        "This upload may have at most %lld bytes: the limits of data sets leave no more",
                        (long long)u->request.most);
        publish(u, 0, false, true);
    }
    for (size_t done = 0; !u->fault.code && done < count;) {
        ssize_t now = pwrite(u->file, (const char *)bytes + done, count - done, u->arrived);
        if (now <= 0) {
            (void)error_set(&u->fault, STATUS_IO, NULL, "a part of an upload cannot be written: the disk may be full");
            publish(u, 0, false, true);
            break;
        }
        done += (size_t)now;
        publish(u, now, false, false); /* the call of pwrite() needs no lock to read u->arrived, because only this
                                          thread changes u->arrived */
    }
}

static void uploads_join(struct api_upload *u)
{
    if (u->parsing)
        pthread_join(u->parser, NULL);
    u->parsing = false;
}

enum status upload_finish(struct api_upload *u, struct work *work, struct collection **collection, char hash[HASH_TEXT],
                          int64_t *bytes, struct error *err)
{
    pthread_mutex_lock(&u->lock);
    u->finishing = work;
    pthread_mutex_unlock(&u->lock);
    publish(u, 0, true, false);
    uploads_join(u);
    u->finishing = NULL;
    *collection = &u->collection;
    *bytes = u->arrived;
    memcpy(hash, u->digest, HASH_TEXT);
    const struct error *cause = u->fault.code ? &u->fault : &u->err;
    return cause->code ? error_set(err, cause->code, NULL, "%s", cause->message) : STATUS_OK;
}

void upload_drop(struct api_upload *u)
{
    if (u->request.hash[0])
        dataset_part_remove(u->root, u->request.owner, u->request.hash);
}

void upload_limit(struct api_upload *u, int64_t most)
{
    u->request.most = most < u->request.most ? most : u->request.most;
}

bool upload_exceeds(const struct api_upload *u)
{
    return u->fault.code == STATUS_LIMIT;
}

struct reservation *upload_reservation(struct api_upload *u)
{
    return &u->reservation;
}

int upload_part(const struct api_upload *u)
{
    return u->request.hash[0] ? u->file : -1;
}

const struct upload_request *upload_request_of(const struct api_upload *u)
{
    return &u->request;
}

void upload_close(struct api_upload *u)
{
    if (!u)
        return;
    publish(u, 0, false, true);
    uploads_join(u);
    dataset_part_close(&u->file);
    collection_close(&u->collection);
    dataset_part_close(&u->store);
    pthread_cond_destroy(&u->more);
    pthread_mutex_destroy(&u->lock);
    ledger_close(&u->work.account);
    arena_close(&u->texts);
    free(u);
}
