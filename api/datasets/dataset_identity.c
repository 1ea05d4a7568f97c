/* Hashes what an upload consists of (dataset_identity.h). An option with its usual value leaves the hash unchanged. The
 * hash of regions also covers the stored form of their samples (collection_write), so it changes if this form changes.
 */
#include "api/datasets/dataset_identity.h"

#include <string.h>

static void add_text(struct hash *hash, const char *name, const char *value)
{
    hash_add(hash, name, strlen(name) + 1); /* with the NULs, so that no two lists of options give the same bytes */
    hash_add(hash, value, strlen(value) + 1);
}

/* Adds the options that do not have their usual values. Returns their number. */
static int add_options(struct hash *hash, const struct collection_options *options)
{
    int added = 0;
    for (const struct collection_option_row *row = collection_option_rows; row->field.name != NULL; row++) {
        char value[COLLECTION_OPTION_TEXT];
        if (collection_option_is_usual(row, options))
            continue;
        collection_option_text(row, options, value);
        add_text(hash, row->field.name, value);
        added++;
    }
    return added;
}

static enum status add_bytes(void *context, const void *bytes, size_t count, struct error *err)
{
    (void)err;
    hash_add(context, bytes, count);
    return STATUS_OK;
}

enum status dataset_identity(const struct upload_request *request, const struct collection *c,
                             const char bytes[HASH_TEXT], char identity[HASH_TEXT], struct error *err)
{
    const struct upload_request *r = request;
    unsigned char digest[HASH_BYTES];
    struct hash hash;
    hash_init(&hash);
    add_text(&hash, "sha256", bytes);
    add_text(&hash, "format", r->format->name);
    if (add_options(&hash, &r->options) == 0) {
        memcpy(identity, bytes, HASH_TEXT);
        return STATUS_OK;
    }
    const struct snapshot_writer to = {&hash, add_bytes};
    enum status status =
        r->options.genome[0] != '\0' || r->options.signal[0] != '\0' ? collection_write(c, &to, err) : STATUS_OK;
    hash_finish(&hash, digest);
    hash_hex(digest, identity);
    return status;
}
