/* Reads a file from memory and writes it as a stored data set (stored_set.h). */
#include "tests/support/stored_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/data/uploads/collection.h"

static enum status put(void *context, const void *bytes, size_t count, struct error *err)
{
    return fwrite(bytes, 1, count, context) == count
               ? STATUS_OK
               : error_set(err, STATUS_IO, NULL, "the disk refused to write the data set");
}

static enum status add_ids(struct collection *c, const char *const *ids, struct error *err)
{
    c->records.name = calloc((size_t)c->count, sizeof *c->records.name);
    for (int i = 0; c->records.name && ids[i] && i < c->count; i++)
        if ((c->records.name[i] = strdup(ids[i])))
            c->records.count++;
    return c->records.count == c->count ? STATUS_OK : error_set(err, STATUS_INVALID, NULL, "a sample has no id");
}

enum status stored_set(const char *folder, const char *format, const char *text, struct error *err)
{
    return stored_set_with_ids(folder, format, text, NULL, err);
}

enum status stored_set_with_ids(const char *folder, const char *format, const char *text, const char *const *ids,
                                struct error *err)
{
    char path[256];
    struct byte_source_memory memory = {(const unsigned char *)text, strlen(text), 0};
    struct byte_source from = byte_source_of_memory(&memory);
    struct collection c;
    struct collection_limits limits = COLLECTION_LIMITS;
    struct collection_options options = {.label = "", .group = ""};
    enum status status = collection_read(collection_format_named(format), &from, &options, &limits, &c, err);
    if (status)
        return status;
    status = ids ? add_ids(&c, ids, err) : STATUS_OK;
    if (status)
        goto close;
    snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
    FILE *file = mkdir(folder, 0700) == 0 ? fopen(path, "wb") : NULL;
    status = file ? collection_write(&c, &(struct snapshot_writer){file, put}, err)
                  : error_set(err, STATUS_IO, NULL, "cannot write a data set into the folder %s", folder);
    if (file && fclose(file) && !status)
        status = error_set(err, STATUS_IO, NULL, "the disk refused to write the data set");
close:
    collection_close(&c);
    return status;
}
