/* Reads the members of a JSON object with libcjson (json_fields.h). */
#include "core/formats/json/json_fields.h"

#include <cjson/cJSON.h>

/* Returns the cJSON object. The struct json_fields of the interface is only another name for it. */
static cJSON *tree_of(const struct json_fields *fields)
{
    return (cJSON *)(void *)fields;
}

enum status json_fields_create(const char *text, size_t bytes, struct json_fields **out, struct error *err)
{
    cJSON *tree = cJSON_ParseWithLength(text, bytes);
    *out = NULL;
    if (!cJSON_IsObject(tree)) {
        cJSON_Delete(tree);
        return error_set(err, STATUS_INVALID, NULL, "must be one JSON object");
    }
    *out = (struct json_fields *)(void *)tree;
    return STATUS_OK;
}

void json_fields_destroy(struct json_fields *fields)
{
    cJSON_Delete(tree_of(fields));
}

const char *json_fields_text(const struct json_fields *fields, const char *name, const char *usual)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree_of(fields), name);
    return cJSON_IsString(item) ? item->valuestring : usual;
}

bool json_fields_flag(const struct json_fields *fields, const char *name, bool usual)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree_of(fields), name);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : usual;
}

double json_fields_number(const struct json_fields *fields, const char *name, const char *inner, double usual)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree_of(fields), name);
    if (inner)
        item = cJSON_GetObjectItemCaseSensitive(item, inner);
    return cJSON_IsNumber(item) ? item->valuedouble : usual;
}
