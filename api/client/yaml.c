/* Writes JSON documents as YAML 1.2. A text is always between quotation marks, with the escapes of JSON, which YAML
 * reads as well: so a reader of YAML never takes a text for a number, a date or a boolean. */
#include "api/client/ctl.h"

#include <string.h>

static void indent(struct buf *out, int depth)
{
    buf_format(out, "%*s", 2 * depth, "");
}

static void write_scalar(struct buf *out, const cJSON *item)
{
    char *text = cJSON_PrintUnformatted(item);
    buf_text(out, text);
    cJSON_free(text);
}

/* True for a value that is written on the line of its key: a single value, or an empty list or object. */
static bool is_short(const cJSON *item)
{
    return !item->child;
}

/* True for a list of single values, which is written on one line. */
static bool is_flow(const cJSON *item)
{
    const cJSON *child = NULL;
    cJSON_ArrayForEach (child, item)
        if (!is_short(child))
            return false;
    return cJSON_IsArray(item);
}

/* A key needs no quotation marks if it consists of small letters, digits and underscores, does not begin with a digit,
 * and is not read as a boolean, as "yes" is. */
static void write_key(struct buf *out, const char *key)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char *const flags[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
    bool plain =
        key[0] && strchr(letters, key[0]) && strspn(key, "0123456789abcdefghijklmnopqrstuvwxyz_") == strlen(key);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        plain = plain && strcmp(flags[i], key) != 0;
    cJSON *text = cJSON_CreateString(key);
    if (plain)
        buf_text(out, key);
    else
        write_scalar(out, text);
    buf_text(out, ":");
    cJSON_Delete(text);
}

/* The recursion is bounded: cJSON limits the depth of a tree to 1000. */
static void write_block(struct buf *out, const cJSON *item, int depth) /* NOLINT(misc-no-recursion) */
{
    const cJSON *child = NULL;
    cJSON_ArrayForEach (child, item) {
        indent(out, depth);
        if (cJSON_IsObject(item))
            write_key(out, child->string);
        else
            buf_text(out, "-");
        if (is_short(child) || is_flow(child)) {
            buf_text(out, " ");
            write_scalar(out, child);
            buf_text(out, "\n");
        } else {
            buf_text(out, "\n");
            write_block(out, child, depth + 1);
        }
    }
}

void yaml_write(struct buf *out, const cJSON *json)
{
    if (!is_short(json) && !is_flow(json)) {
        write_block(out, json, 0);
        return;
    }
    write_scalar(out, json);
    buf_text(out, "\n");
}
