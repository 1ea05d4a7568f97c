/* Reads the changes of an intervention from JSON: {"channel", "position"?, "delete": true} or
 * {"channel", "position"?, "to": {"channel"?, "position"?, "value"?}}. The method checks them against the size of its
 * motif map. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/queries/inputs.h"

#define EDITS_MAX 4096

static enum status edits_fault(const char *pointer, const char *member, struct error *err, const char *detail)
{
    char at[192];
    (void)snprintf(at, sizeof at, "%s%s", pointer, member);
    return error_set(err, STATUS_INVALID, at, "%s", detail);
}

static bool edits_whole(const cJSON *value, int64_t *out)
{
    bool ok = cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble <= INT32_MAX &&
              value->valuedouble == floor(value->valuedouble);
    *out = ok ? (int64_t)value->valuedouble : -1;
    return ok;
}

static bool edits_place(const cJSON *value, int64_t *row, int64_t *col)
{
    return cJSON_IsArray(value) && cJSON_GetArraySize(value) == 2 && edits_whole(value->child, row) &&
           edits_whole(value->child->next, col);
}

/* Returns whether the object has no other members than those in `names`. */
static bool only(const cJSON *object, const char *const *names)
{
    JSON_EACH (item, object) {
        const char *const *name = names;
        while (*name != NULL && strcmp(*name, item->string) != 0)
            name++;
        if (*name == NULL)
            return false;
    }
    return true;
}

static enum status read_target(const cJSON *to, const char *pointer, struct method_edit *edit, struct error *err)
{
    static const char *const names[] = {"channel", "position", "value", NULL};
    const cJSON *channel = cJSON_GetObjectItemCaseSensitive(to, "channel");
    const cJSON *position = cJSON_GetObjectItemCaseSensitive(to, "position");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(to, "value");
    if (!cJSON_IsObject(to) || to->child == NULL || !only(to, names)) {
        return edits_fault(pointer, "/to", err,
                           "must be an object with at least one of channel, position and value, and no other member");
    }
    if (channel != NULL && !edits_whole(channel, &edit->to_channel))
        return edits_fault(pointer, "/to/channel", err, "must be an integer of at least 0");
    if (position != NULL && !edits_place(position, &edit->to_row, &edit->to_col))
        return edits_fault(pointer, "/to/position", err, "must be [row, column], both integers of at least 0");
    if (value != NULL && !cJSON_IsNumber(value))
        return edits_fault(pointer, "/to/value", err, "must be a number");
    edit->to_value = value != NULL ? value->valuedouble : NAN;
    return STATUS_OK;
}

static enum status read_edit(const cJSON *item, const char *pointer, struct method_edit *edit, struct error *err)
{
    static const char *const names[] = {"channel", "position", "delete", "to", NULL};
    const cJSON *position = cJSON_GetObjectItemCaseSensitive(item, "position");
    const cJSON *remove = cJSON_GetObjectItemCaseSensitive(item, "delete"),
                *to = cJSON_GetObjectItemCaseSensitive(item, "to");
    *edit = (struct method_edit){.everywhere = position == NULL,
                                 .remove = cJSON_IsTrue(remove),
                                 .to_row = -1,
                                 .to_col = -1,
                                 .to_channel = -1,
                                 .to_value = NAN};
    if (!cJSON_IsObject(item) || !only(item, names) || (remove != NULL) == (to != NULL) ||
        (remove != NULL && !edit->remove))
        return edits_fault(pointer, "", err, "must have channel, optionally position, and either delete (true) or to");
    if (!edits_whole(cJSON_GetObjectItemCaseSensitive(item, "channel"), &edit->channel))
        return edits_fault(pointer, "/channel", err, "must be an integer of at least 0");
    if (position != NULL && !edits_place(position, &edit->row, &edit->col))
        return edits_fault(pointer, "/position", err, "must be [row, column], both integers of at least 0");
    return to != NULL ? read_target(to, pointer, edit, err) : STATUS_OK;
}

enum status edits_from_json(const cJSON *list, const char *pointer, struct method_edit **edits, size_t *count,
                            struct error *err)
{
    enum status status = STATUS_OK;
    *count = 0;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > EDITS_MAX)
        return edits_fault(pointer, "", err, "must be a list of at most 4096 edits");
    *edits = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof **edits);
    if (*edits == NULL)
        return error_memory(err, "changes");
    JSON_EACH (item, list) {
        char at[160];
        (void)snprintf(at, sizeof at, "%s/%zu", pointer, *count);
        if (status == STATUS_OK)
            status = read_edit(item, at, &(*edits)[(*count)++], err);
    }
    return status;
}
