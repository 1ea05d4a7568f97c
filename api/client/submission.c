/* Builds the bodies of requests. */
#include "api/client/submission.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/json.h"

void submission_text(cJSON *body, const char *name, const char *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(body, name);
    cJSON_AddStringToObject(body, name, value);
}

void submission_tag(cJSON *body, const char *tag)
{
    cJSON *tags = cJSON_GetObjectItemCaseSensitive(body, "tags");
    if (!cJSON_IsArray(tags)) {
        cJSON_DeleteItemFromObjectCaseSensitive(body, "tags");
        tags = cJSON_AddArrayToObject(body, "tags");
    }
    cJSON_AddItemToArray(tags, cJSON_CreateString(tag));
}

enum status submission_file(cJSON *body, const char *text, struct error *err)
{
    const char *end = NULL;
    cJSON *document = cJSON_ParseWithOpts(text, &end, 1);
    if (!cJSON_IsObject(document)) {
        int line = 1;
        for (const char *at = text; end && at < end && *at; at++)
            line += *at == '\n';
        enum status status = document ? error_set(err, STATUS_INVALID, NULL, "the file does not contain a JSON object")
                                      : error_set(err, STATUS_INVALID, NULL, "the file is not JSON: see line %d", line);
        cJSON_Delete(document);
        return status;
    }
    if (!cJSON_HasObjectItem(document, "kind") && !cJSON_HasObjectItem(document, "preset") &&
        !cJSON_HasObjectItem(document, "config") && !cJSON_HasObjectItem(document, "grid")) {
        cJSON_AddItemToObject(body, "config", document);
        return STATUS_OK;
    }
    while (document->child) {
        cJSON *member = cJSON_DetachItemViaPointer(document, document->child);
        cJSON_AddItemToObject(body, member->string, member);
    }
    cJSON_Delete(document);
    return STATUS_OK;
}

/* Adds the zero before a decimal point, which JSON requires and people often leave out: ".93" becomes "0.93", and "-.5"
 * becomes "-0.5". Returns NULL if `text` has another form or memory is short. The caller frees the result. */
static char *with_leading_zero(const char *text)
{
    const char *point = text + (*text == '-');
    char *number = NULL;
    if (*point != '.' || asprintf(&number, "%s0%s", point > text ? "-" : "", point) < 0)
        return NULL;
    return number;
}

/* Whether the server reads a value as JSON. A number that is too large for the server counts as JSON, so that the
 * server reports it; 007 and nan are text. */
static bool is_json(const char *text)
{
    cJSON *parsed = NULL;
    enum status status = json_parse(text, strlen(text), &parsed, NULL);
    cJSON_Delete(parsed);
    return status != STATUS_CORRUPT && (!status || !isalpha((unsigned char)text[0]));
}

/* Returns a value of the command line: text that is valid JSON unchanged, everything else as a string. */
static cJSON *value_of(const char *given)
{
    char *number = with_leading_zero(given);
    const char *text = number ? number : given;
    cJSON *value = is_json(text) ? cJSON_CreateRaw(text) : cJSON_CreateString(given);
    free(number);
    return value;
}

enum status submission_grid(cJSON *body, const char *assignment, struct error *err)
{
    const char *equals = strchr(assignment, '=');
    cJSON *grid = cJSON_GetObjectItemCaseSensitive(body, "grid");
    if (!equals || equals == assignment || !equals[1])
        return error_set(err, STATUS_INVALID, NULL, "--grid takes FIELD=VALUE,VALUE,...; got %.80s", assignment);
    if (!grid)
        grid = cJSON_AddObjectToObject(body, "grid");
    if (!cJSON_IsObject(grid))
        return error_set(err, STATUS_INVALID, NULL, "\"grid\" is not an object, so --grid cannot add to it");
    char *name = strndup(assignment, (size_t)(equals - assignment)), *values = strdup(equals + 1);
    cJSON *list = cJSON_CreateArray();
    for (char *rest = NULL, *one = strtok_r(values, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
        cJSON_AddItemToArray(list, value_of(one));
    cJSON_DeleteItemFromObjectCaseSensitive(grid, name);
    cJSON_AddItemToObject(grid, name, list);
    free(name);
    free(values);
    return STATUS_OK;
}

/* Whether "config" has a value for a field, flat or in a group. */
static bool decides(const cJSON *config, const char *field)
{
    const cJSON *member = NULL;
    if (cJSON_GetObjectItemCaseSensitive(config, field))
        return true;
    cJSON_ArrayForEach (member, config)
        if (cJSON_IsObject(member) && cJSON_GetObjectItemCaseSensitive(member, field))
            return true;
    return false;
}

bool submission_has_folds(const cJSON *body, const cJSON *kind)
{
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(body, "config"), *member = NULL,
                *folds = cJSON_GetObjectItemCaseSensitive(config, "folds");
    const char *field = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(kind, "fold_field"));
    cJSON_ArrayForEach (member, config)
        if (folds == NULL && cJSON_IsObject(member))
            folds = cJSON_GetObjectItemCaseSensitive(member, "folds");
    /* a value of --set is JSON text */
    bool several =
        cJSON_IsNumber(folds) ? folds->valuedouble > 1 : cJSON_IsRaw(folds) && strtod(folds->valuestring, NULL) > 1;
    return several && (kind == NULL || (field != NULL && !decides(config, field)));
}

bool submission_is_study(const cJSON *body, const cJSON *preset)
{
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(body, "config"), *axis = NULL;
    const cJSON *seeds = cJSON_GetObjectItemCaseSensitive(preset, "seeds");
    cJSON_ArrayForEach (axis, cJSON_GetObjectItemCaseSensitive(preset, "grid"))
        if (!decides(config, axis->string))
            return true;
    return cJSON_IsNumber(seeds) && seeds->valuedouble > 1 && !decides(config, "seed");
}

enum status submission_set(cJSON *body, const char *assignment, struct error *err)
{
    const char *equals = strchr(assignment, '=');
    cJSON *config = cJSON_GetObjectItemCaseSensitive(body, "config");
    if (!equals || equals == assignment)
        return error_set(err, STATUS_INVALID, NULL, "--set takes FIELD=VALUE; got %.80s", assignment);
    if (!config)
        config = cJSON_AddObjectToObject(body, "config");
    char *name = strndup(assignment, (size_t)(equals - assignment));
    cJSON *value = value_of(equals + 1);
    if (!name || !value || !cJSON_IsObject(config)) {
        free(name);
        cJSON_Delete(value);
        return error_set(err, STATUS_INVALID, NULL, "\"config\" is not an object, so --set cannot add to it");
    }
    cJSON_DeleteItemFromObjectCaseSensitive(config, name);
    cJSON_AddItemToObject(config, name, value);
    free(name);
    return STATUS_OK;
}

void submission_checkpoint(cJSON *body, const char *text)
{
    char *end = NULL;
    if (!text)
        return;
    long long seq = strtoll(text, &end, 10);
    if (*text && !*end)
        cJSON_AddNumberToObject(body, "checkpoint", (double)seq);
    else
        cJSON_AddStringToObject(body, "checkpoint", text);
}

enum status submission_from(cJSON *body, const char *id, const char *colon, struct error *err)
{
    char *end = NULL;
    cJSON_DeleteItemFromObjectCaseSensitive(body, "from");
    cJSON *from = cJSON_AddObjectToObject(body, "from");
    cJSON_AddStringToObject(from, "job", id);
    if (!colon || strcmp(colon, ":latest") == 0) {
        cJSON_AddStringToObject(from, "checkpoint", "latest");
        return STATUS_OK;
    }
    errno = 0;
    long long seq = strtoll(colon + 1, &end, 10);
    if (errno || end == colon + 1 || *end || seq < 0)
        return error_set(err, STATUS_INVALID, NULL, "--from takes JOB, JOB:latest or JOB:SEQ; got %.60s", colon);
    cJSON_AddNumberToObject(from, "checkpoint", (double)seq);
    return STATUS_OK;
}
