/* Writes and compares the options of an upload (dataset_options.h), in the order of their table. */
#include "api/datasets/dataset_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/json.h"

/* Hashes what an upload consists of. An option with its usual value leaves the hash unchanged. The
 * hash of regions also covers the stored form of their samples (collection_write), so it changes if this form changes.
 */

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

/* Writes the value that the document shows: the layout is the one by which the upload was read. */
static void shown_value(const struct upload_request *r, const struct collection *c,
                        const struct collection_option_row *row, char out[COLLECTION_OPTION_TEXT])
{
    bool first = r->options.layout == LAYOUT_FIRST || c->channels_first;
    collection_option_text(row, &r->options, out);
    if (row->option == OPTION_LAYOUT && r->options.layout != LAYOUT_SIGNALS)
        (void)snprintf(out, COLLECTION_OPTION_TEXT, "%s", collection_layouts[first ? LAYOUT_FIRST : LAYOUT_LAST]);
}

struct upload_request dataset_options_effective(const struct upload_request *request, const struct collection *c)
{
    struct upload_request r = *request;
    for (const struct collection_option_row *row = collection_option_rows; row->field.name != NULL; row++)
        if (c->implied & row->option)
            collection_option_clear(row, &r.options);
    return r;
}

void dataset_options_write(const struct upload_request *effective, const struct upload_request *given,
                           const struct collection *c, const struct sink *to)
{
    char value[COLLECTION_OPTION_TEXT];
    sink_begin_object(to, "options");
    for (const struct collection_option_row *row = collection_option_rows; row->field.name != NULL; row++) {
        shown_value(effective, c, row, value);
        if (row->field.type != FIELD_INT)
            sink_text(to, row->field.name, value);
        else if (value[0] != '\0') /* the document has a number only if it has an effect */
            sink_integer(to, row->field.name, atoi(value));
    }
    sink_end_object(to);
    sink_begin_object(to, "stated");
    for (const struct collection_option_row *row = collection_option_rows; row->field.name != NULL; row++) {
        collection_option_text(row, &given->options, value);
        if (given->options.stated & row->option)
            sink_text(to, row->field.name, value);
    }
    sink_end_object(to);
}

static void add_difference(struct dataset_difference *to, const char *option)
{
    size_t used = strlen(to->options);
    (void)snprintf(to->options + used, sizeof to->options - used, "%s%s", used > 0 ? ", " : "", option);
    to->any = true;
}

/* Returns whether a document has this value of an option. usual: the value is the usual one, which a document that is
 * older than the option lacks. */
static bool has_value(const cJSON *options, const struct collection_option_row *row, const char *value, bool usual)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(options, row->field.name);
    char number[COLLECTION_OPTION_TEXT] = "";
    if (item == NULL && usual)
        return true;
    if (cJSON_IsNumber(item))
        (void)snprintf(number, sizeof number, "%d", item->valueint);
    return strcmp(cJSON_IsString(item) ? item->valuestring : number, value) == 0;
}

enum status dataset_options_compare(const struct upload_request *request, const struct collection *c, const char *hash,
                                    const char *document, size_t size, struct dataset_difference *out,
                                    struct error *err)
{
    cJSON *about = NULL;
    *out = (struct dataset_difference){.bytes = false};
    enum status status = json_parse(document, size, &about, err);
    if (status)
        return status;
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(about, "options");
    const char *own = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(about, "sha256")),
               *format = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(about, "format"));
    out->bytes = out->any = own == NULL || strcmp(own, hash) != 0;
    if (format == NULL || strcmp(format, request->format->name) != 0)
        add_difference(out, "format");
    for (const struct collection_option_row *row = collection_option_rows; row->field.name != NULL; row++) {
        char value[COLLECTION_OPTION_TEXT];
        shown_value(request, c, row, value);
        if (!has_value(options, row, value, collection_option_is_usual(row, &request->options)))
            add_difference(out, row->field.name);
    }
    cJSON_Delete(about);
    return STATUS_OK;
}
