/* The schemas of answers and bodies that no other table contains. A shape
 * is a list of members, "NAME TYPE", separated by commas; a name with '*' in front may be missing.
 * text integer number flag object time: JSON types; Name: another schema; [T], {T}, T?: a list of T, an object whose
 * members are T, T or null.
 * A schema that this notation cannot express is written in JSON, with apostrophes instead of quotation marks. */
#ifndef MOTIF_API_DOCUMENTS_OPENAPI_SCHEMAS_H
#define MOTIF_API_DOCUMENTS_OPENAPI_SCHEMAS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json/json_sink.h"
#include "core/base/error.h"

struct openapi_schema {
    const char *name;
    const char *shape;  /* or NULL */
    const char *schema; /* or NULL */
    bool closed;        /* of a body: other members are rejected; answers may get new members */
};
extern const struct openapi_schema openapi_schemas[];
extern const size_t openapi_schema_count;

/* STATUS_INTERNAL when the notation is wrong. */
enum status openapi_schema_write(struct json_sink *json, const struct openapi_schema *schema, struct error *err);

#endif
