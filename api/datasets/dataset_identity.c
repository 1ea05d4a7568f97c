/* Hashes what an upload consists of (dataset_identity.h). The hash must stay the same in later versions, so an option
 * that is added later must leave it unchanged while the option has its default. The hash of regions also covers the
 * stored form of their samples (collection_write), so it changes if this form changes. */
#include "api/datasets/dataset_identity.h"

#include <stdio.h>
#include <string.h>

static void add_text(struct hash *hash, const char *name, const char *value)
{
    hash_add(hash, name, strlen(name) + 1); /* with the NULs, so that no two lists of options give the same bytes */
    hash_add(hash, value, strlen(value) + 1);
}

/* Adds an option to the hash and returns 1, unless its value is its default `none`; then returns 0. */
static int add_option(struct hash *hash, const char *name, const char *value, const char *none)
{
    if (strcmp(value, none) == 0)
        return 0;
    add_text(hash, name, value);
    return 1;
}

static int add_number(struct hash *hash, const char *name, int value, int none)
{
    char text[16];
    if (value == none)
        return 0;
    (void)snprintf(text, sizeof text, "%d", value);
    add_text(hash, name, text);
    return 1;
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
    int options = 0;
    options += add_option(&hash, "label", r->label, "");
    options += add_option(&hash, "group", r->group, "");
    options += add_option(&hash, "layer", r->layer, "");
    options += add_option(&hash, "genome", r->genome, "");
    options += add_option(&hash, "signal", r->signal, "");
    options += add_option(&hash, "layout", collection_layouts[r->layout], collection_layouts[LAYOUT_AUTO]);
    options += add_option(&hash, "target", collection_targets[r->target], collection_targets[TARGET_NONE]);
    options += add_option(&hash, "negatives", collection_negatives[r->negatives], collection_negatives[NEGATIVES_NONE]);
    options += add_number(&hash, "window", r->window, -1);
    options += add_number(&hash, "bins", r->bins, 0);
    options += add_number(&hash, "label_column", r->label_column, 0);
    if (options == 0) {
        memcpy(identity, bytes, HASH_TEXT);
        return STATUS_OK;
    }
    const struct snapshot_writer to = {&hash, add_bytes};
    enum status status = r->genome[0] != '\0' || r->signal[0] != '\0' ? collection_write(c, &to, err) : STATUS_OK;
    hash_finish(&hash, digest);
    hash_hex(digest, identity);
    return status;
}
